"""One connection: the engine's own requests, and messages that no correct server sends."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from cassandra import aio
from cassandra.engine.connection import (
    HANDSHAKE_MAX_BODY,
    LARGE_PART,
    Connection,
    FutureResponder,
)
from cassandra.engine.endpoint import DefaultEndPoint
from cassandra.errors import NoHostAvailable
from cassandra.protocol.opcodes import EVENT, OPTIONS, READY, SUPPORTED
from cassandra.testing.fake import FakeNode, Opcode, garbage, rows
from tests.unit.engine.faults import fails


def connection_without_transport(
    monkeypatch: pytest.MonkeyPatch,
) -> tuple[Connection, list[FutureResponder]]:
    """Return a connection without a transport, and a list of the responders of its requests."""
    responders: list[FutureResponder] = []
    send = Connection.send

    def keep(self: Connection, responder: Any, opcode: int, flags: int, body: bytes) -> int:
        responders.append(responder)
        return send(self, responder, opcode, flags, body)

    monkeypatch.setattr(Connection, "send", keep)
    return Connection(DefaultEndPoint("127.0.0.1"), 5, asyncio.get_running_loop()), responders


async def test_a_cancellation_in_the_turn_of_the_answer_is_raised(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    connection, responders = connection_without_transport(monkeypatch)
    requesting = asyncio.ensure_future(connection.request(OPTIONS, b"", 5.0))
    await asyncio.sleep(0)
    responders[0].on_response(connection, SUPPORTED, 0, b"\0\0")
    requesting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await requesting


async def test_a_timeout_leaves_an_orphaned_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    connection, responders = connection_without_transport(monkeypatch)
    with pytest.raises(asyncio.TimeoutError):
        await connection.request(OPTIONS, b"", 0.001)
    assert (connection.in_flight, connection.orphans) == (1, 1)
    responders[0].on_response(connection, SUPPORTED, 0, b"\0\0")  # too late, so ignored


async def test_malformed_events_are_logged_once_in_one_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    connection = Connection(DefaultEndPoint("127.0.0.1"), 5, asyncio.get_running_loop())

    def raises(opcode: int, flags: int, body: bytes) -> None:
        raise ValueError("no such event")

    connection.on_event = raises
    for _ in range(1000):
        connection.on_unsolicited(-1, EVENT, 0, b"\xff" * 100)
    (record,) = caplog.records
    assert "ValueError: no such event" in record.getMessage()
    assert "\n" not in record.getMessage()
    assert record.exc_info is None
    assert not connection.closed


@pytest.mark.parametrize("opcode", [SUPPORTED, READY])
async def test_a_large_message_during_the_handshake_is_refused(opcode: int) -> None:
    head = bytes((0x85, 0, 0, 0, opcode))
    huge = garbage(head + (255 << 20).to_bytes(4, "big") + bytes(100))
    with FakeNode() as node:
        node.prime(Opcode.OPTIONS if opcode == SUPPORTED else Opcode.STARTUP, huge)
        async with aio.Cluster([node.address], port=node.port) as cluster:
            failure = await fails(cluster.connect())
        assert isinstance(failure, NoHostAvailable)
        assert f"claims a body of {255 << 20} bytes; the limit is {HANDSHAKE_MAX_BODY}" in str(
            failure
        )


async def test_large_messages_are_read_after_the_handshake() -> None:
    with FakeNode() as node:
        node.prime("SELECT v FROM t", rows([("v", "blob")], [(bytes(4 * HANDSHAKE_MAX_BODY),)]))
        async with aio.Cluster([node.address], port=node.port, compression=False) as cluster:
            session = await cluster.connect()
            assert len((await session.execute("SELECT v FROM t")).one().v) == 4 * HANDSHAKE_MAX_BODY


async def test_a_peer_that_drips_is_silent_and_one_in_a_large_answer_is_not() -> None:
    """A few bytes at a time do not count as activity, but a large part of an answer does."""
    connection = Connection(DefaultEndPoint("127.0.0.1"), 4, asyncio.get_running_loop())

    def receive(data: bytes) -> None:
        connection.get_buffer(-1)[: len(data)] = data
        connection.buffer_updated(len(data))

    answer = bytes.fromhex("84 00 ffff 0c") + (LARGE_PART * 4).to_bytes(4, "big")
    connection.last_activity = 0.0
    for byte in answer:
        receive(bytes((byte,)))
    for _ in range(100):
        receive(b"x")
    assert connection.last_activity == 0.0
    receive(b"x" * LARGE_PART)
    assert connection.last_activity > 0.0
