"""Test RESULT responses: rows, prepared statements, keyspaces and schema changes."""

from __future__ import annotations

import threading
import traceback
from io import BytesIO
from typing import Any

import pytest

from cassandra import cqltypes
from cassandra.errors import DecodeError, ProtocolError
from cassandra.limits import limits
from cassandra.protocol import ColumnMetadata, ResultMessage
from cassandra.protocol.features import LwtInfo, ProtocolFeatures
from cassandra.protocol.messages.decode import decode_response
from cassandra.protocol.opcodes import (
    RESULT,
    RESULT_KIND_PREPARED,
    RESULT_KIND_ROWS,
    RESULT_KIND_SET_KEYSPACE,
    RESULT_KIND_VOID,
    ROWS_GLOBAL_TABLES_SPEC,
    ROWS_HAS_MORE_PAGES,
    ROWS_METADATA_CHANGED,
    ROWS_NO_METADATA,
)
from cassandra.query.row_factories import (
    dict_factory,
    named_tuple_factory,
    ordered_dict_factory,
    tuple_factory,
)
from tests.unit.protocol.wire import int32, short, string, value
from tests.waiting import WAIT

TABLE = string("ks") + string("t")
# the column a, with the type code of int
SPEC_A = string("a") + short(0x0009)
# the column b, with the type code of varchar
SPEC_B = string("b") + short(0x000D)
TWO_COLUMNS = TABLE + SPEC_A + SPEC_B
# the number of rows, and the cells of a row with the values 5 and "five"
ONE_ROW = int32(1) + value(int32(5)) + value(b"five")


def rows(
    flags: int,
    extra: bytes = b"",
    specs: bytes = TWO_COLUMNS,
    content: bytes = ONE_ROW,
    count: int = 2,
) -> bytes:
    """Return the body of a RESULT of rows.

    :param flags: the flags of the metadata.
    :param extra: the bytes between the column count and the column specs (a paging state or a
        metadata id, if the flags announce one).
    :param specs: the column specs.
    :param content: the row count and the cells.
    :param count: the number of columns.
    """
    return int32(RESULT_KIND_ROWS) + int32(flags) + int32(count) + extra + specs + content


def result(body: bytes, version: int = 4, **arguments: Any) -> Any:
    """Decode the body of a RESULT; `arguments` are further arguments of `decode_response`."""
    return decode_response(RESULT, flags=0, body=body, version=version, **arguments)


def test_void_and_set_keyspace() -> None:
    """A VOID result has no rows, and a SET_KEYSPACE result has the name of the new keyspace."""
    assert result(int32(RESULT_KIND_VOID)).kind == RESULT_KIND_VOID
    assert result(int32(RESULT_KIND_VOID)).parsed_rows is None
    assert result(int32(RESULT_KIND_VOID)).decode(tuple_factory) == []
    message = result(int32(RESULT_KIND_SET_KEYSPACE) + string("ks"))
    assert message.kind == RESULT_KIND_SET_KEYSPACE
    assert message.new_keyspace == "ks"
    assert message.column_names is None


@pytest.mark.parametrize("version", [3, 4, 5])
def test_rows(version: int) -> None:
    """A ROWS result has columns and rows, and no paging state if there are no more pages."""
    message = result(rows(ROWS_GLOBAL_TABLES_SPEC), version=version)
    assert message.kind == RESULT_KIND_ROWS
    assert message.column_names == ["a", "b"]
    assert [cql_type.typename for cql_type in message.column_types] == ["int", "varchar"]
    assert message.column_metadata[0] == ColumnMetadata("ks", "t", "a", message.column_types[0])
    assert message.row_count == 1
    assert message.paging_state is None
    assert not message.has_more_pages
    assert message.parsed_rows == [(5, "five")]
    # The rows must be decoded only once, and the same list be returned each time.
    assert message.parsed_rows is message.parsed_rows
    assert message.trace_id is None
    assert message.warnings is None
    assert message.custom_payload is None


def test_rows_with_a_table_for_each_column() -> None:
    """If the columns come from several tables, each column has its own keyspace and table."""
    specs = string("k1") + string("t1") + SPEC_A + string("k2") + string("t2") + SPEC_B
    message = result(rows(0, b"", specs))
    # The first three fields of a column are its keyspace, its table and its name.
    names = [column[:3] for column in message.metadata.columns]
    assert names == [("k1", "t1", "a"), ("k2", "t2", "b")]


