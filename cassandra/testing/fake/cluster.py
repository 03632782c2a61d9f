"""`FakeCluster`: several fake nodes that list each other in their system tables.

The nodes have the addresses 127.0.z.1, .2, .3 ... and share one port.
"""

from __future__ import annotations

import random
import sys
import uuid
from collections.abc import Callable, Mapping
from types import NoneType
from typing import Any

from cassandra.testing.fake.answers import Answerable, Prepared
from cassandra.testing.fake.looping import NodeThread
from cassandra.testing.fake.node import FakeNode
from cassandra.testing.fake.requests import Request
from cassandra.testing.fake.script import Match, Prime
from cassandra.testing.fake.scylla import Scylla
from cassandra.testing.fake.scylla_node import ScyllaNode

_TRIES = 50  # how many values of z to try
_RING = 1 << 64  # the number of tokens
_PORT = 9042  # the port of nodes in a simulation, which have no sockets


class FakeCluster:
    """Several fake nodes. Use it as a context manager.

    `cluster[0]` is the first node. Tokens are spread evenly over the ring.

    :param nodes: the number of nodes, or a mapping from data centre to number of nodes.
    :param racks: the number of racks in each data centre. Nodes are assigned to racks in turn.
    :param scylla: if not None, the nodes are ScyllaDB nodes. A number means
        ``Scylla(shards=number)``.
    :param node_class: called to create each node. None means `FakeNode` or `ScyllaNode`.
    :param thread: the thread that runs all nodes, for example
        `cassandra.testing.simulation.SimulatedThread`. None creates a thread.
    :param settings: keyword arguments for each `FakeNode`.
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
        if not isinstance(nodes, (int, Mapping)):
            raise TypeError(
                "nodes is a number, or a mapping from data centre to number such as "
                f"{{'dc1': 2, 'dc2': 1}}, not {nodes!r} ({type(nodes).__name__})"
            )
        if not isinstance(scylla, (int, Scylla, NoneType)):
            raise TypeError(
                f"scylla is a number of shards or Scylla(...), not {scylla!r} "
                f"({type(scylla).__name__})"
            )
        datacenters = {"datacenter1": nodes} if isinstance(nodes, int) else dict(nodes)
        for datacenter, count in datacenters.items():
            if not isinstance(count, int):
                raise TypeError(
                    f"the number of nodes in data centre {datacenter!r} is an int, "
                    f"not {count!r} ({type(count).__name__})"
                )
        self._locations = [
            (datacenter, f"rack{number % racks + 1}")
            for datacenter, count in datacenters.items()
            for number in range(count)
        ]
        self._racks = racks
        self._scylla = Scylla(scylla) if isinstance(scylla, int) else scylla
        self._settings = settings
        self._shared_thread = thread
        self._node_class = node_class
        self._thread: NodeThread | None = None
        self._prefix = ""  # of all nodes' addresses, such as "127.0.100."
        # How many nodes were created since the start, including nodes that were removed later. The
        # newest node has this number as last octet of its address.
        self._created_count = 0
        # The arguments of all calls of `prime` and `prime_prepare`: they are repeated for nodes
        # that are added later. Each call of `prime` has its primes on the nodes, too.
        self._primes: list[tuple[Match, Answerable, list[Prime]]] = []
        self._statements: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []
        self.nodes: list[FakeNode] = []
        self._port = 0

    # -- start and stop ----------------------------------------------------------------------------

    def start(self) -> FakeCluster:
        """Start all nodes. A cluster that was stopped starts with new nodes."""
        if self._thread is not None:
            return self
        self._forget_nodes()
        self._thread = self._shared_thread or NodeThread("fake-cluster")
        try:
            if self._shared_thread is not None:
                self._start_all("10.0.0.", _PORT)
            else:
                self._find_addresses()
        except BaseException:
            self.stop()
            raise
        return self

    def _find_addresses(self) -> None:
        """Start all nodes on free addresses 127.0.z.*, with a port that is free on all of them."""
        last_error: OSError | None = None
        # Try values of z in random order, so that test processes that run at the same time rarely
        # collide.
        for third_octet in random.sample(range(100, 250), _TRIES):
            try:
                self._start_all(f"127.0.{third_octet}.", 0)
            except OSError as error:
                last_error = error
                # An address or the port is in use. Stop the nodes that were started, and try
                # another z.
                for node in self.nodes:
                    node.stop()
                self._forget_nodes()
            else:
                return
        raise OSError(
            f"no free loopback addresses were found for {len(self._locations)} nodes"
        ) from last_error

    def _forget_nodes(self) -> None:
        """Remove all nodes, which are stopped, from the cluster."""
        self.nodes = []
        if self._scylla is not None:
            self._scylla.nodes.clear()

    def _start_all(self, prefix: str, port: int) -> None:
        self._prefix, self._port, self._created_count = prefix, port, 0
        for index, (datacenter, rack) in enumerate(self._locations):
            token = index * _RING // len(self._locations) - _RING // 2
            self._start_new(datacenter, rack, token)

    def _start_new(self, datacenter: str, rack: str, token: int) -> FakeNode:
        """Start a node with the cluster's primes, and add it to the other nodes' system.peers."""
        self._created_count += 1
        settings: dict[str, Any] = {
            "datacenter": datacenter,
            "rack": rack,
            "tokens": (str(token),),
            # The nodes have the same ids in each run, so that the output of tests can be compared.
            "host_id": uuid.UUID(int=self._created_count),
            "thread": self._thread,
            **self._settings,
        }
        address = f"{self._prefix}{self._created_count}"
        if self._scylla is not None:
            settings["scylla"] = self._scylla
        make_node = self._node_class or (FakeNode if self._scylla is None else ScyllaNode)
        node = make_node(address, self._port, **settings)
        node.start()
        self._port = node.port
        for query, args, options in self._statements:
            node.prime_prepare(query, *args, **options)
        for match, answer, primes in self._primes:
            # The test may have removed the prime from the other nodes in the meantime.
            if not primes or any(prime.is_active for prime in primes):
                primes.append(node.prime(match, answer))
        # Create a new list, because the test's thread may be iterating over the old list.
        self.nodes = [*self.nodes, node]
        self._introduce()
        return node

    def _introduce(self) -> None:
        """Add all other nodes to the system.peers of each node."""
        for node in self.nodes:
            node.peers = [other for other in self.nodes if other is not node]

    def stop(self) -> None:
        """Stop all nodes, and wait until they have stopped.

        :raises BaseException: if a function for an answer or a match has failed (`failures`), as
            `FakeNode.stop` does.
        """
        self._end(sys.exc_info()[1])

    def _end(self, error: BaseException | None) -> None:
        """Stop all nodes, and raise an exception in `failures`.

        :param error: an exception that is being handled, which must not be hidden.
        """
        failure: BaseException | None = None
        for node in self.nodes:
            try:
                node._end(error)
            except BaseException as fault:
                failure = failure or fault
        if self._thread is not None:
            self._thread.stop()
            self._thread = None
        if failure is not None:
            raise failure

    def __enter__(self) -> FakeCluster:
        return self.start()

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        self._end(error)

    async def __aenter__(self) -> FakeCluster:
        return self.start()

    async def __aexit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        self._end(error)

    # -- requests ----------------------------------------------------------------------------------

    def _check_started(self) -> None:
        if not self.nodes:
            raise RuntimeError(
                "this FakeCluster is not running: write `with FakeCluster(...) as cluster:`"
            )

    @property
    def port(self) -> int:
        """The port of all nodes.

        :raises RuntimeError: if the cluster was not started yet.
        """
        self._check_started()
        return self._port

    @property
    def contact_points(self) -> list[str]:
        """The IP addresses of the nodes.

        :raises RuntimeError: if the cluster was not started yet.
        """
        self._check_started()
        return [node.address for node in self.nodes]

    @property
    def scylla(self) -> Scylla:
        """The state that the nodes of a ScyllaDB cluster share.

        :raises TypeError: if the nodes are Cassandra nodes.
        """
        if self._scylla is None:
            raise TypeError("this cluster was made without scylla=")
        return self._scylla

    def __getitem__(self, index: int) -> FakeNode:
        return self.nodes[index]

    def __len__(self) -> int:
        return len(self.nodes)

    def node_at(self, address: str) -> FakeNode:
        """Return the node with the address `address`.

        :param address: the address as a string.
        :raises KeyError: if there is no such node.
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
        """Return the QUERY, EXECUTE and BATCH requests of all nodes; see `FakeNode.queries`.

        :param text: only requests with this CQL; None for all.
        """
        return sorted(
            (request for node in self.nodes for request in node.queries(text)), key=_number
        )

    @property
    def failures(self) -> list[BaseException]:
        """The exceptions of functions for answers and matches on all nodes: `FakeNode.failures`."""
        return [failure for node in self.nodes for failure in node.failures]

    # -- scripts -----------------------------------------------------------------------------------

    def prime(self, match: Match, answer: Answerable, times: int | None = None) -> list[Prime]:
        """Call `FakeNode.prime` on each node. Each node counts `times` separately.

        If `times` is None, the prime also applies to nodes that are added later.

        :param match: which requests to answer, as in `FakeNode.prime`.
        :param answer: the scripted response, as in `FakeNode.prime`.
        :param times: how many requests the prime answers on each node; None for all requests.
        """
        primes = [node.prime(match, answer, times) for node in self.nodes]
        if times is None:
            self._primes.append((match, answer, list(primes)))
        return primes

    def prime_prepare(self, query: str, *args: Any, **options: Any) -> list[Prepared]:
        """Call `FakeNode.prime_prepare` on each node, and on nodes that are added later.

        :param query: the CQL of the statement, as in `FakeNode.prime_prepare`.
        :param args: further positional arguments of `FakeNode.prime_prepare`.
        :param options: keyword arguments of `FakeNode.prime_prepare`.
        """
        self._statements.append((query, args, options))
        return [node.prime_prepare(query, *args, **options) for node in self.nodes]

    # -- topology ----------------------------------------------------------------------------------

    def tell(self, event_type: str, change: str, about: FakeNode) -> None:
        """Make all nodes except `about` send an event: ``tell("STATUS_CHANGE", "UP", node)``.

        :param event_type: the type of the event.
        :param change: the kind of change.
        :param about: the node that has changed, whose address is in the event.
        """
        for node in self.nodes:
            if node is not about and node.is_running:
                node.send_event(event_type, change, about.address, about.port)

    def add_node(
        self, datacenter: str | None = None, rack: str = "rack1", token: int | None = None
    ) -> FakeNode:
        """Add a new node. The other nodes send NEW_NODE and UP.

        :param datacenter: the node's data centre; None for the data centre of the first node.
        :param rack: the node's rack.
        :param token: the node's token; None for the smallest positive token that no node owns.
        """
        if token is None:
            used_tokens = {int(node.tokens[0]) for node in self.nodes}
            token = next(number for number in range(1, 1 << 20) if number not in used_tokens)
        node = self._start_new(datacenter or self.nodes[0].datacenter, rack, token)
        self.tell("TOPOLOGY_CHANGE", "NEW_NODE", node)
        self.tell("STATUS_CHANGE", "UP", node)
        return node

    def remove_node(self, node: FakeNode) -> None:
        """Stop a node and remove it from the cluster. The other nodes send REMOVED_NODE.

        :param node: a node of this cluster.
        :raises TypeError: if `node` is not a node.
        """
        _check_node("remove_node", node)
        try:
            node.stop()
        finally:
            self.nodes = [other for other in self.nodes if other is not node]
            if isinstance(node, ScyllaNode):
                self.scylla.nodes.remove(node)
            self._introduce()
            self.tell("TOPOLOGY_CHANGE", "REMOVED_NODE", node)

    def stop_node(self, node: FakeNode, tell: bool = True) -> None:
        """Stop a node, so that its port refuses connections.

        :param node: a node of this cluster.
        :param tell: True makes the other nodes send the event DOWN; False stops the node silently.
        :raises TypeError: if `node` is not a node.
        """
        _check_node("stop_node", node)
        try:
            node.stop()
        finally:
            if tell:
                self.tell("STATUS_CHANGE", "DOWN", node)

    def start_node(self, node: FakeNode, tell: bool = True) -> None:
        """Start a stopped node again.

        :param node: a node of this cluster.
        :param tell: True makes the other nodes send the event UP; False starts the node silently.
        :raises TypeError: if `node` is not a node.
        """
        _check_node("start_node", node)
        node.start()
        if tell:
            self.tell("STATUS_CHANGE", "UP", node)

    def __repr__(self) -> str:
        return f"<FakeCluster {', '.join(node.endpoint for node in self.nodes)}>"


def _check_node(method: str, node: object) -> None:
    if not isinstance(node, FakeNode):
        raise TypeError(
            f"{method} takes a node, such as cluster[0], not {node!r} ({type(node).__name__})"
        )


def _number(request: Request) -> int:
    return request.number


FakeCluster.__module__ = "cassandra.testing"
