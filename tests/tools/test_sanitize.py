"""Test the lists of tests in tests/sanitize.py, which run on a build with sanitizers."""

from __future__ import annotations

from pathlib import Path

from tests.sanitize import TESTS, WEEKLY

ROOT = Path(__file__).resolve().parents[2]


def test_each_listed_test_exists() -> None:
    assert [name for name in TESTS + WEEKLY if not (ROOT / name).exists()] == []


def test_the_weekly_list_includes_the_short_one() -> None:
    """Each file of the short list must be in the weekly list, by itself or in a listed folder."""

    def is_weekly(name: str) -> bool:
        return any(name == weekly or name.startswith(f"{weekly}/") for weekly in WEEKLY)

    assert [name for name in TESTS if not is_weekly(name)] == []
