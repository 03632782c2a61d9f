"""Nodes behind the proxies of a private network: routes, their changes, TLS, shards, both faces."""

from __future__ import annotations

import asyncio
import ssl
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cassandra import aio
from cassandra.client_routes import (
    ClientRouteProxy,
    ClientRoutesChangeType,
    ClientRoutesConfig,
)
from cassandra.cluster import Cluster, NoHostAvailable, Session
from cassandra.connection import (
    ClientRoutesEndPoint,
    ClientRoutesEndPointFactory,
    DefaultEndPointFactory,
)
from cassandra.engine.control.client_routes import ClientRoutes
from cassandra.errors import ConnectionException
from cassandra.policies import AddressTranslator, ConstantReconnectionPolicy
from cassandra.testing.fake import FakeCluster, FakeNode, Scylla
from cassandra.testing.tls import TlsMaterial
from tests.proxies import Proxies, Proxy, behind
from tests.unit.engine.pools.test_shards import all_connected
from tests.waiting import until

TEXT = "SELECT v FROM ks.t WHERE k = ?"


@pytest.fixture
def nodes() -> Iterator[FakeCluster]:
    with FakeCluster(3, scylla=Scylla(3)) as running:
        running.scylla.keyspace("ks", replication_factor=2)
        running.scylla.table("ks", "t")
        yield running


@pytest.fixture
def proxies(nodes: FakeCluster) -> Iterator[Proxies]:
    made = behind(nodes)
    yield made
    for proxy in made.values():
        proxy.close()


def settings_of(nodes: FakeCluster, **settings: Any) -> dict[str, Any]:
    config = ClientRoutesConfig([ClientRouteProxy("c1")])
    points = {"contact_points": nodes.contact_points[:1], "port": nodes.port}
    return {**points, "client_routes_config": config, **settings}


@pytest.fixture
def session(nodes: FakeCluster, proxies: Proxies) -> Iterator[Session]:
    with Cluster(**settings_of(nodes)) as cluster:
        made = cluster.connect(wait_for_all_pools=True)
        until(lambda: all_connected(cluster))
        yield made


def pool_connections(node: FakeNode) -> int:
    return sum(not one.event_types for one in node.connections)


# -- the way to the nodes --------------------------------------------------------------------------


def test_all_pools_go_through_the_proxies(
    nodes: FakeCluster, proxies: Proxies, session: Session
) -> None:
    for node in nodes.nodes:
        assert pool_connections(node) == proxies[node.host_id].now == 3
    # Requests still find the shard of their partition.
    prepared = session.prepare(TEXT)
    for key in range(200):
        session.execute(prepared, (key,))
    arrivals = nodes.scylla.arrivals
    assert (arrivals.right, arrivals.counted) == (200, 200)


async def test_the_asyncio_face(nodes: FakeCluster, proxies: Proxies) -> None:
    async with aio.Cluster(**settings_of(nodes)) as cluster:
        session = await cluster.connect(wait_for_all_pools=True)
        await asyncio.to_thread(until, lambda: all_connected(cluster))
        await session.execute("SELECT 1")
        assert [proxies[node.host_id].now for node in nodes.nodes] == [3, 3, 3]


def test_hosts_have_their_own_addresses(nodes: FakeCluster, session: Session) -> None:
    hosts = session.cluster.metadata.all_hosts()
    assert sorted(host.address for host in hosts) == sorted(nodes.contact_points)
    for host in hosts:
        assert isinstance(host.endpoint, ClientRoutesEndPoint)
        assert host.endpoint.host_id == host.host_id
        assert str(host.endpoint) == f"{host.address} (host_id={host.host_id})"
        # Events name nodes by these.
        assert session.cluster.metadata.get_host(host.address) is host


def test_what_is_asked_and_registered(nodes: FakeCluster, session: Session) -> None:
    asked = [one.query for one in nodes.requests if one.query and "client_routes" in one.query]
    assert asked
    assert set(asked) == {
        "SELECT connection_id, host_id, address, port, tls_port FROM system.client_routes "
        "WHERE connection_id IN ('c1')"
    }
    (control,) = [one for node in nodes.nodes for one in node.connections if one.event_types]
    assert "CLIENT_ROUTES_CHANGE" in control.event_types


