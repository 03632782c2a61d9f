"""The node list is read from the system tables of a fake node that is not started."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from cassandra.engine.endpoint import DefaultEndPointFactory
from cassandra.engine.hosts.endpoint_resolver import EndpointResolver
from cassandra.engine.hosts.node_list import NodeListReader
from cassandra.errors import ConnectionException, InvalidRequest
from cassandra.metadata.cluster_metadata import Metadata
from cassandra.testing.fake import FakeNode
from tests.unit.engine.partners import Tables, engine_settings, fake_connection


class Routes:
    """A fake `RouteWatch`, which records its calls."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    async def read(self, connection: Any) -> bool:
        self.calls.append("read")
        return True

    async def read_again(self, connection: Any) -> None:
        self.calls.append("read again")


def reader(tables: Tables, routes: Any = None) -> NodeListReader:
    metadata = Metadata()
    # The addresses of these tests need no resolution, so no connector is needed.
    resolver = EndpointResolver(
        DefaultEndPointFactory(9042),
        connector=None,  # type: ignore[arg-type]
        by_host_id=metadata.get_host_by_host_id,
    )
    return NodeListReader(engine_settings(), metadata, resolver, tables.rows, routes)


def nodes(count: int = 3) -> list[FakeNode]:
    fake_nodes = [FakeNode(f"10.0.0.{index + 1}", 9042) for index in range(count)]
    for node in fake_nodes:
        node.peers = [other for other in fake_nodes if other is not node]
    return fake_nodes


async def test_the_nodes_and_the_cluster_are_read() -> None:
    first, *others = nodes()
    node_list = reader(Tables(first))
    connection = fake_connection(first.address)
    read = await node_list.read(connection, connection.endpoint)
    assert [host.address for host in read.hosts] == [node.address for node in (first, *others)]
    assert read.local.host_id == first.host_id
    assert node_list._metadata.cluster_name == first.cluster_name


async def test_without_peers_v2_the_table_peers_is_read_from_then_on() -> None:
    first, second = nodes(2)
    first.has_peers_v2 = False
    tables = Tables(first)
    node_list = reader(tables)
    connection = fake_connection(first.address)
    for _ in range(2):
        read = await node_list.read(connection, connection.endpoint)
        assert [host.address for host in read.hosts] == [first.address, second.address]
    tables_read = [query.rpartition(".")[2] for _, query in tables.queries if "peers" in query]
    # The node lacks peers_v2. After the first error, the table is not queried again.
    assert tables_read == ["peers_v2", "peers", "peers"]


async def test_a_node_without_a_local_row_is_not_ready() -> None:
    (node,) = nodes(1)
    connection = fake_connection(node.address)
    with pytest.raises(ConnectionException, match="not ready"):
        await reader(Tables(node, local=[])).read(connection, connection.endpoint)


async def test_incomplete_rows_of_peers_are_left_out() -> None:
    (node,) = nodes(1)
    incomplete = {"peer": "10.0.0.9", "host_id": uuid.uuid4()}
    connection = fake_connection(node.address)
    read = await reader(Tables(node, peers=[incomplete])).read(connection, connection.endpoint)
    assert [host.address for host in read.hosts] == [node.address]


async def test_other_errors_of_the_server_are_raised() -> None:
    (node,) = nodes(1)
    connection = fake_connection(node.address)
    with pytest.raises(InvalidRequest):
        await reader(Tables(node, local=InvalidRequest("no"))).read(connection, connection.endpoint)


async def test_prepare_reads_the_routes_and_read_reads_them_again() -> None:
    (node,) = nodes(1)
    routes = Routes()
    node_list = reader(Tables(node), routes)
    connection = fake_connection(node.address)
    await node_list.prepare(connection)
    assert routes.calls == ["read"]
    await node_list.read(connection, connection.endpoint)
    assert routes.calls == ["read", "read again"]
