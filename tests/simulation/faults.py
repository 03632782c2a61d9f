"""The faults of a simulation: a method ``do_X`` for each kind of fault ``X`` in `plan.FAULTS`.

Each method begins its fault, waits for the seconds of its event, and ends the fault.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cassandra.testing.fake import Answer, ErrorCode, delay, dribble, error, half_frame
from cassandra.testing.fake.primitives import Opcode
from cassandra.testing.simulation import SimulatedLoop
from cassandra.testing.simulation.network import CLIENT
from tests.simulation.plan import PlannedEvent
from tests.simulation.store import ALREADY_RECORDED
from tests.simulation.typed_table import KEYSPACE, NAME

if TYPE_CHECKING:
    from cassandra.testing.fake.requests import Request
    from tests.simulation.life import Simulation

# Errors that a server may send, with their fields. The third item, the scope, says which requests
# get the error, and what the store records for them:
# - "unclear": any request; the node may have executed it.
# - "refused": any request; the node has not executed it.
# - "read", "write", "batch": only reads, writes without a batch, or batches; the node may have
#   executed them.
# - "batch log": batches; the node has not executed them, because it could not write its batch log.
_ERRORS: list[tuple[int, dict[str, Any], str]] = [
    (ErrorCode.OVERLOADED, {}, "unclear"),
    (ErrorCode.IS_BOOTSTRAPPING, {}, "unclear"),
    (ErrorCode.SERVER_ERROR, {}, "unclear"),
    (ErrorCode.TRUNCATE_ERROR, {}, "unclear"),
    (ErrorCode.UNAVAILABLE, {"required": 2, "alive": 1}, "refused"),
    (ErrorCode.READ_TIMEOUT, {"received": 1, "blockfor": 1, "data_present": False}, "read"),
    (ErrorCode.READ_TIMEOUT, {"received": 1, "blockfor": 2, "data_present": True}, "read"),
    (ErrorCode.WRITE_TIMEOUT, {"received": 0, "blockfor": 1, "write_type": "SIMPLE"}, "write"),
    (ErrorCode.WRITE_TIMEOUT, {"received": 1, "blockfor": 2, "write_type": "COUNTER"}, "write"),
    (
        ErrorCode.WRITE_TIMEOUT,
        {"received": 0, "blockfor": 1, "write_type": "UNLOGGED_BATCH"},
        "batch",
    ),
    (
        ErrorCode.WRITE_TIMEOUT,
        {"received": 0, "blockfor": 1, "write_type": "BATCH_LOG"},
        "batch log",
    ),
    (ErrorCode.READ_FAILURE, {}, "read"),
    (ErrorCode.WRITE_FAILURE, {}, "write"),
    (ErrorCode.INVALID, {}, "refused"),
    (ErrorCode.UNAUTHORIZED, {}, "refused"),
    (ErrorCode.SYNTAX_ERROR, {}, "refused"),
]


class Faults:
    """Starts and ends the faults of a simulation."""

    def __init__(self, simulation: Simulation) -> None:
        self.simulation = simulation
        self.tasks: list[asyncio.Task[None]] = []
        self._down: set[str] = set()  # addresses of nodes that a fault has stopped
        self.lingering: list[Any] = []  # nodes that were removed, and go on answering
        # True after `do_move`; at most one node moves in a simulation
        self._has_moved = False

    def start(self, event: PlannedEvent) -> None:
        """Begin a fault in a task, which ends the fault after its seconds."""
        self.simulation.log(f"fault {event.kind} {event.target_index} for {event.seconds}")
        self.tasks.append(asyncio.ensure_future(getattr(self, f"do_{event.kind}")(event)))

    def node(self, event: PlannedEvent) -> Any:
        """Return the node that an event selects by its `target_index`."""
        nodes = self.simulation.fake.nodes
        return nodes[event.target_index % len(nodes)]

    def heal(self) -> None:
        """End all faults that still last, and announce that all nodes are up."""
        simulation = self.simulation
        for task in self.tasks:
            if task.done() and not task.cancelled() and (error := task.exception()) is not None:
                simulation.report_violation(f"a fault could not be made: {error!r}")
            task.cancel()
        simulation.network.mend_all()
        nodes: list[Any] = simulation.fake.nodes
        for node in nodes:
            simulation.network.regain_power(node.address)
            node.troubles.clear()
            node.lag = node.use_lag = node.prepare_lag = 0.0
            node.start()  # does nothing if the node is running
            node.accept_connections()
            node.start_reading()
            node.peers = [other for other in simulation.fake.nodes if other is not node]
            # Silent connections stay silent, because the driver's heartbeats have to detect them.
            # But requests without a timeout would wait for a withheld response until their
            # connection is closed. So close the connections that have withheld responses.
            if simulation.plan.settings["request_timeout"] is None:
                for connection in node.withholding:
                    connection.end(reset=True)
            node.withholding.clear()
        if simulation.store.gossip is not None:
            simulation.store.gossip.end()
        if simulation.store.changing is not None:
            simulation.store.changing.end()
        self.tell("STATUS_CHANGE", "UP")

    def tell(self, event_type: str, change: str) -> None:
        """Let the nodes send an event about each node to the clients.

        :param event_type: the type of the event, such as "STATUS_CHANGE".
        :param change: the change that the event reports, such as "UP".
        """
        for node in self.simulation.fake.nodes:
            self.simulation.fake.tell(event_type, change, node)

    # -- connections -------------------------------------------------------------------------------

    async def do_refuse(self, event: PlannedEvent) -> None:
        """Let a node refuse new connections, but serve its open connections."""
        node = self.node(event)
        if node.is_running:
            node.refuse_connections()
            await asyncio.sleep(event.seconds)
            if node.is_running:
                node.accept_connections()

    async def do_hang(self, event: PlannedEvent) -> None:
        """Let a node accept new connections, but never respond on them."""
        node = self.node(event)
        node.accept_but_hang()
        await asyncio.sleep(event.seconds)
        node._hanging = False

    async def do_drop_syns(self, event: PlannedEvent) -> None:
        """Drop the first packets of new connections to a node, so that connecting times out."""
        node = self.node(event)
        self.simulation.network.drop_syns(node.address)
        await asyncio.sleep(event.seconds)
        self.simulation.network.accept_syns(node.address)

    async def do_reset_one(self, event: PlannedEvent) -> None:
        """Reset one connection of a node (RST)."""
        connections = self.node(event).connections
        if connections:
            connections[event.parameter % len(connections)].end(reset=True)

    async def do_reset_all(self, event: PlannedEvent) -> None:
        """Reset all connections of a node (RST)."""
        self.node(event)._drop(reset=True)

    async def do_fin_all(self, event: PlannedEvent) -> None:
        """Close all connections of a node (FIN)."""
        self.node(event)._drop(reset=False)

    async def do_silence(self, event: PlannedEvent) -> None:
        """Let a node respond to nothing more on one of its connections."""
        connections = self.node(event).connections
        if connections:
            connections[event.parameter % len(connections)].hang()

    async def do_slow_reader(self, event: PlannedEvent) -> None:
        """Let a node stop reading, so that the clients' send buffers fill."""
        node = self.node(event)
        node._reading = False
        node._apply_reading()
        await asyncio.sleep(event.seconds)
        node._reading = True
        node._apply_reading()

    # -- paths -------------------------------------------------------------------------------------

    async def _cut(self, event: PlannedEvent, directions: str) -> None:
        """Block the network between the clients and a node for the seconds of the event.

        :param directions: "in" blocks what clients send to the node, "out" what the node sends.
        """
        network, address = self.simulation.network, self.node(event).address
        if "in" in directions:
            network.cut(CLIENT, address, both_ways=False)
        if "out" in directions:
            network.cut(address, CLIENT, both_ways=False)
        await asyncio.sleep(event.seconds)
        network.mend(CLIENT, address)

    async def do_partition(self, event: PlannedEvent) -> None:
        """Block both directions between the clients and a node."""
        await self._cut(event, "in and out")

    async def do_partition_in(self, event: PlannedEvent) -> None:
        """Block what the clients send to a node."""
        await self._cut(event, "in")

    async def do_partition_out(self, event: PlannedEvent) -> None:
        """Block what a node sends to the clients."""
        await self._cut(event, "out")

    # -- nodes -------------------------------------------------------------------------------------

    def _restart(self, node: Any) -> None:
        """Start a stopped node, unless it has left the cluster."""
        if node in self.simulation.fake.nodes:
            node.start()

    def _announce_up(self, node: Any, event: PlannedEvent) -> None:
        """Announce that a node is up, unless the event's parameter is divisible by three.

        Without the announcement, clients have to detect by themselves that the node is up.
        """
        if event.parameter % 3:
            self.simulation.fake.tell("STATUS_CHANGE", "UP", node)

    async def do_crash(self, event: PlannedEvent) -> None:
        """Stop a node, and start it again after the seconds of the event."""
        node = self.node(event)
        if node.address in self._down:
            return
        self._down.add(node.address)
        try:
            node.stop()
            if event.parameter % 2:
                self.simulation.fake.tell("STATUS_CHANGE", "DOWN", node)
            await asyncio.sleep(event.seconds)
        finally:
            self._down.discard(node.address)
            self._restart(node)
        self._announce_up(node, event)

    async def do_power(self, event: PlannedEvent) -> None:
        """Turn off the power of a node's host.

        The node's connections are not closed: clients just receive nothing more.
        """
        node = self.node(event)
        if node.address in self._down:
            return
        self._down.add(node.address)
        network = self.simulation.network
        network.lose_power(node.address)
        try:
            # Let the loop run once before the node stops. Its connections then end without a FIN or
            # RST, because the host has no power.
            await asyncio.sleep(0)
            node.stop()
            await asyncio.sleep(event.seconds)
        finally:
            self._down.discard(node.address)
            network.regain_power(node.address)
            self._restart(node)
        self._announce_up(node, event)

    async def do_rolling(self, event: PlannedEvent) -> None:
        """Stop and start all nodes, one after the other."""
        for number in range(len(self.simulation.fake.nodes)):
            await self.do_crash(replace(event, target_index=number, seconds=event.seconds / 4))

    async def do_drain(self, event: PlannedEvent) -> None:
        """Announce that a node will stop (GRACEFUL_DISCONNECT of CEP-59), and stop the node.

        If the event's parameter is divisible by five, the node keeps running after the
        announcement.
        """
        node = self.node(event)
        graceful = self.simulation.plan.settings.get("graceful")
        if not graceful or node.address in self._down or not node.is_running:
            return
        self._down.add(node.address)
        try:
            node.say_drain()
            await asyncio.sleep(event.seconds)
            if event.parameter % 5:
                node._drop(reset=False)  # close the connections now, not after the grace period
                node.stop()
                await asyncio.sleep(event.seconds / 2)
        finally:
            self._down.discard(node.address)
            if node in self.simulation.fake.nodes and node.is_running:
                # `say_drain` has made the node refuse connections.
                node.accept_connections()
            self._restart(node)  # does nothing if the node kept running
        self._announce_up(node, event)

    async def do_rolling_drain(self, event: PlannedEvent) -> None:
        """Drain all nodes, one after the other (see `do_drain`)."""
        for number in range(len(self.simulation.fake.nodes)):
            await self.do_drain(replace(event, target_index=number, seconds=event.seconds / 4))

    async def do_forget(self, event: PlannedEvent) -> None:
        """Let one node or all nodes forget their prepared statements."""
        nodes = self.simulation.fake.nodes if event.parameter % 2 else [self.node(event)]
        for node in nodes:
            node.forget_prepared()

    async def do_leave(self, event: PlannedEvent) -> None:
        """Remove a node from the cluster, and add it again, perhaps with another host id."""
        node, fake = self.node(event), self.simulation.fake
        if (
            len(fake.nodes) < 2
            or node.address in self._down
            or self.simulation.plan.settings["scylla"]
        ):
            return
        self._down.add(node.address)
        fake.remove_node(node)
        try:
            await asyncio.sleep(event.seconds)
        finally:
            self._down.discard(node.address)
            if event.parameter % 2:
                node.host_id = uuid.UUID(int=1000 + event.parameter)
            node.start()
            fake.nodes = [*fake.nodes, node]
            fake._introduce()
        fake.tell("TOPOLOGY_CHANGE", "NEW_NODE", node)
        fake.tell("STATUS_CHANGE", "UP", node)

    async def do_linger(self, event: PlannedEvent) -> None:
        """Remove a node that goes on answering, and names its former peers, or only itself.

        It answers from the moment on at which all clients know that it was removed. Nobody could
        tell a client whose control connection is at the node that it is not a member any more.
        """
        node, fake = self.node(event), self.simulation.fake
        if len(fake.nodes) < 2 or self._down or self.simulation.plan.settings["windows"] < 0:
            return
        fake.remove_node(node)
        if event.parameter % 2:
            node.peers = []
        for _ in range(100):
            users = self.simulation.clients.users
            if all(user.cluster.metadata.get_host(node.address) is None for user in users):
                self.lingering.append(node)
                node.start()
                return
            await asyncio.sleep(0.1)

    async def _restart_changed(
        self, nodes: list[Any], event: PlannedEvent, change: Callable[[], None]
    ) -> None:
        """Stop the nodes, change them, and start them again.

        Afterwards the other nodes send the events that Cassandra sends for such a change.

        :param change: changes the stopped nodes.
        """
        fake = self.simulation.fake
        if self._down.intersection(node.address for node in nodes):
            return
        if self.simulation.plan.settings["scylla"]:
            return  # the simulated ScyllaDB state has the nodes' addresses, and is not updated
        addresses = [node.address for node in nodes]
        self._down.update(addresses)
        previous_addresses = [(node, node.address) for node in nodes]
        for node in nodes:
            node.stop()
        try:
            await asyncio.sleep(event.seconds / 3)
        finally:
            self._down.difference_update(addresses)
            for node in nodes:
                node.stop()  # `heal` may have started the node while the fault waited
            if all(node in fake.nodes for node in nodes):
                change()
            for node in nodes:
                self._restart(node)
        for node, address in previous_addresses:
            # In two of three cases, announce the new address. Otherwise clients have to read it
            # from the system tables.
            if event.parameter % 3 and node.address != address:
                for other in fake.nodes:
                    if other is not node and other.is_running:
                        other.send_event("TOPOLOGY_CHANGE", "MOVED_NODE", address, node.port)
            fake.tell("TOPOLOGY_CHANGE", "NEW_NODE", node)
            fake.tell("STATUS_CHANGE", "UP", node)

    async def do_move(self, event: PlannedEvent) -> None:
        """Restart a node at another address."""
        node = self.node(event)
        # Only one node of at least three may move. If all nodes moved, the application would know
        # no address of the cluster any more.
        if len(self.simulation.fake.nodes) < 3 or self._down or self._has_moved:
            return
        self._has_moved = True

        def give_new_address() -> None:
            used_addresses = {other.address for other in self.simulation.fake.nodes}
            addresses = [f"10.0.0.{number}" for number in range(100 + event.parameter % 50, 250)]
            node.address = next(address for address in addresses if address not in used_addresses)

        await self._restart_changed([node], event, give_new_address)

    async def do_swap(self, event: PlannedEvent) -> None:
        """Restart two nodes, each at the address of the other."""
        nodes = self.simulation.fake.nodes
        if len(nodes) < 2:
            return
        node, other_node = self.node(event), nodes[(event.target_index + 1) % len(nodes)]

        def swap_addresses() -> None:
            node.address, other_node.address = other_node.address, node.address

        await self._restart_changed([node, other_node], event, swap_addresses)

    async def do_replace(self, event: PlannedEvent) -> None:
        """Restart a node with another host id and token, as if a new node had replaced the node."""
        node = self.node(event)

        def give_new_identity() -> None:
            node.host_id = uuid.UUID(int=5000 + event.parameter)
            node.tokens = (str(event.parameter * 7 + 1),)

        await self._restart_changed([node], event, give_new_identity)

    async def do_join(self, event: PlannedEvent) -> None:
        """Add a node, unless the cluster has five nodes already."""
        if len(self.simulation.fake.nodes) < 5:
            self.simulation.fake.add_node(token=event.parameter + 17)

    # -- events and rows ---------------------------------------------------------------------------

    async def do_event_down(self, event: PlannedEvent) -> None:
        """Announce that a node is down, although it may be running."""
        self.simulation.fake.tell("STATUS_CHANGE", "DOWN", self.node(event))

    async def do_event_up(self, event: PlannedEvent) -> None:
        """Announce that a node is up, although it may have stopped."""
        self.simulation.fake.tell("STATUS_CHANGE", "UP", self.node(event))

    async def do_event_both(self, event: PlannedEvent) -> None:
        """Send four events about a node, alternately UP and DOWN."""
        node = self.node(event)
        for number in range(4):
            change = ("UP", "DOWN")[(number + event.parameter) % 2]
            self.simulation.fake.tell("STATUS_CHANGE", change, node)
            await asyncio.sleep(event.seconds / 10)

    async def do_event_doubled(self, event: PlannedEvent) -> None:
        """Announce three times that a node has joined, although it is in the cluster already."""
        for _ in range(3):
            self.simulation.fake.tell("TOPOLOGY_CHANGE", "NEW_NODE", self.node(event))

    async def do_event_schema(self, event: PlannedEvent) -> None:
        """Let all nodes announce a change of the table ``ka.w``."""
        for node in self.simulation.fake.nodes:
            if node.is_running:
                node.send_event("SCHEMA_CHANGE", "UPDATED", "TABLE", "ka", "w")

    async def _peers(
        self, event: PlannedEvent, change: Callable[[Any, list[Any]], list[Any]]
    ) -> None:
        """Change the rows in a node's ``system.peers`` for the seconds of the event.

        :param change: a function of the node and its peers that returns the new peers.
        """
        node = self.node(event)
        node.peers = change(node, list(node.peers))
        self.simulation.fake.tell("TOPOLOGY_CHANGE", "NEW_NODE", node)
        await asyncio.sleep(event.seconds)
        node.peers = [other for other in self.simulation.fake.nodes if other is not node]

    async def do_peers_nulls(self, event: PlannedEvent) -> None:
        """Add a row with nulls to the system.peers of a node."""

        class Ghost:
            """A row of ``system.peers`` that has only an address, as gossip may leave behind."""

            address, port = "10.0.0.77", 9042
            datacenter = rack = host_id = schema_version = release_version = None
            tokens = ()

        await self._peers(event, lambda node, peers: [*peers, Ghost()])

    async def do_peers_doubled(self, event: PlannedEvent) -> None:
        """Put each peer twice into the system.peers of a node, and the node itself once."""
        await self._peers(event, lambda node, peers: [*peers, *peers, node])

    async def do_peers_missing(self, event: PlannedEvent) -> None:
        """Leave one peer out of the system.peers of a node."""
        await self._peers(event, lambda node, peers: peers[1:])

    # -- answers -----------------------------------------------------------------------------------

    async def _trouble(self, event: PlannedEvent, count: int, answer: Callable[..., Any]) -> None:
        """Let `answer` decide the responses to a node's next requests, for the event's seconds.

        :param count: the number of requests to which `answer` applies.
        :param answer: a function of the node and a request. It returns the fate that the store
            records (see `store.Arrival`) and the node's response, or None to let the node respond
            as usual.
        """
        node = self.node(event)
        requests_left = count

        def trouble(request: Request) -> Any:
            """Respond with `answer` while requests are left; see `store.Trouble`."""
            nonlocal requests_left
            if requests_left <= 0:
                return None
            outcome = answer(node, request)
            if outcome is not None:
                requests_left -= 1
            return outcome

        node.troubles.append(trouble)
        await asyncio.sleep(event.seconds)
        if trouble in node.troubles:
            node.troubles.remove(trouble)

    async def do_errors(self, event: PlannedEvent) -> None:
        """Respond to some requests of a node with an error."""
        code, fields, scope = _ERRORS[event.parameter % len(_ERRORS)]

        def answer_with_error(node: Any, request: Request) -> tuple[str, Answer] | None:
            # The request has no queries if the node has forgotten its prepared statement.
            queries = request.queries
            is_read = bool(queries) and all(text.startswith("SELECT") for text in queries)
            is_batch = request.opcode == Opcode.BATCH
            # The error fits only some kinds of requests. The node responds to other requests as
            # usual.
            if scope == "read" and not is_read:
                return None
            if scope == "write" and (is_read or is_batch):
                return None
            if scope in ("batch", "batch log") and (is_read or not is_batch):
                return None
            if scope == "write" and fields.get("received"):
                # The error says that one replica has written, so a retry policy may ignore the
                # error, and the write counts as acknowledged. So the store has to execute the
                # write.
                node.answer_of(request, "unclear")
                return ALREADY_RECORDED, error(code, **fields)
            fate = "refused" if scope in ("refused", "batch log") else "unclear"
            return fate, error(code, **fields)

        count = 1 + event.target_index % 8
        await self._trouble(event, count, self._if_accepted(answer_with_error))

    async def do_withhold(self, event: PlannedEvent) -> None:
        """Withhold the responses to some requests of a node.

        If the event's parameter is odd, the node still executes these requests.
        """

        def leave_unanswered(node: Any, request: Request) -> tuple[str, None]:
            if request.connection not in node.withholding:
                node.withholding.append(request.connection)
            if event.parameter % 2:
                # This executes the request and records its fate.
                node.answer_of(request, "unclear")
                return ALREADY_RECORDED, None
            return "unclear", None

        count = 1 + event.parameter % 20
        await self._trouble(event, count, self._if_accepted(leave_unanswered))

    async def do_late(self, event: PlannedEvent) -> None:
        """Let a node execute some requests at once, but respond after a delay."""

        def answer_late(node: Any, request: Request) -> tuple[str, Answer]:
            seconds = 0.05 + event.parameter / 300
            return ALREADY_RECORDED, delay(seconds, node.answer_of(request, "done"))

        count = 1 + event.parameter % 20
        await self._trouble(event, count, self._if_accepted(answer_late))

    async def do_drip(self, event: PlannedEvent) -> None:
        """Send one response of a node in pieces of one to seven bytes."""

        def answer_in_pieces(node: Any, request: Request) -> tuple[str, Answer]:
            bytes_at_once = 1 + event.parameter % 7
            return ALREADY_RECORDED, dribble(node.answer_of(request, "done"), bytes_at_once)

        await self._trouble(event, 1, self._if_accepted(answer_in_pieces))

    async def do_cut_frame(self, event: PlannedEvent) -> None:
        """Send only the first bytes of a response. Then close the connection, reset it, or hang."""

        def answer_in_part(node: Any, request: Request) -> tuple[str, Answer]:
            answer_to_cut = node.answer_of(request, "unclear")
            sent_bytes = event.parameter % 11
            ending = ("close", "reset", "hang")[event.parameter % 3]
            return ALREADY_RECORDED, half_frame(answer_to_cut, sent_bytes, ending)

        await self._trouble(event, 1, self._if_accepted(answer_in_part))

    @staticmethod
    def _if_accepted(answer: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap `answer`, so that it returns None for requests that the node has to refuse.

        With None, the node responds as usual. It refuses requests whose prepared statement it does
        not know, and requests without a keyspace.
        """

        def answer_if_accepted(node: Any, request: Request) -> Any:
            statement_count = len(request.statements) if request.opcode == Opcode.BATCH else 1
            parts = node._parts(request)
            if len(parts) < statement_count or not all(part.keyspace for part in parts):
                return None
            return answer(node, request)

        return answer_if_accepted

    async def _lag(self, event: PlannedEvent, name: str) -> None:
        """Delay some of a node's responses by up to 1.5 seconds, for the seconds of the event.

        :param name: the attribute of the node for the delay: `lag`, `use_lag` or `prepare_lag`.
        """
        node = self.node(event)
        setattr(node, name, 1.5 * (1 + event.parameter) / 1000)  # a parameter is less than 1000
        await asyncio.sleep(event.seconds)
        setattr(node, name, 0.0)

    async def do_lag(self, event: PlannedEvent) -> None:
        """Delay all responses of a node."""
        await self._lag(event, "lag")

    async def do_use_lag(self, event: PlannedEvent) -> None:
        """Delay a node's responses to USE."""
        await self._lag(event, "use_lag")

    async def do_prepare_lag(self, event: PlannedEvent) -> None:
        """Delay a node's responses to PREPARE."""
        await self._lag(event, "prepare_lag")

    async def do_alter(self, event: PlannedEvent) -> None:
        """Add a column to the table that clients read, at most three times in a simulation.

        The nodes forget all prepared statements, because the table's statements have other columns
        now.
        """
        store = self.simulation.store
        if store.altered < 3:
            store.altered += 1
            for node in self.simulation.fake.nodes:
                node.forget_prepared()
                if node.is_running:
                    node.send_event("SCHEMA_CHANGE", "UPDATED", "TABLE", "ka", "w")

    async def do_create_again(self, event: PlannedEvent) -> None:
        """Drop a table, and create it again with another type; see `TypedTable`.

        In a third of the cases, the clients' control connections break before the events. In
        another third, the clients are preparing the statement, and one node answers late.
        """
        typed = self.simulation.store.typed
        if typed is None:
            return
        if event.target_index % 3 == 0:
            self._break_control_connections()
        elif event.target_index % 3 == 1:
            await self._begin_to_prepare(self.node(event))
        typed.create_again()
        for node in self.simulation.fake.nodes:
            for change in ("DROPPED", "CREATED"):
                if node.is_running:
                    node.send_event("SCHEMA_CHANGE", change, "TABLE", KEYSPACE, NAME)

    def _break_control_connections(self) -> None:
        for node in self.simulation.fake.nodes:
            for connection in node.connections:
                if connection.event_types:
                    connection.end(reset=True)

    async def _begin_to_prepare(self, slow_node: Any) -> None:
        """Let each client prepare the statement of the table, which one node answers later."""
        simulation = self.simulation
        slow_node.prepare_lag = 60.0  # it never answers in time
        for number in range(len(simulation.clients.users)):
            simulation.clients.start(PlannedEvent(0.0, "prepare_typed", number))
        await asyncio.sleep(0.3)
        simulation.loop.call_later(0.0, setattr, slow_node, "prepare_lag", 0.0)

    async def do_schema_change(self, event: PlannedEvent) -> None:
        """Let another client change the schema through a node."""
        node = self.node(event)
        changing = self.simulation.store.changing
        if changing is not None and node.is_running:
            self.simulation.log(f"{node.address} changes the schema: {changing.change(node)}")

    async def do_schema_trouble(self, event: PlannedEvent) -> None:
        """Let queries of the schema tables be slow, or fail, for the seconds of the event."""
        changing = self.simulation.store.changing
        if changing is None:
            return
        if event.parameter % 2:
            changing.lag = event.parameter / 300
        else:
            changing.trouble = event.parameter / 2000
        await asyncio.sleep(event.seconds)
        changing.lag = changing.trouble = 0.0

    async def do_stall(self, event: PlannedEvent) -> None:
        """Block the event loop for a while, as a slow callback would."""
        simulation, seconds = self.simulation, event.seconds / 3
        simulation.stalled += seconds
        # With the blocking API, stall one of the event loops that the driver has created.
        loops = [loop for loop in simulation.loop.children if not loop.is_closed()]
        if loops:
            loop = loops[event.target_index % len(loops)]
            loop.call_soon_threadsafe(self._stall, loop, seconds)
        else:
            self._stall(simulation.loop, seconds)

    async def do_clock(self, event: PlannedEvent) -> None:
        """Set the machine's clock forward or back, by seconds or by minutes.

        Timers do not depend on this clock.
        """
        simulation = self.simulation
        seconds = event.seconds * (1, -1, 100, -100)[event.parameter % 4]
        simulation.loop.step_wall_clock(seconds)
        simulation.note_clock()

    def _stall(self, loop: SimulatedLoop, seconds: float) -> None:
        """Let an event loop do nothing for some virtual seconds."""
        simulation = self.simulation
        simulation.stalled_until = max(simulation.stalled_until, loop.time()) + seconds
        loop.stall(seconds)
