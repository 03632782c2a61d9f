"""`Scylla`: makes the nodes of a `FakeCluster` nodes of ScyllaDB, and has their common state.

The form of everything is that of ScyllaDB's docs/dev/protocol-extensions.md.
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

_ROUTES = "system.client_routes"


class Arrivals:
    """The requests that came in at a node: how many at each shard, and how many of them were right.

    Only requests count whose partition the node could compute: executions of prepared statements
    with a whole partition key.
    """

    def __init__(self) -> None:
        self.by_shard: Counter[int] = Counter()
        self.right = 0
        self.wrong_shard = 0
        self.wrong_node = 0
        self.payloads = 0

    def add(self, other: Arrivals) -> None:
        """Add the numbers of `other`.

        :param other: another of these.
        """
        self.by_shard.update(other.by_shard)
        self.right += other.right
        self.wrong_shard += other.wrong_shard
        self.wrong_node += other.wrong_node
        self.payloads += other.payloads

    @property
    def counted(self) -> int:
        """All requests that count."""
        return self.right + self.wrong_shard + self.wrong_node

    def __repr__(self) -> str:
        return (
            f"<{self.right} right, {self.wrong_shard} at another shard, {self.wrong_node} at "
            f"another node, {self.payloads} payloads>"
        )


class Table(NamedTuple):
    """A table.

    :param columns: the CQL type of each column, in order.
    :param key: the names of the partition key's columns.
    """

    columns: Mapping[str, str]
    key: Sequence[str]


class Scylla:
    """Settings and state of a fake ScyllaDB cluster: ``FakeCluster(3, scylla=Scylla(shards=7))``.

    Keyspaces and tables are added by `keyspace` and `table` after the cluster has started.

    :param shards: of each node, or of all nodes.
    :param ignore_msb: how many of a token's highest bits do not count for shards.
    :param tablets_version: 1, or 2 if the nodes offer that too.
    :param shard_aware_port: False if the nodes do not have one.
    :param rewrites_ports: True if a NAT rewrites the clients' ports at random: the shard-aware port
        gives any shard then.
    :param metadata_ids: False if the nodes do not offer SCYLLA_USE_METADATA_ID.
    :param client_routes: False if the nodes are too old for the table system.client_routes.
    :param lwt_mask: the bit in the flags of a PREPARED that marks a lightweight transaction.
    :param rate_limit_code: of the error, as SUPPORTED tells it.
    :param seed: of the random placement of tablets, for tests that repeat.
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
    ) -> None:
        self.shards = shards
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
        # One object for all nodes, also for those that join later.
        self.schema: dict[str, list[dict[str, Any]]] = {}

    def _members(self) -> list[Member]:
        return [
            Member(node.host_id, node.shards, self.ignore_msb, [int(own) for own in node.tokens])
            for node in self.nodes
        ]

    def shards_of(self, place: int) -> int:
        """Return the shards of the node that is `place`-th to start.

        :param place: 0 for the first node.
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

        :param name: its name.
        :param replication_factor: how many replicas each partition has.
        :param tablets: True if its tables have tablets; else the ring places their partitions.
        :param with_leaders: the first replica of each tablet is its leader.
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
        """Add a table, of the columns ``{"k": "int", "v": "text"}`` if none are given.

        :param keyspace: the name of the keyspace.
        :param name: its name.
        :param columns: the columns' types by name.
        :param key: the columns of the partition key.
        :param tablets: how many it has at first.
        """
        columns = columns or {"k": "int", "v": "text"}
        self.tables[keyspace, name] = Table(columns, key)
        self._row("tables", keyspace_name=keyspace, table_name=name, flags={"compound"})
        for column, kind in columns.items():
            of_key = column in key
            self._row(
                "columns",
                keyspace_name=keyspace,
                table_name=name,
                column_name=column,
                column_name_bytes=column.encode(),
                clustering_order="none",
                kind="partition_key" if of_key else "regular",
                position=list(key).index(column) if of_key else -1,
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
        """Set the way to a node through a private network, and tell clients of the change.

        :param connection_id: of the connection to the private network.
        :param host_id: the node's.
        :param address: of the connection's proxy. None removes the way.
        :param port: the proxy's port.
        :param tls_port: the proxy's port for TLS.
        """
        # The primary key of the real table: a second row for it replaces the first.
        key = (connection_id, host_id)
        known = self.schema.get(_ROUTES, ())
        kept = [row for row in known if (row["connection_id"], row["host_id"]) != key]
        if address is not None:
            row = {"connection_id": connection_id, "host_id": host_id, "address": address}
            kept.append({**row, "port": port, "tls_port": tls_port})
        self.schema[_ROUTES] = kept
        for node in self.nodes:
            if node.is_running:
                node.send_event("CLIENT_ROUTES_CHANGE", "UPDATE_NODES", [connection_id], [host_id])

    def _row(self, table: str, **row: Any) -> None:
        name = f"system_schema.{table}"
        # A new list: the nodes' thread may walk over the old one.
        self.schema[name] = [*self.schema.get(name, ()), row]

    @property
    def arrivals(self) -> Arrivals:
        """The arrivals at all nodes."""
        total = Arrivals()
        for node in self.nodes:
            total.add(node.arrivals)
        return total

    def forget_arrivals(self) -> None:
        """Count from zero."""
        for node in self.nodes:
            node.arrivals = Arrivals()
