"""Measures Arrow data, so that a load decodes a limited number of bytes at a time.

Arrow may store a value once and use it in many rows: in dictionaries, in runs, in views of strings,
and in views of lists. Then the buffers of a table are much smaller than the values of its rows. So
we measure the rows as if each of them had its own copy of its values. Arrays are recognized by the
names of their classes, because old versions of pyarrow lack some of them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Any, TypeAlias

from cassandra.bulk import chunks

# The size in bytes of each item of an array: a number if all items have the same size, else an
# array of pyarrow of the type int64, without nulls.
_Sizes: TypeAlias = Any

_LENGTH = 4  # the size in bytes of the length or offset that an item of variable size has
_LARGE_LENGTH = 8
# The maximum size of an item. Views of views may stand for more bytes than an int64 can count.
_MAX_SIZE = 1 << 32
# Parts of the names of types that may store a value once for several rows, or that may contain such
# a type without naming it.
_SHARING = ("dictionary<", "run_end_encoded<", "_view", "extension<", "union<")
_TEXTS = {
    "StringArray": _LENGTH,
    "BinaryArray": _LENGTH,
    "LargeStringArray": _LARGE_LENGTH,
    "LargeBinaryArray": _LARGE_LENGTH,
}
_TEXT_VIEWS = frozenset({"StringViewArray", "BinaryViewArray"})
_LISTS = {"ListArray": _LENGTH, "MapArray": _LENGTH, "LargeListArray": _LARGE_LENGTH}
_LIST_VIEWS = frozenset({"ListViewArray", "LargeListViewArray"})


def pieces_of(table: Any) -> Iterator[tuple[Any, int]]:
    """Yield the rows of a table in slices of limited size, as (slice, size in bytes).

    A slice has at most `chunks.CHUNK_ROWS` rows and about `chunks.CHUNK_BYTES` bytes, but at least
    one row. The size is the size of the decoded values.

    :param table: a table or record batch of pyarrow.
    """
    may_share = any(map(_may_share, table.schema.types))
    start = 0
    while start < len(table):
        # Measure only as many rows at a time as a slice may have.
        window = table.slice(start, min(chunks.CHUNK_ROWS, len(table) - start))
        # This is faster than measuring each row.
        if not may_share and window.nbytes <= chunks.CHUNK_BYTES:
            yield window, window.nbytes
            start += len(window)
            continue
        sizes = _sizes_of_rows(window)
        ends = _Ends(sizes, len(window))
        first = 0
        while first < len(window):
            stop = ends.stop_of(first)
            # If the last rows of the window do not fill a slice, they begin the next window.
            if stop == len(window) and first and start + stop < len(table):
                break
            yield window.slice(first, stop - first), ends.size_of(first, stop)
            first = stop
        start += first


def size_of(array: Any) -> int:
    """Return the size in bytes that an array has if each of its values is stored anew.

    :param array: an array or a chunked array of pyarrow.
    """
    if not _may_share(array.type):
        return int(array.nbytes)
    from pyarrow import compute

    size = 0
    for part in getattr(array, "chunks", [array]):
        # Limit the memory of the sizes, too.
        for start in range(0, len(part), chunks.CHUNK_ROWS):
            window = part.slice(start, chunks.CHUNK_ROWS)
            sizes = _sizes_of(window)
            size += sizes * len(window) if isinstance(sizes, int) else compute.sum(sizes).as_py()
    return size


def _may_share(arrow_type: Any) -> bool:
    """Return False if no two items of the type can share their bytes."""
    name = str(arrow_type)
    return hasattr(arrow_type, "storage_type") or any(part in name for part in _SHARING)


class _Ends:
    """Where rows end, in bytes, if they are stored one after another.

    :param sizes: the size of each row.
    :param count: the number of rows.
    """

    def __init__(self, sizes: _Sizes, count: int) -> None:
        self._count = count
        self._size = 0  # the size of each row, if all rows have the same size
        self._ends: Any = None
        if isinstance(sizes, int):
            self._size = sizes
        else:
            # `bisect` reads the memory of the array faster than the array.
            self._ends = memoryview(_cumulated(sizes).buffers()[1]).cast("q")

    def stop_of(self, first: int) -> int:
        """Return the end of the slice that begins with the row `first`.

        :returns: the index of the first row that does not belong to the slice.
        """
        if self._ends is None:
            stop = first + chunks.CHUNK_BYTES // max(self._size, 1)
        else:
            # The ends begin with 0, so the end of a row has the index of the next row.
            stop = bisect_right(self._ends, self._ends[first] + chunks.CHUNK_BYTES, first) - 1
        return min(max(stop, first + 1), self._count)

    def size_of(self, first: int, stop: int) -> int:
        """Return the size of consecutive rows in bytes."""
        if self._ends is None:
            return self._size * (stop - first)
        return int(self._ends[stop] - self._ends[first])


def _cumulated(sizes: Any) -> Any:
    """Return the positions where items begin if they are stored one after another.

    The last position is the end of the last item.

    :param sizes: an array with the size of each item.
    """
    import pyarrow
    from pyarrow import compute

    return pyarrow.concat_arrays(
        [pyarrow.array([0], pyarrow.int64()), compute.cumulative_sum(sizes)]
    )


def _sizes_of_rows(table: Any) -> _Sizes:
    """Return the size of each row of a table or record batch."""
    import pyarrow

    sizes: _Sizes = 0
    for column in table.columns:
        # In a record batch, a column is a single array.
        parts = getattr(column, "chunks", [column])
        sizes_of_parts = [_sizes_of(part) for part in parts if len(part)]
        if len(sizes_of_parts) == 1:
            sizes = _sum(sizes, sizes_of_parts[0])
        elif sizes_of_parts:
            arrays = [
                pyarrow.repeat(pyarrow.scalar(part_sizes, pyarrow.int64()), len(part))
                if isinstance(part_sizes, int)
                else part_sizes
                for part, part_sizes in zip(filter(len, parts), sizes_of_parts, strict=True)
            ]
            sizes = _sum(sizes, pyarrow.concat_arrays(arrays))
    return sizes


def _sizes_of(array: Any) -> _Sizes:
    """Return the size of each item of an array."""
    name = type(array).__name__
    if not len(array):
        return 0
    if hasattr(array, "storage"):  # an extension type
        return _sizes_of(array.storage)
    if name in _TEXTS:
        return _sizes_of_texts(array, _TEXTS[name])
    if name in _TEXT_VIEWS:
        return _sizes_of_text_views(array)
    if name == "DictionaryArray":
        return _sizes_of_codes(array)
    if name == "RunEndEncodedArray":
        return _sizes_of_runs(array)
    if name == "UnionArray" and array.type.mode == "dense":
        return _size_of_union(array)
    if name in ("StructArray", "UnionArray"):
        # A sparse union has an item of each field in each row.
        sizes: _Sizes = 1
        for index in range(array.type.num_fields):
            sizes = _sum(sizes, _sizes_of(array.field(index)))
        return _limited(sizes)
    if name in _LISTS:
        return _sizes_of_lists(array, _LISTS[name])
    if name == "FixedSizeListArray":
        return _sizes_of_fixed_lists(array)
    if name in _LIST_VIEWS:
        return _sizes_of_list_views(array)
    try:
        return max(array.type.bit_width // 8, 1)
    except ValueError:  # the null type, which has no width
        return -(-array.nbytes // len(array)) or 1


def _sum(first: _Sizes, second: _Sizes) -> _Sizes:
    """Add sizes of items that belong together."""
    from pyarrow import compute

    if isinstance(first, int) and isinstance(second, int):
        return first + second
    return compute.add(first, second)


def _limited(sizes: _Sizes) -> _Sizes:
    """Return sizes of at most `_MAX_SIZE`."""
    from pyarrow import compute

    if isinstance(sizes, int):
        return min(sizes, _MAX_SIZE)
    return compute.min_element_wise(sizes, _MAX_SIZE)


def _sizes_of_texts(array: Any, length: int) -> _Sizes:
    """Return the sizes of strings or bytes.

    :param length: the size of the offset of an item.
    """
    import pyarrow
    from pyarrow import compute

    lengths = compute.binary_length(array)
    if lengths.null_count:
        lengths = compute.fill_null(lengths, 0)
    # The sum has the type int64 in all cases, like its second operand.
    return compute.add(lengths, pyarrow.scalar(length, pyarrow.int64()))


def _sizes_of_text_views(array: Any) -> _Sizes:
    """Return the sizes of the items of a string view or binary view.

    pyarrow cannot measure these types. A view has 16 bytes: the first 4 bytes are the length.
    """
    import pyarrow
    from pyarrow import compute

    views = array.buffers()[1]
    stop = array.offset + len(array)
    numbers = pyarrow.Array.from_buffers(pyarrow.int32(), 4 * stop, [None, views])
    quadruples = pyarrow.FixedSizeListArray.from_arrays(numbers, 4).slice(array.offset)
    lengths = compute.list_element(quadruples, 0)
    if array.null_count:
        lengths = compute.if_else(compute.is_valid(array), lengths, 0)
    return compute.add(lengths, pyarrow.scalar(_LARGE_LENGTH, pyarrow.int64()))


def _sizes_of_codes(array: Any) -> _Sizes:
    """Return the sizes of the items of a dictionary array."""
    from pyarrow import compute

    dictionary, codes = array.dictionary, array.indices
    # Many small batches may share a large dictionary of texts. Then measure only those in use.
    if len(array) < len(dictionary) and type(dictionary).__name__ in _TEXTS:
        used_codes = compute.unique(codes).drop_null()
        codes = compute.index_in(codes, used_codes)
        dictionary = dictionary.take(used_codes)
    sizes = _sizes_of(dictionary)
    if isinstance(sizes, int):
        return max(sizes, 1)
    sizes = sizes.take(codes)
    return compute.fill_null(sizes, 1) if sizes.null_count else sizes


def _sizes_of_runs(array: Any) -> _Sizes:
    """Return the sizes of the items of a run-end encoded array."""
    import pyarrow
    from pyarrow import compute

    first, count = array.find_physical_offset(), array.find_physical_length()
    sizes = _sizes_of(array.values.slice(first, count))
    if isinstance(sizes, int):
        return sizes
    ends = compute.subtract(array.run_ends.slice(first, count).cast("int64"), array.offset)
    ends = compute.min_element_wise(ends, len(array))
    # `from_arrays` of pyarrow 15 does not accept an array of ends.
    run_type = pyarrow.run_end_encoded(ends.type, sizes.type)
    runs = pyarrow.RunEndEncodedArray.from_buffers(
        run_type, len(array), [None], 0, 0, children=[ends, sizes]
    )
    return compute.run_end_decode(runs)


def _size_of_union(array: Any) -> int:
    """Return the size of the largest item of a dense union.

    Several items of the union may be the same item of a field. Unions are rare, so we do not
    measure each item.
    """
    from pyarrow import compute

    largest = 1
    for index in range(array.type.num_fields):
        sizes = _sizes_of(array.field(index))
        largest = max(largest, sizes if isinstance(sizes, int) else compute.max(sizes).as_py())
    return largest


def _sizes_of_lists(array: Any, length: int) -> _Sizes:
    """Return the sizes of lists or maps, which are stored one after another.

    :param length: the size of the offset of a list.
    """
    from pyarrow import compute

    offsets = array.offsets.cast("int64")
    first = offsets[0].as_py()
    sizes = _sizes_of(array.values.slice(first, offsets[-1].as_py() - first))
    return _sizes_between(
        sizes,
        compute.subtract(offsets.slice(0, len(array)), first),
        compute.subtract(offsets.slice(1), first),
        length,
    )


def _sizes_of_fixed_lists(array: Any) -> _Sizes:
    import pyarrow

    length = array.type.list_size
    # `values` ignores the offset of the array.
    sizes = _sizes_of(array.values.slice(array.offset * length, len(array) * length))
    if isinstance(sizes, int):
        return max(sizes * length, 1)
    positions = pyarrow.array(range(0, (len(array) + 1) * length, length), pyarrow.int64())
    return _sizes_between(sizes, positions.slice(0, len(array)), positions.slice(1), 1)


def _sizes_of_list_views(array: Any) -> _Sizes:
    """Return the sizes of list views, which may overlap."""
    from pyarrow import compute

    starts = array.offsets.cast("int64")
    stops = compute.add(starts, array.sizes.cast("int64"))
    first = compute.min(starts).as_py()
    sizes = _sizes_of(array.values.slice(first, compute.max(stops).as_py() - first))
    return _sizes_between(
        sizes, compute.subtract(starts, first), compute.subtract(stops, first), _LARGE_LENGTH
    )


def _sizes_between(sizes: _Sizes, starts: Any, stops: Any, length: int) -> _Sizes:
    """Return the sizes of lists of consecutive items.

    :param sizes: the sizes of the items.
    :param starts: for each list, the index of its first item.
    :param stops: for each list, the index after its last item.
    :param length: the size of a list in addition to its items.
    """
    from pyarrow import compute

    if isinstance(sizes, int):
        size = compute.multiply(compute.subtract(stops, starts), sizes)
    else:
        positions = _cumulated(sizes)
        size = compute.subtract(positions.take(stops), positions.take(starts))
    return _limited(compute.add(size, length))
