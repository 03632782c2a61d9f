"""Test column specs, which describe the columns of responses: user-defined and custom types."""

from __future__ import annotations

import pickle
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra import cqltypes as t
from cassandra.cqltypes.base import _by_cassname
from cassandra.errors import ProtocolError
from cassandra.protocol.column_specs import (
    NO_COLUMNS,
    TYPE_CODES,
    ResultMetadata,
    read_columns,
    type_from,
)
from cassandra.protocol.opcodes import (
    RESULT_KIND_PREPARED,
    RESULT_KIND_ROWS,
    ROWS_GLOBAL_TABLES_SPEC,
    ROWS_HAS_MORE_PAGES,
    ROWS_NO_METADATA,
)
from cassandra.protocol.primitives import Cursor
from tests.processes import run_python
from tests.unit.protocol.messages.test_results import TABLE, result, rows
from tests.unit.protocol.wire import int32, short, string, value

# the column type ks.pair, a user-defined type with the fields x (int) and y (varchar)
UDT = (
    short(0x30)
    + string("ks")
    + string("pair")
    + short(2)
    + string("x")
    + short(9)
    + string("y")
    + short(13)
)


def test_responses_use_the_user_types_registered_when_they_arrive() -> None:
    """A response must be decoded with the classes that its session has registered for user types.

    This holds even if the metadata comes from another response, which was decoded with other
    classes.
    """

    class Pair:
        def __init__(self, x: Any, y: Any) -> None:
            self.x, self.y = x, y

    body = rows(
        ROWS_GLOBAL_TABLES_SPEC,
        specs=TABLE + string("p") + UDT,
        content=int32(1) + value(value(int32(1)) + value(b"one")),
        count=1,
    )
    user_types = {"ks": {"pair": Pair}}
    unmapped = result(body)
    assert unmapped.parsed_rows[0][0] == (1, "one")
    mapped = result(body, user_types=user_types, cached=unmapped.metadata)
    assert type(mapped.parsed_rows[0][0]) is Pair
    assert result(body, user_types=user_types, cached=mapped.metadata).metadata is mapped.metadata
    body_without_metadata = rows(
        ROWS_NO_METADATA,
        specs=b"",
        content=int32(1) + value(value(int32(1)) + value(b"one")),
        count=1,
    )
    without_metadata = result(
        body_without_metadata, 5, user_types=user_types, cached=unmapped.metadata
    )
    assert type(without_metadata.parsed_rows[0][0]) is Pair
    # The class is registered for one session only, so results of other sessions do not use it.
    assert type(result(body).parsed_rows[0][0]) is type(unmapped.parsed_rows[0][0])
    assert type(result(body, cached=mapped.metadata).parsed_rows[0][0]) is not Pair


# Custom types are names of server classes, in which the names of user types and their fields are
# hexadecimal.
MARSHAL = "org.apache.cassandra.db.marshal."
# The server's name of the type ks.pair (x int, y text). Names are written in hexadecimal.
PAIR_CLASS = (
    f"{MARSHAL}UserType(ks,{b'pair'.hex()},{b'x'.hex()}:{MARSHAL}Int32Type,"
    f"{b'y'.hex()}:{MARSHAL}UTF8Type)"
)


# This is the encoded pair (1, "one").
PAIR_VALUE = value(int32(1)) + value(b"one")


