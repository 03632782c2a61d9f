"""In `cassandra.aio`, requests on the happy path have the same results as all other requests.

The happy path is the short code for a prepared statement with plain values and no further options.
The ordinary path is the code for all other requests.
"""

from __future__ import annotations

import dataclasses
import gc
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra import aio
from cassandra._impl import happy_path
from cassandra.aio.session import ResultFuture
from cassandra.cluster import Cluster, ResponseFuture
from cassandra.cluster.session import Session
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.errors import DecodeError
from cassandra.protocol.handler import ProtocolHandler
from cassandra.query import BatchStatement, BatchType, BoundStatement, dict_factory, tuple_factory
from cassandra.testing.fake import FakeNode, Opcode, rows
from tests.unit.engine.faults import connected, profile

QUERY = "SELECT k FROM t WHERE k = ?"
INSERT = "INSERT INTO t (k) VALUES (?)"
COLUMNS = [("k", "int")]


def node_with_rows() -> FakeNode:
    """Return a node that responds to both SELECT statements with the rows 7 and 8."""
    node = FakeNode()
    node.prime_prepare(QUERY, COLUMNS, COLUMNS)
    node.prime(QUERY, rows(COLUMNS, [(7,), (8,)]))
    node.prime("SELECT k FROM t", rows(COLUMNS, [(7,), (8,)]))
    return node


@dataclasses.dataclass
class Row:
    k: int


class ApplicationHandler(ProtocolHandler):
    """An application's protocol handler. The happy path cannot call such handlers."""


class CustomBoundStatement(BoundStatement):
    """An application's subclass of BoundStatement, whose objects take the ordinary path."""


# Maps a description to a function that executes a SELECT in some way and returns the future.
Executions = dict[str, Callable[[aio.Session, Any], Any]]

HAPPY_PATH: Executions = {
    "tuple": lambda session, select: session.execute(select, (7,)),
    "list": lambda session, select: session.execute(select, [7]),
    "bound statement": lambda session, select: session.execute(select.bind((7,))),
}

ORDINARY_PATH: Executions = {
    "text": lambda session, select: session.execute("SELECT k FROM t"),
    "text with a marker": lambda session, select: session.execute(QUERY, (7,)),
    "bound statement of a class of its own": lambda session, select: session.execute(
        CustomBoundStatement(select).bind((7,))
    ),
    "bound statement with values beside it": lambda session, select: session.execute(
        select.bind((7,)), (8,)
    ),
    "dict": lambda session, select: session.execute(select, {"k": 7}),
    "object": lambda session, select: session.execute(select, SimpleNamespace(k=7)),
    "timeout": lambda session, select: session.execute(select, (7,), timeout=5.0),
    "trace": lambda session, select: session.execute(select, (7,), trace=True),
    "payload": lambda session, select: session.execute(select, (7,), custom_payload={"a": b"b"}),
    "profile": lambda session, select: session.execute(select, (7,), execution_profile="other"),
    "page": lambda session, select: session.execute(select, (7,), paging_state=b"x"),
    "host": lambda session, select: session.execute(
        select, (7,), host=session.cluster.metadata.all_hosts()[0]
    ),
    "row type": lambda session, select: session.execute(select, (7,), row_type=Row),
}


@pytest.mark.filterwarnings("ignore:the parameters are ignored")
@pytest.mark.parametrize("name", [*HAPPY_PATH, *ORDINARY_PATH])
async def test_both_paths_return_the_same_rows(name: str) -> None:
    """Whichever path a request takes, its result has the same rows and attributes.

    :param name: a key of HAPPY_PATH or ORDINARY_PATH.
    """
    with node_with_rows() as node:
        profiles = profile()
        # The function "profile" in ORDINARY_PATH uses this profile.
        profiles["other"] = next(iter(profiles.values())).clone()
        async with connected(node, execution_profiles=profiles) as (_, session):
            select = await session.prepare(QUERY)
            execute = {**HAPPY_PATH, **ORDINARY_PATH}[name]
            future = execute(session, select)
            assert (type(future) is happy_path.ResultFuture) == (name in HAPPY_PATH)
            result = await future
            assert [row.k for row in result.current_rows] == [7, 8]
            assert result.one().k == 7
            assert result.column_names == ["k"]
            assert not result.has_more_pages
            assert result.warnings is None
            assert [attempt.error for attempt in result.attempts] == [None]
            assert result.coordinator_host is result.attempts[0].host


