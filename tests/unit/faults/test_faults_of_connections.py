"""Faults of one connection: answers that are cut, late, doubled, misplaced; statements forgotten; a
peer that stops reading.

The node behaves on a real socket as each test says; only the client's own timeouts depend on time.
"""

from __future__ import annotations

import asyncio
import logging
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
    OTHER,
    READ,
    connected,
    fails,
    local_address,
    node as node,
    number,
    only_connection,
    thread,
)

# -- incomplete answers ----------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["close", "reset"])
@pytest.mark.parametrize("cut", [1, 5, 9, 20, -1])
async def test_a_connection_that_ends_within_an_answer(
    node: FakeNode, ending: str, cut: int
) -> None:
    async with connected(node) as (_, session):
        node.prime(READ, half_frame(number(7), cut, ending), times=1)
        failure = await fails(session.execute(READ))
        assert isinstance(failure, ConnectionException)
        assert node.endpoint in str(failure)
        # The pool opens another connection, and later requests wait for it.
        assert (await session.execute(OTHER)).one().k == 1


@pytest.mark.parametrize("ending", [close(), reset()], ids=["close", "reset"])
async def test_all_requests_under_way_get_the_cause_at_once(node: FakeNode, ending: Answer) -> None:
    held = hold()
    node.prime(READ, held)
    node.prime("end", ending, times=1)
    async with connected(node) as (_, session):
        waiting = [session.execute(READ) for _ in range(100)]
        await thread(held.wait, 100)
        waiting.append(session.execute("end"))
        for request in waiting:
            failure = await fails(request)
            assert isinstance(failure, ConnectionException)
            assert node.endpoint in str(failure)
        assert (await session.execute(OTHER)).one().k == 1


async def test_half_an_answer_and_then_nothing(node: FakeNode) -> None:
    async with connected(node) as (_, session):
        node.prime(READ, half_frame(number(7), 12, "hang"), times=1)
        failure = await fails(session.execute(READ, timeout=0.05))
        assert isinstance(failure, OperationTimedOut)
        assert node.endpoint in str(failure)


async def test_a_page_that_is_cut_in_the_middle(node: FakeNode) -> None:
    """The rows of earlier pages were returned; the error is raised when the next rows
    are needed.
    """
    pages = paged([("k", "int")], [(value,) for value in range(20)])
    node.prime(
        READ, lambda request: half_frame(pages, 30, "reset") if request.paging_state else pages
    )
    async with connected(node) as (_, session):
        seen = []

        async def read() -> None:
            async for row in await session.execute(SimpleStatement(READ, fetch_size=5)):
                seen.append(row.k)  # noqa: PERF401 - what came before the error counts

        assert isinstance(await fails(read()), ConnectionException)
        assert seen == [0, 1, 2, 3, 4]
        assert (await session.execute(OTHER)).one().k == 1


async def test_pages_of_all_sizes_come_whole(node: FakeNode) -> None:
    wide = [(value, "x" * 1000) for value in range(1000)]
    node.prime(READ, paged([("k", "int"), ("v", "text")], wide))
    async with connected(node) as (_, session):
        for size in (1000, 999, 300):
            result = await session.execute(SimpleStatement(READ, fetch_size=size))
            assert [tuple(row) async for row in result] == wide


@pytest.mark.parametrize("size", [1, 7, 1000])
async def test_answers_that_come_in_pieces(node: FakeNode, size: int) -> None:
    values = [(value, "x" * value) for value in range(50)]
    node.prime(READ, dribble(rows([("k", "int"), ("v", "text")], values), size))
    async with connected(node) as (_, session):
        assert [tuple(row) for row in (await session.execute(READ)).all()] == values
        assert (await session.execute(OTHER)).one().k == 1


