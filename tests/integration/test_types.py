"""Values of every CQL type and of nested types are written to a real node and read back.

Types are nested up to two levels. Values are written by prepared statements and as literals.
"""

from __future__ import annotations

import datetime
import decimal
import uuid
from collections.abc import Iterator
from typing import Any

import numpy
import pytest

from cassandra.cluster import Session
from cassandra.encoder import Encoder
from cassandra.murmur3 import murmur3, python_murmur3
from cassandra.testing import LocalCluster
from cassandra.util.sortedset import SortedSet
from cassandra.util.temporal import Date, Duration, Time
from tests.integration.conftest import connect, create_keyspace, new_keyspace_name
from tests.waiting import until

pytestmark = pytest.mark.integration

# Two values of each scalar type, in the order in which the server sorts them.
SCALARS: dict[str, tuple[Any, Any]] = {
    "ascii": ("a", "b's"),
    "bigint": (-(2**63), 2**63 - 1),
    "blob": (b"\x00\xff", b"\x01"),
    "boolean": (False, True),
    "date": (Date(-(2**31)), Date("2024-02-29")),
    "decimal": (decimal.Decimal("-1E+10"), decimal.Decimal("1.50")),
    "double": (-2.5, 1e300),
    "duration": (Duration(-1, -2, -3), Duration(1, 2, 3)),
    "float": (-0.5, 1.5),
    "inet": ("127.0.0.1", "2001:db8::1"),
    "int": (-(2**31), 2**31 - 1),
    "smallint": (-32768, 32767),
    "text": ("", "\u20ac\U0001f600"),
    "time": (Time(0), Time("23:59:59.999999999")),
    "timestamp": (
        datetime.datetime(1969, 12, 31, 23, 59, 59, 999000),
        datetime.datetime(2024, 2, 29, 1, 2, 3, 456000),
    ),
    "timeuuid": (
        uuid.UUID("13814000-1dd2-11b2-8000-000000000000"),
        uuid.UUID("13814000-1dd2-11b3-8000-000000000001"),
    ),
    "tinyint": (-128, 127),
    "uuid": (uuid.UUID(int=1 << 76), uuid.UUID("ffffffff-ffff-4fff-bfff-ffffffffffff")),
    "varchar": ("x", "y"),
    "varint": (-(1 << 200), 1 << 200),
}

# For each container: a function of an element type and two elements. It returns the container's CQL
# type and a value that contains both elements.
CONTAINERS: dict[str, Any] = {
    "list": lambda cql, a, b: (f"list<{cql}>", [a, b, a]),
    "set": lambda cql, a, b: (f"set<{cql}>", SortedSet([a, b])),
    "map": lambda cql, a, b: (f"map<int, {cql}>", {1: a, 2: b}),
    "tuple": lambda cql, a, b: (f"tuple<{cql}, int, {cql}>", (a, 5, b)),
    "vector": lambda cql, a, b: (f"vector<{cql}, 3>", [a, b, a]),
}
COLUMNS = 50  # number of columns of each table


def written_types() -> list[tuple[str, Any]]:
    """Return (CQL type, value) of scalars, containers of scalars, and containers of containers."""
    pairs: list[tuple[str, Any]] = [(cql, values[1]) for cql, values in SCALARS.items()]
    containers: list[tuple[str, str, Any]] = []
    for cql, (first_value, second_value) in SCALARS.items():
        for name, container in CONTAINERS.items():
            # the server cannot sort durations, so a set of durations is invalid
            if not (cql == "duration" and name == "set"):
                containers.append((name, *container(cql, first_value, second_value)))
        if cql != "duration":
            pairs.append((f"map<{cql}, int>", {first_value: 1, second_value: 2}))
    pairs.extend((cql, value) for _, cql, value in containers)
    for inner_name, inner_type, value in containers:
        for name, container in CONTAINERS.items():
            if name == "set" and "duration" in inner_type:
                continue
            element = (
                f"frozen<{inner_type}>" if inner_name in ("list", "set", "map") else inner_type
            )
            cql, nested = container(element, value, value)
            pairs.append((cql, nested))
    return pairs


