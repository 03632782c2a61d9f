"""The order of sets and maps on a real node: in partition keys, tuples, UDTs and vectors.

Before the node computes the token of a partition key, it sorts the sets and maps that are bound to
the key's columns. It does not sort the sets and maps inside a bound tuple, user-defined type or
vector. But it does sort them in a literal. So a bound tuple equals the tuple of a literal only if
the driver sorts in the same order as the node.
"""

from __future__ import annotations

import datetime
import decimal
import ipaddress
import math
import random
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cassandra.cluster import Session
from cassandra.metadata import Murmur3Token
from cassandra.testing import LocalCluster
from cassandra.util import Date, Time, uuid_from_time

from .conftest import connect, create_keyspace, new_keyspace_name

pytestmark = pytest.mark.integration

random_numbers = random.Random(51)


class Pairs:
    """A mapping whose keys need not be hashable."""

    def __init__(self, pairs: list[tuple[Any, Any]]) -> None:
        self._pairs = pairs

    def items(self) -> list[tuple[Any, Any]]:
        """Return the pairs of a key and a value."""
        return self._pairs


def random_uuid() -> uuid.UUID:
    """Return a UUID of version 1 or 4, or with random bits."""
    bits = random_numbers.getrandbits(128)
    time_uuid = uuid_from_time(
        random_numbers.uniform(-1e9, 4e9),
        random_numbers.getrandbits(48),
        random_numbers.getrandbits(14),
    )
    return random_numbers.choice((uuid.UUID(int=bits), uuid.UUID(int=bits, version=4), time_uuid))


def random_float() -> float:
    """Return a number, a zero with either sign, an infinity or NaN."""
    specials = (0.0, -0.0, math.inf, -math.inf, math.nan)
    return random_numbers.choice((*specials, random_numbers.uniform(-100, 100)))


def random_decimal() -> decimal.Decimal:
    """Return a decimal of any size."""
    return decimal.Decimal(random_numbers.randint(-(10**6), 10**6)).scaleb(
        random_numbers.randint(-40, 40)
    )


def random_address() -> str:
    """Return an address of IPv4 or IPv6."""
    address: ipaddress.IPv4Address | ipaddress.IPv6Address
    if random_numbers.random() < 0.5:
        address = ipaddress.IPv4Address(random_numbers.getrandbits(32))
    else:
        address = ipaddress.IPv6Address(random_numbers.getrandbits(128))
    return str(address)


def random_text(alphabet: str) -> str:
    """Return a text of up to six characters of `alphabet`, which may be empty."""
    return "".join(random_numbers.choices(alphabet, k=random_numbers.randrange(7)))


# A function for each type that makes a random value.
VALUES: dict[str, Callable[[], Any]] = {
    "tinyint": lambda: random_numbers.randint(-(2**7), 2**7 - 1),
    "smallint": lambda: random_numbers.randint(-(2**15), 2**15 - 1),
    "int": lambda: random_numbers.randint(-(2**31), 2**31 - 1),
    "bigint": lambda: random_numbers.randint(-(2**63), 2**63 - 1),
    "varint": lambda: random_numbers.randint(-(2**90), 2**90) >> random_numbers.randrange(90),
    "decimal": random_decimal,
    "float": lambda: random_numbers.choice((0.0, -0.0, -1.5, 1.5, -2.5, math.nan, -math.inf)),
    "double": random_float,
    "boolean": lambda: random_numbers.random() < 0.5,
    "text": lambda: random_text("abß\U0001f600~"),
    "ascii": lambda: random_text("ab~"),
    "blob": lambda: random_numbers.randbytes(random_numbers.randrange(5)),
    "inet": random_address,
    "uuid": random_uuid,
    "timeuuid": lambda: uuid_from_time(
        random_numbers.choice((0, 1.5e9, 1.5e9 + 1e-3)),
        random_numbers.getrandbits(48),
        random_numbers.getrandbits(14),
    ),
    "timestamp": lambda: (
        datetime.datetime(1950, 1, 1)
        + datetime.timedelta(milliseconds=random_numbers.getrandbits(42))
    ),
    "date": lambda: Date(random_numbers.randint(-(10**5), 10**5)),
    "time": lambda: Time(random_numbers.randrange(86_400 * 10**9)),
    "frozen<tuple<int, text>>": lambda: (
        random_numbers.choice((None, 1, -1)),
        random_numbers.choice((None, "", "a", "b")),
    ),
    "frozen<list<int>>": lambda: tuple(random_numbers.choices((-1, 0, 1), k=3))[
        : random_numbers.randrange(4)
    ],
    "frozen<set<int>>": lambda: frozenset(random_numbers.choices((-1, 0, 1, 300), k=3)),
    "frozen<map<int, boolean>>": lambda: tuple(
        (key, random_numbers.random() < 0.5) for key in random_numbers.sample((-1, 0, 300), k=2)
    ),
    "vector<smallint, 2>": lambda: tuple(random_numbers.choices((-1, 0, 300), k=2)),
    "vector<varint, 2>": lambda: tuple(random_numbers.choices((-1, 0, 300), k=2)),
}


def random_values(element: str) -> list[Any]:
    """Return some different values of a type, in random order."""
    values = {repr(value): value for value in (VALUES[element]() for _ in range(20))}
    if element == "frozen<map<int, boolean>>":
        return [dict(entries) for entries in values.values()]
    return list(values.values())