async def test_with_listeners_or_handlers_the_ordinary_path_is_used() -> None:
    """If a session has a request listener or a protocol handler, requests take the ordinary path.

    Listeners and handlers need a message object, which the happy path does not create.
    """
    with node_with_rows() as node:
        async with connected(node) as (_, session):
            select = await session.prepare(QUERY)
            messages: list[Any] = []

            def add_mark(future: Any) -> None:
                messages.append(future.message)
                future.mark = "set by a listener"

            session.add_request_init_listener(add_mark)
            future: Any = session.execute(select, (7,))
            assert type(future) is ResultFuture
            assert getattr(future, "mark", None) == "set by a listener"
            assert (await future).one().k == 7
            assert len(messages) == 1
            # Without a listener, requests take the happy path again.
            session.remove_request_init_listener(add_mark)
            assert type(session.execute(select, (7,))) is happy_path.ResultFuture
            session.client_protocol_handler = ApplicationHandler
            future_with_handler = session.execute(select, (7,))
            assert type(future_with_handler) is ResultFuture
            assert (await future_with_handler).one().k == 7


async def test_changed_session_settings_apply_to_the_next_execution() -> None:
    """If a setting of the session or profile changes, the next request uses the new value.

    The happy path caches these settings, so it must notice each change.
    """
    with node_with_rows() as node:
        async with connected(node, execution_profiles=profile()) as (_, session):
            select = await session.prepare(QUERY)
            # A value that is refused leaves the setting as it was.
            with pytest.raises(ValueError, match="no such form"):
                session.default_vector_type = "no such form"
            assert session.default_vector_type == "list"
            # Requests now have neither a timestamp nor a page size.
            session.use_client_timestamp = False
            session.timestamp_generator = None
            session.default_fetch_size = None
            assert (await session.execute(select, (7,))).one().k == 7
            # The default profile is cached, but a change of the profile must still take effect.
            for factory, expected in ((dict_factory, {"k": 7}), (tuple_factory, (7,))):
                session._default_profile.row_factory = factory
                assert (await session.execute(select, (7,))).one() == expected

            def return_arguments(names: Any, values: Any) -> Any:
                return names, values

            session._default_profile.row_factory = return_arguments
            rows = (await session.execute(select, (7,))).current_rows
            assert rows == (["k"], [(7,), (8,)])


async def test_wrong_values_raise_in_the_call() -> None:
    """If bound values are wrong, `execute` itself raises the error, without returning a future."""
    with node_with_rows() as node:
        async with connected(node) as (_, session):
            select = await session.prepare(QUERY)
            with pytest.raises(TypeError, match='column "k"'):
                session.execute(select, ("seven",))
            with pytest.raises(ValueError, match="Too many values"):
                session.execute(select, (7, 8))
            with pytest.raises(TypeError):
                session.execute(select, 7)


async def test_damaged_rows_raise_at_each_access() -> None:
    """If the body of a result has damaged rows, each access to the rows raises DecodeError.

    Rows are decoded only when they are first read.
    """
    with node_with_rows() as node:
        async with connected(node) as (_, session):
            select = await session.prepare(QUERY)
            result = await session.execute(select, (7,))
            # In this body with one row, the length of the int is 4 bytes, but only 1 byte follows.
            damaged_rows = b"\x00\x00\x00\x01\x00\x00\x00\x04\x00"
            metadata = result._answer.message().metadata
            # The last argument is the offset of the rows in the body.
            result._answer = happy_path.RowsAnswer(metadata, damaged_rows, 0)
            for _ in range(2):
                with pytest.raises(DecodeError, match='row 0, column "k"'):
                    _ = result.current_rows


