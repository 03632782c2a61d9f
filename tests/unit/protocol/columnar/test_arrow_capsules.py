"""Columns are exported through Arrow's C data interface, in PyCapsules.

Nothing is copied or leaked, and consumers may release the exported structs in any order.
"""

from __future__ import annotations

import ctypes
import gc
import threading
import weakref
from array import array
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cassandra import cqltypes as t
from cassandra.protocol.columnar.arrow_capsules import _Array, _capsule_pointer, _Release, _Schema
from cassandra.protocol.columnar.layouts import ColumnArray, row_layout
from tests.conftest import Implementation
from tests.processes import WITH_TESTS, run_python
from tests.unit.cqltypes.samples import ADDRESS, list_of, map_of, vector_of
from tests.unit.protocol.pages import column_plan, page_of
from tests.unit.protocol.wire import int32, value
from tests.waiting import WAIT

# the types of the columns; ROW has an encoded value of each type
KINDS = [
    t.Int32Type,
    t.UTF8Type,
    t.UUIDType,
    t.EmptyType,
    list_of(t.Int32Type),
    map_of(t.UTF8Type, t.Int32Type),
    vector_of(t.FloatType, 2),
    ADDRESS,
]
ROW: list[bytes | None] = [
    int32(7), b"text", bytes(16), b"", int32(1) + value(int32(5)),
    int32(1) + value(b"k") + value(int32(6)), bytes(8),
    value(b"street") + value(int32(1)),
]  # fmt: skip


@pytest.fixture(autouse=True)
def _nothing_stays(implementation: Implementation) -> Iterator[None]:
    """Check after each test that everything it exported was released."""
    gc.collect()
    # `held_count` returns how many exported objects have not been released yet.
    count_before = implementation.arrow_capsules.held_count()
    yield
    gc.collect()
    assert implementation.arrow_capsules.held_count() == count_before


