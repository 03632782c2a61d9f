"""The faults of a life: one ``do_`` method for each kind of fault in `plan.FAULTS`.

Each method begins its fault, waits for the seconds of its line, and ends the fault.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from cassandra.testing.fake import (
    Answer,
    ErrorCode,
    delay,
    dribble,
    error,
    half_frame,
    reset,
)
from cassandra.testing.fake.primitives import Opcode
from cassandra.testing.simulation import SimulatedLoop
from cassandra.testing.simulation.network import CLIENT
from tests.simulation.plan import Line

if TYPE_CHECKING:
    from cassandra.testing.fake.requests import Request
    from tests.simulation.life import Life

__all__ = ["Faults"]

# Errors that a server may answer, with their fields. The third item says which requests get the
# error, and what the store records for them:
# - "unclear": any request; the node may have executed it.
# - "refused": any request; the node has not executed it.
# - "read": reads, "write": writes without a batch, "b": batches; the node may have executed them.
# - "log": batches; the node has not executed them, since it could not write its batch log.
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
    (ErrorCode.WRITE_TIMEOUT, {"received": 0, "blockfor": 1, "write_type": "UNLOGGED_BATCH"}, "b"),
    (ErrorCode.WRITE_TIMEOUT, {"received": 0, "blockfor": 1, "write_type": "BATCH_LOG"}, "log"),
    (ErrorCode.READ_FAILURE, {}, "read"),
    (ErrorCode.WRITE_FAILURE, {}, "write"),
    (ErrorCode.INVALID, {}, "refused"),
    (ErrorCode.UNAUTHORIZED, {}, "refused"),
    (ErrorCode.SYNTAX_ERROR, {}, "refused"),
]


class Faults:
    """Starts the faults of a life, and ends them."""

    def __init__(self, life: Life) -> None:
        self.life = life
        self.tasks: list[asyncio.Task[None]] = []
        self._down: set[str] = set()
        self._has_moved = False

    def start(self, line: Line) -> None:
        """Begin a fault in a task, which ends the fault after its seconds."""
        self.life.log(f"fault {line.what} {line.who} for {line.seconds}")
        self.tasks.append(asyncio.ensure_future(getattr(self, f"do_{line.what}")(line)))

    def node(self, line: Line) -> Any:
        """Return the node that a line selects."""
        nodes = self.life.fake.nodes
        return nodes[line.who % len(nodes)]

    def heal(self) -> None:
        """End all faults that still last, and announce that all nodes are up."""
        life = self.life
        for task in self.tasks:
            task.cancel()
        life.network.mend_all()
        nodes: list[Any] = life.fake.nodes
        for node in nodes:
            life.network.regain_power(node.address)
            node.troubles.clear()
            node.lag = node.use_lag = node.prepare_lag = 0.0
            node.start()
            node.accept_connections()
            node.start_reading()
            node.peers = [other for other in life.fake.nodes if other is not node]
            # Silent connections stay silent, since heartbeats have to find them. But without a
            # request timeout, a request would wait for a withheld answer as long as its connection
            # lives. So such connections are closed.
            if life.plan.settings["request_timeout"] is None:
                for connection in node.withholding:
                    connection.end(True)
            node.withholding.clear()
        self.tell("STATUS_CHANGE", "UP")

    def tell(self, event_type: str, change: str) -> None:
        """Send an event about each node."""
        for node in self.life.fake.nodes:
            self.life.fake.tell(event_type, change, node)

    # -- connections -------------------------------------------------------------------------------

    async def do_refuse(self, line: Line) -> None:
        node = self.node(line)
        if node.is_running:
            node.refuse_connections()
            await asyncio.sleep(line.seconds)
            if node.is_running:
                node.accept_connections()

    async def do_hang(self, line: Line) -> None:
        node = self.node(line)
        node.accept_but_hang()
        await asyncio.sleep(line.seconds)
        node._hanging = False

    async def do_drop_syns(self, line: Line) -> None:
        node = self.node(line)
        self.life.network.drop_syns(node.address)
        await asyncio.sleep(line.seconds)
        self.life.network.accept_syns(node.address)

    async def do_reset_one(self, line: Line) -> None:
        connections = self.node(line).connections
        if connections:
            connections[line.number % len(connections)].end(True)

    async def do_reset_all(self, line: Line) -> None:
        self.node(line)._drop(True)

    async def do_fin_all(self, line: Line) -> None:
        self.node(line)._drop(False)

    async def do_silence(self, line: Line) -> None:
        connections = self.node(line).connections
        if connections:
            connections[line.number % len(connections)].hang()

    async def do_slow_reader(self, line: Line) -> None:
        node = self.node(line)
        node._reading = False
        node._apply_reading()
        await asyncio.sleep(line.seconds)
        node._reading = True
        node._apply_reading()

    # -- paths -------------------------------------------------------------------------------------

    async def _cut(self, line: Line, ways: str) -> None:
        network, address = self.life.network, self.node(line).address
        if "in" in ways:
            network.cut(CLIENT, address, both_ways=False)
        if "out" in ways:
            network.cut(address, CLIENT, both_ways=False)
        await asyncio.sleep(line.seconds)
        network.mend(CLIENT, address)

    async def do_partition(self, line: Line) -> None:
        await self._cut(line, "in and out")

    async def do_partition_in(self, line: Line) -> None:
        await self._cut(line, "in")

    async def do_partition_out(self, line: Line) -> None:
        await self._cut(line, "out")

    # -- nodes -------------------------------------------------------------------------------------

    async def do_crash(self, line: Line) -> None:
        node = self.node(line)
        if node.address in self._down:
            return
        self._down.add(node.address)
        try:
            node.stop()
            if line.number % 2:
                self.life.fake.tell("STATUS_CHANGE", "DOWN", node)
            await asyncio.sleep(line.seconds)
        finally:
            self._down.discard(node.address)
            if node in self.life.fake.nodes:
                node.start()
        if line.number % 3:
            self.life.fake.tell("STATUS_CHANGE", "UP", node)

    async def do_power(self, line: Line) -> None:
        node = self.node(line)
        if node.address in self._down:
            return
        self._down.add(node.address)
        network = self.life.network
        network.lose_power(node.address)
        try:
            await asyncio.sleep(0)
            node.stop()
            await asyncio.sleep(line.seconds)
        finally:
            self._down.discard(node.address)
            network.regain_power(node.address)
            if node in self.life.fake.nodes:
                node.start()
        if line.number % 3:
            self.life.fake.tell("STATUS_CHANGE", "UP", node)

    async def do_rolling(self, line: Line) -> None:
        for number in range(len(self.life.fake.nodes)):
            await self.do_crash(Line(line.at, line.what, number, line.seconds / 4, line.number))

    async def do_drain(self, line: Line) -> None:
        """Announce that the node will stop, as in CEP-59. Then stop it, or let it stay.

        The node stays if the line's number is divisible by five.
        """
        node = self.node(line)
        graceful = self.life.plan.settings.get("graceful")
        if not graceful or node.address in self._down or not node.is_running:
            return
        self._down.add(node.address)
        try:
            node.say_drain()
            await asyncio.sleep(line.seconds)
            if line.number % 5:
                node._drop(False)  # close its connections now, not after the grace period
                node.stop()
                await asyncio.sleep(line.seconds / 2)
        finally:
            self._down.discard(node.address)
            if node in self.life.fake.nodes:
                if node.is_running:
                    node.accept_connections()
                node.start()
        if line.number % 3:
            self.life.fake.tell("STATUS_CHANGE", "UP", node)

    async def do_rolling_drain(self, line: Line) -> None:
        for number in range(len(self.life.fake.nodes)):
            await self.do_drain(Line(line.at, line.what, number, line.seconds / 4, line.number))

    async def do_forget(self, line: Line) -> None:
        nodes = self.life.fake.nodes if line.number % 2 else [self.node(line)]
        for node in nodes:
            node.forget_prepared()

    async def do_leave(self, line: Line) -> None:
        node, fake = self.node(line), self.life.fake
        if len(fake.nodes) < 2 or node.address in self._down or self.life.plan.settings["scylla"]:
            return
        self._down.add(node.address)
        fake.remove_node(node)
        try:
            await asyncio.sleep(line.seconds)
        finally:
            self._down.discard(node.address)
            if line.number % 2:
                node.host_id = uuid.UUID(int=1000 + line.number)
            node.start()
            fake.nodes = [*fake.nodes, node]
            fake._introduce()
        fake.tell("TOPOLOGY_CHANGE", "NEW_NODE", node)
        fake.tell("STATUS_CHANGE", "UP", node)

    async def _restart_changed(
        self, nodes: list[Any], line: Line, change: Callable[[], None]
    ) -> None:
        """Stop the nodes, call `change` to change them, and start them again.

        Afterwards the other nodes send the events that Cassandra sends for this.
        """
        fake = self.life.fake
        if self._down.intersection(node.address for node in nodes):
            return
        if self.life.plan.settings["scylla"]:
            return  # the simulated ScyllaDB state holds the nodes' addresses, and is not updated
        addresses = [node.address for node in nodes]
        self._down.update(addresses)
        old = [(node, node.address) for node in nodes]
        for node in nodes:
            node.stop()
        try:
            await asyncio.sleep(line.seconds / 3)
        finally:
            self._down.difference_update(addresses)
            for node in nodes:
                node.stop()  # `heal` may have started it in the meantime
            if all(node in fake.nodes for node in nodes):
                change()
            for node in nodes:
                if node in fake.nodes:
                    node.start()
        for node, address in old:
            if line.number % 3 and node.address != address:
                for other in fake.nodes:
                    if other is not node and other.is_running:
                        other.send_event("TOPOLOGY_CHANGE", "MOVED_NODE", address, node.port)
            fake.tell("TOPOLOGY_CHANGE", "NEW_NODE", node)
            fake.tell("STATUS_CHANGE", "UP", node)

    async def do_move(self, line: Line) -> None:
        node = self.node(line)
        # If all nodes moved, the application would know no address of the cluster any more.
        if len(self.life.fake.nodes) < 3 or self._down or self._has_moved:
            return
        self._has_moved = True

        def change() -> None:
            taken = {other.address for other in self.life.fake.nodes}
            node.address = next(
                address
                for number in range(100 + line.number % 50, 250)
                if (address := f"10.0.0.{number}") not in taken
            )

        await self._restart_changed([node], line, change)

    async def do_swap(self, line: Line) -> None:
        nodes = self.life.fake.nodes
        if len(nodes) < 2:
            return
        first, other = self.node(line), nodes[(line.who + 1) % len(nodes)]

        def change() -> None:
            first.address, other.address = other.address, first.address

        await self._restart_changed([first, other], line, change)

    async def do_replace(self, line: Line) -> None:
        node = self.node(line)

        def change() -> None:
            node.host_id = uuid.UUID(int=5000 + line.number)
            node.tokens = (str(line.number * 7 + 1),)

        await self._restart_changed([node], line, change)

    async def do_join(self, line: Line) -> None:
        if len(self.life.fake.nodes) < 5:
            self.life.fake.add_node(token=line.number + 17)

    # -- events and rows ---------------------------------------------------------------------------

    async def do_event_down(self, line: Line) -> None:
        self.life.fake.tell("STATUS_CHANGE", "DOWN", self.node(line))

    async def do_event_up(self, line: Line) -> None:
        self.life.fake.tell("STATUS_CHANGE", "UP", self.node(line))

    async def do_event_both(self, line: Line) -> None:
        node = self.node(line)
        for number in range(4):
            change = ("UP", "DOWN")[(number + line.number) % 2]
            self.life.fake.tell("STATUS_CHANGE", change, node)
            await asyncio.sleep(line.seconds / 10)

    async def do_event_doubled(self, line: Line) -> None:
        for _ in range(3):
            self.life.fake.tell("TOPOLOGY_CHANGE", "NEW_NODE", self.node(line))

    async def do_event_schema(self, line: Line) -> None:
        for node in self.life.fake.nodes:
            if node.is_running:
                node.send_event("SCHEMA_CHANGE", "UPDATED", "TABLE", "ka", "w")

    async def _peers(self, line: Line, change: Callable[[Any, list[Any]], list[Any]]) -> None:
        node = self.node(line)
        node.peers = change(node, list(node.peers))
        self.life.fake.tell("TOPOLOGY_CHANGE", "NEW_NODE", node)
        await asyncio.sleep(line.seconds)
        node.peers = [other for other in self.life.fake.nodes if other is not node]

    async def do_peers_nulls(self, line: Line) -> None:
        class Ghost:
            """A row of ``system.peers`` that has only an address, as gossip may leave behind."""

            address, port = "10.0.0.77", 9042
            datacenter = rack = host_id = schema_version = release_version = None
            tokens = ()

        await self._peers(line, lambda node, peers: [*peers, Ghost()])

    async def do_peers_doubled(self, line: Line) -> None:
        await self._peers(line, lambda node, peers: [*peers, *peers, node])

    async def do_peers_missing(self, line: Line) -> None:
        await self._peers(line, lambda node, peers: peers[1:])

    # -- answers -----------------------------------------------------------------------------------

    async def _trouble(self, line: Line, count: int, answer: Callable[..., Any]) -> None:
        """Ask `answer` what the node answers to its next requests, until the line's seconds end.

        :param count: the number of requests to answer this way.
        :param answer: gets the node and a request; returns (fate, answer), or None to let the node
            answer as usual.
        """
        node = self.node(line)
        left = count

        def trouble(request: Request) -> Any:
            nonlocal left
            if left <= 0:
                return None
            outcome = answer(node, request)
            if outcome is not None:
                left -= 1
            return outcome

        node.troubles.append(trouble)
        await asyncio.sleep(line.seconds)
        if trouble in node.troubles:
            node.troubles.remove(trouble)

    async def do_errors(self, line: Line) -> None:
        code, fields, fate = _ERRORS[line.number % len(_ERRORS)]

        def answer(node: Any, request: Request) -> tuple[str, Answer] | None:
            is_read = all(text.startswith("SELECT") for text in request.queries)
            is_batch = request.opcode == Opcode.BATCH
            if fate == "read" and not is_read:
                return None
            if fate in ("write", "b", "log") and (is_read or is_batch != (fate in ("b", "log"))):
                return None
            if fate == "write" and fields.get("received"):
                # The write is on one replica, and a retry policy may ignore the error. So the store
                # has to execute it: otherwise it would count as lost.
                node.answer_of(request, "unclear")
                return "again", error(code, **fields)
            outcome = "refused" if fate in ("refused", "log") else "unclear"
            return outcome, error(code, **fields)

        await self._trouble(line, 1 + line.who % 8, self._if_accepted(answer))

    async def do_withhold(self, line: Line) -> None:
        """Leave requests without an answer; if the line's number is odd, the node executes them."""

        def answer(node: Any, request: Request) -> tuple[str, None]:
            if request.connection not in node.withholding:
                node.withholding.append(request.connection)
            if line.number % 2:
                node.answer_of(request, "unclear")
                return "again", None
            return "unclear", None

        await self._trouble(line, 1 + line.number % 20, self._if_accepted(answer))

    async def do_late(self, line: Line) -> None:
        def answer(node: Any, request: Request) -> tuple[str, Answer]:
            # The node executes the request now, but sends the answer later.
            return "again", delay(0.05 + line.number / 300, node.answer_of(request, "done"))

        await self._trouble(line, 1 + line.number % 20, self._if_accepted(answer))

    async def do_drip(self, line: Line) -> None:
        def answer(node: Any, request: Request) -> tuple[str, Answer]:
            return "again", dribble(node.answer_of(request, "done"), 1 + line.number % 7)

        await self._trouble(line, 1, self._if_accepted(answer))

    async def do_cut_frame(self, line: Line) -> None:
        def answer(node: Any, request: Request) -> tuple[str, Answer]:
            done = node.answer_of(request, "unclear")
            how = ("close", "reset", "hang")[line.number % 3]
            return "again", half_frame(done, line.number % 11, how) if how else reset()

        await self._trouble(line, 1, self._if_accepted(answer))

    @staticmethod
    def _if_accepted(answer: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap `answer`, so that it returns None for requests that the node must refuse.

        The node refuses requests with an unknown prepared statement or without a keyspace.
        """

        def checked(node: Any, request: Request) -> Any:
            count = len(request.statements) if request.opcode == Opcode.BATCH else 1
            parts = node._parts(request)
            if len(parts) < count or not all(part[3] for part in parts):
                return None
            return answer(node, request)

        return checked

    async def _lag(self, line: Line, name: str, longest: float) -> None:
        node = self.node(line)
        setattr(node, name, longest * (1 + line.number) / 1000)
        await asyncio.sleep(line.seconds)
        setattr(node, name, 0.0)

    async def do_lag(self, line: Line) -> None:
        await self._lag(line, "lag", 1.5)

    async def do_use_lag(self, line: Line) -> None:
        await self._lag(line, "use_lag", 1.5)

    async def do_prepare_lag(self, line: Line) -> None:
        await self._lag(line, "prepare_lag", 1.5)

    async def do_alter(self, line: Line) -> None:
        store = self.life.store
        if store.altered < 3:
            store.altered += 1
            for node in self.life.fake.nodes:
                node.forget_prepared()
                if node.is_running:
                    node.send_event("SCHEMA_CHANGE", "UPDATED", "TABLE", "ka", "w")

    async def do_stall(self, line: Line) -> None:
        life, seconds = self.life, line.seconds / 3
        life.stalled += seconds
        # With the blocking API, stall one of the loops that the driver has created.
        loops = [loop for loop in life.loop.children if not loop.is_closed()]
        if loops:
            loop = loops[line.who % len(loops)]
            loop.call_soon_threadsafe(self._stall, loop, seconds)
        else:
            self._stall(life.loop, seconds)

    async def do_clock(self, line: Line) -> None:
        """Set the machine's clock ahead or back, by seconds or by minutes. Timers are not moved."""
        life = self.life
        seconds = line.seconds * (1, -1, 100, -100)[line.number % 4]
        life.loop.step_wall_clock(seconds)
        life.note_clock()

    def _stall(self, loop: SimulatedLoop, seconds: float) -> None:
        life = self.life
        life.stalled_until = max(life.stalled_until, loop.time()) + seconds
        loop.stall(seconds)
