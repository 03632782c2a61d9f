"""Test the findings that ``python -m cassandra.doctor`` reports."""

from __future__ import annotations

import dataclasses

import pytest

from cassandra.doctor.findings import (
    NOTE,
    OK,
    PROBLEM,
    WARNING,
    Finding,
    all_named,
    counted,
    finding,
)


def test_a_finding_has_its_text_in_one_line() -> None:
    result = finding(WARNING, "clock", "  it is\n   late ", "set it\nnow")
    assert result == Finding("warning", "clock", "it is late", "set it\nnow")
    assert finding(OK, "clock", "fine").do == ""
    assert len({OK, NOTE, WARNING, PROBLEM}) == 4
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.level = OK  # type: ignore[misc]


@pytest.mark.parametrize(
    ("names", "clause"),
    [
        ([], "there are no keyspaces"),
        (["a"], "the only keyspace is 'a'"),
        (["b", "a"], "the keyspaces are 'a', 'b'"),
        (["c", "b", "a"], "the keyspaces are 'a', 'b' and 1 other"),
        (["d", "c", "b", "a"], "the keyspaces are 'a', 'b' and 2 others"),
    ],
)
def test_a_clause_of_names_fits_their_number(names: list[str], clause: str) -> None:
    assert all_named("keyspace", names, 2) == clause


def test_a_noun_fits_its_number() -> None:
    assert [counted(number, "node") for number in range(3)] == ["0 nodes", "1 node", "2 nodes"]
