"""Tests of bind plans and row plans of columns for which converters are registered."""

from __future__ import annotations

import enum
import pickle
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from cassandra.codecs import CodecRegistry, Converter
from cassandra.column_encryption.policies import AES256ColumnEncryptionPolicy
from cassandra.cqltypes import (
    EncodeTypeError,
    EncodeValueError,
    LongType,
    UserType,
    UTF8Type,
    lookup_casstype,
)
from cassandra.cqltypes.base import _CodecCache
from cassandra.cqltypes.calls import withdraw
from cassandra.errors import DecodeError
from cassandra.marshal import int32_pack
from cassandra.policies import ColDesc
from cassandra.protocol import converted, encrypted
from cassandra.protocol.column_specs import ColumnMetadata, ResultMetadata
from cassandra.protocol.converted import bound_columns, converting, is_converted
from cassandra.sentinels import UNSET_VALUE
from tests.conftest import Implementation


# Classes of an application, for which converters are registered.
class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Money(NamedTuple):
    amount: int
    currency: str


COLOR: Converter[Color, str] = Converter(to_cql=lambda color: color.value, from_cql=Color)
MONEY: Converter[Money, Any] = Converter(
    to_cql=lambda money: {"amount": money.amount, "currency": money.currency},
    from_cql=lambda value: Money(value.amount, value.currency),
)
UDT = UserType.make_udt_class("ks", "money", ("amount", "currency"), (LongType, UTF8Type))


@pytest.fixture
def registry(
    implementation: Implementation, monkeypatch: pytest.MonkeyPatch
) -> Iterator[CodecRegistry]:
    """Yield an empty registry of converters.

    During the test, all types use the codecs of the implementation under test.
    """
    # Types cache their codecs and fast methods (see `cassandra.cqltypes.calls`). Clear these
    # caches, because their content belongs to another implementation.
    withdraw()
    monkeypatch.setattr("cassandra._impl.codecs", implementation.codecs)
    monkeypatch.setattr("cassandra._impl.rows", implementation.rows)
    # A new number makes all types build their codecs again.
    _CodecCache.current += 1
    yield CodecRegistry()
    withdraw()
    _CodecCache.current += 1


def column(cql_type: Any, name: str = "c", keyspace: str = "ks") -> ColumnMetadata:
    """Return a column of the table `t`; `cql_type` is a type class or a server's class name."""
    return ColumnMetadata(keyspace, "t", name, lookup_casstype(cql_type))


class Plans:
    """The bind plan and the row plan of some columns, with the converters of a registry.

    The attribute `plain` is a bind plan without converters.
    """

    def __init__(
        self, implementation: Implementation, registry: CodecRegistry, *columns: ColumnMetadata
    ) -> None:
        assert registry.converters is not None
        self.plain = implementation.bind.BindPlan(columns)
        self.bind_plan = implementation.bind.BindPlan(bound_columns(columns, registry.converters))
        self.metadata = converting(ResultMetadata(columns), registry.converters)

    def bind(self, *values: Any) -> list[Any]:
        """Return the bytes of each value after its conversion."""
        encoded: list[Any] = self.bind_plan.bind(values, version=5).values()
        return encoded

    def plain_bytes(self, *values: Any) -> list[Any]:
        """Return the bytes of each value, without converters."""
        encoded: list[Any] = self.plain.bind(values, version=5).values()
        return encoded

    def read(self, *values: Any) -> tuple[Any, ...]:
        """Encode a row without converters, and return what reading it with converters returns."""
        body = self.plain.bind(values, version=5).data
        (row,) = self.metadata.row_plan.tuples(body, offset=0, row_count=1)
        result: tuple[Any, ...] = row
        return result


@pytest.fixture
def plans(implementation: Implementation, registry: CodecRegistry) -> Callable[..., Plans]:
    """Return a function that creates the `Plans` of columns, with the registry's converters."""
    return lambda *columns: Plans(implementation, registry, *columns)


