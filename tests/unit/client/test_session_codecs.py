"""Converters that are registered on a session, in the blocking and asyncio APIs.

The tests cover values that are sent and read, and later changes of converters.
"""

from __future__ import annotations

import dataclasses
import enum
import pickle
import re
from collections.abc import Iterator
from typing import Any

import pytest

from cassandra import aio
from cassandra.cluster import Cluster, Session
from cassandra.codecs import CodecRegistry, Converter
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.encoder import Encoder
from cassandra.errors import DecodeError
from cassandra.query import (
    BatchStatement,
    PreparedStatement,
    SimpleStatement,
    dict_factory,
    named_tuple_factory,
    ordered_dict_factory,
    tuple_factory,
)
from cassandra.testing.fake import FakeNode, Request, Udt, rows, void
from cassandra.testing.fake.answers import Answer
from cassandra.testing.fake.primitives import Opcode

INSERT = "INSERT INTO ks.t (k, c, price) VALUES (?, ?, ?)"
SELECT = "SELECT k, c, price FROM ks.t WHERE k = ?"
READ = "SELECT k, c, price FROM ks.t"
MONEY = Udt("ks", "money", (("amount", "bigint"), ("currency", "text")))
COLUMNS: list[tuple[str, Any]] = [("k", "text"), ("c", "text"), ("price", MONEY)]
UNCONVERTED = ("a", "red", {"amount": 5, "currency": "EUR"})


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclasses.dataclass(frozen=True)
class Money:
    amount: int
    currency: str


# The values of an application, into which the converters turn the row UNCONVERTED.
ROW = ("a", Color.RED, Money(5, "EUR"))


def register(registry: CodecRegistry) -> None:
    """Register converters for the column `c` and for the user-defined type `money`."""
    color: Converter[Color, str] = Converter(lambda value: value.value, Color)
    money: Converter[Money, Any] = Converter(
        dataclasses.asdict, lambda value: Money(value.amount, value.currency)
    )
    registry.register_column("ks.t.c", color)
    registry.register_type("money", money)


