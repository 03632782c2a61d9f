"""The session of the asyncio face.

The engine runs on the caller's own loop, so that there is no thread and no hop.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeVar, overload

from cassandra._habits import ASYNC_SESSION, SESSION, SESSION_SETTINGS, add_habits, awaited
from cassandra._imports import Deferred
from cassandra.aio.concurrent import outcomes
from cassandra.aio.result import ResultSet
from cassandra.client.checks import (
    check_keyspace,
    check_vectors,
    list_of_queries,
    typed_factory,
)
from cassandra.client.paging import NextPage
from cassandra.client.requests import USUAL_OPTIONS
from cassandra.client.session import SessionBase
from cassandra.cqltypes.failures import without_compiled_frames
from cassandra.engine.mistakes import refuse_loop, running_loop
from cassandra.engine.profile import EXEC_PROFILE_DEFAULT
from cassandra.engine.request import Request
from cassandra.engine.request_bodies import ExecuteBody
from cassandra.engine.schema.scope import SchemaAgreementScope
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
    from cassandra.bulk.scan import AsyncScan, ScanOptions
    from cassandra.bulk.unload import UnloadReport
    from cassandra.client.requests import Parameters, Query
    from cassandra.engine import happy_path
    from cassandra.engine.profile import ExecutionProfile
    from cassandra.engine.session import EngineSession
    from cassandra.metadata.host import Host
else:
    from cassandra._impl import happy_path

    bulk_load = Deferred("cassandra.bulk.load")
    bulk_scan = Deferred("cassandra.bulk.scan")
    bulk_unload = Deferred("cassandra.bulk.unload")

__all__ = ["Session"]

T = TypeVar("T")


class ResultFuture(happy_path.ResultFuture):
    """The awaitable of one execution's `ResultSet`, on which listeners may set attributes."""


