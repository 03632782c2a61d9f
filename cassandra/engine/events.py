"""Events, at which threads of the program wait for answers: twins of the compiled classes.

They belong to the happy path in `cassandra.engine.happy_path`, which hands the names on.

A thread that is woken wants the interpreter's lock at once. If the loop still has it, the thread
goes to sleep again, and has to be woken a second time: that costs more than all else of a request.
So the loop wakes threads last, when it has looked at all answers that have come. The compiled twins
also let go of the interpreter's lock before they wake them.
"""

from __future__ import annotations

from collections import deque

from cassandra._threads import GreenEvent, Lock

__all__ = ["Event", "WakeQueue"]


class Event:
    """Is set once, for all threads that wait at it."""

    __slots__ = ("_is_set", "_lock")

    def __init__(self) -> None:
        self._is_set = False
        # Held until `set`, by no thread in particular: any thread may release it.
        self._lock = Lock()
        self._lock.acquire()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until it is set, at most `seconds`; return False if it is not."""
        if not self._lock.acquire(timeout=-1 if seconds is None else seconds):
            return False
        # Each thread hands it on to the next one.
        self._release()
        return True

    def set(self) -> None:
        """Let all threads go on; a second call does nothing."""
        if not self._is_set:
            self._is_set = True
            self._release()

    def _release(self) -> None:
        # Without the GIL two threads may set it at the same moment, and one of them, or the thread
        # that waited, finds the lock released already: it is what all of them want.
        try:
            self._lock.release()
        except RuntimeError:
            pass

    def set_soon(self) -> None:
        """Do the same, but keep the interpreter's lock for what this thread does next."""
        self.set()


class WakeQueue:
    """The events to set at the end of what the loop is doing.

    Belongs to one loop. Other threads only set events, of what a closed loop has refused.
    """

    __slots__ = ("_events", "is_gathering")

    def __init__(self) -> None:
        self.is_gathering = False
        self._events: deque[Event] = deque()

    def set(self, event: Event | GreenEvent) -> None:
        """Set `event`, now or in `wake`."""
        if not self.is_gathering or type(event) is not Event:  # of greenlets, say
            event.set()
            return
        self._events.append(event)
        self._recheck()

    def _recheck(self) -> None:
        # In another thread: the loop may just have set the others.
        if not self.is_gathering:
            self.wake()

    def wake(self) -> None:
        """Set all events, and those that follow at once."""
        self.is_gathering = False
        events = self._events
        while events:
            try:
                event = events.popleft()
            except IndexError:  # another thread was quicker
                return
            event.set()
