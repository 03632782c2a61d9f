"""Test `Binder`, which binds the rows of a chunk (a batch of the source's rows) into requests."""

from __future__ import annotations

import collections
import dataclasses
import datetime
import sqlite3
import struct
import warnings
from collections.abc import Callable, Sequence
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pydantic
import pytest

from cassandra import _impl
from cassandra.bulk import binding
from cassandra.bulk.binding import Binder, Bound, ShortRows, StaticRows
from cassandra.bulk.chunks import Chunk, Column, Position
from cassandra.bulk.groups import Keys
from cassandra.bulk.indexed_vectors import IndexedVector
from cassandra.bulk.target import columns_of
from cassandra.codecs import CodecRegistry, Converter
from cassandra.cqltypes import CounterColumnType
from cassandra.cqltypes.containers import ListType, MapType, SetType, TupleType
from cassandra.cqltypes.parse import lookup_casstype, lookup_cqltype
from cassandra.cqltypes.scalars import DecimalType, DoubleType, FloatType, Int32Type, UTF8Type
from cassandra.cqltypes.udt import UserType
from cassandra.protocol.column_specs import ColumnMetadata
from cassandra.protocol.converted import bound_columns as converted_columns
from cassandra.protocol.encrypted import ColDesc
from cassandra.protocol.rowclass import row_class
from cassandra.query import PreparedStatement
from cassandra.query.batch import bind_rows
from cassandra.query.row_factories import PseudoNamedTupleRow
from cassandra.sentinels import UNSET_VALUE
from tests.conftest import Implementation
from tests.statements import prepared_insert

COLUMNS = [
    Column("p", lookup_cqltype("text"), is_key=True),
    Column("c", lookup_cqltype("int"), is_key=True),
    Column("s", lookup_cqltype("text")),
    Column("r", lookup_cqltype("int")),
]


