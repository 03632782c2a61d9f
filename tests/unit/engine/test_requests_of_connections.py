"""`Connection.request`, by which the engine asks for itself: answer, time-out, cancellation, each at any moment."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from cassandra.engine.connection import Connection, FutureResponder
from cassandra.engine.endpoint import DefaultEndPoint
from cassandra.protocol.opcodes import OPTIONS, SUPPORTED


def without_transport(monkeypatch: pytest.MonkeyPatch) -> tuple[Connection, list[FutureResponder]]:
    """A connection that sends nothing, and the responders of what is asked on it."""
    responders: list[FutureResponder] = []
    send = Connection.send

    def keep(self: Connection, responder: Any, opcode: int, flags: int, body: bytes) -> int:
        responders.append(responder)
        return send(self, responder, opcode, flags, body)

    monkeypatch.setattr(Connection, "send", keep)
    return Connection(DefaultEndPoint("127.0.0.1"), 5, asyncio.get_running_loop()), responders


async def test_a_cancellation_that_comes_with_the_answer_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    connection, responders = without_transport(monkeypatch)
    asking = asyncio.ensure_future(connection.request(OPTIONS, b"", 5.0))
    await asyncio.sleep(0)
    responders[0].on_response(connection, SUPPORTED, 0, b"\0\0")
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking


async def test_no_answer_in_time_leaves_an_orphan(monkeypatch: pytest.MonkeyPatch) -> None:
    connection, responders = without_transport(monkeypatch)
    with pytest.raises(asyncio.TimeoutError):
        await connection.request(OPTIONS, b"", 0.001)
    assert (connection.in_flight, connection.orphans) == (1, 1)
    responders[0].on_response(connection, SUPPORTED, 0, b"\0\0")  # too late: does nothing
