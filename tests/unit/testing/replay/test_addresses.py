"""Applications that are recorded or replayed connect only to the recorder or the replay node."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cassandra.client_routes import ClientRouteProxy, ClientRoutesConfig
from cassandra.cluster import Cluster
from cassandra.engine.endpoint import DefaultEndPointFactory
from cassandra.errors import NoHostAvailable
from cassandra.testing import Recorder, Recording, ReplayNode
from cassandra.testing.fake import FakeCluster, FakeNode, Scylla, rows, void
from cassandra.testing.fake.scylla_node import ScyllaNode

BY_KEY = "SELECT k, v FROM ks.t WHERE k = ?"
READ = "SELECT k FROM ks.t"
SHARDS = 4
KEYS = range(40)


@pytest.fixture
def scylla_node() -> Iterator[ScyllaNode]:
    """Yield a node with several shards and a shard-aware port."""
    scylla = Scylla(shards=[SHARDS])
    with ScyllaNode("127.0.0.1", 0, scylla=scylla) as node:
        scylla.keyspace("ks", replication_factor=1)
        scylla.table("ks", "t", {"k": "int", "v": "text"})
        yield node


def settings(server: Any) -> dict[str, Any]:
    """Return the arguments of `Cluster` that connect to a node, a recorder or a replay node."""
    return {"contact_points": server.contact_points, "port": server.port}


def read_keys(server: Any, connected_node: Any, connections: int) -> None:
    """Read rows of all shards through `server`.

    :param connected_node: the node behind `server`.
    :param connections: how many connections to that node must be open before the first read.
    """
    with Cluster(**settings(server)) as cluster:
        session = cluster.connect()
        prepared = session.prepare(BY_KEY)
        connected_node.wait_for(lambda node: node.opened >= connections)
        for key in KEYS:
            session.execute(prepared, (key,))


def test_requests_to_all_shards_pass_through_the_recorder(
    scylla_node: ScyllaNode, tmp_path: Path
) -> None:
    """The recorder hides the node's shard-aware port, so all reads are in the recording.

    The driver would connect to the shard-aware port directly, past the recorder.
    """
    assert scylla_node.shard_aware_port
    path = tmp_path / "run.jsonl"
    with Recorder(path, scylla_node.address, scylla_node.port) as recorder:
        # the control connection, and a connection to each shard
        read_keys(recorder, scylla_node, connections=1 + SHARDS)
    requests = [exchange.request for exchange in Recording.load(path).exchanges]
    reads = [
        request for request in requests if request is not None and request["kind"] == "EXECUTE"
    ]
    assert len(reads) == len(KEYS)
    assert "SHARD_AWARE_PORT" not in path.read_text()
    opened_before = scylla_node.opened
    with ReplayNode(path) as replayed:
        # the control connection, and one connection for requests: the replay node has no shards
        read_keys(replayed, replayed, connections=2)
        replayed.check()
    assert scylla_node.opened == opened_before


def test_a_replay_does_not_offer_a_recorded_shard_aware_port(
    scylla_node: ScyllaNode, tmp_path: Path
) -> None:
    """If a recording names a shard-aware port, clients of the replay do not connect to it."""
    path = tmp_path / "run.jsonl"
    with Recorder(path, scylla_node.address, scylla_node.port) as recorder:
        read_keys(recorder, scylla_node, connections=2)
    # Add the ports to the header of the recording.
    head, *lines = path.read_text().splitlines()
    properties = json.loads(head)
    ports = {f"SCYLLA_SHARD_AWARE_PORT{end}": [str(scylla_node.port)] for end in ("", "_SSL")}
    properties["supported"] |= ports
    path.write_text("\n".join([json.dumps(properties), *lines]))
    opened_before = scylla_node.opened
    with ReplayNode(path) as replayed:
        assert "SHARD_AWARE_PORT" not in str(replayed.supported)
        read_keys(replayed, replayed, connections=2)
    assert scylla_node.opened == opened_before


@pytest.mark.parametrize("version", [4, 5])
def test_the_other_nodes_of_a_cluster_are_hidden(version: int, tmp_path: Path) -> None:
    """Neither rows of system tables nor events lead the driver to other nodes of the cluster."""
    path = tmp_path / "run.jsonl"
    with FakeCluster(3, max_version=version) as cluster_of_nodes:
        cluster_of_nodes.prime(READ, rows([("k", "int")], [(1,)]))
        first, *others = nodes = cluster_of_nodes.nodes

        def read_while_nodes_change(server: Any) -> None:
            with Cluster(**settings(server)) as cluster:
                session = cluster.connect()
                for _ in range(3):
                    session.execute(READ)
                # A recorder sends no events itself: it passes on events of the node behind it.
                event_source = first if server is recorder else server
                other_address = (others[0].address, others[0].port)
                event_source.send_event("TOPOLOGY_CHANGE", "NEW_NODE", *other_address)
                event_source.send_event("STATUS_CHANGE", "UP", *other_address)
                cluster.refresh_nodes()
                (host,) = cluster.metadata.all_hosts()
                assert host.address == server.address
                assert host.endpoint.port == server.port

        with Recorder(path, first.address, first.port) as recorder:
            read_while_nodes_change(recorder)
        opened_before = first.opened
        with ReplayNode(path) as replayed:
            read_while_nodes_change(replayed)
            replayed.check()
        assert [node.opened for node in nodes] == [opened_before, 0, 0]


class AdvertisedAddresses(DefaultEndPointFactory):
    """Makes endpoints with the addresses in the system tables, even for the queried node.

    By default, the driver keeps the address of the contact point for the node that it queries.
    """

    names_each_node = True


def test_the_node_itself_has_the_address_of_the_recorder(tmp_path: Path) -> None:
    """Clients that use addresses in system tables connect to the recorder, not to the node."""
    path = tmp_path / "run.jsonl"
    with FakeNode() as node:
        node.prime(READ, rows([("k", "int")], [(1,)]))

        def read_by_advertised_address(server: Any) -> None:
            with Cluster(**settings(server), endpoint_factory=AdvertisedAddresses()) as cluster:
                cluster.connect().execute(READ)
                (host,) = cluster.metadata.all_hosts()
                assert host.address == server.address
                assert host.endpoint.port == server.port

        with Recorder(path, node.address, node.port) as recorder:
            read_by_advertised_address(recorder)
        opened_before = node.opened
        with ReplayNode(path) as replayed:
            read_by_advertised_address(replayed)
            replayed.check()
        assert node.opened == opened_before


def test_routes_of_clients_are_refused(tmp_path: Path) -> None:
    """A driver that is configured to use client routes cannot connect to a recorder or replay node.

    Client routes would lead past the recorder or the replay node.
    """
    config = ClientRoutesConfig([ClientRouteProxy("a", "127.0.0.1")])
    with FakeNode() as node:
        columns = [
            ("connection_id", "text"),
            ("host_id", "uuid"),
            ("address", "text"),
            ("port", "int"),
            ("tls_port", "int"),
        ]
        # The driver reads the routes of the connection id "a" with this query.
        node.prime(
            "SELECT connection_id, host_id, address, port, tls_port FROM system.client_routes "
            "WHERE connection_id IN ('a')",
            rows(
                columns,
                [("a", node.host_id, node.address, node.port, None)],
                keyspace="system",
                table="client_routes",
            ),
        )

        def connect_in_vain(server: Any) -> None:
            with (
                Cluster(**settings(server), client_routes_config=config) as cluster,
                pytest.raises(NoHostAvailable, match="connect without client_routes_config"),
            ):
                cluster.connect()

        path = tmp_path / "run.jsonl"
        with Recorder(path, node.address, node.port) as recorder:
            connect_in_vain(recorder)
        with ReplayNode(path) as replayed:
            connect_in_vain(replayed)


def test_results_of_other_tables_are_unchanged(tmp_path: Path) -> None:
    """An application's column keeps its values, even if it has a system column's name.

    In the system tables, `rpc_address` is an address that the recorder replaces.
    """
    path = tmp_path / "run.jsonl"
    with FakeNode() as node:
        node.prime(READ, rows([("rpc_address", "inet")], [("10.9.9.9",)], table="peers"))
        node.prime("INSERT", void())
        with (
            Recorder(path, node.address, node.port) as recorder,
            Cluster(**settings(recorder)) as cluster,
        ):
            session = cluster.connect()
            session.execute("INSERT")
            assert session.execute(READ).one().rpc_address == "10.9.9.9"
