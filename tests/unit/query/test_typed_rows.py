"""Test `typed_rows`, which makes instances of an application's classes from rows.

The tests use both the compiled and the pure Python version of the row plan.
"""

from __future__ import annotations

import array
import datetime
import decimal
import enum
import gc
import ipaddress
import re
import struct
import typing
import uuid
import weakref
from collections.abc import (
    Container,
    Hashable,
    Mapping,
    MutableMapping,
    MutableSequence,
    MutableSet,
    Reversible,
    Sequence,
    Set as AbstractSet,
    Sized,
)
from dataclasses import InitVar, dataclass, field, make_dataclass
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    NamedTuple,
    NewType,
    Optional,
    Protocol,
    TypedDict,
)

import pytest

from cassandra.codecs import CodecRegistry, Converter
from cassandra.column_encryption.policies import AES256ColumnEncryptionPolicy
from cassandra.cqltypes import BytesType, Int32Type
from cassandra.cqltypes.parse import lookup_casstype
from cassandra.policies import ColDesc
from cassandra.protocol.column_specs import ColumnMetadata, ResultMetadata
from cassandra.protocol.converted import converting
from cassandra.protocol.encrypted import decrypting
from cassandra.protocol.handler import LazyResultMessage
from cassandra.protocol.messages.results import rows_result
from cassandra.protocol.opcodes import RESULT_KIND_ROWS
from cassandra.query.typed_rows import typed_rows
from cassandra.util import Date, Duration, OrderedMap, Time
from tests.conftest import Implementation
from tests.unit.protocol.messages.test_results import TABLE, result as read_result, rows
from tests.unit.protocol.wire import int32, short, string, value

Column = tuple[str, str, Any]  # the column's name, the name of its type, and its value


def result(
    columns: list[Column], row_count: int = 1, implementation: Implementation | None = None
) -> Any:
    """Return a result message with `row_count` equal rows of these columns.

    :param columns: the name, the type and the value of each column.
    """
    types = [lookup_casstype(type_name) for _, type_name, _ in columns]
    metadata = ResultMetadata(
        [
            ColumnMetadata("ks", "t", name, type_name)
            for (name, _, _), type_name in zip(columns, types, strict=True)
        ]
    )
    # Let the row plan of the version under test decode the rows.
    if implementation is not None:
        metadata._row_plan = implementation.rows.RowPlan(
            metadata.names, [type_name.codec() for type_name in types]
        )
    cells = [
        None if value is None else type_name.codec().encode(value)
        for (_, _, value), type_name in zip(columns, types, strict=True)
    ]
    row = b"".join(
        struct.pack(">i", -1) if cell is None else struct.pack(">i", len(cell)) + cell
        for cell in cells
    )
    return rows_result(metadata, struct.pack(">i", row_count) + row * row_count, 0)


USER = [("id", "Int32Type", 7), ("name", "UTF8Type", "ada"), ("score", "DoubleType", 1.5)]


# Classes of an application that may be passed as `row_type`.
@dataclass
class User:
    id: int
    name: str
    score: float | None


class UserTuple(NamedTuple):
    id: int
    name: str
    score: Optional[float] = None  # noqa: UP045


class UserDict(TypedDict):
    id: int
    name: str
    score: float


@dataclass(kw_only=True, slots=True, frozen=True)
class FrozenUser:
    id: int
    name: str
    score: float
    tags: list[str] = field(default_factory=list)


def rows_as(
    row_type: Any,
    columns: list[Column],
    row_count: int = 1,
    implementation: Implementation | None = None,
) -> list[Any]:
    """Decode a result with `row_count` equal rows as instances of `row_type`.

    :param columns: the name, the type and the value of each column.
    """
    rows: list[Any] = result(columns, row_count, implementation).decode(typed_rows(row_type))
    return rows


