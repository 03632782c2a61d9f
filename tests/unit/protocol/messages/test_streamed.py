"""Subclasses of `ResultMessage` may override methods that read a response from a file.

Applications that were written for cassandra-driver have such subclasses.
"""

from __future__ import annotations

import functools
import io
from collections.abc import Callable
from typing import Any, BinaryIO

import pytest

from cassandra import cqltypes as t
from cassandra.errors import ProtocolError
from cassandra.protocol import ResultMessage, read_int, read_string
from cassandra.protocol.column_specs import ColumnMetadata
from cassandra.protocol.features import ProtocolFeatures
from cassandra.protocol.messages.base import MessageType
from cassandra.protocol.messages.errors import ErrorMessage
from cassandra.protocol.messages.streamed import call_reader, reads_by_itself
from cassandra.protocol.opcodes import (
    RESULT_KIND_PREPARED,
    RESULT_KIND_ROWS,
    RESULT_KIND_SET_KEYSPACE,
    RESULT_KIND_VOID,
)
from tests.unit.drop_in.test_tracers import Proxy
from tests.unit.protocol.wire import int32, short, string, value

# These are flags of the metadata of rows (native_protocol_v5.spec, section 4.2.5.2).
GLOBAL_TABLES_SPEC, HAS_MORE_PAGES, NO_METADATA, METADATA_CHANGED = 0x1, 0x2, 0x4, 0x8
# These are codes of types (section 4.2.5.2).
INT, VARCHAR, UDT = short(0x0009), short(0x000D), short(0x0030)
TABLE = string("ks") + string("t")
COLUMNS = string("a") + INT + string("b") + VARCHAR
A = ColumnMetadata("ks", "t", "a", t.Int32Type)
B = ColumnMetadata("ks", "t", "b", t.VarcharType)
# The rows of a RESULT after its metadata: their count, and an int and a text for each row.
TWO_ROWS = int32(2) + value(int32(1)) + value(b"one") + value(int32(2)) + value(None)
DECODED = [(1, "one"), (2, None)]


def rows_body(
    metadata: bytes = TABLE + COLUMNS, flags: int = GLOBAL_TABLES_SPEC, rows: bytes = TWO_ROWS
) -> bytes:
    """Return the body of a RESULT of rows with two columns."""
    column_count = 2
    return int32(RESULT_KIND_ROWS) + int32(flags) + int32(column_count) + metadata + rows


def read(
    body: bytes, result_class: Any = ResultMessage, *rest: Any, version: int = 5
) -> ResultMessage:
    """Read a message like the driver does for an application's class; no byte may be left over.

    :param rest: the further arguments of `recv_body`: by default, no user types, no columns of a
        prepared statement, and no policy of encrypted columns.
    """
    f = io.BytesIO(body)
    message: ResultMessage = result_class.recv_body(f, version, *(rest or ({}, None, None)))
    assert f.read() == b""
    return message


class PlainResult(ResultMessage):
    """A subclass that overrides nothing."""


# -- rows ------------------------------------------------------------------------------------------


def test_rows_are_decoded_by_the_columns_of_the_response() -> None:
    """Rows are decoded by the columns of the response if there is no prepared statement."""
    message = read(rows_body())
    assert message.kind == RESULT_KIND_ROWS
    assert message.row_count == 2
    assert message.column_metadata == [A, B]
    assert message.paging_state is None
    assert message.result_metadata_id is None
    assert message.parsed_rows == DECODED


def test_a_type_is_read_from_the_position_of_the_file() -> None:
    """`read_type` reads a type at the current position of the file, and leaves the rest unread.

    An overriding method of an application continues to read after the type.
    """
    list_of_int = short(0x0020) + INT
    f = io.BytesIO(b"read" + list_of_int + INT + b"rest")
    f.seek(4)
    assert ResultMessage.read_type(f, {}) is t.lookup_casstype("ListType(Int32Type)")
    assert f.tell() == 4 + len(list_of_int)
    assert ResultMessage.read_type(f, {}) is t.Int32Type
    assert f.read() == b"rest"


def test_each_column_may_name_its_own_table() -> None:
    """Without the flag Global_tables_spec, the keyspace and table precede each column."""
    specs = TABLE + string("a") + INT + string("ks2") + string("t2") + string("b") + VARCHAR
    message = read(rows_body(specs, flags=0))
    assert message.column_metadata == [A, ("ks2", "t2", "b", t.VarcharType)]
    assert message.parsed_rows == DECODED


