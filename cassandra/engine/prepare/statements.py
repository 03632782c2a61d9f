"""Prepares statements.

Callers that prepare the same CQL at the same time share one PREPARE. A statement is first prepared
on one host, then on the session's other hosts, and again on each host that comes up.
"""

from __future__ import annotations

import asyncio
import itertools
import weakref
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from cassandra._logs import Log
from cassandra.engine.prepare.body import prepare_body
from cassandra.engine.prepare.changes import SchemaChanges
from cassandra.engine.prepare.rebind import adopt_columns, adopt_key, changes_of, has_key
from cassandra.engine.prepare.registry import StatementRegistry
from cassandra.engine.prepare.reprepare import guard, revoke_id, take_over
from cassandra.engine.prepare.schema_types import has_types_of_schema, is_of_clause, key_positions
from cassandra.engine.prepare.sending import Send, send_to_one
from cassandra.engine.request_bodies import PrepareBody
from cassandra.engine.waiting import outcome_of
from cassandra.errors import DriverException, OperationTimedOut
from cassandra.policies.balancing import HostDistance
from cassandra.protocol.opcodes import PREPARE
from cassandra.query.conditional import is_conditional
from cassandra.query.keyspace_texts import is_use, names_its_keyspace
from cassandra.query.prepared import (
    PreparedStatement,
    add_schema_reader,
    remember,
    statements_made_with,
    statements_with,
)
from cassandra.query.prepared_use import PreparedUse
from cassandra.query.recently_used import RecentlyUsed
from cassandra.query.statement import query_head

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
    from cassandra.protocol.column_specs import ColumnMetadata, UserTypes
    from cassandra.protocol.messages.results import ResultMessage

# The statements that were prepared for CQL strings, by (keyspace, CQL).
PreparedTexts = RecentlyUsed[tuple[str | None, str], PreparedStatement]

_Result = TypeVar("_Result")

log = Log("cassandra.cluster")

# The number of statements that are prepared concurrently on a host that came up.
PARALLEL_PREPARES = 16
# After `prepare_all_on` has skipped this many statements that cannot be prepared on a host, it lets
# the loop handle other events.
LEFT_OUT_AT_ONCE = 256
# `prepare` waits at most this long for the other hosts to prepare the statement.
OTHERS_WAIT = 1.0  # seconds
# `renew` tries to prepare a statement on at most this many hosts.
MOST_RENEWAL_TRIES = 3

# The preparers of all clusters, by a number. Those of clusters that were shut down have no session.
_preparers: weakref.WeakValueDictionary[int, Preparer] = weakref.WeakValueDictionary()
_next_number = itertools.count().__next__


class Server(Protocol):
    """The features of the cluster's servers that matter for preparing."""

    @property
    def protocol_version(self) -> int:
        """The protocol version that was negotiated with the servers."""

    @property
    def marks_transactions(self) -> bool:
        """True if servers mark prepared lightweight transactions, as ScyllaDB does."""

    @property
    def user_types(self) -> UserTypes:
        """The classes that the application has registered for user-defined types."""


class _Preparation(NamedTuple):
    """The outcome of a PREPARE that several callers may share.

    :param response: the response of the first host.
    :param change_count: the number of schema changes before the PREPARE was sent.
    :param has_other_types: True if another host has described other types.
    """

    response: ResultMessage
    change_count: int
    has_other_types: bool


