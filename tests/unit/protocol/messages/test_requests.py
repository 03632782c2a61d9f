"""Request messages are encoded to the bytes that the protocol specification requires.

The message classes have the names and constructors of cassandra-driver's classes.
"""

from __future__ import annotations

from io import BytesIO
from typing import Any

import pytest

from cassandra.consistency import ConsistencyLevel
from cassandra.errors import UnsupportedOperation
from cassandra.protocol import (
    AuthResponseMessage,
    BatchMessage,
    CredentialsMessage,
    ExecuteMessage,
    OptionsMessage,
    PrepareMessage,
    ProtocolHandler,
    QueryMessage,
    ReadyMessage,
    RegisterMessage,
    ReviseRequestMessage,
    StartupMessage,
    _QueryMessage,
)
from cassandra.protocol.features import ProtocolFeatures
from cassandra.protocol.messages.base import MessageType

VERSIONS = [3, 4, 5, 6]


class CountingFile(BytesIO):
    """A file that counts the calls of `write`."""

    calls = 0

    def write(self, data: Any) -> int:
        self.calls += 1
        return super().write(data)


def body_of(message: MessageType, version: int, *features: Any) -> bytes:
    """Return the encoded body of a message, which must be written with a single call of `write`.

    :param features: the `ProtocolFeatures` of the connection, or nothing.
    """
    target = CountingFile()
    message.send_body(target, version, *features)
    assert target.calls == 1
    return target.getvalue()


@pytest.mark.parametrize("version", VERSIONS)
def test_startup(version: int) -> None:
    """STARTUP must have the CQL version in addition to its options."""
    message = StartupMessage("3.0.0", {"COMPRESSION": "lz4"})
    assert (
        body_of(message, version=version)
        == b"\x00\x02\x00\x0bCOMPRESSION\x00\x03lz4\x00\x0bCQL_VERSION\x00\x053.0.0"
    )


@pytest.mark.parametrize("version", VERSIONS)
def test_small_requests(version: int) -> None:
    """OPTIONS, REGISTER and AUTH_RESPONSE must be encoded to the expected bytes."""
    assert body_of(OptionsMessage(), version=version) == b""
    assert (
        body_of(RegisterMessage(["STATUS_CHANGE", "X"]), version=version)
        == b"\x00\x02\x00\x0dSTATUS_CHANGE\x00\x01X"
    )
    assert (
        body_of(AuthResponseMessage(b"\x00user\x00pw"), version=version)
        == b"\x00\x00\x00\x08\x00user\x00pw"
    )
    # A token may be a string, and None is encoded as null.
    assert body_of(AuthResponseMessage("text"), version=version) == b"\x00\x00\x00\x04text"
    assert body_of(AuthResponseMessage(b""), version=version) == b"\x00\x00\x00\x00"
    assert body_of(AuthResponseMessage(None), version=version) == b"\xff\xff\xff\xff"


def test_credentials_can_only_be_sent_in_version_1() -> None:
    """CREDENTIALS raises UnsupportedOperation in later protocol versions than 1."""
    message = CredentialsMessage({"username": "u"})
    assert body_of(message, version=1) == b"\x00\x01\x00\x08username\x00\x01u"
    with pytest.raises(UnsupportedOperation, match="AUTH_RESPONSE"):
        message.send_body(BytesIO(), 4)


def test_query() -> None:
    """The flags of QUERY take one byte in version 4, and four bytes in version 5."""
    message = QueryMessage(
        "Q",
        consistency_level=ConsistencyLevel.ONE,
        serial_consistency_level=ConsistencyLevel.SERIAL,
        fetch_size=50,
        paging_state=b"\x07",
        timestamp=9,
        query_params=[b"v"],
    )
    # The flags are 0x3d: values, page size, paging state, serial consistency level and timestamp.
    parameters = (
        b"\x00\x01\x00\x00\x00\x01v\x00\x00\x00\x32\x00\x00\x00\x01\x07\x00\x08"
        + b"\x00" * 7
        + b"\x09"
    )
    assert body_of(message, version=4) == b"\x00\x00\x00\x01Q\x00\x01\x3d" + parameters
    assert body_of(message, version=5) == b"\x00\x00\x00\x01Q\x00\x01\x00\x00\x00\x3d" + parameters
    message.keyspace = "ks"
    # 0x80 is the flag of the keyspace.
    assert (
        body_of(message, version=5)
        == b"\x00\x00\x00\x01Q\x00\x01\x00\x00\x00\xbd" + parameters + b"\x00\x02ks"
    )
    with pytest.raises(UnsupportedOperation, match="keyspace"):
        message.send_body(BytesIO(), 4)


