"""The network between the driver and the nodes: a proxy for each node that causes faults.

Unlike network namespaces, proxies need no privileges. They are only between the driver and the
nodes, so the nodes can reach each other when the driver cannot reach them.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cassandra.connection import DefaultEndPoint, EndPoint, EndPointFactory
from tests.proxies import Relay


class ProxyEndPoints(EndPointFactory):
    """Gives the driver the address of a node's proxy instead of the address of the node.

    :param port_of: returns the port of the proxy for the address of a node.
    """

    def __init__(self, port_of: Callable[[str], int]) -> None:
        self._port_of = port_of

    def create(self, row: Mapping[str, Any]) -> EndPoint:
        address = row.get("native_address") or row.get("rpc_address")
        return DefaultEndPoint("127.0.0.1", self._port_of(str(address)))


class Network:
    """The proxies of all nodes, which run on an event loop in a thread."""

    def __init__(self, addresses: Sequence[str], port: int) -> None:
        self.addresses = list(addresses)
        self.proxies = [Relay((address, port)) for address in addresses]
        self._port = port
        # This lock is held while a proxy for a new node is added.
        self._growing = threading.Lock()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        """Run the loop until it is stopped.

        This is the function of the thread.
        """
        try:
            self._loop.run_forever()
            self._loop.run_until_complete(self._end_tasks())
        finally:
            self._loop.close()

    async def _end_tasks(self) -> None:
        """Cancel all other tasks of the loop, and wait until they have ended."""
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        # Aborted transports then close their sockets.
        await asyncio.sleep(0)

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
    def endpoint_factory(self) -> ProxyEndPoints:
        """Return the endpoint factory with which the driver connects to the proxies."""
        return ProxyEndPoints(self._port_of)

    def _port_of(self, address: str) -> int:
        """Return the port of a node's proxy.

        A node that has joined after this network was created has no proxy yet. The method then
        starts one.

        :param address: the address of the node itself.
        """
        with self._growing:
            if address not in self.addresses:
                proxy = Relay((address, self._port))
                asyncio.run_coroutine_threadsafe(proxy.start(), self._loop).result(10)
                self.proxies.append(proxy)
                self.addresses.append(address)
            return self.proxies[self.addresses.index(address)].port

    @property
    def contact_points(self) -> list[EndPoint]:
        """Return the addresses of the proxies."""
        return [DefaultEndPoint("127.0.0.1", proxy.port) for proxy in self.proxies]

    def call(self, function: Callable[[], None]) -> None:
        """Call `function` in the thread of the proxies' loop."""
        self._loop.call_soon_threadsafe(function)

    def set_fault(self, number: int, fault: str | None) -> None:
        """Set the fault of a node's proxy, or end it if `fault` is None.

        Numbers start at 0.
        """

        def change() -> None:
            self.proxies[number].fault = fault

        self.call(change)
