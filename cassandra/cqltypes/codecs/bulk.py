"""Encodes and decodes many numbers at once, without a Python call for each number.

In a CQL list, each number is preceded by an [int] length. We encode all n numbers with one call of
`struct`, which packs them without lengths. Then we insert the lengths with slices that have a step:
for numbers of w bytes, one slice assignment copies byte j of all numbers. So a list takes w + 1
slice assignments, whatever n is. Decoding works in the opposite direction.
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
    from numpy.typing import NDArray
    from typing_extensions import Buffer

_NATIVE_ORDER = "<" if sys.byteorder == "little" else ">"
# The `struct` letters of integers and of floats.
_INTEGERS = frozenset("bBhHiIlLqQnN")
_FLOATS = frozenset("efd")
# Maps the `struct` letters that codecs use to the type codes of the module array.
_ARRAY_CODES = {"b": "b", "h": "h", "i": "i", "q": "q", "f": "f", "d": "d"}


def buffer_of(value: Any) -> memoryview | None:
    """Return a memoryview of an array (NumPy, array.array, memoryview or bytearray), else None.

    The result is also None for a masked array, because its memory does not contain the mask. So it
    is for a single `numpy.datetime64` or `numpy.timedelta64`, whose buffer has the bytes of one
    number, and not a sequence of numbers.
    """
    if (
        isinstance(value, (list, tuple, set, frozenset, str, bytes))
        or masked_array(value) is not None
    ):
        return None
    try:
        view = memoryview(value)
    except (TypeError, ValueError, BufferError):
        return None
    if view.format == "B" and is_single_moment(value):
        return None
    return view


def is_single_moment(value: object) -> bool:
    """Return True for a `numpy.datetime64` or `numpy.timedelta64`, whose buffer is 8 single bytes.

    The compiled codecs also call this function, for values whose buffer has bytes as items.
    """
    return getattr(value, "ndim", None) == 0 and not isinstance(value, memoryview)


def wire_form(view: memoryview, code: str) -> bytes | None:
    """Return the elements of a one-dimensional `view` as packed big-endian numbers.

    :param code: the `struct` letter of the numbers to return.
    :returns: the bytes; None if the view's items are not numbers, or if a number does not fit. The
        caller then encodes the elements one by one, and its error names the first number that does
        not fit.
    """
    # A format consists of an optional byte order and a letter. Without a byte order, it means "@".
    order, item_code = "@", view.format
    if item_code and item_code[0] in "<>=!@":
        order, item_code = item_code[0], item_code[1:]
    if view.ndim != 1 or len(item_code) != 1 or item_code not in _INTEGERS | _FLOATS:
        return None
    if order in "@=":
        # "@" means the machine's own sizes. "=" means standard sizes, in the machine's byte order.
        order, has_native_sizes = _NATIVE_ORDER, order == "@"
    else:
        order, has_native_sizes = (">" if order == "!" else order), False
    size = view.itemsize
    # If the items already have the right kind and size, at most their byte order must be changed.
    is_same_kind = (item_code in "bhilqn" and code in "bhiq") or (
        item_code == code and code in "fd"
    )
    data = view.tobytes()
    if is_same_kind and size == struct.calcsize(">" + code):
        if order == ">" or size == 1:
            return data
        swapped = array(_ARRAY_CODES[code], data)
        swapped.byteswap()
        return swapped.tobytes()
    # Floats cannot become integers. The caller's error will name the first float.
    if item_code in _FLOATS and code not in "fd":
        return None
    count = len(data) // size
    try:
        # The kind or size differs: let struct convert the numbers. It fails if a number does not
        # fit.
        numbers = struct.unpack(f"{'@' if has_native_sizes else order}{count}{item_code}", data)
        return struct.pack(f">{count}{code}", *numbers)
    except (struct.error, OverflowError):
        return None


def values_of(view: memoryview) -> list[Any]:
    """Return the elements of a one-dimensional memoryview as Python numbers."""
    # memoryview.tolist() supports only native formats, and half-precision floats ("e") only since
    # Python 3.12. Decode all other formats with struct.
    item_format = view.format
    if item_format in ("e", "@e"):
        item_format = "=e"
    if item_format[:1] in "<>=!" and len(item_format) == 2:
        return list(struct.unpack(f"{item_format[0]}{len(view)}{item_format[1]}", view.tobytes()))
    return view.tolist()


def elements_of(value: object, name: str) -> Sequence[Any]:
    """Return the elements of any iterable as a new list or tuple.

    The elements of a number array are read from the array's memory.

    :param name: the CQL type, for error messages.
    """
    view = buffer_of(value)
    if view is not None and view.ndim == 1:
        with view:
            try:
                return values_of(view)
            except (NotImplementedError, struct.error):
                pass  # struct does not know the format; iterate over the object instead
    return coerce.elements(value, name)


def members_of(value: object, name: str) -> Sequence[Any]:
    """Return the elements of a set as `elements_of` does.

    A dict is also accepted: its keys are returned.
    """
    return list(value) if isinstance(value, dict) else elements_of(value, name)


def with_lengths(packed: bytes, width: int) -> bytes:
    """Return the bytes of a CQL list of numbers: an [int] count, then each number as [bytes].

    :param packed: the elements without lengths.
    :param width: the size of an element in bytes.
    """
    count = len(packed) // width
    stride = width + 4
    encoded = bytearray(4 + count * stride)
    encoded[0:4] = count.to_bytes(4, "big")
    if count:
        # Set the last byte of each length. The other three bytes stay 0, because a number has at
        # most 8 bytes.
        encoded[7::stride] = bytes((width,)) * count
        for byte_index in range(width):
            # Copy byte number `byte_index` of all elements at once.
            encoded[8 + byte_index :: stride] = packed[byte_index::width]
    return bytes(encoded)


def without_lengths(data: bytes, count: int, width: int) -> bytearray | None:
    """Return the elements of an encoded list without their lengths.

    Return None if an element does not have `width` bytes.
    """
    stride = width + 4
    if len(data) != 4 + count * stride:
        return None
    # All lengths must equal `width`. Check each of the four bytes of the lengths for all elements
    # at once.
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
    """Convert packed big-endian numbers to an array.array."""
    numbers = array(_ARRAY_CODES[code], bytes(packed))
    if sys.byteorder == "little":
        numbers.byteswap()
    return numbers


def store(packed: bytes | bytearray, code: str, out: Buffer, name: str) -> int:
    """Write packed big-endian numbers to the buffer `out`.

    :param code: the `struct` letter of the numbers.
    :param out: a writable buffer of numbers of the same kind and size, in any byte order.
    :param name: the CQL type, for error messages.
    :returns: the number of elements.
    :raises TypeError: if the buffer's items are of another kind or size, or if the buffer is
        read-only.
    :raises ValueError: if the buffer is too small.
    """
    view = memoryview(out)
    width = struct.calcsize(">" + code)
    item_format = view.format
    # A format consists of an optional byte order and a letter. Without a byte order, it means "@".
    order, item_code = "@", item_format
    if item_code and item_code[0] in "<>=!@":
        order, item_code = item_code[0], item_code[1:]
    item_kind = "f" if item_code in ("f", "d") else "i"
    is_same_kind = (
        len(item_code) == 1
        and item_code in "bhilqnfd"
        and item_kind == ("f" if code in "fd" else "i")
    )
    if (
        view.readonly
        or view.ndim != 1
        or not view.c_contiguous
        or view.itemsize != width
        or not is_same_kind
    ):
        raise TypeError(
            f"{name}: the buffer to decode into must be writable, contiguous, of one dimension "
            f"and of the format {code!r}; it has the format {item_format!r}, {view.ndim} dimensions"
        )
    count = len(packed) // width
    if len(view) < count:
        raise ValueError(f"{name}: {count} elements do not fit a buffer of {len(view)}")
    # "@" and "=" mean the byte order of this machine; "!" is big-endian, like `packed`.
    if order in "@=":
        order = _NATIVE_ORDER
    raw = bytes(packed)
    if order == "<":
        raw = native_swapped(raw, code)
    view.cast("B")[: len(raw)] = raw
    return count


def native_swapped(packed: bytes, code: str) -> bytes:
    """Return `packed` with the bytes of each element reversed."""
    swapped = array(_ARRAY_CODES[code], packed)
    swapped.byteswap()
    return swapped.tobytes()


def numpy_array(packed: bytes | bytearray, code: str) -> NDArray[Any]:
    """Convert packed big-endian numbers to a writable NumPy array in native byte order.

    :raises ImportError: if NumPy is not installed.
    """
    import numpy  # optional

    return numpy.frombuffer(packed, ">" + _NUMPY_CODES[code]).astype("=" + _NUMPY_CODES[code])


# Maps the `struct` letters that codecs use to NumPy's type codes.
_NUMPY_CODES = {"b": "i1", "h": "i2", "i": "i4", "q": "i8", "f": "f4", "d": "f8"}


def check_dimension(element: str, width: int, dimension: int) -> None:
    """Raise ValueError if a vector cannot have `dimension` elements.

    :param element: the CQL type of the elements.
    :param width: the size of each element in bytes, or -1 if it varies.
    """
    # The compiled version computes sizes in 64 bits. The limit of 1 << 60 bytes prevents an
    # overflow.
    if not 1 <= dimension <= 0x7FFFFFFF or dimension * width > 1 << 60:
        raise ValueError(f"a vector of {element} cannot have {dimension} elements")


def check_multiple(name: str, size: int, width: int, dimension: int) -> None:
    """Raise `DecodeError` unless `size` is the size of `dimension` elements of `width` bytes."""
    if size != width * dimension:
        malformed(
            name, f"takes {width * dimension} bytes ({dimension} elements of {width}), got {size}"
        )
