"""Events with which user threads wait for responses.

Use the classes that `cassandra.engine.happy_path` exports: the compiled Cython versions if they are
in use, else these.

A woken thread needs the GIL (the interpreter's lock) at once. If the loop's thread still holds the
GIL, the woken thread goes back to sleep and must be woken a second time, which takes longer than
the rest of a request. So the loop first handles all responses that have come, and wakes threads
last. The compiled versions also release the GIL before they wake threads.
"""

from __future__ import annotations

from collections import deque

from cassandra._threads import GreenEvent, Lock


class Event:
    """An event that is set once, and wakes all threads that wait for it."""

    __slots__ = ("_is_set", "_lock")

    def __init__(self) -> None:
        self._is_set = False
        # The lock is held from the start. `set` releases the lock, from any thread; `wait` acquires
        # it.
        self._lock = Lock()
        self._lock.acquire()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until the event is set, at most `seconds`; return False after a timeout."""
        try:
            return self._lock.acquire(timeout=-1 if seconds is None else seconds)
        finally:
            # This thread does not need the lock: release it, so that the next waiting thread wakes.
            # Do that also after an exception: a signal handler may raise one when this thread has
            # the lock. Call nothing before `release`, because the handler may run after each call.
            if self._is_set:
                try:
                    self._lock.release()
                except RuntimeError:  # it is released already: see `_release`
                    pass

    def set(self) -> None:
        """Wake all waiting threads; repeated calls do nothing."""
        if not self._is_set:
            self._is_set = True
            self._release()

    def _release(self) -> None:
        # In free-threaded Python, two threads may release the lock at the same moment. The second
        # thread gets an error, which we ignore because the lock is released already.
        try:
            self._lock.release()
        except RuntimeError:
            pass

    def set_soon(self) -> None:
        """Set the event, but let the caller's next step run before the woken thread.

        Only the compiled version can hold back the woken thread, because it keeps the GIL. This
        pure Python version just calls `set`.
        """
        self.set()


class WakeQueue:
    """Collects events while the loop handles responses, and sets them all afterwards.

    A queue belongs to one loop. Other threads use it only for requests that fail because the loop
    is closed.
    """

    __slots__ = ("_events", "is_gathering")

    def __init__(self) -> None:
        self.is_gathering = False
        self._events: deque[Event] = deque()

    def set(self, event: Event | GreenEvent) -> None:
        """Set `event` now, or in `wake` if the loop is gathering events."""
        if not self.is_gathering or type(event) is not Event:  # a greenlet's event is set at once
            event.set()
            return
        self._events.append(event)
        self._recheck()

    def _recheck(self) -> None:
        # If a thread other than the loop's has appended the event, the loop may just have finished
        # `wake`. Nobody else would then set the event, so set it here.
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
