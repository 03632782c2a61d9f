"""Tests of the driver with `ClientRoutesConfig`: each node is behind a proxy of a private network.

With `ClientRoutesConfig`, the driver reads the addresses of the proxies from the table
``system.client_routes``.

The tests cover reading the routes and their changes, TLS, shards, and the blocking and asyncio
APIs.
"""

from __future__ import annotations

import asyncio
import re
import ssl
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cassandra import aio
from cassandra.client_routes import ClientRouteProxy, ClientRoutesChangeType, ClientRoutesConfig
from cassandra.cluster import Cluster, NoHostAvailable, Session
from cassandra.connection import (
    ClientRoutesEndPoint,
    ClientRoutesEndPointFactory,
    DefaultEndPointFactory,
)
from cassandra.engine.control.client_routes import ClientRoutes
from cassandra.errors import ConnectionException
from cassandra.policies import AddressTranslator, ConstantReconnectionPolicy
from cassandra.testing.fake import ErrorCode, FakeCluster, FakeNode, Scylla, error
from cassandra.testing.tls import TlsMaterial
from tests.proxies import Proxies, Proxy, put_proxies_before
from tests.unit.engine.pools.test_shards_on_nodes import all_connected, check_arrivals
from tests.waiting import until

READ = "SELECT v FROM ks.t WHERE k = ?"
SHARDS = 3  # shards of each node; a session's pool has one connection for each shard


@pytest.fixture
def nodes() -> Iterator[FakeCluster]:
    """Yield three ScyllaDB nodes with the table `ks.t`."""
    with FakeCluster(3, scylla=Scylla(SHARDS)) as running:
        running.scylla.keyspace("ks", replication_factor=2)
        running.scylla.table("ks", "t")
        yield running


@pytest.fixture
def proxies(nodes: FakeCluster) -> Iterator[Proxies]:
    """Put a proxy before each node, add a route to each proxy, and yield the proxies by host id."""
    proxy_by_host = put_proxies_before(nodes)
    yield proxy_by_host
    for proxy in proxy_by_host.values():
        proxy.close()


def settings_of(nodes: FakeCluster, **settings: Any) -> dict[str, Any]:
    """Return settings of a `Cluster` that reaches these nodes by the routes of "c1"."""
    config = ClientRoutesConfig([ClientRouteProxy("c1")])
    points = {"contact_points": nodes.contact_points[:1], "port": nodes.port}
    return {**points, "client_routes_config": config, **settings}


@pytest.fixture
def session(nodes: FakeCluster, proxies: Proxies) -> Iterator[Session]:
    with Cluster(**settings_of(nodes)) as cluster:
        new_session = cluster.connect(wait_for_all_pools=True)
        until(lambda: all_connected(cluster))
        yield new_session


def count_pool_connections(node: FakeNode) -> int:
    """Return the number of connections that the node has for pools.

    The control connection is left out: only this connection is registered for events.
    """
    return sum(not connection.event_types for connection in node.connections)


def control_connection(nodes: FakeCluster) -> Any:
    """Return the only connection that is registered for events."""
    (connection,) = (
        connection
        for node in nodes.nodes
        for connection in node.connections
        if connection.event_types
    )
    return connection


def queries_of_routes(nodes: FakeCluster) -> list[str]:
    """Return all queries of the table `system.client_routes` that the nodes have received."""
    queries = [request.query or "" for request in nodes.requests]
    return [query for query in queries if "client_routes" in query]


# -- connections through proxies -------------------------------------------------------------------


def test_all_pools_go_through_the_proxies(
    nodes: FakeCluster, proxies: Proxies, session: Session
) -> None:
    """A session opens its pool connections to the addresses of the routes.

    These addresses lead to the proxies. A pool has one connection for each shard of its node.
    """
    for node in nodes.nodes:
        # All connections of the pool go through the proxy.
        assert count_pool_connections(node) == SHARDS
        assert proxies[node.host_id].now == SHARDS
    # Each request reaches the shard of its partition, although the connections go through a proxy.
    prepared = session.prepare(READ)
    for key in range(200):
        session.execute(prepared, (key,))
    check_arrivals(nodes, count=200)


