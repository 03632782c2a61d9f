"""Test methods that clusters and sessions of other drivers have, without a node."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra._compat.cluster import CompatCluster, CompatSession
from cassandra.errors import ConnectionException, ConnectionShutdown

# A fake host. `on_up` and `on_down` accept any object that has the attribute `is_up`.
HOST: Any = SimpleNamespace(is_up=True)


class Stub(CompatCluster):
    """A cluster object with a stub of the engine, which records calls in `calls`."""

    executor_threads = 1
    is_shutdown = False

    def __init__(self) -> None:
        self.calls: list[Any] = []
        # The stub calls functions at once, and returns coroutines instead of running them.
        call: Any = lambda function, *args: function(*args)  # noqa: E731
        hosts = SimpleNamespace(
            on_reported_up=lambda host: self.calls.append(("up", host)),
            on_reported_down=lambda host: self.calls.append(("down", host)),
        )
        self.pool = object()
        session = SimpleNamespace(all_pools=lambda: [self.pool])
        self._core: Any = SimpleNamespace(
            loop=SimpleNamespace(call_soon_threadsafe=call),
            hosts=hosts,
            sessions=[session],
            open_connection=lambda endpoint: ("opens", endpoint),
        )
        self._run = lambda coroutine: coroutine
        self._not_connected = lambda: ConnectionException("not connected")
        self.refresh_nodes = lambda: self.calls.append("refresh")


def test_reported_states_are_passed_to_the_engine() -> None:
    """`on_up` and `on_down` pass a host's state to the engine, and refuse anything but a host."""
    cluster = Stub()
    cluster.on_up(HOST)
    # The engine needs neither of the two further arguments that cassandra-driver passes.
    cluster.on_down(HOST, is_host_addition=True, expect_host_to_be_down=True)
    assert cluster.calls == [("up", HOST), ("down", HOST)]
    for address, advice in (("10.0.0.1", r"get_host\('10\.0\.0\.1'\)"), (5, "get_host")):
        wrong: Any = address
        with pytest.raises(TypeError, match=f"host must be a Host of cluster.metadata.*{advice}"):
            cluster.on_up(wrong)
    cluster._core = None
    cluster.on_up(HOST)  # before `connect` there is no engine to notify
    assert len(cluster.calls) == 2


def test_added_and_removed_hosts_refresh_the_node_list() -> None:
    cluster = Stub()
    cluster.on_add(HOST, refresh_nodes=False)
    assert cluster.calls == []
    cluster.on_add(HOST)
    cluster.on_remove(HOST)
    assert cluster.calls == ["refresh"] * 2


def test_the_owners_of_connections() -> None:
    """`get_connection_holders` returns the pools and the control connection.

    `connection_factory` opens a connection that belongs to none of these. Without an engine, there
    are no holders, and no connection can be opened.
    """
    cluster = Stub()
    control_connection = cluster.control_connection
    assert cluster.control_connection is control_connection
    assert cluster.get_connection_holders() == [cluster.pool, control_connection]
    endpoint = object()
    # Arguments after the endpoint have no effect.
    opened: Any = cluster.connection_factory(endpoint, 1, two=2)
    assert opened == ("opens", endpoint)
    # `_core` is the engine. A cluster that is not connected has none.
    cluster._core = None
    assert cluster.get_connection_holders() == []
    with pytest.raises(ConnectionException, match="not connected"):
        cluster.connection_factory(endpoint)


def test_a_session_submits_work_to_the_threads_of_its_cluster() -> None:
    """`session.submit` runs a function in the thread pool of the session's cluster."""
    session = CompatSession()
    cluster = session.cluster = Stub()
    executor = cluster.executor
    try:
        assert cluster.executor is executor
        future = session.submit(lambda *args, **named: (args, named, threading.get_ident()), 1, a=2)
        args, named, thread = future.result(60)
        assert (args, named) == ((1,), {"a": 2})
        assert thread != threading.get_ident()
    finally:
        executor.shutdown()
    cluster.is_shutdown = True
    with pytest.raises(ConnectionShutdown, match="the cluster is shut down"):
        session.submit(print)


def test_a_session_registers_types_with_its_cluster() -> None:
    calls: list[Any] = []
    session = CompatSession()
    session.cluster = SimpleNamespace(register_user_type=lambda *args: calls.append(args))
    session.user_type_registered("ks", "address", dict)
    assert calls == [("ks", "address", dict)]


@pytest.mark.parametrize("method", ["execute_graph", "execute_graph_async"])
def test_graphs_are_refused(method: str) -> None:
    with pytest.raises(NotImplementedError, match=f"Session.{method}"):
        getattr(CompatSession(), method)("g.V()")
