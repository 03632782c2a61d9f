"""Row plans: the decoder of a page of rows (native_protocol_v5.spec, section 4.2.5.2).

A row plan is made once for a list of columns. A page holds row_count times a [bytes] for each
column. It reads them in one pass into tuples, named tuples, dicts or columns. Every length is
checked against the rest of the body. An error names the row (from 0) and the column, and does not
affect the connection. The compiled twin is ``cassandra._accel.rows``.
"""

from __future__ import annotations

import struct
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any

from cassandra.cqltypes.codecs.base import begin_page
from cassandra.errors import DecodeError
from cassandra.protocol.rowclass import row_class

if TYPE_CHECKING:
    from cassandra.cqltypes.codecs.base import Codec

_int32_at = struct.Struct(">i").unpack_from
_uint16_at = struct.Struct(">H").unpack_from
_head_at = struct.Struct(">iii").unpack_from

# Of section 4.2.5.2 of the specification: a kind, a flag, and ids of types.
_KIND_ROWS = 2
_GLOBAL_TABLES_SPEC = 1
_CUSTOM, _LAST_SIMPLE, _LIST, _MAP, _SET, _TUPLE = 0, 0x15, 0x20, 0x21, 0x22, 0x31
_ELEMENTS = {_LIST: 1, _MAP: 2, _SET: 1}


class RowBase(tuple[Any, ...]):
    """The base class of rows that are named tuples.

    The compiled one names the right spelling if a row is asked for a column by ``row["name"]``.
    This one leaves the error to `tuple`: a method of Python would slow down each ``row[0]``.
    """

    __slots__ = ()


class RowPlan:
    """Decodes the rows of one list of columns; immutable, and shared by threads.

    :param names: the columns' names.
    :param codecs: the codecs of their types, as many.
    """

    __slots__ = ("_codecs", "_columns", "_row_class", "names")

    names: tuple[str, ...]

    def __init__(self, names: Sequence[str], codecs: Sequence[Any]) -> None:
        if len(names) != len(codecs):
            raise ValueError(f"{len(names)} names and {len(codecs)} codecs")
        self.names = tuple(names)
        self._codecs = tuple(codecs)
        # (decode function, result for zero bytes if the type has no empty value: _EMPTY_IS_VALUE)
        self._columns = tuple((codec.decode, _empty_of(codec)) for codec in codecs)
        self._row_class: type[Any] | None = None

    def tuples(self, body: bytes, offset: int, row_count: int) -> list[Any]:
        """Return the rows at `offset` as tuples; a `DecodeError` names row and column."""
        return self._rows(body, offset, row_count, tuple)

    def named_tuples(self, body: bytes, offset: int, row_count: int) -> list[Any]:
        """Return the rows as named tuples, of the class made once for these names."""
        kind = self._row_class
        if kind is None:
            kind = self._row_class = row_class(self.names)
        return self._rows(body, offset, row_count, kind._make)

    def dicts(self, body: bytes, offset: int, row_count: int) -> list[Any]:
        """Return the rows as dicts by column name, in column order."""
        return _by_name(self.names, self._rows(body, offset, row_count, tuple))

    def ordered_dicts(self, body: bytes, offset: int, row_count: int) -> list[Any]:
        """Return the rows as `OrderedDict`s by column name."""
        names = self.names
        return self._rows(
            body, offset, row_count, lambda row: OrderedDict(zip(names, row, strict=True))
        )

    def columns(self, body: bytes, offset: int, row_count: int) -> list[list[Any]]:
        """Return the page by columns: a list of values for each."""
        rows = self._rows(body, offset, row_count, tuple)
        if not rows:
            return [[] for _ in self.names]
        return [list(column) for column in zip(*rows, strict=True)]

    def iterate(self, body: bytes, offset: int, row_count: int) -> Iterator[Any]:
        """Return an iterator of the rows as tuples, each decoded when it is reached."""
        # A generator of its own, so that a bad count is refused by this call and not by the first
        # row.
        check_row_count(len(body), offset, row_count, len(self.names))
        return self._iterate(body, offset, row_count)

    def _iterate(self, body: bytes, offset: int, row_count: int) -> Iterator[Any]:
        for row in range(row_count):
            begin_page()
            values, offset = self._row(body, offset, row)
            yield tuple(values)

    def _row(self, body: bytes, pos: int, row: int) -> tuple[list[Any], int]:
        """Return the values of the row at `pos`, and the offset of the next one."""
        values: list[Any] = []
        try:
            for decode, empty in self._columns:
                size, data, pos = _field(body, pos)
                values.append(
                    None
                    if size < 0
                    else decode(data)
                    if size or empty is _EMPTY_IS_VALUE
                    else empty
                )
        except Exception as error:
            raise self._error(row, len(values), error) from error
        return values, pos

    def _rows(
        self, body: bytes, offset: int, row_count: int, make: Callable[[list[Any]], Any]
    ) -> list[Any]:
        columns = self._columns
        check_row_count(len(body), offset, row_count, len(columns))
        begin_page()
        # The reading of a [bytes] is written out here: a call for each value would be slower.
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
                        row.append(
                            None if size < 0 else decode(b"") if empty is _EMPTY_IS_VALUE else empty
                        )
                rows.append(make(row))
        except Exception as error:
            # The lengths tell the place, so the loop need not count rows and columns.
            raise self._error(len(rows), len(row), error) from error
        return rows

    def _error(self, row: int, column: int, error: Exception) -> DecodeError:
        if isinstance(error, struct.error):
            error = DecodeError("its length goes past the end of the page")
        if column >= len(self.names):
            return DecodeError(f"row {row}: {error}")
        return DecodeError(
            f'row {row}, column "{self.names[column]}" ({self._codecs[column].cql_name}): {error}'
        )