@pytest.mark.parametrize(
    ("cql_type", "value", "plain"),
    [
        ("UTF8Type", Color.RED, "red"),
        ("ReversedType(UTF8Type)", Color.RED, "red"),
        ("ListType(UTF8Type)", [Color.RED, Color.BLUE], ["red", "blue"]),
        ("FrozenType(SetType(UTF8Type))", {Color.RED}, {"red"}),
        ("MapType(UTF8Type, ListType(UTF8Type))", {Color.RED: [Color.BLUE]}, {"red": ["blue"]}),
        ("TupleType(Int32Type, UTF8Type)", (1, Color.BLUE), (1, "blue")),
        ("TupleType(Int32Type, UTF8Type)", (None, None), (None, None)),
        ("VectorType(UTF8Type, 2)", [Color.RED, Color.BLUE], ["red", "blue"]),
        (UDT, {"amount": 1, "currency": Color.RED}, {"amount": 1, "currency": "red"}),
    ],
)
def test_converters_of_types_apply_inside_other_types_too(
    registry: CodecRegistry, plans: Any, cql_type: Any, value: Any, plain: Any
) -> None:
    """A converter for text is used for each text in a collection, tuple, vector or user type.

    :param value: the application's value.
    :param plain: the value without converters.
    """
    registry.register_type("text", COLOR)
    column_plans = plans(column(cql_type))
    assert column_plans.bind(value) == column_plans.plain_bytes(plain)
    (read,) = column_plans.read(plain)
    assert column_plans.bind(read) == column_plans.plain_bytes(plain)
    # The decoded value has a Color, except if all values are null, because nulls are not converted.
    if plain != (None, None):
        assert "Color" in repr(read)


@pytest.mark.parametrize("registered_name", ["money", "ks.money"])
def test_a_converter_may_be_registered_for_the_name_of_a_user_type(
    registry: CodecRegistry, plans: Any, registered_name: str
) -> None:
    """A converter for a user type may be registered by name, with or without the keyspace."""
    registry.register_type(registered_name, MONEY)
    column_plans = plans(column(UDT))
    plain = {"amount": 5, "currency": "EUR"}
    assert column_plans.bind(Money(5, "EUR")) == column_plans.plain_bytes(plain)
    assert column_plans.read(plain) == (Money(5, "EUR"),)


def test_the_converter_of_the_outermost_type_is_used(registry: CodecRegistry, plans: Any) -> None:
    """A converter of list<text> replaces the converter of text for the list's elements."""
    registry.register_type("text", COLOR)
    words = Converter(to_cql=lambda text: text.split(), from_cql=" ".join)
    registry.register_type("list<text>", words)
    list_plans = plans(column("ListType(UTF8Type)"))
    assert list_plans.bind("a b") == list_plans.plain_bytes(["a", "b"])
    assert list_plans.read(["a", "b"]) == ("a b",)
    # The converter must also apply to lists that are elements of another list.
    outer = plans(column("ListType(FrozenType(ListType(UTF8Type)))"))
    assert outer.read([["a", "b"], ["c"]]) == (["a b", "c"],)


def test_a_column_s_converter_precedes_those_of_type_and_class(
    registry: CodecRegistry, plans: Any
) -> None:
    """A column's converter is used instead of the converters of its type and of the value's class.

    Without a column's converter, a bound value is converted by the converter of its class, and a
    read value by the converter of its type.
    """
    registry.register_type("text", Converter(str.upper, str.upper))
    registry.register_class(str, lambda text: text + "!")
    registry.register_column("ks.t.c", Converter(str.title, str.title))
    # Only the column c has its own converter. Values of the column d are bound with the converter
    # of the class, and read with the converter of the type.
    both = plans(column("UTF8Type", "c"), column("UTF8Type", "d"))
    assert both.bind("a", "a") == [b"A", b"a!"]
    assert both.read("ab", "ab") == ("Ab", "AB")
    # A converter for rows only leaves bound values to the converters of classes.
    registry.register_column("ks.t.c", Converter(from_cql=str.title))
    lists = plans(column("ListType(UTF8Type)", "c"))
    (data,) = lists.bind(["a"])
    assert data[-2:] == b"a!"


