"""The contract of a codec, which reads and writes one CQL type: immutable, shared by threads.

A codec knows nothing of the classes in `cassandra.cqltypes`, which build it. Containers hold the
codecs of their elements.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import TYPE_CHECKING, Any, Protocol

from cassandra.cqltypes.coerce import refuse_missing, truncated
from cassandra.limits import NullCells

if TYPE_CHECKING:
    from typing_extensions import Buffer

Data = bytes | memoryview

# Counts the fields that values of tuples and user-defined types lack, over one page or one value
# that is decoded by itself.
missing_fields = NullCells()
begin_page = missing_fields.begin
MAX_LENGTH = 0x7FFFFFFF  # native_protocol_v5.spec 3: the length of [bytes] is a signed [int]


class Codec:
    """Encodes and decodes the body of one CQL type's values, in `encode` and `decode`.

    `fixed_size` is the width of a value inside a vector if it has no length there, or -1. `width`
    is the width of every non-empty value, or -1. `struct_code` is the `struct` letter if the value
    is a plain number, else "".
    """

    __slots__ = ("cql_name", "empty_is_value", "fixed_size", "legacy_empty", "struct_code", "width")

    cql_name: str
    fixed_size: int
    empty_is_value: bool
    legacy_empty: object
    width: int
    struct_code: str

    def __init__(
        self,
        cql_name: str,
        fixed_size: int = -1,
        *,
        width: int = -1,
        struct_code: str = "",
        empty_is_value: bool = False,
        empty: object = None,
    ) -> None:
        self.cql_name = cql_name
        self.fixed_size = fixed_size
        self.width = width
        self.struct_code = struct_code
        self.empty_is_value = empty_is_value
        self.legacy_empty = empty

    def encode(self, value: object) -> bytes:
        """Return the body of `value`, which is neither None nor UNSET_VALUE.

        :raises EncodeTypeError: if the type does not take the value's class (a TypeError).
        :raises EncodeValueError: if the value is out of range or badly formed (a ValueError and an
            OverflowError).
        """
        raise NotImplementedError

    def decode(self, data: Data) -> Any:
        """Return the value of a body.

        :raises cassandra.errors.DecodeError: if it is not valid for the type.
        """
        raise NotImplementedError

    def decode_nullable(self, data: Data | None) -> Any:
        """Return the value of a [bytes], or None for null.

        Zero bytes are read as the legacy empty value, if they are not a value of the type.
        """
        if data is None:
            return None
        if len(data) == 0 and not self.empty_is_value:
            return self.legacy_empty
        return self.decode(data)

    def _encode_many(self, values: list[Any]) -> list[bytes] | None:
        """Return the bodies of `values` in one go, or None if each has to be looked at.

        That is so if there is a null or an error. It is always so for types whose coding runs code
        of a program or of other types: no such code may run twice.
        """
        return None

    def _decode_many(self, bodies: list[bytes]) -> list[Any] | None:
        """Return the values of `bodies` in one go; none of them is null or empty.

        None if one of them is malformed, or the type has no such way.
        """
        return None

    def deserialize_into(self, data: Data, out: Buffer) -> int:
        """Decode a list, set or vector of plain numbers into a buffer.

        :param out: writable, C-contiguous, and of the same kind of numbers.
        :returns: the number of elements written.
        :raises TypeError: if the buffer is of another kind.
        :raises ValueError: if the buffer is too small.
        :raises DecodeError: if the data are malformed or have nulls.
        """
        raise TypeError(
            f"{self.cql_name} is not a list, set or vector of numbers; "
            "it cannot be decoded into a buffer"
        )

    def __repr__(self) -> str:
        return f"<codec of {self.cql_name}>"


class Leaf(Codec):
    """Base of the codecs of types that have no other types inside."""

    __slots__ = ()

    def _encode_many(self, values: list[Any]) -> list[bytes] | None:
        """See `Codec._encode_many`."""
        try:
            return [*map(self.encode, values)]
        except Exception:
            # Each is then encoded alone: that finds the value and says what is wrong with it.
            return None

    def _decode_many(self, bodies: list[bytes]) -> list[Any] | None:
        """See `Codec._decode_many`."""
        try:
            return [*map(self.decode, bodies)]
        except Exception:  # as in _encode_many
            return None


class FunctionCodec(Codec):
    """The codec of a type whose coding is Python code."""

    __slots__ = ("_decode", "_encode")

    def __init__(
        self,
        name: str,
        encode: Callable[[Any], bytes],
        decode: Callable[[bytes], Any],
        fixed_size: int,
        empty_is_value: bool,
        empty: object,
    ) -> None:
        super().__init__(name, fixed_size, empty_is_value=empty_is_value, empty=empty)
        self._encode = encode
        self._decode = decode

    def encode(self, value: object) -> bytes:
        """Return the bytes that the type's function makes of `value`."""
        refuse_missing(value, f"a value of {self.cql_name}")
        data = self._encode(value)
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise TypeError(
                f"{self.cql_name}: the type's encoding returned {type(data).__name__}, not bytes"
            )
        return bytes(data)

    def decode(self, data: Data) -> Any:
        """Return the value that the type's function makes of `data`."""
        # What the function reads by itself counts by itself.
        spent = begin_page()
        try:
            return self._decode(bytes(data))
        finally:
            missing_fields.resume(spent)


