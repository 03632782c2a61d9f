"""The findings that ``python -m cassandra.doctor`` reports."""

from __future__ import annotations

import dataclasses

import pytest

from cassandra.doctor.findings import NOTE, OK, PROBLEM, WARNING, Finding, finding


def test_a_finding_has_its_text_in_one_line() -> None:
    result = finding(WARNING, "clock", "  it is\n   late ", "set it\nnow")
    assert result == Finding("warning", "clock", "it is late", "set it\nnow")
    assert finding(OK, "clock", "fine").do == ""
    assert len({OK, NOTE, WARNING, PROBLEM}) == 4
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.level = OK  # type: ignore[misc]
