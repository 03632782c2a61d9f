"""Binding: turns Python values into the [value]s of an EXECUTE or BATCH, in the caller's thread.

Each prepared statement has one `BindPlan`, which holds a codec for each column. `BindPlan.bind`
returns a `ValuesBlock`: the bytes of all values, one after another. The block is immutable, and
the bodies of all protocol versions from 4 on contain the same bytes. The values of many rows form a
`RowsBlock`; `cassandra.protocol.bodies.batch_body` copies a whole block into the body of a BATCH.
The compiled version of this module, in Cython, is ``cassandra._accel.bind``.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cassandra._impl import reduced
from cassandra.cqltypes.base import codec_in_order
from cassandra.cqltypes.failures import locate
from cassandra.cqltypes.missing import USUAL, is_missing
from cassandra.errors import UnsetUnsupported
from cassandra.protocol.marker_names import usual_names
from cassandra.protocol.primitives import NULL_VALUE, UNSET_MARK
from cassandra.protocol.records import (
    is_lone_text,
    locate_row,
    names_for,
    refuse_missing,
    values_of,
)
from cassandra.sentinels import UNSET_VALUE

if TYPE_CHECKING:
    from cassandra.protocol.column_specs import ColumnMetadata

_int32 = struct.Struct(">i")
_int32_pack = _int32.pack
_int32_at = _int32.unpack_from


class ValuesBlock:
    """Bound values, encoded as in a request; immutable.

    :param count: the number of values.
    :param data: for each value, its [int] length and its bytes. The [short] count, which precedes
        the values in a request, is not included.
    :param has_unset: True if at least one value is UNSET_VALUE. Such a block cannot be sent with
        protocol version 3.
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

    def __reduce__(self) -> tuple[Any, ...]:
        return reduced(self, ValuesBlock, "bind", self.count, self.data, self.has_unset)

    def _spans(self) -> list[tuple[int, int]]:
        """Return the offset and size of each value's bytes; the size is -1 for null, -2 for unset.

        Raises ValueError if `data` is too short for `count` values.
        """
        pos = 0
        data = self.data
        spans = []
        for _ in range(self.count):
            if pos + 4 > len(data):  # each value begins with an [int] length
                raise ValueError(f"a block of {self.count} values ends in the middle of one")
            size: int = _int32_at(data, pos)[0]
            pos += 4
            spans.append((pos, size))
            # Null (-1), unset (-2) and empty values (0) have no bytes after the length.
            if size > 0:
                pos += size
        # Check the end here, because slicing `data` beyond its end does not fail.
        if pos > len(data):
            raise ValueError(f"a block of {self.count} values ends in the middle of one")
        return spans

    def values(self, target: list[Any] | None = None) -> list[Any]:
        """Append each value to a list: its bytes, None if it is null, or UNSET_VALUE if not set.

        :param target: the list, which is also returned; None makes a new list.
        """
        data = self.data
        bodies = [
            data[pos : pos + size] if size >= 0 else (None if size == -1 else UNSET_VALUE)
            for pos, size in self._spans()
        ]
        if target is None:
            return bodies
        # Call `list.extend` directly: `target` may be a `SentValues`, whose own `extend` would also
        # change the statement.
        list.extend(target, bodies)
        return target

    def routing_key(self, indexes: Sequence[int]) -> bytes | None:
        """Return the bytes of the partition key, or None if one of its columns is null or not set.

        If the key has one column, these are the bytes of the column's value. If it has several
        columns, they are a [short] length, the value and a zero byte for each column.

        :param indexes: positions of the key columns among the values, in key order.
        """
        spans = self._spans()
        data = self.data
        parts = []
        for index in indexes:
            # Refuse a negative index, which a list would count from its end.
            if not 0 <= index < len(spans):
                raise ValueError(f"routing key index {index}, but a block has {len(spans)} values")
            pos, size = spans[index]
            if size < 0:
                return None
            parts.append(data[pos : pos + size])
        return composite_key(parts)


