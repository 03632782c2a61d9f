"""Classes of cassandra-driver for concurrent executions, which some applications use directly."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from concurrent.futures import Future, InvalidStateError
from typing import TYPE_CHECKING, Any

from cassandra.concurrent import execute_concurrent, execute_concurrent_async

if TYPE_CHECKING:
    from cassandra.engine.profile import ExecutionProfile


class ConcurrentExecutorListResults:
    """Calls `execute_concurrent` and returns a list of results.

    :param session: the session that executes the statements.
    :param statements_and_params: (statement, parameters) pairs.
    :param execution_profile: a profile or its name; None for the default profile.
    """

    _generator = False

    def __init__(
        self,
        session: Any,
        statements_and_params: Iterable[tuple[Any, Any]],
        execution_profile: ExecutionProfile | str | None,
    ) -> None:
        self.session = session
        self._statements = statements_and_params
        self._execution_profile = execution_profile

    def execute(self, concurrency: int, fail_fast: bool) -> Any:
        """Execute the statements; see `execute_concurrent`."""
        return execute_concurrent(
            self.session,
            self._statements,
            concurrency,
            fail_fast,
            self._generator,
            self._execution_profile,
        )


class ConcurrentExecutorGenResults(ConcurrentExecutorListResults):
    """Calls `execute_concurrent` and returns an iterator over the results."""

    _generator = True


class ConcurrentExecutorFutureResults(ConcurrentExecutorListResults):
    """Calls `execute_concurrent_async`, and passes the outcome to a future.

    :param future: the future that gets the list of results, or the first error.
    """

    def __init__(
        self,
        session: Any,
        statements_and_params: Iterable[tuple[Any, Any]],
        execution_profile: ExecutionProfile | str | None,
        future: Future[Any],
    ) -> None:
        super().__init__(session, statements_and_params, execution_profile)
        self.future = future

    def execute(self, concurrency: int, fail_fast: bool) -> None:
        """Start to execute the statements; the future completes when all are executed."""
        execute_concurrent_async(
            self.session, self._statements, concurrency, fail_fast, self._execution_profile
        ).add_done_callback(self._finish)

    def _finish(self, finished: Future[Any]) -> None:
        """Copy the outcome of the execution to `future`."""
        # The application may have cancelled its future: then nobody waits for the outcome.
        with contextlib.suppress(InvalidStateError):
            if finished.cancelled():
                self.future.cancel()
            elif (error := finished.exception()) is not None:
                self.future.set_exception(error)
            else:
                self.future.set_result(finished.result())


for _class in (
    ConcurrentExecutorListResults,
    ConcurrentExecutorGenResults,
    ConcurrentExecutorFutureResults,
):
    _class.__module__ = "cassandra.concurrent"
del _class
