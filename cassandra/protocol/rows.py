"""Row plans. A `RowPlan` decodes pages of rows, for one list of columns.

The rows of a page are sequences of [bytes], one for each column (native_protocol_v5.spec, section
4.2.5.2). A row plan decodes them in one pass into tuples, named tuples, dicts or columns. It checks
that no value goes past the end of the page. An error names the row (counted from 0) and the column,
and does not affect the connection. The compiled version of this module is
``cassandra._accel.rows``.
"""

from __future__ import annotations

import struct
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any

from cassandra._impl import reduced
from cassandra.cqltypes.codecs.base import begin_page
from cassandra.cqltypes.failures import fails_again
from cassandra.errors import DecodeError
from cassandra.protocol.rowclass import row_class

if TYPE_CHECKING:
    from cassandra.cqltypes.codecs.base import Codec

_int32_at = struct.Struct(">i").unpack_from
_uint16_at = struct.Struct(">H").unpack_from
_head_at = struct.Struct(">iii").unpack_from

# Constants of section 4.2.5.2 for `columns_end`: a kind of RESULT, a flag, and option ids of types.
_KIND_ROWS = 2
_GLOBAL_TABLES_SPEC = 1
_CUSTOM, _LAST_SIMPLE, _LIST, _MAP, _SET, _TUPLE = 0, 0x15, 0x20, 0x21, 0x22, 0x31
_INNER_TYPES = {_LIST: 1, _MAP: 2, _SET: 1}  # the number of types that follow each id


class RowBase(tuple[Any, ...]):
    """The base class of rows that are named tuples.

    For ``row["name"]``, the compiled version raises an error that shows how to write it, and for a
    misspelt column an error that lists the columns. This class does not: it would need Python
    methods, which would slow down each ``row[0]`` and ``row.name``.
    """

    __slots__ = ()


class EncodedRows:
    """The rows of one page, as bytes. They are decoded at the first access.

    :param body: the bytes that contain the rows.
    :param offset: the position of the first row in `body`.
    :param count: the number of rows.
    """

    __slots__ = ("_error", "_rows", "body", "count", "offset")

    def __init__(self, body: bytes, offset: int, count: int) -> None:
        self.body = body
        self.offset = offset
        self.count = count
        # Maps the name of a method of the row plan to the rows that this method has decoded. Only
        # the latest method stays in the dict. We use no lock: a signal handler may decode the rows
        # while the thread that it interrupts holds the lock, and would wait forever.
        self._rows: dict[str, list[Any]] = {}
        self._error: DecodeError | None = None  # if decoding failed

    def decode(self, row_plan: Any, method: str) -> list[Any]:
        """Return the rows that a row plan's method decodes.

        The rows are kept, together with the name of the method, and a further call with the same
        method returns them. If two threads decode the rows at the same time, both get the list that
        is stored first.

        :param row_plan: the `RowPlan` of the columns, or an object with the same methods.
        :param method: the name of a method of the row plan, for example "tuples".
        :raises DecodeError: if a value cannot be decoded; then also at each later call.
        """
        decoded = self._rows.get(method)
        if decoded is not None:
            return decoded
        self.check()
        try:
            rows: list[Any] = getattr(row_plan, method)(self.body, self.offset, self.count)
        except DecodeError as error:
            self._error = error
            self._rows.clear()
            raise
        rows = self._rows.setdefault(method, rows)
        # Drop the rows that were decoded by other methods.
        for other in list(self._rows):
            if other != method:
                self._rows.pop(other, None)
        return rows

    def check(self) -> None:
        """If an earlier `decode` has failed, raise its error again."""
        if self._error is not None:
            # Reset the traceback: otherwise, each access would add its frames to the traceback.
            raise self._error.with_traceback(None)

    def __reduce__(self) -> tuple[Any, ...]:
        # Pickle the encoded rows, because the class of decoded rows may not exist in the other
        # process.
        return reduced(self, EncodedRows, "rows", self.body, self.offset, self.count)


