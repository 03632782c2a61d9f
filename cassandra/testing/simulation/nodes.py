"""`SimulatedThread`: lets fake nodes live on a simulated loop, without threads and sockets."""

from __future__ import annotations

import asyncio
import itertools
import ssl
from collections.abc import Callable
from typing import Any, TypeVar

from cassandra.testing.fake.looping import Listening, NodeThread
from cassandra.testing.simulation.loop import SimulatedLoop
from cassandra.testing.simulation.network import Listener

__all__ = ["SimulatedThread"]

T = TypeVar("T")

_POLL = 0.001  # virtual seconds between two looks at a node


class SimulatedThread(NodeThread):
    """Stands for the thread of `FakeNode` and `FakeCluster`: pass it as ``thread=``.

    :param loop: the simulated loop, which has a network.
    """

    is_simulated = True

    def __init__(self, loop: SimulatedLoop) -> None:
        # Not the base's: it would start a thread.
        self.loop = loop
        self.number = itertools.count().__next__

    def rename(self, name: str) -> None:
        """Do nothing: there is no thread to be named.

        :param name: the name.
        """

    def call(self, function: Callable[..., T], *args: Any) -> T:
        """Call it at once.

        :param function: the function.
        :param args: its arguments.
        """
        return function(*args)

    def post(self, function: Callable[..., Any], *args: Any) -> None:
        """Call it soon.

        :param function: the function.
        :param args: its arguments.
        """
        self.loop.call_soon(function, *args)

    def settle(self) -> None:
        """Nothing has to be waited for."""

    def stop(self) -> None:
        """The loop goes on: it is not this object's."""

    def wait_for(self, predicate: Callable[[], Any], timeout: float) -> Any:
        """Wait in virtual time, in a simulated thread, and return the predicate's value.

        :param predicate: a function without arguments.
        :param timeout: virtual seconds.
        """
        assert isinstance(self.loop, SimulatedLoop)
        threads = self.loop.threads
        if timeout > 0 and threads is not None and threads.is_current():
            threads.wait(lambda: bool(predicate()), threads.deadline(timeout))
        return predicate()

    async def wait_until(self, predicate: Callable[[], Any], timeout: float) -> None:
        """Wait in virtual time, on the simulated loop.

        :param predicate: a function without arguments.
        :param timeout: virtual seconds.
        """
        end = self.loop.time() + timeout
        # Nothing tells of all that the predicate may look at.
        while not predicate() and self.loop.time() < end:  # noqa: ASYNC110
            await asyncio.sleep(_POLL)

    def bound_socket(self, address: str, port: int) -> Listening:
        """Return a port of the simulated network.

        :param address: the IP address.
        :param port: the port.
        """
        assert isinstance(self.loop, SimulatedLoop)
        return self.loop.network.bind(address, port)

    def listen(
        self,
        listener: Listening,
        make_protocol: Callable[[], asyncio.Protocol],
        tls: ssl.SSLContext | None,
    ) -> None:
        """Accept connections.

        :param listener: the port.
        :param make_protocol: makes the protocol.
        :param tls: of TLS; none without it.
        """
        assert isinstance(listener, Listener)
        listener.listen(make_protocol, tls)

    def stop_listening(self, listener: Listening) -> None:
        """Accept no connections any more.

        :param listener: the port.
        """
        listener.close()
