"""Test values that applications of cassandra-driver bind.

Examples are dicts with more keys than bind markers, and unusual objects.
"""

from __future__ import annotations

import asyncio
import decimal
from collections import ChainMap, OrderedDict, defaultdict, namedtuple
from types import MappingProxyType
from typing import Any

import pytest

from cassandra import aio, cqltypes as t
from cassandra.cluster import Cluster
from cassandra.query import UNSET_VALUE, BatchStatement, BoundStatement, PreparedStatement
from cassandra.testing.fake import FakeNode, Opcode
from tests.conftest import Implementation

Column = namedtuple("Column", "keyspace_name table_name name type")
INT, TEXT = t.Int32Type, t.UTF8Type
ONE, SEVEN = b"\0\0\0\1", b"\0\0\0\7"


def prepared(*types: Any, has_key: bool = True, version: int = 4) -> PreparedStatement:
    """Return a prepared statement with columns a, b and so on, of these types.

    :param types: the types of the columns.
    :param has_key: True makes the first column the partition key.
    :param version: the protocol version.
    """
    columns: Any = [
        Column("ks", "t", name, cqltype) for name, cqltype in zip("abcdef", types, strict=False)
    ]
    indexes = [0] if has_key else []
    return PreparedStatement(
        columns,
        b"id",
        indexes,
        "INSERT INTO t",
        "ks",
        version,
        None,
        None,
    )


def with_plan(
    statement: PreparedStatement, implementation: Implementation, strict_names: bool = False
) -> PreparedStatement:
    """Make `statement` use a bind plan of the given implementation, and return the statement."""
    statement.bind_plan = implementation.bind.BindPlan(
        statement.column_metadata, statement.routing_key_indexes, strict_names
    )
    return statement


def values(implementation: Implementation, cqltype: Any, *arguments: Any) -> list[Any]:
    """Bind each of `arguments` to a single column of a type, and return the encoded values."""
    column = Column("ks", "t", "a", cqltype)
    plan = implementation.bind.BindPlan([with_codec_of(implementation, column)])
    return [plan.bind((value,), version=4).values()[0] for value in arguments]


def with_codec_of(implementation: Implementation, column: Any) -> Any:
    """Return the column with a stand-in type that uses the codec of the tested implementation.

    The stand-in class has the name of the column's type class, because error messages contain it.
    """
    codec = column.type.build_codec(implementation.codecs)
    stand_in = type(column.type.__name__, (), {"codec": staticmethod(lambda: codec)})
    return column._replace(type=stand_in)


class Filled(dict[str, Any]):
    """A dict that computes the values of missing keys."""

    def __missing__(self, name: str) -> Any:
        return {"a": 7, "b": "filled"}[name]


class Computed(dict[str, Any]):
    """A dict that computes all values, even for keys that it contains."""

    def __getitem__(self, name: str) -> Any:
        return {"a": 7, "b": "computed"}[name]


# Values for the bind markers a and b, and for keys that have no bind marker.
MORE = {"a": 1, "b": "x", "c": 2, 5: "not a name"}


@pytest.mark.parametrize(
    "row", [MORE, OrderedDict(MORE), MappingProxyType(MORE), ChainMap(MORE)], ids=type
)
def test_names_without_a_marker_are_ignored(row: Any, implementation: Implementation) -> None:
    """Keys of a mapping that have no bind marker are ignored, also in batches."""
    statement = with_plan(prepared(INT, TEXT), implementation)
    assert implementation.binding.bind(statement, row).values == [ONE, b"x"]
    batch = BatchStatement().add(statement, row).add_many(statement, [row, row])
    for entry in batch.entries:
        assert isinstance(entry, BoundStatement)
        assert entry.values == [ONE, b"x"]
    assert len(batch.entries) == 3


@pytest.mark.parametrize("row", [MORE, MappingProxyType(MORE)], ids=type)
def test_a_strict_statement_refuses_names_without_a_marker(
    row: Any, implementation: Implementation
) -> None:
    """With strict names, keys without a bind marker are refused, whatever binds the mapping."""
    statement = with_plan(prepared(INT, TEXT), implementation, strict_names=True)
    for bind in (
        lambda: implementation.binding.bind(statement, row),
        lambda: BatchStatement().add(statement, row),
        lambda: BatchStatement().add_many(statement, [row]),
    ):
        with pytest.raises(ValueError, match="values for 'c', 5, but the bind markers are a, b"):
            bind()
    assert implementation.binding.bind(statement, {"a": 1, "b": "x"}).values == [ONE, b"x"]


