"""The hash function of Cassandra's default partitioner, Murmur3Partitioner.

It returns the first half of MurmurHash3 x64 128 with seed 0. Cassandra deviates from MurmurHash3 in
one point, and so do all servers and clients: the bytes after the last block of 16 bytes are
sign-extended before they are shifted.

If the compiled modules are in use, `murmur3` is a compiled function. The Python function is always
available as `python_murmur3`.
"""

from __future__ import annotations

from struct import unpack_from

from cassandra import _impl
from cassandra._lazy import lazy_names

__all__ = [
    "INT64_MAX", "INT64_MIN", "INT64_OVF_DIV", "INT64_OVF_OFFSET", "body_and_tail", "fmix",
    "murmur3", "rotl64", "truncate_int64",
]  # fmt: skip

INT64_MAX = (1 << 63) - 1
INT64_MIN = -(1 << 63)
# The number of non-negative signed 64-bit integers (2**63), and of all of them (2**64).
INT64_OVF_OFFSET = INT64_MAX + 1
INT64_OVF_DIV = 2 * INT64_OVF_OFFSET

_MASK = (1 << 64) - 1

# The definition of MurmurHash3 x64 128 has these constants, and the numbers in the functions below.
_C1 = 0x87C37B91114253D5
_C2 = 0x4CF5AD432745937F


def truncate_int64(x: int) -> int:
    """Return the low 64 bits of `x` as a signed integer.

    :param x: any int.
    """
    return ((x + INT64_OVF_OFFSET) & _MASK) - INT64_OVF_OFFSET


def rotl64(x: int, r: int) -> int:
    """Rotate 64 bits left by 0 < `r` < 64 bits, and return a signed integer.

    :param x: the number.
    :param r: the number of bits.
    """
    x &= _MASK
    return truncate_int64((x << r) | (x >> (64 - r)))


def fmix(k: int) -> int:
    """Apply MurmurHash3's final mix to a 64-bit number, and return a signed integer.

    :param k: the number, signed or not.
    """
    return truncate_int64(_mix(k & _MASK))


def _mix(k: int) -> int:
    """Apply MurmurHash3's final mix to an unsigned 64-bit number."""
    k = ((k ^ (k >> 33)) * 0xFF51AFD7ED558CCD) & _MASK
    k = ((k ^ (k >> 33)) * 0xC4CEB9FE1A85EC53) & _MASK
    return k ^ (k >> 33)


def body_and_tail(data: bytes) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """Split `data` for hashing.

    :param data: any bytes.
    :returns: the signed 64-bit words of the complete 16-byte blocks, the remaining bytes as signed
        numbers, and the length of `data`.
    """
    length = len(data)
    # Each block of 16 bytes has two words of 8 bytes.
    word_count = length // 16 * 2
    return (
        unpack_from(f"<{word_count}q", data),
        unpack_from(f"<{length - word_count * 8}b", data, word_count * 8),
        length,
    )


def murmur3(data: bytes | bytearray | memoryview) -> int:
    """Return the signed 64-bit hash of `data`.

    A token is this hash, except that servers replace the lowest value by the highest.

    :param data: any bytes.
    """
    body, tail, length = body_and_tail(bytes(memoryview(data)))
    # `h1` and `h2` are the two halves of the hash. Mix in each block of 16 bytes, as two words.
    h1 = h2 = 0
    for index in range(0, len(body), 2):
        k1 = (body[index] * _C1) & _MASK
        k1 = ((((k1 << 31) | (k1 >> 33)) & _MASK) * _C2) & _MASK
        h1 ^= k1
        # Here and below, a left shift and a right shift together rotate the 64 bits.
        h1 = (((h1 << 27) | (h1 >> 37)) + h2) & _MASK
        h1 = (h1 * 5 + 0x52DCE729) & _MASK
        k2 = (body[index + 1] * _C2) & _MASK
        k2 = ((((k2 << 33) | (k2 >> 31)) & _MASK) * _C1) & _MASK
        h2 ^= k2
        h2 = (((h2 << 31) | (h2 >> 33)) + h1) & _MASK
        h2 = (h2 * 5 + 0x38495AB5) & _MASK
    # Hash the last bytes, which do not fill a block.
    k1 = k2 = 0
    for index, byte in enumerate(tail):
        # Cassandra deviates from MurmurHash3 here: `byte` is signed, so a negative byte also
        # changes all higher bits.
        if index < 8:
            k1 ^= byte << (index * 8)
        else:
            k2 ^= byte << (index * 8 - 64)
    if len(tail) > 8:
        k2 = (k2 * _C2) & _MASK
        h2 ^= ((((k2 << 33) | (k2 >> 31)) & _MASK) * _C1) & _MASK
    if tail:
        k1 = (k1 * _C1) & _MASK
        h1 ^= ((((k1 << 31) | (k1 >> 33)) & _MASK) * _C2) & _MASK
    h1 ^= length
    h2 ^= length
    h1 = (h1 + h2) & _MASK
    h2 = (h2 + h1) & _MASK
    # A token is the first 64 of the 128 bits.
    return truncate_int64(_mix(h1) + _mix(h2))


python_murmur3 = murmur3
if _impl.implementation == "c":
    murmur3 = _impl.ring._murmur3

__getattr__ = lazy_names(__name__)
