"""Test how values are removed from the query strings in logs and metrics.

The tests also check the operation, keyspace and table that are derived from a query string.
"""

from __future__ import annotations

from typing import Any

import pytest

from cassandra import errors
from cassandra.observability import texts
from cassandra.observability.texts import code_of, error_text, shape_of, without_values
from cassandra.protocol.messages.errors import OverloadedErrorMessage, ServerError, SyntaxException


@pytest.mark.parametrize(
    ("text", "text_without_values"),
    [
        ("SELECT * FROM t WHERE k = 1", "SELECT * FROM t WHERE k = ?"),
        ("SELECT * FROM t WHERE k = -1.5e10", "SELECT * FROM t WHERE k = ?"),
        ("SELECT * FROM t WHERE k=1", "SELECT * FROM t WHERE k=?"),
        ("SELECT * FROM t1 WHERE k1 = 'it''s' AND b='x'", "SELECT * FROM t1 WHERE k1 = ? AND b=?"),
        ("SELECT * FROM t WHERE k = 'open", "SELECT * FROM t WHERE k = ?"),
        ("INSERT INTO t (k) VALUES (0xCAFE)", "INSERT INTO t (k) VALUES (?)"),
        ("INSERT INTO t (k) VALUES ($$it's$$)", "INSERT INTO t (k) VALUES (?)"),
        (
            "INSERT INTO t (k) VALUES (6ab09bec-e68e-48d9-a5f8-97e6fb4c9b47)",
            "INSERT INTO t (k) VALUES (?)",
        ),
        (
            "INSERT INTO t (k) VALUES (aab09bec-e68e-48d9-a5f8-97e6fb4c9b47)",
            "INSERT INTO t (k) VALUES (?)",
        ),
        ("SELECT d FROM t WHERE d = 1y2mo3d", "SELECT d FROM t WHERE d = ?"),
        ("SELECT p1 FROM t WHERE d = -P1Y2DT3H", "SELECT p1 FROM t WHERE d = ?"),
        ('SELECT "it\'s", "1" FROM "T 1"', 'SELECT "it\'s", "1" FROM "T 1"'),
        ("SELECT k -- 'secret\nFROM t // 1\nWHERE /* 'x */ k = ?", "SELECT k FROM t WHERE k = ?"),
        ("UPDATE t SET l = [1, 2] WHERE k = %s", "UPDATE t SET l = [?, ?] WHERE k = %s"),
        ("SELECT  *\n\tFROM t", "SELECT * FROM t"),
        (
            'CREATE ROLE b WITH PASSWORD = "secret" AND LOGIN = true',
            "CREATE ROLE b WITH PASSWORD = ? AND LOGIN = true",
        ),
        ('CREATE ROLE b WITH PASSWORD="secret', "CREATE ROLE b WITH PASSWORD= ?"),
        ("CREATE ROLE b WITH PASSWORD = 'it's secret'", "CREATE ROLE b WITH PASSWORD = ?"),
        ("CREATE ROLE b WITH PASSWORD = $$secret", "CREATE ROLE b WITH PASSWORD = ?"),
        ("SELECT k FROM t WHERE a = 'it's' AND b = 'x'", "SELECT k FROM t WHERE a = ?"),
        (
            "SELECT k FROM t WHERE a = 'x'secret AND b = 'y'",
            "SELECT k FROM t WHERE a = ? AND b = ?",
        ),
        ("", ""),
    ],
)
def test_values_are_left_out(text: str, text_without_values: str) -> None:
    assert without_values(text) == text_without_values


def test_long_texts_are_cut() -> None:
    text = without_values("SELECT " + "a, " * 10000 + "'secret' FROM t")
    assert text.endswith("...")
    assert "secret" not in text
    # The string is cut to 16 KiB, and ends with three dots.
    assert len(text) <= (1 << 14) + 3


def test_a_literal_that_reaches_beyond_the_limit_is_replaced() -> None:
    beginning = "INSERT INTO t (k) VALUES ("
    assert without_values(beginning + "'" + "s" * 20000 + "')") == beginning + "?..."


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