def test_paging_state_and_metadata_id_precede_the_columns() -> None:
    """The paging state and the new metadata id precede the columns, and both are in the message."""
    message = read(
        rows_body(
            value(b"page") + short(3) + b"new" + TABLE + COLUMNS,
            GLOBAL_TABLES_SPEC | HAS_MORE_PAGES | METADATA_CHANGED,
        )
    )
    assert message.paging_state == b"page"
    assert message.result_metadata_id == b"new"
    assert message.column_metadata == [A, B]
    assert message.parsed_rows == DECODED


def test_a_truncated_metadata_id_is_refused() -> None:
    """If the response ends inside the metadata id, reading it raises ProtocolError."""
    body = rows_body(short(30) + b"new", GLOBAL_TABLES_SPEC | METADATA_CHANGED)
    with pytest.raises(ProtocolError):
        read(body[: body.index(b"new") + 3])


@pytest.mark.parametrize("columns", [[A, B], [(*A, "more"), (*B, "more")]])
def test_columns_of_the_prepared_statement_are_used_if_the_response_has_none(columns: Any) -> None:
    """A response without columns is decoded by the prepared statement's columns.

    The prepared statement's columns may be any tuples: only their first four items are used.
    """
    message = read(rows_body(b"", NO_METADATA), PlainResult, {}, columns, None)
    assert message.column_metadata is None
    assert message.parsed_rows == DECODED


def test_columns_of_the_response_precede_those_of_the_prepared_statement() -> None:
    """If the response has columns, they are used instead of the prepared statement's columns."""
    other_columns = [A._replace(name="x"), B._replace(type=t.BytesType)]
    message = read(rows_body(), PlainResult, {}, other_columns, None)
    assert message.column_names == ["a", "b"]
    assert message.parsed_rows == DECODED


def test_a_result_without_rows_may_have_no_columns() -> None:
    """A result without columns and without rows can be read."""
    assert read(rows_body(b"", NO_METADATA, int32(0))).parsed_rows == []


def test_a_negative_count_of_rows_is_refused() -> None:
    """A negative row count raises ProtocolError."""
    with pytest.raises(ProtocolError, match="a result of -1 rows"):
        read(rows_body(rows=int32(-1)))


def test_results_without_rows() -> None:
    """VOID, SET_KEYSPACE and PREPARED results are read by the same method, `recv_body`."""
    assert read(int32(RESULT_KIND_VOID)).kind == RESULT_KIND_VOID
    assert read(int32(RESULT_KIND_SET_KEYSPACE) + string("ks")).new_keyspace == "ks"
    # The flags, and the numbers of bind markers and of partition key columns, are all 0.
    no_markers = int32(0) * 3
    no_result_columns = int32(NO_METADATA) + int32(0)
    prepared = int32(RESULT_KIND_PREPARED) + short(2) + b"id" + short(1) + b"m"
    prepared += no_markers + no_result_columns
    assert (read(prepared).query_id, read(prepared).result_metadata_id) == (b"id", b"m")
    # In version 4, there is no id of the result's metadata.
    prepared = int32(RESULT_KIND_PREPARED) + short(2) + b"id" + no_markers + no_result_columns
    assert read(prepared, version=4).query_id == b"id"


# -- overridden methods ----------------------------------------------------------------------------


class Street:
    """The class that an application has registered for a user-defined type."""

    def __init__(self, name: str) -> None:
        self.name = name


UDT_COLUMN = (
    string("a") + UDT + string("ks") + string("street") + short(1) + string("name") + VARCHAR
)


class WithReadType(ResultMessage):
    """Overrides the method that reads a type, so the driver must read each column from the file."""

    seen: list[Any] = []

    @classmethod
    def read_type(cls, f: BinaryIO, user_type_map: Any) -> Any:
        cqltype = super().read_type(f, user_type_map)
        cls.seen.append(cqltype)
        return cqltype


