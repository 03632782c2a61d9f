"""The lane with sanitizers runs tests that are there."""

from __future__ import annotations

from pathlib import Path

from tests.sanitize import TESTS

ROOT = Path(__file__).resolve().parents[2]


def test_what_is_named_is_there() -> None:
    assert [name for name in TESTS if not (ROOT / name).exists()] == []