def test_without_the_setting_nothing_of_it_is_asked(nodes: FakeCluster, proxies: Proxies) -> None:
    with Cluster(nodes.contact_points, port=nodes.port) as cluster:
        cluster.connect(wait_for_all_pools=True)
        (control,) = [one for node in nodes.nodes for one in node.connections if one.event_types]
        assert "CLIENT_ROUTES_CHANGE" not in control.event_types
        assert not any("client_routes" in (one.query or "") for one in nodes.requests)
        assert not any(proxy.opened for proxy in proxies.values())


def test_a_server_without_routes_says_so() -> None:
    with (
        FakeCluster(1, scylla=Scylla(2, client_routes=False)) as nodes,
        Cluster(**settings_of(nodes)) as cluster,
    ):
        with pytest.raises(NoHostAvailable) as caught:
            cluster.connect()
        (error,) = caught.value.errors.values()
        assert "2026.1" in str(error)
        assert "unconfigured table" in str(error)
        assert not nodes[0].malformed


def test_a_node_without_a_route_is_reached_where_it_says_it_is(
    nodes: FakeCluster, proxies: Proxies
) -> None:
    lonely = nodes[2]
    nodes.scylla.route("c1", lonely.host_id)
    with Cluster(**settings_of(nodes)) as cluster:
        cluster.connect(wait_for_all_pools=True)
        until(lambda: all_connected(cluster))
        assert pool_connections(lonely) == 3
        assert proxies[lonely.host_id].opened == 0
        assert proxies[nodes[1].host_id].now == 3


def test_other_connections_rows_do_not_count(nodes: FakeCluster, proxies: Proxies) -> None:
    for node in nodes.nodes:
        nodes.scylla.route("another", node.host_id, "192.0.2.1", 1)
    with Cluster(**settings_of(nodes)) as cluster:
        cluster.connect(wait_for_all_pools=True)
        until(lambda: all_connected(cluster))


def test_an_override_is_the_contact_point_and_the_address_of_all_routes(
    nodes: FakeCluster, proxies: Proxies
) -> None:
    for node in nodes.nodes:
        nodes.scylla.route("c1", node.host_id, "192.0.2.1", proxies[node.host_id].port)
    config = ClientRoutesConfig([ClientRouteProxy("c1", "127.0.0.1")])
    discovery = proxies[nodes[0].host_id].port
    with Cluster(port=discovery, client_routes_config=config) as cluster:
        assert cluster.contact_points == ["127.0.0.1"]
        cluster.connect(wait_for_all_pools=True)
        until(lambda: all_connected(cluster))
        # The control connection came through the discovery port.
        assert [proxies[node.host_id].now for node in nodes.nodes] == [4, 3, 3]
    config = ClientRoutesConfig([ClientRouteProxy("c1", "127.0.0.1"), ClientRouteProxy("c2")])
    assert Cluster(["127.0.0.2"], client_routes_config=config).contact_points == ["127.0.0.2"]
    assert Cluster(client_routes_config=config).contact_points == ["127.0.0.1"]


def test_an_address_translator_has_no_effect(nodes: FakeCluster, proxies: Proxies) -> None:
    class Nowhere(AddressTranslator):
        def translate(self, addr: str) -> str:
            raise AssertionError(addr)

    with Cluster(**settings_of(nodes, address_translator=Nowhere())) as cluster:
        cluster.connect(wait_for_all_pools=True)


# -- changes ---------------------------------------------------------------------------------------


def reopen(session: Session, node: FakeNode) -> None:
    """Have the pool's connections to a node opened again."""
    for one in node.connections:
        if not one.event_types:
            node.loop.call_soon_threadsafe(one.end)


