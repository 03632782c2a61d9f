"""One page ahead: a page that is asked for while the one before it is read, and taken when it is
wanted.

Both faces page alike: at most one page is ahead, it is asked for once, and the first caller that
wants the next page takes it, even if it has not come yet. On asyncio a future of the request is all
that this needs; between threads it is a `PageAhead`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from cassandra._threads import Lock

if TYPE_CHECKING:
    from cassandra.engine.request import Request

__all__ = ["PageAhead"]


class PageAhead:
    """A page's request between the loop, which completes it, and the thread that will want it."""

    __slots__ = ("_lock", "_over", "_taker", "request")

    def __init__(self) -> None:
        self.request: Request | None = None
        """The request, set before it is started."""
        self._over = False
        self._taker: Callable[[Request], None] | None = None
        # Held for an instant at each end; once a page, so that its cost does not matter.
        self._lock = Lock()

    def complete(self, request: Request) -> None:
        """Hand the page to the one that has taken it, or keep it. Called by the engine."""
        with self._lock:
            self._over = True
            taker = self._taker
        # Outside the lock: the taker may call callbacks of the program.
        if taker is not None:
            taker(request)

    def take(self, taker: Callable[[Request], None]) -> None:
        """Call `taker` with the request when it is over; now, if it is over already."""
        with self._lock:
            self._taker = taker
            over = self._over
        if over:
            assert self.request is not None
            taker(self.request)
