"""The composite types of tables with compact storage. A value consists of several parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cassandra.cqltypes import coerce
from cassandra.cqltypes.base import apache_cassandra_type_prefix, public, sub_codec
from cassandra.cqltypes.containers import _ParameterizedType
from cassandra.cqltypes.failures import locate, malformed, refuse_type, refuse_value

if TYPE_CHECKING:
    from cassandra.cqltypes.base import CodecModule
    from cassandra.cqltypes.codecs.base import Codec

_MAX_PART_SIZE = 0xFFFF  # bytes; the length of a part is a [short] (16 bits)


def _encode_part(name: str, index: int, codec: Codec, value: object) -> bytes:
    """Encode a part: its [short] length, its bytes, and an end byte of zero."""
    try:
        body = b"" if value is None else bytes(codec.encode(value))
    except Exception as error:
        locate(error, f"part {index} of {name}")
        raise
    if len(body) > _MAX_PART_SIZE:
        refuse_value(
            value, f"takes {len(body)} bytes; a part of a composite has at most {_MAX_PART_SIZE}"
        )
    return len(body).to_bytes(2, "big") + body + b"\x00"


def _read_part(name: str, data: bytes, offset: int) -> tuple[bytes, int]:
    """Read the part at `offset`; return its bytes, and the offset after its end byte."""
    start = offset + 2
    size = int.from_bytes(data[offset:start], "big")
    if len(data) < start + size + 1:
        malformed(
            name,
            f"truncated: a part claims {size} bytes and an end byte, "
            f"{max(len(data) - start, 0)} are left",
        )
    return data[start : start + size], start + size + 1


class CompositeType(_ParameterizedType):
    """A composite with a fixed list of types for its parts.

    Each part is encoded as a [short] length, its bytes and an end byte. A value is a tuple, which
    may have fewer parts than the type.
    """

    typename = "org.apache.cassandra.db.marshal.CompositeType"
    _text_form = "tuple"

    @classmethod
    def cql_parameterized_type(cls) -> str:
        """Return the server's class name in quotes, which is how CQL names this type."""
        return f"'{cls.cass_parameterized_type(full=True)}'"

    @classmethod
    def _build(cls, codecs: CodecModule, protocol_version: int, vectors: str) -> Codec:
        """Make the codec. A value is a tuple of the values of its parts."""
        name = cls.cass_parameterized_type()
        part_codecs = [
            sub_codec(subtype, codecs, protocol_version, vectors) for subtype in cls.subtypes
        ]

        def encode(value: object) -> bytes:
            """Encode a sequence of parts. It may have fewer parts than the type."""
            items = coerce.elements(value, name)
            if len(items) > len(part_codecs):
                refuse_value(value, f"has {len(items)} parts, {name} takes {len(part_codecs)}")
            parts = [
                _encode_part(name, index, part_codecs[index], item)
                for index, item in enumerate(items)
            ]
            return b"".join(parts)

        def decode(data: bytes) -> tuple[Any, ...]:
            """Decode to a tuple of parts."""
            values: list[Any] = []
            offset = 0
            while offset < len(data):
                # The value has more parts than its type, which is an error. (It may have fewer
                # parts.)
                if len(values) == len(part_codecs):
                    malformed(
                        name, f"{len(data) - offset} bytes left over after {len(part_codecs)} parts"
                    )
                body, offset = _read_part(name, data, offset)
                try:
                    values.append(part_codecs[len(values)].decode_nullable(body))
                except Exception as error:
                    locate(error, f"part {len(values)} of {name}")
                    raise
            return tuple(values)

        return codecs.from_functions(name, encode, decode, empty=cls._empty())


class DynamicParts(tuple[Any, ...]):
    """The values of the parts of a dynamic composite, without their aliases.

    The attribute `encoded` has the bytes of the whole value, with the aliases. So a value that was
    read can be bound again.
    """

    encoded: bytes

    @classmethod
    def of(cls, values: Sequence[Any], encoded: bytes) -> DynamicParts:
        """Return an object with these values and bytes.

        :param values: the values of the parts.
        :param encoded: the bytes of the whole value.
        """
        parts = cls(values)
        parts.encoded = encoded
        return parts


