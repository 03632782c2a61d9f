"""Merging the targets of schema refreshes, so that many targets become a few."""

from __future__ import annotations

import random

from cassandra import UserFunctionDescriptor
from cassandra.engine.schema.targets import (
    MANY,
    MANY_KEYSPACES,
    PendingTargets,
    Target,
    grouped,
    is_known,
)


def merged(targets: list[Target]) -> list[Target]:
    """Return the targets that are read instead of these targets."""
    return list(grouped(targets))


def test_targets_are_merged() -> None:
    """A target replaces all targets that it covers.

    Many targets in a keyspace become the keyspace.
    """
    table, user_type = Target("TABLE", "a", "t"), Target("TYPE", "a", "u")
    assert merged([table, user_type]) == [table, user_type]
    assert merged([table, Target("KEYSPACE", "a"), Target("REPLICATION", "a")]) == [
        Target("KEYSPACE", "a")
    ]
    # The target of the whole schema covers all other targets, except targets that are forced.
    assert merged([table, Target("KEYSPACE", "b"), Target()]) == [Target()]
    forced_table = table._replace(forced=True)
    assert merged([forced_table, Target()]) == [Target(), forced_table]
    # Many tables of the same keyspace become the target of the keyspace.
    tables = [Target("TABLE", "a", str(number)) for number in range(50)]
    assert merged(tables) == [Target("KEYSPACE", "a")]


def test_many_keyspaces_become_the_whole_schema() -> None:
    """Targets in MANY_KEYSPACES or more keyspaces become the whole schema.

    Forced targets stay.
    """
    tables = [Target("TABLE", f"k{number}", "t") for number in range(MANY_KEYSPACES)]
    assert merged(tables[:-1]) == tables[:-1]
    assert merged(tables) == [Target()]
    forced_table = Target("TABLE", "a", "t", forced=True)
    assert merged([*tables, forced_table]) == [Target(), forced_table]


def test_each_target_is_covered_by_one_of_the_result() -> None:
    """`grouped` maps each target to read to the original targets that it covers.

    The original targets are random. Each of them must be covered by exactly one target to read.
    """
    target_types = ("ALL", "KEYSPACE", "REPLICATION", "TABLE", "TYPE")
    weights = (1, 5, 10, 60, 20)  # how often each target type is chosen
    for seed in range(300):
        chooser = random.Random(seed)
        targets = [
            Target(
                target_type,
                keyspace="" if target_type == "ALL" else f"k{chooser.randrange(5)}",
                name=str(chooser.randrange(9)) if target_type in ("TABLE", "TYPE") else "",
                forced=chooser.random() < 0.3,
            )
            for target_type in chooser.choices(target_types, weights, k=chooser.randrange(1, 40))
        ]
        covered_targets = grouped(targets)
        all_covered: list[Target] = []
        for target, covered in covered_targets.items():
            for member in covered:
                assert member == target or target.covers(member), (seed, target, member)
            all_covered += covered
        # Every target is covered exactly once.
        assert sorted(all_covered) == sorted(targets), seed


def test_the_number_of_pending_targets_is_bounded() -> None:
    """Even for 20000 targets, the number of pending targets stays small.

    Targets are merged when they are added, so that many events do not fill the memory.
    """
    pending = PendingTargets()
    table_count, keyspace_count = 20_000, 60
    for number in range(table_count):
        pending.add(Target("TABLE", f"k{number % keyspace_count}", str(number)))
        if number % 100 == 0:
            assert len(list(pending)) <= MANY * MANY_KEYSPACES
    assert pending.take() == [Target("KEYSPACE", f"k{number}") for number in range(keyspace_count)]
    assert pending.take() == []


def test_targets_that_were_read_are_discarded() -> None:
    """`discard` removes a target that no longer needs to be read, and ignores unknown targets."""
    pending = PendingTargets()
    # Only one target is pending at a time, so the targets are not merged.
    for number in range(1000):
        pending.add(Target("TABLE", f"k{number}", "t"))
        pending.discard(Target("TABLE", f"k{number}", "t"))
    pending.discard(Target("TABLE", "a", "never added"))
    assert pending.take() == []


def test_names_that_may_be_truncated_are_not_queried() -> None:
    """If a name in an event is not ASCII, the whole keyspace or the whole schema is read.

    Servers truncate letters beyond Latin-1 in events, so such a name may be wrong.
    """
    event = {"target_type": "TYPE", "keyspace": "ks", "change_type": "CREATED", "type": "\u00dcn"}
    assert Target.of_event(event) == Target("KEYSPACE", "ks")
    assert Target.of_event({**event, "type": "un"}) == Target("TYPE", "ks", "un")
    assert Target.of_event({**event, "keyspace": "\u00dc"}) == Target()
    function = {"target_type": "FUNCTION", "keyspace": "ks", "change_type": "CREATED"}
    descriptor = UserFunctionDescriptor("f\u00fc", [])
    assert Target.of_event({**function, "function": descriptor}) == Target("KEYSPACE", "ks")


def test_an_unknown_change_stands_for_its_keyspace() -> None:
    """A kind of object or of change that only newer servers know stands for the whole keyspace.

    Without a keyspace, it stands for the whole schema.
    """
    widget = {"target_type": "WIDGET", "keyspace": "ks", "change_type": "CREATED", "widget": "w"}
    assert Target.of_event(widget) == Target("KEYSPACE", "ks")
    assert Target.of_event({**widget, "keyspace": ""}) == Target()
    table = {"target_type": "TABLE", "keyspace": "ks", "change_type": "RENAMED", "table": "t"}
    assert Target.of_event(table) == Target("KEYSPACE", "ks")
    assert is_known({**table, "change_type": "UPDATED"})
    assert not is_known(table)
    assert not is_known(widget)
