"""Test protocol handlers of applications, which may have their own message classes.

The message classes may read results themselves. Requests through a handler use everything that the
connection has negotiated.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy
import pytest

from cassandra import aio, cqltypes as t
from cassandra.cluster import Cluster
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.errors import InvalidRequest, ProtocolError
from cassandra.protocol import (
    ErrorMessage,
    LazyProtocolHandler,
    NumpyProtocolHandler,
    ProtocolHandler,
    ResultMessage,
    read_int,
    read_string,
    register_class,
)
from cassandra.query import dict_factory, named_tuple_factory, tuple_factory
from cassandra.testing.fake import FakeNode, Opcode, paged, rows
from tests.unit.handlers import handler_of

READ = "SELECT a, b FROM t"
SELECT = "SELECT a, b FROM t WHERE a = ?"
COLUMNS = [("a", "int"), ("b", "varchar")]
ROWS = [(1, "one"), (2, None)]
METADATA_IDS = "SCYLLA_USE_METADATA_ID"  # an extension of version 4


@pytest.fixture(params=[(3, False), (4, False), (4, True), (5, False)], ids=str)
def node(request: pytest.FixtureRequest) -> Iterator[FakeNode]:
    """Yield a node of each protocol version, and a node of version 4 with metadata ids."""
    version, has_metadata_ids = request.param
    fake_node = FakeNode(max_version=version)
    if has_metadata_ids:
        fake_node.supported[METADATA_IDS] = [""]
    with fake_node:
        fake_node.prime(READ, rows(COLUMNS, ROWS))
        fake_node.prime_prepare(SELECT, [("a", "int")], result=COLUMNS, pk_indexes=[0])
        fake_node.prime(SELECT, rows(COLUMNS, ROWS))
        yield fake_node
        assert fake_node.malformed == []


def read(node: FakeNode, handler: Any, factory: Any = tuple_factory) -> list[Any]:
    """Return the rows of six reads through a protocol handler.

    The reads are a simple and a prepared statement, with the blocking and the asyncio API.
    """

    async def read_with_asyncio() -> list[Any]:
        async with aio.Cluster([node.address], port=node.port) as cluster:
            session = await cluster.connect()
            session.client_protocol_handler, session.row_factory = handler, factory
            prepared = await session.prepare(SELECT)
            results = [await session.execute(READ), await session.execute(prepared, (1,))]
            return [result.current_rows for result in results]

    with Cluster([node.address], port=node.port) as cluster, cluster.connect() as session:
        session.client_protocol_handler, session.row_factory = handler, factory
        prepared = session.prepare(SELECT)
        futures = [session.execute_async(prepared, (1,)), session.execute_async(READ)]
        pages = [session.execute(READ).current_rows, session.execute(prepared, (1,)).current_rows]
        pages += [future.result().current_rows for future in futures]
    return pages + asyncio.run(read_with_asyncio())


class Plain(ProtocolHandler):
    """A handler that overrides nothing."""


class OlderEncoding(ProtocolHandler):
    """A handler written for a driver that passes no protocol extensions to its handlers."""

    @classmethod
    def encode_message(cls, msg, stream_id, version, compressor, beta):  # type: ignore[no-untyped-def, override]
        return super().encode_message(msg, stream_id, version, compressor, beta)

    @classmethod
    def decode_message(cls, version, user_types, stream, flags, opcode, body, unpack, metadata):  # type: ignore[no-untyped-def, override]
        assert isinstance(flags, int)
        assert opcode == Opcode.RESULT
        return super().decode_message(
            version, user_types, stream, flags, opcode, body, unpack, metadata
        )


class AnyArguments(ProtocolHandler):
    """A handler whose methods pass on any arguments."""

    @classmethod
    def encode_message(cls, *arguments: Any, **named: Any) -> bytes:
        return super().encode_message(*arguments, **named)

    @classmethod
    def decode_message(cls, *arguments: Any, **named: Any) -> Any:
        return super().decode_message(*arguments, **named)


HANDLERS = [ProtocolHandler, Plain, OlderEncoding, AnyArguments]


@pytest.mark.parametrize("handler", HANDLERS)
def test_rows_through_a_handler(node: FakeNode, handler: Any) -> None:
    """The four handlers of HANDLERS return the same rows."""
    assert read(node, handler) == [ROWS] * 6


@pytest.mark.parametrize("handler", [*HANDLERS, LazyProtocolHandler, NumpyProtocolHandler])
@pytest.mark.parametrize("has_listener", [False, True])
def test_execute_has_the_metadata_id_that_was_agreed_on(
    node: FakeNode, handler: Any, has_listener: bool
) -> None:
    """Requests through an application's handler have the id of the result metadata.

    EXECUTE has the id only if the connection has negotiated metadata ids.
    """
    with Cluster([node.address], port=node.port) as cluster, cluster.connect() as session:
        session.client_protocol_handler = handler
        session.row_factory = tuple_factory
        if has_listener:
            session.add_request_init_listener(lambda future: None)
        prepared = session.prepare(SELECT)
        for _ in range(2):
            # Read the rows, because the driver decodes the response only then.
            session.execute(prepared, (1,)).current_rows  # noqa: B018
        first_execute, _ = [
            request for request in node.requests if request.opcode == Opcode.EXECUTE
        ]
        has_metadata_ids = node.max_version >= 5 or METADATA_IDS in node.supported
        assert first_execute.result_metadata_id == prepared.result_metadata_id
        assert (first_execute.result_metadata_id is not None) is has_metadata_ids
        assert list(first_execute.values) == [b"\0\0\0\1"]


def test_the_numpy_handler_returns_arrays(node: FakeNode) -> None:
    """`NumpyProtocolHandler` returns each page as a dict of arrays by column name."""
    for page in read(node, NumpyProtocolHandler):
        (arrays,) = page
        assert arrays["a"].tolist() == [1, 2]
        assert arrays["a"].dtype == numpy.dtype("int32")
        assert arrays["b"].tolist() == ["one", None]


def test_the_lazy_handler_returns_rows_of_the_row_factory(node: FakeNode) -> None:
    """`LazyProtocolHandler` returns the usual rows, made by the session's row factory."""
    assert [list(page) for page in read(node, LazyProtocolHandler)] == [ROWS] * 6
    named = read(node, LazyProtocolHandler, named_tuple_factory)
    assert [[row.a for row in page] for page in named] == [[1, 2]] * 6


