"""Tests of flags and custom payloads of requests.

`request_extras` and message objects must encode them in the same way.
"""

from __future__ import annotations

from typing import Any

import pytest

from cassandra.consistency import ConsistencyLevel
from cassandra.errors import UnsupportedOperation
from cassandra.protocol.extras import bytes_map, check_payload, request_extras, standing_flags
from cassandra.protocol.messages.encode import encode_request
from cassandra.protocol.messages.requests import QueryMessage
from cassandra.protocol.opcodes import CUSTOM_PAYLOAD_FLAG, QUERY, TRACING_FLAG, USE_BETA_FLAG
from cassandra.protocol.primitives import Cursor
from tests.conftest import Implementation

# The number of entries takes two bytes, so this payload is the largest.
LARGEST = {str(number): b"" for number in range(65_535)}


@pytest.mark.parametrize(
    "payload",
    [
        {},
        {"a": b"1", "": b"", "n": None},
        {"k" * 65_535: b"x"},
        {"é": bytearray(b"ab"), "m": memoryview(b"abcd")[::2]},
        LARGEST,
    ],
)
def test_a_payload_is_read_back(payload: dict[str, Any]) -> None:
    """An encoded custom payload can be decoded to the same entries."""
    check_payload(payload)
    cursor = Cursor(bytes_map(payload))
    read = cursor.bytes_map()
    assert read == {key: None if value is None else bytes(value) for key, value in payload.items()}
    assert cursor.pos == len(cursor.data)


# Each tuple has a payload that cannot be sent, and the class and message of the error.
WRONG = [
    ({**LARGEST, "one more": b""}, ValueError, "65536 entries"),
    ({"k" * 65_536: b""}, ValueError, "key of 65536 bytes"),
    ({"é" * 40_000: b""}, ValueError, "key of 80000 bytes"),
    ({1: b""}, TypeError, "keys are str, not int"),
    ({"k": "text"}, TypeError, "'k' has a value of type str"),
    ({"k": 7}, TypeError, "'k' has a value of type int"),
    ([("k", b"")], TypeError, "not list"),
    ("text", TypeError, "not str"),
]


@pytest.mark.parametrize(("payload", "error_type", "message"), WRONG)
def test_invalid_payloads_are_refused(
    payload: Any, error_type: type[Exception], message: str
) -> None:
    """A payload with too many entries, too long keys or wrong types is refused."""
    for function in (bytes_map, check_payload):
        with pytest.raises(error_type, match=message):
            function(payload)


def test_flags_for_tracing_payload_and_beta() -> None:
    """`request_extras` must return the flags of a request, and the bytes before its body.

    Version 6 is a beta version. Custom payloads exist since version 4.
    """
    assert request_extras(version=5, tracing=False, payload=None, allow_beta=True) == (0, b"")
    assert request_extras(version=6, tracing=False, payload=None, allow_beta=True) == (
        USE_BETA_FLAG,
        b"",
    )
    assert request_extras(version=6, tracing=False, payload=None, allow_beta=False) == (0, b"")
    flags, extras = request_extras(version=4, tracing=True, payload={"k": None}, allow_beta=False)
    assert flags == TRACING_FLAG | CUSTOM_PAYLOAD_FLAG
    assert extras == b"\0\1\0\1k\xff\xff\xff\xff"
    with pytest.raises(UnsupportedOperation, match="version 3"):
        request_extras(version=3, tracing=False, payload={"k": b""}, allow_beta=False)


def test_messages_have_the_same_flags_and_payload() -> None:
    """A message must be encoded with the flags and the payload that `request_extras` returns."""
    message = QueryMessage("SELECT 1", ConsistencyLevel.ONE)
    message.custom_payload = {"k": None}
    opcode, flags, body = encode_request(message, version=6, features=None, allow_beta=True)
    assert opcode == QUERY
    assert flags == USE_BETA_FLAG | CUSTOM_PAYLOAD_FLAG
    assert body.startswith(bytes_map({"k": None}))


@pytest.mark.parametrize("version", [3, 4, 5, 6])
def test_each_envelope_opts_in_to_a_beta_version(
    implementation: Implementation, version: int
) -> None:
    """Each request of a beta version must have the flag 0x10, "Use beta".

    See native_protocol_v5.spec, section 2.4.1.2.
    """
    writer = implementation.frame.FrameWriter(version)
    writer.add(stream=1, opcode=QUERY, flags=TRACING_FLAG, body=b"")
    # The second byte of an envelope contains the flags. `standing_flags` returns "Use beta" for a
    # beta version, or else 0.
    assert writer.take()[1] == TRACING_FLAG | standing_flags(version)
    # The writer sets the beta flag only in requests, not in responses.
    writer = implementation.frame.FrameWriter(version, responses=True)
    writer.add(stream=1, opcode=QUERY, flags=0, body=b"")
    assert writer.take()[1] == 0
