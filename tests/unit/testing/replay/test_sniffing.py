"""The recorder parses the messages on a connection, and removes secrets from responses.

`Sniffer` parses messages from bytes; `answer_without_secrets` removes the secrets of a statement
from its response.
"""

from __future__ import annotations

import pytest

from cassandra.testing.fake.primitives import (
    BodyReader,
    Opcode,
    bytes_map,
    long_bytes,
    short_bytes,
    string,
    string_list,
)
from cassandra.testing.fake.segments import encode_segment
from cassandra.testing.replay.sniffing import (
    Envelope,
    Sniffer,
    answer_without_secrets,
    bytes_of,
    prepared_id,
    read_rows_head,
    read_supported,
    result_start,
    supported_body,
    used_keyspace,
    with_values,
)
from cassandra.testing.wire import WireError

# Header flags of a response (native_protocol_v5.spec, section 2.2).
TRACED, PAYLOAD, WARNED = 0x02, 0x04, 0x08
ALL_FLAGS = TRACED | PAYLOAD | WARNED
# Kinds of a RESULT (section 4.2.5), and flags of the metadata of rows (section 4.2.5.2).
VOID, ROWS, SET_KEYSPACE, PREPARED = 1, 2, 3, 4
GLOBAL_TABLE, MORE_PAGES, NO_METADATA, CHANGED = 1, 2, 4, 8
TEXT_TYPE = b"\0\x0d"
# a response to a request with the stream id -3
MESSAGE = Envelope(version=4, flags=1, stream=-3, opcode=Opcode.RESULT, body=b"body")


def number(value: int) -> bytes:
    """Return an int of the protocol, which has four bytes."""
    return value.to_bytes(4, "big", signed=True)


def prefix(*warnings: str) -> bytes:
    """Return the parts before the body of a response that has ALL_FLAGS.

    They are a trace id, the warnings, and a custom payload.
    """
    return bytes(16) + string_list(warnings) + bytes_map({"mark": b"1", "none": None})


def rows_body(flags: int, *rows: tuple[bytes | None, ...], columns: tuple[str, ...]) -> bytes:
    """Return the body of a result with rows of the table ks.t, whose columns have the type text.

    :param flags: the flags of the metadata, which decide which parts the body has.
    """
    head = number(ROWS) + number(flags) + number(len(columns))
    if flags & MORE_PAGES:
        head += long_bytes(b"state")
    if flags & CHANGED:
        head += short_bytes(b"id")
    if not flags & NO_METADATA:
        table = string("ks") + string("t")
        if flags & GLOBAL_TABLE:
            head += table
        for column in columns:
            head += b"" if flags & GLOBAL_TABLE else table
            head += string(column) + TEXT_TYPE
    return head + number(len(rows)) + b"".join(long_bytes(value) for row in rows for value in row)


# -- messages --------------------------------------------------------------------------------------


def test_messages_are_complete_with_their_last_byte() -> None:
    """If two messages arrive byte by byte, each is returned as soon as its last byte is there."""
    empty_message = MESSAGE._replace(stream=7, body=b"")
    data = bytes_of(MESSAGE) + bytes_of(empty_message)
    sniffer = Sniffer()
    messages = []
    for offset in range(len(data)):
        sniffer.feed(data[offset : offset + 1])
        while (message := sniffer.next()) is not None:
            messages.append((offset + 1, message))
    # A header has nine bytes, and the body of the first message has four.
    assert messages == [(13, MESSAGE), (22, empty_message)]
    assert bytes_of(MESSAGE)[0] == 0x84  # the direction bit of a response
    assert not sniffer.is_framed


def test_a_negative_length_is_refused() -> None:
    """A header with a body length of -1 raises WireError."""
    sniffer = Sniffer()
    sniffer.feed(bytes_of(MESSAGE)[:5] + number(-1))
    with pytest.raises(WireError, match="an envelope with a body of -1 bytes"):
        sniffer.next()


def test_frames_begin_behind_the_messages_so_far() -> None:
    """In protocol version 5, messages are in segments after the login.

    `begin_frames` returns the bytes that the sniffer has received but not parsed, and forgets them.
    """
    sniffer = Sniffer()
    frame = encode_segment(bytes_of(MESSAGE), self_contained=True, compressed=False)
    sniffer.feed(frame[:5])
    assert sniffer.begin_frames() == frame[:5]
    assert sniffer.is_framed
    sniffer.feed(frame[:5])
    assert sniffer.next() is None
    sniffer.feed(frame[5:])
    assert sniffer.next() == MESSAGE
    assert sniffer.next() is None


def test_options_of_a_node_are_read_as_they_were_written() -> None:
    """`read_supported` decodes the options that `supported_body` has encoded."""
    options = {"COMPRESSION": ["lz4", "snappy"], "PROTOCOL_VERSIONS": []}
    body = supported_body(options)
    assert body[:2] == b"\0\2"
    assert read_supported(body) == options


