"""Tests that each documented difference from other drivers has an entry with a reason and a test.

The page that is generated from the documented differences must be up to date.
"""

from __future__ import annotations

from cassandra.migrate.table import BY_KEY, DIFFERENCES
from tests.differential.defended import DEFENDED
from tests.differential.page import PAGE, table
from tests.programs.environments import ROOT


def test_each_entry_has_a_reason_and_a_program_or_test() -> None:
    for entry in DEFENDED:
        assert entry.what.endswith("."), entry
        assert entry.why.endswith("."), entry
        assert entry.seen or entry.test, entry


def test_the_page_of_differences_is_up_to_date() -> None:
    assert PAGE.read_text() == table(DIFFERENCES), "run: python -m tests.differential.page"
    assert f".. include:: {PAGE.name}" in (PAGE.parent / "upgrading.rst").read_text()


def test_each_documented_difference_has_an_entry() -> None:
    assert sorted(entry.key for entry in DEFENDED if entry.key) == sorted(BY_KEY)


def test_tests_of_entries_exist() -> None:
    for entry in DEFENDED:
        assert not entry.test or (ROOT / entry.test).exists(), entry.test