@pytest.mark.parametrize(
    ("type_name", "data", "pair_of"),
    [
        (PAIR_CLASS, PAIR_VALUE, lambda cell: cell),
        (
            f"{MARSHAL}VectorType({PAIR_CLASS} , 1)",
            bytes([len(PAIR_VALUE)]) + PAIR_VALUE,
            lambda cell: cell[0],
        ),
        (
            f"{MARSHAL}FrozenType({MARSHAL}ListType({PAIR_CLASS}))",
            int32(1) + value(PAIR_VALUE),
            lambda cell: cell[0],
        ),
        (
            f"{MARSHAL}TupleType({MARSHAL}Int32Type,{PAIR_CLASS})",
            value(None) + value(PAIR_VALUE),
            lambda cell: cell[1],
        ),
        (
            f"{MARSHAL}UserType(ks,{b'outer'.hex()},{b'p'.hex()}:{PAIR_CLASS})",
            value(PAIR_VALUE),
            lambda cell: cell.p,
        ),
    ],
)
def test_user_types_inside_a_custom_type_get_their_classes(
    type_name: str, data: bytes, pair_of: Any
) -> None:
    """A registered class must also be used for a user type within another type.

    The other type is a vector, list, tuple or user type.

    :param pair_of: returns the pair that a decoded value contains.
    """

    class Pair:
        def __init__(self, x: Any, y: Any) -> None:
            self.x, self.y = x, y

    body = rows(
        ROWS_GLOBAL_TABLES_SPEC,
        specs=TABLE + string("p") + short(0) + string(type_name),
        content=int32(1) + value(data),
        count=1,
    )
    user_types = {"ks": {"pair": Pair}}
    unmapped = result(body)
    assert pair_of(unmapped.parsed_rows[0][0]) == (1, "one")
    mapped = result(body, user_types=user_types, cached=unmapped.metadata)
    assert type(pair_of(mapped.parsed_rows[0][0])) is Pair
    assert (
        mapped.column_types[0].cql_parameterized_type()
        == unmapped.column_types[0].cql_parameterized_type()
    )
    assert result(body, user_types=user_types, cached=mapped.metadata).metadata is mapped.metadata
    # The class is registered for one session only, so results of other sessions do not use it.
    assert pair_of(result(body).parsed_rows[0][0]) == (1, "one")


@pytest.mark.parametrize(
    "name",
    [
        "ListType", "MapType", "VectorType", "FrozenType", "ReversedType",
        "VectorType(VectorType,2)", "ListType(SetType)",
        "UserType(ks,61,62:ListType)", "VectorType(UTF8Type,99999999999999999999)",
        "MapType(UTF8Type)", "(", "a(b",
    ],
)  # fmt: skip
def test_a_custom_type_without_its_parameters_is_an_error_of_the_message(name: str) -> None:
    """A custom type that lacks its parameters, such as ListType, raises ProtocolError.

    Without the parameters, neither rows nor a prepared statement can be decoded.
    """
    body = rows(
        ROWS_GLOBAL_TABLES_SPEC,
        specs=TABLE + string("c") + short(0) + string(name),
        content=int32(0),
        count=1,
    )
    with pytest.raises(ProtocolError, match="cannot be understood"):
        result(body)
    # Build the response to a PREPARE with one bind marker of the same type. After the id follow the
    # flags, the number of bind markers, and the number of partition key columns.
    prepared = (
        int32(RESULT_KIND_PREPARED)
        + short(1)
        + b"i"
        + int32(1)
        + int32(1)
        + int32(0)
        + TABLE
        + string("c")
        + short(0)
        + string(name)
    )
    with pytest.raises(ProtocolError, match="cannot be understood"):
        result(prepared)


def test_an_error_shows_the_beginning_of_a_long_type_name() -> None:
    """An error shows only the beginning of a long type name, here of 63,000 characters."""
    body = rows(
        ROWS_GLOBAL_TABLES_SPEC,
        specs=TABLE + string("c") + short(0) + string("ListType(" * 7000),
        content=int32(0),
        count=1,
    )
    with pytest.raises(ProtocolError, match=r"ListType\(\.*") as caught:
        result(body)
    assert len(str(caught.value)) < 1000