# -- results ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("flags", [0, ALL_FLAGS])
def test_results_are_read_behind_their_prefix(flags: int) -> None:
    """A response may begin with a trace id, warnings and a payload, which are skipped.

    `used_keyspace` and `prepared_id` return None for responses of other kinds.
    """
    before = prefix("careful") if flags else b""
    use = before + number(SET_KEYSPACE) + string("shop")
    prepare = before + number(PREPARED) + short_bytes(b"id") + b"rest"
    kind, reader = result_start(flags, use)
    assert kind == SET_KEYSPACE
    assert reader.string() == "shop"
    assert used_keyspace(Opcode.RESULT, flags, use) == "shop"
    assert used_keyspace(Opcode.RESULT, flags, prepare) is None
    assert used_keyspace(Opcode.ERROR, flags, use) is None
    assert prepared_id(Opcode.RESULT, flags, prepare) == b"id"
    assert prepared_id(Opcode.RESULT, flags, use) is None
    assert prepared_id(Opcode.ERROR, flags, prepare) is None
    head = read_rows_head(flags, before + rows_body(GLOBAL_TABLE, columns=("a", "b")))
    assert head is not None
    assert head.columns == ["a", "b"]


@pytest.mark.parametrize("flags", [0, GLOBAL_TABLE, GLOBAL_TABLE | MORE_PAGES | CHANGED])
def test_the_table_and_columns_of_rows_are_read(flags: int) -> None:
    """The table of a result is described once, or for each column.

    With `only_keyspace`, results of other keyspaces are not parsed.
    """
    body = rows_body(flags, (b"1", b"2"), columns=("a", "b"))
    head = read_rows_head(0, body)
    assert head is not None
    assert head.keyspace == "ks"
    assert head.table == "t"
    assert head.columns == ["a", "b"]
    assert BodyReader(body[head.end :]).int32() == 1
    assert read_rows_head(0, body, only_keyspace="ks") == head
    assert read_rows_head(0, body, only_keyspace="other") is None


@pytest.mark.parametrize(
    "body",
    [
        number(VOID),
        rows_body(NO_METADATA, (b"1",), columns=("a",)),
        number(ROWS) + number(GLOBAL_TABLE) + number(0) + number(0),
    ],
)
def test_results_without_columns_have_no_description(body: bytes) -> None:
    """For a result without rows, without metadata or without columns, the head is None."""
    assert read_rows_head(0, body) is None


def test_values_of_a_column_are_replaced() -> None:
    """`with_values` replaces all values of the named columns, nulls as well."""
    body = rows_body(GLOBAL_TABLE, (b"1", None), (b"2", b"x"), columns=("a", "b"))
    head = read_rows_head(0, body)
    assert head is not None
    expected = rows_body(GLOBAL_TABLE, (b"1", b"new"), (b"2", b"new"), columns=("a", "b"))
    assert with_values(body, head, {"b": b"new"}) == expected
    # Without new values, the body stays the same.
    assert with_values(body, head, {}) == body


# -- secrets ---------------------------------------------------------------------------------------

CREATE_ROLE = "CREATE ROLE ada WITH PASSWORD = 'secret'"
SYNTAX_ERROR = 0x2000


def test_responses_to_other_statements_are_unchanged() -> None:
    """A response to a statement that sets no password is returned unchanged."""
    response = (Opcode.ERROR, 0, number(SYNTAX_ERROR) + string("no 'secret' here"))
    assert answer_without_secrets(response, "SELECT 'secret' FROM t") is response


@pytest.mark.parametrize("flags", [0, ALL_FLAGS])
def test_an_error_does_not_repeat_a_secret(flags: int) -> None:
    """An error's message and warnings are replaced if they might repeat a password.

    The trace id, the payload and the bytes after the message are kept.
    """
    before = prefix("weak: 'secret'") if flags else b""
    body = before + number(SYNTAX_ERROR) + string("bad password 'secret'") + b"rest"
    opcode, flags_after, new_body = answer_without_secrets((Opcode.ERROR, flags, body), CREATE_ROLE)
    assert opcode == Opcode.ERROR
    assert flags_after == flags
    assert b"secret" not in new_body
    reader = BodyReader(new_body)
    if flags:
        reader.take(16)
        (warning,) = reader.string_list()
        assert "may repeat a password" in warning
        assert reader.bytes_map() == {"mark": b"1", "none": None}
    assert reader.int32() == SYNTAX_ERROR
    assert "may repeat a password" in reader.string()
    assert reader.rest() == b"rest"


def test_a_generated_password_is_hidden() -> None:
    """The generated password is replaced in the rows that a statement for a role returns.

    A result without rows stays the same.
    """
    columns = ("role", "Generated_Password")
    body = rows_body(GLOBAL_TABLE, (b"ada", b"secret"), columns=columns)
    expected = rows_body(GLOBAL_TABLE, (b"ada", b"***"), columns=columns)
    assert answer_without_secrets((Opcode.RESULT, 0, body), "CREATE GENERATED ROLE ada") == (
        Opcode.RESULT,
        0,
        expected,
    )
    # A prefix of the body is kept.
    assert answer_without_secrets((Opcode.RESULT, ALL_FLAGS, prefix() + body), CREATE_ROLE) == (
        Opcode.RESULT,
        ALL_FLAGS,
        prefix() + expected,
    )
    void_result = (Opcode.RESULT, 0, number(VOID))
    assert answer_without_secrets(void_result, CREATE_ROLE) == void_result
