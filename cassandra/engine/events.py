"""Events with which user threads wait for answers. `cassandra.engine.happy_path` exports these
classes, and has a twin in Cython.

A thread that is woken needs the GIL (the interpreter's lock) at once. If the loop's thread still
holds it, the woken thread goes back to sleep and must be woken a second time, which takes longer
than the rest of a request. So the loop first handles all answers that have come, and wakes threads
last. The compiled twins also release the GIL before they wake threads.
"""

from __future__ import annotations

from collections import deque

from cassandra._threads import GreenEvent, Lock


class Event:
    """An event that is set once, and wakes all threads that wait for it."""

    __slots__ = ("_is_set", "_lock")

    def __init__(self) -> None:
        self._is_set = False
        # The lock is held from the start, and `set` releases it; any thread may do that. A thread
        # that waits for the event waits for the lock.
        self._lock = Lock()
        self._lock.acquire()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until the event is set, at most `seconds`; return False after a timeout."""
        if not self._lock.acquire(timeout=-1 if seconds is None else seconds):
            return False
        # This thread has got the lock and does not need it: release it, to wake the next waiting
        # thread.
        self._release()
        return True

    def set(self) -> None:
        """Wake all waiting threads; repeated calls do nothing."""
        if not self._is_set:
            self._is_set = True
            self._release()

    def _release(self) -> None:
        # In free-threaded Python, two threads may release the lock at the same moment. The second
        # one gets an error, which can be ignored: the lock is released.
        try:
            self._lock.release()
        except RuntimeError:
            pass

    def set_soon(self) -> None:
        """Set the event. The compiled twin keeps the GIL, so that the caller's next step runs
        before the woken thread.
        """
        self.set()


class WakeQueue:
    """Collects events while the loop handles answers, and sets them at the end.

    A queue belongs to one loop. Other threads use it only for requests that fail because the loop
    is closed.
    """

    __slots__ = ("_events", "is_gathering")

    def __init__(self) -> None:
        self.is_gathering = False
        self._events: deque[Event] = deque()

    def set(self, event: Event | GreenEvent) -> None:
        """Set `event` now, or in `wake` if the loop is gathering events."""
        if not self.is_gathering or type(event) is not Event:  # set greenlets' events now
            event.set()
            return
        self._events.append(event)
        self._recheck()

    def _recheck(self) -> None:
        # This matters if another thread than the loop's has appended the event: if the loop has
        # just called `wake`, nobody would set the event, so set it here.
        if not self.is_gathering:
            self.wake()

    def wake(self) -> None:
        """Set all events that were collected, and stop collecting."""
        self.is_gathering = False
        events = self._events
        while events:
            try:
                event = events.popleft()
            except IndexError:  # another thread has taken the last event
                return
            event.set()
