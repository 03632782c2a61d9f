"""Faults of one connection: damaged, late or repeated responses, and a node that stops reading.

Other tests cover forgotten statements and changed columns. The nodes use real sockets. No test
depends on time, except on the client's own timeouts.
"""

from __future__ import annotations

import asyncio
import logging
import re
from typing import Any

import pytest

from cassandra.errors import (
    ConnectionException,
    DriverException,
    NoHostAvailable,
    OperationTimedOut,
)
from cassandra.query import SimpleStatement
from cassandra.testing.fake import (
    Answer,
    FakeCluster,
    FakeNode,
    Opcode,
    close,
    corrupted,
    dribble,
    duplicate,
    garbage,
    half_frame,
    hold,
    message,
    on_stream,
    out_of_order,
    paged,
    raw,
    reset,
    rows,
    void,
)
from tests.unit.engine.faults import (
    INSERT,
    READ,
    READ_OTHER,
    call_in_thread,
    connected,
    exception_of,
    int_row,
    local_address,
    node as node,
    only_connection,
)

# -- incomplete responses --------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["close", "reset"])
@pytest.mark.parametrize("cut_at", [1, 5, 9, 20, -1])
async def test_a_connection_that_ends_in_an_answer_fails_its_request(
    node: FakeNode, ending: str, cut_at: int
) -> None:
    """If a connection ends in the middle of a response, the request fails.

    This holds even if the response was almost complete.

    :param cut_at: the number of bytes that are sent; negative numbers count from the end.
    """
    async with connected(node) as (_, session):
        node.prime(READ, half_frame(int_row(7), cut_at, ending), times=1)
        failure = await exception_of(session.execute(READ))
        assert isinstance(failure, ConnectionException)
        assert node.endpoint in str(failure)
        # The pool opens another connection. This request waits for the connection, and succeeds.
        assert (await session.execute(READ_OTHER)).one().k == 1


@pytest.mark.parametrize("ending", [close(), reset()], ids=["close", "reset"])
async def test_if_the_connection_ends_all_its_requests_fail_at_once(
    node: FakeNode, ending: Answer
) -> None:
    """If a connection ends, all 101 requests on it fail at once.

    They do not wait for their timeouts.
    """
    held = hold()
    node.prime(READ, held)
    node.prime("end", ending, times=1)
    async with connected(node) as (_, session):
        requests = [session.execute(READ) for _ in range(100)]
        await call_in_thread(held.wait, 100)
        requests.append(session.execute("end"))
        for request in requests:
            failure = await exception_of(request)
            assert isinstance(failure, ConnectionException)
            assert node.endpoint in str(failure)
        assert (await session.execute(READ_OTHER)).one().k == 1


async def test_half_an_answer_times_out(node: FakeNode) -> None:
    """If a node sends only a part of a response, the request times out."""
    async with connected(node) as (_, session):
        node.prime(READ, half_frame(int_row(7), 12, "hang"), times=1)
        failure = await exception_of(session.execute(READ, timeout=0.05))
        assert isinstance(failure, OperationTimedOut)
        assert node.endpoint in str(failure)


async def test_a_page_that_is_cut_fails_the_iteration(node: FakeNode) -> None:
    """If the connection breaks during a later page, the iteration fails when it needs this page.

    The rows of earlier pages are still returned.
    """
    pages = paged([("k", "int")], [(value,) for value in range(20)])
    node.prime(
        READ, lambda request: half_frame(pages, 30, "reset") if request.paging_state else pages
    )
    async with connected(node) as (_, session):
        keys_read = []

        async def read_all() -> None:
            async for row in await session.execute(SimpleStatement(READ, fetch_size=5)):
                keys_read.append(row.k)  # noqa: PERF401 - a comprehension would lose the rows before the error

        assert isinstance(await exception_of(read_all()), ConnectionException)
        # These are the five rows of the first page.
        assert keys_read == [0, 1, 2, 3, 4]
        assert (await session.execute(READ_OTHER)).one().k == 1


