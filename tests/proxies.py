"""Proxies in front of fake nodes, as in a private network."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import uuid
from collections.abc import Callable
from typing import Any

from cassandra.testing.fake import FakeCluster, FakeNode

__all__ = ["Proxies", "Proxy", "Relay", "put_proxies_before"]

CHUNK = 1 << 16

Address = tuple[str, int]


class Relay:
    """Relays the bytes of each connection to a node and back. Belongs to the loop that starts it.

    `fault` is None, or one of: "drop" (bytes vanish both ways), "deaf" (bytes from the client
    vanish), "mute" (bytes from the node vanish), "slow" (each piece takes 50 ms), "refuse" (new
    connections are closed at once).

    :param target: the node, or a function that returns the node for a new connection. None closes
    the connection.
    """

    def __init__(self, target: Address | Callable[[asyncio.StreamWriter], Address | None]) -> None:
        self.target = target
        self.fault: str | None = None
        self.opened = 0
        self.now = 0
        self.address = ""
        self.port = 0
        self._server: asyncio.AbstractServer | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._closed = False

    async def start(
        self, address: str = "127.0.0.1", context: ssl.SSLContext | None = None
    ) -> None:
        """Listen at a free port of `address`, for TLS if there is a `context`."""
        server = await asyncio.start_server(self._accept, address, 0, ssl=context)
        self._server = server
        self.address, self.port = server.sockets[0].getsockname()[:2]

    async def start_at_path(self, path: str) -> None:
        """Listen at a socket in the file system."""
        self._server = await asyncio.start_unix_server(self._accept, path)
        self.address = path

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.opened += 1
        try:
            target = self.target(writer) if callable(self.target) else self.target
            # A closed listener may still have a connection in its queue.
            if target is not None and self.fault != "refuse" and not self._closed:
                await self._connect(reader, writer, target)
        except (OSError, asyncio.CancelledError):  # errors do not matter at the end
            pass
        finally:
            writer.transport.abort()
            self._tasks.discard(task)
            await self._closing(writer)

    async def _connect(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, target: Address
    ) -> None:
        there, back = await asyncio.open_connection(*target)
        self._writers.add(back)
        self.now += 1
        try:
            await asyncio.gather(
                self._carry(reader, back, {"drop", "deaf"}),
                self._carry(there, writer, {"drop", "mute"}),
            )
        finally:
            self.now -= 1
            back.transport.abort()
            await self._closing(back)

    async def _carry(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, lost_in: set[str]
    ) -> None:
        is_silent = False
        try:
            while data := await reader.read(CHUNK):
                # A stream that has lost bytes is useless, so it stays silent for good.
                is_silent = is_silent or self.fault in lost_in
                if is_silent:
                    continue
                if self.fault == "slow":
                    await asyncio.sleep(0.05)
                writer.write(data)
                await writer.drain()
        except OSError:
            writer.transport.abort()
        else:
            writer.close()

    async def _closing(self, writer: asyncio.StreamWriter) -> None:
        """Wait for the end of the transport, which comes some turns after `close`."""
        with contextlib.suppress(OSError, asyncio.CancelledError):
            await writer.wait_closed()
        self._writers.discard(writer)

    def reset(self) -> None:
        """Break all connections at once."""
        for writer in list(self._writers):
            writer.transport.abort()

    async def stop(self) -> None:
        """Close the listener and all connections, and wait until they are closed."""
        self._closed = True
        if self._server is not None:
            self._server.close()
        await asyncio.sleep(0)  # a connection that was just accepted becomes a task
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self.reset()
        while self._writers:
            await self._closing(next(iter(self._writers)))
        for _ in range(3):  # a transport reports its end before its socket is closed
            await asyncio.sleep(0)


class Proxy(Relay):
    """A relay in front of a fake node, on the node's loop. It listens from its creation.

    :param path: a path in the file system to listen at, instead of a port of `address`.
    """

    def __init__(
        self,
        node: FakeNode,
        address: str = "127.0.0.1",
        port: int | None = None,
        path: str | None = None,
    ) -> None:
        super().__init__((node.address, port or node.port))
        self.node = node
        self._loop = node.loop
        starting = self.start(address) if path is None else self.start_at_path(path)
        asyncio.run_coroutine_threadsafe(starting, self._loop).result(10)

    def close(self) -> None:
        """Close the proxy and its connections, and wait for that. A second call does nothing."""
        if not self._closed:
            asyncio.run_coroutine_threadsafe(self.stop(), self._loop).result(10)

    def __enter__(self) -> Proxy:
        return self

    def __exit__(self, *args: object) -> None:
        self.close()


Proxies = dict[uuid.UUID, Proxy]


def put_proxies_before(nodes: FakeCluster, connection_id: str = "c1") -> Proxies:
    """Put a proxy in front of each node, and enter its address into the routes table."""
    proxies = {node.host_id: Proxy(node) for node in nodes.nodes}
    for host_id, proxy in proxies.items():
        nodes.scylla.route(connection_id, host_id, proxy.address, proxy.port)
    return proxies