async def test_asyncio_sessions_use_the_proxies(nodes: FakeCluster, proxies: Proxies) -> None:
    """An asyncio session also opens one connection for each shard through the node's proxy."""
    async with aio.Cluster(**settings_of(nodes)) as cluster:
        session = await cluster.connect(wait_for_all_pools=True)
        await asyncio.to_thread(until, lambda: all_connected(cluster))
        await session.execute("SELECT 1")
        for node in nodes.nodes:
            assert proxies[node.host_id].now == SHARDS


def test_hosts_have_their_own_addresses(nodes: FakeCluster, session: Session) -> None:
    """`Host.address` is the address of the node, although connections go to the node's proxy.

    Events and the schema name nodes by this address. Only the host's end point knows the route.
    """
    hosts = session.cluster.metadata.all_hosts()
    assert sorted(host.address for host in hosts) == sorted(nodes.contact_points)
    for host in hosts:
        assert isinstance(host.endpoint, ClientRoutesEndPoint)
        assert host.endpoint.host_id == host.host_id
        assert str(host.endpoint) == f"{host.address} (host_id={host.host_id})"
        # Events name nodes by the nodes' own addresses, not by the proxies' addresses, so
        # `get_host` must find the host by the node's own address.
        assert session.cluster.metadata.get_host(host.address) is host


def test_the_driver_reads_routes_and_registers_for_their_changes(
    nodes: FakeCluster, session: Session
) -> None:
    """With `client_routes_config`, the driver reads only the routes with its connection IDs.

    It registers for CLIENT_ROUTES_CHANGE events.
    """
    assert set(queries_of_routes(nodes)) == {
        "SELECT connection_id, host_id, address, port, tls_port FROM system.client_routes "
        "WHERE connection_id IN ('c1')"
    }
    assert "CLIENT_ROUTES_CHANGE" in control_connection(nodes).event_types


def test_without_the_setting_no_route_is_read_and_no_event_registered(
    nodes: FakeCluster, proxies: Proxies
) -> None:
    """Without `client_routes_config`, the driver connects to the nodes' own addresses.

    This is so although the nodes have routes.
    """
    with Cluster(nodes.contact_points, port=nodes.port) as cluster:
        cluster.connect(wait_for_all_pools=True)
        assert "CLIENT_ROUTES_CHANGE" not in control_connection(nodes).event_types
        assert not queries_of_routes(nodes)
        assert not any(proxy.opened for proxy in proxies.values())


def test_connect_to_a_server_without_routes_names_the_version_needed() -> None:
    """If the table of routes does not exist, `connect` fails and names the required version.

    The table exists since ScyllaDB 2026.1.
    """
    with (
        FakeCluster(1, scylla=Scylla(shards=2, client_routes=False)) as nodes,
        Cluster(**settings_of(nodes)) as cluster,
    ):
        with pytest.raises(NoHostAvailable) as caught:
            cluster.connect()
        (error,) = caught.value.errors.values()
        assert "2026.1" in str(error)
        assert "unconfigured table" in str(error)
        assert not nodes[0].malformed


def test_a_node_without_a_route_is_reached_at_its_own_address(
    nodes: FakeCluster, proxies: Proxies
) -> None:
    """If only some nodes have a route, the driver connects directly to the other nodes."""
    node = nodes[2]
    # This call without an address removes the node's route. The driver reads the routes with the
    # connection id "c1", as configured in `settings_of`.
    nodes.scylla.route("c1", node.host_id)
    with Cluster(**settings_of(nodes)) as cluster:
        cluster.connect(wait_for_all_pools=True)
        until(lambda: all_connected(cluster))
        assert count_pool_connections(node) == SHARDS
        # The proxy of this node has never accepted a connection, while all connections to another
        # node go through its proxy. `now` counts the connections that are open now.
        assert proxies[node.host_id].opened == 0
        assert proxies[nodes[1].host_id].now == SHARDS


