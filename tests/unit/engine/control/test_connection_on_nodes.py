"""Tests with fake nodes: the control connection moves to other hosts, and misses no event."""

from __future__ import annotations

import asyncio
import threading
from functools import partial
from typing import Any

import pytest

from cassandra import aio
from cassandra.engine.control.connection import NEXT_REFRESH, STRANGERS_WAIT
from cassandra.engine.endpoint import DefaultEndPoint
from cassandra.errors import ConnectionException, NoHostAvailable
from cassandra.policies import (
    AddressTranslator,
    ConstantReconnectionPolicy,
    DCAwareRoundRobinPolicy,
    ExponentialReconnectionPolicy,
    HostFilterPolicy,
    RoundRobinPolicy,
)
from cassandra.testing.fake import FakeCluster, FakeNode, Opcode, silence
from tests.unit.engine.faults import (
    IDEMPOTENT_READ,
    WAIT,
    HostEvents,
    NeverReconnect,
    call_in_thread,
    connected,
    control_node,
)
from tests.waiting import until_on_loop

pytestmark = pytest.mark.simulated


@pytest.mark.parametrize(
    ("has_event", "seconds", "comes_back"),
    [(True, 300, True), (False, 60, True), (False, 300, False)],
)
async def test_a_node_that_has_left_does_not_replace_the_cluster(
    has_event: bool, seconds: int, comes_back: bool
) -> None:
    """If no member can be reached for a while, the driver goes back to the members.

    The node that has left is a contact point, still answers, and knows only itself. Without an
    event that it was removed, it replaces the cluster after STRANGERS_WAIT, because all nodes may
    have been replaced.
    """
    with FakeCluster(3) as nodes:
        *members, gone = nodes.nodes
        async with connected(
            nodes,
            topology_event_refresh_window=0,
            reconnection_policy=ConstantReconnectionPolicy(1.0, None),
        ) as (cluster, session):
            # The control connection must not be at the node that leaves.
            gone.refuse_connections()
            await call_in_thread(gone.drop_connections)
            await until_on_loop(lambda: control_node(nodes) in members)
            gone.peers = []
            for node, other in zip(members, reversed(members), strict=True):
                node.peers = [other]
            if has_event:
                for node in members:
                    node.send_event("TOPOLOGY_CHANGE", "REMOVED_NODE", gone.address, gone.port)
            else:
                await cluster.refresh_nodes()
            await until_on_loop(lambda: len(cluster.metadata.all_hosts()) == 2)
            gone.accept_connections()
            for node in members:
                node.refuse_connections()
                await call_in_thread(node.drop_connections)
            await asyncio.sleep(seconds)
            for node in members:
                node.accept_connections()
            known = {node.address for node in (members if comes_back else [gone])}
            await until_on_loop(lambda: control_node(nodes) is not None)
            assert {host.address for host in cluster.metadata.all_hosts()} == known
            await session.execute(IDEMPOTENT_READ)


async def test_a_removed_node_that_still_names_the_members_gets_no_requests() -> None:
    """The peers table of a node that was removed may stay as it was."""
    with FakeCluster(3) as nodes:
        *members, gone = nodes.nodes
        async with connected(
            nodes,
            topology_event_refresh_window=0,
            reconnection_policy=ConstantReconnectionPolicy(1.0, None),
        ) as (cluster, session):
            gone.refuse_connections()
            await call_in_thread(gone.drop_connections)
            await until_on_loop(lambda: control_node(nodes) in members)
            for node, other in zip(members, reversed(members), strict=True):
                node.peers = [other]
                node.send_event("TOPOLOGY_CHANGE", "REMOVED_NODE", gone.address, gone.port)
            await until_on_loop(lambda: len(cluster.metadata.all_hosts()) == 2)
            gone.accept_connections()
            for node in members:
                node.refuse_connections()
                await call_in_thread(node.drop_connections)
            await asyncio.sleep(300)
            assert control_node(nodes) is None
            with pytest.raises(NoHostAvailable):
                await session.execute(IDEMPOTENT_READ)
            for node in members:
                node.accept_connections()
            await until_on_loop(lambda: control_node(nodes) in members)
            # A node that joins again is used again.
            for node, other in zip(members, reversed(members), strict=True):
                node.peers = [other, gone]
                node.send_event("TOPOLOGY_CHANGE", "NEW_NODE", gone.address, gone.port)
            await until_on_loop(lambda: len(cluster.metadata.all_hosts()) == 3)


