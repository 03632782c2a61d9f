"""`ShardTable` chooses the connection of a request by its shard; tablets come from payloads.

Most tests run with the pure Python version and with the compiled version.
"""

from __future__ import annotations

import random
import time
import uuid
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra.murmur3 import murmur3
from cassandra.protocol.opcodes import CUSTOM_PAYLOAD_FLAG, EXECUTE, QUERY, RESULT
from cassandra.query import SimpleStatement
from cassandra.testing.fake.placement import Replica, Tablet, routing_payload
from cassandra.testing.fake.tokens import shard_of

MIN_TOKEN, MAX_TOKEN = -(1 << 63), (1 << 63) - 1


class FakeConnection:
    """A fake connection with a real stream table of the implementation under test.

    :param wire_format: the protocol version, and bits for negotiated extensions.
    """

    def __init__(self, implementation: Any, wire_format: int = 4) -> None:
        writer = implementation.frame.FrameWriter(4)
        self.streams = implementation.happy_path.StreamTable(
            writer, lambda call: call, lambda: None
        )
        self.wire_format = wire_format
        self.version = self.peer_version = 4
        self.endpoint = "e"


def send_request(connection: FakeConnection) -> None:
    """Send a request on the connection. The request is never answered."""
    connection.streams.send(object(), QUERY, 0, b"")


def new_shard_table(
    implementation: Any, shard_count: int = 4, ignore_msb: int = 0, tablets: Any = None
) -> Any:
    """Return an empty shard table.

    :param ignore_msb: how many of a token's most significant bits the node ignores.
    :param tablets: the known tablets; None means that no tablets are known.
    """
    if tablets is None:
        tablets = implementation.tablets.TabletMap()
    return implementation.happy_path.ShardTable(shard_count, ignore_msb, tablets)


def test_the_table_computes_the_shard_of_a_token(implementation: Any) -> None:
    """`shard_of` computes the same shard as the fake ScyllaDB node.

    The tables and tokens are random.
    """
    chooser = random.Random(5)
    for _ in range(500):
        count, ignore_msb = chooser.randrange(1, 300), chooser.randrange(64)
        token = chooser.choice(
            (MIN_TOKEN + 1, MAX_TOKEN, -1, 0, 1, chooser.randrange(MIN_TOKEN, MAX_TOKEN))
        )
        shards = new_shard_table(implementation, count, ignore_msb)
        assert shards.shard_of(token) == shard_of(token, count, ignore_msb)


@pytest.mark.parametrize(("count", "ignore_msb"), [(0, 0), (-1, 0), (1 << 16, 0), (1, 64), (1, -1)])
def test_impossible_tables_are_refused(implementation: Any, count: int, ignore_msb: int) -> None:
    """A table has 1 to 65535 shards and ignores 0 to 63 bits; other numbers raise ValueError."""
    # The messages contain "1 to 65535" or "0 to 63".
    with pytest.raises(ValueError, match="to 6"):
        new_shard_table(implementation, count, ignore_msb)


def test_pick_returns_the_least_busy_connection_of_a_shard(implementation: Any) -> None:
    """`pick` returns the connection of a shard with the fewest requests in flight.

    It returns None for a shard without a connection, and raises IndexError if the shard does not
    exist.
    """
    shards = new_shard_table(implementation)
    connection, other = FakeConnection(implementation), FakeConnection(implementation)
    shards.add(1, connection)
    shards.add(1, other)
    assert shards.counts() == [0, 2, 0, 0]
    send_request(connection)
    # The other connection to shard 1 has fewer requests in flight.
    assert shards.pick(1) is other
    assert shards.pick(0) is None
    # Removing a connection a second time has no effect.
    shards.remove(other)
    shards.remove(other)
    assert shards.pick(1) is connection
    for unknown_shard in (-1, 4):
        with pytest.raises(IndexError):
            shards.pick(unknown_shard)
        with pytest.raises(IndexError):
            shards.add(unknown_shard, connection)


