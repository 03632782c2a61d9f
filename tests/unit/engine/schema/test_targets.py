"""Many targets of schema refreshes, in any order, are merged into a few."""

from __future__ import annotations

import random

from cassandra import UserFunctionDescriptor
from cassandra.engine.schema.targets import MANY, MANY_KEYSPACES, PendingTargets, Target, grouped


def merged(targets: list[Target]) -> list[Target]:
    return list(grouped(targets))


def test_targets_are_merged() -> None:
    table, type_ = Target("TABLE", "a", "t"), Target("TYPE", "a", "u")
    assert merged([table, type_]) == [table, type_]
    assert merged([table, Target("KEYSPACE", "a"), Target("REPLICATION", "a")]) == [
        Target("KEYSPACE", "a")
    ]
    # The target of the whole schema covers all others, except a forced one.
    assert merged([table, Target("KEYSPACE", "b"), Target()]) == [Target()]
    assert merged([table._replace(forced=True), Target()]) == [
        Target(),
        table._replace(forced=True),
    ]
    # Many tables of one keyspace are merged into the keyspace.
    assert merged([Target("TABLE", "a", str(number)) for number in range(50)]) == [
        Target("KEYSPACE", "a")
    ]


def test_many_keyspaces_become_the_whole_schema() -> None:
    tables = [Target("TABLE", f"k{number}", "t") for number in range(MANY_KEYSPACES)]
    assert merged(tables[:-1]) == tables[:-1]
    assert merged(tables) == [Target()]
    assert merged([*tables, Target("TABLE", "a", "t", forced=True)]) == [
        Target(),
        Target("TABLE", "a", "t", forced=True),
    ]


def test_each_target_is_covered_by_one_of_the_result() -> None:
    kinds = ("ALL", "KEYSPACE", "REPLICATION", "TABLE", "TYPE")
    weights = (1, 5, 10, 60, 20)  # how often the kinds are chosen
    for seed in range(300):
        chooser = random.Random(seed)
        targets = [
            Target(
                kind,
                keyspace="" if kind == "ALL" else f"k{chooser.randrange(5)}",
                name=str(chooser.randrange(9)) if kind in ("TABLE", "TYPE") else "",
                forced=chooser.random() < 0.3,
            )
            for kind in chooser.choices(kinds, weights, k=chooser.randrange(1, 40))
        ]
        covered_by_target = grouped(targets)
        for target, covered in covered_by_target.items():
            assert all(member == target or target.covers(member) for member in covered), (
                seed,
                target,
                covered,
            )
        # Every target is covered, and none is covered twice.
        assert sorted(
            member for covered in covered_by_target.values() for member in covered
        ) == sorted(targets), seed


def test_the_number_of_pending_targets_is_bounded() -> None:
    pending = PendingTargets()
    peak = 0
    for number in range(20_000):
        # There are 20,000 tables in 60 keyspaces.
        pending.add(Target("TABLE", f"k{number % 60}", str(number)))
        peak = max(peak, len(list(pending))) if number % 100 == 0 else peak
    assert peak <= MANY * MANY_KEYSPACES
    assert pending.take() == [Target("KEYSPACE", f"k{number}") for number in range(60)]
    assert pending.take() == []


def test_targets_that_were_read_are_discarded() -> None:
    pending = PendingTargets()
    for number in range(1000):  # add one at a time, so that they are not merged
        pending.add(Target("TABLE", f"k{number}", "t"))
        pending.discard(Target("TABLE", f"k{number}", "t"))
    pending.discard(Target("TABLE", "a", "never added"))
    assert pending.take() == []


def test_names_that_may_be_truncated_are_not_queried() -> None:
    """If an event may have truncated a name, the whole keyspace or schema is read instead.

    Servers truncate letters beyond Latin-1 in events.
    """
    event = {"target_type": "TYPE", "keyspace": "ks", "change_type": "CREATED", "type": "\u00dcn"}
    assert Target.of_event(event) == Target("KEYSPACE", "ks")
    assert Target.of_event({**event, "type": "un"}) == Target("TYPE", "ks", "un")
    assert Target.of_event({**event, "keyspace": "\u00dc"}) == Target()
    function = {"target_type": "FUNCTION", "keyspace": "ks", "change_type": "CREATED"}
    descriptor = UserFunctionDescriptor("f\u00fc", [])
    assert Target.of_event({**function, "function": descriptor}) == Target("KEYSPACE", "ks")
