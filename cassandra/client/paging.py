"""The next page of a result.

Its request is sent once, perhaps while the current page is still being read. The page can be taken
at any time, even before it has come. Both APIs use this class. At most one page is fetched ahead,
so that a slow reader does not fill the memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from cassandra._threads import Lock
from cassandra.errors import QueryExhausted

if TYPE_CHECKING:
    from cassandra.engine.request import Request

__all__ = ["NextPage"]


class NextPage:
    """A page between the loop, which completes its request, and its consumer in any thread.

    :param request: the request of the current page.
    :param paging_state: where the next page begins; None if there is no next page.
    :param start: sends a request.
    :raises QueryExhausted: if there is no next page.
    """

    __slots__ = ("_lock", "_takers", "request")

    def __init__(
        self, request: Request, paging_state: bytes | None, start: Callable[[Request], object]
    ) -> None:
        if paging_state is None:
            raise QueryExhausted("there are no more pages")
        # Becomes None when the request is over.
        self._takers: list[Callable[[Request], object]] | None = []
        # Held only for an instant, once per page, so that its cost does not matter.
        self._lock = Lock()
        self.request = request.for_page(paging_state, self._complete)
        start(self.request)

    def _complete(self, request: Request) -> None:
        with self._lock:
            takers, self._takers = self._takers, None
        # Call them without the lock: they may run callbacks of the application.
        for taker in takers or ():
            taker(request)

    def take(self, taker: Callable[[Request], object]) -> None:
        """Call `taker` with the request when it is over; at once if it is over already."""
        with self._lock:
            if self._takers is not None:
                self._takers.append(taker)
                return
        taker(self.request)