@pytest.mark.parametrize(
    "text",
    [
        "CREATE ROLE a WITH PASSWORD = 'hunter2'",
        "CREATE ROLE IF NOT EXISTS a WITH PASSWORD='hunter2' AND LOGIN = true",
        "create user a with password 'hunter2'",
        "ALTER USER IF EXISTS a WITH HASHED PASSWORD 'hunter2' SUPERUSER",
        "CREATE ROLE a WITH HASHED PASSWORD = 'hunter2'",
        "CREATE ROLE a WITH PASSWORD = $$hunter2$$",
        "CREATE ROLE a WITH PASSWORD=/*x*/'hunter2'",
        "CREATE ROLE a WITH PASSWORD -- hunter2\n = 'hunter2'",
        "/* hunter2 */ CREATE /**/ ROLE a WITH SALTED HASH = '$6$hunter2'",
        "CREATE ROLE a WITH OPTIONS = {'token': 'hunter2', 'hunter2': 1}",
        "ALTER ROLE a WITH LOGIN = true AND PASSWORD\n=\n'hunter2 ''hunter2'''",
        'CREATE USER a WITH PASSWORD "hunter2"',
        "CREATE USER a WITH PASSWORD hunter2",
        "CREATE ROLE a WITH PASSWORD = hunter2",
        "CREATE USER a WITH PASSWORD 'it's hunter2",
        "ADD IDENTITY 'hunter2' TO ROLE 'a'",
        "DROP IDENTITY IF EXISTS 'hunter2'",
        "CREAT USER a WITH PASSWORD 'hunter2'",
        "CREAT ROLE a WITH LOGIN = true AND SALTED HASH = $$hunter2$$",
        "UPDATE ks.users SET password = 'hunter2' WHERE k = ?",
    ],
)
def test_secrets_of_statements_are_left_out(text: str) -> None:
    """Passwords and other secrets are removed from statements and from the server's messages."""
    text_without_secrets = texts.without_secrets(text)
    assert SECRET not in text_without_secrets
    # Removing secrets a second time changes nothing.
    assert texts.without_secrets(text_without_secrets) == text_without_secrets
    assert SECRET not in shape_of(text, has_markers=True).text
    assert SECRET not in shape_of(text).text
    for message in (
        f"line 1:3 no viable alternative at input 'x' (...= '{SECRET}' AND ...)",
        f"Password {SECRET} is too short",
        f"a token that starts with {SECRET[:4]}",
    ):
        message_without_secrets = texts.message_without_secrets(message, text)
        assert SECRET[:4] not in message_without_secrets
        assert message_without_secrets


@pytest.mark.parametrize(
    "text",
    [
        "SELECT password FROM t WHERE k = 'x'",
        "INSERT INTO t (k, v) VALUES ('my password', 'x')",
        "CREATE TABLE user (password text PRIMARY KEY)",
        "UPDATE t SET role = 'x', hash = 'y' WHERE k = 1",
    ],
)
def test_other_statements_have_no_secrets(text: str) -> None:
    assert texts.without_secrets(text) == text
    assert texts.message_without_secrets("it's x", text) == "it's x"


def test_many_comments_take_no_exponential_time() -> None:
    """Finding secrets takes no exponential time in a query string with many comments.

    The regular expressions must not try all ways to split a sequence of comments.
    """
    for gap in ("/**/" * 1000, "--" * 1000, "//--" * 1000):
        for text in (f"CREATE {gap}x", f"x WITH PASSWORD {gap} x", f"password {gap}"):
            assert texts.without_secrets(text) == text


def test_messages_about_roles() -> None:
    """A message without a secret is shown, but the quoted role is replaced."""
    text = "CREATE USER 'bob' WITH PASSWORD 'hunter2'"
    assert texts.message_without_secrets("a role exists already", text) == "a role exists already"
    assert texts.message_without_secrets("bob exists already", text) == "*** exists already"
    text = "CREATE USER bob WITH PASSWORD '!?!?'"
    assert texts.message_without_secrets("!?!? is weak", text) == "*** is weak"