@pytest.mark.slow
def test_new_connections_take_the_new_route(
    nodes: FakeCluster, proxies: Proxies, session: Session
) -> None:
    node = nodes[1]
    host = session.cluster.metadata.get_host(node.address)
    other = Proxy(node)
    try:
        nodes.scylla.route("c1", node.host_id, other.address, other.port)
        assert host is not None
        place = (other.address, other.port)
        until(lambda: host.endpoint.resolve() == place)
        # What is open goes on; the host is the same.
        assert (proxies[node.host_id].now, other.opened) == (3, 0)
        assert session.cluster.metadata.get_host(node.address) is host
        proxies[node.host_id].close()
        until(lambda: other.now == 3 and all_connected(session.cluster))
    finally:
        other.close()


def test_a_node_that_was_lost_is_tried_at_once_by_its_new_route(
    nodes: FakeCluster, proxies: Proxies
) -> None:
    """Not after the reconnection policy's delay, which is longer than this test waits."""
    policy = ConstantReconnectionPolicy(600, None)
    with Cluster(**settings_of(nodes, reconnection_policy=policy)) as cluster:
        cluster.connect(wait_for_all_pools=True)
        until(lambda: all_connected(cluster))
        node = nodes[1]
        proxies[node.host_id].close()
        host = cluster.metadata.get_host(node.address)
        assert host is not None
        until(lambda: host.is_up is False)
        other = Proxy(node)
        try:
            nodes.scylla.route("c1", node.host_id, other.address, other.port)
            until(lambda: host.is_up and other.now == 3)
        finally:
            other.close()


def test_changes_of_other_connections_are_not_followed(
    nodes: FakeCluster, session: Session
) -> None:
    nodes.scylla.route("another", nodes[0].host_id, "192.0.2.1", 1)
    asked = len([one for one in nodes.requests if "client_routes" in (one.query or "")])
    nodes.scylla.route("c1", nodes[0].host_id, "192.0.2.1", 1)
    host = session.cluster.metadata.get_host(nodes[0].address)
    assert host is not None
    until(lambda: host.endpoint.resolve() == ("192.0.2.1", 1))
    again = len([one for one in nodes.requests if "client_routes" in (one.query or "")])
    assert again == asked + 1


def test_a_node_that_joins_is_reached_by_its_route(nodes: FakeCluster, session: Session) -> None:
    node = nodes._start_new("datacenter1", "rack1", 5)
    proxy = Proxy(node)
    try:
        nodes.scylla.route("c1", node.host_id, proxy.address, proxy.port)
        nodes.tell("TOPOLOGY_CHANGE", "NEW_NODE", node)
        until(lambda: proxy.now == 3 and all_connected(session.cluster))
        assert len(session.cluster.metadata.all_hosts()) == 4
    finally:
        proxy.close()


def test_routes_are_read_again_with_the_control_connection(
    nodes: FakeCluster, proxies: Proxies, session: Session
) -> None:
    cluster = session.cluster
    at = cluster.get_control_connection_host()
    assert at is not None
    node = nodes.node_at(at.address)
    other = Proxy(nodes[2])
    try:
        # Unheard: what an event would tell comes by the reading alone.
        nodes.scylla.nodes.clear()
        nodes.scylla.route("c1", nodes[2].host_id, other.address, other.port)
        (control,) = [one for one in node.connections if one.event_types]
        node.loop.call_soon_threadsafe(control.end)
        host = cluster.metadata.get_host(nodes[2].address)
        assert host is not None
        until(lambda: host.endpoint.resolve() == (other.address, other.port))
    finally:
        other.close()


# -- shards ----------------------------------------------------------------------------------------


