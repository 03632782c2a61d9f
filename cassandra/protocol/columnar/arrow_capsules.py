"""Exports columns through Arrow's C data interface, in PyCapsules; consumers read them in place.

The consumer (pyarrow, polars, ...) gets a C struct with the addresses of our buffers. It must call
the struct's release callback exactly once, and may do so from any thread. For each struct,
including the structs of child columns, `_held` keeps the memory alive. The key in `_held` is a
number that the struct carries in `private_data`, not the struct's address. So a consumer may move a
struct, as the interface allows: copy it elsewhere, and set the callback of the original to NULL. If
no consumer takes the struct out of its capsule, the capsule's destructor releases the struct.

This is the reference implementation, in ctypes; the compiled version is
``cassandra._accel.arrow_capsules``. A ctypes callback has one weakness: if it runs while an
exception is being raised, the exception is lost and the callback may not complete. For example,
this happens if an exception ends a function that holds the last reference to an exported object.
`RELEASES_SAFELY` is False because of this. Then `cassandra.protocol.columnar.pages` lets pyarrow,
if it is installed, own the exported data.
"""

from __future__ import annotations

import ctypes
import itertools
import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from cassandra.protocol.columnar.layouts import ColumnArray, Layout

if TYPE_CHECKING:
    from _ctypes import CFuncPtr

_Callback = TypeVar("_Callback", bound="CFuncPtr")

RELEASES_SAFELY = False  # the module's docstring explains why

_NULLABLE = 2  # ARROW_FLAG_NULLABLE
# The errno that a failed call returns. Any errno would do, because consumers show the message of
# get_last_error.
_EIO = 5

_pointer = ctypes.c_void_p


class _Schema(ctypes.Structure):
    _fields_ = (
        ("format", _pointer),
        ("name", _pointer),
        ("metadata", _pointer),
        ("flags", ctypes.c_int64),
        ("n_children", ctypes.c_int64),
        ("children", _pointer),
        ("dictionary", _pointer),
        ("release", _pointer),
        ("private_data", _pointer),
    )


class _Array(ctypes.Structure):
    _fields_ = (
        ("length", ctypes.c_int64),
        ("null_count", ctypes.c_int64),
        ("offset", ctypes.c_int64),
        ("n_buffers", ctypes.c_int64),
        ("n_children", ctypes.c_int64),
        ("buffers", _pointer),
        ("children", _pointer),
        ("dictionary", _pointer),
        ("release", _pointer),
        ("private_data", _pointer),
    )


class _Stream(ctypes.Structure):
    _fields_ = (
        ("get_schema", _pointer),
        ("get_next", _pointer),
        ("get_last_error", _pointer),
        ("release", _pointer),
        ("private_data", _pointer),
    )


class _View(ctypes.Structure):
    """The C struct Py_buffer, with which CPython gives access to the memory of an object."""

    _fields_ = (
        ("buf", _pointer),
        ("obj", _pointer),
        ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("format", _pointer),
        ("shape", _pointer),
        ("strides", _pointer),
        ("suboffsets", _pointer),
        ("internal", _pointer),
    )


# The types of the C functions in the structs: `release`; `get_schema` and `get_next`, which fill a
# struct; and `get_last_error`, which returns a string.
_Release = ctypes.CFUNCTYPE(None, _pointer)
_Fill = ctypes.CFUNCTYPE(ctypes.c_int, _pointer, _pointer)
_Text = ctypes.CFUNCTYPE(_pointer, _pointer)

# Make new prototypes of the C functions: setting argtypes on the functions of ctypes.pythonapi
# would change them for all other code in the process.
_new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, _pointer, ctypes.c_char_p, _pointer)(
    ("PyCapsule_New", ctypes.pythonapi)
)
_capsule_pointer = ctypes.PYFUNCTYPE(_pointer, _pointer, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
_get_buffer = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, _pointer, ctypes.c_int)(
    ("PyObject_GetBuffer", ctypes.pythonapi)
)
_keep = ctypes.PYFUNCTYPE(None, ctypes.py_object)(("Py_IncRef", ctypes.pythonapi))
_release_buffer = ctypes.PYFUNCTYPE(None, _pointer)(("PyBuffer_Release", ctypes.pythonapi))

# For each struct that is not released yet, maps the number in its private_data to the objects whose
# memory the struct points to.
_held: dict[int, tuple[Any, ...]] = {}
_numbers = itertools.count(1)


def _hold(*objects: Any) -> int:
    """Keep `objects` alive in `_held`; return their key, for private_data."""
    number = next(_numbers)
    _held[number] = objects
    return number


def _c_string(text: bytes) -> ctypes.Array[ctypes.c_char]:
    return ctypes.create_string_buffer(text)


def _metadata(layout: Layout) -> bytes:
    """Return the extension type, encoded as the interface requires: 32-bit counts and lengths."""
    pairs = (b"ARROW:extension:name", layout.extension.encode(), b"ARROW:extension:metadata", b"")
    return struct.pack("=i", 2) + b"".join(struct.pack("=i", len(item)) + item for item in pairs)


