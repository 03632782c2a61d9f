"""Values for ``%s`` parameters that contain CQL, and so might end their literal too early.

A real node must read each literal as one value, and return the value unchanged.
"""

from __future__ import annotations

import datetime
import decimal
import ipaddress
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from cassandra.cluster import Session
from cassandra.cqltypes import EncodeValueError
from cassandra.testing import LocalCluster
from cassandra.util.temporal import Date, Duration, Time
from tests.integration.conftest import connect, create_keyspace
from tests.unit.test_encoder_stays_in_its_literal import EVIL, subclass_with_evil_texts

pytestmark = pytest.mark.integration

# Strings with characters that have a meaning in CQL, and with any characters that UTF-8 encodes.
TEXTS = st.text(
    st.one_of(st.sampled_from("'\"$-/*%;:?\\\x00\n{}[]()"), st.characters(codec="utf-8")),
    max_size=30,
)
FLOATS = st.floats(allow_nan=False)
DECIMALS = st.decimals(allow_nan=False, allow_infinity=False, places=3)
# Leave out IPv4-mapped IPv6 addresses, which the server converts to IPv4 addresses.
ADDRESSES = st.ip_addresses().filter(lambda address: getattr(address, "ipv4_mapped", None) is None)

SINGLES = st.floats(width=32, allow_nan=False)  # values of the CQL type float
SOME_TEXTS = st.lists(TEXTS, min_size=1, max_size=3)
SETS = st.frozensets(TEXTS, min_size=1, max_size=3)


