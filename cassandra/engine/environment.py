"""The environment of an engine: time, random numbers, connections and threads.

Each cluster has one `Environment`, which `Core` passes to the parts that need it. A loop that
simulates a network provides its own environment by a method `cassandra_environment()`, so that it
controls everything the engine does. On any other loop the engine uses the system's clock and
network.
"""

from __future__ import annotations

import asyncio
import random
import socket
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future
from typing import Any, TypeVar
from weakref import WeakSet

from cassandra._imports import import_module
from cassandra._threads import green_library, simulation
from cassandra.engine.green import run_in_thread
from cassandra.engine.pools.shard_ports import connected, connected_to_shard

__all__ = ["Environment", "InsertionOrdered", "environment_of", "new_id"]

T = TypeVar("T")

MakeProtocol = Callable[[], asyncio.BaseProtocol]


class InsertionOrdered(dict[T, None]):
    """A set that iterates in insertion order.

    The order of a plain set of tasks or requests depends on their addresses, so a run that ends
    several of them could not be repeated.
    """

    __slots__ = ()

    def add(self, item: T) -> None:
        """Append `item`, unless it is there already."""
        self[item] = None

    def discard(self, item: T) -> None:
        """Remove `item`, if it is there."""
        self.pop(item, None)

    def __iter__(self) -> Iterator[T]:
        # Copy in one step: other threads may add and discard while we iterate.
        return iter(list(self.keys()))


class Environment:
    """The system's clock, network and threads, for the engine of a cluster.

    :param loop: the loop of the cluster.
    """

    clock: Callable[[], float]
    """Returns seconds of a clock that never goes back. Any thread may call it."""

    wall_clock: Callable[[], int]
    """Returns nanoseconds since the Unix epoch, of a clock that may be set. Any thread may
    call it.
    """

    random: random.Random
    """Source of all random numbers of the cluster: jitter, orders, ports and ids."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.clock = time.monotonic
        self.wall_clock = time.time_ns
        self.random = random.Random()
        self._executor: Executor | None = None
        # Calls in threads that may be unfinished. Weak, so that finished calls disappear by
        # themselves.
        self._calls: WeakSet[Future[Any]] = WeakSet()

    # -- the network -------------------------------------------------------------------------------

    async def addresses(self, name: str, port: int, family: int) -> list[str]:
        """Return the distinct IP addresses of a host name, in the resolver's order.

        :raises OSError: if the name cannot be resolved.
        """
        address_infos = await self.loop.getaddrinfo(
            name, port, family=family, type=socket.SOCK_STREAM
        )
        return list(dict.fromkeys(str(info[4][0]) for info in address_infos))

    async def connect(
        self,
        make_protocol: MakeProtocol,
        address: str,
        port: int,
        *,
        tls: dict[str, Any],
        local_ports: Iterable[int] | None = None,
        on_reached: Callable[[], None] = lambda: None,
    ) -> None:
        """Connect a protocol to an IP address.

        :param tls: the arguments `ssl` and `server_hostname` of ``loop.create_connection``; empty
            without TLS.
        :param local_ports: connect from the first of these ports that is free; None for any port.
        :param on_reached: called when the peer has accepted, before the TLS handshake.
        :raises OSError: if the address cannot be connected to, or no port is free.
        """
        loop = self.loop
        if not tls and local_ports is None:
            await loop.create_connection(make_protocol, address, port)
            return
        # Connect in two steps, to tell a peer that accepts but does not answer a TLS client from a
        # peer that does not accept.
        sock = (
            await connected(loop, address, port)
            if local_ports is None
            else await connected_to_shard(loop, address, port, local_ports)
        )
        on_reached()
        try:
            await loop.create_connection(make_protocol, sock=sock, **tls)
        except BaseException:
            sock.close()
            raise

    async def connect_unix(
        self, make_protocol: MakeProtocol, path: str, *, tls: dict[str, Any]
    ) -> None:
        """Connect a protocol to a Unix socket.

        :param tls: as for `connect`.
        """
        await self.loop.create_unix_connection(make_protocol, path, **tls)

    # -- threads -----------------------------------------------------------------------------------

    async def in_thread(self, function: Callable[..., Any], *args: Any) -> Any:
        """Run user code that may block outside the loop, and return or raise its outcome."""
        if green_library() is not None:
            return await run_in_thread(function, *args)
        if self._executor is None:
            # Created on first use: most applications never block. The import is late because it
            # fails while the interpreter waits for its last threads.
            pools = import_module("concurrent.futures.thread")
            self._executor = pools.ThreadPoolExecutor(
                max_workers=2, thread_name_prefix="cassandra-blocking"
            )
        assert self._executor is not None
        call = self._executor.submit(function, *args)
        self._calls.add(call)
        return await asyncio.wrap_future(call, loop=self.loop)

    def close(self) -> None:
        """Shut down the threads for blocking calls."""
        if self._executor is not None:
            # We wait for idle threads, which end at once. A blocked thread must end by itself, even
            # if nobody waits for its outcome.
            is_idle = all(call.done() for call in self._calls)
            self._executor.shutdown(wait=is_idle, cancel_futures=True)
            self._executor = None


def new_id() -> uuid.UUID:
    """Return a random id: from the simulation that runs the caller, or from the system."""
    loop: Any = asyncio._get_running_loop()
    make_id: Callable[[], uuid.UUID] | None = getattr(loop, "cassandra_id", None)
    if make_id is not None:
        return make_id()
    simulated = simulation()
    return simulated.new_id() if simulated is not None else uuid.uuid4()


def environment_of(loop: asyncio.AbstractEventLoop) -> Environment:
    """Return the environment of a new cluster on `loop`: the loop's own, or the system's."""
    make_environment: Callable[[], Environment] | None = getattr(
        loop, "cassandra_environment", None
    )
    return make_environment() if make_environment is not None else Environment(loop)
