"""Preparing statements: once at a time for each text, on the other hosts too, and again on hosts that come back."""

from __future__ import annotations

import asyncio
import logging
import weakref
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cassandra._impl import bodies
from cassandra.engine.payloads import PreparePayload
from cassandra.engine.request import Request
from cassandra.errors import DriverException, ProtocolError
from cassandra.protocol.opcodes import PREPARE, RESULT_KIND_PREPARED
from cassandra.query.prepared import PreparedStatement

if TYPE_CHECKING:
    from cassandra.engine.core import Core
    from cassandra.engine.session import EngineSession

log = logging.getLogger("cassandra.cluster")

PARALLEL_PREPARES = 16  # on one connection
OTHERS_WAIT = 1.0  # seconds that prepare() gives the other hosts


class Preparer:
    """Sends PREPARE requests and remembers, weakly, what has been prepared."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._under_way: dict[tuple[Any, ...], asyncio.Task[Any]] = {}
        self._known: weakref.WeakValueDictionary[bytes, PreparedStatement] = weakref.WeakValueDictionary()

    async def prepare(
        self,
        session: EngineSession,
        query: str,
        keyspace: str | None,
        custom_payload: Mapping[str, bytes] | None,
        policy: Any,
        retry_policy: Any,
        timeout: float | None,
    ) -> PreparedStatement:
        """A `PreparedStatement` for `query`. Callers that ask for the same text at the same time share one PREPARE."""
        key = (id(session), keyspace or session.keyspace, query)
        task = self._under_way.get(key) if not custom_payload else None
        if task is None:
            payload = PreparePayload(query, keyspace, custom_payload)
            task = self._core.spawn(self._send(session, payload, policy, retry_policy, timeout))
            self._under_way[key] = task
            task.add_done_callback(lambda _: self._under_way.pop(key, None))
        response, host = await asyncio.shield(task)
        prepared = PreparedStatement(
            response.bind_metadata,
            response.query_id,
            response.pk_indexes,
            query,
            keyspace or session.keyspace,
            self._core.protocol_version,
            response.result_metadata,
            response.result_metadata_id,
        )
        if response.custom_payload:
            prepared.custom_payload = response.custom_payload
        self._known[response.query_id] = prepared
        if self._core.settings.prepare_on_all_hosts and len(session.pools) > 1:
            await self._prepare_on_others(session, prepared, host)
        return prepared

    async def prepare_all(
        self, session: EngineSession, queries: Sequence[str], policy: Any, retry_policy: Any, timeout: float | None
    ) -> list[PreparedStatement]:
        """Prepare all of them at the same time; the first error is raised when the rest is over too."""
        outcomes = await asyncio.gather(
            *(self.prepare(session, query, None, None, policy, retry_policy, timeout) for query in queries),
            return_exceptions=True,
        )
        prepared = [outcome for outcome in outcomes if isinstance(outcome, PreparedStatement)]
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome
        return prepared

    async def _send(
        self, session: EngineSession, payload: PreparePayload, policy: Any, retry_policy: Any, timeout: float | None
    ) -> tuple[Any, Any]:
        done: asyncio.Future[Request] = self._core.loop.create_future()

        def on_done(request: Request) -> None:
            if not done.done():
                done.set_result(request)

        request = Request(session, _PREPARE, payload, policy, retry_policy, None, timeout, on_done)
        request.start()
        try:
            await done
        except asyncio.CancelledError:
            request.cancel()
            raise
        if request.error is not None:
            raise request.error
        host = request.attempts[-1].host
        if getattr(request.response, "kind", None) != RESULT_KIND_PREPARED:
            raise ProtocolError(f"{host} answered a PREPARE with {request.response!r}")
        return request.response, host

    async def _prepare_on_others(self, session: EngineSession, prepared: PreparedStatement, first: Any) -> None:
        """Prepare on the other hosts, all at once. A failure costs nothing but a round trip later."""
        others = [pool.pick() for host, pool in session.pools.items() if host != first]
        tasks = [
            self._core.spawn(self._prepare_on(connection, prepared)) for connection in others if connection is not None
        ]
        if tasks:
            # A slow host is left to it: it will ask for the statement, or have it by then.
            await asyncio.wait(tasks, timeout=OTHERS_WAIT)

    async def _prepare_on(self, connection: Any, prepared: PreparedStatement) -> None:
        keyspace = prepared.keyspace if connection.version >= 5 else None
        body = bodies.prepare_body(prepared.query_string, keyspace, connection.version)
        try:
            await connection.request(PREPARE, body, self._core.settings.control_connection_timeout)
        except (DriverException, OSError, asyncio.TimeoutError) as error:
            log.debug("%s was not prepared on %s: %s", prepared, connection.endpoint, error)

    async def prepare_all_on(self, host: Any) -> None:
        """Prepare everything that is still in use on a host that came up; each statement once, some in parallel."""
        statements = list(self._known.values())
        if not statements:
            return
        free = asyncio.Semaphore(PARALLEL_PREPARES)

        async def prepare_one(session: EngineSession, prepared: PreparedStatement) -> None:
            async with free:
                pool = session.pools.get(host)
                connection = pool.pick() if pool is not None else None
                if connection is not None and connection.keyspace in (None, prepared.keyspace):
                    await self._prepare_on(connection, prepared)

        session = next((session for session in self._core.sessions if host in session.pools), None)
        if session is not None:
            await asyncio.gather(*(prepare_one(session, prepared) for prepared in statements))


class _Prepare:
    """What policies see of a PREPARE: it may go to any host, and be sent again."""

    is_idempotent = True
    routing_key = None
    keyspace = None


_PREPARE = _Prepare()
