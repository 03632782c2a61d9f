"""Request bodies are encoded as native_protocol_v3.spec, v4 and v5 require (4.1.4 to 4.1.7).

A statement of a batch is a tuple: (is it prepared, id or query, values).
"""

from __future__ import annotations

from typing import Any

import pytest

from cassandra._impl import bodies
from cassandra.consistency import ConsistencyLevel
from cassandra.errors import UnsupportedOperation
from cassandra.protocol import BatchMessage, ExecuteMessage, QueryMessage
from cassandra.protocol.params import QueryParams
from cassandra.query import BatchType
from cassandra.sentinels import UNSET_VALUE
from tests.conftest import Implementation

ONE = ConsistencyLevel.ONE
# batch types
LOGGED, UNLOGGED = 0, 1
# all parameters of a query in protocol version 4, except names of values
EVERYTHING: dict[str, Any] = {
    "values": [b"ab", None, b""],
    "skip_metadata": True,
    "page_size": 100,
    "paging_state": b"\x01\x02\x03",
    "serial_consistency": ConsistencyLevel.LOCAL_SERIAL,
    "timestamp": 0x0102030405060708,
}


@pytest.mark.parametrize("version", [3, 4])
def test_query_with_only_a_consistency(implementation: Implementation, version: int) -> None:
    """Without parameters, a QUERY has only the query, the consistency level and flags of 0."""
    body = implementation.bodies.query_body("SELECT 1", QueryParams(ONE), version=version)
    assert body == b"\x00\x00\x00\x08SELECT 1\x00\x01\x00"


# The parameters of a request: none, and all that version 4 has.
PARAMETERS: list[dict[str, Any]] = [{"values": None}, EVERYTHING]


def all_parameters(given: dict[str, Any], version: int) -> dict[str, Any]:
    """Return all parameters of a request: the values in `given`, and None or False for all others.

    From protocol version 5 on, `keyspace` and `now_in_seconds` have values, too.
    """
    fields = dict.fromkeys(
        ("values", "page_size", "paging_state", "serial_consistency", "timestamp", "keyspace"),
    )
    fields |= {"now_in_seconds": None, "skip_metadata": False, **given, "consistency": ONE}
    return fields if version < 5 else {**fields, "keyspace": "ks", "now_in_seconds": 7}


@pytest.mark.parametrize("version", [3, 4, 5])
@pytest.mark.parametrize("given", PARAMETERS)
def test_parameters_may_be_separate_arguments(
    implementation: Implementation, given: dict[str, Any], version: int
) -> None:
    """The `*_of_fields` functions encode separate arguments like a `QueryParams` with them."""
    bodies = implementation.bodies
    fields = all_parameters(given, version)
    params = QueryParams(**fields)
    query_body = bodies.query_of_fields("Q", **fields, version=version)
    assert query_body == bodies.query_body("Q", params, version=version)
    # Compare without and with an id of the result metadata and a tablet version.
    for metadata_id, tablet_version in ((None, None), (b"meta", 5)):
        rest: dict[str, Any] = {
            "result_metadata_id": metadata_id,
            "version": version,
            "tablet_version_block": tablet_version,
        }
        execute_body = bodies.execute_of_fields(b"id", **fields, **rest)
        assert execute_body == bodies.execute_body(b"id", params=params, **rest)
    statements = [(True, b"id", [b"1", None]), (False, "INSERT", None)]
    for name in ("values", "page_size", "paging_state", "skip_metadata"):
        del fields[name]
    batch_body = bodies.batch_of_fields(UNLOGGED, statements, **fields, version=version)
    assert batch_body == bodies.batch_body(UNLOGGED, statements, params, version=version)


