"""Locks between processes and threads."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from cassandra.testing.locks import FileLock
from tests.waiting import WAIT


def test_lock_between_threads(tmp_path: Path) -> None:
    first, second = FileLock(str(tmp_path / "l")), FileLock(str(tmp_path / "l"))
    first.acquire()
    assert second.try_acquire() is False
    waited = threading.Event()
    thread = threading.Thread(target=second.acquire, args=(waited.set,))
    thread.start()
    assert waited.wait(WAIT)
    first.release()
    thread.join(WAIT)
    assert not thread.is_alive()
    second.release()
    with pytest.raises(ValueError, match="not held"):
        second.fileno()
