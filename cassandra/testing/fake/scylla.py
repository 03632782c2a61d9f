"""`Scylla`: the settings of a fake ScyllaDB cluster, and the state that its nodes share.

All formats follow ScyllaDB's docs/dev/protocol-extensions.md.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from cassandra.testing.fake.placement import Member, Placement

if TYPE_CHECKING:
    from cassandra.testing.fake.scylla_node import ScyllaNode

__all__ = ["Arrivals", "Scylla", "Table"]

_ROUTES = "system.client_routes"  # the table with the addresses for clients behind a proxy


class Arrivals:
    """Counts how many requests arrived at a shard that has their partition.

    Only executions of prepared statements with a complete partition key are counted. For other
    requests the node cannot compute the partition.

    `by_shard` is the number of requests by shard. `right` counts requests that arrived at a shard
    with the partition. `wrong_shard` counts requests that arrived at another shard of a replica.
    `wrong_node` counts requests that arrived at a node that is not a replica. `payloads` counts the
    responses that informed the client about a tablet.
    """

    def __init__(self) -> None:
        self.by_shard: Counter[int] = Counter()
        self.right = 0
        self.wrong_shard = 0
        self.wrong_node = 0
        self.payloads = 0

    def add(self, other: Arrivals) -> None:
        """Add the counts of `other`.

        :param other: the counts to add.
        """
        self.by_shard.update(other.by_shard)
        self.right += other.right
        self.wrong_shard += other.wrong_shard
        self.wrong_node += other.wrong_node
        self.payloads += other.payloads

    @property
    def counted(self) -> int:
        """The number of counted requests."""
        return self.right + self.wrong_shard + self.wrong_node

    def __repr__(self) -> str:
        return (
            f"<{self.right} right, {self.wrong_shard} at another shard, {self.wrong_node} at "
            f"another node, {self.payloads} payloads>"
        )


class Table(NamedTuple):
    """The columns and the partition key of a table.

    :param columns: the CQL type of each column, in order.
    :param key: the names of the partition key's columns.
    """

    columns: Mapping[str, str]
    key: Sequence[str]


class Scylla:
    """Settings and state of a fake ScyllaDB cluster: ``FakeCluster(3, scylla=Scylla(shards=7))``.

    Add keyspaces and tables by `keyspace` and `table` after the cluster has started.

    :param shards: the number of shards of all nodes; or a sequence, with the number for each node.
    :param ignore_msb: how many of a token's highest bits are ignored when the shard is computed.
    :param tablets_version: the newest version of tablet routing that the nodes offer, 1 or 2.
    :param shard_aware_port: False if the nodes do not have a shard-aware port.
    :param rewrites_ports: True imitates a NAT that changes the clients' ports. The shard of a
        connection depends on the client's port, so connections to the shard-aware port get random
        shards.
    :param metadata_ids: False if the nodes do not offer SCYLLA_USE_METADATA_ID.
    :param client_routes: False if the nodes are too old for the table system.client_routes.
    :param lwt_mask: the bit in the flags of a PREPARED that marks a lightweight transaction.
    :param rate_limit_code: the code of the rate limit error, as announced in SUPPORTED.
    :param seed: the seed of the random placement of tablets, for reproducible tests.
    :param shard_aware: False if the nodes do not announce their shards
        (``allow_shard_aware_drivers: false``).
    """

    def __init__(
        self,
        shards: int | Sequence[int] = 7,
        *,
        ignore_msb: int = 12,
        tablets_version: int = 1,
        shard_aware_port: bool = True,
        rewrites_ports: bool = False,
        metadata_ids: bool = True,
        client_routes: bool = True,
        lwt_mask: int = 0x80000000,
        rate_limit_code: int = 0x4321,
        seed: int = 1,
        shard_aware: bool = True,
    ) -> None:
        self.shards = shards
        self.shard_aware = shard_aware
        self.ignore_msb = ignore_msb
        self.tablets_version = tablets_version
        self.shard_aware_port = shard_aware_port
        self.rewrites_ports = rewrites_ports
        self.metadata_ids = metadata_ids
        self.client_routes = client_routes
        self.lwt_mask = lwt_mask
        self.rate_limit_code = rate_limit_code
        self.nodes: list[ScyllaNode] = []
        self.placement = Placement(self._members, seed)
        self.tables: dict[tuple[str, str], Table] = {}
        # The rows of the schema tables. All nodes share this dict, including nodes that join later.
        self.schema: dict[str, list[dict[str, Any]]] = {}

    def _members(self) -> list[Member]:
        """Return all nodes, in the form that `Placement` needs."""
        members = []
        for node in self.nodes:
            tokens = [int(token) for token in node.tokens]
            members.append(Member(node.host_id, node.shards, self.ignore_msb, tokens))
        return members

    def shards_of(self, place: int) -> int:
        """Return the number of shards of a node.

        :param place: the index of the node in the order of creation.
        """
        if isinstance(self.shards, int):
            return self.shards
        return self.shards[place % len(self.shards)]

    def keyspace(
        self,
        name: str,
        *,
        replication_factor: int = 1,
        tablets: bool = False,
        with_leaders: bool = False,
    ) -> None:
        """Add a keyspace.

        :param name: the name of the keyspace.
        :param replication_factor: the number of replicas of each partition.
        :param tablets: True if the tables have tablets; False if the ring places their partitions.
        :param with_leaders: True if the first replica of each tablet is its leader.
        """
        self.placement.add_keyspace(name, replication_factor, with_leaders)
        self._row(
            "keyspaces",
            keyspace_name=name,
            durable_writes=True,
            replication={
                "class": "org.apache.cassandra.locator.SimpleStrategy",
                "replication_factor": str(replication_factor),
            },
        )
        if tablets:
            consistency = "global" if with_leaders else None
            self._row(
                "scylla_keyspaces", keyspace_name=name, initial_tablets=0, consistency=consistency
            )

    def table(
        self,
        keyspace: str,
        name: str,
        columns: Mapping[str, str] | None = None,
        key: Sequence[str] = ("k",),
        tablets: int | None = None,
    ) -> None:
        """Add a table. The default columns are ``{"k": "int", "v": "text"}``.

        :param keyspace: the name of the keyspace.
        :param name: the name of the table.
        :param columns: the CQL types of the columns, by name.
        :param key: the names of the partition key columns.
        :param tablets: the initial number of tablets; None for a table without tablets.
        """
        columns = columns or {"k": "int", "v": "text"}
        self.tables[keyspace, name] = Table(columns, key)
        # Add rows to system_schema, from which a client learns about the table.
        self._row("tables", keyspace_name=keyspace, table_name=name, flags={"compound"})
        for column, kind in columns.items():
            is_key = column in key
            self._row(
                "columns",
                keyspace_name=keyspace,
                table_name=name,
                column_name=column,
                column_name_bytes=column.encode(),
                clustering_order="none",
                kind="partition_key" if is_key else "regular",
                position=list(key).index(column) if is_key else -1,
                type=kind,
            )
        if tablets is not None:
            self.placement.split(keyspace, name, tablets)

    def route(
        self,
        connection_id: str,
        host_id: uuid.UUID,
        address: str | None = None,
        port: int | None = None,
        tls_port: int | None = None,
    ) -> None:
        """Set the client route to a node.

        Clients in a private network reach the node by the address of the route.

        The running nodes send the event CLIENT_ROUTES_CHANGE.

        :param connection_id: the id of the connection to the private network.
        :param host_id: the id of the node.
        :param address: the address of the connection's proxy. None removes the route.
        :param port: the proxy's port.
        :param tls_port: the proxy's port for TLS.
        """
        # These two columns are the primary key of the table, so a new row replaces an existing row
        # with the same key.
        key = (connection_id, host_id)
        rows = self.schema.get(_ROUTES, ())
        rows = [row for row in rows if (row["connection_id"], row["host_id"]) != key]
        if address is not None:
            row = {"connection_id": connection_id, "host_id": host_id, "address": address}
            rows.append({**row, "port": port, "tls_port": tls_port})
        self.schema[_ROUTES] = rows
        for node in self.nodes:
            if node.is_running:
                node.send_event("CLIENT_ROUTES_CHANGE", "UPDATE_NODES", [connection_id], [host_id])

    def _row(self, table: str, **row: Any) -> None:
        name = f"system_schema.{table}"
        # Create a new list, because the nodes' thread may be iterating over the old list.
        self.schema[name] = [*self.schema.get(name, ()), row]

    @property
    def arrivals(self) -> Arrivals:
        """The sum of the arrivals at all nodes."""
        total = Arrivals()
        for node in self.nodes:
            total.add(node.arrivals)
        return total

    def forget_arrivals(self) -> None:
        """Reset the counts of all nodes to zero."""
        for node in self.nodes:
            node.arrivals = Arrivals()
