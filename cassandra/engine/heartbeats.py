"""Heartbeats: sends a request on connections from which nothing was received for some time, and
closes them if no answer comes.
"""

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
    """After each interval, send a heartbeat on each connection that has received nothing during
    that interval. Close the connection if no answer comes. Runs until it is cancelled.

    :param connections: returns the open connections.
    :param interval: the interval in seconds.
    :param timeout: seconds within which the answer to a heartbeat must come.
    """
    clock = asyncio.get_running_loop().time
    while True:
        await asyncio.sleep(interval)
        idle_since = clock() - interval
        # Skip connections that have received anything, which shows that the peer is alive.
        idle = [
            connection for connection in connections() if connection.last_activity <= idle_since
        ]
        if idle:
            await asyncio.gather(*(_beat_once(connection, timeout) for connection in idle))


async def _beat_once(connection: Connection, timeout: float) -> None:
    """Send one heartbeat, and close the connection if its answer does not come in time."""
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
        # The connection was closed, or has no free stream for the heartbeat. In the latter case,
        # close it only if no answer to another request comes either.
        if connection.closed or await _stays_silent(connection, timeout):
            connection.close(error)


async def _stays_silent(connection: Connection, seconds: float) -> bool:
    """Return True if nothing is received for `seconds`."""
    before = connection.last_activity
    await asyncio.sleep(seconds)
    return connection.last_activity == before
