"""Test the missing values of other libraries: NumPy's masked values, NaT and pandas' NA.

Missing values are bound as null, or refused where null is not allowed.
"""

from __future__ import annotations

import struct
import typing
from typing import Any

import numpy
import pandas
import pytest

from cassandra import cqltypes as t
from cassandra.cqltypes.failures import EncodeTypeError
from cassandra.encoder import Encoder
from cassandra.protocol.column_specs import ColumnMetadata
from cassandra.query import BatchStatement, PreparedStatement
from cassandra.query.tables.rows import rows_of
from cassandra.sentinels import UNSET_VALUE
from tests.conftest import Implementation
from tests.unit.cqltypes.samples import list_of, map_of, set_of, tuple_of, vector_of


class Pairs(dict[Any, Any]):
    """A mapping whose keys need not be hashable, because NumPy's masked values are not."""

    def __init__(self, pairs: list[tuple[Any, Any]]) -> None:
        super().__init__()
        self.pairs = pairs

    def __len__(self) -> int:
        return len(self.pairs)

    def keys(self) -> Any:
        return [key for key, _ in self.pairs]

    def values(self) -> Any:
        return [value for _, value in self.pairs]

    def items(self) -> Any:
        return self.pairs


NULL = b"\xff\xff\xff\xff"
# The values by which NumPy and pandas mark a missing value.
MISSING = [numpy.ma.masked, pandas.NaT, pandas.NA, numpy.ma.array(5, mask=True)]
ITEM = t.UserType.make_udt_class("k", "item", ["a", "b"], [t.DoubleType, t.UTF8Type])
SCALARS: list[Any] = [
    t.Int32Type, t.LongType, t.FloatType, t.DoubleType, t.UTF8Type, t.BytesType, t.DateType,
    t.SimpleDateType, t.TimeType, t.UUIDType,
    t.BooleanType, t.DecimalType, t.IntegerType, t.InetAddressType, t.DurationType,
    list_of(t.Int32Type), ITEM,
    vector_of(t.FloatType, 3), map_of(t.UTF8Type, t.Int32Type), tuple_of(t.Int32Type),
]  # fmt: skip


def frozen(cqltype: Any) -> Any:
    return t.FrozenType.apply_parameters([cqltype])


def plan(implementation: Implementation, *types: Any) -> Any:
    """Return a bind plan for columns of these types, which are named c0, c1 and so on."""
    return implementation.bind.BindPlan(
        [ColumnMetadata("k", "t", f"c{index}", cqltype) for index, cqltype in enumerate(types)]
    )


def encode(implementation: Implementation, cqltype: Any, value: Any) -> bytes:
    """Encode a value with a codec of the type, outside of a statement."""
    data: bytes = cqltype.build_codec(implementation.codecs).encode(value)
    return data


@pytest.mark.parametrize("value", MISSING, ids=repr)
@pytest.mark.parametrize(
    "cqltype", SCALARS, ids=lambda cqltype: str(cqltype.cql_parameterized_type())
)
def test_missing_values_are_bound_as_null(
    implementation: Implementation, cqltype: Any, value: Any
) -> None:
    """A missing value is bound as null: in a sequence, in a mapping, and in many rows."""
    bind_plan = plan(implementation, cqltype, t.Int32Type)
    expected = [None, b"\0\0\0\1"]
    assert bind_plan.bind([value, 1], 4).values() == expected
    assert bind_plan.bind_row({"c0": value, "c1": 1}, 4).values() == expected
    rows = bind_plan.bind_many([(value, 1), [value, 1]], 4).rows()
    assert [row.values() for row in rows] == [expected, expected]


@pytest.mark.parametrize("value", MISSING, ids=repr)
@pytest.mark.parametrize(
    "cqltype", [t.DoubleType, t.DateType, t.UTF8Type, t.Int32Type, t.BytesType, t.SimpleDateType]
)
def test_missing_values_inside_collections_are_null(
    implementation: Implementation, cqltype: Any, value: Any
) -> None:
    """A missing element, key or field within a collection is encoded as null."""

    def encoded(container_type: Any, container: Any) -> bytes:
        return encode(implementation, container_type, container)

    # A collection begins with its number of elements.
    one_null = b"\0\0\0\1" + NULL
    assert encoded(list_of(cqltype), [value]) == one_null
    assert encoded(list_of(cqltype), (None, value, value)) == b"\0\0\0\3" + NULL * 3
    assert encoded(set_of(cqltype), [value]) == one_null
    assert encoded(map_of(cqltype, cqltype), Pairs([(value, None)])) == b"\0\0\0\1" + NULL * 2
    # The key 1 has four bytes.
    assert encoded(map_of(t.Int32Type, cqltype), {1: value}) == struct.pack(">iii", 1, 4, 1) + NULL
    assert encoded(map_of(t.Int32Type, list_of(cqltype)), {1: [value]}).endswith(one_null)
    assert encoded(tuple_of(cqltype, cqltype), (value, None)) == NULL * 2
    assert encoded(ITEM, {"a": value, "b": value}) == NULL * 2


