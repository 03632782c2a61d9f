"""The responses of a fake node to SELECTs from the system tables that drivers read.

The rows of system.local and system.peers come from the attributes of the nodes. The rows of the
schema tables come from `FakeNode.schema`.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from cassandra.testing.fake.answers import Message, error, paged
from cassandra.testing.fake.refusals import ErrorCode

if TYPE_CHECKING:
    from cassandra.testing.fake.node import FakeNode
    from cassandra.testing.fake.requests import Request

# The form of SELECT that drivers send to system tables. We parse no other CQL.
_SELECT = re.compile(
    r"^\s*select\s+(?P<columns>.+?)\s+from\s+(?P<table>system\w*\.\w+)"
    r"\s*(?:where\s+(?P<where>.+?))?\s*(?:using\s+timeout\s+\w+)?\s*;?\s*$",
    re.IGNORECASE | re.DOTALL,
)
# Matches a table in one of the server's own keyspaces. The pattern lists all names of these
# keyspaces, because an application may have a keyspace such as "system_data".
_SYSTEM_TABLE = re.compile(
    r"\bsystem(_(auth|distributed(_everywhere)?|schema(_mcs)?|traces|views|virtual_schema))?\"?\.\w",
    re.IGNORECASE,
)
# Patterns that split a WHERE clause into conditions, and a condition into a column and its values.
_AND = re.compile(r"\s+and\s+", re.IGNORECASE)
_CONDITION = re.compile(r"^(\w+)\s*(?:=|in\b)\s*(.*)$", re.IGNORECASE | re.DOTALL)
_VALUE = re.compile(r"'(?:[^']|'')*'|[^\s(),']+")

# A column of a system table: (name, CQL type, function that returns the value for a node).
_Column = tuple[str, str, Callable[["FakeNode"], Any]]

# The columns that system.local, system.peers and system.peers_v2 have in common.
_COMMON: tuple[_Column, ...] = (
    ("data_center", "text", lambda node: node.datacenter),
    ("host_id", "uuid", lambda node: node.host_id),
    ("rack", "text", lambda node: node.rack),
    ("release_version", "text", lambda node: node.release_version),
    ("schema_version", "uuid", lambda node: node.schema_version),
    ("tokens", "set<text>", lambda node: node.tokens),
)
_LOCAL: tuple[_Column, ...] = (
    ("key", "text", lambda node: "local"),
    ("bootstrapped", "text", lambda node: "COMPLETED"),
    ("broadcast_address", "inet", lambda node: node.address),
    ("broadcast_port", "int", lambda node: 7000),
    ("cluster_name", "text", lambda node: node.cluster_name),
    ("cql_version", "text", lambda node: node.supported["CQL_VERSION"][0]),
    ("listen_address", "inet", lambda node: node.address),
    ("listen_port", "int", lambda node: 7000),
    ("native_protocol_version", "text", lambda node: str(node.max_version)),
    ("partitioner", "text", lambda node: node.partitioner),
    ("rpc_address", "inet", lambda node: node.address),
    ("rpc_port", "int", lambda node: _port(node)),
    *_COMMON,
)
_PEERS: tuple[_Column, ...] = (
    ("peer", "inet", lambda node: node.address),
    ("rpc_address", "inet", lambda node: node.address),
    *_COMMON,
)
_PEERS_V2: tuple[_Column, ...] = (
    ("peer", "inet", lambda node: node.address),
    ("peer_port", "int", lambda node: 7000),
    ("native_address", "inet", lambda node: node.address),
    ("native_port", "int", lambda node: _port(node)),
    *_COMMON,
)

# The columns of the schema tables, as (name, CQL type). Several tables share the lists `_OPTIONS`,
# `_COLUMN` and `_FUNCTION`.
_NAME, _TABLE = ("keyspace_name", "text"), ("table_name", "text")
_TEXTS = "map<text,text>"
_OPTIONS = [
    ("additional_write_policy", "text"), ("allow_auto_snapshot", "boolean"),
    ("bloom_filter_fp_chance", "double"), ("caching", _TEXTS), ("cdc", "boolean"),
    ("comment", "text"), ("compaction", _TEXTS), ("compression", _TEXTS),
    ("crc_check_chance", "double"), ("dclocal_read_repair_chance", "double"),
    ("default_time_to_live", "int"), ("extensions", "map<text,blob>"),
    ("gc_grace_seconds", "int"), ("id", "uuid"), ("incremental_backups", "boolean"),
    ("max_index_interval", "int"), ("memtable", "text"), ("memtable_flush_period_in_ms", "int"),
    ("min_index_interval", "int"), ("read_repair", "text"), ("read_repair_chance", "double"),
    ("speculative_retry", "text"),
]  # fmt: skip
_COLUMN = [
    _NAME, _TABLE, ("column_name", "text"), ("clustering_order", "text"),
    ("column_name_bytes", "blob"), ("kind", "text"), ("position", "int"), ("type", "text"),
]  # fmt: skip
_FUNCTION = [("argument_types", "list<text>"), ("argument_names", "list<text>"), ("body", "text")]
SCHEMA_TABLES: dict[str, list[tuple[str, str]]] = {
    "system_schema.scylla_keyspaces": [
        _NAME, ("consistency", "text"), ("initial_tablets", "int"), ("storage_options", _TEXTS),
        ("storage_type", "text"),
    ],
    "system_schema.keyspaces": [_NAME, ("durable_writes", "boolean"), ("replication", _TEXTS)],
    "system_schema.tables": [_NAME, _TABLE, *_OPTIONS, ("flags", "set<text>")],
    "system_schema.columns": _COLUMN,
    "system_schema.dropped_columns": [
        _NAME, _TABLE, ("column_name", "text"), ("dropped_time", "timestamp"), ("kind", "text"),
        ("type", "text"),
    ],
    "system_schema.types": [
        _NAME, ("type_name", "text"), ("field_names", "list<text>"), ("field_types", "list<text>"),
    ],
    "system_schema.indexes": [
        _NAME, _TABLE, ("index_name", "text"), ("kind", "text"), ("options", _TEXTS),
    ],
    "system_schema.views": [
        _NAME, ("view_name", "text"), ("base_table_name", "text"), ("base_table_id", "uuid"),
        ("include_all_columns", "boolean"), ("where_clause", "text"), *_OPTIONS,
    ],
    "system_schema.triggers": [
        _NAME, _TABLE, ("trigger_name", "text"), ("options", _TEXTS),
    ],
    "system_schema.functions": [
        _NAME, ("function_name", "text"), *_FUNCTION, ("called_on_null_input", "boolean"),
        ("language", "text"), ("return_type", "text"),
    ],
    "system_schema.aggregates": [
        _NAME, ("aggregate_name", "text"), ("argument_types", "list<text>"), ("final_func", "text"),
        ("initcond", "text"), ("return_type", "text"), ("state_func", "text"),
        ("state_type", "text"),
    ],
}  # fmt: skip
_MASKS: list[tuple[str, str]] = [
    _NAME, _TABLE, ("column_name", "text"), ("function_argument_nulls", "list<boolean>"),
    ("function_argument_types", "list<text>"), ("function_argument_values", "list<text>"),
    ("function_keyspace", "text"), ("function_name", "text"),
]  # fmt: skip
# The table system.client_routes, which ScyllaDB has since 2026.1. Its rows are in
# `FakeNode.schema`.
CLIENT_ROUTES = [
    ("connection_id", "text"), ("host_id", "uuid"), ("address", "text"), ("port", "int"),
    ("tls_port", "int"), ("alternator_port", "int"), ("alternator_https_port", "int"),
]  # fmt: skip
# Further schema tables, which only exist on nodes that have system.peers_v2.
SCHEMA_TABLES_OF_5_0 = {
    "system_schema.column_masks": _MASKS,
    "system_virtual_schema.keyspaces": [_NAME],
    "system_virtual_schema.tables": [_NAME, _TABLE, ("comment", "text")],
    "system_virtual_schema.columns": _COLUMN,
}

# (columns, rows) of a table. Each column is a pair of name and CQL type.
Table = tuple[Sequence[tuple[str, str]], Sequence[Any]]


def _port(node: FakeNode) -> int:
    """Return the port of a node, or 0 for a node that has never been started."""
    try:
        return node.port
    except RuntimeError:
        return 0


def _rows_of_nodes(columns: Sequence[_Column], nodes: Sequence[FakeNode]) -> Table:
    """Return (columns, rows) of a table that has one row for each of `nodes`."""
    rows = [{name: read(node) for name, _, read in columns} for node in nodes]
    return [(name, kind) for name, kind, _ in columns], rows


def _table(node: FakeNode, name: str) -> Table | None:
    """Return (columns, rows) of a table; None if the node has no such table."""
    if name == "system.local":
        return _rows_of_nodes(_LOCAL, [node])
    if name == "system.peers":
        return _rows_of_nodes(_PEERS, node.peers)
    if name == "system.peers_v2" and node.has_peers_v2:
        return _rows_of_nodes(_PEERS_V2, node.peers)
    # The rows of all other tables are in `node.schema`; their columns are in these dicts.
    columns = SCHEMA_TABLES.get(name)
    if columns is None and node.has_peers_v2:
        columns = SCHEMA_TABLES_OF_5_0.get(name)
    if name == "system.client_routes" and node.has_client_routes:
        columns = CLIENT_ROUTES
    return (columns, node.schema.get(name, ())) if columns is not None else None


def names_system_table(query: str) -> bool:
    """Return True if `query` names a table in one of the server's own keyspaces."""
    return _SYSTEM_TABLE.search(query) is not None


