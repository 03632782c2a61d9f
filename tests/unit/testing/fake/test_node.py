"""The bytes that a `FakeNode` reads and writes.

The tests have requests and expected responses written by hand from the protocol specifications.
"""

from __future__ import annotations

import errno
import hashlib
import re
import select
import socket
import sys
import threading
from typing import Any

import pytest

from cassandra.testing import wire
from cassandra.testing.fake import (
    NOT_SET,
    Answer,
    ErrorCode,
    FakeNode,
    Opcode,
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
    rows,
    set_keyspace,
    silence,
    void,
)
from cassandra.testing.fake.answers import Answerable
from cassandra.testing.fake.requests import Request
from cassandra.testing.fake.segments import HAVE_LZ4, SegmentReader, encode_segment

from .client import STARTUP_BODY, RawClient, ask, envelope, in_segment, query

VOID = bytes.fromhex("00000001")  # the body of a RESULT of kind Void

# flags of envelopes (native_protocol_v5.spec, section 2.4.1.2)
COMPRESSED_FLAG = 0x01
TRACING_FLAG = 0x02
CUSTOM_PAYLOAD_FLAG = 0x04
WARNING_FLAG = 0x08


# -- the handshake ---------------------------------------------------------------------------------


def test_options(node: FakeNode) -> None:
    """SUPPORTED has the node's protocol versions, and the options that the test has set."""
    node.supported = {"COMPRESSION": [], "CQL_VERSION": ["3.4.7"], "SCYLLA_SHARD": ["1"]}
    with RawClient(node) as client:
        version, flags, stream, opcode, body = client.ask(envelope(5, Opcode.OPTIONS, b"", 3))
    assert version == 0x85
    assert flags == 0
    assert stream == 3
    assert opcode == Opcode.SUPPORTED
    # A [string multimap] with four entries. The first entry lists the versions 3/v3, 4/v4 and 5/v5.
    assert body == (
        bytes.fromhex("0004 0011") + b"PROTOCOL_VERSIONS"
        + bytes.fromhex("0003 0004 332f7633 0004 342f7634 0004 352f7635")
        + bytes.fromhex("000b") + b"COMPRESSION" + bytes.fromhex("0000")
        + bytes.fromhex("000b") + b"CQL_VERSION" + bytes.fromhex("0001 0005 332e342e37")
        + bytes.fromhex("000c") + b"SCYLLA_SHARD" + bytes.fromhex("0001 0001 31")
    )  # fmt: skip


def failing(request: Request) -> Answer:
    raise AssertionError("the level is 1")


def returning_nothing(request: Request) -> Any:
    """Forget to return an answer."""


def refusing(request: Request) -> Answer:
    pytest.fail("no such request")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (failing, "AssertionError: the level is 1"),
        (delay(0, failing), "AssertionError: the level is 1"),
        (out_of_order(failing, 1), "AssertionError: the level is 1"),
        (returning_nothing, "TypeError: None is neither an answer"),
        (refusing, "Failed: no such request"),
    ],
)
def test_an_answer_that_fails_is_raised_at_the_end(answer: Answerable, expected: str) -> None:
    """The client gets a server error, and the test fails, even if the client goes on."""
    kind, _, text = expected.partition(": ")
    with pytest.raises(BaseException, match=text) as raised, FakeNode() as node:  # noqa: PT012
        node.prime("a", answer)
        with RawClient(node) as client:
            client.start(4)
            _, _, _, opcode, body = ask(client, "a")
            assert opcode == Opcode.ERROR
            assert expected.encode() in body
            # The connection still works.
            assert ask(client, "b")[3] == Opcode.RESULT
    assert type(raised.value).__name__ == kind
    assert node.failures == [raised.value]
    assert not node.is_running
    # It is raised once.
    with node:
        pass


def test_a_held_answer_and_a_match_that_fail() -> None:
    """Functions that fail later, and match functions, are recorded in the same way."""
    node = FakeNode().start()
    held = hold(failing)
    node.prime("a", held)
    with RawClient(node) as client:
        client.start(4)
        client.send(query("a", 4) + query("a", 4))
        held.release()
        assert client.envelope()[3] == Opcode.ERROR
        held.wait()
        held.release_all()
        assert client.envelope()[3] == Opcode.ERROR
        node.prime(lambda request: bool(1 / 0), void())
        assert ask(client, "b")[3] == Opcode.ERROR
    first, second, third = node.failures
    assert isinstance(third, ZeroDivisionError)
    with pytest.raises(AssertionError, match="the level is 1") as raised:
        node.stop()
    assert raised.value is first
    if sys.version_info >= (3, 11):
        assert [repr(second) in first.__notes__[0], repr(third) in first.__notes__[1]] == [True] * 2
    # The test may expect the exception.
    node.failures.clear()
    node.stop()


