"""Column plans. A `ColumnPlan` decodes pages of rows into columns, for one list of columns.

Theory of operation. The rows of a page are sequences of [bytes] (native_protocol_v5.spec, section
4.2.5.2). `_split_cells` slices the page into cells: a cell has the encoded bytes of one value, or
None for a null. Then `build` decodes each column from the list of its cells, all at once, without a
Python object for each value. If the type contains other types (list, map, UDT, ...), `build` slices
each cell into the cells of the inner types, and builds the child columns from these in the same
way, at any depth. For some types, such as text, a cell of zero bytes is a value. For all other
types it becomes a null, because Arrow has no such value.

If a column cannot be decoded, the row plan (the decoder of rows) decodes the same bytes. It raises
an error that names the row, the column and the position in the value. So applications get the same
error whether they read rows or columns. The compiled version of this module is
``cassandra._accel.column_buffers``.
"""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Callable, Sequence
from itertools import accumulate
from mmap import mmap
from typing import Any

from cassandra.cqltypes import coerce
from cassandra.cqltypes.codecs.base import begin_page, take
from cassandra.cqltypes.codecs.big_numbers import WIDE_CONTEXT
from cassandra.cqltypes.failures import fails_again
from cassandra.errors import DecodeError
from cassandra.limits import NullCells, TooManyNulls
from cassandra.marshal import uvint_unpack, vints_unpack
from cassandra.protocol.columnar.layouts import (
    COLUMN_LIMIT,
    ColumnArray,
    Layout,
    fixed_decimal,
    fixed_varint,
    row_layout,
    too_large,
)
from cassandra.protocol.rows import RowPlan, check_row_count
from cassandra.util.temporal import Time

Cells = list[Any]  # the bytes of each value, or None if it is null

# A null vector adds elements of zero to the buffer of its column. This object counts such elements
# in the page that this thread is decoding. Their number is limited by `limits.null_cells`, because
# a small page could otherwise use much memory.
_nulls = NullCells()

_int32_at = struct.Struct(">i").unpack_from
_interval = struct.Struct("=iiq").pack
# If a column of vectors with nulls needs more bytes than this, `_sparse` builds it, so that the
# nulls cost no memory.
_SPARSE_FROM = 1 << 20
_LITTLE = sys.byteorder == "little"
# The type codes of `array.array` for integers, by their size in bytes.
_CODES = {1: "b", 2: "h", 4: "i", 8: "q"}
_INT32 = range(-(1 << 31), 1 << 31)
_INT64 = range(-(1 << 63), 1 << 63)