async def test_pages_of_all_sizes_have_all_rows(node: FakeNode) -> None:
    """1000 rows of 1000 bytes each arrive completely, in one page or in several pages."""
    wide_rows = [(value, "x" * 1000) for value in range(1000)]
    node.prime(READ, paged([("k", "int"), ("v", "text")], wide_rows))
    async with connected(node) as (_, session):
        for size in (1000, 999, 300):
            result = await session.execute(SimpleStatement(READ, fetch_size=size))
            assert [tuple(row) async for row in result] == wide_rows


@pytest.mark.parametrize("size", [1, 7, 1000])
async def test_answers_that_arrive_in_pieces_are_read(node: FakeNode, size: int) -> None:
    """A response that arrives in pieces of `size` bytes is decoded as usual."""
    values = [(value, "x" * value) for value in range(50)]
    node.prime(READ, dribble(rows([("k", "int"), ("v", "text")], values), size))
    async with connected(node) as (_, session):
        assert [tuple(row) for row in (await session.execute(READ)).all()] == values
        assert (await session.execute(READ_OTHER)).one().k == 1


# -- meaningless bytes -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer",
    [
        # These bytes are not a message of the protocol.
        garbage(b"HTTP/1.1 200 OK\r\n\r\n" * 10),
        garbage(b"\xff" * 64),
        garbage(bytes(64)),
        # These responses have streams that no request uses.
        on_stream(int_row(7), 31_000),
        on_stream(int_row(7), -2),
        # The opcode 0x7F does not exist. The other bodies end too early: the second announces five
        # columns, the third has half of an error code, and the fourth announces 65,535 options.
        message(0x7F, b""),
        message(Opcode.RESULT, b"\0\0\0\x02\0\0\0\0\0\0\0\x05"),
        message(Opcode.ERROR, b"\0\0"),
        message(Opcode.SUPPORTED, b"\xff\xff"),
    ],
    ids=[
        "http",
        "ones",
        "zeros",
        "stream",
        "negative",
        "opcode",
        "columns",
        "error",
        "supported",
    ],
)
async def test_an_invalid_answer_closes_the_connection(
    node: FakeNode, answer: Answer, caplog: pytest.LogCaptureFixture
) -> None:
    """A response that cannot be decoded or belongs to no request closes the connection.

    The request fails with a DriverException, and no error is logged. The pool opens a new
    connection.
    """
    async with connected(node) as (_, session):
        connection = only_connection(session)
        node.prime(READ, answer, times=1)
        failure = await exception_of(session.execute(READ, timeout=3.0))
        assert isinstance(failure, DriverException)
        assert not isinstance(failure, (OperationTimedOut, NoHostAvailable))
        assert connection.closed
        assert (await session.execute(READ_OTHER)).one().k == 1
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []


@pytest.mark.parametrize(
    "position", [0, 3, 7, -5, -1], ids=["length", "crc24", "request_body", "last", "crc32"]
)
async def test_a_frame_with_one_flipped_bit_is_an_error(position: int) -> None:
    """A frame with one flipped bit makes the request fail.

    The driver checks both checksums. See native_protocol_v5.spec, section 2.1: bytes 0 to 2 are the
    length, bytes 3 to 5 the CRC24, and the last four bytes the CRC32 of the bytes between them.

    :param position: the position of the byte with the flipped bit; negative numbers count from the
        end.
    """
    with FakeNode() as node:
        node.prime(READ_OTHER, int_row(1))
        async with connected(node, compression=False) as (_, session):
            node.prime(READ, corrupted(int_row(7), position), times=1)
            failure = await exception_of(session.execute(READ, timeout=3.0))
            assert isinstance(failure, DriverException)
            assert not isinstance(failure, OperationTimedOut)
            assert (await session.execute(READ_OTHER)).one().k == 1


async def test_a_repeated_answer_closes_the_connection(node: FakeNode) -> None:
    """A second response to the same request closes the connection.

    The connection cannot be trusted any more. If another request had already used the stream, it
    would take the second response for its own.
    """
    async with connected(node) as (_, session):
        old_connection = only_connection(session)
        node.prime(READ, duplicate(int_row(7)), times=1)
        assert (await session.execute(READ)).one().k == 7
        await call_in_thread(
            node.wait_for,
            lambda node: all(
                connection.peer != local_address(old_connection) for connection in node.connections
            ),
        )
        assert (await session.execute(READ_OTHER)).one().k == 1
        assert old_connection.closed


# -- order and time --------------------------------------------------------------------------------