def test_the_client_s_port_chooses_the_shard_only_if_that_is_asked_for(
    nodes: FakeCluster, proxies: Proxies
) -> None:
    """The proxies here do not keep it, so that the fake node puts connections on any shard."""
    with Cluster(**settings_of(nodes)) as cluster:
        cluster.connect(wait_for_all_pools=True)
        until(lambda: all_connected(cluster))
        ports = {one.local_port for node in nodes.nodes for one in node.connections}
        assert ports == {nodes.port}
    direct = {node.host_id: node for node in nodes.scylla.nodes}
    for host_id, node in direct.items():
        # A route that leads to the shard-aware port, and keeps the client's port.
        nodes.scylla.route("c1", host_id, node.address, node.shard_aware_port)
    config = ClientRoutesConfig([ClientRouteProxy("c1")], advanced_shard_awareness=True)
    with Cluster(**settings_of(nodes, client_routes_config=config)) as cluster:
        cluster.connect(wait_for_all_pools=True)
        until(lambda: all_connected(cluster))
        for node in direct.values():
            own = [one for one in node.connections if not one.event_types]
            chosen = [one for one in own if one.peer and one.peer[1] % 3 == one.shard]
            assert len(own) == 3
            assert len(chosen) >= 2  # the first could not know
            assert all(one.local_port == node.shard_aware_port for one in own)


# -- TLS -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def material(tmp_path_factory: pytest.TempPathFactory) -> TlsMaterial:
    return TlsMaterial.make(str(tmp_path_factory.mktemp("tls")), "required")


def contexts(material: TlsMaterial) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(material.client_certificate, material.client_key)
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
    return server, client


def test_tls_takes_the_ports_of_tls(material: TlsMaterial) -> None:
    server, client = contexts(material)
    with FakeCluster(2, scylla=Scylla(2), ssl_context=server) as nodes:
        made = {node.host_id: Proxy(node) for node in nodes.nodes}
        for host_id, proxy in made.items():
            nodes.scylla.route("c1", host_id, "127.0.0.1", 1, proxy.port)
        with Cluster(**settings_of(nodes, ssl_context=client)) as cluster:
            cluster.connect(wait_for_all_pools=True)
            until(lambda: all_connected(cluster))
            assert [proxy.now for proxy in made.values()] == [2, 2]
        for proxy in made.values():
            proxy.close()


def test_rows_without_the_port_of_tls(material: TlsMaterial) -> None:
    server, client = contexts(material)
    with FakeCluster(1, scylla=Scylla(2), ssl_context=server) as nodes:
        nodes.scylla.route("c1", nodes[0].host_id, "127.0.0.1", 9001)
        with (
            Cluster(**settings_of(nodes, ssl_context=client)) as cluster,
            pytest.raises(NoHostAvailable) as caught,
        ):
            cluster.connect()
        assert "All 1 route rows failed validation" in str(caught.value)


def test_names_in_certificates(material: TlsMaterial) -> None:
    """Those of proxies are in none: a name that is to be there has to be said."""
    checking = ssl.create_default_context()
    config = ClientRoutesConfig([ClientRouteProxy("c1")])
    with pytest.raises(ValueError, match="check_hostname"):
        Cluster(client_routes_config=config, ssl_context=checking)
    with pytest.raises(ValueError, match="check_hostname"):
        Cluster(
            client_routes_config=config,
            ssl_options={"ca_certs": material.ca_certificate, "check_hostname": True},
        )
    options = {"server_hostname": "nodes.example.com"}
    Cluster(client_routes_config=config, ssl_context=checking, ssl_options=options)
    checking.check_hostname = False
    Cluster(client_routes_config=config, ssl_context=checking)


# -- the parts -------------------------------------------------------------------------------------

A, B = uuid.UUID(int=1), uuid.UUID(int=2)


def row(
    connection_id: str, host_id: uuid.UUID | None, address: str | None, port: int | None
) -> dict[str, Any]:
    return {
        "connection_id": connection_id,
        "host_id": host_id,
        "address": address,
        "port": port,
        "tls_port": None,
    }


def routes(*ids: str) -> ClientRoutes:
    return ClientRoutes(ClientRoutesConfig([ClientRouteProxy(one) for one in ids]))


def test_a_node_keeps_its_connection_while_there_is_a_row_for_it() -> None:
    known = routes("b", "a")
    assert known.take([row("a", A, "pa", 1), row("b", A, "pb", 2)], tls=False)
    assert known.place_of(A) == ("pa", 1)  # the first row, not the first proxy
    assert known.take([row("b", A, "pb", 2), row("a", A, "pa", 3)], tls=False)
    assert known.place_of(A) == ("pa", 3)
    assert not known.take([row("b", A, "pb", 2), row("a", A, "pa", 3)], tls=False)
    assert known.take([row("b", A, "pb", 2)], tls=False)
    assert known.place_of(A) == ("pb", 2)
    assert known.take([], tls=False)
    assert known.place_of(A) is None


