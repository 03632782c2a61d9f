"""Token rings for tests."""

from __future__ import annotations

from typing import Any


def ring_of(twins: Any, owners: list[int], hosts: int) -> Any:
    """Return a ring whose tokens are 0, 10, 20, ... with these owners."""
    texts: list[list[str]] = [[] for _ in range(hosts)]
    for index, owner in enumerate(owners):
        texts[owner].append(str(index * 10))
    return twins.ring.TokenRing(texts)