def session_of(implementation: Any) -> Any:
    """Return a fake session in the keyspace "ks" that knows no tablets."""
    tablets = implementation.tablets.TabletMap()
    metadata = SimpleNamespace(tablets=tablets)
    core = SimpleNamespace(metadata=metadata, on_latency=None, user_types={})
    timers = SimpleNamespace(clock=time.monotonic)
    return SimpleNamespace(core=core, keyspace="ks", closed=False, timers=timers)


def statement_of(key: bytes | None, table: str = "t") -> SimpleStatement:
    """Return a statement with this routing key, about a table of the keyspace "ks"."""
    statement = SimpleStatement("SELECT", routing_key=key, keyspace="ks")
    statement.table = table
    return statement


def routing_bytes(host: Any, shard: int, version: int = 0) -> bytes:
    """Return a routing payload's value that describes one tablet with all tokens and one replica.

    :param host: the host of the replica.
    :param shard: the shard of the replica.
    :param version: the version of the tablet.
    """
    replica = Replica(host.host_id, shard)
    tablet = Tablet(MIN_TOKEN, MAX_TOKEN, (replica,), version)
    protocol_of_tablets = 2
    (tablet_bytes,) = routing_payload(tablet, protocol_of_tablets).values()
    assert tablet_bytes is not None
    return tablet_bytes


HOST = SimpleNamespace(host_id=uuid.UUID(int=9))


def test_the_shard_comes_from_the_token_or_the_tablet(implementation: Any) -> None:
    """A request goes to the shard of its tablet's replica, or else to the shard of its token.

    The least busy connection is used if the token is unknown or if this shard has no free
    connection.
    """
    session = session_of(implementation)
    tablets = session.core.metadata.tablets
    tablets.take_hosts([HOST])
    shard_count, ignore_msb = 4, 0
    shards = new_shard_table(implementation, shard_count, ignore_msb, tablets)
    connections = [FakeConnection(implementation) for _ in range(shard_count)]
    for shard, connection in enumerate(connections):
        shards.add(shard, connection)
    pool = SimpleNamespace(shards=shards, connections=connections)

    def chosen_shard(key: bytes | None, host: Any = HOST, table: str = "t") -> int:
        request = implementation.happy_path.RequestBase(
            session, statement_of(key, table), request_body=None, on_done=print
        )
        return connections.index(request.choose(host, pool))

    expected = shard_of(murmur3(b"key"), shard_count, ignore_msb)
    assert chosen_shard(b"key") == expected
    # Without a routing key, neither token nor tablet is known, so the least busy connection is
    # used.
    for connection in connections[:2]:
        send_request(connection)
    assert chosen_shard(key=None) == 2
    tablets.learn("ks", "t", routing_bytes(HOST, shard=1))
    assert chosen_shard(b"key") == 1
    assert tablets.hits == 1
    assert tablets.misses == 0
    # If no tablet is known for the table, or the host has no replica, the least busy connection is
    # used. The keys of such requests do not choose a shard.
    assert chosen_shard(b"key", table="unknown") == 2
    assert tablets.misses == 1
    assert chosen_shard(b"key", host=SimpleNamespace(host_id=None)) == 2
    # If the connection to the right shard takes no requests, the request is sent to another shard
    # without waiting.
    connections[1].streams.paused = True
    assert chosen_shard(b"key") == 2
    # In a pool without shards, the least busy connection is used.
    pool.shards = None
    assert chosen_shard(b"key") == 2


