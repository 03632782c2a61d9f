"""Test the functions of `tests.fuzz.kept`, which keep the corpus of the fuzzers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz import kept


def test_the_corpus_keeps_one_input_per_kind_of_outcome_and_no_line_twice(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The corpus must keep one input for each kind of outcome, and no line twice.

    The corpus is a folder with one file for each fuzzer. Each line of a file has the setting of the
    fuzzer and an input.
    """
    monkeypatch.setattr(kept, "CORPUS", tmp_path)
    # The outcomes of the first three inputs differ only in numbers and quoted text. They count as
    # one kind, so only one of the inputs must be kept.
    shapes = kept.Shapes("part", grow=True)
    for number in range(3):
        shapes.see(f"{number} bytes left of 'x{number}'", bytes([number]), 8)
    # The first input is in the corpus already, so `keep` must not add its line again.
    kept.keep("part", 8, "00")
    kept.keep("part", 9, "01")
    assert kept.lines("part") == [["8", "00"], ["9", "01"]]


def test_the_numbers_of_inputs_end_after_a_count_or_after_seconds() -> None:
    assert [*kept.numbers(3, None)] == [0, 1, 2]
    assert [*kept.numbers(3, 0.0)] == []
