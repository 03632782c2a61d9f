"""The engine's part of one session: its connection pools and its keyspace.

This module also reacts to responses that change the keyspace or the schema.
"""

from __future__ import annotations

import asyncio
import logging
import math
import warnings
from functools import partial
from typing import TYPE_CHECKING, Any

from cassandra._logs import Log
from cassandra.engine.connection import METADATA_IDS, Connection
from cassandra.engine.datacenters import unknown_local_datacenter
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
from cassandra.policies.reconnection import delays_of
from cassandra.policies.token_aware import plans_in_any_thread
from cassandra.protocol.converted import converting
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

    from cassandra.codecs.registry import CodecRegistry
    from cassandra.engine import happy_path
    from cassandra.engine.core import Core
    from cassandra.engine.happy_path import Attempt, RequestBase
    from cassandra.engine.interfaces import Ending
    from cassandra.engine.request_bodies import AnyBody
    from cassandra.engine.workers import WorkerSession
    from cassandra.metadata.host import Host
    from cassandra.protocol.column_specs import ResultMetadata
else:
    from cassandra._impl import happy_path

log = Log("cassandra.cluster")

_HOSTS_SHOWN = 3  # a message names at most this many hosts

# When the first pool is ready, `open` (and thus connect()) waits at most this long for the other
# pools.
SLOW_POOLS_WAIT = 0.05  # seconds
# If a session is garbage collected, its connections are closed after this delay, with a warning.
# Tests and scripts often shut their cluster down within this time, and need no warning.
DROPPED_WAIT = 5.0  # seconds


