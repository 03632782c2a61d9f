"""If a server refuses a request, a note on the error says where collections contain nulls."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cassandra import InvalidRequest, aio, cqltypes as t
from cassandra.client.messages import message_of
from cassandra.cluster import Cluster
from cassandra.engine import null_positions as module
from cassandra.engine.null_positions import null_positions
from cassandra.engine.request_bodies import BatchBody, ExecuteBody, MessageBody, QueryBody
from cassandra.policies import FallthroughRetryPolicy, RetryPolicy
from cassandra.protocol import ProtocolHandler, ServerError
from cassandra.protocol.column_specs import ColumnMetadata
from cassandra.query import BatchStatement, PreparedStatement
from cassandra.testing.fake import ErrorCode, FakeNode, Opcode, error
from tests.unit.cqltypes.samples import list_of, map_of, set_of, tuple_of, vector_of

LOGGED = 0  # type of batch in the protocol
INSERT = "INSERT INTO t (k, l, m) VALUES (?, ?, ?)"
LIST = list_of(t.Int32Type)
COLUMNS = [("k", "int"), ("l", "list<int>"), ("m", "map<text, list<int>>")]
ITEM = t.UserType.make_udt_class("k", "item", ["a", "tags"], [t.Int32Type, set_of(t.UTF8Type)])
# The start of the position in a note about a null in the column l.
IN_L = 'column "l" (list<int>): element'
SERVER_ERROR = ServerError(0, "java.lang.NullPointerException")


class ApplicationListType(t.ListType):
    """An application's list type, which encodes its values differently."""

    @classmethod
    def serialize(cls, val: Any, protocol_version: int) -> bytes:
        return b"\xff" * 12


def frozen(cql_type: Any) -> Any:
    """Return the type ``frozen<cql_type>``."""
    return t.FrozenType.apply_parameters([cql_type])


def prepared_statement(*columns: tuple[str, Any]) -> PreparedStatement:
    """Return a prepared statement with these bind markers.

    :param columns: pairs of a name and a type.
    """
    metadata = [ColumnMetadata("k", "t", name, cql_type) for name, cql_type in columns]
    return PreparedStatement(
        metadata,
        b"id",
        routing_key_indexes=None,
        query=INSERT,
        keyspace="k",
        protocol_version=4,
        result_metadata=None,
        result_metadata_id=None,
    )


def body_with(cql_type: Any, value: Any) -> ExecuteBody:
    """Return the body of an EXECUTE with one value of this type."""
    prepared = prepared_statement(("c", cql_type))
    return ExecuteBody(prepared, prepared.bind_plan.bind([value], version=4))


# Each entry is a type, a value with nulls, and the position of the first null, as in the note.
POSITIONS: list[tuple[Any, Any, str]] = [
    (LIST, [1, None, None], "element 1"),
    (LIST, [-1, None], "element 1"),
    (set_of(t.UTF8Type), [None], "element 0"),
    (frozen(LIST), [None], "element 0"),
    (t.ReversedType.apply_parameters([frozen(LIST)]), [None], "element 0"),
    (map_of(t.UTF8Type, t.Int32Type), {"a": 1, "b": None}, "value 1, of the key 'b' (str)"),
    (map_of(t.UTF8Type, t.Int32Type), {"a": 1, None: 2}, "key 1"),
    (map_of(LIST, t.Int32Type), {(1, None): 2}, "key 0: element 1"),
    (map_of(LIST, t.Int32Type), {(1,): None}, "value 0, of the key of 12 bytes"),
    (
        list_of(frozen(map_of(t.UTF8Type, frozen(LIST)))),
        [{}, {"a": [1], "b": [1, None]}],
        "element 1: value 1, of the key 'b' (str): element 1",
    ),
    (tuple_of(t.Int32Type, LIST), (None, [None]), "item 1: element 0"),
    (ITEM, {"a": None, "tags": ["x", None]}, 'field "tags": element 1'),
    (vector_of(LIST, 2), [[1], [None]], "element 1: element 0"),
]


