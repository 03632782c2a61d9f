"""One session inside the engine: its pools, its keyspace, and the effect of answers on them."""

from __future__ import annotations

import asyncio
import logging
import math
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from cassandra.engine.connection import METADATA_IDS, Connection
from cassandra.engine.environment import InsertionOrdered
from cassandra.engine.failures import failure_of, fault_among
from cassandra.engine.keyspace_gate import HeldRequest, UseTurns, can_pass, hold, switch
from cassandra.engine.observers import ObservedSession
from cassandra.engine.pools.pool import HostPool, PoolOwner
from cassandra.engine.pools.shards import ShardPool, ShardTarget, shard_aware_port
from cassandra.engine.request_bodies import MessageBody
from cassandra.engine.schema.agreement import versions_in, wait_for_one_version
from cassandra.engine.schema.scope import SchemaAgreementScope
from cassandra.errors import (
    ConnectionException,
    ConnectionShutdown,
    InvalidRequest,
    NoHostAvailable,
    OperationTimedOut,
    SessionShutdown,
)
from cassandra.policies.balancing import HostDistance
from cassandra.policies.token_aware import plans_in_any_thread
from cassandra.protocol.encrypted import decrypting
from cassandra.protocol.expected import check_answer
from cassandra.protocol.handler import encrypting_handler
from cassandra.protocol.messages.decode import decode_response
from cassandra.protocol.messages.encode import takes_features
from cassandra.protocol.messages.results import ResultMessage
from cassandra.protocol.opcodes import RESULT, RESULT_KIND_ROWS
from cassandra.util.cql_text import escape_name

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping

    from cassandra.engine import happy_path
    from cassandra.engine.core import Core
    from cassandra.engine.happy_path import Attempt
    from cassandra.engine.request import Request
    from cassandra.metadata.host import Host
else:
    from cassandra._impl import happy_path

log = logging.getLogger("cassandra.cluster")

SLOW_POOLS_WAIT = 0.05  # seconds that connect() gives the other pools once the first one is ready


class Ending(Protocol):
    """Work that ends with the session."""

    def fail(self, error: Exception) -> None:
        """The session is closed."""