class Table:
    """A fake table that records the values of INSERTs."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self.queries: list[Any] = []

    def insert(self, request: Request) -> Answer:
        """Record the values and queries of an INSERT or a batch, and return a void result."""
        statements: list[Any] = [statement.values for statement in request.statements] or [
            request.values
        ]
        self.values += [list(values) for values in statements]
        self.queries += request.queries
        return void()


@pytest.fixture
def table() -> Table:
    return Table()


@pytest.fixture(params=[3, 4, 5])
def node(request: pytest.FixtureRequest, table: Table) -> Iterator[FakeNode]:
    """Yield a node that responds to SELECT and READ with the row UNCONVERTED."""
    with FakeNode(max_version=request.param) as node:
        node.prime_prepare(INSERT, COLUMNS, pk_indexes=[0])
        node.prime_prepare(SELECT, COLUMNS[:1], result=COLUMNS, pk_indexes=[0])
        node.prime(re.compile("INSERT"), table.insert)
        for query in (SELECT, READ):
            node.prime(query, rows(COLUMNS, [UNCONVERTED]))
        yield node
        assert node.malformed == []


@pytest.fixture
def cluster(node: FakeNode) -> Iterator[Cluster]:
    with Cluster([node.address], port=node.port) as cluster:
        yield cluster


@pytest.fixture
def session(cluster: Cluster) -> Session:
    """Return a session that has its own converters."""
    session = cluster.connect()
    register(session.codecs)
    session.row_factory = tuple_factory
    return session


# The encoded values of ROW. The user-defined type has two fields, each after its length in four
# bytes.
SENT_VALUES = [b"a", b"red", b"\0\0\0\x08" + (5).to_bytes(8, "big") + b"\0\0\0\x03EUR"]


def test_converters_apply_to_prepared_statements_and_query_strings(
    session: Session, table: Table
) -> None:
    """Converters are used for values of prepared statements and query strings, and for rows."""
    session.execute(session.prepare(INSERT), ROW)
    session.execute(INSERT, ROW)
    session.execute(INSERT, dict(zip(("k", "c", "price"), ROW, strict=True)))
    assert table.values == [SENT_VALUES] * 3
    prepared = session.prepare(SELECT)
    for _ in range(2):  # the second time, the columns of the result are cached
        assert session.execute(prepared, ("a",)).all() == [ROW]
        assert session.execute_async(prepared, ("a",)).result().all() == [ROW]
        assert session.execute(READ).all() == [ROW]


async def test_converters_apply_in_asyncio(node: FakeNode, table: Table) -> None:
    """In asyncio, converters are used for bound values and for rows."""
    async with aio.Cluster([node.address], port=node.port) as cluster:
        register(cluster.codecs)
        session = await cluster.connect()
        session.row_factory = tuple_factory
        await session.execute(await session.prepare(INSERT), ROW)
        prepared = await session.prepare(SELECT)
        for _ in range(2):
            assert (await session.execute(prepared, ("a",))).all() == [ROW]
            assert [row async for row in await session.execute(READ)] == [ROW]
    assert table.values == [SENT_VALUES]


def test_converters_apply_with_every_row_factory_and_row_type(session: Session) -> None:
    """Whatever the row factory or row type is, the values of rows are converted."""

    @dataclasses.dataclass
    class Order:
        k: str
        c: Color
        price: Money

    prepared = session.prepare(SELECT)
    for query, values in ((READ, None), (prepared, ("a",))):
        for factory in (named_tuple_factory, dict_factory, ordered_dict_factory, tuple_factory):
            session.row_factory = factory
            (row,) = session.execute(query, values)
            assert tuple(row.values() if isinstance(row, dict) else row) == ROW
        (order,) = session.execute(query, values, row_type=Order)
        assert order == Order(*ROW)


def test_converters_apply_to_batches_and_concurrent_executions(
    session: Session, table: Table
) -> None:
    """Converters are used for each row of a batch and of concurrent executions."""
    prepared = session.prepare(INSERT)
    batch = BatchStatement()
    batch.add(prepared, ROW)
    batch.add(INSERT, ROW)
    batch.add_many(prepared, [ROW, ROW])
    session.execute(batch)
    execute_concurrent_with_args(session, prepared, [ROW] * 3)
    # The batch has 4 rows, and there are 3 single requests.
    assert table.values == [SENT_VALUES] * 7


def test_the_routing_key_has_the_converted_value(session: Session, node: FakeNode) -> None:
    """The routing key of a bound statement is the encoded result of the converter."""
    prepared = session.prepare(SELECT)
    if node.max_version == 3:
        pytest.skip("servers of version 3 do not say where the key is")
    session.codecs.register_column("ks.t.k", Converter(str.lower, str.upper))
    assert prepared.bind(("A",)).routing_key == b"a"


def test_class_converters_apply_to_parameters_of_query_strings(
    session: Session, table: Table
) -> None:
    """The converter of a class is used wherever a parameter is written into a query string."""
    session.codecs.register_class(Color, lambda color: color.value)
    query = "INSERT INTO ks.t (k, c) VALUES (%s, %s)"
    session.execute(query, (Color.BLUE, [Color.RED]))
    session.execute(SimpleStatement(query), (Color.BLUE, [Color.RED]))
    batch = BatchStatement(session=session)
    batch.add(query, (Color.BLUE, [Color.RED]))
    session.execute(batch)
    session.encoder = Encoder()  # with another encoder, the converters must still apply
    session.execute(query, (Color.BLUE, [Color.RED]))
    assert table.queries == ["INSERT INTO ks.t (k, c) VALUES ('blue', ['red'])"] * 4


@dataclasses.dataclass
class Price:
    """The class of an application for the user-defined type `money`."""

    amount: int
    currency: str


@pytest.mark.parametrize("is_class_first", [True, False])
def test_class_converters_of_user_defined_types(
    session: Session, table: Table, is_class_first: bool
) -> None:
    """The order of registering does not count, and converted fields are not converted again."""
    steps: list[Any] = [
        lambda: session.codecs.register_class(Price, lambda price: Price(5, price.currency)),
        lambda: session._encode_user_type(Price, lambda: ["amount", "currency"]),
    ]
    for step in steps if is_class_first else reversed(steps):
        step()
    session.codecs.register_class(str, str.upper)
    session.execute("INSERT INTO ks.t (k, price) VALUES (%s, %s)", ("a", Price(1, "eur")))
    literal = "{amount : 5 , currency : 'eur'}"
    assert table.queries == [f"INSERT INTO ks.t (k, price) VALUES ('A', {literal})"]


def test_class_converters_apply_to_bound_values(session: Session, table: Table) -> None:
    """The converter of a class is used for values of columns without a converter."""
    session.codecs.register_class(Color, lambda color: color.value)
    session.codecs.unregister_column("ks.t.c")
    session.execute(session.prepare(INSERT), (Color.BLUE, Color.RED, Money(5, "EUR")))
    assert table.values == [[b"blue", *SENT_VALUES[1:]]]


def test_pydantic_models_are_sent_as_json_and_validated_when_they_are_read(
    session: Session, node: FakeNode, table: Table
) -> None:
    """Pydantic models are sent as JSON, and validated when they are read.

    A stored document that does not fit the model raises DecodeError.
    """
    pydantic = pytest.importorskip("pydantic")
    model = pydantic.create_model("Address", street=(str, ...), city=(str, ...))
    home = model(street="Storgata 1", city="Oslo")
    # Register the converters for values of the class and for values of the column.
    session.codecs.register_class(model, model.model_dump_json)
    session.codecs.register_column(
        "ks.t.c", Converter(model.model_dump_json, model.model_validate_json)
    )
    session.execute(session.prepare(INSERT), ("a", home, Money(5, "EUR")))
    session.execute("INSERT INTO ks.t (k, c) VALUES (%s, %s)", ("a", home))
    document = '{"street":"Storgata 1","city":"Oslo"}'
    assert table.values[0] == [b"a", document.encode(), SENT_VALUES[2]]
    assert table.queries[-1] == f"INSERT INTO ks.t (k, c) VALUES ('a', '{document}')"
    # The converter of the column turns the stored document into a model.
    node.prime("SELECT c FROM ks.t", rows(COLUMNS[1:2], [(document,)]))
    assert session.execute("SELECT c FROM ks.t").one() == (home,)
    # This document lacks a required field.
    node.prime("SELECT c FROM ks.t", rows(COLUMNS[1:2], [('{"street":"Storgata 1"}',)]))
    with pytest.raises(
        DecodeError, match=r'(?s)column "c".*ValidationError.*city\n +Field required'
    ):
        session.execute("SELECT c FROM ks.t").one()


def test_a_prepared_statement_uses_converters_registered_later(
    cluster: Cluster, session: Session, table: Table
) -> None:
    """A prepared statement uses converters that were registered later.

    Converters apply when values are bound or read, not when the statement is prepared.
    """
    insert, select = session.prepare(INSERT), session.prepare(SELECT)
    bound = insert.bind(ROW)
    assert session.execute(select, ("a",)).all() == [ROW]
    session.codecs.register_column("ks.t.c", Converter(str.lower, str.upper))
    cluster.codecs.register_column("ks.t.k", Converter(str.lower, str.upper))
    for _ in range(2):
        assert session.execute(select, ("A",)).all() == [("A", "RED", ROW[2])]
        assert session.execute(READ).all() == [("A", "RED", ROW[2])]
    session.execute(insert, ("A", "RED", ROW[2]))
    # This statement was bound before the change, so its values must not change.
    session.execute(bound)
    assert table.values == [SENT_VALUES, SENT_VALUES]
    # Without the converter, the value is read as an ordinary str.
    session.codecs.unregister_column("ks.t.c")
    assert session.execute(select, ("A",)).all() == [("A", "red", ROW[2])]


def test_converters_belong_to_a_session_or_to_the_cluster(
    cluster: Cluster, session: Session
) -> None:
    """A session's converters apply to this session only, and the cluster's to all its sessions.

    If both have a converter for a column, the session's converter is used.
    """
    other = cluster.connect()
    other.row_factory = tuple_factory
    (row,) = other.execute(READ)
    assert row[1] == "red"
    assert session.execute(READ).all() == [ROW]
    # A statement has the converters of the session that prepared it, even if another session
    # executes it.
    assert other.execute(session.prepare(SELECT), ("a",)).all() == [ROW]
    cluster.codecs.register_column("ks.t.c", Converter(None, str.upper))
    assert other.execute(READ).all()[0][1] == "RED"
    assert session.execute(READ).all() == [ROW]


def test_a_converter_gets_instances_of_the_registered_class(session: Session) -> None:
    """The converter of a user-defined type receives instances of the type's registered class."""
    value_types = []

    def money_of(value: Any) -> Money:
        value_types.append(type(value))
        return Money(value["amount"], value["currency"])

    session.codecs.register_type("ks.money", Converter(dataclasses.asdict, money_of))
    session.cluster._add_user_type("ks", "money", dict)
    prepared = session.prepare(SELECT)
    for query, values in ((READ, None), (prepared, ("a",)), (prepared, ("a",))):
        assert session.execute(query, values).all() == [ROW]
    assert set(value_types) == {dict}


