"""The source of random numbers of a part of the engine."""

from __future__ import annotations

import random

from cassandra.engine.randomness import own_or_process


def test_a_cluster_uses_its_own_source() -> None:
    source = random.Random(7)
    assert own_or_process(source) is source


def test_a_part_without_a_cluster_uses_that_of_the_process() -> None:
    random.seed(7)
    expected = random.random()
    random.seed(7)
    assert own_or_process(None).random() == expected