@pytest.mark.parametrize("value", MISSING, ids=repr)
@pytest.mark.parametrize("cqltype", [t.DoubleType, t.DateType, t.Int32Type, t.SimpleDateType])
def test_missing_values_inside_vectors_are_refused(
    implementation: Implementation, cqltype: Any, value: Any
) -> None:
    """A missing element of a vector raises a TypeError that names its position."""
    with pytest.raises(TypeError, match=r"^element 1 of vector<.*null is not allowed in a vector"):
        encode(implementation, vector_of(cqltype, 2), [1, value])
    with pytest.raises(TypeError, match=r"^element 1 of vector<.*null is not allowed in a vector"):
        encode(implementation, vector_of(t.UTF8Type, 2), ["x", value])


@pytest.mark.parametrize("value", MISSING, ids=repr)
@pytest.mark.parametrize("dimension", [2, 100_000])
@pytest.mark.parametrize("cqltype", [t.FloatType, t.UTF8Type])
def test_missing_values_in_the_place_of_vectors_are_named(
    implementation: Implementation, cqltype: Any, dimension: int, value: Any
) -> None:
    """Outside of a statement, a missing value has no encoding, and the error says which value."""
    kind = type(value).__name__
    message = rf"\({kind}\) is not a collection of elements for vector<.*>: it stands for null$"
    with pytest.raises(TypeError, match=message):
        encode(implementation, vector_of(cqltype, dimension), value)


def test_an_array_of_masked_elements_in_the_place_of_a_vector_is_named(
    implementation: Implementation,
) -> None:
    """An array whose elements are all masked has no encoding as a vector either."""
    array = numpy.ma.array(numpy.zeros(3, "f4"), mask=True)
    for cqltype in (t.FloatType, t.UTF8Type):
        with pytest.raises(TypeError, match=r"\(MaskedArray\) is not .*: it stands for null$"):
            encode(implementation, vector_of(cqltype, 3), array)


@pytest.mark.parametrize("value", MISSING, ids=repr)
@pytest.mark.parametrize("cqltype", [t.ByteType, t.ShortType, t.Int32Type, t.LongType])
def test_missing_values_in_the_place_of_integers_are_named(
    implementation: Implementation, cqltype: Any, value: Any
) -> None:
    """The error for a missing value says that it stands for null."""
    with pytest.raises(TypeError, match=r"is not an integer: it stands for null$"):
        encode(implementation, cqltype, value)


# Encoded elements of collections in hexadecimal. Each element has its length (4 bytes) and the
# value, which is the int 1 or the text "a".
ONE, KEY = "0000000400000001", "0000000161"
# Each tuple has a type, a value, and the value's encoding in hexadecimal, which begins with the
# number of elements.
WITH_NULLS: list[tuple[Any, Any, str]] = [
    (list_of(t.Int32Type), [1, None], "00000002" + ONE + "ffffffff"),
    (list_of(t.Int32Type), (None, 1), "00000002ffffffff" + ONE),
    (list_of(t.UTF8Type), [None, "a", None], "00000003ffffffff" + KEY + "ffffffff"),
    (list_of(t.UUIDType), [None], "00000001ffffffff"),
    (set_of(t.Int32Type), [1, None], "00000002" + ONE + "ffffffff"),
    (set_of(t.UTF8Type), {None}, "00000001ffffffff"),
    (map_of(t.UTF8Type, t.Int32Type), {"a": None}, "00000001" + KEY + "ffffffff"),
    (map_of(t.UTF8Type, t.Int32Type), {None: 1}, "00000001ffffffff" + ONE),
    (map_of(t.UTF8Type, t.Int32Type), {None: None}, "00000001ffffffffffffffff"),
    (list_of(list_of(t.Int32Type)), [None, []], "00000002ffffffff0000000400000000"),
    (
        list_of(frozen(map_of(t.UTF8Type, frozen(list_of(t.Int32Type))))),
        [{"a": [1, None]}, {"a": None}, None, {}],
        "00000004"
        + ("0000001d00000001" + KEY + "0000001000000002" + ONE + "ffffffff")
        + ("0000000d00000001" + KEY + "ffffffff")
        + "ffffffff"
        + "0000000400000000",
    ),
    (tuple_of(list_of(t.Int32Type)), ([None],), "0000000800000001ffffffff"),
    (vector_of(list_of(t.Int32Type), 1), [[None]], "0800000001ffffffff"),
]


