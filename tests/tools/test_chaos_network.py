"""Tests of the network of proxies in the chaos tests, and of the faults of a campaign.

A campaign is one run of the chaos tests.
"""

from __future__ import annotations

import gc
import random
import socket
from itertools import islice
from types import SimpleNamespace
from typing import Any

from tests.chaos.campaign import fault_sequence
from tests.chaos.network import Network


def test_a_network_closes_its_connections_and_its_loop() -> None:
    """When the `Network` context ends, it must close the client's and the node's connection.

    This must hold for each fault of the proxy.
    """
    cases: list[str | None] = [None, "drop", "mute", "slow"]
    for fault in cases:
        with socket.create_server(("127.0.0.1", 0)) as node:
            with Network(["127.0.0.1"], node.getsockname()[1]) as network:
                network.set_fault(0, fault)
                address = ("127.0.0.1", network.proxies[0].port)
                client = socket.create_connection(address, timeout=10)
                accepted, _ = node.accept()
                accepted.settimeout(10)
                client.sendall(b"x")
            for connection in (client, accepted):
                with connection:
                    try:
                        while connection.recv(1):
                            # Read until the network closes the other side.
                            pass
                    except ConnectionResetError:
                        pass
        del network
        # If a loop or a socket is still open, it warns here, and pytest turns warnings into errors.
        gc.collect()


def test_a_node_that_joins_gets_a_proxy() -> None:
    """`endpoint_factory` must replace the node's address in a row by the address of its proxy.

    If the node has no proxy yet, the factory must start one.
    """
    with socket.create_server(("127.0.0.1", 0)) as node:
        with Network(["127.0.0.1"], node.getsockname()[1]) as network:
            known_node = network.endpoint_factory.create({"rpc_address": "127.0.0.1"})
            assert known_node.port == network.proxies[0].port
            # The network was created with one port, and uses it for every node. So the row of a new
            # node needs no port.
            new_node = network.endpoint_factory.create({"native_address": "127.0.0.2"})
            assert new_node.port == network.proxies[1].port
            same_node = network.endpoint_factory.create({"rpc_address": "127.0.0.2"})
            assert same_node.port == new_node.port
            assert len(network.contact_points) == 2
        assert [proxy.target for proxy in network.proxies] == [
            ("127.0.0.1", node.getsockname()[1]),
            ("127.0.0.2", node.getsockname()[1]),
        ]
    del network
    gc.collect()


class Nodes:
    """A fake cluster of three nodes that records the calls of a campaign."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, int]] = []
        self.number = 3

    def add_node(self) -> SimpleNamespace:
        self.number += 1
        self.calls.append(("joins", self.number))
        return SimpleNamespace(number=self.number)

    def __getattr__(self, name: str) -> Any:
        return lambda number: self.calls.append((name, number))


def test_120_rounds_of_a_campaign_have_each_fault() -> None:
    """A campaign must have each quick fault and both slow faults.

    The slow faults are a rolling restart, and a node that joins and leaves.
    """
    nodes: Any = Nodes()
    short_faults = {"drop", "deaf", "mute", "slow", "refuse", "reset", "pause", "kill"}
    with socket.create_server(("127.0.0.1", 0)) as node:
        addresses = [f"127.0.0.{number}" for number in (1, 2, 3)]
        with Network(addresses, node.getsockname()[1]) as network:
            # Each round is (name of the fault, function that begins it, function that ends it).
            faults = [*islice(fault_sequence(nodes, network, random.Random(1)), 120)]
            for name, begin, end in faults:
                # Begin and end only the slow faults. The names of the quick faults contain "node"
                # and the number of their node.
                if "node" not in name or "joins" in name:
                    begin()
                    end()
    names = [name for name, _, _ in faults]
    # "rolling" and "a" are the first words of the two slow faults.
    assert {name.split()[0] for name in names} == {*short_faults, "rolling", "a"}
    # The first slow fault, a rolling restart, must come after three quick faults.
    assert names.index("rolling restart") == 3
    assert nodes.calls[:5] == [
        ("restart", 1), ("restart", 2), ("restart", 3), ("joins", 4), ("decommission", 4),
    ]  # fmt: skip
    del network
    gc.collect()
