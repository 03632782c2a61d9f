"""Keeps the application's connections on the recorder or replay node, by changing responses.

A server advertises further addresses to clients: ScyllaDB's shard-aware port in SUPPORTED, the
nodes in system.local, system.peers and system.peers_v2, and proxies in system.client_routes. A
driver would connect to these addresses directly. Then a recorder would not see the requests to
them, and a replay would reach real nodes. Therefore the application gets responses in which

- SUPPORTED has no shard-aware port,
- system.local has the address of the recorder or replay node,
- the node lists in system.peers and system.peers_v2 have no rows,
- system.client_routes cannot be read.

Recordings keep the rows as the node sent them, because the recorder's address differs from run to
run.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence

from cassandra.testing.fake.primitives import Opcode, string
from cassandra.testing.fake.refusals import ErrorCode
from cassandra.testing.replay.sniffing import Answer, read_rows_head, with_values

_PORTS = frozenset({"SCYLLA_SHARD_AWARE_PORT", "SCYLLA_SHARD_AWARE_PORT_SSL"})
# The tables of the keyspace system that list other nodes. Below are the names of columns that have
# the address or the port of a node.
_PEERS = frozenset({"peers", "peers_v2"})
_ADDRESS_COLUMNS = frozenset({"rpc_address", "native_address"})
_PORT_COLUMNS = frozenset({"rpc_port", "native_port"})
_NO_ROUTES = (
    "a recorder or a replay node has no client routes, by which the application would reach real "
    "nodes directly: connect without client_routes_config"
)


def without_other_ports(options: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Return the options of SUPPORTED without the shard-aware ports."""
    return {name: list(values) for name, values in options.items() if name not in _PORTS}


def with_own_address(answer: Answer, address: str, port: int) -> Answer:
    """Return a response without addresses that lead past the recorder or replay node.

    :param answer: the (opcode, flags, body) of the node's response.
    :param address: the IPv4 address to which the application should connect.
    :returns: `answer` itself, unless it has rows of one of the system tables that list addresses.
    :raises WireError: if the body ends too early.
    """
    opcode, flags, body = answer
    if opcode != Opcode.RESULT:
        return answer
    head = read_rows_head(flags, body, only_keyspace="system")
    if head is None:
        return answer
    table, columns = head.table, set(head.columns)
    if table == "client_routes":
        error = int(ErrorCode.INVALID).to_bytes(4, "big", signed=True) + string(_NO_ROUTES)
        return Opcode.ERROR, 0, error
    if table in _PEERS:
        if _ADDRESS_COLUMNS.isdisjoint(columns):
            return answer  # for example, rows that only have the schema versions, or a count
        return opcode, flags, body[: head.end] + bytes(4)  # zero as the number of rows
    if table == "local" and not (_ADDRESS_COLUMNS | _PORT_COLUMNS).isdisjoint(columns):
        own_values = {
            **dict.fromkeys(_ADDRESS_COLUMNS, socket.inet_aton(address)),
            **dict.fromkeys(_PORT_COLUMNS, port.to_bytes(4, "big")),
        }
        return opcode, flags, with_values(body, head, own_values)
    return answer