def plain(value: Any) -> Any:
    """Return a value whose maps and sets are sorted lists, so that their order does not matter.

    The server returns the items of maps and sets in its own order.
    """
    if hasattr(value, "items"):
        return sorted([(plain(key), plain(item)) for key, item in value.items()], key=repr)
    if isinstance(value, tuple):
        return tuple(plain(item) for item in value)
    if isinstance(value, (set, frozenset, SortedSet)):
        return sorted([plain(item) for item in value], key=repr)
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value


class Literals(Encoder):
    """Makes the CQL literal of a value according to the CQL type of its column.

    The driver's encoder chooses the literal by the Python type. That does not suffice for these
    tests, because the elements of a CQL set may be in a Python list.
    """

    def literal_of(self, cql: str, value: Any) -> str:
        """Return the literal of `value` for a column of the type `cql`."""
        if cql.startswith("frozen<"):
            cql = cql.removeprefix("frozen<").removesuffix(">")
        # Split "map<int, text>" into the name and "int, text>", which ends with the bracket.
        name, _, parameters = cql.partition("<")
        element_type = parameters[:-1]
        if name == "set":
            return "{" + ", ".join([self.literal_of(element_type, item) for item in value]) + "}"
        if name == "list":
            return "[" + ", ".join([self.literal_of(element_type, item) for item in value]) + "]"
        if name == "vector":
            vector_type, _, _dimensions = parameters[:-1].rpartition(",")
            return "[" + ", ".join([self.literal_of(vector_type, item) for item in value]) + "]"
        if name == "map":
            key_type, item_type = split_parameters(parameters[:-1])
            items = [
                f"{self.literal_of(key_type, key)}: {self.literal_of(item_type, item)}"
                for key, item in value.items()
            ]
            return "{" + ", ".join(items) + "}"
        if name == "tuple":
            item_types = split_parameters(parameters[:-1])
            literals = [
                self.literal_of(item_type, item)
                for item_type, item in zip(item_types, value, strict=True)
            ]
            return "(" + ", ".join(literals) + ")"
        if cql == "inet":
            return f"'{value}'"
        return self.cql_encode_all_types(value)


def split_parameters(cql: str) -> list[str]:
    """Split the parameters of a type at the commas outside angle brackets.

    For example, "text, map<int, int>" gives "text" and "map<int, int>".
    """
    parameters, depth = [""], 0
    for letter in cql:
        if letter == "<":
            depth += 1
        elif letter == ">":
            depth -= 1
        if letter == "," and not depth:
            parameters.append("")
        else:
            parameters[-1] += letter
    return [parameter.strip() for parameter in parameters]


@pytest.fixture(scope="module")
def session(node: LocalCluster) -> Iterator[Session]:
    """Yield a session in a new keyspace."""
    with connect(node) as cluster:
        new_session = cluster.connect()
        new_session.execute(
            "CREATE KEYSPACE types WITH replication = {'class': 'SimpleStrategy', "
            "'replication_factor': 1}"
        )
        new_session.set_keyspace("types")
        yield new_session
        new_session.execute("DROP KEYSPACE types", timeout=60)


def type_groups() -> list[list[tuple[str, Any]]]:
    """Return all pairs (CQL type, value) in groups; each group becomes the columns of one table."""
    pairs = written_types()
    return [pairs[start : start + COLUMNS] for start in range(0, len(pairs), COLUMNS)]


