"""The partitioner's hash. The expected values are those that Cassandra's token() gives."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cassandra import murmur3 as reference
from tests.conftest import Twins

# MurmurHash3 x64 128, first half; the tokens of text partition keys.
KNOWN = [(b"", 0), (b"123", -7468325962851647638)]


@pytest.mark.parametrize(("data", "token"), KNOWN)
def test_known_tokens(twins: Twins, data: bytes, token: int) -> None:
    assert twins.murmur3.murmur3(data) == token
    assert twins.murmur3.murmur3(bytearray(data)) == token
    assert twins.murmur3.murmur3(memoryview(data)) == token


@given(st.binary(max_size=200))
def test_both_hash_alike(compiled: Twins, data: bytes) -> None:
    assert compiled.murmur3.murmur3(data) == reference.murmur3(data)


def test_every_length_of_the_tail(compiled: Twins) -> None:
    for size in range(64):
        for byte in (b"\x00", b"\x7f", b"\x80", b"\xff"):
            assert compiled.murmur3.murmur3(byte * size) == reference.murmur3(byte * size)


def test_parts(twins: Twins) -> None:
    assert twins.murmur3.body_and_tail(b"\x01" + bytes(15) + b"\xff") == ((1, 0), (-1,), 17)
    assert twins.murmur3.rotl64(1, 63) == -(1 << 63)
    assert twins.murmur3.truncate_int64(1 << 63) == -(1 << 63)
    assert twins.murmur3.fmix(0) == 0
    assert twins.murmur3.INT64_MAX == (1 << 63) - 1


@pytest.mark.parametrize("data", ["text", None, 5, [1, 2], 1.5])
def test_no_buffer(twins: Twins, data: Any) -> None:
    with pytest.raises(TypeError):
        twins.murmur3.murmur3(data)
