"""Latches, at which threads of the program wait for answers: twins of the compiled classes.

They belong to the happy path in `cassandra.engine.flight`, which hands the names on.

A thread that is woken wants the interpreter's lock at once. If the loop still has it, the thread
goes to sleep again, and has to be woken a second time: that costs more than all else of a request.
So the loop wakes threads last, when it has looked at all answers that have come. The compiled twins
also let go of the interpreter's lock before they wake them.
"""

from __future__ import annotations

from collections import deque

from cassandra._threads import GreenLatch, Lock

__all__ = ["Latch", "Wakes"]


class Latch:
    """Opens once, for all threads that wait at it."""

    __slots__ = ("_is_open", "_lock")

    def __init__(self) -> None:
        self._is_open = False
        # Held until `open`, by no thread in particular: any thread may release it.
        self._lock = Lock()
        self._lock.acquire()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until it is open, at most `seconds`; return False if it is not."""
        if not self._lock.acquire(timeout=-1 if seconds is None else seconds):
            return False
        # Each thread hands it on to the next one.
        self._lock.release()
        return True

    def open(self) -> None:
        """Let all threads go on; a second call does nothing."""
        if not self._is_open:
            self._is_open = True
            self._lock.release()

    def open_soon(self) -> None:
        """Do the same, but keep the interpreter's lock for what this thread does next."""
        self.open()


class Wakes:
    """The latches to open at the end of what the loop is doing.

    Belongs to one loop. Other threads only open latches, of what a closed loop has refused.
    """

    __slots__ = ("_latches", "is_gathering")

    def __init__(self) -> None:
        self.is_gathering = False
        self._latches: deque[Latch] = deque()

    def open(self, latch: Latch | GreenLatch) -> None:
        """Open `latch`, now or in `wake`."""
        if not self.is_gathering or type(latch) is not Latch:  # of greenlets, say
            latch.open()
            return
        self._latches.append(latch)
        self._look_again()

    def _look_again(self) -> None:
        # In another thread: the loop may just have opened the others.
        if not self.is_gathering:
            self.wake()

    def wake(self) -> None:
        """Open all latches, and those that follow at once."""
        self.is_gathering = False
        latches = self._latches
        while latches:
            try:
                latch = latches.popleft()
            except IndexError:  # another thread was quicker
                return
            latch.open()