def test_another_exception_of_the_test_is_not_hidden() -> None:
    with pytest.raises(LookupError) as raised, FakeNode() as node:  # noqa: PT012
        node.prime("a", failing)
        with RawClient(node) as client:
            client.start(4)
            ask(client, "a")
            raise LookupError
    assert raised.value.__context__ is None
    if sys.version_info >= (3, 11):
        assert "the level is 1" in raised.value.__notes__[0]


def test_version_4_without_frames(client: RawClient) -> None:
    """In version 4, a response is an envelope without a segment around it."""
    assert ask(client, "anything", 0x0102) == (0x84, 0, 0x0102, Opcode.RESULT, VOID)


def test_version_5_with_frames(node: FakeNode) -> None:
    """In version 5, queries that arrive in a segment are answered in a segment."""
    with RawClient(node) as client:
        client.start(5)
        client.send(in_segment(query("one", 5, 1) + query("two", 5, 2)))
        # The segment has two envelopes of version 5, for the streams 1 and 2. Each envelope is a
        # RESULT (opcode 8) with a body of 4 bytes, the kind Void (1).
        assert client.segment() == bytes.fromhex(
            "85 00 0001 08 00000004 00000001" + "85 00 0002 08 00000004 00000001"
        )
    assert [request.query for request in node.queries()] == ["one", "two"]


def test_a_request_in_many_frames_and_pieces(node: FakeNode) -> None:
    """The node assembles a request that arrives in several segments, cut at arbitrary bytes."""
    statement = "x" * 200_000
    request = query(statement, 5)
    # 131,071 bytes is the largest payload of a segment. The data is sent in pieces of 50,001 bytes,
    # so a piece may end anywhere within a segment.
    data = b"".join(
        encode_segment(request[start : start + 131_071], self_contained=False, compressed=False)
        for start in (0, 131_071)
    )
    with RawClient(node) as client:
        client.start(5)
        for start in range(0, len(data), 50_001):
            client.send(data[start : start + 50_001])
        assert client.segment()[9:] == VOID
    assert node.queries()[0].query == statement


@pytest.mark.skipif(not HAVE_LZ4, reason="needs lz4")
def test_version_5_with_lz4(node: FakeNode) -> None:
    """A compressed request gets a compressed response, in version 5."""
    # Two options: CQL_VERSION=3.0.0 and COMPRESSION=lz4.
    startup = bytes.fromhex("0002 000b") + b"CQL_VERSION" + bytes.fromhex("0005") + b"3.0.0"
    startup += bytes.fromhex("000b") + b"COMPRESSION" + bytes.fromhex("0003") + b"lz4"
    select = "SELECT " + "x" * 1000
    node.prime(select, rows([("v", "text")], [("y" * 5000,)]))
    with RawClient(node) as client:
        client.start(5, startup)
        client.send(encode_segment(query(select, 5), self_contained=True, compressed=True))
        reader = SegmentReader(compressed=True)
        payload = b""
        while not payload:
            payload = reader.feed(client.recv(65536))
        assert payload.endswith(b"y" * 5000)


@pytest.mark.skipif(not HAVE_LZ4, reason="needs lz4")
def test_version_4_with_lz4(node: FakeNode) -> None:
    """In version 4, a compressed body has the flag 0x01 and begins with its uncompressed length.

    Each body is compressed separately; see native_protocol_v4.spec, section 2.2.
    """
    startup = bytes.fromhex("0001 000b") + b"COMPRESSION" + bytes.fromhex("0003") + b"lz4"
    body = bytes.fromhex("00000004") + b"USE " + bytes.fromhex("0001 00")
    # The simplest LZ4 block is a single run of literal bytes: its length, and the bytes.
    block = bytes([len(body) << 4]) + body
    compressed_body = len(body).to_bytes(4, "big") + block
    with RawClient(node) as client:
        client.start(4, startup)
        client.send(envelope(4, Opcode.QUERY, compressed_body, flags=COMPRESSED_FLAG))
        _, flags, _, opcode, answer = client.envelope()
        assert flags == COMPRESSED_FLAG
        assert opcode == Opcode.RESULT
        # the length 4, and a block with four literal bytes
        assert answer == bytes.fromhex("00000004 40 00000001")
    assert node.queries()[0].query == "USE "