class TestRowTypes:
    def test_dataclasses(self, implementation: Implementation) -> None:
        """Rows become instances of dataclasses, also of frozen dataclasses."""
        rows = rows_as(User, USER, row_count=3, implementation=implementation)
        assert rows == [User(7, "ada", 1.5)] * 3
        assert rows_as(FrozenUser, USER, implementation=implementation) == [
            FrozenUser(id=7, name="ada", score=1.5)
        ]

    def test_named_tuples_and_dicts(self, implementation: Implementation) -> None:
        """Rows become named tuples or typed dicts.

        If a field of a named tuple has a default, its column may be missing.
        """
        (row,) = rows_as(UserTuple, USER, implementation=implementation)
        assert row == UserTuple(7, "ada", 1.5)
        assert type(row) is UserTuple
        assert rows_as(UserTuple, USER[:2]) == [UserTuple(7, "ada", None)]
        assert rows_as(UserDict, USER, implementation=implementation) == [
            {"id": 7, "name": "ada", "score": 1.5}
        ]

    def test_columns_in_another_order(self) -> None:
        """Fields get their values by the names of the columns, not by the columns' order."""
        assert rows_as(User, USER[::-1]) == [User(7, "ada", 1.5)]
        assert rows_as(UserTuple, [USER[1], USER[0]]) == [UserTuple(7, "ada", None)]

    def test_attrs(self) -> None:
        """Rows become instances of attrs classes.

        Only attributes with a default may lack a column.
        """
        attrs = pytest.importorskip("attrs")
        attrs_class = attrs.make_class(
            "AttrsUser",
            {
                "id": attrs.field(type=int),
                "name": attrs.field(type=str),
                "score": attrs.field(type=float, default=0.0),
            },
        )
        assert rows_as(attrs_class, USER) == [attrs_class(7, "ada", 1.5)]
        assert rows_as(attrs_class, USER[:2]) == [attrs_class(7, "ada", 0.0)]
        with pytest.raises(TypeError, match="no column for 'name'"):
            rows_as(attrs_class, USER[:1])

    def test_msgspec(self) -> None:
        """Rows must become msgspec structs, whatever the order of the columns."""
        msgspec = pytest.importorskip("msgspec")
        fields = [("id", int), ("name", str), ("score", float, 0.0)]
        struct_class = msgspec.defstruct("StructUser", fields)
        assert rows_as(struct_class, USER) == [struct_class(7, "ada", 1.5)]
        assert rows_as(struct_class, [USER[1], USER[0]]) == [struct_class(7, "ada", 0.0)]

    def test_pydantic_models_are_validated(self) -> None:
        """Rows become instances of pydantic models, which validate the values."""
        pydantic = pytest.importorskip("pydantic")
        model = pydantic.create_model(
            "ModelUser", id=(int, ...), name=(str, ...), score=(float, 0.0)
        )
        assert rows_as(model, USER) == [model(id=7, name="ada", score=1.5)]
        short_names = pydantic.create_model("Short", name=(str, pydantic.Field(max_length=2)))
        with pytest.raises(pydantic.ValidationError):
            rows_as(short_names, USER[1:2])

    @pytest.mark.parametrize("row_type", [int, dict, "User", None, list[int], object])
    def test_invalid_row_types(self, row_type: Any) -> None:
        """A class that cannot hold a row, or an object that is no class, raises TypeError."""
        with pytest.raises(TypeError, match="row_type must be a"):
            typed_rows(row_type)


