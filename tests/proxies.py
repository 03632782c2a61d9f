"""Proxies before fake nodes, as a private network has them."""

from __future__ import annotations

import asyncio
import uuid
from typing import Any

from cassandra.testing.fake import FakeCluster, FakeNode

__all__ = ["Proxies", "Proxy", "behind"]


class Proxy:
    """Hands the bytes of each connection on to a node, from a port of its own."""

    def __init__(self, node: FakeNode, address: str = "127.0.0.1", port: int | None = None) -> None:
        self.node = node
        self.address = address
        self.opened = 0
        self.now = 0
        self._target = port or node.port
        self._loop = node.loop
        starting = asyncio.start_server(self._relay, address, 0)
        self._server: Any = asyncio.run_coroutine_threadsafe(starting, self._loop).result(5)
        self.port: int = self._server.sockets[0].getsockname()[1]
        self._writers: list[asyncio.StreamWriter] = []

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.opened += 1
        try:
            there, back = await asyncio.open_connection(self.node.address, self._target)
        except OSError:
            writer.close()
            return
        self.now += 1
        self._writers += [writer, back]

        async def pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
            while data := await source.read(65536):
                sink.write(data)
            sink.close()

        await asyncio.gather(pump(reader, back), pump(there, writer), return_exceptions=True)
        self.now -= 1

    def close(self) -> None:
        """Close it, and its connections."""

        def end() -> None:
            self._server.close()
            for writer in self._writers:
                writer.close()

        self._loop.call_soon_threadsafe(end)


Proxies = dict[uuid.UUID, Proxy]


def behind(nodes: FakeCluster, connection_id: str = "c1") -> Proxies:
    """Put a proxy before each node, and the way through it into the table."""
    made = {node.host_id: Proxy(node) for node in nodes.nodes}
    for host_id, proxy in made.items():
        nodes.scylla.route(connection_id, host_id, proxy.address, proxy.port)
    return made
