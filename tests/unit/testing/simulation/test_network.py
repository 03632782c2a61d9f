"""The simulated network, which exists only in memory, behaves like TCP with asyncio's sockets."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path
from typing import Any

import pytest

from cassandra.testing.simulation import Network, SimulatedLoop
from cassandra.testing.tls import Authority

SERVER = "10.0.0.1"


class Server(asyncio.Protocol):
    """A protocol that collects the bytes and events that it receives.

    The last event is "closed", or the name of the error with which the connection ended.
    """

    def __init__(self) -> None:
        self.data = bytearray()
        self.events: list[Any] = []
        self.transport: Any = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.data += data

    def eof_received(self) -> bool:
        self.events.append("eof")
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self.events.append(type(exc).__name__ if exc is not None else "closed")


class Client(Server):
    """A protocol that also records when it must pause and resume writing."""

    def pause_writing(self) -> None:
        self.events.append("pause")

    def resume_writing(self) -> None:
        self.events.append("resume")


async def connected_pair(
    loop: SimulatedLoop, server_tls: ssl.SSLContext | None = None, **client_tls: Any
) -> tuple[Client, Server]:
    """Return a client and a server protocol that are connected with each other.

    :param client_tls: arguments of `create_connection`.
    """
    servers: list[Server] = []

    def make_server() -> Server:
        server = Server()
        servers.append(server)
        return server

    listener = loop.network.bind(SERVER, 80)
    listener.listen(make_server, server_tls)
    _, client = await loop.create_connection(Client, SERVER, 80, **client_tls)
    # Let the server accept the connection.
    await asyncio.sleep(0.1)
    assert isinstance(client, Client)
    return client, servers[0]


def loop_with_network(seed: int = 0, **settings: Any) -> SimulatedLoop:
    """Return a loop with a simulated network, which is its attribute `network`.

    :param settings: arguments of `Network`.
    """
    loop = SimulatedLoop(seed)
    # The network attaches itself to the loop.
    Network(loop, **settings)
    return loop


@pytest.mark.parametrize("seed", range(20))
def test_bytes_arrive_in_order_and_a_slow_reader_pauses_the_writer(seed: int) -> None:
    """While the server does not read, the client must pause writing.

    When the server reads again, all bytes arrive in order, and the client may write again.
    """
    loop = loop_with_network(seed, fragments=0.5)
    data = bytes(range(256)) * 8192  # 2 MiB, more than the buffers hold

    async def main() -> None:
        client, server = await connected_pair(loop)
        server.transport.pause_reading()
        client.transport.write(data)
        assert client.events == ["pause"]
        await asyncio.sleep(10)
        assert client.events == ["pause"]
        assert client.transport.get_write_buffer_size() > 1 << 20
        server.transport.resume_reading()
        # These are seconds of the simulated clock.
        await asyncio.sleep(600)
        assert server.data == data
        assert client.events == ["pause", "resume"]
        client.transport.close()
        await asyncio.sleep(1)
        assert server.events == ["eof", "closed"]
        assert client.events[2:] == ["closed"]
        assert not loop.network.links

    loop.run(main())


def test_a_reset_may_overtake_the_data() -> None:
    """The seed decides whether data that was sent before a reset arrives or is lost."""
    outcomes = set()
    for seed in range(30):
        loop = loop_with_network(seed)

        async def main(loop: SimulatedLoop) -> tuple[Any, ...]:
            client, server = await connected_pair(loop)
            server.transport.write(b"last words")
            server.transport.reset()
            await asyncio.sleep(1)
            assert not loop.network.links
            return bytes(client.data), *client.events

        outcomes.add(loop.run(main(loop)))
    assert outcomes == {
        (b"last words", "ConnectionResetError"),
        (b"", "ConnectionResetError"),
    }


def test_bytes_on_a_cut_path_arrive_after_it_is_mended() -> None:
    """A path can be cut in one direction only, and its bytes arrive after it is mended.

    As with TCP, lost bytes are sent again.
    """
    loop = loop_with_network()

    async def main() -> None:
        client, server = await connected_pair(loop)
        # Cut the path from the client, which has this address, to the server.
        loop.network.cut("10.1.0.1", SERVER, both_ways=False)
        client.transport.write(b"question")
        server.transport.write(b"news")
        await asyncio.sleep(60)
        assert not server.data
        assert client.data == b"news"
        loop.network.mend("10.1.0.1", SERVER)
        await asyncio.sleep(1)
        assert server.data == b"question"
        client.transport.abort()
        await asyncio.sleep(1)

    loop.run(main())


def test_a_host_without_power_is_silent_until_it_is_back() -> None:
    """The client of a host without power sees no error until the host has power again.

    The host then does not know the connection, and answers the client's data with a reset.
    """
    loop = loop_with_network()

    async def main() -> None:
        client, server = await connected_pair(loop)
        loop.network.lose_power(SERVER)
        client.transport.write(b"hello?")
        await asyncio.sleep(60)
        # Nothing tells the client that the host has lost its power.
        assert client.events == []
        assert server.events == ["ConnectionResetError"]
        loop.network.regain_power(SERVER)
        await asyncio.sleep(1)
        assert client.events == ["ConnectionResetError"]
        assert not loop.network.links

    loop.run(main())


def test_connects_are_refused_or_time_out() -> None:
    """A connect is refused if nobody listens, and times out if the host drops its packets."""
    loop = loop_with_network()

    async def main() -> None:
        with pytest.raises(ConnectionRefusedError):
            await loop.create_connection(Client, SERVER, 80)
        loop.network.drop_syns(SERVER)
        start = loop.time()
        with pytest.raises(TimeoutError):
            await loop.create_connection(Client, SERVER, 80)
        # As on Linux, a connect gives up only after about two minutes (of simulated time).
        assert loop.time() - start > 60
        assert not loop.network.links

    loop.run(main())


def test_a_client_that_gives_up_leaves_no_connection() -> None:
    """A connect that is cancelled at any time leaves no half of a connection."""
    for seed in range(30):
        loop = loop_with_network(seed)

        async def main(loop: SimulatedLoop) -> None:
            loop.network.bind(SERVER, 80).listen(Server)
            task = asyncio.ensure_future(loop.create_connection(Client, SERVER, 80))
            # The random time is before, during or after the establishment of the connection.
            await asyncio.sleep(loop.random.random() * 0.002)
            task.cancel()
            await asyncio.sleep(1)
            # If the cancellation came too late, the connection was established, so close it.
            if not task.cancelled():
                transport, _ = task.result()
                transport.close()
                await asyncio.sleep(1)
            assert not loop.network.links

        loop.run(main(loop))


def test_tls_works_over_the_network(tmp_path: Path) -> None:
    """A client and a server can use TLS over the simulated network."""
    loop = loop_with_network()
    authority = Authority(tmp_path)
    server_context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_context.load_cert_chain(*authority.issue("localhost"))

    async def main() -> None:
        client, server = await connected_pair(
            loop,
            ssl=authority.client(),
            server_tls=server_context,
            server_hostname="localhost",
        )
        client.transport.write(b"secret" * 1000)
        await asyncio.sleep(1)
        assert server.data == b"secret" * 1000
        client.transport.close()
        await asyncio.sleep(1)
        assert not loop.network.links

    loop.run(main())
