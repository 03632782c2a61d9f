"""`FakeCluster`: several fake nodes that know of each other.

They have the addresses 127.0.z.1, .2, .3 ... and one port.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from cassandra.testing.fake.answers import Answerable
from cassandra.testing.fake.looping import NodeThread
from cassandra.testing.fake.node import FakeNode
from cassandra.testing.fake.requests import Request
from cassandra.testing.fake.script import Match, Prime
from cassandra.testing.fake.scylla import Scylla
from cassandra.testing.fake.scylla_node import ScyllaNode

__all__ = ["FakeCluster"]

_TRIES = 50
_RING = 1 << 64
_PORT = 9042  # of nodes without sockets


class FakeCluster:
    """Several fake nodes. Use it as a context manager.

    `cluster[0]` is the first node. Tokens are spread evenly over the ring.

    :param nodes: how many, or how many in each data centre of a mapping.
    :param racks: how many racks each data centre has. Nodes are dealt to them in turn.
    :param scylla: makes them nodes of ScyllaDB; a number stands for ``Scylla(shards=number)``.
    :param node_class: makes the nodes, as `FakeNode` or `ScyllaNode` does, which it is by default.
    :param thread: what all nodes run on: `cassandra.testing.simulation.SimulatedThread`, say. None
        for a thread of their own.
    :param settings: keywords for each `FakeNode`.
    """

    def __init__(
        self,
        nodes: int | Mapping[str, int] = 3,
        racks: int = 1,
        scylla: Scylla | int | None = None,
        *,
        thread: NodeThread | None = None,
        node_class: Callable[..., FakeNode] | None = None,
        **settings: Any,
    ) -> None:
        datacenters = {"datacenter1": nodes} if isinstance(nodes, int) else dict(nodes)
        self._places = [
            (datacenter, f"rack{number % racks + 1}")
            for datacenter, count in datacenters.items()
            for number in range(count)
        ]
        self._racks = racks
        self._scylla = Scylla(scylla) if isinstance(scylla, int) else scylla
        self._settings = settings
        self._own_thread = thread
        self._node_class = node_class
        self._thread: NodeThread | None = None
        self._prefix = ""
        self._numbered = 0
        self._primes: list[tuple[Match, Answerable]] = []
        self.nodes: list[FakeNode] = []
        self.port = 0

    # -- life --------------------------------------------------------------------------------------

    def start(self) -> FakeCluster:
        """Start all nodes."""
        if self._thread is not None:
            return self
        self._thread = self._own_thread or NodeThread("fake-cluster")
        try:
            if self._own_thread is not None:
                self._start_all("10.0.0.", _PORT)
            else:
                self._find_addresses()
        except BaseException:
            self.stop()
            raise
        return self

    def _find_addresses(self) -> None:
        """Take a third byte of addresses, and a port, that are free for all nodes."""
        fault: OSError | None = None
        # At random, so that test processes that run side by side seldom meet.
        for third in random.sample(range(100, 250), _TRIES):
            try:
                self._start_all(f"127.0.{third}.", 0)
            except OSError as error:
                fault = error
                # Another test on this machine has one of them: start over with another byte.
                for node in self.nodes:
                    node.stop()
                self.nodes = []
                if self._scylla is not None:
                    self._scylla.nodes.clear()
            else:
                return
        raise OSError(
            f"no free loopback addresses were found for {len(self._places)} nodes"
        ) from fault

    def _start_all(self, prefix: str, port: int) -> None:
        self._prefix, self.port, self._numbered = prefix, port, 0
        for place, (datacenter, rack) in enumerate(self._places):
            token = place * _RING // len(self._places) - _RING // 2
            self._start_new(datacenter, rack, token)

    def _start_new(self, datacenter: str, rack: str, token: int) -> FakeNode:
        self._numbered += 1
        settings: dict[str, Any] = {
            "datacenter": datacenter,
            "rack": rack,
            "tokens": (str(token),),
            # Predictable ids, so that a test that fails prints the same ones each time.
            "host_id": uuid.UUID(int=self._numbered),
            "thread": self._thread,
            **self._settings,
        }
        address = f"{self._prefix}{self._numbered}"
        if self._scylla is not None:
            settings["scylla"] = self._scylla
        make = self._node_class or (FakeNode if self._scylla is None else ScyllaNode)
        node = make(address, self.port, **settings)
        node.start()
        self.port = node.port
        for match, answer in self._primes:
            node.prime(match, answer)
        # A new list: the test's thread may walk over the old one.
        self.nodes = [*self.nodes, node]
        self._introduce()
        return node

    def _introduce(self) -> None:
        for node in self.nodes:
            node.peers = [other for other in self.nodes if other is not node]

    def stop(self) -> None:
        """Stop all nodes, and wait until it is done."""
        for node in self.nodes:
            node.stop()
        if self._thread is not None:
            self._thread.stop()
            self._thread = None

    def __enter__(self) -> FakeCluster:
        return self.start()

    def __exit__(self, *args: object) -> None:
        self.stop()

    async def __aenter__(self) -> FakeCluster:
        return self.start()

    async def __aexit__(self, *args: object) -> None:
        self.stop()

    # -- what happened -----------------------------------------------------------------------------

    @property
    def contact_points(self) -> list[str]:
        """The addresses of the nodes."""
        return [node.address for node in self.nodes]

    @property
    def scylla(self) -> Scylla:
        """The common state of the nodes as a ScyllaDB cluster.

        :raises TypeError: if they are nodes of Cassandra.
        """
        if self._scylla is None:
            raise TypeError("this cluster was made without scylla=")
        return self._scylla

    def __getitem__(self, place: int) -> FakeNode:
        return self.nodes[place]

    def __len__(self) -> int:
        return len(self.nodes)

    def node_at(self, address: str) -> FakeNode:
        """Return the node with that address.

        :param address: the address, a text.
        :raises KeyError: if there is none.
        """
        for node in self.nodes:
            if node.address == address:
                return node
        raise KeyError(address)

    @property
    def requests(self) -> list[Request]:
        """The requests of all nodes, in the order of their arrival."""
        return sorted((request for node in self.nodes for request in node.requests), key=_number)

    def queries(self, text: str | None = None) -> list[Request]:
        """Return `FakeNode.queries` of all nodes, in the order of their arrival.

        :param text: only those with this text; None for all.
        """
        return sorted(
            (request for node in self.nodes for request in node.queries(text)), key=_number
        )

    # -- scripts -----------------------------------------------------------------------------------

    def prime(self, match: Match, answer: Answerable, times: int | None = None) -> list[Prime]:
        """Call `FakeNode.prime` on each node; `times` counts on each by itself.

        Without `times` it holds for nodes that are added later, too.

        :param match: as in `FakeNode.prime`.
        :param answer: as in `FakeNode.prime`.
        :param times: how often it holds on each node; None for always.
        """
        if times is None:
            self._primes.append((match, answer))
        return [node.prime(match, answer, times) for node in self.nodes]

    # -- topology ----------------------------------------------------------------------------------

    def tell(self, event_type: str, change: str, about: FakeNode) -> None:
        """Have the other nodes send an event, such as ``("STATUS_CHANGE", "UP", node)``.

        :param event_type: its name.
        :param change: the kind of change.
        :param about: the node that it has happened to.
        """
        for node in self.nodes:
            if node is not about and node.is_running:
                node.send_event(event_type, change, about.address, about.port)

    def add_node(
        self, datacenter: str | None = None, rack: str = "rack1", token: int | None = None
    ) -> FakeNode:
        """Have a new node join: the others send NEW_NODE and UP.

        :param datacenter: its data centre; None for that of the first node.
        :param rack: its rack.
        :param token: its token; None for the least positive one that no node has.
        """
        taken = {int(node.tokens[0]) for node in self.nodes}
        chosen = (
            token
            if token is not None
            else next(number for number in range(1, 1 << 20) if number not in taken)
        )
        node = self._start_new(datacenter or self.nodes[0].datacenter, rack, chosen)
        self.tell("TOPOLOGY_CHANGE", "NEW_NODE", node)
        self.tell("STATUS_CHANGE", "UP", node)
        return node

    def remove_node(self, node: FakeNode) -> None:
        """Have a node leave for good: it stops, and the others send REMOVED_NODE.

        :param node: a node of this cluster.
        """
        node.stop()
        self.nodes = [other for other in self.nodes if other is not node]
        if isinstance(node, ScyllaNode):
            self.scylla.nodes.remove(node)
        self._introduce()
        self.tell("TOPOLOGY_CHANGE", "REMOVED_NODE", node)

    def stop_node(self, node: FakeNode, tell: bool = True) -> None:
        """Stop a node, so that its port refuses connections.

        :param node: a node of this cluster.
        :param tell: False if the others are not to send DOWN.
        """
        node.stop()
        if tell:
            self.tell("STATUS_CHANGE", "DOWN", node)

    def start_node(self, node: FakeNode, tell: bool = True) -> None:
        """Start a stopped node again.

        :param node: a node of this cluster.
        :param tell: False if the others are not to send UP.
        """
        node.start()
        if tell:
            self.tell("STATUS_CHANGE", "UP", node)

    def __repr__(self) -> str:
        return f"<FakeCluster {', '.join(node.endpoint for node in self.nodes)}>"


def _number(request: Request) -> int:
    return request.number


FakeCluster.__module__ = "cassandra.testing"
