"""Sends the driver's own queries, for example of system tables.

Their time limit is the setting `control_connection_timeout`.
"""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any

from cassandra.consistency import ConsistencyLevel
from cassandra.engine.connection import read_answer
from cassandra.errors import InvalidRequest, OperationTimedOut, ProtocolError
from cassandra.protocol.messages.errors import ErrorMessage
from cassandra.protocol.opcodes import QUERY
from cassandra.protocol.params import QueryParams
from cassandra.query.row_factories import dict_factory
from cassandra.util.misc import maybe_add_timeout_to_query

if TYPE_CHECKING:
    from cassandra.engine.connection import Connection
    from cassandra.engine.settings import Settings
    from cassandra.protocol import bodies
    from cassandra.protocol.messages.results import ResultMessage
else:
    from cassandra._impl import bodies

# `Send` is the type of `InternalQueries.send`: called with a connection, an opcode, a body and a
# name for error messages. `Rows` is the type of `InternalQueries.rows`: called with a connection
# and a query.
Send = Callable[["Connection", int, bytes, str], Awaitable[Any]]
Rows = Callable[["Connection", str], Coroutine[Any, Any, "list[dict[str, Any]]"]]


class InternalQueries:
    """Sends the engine's own requests, and reads their responses."""

    __slots__ = ("_are_pages_refused", "_settings")

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        # True if a server has refused the size of the pages, or warned of it. The guardrail
        # `page_size` of Cassandra does so.
        self._are_pages_refused = False

    async def send(
        self,
        connection: Connection,
        opcode: int,
        body: bytes,
        question: str,
        statement: str | None = None,
    ) -> Any:
        """Send one request, and return its response.

        :param question: a name for the request in error messages.
        :param statement: the CQL if the request is a QUERY; it determines which responses are
            valid.
        :raises ProtocolError: if the response is malformed or does not fit the request; the
            connection is closed.
        :raises OperationTimedOut: if no response comes within
            `Settings.control_connection_timeout`.
        :raises DriverException: if the server responds with an error.
        """
        timeout = self._settings.control_connection_timeout
        try:
            answer_opcode, flags, answer = await connection.request(opcode, body, timeout)
        except asyncio.TimeoutError:
            raise OperationTimedOut(
                f"{connection.endpoint} did not answer {question} within {timeout} seconds "
                "(Cluster.control_connection_timeout)",
                connection.endpoint,
                timeout,
            ) from None
        # Let the caller handle errors of the server as exceptions.
        response = read_answer(connection, opcode, statement, answer_opcode, flags, answer)
        if isinstance(response, ErrorMessage):
            raise response.to_exception()
        return response

    async def query(self, connection: Connection, query: str) -> ResultMessage:
        """Execute a statement without parameters at consistency ONE.

        Raises the same errors as `send`.
        """
        # ONE is enough, because the engine reads only system tables, and each node has its own copy
        # of these tables.
        params = QueryParams(consistency=ConsistencyLevel.ONE)
        body = bodies.query_body(query, params, connection.version)
        result: ResultMessage = await self.send(connection, QUERY, body, repr(query), query)
        return result

    async def rows(self, connection: Connection, query: str) -> list[dict[str, Any]]:
        """Return the rows of `query`, as dicts."""
        rows: list[dict[str, Any]] = (await self.query(connection, query)).decode(dict_factory)
        return rows

    def _server_timeout(self) -> datetime.timedelta | None:
        """Return the server-side time limit for queries of the schema tables; None for no limit."""
        timeout = self._settings.metadata_request_timeout
        if timeout is None:
            timeout = self._settings.control_connection_timeout
        if timeout is None or isinstance(timeout, datetime.timedelta):
            return timeout
        return datetime.timedelta(seconds=timeout)

    async def pages(self, connection: Connection, query: str) -> AsyncIterator[Any]:
        """Yield the result of `query` page by page, as ROWS messages.

        A page has `Settings.schema_metadata_page_size` rows. If the server does not want pages of
        this size, the result is a single page: servers do not limit results without pages.

        :raises ProtocolError: if the server repeats a paging state.
        """
        timeout = self._server_timeout()
        features = connection.features
        # Add USING TIMEOUT for ScyllaDB only. It is an extension of ScyllaDB, and Cassandra would
        # reject the statement.
        if timeout is not None and features is not None and features.is_scylla:
            query = maybe_add_timeout_to_query(query, timeout)
        paging_state: bytes | None = None
        seen_paging_states: set[bytes] = set()
        page_size = None if self._are_pages_refused else self._settings.schema_metadata_page_size
        while True:
            params = QueryParams(
                consistency=ConsistencyLevel.ONE, page_size=page_size, paging_state=paging_state
            )
            body = bodies.query_body(query, params, connection.version)
            try:
                page = await self.send(
                    connection, QUERY, body, question=repr(query), statement=query
                )
            except InvalidRequest as error:
                if page_size is None or paging_state is not None or not _names_pages(str(error)):
                    raise
                self._are_pages_refused, page_size = True, None
                continue
            if any(_names_pages(warning) for warning in page.warnings or ()):
                self._are_pages_refused = True  # for the queries that follow
            yield page
            paging_state = page.paging_state
            if paging_state is None:
                return
            # The time limit applies to each page, not to all pages together. Without this check, a
            # server that repeats its pages would keep us here for ever.
            if paging_state in seen_paging_states:
                raise ProtocolError(
                    f"{connection.endpoint} gives the same page again and again: "
                    f"{query!r} has no end"
                )
            seen_paging_states.add(paging_state)


def _names_pages(message: str) -> bool:
    """Return True if the server's error or warning is about the size of pages."""
    return "page_size" in message or "page size" in message