def test_rows_with_more_pages() -> None:
    """If there are more pages, the result must have a paging state as well as its rows."""
    message = result(rows(ROWS_GLOBAL_TABLES_SPEC | ROWS_HAS_MORE_PAGES, value(b"\x01\x02")))
    assert message.paging_state == b"\x01\x02"
    assert message.has_more_pages
    assert message.parsed_rows == [(5, "five")]


@pytest.mark.parametrize("paging_state", [int32(-1), int32(0)], ids=["null", "empty"])
def test_more_pages_without_a_paging_state_are_refused(paging_state: bytes) -> None:
    """The further rows would be missing, or the first page would come again, without an error."""
    body = rows(ROWS_GLOBAL_TABLES_SPEC | ROWS_HAS_MORE_PAGES, paging_state)
    with pytest.raises(ProtocolError, match=r"its paging state is (null|empty)"):
        result(body)
    with pytest.raises(ProtocolError, match=r"its paging state is (null|empty)"):
        ResultMessage(RESULT_KIND_ROWS).recv_results_metadata(BytesIO(body[4:]), {})


def test_changed_columns_that_are_left_out_are_refused() -> None:
    """The rows would be decoded by the earlier columns, which would be kept for the new id."""
    body = (
        int32(RESULT_KIND_ROWS)
        + int32(ROWS_NO_METADATA | ROWS_METADATA_CHANGED)
        + int32(2)
        + short(2)
        + b"id"
        + int32(0)
    )
    with pytest.raises(ProtocolError, match="have changed, but not how"):
        result(body, version=5)
    with pytest.raises(ProtocolError, match="have changed, but not how"):
        ResultMessage(RESULT_KIND_ROWS).recv_results_metadata(BytesIO(body[4:]), {})


def test_partition_key_indexes_without_a_marker_are_refused() -> None:
    body = (
        int32(RESULT_KIND_PREPARED)
        + short(2)
        + b"id"
        + int32(ROWS_GLOBAL_TABLES_SPEC)
        + int32(2)  # bind markers
        + int32(1)  # partition key indexes
        + short(2)
        + TWO_COLUMNS
        + NO_RESULT
    )
    with pytest.raises(ProtocolError, match=r"indexes \[2\] do not fit the 2 bind markers"):
        result(body, version=4)


def test_rows_are_decoded_by_built_in_and_other_row_factories() -> None:
    """The rows of a message can be decoded several times, with different row factories."""
    message = result(rows(ROWS_GLOBAL_TABLES_SPEC))
    assert message.decode(tuple_factory) == [(5, "five")]
    (named_row,) = message.decode(named_tuple_factory)
    assert named_row.a == 5
    assert named_row.b == "five"
    assert message.decode(dict_factory) == [{"a": 5, "b": "five"}]
    assert message.decode(ordered_dict_factory) == [{"a": 5, "b": "five"}]
    # An application's row factory is called with the names and the rows.
    names, rows_of_page = message.decode(lambda names, rows_of_page: (names, rows_of_page))
    assert names == ["a", "b"]
    assert rows_of_page == [(5, "five")]
    assert message.parsed_rows == [(5, "five")]


def test_a_wrapped_factory_is_called() -> None:
    """A row factory that wraps `dict_factory` is called, although it looks like `dict_factory`.

    `functools.wraps` copies the name of `dict_factory`, for which the driver has its own code.
    """
    import functools

    @functools.wraps(dict_factory)
    def upper_case_factory(names: Any, rows_of_page: Any) -> Any:
        return [
            {key.upper(): item for key, item in row.items()}
            for row in dict_factory(names, rows_of_page)
        ]

    message = result(rows(ROWS_GLOBAL_TABLES_SPEC))
    assert message.decode(upper_case_factory) == [{"A": 5, "B": "five"}]


