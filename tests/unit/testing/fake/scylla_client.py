"""Helpers for tests of fake ScyllaDB nodes: requests as bytes, and clients of single shards."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from cassandra.testing.fake import FakeCluster, Opcode, Scylla, ScyllaNode
from cassandra.testing.fake.primitives import BodyReader

from .client import RawClient, envelope

V2 = "TABLETS_ROUTING_V2_EXPERIMENTAL_V2"


def short(text: str) -> bytes:
    return len(text).to_bytes(2, "big") + text.encode()


def startup(*options: str) -> bytes:
    pairs = [("CQL_VERSION", "3.0.0"), *((option, "") for option in options)]
    body = len(pairs).to_bytes(2, "big") + b"".join(short(k) + short(v) for k, v in pairs)
    return envelope(4, Opcode.STARTUP, body)


def supported(client: RawClient) -> dict[str, list[str]]:
    reader = BodyReader(client.ask(envelope(4, Opcode.OPTIONS, b"")).body)
    return {reader.string(): reader.string_list() for _ in range(reader.short())}


def prepare(client: RawClient, text: str) -> tuple[bytes, bytes]:
    """Prepare a statement without metadata ids, and return its id and the rest of the response."""
    body = client.ask(
        envelope(4, Opcode.PREPARE, len(text).to_bytes(4, "big") + text.encode())
    ).body
    reader = BodyReader(body[4:])
    return reader.short_bytes(), reader.rest()


def execute(query_id: bytes, key: bytes, block: int | None = None) -> bytes:
    """Return an EXECUTE with the single value `key`.

    :param block: the version block of a tablet; None if routing of tablets v2 is not negotiated.
    """
    body = len(query_id).to_bytes(2, "big") + query_id + b"\0\1\1\0\1"
    body += len(key).to_bytes(4, "big") + key
    return envelope(4, Opcode.EXECUTE, body + (b"" if block is None else bytes([block])))


class FromPort(RawClient):
    """A client that connects from a local port by which the node assigns the connection to
    `shard`.
    """

    def __init__(self, node: ScyllaNode, shard: int) -> None:
        # ScyllaDB assigns a connection to shard `port % shards`, where `port` is the client's.
        for port in range(50_000 + (shard - 50_000) % node.shards, 65_536, node.shards):
            try:
                self._socket = socket.create_connection(
                    (node.address, node.shard_aware_port), 5, source_address=("", port)
                )
            except OSError:
                continue
            return
        raise AssertionError("no port is free")


def first(cluster: FakeCluster) -> ScyllaNode:
    node = cluster[0]
    assert isinstance(node, ScyllaNode)
    return node


@pytest.fixture
def nodes() -> Iterator[FakeCluster]:
    """Yield three nodes with 7, 5 and 8 shards. The keyspace vn has vnodes, and tb has tablets."""
    with FakeCluster(3, scylla=Scylla(shards=[7, 5, 8])) as running:
        running.scylla.keyspace("vn")
        running.scylla.table("vn", "t")
        running.scylla.keyspace("tb", replication_factor=2, tablets=True)
        running.scylla.table("tb", "t", tablets=4)
        yield running
