"""Responses are decoded: warnings, payloads and tracing ids come before the message.

Messages that are cut or malformed are refused.
"""

from __future__ import annotations

from uuid import UUID

import pytest

from cassandra.errors import ProtocolError
from cassandra.protocol.messages.decode import decode_response
from cassandra.protocol.messages.errors import WriteTimeoutErrorMessage
from cassandra.protocol.opcodes import (
    AUTH_CHALLENGE,
    AUTHENTICATE,
    CUSTOM_PAYLOAD_FLAG,
    ERROR,
    EVENT,
    RESULT,
    RESULT_KIND_PREPARED,
    RESULT_KIND_SCHEMA_CHANGE,
    RESULT_KIND_SET_KEYSPACE,
    RESULT_KIND_VOID,
    ROWS_GLOBAL_TABLES_SPEC,
    ROWS_HAS_MORE_PAGES,
    SUPPORTED,
    TRACING_FLAG,
    WARNING_FLAG,
)
from tests.unit.protocol.messages.test_errors import ERRORS, RESPONSES
from tests.unit.protocol.messages.test_events import SCHEMA_CHANGES
from tests.unit.protocol.messages.test_results import (
    ONE_ROW,
    RESULT_METADATA,
    SPEC_B,
    TABLE,
    TWO_COLUMNS,
    result,
    rows,
)
from tests.unit.protocol.wire import byte, int32, short, string, string_list, string_multimap, value


def test_tracing_id_warnings_and_payload_are_read_in_order() -> None:
    trace = UUID("12345678-1234-5678-1234-567812345678")
    body = (
        trace.bytes
        + string_list(["careful", "slow"])
        + short(1)
        + string("k")
        + value(b"v")
        + rows(ROWS_GLOBAL_TABLES_SPEC)
    )
    flags = TRACING_FLAG | WARNING_FLAG | CUSTOM_PAYLOAD_FLAG
    message = decode_response(RESULT, flags, body, 4)
    assert (message.trace_id, message.warnings, message.custom_payload) == (
        trace,
        ["careful", "slow"],
        {"k": b"v"},
    )
    assert message.parsed_rows == [(5, "five")]
    void = string_list(["w"]) + int32(RESULT_KIND_VOID)
    assert decode_response(RESULT, WARNING_FLAG, void, 4).warnings == ["w"]
    error = decode_response(ERROR, TRACING_FLAG, trace.bytes + int32(0x2200) + string("bad"), 4)
    assert error.trace_id == trace


def test_bytes_after_a_message_are_ignored() -> None:
    assert result(rows(1) + b"more").parsed_rows == [(5, "five")]
    assert result(int32(1) + b"more").kind == 1
    assert decode_response(2, 0, b"more", 4).opcode == 2


# For each kind of message: its opcode, its body and the protocol version.
WHOLE = [
    # The rows themselves are left out, except their number: they are decoded later.
    (
        RESULT,
        rows(ROWS_GLOBAL_TABLES_SPEC | ROWS_HAS_MORE_PAGES, value(b"page"))[: -len(ONE_ROW) + 4],
        4,
    ),
    (RESULT, int32(RESULT_KIND_SET_KEYSPACE) + string("ks"), 4),
    (
        RESULT,
        int32(RESULT_KIND_PREPARED)
        + short(2)
        + b"id"
        + int32(1)  # flags: one table for all columns
        + int32(2)  # the number of columns
        + int32(1)  # the number of partition key columns, then the index of that column
        + short(1)
        + TWO_COLUMNS
        + RESULT_METADATA[:-1],
        4,
    ),
    (RESULT, int32(RESULT_KIND_SCHEMA_CHANGE) + SCHEMA_CHANGES[1][0], 4),
    (SUPPORTED, string_multimap({"A": ["b"]}), 4),
    (AUTHENTICATE, string("auth"), 4),
    (AUTH_CHALLENGE, value(b"token"), 4),
    (
        EVENT,
        string("STATUS_CHANGE") + string("UP") + byte(4) + b"\x7f\x00\x00\x01" + int32(1),
        4,
    ),
    *[
        (ERROR, int32(code) + string("why") + fields, version)
        for code, version, fields, _, _, _ in ERRORS
        # A write timeout may end before its last field, so cutting it there is no error.
        if code != WriteTimeoutErrorMessage.error_code
    ],
]


@pytest.mark.parametrize(("opcode", "body", "version"), WHOLE)
def test_every_truncated_message_is_a_protocol_error(
    opcode: int, body: bytes, version: int
) -> None:
    for kept_bytes in range(len(body)):
        if (
            opcode == RESULT
            and body[:4] == int32(RESULT_KIND_PREPARED)
            and kept_bytes == len(body) - len(RESULT_METADATA) + 1
        ):
            # Without result metadata, a PREPARED is complete, so cutting it here is no error.
            continue
        with pytest.raises(ProtocolError):
            decode_response(opcode, 0, body[:kept_bytes], version)


@pytest.mark.parametrize(
    ("opcode", "flags", "body", "match"),
    [
        (8, 0, int32(9), "unknown kind 9"),
        (7, 0, b"", "opcode 7 is not a response"),
        (8, 0x02, b"short", "16 bytes are to follow"),
        (8, 0, rows(1, count=-1), "-1 columns"),
        (8, 0, rows(1, count=2**31 - 1), "2147483647 columns"),
        (8, 0, rows(1, content=int32(-1)), "-1 rows"),
        (8, 0, rows(1, specs=TABLE + string("a") + short(0x77) + SPEC_B), "unknown code 0x0077"),
        (
            8,
            0,
            rows(1, specs=TABLE + string("a") + short(0x20) * 200 + short(9), count=1),
            "nested more than",
        ),
        (8, 0, rows(1, specs=TABLE + short(2) + b"\xff\xfe" + short(9) + SPEC_B), "not UTF-8"),
        (
            8,
            0,
            int32(4) + short(0) + int32(1) + int32(0) + int32(2**31 - 1),
            "partition key indexes",
        ),
        (12, 0, string("WEATHER_CHANGE"), "unknown type 'WEATHER_CHANGE'"),
        (12, 0, string("STATUS_CHANGE") + string("UP") + byte(5) + bytes(9), "address of 5 bytes"),
        (
            8,
            0,
            int32(5) + string("CREATED") + string("INDEX") + string("k"),
            "unknown kind 'INDEX'",
        ),
        (6, 0, short(65535) + b"\x00\x00", "65535 items"),
        (
            0,
            0,
            int32(0x1300) + string("") + RESPONSES + int32(2**31 - 1),
            "2147483647 failure reasons|map of",
        ),
    ],
)
def test_malformed_messages(opcode: int, flags: int, body: bytes, match: str) -> None:
    """For each malformed message, the error says what is wrong with it."""
    with pytest.raises(ProtocolError, match=match):
        decode_response(opcode, flags, body, 5 if opcode == 0 else 4)