async def test_the_rows_of_an_answer_are_read_without_its_message() -> None:
    """`RowsAnswer.rows` decodes rows for the driver's own row factories only.

    It returns None for an application's row factory and for damaged rows, whose decoding needs the
    message.
    """
    with node_with_rows() as node:
        async with connected(node) as (_, session):
            select = await session.prepare(QUERY)
            result = await session.execute(select, (7,))
            metadata = result._answer.message().metadata
            one_row = b"\x00\x00\x00\x01\x00\x00\x00\x04\x00\x00\x00\x09"
            # The rows begin at offset 6, after b"before".
            answer = happy_path.RowsAnswer(metadata, b"before" + one_row, 6)
            assert answer.rows(tuple_factory) == [(9,)]
            assert answer.rows(dict_factory) == [{"k": 9}]
            assert answer.rows(lambda names, rows: rows) is None
            damaged = happy_path.RowsAnswer(metadata, one_row[:-1], 0)
            assert damaged.rows(tuple_factory) is None


async def test_a_request_ends_if_its_future_is_dropped() -> None:
    """If the application drops a future, its request still ends and frees its stream."""
    with node_with_rows() as node:
        async with connected(node) as (_, session):
            select = await session.prepare(QUERY)
            for _ in range(50):
                session.execute(select, (7,))
            gc.collect()
            assert (await session.execute(select, (7,))).one().k == 7
            (pool,) = session._engine.pools.values()
            assert pool.in_flight == 0


async def test_a_happy_path_result_equals_a_constructed_one() -> None:
    """A ResultSet of the happy path has the same attributes as a ResultSet from the constructor.

    The happy path fills the slots without the constructor, so it must not leave one out.
    """
    with node_with_rows() as node:
        async with connected(node) as (_, session):
            select = await session.prepare(QUERY)
            result_set = await session.execute(select, (7,))
            constructed: aio.ResultSet[Any] = aio.ResultSet(
                session, result_set._request, result_set._row_factory
            )
            slots = [
                name
                for cls in aio.ResultSet.__mro__
                for name in getattr(cls, "__slots__", ())
                if not name.startswith("__")
            ]
            # Without slots, the loop below would compare nothing.
            assert slots
            for name in slots:
                assert getattr(result_set, name) == getattr(constructed, name), name


def batch_of(*statements: Any) -> BatchStatement:
    """Return an unlogged batch of these statements.

    :param statements: pairs of a statement and its values.
    """
    batch = BatchStatement(BatchType.UNLOGGED)
    batch.add_all([statement for statement, _ in statements], [values for _, values in statements])
    return batch


async def test_a_batch_of_one_prepared_statement_takes_the_happy_path() -> None:
    """A batch of one prepared statement takes the happy path, and is encoded to the same bytes."""
    with node_with_rows() as node:
        node.prime_prepare(INSERT, COLUMNS)
        async with connected(node) as (_, session):
            # Switch client timestamps off, because they would make the two requests differ.
            session.use_client_timestamp = False
            insert = await session.prepare(INSERT)
            batch = batch_of((insert, (1,)), (insert, (2,)))
            future = session.execute(batch)
            assert type(future) is happy_path.ResultFuture
            result = await future
            assert result.current_rows == []
            assert len(result.attempts) == 1
            # With a listener, the batch takes the ordinary path.
            session.add_request_init_listener(lambda _: None)
            ordinary_future = session.execute(batch)
            assert type(ordinary_future) is ResultFuture
            await ordinary_future
            happy_path_batch, ordinary_batch = (
                request for request in node.requests if request.opcode == Opcode.BATCH
            )
            assert happy_path_batch.body == ordinary_batch.body