@pytest.mark.parametrize("number", range(len(type_groups())))
def test_values_are_read_back_as_written(session: Session, number: int) -> None:
    """Values are read back as they were written, by a prepared statement or as literals.

    Row 1 is written by a prepared statement, row 2 with literals, and row 3 has only nulls.
    """
    columns = type_groups()[number]
    table = f"t{number}"
    names = [f"c{index}" for index in range(len(columns))]
    declared = ", ".join([f"{name} {cql}" for name, (cql, _) in zip(names, columns, strict=True)])
    session.execute(f"CREATE TABLE {table} (id int PRIMARY KEY, {declared})", timeout=60)
    insert_into = f"INSERT INTO {table} (id, {', '.join(names)}) VALUES"
    marks = ", ".join(["?"] * (len(columns) + 1))
    session.execute(
        session.prepare(f"{insert_into} ({marks})"), [1, *[value for _, value in columns]]
    )
    literals = Literals()
    values = ", ".join([literals.literal_of(cql, value) for cql, value in columns])
    session.execute(f"{insert_into} (2, {values})")
    session.execute(session.prepare(f"{insert_into} ({marks})"), [3, *[None] * len(columns)])
    selected = f"SELECT {', '.join(names)} FROM {table} WHERE id = "
    row_of_prepared_statement = list(session.execute(selected + "1").one())
    row_of_literals = list(session.execute(selected + "2").one())
    for row in (row_of_prepared_statement, row_of_literals):
        for (cql, value), stored in zip(columns, row, strict=True):
            assert plain(stored) == plain(value), cql
        # You can bind the values that the driver has decoded.
        session.execute(session.prepare(f"{insert_into} ({marks})"), [1, *row])
    assert [plain(value) for value in session.execute(selected + "1").one()] == [
        plain(value) for _, value in columns
    ]
    assert all(not value for value in session.execute(selected + "3").one())


def test_user_types(session: Session) -> None:
    """Values of user-defined types may be tuples or dicts; missing fields are read as None."""
    session.execute("CREATE TYPE inner_t (a int, b text)")
    session.execute(
        "CREATE TYPE addr (street text, tags frozen<list<text>>, more frozen<inner_t>, v "
        "vector<float, 2>)"
    )
    session.execute(
        "CREATE TABLE users (id int PRIMARY KEY, one frozen<addr>, many list<frozen<addr>>, v "
        "vector<frozen<addr>, 2>)"
    )
    insert = session.prepare("INSERT INTO users (id, one, many, v) VALUES (?, ?, ?, ?)")
    address = ("x", ["a", "b"], (1, "c"), [1.5, -0.5])
    session.execute(insert, [1, address, [address, {"street": "y"}], [address, address]])
    row = session.execute("SELECT one, many, v FROM users WHERE id = 1").one()
    assert row.one == address
    assert row.one.more.b == "c"
    assert list(row.many) == [address, ("y", None, None, None)]
    assert list(row.v) == [address, address]
    # Values that were written before have no field "later".
    session.execute("ALTER TYPE addr ADD later int")
    session.execute("INSERT INTO users (id, one) VALUES (2, {street: 'z', more: {a: 5}})")
    row = session.execute("SELECT one FROM users WHERE id = 2").one()
    street, tags, more, *_ = row.one
    assert (street, tags, more) == ("z", None, (5, None))


@pytest.mark.parametrize("version", [4, 5])
def test_new_fields_of_user_types(node: LocalCluster, version: int) -> None:
    """After ALTER TYPE ... ADD, statements that were prepared before accept the new field.

    This holds for the session that has executed ALTER TYPE, and for sessions of other clusters.
    """
    check_new_fields(node, version)


def test_new_fields_of_user_types_on_older_versions(old_node: LocalCluster) -> None:
    """Older servers accept values of the new field, too."""
    check_new_fields(old_node, 4)


