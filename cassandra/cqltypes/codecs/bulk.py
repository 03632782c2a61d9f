"""Many numbers at once: one `struct` call for all, and slices of bytes to lay lengths between them.

A list of n numbers of width w is n times ([int] w, w bytes). If the bare numbers are packed side by
side, byte j of all elements is one slice with a stride. So a list costs w + 1 slice assignments,
whatever n is.
"""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cassandra.cqltypes import coerce
from cassandra.cqltypes.failures import malformed
from cassandra.cqltypes.missing import masked_array

if TYPE_CHECKING:
    from typing_extensions import Buffer

_NATIVE_ORDER = "<" if sys.byteorder == "little" else ">"
_INTEGERS = frozenset("bBhHiIlLqQnN")
_FLOATS = frozenset("efd")
# The array module's letters for the sizes of the wire's integers.
_ARRAY_CODES = {"b": "b", "h": "h", "i": "i", "q": "q", "f": "f", "d": "d"}


def buffer_of(value: Any) -> memoryview | None:
    """Return the memory of an array of numbers, or None for anything else.

    Arrays are those of NumPy, array.array, memoryview and bytearray. The memory of a masked array
    says nothing of its mask, so its elements are looked at one by one.
    """
    if (
        isinstance(value, (list, tuple, set, frozenset, str, bytes))
        or masked_array(value) is not None
    ):
        return None
    try:
        return memoryview(value)
    except (TypeError, ValueError, BufferError):
        return None


def wire_form(view: memoryview, code: str) -> bytes | None:
    """Return the elements of a one-dimensional `view` as packed big-endian numbers.

    :param code: the struct letter of the numbers to return.
    :returns: None if the view's format is not a number, or has values that do not fit. The elements
        are then looked at one by one, and the error names the first that does not fit.
    """
    form = view.format
    order, letter = (form[0], form[1:]) if form[:1] in "<>=!@" and form else ("@", form)
    if view.ndim != 1 or len(letter) != 1 or letter not in _INTEGERS | _FLOATS:
        return None
    if order in "@=":
        # "@" has the machine's own sizes, "=" has standard sizes in the machine's order.
        order, native = _NATIVE_ORDER, order == "@"
    else:
        order, native = (">" if order == "!" else order), False
    size = view.itemsize
    # Memory of the same kind and width needs no look at its numbers, only their byte order.
    same_kind = (letter in "bhilqn" and code in "bhiq") or (letter == code and code in "fd")
    data = view.tobytes()
    if same_kind and size == struct.calcsize(">" + code):
        if order == ">" or size == 1:
            return data
        swapped = array(_ARRAY_CODES[code], data)
        swapped.byteswap()
        return swapped.tobytes()
    # struct would refuse floats. Return None, so that the caller encodes element by element and its
    # error names the first wrong one.
    if letter in _FLOATS and code not in "fd":
        return None
    count = len(data) // size
    try:
        # Another kind or width: struct converts, and fails if a number does not fit.
        numbers = struct.unpack(f"{'@' if native else order}{count}{letter}", data)
        return struct.pack(f">{count}{code}", *numbers)
    except (struct.error, OverflowError):
        return None


def values_of(view: memoryview) -> list[Any]:
    """Return the elements of a one-dimensional buffer as Python numbers."""
    # memoryview.tolist() knows native formats only, and halves from Python 3.12 on.
    form = view.format
    if form in ("e", "@e"):
        form = "=e"
    if form[:1] in "<>=!" and len(form) == 2:
        return list(struct.unpack(f"{form[0]}{len(view)}{form[1]}", view.tobytes()))
    return view.tolist()


def elements_of(value: object, name: str) -> Sequence[Any]:
    """Return the elements of any iterable, as a list or tuple that nobody else changes.

    Arrays of numbers are taken from their memory.
    """
    view = buffer_of(value)
    if view is not None and view.ndim == 1:
        with view:
            try:
                return values_of(view)
            except (NotImplementedError, struct.error):
                pass  # a format that only the exporter itself understands: iterate
    return coerce.elements(value, name)


def members_of(value: object, name: str) -> Sequence[Any]:
    """Like `elements_of`, for a list or set: a dict stands for its keys."""
    return list(value) if isinstance(value, dict) else elements_of(value, name)