def test_unknown_compression_is_refused(node: FakeNode) -> None:
    """A STARTUP that names an unknown compression algorithm gets an ERROR."""
    startup = bytes.fromhex("0001 000b") + b"COMPRESSION" + bytes.fromhex("0003") + b"zip"
    with RawClient(node) as client:
        _, _, _, opcode, body = client.ask(envelope(4, Opcode.STARTUP, startup))
    assert opcode == Opcode.ERROR
    assert wire.decode_error(body) == (
        ErrorCode.PROTOCOL_ERROR,
        "Unknown compression algorithm: zip",
    )


@pytest.mark.parametrize("opcode", [Opcode.STARTUP, Opcode.OPTIONS])
def test_a_newer_version_is_refused_in_the_node_s_own_version(opcode: int) -> None:
    """A request of an unsupported version is refused, and the client may begin again in version 4.

    The refused request is not recorded.
    """
    request_body = STARTUP_BODY if opcode == Opcode.STARTUP else b""
    with FakeNode(max_version=4) as node, RawClient(node) as client:
        response = client.ask(envelope(5, opcode, request_body, stream=9))
        assert response.version == 0x84
        assert response.stream == 9
        assert response.opcode == Opcode.ERROR
        code, message = wire.decode_error(response.body)
        assert code == ErrorCode.PROTOCOL_ERROR
        assert (
            message
            == "Invalid or unsupported protocol version (5); supported versions are (3/v3, 4/v4)"
        )
        assert node.requests == []
        client.start(4)


@pytest.mark.parametrize("version", [4, 5])
def test_the_right_password_is_accepted_and_a_wrong_one_refused(version: int) -> None:
    """The node checks the password. In version 5, the login is in segments."""
    # A token follows its length. The token is the user name and the password, each after a NUL
    # byte.
    right_token = bytes.fromhex("00000006") + b"\0al\0pw"
    wrong_token = bytes.fromhex("00000006") + b"\0al\0px"
    with FakeNode(username="al", password="pw") as node:
        for token, expected_opcode in (
            (right_token, Opcode.AUTH_SUCCESS),
            (wrong_token, Opcode.ERROR),
        ):
            with RawClient(node) as client:
                _, _, _, opcode, body = client.ask(envelope(version, Opcode.STARTUP, STARTUP_BODY))
                assert opcode == Opcode.AUTHENTICATE
                assert body[2:] == b"org.apache.cassandra.auth.PasswordAuthenticator"
                request = envelope(version, Opcode.AUTH_RESPONSE, token)
                # In version 5, segments begin after the response to STARTUP.
                client.send(request if version == 4 else in_segment(request))
                # In version 5, the response is the payload of a segment, which begins with an
                # envelope; in version 4, it is the header of an envelope (9 bytes). Byte 4 of an
                # envelope is its opcode.
                response = client.segment() if version == 5 else client.read(9)
                assert response[4] == expected_opcode


def test_queries_have_to_wait_for_the_handshake(node: FakeNode) -> None:
    """A QUERY before STARTUP gets an ERROR."""
    with RawClient(node) as client:
        _, _, _, opcode, body = client.ask(query("SELECT 1", 4))
    assert opcode == Opcode.ERROR
    assert wire.decode_error(body) == (
        ErrorCode.PROTOCOL_ERROR,
        "Unexpected message QUERY, expecting STARTUP or OPTIONS",
    )


@pytest.mark.parametrize(
    "data",
    [
        envelope(4, Opcode.QUERY, b"\0\0\0\x05ab"),
        envelope(4, Opcode.QUERY, b"\0\0\0\x01a\0\1\0 and more"),
        envelope(4, Opcode.RESULT, b""),
        envelope(0x84, Opcode.QUERY, b""),
        envelope(4, Opcode.QUERY, b"", flags=COMPRESSED_FLAG),
        b"\4\0\0\0\7\xff\xff\xff\xff",
    ],
    ids=["short", "long", "response", "direction", "compressed", "length"],
)
def test_malformed_requests_are_refused_and_recorded(
    node: FakeNode, client: RawClient, data: bytes
) -> None:
    """A malformed request closes the connection, and is recorded in the node's `malformed`."""
    _, _, _, opcode, body = client.ask(data)
    assert opcode == Opcode.ERROR
    assert wire.decode_error(body)[0] == ErrorCode.PROTOCOL_ERROR
    # The node closes the connection after a malformed request.
    assert client.at_end()
    assert len(node.malformed) == 1