@pytest.mark.parametrize(
    "wrong",
    [
        row("a", None, "p", 1),
        row("a", A, None, 1),
        row("a", A, "", 1),
        row("a", A, "p", None),
        row("a", A, "p", 0),
        row("a", A, "p", 70000),
    ],
)
def test_rows_that_cannot_be_used(wrong: dict[str, Any]) -> None:
    known = routes("a")
    assert known.take([wrong, row("a", B, "p", 2)], tls=False)
    assert known.place_of(B) == ("p", 2)
    assert known.place_of(A) is None
    with pytest.raises(ConnectionException, match="All 2 route rows failed validation"):
        known.take([wrong, wrong], tls=False)
    assert known.place_of(B) == ("p", 2)  # what was known stays


def test_which_events_concern_a_cluster() -> None:
    known = routes("a", "b")
    assert known.concerns(["b", "x"])
    assert known.concerns([])  # it does not say which
    assert not known.concerns(["x"])


def test_quotes_in_the_id_of_a_connection() -> None:
    assert routes("it's").query.endswith("IN ('it''s')")


def test_end_points() -> None:
    known = routes("a")
    point = ClientRoutesEndPoint(A, known, "10.0.0.1")
    assert (point.address, point.port, point.resolve()) == ("10.0.0.1", 9042, ("10.0.0.1", 9042))
    known.take([row("a", A, "proxy", 9001)], tls=False)
    assert point.resolve() == ("proxy", 9001)
    assert (point.address, point.port) == ("10.0.0.1", 9042)
    assert point == ClientRoutesEndPoint(A, known, "10.0.0.1", 9043)
    assert point != ClientRoutesEndPoint(B, known, "10.0.0.1")
    assert point != ClientRoutesEndPoint(A, known, "10.0.0.2")
    assert hash(point) == hash(ClientRoutesEndPoint(A, known, "10.0.0.1"))
    factory = ClientRoutesEndPointFactory(known, 9000)
    assert factory.create({"host_id": B, "rpc_address": "10.0.0.2"}).resolve() == ("10.0.0.2", 9000)
    with pytest.raises(ValueError, match="host_id"):
        factory.create({"rpc_address": "10.0.0.2"})


def proxy(*args: Any) -> ClientRouteProxy:
    return ClientRouteProxy(*args)


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: proxy(None), ValueError),
        (lambda: proxy(""), ValueError),
        (lambda: proxy(7), TypeError),
        (lambda: proxy("a", 7), TypeError),
        (lambda: ClientRoutesConfig([]), ValueError),
        (lambda: ClientRoutesConfig(proxy("a")), TypeError),  # type: ignore[arg-type]
        (lambda: ClientRoutesConfig(["a"]), TypeError),  # type: ignore[list-item]
        (lambda: Cluster(client_routes_config="a"), TypeError),  # type: ignore[arg-type]
        (
            lambda: Cluster(
                client_routes_config=ClientRoutesConfig([proxy("a")]),
                endpoint_factory=DefaultEndPointFactory(),
            ),
            ValueError,
        ),
    ],
)
def test_wrong_settings(make: Callable[[], object], error: type[Exception]) -> None:
    with pytest.raises(error):
        make()


def test_the_names() -> None:
    assert ClientRoutesChangeType("UPDATE_NODES") is ClientRoutesChangeType.UPDATE_NODES
    one = proxy("a", "b")
    assert repr(one) == "ClientRouteProxy(connection_id='a', connection_addr_override='b')"
    assert one == proxy("a", "b") != proxy("a")
    assert repr(ClientRoutesConfig((one,))) == (
        f"ClientRoutesConfig(proxies=({one!r},), advanced_shard_awareness=False)"
    )
