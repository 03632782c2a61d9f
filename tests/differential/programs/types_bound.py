"""Writes values of many types into columns of each type: bound, and as literals in a statement.

Every function without an underscore is a program that each driver runs. `context` is a
`ProgramContext` (see `tests.differential.worker`): it gives sessions, and records outcomes.
`context.record(label, value)` records a value. `context.record_call(label, function, *arguments)`
calls the function, records its result or error, and returns the result, or None after an error.
"""

import datetime
import decimal
import enum
import ipaddress
import math
import uuid

import numpy as np

from cassandra import util
from cassandra.cluster import NoHostAvailable
from cassandra.query import UNSET_VALUE, ValueSequence

STATEMENTS = False  # do not compare the requests that the node receives
TYPES = [
    "ascii", "bigint", "blob", "boolean", "date", "decimal", "double", "duration", "float", "inet",
    "int", "smallint", "text", "time", "timestamp", "timeuuid", "tinyint", "uuid", "varchar",
    "varint", "list<int>", "set<text>", "map<text,int>", "frozen<list<text>>", "frozen<set<int>>",
    "frozen<map<int,text>>", "tuple<int,text>", "list<frozen<tuple<int,text>>>",
    "map<text,frozen<list<int>>>", "vector<float,3>", "set<uuid>", "list<timestamp>",
    "map<date,decimal>", "pair", "list<frozen<pair>>", "set<boolean>", "list<double>",
    "map<timeuuid,inet>",
]  # fmt: skip
# CQL that creates the tables and types of the programs; "KS." stands for the keyspace.
TABLES = ["CREATE TYPE KS.pair (a int, b text)"]
for index, kind in enumerate(TYPES):
    named = kind.replace("pair", "KS.pair")
    TABLES.append(f"CREATE TABLE KS.t{index} (k text PRIMARY KEY, v {named})")


class Colour(enum.Enum):
    RED = 1


class Level(enum.IntEnum):
    LOW = 3


class Word(str):
    pass


class Number(int):
    pass


class Plain:
    def __init__(self):
        self.a, self.b = 5, "five"


ZONE = datetime.timezone(datetime.timedelta(hours=-5))
ONE = uuid.UUID("f47ac10b-58cc-4372-a567-0e02b2c3d479")
TIMED = uuid.UUID("13814000-1dd2-11b2-8080-808080808080")

VALUES = {
    "None": None,
    "unset": UNSET_VALUE,
    "True": True,
    "False": False,
    "0": 0,
    "1": 1,
    "-1": -1,
    "127": 127,
    "128": 128,
    "-129": -129,
    "40000": 40000,
    "2**31": 2**31,
    "-2**31": -(2**31),
    "2**63-1": 2**63 - 1,
    "2**63": 2**63,
    "2**100": 2**100,
    "0.0": 0.0,
    "-0.0": -0.0,
    "1.5": 1.5,
    "0.1": 0.1,
    "1e300": 1e300,
    "nan": math.nan,
    "inf": math.inf,
    "3.0": 3.0,
    "Decimal 1.10": decimal.Decimal("1.10"),
    "Decimal 1E+3": decimal.Decimal("1E+3"),
    "Decimal -0.000001": decimal.Decimal("-0.000001"),
    "Decimal nan": decimal.Decimal("nan"),
    "Decimal long": decimal.Decimal("123456789012345678901234567890.123456789"),
    "''": "",
    "'abc'": "abc",
    "'it''s'": "it's",
    "'12'": "12",
    "'1.5'": "1.5",
    "'true'": "true",
    "'percent'": "100%s %",
    "'umlaut'": "äöü €",
    "'nul'": "a\0b",
    "'surrogate'": "\ud800",
    "'date'": "2024-02-29",
    "'time'": "12:34:56.789",
    "'timestamp'": "2024-02-29 12:34:56+0100",
    "'uuid'": str(ONE),
    "'inet'": "192.168.0.1",
    "'inet6'": "::1",
    "b''": b"",
    "b'abc'": b"abc",
    "b'ff'": b"\xff\x00",
    "bytearray": bytearray(b"xyz"),
    "memoryview": memoryview(b"xyz"),
    "datetime": datetime.datetime(2024, 2, 29, 12, 34, 56, 789123),
    "datetime zone": datetime.datetime(2024, 2, 29, 12, 34, 56, 789000, ZONE),
    "datetime 1960": datetime.datetime(1960, 1, 2, 3, 4, 5, 6000),
    "datetime min": datetime.datetime(1, 1, 1),
    "datetime max": datetime.datetime(9999, 12, 31, 23, 59, 59, 999000),
    "date": datetime.date(2024, 2, 29),
    "date 1600": datetime.date(1600, 1, 1),
    "time": datetime.time(12, 34, 56, 789123),
    "time zero": datetime.time(),
    "timedelta": datetime.timedelta(days=1, seconds=2),
    "Date": util.Date("2024-02-29"),
    "Date int": util.Date(-3),
    "Time": util.Time("01:02:03.004005006"),
    "Duration": util.Duration(1, 2, 3),
    "Duration negative": util.Duration(-1, -2, -3),
    "uuid4": ONE,
    "uuid1": TIMED,
    "IPv4Address": ipaddress.ip_address("10.0.0.1"),
    "IPv6Address": ipaddress.ip_address("2001:db8::1"),
    "[]": [],
    "[1, 2]": [1, 2],
    "['a', 'b']": ["a", "b"],
    "[1, None]": [1, None],
    "[None]": [None],
    "[1.5, 2, 3]": [1.5, 2, 3],
    "[True]": [True],
    "[[1]]": [[1]],
    "()": (),
    "(1, 2)": (1, 2),
    "(1, 'a')": (1, "a"),
    "(1, None)": (1, None),
    "(1,)": (1,),
    "(1, 'a', 2)": (1, "a", 2),
    "[(1, 'a')]": [(1, "a")],
    "set()": set(),
    "{1}": {1},
    "{'a'}": {"a"},
    "{None}": {None},
    "{'b', 'a', 'c'}": {"b", "a", "c"},
    "{3, 1, 2}": {3, 1, 2},
    "frozenset": frozenset({1, 2}),
    "SortedSet": util.SortedSet([2, 1]),
    "SortedSet text": util.SortedSet(["b", "a"]),
    "{uuid}": {ONE},
    "{}": {},
    "{'a': 1}": {"a": 1},
    "{1: 'a'}": {1: "a"},
    "{'a': None}": {"a": None},
    "{None: 1}": {None: 1},
    "{'a': [1]}": {"a": [1]},
    "{'b': 2, 'a': 1}": {"b": 2, "a": 1},
    "{date: Decimal}": {datetime.date(2024, 1, 1): decimal.Decimal("1.5")},
    "{uuid1: inet}": {TIMED: "10.0.0.1"},
    "{'a': 5, 'b': 'x'}": {"a": 5, "b": "x"},
    "OrderedMap": util.OrderedMap([("b", 2), ("a", 1)]),
    "range": range(3),
    "dict keys": {"a": 1, "b": 2}.keys(),
    "ValueSequence": ValueSequence([1, 2]),
    "Enum": Colour.RED,
    "IntEnum": Level.LOW,
    "str subclass": Word("word"),
    "int subclass": Number(7),
    "object": Plain(),
    "np.int32": np.int32(7),
    "np.int64": np.int64(7),
    "np.float32": np.float32(1.5),
    "np.float64": np.float64(1.5),
    "np.bool": np.bool_(True),
    "np.array": np.array([1.0, 2.0, 3.0], dtype=np.float32),
    "np.array int": np.array([1, 2]),
    "np.str": np.str_("abc"),
    "class": int,
    "[1.0, 2.0, 3.0]": [1.0, 2.0, 3.0],
    "[datetime]": [datetime.datetime(2024, 1, 2, 3, 4, 5)],
    "[bytes]": [b"a"],
    "Point": util.Point(1, 2),
    "complex": 1j,
    "[[], [1]]": [[], [1]],
    "[{'a': 5, 'b': 'x'}]": [{"a": 5, "b": "x"}],
    "generator": "GENERATOR",
}