# -- decoded requests ------------------------------------------------------------------------------


def test_all_parameters_of_a_query(node: FakeNode) -> None:
    """The node decodes a QUERY with all flags except the flag for value names.

    See native_protocol_v5.spec, section 4.1.4.
    """
    body = bytes.fromhex(
        "00000001 51 0006 000001bf"  # query, consistency level, flags
        "0003 00000001 07 ffffffff fffffffe"  # values
        "00000064"  # page size
        "00000002 abcd"  # paging state
        "0009"  # serial consistency
        "0000000000000005"  # timestamp
        "0002 6b73"  # keyspace
        "00000009"  # now
    )
    with RawClient(node) as client:
        client.start(5)
        client.send(in_segment(envelope(5, Opcode.QUERY, body, 5)))
        client.segment()
    request = node.queries()[0]
    assert request.query == "Q"
    assert request.consistency == 6  # LOCAL_QUORUM
    assert request.version == 5
    assert request.stream == 5
    assert list(request.values) == [b"\7", None, NOT_SET]
    assert request.page_size == 100
    assert request.paging_state == b"\xab\xcd"
    assert request.serial_consistency == 9  # LOCAL_SERIAL
    assert request.timestamp == 5
    assert request.keyspace == "ks"
    assert request.now_in_seconds == 9
    assert request.skip_metadata


def test_named_values_payload_and_tracing(node: FakeNode, client: RawClient) -> None:
    """The node decodes named values and a custom payload; a traced request gets a tracing id."""
    payload = bytes.fromhex("0001 0001 61 00000001 62")
    # The query "Q", the consistency level ONE, the flags 0x41 (values with names), and k = 7.
    body = payload + bytes.fromhex("00000001 51 0001 41 0001 0001 6b 00000001 07")
    _, flags, _, _, answer = client.ask(
        envelope(4, Opcode.QUERY, body, 0, flags=TRACING_FLAG | CUSTOM_PAYLOAD_FLAG)
    )
    request = node.queries()[0]
    assert request.names == ["k"]
    assert request.values == [b"\7"]
    assert request.custom_payload == {"a": b"b"}
    assert request.traced
    assert flags == TRACING_FLAG
    # The body begins with a tracing id of 16 bytes.
    tracing_id_size = 16
    assert answer[tracing_id_size:] == VOID


def test_prepare_execute_and_batch(node: FakeNode, client: RawClient) -> None:
    """A node prepares any statement, with a bind marker for each "?" outside of strings.

    After `forget_prepared`, the node does not know the statement, as after a restart.
    """
    insert = "INSERT INTO t (k, v) VALUES (?, '?')"
    query_id = hashlib.md5(insert.encode()).digest()
    prepare = envelope(4, Opcode.PREPARE, len(insert).to_bytes(4, "big") + insert.encode())
    _, _, _, opcode, body = client.ask(prepare)
    assert opcode == Opcode.RESULT
    # The body has the kind, the id, one bind marker (k int of ks.t), no partition key index and no
    # result columns (native_protocol_v4.spec, section 4.2.5.4).
    assert body == bytes.fromhex("00000004 0010") + query_id + bytes.fromhex(
        "00000001 00000001 00000000 0002 6b73 0001 74 0001 6b 0009 00000004 00000000"
    )
    # The consistency level ONE, the flag 1 (values), and one value of 4 bytes: 7.
    execute = envelope(
        4, Opcode.EXECUTE, b"\0\x10" + query_id + bytes.fromhex("0001 01 0001 00000004 00000007")
    )
    assert client.ask(execute)[3:] == (Opcode.RESULT, VOID)
    # An unlogged batch (1) of two statements: the query "Q" without values, and the prepared
    # statement with the value 8. The consistency level is QUORUM (4).
    batch = (
        bytes.fromhex("01 0002 00 00000001 51 0000 01 0010")
        + query_id
        + bytes.fromhex("0001 00000004 00000008 0004 00")
    )
    assert client.ask(envelope(4, Opcode.BATCH, batch))[3:] == (Opcode.RESULT, VOID)
    execute_request, batch_request = node.queries(insert)
    assert execute_request.opcode == Opcode.EXECUTE
    assert execute_request.values == [b"\0\0\0\7"]
    assert execute_request.query_id == query_id
    assert batch_request.opcode == Opcode.BATCH
    assert batch_request.batch_type == 1  # unlogged
    assert batch_request.consistency == 4  # QUORUM
    assert batch_request.queries == ["Q", insert]
    assert [statement.values for statement in batch_request.statements] == [[], [b"\0\0\0\x08"]]
    assert node.prepared == [insert]
    node.forget_prepared()
    # Both requests get the error 0x2500 ("unprepared") with the id that the node does not know.
    for request in (execute, envelope(4, Opcode.BATCH, batch)):
        _, _, _, opcode, body = client.ask(request)
        assert opcode == Opcode.ERROR
        assert body[:4] == bytes.fromhex("00002500")
        assert body.endswith(b"\0\x10" + query_id)


