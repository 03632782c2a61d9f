"""Findings of the doctor."""

from __future__ import annotations

import dataclasses

import pytest

from cassandra.doctor.findings import NOTE, OK, PROBLEM, WARNING, Finding, found


def test_a_finding_has_its_text_in_one_line() -> None:
    finding = found(WARNING, "clock", "  it is\n   late ", "set it\nnow")
    assert finding == Finding("warning", "clock", "it is late", "set it\nnow")
    assert found(OK, "clock", "fine").do == ""
    assert len({OK, NOTE, WARNING, PROBLEM}) == 4
    with pytest.raises(dataclasses.FrozenInstanceError):
        finding.level = OK  # type: ignore[misc]