@pytest.mark.parametrize(("cqltype", "value", "data"), WITH_NULLS, ids=lambda part: str(part)[:40])
def test_nulls_inside_collections_are_encoded_and_decoded(
    implementation: Implementation, cqltype: Any, value: Any, data: str
) -> None:
    """Codecs, bind plans of each protocol version, and class methods encode nulls alike."""
    expected = bytes.fromhex(data)
    codec = cqltype.build_codec(implementation.codecs)
    assert codec.encode(value) == expected
    assert codec.encode(codec.decode(expected)) == expected
    for version in (3, 4, 5):
        assert plan(implementation, cqltype).bind([value], version).values() == [expected]
        assert plan(implementation, cqltype).bind_row({"c0": value}, version).values() == [expected]
        assert cqltype.serialize(value, version) == cqltype.to_binary(value, version) == expected


def test_an_unset_value_inside_a_collection_is_refused(implementation: Implementation) -> None:
    """UNSET_VALUE within a collection raises an EncodeTypeError that names its position."""
    for cqltype, collection in (
        (list_of(t.Int32Type), [UNSET_VALUE]),
        (set_of(t.UTF8Type), [UNSET_VALUE]),
        (map_of(t.UTF8Type, t.Int32Type), {"a": UNSET_VALUE}),
    ):
        with pytest.raises(EncodeTypeError, match=r'^column "c0" .* 0 of '):
            plan(implementation, cqltype).bind([collection], 4)


def test_nan_is_a_number(implementation: Implementation) -> None:
    """NaN within a collection is encoded as a number, not as null.

    A list of one double has 4 bytes for its count, 4 bytes for the length, and 8 bytes for the
    number.
    """
    nan = float("nan")
    for elements in ([nan], (nan,), numpy.array([nan]), numpy.array([nan], "f4")):
        assert len(encode(implementation, list_of(t.DoubleType), elements)) == 4 + 4 + 8
    body = encode(implementation, map_of(t.FloatType, t.FloatType), {nan: nan})
    assert len(body) == 4 + 2 * (4 + 4)


@pytest.mark.parametrize("name", ["serialize", "to_binary"])
@pytest.mark.parametrize(
    "cqltype", SCALARS, ids=lambda cqltype: str(cqltype.cql_parameterized_type())
)
def test_class_methods_refuse_missing_values(
    implementation: Implementation, cqltype: Any, name: str
) -> None:
    """The class methods `serialize` and `to_binary` refuse missing values.

    The test also calls these methods of `TypeCalls`, because a class may have replaced its own
    methods by them.
    """
    calls = implementation.codecs.TypeCalls(
        cqltype, cqltype.build_codec(implementation.codecs), False, None
    )
    for value in (*MISSING, numpy.ma.array(5.0, mask=True), numpy.ma.array("5", mask=True)):
        for method in (getattr(calls, name), getattr(cqltype, name)):
            with pytest.raises(EncodeTypeError):
                method(value, 4)