# -- answers ---------------------------------------------------------------------------------------


def test_use(node: FakeNode, client: RawClient) -> None:
    """USE changes the keyspace of the connection, and fails if the keyspace is unknown.

    The node changes a name without quotes to lower case.
    """
    assert ask(client, 'USE "Mine"').body == bytes.fromhex("00000003 0004") + b"Mine"
    assert ask(client, "use Mine;").body == bytes.fromhex("00000003 0004") + b"mine"
    node.keyspaces = {"ks"}
    assert wire.decode_error(ask(client, "USE mine").body) == (
        ErrorCode.INVALID,
        "Keyspace 'mine' does not exist",
    )


# -- the script ------------------------------------------------------------------------------------


def keyspace_in_answer(client: RawClient, text: str, stream: int = 0) -> str:
    """Send a query, and return the keyspace of the RESULT of kind Set_keyspace that answers it."""
    body = ask(client, text, stream).body
    # The name follows the kind of the result (4 bytes) and the length of the name (2 bytes).
    return body[6:].decode()


def test_later_primes_are_tried_first_and_may_be_limited(node: FakeNode, client: RawClient) -> None:
    """A later prime has priority over earlier primes, and may be limited to some requests.

    A prime is for a regular expression, a query string, a function of the request, or an opcode. If
    no prime fits, the response is a RESULT of kind Void.
    """
    node.prime(re.compile("^SELECT"), set_keyspace("regex"))
    node.prime("SELECT 1", set_keyspace("text"))
    limited_prime = node.prime(
        lambda request: request.stream == 5, set_keyspace("function"), times=1
    )
    assert keyspace_in_answer(client, "SELECT 1", stream=5) == "function"
    assert keyspace_in_answer(client, "SELECT 1", stream=5) == "text"
    assert keyspace_in_answer(client, "SELECT 2", stream=5) == "regex"
    assert limited_prime.used == 1
    assert ask(client, "INSERT").body == VOID
    node.prime(Opcode.QUERY, set_keyspace("opcode")).remove()
    assert keyspace_in_answer(client, "SELECT 2") == "regex"
    node.clear_primes()
    assert ask(client, "SELECT 1").body == VOID


def test_held_answers(node: FakeNode, client: RawClient) -> None:
    """The test can release held responses in any order, and replace their content."""
    held_answer = hold(set_keyspace("default"))
    node.prime("Q", held_answer)
    client.send(query("Q", 4, 1) + query("Q", 4, 2) + query("Q", 4, 3) + query("other", 4, 4))
    # While three requests are held, the node still responds to others.
    assert client.envelope().stream == 4
    assert [held_request.request.stream for held_request in held_answer.wait(3)] == [1, 2, 3]
    second = held_answer.held[1]
    second.release(set_keyspace("second"))
    assert client.envelope()[2:] == (2, Opcode.RESULT, bytes.fromhex("00000003 0006") + b"second")
    with pytest.raises(RuntimeError, match="answered already"):
        second.release()
    held_answer.release()
    assert client.envelope()[2:] == (1, Opcode.RESULT, bytes.fromhex("00000003 0007") + b"default")
    with pytest.raises(AssertionError, match=r"1 requests were held back within 0\.01 s, not 5"):
        held_answer.take(5, timeout=0.01)
    # `open` releases the third request, and later requests are not held any more.
    held_answer.open()
    assert client.envelope().stream == 3
    assert ask(client, "Q", 7).stream == 7


# -- faults ----------------------------------------------------------------------------------------