class EngineSession(ObservedSession):
    """The engine's part of a session. `pools` has its connection pool for each host.

    `distance` is called with a host, and returns its distance according to the load balancing
    policies. A host that all policies ignore gets no pool.
    """

    __slots__ = (
        "__weakref__", "_background", "_hosts_at_close", "_missing_keyspace", "_opening",
        "_opening_pools", "_pool_errors", "codecs", "delayed", "direct_policy", "distance",
        "draining", "followers", "loop", "pools", "use_turns",
    )  # fmt: skip

    core: Core

    def __init__(self, core: Core, keyspace: str | None, distance: Callable[[Host], int]) -> None:
        self.core = core
        self.keyspace = keyspace
        # The session's user-defined converters; None until the public session sets them.
        self.codecs: CodecRegistry | None = None
        self.distance = distance
        self.loop = core.loop
        self.timers = core.timers
        self.pools: dict[Host, HostPool] = {}
        # The pools of `pools` by id(host), for a faster look-up: query plans usually yield the same
        # host objects that are keys of `pools`.
        self.pools_by_id: dict[int, HostPool] = {}
        self.closed = False
        # Retries that wait for their delay. Their requests are not on any connection during the
        # delay, so closing the pools does not end them. `close` must end them.
        self.delayed: InsertionOrdered[Ending] = InsertionOrdered()
        # The load balancing policy for which `plans_anywhere` last returned True, which means that
        # the policy may make query plans in any thread.
        self.direct_policy: object = None
        # The hosts that had pools when the session was closed, for errors of later requests.
        self._hosts_at_close: list[Host] = []
        self.observe()  # sets the attributes of `ObservedSession`; the session has no observers yet
        # The last error of each host whose pool could not be opened or was lost.
        self._pool_errors: dict[Host, Exception] = {}
        # The session's keyspace, if a warning was logged that it does not exist; else None.
        self._missing_keyspace: str | None = None
        # The tasks that are opening pools.
        self._opening: dict[Host, asyncio.Task[None]] = {}
        # Pools that are being opened by `fill`. They are not in `pools` yet, but a change of the
        # session's keyspace must also switch their open connections.
        self._opening_pools: InsertionOrdered[HostPool] = InsertionOrdered()
        # Pools of hosts that will stop soon. They take no new requests, and are removed when their
        # requests in flight are over.
        self.draining: InsertionOrdered[HostPool] = InsertionOrdered()
        self.use_turns = UseTurns()
        # The sessions of workers that open the same pools (see `cassandra.engine.workers`).
        self.followers: tuple[WorkerSession, ...] = ()
        # The running tasks of this session, which `close` cancels.
        self._background: InsertionOrdered[asyncio.Task[Any]] = InsertionOrdered()

    @property
    def working_keyspace(self) -> str | None:
        """The keyspace of the application's session, for observers and policies."""
        return self.keyspace

    # -- pools -------------------------------------------------------------------------------------

    async def open(self, wait_for_all: bool = False) -> None:
        """Open a pool for each host that the load balancing policies do not ignore.

        :param wait_for_all: False to return soon after the first pool is ready, True to wait until
            each pool is open or has failed.
        :raises NoHostAvailable: with the error of each host, if no pool could be opened, and
            requests may not use the control connection.
        """
        # Include hosts whose `is_up` is None. Nobody has tried to connect to them yet; opening a
        # pool shows whether they are up.
        hosts = [host for host in self.core.metadata.all_hosts() if host.is_up is not False]
        opening = [self.core.spawn(self.add_pool(host)) for host in hosts if self._wants_pool(host)]
        if not self.core.query_fallback.opens_pools:
            return
        # If the application has allowed it, a session without pools uses the control connection.
        # It opens pools when hosts come up, or when the policies begin to use hosts.
        if not opening and not self.core.query_fallback.is_allowed:
            raise NoHostAvailable(self._no_host_message(), {})
        for task in opening:
            self._background.add(task)
            task.add_done_callback(self._background.discard)
        pending: set[asyncio.Task[None]] = set(opening)
        # Wait for the first pool. Then wait for the other pools, at most for a short time unless
        # `wait_for_all` is true.
        while pending and not self.pools:
            _, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
        if pending:
            await asyncio.wait(pending, timeout=None if wait_for_all else SLOW_POOLS_WAIT)
        if self.closed:
            raise self.closed_error()
        if not self.pools and not self.core.query_fallback.is_allowed:
            errors = {str(host): error for host, error in self._pool_errors.items()}
            if (voter := self.host_without_tokens) is not None:
                errors[str(voter)] = self.why_no_pool(voter)
            raise NoHostAvailable("Unable to connect to any servers", errors) from fault_among(
                errors.values()
            )

    def _no_host_message(self) -> str:
        """Return the message for a session without any host to connect to."""
        message = self._why_no_host()
        voter = self.host_without_tokens
        return message if voter is None else f"{message}; {self.why_no_pool(voter)}"

    def _why_no_host(self) -> str:
        """Return why the policies use none of the hosts.

        Usually the reason is a wrong name of a data centre in a policy, so look for that first.
        """
        hosts = self.core.metadata.all_hosts()
        message = unknown_local_datacenter(self.core.listeners.policies, hosts)
        if message:
            return message
        # Otherwise hosts are down or ignored. If all hosts are ignored, name some of the hosts, of
        # which the policy must include at least one.
        ignored = sum(self.distance(host) == HostDistance.IGNORED for host in hosts)
        counts = f" (hosts: {len(hosts)}, ignored: {ignored})" if ignored else ""
        message = f"no host is up and not ignored by the load balancing policy{counts}"
        if hosts and ignored == len(hosts):
            policies = {type(policy).__name__ for policy in self.core.listeners.policies}
            shown = ", ".join(str(host.endpoint) for host in hosts[:_HOSTS_SHOWN])
            message += f": {' and '.join(sorted(policies))} must include one of {shown}"
            if len(hosts) > _HOSTS_SHOWN:
                message += ", ..."
        return message

    def adopt_without_use(self, keyspace: str) -> bool:
        """Set the keyspace that was passed to `connect` without sending USE, if there are no pools.

        Without pools, requests are sent on the control connection. All sessions share it, so
        `cassandra.engine.control.fallback_requests` rejects each USE.

        :returns: False if there are pools, so that the caller must execute USE.
        """
        if self.pools or not self.core.query_fallback.is_allowed:
            return False
        self.keyspace = keyspace
        return True

    def _wants_pool(self, host: Host) -> bool:
        """Return True if the session should have a pool to `host`."""
        return self.core.query_fallback.opens_pools and self.distance(host) != HostDistance.IGNORED

    async def add_pool(self, host: Host) -> None:
        """Open a pool to `host` and wait until it is open or has failed. Do nothing if it exists.

        A failure is not raised. It is recorded for `pool_error`, and reported to the host watch,
        which decides whether hosts are up or down.
        """
        if self.closed or host in self.pools or not self._wants_pool(host):
            return
        # If another call is opening this pool already, wait for the same task.
        opening = self._opening.get(host)
        if opening is None:
            opening = self._opening[host] = self._spawn(self._open_pool(host))
            opening.add_done_callback(lambda task: self._on_pool_task_done(host, task))
        # Do not await the task itself: a cancellation of this caller would then cancel the task,
        # although other callers may wait for it. `asyncio.wait` does not cancel the task. It also
        # raises no error here if the task is cancelled because the session is closed.
        await asyncio.wait({opening})

    def _on_pool_task_done(self, host: Host, task: asyncio.Task[None]) -> None:
        """Remove `task`, which has ended, from `_opening`, unless a newer task has replaced it."""
        if self._opening.get(host) is task:
            del self._opening[host]

    async def _open_pool(self, host: Host) -> None:
        """Open a pool to `host`, and add it to `pools`. If that fails, record the error."""
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
        except BaseException:  # the task was cancelled: nobody else would close this pool
            pool.close()
            raise
        finally:
            self._opening_pools.discard(pool)
        # Check again, because the session may have been closed or another pool added during `fill`.
        if self.closed or host in self.pools:
            pool.close()
            return
        self._pool_errors.pop(host, None)
        self.pools[host] = pool
        self.pools_by_id[id(host)] = pool
        self._resize(pool)  # the settings may have changed in the meantime
        self._notify_followers()
        self.core.hosts.on_answer(host)

    def _new_pool(self, host: Host, distance: int) -> HostPool:
        """Create a pool to `host`. It has no connections yet."""
        settings = self.core.settings
        size = settings.connections_to(distance)
        owner = PoolOwner(
            open_connection=self._open_connection,
            on_failure=self._on_failure,
            spawn=self.core.spawn,
            new_schedule=lambda: delays_of(settings.reconnection_policy),
            # The pool compares numbers, so None becomes infinity.
            most_waiting=(
                math.inf if settings.max_waiting_requests is None else settings.max_waiting_requests
            ),
            on_doubt=self.core.heartbeats.check,
        )
        # Only ScyllaDB nodes have shards; a `ShardPool` also works for hosts without shards.
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
        """Open and close connections until each pool has the number that the settings demand."""
        for pool in self.pools.values():
            self._resize(pool)
        self._notify_followers()

    def all_pools(self) -> list[HostPool]:
        """Return the pools of this session and of its followers (see the module `workers`).

        Any thread may call this.
        """
        return [
            pool for session in (self, *self.followers) for pool in list(session.pools.values())
        ]

    def pools_to(self, host: Host) -> list[HostPool]:
        """Return the pools to `host` of this session and of its followers.

        Any thread may call this method.
        """
        pools = [session.pools.get(host) for session in (self, *self.followers)]
        return [pool for pool in pools if pool is not None]

    def draining_pools(self) -> list[HostPool]:
        """Return the draining pools of this session and of its followers.

        Any thread may call this method.
        """
        return [pool for session in (self, *self.followers) for pool in list(session.draining)]

    def _notify_followers(self) -> None:
        """Let workers open or close pools, because the pools of this session have changed."""
        for follower in self.followers:
            follower.follow_soon()

    def _resize(self, pool: HostPool) -> None:
        pool.resize(self.core.settings.connections_to(pool.distance))

    def follow_distances(self) -> None:
        """Open pools to hosts that are not ignored any more, and close the pools of ignored hosts.

        Called when the policies may have changed the distances of hosts.
        """
        if self.closed:
            return
        # For each host: close its pool, resize it, or open a pool.
        for host in self.core.metadata.all_hosts():
            is_wanted = self._wants_pool(host)
            pool = self.pools.get(host)
            if pool is not None and not is_wanted:
                # Keep the pool while it has requests in flight, and check again later. It gets no
                # new requests, because query plans do not contain an ignored host.
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
            elif is_wanted and host not in self._opening:
                # If the host is down, the host watch tries to reach it first.
                if host.is_up is False:
                    self.core.hosts.on_wanted(host)
                else:
                    self._spawn(self.add_pool(host))
        self._notify_followers()  # distances may have changed

    def on_missing_pool(self, host: Host) -> None:
        """Called when a query plan has a host to which the session has no pool.

        A user's policy may have begun to use the host without any event, for example after a
        failover flag was set. If no attempt to open a pool has failed, compare the distances again.
        """
        if (
            self.core.query_fallback.opens_pools
            and host not in self._opening
            and self.pool_error(host) is None
        ):
            self.core.sessions.follow_distances_soon()

    async def _open_connection(self, host: Host, target: ShardTarget | None = None) -> Connection:
        """Open a connection to `host` in the session's keyspace; pools call this.

        :param target: the shard and port to connect to (ScyllaDB); None for any shard.
        """
        connection = await self.core.open_connection_to(host, target)
        # Notify the control connection that a host was reached, even if the host was not marked as
        # down. If the control connection is waiting to reconnect, it tries again now.
        self.core.control.on_host_up()
        # Repeat this until the connection is in the session's keyspace: the session may switch to
        # another keyspace while we wait for the response to a USE.
        while self.keyspace is not None and connection.keyspace != self.keyspace:
            keyspace = self.keyspace
            try:
                await self.use(connection, keyspace)
            except InvalidRequest as error:
                # The keyspace was dropped. The node itself works, so keep the connection for
                # statements that name their keyspace. Other statements wait at the connection's
                # keyspace gate, which sends USE again and raises its error.
                if self._lacks_keyspace(keyspace):
                    # Warn only once: the USE on each new connection fails until the keyspace is
                    # created again.
                    level = logging.DEBUG if keyspace == self._missing_keyspace else logging.WARNING
                    self._missing_keyspace = keyspace
                    log.log(level, "%s cannot use the keyspace %r: %s", host, keyspace, error)
                    break
                connection.close()
                raise
            except BaseException:
                connection.close()
                raise
            self._missing_keyspace = None
        if self.core.wake_queue is not None:
            connection.wake_queue = self.core.wake_queue
            connection.write_directly()
        return connection

    def _lacks_keyspace(self, keyspace: str) -> bool:
        """Return True if, as far as we know, no node has `keyspace`.

        If False, only the node that rejected the USE does not know the keyspace yet, and requests
        should go to other nodes.
        """
        # Without any open connection, there are no other nodes to which requests could go.
        if not any(pool.connections for pool in self.pools.values()):
            return True
        replication = self.core.metadata.replication
        return bool(replication) and keyspace not in replication

    def plans_anywhere(self, policy: object) -> bool:
        """Return True if `policy` can make query plans in any thread; then remember the policy."""
        if not plans_in_any_thread(policy):
            return False
        self.direct_policy = policy
        return True

    def _on_failure(self, pool: HostPool, error: Exception) -> None:
        """Remove a pool that has lost its last connection and could not open another connection."""
        self._pool_errors[pool.host] = error
        self.remove_pool(pool.host, error)
        self.core.hosts.on_connection_failure(pool.host, error)

    def remove_pool(self, host: Host, error: Exception | None = None) -> None:
        """Close the pool of `host`, if it exists."""
        pool = self._pop_pool(host)
        if pool is not None:
            pool.close(error)

    def _pop_pool(self, host: Host) -> HostPool | None:
        """Remove the pool of `host` from the session and return it; None if there is no pool.

        The pool gets no more requests.
        """
        pool = self.pools.pop(host, None)
        if pool is not None:
            # Use the id of the pool's host: `host` may be an equal, but different object.
            self.pools_by_id.pop(id(pool.host), None)
            self._notify_followers()
        return pool

    def drain_host(self, host: Host, error: Exception) -> None:
        """Send no more requests to `host`, which will stop soon. Requests in flight are completed.

        :param error: the reason; added to the error of a request that finds no other host.
        """
        self._stop_opening(host)
        pool = self._pop_pool(host)
        if pool is not None:
            self._pool_errors[host] = error
            self.draining.add(pool)
            pool.drain(error, self.draining.discard)

    def _stop_opening(self, host: Host) -> None:
        opening = self._opening.pop(host, None)
        if opening is not None:
            opening.cancel()

    def forget_host(self, host: Host, error: Exception) -> None:
        """Called when `host` has left the cluster: close its pool, or stop opening it."""
        self._stop_opening(host)
        self._pool_errors.pop(host, None)
        self.remove_pool(host, error)

    def pool_error(self, host: Host) -> Exception | None:
        """Return the last error because of which there is no pool to `host`, or None.

        The result is None if there is a pool, or if no error is known. Otherwise it is the error
        with which the pool could not be opened or was lost. For a host that is down, it may be the
        error of a later attempt to connect to the host.
        """
        if host in self.pools:
            return None
        error = self._pool_errors.get(host)
        # Each error of a pool is also reported as a failure of its host. So `host.last_failure` is
        # at least as new as `error`: return `host.last_failure`.
        if host.last_failure is not None and (host.is_up is False or error is not None):
            return host.last_failure
        return error

    @property
    def host_without_tokens(self) -> Host | None:
        """The host of the control connection if it is none of the cluster's hosts; else None.

        Such a host is a node of ScyllaDB without tokens (see `NodeListReader.read`). Applications
        may have named it on purpose, so errors must say why it gets no requests.
        """
        host = self.core.control.current_host
        return None if host in self.core.metadata.all_hosts() else host

    def why_no_pool(self, host: Host) -> Exception:
        """Return the error that a request records for `host` if the session has no pool to it."""
        error = self.pool_error(host)
        if host == self.host_without_tokens:
            return ConnectionException(
                f"{host.endpoint} has no tokens, so it gets no requests "
                "(allow_control_connection_query_fallback lets requests that name no host use the "
                "control connection)",
                host.endpoint,
            )
        if error is None and host not in self.core.metadata.all_hosts():
            return ConnectionException(
                f"{host} is not in this cluster, or has left it: session.cluster.metadata."
                "all_hosts() has the hosts",
                host.endpoint,
            )
        return error or ConnectionException(f"no connection to {host} is open", host.endpoint)

    # -- responses ---------------------------------------------------------------------------------

    def decode(
        self,
        request: RequestBase,
        attempt: Attempt,
        connection: Connection,
        opcode: int,
        flags: int,
        body: bytes,
    ) -> Any:
        """Decode the response to `request`.

        :raises ProtocolError: if the response is malformed, or not valid for this request.
        """
        request_body = request.request_body
        cql = request_body.statement_text()
        # The result columns that were cached for the prepared statement when the attempt was sent.
        cached_columns = attempt.columns
        # If a user-defined handler turns a RESULT into an object of another class, return that
        # object unchecked.
        if request_body.decodes and isinstance(request_body, MessageBody):
            response = self._decode_by_handler(
                request_body.handler, connection, opcode, flags, body, cached_columns
            )
            if not isinstance(response, ResultMessage):
                if opcode != RESULT:
                    check_answer(request_body.opcode, cql, opcode, None, connection.endpoint)
                return response
        else:
            response = decode_response(
                opcode,
                flags,
                body,
                connection.version,
                connection.features,
                self.core.user_types,
                cached_columns,
            )
        # The response must be one that the protocol allows for this request.
        kind = response.kind if opcode == RESULT else None
        check_answer(request_body.opcode, cql, opcode, kind, connection.endpoint)
        # Cache the columns if they are new. Then let the rows be decoded with decryption, with the
        # application's converters, and to the requested type of vectors.
        if kind == RESULT_KIND_ROWS:
            if cached_columns is not None:
                self._remember_columns(request, connection, response, cached_columns)
            columns = self._columns_as_read(request_body, response.metadata)
            response.metadata = request.columns_for_vectors(columns)
        return response

    def _decode_by_handler(
        self,
        handler: Any,
        connection: Connection,
        opcode: int,
        flags: int,
        body: bytes,
        cached_columns: Any,
    ) -> Any:
        """Let a user-defined protocol handler decode a response."""
        encryption = self.core.settings.column_encryption_policy
        decode = encrypting_handler(handler, encryption).decode_message
        # The body is decompressed already, so the decompressor is None. Handlers do not use the
        # stream, so it is 0.
        arguments = (self.core.user_types, 0, flags, opcode, body, None, cached_columns)
        # Only newer handlers have a parameter for the protocol features.
        if takes_features(decode):
            return decode(connection.version, connection.features, *arguments)
        return decode(connection.version, *arguments)

    def _columns_as_read(self, request_body: AnyBody, metadata: ResultMetadata) -> ResultMetadata:
        """Return `metadata`, changed so that values are decrypted and converted when they are read.

        The converters are those that the application has registered for CQL types. A prepared
        statement uses the converters of the session that prepared it, because its values were bound
        with them. Other statements use this session's converters.
        """
        for prepared in request_body.prepared_statements():
            # Return in the first iteration: the sequence has at most one statement.
            return prepared.columns_as_read(metadata)
        metadata = decrypting(metadata, self.core.settings.column_encryption_policy)
        codecs = self.codecs
        return metadata if codecs is None else converting(metadata, codecs.converters)

    def _remember_columns(
        self, request: RequestBase, connection: Connection, response: ResultMessage, cached: object
    ) -> None:
        """Cache the columns of a result for its prepared statement, if they are new.

        If the protocol has metadata ids, the server sends a new id together with new columns.
        Columns without an id are then not cached: they come from a conditional statement, whose
        columns depend on whether it was applied, and are valid for this response only. If the
        protocol has no metadata ids, the latest columns are always cached, to avoid parsing the
        same bytes again.
        """
        # Do not cache columns that an application's own message class has decoded, because they may
        # have other types. Such columns lack `raw`, the bytes that the server has sent.
        if len(response.metadata) and not response.metadata.raw:
            return
        metadata_id = response.result_metadata_id
        if metadata_id is not None or (
            response.metadata is not cached and not connection.wire_format & METADATA_IDS
        ):
            for prepared in request.request_body.prepared_statements():
                prepared.update_result_metadata(response.metadata, metadata_id)

    def adopt_keyspace(
        self, keyspace: str, connection: Connection, request: RequestBase, response: ResultMessage
    ) -> None:
        """Set the session's keyspace after a USE, and switch the other connections.

        Called when the server has executed the USE of `request` on `connection`. When all
        connections were switched, the request ends. A connection on which a further USE fails is
        closed, because no later request may run in the wrong keyspace. If the request times out
        while the other connections are being switched, it completes normally, because the session
        is in the new keyspace already.

        :param connection: the connection on which the USE was executed.
        :param request: the request of the USE.
        :param response: the server's response, with which the request completes.
        """
        connection.keyspace = keyspace
        self.keyspace = keyspace
        request.response = response
        self.use_turns.begin_switch()
        task = self.run_for(request, self._switch_all(keyspace, request, response))
        task.add_done_callback(lambda _: self.use_turns.end_switch())

    async def _switch_all(
        self, keyspace: str, request: RequestBase, response: ResultMessage
    ) -> None:
        """Send USE on the session's other connections, and then complete the request."""
        # `_open_connection` uses the new keyspace for connections that are opened from now on. A
        # connection with a gate is in the middle of another switch, so switch it again afterwards.
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
            # If the USE failed, this connection may still be in the old keyspace: close it.
            if isinstance(result, Exception):
                other.close(
                    ConnectionException(
                        f"{other.endpoint} could not use keyspace {keyspace!r}: {result}"
                    )
                )
        request.finish(response)

    async def use(self, connection: Connection, keyspace: str) -> None:
        """Execute USE on `connection`. No request in flight on it may depend on the keyspace.

        :raises OperationTimedOut: if no response came in time. The pool then replaces the
            connection.
        :raises DriverException: if the server rejects the USE.
        """
        # Quote the name if necessary: the server changes unquoted names to lower case.
        try:
            await self.core.internal_queries.query(connection, f"USE {escape_name(keyspace)}")
        except (OperationTimedOut, asyncio.CancelledError):
            connection.give_up("a USE on it was abandoned")
            raise
        connection.keyspace = keyspace

    def pass_or_hold(self, request: RequestBase, attempt: Attempt, connection: Connection) -> bool:
        """Decide what to do with a request whose connection may be in the wrong keyspace.

        There are three cases: the request can be sent on `connection` nevertheless; this method
        sends it on another connection to the host; or it waits at the keyspace gate of `connection`
        (a queue, see `cassandra.engine.keyspace_gate`).

        :returns: True if the caller must send the request on `connection`; False if the request
            waits or was sent on another connection.
        :raises InvalidRequest: if the request cannot be sent at all.
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
            other = self._find_connection_in(attempt.host, body.expected)
            if other is not None:
                attempt.connection = other
                request.send(attempt, other)
                return False
        # Count this wait as a pending step. A request fails if its plan is exhausted, no attempt is
        # in flight, and `_waits` is 0.
        request._waits += 1
        hold(self, connection, HeldRequest(request, attempt))
        return False

    def _find_connection_in(self, host: Host, keyspace: object) -> Connection | None:
        """Return a connection to `host` that is in `keyspace` and has a free stream, or None."""
        pool = self.pools.get(host)
        # Leave out connections with a keyspace gate, because they may be switched to another
        # keyspace soon.
        candidates = [
            connection
            for connection in (pool.connections if pool is not None else ())
            if connection.gate is None and connection.keyspace == keyspace
        ]
        return happy_path.first_with_room(candidates)

    def on_schema_change(
        self,
        event: Mapping[str, Any],
        connection: Connection,
        request: RequestBase,
        response: Any,
    ) -> None:
        """Wait for schema agreement after a DDL statement, read the change, then end the request.

        Called when the server has executed the DDL statement of `request`. When the application's
        call returns, the metadata contains the change. If the request times out before that, it
        completes normally with `response`, because the server has made the change.
        """
        # If the request times out during the wait, `on_timeout` finishes it with this response.
        response.is_schema_agreed = False
        request.response = response
        self.run_for(request, self._agree(event, connection, request, response))

    async def _agree(
        self,
        event: Mapping[str, Any],
        connection: Connection,
        request: RequestBase,
        response: Any,
    ) -> None:
        """Wait for schema agreement, read the changed part of the schema, and complete the request.

        If the wait or the reading fails, the request nevertheless succeeds.
        """
        is_schema_agreed = False
        try:
            is_schema_agreed = await self.core.agreement.wait(connection)
        except Exception as error:
            log.warning("the wait for schema agreement failed: %s", error)
        await self.core.schema.after_ddl(event, connection)
        if not request.done:
            response.is_schema_agreed = is_schema_agreed
            request.finish(response)

    async def wait_for_schema_agreement(
        self, scope: SchemaAgreementScope, max_wait: float | None
    ) -> bool:
        """Ask each connected host in `scope` for its schema version, until all versions are equal.

        :param max_wait: seconds to wait; None for the cluster's setting.
        :returns: False if the versions still differ after `max_wait`.
        """
        seconds = self.core.agreement.longest_wait if max_wait is None else max_wait
        return await wait_for_one_version(
            lambda: self._schema_versions(scope), seconds, self.core.loop.time
        )

    async def _schema_versions(self, scope: SchemaAgreementScope) -> set[Any]:
        if self.closed:
            raise self.closed_error()
        return await versions_in(scope, self.pools.values(), self.core.internal_queries.rows)

    def run_for(
        self, request: RequestBase, coroutine: Coroutine[Any, Any, None]
    ) -> asyncio.Task[Any]:
        """Run a coroutine that calls `request.finish` at its end.

        If the coroutine raises an error, the request fails with that error. If the coroutine is
        cancelled, the request ends, too: with its response if it has one, otherwise with
        `closed_error`.
        """

        def on_task_done(task: asyncio.Task[Any]) -> None:
            if task.cancelled():
                if request.response is not None:
                    # The server has executed the statement, a USE or DDL statement.
                    request.finish(request.response)
                else:
                    request.fail(self.closed_error())
            elif (error := task.exception()) is not None:
                request.fail(failure_of(error))

        task = self._spawn(coroutine)
        task.add_done_callback(on_task_done)
        return task

    def run_in_background(self, coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[Any]:
        """Run a coroutine as a task, which is cancelled when the session is closed."""
        return self._spawn(coroutine)

    def _spawn(self, coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[Any]:
        task = self.core.spawn(coroutine)
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        return task

    # -- end ---------------------------------------------------------------------------------------

    def closed_error(self, was_sent: bool = False) -> Exception:
        """Return the error of a request on a closed session.

        :param was_sent: True if the request was sent before the session was closed.
        """
        message = "the session is shut down"
        if was_sent:
            message = (
                "the session was shut down before the response came; the server may have executed "
                "the request"
            )
        errors = {
            str(host): ConnectionShutdown(f"the pool of {host} is closed", host.endpoint)
            for host in self._hosts_at_close
        }
        return SessionShutdown(message, errors)

    def on_dropped(self) -> None:
        """Close the pools after DROPPED_WAIT seconds, when no request is in flight.

        Called on the loop when the application's session and its copies were garbage collected
        without `shutdown`.
        """
        self.loop.call_later(DROPPED_WAIT, self._close_if_idle)

    def _close_if_idle(self) -> None:
        """Close a session that the application has dropped, and issue a warning.

        If the driver itself still uses the session's connections, check again later.
        """
        if self.closed or self.core.closed:
            return
        # A request of the application would keep the session alive. So if a pool is busy, it works
        # for the driver itself.
        pools = self.all_pools()
        if any(pool.is_busy for pool in (*pools, *self.draining_pools())):
            self.on_dropped()
            return
        count = sum(len(pool.open_connections()) for pool in pools)
        self.close()
        warnings.warn(
            f"a Session was dropped without shutdown(): its connections ({count}) are closed now. "
            "One session serves all threads, tasks and requests",
            ResourceWarning,
            stacklevel=1,
        )

    def close(self) -> None:
        """Close all pools. Requests in flight fail with `closed_error`."""
        if self.closed:
            return
        # Set `closed` first: requests that lose their connections below must see that the session
        # is closed, and must not try another host.
        self.closed = True
        self._hosts_at_close = list(self.pools)
        error = self.closed_error()
        for task in list(self._background):
            task.cancel()
        for host in list(self.pools):
            self.remove_pool(host, error)
        for pool in list(self.draining):
            pool.close(error)
        # Iterate over a copy: `fail` ends the request, which removes its delayed retry from the
        # set.
        for delayed in list(self.delayed):
            delayed.fail(self.closed_error(was_sent=True))
        self.use_turns.fail_all(error)
        if self.throttle is not None:
            self.throttle.fail_all_of(self, error)
        self.core.query_fallback.release(self)
        self.core.sessions.remove(self)
        self._notify_followers()
