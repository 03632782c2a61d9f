"""A fixture that fails a test if it leaves sockets, event loops, threads or processes open.

The garbage collector would report an unclosed socket during some other test. So this fixture checks
after each test that everything it opened is closed.
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

PATIENCE = 60.0  # seconds in which other threads may still close things on a busy machine
HOME = str(Path(__file__).resolve().parents[1])
OPEN_FILES = "/proc/self/fd"
TASKS = Path("/proc/self/task")

# Locations at which Python code created sockets and threads.
_places: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
_processes_started = 0
_reported: set[str] = set()  # processes that another test was charged with


def _place() -> str:
    """Return the innermost frames of this project, as `file:line`."""
    locations: list[str] = []
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and len(locations) < 4:
        name = frame.f_code.co_filename
        if name.startswith(HOME) and "site-packages" not in name:
            locations.append(f"{name[len(HOME) + 1 :]}:{frame.f_lineno}")
        frame = frame.f_back
    return ", from ".join(locations) or "an unknown place"


def _heard(event: str, args: tuple[Any, ...]) -> None:
    """Note new resources; the interpreter calls this hook for each audit event."""
    global _processes_started
    if event == "socket.__new__":
        # The base class in C cannot be referenced weakly.
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
    """Start to listen; an audit hook cannot be removed."""
    global _is_watching
    if not _is_watching:
        _is_watching = True
        _open_what_stays()
        _reported.update(_children())
        sys.addaudithook(_heard)


def _open_what_stays() -> None:
    """Open resources that stay open for the process, before the first test does: libuv's pipe, and
    the pipe of multiprocessing's tracker, which any of its locks needs from Python 3.14 on.
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
    """Return the numbers and the types of open files and sockets."""
    try:
        numbers = os.listdir(OPEN_FILES)
    except OSError:  # on this system only the sockets of Python are known
        sockets = [resource for resource in list(_places) if isinstance(resource, socket.socket)]
        return {
            (str(open_socket.fileno()), "socket")
            for open_socket in sockets
            if open_socket.fileno() >= 0
        }
    files = set()
    for number in numbers:
        with contextlib.suppress(OSError):  # the listed directory itself, which is closed again
            files.add((number, os.readlink(f"{OPEN_FILES}/{number}")))
    return files


def _threads() -> set[threading.Thread]:
    # Dummies represent threads that Python did not start, such as those of Arrow.
    return {
        thread for thread in threading.enumerate() if not isinstance(thread, threading._DummyThread)
    }


def _children() -> set[str]:
    children: set[str] = set()
    with contextlib.suppress(OSError):  # missing on this system, or a thread has ended
        for task in os.listdir(TASKS):
            children.update((TASKS / task / "children").read_text().split())
    return children


def _name(pid: str) -> str:
    try:
        line = Path("/proc", pid, "cmdline").read_bytes().replace(b"\0", b" ")
    except OSError:
        return pid
    return f"{pid} ({line.decode(errors='replace').strip() or 'ended, and nobody waited for it'})"


class _State:
    """Everything that is open at this moment."""

    def __init__(self) -> None:
        self.files = _files()
        self.threads = _threads()
        self.started = _processes_started

    def added(self, before: _State) -> list[str]:
        """Describe the resources that are open here and were not open before."""
        descriptions = [
            _described(number, kind) for number, kind in sorted(self.files - before.files)
        ]
        for thread in self.threads - before.threads:
            location = _places.get(thread, "an unknown place")
            descriptions.append(f"thread {thread.name!r}, started in {location}")
        return descriptions


def _described(number: str, kind: str) -> str:
    for resource in list(_places):
        if isinstance(resource, socket.socket) and resource.fileno() == int(number):
            return f"{resource!r}, made in {_places.get(resource)}"
    if kind.startswith("socket"):
        with contextlib.suppress(OSError), socket.socket(fileno=os.dup(int(number))) as copy:
            # C code such as uvloop created the socket, so we can only show its addresses.
            return f"{kind}, {copy.family.name}, {copy.getsockname()!r} to {_peer(copy)}"
    return f"{kind} (file number {number})"


def _peer(sock: socket.socket) -> str:
    try:
        return repr(sock.getpeername())
    except OSError:
        return "nobody"


def _left(before: _State) -> list[str]:
    """Describe the remaining resources, after waiting for other threads that close some."""
    deadline = time.monotonic() + PATIENCE
    pause = 0.001
    while True:
        now = _State()
        descriptions = now.added(before)
        if now.started != before.started:
            descriptions += [f"process {_name(pid)}" for pid in sorted(_children() - _reported)]
        if not descriptions or time.monotonic() > deadline:
            return descriptions
        time.sleep(pause)
        pause = min(2 * pause, 0.05)


@pytest.fixture(autouse=True)
def nothing_is_left_open() -> Iterator[None]:
    """Fail the test if anything is open afterwards that was not open before."""
    before = _State()
    yield
    descriptions = _left(before)
    if not descriptions:
        return
    _reported.update(_children())
    # Collect now, so that warnings are not attributed to another test.
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        gc.collect()
    descriptions += [f"the collector says: {warning.message}" for warning in caught]
    pytest.fail("this test left open:\n  " + "\n  ".join(descriptions), pytrace=False)
