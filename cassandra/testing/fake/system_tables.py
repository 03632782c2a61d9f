"""The system tables that drivers read: rows made of the nodes' own attributes, and the schema's tables, which are empty."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from cassandra.testing.fake.answers import Message, error, rows
from cassandra.testing.fake.refusals import ErrorCode

if TYPE_CHECKING:
    from cassandra.testing.fake.node import FakeNode
    from cassandra.testing.fake.requests import Request

__all__ = ["answer_to"]

_SELECT = re.compile(
    r"^\s*select\s+(?P<columns>.+?)\s+from\s+(?P<table>system\w*\.\w+)\s*(?:where\s+(?P<where>.+?))?\s*;?\s*$",
    re.IGNORECASE | re.DOTALL,
)
_CONDITION = re.compile(r"^(\w+)\s*=\s*('?)(.*?)\2$", re.DOTALL)

_Column = tuple[str, str, Callable[["FakeNode"], Any]]

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
    ("partitioner", "text", lambda node: "org.apache.cassandra.dht.Murmur3Partitioner"),
    ("rpc_address", "inet", lambda node: node.address),
    ("rpc_port", "int", lambda node: node.port),
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
    ("native_port", "int", lambda node: node.port),
    *_COMMON,
)

_NAME, _TABLE = ("keyspace_name", "text"), ("table_name", "text")
_SCHEMA = {
    "system_schema.keyspaces": [_NAME, ("durable_writes", "boolean"), ("replication", "map<text,text>")],
    "system_schema.tables": [_NAME, _TABLE, ("id", "uuid"), ("comment", "text")],
    "system_schema.columns": [_NAME, _TABLE, ("column_name", "text"), ("kind", "text"), ("type", "text")],
    "system_schema.types": [_NAME, ("type_name", "text"), ("field_names", "list<text>"), ("field_types", "list<text>")],
    "system_schema.indexes": [_NAME, _TABLE, ("index_name", "text"), ("kind", "text"), ("options", "map<text,text>")],
    "system_schema.views": [_NAME, ("view_name", "text"), ("base_table_name", "text")],
    "system_schema.triggers": [_NAME, _TABLE, ("trigger_name", "text"), ("options", "map<text,text>")],
    "system_schema.functions": [_NAME, ("function_name", "text"), ("argument_types", "list<text>"), ("body", "text")],
    "system_schema.aggregates": [_NAME, ("aggregate_name", "text"), ("argument_types", "list<text>")],
}


def _table(node: FakeNode, name: str) -> tuple[Sequence[_Column], Sequence[FakeNode]] | None:
    if name == "system.local":
        return _LOCAL, [node]
    if name == "system.peers":
        return _PEERS, node.peers
    if name == "system.peers_v2" and node.has_peers_v2:
        return _PEERS_V2, node.peers
    if name in _SCHEMA:
        return [(column, kind, lambda node: None) for column, kind in _SCHEMA[name]], []
    return None


def _refusal(text: str) -> Message:
    return error(ErrorCode.INVALID, text)


def answer_to(node: FakeNode, request: Request) -> Message | None:
    """The answer to a SELECT from a system table; None where `request` is none."""
    match = _SELECT.match(request.query or "")
    if match is None:
        return None
    name = match["table"].lower()
    found = _table(node, name)
    if found is None:
        return _refusal(f"unconfigured table {name.partition('.')[2]}")
    columns, nodes = found
    by_name = {column[0]: column for column in columns}
    wanted = match["columns"].strip()
    names = list(by_name) if wanted == "*" else [part.strip().lower() for part in wanted.split(",")]
    unknown = [column for column in names if column not in by_name]
    if unknown:
        return _refusal(f"Undefined column name {unknown[0]} in table {name}")
    if match["where"]:
        condition = _CONDITION.match(match["where"].strip())
        if condition is None or condition[1].lower() not in by_name:
            return _refusal(f"this node does not understand the condition {match['where']!r}")
        read = by_name[condition[1].lower()][2]
        nodes = [one for one in nodes if str(read(one)) == condition[3]]
    chosen = [by_name[column] for column in names]
    return rows(
        [(column, kind) for column, kind, _ in chosen],
        [[read(one) for _, _, read in chosen] for one in nodes],
        keyspace=name.partition(".")[0],
        table=name.partition(".")[2],
    )