def test_threads_get_the_same_list_of_rows() -> None:
    """Eight threads that read `parsed_rows` at the same time get the same list."""
    message = result(rows(ROWS_GLOBAL_TABLES_SPEC))
    start = threading.Barrier(8)
    pages_of_threads: list[Any] = []

    def read() -> None:
        start.wait(WAIT)
        pages_of_threads.append(message.parsed_rows)

    threads = [threading.Thread(target=read) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT)
    assert len(pages_of_threads) == 8
    assert all(parsed is pages_of_threads[0] for parsed in pages_of_threads)


def test_an_error_in_the_rows_is_kept_and_raised_each_time() -> None:
    """If rows cannot be decoded, the same error object is raised on each access.

    The error's traceback must not get longer with each access.
    """
    # A valid int has four bytes, not three.
    message = result(rows(ROWS_GLOBAL_TABLES_SPEC, content=int32(1) + value(b"123") + value(b"x")))
    with pytest.raises(DecodeError, match='row 0, column "a"') as first:
        _ = message.parsed_rows
    with pytest.raises(DecodeError) as second:
        message.decode(dict_factory)
    assert first.value is second.value
    frame_counts = set()
    for _ in range(20):
        with pytest.raises(DecodeError) as later:
            _ = message.parsed_rows
        assert later.value is first.value
        frame_counts.add(len(traceback.extract_tb(later.value.__traceback__)))
    assert len(frame_counts) == 1


def test_rows_behind_the_first_are_dropped() -> None:
    """`keep_first` keeps the given number of rows of a result, and drops the rows after them."""
    content = int32(2) + 2 * (value(int32(5)) + value(b"five"))
    message = result(rows(ROWS_GLOBAL_TABLES_SPEC, content=content))
    message.keep_first(1)
    assert message.row_count == 1
    assert message.rows_body[2] == 1
    assert message.parsed_rows == [(5, "five")]
    assert message.decode(tuple_factory) == [(5, "five")]


def test_equal_bytes_reuse_the_metadata_without_parsing() -> None:
    """If the metadata bytes equal the bytes of the cached metadata, the cached object is used.

    `cached` is the metadata of an earlier response.
    """
    first = result(rows(ROWS_GLOBAL_TABLES_SPEC))
    plan = first.metadata.row_plan
    second = result(
        rows(ROWS_GLOBAL_TABLES_SPEC | ROWS_HAS_MORE_PAGES, value(b"page")), cached=first.metadata
    )
    assert second.metadata is first.metadata
    assert second.metadata.row_plan is plan
    assert second.parsed_rows == [(5, "five")]


@pytest.mark.parametrize(
    "body",
    [
        rows(ROWS_GLOBAL_TABLES_SPEC, specs=TABLE + string("x") + short(0x0009) + SPEC_B),
        rows(ROWS_GLOBAL_TABLES_SPEC, specs=TABLE + SPEC_A + string("b") + short(0x0003)),
        rows(0, specs=TABLE + SPEC_A + TABLE + SPEC_B),
        rows(
            ROWS_GLOBAL_TABLES_SPEC,
            specs=TABLE + SPEC_A,
            count=1,
            content=int32(1) + value(int32(5)),
        ),
        rows(ROWS_GLOBAL_TABLES_SPEC, specs=TWO_COLUMNS + SPEC_A, count=3, content=int32(0)),
    ],
)
def test_different_metadata_bytes_are_parsed_again(body: bytes) -> None:
    """Cached metadata must not be used if names, types, tables or the number of columns differ."""
    first = result(rows(ROWS_GLOBAL_TABLES_SPEC))
    other = result(body, cached=first.metadata)
    assert other.metadata is not first.metadata
    assert other.metadata.columns == result(body).metadata.columns


def test_skipped_metadata_is_taken_from_the_prepared_statement() -> None:
    """If a response has no metadata, the metadata of the prepared statement is used.

    A server leaves out the metadata if the client asks for this in EXECUTE.
    """
    cached_metadata = result(rows(ROWS_GLOBAL_TABLES_SPEC)).metadata
    message = result(rows(ROWS_NO_METADATA, specs=b""), version=5, cached=cached_metadata)
    assert message.metadata is cached_metadata
    assert message.parsed_rows == [(5, "five")]
    with pytest.raises(ProtocolError, match="without metadata, and none is remembered"):
        result(rows(ROWS_NO_METADATA, specs=b""), version=5)
    # The cached metadata must have as many columns as the response announces.
    with pytest.raises(ProtocolError, match="3 columns came without metadata, but 2"):
        result(rows(ROWS_NO_METADATA, specs=b"", count=3), version=5, cached=cached_metadata)


