"""Tests of local ports for connections to a shard.

The shard of a connection is the client's local port modulo the number of shards.
"""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from cassandra.connection import DefaultShardAwarePortGenerator, ShardAwarePortGenerator
from cassandra.engine.pools.shard_ports import connected, connected_to_shard


@pytest.mark.parametrize(("shard", "shard_count"), [(0, 1), (0, 8), (7, 8), (3, 5)])
def test_ports_lead_to_their_shard(shard: int, shard_count: int) -> None:
    """A port generator yields exactly the ports of its range that lead to the shard."""
    ports = list(ShardAwarePortGenerator(50_000, 50_100).generate(shard, shard_count))
    assert sorted(ports) == [port for port in range(50_000, 50_101) if port % shard_count == shard]
    assert next(DefaultShardAwarePortGenerator.generate(shard, shard_count)) % shard_count == shard


def test_a_range_may_have_no_port_of_a_shard_but_must_be_valid() -> None:
    """A port range need not have a port for each shard, but its start must not exceed its end.

    If no port of the range leads to the shard, `generate` yields nothing. A range whose start
    exceeds its end, or a shard that does not exist, raises ValueError.
    """
    two_ports = ShardAwarePortGenerator(50_000, 50_001)
    assert list(two_ports.generate(shard_id=5, total_shards=100)) == []
    with pytest.raises(ValueError, match="50002"):
        ShardAwarePortGenerator(50_002, 50_001)
    with pytest.raises(ValueError, match="8"):
        list(DefaultShardAwarePortGenerator.generate(shard_id=8, total_shards=8))


@pytest.fixture
def server() -> Iterator[tuple[str, int]]:
    """Yield the address and port of a listening socket."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()


def free_ports(count: int) -> list[int]:
    """Return local ports that were free at the time of the call."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("", 0))) for _ in range(count)]
        return [bound_socket.getsockname()[1] for bound_socket in sockets]


async def test_a_connection_uses_the_first_free_port(server: tuple[str, int]) -> None:
    """Local ports are tried in order, and ports that are in use are skipped."""
    loop = asyncio.get_running_loop()
    taken, free = free_ports(2)
    with socket.socket() as holder:
        # Occupy the first port.
        holder.bind(("0.0.0.0", taken))
        holder.listen()
        with await connected_to_shard(loop, *server, [taken, free]) as sock:
            assert sock.getsockname()[1] == free
            assert sock.getpeername() == server


async def test_without_a_free_port_the_error_is_eaddrinuse(server: tuple[str, int]) -> None:
    with pytest.raises(OSError, match="no local port of the range is free") as refused:
        await connected_to_shard(asyncio.get_running_loop(), *server, [])
    assert refused.value.errno == errno.EADDRINUSE


async def test_if_the_address_refuses_no_other_port_is_tried() -> None:
    """If the node refuses the connection, no other local port is tried.

    Another local port would not help.
    """
    (closed_port, *local_ports) = free_ports(3)
    tried: list[int] = []

    def record_ports() -> Iterator[int]:
        for port in local_ports:
            tried.append(port)
            yield port

    with pytest.raises(ConnectionRefusedError):
        await connected_to_shard(
            asyncio.get_running_loop(), "127.0.0.1", closed_port, record_ports()
        )
    assert tried == local_ports[:1]


def test_uvloop_does_not_look_up_ip_addresses(server: tuple[str, int]) -> None:
    """On uvloop, a connection to an IP address starts no thread of libuv, which looks up names.

    A child that was forked from a process with such a thread crashed when it exited.
    """
    uvloop = pytest.importorskip("uvloop")

    class LoopWithoutNames(uvloop.Loop):  # type: ignore[misc, name-defined]
        async def getaddrinfo(self, *args: Any, **options: Any) -> Any:
            raise AssertionError(args)

    async def connect_to_both() -> None:
        loop = asyncio.get_running_loop()
        with await connected(loop, *server) as sock:
            assert sock.getpeername() == server
            assert not sock.getblocking()
        with pytest.raises(ConnectionRefusedError):
            await connected(loop, "127.0.0.1", *free_ports(1))

    loop = LoopWithoutNames()
    try:
        loop.run_until_complete(connect_to_both())
    finally:
        loop.close()


async def test_the_wait_for_a_connection_can_be_cancelled() -> None:
    """If the wait for a connection is cancelled, the driver closes the socket, on uvloop too."""
    uvloop = pytest.importorskip("uvloop")

    async def cancel() -> None:
        # Nothing accepts connections beyond the backlog, so one of these is never connected.
        with socket.create_server(("127.0.0.1", 0), backlog=1) as full:
            loop = asyncio.get_running_loop()
            waits = [asyncio.ensure_future(connected(loop, *full.getsockname())) for _ in range(8)]
            done, waiting = await asyncio.wait(waits, timeout=0.1)
            assert waiting
            for wait in waiting:
                wait.cancel()
            results = await asyncio.gather(*waits, return_exceptions=True)
            assert any(isinstance(result, asyncio.CancelledError) for result in results)
            for task in done:
                task.result().close()

    loop = uvloop.new_event_loop()
    try:
        await asyncio.to_thread(loop.run_until_complete, cancel())
    finally:
        loop.close()
