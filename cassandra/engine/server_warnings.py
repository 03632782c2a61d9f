"""Logs server warnings: a batch that is too large, an aggregation without a partition key."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from cassandra._bounded import Bounded
from cassandra.util.intervals import OncePerInterval

__all__ = ["INTERVAL", "log_warnings"]

log = logging.getLogger("cassandra.protocol")

# Seconds until the same warning is logged again: every request may cause it.
INTERVAL = 60.0

# At most this many warnings and bytes are remembered: some contain numbers, so there is no end of
# different ones.
_due: Bounded[str, OncePerInterval] = Bounded(200, 1 << 20)


def log_warnings(warnings: Iterable[str]) -> None:
    """Log each warning of an answer, but the same text at most once a minute.

    :param warnings: the warnings as the server sent them.
    """
    for text in warnings:
        interval = _due.get(text) or _due.keep(text, OncePerInterval(INTERVAL), len(text))
        missed = interval.missed
        if interval.is_due():
            repeats = f" ({missed} more since it was logged last)" if missed else ""
            log.warning("Server warning: %s%s", text, repeats)