def test_changed_metadata_is_used_at_once() -> None:
    """If a response has new metadata and a new id, both are used for its rows.

    The server sends them if a column was added to the table, for example.
    """
    # The client knows two columns, and the response has a third column: c, a bigint.
    cached_metadata = result(rows(ROWS_GLOBAL_TABLES_SPEC)).metadata
    three_columns = TWO_COLUMNS + string("c") + short(0x0002)
    content = int32(1) + value(int32(5)) + value(b"five") + value(b"\x00" * 7 + b"\x07")
    message = result(
        rows(
            ROWS_GLOBAL_TABLES_SPEC | ROWS_METADATA_CHANGED,
            short(3) + b"new",
            three_columns,
            content,
            3,
        ),
        version=5,
        cached=cached_metadata,
    )
    assert message.result_metadata_id == b"new"
    assert message.metadata.metadata_id == b"new"
    assert message.metadata.names == ("a", "b", "c")
    assert message.parsed_rows == [(5, "five", 7)]


def test_a_response_that_carries_metadata_is_decoded_by_it() -> None:
    """The rows of a response with metadata are decoded by this metadata, not by cached metadata.

    In version 5, responses to conditional statements have metadata without the flag for changed
    metadata.
    """
    cached_metadata = result(rows(ROWS_GLOBAL_TABLES_SPEC)).metadata
    specs = TABLE + string("[applied]") + short(0x0004)
    message = result(
        rows(ROWS_GLOBAL_TABLES_SPEC, specs=specs, content=int32(1) + value(b"\x01"), count=1),
        version=5,
        cached=cached_metadata,
    )
    assert message.result_metadata_id is None
    assert message.column_names == ["[applied]"]
    assert message.parsed_rows == [(True,)]


def test_paging_state_and_metadata_id_are_read_in_order() -> None:
    """The paging state precedes the metadata id, and both precede the columns."""
    flags = ROWS_GLOBAL_TABLES_SPEC | ROWS_HAS_MORE_PAGES | ROWS_METADATA_CHANGED
    message = result(rows(flags, value(b"page") + short(2) + b"id"), version=5)
    assert message.paging_state == b"page"
    assert message.result_metadata_id == b"id"
    assert message.parsed_rows == [(5, "five")]


# This is the metadata of a statement that returns two columns: the flags, the number of columns,
# and the columns.
RESULT_METADATA = int32(ROWS_GLOBAL_TABLES_SPEC) + int32(2) + TWO_COLUMNS


# This is the metadata of a statement that returns no rows: the flag "no metadata", and the number
# of columns.
NO_RESULT = int32(ROWS_NO_METADATA) + int32(0)


def test_prepared_version_3() -> None:
    """In version 3, a PREPARED result has neither partition key indexes nor a metadata id."""
    body = (
        int32(RESULT_KIND_PREPARED)
        + short(2)
        + b"id"
        + int32(ROWS_GLOBAL_TABLES_SPEC)
        # This is the number of bind markers.
        + int32(1)
        + TABLE
        + SPEC_A
        + RESULT_METADATA
    )
    message = result(body, version=3)
    assert message.kind == RESULT_KIND_PREPARED
    assert message.query_id == b"id"
    assert message.pk_indexes is None
    assert message.result_metadata_id is None
    assert [column.name for column in message.bind_metadata] == ["a"]
    assert message.result_metadata.names == ("a", "b")


def test_prepared_version_4() -> None:
    """From version 4 on, a PREPARED result must have the indexes of the partition key.

    The indexes are the positions of the bind markers for the partition key's columns.
    """
    body = (
        int32(RESULT_KIND_PREPARED)
        + short(2)
        + b"id"
        + int32(ROWS_GLOBAL_TABLES_SPEC)
        # This is the number of bind markers.
        + int32(2)
        # This is the number of partition key columns.
        + int32(2)
        # The partition key is bind marker 1, followed by bind marker 0.
        + short(1)
        + short(0)
        + TWO_COLUMNS
        + NO_RESULT
    )
    message = result(body, version=4)
    assert message.pk_indexes == [1, 0]
    assert len(message.result_metadata) == 0
    assert message.result_metadata.metadata_id is None