def _child_structs(struct_type: type[ctypes.Structure], count: int) -> tuple[Any, Any]:
    """Return an array of `count` structs, and an array of pointers to these structs."""
    children = (struct_type * count)()
    # The interface requires the array of pointers. The structs themselves may be in one array.
    size = ctypes.sizeof(struct_type)
    first = ctypes.addressof(children)
    return children, (_pointer * count)(*[first + index * size for index in range(count)])


def _fill_schema(schema: _Schema, layout: Layout, name: str) -> None:
    """Fill an ArrowSchema struct for `layout`, and the structs of its child layouts."""
    children, child_pointers = _child_structs(_Schema, len(layout.children))
    for child, child_layout, child_name in zip(
        children, layout.children, layout.names, strict=True
    ):
        _fill_schema(child, child_layout, child_name)
    format_string, name_string = _c_string(layout.format.encode()), _c_string(name.encode())
    metadata_string = _c_string(_metadata(layout)) if layout.extension else None
    schema.format = ctypes.addressof(format_string)
    schema.name = ctypes.addressof(name_string)
    schema.metadata = ctypes.addressof(metadata_string) if metadata_string is not None else None
    schema.flags = _NULLABLE if layout.nullable else 0
    schema.n_children = len(children)
    schema.children = ctypes.addressof(child_pointers)
    schema.dictionary = None
    # The struct only has addresses, so keep the objects alive until the struct is released.
    schema.private_data = _hold(
        format_string, name_string, metadata_string, children, child_pointers
    )
    schema.release = _release_schema_address


def _fill_array(array: _Array, column: ColumnArray) -> None:
    """Fill an ArrowArray struct with the buffers of `column`, which are not copied."""
    children, child_pointers = _child_structs(_Array, len(column.children))
    # A column of the type null has no buffers at all.
    buffers = () if column.layout.format == "n" else column.buffers
    buffer_pointers = (_pointer * len(buffers))()
    buffer_views: list[Any] = []
    array.length = column.length
    array.null_count = column.null_count if buffers else column.length
    array.offset = 0
    array.n_buffers = len(buffers)
    # The number grows below with each child, so that after an error `_release_array` only releases
    # children that were begun.
    array.n_children = 0
    array.buffers = ctypes.addressof(buffer_pointers)
    array.children = ctypes.addressof(child_pointers)
    array.dictionary = None
    array.private_data = _hold(buffer_views, buffer_pointers, children, child_pointers)
    # Set the callback before anything can fail: after an error, `_release_array` cleans up.
    array.release = _release_array_address
    try:
        for index, buffer in enumerate(buffers):
            if buffer is not None:
                buffer_views.append(_buffer_view(buffer))
                buffer_pointers[index] = buffer_views[-1].buf  # the address of the memory
        for child, child_column in zip(children, column.children, strict=True):
            array.n_children += 1
            _fill_array(child, child_column)
    except BaseException:
        _release_array(ctypes.addressof(array))
        raise


def _buffer_view(buffer: object) -> _View:
    """Return a Py_buffer of `buffer`, which keeps the memory in place until it is released."""
    view = _View()
    _get_buffer(buffer, ctypes.addressof(view), 0)
    return view


def _make_release_callback(struct_type: type[ctypes.Structure]) -> Callable[[int], None]:
    """Return the release callback for structs of the class `struct_type`.

    At exit, the interpreter may destroy a consumer's objects after it has cleared this module's
    globals. So the callback refers to everything that it needs by local variables.
    """
    held, pointer, prototype, release_buffer, address_of = (
        _held,
        _pointer,
        _Release,
        _release_buffer,
        ctypes.addressof,
    )
    has_children = struct_type is not _Stream

    def release(address: int) -> None:
        released_struct = struct_type.from_address(address)
        # In this interface, release == NULL means that the struct was released or moved.
        if not released_struct.release:
            return
        if has_children and released_struct.n_children:
            for child_address in (pointer * released_struct.n_children).from_address(
                released_struct.children
            ):
                # NULL means that a consumer has moved the child. Then the new owner releases it.
                child_release = struct_type.from_address(child_address).release
                if child_release:
                    prototype(child_release)(child_address)
        released_struct.release = None
        # Drop the objects that `_hold` keeps for the struct. For an array, the first object is the
        # list of its Py_buffers, which must be released. Schemas and streams have no such list.
        held_objects = held.pop(released_struct.private_data, ())
        if held_objects and type(held_objects[0]) is list:
            for buffer_view in held_objects[0]:
                release_buffer(address_of(buffer_view))

    return release


_release_schema = _make_release_callback(_Schema)
_release_array = _make_release_callback(_Array)
_release_stream = _make_release_callback(_Stream)


class _Source:
    """Holds what a stream's callbacks need: the layout, the source of columns, and the last error.

    :param layout: the layout of the columns.
    :param following: returns the next column, or None at the end of the stream.
    """

    def __init__(self, layout: Layout, following: Callable[[], ColumnArray | None]) -> None:
        self.layout = layout
        self.following = following
        self.error = _c_string(b"")

    def failed(self, error: BaseException) -> int:
        """Keep the error's message for get_last_error, and return an errno."""
        self.error = _c_string((str(error) or type(error).__name__).encode("utf-8", "replace"))
        return _EIO


