"""`PreparingRequest`: a request that prepares its statements before it executes them.

It is used when the application executes a CQL string with bind markers, or a batch with such
strings, for the first time. It is also used if the values of a later execution do not fit the
statement that was prepared: another client may have dropped the table and created it again with
other types.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from cassandra.cqltypes.failures import ENCODE_ERRORS
from cassandra.engine.failures import failure_of
from cassandra.engine.prepare.statements import PreparedTexts, all_or_first_error
from cassandra.engine.request import Request

if TYPE_CHECKING:
    from cassandra.engine.request_bodies import AnyBody
    from cassandra.engine.session import EngineSession
    from cassandra.query.prepared import PreparedStatement


class PreparingRequest(Request):
    """A request that prepares the CQL strings in `texts` concurrently before it is executed.

    `texts` contains pairs (keyspace, CQL). `bind_to` is called with the prepared statements in the
    same order, and returns the statement and the request body to execute. `prepared_texts` is the
    session's cache of prepared statements. The timeout limits the time for preparing and executing
    together.

    `outdated` contains statements of the cache to which the values could not be bound, so that
    their CQL must be prepared again. `cached` contains statements of the cache to which the values
    were not bound yet.
    """

    __slots__ = (
        "_is_started", "bind_to", "cached", "outdated", "prepared_texts", "texts",
        "working_keyspace",
    )  # fmt: skip

    # The `Preparer` belongs to the first loop.
    begins_on_first_loop = True

    _is_started: bool
    session: EngineSession  # the session that prepares and executes
    working_keyspace: str | None  # the session's keyspace when the request was created
    texts: Sequence[tuple[str | None, str]]
    prepared_texts: PreparedTexts
    bind_to: Callable[[list[PreparedStatement]], tuple[Any, AnyBody]]
    outdated: Sequence[PreparedStatement]
    cached: Sequence[PreparedStatement]

    def start_directly(self, is_awaited: bool = False) -> bool:
        """Return False: the request must be started on the loop, which prepares its strings."""
        return False

    def start(self) -> None:
        """Prepare the CQL strings, and then execute the request. Must be called on the loop."""
        if self.done:
            return
        session = self.session
        # The throttler calls `start` again when it admits the request, which is prepared then.
        # Before the first call, the slot `_is_started` has no value.
        if getattr(self, "_is_started", False):
            super().start()
            return
        self._is_started = True
        if self.observed is not None:
            self.observed._start()
        if session.closed:
            self.fail(session.closed_error())
            return
        if self.timeout is not None:
            if self.timeout <= 0:  # the deadline has passed already: send nothing
                self.on_timeout()
                return
            self._timer_slot = session.timers.add(self.timeout, self)
        session.run_for(self, self._prepare_and_execute())

    async def _prepare_and_execute(self) -> None:
        """Prepare the statements, bind the values, and then execute the request."""
        try:
            self.statement, self.request_body = await self._bind()
        except Exception as error:
            self.fail(failure_of(error))
            return
        super().start()

    async def _bind(self) -> tuple[Any, AnyBody]:
        """Prepare the statements, and return the statement and the body with the bound values."""
        prepared = await self._prepare_texts()
        try:
            return self.bind_to(prepared)
        except ENCODE_ERRORS:
            if not self.cached:  # all statements have just been prepared
                raise
        # Prepare again outside of `except`, so that a second error does not show the first error as
        # its context.
        self.outdated, self.cached = self.cached, ()
        return self.bind_to(await self._prepare_texts())

    async def _prepare_texts(self) -> list[PreparedStatement]:
        """Prepare all CQL strings concurrently, and return the statements in the same order."""
        session = self.session
        preparing = [
            session.core.preparer.prepare_text(
                session,
                text,
                keyspace,
                self.prepared_texts,
                self.policy,
                self.retry_policy,
                self.timeout,
                self.working_keyspace,
                self.outdated,
            )
            for keyspace, text in self.texts
        ]
        # Usually there is only one string. Await it directly, without the cost of a task.
        if len(preparing) == 1:
            return [await preparing[0]]
        return await all_or_first_error(preparing)
