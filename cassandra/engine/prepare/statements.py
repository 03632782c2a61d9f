"""Preparing statements: once at a time for each text, on the other hosts too, and again on hosts
that come back.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Coroutine, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from cassandra.engine.prepare.body import prepare_body
from cassandra.engine.prepare.key_places import key_places
from cassandra.engine.prepare.known import KnownStatements
from cassandra.engine.prepare.sending import Send, send_to_one
from cassandra.engine.request_bodies import PrepareBody
from cassandra.engine.waiting import outcome_of
from cassandra.errors import DriverException
from cassandra.protocol.opcodes import PREPARE
from cassandra.query.conditional import is_conditional
from cassandra.query.keyspace_texts import is_use, names_its_keyspace
from cassandra.query.prepared import PreparedStatement
from cassandra.query.prepared_use import PreparedUse
from cassandra.query.recently_used import RecentlyUsed

if TYPE_CHECKING:
    from cassandra.engine.background import Spawn
    from cassandra.engine.connection import Connection
    from cassandra.engine.control.internal_queries import Send as InternalSend
    from cassandra.engine.session import EngineSession
    from cassandra.engine.settings import Settings
    from cassandra.metadata.cluster_metadata import Metadata
    from cassandra.metadata.host import Host
    from cassandra.policies.balancing import LoadBalancingPolicy
    from cassandra.policies.retry import RetryPolicy

PreparedTexts = RecentlyUsed[tuple[str | None, str], PreparedStatement]

log = logging.getLogger("cassandra.cluster")

PARALLEL_PREPARES = 16  # on one connection
LEFT_OUT_AT_ONCE = 256
OTHERS_WAIT = 1.0  # seconds that prepare() gives the other hosts


class Server(Protocol):
    """The abilities of the cluster's servers, as far as they matter here."""

    @property
    def protocol_version(self) -> int:
        """The version agreed on."""

    @property
    def marks_transactions(self) -> bool:
        """True if they mark prepared lightweight transactions, as ScyllaDB does."""


