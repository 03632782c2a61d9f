"""Reconnection policies decide how long to wait between attempts to reach a host again."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from cassandra._habits import warn_of_milliseconds, warn_of_reconnection_milliseconds
from cassandra._logs import Log
from cassandra._unknown_options import advise_missing

if TYPE_CHECKING:
    from cassandra.policies.balancing import Engine

log = Log(__name__)

DELAY_AFTER_ERROR = 60.0  # seconds between attempts, if the policy's schedule has raised an error


class ReconnectionPolicy:
    """Decides how long to wait before each attempt to reach a host again."""

    def new_schedule(self) -> Iterator[float]:
        """Return an iterator over the delays in seconds. Each delay precedes one attempt.

        If the iterator ends, no further attempt is made.
        """
        raise NotImplementedError


def delays_of(policy: ReconnectionPolicy) -> Iterator[float]:
    """Return the delays in seconds of a new schedule of `policy`.

    If the application's policy raises an error, or returns something else than delays, the error is
    logged, and constant delays follow. Otherwise the driver would never try to reach the host
    again.
    """
    try:
        for delay in policy.new_schedule():
            yield float(delay)
    except Exception:
        log.exception(
            "the schedule of %r failed; attempts to reach hosts follow every %d s",
            policy, DELAY_AFTER_ERROR,
        )  # fmt: skip
        yield from itertools.repeat(DELAY_AFTER_ERROR)


class ConstantReconnectionPolicy(ReconnectionPolicy):
    """Waits for the same time before each attempt.

    :param delay: the delay in seconds.
    :param max_attempts: the maximum number of attempts. None means no limit.
    :raises ValueError: if an argument is negative.
    :raises TypeError: if `delay` is not a number.
    """

    def __init__(self, delay: float, max_attempts: int | None = 64) -> None:
        check_number("delay", delay)
        if delay < 0:
            raise ValueError(f"delay must not be negative, but is {delay}")
        _check_attempts(max_attempts)
        warn_of_reconnection_milliseconds("delay", delay)
        self.delay = delay
        self.max_attempts = max_attempts

    def new_schedule(self) -> Iterator[float]:
        if self.max_attempts is None:
            return itertools.repeat(self.delay)
        return itertools.repeat(self.delay, self.max_attempts)


class ExponentialReconnectionPolicy(ReconnectionPolicy):
    """Doubles the delay before each further attempt, up to a limit.

    Each delay is varied randomly by up to 15 %. Otherwise clients that lost a host at the same time
    would reconnect at the same time.

    :param base_delay: the delay before the first attempt, in seconds.
    :param max_delay: the maximum delay, in seconds.
    :param max_attempts: the maximum number of attempts. None means no limit.
    :raises ValueError: if an argument is negative, or `max_delay` is less than `base_delay`.
    :raises TypeError: if a delay is not a number.
    """

    # The source of random numbers: the module `random`; after `attach`, the cluster's engine.
    _random: Any = random

    def attach(self, engine: Engine) -> None:
        """Use the random numbers of a cluster. Called when the cluster connects.

        :param engine: the cluster's engine.
        """
        self._random = engine.random

    def __init__(self, base_delay: float, max_delay: float, max_attempts: int | None = 64) -> None:
        check_number("base_delay", base_delay)
        check_number("max_delay", max_delay)
        if base_delay < 0 or max_delay < 0:
            raise ValueError(f"delays must not be negative, but are {base_delay} and {max_delay}")
        if max_delay < base_delay:
            raise ValueError(
                f"max_delay ({max_delay}) must not be less than base_delay ({base_delay})"
            )
        _check_attempts(max_attempts)
        warn_of_milliseconds("max_delay", max_delay)
        self.base_delay = base_delay
        self.max_delay = max_delay
        self.max_attempts = max_attempts

    def new_schedule(self) -> Iterator[float]:
        attempts = (
            itertools.count() if self.max_attempts is None else iter(range(self.max_attempts))
        )
        for attempt in attempts:
            # Stop doubling at 2 ** 64: the delay has reached its limit long before, and a greater
            # exponent would overflow.
            delay = min(self.base_delay * 2.0 ** min(attempt, 64), self.max_delay)
            jittered = delay * self._random.uniform(0.85, 1.15)
            # The random variation must not exceed the limits.
            yield min(max(jittered, self.base_delay), self.max_delay)


def check_number(name: str, value: object, kind: str = "a number of seconds") -> None:
    """Raise TypeError unless `value` is a number.

    Applications may pass a timedelta, or a string from an environment variable.

    :param name: the parameter, for the message.
    :param value: the value that the application has passed.
    :param kind: what the value must be, for the message.
    """
    # Accept any class that float() can convert, for example Decimal.
    if hasattr(value, "__float__"):
        return
    advice = ""
    if hasattr(value, "total_seconds"):
        advice = f": write {name}.total_seconds()"
    elif isinstance(value, str):
        advice = f": write float({value!r})"
    raise TypeError(
        f"{name} must be {kind}, but is {value!r} of type {type(value).__name__}{advice}"
    )


def _check_attempts(max_attempts: int | None) -> None:
    if max_attempts is not None and max_attempts < 0:
        raise ValueError(f"max_attempts must not be negative, but is {max_attempts}")


advise_missing(ConstantReconnectionPolicy, "ConstantReconnectionPolicy(delay=1.0)")

advise_missing(
    ExponentialReconnectionPolicy, "ExponentialReconnectionPolicy(base_delay=1.0, max_delay=60.0)"
)