def test_converters_of_classes_apply_inside_values(registry: CodecRegistry, plans: Any) -> None:
    """A converter of a class is used for each bound object of the class, but not for read rows."""
    registry.register_class(Color, lambda color: color.value)
    markers = plans(
        column("UTF8Type"), column("FrozenType(ListType(UTF8Type))"), column("Int32Type")
    )
    plain = markers.plain_bytes("red", ["red", "x"], 5)
    assert markers.bind(Color.RED, [Color.RED, "x"], 5) == plain
    # No column has a converter for reading, so the metadata is a plain ResultMetadata.
    assert type(markers.metadata) is ResultMetadata


def test_converters_of_classes_do_not_apply_inside_vectors_of_numbers(
    registry: CodecRegistry, plans: Any
) -> None:
    """Converters of classes do not apply to the elements of vectors of numbers.

    A vector of numbers is encoded as a whole, without checking the class of each number.
    """
    registry.register_class(float, lambda number: 0.0)
    vector = plans(column("VectorType(FloatType, 2)"))
    assert vector.bind([1.0, 2.0]) == vector.plain_bytes([1.0, 2.0])


def test_converters_of_types_apply_inside_vectors_of_numbers(
    registry: CodecRegistry, plans: Any
) -> None:
    """A converter of the type float is used for each element of a vector of floats."""
    halving: Converter[float, float] = Converter(
        to_cql=lambda number: number / 2, from_cql=lambda number: number * 2
    )
    registry.register_type("float", halving)
    vector = plans(column("VectorType(FloatType, 2)"))
    assert vector.bind([1.0, 2.0]) == vector.plain_bytes([0.5, 1.0])
    assert vector.read([0.5, 1.0]) == ([1.0, 2.0],)
    assert vector.metadata.with_vectors("list") is vector.metadata


def test_nulls_and_unset_values_are_not_converted(registry: CodecRegistry, plans: Any) -> None:
    """Nulls and unset values are not passed to converters.

    The converter of this test raises an error if it is called.
    """
    failing = Converter(to_cql=lambda value: 1 / 0, from_cql=lambda value: 1 / 0)
    registry.register_type("text", failing)
    text = plans(column("UTF8Type"))
    assert text.bind(None) == [None]
    assert text.bind(UNSET_VALUE) == [UNSET_VALUE]
    assert text.read(None) == (None,)


def test_empty_values(registry: CodecRegistry, plans: Any) -> None:
    """An empty text is converted; an empty number is read as null, so it is not converted."""
    registry.register_type("text", Converter(to_cql=None, from_cql=lambda text: f"<{text}>"))
    registry.register_type("int", Converter(to_cql=None, from_cql=lambda number: 1 / 0))
    both = plans(column("UTF8Type"), column("Int32Type", "d"))
    assert both.read("", None) == ("<>", None)
    # An int of zero bytes, which old clients could write, is read as null and so not converted.
    assert both.metadata.row_plan.tuples(bytes(8), offset=0, row_count=1) == [("<>", None)]


def test_a_converter_may_have_one_direction_only(registry: CodecRegistry, plans: Any) -> None:
    """If a converter has only one direction, values in the other direction are not converted."""
    registry.register_column("ks.t.c", Converter(to_cql=str.upper))
    registry.register_column("ks.t.d", Converter(from_cql=str.upper))
    both = plans(column("UTF8Type"), column("UTF8Type", "d"))
    assert both.bind("a", "a") == [b"A", b"a"]
    assert both.read("a", "a") == ("a", "A")


