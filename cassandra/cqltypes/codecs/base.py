"""The base classes of codecs. A codec encodes and decodes the values of one CQL type.

Codecs are immutable, and threads share them. The type classes in `cassandra.cqltypes` make codecs,
but codecs do not depend on the type classes. The codec of a container holds the codecs of its
elements.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import TYPE_CHECKING, Any, Protocol

from cassandra.cqltypes.coerce import refuse_missing, truncated
from cassandra.cqltypes.failures import ENCODE_ERRORS, fails_again
from cassandra.errors import DecodeError
from cassandra.limits import NullCells

if TYPE_CHECKING:
    from typing_extensions import Buffer

Data = bytes | memoryview

# Counts the fields that are missing at the end of tuples and user-defined types, for
# `limits.null_cells`. The count is reset at each page of rows, and at each value that is decoded
# outside a page.
missing_fields = NullCells()
begin_page = missing_fields.begin
# Only codecs raise these errors. So if one of them is raised, a value is the cause.
_ERRORS_OF_VALUES = (*ENCODE_ERRORS, DecodeError)
# The length of [bytes] is a signed [int] (native_protocol_v5.spec, section 3).
MAX_LENGTH = 0x7FFFFFFF


class Codec:
    """Encodes and decodes the values of one CQL type, with `encode` and `decode`.

    :param cql_name: the name of the CQL type.
    :param fixed_size: the size in bytes of each value in a vector; -1 if each value in a vector is
        preceded by its length.
    :param width: the size in bytes of every value that is not empty; -1 if the size varies.
    :param struct_code: the format letter of the module `struct` if values are numbers, else "".
    :param empty_is_value: True if zero bytes are an ordinary value of the type.
    :param empty: the value for zero bytes, if they are not an ordinary value: None or EMPTY.
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
        """Return the bytes of `value`, which must not be None or UNSET_VALUE.

        :raises EncodeTypeError: if the type does not accept the value's class. It is a TypeError
            and a ValueError.
        :raises EncodeValueError: if the value is out of range or badly formed. It is a ValueError,
            an OverflowError and a TypeError.
        """
        raise NotImplementedError

    def decode(self, data: Data) -> Any:
        """Return the value that the bytes `data` encode. Null must not be passed.

        :raises cassandra.errors.DecodeError: if the bytes are not valid for the type.
        """
        raise NotImplementedError

    def decode_nullable(self, data: Data | None) -> Any:
        """Decode a [bytes]; return None for null.

        Zero bytes are decoded as `legacy_empty`, unless `empty_is_value` is True.
        """
        if data is None:
            return None
        if len(data) == 0 and not self.empty_is_value:
            return self.legacy_empty
        return self.decode(data)

    def _encode_many(self, values: list[Any]) -> list[bytes] | None:
        """Encode all `values` at once; return None if the caller must encode them one by one.

        The result is None if one of the values is None or invalid. It is always None for types
        whose codec runs an application's code or other codecs. Otherwise, after a failure, the
        caller would run such code a second time.
        """
        return None

    def _decode_many(self, bodies: list[bytes]) -> list[Any] | None:
        """Decode all `bodies` at once. Each body is the bytes of a value, neither null nor empty.

        The result is None if a body is malformed, or if the codec has no fast way for many bodies.
        The caller then decodes the bodies one by one.
        """
        return None

    def deserialize_into(self, data: Data, out: Buffer) -> int:
        """Decode a list, set or vector of numbers into a buffer.

        :param data: the bytes of the list, set or vector.
        :param out: a writable, C-contiguous buffer of numbers of the same kind and size.
        :returns: the number of elements written.
        :raises TypeError: if the type is not a list, set or vector of numbers, or the buffer's
            items do not fit the type.
        :raises ValueError: if the buffer is too small.
        :raises DecodeError: if the data are malformed or contain nulls.
        """
        raise TypeError(
            f"{self.cql_name} is not a list, set or vector of numbers; "
            "it cannot be decoded into a buffer"
        )

    def __repr__(self) -> str:
        return f"<codec of {self.cql_name}>"


class Leaf(Codec):
    """Base of the codecs of types that contain no other types."""

    __slots__ = ()

    def _encode_many(self, values: list[Any]) -> list[bytes] | None:
        """Encode all `values` at once, or return None: see `Codec._encode_many`."""
        try:
            return [*map(self.encode, values)]
        except _ERRORS_OF_VALUES:
            # The caller then encodes the values one by one, so that the error names the invalid
            # value.
            return None
        except Exception as error:
            if not fails_again(error, lambda: [*map(self.encode, values)]):
                raise
            return None

    def _decode_many(self, bodies: list[bytes]) -> list[Any] | None:
        """Decode all `bodies` at once, or return None: see `Codec._decode_many`."""
        try:
            return [*map(self.decode, bodies)]
        except _ERRORS_OF_VALUES:  # for the same reason as in _encode_many
            return None
        except Exception as error:
            if not fails_again(error, lambda: [*map(self.decode, bodies)]):
                raise
            return None