def test_strict_names_can_be_set_on_a_statement() -> None:
    """The application can switch `strict_names` of a prepared statement on and off again."""
    statement = prepared(INT, TEXT)
    assert statement.strict_names is False
    statement.strict_names = True
    assert statement.strict_names is True
    with pytest.raises(ValueError, match="'c'"):
        statement.bind(MORE)
    statement.strict_names = False
    assert statement.bind(MORE).values == [ONE, b"x"]


def test_values_that_a_mapping_computes_are_bound(implementation: Implementation) -> None:
    """If a mapping computes values of missing keys (`__missing__`), these values are bound."""
    defaults: defaultdict[str, Any] = defaultdict(lambda: 7, b="x")
    statement = with_plan(prepared(INT, TEXT), implementation)
    for row, expected in [
        (Filled(b="x"), [SEVEN, b"x"]),
        (Filled(), [SEVEN, b"filled"]),
        (Computed(), [SEVEN, b"computed"]),
        (defaults, [SEVEN, b"x"]),
    ]:
        assert implementation.binding.bind(statement, row).values == expected
        (bound,) = BatchStatement().add_many(statement, [row]).entries
        assert isinstance(bound, BoundStatement)
        assert bound.values == expected
    # In protocol version 3 every column needs a value, so each name is looked up.
    statement_of_version_3 = with_plan(prepared(INT, TEXT, version=3), implementation)
    assert implementation.binding.bind(statement_of_version_3, Filled()).values == [
        SEVEN,
        b"filled",
    ]


def test_an_unset_partition_key_is_refused(implementation: Implementation) -> None:
    """An unset value for the partition key raises an error: the server needs the whole key."""
    row: Any
    statement = with_plan(prepared(INT, TEXT), implementation)
    for row in ({"a": UNSET_VALUE}, MappingProxyType({"a": UNSET_VALUE})):
        with pytest.raises(ValueError, match="the partition key needs a value for 'a'"):
            implementation.binding.bind(statement, row)
    # Protocol version 3 has no unset values, so an unset value counts as missing.
    statement_of_version_3 = with_plan(prepared(INT, TEXT, version=3), implementation)
    for row in ({"a": 1, "b": UNSET_VALUE}, MappingProxyType({"a": 1, "b": UNSET_VALUE})):
        with pytest.raises(KeyError, match="no value for column 'b'"):
            implementation.binding.bind(statement_of_version_3, row)


def test_a_string_of_one_character_is_bound_to_a_single_marker(
    implementation: Implementation,
) -> None:
    """A string of one character can be bound to a single marker, as with cassandra-driver.

    cassandra-driver treats a string as a sequence of characters. Other strings raise an error.
    """
    statement = with_plan(prepared(TEXT), implementation)
    assert implementation.binding.bind(statement, "x").values == [b"x"]
    assert BatchStatement().add(statement, "x").entries[0].values == [b"x"]  # type: ignore[union-attr]
    plan = implementation.bind.BindPlan(statement.column_metadata)
    assert plan.bind("é", 4).values() == ["é".encode()]
    for wrong in ("xy", "", b"x"):
        with pytest.raises((TypeError, ValueError), match=r"values are|partition key"):
            implementation.binding.bind(statement, wrong)
    with pytest.raises(TypeError, match="values are 'x'"):
        implementation.bind.BindPlan(prepared(TEXT, TEXT).column_metadata).bind("x", 4)


@pytest.mark.parametrize("collection_type", [t.SetType, t.ListType])
def test_a_dict_bound_to_a_set_or_list_is_its_keys(
    collection_type: Any, implementation: Implementation
) -> None:
    """A dict for a set or list column is encoded like the list of its keys."""
    of_dict, of_ordered_dict, of_list = values(
        implementation,
        collection_type.apply_parameters([TEXT]),
        {"x": 1, "y": 2},
        OrderedDict(x=1, y=2),
        ["x", "y"],
    )
    assert of_dict == of_list
    assert of_ordered_dict == of_list
    of_dict, of_list = values(
        implementation, collection_type.apply_parameters([INT]), {1: "x", 7: "y"}, [1, 7]
    )
    assert of_dict == of_list


def test_a_dict_bound_to_a_vector_or_tuple_is_refused(implementation: Implementation) -> None:
    vector = t.VectorType.apply_parameters([t.FloatType, 2], None)
    for cqltype in (vector, t.TupleType.apply_parameters([INT, INT])):
        with pytest.raises(TypeError, match="dict"):
            values(implementation, cqltype, {1: 1, 2: 2})


