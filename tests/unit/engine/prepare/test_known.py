"""Prepared statements that are in use, found by their id."""

from __future__ import annotations

from typing import Any

from cassandra.engine.prepare.known import KnownStatements
from cassandra.query.prepared import PreparedStatement


def statement(query_id: bytes) -> PreparedStatement:
    return PreparedStatement([], query_id, None, "SELECT 1", "ks", 5, None, None)


def test_one_of_several_with_the_same_id_is_enough() -> None:
    known = KnownStatements()
    kept: list[Any] = [statement(b"a") for _ in range(3)]
    for one in kept:
        known.add(one)
        known.add(one)
    del one
    while kept:
        assert any(known.by_id(b"a") is one for one in kept)
        assert len(list(known.each_once())) == 1
        del kept[0]
    assert known.by_id(b"a") is None
    assert list(known.each_once()) == []


def test_a_statement_whose_id_has_changed_is_found_by_the_new_one() -> None:
    known = KnownStatements()
    first, second = statement(b"a"), statement(b"b")
    known.add(first)
    known.add(second)
    first.query_id = b"b"
    second.query_id = b"c"
    assert known.by_id(b"a") is None
    for _ in range(2):
        assert known.by_id(b"b") is first
        assert known.by_id(b"c") is second
    assert {one.query_id for one in known.each_once()} == {b"b", b"c"}


def test_what_is_dropped_meanwhile_is_left_out() -> None:
    known = KnownStatements()
    kept: list[Any] = [statement(b"%d" % number) for number in range(3)]
    for one in kept:
        known.add(one)
    found = known.each_once()
    assert next(found) is kept[0]
    del one, kept[1]
    known.add(statement(b"later"))
    assert [prepared.query_id for prepared in found] == [b"2"]
