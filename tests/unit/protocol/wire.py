"""Functions that encode the notations of native_protocol_v5.spec, section 3, for tests.

These functions do not use the code under test.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any


def byte(value: int) -> bytes:
    """Return a [byte]."""
    return struct.pack(">B", value)


def short(value: int) -> bytes:
    """Return a [short], which has two bytes."""
    return struct.pack(">H", value)


def int32(value: int) -> bytes:
    """Return an [int], which has four bytes."""
    return struct.pack(">i", value)


def string(text: str) -> bytes:
    """Return a [string], which has its length as a [short], and its UTF-8."""
    return short(len(text.encode())) + text.encode()


def long_string(text: str) -> bytes:
    """Return a [long string], which has its length as an [int], and its UTF-8."""
    return int32(len(text.encode())) + text.encode()


def value(data: bytes | None) -> bytes:
    """Return a [value] or [bytes], which has the data after its length; None is null."""
    return b"\xff\xff\xff\xff" if data is None else int32(len(data)) + data


def string_list(items: Sequence[str]) -> bytes:
    """Return a [string list]."""
    return short(len(items)) + b"".join(map(string, items))


def string_multimap(items: Mapping[str, Sequence[str]]) -> bytes:
    """Return a [string multimap]."""
    return short(len(items)) + b"".join(
        string(key) + string_list(values) for key, values in items.items()
    )


def envelope(version: int, flags: int, stream: int, opcode: int, body: bytes) -> bytes:
    """Return the header of a message and its body.

    :param version: the protocol version, with the bit 0x80 set in a response.
    """
    return struct.pack(">BBhBi", version, flags, stream, opcode, len(body)) + body


class FakeType:
    """A fake column type, whose codec belongs to one implementation (compiled or Python)."""

    def __init__(self, codec: Any) -> None:
        self._codec = codec

    def codec(self) -> Any:
        return self._codec


class FakeColumn:
    """A column with a name, and a type whose codec belongs to one implementation."""

    def __init__(self, name: str, codec: Any) -> None:
        self.name = name
        self.type = FakeType(codec)


def columns(codecs: ModuleType, **codec_names: str) -> list[FakeColumn]:
    """Return columns with these names.

    :param codec_names: for each column, the function of `codecs` that creates its codec.
    """
    return [
        FakeColumn(name, getattr(codecs, codec_name)()) for name, codec_name in codec_names.items()
    ]