def test_routes_with_other_connection_ids_are_ignored(nodes: FakeCluster, proxies: Proxies) -> None:
    """The driver uses only routes whose connection id is configured ("c1").

    The routes with the id "another" lead to an address where no server listens.
    """
    for node in nodes.nodes:
        nodes.scylla.route("another", node.host_id, "192.0.2.1", 1)
    with Cluster(**settings_of(nodes)) as cluster:
        cluster.connect(wait_for_all_pools=True)
        until(lambda: all_connected(cluster))


def test_an_override_is_the_contact_point_and_the_address_of_all_routes(
    nodes: FakeCluster, proxies: Proxies
) -> None:
    """The second argument of `ClientRouteProxy` replaces the address in all routes.

    The ports of the routes stay. Without other contact points, the driver also uses this address as
    its contact point.
    """
    for node in nodes.nodes:
        nodes.scylla.route("c1", node.host_id, "192.0.2.1", proxies[node.host_id].port)
    config = ClientRoutesConfig([ClientRouteProxy("c1", connection_addr_override="127.0.0.1")])
    contact_port = proxies[nodes[0].host_id].port
    with Cluster(port=contact_port, client_routes_config=config) as cluster:
        assert cluster.contact_points == ["127.0.0.1"]
        cluster.connect(wait_for_all_pools=True)
        until(lambda: all_connected(cluster))
        # The first node's proxy has one connection more than its shards: the control connection.
        counts = [proxies[node.host_id].now for node in nodes.nodes]
        assert counts == [SHARDS + 1, SHARDS, SHARDS]
    # Contact points that the application passes take precedence over the contact points of
    # `config`.
    assert Cluster(["127.0.0.2"], client_routes_config=config).contact_points == ["127.0.0.2"]
    assert Cluster(client_routes_config=config).contact_points == ["127.0.0.1"]


def test_an_address_translator_has_no_effect(nodes: FakeCluster, proxies: Proxies) -> None:
    """With client routes, the driver does not call the address translator.

    The routes replace the translation.
    """

    class RefusingTranslator(AddressTranslator):
        def translate(self, addr: str) -> str:
            raise AssertionError(addr)

    with Cluster(**settings_of(nodes, address_translator=RefusingTranslator())) as cluster:
        cluster.connect(wait_for_all_pools=True)


# -- changes ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_new_connections_use_the_changed_route(
    nodes: FakeCluster, proxies: Proxies, session: Session
) -> None:
    """A changed route affects only connections that are opened after the change."""
    node = nodes[1]
    host = session.cluster.metadata.get_host(node.address)
    new_proxy = Proxy(node)
    try:
        nodes.scylla.route("c1", node.host_id, new_proxy.address, new_proxy.port)
        assert host is not None
        address = (new_proxy.address, new_proxy.port)
        until(lambda: host.endpoint.resolve() == address)
        # A new route changes neither the open connections nor the host object.
        assert proxies[node.host_id].now == SHARDS
        assert new_proxy.opened == 0
        assert session.cluster.metadata.get_host(node.address) is host
        # Closing the old proxy breaks its connections. The pool then connects to the new proxy.
        proxies[node.host_id].close()
        until(lambda: new_proxy.now == SHARDS and all_connected(session.cluster))
    finally:
        new_proxy.close()


def test_a_new_route_to_a_lost_node_is_tried_at_once(nodes: FakeCluster, proxies: Proxies) -> None:
    """If the route to an unreachable node changes, the driver connects to the node at once.

    Without the change, the driver would wait for the next reconnection attempt, here for ten
    minutes.
    """
    policy = ConstantReconnectionPolicy(delay=600, max_attempts=None)
    with Cluster(**settings_of(nodes, reconnection_policy=policy)) as cluster:
        cluster.connect(wait_for_all_pools=True)
        until(lambda: all_connected(cluster))
        node = nodes[1]
        proxies[node.host_id].close()
        host = cluster.metadata.get_host(node.address)
        assert host is not None
        until(lambda: host.is_up is False)
        new_proxy = Proxy(node)
        try:
            nodes.scylla.route("c1", node.host_id, new_proxy.address, new_proxy.port)
            until(lambda: host.is_up and new_proxy.now == SHARDS)
        finally:
            new_proxy.close()


