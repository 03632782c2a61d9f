"""Three real nodes work under load, while a node is killed, paused or restarted.

No acknowledged row is lost, and no request hangs.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import TypeVar

import pytest

from cassandra import ConsistencyLevel
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, Session
from cassandra.policies import ConstantReconnectionPolicy, HostStateListener, RoundRobinPolicy
from cassandra.query import SimpleStatement
from cassandra.testing import LocalCluster

from .conftest import create_keyspace, new_keyspace_name

pytestmark = pytest.mark.integration

WRITERS = 4  # the number of threads of a `Load`
# Seconds between two writes of a writer. With these pauses, the writers insert hundreds of rows per
# second, and leave enough CPU for nodes to start.
PAUSE = 0.005
IN_FLIGHT = 128  # `Flood` keeps at most this number of requests in flight


class States(HostStateListener):
    """A listener that records each state change of a host, and can wait for a change."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self.history: list[tuple[str, str]] = []

    def _note(self, event: str, host: object) -> None:
        """Add (event, address) to the history, and wake `wait_for`."""
        with self._changed:
            self.history.append((event, str(host.address)))  # type: ignore[attr-defined]
            self._changed.notify_all()

    def on_up(self, host: object) -> None:
        self._note("up", host)

    def on_down(self, host: object) -> None:
        self._note("down", host)

    def on_add(self, host: object) -> None:
        self._note("add", host)

    def on_remove(self, host: object) -> None:
        self._note("remove", host)

    def wait_for(self, event: str, address: str, timeout: float = 60) -> None:
        """Wait until the driver has reported an event of a host, unless it already has.

        :param event: "up", "down", "add" or "remove".
        :param address: the address of the host.
        :param timeout: seconds to wait.
        :raises AssertionError: if the event does not come in time.
        """
        with self._changed:
            is_seen = self._changed.wait_for(lambda: (event, address) in self.history, timeout)
        assert is_seen, f"{event} of {address} was not seen; {self.history}"


class Load:
    """Threads that each insert rows at QUORUM, one row after the other, until `stop` is called."""

    def __init__(self, session: Session) -> None:
        self._insert = session.prepare("INSERT INTO t (k, v) VALUES (?, ?)")
        self._insert.consistency_level = ConsistencyLevel.QUORUM
        self._insert.is_idempotent = True
        self._session = session
        self._stop = threading.Event()
        self._lock = threading.Condition()
        self.acknowledged: set[int] = set()
        self.failed: list[Exception] = []
        self._threads = [threading.Thread(target=self._write, args=(i,)) for i in range(WRITERS)]
        for thread in self._threads:
            thread.start()

    def _write(self, first_key: int) -> None:
        """Insert rows until the load is stopped. Each thread runs this method.

        :param first_key: the thread's first key; each further key is WRITERS higher.
        """
        key = first_key
        while not self._stop.wait(PAUSE):
            try:
                self._session.execute(self._insert, (key, str(key)))
            except Exception as error:
                self.failed.append(error)
            else:
                with self._lock:
                    self.acknowledged.add(key)
                    self._lock.notify_all()
            key += WRITERS

    def go_on(self, rows: int = 500, timeout: float = 60) -> None:
        """Wait until `rows` further rows are acknowledged, for at most `timeout` seconds."""
        with self._lock:
            target = len(self.acknowledged) + rows
            assert self._lock.wait_for(lambda: len(self.acknowledged) >= target, timeout), (
                self.failed[-3:]
            )

    def stop(self) -> None:
        """Stop the threads, and check that none hangs."""
        self._stop.set()
        for thread in self._threads:
            thread.join(timeout=30)
        assert not any(thread.is_alive() for thread in self._threads)