class RowPlan:
    """Decodes rows; immutable, and shared by threads.

    :param names: the columns' names.
    :param codecs: the codec of each column's type.
    """

    __slots__ = ("_codecs", "_columns", "_row_class", "names")

    names: tuple[str, ...]

    def __init__(self, names: Sequence[str], codecs: Sequence[Any]) -> None:
        if len(names) != len(codecs):
            raise ValueError(f"{len(names)} names and {len(codecs)} codecs")
        self.names = tuple(names)
        self._codecs = tuple(codecs)
        # For each column: (decode function, value for zero bytes). The value is _EMPTY_IS_VALUE if
        # zero bytes must be decoded like other bytes.
        self._columns = tuple((codec.decode, _value_of_no_bytes(codec)) for codec in codecs)
        self._row_class: type[Any] | None = None  # for `named_tuples`; None until needed

    def tuples(self, body: bytes, offset: int, row_count: int) -> list[Any]:
        """Decode the rows at `offset` into tuples; a `DecodeError` names the row and the column."""
        return self._decode_rows(body, offset, row_count, tuple)

    def named_tuples(self, body: bytes, offset: int, row_count: int) -> list[Any]:
        """Decode the rows into named tuples, whose fields are named after the columns."""
        cls = self._row_class
        if cls is None:
            cls = self._row_class = row_class(self.names)
        return self._decode_rows(body, offset, row_count, cls._make)

    def dicts(self, body: bytes, offset: int, row_count: int) -> list[Any]:
        """Decode the rows into dicts by column name, in the order of the columns."""
        return _dicts_by_name(self.names, self._decode_rows(body, offset, row_count, tuple))

    def ordered_dicts(self, body: bytes, offset: int, row_count: int) -> list[Any]:
        """Decode the rows into `OrderedDict`s by column name."""
        names = self.names
        return self._decode_rows(
            body, offset, row_count, lambda row: OrderedDict(zip(names, row, strict=True))
        )

    def columns(self, body: bytes, offset: int, row_count: int) -> list[list[Any]]:
        """Decode the page into columns; return a list of values for each column."""
        rows = self._decode_rows(body, offset, row_count, tuple)
        if not rows:
            return [[] for _ in self.names]
        return [list(column) for column in zip(*rows, strict=True)]

    def iterate(self, body: bytes, offset: int, row_count: int) -> Iterator[Any]:
        """Return an iterator of the rows as tuples, which decodes each row when it is requested."""
        # The generator is a separate method, so that this call raises the error for a bad count. A
        # generator would raise the error only when the first row is read.
        check_row_count(len(body), offset, row_count, len(self.names))
        return self._iterate(body, offset, row_count)

    def _iterate(self, body: bytes, offset: int, row_count: int) -> Iterator[Any]:
        for row in range(row_count):
            begin_page()  # `limits.null_cells` applies to each row separately
            values, offset = self._decode_row(body, offset, row)
            yield tuple(values)

    def _decode_row(self, body: bytes, pos: int, row: int) -> tuple[list[Any], int]:
        """Decode the row at `pos`; return its values and the offset of the next row."""
        start_of_row = pos
        values: list[Any] = []
        try:
            for decode, empty in self._columns:
                size, data, pos = _read_field(body, pos)
                if size < 0:
                    value = None
                elif size or empty is _EMPTY_IS_VALUE:
                    value = decode(data)
                else:
                    value = empty  # the value for zero bytes, usually None
                values.append(value)
        except Exception as error:
            if not self._fails_again(error, body, start_of_row, 0, tuple):
                raise
            raise self._decode_error(row, len(values), error) from error
        return values, pos

    def _decode_rows(
        self, body: bytes, offset: int, row_count: int, make_row: Callable[[list[Any]], Any]
    ) -> list[Any]:
        """Decode all rows; `make_row` converts the list of a row's values to the row."""
        columns = self._columns
        check_row_count(len(body), offset, row_count, len(columns))
        begin_page()
        # The code of `_read_field` is repeated here, because a call for each value would be slower.
        read_size = _int32_at
        end = len(body)
        pos = offset
        rows: list[Any] = []
        row: list[Any] = []
        try:
            for _ in range(row_count):
                row = []
                for decode, empty in columns:
                    size = read_size(body, pos)[0]
                    start = pos + 4
                    if size > 0:
                        pos = start + size
                        if pos > end:
                            raise DecodeError(f"its {size} bytes go past the end of the page")
                        row.append(decode(body[start:pos]))
                    else:
                        pos = start
                        if size < 0:
                            row.append(None)
                        elif empty is _EMPTY_IS_VALUE:
                            row.append(decode(b""))
                        else:
                            row.append(empty)  # the value for zero bytes, usually None
                rows.append(make_row(row))
        except Exception as error:
            if not self._fails_again(error, body, offset, len(rows), make_row):
                raise
            # `rows` and `row` have the values that were decoded before the error, so their lengths
            # are the numbers of the row and the column that failed.
            raise self._decode_error(len(rows), len(row), error) from error
        return rows

    def _fails_again(
        self,
        error: Exception,
        body: bytes,
        offset: int,
        row: int,
        make_row: Callable[[list[Any]], Any],
    ) -> bool:
        """Return True if a value of a row has caused `error`, and not a signal handler, say.

        :param offset: the offset of the first row.
        :param row: the number of the row at which the error was raised.
        :param make_row: converts the list of the row's values to the row.
        """

        def convert() -> None:
            pos = offset
            for _ in range(row * len(self._columns)):
                pos = _read_field(body, pos)[2]
            values = []
            for decode, empty in self._columns:
                size, data, pos = _read_field(body, pos)
                is_decoded = size > 0 or (size == 0 and empty is _EMPTY_IS_VALUE)
                values.append(decode(data) if is_decoded else None)
            make_row(values)

        # Errors of these two classes always come from the data, so the row need not be decoded
        # again.
        return isinstance(error, (DecodeError, struct.error)) or fails_again(error, convert)

    def _decode_error(self, row: int, column: int, error: Exception) -> DecodeError:
        """Return an error that names the row and column at which `error` was raised."""
        if isinstance(error, struct.error):
            error = DecodeError("its length goes past the end of the page")
        # All values of the row were decoded, so the function that makes the row has failed.
        if column >= len(self.names):
            return DecodeError(f"row {row}: {error}")
        return DecodeError(
            f'row {row}, column "{self.names[column]}" ({self._codecs[column].cql_name}): {error}'
        )


