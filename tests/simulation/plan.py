"""A simulation as data: its settings, the steps of clients, and the faults.

Each step and each fault is one `PlannedEvent`. A plan is drawn at random from a seed. You can
remove an event without changing the other events. So a failing plan can be made small, and be
printed as a test.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tests.simulation.store import KEYSPACES

# Virtual seconds of a simulation in which clients work and faults occur.
LENGTH = 12.0


@dataclass(frozen=True)
class PlannedEvent:
    """One step of a client, or one fault.

    :param start: the time at which the event begins, in seconds after the first clusters are
        connected.
    :param kind: a key of `STEPS` or `FAULTS`.
    :param target_index: selects a session or node; taken modulo their count.
    :param seconds: the duration of a fault, or the timeout of a request; -1 for no timeout.
    :param parameter: a number whose meaning depends on `kind`, for example a key.
    :param cancel_after: seconds after which the caller cancels a step; -1 for never.
    """

    start: float
    kind: str
    target_index: int = 0
    seconds: float = -1.0
    parameter: int = 0
    cancel_after: float = -1.0


@dataclass(frozen=True)
class Plan:
    """The settings, steps and faults of one simulation.

    :param seed: decides what the plan does not specify: latencies, the order of events, and jitter.
    :param settings: the settings that `tests.simulation.life` reads.
    :param steps: the steps of the clients.
    :param faults: the faults of the nodes and the network.
    """

    seed: int
    settings: dict[str, Any] = field(default_factory=dict)
    steps: Sequence[PlannedEvent] = ()
    faults: Sequence[PlannedEvent] = ()

    def without(self, left_out: Sequence[PlannedEvent]) -> Plan:
        """Return a copy of the plan without the events in `left_out`."""
        return replace(
            self,
            steps=[event for event in self.steps if event not in left_out],
            faults=[event for event in self.faults if event not in left_out],
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
            *(f"            {event!r}," for event in self.steps),
            "        ],",
            "        faults=[",
            *(f"            {event!r}," for event in self.faults),
            "        ],",
            "    )",
            "    assert run_plan(plan).violations == []",
        ]
        return "\n".join(lines)


# The kinds of steps, each with its relative frequency in random plans.
STEPS = {
    "write": 16,  # a prepared INSERT, marked as idempotent
    "write_once": 10,  # the same INSERT, not marked as idempotent
    "simple_write": 8,  # an INSERT that is not prepared
    "count": 6,  # an UPDATE of a counter, never idempotent
    "read": 16,
    "simple_read": 8,
    "batch": 6,
    "batch_once": 3,
    "lwt": 4,  # an INSERT with IF NOT EXISTS
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

# The kinds of faults, each with its relative frequency in random plans.
FAULTS = {
    "refuse": 2,
    "hang": 2,  # the node accepts connections, but does not answer
    "drop_syns": 2,
    "reset_one": 3,
    "reset_all": 2,
    "fin_all": 2,  # the node closes all its connections
    "silence": 3,  # the node stops responding on one connection
    "partition": 3,
    "partition_in": 2,  # nothing reaches the node, but the node's bytes arrive
    "partition_out": 2,
    "slow_reader": 2,
    "crash": 3,  # connections are reset, and the node comes back without prepared statements
    "power": 3,  # the node loses power: its connections are not closed
    "rolling": 2,
    "drain": 4,  # the node announces that it will stop (CEP-59); then it stops or keeps running
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
    "replace": 1,  # a new node replaces a node, at the same address
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
    "clock": 3,  # sets the machine's clock forward or back
    "drip": 1,
    "cut_frame": 2,
}


# Steps that are cancelled more often than others, because a cancelled step may leave connections or
# tasks behind.
_ENDS = {"new_session", "close_session", "new_cluster", "close_cluster"}


def _settings(rng: random.Random) -> dict[str, Any]:
    """Draw the settings of a plan.

    A value that is listed several times is drawn more often.
    """
    scylla = rng.random() < 0.2
    return {
        "nodes": rng.choice((1, 2, 3, 3, 3, 4)),
        "scylla": rng.choice((1, 2, 3)) if scylla else 0,
        "tablets": rng.random() < 0.5,
        "protocol": 4 if scylla else rng.choice((None, 5, 5, 4, 4, 3)),
        "server_version": 4 if scylla else rng.choice((5, 5, 5, 4)),
        "compression": rng.random() < 0.3,
        "balancing": rng.choice(("token_aware", "round_robin", "dc_aware", "adaptive")),
        "retry": rng.choice(("default", "default", "fallthrough", "backoff", "downgrading")),
        # None, (delay in seconds, most further attempts), or ("percentile", the percentile)
        "speculation": rng.choice(
            (None, None, (0.02, 2), (0.0, 1), (0.2, 3), ("percentile", 50.0))
        ),
        "throttler": rng.choice((None, None, None, "concurrency", "rate", "slow_rate", "adaptive")),
        "connections": rng.choice((1, 1, 2, 3)),
        "streams": rng.choice((None, None, 4, 16)),  # the most requests in flight of a connection
        "waiting": rng.choice((None, 5, 50)),  # the most requests that wait for a connection
        "reconnection": rng.choice(((0.1, 2.0), (0.5, 4.0), (1.0, 1.0))),  # shortest, longest delay
        "connect_timeout": rng.choice((1.0, 2.0, 5.0)),
        "heartbeat": rng.choice(((1.0, 1.0), (3.0, 2.0), (10.0, 3.0))),  # interval and timeout
        "request_timeout": rng.choice((0.5, 2.0, 5.0, 5.0, None)),
        "abrupt": rng.random() < 0.25,  # shut the clusters down while requests are in flight
        "windows": rng.choice((0.0, 0.2, 2.0)),  # the seconds in which the driver collects events
        "latency": rng.choice((0.0002, 0.001, 0.02)),  # of the network, in seconds
        "fragments": rng.choice((0.0, 0.1, 0.6)),  # the share of reads that return few bytes
        "sessions": rng.choice((1, 1, 2)),
        "prepare_on_all": rng.random() < 0.5,
        "reprepare_on_up": rng.random() < 0.7,
        "wait_for_all": rng.random() < 0.3,
        "metrics": rng.random() < 0.1,
        "blocking": rng.random() < 0.2,  # clients use the blocking API
        "tls": rng.random() < 0.1,
        "jitter": rng.random() < 0.4,  # nodes execute requests after random delays
        "graceful": not scylla and rng.random() < 0.6,  # nodes support GRACEFUL_DISCONNECT
    }


def _chosen(rng: random.Random, kinds: Mapping[str, float]) -> str:
    """Draw a kind of event by the relative frequencies in `kinds`."""
    return rng.choices(list(kinds), list(kinds.values()))[0]


def _step(rng: random.Random, number: int, may_cancel: bool) -> PlannedEvent:
    """Draw a step of a client.

    :param number: the number of the step; most steps derive their key from it.
    :param may_cancel: False if no step of the plan is cancelled.
    """
    kind = _chosen(rng, STEPS)
    timeout = rng.choice((-1.0, -1.0, -1.0, 0.05, 0.3, 1.0, 0.0))
    cancel_share = 0.3 if kind in _ENDS else 0.04
    cancel_after = (
        round(rng.random() ** 3 * 2.0, 4) if may_cancel and rng.random() < cancel_share else -1.0
    )
    if cancel_after >= 0 and kind in _ENDS:
        # these steps are short, so cancel them early, while their requests are in flight
        cancel_after /= 20
    return PlannedEvent(
        start=round(rng.random() * LENGTH, 4),
        kind=kind,
        target_index=rng.randrange(100),
        seconds=timeout,
        parameter=rng.randrange(len(KEYSPACES)) if kind in ("use", "new_session") else number,
        cancel_after=cancel_after,
    )


def _fault(rng: random.Random) -> PlannedEvent:
    """Draw a fault of at most five seconds. Short faults are more frequent than long faults."""
    kind = _chosen(rng, FAULTS)
    seconds = round(0.01 + rng.random() ** 2 * 5.0, 4)
    start = round(rng.random() * LENGTH, 4)
    return PlannedEvent(
        start, kind, target_index=rng.randrange(100), seconds=seconds, parameter=rng.randrange(1000)
    )


def _typed_event(rng: random.Random, kind: str, number: int) -> PlannedEvent:
    """Draw a step or a fault of the table whose type changes.

    :param number: the key that a step writes.
    """
    start = round(rng.random() * LENGTH, 4)
    return PlannedEvent(start, kind, target_index=rng.randrange(100), parameter=number)


def _schema_fault(rng: random.Random, kind: str) -> PlannedEvent:
    """Draw a change of the schema, or a trouble of its tables, which may begin before the plan."""
    start = round(rng.random() * LENGTH, 4)
    seconds = round(rng.random() ** 2 * 6.0, 4)
    return PlannedEvent(
        start, kind, target_index=rng.randrange(100), seconds=seconds, parameter=rng.randrange(1000)
    )


def random_plan(seed: int) -> Plan:
    """Draw a plan at random; the same seed gives the same plan."""
    rng = random.Random(f"{seed}/plan")
    settings = _settings(rng)
    # Draw the number of loops from another generator, so that a seed still gives the same steps and
    # faults as before this setting existed.
    settings["loops"] = random.Random(f"{seed}/loops").choice((1, 2, 3))
    settings["fallback"] = random.Random(f"{seed}/fallback").random() < 0.3
    gossip = random.Random(f"{seed}/gossip")
    settings["gossip"] = not settings["scylla"] and gossip.random() < 0.3
    step_count = rng.choice((20, 60, 120))
    may_cancel = rng.random() < 0.8
    steps = [_step(rng, number, may_cancel) for number in range(1, step_count + 1)]
    faults = [_fault(rng) for _ in range(rng.choice((0, 1, 2, 4, 6, 10, 16)))]
    if not settings["scylla"] and (lingering := random.Random(f"{seed}/linger")).random() < 0.15:
        faults.append(replace(_fault(lingering), kind="linger"))
    # For the same reason, another generator draws the steps and faults of the table whose type
    # changes.
    rng = random.Random(f"{seed}/types")
    if rng.random() < 0.2 and not settings["scylla"]:
        steps += [_typed_event(rng, "typed", number) for number in range(10)]
        faults += [_typed_event(rng, "create_again", 0) for _ in range(rng.choice((1, 1, 2, 3)))]
        settings["elsewhere"] = random.Random(f"{seed}/elsewhere").random() < 0.5
    # A third generator draws the changes of the schema by other clients.
    rng = random.Random(f"{seed}/schema")
    settings["schema"] = (
        not settings["scylla"]
        and rng.random() < 0.3
        and not any(fault.kind == "create_again" for fault in faults)
    )
    if settings["schema"]:
        faults += [_schema_fault(rng, "schema_change") for _ in range(rng.choice((1, 3, 10)))]
        faults += [_schema_fault(rng, "schema_trouble") for _ in range(rng.choice((0, 1, 3)))]
        steps += [_typed_event(rng, "ddl", number) for number in range(rng.choice((0, 1, 5)))]
    return Plan(
        seed,
        settings,
        sorted(steps, key=lambda event: event.start),
        sorted(faults, key=lambda event: event.start),
    )
