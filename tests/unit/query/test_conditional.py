"""Test `is_conditional`, which finds lightweight transactions by their CQL."""

from __future__ import annotations

import pytest

from cassandra.query import BatchStatement, SimpleStatement
from cassandra.query.conditional import is_conditional


@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO t (k) VALUES (1) IF NOT EXISTS",
        "update t set v = 1 where k = 1 if v = 2",
        "DELETE FROM t WHERE k = 1 IF\nEXISTS",
        "BEGIN BATCH UPDATE t SET v = 1 WHERE k = 1 IF v = 2 APPLY BATCH",
        "/* a comment */ -- and another\n INSERT INTO t (k) VALUES ('x') IF NOT EXISTS",
    ],
)
def test_statements_with_a_condition(text: str) -> None:
    """A statement with a condition is recognized, also in a batch or with comments."""
    assert is_conditional(text) is True
    assert SimpleStatement(text).is_lwt()
    assert BatchStatement().add(SimpleStatement(text)).is_lwt()


@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO t (k) VALUES (1)",
        "SELECT k FROM t",
        "CREATE TABLE IF NOT EXISTS t (k int PRIMARY KEY)",
        "DROP KEYSPACE IF EXISTS ks",
        "INSERT INTO t (k) VALUES ('IF it is')",
        "INSERT INTO t (k) VALUES ('it''s IF it is')",
        'INSERT INTO t ("if") VALUES (1)',
        "INSERT INTO t (k) VALUES ($$ if $$)",
        "INSERT INTO t (k) VALUES (1) -- if",
        "INSERT INTO t (k) VALUES (1) // if",
        "INSERT INTO t (k) /* if */ VALUES (1)",
        "UPDATE gift SET knife = 1 WHERE k = 1",
    ],
)
def test_if_elsewhere_is_not_a_condition(text: str) -> None:
    """The word IF in other places, such as strings and CREATE TABLE, is not a condition."""
    assert is_conditional(text) is False
    assert not SimpleStatement(text).is_lwt()
    assert not BatchStatement().add(SimpleStatement(text)).is_lwt()
