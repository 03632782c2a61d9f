"""Reconnection, conviction and speculation policies, and address translators."""

from __future__ import annotations

import itertools
import random
import socket
from collections.abc import Iterator
from typing import Any

__all__ = [
    "AddressTranslator",
    "ConstantReconnectionPolicy",
    "ConstantSpeculativeExecutionPolicy",
    "ConvictionPolicy",
    "EC2MultiRegionTranslator",
    "ExponentialReconnectionPolicy",
    "IdentityTranslator",
    "NoSpeculativeExecutionPlan",
    "NoSpeculativeExecutionPolicy",
    "ReconnectionPolicy",
    "SimpleConvictionPolicy",
    "SpeculativeExecutionPlan",
    "SpeculativeExecutionPolicy",
]


class ReconnectionPolicy:
    """How long to wait before each try to reach a host again."""

    def new_schedule(self) -> Iterator[float]:
        """Delays in seconds; where they end, no further try is made."""
        raise NotImplementedError


class ConstantReconnectionPolicy(ReconnectionPolicy):
    """The same delay each time, `max_attempts` times, for ever where that is None."""

    def __init__(self, delay: float, max_attempts: int | None = 64) -> None:
        if delay < 0:
            raise ValueError(f"delay must not be negative, but is {delay}")
        if max_attempts is not None and max_attempts < 0:
            raise ValueError(f"max_attempts must not be negative, but is {max_attempts}")
        self.delay = delay
        self.max_attempts = max_attempts

    def new_schedule(self) -> Iterator[float]:
        if self.max_attempts is None:
            return itertools.repeat(self.delay)
        return itertools.repeat(self.delay, self.max_attempts)


class ExponentialReconnectionPolicy(ReconnectionPolicy):
    """`base_delay` seconds, doubled each time up to `max_delay`, each with a jitter of 15 % either way."""

    def __init__(self, base_delay: float, max_delay: float, max_attempts: int | None = 64) -> None:
        if base_delay < 0 or max_delay < 0:
            raise ValueError(f"delays must not be negative, but are {base_delay} and {max_delay}")
        if max_delay < base_delay:
            raise ValueError(f"max_delay ({max_delay}) must not be less than base_delay ({base_delay})")
        if max_attempts is not None and max_attempts < 0:
            raise ValueError(f"max_attempts must not be negative, but is {max_attempts}")
        self.base_delay = base_delay
        self.max_delay = max_delay
        self.max_attempts = max_attempts

    def new_schedule(self) -> Iterator[float]:
        attempts = itertools.count() if self.max_attempts is None else iter(range(self.max_attempts))
        for attempt in attempts:
            delay = min(self.base_delay * 2.0 ** min(attempt, 64), self.max_delay)
            jittered = delay * random.uniform(0.85, 1.15)
            yield min(max(jittered, self.base_delay), self.max_delay)


class ConvictionPolicy:
    """Decides from connection failures when a host counts as down."""

    def __init__(self, host: Any) -> None:
        self.host = host

    def add_failure(self, connection_exc: BaseException) -> bool:
        """Take note of a failure; true where the host is down now."""
        raise NotImplementedError

    def reset(self) -> None:
        """The host answers again."""
        raise NotImplementedError


class SimpleConvictionPolicy(ConvictionPolicy):
    """One failure is enough."""

    def add_failure(self, connection_exc: BaseException) -> bool:
        return True

    def reset(self) -> None:
        pass


class SpeculativeExecutionPlan:
    """When one request's further tries start."""

    def next_execution(self, host: Any) -> float:
        """Seconds until the next try is started beside the others; negative for never."""
        raise NotImplementedError


class SpeculativeExecutionPolicy:
    """Whether an idempotent request that is not answered soon is tried on a further host at the same time."""

    def new_plan(self, keyspace: str | None, statement: Any) -> SpeculativeExecutionPlan:
        """The plan of one request."""
        raise NotImplementedError


class NoSpeculativeExecutionPlan(SpeculativeExecutionPlan):
    """Never."""

    def next_execution(self, host: Any) -> float:
        return -1


class NoSpeculativeExecutionPolicy(SpeculativeExecutionPolicy):
    """Never."""

    def new_plan(self, keyspace: str | None, statement: Any) -> SpeculativeExecutionPlan:
        return NoSpeculativeExecutionPlan()


class _ConstantPlan(SpeculativeExecutionPlan):
    def __init__(self, delay: float, max_attempts: int) -> None:
        self._delay = delay
        self._remaining = max_attempts

    def next_execution(self, host: Any) -> float:
        if self._remaining <= 0:
            return -1
        self._remaining -= 1
        return self._delay


class ConstantSpeculativeExecutionPolicy(SpeculativeExecutionPolicy):
    """A further try each `delay` seconds, at most `max_attempts` of them."""

    def __init__(self, delay: float, max_attempts: int) -> None:
        self.delay = delay
        self.max_attempts = max_attempts

    def new_plan(self, keyspace: str | None, statement: Any) -> SpeculativeExecutionPlan:
        return _ConstantPlan(self.delay, self.max_attempts)


class AddressTranslator:
    """Turns the addresses that nodes advertise into those that this client can reach."""

    def translate(self, addr: str) -> str:
        """The address to connect to for an advertised one."""
        raise NotImplementedError


class IdentityTranslator(AddressTranslator):
    """Every address as it is."""

    def translate(self, addr: str) -> str:
        return addr


class EC2MultiRegionTranslator(AddressTranslator):
    """Public addresses to private ones for nodes of the same EC2 region: by the reverse name's forward address."""

    def translate(self, addr: str) -> str:
        family = socket.AF_INET6 if ":" in addr else socket.AF_INET
        try:
            name = socket.getfqdn(addr)
            return str(socket.getaddrinfo(name, None, family, socket.SOCK_STREAM)[0][4][0])
        except OSError:
            return addr
