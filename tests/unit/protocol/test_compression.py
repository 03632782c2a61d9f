"""Test the compression of message bodies, and the refusal of bodies with forged lengths."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from cassandra.errors import DependencyException, ProtocolError
from cassandra.protocol import compression as module
from cassandra.protocol.compression import (
    available_compressions,
    compression,
    first_available,
    is_available,
)

PLAIN = b"some text, " * 200
LIMIT = 1 << 20  # maximum size of a decompressed body (bytes)


@pytest.fixture(params=["lz4", "snappy"])
def algorithm(request: pytest.FixtureRequest) -> module.BodyCompression:
    """Return the compression algorithm; skip the test if its package is not installed."""
    pytest.importorskip("lz4.block" if request.param == "lz4" else "snappy")
    return compression(request.param)


def test_compressed_bodies_survive_a_round_trip(algorithm: module.BodyCompression) -> None:
    """A compressed body is decompressed to the same bytes."""
    for plain in (PLAIN, b"", b"x"):
        packed = algorithm.compress_body(plain)
        assert algorithm.decompress_body(packed, LIMIT) == plain
    assert len(algorithm.compress_body(PLAIN)) < len(PLAIN) / 4
    assert compression(algorithm.name) is algorithm


def test_the_limit_applies_to_the_decompressed_size(algorithm: module.BodyCompression) -> None:
    """The size that a body claims is checked before the body is decompressed.

    Otherwise, a small body could be decompressed to gigabytes.
    """
    packed = algorithm.compress_body(PLAIN)
    with pytest.raises(ProtocolError, match=f"claims {len(PLAIN)} bytes, more than the limit"):
        algorithm.decompress_body(packed, len(PLAIN) - 1)
    assert algorithm.decompress_body(packed, len(PLAIN)) == PLAIN


@pytest.mark.parametrize("missing_bytes", range(1, 12))
def test_a_truncated_body_is_an_error(
    algorithm: module.BodyCompression, missing_bytes: int
) -> None:
    """A truncated body raises ProtocolError."""
    truncated = algorithm.compress_body(PLAIN)[:-missing_bytes]
    with pytest.raises(ProtocolError):
        algorithm.decompress_body(truncated, LIMIT)


def test_a_length_that_the_bytes_cannot_hold() -> None:
    """An LZ4 body whose claimed size differs from its real size is refused.

    In an LZ4 body, the compressed bytes follow the decompressed size, which takes four bytes.
    """
    pytest.importorskip("lz4.block")
    lz4 = compression("lz4")
    # Remove the size before the compressed bytes.
    body = lz4.compress_body(b"x" * 10)[4:]
    with pytest.raises(ProtocolError, match="more than it can hold"):
        lz4.decompress_body((1 << 19).to_bytes(4, "big") + body, LIMIT)
    with pytest.raises(ProtocolError, match="holds 10 bytes, but its header says 11"):
        lz4.decompress_body((11).to_bytes(4, "big") + body, LIMIT)
    with pytest.raises(ProtocolError, match="no room for its length"):
        lz4.decompress_body(b"\0\0\0", LIMIT)


def test_a_length_without_end() -> None:
    """A snappy body whose length never ends is refused.

    In the length of snappy, the highest bit of a byte says that another byte follows.
    """
    pytest.importorskip("snappy")
    with pytest.raises(ProtocolError, match="no valid length"):
        compression("snappy").decompress_body(b"\x80" * 20, LIMIT)


def test_only_lz4_compresses_segments(algorithm: module.BodyCompression) -> None:
    """Protocol version 5 sends segments, which can be compressed with LZ4, but not with snappy."""
    if algorithm.name == "snappy":
        assert algorithm.compress_segment is None
        assert algorithm.decompress_segment is None
        return
    assert algorithm.compress_segment is not None
    assert algorithm.decompress_segment is not None
    packed = algorithm.compress_segment(PLAIN)
    assert algorithm.decompress_segment(memoryview(packed), len(PLAIN)) == PLAIN


def test_errors_for_unknown_and_missing_algorithms_give_advice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The error for an unknown algorithm names the known algorithms.

    The error for a missing package says how to install it with pip.
    """
    with pytest.raises(ValueError, match="'zstd' is not known; there are lz4, snappy"):
        compression("zstd")
    no_module: Any = None
    # Clear the algorithms that were already imported.
    monkeypatch.setattr(module, "_instances", {})
    # None in `sys.modules` makes importing the module fail.
    monkeypatch.setitem(sys.modules, "snappy", no_module)
    with pytest.raises(DependencyException, match=r"pip install turbocql\[snappy\]") as raised:
        compression("snappy")
    assert isinstance(raised.value.excs[0], ImportError)
    assert not is_available("snappy")
    assert available_compressions() == ("lz4",)
    assert first_available(["snappy"]) is None
    assert first_available(["snappy", "lz4"]) == "lz4"
    assert first_available([]) is None