async def test_answers_out_of_order_reach_their_requests(node: FakeNode) -> None:
    """If ten responses come in random order, each reaches its request."""

    def row_of_request(request: Any) -> Any:
        value = str(request.query).split()[-1]
        return int_row(int(value))

    node.prime(re.compile("SELECT k FROM t WHERE k ="), out_of_order(row_of_request, 10))
    async with connected(node) as (_, session):
        requests = [session.execute(f"SELECT k FROM t WHERE k = {value}") for value in range(10)]
        assert [(await request).one().k for request in requests] == list(range(10))


async def test_a_late_answer_is_dropped_and_frees_its_stream(node: FakeNode) -> None:
    """If a request times out, its stream is not used again until the late response has come.

    During this time, the request is an orphan.
    """
    late = hold(int_row(13))
    node.prime(READ, late)
    async with connected(node) as (_, session):
        connection = only_connection(session)
        failure = await exception_of(session.execute(READ, timeout=0.03))
        assert isinstance(failure, OperationTimedOut)
        (held,) = await call_in_thread(late.take)
        stream = held.request.stream
        assert (connection.orphans, connection.in_flight) == (1, 1)
        # Until the late response arrives, other requests use other streams.
        for _ in range(5):
            assert (await session.execute(READ_OTHER)).one().k == 1
        assert all(request.stream != stream for request in node.queries(READ_OTHER))
        held.release()
        # The late response was sent before this request's response, so it has arrived.
        assert (await session.execute(READ_OTHER)).one().k == 1
        assert (connection.orphans, connection.in_flight) == (0, 0)
        assert (await session.execute(READ_OTHER)).one().k == 1
        # The stream of the late response is free, and is used again.
        assert node.queries(READ_OTHER)[-1].stream == stream


async def test_a_cancelled_request_leaves_its_stream_until_the_answer_comes(node: FakeNode) -> None:
    """After a cancellation, the request is an orphan until its response has come."""
    late = hold(int_row(13))
    node.prime(READ, late)
    async with connected(node) as (_, session):
        connection = only_connection(session)

        async def read() -> None:
            await session.execute(READ)

        # Cancel the request before its response is sent. Its stream stays reserved.
        task = asyncio.ensure_future(read())
        (held,) = await call_in_thread(late.take)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (connection.orphans, connection.in_flight) == (1, 1)
        assert (await session.execute(READ_OTHER)).one().k == 1
        assert node.queries(READ_OTHER)[-1].stream != held.request.stream
        # The late response frees the stream.
        held.release()
        assert (await session.execute(READ_OTHER)).one().k == 1
        assert (connection.orphans, connection.in_flight) == (0, 0)


async def test_cancelling_an_iteration_between_pages_leaves_an_orphan(node: FakeNode) -> None:
    """If an iteration is cancelled while it waits for a page, the page's request is an orphan.

    When the late response arrives, the stream is free again.
    """
    pages = paged([("k", "int")], [(value,) for value in range(9)])
    late = hold(void())
    # The first page arrives at once, and the node holds the second page.
    node.prime(READ, lambda request: late if request.paging_state else pages)
    async with connected(node) as (_, session):
        keys_read: list[int] = []

        async def read_all() -> None:
            async for row in await session.execute(SimpleStatement(READ, fetch_size=3)):
                keys_read.append(row.k)  # noqa: PERF401 - a comprehension would lose the rows before the error

        task = asyncio.ensure_future(read_all())
        # Cancel the iteration while it waits for the second page.
        (held,) = await call_in_thread(late.take)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert only_connection(session).orphans == 1
        held.release()
        assert (await session.execute(READ_OTHER)).one().k == 1
        assert only_connection(session).in_flight == 0


# -- back-pressure ---------------------------------------------------------------------------------


async def test_a_server_that_stops_reading_makes_requests_wait(node: FakeNode) -> None:
    """If the server stops reading, requests wait, and do not fill the connection's buffers.

    When the server reads again, all requests succeed.
    """
    async with connected(node, compression=False) as (_, session):
        connection = only_connection(session)
        await call_in_thread(node.stop_reading)
        query = f"INSERT INTO t (k) VALUES ('{'x' * 20_000}')"
        requests = []
        for _ in range(1000):
            requests.append(session.execute(query, timeout=None))
            # Without this iteration of the loop, all requests would be written together.
            await asyncio.sleep(0)
        assert not connection.has_room
        # The other requests wait in the pool for a free stream.
        assert connection.in_flight < 1000
        await call_in_thread(node.start_reading)
        for request in requests:
            await request
        assert connection.has_room
        assert len(node.queries(query)) == 1000