def test_every_type_code() -> None:
    """Each type code of the protocol is decoded to the type that the specification names."""
    name_by_code = {
        0x0001: "ascii", 0x0002: "bigint", 0x0003: "blob", 0x0004: "boolean", 0x0005: "counter",
        0x0006: "decimal",
        0x0007: "double", 0x0008: "float", 0x0009: "int", 0x000B: "timestamp", 0x000C: "uuid",
        0x000D: "varchar",
        0x000E: "varint", 0x000F: "timeuuid", 0x0010: "inet", 0x0011: "date", 0x0012: "time",
        0x0013: "smallint",
        0x0014: "tinyint", 0x0015: "duration",
    }  # fmt: skip
    # An option is the code of a type, followed by the options of its subtypes.
    name_by_composed_option = {
        short(0x20) + short(9): "list<int>",
        short(0x22) + short(0x20) + short(13): "set<list<varchar>>",
        short(0x21) + short(9) + short(13): "map<int, varchar>",
        short(0x31) + short(2) + short(9) + short(13): "tuple<int, varchar>",
        short(0) + string("org.apache.cassandra.db.marshal.Int32Type"): "int",
        short(0)
        + string(
            "org.apache.cassandra.db.marshal.VectorType(org.apache.cassandra.db.marshal.FloatType, "
            "3)"
        ): ("vector<float, 3>"),
    }
    name_by_option = {
        short(code): name for code, name in name_by_code.items()
    } | name_by_composed_option
    # The response has a column of each type, and no rows.
    specs = TABLE + b"".join(
        string(f"c{index}") + option_bytes for index, option_bytes in enumerate(name_by_option)
    )
    message = result(
        rows(ROWS_GLOBAL_TABLES_SPEC, specs=specs, content=int32(0), count=len(name_by_option))
    )

    def without_frozen(name: str) -> str:
        """Remove "frozen<", which only one of the names may have, and all closing brackets."""
        return name.replace("frozen<", "").replace(">", "")

    names = [column_type.cql_parameterized_type() for column_type in message.column_types]
    expected_names = name_by_option.values()
    assert list(map(without_frozen, names)) == list(map(without_frozen, expected_names))


# -- columns of a result, read from bytes ----------------------------------------------------------

INT_CODE, TEXT_CODE = short(9), short(13)
# These are the columns k (int) and v (varchar) of one table.
SPECS = TABLE + string("k") + INT_CODE + string("v") + TEXT_CODE


def columns_of(specs: bytes, count: int, **options: Any) -> Any:
    """Read the specs of `count` columns.

    :param options: options of `read_columns`. By default, `specs` begins with the table of all
        columns (`is_global`).
    """
    options = {"is_global": True, "user_types": None, **options}
    return read_columns(Cursor(specs), count, **options)


def rows_head(flags: int, count: int) -> bytes:
    """Return the beginning of a ROWS response, up to the number of columns."""
    return int32(RESULT_KIND_ROWS) + int32(flags) + int32(count)


def test_columns_with_one_table_or_with_a_table_each() -> None:
    """Column specs name the table once (`is_global`), or before each column if tables differ."""
    columns = columns_of(SPECS, 2)
    assert [column[:3] for column in columns] == [("ks", "t", "k"), ("ks", "t", "v")]
    assert columns.names == ("k", "v")
    assert [cqltype.typename for cqltype in columns.types] == ["int", "varchar"]
    assert len(columns) == 2
    assert columns[1].name == "v"
    assert columns.raw == SPECS
    assert repr(columns) == "<ResultMetadata of k, v>"
    of_other_table = string("ks") + string("u") + string("v") + TEXT_CODE
    columns = columns_of(TABLE + string("k") + INT_CODE + of_other_table, 2, is_global=False)
    assert [column[:3] for column in columns] == [("ks", "t", "k"), ("ks", "u", "v")]
    assert repr(NO_COLUMNS) == "<ResultMetadata of no columns>"


@pytest.mark.parametrize(
    ("type_spec", "type_name"),
    [
        (short(0x20) + INT_CODE, "list<int>"),
        (short(0x22) + INT_CODE, "set<int>"),
        (short(0x21) + INT_CODE + TEXT_CODE, "map<int, varchar>"),
        (short(0x31) + short(2) + INT_CODE + TEXT_CODE, "frozen<tuple<int, varchar>>"),
        (short(0x20) + short(0x20) + INT_CODE, "list<list<int>>"),
        (UDT, "frozen<pair>"),
    ],
)
def test_types_with_parameters(type_spec: bytes, type_name: str) -> None:
    """Collections, tuples and user types are read with the types of their elements."""
    columns = columns_of(TABLE + string("c") + type_spec, 1)
    assert columns[0].type.cql_parameterized_type() == type_name
    assert columns.has_user_types is (type_spec is UDT)


