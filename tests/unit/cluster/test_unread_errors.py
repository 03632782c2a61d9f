"""If a future with an error is dropped, its error is logged, unless it was retrieved."""

from __future__ import annotations

import gc
import logging
from collections.abc import Callable, Iterator

import pytest

from cassandra.cluster import Cluster, ResponseFuture, Session, unread_errors
from cassandra.concurrent import execute_concurrent
from cassandra.errors import InvalidRequest
from cassandra.testing.fake import ErrorCode, FakeNode, error
from tests.processes import run_python
from tests.waiting import WAIT, until

INSERT = "INSERT INTO t (k) VALUES (1)"
MESSAGE = "the error of an execution was never retrieved"


@pytest.fixture
def session() -> Iterator[Session]:
    """Yield a session whose requests for INSERT fail with InvalidRequest."""
    # Forget earlier errors, so that lines of this test are not suppressed.
    unread_errors._lines.cache_clear()
    with FakeNode() as node:
        node.prime(INSERT, error(ErrorCode.INVALID, "no such table"))
        with Cluster([node.address], port=node.port) as cluster:
            yield cluster.connect()


def lines_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return the log lines about errors that were never retrieved."""
    return [line for line in caplog.messages if line.startswith(MESSAGE)]


def fail_and_drop(session: Session) -> None:
    """Execute the statement, and drop its future after it has failed."""
    future = session.execute_async(INSERT)
    until(lambda: future.is_over)


def test_the_error_of_a_dropped_future_is_logged(
    session: Session, caplog: pytest.LogCaptureFixture
) -> None:
    """If a future fails and nobody reads its result, a warning has the error and the statement."""
    fail_and_drop(session)
    until(lambda: lines_of(caplog))
    [line] = lines_of(caplog)
    assert "call result() of the future, or add_errback()" in line
    assert "InvalidRequest" in line
    assert "no such table" in line
    # The log has the statement without its values, which may be secrets.
    assert "the statement was INSERT INTO t (k) VALUES (?)" in line
    [record] = [record for record in caplog.records if record.getMessage() == line]
    assert record.levelno == logging.WARNING
    assert record.name == "cassandra.cluster"


def test_errors_of_one_class_are_logged_once_per_interval(
    session: Session, caplog: pytest.LogCaptureFixture
) -> None:
    """Unread errors of the same class cause one warning per interval.

    The next warning has the number of suppressed warnings.
    """
    for _ in range(3):
        fail_and_drop(session)
    until(lambda: lines_of(caplog))
    assert len(lines_of(caplog)) == 1
    # End the interval. The next line has the number of suppressed lines.
    (interval,) = unread_errors._lines()._limits.values()
    until(lambda: interval.missed == 2)
    interval._next = 0.0
    fail_and_drop(session)
    until(lambda: len(lines_of(caplog)) == 2)
    assert "2 more of this class" in lines_of(caplog)[1]


def ask_for_the_result(future: ResponseFuture) -> None:
    with pytest.raises(InvalidRequest):
        future.result()


def add_an_errback(future: ResponseFuture) -> None:
    errors: list[BaseException] = []
    future.add_errback(errors.append)
    until(lambda: errors)


def read_the_attribute(future: ResponseFuture) -> None:
    until(lambda: future.is_over)
    assert isinstance(future.error, InvalidRequest)


@pytest.mark.parametrize("use", [ask_for_the_result, add_an_errback, read_the_attribute])
def test_an_error_that_is_retrieved_is_not_logged(
    session: Session, caplog: pytest.LogCaptureFixture, use: Callable[[ResponseFuture], None]
) -> None:
    """An error is not logged if it was raised, passed to an errback or read as an attribute."""
    use(session.execute_async(INSERT))
    gc.collect()
    assert lines_of(caplog) == []


def blocking(session: Session) -> None:
    with pytest.raises(InvalidRequest):
        session.execute(INSERT)


def concurrent(session: Session) -> None:
    outcomes = execute_concurrent(session, [(INSERT, None)] * 3, raise_on_first_error=False)
    assert [outcome.success for outcome in outcomes] == [False] * 3


@pytest.mark.parametrize("call", [blocking, concurrent])
def test_calls_that_raise_or_return_their_errors_log_none(
    session: Session, caplog: pytest.LogCaptureFixture, call: Callable[[Session], None]
) -> None:
    """If `execute` raises an error, or `execute_concurrent` returns it, the error is not logged."""
    call(session)
    gc.collect()
    assert lines_of(caplog) == []


PROGRAM_THAT_ENDS_WITH_ITS_FUTURE = f"""
import logging
import threading
logging.basicConfig()
from cassandra.cluster import Cluster
from cassandra.testing.fake import ErrorCode, FakeNode, error
node = FakeNode().__enter__()
node.prime({INSERT!r}, error(ErrorCode.INVALID, "no such table"))
cluster = Cluster([node.address], port=node.port)
session = cluster.connect()
future = session.execute_async({INSERT!r})
end_of_wait = threading.Event()
future.add_callbacks(lambda rows: None, lambda failure: end_of_wait.set())
end_of_wait.wait({WAIT})
dropped_with_the_interpreter = session.execute_async({INSERT!r})
"""


def test_the_end_of_the_interpreter_prints_no_traceback() -> None:
    """If a failed future still exists at the end of the process, no traceback is printed."""
    process = run_python(PROGRAM_THAT_ENDS_WITH_ITS_FUTURE)
    assert "Traceback" not in process.stderr
    assert "Exception ignored" not in process.stderr