class Flood:
    """A thread that inserts at QUORUM with many requests in flight, until `stop` is called.

    `longest_gap` is the longest time, in seconds, between two acknowledgements.
    """

    def __init__(self, session: Session) -> None:
        self._insert = session.prepare("INSERT INTO t (k, v) VALUES (?, ?)")
        self._insert.consistency_level = ConsistencyLevel.QUORUM
        self._insert.is_idempotent = True
        self._session = session
        self._stop = threading.Event()
        # Each request in flight holds one permit of this semaphore.
        self._free_slots = threading.Semaphore(IN_FLIGHT)
        self._changed = threading.Condition()
        self.acknowledged: set[int] = set()
        self.failed: Counter[str] = Counter()
        self.longest_gap = 0.0
        self._last_acknowledgement = time.monotonic()
        self._thread = threading.Thread(target=self._write)
        self._thread.start()

    def _write(self) -> None:
        """Send inserts until the flood is stopped. The thread runs this method."""
        key = 0
        while not self._stop.is_set():
            self._free_slots.acquire()
            future = self._session.execute_async(self._insert, (key, str(key)))
            future.add_callbacks(self._on_success, self._on_error, callback_args=(key,))
            key += 1

    def _on_success(self, rows: object, key: int) -> None:
        """Record that row `key` was acknowledged; the event loop calls this method."""
        now = time.monotonic()
        self.longest_gap = max(self.longest_gap, now - self._last_acknowledgement)
        self._last_acknowledgement = now
        self._free_slots.release()
        with self._changed:
            self.acknowledged.add(key)
            self._changed.notify_all()

    def _on_error(self, error: Exception) -> None:
        """Count a failed request; the event loop calls this method."""
        self.failed[type(error).__name__] += 1
        self._free_slots.release()

    def go_on(self, rows: int = 500, timeout: float = 120) -> None:
        """Wait until `rows` further rows are acknowledged, for at most `timeout` seconds."""
        with self._changed:
            target = len(self.acknowledged) + rows
            assert self._changed.wait_for(lambda: len(self.acknowledged) >= target, timeout), (
                self.failed
            )

    def stop(self) -> None:
        """Stop the thread, and check that each request has an outcome."""
        self._stop.set()
        self._thread.join(timeout=30)
        # Each request returns its permit to the semaphore when it ends. So we can acquire all
        # permits only if no request is still in flight.
        for _ in range(IN_FLIGHT):
            assert self._free_slots.acquire(timeout=30), "a request got no answer"


Writers = TypeVar("Writers", Load, Flood)


def run_under_load(
    local: LocalCluster,
    disturb: Callable[[States, Writers], None],
    make_load: Callable[[Session], Writers],
) -> Writers:
    """Disturb the nodes under load, and check that each acknowledged row is stored.

    :param disturb: a function that breaks and repairs nodes, while the load runs.
    :param make_load: starts the load: the class `Load` or `Flood`.
    :returns: the stopped load.
    """
    profile = ExecutionProfile(load_balancing_policy=RoundRobinPolicy(), request_timeout=5)
    with Cluster(
        local.contact_points,
        port=local.port,
        execution_profiles={EXEC_PROFILE_DEFAULT: profile},
        reconnection_policy=ConstantReconnectionPolicy(0.5, None),
        connect_timeout=3,
        idle_heartbeat_interval=1,
        idle_heartbeat_timeout=1,
    ) as cluster:
        session = cluster.connect(wait_for_all_pools=True)
        name = new_keyspace_name()
        create_keyspace(session, name, replicas=3)
        session.set_keyspace(name)
        session.execute("CREATE TABLE t (k int PRIMARY KEY, v text)")
        states = States()
        cluster.register_listener(states)
        load = make_load(session)
        try:
            load.go_on()
            disturb(states, load)
            load.go_on()
        finally:
            load.stop()
        # Compare the acknowledged rows with the rows that all replicas have.
        statement = SimpleStatement("SELECT k, v FROM t", consistency_level=ConsistencyLevel.ALL)
        stored = {row.k: row.v for row in session.execute(statement, timeout=60)}
        assert load.acknowledged <= stored.keys()
        assert all(value == str(key) for key, value in stored.items())
        session.execute(f"DROP KEYSPACE {name}", timeout=60)
    return load