@pytest.fixture(scope="module")
def session(node: LocalCluster) -> Iterator[Session]:
    """Yield a session in a new keyspace."""
    name = new_keyspace_name()
    with connect(node) as cluster, cluster.connect() as new_session:
        create_keyspace(new_session, name)
        new_session.set_keyspace(name)
        yield new_session
        new_session.execute(f"DROP KEYSPACE {name}", timeout=60)


@pytest.mark.parametrize("element", VALUES)
def test_tokens_of_keys_with_sets_and_maps(session: Session, element: str) -> None:
    """The driver computes the server's token, in whatever order elements are bound."""
    table = f"keys_{list(VALUES).index(element)}"
    session.execute(
        f"CREATE TABLE {table} (a frozen<set<{element}>>, b frozen<list<frozen<set<{element}>>>>, "
        f"c frozen<map<int, frozen<set<{element}>>>>, d frozen<map<{element}, int>>, "
        "PRIMARY KEY ((a, b, c, d)))"
    )
    insert = session.prepare(f"INSERT INTO {table} (a, b, c, d) VALUES (?, ?, ?, ?)")
    condition = "a = ? AND b = ? AND c = ? AND d = ?"
    read = session.prepare(f"SELECT token(a, b, c, d) FROM {table} WHERE {condition}")
    for _ in range(20):
        values = random_values(element)
        pairs = Pairs(list(zip(values, range(20), strict=False)))
        key = [values, [values, values[::-1]], {2: values, -1: values[:3]}, pairs]
        bound = insert.bind(key)
        session.execute(bound)
        (token,) = session.execute(read, key).one()
        assert bound.routing_key is not None
        assert Murmur3Token.from_key(bound.routing_key).value == token, values


def literals_of(session: Session, element: str, values: list[Any]) -> list[str]:
    """Return the CQL literal of each value of a type."""
    encode = session.encoder.cql_encode_all_types
    if element.startswith("frozen<tuple"):  # the driver writes tuples like lists
        return [f"({', '.join(map(encode, items))})" for items in values]
    return [encode(value) for value in values]


@pytest.mark.parametrize("element", VALUES)
def test_tuples_with_sets_and_maps_equal_those_of_literals(session: Session, element: str) -> None:
    """A key that a literal has written is found with bound values, and with the values read back.

    The key has a tuple, a user-defined type and a vector that contain sets. If the driver sorted
    the sets in another order than the server, the values would be another key.
    """
    table = f"literals_{list(VALUES).index(element)}"
    session.execute(f"CREATE TYPE {table}_type (s frozen<set<{element}>>, n int)")
    session.execute(
        f"CREATE TABLE {table} (a tuple<frozen<set<{element}>>, int>, b frozen<{table}_type>, "
        f"c vector<frozen<set<{element}>>, 1>, d tuple<int, frozen<list<frozen<set<{element}>>>>>, "
        "v int, PRIMARY KEY ((a, b, c, d)))"
    )
    by_key = session.prepare(f"SELECT * FROM {table} WHERE a = ? AND b = ? AND c = ? AND d = ?")
    for number in range(20):
        values = random_values(element)
        elements = f"{{{', '.join(literals_of(session, element, values))}}}"
        session.execute(
            f"INSERT INTO {table} (a, b, c, d, v) VALUES (({elements}, 7), "
            f"{{s: {elements}, n: 7}}, [{elements}], (7, [{elements}]), {number})"
        )
        row = session.execute(by_key, [(values, 7), (values, 7), [values], (7, [values])]).one()
        assert row is not None, elements
        assert row.v == number
        # In Python, 0.0 and -0.0 are equal, so a set that is read has only one of them.
        if element not in ("float", "double"):
            row_again = session.execute(by_key, row[:4]).one()
            assert row_again is not None, row
            assert row_again.v == number


@pytest.mark.parametrize("version", ["node", "transactional_node"])
def test_collections_inside_of_collections_equal_those_of_other_orders(
    version: str, request: pytest.FixtureRequest
) -> None:
    """A list of sets equals the same list with sets in another order.

    Cassandra 6.0 does not sort the inner sets, so the driver has to.
    """
    node: LocalCluster = request.getfixturevalue(version)
    name = new_keyspace_name()
    with connect(node) as cluster, cluster.connect() as session:
        create_keyspace(session, name)
        session.set_keyspace(name)
        session.execute(
            "CREATE TABLE t (k int PRIMARY KEY, v frozen<list<frozen<set<int>>>>, "
            "s set<frozen<set<int>>>, n int)"
        )
        insert = session.prepare("INSERT INTO t (k, v, s) VALUES (1, ?, ?)")
        session.execute(insert, [[[3, 1]], [[3, 1], [2]]])
        change = session.prepare("UPDATE t SET n = 1 WHERE k = 1 IF v = ?")
        assert session.execute(change, [[[1, 3]]]).was_applied
        session.execute(session.prepare("UPDATE t SET s = s - ? WHERE k = 1"), [[[1, 3]]])
        assert session.execute("SELECT s FROM t").one().s == {frozenset({2})}
        session.execute(f"DROP KEYSPACE {name}", timeout=60)
