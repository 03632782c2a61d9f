"""The page after the one at hand.

It is asked for once, perhaps while the page before it is read, and taken when it is wanted, even if
it has not come yet. Both faces page by it. At most one page is ahead, so that a slow reader does
not fill the memory.
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
    """A page between the loop, which completes its request, and whoever wants it, in any thread.

    :param request: the request of the page at hand.
    :param paging_state: where the next page begins; None if there is none.
    :param start: sends a request.
    :raises QueryExhausted: if there is no further page.
    """

    __slots__ = ("_lock", "_takers", "request")

    def __init__(
        self, request: Request, paging_state: bytes | None, start: Callable[[Request], object]
    ) -> None:
        if paging_state is None:
            raise QueryExhausted("there are no more pages")
        # None once the request is over.
        self._takers: list[Callable[[Request], object]] | None = []
        # Held for an instant at each end; once a page, so that its cost does not matter.
        self._lock = Lock()
        self.request = request.for_page(paging_state, self._complete)
        start(self.request)

    def _complete(self, request: Request) -> None:
        with self._lock:
            takers, self._takers = self._takers, None
        # Outside the lock: a taker may call callbacks of the program.
        for taker in takers or ():
            taker(request)

    def take(self, taker: Callable[[Request], object]) -> None:
        """Call `taker` with the request when it is over; now, if it is over already."""
        with self._lock:
            if self._takers is not None:
                self._takers.append(taker)
                return
        taker(self.request)