@pytest.mark.parametrize(
    ("cql_type", "value", "position"), POSITIONS, ids=lambda part: str(part)[:40]
)
def test_the_position_is_the_first_null_in_a_collection(
    cql_type: Any, value: Any, position: str
) -> None:
    """The note names the column and the position of the first null inside a collection.

    The server refuses such nulls without saying where they are.
    """
    note = null_positions(SERVER_ERROR, body_with(cql_type, value))
    assert note is not None
    assert note.startswith('(nulls inside collections: column "c" (')
    assert note.endswith(f"): {position})")


@pytest.mark.parametrize(
    ("cql_type", "value"),
    [
        (LIST, None),
        (LIST, [1, -1]),
        (map_of(t.Int32Type, t.Int32Type), {-1: -1}),
        (set_of(t.UTF8Type), []),
        (tuple_of(t.Int32Type, LIST), (None, None)),
        (ITEM, {"a": None, "tags": None}),
        (t.Int32Type, -1),
        (t.BytesType, b"\xff" * 12),
        (vector_of(t.Int32Type, 2), [-1, -1]),
        (ApplicationListType.apply_parameters([t.Int32Type]), [None]),
    ],
    ids=str,
)
def test_there_is_no_note_without_a_null_in_a_collection(cql_type: Any, value: Any) -> None:
    """There is no note if no collection contains a null.

    Nulls in columns, tuples and fields of user-defined types are valid. Some of the values contain
    -1, which looks like the length of a null. For an application's own type, the driver does not
    know the encoding.
    """
    assert null_positions(SERVER_ERROR, body_with(cql_type, value)) is None


def test_other_errors_have_no_note() -> None:
    """A note is added only to a server's error about a request with values."""
    request_body = body_with(LIST, [None])
    assert null_positions(InvalidRequest("refused"), request_body) is not None
    assert null_positions(ValueError("refused"), request_body) is None
    assert null_positions(SERVER_ERROR, QueryBody("SELECT 1")) is None


def test_in_a_batch_the_note_has_the_number_of_the_statement() -> None:
    """In a batch, the note names the statements with nulls, but at most five of them.

    Each row of values counts as a statement.
    """
    prepared = prepared_statement(("l", LIST))
    three_rows = prepared.bind_plan.bind_many([([1],), ([None],), ([1, None],)], version=4)
    one_row = prepared.bind_plan.bind([[2, 3, None]], version=4)
    request_body = BatchBody(
        LOGGED,
        [
            (None, "INSERT"),  # statement 0
            (prepared, three_rows),  # statements 1 to 3
            (None, "x"),  # statement 4
            (prepared, one_row),  # statement 5
        ],
    )
    assert null_positions(SERVER_ERROR, request_body) == (
        f"(nulls inside collections: statement 2: {IN_L} 0; statement 3: {IN_L} 1; "
        f"statement 5: {IN_L} 2)"
    )
    many_rows = prepared.bind_plan.bind_many([([None],)] * 100, version=4)
    note = null_positions(SERVER_ERROR, BatchBody(LOGGED, [(prepared, many_rows)]))
    assert note is not None
    assert note.count("element 0") == 5


def test_a_message_of_a_handler_has_the_same_note() -> None:
    """If the application's protocol handler encodes a request, its error gets the same note."""
    inner = body_with(LIST, [None])
    request_body = MessageBody(message_of(inner), ProtocolHandler, inner, decodes=False)
    assert null_positions(SERVER_ERROR, request_body) == null_positions(SERVER_ERROR, inner)


