"""The session of the blocking and future faces."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, overload
from weakref import ref

from cassandra._habits import SESSION, SESSION_SETTINGS, add_habits
from cassandra._imports import Deferred, at_first_cluster
from cassandra.client.checks import (
    check_keyspace,
    check_vectors,
    list_of_queries,
    typed_factory,
)
from cassandra.client.paging import NextPage
from cassandra.client.requests import USUAL_OPTIONS
from cassandra.client.session import SessionBase
from cassandra.cluster.known_names import KnownSession
from cassandra.cluster.response_future import ResponseFuture
from cassandra.cluster.result_set import ResultSet, result_of
from cassandra.engine.call_options import CallOptions
from cassandra.engine.profile import EXEC_PROFILE_DEFAULT
from cassandra.engine.schema.scope import SchemaAgreementScope
from cassandra.query.settings import NOT_SET

if TYPE_CHECKING:
    from pathlib import Path

    from typing_extensions import Unpack

    from cassandra.bulk import load as bulk_load, scan as bulk_scan, unload as bulk_unload
    from cassandra.bulk.options import LoadSettings
    from cassandra.bulk.report import LoadReport
    from cassandra.bulk.scan import Scan, ScanOptions
    from cassandra.bulk.unload import UnloadReport
    from cassandra.client.requests import Parameters, Query
    from cassandra.cluster.cluster import Cluster
    from cassandra.cqltypes.failures import without_compiled_frames
    from cassandra.engine import happy_path
    from cassandra.engine.mistakes import running_loop, warn_of_blocking
    from cassandra.engine.profile import ExecutionProfile
    from cassandra.engine.request import Request
    from cassandra.engine.request_bodies import ExecuteBody
    from cassandra.engine.session import EngineSession
    from cassandra.metadata.host import Host
    from cassandra.query.prepared import PreparedStatement
    from cassandra.util.cql_text import escape_name
else:
    at_first_cluster(
        __name__,
        ExecuteBody="cassandra.engine.request_bodies",
        Request="cassandra.engine.request",
        escape_name="cassandra.util.cql_text",
        happy_path="cassandra._impl",
        running_loop="cassandra.engine.mistakes",
        warn_of_blocking="cassandra.engine.mistakes",
        without_compiled_frames="cassandra.cqltypes.failures",
    )

    bulk_load = Deferred("cassandra.bulk.load")
    bulk_scan = Deferred("cassandra.bulk.scan")
    bulk_unload = Deferred("cassandra.bulk.unload")

__all__ = ["Session"]

T = TypeVar("T")


class Session(SessionBase, KnownSession):
    """Executes statements. `Cluster.connect` makes it.

    It is safe to share between threads, and meant to live long.

    :param cluster: the cluster that connected it.
    :param hosts: the hosts known when it was made, kept as the attribute `hosts`.
    :param keyspace: has no effect, it keeps the documented position; `set_keyspace` sets it.
    :param engine: the engine's part of the session.
    """

    cluster: Cluster

    write_head_start: float = 0.01
    """Seconds that `execute` waits at most for what the same thread has sent by `execute_async`.

    The protocol promises no order: a server could answer a read before the write that was sent
    first. Session stores of web frameworks rely on one: they save by `execute_async`, do not wait,
    and load in the next request that the same thread serves. Futures that only read are not waited
    for; 0 is for no wait.
    """

    def __init__(
        self,
        cluster: Cluster,
        hosts: Sequence[Host],
        keyspace: str | None = None,
        *,
        engine: EngineSession,
    ) -> None:
        super().__init__(cluster, engine)
        # The latest future of each thread. Weak, so that its rows are not kept.
        self._latest: dict[int, ref[ResponseFuture]] = {}
        self.hosts = hosts
        self.is_shutdown = False
        # Held here: after shutdown the cluster has none, and the inbox itself refuses what comes
        # late.
        self._inbox = cluster._required_loop_thread.inbox
        self._path = happy_path.HappyPath(
            self,
            engine,
            self._default_options,
            Request,
            ExecuteBody,
            result_of,
            check_vectors,
        )
        self._loop_thread = cluster._required_loop_thread
        self.loop_ident = cluster._required_loop_thread.ident
        self.wake_queue = cluster._required_loop_thread.wake_queue

    # -- executing ---------------------------------------------------------------------------------

    @overload
    def execute(
        self,
        query: Query,
        parameters: Parameters = None,
        timeout: float | None = NOT_SET,
        trace: bool = False,
        custom_payload: Mapping[str, bytes | None] | None = None,
        execution_profile: ExecutionProfile | str = EXEC_PROFILE_DEFAULT,
        paging_state: bytes | None = None,
        host: Host | None = None,
        execute_as: str | None = None,
        *,
        row_type: type[T],
    ) -> ResultSet[T]: ...

    @overload
    def execute(
        self,
        query: Query,
        parameters: Parameters = None,
        timeout: float | None = NOT_SET,
        trace: bool = False,
        custom_payload: Mapping[str, bytes | None] | None = None,
        execution_profile: ExecutionProfile | str = EXEC_PROFILE_DEFAULT,
        paging_state: bytes | None = None,
        host: Host | None = None,
        execute_as: str | None = None,
        row_type: None = None,
    ) -> ResultSet[Any]: ...

    def execute(
        self,
        query: Query,
        parameters: Parameters = None,
        timeout: float | None = NOT_SET,
        trace: bool = False,
        custom_payload: Mapping[str, bytes | None] | None = None,
        execution_profile: ExecutionProfile | str = EXEC_PROFILE_DEFAULT,
        paging_state: bytes | None = None,
        host: Host | None = None,
        execute_as: str | None = None,
        row_type: type[Any] | None = None,
    ) -> ResultSet[Any]:
        """Execute `query` and wait for its `ResultSet`.

        :param query: a text, or a statement.
        :param parameters: a sequence, a mapping, or an object with attributes. In a text they take
            the places of ``%s`` or ``%(name)s``; markers and prepared statements bind them.
        :param timeout: seconds for all attempts together; None for no limit.
        :param trace: have the servers trace the request.
        :param custom_payload: sent beside the statement, for custom query handlers of the server.
        :param execution_profile: a profile or its name.
        :param paging_state: the page to begin with.
        :param host: the only host to send it to.
        :param execute_as: must be None: proxy execution is DataStax Enterprise's own.
        :param row_type: the class to make the rows of: a dataclass, NamedTuple, TypedDict, attrs
            class, msgspec struct or pydantic model (see the guide on results).
        :raises RequestExecutionException: or another error of the server, InvalidRequest say.
        :raises OperationTimedOut: if no answer comes within `timeout`.
        :raises NoHostAvailable: with the error of each host.
        """
        if running_loop() is not None:
            warn_of_blocking("Session.execute()")
        latest = self._latest.get(threading.get_ident())
        if latest is not None:
            sent = latest()
            if sent is not None and not sent.is_over and self.write_head_start:
                sent._give_head_start(self.write_head_start)
        return self.execute_async(
            query,
            parameters,
            trace,
            custom_payload,
            timeout,
            execution_profile,
            paging_state,
            host,
            execute_as,
            row_type,
        ).result()

    @overload
    def execute_async(
        self,
        query: Query,
        parameters: Parameters = None,
        trace: bool = False,
        custom_payload: Mapping[str, bytes | None] | None = None,
        timeout: float | None = NOT_SET,
        execution_profile: ExecutionProfile | str = EXEC_PROFILE_DEFAULT,
        paging_state: bytes | None = None,
        host: Host | None = None,
        execute_as: str | None = None,
        *,
        row_type: type[T],
    ) -> ResponseFuture[T]: ...

    @overload
    def execute_async(
        self,
        query: Query,
        parameters: Parameters = None,
        trace: bool = False,
        custom_payload: Mapping[str, bytes | None] | None = None,
        timeout: float | None = NOT_SET,
        execution_profile: ExecutionProfile | str = EXEC_PROFILE_DEFAULT,
        paging_state: bytes | None = None,
        host: Host | None = None,
        execute_as: str | None = None,
        row_type: type[Any] | None = None,
    ) -> ResponseFuture[Any]: ...

    def execute_async(
        self,
        query: Query,
        parameters: Parameters = None,
        trace: bool = False,
        custom_payload: Mapping[str, bytes | None] | None = None,
        timeout: float | None = NOT_SET,
        execution_profile: ExecutionProfile | str = EXEC_PROFILE_DEFAULT,
        paging_state: bytes | None = None,
        host: Host | None = None,
        execute_as: str | None = None,
        row_type: type[Any] | None = None,
    ) -> ResponseFuture[Any]:
        """Execute `query` and return its `ResponseFuture` at once.

        The parameters are those of `execute`. Mistakes in the call itself, a wrong parameter say,
        are raised here; the future has all other errors.

        :param query: a text, or a statement.
        :param parameters: a sequence, a mapping, or an object with attributes; None for none.
        :param trace: have the servers trace the execution; the traces are read by
            `ResponseFuture.get_query_trace`.
        :param custom_payload: a mapping of texts to bytes for the server's query handler; None for
            the statement's.
        :param timeout: seconds for all attempts together; None for no limit. By default that of the
            profile.
        :param execution_profile: an `ExecutionProfile`, or the name of one.
        :param paging_state: the place to go on at, of an earlier result; None for the beginning.
        :param host: the only `Host` to send to; None for those of the policy's query plan.
        :param execute_as: must be None: proxy execution is DataStax Enterprise's own.
        :param row_type: the class to make rows of, as in `execute`; None for the row factory's
            rows.
        """
        if execute_as is not None:
            raise NotImplementedError(
                "execute_as is DataStax Enterprise's proxy execution, which is not supported"
            )
        given = (timeout, trace, custom_payload, execution_profile, paging_state, host)
        options = self._default_options if given == USUAL_OPTIONS else self._options(*given)
        future = ResponseFuture(self, query, options.profile.row_factory)
        # Asked of the module each time: what it has may be replaced by that of greenlets.
        thread = threading.get_ident()
        self._latest[thread] = ref(future)
        request = self._request_of(future, query, parameters, options, row_type)
        inbox = self._inbox
        if not (
            inbox.is_quiet
            # A callback in the loop's own thread is a part of its turn: what it sends is joined.
            and thread != self.loop_ident
            and inbox.is_idle()
            and request.start_directly()
        ):
            inbox.put(request)
        return future

    # For calls that may go past `execute_async`: not if a tracer has put a wrapper in its place.
    _own_execute_async = execute_async

    def _submit_watched(
        self,
        query: Query,
        parameters: Parameters,
        watcher: Callable[[ResponseFuture, Any], Any],
        argument: object,
        execution_profile: ExecutionProfile | str | None,
        row_type: type[Any] | None = None,
    ) -> None:
        """Like `execute_async`, but hand over the future only when the request is complete.

        ``watcher(future, argument)`` is then called in the engine's thread.

        :param query: a text, or a statement.
        :param parameters: as in `execute_async`.
        :param watcher: called with the future and `argument`; it must not block.
        :param argument: any object.
        :param execution_profile: an `ExecutionProfile`, or the name of one.
        :param row_type: the class to make rows of, as in `execute`; None for the row factory's
            rows.
        """
        options = (
            self._default_options
            if execution_profile is None
            else self._options(NOT_SET, False, None, execution_profile, None, None)
        )
        future = ResponseFuture(self, query, options.profile.row_factory, (watcher, argument))
        # Others follow: they are best written together.
        self._inbox.put(self._request_of(future, query, parameters, options, row_type))

    def _happy_path(self) -> tuple[happy_path.HappyPath, Callable[[Any], None]]:
        """Return the happy path, and the function that has its request started, without a future.

        Such a request is over in the engine's thread.
        """
        return self._path, self._inbox.put

    def _future_of(self, request: Request, row_factory: Callable[..., Any]) -> ResponseFuture:
        """Return a future of a request that is over already.

        :param request: the engine's request, with its answer or its error.
        :param row_factory: the function that makes its rows.
        """
        future = ResponseFuture(self, request.statement, row_factory)
        future._watch(request)
        future._complete(request)
        return future

    def _request_of(
        self,
        future: ResponseFuture,
        query: Query,
        parameters: Parameters,
        options: CallOptions,
        row_type: type[Any] | None,
    ) -> Request:
        if row_type is not None:
            future.row_factory = typed_factory(row_type)
        request = None
        if options is self._default_options:
            try:
                request = self._path.request(query, parameters, future._complete)
            except (TypeError, ValueError) as error:
                raise without_compiled_frames(error)  # noqa: B904  # it is the same error
        if request is None:
            request = self._request(query, parameters, options, future._complete)
        future.query = request.statement
        # Before the inbox has it: the loop may complete it at once.
        future._request = request
        if self._request_init_listeners:
            for listener, args, kwargs in self._request_init_listeners:
                listener(future, *args, **kwargs)
        return request

    def _next_page(self, request: Request, paging_state: bytes | None) -> NextPage:
        """Send `request` again, for the page at `paging_state`.

        :param request: the request that was answered with the page before.
        :param paging_state: the bytes of that page's answer; None if it was the last one.
        :raises QueryExhausted: if it was the last one.
        """
        return NextPage(request, paging_state, self._inbox.put)

    def _refuse_on_loop(self, call: str, instead: str) -> None:
        """Raise RuntimeError if a blocking call is made from the engine's own thread.

        It would wait for itself.

        :param call: the call, for the message.
        :param instead: the call to use in its place.
        """
        if self._loop_thread.is_current():
            raise RuntimeError(
                f"{call} was called in the driver's own event loop thread (in a callback, say), "
                f"where it would wait for itself: use {instead}"
            )

    def _refuse_in_child(self) -> None:
        """Raise ConnectionShutdown in a forked child, where a wait would have no end."""
        self._loop_thread.refuse_in_child()

    # -- preparing ---------------------------------------------------------------------------------

    def prepare(
        self,
        query: str,
        custom_payload: Mapping[str, bytes | None] | None = None,
        keyspace: str | None = None,
    ) -> PreparedStatement:
        """Have the servers prepare `query`, with ``?`` or ``:name`` for its parameters.

        It raises the errors of `execute`.

        :param query: the text.
        :param custom_payload: a mapping of texts to bytes for the server's query handler; None for
            none.
        :param keyspace: for names without one (protocol version 5); None for the session's.
        """
        self._refuse_on_loop("Session.prepare()", "the session of cassandra.aio")
        if running_loop() is not None:
            warn_of_blocking("Session.prepare()")
        (query,) = list_of_queries([query])
        profile = self._default_profile
        return self.cluster._run(
            self._engine.core.preparer.prepare(
                self._engine,
                query,
                keyspace,
                custom_payload,
                profile.load_balancing_policy,
                profile.retry_policy,
                profile.request_timeout,
            )
        )

    def prepare_all(self, queries: Sequence[str]) -> list[PreparedStatement]:
        """Prepare all `queries` at the same time.

        :param queries: their texts.
        :returns: the statements, in the order of the queries.
        """
        self._refuse_on_loop("Session.prepare_all()", "the session of cassandra.aio")
        profile = self._default_profile
        return self.cluster._run(
            self._engine.core.preparer.prepare_all(
                self._engine,
                list_of_queries(queries),
                profile.load_balancing_policy,
                profile.retry_policy,
                profile.request_timeout,
            )
        )

    # -- keyspace and schema -----------------------------------------------------------------------

    @property
    def keyspace(self) -> str | None:
        """The keyspace that unqualified names belong to. Setting it calls `set_keyspace`."""
        return self._engine.keyspace

    @keyspace.setter
    def keyspace(self, keyspace: str) -> None:
        self.set_keyspace(keyspace)

    def set_keyspace(self, keyspace: str) -> None:
        """Use `keyspace` for unqualified names from now on.

        :param keyspace: its name, without quotes.
        :raises InvalidRequest: if it does not exist.
        """
        check_keyspace(keyspace)
        # Not by `execute`: listeners and tracers would see a request that the program did not make.
        text = f"USE {escape_name(keyspace)}"
        future = ResponseFuture(self, text, self._default_options.profile.row_factory)
        request = self._request(text, None, self._default_options, future._complete)
        future.query = request.statement
        future._watch(request)
        self._inbox.put(request)
        future.result()

    def scan(
        self,
        table: str,
        columns: Sequence[str] | str | None = None,
        where: str | None = None,
        **options: Unpack[ScanOptions],
    ) -> Scan:
        """Read a whole table by ranges of tokens, in parallel.

        Each range is read from its replicas, pages are asked for ahead, and those that fail are
        asked for again: each row comes once. Nothing is sent before the first row is asked for.

        :param table: ``keyspace.table``, or ``table`` in the session's keyspace.
        :param columns: names of columns, or a text of selectors as in CQL; None for all.
        :param where: a condition in CQL, with ``?`` for the option `parameters`; None for all rows.
        :param options: see `cassandra.bulk.scan.ScanOptions`.
        :returns: an iterable of rows, which can also be read as Arrow batches.
        """
        return bulk_scan.Scan(self, table, columns, where, options)

    def count(self, table: str, where: str | None = None, **options: Unpack[ScanOptions]) -> int:
        """Count the rows of a table, by ranges of tokens in parallel.

        :param table: ``keyspace.table``, or ``table`` in the session's keyspace.
        :param where: a condition in CQL, with ``?`` for the option `parameters`; None for all rows.
        :param options: see `cassandra.bulk.scan.ScanOptions`.
        """
        return bulk_scan.count(self, table, where, **options)

    def unload(
        self,
        table: str,
        target: str | Path,
        *,
        format: str = "parquet",
        columns: Sequence[str] | str | None = None,
        where: str | None = None,
        compression: str | None = None,
        **options: Any,
    ) -> UnloadReport:
        """Write a whole table into the files of a folder, and ``manifest.json`` when all is there.

        :param table: ``keyspace.table``, or ``table`` in the session's keyspace.
        :param target: a folder, which must be empty or not be there yet.
        :param format: "parquet" (by pyarrow), "csv" or "jsonl".
        :param columns: names of columns, or a text of selectors as in CQL; None for all.
        :param where: a condition in CQL, with ``?`` for the option `parameters`; None for all rows.
        :param compression: "gzip" for CSV and JSON lines, a codec of pyarrow for Parquet.
        :param options: see `cassandra.bulk.scan.ScanOptions`; `file_bytes`, the bytes of the
            servers' pages after which a further file is begun, 256 MiB by default; and for text
            files `cassandra.bulk.unload_form.FileForm`: `delimiter`, `quote`, `null`, `header`,
            `encoding`, `date_format` and `timestamp_format`.
        :returns: a `cassandra.bulk.unload.UnloadReport`.
        :raises FileExistsError: if the folder is not empty.
        """
        return bulk_unload.unload(
            self,
            table,
            target,
            format=format,
            columns=columns,
            where=where,
            compression=compression,
            **options,
        )

    def wait_for_schema_agreement(
        self,
        wait_time: float | None = None,
        scope: SchemaAgreementScope | str = SchemaAgreementScope.CLUSTER,
    ) -> bool:
        """Wait until the connected hosts in `scope` have one schema version.

        Each host is asked itself: one that has not heard of a change yet cannot answer for others.

        :param wait_time: seconds; None for the setting of the cluster.
        :param scope: which hosts to ask, a value of `SchemaAgreementScope`; by default the whole
            cluster.
        :returns: False if that takes too long.
        :raises ConnectionException: if no host in the scope is connected.
        """
        self._refuse_on_loop("Session.wait_for_schema_agreement()", "the session of cassandra.aio")
        return self.cluster._run(
            self._engine.wait_for_schema_agreement(SchemaAgreementScope(scope), wait_time)
        )

    def load(
        self, target: str | PreparedStatement, source: Any, **options: Unpack[LoadSettings]
    ) -> LoadReport:
        """Write all rows of a file, a frame or an iterable.

        Rows of one partition, or with the same replicas, go in small unlogged batches. As many
        requests are in flight as the servers can take, and those that may be repeated are tried
        again. See the guide on loading data.

        :param target: the name of a table, or a prepared statement.
        :param source: a path or a glob of files (CSV, JSON lines, Parquet), a list of these, a
            pandas or polars frame, Arrow data, or an iterable of tuples, mappings or objects.
        :param options: those of `cassandra.bulk.LoadOptions`.
        :returns: a report of the rows.
        :raises LoadError: if more rows fail than ``max_errors``, 0 by default, or the source cannot
            be read to its end; its `report` says what was written.
        :raises ValueError: if the source has other columns than the table, or a checkpoint is that
            of something else. Nothing is written then.
        :raises TypeError: if there is no such option.
        """
        self._refuse_on_loop("Session.load()", "the session of cassandra.aio")
        return bulk_load.load(self, target, source, bulk_load.load_options(options))

    # -- life --------------------------------------------------------------------------------------

    def shutdown(self) -> None:
        """Close the session's connections.

        Executions in flight fail with an error that says so. A second call does nothing.
        """
        if self.is_shutdown:
            return
        self.is_shutdown = True
        self.cluster._close_session(self)

    def _close_engine(self) -> None:
        """The part of `shutdown` that runs on the loop."""
        self._engine.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *args: object) -> None:
        self.shutdown()

    def __repr__(self) -> str:
        state = "shut down" if self.is_shutdown else f"{len(self._engine.pools)} hosts"
        return f"<Session: keyspace={self.keyspace}, {state}>"


Session.__module__ = "cassandra.cluster"

add_habits(Session, SESSION)
add_habits(Session, SESSION_SETTINGS, settings=True)
