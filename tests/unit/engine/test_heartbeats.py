"""Which connections get heartbeats, and what missing answers cause, without a socket."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from cassandra.engine.heartbeats import beat
from cassandra.errors import ConnectionException, ConnectionShutdown
from cassandra.protocol.opcodes import OPTIONS, READY, SUPPORTED
from tests.unit.engine.partners import connection, spawn

pytestmark = pytest.mark.simulated

NO_OPTIONS = b"\0\0"  # an empty [string multimap]
LONG_AGO = float("-inf")


class Peer:
    """A fake connection whose requests have the given outcome."""

    def __init__(self, outcome: Any, last_activity: float = LONG_AGO) -> None:
        self.asked = asyncio.Event()
        self.count = 0

        async def request(opcode: int, body: bytes, timeout: float) -> Any:
            assert (opcode, body, timeout) == (OPTIONS, b"", 7.5)
            self.count += 1
            self.asked.set()
            if isinstance(outcome, BaseException):
                raise outcome
            return outcome

        self.connection = connection(request=request, last_activity=last_activity)


async def run_heartbeats(*peers: Peer, until: Peer) -> None:
    """Run heartbeats until the outcome of one peer's request has been processed."""
    task = spawn(beat(lambda: [peer.connection for peer in peers], 0.001, 7.5))
    await asyncio.wait_for(until.asked.wait(), 50)
    until.asked.clear()
    # After any outcome the heartbeats go on, so a second request shows that the first one's outcome
    # was processed.
    await asyncio.wait_for(until.asked.wait(), 50)
    assert not task.done()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_an_answered_heartbeat_leaves_the_connection_open() -> None:
    peer = Peer((SUPPORTED, 0, NO_OPTIONS))
    await run_heartbeats(peer, until=peer)
    assert not peer.connection.closed


async def test_only_silent_connections_get_heartbeats() -> None:
    silent = Peer((SUPPORTED, 0, NO_OPTIONS))
    busy = Peer((SUPPORTED, 0, NO_OPTIONS), last_activity=float("inf"))
    await run_heartbeats(busy, silent, until=silent)
    assert (busy.count, busy.connection.closed) == (0, False)


async def test_a_timeout_closes_only_its_connection() -> None:
    dead, living = Peer(asyncio.TimeoutError()), Peer((SUPPORTED, 0, NO_OPTIONS))
    await run_heartbeats(dead, living, until=living)
    assert dead.connection.closed
    assert not living.connection.closed
    assert isinstance(dead.connection.close_error, ConnectionException)
    assert str(dead.connection.close_error) == (
        "10.0.0.1:9042 did not answer a heartbeat within 7.5 s"
    )


async def test_an_unexpected_answer_closes_the_connection() -> None:
    odd = Peer((READY, 0, b""))
    await run_heartbeats(odd, until=odd)
    assert odd.connection.closed


async def test_a_lost_connection_is_closed_with_its_error() -> None:
    error = ConnectionException("lost")
    lost = Peer(error)
    await run_heartbeats(lost, until=lost)
    assert lost.connection.close_error is error


async def test_a_connection_without_a_free_stream_may_still_answer() -> None:
    """A connection without a free stream stays open if an answer arrives within the timeout.

    Many requests may have been sent just before the heartbeat.
    """
    error = ConnectionShutdown("connection to 10.0.0.1:9042 has no free stream")
    full, dead = Peer(error), Peer(error)

    async def answer() -> None:
        await full.asked.wait()
        await asyncio.sleep(1.0)
        full.connection.last_activity = asyncio.get_running_loop().time()

    answering = spawn(answer())
    await run_heartbeats(full, dead, until=dead)
    await answering
    assert not full.connection.closed
    assert dead.connection.close_error is error
