"""The lane with sanitizers names existing tests."""

from __future__ import annotations

from pathlib import Path

from tests.sanitize import TESTS, WEEKLY

ROOT = Path(__file__).resolve().parents[2]


def test_the_named_tests_exist() -> None:
    assert [name for name in TESTS + WEEKLY if not (ROOT / name).exists()] == []


def test_the_weekly_form_has_all_of_the_short_one() -> None:
    assert [
        name
        for name in TESTS
        if not any(name == weekly or name.startswith(weekly + "/") for weekly in WEEKLY)
    ] == []
