"""A message object is encoded to opcode, flags and body."""

from __future__ import annotations

from typing import Any

import pytest

from cassandra.protocol.features import ProtocolFeatures
from cassandra.protocol.messages.encode import encode_request, takes_features
from cassandra.protocol.messages.requests import ExecuteMessage, QueryMessage
from tests.unit.protocol.wire import short, string, value


def test_the_custom_payload_precedes_the_body() -> None:
    message = QueryMessage("SELECT 1", 1)
    plain = encode_request(message, 4)
    assert plain == (7, 0, message.body(4, None))
    message.tracing = True
    message.custom_payload = {"a": b"1"}
    opcode, flags, body = encode_request(message, 4)
    assert (opcode, flags) == (7, 0x02 | 0x04)
    assert body == short(1) + string("a") + value(b"1") + plain[2]
    assert encode_request(QueryMessage("SELECT 1", 1), 6, allow_beta=True)[1] == 0x10


def test_features_change_the_body() -> None:
    message = ExecuteMessage(b"id", [], 1, result_metadata_id=b"meta")
    features = ProtocolFeatures(use_metadata_id=True)
    assert b"meta" not in encode_request(message, 4)[2]
    assert b"meta" in encode_request(message, 4, features)[2]


class Handler:
    @classmethod
    def new(cls, msg: Any, protocol_features: Any = None) -> None: ...

    @classmethod
    def old(cls, msg: Any) -> None:
        protocol_features = msg  # this name is a local variable, not a parameter
        del protocol_features


@pytest.mark.parametrize(
    ("method", "expected"),
    [(Handler.new, True), (Handler.old, False), (len, False), (lambda protocol_features: 0, True)],
)
def test_takes_features_finds_the_parameter_protocol_features(method: Any, expected: bool) -> None:
    assert takes_features(method) is expected