@pytest.mark.parametrize("seconds", [60, 300])
async def test_a_node_that_is_being_removed_is_believed_only_if_no_other_answers(
    seconds: int,
) -> None:
    """The members are lost after the event, and before a list without the node was read."""
    with FakeCluster(3) as nodes:
        *members, gone = nodes.nodes
        policy = ConstantReconnectionPolicy(1.0, None)
        async with connected(
            nodes, topology_event_refresh_window=10.0, reconnection_policy=policy
        ) as (cluster, _):
            gone.refuse_connections()
            await call_in_thread(gone.drop_connections)
            await until_on_loop(lambda: control_node(nodes) in members)
            host = cluster.metadata.get_host(gone.address)
            assert host is not None
            for node in members:
                node.send_event("TOPOLOGY_CHANGE", "REMOVED_NODE", gone.address, gone.port)
            core: Any = cluster._core
            await until_on_loop(lambda: core.control._doubts.is_leaving(host))
            for node in members:
                node.refuse_connections()
                await call_in_thread(node.drop_connections)
            gone.accept_connections()
            await asyncio.sleep(seconds)
            assert (cluster.get_control_connection_host() is not None) == (seconds > STRANGERS_WAIT)


@pytest.mark.parametrize("outage", [5, 600, 3600])
async def test_a_cluster_that_replaces_another_is_taken_two_minutes_after_it_answers(
    outage: int,
) -> None:
    """Long delays between attempts to reconnect do not add to the wait for the known nodes."""
    with FakeCluster(2) as nodes:
        first, second = nodes.nodes
        first.peers = second.peers = []
        second.refuse_connections()
        policy = ExponentialReconnectionPolicy(1.0, 600.0)
        async with connected(nodes, reconnection_policy=policy) as (cluster, _):
            await until_on_loop(lambda: control_node(nodes) is first)
            await until_on_loop(lambda: len(cluster.metadata.all_hosts()) == 1)
            first.refuse_connections()
            await call_in_thread(first.drop_connections)
            await asyncio.sleep(outage)
            second.accept_connections()
            attempts = second.count(Opcode.REGISTER)
            await until_on_loop(lambda: second.count(Opcode.REGISTER) > attempts)
            clock = asyncio.get_running_loop().time
            first_answer = clock()
            await until_on_loop(lambda: cluster.metadata.get_host(second.address) is not None)
            assert STRANGERS_WAIT <= clock() - first_answer <= 1.2 * STRANGERS_WAIT + 1


@pytest.mark.parametrize("ending", ["stop", "drop", "reset"])
async def test_the_control_connection_moves_to_another_node_when_it_is_lost(
    nodes: FakeCluster, ending: str
) -> None:
    """If the node of the control connection is lost, the control connection moves to another node.

    Events that the other node sends must be handled.
    """
    async with connected(nodes) as (cluster, session):
        events = HostEvents()
        cluster.register_listener(events)
        old_node = control_node(nodes)
        assert old_node is not None

        def registration_count() -> int:
            return sum(node.count(Opcode.REGISTER) for node in nodes.nodes)

        registrations_before = registration_count()
        if ending == "stop":
            await call_in_thread(old_node.stop)
        else:
            is_reset = ending == "reset"
            await call_in_thread(old_node.drop_connections, reset=is_reset)
        await until_on_loop(lambda: registration_count() > registrations_before)
        # From now on, the new control connection receives events.
        added = await call_in_thread(nodes.add_node)
        await events.expect("add", added.address)
        assert (await session.execute(IDEMPOTENT_READ)).all() != []


async def test_a_control_connection_that_does_not_answer_is_left(nodes: FakeCluster) -> None:
    """If the node list cannot be read over the control connection, it moves to another host."""
    async with connected(nodes, control_connection_timeout=0.1) as (cluster, _):
        events = HostEvents()
        cluster.register_listener(events)
        node = control_node(nodes)
        assert node is not None
        node.prime("SELECT * FROM system.peers_v2", silence())
        added = await call_in_thread(nodes.add_node)
        await events.expect("add", added.address)
        await until_on_loop(lambda: control_node(nodes) not in (None, node))


async def test_a_node_added_while_all_nodes_were_down_is_found(
    nodes: FakeCluster,
) -> None:
    """A node that joins while no node is reachable is found when the control connection is back.

    The driver reads the node list again, because events may have been missed.
    """
    async with connected(nodes) as (cluster, _):
        events = HostEvents()
        cluster.register_listener(events)
        for node in nodes.nodes:
            await call_in_thread(node.stop)
        # Nobody receives the event of this node, because there is no control connection.
        added = await call_in_thread(nodes.add_node)
        for node in nodes.nodes[:3]:
            await call_in_thread(node.start)
        await events.expect("add", added.address)