def test_the_other_direction_has_the_plain_types(registry: CodecRegistry) -> None:
    """So `row_type` converts the values of results, and loads check bound values, as usual."""
    columns = [column("UTF8Type"), column("UTF8Type", "d"), column("Int32Type", "e")]
    registry.register_column("ks.t.c", Converter(to_cql=str.upper))
    registry.register_column("ks.t.d", Converter(from_cql=str.upper))
    registry.register_type("int", Converter(to_cql=abs))
    assert registry.converters is not None
    bound = bound_columns(columns, registry.converters)
    assert [is_converted(each.type) for each in bound] == [True, False, True]
    read = converting(ResultMetadata(columns), registry.converters).columns
    assert [is_converted(each.type) for each in read] == [False, True, False]
    only_bound = ResultMetadata([columns[0], columns[2]])
    assert converting(only_bound, registry.converters) is only_bound


def test_markers_of_in_are_converted_and_those_without_a_column_are_not(
    registry: CodecRegistry, plans: Any
) -> None:
    """The elements for `c IN ?` are converted like values of the column c.

    Servers describe the marker as a list with the name "in(c)". Markers for tokens and timestamps
    are values of no column, so a converter of their type is not used.
    """
    registry.register_column("ks.t.c", COLOR)
    registry.register_type("bigint", Converter(to_cql=lambda value: 1 / 0))
    markers = plans(
        column("ListType(UTF8Type)", "in(c)"),
        column("ListType(UTF8Type)", "IN(d)"),
        column("LongType", "partition key token"),
        column("LongType", "[timestamp]"),
        column("LongType", "token(k, c)"),  # Cassandra 6
    )
    plain = markers.plain_bytes(["red"], ["x"], 5, 6, 7)
    assert markers.bind([Color.RED], ["x"], 5, 6, 7) == plain


def test_named_markers_are_converted_as_their_columns(
    implementation: Implementation, registry: CodecRegistry
) -> None:
    """Servers describe the marker of `SET c = :other` by its own name."""
    registry.register_column("ks.t.c", COLOR)
    registry.register_type("int", Converter(to_cql=lambda value: value + 1))

    def encoded(value: object, cql_type: str, *columns: str) -> bytes:
        """Encode a value for a marker `c` that stands for these columns."""
        assert registry.converters is not None
        markers = bound_columns([column(cql_type)], registry.converters, {"c": set(columns)})
        (data,) = implementation.bind.BindPlan(markers).bind((value,), 4).values()
        return bytes(data)

    assert encoded(Color.RED, "UTF8Type", "c") == b"red"
    assert encoded("x", "UTF8Type", "d") == b"x"
    assert encoded(["x"], "ListType(UTF8Type)", "in(d)")[-1:] == b"x"
    assert encoded(1, "Int32Type", "n") == int32_pack(2)
    assert encoded(1, "Int32Type", "n", "m") == int32_pack(2)
    for name in ("[limit]", "[ttl]", "partition key token"):
        assert encoded(1, "Int32Type", name) == int32_pack(1)
    assert encoded(1, "Int32Type", "[ttl]", "[limit]") == int32_pack(1)
    # The element of another column's collection, in ``m['a'] = :c``.
    assert encoded("x", "UTF8Type", "value(m)") == b"x"
    registry.register_column("ks.t.same", COLOR)
    assert encoded(Color.RED, "UTF8Type", "c", "same") == b"red"
    # No value fits both.
    for cql_type, columns in (("Int32Type", ("[ttl]", "n")), ("UTF8Type", ("c", "d"))):
        with pytest.raises(EncodeTypeError, match=r":c stands for .*converted in the same way"):
            encoded(1, cql_type, *columns)


