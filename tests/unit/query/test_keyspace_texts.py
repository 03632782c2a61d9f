"""How texts depend on the keyspace of a connection."""

from __future__ import annotations

import pytest

from cassandra.query.keyspace_texts import is_use, names_its_keyspace


@pytest.mark.parametrize(
    "text",
    ["USE a", "use a", "Use\ta", " \n USE a", "/* x */ USE a", "-- x\nUSE a", "// x\n use a",
     'USE"A"', "/**/USE a"],
)  # fmt: skip
def test_texts_that_switch(text: str) -> None:
    assert is_use(text)


@pytest.mark.parametrize(
    "text",
    ["", "u", "UPDATE t SET v = 1", "used", "USER", "-- USE a", "/* USE a */ SELECT", "SELECT use"],
)
def test_texts_that_do_not(text: str) -> None:
    assert not is_use(text)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM a.t", "select from_, 'x from y' from \"A\" . \"T\" where k = 1",
        "INSERT INTO a.t (k) VALUES (1)", "UPDATE a.t SET v = 1", "DELETE FROM a.t WHERE k = 1",
        "delete v from a.t where k = 1",
    ],
)  # fmt: skip
def test_texts_that_name_their_keyspace(text: str) -> None:
    assert names_its_keyspace(text)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM t", "SELECT 'from a.t' FROM t", "SELECT \"from a.t\" FROM t WHERE k = 'a.t'",
        "INSERT INTO t (k) VALUES ('a.t')", "UPDATE t SET v = 'a.t'", "CREATE TABLE a.t (k int)",
        "BEGIN BATCH INSERT INTO a.t (k) VALUES (1) INSERT INTO t (k) VALUES (1) APPLY BATCH",
        "SELECT * FROM t -- FROM a.t", "SELECT $$ from a.t $$ FROM t", "USE a", "",
    ],
)  # fmt: skip
def test_texts_that_may_not(text: str) -> None:
    assert not names_its_keyspace(text)