# -- meaningless bytes -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer",
    [
        garbage(b"HTTP/1.1 200 OK\r\n\r\n" * 10),
        garbage(b"\xff" * 64),
        garbage(bytes(64)),
        on_stream(number(7), 31_000),
        on_stream(number(7), -2),
        message(0x7F, b""),
        message(Opcode.RESULT, b"\0\0\0\x63"),
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
        "kind",
        "columns",
        "error",
        "supported",
    ],
)
async def test_answers_that_break_the_rules(
    node: FakeNode, answer: Answer, caplog: pytest.LogCaptureFixture
) -> None:
    async with connected(node) as (_, session):
        before = only_connection(session)
        node.prime(READ, answer, times=1)
        failure = await fails(session.execute(READ, timeout=3.0))
        assert isinstance(failure, DriverException)
        assert not isinstance(failure, (OperationTimedOut, NoHostAvailable))
        assert before.closed
        assert (await session.execute(OTHER)).one().k == 1
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []


@pytest.mark.parametrize(
    "position", [0, 3, 7, -5, -1], ids=["length", "crc24", "request_body", "last", "crc32"]
)
async def test_a_frame_with_one_bit_turned_over(position: int) -> None:
    """Both checksums of native_protocol_v5.spec, 2.1, are checked."""
    with FakeNode() as node:
        node.prime(OTHER, number(1))
        async with connected(node, compression=False) as (_, session):
            node.prime(READ, corrupted(number(7), position), times=1)
            failure = await fails(session.execute(READ, timeout=3.0))
            assert isinstance(failure, DriverException)
            assert not isinstance(failure, OperationTimedOut)
            assert (await session.execute(OTHER)).one().k == 1


async def test_an_answer_that_comes_twice(node: FakeNode) -> None:
    """The first answer counts. A second answer on a free stream could be taken for another
    request's, so the connection is closed.
    """
    async with connected(node) as (_, session):
        before = only_connection(session)
        node.prime(READ, duplicate(number(7)), times=1)
        assert (await session.execute(READ)).one().k == 7
        await thread(
            node.wait_for,
            lambda node: all(
                connection.peer != local_address(before) for connection in node.connections
            ),
        )
        assert (await session.execute(OTHER)).one().k == 1
        assert before.closed


# -- order and time --------------------------------------------------------------------------------


async def test_answers_out_of_order(node: FakeNode) -> None:
    answer = out_of_order(lambda request: number(int(str(request.query).split()[-1])), 10)
    node.prime(
        lambda request: (request.query or "").startswith("SELECT k FROM t WHERE k ="), answer
    )
    async with connected(node) as (_, session):
        waiting = [session.execute(f"SELECT k FROM t WHERE k = {value}") for value in range(10)]
        assert [(await request).one().k for request in waiting] == list(range(10))


async def test_a_late_answer_reaches_nobody_and_frees_its_stream(node: FakeNode) -> None:
    late = hold(number(13))
    node.prime(READ, late)
    async with connected(node) as (_, session):
        connection = only_connection(session)
        failure = await fails(session.execute(READ, timeout=0.03))
        assert isinstance(failure, OperationTimedOut)
        (held,) = await thread(late.take)
        stream = held.request.stream
        assert (connection.orphans, connection.in_flight) == (1, 1)
        for _ in range(5):
            assert (await session.execute(OTHER)).one().k == 1
        assert all(request.stream != stream for request in node.queries(OTHER))
        held.release()
        # This answer comes after the late answer.
        assert (await session.execute(OTHER)).one().k == 1
        assert (connection.orphans, connection.in_flight) == (0, 0)
        assert (await session.execute(OTHER)).one().k == 1
        assert node.queries(OTHER)[-1].stream == stream


async def test_a_cancelled_request_leaves_its_stream_until_the_answer_comes(node: FakeNode) -> None:
    late = hold(number(13))
    node.prime(READ, late)
    async with connected(node) as (_, session):
        connection = only_connection(session)

        async def read() -> None:
            await session.execute(READ)

        task = asyncio.ensure_future(read())
        (held,) = await thread(late.take)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (connection.orphans, connection.in_flight) == (1, 1)
        assert (await session.execute(OTHER)).one().k == 1
        assert node.queries(OTHER)[-1].stream != held.request.stream
        held.release()
        assert (await session.execute(OTHER)).one().k == 1
        assert (connection.orphans, connection.in_flight) == (0, 0)


