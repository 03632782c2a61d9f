"""`generator_or_default`, which returns the random number generator of a cluster."""

from __future__ import annotations

import random

from cassandra.engine.randomness import generator_or_default


def test_a_given_generator_is_used() -> None:
    source = random.Random(7)
    assert generator_or_default(source) is source


def test_without_a_generator_the_random_module_is_used() -> None:
    """With None, numbers come from the module `random`, whose seed the application may set."""
    random.seed(7)
    expected = random.random()
    random.seed(7)
    assert generator_or_default(None).random() == expected
