"""LZ4 and Snappy compression of bodies (protocol versions 3 and 4) and of segments (version 5).

Each algorithm needs an optional package. Compressed data begins with its uncompressed size. We
check this size before we decompress anything: it must not exceed the limit, nor the maximum size
that the algorithm can produce from this number of compressed bytes. So a forged size cannot cause a
large allocation.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Container
from typing import NamedTuple

from cassandra._imports import import_module
from cassandra.errors import DependencyException, ProtocolError

_uint32 = struct.Struct(">I")

# Bodies of fewer bytes are sent uncompressed, because compression would save next to nothing.
WORTH_COMPRESSING = 512

# A size in bytes. To decompress a large page, the process allocates three blocks of memory: the
# compressed body, and two blocks in the package. glibc returns large blocks to the system when they
# are freed, and gets new blocks for the next page. That causes about 200 page faults, which take
# longer than the decompression. But after a block of this size was freed, glibc keeps blocks up to
# that size: it raises its threshold to the largest mapped block that was ever freed (mallopt(3),
# M_MMAP_THRESHOLD). So we allocate and free one such block.
_FREED_ONCE = 2 * 1024 * 1024

# In LZ4, a compressed byte produces at most 255 bytes of output (a length byte of a match).
_LZ4_RATIO = 255
# In Snappy, a copy of 3 compressed bytes produces at most 64 bytes of output. 64 is an upper bound
# for a single byte, too.
_SNAPPY_RATIO = 64


class BodyCompression(NamedTuple):
    """The functions of one compression algorithm.

    `decompress_body(data, limit)` and `decompress_segment(data, size)` raise `ProtocolError` for
    bad data. Both segment functions are None for Snappy, which the protocol does not allow in
    segments.
    """

    name: str
    compress_body: Callable[[bytes], bytes]
    decompress_body: Callable[[bytes, int], bytes]
    compress_segment: Callable[[bytes], bytes] | None
    decompress_segment: Callable[[bytes | memoryview, int], bytes] | None


def _check_claimed_size(
    claimed_size: int, compressed_size: int, max_ratio: int, limit: int
) -> None:
    """Raise `ProtocolError` if the uncompressed size that the peer claims is not plausible.

    :param claimed_size: the uncompressed size in bytes that the peer claims.
    :param compressed_size: the number of compressed bytes.
    :param max_ratio: the maximum number of bytes that the algorithm can make of one compressed
        byte.
    :param limit: the maximum uncompressed size that is allowed, in bytes.
    """
    if claimed_size > limit:
        raise ProtocolError(
            f"a compressed body claims {claimed_size} bytes, more than the limit of {limit}"
        )
    if claimed_size > compressed_size * max_ratio + max_ratio:
        raise ProtocolError(
            f"a compressed body of {compressed_size} bytes claims {claimed_size} bytes, "
            "more than it can hold"
        )


def _make_lz4() -> BodyCompression:
    """Return the functions of LZ4; raise ImportError if its package is not installed."""
    block = import_module("lz4.block")

    compress = block.compress
    decompress = block.decompress

    def compress_body(data: bytes) -> bytes:
        # A body begins with the uncompressed size as four big-endian bytes
        # (native_protocol_v4.spec, section 5). The LZ4 block follows; it must not contain the size
        # again (`store_size`).
        packed: bytes = _uint32.pack(len(data)) + compress(data, store_size=False)
        return packed

    def inflate(data: bytes | memoryview, size: int) -> bytes:
        """Decompress an LZ4 block; raise ProtocolError if the result does not have `size` bytes."""
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
        """Decompress a body; raise ProtocolError if it claims more than `limit` bytes."""
        if len(data) < 4:
            raise ProtocolError(
                f"a compressed body of {len(data)} bytes has no room for its length"
            )
        size: int = _uint32.unpack_from(data)[0]
        # Check the peer's claim before the package allocates that much memory.
        _check_claimed_size(size, len(data) - 4, _LZ4_RATIO, limit)
        # If the size is 0, there may be no block, which the package would refuse.
        return inflate(memoryview(data)[4:], size) if size else b""

    def compress_segment(data: bytes) -> bytes:
        packed: bytes = compress(data, store_size=False)
        return packed

    return BodyCompression("lz4", compress_body, decompress_body, compress_segment, inflate)


def _snappy_size(data: bytes) -> int:
    """Return the uncompressed size at the start of a Snappy block (32 bits, unsigned LEB128)."""
    size = 0
    # Five bytes hold 32 bits. Without this limit, many bytes of 0x80 would make a huge int.
    for index, byte in enumerate(data[:5]):
        size |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return size
    raise ProtocolError(f"a Snappy block of {len(data)} bytes has no valid length")


def _make_snappy() -> BodyCompression:
    """Return the functions of Snappy; raise ImportError if its package is not installed."""
    snappy = import_module("snappy")

    def compress_body(data: bytes) -> bytes:
        return bytes(snappy.compress(data))

    def decompress_body(data: bytes, limit: int) -> bytes:
        """Decompress a body; raise ProtocolError if it claims more than `limit` bytes."""
        # Read the size here, because the package would allocate the memory without our check.
        size = _snappy_size(data)
        _check_claimed_size(size, len(data), _SNAPPY_RATIO, limit)
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

    # Segments of protocol version 5 allow only LZ4 (native_protocol_v5.spec, section 2.2).
    return BodyCompression("snappy", compress_body, decompress_body, None, None)


# For each algorithm: a function that imports its package and returns its functions, and the name of
# the package.
_FACTORIES: dict[str, tuple[Callable[[], BodyCompression], str]] = {
    "lz4": (_make_lz4, "lz4"),
    "snappy": (_make_snappy, "python-snappy"),
}
# The functions of each algorithm that was used before.
_instances: dict[str, BodyCompression] = {}


def compression(algorithm: str) -> BodyCompression:
    """Return the functions of "lz4" or "snappy".

    :raises ValueError: for the name of another algorithm.
    :raises DependencyException: if the package of the algorithm is not installed.
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
    # Allocate a large block of memory. It is freed at once, because nothing refers to it. From then
    # on, glibc keeps freed blocks up to this size, so that later compressed responses reuse them;
    # see `_FREED_ONCE`.
    bytes(_FREED_ONCE)
    # Two threads may both get here. Their objects are equal, so either object may stay.
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
    # The order is ours (LZ4 first, because it is faster), since servers list the names in any
    # order.
    return next((name for name in _FACTORIES if name in offered and is_available(name)), None)


def available_compressions() -> tuple[str, ...]:
    """Return the algorithms whose packages can be imported, the preferred one first."""
    return tuple(filter(is_available, _FACTORIES))
