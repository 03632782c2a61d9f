"""What people at a terminal see."""

from __future__ import annotations

import sys

import pytest

from cassandra.bulk import progress
from cassandra.bulk.progress import Progress


def test_one_line_without_tqdm(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setattr(progress, "_INTERVAL", 0.0)
    with Progress(True, "ks.t") as shown:
        shown.add(1500)
        shown.add(1)
    said = capsys.readouterr().err
    assert "\rks.t: 1,500 rows, " in said
    assert said.endswith(" a second\n")
    assert "\rks.t: 1,501 rows, " in said


def test_nothing_where_nobody_looks(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress(False) as hidden:
        hidden.add(10)
    with Progress() as unknown:  # standard error is captured here, and so no terminal
        unknown.add(10)
    assert capsys.readouterr().err == ""
