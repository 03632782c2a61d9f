"""Test `is_use` and `names_its_keyspace`, which look for keyspaces in a statement.

The functions decide whether a statement changes the connection's keyspace, or depends on it.
"""

from __future__ import annotations

import pytest

from cassandra.query.keyspace_texts import is_use, names_its_keyspace


@pytest.mark.parametrize(
    "text",
    ["USE a", "use a", "Use\ta", " \n USE a", "/* x */ USE a", "-- x\nUSE a", "// x\n use a",
     'USE"A"', "/**/USE a"],
)  # fmt: skip
def test_texts_of_use_statements(text: str) -> None:
    """`is_use` recognizes USE statements, also with comments and white space."""
    assert is_use(text)


@pytest.mark.parametrize(
    "text",
    ["", "u", "UPDATE t SET v = 1", "used", "USER", "-- USE a", "/* USE a */ SELECT", "SELECT use"],
)
def test_texts_of_other_statements(text: str) -> None:
    """`is_use` returns False for all other statements."""
    assert not is_use(text)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM a.t", "select from_, 'x from y' from \"A\" . \"T\" where k = 1",
        "INSERT INTO a.t (k) VALUES (1)", "UPDATE a.t SET v = 1", "DELETE FROM a.t WHERE k = 1",
        "delete v from a.t where k = 1", "TRUNCATE a.t", "truncate table a.t", "LIST ROLES",
        "CREATE TABLE a.t (k int PRIMARY KEY)", "DROP TYPE IF EXISTS a.u", "CREATE KEYSPACE a",
        "CREATE TABLE IF NOT EXISTS a.t (k int)", "ALTER ROLE r WITH LOGIN = true",
        "/* x */ SELECT v FROM a.t -- y", "SELECT v FROM \"a\"\"b\".t",
        "CREATE TABLE b.new LIKE a.old", "create table if not exists b.\"x\"\"y\" like a.\"old\"",
        "CREATE TABLE b.\"like\" (k int PRIMARY KEY)", "DROP TABLE b.new",
    ],
)  # fmt: skip
def test_texts_that_name_their_keyspace(text: str) -> None:
    """Statements whose tables have a keyspace do not depend on the connection's keyspace."""
    assert names_its_keyspace(text)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM t", "SELECT 'from a.t' FROM t", "SELECT \"from a.t\" FROM t WHERE k = 'a.t'",
        "INSERT INTO t (k) VALUES ('a.t')", "UPDATE t SET v = 'a.t'",
        "CREATE TABLE t (k a.u)", "TRUNCATE t", "CREATE TABLE new LIKE a.old",
        "CREATE TABLE b.new LIKE old", "create table if not exists b.new/**/like \"old\" with x=1",
        "CREATE TABLE b.\"x\"\"y\" LIKE old", "CREATE COLUMNFAMILY b.new LIKE old",
        "CREATE INDEX ON a.t (v)", "SELECT v FROM 'a.t", "/* SELECT v FROM a.t", "SELECT 1",
        "BEGIN BATCH INSERT INTO a.t (k) VALUES (1) INSERT INTO t (k) VALUES (1) APPLY BATCH",
        "SELECT * FROM t -- FROM a.t", "SELECT $$ from a.t $$ FROM t", "USE a", "",
    ],
)  # fmt: skip
def test_texts_that_may_depend_on_the_keyspace(text: str) -> None:
    """If a statement may depend on the connection's keyspace, `names_its_keyspace` is False."""
    assert not names_its_keyspace(text)


@pytest.mark.parametrize(
    "text",
    [
        "/* a */" * 50_000 + " SELECT 1",
        "/*" * 100_000,
        "-" * 200_000,
        "SELECT v FROM t WHERE n IN (" + ", ".join(["'O''Brien'"] * 20_000) + ")",
        "SELECT " + "'" * 199_999,
        'SELECT "' + '""' * 100_000,
        " " * 200_000 + "use",
        "UPDATE " + "a" * 200_000,
    ],
    ids=range(8),
)  # fmt: skip
def test_long_and_hostile_texts_are_read_once(text: str) -> None:
    """Each statement is read only once, in linear time.

    A regular expression that backtracks would practically never end.
    """
    is_use(text)
    names_its_keyspace(text)