def test_the_search_ends_after_a_number_of_items(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search for nulls ends after `_MAX_ITEMS` items, so a later null gets no note."""
    monkeypatch.setattr(module, "_MAX_ITEMS", 10)
    assert null_positions(SERVER_ERROR, body_with(LIST, [0] * 9 + [None])) is not None
    assert null_positions(SERVER_ERROR, body_with(LIST, [0] * 10 + [None])) is None


def test_bytes_that_are_no_value_raise_nothing() -> None:
    """If the bound bytes are no valid list, the search for nulls raises no error.

    An error would hide the server's error.
    """
    prepared = prepared_statement(("l", LIST))
    for data in (b"\xff" * 4, b"\xff" * 9, b"\0\0\0\1\0\0\0\x09\xff\xff\xff\xff"):
        # Bind arbitrary bytes as a blob. The search then reads them as a list.
        values = prepared_statement(("l", t.BytesType)).bind_plan.bind([data], version=4)
        null_positions(SERVER_ERROR, ExecuteBody(prepared, values))  # must not raise an error


@pytest.fixture
def node() -> Iterator[FakeNode]:
    with FakeNode() as fake:
        fake.prime_prepare(INSERT, COLUMNS, pk_indexes=[0])
        yield fake


def execute_blocking(cluster: Cluster, make_statement: Callable[[Any], Any]) -> Any:
    """Execute a statement with `Session.execute`.

    :param make_statement: called with the prepared INSERT; returns the statement.
    """
    session = cluster.connect()
    return session.execute(make_statement(session.prepare(INSERT)))


def execute_async(cluster: Cluster, make_statement: Callable[[Any], Any]) -> Any:
    """Execute a statement with `Session.execute_async` and wait for its result.

    :param make_statement: called with the prepared INSERT; returns the statement.
    """
    session = cluster.connect()
    return session.execute_async(make_statement(session.prepare(INSERT))).result()


def single_statement(prepared: PreparedStatement) -> Any:
    """Return a bound statement with a null in a list, and a null in a list in a map."""
    return prepared.bind((1, [1, None], {"a": [None]}))


def batch_of(prepared: PreparedStatement) -> Any:
    """Return a batch whose second statement has a null in a list."""
    return BatchStatement().add(prepared, (1, [], {})).add(prepared, (2, [None], {}))


# Each entry is a function that makes a statement, and the start of the note on its error.
EXPECTED = [
    (single_statement, f'(nulls inside collections: {IN_L} 1; column "m" '),
    (batch_of, f"(nulls inside collections: statement 1: {IN_L} 0)"),
]


@pytest.mark.parametrize("code", [ErrorCode.SERVER_ERROR, ErrorCode.INVALID])
@pytest.mark.parametrize(("make_statement", "beginning"), EXPECTED, ids=["single", "batch"])
@pytest.mark.parametrize("retry_policy", [RetryPolicy, FallthroughRetryPolicy])
def test_on_every_api_the_error_has_the_note(
    node: FakeNode, make_statement: Any, beginning: str, code: Any, retry_policy: Any
) -> None:
    """In each API, the error has two notes: where the call is, and where its values have nulls."""
    node.prime(Opcode.EXECUTE, error(code, "refused"))
    node.prime(Opcode.BATCH, error(code, "refused"))
    # Only the cluster of the blocking API has the retry policy of this case. The cluster of the
    # asyncio API below has its default policy.
    settings: dict[str, Any] = {"port": node.port, "default_retry_policy": retry_policy()}
    failures: list[Any] = []
    with Cluster([node.address], **settings) as cluster:
        for execute in (execute_blocking, execute_async):
            with pytest.raises((ServerError, InvalidRequest)) as caught:
                execute(cluster, make_statement)
            failures.append(caught.value)

    async def collect_aio_failures() -> None:
        """Append the errors of two asyncio requests to `failures`."""
        async with aio.Cluster([node.address], port=node.port) as cluster:
            session = await cluster.connect()
            prepared = await session.prepare(INSERT)
            # After a server error, the exception of a statement that is not idempotent is also a
            # NoHostAvailable. Both kinds of exceptions must have the note.
            for is_idempotent in (False, True):
                statement = make_statement(prepared)
                statement.is_idempotent = is_idempotent
                # The parameter `code` decides which of these two errors the node returns.
                with pytest.raises((ServerError, InvalidRequest)) as caught:
                    await session.execute(statement)
                failures.append(caught.value)

    asyncio.run(collect_aio_failures())
    # There are two errors of the blocking API, and two of the asyncio API.
    assert len(failures) == 4
    for failure in failures:
        assert failure.__notes__[0].startswith("(from ")
        assert failure.__notes__[1].startswith(beginning)
        assert len(failure.__notes__) == 2
