"""Messages are parsed from the bytes of a connection, and responses lose the secrets of their
statement.
"""

from __future__ import annotations

import pytest

from cassandra.testing.fake.primitives import (
    BodyReader,
    Opcode,
    WireError,
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

# Header flags of a response (native_protocol_v5.spec, section 2.2).
TRACED, PAYLOAD, WARNED = 0x02, 0x04, 0x08
ALL_FLAGS = TRACED | PAYLOAD | WARNED
# Kinds of a RESULT (section 4.2.5), and flags of the metadata of rows (section 4.2.5.2).
VOID, ROWS, SET_KEYSPACE, PREPARED = 1, 2, 3, 4
GLOBAL_TABLE, MORE_PAGES, NO_METADATA, CHANGED = 1, 2, 4, 8
TEXT_TYPE = b"\0\x0d"
MESSAGE = Envelope(4, 1, -3, 8, b"body")


def number(value: int) -> bytes:
    return value.to_bytes(4, "big", signed=True)


def prefix(*warnings: str) -> bytes:
    """Return what precedes a response that has ALL_FLAGS."""
    return bytes(16) + string_list(warnings) + bytes_map({"mark": b"1", "none": None})


def rows_body(flags: int, *rows: tuple[bytes | None, ...], columns: tuple[str, ...]) -> bytes:
    """Return the body of rows of the table ks.t, whose columns are texts."""
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


def test_messages_are_split_at_any_byte() -> None:
    data = bytes_of(MESSAGE) + bytes_of(MESSAGE._replace(stream=7, body=b""))
    sniffer, messages = Sniffer(), []
    for offset in range(len(data)):
        sniffer.feed(data[offset : offset + 1])
        while (message := sniffer.next()) is not None:
            messages.append((offset + 1, message))
    # The first one has a header of nine bytes and a body of four.
    assert messages == [(13, MESSAGE), (22, MESSAGE._replace(stream=7, body=b""))]
    assert bytes_of(MESSAGE)[0] == 0x84  # the direction bit of a response
    assert not sniffer.is_framed


def test_a_negative_length_is_refused() -> None:
    sniffer = Sniffer()
    sniffer.feed(bytes_of(MESSAGE)[:5] + number(-1))
    with pytest.raises(WireError, match="an envelope with a body of -1 bytes"):
        sniffer.next()


def test_frames_begin_behind_the_messages_so_far() -> None:
    sniffer = Sniffer()
    frame = encode_segment(bytes_of(MESSAGE), self_contained=True, compressed=False)
    sniffer.feed(frame[:5])
    # These bytes were not parsed yet, and are the beginning of a frame.
    assert sniffer.begin_frames() == frame[:5]
    assert sniffer.is_framed
    sniffer.feed(frame[:5])
    assert sniffer.next() is None
    sniffer.feed(frame[5:])
    assert sniffer.next() == MESSAGE
    assert sniffer.next() is None


def test_options_of_a_node() -> None:
    options = {"COMPRESSION": ["lz4", "snappy"], "PROTOCOL_VERSIONS": []}
    body = supported_body(options)
    assert body[:2] == b"\0\2"
    assert read_supported(body) == options


# -- results ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("flags", [0, ALL_FLAGS])
def test_results_are_read_behind_their_prefix(flags: int) -> None:
    before = prefix("careful") if flags else b""
    use = before + number(SET_KEYSPACE) + string("shop")
    prepare = before + number(PREPARED) + short_bytes(b"id") + b"rest"
    kind, reader = result_start(flags, use)
    assert (kind, reader.string()) == (SET_KEYSPACE, "shop")
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
def test_the_description_of_rows(flags: int) -> None:
    body = rows_body(flags, (b"1", b"2"), columns=("a", "b"))
    head = read_rows_head(0, body)
    assert head is not None
    assert (head.keyspace, head.table, head.columns) == ("ks", "t", ["a", "b"])
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
def test_results_without_a_description(body: bytes) -> None:
    assert read_rows_head(0, body) is None


def test_values_of_a_column_are_replaced() -> None:
    body = rows_body(GLOBAL_TABLE, (b"1", None), (b"2", b"x"), columns=("a", "b"))
    head = read_rows_head(0, body)
    assert head is not None
    expected = rows_body(GLOBAL_TABLE, (b"1", b"new"), (b"2", b"new"), columns=("a", "b"))
    assert with_values(body, head, {"b": b"new"}) == expected
    assert with_values(body, head, {}) == body


# -- secrets ---------------------------------------------------------------------------------------

ROLE = "CREATE ROLE ada WITH PASSWORD = 'secret'"


def test_responses_to_other_statements_are_unchanged() -> None:
    answer = (Opcode.ERROR, 0, number(0x2000) + string("no 'secret' here"))
    assert answer_without_secrets(answer, "SELECT 'secret' FROM t") is answer


@pytest.mark.parametrize("flags", [0, ALL_FLAGS])
def test_an_error_does_not_repeat_a_secret(flags: int) -> None:
    before = prefix("weak: 'secret'") if flags else b""
    body = before + number(0x2000) + string("bad password 'secret'") + b"rest"
    opcode, flags_after, content = answer_without_secrets((Opcode.ERROR, flags, body), ROLE)
    assert (opcode, flags_after) == (Opcode.ERROR, flags)
    assert b"secret" not in content
    reader = BodyReader(content)
    if flags:
        reader.take(16)
        (warning,) = reader.string_list()
        assert "may repeat a password" in warning
        assert reader.bytes_map() == {"mark": b"1", "none": None}
    assert reader.int32() == 0x2000
    assert "may repeat a password" in reader.string()
    assert reader.rest() == b"rest"


def test_a_generated_password_is_hidden() -> None:
    columns = ("role", "Generated_Password")
    body = rows_body(GLOBAL_TABLE, (b"ada", b"secret"), columns=columns)
    answer = answer_without_secrets((Opcode.RESULT, 0, body), "CREATE GENERATED ROLE ada")
    expected = rows_body(GLOBAL_TABLE, (b"ada", b"***"), columns=columns)
    assert answer == (Opcode.RESULT, 0, expected)
    # Rows behind a prefix, which is kept.
    answer = answer_without_secrets((Opcode.RESULT, ALL_FLAGS, prefix() + body), ROLE)
    assert answer == (Opcode.RESULT, ALL_FLAGS, prefix() + expected)
    done = (Opcode.RESULT, 0, number(VOID))
    assert answer_without_secrets(done, ROLE) == done
