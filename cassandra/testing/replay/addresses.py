"""Keeps the application's connections on the recorder, or on the replay node.

A server advertises further addresses to clients: ScyllaDB's shard-aware port in SUPPORTED, the
nodes in system.local, system.peers and system.peers_v2, and proxies in system.client_routes. A
driver would connect to them directly. Then a recorder would not see these requests, and a replay
would reach real nodes. Therefore the application gets responses in which

- SUPPORTED has no shard-aware port,
- system.local has the address of the recorder or replay node,
- the node lists in system.peers and system.peers_v2 have no rows,
- system.client_routes cannot be read.

Recordings keep the rows as the node sent them, because the address differs from run to run.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence

from cassandra.testing.fake.primitives import BodyReader, Opcode, long_bytes, string
from cassandra.testing.fake.refusals import ErrorCode
from cassandra.testing.replay.sniffing import Answer, result_start

_ROWS = 2  # the kind of a RESULT (native_protocol_v5.spec, section 4.2.5)
# Flags of the metadata of rows (section 4.2.5.2).
_GLOBAL_TABLE, _MORE_PAGES, _NO_METADATA, _CHANGED = 0x0001, 0x0002, 0x0004, 0x0008
_PORTS = frozenset({"SCYLLA_SHARD_AWARE_PORT", "SCYLLA_SHARD_AWARE_PORT_SSL"})
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
    """Return a response that does not lead the application to other addresses.

    :param answer: the (opcode, flags, body) of the node's response.
    :param address: the IPv4 address to which the application should connect.
    :param port: its port.
    :returns: `answer` itself, unless it has rows of one of the system tables that list addresses.
    :raises WireError: if the body ends too early.
    """
    opcode, flags, body = answer
    if opcode != Opcode.RESULT:
        return answer
    kind, reader = result_start(flags, body)
    if kind != _ROWS:
        return answer
    start = len(body) - len(reader.rest())
    reader = BodyReader(body[start:])
    table, columns = _read_columns(reader)
    if table == "client_routes":
        error = int(ErrorCode.INVALID).to_bytes(4, "big", signed=True) + string(_NO_ROUTES)
        return Opcode.ERROR, 0, error
    if table in _PEERS:
        if _ADDRESS_COLUMNS.isdisjoint(columns):
            return answer  # such as the schema versions, or a count
        own_values = None
    elif table == "local" and not (_ADDRESS_COLUMNS | _PORT_COLUMNS).isdisjoint(columns):
        own_values = {
            **dict.fromkeys(_ADDRESS_COLUMNS, socket.inet_aton(address)),
            **dict.fromkeys(_PORT_COLUMNS, port.to_bytes(4, "big")),
        }
    else:
        return answer
    rest = reader.rest()
    metadata = body[start : len(body) - len(rest)]
    return opcode, flags, body[:start] + metadata + _rows(rest, columns, own_values)


def _read_columns(reader: BodyReader) -> tuple[str | None, list[str]]:
    """Read the metadata of rows.

    :returns: the name of the system table, and its columns; (None, []) for any other table, and for
        rows without metadata. The driver always requests the metadata of system tables.
    """
    flags, count = reader.int32(), reader.int32()
    if flags & _MORE_PAGES:
        reader.blob()
    if flags & _CHANGED:
        reader.short_bytes()
    if flags & _NO_METADATA or not count:
        return None, []
    table = (reader.string(), reader.string())
    if table[0] != "system":
        return None, []
    columns = []
    for index in range(count):
        # Without a global table, each column is preceded by its table: we have read the first one.
        if index and not flags & _GLOBAL_TABLE:
            reader.string()
            reader.string()
        columns.append(reader.string())
        reader.skip_type()
    return table[1], columns


def _rows(data: bytes, columns: Sequence[str], own_values: Mapping[str, bytes] | None) -> bytes:
    """Return the rows of a result with other values.

    :param data: the number of rows, and their values.
    :param own_values: the values to write, by column name. None to leave out all rows.
    """
    if own_values is None:
        return bytes(4)
    reader = BodyReader(data)
    count = reader.int32()
    parts = [count.to_bytes(4, "big")]
    for _ in range(count):
        for column in columns:
            value = reader.blob()
            parts.append(long_bytes(own_values.get(column, value)))
    return b"".join(parts)