@pytest.mark.parametrize("handler", [LazyProtocolHandler, NumpyProtocolHandler])
def test_handlers_are_used_for_each_page(handler: Any) -> None:
    """With both APIs, every page of a result goes through the protocol handler."""

    def numbers_of(rows: list[Any]) -> list[Any]:
        """Return the values of the column `a`; rows of the NumPy handler are dicts of arrays."""
        if handler is LazyProtocolHandler:
            return [row[0] for row in rows]
        return [number for arrays in rows for number in arrays["a"].tolist()]

    async def read_with_asyncio(server: FakeNode) -> list[Any]:
        async with aio.Cluster([server.address], port=server.port) as cluster:
            session = await cluster.connect()
            session.client_protocol_handler, session.row_factory = handler, tuple_factory
            session.default_fetch_size = 2
            return [row async for row in await session.execute(READ)]

    with FakeNode() as server:
        server.prime(READ, paged([("a", "int")], [(1,), (2,), (3,)]))
        with Cluster([server.address], port=server.port) as cluster, cluster.connect() as session:
            session.client_protocol_handler, session.row_factory = handler, tuple_factory
            session.default_fetch_size = 2
            assert numbers_of(list(session.execute(READ))) == [1, 2, 3]
            assert numbers_of(session.execute(READ).all()) == [1, 2, 3]
            assert session.execute(READ).has_more_pages
        assert numbers_of(asyncio.run(read_with_asyncio(server))) == [1, 2, 3]


