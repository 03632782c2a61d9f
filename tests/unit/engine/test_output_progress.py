"""`output_state`, with sockets whose other end reads only when the test says so."""

from __future__ import annotations

import asyncio
import socket
import sys
from typing import Any

import pytest

from cassandra.engine import output_progress
from cassandra.engine.output_progress import OutputState, output_state
from tests.waiting import until_on_loop

LARGE = bytes(32 << 20)  # more than the buffers of both systems take


class Upload:
    """A connection of asyncio to a socket that reads nothing by itself."""

    transport: asyncio.WriteTransport
    peer: socket.socket

    async def __aenter__(self) -> Upload:
        loop = asyncio.get_running_loop()
        with socket.create_server(("127.0.0.1", 0)) as server:
            server.setblocking(False)
            self.transport, _ = await loop.create_connection(
                asyncio.Protocol, *server.getsockname()
            )
            self.peer, _ = await loop.sock_accept(server)
        return self

    async def __aexit__(self, *error: object) -> None:
        self.transport.abort()
        self.peer.close()

    async def receive(self, count: int) -> None:
        """Read `count` bytes at the peer's end."""
        loop = asyncio.get_running_loop()
        while count:
            count -= len(await loop.sock_recv(self.peer, min(count, 1 << 20)))


@pytest.fixture(params=["system", "buffer"], autouse=True)
def _source(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run each test with what the system tells, and with the size of the transport's buffer."""
    if request.param == "buffer":
        monkeypatch.setattr(output_progress, "_TCP_INFO", None)
    elif sys.platform != "linux":
        pytest.skip("only Linux tells how much has arrived")


async def test_a_large_request_goes_on_while_the_peer_reads() -> None:
    async with Upload() as upload:
        upload.transport.write(LARGE)
        before = output_state(upload.transport)
        await upload.receive(len(LARGE) // 2)
        await until_on_loop(lambda: output_state(upload.transport).arrived > before.arrived)
        later = output_state(upload.transport)
        assert later.is_pending
        assert later.goes_on_since(before)
        await upload.receive(len(LARGE) - len(LARGE) // 2)
        await until_on_loop(lambda: not output_state(upload.transport).is_pending)
        assert not output_state(upload.transport).goes_on_since(before)


async def test_a_peer_that_reads_nothing_makes_no_progress() -> None:
    async with Upload() as upload:
        upload.transport.write(LARGE)
        states = [output_state(upload.transport)]

        def is_stuck() -> bool:
            states.append(output_state(upload.transport))
            return len(states) > 20 and states[-1].arrived == states[-20].arrived

        await until_on_loop(is_stuck)
        assert states[-1].is_pending
        assert not states[-1].goes_on_since(states[-20])


async def test_small_requests_do_not_hide_that_the_peer_hangs() -> None:
    """The peer's system receives them at once, and acknowledges some of them a little later."""
    async with Upload() as upload:
        loop = asyncio.get_running_loop()
        # After such an exchange, systems delay their acknowledgements.
        for _ in range(20):
            upload.transport.write(bytes(100))
            await upload.receive(100)
            await loop.sock_sendall(upload.peer, b"x")
        before = output_state(upload.transport)
        for _ in range(8):
            upload.transport.write(bytes(100))
            assert not output_state(upload.transport).goes_on_since(before)


@pytest.mark.parametrize("loop_module", ["asyncio", "uvloop"])
def test_a_closed_transport_has_a_state(loop_module: str) -> None:
    """Its connection may break while a heartbeat of the same host waits for its turn."""
    loop = pytest.importorskip(loop_module).new_event_loop()

    async def close_and_ask() -> OutputState:
        async with Upload() as upload:
            output_state(upload.transport)  # uvloop keeps the socket that it makes here
        for _ in range(3):  # let the loop close the socket
            await asyncio.sleep(0)
        return output_state(upload.transport)

    try:
        assert not loop.run_until_complete(close_and_ask()).is_pending
    finally:
        loop.close()


async def test_sockets_without_the_option() -> None:
    """For a Unix socket, the state comes from the size of the transport's buffer."""
    ours, peer = socket.socketpair()
    with peer:
        transport: Any
        transport, _ = await asyncio.get_running_loop().create_connection(
            asyncio.Protocol, sock=ours
        )
        transport.write(LARGE)
        size = transport.get_write_buffer_size()
        assert output_state(transport) == OutputState(-size, is_pending=True)
        transport.abort()