async def test_cancelling_a_cursor_between_pages(node: FakeNode) -> None:
    pages, late = paged([("k", "int")], [(value,) for value in range(9)]), hold(void())
    node.prime(READ, lambda request: late if request.paging_state else pages)
    async with connected(node) as (_, session):
        seen: list[int] = []

        async def read() -> None:
            async for row in await session.execute(SimpleStatement(READ, fetch_size=3)):
                seen.append(row.k)  # noqa: PERF401 - what came before counts

        task = asyncio.ensure_future(read())
        (held,) = await thread(late.take)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert only_connection(session).orphans == 1
        held.release()
        assert (await session.execute(OTHER)).one().k == 1
        assert only_connection(session).in_flight == 0


# -- back-pressure ---------------------------------------------------------------------------------


async def test_a_server_that_stops_reading_stops_the_senders(node: FakeNode) -> None:
    """Bytes wait in the requests, not in the connection's buffers, until the server reads again;
    then all are answered.
    """
    async with connected(node, compression=False) as (_, session):
        connection = only_connection(session)
        await thread(node.stop_reading)
        text = f"INSERT INTO t (k) VALUES ('{'x' * 20_000}')"
        waiting = []
        for _ in range(1000):
            waiting.append(session.execute(text, timeout=None))
            await asyncio.sleep(0)  # requests of one turn of the loop are written together
        assert not connection.has_room
        assert connection.in_flight < 1000
        await thread(node.start_reading)
        for request in waiting:
            await request
        assert connection.has_room
        assert len(node.queries(text)) == 1000


# -- prepared statements ---------------------------------------------------------------------------


async def test_one_prepare_for_many_callers(node: FakeNode) -> None:
    held = hold()
    node.prime(Opcode.PREPARE, held, times=1)
    async with connected(node) as (_, session):
        tasks = [asyncio.ensure_future(session.prepare(INSERT)) for _ in range(20)]
        (prepare,) = await thread(held.take)
        await asyncio.sleep(0)
        prepare.release(message(Opcode.RESULT, prepared_body(prepare.request.version)))
        statements = await asyncio.gather(*tasks)
        assert node.count(Opcode.PREPARE) == 1
        assert {statement.query_id for statement in statements} == {b"id"}


def prepared_body(version: int) -> bytes:
    """Return the body of 4.2.5.4: a statement with the id "id", without bind columns and without a
    result.
    """
    metadata_id = b"\0\x01m" if version >= 5 else b""
    pk_count = b"\0\0\0\0" if version >= 4 else b""
    return (
        b"\0\0\0\x04" + b"\0\x02id" + metadata_id + bytes(8) + pk_count + b"\0\0\0\x04" + bytes(4)
    )


async def test_a_cancelled_prepare_does_not_take_the_others_with_it(node: FakeNode) -> None:
    held = hold()
    node.prime(Opcode.PREPARE, held, times=1)
    async with connected(node) as (_, session):
        tasks = [asyncio.ensure_future(session.prepare(INSERT)) for _ in range(3)]
        (prepare,) = await thread(held.take)
        tasks[0].cancel()
        with pytest.raises(asyncio.CancelledError):
            await tasks[0]
        prepare.release(message(Opcode.RESULT, prepared_body(prepare.request.version)))
        assert [(await task).query_id for task in tasks[1:]] == [b"id", b"id"]


def node_of_version(version: int, extension: bool) -> FakeNode:
    node = FakeNode(max_version=version)
    if extension:
        node.supported["SCYLLA_USE_METADATA_ID"] = [""]
    return node


