"""`Session`: `execute` waits for the result, and `execute_async` returns a future."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from types import MethodType
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, overload
from weakref import ref

from cassandra._habits import IN_ASYNC, SESSION, SESSION_SETTINGS, add_habits
from cassandra._imports import Deferred, at_first_cluster
from cassandra._threads import get_ident, waits_by_waiters
from cassandra._unknown_options import unknown_option
from cassandra.client.checks import check_keyspace, check_vectors, list_of_queries, typed_factory
from cassandra.client.paging import NextPage
from cassandra.client.requests import USUAL_OPTIONS
from cassandra.client.session import SessionBase
from cassandra.cluster.compat_names import CompatSession
from cassandra.cluster.loops import SessionLoops
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
    from cassandra.bulk.scan import Scan
    from cassandra.bulk.scan_options import ScanOptions, UnloadOptions
    from cassandra.bulk.unload import UnloadReport
    from cassandra.client.requests import Parameters, Query
    from cassandra.cluster.cluster import Cluster
    from cassandra.cqltypes.failures import without_compiled_frames
    from cassandra.engine import happy_path
    from cassandra.engine.interfaces import RequestSession
    from cassandra.engine.mistakes import running_loop, warn_of_blocking
    from cassandra.engine.profile import ExecutionProfile
    from cassandra.engine.request import Request
    from cassandra.engine.request_bodies import ExecuteBody
    from cassandra.engine.session import EngineSession
    from cassandra.engine.targets import check_replica
    from cassandra.metadata.host import Host
    from cassandra.metadata.placement.tokens import Token
    from cassandra.query.prepared import PreparedStatement
    from cassandra.util.cql_text import escape_name
else:
    at_first_cluster(
        __name__,
        ExecuteBody="cassandra.engine.request_bodies",
        Request="cassandra.engine.request",
        check_replica="cassandra.engine.targets",
        escape_name="cassandra.util.cql_text",
        happy_path="cassandra._impl",
        running_loop="cassandra.engine.mistakes",
        warn_of_blocking="cassandra.engine.mistakes",
        without_compiled_frames="cassandra.cqltypes.failures",
    )

    bulk_load = Deferred("cassandra.bulk.load")
    bulk_scan = Deferred("cassandra.bulk.scan")
    bulk_unload = Deferred("cassandra.bulk.unload")

T = TypeVar("T")

# `execute` compares this with the current method, to see if a tracing library has replaced the
# method.
_OWN_RESULT = ResponseFuture.result


class Session(SessionBase, CompatSession):
    """Executes statements. `Cluster.connect` creates sessions.

    Threads can share a session. Keep one session for the lifetime of your application.

    :param cluster: the cluster whose `connect` has created the session.
    :param hosts: the hosts that were known when the session was created; stored in `hosts`.
    :param keyspace: ignored, accepted for compatibility. Use `set_keyspace`.
    :param engine: the internal object that sends the session's requests.
    """

    # The constructor sets these. Mocks with ``spec=`` have only attributes of the class.
    cluster: Cluster = None  # type: ignore[assignment]
    hosts = ()  # type: Sequence[Host]  # an annotation would make it a setting
    is_shutdown = False

    write_head_start: float = 0.01
    """The maximum time in seconds that `execute` waits for the last `execute_async` of its thread.

    `execute` only waits if that execution has not completed and is not a SELECT; 0 disables the
    wait. The protocol does not guarantee an order, so a server could execute a read before a write
    that was sent earlier. Session stores of web frameworks rely on the order: they save a session
    by `execute_async` without waiting, and the same thread loads the session in the next web
    request."""

    def __init__(
        self,
        cluster: Cluster,
        hosts: Sequence[Host],
        keyspace: str | None = None,
        *,
        engine: EngineSession,
    ) -> None:
        super().__init__(cluster, engine)
        # `_latest.future` is a weak reference to the latest future of the current thread or
        # greenlet. A strong reference would keep the future's rows in memory. Look up
        # `threading.local` only now, because gevent and eventlet may have replaced it.
        self._latest = threading.local()
        self.hosts = hosts
        self.is_shutdown = False
        # Keep references, because the cluster's `_loop_thread` is None after `shutdown`. If a
        # request is put into the inbox after `shutdown`, the inbox lets it fail.
        self._inbox = cluster._required_loop_thread.inbox
        self._path = self._new_path()
        self._loop_thread = cluster._required_loop_thread
        self._loops = SessionLoops(engine, cluster._required_loop_thread)
        self.loop_ident = cluster._required_loop_thread.ident

    def _new_path(self) -> happy_path.HappyPath:
        """Return the happy path, which makes the requests of common statements in one call.

        The happy path is the fast code for a request that needs no retry, tracing or paging. Its
        constructor gets the classes of requests and request bodies, and `result_of`, which makes
        the results.
        """
        return happy_path.HappyPath(
            self,
            self._engine,
            self._default_options,
            Request,
            ExecuteBody,
            result_of,
            check_vectors,
        )

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
        shard: int | None = None,
        token: int | Token | None = None,
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
        shard: int | None = None,
        token: int | Token | None = None,
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
        shard: int | None = None,
        token: int | Token | None = None,
        **_unknown: NoReturn,
    ) -> ResultSet[Any]:
        """Execute `query`, wait for its result, and return the `ResultSet`.

        :param query: a CQL string, or a statement.
        :param parameters: the values, as a sequence, a mapping, or an object with attributes. They
            replace ``%s`` or ``%(name)s`` in a string, or are bound to the markers ``?`` or
            ``:name`` of a string or prepared statement.
        :param timeout: seconds for all attempts together; None for no limit.
        :param trace: True if the servers should trace the request.
        :param custom_payload: a mapping of strings to bytes, sent with the statement for a custom
            query handler of the server.
        :param execution_profile: a profile or its name.
        :param paging_state: the `ResultSet.paging_state` of an earlier execution, to continue after
            its page; None for the first page.
        :param host: the only host to send to; None for the hosts of the policy's query plan.
        :param execute_as: must be None: proxy execution is a feature of DataStax Enterprise.
        :param row_type: the class of the rows: a dataclass, NamedTuple, TypedDict, attrs class,
            msgspec struct or pydantic model (see the guide on results).
        :param shard: the shard of `host` to send to (ScyllaDB), a number from 0. If its connection
            is full or not open, another connection to the host is used.
        :param token: an int or a `Token`. The replicas of this token come first in the query plan,
            and the token determines the shard. If `host` is set, only that host is tried.
        :raises ValueError: if `host` has no such shard, the token ring is unknown, or `host` is not
            a replica of `token`.
        :raises RequestExecutionException: if the server fails to execute the statement. Other
            errors of the server have other classes, for example InvalidRequest.
        :raises OperationTimedOut: if no response comes within `timeout`.
        :raises NoHostAvailable: with the error of each host.
        """
        if _unknown:
            raise unknown_option("Session.execute", _unknown)
        if running_loop() is not None:
            warn_of_blocking("Session.execute()")
        # If the last `execute_async` of this thread is still running, and is not a SELECT, wait for
        # it, at most `write_head_start` seconds. The documentation of `write_head_start` says why.
        latest_reference = getattr(self._latest, "future", None)
        if latest_reference is not None:
            future = latest_reference()
            if future is not None and not future.is_over and self.write_head_start:
                future._wait_for_write(self.write_head_start)
        # If a tracing library or test has replaced `execute_async` or `result`, call the
        # replacement. Otherwise take the faster way below. Compare the type, too, because a proxy
        # object of the package wrapt has the `__func__` of the original method.
        execute_async = self.execute_async
        if (
            type(execute_async) is MethodType
            and execute_async.__func__ is Session._own_execute_async
            and ResponseFuture.result is _OWN_RESULT
        ):
            options = (timeout, trace, custom_payload, execution_profile, paging_state, host)
            # A greenlet must not wait in the kernel, which would block the other greenlets.
            is_awaited = not waits_by_waiters()
            return self._begin(
                query, parameters, options, execute_as, row_type, shard, token, is_awaited
            ).result()
        return execute_async(
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
            shard,
            token,
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
        shard: int | None = None,
        token: int | Token | None = None,
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
        shard: int | None = None,
        token: int | Token | None = None,
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
        shard: int | None = None,
        token: int | Token | None = None,
        **_unknown: NoReturn,
    ) -> ResponseFuture[Any]:
        """Execute `query` and return its `ResponseFuture` at once.

        The parameters are the same as for `execute`, in another order. If the call itself is wrong,
        for example because of a parameter's type, the error is raised here. All other errors are
        raised by the future's `result`.

        :param query: a CQL string, or a statement.
        :param parameters: a sequence, a mapping, or an object with attributes; None for no
            parameters.
        :param trace: True if the servers should trace the execution;
            `ResponseFuture.get_query_trace` reads the traces.
        :param custom_payload: a mapping of strings to bytes for the server's query handler; None
            for the payload of the statement.
        :param timeout: seconds for all attempts together; None for no limit. The default is the
            timeout of the execution profile.
        :param execution_profile: an `ExecutionProfile`, or its name.
        :param paging_state: the `paging_state` of an earlier result, to continue after its page;
            None for the first page.
        :param host: the only `Host` to send to; None for the hosts of the policy's query plan.
        :param execute_as: must be None: proxy execution is a feature of DataStax Enterprise.
        :param row_type: the class of the rows, as for `execute`; None for the rows of the row
            factory.
        :param shard: the shard of `host` to send to, as for `execute`.
        :param token: the token whose replicas to send to first, as for `execute`.
        """
        if _unknown:
            raise unknown_option("Session.execute_async", _unknown)
        options = (timeout, trace, custom_payload, execution_profile, paging_state, host)
        return self._begin(query, parameters, options, execute_as, row_type, shard, token)

    def _begin(
        self,
        query: Query,
        parameters: Parameters,
        options_of_call: tuple[Any, Any, Any, Any, Any, Any],
        execute_as: str | None,
        row_type: type[Any] | None,
        shard: int | None,
        token: int | Token | None,
        is_awaited: bool = False,
    ) -> ResponseFuture[Any]:
        """Execute `query` and return its future.

        Most parameters are the same as in `execute_async`.

        :param options_of_call: the other options, in the order of USUAL_OPTIONS.
        :param is_awaited: True if the calling thread waits for the result at once. Then the thread
            may read the response itself, without the loop.
        """
        if execute_as is not None:
            raise NotImplementedError(
                "execute_as is DataStax Enterprise's proxy execution, which is not supported"
            )
        # Most calls have no options. For these, use the options that were combined once for the
        # session.
        is_usual = options_of_call == USUAL_OPTIONS and shard is None and token is None
        options = (
            self._default_options if is_usual else self._options(*options_of_call, shard, token)
        )
        future = ResponseFuture(self, query, options.profile.row_factory)
        # A later `execute` of this thread may wait for this future; see `write_head_start`.
        self._latest.future = ref(future)
        request = self._request_of(future, query, parameters, options, row_type)
        # If the loop has nothing else to do, send the request in this thread. Otherwise put the
        # request into the inbox: the loop then writes it to the socket together with other
        # requests.
        inbox = self._loops.choose(request)
        # A request listener may have added callbacks. Callbacks run on the loop, so the loop must
        # then read the response.
        is_awaited = is_awaited and future._callbacks is None and future._hooks is None
        if not (
            inbox.is_quiet
            # In the thread of a loop, a callback makes the request. Do not send it directly: the
            # loop writes the requests of all callbacks together at the end of its iteration.
            and get_ident() not in self._loops.idents
            and inbox.is_idle()
            and request.start_directly(is_awaited)
        ):
            inbox.put(request)
        return future

    # `execute_concurrent` compares this method with `execute_async`. If they differ, a tracing
    # library has replaced `execute_async` and expects a call for each statement.
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
        """Execute `query`, and call ``watcher(future, argument)`` when the execution is over.

        Unlike `execute_async`, this does not return the future. The watcher is called in the
        engine's thread, after a success or a failure.

        :param watcher: called with the future and `argument`; must not block.
        :param row_type: the class of the rows, as for `execute`; None for the rows of the row
            factory.
        """
        options = self._default_options
        if execution_profile is not None:
            options = self._options(
                timeout=NOT_SET,
                trace=False,
                custom_payload=None,
                execution_profile=execution_profile,
                paging_state=None,
                host=None,
            )
        future = ResponseFuture(self, query, options.profile.row_factory, (watcher, argument))
        # Do not send the request in this thread. The caller makes many requests, and it is cheaper
        # when the loop writes them together.
        request = self._request_of(future, query, parameters, options, row_type)
        self._loops.choose(request).put(request)

    def _happy_path(self) -> tuple[happy_path.HappyPath, Callable[[list[Request]], None]]:
        """Return the happy path, and the function that starts several of its requests together.

        The happy path makes requests without futures. The `on_done` of such a request is called in
        the thread of an event loop.
        """
        return self._path, self._loops.start_burst

    def _future_of(self, request: Request, row_factory: Callable[..., Any]) -> ResponseFuture:
        """Return a completed future for a request that is over.

        :param request: the engine's request, which has a response or an error.
        """
        future = ResponseFuture(self, request.statement, row_factory)
        if type(request.response) is happy_path.RowsAnswer:
            request.response = request.response.message()  # futures need the whole message
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
        """Make the request of `future`, and call the session's listeners.

        The request is not started.
        """
        if row_type is not None:
            future.row_factory = typed_factory(row_type)
        # The happy path makes the request of a common statement without options in one call. It
        # returns None for any other statement.
        request = None
        if options is self._default_options:
            try:
                request = self._path.request(query, parameters, future._complete)
            except (TypeError, ValueError) as error:
                raise without_compiled_frames(error)  # noqa: B904  # it is the same error
        if request is None:
            request = self._request(query, parameters, options, future._complete)
            if request.target is not None:
                check_replica(request)
        future.query = request.statement
        # Set `_request` before the request is started, because the loop may complete it at once.
        future._request = request
        if self._request_init_listeners:
            for listener, args, kwargs in self._request_init_listeners:
                listener(future, *args, **kwargs)
        return request

    def _next_page(self, request: Request, paging_state: bytes | None) -> NextPage:
        """Return the request for the page after the page of `request`. The caller must start it.

        :param request: the request of the previous page.
        :param paging_state: the paging state in the response to `request`; None if there is no
            further page.
        :raises QueryExhausted: if `paging_state` is None.
        """
        return NextPage(request, paging_state, self._loops.start_page)

    def _refuse_on_loop(self, call: str, instead: str) -> None:
        """Raise RuntimeError in the thread of an event loop, where a blocking call would never end.

        :param call: the name of the blocking call, for the message.
        :param instead: what the application can use instead, for the message.
        """
        if self._loops.is_current():
            raise RuntimeError(
                f"{call} was called in the driver's own event loop thread (in a callback, say), "
                f"where it would wait for itself: use {instead}"
            )

    def _wait_patiently(
        self, wait: Callable[[float], bool], engine: RequestSession | None = None
    ) -> None:
        """Wait for something that the event loops do, as long as none of them is blocked.

        :param wait: waits at most some seconds; returns False if there is a need to wait longer.
        :param engine: this session's part on the loop that does it; None for any loop.
        :raises OperationTimedOut: if something blocks the thread of a loop for many seconds.
        """
        self._loops.wait(wait, engine)

    def _refuse_in_child(self) -> None:
        """Raise ConnectionShutdown in a forked child, where the engine's threads do not exist.

        Without this check, a caller in the child would wait forever.
        """
        self._loop_thread.refuse_in_child()

    # -- preparing ---------------------------------------------------------------------------------

    def prepare(
        self,
        query: str,
        custom_payload: Mapping[str, bytes | None] | None = None,
        keyspace: str | None = None,
        **_unknown: NoReturn,
    ) -> PreparedStatement:
        """Prepare `query` on the servers.

        Raises the same errors as `execute`.

        :param query: a CQL string, with ``?`` or ``:name`` for its parameters.
        :param custom_payload: a mapping of strings to bytes for the server's query handler, or
            None.
        :param keyspace: the keyspace of unqualified names (protocol version 5); None for the
            session's keyspace.
        """
        if _unknown:
            raise unknown_option("Session.prepare", _unknown)
        self._refuse_on_loop("Session.prepare()", "the session of cassandra.aio")
        if running_loop() is not None:
            warn_of_blocking("Session.prepare()")
        # `list_of_queries` raises an error if `query` is not a string.
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
        """Prepare all `queries` concurrently.

        :param queries: the CQL strings.
        :returns: the statements, in the order of the queries.
        """
        self._refuse_on_loop("Session.prepare_all()", "the session of cassandra.aio")
        # The PREPARE requests use the policies and the timeout of the default profile.
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
        """The keyspace of unqualified names. Setting it calls `set_keyspace`."""
        return self._engine.keyspace

    @keyspace.setter
    def keyspace(self, keyspace: str) -> None:
        self.set_keyspace(keyspace)

    def set_keyspace(self, keyspace: str) -> None:
        """Use `keyspace` for unqualified names from now on.

        :param keyspace: the name of the keyspace, without quotes.
        :raises InvalidRequest: if the keyspace does not exist.
        """
        check_keyspace(keyspace)
        # Do not call `execute`: listeners and tracing libraries would report a request that the
        # application has not made.
        use_statement = f"USE {escape_name(keyspace)}"
        future = ResponseFuture(self, use_statement, self._default_options.profile.row_factory)
        request = self._request(
            use_statement,
            parameters=None,
            options=self._default_options,
            on_done=future._complete,
        )
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
        """Read a whole table, many token ranges in parallel.

        Each token range is read from its replicas. The scan requests pages before you need them.
        After an error, it only requests the failed page again, so each row comes exactly once.
        Nothing is sent until you ask for the first row.

        :param table: ``keyspace.table``, or ``table`` in the session's keyspace.
        :param columns: column names, or a string of CQL selectors; None for all columns.
        :param where: a condition in CQL, with ``?`` for the option `parameters`; None for all rows.
        :param options: see `cassandra.bulk.ScanOptions`.
        :returns: an iterable of rows, which can also be read as Arrow batches.
        """
        return bulk_scan.Scan(self, table, columns, where, options)

    def count(self, table: str, where: str | None = None, **options: Unpack[ScanOptions]) -> int:
        """Count the rows of a table, many token ranges in parallel.

        :param table: ``keyspace.table``, or ``table`` in the session's keyspace.
        :param where: a condition in CQL, with ``?`` for the option `parameters`; None for all rows.
        :param options: see `cassandra.bulk.ScanOptions`.
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
        **options: Unpack[UnloadOptions],
    ) -> UnloadReport:
        """Write a whole table to files in a folder.

        The file ``_manifest.json`` is written last, and lists the other files.

        :param table: ``keyspace.table``, or ``table`` in the session's keyspace.
        :param target: a folder, which must be empty or not exist.
        :param format: "parquet" (requires pyarrow), "csv" or "jsonl".
        :param columns: column names, or a string of CQL selectors; None for all columns.
        :param where: a condition in CQL, with ``?`` for the option `parameters`; None for all rows.
        :param compression: "gzip" for CSV and JSON lines, or a codec of pyarrow for Parquet; None
            for no compression.
        :param options: see `cassandra.bulk.UnloadOptions`. Examples are `delimiter` and `null` for
            text files, and `file_bytes`, which sets the size of the files.
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
        """Wait until the connected hosts in `scope` have the same schema version.

        Each host is asked for its own version, because another host may not know the latest change
        yet.

        :param wait_time: the maximum wait in seconds; None for the cluster's setting.
        :param scope: which hosts to ask, a value of `SchemaAgreementScope`; by default the whole
            cluster.
        :returns: False if the versions still differ after `wait_time`.
        :raises ConnectionException: if no host in the scope is connected.
        """
        self._refuse_on_loop("Session.wait_for_schema_agreement()", "the session of cassandra.aio")
        return self.cluster._run(
            self._engine.wait_for_schema_agreement(SchemaAgreementScope(scope), wait_time)
        )

    def load(
        self, target: str | PreparedStatement, source: Any, **options: Unpack[LoadSettings]
    ) -> LoadReport:
        """Write all rows of a file, a data frame or an iterable.

        Rows of the same partition, or with the same replicas, are sent in small unlogged batches.
        The number of requests in flight adapts to the speed of the servers. Failed requests are
        sent again if they are idempotent. See the guide on loading data.

        :param target: the name of a table, or a prepared statement.
        :param source: a path or glob (CSV, JSON lines, Parquet), a list of these, a pandas or
            polars frame, Arrow data, or an iterable of tuples, mappings or objects.
        :param options: see `cassandra.bulk.LoadOptions`.
        :returns: a report with the numbers of rows that were written and that failed.
        :raises LoadError: if more than ``max_errors`` rows (0 by default) fail, or the source
            cannot be read completely. The error's `report` shows what was written.
        :raises ValueError: if the source has other columns than the table, or the checkpoint is
            from the load of another source or table. In these cases nothing is written.
        :raises TypeError: if `options` has an unknown option.
        """
        self._refuse_on_loop("Session.load()", "the session of cassandra.aio")
        return bulk_load.load(self, target, source, bulk_load.load_options(options))

    # -- shutdown ----------------------------------------------------------------------------------

    def shutdown(self) -> None:
        """Close the session's connections.

        Requests in flight fail with `SessionShutdown`. Repeated calls do nothing.
        """
        if self.is_shutdown:
            return
        self.is_shutdown = True
        self.cluster._close_session(self)

    def _close_engine(self) -> None:
        """Close the engine's part of the session. The cluster calls this on the loop."""
        self._engine.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *args: object) -> None:
        self.shutdown()

    def __repr__(self) -> str:
        state = "shut down" if self.is_shutdown else f"{len(self._engine.pools)} hosts"
        return f"<Session: keyspace={self.keyspace}, {state}>"


Session.__module__ = "cassandra.cluster"

add_habits(Session, SESSION, operations={"__aenter__": IN_ASYNC})
add_habits(Session, SESSION_SETTINGS, settings=True)
