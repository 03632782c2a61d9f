"""Values that were formatted into a statement, for example by an f-string, get advice."""

from __future__ import annotations

import datetime
import decimal
import uuid

import pytest

from cassandra.engine.literal_hints import without_strings
from cassandra.engine.server_hints import advice_for
from cassandra.util import OrderedMap

ID = uuid.UUID("c8af4f0d-7186-4167-85ce-f838e34484be")
NOON = datetime.datetime(2026, 11, 28, 12)


@pytest.mark.parametrize(
    ("statement", "advice"),
    [
        (f"SELECT * FROM t WHERE k IN {(ID, ID)}", "UUID(...) is what Python shows"),
        (f"INSERT INTO t (k, v) VALUES (1, {NOON!r})", "datetime.datetime(...) is what Python"),
        (f"INSERT INTO t (k, v) VALUES (1, {decimal.Decimal('1.5')!r})", "pass the value as a"),
        (f"UPDATE t SET v = {OrderedMap([(1, 2)])!r} WHERE k = 1", "is what Python"),
        ("INSERT INTO t (k, v) VALUES (1, [np.float32(0.5)])", "np.float32(...) is what Python"),
        (f"INSERT INTO t (k, v) VALUES (1, {None})", "None is null"),
        (f"INSERT INTO t (k, v) VALUES (1, {b'abc'!r})", "0x0a1b"),
        (f"INSERT INTO t (k, v) VALUES (1, {set()})", "an empty set is {}"),
        (f"SELECT * FROM t WHERE k IN {('a',)}", "IN ?"),
        (f"SELECT * FROM t WHERE k IN {['a', 'b']}", "IN ?"),
        ("INSERT INTO t (k, v) VALUES (1, 2,)", "a comma too many"),
        (f"INSERT INTO t (k, v) VALUES (1, {NOON})", "dates have single quotes"),
        (f"INSERT INTO t (k, v) VALUES (1, {NOON.isoformat()})", "dates have single quotes"),
        (f"SELECT * FROM t WHERE k = 1 AND d > {NOON.date()}", "dates have single quotes"),
        ("INSERT INTO t (k, v) VALUES (1, ada@example.com)", "strings have single quotes"),
        ("SELECT * FROM t WHERE k = ada@example.com", "strings have single quotes"),
        (f'INSERT INTO t (k, v, w) VALUES ({ID}, "Ada", 3)', "text has single quotes"),
        ('SELECT * FROM t WHERE k IN ("a", "b")', "text has single quotes"),
        ('UPDATE t SET m = {"a": "b"} WHERE k = 1', "text has single quotes"),
        ('UPDATE t SET l = ["a"] WHERE k = 1', "text has single quotes"),
        ('UPDATE t SET s = s + {"a"} WHERE k = 1', "text has single quotes"),
        ("UPDATE t SET m = {'a': \"b\"} WHERE k = 1", "text has single quotes"),
        ('SELECT * FROM t WHERE s CONTAINS "a" ALLOW FILTERING', "text has single quotes"),
        ('SELECT * FROM t WHERE k = "a"', "text has single quotes"),
        (f"INSERT INTO t (k, v) VALUES ({ID}, Ada Lovelace)", "strings have single quotes"),
        ("INSERT INTO t (k, v) VALUES (uuid(), Ada)", "strings have single quotes"),
        ("SELECT * FROM t WHERE k = Ada", "strings have single quotes"),
        ("SELECT * FROM t WHERE k = Ada Lovelace ALLOW FILTERING", "strings have single quotes"),
        ("UPDATE t SET v = Ada WHERE k = 1", "strings have single quotes"),
        ("UPDATE t SET v = Ada Lovelace, w = 2 WHERE k = 1", "strings have single quotes"),
        ("SELECT * FROM t WHERE k IN (Ada, Bob)", "strings have single quotes"),
        (
            "CREATE KEYSPACE k WITH replication = {'class': SimpleStrategy, 'dc1': 1}",
            "strings have single quotes",
        ),
    ],
)
def test_formatted_values_get_advice(statement: str, advice: str) -> None:
    """A syntax error after a formatted value gets advice that fits the value.

    The advice depends only on the statement, because servers name only a position in it.
    """
    message = "line 1:26 no viable alternative at input"
    assert advice in str(advice_for(message, statement, is_syntax=True))


@pytest.mark.parametrize(
    "statement",
    [
        f"INSERT INTO t (k, v) VALUES ({ID}, '2026-11-28')",
        "INSERT INTO t (k, v) VALUES (1, 'ada@example.com, None, \"b\", join me; or else')",
        "INSERT INTO \"t\" (\"k\", \"v\") VALUES (1, {'a': 'b', 'c': null})",
        "UPDATE t SET n = n + 1, m['a'] = 1 WHERE \"k\" = 1",
        "SELECT * FROM t WHERE token(k) > token(1) AND v = :name",
        'CREATE TABLE t ("k" int, "c" int, PRIMARY KEY ("k", "c")) WITH comment = \'a\'',
        "SELECT * FROM t WHERE k = -1.5e3 AND b = 0xab AND d = 1d AND e = true",
    ],
)
def test_values_that_are_literals_get_no_advice_on_values(statement: str) -> None:
    """Statements with correct literals get no advice on values.

    Words inside strings are ignored, and names may have double quotes.
    """
    assert advice_for("line 1:26 no viable alternative", statement, is_syntax=True) is None


@pytest.mark.parametrize(
    ("message", "value"),
    [
        ("Unknown function datetime.datetime called", repr(NOON)),
        ("Invalid number of arguments in call to function system.uuid: 0 required", repr(ID)),
        ("Unknown function decimal called", repr(decimal.Decimal(1))),
    ],
)
def test_values_that_servers_take_for_functions_get_advice(message: str, value: str) -> None:
    """If a server reads a formatted value as a function call, its error gets advice."""
    advice = advice_for(message, f"UPDATE t SET v = {value} WHERE k = 1", is_syntax=False)
    assert "is what Python shows of a value" in str(advice)


def test_strings_are_emptied() -> None:
    """`without_strings` removes the contents of strings, but keeps doubled quotes.

    In CQL, a quote inside a string is doubled, so it does not end the string.
    """
    assert without_strings("a = 'it''s' AND b = 'x'") == "a = '''' AND b = ''"
