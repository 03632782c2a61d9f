"""Binding: turns Python values into the [value]s of an EXECUTE or BATCH, in the caller's thread.

A `BindPlan` is made once for a prepared statement and holds a codec for each column. `bind` gives a
`ValuesBlock`: the bytes of all values in one piece. It never changes, and goes unchanged into a
body of any protocol version from 4 on. The values of many rows form a `RowsBlock`, from which a
batch's body is made in one step. The compiled twin is ``cassandra._accel.bind``.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cassandra.cqltypes.failures import locate
from cassandra.cqltypes.missing import USUAL, is_missing
from cassandra.errors import UnsetUnsupported
from cassandra.protocol.primitives import NULL_VALUE, UNSET_MARK
from cassandra.protocol.records import is_lone_text, locate_row, refuse_missing, values_of
from cassandra.sentinels import UNSET_VALUE

if TYPE_CHECKING:
    from cassandra.protocol.column_specs import ColumnMetadata

_int32 = struct.Struct(">i")
_pack = _int32.pack
_unpack = _int32.unpack_from


class ValuesBlock:
    """Bound values in the form of the wire; immutable.

    :param count: number of values.
    :param data: the [value]s, length and body each, without the [short] count before them.
    :param has_unset: True if a value is not set, which protocol version 3 cannot say.
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
        """Return (offset of the body, its size or -1 or -2) of each value.

        Raises ValueError if count and data do not fit each other.
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
            # -1 and -2 have no body, and a size of 0 has an empty one: none of them moves the
            # position.
            if size > 0:
                pos += size
        # A body is cut by slicing, which does not fail beyond the end; so the end is checked once.
        if pos > len(data):
            raise ValueError(f"a block of {self.count} values ends in the middle of one")
        return spans

    def values(self) -> list[Any]:
        """Return each value's body as bytes, None for null, or UNSET_VALUE if it is not set."""
        data = self.data
        return [
            data[pos : pos + size] if size >= 0 else (None if size == -1 else UNSET_VALUE)
            for pos, size in self._spans()
        ]

    def routing_key(self, indexes: Sequence[int]) -> bytes | None:
        """Return the partition key's bytes, or None if one of its columns is null or not set.

        A key of one column is its value. A key of several columns has, for each, a [short] length,
        the value and a zero byte.

        :param indexes: positions of the key columns among the values, in key order.
        """
        spans = self._spans()
        data = self.data
        parts = []
        for index in indexes:
            # Python would silently take a negative index from the end.
            if not 0 <= index < len(spans):
                raise ValueError(f"routing key index {index}, but a block has {len(spans)} values")
            pos, size = spans[index]
            if size < 0:
                return None
            parts.append(data[pos : pos + size])
        return composite_key(parts)


