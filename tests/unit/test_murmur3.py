"""Tests of the hash of Cassandra's Murmur3Partitioner, against the CQL function token().

The compiled hash has no separate module: tests reach it through the compiled module `ring`, and
through `cassandra.murmur3` if the compiled modules are in use.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from cassandra import _impl, murmur3
from tests.conftest import Implementation

# Each entry has bytes, and the first half of their hash (MurmurHash3 x64 128). If the bytes are the
# text in a partition key of one text column, this half is the token of the partition.
KNOWN = [(b"", 0), (b"123", -7468325962851647638)]


@pytest.mark.parametrize("hash_of", [murmur3.murmur3, murmur3.python_murmur3])
@pytest.mark.parametrize(("data", "token"), KNOWN)
def test_known_hashes(hash_of: Any, data: bytes, token: int) -> None:
    """Bytes, bytearrays and memoryviews must have the known hash."""
    assert hash_of(data) == token
    assert hash_of(bytearray(data)) == token
    assert hash_of(memoryview(data)) == token


@pytest.mark.parametrize(("data", "token"), KNOWN)
def test_known_tokens(implementation: Implementation, data: bytes, token: int) -> None:
    """Partition keys must have the known token."""
    assert implementation.ring.token_of(data) == token


@given(st.binary(max_size=200))
def test_both_implementations_return_the_same_hash(compiled: Implementation, data: bytes) -> None:
    assert compiled.ring._murmur3(data) == murmur3.python_murmur3(data)


def test_keys_of_every_length_have_the_same_hash_in_both_implementations(
    compiled: Implementation,
) -> None:
    for size in range(64):
        for byte in (b"\x00", b"\x7f", b"\x80", b"\xff"):
            data = byte * size
            assert compiled.ring._murmur3(data) == murmur3.python_murmur3(data)
            assert compiled.ring.token_of(data) == _impl.twin("ring", "python").token_of(data)


def test_the_public_function_is_the_compiled_one_if_in_use() -> None:
    compiled_hash = getattr(_impl.ring, "_murmur3", None)
    assert murmur3.murmur3 is (compiled_hash or murmur3.python_murmur3)


def test_helpers_of_the_python_hash() -> None:
    """The functions of the Python hash must return signed 64-bit numbers."""
    assert murmur3.body_and_tail(b"\x01" + bytes(15) + b"\xff") == ((1, 0), (-1,), 17)
    assert murmur3.rotl64(1, 63) == -(1 << 63)
    assert murmur3.truncate_int64(1 << 63) == -(1 << 63)
    assert murmur3.fmix(0) == 0
    assert murmur3.INT64_MAX == (1 << 63) - 1


@pytest.mark.parametrize("hash_of", [murmur3.murmur3, murmur3.python_murmur3])
@pytest.mark.parametrize("data", ["text", None, 5, [1, 2], 1.5])
def test_data_that_is_not_a_buffer_is_refused(hash_of: Any, data: Any) -> None:
    with pytest.raises(TypeError):
        hash_of(data)