@pytest.mark.parametrize(("version", "extension"), [(5, False), (4, True), (3, True)])
async def test_columns_that_change_are_taken_over(version: int, extension: bool) -> None:
    """native_protocol_v5.spec, 4.2.5.2, Metadata_changed: an answer brings new columns and their
    id, which the next EXECUTE names.

    ScyllaDB's extension does the same for older versions.
    """
    query = "SELECT * FROM t WHERE k = ?"
    with node_of_version(version, extension) as node:
        node.prime_prepare(query, [("k", "int")], [("k", "int")])
        node.prime(query, number(7))
        async with connected(node) as (_, session):
            statement = await session.prepare(query)
            assert tuple((await session.execute(statement, (7,))).one()) == (7,)
            assert node.queries()[-1].skip_metadata
            old = node.queries()[-1].result_metadata_id
            node.prime(query, rows([("k", "int"), ("v", "text")], [(7, "seven")]))
            assert tuple((await session.execute(statement, (7,))).one()) == (7, "seven")
            assert node.queries()[-1].result_metadata_id == old
            assert tuple((await session.execute(statement, (7,))).one()) == (7, "seven")
            assert node.queries()[-1].result_metadata_id not in (old, None)
            assert node.queries()[-1].skip_metadata


@pytest.mark.parametrize("version", [3, 4])
async def test_without_ids_the_server_is_asked_for_the_columns_each_time(version: int) -> None:
    query = "SELECT * FROM t WHERE k = ?"
    with node_of_version(version, extension=False) as node:
        node.prime_prepare(query, [("k", "int")], [("k", "int")])
        node.prime(query, number(7))
        async with connected(node) as (_, session):
            statement = await session.prepare(query)
            assert tuple((await session.execute(statement, (7,))).one()) == (7,)
            node.prime(query, rows([("k", "int"), ("v", "text")], [(7, "seven")]))
            assert tuple((await session.execute(statement, (7,))).one()) == (7, "seven")
            node.prime(query, number(7))
            assert tuple((await session.execute(statement, (7,))).one()) == (7,)
            assert not any(request.skip_metadata for request in node.queries())
            assert all(request.result_metadata_id is None for request in node.queries())


# -- other contents of answers ---------------------------------------------------------------------


async def test_warnings_payload_and_tracing_id() -> None:
    for version in (4, 5):
        with FakeNode(max_version=version) as node:
            answer = number(7).having(
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


async def test_an_event_that_nobody_asked_for_harms_nothing(node: FakeNode) -> None:
    """An event on a connection that did not register is ignored, even together with an answer."""
    version = 0x80 | node.max_version
    event = b"\0\x0dSCHEMA_CHANGE\0\x07CREATED\0\x08KEYSPACE\0\x02ks"
    envelope = bytes((version, 0, 0xFF, 0xFF, Opcode.EVENT)) + len(event).to_bytes(4, "big") + event
    async with connected(node, compression=False) as (_, session):
        node.prime(READ, lambda request: Both(raw(envelope), number(7)))
        assert (await session.execute(READ)).one().k == 7


class Both(Answer):
    """Sends two answers at once."""

    def __init__(self, first: Answer, second: Answer) -> None:
        self._answers = (first, second)

    def perform(self, request: Any) -> None:
        for answer in self._answers:
            answer.perform(request)


async def test_large_requests_and_answers_cross_segments(node: FakeNode) -> None:
    value = "abcdefgh" * 50_000
    node.prime("big", rows([("v", "text")], [(value,)]))
    async with connected(node) as (_, session):
        assert (await session.execute("big")).one().v == value
        text = f"INSERT INTO t (v) VALUES ('{value}')"
        await session.execute(text)
        assert len(node.queries(text)) == 1


async def test_a_cluster_uses_one_version_once_it_knows_it() -> None:
    """The first connection learns that version 5 is not supported; the others do not try it."""
    with FakeCluster(3, max_version=4) as nodes:
        async with connected(nodes) as (_, session):
            await session.execute(OTHER)
        # the refused connection, the control connection, the pools
        assert sum(node.opened for node in nodes.nodes) == 1 + 1 + 3
        assert {request.version for request in nodes.requests} == {4}
