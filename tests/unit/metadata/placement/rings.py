"""A function that builds token rings for the tests of placement."""

from __future__ import annotations

from typing import Any


def ring_of(implementation: Any, owners: list[int], host_count: int) -> Any:
    """Return a ring with the tokens 0, 10, 20 and so on.

    :param owners: for each token, the index of the host that owns the token.
    :param host_count: the number of hosts, which may be more than the owners.
    """
    tokens_by_host: list[list[str]] = [[] for _ in range(host_count)]
    for index, owner in enumerate(owners):
        tokens_by_host[owner].append(str(index * 10))
    return implementation.ring.TokenRing(tokens_by_host)
