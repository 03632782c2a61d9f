"""Proxies between the driver and nodes, which can lose bytes, delay them or reset connections."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import uuid
from collections.abc import Callable
from typing import Any

from cassandra.testing.fake import FakeCluster, FakeNode

CHUNK = 1 << 16

Address = tuple[str, int]


class Relay:
    """Accepts connections, and relays the bytes of each connection to a node and back.

    It belongs to the event loop on which it is started. `opened` counts all connections that were
    accepted, and `now` those that are connected to a node at the moment. `fault` is None, or one of
    these strings:

    - "drop": bytes are lost in both directions;
    - "deaf": bytes from the client are lost;
    - "mute": bytes from the node are lost;
    - "slow": each piece of at most 64 KiB is delayed by 50 ms;
    - "refuse": new connections are closed at once.

    :param target: the address of the node, or a function that returns it for each new connection.
        If the function returns None, the connection is closed.
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
        """Listen on a free port of `address`; if a `context` is given, use TLS."""
        server = await asyncio.start_server(self._accept, address, 0, ssl=context)
        self._server = server
        self.address, self.port = server.sockets[0].getsockname()[:2]

    async def start_at_path(self, path: str) -> None:
        """Listen on a Unix socket at a path in the file system."""
        self._server = await asyncio.start_unix_server(self._accept, path)
        self.address = path

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one client's connection until it is closed.

        asyncio runs this method as a task.
        """
        # `reset` aborts these writers, and `stop` cancels these tasks. They belong to the open
        # connections.
        self._writers.add(writer)
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.opened += 1
        try:
            target = self.target(writer) if callable(self.target) else self.target
            # The loop may have accepted this connection just before `stop` closed the listener. Do
            # not serve the connection then.
            if target is not None and self.fault != "refuse" and not self._closed:
                await self._connect(reader, writer, target)
        except (OSError, asyncio.CancelledError):
            # In this case, one side closed the connection, or `stop` cancelled this task.
            pass
        finally:
            writer.transport.abort()
            self._tasks.discard(task)
            await self._wait_until_closed(writer)

    async def _connect(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, target: Address
    ) -> None:
        """Connect to the node at `target`, and relay bytes until both directions have ended.

        :param reader: the bytes from the client.
        :param writer: sends bytes to the client.
        """
        node_reader, node_writer = await asyncio.open_connection(*target)
        self._writers.add(node_writer)
        self.now += 1
        try:
            await asyncio.gather(
                self._carry(reader, node_writer, {"drop", "deaf"}),
                self._carry(node_reader, writer, {"drop", "mute"}),
            )
        finally:
            self.now -= 1
            node_writer.transport.abort()
            await self._wait_until_closed(node_writer)

    async def _carry(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, losing_faults: set[str]
    ) -> None:
        """Relay the bytes in one direction until the sender ends its stream.

        :param losing_faults: the faults in which the bytes of this direction are lost.
        """
        is_silent = False
        try:
            while data := await reader.read(CHUNK):
                # If bytes were lost, the receiver could not understand the bytes that follow. So
                # this direction stays silent, even after the fault was cleared.
                is_silent = is_silent or self.fault in losing_faults
                if is_silent:
                    continue
                if self.fault == "slow":
                    await asyncio.sleep(0.05)
                writer.write(data)
                await writer.drain()
        except OSError:
            writer.transport.abort()
        else:
            # The sender has ended its stream, so close the other side too.
            writer.close()

    async def _wait_until_closed(self, writer: asyncio.StreamWriter) -> None:
        """Wait until the transport is closed.

        This takes some iterations of the loop after `close`.
        """
        with contextlib.suppress(OSError, asyncio.CancelledError):
            await writer.wait_closed()
        self._writers.discard(writer)

    def reset(self) -> None:
        """Abort all connections at once."""
        for writer in list(self._writers):
            writer.transport.abort()

    async def stop(self) -> None:
        """Close the listener and all connections, and wait until they are closed."""
        self._closed = True
        if self._server is not None:
            self._server.close()
        # If a connection was accepted just now, its task starts in this iteration.
        await asyncio.sleep(0)
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self.reset()
        while self._writers:
            await self._wait_until_closed(next(iter(self._writers)))
        # A transport closes its socket only some iterations of the loop after it has called
        # `connection_lost`.
        for _ in range(3):
            await asyncio.sleep(0)


class Proxy(Relay):
    """A relay to a fake node, which runs on the node's event loop.

    It listens as soon as it is created.

    :param node: the fake node.
    :param address: the address to listen on.
    :param port: the port of the node, if it is not `node.port`.
    :param path: the path of a Unix socket to listen on instead of `address`.
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
        start_coroutine = self.start(address) if path is None else self.start_at_path(path)
        asyncio.run_coroutine_threadsafe(start_coroutine, self._loop).result(10)

    def close(self) -> None:
        """Close the proxy and its connections, and wait until they are closed.

        A second call does nothing.
        """
        if not self._closed:
            asyncio.run_coroutine_threadsafe(self.stop(), self._loop).result(10)

    def __enter__(self) -> Proxy:
        return self

    def __exit__(self, *args: object) -> None:
        self.close()


Proxies = dict[uuid.UUID, Proxy]


def put_proxies_before(nodes: FakeCluster, connection_id: str = "c1") -> Proxies:
    """Create a proxy for each node, and set the nodes' client routes to the proxies' addresses.

    :param connection_id: the connection ID of the routes.
    :returns: the proxies by the host IDs of the nodes.
    """
    proxies = {node.host_id: Proxy(node) for node in nodes.nodes}
    for host_id, proxy in proxies.items():
        nodes.scylla.route(connection_id, host_id, proxy.address, proxy.port)
    return proxies
