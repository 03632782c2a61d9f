"""The blocking `Cluster`: connecting, shutting down, and calls that need a connection."""

from __future__ import annotations

import gc
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra.cluster import (
    EXEC_PROFILE_DEFAULT,
    Cluster,
    ExecutionProfile,
    Session,
    cluster as cluster_module,
)
from cassandra.engine import loop as loop_module
from cassandra.errors import (
    ConnectionException,
    ConnectionShutdown,
    InvalidRequest,
    NoHostAvailable,
    OperationTimedOut,
    SessionShutdown,
    UserTypeDoesNotExist,
)
from cassandra.policies import (
    DCAwareRoundRobinPolicy,
    HostDistance,
    HostStateListener,
    RoundRobinPolicy,
)
from cassandra.testing.fake import (
    ErrorCode,
    FakeCluster,
    FakeNode,
    Opcode,
    error,
    hold,
    message,
    rows,
    set_keyspace,
)
from tests.interrupted_locks import Interrupt, InterruptedLock, is_free
from tests.processes import run_python
from tests.unit.cluster.conftest import READ
from tests.waiting import WAIT, until


def test_sessions_share_one_engine(shop: FakeNode, blocking_cluster: Cluster) -> None:
    """Two sessions of a cluster share its control connection, but not their pools."""
    first, second = blocking_cluster.connect(), blocking_cluster.connect()
    assert first is not second
    # There is one control connection, and a pool connection for each session.
    assert shop.count(Opcode.STARTUP) == 3
    assert [session.execute(READ).one() for session in (first, second)] == [(1, "a")] * 2


def test_connecting_again_after_a_failure_succeeds(
    shop: FakeNode, blocking_cluster: Cluster
) -> None:
    """After a failed `connect`, the same cluster can connect when the node runs."""
    shop.stop()
    with pytest.raises(NoHostAvailable):
        blocking_cluster.connect()
    shop.start()
    assert blocking_cluster.connect().execute(READ).one() == (1, "a")