@pytest.mark.parametrize("source", ["i1", "i4", "i8", "f2", "f4", "f8", ">f4", "O"])
@pytest.mark.parametrize("cqltype", [t.FloatType, t.DoubleType, t.Int32Type, t.LongType])
def test_masked_elements_are_null(
    implementation: Implementation, cqltype: Any, source: str
) -> None:
    """Masked elements of an array are null in lists, sets and tuples, and refused in vectors.

    Arrays of floats are refused for integer types, whatever the mask.

    :param source: NumPy's type of the array's numbers.
    """
    values = numpy.array([7, 2, 7], "i4").astype(source)
    array = numpy.ma.array(values, mask=[True, False, True])
    if values.dtype.kind == "f" and cqltype in (t.Int32Type, t.LongType):
        for container in (list_of(cqltype), set_of(cqltype), tuple_of(cqltype, cqltype, cqltype)):
            with pytest.raises(TypeError, match=r"^(element|item) 1 of .*is not an integer$"):
                container.build_codec(implementation.codecs).encode(array)
        return
    for container in (
        list_of(cqltype),
        set_of(cqltype),
        tuple_of(cqltype, cqltype, cqltype),
    ):
        codec = container.build_codec(implementation.codecs)
        assert codec.encode(array) == codec.encode([None, 2, None])
    nested_array = numpy.ma.array([values, values], mask=[[True, False, False], [False] * 3])
    nested_codec = list_of(list_of(cqltype)).build_codec(implementation.codecs)
    assert nested_codec.encode(nested_array) == nested_codec.encode([[None, 2, 7], [7, 2, 7]])

    vector_codec = vector_of(cqltype, 3).build_codec(implementation.codecs)
    message = r"element 0 of vector<.*, 3>: null is not allowed in a vector"
    with pytest.raises(TypeError, match=f"^{message}"):
        vector_codec.encode(array)
    with pytest.raises(TypeError, match=f'^column "c0" .*{message}'):
        plan(implementation, vector_of(cqltype, 3)).bind([array], 4)
    unmasked = numpy.ma.array(values)
    assert vector_codec.encode(unmasked) == vector_codec.encode([7, 2, 7])


def test_a_vector_with_all_elements_masked_is_null(implementation: Implementation) -> None:
    """A vector whose elements are all masked is bound as null.

    The vector may be a row of an array, an element of a list, or a field of a record array.
    """
    zeros = bytes(12)  # an encoded vector of three floats
    array = numpy.ma.array(numpy.zeros((2, 3), "f4"), mask=[[True] * 3, [False] * 3])
    bind_plan = plan(implementation, vector_of(t.FloatType, 3))
    rows = bind_plan.bind_many([(array[0],), (array[1],)], 4).rows()
    assert [row.values() for row in rows] == [[None], [zeros]]
    list_body = encode(implementation, list_of(vector_of(t.FloatType, 3)), array)
    assert list_body.startswith(b"\0\0\0\2" + NULL)
    columns = [ColumnMetadata("k", "t", "v", vector_of(t.FloatType, 3))]
    # In this array of records, the first vector is masked.
    table: Any = numpy.ma.zeros(2, dtype=[("v", "f4", 3)])
    table.mask["v"][0] = True
    records = [tuple(record) for record in rows_of(table, columns)]
    rows = bind_plan.bind_many(records, 4).rows()
    assert [row.values() for row in rows] == [[None], [zeros]]


def test_results_of_to_numpy_can_be_bound_again(implementation: Implementation) -> None:
    """The result of `to_numpy` can be bound again, and its masked fields are null.

    The result is a masked array of records. Its rows can be bound at once, or added to a batch.
    """
    cql_types = (t.Int32Type, t.DoubleType, t.DateType, t.SimpleDateType, t.TimeType)
    columns = [
        ColumnMetadata("k", "t", name, cqltype)
        for name, cqltype in zip("abcde", cql_types, strict=True)
    ]
    dtype = [("a", "i4"), ("b", "f8"), ("c", "M8[ms]"), ("d", "M8[D]"), ("e", "m8[ns]")]
    table: Any = numpy.ma.zeros(2, dtype=dtype)
    # Mask all fields of the second record.
    for name in table.dtype.names:
        table.mask[name][1] = True
    rows = implementation.bind.BindPlan(columns).bind_many(rows_of(table, columns), 4).rows()
    assert rows[1].values() == [None] * 5
    assert None not in rows[0].values()
    statement = PreparedStatement(columns, b"id", None, "INSERT", "k", 4, None, None)
    # Add the whole table, and a selection of its fields, to the batch.
    batch = (
        BatchStatement()
        .add_many(statement, table)
        .add_many(statement, table[["a", "b", "c", "d", "e"]])
    )
    entries: list[Any] = list(batch.entries)
    assert [entry.values for entry in entries] == [rows[0].values(), [None] * 5] * 2


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (numpy.array([object(), "x"], object), "references to objects"),
        (memoryview(typing.cast(Any, numpy.array([None], object))), "references to objects"),
        (numpy.zeros(2, dtype=[("O", "i4"), ("b", "O")]), "references to objects"),
        (memoryview(typing.cast(Any, numpy.zeros((2, 2), "u1"))), "2 dimensions"),
        (numpy.zeros((2, 2), "u1"), "2 dimensions"),
        (numpy.ma.array([1, 2], "u1", mask=[True, False]), "masked"),
    ],
)
def test_arrays_that_are_not_bytes_are_refused_for_a_blob(
    implementation: Implementation, value: Any, message: str
) -> None:
    """Arrays that are not just bytes, or have several dimensions, are refused as blobs."""
    with pytest.raises(TypeError, match=message):
        encode(implementation, t.BytesType, value)
    with pytest.raises(TypeError, match=rf'(?s)^column "c0" \(blob, \w+\): .*{message}'):
        plan(implementation, t.BytesType).bind([value], 4)