class Raw(ResultMessage):
    """A result class that leaves the values in rows encoded."""

    def recv_results_rows(
        self,
        f: BinaryIO,
        protocol_version: int,
        user_type_map: Any,
        result_metadata: Any,
        column_encryption_policy: Any,
    ) -> None:
        """Read the columns and the rows of a result, without decoding the values."""
        self.recv_results_metadata(f, user_type_map)
        columns = self.column_metadata or result_metadata
        count = read_int(f)
        self.parsed_rows = [self.recv_row(f, len(columns)) for _ in range(count)]
        self.column_names = [name for _, _, name, _ in columns]
        self.column_types = [cqltype for _, _, _, cqltype in columns]


RAW: list[Any] = [[b"\0\0\0\1", b"one"], [b"\0\0\0\2", None]]


def test_a_result_class_may_read_rows_itself(node: FakeNode) -> None:
    assert read(node, handler_of(Raw)) == [RAW] * 6
    expected = [dict(zip("ab", row, strict=True)) for row in RAW]
    assert read(node, handler_of(Raw), dict_factory) == [expected] * 6


class HexType(t.Int32Type):
    """A type that decodes an int to a string in hexadecimal."""

    @classmethod
    def deserialize(cls, byts: bytes, protocol_version: int) -> Any:
        return hex(super().deserialize(byts, protocol_version))


class WithTypeCodes(ResultMessage):
    """A result class that uses another type class for the type code of int."""

    type_codes = {**ResultMessage.type_codes, 0x09: HexType}


class WithReadType(ResultMessage):
    """A result class that replaces a type (int) after its base class has read the type."""

    @classmethod
    def read_type(cls, f: BinaryIO, user_type_map: Any) -> Any:
        cqltype = super().read_type(f, user_type_map)
        return HexType if cqltype is t.Int32Type else cqltype


class WithRecvBody(ResultMessage):
    """A result class that changes the rows which its base class has read."""

    @classmethod
    def recv_body(  # type: ignore[override]
        cls, f: BinaryIO, protocol_version: int, user_type_map: Any, metadata: Any
    ) -> Any:
        message = super().recv_body(f, protocol_version, user_type_map, metadata)
        if message.column_metadata or metadata:
            message.parsed_rows = [(hex(a), b) for a, b in message.parsed_rows]
        return message


class WithFeatureParameter(ResultMessage):
    """A result class whose `recv_body` has a parameter for protocol features.

    scylla-driver, which has protocol extensions, calls the method with this parameter.
    """

    def recv_results_rows(
        self,
        f: BinaryIO,
        version: int,
        protocol_features: Any,
        types: Any,
        metadata: Any,
        policy: Any,
    ) -> None:
        super().recv_results_rows(f, version, protocol_features, types, metadata, policy)
        self.parsed_rows = [(hex(a), b) for a, b in self.parsed_rows or ()]


class WithRecvRow(ResultMessage):
    """A result class that reads each row itself, and changes the column metadata."""

    @staticmethod
    def recv_row(f: BinaryIO, colcount: int) -> Any:
        number, *rest = ResultMessage.recv_row(f, colcount)
        assert number is not None
        return [number, *rest]

    def recv_results_metadata(self, f: BinaryIO, user_type_map: Any) -> None:
        super().recv_results_metadata(f, user_type_map)
        if self.column_metadata:
            self.column_metadata = [column._replace(type=HexType) if column.name == "a" else column
                                    for column in self.column_metadata]  # fmt: skip


class WithUpperRows(ResultMessage):
    """A result class whose `parsed_rows` is a property that computes the rows."""

    @property  # type: ignore[misc]
    def parsed_rows(self) -> Any:
        return [tuple(str(item).upper() for item in row) for row in super().parsed_rows or ()]


