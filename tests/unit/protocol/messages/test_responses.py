"""Responses, byte by byte from native_protocol_v3/v4/v5.spec, sections 4.2 and 8."""

from __future__ import annotations

import threading
import traceback
from typing import Any
from uuid import UUID

import pytest

from cassandra import cqltypes, errors
from cassandra.errors import DecodeError, ProtocolError, WriteType
from cassandra.protocol import ColumnMetadata, ResultMetadata
from cassandra.protocol import messages as _messages
from cassandra.protocol.features import LwtInfo, ProtocolFeatures
from cassandra.protocol.messages import errors as error_messages
from cassandra.protocol.messages.decode import decode_response
from cassandra.query.row_factories import (
    dict_factory,
    named_tuple_factory,
    ordered_dict_factory,
    tuple_factory,
)
from cassandra.versions import OperationType
from tests.unit.protocol.wire import byte, int32, short, string, string_list, string_multimap, value

assert _messages is not None

TABLE = string("ks") + string("t")
SPEC_A = string("a") + short(0x0009)
SPEC_B = string("b") + short(0x000D)
TWO_COLUMNS = TABLE + SPEC_A + SPEC_B
ONE_ROW = int32(1) + value(int32(5)) + value(b"five")


def rows(
    flags: int,
    extra: bytes = b"",
    specs: bytes = TWO_COLUMNS,
    content: bytes = ONE_ROW,
    count: int = 2,
) -> bytes:
    return int32(2) + int32(flags) + int32(count) + extra + specs + content


def result(body: bytes, version: int = 4, **more: Any) -> Any:
    return decode_response(8, 0, body, version, **more)


def test_void_and_set_keyspace() -> None:
    assert result(int32(1)).kind == 1
    assert result(int32(1)).parsed_rows is None
    assert result(int32(1)).decode(tuple_factory) == []
    message = result(int32(3) + string("ks"))
    assert (message.kind, message.new_keyspace, message.column_names) == (3, "ks", None)


@pytest.mark.parametrize("version", [3, 4, 5])
def test_rows(version: int) -> None:
    message = result(rows(1), version)
    assert message.kind == 2
    assert message.column_names == ["a", "b"]
    assert [kind.typename for kind in message.column_types] == ["int", "varchar"]
    assert message.column_metadata[0] == ColumnMetadata("ks", "t", "a", message.column_types[0])
    assert (message.row_count, message.paging_state, message.has_more_pages) == (1, None, False)
    assert message.parsed_rows == [(5, "five")]
    assert message.parsed_rows is message.parsed_rows
    assert (message.trace_id, message.warnings, message.custom_payload) == (None, None, None)


def test_rows_with_a_table_for_each_column() -> None:
    specs = string("k1") + string("t1") + SPEC_A + string("k2") + string("t2") + SPEC_B
    message = result(rows(0, b"", specs))
    assert [(c.keyspace_name, c.table_name, c.name) for c in message.metadata.columns] == [
        ("k1", "t1", "a"),
        ("k2", "t2", "b"),
    ]


def test_rows_with_more_pages() -> None:
    message = result(rows(3, value(b"\x01\x02")))
    assert message.paging_state == b"\x01\x02"
    assert message.has_more_pages
    assert message.parsed_rows == [(5, "five")]


def test_extras_come_in_their_order() -> None:
    trace = UUID("12345678-1234-5678-1234-567812345678")
    body = (
        trace.bytes
        + string_list(["careful", "slow"])
        + short(1)
        + string("k")
        + value(b"v")
        + rows(1)
    )
    message = decode_response(8, 0x0E, body, 4)
    assert (message.trace_id, message.warnings, message.custom_payload) == (
        trace,
        ["careful", "slow"],
        {"k": b"v"},
    )
    assert message.parsed_rows == [(5, "five")]
    assert decode_response(8, 0x08, string_list(["w"]) + int32(1), 4).warnings == ["w"]
    error = decode_response(0, 0x02, trace.bytes + int32(0x2200) + string("bad"), 4)
    assert error.trace_id == trace


def test_bytes_behind_a_message_are_ignored() -> None:
    assert result(rows(1) + b"more").parsed_rows == [(5, "five")]
    assert result(int32(1) + b"more").kind == 1
    assert decode_response(2, 0, b"more", 4).opcode == 2