def test_routes_are_read_again_after_a_failed_reading(nodes: FakeCluster, session: Session) -> None:
    """If the query for a changed route fails, the driver queries the routes again.

    The server sends its event only once. Without a second query, new connections would use the old
    route for ever.
    """
    for node in nodes.nodes:
        node.prime(re.compile("client_routes"), error(ErrorCode.SERVER_ERROR), times=1)
    nodes.scylla.route("c1", nodes[1].host_id, "192.0.2.1", 1)
    host = session.cluster.metadata.get_host(nodes[1].address)
    assert host is not None
    until(lambda: host.endpoint.resolve() == ("192.0.2.1", 1))


def test_changes_for_other_connection_ids_cause_no_reading(
    nodes: FakeCluster, session: Session
) -> None:
    """A route change is handled only if its connection id is configured.

    Then the driver queries the routes again. Here, "c1" is configured and "another" is not.
    """
    new_address, new_port = "192.0.2.1", 1
    nodes.scylla.route("another", nodes[0].host_id, new_address, new_port)
    count_before = len(queries_of_routes(nodes))
    nodes.scylla.route("c1", nodes[0].host_id, new_address, new_port)
    host = session.cluster.metadata.get_host(nodes[0].address)
    assert host is not None
    until(lambda: host.endpoint.resolve() == (new_address, new_port))
    # The driver has queried the routes once more: for the change of "c1", whose id is configured.
    assert len(queries_of_routes(nodes)) == count_before + 1


def test_a_node_that_joins_is_reached_by_its_route(nodes: FakeCluster, session: Session) -> None:
    """If a node joins and has a route, the session opens its pool to the address of the route."""
    node = nodes._start_new("datacenter1", "rack1", token=5)
    proxy = Proxy(node)
    try:
        nodes.scylla.route("c1", node.host_id, proxy.address, proxy.port)
        nodes.tell("TOPOLOGY_CHANGE", "NEW_NODE", node)
        until(lambda: proxy.now == SHARDS and all_connected(session.cluster))
        # The cluster had three nodes before.
        assert len(session.cluster.metadata.all_hosts()) == 4
    finally:
        proxy.close()


def test_a_new_control_connection_reads_the_routes_again(
    nodes: FakeCluster, proxies: Proxies, session: Session
) -> None:
    """A new control connection reads the routes again.

    The old control connection may have missed events.
    """
    cluster = session.cluster
    control_host = cluster.get_control_connection_host()
    assert control_host is not None
    node = nodes.node_at(control_host.address)
    new_proxy = Proxy(nodes[2])
    try:
        # Without entries in this list, the nodes send no events, so the driver can learn of the
        # change only by reading the routes.
        nodes.scylla.nodes.clear()
        nodes.scylla.route("c1", nodes[2].host_id, new_proxy.address, new_proxy.port)
        (control,) = [connection for connection in node.connections if connection.event_types]
        node.loop.call_soon_threadsafe(control.end)
        host = cluster.metadata.get_host(nodes[2].address)
        assert host is not None
        until(lambda: host.endpoint.resolve() == (new_proxy.address, new_proxy.port))
    finally:
        new_proxy.close()


# -- shards ----------------------------------------------------------------------------------------


