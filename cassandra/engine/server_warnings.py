"""Logs the warnings that servers send with responses, for example about a large batch."""

from __future__ import annotations

from collections.abc import Iterable

from cassandra._logs import Log
from cassandra.util.intervals import OncePerKey

log = Log("cassandra.protocol")

# The same warning is logged only once in this time, because every request may cause the warning.
INTERVAL = 60.0  # seconds

# Limited to 200 warnings and 1 MiB: some warnings contain numbers, so the number of different
# warnings is unlimited.
_lines = OncePerKey(INTERVAL, 200, 1 << 20)


def log_warnings(warnings: Iterable[str]) -> None:
    """Log each warning, but the same warning at most once a minute.

    :param warnings: the warnings of a response, as the server sent them.
    """
    for text in warnings:
        missed = _lines.missed(text)
        if missed is not None:
            repeats = f" ({missed} more since it was logged last)" if missed else ""
            log.warning("Server warning: %s%s", text, repeats)
