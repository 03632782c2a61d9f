"""A signal handler may execute requests, wherever it interrupts the main thread.

The handler waits for callbacks on the loop, and for requests of other threads. If the main thread
held a lock that one of these needs, the handler would wait for ever.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import cassandra
from cassandra.cluster import Cluster, ExecutionProfile, Session
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.query import BatchStatement, SimpleStatement
from cassandra.testing.fake import FakeNode, rows
from tests.waiting import WAIT

PACKAGE = str(Path(cassandra.__file__).parent)
TESTING = str(Path(PACKAGE, "testing"))

READ = SimpleStatement("SELECT v FROM ks.t", fetch_size=1)
PAGES = [[0], [1]]


class Handler:
    """Runs a function before each line of the package that the main thread runs.

    The function runs once for each line. Python runs signal handlers in the same way: in the main
    thread, between two steps of it.
    """

    def __init__(self, function: Callable[[], object]) -> None:
        self._function = function
        self._interrupted_lines: set[tuple[str, int]] = set()
        self._is_running = False
        self.failures: list[str] = []

    def _trace(self, frame: FrameType, event: str, argument: object) -> Any:
        """Python calls this method for each line, see `sys.settrace`."""
        name = frame.f_code.co_filename
        if not name.startswith(PACKAGE) or name.startswith(TESTING):
            return None
        line = (name, frame.f_lineno)
        if event == "line" and not self._is_running and line not in self._interrupted_lines:
            self._interrupted_lines.add(line)
            self._is_running = True
            try:
                self._function()
            except AssertionError as failure:
                self.failures.append(f"{name}:{frame.f_lineno}: {failure}")
                # Each failure takes WAIT, so let the program run on without further interruptions.
                sys.settrace(None)
            finally:
                self._is_running = False
        return self._trace

    @contextmanager
    def active(self) -> Iterator[None]:
        """Interrupt the code in the ``with`` block."""
        previous = sys.gettrace()
        sys.settrace(self._trace)
        try:
            yield
        finally:
            sys.settrace(previous)


def answer_page(request: Any) -> Any:
    """Return one of the two pages of READ."""
    if request.paging_state is None:
        return rows([("v", "int")], [(0,)], paging_state=b"1")
    return rows([("v", "int")], [(1,)])


def read_by_callbacks(session: Session) -> None:
    """Read READ by callbacks, which the loop calls, and wait for the last page."""
    pages: list[list[int]] = []
    finished = threading.Event()
    future = session.execute_async(READ)

    def go_on(page: Any) -> None:
        pages.append([row.v for row in page])
        if future.has_more_pages:
            future.add_errback(print)
            future.start_fetching_next_page()
        else:
            future.clear_callbacks()
            finished.set()

    future.add_callback(go_on)
    assert finished.wait(WAIT), "the callbacks were not called"
    assert pages == PAGES


def read_in_thread(session: Session) -> None:
    """Read READ in another thread, and wait for it."""
    values: list[int] = []
    thread = threading.Thread(
        target=lambda: values.extend(row.v for row in session.execute(READ)), daemon=True
    )
    thread.start()
    thread.join(WAIT)
    assert values == [0, 1], "the other thread did not get its rows"


def run_program(cluster: Cluster, session: Session) -> None:
    """Execute statements in all the ways that the blocking API has."""
    assert [row.v for row in session.execute(READ)] == [0, 1]
    result = session.execute(READ)
    result.fetch_next_page()
    assert [row.v for row in result.all()] == [1]
    future = session.execute_async(READ, trace=True)
    future.add_callbacks(lambda page: None, print)
    assert [row.v for row in future.result()] == [0, 1]
    prepared = session.prepare("INSERT INTO ks.t (k) VALUES (1)")
    session.execute(prepared)
    batch = BatchStatement()
    batch.add(prepared)
    session.execute(batch)
    results = execute_concurrent_with_args(session, READ, [()] * 3)
    assert [success for success, _ in results] == [True] * 3
    cluster.add_execution_profile("other", ExecutionProfile())
    with cluster.connect() as other_session:
        other_session.execute(READ).one()
    cluster.refresh_schema_metadata()


@pytest.mark.long
def test_a_handler_may_execute_requests_anywhere(node: FakeNode) -> None:
    """The requests of a signal handler complete, whichever line it interrupts."""
    node.prime(READ.query_string, answer_page)
    with Cluster([node.address], port=node.port) as cluster, cluster.connect() as session:

        def execute_requests() -> None:
            read_by_callbacks(session)
            read_in_thread(session)
            assert [row.v for row in session.execute(READ)] == [0, 1]

        execute_requests()
        handler = Handler(execute_requests)
        with handler.active():
            run_program(cluster, session)
    assert handler.failures == []