def test_connecting_again_looks_the_names_up_again(
    shop: FakeNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a failed `connect`, the names of the contact points may have other addresses.

    If a name has no address at the moment, `connect` tries the addresses that it had.
    """
    addresses: list[str] = ["127.0.0.9"]
    look_up = socket.getaddrinfo

    def scripted(host: Any, *arguments: Any, **options: Any) -> Any:
        if host != "db.example":
            return look_up(host, *arguments, **options)
        if not addresses:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [info for address in addresses for info in look_up(address, *arguments, **options)]

    monkeypatch.setattr(socket, "getaddrinfo", scripted)
    with Cluster(["db.example"], port=shop.port) as cluster:
        addresses.clear()
        for _ in range(2):
            with pytest.raises(NoHostAvailable, match=r"127\.0\.0\.9"):
                cluster.connect()
        addresses.append(shop.address)
        assert cluster.connect().execute(READ).one() == (1, "a")


def test_connecting_to_a_missing_keyspace_raises(shop: FakeNode, blocking_cluster: Cluster) -> None:
    """If the keyspace is missing, `connect` raises the server's error.

    Afterwards, the cluster can connect to another keyspace.
    """
    shop.prime('USE "shop"', set_keyspace("shop"))
    shop.prime('USE "none"', error(ErrorCode.INVALID, "no such keyspace"))
    with pytest.raises(InvalidRequest, match="no such keyspace"):
        blocking_cluster.connect("none")
    assert blocking_cluster.connect("shop").keyspace == "shop"


def test_refreshing_needs_a_connection(shop: FakeNode, blocking_cluster: Cluster) -> None:
    """Refreshes raise ConnectionException before `connect`, and read the new data afterwards."""
    assert blocking_cluster.get_control_connection_host() is None
    for call in (blocking_cluster.refresh_nodes, blocking_cluster.refresh_schema_metadata):
        with pytest.raises(ConnectionException, match="not connected"):
            call()
    blocking_cluster.connect()
    host = blocking_cluster.get_control_connection_host()
    assert (host.address, host.datacenter) == (shop.address, "datacenter1")
    blocking_cluster.refresh_schema_metadata(max_schema_agreement_wait=0)
    assert list(blocking_cluster.metadata.keyspaces["ks"].tables) == ["t0"]
    shop.datacenter = "elsewhere"
    blocking_cluster.refresh_nodes()
    assert [host.datacenter for host in blocking_cluster.metadata.all_hosts()] == ["elsewhere"]


def test_profiles_can_be_added_before_and_after_connect(blocking_cluster: Cluster) -> None:
    """Profiles can be added before and after `connect`, but not twice with the same name."""
    blocking_cluster.add_execution_profile("early", ExecutionProfile(RoundRobinPolicy()))
    session = blocking_cluster.connect()
    blocking_cluster.add_execution_profile("late", ExecutionProfile(RoundRobinPolicy()))
    for name in ("early", "late"):
        assert session.execute(READ, execution_profile=name).one() == (1, "a")
    with pytest.raises(ValueError, match="late"):
        blocking_cluster.add_execution_profile("late", ExecutionProfile())


def test_registering_a_missing_user_type_is_an_error(
    blocking_cluster: Cluster, shop: FakeNode
) -> None:
    """Registering a class for a missing user-defined type raises UserTypeDoesNotExist.

    If the cluster is not connected yet, `connect` raises the error.
    """
    with Cluster([shop.address], port=shop.port) as cluster:
        cluster.register_user_type("ks", "missing", dict)
        with pytest.raises(UserTypeDoesNotExist, match=r"ks\.missing"):
            cluster.connect()
    blocking_cluster.connect()
    with pytest.raises(UserTypeDoesNotExist, match=r"ks\.none"):
        blocking_cluster.register_user_type("ks", "none", dict)


def test_after_shutdown_calls_are_refused(blocking_cluster: Cluster) -> None:
    """After `shutdown`, calls of the cluster raise ConnectionException."""
    session = blocking_cluster.connect()
    assert blocking_cluster.is_shutdown is False
    # A second call does nothing.
    blocking_cluster.shutdown()
    blocking_cluster.shutdown()
    # mypy still assumes that `is_shutdown` is False because of the assertion above, so hide the
    # attribute's type.
    has_ended: Any = blocking_cluster.is_shutdown
    assert has_ended
    assert session.is_shutdown
    for call in (blocking_cluster.connect, blocking_cluster.refresh_nodes):
        with pytest.raises(ConnectionException, match="shut down"):
            call()


# -- sessions --------------------------------------------------------------------------------------


def test_an_empty_keyspace_is_none(shop: FakeNode, blocking_cluster: Cluster) -> None:
    """An empty string as the keyspace means no keyspace. A number is refused."""
    assert blocking_cluster.connect("").keyspace is None
    assert not any("USE" in str(request.query) for request in shop.requests)
    wrong: Any = 5
    with pytest.raises(TypeError, match="a keyspace is a str"):
        blocking_cluster.connect(wrong)


def test_a_session_that_is_shut_down_loses_its_connections_only(
    shop: FakeNode, blocking_cluster: Cluster
) -> None:
    """`Session.shutdown` closes the connections of this session, but not of another session."""
    other_session = blocking_cluster.connect()
    count_before = len(shop.connections)
    session = blocking_cluster.connect()
    session.shutdown()
    # When `shutdown` returns, the session's connections are closed. The node notices this a moment
    # later.
    assert session._engine.closed
    shop.wait_for(lambda node: len(node.connections) == count_before)
    assert session not in blocking_cluster.sessions
    assert other_session in blocking_cluster.sessions


def test_a_session_is_shut_down_while_another_thread_shuts_down_the_cluster(
    shop: FakeNode, blocking_cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If another thread ends the event loop during `Session.shutdown`, no error is raised."""
    session = blocking_cluster.connect()

    def run(thread: Any, work: Any, timeout: float) -> None:
        work.close()
        raise ConnectionShutdown("the event loop has ended")

    with monkeypatch.context() as patched:
        patched.setattr(type(blocking_cluster._loop_thread), "run", run)
        session.shutdown()
    assert session not in blocking_cluster.sessions


def test_a_session_may_be_shut_down_in_a_callback(
    shop: FakeNode, blocking_cluster: Cluster
) -> None:
    """If a session is shut down in a callback on the event loop, `shutdown` does not wait.

    The node is paused so that the callback runs on the event loop.
    """
    blocking_cluster.connect()
    count_before = len(shop.connections)
    session = blocking_cluster.connect()
    has_shut_down = threading.Event()

    def shut_down(rows: Any) -> None:
        session.shutdown()
        has_shut_down.set()

    shop.pause()
    future = session.execute_async(READ)
    future.add_callback(shut_down)
    shop.resume()
    assert has_shut_down.wait(WAIT)
    assert session._engine.closed
    shop.wait_for(lambda node: len(node.connections) == count_before)


def test_a_keyspace_that_fails_leaves_a_cluster_that_was_connected_before(
    shop: FakeNode, blocking_cluster: Cluster
) -> None:
    """If a later `connect` fails because of its keyspace, earlier sessions still work.

    The failed session leaves no connections.
    """
    shop.prime('USE "none"', error(ErrorCode.INVALID, "no such keyspace"))
    session = blocking_cluster.connect()
    count_before = len(shop.connections)
    with pytest.raises(NoHostAvailable, match="no such keyspace"):
        blocking_cluster.connect("none")
    assert session.execute(READ).one() == (1, "a")
    shop.wait_for(lambda node: len(node.connections) == count_before)
    assert list(blocking_cluster.sessions) == [session]


def test_a_first_connect_that_fails_leaves_the_sessions_of_other_threads(
    shop: FakeNode, blocking_cluster: Cluster
) -> None:
    """Another thread may connect while the first `connect` switches to its keyspace."""
    held = hold(error(ErrorCode.INVALID, "no such keyspace"))
    shop.prime('USE "none"', held)
    with ThreadPoolExecutor(1) as threads:
        failing = threads.submit(blocking_cluster.connect, "none")
        held.wait()
        session = blocking_cluster.connect()
        held.release()
        with pytest.raises(NoHostAvailable, match="no such keyspace"):
            failing.result()
    assert session.execute(READ).one() == (1, "a")
    assert list(blocking_cluster.sessions) == [session]


# -- failures of connect ---------------------------------------------------------------------------


def loop_threads() -> list[threading.Thread]:
    """Return the running threads of the driver's event loops."""
    return [item for item in threading.enumerate() if item.name.startswith("cassandra-loop-")]


@pytest.mark.parametrize("reason", ["connection refused", "no such keyspace"])
def test_a_failed_connect_leaves_no_thread(
    shop: FakeNode, blocking_cluster: Cluster, reason: str
) -> None:
    """After a failed `connect`, no event loop thread and no control connection are left."""
    if reason == "connection refused":
        shop.refuse_connections()
    shop.prime('USE "none"', error(ErrorCode.INVALID, "no such keyspace"))
    with pytest.raises(NoHostAvailable):
        blocking_cluster.connect("none")
    assert loop_threads() == []
    assert blocking_cluster.get_control_connection_host() is None


def test_a_shutdown_ends_a_connect_that_waits(shop: FakeNode, blocking_cluster: Cluster) -> None:
    """If another thread shuts the cluster down, `connect` raises ConnectionShutdown.

    Here, `connect` waits for the node's response to STARTUP.
    """
    shop.prime(Opcode.STARTUP, hold(message(Opcode.READY, b"")))
    failures: list[Any] = []

    def connect() -> None:
        try:
            blocking_cluster.connect()
        except Exception as failure:
            failures.append(failure)

    thread = threading.Thread(target=connect)
    thread.start()
    # Wait until `connect` has sent STARTUP, to which the node does not respond.
    shop.wait_for(lambda node: node.count(Opcode.STARTUP))
    blocking_cluster.shutdown()
    thread.join(WAIT)
    (failure,) = failures
    assert isinstance(failure, ConnectionShutdown)
    assert loop_threads() == []


# -- shutdown --------------------------------------------------------------------------------------


def test_a_shutdown_in_a_callback_is_refused(shop: FakeNode, blocking_cluster: Cluster) -> None:
    """`Cluster.shutdown` in a callback on the event loop raises RuntimeError.

    `shutdown` would wait for the event loop's own thread.
    """
    session = blocking_cluster.connect()
    outcomes: list[str] = []

    def shutdown(rows: Any) -> None:
        try:
            blocking_cluster.shutdown()
        except RuntimeError as refused:
            outcomes.append(str(refused))

    # The node is paused until the callback is added, so that the callback runs on the event loop.
    shop.pause()
    future = session.execute_async(READ)
    future.add_callback(shutdown)
    shop.resume()
    until(lambda: bool(outcomes))
    assert "was called in the driver's own event loop thread" in outcomes[0]
    assert session.execute(READ).one() == (1, "a")
    assert not blocking_cluster.is_shutdown


def test_a_shutdown_closes_connections_and_ends_the_thread(
    shop: FakeNode, blocking_cluster: Cluster
) -> None:
    """`Cluster.shutdown` closes all connections and ends the event loop's thread.

    Later calls raise ConnectionShutdown.
    """
    blocking_cluster.connect()
    assert len(loop_threads()) == 1
    blocking_cluster.shutdown()
    assert loop_threads() == []
    shop.wait_for(lambda node: not node.connections)
    assert blocking_cluster.get_control_connection_host() is None
    with pytest.raises(ConnectionShutdown, match="the cluster is shut down"):
        blocking_cluster.register_user_type("ks", "address", dict)
    with pytest.raises(ConnectionShutdown, match="make a new one"):
        blocking_cluster.connect()


def connect_and_drop(node: FakeNode) -> None:
    """Connect a cluster and drop it. Wait until garbage collection has closed it."""
    cluster = Cluster([node.address], port=node.port)
    cluster.connect()
    assert len(node.connections) == 2
    del cluster
    gc.collect()
    node.wait_for(lambda node: not node.connections)
    until(lambda: not loop_threads())


def test_a_cluster_that_is_dropped_is_closed_with_a_warning(shop: FakeNode) -> None:
    """If a cluster is dropped without `shutdown`, it is closed by the garbage collector.

    A ResourceWarning says that `shutdown` was not called.
    """
    with pytest.warns(ResourceWarning, match="was dropped without shutdown"):
        connect_and_drop(shop)


@pytest.mark.parametrize(
    ("error", "is_daemon", "expected"),
    [
        (SessionShutdown("over", {}), True, True),
        (ConnectionShutdown("over"), True, True),
        (SessionShutdown("over", {}), False, False),
        (ValueError("own"), True, False),
        (SessionShutdown("over", {}), None, False),
    ],
)
def test_at_exit_only_errors_of_the_shutdown_in_daemons_are_not_shown(
    error: Exception, is_daemon: bool | None, expected: bool
) -> None:
    """Errors that daemon threads get because the driver shuts down at exit are not shown.

    The application cannot handle them. `_is_end_of_daemon` returns True for such errors.
    """
    thread = None if is_daemon is None else SimpleNamespace(daemon=is_daemon)
    args: Any = SimpleNamespace(exc_value=error, thread=thread)
    assert cluster_module._is_end_of_daemon(args) is expected


# -- policies that need other hosts ----------------------------------------------------------------


@pytest.fixture
def far() -> Iterator[FakeCluster]:
    """Yield a node in the data centre "east" and a node in "west"."""
    with FakeCluster({"east": 1, "west": 1}) as nodes:
        for node in nodes.nodes:
            node.prime(READ, rows([("dc", "text")], [(node.datacenter,)]))
        yield nodes


@pytest.fixture
def eastern(far: FakeCluster) -> Iterator[Cluster]:
    """Yield a connected cluster whose only pool leads to the node in "east"."""
    profile = ExecutionProfile(DCAwareRoundRobinPolicy("east"))
    with Cluster(
        far.contact_points, port=far.port, execution_profiles={EXEC_PROFILE_DEFAULT: profile}
    ) as cluster:
        # The cluster refers only weakly to its sessions, so a variable must keep this session
        # alive.
        session = cluster.connect()
        yield cluster
        assert session in cluster.sessions


def session_of(cluster: Cluster) -> Session:
    """Return the only session of the cluster."""
    (session,) = cluster.sessions
    return session


def western_profile() -> ExecutionProfile:
    """Return a profile that uses only hosts in "west"."""
    return ExecutionProfile(DCAwareRoundRobinPolicy("west"))


def pooled_datacenters(session: Session) -> set[Any]:
    """Return the data centres to whose hosts the session has pools."""
    return {host.datacenter for host in session._engine.pools}


def test_a_new_profile_has_its_connections_when_the_call_returns(eastern: Cluster) -> None:
    """`add_execution_profile` returns when the pools that the new profile needs are open."""
    session = session_of(eastern)
    assert pooled_datacenters(session) == {"east"}
    eastern.add_execution_profile("west", western_profile())
    assert pooled_datacenters(session) == {"east", "west"}
    assert session.execute(READ, execution_profile="west").one() == ("west",)


def test_a_new_profile_waits_for_connections_only_so_long(
    far: FakeCluster, eastern: Cluster
) -> None:
    """If the pools of a new profile are not open in time, `add_execution_profile` raises an error.

    The error is OperationTimedOut. With a limit of 0 seconds, the call does not wait at all.
    """
    far[1].prime(Opcode.STARTUP, hold(message(Opcode.READY, b"")))
    eastern.add_execution_profile("soon", western_profile(), pool_wait_timeout=0)
    with pytest.raises(OperationTimedOut):
        eastern.add_execution_profile("west", western_profile(), pool_wait_timeout=0.01)
    # The profile was added in spite of the timeout.
    with pytest.raises(ValueError, match="west"):
        eastern.add_execution_profile("west", western_profile())


def test_the_first_call_with_a_policy_waits_for_its_connections(eastern: Cluster) -> None:
    """If a call's profile uses hosts without pools, the call waits until their pools are open.

    Before this call, no session has a pool to the node in "west".
    """
    session = session_of(eastern)
    assert session.execute(READ, execution_profile=western_profile()).one() == ("west",)


def test_the_number_of_connections_can_be_changed(far: FakeCluster, eastern: Cluster) -> None:
    """If a pool may have three connections instead of one, two more connections are opened."""
    count_before = len(far[0].connections)
    eastern.set_core_connections_per_host(HostDistance.LOCAL, 3)
    far[0].wait_for(lambda node: len(node.connections) == count_before + 2)


@pytest.mark.parametrize("method", ["on_up", "on_down"])
def test_an_address_is_not_a_host(method: str) -> None:
    """An address instead of a `Host` raises TypeError, which says how to get the host."""
    with pytest.raises(TypeError, match=r"is '10\.0\.0\.1': write cluster\.metadata\.get_host"):
        getattr(Cluster(), method)("10.0.0.1")


# -- listeners -------------------------------------------------------------------------------------


class HostStates(HostStateListener):
    """A listener that records host events such as ("down", address).

    :param on_event: called for each event, before it is recorded.
    """

    def __init__(self, on_event: Callable[[], object]) -> None:
        self.seen: list[tuple[str, str]] = []
        self._on_event = on_event

    def _record(self, event: str, host: Any) -> None:
        self._on_event()
        self.seen.append((event, host.address))

    def on_add(self, host: Any) -> None:
        self._record("add", host)

    def on_down(self, host: Any) -> None:
        self._record("down", host)


def test_a_listener_that_blocks_delays_no_requests() -> None:
    """Requests do not wait for a listener of hosts, and neither does `shutdown`."""
    may_go_on, has_begun = threading.Event(), threading.Event()

    def block() -> None:
        has_begun.set()
        assert may_go_on.wait(WAIT)

    with FakeCluster(2) as nodes:
        nodes.prime(READ, rows([("k", "int")], [(1,)]))
        with Cluster(nodes.contact_points, port=nodes.port) as cluster:
            session = cluster.connect(wait_for_all_pools=True)
            states = HostStates(block)
            cluster.register_listener(states)
            nodes.stop_node(nodes[1])
            assert has_begun.wait(WAIT)
            assert session.execute(READ, timeout=WAIT).one() == (1,)
        assert states.seen == []
        may_go_on.set()
        until(lambda: states.seen == [("down", nodes[1].address)])


def test_a_listener_may_execute_statements_and_shut_the_cluster_down() -> None:
    """Listeners of hosts run in a thread of their own, as in cassandra-driver."""
    results: list[Any] = []
    with FakeCluster(2) as nodes:
        nodes.prime(READ, rows([("k", "int")], [(1,)]))
        with Cluster(nodes.contact_points, port=nodes.port) as cluster:

            def use_cluster() -> None:
                results.append(session.execute(READ).one())
                cluster.shutdown()

            session = cluster.connect(wait_for_all_pools=True)
            states = HostStates(use_cluster)
            cluster.register_listener(states)
            nodes.stop_node(nodes[1])
            until(lambda: states.seen == [("down", nodes[1].address)])
            assert results == [(1,)]
            assert cluster.is_shutdown


def test_a_listener_knows_the_hosts_when_connect_returns() -> None:
    """`connect` waits until the listeners were called for all hosts, even if they are slow."""
    with FakeCluster(2) as nodes, Cluster(nodes.contact_points, port=nodes.port) as cluster:
        states = HostStates(lambda: time.sleep(0.01))
        cluster.register_listener(states)
        cluster.connect()
        assert sorted(states.seen) == [("add", node.address) for node in nodes.nodes]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize(
    ("in_parent", "expected"),
    [
        ("pass", "the row of the child"),
        # A `connect` that has failed leaves neither a thread nor connections, so the child can
        # connect.
        ("fail_to_connect()", "the row of the child"),
        ("cluster.connect()", "ConnectionShutdown: this Cluster was connected before the process"),
        ("cluster.shutdown()", "ConnectionShutdown: the cluster is shut down: make a new one"),
    ],
)
def test_a_forked_child_may_connect_a_cluster_that_is_not_connected(
    in_parent: str, expected: str
) -> None:
    """A forked child can connect a cluster that its parent process has made, but not connected.

    Servers often make a cluster before they fork their workers. A cluster that the parent has
    connected or shut down raises ConnectionShutdown.

    :param in_parent: what the parent does with its cluster before the fork.
    :param expected: the beginning of what the child prints.
    """
    code = f"""if True:
        import os
        from cassandra.cluster import Cluster, NoHostAvailable
        from cassandra.testing.fake import FakeCluster, rows
        with FakeCluster(1) as nodes:
            nodes.prime("SELECT v", rows([("v", "text")], [("the row of the child",)]))
            cluster = Cluster(nodes.contact_points, port=nodes.port)

            def fail_to_connect():
                nodes.stop_node(nodes[0])
                try:
                    cluster.connect()
                except NoHostAvailable:
                    nodes.start_node(nodes[0])

            {in_parent}
            child = os.fork()
            if child == 0:
                try:
                    print(cluster.connect().execute("SELECT v").one().v, flush=True)
                    cluster.shutdown()
                except Exception as error:
                    print(type(error).__name__ + ": " + str(error), flush=True)
                os._exit(0)
            os.waitpid(child, 0)
            cluster.shutdown()
    """
    process = run_python(code)
    assert process.stdout.startswith(expected), process.stderr


def test_a_signal_handler_leaves_the_lock_of_the_cluster_free(blocking_cluster: Cluster) -> None:
    """After a signal handler has interrupted `shutdown`, another `shutdown` closes the cluster."""
    session = blocking_cluster.connect()
    lock = blocking_cluster._lock = InterruptedLock(blocking_cluster._lock)  # type: ignore[assignment]
    with pytest.raises(Interrupt):
        blocking_cluster.shutdown()
    assert is_free(lock)
    blocking_cluster.shutdown()
    assert session.is_shutdown
    assert blocking_cluster._engine is None


def in_thread(call: Callable[[], object]) -> list[object]:
    """Make a call in another thread, and return its result or its error in a list.

    The list is empty if the call does not end.
    """
    outcomes: list[object] = []

    def work() -> None:
        try:
            outcomes.append(call())
        except Exception as error:
            outcomes.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(WAIT)
    return outcomes


def test_a_signal_handler_may_shut_down_a_cluster_that_connects(
    blocking_cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A handler runs in the thread that it interrupts, so `shutdown` cannot wait for `connect`."""
    new_session = blocking_cluster._new_session

    def interrupted(wait_for_all_pools: bool) -> Session:
        blocking_cluster.shutdown()
        return new_session(wait_for_all_pools)

    monkeypatch.setattr(blocking_cluster, "_new_session", interrupted)
    [error] = in_thread(blocking_cluster.connect)
    assert isinstance(error, ConnectionShutdown)
    assert blocking_cluster._engine is None
    assert is_free(blocking_cluster._lock)


def test_a_signal_handler_may_shut_down_a_cluster_that_shuts_down(
    blocking_cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A handler may call `shutdown` while the interrupted thread closes the engine."""
    session = blocking_cluster.connect()
    thread = blocking_cluster._required_loop_thread
    run = thread.run

    def interrupted(coroutine: Any, timeout: float | None = None) -> Any:
        monkeypatch.undo()
        blocking_cluster.shutdown()
        return run(coroutine, timeout)

    monkeypatch.setattr(thread, "run", interrupted, raising=False)
    assert in_thread(blocking_cluster.shutdown) == [None]
    assert session.is_shutdown
    assert blocking_cluster._engine is None
    assert is_free(blocking_cluster._lock)


def test_without_threads_the_error_names_another_api(
    blocking_cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before Python 3.12, an isolated sub-interpreter has no threads, and closes no loops."""
    loops: list[Any] = []

    def refuse(thread: loop_module.LoopThread) -> None:
        loops.append(thread.loop)
        raise RuntimeError("thread is not supported for isolated subinterpreters")

    monkeypatch.setattr(loop_module.LoopThread, "start", refuse)
    with pytest.raises(RuntimeError, match=r"isolated subinterpreters: use cassandra\.aio here"):
        blocking_cluster.connect()
    assert blocking_cluster._engine is None
    [loop] = loops
    assert not loop.is_closed()
    loop.close()