def column(implementation: Implementation, rows: int = 2) -> ColumnArray:
    """Return a struct column of all KINDS, with `rows` rows (an even number).

    Every second row has only nulls.
    """
    array: ColumnArray = column_plan(implementation, KINDS).read(
        page_of([ROW, [None] * len(ROW)] * (rows // 2)), offset=0, row_count=rows
    )
    return array


def column_and_reference(implementation: Implementation) -> tuple[ColumnArray, weakref.ref[Any]]:
    """Return a column, and a weak reference to one of its buffers."""
    data = array("i", range(100))
    int_layout = column_plan(implementation, [t.Int32Type]).layout.children[0]
    int_column = ColumnArray(
        int_layout, length=100, null_count=0, buffers=(None, data), children=()
    )
    struct_column = ColumnArray(
        row_layout(["a"], [int_layout]),
        length=100,
        null_count=0,
        buffers=(None,),
        children=(int_column,),
    )
    return struct_column, weakref.ref(data)


class Exported:
    """An object that exports columns like a record batch of Arrow."""

    def __init__(self, implementation: Implementation, columns: ColumnArray) -> None:
        self.capsules = implementation.arrow_capsules
        self.columns = columns

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[Any, Any]:
        schema = self.capsules.schema_capsule(self.columns.layout)
        return schema, self.capsules.array_capsule(self.columns)


class Streamed:
    """An object that exports columns like a stream of Arrow.

    :param next_columns: a function that returns the next page's struct column, or None at the end.
    """

    def __init__(
        self, implementation: Implementation, layout: Any, next_columns: Callable[[], Any]
    ) -> None:
        self.capsules = implementation.arrow_capsules
        self.layout = layout
        self.next_columns = next_columns

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        return self.capsules.stream_capsule(self.layout, self.next_columns)


def test_capsules_have_their_names_and_free_unread_exports(implementation: Implementation) -> None:
    """Each capsule has the name that Arrow requires, and frees its export if no consumer reads it.

    The fixture `_nothing_stays` checks that everything is freed.
    """
    array = column(implementation)
    count_before = implementation.arrow_capsules.held_count()
    capsules = [
        implementation.arrow_capsules.schema_capsule(array.layout),
        implementation.arrow_capsules.array_capsule(array),
        implementation.arrow_capsules.stream_capsule(array.layout, lambda: None),
    ]
    assert implementation.arrow_capsules.held_count() > count_before
    # The repr of a capsule is `<capsule object "NAME" at ADDRESS>`, so this checks its name.
    assert [repr(capsule).split('"')[1] for capsule in capsules] == [
        "arrow_schema",
        "arrow_array",
        "arrow_array_stream",
    ]


def test_release_from_another_thread_and_twice(implementation: Implementation) -> None:
    """Any thread must be able to release an array.

    A second release must have no effect.
    """
    array = column(implementation)
    capsule = implementation.arrow_capsules.array_capsule(array)
    address = _capsule_pointer(id(capsule), b"arrow_array")
    exported = _Array.from_address(address)
    release = _Release(exported.release)
    # ctypes releases the GIL while it calls the function, so `release` must acquire the GIL.
    thread = threading.Thread(target=release, args=(address,))
    thread.start()
    thread.join(WAIT)
    # In Arrow's C interface, a null `release` callback marks a released struct.
    assert not exported.release
    release(address)
    assert not exported.release


def test_moved_structs(implementation: Implementation) -> None:
    """A consumer may move an exported struct, or a child of the struct.

    To move a struct, the consumer copies it, and sets the original's release callback to NULL.
    """
    array = column(implementation)
    cases: list[tuple[bytes, Any, Callable[[], Any]]] = [
        (b"arrow_array", _Array, lambda: implementation.arrow_capsules.array_capsule(array)),
        (
            b"arrow_schema",
            _Schema,
            lambda: implementation.arrow_capsules.schema_capsule(array.layout),
        ),
    ]
    for capsule_name, struct_class, make_capsule in cases:
        capsule = make_capsule()
        original = struct_class.from_address(_capsule_pointer(id(capsule), capsule_name))
        children = (ctypes.c_void_p * original.n_children).from_address(original.children)
        # The fifth child is the list<int> column, which has a child and buffers.
        child = struct_class.from_address(children[4])
        moved_child, moved = struct_class(), struct_class()
        for target, source in ((moved_child, child), (moved, original)):
            ctypes.memmove(
                ctypes.addressof(target), ctypes.addressof(source), ctypes.sizeof(struct_class)
            )
            source.release = None
        _Release(moved.release)(ctypes.addressof(moved))
        del capsule, original
        gc.collect()
        # The moved child must still be valid, although its parent was released.
        assert moved_child.release
        if struct_class is _Array:
            # The second buffer of a list has the offsets. The first row has one element, so the
            # second offset is 1.
            buffers = (ctypes.c_void_p * 2).from_address(moved_child.buffers)
            assert ctypes.c_int32.from_address((buffers[1] or 0) + 4).value == 1
        _Release(moved_child.release)(ctypes.addressof(moved_child))


def test_pyarrow_reads_without_copies_and_releases_the_buffers(
    implementation: Implementation,
) -> None:
    """PyArrow reads ROW without a copy; any of its columns keeps the exported memory alive."""
    pyarrow = pytest.importorskip("pyarrow")
    array = column(implementation)
    batch = pyarrow.record_batch(Exported(implementation, array))
    batch.validate(full=True)
    assert batch.num_rows == 2
    assert batch.column(0).to_pylist() == [7, None]
    assert batch.column(3).to_pylist() == [None, None]
    # Compare the bytes only up to our length, because pyarrow may see padding after our bytes.
    view = memoryview(array.children[0].buffers[1]).cast("B")
    assert bytes(view) == bytes(batch.column(0).buffers()[1])[: len(view)]
    text_column = batch.column(1)
    # Delete everything else: the column alone must keep the exported memory alive.
    del batch, array
    gc.collect()
    assert text_column.to_pylist() == ["text", None]


def test_buffers_live_as_long_as_a_consumer_holds_them(implementation: Implementation) -> None:
    """A pyarrow record batch keeps the driver's buffers alive after the driver drops them."""
    pyarrow = pytest.importorskip("pyarrow")
    array, buffer_ref = column_and_reference(implementation)
    batch = pyarrow.record_batch(Exported(implementation, array))
    del array
    gc.collect()
    assert buffer_ref() is not None
    del batch
    gc.collect()
    assert buffer_ref() is None


def test_pyarrow_reads_all_pages_of_a_stream(implementation: Implementation) -> None:
    """PyArrow must read all pages of a stream, and accept a stream without any page."""
    pyarrow = pytest.importorskip("pyarrow")
    pages = [column(implementation, rows=row_count) for row_count in (2, 4, 0)]
    remaining_pages = iter(pages)
    reader = pyarrow.RecordBatchReader.from_stream(
        Streamed(implementation, pages[0].layout, lambda: next(remaining_pages, None))
    )
    assert [batch.num_rows for batch in reader] == [2, 4, 0]
    assert pyarrow.table(Streamed(implementation, pages[0].layout, lambda: None)).num_rows == 0


def test_an_error_in_a_stream_is_the_consumers_error(implementation: Implementation) -> None:
    """An error that is raised while a stream is read reaches the consumer."""
    pyarrow = pytest.importorskip("pyarrow")

    def raise_error() -> Any:
        raise ValueError("the third page is lost")

    reader = pyarrow.RecordBatchReader.from_stream(
        Streamed(implementation, column(implementation).layout, raise_error)
    )
    with pytest.raises(Exception, match="the third page is lost"):
        reader.read_next_batch()
    # `_nothing_stays` then checks that no export is left.
    del reader


def test_streams_are_read_by_other_threads(implementation: Implementation) -> None:
    """Several threads read streams at once: pyarrow may call a stream from any thread."""
    pyarrow = pytest.importorskip("pyarrow")
    row_counts: list[int] = []

    def read() -> None:
        page = column(implementation)
        pages = iter([page] * 50)
        stream = Streamed(implementation, page.layout, lambda: next(pages, None))
        row_counts.append(pyarrow.table(stream).num_rows)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    # Each of the 4 threads reads 50 pages of 2 rows.
    assert row_counts == [100] * 4


def test_the_uuid_extension(implementation: Implementation) -> None:
    """A column of UUIDs must be exported with Arrow's extension type for UUIDs.

    Before version 18, pyarrow does not know the type, and keeps its name in the field's metadata.
    """
    pyarrow = pytest.importorskip("pyarrow")
    batch = pyarrow.record_batch(Exported(implementation, column(implementation)))
    field = batch.schema.field("c2")
    if hasattr(pyarrow, "uuid"):
        assert field.type == pyarrow.uuid()
    else:
        assert field.type == pyarrow.binary(16)
        assert field.metadata[b"ARROW:extension:name"] == b"arrow.uuid"


@pytest.mark.slow
def test_thousands_of_exports_are_released(implementation: Implementation) -> None:
    """If no consumer reads an export, it is released, even if there are thousands of exports."""
    array = column(implementation)
    count_before = implementation.arrow_capsules.held_count()
    for _ in range(2000):
        Exported(implementation, array).__arrow_c_array__()
    assert implementation.arrow_capsules.held_count() == count_before


def test_an_invalid_column_is_an_error_and_leaks_nothing(implementation: Implementation) -> None:
    """Exporting an invalid column raises TypeError and leaks nothing.

    The last child of the column has the number 3 instead of a buffer.
    """
    array = column(implementation)
    *good_children, last_child = array.children
    bad_child = ColumnArray(last_child.layout, length=2, null_count=0, buffers=(3,), children=())
    column_with_bad_buffer = ColumnArray(
        array.layout,
        length=2,
        null_count=0,
        buffers=(None,),
        children=(*good_children, bad_child),
    )
    with pytest.raises(TypeError):
        implementation.arrow_capsules.array_capsule(column_with_bad_buffer)


def test_batches_may_be_released_while_an_exception_is_raised(
    implementation: Implementation,
) -> None:
    """An exception may drop record batches: releasing them must not replace the exception.

    The exception drops the unfinished list, and with it the batches, while it is being raised.
    """
    pyarrow = pytest.importorskip("pyarrow")
    if not implementation.arrow_capsules.RELEASES_SAFELY:
        pytest.skip("ctypes cannot do this: see the module")
    array = column(implementation)
    with pytest.raises(ZeroDivisionError):
        _ = [
            pyarrow.record_batch(Exported(implementation, array)) if number < 2 else 1 / 0
            for number in range(3)
        ]


# A program that ends while exported memory is still in use.
AT_EXIT = """
import sys
from tests.conftest import Implementation
from tests.processes import run_python
from tests.unit.protocol.columnar.test_arrow_capsules import Exported, Streamed, column
import pyarrow
implementation = Implementation("{impl}")
array = column(implementation)
batch = pyarrow.record_batch(Exported(implementation, array))
pages = iter([array, array])
streamed = Streamed(implementation, array.layout, lambda: next(pages, None))
reader = pyarrow.RecordBatchReader.from_stream(streamed)
capsule = implementation.arrow_capsules.array_capsule(array)
sys.kept = [reader.read_next_batch(), pyarrow.schema(batch.schema), capsule]
print("done")
"""


def test_exports_may_be_held_until_the_interpreter_ends(implementation: Implementation) -> None:
    """A process that still holds exports at its end must neither crash nor print an error."""
    pytest.importorskip("pyarrow")
    process = run_python(AT_EXIT.format(impl=implementation.name), WITH_TESTS)
    assert process.returncode == 0
    assert process.stdout == "done\n"
    assert process.stderr == ""
