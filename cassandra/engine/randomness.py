"""The source of random numbers of parts that may stand alone."""

from __future__ import annotations

import random
from typing import Any

__all__ = ["own_or_process"]


def own_or_process(own: random.Random | None) -> Any:
    """Return a cluster's source of random numbers, or that of the process.

    :param own: the cluster's; None for a part that belongs to no cluster.
    """
    return own if own is not None else random
