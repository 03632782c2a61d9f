"""`InternalQueries`, which sends the driver's own queries: results, errors, timeouts and pages."""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra import ConsistencyLevel
from cassandra.engine.control.internal_queries import InternalQueries
from cassandra.errors import InvalidRequest, OperationTimedOut, ProtocolError
from cassandra.protocol.opcodes import (
    ERROR,
    OPTIONS,
    QUERY,
    READY,
    RESULT,
    RESULT_KIND_ROWS,
    SUPPORTED,
)
from tests.unit.engine.partners import engine_settings, fake_connection
from tests.unit.protocol.wire import int32, short, string, value

SELECT = "SELECT a FROM t"


def rows_result(*numbers: int, state: bytes | None = None) -> tuple[int, int, bytes]:
    """Return a RESULT of rows with one int column `a`, as (opcode, flags, body).

    :param numbers: the value of each row.
    :param state: the paging state; None for the last page.
    """
    global_tables_spec, has_more_pages = 0x1, 0x2
    kind = int32(RESULT_KIND_ROWS)
    flags = int32(global_tables_spec | (has_more_pages if state is not None else 0))
    column_count = int32(1)
    paging_state = value(state) if state is not None else b""
    type_int = short(9)
    column_specs = string("ks") + string("t") + string("a") + type_int
    content = int32(len(numbers)) + b"".join(value(int32(number)) for number in numbers)
    return RESULT, 0, kind + flags + column_count + paging_state + column_specs + content


class Peer:
    """A fake connection that returns `answers` in order, and repeats the last answer.

    An answer is either a response, as (opcode, flags, body), or an error to raise. `sent` lists the
    requests as (opcode, body, timeout in seconds).
    """

    def __init__(self, *answers: Any, **attributes: Any) -> None:
        self.sent: list[tuple[int, bytes, float | None]] = []
        remaining_answers = list(answers)

        async def request(opcode: int, body: bytes, timeout: float | None) -> Any:
            self.sent.append((opcode, body, timeout))
            # Remove the answer from the list unless it is the last answer, which is repeated.
            answer = remaining_answers[0]
            if len(remaining_answers) > 1:
                del remaining_answers[0]
            if isinstance(answer, BaseException):
                raise answer
            return answer

        self.connection = fake_connection(request=request, **attributes)


def internal_queries(**changed: Any) -> InternalQueries:
    """Return internal queries whose timeout is 3.5 seconds.

    :param changed: other settings that differ from the defaults.
    """
    return InternalQueries(engine_settings(control_connection_timeout=3.5, **changed))


async def test_send_returns_the_decoded_message() -> None:
    """`send` decodes the response, and uses `control_connection_timeout` (3.5 s)."""
    peer = Peer((SUPPORTED, 0, b"\0\0"))
    answer = await internal_queries().send(peer.connection, OPTIONS, b"", "OPTIONS")
    assert type(answer).__name__ == "SupportedMessage"
    assert peer.sent == [(OPTIONS, b"", 3.5)]


async def test_rows_returns_dicts_and_reads_at_consistency_one() -> None:
    """`rows` returns a dict from column names to values for each row.

    It sends the query with consistency level ONE and with `control_connection_timeout` (3.5 s).
    """
    peer = Peer(rows_result(5, 7))
    assert await internal_queries().rows(peer.connection, SELECT) == [{"a": 5}, {"a": 7}]
    ((opcode, body, timeout),) = peer.sent
    assert opcode == QUERY
    assert timeout == 3.5
    # In the body, the consistency level follows the query, which is a [long string].
    assert body.startswith(value(SELECT.encode()) + short(ConsistencyLevel.ONE))


async def test_a_timeout_names_the_query() -> None:
    """A timeout raises OperationTimedOut, which names the host and the query.

    The connection stays open.
    """
    peer = Peer(asyncio.TimeoutError())
    with pytest.raises(OperationTimedOut, match=r"10\.0\.0\.1:9042 did not answer 'SELECT a FROM"):
        await internal_queries().query(peer.connection, SELECT)
    assert not peer.connection.closed


async def test_an_error_of_the_server_is_raised() -> None:
    """An ERROR response is raised as an exception, and the connection stays open."""
    invalid = 0x2200  # the protocol's code of this error
    peer = Peer((ERROR, 0, int32(invalid) + string("no such table")))
    with pytest.raises(InvalidRequest, match="no such table"):
        await internal_queries().rows(peer.connection, SELECT)
    assert not peer.connection.closed


@pytest.mark.parametrize(
    "answer",
    [(READY, 0, b""), (RESULT, 0, b"")],
    ids=["another opcode", "empty body"],
)
async def test_an_unexpected_message_closes_the_connection(answer: Any) -> None:
    """A response that cannot be the answer to a query raises ProtocolError.

    The connection is closed.
    """
    peer = Peer(answer)
    with pytest.raises(ProtocolError):
        await internal_queries().query(peer.connection, SELECT)
    assert peer.connection.closed


