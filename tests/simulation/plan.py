"""A life as data: its settings, the steps of clients, and the faults.

Each step and each fault is one `Line`. A plan is drawn at random from a seed. You can leave out a
line without changing the others, so that a failing plan can be made small and printed as a test.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tests.simulation.store import KEYSPACES

__all__ = ["FAULTS", "STEPS", "Line", "Plan", "drawn"]

# Virtual seconds of a life in which clients work and faults occur.
LENGTH = 12.0


@dataclass(frozen=True)
class Line:
    """One step of a client, or one fault.

    :param at: the time at which it begins, in seconds after the first clusters are connected.
    :param what: a key of `STEPS` or `FAULTS`.
    :param who: selects a session or node; taken modulo their count.
    :param seconds: the duration of a fault, or the timeout of a request; -1 for no timeout.
    :param number: a number whose meaning depends on `what`, for example a key.
    :param cancel: seconds after which the caller cancels a step; -1 for never.
    """

    at: float
    what: str
    who: int = 0
    seconds: float = -1.0
    number: int = 0
    cancel: float = -1.0


@dataclass(frozen=True)
class Plan:
    """The settings, steps and faults of one life.

    :param seed: decides what the plan does not say: latencies, the order of events, and jitter.
    :param settings: the settings that `tests.simulation.life` reads.
    """

    seed: int
    settings: dict[str, Any] = field(default_factory=dict)
    steps: Sequence[Line] = ()
    faults: Sequence[Line] = ()

    def without(self, left_out: Sequence[Line]) -> Plan:
        """Return a copy of the plan without the lines in `left_out`."""
        return replace(
            self,
            steps=[line for line in self.steps if line not in left_out],
            faults=[line for line in self.faults if line not in left_out],
        )

    def as_test(self, violations: Sequence[str]) -> str:
        """Return the source of a test that runs this plan, with some violations as comments."""
        lines = [
            f"def test_seed_{self.seed}() -> None:",
            *(f"    # {violation[:90]}" for violation in violations[:3]),
            "    plan = Plan(",
            f"        {self.seed},",
            f"        {self.settings!r},",
            "        steps=[",
            *(f"            {line!r}," for line in self.steps),
            "        ],",
            "        faults=[",
            *(f"            {line!r}," for line in self.faults),
            "        ],",
            "    )",
            "    assert live(plan).violations == []",
        ]
        return "\n".join(lines)


# The kinds of steps, with their relative frequency.
STEPS = {
    "write": 16,  # a prepared INSERT, marked as idempotent
    "write_once": 10,  # the same INSERT, not marked as idempotent
    "simple_write": 8,
    "count": 6,  # an UPDATE of a counter, never idempotent
    "read": 16,
    "simple_read": 8,
    "batch": 6,
    "batch_once": 3,
    "lwt": 4,
    "pages": 5,
    "scan": 2,
    "concurrent": 4,  # execute_concurrent
    "burst": 4,  # thirty requests at once
    "load": 1,
    "trace": 1,
    "prepare": 3,
    "prepare_all": 1,
    "use": 5,
    "ddl": 1,
    "to_host": 3,
    "new_session": 2,
    "close_session": 1,
    "new_cluster": 0.7,
    "close_cluster": 0.5,
    "share_throttler": 0.3,
    "refresh": 1,
    "resize": 1,
    "agreement": 0.5,
    "mapped": 4,  # this and the following steps use the object mapper
    "mapped_lwt": 1.5,
    "mapped_batch": 2,
    "mapped_later": 1.5,
    "mapped_many": 1,
}

# The kinds of faults, with their relative frequency.
FAULTS = {
    "refuse": 2,
    "hang": 2,  # the node accepts connections, but does not answer
    "drop_syns": 2,
    "reset_one": 3,
    "reset_all": 2,
    "fin_all": 2,
    "silence": 3,  # the node stops answering on one connection
    "partition": 3,
    "partition_in": 2,  # nothing reaches the node, but the node's bytes arrive
    "partition_out": 2,
    "slow_reader": 2,
    "crash": 3,  # connections are reset, and the node comes back without prepared statements
    "power": 3,  # the node loses power: its connections are not closed
    "rolling": 2,
    "drain": 4,  # the node announces that it will stop (CEP-59); then it stops, or stays
    "rolling_drain": 2,
    "forget": 4,  # the node forgets all prepared statements
    "event_down": 2,
    "event_up": 2,
    "event_both": 2,
    "event_doubled": 1,
    "event_schema": 1,
    "leave": 1,  # a node leaves, and comes back
    "join": 1,
    "move": 2,  # a node comes back at another address
    "swap": 1,  # two nodes come back at each other's address
    "replace": 1,  # another node replaces one, at its address
    "peers_nulls": 1,
    "peers_doubled": 1,
    "peers_missing": 1,
    "errors": 9,
    "lag": 4,
    "use_lag": 3,
    "prepare_lag": 3,
    "withhold": 6,
    "late": 4,
    "alter": 2,
    "stall": 3,
    "clock": 3,  # sets the machine's clock ahead or back
    "drip": 1,
    "cut_frame": 2,
}


# Steps that may leave something behind if they are cancelled, so they are cancelled more often.
_ENDS = {"new_session", "close_session", "new_cluster", "close_cluster"}


def _settings(draws: random.Random) -> dict[str, Any]:
    scylla = draws.random() < 0.2
    return {
        "nodes": draws.choice((1, 2, 3, 3, 3, 4)),
        "scylla": draws.choice((1, 2, 3)) if scylla else 0,
        "tablets": draws.random() < 0.5,
        "protocol": 4 if scylla else draws.choice((None, 5, 5, 4, 4, 3)),
        "server_version": 4 if scylla else draws.choice((5, 5, 5, 4)),
        "compression": draws.random() < 0.3,
        "balancing": draws.choice(("token_aware", "round_robin", "dc_aware", "adaptive")),
        "retry": draws.choice(("default", "default", "fallthrough", "backoff", "downgrading")),
        "speculation": draws.choice(
            (None, None, (0.02, 2), (0.0, 1), (0.2, 3), ("percentile", 50.0))
        ),
        "throttler": draws.choice(
            (None, None, None, "concurrency", "rate", "slow_rate", "adaptive")
        ),
        "connections": draws.choice((1, 1, 2, 3)),
        "streams": draws.choice((None, None, 4, 16)),
        "waiting": draws.choice((None, 5, 50)),
        "reconnection": draws.choice(((0.1, 2.0), (0.5, 4.0), (1.0, 1.0))),
        "connect_timeout": draws.choice((1.0, 2.0, 5.0)),
        "heartbeat": draws.choice(((1.0, 1.0), (3.0, 2.0), (10.0, 3.0))),
        "request_timeout": draws.choice((0.5, 2.0, 5.0, 5.0, None)),
        "abrupt": draws.random() < 0.25,
        "windows": draws.choice((0.0, 0.2, 2.0)),
        "latency": draws.choice((0.0002, 0.001, 0.02)),
        "fragments": draws.choice((0.0, 0.1, 0.6)),
        "sessions": draws.choice((1, 1, 2)),
        "prepare_on_all": draws.random() < 0.5,
        "reprepare_on_up": draws.random() < 0.7,
        "wait_for_all": draws.random() < 0.3,
        "metrics": draws.random() < 0.1,
        "blocking": draws.random() < 0.2,
        "tls": draws.random() < 0.1,
        "jitter": draws.random() < 0.4,
        "graceful": not scylla and draws.random() < 0.6,  # nodes support GRACEFUL_DISCONNECT
    }


def _chosen(draws: random.Random, kinds: Mapping[str, float]) -> str:
    return draws.choices(list(kinds), list(kinds.values()))[0]


def _step(draws: random.Random, number: int, cancels: bool) -> Line:
    what = _chosen(draws, STEPS)
    timeout = draws.choice((-1.0, -1.0, -1.0, 0.05, 0.3, 1.0, 0.0))
    share = 0.3 if what in _ENDS else 0.04
    cancel = round(draws.random() ** 3 * 2.0, 4) if cancels and draws.random() < share else -1.0
    if cancel >= 0 and what in _ENDS:
        cancel /= 20  # these steps are short: cancel while their requests are in flight
    return Line(
        round(draws.random() * LENGTH, 4),
        what,
        draws.randrange(100),
        timeout,
        draws.randrange(len(KEYSPACES)) if what in ("use", "new_session") else number,
        cancel,
    )


def _fault(draws: random.Random) -> Line:
    what = _chosen(draws, FAULTS)
    seconds = round(0.01 + draws.random() ** 2 * 5.0, 4)
    moment = round(draws.random() * LENGTH, 4)
    return Line(moment, what, draws.randrange(100), seconds, draws.randrange(1000))


def drawn(seed: int) -> Plan:
    """Return the plan that is drawn at random from a seed."""
    draws = random.Random(f"{seed}/plan")
    settings = _settings(draws)
    count = draws.choice((20, 60, 120))
    cancels = draws.random() < 0.8
    steps = [_step(draws, number, cancels) for number in range(1, count + 1)]
    faults = [_fault(draws) for _ in range(draws.choice((0, 1, 2, 4, 6, 10, 16)))]
    return Plan(
        seed,
        settings,
        sorted(steps, key=lambda line: line.at),
        sorted(faults, key=lambda line: line.at),
    )
