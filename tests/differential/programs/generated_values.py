"""Random values of random, nested types: written by literals and bound, then read back.

Every function without an underscore is a program that each driver runs. `context` is a
`ProgramContext` (see `tests.differential.worker`): it gives sessions, and records outcomes.
`context.record(label, value)` records a value. `context.record_call(label, function, *arguments)`
calls the function, records its result or error, and returns the result, or None after an error.

The number in a program's name is the seed. All values are valid for their column, in one of the
forms that the drivers accept (`types_bound` also tests invalid values). Values for which a
difference is documented are left out: decimals that a float cannot represent exactly, dates before
the year 1000, nulls in collections, and sets of sets, whose order differs.
"""

import collections
import datetime
import decimal
import ipaddress
import random
import uuid

from cassandra.query import BatchStatement, SimpleStatement
from cassandra.util import Date, Duration, OrderedMap, SortedSet, Time

STATEMENTS = False  # do not compare the requests that the node receives
# CQL that creates the tables and types of the programs; "KS." stands for the keyspace.
TABLES = [
    "CREATE TYPE KS.reading (a int, b text, c frozen<list<int>>)",
    "CREATE TYPE KS.moment (x timestamp, y inet)",
]
# The programs that run several times, each with its cases.
EACH = {"in_columns": range(40), "in_keys": range(25)}
STEPS = 12  # the number of writes of a program

Reading = collections.namedtuple("Reading", "a b c")
Moment = collections.namedtuple("Moment", "x y")
USER_TYPES = {
    "reading": (Reading, ("int", "text", ("list", "int"))),
    "moment": (Moment, ("timestamp", "inet")),
}
ZONE = datetime.timezone(datetime.timedelta(hours=-5, minutes=-30))
# For each simple type, the values from which programs choose at random.
VALUES = {
    "int": [0, 1, -1, 2**31 - 1, -(2**31), 123456],
    "bigint": [0, -1, 2**63 - 1, -(2**63), 2**40],
    "smallint": [0, -1, 32767, -32768],
    "tinyint": [0, -1, 127, -128],
    "varint": [0, -1, 127, 128, -128, -129, 255, 256, 10**40, -(10**40), 2**63],
    "float": [0.0, -0.0, 1.5, -1e30, float("inf"), float("-inf"), float("nan"), 3, 1e-45],
    "double": [0.0, -0.0, 0.1, 1e308, 5e-324, float("inf"), float("nan"), 7, 1 / 3],
    "decimal": [*map(decimal.Decimal, ("1.5", "-0.25", "1234567.875", "99999.9")), 3],
    "boolean": [True, False],
    "text": [
        "", "a", "it's", "100%", "%s", "ä\n", "日本", "\U0001f600", '"q"', "a;b--", "$$", "\0",
        "null", "NaN", "{1}", "''", " ", "x" * 50, "\\n", "?", ":a", "%(a)s",
    ],
    "ascii": ["", "a", "it's", "100%", "%s", "\n", "\0", "null", "--", "$$"],
    "blob": [b"", b"\0", b"'", b"\xff\xfe", bytes(range(20)), bytearray(b"ba")],
    "timestamp": [
        datetime.datetime(2020, 2, 29, 1, 2, 3, 456789),
        datetime.datetime(1969, 12, 31, 23, 59, 59, 999000),
        datetime.datetime(1, 1, 1),
        datetime.datetime(9999, 12, 31, 23, 59, 59, 999999),
        datetime.datetime(2020, 1, 1, tzinfo=ZONE),
        datetime.datetime(1900, 1, 1, 0, 0, 0, 1000),
        datetime.date(2021, 3, 4),
        -1_500_000_000_123,
        1_500_000_000_123,
    ],
    "date": [
        datetime.date(2020, 2, 29), datetime.date(1000, 1, 1), datetime.date(9999, 12, 31),
        Date(-(2**31)), Date(2**31 - 1), "1969-12-31", datetime.datetime(2020, 1, 1, 5),
        Date("2020-01-01"),
    ],
    "time": [
        datetime.time(0), datetime.time(23, 59, 59, 999999), Time(0), Time(86_399_999_999_999),
        "01:02:03.123456789", 5, Time("10:11:12"),
    ],
    "uuid": [uuid.UUID(int=0), uuid.UUID(int=2**128 - 1), uuid.UUID(int=2**77 + 5)],
    "timeuuid": [
        uuid.UUID("c0d3a5e0-1234-11e9-8080-808080808080"),
        uuid.UUID("00000000-0000-1000-8080-808080808080"),
    ],
    "inet": [
        "127.0.0.1", "::1", "::ffff:1.2.3.4", "2001:db8::ff00:42:8329", "255.255.255.255",
        ipaddress.ip_address("10.0.0.1"),
    ],
    "duration": [
        Duration(0, 0, 0), Duration(1, 2, 3), Duration(-1, -2, -3_000_000_000),
        Duration(2**31 - 1, 0, 0), Duration(0, 0, 2**63 - 1), Duration(0, 5, 0),
    ],
}  # fmt: skip


