"""Binding: Python values to the [value]s of an EXECUTE or BATCH, in one pass and in the caller's
thread.

A `BindPlan` is made once for a prepared statement: it holds a codec for each column. `bind` gives a
`ValuesBlock`, the bytes of all values behind each other, which never changes and goes as it is into
a body of any protocol version from 4 on. The values of many rows stand in a `RowsBlock`, which a
batch's body is made of in one go. The compiled twin is ``cassandra._accel.bind``.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from cassandra.cqltypes.failures import locate
from cassandra.cqltypes.missing import USUAL, is_missing
from cassandra.errors import UnsupportedOperation
from cassandra.protocol.primitives import NULL_VALUE, UNSET_MARK
from cassandra.protocol.records import locate_row, refuse_missing, values_of
from cassandra.sentinels import UNSET_VALUE

_int32 = struct.Struct(">i")
_pack = _int32.pack
_unpack = _int32.unpack_from


class ValuesBlock:
    """Bound values in the form in which they travel; immutable.

    count: how many. data: [value]s (length and body each) without the [short] count before them.
    has_unset: whether one of them is not set, which protocol version 3 cannot say.
    """

    __slots__ = ("count", "data", "has_unset")

    count: int
    data: bytes
    has_unset: bool

    def __init__(self, count: int, data: bytes, has_unset: bool = False) -> None:
        self.count = count
        self.data = data
        self.has_unset = has_unset

    def __len__(self) -> int:
        return self.count

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, ValuesBlock) and other.count == self.count and other.data == self.data
        )

    def __hash__(self) -> int:
        return hash((self.count, self.data))

    def __repr__(self) -> str:
        return f"<ValuesBlock of {self.count} values, {len(self.data)} bytes>"

    def _spans(self) -> list[tuple[int, int]]:
        """(offset of the body, its size or -1 or -2) of each value; ValueError where count and data
        do not go together.
        """
        pos = 0
        data = self.data
        spans = []
        for _ in range(self.count):
            if pos + 4 > len(data):
                raise ValueError(f"a block of {self.count} values ends in the middle of one")
            size: int = _unpack(data, pos)[0]
            pos += 4
            spans.append((pos, size))
            if size > 0:
                pos += size
        if pos > len(data):
            raise ValueError(f"a block of {self.count} values ends in the middle of one")
        return spans

    def values(self) -> list[Any]:
        """The body of each value as bytes, None for null, UNSET_VALUE for one that is not set."""
        data = self.data
        return [
            data[pos : pos + size] if size >= 0 else (None if size == -1 else UNSET_VALUE)
            for pos, size in self._spans()
        ]

    def routing_key(self, indexes: Sequence[int]) -> bytes | None:
        """The partition key's bytes from the values at `indexes`, in key order; None where one of
        them is null or not set.

        A key of one column is its value; one of several is, for each, a [short] length, the value
        and a zero byte.
        """
        spans = self._spans()
        data = self.data
        parts = []
        for index in indexes:
            if not 0 <= index < len(spans):
                raise ValueError(
                    f"routing key index {index}, where a block has {len(spans)} values"
                )
            pos, size = spans[index]
            if size < 0:
                return None
            parts.append(data[pos : pos + size])
        return composite_key(parts)


class RowsBlock:
    """The bound values of many rows of one statement.

    width: values a row. count: how many rows. has_unset: whether a value is not set. size: bytes of
    all values. rows: the values of rows that are there already, in the form in which they travel.
    """

    __slots__ = ("_rows", "count", "has_unset", "size", "width")

    count: int
    has_unset: bool
    size: int
    width: int

    def __init__(self, width: int, rows: Iterable[bytes] = (), has_unset: bool = False) -> None:
        self.width = width
        self.has_unset = has_unset
        self._rows = list(rows)
        self.count = len(self._rows)
        self.size = sum(map(len, self._rows))

    def __len__(self) -> int:
        return self.count

    def __repr__(self) -> str:
        return f"<RowsBlock of {self.count} rows x {self.width} values, {self.size} bytes>"

    def __reduce__(self) -> tuple[Any, ...]:
        return RowsBlock, (self.width, self._rows, self.has_unset)

    def reserve(self, rows: int) -> None:
        """That so many rows are expected in all: room is made for them with the first one. Without
        effect in Python.
        """

    def row(self, index: int) -> ValuesBlock:
        """The values of one row; IndexError where there is none."""
        if not 0 <= index < self.count:
            raise IndexError(f"row {index} of {self.count}")
        return ValuesBlock(self.width, self._rows[index], self.has_unset)

    def rows(self) -> list[ValuesBlock]:
        """The values of all rows, one by one."""
        return [ValuesBlock(self.width, data, self.has_unset) for data in self._rows]

    def append(self, values: ValuesBlock) -> None:
        """Another row; ValueError where it has another number of values."""
        if values.count != self.width:
            raise ValueError(f"a row of {values.count} values, where the others have {self.width}")
        self._rows.append(values.data)
        self.count += 1
        self.size += len(values.data)
        if values.has_unset:
            self.has_unset = True


def composite_key(parts: Sequence[bytes]) -> bytes | None:
    """The routing key of the partition key columns `parts`; None for none, ValueError for one of 64
    KiB or more among several.
    """
    if len(parts) <= 1:
        return parts[0] if parts else None
    joined = []
    for part in parts:
        if len(part) > 0xFFFF:
            raise ValueError(
                f"a partition key column of {len(part)} bytes; one of several has 65535 at most"
            )
        joined.append(len(part).to_bytes(2, "big") + part + b"\x00")
    return b"".join(joined)


class BindPlan:
    """How values are bound to the markers of one prepared statement; immutable, and shared by
    threads.

    columns: `ColumnMetadata` of each bind marker. routing_key_indexes: the markers that make up the
    partition key, in its order.
    """

    __slots__ = ("_encoders", "_kinds", "_names", "_positions", "columns", "routing_key_indexes")

    def __init__(
        self, columns: Sequence[Any], routing_key_indexes: Sequence[int] | None = None
    ) -> None:
        self.columns = tuple(columns)
        self.routing_key_indexes = tuple(routing_key_indexes) if routing_key_indexes else None
        for index in self.routing_key_indexes or ():
            if not 0 <= index < len(self.columns):
                raise ValueError(
                    f"routing key index {index}, where there are {len(self.columns)} bind markers"
                )
        encoders: list[Callable[[Any], bytes]] = [
            column.type.codec().encode for column in self.columns
        ]
        self._encoders = tuple(encoders)
        self._kinds: tuple[str, ...] = tuple(
            column.type.codec().cql_name for column in self.columns
        )
        self._names = tuple(column.name for column in self.columns)
        positions: dict[str, tuple[int, ...]] = {}
        for position, name in enumerate(self._names):
            positions[name] = (*positions.get(name, ()), position)
        self._positions = positions

    def bind(self, values: Sequence[object], version: int) -> ValuesBlock:
        """Encode `values`, one for each marker in order.

        On version 4 and later, markers past the end of a shorter sequence are not set. Raises
        ValueError for too many values (and, on version 3, for too few), `UnsupportedOperation` for
        UNSET_VALUE on version 3, and TypeError or ValueError, with the column's name and type, for
        a value that its type does not take.
        """
        encoders = self._encoders
        if type(values) is not tuple:
            # A snapshot: what a value's own code does to the list while it is encoded changes
            # nothing.
            values = as_values(values)
        given = len(values)
        missing = len(encoders) - given
        if missing < 0 or (missing and version < 4):
            raise self._miscount(given)
        parts = []
        has_unset = missing > 0
        for index, value in enumerate(values):
            if value is None:
                parts.append(NULL_VALUE)
            elif value is UNSET_VALUE:
                has_unset = True
                parts.append(UNSET_MARK)
            elif type(value) not in USUAL and is_missing(value, self._kinds[index]):
                parts.append(NULL_VALUE)
            else:
                try:
                    data = encoders[index](value)
                except Exception as error:
                    locate(error, column_place(self.columns[index]))
                    raise
                parts.append(_pack(len(data)))
                parts.append(data)
        if has_unset:
            if version < 4:
                raise UnsupportedOperation(
                    f"UNSET_VALUE needs protocol version 4 or higher; the connection speaks version {version}"
                )
            parts.append(UNSET_MARK * missing)
        return ValuesBlock(len(encoders), b"".join(parts), has_unset)

    def bind_mapping(self, values: Mapping[str, object], version: int) -> ValuesBlock:
        """Encode the values of `values` by the names of the markers.

        A marker that `values` does not name is not set on version 4 and later and a KeyError
        before. A name that no marker has is a ValueError. A name that stands for several markers is
        bound to each of them.
        """
        unknown = [name for name in values if name not in self._positions]
        if unknown:
            raise ValueError(
                f"values for {', '.join(map(repr, unknown))}, but the bind markers are {', '.join(self._names) or 'none'}"
            )
        if version < 4:
            absent = [name for name in self._names if name not in values]
            if absent:
                raise KeyError(
                    f"no value for column {absent[0]!r}, which protocol version {version} cannot leave unset"
                )
        return self.bind([values.get(name, UNSET_VALUE) for name in self._names], version)

    def bind_row(self, row: Any, version: int) -> ValuesBlock:
        """Encode one row: a sequence as `bind` takes it, a mapping or an object (see
        `cassandra.protocol.records.values_of`).

        Unlike `bind`, it refuses a row without the whole partition key.
        """
        key = self.routing_key_indexes
        kind = type(row)
        if kind is not tuple and kind is not list:
            row = values_of(row, self._names, version, key)
        if key and len(row) <= max(key):
            refuse_missing(
                self._names, next(place for place in key if place >= len(row)), key, version
            )
        return self.bind(row, version)

    def bind_into(self, block: RowsBlock, row: Any, version: int) -> None:
        """`bind_row`, to the end of `block`, which stays as it is where that fails."""
        block.append(self.bind_row(row, version))

    def bind_many(self, rows: Iterable[Any], version: int) -> RowsBlock:
        """`bind_row` of each of `rows`. Errors begin with the number of their row, counted from 0."""
        block = RowsBlock(len(self._encoders))
        for index, row in enumerate(rows):
            try:
                block.append(self.bind_row(row, version))
            except Exception as error:
                locate_row(error, index)
                raise
        return block

    def _miscount(self, given: int) -> ValueError:
        wanted = len(self._encoders)
        few_or_many = "Too many" if given > wanted else "Too few"
        return ValueError(
            f"{few_or_many} values for the statement's bind markers: {given} given, {wanted} wanted ({', '.join(self._names)})"
        )


def as_values(values: Any) -> tuple[Any, ...]:
    """A snapshot of the sequence `values`; TypeError for what is no sequence of values."""
    if isinstance(values, (str, bytes, bytearray, Mapping)):
        raise TypeError(
            f"values are {values!r} ({type(values).__name__}); they have to be a sequence, one for each bind marker"
        )
    return tuple(values)


def column_place(column: Any) -> str:
    """What stands in front of an error about a value for `column`: its name and CQL type."""
    return f'column "{column.name}" ({column.type.codec().cql_name})'