def test_field_names_of_an_array_are_not_taken_for_formats(implementation: Implementation) -> None:
    """An array of records with the fields OX and P, which has only bytes, is accepted as a blob.

    In a buffer's format, the letters "O" and "P" would denote objects and pointers.
    """
    records = numpy.zeros(1, dtype=[("OX", "u1"), ("P", "u1")])
    assert encode(implementation, t.BytesType, records) == b"\0\0"


@pytest.mark.parametrize("cqltype", [t.FloatType, t.Int32Type, t.UTF8Type])
@pytest.mark.parametrize("shape", [(2, 2), ()])
def test_a_memoryview_without_one_dimension_is_refused_as_collection(
    implementation: Implementation, cqltype: Any, shape: Any
) -> None:
    """A memoryview with two dimensions or none is refused as a collection.

    The error says how many dimensions the memoryview has.
    """
    array: Any = numpy.zeros(shape, "f4")
    view = memoryview(array)
    message = f"is not a collection of elements for .*{len(shape)} dimensions"
    for container in (vector_of(cqltype, 2), list_of(cqltype), vector_of(vector_of(cqltype, 2), 2)):
        with pytest.raises(TypeError, match=message):
            encode(implementation, container, view)


def test_the_literal_of_a_missing_value_is_null() -> None:
    """The CQL literal of a missing value is NULL."""
    encoder = Encoder()
    for value in (numpy.ma.masked, pandas.NaT, pandas.NA):
        assert encoder.cql_encode_all_types(value) == "NULL"
    assert encoder.cql_encode_all_types([pandas.NA, 1]) == "[NULL, 1]"


def test_a_class_that_is_only_named_like_pandas_na_is_a_value(
    implementation: Implementation,
) -> None:
    """A value of a class with the name NAType is not null, unless it is pandas.NA."""

    class NAType:
        def __index__(self) -> int:
            return 3

    assert plan(implementation, t.Int32Type).bind([NAType()], 4).values() == [b"\0\0\0\3"]


def test_nat_is_null_for_a_type_with_fields_named_like_its_attributes(
    implementation: Implementation,
) -> None:
    """NaT is null, also for a user-defined type with the fields year and month.

    NaT has attributes with these names, but must not be encoded as an object with these fields.
    """
    day = t.UserType.make_udt_class("k", "day", ["year", "month"], [t.DoubleType, t.DoubleType])
    assert plan(implementation, day).bind([pandas.NaT], 4).values() == [None]
    assert encode(implementation, list_of(day), [pandas.NaT]) == b"\0\0\0\1" + NULL


class ReprType(t.UTF8Type):
    """An application's type class that encodes any value."""

    @classmethod
    def serialize(cls, val: Any, protocol_version: int) -> bytes:
        return repr(val).encode()


@pytest.mark.parametrize("value", MISSING, ids=repr)
def test_missing_values_are_null_for_an_application_s_type(
    implementation: Implementation, value: Any
) -> None:
    """A missing value is null, although the application's type class could encode it."""
    assert plan(implementation, ReprType).bind([value], 4).values() == [None]
    assert encode(implementation, list_of(ReprType), [value]) == b"\0\0\0\1" + NULL


@pytest.mark.parametrize(
    "cqltype", SCALARS, ids=lambda cqltype: str(cqltype.cql_parameterized_type())
)
@pytest.mark.filterwarnings("error")
def test_codecs_refuse_missing_values(implementation: Implementation, cqltype: Any) -> None:
    """Codecs refuse missing values without a warning."""
    for value in MISSING[:3]:
        with pytest.raises((TypeError, ValueError)):
            encode(implementation, cqltype, value)
