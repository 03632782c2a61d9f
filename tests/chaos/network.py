"""The network between the driver and its nodes: a proxy for each node, which misbehaves on demand.

It works on every machine and needs no privileges, other than network namespaces do. The nodes keep
their own network, so that they stay one cluster while the driver cannot reach some of them.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cassandra.connection import DefaultEndPoint, EndPoint, EndPointFactory

CHUNK = 1 << 16


class Proxy:
    """Carries bytes between the driver and one node. Belongs to the network's loop.

    `fault` is None, or one of: "drop" (bytes vanish both ways), "deaf" (what the driver sends vanishes),
    "mute" (what the node sends vanishes), "slow" (each piece takes 50 ms), "refuse" (new connections
    are closed at once).
    """

    def __init__(self, node: tuple[str, int]) -> None:
        self.node = node
        self.fault: str | None = None
        self.port = 0
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.fault == "refuse":
            writer.transport.abort()
            return
        try:
            node_reader, node_writer = await asyncio.open_connection(*self.node)
        except OSError:
            writer.transport.abort()
            return
        pair = {writer, node_writer}
        self._writers |= pair
        try:
            await asyncio.gather(
                self._carry(reader, node_writer, {"drop", "deaf"}),
                self._carry(node_reader, writer, {"drop", "mute"}),
            )
        finally:
            self._writers -= pair
            for one in pair:
                one.transport.abort()

    async def _carry(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, lost_in: set[str]
    ) -> None:
        is_silent = False
        with contextlib.suppress(OSError):
            while data := await reader.read(CHUNK):
                # A stream that has lost bytes is of no use any more: it stays silent for good.
                is_silent = is_silent or self.fault in lost_in
                if is_silent:
                    continue
                if self.fault == "slow":
                    await asyncio.sleep(0.05)
                writer.write(data)
                await writer.drain()
        writer.transport.abort()

    def reset(self) -> None:
        """Break all connections at once."""
        for writer in list(self._writers):
            writer.transport.abort()

    async def stop(self) -> None:
        self.reset()
        if self._server is not None:
            self._server.close()


class Places(EndPointFactory):
    """Sends the driver to the proxies."""

    def __init__(self, ports: Mapping[str, int]) -> None:
        self._ports = ports

    def create(self, row: Mapping[str, Any]) -> EndPoint:
        address = row.get("native_address") or row.get("rpc_address")
        return DefaultEndPoint("127.0.0.1", self._ports[str(address)])


class Network:
    """The proxies of all nodes, on a loop in a thread of its own."""

    def __init__(self, addresses: Sequence[str], port: int) -> None:
        self.proxies = [Proxy((address, port)) for address in addresses]
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        try:
            self._loop.run_forever()
            self._loop.run_until_complete(self._end_tasks())
        finally:
            self._loop.close()

    async def _end_tasks(self) -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)  # an aborted transport closes its socket in the loop's next turn

    def __enter__(self) -> Network:
        self._thread.start()
        for proxy in self.proxies:
            asyncio.run_coroutine_threadsafe(proxy.start(), self._loop).result(10)
        return self

    def __exit__(self, *args: object) -> None:
        for proxy in self.proxies:
            asyncio.run_coroutine_threadsafe(proxy.stop(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    @property
    def places(self) -> Places:
        return Places({proxy.node[0]: proxy.port for proxy in self.proxies})

    @property
    def contact_points(self) -> list[EndPoint]:
        return [DefaultEndPoint("127.0.0.1", proxy.port) for proxy in self.proxies]

    def call(self, function: Callable[[], None]) -> None:
        """Call `function` on the loop."""
        self._loop.call_soon_threadsafe(function)

    def set_fault(self, number: int, fault: str | None) -> None:
        """Let the proxy of a node misbehave, or behave again; the first one is number 0."""

        def change() -> None:
            self.proxies[number].fault = fault

        self.call(change)
