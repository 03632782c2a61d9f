"""Test how literals and secrets are removed from CQL."""

from __future__ import annotations

import pytest

from cassandra.observability.texts import shape_of
from cassandra.query.statement import query_head
from cassandra.util.secret_texts import message_without_secrets, without_secrets, without_values

SECRET = "hunter2"


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
    text_without_secrets = without_secrets(text)
    assert SECRET not in text_without_secrets
    # Removing secrets a second time changes nothing.
    assert without_secrets(text_without_secrets) == text_without_secrets
    assert SECRET not in shape_of(text, has_markers=True).text
    assert SECRET not in shape_of(text).text
    # A message may be cut in the middle of a password.
    assert all(SECRET[:3] not in query_head(text, size) for size in range(4, 110))
    for message in (
        f"line 1:3 no viable alternative at input 'x' (...= '{SECRET}' AND ...)",
        f"Password {SECRET} is too short",
        f"a token that starts with {SECRET[:4]}",
    ):
        shown_message = message_without_secrets(message, text)
        assert SECRET[:4] not in shown_message
        assert shown_message


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
    assert without_secrets(text) == text
    assert message_without_secrets("it's x", text) == "it's x"


def test_many_comments_take_no_exponential_time() -> None:
    """Finding secrets takes no exponential time in a query string with many comments.

    The regular expressions must not try all ways to split a sequence of comments.
    """
    for gap in ("/**/" * 1000, "--" * 1000, "//--" * 1000):
        for text in (f"CREATE {gap}x", f"x WITH PASSWORD {gap} x", f"password {gap}"):
            assert without_secrets(text) == text


def test_messages_about_roles() -> None:
    """A message without a secret is shown, but the quoted role is replaced."""
    text = "CREATE USER 'bob' WITH PASSWORD 'hunter2'"
    assert message_without_secrets("a role exists already", text) == "a role exists already"
    assert message_without_secrets("bob exists already", text) == "*** exists already"
    text = "CREATE USER bob WITH PASSWORD '!?!?'"
    assert message_without_secrets("!?!? is weak", text) == "*** is weak"
