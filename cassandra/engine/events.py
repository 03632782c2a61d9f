"""Events on which user threads wait for answers: the Python twins of the compiled classes.

They belong to the happy path in `cassandra.engine.happy_path`, which exports the names.

A thread that is woken needs the GIL at once. If the loop still holds it, the thread goes back to
sleep and must be woken a second time, which costs more than the rest of a request. So the loop
wakes threads last, after it has handled all answers that have come. The compiled twins also release
the GIL before they wake threads.
"""

from __future__ import annotations

from collections import deque

from cassandra._threads import GreenEvent, Lock

__all__ = ["Event", "WakeQueue"]


class Event:
    """An event that is set once, and wakes all threads that wait for it."""

    __slots__ = ("_is_set", "_lock")

    def __init__(self) -> None:
        self._is_set = False
        # Held until `set`, but not owned by a thread: any thread may release it.
        self._lock = Lock()
        self._lock.acquire()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until the event is set, at most `seconds`; return False after a timeout."""
        if not self._lock.acquire(timeout=-1 if seconds is None else seconds):
            return False
        # Each woken thread wakes the next.
        self._release()
        return True

    def set(self) -> None:
        """Wake all waiting threads; repeated calls do nothing."""
        if not self._is_set:
            self._is_set = True
            self._release()

    def _release(self) -> None:
        # Without the GIL two threads may release the lock at the same moment. The second finds it
        # released already, which is all we want.
        try:
            self._lock.release()
        except RuntimeError:
            pass

    def set_soon(self) -> None:
        """Set the event; the compiled twin keeps the GIL meanwhile, for the caller's next step."""
        self.set()


class WakeQueue:
    """Collects events while the loop handles answers, and sets them at the end.

    A queue belongs to one loop. Other threads only set events of requests that a closed loop has
    refused.
    """

    __slots__ = ("_events", "is_gathering")

    def __init__(self) -> None:
        self.is_gathering = False
        self._events: deque[Event] = deque()

    def set(self, event: Event | GreenEvent) -> None:
        """Set `event` now, or in `wake` if the loop is gathering events."""
        if not self.is_gathering or type(event) is not Event:  # events of greenlets are set at once
            event.set()
            return
        self._events.append(event)
        self._recheck()

    def _recheck(self) -> None:
        # If another thread calls this, the loop may just have set the other events.
        if not self.is_gathering:
            self.wake()

    def wake(self) -> None:
        """Set all events; from now on, events are set at once."""
        self.is_gathering = False
        events = self._events
        while events:
            try:
                event = events.popleft()
            except IndexError:  # another thread was quicker
                return
            event.set()
