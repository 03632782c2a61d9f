"""Time, random numbers, connections and threads: all that an engine takes from outside.

Each cluster has one `Environment`, which `Core` hands to the parts that need it. A loop that
simulates a network brings its own, by a method `cassandra_environment()`: all that the engine does
is then decided by that loop. On any other loop the engine has
the system's clock and network.
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
    """A set that is walked in the order of insertion.

    The order of a plain set of tasks or requests depends on their addresses, so that a run that
    ends some of them could not be repeated.
    """

    __slots__ = ()

    def add(self, item: T) -> None:
        """Put `item` at the end, unless it is there already."""
        self[item] = None

    def discard(self, item: T) -> None:
        """Take `item` out; does nothing if it is not there."""
        self.pop(item, None)

    def __iter__(self) -> Iterator[T]:
        # A copy, made in one step: other threads may add and discard meanwhile.
        return iter(list(self.keys()))


class Environment:
    """The system's clock, network and threads, for the engine of one cluster.

    :param loop: the loop of the cluster.
    """

    clock: Callable[[], float]
    """Returns seconds by a clock that never goes back. Any thread may call it."""

    wall_clock: Callable[[], int]
    """Returns nanoseconds since the Unix epoch, by a clock that may be set. Any thread may call it.
    """

    random: random.Random
    """Draws all random numbers of the cluster: jitter, orders, ports and ids."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.clock = time.monotonic
        self.wall_clock = time.time_ns
        self.random = random.Random()
        self._executor: Executor | None = None
        # What was handed to the threads and is perhaps not over. Weak, so that nobody has to take
        # out what is.
        self._calls: WeakSet[Future[Any]] = WeakSet()

    # -- the network -------------------------------------------------------------------------------

    async def addresses(self, name: str, port: int, family: int) -> list[str]:
        """Return the IP addresses of a host name, each once, in the resolver's order.

        :raises OSError: if the name is not known.
        """
        found = await self.loop.getaddrinfo(name, port, family=family, type=socket.SOCK_STREAM)
        return list(dict.fromkeys(str(info[4][0]) for info in found))

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
        # In two steps: a peer that accepts, and then says nothing to a TLS client, is another fault
        # than one that does not.
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
            # Made when it is first needed: most applications have nothing that may block. While
            # the interpreter waits for its last threads, the import fails.
            pools = import_module("concurrent.futures.thread")
            self._executor = pools.ThreadPoolExecutor(
                max_workers=2, thread_name_prefix="cassandra-blocking"
            )
        assert self._executor is not None
        call = self._executor.submit(function, *args)
        self._calls.add(call)
        return await asyncio.wrap_future(call, loop=self.loop)

    def close(self) -> None:
        """End the threads for calls that may block."""
        if self._executor is not None:
            # Idle threads end at once, and are waited for; one that is blocked is left to end by
            # itself, also if nobody waits for its outcome any longer.
            is_idle = all(call.done() for call in self._calls)
            self._executor.shutdown(wait=is_idle, cancel_futures=True)
            self._executor = None


def new_id() -> uuid.UUID:
    """Return a random id: a simulation's that runs the caller, or the system's."""
    loop: Any = asyncio._get_running_loop()
    make: Callable[[], uuid.UUID] | None = getattr(loop, "cassandra_id", None)
    if make is not None:
        return make()
    simulated = simulation()
    return simulated.new_id() if simulated is not None else uuid.uuid4()


def environment_of(loop: asyncio.AbstractEventLoop) -> Environment:
    """Return the environment for a new cluster on `loop`: the loop's own, or the system's."""
    make: Callable[[], Environment] | None = getattr(loop, "cassandra_environment", None)
    return make() if make is not None else Environment(loop)