@pytest.mark.parametrize("codes", [None, TYPE_CODES])
def test_types_are_nested_to_a_limited_depth(codes: Any) -> None:
    """Types may be nested 64 deep; the limit applies to each column separately.

    :param codes: the application's type classes by code, or None.
    """

    def read_nested_lists(depth: int) -> Any:
        """Read two columns, each of which is a list of lists of ... of int, `depth` lists deep."""
        type_spec = short(0x20) * depth + INT_CODE
        specs = TABLE + string("c") + type_spec + string("d") + type_spec
        return columns_of(specs, 2, codes=codes)

    assert len(read_nested_lists(64)) == 2
    with pytest.raises(ProtocolError, match="nested more than 64 deep"):
        read_nested_lists(65)


@pytest.mark.parametrize("codes", [None, TYPE_CODES])
def test_an_unknown_type_is_an_error(codes: Any) -> None:
    """A type code that the driver does not know raises ProtocolError."""
    with pytest.raises(ProtocolError, match="a type of the unknown code 0x0999"):
        columns_of(TABLE + string("c") + short(0x999), 1, codes=codes)


@pytest.mark.parametrize("count", [-1, 5])
def test_an_impossible_number_of_columns_is_an_error(count: int) -> None:
    """A negative number of columns, or more columns than fit into the bytes, is refused.

    A column takes at least four bytes, so 19 bytes cannot contain five columns.
    """
    with pytest.raises(ProtocolError, match=f"{count} columns are to follow at offset 0"):
        columns_of(b"x" * 19, count)


def test_columns_and_fields_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """`limits.columns` limits the number of columns, and the fields of all user types together."""
    monkeypatch.setattr("cassandra.protocol.column_specs.limits", SimpleNamespace(columns=2))
    assert len(columns_of(SPECS, 2)) == 2
    with pytest.raises(ProtocolError, match=r"3 columns, more than limits\.columns \(2\)"):
        columns_of(SPECS + string("w") + INT_CODE, 3)
    # One column of a type with two fields is allowed, but two such columns are not.
    assert len(columns_of(TABLE + string("c") + UDT, 1)) == 1
    with pytest.raises(ProtocolError, match=r"more fields than limits\.columns \(2\)"):
        columns_of(TABLE + string("c") + UDT + string("d") + UDT, 2)


def test_a_type_of_more_fields_than_bytes_is_an_error() -> None:
    """A tuple type with more fields than the rest of the message can contain is refused."""
    with pytest.raises(ProtocolError, match="a type of 2 fields is longer than the message"):
        columns_of(TABLE + string("c") + short(0x31) + short(2) + b"\0\0\0", 1)


def test_the_types_of_an_application_replace_those_of_the_driver() -> None:
    """`codes` replaces the classes of types by code, also for the elements of collections."""

    class Number(t.Int32Type):
        pass

    class Numbers(t.ListType):
        pass

    # 9 is the code of int, and 0x20 the code of list.
    codes = {**TYPE_CODES, 9: Number, 0x20: Numbers}
    specs = TABLE + string("k") + INT_CODE + string("l") + short(0x20) + INT_CODE
    columns = columns_of(specs + string("v") + TEXT_CODE, 3, codes=codes)
    assert columns[0].type is Number
    assert issubclass(columns[1].type, Numbers)
    assert columns[1].type.subtypes == (Number,)
    assert columns[2].type is t.VarcharType
    assert type_from(Cursor(INT_CODE), user_types=None, codes=codes) is Number


