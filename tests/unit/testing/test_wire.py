"""The frames that the probe, a minimal client for local nodes, writes and reads.

The bytes were written by hand from native_protocol_v4.spec.
"""

from __future__ import annotations

import pytest

from cassandra.testing import wire

# A STARTUP request with the option CQL_VERSION, and a READY response, as complete frames.
STARTUP = (
    bytes.fromhex("04 00 0000 01 00000016 0001 000b")
    + b"CQL_VERSION"
    + bytes.fromhex("0005")
    + b"3.0.0"
)


READY = bytes.fromhex("84 00 0000 02 00000000")


def test_startup_frame() -> None:
    """The STARTUP frame has the bytes of the specification."""
    assert wire.encode_frame(wire.STARTUP, wire.startup_body()) == STARTUP


def test_query_and_auth_bodies() -> None:
    """The bodies of QUERY and AUTH_RESPONSE have the bytes of the specification."""
    assert wire.query_body("USE k", 0x0005) == bytes.fromhex("00000005 55 53 45 20 6b 0005 00")
    assert wire.auth_response_body("al", "pw") == bytes.fromhex("00000006 00 616c 00 7077")


def test_header() -> None:
    """A header is decoded to its fields; a wrong version or a negative size raises WireError."""
    version, flags, stream, opcode, size = wire.decode_header(
        bytes.fromhex("84 08 fffe 08 00000102")
    )
    assert version == 0x84
    assert flags == 0x08
    assert stream == -2
    assert opcode == 0x08
    assert size == 258
    with pytest.raises(wire.WireError, match="0x85"):
        wire.decode_header(bytes.fromhex("85 00 0000 08 00000000"))
    # An ERROR may have the version of the node.
    assert wire.decode_header(bytes.fromhex("85 00 0000 00 00000000")).version == 0x85
    with pytest.raises(wire.WireError, match="0x48"):
        wire.decode_header(b"HTTP/1.1 ")
    with pytest.raises(wire.WireError, match="-1 bytes"):
        wire.decode_header(bytes.fromhex("84 00 0000 08 ffffffff"))


def test_version_5_has_other_flags_in_queries() -> None:
    """Messages of version 5 have their version in the header, and four bytes of flags in QUERY."""
    body = wire.query_body("USE k", 0x0005, version=5)
    assert body == bytes.fromhex("00000005 55 53 45 20 6b 0005 00000000")
    assert wire.encode_frame(wire.QUERY, b"", version=5) == bytes.fromhex("05 00 0000 07 00000000")
    response = bytes.fromhex("85 00 0000 08 00000000")
    assert wire.decode_header(response, 5).opcode == wire.RESULT
    with pytest.raises(wire.WireError, match="expected a version 5 response"):
        wire.decode_header(bytes.fromhex("84 00 0000 08 00000000"), 5)


@pytest.mark.parametrize(
    ("version", "message", "later_version"),
    [
        (4, "Rejecting Protocol Version 4/v4 < 5/v5.", 5),
        (4, "no", 5),
        (5, "Invalid or unsupported protocol version (5); the lowest is 6/v6, the last is 7/v7", 6),
        (5, "supported versions are (3/v3, 4/v4, 5/v5, 6/v6-beta)", None),
        (5, "supported versions are (5/v5, 65/dse-v1, 70/v70)", None),
    ],
)
def test_the_version_after_a_refused_one(
    version: int, message: str, later_version: int | None
) -> None:
    """After version 4, the next version is 5; later ones are used only if the node names them.

    Betas and the versions of other servers are left out.
    """
    assert wire.next_version(version, message) == later_version


def test_error() -> None:
    """An ERROR is decoded to its code and message."""
    assert wire.decode_error(bytes.fromhex("00002200 0003 626164")) == (0x2200, "bad")


def test_rows_with_global_table_and_every_kind_of_type() -> None:
    """Columns of every kind of type can be read; rows have encoded values by column name."""
    columns = (
        bytes.fromhex("0001 61 0009")  # a int
        + bytes.fromhex("0001 62 0000 0003 782e79")  # b custom "x.y"
        + bytes.fromhex("0001 63 0021 000d 0020 0009")  # c map<varchar, list<int>>
        + bytes.fromhex("0001 64 0030 0001 6b 0001 75 0001 0001 66 000d")  # d udt k.u {f varchar}
        + bytes.fromhex("0001 65 0031 0002 0009 0022 000d")  # e tuple<int, set<varchar>>
    )
    # The values are an int, a null, an empty map, and two values of one byte.
    values = bytes.fromhex("00000004 00000007 ffffffff 00000000 00000001 aa 00000001 bb")
    body = (
        # The kind Rows, the flag Global_tables_spec, five columns, the table k.t. One row follows
        # the columns.
        bytes.fromhex("00000002 00000001 00000005 0001 6b 0001 74")
        + columns
        + bytes.fromhex("00000001")
        + values
    )
    assert wire.decode_rows(body) == [
        {"a": b"\0\0\0\x07", "b": None, "c": b"", "d": b"\xaa", "e": b"\xbb"}
    ]


def test_rows_with_a_table_for_each_column_and_more_pages() -> None:
    """The paging state and the column descriptions are skipped, whatever they contain."""
    # The kind Rows, the flag Has_more_pages (2), one column, the paging state ff, the column k.t.a
    # with the type int, and no rows.
    body = bytes.fromhex(
        "00000002 00000002 00000001 00000001 ff 0001 6b 0001 74 0001 61 0009 00000000"
    )
    assert wire.decode_rows(body) == []


def test_other_results_have_no_rows() -> None:
    """Results of the kinds Void and SetKeyspace are decoded to no rows."""
    void = bytes.fromhex("00000001")
    set_keyspace = bytes.fromhex("00000003 0001 6b")
    for body in (void, set_keyspace):
        assert wire.decode_rows(body) == []


def test_a_truncated_body_is_an_error() -> None:
    """If a body ends within a value, the error names the missing bytes and their position."""
    with pytest.raises(wire.WireError, match="4 bytes wanted at 4 of a body of 6"):
        wire.decode_rows(bytes.fromhex("00000002 0000"))