def _type(rng, depth=0, *, is_key=False, is_item=False):
    """Draw a type: the name of a simple type, or a tuple of a kind and the types of its items.

    :param depth: how many types contain this type.
    :param is_key: whether the type must have an order, like the types of keys and of set items.
    :param is_item: whether the items of a set have this type.
    """
    if depth == 2 or rng.random() < 0.5:
        return rng.choice([name for name in VALUES if name != "duration" or not is_key])
    kinds = ["list", "tuple", "reading"] if is_item else ["list", "set", "tuple", "reading"]
    kind = rng.choice(kinds if is_key else [*kinds, "map", "vector", "moment"])
    if kind == "list":
        return kind, _type(rng, depth + 1, is_key=is_key)
    if kind == "set":
        return kind, _type(rng, depth + 1, is_key=True, is_item=True)
    if kind == "map":
        return kind, _type(rng, depth + 1, is_key=True), _type(rng, depth + 1)
    if kind == "tuple":
        return kind, *(_type(rng, depth + 1, is_key=is_key) for _ in range(rng.randint(1, 3)))
    if kind == "vector":
        item = rng.choice(["float", "int", "text", "bigint", "double", "uuid", "smallint"])
        return kind, item, rng.randint(1, 4)
    return kind, *USER_TYPES[kind][1]


def _cql(kind, *, is_inner=False):
    """Return the name of a type in CQL; collections inside another type are frozen."""
    if isinstance(kind, str):
        return kind
    name, *inner = kind
    if name in USER_TYPES:
        text = name
    elif name == "vector":
        return f"vector<{inner[0]}, {inner[1]}>"
    else:
        text = f"{name}<{', '.join(_cql(item, is_inner=True) for item in inner)}>"
    return f"frozen<{text}>" if is_inner else text


def _value(rng, kind, *, is_nullable=True):
    """Draw a value of a type, in one of the forms that the drivers accept."""
    if is_nullable and rng.random() < 0.08:
        return None
    if isinstance(kind, str):
        return rng.choice(VALUES[kind])
    name, *inner = kind
    if name == "vector":
        items = [_value(rng, inner[0], is_nullable=False) for _ in range(inner[1])]
        return rng.choice([list, tuple])(items)
    if name in ("list", "set"):
        count = rng.choice([0, 1, 1, 2, 3])
        items = [_value(rng, inner[0], is_nullable=False) for _ in range(count)]
        return _collected(rng, name, items)
    if name == "map":
        count = rng.choice([0, 1, 1, 2, 3])
        pairs = [
            tuple(_value(rng, part, is_nullable=False) for part in inner) for _ in range(count)
        ]
        return _collected(rng, name, pairs)
    fields = [_value(rng, part) for part in inner]
    if name == "tuple":
        # A tuple may have fewer items than its type.
        if rng.random() < 0.15:
            del fields[rng.randint(1, len(fields)) :]
        return rng.choice([tuple, tuple, list])(fields)
    return rng.choice([USER_TYPES[name][0]._make, tuple] if rng.has_classes else [tuple])(fields)


def _collected(rng, name, items):
    """Return a list, set or map in one of several Python types."""
    types = {
        "list": [list, tuple],
        "set": [set, frozenset, list, tuple, SortedSet],
        "map": [dict, OrderedMap, collections.OrderedDict],
    }
    try:
        return rng.choice(types[name])(items)
    except TypeError:  # items that cannot be hashed, or compared
        return OrderedMap(items) if name == "map" else items