def test_known_factories_and_others() -> None:
    message = result(rows(1))
    assert message.decode(tuple_factory) == [(5, "five")]
    (named,) = message.decode(named_tuple_factory)
    assert (named.a, named.b) == (5, "five")
    assert message.decode(dict_factory) == [{"a": 5, "b": "five"}]
    assert message.decode(ordered_dict_factory) == [{"a": 5, "b": "five"}]
    assert message.decode(lambda names, found: (names, found)) == (["a", "b"], [(5, "five")])
    assert message.parsed_rows == [(5, "five")]


def test_a_wrapped_factory_is_called() -> None:
    import functools

    @functools.wraps(dict_factory)
    def upper(names: Any, found: Any) -> Any:
        return [
            {key.upper(): item for key, item in row.items()} for row in dict_factory(names, found)
        ]

    assert result(rows(1)).decode(upper) == [{"A": 5, "B": "five"}]


def test_a_page_is_decoded_once_by_many_threads() -> None:
    decoded = []

    class Counts(cqltypes.Int32Type):  # type: ignore[misc, valid-type, name-defined, unused-ignore]
        @staticmethod
        def deserialize(data: bytes, protocol_version: int) -> int:
            decoded.append(data)
            return 5

    message = result(rows(1))
    columns = [ColumnMetadata("ks", "t", "a", Counts), message.metadata.columns[1]]
    message.metadata = ResultMetadata(columns)
    start = threading.Barrier(8)
    seen: list[Any] = []

    def read() -> None:
        start.wait(10)
        seen.append(message.parsed_rows)

    threads = [threading.Thread(target=read) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert len(seen) == 8
    assert all(found is seen[0] for found in seen)
    assert len(decoded) == 1


def test_an_error_in_the_rows_is_kept_and_raised_each_time() -> None:
    message = result(rows(1, content=int32(1) + value(b"123") + value(b"x")))
    with pytest.raises(DecodeError, match='row 0, column "a"') as first:
        _ = message.parsed_rows
    with pytest.raises(DecodeError) as second:
        message.decode(dict_factory)
    assert first.value is second.value
    # Each access raises it as it was first raised, without the frames of the accesses before.
    assert len(traceback.extract_tb(second.value.__traceback__)) <= 4
    for _ in range(20):
        with pytest.raises(DecodeError) as last:
            _ = message.parsed_rows
    assert len(traceback.extract_tb(last.value.__traceback__)) <= 4


# -- metadata: skipped, changed, compared ----------------------------------------------------------


def test_equal_bytes_reuse_the_metadata_without_parsing() -> None:
    first = result(rows(1))
    plan = first.metadata.row_plan
    second = result(rows(3, value(b"page")), cached=first.metadata)
    assert second.metadata is first.metadata
    assert second.metadata.row_plan is plan
    assert second.parsed_rows == [(5, "five")]


@pytest.mark.parametrize(
    "body",
    [
        rows(1, specs=TABLE + string("x") + short(0x0009) + SPEC_B),
        rows(1, specs=TABLE + SPEC_A + string("b") + short(0x0003)),
        rows(0, specs=TABLE + SPEC_A + TABLE + SPEC_B),
        rows(1, specs=TABLE + SPEC_A, count=1, content=int32(1) + value(int32(5))),
        rows(1, specs=TWO_COLUMNS + SPEC_A, count=3, content=int32(0)),
    ],
)
def test_other_bytes_are_parsed(body: bytes) -> None:
    first = result(rows(1))
    other = result(body, cached=first.metadata)
    assert other.metadata is not first.metadata
    assert other.metadata.columns == result(body).metadata.columns


def test_skipped_metadata_is_taken_from_the_prepared_statement() -> None:
    remembered = result(rows(1)).metadata
    message = result(rows(4, specs=b""), 5, cached=remembered)
    assert message.metadata is remembered
    assert message.parsed_rows == [(5, "five")]
    with pytest.raises(ProtocolError, match="without metadata, and none is remembered"):
        result(rows(4, specs=b""), 5)
    with pytest.raises(ProtocolError, match="3 columns came without metadata, but 2"):
        result(rows(4, specs=b"", count=3), 5, cached=remembered)


def test_changed_metadata_is_used_at_once() -> None:
    remembered = result(rows(1)).metadata
    wider = TWO_COLUMNS + string("c") + short(0x0002)
    content = int32(1) + value(int32(5)) + value(b"five") + value(b"\x00" * 7 + b"\x07")
    message = result(rows(9, short(3) + b"new", wider, content, 3), 5, cached=remembered)
    assert message.result_metadata_id == b"new"
    assert message.metadata.metadata_id == b"new"
    assert message.metadata.names == ("a", "b", "c")
    assert message.parsed_rows == [(5, "five", 7)]


def test_a_response_that_carries_metadata_is_decoded_by_it() -> None:
    """Conditional statements on version 5 carry it without the changed flag."""
    remembered = result(rows(1)).metadata
    specs = TABLE + string("[applied]") + short(0x0004)
    message = result(
        rows(1, specs=specs, content=int32(1) + value(b"\x01"), count=1), 5, cached=remembered
    )
    assert message.result_metadata_id is None
    assert message.column_names == ["[applied]"]
    assert message.parsed_rows == [(True,)]


def test_more_pages_changed_metadata_and_state_in_their_order() -> None:
    message = result(rows(0x0B, value(b"page") + short(2) + b"id"), 5)
    assert (message.paging_state, message.result_metadata_id, message.parsed_rows) == (
        b"page",
        b"id",
        [(5, "five")],
    )


UDT = (
    short(0x30)
    + string("ks")
    + string("pair")
    + short(2)
    + string("x")
    + short(9)
    + string("y")
    + short(13)
)


def test_user_types_are_those_of_the_moment_of_arrival() -> None:
    class Pair:
        def __init__(self, x: Any, y: Any) -> None:
            self.x, self.y = x, y

    body = rows(
        1,
        specs=TABLE + string("p") + UDT,
        content=int32(1) + value(value(int32(1)) + value(b"one")),
        count=1,
    )
    registered = {"ks": {"pair": Pair}}
    plain = result(body)
    assert plain.parsed_rows[0][0] == (1, "one")
    mapped = result(body, user_types=registered, cached=plain.metadata)
    assert type(mapped.parsed_rows[0][0]) is Pair
    assert result(body, user_types=registered, cached=mapped.metadata).metadata is mapped.metadata
    skipped = rows(4, specs=b"", content=int32(1) + value(value(int32(1)) + value(b"one")), count=1)
    assert (
        type(result(skipped, 5, user_types=registered, cached=plain.metadata).parsed_rows[0][0])
        is Pair
    )
    # One session's registration is not another's.
    assert type(result(body).parsed_rows[0][0]) is type(plain.parsed_rows[0][0])
    assert type(result(body, cached=mapped.metadata).parsed_rows[0][0]) is not Pair


MARSHAL = "org.apache.cassandra.db.marshal."
PAIR_CLASS = (
    f"{MARSHAL}UserType(ks,{b'pair'.hex()},{b'x'.hex()}:{MARSHAL}Int32Type,"
    f"{b'y'.hex()}:{MARSHAL}UTF8Type)"
)
PAIR_VALUE = value(int32(1)) + value(b"one")


@pytest.mark.parametrize(
    ("name", "data", "inner"),
    [
        (PAIR_CLASS, PAIR_VALUE, lambda found: found),
        (
            f"{MARSHAL}VectorType({PAIR_CLASS} , 1)",
            bytes([len(PAIR_VALUE)]) + PAIR_VALUE,
            lambda found: found[0],
        ),
        (
            f"{MARSHAL}FrozenType({MARSHAL}ListType({PAIR_CLASS}))",
            int32(1) + value(PAIR_VALUE),
            lambda found: found[0],
        ),
        (
            f"{MARSHAL}TupleType({MARSHAL}Int32Type,{PAIR_CLASS})",
            value(None) + value(PAIR_VALUE),
            lambda found: found[1],
        ),
        (
            f"{MARSHAL}UserType(ks,{b'outer'.hex()},{b'p'.hex()}:{PAIR_CLASS})",
            value(PAIR_VALUE),
            lambda found: found.p,
        ),
    ],
)
def test_user_types_inside_a_custom_type_get_their_classes(
    name: str, data: bytes, inner: Any
) -> None:
    class Pair:
        def __init__(self, x: Any, y: Any) -> None:
            self.x, self.y = x, y

    body = rows(
        1,
        specs=TABLE + string("p") + short(0) + string(name),
        content=int32(1) + value(data),
        count=1,
    )
    registered = {"ks": {"pair": Pair}}
    plain = result(body)
    assert inner(plain.parsed_rows[0][0]) == (1, "one")
    mapped = result(body, user_types=registered, cached=plain.metadata)
    assert type(inner(mapped.parsed_rows[0][0])) is Pair
    assert (
        mapped.column_types[0].cql_parameterized_type()
        == plain.column_types[0].cql_parameterized_type()
    )
    assert result(body, user_types=registered, cached=mapped.metadata).metadata is mapped.metadata
    # One session's registration is not another's.
    assert inner(result(body).parsed_rows[0][0]) == (1, "one")


@pytest.mark.parametrize(
    "name",
    [
        "ListType", "MapType", "VectorType", "FrozenType", "ReversedType",
        "VectorType(VectorType,2)", "ListType(SetType)",
        "UserType(ks,61,62:ListType)", "VectorType(UTF8Type,99999999999999999999)",
        "MapType(UTF8Type)", "(", "a(b",
    ],
)  # fmt: skip
def test_a_custom_type_without_its_parameters_is_an_error_of_the_message(name: str) -> None:
    body = rows(1, specs=TABLE + string("c") + short(0) + string(name), content=int32(0), count=1)
    with pytest.raises(ProtocolError, match="cannot be understood"):
        result(body)
    prepared = (
        int32(4)
        + short(1)
        + b"i"
        + int32(1)
        + int32(1)
        + int32(0)
        + TABLE
        + string("c")
        + short(0)
        + string(name)
    )
    with pytest.raises(ProtocolError, match="cannot be understood"):
        result(prepared)


def test_an_error_shows_the_beginning_of_a_long_type_name() -> None:
    body = rows(
        1,
        specs=TABLE + string("c") + short(0) + string("ListType(" * 7000),
        content=int32(0),
        count=1,
    )
    with pytest.raises(ProtocolError, match=r"ListType\(\.*") as caught:
        result(body)
    assert len(str(caught.value)) < 1000


def test_every_type_code() -> None:
    codes = {
        0x0001: "ascii", 0x0002: "bigint", 0x0003: "blob", 0x0004: "boolean", 0x0005: "counter",
        0x0006: "decimal",
        0x0007: "double", 0x0008: "float", 0x0009: "int", 0x000B: "timestamp", 0x000C: "uuid",
        0x000D: "varchar",
        0x000E: "varint", 0x000F: "timeuuid", 0x0010: "inet", 0x0011: "date", 0x0012: "time",
        0x0013: "smallint",
        0x0014: "tinyint", 0x0015: "duration",
    }  # fmt: skip
    composed = {
        short(0x20) + short(9): "list<int>",
        short(0x22) + short(0x20) + short(13): "set<list<varchar>>",
        short(0x21) + short(9) + short(13): "map<int, varchar>",
        short(0x31) + short(2) + short(9) + short(13): "tuple<int, varchar>",
        short(0) + string("org.apache.cassandra.db.marshal.Int32Type"): "int",
        short(0)
        + string(
            "org.apache.cassandra.db.marshal.VectorType(org.apache.cassandra.db.marshal.FloatType, "
            "3)"
        ): ("vector<float, 3>"),
    }
    options = {short(code): name for code, name in codes.items()} | composed
    specs = TABLE + b"".join(string(f"c{index}") + option for index, option in enumerate(options))
    message = result(rows(1, specs=specs, content=int32(0), count=len(options)))
    found = [kind.cql_parameterized_type().replace("frozen<", "") for kind in message.column_types]
    assert [name.replace(">", "") for name in found] == [
        name.replace(">", "") for name in options.values()
    ]


# -- PREPARED --------------------------------------------------------------------------------------

RESULT_METADATA = int32(1) + int32(2) + TWO_COLUMNS
NO_RESULT = int32(4) + int32(0)


def test_prepared_version_3() -> None:
    body = int32(4) + short(2) + b"id" + int32(1) + int32(1) + TABLE + SPEC_A + RESULT_METADATA
    message = result(body, 3)
    assert (message.kind, message.query_id, message.pk_indexes, message.result_metadata_id) == (
        4,
        b"id",
        None,
        None,
    )
    assert [column.name for column in message.bind_metadata] == ["a"]
    assert message.result_metadata.names == ("a", "b")


def test_prepared_version_4() -> None:
    body = (
        int32(4)
        + short(2)
        + b"id"
        + int32(1)
        + int32(2)
        + int32(2)
        + short(1)
        + short(0)
        + TWO_COLUMNS
        + NO_RESULT
    )
    message = result(body, 4)
    assert message.pk_indexes == [1, 0]
    assert len(message.result_metadata) == 0
    assert message.result_metadata.metadata_id is None


@pytest.mark.parametrize(
    ("version", "features"), [(5, None), (4, ProtocolFeatures(use_metadata_id=True))]
)
def test_prepared_with_a_metadata_id(version: int, features: Any) -> None:
    body = (
        int32(4)
        + short(2)
        + b"id"
        + short(3)
        + b"mid"
        + int32(1)
        + int32(1)
        + int32(0)
        + TABLE
        + SPEC_A
        + RESULT_METADATA
    )
    message = result(body, version, features=features)
    assert (message.query_id, message.result_metadata_id, message.pk_indexes) == (b"id", b"mid", [])
    assert message.result_metadata.metadata_id == b"mid"
    assert message.column_metadata == list(message.result_metadata.columns)


def test_prepared_lightweight_transactions_are_marked() -> None:
    features = ProtocolFeatures(lwt_info=LwtInfo(0x80000000))
    for flags, expected in ((1, False), (-0x7FFFFFFF, True)):
        body = (
            int32(4)
            + short(2)
            + b"id"
            + int32(flags)
            + int32(1)
            + int32(0)
            + TABLE
            + SPEC_A
            + NO_RESULT
        )
        assert result(body, 4, features=features).is_lwt is expected


# -- the other messages ----------------------------------------------------------------------------


def test_control_messages() -> None:
    assert type(decode_response(2, 0, b"", 4)).__name__ == "ReadyMessage"
    assert decode_response(3, 0, string("org.Auth"), 4).authenticator == "org.Auth"
    assert decode_response(0x0E, 0, value(b"tok"), 4).challenge == b"tok"
    assert decode_response(0x0E, 0, value(None), 4).challenge is None
    assert decode_response(0x10, 0, value(b"tok"), 4).token == b"tok"
    supported = decode_response(
        6, 0, string_multimap({"CQL_VERSION": ["3.4.7"], "COMPRESSION": ["lz4", "snappy"]}), 4
    )
    assert (supported.cql_versions, supported.options) == (
        ["3.4.7"],
        {"COMPRESSION": ["lz4", "snappy"]},
    )


SCHEMA_CHANGES = [
    (
        string("CREATED") + string("KEYSPACE") + string("k"),
        {"change_type": "CREATED", "target_type": "KEYSPACE", "keyspace": "k"},
    ),
    (
        string("UPDATED") + string("TABLE") + string("k") + string("t"),
        {"change_type": "UPDATED", "target_type": "TABLE", "keyspace": "k", "table": "t"},
    ),
    (
        string("DROPPED") + string("TYPE") + string("k") + string("u"),
        {"change_type": "DROPPED", "target_type": "TYPE", "keyspace": "k", "type": "u"},
    ),
]


@pytest.mark.parametrize(("data", "expected"), SCHEMA_CHANGES)
def test_schema_changes(data: bytes, expected: dict[str, str]) -> None:
    assert result(int32(5) + data).schema_change_event == expected
    event = decode_response(12, 0, string("SCHEMA_CHANGE") + data, 4)
    assert (event.event_type, event.event_args) == ("SCHEMA_CHANGE", expected)


@pytest.mark.parametrize("target", ["FUNCTION", "AGGREGATE"])
def test_schema_changes_of_functions(target: str) -> None:
    data = (
        string("CREATED")
        + string(target)
        + string("k")
        + string("f")
        + string_list(["int", "text"])
    )
    event = result(int32(5) + data).schema_change_event
    assert event[target.lower()].signature == "f(int,text)"


@pytest.mark.parametrize(
    ("data", "args"),
    [
        (
            string("TOPOLOGY_CHANGE")
            + string("NEW_NODE")
            + byte(4)
            + b"\x7f\x00\x00\x01"
            + int32(9042),
            {"change_type": "NEW_NODE", "address": ("127.0.0.1", 9042)},
        ),
        (
            string("STATUS_CHANGE") + string("DOWN") + byte(16) + bytes(15) + b"\x01" + int32(9042),
            {"change_type": "DOWN", "address": ("::1", 9042)},
        ),
        (
            string("CLIENT_ROUTES_CHANGE")
            + string("UPDATE_NODES")
            + string_list(["c"])
            + string_list(["h1", "h2"]),
            {"change_type": "UPDATE_NODES", "connection_ids": ["c"], "host_ids": ["h1", "h2"]},
        ),
    ],
)
def test_events(data: bytes, args: dict[str, Any]) -> None:
    event = decode_response(12, 0, data, 4)
    assert event.event_args == args


# -- ERROR -----------------------------------------------------------------------------------------

RESPONSES = short(6) + int32(1) + int32(2)
REASONS = (
    int32(2)
    + byte(4)
    + b"\x7f\x00\x00\x01"
    + short(1)
    + byte(16)
    + bytes(15)
    + b"\x01"
    + short(0x1234)
)

ERRORS: list[tuple[int, int, bytes, str, Any, Any]] = [
    (0x0000, 4, b"", "ServerError", None, None),
    (0x000A, 4, b"", "ProtocolException", None, None),
    (0x0100, 4, b"", "BadCredentials", None, errors.AuthenticationFailed),
    (0x1000, 4, RESPONSES, "UnavailableErrorMessage",
     {"consistency": 6, "required_replicas": 1, "alive_replicas": 2}, errors.Unavailable),
    (0x1001, 4, b"", "OverloadedErrorMessage", None, None),
    (0x1002, 4, b"", "IsBootstrappingErrorMessage", None, None),
    (0x1003, 4, b"", "TruncateError", None, None),
    (0x1100, 4, RESPONSES + string("BATCH_LOG"), "WriteTimeoutErrorMessage",
     {"consistency": 6, "received_responses": 1, "required_responses": 2,
     "write_type": WriteType.BATCH_LOG},
     errors.WriteTimeout),
    (0x1100, 5, RESPONSES + string("CAS") + short(3), "WriteTimeoutErrorMessage",
     {"consistency": 6, "received_responses": 1, "required_responses": 2,
     "write_type": WriteType.CAS, "contentions": 3},
     errors.WriteTimeout),
    (0x1100, 5, RESPONSES + string("NEWER"), "WriteTimeoutErrorMessage",
     {"consistency": 6, "received_responses": 1, "required_responses": 2, "write_type": "NEWER"},
     errors.WriteTimeout),
    (0x1200, 4, RESPONSES + byte(1), "ReadTimeoutErrorMessage",
     {"consistency": 6, "received_responses": 1, "required_responses": 2, "data_retrieved": True},
     errors.ReadTimeout),
    (0x1300, 4, RESPONSES + int32(3) + byte(0), "ReadFailureMessage",
     {"consistency": 6, "received_responses": 1, "required_responses": 2, "failures": 3,
     "data_retrieved": False},
     errors.ReadFailure),
    (0x1300, 5, RESPONSES + REASONS + byte(0), "ReadFailureMessage",
     {"consistency": 6, "received_responses": 1, "required_responses": 2, "failures": 2,
     "data_retrieved": False,
      "error_code_map": {"127.0.0.1": 1, "::1": 0x1234}}, errors.ReadFailure),
    (0x1400, 4, string("k") + string("f") + string_list(["int"]), "FunctionFailureMessage",
     {"keyspace": "k", "function": "f", "arg_types": ["int"]}, errors.FunctionFailure),
    (0x1500, 4, RESPONSES + int32(3) + string("SIMPLE"), "WriteFailureMessage",
     {"consistency": 6, "received_responses": 1, "required_responses": 2, "failures": 3,
     "write_type": 0},
     errors.WriteFailure),
    (0x1500, 5, RESPONSES + REASONS + string("VIEW"), "WriteFailureMessage",
     {"consistency": 6, "received_responses": 1, "required_responses": 2, "failures": 2,
     "write_type": 6,
      "error_code_map": {"127.0.0.1": 1, "::1": 0x1234}}, errors.WriteFailure),
    (0x1600, 4, b"", "CDCWriteException", None, errors.CDCWriteFailure),
    (0x1700, 5, RESPONSES, "CASWriteUnknownMessage",
     {"consistency": 6, "received_responses": 1, "required_responses": 2},
     errors.RequestExecutionException),
    (0x2000, 4, b"", "SyntaxException", None, errors.RequestValidationException),
    (0x2100, 4, b"", "UnauthorizedErrorMessage", None, errors.Unauthorized),
    (0x2200, 4, b"", "InvalidRequestException", None, errors.InvalidRequest),
    (0x2300, 4, b"", "ConfigurationException", None, errors.ConfigurationException),
    (0x2400, 4, string("k") + string("t"), "AlreadyExistsException",
    {"keyspace": "k", "table": "t"}, errors.AlreadyExists),
    (0x2400, 4, string("k") + string(""), "AlreadyExistsException",
    {"keyspace": "k", "table": None}, errors.AlreadyExists),
    (0x2500, 4, short(2) + b"id", "PreparedQueryNotFound", b"id", None),
    (0x7777, 4, b"", "ErrorMessage", None, None),
]  # fmt: skip


@pytest.mark.parametrize(("code", "version", "fields", "name", "info", "exception"), ERRORS)
def test_errors(
    code: int, version: int, fields: bytes, name: str, info: Any, exception: Any
) -> None:
    message = decode_response(0, 0, int32(code) + string("why") + fields, version)
    assert type(message).__name__ == name
    assert type(message).__module__ == "cassandra.protocol"
    assert (message.code, message.message, message.info) == (code, "why", info)
    assert (
        message.summary_msg()
        == f'Error from server: code={code:04x} [{message.summary}] message="why"'
    )
    raised = message.to_exception()
    if exception is None:
        assert raised is message
    else:
        assert isinstance(raised, exception)
        assert isinstance(info, bytes) or all(
            getattr(raised, key, item) == item for key, item in (info or {}).items()
        )


def test_rate_limit_errors_have_the_code_that_was_agreed_on() -> None:
    features = ProtocolFeatures(rate_limit_error=0x4321)
    body = int32(0x4321) + string("slow down") + byte(1) + byte(1)
    message = decode_response(0, 0, body, 4, features)
    assert message.info == {"op_type": OperationType.Write, "rejected_by_coordinator": True}
    assert isinstance(message.to_exception(), errors.RateLimitReached)
    assert type(decode_response(0, 0, body, 4)).__name__ == "ErrorMessage"


def test_every_error_class_is_registered() -> None:
    assert set(error_messages.error_classes) >= {code for code, *_ in ERRORS if code != 0x7777}


# -- malformed -------------------------------------------------------------------------------------

WHOLE = [
    (8, rows(3, value(b"page"))[: -len(ONE_ROW) + 4], 4),
    (8, int32(3) + string("ks"), 4),
    (
        8,
        int32(4)
        + short(2)
        + b"id"
        + int32(1)
        + int32(2)
        + int32(1)
        + short(1)
        + TWO_COLUMNS
        + RESULT_METADATA[:-1],
        4,
    ),
    (8, int32(5) + SCHEMA_CHANGES[1][0], 4),
    (6, string_multimap({"A": ["b"]}), 4),
    (3, string("auth"), 4),
    (0x0E, value(b"token"), 4),
    (12, string("STATUS_CHANGE") + string("UP") + byte(4) + b"\x7f\x00\x00\x01" + int32(1), 4),
    *[
        (0, int32(code) + string("why") + fields, version)
        for code, version, fields, _, _, _ in ERRORS
        if code != 0x1100
    ],
]


@pytest.mark.parametrize(("opcode", "body", "version"), WHOLE)
def test_every_cut_of_a_message_is_one_error(opcode: int, body: bytes, version: int) -> None:
    for size in range(len(body)):
        if opcode == 8 and body[:4] == int32(4) and size == len(body) - len(RESULT_METADATA) + 1:
            continue  # a PREPARED without result metadata is whole
        with pytest.raises(ProtocolError):
            decode_response(opcode, 0, body[:size], version)


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
    with pytest.raises(ProtocolError, match=match):
        decode_response(opcode, flags, body, 5 if opcode == 0 else 4)
