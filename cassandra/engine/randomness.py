"""The random number generator of parts that can be used without a cluster."""

from __future__ import annotations

import random
from typing import Any

__all__ = ["generator_or_default"]


def generator_or_default(generator: random.Random | None) -> Any:
    """Return a cluster's random number generator, or the process-wide generator.

    :param generator: the cluster's generator; None for a part that belongs to no cluster.
    """
    return generator if generator is not None else random
