"""Test which columns named markers belong to: `columns_of_named_markers` and its relatives."""

from __future__ import annotations

import sys

import pytest

from cassandra.query.named_markers import columns_of_named_markers, markers_of_columns


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
        ("SELECT * FROM t WHERE (a, b) > (:x, :y) LIMIT :n",
         {"x": {"a"}, "y": {"b"}, "n": {"[limit]"}}),
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
        ("INSERT INTO t (k, ssn) VALUES (1, f(:x)) USING TTL :y", {"y": {"[ttl]"}}),
        ("UPDATE t USING TIMESTAMP :x AND TTL (int) :y SET n = :y",
         {"x": {"[timestamp]"}, "y": {"[ttl]", "n"}}),
        ("SELECT * FROM t WHERE token(a, b) > :x AND token(a, b) <= :y PER PARTITION LIMIT :x",
         {"x": {"partition key token", "[limit]"}, "y": {"partition key token"}}),
        ("SELECT * FROM t WHERE token(a) BETWEEN :x AND :y",
         {"x": {"partition key token"}, "y": {"partition key token"}}),
        ("INSERT INTO t (k, p, n) VALUES (1, (:x, :y), :z + 1)", {}),
        ("UPDATE t SET l = [:a, :b], s = {:c, :d}, m = {1: :e, :f : :g}, u = {h: :i, j: :k}", {}),
        ("UPDATE t SET m[?] = :x, n += :y WHERE k IN (:z)", {"z": {"k"}}),
        ("VALUES (:x) IN (:y", {}),
        ("UPDATE t SET n = :x+1, l = :y + l, m = m - :z", {"y": {"l"}}),
        # A type cast does not hide the column of the value.
        ("UPDATE t SET ssn = (blob) :a, n=(frozen<list<int>>)(list<int>):b", {"a": {"ssn"},
                                                                             "b": {"n"}}),
        ("INSERT INTO t (k, ssn) VALUES (:a, (blob) :b)", {"a": {"k"}, "b": {"ssn"}}),
        ("SELECT * FROM t WHERE a IN ((blob) :x, :y, (blob) ?)", {"x": {"a"}, "y": {"a"}}),
        ("SELECT * FROM t WHERE (a, b) > ((int) :x, (blob) :y)", {"x": {"a"}, "y": {"b"}}),
        ("SELECT * FROM t WHERE (a, b) IN (((int) :x, :y))", {"x": {"a"}, "y": {"b"}}),
        ("UPDATE t SET n = 1 IF a NOT IN :x AND b NOT IN (:y, (int) :z)",
         {"x": {"in(a)"}, "y": {"b"}, "z": {"b"}}),
        ("SELECT * FROM t WHERE a BETWEEN :x AND :y AND b = :z AND c NOT BETWEEN 1 AND :t",
         {"x": {"a"}, "y": {"a"}, "z": {"b"}, "t": {"c"}}),
        ("SELECT * FROM t WHERE a BETWEEN f(:u, 1) AND (int) :y", {"y": {"a"}}),
        ("SELECT * FROM t WHERE (a, b) BETWEEN (:x, 1) AND (2, :y)", {"x": {"a"}, "y": {"b"}}),
        # In transactions, columns of rows that were read have the names of these rows.
        ("BEGIN TRANSACTION LET r = (SELECT * FROM t WHERE k = :k); IF r.ssn = :x AND u.ssn = :y "
         "THEN UPDATE t SET a = 1 WHERE k = 2; END IF COMMIT TRANSACTION",
         {"k": {"k"}, "x": {"ssn"}, "y": {"u.ssn"}}),
    ],
)  # fmt: skip
def test_markers_and_their_columns(query: str, expected: dict[str, set[str]]) -> None:
    """The result has the columns whose values are bound to each named marker."""
    assert columns_of_named_markers(query) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT * FROM t WHERE :v = ssn", {"v"}),
        ("SELECT * FROM t WHERE ssn UNLIKE :v", {"v"}),
        ("INSERT INTO t (k, ssn) VALUES (1, (:v))", {"v"}),
        ("INSERT INTO t (k, ssn) VALUES (1, ((blob) :v))", {"v"}),
        ("INSERT INTO t (k, ssn) VALUES (1, 2, :v)", {"v"}),
        ("INSERT INTO t (k, ssn) VALUES (1, :v.a :w)", {"w"}),
        ("SELECT * FROM t WHERE ssn = 1 AND :v", {"v"}),
        # The type of this marker shows that the value is not that of an encrypted column.
        ("INSERT INTO t JSON :v USING TTL :w", {"v"}),
        # These values are no whole values of a column.
        ("SELECT f(:v), g(h((blob) :w, (:x, :y))) FROM t WHERE token(a) > token(:z)", set()),
        ("UPDATE t SET l = [:a, (blob) :b], s = {:c}, m = {1: :e, :f : :g}, u = {h: :i}", set()),
        ("UPDATE t SET m[:k] = :x, m['a'] = (blob) :y, n += :z, l = l - :w", set()),
        ("UPDATE t SET a = 1 IF m[:k] IN (:x, :y) AND m[?] BETWEEN :v AND :w", set()),
        ("INSERT INTO t (k, p) VALUES (1, (:x, (blob) :y))", set()),
        ("SELECT * FROM t WHERE s CONTAINS :x AND m CONTAINS KEY (blob) :y", set()),
        ("SELECT * FROM t ORDER BY v ANN OF :x", set()),
    ],
)
def test_markers_of_unknown_columns(query: str, expected: set[str]) -> None:
    """A marker is unknown if its value may be that of a column, but it is not known of which."""
    names = ["v", "w"]
    assert set(markers_of_columns(query, names).unknown) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("UPDATE t SET m[:k] = :x, \"M\"['a'] = (blob) :y, m[?] IN (1, :z)",
         {"k": "key(m)", "x": "value(m)", "y": "value(M)", "z": "value(m)"}),
        ('UPDATE t SET l = l + :x, "N" = "N" - :y, n += :z, c = d + :w',
         {"x": "l", "y": "N", "z": "n", "w": "value(...)"}),
        ("UPDATE t SET l = [:a, (blob) :b], m = {1: :e, :f : 'a'}, n = 1 + :g",
         dict.fromkeys("abefg", "value(...)")),
        ("SELECT f(:v), g(h((blob) :w)) FROM t", dict.fromkeys("vw", "value(...)")),
        ('SELECT * FROM t WHERE s CONTAINS :x AND "M" CONTAINS KEY :y AND c LIKE :z',
         {"x": "value(s)", "y": "key(M)", "z": "c"}),
        ("SELECT * FROM t ORDER BY v ANN OF (vector<float, 2>) :x", {"x": "v"}),
        ("INSERT INTO t JSON :x", {"x": "[json]"}),
        ("] = :x", {"x": "value(...)"}),
        ("CONTAINS :x", {"x": "value(...)"}),
        ("+= :x", {"x": "value(...)"}),
        ("+ + + :x", {"x": "value(...)"}),
        ("[:x]", {"x": "value(...)"}),
    ],
)  # fmt: skip
def test_parts_of_values_are_called_as_servers_do(query: str, expected: dict[str, str]) -> None:
    """Otherwise a marker would get the converter, or the key, of a column with its own name."""
    columns = markers_of_columns(query, []).columns
    assert columns == {marker: {name} for marker, name in expected.items()}


def test_unknown_markers_have_the_names_of_all_columns() -> None:
    """The column of an unknown marker is one that the statement names."""
    found = markers_of_columns('SELECT "A b", ks.c FROM t WHERE :v = d AND e = :x', ["v", "x"])
    assert found.columns == {"x": {"e"}}
    assert set(found.unknown) == {"v"}
    assert {"A b", "c", "d", "e"} <= found.unknown["v"]


def test_other_markers_may_have_the_name_of_a_named_marker() -> None:
    """Servers name a `?` by its column, which may be the name of a named marker."""
    query = "UPDATE t SET ssn = ?, a = :ssn WHERE k = ?"
    assert markers_of_columns(query, ["ssn", "ssn", "k"]).columns == {"ssn": {"a", "ssn"}}
    query = "UPDATE t SET b = ?, a = :ssn WHERE k = ?"
    assert markers_of_columns(query, ["b", "ssn", "k"]).columns == {"ssn": {"a"}}
    # ScyllaDB describes a named marker once, so the second marker may be the ``?``.
    query = "UPDATE t SET ssn = ?, a = :ssn, b = :ssn WHERE k = 1"
    assert markers_of_columns(query, ["ssn", "ssn"]).columns == {"ssn": {"a", "b", "ssn"}}


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
