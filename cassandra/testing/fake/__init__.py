"""Scriptable fake nodes in this process: `FakeNode`, `FakeCluster`, and the responses to script."""

from __future__ import annotations

from cassandra.testing.fake.answers import (
    Answer,
    Answerable,
    Message,
    Prepared,
    error,
    message,
    paged,
    rows,
    schema_change,
    sequence,
    set_keyspace,
    void,
)
from cassandra.testing.fake.cluster import FakeCluster
from cassandra.testing.fake.faults import (
    Held,
    Hold,
    close,
    corrupted,
    delay,
    dribble,
    duplicate,
    garbage,
    half_frame,
    hold,
    on_stream,
    out_of_order,
    raw,
    reset,
    silence,
)
from cassandra.testing.fake.managed import CosmosNode, KeyspacesNode
from cassandra.testing.fake.node import FakeNode
from cassandra.testing.fake.primitives import NOT_SET, Opcode
from cassandra.testing.fake.refusals import ErrorCode
from cassandra.testing.fake.requests import BatchStatement, Request
from cassandra.testing.fake.scylla import Arrivals, Scylla
from cassandra.testing.fake.scylla_node import ScyllaNode, rate_limited
from cassandra.testing.fake.values import Encoded, Udt
from cassandra.testing.wire import WireError

__all__ = [
    "NOT_SET", "Answer", "Answerable", "Arrivals", "BatchStatement", "CosmosNode", "Encoded",
    "ErrorCode", "FakeCluster", "FakeNode", "Held", "Hold", "KeyspacesNode", "Message", "Opcode",
    "Prepared", "Request", "Scylla", "ScyllaNode", "Udt", "WireError", "close", "corrupted",
    "delay", "dribble", "duplicate", "error", "garbage", "half_frame", "hold", "message",
    "on_stream", "out_of_order", "paged", "rate_limited", "raw", "reset", "rows", "schema_change",
    "sequence", "set_keyspace", "silence", "void",
]  # fmt: skip
