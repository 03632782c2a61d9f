"""Chooses the random number generator for objects that may be used without a cluster."""

from __future__ import annotations

import random
from typing import Any

# The module `random` has the same methods as a `random.Random` object.
_DEFAULT: Any = random


def generator_or_default(generator: random.Random | None) -> random.Random:
    """Return `generator`, or the process-wide generator if it is None.

    :param generator: a cluster's random number generator; None for an object without a cluster.
    """
    return generator if generator is not None else _DEFAULT