def test_prepare() -> None:
    """From version 5 on, PREPARE may have a keyspace, for which a flag is set."""
    assert body_of(PrepareMessage("Q"), version=4) == b"\x00\x00\x00\x01Q"
    assert (
        body_of(PrepareMessage("Q", "ks"), version=5)
        == b"\x00\x00\x00\x01Q\x00\x00\x00\x01\x00\x02ks"
    )


def test_execute_contains_a_metadata_id_if_version_or_extension_has_it() -> None:
    """EXECUTE contains the id of the result metadata in version 5, or with ScyllaDB's extension.

    In this test, the id is b"m".
    """
    message = ExecuteMessage(
        b"id", [b"v"], ConsistencyLevel.ONE, skip_meta=True, result_metadata_id=b"m"
    )
    # The number of values, followed by the length and the bytes of the only value. In each body,
    # they come after the id, the metadata id (if it is sent), the consistency level ONE, and the
    # flags 3 (the request has values, and wants no metadata).
    values = b"\x00\x01\x00\x00\x00\x01v"
    assert body_of(message, version=4) == b"\x00\x02id\x00\x01\x03" + values
    assert body_of(message, 4, ProtocolFeatures()) == b"\x00\x02id\x00\x01\x03" + values
    assert (
        body_of(message, 4, ProtocolFeatures(use_metadata_id=True))
        == b"\x00\x02id\x00\x01m\x00\x01\x03" + values
    )
    assert body_of(message, version=5) == b"\x00\x02id\x00\x01m\x00\x01\x00\x00\x00\x03" + values


def test_execute_ends_with_the_tablet_version_under_tablets_routing_v2() -> None:
    """With ScyllaDB's extension `tablets_routing_v2`, EXECUTE ends with the tablet version."""
    features = ProtocolFeatures(tablets_routing_v2=True)
    assert (
        body_of(
            ExecuteMessage(
                b"i",
                query_params=[],
                consistency_level=ConsistencyLevel.ONE,
                tablet_version_block=0xA3,
            ),
            4,
            features,
        )
        == b"\x00\x01i\x00\x01\x00\xa3"
    )
    # If no tablet version is known, this byte is 0.
    assert (
        body_of(
            ExecuteMessage(b"i", query_params=[], consistency_level=ConsistencyLevel.ONE),
            4,
            features,
        )
        == b"\x00\x01i\x00\x01\x00\x00"
    )
    assert (
        body_of(
            ExecuteMessage(
                b"i",
                query_params=[],
                consistency_level=ConsistencyLevel.ONE,
                tablet_version_block=0xA3,
            ),
            version=4,
        )
        == b"\x00\x01i\x00\x01\x00"
    )


def test_batch() -> None:
    """BATCH has ids and queries; its flags take one byte in version 4, and four in version 5."""

    class CounterBatch:
        """Replaces a member of `cassandra.query.BatchType`, which has a number in `value`."""

        value = 2

    message = BatchMessage(CounterBatch(), [(True, b"i", [b"v"]), (False, "Q", [])], 4, timestamp=1)
    # The bytes are the batch type, two statements (an id with a value, a query without values),
    # and the consistency level 4. After these come the flag of the timestamp, and the timestamp.
    queries = (
        b"\x02\x00\x02\x01\x00\x01i\x00\x01\x00\x00\x00\x01v\x00\x00\x00\x00\x01Q\x00\x00\x00\x04"
    )
    assert body_of(message, version=4) == queries + b"\x20" + b"\x00" * 7 + b"\x01"
    assert body_of(message, version=5) == queries + b"\x00\x00\x00\x20" + b"\x00" * 7 + b"\x01"


def test_continuous_paging_is_refused() -> None:
    """Continuous paging, a feature of DSE, raises UnsupportedOperation."""
    for message in (
        QueryMessage("Q", ConsistencyLevel.ONE, continuous_paging_options=object()),
        ReviseRequestMessage(1, 5),
    ):
        with pytest.raises(UnsupportedOperation, match="DSE"):
            message.send_body(BytesIO(), 4)


def test_a_response_has_no_body_to_send() -> None:
    """`send_body` of a response raises TypeError."""
    with pytest.raises(TypeError, match="not a request"):
        ReadyMessage().send_body(BytesIO(), 4)