HEX_ROWS = [("0x1", "one"), ("0x2", None)]


@pytest.mark.parametrize(
    "result_class", [WithReadType, WithTypeCodes, WithRecvBody, WithFeatureParameter]
)
def test_methods_that_a_result_class_may_override(node: FakeNode, result_class: Any) -> None:
    assert read(node, handler_of(result_class)) == [HEX_ROWS] * 6


def test_a_result_class_may_read_metadata_and_single_rows(node: FakeNode) -> None:
    assert read(node, handler_of(WithRecvRow)) == [HEX_ROWS] * 6


@pytest.mark.parametrize("result_class", [WithReadType, WithTypeCodes, WithRecvRow])
@pytest.mark.parametrize("has_listener", [False, True])
def test_types_of_a_handler_apply_to_statements_that_are_prepared_already(
    node: FakeNode, result_class: Any, has_listener: bool
) -> None:
    """The session that prepares a statement may have another handler than the one that reads."""
    with (
        Cluster([node.address], port=node.port) as cluster,
        cluster.connect() as session,
        cluster.connect() as other_session,
    ):
        prepared = session.prepare(SELECT)
        session.row_factory = other_session.row_factory = tuple_factory
        if has_listener:
            session.add_request_init_listener(lambda future: None)
        assert session.execute(prepared, (1,)).all() == ROWS
        other_session.client_protocol_handler = handler_of(result_class)
        for _ in range(2):
            assert other_session.execute(prepared, (1,)).all() == HEX_ROWS
            assert session.execute(prepared, (1,)).all() == ROWS
        arguments = [(1,), (1,)]
        results = execute_concurrent_with_args(other_session, prepared, arguments)
        assert [result.all() for _, result in results] == [HEX_ROWS] * 2
        renewed = other_session.prepare(SELECT)
        assert other_session.execute(renewed, (1,)).all() == HEX_ROWS
        assert session.execute(renewed, (1,)).all() == ROWS


@pytest.mark.parametrize("result_class", [Raw, WithRecvBody, WithUpperRows])
def test_other_handlers_get_the_columns_of_the_statement(result_class: Any) -> None:
    """The server does not describe the rows each time, unless the handler changes their types."""
    with FakeNode(max_version=5) as node:
        node.prime_prepare(SELECT, [("a", "int")], result=COLUMNS, pk_indexes=[0])
        node.prime(SELECT, rows(COLUMNS, ROWS))
        with Cluster([node.address], port=node.port) as cluster, cluster.connect() as session:
            session.client_protocol_handler = handler_of(result_class)
            session.execute(session.prepare(SELECT), (1,))
        (execute,) = [request for request in node.requests if request.opcode == Opcode.EXECUTE]
        assert execute.skip_metadata


def test_types_of_a_handler_do_not_affect_later_reads_without_it(node: FakeNode) -> None:
    """A prepared statement must be read as usual again when the handler is no longer set."""
    with Cluster([node.address], port=node.port) as cluster, cluster.connect() as session:
        prepared = session.prepare(SELECT)
        session.client_protocol_handler = handler_of(WithTypeCodes)
        session.row_factory = tuple_factory
        session.execute(prepared, (1,))
        session.client_protocol_handler = ProtocolHandler
        assert session.execute(prepared, (1,)).all() == ROWS


def test_parsed_rows_may_be_overridden(node: FakeNode) -> None:
    assert read(node, handler_of(WithUpperRows)) == [[("1", "ONE"), ("2", "NONE")]] * 6


class ForeignMessage:
    """A message class that is not derived from any class of the driver."""

    opcode = Opcode.RESULT

    def __init__(self, first: int) -> None:
        self.first = first

    @classmethod
    def recv_body(cls, f: BinaryIO, *rest: Any) -> Any:
        return cls(read_int(f))


