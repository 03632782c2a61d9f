"""The check finds each difference in its example programs, and in no other programs.

Only the differences that source code can show have example programs.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cassandra.migrate import names
from cassandra.migrate.table import BY_KEY, DIFFERENCES
from cassandra.migrate.table_source import COMPILED
from tests.unit.migrate.programs import CASES, CLEAN, checked


def test_keys_are_unique_and_texts_are_sentences() -> None:
    """Each difference has its own key, and its texts are sentences.

    A difference with matchers can cause findings, so it must say what to do (`do`).
    """
    assert len(BY_KEY) == len(DIFFERENCES)
    for difference in DIFFERENCES:
        assert difference.what.endswith("."), difference.key
        assert difference.why.endswith("."), difference.key
        assert not difference.do or difference.do.endswith("."), difference.key
        assert difference.do or not difference.matchers, (
            f"{difference.key}: a finding says what to do"
        )


def test_each_difference_that_a_source_can_show_has_a_program() -> None:
    keys = {difference.key for difference in DIFFERENCES if difference.matchers}
    assert {key for key, _, _ in CASES} == keys


@pytest.mark.parametrize(
    ("key", "text", "expected"), CASES, ids=lambda parameter: str(parameter)[:40]
)
def test_a_difference_is_found(key: str, text: str, expected: list[str], tmp_path: Path) -> None:
    report = checked(tmp_path, text)
    assert not report.unread
    findings = [f"{finding.severity} {finding.code}" for finding in report.findings]
    assert findings == expected
    assert {finding.difference.key for finding in report.findings} == {key}


def test_each_matcher_has_a_program_with_its_severity(tmp_path: Path) -> None:
    severities = {
        (key, finding.partition(" ")[0]) for key, _, expected in CASES for finding in expected
    }
    for difference in DIFFERENCES:
        for matcher in difference.matchers:
            assert (difference.key, matcher.severity) in severities, (difference.key, matcher)


def test_a_program_without_differences_has_no_finding(tmp_path: Path) -> None:
    report = checked(tmp_path, CLEAN)
    assert not report.unread
    assert [(finding.line, finding.code) for finding in report.findings] == []


def test_compiled_parts_are_missing() -> None:
    assert [name for name in COMPILED if names.is_there(name) is not False] == []


def test_no_name_that_other_drivers_document_is_reported(tmp_path: Path) -> None:
    imports = []
    for line in (Path(__file__).parents[1] / "drop_in" / "names.txt").read_text().splitlines():
        if line.startswith("["):
            module = line.strip("[]")
        elif match := re.match(r"[A-Za-z]\w*", line):
            imports.append(f"from {module} import {match[0]}\n")
    report = checked(tmp_path, "".join(imports))
    # An empty list would pass the test, so check its length.
    assert len(imports) > 900
    assert {(finding.severity, finding.difference.key) for finding in report.findings} <= {
        ("note", "enterprise")
    }