def test_converters_do_not_apply_to_columnar_results(session: Session) -> None:
    """A result that becomes columns, here an Arrow table, has the plain CQL values."""
    pytest.importorskip("pyarrow")
    prepared = session.prepare(SELECT)
    for query, values in ((READ, None), (prepared, ("a",))):
        assert session.execute(query, values).to_arrow().to_pylist() == [
            dict(zip(("k", "c", "price"), UNCONVERTED, strict=True))
        ]


def test_converters_do_not_apply_to_bound_tables(session: Session, table: Table) -> None:
    """Converters do not apply to the rows of an Arrow table.

    The rows are encoded without Python objects, so they must have the values that CQL expects.
    """
    pyarrow = pytest.importorskip("pyarrow")
    prepared = session.prepare(INSERT)
    columns = {"k": ["a"], "c": ["red"], "price": [UNCONVERTED[2]]}
    batch = BatchStatement()
    batch.add_many(prepared, pyarrow.table(columns))
    session.execute(batch)
    assert table.values == [SENT_VALUES]


def test_an_error_of_a_converter_has_the_column(session: Session) -> None:
    """An error in a converter names the column and the value, for bound values and for rows."""
    prepared = session.prepare(INSERT)
    with pytest.raises(ValueError, match=r'column "c" \(varchar, .*cannot convert \'red\' \(str\)'):
        session.execute(prepared, UNCONVERTED)
    session.codecs.register_column("ks.t.c", Converter(None, int))
    with pytest.raises(
        DecodeError, match=r'row 0, column "c" \(varchar\): int cannot convert \'red\''
    ):
        session.execute(READ).all()


