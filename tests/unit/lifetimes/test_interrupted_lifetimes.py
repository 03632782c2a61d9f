"""A signal handler may interrupt `connect` and `shutdown` at any line, and nothing stays open."""

from __future__ import annotations

import gc
import linecache
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from cassandra.cluster import Cluster, cluster
from cassandra.engine import loop
from cassandra.testing.fake import FakeNode
from tests.interrupted_locks import is_free
from tests.waiting import until

pytestmark = [
    pytest.mark.slow,
    # The line between the creation of a coroutine and its start may be interrupted, too.
    pytest.mark.filterwarnings("ignore:coroutine '.*' was never awaited:RuntimeWarning"),
    pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="the system does not list them"),
]

# The functions whose lines are interrupted, by their files.
NAMES = {
    cluster.__file__: {
        *("connect", "shutdown", "_start", "_stop", "_new_session", "start_thread", "close"),
        *("close_soon", "_close_loop", "claim_closing"),
    },
    loop.__file__: {
        *("start", "run", "stop", "stop_after", "close_unused", "wait", "_give_up"),
    },
    threading.__file__: {"start"},
}
# Python runs signal handlers after calls, so never between the end of a block and the release of
# its lock.
ATOMIC = ("with ", "try:", "finally:", "lock.release()")


class Interrupt(Exception):
    """Stands for the exception of a signal handler, for example of a job's time limit."""


class Interruption:
    """Raises an error at the line number `at` of all lines that the current thread runs."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.lines = 0
        self.place = ""

    def trace(self, frame: FrameType, event: str, argument: object) -> Any:
        """Python calls this method for each line, see `sys.settrace`."""
        code = frame.f_code
        if code.co_name not in NAMES.get(code.co_filename, ()):
            return None
        line = linecache.getline(code.co_filename, frame.f_lineno).strip()
        if event == "line" and not line.startswith(ATOMIC):
            self.lines += 1
            if self.lines == self.at:
                self.place = f"{code.co_name}:{frame.f_lineno}"
                raise Interrupt(self.place)
        return self.trace

    @contextmanager
    def active(self) -> Iterator[None]:
        """Interrupt the code in the ``with`` block."""
        previous = sys.gettrace()
        sys.settrace(self.trace)
        try:
            yield
        finally:
            sys.settrace(previous)


def descriptor_count() -> int:
    """Return how many files and sockets this process has open."""
    return len(os.listdir("/proc/self/fd"))


def thread_count() -> int:
    """Return how many threads run.

    `threading.active_count` also counts, for ever, a thread whose `start` was interrupted before
    the thread ran.
    """
    return sum(thread.ident is not None for thread in threading.enumerate())


def connect_only(cluster: Cluster, interruption: Interruption) -> None:
    """Interrupt `connect`."""
    with interruption.active():
        cluster.connect()


def shutdown_only(cluster: Cluster, interruption: Interruption) -> None:
    """Connect, and interrupt `shutdown`."""
    cluster.connect()
    with interruption.active():
        cluster.shutdown()


@pytest.mark.parametrize("loops", [1, 2])
@pytest.mark.parametrize("use", [connect_only, shutdown_only])
def test_a_second_shutdown_closes_what_an_interrupted_call_has_left(
    use: Callable[[Cluster, Interruption], None], loops: int
) -> None:
    """After `connect` or `shutdown` was interrupted at any line, `shutdown` closes everything."""
    with FakeNode() as node:

        def interrupt(at: int) -> Interruption:
            interruption = Interruption(at)
            cluster = Cluster([node.address], port=node.port, loops=loops)
            with suppress(Interrupt):
                use(cluster, interruption)
            cluster.shutdown()
            assert is_free(cluster._lock), interruption.place
            return interruption

        interrupt(-1)  # the first connect in a process creates objects that stay
        node.wait_for(lambda node: not node.connections)
        gc.collect()
        threads, descriptors = thread_count(), descriptor_count()
        at = 1
        while (interruption := interrupt(at)).place:
            where = partial(str, interruption.place)
            until(lambda: thread_count() <= threads, 10, reason=where)
            if descriptor_count() > descriptors:
                gc.collect()
                until(lambda: descriptor_count() <= descriptors, 10, reason=where)
            at += 1
        assert at > 10