class RowsBlock:
    """The bound values of many rows of one statement.

    The attribute `count` is the number of rows, and `size` the bytes of all values.

    :param width: number of values in a row.
    :param rows: values of rows that are there already, in the form of the wire.
    :param has_unset: True if a value is not set.
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
        return type(self), (self.width, self._rows, self.has_unset)

    def reserve(self, rows: int) -> None:
        """Announce the total number of rows: room is made for them at once. No effect in Python."""

    def row(self, index: int) -> ValuesBlock:
        """Return the values of one row; raises IndexError if it does not exist."""
        if not 0 <= index < self.count:
            raise IndexError(f"row {index} of {self.count}")
        return ValuesBlock(self.width, self._rows[index], self.has_unset)

    def rows(self) -> list[ValuesBlock]:
        """Return the values of all rows, one by one."""
        return [ValuesBlock(self.width, data, self.has_unset) for data in self._rows]

    def take(self, rows: Iterable[int]) -> RowsBlock:
        """Return a block of some of the rows.

        :param rows: their positions, from 0.
        :raises IndexError: if there is no such row.
        """
        taken = []
        for index in rows:
            if not 0 <= index < self.count:
                raise IndexError(f"row {index} of {self.count}")
            taken.append(self._rows[index])
        return RowsBlock(self.width, taken, self.has_unset)

    def append(self, values: ValuesBlock) -> None:
        """Append a row; raises ValueError if it has another number of values."""
        if values.count != self.width:
            raise ValueError(f"a row of {values.count} values, but the others have {self.width}")
        self._rows.append(values.data)
        self.count += 1
        self.size += len(values.data)
        if values.has_unset:
            self.has_unset = True


def composite_key(parts: Sequence[bytes]) -> bytes | None:
    """Return the routing key of the partition key columns `parts`, or None if there are none.

    Raises ValueError if one of several columns has more than 65,535 bytes.
    """
    if len(parts) <= 1:
        # The only column stands alone: with length and end it would have another token.
        return parts[0] if parts else None
    joined = []
    for part in parts:
        # Servers write a [short] before each part; to_bytes would raise a bare OverflowError.
        if len(part) > 0xFFFF:
            raise ValueError(
                f"a partition key column of {len(part)} bytes; one of several has 65535 at most"
            )
        joined.append(len(part).to_bytes(2, "big") + part + b"\x00")
    return b"".join(joined)


class BindPlan:
    """Binds values to the markers of one prepared statement; immutable and shared by threads.

    :param columns: the `ColumnMetadata` of each bind marker.
    :param routing_key_indexes: positions of the markers of the partition key, in key order.
    :param strict: True refuses mappings with names that have no bind marker; else those names are
        ignored.
    """

    __slots__ = ("_encoders", "_kinds", "_names", "columns", "routing_key_indexes", "strict")

    def __init__(
        self,
        columns: Sequence[ColumnMetadata],
        routing_key_indexes: Sequence[int] | None = None,
        strict: bool = False,
    ) -> None:
        # A copy: threads share the bind plan, and the caller's list may still change.
        self.columns = tuple(columns)
        self.routing_key_indexes = tuple(routing_key_indexes) if routing_key_indexes else None
        for index in self.routing_key_indexes or ():
            if not 0 <= index < len(self.columns):
                raise ValueError(
                    f"routing key index {index}, but there are {len(self.columns)} bind markers"
                )
        encoders: list[Callable[[Any], bytes]] = [
            column.type.codec().encode for column in self.columns
        ]
        self._encoders = tuple(encoders)
        self._kinds: tuple[str, ...] = tuple(
            column.type.codec().cql_name for column in self.columns
        )
        # A name may stand for several markers: ``WHERE a = :x AND b = :x``.
        self._names = tuple(column.name for column in self.columns)
        self.strict = strict

    def bind(self, values: Sequence[object], version: int) -> ValuesBlock:
        """Encode `values`, one for each marker in order.

        On version 4 and later, markers past the end of a shorter sequence are not set.

        :param values: the values by position.
        :param version: protocol version of the connection.
        :raises ValueError: for too many values, and on version 3 for too few; or if a value is out
            of range.
        :raises TypeError: if a value does not fit its type. The message has the column's name and
            type.
        :raises UnsetUnsupported: for UNSET_VALUE on version 3.
        """
        encoders = self._encoders
        if type(values) is not tuple:
            # A snapshot: a value's own code may change the list while it is encoded.
            values = as_values(values, len(encoders))
        value_count = len(values)
        missing = len(encoders) - value_count
        if missing < 0 or (missing and version < 4):
            raise self._miscount(value_count)
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
                    locate(error, column_label(self.columns[index]))
                    raise
                parts.append(_pack(len(data)))
                parts.append(data)
        if has_unset:
            if version < 4:
                raise UnsetUnsupported(
                    "UNSET_VALUE needs protocol version 4 or higher; "
                    f"the connection speaks version {version}"
                )
            parts.append(UNSET_MARK * missing)
        return ValuesBlock(len(encoders), b"".join(parts), has_unset)

    def bind_row(self, row: Any, version: int) -> ValuesBlock:
        """Encode one row: a sequence, a mapping or an object.

        See `cassandra.protocol.records.values_of`. Unlike `bind`, it refuses a row without the
        whole partition key.

        :raises MissingParameter: a KeyError and a ValueError, if a column of the partition key is
            missing or UNSET_VALUE, or if a marker has no value on version 3.
        """
        key = self.routing_key_indexes
        kind = type(row)
        if kind is not tuple and kind is not list:
            row = values_of(row, self._names, version, key, self.strict)
        if key and len(row) <= max(key):
            refuse_missing(
                self._names, next(index for index in key if index >= len(row)), key, version
            )
        block = self.bind(row, version)
        if key and block.has_unset:
            values = block.values()
            for index in key:
                if values[index] is UNSET_VALUE:
                    refuse_missing(self._names, index, key, version)
        return block

    def bind_into(self, block: RowsBlock, row: object, version: int) -> None:
        """Bind `row` and append it to `block`, which stays as it is if that fails."""
        block.append(self.bind_row(row, version))

    def bind_many(self, rows: Iterable[Any], version: int) -> RowsBlock:
        """Bind each of `rows`. Errors begin with the number of their row, counted from 0."""
        block = RowsBlock(len(self._encoders))
        for index, row in enumerate(rows):
            try:
                block.append(self.bind_row(row, version))
            except Exception as error:
                locate_row(error, index)
                raise
        return block

    def _miscount(self, value_count: int) -> ValueError:
        marker_count = len(self._encoders)
        few_or_many = "Too many" if value_count > marker_count else "Too few"
        return ValueError(
            f"{few_or_many} values for the statement's bind markers: {value_count} given, "
            f"{marker_count} wanted ({', '.join(self._names)})"
        )


def as_values(values: Iterable[Any], marker_count: int = -1) -> tuple[Any, ...]:
    """Return a snapshot of the sequence `values`; TypeError if it is not a sequence.

    :param marker_count: the number of bind markers: a text of one character does for one.
    """
    if isinstance(values, (str, bytes, bytearray, Mapping)) and not is_lone_text(
        values, marker_count
    ):
        raise TypeError(
            f"values are {values!r} ({type(values).__name__}); they have to be a sequence, "
            "one for each bind marker"
        )
    return tuple(values)


def column_label(column: ColumnMetadata) -> str:
    """Return the beginning of an error about a value for `column`: its name, CQL type and class."""
    kind = column.type
    # The class has a name; an object that stands in for one may have none.
    class_name = getattr(kind, "__name__", type(kind).__name__)
    return f'column "{column.name}" ({kind.codec().cql_name}, {class_name})'
