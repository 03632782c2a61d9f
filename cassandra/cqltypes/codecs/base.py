"""The contract of a codec, in Python: an immutable plan for one CQL type, resolved once and shared
by all threads.

A codec knows nothing of the classes in `cassandra.cqltypes`; those build it. Containers hold the
codecs of their elements.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Any

from cassandra.cqltypes.coerce import refuse_missing, truncated
from cassandra.limits import NullCells

Data = bytes | memoryview

# The fields that values of tuples and user-defined types lack, of one page or one value that is
# decoded by itself.
missing_fields = NullCells()
begin_page = missing_fields.begin
MAX_LENGTH = 0x7FFFFFFF  # native_protocol_v5.spec 3: the length of [bytes] is a signed [int]


class Codec:
    """Encodes and decodes the body of one CQL type's values; subclasses fill in `encode` and
    `decode`.

    `fixed_size` is the width that a vector packs values in without a length, or -1; `width` the
    width of every non-empty value, or -1; `struct_code` the `struct` letter where the value is a
    plain number, else "".
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

    def encode(self, value: Any) -> bytes:
        """The body of `value`, which is neither None nor UNSET_VALUE.

        Raises `EncodeTypeError` (a TypeError) or `EncodeValueError` (a ValueError and
        OverflowError).
        """
        raise NotImplementedError

    def decode(self, data: Data) -> Any:
        """The value of a body. Raises `cassandra.errors.DecodeError`."""
        raise NotImplementedError

    def decode_nullable(self, data: Data | None) -> Any:
        """The value of a [bytes]: None for null; for zero bytes the legacy empty value, where they
        are no value.
        """
        if data is None:
            return None
        if len(data) == 0 and not self.empty_is_value:
            return self.legacy_empty
        return self.decode(data)

    def _encode_many(self, values: list[Any]) -> list[bytes] | None:
        """The bodies of `values`, in one go; None where it takes a look at each (there is a null,
        or an error).

        Types whose coding runs Python code of a user's or of other types have no such way: nothing
        of that runs twice.
        """
        return None

    def _decode_many(self, bodies: list[bytes]) -> list[Any] | None:
        """The values of `bodies`, none of them null or empty; None where one is malformed, or there
        is no such way.
        """
        return None

    def deserialize_into(self, data: Data, out: Any) -> int:
        """Decode a list, set or vector of plain numbers into `out`, a writable C-contiguous buffer
        of the same kind.

        Gives the number of elements written. Raises TypeError for a buffer of another kind,
        ValueError for one too small, DecodeError for malformed data and for nulls.
        """
        raise TypeError(
            f"{self.cql_name} is not a list, set or vector of numbers; it cannot be decoded into a buffer"
        )

    def __repr__(self) -> str:
        return f"<codec of {self.cql_name}>"


class Leaf(Codec):
    """What the codecs of types without other types inside share."""

    __slots__ = ()

    def _encode_many(self, values: list[Any]) -> list[bytes] | None:
        """See `Codec._encode_many`."""
        try:
            return [*map(self.encode, values)]
        except (
            Exception
        ):  # once more, one by one: that finds the value and says what is wrong with it
            return None

    def _decode_many(self, bodies: list[bytes]) -> list[Any] | None:
        """See `Codec._decode_many`."""
        try:
            return [*map(self.decode, bodies)]
        except Exception:  # as above
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

    def encode(self, value: Any) -> bytes:
        """What the type's function makes of `value`."""
        refuse_missing(value, f"a value of {self.cql_name}")
        data = self._encode(value)
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise TypeError(
                f"{self.cql_name}: the type's encoding returned {type(data).__name__}, not bytes"
            )
        return bytes(data)

    def decode(self, data: Data) -> Any:
        """What the type's function makes of `data`."""
        return self._decode(bytes(data))


def from_functions(
    name: str,
    encode: Callable[[Any], bytes],
    decode: Callable[[bytes], Any],
    *,
    fixed_size: int = -1,
    empty_is_value: bool = False,
    empty: object = None,
) -> Codec:
    """A type whose coding is the functions ``encode(value) -> bytes`` and ``decode(bytes) ->
    value``.
    """
    return FunctionCodec(name, encode, decode, fixed_size, empty_is_value, empty)


def from_class(cls: Any, protocol_version: int, *, name: str = "", fixed_size: int = -1) -> Codec:
    """The codec of a class with ``to_binary(value, protocol_version)`` and ``from_binary(data,
    protocol_version)``.
    """
    to_binary, from_binary = cls.to_binary, cls.from_binary
    return FunctionCodec(
        name or cls.__name__,
        lambda value: to_binary(value, protocol_version),
        lambda data: from_binary(data, protocol_version),
        fixed_size,
        True,
        None,
    )


# The length fields of short bodies, made once.
_SHORT_LENGTHS = tuple(length.to_bytes(4, "big") for length in range(256))
NULL = b"\xff\xff\xff\xff"
pack_length = Struct(">i").pack


def length_fields(bodies: list[bytes]) -> list[bytes]:
    """The [int] length of each body."""
    try:
        return [*map(_SHORT_LENGTHS.__getitem__, map(len, bodies))]
    except IndexError:
        return [*map(pack_length, map(len, bodies))]


def read_element(codec: Codec, data: bytes, size: int) -> Any:
    """The value of an element whose length field was `size` and whose bytes are `data`."""
    if size < 0:
        return None
    if size == 0 and not codec.empty_is_value:
        return codec.legacy_empty
    return codec.decode(data)


def take(data: bytes, offset: int) -> tuple[int, int]:
    """(start, size) of the [bytes] whose length field lies at `offset`; a size below 0 is a null."""
    start = offset + 4
    left = len(data) - start
    if left < 0:
        truncated(f"truncated: {left + 4} bytes left of a 4-byte length")
    size = int.from_bytes(data[offset:start], "big", signed=True)
    if size > left:
        truncated(f"truncated: an item claims {size} bytes, {left} are left")
    if size < -1:
        # [bytes] calls every negative length null (native_protocol_v5.spec 3), but servers write
        # -1: another is damage.
        truncated(f"an item has the negative length {size}")
    return start, size


__all__ = [
    "MAX_LENGTH",
    "NULL",
    "Codec",
    "Data",
    "Leaf",
    "begin_page",
    "from_class",
    "from_functions",
    "length_fields",
    "missing_fields",
    "pack_length",
    "read_element",
    "take",
]
