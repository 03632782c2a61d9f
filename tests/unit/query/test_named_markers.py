"""The columns whose values are bound to named markers."""

from __future__ import annotations

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
        ("c) = :y", {"y": {")"}}),
    ],
)
def test_markers_and_their_columns(query: str, expected: dict[str, set[str]]) -> None:
    assert columns_of_named_markers(query) == expected