class FunctionCodec(Codec):
    """A codec that calls two Python functions, for example the methods of an application's type."""

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
        """Call the encoding function, and check that it returns bytes."""
        refuse_missing(value, f"a value of {self.cql_name}")
        data = self._encode(value)
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise TypeError(
                f"{self.cql_name}: the type's encoding returned {type(data).__name__}, not bytes"
            )
        return bytes(data)

    def decode(self, data: Data) -> Any:
        """Call the decoding function."""
        # The function may decode other values. The nulls in them must not count for the current
        # page of rows.
        outer_count = begin_page()
        try:
            return self._decode(bytes(data))
        finally:
            missing_fields.resume(outer_count)


def from_functions(
    name: str,
    encode: Callable[[Any], bytes],
    decode: Callable[[bytes], Any],
    *,
    fixed_size: int = -1,
    empty_is_value: bool = False,
    empty: object = None,
) -> Codec:
    """Return a codec that calls `encode` and `decode`.

    The other parameters are the same as for `Codec`.
    """
    return FunctionCodec(name, encode, decode, fixed_size, empty_is_value, empty)


class BinaryType(Protocol):
    """A type class with its own methods for encoding and decoding."""

    @property
    def __name__(self) -> str:
        """The class's name."""

    def to_binary(self, val: Any, protocol_version: int) -> bytes:
        """Encode `val`."""

    def from_binary(self, byts: bytes | None, protocol_version: int) -> Any:
        """Decode `byts`."""


def from_class(
    cls: BinaryType, protocol_version: int, *, name: str = "", fixed_size: int = -1
) -> Codec:
    """Return a codec that calls `to_binary` and `from_binary` of an application's type class."""
    to_binary, from_binary = cls.to_binary, cls.from_binary
    return FunctionCodec(
        name or cls.__name__,
        lambda value: to_binary(value, protocol_version),
        lambda data: from_binary(data, protocol_version),
        fixed_size,
        # This argument is `empty_is_value`. It is True so that from_binary also gets zero bytes,
        # and decides what they mean.
        True,
        None,  # empty
    )


class TypeCalls:
    """The fast serialization methods of one type class, which call its codec.

    See `cassandra.cqltypes.calls`.

    :param owner: the type class.
    :param codec: the codec of the class.
    :param empty_is_value: True if zero bytes are an ordinary value of the type.
    :param empty: the value that zero bytes are decoded as, if they are not an ordinary value.
    """

    __slots__ = ("_codec", "_empty", "_empty_is_value", "owner")

    def __init__(self, owner: type, codec: Codec, empty_is_value: bool, empty: object) -> None:
        self.owner = owner
        self._codec = codec
        self._empty_is_value = empty_is_value
        self._empty = empty

    def serialize(self, /, val: Any, protocol_version: int) -> bytes:
        """Encode `val`, which must not be None."""
        return self._codec.encode(val)

    def deserialize(self, /, byts: bytes, protocol_version: int) -> Any:
        """Decode bytes that are neither null nor empty."""
        # A value that is decoded outside a page of rows counts as a page of its own for the limit
        # `limits.null_cells`.
        begin_page()
        return self._codec.decode(byts)

    def to_binary(self, /, val: Any, protocol_version: int) -> bytes:
        """Encode `val`; return b"" for None."""
        return b"" if val is None else self._codec.encode(val)

    def from_binary(self, /, byts: bytes | None, protocol_version: int) -> Any:
        """Decode a [bytes], which may be null or empty."""
        if byts is None:
            return None
        if len(byts) == 0 and not self._empty_is_value:
            return self._empty
        # A value that is decoded outside a page of rows counts as a page of its own for the limit
        # `limits.null_cells`.
        begin_page()
        return self._codec.decode(byts)


# The encoded [int] lengths from 0 to 255.
_SHORT_LENGTHS = tuple(length.to_bytes(4, "big") for length in range(256))
NULL = b"\xff\xff\xff\xff"  # the length -1, which stands for null
pack_length = Struct(">i").pack


def length_fields(bodies: list[bytes]) -> list[bytes]:
    """Return the encoded [int] length of each of `bodies`."""
    try:
        return [*map(_SHORT_LENGTHS.__getitem__, map(len, bodies))]
    except IndexError:
        return [*map(pack_length, map(len, bodies))]


def release_vector_memory(even_if_used: bool = False) -> int:
    """Do nothing and return 0: only the compiled version keeps memory for vectors."""
    return 0


def read_element(codec: Codec, data: bytes, size: int) -> Any:
    """Decode an element of a container.

    :param data: the bytes of the element.
    :param size: the element's length field; negative if the element is null.
    """
    if size < 0:
        return None
    if size == 0 and not codec.empty_is_value:
        return codec.legacy_empty
    return codec.decode(data)


def take(data: bytes, offset: int) -> tuple[int, int]:
    """Read the length of the [bytes] at `offset`; return (offset of the content, size).

    The size is -1 for null.
    """
    start = offset + 4
    left = len(data) - start
    if left < 0:
        truncated(f"truncated: {left + 4} bytes left of a 4-byte length")
    size = int.from_bytes(data[offset:start], "big", signed=True)
    if size > left:
        truncated(f"truncated: an item claims {size} bytes, {left} are left")
    if size < -1:
        # By the specification, any negative length means null (native_protocol_v5.spec, section 3).
        # But servers only write -1, so any other negative length means damaged data.
        truncated(f"an item has the negative length {size}")
    return start, size
