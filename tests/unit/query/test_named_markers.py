"""Test `columns_of_named_markers`, which finds the columns to which named markers belong."""

from __future__ import annotations

import sys

import pytest

from cassandra.query.named_markers import columns_of_named_markers


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("UPDATE t SET ssn = :a, n=:B WHERE k = :k", {"a": {"ssn"}, "b": {"n"}, "k": {"k"}}),
        ('UPDATE t SET "Ssn" = :"A b" WHERE k = ?', {"A b": {"Ssn"}}),
        ("INSERT INTO ks.t (k, ssn, n) VALUES (:a, :b, now())", {"a": {"k"}, "b": {"ssn"}}),
        ("INSERT INTO t (k, m, ssn) VALUES (1, {'a': :x, 'b': f(2, 3)}, :b)", {"b": {"ssn"}}),
        ("SELECT * FROM t WHERE k IN :keys AND c >= :low", {"keys": {"in(k)"}, "low": {"c"}}),
        ("UPDATE t SET n = :v, ssn = :v WHERE k = 1 IF ssn != :v", {"v": {"n", "ssn"}}),
        ("UPDATE t SET n = ':v' WHERE k = 1 -- ssn = :v", {}),
        ("SELECT * FROM t WHERE (a, b) > (:x, :y) LIMIT :n", {"x": {"a"}, "y": {"b"}}),
        ("SELECT * FROM t WHERE a IN (1, :x, f(2), :y)", {"x": {"a"}, "y": {"a"}}),
        ("SELECT * FROM t WHERE (a, b) IN (:x, ?)", {"x": {"(a,b)"}}),
        ("SELECT * FROM t WHERE (a, b) IN ((1, 2), (:x, :y))", {"x": {"a"}, "y": {"b"}}),
        ("SELECT f(:x) FROM t WHERE a = f(1, :y) AND (a) > (1, :z)", {}),
        (", :x", {}),
        ("INSERT INTO t", {}),
        (":x", {}),
        ("SELECT * FROM t WHERE (a, b) IN :x", {"x": {"in(a,b)"}}),
        ("SELECT * FROM t WHERE (a, b) <= :x", {"x": {"(a,b)"}}),
        ("c) = :y", {}),
        # Names in quotes count neither as keywords nor as brackets.
        ('INSERT INTO t ("into", "a,(", ssn) VALUES (?, :x, :y)', {"x": {"a,("}, "y": {"ssn"}}),
        ('INSERT INTO "values" (k, ssn) VALUES (:x, :y)', {"x": {"k"}, "y": {"ssn"}}),
        ('SELECT * FROM t WHERE "in" = :x AND "values" IN :y', {"x": {"in"}, "y": {"in(values)"}}),
        # In these statements, a marker is only a part of the column's value, or no value of a
        # column.
        ("INSERT INTO t (k, ssn) VALUES (1, f(:x)) USING TTL :y", {}),
        ("INSERT INTO t (k, p, n) VALUES (1, (:x, :y), :z + 1)", {}),
        ("UPDATE t SET l = [:a, :b], s = {:c, :d}, m = {1: :e, :f : :g}, u = {h: :i, j: :k}", {}),
        ("UPDATE t SET m[?] = :x, n += :y WHERE k IN (:z)", {"z": {"k"}}),
        ("VALUES (:x) IN (:y", {}),
    ],
)
def test_markers_and_their_columns(query: str, expected: dict[str, set[str]]) -> None:
    """The result has the columns whose values are bound to each named marker."""
    assert columns_of_named_markers(query) == expected


def test_long_lists_take_linear_time() -> None:
    """A list of 20,000 markers needs fewer than 50 function calls for each marker.

    If the whole list were searched again for each marker, 65,535 markers would take minutes.
    """
    markers = [f"m{number}" for number in range(20_000)]
    query = f"SELECT * FROM t WHERE a IN (:{', :'.join(markers)})"
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        columns = columns_of_named_markers(query)
    finally:
        sys.setprofile(None)
    assert columns == {name: {"a"} for name in markers}
    assert calls < 50 * len(markers)