def _by_name(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[dict[str, Any]]:
    """Return rows of the right length as dicts."""
    # Without a frame, a loop or a check of Python for each row, which would double the time.
    return list(map(dict, map(zip, repeat(names), rows)))


def dicts_of(names: Sequence[str], rows: Iterable[Iterable[Any]]) -> list[dict[str, Any]]:
    """Return rows as dicts by these names.

    :param rows: the values of each row, in the order of the names.
    :raises ValueError: if a row has more values than there are names, or fewer.
    """
    row_list: list[Any] = list(rows)
    if not row_list:  # a result without columns may have no names at all
        return []
    keys = tuple(names)
    if all(type(row) is tuple for row in row_list) and {*map(len, row_list)} == {len(keys)}:
        return _by_name(keys, row_list)
    return [dict(zip(keys, row, strict=True)) for row in row_list]


_EMPTY_IS_VALUE = object()


def _field(body: bytes, pos: int) -> tuple[int, bytes, int]:
    """Return (size, bytes, offset of the next one) of the [bytes] at `pos`.

    The size of a null is negative.
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
    """Return a page by columns, sharing the values that rows repeat.

    It is for pages in which most rows repeat the values of the row before: each column is a list of
    values.

    :param readers: for each column a function that makes a value from its bytes. It is not called
        for null, which is None. It is not called either if the bytes equal those of the row before:
        the value is then the same object.
    :raises DecodeError: if a value goes past the end of the page. Errors of readers are raised as
        they are.
    """
    check_row_count(len(body), offset, row_count, len(readers))
    columns: list[list[Any]] = [[] for _ in readers]
    # Before the first row stands a null.
    before: list[tuple[int, bytes]] = [(-1, b"")] * len(readers)
    values: list[Any] = [None] * len(readers)
    for row in range(row_count):
        for index, read in enumerate(readers):
            try:
                size, data, offset = _field(body, offset)
            except struct.error:
                raise DecodeError(
                    f"row {row}, column {index}: its length goes past the end of the page"
                ) from None
            except DecodeError as error:
                raise DecodeError(f"row {row}, column {index}: {error}") from None
            cell = (max(size, -1), data)
            if cell != before[index]:
                values[index] = read(data) if size >= 0 else None
                before[index] = cell
            columns[index].append(values[index])
    return columns


def columns_end(body: bytes, pos: int) -> int:
    """Return the offset behind the column specs of the RESULT at `pos`, or 0.

    The bytes up to that offset say what the columns are. It is 0 if they do not say it alone (the
    result has a paging state, a new id, or columns of UDTs), and for all other results, malformed
    ones among them.

    :param body: the body of a RESULT.
    :param pos: the offset of its kind.
    """
    if type(body) is not bytes or pos < 0:
        return 0
    try:
        kind, flags, count = _head_at(body, pos)
        if kind != _KIND_ROWS or flags & ~_GLOBAL_TABLES_SPEC:
            return 0
        pos += 12
        if flags:
            pos = _behind_string(body, _behind_string(body, pos))
        for _ in range(count):
            if not flags:
                pos = _behind_string(body, _behind_string(body, pos))
            pos = _behind_string(body, pos)
            types = 1
            while types:
                code = _uint16_at(body, pos)[0]
                pos += 2
                types -= 1
                if code == _CUSTOM:
                    pos = _behind_string(body, pos)
                elif code == _TUPLE:
                    types += _uint16_at(body, pos)[0]
                    pos += 2
                elif code > _LAST_SIMPLE:
                    types += _ELEMENTS[code]
    except (struct.error, LookupError):
        return 0
    return pos if pos <= len(body) else 0


def _behind_string(body: bytes, pos: int) -> int:
    size: int = _uint16_at(body, pos)[0]
    return pos + 2 + size


def _empty_of(codec: Codec) -> object:
    if codec.empty_is_value:
        return _EMPTY_IS_VALUE
    return codec.legacy_empty


def check_row_count(size: int, offset: int, row_count: int, column_count: int) -> None:
    """Refuse a row count that the body cannot hold; a column takes four bytes at least.

    This comes before memory is reserved for the rows.
    """
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