async def test_the_control_connection_does_not_use_ignored_hosts(
    two_datacenters: FakeCluster,
) -> None:
    """The control connection is never opened to a known host that all policies ignore.

    Contact points are candidates even if the policies ignore them.
    """
    policy = HostFilterPolicy(RoundRobinPolicy(), lambda host: host.datacenter == "east")
    async with connected(two_datacenters, {"load_balancing_policy": policy}) as (cluster, _):
        core = cluster._core
        assert core is not None
        # `connected` has made all nodes contact points. Leave only the node in "east", so that the
        # nodes in "west" could be candidates only because they are known hosts.
        contact_points = [DefaultEndPoint(two_datacenters[0].address, two_datacenters.port)]
        contacts = core.control._contacts
        contacts.named_endpoints = contacts.endpoints = contact_points
        candidates = [str(endpoint) for endpoint in contacts.candidates()]
        assert candidates == [two_datacenters[0].endpoint]


async def test_a_host_that_came_back_while_the_control_connection_moved_is_used(
    two_datacenters: FakeCluster,
) -> None:
    """A host that came back while there was no control connection is used.

    Therefore, the driver tries all hosts that are down again when the control connection has moved.
    """
    policy = DCAwareRoundRobinPolicy("east", used_hosts_per_remote_dc=2)
    async with connected(two_datacenters, {"load_balancing_policy": policy}) as (cluster, _):
        core = cluster._core
        assert core is not None
        events = HostEvents()
        cluster.register_listener(events)
        control_host = core.control.host
        assert control_host is not None
        other_host = next(host for host in cluster.metadata.all_hosts() if host is not control_host)
        # Restart the other node without an event to the driver. Until it runs again, no attempt may
        # reconnect to it.
        policy_before = cluster.reconnection_policy
        cluster.reconnection_policy = NeverReconnect()  # type: ignore[assignment]
        other_node = two_datacenters.node_at(other_host.address)
        sends_events = False
        await call_in_thread(two_datacenters.stop_node, other_node, sends_events)
        await until_on_loop(lambda: other_host.state == "forced down")
        await call_in_thread(two_datacenters.start_node, other_node, sends_events)
        cluster.reconnection_policy = policy_before
        # Let the control connection move, and expect that the driver then tries the other host.
        await call_in_thread(two_datacenters.node_at(control_host.address).drop_connections)
        await events.expect("up", other_host.address)


async def test_hosts_are_tried_at_once_when_the_control_connection_is_back() -> None:
    """When the control connection is back, the driver tries hosts that are down at once.

    Here, the next reconnection attempt of the host is due in an hour.
    """
    with FakeCluster(2) as nodes:
        hourly = ConstantReconnectionPolicy(delay=3600, max_attempts=None)
        async with connected(nodes, reconnection_policy=hourly) as (cluster, _):
            events = HostEvents()
            cluster.register_listener(events)
            control_address = cluster.get_control_connection_host().address
            other_node = next(node for node in nodes.nodes if node.address != control_address)
            sends_events = False
            await call_in_thread(nodes.stop_node, other_node, sends_events)
            await events.expect("down", other_node.address)
            await call_in_thread(nodes.start_node, other_node, sends_events)
            await call_in_thread(nodes.node_at(control_address).drop_connections)
            await events.expect("up", other_node.address)