def _dicts_by_name(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[dict[str, Any]]:
    """Return rows as dicts; each row must have as many values as there are names."""
    # map() runs no Python code for each row. A loop with a check would take twice as long.
    return list(map(dict, map(zip, repeat(names), rows)))


def named_tuples_of(names: Sequence[str], rows: Iterable[Iterable[Any]]) -> list[Any]:
    """Return a row of `row_class` for each row.

    :param names: the names of the columns.
    :param rows: the values of each row, in the order of the names.
    :raises TypeError: if a row has more values than there are names, or fewer.
    """
    return list(map(row_class(names)._make, rows))


def dicts_of(names: Sequence[str], rows: Iterable[Iterable[Any]]) -> list[dict[str, Any]]:
    """Return a dict for each row, with the values by name.

    :param names: the names of the values.
    :param rows: the values of each row, in the order of the names.
    :raises ValueError: if a row has more values than there are names, or fewer.
    """
    row_list: list[Any] = list(rows)
    if not row_list:  # a result without columns may have no names at all
        return []
    keys = tuple(names)
    # A faster way for tuples of the right length: almost all rows are such tuples.
    if all(type(row) is tuple for row in row_list) and {*map(len, row_list)} == {len(keys)}:
        return _dicts_by_name(keys, row_list)
    return [dict(zip(keys, row, strict=True)) for row in row_list]


_EMPTY_IS_VALUE = object()  # marks columns in which zero bytes are decoded like other bytes


def _read_field(body: bytes, pos: int) -> tuple[int, bytes, int]:
    """Read the [bytes] at `pos`; return (size, bytes, offset of the next field).

    The size is negative for a null.
    """
    size: int = _int32_at(body, pos)[0]
    pos += 4
    if size <= 0:
        return size, b"", pos
    data = body[pos : pos + size]
    if len(data) < size:
        raise DecodeError(f"its {size} bytes go past the end of the page")
    return size, data, pos + size


def shared_columns(
    readers: Sequence[Callable[[bytes], Any]], body: bytes, offset: int, row_count: int
) -> list[list[Any]]:
    """Decode a page into columns, for pages in which values are often the same as in the last row.

    :param readers: for each column, a function that decodes a value. It is not called for a null,
        which becomes None. It is not called either if the bytes equal the bytes in the previous
        row: then the value is the same object as in that row.
    :param body: the bytes that contain the rows.
    :param offset: the position of the first row in `body`.
    :param row_count: the number of rows.
    :returns: a list of values for each column.
    :raises DecodeError: if a value goes past the end of the page. Errors of `readers` are raised
        unchanged.
    """
    check_row_count(len(body), offset, row_count, len(readers))
    columns: list[list[Any]] = [[] for _ in readers]
    # The cells of the previous row. Before the first row, these are nulls.
    previous_cells: list[tuple[int, bytes]] = [(-1, b"")] * len(readers)
    values: list[Any] = [None] * len(readers)
    for row in range(row_count):
        for index, read in enumerate(readers):
            try:
                size, data, offset = _read_field(body, offset)
            except struct.error:
                raise DecodeError(
                    f"row {row}, column {index}: its length goes past the end of the page"
                ) from None
            except DecodeError as error:
                raise DecodeError(f"row {row}, column {index}: {error}") from None
            cell = (max(size, -1), data)  # every negative size is null
            if cell != previous_cells[index]:
                values[index] = read(data) if size >= 0 else None
                previous_cells[index] = cell
            columns[index].append(values[index])
    return columns


def columns_end(body: bytes, pos: int) -> int:
    """Return the offset after the column specs of the RESULT at `pos`, or 0.

    A cache of metadata uses the bytes up to this offset as its key, so these bytes must determine
    the columns. The offset is 0 if they do not: if the result has a paging state or a new metadata
    id, or if a column contains a UDT (which depends on the registered classes). It is also 0 if the
    result is not ROWS, or is malformed.

    :param body: the body of a RESULT.
    :param pos: the offset of its <kind>.
    """
    if type(body) is not bytes or pos < 0:
        return 0
    try:
        kind, flags, count = _head_at(body, pos)
        if kind != _KIND_ROWS or flags & ~_GLOBAL_TABLES_SPEC:
            return 0
        pos += 12  # the kind, the flags and the count: an [int] each
        if flags:  # the keyspace and table come once, before all columns
            pos = _end_of_string(body, _end_of_string(body, pos))
        for _ in range(count):
            if not flags:
                pos = _end_of_string(body, _end_of_string(body, pos))
            pos = _end_of_string(body, pos)
            # `types_left` is the number of types that still follow for this column: a composed type
            # is followed by the types inside it.
            types_left = 1
            while types_left:
                code = _uint16_at(body, pos)[0]
                pos += 2
                types_left -= 1
                if code == _CUSTOM:
                    pos = _end_of_string(body, pos)
                elif code == _TUPLE:
                    types_left += _uint16_at(body, pos)[0]
                    pos += 2
                elif code > _LAST_SIMPLE:
                    types_left += _INNER_TYPES[code]
    except (struct.error, LookupError):
        return 0
    return pos if pos <= len(body) else 0


def _end_of_string(body: bytes, pos: int) -> int:
    """Return the offset after the [string] at `pos`."""
    size: int = _uint16_at(body, pos)[0]
    return pos + 2 + size


def _value_of_no_bytes(codec: Codec) -> object:
    """Return a row plan's value for zero bytes, or _EMPTY_IS_VALUE if they must be decoded."""
    if codec.empty_is_value:
        return _EMPTY_IS_VALUE
    return codec.legacy_empty


def check_row_count(size: int, offset: int, row_count: int, column_count: int) -> None:
    """Raise `DecodeError` if the body is too short for this number of rows.

    Each value has at least four bytes. Call this before you allocate memory for the rows.

    :param size: the size of the body in bytes.
    :param offset: the offset of the first row.
    :param row_count: the number of rows.
    :param column_count: the number of columns.
    """
    # Refuse rows without columns: they would take no bytes, so the size of the body would not limit
    # their number.
    if (
        offset < 0
        or row_count < 0
        or row_count * column_count * 4 > size - offset
        or (row_count and not column_count)
    ):
        raise DecodeError(
            f"{row_count} rows of {column_count} columns are to follow at offset {offset} of a "
            f"body of {size} bytes"
        )
