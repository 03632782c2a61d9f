"""`FileLock` excludes other processes and other threads."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from cassandra.testing.locks import FileLock
from tests.waiting import WAIT


def test_lock_between_threads(tmp_path: Path) -> None:
    """Two `FileLock` objects of the same file exclude each other, even in one process."""
    held_lock, waiting_lock = FileLock(str(tmp_path / "l")), FileLock(str(tmp_path / "l"))
    held_lock.acquire()
    assert waiting_lock.try_acquire() is False
    waited = threading.Event()
    # `acquire` calls `waited.set` if it has to wait.
    thread = threading.Thread(target=waiting_lock.acquire, args=(waited.set,))
    thread.start()
    assert waited.wait(WAIT)
    held_lock.release()
    thread.join(WAIT)
    assert not thread.is_alive()
    waiting_lock.release()
    with pytest.raises(ValueError, match="not held"):
        waiting_lock.fileno()
