"""A fixture that fails a test if it leaves sockets, event loops, threads or processes open.

Without it, only the garbage collector would report an unclosed socket, and often during another
test. This fixture checks after each test that everything that the test opened is closed.
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

# A test waits this many seconds until other threads have closed their resources.
PATIENCE = 60.0
HOME = str(Path(__file__).resolve().parents[1])
OPEN_FILES = "/proc/self/fd"
TASKS = Path("/proc/self/task")

# This contains for each socket and thread the place in the project's code where it was created.
_origins: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
_processes_started = 0
# These are the IDs of child processes for which an earlier test has already failed.
_reported: set[str] = set()


def _creation_site() -> str:
    """Return the place where a resource is being created.

    This is a list of up to four frames of this project, as `file:line`. The innermost frame comes
    first.
    """
    locations: list[str] = []
    # Skip the frames of this function and of the audit hook.
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and len(locations) < 4:
        name = frame.f_code.co_filename
        # Use only frames of this project, not those of installed packages and the standard library.
        if name.startswith(HOME) and "site-packages" not in name:
            locations.append(f"{name[len(HOME) + 1 :]}:{frame.f_lineno}")
        frame = frame.f_back
    return ", from ".join(locations) or "an unknown place"


def _audit_hook(event: str, args: tuple[Any, ...]) -> None:
    """Record a new socket, thread or process.

    The interpreter calls this function for each audit event.
    """
    global _processes_started
    if event == "socket.__new__":
        # Instances of the base class `_socket.socket` cannot be recorded, because they support no
        # weak references.
        if isinstance(args[0], socket.socket):
            _origins[args[0]] = _creation_site()
    elif event in ("_thread.start_new_thread", "_thread.start_joinable_thread"):
        thread = getattr(args[0], "__self__", None)
        if isinstance(thread, threading.Thread):
            _origins[thread] = _creation_site()
    elif event in ("subprocess.Popen", "os.fork", "os.posix_spawn"):
        _processes_started += 1


_is_watching = False


def watch() -> None:
    """Start recording new resources; a second call does nothing.

    The recording lasts until the process ends, because Python cannot remove an audit hook.
    """
    global _is_watching
    if not _is_watching:
        _is_watching = True
        _open_permanent_resources()
        _reported.update(_child_process_ids())
        sys.addaudithook(_audit_hook)


def _open_permanent_resources() -> None:
    """Open the resources that a process opens once and never closes.

    Otherwise the fixture would fail the test that opens them. They are a pipe of libuv and, since
    Python 3.14, the pipe of multiprocessing's resource tracker, which the locks of multiprocessing
    use.
    """
    if sys.version_info >= (3, 14):
        from multiprocessing import resource_tracker

        resource_tracker.ensure_running()
    with contextlib.suppress(ImportError):
        import uvloop

        loop = uvloop.new_event_loop()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()


def _open_files() -> set[tuple[int, int, int]]:
    """Return the descriptor, device and inode of each open file and socket of this process.

    Each socket and pipe has a different inode. The fixture calls this function twice for each test.
    It takes half the time of reading the path of each file.
    """
    try:
        descriptors = os.listdir(OPEN_FILES)
    # On systems other than Linux, only the sockets that Python code created are known.
    except OSError:
        sockets = [resource for resource in list(_origins) if isinstance(resource, socket.socket)]
        numbers = [open_socket.fileno() for open_socket in sockets]
        return {(number, 0, 0) for number in numbers if number >= 0}
    files = set()
    for descriptor in map(int, descriptors):
        # Skip the descriptor of the directory itself, which `listdir` has already closed.
        try:
            status = os.fstat(descriptor)
        except OSError:
            continue
        files.add((descriptor, status.st_dev, status.st_ino))
    return files


def _live_threads() -> set[threading.Thread]:
    """Return the running threads that Python has started.

    Other threads, such as those of Arrow, are listed as dummy threads, and are not returned.
    """
    return {
        thread
        for thread in threading.enumerate()
        # A thread has no identifier for ever if its `start` was interrupted before it ran.
        if not isinstance(thread, threading._DummyThread) and thread.ident is not None
    }


def _child_process_ids() -> set[str]:
    """Return the IDs of this process's child processes; none on systems other than Linux."""
    children: set[str] = set()
    # The error means that the system has no such files, or that a thread has just ended.
    with contextlib.suppress(OSError):
        for task in os.listdir(TASKS):
            children.update((TASKS / task / "children").read_text().split())
    return children


