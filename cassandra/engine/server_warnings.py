"""Server warnings in the log: a batch that is too large, an aggregation without a partition key."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from cassandra._bounded import Bounded
from cassandra.util.intervals import OncePerInterval

__all__ = ["INTERVAL", "log_warnings"]

log = logging.getLogger("cassandra.protocol")

# Seconds until a warning of the same text is logged again: a program may cause one with each
# request.
INTERVAL = 60.0

# Texts that are remembered, and the bytes that they take: some have numbers in them, and so there
# is no end of them.
_due: Bounded[str, OncePerInterval] = Bounded(200, 1 << 20)


def log_warnings(warnings: Iterable[str]) -> None:
    """Log each warning of an answer, but the same text only once a minute.

    :param warnings: the texts, as the server sent them.
    """
    for text in warnings:
        interval = _due.get(text) or _due.keep(text, OncePerInterval(INTERVAL), len(text))
        missed = interval.missed
        if interval.is_due():
            again = f" ({missed} more since it was logged last)" if missed else ""
            log.warning("Server warning: %s%s", text, again)
