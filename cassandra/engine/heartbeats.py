"""Heartbeats: idle connections are probed, and closed if they do not answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from cassandra.engine.connection import read_answer
from cassandra.errors import ConnectionException, ProtocolError
from cassandra.protocol.opcodes import OPTIONS

if TYPE_CHECKING:
    from cassandra.engine.connection import Connection

__all__ = ["beat"]


async def beat(
    connections: Callable[[], Iterable[Connection]], interval: float, timeout: float
) -> None:
    """Probe each connection that received nothing for an interval; close silent ones.

    Runs until it is cancelled.

    :param connections: returns the open connections.
    :param interval: seconds between two rounds.
    :param timeout: seconds within which an answer must come.
    """
    clock = asyncio.get_running_loop().time
    while True:
        await asyncio.sleep(interval)
        idle_since = clock() - interval
        # Any received message shows that the peer is alive, so only silent connections are probed.
        idle = [
            connection for connection in connections() if connection.last_activity <= idle_since
        ]
        if idle:
            await asyncio.gather(*(_beat_once(connection, timeout) for connection in idle))


async def _beat_once(connection: Connection, timeout: float) -> None:
    try:
        read_answer(connection, OPTIONS, None, *await connection.request(OPTIONS, b"", timeout))
    except asyncio.TimeoutError:
        connection.close(
            ConnectionException(
                f"{connection.endpoint} did not answer a heartbeat within {timeout} s",
                connection.endpoint,
            )
        )
    except ProtocolError:
        pass  # `read_answer` has closed the connection
    except ConnectionException as error:
        # The connection closed, or all its streams are taken, perhaps by requests sent a moment
        # ago. Close it only if none of them is answered either.
        if connection.closed or await _stays_silent(connection, timeout):
            connection.close(error)


async def _stays_silent(connection: Connection, seconds: float) -> bool:
    """Return True if nothing is received for `seconds`."""
    before = connection.last_activity
    await asyncio.sleep(seconds)
    return connection.last_activity == before
