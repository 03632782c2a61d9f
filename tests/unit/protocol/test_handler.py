"""Test protocol handlers, whose subclasses change how messages are encoded and decoded.

Applications that were written for cassandra-driver define such subclasses.
"""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from cassandra.cqltypes import BytesType
from cassandra.errors import ProtocolError
from cassandra.protocol import (
    LazyProtocolHandler,
    NumpyProtocolHandler,
    ProtocolHandler,
    ResultMessage,
    _ProtocolHandler,
    cython_protocol_handler,
    get_registered_classes,
)
from cassandra.protocol.handler import encrypting_handler
from cassandra.protocol.opcodes import (
    COMPRESSED_FLAG,
    RESULT,
    RESULT_KIND_VOID,
    ROWS_GLOBAL_TABLES_SPEC,
    ROWS_NO_METADATA,
)
from cassandra.query.row_factories import dict_factory, tuple_factory
from tests.unit.protocol.messages.test_results import TABLE, rows
from tests.unit.protocol.wire import int32, short, string, value


def decode(
    handler: Any, body: bytes, flags: int = 0, decompressor: Any = None, metadata: Any = None
) -> Any:
    """Decode a RESULT of protocol version 4 with the stream ID 9.

    :param body: the body of the RESULT. Most tests use one row (5, "five") of the columns a and b.
    :param metadata: the result metadata of the prepared statement.
    """
    features, user_types, stream_id = None, dict[str, Any](), 9
    return handler.decode_message(
        4, features, user_types, stream_id, flags, RESULT, body, decompressor, metadata
    )


def test_decode_message() -> None:
    """`decode_message` must return a result message with its stream ID and rows."""
    message = decode(ProtocolHandler, rows(ROWS_GLOBAL_TABLES_SPEC))
    assert type(message) is ResultMessage
    assert message.stream_id == 9
    assert message.parsed_rows == [(5, "five")]


def test_decode_message_decompresses() -> None:
    """If the flags say that the body is compressed, the decompressor must be called with it."""
    plain_body = rows(ROWS_GLOBAL_TABLES_SPEC)
    message = decode(
        ProtocolHandler, b"packed", flags=COMPRESSED_FLAG, decompressor=lambda data: plain_body
    )
    assert message.parsed_rows == [(5, "five")]
    with pytest.raises(ProtocolError, match="no compression"):
        decode(ProtocolHandler, b"packed", flags=COMPRESSED_FLAG, decompressor=None)


def test_result_metadata_may_be_a_list_of_columns() -> None:
    """A result without metadata is decoded with the prepared statement's metadata.

    The handler's caller may pass it as a list of columns.
    """
    with_metadata = decode(ProtocolHandler, rows(ROWS_GLOBAL_TABLES_SPEC))
    without_metadata = rows(ROWS_NO_METADATA, specs=b"")
    for metadata in (with_metadata.metadata, with_metadata.column_metadata):
        message = decode(ProtocolHandler, without_metadata, metadata=metadata)
        assert message.parsed_rows == [(5, "five")]
    # For equal lists of columns, the metadata object is created only once.
    columns = list(with_metadata.column_metadata)
    cached = decode(ProtocolHandler, without_metadata, metadata=columns).metadata
    assert decode(ProtocolHandler, without_metadata, metadata=list(columns)).metadata is cached
    columns[1] = columns[1]._replace(type=BytesType)
    assert decode(ProtocolHandler, without_metadata, metadata=columns).parsed_rows == [(5, b"five")]
    assert decode(ProtocolHandler, int32(RESULT_KIND_VOID), metadata=[]).kind == RESULT_KIND_VOID
    # Lists of columns may alternate: each result is decoded with the list that was passed.
    other = [columns[0], with_metadata.column_metadata[1]]
    for metadata, text in ((other, "five"), (columns, b"five"), (other, "five")):
        assert decode(ProtocolHandler, without_metadata, metadata=metadata).parsed_rows == [
            (5, text)
        ]


def test_known_columns_do_not_change_what_the_server_sends() -> None:
    """A result with metadata is decoded by it, whatever columns the client passes."""
    with_metadata = rows(ROWS_GLOBAL_TABLES_SPEC)
    right_columns = decode(ProtocolHandler, with_metadata).column_metadata
    wrong_columns = [right_columns[0], right_columns[1]._replace(type=BytesType)]
    for metadata in (wrong_columns, wrong_columns[:1], right_columns):
        message = decode(ProtocolHandler, with_metadata, metadata=metadata)
        assert message.parsed_rows == [(5, "five")]
        assert message.column_metadata == right_columns


