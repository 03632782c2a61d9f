"""Locks whose owner gets the exception of a signal handler just after `acquire`."""

from __future__ import annotations

import threading
from typing import Any

from tests.waiting import WAIT


class Interrupt(Exception):
    """Stands for the exception of a signal handler, for example of a job's time limit."""


class InterruptedLock:
    """Stands for a lock. The first `acquire` that acquires it raises Interrupt.

    Python runs signal handlers after each call, so also after ``lock.acquire()`` has returned, and
    before the caller can store the result. Python runs none between ``with lock`` and the block.

    :param lock: the lock that is acquired and released.
    """

    def __init__(self, lock: Any) -> None:
        self._lock = lock
        self._is_interrupting = True
        self.release = lock.release

    def acquire(self, *arguments: Any, **options: Any) -> Any:
        is_acquired = self._lock.acquire(*arguments, **options)
        if is_acquired and self._is_interrupting:
            self._is_interrupting = False
            raise Interrupt
        return is_acquired

    def __enter__(self) -> Any:
        return self._lock.__enter__()

    def __exit__(self, *details: object) -> None:
        self._lock.__exit__(*details)


def is_free(lock: Any) -> bool:
    """Return True if another thread can acquire a lock at once; it then releases the lock."""
    results: list[bool] = []

    def use() -> None:
        results.append(lock.acquire(blocking=False))
        if results[0]:
            lock.release()

    thread = threading.Thread(target=use, daemon=True)
    thread.start()
    thread.join(WAIT)
    return results == [True]