@pytest.mark.parametrize("result_class", [PlainResult, WithReadType])
def test_user_types_get_the_registered_class(result_class: Any) -> None:
    """Values of a user-defined type are converted to the registered class.

    The first argument of `recv_body` after the version has the registered classes by keyspace and
    type.
    """
    row = int32(1) + value(value(b"Main Street")) + value(b"one")
    body = rows_body(TABLE + UDT_COLUMN + string("b") + VARCHAR, rows=row)
    message: Any = read(body, result_class, {"ks": {"street": Street}}, None, None)
    ((street, text),) = message.parsed_rows
    assert type(street) is Street
    assert street.name == "Main Street"
    assert text == "one"
    # Without a registered class, values of a user-defined type are named tuples.
    message = read(body, result_class)
    assert type(message.parsed_rows[0][0]) is not Street


@pytest.mark.parametrize(
    ("specs", "flags", "expected"),
    [
        (TABLE + COLUMNS, GLOBAL_TABLES_SPEC, [A, B]),
        (
            TABLE + string("a") + INT + string("ks2") + string("t2") + string("b") + VARCHAR,
            0,
            [A, ColumnMetadata("ks2", "t2", "b", t.VarcharType)],
        ),
    ],
    ids=["one table", "several tables"],
)
def test_read_type_is_called_for_each_column(specs: bytes, flags: int, expected: Any) -> None:
    """An overridden `read_type` is called for each column."""
    WithReadType.seen = []
    message = read(rows_body(specs, flags), WithReadType)
    assert WithReadType.seen == [t.Int32Type, t.VarcharType]
    assert message.column_metadata == expected
    assert message.parsed_rows == DECODED


class HexType(t.Int32Type):
    @classmethod
    def deserialize(cls, byts: bytes, protocol_version: int) -> Any:
        return hex(super().deserialize(byts, protocol_version))


class WithTypeCodes(ResultMessage):
    """Uses another class, HexType, for the type code of int."""

    type_codes = {**ResultMessage.type_codes, 0x09: HexType}


class WithTypeCodesAndReadType(WithReadType):
    type_codes = WithTypeCodes.type_codes


@pytest.mark.parametrize("result_class", [WithTypeCodes, WithTypeCodesAndReadType])
def test_type_codes_choose_the_classes_of_types(result_class: Any) -> None:
    """`type_codes` of a subclass determines the class of each type."""
    assert read(rows_body(), result_class).parsed_rows == [("0x1", "one"), ("0x2", None)]


class WithRecvRow(ResultMessage):
    """Reads each row, and removes the last byte of the row's second value."""

    @staticmethod
    def recv_row(f: BinaryIO, colcount: int) -> Any:
        """Read a row, and remove the last character of its second value."""
        first, second = ResultMessage.recv_row(f, colcount)
        return first, second and second[:-1]


def test_values_of_an_overridden_recv_row_are_decoded() -> None:
    """If a subclass overrides `recv_row`, the values that it returns are decoded."""
    assert read(rows_body(), WithRecvRow).parsed_rows == [(1, "on"), (2, None)]


class WithMetadata(ResultMessage):
    """Reads the metadata, and an additional string that follows the metadata."""

    def recv_results_metadata(self, f: BinaryIO, user_type_map: Any) -> None:
        super().recv_results_metadata(f, user_type_map)
        self.own_field = read_string(f)


def test_each_method_leaves_the_file_after_what_it_read() -> None:
    """An overriding method can read further fields after the fields that the base class reads."""
    message: Any = read(rows_body(TABLE + COLUMNS + string("own")), WithMetadata)
    assert message.own_field == "own"
    assert message.parsed_rows == DECODED
    f = io.BytesIO(INT + b"rest")
    assert ResultMessage.read_type(f, user_type_map={}) is t.Int32Type
    assert f.read() == b"rest"


class WithRecv(ResultMessage):
    """Overrides `recv`, which reads everything after the kind."""

    def recv(self, f: BinaryIO, protocol_version: int, *rest: Any) -> None:
        self.arguments = (protocol_version, *rest)
        self.content = f.read()


def test_recv_reads_everything_after_the_kind() -> None:
    """An overridden `recv` gets all bytes of the body after the kind."""
    user_types: Any = {"ks": {}}
    body = int32(RESULT_KIND_ROWS) + b"content"
    message: Any = read(body, WithRecv, user_types, [A], "policy", version=4)
    assert message.kind == RESULT_KIND_ROWS
    assert message.content == b"content"
    assert message.arguments == (4, user_types, [A], "policy")