def test_a_handler_may_have_its_own_message_classes() -> None:
    """A protocol handler decodes a response to its own message class for the opcode."""

    class UpperCaseResult(ResultMessage):
        @property  # type: ignore[misc]
        def parsed_rows(self) -> Any:
            return [tuple(str(item).upper() for item in row) for row in super().parsed_rows or ()]

    class Handler(_ProtocolHandler):
        message_types_by_opcode = {**get_registered_classes(), RESULT: UpperCaseResult}

    assert decode(Handler, rows(ROWS_GLOBAL_TABLES_SPEC)).parsed_rows == [("5", "FIVE")]


def test_decode_message_may_be_called_without_protocol_features() -> None:
    """`decode_message` may be called without protocol features.

    Handlers that were written for an older cassandra-driver do not pass them.
    """
    decode_message: Any = ProtocolHandler.decode_message
    user_types, stream_id, flags, decompressor, metadata = dict[str, Any](), 9, 0, None, None
    body = rows(ROWS_GLOBAL_TABLES_SPEC)
    message = decode_message(4, user_types, stream_id, flags, RESULT, body, decompressor, metadata)
    assert message.stream_id == 9
    assert message.parsed_rows == [(5, "five")]


def test_an_overridden_decode_message_sees_and_changes_messages() -> None:
    """A protocol handler must be able to override `decode_message`, and change its messages."""
    names_and_streams = []

    class Handler(LazyProtocolHandler):
        @classmethod
        def decode_message(cls, *arguments: Any, **named: Any) -> Any:
            message = super().decode_message(*arguments, **named)
            names_and_streams.append((type(message).__name__, message.stream_id))
            message.mark = 1
            return message

    message = decode(Handler, rows(ROWS_GLOBAL_TABLES_SPEC))
    assert message.mark == 1
    assert list(message.parsed_rows) == [(5, "five")]
    assert decode(Handler, int32(RESULT_KIND_VOID)).kind == RESULT_KIND_VOID
    assert names_and_streams == [("LazyResultMessage", 9), ("ResultMessage", 9)]