def test_silence_delay_order_and_copies(node: FakeNode, client: RawClient) -> None:
    """A response may be missing, late, out of order, sent twice, or on the wrong stream."""
    node.prime("silent", silence())
    node.prime("late", delay(0.001, void()))
    node.prime("turned", out_of_order(void(), 3))  # reverse the order of each three responses
    node.prime("twice", duplicate(void()))
    node.prime("elsewhere", on_stream(void(), -7))
    # Stream 1 never gets a response.
    client.send(query("silent", 4, 1))
    assert ask(client, "late", 2).stream == 2
    client.send(b"".join(query("turned", 4, stream) for stream in (1, 2, 3)))
    assert [client.envelope().stream for _ in range(3)] == [3, 2, 1]
    assert ask(client, "twice", 4).stream == 4
    assert client.envelope().stream == 4
    assert ask(client, "elsewhere", 5).stream == -7


def test_garbage_and_raw_bytes_are_sent_unchanged(node: FakeNode, client: RawClient) -> None:
    """In version 5, `raw` bytes are put into a segment, while `garbage` is sent as it is."""
    node.prime("garbage", garbage(b"123456789"))
    node.prime("raw", raw(b"abc"))
    client.send(query("garbage", 4))
    assert client.read(9) == b"123456789"
    client.send(query("raw", 4))
    assert client.read(3) == b"abc"
    with RawClient(node) as client_of_version_5:
        client_of_version_5.start(5)
        client_of_version_5.send(in_segment(query("garbage", 5)))
        assert client_of_version_5.read(9) == b"123456789"
        client_of_version_5.send(in_segment(query("raw", 5)))
        assert client_of_version_5.segment() == b"abc"


def test_dribbled_answers_arrive_in_pieces(node: FakeNode, client: RawClient) -> None:
    """A `dribble` answer arrives in pieces, which together are the ordinary response."""
    node.prime("Q", dribble(void()))
    assert ask(client, "Q", 3) == (0x84, 0, 3, Opcode.RESULT, VOID)
    with RawClient(node) as client_of_version_5:
        client_of_version_5.start(5)
        client_of_version_5.send(in_segment(query("Q", 5)))
        assert client_of_version_5.segment()[9:] == VOID


def test_damaged_frames(node: FakeNode) -> None:
    """A `corrupted` segment differs from the intact segment in the last byte of its payload."""
    node.prime("Q", corrupted(void()))
    with RawClient(node) as client:
        client.start(5)
        client.send(in_segment(query("Q", 5)))
        header_size, payload_size, checksum_size = 6, 13, 4
        damaged = client.read(header_size + payload_size + checksum_size)
    intact = in_segment(bytes.fromhex("85 00 0000 08 00000004 00000001"))
    differences = [index for index, byte in enumerate(damaged) if byte != intact[index]]
    assert differences == [header_size + payload_size - 1]


def test_answers_that_end_the_connection(node: FakeNode) -> None:
    """A node may close or reset a connection, or write only a part of a response before that.

    The second argument of `half_frame` is the number of bytes to write; -1 leaves out the last
    byte.
    """
    node.prime("close", close())
    node.prime("half", half_frame(void(), 5))
    node.prime("hang", half_frame(void(), -1, "hang"))
    node.prime("reset", reset())
    with RawClient(node) as client:
        client.start(4)
        client.send(query("close", 4))
        assert client.at_end()
    with RawClient(node) as client:
        client.start(4)
        client.send(query("half", 4))
        assert client.read(100) == bytes.fromhex("84 00 0000 08")
    with RawClient(node) as client:
        client.start(4)
        client.send(query("hang", 4) + query("other", 4))
        assert client.read(12) == bytes.fromhex("84 00 0000 08 00000004 000000")
        node.wait_for(lambda node: node.queries("hang"))
        # After half an envelope, the node hangs and reads no further request.
        assert node.queries("other") == []
    with RawClient(node) as client:
        client.start(4)
        client.send(query("reset", 4))
        with pytest.raises(ConnectionResetError):
            client.read(1)
    with pytest.raises(ValueError, match="maybe"):
        half_frame(void(), 1, "maybe")


# -- switches --------------------------------------------------------------------------------------


def test_a_node_can_refuse_and_accept_connections(node: FakeNode) -> None:
    """After `refuse_connections`, the node accepts no connection until `accept_connections`."""
    node.refuse_connections()
    with pytest.raises(ConnectionRefusedError):
        RawClient(node)
    node.accept_connections()
    with RawClient(node) as client:
        client.start(4)