def test_missing_arguments_are_none() -> None:
    """`recv` gets None for arguments that the caller leaves out, as older applications do."""
    message: Any = read(int32(RESULT_KIND_ROWS), WithRecv, {"ks": {}})
    assert message.arguments == (5, {"ks": {}}, None, None)


def test_features_may_precede_the_other_arguments() -> None:
    """`recv_body` accepts protocol features after the version, as scylla-driver passes them."""
    with_features = ResultMessage.recv_body(
        io.BytesIO(rows_body(b"", NO_METADATA)), 4, ProtocolFeatures(), {}, [A, B], None
    )
    assert with_features.parsed_rows == DECODED


# -- how methods are called ------------------------------------------------------------------------


# Each of the following functions and methods returns the arguments that it was called with.


def with_three_parameters(f: Any, version: Any, user_types: Any) -> Any:
    return f, version, user_types


def with_features(f: Any, version: Any, protocol_features: Any, user_types: Any) -> Any:
    return f, version, protocol_features, user_types


def with_features_and_rest(f: Any, version: Any, protocol_features: Any, *rest: Any) -> Any:
    return (f, version, protocol_features, *rest)


def any_arguments(*arguments: Any) -> Any:
    return arguments


class Methods:
    def method(self, f: Any, version: Any, user_types: Any) -> Any:
        return f, version, user_types

    @classmethod
    def on_class(cls, f: Any, version: Any) -> Any:
        return f, version

    @staticmethod
    def static(f: Any, version: Any, user_types: Any) -> Any:
        return f, version, user_types

    def __call__(self, *arguments: Any) -> Any:
        return arguments


@pytest.mark.parametrize(
    ("reader", "expected"),
    [
        (with_three_parameters, "f 5 types"),
        (with_features, "f 5 features types"),
        (with_features_and_rest, "f 5 features types metadata policy"),
        (any_arguments, "f 5 types metadata policy"),
        (Methods().method, "f 5 types"),
        (Methods.on_class, "f 5"),
        (Methods.static, "f 5 types"),
        # The driver cannot inspect the parameters of callable objects, so they get all arguments.
        (Methods(), "f 5 types metadata policy"),
        (functools.partial(any_arguments), "f 5 types metadata policy"),
    ],
)
def test_a_reader_gets_the_arguments_that_it_accepts(
    reader: Callable[..., Any], expected: str
) -> None:
    """`call_reader` passes only the arguments that the reader has parameters for.

    Methods of older applications have fewer parameters. A string replaces each argument here.
    """
    f: Any = "f"
    features: Any = "features"
    arguments = call_reader(reader, f, 5, features, "types", "metadata", "policy")
    assert " ".join(map(str, arguments)) == expected


class WithDecode(ResultMessage):
    """Overrides a property, but no method that reads from a file."""

    @property  # type: ignore[misc]
    def parsed_rows(self) -> Any:
        return []


class ErrorWithRecvBody(ErrorMessage):
    @classmethod
    def recv_body(cls, f: BinaryIO, protocol_version: int, *rest: Any) -> Any:
        return read_int(f)


class DerivedErrorWithRecvBody(ErrorWithRecvBody):
    pass


@pytest.mark.parametrize(
    ("message_type", "expected"),
    [
        (ResultMessage, False),
        (WithDecode, False),
        (WithRecv, True),
        (WithTypeCodes, True),
        (WithTypeCodesAndReadType, True),
        (ErrorMessage, False),
        (ErrorWithRecvBody, True),
        (DerivedErrorWithRecvBody, True),
        (MessageType, False),
        # A class that is not derived from the driver's classes can only read by itself.
        (Methods, True),
    ],
)
def test_classes_that_read_from_files(message_type: Any, expected: bool) -> None:
    """`reads_by_itself` is True for classes that override how a response is read from a file."""
    assert reads_by_itself(message_type) is expected


def test_classes_whose_reading_was_replaced_read_from_files(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`reads_by_itself` is True if a class's method was replaced after its definition.

    A test may replace the method by a mock, and a tracer by a proxy.
    """

    class OwnError(ErrorMessage):
        pass

    assert not reads_by_itself(OwnError)
    monkeypatch.setattr(OwnError, "recv_body", lambda *_: None)
    assert reads_by_itself(OwnError)
    monkeypatch.setattr(OwnError, "recv_body", Proxy(ErrorMessage.recv_body, []))
    assert reads_by_itself(OwnError)
