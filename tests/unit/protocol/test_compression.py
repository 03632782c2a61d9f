"""Compression round trips, and refusals of forged lengths."""

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
LIMIT = 1 << 20


@pytest.fixture(params=["lz4", "snappy"])
def chosen(request: pytest.FixtureRequest) -> module.BodyCompression:
    pytest.importorskip("lz4.block" if request.param == "lz4" else "snappy")
    return compression(request.param)


def test_there_and_back(chosen: module.BodyCompression) -> None:
    for plain in (PLAIN, b"", b"x"):
        packed = chosen.compress_body(plain)
        assert chosen.decompress_body(packed, LIMIT) == plain
    assert len(chosen.compress_body(PLAIN)) < len(PLAIN) / 4
    assert compression(chosen.name) is chosen


def test_the_limit_is_that_of_the_plain_size(chosen: module.BodyCompression) -> None:
    packed = chosen.compress_body(PLAIN)
    with pytest.raises(ProtocolError, match=f"claims {len(PLAIN)} bytes, more than the limit"):
        chosen.decompress_body(packed, len(PLAIN) - 1)
    assert chosen.decompress_body(packed, len(PLAIN)) == PLAIN


@pytest.mark.parametrize("size", range(1, 12))
def test_damaged_bodies(chosen: module.BodyCompression, size: int) -> None:
    with pytest.raises(ProtocolError):
        chosen.decompress_body(chosen.compress_body(PLAIN)[:-size], LIMIT)


def test_a_length_that_the_bytes_cannot_hold() -> None:
    pytest.importorskip("lz4.block")
    lz4 = compression("lz4")
    body = lz4.compress_body(b"x" * 10)[4:]
    with pytest.raises(ProtocolError, match="more than it can hold"):
        lz4.decompress_body((1 << 19).to_bytes(4, "big") + body, LIMIT)
    with pytest.raises(ProtocolError, match="holds 10 bytes, but its header says 11"):
        lz4.decompress_body((11).to_bytes(4, "big") + body, LIMIT)
    with pytest.raises(ProtocolError, match="no room for its length"):
        lz4.decompress_body(b"\0\0\0", LIMIT)


def test_a_length_without_end() -> None:
    pytest.importorskip("snappy")
    with pytest.raises(ProtocolError, match="no valid length"):
        compression("snappy").decompress_body(b"\x80" * 20, LIMIT)


def test_segments_have_lz4_alone(chosen: module.BodyCompression) -> None:
    if chosen.name == "snappy":
        assert (chosen.compress_segment, chosen.decompress_segment) == (None, None)
        return
    assert chosen.compress_segment is not None
    assert chosen.decompress_segment is not None
    packed = chosen.compress_segment(PLAIN)
    assert chosen.decompress_segment(memoryview(packed), len(PLAIN)) == PLAIN


def test_names(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="'zstd' is not known; there are lz4, snappy"):
        compression("zstd")
    missing: Any = None
    monkeypatch.setattr(module, "_instances", {})
    monkeypatch.setitem(sys.modules, "snappy", missing)  # makes its import fail
    with pytest.raises(DependencyException, match=r"pip install turbocql\[snappy\]") as refused:
        compression("snappy")
    assert isinstance(refused.value.excs[0], ImportError)
    assert not is_available("snappy")
    assert available_compressions() == ("lz4",)
    assert first_available(["snappy"]) is None
    assert first_available(["snappy", "lz4"]) == "lz4"
    assert first_available([]) is None