def test_markers_of_tuples_of_columns_are_converted(registry: CodecRegistry, plans: Any) -> None:
    """The values for `(c, n) > ?` are converted like values of the columns c and n.

    Servers describe the marker as a tuple with the name "(c,n)".
    """
    registry.register_column("ks.t.c", COLOR)
    markers = plans(
        column("TupleType(UTF8Type,Int32Type)", "(c,n)"),
        column("ListType(TupleType(Int32Type,UTF8Type))", "in(n,c)"),
        column("TupleType(UTF8Type,Int32Type)", "c"),
        # Cassandra 6
        column("ListType(TupleType(Int32Type,UTF8Type))", "in((n, c))"),
        column("UTF8Type", "(n, c)[1]"),
    )
    plain = markers.plain_bytes(("red", 1), [(2, "red")], ("x", 3), [(2, "red")], "red")
    registry.register_column("ks.t.c", COLOR)
    values = ((Color.RED, 1), [(2, Color.RED)], None, [(2, Color.RED)], Color.RED)
    encoded = markers.bind(*values)
    assert encoded[:2] == plain[:2]
    assert encoded[3:] == plain[3:]
    # An object of a registered class may be passed for the whole tuple.
    registry.register_class(frozenset, tuple)
    pair = plans(column("TupleType(Int32Type,Int32Type)", "(m,n)"))
    assert pair.bind(frozenset({7})) == pair.plain_bytes((7,))


def test_values_of_system_tables_are_not_converted(registry: CodecRegistry, plans: Any) -> None:
    """Converters of types are not used for system tables, which the driver reads itself."""
    registry.register_type("text", COLOR)
    registry.register_column("system.local.key", Converter(to_cql=None, from_cql=str.upper))
    for keyspace in ("system", "system_schema", "system_traces"):
        system = plans(column("UTF8Type", keyspace=keyspace))
        assert system.bind("x") == [b"x"]
        assert system.read("x") == ("x",)
    # A converter that was registered for a column of a system table by name is used.
    assert registry.converters is not None
    local = ResultMetadata([ColumnMetadata("system", "local", "key", UTF8Type)])
    assert is_converted(converting(local, registry.converters).columns[0].type)
    for keyspace in ("systematic", "system_data"):
        assert plans(column("UTF8Type", keyspace=keyspace)).read("red") == (Color.RED,)


def test_errors_name_column_type_and_value(registry: CodecRegistry, plans: Any) -> None:
    """The error of a failing converter names the column, its type and the value.

    This also holds if a converter returns a value that does not fit the type.
    """
    registry.register_type("text", COLOR)
    # This converter returns a string for an int column.
    registry.register_column("ks.t.n", Converter(to_cql=lambda value: "x"))
    markers = plans(column("ListType(UTF8Type)"), column("Int32Type", "n"))
    with pytest.raises(EncodeValueError, match=r'column "c" .*element 1 .*convert 5 \(int\) to te'):
        markers.bind([Color.RED, 5], None)
    with pytest.raises(ValueError, match=r'"n" \(int, .*converted from 7 \(int\): \'x\' \(str\)'):
        markers.bind(None, 7)
    with pytest.raises(DecodeError, match=r'row 0, column "c" .*Color cannot convert \'green\''):
        markers.read(["green"], None)
    registry.register_type("text", Converter(to_cql=lambda value: None))
    list_plans = plans(column("ListType(UTF8Type)"))
    with pytest.raises(EncodeValueError, match="a converter has to return a value of text"):
        list_plans.bind([Color.RED])


def test_metadata_without_applicable_converters_is_unchanged(registry: CodecRegistry) -> None:
    """`converting` must return the same object if no column has a converter, or else a copy.

    The copy stores the server's metadata (`native`), which `converting` returns if there are no
    converters.
    """
    metadata = ResultMetadata([column("UTF8Type")])
    registry.register_type("int", COLOR)
    assert converting(metadata, registry.converters) is metadata
    assert converting(metadata, converters=None) is metadata
    registry.register_type("text", COLOR)
    result = converting(metadata, registry.converters)
    assert result is not metadata
    assert result.native is metadata
    assert converting(result, registry.converters) is result
    assert converting(result, converters=None) is metadata