def test_the_shard_aware_port_is_used_only_with_advanced_shard_awareness(
    nodes: FakeCluster, proxies: Proxies
) -> None:
    """Connections go to the shard-aware port of a node only with `advanced_shard_awareness`.

    On this port, the client's port decides the shard. This works only if the proxy keeps the
    client's port.
    """
    with Cluster(**settings_of(nodes)) as cluster:
        cluster.connect(wait_for_all_pools=True)
        until(lambda: all_connected(cluster))
        ports = {connection.local_port for node in nodes.nodes for connection in node.connections}
        assert ports == {nodes.port}
    nodes_by_id = {node.host_id: node for node in nodes.scylla.nodes}
    for host_id, node in nodes_by_id.items():
        # This route leads directly to the shard-aware port, without a proxy, so the client's port
        # is kept.
        nodes.scylla.route("c1", host_id, node.address, node.shard_aware_port)
    config = ClientRoutesConfig([ClientRouteProxy("c1")], advanced_shard_awareness=True)
    with Cluster(**settings_of(nodes, client_routes_config=config)) as cluster:
        cluster.connect(wait_for_all_pools=True)
        until(lambda: all_connected(cluster))
        for node in nodes_by_id.values():
            pooled = [connection for connection in node.connections if not connection.event_types]
            # The shard of a connection is the client's port modulo the number of shards.
            connections_by_port = [
                connection
                for connection in pooled
                if connection.peer and connection.peer[1] % SHARDS == connection.shard
            ]
            assert len(pooled) == SHARDS
            # The first connection to a node is opened before the driver knows the node's shards, so
            # its port may belong to another shard.
            assert len(connections_by_port) >= SHARDS - 1
            assert all(connection.local_port == node.shard_aware_port for connection in pooled)


# -- TLS -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def material(tmp_path_factory: pytest.TempPathFactory) -> TlsMaterial:
    """Return certificates of an authority, a client and nodes."""
    return TlsMaterial.make(str(tmp_path_factory.mktemp("tls")), "required")


