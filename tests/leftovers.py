"""A fixture that fails a test if it leaves sockets, event loops, threads or processes behind.

A socket that nobody closes warns when the garbage collector happens to find it, which is during
another test. So each test is held to its own: what it opened has to be closed when it is over.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import socket
import sys
import threading
import time
import warnings
import weakref
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

__all__ = ["nothing_is_left_open", "watch"]

PATIENCE = 60.0  # seconds for what another thread is about to close, on a busy machine
HOME = str(Path(__file__).resolve().parents[1])
OPEN_FILES = "/proc/self/fd"
TASKS = Path("/proc/self/task")

# Where sockets and threads were made, as far as Python made them.
_places: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
_processes_started = 0
_reported: set[str] = set()  # processes that another test was charged with


def _place() -> str:
    """Return the innermost frames of this project, as `file:line`."""
    found: list[str] = []
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and len(found) < 4:
        name = frame.f_code.co_filename
        if name.startswith(HOME) and "site-packages" not in name:
            found.append(f"{name[len(HOME) + 1 :]}:{frame.f_lineno}")
        frame = frame.f_back
    return ", from ".join(found) or "an unknown place"


def _heard(event: str, args: tuple[Any, ...]) -> None:
    """Note what is being made; called by the interpreter for each event of an audit."""
    global _processes_started
    if event == "socket.__new__":
        # Those of the C module cannot be held weakly.
        if isinstance(args[0], socket.socket):
            _places[args[0]] = _place()
    elif event in ("_thread.start_new_thread", "_thread.start_joinable_thread"):
        thread = getattr(args[0], "__self__", None)
        if isinstance(thread, threading.Thread):
            _places[thread] = _place()
    elif event in ("subprocess.Popen", "os.fork", "os.posix_spawn"):
        _processes_started += 1


_is_watching = False


def watch() -> None:
    """Listen from now on; the interpreter has no way to stop that."""
    global _is_watching
    if not _is_watching:
        _is_watching = True
        _open_what_stays()
        _reported.update(_children())
        sys.addaudithook(_heard)


def _open_what_stays() -> None:
    """Have others open what stays for the process, before the first test does: libuv its pipe, and
    multiprocessing that of its tracker, which any lock of it needs from Python 3.14 on.
    """
    if sys.version_info >= (3, 14):
        from multiprocessing import resource_tracker

        resource_tracker.ensure_running()
    with contextlib.suppress(ImportError):
        import uvloop

        loop = uvloop.new_event_loop()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()


def _files() -> set[tuple[str, str]]:
    """Return the numbers and the kinds of open files, sockets among them."""
    try:
        numbers = os.listdir(OPEN_FILES)
    except OSError:  # no such thing on this system: Python's own sockets have to do
        known = [one for one in list(_places) if isinstance(one, socket.socket)]
        return {(str(one.fileno()), "socket") for one in known if one.fileno() >= 0}
    found = set()
    for number in numbers:
        with contextlib.suppress(OSError):  # the directory itself, which is closed again
            found.add((number, os.readlink(f"{OPEN_FILES}/{number}")))
    return found


def _threads() -> set[threading.Thread]:
    # Dummies stand for threads that were not made by Python, such as those of Arrow.
    return {one for one in threading.enumerate() if not isinstance(one, threading._DummyThread)}


def _children() -> set[str]:
    found: set[str] = set()
    with contextlib.suppress(OSError):  # not on this system, or a thread has ended
        for task in os.listdir(TASKS):
            found.update((TASKS / task / "children").read_text().split())
    return found


def _name(pid: str) -> str:
    try:
        line = Path("/proc", pid, "cmdline").read_bytes().replace(b"\0", b" ")
    except OSError:
        return pid
    return f"{pid} ({line.decode(errors='replace').strip() or 'ended, and nobody waited for it'})"


class _State:
    """All that is open."""

    def __init__(self) -> None:
        self.files = _files()
        self.threads = _threads()
        self.started = _processes_started

    def added(self, before: _State) -> list[str]:
        """Describe what is open here and was not open before."""
        found = [_described(number, kind) for number, kind in sorted(self.files - before.files)]
        for thread in self.threads - before.threads:
            place = _places.get(thread, "an unknown place")
            found.append(f"thread {thread.name!r}, started in {place}")
        return found


def _described(number: str, kind: str) -> str:
    for one in list(_places):
        if isinstance(one, socket.socket) and one.fileno() == int(number):
            return f"{one!r}, made in {_places.get(one)}"
    if kind.startswith("socket"):
        with contextlib.suppress(OSError), socket.socket(fileno=os.dup(int(number))) as copy:
            # Made in C, by uvloop say: the addresses tell what it is.
            return f"{kind}, {copy.family.name}, {copy.getsockname()!r} to {_peer(copy)}"
    return f"{kind} (file number {number})"


def _peer(sock: socket.socket) -> str:
    try:
        return repr(sock.getpeername())
    except OSError:
        return "nobody"


def _left(before: _State) -> list[str]:
    """Describe what is left, after a while for what is being closed by other threads."""
    deadline = time.monotonic() + PATIENCE
    pause = 0.001
    while True:
        now = _State()
        found = now.added(before)
        if now.started != before.started:
            found += [f"process {_name(pid)}" for pid in sorted(_children() - _reported)]
        if not found or time.monotonic() > deadline:
            return found
        time.sleep(pause)
        pause = min(2 * pause, 0.05)


@pytest.fixture(autouse=True)
def nothing_is_left_open() -> Iterator[None]:
    """Fail the test if anything is open afterwards that was not open before."""
    before = _State()
    yield
    found = _left(before)
    if not found:
        return
    _reported.update(_children())
    # Now, so that their warnings are not charged to another test.
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        gc.collect()
    found += [f"the collector says: {one.message}" for one in told]
    pytest.fail("this test left open:\n  " + "\n  ".join(found), pytrace=False)