def test_for_a_shard_that_the_node_no_longer_has_another_connection_is_used(
    implementation: Any,
) -> None:
    """If a tablet names a shard that the node no longer has, another connection is used.

    A node may come back with fewer shards than its tablets name.
    """
    session = session_of(implementation)
    tablets = session.core.metadata.tablets
    tablets.take_hosts([HOST])
    tablets.learn("ks", "t", routing_bytes(HOST, shard=7))
    shards = new_shard_table(implementation, shard_count=2, tablets=tablets)
    connection = FakeConnection(implementation)
    shards.add(0, connection)
    pool = SimpleNamespace(shards=shards, connections=[connection])
    request = implementation.happy_path.RequestBase(
        session, statement_of(b"key"), request_body=None, on_done=print
    )
    assert request.choose(HOST, pool) is connection


def test_requests_send_the_parts_of_the_version_in_turn(implementation: Any) -> None:
    """Each request sends one hex digit of its tablet's version, and 16 requests send all digits.

    The node compares the digits to notice that a client knows an old version.
    """
    session = session_of(implementation)
    tablets = session.core.metadata.tablets
    version = 0xFEDC_BA98_7654_3210
    tablets.learn("ks", "t", routing_bytes(HOST, shard=0, version=version))
    request = implementation.happy_path.RequestBase(
        session, statement_of(b"key"), request_body=None, on_done=print
    )
    blocks = {request.version_block() for _ in range(16)}
    # The upper 4 bits of a block are an index, and the lower 4 bits are the version's hex digit at
    # this index. In this version, each digit equals its index.
    assert blocks == {index << 4 | index for index in range(16)}
    # Without a routing key, the tablet is unknown, so the lower 4 bits are 0.
    request_without_key = implementation.happy_path.RequestBase(
        session, statement_of(key=None), request_body=None, on_done=print
    )
    assert {request_without_key.version_block() & 0xF for _ in range(16)} == {0}


def test_the_version_block_is_an_attribute_of_the_message(implementation: Any) -> None:
    """The tablet's version block is set on the message before the message is encoded.

    Listeners and protocol handlers may change the message and encode it themselves.
    """
    session = session_of(implementation)
    message = SimpleNamespace(tablet_version_block=None)
    rendered_blocks = []

    class MessageBody:
        opcode = EXECUTE
        decodes = False
        depends = False

        def __init__(self) -> None:
            self.message = message

        def render(self, connection: Any) -> tuple[int, int, bytes]:
            rendered_blocks.append(message.tablet_version_block)
            return EXECUTE, 0, b"body"

        def cached_metadata(self) -> Any:
            return None

    for wire_format in (4, 4 | implementation.happy_path.TABLET_VERSIONS):
        request = implementation.happy_path.RequestBase(
            session, statement_of(b"key"), MessageBody(), print
        )
        request.send_to(HOST, FakeConnection(implementation, wire_format))
    # The first connection has not negotiated tablet versions.
    assert rendered_blocks[0] is None
    assert isinstance(rendered_blocks[1], int)


@pytest.mark.parametrize("has_tablet", [False, True])
def test_an_answer_with_a_tablet_finishes_the_request(
    implementation: Any, has_tablet: bool
) -> None:
    """A void result ends the request, and a tablet in its custom payload is stored."""
    session = session_of(implementation)
    tablets = session.core.metadata.tablets
    body: Any = SimpleNamespace(decodes=False, depends=False)
    ended_requests: list[Any] = []
    request = implementation.happy_path.RequestBase(
        session, statement_of(b"key"), body, ended_requests.append
    )
    connection = FakeConnection(implementation)
    attempt = implementation.happy_path.Attempt(request, HOST, connection, 0.0)
    tablet = routing_bytes(HOST, shard=3)
    void = b"\0\0\0\1"
    # The payload is a [bytes map] with one entry, which precedes the rest of the body.
    payload_map = b"\0\1\0\x12tablets-routing-v2" + len(tablet).to_bytes(4, "big") + tablet
    flags = CUSTOM_PAYLOAD_FLAG if has_tablet else 0
    answer_body = payload_map + void if has_tablet else void
    request.on_answer(attempt, connection, RESULT, flags, answer_body)
    assert ended_requests == [request]
    assert tablets.count == (1 if has_tablet else 0)
