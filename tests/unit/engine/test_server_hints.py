"""Advice for statements that a server refuses."""

from __future__ import annotations

import pytest

from cassandra.cluster import Cluster
from cassandra.engine.server_hints import advice_for
from cassandra.protocol import SyntaxException
from cassandra.testing.fake import FakeNode, error

NO_VIABLE = "line 1:26 no viable alternative at input"


@pytest.mark.parametrize(
    ("statement", "advice"),
    [
        ("", "empty"),
        ("SELECT * FROM t; SELECT * FROM w", "one statement at a time"),
        ("SELECT * FROM t WHERE v = '%s'", "without quotes"),
        ("SELECT * FROM t WHERE k = @k", "markers are %s"),
        ("SELECT * FROM t WHERE k = $1", "markers are %s"),
        ("SELECT * FROM t WHERE k = %s", "? or :name"),
        ("SELECT * FROM t JOIN w ON t.k = w.k", "no joins"),
        ("SELECT * FROM t OFFSET 3", "paging_state"),
        ("SELECT * FROM t LIMIT 3, 5", "LIMIT n only"),
        ("SELECT * FROM t WHERE k = 1 OR k = 2", "use IN"),
        ("SELECT * FROM t WHERE v IS NULL", "None"),
        ("SELECT * FROM t WHERE k BETWEEN 1 AND 2", ">= ?"),
        ("SELECT k FROM t GROUP BY k HAVING count(*) > 1", "in your program"),
        ("CREATE TABLE t (k int AUTO_INCREMENT PRIMARY KEY)", "uuid"),
        ("CREATE TABLE t (k varchar(20) PRIMARY KEY)", "write text"),
        ("CREATE TABLE t (k int PRIMARY KEY, v int UNIQUE)", "IF NOT EXISTS"),
        ("INSERT INTO t (k) VALUES (1) RETURNING k", "no rows from writes"),
        ("INSERT INTO t (k) VALUES (1) ON CONFLICT DO NOTHING", "replaces the row"),
        ("SHOW TABLES", "DESCRIBE"),
        ("COMMIT", "BatchStatement"),
        ("BEGIN", "BatchStatement"),
        ("INSERT INTO t VALUES (1, 'a')", "name the columns"),
        ("UPDATE t SET v = 'a'", "add WHERE"),
        ("DELETE FROM t", "TRUNCATE"),
        ("DELETE * FROM t WHERE k = 1", "without the asterisk"),
        ('SELECT * FROM t WHERE v = "a"', "single quotes"),
        ("SELECT COUNT(DISTINCT v) FROM t", "count in your program"),
    ],
)
def test_habits_of_sql(statement: str, advice: str) -> None:
    assert advice in str(advice_for(NO_VIABLE, statement, True))


def test_reserved_words() -> None:
    statement = "CREATE TABLE t (k int PRIMARY KEY, order int)"
    assert advice_for("line 1:49 mismatched input 'order' expecting ')'", statement, True) == (
        'order is a reserved word: as a name, write "order" in double quotes'
    )
    assert advice_for("line 1:49 mismatched input 'ordre' expecting ')'", statement, True) is None


@pytest.mark.parametrize(
    ("message", "advice"),
    [
        ("... use ALLOW FILTERING", "add an index"),
        ("ORDER BY is only supported when the partition key is restricted", "WHERE partition_key"),
        ('Unsupported "!=" relation: v != 1', "no != in WHERE"),
        ("table t2 does not exist", "lower case"),
        ("unconfigured table t2", "lower case"),
        ("No keyspace has been specified.", "keyspace.table"),
        ("Keyspace 'shop' does not exist", "CREATE KEYSPACE"),
        ("Undefined column name vv in table ks.t", "single quotes"),
        ("Some partition key parts are missing: k", "all columns of the key"),
        ("PRIMARY KEY part k found in SET part", "insert a new row"),
        ("Invalid null value in condition for column k", "NaN"),
        ("Batch too large", "session.load"),
    ],
)
def test_refusals_of_statements_that_are_understood(message: str, advice: str) -> None:
    assert advice in str(advice_for(message, "SELECT", False))


def test_nothing_is_said_of_what_is_unknown() -> None:
    assert advice_for("something else", "SELECT * FROM t", False) is None
    assert advice_for("something else", "SELECT * FROM t", True) is None


def test_the_error_has_it_as_a_note_and_the_text_stays_the_servers() -> None:
    with FakeNode() as node:
        node.prime("SELECT * FROM t JOIN w", error(0x2000, f"{NO_VIABLE} 'JOIN'"))
        with (
            Cluster([node.address], port=node.port) as cluster,
            pytest.raises(SyntaxException) as raised,
        ):
            cluster.connect().execute("SELECT * FROM t JOIN w")
    assert any("CQL has no joins" in note for note in vars(raised.value)["__notes__"])
    assert "no joins" not in str(raised.value)


def test_values_decide_nothing() -> None:
    with FakeNode() as node:
        node.prime("INSERT INTO t (k) VALUES ('a OR b JOIN c')", error(0x2000, NO_VIABLE))
        with (
            Cluster([node.address], port=node.port) as cluster,
            pytest.raises(SyntaxException) as raised,
        ):
            cluster.connect().execute("INSERT INTO t (k) VALUES (%s)", ("a OR b JOIN c",))
    assert not any("JOIN" in note or "no OR" in note for note in vars(raised.value)["__notes__"])
