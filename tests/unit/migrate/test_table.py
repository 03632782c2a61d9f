"""The table of differences: each that a source can show is found in a program, and in no other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cassandra.migrate import names
from cassandra.migrate.table import BY_KEY, DIFFERENCES
from cassandra.migrate.table_source import COMPILED
from tests.unit.migrate.programs import CASES, CLEAN, checked


def test_keys_are_unique_and_texts_are_sentences() -> None:
    assert len(BY_KEY) == len(DIFFERENCES)
    for one in DIFFERENCES:
        assert one.what.endswith("."), one.key
        assert one.why.endswith("."), one.key
        assert not one.do or one.do.endswith("."), one.key
        assert one.do or not one.matchers, f"{one.key}: a finding says what to do"


def test_each_difference_that_a_source_can_show_has_a_program() -> None:
    shown = {one.key for one in DIFFERENCES if one.matchers}
    assert {key for key, _, _ in CASES} == shown


@pytest.mark.parametrize(("key", "text", "expected"), CASES, ids=lambda one: str(one)[:40])
def test_a_difference_is_found(key: str, text: str, expected: list[str], tmp_path: Path) -> None:
    report = checked(tmp_path, text)
    assert not report.unread
    found = [f"{one.severity} {one.code}" for one in report.findings]
    assert found == expected
    assert {one.difference.key for one in report.findings} == {key}


def test_each_matcher_is_met_by_a_program(tmp_path: Path) -> None:
    severities = {
        (key, finding.partition(" ")[0]) for key, _, expected in CASES for finding in expected
    }
    for one in DIFFERENCES:
        for matcher in one.matchers:
            assert (one.key, matcher.severity) in severities, (one.key, matcher)


def test_a_program_without_differences_has_no_finding(tmp_path: Path) -> None:
    report = checked(tmp_path, CLEAN)
    assert not report.unread
    assert [(one.line, one.code) for one in report.findings] == []


def test_compiled_parts_are_missing() -> None:
    assert [name for name in COMPILED if names.is_there(name) is not False] == []


def test_no_name_that_other_drivers_document_is_reported(tmp_path: Path) -> None:
    lines = []
    for line in (Path(__file__).parents[1] / "drop_in" / "names.txt").read_text().splitlines():
        if line.startswith("["):
            module = line.strip("[]")
        elif found := re.match(r"[A-Za-z]\w*", line):
            lines.append(f"from {module} import {found[0]}\n")
    report = checked(tmp_path, "".join(lines))
    assert len(lines) > 900
    assert {(one.severity, one.difference.key) for one in report.findings} <= {
        ("note", "enterprise")
    }