class EngineSession(ObservedSession):
    """The pools of one session, by host. `distance` is asked for each host; an ignored one gets no
    pool.
    """

    __slots__ = (
        "_background",
        "_hosts_before",
        "_opening",
        "_opening_pools",
        "_pool_errors",
        "delayed",
        "direct_policy",
        "distance",
        "loop",
        "pools",
        "use_turns",
    )

    def __init__(self, core: Core, keyspace: str | None, distance: Callable[[Host], int]) -> None:
        self.core = core
        self.keyspace = keyspace
        self.distance = distance
        self.loop = core.loop
        self.timers = core.timers
        self.pools: dict[Host, HostPool] = {}
        # The same by id(host), which is quicker to look up than a host: plans mostly give the very
        # objects.
        self.pools_by_id: dict[int, HostPool] = {}
        self.closed = False
        # Retries that are put off: no pool knows their requests meanwhile.
        self.delayed: InsertionOrdered[Ending] = InsertionOrdered()
        # The last load balancing policy that was found to make plans in any thread.
        self.direct_policy: object = None
        # The hosts that had pools until the end, for the errors of requests that come after it.
        self._hosts_before: list[Host] = []
        self.observe()
        self._pool_errors: dict[Host, Exception] = {}
        self._opening: dict[Host, asyncio.Task[None]] = {}
        # Not registered yet, though some of their connections are open.
        self._opening_pools: InsertionOrdered[HostPool] = InsertionOrdered()
        self.use_turns = UseTurns()
        self._background: InsertionOrdered[asyncio.Task[Any]] = InsertionOrdered()

    # -- pools -------------------------------------------------------------------------------------

    async def open(self, wait_for_all: bool = False) -> None:
        """Open a pool for each host that is not ignored; ready when one is, or all with
        `wait_for_all`.

        :raises NoHostAvailable: with the error of each host, if no pool could be opened.
        """
        # Hosts of unknown state, too: to open a pool is how their state becomes known.
        hosts = [host for host in self.core.metadata.all_hosts() if host.is_up is not False]
        tasks = [self.core.spawn(self.add_pool(host)) for host in hosts if self._wanted(host)]
        if not self.core.query_fallback.opens_pools:
            return
        if not tasks:
            raise NoHostAvailable(self._why_nowhere(), {})
        for task in tasks:
            self._background.add(task)
            task.add_done_callback(self._background.discard)
        pending: set[asyncio.Task[None]] = set(tasks)
        while pending and not self.pools:
            _, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
        if pending:
            await asyncio.wait(pending, timeout=None if wait_for_all else SLOW_POOLS_WAIT)
        if self.closed:
            raise self.closed_error()
        if not self.pools and not self.core.query_fallback.is_allowed:
            failed = {str(host): error for host, error in self._pool_errors.items()}
            raise NoHostAvailable("Unable to connect to any servers", failed) from fault_among(
                failed.values()
            )

    def _why_nowhere(self) -> str:
        """Say why no host is wanted: most likely the name of a data centre is wrong."""
        wanted = set()
        for one in self.core.listeners.policies:
            policy: Any = one
            while policy is not None:
                wanted.add(getattr(policy, "local_dc", None) or "")
                policy = getattr(policy, "_child_policy", None)
        there = {host.datacenter for host in self.core.metadata.all_hosts() if host.datacenter}
        unknown = sorted(wanted - there - {""})
        if unknown and there:
            return (
                f"no node is in the data centre {', '.join(map(repr, unknown))}, the local_dc of "
                f"the load balancing policy: the nodes are in {', '.join(map(repr, sorted(there)))}"
            )
        return "no host is up and not ignored by the load balancing policy"

    def begins_with(self, keyspace: str) -> bool:
        """Take the keyspace that `connect` names, without USE; return False if USE can be executed.

        The control connection, which serves if there is no pool, refuses it.
        """
        if self.pools or not self.core.query_fallback.is_allowed:
            return False
        self.keyspace = keyspace
        return True

    def _wanted(self, host: Host) -> bool:
        return self.core.query_fallback.opens_pools and self.distance(host) != HostDistance.IGNORED

    async def add_pool(self, host: Host) -> None:
        """Open the pool of `host`; a failure is noted, and reported to the engine."""
        if self.closed or host in self.pools or not self._wanted(host):
            return
        opening = self._opening.get(host)
        if opening is None:
            opening = self._opening[host] = self._spawn(self._open_pool(host))
            opening.add_done_callback(lambda task: self._opened(host, task))
        # Another caller that waits for it may give up. If the session is closed meanwhile, that is
        # not an error here.
        await asyncio.wait({opening})

    def _opened(self, host: Host, task: asyncio.Task[None]) -> None:
        if self._opening.get(host) is task:
            del self._opening[host]

    async def _open_pool(self, host: Host) -> None:
        distance = self.distance(host)
        pool = self._new_pool(host, distance)
        self._opening_pools.add(pool)
        try:
            await pool.fill()
        except Exception as error:
            pool.close(error)
            self._pool_errors[host] = error
            self.core.hosts.on_connection_failure(host, error)
            return
        except BaseException:  # cancelled: nobody else knows this pool
            pool.close()
            raise
        finally:
            self._opening_pools.discard(pool)
        if self.closed or host in self.pools:
            pool.close()
            return
        self._pool_errors.pop(host, None)
        self.pools[host] = pool
        self.pools_by_id[id(host)] = pool
        self._resize(pool)  # the settings may have changed while it was opened
        self.core.hosts.on_answer(host)

    def _new_pool(self, host: Host, distance: int) -> HostPool:
        settings = self.core.settings
        size = settings.connections_to(distance)
        owner = PoolOwner(
            self._open_connection,
            self._on_failure,
            self.core.spawn,
            settings.reconnection_policy.new_schedule,
            # The pool compares with a number.
            math.inf if settings.max_waiting_requests is None else settings.max_waiting_requests,
        )
        if not settings.shard_aware:
            return HostPool(host, distance, size, owner)
        return ShardPool(
            host,
            distance,
            size,
            owner,
            tablets=self.core.metadata.tablets,
            port_of=partial(shard_aware_port, settings, host.endpoint),
        )

    def resize_pools(self) -> None:
        """Have all pools follow the settings."""
        for pool in self.pools.values():
            self._resize(pool)

    def _resize(self, pool: HostPool) -> None:
        pool.resize(self.core.settings.connections_to(pool.distance))

    def follow_distances(self) -> None:
        """An event may have changed how far hosts are: open pools to those that are wanted now,
        close the others.
        """
        if self.closed:
            return
        for host in self.core.metadata.all_hosts():
            wanted = self._wanted(host)
            pool = self.pools.get(host)
            if pool is not None and not wanted:
                # What is in flight may come to its end; query plans leave the host out already.
                if pool.in_flight:
                    self.core.sessions.follow_distances_soon()
                else:
                    self.remove_pool(
                        host,
                        ConnectionException(
                            f"{host} is ignored by the load balancing policies now"
                        ),
                    )
            elif pool is not None:
                pool.distance = self.distance(host)
                self._resize(pool)
            elif wanted and host.is_up is not False and host not in self._opening:
                self._spawn(self.add_pool(host))

    async def _open_connection(self, host: Host, target: ShardTarget | None = None) -> Connection:
        connection = await self.core.open_connection_to(host, target)
        # Also if the host was not down: only the control connection may have met the outage.
        self.core.control.on_host_up()
        # The keyspace may be changed while this connection is opened: it is taken from the moment
        # before it is used.
        while self.keyspace is not None and connection.keyspace != self.keyspace:
            try:
                await self.use(connection, self.keyspace)
            except BaseException:
                connection.close()
                raise
        if self.core.wake_queue is not None:
            connection.wake_queue = self.core.wake_queue
            connection.write_directly()
        return connection

    def plans_anywhere(self, policy: object) -> bool:
        """Return True if `policy` can make plans in other threads than the loop's."""
        if not plans_in_any_thread(policy):
            return False
        self.direct_policy = policy
        return True

    def _on_failure(self, pool: HostPool, error: Exception) -> None:
        """The last connection of a pool is gone, and could not be opened again."""
        self._pool_errors[pool.host] = error
        self.remove_pool(pool.host, error)
        self.core.hosts.on_connection_failure(pool.host, error)

    def remove_pool(self, host: Host, error: Exception | None = None) -> None:
        """Close the pool of `host`, if there is one."""
        pool = self.pools.pop(host, None)
        if pool is not None:
            # By the pool's own host: the one given may be equal, and yet another object.
            self.pools_by_id.pop(id(pool.host), None)
            pool.close(error)

    def forget_host(self, host: Host, error: Exception) -> None:
        """`host` has left the cluster: close its pool, also one that is being opened."""
        opening = self._opening.pop(host, None)
        if opening is not None:
            opening.cancel()
        self._pool_errors.pop(host, None)
        self.remove_pool(host, error)

    def pool_error(self, host: Host) -> Exception | None:
        """Return why a pool to `host` could not be opened or was lost; None without an error."""
        return self._pool_errors.get(host)

    def why_no_pool(self, host: Host) -> Exception:
        """Return the error of a request that could not go to `host`."""
        error = self._pool_errors.get(host)
        return error or ConnectionException(f"no connection to {host} is open", host.endpoint)

    # -- answers -----------------------------------------------------------------------------------

    def decode(
        self,
        request: Request,
        attempt: Attempt,
        connection: Connection,
        opcode: int,
        flags: int,
        body: bytes,
    ) -> Any:
        """Decode the answer to `request`.

        :raises ProtocolError: if it is malformed, or not an answer to this request.
        """
        request_body = request.request_body
        text = request_body.statement_text()
        cached = attempt.columns
        encryption = self.core.settings.column_encryption_policy
        if request_body.decodes and isinstance(request_body, MessageBody):
            decode = encrypting_handler(request_body.handler, encryption).decode_message
            answer = (self.core.user_types, 0, flags, opcode, body, None, cached)
            response = (
                decode(connection.version, connection.features, *answer)
                if takes_features(decode)
                else decode(connection.version, *answer)
            )
            if not isinstance(response, ResultMessage):
                if opcode != RESULT:  # else it is what the program makes of one
                    check_answer(request_body.opcode, text, opcode, None, connection.endpoint)
                return response
        else:
            response = decode_response(
                opcode,
                flags,
                body,
                connection.version,
                connection.features,
                self.core.user_types,
                cached,
            )
        kind = response.kind if opcode == RESULT else None
        check_answer(request_body.opcode, text, opcode, kind, connection.endpoint)
        if cached is not None and opcode == RESULT and response.kind == RESULT_KIND_ROWS:
            self._remember_columns(request, connection, response, cached)
        if opcode == RESULT and response.kind == RESULT_KIND_ROWS:
            response.metadata = request.columns_as_wanted(decrypting(response.metadata, encryption))
        return response

    def _remember_columns(
        self, request: Request, connection: Connection, response: ResultMessage, cached: object
    ) -> None:
        """Remember the columns of a result if they differ from those known for its statement.

        If ids travel, the server announces new columns by a new id; columns of a conditional
        statement without an id are for that answer alone. Without ids, the last columns are
        remembered because the same bytes need not be parsed again.
        """
        # Columns that a program's own class has read are its own: they have types of its choice.
        if len(response.metadata) and not response.metadata.raw:
            return
        metadata_id = response.result_metadata_id
        if metadata_id is not None or (
            response.metadata is not cached and not connection.wire_format & METADATA_IDS
        ):
            for prepared in request.request_body.prepared_statements():
                prepared.update_result_metadata(response.metadata, metadata_id)

    def take_keyspace(
        self, keyspace: str, connection: Connection, request: Request, response: ResultMessage
    ) -> None:
        """The server has switched `connection` to `keyspace`: switch the others before the request
        completes.

        A connection that cannot be switched is closed: no later request must run in the wrong
        keyspace. If the request's own timeout passes meanwhile, it completes all the same: the
        session is in the new keyspace already.
        """
        connection.keyspace = keyspace
        self.keyspace = keyspace
        request.response = response
        self.use_turns.begin_switch()
        task = self.see_through(request, self._switch_all(keyspace, request, response))
        task.add_done_callback(lambda _: self.use_turns.end_switch())

    async def _switch_all(self, keyspace: str, request: Request, response: ResultMessage) -> None:
        # Those that are opened from now on take the new keyspace by themselves.
        others = [
            connection
            for pool in (*self.pools.values(), *self._opening_pools)
            for connection in pool.connections
            if connection.keyspace != keyspace or connection.gate is not None
        ]
        results = await asyncio.gather(
            *(switch(self, other, keyspace) for other in others), return_exceptions=True
        )
        for other, result in zip(others, results, strict=True):
            if isinstance(result, Exception):
                other.close(
                    ConnectionException(
                        f"{other.endpoint} could not use keyspace {keyspace!r}: {result}"
                    )
                )
        request.finish(response)

    async def use(self, connection: Connection, keyspace: str) -> None:
        """Have `connection`, on which nothing else is in flight that depends on it, use `keyspace`.

        :raises OperationTimedOut: if no answer came in time; the connection is given up.
        :raises DriverException: the server's refusal.
        """
        # Quoted, because a bare name would be folded to lower case. The answer is SET_KEYSPACE, or
        # an error.
        try:
            await self.core.internal_queries.query(connection, f"USE {escape_name(keyspace)}")
        except (OperationTimedOut, asyncio.CancelledError):
            connection.give_up("a USE on it was abandoned")
            raise
        connection.keyspace = keyspace

    def let_through(self, request: Request, attempt: Attempt, connection: Connection) -> bool:
        """Say whether a request may be sent on a connection that is not in its keyspace.

        :returns: False if the request waits, or was sent on another connection.
        :raises InvalidRequest: if it can be sent nowhere.
        """
        if can_pass(self, request, connection):
            return True
        body: Any = request.request_body
        if connection.is_control_connection and body.expected != self.keyspace:
            raise InvalidRequest(
                "the control connection, which all sessions share, is in the keyspace "
                f"{connection.keyspace!r}, and cannot serve a request in another one"
            )
        if not body.is_use:
            other = self._fitting(attempt.host, body.expected)
            if other is not None:
                attempt.connection = other
                request.send(attempt, other)
                return False
        request._waits += 1
        hold(self, connection, HeldRequest(request, attempt))
        return False

    def _fitting(self, host: Host, keyspace: object) -> Connection | None:
        """Return a connection to `host` that takes a request in `keyspace` at once, or None."""
        pool = self.pools.get(host)
        fitting = [
            connection
            for connection in (pool.connections if pool is not None else ())
            if connection.gate is None and connection.keyspace == keyspace
        ]
        found: Connection | None = happy_path.first_with_room(fitting)
        return found

    def on_schema_change(
        self,
        event: Mapping[str, Any],
        connection: Connection,
        request: Request,
        response: Any,
    ) -> None:
        """A DDL statement was executed: the request completes when the nodes agree on the schema,
        or the wait is over.

        The changed part is then read again, before the caller that waits for the request can look
        at the metadata. The change itself is made: if the request's own timeout passes meanwhile,
        it completes with this answer.
        """
        # The request's timeout may end the wait with this very answer.
        response.is_schema_agreed = False
        request.response = response
        self.see_through(request, self._agree(event, connection, request, response))

    async def _agree(
        self,
        event: Mapping[str, Any],
        connection: Connection,
        request: Request,
        response: Any,
    ) -> None:
        agreed = False
        try:
            agreed = await self.core.agreement.wait(connection)
        except Exception as error:
            log.warning("the wait for schema agreement failed: %s", error)
        await self.core.schema.after_ddl(event, connection)
        if not request.done:
            response.is_schema_agreed = agreed
            request.finish(response)

    async def wait_for_schema_agreement(
        self, scope: SchemaAgreementScope, max_wait: float | None
    ) -> bool:
        """Ask each host in `scope` that a pool is open to for its schema version, until all give
        one; false after `max_wait` seconds.
        """
        wait = self.core.agreement.longest_wait if max_wait is None else max_wait
        return await wait_for_one_version(
            lambda: self._schema_versions(scope), wait, self.core.loop.time
        )

    async def _schema_versions(self, scope: SchemaAgreementScope) -> set[Any]:
        if self.closed:
            raise self.closed_error()
        return await versions_in(scope, self.pools.values(), self.core.internal_queries.rows)

    def see_through(
        self, request: Request, coroutine: Coroutine[Any, Any, None]
    ) -> asyncio.Task[Any]:
        """Run the coroutine that `request` waits for.

        The request fails with any error that ends the coroutine early, also if it is cancelled
        before its first step.
        """

        def ended(task: asyncio.Task[Any]) -> None:
            if task.cancelled() and request.response is not None:
                request.finish(request.response)  # a change of the schema: it was made
            elif task.cancelled():
                request.fail(self.closed_error())
            elif (error := task.exception()) is not None:
                request.fail(failure_of(error))

        task = self._spawn(coroutine)
        task.add_done_callback(ended)
        return task

    def run_in_background(self, coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[Any]:
        """Run a coroutine that ends with the session at the latest."""
        return self._spawn(coroutine)

    def _spawn(self, coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[Any]:
        task = self.core.spawn(coroutine)
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        return task

    # -- end ---------------------------------------------------------------------------------------

    def closed_error(self) -> Exception:
        """Return the error of a request on a closed session."""
        message = "the session is shut down"
        closed = {
            str(host): ConnectionShutdown(f"the pool of {host} is closed", host.endpoint)
            for host in self._hosts_before
        }
        return SessionShutdown(message, closed)

    def close(self) -> None:
        """Close all pools; requests in flight get an error that says so."""
        if self.closed:
            return
        # First: a request that loses its connection below must not try another host.
        self.closed = True
        self._hosts_before = list(self.pools)
        error = self.closed_error()
        for task in list(self._background):
            task.cancel()
        for host in list(self.pools):
            self.remove_pool(host, error)
        # A copy: a retry that fails takes itself out of the set.
        for delayed in list(self.delayed):
            delayed.fail(error)
        self.use_turns.fail_all(error)
        if self.throttle is not None:
            self.throttle.fail_all_of(self, error)
        self.core.query_fallback.release(self)
        self.core.sessions.remove(self)