@pytest.mark.longest
def test_a_node_is_killed_and_comes_back(fragile: LocalCluster) -> None:
    """No write fails while a node is down, and the driver uses the node after its restart."""

    def disturb(states: States, load: Load) -> None:
        node = fragile.nodes[1]
        fragile.kill(node.number)
        states.wait_for("down", node.address)
        load.go_on()
        fragile.restart(node.number)
        states.wait_for("up", node.address)

    load = run_under_load(fragile, disturb, Load)
    # The inserts are idempotent, so the driver retries them on the next host, and none fails.
    assert load.failed == []


@pytest.mark.long
def test_a_node_hangs_and_goes_on(fragile: LocalCluster) -> None:
    """A paused node is marked down while other nodes serve requests, and up after it resumes."""

    def disturb(states: States, load: Load) -> None:
        node = fragile.nodes[2]
        fragile.pause(node.number)
        states.wait_for("down", node.address)
        load.go_on()
        fragile.resume(node.number)
        states.wait_for("up", node.address)

    run_under_load(fragile, disturb, Load)


def test_the_control_connections_node_is_killed(fragile: LocalCluster) -> None:
    """If the node of the control connection is killed, another node gets the control connection."""

    def disturb(states: States, load: Load) -> None:
        """Kill the control connection's node, restart it, and check that another node is used."""
        cluster = load._session.cluster
        host_before = cluster.get_control_connection_host()
        (number,) = [node.number for node in fragile.nodes if node.address == host_before.address]
        fragile.kill(number)
        states.wait_for("down", host_before.address)
        load.go_on()
        fragile.restart(number)
        states.wait_for("up", host_before.address)
        cluster.refresh_nodes()
        assert cluster.get_control_connection_host() != host_before
        assert len(cluster.metadata.all_hosts()) == 3

    run_under_load(fragile, disturb, Load)


@pytest.mark.longest
def test_prepared_statements_survive_a_restart_of_every_node(fragile: LocalCluster) -> None:
    """A prepared INSERT still works after each node was restarted."""

    def disturb(states: States, load: Load) -> None:
        for number, node in enumerate(fragile.nodes, 1):
            fragile.restart(number)
            states.wait_for("up", node.address)
            # Clear the events, so that waiting for the next node does not end with old events.
            states.history.clear()
            load.go_on(rows=100)

    run_under_load(fragile, disturb, Load)


@pytest.mark.long
def test_a_hundred_thousand_writes_survive_a_kill_a_pause_and_a_restart(
    fragile: LocalCluster, record_property: Callable[[str, object], None]
) -> None:
    """Of 100,000 writes that were acknowledged while nodes fail and return, none is lost."""

    def disturb(states: States, flood: Flood) -> None:
        """Kill and restart the second node, then pause and resume the third node."""
        _, second_node, third_node = fragile.nodes
        fragile.kill(second_node.number)
        states.wait_for("down", second_node.address)
        flood.go_on(rows=10_000)
        fragile.restart(second_node.number)
        states.wait_for("up", second_node.address)
        flood.go_on(rows=10_000)
        states.history.clear()
        pause_time = time.monotonic()
        fragile.pause(third_node.number)
        states.wait_for("down", third_node.address)
        while time.monotonic() < pause_time + 5:  # pause the node for at least five seconds
            flood.go_on(rows=100)
        fragile.resume(third_node.number)
        states.wait_for("up", third_node.address)
        missing_rows = 100_000 - len(flood.acknowledged)
        flood.go_on(rows=max(missing_rows, 1_000))

    start_time = time.monotonic()
    flood = run_under_load(fragile, disturb, Flood)
    figures = {
        "acknowledged": len(flood.acknowledged),
        "failed": dict(flood.failed),
        "longest gap, seconds": round(flood.longest_gap, 2),
        "seconds": round(time.monotonic() - start_time),
    }
    for name, value in figures.items():
        record_property(name, value)
    print(figures)
    assert len(flood.acknowledged) >= 100_000
    # A request that waits for the paused node may time out. Any other error would mean that the
    # driver did not retry a request on the next host.
    assert set(flood.failed) <= {"OperationTimedOut", "WriteTimeout"}