def _write(session, table, rng, row):
    """Write a row in one of several ways.

    :param row: the value of each column, by name.
    """
    names, values = list(row), list(row.values())
    columns = ", ".join(names)
    way = rng.choice(["positions", "names", "bound", "bound by name", "batch"])
    if way == "positions":
        markers = ", ".join(["%s"] * len(names))
        return session.execute(f"INSERT INTO {table} ({columns}) VALUES ({markers})", values)
    if way == "names":
        markers = ", ".join(f"%({name})s" for name in names)
        return session.execute(f"INSERT INTO {table} ({columns}) VALUES ({markers})", row)
    insert = session.prepare(
        f"INSERT INTO {table} ({columns}) VALUES ({', '.join('?' * len(names))})"
    )
    if way == "bound":
        return session.execute(insert, values)
    if way == "bound by name":
        return session.execute(insert, row)
    batch = BatchStatement()
    batch.add(insert, values)
    other = {**row, "i": 100 + row["i"]}
    text = f"INSERT INTO {table} ({columns}) VALUES ({', '.join(['%s'] * len(names))})"
    batch.add(SimpleStatement(text), list(other.values()))
    return session.execute(batch)


class _Random(random.Random):
    """Draws values. `has_classes` says whether the session knows the classes of `USER_TYPES`."""

    has_classes = False


def _new_session(context, rng):
    """Return a session. Half of the sessions know the classes of `USER_TYPES`."""
    session = context.new_session()
    rng.has_classes = rng.random() < 0.5
    if rng.has_classes:
        for name, (cls, _) in USER_TYPES.items():
            session.cluster.register_user_type(session.keyspace, name, cls)
    return session


def in_columns(context, seed):
    """Write rows with values of random types, and read each row back."""
    rng = _Random(seed)
    session = _new_session(context, rng)
    kinds = {f"v{number}": _type(rng) for number in range(rng.randint(1, 4))}
    declared = ", ".join(f"{name} {_cql(kind)}" for name, kind in kinds.items())
    table = f"c{seed}"
    create = f"CREATE TABLE {table} (k int, i int, {declared}, PRIMARY KEY (k, i))"
    session.execute(create, timeout=60)
    for step in range(STEPS):
        row = {"k": step, "i": 1, **{name: _value(rng, kind) for name, kind in kinds.items()}}
        context.record_call(f"{step} write", _write, session, table, rng, row)
        query = f"SELECT * FROM {table} WHERE k = {step}"
        context.record_call(f"{step} read", lambda text: list(session.execute(text)), query)
    # The test reads all tables as JSON, to which servers cannot convert a tuple that lacks items.
    session.execute(f"DROP TABLE {table}", timeout=60)


def in_keys(context, seed):
    """Write rows whose keys have random types, and select each row by its key.

    The select finds the row only if its key has the same bytes as the key of the INSERT.
    """
    rng = _Random(seed)
    session = _new_session(context, rng)
    key, clustering = _type(rng, is_key=True), _type(rng, is_key=True)
    columns = f"k {_cql(key, is_inner=True)}, c {_cql(clustering, is_inner=True)}, i int"
    table = f"k{seed}"
    session.execute(f"CREATE TABLE {table} ({columns}, PRIMARY KEY (k, c))", timeout=60)
    by_key = f"SELECT * FROM {table} WHERE k = "
    select, delete = (
        session.prepare(f"{text} WHERE k = ? AND c = ?")
        for text in (f"SELECT i FROM {table}", f"DELETE FROM {table}")
    )
    for step in range(STEPS):
        row = {
            "k": _value(rng, key, is_nullable=False),
            "c": _value(rng, clustering, is_nullable=False),
            "i": step,
        }
        context.record_call(f"{step} write", _write, session, table, rng, row)
        values = row["k"], row["c"]
        context.record_call(f"{step} bound", lambda v: list(session.execute(select, v)), values)
        context.record_call(
            f"{step} literal", lambda v: list(session.execute(by_key + "%s", v[:1])), values
        )
        if rng.random() < 0.3:
            context.record_call(f"{step} delete", session.execute, delete, values)
    rows = session.execute(f"SELECT * FROM {table}")
    context.record("rows", sorted(map(repr, rows)))
    # The test reads all tables as JSON, to which servers cannot convert a tuple that lacks items.
    session.execute(f"DROP TABLE {table}", timeout=60)