def test_a_node_can_accept_connections_and_hang(node: FakeNode) -> None:
    """A hanging node does not respond until it accepts connections again."""
    node.accept_but_hang()
    with RawClient(node) as client:
        client.send(envelope(4, Opcode.OPTIONS, b""))
        # The node must not respond, so a short timeout is enough.
        client.settimeout(0.02)
        with pytest.raises(TimeoutError):
            client.read(1)
    node.accept_connections()
    with RawClient(node) as client:
        client.start(4)


@pytest.mark.parametrize("method", ["stop_reading", "pause"])
def test_a_node_that_does_not_read(node: FakeNode, client: RawClient, method: str) -> None:
    """If the node does not read, the client can send only as many bytes as the sockets buffer."""
    getattr(node, method)()
    client.settimeout(0.2)
    with pytest.raises(TimeoutError):
        client.send(bytes(64 << 20))
    assert node.queries() == []


def test_requests_during_a_pause_are_answered_after_it(node: FakeNode, client: RawClient) -> None:
    """After a pause, a node sends responses that were released or requested during the pause."""
    held_answer = hold()
    node.prime("held", held_answer)
    client.send(query("held", 4, 1))
    held_answer.wait()
    node.pause()
    held_answer.release()
    client.send(query("Q", 4, 2))
    node.resume()
    streams = [client.envelope().stream, client.envelope().stream]
    # The two responses may arrive in any order.
    assert sorted(streams) == [1, 2]


def test_a_paused_node_sends_nothing(node: FakeNode, client: RawClient) -> None:
    """Responses whose time comes during a pause, and events, leave the node when it resumes."""
    types = bytes.fromhex("0001 000d") + b"STATUS_CHANGE"
    assert client.ask(envelope(4, Opcode.REGISTER, types)).opcode == Opcode.READY
    held_answer = hold()
    node.prime("held", held_answer)
    for stream in (2, 3):
        client.send(query("held", 4, stream))
    late, last = (held.request for held in held_answer.wait(2))
    node.pause()
    # `delay` calls the answer in this way when its time has come.
    call = node._running().call
    call(void().perform, late)
    call(garbage(b"raw").perform, last)
    assert node.send_event("STATUS_CHANGE", "UP", "127.0.0.1", 9042) == 1
    # The node's thread has written whatever it writes before it makes these calls.
    for _ in range(3):
        call(int)
    assert select.select([client], [], [], 0)[0] == []
    node.resume()
    assert [client.envelope().stream for _ in range(2)] == [2, -1]
    assert client.read(3) == b"raw"


def test_a_node_can_drop_its_connections(node: FakeNode, client: RawClient) -> None:
    """`drop_connections` closes or resets open connections; clients may connect again."""
    assert node.drop_connections() == 1
    assert client.at_end()
    node.wait_for(lambda node: not node.connections)
    with RawClient(node) as second_client:
        second_client.start(4)
        assert node.drop_connections(reset=True) == 1
        with pytest.raises(ConnectionResetError):
            second_client.read(1)
    assert node.opened == 2


def test_events(node: FakeNode, client: RawClient) -> None:
    """A node sends an event to the clients that registered for its type.

    `send_event` returns the number of these clients.
    """
    assert node.send_event("STATUS_CHANGE", "UP", "127.0.0.1", 9042) == 0
    types = bytes.fromhex("0002 000d") + b"STATUS_CHANGE" + bytes.fromhex("000d") + b"SCHEMA_CHANGE"
    assert client.ask(envelope(4, Opcode.REGISTER, types)).opcode == Opcode.READY
    assert node.send_event("STATUS_CHANGE", "UP", "127.0.0.1", 9042) == 1
    assert node.send_event("TOPOLOGY_CHANGE", "NEW_NODE", "127.0.0.1", 9042) == 0
    assert client.envelope() == (
        0x84, 0, -1, Opcode.EVENT,
        bytes.fromhex("000d") + b"STATUS_CHANGE" + bytes.fromhex("0002 5550 04 7f000001 00002352"),
    )  # fmt: skip
    node.send_event("SCHEMA_CHANGE", "DROPPED", "FUNCTION", "ks", "f", ["int"])
    assert client.envelope().body == (
        bytes.fromhex("000d") + b"SCHEMA_CHANGE" + bytes.fromhex("0007") + b"DROPPED"
        + bytes.fromhex("0008") + b"FUNCTION"
        + bytes.fromhex("0002 6b73 0001 66 0001 0003 696e74")
    )  # fmt: skip