def _refusal(text: str) -> Message:
    return error(ErrorCode.INVALID, text)


def answer_to(node: FakeNode, request: Request) -> Message | None:
    """Return the answer to a SELECT from a system table; None for any other request."""
    match = _SELECT.match(request.query or "")
    if match is None:
        return None
    name = match["table"].lower()
    table = _table(node, name)
    if table is None:
        return _refusal(f"unconfigured table {name.partition('.')[2]}")
    columns, rows = table
    column_types = dict(columns)
    selection = match["columns"].strip()
    selected = [part.strip().lower() for part in selection.split(",")]
    if selection == "*":
        selected = list(column_types)
    # Like a real server, raise an error for unknown columns: drivers then read other tables or
    # columns.
    unknown = [column for column in selected if column not in column_types]
    if unknown:
        return _refusal(f"Undefined column name {unknown[0]} in table {name}")
    # Filter the rows by the conditions of WHERE.
    bound_values = iter(request.values)
    condition_texts = _AND.split(match["where"].strip()) if match["where"] else []
    for condition_text in condition_texts:
        condition = _CONDITION.match(condition_text.strip())
        if condition is None or condition[1].lower() not in column_types:
            return _refusal(f"this node does not understand the condition {match['where']!r}")
        column = condition[1].lower()
        values = {
            _bound(next(bound_values, None), column_types[column])
            if value == "?"
            else _unquoted(value)
            for value in _VALUE.findall(condition[2])
        }
        # Compare the values as strings: the literals in WHERE were not parsed, and are strings for
        # columns of any type.
        rows = [row for row in rows if str(row.get(column)) in values]
    keyspace, _, bare_name = name.partition(".")
    return paged(
        [(column, column_types[column]) for column in selected],
        [[row.get(column) for column in selected] for row in rows],
        keyspace=keyspace,
        table=bare_name,
    )


def _bound(value: object, kind: str) -> str | None:
    """Return a bound value as a string, like a literal of WHERE without its quotes.

    Return None if the value is null, unset or missing.
    """
    if not isinstance(value, bytes):
        return None
    if kind == "uuid":
        return str(uuid.UUID(bytes=value))
    return str(int.from_bytes(value, "big", signed=True)) if kind == "int" else value.decode()


def _unquoted(value: str) -> str:
    return value[1:-1].replace("''", "'") if value.startswith("'") else value
