"""`NextPage`: the request for the next page of a result, for both APIs.

The request may be sent while the application still reads the current page. At most one page is
requested ahead, so that a slow reader does not fill the memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from cassandra._threads import Lock
from cassandra.errors import QueryExhausted

if TYPE_CHECKING:
    from cassandra.engine.request import Request


class NextPage:
    """The request for the next page, which `start` sends.

    The loop completes the request. Consumers in any thread may wait for the request, even if it is
    complete already.

    :param request: the request of the current page.
    :param paging_state: the paging state in the response to `request`; None if there is no further
        page.
    :param start_request: `start` calls this with the request; it must start the request.
    :raises QueryExhausted: if `paging_state` is None.
    """

    __slots__ = ("_callbacks", "_lock", "_start_request", "readers", "request")

    def __init__(
        self,
        request: Request,
        paging_state: bytes | None,
        start_request: Callable[[Request], object],
    ) -> None:
        if paging_state is None:
            raise QueryExhausted("there are no more pages")
        # The functions to call when the request is over; None if it is over already.
        self._callbacks: list[Callable[[Request], object]] | None = []
        # Protects `_callbacks`, because `_complete` and `add_callback` may run in different
        # threads.
        self._lock = Lock()
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
        with self._lock:
            callbacks, self._callbacks = self._callbacks, None
        # Call these functions without holding the lock, because they may call user code.
        for callback in callbacks or ():
            callback(request)

    def add_callback(self, callback: Callable[[Request], object]) -> None:
        """Call `callback` with the request when the request is over, or at once if it is over."""
        with self._lock:
            if self._callbacks is not None:
                self._callbacks.append(callback)
                return
        callback(self.request)

    def remove_callback(self, callback: Callable[[Request], object]) -> bool:
        """Undo `add_callback`, because the consumer has stopped waiting.

        :returns: True if the request is not over, and no other callback waits for it.
        """
        with self._lock:
            if self._callbacks is None:
                return False
            self._callbacks.remove(callback)
            return not self._callbacks