def with_lengths(packed: bytes, width: int) -> bytes:
    """Return [int] n and n times ([int] width, element) of `packed` elements."""
    count = len(packed) // width
    stride = width + 4
    out = bytearray(4 + count * stride)
    out[0:4] = count.to_bytes(4, "big")
    if count:
        # Byte 3 of each length; the others stay 0, since no number has more than 8 bytes.
        out[7::stride] = bytes((width,)) * count
        for byte_index in range(width):
            out[8 + byte_index :: stride] = packed[byte_index::width]
    return bytes(out)


def without_lengths(data: bytes, count: int, width: int) -> bytearray | None:
    """Return the packed elements of a list body, or None if not all of them have `width` bytes."""
    stride = width + 4
    if len(data) != 4 + count * stride:
        return None
    if count and (
        data[7::stride] != bytes((width,)) * count
        or any(data[4::stride])
        or any(data[5::stride])
        or any(data[6::stride])
    ):
        return None
    packed = bytearray(count * width)
    for byte_index in range(width):
        packed[byte_index::width] = data[8 + byte_index :: stride]
    return packed


def native_array(packed: bytes | bytearray, code: str) -> array[Any]:
    """Return an array.array of packed big-endian numbers."""
    numbers = array(_ARRAY_CODES[code], bytes(packed))
    if sys.byteorder == "little":
        numbers.byteswap()
    return numbers


def store(packed: bytes | bytearray, code: str, out: Buffer, name: str) -> int:
    """Write packed big-endian numbers into the buffer `out` of the same kind.

    :returns: the number of elements.
    :raises TypeError: if the buffer is of another kind, or cannot be written to.
    :raises ValueError: if the buffer is too small.
    """
    view = memoryview(out)
    width = struct.calcsize(">" + code)
    form = view.format
    order, letter = (form[0], form[1:]) if form[:1] in "<>=!@" and form else ("@", form)
    kind = "f" if letter in ("f", "d") else "i"
    alike = len(letter) == 1 and letter in "bhilqnfd" and kind == ("f" if code in "fd" else "i")
    if (
        view.readonly
        or view.ndim != 1
        or not view.c_contiguous
        or view.itemsize != width
        or not alike
    ):
        raise TypeError(
            f"{name}: the buffer to decode into must be writable, contiguous, of one dimension "
            f"and of the format {code!r}; it has the format {form!r}, {view.ndim} dimensions"
        )
    count = len(packed) // width
    if len(view) < count:
        raise ValueError(f"{name}: {count} elements do not fit a buffer of {len(view)}")
    # The caller's buffer may have the other byte order than this machine.
    foreign = order in "<>!" and (">" if order == "!" else order) != _NATIVE_ORDER
    raw = bytes(packed)
    if ("<" if not foreign else ">") == _NATIVE_ORDER:
        raw = native_swapped(raw, code)
    view.cast("B")[: len(raw)] = raw
    return count


def native_swapped(packed: bytes, code: str) -> bytes:
    """Return `packed` with the bytes of each element reversed."""
    swapped = array(_ARRAY_CODES[code], packed)
    swapped.byteswap()
    return swapped.tobytes()


def numpy_array(packed: bytes | bytearray, code: str) -> Any:
    """Return a NumPy array of packed big-endian numbers, writable and in native byte order.

    :raises ImportError: if NumPy is not installed.
    """
    import numpy  # optional

    return numpy.frombuffer(packed, ">" + _NUMPY_CODES[code]).astype("=" + _NUMPY_CODES[code])


_NUMPY_CODES = {"b": "i1", "h": "i2", "i": "i4", "q": "i8", "f": "f4", "d": "f8"}


def check_dimension(element: str, width: int, dimension: int) -> None:
    """Raise ValueError unless a vector may have `dimension` elements.

    :param width: bytes of each element. -1 if they vary.
    """
    # Beyond 1 << 60 the size in bytes would overflow the compiled twin's 64 bits.
    if not 1 <= dimension <= 0x7FFFFFFF or dimension * width > 1 << 60:
        raise ValueError(f"a vector of {element} cannot have {dimension} elements")


def check_multiple(name: str, size: int, width: int, dimension: int) -> None:
    """Raise `DecodeError` unless `size` bytes are `dimension` elements of `width`."""
    if size != width * dimension:
        malformed(
            name, f"takes {width * dimension} bytes ({dimension} elements of {width}), got {size}"
        )
