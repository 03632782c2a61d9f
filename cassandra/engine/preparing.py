"""A request whose statement has to be prepared first: the first execution of a text with bind markers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from cassandra.engine.request import Request

if TYPE_CHECKING:
    from cassandra.engine.payloads import AnyPayload
    from cassandra.query.prepared import PreparedStatement

__all__ = ["PreparingRequest"]


class PreparingRequest(Request):
    """Prepares `query`, binds by `bind_to`, which gives the statement and the payload, and goes on as any request.

    One deadline covers both.
    """

    __slots__ = ("bind_to", "keyspace", "query")

    query: str
    keyspace: str | None
    bind_to: Callable[[PreparedStatement], tuple[Any, AnyPayload]]

    def start(self) -> None:
        if self.done:
            return
        session = self.session
        if session.closed:
            self.fail(session.closed_error())
            return
        if self.timeout is not None:
            self._timer_slot = session.timers.add(self.timeout, self)
        session.core.spawn(self._prepare())

    async def _prepare(self) -> None:
        try:
            prepared = await self.session.core.preparer.prepare(
                self.session, self.query, self.keyspace, None, self.policy, self.retry_policy, self.timeout
            )
            self.statement, self.payload = self.bind_to(prepared)
        except BaseException as error:
            self.fail(error if isinstance(error, Exception) else self.session.closed_error())
            if not isinstance(error, Exception):
                raise
            return
        super().start()
