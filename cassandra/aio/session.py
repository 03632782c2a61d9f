"""`Session` of the asyncio API. It runs on your own event loop, without other threads."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Generator, Iterable, Mapping, Sequence, Sized
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeVar, overload

from cassandra._habits import ASYNC_SESSION, SESSION, SESSION_SETTINGS, add_habits, awaited
from cassandra._imports import Deferred
from cassandra._unknown_options import unknown_option
from cassandra.aio.calls import mark_coroutine_function, returns_call
from cassandra.aio.concurrent import outcomes
from cassandra.aio.result import ResultSet
from cassandra.client.checks import (
    check_keyspace,
    check_pairs,
    check_vectors,
    checked_concurrency,
    list_of_queries,
    typed_factory,
)
from cassandra.client.paging import NextPage
from cassandra.client.requests import USUAL_OPTIONS
from cassandra.client.session import SessionBase
from cassandra.cqltypes.failures import without_compiled_frames
from cassandra.engine.mistakes import check_loop, iteration_check, retrieve_error, silence_future_of
from cassandra.engine.profile import EXEC_PROFILE_DEFAULT
from cassandra.engine.request import Request
from cassandra.engine.request_bodies import ExecuteBody
from cassandra.engine.schema.scope import SchemaAgreementScope
from cassandra.engine.targets import check_replica
from cassandra.query.prepared import PreparedStatement
from cassandra.query.settings import NOT_SET
from cassandra.util.cql_text import escape_name

if TYPE_CHECKING:
    from pathlib import Path

    from typing_extensions import Unpack

    from cassandra.aio.cluster import Cluster
    from cassandra.aio.concurrent import ExecutionResult, PlacedResult
    from cassandra.bulk import load as bulk_load, scan as bulk_scan, unload as bulk_unload
    from cassandra.bulk.options import LoadSettings
    from cassandra.bulk.report import LoadReport
    from cassandra.bulk.scan import AsyncScan
    from cassandra.bulk.scan_options import ScanOptions, UnloadOptions
    from cassandra.bulk.unload import UnloadReport
    from cassandra.client.requests import Parameters, Query
    from cassandra.engine import happy_path
    from cassandra.engine.profile import ExecutionProfile
    from cassandra.engine.session import EngineSession
    from cassandra.metadata.host import Host
    from cassandra.metadata.placement.tokens import Token
else:
    from cassandra._impl import happy_path

    bulk_load = Deferred("cassandra.bulk.load")
    bulk_scan = Deferred("cassandra.bulk.scan")
    bulk_unload = Deferred("cassandra.bulk.unload")

T = TypeVar("T")


_NOT_AWAITED = "the execution was not awaited; write `result = await session.execute(...)`"


class ResultFuture(happy_path.ResultFuture):
    """The awaitable of one execution's `ResultSet`.

    The base class may be compiled. This subclass is a Python class, so that listeners can set
    attributes on its instances.
    """

    if not TYPE_CHECKING:  # type checkers would otherwise allow these uses of the future

        @property
        def __dict__(self) -> NoReturn:
            """Raise AttributeError, as futures of asyncio do.

            If a FastAPI route returns an execution that was not awaited, FastAPI calls `vars` on
            the execution. Without this error, FastAPI would send ``{}`` to its client.
            """
            raise AttributeError(_NOT_AWAITED)

        def __getitem__(self, key: object) -> NoReturn:
            self._keep_quiet()
            raise TypeError(_NOT_AWAITED)

        def __len__(self) -> NoReturn:
            self._keep_quiet()
            raise TypeError(_NOT_AWAITED)

        def __iter__(self) -> Generator[Any, None, Any]:
            try:
                return (yield from self.__await__())
            except RuntimeError as error:
                # This error means that the future was not awaited, but iterated over, for example
                # by a `for` loop. Raise the error with advice.
                if not str(error).startswith("await wasn't used with future"):
                    raise
                self._keep_quiet()
                raise RuntimeError(f"await wasn't used with future: {_NOT_AWAITED}") from None

    def _keep_quiet(self) -> None:
        """Do not log the error of this future as never retrieved.

        Another error already says that the future was not awaited.
        """
        self.add_done_callback(retrieve_error)

    def __aiter__(self) -> NoReturn:
        """Raise TypeError with the correct `async for`: the rows are in the awaited result."""
        self._keep_quiet()
        raise TypeError(
            "the execution was not awaited; write `async for row in await session.execute(...)`"
        )

    async def __aenter__(self) -> NoReturn:
        """Raise a TypeError whose message shows the correct code.

        A result need not be closed, so it cannot be used in ``async with``.
        """
        self.cancel()  # nobody can await the request that was sent
        raise TypeError(
            "a result is not a context manager; write `result = await session.execute(...)`"
        )

    async def __aexit__(self, *exception_info: object) -> None:
        """Do nothing. Without this method, `async with` would not call `__aenter__`."""


class Session(SessionBase):
    """Executes statements. `Cluster.connect` creates sessions.

    A session belongs to the event loop on which it was created. You must not use it in other
    threads.

    :param cluster: the cluster whose `connect` has created the session.
    :param engine: the internal object that sends the session's requests.
    """

    # The constructor sets these. Mocks with ``spec=`` have only attributes of the class.
    cluster: Cluster = None  # type: ignore[assignment]
    is_shutdown = False

    def __init__(self, cluster: Cluster, engine: EngineSession) -> None:
        super().__init__(cluster, engine)
        self._loop = engine.loop
        self._path = self._new_path()  # executes common statements
        self.hosts: Sequence[Host] = cluster.metadata.all_hosts()
        """The hosts that were known when the session was created."""
        self.is_shutdown = False

    def _new_path(self) -> happy_path.HappyPath:
        """Return the session's happy path, which executes common statements in one call.

        The happy path is the fast code for a request that needs no retry, tracing or paging. Its
        arguments include the classes of the requests, request bodies and results that it makes.
        """
        return happy_path.HappyPath(
            self,
            self._engine,
            self._default_options,
            Request,
            ExecuteBody,
            ResultSet,
            check_vectors,
        )

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
        *,
        row_type: type[T],
        shard: int | None = None,
        token: int | Token | None = None,
    ) -> Awaitable[ResultSet[T]]: ...

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
        row_type: None = None,
        shard: int | None = None,
        token: int | Token | None = None,
    ) -> Awaitable[ResultSet[Any]]: ...

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
        row_type: type[Any] | None = None,
        shard: int | None = None,
        token: int | Token | None = None,
        **_unknown: NoReturn,
    ) -> Awaitable[ResultSet[Any]]:
        """Send `query`, and return an awaitable of its `ResultSet`.

        The call itself starts the request, so you can make many calls before you await the first of
        them. If the call itself is wrong, for example because of a parameter's type, it raises the
        error. Awaiting raises all other errors. If you cancel the awaitable, the request ends.

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
        # Calls without options use the happy path. It returns None if it cannot handle the query.
        if (
            timeout is NOT_SET
            and row_type is None
            and execution_profile is EXEC_PROFILE_DEFAULT
            and trace is False
            and custom_payload is None
            and paging_state is None
            and host is None
            and shard is None
            and token is None
        ):
            try:
                answer: Awaitable[Any] | None = self._path.execute(query, parameters)
            except (TypeError, ValueError) as error:
                raise without_compiled_frames(error)  # noqa: B904  # it is the same error
            if answer is not None:
                return answer
        else:
            # Check that this is the session's event loop. For calls without options,
            # `_path.execute` has checked that.
            self._check_loop()
        factory = None if row_type is None else typed_factory(row_type)
        options_of_call = (timeout, trace, custom_payload, execution_profile, paging_state, host)
        is_usual = options_of_call == USUAL_OPTIONS and shard is None and token is None
        options = (
            self._default_options if is_usual else self._options(*options_of_call, shard, token)
        )
        future = ResultFuture(self._path, factory or options.profile.row_factory)
        request = self._request(query, parameters, options, future.complete)
        if request.target is not None:
            check_replica(request)
        future.request = request
        # This `if` is faster than an empty `for` loop, and most applications have no listeners.
        if self._request_init_listeners:
            for listener, args, kwargs in self._request_init_listeners:
                listener(future, *args, **kwargs)
        # Start the request after the listeners have run, because they may change the message, which
        # is encoded when the request starts.
        request.start()
        return future

    def _next_page(self, request: Request, paging_state: bytes | None) -> NextPage:
        """Request the page after the page of `request`.

        :param request: the request of the previous page.
        :param paging_state: the paging state in the response to `request`; None if there is no
            further page.
        :raises QueryExhausted: if `paging_state` is None.
        """
        next_page = NextPage(request, paging_state, Request.start)
        next_page.start()
        return next_page

    @returns_call
    async def prepare(
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
        engine = self._engine_on_loop()
        # `list_of_queries` raises an error if `query` is not a string.
        (query,) = list_of_queries([query])
        profile = self._default_profile
        return await engine.core.preparer.prepare(
            engine,
            query,
            keyspace,
            custom_payload,
            profile.load_balancing_policy,
            profile.retry_policy,
            profile.request_timeout,
        )

    async def prepare_all(self, queries: Sequence[str]) -> list[PreparedStatement]:
        """Prepare all `queries` concurrently.

        :param queries: the CQL strings.
        :returns: the statements, in the order of the queries.
        """
        engine = self._engine_on_loop()
        profile = self._default_profile
        return await engine.core.preparer.prepare_all(
            engine,
            list_of_queries(queries),
            profile.load_balancing_policy,
            profile.retry_policy,
            profile.request_timeout,
        )

    @overload
    def execute_concurrent(
        self,
        statements_and_parameters: Iterable[tuple[Query, Parameters]],
        concurrency: int = 100,
        raise_on_first_error: bool = True,
        row_type: type[Any] | None = None,
        *,
        execution_profile: ExecutionProfile | str | None = None,
        in_order: Literal[True] = True,
    ) -> AsyncGenerator[ExecutionResult, None]: ...

    @overload
    def execute_concurrent(
        self,
        statements_and_parameters: Iterable[tuple[Query, Parameters]],
        concurrency: int = 100,
        raise_on_first_error: bool = True,
        row_type: type[Any] | None = None,
        *,
        execution_profile: ExecutionProfile | str | None = None,
        in_order: Literal[False],
    ) -> AsyncGenerator[PlacedResult, None]: ...

    @overload
    def execute_concurrent(
        self,
        statements_and_parameters: Iterable[tuple[Query, Parameters]],
        concurrency: int = 100,
        raise_on_first_error: bool = True,
        row_type: type[Any] | None = None,
        *,
        execution_profile: ExecutionProfile | str | None = None,
        in_order: bool,
    ) -> AsyncGenerator[ExecutionResult | PlacedResult, None]: ...

    def execute_concurrent(
        self,
        statements_and_parameters: Iterable[tuple[Query, Parameters]],
        concurrency: int = 100,
        raise_on_first_error: bool = True,
        row_type: type[Any] | None = None,
        *,
        execution_profile: ExecutionProfile | str | None = None,
        in_order: bool = True,
    ) -> AsyncGenerator[Any, None]:
        """Execute many statements, at most `concurrency` of them at a time.

        Each statement is taken from the iterable only when it is sent. A result is stored only
        until the results of all earlier statements have been yielded.

        :param statements_and_parameters: an iterable of (statement, parameters) pairs; parameters
            may be None.
        :param concurrency: the maximum number of requests in flight.
        :param raise_on_first_error: True stops at the first error and raises it; False yields
            errors as results.
        :param row_type: the class of the rows of all results, as for `execute`.
        :param execution_profile: a profile or its name, used for all executions.
        :param in_order: True yields results in the order of the statements; False yields each
            result as soon as it has come.
        :returns: an async generator. It yields `ExecutionResult` tuples (success, result or error),
            as in `cassandra.concurrent`. If `in_order` is False, it yields `PlacedResult` tuples,
            which also have the `position` of the statement. If the generator fails, or the wait for
            a result is cancelled, the other statements are cancelled. Using the generator after
            that raises RuntimeError.
        :raises ValueError: if `concurrency` is not greater than 0.
        :raises TypeError: if rows cannot be instances of `row_type`.
        """
        # Check the arguments here. The generator would raise their errors only when the first
        # result is requested.
        check_pairs(statements_and_parameters)
        concurrency = checked_concurrency(concurrency)
        if row_type is not None:
            typed_factory(row_type)
        options: dict[str, Any] = {}
        if row_type is not None:
            options["row_type"] = row_type
        if execution_profile is not None:
            options["execution_profile"] = execution_profile
        # If a tracing library has replaced `execute`, it expects a call for each statement. Use the
        # happy path, which bypasses `execute`, only if `execute` was not replaced.
        is_execute_original = type(self).execute is _own_execute and "execute" not in vars(self)
        check = iteration_check()
        # Do not warn of a dropped generator if there are no statements, because nothing is lost.
        check.is_used = isinstance(statements_and_parameters, Sized) and not len(
            statements_and_parameters
        )
        return outcomes(
            self,
            statements_and_parameters,
            concurrency,
            raise_on_first_error,
            options,
            self._path if is_execute_original and not options else None,
            in_order,
            check,
        )

    async def set_keyspace(self, keyspace: str) -> None:
        """Use `keyspace` for unqualified names from now on.

        :param keyspace: the name of the keyspace, without quotes.
        :raises InvalidRequest: if the keyspace does not exist.
        """
        check_keyspace(keyspace)
        await self.execute(f"USE {escape_name(keyspace)}")

    def scan(
        self,
        table: str,
        columns: Sequence[str] | str | None = None,
        where: str | None = None,
        **options: Unpack[ScanOptions],
    ) -> AsyncScan:
        """Read a whole table, many token ranges in parallel.

        Each token range is read from its replicas. The scan requests pages before you need them.
        After an error, it only requests the failed page again, so each row comes exactly once.
        Nothing is sent until you ask for the first row.

        :param table: ``keyspace.table``, or ``table`` in the session's keyspace.
        :param columns: column names, or a string of CQL selectors; None for all columns.
        :param where: a condition in CQL, with ``?`` for the option `parameters`; None for all rows.
        :param options: see `cassandra.bulk.ScanOptions`.
        :returns: an asynchronous iterable of rows, which can also be read as Arrow batches.
        """
        return bulk_scan.AsyncScan(self, table, columns, where, options)

    @returns_call
    async def count(
        self, table: str, where: str | None = None, **options: Unpack[ScanOptions]
    ) -> int:
        """Count the rows of a table, many token ranges in parallel.

        :param table: ``keyspace.table``, or ``table`` in the session's keyspace.
        :param where: a condition in CQL, with ``?`` for the option `parameters`; None for all rows.
        :param options: see `cassandra.bulk.ScanOptions`.
        """
        self._check_loop()
        return await bulk_scan.acount(self, table, where, **options)

    @returns_call
    async def unload(
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
        self._check_loop()
        return await bulk_unload.aunload(
            self,
            table,
            target,
            format=format,
            columns=columns,
            where=where,
            compression=compression,
            **options,
        )

    async def wait_for_schema_agreement(
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
        engine = self._engine_on_loop()
        return await engine.wait_for_schema_agreement(SchemaAgreementScope(scope), wait_time)

    @returns_call
    async def load(
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
        self._check_loop()
        return await bulk_load.aload(self, target, source, bulk_load.load_options(options))

    async def shutdown(self) -> None:
        """Close the session's connections.

        Requests in flight fail with `SessionShutdown`. Repeated calls do nothing.

        :raises RuntimeError: if the session belongs to another event loop.
        """
        if not self.is_shutdown:
            engine = self._engine_on_loop()
            self.is_shutdown = True
            self.cluster._sessions.discard(self)
            engine.close()
            # Wait for the next iteration of the event loop, in which asyncio closes the sockets.
            await asyncio.sleep(0)

    def _check_loop(self) -> None:
        """Raise RuntimeError if the running loop is not the session's loop."""
        check_loop(self._loop)

    def _engine_on_loop(self) -> EngineSession:
        """Return the engine, for a call that sends requests, waits or closes.

        Any thread may read `_engine`, for example for `keyspace`, but only the loop may use it.

        :raises RuntimeError: if the running loop is not the session's loop.
        """
        check_loop(self._loop)
        return self._engine

    if not TYPE_CHECKING:  # hidden from type checkers, so that they report a plain `with`

        def __enter__(self) -> NoReturn:
            raise TypeError("a session of cassandra.aio ends by awaiting: write `async with`")

        def __exit__(self, *args: object) -> None:
            """Never called: `__enter__` raises."""

    async def __aenter__(self) -> Session:
        return self

    async def __aexit__(self, *exception_info: object) -> None:
        silence_future_of(exception_info[1], happy_path.ResultFuture)
        await self.shutdown()

    def __repr__(self) -> str:
        state = "shut down" if self.is_shutdown else f"{len(self._engine.pools)} hosts"
        return f"<aio.Session: keyspace={self.keyspace}, {state}>"


# `execute_concurrent` compares `execute` with this function, to find out if it was replaced.
_own_execute = Session.execute
Session.__module__ = "cassandra.aio"

# Without this mark, `unittest.mock` would replace `execute` by a mock that is not asynchronous.
mark_coroutine_function(Session.execute)
add_habits(Session, awaited(SESSION, ASYNC_SESSION))
add_habits(Session, SESSION_SETTINGS, settings=True)