@pytest.mark.parametrize(
    ("version", "features"), [(5, None), (4, ProtocolFeatures(use_metadata_id=True))]
)
def test_prepared_with_a_metadata_id(version: int, features: Any) -> None:
    """A PREPARED result must have a metadata ID in version 5, or if it was negotiated."""
    body = (
        int32(RESULT_KIND_PREPARED)
        + short(2)
        + b"id"
        + short(3)
        + b"mid"
        + int32(ROWS_GLOBAL_TABLES_SPEC)
        # This is the number of bind markers.
        + int32(1)
        # This is the number of partition key columns.
        + int32(0)
        + TABLE
        + SPEC_A
        + RESULT_METADATA
    )
    message = result(body, version=version, features=features)
    assert message.query_id == b"id"
    assert message.result_metadata_id == b"mid"
    assert message.pk_indexes == []
    assert message.result_metadata.metadata_id == b"mid"
    assert message.column_metadata == list(message.result_metadata.columns)


def test_prepared_lightweight_transactions_are_marked() -> None:
    """ScyllaDB marks a prepared lightweight transaction with a flag, which SUPPORTED announces."""
    features = ProtocolFeatures(lwt_info=LwtInfo(0x80000000))
    # The second number is 0x80000001 as a signed 32-bit number, so it has the flag 0x80000000.
    for flags, expected in ((1, False), (-0x7FFFFFFF, True)):
        body = (
            int32(RESULT_KIND_PREPARED)
            + short(2)
            + b"id"
            + int32(flags)
            # This is the number of bind markers.
            + int32(1)
            # This is the number of partition key columns.
            + int32(0)
            + TABLE
            + SPEC_A
            + NO_RESULT
        )
        assert result(body, version=4, features=features).is_lwt is expected


def test_equal_columns_share_their_metadata() -> None:
    """Results with equal columns share a metadata object, even if their paging states differ.

    The cache key is the bytes of the columns.
    """
    first = result(rows(ROWS_GLOBAL_TABLES_SPEC))
    second = result(rows(ROWS_GLOBAL_TABLES_SPEC, content=int32(0)))
    assert second.metadata is first.metadata
    assert first.parsed_rows == [(5, "five")]
    assert second.parsed_rows == []
    with_table_for_each = result(rows(flags=0, specs=(TABLE + SPEC_A) + (TABLE + SPEC_B)))
    assert with_table_for_each.metadata is not first.metadata
    with_paging_state = result(rows(ROWS_GLOBAL_TABLES_SPEC | ROWS_HAS_MORE_PAGES, value(b"state")))
    assert with_paging_state.metadata.raw == first.metadata.raw
    assert with_paging_state.paging_state == b"state"


def test_cached_columns_are_read_again_after_a_type_was_registered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """If an application defines the class of a custom type, later results use this class.

    Without the class, values of an unknown custom type are bytes.
    """
    custom = TABLE + string("c") + short(0) + string("org.apache.cassandra.db.marshal.ReadLater")
    body = rows(ROWS_GLOBAL_TABLES_SPEC, specs=custom, content=int32(1) + value(b"x"), count=1)
    earlier_result = result(body)
    assert earlier_result.parsed_rows == [(b"x",)]

    class ReadLater(cqltypes.UTF8Type):
        """An application's type class, which registers itself by its name when it is defined."""

    assert result(body).metadata.types == [ReadLater]
    assert result(body).parsed_rows == [("x",)]
    monkeypatch.setattr(ReadLater, "deserialize", lambda data, version: "mine")
    assert result(body).parsed_rows == [("mine",)]
    # The earlier result has already decoded its rows, and keeps them.
    assert earlier_result.parsed_rows == [(b"x",)]


def test_a_lowered_limit_of_columns_applies_to_cached_metadata(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`limits.columns` is checked for each result, even if its metadata comes from the cache."""
    assert result(rows(ROWS_GLOBAL_TABLES_SPEC)).parsed_rows == [(5, "five")]
    monkeypatch.setattr(limits, "columns", 1)
    with pytest.raises(ProtocolError, match=r"2 columns, more than limits\.columns"):
        result(rows(ROWS_GLOBAL_TABLES_SPEC))
