"""Chooses the local port of a connection to a ScyllaDB node, so that it reaches a given shard.

At the node's shard-aware port, the shard of a connection is the client's local port modulo the
number of shards (docs/dev/protocol-extensions.md of ScyllaDB, "Intranode sharding").
"""

from __future__ import annotations

import errno
import os
import random
import socket
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from cassandra._imports import Deferred
from cassandra.engine.randomness import generator_or_default

if TYPE_CHECKING:
    import asyncio
else:
    asyncio = Deferred("asyncio")  # `import cassandra.cluster` must not load it

# These errors mean that a local port is in use, or is still reserved after an earlier connection to
# the same address. In that case, try the next port.
_PORT_IN_USE = (errno.EADDRINUSE, errno.EADDRNOTAVAIL, errno.EACCES)

# With these results of `connect_ex`, the socket is being connected.
_CONNECTING = (errno.EINPROGRESS, errno.EWOULDBLOCK, errno.EINTR)

# The default range: the ephemeral ports of RFC 6335.
DEFAULT_LOCAL_PORT_LOW = 49152
DEFAULT_LOCAL_PORT_HIGH = 65535


class ShardAwarePortGenerator:
    """Generates local ports from `start_port` to `end_port`, both included.

    :param start_port: the first port, at least 1.
    :param end_port: the last port, at most 65535.
    :param random: chooses the first port to try; None uses the process-wide generator.
    :raises ValueError: if the ports are out of range or out of order.
    """

    def __init__(
        self, start_port: int, end_port: int, *, random: random.Random | None = None
    ) -> None:
        if not 0 < start_port <= end_port <= 65535:
            raise ValueError(
                "ports must be from 1 to 65535 and in order, "
                f"but are {start_port!r} and {end_port!r}"
            )
        self.start_port = start_port
        self.end_port = end_port
        self._random = generator_or_default(random)

    def generate(self, shard_id: int, total_shards: int) -> Iterator[int]:
        """Yield the ports of the range that lead to shard `shard_id`, from a random start.

        :param shard_id: the number of the shard, from 0.
        :param total_shards: the number of shards of the node.
        """
        if not 0 <= shard_id < total_shards:
            raise ValueError(f"shard_id must be from 0 to {total_shards - 1}, but is {shard_id!r}")
        # The first port of the range that is congruent to the shard, modulo the number of shards.
        first_port = self.start_port + (shard_id - self.start_port) % total_shards
        ports = range(first_port, self.end_port + 1, total_shards)
        # Begin at a random port, so that several processes on one machine do not all try the same
        # ports first.
        start_index = self._random.randrange(len(ports)) if ports else 0
        yield from ports[start_index:]
        yield from ports[:start_index]


DefaultShardAwarePortGenerator = ShardAwarePortGenerator(
    DEFAULT_LOCAL_PORT_LOW, DEFAULT_LOCAL_PORT_HIGH
)


async def connected(
    loop: asyncio.AbstractEventLoop, address: str, port: int, local_port: int | None = None
) -> socket.socket:
    """Return a socket that is connected to an IP address.

    :param local_port: the local port of the connection; None for any port.
    """
    is_v6 = ":" in address
    sock = socket.socket(socket.AF_INET6 if is_v6 else socket.AF_INET, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        if local_port is not None:
            # Allow a local port that is already in use for a connection to another node. Only the
            # pair of local and remote address must be unique.
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.bind(("::" if is_v6 else "0.0.0.0", local_port))
        await _connect(loop, sock, address, port)
    except BaseException:
        sock.close()
        raise
    return sock


async def _connect(
    loop: asyncio.AbstractEventLoop, sock: socket.socket, address: str, port: int
) -> None:
    """Connect a non-blocking socket to an IP address."""
    if isinstance(loop, asyncio.BaseEventLoop):
        await loop.sock_connect(sock, (address, port))
        return
    # The method `sock_connect` of uvloop looks up even IP addresses, in a thread of libuv. When a
    # forked child of this process exits, libuv waits for that thread, which the child does not
    # have, and the child crashes. So connect without that method.
    error_code = sock.connect_ex((address, port))
    if error_code in _CONNECTING:
        is_writable = loop.create_future()
        loop.add_writer(sock, _set_result, is_writable)
        try:
            await is_writable
        finally:
            loop.remove_writer(sock)
        error_code = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    if error_code:
        raise OSError(error_code, os.strerror(error_code))


def _set_result(future: asyncio.Future[None]) -> None:
    """Set the result of a future, unless the wait for it was cancelled."""
    if not future.done():
        future.set_result(None)


async def connected_to_shard(
    loop: asyncio.AbstractEventLoop, address: str, port: int, local_ports: Iterable[int]
) -> socket.socket:
    """Return a socket that is connected to an IP address from a free local port.

    :param local_ports: the local ports to try, in order.

    :raises OSError: if the address cannot be connected to, or no local port is free.
    """
    for local_port in local_ports:
        try:
            return await connected(loop, address, port, local_port)
        except OSError as error:
            if error.errno not in _PORT_IN_USE:
                raise
    raise OSError(errno.EADDRINUSE, "no local port of the range is free for the shard")


ShardAwarePortGenerator.__module__ = "cassandra.connection"
