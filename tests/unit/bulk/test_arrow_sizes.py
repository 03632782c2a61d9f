"""Test the sizes of Arrow data whose rows share values, by which a load limits its chunks."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import pytest

from cassandra.bulk import chunks
from cassandra.bulk.arrow_sizes import pieces_of, size_of

pyarrow = pytest.importorskip("pyarrow")

TEXT = "x" * 1000
ROWS = 60


def _dictionary(values: Any) -> Any:
    """Return a dictionary array that repeats `values` for ROWS rows; the last one is null."""
    codes = [number % len(values) for number in range(ROWS - 1)]
    return pyarrow.DictionaryArray.from_arrays(pyarrow.array([*codes, None], "int8"), values)


def _runs(values: Any) -> Any:
    """Return a run-end encoded array of ROWS rows, with a run for each of `values`."""
    length = ROWS // len(values)
    run_type = pyarrow.run_end_encoded(pyarrow.int32(), values.type)
    # pyarrow 15 accepts only a list of ends, not an array.
    ends = list(range(length, ROWS + 1, length))
    return pyarrow.RunEndEncodedArray.from_arrays(ends, values, run_type)


def _or_skip(name: str) -> Any:
    """Return a type or class of pyarrow; skip the test if pyarrow is too old to have it."""
    if not hasattr(pyarrow, name):
        pytest.skip(f"pyarrow {pyarrow.__version__} has no {name}")
    return getattr(pyarrow, name)


def _text_views(type_name: str = "string_view") -> Any:
    """Return ROWS views of the same bytes; the last one is null."""
    # A view has its length, its first four bytes, the index of a buffer, and an offset.
    view = struct.pack("<i4sii", len(TEXT), TEXT[:4].encode(), 0, 0)
    validity = ((1 << (ROWS - 1)) - 1).to_bytes(8, "little")
    buffers = [validity, view * ROWS, TEXT.encode()]
    return pyarrow.Array.from_buffers(
        _or_skip(type_name)(), ROWS, [pyarrow.py_buffer(buffer) for buffer in buffers]
    )


def _list_views(values: Any, array_class: str = "ListViewArray", integer: str = "int32") -> Any:
    """Return ROWS lists, each of which has all of `values`."""
    offsets, lengths = [0] * ROWS, [len(values)] * ROWS
    return _or_skip(array_class).from_arrays(
        pyarrow.array(offsets, integer), pyarrow.array(lengths, integer), values
    )


def _dense_union() -> Any:
    """Return a union of strings and numbers, in which all strings are the same item."""
    codes = pyarrow.array([number % 2 for number in range(ROWS)], "int8")
    offsets = pyarrow.array([0] * ROWS, "int32")
    return pyarrow.UnionArray.from_dense(
        codes, offsets, [pyarrow.array([TEXT]), pyarrow.array([1])]
    )


def _sparse_union() -> Any:
    codes = pyarrow.array([0] * ROWS, "int8")
    fields = [_dictionary(pyarrow.array([TEXT])), pyarrow.array(range(ROWS))]
    return pyarrow.UnionArray.from_sparse(codes, fields)


def _extension() -> Any:
    """Return an array of an extension type, which is stored as a dictionary."""
    storage = _dictionary(pyarrow.array([TEXT, "y"]))

    class Shared(pyarrow.ExtensionType):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__(storage.type, "test.shared")

        def __arrow_ext_serialize__(self) -> bytes:
            return b""

        @classmethod
        def __arrow_ext_deserialize__(cls, storage_type: Any, serialized: bytes) -> Any:
            return cls()

    return pyarrow.ExtensionArray.from_storage(Shared(), storage)


def _lists(values: Any, array_class: str = "ListArray", integer: str = "int32") -> Any:
    """Return lists of two items each."""
    offsets = pyarrow.array(range(0, len(values) + 1, 2), integer)
    return getattr(pyarrow, array_class).from_arrays(offsets, values)


TEXTS = ("", "y" * 10, TEXT)
# Arrays whose values are stored once, or which contain such arrays.
SHARED: dict[str, Callable[[], Any]] = {
    "dictionary": lambda: _dictionary(pyarrow.array(TEXTS)),
    "dictionary with a null": lambda: _dictionary(pyarrow.array([TEXT, None])),
    "dictionary with more values than rows": lambda: _dictionary(
        pyarrow.array([TEXT, None, *map(str, range(1000))])
    ),
    "dictionary of numbers": lambda: _dictionary(pyarrow.array([1, 2])),
    "dictionary of fixed bytes": lambda: _dictionary(
        pyarrow.array([b"x" * 500], pyarrow.binary(500))
    ),
    "dictionary of lists": lambda: _dictionary(pyarrow.array([[TEXT], None, ["a", "b"]])),
    "dictionary of bytes": lambda: _dictionary(pyarrow.array([TEXT.encode()], "large_binary")),
    "runs": lambda: _runs(pyarrow.array(TEXTS)),
    "runs with nulls": lambda: _runs(pyarrow.array([None, TEXT])),
    "runs of numbers": lambda: _runs(pyarrow.array([1, None])),
    "string view": _text_views,
    "binary view": lambda: _text_views("binary_view"),
    "list view": lambda: _list_views(pyarrow.array([TEXT, "a"])),
    "list view of numbers": lambda: _list_views(pyarrow.array(range(100))),
    "large list view": lambda: _list_views(pyarrow.array(TEXTS), "LargeListViewArray", "int64"),
    "list view of views": lambda: _list_views(_text_views()),
    "list view of list views": lambda: _list_views(_list_views(pyarrow.array([1, 2]))),
    "dense union": _dense_union,
    "sparse union": _sparse_union,
    "extension": _extension,
    "list": lambda: _lists(_dictionary(pyarrow.array(TEXTS))),
    "large list": lambda: _lists(_text_views(), "LargeListArray", "int64"),
    "fixed list": lambda: pyarrow.FixedSizeListArray.from_arrays(_runs(pyarrow.array(TEXTS)), 4),
    "fixed list of numbers": lambda: pyarrow.FixedSizeListArray.from_arrays(
        _dictionary(pyarrow.array([1, 2])), 4
    ),
    "map": lambda: pyarrow.MapArray.from_arrays(
        pyarrow.array(range(0, ROWS + 1, 2), "int32"), pyarrow.array(range(ROWS)), _text_views()
    ),
    "struct": lambda: pyarrow.StructArray.from_arrays(
        [_dictionary(pyarrow.array(TEXTS)), pyarrow.array(range(ROWS))], ["text", "number"]
    ),
}  # fmt: skip


def bytes_of(value: Any) -> int:
    """Return the bytes of the texts and numbers in a Python value, where a number has 8 bytes."""
    if isinstance(value, dict):
        return sum(map(bytes_of, value.values()))
    if isinstance(value, (list, tuple)):
        return sum(map(bytes_of, value))
    return len(value) if isinstance(value, (str, bytes)) else 8 * (value is not None)


@pytest.mark.parametrize("make_array", SHARED.values(), ids=SHARED)
def test_each_row_counts_with_its_own_values(make_array: Callable[[], Any]) -> None:
    """The size of an array, and of each slice of it, is at least the size of its values."""
    array = make_array()
    for start in range(0, len(array), 7):
        for count in (1, 10, len(array)):
            part = array.slice(start, count)
            values = part.to_pylist()
            assert size_of(part) >= bytes_of(values)
    # A size is not much larger than the values: it has a few bytes more for each value. A dense
    # union has the size of its largest values.
    size, least = size_of(array), bytes_of(array.to_pylist())
    if not isinstance(array, pyarrow.UnionArray):
        assert size <= 2 * least + 16 * len(array)
    assert size_of(pyarrow.chunked_array([array, array.slice(3)])) == size + size_of(array.slice(3))
    assert size_of(array.slice(0, 0)) == 0


@pytest.mark.parametrize("make_array", SHARED.values(), ids=SHARED)
def test_pieces_have_a_limited_size(
    monkeypatch: pytest.MonkeyPatch, make_array: Callable[[], Any]
) -> None:
    """A table is cut into pieces of limited size, which have all of its rows in order."""
    monkeypatch.setattr(chunks, "CHUNK_BYTES", 3000)
    array = make_array()
    table = pyarrow.table({"id": range(len(array)), "v": array})
    several_chunks = pyarrow.concat_tables([table.slice(0, 20), table.slice(20)])
    for source in (table, several_chunks, *table.to_batches()):
        for rows in (7, 50, 1000):
            monkeypatch.setattr(chunks, "CHUNK_ROWS", rows)
            pieces = list(pieces_of(source))
            assert [n for piece, _ in pieces for n in piece["id"].to_pylist()] == [
                *range(len(array))
            ]
            for piece, size in pieces:
                assert 1 <= len(piece) <= rows
                assert size <= 3000 or len(piece) == 1
                assert size >= bytes_of(piece["v"].to_pylist())


def test_pieces_of_plain_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of different sizes come in pieces of about the same size, also without shared values."""
    monkeypatch.setattr(chunks, "CHUNK_BYTES", 10_000)
    monkeypatch.setattr(chunks, "CHUNK_ROWS", 1000)
    texts = ["x"] * 500 + [TEXT] * 20 + [None] * 500 + [TEXT * 20] * 2
    table = pyarrow.table({"v": texts})
    pieces = [piece for piece, _ in pieces_of(table)]
    assert [text for piece in pieces for text in piece["v"].to_pylist()] == texts
    assert all(bytes_of(piece["v"].to_pylist()) <= 10_000 or len(piece) == 1 for piece in pieces)
    assert len(pieces) < 9
    # Rows that fit are not cut, and the rows of each piece are counted from the end of the last.
    monkeypatch.setattr(chunks, "CHUNK_BYTES", 1 << 20)
    assert [len(piece) for piece, _ in pieces_of(table)] == [1000, 22]
    assert [size for _, size in pieces_of(table.select([]))] == [0, 0]
    assert list(pieces_of(table.slice(0, 0))) == []


def test_a_piece_may_cross_the_rows_that_are_measured_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Rows that do not fill a piece are joined with the rows after them."""
    monkeypatch.setattr(chunks, "CHUNK_ROWS", 25)
    monkeypatch.setattr(chunks, "CHUNK_BYTES", 10 * 1020)
    table = pyarrow.table({"v": _dictionary(pyarrow.array([TEXT]))})
    assert [len(piece) for piece, _ in pieces_of(table)] == [10] * 6


def test_sizes_that_no_integer_can_count() -> None:
    """The size of views of views does not overflow."""
    array_class = _or_skip("ListViewArray")
    array = pyarrow.array([1])
    for _ in range(9):
        count = pyarrow.array([1000] * 1000, "int32")
        array = array_class.from_arrays(
            pyarrow.array([0] * 1000, "int32"),
            count,
            array if len(array) > 1 else pyarrow.array(range(1000)),
        )
    assert size_of(array) >= 1 << 40
    assert all(len(piece) == 1 for piece, _ in pieces_of(pyarrow.table({"v": array})))