class TestMatching:
    def test_a_column_without_a_field(self) -> None:
        """If a column has no field, the error names the column and the fields of the class."""
        with pytest.raises(
            TypeError, match='column "age" has no field in User, whose fields are id, name, score'
        ):
            rows_as(User, [*USER, ("age", "Int32Type", 1)])

    def test_a_conditional_statement_gets_advice(self) -> None:
        """With a row type, the result of a conditional statement raises a TypeError with advice.

        Such a result has the additional column [applied].
        """
        with pytest.raises(TypeError, match=r"no row_type for a conditional statement"):
            rows_as(User, [("[applied]", "BooleanType", True), *USER])

    def test_a_field_without_a_column(self) -> None:
        """If a field has no column, the error names the field and the columns of the result."""
        with pytest.raises(
            TypeError, match="the result has no column for 'score' of User; it has id, name"
        ):
            rows_as(User, USER[:2])

    def test_two_columns_of_one_name(self) -> None:
        """Two columns with the same name raise TypeError.

        Otherwise it would not be clear which column gives the field its value.
        """
        with pytest.raises(TypeError, match='two columns are named "id"'):
            rows_as(User, [*USER, USER[0]])

    def test_a_type_that_does_not_fit(self) -> None:
        """If a column's type does not fit the field, the error names both.

        The error has the column, its type, and the annotation of the field.
        """
        with pytest.raises(
            TypeError,
            match="column \"id\" is of type text, but field 'id' of User is annotated int",
        ):
            rows_as(User, [("id", "UTF8Type", "7"), *USER[1:]])

    def test_annotations_are_checked_once_for_equal_columns(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Results with equal columns are checked only once against the annotations."""
        factory = typed_rows(User)
        # All tests with this class share the factory, so remove what the factory has cached.
        factory._makers.clear()
        checked_columns: list[Any] = []
        maker_of = factory._maker_of

        def count_check(columns: Any) -> Any:
            checked_columns.append(columns)
            return maker_of(columns)

        monkeypatch.setattr(factory, "_maker_of", count_check)
        for _ in range(3):
            assert result(USER).decode(factory) == [User(7, "ada", 1.5)]
        assert len(checked_columns) == 1
        # A result with other columns (here in another order) must be checked again.
        result(USER[::-1]).decode(factory)
        assert len(checked_columns) == 2
        # A class has one factory. All requests share the factory's makers, which build the rows.
        assert typed_rows(User) is factory

    def test_an_annotation_with_an_unknown_name_is_refused(self) -> None:
        """An annotation with an unknown name raises TypeError."""

        @dataclass
        class Lost:
            id: Missing  # type: ignore[name-defined] # noqa: F821

        with pytest.raises(TypeError, match="names what is not there"):
            typed_rows(Lost)

    def test_rows_without_types_are_matched_by_name(self) -> None:
        """If the types of the columns are unknown, a factory matches columns to fields by name."""
        assert typed_rows(User)(["name", "id", "score"], [("ada", 1, None)]) == [
            User(1, "ada", None)
        ]


# Classes of an application to which values in rows are converted.
class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Zone(str, enum.Enum):
    NORTH = "n"


class Unchecked(Protocol):
    """A protocol that only type checkers can check."""

    def bit_length(self) -> int: ...


UserId = NewType("UserId", int)
ANY_ADDRESS = ipaddress.IPv4Address | ipaddress.IPv6Address

# Each tuple has the type of a column, its value, the annotation of the field, and the expected
# value of the field.
SCALARS: list[tuple[str, Any, Any, Any]] = [
    ("Int32Type", 1, int, 1),
    ("Int32Type", 1, float, 1),
    ("LongType", 1, UserId, 1),
    ("LongType", 1, Annotated[int, "x"], 1),
    ("Int32Type", 1, Any, 1),
    ("Int32Type", 1, object, 1),
    ("Int32Type", 1, int | str, 1),
    ("Int32Type", 1, Final[int], 1),
    ("Int32Type", 1, Final, 1),
    ("UTF8Type", None, Final[str | None], None),
    ("UTF8Type", "red", Final[Annotated[Colour, "x"]], Colour.RED),
    ("ListType(UTF8Type)", None, Final[list[str]], []),
    ("Int32Type", 1, Hashable, 1),
    ("Int32Type", 1, typing.Hashable, 1),
    ("Int32Type", 1, typing.SupportsInt, 1),
    ("Int32Type", 1, Unchecked, 1),
    ("UTF8Type", "red", getattr(typing, "LiteralString", str), "red"),
    ("ListType(Int32Type)", [1, 2], MutableSequence[int], [1, 2]),
    ("ListType(Int32Type)", [1, 2], Reversible[int], [1, 2]),
    ("SetType(Int32Type)", {1, 2}, MutableSet[int], {1, 2}),
    ("ListType(Int32Type)", [1, 2], Container[int], [1, 2]),
    ("MapType(UTF8Type,Int32Type)", {"n": 1}, MutableMapping[str, int], {"n": 1}),
    ("ListType(Int32Type)", [1, 2], Sized, [1, 2]),
    ("TupleType(UTF8Type,Int32Type)", ("n", 1), Reversible, ("n", 1)),
    ("UTF8Type", "red", Colour, Colour.RED),
    ("Int32Type", 2, Level, Level.HIGH),
    ("UTF8Type", "n", Zone, Zone.NORTH),
    ("ListType(UTF8Type)", ["red", "red"], list[Colour], [Colour.RED, Colour.RED]),
    ("SetType(Int32Type)", {1, 2}, frozenset[Level], frozenset(Level)),
    ("MapType(UTF8Type,Int32Type)", {"n": 1}, dict[Zone, Level], {Zone.NORTH: Level.LOW}),
    ("UTF8Type", "red", Literal["red", "green"], "red"),
    ("UTF8Type", None, Colour | None, None),
    ("UTF8Type", "n", Colour | Zone, Zone.NORTH),
    ("UTF8Type", "red", Colour | Zone | None, Colour.RED),
    ("UTF8Type", None, Colour | Zone | None, None),
    ("UTF8Type", "blue", Colour | str, "blue"),
    ("UTF8Type", "red", Colour | str, Colour.RED),
    ("ListType(UTF8Type)", ["n", "red"], list[Colour | Zone], [Zone.NORTH, Colour.RED]),
    ("BooleanType", True, bool, True),
    ("DecimalType", decimal.Decimal("1.5"), decimal.Decimal, decimal.Decimal("1.5")),
    ("BytesType", b"x", bytes, b"x"),
    ("UUIDType", uuid.UUID(int=1), uuid.UUID, uuid.UUID(int=1)),
    (
        "TimestampType",
        datetime.datetime(2024, 1, 1),
        datetime.datetime,
        datetime.datetime(2024, 1, 1),
    ),
    ("SimpleDateType", Date("2024-01-02"), Date, Date("2024-01-02")),
    ("SimpleDateType", Date("2024-01-02"), datetime.date, datetime.date(2024, 1, 2)),
    ("TimeType", Time("12:30:00"), datetime.time, datetime.time(12, 30)),
    ("DurationType", Duration(1, 2, 3), Duration, Duration(1, 2, 3)),
    ("InetAddressType", "127.0.0.1", str, "127.0.0.1"),
    ("InetAddressType", "127.0.0.1", ipaddress.IPv4Address, ipaddress.IPv4Address("127.0.0.1")),
    ("InetAddressType", "127.0.0.1", ANY_ADDRESS, ipaddress.IPv4Address("127.0.0.1")),
    ("InetAddressType", "::1", ANY_ADDRESS, ipaddress.IPv6Address("::1")),
    ("SimpleDateType", Date(5_000_000), datetime.date | Date, Date(5_000_000)),
    ("ListType(Int32Type)", [1, 2], list[int], [1, 2]),
    ("ListType(Int32Type)", [1, 2], tuple[int, ...], (1, 2)),
    ("ListType(Int32Type)", None, list[int], []),
    ("ListType(Int32Type)", None, list[int] | None, None),
    (
        "FrozenType(ListType(SimpleDateType))",
        [Date(0)],
        list[datetime.date],
        [datetime.date(1970, 1, 1)],
    ),
    ("SetType(Int32Type)", {1, 2}, set[int], {1, 2}),
    ("SetType(Int32Type)", {1, 2}, frozenset[int], frozenset({1, 2})),
    ("SetType(Int32Type)", None, set[int], set()),
    ("MapType(UTF8Type,Int32Type)", {"a": 1}, dict[str, int], {"a": 1}),
    (
        "MapType(UTF8Type,SimpleDateType)",
        {"a": Date(0)},
        dict[str, datetime.date],
        {"a": datetime.date(1970, 1, 1)},
    ),
    ("TupleType(Int32Type,UTF8Type)", (1, "a"), tuple[int, str], (1, "a")),
    (
        "TupleType(Int32Type,SimpleDateType)",
        (1, Date(0)),
        tuple[int, datetime.date],
        (1, datetime.date(1970, 1, 1)),
    ),
    ("VectorType(FloatType , 2)", [1.0, 2.0], list[float], [1.0, 2.0]),
    ("VectorType(FloatType , 2)", [1.0, 2.0], tuple[float, ...], (1.0, 2.0)),
    ("VectorType(TimeType , 1)", [Time("12:30:00")], list[datetime.time], [datetime.time(12, 30)]),
    ("VectorType(UTF8Type , 1)", ["red"], Sequence[Colour], [Colour.RED]),
    ("ReversedType(Int32Type)", 1, int, 1),
]


@pytest.mark.parametrize(
    ("type_name", "value", "annotation"),
    [
        ("SetType(FrozenType(ListType(Int32Type)))", [[1, 2]], set[list[int]]),
        ("SetType(FrozenType(ListType(Int32Type)))", [[1, 2]], frozenset),
        ("SetType(FrozenType(SetType(Int32Type)))", [{1, 2}], set[set[int]]),
        ("MapType(FrozenType(ListType(Int32Type)),Int32Type)", [([1], 2)], dict[list[int], int]),
        ("MapType(FrozenType(ListType(Int32Type)),Int32Type)", [([1], 2)], dict),
    ],
    ids=str,
)
def test_elements_that_are_not_hashable(type_name: str, value: Any, annotation: Any) -> None:
    """The error must name the column and the field, and say what else to write."""
    given = OrderedMap(value) if type_name.startswith("Map") else value
    row_type = make_dataclass("R", [("a", annotation)])
    message = r'column "a": .* \(unhashable type: .*\): for field \'a\' of R, annotate them as'
    with pytest.raises(TypeError, match=message):
        result([("a", type_name, given)]).decode(typed_rows(row_type))


@pytest.mark.parametrize(
    ("type_name", "value", "annotation", "expected"),
    SCALARS,
    ids=lambda argument: str(argument)[:40],
)
def test_values_are_converted_to_the_annotated_type(
    type_name: str, value: Any, annotation: Any, expected: Any
) -> None:
    """A value is converted to the type with which the field is annotated."""
    row_type = make_dataclass("Row", [("v", annotation)])
    (row,) = rows_as(row_type, [("v", type_name, value)])
    assert row.v == expected
    assert type(row.v) is type(expected)


def test_vectors_that_are_arrays_are_not_converted() -> None:
    """With a row type, the elements of a vector are not converted if the vector is an array.

    The elements of a list are converted. The setting `default_vector_type` decides if the driver
    returns vectors as lists or arrays.
    """
    metadata = ResultMetadata(
        [ColumnMetadata("ks", "t", "v", lookup_casstype("VectorType(TimeType , 1)"))]
    )
    times = array.array("q", [5])
    row_type = make_dataclass("Row", [("v", list[datetime.time])])
    (row,) = typed_rows(row_type).rows_of(metadata, [(times,)])
    assert row.v is times


@dataclass
class Lamp:
    colour: Colour


@dataclass
class Room:
    id: int
    lamp: Lamp


@pytest.mark.parametrize(
    ("type_name", "value", "annotation", "message"),
    [
        ("UTF8Type", "blue", Colour, r"'blue' is the value of no member of Colour \('red'\)"),
        ("UTF8Type", "blue", Colour | None, "'blue' is the value of no member of Colour"),
        ("UTF8Type", "blue", Colour | Zone, r"no member of Colour \('red'\); .* of Zone \('n'\)"),
        ("Int32Type", 3, Level, r"3 is the value of no member of Level \(1, 2\)"),
        ("ListType(Int32Type)", [1, 7], list[Level], "7 is the value of no member of Level"),
        ("InetAddressType", "::1", ipaddress.IPv4Address, "::1"),
        (
            "SimpleDateType",
            Date(5_000_000),
            datetime.date,
            "5000000 days from 1970-01-01 lie outside the years",
        ),
    ],
)
def test_errors_of_values_that_do_not_fit_name_row_and_column(
    type_name: str, value: Any, annotation: Any, message: str, implementation: Implementation
) -> None:
    """The error for a value that does not fit the annotation names the row and the column."""
    row_type = make_dataclass("Row", [("id", int), ("v", annotation)])
    with pytest.raises(ValueError, match=f'^row 0, column "v": .*{message}'):
        rows_as(
            row_type,
            [("id", "Int32Type", 1), ("v", type_name, value)],
            row_count=3,
            implementation=implementation,
        )


def test_errors_in_user_defined_types_name_row_column_and_field() -> None:
    """The error for a value within a user-defined type also names the field."""
    factory = typed_rows(Room)
    # The names in the type string are in hexadecimal: a type "lamp" with the field "colour".
    lamp = lookup_casstype("UserType(ks,6c616d70,636f6c6f7572:UTF8Type)")
    metadata = ResultMetadata(
        [
            ColumnMetadata("ks", "t", "id", lookup_casstype("Int32Type")),
            ColumnMetadata("ks", "t", "lamp", lamp),
        ]
    )
    assert factory.rows_of(metadata, [(1, ("red",))]) == [Room(1, Lamp(Colour.RED))]
    with pytest.raises(
        ValueError,
        match=r'^row 2, column "lamp": field "colour": .green. is the value of no member',
    ):
        factory.rows_of(metadata, [(1, ("red",)), (2, ("red",)), (3, ("green",)), (4, ("red",))])


class Red(enum.Enum):
    """The value 1 is its only member."""

    RED = 1


@pytest.mark.parametrize("is_iterator", [True, False])
def test_errors_of_rows_without_a_length_name_the_row(
    is_iterator: bool, implementation: Implementation
) -> None:
    """The rows of `LazyProtocolHandler` are an iterator or a generator, which has no length."""
    row_type = make_dataclass("Row", [("v", Red)])
    message = LazyResultMessage(RESULT_KIND_ROWS)
    message.metadata = ResultMetadata([ColumnMetadata("ks", "t", "v", Int32Type)])
    message.metadata._row_plan = implementation.rows.RowPlan(["v"], [Int32Type.codec()])
    body = value(int32(1)) * 2 + value(int32(2)) + value(int32(1))
    message.take_rows(body, 2)
    read = message.parsed_rows if is_iterator else (row for row in message.parsed_rows)
    assert typed_rows(row_type).rows_of(message.metadata, read) == [row_type(Red.RED)] * 2
    assert message.decode(typed_rows(row_type)) == [row_type(Red.RED)] * 2
    message.take_rows(body, 4)
    with pytest.raises(ValueError, match=r'^row 2, column "v": 2 is the value of no member'):
        message.decode(typed_rows(row_type))


class Money:
    """A class of an application, for which it has registered converters."""

    def __init__(self, amount: str) -> None:
        self.amount = amount


@pytest.mark.parametrize("cql_type", ["text", "list<text>", "map<text, text>"])
@pytest.mark.parametrize("is_for_column", [True, False])
def test_values_of_converters_are_not_converted_in_encrypted_columns(
    cql_type: str, is_for_column: bool
) -> None:
    """A field may be annotated with the class that a converter returns, also with encryption."""
    policy = AES256ColumnEncryptionPolicy()
    policy.add_column(ColDesc("ks", "t", "v"), b"k" * 32, cql_type)
    registry = CodecRegistry()
    converter: Converter[Any, Any] = Converter(
        to_cql=lambda money: money.amount, from_cql=lambda _: Money("5")
    )
    annotation: Any = Money
    plain: Any = {"text": "5", "list<text>": ["5"], "map<text, text>": {"5": "5"}}[cql_type]
    if is_for_column:
        registry.register_column("ks.t.v", converter)
    else:
        registry.register_type("text", converter)
        if cql_type != "text":
            annotation = list[Money] if cql_type == "list<text>" else dict[Money, Money]
    server_columns = ResultMetadata([ColumnMetadata("ks", "t", "v", BytesType)])
    metadata = converting(decrypting(server_columns, policy), registry.converters)
    encrypted = policy.encode_and_encrypt(ColDesc("ks", "t", "v"), plain)
    read = metadata.row_plan.tuples(value(encrypted), 0, 1)
    (row,) = typed_rows(make_dataclass("Row", [("v", annotation)])).rows_of(metadata, read)
    values = [row.v] if isinstance(row.v, Money) else [*row.v]
    assert [amount.amount for amount in values] == ["5"]


@pytest.mark.parametrize(
    ("type_name", "annotation"),
    [
        ("Int32Type", str), ("UTF8Type", int), ("DoubleType", int),
        ("SimpleDateType", datetime.datetime), ("BytesType", str),
        ("ListType(Int32Type)", int), ("ListType(Int32Type)", list[str]),
        ("SetType(Int32Type)", list[int]),
        ("MapType(UTF8Type,Int32Type)", dict[str, str]),
        ("TupleType(Int32Type,UTF8Type)", tuple[int]),
        ("VectorType(FloatType , 2)", str), ("VectorType(FloatType , 2)", list[str]),
        ("Int32Type", str | bytes), ("UTF8Type", Literal[1]), ("UUIDType", str),
    ],
)  # fmt: skip
def test_annotations_that_do_not_fit(type_name: str, annotation: Any) -> None:
    """If a field's annotation does not fit the column's type, `rows_as` raises TypeError."""
    row_type = make_dataclass("Row", [("v", annotation)])
    with pytest.raises(
        TypeError, match=r'column "v" is of type .*, but field \'v\' of Row is annotated'
    ):
        rows_as(row_type, [("v", type_name, None)])


@dataclass
class Address:
    street: str
    zip: int


@dataclass
class Person:
    home: Address
    others: list[Address]


# The names in the type string are in hexadecimal: a type "addr" with the fields "street" and "zip".
ADDRESS = "UserType(ks,61646472,737472656574:UTF8Type,7a6970:Int32Type)"


def test_user_defined_types_become_their_classes() -> None:
    """Values of a user-defined type become instances of the class in the annotation."""
    home = ("Main St", 1234)
    (row,) = rows_as(
        Person, [("home", ADDRESS, home), ("others", f"ListType({ADDRESS})", [home, home])]
    )
    assert row == Person(Address("Main St", 1234), [Address("Main St", 1234)] * 2)


def test_clusters_with_other_registered_classes_share_no_row_maker() -> None:
    """Clusters with different registered classes must not share a function that makes rows.

    If a class is registered for a user-defined type, the same bytes of column specifications denote
    another type.
    """

    class Place:
        def __init__(self, street: str, zip: int) -> None:
            self.street, self.zip = street, zip

    fields = string("street") + short(13) + string("zip") + short(9)
    # The result has one column "home" of the type addr, with the fields street (text, type code 13)
    # and zip (int, type code 9).
    specs = string("home") + short(0x30) + string("ks") + string("addr") + short(2) + fields
    cell = value(value(b"Main St") + value(int32(1234)))
    body = rows(1, specs=TABLE + specs, content=int32(1) + cell, count=1)
    factory = typed_rows(make_dataclass("Row", [("home", Place)]))
    registered = read_result(body, user_types={"ks": {"addr": Place}})
    (row,) = registered.decode(factory)
    assert row.home.zip == 1234
    with pytest.raises(TypeError, match="Place"):
        read_result(body).decode(factory)


def test_a_class_that_lacks_a_field_of_the_user_defined_type_is_refused() -> None:
    """If a class lacks a field of the user-defined type, the error names the field."""

    @dataclass
    class Short:
        street: str

    row_class = make_dataclass("Row", [("home", Short)])
    with pytest.raises(TypeError, match='column "zip" has no field'):
        rows_as(row_class, [("home", ADDRESS, ("a", 1))])


def test_null_and_dict_for_user_defined_types() -> None:
    """A null of a user-defined type becomes None, if the annotation allows None.

    A value becomes a dict if the field is annotated as a dict.
    """
    row_type = make_dataclass("Row", [("home", Address | None), ("plain", dict[str, Any])])
    (row,) = rows_as(row_type, [("home", ADDRESS, None), ("plain", ADDRESS, ("a", 1))])
    assert row.home is None
    assert row.plain == {"street": "a", "zip": 1}


def test_constructor_parameters_that_are_not_fields() -> None:
    """Optional constructor parameters without a column keep their defaults.

    A dataclass with its own constructor gets the values by name.
    """

    # `scale` is a parameter of the constructor, but not a field.
    @dataclass
    class Scaled:
        a: int
        scale: InitVar[int] = 2
        b: int = 5

    (row,) = rows_as(Scaled, [("a", "Int32Type", 1), ("b", "Int32Type", 7)])
    assert (row.a, row.b) == (1, 7)

    # The constructor has its parameters in another order than the fields.
    @dataclass(init=False)
    class WithConstructor:
        a: int
        b: int

        def __init__(self, b: int, a: int) -> None:
            self.a, self.b = a, b

    (record_by_name,) = rows_as(WithConstructor, [("a", "Int32Type", 1), ("b", "Int32Type", 2)])
    assert (record_by_name.a, record_by_name.b) == (1, 2)


def test_a_struct_with_a_keyword_only_base() -> None:
    """If the base of a struct has keyword-only fields, all fields get their values by name.

    So the columns may have any order.
    """
    msgspec = pytest.importorskip("msgspec")
    base = msgspec.defstruct("Base", [("a", int)], kw_only=True)
    derived = msgspec.defstruct("Derived", [("b", int)], bases=(base,))
    for columns in (["a", "b"], ["b", "a"]):
        # The value of the column "a" is ord("a"), and the value of "b" is ord("b").
        (row,) = rows_as(derived, [(name, "Int32Type", ord(name)) for name in columns])
        assert (row.a, row.b) == (ord("a"), ord("b"))


def test_null_collections_are_empty_for_abstract_annotations() -> None:
    """A null collection becomes empty, if the annotation is a Mapping, Set or frozenset."""
    row_class = make_dataclass(
        "Row", [("m", Mapping[str, int]), ("s", AbstractSet[int]), ("f", frozenset[int])]
    )
    columns: list[Column] = [
        ("m", "MapType(UTF8Type,Int32Type)", None), ("s", "SetType(Int32Type)", None),
        ("f", "FrozenType(SetType(Int32Type))", None),
    ]  # fmt: skip
    (row,) = rows_as(row_class, columns)
    assert row.m == {}
    assert row.s == set()
    assert row.f == frozenset()


def test_null_collections_of_a_union_with_none_are_none() -> None:
    """A null collection becomes None if the union in the annotation has None, else empty."""
    row_class = make_dataclass(
        "Row",
        [("a", list[int] | tuple[int, ...] | None), ("b", list[int] | tuple[int, ...])],
    )
    list_type = "ListType(Int32Type)"
    (row,) = rows_as(row_class, [("a", list_type, None), ("b", list_type, None)])
    assert row.a is None
    assert row.b == []
    (row,) = rows_as(row_class, [("a", list_type, [1]), ("b", list_type, [2])])
    assert (row.a, row.b) == ([1], [2])


@pytest.mark.parametrize("name", ["list", "set", "map"])
def test_a_user_defined_type_may_have_the_name_of_a_collection(name: str) -> None:
    """A null of a user-defined type named "list" is None, not an empty list."""
    address = ADDRESS.replace("61646472", name.encode().hex())
    row_type = make_dataclass("Row", [("home", Address)])
    for home, expected in ((None, None), (("a", 1), Address("a", 1))):
        (row,) = rows_as(row_type, [("home", address, home)])
        assert row.home == expected


def test_the_cached_factory_does_not_keep_its_class_alive() -> None:
    """A class can be garbage-collected although its factory was cached."""
    cls = make_dataclass("Row", [("v", int)])
    rows_as(cls, [("v", "Int32Type", 1)])
    reference = weakref.ref(cls)
    del cls
    gc.collect()
    assert reference() is None


def test_pydantic_models_may_convert_values() -> None:
    """A pydantic model may have an alias as the column's name, and may convert values."""
    pydantic = pytest.importorskip("pydantic")
    kind = pydantic.create_model("Loose", v=(int, pydantic.Field(alias="value")))
    (row,) = rows_as(kind, [("value", "UTF8Type", "7")])
    assert row.v == 7


def test_an_instance_in_the_place_of_its_class() -> None:
    """An instance in place of its class raises a TypeError that recommends the class."""

    @dataclass
    class Order:
        id: int

    instance: Any = Order(1)
    with pytest.raises(TypeError, match=r"row_type must be a class.*write row_type=Order$"):
        typed_rows(instance)


@pytest.mark.parametrize(
    ("row_type", "advice"),
    [
        (dict, "for dicts, write session.row_factory = dict_factory"),
        ("dict", "for dicts, write session.row_factory = dict_factory"),
        (tuple, "for tuples, write session.row_factory = tuple_factory"),
        (list[int], "write the class of one row, row_type=int"),
    ],
    ids=str,
)
def test_a_row_type_that_stands_for_rows_as_containers(row_type: Any, advice: str) -> None:
    """If row_type is dict, tuple or a list type, the error says how to get such rows."""
    with pytest.raises(TypeError, match=f"row_type must be .*: {re.escape(advice)}"):
        typed_rows(row_type)
