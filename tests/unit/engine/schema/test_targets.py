"""Targets of schema readings: many become few, whatever comes and in whatever order."""

from __future__ import annotations

import random

from cassandra import UserFunctionDescriptor
from cassandra.engine.schema.targets import MANY, MANY_KEYSPACES, PendingTargets, Target, grouped


def joined(wanted: list[Target]) -> list[Target]:
    return list(grouped(wanted))


def test_targets_are_joined() -> None:
    table, type_ = Target("TABLE", "a", "t"), Target("TYPE", "a", "u")
    assert joined([table, type_]) == [table, type_]
    assert joined([table, Target("KEYSPACE", "a"), Target("REPLICATION", "a")]) == [
        Target("KEYSPACE", "a")
    ]
    assert joined([table, Target("KEYSPACE", "b"), Target()]) == [Target()]
    assert joined([table._replace(forced=True), Target()]) == [
        Target(),
        table._replace(forced=True),
    ]
    assert joined([Target("TABLE", "a", str(at)) for at in range(50)]) == [Target("KEYSPACE", "a")]


def test_many_keyspaces_become_the_whole_schema() -> None:
    tables = [Target("TABLE", f"k{at}", "t") for at in range(MANY_KEYSPACES)]
    assert joined(tables[:-1]) == tables[:-1]
    assert joined(tables) == [Target()]
    assert joined([*tables, Target("TABLE", "a", "t", forced=True)]) == [
        Target(),
        Target("TABLE", "a", "t", forced=True),
    ]


def test_each_target_is_covered_by_one_that_is_chosen() -> None:
    kinds = ("ALL", "KEYSPACE", "REPLICATION", "TABLE", "TYPE")
    for seed in range(300):
        source = random.Random(seed)
        wanted = [
            Target(kind, "" if kind == "ALL" else f"k{source.randrange(5)}", str(source.randrange(9)) * (kind in ("TABLE", "TYPE")),  # noqa: E501
                   source.random() < 0.3)
            for kind in source.choices(kinds, (1, 5, 10, 60, 20), k=source.randrange(1, 40))
        ]  # fmt: skip
        chosen = grouped(wanted)
        for target, covered in chosen.items():
            assert all(one == target or target.covers(one) for one in covered), (
                seed,
                target,
                covered,
            )
        assert sorted(one for covered in chosen.values() for one in covered) == sorted(wanted), seed


def test_what_is_pending_is_bounded() -> None:
    pending = PendingTargets()
    most = 0
    for at in range(20_000):
        pending.add(Target("TABLE", f"k{at % 60}", str(at)))
        most = max(most, len(list(pending))) if at % 100 == 0 else most
    assert most <= MANY * MANY_KEYSPACES
    assert pending.take() == [Target("KEYSPACE", f"k{at}") for at in range(60)]
    assert pending.take() == []


def test_what_was_read_meanwhile_is_discarded() -> None:
    pending = PendingTargets()
    for at in range(1000):  # one at a time: nothing adds up
        pending.add(Target("TABLE", f"k{at}", "t"))
        pending.discard(Target("TABLE", f"k{at}", "t"))
    pending.discard(Target("TABLE", "a", "never added"))
    assert pending.take() == []


def test_names_that_a_server_may_have_cut_are_not_asked_for() -> None:
    """Letters beyond Latin-1 are lost in events: the keyspace is read, or all of them."""
    event = {"target_type": "TYPE", "keyspace": "ks", "change_type": "CREATED", "type": "\u00dcn"}
    assert Target.of_event(event) == Target("KEYSPACE", "ks")
    assert Target.of_event({**event, "type": "un"}) == Target("TYPE", "ks", "un")
    assert Target.of_event({**event, "keyspace": "\u00dc"}) == Target()
    function = {"target_type": "FUNCTION", "keyspace": "ks", "change_type": "CREATED"}
    descriptor = UserFunctionDescriptor("f\u00fc", [])
    assert Target.of_event({**function, "function": descriptor}) == Target("KEYSPACE", "ks")
