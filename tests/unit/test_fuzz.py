"""The fuzzers run for a short time: on the whole corpus, and on mutations that are made from one
random seed.

``python tests/fuzz`` runs them for minutes.
"""

from __future__ import annotations

import random

import pytest

from cassandra._impl import twin
from tests.fuzz import __main__ as every, fuzz_bundles, fuzz_codecs, fuzz_columns, fuzz_frames

pytestmark = pytest.mark.usefixtures("compiled")
IMPLS = ["python", "c"]


@pytest.mark.slow
def test_both_implementations_agree_on_the_corpus() -> None:
    assert every.replay(IMPLS) > 100


def test_mutations_of_values_and_pages() -> None:
    """For mutated values and pages, both implementations return the same results or raise the same
    errors.
    """
    assert fuzz_codecs.fuzz(2000, 1, True)["error"] > 0
    assert fuzz_columns.fuzz(500, 1, True)["error"] > 0


def test_mutations_of_frames_messages_and_rows() -> None:
    """For mutated frames, messages and rows, both implementations agree."""
    source = random.Random(1)
    assert fuzz_frames.run_frames([twin("frame", impl) for impl in IMPLS], 300, source) == 300
    assert fuzz_frames.run_messages(1000, source) == 1000
    assert fuzz_frames.run_rows(IMPLS, 500, source) == 500


def test_mutations_of_bundles_and_answers() -> None:
    seen = fuzz_bundles.fuzz(400, 1)
    assert seen["read"] > 0
    assert seen["refused"] > 0