class ColumnPlan:
    """Decodes pages of rows into columns; immutable, and shared by threads.

    :param names: the columns' names.
    :param codecs: the codec of each column's type.
    :param layouts: the layout of each column's array.
    """

    __slots__ = ("_codecs", "_rows", "layout")

    layout: Layout

    def __init__(
        self, names: Sequence[str], codecs: Sequence[Any], layouts: Sequence[Layout]
    ) -> None:
        if not len(names) == len(codecs) == len(layouts):
            raise ValueError(f"{len(names)} names, {len(codecs)} codecs and {len(layouts)} layouts")
        self._rows = RowPlan(names, codecs)
        self._codecs = tuple(codecs)
        self.layout = row_layout(names, layouts)

    def read(self, body: bytes, offset: int, row_count: int) -> ColumnArray:
        """Decode the `row_count` rows at `offset` into a struct whose children are the columns.

        :raises DecodeError: if a value cannot be decoded. The message names the row and column.
        """
        layouts = self.layout.children
        check_row_count(len(body), offset, row_count, len(layouts))
        arrays: list[ColumnArray] = []
        columns: list[Cells] = []
        # The application's code may read this page while the same thread is in the middle of
        # another page. So save the count of nulls of the other page, and restore it at the end.
        outer_null_count = _nulls.begin()
        begin_page()
        try:
            columns = _split_cells(body, offset, row_count, len(layouts))
            # Use a loop and not a comprehension: after an error, `len(arrays)` is the column that
            # failed.
            for index in range(len(layouts)):
                arrays.append(self._build(index, columns[index]))  # noqa: PERF401
        # After a MemoryError, do not look for a bad value: the values are not the cause, and
        # `_error_to_raise` would need even more memory.
        except MemoryError:
            raise
        except Exception as error:
            located = self._error_to_raise(body, offset, row_count, columns, len(arrays), error)
            # `None` means that no value is the cause, for example if a signal handler has raised
            # the error. Then raise the error unchanged.
            if located is None:
                raise
            raise located from error
        finally:
            _nulls.resume(outer_null_count)
        return ColumnArray(self.layout, row_count, 0, (None,), tuple(arrays))

    def _build(self, column: int, cells: Cells) -> ColumnArray:
        """Build the column with the index `column`, from buffers or a list of Python objects."""
        layout = self.layout.children[column]
        if layout.kind != "object":
            return build(layout, cells)
        objects = [*map(self._codecs[column].decode_nullable, cells)]
        return ColumnArray(layout, len(cells), 0, (objects,), ())

    def _error_to_raise(
        self,
        body: bytes,
        offset: int,
        row_count: int,
        columns: list[Cells],
        column: int,
        error: Exception,
    ) -> Exception | None:
        """Return the error to raise after `_build` has failed with `error` for this column.

        Return None if the values are not the cause: then `error` must be raised unchanged. If the
        row plan cannot decode the page either, this raises the row plan's error instead.
        """
        # Decode the page again, as rows. If that fails too, its error names the row, the column and
        # the position in the value.
        self._rows.tuples(body, offset, row_count)
        where = f'column "{self.layout.names[column]}" ({self._codecs[column].cql_name})'
        # A builder decodes all cells of a column together, so its error does not name the row.
        # Build each cell separately to find the row. This does not help for TooManyNulls, which all
        # rows cause together.
        one_by_one = () if isinstance(error, TooManyNulls) or not columns else columns[column]
        for row, cell in enumerate(one_by_one):
            _nulls.begin()
            try:
                self._build(column, [cell])
            except DecodeError:
                return DecodeError(f"row {row}, {where}: {error}")
        # If the error was raised while the page was split into cells, `columns` is empty. Then
        # nothing can be built again, and only a DecodeError is certainly caused by the page.
        if not isinstance(error, DecodeError) and not (
            columns and fails_again(error, lambda: self._build(column, columns[column]))
        ):
            return None
        return DecodeError(f"{where}: {error}")


def _split_cells(body: bytes, offset: int, row_count: int, column_count: int) -> list[Cells]:
    """Slice the page into cells; return the list of cells of each column."""
    cells: Cells = []
    append = cells.append
    end = len(body)
    for _ in range(row_count * column_count):
        size = _int32_at(body, offset)[0]
        offset += 4
        if size < 0:
            append(None)
            continue
        start = offset
        offset += size
        append(body[start:offset])
    # Offsets only increase, so it is enough to check the last offset.
    if offset > end:
        raise DecodeError("the rows go past the end of the page")
    return [cells[column::column_count] for column in range(column_count)]


def build(layout: Layout, cells: Cells) -> ColumnArray:
    """Decode `cells` into a column of `layout`."""
    # In most types, zero bytes are not a value. Replace them by nulls, because Arrow has no such
    # value.
    if not layout.empty_is_value:
        cells = [cell or None for cell in cells]
    null_count = cells.count(None)
    validity = _bits([cell is not None for cell in cells]) if null_count else None
    buffers, children = _BUILDERS[layout.kind](layout, cells, null_count)
    return ColumnArray(layout, len(cells), null_count, (validity, *buffers), children)


# What a builder returns: (buffers without the validity bitmap, child columns).
Built = tuple[tuple[Any, ...], tuple[ColumnArray, ...]]