def _value(name):
    """Return the named value.

    Each call returns a new generator, because a generator can be read only once.
    """
    return (number for number in (1, 2)) if name == "generator" else VALUES[name]


def _table(kind):
    return f"t{TYPES.index(kind)}"


# The programs that run several times, each with its cases.
EACH = {"bound": TYPES, "literal": TYPES, "literal_by_name": TYPES[:20], "read_again": TYPES}


def bound(context, kind):
    """Bind each value to a column of the type `kind` with a prepared statement."""
    session = context.shared_session
    insert = session.prepare(f"INSERT INTO {_table(kind)} (k, v) VALUES (?, ?)")
    for name in VALUES:
        context.record_call(name, session.execute, insert, (name, _value(name)))
    # Compare only the items of `values`, because `values` is a subclass of list in turbocql.
    context.record("bytes", list(insert.bind(("a", None)).values))


def literal(context, kind):
    """Write each value as a literal into an INSERT with positional parameters."""
    session = context.shared_session
    query = f"INSERT INTO {_table(kind)} (k, v) VALUES (%s, %s)"
    for name in VALUES:
        if name != "unset":
            context.record_call(name, session.execute, query, (name.replace("'", ""), _value(name)))


def literal_by_name(context, kind):
    """Write every third value as a literal into an INSERT with named parameters.

    The parameters also have a name that the statement does not use.
    """
    session = context.shared_session
    query = f"INSERT INTO {_table(kind)} (k, v) VALUES (%(key)s, %(value)s)"
    for name in list(VALUES)[::3]:
        if name != "unset":
            context.record_call(
                name, session.execute, query, {"key": f"n{name}", "value": _value(name), "no": 1}
            )


def read_again(context, kind):
    """Write each value; if that succeeds, read the value and record it."""
    text = f"INSERT INTO {_table(kind)} (k, v) VALUES (?, ?)"
    session = context.new_session()
    insert = session.prepare(text)
    for name in VALUES:
        try:
            session.execute(insert, (name, _value(name)))
        except NoHostAvailable:
            # Other drivers may have marked the host down, so further values need another session.
            session.cluster.shutdown()
            session = context.new_session()
            insert = session.prepare(text)
            continue
        except Exception:
            continue
        context.record_call(name, _read, session, kind, name)
    rows = session.execute(f"SELECT * FROM {_table(kind)} LIMIT 1")
    context.record(
        "types", [column_type.cql_parameterized_type() for column_type in rows.column_types]
    )


def _read(session, kind, name):
    """Return the row that `read_again` has written."""
    return session.execute(f"SELECT v FROM {_table(kind)} WHERE k = %s", (name,)).one()
