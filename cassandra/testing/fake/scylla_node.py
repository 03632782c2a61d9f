"""`ScyllaNode`: a fake node with shards, like a ScyllaDB node."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random
from typing import TYPE_CHECKING, Any

from cassandra.testing.fake.answers import Answer, Message, Prepared, message, rows
from cassandra.testing.fake.looping import Listening
from cassandra.testing.fake.node import FakeNode
from cassandra.testing.fake.placement import Replica, Tablet, routing_payload
from cassandra.testing.fake.primitives import Opcode, string_multimap
from cassandra.testing.fake.refusals import ErrorCode, error_body
from cassandra.testing.fake.scylla import Arrivals, Scylla, Table
from cassandra.testing.fake.tokens import token_of

if TYPE_CHECKING:
    from cassandra.testing.fake.connection import ServerConnection
    from cassandra.testing.fake.requests import Request

__all__ = ["ScyllaNode", "rate_limited"]

# Extensions of the protocol, which the node offers in SUPPORTED.
_V1, _V2 = "TABLETS_ROUTING_V1", "TABLETS_ROUTING_V2_EXPERIMENTAL_V2"
_LWT, _RATE_LIMIT = "SCYLLA_LWT_ADD_METADATA_MARK", "SCYLLA_RATE_LIMIT_ERROR"
# Patterns that find the parts of a prepared statement: its table, its bound columns, its result
# columns, and the IF of a lightweight transaction.
_TABLE_NAME = re.compile(r'\b(?:from|into|update)\s+"?(\w+)"?\."?(\w+)"?', re.IGNORECASE)
_INSERT = re.compile(r"\binto\s+\S+?\s*\(([^)]*)\)\s*values\s*\(([^)]*)\)", re.IGNORECASE)
_COMPARED = re.compile(r"(\w+)\s*=\s*\?")
_SELECTED = re.compile(r"^\s*select\s+(.+?)\s+from\b", re.IGNORECASE | re.DOTALL)
_CONDITION = re.compile(r"\bif\b", re.IGNORECASE)


class ScyllaNode(FakeNode):
    """A node of a `Scylla` cluster.

    `arrivals` counts how many requests arrived at a shard that has their partition. The shard of a
    connection is `ServerConnection.shard`.

    :param address: the address to listen on.
    :param port: the port; 0 chooses a free port.
    :param scylla: the cluster's settings and state.
    :param settings: keyword arguments of `FakeNode`.
    """

    def __init__(self, address: str, port: int, *, scylla: Scylla, **settings: Any) -> None:
        settings.setdefault("max_version", 4)
        super().__init__(address, port, **settings)
        self.scylla = scylla
        self.shards = scylla.shards_of(len(scylla.nodes))
        self.shard_aware_port = 0
        self.arrivals = Arrivals()
        self.schema = scylla.schema
        self.has_client_routes = scylla.client_routes
        # The versions of Cassandra and CQL that ScyllaDB reports.
        self.release_version = "3.0.8"
        self.supported["CQL_VERSION"] = ["3.3.1"]
        self._next_shard = 0  # how many connections the ordinary port has accepted
        # Generates the random ports of a simulated NAT. Each node has a different seed.
        self._nat = Random(len(scylla.nodes))
        self._shard_listener: Listening | None = None  # None while closed
        scylla.nodes.append(self)

    # -- connections -------------------------------------------------------------------------------

    def _listen(self) -> None:
        """Listen on the ordinary port and, if the node has one, on the shard-aware port."""
        super()._listen()
        has_port = self.scylla.shard_aware_port and self.scylla.shard_aware
        if not has_port or self._shard_listener is not None:
            return
        self._shard_listener = self._accept_on(self.shard_aware_port)
        self.shard_aware_port = self._shard_listener.getsockname()[1]

    def _stop_listening(self) -> None:
        super()._stop_listening()
        self._stop_shard_listener()

    def _stop_shard_listener(self) -> None:
        if self._shard_listener is not None:
            self._running().stop_listening(self._shard_listener)
            self._shard_listener = None

    def close_shard_aware_port(self) -> None:
        """Refuse connections to the shard-aware port, until the node is started again.

        SUPPORTED still announces the port.
        """
        self._running().call(self._stop_shard_listener)

    def connection_opened(self, connection: ServerConnection) -> None:
        connection.shard = self._shard_for(connection)
        super().connection_opened(connection)

    def _shard_for(self, connection: ServerConnection) -> int:
        """Return the shard that will serve a new connection."""
        # On the shard-aware port, the client chooses the shard by its own port number.
        if connection.local_port == self.shard_aware_port and connection.peer is not None:
            port = connection.peer[1]
            if self.scylla.rewrites_ports:
                port = self._nat.randrange(1 << 15, 1 << 16)
            return port % self.shards
        # On the ordinary port, assign shards in turn, as a real node does.
        self._next_shard += 1
        return (self._next_shard - 1) % self.shards

    def connections_by_shard(self) -> dict[int, int]:
        """Return the number of open connections by shard, without shards that have none."""
        counts: dict[int, int] = {}
        for connection in self.connections:
            counts[connection.shard] = counts.get(connection.shard, 0) + 1
        return counts

    # -- the handshake -----------------------------------------------------------------------------

    def _on_options(self, request: Request) -> Message:
        """Answer OPTIONS with ScyllaDB's extensions.

        See ScyllaDB's docs/dev/protocol-extensions.md.
        """
        # These options are always announced.
        scylla = self.scylla
        supported = {
            **self.supported,
            "SCYLLA_HOST_ID": [str(self.host_id)],
            _LWT: [f"LWT_OPTIMIZATION_META_BIT_MASK={scylla.lwt_mask}"],
            _RATE_LIMIT: [f"ERROR_CODE={scylla.rate_limit_code}"],
            _V1: [""],
        }
        # The shards: a driver computes the shard of a token from these options.
        if scylla.shard_aware:
            supported |= {
                "SCYLLA_SHARD": [str(request.connection.shard)],
                "SCYLLA_NR_SHARDS": [str(self.shards)],
                "SCYLLA_PARTITIONER": ["org.apache.cassandra.dht.Murmur3Partitioner"],
                "SCYLLA_SHARDING_ALGORITHM": ["biased-token-round-robin"],
                "SCYLLA_SHARDING_IGNORE_MSB": [str(scylla.ignore_msb)],
            }
        # These options depend on the version and the configuration of the nodes.
        if scylla.tablets_version == 2:
            supported[_V2] = [""]
        if scylla.metadata_ids:
            supported["SCYLLA_USE_METADATA_ID"] = [""]
        if self.shard_aware_port:
            port_option = "SCYLLA_SHARD_AWARE_PORT" + ("_SSL" if self._ssl_context else "")
            supported[port_option] = [str(self.shard_aware_port)]
        return message(Opcode.SUPPORTED, string_multimap(supported))

    # -- statements --------------------------------------------------------------------------------

    def prepared_flags(self, prepared: Prepared, connection: ServerConnection) -> int:
        if _LWT in connection.options and _is_lwt(prepared.query):
            return self.scylla.lwt_mask
        return 0

    def _make_prepared(self, text: str) -> Prepared:
        """Describe a statement by the columns of its table.

        If the table was not added by `Scylla.table`, each bind marker gets an int column.
        """
        table_match = _TABLE_NAME.search(text)
        if table_match is None:
            return super()._make_prepared(text)
        keyspace, table_name = table_match[1], table_match[2]
        table = self.scylla.tables.get((keyspace, table_name))
        if table is None:
            return super()._make_prepared(text)
        marker_names = _markers(text)
        # Clients can only route the statement if all columns of the partition key are bound.
        pk_indexes: Sequence[int] = ()
        if set(table.key) <= set(marker_names):
            pk_indexes = [marker_names.index(name) for name in table.key]
        return Prepared(
            text,
            [(name, table.columns.get(name, "int")) for name in marker_names],
            _result_columns(text, table),
            pk_indexes,
            keyspace=keyspace,
            table=table_name,
        )

    def _on_execute(self, request: Request) -> Answer:
        prepared = self.statement_of(request)
        if prepared is not None and prepared.result and not self.strict:
            return rows(prepared.result, keyspace=prepared.keyspace, table=prepared.table)
        return super()._on_execute(request)

    def _answer(self, request: Request) -> None:
        if request.opcode == Opcode.EXECUTE:
            self._count_arrival(request)
        super()._answer(request)

    def _count_arrival(self, request: Request) -> None:
        """Count an EXECUTE in `arrivals`. If the client does not know the tablet, inform it."""
        prepared = self.statement_of(request)
        if prepared is None or not prepared.pk_indexes:
            return
        key = _partition_key(request.values, prepared.pk_indexes)
        if key is None:
            return
        # Find out whether this node and this shard have the partition.
        shard = request.connection.shard
        token = token_of(key)
        placement = self.scylla.placement
        replicas = placement.replicas_of(prepared.keyspace, prepared.table, token)
        if replicas is None:
            return
        arrivals = self.arrivals
        arrivals.by_shard[shard] += 1
        is_right = Replica(self.host_id, shard) in replicas
        if is_right:
            arrivals.right += 1
        elif any(replica.host_id == self.host_id for replica in replicas):
            arrivals.wrong_shard += 1
        else:
            arrivals.wrong_node += 1
        # If the client seems not to know the tablet's replicas, add them to the response.
        tablet = placement.tablet_of(prepared.keyspace, prepared.table, token)
        version = self._payload_version(request, tablet, is_right)
        if tablet is not None and version:
            arrivals.payloads += 1
            request.routing_payload = routing_payload(tablet, version)

    def _payload_version(self, request: Request, tablet: Tablet | None, is_right: bool) -> int:
        """Return the version of the tablet payload for the response, 1 or 2; 0 for no payload."""
        if tablet is None:
            return 0
        if request.connection.has_tablet_versions:
            # In version 2, the client sends one byte about the tablet's version number that it
            # knows. The high half of the byte is the index of a hexadecimal digit of this number,
            # and the low half is the digit. If our number has another digit there, the client has
            # an old version.
            block = request.tablet_version_block or 0
            digit_index, digit_of_client = block >> 4, block & 0xF
            digit = tablet.version >> 4 * digit_index & 0xF
            return 2 if digit != digit_of_client else 0
        return 1 if _V1 in request.connection.options and not is_right else 0


def _is_lwt(text: str) -> bool:
    return _CONDITION.search(text) is not None


def _markers(text: str) -> list[str]:
    """Return the column name for each bind marker of a statement.

    Finds the markers of an INSERT, or of conditions of the form ``column = ?``.
    """
    inserted = _INSERT.search(text)
    if inserted is None:
        return [match[1] for match in _COMPARED.finditer(text)]
    pairs = zip(inserted[1].split(","), inserted[2].split(","), strict=True)
    return [name.strip() for name, value in pairs if value.strip() == "?"]


def _result_columns(text: str, table: Table) -> list[tuple[str, str]]:
    """Return (name, type) of each column that a SELECT returns; [] for other statements."""
    selected = _SELECTED.match(text)
    if selected is None:
        return []
    names = [name.strip() for name in selected[1].split(",")]
    columns = list(table.columns) if names == ["*"] else names
    return [(name, table.columns.get(name, "int")) for name in columns]


def _partition_key(values: Sequence[Any], indexes: Sequence[int]) -> bytes | None:
    """Return the serialized partition key; None if one of its values is not bound."""
    parts = [values[index] for index in indexes if index < len(values)]
    if len(parts) < len(indexes) or not all(isinstance(part, bytes) for part in parts):
        return None
    if len(parts) == 1:
        value: bytes = parts[0]
        return value
    # In a composite key, each value is preceded by its length in two bytes, and followed by a zero
    # byte.
    return b"".join(len(part).to_bytes(2, "big") + part + b"\0" for part in parts)


def rate_limited(
    text: str = "primed", *, op_type: int = 0, rejected_by_coordinator: bool = False
) -> Message:
    """Return the error for a request that exceeds the rate limit of its partition.

    A client that did not ask for this error in STARTUP gets a Config_error, as ScyllaDB's
    docs/dev/protocol-extensions.md requires.

    :param text: the error message.
    :param op_type: 0 for a read, 1 for a write.
    :param rejected_by_coordinator: True if the coordinator rejected the request, False if a replica
        did.
    """
    fields = {"op_type": op_type, "rejected_by_coordinator": rejected_by_coordinator}

    def encode(request: Request) -> bytes:
        if _RATE_LIMIT not in request.connection.options:
            return error_body(ErrorCode.CONFIG_ERROR, text, {}, request)
        body = error_body(ErrorCode.RATE_LIMITED, text, fields, request)
        node = request.connection.node
        if not isinstance(node, ScyllaNode):
            return body
        # The body begins with the error code in four bytes. Replace it by the code that the node
        # announces in SUPPORTED.
        return node.scylla.rate_limit_code.to_bytes(4, "big") + body[4:]

    return Message(Opcode.ERROR, encode)