async def test_other_batches_take_the_ordinary_path() -> None:
    """A batch takes the ordinary path unless all its entries have the same prepared statement.

    Each entry for the happy path is a pair of the prepared statement and its values.
    """
    with node_with_rows() as node:
        node.prime_prepare(INSERT, COLUMNS)
        node.prime_prepare(QUERY, COLUMNS)
        async with connected(node) as (_, session):
            insert = await session.prepare(INSERT)
            for batch in (
                BatchStatement(),  # an empty batch
                # a batch with a query string
                batch_of((insert, (1,)), ("INSERT INTO t (k) VALUES (7)", None)),
                batch_of((insert.bind((1,)), None)),  # a bound statement
                batch_of((INSERT, (1,))),  # a query string with values
            ):
                future = session.execute(batch)
                assert type(future) is ResultFuture
                await future


@pytest.mark.slow
async def test_a_batch_that_is_too_large_is_refused() -> None:
    """If a batch does not fit into one frame, `execute` raises ValueError.

    The error describes the batch.
    """
    with node_with_rows() as node:
        node.prime_prepare("INSERT INTO t (t) VALUES (?)", [("t", "text")])
        async with connected(node) as (_, session):
            insert = await session.prepare("INSERT INTO t (t) VALUES (?)")
            # A frame may have at most 256 MiB, and three of these values are longer.
            mebibyte = 1 << 20
            text = "x" * (100 * mebibyte)
            with pytest.raises(ValueError, match="a batch of 3 that begins with 'INSERT"):
                await session.execute(batch_of(*[(insert, (text,))] * 3))


# -- the blocking API ------------------------------------------------------------------------------


def test_results_of_execute_concurrent_create_their_future_on_access() -> None:
    """A result of `execute_concurrent` creates its `response_future` when this is first read."""
    with node_with_rows() as node, Cluster([node.address], port=node.port) as cluster:
        session = cluster.connect()
        select = session.prepare(QUERY)
        outcomes = execute_concurrent_with_args(session, select, [(7,)] * 20)
        for success, result in outcomes:
            assert success
            # Creating the future for every result would be expensive.
            assert "response_future" not in vars(result)
            assert [row.k for row in result] == [7, 8]
            future = result.response_future
            assert isinstance(future, ResponseFuture)
            assert result.response_future is future
            assert future.is_over
            assert future.result().one().k == 7
            assert len(future.attempts) == 1
            assert future.coordinator_host is not None
            assert future.warnings is None
            with pytest.raises(AttributeError, match="no_such_name"):
                _ = result.no_such_name


def test_execute_concurrent_calls_listeners_for_each_request() -> None:
    """Request-init listeners get the future that is later the result's `response_future`."""
    with node_with_rows() as node, Cluster([node.address], port=node.port) as cluster:
        session: Session = cluster.connect()
        select = session.prepare(QUERY)
        futures: list[ResponseFuture] = []
        session.add_request_init_listener(futures.append)
        outcomes = list(execute_concurrent_with_args(session, select, [(7,)] * 5))
        assert [result.response_future for _, result in outcomes] == futures


def test_wrong_values_are_outcomes_of_execute_concurrent() -> None:
    """With `raise_on_first_error=False`, wrong values make only their own request fail."""
    with node_with_rows() as node, Cluster([node.address], port=node.port) as cluster:
        session = cluster.connect()
        select = session.prepare(QUERY)
        parameters = [(7,), ("seven",), (7,)]
        outcomes = execute_concurrent_with_args(
            session, select, parameters, raise_on_first_error=False
        )
        assert [success for success, _ in outcomes] == [True, False, True]


async def test_a_closed_session_refuses_executions() -> None:
    """After `Session.shutdown`, `execute` raises an error."""
    with node_with_rows() as node:
        async with connected(node) as (_, session):
            select = await session.prepare(QUERY)
            await session.shutdown()
            with pytest.raises(Exception, match="shut down"):
                await session.execute(select, (7,))
