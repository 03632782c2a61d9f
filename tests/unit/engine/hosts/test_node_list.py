"""`NodeListReader`, which reads the node list from system tables.

The tables come from fake nodes that are not started, so no connection is needed.
"""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from cassandra.engine.endpoint import DefaultEndPointFactory
from cassandra.engine.hosts.endpoint_resolver import EndpointResolver
from cassandra.engine.hosts.node_list import NodeListReader
from cassandra.errors import ConnectionException, InvalidRequest, OperationTimedOut
from cassandra.metadata.cluster_metadata import Metadata
from cassandra.testing.fake import FakeNode
from tests.unit.engine.partners import Tables, engine_settings, fake_connection


class FakeRouteWatch:
    """A fake `RouteWatch`, which records its calls."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    async def read(self, connection: Any) -> bool:
        self.calls.append("read")
        return True

    async def read_again(self, connection: Any) -> None:
        self.calls.append("read again")


def new_reader(tables: Tables, routes: Any = None) -> NodeListReader:
    """Return a reader of the node list from these tables.

    :param routes: a FakeRouteWatch; None means that the cluster uses no client routes.
    """
    metadata = Metadata()
    # The rows contain IP addresses, which need no look-up, so the resolver needs no connector.
    resolver = EndpointResolver(
        DefaultEndPointFactory(9042),
        connector=None,  # type: ignore[arg-type]
        by_host_id=metadata.get_host_by_host_id,
    )
    return NodeListReader(engine_settings(), metadata, resolver, tables.rows, routes)


def new_nodes(count: int = 3) -> list[FakeNode]:
    """Return nodes that are not started. Each node has all other nodes as its peers."""
    fake_nodes = [FakeNode(f"10.0.0.{index + 1}", 9042) for index in range(count)]
    for node in fake_nodes:
        node.peers = [other for other in fake_nodes if other is not node]
    return fake_nodes


async def test_the_nodes_and_the_cluster_are_read() -> None:
    """`read` returns all nodes of the cluster, and stores the cluster's name in the metadata.

    The node that was queried comes first.
    """
    first, *others = new_nodes()
    reader = new_reader(Tables(first))
    connection = fake_connection(first.address)
    result = await reader.read(connection, connection.endpoint)
    # The node that was queried comes first.
    assert [host.address for host in result.hosts] == [node.address for node in (first, *others)]
    assert result.local.host_id == first.host_id
    assert reader._metadata.cluster_name == first.cluster_name


async def test_without_peers_v2_the_table_peers_is_read_from_then_on() -> None:
    """If a node has no table peers_v2, the driver reads the table peers instead.

    Cassandra before 4.0 has only the table peers. The driver remembers this for the connection.
    """
    first, second = new_nodes(2)
    first.has_peers_v2 = False
    tables = Tables(first)
    reader = new_reader(tables)
    connection = fake_connection(first.address)
    for _ in range(2):
        result = await reader.read(connection, connection.endpoint)
        assert [host.address for host in result.hosts] == [first.address, second.address]
    tables_read = [query.rpartition(".")[2] for _, query in tables.queries if "peers" in query]
    # Only the first reading queries peers_v2. After the error, the driver queries peers at once.
    assert tables_read == ["peers_v2", "peers", "peers"]


async def test_a_node_without_a_local_row_is_not_ready() -> None:
    """If system.local has no row, `read` raises an error, because the node is still starting."""
    (node,) = new_nodes(1)
    connection = fake_connection(node.address)
    with pytest.raises(ConnectionException, match="not ready"):
        await new_reader(Tables(node, local=[])).read(connection, connection.endpoint)


async def test_incomplete_rows_of_peers_are_left_out() -> None:
    """A row of peers without a data centre, a rack or tokens is left out.

    Such a row belongs to a node that is joining or has left.
    """
    (node,) = new_nodes(1)
    incomplete = {"peer": "10.0.0.9", "host_id": uuid.uuid4()}
    connection = fake_connection(node.address)
    result = await new_reader(Tables(node, peers=[incomplete])).read(
        connection, connection.endpoint
    )
    assert [host.address for host in result.hosts] == [node.address]


async def test_other_errors_of_the_server_are_raised() -> None:
    """Errors that do not concern the table peers_v2 are raised.

    Only an error about peers_v2 makes the driver read another table.
    """
    (node,) = new_nodes(1)
    connection = fake_connection(node.address)
    reader = new_reader(Tables(node, local=InvalidRequest("refused")))
    with pytest.raises(InvalidRequest):
        await reader.read(connection, connection.endpoint)


async def test_prepare_reads_the_routes_and_read_reads_them_again() -> None:
    """`prepare` reads the client routes for the first time, and `read` reads them again.

    Client routes must be read before the node list, because end points depend on them.
    """
    (node,) = new_nodes(1)
    routes = FakeRouteWatch()
    reader = new_reader(Tables(node), routes)
    connection = fake_connection(node.address)
    await reader.prepare(connection)
    assert routes.calls == ["read"]
    await reader.read(connection, connection.endpoint)
    assert routes.calls == ["read", "read again"]


async def test_a_node_of_another_cluster_is_refused() -> None:
    """A node is refused if neither the name of its cluster nor its id is known.

    Both the reading of its node list and `check_cluster` fail. The metadata is not changed.
    """
    first, *_ = new_nodes()
    tables = Tables(first)
    reader = new_reader(tables)
    connection = fake_connection(first.address)
    node_list = await reader.read(connection, connection.endpoint)
    reader._metadata._replace_hosts(node_list.hosts)
    await reader.check_cluster(connection, connection.endpoint)
    # Another node of a cluster of the same name, and the same node after its cluster was renamed.
    own_id, own_name, new_id = first.host_id, first.cluster_name, uuid.uuid4()
    for host_id, name in ((new_id, own_name), (own_id, "renamed")):
        first.host_id, first.cluster_name = host_id, name
        await reader.check_cluster(connection, connection.endpoint)
    first.host_id, first.cluster_name = new_id, "staging"
    expected = f"leads to a node of the cluster 'staging' now, and not of '{own_name}'"
    for call in (reader.read, reader.check_cluster):
        with pytest.raises(ConnectionException, match=expected):
            await call(connection, connection.endpoint)
    assert reader._metadata.cluster_name == own_name


async def test_a_node_that_does_not_say_its_cluster_is_accepted() -> None:
    """If the query of the cluster's name gets a server error, the node is accepted.

    If the query times out, `check_cluster` raises the error.
    """
    first, *_ = new_nodes()
    connection = fake_connection(first.address)
    refusing = new_reader(Tables(first, cluster_name=InvalidRequest("no such table")))
    await refusing.check_cluster(connection, connection.endpoint)
    silent = new_reader(Tables(first, cluster_name=OperationTimedOut("no answer")))
    with pytest.raises(OperationTimedOut):
        await silent.check_cluster(connection, connection.endpoint)
