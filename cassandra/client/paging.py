"""`NextPage`: the request for the next page of a result, for both APIs.

The request may be sent while the application still reads the current page. At most one page is
requested ahead, so that a slow reader does not fill the memory.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from cassandra.errors import QueryExhausted

if TYPE_CHECKING:
    from cassandra.engine.request import Request


class NextPage:
    """The request for the next page, which `start` sends.

    The loop completes the request. Any thread may wait for the request by `add_callback`, also
    after the request is complete. There is no lock: a signal handler may execute a request while
    the thread that it interrupts holds a lock, and the loop must not wait for that thread.

    :param request: the request of the current page.
    :param paging_state: the paging state in the response to `request`; None if there is no further
        page.
    :param start_request: `start` calls this with the request; it must start the request.
    :raises QueryExhausted: if `paging_state` is None.
    """

    __slots__ = ("_callbacks", "_is_over", "_start_request", "readers", "request")

    def __init__(
        self,
        request: Request,
        paging_state: bytes | None,
        start_request: Callable[[Request], object],
    ) -> None:
        if paging_state is None:
            raise QueryExhausted("there are no more pages")
        # The functions to call when the request is over. `add_callback` appends a function and then
        # reads `_is_over`. `_complete` sets `_is_over` and then calls the functions in the queue.
        # So a function is called even if two threads run these methods at the same time. It is
        # called only once, because only one thread can take it out of the queue.
        self._callbacks: deque[Callable[[Request], object]] = deque()
        self._is_over = False
        # The number of asynchronous iterations that have read the current page and wait for the
        # next page.
        self.readers = 0
        self.request = request.for_page(paging_state, self._complete)
        self._start_request = start_request

    def start(self) -> None:
        """Send the request. The caller must not hold a lock, because this may call user code.

        If the engine is closed, the request fails at once, and the application's observers are
        notified in this call.
        """
        self._start_request(self.request)

    def _complete(self, request: Request) -> None:
        self._is_over = True
        self._call_all()

    def _call_all(self) -> None:
        while True:
            try:
                callback = self._callbacks.popleft()
            except IndexError:  # no callback is left: another thread may have taken the last
                return
            callback(self.request)

    def add_callback(self, callback: Callable[[Request], object]) -> None:
        """Call `callback` with the request when the request is over, or at once if it is over."""
        self._callbacks.append(callback)
        if self._is_over:
            self._call_all()

    def remove_callback(self, callback: Callable[[Request], object]) -> bool:
        """Undo `add_callback`, because the consumer has stopped waiting.

        :returns: True if the request is not over, and no other callback waits for it.
        """
        if self._is_over:
            return False
        try:
            self._callbacks.remove(callback)
        except (ValueError, IndexError):  # the request has just ended: its callbacks are called
            return False
        return not self._callbacks and not self._is_over
