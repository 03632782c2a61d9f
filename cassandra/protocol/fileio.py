"""`read_*` and `write_*` over file-like objects, for programs that build messages.

The notations are those of native_protocol_v5.spec, section 3. Reading past the end raises
`ProtocolError`; writing a value that does not fit its field raises ValueError.
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
    # A negative size would read to the end of the file, and swallow what follows.
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
    """[byte]: 8 bits, signed.

    :param f: a file-like reader.
    """
    return _unpack(f, ">b")


def write_byte(f: BinaryIO, b: int) -> None:
    """[byte], signed.

    :param f: a file-like object to write to.
    :param b: the number.
    """
    f.write(_pack(">b", b, "a signed number of 8 bits"))


def read_int(f: BinaryIO) -> int:
    """[int]: 32 bits, signed.

    :param f: a file-like reader.
    """
    return _unpack(f, ">i")


def write_int(f: BinaryIO, i: int) -> None:
    """[int].

    :param f: a file-like object to write to.
    :param i: the number.
    """
    f.write(_pack(">i", i, "a signed number of 32 bits"))


def write_uint(f: BinaryIO, i: int) -> None:
    """32 bits, unsigned.

    :param f: a file-like object to write to.
    :param i: the number.
    """
    f.write(_pack(">I", i, "an unsigned number of 32 bits"))


def write_long(f: BinaryIO, i: int) -> None:
    """[long], of which the protocol uses the unsigned half and the signed one alike.

    :param f: a file-like object to write to.
    :param i: the number.
    """
    f.write(_pack(">q" if i < 1 << 63 else ">Q", i, "a number of 64 bits"))


def read_short(f: BinaryIO) -> int:
    """[short]: 16 bits, unsigned.

    :param f: a file-like reader.
    """
    return _unpack(f, ">H")


def write_short(f: BinaryIO, s: int) -> None:
    """[short].

    :param f: a file-like object to write to.
    :param s: the number.
    """
    f.write(_pack(">H", s, "an unsigned number of 16 bits"))


def read_uint_le(f: BinaryIO, size: int = 4) -> int:
    """An unsigned little-endian number of `size` bytes.

    :param f: a file-like reader.
    :param size: how many bytes.
    """
    return int.from_bytes(_read(f, size), "little")


def write_uint_le(f: BinaryIO, i: int, size: int = 4) -> None:
    """An unsigned little-endian number of `size` bytes.

    :param f: a file-like object to write to.
    :param i: the number.
    :param size: how many bytes.
    """
    try:
        f.write(i.to_bytes(size, "little"))
    except OverflowError:
        raise ValueError(f"{i!r} is not an unsigned number of {size} bytes") from None


def read_consistency_level(f: BinaryIO) -> int:
    """[consistency].

    :param f: a file-like reader.
    """
    return read_short(f)


def write_consistency_level(f: BinaryIO, cl: int) -> None:
    """[consistency].

    :param f: a file-like object to write to.
    :param cl: a value of `ConsistencyLevel`.
    """
    write_short(f, cl)


def read_string(f: BinaryIO) -> str:
    """[string].

    :param f: a file-like reader.
    """
    return _text(read_binary_string(f))


def read_binary_string(f: BinaryIO) -> bytes:
    """[short bytes].

    :param f: a file-like reader.
    """
    return _read(f, read_short(f))


def write_string(f: BinaryIO, s: str | bytes) -> None:
    """[string]; bytes are written as [short bytes].

    :param f: a file-like object to write to.
    :param s: the text, or bytes.
    """
    # The length counts bytes, not characters: it is known only after encoding.
    data = s.encode() if isinstance(s, str) else s
    write_short(f, len(data))
    f.write(data)


def read_longstring(f: BinaryIO) -> str:
    """[long string].

    :param f: a file-like reader.
    """
    return _text(read_binary_longstring(f))


def read_binary_longstring(f: BinaryIO) -> bytes:
    """An [int] length and as many bytes.

    :param f: a file-like reader.
    """
    return _read(f, read_int(f))


def write_longstring(f: BinaryIO, s: str | bytes) -> None:
    """[long string].

    :param f: a file-like object to write to.
    :param s: the text.
    """
    data = s.encode() if isinstance(s, str) else s
    write_int(f, len(data))
    f.write(data)


def read_stringlist(f: BinaryIO) -> list[str]:
    """[string list].

    :param f: a file-like reader.
    """
    return [read_string(f) for _ in range(read_short(f))]


def write_stringlist(f: BinaryIO, stringlist: Sequence[str]) -> None:
    """[string list].

    :param f: a file-like object to write to.
    :param stringlist: an iterable of texts.
    """
    write_short(f, len(stringlist))
    for item in stringlist:
        write_string(f, item)


def read_stringmap(f: BinaryIO) -> dict[str, str]:
    """[string map].

    :param f: a file-like reader.
    """
    return {read_string(f): read_string(f) for _ in range(read_short(f))}


def write_stringmap(f: BinaryIO, strmap: Mapping[str, str]) -> None:
    """[string map].

    :param f: a file-like object to write to.
    :param strmap: a mapping of texts to texts.
    """
    write_short(f, len(strmap))
    for key, value in strmap.items():
        write_string(f, key)
        write_string(f, value)


def read_stringmultimap(f: BinaryIO) -> dict[str, list[str]]:
    """[string multimap].

    :param f: a file-like reader.
    """
    return {read_string(f): read_stringlist(f) for _ in range(read_short(f))}


def write_stringmultimap(f: BinaryIO, strmmap: Mapping[str, Sequence[str]]) -> None:
    """[string multimap].

    :param f: a file-like object to write to.
    :param strmmap: a mapping of texts to iterables of texts.
    """
    write_short(f, len(strmmap))
    for key, values in strmmap.items():
        write_string(f, key)
        write_stringlist(f, values)


def read_value(f: BinaryIO) -> Any:
    """[bytes]: None for null.

    :param f: a file-like reader.
    """
    # Section 3: any negative length is a null, not only -1.
    size = read_int(f)
    return None if size < 0 else _read(f, size)


def write_value(f: BinaryIO, v: Any) -> None:
    """[value]: bytes, None or UNSET_VALUE.

    :param f: a file-like object to write to.
    :param v: the value.
    """
    if v is None:
        f.write(NULL_VALUE)
    # A length of -2, which servers know from version 4 on.
    elif v is UNSET_VALUE:
        f.write(UNSET_MARK)
    else:
        write_int(f, len(v))
        f.write(v)


def read_bytesmap(f: BinaryIO) -> dict[str, Any]:
    """[bytes map].

    :param f: a file-like reader.
    """
    return {read_string(f): read_value(f) for _ in range(read_short(f))}


def write_bytesmap(f: BinaryIO, bytesmap: Mapping[str, Any]) -> None:
    """[bytes map].

    :param f: a file-like object to write to.
    :param bytesmap: a mapping of texts to bytes.
    """
    write_short(f, len(bytesmap))
    for key, value in bytesmap.items():
        write_string(f, key)
        write_value(f, value)


def read_inet_addr_only(f: BinaryIO) -> str:
    """[inetaddr]: the address as text.

    :param f: a file-like reader.
    """
    return address_text(_read(f, read_byte(f)))


def read_inet(f: BinaryIO) -> tuple[str, int]:
    """[inet]: (address, port).

    :param f: a file-like reader.
    """
    address = read_inet_addr_only(f)
    return address, read_int(f)


def write_inet(f: BinaryIO, addrtuple: tuple[str, int]) -> None:
    """[inet] of (address, port).

    :param f: a file-like object to write to.
    :param addrtuple: the address, a text, and the port.
    """
    address, port = addrtuple
    # Only addresses of version 6 have colons.
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    data = socket.inet_pton(family, address)
    write_byte(f, len(data))
    f.write(data)
    write_int(f, port)


def read_error_code_map(f: BinaryIO) -> dict[str, int]:
    """The <reasonmap> of the two failures: an [int] count, then [inetaddr] and [short] each.

    :param f: a file-like reader.
    """
    count = read_int(f)
    # range() would take a negative count for an empty map, and the rest would be misread.
    if count < 0:
        raise ProtocolError(f"a map of {count} failure reasons")
    return {read_inet_addr_only(f): read_short(f) for _ in range(count)}