@pytest.fixture(autouse=True)
def use_implementation(implementation: Implementation, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run each test twice: with the compiled modules that bind and group rows, and in Python."""
    monkeypatch.setattr(binding, "bind", implementation.bind)
    monkeypatch.setattr(binding, "grouping", implementation.grouping)
    monkeypatch.setattr(_impl, "column_binding", implementation.column_binding)


@pytest.fixture
def binder(implementation: Implementation) -> Binder:
    """Return a binder for rows of COLUMNS that refuses rows with unknown fields."""
    prepared = prepared_insert(implementation, COLUMNS, [0])
    new_binder = binder_of(prepared, COLUMNS, Keys(partition=(0,), clustering=(1,)))
    new_binder.is_closed = True
    return new_binder


def binder_of(
    prepared: Any,
    columns: Sequence[Column],
    keys: Keys,
    mapping: dict[str, str] | None = None,
    order: Sequence[int] | None = None,
) -> Binder:
    """Return a Binder that makes one request per row and knows no replicas.

    :param keys: the positions of the primary key among the bind markers.
    :param mapping: field names by column name; None if both are the same.
    :param order: for each bind marker, the position of its value in a row without names; None if
        the values are in the order of the bind markers.
    """
    return Binder(
        prepared,
        columns,
        mapping or {},
        range(len(columns)) if order is None else order,
        keys,
        batch=None,
        owners=lambda: None,
    )


def bound(binder: Binder, *rows: Any) -> Bound:
    """Bind the rows as one chunk, and return the result."""
    chunk = Chunk(
        list(rows),
        size=len(rows),
        source=None,
        first=0,
        lines=None,
        position=Position(0, len(rows)),
        raw=None,
    )
    result = binder.bind_next(iter([chunk]))
    assert result is not None
    return result


def bound_table(binder: Binder, table: Any, size: int) -> Bound:
    """Bind the rows of a table (a data frame or an Arrow table, for example) as one chunk."""
    position = Position(0, size)
    chunk = Chunk(table, size, source=None, first=0, lines=None, position=position, raw=None)
    result = binder.bind_next(iter([chunk]))
    assert result is not None
    return result


def rows_to_send(result: Bound) -> list[tuple[int, bytes]]:
    """Return the position in the chunk, and the encoded values, of each row that is sent.

    A `Bound` has its requests in waves: the requests of one wave may be in flight together.
    """
    return sorted(
        (wave.row_numbers[row_in_wave], group.block.row(position).data)
        for wave in result.waves
        for group in wave.groups
        for position, row_in_wave in enumerate(group.rows)
    )


def test_named_tuples_and_mappings_are_bound_by_name(binder: Binder) -> None:
    """Fields of a row with names may be in any order; a plain tuple is in the columns' order."""
    NamedRow = collections.namedtuple("NamedRow", "r s c p")
    result = bound(
        binder,
        ("a", 1, "b", 2),
        NamedRow(r=2, s="b", c=1, p="a"),
        {"r": 2, "s": "b", "c": 1, "p": "a"},
    )
    assert not result.failures
    # All three rows are bound to the same bytes.
    assert len({values for _, values in rows_to_send(result)}) == 1
    assert [number for number, _ in rows_to_send(result)] == [0, 1, 2]


def test_rows_with_missing_or_unknown_columns_fail(binder: Binder) -> None:
    """A row fails if it lacks a key column, or has a field that is neither written nor ignored."""
    WideRow = collections.namedtuple("WideRow", "p c s r x")
    PartialRow = collections.namedtuple("PartialRow", "p s r")
    result = bound(
        binder,
        ("a", 1),
        WideRow("a", 1, "s", 2, 3),
        PartialRow("a", "s", 2),
        {"p": "a", "c": 1, "y": 2},
    )
    assert [(number, str(error).partition(" (")[0]) for number, error in result.failures] == [
        (0, "it has 2 values, and 4 columns are written: p, c, s, r; columns=[...] names others"),
        (1, "it has a field 'x', which is not a column that is written: c, p, r, s"),
        (2, "it has no field 'c', which is of the primary key"),
        (3, "it has a field 'y', which is not a column that is written: c, p, r, s"),
    ]
    # Fields that the load ignores are no error, and regular columns may be missing.
    binder.ignored = {"x", "y"}
    result = bound(binder, WideRow("a", 1, "s", 2, 3), {"p": "a", "c": 1, "y": 2})
    assert not result.failures
    assert result.row_count == 2


@pytest.mark.parametrize("row", [("a", 1), ["a", 1], ("a", 1, "s", 2, 3)])
def test_rows_without_names_have_a_value_for_each_column(binder: Binder, row: Any) -> None:
    """Other rows fail even if fields without a column are no error, as with ``columns=[...]``.

    Otherwise the missing columns would stay unset, for example if a line was cut off.
    """
    binder.is_closed = False
    result = bound(binder, ("a", 1, "s", 2), row)
    assert [(number, str(error)) for number, error in result.failures] == [
        (1, f"it has {len(row)} values, and 4 columns are written: p, c, s, r")
    ]


def test_a_value_that_raises_fails_only_its_row(binder: Binder) -> None:
    """An error of a value fails only its row; the other rows are bound."""

    class FailingText(str):
        def encode(self, *_: Any) -> bytes:
            raise RuntimeError("no bytes")

    class RecursingNumber:
        def __int__(self) -> int:
            return self.__int__()

        __index__ = __int__

    result = bound(
        binder, ("a", 1, "s", 2), ("b", RecursingNumber(), "s", 2), ("c", 3, "\ud800", 4)
    )
    # Row 1 has a number whose conversion recurses endlessly. Row 2 has a lone surrogate, which
    # UTF-8 cannot encode.
    assert [number for number, _ in result.failures] == [1, 2]
    assert result.row_count == 1


def test_a_dry_run_refuses_keys_without_a_value(binder: Binder) -> None:
    """A dry run fails rows with a null key column or an empty partition key, as servers would."""
    binder.is_dry = True
    result = bound(
        binder, ("a", 1, "s", 2), (None, 1, "s", 2), ("a", None, "s", 2), ("", 1, "s", 2)
    )
    assert [(number, str(error)) for number, error in result.failures] == [
        (1, "column 'p' of the primary key has no value"),
        (2, "column 'c' of the primary key has no value"),
        (3, "the partition key 'p' is empty"),
    ]
    # A dry run checks rows, but sends no rows.
    assert result.row_count == 1
    assert result.waves == []


def test_rows_with_only_static_columns_use_a_statement_of_their_own(
    binder: Binder, implementation: Implementation
) -> None:
    """A row that sets only static columns is written with the INSERT of `static_rows`.

    This INSERT has neither the clustering column nor the regular column.
    """
    static_insert = prepared_insert(implementation, [COLUMNS[0], COLUMNS[2]], [0])
    binder.static_rows = StaticRows(
        static_insert, positions=[0, 2], static=[2], clustering=[1], regular=[3]
    )
    result = bound(
        binder, ("a", 1, "s", 2), ("b", None, "t", None), ("c", None, "t", 5), ("d", 7, None, None)
    )
    assert not result.failures
    (static_wave,) = [wave for wave in result.waves if wave.prepared is static_insert]
    # Only row 1 lacks both c and r but sets the static column s. Row 2 also lacks the clustering
    # key c, but has a value for r, so the server has to refuse row 2.
    assert rows_to_send(result._replace(waves=[static_wave])) == [(1, b"\0\0\0\1b\0\0\0\1t")]
    assert [number for number, _ in rows_to_send(result)] == [0, 1, 2, 3]
    assert result.row_count == 4


def test_the_last_row_of_a_partition_decides_about_its_static_columns(
    binder: Binder, implementation: Implementation
) -> None:
    """Rows of a partition that set different static values are sent one after another, in order.

    Requests that are in flight together have no order, but the last row's value must remain.
    """
    static_insert = prepared_insert(implementation, [COLUMNS[0], COLUMNS[2]], [0])
    binder.static_rows = StaticRows(
        static_insert, positions=[0, 2], static=[2], clustering=[1], regular=[3]
    )
    binder.static_columns = [2]
    result = bound(
        binder,
        ("a", 1, "z", 2),
        ("b", 1, "s", 2),
        ("a", 2, "z", 2),
        ("a", None, "y", None),
        ("a", 3, UNSET_VALUE, 2),
        ("a", 4, "x", 2),
        ("a", 1, "x", 3),
        ("b", 2, "s", 2),
        ("a", 5, None, 2),
    )
    rows_of_waves = [
        sorted(number for number, _ in rows_to_send(result._replace(waves=[wave])))
        for wave in result.waves
        if wave.groups
    ]
    # Rows 3, 5 and 8 set other static values of the partition "a" than the rows before them, so a
    # new wave begins at each of these rows. Row 4 leaves the static value unset, but row 3 uses
    # another statement, so rows 3 and 4 are in separate waves.
    assert rows_of_waves == [[0, 1, 2, 7], [3], [4], [5, 6], [8]]
    assert (result.row_count, result.failures) == (9, [])
    # Rows whose static values are equal or unset are sent together.
    result = bound(binder, ("a", 1, UNSET_VALUE, 2), ("a", 2, "z", 2), ("a", 3, "z", 2))
    assert [len(wave.groups) for wave in result.waves if wave.groups] == [3]
    binder.is_dry = True
    assert bound(binder, ("a", 1, "z", 2), ("a", 2, "y", 2)).row_count == 2


def test_the_last_row_of_a_partition_decides_when_its_static_columns_expire(
    implementation: Implementation,
) -> None:
    """A row with another TTL for the same static value is sent after the rows before it.

    If the rows were in one batch, the server would keep the longer TTL of the two equal values.
    """
    columns = [*COLUMNS[:3], Column("[ttl]", lookup_cqltype("int"))]
    prepared = prepared_insert(implementation, columns, [0])
    new_binder = binder_of(prepared, columns, Keys(partition=(0,), clustering=(1,)))
    new_binder.static_columns = [2]
    rows: list[Any] = [("a", 1, "z", 9), ("a", 2, "z", 9), ("a", 3, "z", 5), ("a", 4, "z", None)]
    # Rows 4 to 6 set no static value (unset or null), so their TTLs do not matter.
    rows += [("a", 5, UNSET_VALUE, 7), ("b", 1, None, 8), ("b", 2, None, 9)]
    result = bound(new_binder, *rows)
    assert [
        sorted(row for row, _ in rows_to_send(result._replace(waves=[wave])))
        for wave in result.waves
    ] == [[0, 1, 5, 6], [2], [3, 4]]


@pytest.mark.parametrize(
    ("decrypts", "waves"),
    [
        (True, [[0, 1], [2], [3]]),
        # If the values cannot be decrypted, we cannot know whether two values are equal.
        (False, [[0], [1], [2], [3]]),
    ],
)
def test_encrypted_static_values_are_compared_in_the_clear(
    implementation: Implementation, decrypts: bool, waves: list[list[int]]
) -> None:
    """Static values are decrypted before the binder compares them.

    The policy is not deterministic: encrypting a value twice gives different bytes.
    """

    class Salting:
        """An encryption policy that puts an increasing number before the encrypted bytes."""

        deterministic = False
        count = 0

        def contains_column(self, column: ColDesc) -> bool:
            return column.col == "s"

        def column_type(self, column: ColDesc) -> Any:
            return lookup_casstype("UTF8Type")

        def encrypt(self, column: ColDesc, data: bytes) -> bytes:
            self.count += 1
            return struct.pack(">i", self.count) + data

        def decrypt(self, column: ColDesc, data: bytes) -> bytes:
            if not decrypts:
                raise NotImplementedError("the key for reading is elsewhere")
            return data[4:]

    # For the server, the encrypted column is a blob.
    policy: Any = Salting()
    columns = [*COLUMNS[:2], Column("s", lookup_casstype("BytesType"))]
    metadata = [ColumnMetadata("ks", "t", column.name, column.type) for column in columns]
    prepared = PreparedStatement(
        metadata, b"id", [0], "INSERT", "ks", 5, None, None, column_encryption_policy=policy
    )
    prepared.bind_plan = implementation.bind.BindPlan(prepared.bind_plan.columns, [0])
    new_binder = binder_of(prepared, columns_of(prepared), Keys(partition=(0,), clustering=(1,)))
    new_binder.static_columns = [2]
    result = bound(new_binder, ("a", 1, "z"), ("a", 2, "z"), ("a", 3, "y"), ("a", 4, None))
    assert not result.failures
    assert [
        [row for row, _ in rows_to_send(result._replace(waves=[wave]))] for wave in result.waves
    ] == waves


_SETS: Any = SetType.apply_parameters((Int32Type,))
_NAN = float("nan")
# The NaN that the hardware makes for inf - inf differs in its sign.
_OTHER_NAN = struct.unpack(">d", b"\xff\xf8\0\0\0\0\0\1")[0]


@pytest.mark.parametrize("is_partition_key", [True, False])
@pytest.mark.parametrize(
    ("cql_type", "value", "same_value", "other_value"),
    [
        (DecimalType, Decimal("1.0"), Decimal("1.00"), Decimal("1.01")),
        (TupleType.apply_parameters((Int32Type, Int32Type)), (1,), (1, None), (None, 1)),
        (_SETS, [1, 2], [2, 1], [1, 3]),
        (
            MapType.apply_parameters((Int32Type, Int32Type)),
            {1: 2, 3: 4},
            {3: 4, 1: 2},
            {1: 4, 3: 2},
        ),
        (ListType.apply_parameters((_SETS,)), [[1, 2]], [[2, 1]], [[1], [2]]),
        (
            TupleType.apply_parameters((DoubleType, Int32Type)),
            (float("nan"),),
            (float("nan"), None),
            (0.0, None),
        ),
        (FloatType, _NAN, _OTHER_NAN, float("inf")),
        (DoubleType, _NAN, _OTHER_NAN, -1.0),
        (ListType.apply_parameters((DoubleType,)), [_NAN], [_OTHER_NAN], [0.0]),
        (lookup_casstype("VectorType(FloatType, 2)"), [1.0, _NAN], [1.0, _OTHER_NAN], [1.0, 2.0]),
        (TupleType.apply_parameters((Int32Type, FloatType)), (1, _NAN), (1, _OTHER_NAN), (1, 1.0)),
        (
            MapType.apply_parameters((DoubleType, Int32Type)),
            {_NAN: 1},
            {_OTHER_NAN: 1},
            {_NAN: 2},
        ),
        (SetType.apply_parameters((FloatType,)), [_NAN], [_OTHER_NAN], [1.0]),
    ],
)
def test_rows_whose_keys_only_differ_in_their_bytes_keep_their_order(
    implementation: Implementation,
    is_partition_key: bool,
    cql_type: Any,
    value: object,
    same_value: object,
    other_value: object,
) -> None:
    """Rows with the same key in different bytes are sent one after another, in the source's order.

    The server stores such rows as one row: in one batch, the greater value would win.
    """
    key_column = Column("c", cql_type, is_key=True)
    columns = [COLUMNS[0], key_column, COLUMNS[3]]
    keys = Keys((0, 1), ()) if is_partition_key else Keys((0,), (1,))
    binder = binder_of(prepared_insert(implementation, columns, keys.partition), columns, keys)
    result = bound(
        binder,
        ("a", value, 1),
        ("a", other_value, 1),
        ("a", same_value, 0),
        ("b", same_value, 0),
        ("a", None, 0),
    )
    rows_of_waves = [
        sorted(number for number, _ in rows_to_send(result._replace(waves=[wave])))
        for wave in result.waves
    ]
    assert rows_of_waves == [[0, 1, 3, 4], [2]]


@pytest.mark.parametrize("is_dry", [False, True])
def test_rows_without_their_last_clustering_columns_use_statements_of_their_own(
    implementation: Implementation, is_dry: bool
) -> None:
    """If rows lack their last clustering columns, their INSERT statement leaves these out.

    A table with COMPACT STORAGE may have such rows. A server refuses other rows without a
    clustering column.
    """
    columns = [
        Column(name, lookup_cqltype("text"), is_key=name != "v")
        for name in ("p", "c", "d", "e", "v")
    ]
    prepared = prepared_insert(implementation, columns, [0])
    binder = binder_of(prepared, columns, Keys((0,), (1, 2, 3)))
    short, longer = (
        prepared_insert(implementation, [columns[index] for index in positions], [0])
        for positions in ([0, 1, 4], [0, 1, 2, 4])
    )
    binder.short_rows = [
        ShortRows(short, positions=[0, 1, 4], key=Keys((0,), [1]), missing=[2, 3]),
        ShortRows(longer, positions=[0, 1, 2, 4], key=Keys((0,), [1, 2]), missing=[3]),
    ]
    binder.is_dry = is_dry
    result = bound(
        binder,
        ("a", "b", "c", "d", "e"),
        ("a", "b", None, None, "x"),
        ("a", "b", "c", None, "y"),
        ("a", "b", None, "d", "no"),
        ("a", "b", "c", UNSET_VALUE, "no"),
        ("a", None, None, None, "no"),
        ("a", "b", None, None, "z"),
        ("a", "b", "", "", None),
    )
    if is_dry:
        assert (result.waves, result.row_count) == ([], 5)
        assert [(number, str(error)) for number, error in result.failures] == [
            (number, f"column {name!r} of the primary key has no value")
            for number, name in ((3, "d"), (4, "e"), (5, "c"))
        ]
        return
    numbers = {
        statement: [
            [number for number, _ in rows_to_send(result._replace(waves=[wave]))]
            for wave in result.waves
            if wave.prepared is statement and wave.groups
        ]
        for statement in (short, longer, prepared)
    }
    # Rows 1 and 6 have the same key, so one is sent after the other.
    assert numbers == {short: [[1, 5], [6]], longer: [[2]], prepared: [[0, 3, 4, 7]]}
    rows = dict(rows_to_send(result))
    assert rows[1] == b"\0\0\0\1a\0\0\0\1b\0\0\0\1x"
    assert rows[2] == b"\0\0\0\1a\0\0\0\1b\0\0\0\1c\0\0\0\1y"
    assert (result.row_count, result.failures) == (8, [])


def test_rows_with_only_static_columns_are_recognized(implementation: Implementation) -> None:
    """A row has only static values if its clustering and regular columns are null or unset."""
    no_statement: Any = None
    static_rows = StaticRows(
        no_statement, positions=[0, 2], static=[2], clustering=[1], regular=[3]
    )
    # The numbers are the lengths of the values of p, c, s and r: -1 means null, -2 unset, 0 empty.
    assert static_rows.has_only_static_values([1, -1, 1, -1], is_empty_null=False)
    assert static_rows.has_only_static_values([1, -1, 0, -2], is_empty_null=False)
    # A row without any value has lost its key. It must not delete the static value.
    assert not static_rows.has_only_static_values([1, -1, -1, -2], is_empty_null=False)
    assert not static_rows.has_only_static_values([1, -1, -1, -1], is_empty_null=True)
    assert not static_rows.has_only_static_values([1, 0, 1, -1], is_empty_null=False)
    # CSV cannot distinguish an empty string from a missing string.
    assert static_rows.has_only_static_values([1, 0, 1, -1], is_empty_null=True)
    assert not static_rows.has_only_static_values([1, 0, -1, -1], is_empty_null=True)
    assert not static_rows.has_only_static_values([1, 0, 1, 4], is_empty_null=True)
    assert not static_rows.has_only_static_values([1, 4, 1, -1], is_empty_null=True)


def test_an_empty_blob_is_not_missing_in_csv(implementation: Implementation) -> None:
    """CSV writes an empty blob as 0x, and a null as an empty field.

    Row 0 has the clustering key 0x. Row 1 has only a blank in this field, so it has no clustering
    key, and the INSERT for static columns writes it.
    """
    columns = [COLUMNS[0], Column("c", lookup_cqltype("blob"), is_key=True), *COLUMNS[2:]]
    prepared = prepared_insert(implementation, columns, [0])
    new_binder = binder_of(prepared, columns, Keys((0,), (1,)), {"c": "field"})
    static_insert = prepared_insert(implementation, [columns[0], columns[2]], [0])
    new_binder.static_rows = StaticRows(
        static_insert, positions=[0, 2], static=[2], clustering=[1], regular=[3]
    )
    rows = [("a", b"", "s", None), ("a", b"", "s", None)]
    raw, names = [["a", "0x", "s", ""], ["a", " ", "s", ""]], ["p", "field", "s", "r"]
    chunk = Chunk(rows, 2, "a.csv", 1, [2, 3], Position(0, 2), raw=raw, names=names)
    result = new_binder.bind_next(iter([chunk]))
    assert result is not None
    assert [
        (wave.prepared is static_insert, rows_to_send(result._replace(waves=[wave]))[0][0])
        for wave in result.waves
        if wave.groups
    ] == [(True, 1), (False, 0)]


@pytest.mark.parametrize("is_empty_null", [True, False])
@pytest.mark.parametrize("names", [None, ["p", "c", "s", "r"]])
def test_an_empty_clustering_column_may_be_missing_in_csv_only(
    implementation: Implementation, names: list[str] | None, is_empty_null: bool
) -> None:
    """A row that sets static columns only has no clustering key.

    In CSV, the key is an empty field. The field counts as missing if the chunk is from CSV (`names`
    has its column names), and if the load's options read empty fields as null (`is_empty_null`).
    """
    columns = [COLUMNS[0], Column("c", lookup_cqltype("text"), is_key=True), *COLUMNS[2:]]
    prepared = prepared_insert(implementation, columns, [0])
    binder = binder_of(prepared, columns, Keys(partition=(0,), clustering=(1,)))
    static_insert = prepared_insert(implementation, [columns[0], columns[2]], [0])
    binder.static_rows = StaticRows(
        static_insert, positions=[0, 2], static=[2], clustering=[1], regular=[3]
    )
    binder.is_empty_null = is_empty_null
    # The first row has an empty string as its clustering key `c`.
    rows = [("a", "", "s", None), ("a", "c", "s", None)]
    chunk = Chunk(rows, 2, None, 0, None, Position(0, 2), raw=None, names=names)
    result = binder.bind_next(iter([chunk]))
    assert result is not None
    # Only in CSV, and if empty fields are null, is the first row written by the statement for
    # static columns.
    is_static = names is not None and is_empty_null
    assert [
        number
        for wave in result.waves
        if wave.prepared is static_insert
        for number, _ in rows_to_send(result._replace(waves=[wave]))
    ] == [0] * is_static
    assert (result.row_count, len(rows_to_send(result))) == (2, 2)


def test_rows_with_vectors_that_an_index_refuses_are_left_out(
    implementation: Implementation,
) -> None:
    """A row whose vector the index refuses fails, and the other rows are sent."""
    columns = [COLUMNS[0], Column("v", lookup_casstype("VectorType(FloatType, 2)"))]
    prepared = prepared_insert(implementation, columns, [0])
    binder = binder_of(prepared, columns, Keys(partition=(0,), clustering=()))
    zeros, good = [0.0, 0.0], [1.0, 2.0]
    without_index = bound(binder, ("a", zeros))
    assert (without_index.row_count, without_index.failures) == (1, [])
    binder.indexed_vectors = [IndexedVector(1, "v", refuses_zeros=True, refuses_large=True)]
    result = bound(binder, ("a", good), ("b", zeros), ("c", None), ("d", zeros), ("e", good))
    assert [number for number, _ in rows_to_send(result)] == [0, 2, 4]
    assert [values[4:5] for _, values in rows_to_send(result)] == [b"a", b"c", b"e"]
    assert result.row_count == 3
    assert [number for number, _ in result.failures] == [1, 3]
    assert all("column 'v' has only zeros" in str(error) for _, error in result.failures)
    all_good = bound(binder, ("a", good), ("b", good))
    assert (len(rows_to_send(all_good)), all_good.failures) == (2, [])


def test_null_counters_are_left_as_they_are(implementation: Implementation) -> None:
    """A row adds only to the counters it has a value for; a row without any counter value fails."""
    columns = [COLUMNS[0], *(Column(name, CounterColumnType) for name in "mn")]
    prepared = prepared_insert(implementation, columns, [0])
    binder = binder_of(prepared, columns, Keys(partition=(0,), clustering=()))
    binder.counters = [1, 2]
    one, unset = struct.pack(">iq", 8, 1), struct.pack(">i", -2)
    result = bound(binder, ("a", 1, 1), ("b", None, 1), ("c", None, None), ("d", 1, None))
    assert rows_to_send(result) == [
        (0, b"\0\0\0\x01a" + one + one),
        (1, b"\0\0\0\x01b" + unset + one),
        (3, b"\0\0\0\x01d" + one + unset),
    ]
    # The sender checks `has_unset`, because older versions of the protocol lack unset values.
    assert all(group.block.has_unset for wave in result.waves for group in wave.groups)
    assert result.row_count == 3
    ((number, error),) = result.failures
    assert number == 2
    assert "it has no value for a counter ('m', 'n'), so there is nothing to add" in str(error)
    complete = bound(binder, ("a", 1, 1), ("b", 1, 1))
    assert (len(rows_to_send(complete)), complete.failures) == (2, [])
    assert not any(group.block.has_unset for wave in complete.waves for group in wave.groups)


class Record:
    """A row with keys that is not a Mapping, like the records of other database drivers."""

    def __init__(self, **values: Any) -> None:
        self._values = values

    def keys(self) -> Any:
        return self._values.keys()

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Any:
        return iter(self._values.values())

    def __getitem__(self, key: Any) -> Any:
        return self._values[key] if isinstance(key, str) else [*self._values.values()][key]


def test_rows_with_keys_are_bound_by_name(binder: Binder) -> None:
    """Rows with keys, such as those of sqlite3, pandas and numpy, are bound by name.

    They are treated like mappings.
    """
    numpy = pytest.importorskip("numpy")
    pandas = pytest.importorskip("pandas")
    connection = sqlite3.connect(":memory:")
    connection.row_factory = sqlite3.Row
    (row,) = connection.execute("SELECT 2 AS r, 'b' AS s, 1 AS c, 'a' AS p")
    connection.close()
    values: dict[str, Any] = {"r": 2, "s": "b", "c": 1, "p": "a"}
    (record,) = numpy.array([(2, "b", 1, "a")], dtype="i4,U1,i4,U1").astype(
        [("r", "i4"), ("s", "U1"), ("c", "i4"), ("p", "U1")]
    )
    rows = [row, Record(**values), PseudoNamedTupleRow(collections.OrderedDict(values)), record]
    result = bound(binder, ("a", 1, "b", 2), *rows, pandas.Series(values))
    assert not result.failures
    # All rows are bound to the same bytes as the mapping.
    ((_, bytes_of_mapping),) = rows_to_send(bound(binder, values))
    assert {row_bytes for _, row_bytes in rows_to_send(result)} == {bytes_of_mapping}
    # The values of a Series without names, and of other iterables, are bound by position.
    result = bound(binder, pandas.Series(["a", 1, "b", 2]), collections.deque(["a", 1, "b", 2]))
    assert not result.failures
    result = bound(binder, Record(**values, x=1))
    assert "it has a field 'x', which is not a column" in str(result.failures[0][1])


def test_iterables_are_bound_in_the_order_of_rows_without_names(
    implementation: Implementation,
) -> None:
    """An iterable without names is bound by position, like a tuple.

    The id is first in the rows, although its bind marker is second. The types of the columns
    differ, so a wrong order would give other bytes.
    """
    columns = [Column("n", lookup_cqltype("bigint")), Column("id", lookup_cqltype("int"))]
    prepared = prepared_insert(implementation, columns, [1])
    binder = binder_of(prepared, columns, Keys(partition=(1,), clustering=()), order=[1, 0])
    rows = [(7, 5), collections.deque((7, 5)), iter((7, 5))]
    assert len({values for _, values in rows_to_send(bound(binder, *rows))}) == 1


def test_names_that_are_not_strings_and_duplicate_names(implementation: Implementation) -> None:
    """A key that is not a string becomes a string.

    A row with two equal names is refused.
    """
    columns = [Column("id", lookup_cqltype("int"), is_key=True), Column("1", lookup_cqltype("int"))]
    prepared = prepared_insert(implementation, columns, [0])
    binder = binder_of(prepared, columns, Keys(partition=(0,), clustering=()))
    rows = bound(binder, {"id": 5, "1": 6}, {"id": 5, 1: 6})
    assert len({values for _, values in rows_to_send(rows)}) == 1
    result = bound(binder, {"id": 5, "1": 6, 1: 7}, row_class(["id", "1", "1"])(5, 6, 7))
    assert len(result.failures) == 2
    for _, error in result.failures:
        assert str(error).startswith("it has two fields with the name '1'.")


def test_rows_of_the_driver_have_the_names_of_their_columns(implementation: Implementation) -> None:
    """Rows of the driver are bound by column name, even if a field had to be renamed.

    "_x" and "class" cannot be field names of a named tuple.
    """
    names = ["id", "_x", "class"]
    columns = [Column(name, lookup_cqltype("int"), is_key=name == "id") for name in names]
    prepared = prepared_insert(implementation, columns, [0])
    binder = binder_of(prepared, columns, Keys(partition=(0,), clustering=()))
    row = row_class(names)(5, 6, 7)
    result = bound(binder, (5, 6, 7), row)
    assert not result.failures
    assert len({values for _, values in rows_to_send(result)}) == 1
    # A named tuple of the standard library does not record the original name of a field that it
    # renamed.
    make_class: Any = collections.namedtuple
    renamed = make_class("renamed", names, rename=True)
    result = bound(binder, renamed(5, 6, 7), {"id": 5})
    assert [(number, str(error)) for number, error in result.failures] == [
        (
            0,
            "it has no field '_x', which is written, but id, _1, _2: columns= says how the columns "
            "are called in the rows",
        )
    ]


def test_rows_that_are_sets_are_refused(binder: Binder) -> None:
    """A row that is a set is refused, because its values have no order."""
    values = ["a", "b", "c", "d"]
    result = bound(binder, set(values), frozenset(values), dict.fromkeys(values).keys())
    assert [number for number, _ in result.failures] == [0, 1, 2]
    type_names = ("set", "frozenset", "dict_keys")
    for (_, error), type_name in zip(result.failures, type_names, strict=True):
        assert str(error).startswith(f"a row is the {type_name} ")


@pytest.mark.parametrize("marker", ["[ttl]", "life"])
def test_a_dry_run_refuses_times_to_live_that_servers_refuse(
    implementation: Implementation, marker: str
) -> None:
    """A dry run fails rows whose TTL is negative or above the servers' limit of 20 years.

    The marker of ``USING TTL :life`` has the name "life".
    """
    columns = [COLUMNS[0], Column(marker, lookup_cqltype("int"))]
    prepared = prepared_insert(implementation, columns, [0])
    binder = binder_of(prepared, columns, Keys(partition=[0], clustering=[]), {marker: "ttl"})
    binder.ttl = 1
    binder.is_dry = True
    # Servers accept at most 20 years; 20 * 365 days are 630,720,000 s.
    result = bound(binder, ("a", 0), ("b", -1), ("c", 630_720_000), ("d", 630_720_001), ("e", None))
    assert [(number, str(error)) for number, error in result.failures] == [
        (1, "its time to live is -1 s, and servers take 0 to 630720000 s"),
        (3, "its time to live is 630720001 s, and servers take 0 to 630720000 s"),
    ]


@pytest.mark.parametrize("marker", ["[timestamp]", "at"])
def test_a_dry_run_refuses_null_write_times(implementation: Implementation, marker: str) -> None:
    """A dry run fails rows whose write time is null, also if its marker is named."""
    columns = [COLUMNS[0], Column(marker, lookup_cqltype("bigint"))]
    prepared = prepared_insert(implementation, columns, [0])
    binder = binder_of(prepared, columns, Keys(partition=[0], clustering=[]))
    binder.write_time = 1
    binder.is_dry = True
    result = bound(binder, ("a", 1_700_000_000_000_000), ("b", None))
    assert [(number, str(error)) for number, error in result.failures] == [
        (1, "its write time is null")
    ]


def test_the_first_write_time_is_checked(implementation: Implementation) -> None:
    """A load warns if its first write time looks like seconds or nanoseconds, and checks no other.

    Write times are in microseconds since 1970.
    """
    columns = [COLUMNS[0], Column("[timestamp]", lookup_cqltype("bigint"))]
    prepared = prepared_insert(implementation, columns, [0])
    seconds_of_2023 = 1_700_000_000
    microseconds_of_2023 = 1_700_000_000_000_000

    def warnings_of_load(*write_times: int) -> list[str]:
        """Bind a row with each write time, and return the messages of all warnings."""
        binder = binder_of(prepared, columns, Keys(partition=[0], clustering=[]))
        with warnings.catch_warnings(record=True) as records:
            warnings.simplefilter("always")
            for write_time in write_times:
                assert bound(binder, ("a", write_time)).row_count == 1
        return [str(record.message) for record in records]

    # A load warns once, so the second of these two write times causes no further warning.
    (warning,) = warnings_of_load(seconds_of_2023, seconds_of_2023 + 1)
    assert warning.startswith("row 0: its write time 1700000000 is in microseconds, so it is of 19")
    assert "if these are seconds, multiply by 1_000_000" in warning
    (warning,) = warnings_of_load(microseconds_of_2023 * 1000)
    assert "this row wins over all that is written later: if these are nanoseconds" in warning
    assert warnings_of_load(microseconds_of_2023, seconds_of_2023) == []


@pytest.mark.parametrize("is_dry", [False, True])
def test_a_row_without_its_write_time_fails(implementation: Implementation, is_dry: bool) -> None:
    """A row that lacks the field with its write time fails; a dry run also fails a null write time.

    Without its write time, the row would get the time of the load, and so replace newer values.
    Servers refuse null.
    """
    columns = [COLUMNS[0], Column("[timestamp]", lookup_cqltype("bigint"))]
    prepared = prepared_insert(implementation, columns, [0])
    keys, mapping = Keys(partition=[0], clustering=[]), {"[timestamp]": "at"}
    binder = binder_of(prepared, columns, keys, mapping)
    binder.is_dry = is_dry
    result = bound(
        binder,
        {"p": "a", "at": 1},
        {"p": "b"},
        ("c", UNSET_VALUE),
        ("d", None),
        {"p": "e", "at": 2},
    )
    # Row 1 has no write time, row 2 has an unset one, and row 3 has null.
    missing = "it has no field 'at', which is the row's write time"
    failures = [(1, missing), (2, missing), *([(3, "its write time is null")] if is_dry else [])]
    assert [(number, str(error)) for number, error in result.failures] == failures
    assert result.row_count == 5 - len(failures)
    if not is_dry:
        assert [number for number, _ in rows_to_send(result)] == [0, 3, 4]


@pytest.mark.parametrize("library", ["pandas", "pyarrow", "numpy"])
def test_failed_rows_of_a_table_are_found_among_tuples(
    binder: Binder, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows of a table that cannot be bound get the same errors, however the driver finds them.

    If rows fail, the driver converts the rows of the table to tuples, and binds the tuples. Binding
    a table takes milliseconds, whatever its size. So if the driver bound the table again for each
    failing row, a thousand failing rows would take seconds.
    """
    module = pytest.importorskip(library)
    size = 40
    # Every third row fails for "c", and every fifth for "r".
    c_values = [2**40 if number % 3 == 0 else number for number in range(size)]
    r_values = [2**40 if number % 5 == 0 else number for number in range(size)]
    columns = {"p": ["a"] * size, "c": c_values, "s": ["b"] * size, "r": r_values}
    table: Any
    if library == "numpy":
        types = [("p", object), ("c", "i8"), ("s", object), ("r", "i8")]
        table = module.array(list(zip(*columns.values(), strict=True)), dtype=types)
    else:
        table = module.DataFrame(columns) if library == "pandas" else module.table(columns)
    tables_bound: list[int] = []

    def counting_bind_rows(prepared: Any, rows: Any, is_plain: bool = False) -> Any:
        if not isinstance(rows, list):
            tables_bound.append(len(rows))
        return bind_rows(prepared, rows, is_plain)

    monkeypatch.setattr(binding, "bind_rows", counting_bind_rows)

    def outcome() -> tuple[list[tuple[int, str]], list[tuple[int, bytes]]]:
        """Bind the table, and return the errors by row number, and the rows to send."""
        tables_bound.clear()
        result = bound_table(binder, table, size)
        errors = [(number, str(error)) for number, error in result.failures]
        assert len(errors) + result.row_count == size
        return errors, rows_to_send(result)

    # A table of at most `_ROWS_OF_A_TABLE` rows is bound once; a larger table is divided first.
    monkeypatch.setattr(binding, "_ROWS_OF_A_TABLE", size)
    found_among_tuples = outcome()
    assert tables_bound == [size]
    monkeypatch.setattr(binding, "_ROWS_OF_A_TABLE", size - 1)
    assert outcome() == found_among_tuples
    assert tables_bound == [size, size // 2, size // 2]
    # With a limit of 0 rows, the table is divided until each part has a single row.
    monkeypatch.setattr(binding, "_ROWS_OF_A_TABLE", 0)
    assert outcome() == found_among_tuples
    assert len(tables_bound) > size
    numbers = [number for number, _ in found_among_tuples[0]]
    assert numbers == [number for number in range(size) if number % 3 == 0 or number % 5 == 0]
    # If a column cannot be read as Python objects, the failing rows are found by binding ever
    # smaller parts of the table.
    monkeypatch.setattr(binding, "_ROWS_OF_A_TABLE", size)

    def refuse(*args: object) -> Any:
        raise OverflowError("a value of the column")

    monkeypatch.setattr(binding, "rows_of", refuse)
    assert outcome() == found_among_tuples


def test_a_list_of_rows_in_place_of_a_row_gets_advice(binder: Binder) -> None:
    """Batches of rows are refused; the advice for single statements would be wrong here."""
    ((_, error),) = bound(binder, [("a", 1, "x", 2), ("b", 1, "y", 3), (), ()]).failures
    assert str(error).endswith("; this row is a list of rows: pass the rows themselves")


def test_a_row_of_collections_is_no_list_of_rows(implementation: Implementation) -> None:
    """If an element of a collection is wrong, the row gets no advice about lists of rows."""
    columns = [
        Column("p", ListType.apply_parameters((Int32Type,)), is_key=True),
        Column("v", ListType.apply_parameters((Int32Type,))),
    ]
    binder = binder_of(prepared_insert(implementation, columns, [0]), columns, Keys((0,), ()))
    ((_, error),) = bound(binder, ([1, 2], [3, "x"])).failures
    assert "list of rows" not in str(error)
    assert "the values of one row are bound here" not in str(error)


def test_rows_of_strings_get_advice(binder: Binder) -> None:
    """If all values of a failed row are strings, the error says that a load does not convert them.

    Applications get such rows from `csv.DictReader`. A load converts only the strings of files.
    """
    advice = "all values of this row are strings. A load converts strings to numbers, booleans"
    for row, has_advice in (
        (("a", "1", None, "2"), True),
        ({"p": "a", "c": "1"}, True),
        (("a", "1", None, 2), False),
        (["a", "1", "s", "2"], True),
        # The header of a `csv.reader`, or one of its rows, with fewer values than the table has
        # columns.
        (["p", "c", "r"], True),
        (["a", 1, "r"], False),
        ((), False),
    ):
        ((_, error),) = bound(binder, row).failures
        assert (advice in str(error)) is has_advice


def test_rows_without_names_get_advice_for_their_order(binder: Binder) -> None:
    """The error of a row without names shows the column order if the server's order is used.

    The server's order may differ from the order in CREATE TABLE.
    """
    advice = "values without names are in the order p, c, s, r, whatever their order in CREATE"
    for is_server_order in (False, True):
        binder.is_server_order = is_server_order
        ((_, error),) = bound(binder, ("a", "1", None, 2)).failures
        assert (advice in str(error)) is is_server_order
    ((_, error),) = bound(binder, {"p": "a", "c": "1", "r": 2}).failures
    assert advice not in str(error)


def test_rows_without_strings_get_no_advice_for_strings() -> None:
    """A row without any value is not a row of strings, so its error stays unchanged."""
    no_strings: list[Any] = [(), (None, None), {}]
    for row in no_strings:
        error = TypeError("refused")
        binding._advise_for_strings(error, row)
        assert str(error) == "refused"


def test_a_time_of_day_that_a_date_column_loses_is_warned_of_once(
    implementation: Implementation,
) -> None:
    """A Binder warns once if a date column drops the time of a datetime, whatever the rows' type.

    Midnight causes no warning, because nothing is lost.
    """
    columns = [COLUMNS[0], Column("d", lookup_cqltype("date"))]
    prepared = prepared_insert(implementation, columns, [0])
    NamedRow = collections.namedtuple("NamedRow", "d p")
    noon = datetime.datetime(2026, 11, 23, hour=12)
    midnight = datetime.datetime(2026, 11, 23)

    class Row:
        def __init__(self, day: object) -> None:
            self.p, self.d = "a", day

    def new_binder() -> Binder:
        return binder_of(prepared, columns, Keys(partition=[0], clustering=[]))

    forms: list[Callable[[object], object]] = [
        lambda day: ("a", day),
        lambda day: ["a", day],
        lambda day: {"d": day, "p": "a"},
        lambda day: NamedRow(day, "a"),
        Row,
    ]
    for make_row in forms:
        binder = new_binder()
        with warnings.catch_warnings(record=True) as records:
            warnings.simplefilter("always")
            for _ in range(2):
                result = bound(binder, *map(make_row, (midnight, None, noon, noon)))
                assert result.row_count == 4
                assert result.failures == []
        (record,) = records
        assert str(record.message).startswith("column 'd' is a date, ")
        assert "time of day (datetime)" in str(record.message)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert bound(new_binder(), *map(make_row, (midnight, None, midnight.date())))
    # The Binder checks the rows of a numpy array in a separate function.
    numpy = pytest.importorskip("numpy")
    array = numpy.array([["a", midnight], ["b", noon]], dtype=object)
    chunk = Chunk(
        array, size=2, source=None, first=0, lines=None, position=Position(0, 2), raw=None
    )
    with pytest.warns(RuntimeWarning, match=r"column 'd' is a date, .* \(object\)"):
        assert new_binder().bind_next(iter([chunk])) is not None
    # Integers in an array are refused, as in other tables.
    numbers = numpy.array([["a", 20000], ["b", None]], dtype=object)
    with pytest.raises(ValueError, match="column 'd' is a date, and the source has integers"):
        new_binder().bind_next(iter([chunk._replace(rows=numbers)]))


def test_a_converter_may_use_the_time_of_a_date_column(implementation: Implementation) -> None:
    """A datetime for a date column causes no warning if the application has a converter for it."""
    columns = [COLUMNS[0], Column("d", lookup_cqltype("date"))]
    prepared = prepared_insert(implementation, columns, [0])
    registry = CodecRegistry()
    registry.register_type("date", Converter(to_cql=datetime.datetime.date))
    prepared.codecs = registry
    assert registry.converters is not None
    prepared.bind_plan = implementation.bind.BindPlan(
        converted_columns(prepared.column_metadata, registry.converters), [0]
    )
    binder = binder_of(prepared, columns, Keys(partition=[0], clustering=[]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = bound(binder, ("a", datetime.datetime(2026, 11, 23, 12)))
    assert result.row_count == 1
    assert result.failures == []


class Model(pydantic.BaseModel):
    p: str
    c: int
    ss: str = "x"


@dataclasses.dataclass
class Data:
    p: str
    c: int
    ss: str = "x"


@pytest.mark.parametrize(
    "make", [Model, Data, SimpleNamespace, lambda **values: SimpleNamespace(ss="x", **values)]
)
def test_fields_of_objects_are_checked(
    implementation: Implementation, binder: Binder, make: Any
) -> None:
    """An object with a field that is not written is refused, unless the field is ignored.

    Fields that the option `columns` names must be there.
    """
    row = make(p="a", c=1)
    if hasattr(row, "ss"):
        ((_, error),) = bound(binder, row).failures
        assert f"it ({type(row).__name__}) has a field 'ss', which is not a column" in str(error)
        binder.ignored = {"ss"}
    result = bound(binder, row, {"p": "a", "c": 1})
    assert not result.failures
    assert len({values for _, values in rows_to_send(result)}) == 1
    # With `columns`, other fields are left out, and fields must not be missing.
    prepared = prepared_insert(implementation, COLUMNS[:3], [0])
    keys = Keys(partition=(0,), clustering=(1,))
    for mapping, field in (({"s": "ss"}, "ss"), ({"s": "full"}, "full"), ({}, "s")):
        selecting = binder_of(prepared, COLUMNS[:3], keys, mapping)
        result = bound(selecting, row)
        if hasattr(row, field):
            expected = bound(selecting, {"p": "a", "c": 1, "ss": "x"})
            assert rows_to_send(result) == rows_to_send(expected)
            continue
        ((number, error),) = result.failures
        assert number == 0
        assert f"it ({type(row).__name__}) has no field {field!r}, which is written" in str(error)


def test_objects_without_key_or_with_broken_properties_fail(binder: Binder) -> None:
    """If an object lacks a key column, or its property raises AttributeError, the row fails."""

    class Broken:
        p, c = "a", 1

        @property
        def s(self) -> str:
            raise AttributeError("lazy")

    result = bound(binder, SimpleNamespace(p="a"), Broken(), SimpleNamespace(), object())
    messages = [str(error) for _, error in result.failures]
    assert "(SimpleNamespace) has no field 'c', which is of the primary key" in messages[0]
    assert messages[1] == "the attribute 's' of Broken raises AttributeError: lazy"
    assert len(messages) == 4


def test_fields_that_a_user_defined_type_lacks_are_refused(implementation: Implementation) -> None:
    """An object with a field that its user-defined type does not have fails, with its column."""
    address = UserType.make_udt_class("ks", "addr", ("street", "zip"), (UTF8Type, Int32Type))
    columns = [Column("id", Int32Type, is_key=True), Column("home", address)]
    prepared = prepared_insert(implementation, columns, [0])
    binder = binder_of(prepared, columns, Keys(partition=(0,), clustering=()))
    good, bad = SimpleNamespace(street="x", zip=1), SimpleNamespace(stret="x", zip=1)
    rows = [(1, good), (1, bad), {"id": 1, "home": bad}, SimpleNamespace(id=1, home=bad)]
    result = bound(binder, *rows)
    assert [number for number, _ in result.failures] == [1, 2, 3]
    for _, error in result.failures:
        assert str(error).startswith("column 'home': SimpleNamespace has the field 'stret', which")
    assert [number for number, _ in rows_to_send(result)] == [0]


@pytest.mark.parametrize(
    ("key", "problem"),
    [
        (("a" * 65_535, "", "b" * 65_535), None),
        (("a" * 65_536, "", ""), "the partition key has 65536 bytes, and servers take at most"),
        (("a", "b" * 30_000, "c" * 35_536), "the clustering key has 65536 bytes"),
    ],
)
def test_a_dry_run_refuses_keys_that_are_too_long(
    implementation: Implementation, key: tuple[str, ...], problem: str | None
) -> None:
    """A dry run refuses a partition key or clustering columns of more than 65,535 bytes."""
    columns = [Column(name, lookup_cqltype("text"), is_key=True) for name in "pcd"]
    prepared = prepared_insert(implementation, columns, [0])
    binder = binder_of(prepared, columns, Keys(partition=(0,), clustering=(1, 2)))
    binder.is_dry = True
    failures = [str(error) for _, error in bound(binder, key).failures]
    assert len(failures) == (problem is not None)
    assert all(problem is not None and problem in failure for failure in failures)


def test_a_dry_run_counts_the_ends_of_columns_of_a_partition_key(
    implementation: Implementation,
) -> None:
    """If a partition key has several columns, a dry run adds three bytes to each, as servers do."""
    columns = [Column(name, lookup_cqltype("text"), is_key=True) for name in "pq"]
    prepared = prepared_insert(implementation, columns, [0, 1])
    binder = binder_of(prepared, columns, Keys(partition=(0, 1), clustering=()))
    binder.is_dry = True
    result = bound(binder, ("a" * 65_528, "b"), ("a" * 65_529, "b"))
    assert [number for number, _ in result.failures] == [1]