class RowsBlock:
    """The bound values of many rows of one statement.

    The attribute `count` is the number of rows. `size` is the number of bytes of all values.

    :param width: the number of values in a row.
    :param rows: the first rows of the block, as encoded values (`ValuesBlock.data`).
    :param has_unset: True if at least one value is UNSET_VALUE.
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
        return reduced(self, RowsBlock, "bind", self.width, self._rows, self.has_unset)

    def reserve(self, rows: int) -> None:
        """Allocate memory for `rows` rows in total. Only the compiled version does this."""

    def row(self, index: int) -> ValuesBlock:
        """Return the values of the row at `index`; raises IndexError if there is no such row."""
        if not 0 <= index < self.count:
            raise IndexError(f"row {index} of {self.count}")
        return ValuesBlock(self.width, self._rows[index], self.has_unset)

    def rows(self) -> list[ValuesBlock]:
        """Return a `ValuesBlock` for each row."""
        return [ValuesBlock(self.width, data, self.has_unset) for data in self._rows]

    def take(self, rows: Iterable[int]) -> RowsBlock:
        """Return a new block with some of this block's rows.

        :param rows: the positions of the rows to copy, counted from 0.
        :raises IndexError: if this block has no row at one of the positions.
        """
        row_data = []
        for index in rows:
            # Refuse a negative index, which a list would count from its end.
            if not 0 <= index < self.count:
                raise IndexError(f"row {index} of {self.count}")
            row_data.append(self._rows[index])
        # Copy `has_unset` instead of searching the copied rows for unset values: True does no harm
        # even if they have no unset value.
        return RowsBlock(self.width, row_data, self.has_unset)

    def append(self, values: ValuesBlock) -> None:
        """Append a row; raises ValueError if it does not have `width` values."""
        if values.count != self.width:
            raise ValueError(f"a row of {values.count} values, but the others have {self.width}")
        self._rows.append(values.data)
        self.count += 1
        self.size += len(values.data)
        if values.has_unset:
            self.has_unset = True


def composite_key(parts: Sequence[bytes]) -> bytes | None:
    """Return the routing key of the partition key columns `parts`, or None if there are none.

    :raises ValueError: if the key has several columns, and a value has more than 65,535 bytes.
    """
    if len(parts) <= 1:
        # The routing key of a single column is the column's value. With a length and a zero byte,
        # its token would differ from the server's.
        return parts[0] if parts else None
    joined = []
    for part in parts:
        # Each length is a [short]. Check it here, because `to_bytes` would raise an OverflowError
        # that does not say what is too long.
        if len(part) > 0xFFFF:
            raise ValueError(
                f"a partition key column of {len(part)} bytes; one of several has 65535 at most"
            )
        joined.append(len(part).to_bytes(2, "big") + part + b"\x00")
    return b"".join(joined)


class BindPlan:
    """Binds values to the markers of one prepared statement; immutable and shared by threads.

    As in the compiled version, the methods call each other as methods of `BindPlan`, so a subclass
    cannot change them by overriding one.

    :param columns: the `ColumnMetadata` of each bind marker.
    :param routing_key_indexes: positions of the markers of the partition key, in key order.
    :param strict: True refuses a mapping with a name that has no bind marker. False ignores the
        name.
    """

    __slots__ = (
        "_cql_names", "_encoders", "_names", "_usual_names", "columns", "routing_key_indexes",
        "strict",
    )  # fmt: skip

    def __init__(
        self,
        columns: Sequence[ColumnMetadata],
        routing_key_indexes: Sequence[int] | None = None,
        strict: bool = False,
    ) -> None:
        # Copy the columns: threads share this plan, and the caller may change its list later.
        self.columns = tuple(columns)
        self.routing_key_indexes = tuple(routing_key_indexes) if routing_key_indexes else None
        for index in self.routing_key_indexes or ():
            if not 0 <= index < len(self.columns):
                raise ValueError(
                    f"routing key index {index}, but there are {len(self.columns)} bind markers"
                )
        codecs = [column.type.codec() for column in self.columns]
        for index in self.routing_key_indexes or ():
            codecs[index] = codec_in_order(codecs[index], self.columns[index].type)
        encoders: list[Callable[[Any], bytes]] = [codec.encode for codec in codecs]
        self._encoders = tuple(encoders)
        self._cql_names: tuple[str, ...] = tuple(
            column.type.codec().cql_name for column in self.columns
        )
        # The names of the markers, in order. A name occurs twice if its marker does, as in ``WHERE
        # a = :x AND b = :x``.
        self._names = tuple(column.name for column in self.columns)
        # The names by which programs for Cassandra 5 bind the values; None for the same names.
        self._usual_names = usual_names(self._names)
        self.strict = strict

    def bind(self, values: Sequence[object], version: int) -> ValuesBlock:
        """Encode `values`, one for each bind marker in order.

        If there are fewer values than markers, the last markers are not set (UNSET_VALUE). Protocol
        version 3 has no UNSET_VALUE, and requires a value for each marker.

        :param values: the values by position.
        :param version: the protocol version of the connection.
        :raises ValueError: if there are too many values, if there are too few on version 3, or if a
            value is out of range.
        :raises TypeError: if a value does not fit the type of its column. The message names the
            column and its type.
        :raises UnsetUnsupported: for UNSET_VALUE on version 3.
        """
        encoders = self._encoders
        if type(values) is not tuple:
            # Copy the values, because encoding a value may run user code that changes the list.
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
            # Bind pandas.NA, masked values and the like as null. Values of the usual classes are
            # never missing, so skip the check for them.
            elif type(value) not in USUAL and is_missing(value, self._cql_names[index]):
                parts.append(NULL_VALUE)
            else:
                try:
                    data = encoders[index](value)
                except Exception as error:
                    locate(error, column_label(self.columns[index]))
                    raise
                parts.append(_int32_pack(len(data)))
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
        """Encode one row: a sequence, a mapping or an object with attributes.

        `cassandra.protocol.records.values_of` says how names are matched. Unlike `bind`, this
        method requires a value for each column of the partition key.

        :raises MissingParameter: if a column of the partition key is missing or UNSET_VALUE, or if
            a marker has no value on version 3. The class is both a KeyError and a ValueError.
        """
        key_indexes = self.routing_key_indexes
        row_type = type(row)
        if row_type is not tuple and row_type is not list:
            names: Sequence[str] = self._names
            if self._usual_names is not None:
                names = names_for(row, names, self._usual_names)
            row = values_of(row, names, version, key_indexes, self.strict)
        # If the row ends before the last column of the partition key, the error names the first key
        # column without a value.
        if key_indexes and len(row) <= max(key_indexes):
            refuse_missing(
                self._names,
                next(index for index in key_indexes if index >= len(row)),
                key_indexes,
                version,
            )
        block = BindPlan.bind(self, row, version)
        if key_indexes and block.has_unset:
            # Refuse an unset value in the partition key: without the whole key, the server cannot
            # find the row's partition.
            values = block.values()
            for index in key_indexes:
                if values[index] is UNSET_VALUE:
                    refuse_missing(self._names, index, key_indexes, version)
        return block

    def bind_into(self, block: RowsBlock, row: object, version: int) -> None:
        """Bind `row` and append it to `block`. If binding fails, `block` is unchanged."""
        block.append(BindPlan.bind_row(self, row, version))

    def bind_many(self, rows: Iterable[Any], version: int) -> RowsBlock:
        """Bind each row; an error's message begins with the number of the row, counted from 0."""
        block = RowsBlock(len(self._encoders))
        for index, row in enumerate(rows):
            try:
                block.append(BindPlan.bind_row(self, row, version))
            except Exception as error:
                locate_row(error, index)
                raise
        return block

    def _miscount(self, value_count: int) -> ValueError:
        """Return the error for a number of values that does not fit the bind markers."""
        marker_count = len(self._encoders)
        few_or_many = "Too many" if value_count > marker_count else "Too few"
        return ValueError(
            f"{few_or_many} values for the statement's bind markers: {value_count} given, "
            f"{marker_count} wanted ({', '.join(self._names)})"
        )


def as_values(values: Iterable[Any], marker_count: int = -1) -> tuple[Any, ...]:
    """Return the items of `values` as a tuple; raise TypeError for a string, bytes or a mapping.

    :param values: the values of a statement.
    :param marker_count: the number of bind markers. If it is 1, a string of one character is
        accepted as a sequence of one value, as in cassandra-driver.
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
    """Return the start of an error message: the column's name, its CQL type and the type's class.

    For example ``column "age" (int, Int32Type)``.
    """
    cql_type = column.type
    # The type is usually a class. If it is another object with a codec, show that object's class.
    class_name = getattr(cql_type, "__name__", type(cql_type).__name__)
    return f'column "{column.name}" ({cql_type.codec().cql_name}, {class_name})'
