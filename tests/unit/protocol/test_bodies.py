"""Request bodies are compared byte by byte with native_protocol_v3.spec, v4 and v5, sections 4.1.4
to 4.1.7.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from cassandra.consistency import ConsistencyLevel
from cassandra.errors import UnsupportedOperation
from cassandra.protocol import ExecuteMessage, QueryMessage
from cassandra.protocol.params import QueryParams
from cassandra.sentinels import UNSET_VALUE
from tests.conftest import Implementation

EVERYTHING: dict[str, Any] = {
    "values": [b"ab", None, b""],
    "skip_metadata": True,
    "page_size": 100,
    "paging_state": b"\x01\x02\x03",
    "serial_consistency": 9,
    "timestamp": 0x0102030405060708,
}


def with_version_5_fields(params: QueryParams, **more: Any) -> QueryParams:
    """Return `params` after setting fields that only exist since version 5."""
    for name, value in more.items():
        setattr(params, name, value)
    return params


@pytest.mark.parametrize("version", [3, 4])
def test_query_with_only_a_consistency(implementation: Implementation, version: int) -> None:
    """The body has only the query text, the consistency level and flags of 0."""
    body = implementation.bodies.query_body("SELECT 1", QueryParams(1), version)
    assert body == b"\x00\x00\x00\x08SELECT 1\x00\x01\x00"


MESSAGES: list[Any] = [
    lambda kind, head: kind(head, consistency_level=1),
    lambda kind, head: kind(head, consistency_level=6, query_params=EVERYTHING["values"],
        fetch_size=100, paging_state=b"\x01\x02\x03", serial_consistency_level=9,
        timestamp=0x0102030405060708),
]  # fmt: skip


@pytest.mark.parametrize("version", [3, 4, 5])
@pytest.mark.parametrize("make_message", MESSAGES)
def test_bodies_of_messages_contain_their_attributes(
    implementation: Implementation, make_message: Any, version: int
) -> None:
    query = make_message(QueryMessage, "Q")
    execute = make_message(partial(ExecuteMessage, query_params=None), b"id")
    if version == 5:
        for message in (query, execute):
            message.keyspace, message.now_in_seconds = "ks", 7
    for message in (query, execute):
        message.skip_meta = True
        params = QueryParams(
            message.consistency_level,
            message.query_params,
            value_names=None,
            skip_metadata=True,
            page_size=message.fetch_size,
            paging_state=message.paging_state,
            serial_consistency=message.serial_consistency_level,
            timestamp=message.timestamp,
        )
        with_version_5_fields(
            params, keyspace=message.keyspace, now_in_seconds=message.now_in_seconds
        )
        bodies = implementation.bodies
        assert bodies.query_of_message("Q", message, version) == bodies.query_body(
            "Q", params, version
        )
        # Compare once without and once with an id of result metadata and a tablet version.
        for metadata_id, tablet_version in ((None, None), (b"meta", 5)):
            assert bodies.execute_of_message(
                b"id", metadata_id, message, version, tablet_version
            ) == bodies.execute_body(b"id", metadata_id, params, version, tablet_version)


def test_messages_with_missing_or_unsupported_fields(implementation: Implementation) -> None:
    """A field that the version does not support, or that is missing, raises an error that names
    it.
    """
    bodies = implementation.bodies
    message = QueryMessage("Q", 1, continuous_paging_options=object())
    for encode in (
        partial(bodies.query_of_message, 1.5, message, 4),
        partial(bodies.execute_of_message, None, None, message, 4),
    ):
        with pytest.raises(UnsupportedOperation, match="continuous paging"):
            encode()
    message = QueryMessage("Q", 1, keyspace="ks")
    with pytest.raises(UnsupportedOperation, match="keyspace"):
        bodies.query_of_message("Q", message, 4)
    del message.timestamp
    with pytest.raises(AttributeError, match="timestamp"):
        bodies.query_of_message("Q", message, 5)


@pytest.mark.parametrize("version", [5, 6])
def test_query_flags_are_an_int_from_version_5(
    implementation: Implementation, version: int
) -> None:
    body = implementation.bodies.query_body("SELECT 1", QueryParams(1), version)
    assert body == b"\x00\x00\x00\x08SELECT 1\x00\x01\x00\x00\x00\x00"


def test_query_text_is_encoded_as_utf8_and_bytes_are_unchanged(
    implementation: Implementation,
) -> None:
    expected = b"\x00\x00\x00\x02\xc3\xa9\x00\x04\x00"
    assert implementation.bodies.query_body("é", QueryParams(4), 4) == expected
    assert implementation.bodies.query_body("é".encode(), QueryParams(4), 4) == expected


def test_query_with_everything_on_version_4(implementation: Implementation) -> None:
    """In version 4, the body has all flags and fields that the version knows."""
    body = implementation.bodies.query_body(
        "Q", QueryParams(ConsistencyLevel.LOCAL_QUORUM, **EVERYTHING), 4
    )
    assert body == (
        b"\x00\x00\x00\x01Q"
        b"\x00\x06"  # LOCAL_QUORUM
        b"\x3f"  # values, skip metadata, page size, paging state, serial consistency, timestamp
        b"\x00\x03"
        b"\x00\x00\x00\x02ab"
        b"\xff\xff\xff\xff"
        b"\x00\x00\x00\x00"
        b"\x00\x00\x00\x64"
        b"\x00\x00\x00\x03\x01\x02\x03"
        b"\x00\x09"
        b"\x01\x02\x03\x04\x05\x06\x07\x08"
    )


def test_query_with_everything_on_version_5(implementation: Implementation) -> None:
    """In version 5, the body has all flags and fields that the version knows."""
    params = QueryParams(ConsistencyLevel.LOCAL_QUORUM, value_names=["x", "y", "z"], **EVERYTHING)
    params.keyspace, params.now_in_seconds = "ks", 7
    body = implementation.bodies.query_body("Q", params, 5)
    assert body == (
        b"\x00\x00\x00\x01Q"
        b"\x00\x06"  # LOCAL_QUORUM
        b"\x00\x00\x01\xff"  # all flags
        b"\x00\x03"
        b"\x00\x01x"
        b"\x00\x00\x00\x02ab"
        b"\x00\x01y"
        b"\xff\xff\xff\xff"
        b"\x00\x01z"
        b"\x00\x00\x00\x00"
        b"\x00\x00\x00\x64"
        b"\x00\x00\x00\x03\x01\x02\x03"
        b"\x00\x09"
        b"\x01\x02\x03\x04\x05\x06\x07\x08"
        b"\x00\x02ks"
        b"\x00\x00\x00\x07"
    )


def test_negative_timestamp_and_unset_value(implementation: Implementation) -> None:
    """A negative timestamp is encoded as a signed number, and an unset value as the length -2."""
    body = implementation.bodies.query_body("Q", QueryParams(1, [UNSET_VALUE], timestamp=-2), 4)
    assert (
        body
        == b"\x00\x00\x00\x01Q\x00\x01\x21\x00\x01\xff\xff\xff\xfe\xff\xff\xff\xff\xff\xff\xff\xfe"
    )


def test_no_values_and_no_page_size_set_no_flags(implementation: Implementation) -> None:
    assert (
        implementation.bodies.query_body("Q", QueryParams(consistency=1, values=[], page_size=0), 4)
        == b"\x00\x00\x00\x01Q\x00\x01\x00"
    )


def test_execute(implementation: Implementation) -> None:
    """EXECUTE contains the statement's id, the id of its result metadata (always from version 5 on,
    otherwise only if there is one) and the parameters.
    """
    params = QueryParams(ConsistencyLevel.LOCAL_ONE, [b"\x00\x00\x00\x05"], skip_metadata=True)
    execute = implementation.bodies.execute_body
    values = b"\x00\x01\x00\x00\x00\x04\x00\x00\x00\x05"
    assert (
        execute(b"\xaa\xbb", result_metadata_id=None, params=params, version=3)
        == b"\x00\x02\xaa\xbb\x00\x0a\x03" + values
    )
    assert (
        execute(b"\xaa\xbb", result_metadata_id=None, params=params, version=4)
        == b"\x00\x02\xaa\xbb\x00\x0a\x03" + values
    )
    assert (
        execute(b"\xaa\xbb", b"\xcc", params, 4)
        == b"\x00\x02\xaa\xbb\x00\x01\xcc\x00\x0a\x03" + values
    )
    assert (
        execute(b"\xaa\xbb", b"\xcc", params, 5)
        == b"\x00\x02\xaa\xbb\x00\x01\xcc\x00\x0a\x00\x00\x00\x03" + values
    )
    assert (
        execute(b"\xaa\xbb", result_metadata_id=None, params=params, version=5)
        == b"\x00\x02\xaa\xbb\x00\x00\x00\x0a\x00\x00\x00\x03" + values
    )


def test_execute_ends_with_the_tablet_version_block_if_given(
    implementation: Implementation,
) -> None:
    body = implementation.bodies.execute_body(
        b"\xaa",
        result_metadata_id=None,
        params=QueryParams(1),
        version=4,
        tablet_version_block=0xA3,
    )
    assert body == b"\x00\x01\xaa\x00\x01\x00\xa3"


def test_execute_copies_the_bytes_of_a_block(implementation: Implementation) -> None:
    block = implementation.bind.ValuesBlock(2, b"\x00\x00\x00\x01z\xff\xff\xff\xff")
    body = implementation.bodies.execute_body(
        b"\xaa", result_metadata_id=None, params=QueryParams(1, block), version=4
    )
    assert body == b"\x00\x01\xaa\x00\x01\x01\x00\x02\x00\x00\x00\x01z\xff\xff\xff\xff"
    named = implementation.bodies.query_body("Q", QueryParams(1, block, ["a", "b"]), 4)
    assert (
        named == b"\x00\x00\x00\x01Q\x00\x01\x41\x00\x02"
        b"\x00\x01a\x00\x00\x00\x01z\x00\x01b\xff\xff\xff\xff"
    )


def test_batch_version_4(implementation: Implementation) -> None:
    """In version 4, a BATCH has its statements, flags of one byte, and the fields of that
    version.
    """
    statements = [
        (True, b"\x01\x02", [b"v", None, UNSET_VALUE]),
        (False, "INSERT", None),
        (0, b"DELETE", []),
    ]
    params = QueryParams(
        ConsistencyLevel.QUORUM, serial_consistency=ConsistencyLevel.SERIAL, timestamp=1
    )
    assert implementation.bodies.batch_body(1, statements, params, 4) == (
        b"\x01"  # the batch type
        b"\x00\x03"  # the number of statements
        b"\x01\x00\x02\x01\x02\x00\x03\x00\x00\x00\x01v\xff\xff\xff\xff\xff\xff\xff\xfe"
        b"\x00\x00\x00\x00\x06INSERT\x00\x00"
        b"\x00\x00\x00\x00\x06DELETE\x00\x00"
        b"\x00\x04"  # QUORUM
        b"\x30"  # flags: serial consistency and timestamp
        b"\x00\x08"
        b"\x00\x00\x00\x00\x00\x00\x00\x01"
    )


def test_batch_version_5(implementation: Implementation) -> None:
    """In version 5, a BATCH has flags of four bytes, and the fields of that version."""
    block = implementation.bind.ValuesBlock(1, b"\x00\x00\x00\x01v")
    params = with_version_5_fields(QueryParams(1), keyspace="k", now_in_seconds=2)
    assert implementation.bodies.batch_body(0, [(True, b"\x09", block)], params, 5) == (
        b"\x00\x00\x01\x01\x00\x01\x09\x00\x01\x00\x00\x00\x01v"
        b"\x00\x01\x00\x00\x01\x80\x00\x01k\x00\x00\x00\x02"
    )


def test_batch_of_65535_statements_and_no_more(implementation: Implementation) -> None:
    """65535 statements are encoded, and one more is refused."""
    statement = (True, b"\x09", None)
    body = implementation.bodies.batch_body(0, [statement] * 65535, QueryParams(1), 4)
    assert body == b"\x00\xff\xff" + b"\x01\x00\x01\x09\x00\x00" * 65535 + b"\x00\x01\x00"
    with pytest.raises(ValueError, match="65536 statements"):
        implementation.bodies.batch_body(0, [statement] * 65536, QueryParams(1), 4)


def test_prepare(implementation: Implementation) -> None:
    """From version 5 on, PREPARE also contains flags and a keyspace."""
    assert implementation.bodies.prepare_body("Q", keyspace=None, version=4) == b"\x00\x00\x00\x01Q"
    assert (
        implementation.bodies.prepare_body("Q", keyspace=None, version=5)
        == b"\x00\x00\x00\x01Q\x00\x00\x00\x00"
    )
    assert (
        implementation.bodies.prepare_body("Q", "ks", 5)
        == b"\x00\x00\x00\x01Q\x00\x00\x00\x01\x00\x02ks"
    )


@pytest.mark.parametrize("version", [3, 4])
def test_fields_of_version_5_are_refused_in_older_versions(
    implementation: Implementation, version: int
) -> None:
    bodies = implementation.bodies
    with pytest.raises(UnsupportedOperation, match=f"keyspace .*version {version}"):
        bodies.query_body("Q", with_version_5_fields(QueryParams(1), keyspace="ks"), version)
    with pytest.raises(UnsupportedOperation, match=f"now_in_seconds .*version {version}"):
        bodies.execute_body(
            b"i",
            result_metadata_id=None,
            params=with_version_5_fields(QueryParams(1), now_in_seconds=1),
            version=version,
        )
    with pytest.raises(UnsupportedOperation, match="keyspace"):
        bodies.batch_body(
            batch_type=0,
            statements=[],
            params=with_version_5_fields(QueryParams(1), keyspace="ks"),
            version=version,
        )
    with pytest.raises(UnsupportedOperation, match="keyspace"):
        bodies.prepare_body("Q", "ks", version)


def test_unset_is_refused_on_version_3(implementation: Implementation) -> None:
    bodies = implementation.bodies
    block = implementation.bind.ValuesBlock(1, b"\xff\xff\xff\xfe", has_unset=True)
    for values in ([UNSET_VALUE], block):
        with pytest.raises(UnsupportedOperation, match=r"UNSET_VALUE .*version 3"):
            bodies.execute_body(
                b"i", result_metadata_id=None, params=QueryParams(1, values), version=3
            )
        with pytest.raises(UnsupportedOperation, match=r"UNSET_VALUE .*version 3"):
            bodies.batch_body(0, [(True, b"i", values)], QueryParams(1), 3)


@pytest.mark.parametrize(
    ("params", "error", "match"),
    [
        (QueryParams(1, ["text"]), TypeError, "'text'"),
        (QueryParams(1, [5]), TypeError, "5 \\(int\\)"),
        (QueryParams(1, [b"a"], ["x", "y"]), ValueError, "1 values and 2 names"),
        (QueryParams(1, [b""] * 65536), ValueError, "65536"),
        (QueryParams(70000), ValueError, "70000"),
        (QueryParams(1, serial_consistency=-1), ValueError, "-1"),
        (QueryParams(1, page_size=1 << 31), ValueError, "page"),
        (QueryParams(1, timestamp=1 << 63), ValueError, "timestamp"),
        (with_version_5_fields(QueryParams(1), keyspace="k" * 65536), ValueError, "65536"),
        (
            with_version_5_fields(QueryParams(1), now_in_seconds=1 << 31),
            ValueError,
            "now_in_seconds",
        ),
        (
            QueryParams(1.0),  # type: ignore[arg-type]
            TypeError,
            "1.0 is not a consistency level; it has to be an integer",
        ),
        (
            QueryParams(1, serial_consistency=8.0),  # type: ignore[arg-type]
            TypeError,
            "8.0 .*integer",
        ),
        (
            QueryParams(1, page_size=5.5),  # type: ignore[arg-type]
            TypeError,
            "page_size is 5.5; it has to be an integer",
        ),
        (
            QueryParams(1, page_size="x"),  # type: ignore[arg-type]
            TypeError,
            "page_size is .x.; it has to be an integer",
        ),
        (
            QueryParams(1, timestamp=1.5),  # type: ignore[arg-type]
            TypeError,
            "timestamp is 1.5; it has to be an integer",
        ),
        (
            with_version_5_fields(QueryParams(1), now_in_seconds="1"),
            TypeError,
            "now_in_seconds is '1'",
        ),
        (
            QueryParams(1, paging_state="x"),  # type: ignore[arg-type]
            TypeError,
            "paging_state is 'x'",
        ),
        (
            with_version_5_fields(QueryParams(1), keyspace=5),
            TypeError,
            "a keyspace name is 5",
        ),
        (
            QueryParams(1, [b"a"], [None]),  # type: ignore[list-item]
            TypeError,
            "a value's name is None",
        ),
    ],
)
def test_values_that_do_not_fit_are_named(
    implementation: Implementation, params: QueryParams, error: type[Exception], match: str
) -> None:
    with pytest.raises(error, match=match):
        implementation.bodies.query_body("Q", params, 5)


def test_a_bad_batch_type_and_a_long_id_are_named(implementation: Implementation) -> None:
    with pytest.raises(ValueError, match="256"):
        implementation.bodies.batch_body(
            batch_type=256, statements=[], params=QueryParams(1), version=4
        )
    with pytest.raises(ValueError, match="65536"):
        implementation.bodies.execute_body(
            b"i" * 65536, result_metadata_id=None, params=QueryParams(1), version=4
        )
    with pytest.raises(TypeError, match="prepared"):
        implementation.bodies.batch_body(0, [(True, "text", None)], QueryParams(1), 4)


@pytest.mark.parametrize("kind", [bytearray, memoryview])
def test_values_may_be_any_bytes(implementation: Implementation, kind: Any) -> None:
    expected = b"\x00\x00\x00\x01Q\x00\x01\x01\x00\x01\x00\x00\x00\x02hi"
    assert implementation.bodies.query_body("Q", QueryParams(1, [kind(b"hi")]), 4) == expected
    assert implementation.bodies.query_body("Q", QueryParams(1, (kind(b"hi"),)), 4) == expected


def test_a_batch_may_contain_the_same_object_several_times(implementation: Implementation) -> None:
    # The encoder may cache the bytes of a statement that is the same object as the previous one. It
    # must not mix up texts and ids, which are encoded differently.
    text_or_id = b"Q"
    statements = [
        (False, text_or_id, None),
        (True, text_or_id, None),
        (True, text_or_id, [b"v"]),
        (0, text_or_id, None),
        (1, b"R", None),
        (1, text_or_id, None),
    ]
    expected = (
        b"\x00\x00\x06" + b"\x00\x00\x00\x00\x01Q\x00\x00"
        + b"\x01\x00\x01Q\x00\x00" + b"\x01\x00\x01Q\x00\x01\x00\x00\x00\x01v"
        + b"\x00\x00\x00\x00\x01Q\x00\x00" + b"\x01\x00\x01R\x00\x00"
        + b"\x01\x00\x01Q\x00\x00" + b"\x00\x01\x00"
    )  # fmt: skip
    assert implementation.bodies.batch_body(0, statements, QueryParams(1), 4) == expected
    for empty_statement in ((None, None, None), (True, None, None), (False, None, None)):
        with pytest.raises(TypeError, match="it has to be bytes"):
            implementation.bodies.batch_body(0, [empty_statement], QueryParams(1), 4)


class Text(str):
    pass


class Octets(bytes):
    pass


@pytest.mark.parametrize("bytes_class", [Octets, bytearray, memoryview])
def test_ids_states_and_queries_may_be_any_bytes(
    implementation: Implementation, bytes_class: Any
) -> None:
    bodies = implementation.bodies
    params = QueryParams(1, paging_state=bytes_class(b"ps"))
    assert (
        bodies.query_body(bytes_class(b"Q"), params, 4)
        == b"\x00\x00\x00\x01Q\x00\x01\x08\x00\x00\x00\x02ps"
    )
    assert (
        bodies.execute_body(bytes_class(b"i"), bytes_class(b"m"), QueryParams(1), 4)
        == b"\x00\x01i\x00\x01m\x00\x01\x00"
    )
    expected = b"\x00\x00\x01\x01\x00\x01i\x00\x00\x00\x01\x00"
    assert bodies.batch_body(0, [(True, bytes_class(b"i"), None)], QueryParams(1), 4) == expected


def test_names_may_be_of_a_class_derived_from_str(implementation: Implementation) -> None:
    bodies = implementation.bodies
    assert (
        bodies.prepare_body(Text("Q"), Text("ks"), 5)
        == b"\x00\x00\x00\x01Q\x00\x00\x00\x01\x00\x02ks"
    )
    params = with_version_5_fields(QueryParams(1, [b"v"], [Text("n")]), keyspace=Text("ks"))
    expected = (
        b"\x00\x00\x00\x01Q\x00\x01\x00\x00\x00\xc1\x00\x01\x00\x01n\x00\x00\x00\x01v\x00\x02ks"
    )
    assert bodies.query_body(Text("Q"), params, 5) == expected


# The encoder's first buffer has 2048 bytes.
@pytest.mark.parametrize("size", [*range(2015, 2060), 4090, 4096, 65_536, 300_000])
def test_bodies_of_sizes_at_which_the_buffer_grows(
    implementation: Implementation, size: int
) -> None:
    """If the encoder's buffer grows before, within or after a value, the body has the expected
    bytes.
    """
    data = bytes(range(256)) * (size // 256 + 1)
    value = data[:size]
    value_length = size.to_bytes(4, "big")
    expected = b"\x00\x02id\x00\x01\x01\x00\x02" + value_length + value + b"\x00\x00\x00\x01x"
    assert (
        implementation.bodies.execute_body(
            b"id", result_metadata_id=None, params=QueryParams(1, [value, b"x"]), version=4
        )
        == expected
    )
    # The first statement is short. The encoder must not take its size for that of the others.
    statements = [(True, b"id", [b"y"]), (True, b"id", [value]), (False, "Q", [value, None])]
    expected = (
        b"\x01\x00\x03\x01\x00\x02id\x00\x01\x00\x00\x00\x01y\x01\x00\x02id\x00\x01"
        + value_length + value
        + b"\x00\x00\x00\x00\x01Q\x00\x02" + value_length + value + b"\xff\xff\xff\xff\x00\x01\x00"
    )  # fmt: skip
    assert implementation.bodies.batch_body(1, statements, QueryParams(1), 4) == expected
    expected = (
        b"\x01\x00\x02\x01\x00\x02id\x00\x01"
        + value_length
        + value
        + b"\x01\x00\x02id\x00\x01\x00\x00\x00\x01y\x00\x01\x00"
    )
    assert (
        implementation.bodies.batch_body(1, [statements[1], statements[0]], QueryParams(1), 4)
        == expected
    )
