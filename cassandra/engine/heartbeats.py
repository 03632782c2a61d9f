"""Heartbeats: detect hosts that do not respond any more, although their connections are open.

A heartbeat is a request (OPTIONS) to which any server responds at once. If the response does not
come within `idle_heartbeat_timeout`, the connection is closed. Its pool or the control connection
then reconnects, as after any other loss of a connection.

* After each `idle_heartbeat_interval`, each connection that has received nothing during that
  interval gets a heartbeat.
* `check` sends heartbeats to one host at once. It is called when something suggests that the host
  hangs: a request timed out on a connection that received nothing during that time, a connection to
  the host broke or could not be opened, or the cluster reports the host down.
* If a large request is still being sent, and the peer receives more and more of it, the connection
  is not closed: the heartbeat waits behind that request.
* If the response to a heartbeat does not come within LATE seconds, the host's other silent
  connections get a heartbeat, too. So if a host hangs, the pools and the control connection lose
  all connections to the host at about the same time, and not one interval after another.

At the end of each interval, the driver also frees the memory that the codecs keep for large
vectors, if no vectors were decoded during the interval.

At most one check of a host runs at a time, and thus at most one heartbeat on a connection. `check`
sends no heartbeat on a connection that has received something within the last SILENCE seconds, so
that many timeouts cause at most one check a second.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from cassandra._logs import Log
from cassandra.engine.connection import read_answer
from cassandra.errors import ConnectionException, ProtocolError
from cassandra.protocol.opcodes import OPTIONS

if TYPE_CHECKING:
    from cassandra.cqltypes import codecs
    from cassandra.engine.background import Spawn
    from cassandra.engine.connection import Connection
    from cassandra.metadata.host import Host
else:
    from cassandra._impl import codecs

log = Log("cassandra.cluster")

# `check` sends no heartbeat on a connection that has received something within this time.
SILENCE = 1.0  # seconds
# If the response to a heartbeat takes longer than this, the host's other silent connections get a
# heartbeat, too.
LATE = 1.0  # seconds


class Heartbeats:
    """Sends heartbeats, and closes connections on which no response to a heartbeat comes.

    :param connections: returns the open connections to each host.
    :param spawn: runs a coroutine in the background.
    :param interval: seconds between two checks of idle connections. None or 0 disables all
        heartbeats, and `check`.
    :param timeout: seconds within which the response to a heartbeat must come.
    """

    def __init__(
        self,
        connections: Callable[[], Mapping[Host, Iterable[Connection]]],
        spawn: Spawn,
        interval: float | None,
        timeout: float,
    ) -> None:
        self._connections = connections
        self._spawn = spawn
        self._interval = interval
        self._timeout = timeout
        self._checked: set[Host] = set()  # the hosts whose checks are running

    def start(self) -> None:
        """Begin to send heartbeats on idle connections, until the engine is closed."""
        if self._interval:
            self._spawn(self._run(self._interval))

    async def _run(self, interval: float) -> None:
        while True:
            await asyncio.sleep(interval)
            codecs.release_vector_memory()
            for host, connections in self._connections().items():
                self._start_check(host, _silent_for(interval, connections))

    def check(self, host: Host) -> None:
        """Send heartbeats to `host` now, on connections that were silent for SILENCE seconds.

        If a check of the host is running already, do nothing.
        """
        if self._interval and host not in self._checked:
            self._start_check(host, self._silent_connections(host))

    def _silent_connections(self, host: Host) -> list[Connection]:
        return _silent_for(SILENCE, self._connections().get(host, ()))

    def _start_check(self, host: Host, connections: list[Connection]) -> None:
        # Do not wait for the check here: a host that hangs must not delay the checks of other
        # hosts.
        if connections and host not in self._checked:
            self._checked.add(host)
            self._spawn(self._check(host, connections))

    async def _check(self, host: Host, connections: list[Connection]) -> None:
        """Send heartbeats on `connections`; if some fail, also on the host's other connections."""
        try:
            # If a connection got no response and was closed, check the host's connections that
            # have been silent for long enough by now. The loop ends, because each further round
            # needs a connection that was closed in the previous round.
            while connections and await self._ask_all(host, connections):
                connections = self._silent_connections(host)
        finally:
            self._checked.discard(host)

    async def _ask_all(self, host: Host, connections: list[Connection]) -> bool:
        """Send a heartbeat on each of `connections`, and on more if a response is late.

        :returns: True if a connection was closed because no response came.
        """
        beats = {self._spawn(_beat(connection, self._timeout)): connection
                 for connection in connections}  # fmt: skip
        # If the timeout is only a few seconds, wait for less than LATE seconds.
        _, late = await asyncio.wait(beats, timeout=min(LATE, self._timeout / 4))
        # If a response is late, the host may hang: also check its other silent connections.
        if late:
            ids = {id(connection) for connection in connections}
            for connection in self._silent_connections(host):
                if id(connection) not in ids:
                    beats[self._spawn(_beat(connection, self._timeout))] = connection
            await asyncio.wait(beats)
        silent = [connection for beat, connection in beats.items() if not beat.result()]
        if silent:
            log.warning(
                "host %s does not answer: no response to a heartbeat within %s s on %s; closed",
                host, self._timeout, _names(silent),
            )  # fmt: skip
        return bool(silent)


def is_silent(connection: Connection, seconds: float = SILENCE) -> bool:
    """Return True if nothing was received on `connection` for `seconds`."""
    # `last_activity` is set for any received data, because any data shows that the peer is alive.
    return connection.last_activity <= asyncio.get_running_loop().time() - seconds


def _silent_for(seconds: float, connections: Iterable[Connection]) -> list[Connection]:
    """Return the connections that have received nothing for `seconds`."""
    return [connection for connection in connections if is_silent(connection, seconds)]


def _names(connections: list[Connection]) -> str:
    """Describe connections for the log: "the control connection and 2 connections of sessions"."""
    of_sessions = sum(not connection.is_control_connection for connection in connections)
    names = []
    if of_sessions < len(connections):
        names.append("the control connection")
    if of_sessions:
        names.append(f"{of_sessions} connection{'s' if of_sessions > 1 else ''} of sessions")
    return " and ".join(names)


async def _beat(connection: Connection, timeout: float) -> bool:
    """Send one heartbeat, and close the connection if its response does not come in time.

    :returns: False if the connection was closed because no response came in time.
    """
    output_before = connection.output
    try:
        read_answer(connection, OPTIONS, None, *await connection.request(OPTIONS, b"", timeout))
    except asyncio.TimeoutError:
        if connection.output.goes_on_since(output_before):
            return True
        connection.close(
            ConnectionException(
                f"{connection.endpoint} did not answer a heartbeat within {timeout} s",
                connection.endpoint,
            )
        )
        return False
    except ProtocolError:
        pass  # `read_answer` has closed the connection
    except ConnectionException as error:
        if connection.closed:
            # The connection broke, and its pool or the control connection was notified already.
            return True
        # The connection has no free stream for the heartbeat. Responses to its other requests would
        # also show that the peer is alive, so close the connection only if no response comes.
        stayed_silent = await _stays_silent(connection, timeout)
        if stayed_silent and not connection.output.goes_on_since(output_before):
            connection.close(error)
            return False
    return True


async def _stays_silent(connection: Connection, seconds: float) -> bool:
    """Return True if nothing is received for `seconds`."""
    before = connection.last_activity
    await asyncio.sleep(seconds)
    # If the loop did not run for a while, data may wait in the socket: let the loop read it.
    for _ in range(2):
        await asyncio.sleep(0)
    return connection.last_activity == before