@pytest.mark.parametrize("version", [3, 4, 5])
@pytest.mark.parametrize("given", PARAMETERS)
def test_bodies_of_messages_have_their_attributes(given: dict[str, Any], version: int) -> None:
    """The body of a message object equals the body of a `QueryParams` with the same parameters."""
    fields = all_parameters(given, version)
    params = QueryParams(**fields)
    named: dict[str, Any] = {
        "consistency_level": ONE,
        "serial_consistency_level": fields["serial_consistency"],
        "timestamp": fields["timestamp"],
    }
    paged = {**named, "fetch_size": fields["page_size"], "paging_state": fields["paging_state"]}
    statements: list[Any] = [(True, b"id", [b"1", None])]
    query = QueryMessage("Q", query_params=fields["values"], **paged)
    query.skip_meta = fields["skip_metadata"]
    execute = ExecuteMessage(b"id", fields["values"], skip_meta=fields["skip_metadata"], **paged)
    batch = BatchMessage(BatchType.UNLOGGED, statements, **named)
    for message in (query, execute, batch):
        message.keyspace, message.now_in_seconds = fields["keyspace"], fields["now_in_seconds"]
    assert query.body(version) == bodies.query_body("Q", params, version)
    assert execute.body(version) == bodies.execute_body(b"id", None, params, version)
    assert batch.body(version) == bodies.batch_body(UNLOGGED, statements, params, version)


def test_messages_with_missing_or_unsupported_fields() -> None:
    """Encoding a message with a missing field, or a field that the version lacks, is an error.

    The error names the field.
    """
    # The unsupported option must be refused before the query or id is encoded, which has a wrong
    # type here.
    wrong: Any = 1.5
    for message in (
        QueryMessage(wrong, ONE, continuous_paging_options=object()),
        ExecuteMessage(wrong, None, ONE, continuous_paging_options=object()),
    ):
        with pytest.raises(UnsupportedOperation, match="continuous paging"):
            message.body(4)
    query = QueryMessage("Q", ONE, keyspace="ks")
    with pytest.raises(UnsupportedOperation, match="keyspace"):
        query.body(4)
    del query.timestamp
    with pytest.raises(AttributeError, match="timestamp"):
        query.body(5)


@pytest.mark.parametrize("version", [5, 6])
def test_query_flags_are_an_int_from_version_5(
    implementation: Implementation, version: int
) -> None:
    """From version 5 on, the flags, which end this body, take four bytes instead of one."""
    body = implementation.bodies.query_body("SELECT 1", QueryParams(ONE), version=version)
    assert body == b"\x00\x00\x00\x08SELECT 1" + b"\x00\x01" + b"\x00\x00\x00\x00"


def test_query_text_is_encoded_as_utf8_and_bytes_are_unchanged(
    implementation: Implementation,
) -> None:
    """A query string is encoded in UTF-8, and a query in bytes is sent unchanged."""
    # The body has the query after its length, the consistency level (4 for QUORUM), and no flags.
    expected = b"\x00\x00\x00\x02\xc3\xa9\x00\x04\x00"
    assert (
        implementation.bodies.query_body("é", QueryParams(ConsistencyLevel.QUORUM), version=4)
        == expected
    )
    assert (
        implementation.bodies.query_body(
            "é".encode(), QueryParams(ConsistencyLevel.QUORUM), version=4
        )
        == expected
    )


def test_query_with_everything_on_version_4(implementation: Implementation) -> None:
    """A QUERY with all parameters of version 4 has all flags and fields in the specified order."""
    body = implementation.bodies.query_body(
        "Q", QueryParams(ConsistencyLevel.LOCAL_QUORUM, **EVERYTHING), version=4
    )
    assert body == (
        b"\x00\x00\x00\x01Q"
        # This is the consistency level LOCAL_QUORUM.
        b"\x00\x06"
        # These flags are values, skip metadata, page size, paging state, serial consistency,
        # timestamp.
        b"\x3f"
        # There are three values: "ab", null, and an empty value.
        b"\x00\x03"
        b"\x00\x00\x00\x02ab"
        b"\xff\xff\xff\xff"
        b"\x00\x00\x00\x00"
        # The other fields are the page size 100, the paging state, LOCAL_SERIAL and the timestamp.
        b"\x00\x00\x00\x64"
        b"\x00\x00\x00\x03\x01\x02\x03"
        b"\x00\x09"
        b"\x01\x02\x03\x04\x05\x06\x07\x08"
    )