def _bits(flags: list[bool]) -> bytes:
    """Return a bitmap. The first flag is the lowest bit of the first byte, as in Arrow."""
    # int() parses all digits in C, which is far faster than a loop that sets bits.
    digits = "".join(["1" if flag else "0" for flag in reversed(flags)]) or "0"
    return int(digits, 2).to_bytes((len(flags) + 7) // 8, "little")


def _native(data: bytes, width: int) -> array[Any]:
    """Return an array of the big-endian integers in `data`, in the machine's byte order."""
    numbers = array(_CODES[width], data)
    if _LITTLE:
        numbers.byteswap()
    return numbers


def _join_fixed(cells: Cells, width: int, null_count: int) -> bytes:
    """Join `cells`, each of `width` bytes; a null becomes zeros.

    :raises DecodeError: if a cell does not have `width` bytes.
    """
    if null_count:
        zeros = bytes(width)
        cells = [zeros if cell is None else cell for cell in cells]
    if {*map(len, cells)} - {width}:
        raise DecodeError(f"takes {width} bytes")
    return b"".join(cells)


def _sparse(cells: Cells, step: int, width: int) -> mmap:
    """Return the numbers of `cells` in mapped memory.

    The operating system only allocates the pages of this memory to which we write. Nulls are
    skipped, so they cost no memory.

    :param step: the size of a cell in bytes.
    :param width: the size of a number in bytes.
    """
    memory = mmap(-1, len(cells) * step)
    for row, cell in enumerate(cells):
        if cell is None:
            continue
        if len(cell) != step:
            raise DecodeError(f"takes {step} bytes")
        memory[row * step : (row + 1) * step] = _native(cell, width).tobytes()
    return memory


def _build_number(layout: Layout, cells: Cells, null_count: int) -> Built:
    return (_native(_join_fixed(cells, layout.width, null_count), layout.width),), ()


def _build_bytes(layout: Layout, cells: Cells, null_count: int) -> Built:
    return (_join_fixed(cells, layout.width, null_count),), ()


def _build_date(layout: Layout, cells: Cells, null_count: int) -> Built:
    # native_protocol_v5.spec, section 5: a date is an unsigned number of days; 2^31 is 1970-01-01.
    days = struct.unpack(f">{len(cells)}I", _join_fixed(cells, 4, null_count))
    return (array("i", [day - coerce.DATE_OFFSET for day in days]),), ()


def _build_time(layout: Layout, cells: Cells, null_count: int) -> Built:
    nanos = _native(_join_fixed(cells, 8, null_count), 8)
    if nanos and not (min(nanos) >= 0 and max(nanos) < Time.DAY):
        raise DecodeError("not within one day")
    return (nanos,), ()


def _build_boolean(layout: Layout, cells: Cells, null_count: int) -> Built:
    return (_bits([byte != 0 for byte in _join_fixed(cells, 1, null_count)]),), ()


def _join_cells(cells: Cells, null_count: int) -> tuple[list[bytes], Any, bytes]:
    """Return (cells, offsets, data) for a column of strings or bytes.

    In `cells`, b"" replaces each null. `data` has all cells joined, and `offsets` has the position
    in `data` at which each cell begins.
    """
    if null_count:
        cells = [cell or b"" for cell in cells]
    return cells, array("i", accumulate(map(len, cells), initial=0)), b"".join(cells)


def _build_blob(layout: Layout, cells: Cells, null_count: int) -> Built:
    _, offsets, data = _join_cells(cells, null_count)
    return (offsets, data), ()


def _build_text(layout: Layout, cells: Cells, null_count: int) -> Built:
    """Build a column of strings from ASCII or UTF-8; raise DecodeError for invalid bytes."""
    cells, offsets, data = _join_cells(cells, null_count)
    # Most strings are ASCII. If all bytes are ASCII, each cell is valid UTF-8 and need not be
    # decoded.
    if not data.isascii():
        if layout.kind == "ascii":
            raise DecodeError("not ASCII")
        for cell in cells:
            cell.decode()  # raises UnicodeDecodeError for bytes that are not UTF-8
    return (offsets, data), ()


def _text_builder(to_text: Callable[[bytes], bytes]) -> Callable[[Layout, Cells, int], Built]:
    """Return a builder of string columns that calls `to_text` to convert each cell to a string."""

    def build_text(layout: Layout, cells: Cells, null_count: int) -> Built:
        texts = [None if cell is None else to_text(cell) for cell in cells]
        _, offsets, data = _join_cells(texts, null_count)
        return (offsets, data), ()

    return build_text


def _show_inet(cell: bytes) -> bytes:
    return coerce.inet_text(cell).encode()


def show_varint(cell: bytes) -> bytes:
    """Return the decimal digits of a varint of any size. str() of an int would have a limit."""
    return str(coerce.shown_number(int.from_bytes(cell, "big", signed=True), "varint")).encode()


def show_decimal(cell: bytes) -> bytes:
    """Return a decimal as a string, in the format of `str(decimal.Decimal(...))`."""
    if len(cell) < 5:
        raise DecodeError("takes at least 5 bytes")
    number = coerce.decimal_of(int.from_bytes(cell[4:], "big", signed=True), _int32_at(cell)[0])
    # Use a fixed context: str() writes "E" or "e" depending on the decimal context of the thread.
    return WIDE_CONTEXT.to_sci_string(number).encode()


def _build_varint64(layout: Layout, cells: Cells, null_count: int) -> Built:
    return (array("q", [0 if cell is None else fixed_varint(cell) for cell in cells]),), ()


def _build_decimal_fixed(layout: Layout, cells: Cells, null_count: int) -> Built:
    """Build a column of Arrow decimals, which all have the precision and scale of `layout`."""
    zeros = bytes(layout.width)
    # A decimal is a scale of four bytes, followed by a varint of at least one byte.
    if any(cell is not None and len(cell) < 5 for cell in cells):
        raise DecodeError("takes at least 5 bytes")
    numbers = [zeros if cell is None else fixed_decimal(cell, layout) for cell in cells]
    return (b"".join(numbers),), ()


def _durations(cells: Cells) -> list[tuple[int, int, int]]:
    """Return (months, days, nanoseconds) of each cell; zeros for a null."""
    durations = []
    for cell in cells:
        parts = (0, 0, 0) if cell is None else vints_unpack(cell)
        if (
            len(parts) != 3
            or parts[0] not in _INT32
            or parts[1] not in _INT32
            or parts[2] not in _INT64
        ):
            raise DecodeError("not three numbers in their ranges")
        durations.append(parts)
    return durations


def _build_duration(layout: Layout, cells: Cells, null_count: int) -> Built:
    return (b"".join([_interval(*parts) for parts in _durations(cells)]),), ()


def _build_duration_parts(layout: Layout, cells: Cells, null_count: int) -> Built:
    """Build a column of structs of months, days and nanoseconds."""
    # Without cells, `zip` returns nothing, but the struct still has three columns.
    columns = [*zip(*_durations(cells), strict=True)] or [(), (), ()]
    arrays = [
        ColumnArray(part, len(cells), 0, (None, array(_CODES[part.width], column)), ())
        for part, column in zip(layout.children, columns, strict=True)
    ]
    return (), tuple(arrays)


def _build_nothing(layout: Layout, cells: Cells, null_count: int) -> Built:
    if any(cells):
        raise DecodeError("takes 0 bytes")
    return (), ()


def _read_items(cell: bytes, offset: int, count: int) -> Cells:
    """Return `count` [bytes] of `cell` from `offset` on.

    Raise DecodeError if `cell` is too short, or has further bytes.
    """
    items: Cells = []
    for _ in range(count):
        start, size = take(cell, offset)
        offset = start + max(size, 0)
        items.append(None if size < 0 else cell[start:offset])
    if offset != len(cell):
        raise DecodeError("bytes left over")
    return items


def _collection_items(cell: bytes, per_element: int) -> Cells:
    """Return the inner cells of a list, set or map.

    :param per_element: the number of inner cells per element: 1, or 2 for a map (key and value).
    """
    if len(cell) < 4:
        raise DecodeError("truncated")
    count = _int32_at(cell)[0] * per_element
    # Each inner cell has at least four bytes. Reject an impossible count before allocating memory.
    if not 0 <= count * 4 <= len(cell) - 4:
        raise DecodeError("a count that the bytes cannot hold")
    return _read_items(cell, 4, count)


def _build_list(layout: Layout, cells: Cells, null_count: int) -> Built:
    """Build a column of lists or sets: one child column with the elements of all cells."""
    items: Cells = []
    offsets = array("i", [0])
    for cell in cells:
        if cell is not None:
            items += _collection_items(cell, 1)
        offsets.append(len(items))
    return (offsets,), (build(layout.children[0], items),)


def _build_map(layout: Layout, cells: Cells, null_count: int) -> Built:
    """Build a column of maps: one child column of (key, value) structs for all cells."""
    items: Cells = []
    offsets = array("i", [0])
    for cell in cells:
        if cell is not None:
            items += _collection_items(cell, 2)
        offsets.append(len(items) // 2)
    # `items` holds the keys and values of all maps, alternately.
    entries = layout.children[0]
    keys = build(entries.children[0], items[::2])
    if keys.null_count:
        raise DecodeError("a key is null, which a column of maps cannot hold")
    values = build(entries.children[1], items[1::2])
    # An entry of a map is never null, so the column of entries has no validity bitmap.
    return (offsets,), (ColumnArray(entries, len(items) // 2, 0, (None,), (keys, values)),)


def _build_struct(layout: Layout, cells: Cells, null_count: int) -> Built:
    """Build a column of tuples or UDTs: one child column for each field."""
    count = len(layout.children)
    fields: list[Cells] = [[] for _ in range(count)]
    for cell in cells:
        offset = fields_read = 0
        end = 0 if cell is None else len(cell)
        for field in fields:
            size = -1
            # If the value ends early, it was written before the last fields were added to its type.
            # These fields are null.
            if offset < end:
                fields_read += 1
                start, size = take(cell, offset)
                offset = start + max(size, 0)
            field.append(None if size < 0 else cell[start:offset])
        if offset < end:
            raise DecodeError("bytes left over")
        if fields_read < count:
            _nulls.charge(count - fields_read, layout.cql_name)
    return (), tuple(
        build(child, field) for child, field in zip(layout.children, fields, strict=True)
    )


def _build_vector(layout: Layout, cells: Cells, null_count: int) -> Built:
    """Build a column of vectors: one child column with all elements of all vectors."""
    child, dimension = layout.children[0], layout.dimension
    element_size = child.wire_size
    # Check the size before we allocate memory: a null takes four bytes in the page, but as much
    # memory as a whole vector in the column.
    if len(cells) * dimension * (child.width or 8) > COLUMN_LIMIT:
        raise too_large(layout)
    holds_numbers = element_size >= 0 and child.kind == "number"
    if null_count:
        # Null vectors of numbers cost less memory: it is reserved, but never written to. So count
        # eight numbers as one cell.
        _nulls.charge(null_count * dimension // (8 if holds_numbers else 1), layout.cql_name)
    # For vectors of numbers, swap the bytes of all elements at once.
    if holds_numbers:
        numbers: mmap | array[Any]
        if null_count and len(cells) * dimension * element_size > _SPARSE_FROM:
            numbers = _sparse(cells, element_size * dimension, element_size)
        else:
            numbers = _native(
                _join_fixed(cells, element_size * dimension, null_count), element_size
            )
        return (), (ColumnArray(child, len(cells) * dimension, 0, (None, numbers), ()),)
    # Slice other vectors into cells for the child column. A null vector gets `dimension` null
    # elements, because Arrow requires elements for it.
    nulls: Cells = [None] * dimension if null_count else []
    items: Cells = []
    for cell in cells:
        if cell is None:
            items += nulls
        elif element_size < 0:  # each element is preceded by its length
            items += _vector_items(cell, dimension)
        elif len(cell) != element_size * dimension:
            raise DecodeError(f"takes {element_size * dimension} bytes")
        elif element_size:
            items += [
                cell[start : start + element_size] for start in range(0, len(cell), element_size)
            ]
        else:
            items += [b""] * dimension  # the elements have no bytes at all
    return (), (build(child, items),)


def _vector_items(cell: bytes, dimension: int) -> Cells:
    """Return the cells of a vector whose elements are each preceded by a length (unsigned vint)."""
    if dimension > len(cell):
        raise DecodeError("truncated")
    items: Cells = []
    offset = 0
    for _ in range(dimension):
        size, vint_size = uvint_unpack(cell[offset : offset + 9])  # a vint has 9 bytes at most
        start = offset + vint_size
        offset = start + size
        items.append(cell[start:offset])
    if offset != len(cell):
        raise DecodeError("bytes left over, or missing")
    return items


# The functions that build a column, by the kind of its layout.
_BUILDERS: dict[str, Callable[[Layout, Cells, int], Built]] = {
    "number": _build_number,
    "bytes": _build_bytes,
    "date": _build_date,
    "time": _build_time,
    "boolean": _build_boolean,
    "blob": _build_blob,
    "text": _build_text,
    "ascii": _build_text,
    "inet": _text_builder(_show_inet),
    "varint": _text_builder(show_varint),
    "decimal": _text_builder(show_decimal),
    "varint64": _build_varint64,
    "decimal_fixed": _build_decimal_fixed,
    "duration": _build_duration,
    "duration_parts": _build_duration_parts,
    "nothing": _build_nothing,
    "list": _build_list,
    "map": _build_map,
    "struct": _build_struct,
    "vector": _build_vector,
}

__all__ = ["ColumnPlan"]
