"""Logs that an application has read only the first page of a result.

A callback gets the rows of one page. `ResultSet._current_rows`, which applications read to get the
data frame of a row factory, also has the rows of one page. If the application does not request the
next page, it would otherwise never notice that there are more rows.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from cassandra._imports import Deferred
from cassandra._logs import Log
from cassandra.cluster.unread_errors import Unread, shown_statement

if TYPE_CHECKING:
    from cassandra.util import intervals
else:
    intervals = Deferred("cassandra.util.intervals")

log = Log("cassandra.cluster")

# The same statement is logged only once in this interval, because applications usually execute a
# statement many times.
INTERVAL = 60.0  # seconds


@functools.cache
def _lines() -> intervals.OncePerKey:
    """Return the object that allows one log line per INTERVAL for each statement."""
    return intervals.OncePerKey(INTERVAL, 50, 50 * 1000)


class UnreadPages(Unread):
    """Logs that further pages were never requested, when it is deleted without `is_read` being set.

    Only a future or result whose current page is not the last page has such an object.

    :param query: the statement or CQL string of the execution.
    :param advice: says what was read, and how to read the further pages.
    """

    __slots__ = ("_advice", "_query")

    def __init__(self, query: Any, advice: str) -> None:
        super().__init__()
        self._query = query
        self._advice = advice

    def log(self) -> None:
        """Log the advice, unless the same statement was logged within INTERVAL seconds."""
        _log(self._query, self._advice)


# Used instead of a new `UnreadPages` if the application already knows that there are further pages.
# This object logs nothing, because its `is_read` is True.
KNOWN_PAGES = UnreadPages(None, "")
KNOWN_PAGES.is_read = True


def unread_by_callbacks(query: Any, rows: Any) -> UnreadPages:
    """Return the `UnreadPages` of a future whose callbacks have got the rows of one page.

    :param query: the statement or CQL string.
    :param rows: the rows of the page: a list, or the row factory's result.
    """
    rows_of_page = f"{len(rows)} rows" if isinstance(rows, list) else "the rows of one page"
    return UnreadPages(
        query,
        f"callbacks got {rows_of_page}, and nobody has asked for the further pages: call "
        "start_fetching_next_page() of the future in the callback while has_more_pages is true",
    )


def unread_by_attribute(query: Any) -> UnreadPages:
    """Return the `UnreadPages` of a result whose attribute `_current_rows` was read.

    :param query: the statement or CQL string.
    """
    return UnreadPages(
        query,
        "_current_rows of a result has the rows of one page, and nobody has asked for the further "
        "pages: write result.to_pandas(), or fetch_next_page() while has_more_pages is true, or "
        "set session.default_fetch_size = None",
    )


def _log(query: Any, advice: str) -> None:
    """Log that pages were not read, unless the statement was logged in the last INTERVAL."""
    name = shown_statement(query)
    missed = _lines().missed(str(name))
    if missed is None:
        return
    repeats = f" ({missed} more since the last of these lines)" if missed else ""
    log.warning("%s. The statement was %s%s", advice, name, repeats)