def test_query_with_everything_on_version_5(implementation: Implementation) -> None:
    """A QUERY with all parameters of version 5 has all flags and fields in the specified order."""
    params = QueryParams(ConsistencyLevel.LOCAL_QUORUM, value_names=["x", "y", "z"], **EVERYTHING)
    params.keyspace, params.now_in_seconds = "ks", 7
    body = implementation.bodies.query_body("Q", params, version=5)
    assert body == (
        b"\x00\x00\x00\x01Q"
        # This is the consistency level LOCAL_QUORUM.
        b"\x00\x06"
        # These are the flags, all of them set.
        b"\x00\x00\x01\xff"
        # There are three values with names: x, y and z.
        b"\x00\x03"
        b"\x00\x01x"
        b"\x00\x00\x00\x02ab"
        b"\x00\x01y"
        b"\xff\xff\xff\xff"
        b"\x00\x01z"
        b"\x00\x00\x00\x00"
        # The other fields are the page size 100, the paging state, LOCAL_SERIAL, the timestamp, the
        # keyspace and `now_in_seconds`.
        b"\x00\x00\x00\x64"
        b"\x00\x00\x00\x03\x01\x02\x03"
        b"\x00\x09"
        b"\x01\x02\x03\x04\x05\x06\x07\x08"
        b"\x00\x02ks"
        b"\x00\x00\x00\x07"
    )


def test_negative_timestamp_and_unset_value(implementation: Implementation) -> None:
    """A negative timestamp must be a signed number, and an unset value must have the length -2."""
    params = QueryParams(ONE, [UNSET_VALUE], timestamp=-2)
    assert implementation.bodies.query_body("Q", params, version=4) == (
        b"\x00\x00\x00\x01Q"
        # This is the consistency level ONE.
        b"\x00\x01"
        # These flags are values and timestamp.
        b"\x21"
        # This is the number of values.
        b"\x00\x01"
        # This is an unset value: the length -2.
        b"\xff\xff\xff\xfe"
        # This is the timestamp -2.
        b"\xff\xff\xff\xff\xff\xff\xff\xfe"
    )


def test_no_values_and_no_page_size_set_no_flags(implementation: Implementation) -> None:
    """An empty list of values, and a page size of 0, are left out and set no flag."""
    params = QueryParams(ONE, values=[], page_size=0)
    body = implementation.bodies.query_body("Q", params, version=4)
    assert body == b"\x00\x00\x00\x01Q" + b"\x00\x01" + b"\x00"