def whole(bits: int) -> st.SearchStrategy[int]:
    """Return a strategy for integers of at most `bits` bits."""
    numbers = st.integers(-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    return st.one_of(numbers, numbers.map(subclass_with_evil_texts(int)))


class Pair(NamedTuple):
    """A value of the user-defined type `pair`."""

    x: str
    ys: list[str]


# For each column: its CQL type, and a strategy for values. Some values are of a subclass whose
# `__str__` and `__repr__` return CQL, because an encoder that uses these methods would be unsafe.
COLUMNS: dict[str, tuple[str, st.SearchStrategy[Any]]] = {
    "x": ("text", TEXTS),
    "b": (
        "blob",
        st.one_of(
            st.binary(max_size=30), st.binary(max_size=30).map(subclass_with_evil_texts(bytes))
        ),
    ),
    "n": ("varint", st.one_of(st.integers(), st.integers().map(subclass_with_evil_texts(int)))),
    "f": ("double", st.one_of(FLOATS, FLOATS.map(subclass_with_evil_texts(float)))),
    "d": ("decimal", st.one_of(DECIMALS, DECIMALS.map(subclass_with_evil_texts(decimal.Decimal)))),
    "u": ("uuid", st.uuids()),
    "i": ("inet", ADDRESSES),
    "dt": ("date", st.builds(Date, st.integers(-(1 << 31), (1 << 31) - 1))),
    "tm": ("time", st.builds(Time, st.integers(0, 86_399_999_999_999))),
    "ts": ("timestamp", st.datetimes(datetime.datetime(1000, 1, 1))),
    "du": ("duration", st.builds(Duration, *[st.integers(0, 1 << 30)] * 3)),
    "l": ("list<text>", st.lists(TEXTS, min_size=1, max_size=3)),
    "s": ("set<text>", st.frozensets(TEXTS, min_size=1, max_size=3)),
    "m": ("map<text, text>", st.dictionaries(TEXTS, TEXTS, min_size=1, max_size=3)),
    "t": ("frozen<tuple<text, varint>>", st.tuples(TEXTS, st.integers())),
    "a1": ("ascii", st.text(st.characters(codec="ascii"), max_size=30)),
    "bo": ("boolean", st.booleans()),
    "i1": ("tinyint", whole(8)),
    "i2": ("smallint", whole(16)),
    "i4": ("int", whole(32)),
    "i8": ("bigint", whole(64)),
    "f4": ("float", st.one_of(SINGLES, SINGLES.map(subclass_with_evil_texts(float)))),
    "tu": ("timeuuid", st.uuids(version=1)),
    "v": ("vector<float, 3>", st.lists(SINGLES, min_size=3, max_size=3)),
    # Types that contain other types.
    "l1": (
        "list<blob>",
        st.lists(
            st.binary(max_size=9).map(subclass_with_evil_texts(bytes)), min_size=1, max_size=3
        ),
    ),
    "l2": ("list<frozen<list<text>>>", st.lists(SOME_TEXTS, min_size=1, max_size=3)),
    "m2": ("map<text, frozen<list<text>>>", st.dictionaries(TEXTS, SOME_TEXTS, min_size=1)),
    "m3": (
        "map<text, frozen<map<text, varint>>>",
        st.dictionaries(
            TEXTS,
            st.dictionaries(TEXTS, st.integers().map(subclass_with_evil_texts(int)), min_size=1),
            min_size=1,
        ),
    ),
    "s2": ("set<frozen<set<text>>>", st.frozensets(SETS, min_size=1, max_size=3)),
    "t2": (
        "frozen<tuple<frozen<tuple<text, double>>, frozen<list<text>>>>",
        st.tuples(st.tuples(TEXTS, FLOATS.map(subclass_with_evil_texts(float))), SOME_TEXTS),
    ),
    "p": ("frozen<pair>", st.builds(Pair, TEXTS, SOME_TEXTS)),
    "lp": ("list<frozen<pair>>", st.lists(st.builds(Pair, TEXTS, SOME_TEXTS), min_size=1)),
}


@pytest.fixture(scope="module")
def session(node: LocalCluster) -> Iterator[Session]:
    """Yield a session in a keyspace with the table `t`, which has all of COLUMNS."""
    with connect(node) as cluster, cluster.connect() as session:
        create_keyspace(session, "literals")
        session.set_keyspace("literals")
        session.execute("CREATE TYPE pair (x text, ys frozen<list<text>>)")
        cluster.register_user_type("literals", "pair", Pair)
        columns = ", ".join(f"{name} {cql_type}" for name, (cql_type, _) in COLUMNS.items())
        session.execute(f"CREATE TABLE t (a int PRIMARY KEY, {columns})")
        session.execute("CREATE TABLE bystander (a int PRIMARY KEY)")
        yield session
        session.execute("DROP KEYSPACE literals")


def as_read(value: Any) -> Any:
    """Return `value` as the driver reads it: with milliseconds, addresses as bytes, and sets."""
    if isinstance(value, datetime.datetime):
        return value.replace(microsecond=value.microsecond // 1000 * 1000)
    if isinstance(value, (ipaddress.IPv4Address, ipaddress.IPv6Address)):
        return value.packed
    return set(value) if isinstance(value, frozenset) else value


@pytest.fixture
def tuples_are_tuples(session: Session) -> Iterator[None]:
    """Make the session encode tuples as CQL tuples; by default, they become lists."""
    encoder = session.encoder
    encoder.mapping[tuple] = encoder.cql_encode_tuple
    yield
    encoder.mapping[tuple] = encoder.cql_encode_list_collection


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.usefixtures("tuples_are_tuples")
def test_values_come_back(session: Session, column: str) -> None:
    """A value that you insert with ``%s`` is read back unchanged."""

    @settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
    @given(COLUMNS[column][1])
    def check_value(value: Any) -> None:
        """Insert the value as a literal, and compare it with the value that is read."""
        session.execute(f"INSERT INTO t (a, {column}) VALUES (%s, %s)", (1, value))
        row: Any = session.execute(f"SELECT {column} FROM t WHERE a = %(key)s", {"key": 1}).one()
        returned = row[0]
        if column == "i":
            returned = ipaddress.ip_address(returned).packed
        assert returned == as_read(value)

    check_value()


def test_a_str_subclass_is_written_as_its_str(session: Session) -> None:
    """A literal contains what `str` returns for an instance of a str subclass.

    Here `str` returns CQL. The literal must not end early, so that no part of it is read as CQL.
    """
    session.execute("INSERT INTO t (a, x) VALUES (7, %s)", (subclass_with_evil_texts(str)("mild"),))
    row: Any = session.execute("SELECT x FROM t WHERE a = 7").one()
    assert row.x == EVIL  # the driver uses str(), as cassandra-driver does


@pytest.mark.parametrize("address_class", [ipaddress.ip_address, ipaddress.ip_interface])
def test_a_zone_reaches_no_server(session: Session, address_class: Any) -> None:
    """An IPv6 address with a zone is refused, because its zone may contain any string, even CQL."""
    for zone in ("', a = 'x", EVIL, "1'); DROP TABLE bystander; --"):
        with pytest.raises(EncodeValueError, match="zone"):
            session.execute("UPDATE t SET i = %s WHERE a = 1", (address_class(f"::1%{zone}"),))
    prepared = session.prepare("UPDATE t SET i = ? WHERE a = 1")
    with pytest.raises(EncodeValueError, match="zone"):
        session.execute(prepared, (ipaddress.ip_address("::1%eth0"),))
    # No zone has dropped the table `bystander`.
    session.execute("SELECT * FROM bystander")


def test_a_minus_before_a_negative_number(session: Session) -> None:
    """A negative parameter after a minus sign does not make ``--``, which begins a CQL comment."""
    session.execute("INSERT INTO t (a, n, f) VALUES (5, 7, 2.5)")
    row: Any = session.execute("SELECT n -%s FROM t WHERE a = 5", (-1,)).one()
    # The column `n` has the value 7: 7 - (-1) is 8.
    assert row[0] == 8
    for value in (-2.5, float("-inf")):
        row = session.execute("SELECT f-%(v)s FROM t WHERE a = 5", {"v": value}).one()
        assert row[0] == 2.5 - value
    session.execute("UPDATE t SET n = -%s WHERE a = -%s", (-9, -5))
    row = session.execute("SELECT n FROM t WHERE a = %s", (5,)).one()
    assert row[0] == 9
