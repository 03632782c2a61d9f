"""Functions that read and write the protocol's data types, for applications that build messages.

They work on binary file-like objects. Names in brackets, such as [int], are the types of
native_protocol_v5.spec, section 3. Reading past the end of the file raises `ProtocolError`. Writing
a value that does not fit its field raises ValueError.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO

from cassandra.errors import ProtocolError
from cassandra.protocol.primitives import NULL_VALUE, UNSET_MARK, Cursor, address_text
from cassandra.sentinels import UNSET_VALUE


def _read(f: BinaryIO, size: int) -> bytes:
    """Return the next `size` bytes; raise ProtocolError if the file has fewer bytes."""
    # Never pass a negative size to read(): it would return the whole rest of the file.
    data = f.read(size) if size > 0 else b""
    if len(data) < size or size < 0:
        raise ProtocolError(f"{size} bytes are to follow, and {len(data)} do")
    return data


def _unpack(f: BinaryIO, form: str) -> int:
    value: int = struct.unpack(form, _read(f, struct.calcsize(form)))[0]
    return value


def _pack(form: str, value: int, what: str) -> bytes:
    try:
        return struct.pack(form, value)
    except struct.error:
        raise ValueError(f"{value!r} is not {what}") from None


def _text(data: bytes) -> str:
    return Cursor(data)._text(data)


def read_byte(f: BinaryIO) -> int:
    """Read a [byte], 8 bits, as a signed number.

    :param f: a file-like reader.
    """
    return _unpack(f, ">b")


def write_byte(f: BinaryIO, b: int) -> None:
    """Write a [byte], 8 bits, as a signed number.

    :param f: a file-like object to write to.
    :param b: the number.
    """
    f.write(_pack(">b", b, "a signed number of 8 bits"))


def read_int(f: BinaryIO) -> int:
    """Read an [int]: 32 bits, signed.

    :param f: a file-like reader.
    """
    return _unpack(f, ">i")


def write_int(f: BinaryIO, i: int) -> None:
    """Write an [int]: 32 bits, signed.

    :param f: a file-like object to write to.
    :param i: the number.
    """
    f.write(_pack(">i", i, "a signed number of 32 bits"))


def write_uint(f: BinaryIO, i: int) -> None:
    """Write an unsigned number of 32 bits.

    :param f: a file-like object to write to.
    :param i: the number.
    """
    f.write(_pack(">I", i, "an unsigned number of 32 bits"))


def write_long(f: BinaryIO, i: int) -> None:
    """Write a [long]: 64 bits. Both signed and unsigned numbers are accepted.

    :param f: a file-like object to write to.
    :param i: the number.
    """
    f.write(_pack(">q" if i < 1 << 63 else ">Q", i, "a number of 64 bits"))


def read_short(f: BinaryIO) -> int:
    """Read a [short]: 16 bits, unsigned.

    :param f: a file-like reader.
    """
    return _unpack(f, ">H")


def write_short(f: BinaryIO, s: int) -> None:
    """Write a [short]: 16 bits, unsigned.

    :param f: a file-like object to write to.
    :param s: the number.
    """
    f.write(_pack(">H", s, "an unsigned number of 16 bits"))


def read_uint_le(f: BinaryIO, size: int = 4) -> int:
    """Read an unsigned little-endian number of `size` bytes.

    :param f: a file-like reader.
    :param size: the number of bytes.
    """
    return int.from_bytes(_read(f, size), "little")


def write_uint_le(f: BinaryIO, i: int, size: int = 4) -> None:
    """Write an unsigned little-endian number of `size` bytes.

    :param f: a file-like object to write to.
    :param i: the number.
    :param size: the number of bytes.
    """
    try:
        f.write(i.to_bytes(size, "little"))
    except OverflowError:
        raise ValueError(f"{i!r} is not an unsigned number of {size} bytes") from None


def read_consistency_level(f: BinaryIO) -> int:
    """Read a [consistency], a [short].

    :param f: a file-like reader.
    """
    return read_short(f)


def write_consistency_level(f: BinaryIO, cl: int) -> None:
    """Write a [consistency], a [short].

    :param f: a file-like object to write to.
    :param cl: a value of `ConsistencyLevel`.
    """
    write_short(f, cl)


def read_string(f: BinaryIO) -> str:
    """Read a [string]: a [short] length, followed by that many bytes of UTF-8.

    :param f: a file-like reader.
    """
    return _text(read_binary_string(f))


def read_binary_string(f: BinaryIO) -> bytes:
    """Read [short bytes]: a [short] length, followed by that many bytes.

    :param f: a file-like reader.
    """
    return _read(f, read_short(f))


def write_string(f: BinaryIO, s: str | bytes) -> None:
    """Write a [string], or [short bytes] if `s` is bytes.

    :param f: a file-like object to write to.
    :param s: the string, or bytes.
    """
    # Encode first, because the length in the message is in bytes, not in characters.
    data = s.encode() if isinstance(s, str) else s
    write_short(f, len(data))
    f.write(data)


def read_longstring(f: BinaryIO) -> str:
    """Read a [long string]: an [int] length, followed by that many bytes of UTF-8.

    :param f: a file-like reader.
    """
    return _text(read_binary_longstring(f))


def read_binary_longstring(f: BinaryIO) -> bytes:
    """Read an [int] length, followed by that many bytes.

    :param f: a file-like reader.
    """
    return _read(f, read_int(f))


def write_longstring(f: BinaryIO, s: str | bytes) -> None:
    """Write a [long string]: an [int] length, followed by that many bytes.

    :param f: a file-like object to write to.
    :param s: the string, or bytes.
    """
    data = s.encode() if isinstance(s, str) else s
    write_int(f, len(data))
    f.write(data)


def read_stringlist(f: BinaryIO) -> list[str]:
    """Read a [string list].

    :param f: a file-like reader.
    """
    return [read_string(f) for _ in range(read_short(f))]


def write_stringlist(f: BinaryIO, stringlist: Sequence[str]) -> None:
    """Write a [string list].

    :param f: a file-like object to write to.
    :param stringlist: a sequence of strings.
    """
    write_short(f, len(stringlist))
    for item in stringlist:
        write_string(f, item)


def read_stringmap(f: BinaryIO) -> dict[str, str]:
    """Read a [string map].

    :param f: a file-like reader.
    """
    return {read_string(f): read_string(f) for _ in range(read_short(f))}


def write_stringmap(f: BinaryIO, strmap: Mapping[str, str]) -> None:
    """Write a [string map].

    :param f: a file-like object to write to.
    :param strmap: a mapping of strings to strings.
    """
    write_short(f, len(strmap))
    for key, value in strmap.items():
        write_string(f, key)
        write_string(f, value)


def read_stringmultimap(f: BinaryIO) -> dict[str, list[str]]:
    """Read a [string multimap].

    :param f: a file-like reader.
    """
    return {read_string(f): read_stringlist(f) for _ in range(read_short(f))}


def write_stringmultimap(f: BinaryIO, strmmap: Mapping[str, Sequence[str]]) -> None:
    """Write a [string multimap].

    :param f: a file-like object to write to.
    :param strmmap: a mapping of strings to sequences of strings.
    """
    write_short(f, len(strmmap))
    for key, values in strmmap.items():
        write_string(f, key)
        write_stringlist(f, values)


def read_value(f: BinaryIO) -> bytes | None:
    """Read [bytes]; return None for null.

    :param f: a file-like reader.
    """
    # Any negative length means null, not only -1 (section 3 of the specification).
    size = read_int(f)
    return None if size < 0 else _read(f, size)


def write_value(f: BinaryIO, v: Any) -> None:
    """Write a [value].

    :param f: a file-like object to write to.
    :param v: the value: bytes, None for null, or UNSET_VALUE.
    """
    if v is None:
        f.write(NULL_VALUE)
    elif v is UNSET_VALUE:
        f.write(UNSET_MARK)  # the length -2, which servers understand from version 4 on
    else:
        write_int(f, len(v))
        f.write(v)


def read_bytesmap(f: BinaryIO) -> dict[str, Any]:
    """Read a [bytes map].

    :param f: a file-like reader.
    """
    return {read_string(f): read_value(f) for _ in range(read_short(f))}


def write_bytesmap(f: BinaryIO, bytesmap: Mapping[str, Any]) -> None:
    """Write a [bytes map].

    :param f: a file-like object to write to.
    :param bytesmap: a mapping of strings to bytes or None.
    """
    write_short(f, len(bytesmap))
    for key, value in bytesmap.items():
        write_string(f, key)
        write_value(f, value)


def read_inet_addr_only(f: BinaryIO) -> str:
    """Read an [inetaddr]; return the address as a string.

    :param f: a file-like reader.
    """
    return address_text(_read(f, read_byte(f)))


def read_inet(f: BinaryIO) -> tuple[str, int]:
    """Read an [inet]; return (address, port).

    :param f: a file-like reader.
    """
    address = read_inet_addr_only(f)
    return address, read_int(f)


def write_inet(f: BinaryIO, addrtuple: tuple[str, int]) -> None:
    """Write an [inet].

    :param f: a file-like object to write to.
    :param addrtuple: (address as a string, port).
    """
    address, port = addrtuple
    # Only IPv6 addresses contain colons.
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    data = socket.inet_pton(family, address)
    write_byte(f, len(data))
    f.write(data)
    write_int(f, port)


def read_error_code_map(f: BinaryIO) -> dict[str, int]:
    """Read the <reasonmap> of a read or write failure; return the error code of each node.

    A <reasonmap> is an [int] count, followed by an [inetaddr] and a [short] for each node.

    :param f: a file-like reader.
    """
    count = read_int(f)
    # Check here: range() would treat a negative count as 0, and the next bytes would be misread.
    if count < 0:
        raise ProtocolError(f"a map of {count} failure reasons")
    return {read_inet_addr_only(f): read_short(f) for _ in range(count)}