# -- starting and stopping -------------------------------------------------------------------------


def test_wait_for_returns_the_result_of_the_condition(node: FakeNode, client: RawClient) -> None:
    """If the condition does not become true in time, `wait_for` raises AssertionError."""
    client.send(query("Q", 4))
    assert node.wait_for(lambda node: node.queries("Q"))[0].query == "Q"
    with pytest.raises(AssertionError, match="did not come to that"):
        node.wait_for(lambda node: node.count(Opcode.BATCH), timeout=0.01)
    node.forget_requests()
    assert node.requests == []


async def test_wait_until_can_be_awaited(node: FakeNode) -> None:
    """`wait_until` is the method `wait_for` for asyncio, and returns the condition's result."""
    with RawClient(node) as client:
        client.send(envelope(4, Opcode.OPTIONS, b""))
        assert await node.wait_until(lambda node: node.count(Opcode.OPTIONS)) == 1


def test_a_stopped_node_leaves_nothing_behind() -> None:
    """When a node stops, its thread ends, and its connections are closed.

    A stopped node can be started again.
    """
    threads_before = set(threading.enumerate())
    node = FakeNode()
    with node:
        client = RawClient(node)
        client.start(4)
        port = node.port
        (thread,) = set(threading.enumerate()) - threads_before
        assert thread.name == f"fake-node-127.0.0.1:{port}"
    assert set(threading.enumerate()) == threads_before
    assert not node.is_running
    with client:
        assert client.read(1) == b""
    with pytest.raises(ConnectionRefusedError):
        RawClient(node)
    with pytest.raises(RuntimeError, match="is not running"):
        node.drop_connections()
    # Stopping a node that is already stopped has no effect.
    node.stop()
    with node:  # the node starts again at the same port
        assert node.port == port
        with RawClient(node) as second_client:
            second_client.start(5)


def test_a_port_that_is_taken() -> None:
    """If the port is in use, starting the node raises an error that names the port."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        message = f"127.0.0.1:{port} is in use; port=0 takes a free"
        with pytest.raises(OSError, match=message) as caught:
            FakeNode(port=port).start()
    assert caught.value.errno == errno.EADDRINUSE


def test_the_port_of_a_node_that_is_not_running() -> None:
    """The port is unknown before the start, unless the test has chosen the port.

    The error says how to start the node.
    """
    node = FakeNode()
    with pytest.raises(RuntimeError) as raised:
        # reading the attribute raises
        print(node.port)
    assert str(raised.value) == (
        "this FakeNode is not running: write `with FakeNode(...) as node:`"
    )
    assert "stopped" in repr(node)
    assert FakeNode(port=9042).port == 9042


@pytest.mark.parametrize("version", [2, 9, "5", None])
def test_a_version_that_the_node_does_not_speak(version: Any) -> None:
    """`FakeNode` refuses a `max_version` that it does not support, and lists the right values.

    `max_version` is the newest protocol version that the fake node speaks.
    """
    with pytest.raises(ValueError, match=f"^max_version is 3, 4, 5 or 6, not {version!r}$"):
        FakeNode(max_version=version)


def test_a_node_has_contact_points_like_a_cluster() -> None:
    """`contact_points` raises if the node is not running, because its port is not known yet.

    The address without the port would be another server's.
    """
    node = FakeNode()
    with pytest.raises(RuntimeError, match="this FakeNode is not running"):
        node.contact_points  # noqa: B018
    with node:
        assert node.contact_points == [node.address]


def test_a_number_of_nodes_in_the_place_of_the_address() -> None:
    """A number as the address raises TypeError with advice, and so does a port that is a string."""
    make: Any = FakeNode
    with pytest.raises(TypeError, match=r"for 3 nodes, write FakeCluster\(3\)"):
        make(3)
    with pytest.raises(TypeError, match="the port of a node is a number, but is '9042'"):
        make(port="9042")


class ForgottenSoon(dict[bytes, Any]):
    """Statements that another thread forgets as soon as the node has found out that they exist."""

    def __contains__(self, query_id: object) -> bool:
        return True


def test_statements_may_be_forgotten_while_the_node_looks_one_up(node: FakeNode) -> None:
    """The test's thread may call `forget_prepared` at any time."""
    node._prepared = ForgottenSoon()
    assert node.text_of(b"id") is None