BASES: list[Any] = [QueryMessage, ExecuteMessage]


@pytest.mark.parametrize("base", BASES)
def test_an_overridden_write_query_params_is_called(base: Any) -> None:
    """A subclass of an application may override `_write_query_params` to write further bytes."""

    class MessageWithMarks(base):  # type: ignore[misc]
        def _write_query_params(self, f: Any, protocol_version: int) -> None:
            f.write(b"<")
            super()._write_query_params(f, protocol_version)
            f.write(b">")

    arguments: tuple[Any, ...] = (
        (b"id", [], ConsistencyLevel.ONE) if base is ExecuteMessage else ("Q", ConsistencyLevel.ONE)
    )
    without_marks, with_marks = base(*arguments), MessageWithMarks(*arguments)
    assert isinstance(with_marks, _QueryMessage)
    id_or_query = b"\x00\x02id" if base is ExecuteMessage else b"\x00\x00\x00\x01Q"
    assert body_of(without_marks, version=4) == id_or_query + b"\x00\x01\x00"
    assert body_of(with_marks, version=4) == id_or_query + b"<\x00\x01\x00>"


@pytest.mark.parametrize("version", [4, 5])
def test_encode_message(version: int) -> None:
    """`encode_message` returns a whole frame; its flags say if there are tracing and a payload."""
    message = QueryMessage("Q", ConsistencyLevel.ONE)
    flags = b"\x00" if version == 4 else b"\x00\x00\x00\x00"
    body = b"\x00\x00\x00\x01Q\x00\x01" + flags
    size = bytes((0, 0, 0, len(body)))
    encode = ProtocolHandler.encode_message
    assert (
        # Stream 258 is b"\x01\x02" in the header, and 7 is the opcode of QUERY.
        encode(message, 258, version, compressor=None, allow_beta_protocol_version=False)
        == bytes((version,)) + b"\x00\x01\x02\x07" + size + body
    )
    message.tracing = True
    message.custom_payload = {"k": b"v", "n": None}
    payload = b"\x00\x02\x00\x01k\x00\x00\x00\x01v\x00\x01n\xff\xff\xff\xff"
    size = bytes((0, 0, 0, len(payload + body)))
    assert (
        encode(message, 1, version, compressor=None, allow_beta_protocol_version=False)
        == bytes((version,)) + b"\x06\x00\x01\x07" + size + payload + body
    )


def test_encode_message_compresses_before_version_5() -> None:
    """`encode_message` compresses the body until version 4, and sets the compression flag.

    From version 5 on, the segments around messages are compressed instead.
    """
    encode = ProtocolHandler.encode_message
    message = QueryMessage("Q", ConsistencyLevel.ONE)
    assert (
        encode(message, 0, 4, lambda data: b"small", allow_beta_protocol_version=False)
        == b"\x04\x01\x00\x00\x07\x00\x00\x00\x05small"
    )
    # From version 5 on, the body is not compressed, because the segments around messages are
    # compressed.
    assert (
        encode(message, 0, 5, lambda data: b"small", allow_beta_protocol_version=False)[:2]
        == b"\x05\x00"
    )


def test_the_beta_flag() -> None:
    """The beta flag (0x10) is set only for beta versions, and only if these are allowed."""

    def encode_options(version: int, allow_beta: bool) -> bytes:
        frame: bytes = ProtocolHandler.encode_message(
            OptionsMessage(),
            stream_id=0,
            protocol_version=version,
            compressor=None,
            allow_beta_protocol_version=allow_beta,
        )
        return frame

    # The second byte of a frame contains the flags.
    assert encode_options(6, allow_beta=True) == b"\x06\x10\x00\x00\x05\x00\x00\x00\x00"
    assert encode_options(6, allow_beta=False) == b"\x06\x00\x00\x00\x05\x00\x00\x00\x00"
    assert encode_options(5, allow_beta=True) == b"\x05\x00\x00\x00\x05\x00\x00\x00\x00"


def test_a_payload_needs_version_4() -> None:
    """A custom payload raises UnsupportedOperation in version 3 of the protocol."""
    message = QueryMessage("Q", ConsistencyLevel.ONE)
    message.update_custom_payload({"a": b"b"})
    with pytest.raises(UnsupportedOperation, match="version 3"):
        ProtocolHandler.encode_message(
            message,
            stream_id=0,
            protocol_version=3,
            compressor=None,
            allow_beta_protocol_version=False,
        )