def test_replacing_message_types_of_the_default_handler_has_an_effect(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Replacing `ProtocolHandler.message_types_by_opcode` changes how messages are decoded."""

    class ReplacedResult(ResultMessage):
        pass

    assert type(decode(ProtocolHandler, rows(ROWS_GLOBAL_TABLES_SPEC))) is ResultMessage
    monkeypatch.setattr(
        ProtocolHandler,
        "message_types_by_opcode",
        {**get_registered_classes(), RESULT: ReplacedResult},
    )
    assert type(decode(ProtocolHandler, rows(ROWS_GLOBAL_TABLES_SPEC))) is ReplacedResult
    # Handlers of other classes must still use their message classes.
    assert type(decode(_ProtocolHandler, rows(ROWS_GLOBAL_TABLES_SPEC))) is ResultMessage


def test_lazy_rows() -> None:
    """LazyProtocolHandler decodes a row when the row is read.

    A damaged row raises an error only when it is reached.
    """
    content = int32(2) + value(int32(5)) + value(b"five") + value(b"bad") + value(b"x")
    message = decode(LazyProtocolHandler, rows(ROWS_GLOBAL_TABLES_SPEC, content=content))
    lazy_rows = iter(message.parsed_rows)
    assert next(lazy_rows) == (5, "five")
    with pytest.raises(ValueError, match="row 1"):
        next(lazy_rows)
    # Each new iteration starts at the first row.
    assert next(iter(message.parsed_rows)) == (5, "five")
    lazy = decode(LazyProtocolHandler, rows(ROWS_GLOBAL_TABLES_SPEC))
    assert lazy.decode(dict_factory) == [{"a": 5, "b": "five"}]
    assert decode(LazyProtocolHandler, int32(RESULT_KIND_VOID)).parsed_rows is None


def test_a_handler_may_be_made_of_a_parser() -> None:
    """`cython_protocol_handler` returns a handler whose rows are the result of a function."""
    handler = cython_protocol_handler(lambda message: ("parsed", message.row_count))
    assert decode(handler, rows(ROWS_GLOBAL_TABLES_SPEC)).parsed_rows == ("parsed", 1)
    assert decode(handler, int32(RESULT_KIND_VOID)).kind == RESULT_KIND_VOID


class TypedNumpyHandler(NumpyProtocolHandler):
    """A handler with `typed`: booleans, tinyints, dates and times have their exact dtypes, too."""

    typed = True


# For each type: its code, the bytes of a value, the dtype of a typed array, and the value in this
# array.
KINDS = {
    "bigint": (0x02, (7).to_bytes(8, "big"), "int64", 7),
    "counter": (0x05, (-7).to_bytes(8, "big", signed=True), "int64", -7),
    "int": (0x09, int32(-3), "int32", -3),
    "smallint": (0x13, b"\xff\xfe", "int16", -2),
    "tinyint": (0x14, b"\x80", "int8", -128),
    "double": (0x07, b"\x3f\xf8" + bytes(6), "float64", 1.5),
    "float": (0x08, b"\x3f\xc0\x00\x00", "float32", 1.5),
    "boolean": (0x04, b"\x01", "bool", True),
    "timestamp": (
        0x0B,
        (86400000).to_bytes(8, "big"),
        "datetime64[ms]",
        numpy.datetime64("1970-01-02", "ms"),
    ),
    "date": (0x11, b"\x80\x00\x00\x01", "datetime64[D]", numpy.datetime64("1970-01-02")),
    "time": (0x12, (1000).to_bytes(8, "big"), "timedelta64[ns]", numpy.timedelta64(1000, "ns")),
    "text": (0x0D, b"x", "object", "x"),
}


@pytest.mark.parametrize("type_name", KINDS)
def test_numpy_arrays_have_the_dtypes_of_other_drivers(type_name: str) -> None:
    """NumpyProtocolHandler returns masked arrays for six number types, and else object arrays.

    cassandra-driver returns the same; for example, it has object arrays for tinyint.
    """
    code, data, dtype, expected = KINDS[type_name]
    specs = TABLE + string("c") + short(code)
    content = int32(2) + value(data) + value(None)
    message = decode(
        NumpyProtocolHandler, rows(ROWS_GLOBAL_TABLES_SPEC, specs=specs, content=content, count=1)
    )
    (arrays,) = message.decode(tuple_factory)
    column = arrays["c"]
    if type_name in ("bigint", "counter", "int", "smallint", "double", "float"):
        assert column.dtype == numpy.dtype(dtype)
        assert column.tolist() == [expected, None]
        without_nulls = rows(
            ROWS_GLOBAL_TABLES_SPEC, specs=specs, content=int32(1) + value(data), count=1
        )
        full_column = decode(NumpyProtocolHandler, without_nulls).parsed_rows["c"]
        # The array is masked even though there are no nulls.
        assert isinstance(full_column, numpy.ma.MaskedArray)
        assert full_column.mask.tolist() == [False]
    else:
        assert type(column) is numpy.ndarray
        assert column.dtype == object
        by_rows = decode(
            ProtocolHandler, rows(ROWS_GLOBAL_TABLES_SPEC, specs=specs, content=content, count=1)
        )
        assert [(item,) for item in column] == by_rows.parsed_rows


def test_a_row_factory_gets_names_and_arrays() -> None:
    """With NumpyProtocolHandler, a row factory gets a dict of arrays instead of the rows."""
    message = decode(NumpyProtocolHandler, rows(ROWS_GLOBAL_TABLES_SPEC))
    assert message.decode(lambda names, arrays: (names, [*arrays])) == (["a", "b"], ["a", "b"])


@pytest.mark.parametrize("type_name", KINDS)
def test_typed_arrays_are_writable_and_not_masked(type_name: str) -> None:
    """TypedNumpyHandler decodes numbers without nulls to a writable array of their exact dtype."""
    code, data, dtype, expected = KINDS[type_name]
    specs = TABLE + string("c") + short(code)
    message = decode(
        TypedNumpyHandler,
        rows(ROWS_GLOBAL_TABLES_SPEC, specs=specs, content=int32(2) + value(data) * 2, count=1),
    )
    (arrays,) = message.decode(tuple_factory)
    assert arrays["c"].dtype == numpy.dtype(dtype)
    assert not isinstance(arrays["c"], numpy.ma.MaskedArray)
    assert list(arrays["c"]) == [expected, expected]
    assert arrays["c"].flags.writeable


def test_a_boolean_of_any_byte_but_0_is_true_and_stored_as_1() -> None:
    """A boolean with any byte except 0 is True, and is stored as 1 in the array.

    NumPy would treat a boolean that is stored as 5 as damaged.
    """
    specs = TABLE + string("c") + short(0x04)
    content = int32(4) + value(b"\x05") + value(b"\x00") + value(b"\xff") + value(None)
    arrays = decode(
        TypedNumpyHandler, rows(ROWS_GLOBAL_TABLES_SPEC, specs=specs, content=content, count=1)
    ).parsed_rows
    assert arrays["c"].view("u1").tolist()[:3] == [1, 0, 1]
    assert arrays["c"].mask.tolist() == [False, False, False, True]
    assert arrays["c"].sum() == 2


def test_numpy_nulls_are_masked() -> None:
    """A null in a column of numbers is masked in the array."""
    content = (
        int32(3)
        + (value(int32(1)) + value(b"x"))
        + (value(None) + value(None))
        + (value(int32(3)) + value(b""))
    )
    arrays = decode(TypedNumpyHandler, rows(ROWS_GLOBAL_TABLES_SPEC, content=content)).parsed_rows
    assert arrays["a"].mask.tolist() == [False, True, False]
    assert arrays["a"].compressed().tolist() == [1, 3]
    # A column of texts is an object array, in which None needs no mask.
    assert arrays["b"].tolist() == ["x", None, ""]


def test_numpy_of_an_empty_page_and_of_another_result() -> None:
    """An empty page has arrays of length 0; a VOID result has no arrays."""
    arrays = decode(TypedNumpyHandler, rows(ROWS_GLOBAL_TABLES_SPEC, content=int32(0))).parsed_rows
    assert [len(array) for array in arrays.values()] == [0, 0]
    assert decode(NumpyProtocolHandler, int32(RESULT_KIND_VOID)).parsed_rows is None


def test_numpy_errors_name_row_and_column() -> None:
    """The error for a value that cannot be decoded into an array names its row and column."""
    with pytest.raises(ValueError, match=r'row 0, column "a" \(int\): int: takes 4 bytes, got 3'):
        _ = decode(
            NumpyProtocolHandler,
            rows(ROWS_GLOBAL_TABLES_SPEC, content=int32(1) + value(b"123") + value(b"")),
        ).parsed_rows


def test_lists_in_an_object_column() -> None:
    """NumpyProtocolHandler decodes lists to an object array of Python lists."""
    specs = TABLE + string("l") + short(0x20) + short(0x09)
    body = (
        int32(2)
        + value(int32(1) + value(int32(4)))
        + value(int32(2) + value(int32(1)) + value(int32(2)))
    )
    arrays = decode(
        TypedNumpyHandler, rows(ROWS_GLOBAL_TABLES_SPEC, specs=specs, content=body, count=1)
    ).parsed_rows
    assert arrays["l"].tolist() == [[4], [1, 2]]


def test_vectors_are_lists_in_an_object_column() -> None:
    """NumpyProtocolHandler decodes vectors to an object array of Python lists."""
    specs = (
        TABLE
        + string("v")
        + short(0)
        + string("org.apache.cassandra.db.marshal.VectorType(Int32Type, 2)")
    )
    body = int32(1) + value(int32(1) + int32(2))
    arrays = decode(
        TypedNumpyHandler, rows(ROWS_GLOBAL_TABLES_SPEC, specs=specs, content=body, count=1)
    ).parsed_rows
    assert arrays["v"].dtype == object
    assert arrays["v"].tolist() == [[1, 2]]


# -- the policy of encrypted columns ---------------------------------------------------------------


class Policy:
    """A policy of encrypted columns without any methods, because these tests only pass it on."""


def test_a_handler_gets_the_policy_of_the_cluster_by_a_subclass() -> None:
    """`encrypting_handler` returns a subclass of the handler that has the cluster's policy.

    The handler class itself is not changed, because other clusters may use it, too.
    """
    policy: Any = Policy()
    encrypting = encrypting_handler(ProtocolHandler, policy)
    assert encrypting is not ProtocolHandler
    assert issubclass(encrypting, ProtocolHandler)
    assert encrypting.column_encryption_policy is policy
    assert ProtocolHandler.column_encryption_policy is None
    # For each handler and policy, there is only one subclass.
    assert encrypting_handler(ProtocolHandler, policy) is encrypting
    other_policy: Any = Policy()
    assert encrypting_handler(ProtocolHandler, other_policy) is not encrypting


def test_other_handlers_are_used_as_they_are() -> None:
    """`encrypting_handler` does not change a handler that has a policy or is not a class."""
    policy: Any = Policy()

    class HandlerWithPolicy(ProtocolHandler):
        column_encryption_policy = Policy()  # type: ignore[assignment]

    instance: Any = ProtocolHandler()
    assert encrypting_handler(HandlerWithPolicy, policy) is HandlerWithPolicy
    assert encrypting_handler(instance, policy) is instance
    assert encrypting_handler(ProtocolHandler, policy=None) is ProtocolHandler
