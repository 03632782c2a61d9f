"""Compression of bodies (protocol 3 and 4) and of segments (5): LZ4 and Snappy.

Each comes from an optional package. Sizes are checked before anything is inflated: against the
limit, and against the most that the algorithm can make of that many bytes. So a forged length
cannot cause a large allocation.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Container
from typing import NamedTuple

from cassandra._imports import import_module
from cassandra.errors import DependencyException, ProtocolError

_uint32 = struct.Struct(">I")

# Smaller bodies are sent as they are: the header of a compressed one costs more than is gained.
WORTH_COMPRESSING = 512

# Bytes. Inflating a large page takes three blocks of memory: the compressed body, and two in the
# package. When they are free, glibc returns them to the system, and takes them again for the next
# page: 200 page faults, which cost more than the inflating. It keeps up to twice the largest mapped
# block that was ever freed (mallopt(3), M_MMAP_THRESHOLD), so we free one of this size once.
_FREED_ONCE = 2 * 1024 * 1024

# A length byte of an LZ4 match adds 255 bytes of output at most.
_LZ4_RATIO = 255
# A Snappy copy of 3 bytes makes 64 at most.
_SNAPPY_RATIO = 64


class BodyCompression(NamedTuple):
    """The functions of one algorithm.

    `decompress_body(data, limit)` and the segment functions raise `ProtocolError` for bad data. The
    segment functions are None if the protocol has no such segments.
    """

    name: str
    compress_body: Callable[[bytes], bytes]
    decompress_body: Callable[[bytes, int], bytes]
    compress_segment: Callable[[bytes], bytes] | None
    decompress_segment: Callable[[bytes | memoryview, int], bytes] | None


def _check_size(claimed: int, compressed: int, ratio: int, limit: int) -> None:
    # The limit holds for the plain size: a small body of zeros may claim gigabytes.
    if claimed > limit:
        raise ProtocolError(
            f"a compressed body claims {claimed} bytes, more than the limit of {limit}"
        )
    if claimed > compressed * ratio + ratio:
        raise ProtocolError(
            f"a compressed body of {compressed} bytes claims {claimed} bytes, more than it can hold"
        )


def _make_lz4() -> BodyCompression:
    block = import_module("lz4.block")

    compress = block.compress
    decompress = block.decompress

    def compress_body(data: bytes) -> bytes:
        # Four bytes of length, big-endian (native_protocol_v4.spec, section 5), then the bare
        # block.
        packed: bytes = _uint32.pack(len(data)) + compress(data, store_size=False)
        return packed

    def inflate(data: bytes | memoryview, size: int) -> bytes:
        try:
            plain: bytes = decompress(data, uncompressed_size=size)
        except (block.LZ4BlockError, ValueError, OverflowError) as error:
            raise ProtocolError(
                f"an LZ4 block of {len(data)} bytes cannot be decompressed: {error}"
            ) from None
        if len(plain) != size:
            raise ProtocolError(
                f"an LZ4 block holds {len(plain)} bytes, but its header says {size}"
            )
        return plain

    def decompress_body(data: bytes, limit: int) -> bytes:
        if len(data) < 4:
            raise ProtocolError(
                f"a compressed body of {len(data)} bytes has no room for its length"
            )
        size: int = _uint32.unpack_from(data)[0]
        # Before the package reserves memory: the size comes from the peer.
        _check_size(size, len(data) - 4, _LZ4_RATIO, limit)
        # A size of 0 may come without any block, so there is nothing to inflate.
        return inflate(memoryview(data)[4:], size) if size else b""

    def compress_segment(data: bytes) -> bytes:
        packed: bytes = compress(data, store_size=False)
        return packed

    return BodyCompression("lz4", compress_body, decompress_body, compress_segment, inflate)


def _snappy_size(data: bytes) -> int:
    """Return the length at the head of a Snappy block: an unsigned LEB128 of 32 bits at most."""
    size = 0
    # Five bytes hold 32 bits; without the bound, a run of 0x80 would make a huge int.
    for index, byte in enumerate(data[:5]):
        size |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return size
    raise ProtocolError(f"a Snappy block of {len(data)} bytes has no valid length")


def _make_snappy() -> BodyCompression:
    snappy = import_module("snappy")

    def compress_body(data: bytes) -> bytes:
        return bytes(snappy.compress(data))

    def decompress_body(data: bytes, limit: int) -> bytes:
        # Read by ourselves, because the package would reserve the memory before it could be asked.
        size = _snappy_size(data)
        _check_size(size, len(data), _SNAPPY_RATIO, limit)
        try:
            plain = bytes(snappy.uncompress(data))
        except Exception as error:  # the package's error class differs between its releases
            raise ProtocolError(
                f"a Snappy block of {len(data)} bytes cannot be decompressed: {error}"
            ) from None
        if len(plain) != size:
            raise ProtocolError(
                f"a Snappy block holds {len(plain)} bytes, but its header says {size}"
            )
        return plain

    # Protocol 5 allows no algorithm but LZ4 for segments (section 2.2).
    return BodyCompression("snappy", compress_body, decompress_body, None, None)


_FACTORIES: dict[str, tuple[Callable[[], BodyCompression], str]] = {
    "lz4": (_make_lz4, "lz4"),
    "snappy": (_make_snappy, "python-snappy"),
}
_instances: dict[str, BodyCompression] = {}


def compression(algorithm: str) -> BodyCompression:
    """Return the functions of "lz4" or "snappy".

    :raises ValueError: for another name.
    :raises DependencyException: if the package is not installed.
    """
    functions = _instances.get(algorithm)
    if functions is not None:
        return functions
    if algorithm not in _FACTORIES:
        raise ValueError(
            f"compression {algorithm!r} is not known; there are {', '.join(sorted(_FACTORIES))}"
        )
    factory, package = _FACTORIES[algorithm]
    try:
        functions = factory()
    except ImportError as error:
        raise DependencyException(
            f"compression {algorithm!r} was asked for, "
            f"but the package {package} cannot be imported ({error}); "
            f"install it with: pip install turbocql[{algorithm}]",
            [error],
        ) from None
    bytes(_FREED_ONCE)
    # Two threads may both get here; they make equal objects, and either may stay.
    _instances[algorithm] = functions
    return functions


def is_available(name: str) -> bool:
    """Return True if the package of an algorithm can be imported."""
    try:
        compression(name)
    except DependencyException:
        return False
    return True


def first_available(offered: Container[str]) -> str | None:
    """Return the preferred algorithm among `offered` whose package can be imported, or None.

    Packages of less preferred algorithms are not imported.
    """
    # In our order, not in the server's: LZ4 is faster, and servers list the names in any order.
    return next((name for name in _FACTORIES if name in offered and is_available(name)), None)


def available_compressions() -> tuple[str, ...]:
    """Return the algorithms whose packages can be imported, the preferred one first."""
    return tuple(filter(is_available, _FACTORIES))