def check_new_fields(local: LocalCluster, version: int) -> None:
    """Add a field to a type, and check that statements that were prepared before accept it."""
    keyspace = new_keyspace_name()
    with (
        connect(local, protocol_version=version) as cluster,
        connect(local, protocol_version=version, schema_event_refresh_window=0) as other_cluster,
    ):
        session, other_session = cluster.connect(), other_cluster.connect()
        create_keyspace(session, keyspace)
        session.set_keyspace(keyspace)
        other_session.set_keyspace(keyspace)
        session.execute("CREATE TYPE street (name text)")
        session.execute("CREATE TYPE town (streets list<frozen<street>>, n int)")
        session.execute("CREATE TABLE towns (k int PRIMARY KEY, v frozen<town>)")
        text = "INSERT INTO towns (k, v) VALUES (?, ?)"
        inserts = session.prepare(text), session.prepare(text), other_session.prepare(text)
        read = session.prepare("SELECT v FROM towns WHERE k = ?")
        session.execute(text, (0, {"streets": [("old",)]}))
        assert session.execute(read, (0,)).one().v == ([("old",)], None)
        # Add a field, and execute statements that were bound or prepared before the change.
        bound_before = inserts[0].bind((1, {"streets": [("old",)]}))
        session.execute("ALTER TYPE street ADD number int")
        session.execute(bound_before)
        value = {"streets": [{"name": "new", "number": 7}], "n": 1}
        session.execute(inserts[0], (2, value))
        session.execute(inserts[1], (3, value))
        session.execute(text, (4, value))

        def is_renewed() -> bool:
            """Return True if the other session's statement knows the new field."""
            (streets, _) = inserts[2].column_metadata[1].type.subtypes
            return bool(streets.subtypes[0].fieldnames == ("name", "number"))

        until(is_renewed)  # wait until the other session's cluster has got the schema event
        other_session.execute(inserts[2], (5, value))
        rows = [session.execute(read, (key,)).one().v for key in range(6)]
        assert rows == [
            ([("old", None)], None),
            ([("old", None)], None),
            *4 * [([("new", 7)], 1)],
        ]
        session.execute(f"DROP KEYSPACE {keyspace}", timeout=60)


def test_counters(session: Session) -> None:
    """A prepared counter update can add and subtract: 5 - 7 is -2."""
    session.execute("CREATE TABLE counters (id int PRIMARY KEY, n counter)")
    update = session.prepare("UPDATE counters SET n = n + ? WHERE id = 1")
    session.execute(update, [5])
    session.execute(update, [-7])
    assert session.execute("SELECT n FROM counters WHERE id = 1").one().n == -2


def test_arrays_into_vectors_and_lists(session: Session) -> None:
    """NumPy arrays can be bound to vectors and lists, even with another element type or stride."""
    session.execute("CREATE TABLE arrays (id int PRIMARY KEY, v vector<float, 64>, l list<int>)")
    insert = session.prepare("INSERT INTO arrays (id, v, l) VALUES (?, ?, ?)")
    numbers = numpy.arange(128, dtype=">f8")[::2] / 4
    session.execute(insert, [1, numbers, numpy.arange(10)])
    row = session.execute("SELECT v, l FROM arrays WHERE id = 1").one()
    assert row.v == numbers.tolist()
    assert row.l == list(range(10))


def test_murmur3_gives_the_servers_tokens(session: Session) -> None:
    """The driver's Murmur3 tokens of blobs equal the server's, for each length from 1 to 39 bytes.

    The blobs contain bytes above 127, because Cassandra's Murmur3 treats the bytes of the last,
    incomplete block as signed.
    """
    session.execute("CREATE TABLE tokens (id blob PRIMARY KEY)")
    insert = session.prepare("INSERT INTO tokens (id) VALUES (?)")
    keys = {
        bytes((index * 37 + size * 101) % 256 for index in range(size)) for size in range(1, 40)
    }
    for key in keys:
        session.execute(insert, [key])
    rows = list(session.execute("SELECT id, token(id) FROM tokens"))
    assert {row[0] for row in rows} == keys
    for key, token in rows:
        assert python_murmur3(key) == token
        assert murmur3(key) == token


def test_nulls_and_empty_values(session: Session) -> None:
    """An empty int or list is read as None, but an empty string or blob is read as it is."""
    session.execute("CREATE TABLE empties (id int PRIMARY KEY, i int, t text, b blob, l list<int>)")
    session.execute("INSERT INTO empties (id, i, t, b, l) VALUES (1, blobAsInt(0x), '', 0x, [])")
    row = session.execute("SELECT i, t, b, l FROM empties WHERE id = 1").one()
    assert (row.i, row.t, row.b, row.l) == (None, "", b"", None)
