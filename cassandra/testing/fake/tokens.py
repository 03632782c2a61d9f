"""Computes tokens and shards without the driver's code, so that tests find errors in that code.

A token is the first half of MurmurHash3's 128 bits, as a signed number. Cassandra's variant
treats the bytes after the last block of 16 bytes as signed. The shard follows ScyllaDB's
docs/dev/protocol-extensions.md, "Intranode sharding".
"""

from __future__ import annotations

_MASK = (1 << 64) - 1  # all arithmetic is modulo 2**64
_C1, _C2 = 0x87C37B91114253D5, 0x4CF5AD432745937F


def _rotated(value: int, by: int) -> int:
    return (value << by | value >> (64 - by)) & _MASK


def _mixed(value: int) -> int:
    """Return the finalization mix of MurmurHash3 (fmix64)."""
    value ^= value >> 33
    value = value * 0xFF51AFD7ED558CCD & _MASK
    value ^= value >> 33
    value = value * 0xC4CEB9FE1A85EC53 & _MASK
    return value ^ value >> 33


def _signed_tail(data: bytes) -> int:
    """Return the bytes as a little-endian number, with each byte sign-extended to 64 bits."""
    number = 0
    for index, byte in enumerate(data):
        number ^= ((byte - 256 if byte > 127 else byte) << 8 * index) & _MASK
    return number


def token_of(key: bytes) -> int:
    """Return the token of a serialized partition key."""
    # `first` and `second` are the two halves of the hash. Mix in each block of 16 bytes first.
    first = second = 0
    blocks_end = len(key) // 16 * 16
    for offset in range(0, blocks_end, 16):
        low = int.from_bytes(key[offset : offset + 8], "little")
        high = int.from_bytes(key[offset + 8 : offset + 16], "little")
        first ^= _rotated(low * _C1 & _MASK, 31) * _C2 & _MASK
        first = (_rotated(first, 27) + second) * 5 + 0x52DCE729 & _MASK
        second ^= _rotated(high * _C2 & _MASK, 33) * _C1 & _MASK
        second = (_rotated(second, 31) + first) * 5 + 0x38495AB5 & _MASK
    # Mix in the last, incomplete block of the key, and finalize.
    low = _signed_tail(key[blocks_end : blocks_end + 8])
    high = _signed_tail(key[blocks_end + 8 :])
    second ^= _rotated(high * _C2 & _MASK, 33) * _C1 & _MASK
    first ^= _rotated(low * _C1 & _MASK, 31) * _C2 & _MASK
    first ^= len(key)
    second ^= len(key)
    first = first + second & _MASK
    second = second + first & _MASK
    first, second = _mixed(first), _mixed(second)
    first = first + second & _MASK
    # The token is the first half, as a signed number.
    token = first - (1 << 64) if first >> 63 else first
    # The smallest signed number is not a valid token: Cassandra uses the largest number instead.
    return (1 << 63) - 1 if token == -(1 << 63) else token


def shard_of(token: int, shards: int, ignore_msb: int) -> int:
    """Return the shard that has the partitions with `token`.

    :param shards: the number of shards of the node.
    :param ignore_msb: how many of the token's most significant bits are ignored
        (``SCYLLA_SHARDING_IGNORE_MSB``).
    """
    biased = (token + (1 << 63) << ignore_msb) & _MASK
    return biased * shards >> 64