def _source_of(stream: int) -> _Source:
    source: _Source = _held[_Stream.from_address(stream).private_data][0]
    return source


def _get_schema(stream: int, out: int) -> int:
    """Fill the ArrowSchema at the address `out`; return 0, or an errno after an error."""
    source = _source_of(stream)
    try:
        _fill_schema(_Schema.from_address(out), source.layout, "")
    except BaseException as error:  # no exception may pass through the consumer's C code
        return source.failed(error)
    return 0


def _get_next(stream: int, out: int) -> int:
    """Fill the ArrowArray at the address `out` with the next column of the stream.

    :returns: 0, or an errno after an error.
    """
    source = _source_of(stream)
    try:
        column = source.following()
        if column is None:
            # In this interface, a struct that is already released (zeroed) ends the stream.
            ctypes.memset(out, 0, ctypes.sizeof(_Array))
        else:
            _fill_array(_Array.from_address(out), column)
    except BaseException as error:  # no exception may pass through the consumer's C code
        return source.failed(error)
    return 0


def _get_last_error(stream: int) -> int:
    return ctypes.addressof(_source_of(stream).error)


def _address(function: CFuncPtr) -> int:
    address = ctypes.cast(function, _pointer).value
    assert address is not None
    return address


def _keep_for_ever(callback: _Callback) -> _Callback:
    """Keep `callback` alive for ever, because it may be called after this module was destroyed."""
    _keep(callback)
    return callback


_release_schema_callback = _keep_for_ever(_Release(_release_schema))
_release_array_callback = _keep_for_ever(_Release(_release_array))
_release_stream_callback = _keep_for_ever(_Release(_release_stream))
_get_schema_callback = _Fill(_get_schema)
_get_next_callback = _Fill(_get_next)
_get_last_error_callback = _Text(_get_last_error)
_release_schema_address = _address(_release_schema_callback)
_release_array_address = _address(_release_array_callback)
_release_stream_address = _address(_release_stream_callback)


def _make_destructor(name: bytes, struct_type: type[ctypes.Structure]) -> object:
    """Return the destructor of capsules named `name` whose struct has the class `struct_type`."""
    # `destroy` only uses local variables, because this module's globals may be gone when it is
    # called. See `_make_release_callback`.
    held, prototype, pointer_of = _held, _Release, _capsule_pointer

    def destroy(capsule: int) -> None:
        address = pointer_of(capsule, name)
        release = struct_type.from_address(address).release
        # NULL means that a consumer has moved the struct. Then the consumer releases it.
        if release:
            prototype(release)(address)
        held.pop(address, None)

    return _keep_for_ever(ctypes.PYFUNCTYPE(None, _pointer)(destroy))


# The name and the destructor of a capsule, by the class of its struct.
_KINDS: dict[Any, tuple[bytes, Any]] = {
    _Schema: (b"arrow_schema", _make_destructor(b"arrow_schema", _Schema)),
    _Array: (b"arrow_array", _make_destructor(b"arrow_array", _Array)),
    _Stream: (b"arrow_array_stream", _make_destructor(b"arrow_array_stream", _Stream)),
}


def _capsule(content: ctypes.Structure) -> object:
    """Return a capsule that owns the struct `content`.

    Until the capsule is destroyed, `_held` keeps the struct alive, with the struct's address as the
    key. Addresses are far larger than the numbers that `_hold` uses as keys, so the keys cannot
    clash.
    """
    name, destructor = _KINDS[type(content)]
    address = ctypes.addressof(content)
    _held[address] = (content,)
    return _new_capsule(address, name, _address(destructor))


def schema_capsule(layout: Layout) -> object:
    """Return the Arrow schema of `layout` as an ``arrow_schema`` capsule."""
    schema = _Schema()
    _fill_schema(schema, layout, "")
    return _capsule(schema)


def array_capsule(column: ColumnArray) -> object:
    """Return `column` as an ``arrow_array`` capsule; the consumer's release callback frees it."""
    array = _Array()
    _fill_array(array, column)
    return _capsule(array)


def stream_capsule(layout: Layout, following: Callable[[], ColumnArray | None]) -> object:
    """Return an ``arrow_array_stream`` capsule; all columns of the stream have the same `layout`.

    :param following: returns the next column, or None at the end of the stream. If it raises an
        error, the consumer's call for the next column fails with the error's message.
    """
    stream = _Stream()
    stream.get_schema = _address(_get_schema_callback)
    stream.get_next = _address(_get_next_callback)
    stream.get_last_error = _address(_get_last_error_callback)
    stream.private_data = _hold(_Source(layout, following))
    stream.release = _release_stream_address
    return _capsule(stream)


def held_count() -> int:
    """Return the number of structs that were exported and are not released yet."""
    return len(_held)


__all__ = ["RELEASES_SAFELY", "array_capsule", "held_count", "schema_capsule", "stream_capsule"]
