"""`decode_response` decodes a response's content, and the tracing id, warnings and payload before.

Truncated or malformed messages are refused.
"""

from __future__ import annotations

from uuid import UUID

import pytest

from cassandra.errors import ProtocolError, UnknownContent
from cassandra.protocol.messages.decode import decode_response
from cassandra.protocol.messages.errors import WriteTimeoutErrorMessage
from cassandra.protocol.opcodes import (
    AUTH_CHALLENGE,
    AUTHENTICATE,
    CUSTOM_PAYLOAD_FLAG,
    ERROR,
    EVENT,
    READY,
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
    """The tracing id, the warnings and the payload are read in this order, if the flags say so.

    An error response may have them, too.
    """
    trace = UUID("12345678-1234-5678-1234-567812345678")
    # The body has a trace id, warnings, a payload with one entry, and rows.
    body = (
        trace.bytes
        + string_list(["careful", "slow"])
        + short(1)
        + string("k")
        + value(b"v")
        + rows(ROWS_GLOBAL_TABLES_SPEC)
    )
    flags = TRACING_FLAG | WARNING_FLAG | CUSTOM_PAYLOAD_FLAG
    message = decode_response(RESULT, flags=flags, body=body, version=4)
    assert message.trace_id == trace
    assert message.warnings == ["careful", "slow"]
    assert message.custom_payload == {"k": b"v"}
    assert message.parsed_rows == [(5, "five")]
    # A void result may have only warnings, and an error only a trace id.
    void = string_list(["w"]) + int32(RESULT_KIND_VOID)
    assert decode_response(RESULT, flags=WARNING_FLAG, body=void, version=4).warnings == ["w"]
    error = decode_response(
        ERROR, flags=TRACING_FLAG, body=trace.bytes + int32(0x2200) + string("bad"), version=4
    )
    assert error.trace_id == trace


def test_bytes_after_a_message_are_ignored() -> None:
    """Bytes after the end of a message's content are ignored."""
    assert result(rows(ROWS_GLOBAL_TABLES_SPEC) + b"more").parsed_rows == [(5, "five")]
    assert result(int32(RESULT_KIND_VOID) + b"more").kind == RESULT_KIND_VOID
    assert decode_response(READY, flags=0, body=b"more", version=4).opcode == READY


# Each entry has an opcode, a complete body, and the protocol version.
WHOLE = [
    # The body is cut off after the number of rows: decoding a message does not read its rows yet.
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
        # The flags say that all columns are of one table.
        + int32(1)
        # This is the number of columns.
        + int32(2)
        # This is the number of partition key columns. The index of that column follows.
        + int32(1)
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
        # A write timeout may end before its last field, so truncating it there is no error.
        if code != WriteTimeoutErrorMessage.error_code
    ],
]


@pytest.mark.parametrize(("opcode", "body", "version"), WHOLE)
def test_every_truncated_message_is_a_protocol_error(
    opcode: int, body: bytes, version: int
) -> None:
    """If bytes are missing at the end of a message, decoding must raise ProtocolError."""
    is_prepared = opcode == RESULT and body[:4] == int32(RESULT_KIND_PREPARED)
    for kept_bytes in range(len(body)):
        # A PREPARED may end before the result metadata. WHOLE has the result metadata without its
        # last byte.
        if is_prepared and kept_bytes == len(body) - (len(RESULT_METADATA) - 1):
            continue
        with pytest.raises(ProtocolError):
            decode_response(opcode, flags=0, body=body[:kept_bytes], version=version)


@pytest.mark.parametrize(
    ("opcode", "flags", "body", "match"),
    [
        (7, 0, b"", "opcode 7 is not a response"),
        (8, 0x02, b"short", "16 bytes are to follow"),
        (RESULT, 0, rows(ROWS_GLOBAL_TABLES_SPEC, count=-1), "-1 columns"),
        (RESULT, 0, rows(ROWS_GLOBAL_TABLES_SPEC, count=2**31 - 1), "2147483647 columns"),
        (RESULT, 0, rows(ROWS_GLOBAL_TABLES_SPEC, content=int32(-1)), "-1 rows"),
        (
            RESULT,
            0,
            rows(
                ROWS_GLOBAL_TABLES_SPEC,
                specs=TABLE + string("a") + short(0x20) * 200 + short(9),
                count=1,
            ),
            "nested more than",
        ),
        (
            RESULT,
            0,
            rows(ROWS_GLOBAL_TABLES_SPEC, specs=TABLE + short(2) + b"\xff\xfe" + short(9) + SPEC_B),
            "not UTF-8",
        ),
        (
            RESULT,
            0,
            int32(RESULT_KIND_PREPARED) + short(0) + int32(1) + int32(0) + int32(2**31 - 1),
            "partition key indexes",
        ),
        (
            EVENT,
            0,
            string("STATUS_CHANGE") + string("UP") + byte(5) + bytes(9),
            "address of 5 bytes",
        ),
        (
            RESULT,
            0,
            int32(RESULT_KIND_SCHEMA_CHANGE) + string("CREATED") + string("INDEX") + b"\x00",
            r"a \[short\] is to follow",
        ),
        (SUPPORTED, 0, short(65535) + b"\x00\x00", "65535 items"),
        (
            ERROR,
            0,
            int32(0x1300) + string("") + RESPONSES + int32(2**31 - 1),
            "2147483647 failure reasons|map of",
        ),
    ],
)
def test_malformed_messages(opcode: int, flags: int, body: bytes, match: str) -> None:
    """Each malformed message raises a ProtocolError that says what is wrong."""
    with pytest.raises(ProtocolError, match=match) as caught:
        decode_response(opcode, flags=flags, body=body, version=5 if opcode == ERROR else 4)
    assert not isinstance(caught.value, UnknownContent)


@pytest.mark.parametrize(
    ("opcode", "body", "match"),
    [
        (RESULT, int32(9), "a RESULT message: a result of the unknown kind 9"),
        (
            RESULT,
            rows(ROWS_GLOBAL_TABLES_SPEC, specs=TABLE + string("a") + short(0x77) + SPEC_B),
            "unknown code 0x0077",
        ),
        (
            RESULT,
            rows(
                ROWS_GLOBAL_TABLES_SPEC,
                specs=TABLE + string("a") + short(0) + string("org.example.New(%)") + SPEC_B,
            ),
            "'org.example.New\\(%\\)', which cannot be understood",
        ),
        (EVENT, string("WEATHER_CHANGE"), "unknown type 'WEATHER_CHANGE'"),
    ],
)
def test_messages_of_a_newer_server(opcode: int, body: bytes, match: str) -> None:
    """If a well-formed message has content that the driver does not know, UnknownContent is raised.

    Newer servers may send such messages.
    """
    with pytest.raises(UnknownContent, match=f"this driver does not know a part of .*{match}"):
        decode_response(opcode, flags=0, body=body, version=4)
