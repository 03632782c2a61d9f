"""Test `encode_request`, which encodes a message object to opcode, flags and body."""

from __future__ import annotations

from typing import Any

import pytest

from cassandra.consistency import ConsistencyLevel
from cassandra.protocol.features import ProtocolFeatures
from cassandra.protocol.messages.encode import encode_request, takes_features
from cassandra.protocol.messages.requests import ExecuteMessage, QueryMessage
from cassandra.protocol.opcodes import CUSTOM_PAYLOAD_FLAG, QUERY, TRACING_FLAG, USE_BETA_FLAG
from tests.unit.protocol.wire import short, string, value


def test_the_custom_payload_precedes_the_body() -> None:
    """A custom payload precedes the body, and flags announce the payload and tracing."""
    message = QueryMessage("SELECT 1", ConsistencyLevel.ONE)
    without_payload = encode_request(message, version=4)
    assert without_payload == (QUERY, 0, message.body(4, None))
    message.tracing = True
    message.custom_payload = {"a": b"1"}
    opcode, flags, body = encode_request(message, version=4)
    assert opcode == QUERY
    assert flags == TRACING_FLAG | CUSTOM_PAYLOAD_FLAG
    assert body == short(1) + string("a") + value(b"1") + without_payload[2]


def test_features_change_the_body() -> None:
    """With ScyllaDB's extension for metadata ids, EXECUTE has the id of the result metadata."""
    message = ExecuteMessage(
        b"id", query_params=[], consistency_level=ConsistencyLevel.ONE, result_metadata_id=b"meta"
    )
    features = ProtocolFeatures(use_metadata_id=True)
    assert b"meta" not in encode_request(message, version=4)[2]
    assert b"meta" in encode_request(message, version=4, features=features)[2]


class Handler:
    """Has methods of protocol handlers with and without the parameter `protocol_features`."""

    @classmethod
    def with_features(cls, msg: Any, protocol_features: Any = None) -> None: ...

    @classmethod
    def without_features(cls, msg: Any) -> None:
        # This name is a local variable, not a parameter.
        protocol_features = msg
        del protocol_features


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        (Handler.with_features, True),
        (Handler.without_features, False),
        (len, False),
        (lambda protocol_features: 0, True),
    ],
)
def test_takes_features_finds_the_parameter_protocol_features(method: Any, expected: bool) -> None:
    """`takes_features` returns whether a method has the parameter `protocol_features`.

    Protocol handlers that were written for cassandra-driver may or may not have this parameter.
    """
    assert takes_features(method) is expected


def test_requests_of_a_beta_version_have_the_beta_flag() -> None:
    """With `allow_beta`, a request of a beta version has the beta flag."""
    _, flags, _ = encode_request(
        QueryMessage("SELECT 1", ConsistencyLevel.ONE), version=6, allow_beta=True
    )
    assert flags == USE_BETA_FLAG
