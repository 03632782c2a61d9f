"""Heartbeats: connections that were idle are asked if they still live."""

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
    """Ask each connection on which no answer came for an interval; close those that are silent.

    Goes on until it is cancelled.

    :param connections: gives the open connections of the moment.
    :param interval: seconds.
    :param timeout: seconds within which an answer has to come.
    """
    clock = asyncio.get_running_loop().time
    while True:
        await asyncio.sleep(interval)
        idle_since = clock() - interval
        # Whatever was received shows that the peer lives: only silent connections are asked.
        idle = [one for one in connections() if one.last_activity <= idle_since]
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
        pass  # closed already
    except ConnectionException as error:
        # Closed meanwhile; or all its streams are taken, perhaps by requests that were sent a
        # moment ago, whose answers will show that the peer lives.
        if connection.closed or await _stays_silent(connection, timeout):
            connection.close(error)


async def _stays_silent(connection: Connection, seconds: float) -> bool:
    """Return True if nothing is received for so many seconds."""
    before = connection.last_activity
    await asyncio.sleep(seconds)
    return connection.last_activity == before