# -- prepared statements ---------------------------------------------------------------------------


async def test_many_callers_share_one_prepare(node: FakeNode) -> None:
    """If several callers prepare the same query at the same time, one PREPARE is sent.

    Each caller gets the statement in the response.
    """
    held = hold()
    node.prime(Opcode.PREPARE, held, times=1)
    async with connected(node) as (_, session):
        tasks = [asyncio.ensure_future(session.prepare(INSERT)) for _ in range(20)]
        (prepare,) = await call_in_thread(held.take)
        await asyncio.sleep(0)
        prepare.release(message(Opcode.RESULT, prepared_body(prepare.request.version)))
        statements = await asyncio.gather(*tasks)
        assert node.count(Opcode.PREPARE) == 1
        assert {statement.query_id for statement in statements} == {b"id"}


def prepared_body(version: int) -> bytes:
    """Return the body of a RESULT of kind Prepared.

    The statement has the id "id", and neither bind markers nor result columns. See
    native_protocol_v5.spec, section 4.2.5.4.
    """
    metadata_id = b"\0\x01m" if version >= 5 else b""
    pk_count = b"\0\0\0\0" if version >= 4 else b""
    # First come the kind and the id, then the metadata of the bind markers (no flags, no markers,
    # no columns of the partition key), and of the result (the flag No_metadata, no columns).
    return (
        b"\0\0\0\x04" + b"\0\x02id" + metadata_id + bytes(8) + pk_count + b"\0\0\0\x04" + bytes(4)
    )


async def test_a_cancelled_prepare_does_not_cancel_the_others(node: FakeNode) -> None:
    """If the caller that sent a shared PREPARE is cancelled, other callers get the statement."""
    held = hold()
    node.prime(Opcode.PREPARE, held, times=1)
    async with connected(node) as (_, session):
        tasks = [asyncio.ensure_future(session.prepare(INSERT)) for _ in range(3)]
        (prepare,) = await call_in_thread(held.take)
        tasks[0].cancel()
        with pytest.raises(asyncio.CancelledError):
            await tasks[0]
        prepare.release(message(Opcode.RESULT, prepared_body(prepare.request.version)))
        assert [(await task).query_id for task in tasks[1:]] == [b"id", b"id"]


def node_of_version(version: int, has_metadata_ids: bool) -> FakeNode:
    """Return a node that supports protocol versions up to `version`.

    :param version: its highest version.
    :param has_metadata_ids: True for ScyllaDB's extension for ids of result metadata.
    """
    node = FakeNode(max_version=version)
    if has_metadata_ids:
        node.supported["SCYLLA_USE_METADATA_ID"] = [""]
    return node


@pytest.mark.parametrize(("version", "has_metadata_ids"), [(5, False), (4, True), (3, True)])
async def test_changed_columns_are_used_from_then_on(version: int, has_metadata_ids: bool) -> None:
    """If a response has the flag Metadata_changed, its columns are used from then on.

    The next EXECUTE sends the new id of the columns. See native_protocol_v5.spec, section 4.2.5.2.
    ScyllaDB has an extension that does the same in older versions.
    """
    query = "SELECT * FROM t WHERE k = ?"
    with node_of_version(version, has_metadata_ids) as node:
        node.prime_prepare(query, [("k", "int")], [("k", "int")])
        node.prime(query, int_row(7))
        async with connected(node) as (_, session):
            statement = await session.prepare(query)
            assert tuple((await session.execute(statement, (7,))).one()) == (7,)
            assert node.queries()[-1].skip_metadata
            old_id = node.queries()[-1].result_metadata_id
            node.prime(query, rows([("k", "int"), ("v", "text")], [(7, "seven")]))
            assert tuple((await session.execute(statement, (7,))).one()) == (7, "seven")
            # This request still had the old id, and its response contained the new id.
            assert node.queries()[-1].result_metadata_id == old_id
            assert tuple((await session.execute(statement, (7,))).one()) == (7, "seven")
            assert node.queries()[-1].result_metadata_id not in (old_id, None)
            assert node.queries()[-1].skip_metadata