def test_execute(implementation: Implementation) -> None:
    """EXECUTE has the statement's id, the id of its result metadata, and the parameters.

    Before version 5, the id of the result metadata is left out if it is None.
    """
    params = QueryParams(ConsistencyLevel.LOCAL_ONE, [b"\x00\x00\x00\x05"], skip_metadata=True)
    execute = implementation.bodies.execute_body
    values = b"\x00\x01\x00\x00\x00\x04\x00\x00\x00\x05"
    # The consistency level (0x000a) and the flags follow the ids. The flags say that there are
    # values, and that the results need no metadata (0x03).
    for version in (3, 4):
        assert (
            execute(b"\xaa\xbb", result_metadata_id=None, params=params, version=version)
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
    """With a `tablet_version_block`, an extension of ScyllaDB, EXECUTE ends with this byte.

    The node compares the byte with the version of the tablet.
    """
    body = implementation.bodies.execute_body(
        b"\xaa",
        result_metadata_id=None,
        params=QueryParams(ONE),
        version=4,
        tablet_version_block=0xA3,
    )
    # The statement's id is followed by the consistency level ONE, no flags, and the block.
    assert body == b"\x00\x01\xaa\x00\x01\x00\xa3"


def test_execute_copies_the_bytes_of_a_block(implementation: Implementation) -> None:
    """A block's encoded values are copied; in a QUERY with names, each value follows its name."""
    block = implementation.bind.ValuesBlock(count=2, data=b"\x00\x00\x00\x01z\xff\xff\xff\xff")
    body = implementation.bodies.execute_body(
        b"\xaa", result_metadata_id=None, params=QueryParams(ONE, block), version=4
    )
    assert body == b"\x00\x01\xaa\x00\x01\x01\x00\x02\x00\x00\x00\x01z\xff\xff\xff\xff"
    params = QueryParams(ONE, block, value_names=["a", "b"])
    body = implementation.bodies.query_body("Q", params, version=4)
    assert body == (
        b"\x00\x00\x00\x01Q"
        # This is the consistency level ONE.
        b"\x00\x01"
        # These flags are values with names.
        b"\x41"
        # This is the number of values.
        b"\x00\x02"
        # These are a name and its value.
        b"\x00\x01a" + b"\x00\x00\x00\x01z"
        # These are a name and a null.
        b"\x00\x01b" + b"\xff\xff\xff\xff"
    )


def test_batch_version_4(implementation: Implementation) -> None:
    """In version 4, a BATCH has its statements, one byte of flags, and the fields of version 4."""
    statements = [
        (True, b"\x01\x02", [b"v", None, UNSET_VALUE]),
        (False, "INSERT", None),
        (0, b"DELETE", []),
    ]
    params = QueryParams(
        ConsistencyLevel.QUORUM, serial_consistency=ConsistencyLevel.SERIAL, timestamp=1
    )
    assert implementation.bodies.batch_body(UNLOGGED, statements, params, version=4) == (
        # This is the batch type.
        b"\x01"
        # This is the number of statements.
        b"\x00\x03"
        b"\x01\x00\x02\x01\x02\x00\x03\x00\x00\x00\x01v\xff\xff\xff\xff\xff\xff\xff\xfe"
        b"\x00\x00\x00\x00\x06INSERT\x00\x00"
        b"\x00\x00\x00\x00\x06DELETE\x00\x00"
        # This is the consistency level QUORUM.
        b"\x00\x04"
        # These flags are serial consistency and timestamp.
        b"\x30"
        b"\x00\x08"
        b"\x00\x00\x00\x00\x00\x00\x00\x01"
    )


def test_batch_version_5(implementation: Implementation) -> None:
    """In version 5, a BATCH has four bytes of flags, and the fields of version 5."""
    block = implementation.bind.ValuesBlock(count=1, data=b"\x00\x00\x00\x01v")
    params = QueryParams(ONE, keyspace="k", now_in_seconds=2)
    assert implementation.bodies.batch_body(
        LOGGED, [(True, b"\x09", block)], params, version=5
    ) == (
        # This is a logged batch.
        b"\x00"
        # It has one statement.
        b"\x00\x01"
        b"\x01\x00\x01\x09\x00\x01\x00\x00\x00\x01v"
        # This is the consistency level ONE.
        b"\x00\x01"
        # These flags are keyspace and now_in_seconds.
        b"\x00\x00\x01\x80"
        b"\x00\x01k"
        b"\x00\x00\x00\x02"
    )


def test_batch_of_65535_statements_and_no_more(implementation: Implementation) -> None:
    """A batch of 65,535 statements is encoded, and a batch of 65,536 is refused.

    The number of statements takes two bytes.
    """
    statement = (True, b"\x09", None)
    body = implementation.bodies.batch_body(
        LOGGED, [statement] * 65535, QueryParams(ONE), version=4
    )
    assert body == b"\x00\xff\xff" + b"\x01\x00\x01\x09\x00\x00" * 65535 + b"\x00\x01\x00"
    with pytest.raises(ValueError, match="65536 statements"):
        implementation.bodies.batch_body(LOGGED, [statement] * 65536, QueryParams(ONE), version=4)


def test_prepare(implementation: Implementation) -> None:
    """From version 5 on, PREPARE also contains flags, and the keyspace if there is one."""
    assert implementation.bodies.prepare_body("Q", keyspace=None, version=4) == b"\x00\x00\x00\x01Q"
    assert (
        implementation.bodies.prepare_body("Q", keyspace=None, version=5)
        == b"\x00\x00\x00\x01Q\x00\x00\x00\x00"
    )
    assert (
        implementation.bodies.prepare_body("Q", "ks", version=5)
        == b"\x00\x00\x00\x01Q\x00\x00\x00\x01\x00\x02ks"
    )


@pytest.mark.parametrize("version", [3, 4])
def test_fields_of_version_5_are_refused_in_older_versions(
    implementation: Implementation, version: int
) -> None:
    """A keyspace or `now_in_seconds` is refused before version 5, which cannot send them.

    A request without them would have another meaning.
    """
    bodies = implementation.bodies
    with pytest.raises(UnsupportedOperation, match=f"keyspace .*version {version}"):
        bodies.query_body("Q", QueryParams(ONE, keyspace="ks"), version=version)
    with pytest.raises(UnsupportedOperation, match=f"now_in_seconds .*version {version}"):
        bodies.execute_body(
            b"i",
            result_metadata_id=None,
            params=QueryParams(ONE, now_in_seconds=1),
            version=version,
        )
    with pytest.raises(UnsupportedOperation, match="keyspace"):
        bodies.batch_body(
            batch_type=0,
            statements=[],
            params=QueryParams(ONE, keyspace="ks"),
            version=version,
        )
    with pytest.raises(UnsupportedOperation, match="keyspace"):
        bodies.prepare_body("Q", "ks", version=version)


def test_unset_is_refused_on_version_3(implementation: Implementation) -> None:
    """In protocol version 3, unset values in a list or a block raise UnsupportedOperation."""
    bodies = implementation.bodies
    block = implementation.bind.ValuesBlock(count=1, data=b"\xff\xff\xff\xfe", has_unset=True)
    for values in ([UNSET_VALUE], block):
        with pytest.raises(UnsupportedOperation, match=r"UNSET_VALUE .*version 3"):
            bodies.execute_body(
                b"i", result_metadata_id=None, params=QueryParams(ONE, values), version=3
            )
        with pytest.raises(UnsupportedOperation, match=r"UNSET_VALUE .*version 3"):
            bodies.batch_body(LOGGED, [(True, b"i", values)], QueryParams(ONE), version=3)


@pytest.mark.parametrize(
    ("params", "error", "match"),
    [
        (QueryParams(ONE, ["text"]), TypeError, "'text'"),
        (QueryParams(ONE, [5]), TypeError, "5 \\(int\\)"),
        (QueryParams(ONE, [b"a"], ["x", "y"]), ValueError, "1 values and 2 names"),
        (QueryParams(ONE, [b""] * 65536), ValueError, "65536"),
        (QueryParams(70000), ValueError, "70000"),
        (QueryParams(ONE, serial_consistency=-1), ValueError, "-1"),
        (QueryParams(ONE, page_size=1 << 31), ValueError, "page"),
        (QueryParams(ONE, timestamp=1 << 63), ValueError, "timestamp"),
        (QueryParams(ONE, keyspace="k" * 65536), ValueError, "65536"),
        (
            QueryParams(ONE, now_in_seconds=1 << 31),
            ValueError,
            "now_in_seconds",
        ),
        (
            QueryParams(1.0),  # type: ignore[arg-type]
            TypeError,
            "1.0 is not a consistency level; it has to be an integer",
        ),
        (
            QueryParams(ONE, serial_consistency=8.0),  # type: ignore[arg-type]
            TypeError,
            "8.0 .*integer",
        ),
        (
            QueryParams(ONE, page_size=5.5),  # type: ignore[arg-type]
            TypeError,
            "page_size is 5.5; it has to be an integer",
        ),
        (
            QueryParams(ONE, page_size="x"),  # type: ignore[arg-type]
            TypeError,
            "page_size is .x.; it has to be an integer",
        ),
        (
            QueryParams(ONE, timestamp=1.5),  # type: ignore[arg-type]
            TypeError,
            "timestamp is 1.5; it has to be an integer",
        ),
        (
            QueryParams(ONE, now_in_seconds="1"),  # type: ignore[arg-type]
            TypeError,
            "now_in_seconds is '1'",
        ),
        (
            QueryParams(ONE, paging_state="x"),  # type: ignore[arg-type]
            TypeError,
            "paging_state is 'x'",
        ),
        (
            QueryParams(ONE, keyspace=5),  # type: ignore[arg-type]
            TypeError,
            "a keyspace name is 5",
        ),
        (
            QueryParams(ONE, [b"a"], [None]),  # type: ignore[list-item]
            TypeError,
            "a value's name is None",
        ),
    ],
)
def test_values_that_do_not_fit_are_named(
    implementation: Implementation, params: QueryParams, error: type[Exception], match: str
) -> None:
    """The error for a parameter that does not fit names the parameter and its value."""
    with pytest.raises(error, match=match):
        implementation.bodies.query_body("Q", params, version=5)


def test_a_bad_batch_type_and_a_long_id_are_named(implementation: Implementation) -> None:
    """The error for a wrong batch type, a long id or an id of the wrong type shows the value."""
    with pytest.raises(ValueError, match="256"):
        implementation.bodies.batch_body(
            batch_type=256, statements=[], params=QueryParams(ONE), version=4
        )
    with pytest.raises(ValueError, match="65536"):
        implementation.bodies.execute_body(
            b"i" * 65536, result_metadata_id=None, params=QueryParams(ONE), version=4
        )
    with pytest.raises(TypeError, match="prepared"):
        implementation.bodies.batch_body(
            LOGGED, [(True, "text", None)], QueryParams(ONE), version=4
        )


@pytest.mark.parametrize("bytes_class", [bytearray, memoryview])
def test_values_may_be_any_bytes(implementation: Implementation, bytes_class: Any) -> None:
    """Encoded values may be bytearrays or memoryviews, in a list or a tuple."""
    value = bytes_class(b"hi")
    expected = b"\x00\x00\x00\x01Q\x00\x01\x01\x00\x01\x00\x00\x00\x02hi"
    for values in ([value], (value,)):
        body = implementation.bodies.query_body("Q", QueryParams(ONE, values), version=4)
        assert body == expected


def test_a_batch_may_contain_the_same_object_several_times(implementation: Implementation) -> None:
    """A batch may contain the same bytes object as a query and as an id.

    The encoder may cache the encoding of a statement whose object is the same as before, but
    queries and ids are encoded differently.
    """
    query_or_id = b"Q"
    statements = [
        (False, query_or_id, None),
        (True, query_or_id, None),
        (True, query_or_id, [b"v"]),
        (0, query_or_id, None),
        (1, b"R", None),
        (1, query_or_id, None),
    ]
    expected = (
        b"\x00\x00\x06" + b"\x00\x00\x00\x00\x01Q\x00\x00"
        + b"\x01\x00\x01Q\x00\x00" + b"\x01\x00\x01Q\x00\x01\x00\x00\x00\x01v"
        + b"\x00\x00\x00\x00\x01Q\x00\x00" + b"\x01\x00\x01R\x00\x00"
        + b"\x01\x00\x01Q\x00\x00" + b"\x00\x01\x00"
    )  # fmt: skip
    assert (
        implementation.bodies.batch_body(LOGGED, statements, QueryParams(ONE), version=4)
        == expected
    )
    # A query or id of None is refused.
    for empty_statement in ((None, None, None), (True, None, None), (False, None, None)):
        with pytest.raises(TypeError, match="it has to be bytes"):
            implementation.bodies.batch_body(LOGGED, [empty_statement], QueryParams(ONE), version=4)


class DerivedStr(str):
    pass


class DerivedBytes(bytes):
    pass


@pytest.mark.parametrize("bytes_class", [DerivedBytes, bytearray, memoryview])
def test_ids_states_and_queries_may_be_any_bytes(
    implementation: Implementation, bytes_class: Any
) -> None:
    """IDs, paging states and queries may be bytes, bytearrays or memoryviews."""
    bodies = implementation.bodies
    # The flag 0x08 of the expected bytes says that a paging state follows.
    params = QueryParams(ONE, paging_state=bytes_class(b"ps"))
    assert (
        bodies.query_body(bytes_class(b"Q"), params, version=4)
        == b"\x00\x00\x00\x01Q\x00\x01\x08\x00\x00\x00\x02ps"
    )
    assert (
        bodies.execute_body(
            bytes_class(b"i"),
            result_metadata_id=bytes_class(b"m"),
            params=QueryParams(ONE),
            version=4,
        )
        == b"\x00\x01i\x00\x01m\x00\x01\x00"
    )
    statement = (True, bytes_class(b"i"), None)
    body = bodies.batch_body(LOGGED, [statement], QueryParams(ONE), version=4)
    assert body == b"\x00\x00\x01\x01\x00\x01i\x00\x00\x00\x01\x00"


def test_names_may_be_of_a_class_derived_from_str(implementation: Implementation) -> None:
    """Queries, keyspaces and names of values may be instances of a subclass of str."""
    bodies = implementation.bodies
    assert (
        bodies.prepare_body(DerivedStr("Q"), DerivedStr("ks"), version=5)
        == b"\x00\x00\x00\x01Q\x00\x00\x00\x01\x00\x02ks"
    )
    params = QueryParams(ONE, [b"v"], [DerivedStr("n")], keyspace=DerivedStr("ks"))
    expected = (
        b"\x00\x00\x00\x01Q\x00\x01\x00\x00\x00\xc1\x00\x01\x00\x01n\x00\x00\x00\x01v\x00\x02ks"
    )
    assert bodies.query_body(DerivedStr("Q"), params, version=5) == expected


@pytest.mark.parametrize("size", [*range(2015, 2060), 4090, 4096, 65_536, 300_000])
def test_bodies_of_sizes_at_which_the_buffer_grows(
    implementation: Implementation, size: int
) -> None:
    """Values of sizes around the limits of the encoder's buffer are encoded correctly.

    The buffer has 2048 bytes at first. It may grow before, within or after a value.

    :param size: the size of the value in bytes.
    """
    data = bytes(range(256)) * (size // 256 + 1)
    value = data[:size]
    value_length = size.to_bytes(4, "big")
    expected = b"\x00\x02id\x00\x01\x01\x00\x02" + value_length + value + b"\x00\x00\x00\x01x"
    assert (
        implementation.bodies.execute_body(
            b"id", result_metadata_id=None, params=QueryParams(ONE, [value, b"x"]), version=4
        )
        == expected
    )
    # The first statement is short. The encoder must not assume that the other statements are as
    # short.
    short_statement, long_statement = (True, b"id", [b"y"]), (True, b"id", [value])
    statements = [short_statement, long_statement, (False, "Q", [value, None])]
    expected = (
        b"\x01\x00\x03\x01\x00\x02id\x00\x01\x00\x00\x00\x01y\x01\x00\x02id\x00\x01"
        + value_length + value
        + b"\x00\x00\x00\x00\x01Q\x00\x02" + value_length + value + b"\xff\xff\xff\xff\x00\x01\x00"
    )  # fmt: skip
    assert (
        implementation.bodies.batch_body(UNLOGGED, statements, QueryParams(ONE), version=4)
        == expected
    )
    expected = (
        b"\x01\x00\x02\x01\x00\x02id\x00\x01"
        + value_length
        + value
        + b"\x01\x00\x02id\x00\x01\x00\x00\x00\x01y\x00\x01\x00"
    )
    statements = [long_statement, short_statement]
    body = implementation.bodies.batch_body(UNLOGGED, statements, QueryParams(ONE), version=4)
    assert body == expected