def wait_an_hour_between_attempts(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Make the control connection wait an hour between its reconnection attempts.

    :returns: an event that is set when the first attempt has failed.
    """
    attempt_failed = asyncio.Event()

    def next_delay(schedule: Any) -> float:
        attempt_failed.set()
        return 3600.0

    monkeypatch.setattr("cassandra.engine.control.connection._next_delay", next_delay)
    return attempt_failed


async def test_the_control_connection_comes_back_with_the_first_host(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """When a host comes up, the control connection is opened to the host at once.

    Here, the next attempt to open the control connection is due in an hour.
    """
    attempt_failed = wait_an_hour_between_attempts(monkeypatch)
    with FakeNode() as node:
        async with connected(node) as (cluster, _):
            core = cluster._core
            assert core is not None
            await call_in_thread(node.refuse_connections)
            await call_in_thread(node.drop_connections)
            await asyncio.wait_for(attempt_failed.wait(), WAIT)
            assert cluster.get_control_connection_host() is None
            await call_in_thread(node.accept_connections)
            await until_on_loop(lambda: cluster.get_control_connection_host() is not None)


async def test_the_control_connection_comes_back_with_any_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """When a pool opens a connection, the control connection is opened, too.

    Here, the next attempt to open the control connection is due in an hour. A lost control
    connection alone does not mark the host as down, so there may be no "up" event that would start
    an attempt.
    """
    attempt_failed = wait_an_hour_between_attempts(monkeypatch)
    with FakeNode() as node:
        async with connected(node) as (cluster, session):
            core = cluster._core
            assert core is not None
            assert core.control.connection is not None
            await call_in_thread(node.refuse_connections)
            core.control.connection.close(ConnectionException("lost"))
            await asyncio.wait_for(attempt_failed.wait(), WAIT)
            await call_in_thread(node.accept_connections)
            (pool,) = session._engine.pools.values()
            pool.connections[0].close(ConnectionException("lost too"))
            await until_on_loop(lambda: cluster.get_control_connection_host() is not None)


# The translator blocks in a real thread, and a simulated clock cannot wait for threads.
@pytest.mark.simulated(False)
async def test_a_control_connection_lost_during_address_translation_is_reopened() -> None:
    """If a new control connection is lost during a slow address translation, another is opened."""
    with FakeCluster(2) as nodes:
        shall_lose, is_lost = threading.Event(), threading.Event()

        class SlowTranslator(AddressTranslator):
            def translate(self, addr: str) -> str:
                """Drop all connections if `shall_lose` is set. Return the address."""
                if shall_lose.is_set():
                    shall_lose.clear()
                    for node in nodes.nodes:
                        node.drop_connections()
                    # Return only when the driver has noticed that the new connection is lost.
                    is_lost.wait(WAIT)
                return addr

        async with connected(nodes, address_translator=SlowTranslator()) as (cluster, _):
            core = cluster._core
            assert core is not None
            open_connection = core.open_connection
            control = core.control

            async def open_and_watch(
                endpoint: Any, target: Any = None, is_control: bool = False
            ) -> Any:
                """Open a connection, and set the event `is_lost` when the connection is closed."""
                connection = await open_connection(endpoint, target, is_control)
                # This callback is set until the owner of the connection (a pool or the control
                # connection) sets another callback.
                connection.on_closed = lambda *_: is_lost.set()
                return connection

            core.open_connection = open_and_watch  # type: ignore[method-assign]
            shall_lose.set()
            assert control.connection is not None
            control.connection.close(ConnectionException("lost"))
            await call_in_thread(is_lost.wait, WAIT)
            await until_on_loop(
                lambda: control.connection is not None and not control.connection.closed
            )


async def test_an_event_during_a_move_causes_a_second_reading() -> None:
    """If an event arrives while the control connection moves, the node list is read once more.

    The rows that are read during the move may be older than the event.
    """

    def reading_count(node: FakeNode) -> int:
        """Return how often the node list was read.

        Each reading includes a query of system.local.
        """
        queries = [query for request in node.requests for query in request.queries]
        return sum("FROM system.local" in query for query in queries)

    with FakeNode() as node:
        async with connected(node, topology_event_refresh_window=0) as (cluster, _):
            assert cluster._core is not None
            control = cluster._core.control
            count_before = reading_count(node)
            assert control.connection is not None
            control.connection.close(ConnectionException("lost"))
            # This is what the driver calls when a topology event arrives.
            control._start_refresh()
            # The move includes one reading, and the event causes a second reading.
            await node.wait_until(lambda node: reading_count(node) == count_before + 2)


async def test_a_control_connection_that_is_often_lost_follows_the_policy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The control connection is reopened at once after the first losses in quick succession.

    After later losses, the driver waits for the delays of the reconnection policy.
    """
    # The driver counts losses of connections that were open for less than SHORT_LIFE seconds. Here,
    # this is an hour, so each loss counts.
    monkeypatch.setattr("cassandra.engine.control.connection.SHORT_LIFE", 3600.0)
    with FakeNode() as node:
        delays: list[float] = []

        class RecordingPolicy:
            def new_schedule(self) -> Any:
                while True:
                    delays.append(0.0)
                    yield 0.0

        async with connected(node, reconnection_policy=RecordingPolicy()) as (cluster, _):
            assert cluster._core is not None
            control = cluster._core.control
            loss_count = 10
            for _ in range(loss_count):
                await until_on_loop(lambda: control.connection is not None)
                assert control.connection is not None
                control.connection.close(ConnectionException("lost"))
            await until_on_loop(lambda: control.connection is not None)
            # The first three connections are opened again at once. Before each later connection,
            # the driver waits for a delay of the reconnection policy.
            assert len(delays) == loss_count - 3


async def test_a_node_added_during_a_move_is_read_afterwards() -> None:
    """If an event arrives while there is no control connection, the node list is read later.

    The new node is found when the control connection is back.
    """
    with FakeCluster(2) as nodes:
        async with connected(nodes) as (cluster, _):
            core = cluster._core
            assert core is not None
            control = core.control
            events = HostEvents()
            cluster.register_listener(events)
            # During a move, there is no control connection.
            connection, control.connection = control.connection, None
            added = await call_in_thread(nodes.add_node)
            # Wait until the driver has received the event and handled it.
            await until_on_loop(lambda: control._debouncer.due is not None)
            await until_on_loop(
                lambda: control._debouncer.due is None and control._refreshing is None
            )
            assert cluster.metadata.get_host(added.address) is None
            control.connection = connection
            assert connection is not None
            await call_in_thread(nodes.node_at(connection.endpoint.address).drop_connections)
            await events.expect("add", added.address)


class LateTranslator(AddressTranslator):
    """A translator that raises LookupError when it is first asked for a new address.

    An address is new if the translator was asked for other addresses before.
    """

    def __init__(self) -> None:
        self.asked: set[str] = set()

    def translate(self, addr: str) -> str:
        is_new = bool(self.asked) and addr not in self.asked
        self.asked.add(addr)
        if is_new:
            raise LookupError(addr)
        return addr


async def test_a_new_node_is_found_after_an_error_of_the_translator() -> None:
    """If the translator fails for a node that joins, the driver tries again without another event.

    The translator of the application may learn of a new node later than the driver.
    """
    translator = LateTranslator()
    with FakeCluster(1) as nodes:
        translator.asked.add(nodes[0].address)
        async with connected(
            nodes, address_translator=translator, topology_event_refresh_window=0
        ) as (cluster, _):
            node = await call_in_thread(nodes.add_node)
            await until_on_loop(lambda: cluster.metadata.get_host(node.address) is not None)


class FailingTranslator(AddressTranslator):
    """A translator that fails after a number of successful calls.

    :param answers: the number of calls that succeed.
    """

    def __init__(self, answers: int) -> None:
        self.answers = answers
        self.failures = 0

    def has_failed(self, times: int) -> bool:
        return self.failures >= times

    def translate(self, addr: str) -> str:
        self.answers -= 1
        if self.answers < 0:
            self.failures += 1
            raise LookupError(addr)
        return addr


async def test_events_during_errors_of_the_translator_add_no_attempts() -> None:
    """While the translator fails, the node list is read at intervals, however many events arrive.

    Each of the five events fails once. Afterwards, there is a single next attempt every
    NEXT_REFRESH seconds.
    """
    with FakeCluster(1) as nodes:
        translator = FailingTranslator(answers=1000)
        async with connected(
            nodes, address_translator=translator, topology_event_refresh_window=0
        ) as (_, _session):
            await call_in_thread(nodes.add_node)
            await asyncio.sleep(5)
            # From now on, each call of the translator fails, and so does each reading.
            translator.answers = 0
            for event in range(1, 6):
                change = ("NEW_NODE", f"10.0.0.{event}", nodes.port)
                await call_in_thread(nodes[0].send_event, "TOPOLOGY_CHANGE", *change)
                await until_on_loop(partial(translator.has_failed, event))
            failures = translator.failures
            # In 3.5 intervals, there are three attempts, however many events arrived before.
            await asyncio.sleep(3.5 * NEXT_REFRESH)
            assert translator.failures - failures == 3


@pytest.mark.parametrize("listens", [False, True])
async def test_a_port_on_which_nobody_listens_gets_advice(
    nodes: FakeCluster, listens: bool
) -> None:
    """If all contact points refuse connections, the error has a note with the usual reasons.

    There is no note if another contact point has failed in a different way.
    """
    first, second = nodes.nodes[:2]
    await call_in_thread(first.stop)
    # The second contact point either accepts connections and leaves a query without a response, or
    # refuses connections like the first.
    if listens:
        second.prime("SELECT * FROM system.peers_v2", silence())
    else:
        await call_in_thread(second.stop)
    cluster = aio.Cluster(
        [first.address, second.address], port=nodes.port, control_connection_timeout=0.1
    )
    with pytest.raises(NoHostAvailable) as failure:
        await cluster.connect()
    await cluster.shutdown()
    # `__notes__` exists since Python 3.11.
    notes = getattr(failure.value, "__notes__", [])
    assert [("rpc_address" in note, "In a container" in note) for note in notes] == (
        [] if listens else [(True, True)]
    )