class Session(SessionBase):
    """Executes statements on the loop that it was made on; not for other threads.

    `Cluster.connect` makes it.

    :param cluster: the cluster that connected it.
    :param engine: the engine's part of the session.
    """

    cluster: Cluster

    def __init__(self, cluster: Cluster, engine: EngineSession) -> None:
        super().__init__(cluster, engine)
        self._loop = engine.loop
        self._path = happy_path.HappyPath(
            self, engine, self._default_options, Request, ExecuteBody, ResultSet, check_vectors
        )
        self.is_shutdown = False

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
    ) -> Awaitable[ResultSet[Any]]:
        """Send `query`, and return an awaitable of its `ResultSet`.

        It is in flight from the call on, so that many calls may be made before the first one is
        awaited. Mistakes in the call itself are raised by the call, other errors when it is
        awaited. Cancelling it gives the request up.

        :param query: a text, or a statement.
        :param parameters: a sequence, a mapping, or an object with attributes. In a text they take
            the places of ``%s`` or ``%(name)s``; markers and prepared statements bind them.
        :param timeout: seconds for all attempts together; None for no limit.
        :param trace: have the servers trace the request.
        :param custom_payload: sent beside the statement, for custom query handlers of the server.
        :param execution_profile: a profile or its name.
        :param paging_state: the page to begin with.
        :param host: the only host to send it to.
        :param row_type: the class to make the rows of: a dataclass, NamedTuple, TypedDict, attrs
            class, msgspec struct or pydantic model (see the guide on results).
        :raises RequestExecutionException: or another error of the server, InvalidRequest say.
        :raises OperationTimedOut: if no answer comes within `timeout`.
        :raises NoHostAvailable: with the error of each host.
        """
        if (
            timeout is NOT_SET
            and row_type is None
            and execution_profile is EXEC_PROFILE_DEFAULT
            and trace is False
            and custom_payload is None
            and paging_state is None
            and host is None
        ):
            try:
                answer: Awaitable[Any] | None = self._path.execute(query, parameters)
            except (TypeError, ValueError) as error:
                raise without_compiled_frames(error)  # noqa: B904  # it is the same error
            if answer is not None:
                return answer
        else:
            self._check_loop()
        factory = None if row_type is None else typed_factory(row_type)
        given = (timeout, trace, custom_payload, execution_profile, paging_state, host)
        options = self._default_options if given == USUAL_OPTIONS else self._options(*given)
        future = ResultFuture(self._path, factory or options.profile.row_factory)
        request = self._request(query, parameters, options, future.complete)
        future.request = request
        # Most programs have none, and this is the way of each request.
        if self._request_init_listeners:
            for listener, args, kwargs in self._request_init_listeners:
                listener(future, *args, **kwargs)
        # After the listeners: the message that they may change is encoded at the start.
        request.start()
        return future

    def _next_page(self, request: Request, paging_state: bytes | None) -> NextPage:
        """Send `request` again, for the page at `paging_state`.

        :param request: the request that was answered with the page before.
        :param paging_state: the bytes of that page's answer; None if it was the last one.
        :raises QueryExhausted: if it was the last one.
        """
        return NextPage(request, paging_state, Request.start)

    async def prepare(
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
        self._check_loop()
        # Only its check is wanted: the preparer takes a single text.
        (query,) = list_of_queries([query])
        profile = self._default_profile
        return await self._engine.core.preparer.prepare(
            self._engine,
            query,
            keyspace,
            custom_payload,
            profile.load_balancing_policy,
            profile.retry_policy,
            profile.request_timeout,
        )

    async def prepare_all(self, queries: Sequence[str]) -> list[PreparedStatement]:
        """Prepare all `queries` at the same time.

        :param queries: their texts.
        :returns: the statements, in the order of the queries.
        """
        self._check_loop()
        profile = self._default_profile
        return await self._engine.core.preparer.prepare_all(
            self._engine,
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

        Statements are taken from the iterable as they are sent. Outcomes are held for no longer
        than their order demands.

        :param statements_and_parameters: an iterable of (statement, parameters) pairs; parameters
            may be None.
        :param concurrency: how many are in flight at most.
        :param raise_on_first_error: let the first error end it, and raise that error.
        :param row_type: the class to make the rows of all results of, as in `execute`.
        :param execution_profile: a profile or its name, for all executions.
        :param in_order: False gives the outcomes as they come, each with the `position` of its
            statement.
        :returns: an async generator of the outcomes, in the order of the statements if nothing else
            is asked for. They are `ExecutionResult` tuples (success, result or error), as in
            `cassandra.concurrent`; with `in_order` False `PlacedResult` tuples, which have the
            `position` as well.
        :raises TypeError: if rows cannot be made of `row_type`.
        """
        # Here, because the generator would raise it only at the first iteration.
        if row_type is not None:
            typed_factory(row_type)
        options: dict[str, Any] = {}
        if row_type is not None:
            options["row_type"] = row_type
        if execution_profile is not None:
            options["execution_profile"] = execution_profile
        # Not past an `execute` that a program has put in place of ours: tracers wrap it.
        is_ours = type(self).execute is _own_execute and "execute" not in vars(self)
        return outcomes(
            self,
            statements_and_parameters,
            concurrency,
            raise_on_first_error,
            options,
            self._path if is_ours and not options else None,
            in_order,
        )

    async def set_keyspace(self, keyspace: str) -> None:
        """Use `keyspace` for unqualified names from now on.

        :param keyspace: its name, without quotes.
        :raises InvalidRequest: if it does not exist.
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
        """Read a whole table by ranges of tokens, in parallel.

        Each range is read from its replicas, pages are asked for ahead, and those that fail are
        asked for again: each row comes once. Nothing is sent before the first row is asked for.

        :param table: ``keyspace.table``, or ``table`` in the session's keyspace.
        :param columns: names of columns, or a text of selectors as in CQL; None for all.
        :param where: a condition in CQL, with ``?`` for the option `parameters`; None for all rows.
        :param options: see `cassandra.bulk.scan.ScanOptions`.
        :returns: an asynchronous iterable of rows, which can also be read as Arrow batches.
        """
        return bulk_scan.AsyncScan(self, table, columns, where, options)

    async def count(
        self, table: str, where: str | None = None, **options: Unpack[ScanOptions]
    ) -> int:
        """Count the rows of a table, by ranges of tokens in parallel.

        :param table: ``keyspace.table``, or ``table`` in the session's keyspace.
        :param where: a condition in CQL, with ``?`` for the option `parameters`; None for all rows.
        :param options: see `cassandra.bulk.scan.ScanOptions`.
        """
        return await bulk_scan.acount(self, table, where, **options)

    async def unload(
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
        """Wait until the connected hosts in `scope` have one schema version.

        Each host is asked itself.

        :param wait_time: seconds; None for the setting of the cluster.
        :param scope: which hosts to ask, a value of `SchemaAgreementScope`; by default the whole
            cluster.
        :returns: False if that takes too long.
        :raises ConnectionException: if no host in the scope is connected.
        """
        return await self._engine.wait_for_schema_agreement(SchemaAgreementScope(scope), wait_time)

    async def load(
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
        return await bulk_load.aload(self, target, source, bulk_load.load_options(options))

    async def shutdown(self) -> None:
        """Close the session's connections.

        Executions in flight fail with an error that says so. A second call does nothing.
        """
        if not self.is_shutdown:
            self.is_shutdown = True
            self._engine.close()
            # One turn of the loop, in which the sockets are closed.
            await asyncio.sleep(0)

    def _check_loop(self) -> None:
        if running_loop() is not self._path.loop:
            refuse_loop(self._path.loop)

    if not TYPE_CHECKING:  # type checkers refuse `with` by themselves

        def __enter__(self) -> NoReturn:
            raise TypeError("a session of cassandra.aio ends by awaiting: write `async with`")

        def __exit__(self, *args: object) -> None:
            """Never called: `__enter__` raises."""

    async def __aenter__(self) -> Session:
        return self

    async def __aexit__(self, *args: object) -> None:
        await self.shutdown()

    def __repr__(self) -> str:
        state = "shut down" if self.is_shutdown else f"{len(self._engine.pools)} hosts"
        return f"<aio.Session: keyspace={self.keyspace}, {state}>"


_own_execute = Session.execute
Session.__module__ = "cassandra.aio"

add_habits(Session, awaited(SESSION, ASYNC_SESSION))
add_habits(Session, SESSION_SETTINGS, settings=True)