def from_functions(
    name: str,
    encode: Callable[[Any], bytes],
    decode: Callable[[bytes], Any],
    *,
    fixed_size: int = -1,
    empty_is_value: bool = False,
    empty: object = None,
) -> Codec:
    """Return the codec of a type that is coded by two functions."""
    return FunctionCodec(name, encode, decode, fixed_size, empty_is_value, empty)


class BinaryType(Protocol):
    """A class that codes its values by itself."""

    @property
    def __name__(self) -> str:
        """The class's name."""

    def to_binary(self, val: Any, protocol_version: int) -> bytes:
        """Return the bytes of `val`."""

    def from_binary(self, byts: bytes | None, protocol_version: int) -> Any:
        """Return the value of `byts`."""


def from_class(
    cls: BinaryType, protocol_version: int, *, name: str = "", fixed_size: int = -1
) -> Codec:
    """Return the codec of a class that codes its values by itself, as types of a program do."""
    to_binary, from_binary = cls.to_binary, cls.from_binary
    return FunctionCodec(
        name or cls.__name__,
        lambda value: to_binary(value, protocol_version),
        lambda data: from_binary(data, protocol_version),
        fixed_size,
        # Zero bytes go to from_binary: a program's class has rules of its own for them.
        True,
        None,
    )


class TypeCalls:
    """The methods of one type class, over its codec (see `cassandra.cqltypes.calls`).

    :param owner: the class.
    :param codec: codes its values.
    :param empty_is_value: True if zero bytes are a value of the type.
    :param empty: what zero bytes are read as if they are not.
    """

    __slots__ = ("_codec", "_empty", "_empty_is_value", "owner")

    def __init__(self, owner: type, codec: Codec, empty_is_value: bool, empty: object) -> None:
        self.owner = owner
        self._codec = codec
        self._empty_is_value = empty_is_value
        self._empty = empty

    def serialize(self, /, val: Any, protocol_version: int) -> bytes:
        """Return the body of `val`, which is not None."""
        return self._codec.encode(val)

    def deserialize(self, /, byts: bytes, protocol_version: int) -> Any:
        """Return the value of a body that is neither null nor empty."""
        # A value that is decoded by itself counts as a page, for `limits.null_cells`.
        begin_page()
        return self._codec.decode(byts)

    def to_binary(self, /, val: Any, protocol_version: int) -> bytes:
        """Return the bytes of `val`, or no bytes for None."""
        return b"" if val is None else self._codec.encode(val)

    def from_binary(self, /, byts: bytes | None, protocol_version: int) -> Any:
        """Return the value of a [bytes], by the rules for null and for empty values."""
        if byts is None:
            return None
        if len(byts) == 0 and not self._empty_is_value:
            return self._empty
        begin_page()
        return self._codec.decode(byts)


# The length fields of short bodies, made once.
_SHORT_LENGTHS = tuple(length.to_bytes(4, "big") for length in range(256))
NULL = b"\xff\xff\xff\xff"
pack_length = Struct(">i").pack


def length_fields(bodies: list[bytes]) -> list[bytes]:
    """Return the [int] length of each body."""
    try:
        return [*map(_SHORT_LENGTHS.__getitem__, map(len, bodies))]
    except IndexError:
        return [*map(pack_length, map(len, bodies))]


def read_element(codec: Codec, data: bytes, size: int) -> Any:
    """Return the value of an element from its length field `size` and its bytes `data`."""
    if size < 0:
        return None
    if size == 0 and not codec.empty_is_value:
        return codec.legacy_empty
    return codec.decode(data)


def take(data: bytes, offset: int) -> tuple[int, int]:
    """Return (start, size) of the [bytes] at `offset`. A size below 0 is a null."""
    start = offset + 4
    left = len(data) - start
    if left < 0:
        truncated(f"truncated: {left + 4} bytes left of a 4-byte length")
    size = int.from_bytes(data[offset:start], "big", signed=True)
    if size > left:
        truncated(f"truncated: an item claims {size} bytes, {left} are left")
    if size < -1:
        # [bytes] calls every negative length null (native_protocol_v5.spec 3), but servers write
        # -1: another one is damage.
        truncated(f"an item has the negative length {size}")
    return start, size


__all__ = [
    "MAX_LENGTH",
    "NULL",
    "Codec",
    "Data",
    "Leaf",
    "TypeCalls",
    "begin_page",
    "from_class",
    "from_functions",
    "length_fields",
    "missing_fields",
    "pack_length",
    "read_element",
    "take",
]