UPDATE = "UPDATE ks.t SET price = null WHERE k = 'a' IF d = 'x'"
UPDATE_COLUMNS: list[tuple[str, Any]] = [("[applied]", "boolean"), ("d", "text")]


def register_texts(registry: CodecRegistry) -> None:
    """Register converters that return "yes" or "no" for booleans, and upper case for strings."""
    registry.register_type("boolean", Converter(from_cql=lambda value: "yes" if value else "no"))
    registry.register_type("text", Converter(from_cql=str.upper))


async def test_was_applied_is_not_converted_in_asyncio(node: FakeNode) -> None:
    """In asyncio, `was_applied` is a bool, although booleans have a converter."""
    node.prime(UPDATE, rows(UPDATE_COLUMNS, [(False, "y")]))
    async with aio.Cluster([node.address], port=node.port) as cluster:
        register_texts(cluster.codecs)
        session = await cluster.connect()
        assert (await session.execute(UPDATE)).was_applied is False


@pytest.mark.parametrize("is_prepared", [False, True])
def test_columns_of_the_server_itself_are_not_converted(
    node: FakeNode, session: Session, is_prepared: bool
) -> None:
    """Converters do not apply to the columns ``[applied]`` and ``[json]``, which the server adds.

    `was_applied` reads the column ``[applied]``, which stays a bool. The column ``[json]`` stays a
    string.
    """
    node.prime(UPDATE, rows(UPDATE_COLUMNS, [(False, "y")]))
    node.prime_prepare(UPDATE, [], result=UPDATE_COLUMNS)
    node.prime("SELECT JSON k FROM ks.t", rows([("[json]", "text")], [('{"k": 1}',)]))
    register_texts(session.codecs)
    statement = session.prepare(UPDATE) if is_prepared else UPDATE
    result = session.execute(statement)
    assert result.was_applied is False
    assert tuple(result.one()) == (False, "Y")
    assert tuple(session.execute("SELECT JSON k FROM ks.t").one()) == ('{"k": 1}',)


def test_a_pickled_statement_has_no_converters(session: Session) -> None:
    """A pickled statement has no converters.

    Converters consist of an application's functions, which often cannot be pickled.
    """
    prepared = session.prepare(SELECT)
    copied: PreparedStatement = pickle.loads(pickle.dumps(prepared))
    assert copied.codecs is None
    assert "native_type" not in copied.result_metadata[1].type.__dict__


def test_converters_apply_after_a_statement_is_prepared_again(
    session: Session, node: FakeNode
) -> None:
    """Rows are still converted after the statement was prepared again."""
    prepared = session.prepare(SELECT)
    node.forget_prepared()
    assert session.execute(prepared, ("a",)).all() == [ROW]
    # A converter that is registered while the server does not know the statement applies, too.
    node.forget_prepared()
    session.codecs.register_column("ks.t.k", Converter(str.upper, str.lower))
    count_before = node.count(Opcode.PREPARE)
    assert session.execute(prepared, ("a",)).all() == [ROW]
    assert node.count(Opcode.PREPARE) > count_before
    (execution,) = node.requests[-1:]
    assert execution.values == [b"A"]