def _describe_process(pid: str) -> str:
    """Return the ID and the command line of a process."""
    try:
        command_line = Path("/proc", pid, "cmdline").read_bytes().replace(b"\0", b" ")
    except OSError:
        return pid
    command = command_line.decode(errors="replace").strip()
    return f"{pid} ({command or 'ended, and nobody waited for it'})"


class _OpenResources:
    """The files, sockets and threads that are open when the object is created.

    `started` is the number of processes that had been started by then.
    """

    def __init__(self) -> None:
        self.files = _open_files()
        self.threads = _live_threads()
        self.started = _processes_started

    def added(self, before: _OpenResources) -> list[str]:
        """Describe each resource that is open now but was not open in the earlier snapshot."""
        descriptions = [
            _describe_file(descriptor)
            for descriptor, _, _ in sorted(self.files - before.files)
            if not _is_eventfd(descriptor)
        ]
        for thread in self.threads - before.threads:
            location = _origins.get(thread, "an unknown place")
            descriptions.append(f"thread {thread.name!r}, started in {location}")
        return descriptions


def _is_eventfd(descriptor: int) -> bool:
    """Return True for an eventfd.

    It belongs to an event loop or to a connection. These may open it when they first need it, and
    have other open files.
    """
    with contextlib.suppress(OSError):
        return os.readlink(f"{OPEN_FILES}/{descriptor}") == "anon_inode:[eventfd]"
    return False


def _describe_file(descriptor: int) -> str:
    """Describe an open file or socket by its number."""
    for resource in list(_origins):
        if isinstance(resource, socket.socket) and resource.fileno() == descriptor:
            return f"{resource!r}, made in {_origins.get(resource)}"
    try:
        kind = os.readlink(f"{OPEN_FILES}/{descriptor}")
    except OSError:
        kind = "a file that was closed just now"
    if kind.startswith("socket"):
        with (
            contextlib.suppress(OSError),
            socket.socket(fileno=os.dup(descriptor)) as duplicate,
        ):
            # C code such as uvloop, and not Python code, created this socket. So only its addresses
            # are known.
            addresses = f"{duplicate.getsockname()!r} to {_peer_address(duplicate)}"
            return f"{kind}, {duplicate.family.name}, {addresses}"
    return f"{kind} (file number {descriptor})"


def _peer_address(sock: socket.socket) -> str:
    """Return the address that a socket is connected to; "nobody" if it is not connected."""
    try:
        return repr(sock.getpeername())
    except OSError:
        return "nobody"


def _wait_for_leftovers(before: _OpenResources) -> list[str]:
    """Describe each resource that is open now but was not open before.

    Other threads may still be closing some resources, so the function waits up to PATIENCE seconds
    until none is left.
    """
    deadline = time.monotonic() + PATIENCE
    pause = 0.001
    while True:
        now = _OpenResources()
        descriptions = now.added(before)
        if now.started != before.started:
            descriptions += [
                f"process {_describe_process(pid)}"
                for pid in sorted(_child_process_ids() - _reported)
            ]
        if not descriptions or time.monotonic() > deadline:
            return descriptions
        time.sleep(pause)
        pause = min(2 * pause, 0.05)


@pytest.fixture(autouse=True)
def nothing_is_left_open() -> Iterator[None]:
    """Fail the test if it leaves a resource open that was not open before it."""
    before = _OpenResources()
    yield
    descriptions = _wait_for_leftovers(before)
    if not descriptions:
        return
    _reported.update(_child_process_ids())
    # Collect garbage now, so that warnings about unclosed resources appear in the test that caused
    # them.
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        gc.collect()
    descriptions += [f"the collector says: {warning.message}" for warning in caught]
    pytest.fail("this test left open:\n  " + "\n  ".join(descriptions), pytrace=False)
