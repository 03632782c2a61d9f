"""Test how values are removed from the query strings in logs and metrics.

The tests also check the operation, keyspace and table that are derived from a query string.
"""

from __future__ import annotations

from typing import Any

import pytest

from cassandra import errors
from cassandra.observability import texts
from cassandra.observability.texts import code_of, error_text, shape_of
from cassandra.protocol.messages.errors import OverloadedErrorMessage, ServerError, SyntaxException


@pytest.mark.parametrize(
    ("text", "operation", "keyspace", "table"),
    [
        ("select * from ks.t where a = 1", "SELECT", "ks", "t"),
        ('SELECT a, "from" FROM "Ks" . "T"', "SELECT", "Ks", "T"),
        ("SELECT JSON a FROM T", "SELECT", None, "t"),
        ("INSERT INTO t (k) VALUES (?)", "INSERT", None, "t"),
        ("UPDATE ks.t USING TTL 5 SET v = 1", "UPDATE", "ks", "t"),
        ("DELETE a FROM t WHERE k = 1", "DELETE", None, "t"),
        ("DELETE FROM t WHERE k = 1", "DELETE", None, "t"),
        ("TRUNCATE TABLE ks.t", "TRUNCATE", "ks", "t"),
        ("TRUNCATE t", "TRUNCATE", None, "t"),
        ("CREATE TABLE IF NOT EXISTS ks.t (k int PRIMARY KEY)", "CREATE", "ks", "t"),
        ("ALTER TABLE t ADD a int", "ALTER", None, "t"),
        ("USE ks", "USE", None, None),
        ("BEGIN BATCH INSERT INTO t (k) VALUES (1); APPLY BATCH", "BATCH", None, "t"),
        ("BEGIN UNLOGGED BATCH UPDATE ks.t SET v = 1 WHERE k=1; APPLY BATCH", "BATCH", "ks", "t"),
        ("", "", None, None),
        ("/* hint */ SELECT a FROM t", "SELECT", None, "t"),
    ],
)
def test_the_operation_keyspace_and_table_of_a_text(
    text: str, operation: str, keyspace: str | None, table: str | None
) -> None:
    """`shape_of` reads the operation, the keyspace and the table from a query string."""
    shape = shape_of(text)
    assert shape.operation == operation
    assert shape.keyspace == keyspace
    assert shape.table == table


def test_summaries_name_statements() -> None:
    assert shape_of("select * from ks.t where k = 1").summary == "SELECT ks.t"
    assert shape_of("select * from t").summary == "SELECT t"
    assert shape_of("USE ks").summary == "USE"


def test_a_prepared_statement_s_text_is_shown_as_it_is() -> None:
    text = "SELECT a FROM t WHERE k = ? AND kind = 'fixed'"
    assert shape_of(text, has_markers=True).text == text
    assert shape_of(text).text == "SELECT a FROM t WHERE k = ? AND kind = ?"


SECRET = "hunter2"
SERVER_MESSAGE = f"line 1:56 no viable alternative at input 'AND' (...= '{SECRET}' AND ...)"


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (
            SyntaxException(0x2000, SERVER_MESSAGE),
            "SyntaxException: Syntax error in CQL query, code=0x2000",
        ),
        (ServerError(0, SERVER_MESSAGE), "ServerError: Server error, code=0x0000"),
        (OverloadedErrorMessage(0x1001, SERVER_MESSAGE), "code=0x1001"),
        (errors.InvalidRequest(SERVER_MESSAGE), "InvalidRequest: code=0x2200"),
        (errors.Unauthorized(SERVER_MESSAGE), "Unauthorized: code=0x2100"),
        (errors.ConfigurationException(SERVER_MESSAGE), "ConfigurationException: code=0x2300"),
        (errors.AuthenticationFailed(SERVER_MESSAGE), "AuthenticationFailed: code=0x0100"),
        (
            errors.FunctionFailure(SERVER_MESSAGE, "ks", "f", ["int"]),
            "FunctionFailure: code=0x1400, keyspace=ks, function=f",
        ),
        (
            errors.WriteTimeout(SERVER_MESSAGE, write_type=0, consistency=1, required_responses=2),
            "WriteTimeout: code=0x1100, consistency=ONE, required_responses=2, write_type=SIMPLE",
        ),
        (
            errors.OperationTimedOut({"h": SERVER_MESSAGE}, "h", 2.5, 7),
            "OperationTimedOut: last_host=h, ",
        ),
        (
            errors.NoHostAvailable(
                "none", {"h": errors.InvalidRequest(SERVER_MESSAGE), "i": SERVER_MESSAGE}
            ),
            "NoHostAvailable: h: InvalidRequest: code=0x2200; i: str",
        ),
        (
            errors.refused_everywhere(
                "none", {"h": ServerError(0, SERVER_MESSAGE)}, ServerError(0, SERVER_MESSAGE)
            ),
            "ServerError: h: ServerError: Server error, code=0x0000",
        ),
        (ValueError(SECRET), "ValueError"),
        (errors.DecodeError(SECRET), "DecodeError"),
        (errors.ConnectionShutdown("h is gone\nfor good", "h"), "ConnectionShutdown: h is gone"),
        (ConnectionRefusedError(111, "Connection refused"), "ConnectionRefusedError: Connection"),
        (errors.NoHostAvailable("no host to try", {}), "NoHostAvailable: no host to try"),
    ],
)
def test_errors_are_described_without_values(error: Any, text: str) -> None:
    description = error_text(error)
    assert SECRET not in description
    assert text in description
    assert "\n" not in description


def test_codes() -> None:
    """`code_of` returns the protocol's error code as a string, and None if there is no code."""
    assert code_of(ServerError(0, "")) == "0x0000"
    assert code_of(errors.RateLimitReached(1)) is None
    assert code_of(KeyError()) is None


def test_long_errors_are_cut() -> None:
    errors_by_host = {
        f"host {number} {'x' * 200}": errors.InvalidRequest("") for number in range(9)
    }
    assert len(error_text(errors.NoHostAvailable("none", errors_by_host))) == 500


def test_the_cache_of_shapes_is_bounded() -> None:
    """The cache of analyzed query strings has a limited size in bytes."""
    texts._shapes.clear()
    for number in range(200):
        # The query string has 100,000 digits.
        shape_of(f"INSERT INTO t (k) VALUES ('{number:0100000d}')")
    assert 0 < texts._shapes.held <= texts._shapes.most_bytes
    texts._shapes.clear()