def tls_contexts(material: TlsMaterial) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Return the TLS contexts of nodes and of a client that verifies nothing."""
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    # The client verifies nothing, so the nodes can use any certificate, here the client's.
    server.load_cert_chain(material.client_certificate, material.client_key)
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname = False
    client.verify_mode = ssl.CERT_NONE
    return server, client


def test_with_tls_the_tls_port_of_a_route_is_used(material: TlsMaterial) -> None:
    """With TLS, connections go to the `tls_port` of a route instead of its `port`."""
    server, client = tls_contexts(material)
    with FakeCluster(2, scylla=Scylla(shards=2), ssl_context=server) as nodes:
        proxies = {node.host_id: Proxy(node) for node in nodes.nodes}
        for host_id, proxy in proxies.items():
            nodes.scylla.route("c1", host_id, "127.0.0.1", port=1, tls_port=proxy.port)
        with Cluster(**settings_of(nodes, ssl_context=client)) as cluster:
            cluster.connect(wait_for_all_pools=True)
            until(lambda: all_connected(cluster))
            assert [proxy.now for proxy in proxies.values()] == [2, 2]
        for proxy in proxies.values():
            proxy.close()


def test_with_tls_a_route_without_a_tls_port_is_an_error(material: TlsMaterial) -> None:
    """With TLS, a route without a `tls_port` is invalid.

    Without any valid route, `connect` fails.
    """
    server, client = tls_contexts(material)
    with FakeCluster(1, scylla=Scylla(2), ssl_context=server) as nodes:
        nodes.scylla.route("c1", nodes[0].host_id, "127.0.0.1", 9001)
        with (
            Cluster(**settings_of(nodes, ssl_context=client)) as cluster,
            pytest.raises(NoHostAvailable) as caught,
        ):
            cluster.connect()
        assert "All 1 route rows failed validation" in str(caught.value)


def test_check_hostname_needs_a_configured_server_hostname(material: TlsMaterial) -> None:
    """With routes, `check_hostname` needs a configured `server_hostname`.

    The certificates of nodes do not contain the names of the proxies, so the names could never
    match.
    """
    checking_context = ssl.create_default_context()
    config = ClientRoutesConfig([ClientRouteProxy("c1")])
    with pytest.raises(ValueError, match="check_hostname"):
        Cluster(client_routes_config=config, ssl_context=checking_context)
    with pytest.raises(ValueError, match="check_hostname"):
        Cluster(
            client_routes_config=config,
            ssl_options={"ca_certs": material.ca_certificate, "check_hostname": True},
        )
    # These two settings are accepted: a configured name, and a context that checks no name.
    options = {"server_hostname": "nodes.example.com"}
    Cluster(client_routes_config=config, ssl_context=checking_context, ssl_options=options)
    checking_context.check_hostname = False
    Cluster(client_routes_config=config, ssl_context=checking_context)


# -- the classes -----------------------------------------------------------------------------------

# Host ids of two nodes.
HOST_A, HOST_B = uuid.UUID(int=1), uuid.UUID(int=2)


def route_row(
    connection_id: str, host_id: uuid.UUID | None, address: str | None, port: int | None
) -> dict[str, Any]:
    """Return a row of `system.client_routes` without a TLS port."""
    return {
        "connection_id": connection_id,
        "host_id": host_id,
        "address": address,
        "port": port,
        "tls_port": None,
    }


def routes_of(*connection_ids: str) -> ClientRoutes:
    """Return the routes of a cluster with these connection ids, before any route is read."""
    return ClientRoutes(
        ClientRoutesConfig([ClientRouteProxy(connection_id) for connection_id in connection_ids])
    )


def test_a_node_keeps_its_connection_id_while_a_row_has_it() -> None:
    """A node keeps the connection id of its first route as long as a route with this id exists.

    The table may have routes to the same node for several of the configured connection ids.

    `ClientRoutes.take` adopts rows, and returns whether the location of a node has changed.
    """
    client_routes = routes_of("b", "a")
    row_a = route_row("a", HOST_A, "proxy-a", 1)
    changed_row_a = route_row("a", HOST_A, "proxy-a", 3)
    row_b = route_row("b", HOST_A, "proxy-b", 2)
    assert client_routes.take([row_a, row_b], tls=False)
    # At first, the order of the rows decides, not the order of the configured ids: "a" comes first.
    assert client_routes.location_of(HOST_A) == ("proxy-a", 1)
    # Now the row of "b" comes first, but the node keeps "a". Only its port has changed.
    assert client_routes.take([row_b, changed_row_a], tls=False)
    assert client_routes.location_of(HOST_A) == ("proxy-a", 3)
    assert not client_routes.take([row_b, changed_row_a], tls=False)
    # No row with "a" is left, so the node gets the id "b".
    assert client_routes.take([row_b], tls=False)
    assert client_routes.location_of(HOST_A) == ("proxy-b", 2)
    assert client_routes.take([], tls=False)
    assert client_routes.location_of(HOST_A) is None


@pytest.mark.parametrize(
    "invalid_row",
    [
        route_row("a", host_id=None, address="p", port=1),
        route_row("a", HOST_A, address=None, port=1),
        route_row("a", HOST_A, address="", port=1),
        route_row("a", HOST_A, "p", port=None),
        route_row("a", HOST_A, "p", port=0),
        route_row("a", HOST_A, "p", port=70000),
    ],
)
def test_invalid_route_rows_are_skipped_unless_all_are_invalid(invalid_row: dict[str, Any]) -> None:
    """`ClientRoutes.take` skips rows without a host id, an address or a valid port.

    If no row is valid, it raises ConnectionException.
    """
    client_routes = routes_of("a")
    assert client_routes.take([invalid_row, route_row("a", HOST_B, "p", 2)], tls=False)
    assert client_routes.location_of(HOST_B) == ("p", 2)
    assert client_routes.location_of(HOST_A) is None
    with pytest.raises(ConnectionException, match="All 2 route rows failed validation"):
        client_routes.take([invalid_row, invalid_row], tls=False)
    assert client_routes.location_of(HOST_B) == ("p", 2)  # The old route is kept.


def test_events_concern_only_the_configured_connection_ids() -> None:
    client_routes = routes_of("a", "b")
    assert client_routes.concerns(["b", "x"])
    assert client_routes.concerns([])  # an event without ids may concern any connection id
    assert not client_routes.concerns(["x"])


def test_quotes_in_a_connection_id_are_doubled() -> None:
    assert routes_of("it's").query.endswith("IN ('it''s')")


def test_an_end_point_resolves_to_its_route_and_compares_by_host() -> None:
    """`resolve` returns the location of the node's route.

    Without a route, it returns the node's address. The end point's own `address` stays the node's
    address. Two end points are equal if their host ids and addresses are equal.
    """
    client_routes = routes_of("a")
    endpoint = ClientRoutesEndPoint(HOST_A, client_routes, "10.0.0.1")
    assert endpoint.address == "10.0.0.1"
    assert endpoint.port == 9042
    assert endpoint.resolve() == ("10.0.0.1", 9042)
    client_routes.take([route_row("a", HOST_A, "proxy", 9001)], tls=False)
    assert endpoint.resolve() == ("proxy", 9001)
    assert endpoint.address == "10.0.0.1"
    assert endpoint.port == 9042
    assert endpoint.leads_to_one_node  # at each address of the proxy
    assert endpoint == ClientRoutesEndPoint(HOST_A, client_routes, "10.0.0.1", 9043)  # another port
    assert endpoint != ClientRoutesEndPoint(HOST_B, client_routes, "10.0.0.1")
    assert endpoint != ClientRoutesEndPoint(HOST_A, client_routes, "10.0.0.2")
    assert hash(endpoint) == hash(ClientRoutesEndPoint(HOST_A, client_routes, "10.0.0.1"))
    factory = ClientRoutesEndPointFactory(client_routes, 9000)
    other_endpoint = factory.create({"host_id": HOST_B, "rpc_address": "10.0.0.2"})
    assert other_endpoint.resolve() == ("10.0.0.2", 9000)
    with pytest.raises(ValueError, match="host_id"):
        factory.create({"rpc_address": "10.0.0.2"})


def unchecked_proxy(*args: Any) -> ClientRouteProxy:
    """Return a ClientRouteProxy. The `Any` parameters let tests pass arguments of wrong types."""
    return ClientRouteProxy(*args)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: unchecked_proxy(None), ValueError),
        (lambda: unchecked_proxy(""), ValueError),
        (lambda: unchecked_proxy(7), TypeError),
        (lambda: unchecked_proxy("a", 7), TypeError),
        (lambda: ClientRoutesConfig(proxies=[]), ValueError),
        (lambda: ClientRoutesConfig(unchecked_proxy("a")), TypeError),  # type: ignore[arg-type]
        (lambda: ClientRoutesConfig(["a"]), TypeError),  # type: ignore[list-item]
        (lambda: Cluster(client_routes_config="a"), TypeError),  # type: ignore[arg-type]
        (
            lambda: Cluster(
                client_routes_config=ClientRoutesConfig([unchecked_proxy("a")]),
                endpoint_factory=DefaultEndPointFactory(),
            ),
            ValueError,
        ),
    ],
)
def test_wrong_settings(call: Callable[[], object], error: type[Exception]) -> None:
    with pytest.raises(error):
        call()


def test_a_change_type_has_the_name_that_servers_send() -> None:
    assert ClientRoutesChangeType("UPDATE_NODES") is ClientRoutesChangeType.UPDATE_NODES


def test_proxies_are_compared_by_value_and_reprs_show_all_settings() -> None:
    """Proxies with equal settings are equal, and their `repr` shows all settings."""
    proxy = ClientRouteProxy(connection_id="a", connection_addr_override="b")
    assert proxy == ClientRouteProxy(connection_id="a", connection_addr_override="b")
    assert proxy != ClientRouteProxy(connection_id="a")
    assert repr(proxy) == "ClientRouteProxy(connection_id='a', connection_addr_override='b')"
    assert repr(ClientRoutesConfig((proxy,))) == (
        f"ClientRoutesConfig(proxies=({proxy!r},), advanced_shard_awareness=False)"
    )
