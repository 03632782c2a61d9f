"""The lists of tests in tests/sanitize.py, which run on a build with sanitizers."""

from __future__ import annotations

from pathlib import Path

from tests.sanitize import TESTS, WEEKLY

ROOT = Path(__file__).resolve().parents[2]


def test_each_listed_test_exists() -> None:
    assert [name for name in TESTS + WEEKLY if not (ROOT / name).exists()] == []


def test_the_weekly_list_includes_the_short_one() -> None:
    assert [
        name
        for name in TESTS
        if not any(name == weekly or name.startswith(weekly + "/") for weekly in WEEKLY)
    ] == []
