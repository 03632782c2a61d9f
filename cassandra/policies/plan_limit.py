"""The limit of query plans, because the plan of an application's policy may be endless."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

T = TypeVar("T")

# At most this many hosts of a query plan are tried or looked at. No cluster has so many.
LONGEST_PLAN = 10_000


def limited(plan: Iterable[T]) -> Iterator[T]:
    """Return the hosts of a query plan, up to LONGEST_PLAN.

    A policy that leaves out hosts of another policy's plan must use this: if it left out all hosts
    of an endless plan, the event loop could do nothing else.
    """
    return islice(plan, LONGEST_PLAN)