class DynamicCompositeType(_ParameterizedType):
    """A composite in which each part contains the name of its own type.

    A part names its type by an alias of one letter, or by the name of the server's class. Values
    are decoded as tuples of the parts, which can be bound again. You can also bind a sequence of
    (alias, value) pairs, or the encoded bytes.
    """

    typename = "org.apache.cassandra.db.marshal.DynamicCompositeType"
    _text_form = "dynamic composite"

    @classmethod
    def cql_parameterized_type(cls) -> str:
        """Return the server's class name with its aliases, in quotes."""
        return f"'{cls.cass_parameterized_type(full=True)}'"

    @classmethod
    def cass_parameterized_type_with(cls, subtypes: Sequence[Any], full: bool = False) -> str:
        """Return a name such as ``DynamicCompositeType(s=>UTF8Type, ...)``."""
        name = apache_cassandra_type_prefix + cls.cassname if full else cls.cassname
        if not subtypes:
            return name
        aliases = cls.fieldnames or [None] * len(subtypes)
        parts = []
        for alias, subtype in zip(aliases, subtypes, strict=False):
            subtype_name = subtype.cass_parameterized_type(full)
            parts.append(f"{alias}=>{subtype_name}" if alias else subtype_name)
        return f"{name}({', '.join(parts)})"

    @classmethod
    def _build(cls, codecs: CodecModule, protocol_version: int, vectors: str) -> Codec:
        """Make the codec.

        The codec encodes a sequence of pairs (alias, value). It decodes to a tuple of values
        without the aliases (`DynamicParts`).
        """
        name = cls.cassname
        codecs_by_alias = {
            alias: sub_codec(subtype, codecs, protocol_version, vectors)
            for alias, subtype in zip(cls.fieldnames or (), cls.subtypes, strict=False)
        }
        codecs_by_class = {
            subtype.cass_parameterized_type(full=full): sub_codec(
                subtype, codecs, protocol_version, vectors
            )
            for subtype in cls.subtypes
            for full in (False, True)
        }

        def encode(value: object) -> bytes:
            """Encode pairs (alias, value). The alias names the type of the value."""
            if isinstance(value, DynamicParts):
                return value.encoded
            # An application may bind bytes that it has encoded itself.
            if isinstance(value, (bytes, bytearray, memoryview)):
                return bytes(value)
            parts = []
            for index, pair in enumerate(coerce.elements(value, name)):
                if (
                    not isinstance(pair, (tuple, list))
                    or len(pair) != 2
                    or pair[0] not in codecs_by_alias
                ):
                    refuse_type(
                        pair,
                        f"a pair of an alias ({', '.join(map(str, codecs_by_alias))}) and a value",
                    )
                # If the highest bit of the [short] is set, an alias follows in its other bits.
                # Otherwise the [short] would be the length of a class name.
                parts.append((0x8000 | ord(pair[0])).to_bytes(2, "big"))
                parts.append(_encode_part(name, index, codecs_by_alias[pair[0]], pair[1]))
            return b"".join(parts)

        def decode(data: bytes) -> DynamicParts:
            """Decode to a tuple of values, without their aliases."""
            values: list[Any] = []
            offset = 0
            while offset < len(data):
                header = int.from_bytes(data[offset : offset + 2], "big")
                offset += 2
                # If the highest bit is set, the other bits are an alias. Otherwise the header is
                # the length of a class name.
                if header & 0x8000:
                    codec = codecs_by_alias.get(chr(header & 0xFF))
                else:
                    codec = codecs_by_class.get(
                        data[offset : offset + header].decode("utf-8", "replace")
                    )
                    offset += header
                body, offset = _read_part(name, data, offset)
                # If the comparator does not declare the part's type, return the part's bytes.
                values.append(body if codec is None else codec.decode_nullable(body))
            return DynamicParts.of(values, bytes(data))

        return codecs.from_functions(name, encode, decode, empty=cls._empty())


class ColumnToCollectionType(_ParameterizedType):
    """The component of a table's comparator that has the types of the table's collections.

    Values are bytes.
    """

    typename = "org.apache.cassandra.db.marshal.ColumnToCollectionType"
    _text_form = "blob"

    @classmethod
    def _build(cls, codecs: CodecModule, protocol_version: int, vectors: str) -> Codec:
        return codecs.blob(cls.cassname)


public(CompositeType, DynamicCompositeType, ColumnToCollectionType)