def test_converted_metadata_shows_the_server_s_types(registry: CodecRegistry) -> None:
    """Metadata with converters shows the server's types, and its copies keep the converters."""
    metadata = ResultMetadata([column("UTF8Type")], b"raw", is_global=True, metadata_id=b"id")
    registry.register_type("text", COLOR)
    result = converting(metadata, registry.converters)
    plan: Any = object()
    assert result.types == [UTF8Type]
    # Columns of a page, as for Arrow, are read without converters, so the plan is unchanged.
    assert list(result.page_columns) == list(metadata.columns)
    assert result.page_reader(plan) is plan
    assert result.columns_key != metadata.columns_key
    assert result.for_user_types(None) is result
    row_plan = result.row_plan
    with_other_id = result.with_id(b"other")
    assert with_other_id.metadata_id == b"other"
    assert with_other_id.row_plan is row_plan
    assert result.with_id(b"id") is result
    as_arrays = result.with_vectors("array")
    assert isinstance(as_arrays, converted.ConvertedMetadata)
    assert as_arrays.vectors == "array"
    assert as_arrays is result.with_vectors("array")
    # Converters may not be picklable, so a pickled copy has only the server's metadata.
    copy = pickle.loads(pickle.dumps(result))
    assert type(copy) is ResultMetadata
    assert copy.columns == metadata.columns


@pytest.mark.parametrize("registered_for", ["column", "type", "element type"])
def test_encrypted_columns_are_converted_after_decryption(
    implementation: Implementation, registry: CodecRegistry, registered_for: str
) -> None:
    """A value is converted, then encoded, then encrypted; reading reverses this order.

    For the server, the column is a blob. Errors do not show the value.
    """
    is_list = registered_for == "element type"
    policy = AES256ColumnEncryptionPolicy()
    key = bytes(32)
    policy.add_column(ColDesc("ks", "t", "c"), key, "list<text>" if is_list else "text")
    registry.register_class(Money, lambda money: money.currency)
    if registered_for == "column":
        registry.register_column("ks.t.c", COLOR)
    else:
        registry.register_type("text", COLOR)
    converters = registry.converters
    assert converters is not None
    server_columns = [column("BytesType")]
    value: Any = [Color.RED] if is_list else Color.RED
    columns = bound_columns(encrypted.bound_columns(server_columns, policy), converters)
    block = implementation.bind.BindPlan(columns).bind((value,), version=5)
    decrypted = policy.decrypt(ColDesc("ks", "t", "c"), block.values()[0])
    # The encoding of a list ends with its last element, so this check works for both types.
    assert decrypted.endswith(b"red")
    metadata = converting(encrypted.decrypting(ResultMetadata(server_columns), policy), converters)
    assert metadata.row_plan.tuples(block.data, offset=0, row_count=1) == [(value,)]
    # If metadata is decrypted again, the result is based on the server's types, and not on the
    # converted types.
    metadata_again = converting(encrypted.decrypting(metadata, policy), converters)
    assert metadata_again.row_plan.tuples(block.data, offset=0, row_count=1) == [(value,)]
    plan = implementation.bind.BindPlan(columns)
    with pytest.raises(ValueError, match="values of encrypted columns are not shown") as caught:
        plan.bind((["secret"] if is_list else "secret",), version=5)
    assert "secret" not in str(caught.value)


def test_values_of_in_are_converted_and_encrypted(
    implementation: Implementation, registry: CodecRegistry
) -> None:
    """Each element of the list for `c IN ?` is converted and encrypted separately."""
    policy = AES256ColumnEncryptionPolicy()
    column_description = ColDesc("ks", "t", "c")
    key = bytes(32)
    policy.add_column(column_description, key, "text")
    registry.register_column("ks.t.c", COLOR)
    assert registry.converters is not None
    markers = encrypted.bound_columns([column("ListType(BytesType)", "in(c)")], policy)
    columns = bound_columns(markers, registry.converters)
    (data,) = implementation.bind.BindPlan(columns).bind(([Color.RED],), version=5).values()
    (element,) = lookup_casstype("ListType(BytesType)").codec().decode(data)
    assert policy.decrypt(column_description, element) == b"red"
