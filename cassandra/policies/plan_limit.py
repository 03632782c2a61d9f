"""The maximum length of query plans, because the plan of an application's policy may be endless."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

T = TypeVar("T")

# At most this many hosts of a query plan are tried or examined. No cluster has so many hosts.
LONGEST_PLAN = 10_000


def limited(plan: Iterable[T]) -> Iterator[T]:
    """Return the hosts of a query plan, but at most LONGEST_PLAN hosts.

    A policy that leaves out hosts of another policy's plan must use this function. If that plan is
    endless, and all its hosts are left out, the policy would otherwise search forever, and block
    the event loop.
    """
    return islice(plan, LONGEST_PLAN)
