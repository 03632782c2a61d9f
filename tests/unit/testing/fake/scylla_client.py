"""Helpers for tests of fake ScyllaDB nodes: requests as bytes, and clients of single shards."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from cassandra.testing.fake import FakeCluster, Opcode, Scylla, ScyllaNode
from cassandra.testing.fake.primitives import BodyReader

from .client import RawClient, envelope

# the name of a protocol extension of ScyllaDB
V2 = "TABLETS_ROUTING_V2_EXPERIMENTAL_V2"


def encoded_string(text: str) -> bytes:
    """Return a [string]: its length in two bytes, and its UTF-8 bytes."""
    return len(text).to_bytes(2, "big") + text.encode()


def startup(*extensions: str) -> bytes:
    """Return a STARTUP request that negotiates these extensions."""
    options = {"CQL_VERSION": "3.0.0", **dict.fromkeys(extensions, "")}
    body = len(options).to_bytes(2, "big")
    for name, value in options.items():
        body += encoded_string(name) + encoded_string(value)
    return envelope(4, Opcode.STARTUP, body)


def supported(client: RawClient) -> dict[str, list[str]]:
    """Send OPTIONS, and return the options in the SUPPORTED response."""
    reader = BodyReader(client.ask(envelope(4, Opcode.OPTIONS, b"")).body)
    return {reader.string(): reader.string_list() for _ in range(reader.short())}


def prepare(client: RawClient, text: str) -> tuple[bytes, bytes]:
    """Prepare a statement without metadata ids, and return its id and the rest of the response."""
    request_body = len(text).to_bytes(4, "big") + text.encode()
    body = client.ask(envelope(4, Opcode.PREPARE, request_body)).body
    # Skip the kind of the result.
    reader = BodyReader(body[4:])
    return reader.short_bytes(), reader.rest()


def execute(query_id: bytes, key: bytes, block: int | None = None) -> bytes:
    """Return an EXECUTE with the single value `key`.

    :param block: the byte with a part of the tablet's version, which ends the body; None if the
        extension V2 was not negotiated.
    """
    consistency, flags, value_count = b"\0\1", b"\1", b"\0\1"
    body = len(query_id).to_bytes(2, "big") + query_id + consistency + flags + value_count
    body += len(key).to_bytes(4, "big") + key
    if block is not None:
        body += bytes([block])
    return envelope(4, Opcode.EXECUTE, body)


class FromPort(RawClient):
    """A client whose connection the node assigns to `shard`.

    ScyllaDB assigns a connection on the shard-aware port to the shard `port % shards`, where `port`
    is the client's port.
    """

    def __init__(self, node: ScyllaNode, shard: int) -> None:
        first_port = 50_000 + (shard - 50_000) % node.shards
        for port in range(first_port, 65_536, node.shards):
            try:
                self._socket = socket.create_connection(
                    (node.address, node.shard_aware_port), timeout=5, source_address=("", port)
                )
            except OSError:
                continue
            return
        raise AssertionError("no port is free")


def first_node(cluster: FakeCluster) -> ScyllaNode:
    """Return the first node of a cluster, which must be one of ScyllaDB."""
    node = cluster[0]
    assert isinstance(node, ScyllaNode)
    return node


@pytest.fixture
def nodes() -> Iterator[FakeCluster]:
    """Yield three nodes with 7, 5 and 8 shards. The keyspace vn has vnodes, and tb has tablets."""
    with FakeCluster(3, scylla=Scylla(shards=[7, 5, 8])) as cluster:
        cluster.scylla.keyspace("vn")
        cluster.scylla.table("vn", "t")
        cluster.scylla.keyspace("tb", replication_factor=2, tablets=True)
        cluster.scylla.table("tb", "t", tablets=4)
        yield cluster
