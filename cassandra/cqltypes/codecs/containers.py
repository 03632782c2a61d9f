"""Codecs of types that contain other types: list, set, map, tuple, user-defined types, vector.

`encode` and `decode` first try a fast path, which handles all elements at once. It gives up if an
element is null, empty or invalid. Then the slow path handles the elements one by one. If an element
fails on the slow path, the error names its position.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from cassandra.cqltypes import coerce
from cassandra.cqltypes.codecs.base import (
    NULL,
    Codec,
    Data,
    Leaf,
    length_fields,
    missing_fields,
    pack_length,
    read_element,
    take,
)
from cassandra.cqltypes.codecs.bulk import (
    buffer_of,
    check_dimension,
    check_multiple,
    elements_of,
    members_of,
    native_array,
    numpy_array,
    store,
    wire_form,
    with_lengths,
    without_lengths,
)
from cassandra.cqltypes.failures import (
    EncodeTypeError,
    fails_again,
    locate,
    malformed,
    refuse_value,
)
from cassandra.cqltypes.missing import USUAL, is_missing, without_missing
from cassandra.marshal import uvint_pack, uvint_unpack
from cassandra.sentinels import EMPTY
from cassandra.util.orderedmap import OrderedMapSerializedKey
from cassandra.util.sortedset import SortedSet

__all__ = ["list_of", "map_of", "ordered", "set_of", "tuple_of", "udt", "vector_of"]

if TYPE_CHECKING:
    from array import array

    from numpy.typing import NDArray
    from typing_extensions import Buffer

_int32_at = struct.Struct(">i").unpack_from
_LONGEST_LENGTH = 9  # maximum size in bytes of the unsigned vint before an element


def _pack_numbers(value: object, code: str) -> bytes | None:
    """Encode a sequence of numbers as big-endian bytes, without lengths.

    :param code: the `struct` letter of the numbers.
    :returns: the bytes; None if the caller must encode the elements one by one.
    """
    # Exclude subclasses of list and tuple: they may override iteration.
    if type(value) is list or type(value) is tuple:
        # A list that begins with None needs the slow path. This check saves a search of the whole
        # list for missing values.
        if value and value[0] is None:
            return None
        if code in "fd":
            # struct would accept more than `Float.encode` does.
            if not coerce.are_plain_numbers(value):
                return None
        elif without_missing(value) is not value:
            return None  # an element is a missing value such as NA, and becomes null
        try:
            return struct.pack(f">{len(value)}{code}", *value)
        except struct.error:
            # The caller then encodes the elements one by one, so that the error names the invalid
            # element.
            return None
        except Exception as error:
            elements = [*value]
            if not fails_again(error, lambda: struct.pack(f">{len(elements)}{code}", *elements)):
                raise
            return None
    view = buffer_of(value)
    if view is None:
        return None
    with view:
        return wire_form(view, code)


def _read_count(name: str, data: bytes, smallest: int) -> int:
    """Read the [int] count of elements, with which a collection begins.

    Raises `DecodeError` if the bytes cannot hold so many elements.

    :param smallest: the minimum size of an element in bytes, including its lengths.
    """
    if len(data) < 4:
        malformed(name, f"truncated: {len(data)} bytes of a 4-byte count")
    count = int.from_bytes(data[:4], "big", signed=True)
    if count < 0:
        malformed(name, f"the negative count {count}")
    # Check the count before we allocate memory for the elements.
    if count * smallest > len(data) - 4:
        malformed(name, f"claims {count} elements, which {len(data) - 4} bytes cannot hold")
    return count


def _append(parts: list[bytes], encode: Callable[[Any], bytes], value: object) -> None:
    """Append a value as [bytes]: its length, and its encoded bytes; None becomes null."""
    if value is None:
        parts.append(NULL)
    else:
        body = encode(value)
        parts.append(pack_length(len(body)))
        parts.append(body)


def _slice_elements(data: bytes, count: int) -> list[bytes] | None:
    """Slice a collection into the bytes of its elements (for a map: of its keys and values).

    Return None if an element is null or empty, or if the elements do not fill `data` exactly.

    :param data: the bytes of the collection, with the [int] count at the beginning.
    :param count: the number of elements.
    """
    elements = []
    read_int32, end_of_data, start = _int32_at, len(data), 8
    for _ in range(count):
        if start > end_of_data:
            return None
        end = start + read_int32(data, start - 4)[0]
        # Give up if the element is null or empty, or goes past the end of `data`.
        if end <= start or end > end_of_data:
            return None
        elements.append(data[start:end])
        start = end + 4
    # If bytes are left over, return None, so that the slow path raises the error.
    return elements if start - 4 == end_of_data else None


class ListCodec(Codec):
    """The codec of list and set: an [int] count, then [bytes] for each element.

    See native_protocol_v5.spec, sections 5.12 and 5.14.

    :param finish: makes the decoded value from the list of elements; None returns the list itself.
    """

    __slots__ = ("_element", "_finish_items")

    def __init__(
        self, name: str, element: Codec, finish: Callable[[list[Any]], Any] | None, empty: object
    ) -> None:
        super().__init__(name, empty=empty)
        self._element = element
        self._finish_items = finish

    def encode(self, value: object) -> bytes:
        """Encode any iterable."""
        element = self._element
        if type(value) is list:
            # Copy the list, because encoding an element may run user code that changes the list.
            value = value.copy()
        # The fast path for numbers: one call of struct.
        if element.struct_code:
            packed = _pack_numbers(value, element.struct_code)
            if packed is not None:
                return with_lengths(packed, element.width)
        if value is EMPTY:
            return b""
        items: list[Any] = value if type(value) is list else [*members_of(value, self.cql_name)]
        items = without_missing(items, element.cql_name)
        # The fast path for other simple types: encode all elements, then all lengths, and join the
        # parts once.
        bodies = None if element.struct_code else element._encode_many(items)
        if bodies is not None:
            parts = [b""] * (2 * len(items) + 1)
            parts[0] = pack_length(len(items))
            parts[1::2] = length_fields(bodies)
            parts[2::2] = bodies
            return b"".join(parts)
        # The slow path encodes the elements one by one, so that an error can name the invalid
        # element.
        parts = [pack_length(len(items))]
        index = 0
        encode = element.encode
        try:
            for item in items:
                if item is None:
                    parts.append(NULL)
                else:
                    body = encode(item)
                    parts.append(pack_length(len(body)))
                    parts.append(body)
                index += 1
        except Exception as error:
            locate(error, f"element {index} of {self.cql_name}")
            raise
        return b"".join(parts)

    def decode(self, data: Data) -> list[Any] | SortedSet:
        """Return a list or, for the type set, a SortedSet."""
        data = bytes(data)
        name, element = self.cql_name, self._element
        count = _read_count(name, data, 4)
        items: list[Any]
        if element.struct_code:
            packed = without_lengths(data, count, element.width)
            if packed is not None:
                items = list(struct.unpack(f">{count}{element.struct_code}", packed))
                return items if self._finish_items is None else self._finish_items(items)
            # An element is null, or the data are malformed. If all elements are null, no loop is
            # needed.
            if data[4:] == NULL * count:
                items = [None] * count
                return items if self._finish_items is None else self._finish_items(items)
        element_bytes = _slice_elements(data, count) if isinstance(element, Leaf) else None
        # If the elements could not be decoded at once, `items` is empty and the slow path follows.
        items = [] if element_bytes is None else element._decode_many(element_bytes) or []
        if items:
            return items if self._finish_items is None else self._finish_items(items)
        # The slow path decodes the elements one by one, so that an error can name the invalid
        # element.
        offset = 4
        decode, total = element.decode, len(data)
        try:
            for _ in range(count):
                # This loop decodes most elements without a call of `take`.
                start = offset + 4
                # If the length is cut off by the end of the data, use -2, so that `take` raises the
                # error below.
                size = _int32_at(data, offset)[0] if start <= total else -2
                offset = start + size
                if size > 0 and offset <= total:
                    items.append(decode(data[start:offset]))
                    continue
                # The element is null, empty or malformed. If it is malformed, `take` raises an
                # error.
                start, size = take(data, start - 4)
                offset = start
                items.append(read_element(element, b"", size))
        except Exception as error:
            locate(error, f"element {len(items)} of {name}")
            raise
        if offset != len(data):
            malformed(name, f"{len(data) - offset} bytes left over after {count} elements")
        return items if self._finish_items is None else self._finish_items(items)

    def deserialize_into(self, data: Data, out: Buffer) -> int:
        """See `Codec.deserialize_into`."""
        element = self._element
        if not element.struct_code:
            return super().deserialize_into(data, out)
        data = bytes(data)
        count = _read_count(self.cql_name, data, 4)
        packed = without_lengths(data, count, element.width)
        if packed is None:
            # `decode` raises an error with the position if the data are malformed. If it succeeds,
            # the cause is that elements are null or empty.
            self.decode(data)
            malformed(
                self.cql_name, "has null or empty elements, which a buffer of numbers cannot hold"
            )
        return store(packed, element.struct_code, out, self.cql_name)


class MapCodec(Codec):
    """The codec of map: an [int] count, then [bytes] key and [bytes] value for each entry.

    See native_protocol_v5.spec, section 5.13.
    """

    __slots__ = ("_key", "_leaves", "_value")

    def __init__(self, name: str, key: Codec, value: Codec, empty: object) -> None:
        super().__init__(name, empty=empty)
        self._key = key
        self._value = value
        # Only use the fast path if keys and values contain no other types. Other codecs may run an
        # application's code: if the fast path failed in the middle, the slow path would run the
        # code again for the same values.
        self._leaves = isinstance(key, Leaf) and isinstance(value, Leaf)

    def encode(self, value: object) -> bytes:
        """Encode any mapping."""
        if value is EMPTY:
            return b""
        if type(value) is dict:
            # Encode copies of the keys and values, because encoding a key may run user code that
            # changes the dict. Take both from one copy of the dict, so that they match even if
            # another thread changes the dict.
            value = value.copy()
            keys, values = [*value], [*value.values()]
        else:
            keys, values = coerce.pairs(value, self.cql_name)
        keys = without_missing(keys, self._key.cql_name)
        values = without_missing(values, self._value.cql_name)
        key_bodies = self._key._encode_many(keys) if self._leaves else None
        value_bodies = None if key_bodies is None else self._value._encode_many(values)
        if key_bodies is None or value_bodies is None:
            return self._encode_each(keys, values)
        # The fast path: put the lengths, keys and values into their positions by slices with a
        # step.
        parts = [b""] * (4 * len(keys) + 1)
        parts[0] = pack_length(len(keys))
        parts[1::4] = length_fields(key_bodies)
        parts[2::4] = key_bodies
        parts[3::4] = length_fields(value_bodies)
        parts[4::4] = value_bodies
        return b"".join(parts)

    def _encode_each(self, keys: list[Any], values: list[Any]) -> bytes:
        """Encode the entries one by one. An error names the position of the key or value."""
        parts = [pack_length(len(keys))]
        encode_key, encode_value = self._key.encode, self._value.encode
        index, side = 0, "key"
        try:
            for key, value in zip(keys, values, strict=True):
                side = "key"
                _append(parts, encode_key, key)
                side = "value"
                _append(parts, encode_value, value)
                index += 1
        except Exception as error:
            locate(error, f"{side} {index} of {self.cql_name}")
            raise
        return b"".join(parts)

    def decode(self, data: Data) -> OrderedMapSerializedKey:
        """Return an `OrderedMapSerializedKey`."""
        data = bytes(data)
        name = self.cql_name
        # An entry has at least 8 bytes: the lengths of its key and value.
        count = _read_count(name, data, 8)
        keys: list[Any] = []
        values: list[Any] = []
        # The fast path: decode all keys at once, and all values.
        entry_bytes = _slice_elements(data, 2 * count) if self._leaves else None
        if entry_bytes:
            all_keys = self._key._decode_many(entry_bytes[::2])
            all_values = self._value._decode_many(entry_bytes[1::2])
            if all_keys is not None and all_values is not None:
                return OrderedMapSerializedKey._of(all_keys, all_values, self._key.encode)
        # The slow path decodes the entries one by one, so that an error can name the invalid key or
        # value.
        offset = 4
        total = len(data)
        sides = (
            (self._key, self._key.decode, keys.append),
            (self._value, self._value.decode, values.append),
        )
        try:
            for _ in range(count):
                for codec, decode, append in sides:
                    start = offset + 4
                    # If the length is cut off by the end of the data, use -2, so that `take` raises
                    # the error below.
                    size = _int32_at(data, offset)[0] if start <= total else -2
                    offset = start + size
                    if size > 0 and offset <= total:
                        append(decode(data[start:offset]))
                        continue
                    # The key or value is null, empty or malformed. If it is malformed, `take`
                    # raises an error.
                    start, size = take(data, start - 4)
                    offset = start
                    append(read_element(codec, b"", size))
        except Exception as error:
            # `keys` and `values` have what was decoded before the error. If there is a key without
            # a value, the value has failed.
            side = "key" if len(keys) == len(values) else "value"
            locate(error, f"{side} {len(values)} of {name}")
            raise
        if offset != len(data):
            malformed(name, f"{len(data) - offset} bytes left over after {count} pairs")
        return OrderedMapSerializedKey._of(keys, values, self._key.encode)


class TupleCodec(Codec):
    """The codec of tuple: [bytes] for each field. Fields at the end may be missing.

    See native_protocol_v5.spec, section 5.21.
    """

    __slots__ = ("_encoders", "_fields")

    def __init__(self, name: str, fields: Sequence[Codec], empty: object) -> None:
        super().__init__(name, empty=empty)
        self._fields = tuple(fields)
        self._encoders = tuple(field.encode for field in self._fields)

    def _position_of(self, index: int) -> str:
        return f"item {index} of {self.cql_name}"

    def _items(self, value: object) -> Sequence[Any]:
        return coerce.tuple_items(value, self.cql_name, len(self._fields))

    def encode(self, value: object) -> bytes:
        """Encode a sequence. Items that are None or missing values (such as NaT) become null."""
        if value is EMPTY:
            return b""
        parts = []
        encoders = self._encoders
        items = self._items(value)
        index = 0
        try:
            for item in items:
                # Each item is preceded by its length. A null item is only the length -1.
                if item is None or (
                    type(item) not in USUAL and is_missing(item, self._fields[index].cql_name)
                ):
                    parts.append(NULL)
                else:
                    body = encoders[index](item)
                    parts.append(pack_length(len(body)))
                    parts.append(body)
                index += 1
        except Exception as error:
            locate(error, self._position_of(index))
            raise
        return b"".join(parts)

    def _read(self, data: Data) -> list[Any]:
        """Decode the bytes of a tuple or UDT; return a list with the value of each field."""
        data = bytes(data)
        values: list[Any] = []
        offset = 0
        total = len(data)
        try:
            for codec in self._fields:
                if offset == total:
                    # The value ends before the last fields, because it was written before they were
                    # added to the type. Return null for these fields.
                    missing_fields.charge(len(self._fields) - len(values), self.cql_name)
                    values.extend([None] * (len(self._fields) - len(values)))
                    break
                start = offset + 4
                # If the length is cut off by the end of the data, use -2, so that `take` raises the
                # error below.
                size = _int32_at(data, offset)[0] if start <= total else -2
                if size == -1:
                    offset = start
                    values.append(None)
                    continue
                offset = start + size
                if size > 0 and offset <= total:
                    values.append(codec.decode(data[start:offset]))
                    continue
                # The field is empty or malformed. If it is malformed, `take` raises an error.
                start, size = take(data, start - 4)
                offset = start
                values.append(read_element(codec, b"", size))
        except Exception as error:
            locate(error, self._position_of(len(values)))
            raise
        if offset != len(data):
            malformed(
                self.cql_name, f"{len(data) - offset} bytes left over after {len(values)} fields"
            )
        return values

    def decode(self, data: Data) -> tuple[Any, ...]:
        """Return a tuple."""
        return tuple(self._read(data))


class UdtCodec(TupleCodec):
    """The codec of a user-defined type, which is encoded like a tuple.

    See native_protocol_v5.spec, section 6.

    :param names: the names of the fields.
    :param make: makes the decoded value from the list of the fields' values.
    """

    __slots__ = ("_make", "_names")

    def __init__(
        self,
        name: str,
        names: Sequence[str],
        fields: Sequence[Codec],
        make: Callable[[list[Any]], Any],
        empty: object,
    ) -> None:
        super().__init__(name, fields, empty)
        self._names = tuple(names)
        self._make = make

    def _position_of(self, index: int) -> str:
        return f'field "{self._names[index]}" of {self.cql_name}'

    def _items(self, value: object) -> Sequence[Any]:
        return coerce.udt_items(value, self.cql_name, self._names)

    def decode(self, data: Data) -> Any:
        """Decode the fields, and return the value that `make` makes from them."""
        return self._make(self._read(data))


class VectorCodec(Codec):
    """The codec of vector<element, dimension>: the elements one after the other.

    If the elements have a fixed size, they follow each other directly. Otherwise, each element is
    preceded by its length, an unsigned vint.

    :param as_: how vectors of numbers are decoded: "list", "array" (array.array) or "numpy".
    """

    __slots__ = ("_dimension", "_element", "_vector_class")

    def __init__(self, name: str, element: Codec, dimension: int, as_: str, empty: object) -> None:
        size = element.fixed_size * dimension if element.fixed_size >= 0 else -1
        super().__init__(name, size, width=size, empty=empty)
        self._element = element
        self._dimension = dimension
        # Only numbers can be decoded as an array. Other elements are always decoded as a list.
        self._vector_class = as_ if element.struct_code and element.fixed_size >= 0 else "list"

    def _wrong_length(self, value: object, count: int) -> None:
        refuse_value(value, f"has {count} elements, {self.cql_name} takes {self._dimension}")

    def encode(self, value: object) -> bytes:
        """Encode any iterable that has `dimension` elements, none of which is None."""
        element, dimension = self._element, self._dimension
        if type(value) is list:
            # Copy the list, because encoding an element may run user code that changes the list.
            value = value.copy()
        # The fast path for numbers: one call of struct.
        if element.struct_code and element.fixed_size >= 0:
            packed = _pack_numbers(value, element.struct_code)
            if packed is not None:
                if len(packed) != self.fixed_size:
                    self._wrong_length(value, len(packed) // element.fixed_size)
                return packed
        if type(value) not in USUAL:
            coerce.refuse_missing(
                value, f"a collection of elements for {self.cql_name}", self.cql_name
            )
        items = elements_of(value, self.cql_name)
        # Check the number of elements before an element is encoded, so that this error comes first.
        if len(items) != dimension:
            self._wrong_length(value, len(items))
        items = without_missing(items, element.cql_name)
        # The fast path for other elements of a fixed size.
        if element.fixed_size >= 0 and not element.struct_code:
            bodies = element._encode_many([*items])
            if bodies is not None and not {*map(len, bodies)} - {element.fixed_size}:
                return b"".join(bodies)
        # The slow path encodes the elements one by one, so that an error can name the invalid
        # element.
        parts = []
        index = 0
        try:
            for item in items:
                if item is None:
                    raise EncodeTypeError("null is not allowed in a vector")
                body = element.encode(item)
                if element.fixed_size < 0:
                    parts.append(uvint_pack(len(body)))
                elif len(body) != element.fixed_size:
                    raise EncodeTypeError("an empty value is not allowed in a vector")
                parts.append(body)
                index += 1
        except Exception as error:
            locate(error, f"element {index} of {self.cql_name}")
            raise
        return b"".join(parts)

    def decode(self, data: Data) -> list[Any] | array[Any] | NDArray[Any]:
        """Return a list, or for numbers, an array if `_vector_class` is "array" or "numpy"."""
        element, dimension = self._element, self._dimension
        width = element.fixed_size
        if width >= 0:
            check_multiple(self.cql_name, len(data), width, dimension)
            code = element.struct_code
            if code:
                if self._vector_class == "list":
                    return list(struct.unpack(f">{dimension}{code}", data))
                return (
                    native_array(bytes(data), code)
                    if self._vector_class == "array"
                    else numpy_array(bytearray(data), code)
                )
        data = bytes(data)
        if width > 0:
            decoded = element._decode_many(
                [data[start : start + width] for start in range(0, len(data), width)]
            )
            if decoded is not None:
                return decoded
        # The slow path decodes the elements one by one, so that an error can name the invalid
        # element.
        items: list[Any] = []
        offset = 0
        # Each element is preceded by its length, which has at least one byte.
        if width < 0 and dimension > len(data):
            malformed(self.cql_name, f"{len(data)} bytes cannot hold {dimension} elements")
        try:
            for _ in range(dimension):
                size = width
                if width < 0:
                    size, size_of_length = self._read_element_size(data, offset)
                    offset += size_of_length
                items.append(element.decode_nullable(data[offset : offset + size]))
                offset += size
        except Exception as error:
            locate(error, f"element {len(items)} of {self.cql_name}")
            raise
        if offset != len(data):
            malformed(
                self.cql_name, f"{len(data) - offset} bytes left over after {dimension} elements"
            )
        return items

    def _read_element_size(self, data: bytes, offset: int) -> tuple[int, int]:
        """Read the length that precedes an element.

        :param offset: where the length begins in `data`.
        :returns: the length, and the size of the length itself, both in bytes.
        :raises DecodeError: if `data` ends within the length or the element.
        """
        try:
            size, size_of_length = uvint_unpack(data[offset : offset + _LONGEST_LENGTH])
        except ValueError:
            coerce.truncated("truncated within the length of an element")  # raises DecodeError
        left = len(data) - offset - size_of_length
        if size > left:
            coerce.truncated(f"truncated: an element claims {size} bytes, {left} are left")
        return size, size_of_length

    def deserialize_into(self, data: Data, out: Buffer) -> int:
        """See `Codec.deserialize_into`."""
        element = self._element
        if not element.struct_code or element.fixed_size < 0:
            return super().deserialize_into(data, out)
        check_multiple(self.cql_name, len(data), element.fixed_size, self._dimension)
        return store(bytes(data), element.struct_code, out, self.cql_name)


# -- functions that make codecs; the compiled version has the same functions -----------------------


class OrderedCodec(Codec):
    """Encodes with another codec, and then puts the sets and maps in the value into an order.

    :param codec: the other codec, which also decodes the values.
    :param order: takes the encoded bytes of a value, and returns the bytes with sets and maps in
        order.
    """

    __slots__ = ("_codec", "_order")

    def __init__(self, codec: Codec, order: Callable[[bytes], bytes]) -> None:
        super().__init__(codec.cql_name, empty=codec.legacy_empty)
        self._codec = codec
        self._order = order

    def encode(self, value: object) -> bytes:
        """Encode the value, with its sets and maps in order."""
        return self._order(self._codec.encode(value))

    def decode(self, data: Data) -> Any:
        """Decode a value. Sets and maps keep the order that they have in the bytes."""
        return self._codec.decode(data)

    def deserialize_into(self, data: Data, out: Buffer) -> int:
        """See `Codec.deserialize_into`."""
        return self._codec.deserialize_into(data, out)


def ordered(codec: Codec, order: Callable[[bytes], bytes]) -> Codec:
    """Return a codec that encodes with `codec`, and then puts sets and maps into an order.

    :param order: takes the encoded bytes of a value, and returns the bytes with sets and maps in
        order.
    """
    return OrderedCodec(codec, order)


def list_of(element: Codec, name: str = "", empty: object = None) -> Codec:
    """Return the codec of list<element>, whose values are decoded as lists."""
    return ListCodec(name or f"list<{element.cql_name}>", element, None, empty)


def set_of(element: Codec, name: str = "", empty: object = None) -> Codec:
    """Return the codec of set<element>, whose values are decoded as SortedSets."""
    return ListCodec(name or f"set<{element.cql_name}>", element, SortedSet._read, empty)


def map_of(key: Codec, value: Codec, name: str = "", empty: object = None) -> Codec:
    """Return the codec of map<key, value>, which decodes to `OrderedMapSerializedKey` objects."""
    return MapCodec(name or f"map<{key.cql_name}, {value.cql_name}>", key, value, empty)


def tuple_of(fields: Sequence[Codec], name: str = "", empty: object = None) -> Codec:
    """Return the codec of tuple<fields...>, whose values are decoded as tuples."""
    return TupleCodec(
        name or f"tuple<{', '.join(field.cql_name for field in fields)}>", fields, empty
    )


def udt(
    name: str,
    names: Sequence[str],
    fields: Sequence[Codec],
    make: Callable[[list[Any]], Any],
    empty: object = None,
) -> Codec:
    """Return the codec of a user-defined type, which decodes to ``make([field values])``."""
    if len(names) != len(fields):
        raise ValueError(f"{name} has {len(names)} names of fields and {len(fields)} fields")
    return UdtCodec(name, names, fields, make, empty)


def vector_of(
    element: Codec, dimension: int, as_: str = "list", name: str = "", empty: object = None
) -> Codec:
    """Return the codec of vector<element, dimension>.

    :param as_: how vectors of numbers are decoded: "list", "array" (array.array) or "numpy".
    :raises ValueError: if `as_` has another value, or the dimension is out of range.
    """
    check_dimension(element.cql_name, element.fixed_size, dimension)
    if as_ not in ("list", "array", "numpy"):
        raise ValueError(f"vectors are read as 'list', 'array' or 'numpy', not as {as_!r}")
    return VectorCodec(
        name or f"vector<{element.cql_name}, {dimension}>", element, dimension, as_, empty
    )