@pytest.mark.parametrize("version", [3, 4])
async def test_without_metadata_ids_each_answer_has_its_columns(version: int) -> None:
    """Without ids of result metadata, EXECUTE always asks for the columns of the result.

    Otherwise, the driver could not notice that the columns have changed.
    """
    query = "SELECT * FROM t WHERE k = ?"
    with node_of_version(version, has_metadata_ids=False) as node:
        node.prime_prepare(query, [("k", "int")], [("k", "int")])
        node.prime(query, int_row(7))
        async with connected(node) as (_, session):
            statement = await session.prepare(query)
            assert tuple((await session.execute(statement, (7,))).one()) == (7,)
            node.prime(query, rows([("k", "int"), ("v", "text")], [(7, "seven")]))
            assert tuple((await session.execute(statement, (7,))).one()) == (7, "seven")
            node.prime(query, int_row(7))
            assert tuple((await session.execute(statement, (7,))).one()) == (7,)
            assert not any(request.skip_metadata for request in node.queries())
            assert all(request.result_metadata_id is None for request in node.queries())


# -- other contents of responses ------------------------------------------------------------------


async def test_a_result_has_warnings_payload_and_tracing_id() -> None:
    """A result has the warnings, the custom payload and the tracing id of its response."""
    for version in (4, 5):
        with FakeNode(max_version=version) as node:
            answer = int_row(7).having(
                warnings=["slow", "down"], custom_payload={"a": b"1", "b": b""}
            )
            node.prime(READ, answer)
            async with connected(node) as (_, session):
                result = await session.execute(READ, trace=True)
                assert result.one().k == 7
                assert result.warnings == ["slow", "down"]
                assert dict(result.custom_payload or {}) == {"a": b"1", "b": b""}
                assert result.trace_id is not None
                assert node.queries()[-1].traced


async def test_an_event_without_registration_is_ignored(node: FakeNode) -> None:
    """An event on a connection that has not registered for events is ignored.

    Here, the event arrives together with a response.
    """
    # The highest bit of the version marks messages from a server.
    response_version = 0x80 | node.max_version
    # The event says that the keyspace ks was created. All events have the stream -1.
    event = b"\0\x0dSCHEMA_CHANGE\0\x07CREATED\0\x08KEYSPACE\0\x02ks"
    envelope = (
        bytes((response_version, 0, 0xFF, 0xFF, Opcode.EVENT))
        + len(event).to_bytes(4, "big")
        + event
    )
    async with connected(node, compression=False) as (_, session):
        node.prime(READ, lambda request: TwoAnswers(raw(envelope), int_row(7)))
        assert (await session.execute(READ)).one().k == 7


class TwoAnswers(Answer):
    """An `Answer` that sends two responses to the same request."""

    def __init__(self, first: Answer, second: Answer) -> None:
        self._answers = (first, second)

    def perform(self, request: Any) -> None:
        for answer in self._answers:
            answer.perform(request)


async def test_requests_and_answers_may_be_larger_than_a_segment(node: FakeNode) -> None:
    """A request or response that is larger than a segment is split and read as usual.

    In version 5, a segment has at most 128 KiB.
    """
    value = "abcdefgh" * 50_000
    node.prime("big", rows([("v", "text")], [(value,)]))
    async with connected(node) as (_, session):
        assert (await session.execute("big")).one().v == value
        query = f"INSERT INTO t (v) VALUES ('{value}')"
        await session.execute(query)
        assert len(node.queries(query)) == 1


async def test_after_the_first_connection_all_use_its_version() -> None:
    """Only the first connection tries version 5.

    All other connections use the version that the server supports.
    """
    with FakeCluster(3, max_version=4) as nodes:
        async with connected(nodes) as (_, session):
            await session.execute(READ_OTHER)
        # The nodes have accepted the rejected connection, the control connection, and three pool
        # connections.
        assert sum(node.opened for node in nodes.nodes) == 1 + 1 + 3
        assert {request.version for request in nodes.requests} == {4}
