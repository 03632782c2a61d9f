"""The proxies of the chaos campaign leave nothing behind."""

from __future__ import annotations

import gc
import socket

import pytest

from tests.chaos.network import Network


@pytest.mark.parametrize("fault", [None, "drop", "mute", "slow"])
def test_a_network_ends_its_connections_and_its_loop(fault: str | None) -> None:
    with socket.create_server(("127.0.0.1", 0)) as node:
        with Network(["127.0.0.1"], node.getsockname()[1]) as network:
            network.set_fault(0, fault)
            address = ("127.0.0.1", network.proxies[0].port)
            client = socket.create_connection(address, timeout=10)
            accepted, _ = node.accept()
            accepted.settimeout(10)
            client.sendall(b"x")
        for end in (client, accepted):
            with end:
                try:
                    while end.recv(1):
                        pass
                except ConnectionResetError:
                    pass
    del network
    gc.collect()  # a loop or a socket that is left open warns here, and a warning is an error