async def pages_by(queries: InternalQueries, peer: Peer) -> list[list[tuple[Any, ...]]]:
    """Read all pages of SELECT, and return the rows of each page as tuples."""

    def tuples(names: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        return list(rows)

    return [page.decode(tuples) async for page in queries.pages(peer.connection, SELECT)]


async def test_each_page_is_requested_with_the_previous_paging_state() -> None:
    """The second request has the paging state of the first page, and both have the page size."""
    peer = Peer(rows_result(1, 2, state=b"next"), rows_result(3))
    queries = internal_queries(schema_metadata_page_size=2)
    assert await pages_by(queries, peer) == [[(1,), (2,)], [(3,)]]
    first, second = (body for _opcode, body, _timeout in peer.sent)
    # 2 is the page size.
    assert int32(2) in first
    assert b"next" not in first
    assert int32(2) + value(b"next") in second


async def test_a_paging_state_that_repeats_is_an_error() -> None:
    """If a node sends the same paging state twice, `pages` raises an error.

    Otherwise, such a node would keep the driver in an endless loop.
    """
    peer = Peer(rows_result(1, state=b"same"))
    with pytest.raises(ProtocolError, match="has no end"):
        await pages_by(internal_queries(), peer)
    assert len(peer.sent) == 2


async def test_pages_that_a_server_refuses_are_not_requested_again() -> None:
    """If a guardrail of the server refuses the size of the pages, rows are read without pages.

    cassandra-driver reads the schema without pages, so it connects to such servers.
    """
    invalid = 0x2200  # the protocol's code of this error
    refusal = "Guardrail page_size violated: page size 1000 exceeds fail threshold of 500."
    peer = Peer((ERROR, 0, int32(invalid) + string(refusal)), rows_result(1, 2, 3))
    queries = internal_queries()
    for _ in range(2):
        assert await pages_by(queries, peer) == [[(1,), (2,), (3,)]]
    # The first request alone has a page size.
    assert [int32(1000) in body for _opcode, body, _timeout in peer.sent] == [True, False, False]


async def test_other_refusals_are_raised_at_once() -> None:
    """If a server refuses a query for another reason, the query is not sent again."""
    invalid = 0x2200  # the protocol's code of this error
    peer = Peer((ERROR, 0, int32(invalid) + string("no such table")), rows_result(1))
    with pytest.raises(InvalidRequest, match="no such table"):
        await pages_by(internal_queries(), peer)
    assert len(peer.sent) == 1


async def test_pages_that_a_server_warns_of_are_not_requested_again() -> None:
    """If the server warns of the size of the pages, later queries read rows without pages."""
    has_warnings = 0x08  # the flag of a frame
    opcode, _flags, body = rows_result(1, state=b"next")
    warning = "Guardrail page_size violated: page size 1000 exceeds warning threshold of 500."
    warned = (opcode, has_warnings, short(1) + string(warning) + body)
    peer = Peer(warned, rows_result(2), rows_result(1, 2))
    queries = internal_queries()
    assert await pages_by(queries, peer) == [[(1,)], [(2,)]]
    assert await pages_by(queries, peer) == [[(1,), (2,)]]
    sizes = [int32(1000) in body for _opcode, body, _timeout in peer.sent]
    assert sizes == [True, True, False]


class RecordingQueries(InternalQueries):
    """Internal queries that record the statements they send."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(engine_settings(**settings))
        self.statements: list[str | None] = []

    async def send(
        self,
        connection: Any,
        opcode: int,
        body: bytes,
        question: str,
        statement: str | None = None,
    ) -> Any:
        """Record the statement, and return a response without a further page."""
        self.statements.append(statement)
        return SimpleNamespace(paging_state=None, warnings=None)


@pytest.mark.parametrize(
    ("features", "has_timeout"),
    [
        (None, False),
        (SimpleNamespace(is_scylla=False), False),
        (SimpleNamespace(is_scylla=True), True),
    ],
)
async def test_only_queries_to_scylladb_get_using_timeout(features: Any, has_timeout: bool) -> None:
    """Only queries to ScyllaDB get a USING TIMEOUT clause with `metadata_request_timeout`.

    Cassandra's CQL does not have this clause.
    """
    queries = RecordingQueries(metadata_request_timeout=datetime.timedelta(seconds=2))
    connection = fake_connection(features=features)
    pages = [page async for page in queries.pages(connection, SELECT)]
    assert len(pages) == 1
    assert queries.statements == [f"{SELECT} USING TIMEOUT 2000ms" if has_timeout else SELECT]