def test_decimals_may_be_bound_as_tuples(implementation: Implementation) -> None:
    number = decimal.Decimal("-1.23")
    encoded = values(
        implementation,
        t.DecimalType,
        number,
        number.as_tuple(),
        (1, (1, 2, 3), -2),
        [1, [1, 2, 3], -2],
    )
    # All forms of the same decimal are encoded to the same bytes.
    assert len(set(encoded)) == 1
    for wrong_tuple in [(1, 2), (0, ("x",), 1), (0, (1,), "F"), (), (2, (1,), 0)]:
        with pytest.raises(ValueError, match="decimal"):
            values(implementation, t.DecimalType, wrong_tuple)


@pytest.mark.parametrize(
    ("cqltype", "value"),
    [
        (t.ByteType, 128),
        (t.ShortType, -(1 << 15) - 1),
        (INT, 1 << 31),
        (t.LongType, 1 << 63),
        (t.CounterColumnType, 1 << 63),
        (t.SimpleDateType, 1 << 32),
        (t.ListType.apply_parameters([INT]), [1 << 31]),
    ],
)
@pytest.mark.parametrize("error", [TypeError, ValueError, OverflowError])
def test_an_integer_out_of_range_is_each_of_three_errors(
    cqltype: Any, value: Any, error: type[Exception], implementation: Implementation
) -> None:
    """The error for an integer out of range is a TypeError, ValueError and OverflowError in one.

    cassandra-driver raises one of these three errors, depending on the type.
    """
    with pytest.raises(error) as caught:
        values(implementation, cqltype, value)
    name = cqltype.cql_parameterized_type()
    for part in ('column "a"', f"({name}, {cqltype.__name__})", "(int)"):
        assert part in str(caught.value)


def test_messages_name_column_type_and_the_value_s_class() -> None:
    with pytest.raises(TypeError) as caught:
        prepared(INT, t.ListType.apply_parameters([INT])).bind((1, ["x"]))
    assert str(caught.value).startswith(
        'column "b" (list<int>, ListType(Int32Type)): element 0 of list<int>: '
        "'x' (str) is not an integer"
    )


def test_a_bound_statement_shows_its_values() -> None:
    bound = prepared(INT, TEXT, INT).bind((1, None))
    assert str(bound) == (
        '<BoundStatement query="INSERT INTO t", values=[1, None, UNSET_VALUE], consistency=Not Set>'
    )
    assert bound.raw_values == [1, None, UNSET_VALUE]
    assert bound.values == [ONE, None, UNSET_VALUE]
    assert BoundStatement(prepared(INT)).raw_values == []


def test_a_value_that_cannot_be_read_back_is_shown_as_bytes() -> None:
    """`raw_values` decodes the bound values, but returns bytes that the type cannot decode."""

    class OneWay(t._CassandraType):
        @classmethod
        def serialize(cls, val: Any, protocol_version: int) -> bytes:
            return b"written"

        @classmethod
        def deserialize(cls, byts: bytes, protocol_version: int) -> Any:
            raise RuntimeError("never read")

    assert prepared(OneWay).bind(("x",)).raw_values == [b"written"]


INSERT = "INSERT INTO t (a, b) VALUES (?, ?)"
LETTER = "INSERT INTO t (b) VALUES (?)"
ROW = {"a": 1, "b": "x", "c": 2}


def values_sent(node: FakeNode) -> list[list[Any]]:
    """Return the values of each EXECUTE request that the node received."""
    return [list(request.values) for request in node.requests if request.opcode == Opcode.EXECUTE]


def test_every_api_accepts_a_dict_with_more_keys() -> None:
    """The blocking API, futures and asyncio bind a dict that has a key without a bind marker."""

    async def execute_with_asyncio() -> None:
        async with aio.Cluster([node.address], port=node.port) as cluster:
            session = await cluster.connect()
            await session.execute(await session.prepare(INSERT), ROW)

    with FakeNode() as node:
        node.prime_prepare(LETTER, [("b", "text")])
        node.prime_prepare(INSERT, [("a", "int"), ("b", "text")], pk_indexes=[0])
        with Cluster([node.address], port=node.port) as cluster, cluster.connect() as session:
            statement = session.prepare(INSERT)
            session.execute(statement, ROW)
            session.execute_async(statement, ROW).result()
            # A string of one character is bound to a single marker, but no other string.
            letter_statement = session.prepare(LETTER)
            session.execute(letter_statement, "x")
            with pytest.raises(TypeError, match="parameters must be a sequence or a mapping"):
                session.execute(letter_statement, "xy")
            # A strict statement refuses the key "c", for which it has no marker.
            statement.strict_names = True
            with pytest.raises(ValueError, match="values for 'c'"):
                session.execute(statement, ROW)
        asyncio.run(execute_with_asyncio())
        assert values_sent(node) == [[ONE, b"x"], [ONE, b"x"], [b"x"], [ONE, b"x"]]