def test_rows_set_by_a_result_class_cannot_become_columns(node: FakeNode) -> None:
    """If a result class reads the rows itself, the driver has no encoded page for columns."""
    with Cluster([node.address], port=node.port) as cluster:
        session = cluster.connect()
        session.client_protocol_handler = handler_of(Raw)
        session.row_factory = tuple_factory
        result = session.execute(READ)
        assert result.column_names == ["a", "b"]
        assert "one" in str(result)
        with pytest.raises(RuntimeError, match="no columns can be made"):
            result.to_numpy()


class LoudError(ErrorMessage):
    """An error class whose `recv_body` returns an exception of the application."""

    @classmethod
    def recv_body(cls, f: BinaryIO, protocol_version: int, *rest: Any) -> Any:
        read_int(f)
        return InvalidRequest(f"LOUD: {read_string(f)}")


def test_an_application_s_error_class_reads_errors(node: FakeNode) -> None:
    error_body = b"\0\0\x22\0" + b"\0\5quiet"  # the code 0x2200 (INVALID), and the message
    # The arguments are version, protocol features, user types, stream, flags, opcode, body,
    # decompressor and columns.
    failure = handler_of(LoudError).decode_message(
        4, None, {}, 0, 0, Opcode.ERROR, error_body, None, None
    )
    assert str(failure) == "LOUD: quiet"


def test_the_mapping_of_all_handlers_cannot_be_changed_in_place() -> None:
    mapping: Any = ProtocolHandler.message_types_by_opcode
    with pytest.raises(TypeError):
        mapping[8] = Raw
    copied = mapping.copy()
    copied[8] = Raw
    assert mapping[8] is ResultMessage


def test_a_registered_message_class_is_used_by_all_handlers(node: FakeNode) -> None:
    try:
        register_class(WithTypeCodes)
        assert read(node, Plain)[0] == HEX_ROWS
    finally:
        register_class(ResultMessage)
    assert read(node, Plain)[0] == ROWS


def test_a_message_class_needs_no_base_of_the_driver() -> None:
    stream, flags = 7, 0
    message: Any = handler_of(ForeignMessage).decode_message(
        4, {}, stream, flags, Opcode.RESULT, b"\0\0\0\1", None, None
    )
    assert message.stream_id == stream
    assert type(message) is ForeignMessage
    assert message.first == 1


def test_a_result_class_also_reads_results_without_rows() -> None:
    decode = handler_of(Raw).decode_message
    # The arguments are version, user types, stream, flags, opcode, body, decompressor and columns.
    void = decode(4, {}, 0, 0, Opcode.RESULT, b"\0\0\0\1", None, None)
    assert void.kind == 1
    set_keyspace = decode(4, {}, 0, 0, Opcode.RESULT, b"\0\0\0\3\0\2ks", None, None)
    assert set_keyspace.new_keyspace == "ks"
    # The kind ROWS, the flags HAS_MORE_PAGES and NO_METADATA, 1 column, the paging state, 0 rows.
    page_without_rows = b"\0\0\0\2" + b"\0\0\0\6" + b"\0\0\0\1" + b"\0\0\0\2pg" + b"\0\0\0\0"
    columns = [("k", "t", "a", t.Int32Type)]
    page = decode(4, {}, 0, 0, Opcode.RESULT, page_without_rows, None, columns)
    assert page.paging_state == b"pg"
    spec = b"\0\1k\0\1t\0\1a\0\xff"
    # The kind ROWS, the flag GLOBAL_TABLES_SPEC, 1 column of the unknown type 0xFF, and 0 rows.
    unknown_type = b"\0\0\0\2\0\0\0\1\0\0\0\1" + spec + b"\0\0\0\0"
    for result_class in (WithTypeCodes, WithReadType):
        with pytest.raises(ProtocolError, match="unknown code 0x00ff"):
            handler_of(result_class).decode_message(
                4, {}, 0, 0, Opcode.RESULT, unknown_type, None, None
            )
