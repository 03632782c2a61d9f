"""Parts of the engine take random numbers from a given source."""

from __future__ import annotations

import random

from cassandra.engine.randomness import generator_or_default


def test_a_cluster_uses_its_own_source() -> None:
    source = random.Random(7)
    assert generator_or_default(source) is source


def test_a_part_without_a_cluster_uses_that_of_the_process() -> None:
    random.seed(7)
    expected = random.random()
    random.seed(7)
    assert generator_or_default(None).random() == expected