def test_classes_with_the_names_of_stock_types_only_replace_custom_types(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As in cassandra-driver, only the classes of custom types are looked up by name.

    An application may define a class `Int32Type`, for the `type_codes` of its protocol handler. The
    driver reads other results without it, for example those of the system tables.
    """

    class Int32Type(t.Int32Type):
        _registered = False

    for name in ("Int32Type", "VarcharType", "ListType", "SetType", "MapType", "TupleType"):
        monkeypatch.setitem(_by_cassname, name, Int32Type)
    options = [
        INT_CODE,
        TEXT_CODE,
        short(0x20) + INT_CODE,
        short(0x22) + INT_CODE,
        short(0x21) + INT_CODE + TEXT_CODE,
        short(0x31) + short(1) + INT_CODE,
        short(0) + string("org.apache.cassandra.db.marshal.FrozenType(Int32Type)"),
    ]
    specs = TABLE + b"".join(string("c") + option for option in options)
    expected = [
        t.Int32Type,
        t.VarcharType,
        t.ListType.apply_parameters((t.Int32Type,)),
        t.SetType.apply_parameters((t.Int32Type,)),
        t.MapType.apply_parameters((t.Int32Type, t.VarcharType)),
        t.TupleType.apply_parameters((t.Int32Type,)),
        t.FrozenType.apply_parameters((Int32Type,)),
    ]
    for codes in ({}, {"codes": dict(TYPE_CODES)}):
        columns = columns_of(specs, len(options), **codes)
        assert [column.type for column in columns] == expected


def test_classes_of_an_application_may_be_defined_before_the_protocol_is_imported() -> None:
    """A class with the name of a driver's class is defined before the driver reads any type."""
    completed = run_python(
        "import cassandra.cqltypes as t\n"
        "class Int32Type(t.Int32Type): pass\n"
        "class ListType(t.ListType): pass\n"
        "from cassandra.protocol.column_specs import TYPE_CODES, type_from\n"
        "from cassandra.protocol.primitives import Cursor\n"
        "assert TYPE_CODES[9] is t.Int32Type\n"
        "assert TYPE_CODES[0x20] is t.ListType\n"
        "read = type_from(Cursor(bytes([0, 0x20, 0, 9])), None, TYPE_CODES)\n"
        "assert read.__base__ is t.ListType\n"
        "assert read.subtypes == (t.Int32Type,)\n"
    )
    assert completed.returncode == 0, completed.stderr


def test_rows_with_the_same_columns_are_recognised() -> None:
    """`rows_at` returns the position of the rows if a response has the same columns.

    A response without columns counts as a response with the same columns. `rows_at` returns 0 if
    the response has other columns, or a paging state.
    """
    columns = columns_of(SPECS, 2)
    head = rows_head(ROWS_GLOBAL_TABLES_SPEC, 2) + SPECS
    assert columns.rows_at(b"xx" + head + b"rows", pos=2, user_types=None) == 2 + len(head)
    # A server may set both flags if it sends no columns.
    for flags in (ROWS_NO_METADATA, ROWS_NO_METADATA | ROWS_GLOBAL_TABLES_SPEC):
        head_without_columns = rows_head(flags, 2)
        response = b"xx" + head_without_columns + b"rows"
        assert columns.rows_at(response, pos=2, user_types=None) == 2 + len(head_without_columns)
    for other in (
        rows_head(ROWS_GLOBAL_TABLES_SPEC, 1) + SPECS,
        rows_head(ROWS_GLOBAL_TABLES_SPEC | ROWS_HAS_MORE_PAGES, 2) + SPECS,
        rows_head(ROWS_NO_METADATA, 1),
        rows_head(ROWS_NO_METADATA | ROWS_HAS_MORE_PAGES, 2),
        head[:-1],
    ):
        assert columns.rows_at(other, pos=0, user_types=None) == 0
    # Flags of 0 mean that each column has its own table.
    with_own_table = columns_of(TABLE + string("k") + INT_CODE, 1, is_global=False)
    response = rows_head(flags=0, count=1) + with_own_table.raw
    assert with_own_table.rows_at(response, pos=0, user_types=None) == len(response)


def test_the_same_specs_are_recognised() -> None:
    """`same_specs` must compare the bytes of the specs, `is_global` and the number of columns.

    It ignores `user_types` here, because no column has a user-defined type. The next test checks
    columns with such types.
    """
    columns = columns_of(SPECS, 2)
    assert columns.same_specs(b"x" + SPECS, pos=1, is_global=True, count=2, user_types=None)
    assert not columns.same_specs(b"x" + SPECS, pos=0, is_global=True, count=2, user_types=None)
    assert not columns.same_specs(SPECS, pos=0, is_global=False, count=2, user_types=None)
    assert not columns.same_specs(SPECS, pos=0, is_global=True, count=3, user_types=None)
    # Metadata that an application has created has no bytes, so `same_specs` always returns False.
    assert not ResultMetadata(columns.columns).same_specs(
        SPECS, pos=0, is_global=True, count=2, user_types=None
    )


def test_columns_with_user_types_belong_to_the_registered_classes() -> None:
    """Cached columns with user types are reused only with the same `user_types` object.

    For another object, `for_user_types` returns a copy whose types have the other classes.
    """
    user_types = {"ks": {"pair": dict}}
    specs = TABLE + string("p") + UDT
    columns = columns_of(specs, 1, user_types=user_types)
    assert columns[0].type.mapped_class is dict
    head = rows_head(ROWS_GLOBAL_TABLES_SPEC, 1) + specs
    assert columns.rows_at(head, 0, user_types) == len(head)
    # A copy of the dict is another object, although it is equal.
    assert columns.rows_at(head, 0, {**user_types}) == 0
    assert columns.same_specs(specs, pos=0, is_global=True, count=1, user_types=user_types)
    assert not columns.same_specs(specs, pos=0, is_global=True, count=1, user_types={**user_types})
    assert columns.for_user_types(user_types) is columns
    without_class = columns.for_user_types({})
    assert without_class[0].type.mapped_class is None
    assert without_class.raw == columns.raw
    assert without_class.metadata_id == columns.metadata_id
    # Columns without user types, and columns that an application has created, are returned
    # unchanged.
    without_user_types = columns_of(SPECS, 2)
    assert without_user_types.for_user_types(user_types) is without_user_types
    of_application = ResultMetadata(columns.columns, has_user_types=True)
    assert of_application.for_user_types(user_types) is of_application


def test_equal_columns_have_equal_keys() -> None:
    """`columns_key` is the bytes of the columns, or names and types if there are no bytes.

    If a user type has different classes, the keys differ, although the bytes are equal.
    """
    columns = columns_of(SPECS, 2)
    assert columns.columns_key == SPECS
    assert columns_of(SPECS, 2).columns_key == columns.columns_key
    of_application = ResultMetadata(columns.columns)
    assert of_application.columns_key == tuple((column.name, column.type) for column in columns)
    specs = TABLE + string("p") + UDT
    with_dict = columns_of(specs, 1, user_types={"ks": {"pair": dict}})
    without_class = columns_of(specs, 1, user_types={"ks": {"pair": None}})
    assert with_dict.raw == without_class.raw
    assert with_dict.columns_key != without_class.columns_key


def test_another_metadata_id_shares_the_plans() -> None:
    """`with_id` returns a copy with another metadata id, which shares the decoders."""
    columns = columns_of(SPECS, 2, metadata_id=b"1")
    assert columns.with_id(b"1") is columns
    plan = columns.row_plan
    assert columns.row_plan is plan
    copy = columns.with_id(b"2")
    assert copy.metadata_id == b"2"
    assert copy.raw == SPECS
    assert copy.names == ("k", "v")
    assert copy.row_plan is plan
    assert copy.column_plans is columns.column_plans


def test_vectors_of_rows_have_the_requested_class() -> None:
    """`with_vectors` must return a cached copy whose vectors are decoded to another class.

    Copies of this copy, also through pickle, keep the class.
    """
    vector = "org.apache.cassandra.db.marshal.VectorType(FloatType, 2)"
    columns = columns_of(TABLE + string("v") + short(0) + string(vector), 1, metadata_id=b"1")
    assert columns.vectors == "list"
    assert columns.with_vectors("list") is columns
    with_arrays = columns.with_vectors("array")
    assert with_arrays.vectors == "array"
    assert columns.with_vectors("array") is with_arrays
    assert with_arrays.raw == columns.raw
    assert with_arrays.metadata_id == b"1"
    assert with_arrays.row_plan is not columns.row_plan
    # A vector of two floats takes eight bytes.
    assert type(with_arrays.codecs[0].decode(bytes(8))).__name__ == "array"
    assert with_arrays.with_id(b"2").vectors == "array"
    copy = pickle.loads(pickle.dumps(with_arrays))
    assert copy.names == with_arrays.names
    assert copy.raw == columns.raw
    assert copy.metadata_id == b"1"
    assert copy.vectors == "array"