class Preparer:
    """Sends PREPARE requests, and keeps weak references to prepared statements.

    :param sessions: the cluster's collection of open sessions, which changes as sessions are opened
        and closed.
    :param internal_send: sends an internal request on a connection.
    :param spawn: runs a coroutine in the background.
    :param server: the features of the cluster's servers.
    :param send: sends a PREPARE to one host of a session's query plan.
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
        # The tasks that several callers may share, by their key; see `_run_shared`.
        self._running: dict[tuple[Any, ...], asyncio.Task[Any]] = {}
        self._registry = StatementRegistry(self._other_homes)  # all statements in use
        self.home = object()
        """Identifies the cluster; see `PreparedStatement.claim`."""
        # For statements of other clusters: their bind columns when they were copied, and the copies
        # that this cluster executes.
        self._adopted: weakref.WeakKeyDictionary[
            PreparedStatement, tuple[Sequence[ColumnMetadata], PreparedStatement]
        ] = weakref.WeakKeyDictionary()
        _preparers[_next_number()] = self
        add_schema_reader(self)
        self.changes = SchemaChanges()
        """The latest schema changes. Any thread may read this."""

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
        """Prepare `query`. Concurrent callers with the same CQL share one PREPARE.

        :param keyspace: the keyspace of this statement; None for the session's keyspace.
        :param working_keyspace: the session's keyspace at the time of the call; None for its
            current keyspace.
        """
        # Read the session's keyspace now, because it may have changed when the response comes.
        expected = keyspace or working_keyspace or session.keyspace
        # Callers with the same key share one PREPARE.
        key = (id(session), expected, query)
        if session.closed:
            raise session.closed_error()

        def send(seconds: float | None) -> Coroutine[Any, Any, Any]:
            request_body = PrepareBody(query, keyspace, custom_payload, expected)
            return self._send_to_all(session, request_body, expected, policy, retry_policy, seconds)

        # A plug-in of the server reads the custom payload, and the response may differ for each
        # request. So do not share a PREPARE that has a custom payload.
        if custom_payload:
            preparation = await outcome_of(self._spawn(send(timeout)))
        else:
            preparation = await self._run_shared(key, send, timeout)
        response = preparation.response
        prepared = self._make_statement(session, query, expected, response)
        remember(prepared)
        earlier = self._registry.add(prepared)
        if preparation.has_other_types or self.changes.have_affected(
            prepared, since=preparation.change_count
        ):
            # The server may have described types that its table does not have any more. So let the
            # first execution prepare the statement again and compare the types.
            revoke_id(prepared)
        else:
            self._update_all_with(response, earlier)
        return prepared

    def own_statement(self, prepared: PreparedStatement) -> PreparedStatement:
        """Return the statement that this cluster executes instead of another cluster's.

        Any thread may call this.

        :param prepared: a statement of any cluster; one of no cluster belongs to this cluster from
            now on.
        :returns: `prepared` if it belongs to this cluster, else a copy that does. The copy has an
            id that no server has, so that this cluster's types are compared with those of
            `prepared` before it is executed.
        """
        if prepared._home is self.home or prepared.claim(self.home):
            return prepared
        columns = prepared.column_metadata
        copied_columns, own = self._adopted.get(prepared, (None, prepared))
        if copied_columns is not columns:  # it binds values for other types since then
            own = prepared.copy_for(self.home)
            revoke_id(own)
            self._adopted[prepared] = columns, own
        return own

    def has_types_of(self, statement: PreparedStatement) -> bool | None:
        """Return True if the schema is known to have the types of an unpickled statement.

        :param statement: the statement.
        :returns: None if the cluster has no open session.
        """
        if not any(True for _ in self._sessions):
            return None
        columns, columns_id = statement.result_metadata_and_id
        # If servers send no id of the result's columns, they do not notice that a statement expects
        # other columns.
        if columns and not columns_id:
            return False
        markers = [marker for marker in statement.column_metadata if not is_of_clause(marker)]
        return has_types_of_schema(self._metadata, markers)

    def note_change(self, affects: Callable[[PreparedStatement], bool]) -> None:
        """Note a schema change, because statements may be prepared at the moment.

        :param affects: tells if the change affects a statement.
        """
        self.changes = self.changes.with_change(affects)

    def key_of(self, response: Any) -> Sequence[int] | None:
        """Return for each column of the partition key, in order, the index of its bind marker.

        :param response: the server's response to a PREPARE.
        :returns: an empty sequence if a column of the key has no marker; None if that is not known.
        """
        if response.pk_indexes:
            indexes: Sequence[int] = response.pk_indexes
            return indexes
        # In protocol version 3, the response has no indexes, so compute them from the schema. The
        # schema may not have the table yet.
        key = key_positions(self._metadata, response.bind_metadata)
        return () if key is None and response.pk_indexes is not None else key

    def _update_all_with(self, response: Any, earlier: PreparedStatement) -> None:
        """Update all statements with an id from the bind columns that the server has now.

        :param response: the server's response to a PREPARE, with the id.
        :param earlier: a statement in the registry. Those with its id are alike, because each of
            them was compared when it was added.
        """
        query_id, columns = response.query_id, response.bind_metadata
        key = self.key_of(response)
        # Copies and unpickled statements were not compared with the others.
        statements = [
            statement for statement in statements_with(query_id) if self._may_be_own(statement)
        ]
        if earlier.query_id == query_id:
            statements.append(earlier)
        if any(changes_of(statement.column_metadata, columns) for statement in statements):
            # The columns of the earlier statements have other types. The server would accept values
            # of the old types and misread them. So `guard` makes these statements unusable until
            # they are prepared again.
            guard(self.all_with(query_id), columns, key=key)
            self.revoke_strangers(query_id)
            return
        if not all(has_key(statement, key) for statement in statements):
            # The table was created again with another partition key.
            adopt_key(self.all_with(query_id), columns, key)
        if any(
            old.type is not new.type
            for statement in statements
            for old, new in zip(statement.column_metadata, columns, strict=True)
        ):
            # A user-defined type has got new fields.
            adopt_columns(self.all_with(query_id), columns, self._server.user_types)
            self.revoke_strangers(query_id)

    def renew_like(self, prepared: PreparedStatement, response: Any, change_count: int) -> None:
        """Update the statements that wait to be prepared again, as `prepared` was.

        A batch may have many statements that were unpickled one by one: the server reports only one
        of them as unprepared. This may be called on the loop of a worker.

        :param prepared: a statement that `take_over` has updated.
        :param response: the server's response to its PREPARE.
        :param change_count: the number of schema changes before the PREPARE was sent.
        """
        columns, key = response.bind_metadata, self.key_of(response)
        for statement in statements_made_with(response.query_id):
            if (
                statement.query_id != response.query_id
                and self._is_own(statement)
                and statement.keyspace == prepared.keyspace
                and not changes_of(statement.column_metadata, columns)
                and has_key(statement, key)
            ):
                take_over(statement, response, user_types=self._server.user_types, key=key)
                # The first loop may have noted a change meanwhile.
                if self.changes.have_affected(statement, since=change_count):
                    revoke_id(statement)

    def _may_be_own(self, statement: PreparedStatement) -> bool:
        """Return True if a statement is own, or belongs to no cluster yet."""
        return statement._home is None or self._is_own(statement)

    def _is_own(self, prepared: PreparedStatement) -> bool:
        """Return True if a statement belongs to this cluster."""
        return prepared._home is self.home

    def _other_homes(self) -> list[object]:
        """Return the `home` of each other cluster that is open."""
        return [
            preparer.home
            for reference in _preparers.valuerefs()
            if (preparer := reference()) is not None
            and preparer is not self
            and any(True for _ in preparer._sessions)
        ]

    async def prepare_text(
        self,
        session: EngineSession,
        query: str,
        keyspace: str | None,
        prepared_texts: PreparedTexts,
        policy: LoadBalancingPolicy,
        retry_policy: RetryPolicy,
        timeout: float | None,
        working_keyspace: str | None = None,
        outdated: Sequence[PreparedStatement] = (),
    ) -> PreparedStatement:
        """Prepare a CQL string with bind markers that the application has not prepared itself.

        All executions of the same string share the prepared statement.

        :param keyspace: the keyspace of this statement; None for the session's keyspace.
        :param prepared_texts: the session's cache, to which the statement is added.
        :param working_keyspace: the session's keyspace at the time of the call; None for its
            current keyspace.
        :param outdated: statements of the cache that are replaced, if they are still there.
        """
        expected = keyspace or working_keyspace or session.keyspace
        cache_key = (expected, query)
        prepared = prepared_texts.get(cache_key)
        if prepared is not None and not any(prepared is other for other in outdated):
            return prepared

        async def prepare_and_remember(seconds: float | None) -> PreparedStatement:
            statement = await self.prepare(
                session, query, keyspace, None, policy, retry_policy, seconds, expected
            )
            # Add the statement to the cache before the task ends. So a later caller always finds
            # either the running task, or the statement in the cache.
            prepared_texts.put(cache_key, statement)
            statement.when_changed = partial(prepared_texts.drop, cache_key)
            return statement

        task_key = ("text", id(session), *cache_key)
        return await self._run_shared(task_key, prepare_and_remember, timeout)

    async def _run_shared(
        self,
        key: tuple[Any, ...],
        make_coroutine: Callable[[float | None], Coroutine[Any, Any, _Result]],
        timeout: float | None,
    ) -> _Result:
        """Run a task that all concurrent callers with the same key share, and return its outcome.

        The task has the time limit of the caller that started it. If that limit passes, another
        caller with a longer limit starts the work again.

        :param key: identifies the task. Its last item is the CQL, for messages.
        :param make_coroutine: called with the remaining seconds, or None for no limit; returns the
            coroutine to run.
        :param timeout: the time limit of this caller in seconds; None for no limit.
        """
        clock = asyncio.get_running_loop().time
        deadline = clock() + timeout if timeout is not None else None
        seconds_left = timeout
        while True:
            task = self._running.get(key)
            if task is None:  # start the task, with the time limit of this caller
                return await outcome_of(self._start_task(key, make_coroutine(seconds_left)))
            await asyncio.wait({task}, timeout=seconds_left)
            if deadline is not None:
                seconds_left = deadline - clock()
            if not task.done():
                query = key[-1]  # each key ends with the CQL
                raise OperationTimedOut(
                    f"the PREPARE that several callers share was not over within {timeout} seconds",
                    timeout=timeout,
                    statement=query_head(query),
                )
            try:
                return await outcome_of(task)
            except OperationTimedOut:
                # The caller that started the task had a shorter time limit, which has passed. If
                # this caller has time left, start the task again.
                if seconds_left is not None and seconds_left <= 0:
                    raise

    def _start_task(
        self, key: tuple[Any, ...], work: Coroutine[Any, Any, Any]
    ) -> asyncio.Task[Any]:
        """Start a task for `key`, so that further callers with the same key can wait for it."""
        task: asyncio.Task[Any] = self._spawn(work)
        self._running[key] = task
        task.add_done_callback(lambda _: self._running.pop(key, None))
        return task

    def _make_statement(
        self, session: EngineSession, query: str, keyspace: str | None, response: Any
    ) -> PreparedStatement:
        """Create the prepared statement from the server's response to a PREPARE."""
        marks_transactions = self._server.marks_transactions
        policy = self._settings.column_encryption_policy
        statement_class = PreparedUse if is_use(query) else PreparedStatement
        prepared = statement_class(
            response.bind_metadata,
            response.query_id,
            self.key_of(response) or None,
            query,
            keyspace,
            self._server.protocol_version,
            response.result_metadata,
            response.result_metadata_id,
            # If the servers do not mark conditional statements, look for IF in the CQL.
            response.is_lwt or (not marks_transactions and is_conditional(query)),
            column_encryption_policy=policy,
            codecs=session.codecs,
        )
        prepared.claim(self.home)
        if not getattr(policy, "deterministic", True):
            # The column encryption policy encrypts equal values to different bytes, so a row with
            # an encrypted key column could not be found by its key. Binding such a value must
            # therefore raise an error. The response names only the partition key, and only since
            # protocol version 4, so read the whole primary key from the schema.
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
        """Prepare all `queries` concurrently. If some fail, raise the first error at the end."""
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
    ) -> _Preparation:
        """Prepare on one host, then on the other hosts if the settings say so.

        :param expected: the keyspace in which the server must look for unqualified table names.
        """
        change_count = self.changes.total
        response, host = await self._send(session, request_body, policy, retry_policy, timeout)
        has_other_types = False
        if self._settings.prepare_on_all_hosts and len(session.pools) > 1:
            prepared = self._make_statement(session, request_body.query, expected, response)
            await self._prepare_on_others(session, prepared, host)
            # If a host has other types, `_prepare_on` has replaced the id.
            has_other_types = prepared.query_id != response.query_id
        return _Preparation(response, change_count, has_other_types)

    async def _prepare_on_others(
        self, session: EngineSession, prepared: PreparedStatement, first_host: Host
    ) -> None:
        """Prepare on the other hosts concurrently.

        Errors are ignored. If a host does not know the statement when it is executed there, the
        host reports that. The driver then prepares the statement there, which takes one more round
        trip.
        """
        connections = [
            pool.pick()
            for host, pool in session.pools.items()
            if host != first_host and self._is_in_scope(session, host)
        ]
        tasks = [
            self._spawn(self._prepare_on(connection, prepared))
            for connection in connections
            if connection is not None and _can_prepare_on(connection, prepared)
        ]
        if tasks:
            # Do not wait longer for a slow host: if necessary, the statement is prepared there when
            # it is first executed.
            await asyncio.wait(tasks, timeout=OTHERS_WAIT)

    def _is_in_scope(self, session: EngineSession, host: Host) -> bool:
        """Return True if statements should be prepared on `host` before they are executed there."""
        distance = session.distance(host)
        if self._settings.prepare_scope == "all":
            return distance != HostDistance.IGNORED
        return distance in (HostDistance.LOCAL_RACK, HostDistance.LOCAL)

    async def _prepare_on(self, connection: Connection, prepared: PreparedStatement) -> None:
        """Prepare on the host of `connection`. Errors are only logged."""
        try:
            response = await self._send_prepare(connection, prepared)
        except (DriverException, OSError, asyncio.TimeoutError) as error:
            _log_unprepared(prepared, connection, error)
            return
        # The table may have been created again. The host knows the id from now on, so it would not
        # report the statement as unprepared, but would misread values of the old types. While a
        # statement is prepared first, it is not in the registry.
        columns, old_columns = response.bind_metadata, prepared.column_metadata
        if response.query_id != prepared.query_id:
            return  # the host has prepared the CQL in another keyspace
        if not changes_of(old_columns, columns):
            key = self.key_of(response)
            if not has_key(prepared, key):
                adopt_key(self._equals_of(prepared), columns, key)
        # The types differ in one direction. If they do not differ in the other direction, the host
        # only lacks new fields of a user-defined type, because it does not know the change yet.
        # Then the statement is up to date, and nothing needs to be done.
        elif changes_of(columns, old_columns):
            guard(self._equals_of(prepared), columns, key=self.key_of(response))
            self.revoke_strangers(response.query_id)

    def _equals_of(self, prepared: PreparedStatement) -> Iterable[PreparedStatement]:
        """Return a statement, which may not be in the registry, and all others with its id."""
        return dict.fromkeys((prepared, *self.all_with(prepared.query_id)))

    async def _send_prepare(self, connection: Connection, prepared: PreparedStatement) -> Any:
        """Prepare on the host of `connection`, and return the server's response."""
        body = prepare_body(prepared.query_string, prepared.keyspace, connection.version)
        return await self._internal_send(connection, PREPARE, body, "a PREPARE")

    @property
    def prepared_count(self) -> int:
        """The number of prepared statements in use. Any thread may read it."""
        return len(self._registry)

    def prepared_by_id(self, query_id: bytes) -> PreparedStatement | None:
        """Return the statement with this id, if it is still in use."""
        return self._registry.by_id(query_id)

    def all_with(self, query_id: bytes) -> list[PreparedStatement]:
        """Return all statements of this cluster with this id."""
        return [item for item in self._registry.all_with(query_id) if self._is_own(item)]

    def revoke_strangers(self, query_id: bytes) -> None:
        """Let statements of other clusters with this id be prepared again before they execute.

        Called when the id stands for other types in this cluster. In their own cluster, a table may
        have other types or another key, so nothing else is changed.
        """
        for statement in self._registry.all_with(query_id):
            if not self._is_own(statement):
                revoke_id(statement)

    async def statements_where(
        self, is_wanted: Callable[[PreparedStatement], bool]
    ) -> list[PreparedStatement]:
        """Return the statements in use for which `is_wanted` is True, only one for each id."""
        statements: dict[bytes, PreparedStatement] = {}
        # There may be a million statements, so let the loop handle other events now and then.
        # Statements with the same id may have different types: for example, one of them may have
        # been unpickled after its table had changed.
        for number, prepared in enumerate(self._registry.each(), 1):
            if prepared.query_id not in statements and is_wanted(prepared):
                statements[prepared.query_id] = prepared
            if number % LEFT_OUT_AT_ONCE == 0:
                await asyncio.sleep(0)
        return list(statements.values())

    async def revoke_ids(self, is_wanted: Callable[[PreparedStatement], bool]) -> None:
        """Give the statements for which `is_wanted` is True ids that no server has.

        So they are prepared again before they are executed.
        """
        for number, prepared in enumerate(self._registry.each(), 1):
            if is_wanted(prepared):
                revoke_id(prepared)
            if number % LEFT_OUT_AT_ONCE == 0:
                await asyncio.sleep(0)

    async def renew(self, statements: Iterable[PreparedStatement]) -> None:
        """Prepare `statements` again, because their types have changed.

        Afterwards, values of new fields can be bound. If a column has got another type, or if a
        statement could not be prepared now, the statements are given ids that no server has: they
        are prepared again before they are executed; so are statements of other clusters. A few
        statements are prepared concurrently. Errors are ignored.
        """
        statements = list(statements)
        remaining = iter([prepared for prepared in statements if self._may_be_own(prepared)])
        strange_ids = {item.query_id for item in statements if not self._may_be_own(item)}
        if strange_ids:
            await self.revoke_ids(lambda prepared: prepared.query_id in strange_ids)

        async def renew_some() -> None:
            for prepared in remaining:
                query_id = prepared.query_id
                if not await self._renew(prepared):
                    for statement in self._registry.all_with(query_id):
                        revoke_id(statement)

        await asyncio.gather(*(renew_some() for _ in range(PARALLEL_PREPARES)))

    async def _renew(self, prepared: PreparedStatement) -> bool:
        """Prepare one statement again on one host, and update all statements with its id.

        :returns: False if the current types are not known, because no host has told them.
        """
        query_id = prepared.query_id
        pools = [
            pool
            for session in self._sessions
            for host, pool in session.pools.items()
            if self._is_in_scope(session, host)
        ]
        tries = 0
        for pool in pools:
            connection = pool.pick()
            if connection is None or not _can_prepare_on(connection, prepared):
                continue
            tries += 1
            try:
                response = await self._send_prepare(connection, prepared)
            except (DriverException, OSError, asyncio.TimeoutError) as error:
                _log_unprepared(prepared, connection, error)
                if tries == MOST_RENEWAL_TRIES:
                    return False
                continue
            if response.query_id != query_id:
                return self._renew_revoked(prepared, response)
            # Another task may have given the statement another id in the meantime.
            if prepared.query_id == query_id:
                self._update_all_with(response, self._registry.by_id(query_id) or prepared)
            return True
        return False

    def _renew_revoked(self, prepared: PreparedStatement, response: Any) -> bool:
        """Let a statement whose id was revoked bind values of new fields from now on.

        Its id stays revoked: the types are compared again before the statement is executed.

        :param response: a server's response to a PREPARE of the statement.
        :returns: False if the server has prepared the CQL in another keyspace.
        """
        if not any(prepared is other for other in statements_made_with(response.query_id)):
            return False
        equal_statements = self._equals_of(prepared)
        adopt_columns(equal_statements, response.bind_metadata, self._server.user_types)
        return True

    async def prepare_all_on(self, host: Host) -> None:
        """Prepare all statements in use on `host`, which came up.

        A few statements are prepared concurrently. Do nothing if no session has a pool to the host,
        or if the settings say that statements are not prepared there in advance.
        """
        session = next(
            (
                session
                for session in self._sessions
                if host in session.pools and self._is_in_scope(session, host)
            ),
            None,
        )
        if session is None:
            return
        # There may be a million statements, so do not start a task for each. Instead, a few tasks
        # take statements from one shared iterator.
        statements = self._registry.each_added_once()

        async def prepare_some(session: EngineSession) -> None:
            """Prepare statements until no statement is left, or `host` has no free connection."""
            skipped = 0
            for prepared in statements:
                pool = session.pools.get(host)
                connection = pool.pick() if pool is not None else None
                if connection is None:
                    return
                if _can_prepare_on(connection, prepared):
                    await self._prepare_on(connection, prepared)
                else:
                    # Skipping a statement awaits nothing, so skipping many statements in a row
                    # would block the event loop. So let the loop handle other events now and then.
                    skipped += 1
                    if skipped % LEFT_OUT_AT_ONCE == 0:
                        await asyncio.sleep(0)

        await asyncio.gather(*(prepare_some(session) for _ in range(PARALLEL_PREPARES)))


def _can_prepare_on(connection: Connection, prepared: PreparedStatement) -> bool:
    """Return True if the server would prepare the statement in the keyspace of the first PREPARE.

    :param connection: the connection on which the PREPARE would be sent.
    """
    # A connection without a keyspace may be used, too: the server then rejects unqualified names
    # instead of looking them up in a wrong keyspace.
    return (
        connection.version >= 5
        or prepared.keyspace is None
        or (connection.gate is None and connection.keyspace in (None, prepared.keyspace))
        or names_its_keyspace(prepared.query_string)
    )


async def all_or_first_error(
    preparing: Sequence[Awaitable[PreparedStatement]],
) -> list[PreparedStatement]:
    """Await all of `preparing` concurrently, and return the statements.

    If some fail, raise the first error when all have ended.
    """
    outcomes = await asyncio.gather(*preparing, return_exceptions=True)
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
    return outcomes  # type: ignore[return-value]


def _log_unprepared(
    prepared: PreparedStatement, connection: Connection, error: BaseException
) -> None:
    shown_query = query_head(prepared.query_string)
    log.debug("%s was not prepared on %s: %s", shown_query, connection.endpoint, error)
