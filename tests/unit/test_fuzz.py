"""Tests that run the fuzzers for a short time, on the corpus and on mutations of one seed.

``python tests/fuzz`` runs them for minutes.
"""

from __future__ import annotations

import random

import pytest

from cassandra._impl import twin
from tests.fuzz import __main__ as every, fuzz_bundles, fuzz_codecs, fuzz_columns, fuzz_frames

pytestmark = pytest.mark.usefixtures("compiled")
IMPLEMENTATIONS = ["python", "c"]


@pytest.mark.slow
def test_both_implementations_agree_on_the_corpus() -> None:
    assert every.replay(IMPLEMENTATIONS) > 100


def test_mutations_of_values_and_pages() -> None:
    """For mutated values and pages, both implementations must agree.

    They return the same results or raise the same errors.
    """
    assert fuzz_codecs.fuzz(2000, 1, True)["error"] > 0
    assert fuzz_columns.fuzz(500, 1, True)["error"] > 0


def test_mutations_of_frames_messages_and_rows() -> None:
    """For mutated frames, messages and rows, both implementations must agree."""
    random_source = random.Random(1)
    frame_modules = [twin("frame", implementation) for implementation in IMPLEMENTATIONS]
    # Each function returns how many mutations it has checked.
    assert fuzz_frames.run_frames(frame_modules, 300, random_source) == 300
    assert fuzz_frames.run_messages(1000, random_source) == 1000
    assert fuzz_frames.run_rows(IMPLEMENTATIONS, 500, random_source) == 500


def test_mutations_of_bundles_and_answers() -> None:
    """Some mutations of bundles must still be read, and others be refused."""
    outcomes = fuzz_bundles.fuzz(400, 1)
    assert outcomes["read"] > 0
    assert outcomes["refused"] > 0
