"""`SimulatedThread`: runs fake nodes on a simulated loop, without real threads and sockets."""

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

_POLL = 0.001  # virtual seconds between two calls of a predicate


class SimulatedThread(NodeThread):
    """Runs `FakeNode` and `FakeCluster` on a simulated loop: pass an instance as ``thread=``.

    :param loop: the simulated loop. Its `network` connects the nodes with the driver.
    """

    is_simulated = True

    def __init__(self, loop: SimulatedLoop) -> None:
        # The constructor of the base class is not called, because it starts a thread.
        self.loop = loop
        self.number = itertools.count().__next__

    def rename(self, name: str) -> None:
        """Do nothing: there is no thread to name.

        :param name: the name.
        """

    def call(self, function: Callable[..., T], *args: Any) -> T:
        """Call the function immediately.

        :param function: the function.
        :param args: the arguments of the function.
        """
        return function(*args)

    def post(self, function: Callable[..., Any], *args: Any) -> None:
        """Call the function soon, in the simulated loop.

        :param function: the function.
        :param args: the arguments of the function.
        """
        self.loop.call_soon(function, *args)

    def settle(self) -> None:
        """Do nothing: in a simulation, nothing needs time to settle."""

    def stop(self) -> None:
        """Do nothing: this object does not own the loop."""

    def wait_for(self, predicate: Callable[[], T], timeout: float) -> T:
        """Wait in virtual time until a predicate is true; return the predicate's value.

        If the calling thread is not a simulated thread, it cannot wait: the method then returns the
        present value at once.

        :param predicate: a function without arguments.
        :param timeout: the maximum wait, in virtual seconds.
        """
        assert isinstance(self.loop, SimulatedLoop)
        threads = self.loop.threads
        if timeout > 0 and threads is not None and threads.is_current():
            threads.wait(lambda: bool(predicate()), threads.deadline(timeout))
        return predicate()

    async def wait_until(self, predicate: Callable[[], Any], timeout: float) -> None:
        """Wait in virtual time until a predicate is true, in a coroutine on the simulated loop.

        :param predicate: a function without arguments.
        :param timeout: the maximum wait, in virtual seconds.
        """
        end = self.loop.time() + timeout
        # Poll the predicate, because no event is sent when its value changes.
        while not predicate() and self.loop.time() < end:  # noqa: ASYNC110
            await asyncio.sleep(_POLL)

    def bound_socket(self, address: str, port: int) -> Listening:
        """Return a bound port of the simulated network.

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
        """Accept connections at a bound port.

        :param listener: the port.
        :param make_protocol: called to create the protocol of each connection.
        :param tls: the TLS context; None for no TLS.
        """
        assert isinstance(listener, Listener)
        listener.listen(make_protocol, tls)

    def stop_listening(self, listener: Listening) -> None:
        """Stop accepting connections.

        :param listener: the port.
        """
        listener.close()
