"""Test a session's methods, and the classes, that execute many statements concurrently."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

import pytest

from cassandra._compat import executors
from cassandra.cluster import Cluster, Session
from cassandra.concurrent import (
    ConcurrentExecutorFutureResults,
    ConcurrentExecutorGenResults,
    ConcurrentExecutorListResults,
)
from cassandra.testing.fake import ErrorCode, FakeNode, error, rows
from tests.waiting import WAIT


@pytest.fixture
def session() -> Any:
    """Yield a session with a node that refuses one of PAIRS, and has two rows for `SELECT v`."""
    with FakeNode() as node:
        node.prime("SELECT 7", error(ErrorCode.INVALID))
        node.prime("SELECT v", rows([("v", "int")], [(5,), (6,)]))
        with Cluster([node.address], port=node.port) as cluster:
            yield cluster.connect()


# Pairs of a statement and its values (none). The node refuses only the statement at index 7.
PAIRS = [(f"SELECT {number}", None) for number in range(20)]


def test_methods_of_a_session_execute_many_statements(session: Session) -> None:
    """Each method returns an outcome for each statement; only the refused statement fails."""
    for outcomes in (
        session.execute_concurrent(PAIRS, raise_on_first_error=False),
        list(session.execute_concurrent(PAIRS, 5, False, results_generator=True)),
        session.execute_concurrent_async(PAIRS).result(WAIT),
    ):
        # Only the statement at index 7 fails.
        assert [index for index, outcome in enumerate(outcomes) if not outcome.success] == [7]
    outcomes = session.execute_concurrent_with_args("SELECT v", [()] * 3, concurrency=2)
    assert [outcome.result_or_exc.all() for outcome in outcomes] == [[(5,), (6,)]] * 3


def test_executor_classes_execute_many_statements(session: Session) -> None:
    """Each class of executors reports an outcome for each statement, or raises the first error."""
    future: Future[Any] = Future()
    # The arguments of `execute` are the concurrency and whether the first error is raised.
    ConcurrentExecutorFutureResults(session, PAIRS, None, future).execute(5, False)
    for outcomes in (
        ConcurrentExecutorListResults(session, PAIRS, None).execute(5, False),
        list(ConcurrentExecutorGenResults(session, PAIRS, None).execute(5, False)),
        future.result(WAIT),
    ):
        # Only the statement at index 7 fails.
        assert [index for index, outcome in enumerate(outcomes) if not outcome.success] == [7]
    failing: Future[Any] = Future()
    ConcurrentExecutorFutureResults(session, PAIRS, None, failing).execute(5, True)
    assert failing.exception(10) is not None


@pytest.mark.parametrize("who", ["the application", "the execution"])
def test_a_cancelled_future_is_left_alone(
    session: Session, who: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """If the application's future or the execution is cancelled, the future ends as cancelled.

    No exception may be raised in the callback, because `concurrent.futures` would only log it.
    """
    execution: Future[Any] = Future()
    monkeypatch.setattr(executors, "execute_concurrent_async", lambda *_: execution)
    future: Future[Any] = Future()
    ConcurrentExecutorFutureResults(session, PAIRS, None, future).execute(5, True)
    if who == "the application":
        assert future.cancel()
        execution.set_result([])
    else:
        assert execution.cancel()
    assert future.cancelled()
    assert not caplog.records