class Preparer:
    """Sends PREPARE requests and remembers prepared statements, weakly.

    :param sessions: the open sessions of the moment; shared, never replaced.
    :param internal_send: sends a request of the engine's own on a connection.
    :param spawn: runs a coroutine in the background.
    :param server: the abilities of the cluster's servers.
    :param send: prepares on one host of a session's query plan.
    """

    def __init__(
        self,
        settings: Settings,
        metadata: Metadata,
        sessions: Iterable[EngineSession],
        internal_send: InternalSend,
        spawn: Spawn,
        server: Server,
        send: Send = send_to_one,
    ) -> None:
        self._settings = settings
        self._metadata = metadata
        self._sessions = sessions
        self._internal_send = internal_send
        self._spawn = spawn
        self._server = server
        self._send = send
        self._under_way: dict[tuple[Any, ...], asyncio.Task[Any]] = {}
        self._known = KnownStatements()

    async def prepare(
        self,
        session: EngineSession,
        query: str,
        keyspace: str | None,
        custom_payload: Mapping[str, bytes | None] | None,
        policy: LoadBalancingPolicy,
        retry_policy: RetryPolicy,
        timeout: float | None,
        working_keyspace: str | None = None,
    ) -> PreparedStatement:
        """Prepare `query`. Callers with the same text at the same time share one PREPARE.

        :param keyspace: named for this statement; None for the session's.
        :param working_keyspace: the session's when the call was made; None for that of now.
        """
        # Of this moment: when the answer comes, the session may be in another one.
        expected = keyspace or working_keyspace or session.keyspace
        key = (id(session), expected, query)
        if session.closed:
            raise session.closed_error()
        # A payload is for a server's plug-in, which may answer each of them differently.
        task = self._under_way.get(key) if not custom_payload else None
        if task is None:
            request_body = PrepareBody(query, keyspace, custom_payload, expected)
            sending = self._send_to_all(
                session, request_body, expected, policy, retry_policy, timeout
            )
            task = self._begin(key, sending)
        response = await outcome_of(task)
        prepared = self._made(query, expected, response)
        self._known.add(prepared)
        return prepared

    async def prepare_text(
        self,
        session: EngineSession,
        query: str,
        keyspace: str | None,
        known: PreparedTexts,
        policy: LoadBalancingPolicy,
        retry_policy: RetryPolicy,
        timeout: float | None,
        working_keyspace: str | None = None,
    ) -> PreparedStatement:
        """Prepare a text with bind markers that a program executes: one statement for all callers.

        :param keyspace: named for this statement; None for the session's.
        :param known: the statements of the session, which also remember it.
        :param working_keyspace: the session's when the call was made; None for that of now.
        """
        expected = keyspace or working_keyspace or session.keyspace
        place = (expected, query)
        prepared = known.get(place)
        if prepared is not None:
            return prepared
        key = ("text", id(session), *place)
        task = self._under_way.get(key)
        if task is None:

            async def prepare_and_remember() -> PreparedStatement:
                made = await self.prepare(
                    session, query, keyspace, None, policy, retry_policy, timeout, expected
                )
                # Before the task is over: later callers find either the task or the statement.
                known.put(place, made)
                made.when_changed = partial(known.drop, place)
                return made

            task = self._begin(key, prepare_and_remember())
        shared: PreparedStatement = await outcome_of(task)
        return shared

    def _begin(self, key: tuple[Any, ...], work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Start a task that further callers with the same key wait for too."""
        task: asyncio.Task[Any] = self._spawn(work)
        self._under_way[key] = task
        task.add_done_callback(lambda _: self._under_way.pop(key, None))
        return task

    def _made(self, query: str, keyspace: str | None, response: Any) -> PreparedStatement:
        is_marked = self._server.marks_transactions
        policy = self._settings.column_encryption_policy
        kind = PreparedUse if is_use(query) else PreparedStatement
        prepared = kind(
            response.bind_metadata,
            response.query_id,
            response.pk_indexes or key_places(self._metadata, response.bind_metadata),
            query,
            keyspace,
            self._server.protocol_version,
            response.result_metadata,
            response.result_metadata_id,
            response.is_lwt or (not is_marked and is_conditional(query)),
            column_encryption_policy=policy,
        )
        if not getattr(policy, "deterministic", True):
            # The server tells of the partition key alone, and only from version 4 on.
            schema = self._metadata.keyspaces.get(prepared.table_keyspace or "")
            table = schema.tables.get(prepared.table or "") if schema is not None else None
            if table is not None:
                prepared.renew_encryption(column.name for column in table.primary_key)
        if response.custom_payload:
            prepared.custom_payload = response.custom_payload
        return prepared

    async def prepare_all(
        self,
        session: EngineSession,
        queries: Sequence[str],
        policy: LoadBalancingPolicy,
        retry_policy: RetryPolicy,
        timeout: float | None,
    ) -> list[PreparedStatement]:
        """Prepare all of them at the same time; the first error is raised when the rest is over
        too.
        """
        return await all_or_first_error(
            [
                self.prepare(session, query, None, None, policy, retry_policy, timeout)
                for query in queries
            ]
        )

    async def _send_to_all(
        self,
        session: EngineSession,
        request_body: PrepareBody,
        expected: str | None,
        policy: LoadBalancingPolicy,
        retry_policy: RetryPolicy,
        timeout: float | None,
    ) -> Any:
        """The answer of the first host; the other ones have been asked too."""
        response, host = await self._send(session, request_body, policy, retry_policy, timeout)
        if self._settings.prepare_on_all_hosts and len(session.pools) > 1:
            await self._prepare_on_others(
                session,
                self._made(request_body.query, expected, response),
                host,
            )
        return response

    async def _prepare_on_others(
        self, session: EngineSession, prepared: PreparedStatement, first: Host
    ) -> None:
        """Prepare on the other hosts, all at once. A failure costs only a round trip later."""
        others = [pool.pick() for host, pool in session.pools.items() if host != first]
        tasks = [
            self._spawn(self._prepare_on(connection, prepared))
            for connection in others
            if connection is not None and _understands(connection, prepared)
        ]
        if tasks:
            # A slow host is left to it: it will ask for the statement, or have it by then.
            await asyncio.wait(tasks, timeout=OTHERS_WAIT)

    async def _prepare_on(self, connection: Connection, prepared: PreparedStatement) -> None:
        body = prepare_body(prepared.query_string, prepared.keyspace, connection.version)
        try:
            await self._internal_send(connection, PREPARE, body, "a PREPARE")
        except (DriverException, OSError, asyncio.TimeoutError) as error:
            log.debug("%s was not prepared on %s: %s", prepared, connection.endpoint, error)

    @property
    def known_count(self) -> int:
        """The number of prepared statements in use; any thread may ask."""
        return len(self._known)

    def known_by_id(self, query_id: bytes) -> PreparedStatement | None:
        """Return the statement with this id, if somebody still holds it."""
        return self._known.by_id(query_id)

    async def prepare_all_on(self, host: Host) -> None:
        """Prepare everything that is still in use on a host that came up; each statement once, some
        in parallel.
        """
        session = next((session for session in self._sessions if host in session.pools), None)
        if session is None:
            return
        # A program may hold a million of them: neither a task for each, nor one long step of the
        # loop.
        waiting = self._known.each_once()

        async def prepare_some(session: EngineSession) -> None:
            left_out = 0
            for prepared in waiting:
                pool = session.pools.get(host)
                connection = pool.pick() if pool is not None else None
                if connection is None:
                    return
                if _understands(connection, prepared):
                    await self._prepare_on(connection, prepared)
                else:
                    left_out += 1
                    if left_out % LEFT_OUT_AT_ONCE == 0:
                        await asyncio.sleep(0)

        await asyncio.gather(*(prepare_some(session) for _ in range(PARALLEL_PREPARES)))


def _understands(connection: Connection, prepared: PreparedStatement) -> bool:
    """Return True if a PREPARE on `connection` would be one in the statement's keyspace."""
    # Without a keyspace, a server refuses names that lack it: nothing goes wrong.
    return (
        connection.version >= 5
        or prepared.keyspace is None
        or (connection.gate is None and connection.keyspace in (None, prepared.keyspace))
        or names_its_keyspace(prepared.query_string)
    )


async def all_or_first_error(
    preparing: Sequence[Awaitable[PreparedStatement]],
) -> list[PreparedStatement]:
    """Return all outcomes, waited for at the same time; the first error is raised when the rest
    is over too.
    """
    outcomes = await asyncio.gather(*preparing, return_exceptions=True)
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
    return outcomes  # type: ignore[return-value]
