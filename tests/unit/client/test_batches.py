"""Batches on fake nodes, in the blocking and asyncio APIs.

The tests cover query strings, prepared statements, statements that the node has forgotten, and
warnings.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import warnings
from collections import Counter
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from cassandra import ConsistencyLevel
from cassandra.cluster import Cluster, ExecutionProfile
from cassandra.engine.request import MOST_PREPARES
from cassandra.errors import InvalidRequest, OperationTimedOut
from cassandra.policies.balancing import RoundRobinPolicy
from cassandra.protocol.messages.errors import PreparedQueryNotFound
from cassandra.query import BatchStatement, BatchType, SimpleStatement
from cassandra.testing.fake import (
    ErrorCode,
    FakeCluster,
    FakeNode,
    Opcode,
    Prepared,
    error,
    hold,
    sequence,
    silence,
    void,
)
from tests.unit.engine.faults import call_in_thread, connected, exception_of

pytestmark = pytest.mark.simulated

INSERTS = [f"INSERT INTO t{number} (k, v) VALUES (?, ?)" for number in range(3)]
COLUMNS = [("k", "int"), ("v", "text")]


def prime_all(node: FakeNode) -> None:
    """Prime the node's response to the PREPARE of each query in `INSERTS`."""
    for text in INSERTS:
        node.prime_prepare(text, COLUMNS, pk_indexes=[0])


@pytest.fixture(params=[3, 4, 5], ids=["v3", "v4", "v5"])
async def node(request: pytest.FixtureRequest) -> AsyncIterator[FakeNode]:
    """Yield a fake node for each protocol version, which can prepare each of `INSERTS`."""
    with FakeNode(max_version=request.param) as running:
        prime_all(running)
        yield running
        assert running.malformed == []


@pytest.fixture
async def nodes() -> AsyncIterator[FakeCluster]:
    """Yield three fake nodes, which can prepare each of `INSERTS`."""
    with FakeCluster(3) as running:
        for fake_node in running.nodes:
            prime_all(fake_node)
        yield running


def text_batch(start: int = 0) -> BatchStatement:
    """Return a batch of ten rows.

    There are three rows for each query string in `INSERTS`, and one row whose value the driver
    writes into the query string.

    :param start: the key of the first row of each query string.
    """
    batch = BatchStatement()
    for text in INSERTS:
        batch.add(text, (start, "a")).add_many(text, [(start + 1, "b"), {"k": start + 2, "v": "c"}])
    return batch.add("INSERT INTO t9 (k) VALUES (%s)", (start,))


def prepares_by_query(node: FakeNode) -> Counter[Any]:
    """Return how often the node has received a PREPARE, by query."""
    return Counter(
        request.queries[0] for request in node.requests if request.opcode == Opcode.PREPARE
    )


def statements_sent(node: FakeNode) -> list[tuple[str | None, list[Any]]]:
    """Return the query and the encoded values of each statement in the last BATCH."""
    (request,) = [request for request in node.requests if request.opcode == Opcode.BATCH][-1:]
    return [(statement.query, list(statement.values)) for statement in request.statements]


# The statements that `text_batch()` sends, as `statements_sent` returns them.
EXPECTED = [
    *[
        (text, [bytes([0, 0, 0, k]), v])
        for text in INSERTS
        for k, v in ((0, b"a"), (1, b"b"), (2, b"c"))
    ],
    ("INSERT INTO t9 (k) VALUES (0)", []),
]


async def test_query_strings_are_prepared_once_and_concurrently(node: FakeNode) -> None:
    """The session prepares the query strings of a batch concurrently, and only once.

    Later batches and single requests reuse the prepared statements.
    """
    held = hold(node._on_prepare)
    node.prime(Opcode.PREPARE, held)
    async with connected(node) as (_, session):
        task = session.execute(text_batch())
        # Wait until the node holds all three PREPAREs. They were sent before the first was
        # answered.
        await call_in_thread(held.wait, 3)
        held.open()
        await task
        assert statements_sent(node) == EXPECTED
        await session.execute(text_batch())
        await session.execute(INSERTS[1], (5, "x"))
        assert prepares_by_query(node) == dict.fromkeys(INSERTS, 1)


async def test_for_many_batches_each_statement_is_prepared_once_on_each_host(
    nodes: FakeCluster,
) -> None:
    """A hundred concurrent batches prepare each of their statements only once on each node."""
    async with connected(nodes) as (_, session):
        await asyncio.gather(*(session.execute(text_batch(number)) for number in range(100)))
        assert [prepares_by_query(node) for node in nodes.nodes] == [dict.fromkeys(INSERTS, 1)] * 3
        batches = [request for request in nodes.requests if request.opcode == Opcode.BATCH]
        assert len(batches) == 100


@pytest.mark.simulated(False)  # the test needs real threads
async def test_batches_with_the_blocking_api_and_futures(nodes: FakeCluster) -> None:
    """A hundred concurrent batches prepare each of their statements only once on each node."""

    def execute_all() -> None:
        """Execute one batch alone, and then 100 batches at the same time."""
        with (
            Cluster(nodes.contact_points, port=nodes.port) as cluster,
            cluster.connect() as session,
        ):
            session.execute(text_batch())
            futures = [session.execute_async(text_batch(number)) for number in range(100)]
            for future in futures:
                future.result()

    await asyncio.to_thread(execute_all)
    assert [prepares_by_query(node) for node in nodes.nodes] == [dict.fromkeys(INSERTS, 1)] * 3


async def test_an_error_of_preparing_fails_the_batch(node: FakeNode) -> None:
    """If one query string cannot be prepared, the batch is not sent.

    The next call prepares this query string again.
    """

    def is_second_prepare(request: Any) -> bool:
        return request.opcode == Opcode.PREPARE and list(request.queries) == [INSERTS[1]]

    node.prime(is_second_prepare, error(ErrorCode.INVALID, "no such table"), times=1)
    async with connected(node) as (_, session):
        failure = await exception_of(session.execute(text_batch()))
        assert isinstance(failure, InvalidRequest)
        assert "no such table" in str(failure)
        assert node.count(Opcode.BATCH) == 0
        await session.execute(text_batch())
        assert statements_sent(node) == EXPECTED


async def test_a_wrong_value_in_a_row_is_named(node: FakeNode) -> None:
    """A value of a wrong type raises an error that names its row and column.

    The batch is not sent.
    """
    async with connected(node) as (_, session):
        batch = BatchStatement().add_many(INSERTS[0], [(1, "a"), (2, 3)])
        # At first, the error comes after the statement was prepared. The second time, the statement
        # is already prepared, so the call itself raises the error.
        for _ in range(2):
            with pytest.raises(
                TypeError, match=r'row 1: column "v" \((text|varchar), \w+\): 3.*INSERT INTO t0'
            ):
                await session.execute(batch)
        assert node.count(Opcode.BATCH) == 0
        with pytest.raises(ValueError, match="one kind"):
            batch.add("INSERT INTO t (k, v) VALUES (?, %s)", (1, 2))


async def test_the_timeout_covers_preparing(node: FakeNode) -> None:
    """The timeout of a batch also limits the time for preparing its query strings."""
    node.prime(Opcode.PREPARE, silence())
    async with connected(node) as (_, session):
        failure = await exception_of(session.execute(text_batch(), timeout=0.05))
        assert isinstance(failure, OperationTimedOut)


async def test_only_the_forgotten_statement_is_prepared_again(node: FakeNode) -> None:
    """After UNPREPARED, only the statement that the error names is prepared again.

    Then the batch is sent to the same node again.
    """
    async with connected(node) as (_, session):
        statements = await session.prepare_all(INSERTS)
        batch = BatchStatement()
        for statement in statements:
            batch.add_many(statement, [(0, "a"), (1, "b"), (2, "c")])
        batch.add("INSERT INTO t9 (k) VALUES (%s)", (0,))
        # The node refuses the batch once, as if it had forgotten the second statement.
        node.forget_requests()
        node.prime(
            Opcode.BATCH,
            error(ErrorCode.UNPREPARED, "gone", query_id=statements[1].query_id),
            times=1,
        )
        result = await session.execute(batch)
        assert prepares_by_query(node) == {INSERTS[1]: 1}
        assert statements_sent(node) == EXPECTED
        assert len(result.attempts) == 1


async def test_a_statement_that_is_always_forgotten_is_raised(node: FakeNode) -> None:
    """If a node always forgets a statement of a batch, the request fails.

    It fails after MOST_PREPARES attempts. Each statement of the batch is counted separately.
    """
    async with connected(node) as (_, session):
        statements = await session.prepare_all(INSERTS)
        batch = BatchStatement()
        for statement in statements:
            batch.add(statement, (0, "a"))
        node.forget_requests()
        unprepared_errors = [
            error(ErrorCode.UNPREPARED, "gone", query_id=statement.query_id)
            for statement in statements
        ]
        # The node returns UNPREPARED once for the first statement, and then always for the third
        # statement.
        node.prime(Opcode.BATCH, sequence(unprepared_errors[0], unprepared_errors[2]))
        failure = await exception_of(session.execute(batch))
        assert isinstance(failure, PreparedQueryNotFound)
        assert "INSERT INTO t2 (k, v) VALUES (?, ?)" in "".join(vars(failure)["__notes__"])
        assert prepares_by_query(node) == {INSERTS[0]: 1, INSERTS[2]: MOST_PREPARES}
        assert node.count(Opcode.BATCH) == 2 + MOST_PREPARES


async def test_all_rows_get_the_id_from_preparing_again(node: FakeNode) -> None:
    """If preparing a statement again returns another ID, all its rows are sent with the new ID."""
    async with connected(node) as (_, session):
        statement = await session.prepare(INSERTS[0])
        batch = BatchStatement().add_many(statement, [(0, "a"), (1, "b")])
        node.forget_prepared()
        node.prime_prepare(INSERTS[0], COLUMNS, pk_indexes=[0], query_id=b"another")
        await session.execute(batch)
        (request,) = [request for request in node.requests if request.opcode == Opcode.BATCH][-1:]
        assert [entry.query_id for entry in request.statements] == [b"another"] * 2


async def test_an_unprepared_id_that_another_request_has_replaced(node: FakeNode) -> None:
    """If UNPREPARED has an old id of a statement, the driver still finds the statement.

    This happens if another request has prepared the statement again, and got another id. The driver
    then prepares the statement once more.
    """
    held = hold()
    async with connected(node) as (_, session):
        statements = await session.prepare_all(INSERTS[:2])
        node.prime(Opcode.BATCH, held, times=1)
        batch = BatchStatement().add(statements[0], (0, "a")).add(statements[1], (1, "b"))
        task = session.execute(batch)
        # While the batch is in flight, another request prepares the second statement again, with a
        # new id.
        await call_in_thread(held.wait, 1)
        unprepared_id, statements[1].query_id = statements[1].query_id, b"by another request"
        node.prime_prepare(INSERTS[1], COLUMNS, pk_indexes=[0], query_id=b"another")
        # The node's error names the old id of the second statement.
        held.release(error(ErrorCode.UNPREPARED, "gone", query_id=unprepared_id))
        await task
        (request,) = [request for request in node.requests if request.opcode == Opcode.BATCH][-1:]
        assert [entry.query_id for entry in request.statements] == [
            statements[0].query_id,
            b"another",
        ]


async def test_statements_added_during_a_request_are_not_in_it(node: FakeNode) -> None:
    """`execute` sends only the statements that the batch had at the call.

    Statements that are added during the request are not sent.
    """
    held = hold()
    node.prime(Opcode.BATCH, held)
    async with connected(node) as (_, session):
        statement = await session.prepare(INSERTS[0])
        batch = BatchStatement().add(statement, (0, "a"))
        request_of_one = session.execute(batch)
        batch.add(statement, (1, "b"))
        request_of_two = session.execute(batch)
        await call_in_thread(held.wait, 2)
        held.open()
        await asyncio.gather(request_of_one, request_of_two)
        counts = [
            len(request.statements) for request in node.requests if request.opcode == Opcode.BATCH
        ]
        assert counts == [1, 2]


async def test_query_strings_use_the_keyspace_of_the_prepared_statement(node: FakeNode) -> None:
    """A batch takes the keyspace of its first prepared statement.

    The request names the keyspace only if a query string needs it, and only in protocol version 5.
    """
    async with connected(node) as (_, session):
        batch = BatchStatement().add(await session.prepare(INSERTS[0]), (0, "a"))
        await session.execute(batch)
        # Only from version 4 on does the server report the columns of the partition key.
        if node.queries()[-1].version >= 4:
            assert batch.keyspace is not None
        assert node.queries()[-1].keyspace is None
        batch.add("INSERT INTO t9 (k) VALUES (1)")
        await session.execute(batch)
        # Only from version 5 on can a request name a keyspace.
        has_keyspaces = node.queries()[-1].version >= 5
        assert node.queries()[-1].keyspace == (batch.keyspace if has_keyspaces else None)
        batch.keyspace = "mine"
        await session.execute(batch)
        assert node.queries()[-1].keyspace == ("mine" if has_keyspaces else None)


@pytest.mark.parametrize(
    ("text", "parameters"),
    [("INSERT INTO t9 (k) VALUES (1)", None), ("INSERT INTO t9 (k) VALUES (?)", (1,))],
)
async def test_query_strings_in_another_keyspace_than_the_sessions_warn(
    node: FakeNode, text: str, parameters: Any
) -> None:
    """If a batch's query string runs in another keyspace than the session's, there is a warning.

    The query string runs in the keyspace of the first prepared statement, which is probably a
    mistake.
    """
    async with connected(node) as (_, session):
        insert = await session.prepare(INSERTS[0])
        batch = BatchStatement().add(insert, (0, "a")).add(text, parameters)
        await session.set_keyspace("ks")  # the prepared statement's table is in this keyspace
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            await session.execute(batch)
            await session.set_keyspace("other")
            await session.execute(BatchStatement().add(insert, (0, "a")))
            qualified = text.replace("t9", "other.t9")
            await session.execute(BatchStatement().add(insert, (0, "a")).add(qualified, parameters))
            # Before version 5, the session's keyspace applies, so there is no warning.
            if node.queries()[-1].version < 5:
                await session.execute(batch)
                return
        with pytest.warns(RuntimeWarning, match="executed in keyspace 'ks'.* and not in 'other'"):
            await session.execute(batch)


async def test_the_keyspace_of_a_statement_in_a_batch_warns(node: FakeNode) -> None:
    """If a statement in a batch has another `keyspace` than the batch, there is a warning.

    A batch has a single keyspace for all of its query strings.
    """
    statement = SimpleStatement("INSERT INTO t9 (k) VALUES (1)", keyspace="other")
    qualified = SimpleStatement("INSERT INTO other.t9 (k) VALUES (1)", keyspace="other")
    node.prime(Opcode.BATCH, void())
    async with connected(node) as (_, session):
        await session.set_keyspace("ks")
        batch = BatchStatement().add("INSERT INTO t8 (k) VALUES (1)").add(statement)
        with pytest.warns(RuntimeWarning, match="keyspace='other' of a statement has no effect"):
            await session.execute(batch)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            await session.execute(batch.clear().add(qualified))
            batch.clear().add(statement).keyspace = "other"
            await session.execute(batch)
            await session.set_keyspace("other")
            await session.execute(BatchStatement().add(statement))


async def test_the_settings_of_a_batch_are_sent(node: FakeNode) -> None:
    """A batch is sent with its type, its consistency levels and a timestamp."""
    async with connected(node) as (_, session):
        batch = BatchStatement(
            BatchType.UNLOGGED,
            consistency_level=ConsistencyLevel.QUORUM,
            serial_consistency_level=ConsistencyLevel.LOCAL_SERIAL,
        )
        await session.execute(batch.add(INSERTS[0], (0, "a")))
        request = node.queries()[-1]
        assert request.batch_type == BatchType.UNLOGGED.value
        assert request.consistency == ConsistencyLevel.QUORUM
        assert request.serial_consistency == ConsistencyLevel.LOCAL_SERIAL
        assert request.timestamp is not None


async def test_listeners_get_every_row(node: FakeNode) -> None:
    """A request listener gets a message with an entry for each row and query string of a batch."""
    async with connected(node) as (_, session):
        request_bodies: list[Any] = []
        session.add_request_init_listener(
            lambda future: request_bodies.append(future.request.request_body)
        )
        statement = await session.prepare(INSERTS[0])
        await session.execute(BatchStatement().add_many(statement, [(0, "a"), (1, "b")]).add("x"))
        # True means a row of a prepared statement, and False means a query string.
        assert [query[0] for query in request_bodies[-1].message.queries] == [True, True, False]
        assert [values for _, values in statements_sent(node)] == [
            [b"\0\0\0\0", b"a"],
            [b"\0\0\0\1", b"b"],
            [],
        ]


# -- size ------------------------------------------------------------------------------------------


def warnings_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return the logged warnings about the size of a batch."""
    return [
        record.getMessage()
        for record in caplog.records
        if "batch_size_warn_threshold" in record.getMessage()
    ]


async def test_a_large_batch_is_logged_once_in_an_interval(
    node: FakeNode, caplog: pytest.LogCaptureFixture
) -> None:
    """A batch above `batch_size_warn_threshold` is logged as a warning, but only once."""
    caplog.set_level(logging.WARNING, "cassandra.cluster")
    async with connected(node) as (_, session):
        statement = await session.prepare(INSERTS[0])
        large = BatchStatement().add_many(statement, [(k, "x" * 1000) for k in range(50)])
        # Nothing is logged without a threshold, or for a batch below the threshold.
        session.batch_size_warn_threshold = None
        await session.execute(large)
        session.batch_size_warn_threshold = 60_000
        await session.execute(large)
        assert warnings_of(caplog) == []
        session.batch_size_warn_threshold = 10_000
        await session.execute(large)
        await session.execute(large)
        (warning,) = warnings_of(caplog)
        assert warning.startswith(f"a batch of 50 that begins with '{INSERTS[0]}' has 5")
        assert "more than the 10000 of" in warning
        # In version 3, the driver does not know the partition key, so it cannot count partitions.
        assert ("for 50 partitions" in warning) == (node.queries()[-1].version >= 4)


async def test_a_large_batch_in_one_partition_is_not_logged(
    node: FakeNode, caplog: pytest.LogCaptureFixture
) -> None:
    """A large batch is not logged if all its rows are in the same partition."""
    caplog.set_level(logging.WARNING, "cassandra.cluster")
    async with connected(node) as (_, session):
        statement = await session.prepare(INSERTS[0])
        await session.execute(BatchStatement().add_many(statement, [(1, "x" * 1000)] * 50))
        # In version 3, the driver does not know that there is one partition only, so it logs a
        # warning.
        expected_count = 1 if node.queries()[-1].version < 4 else 0
        assert len(warnings_of(caplog)) == expected_count


# -- objects as parameters ------------------------------------------------------------------------


@dataclasses.dataclass
class Row:
    k: int
    v: str


@dataclasses.dataclass
class RowWithMore(Row):
    more: int = 1


class Attributes:
    """An object that has the given keyword arguments as attributes."""

    def __init__(self, **named: Any) -> None:
        self.__dict__.update(named)


@pytest.mark.parametrize(
    "query_of", [lambda prepared: prepared, lambda prepared: INSERTS[0]], ids=["prepared", "text"]
)
async def test_parameters_may_be_an_object_with_attributes(
    node: FakeNode, query_of: Callable[[Any], Any]
) -> None:
    """If parameters are an object, its attributes are bound to the markers by name.

    Fields of a dataclass without a marker are refused. Other attributes are ignored.
    """
    async with connected(node) as (_, session):
        statement = await session.prepare(INSERTS[0])
        query = query_of(statement)
        # Objects of two classes have the attributes k and v.
        for row in (Row(1, "a"), Attributes(k=1, v="a", more=5)):
            await session.execute(query, row)
            assert node.queries()[-1].values == [b"\0\0\0\1", b"a"]
        # A dataclass has one field too many, and other objects have missing attributes.
        with pytest.raises(
            ValueError,
            match=r"RowWithMore has the field 'more', "
            r"but the bind markers are k, v.*INSERT INTO t0",
        ):
            await session.execute(query, RowWithMore(1, "a"))
        with pytest.raises(TypeError, match="none of the attributes k, v"):
            await session.execute(query, Attributes(z=1))
        with pytest.raises(
            (ValueError, KeyError), match=r"(the partition key needs a|no) value for (column )?'k'"
        ):
            await session.execute(query, Attributes(v="a"))
        # Numbers, strings and objects without attributes are refused.
        for wrong in (5, "abc", object()):
            with pytest.raises(TypeError, match="parameters must be a sequence or a mapping"):
                await session.execute(query, wrong)
        with pytest.raises(TypeError, match="parameters must be a sequence or a mapping"):
            await session.execute("SELECT %s", Row(1, "a"))


async def test_a_missing_attribute_is_unset_or_an_error(node: FakeNode) -> None:
    """If an object lacks an attribute, the value is unset, or an error in protocol version 3.

    Unset values exist since version 4.
    """
    async with connected(node) as (_, session):
        statement = await session.prepare(INSERTS[0])
        if statement.protocol_version < 4:
            with pytest.raises(KeyError, match="'v'"):
                await session.execute(statement, Attributes(k=1))
        else:
            await session.execute(statement, Attributes(k=1))
            assert node.queries()[-1].values[0] == b"\0\0\0\1"


async def test_a_query_string_is_routed_by_its_first_row(nodes: FakeCluster) -> None:
    """A batch is routed by the partition of its first row, even if this row has a query string.

    The driver knows the partition only after it has prepared the query string.
    """

    class RecordingPolicy(RoundRobinPolicy):
        routing_keys: list[Any] = []

        def make_query_plan(self, working_keyspace: str | None = None, query: Any = None) -> Any:
            self.routing_keys.append(getattr(query, "routing_key", None))
            return super().make_query_plan(working_keyspace, query)

    profile = ExecutionProfile(load_balancing_policy=RecordingPolicy())
    async with connected(nodes, execution_profiles={"keys": profile}) as (_, session):
        batch = BatchStatement().add("x").add(SimpleStatement(INSERTS[0]), (7, "a"))
        await session.execute(batch, execution_profile="keys")
        assert RecordingPolicy.routing_keys[-1] == b"\0\0\0\7"


@pytest.mark.parametrize("own_keyspace", [None, "c"])
async def test_a_batch_runs_in_its_or_the_sessions_keyspace(
    node: FakeNode, own_keyspace: str | None
) -> None:
    """A batch runs in its own keyspace, or else in the session's keyspace.

    This holds even if one of its queries names another keyspace.
    """
    with_markers, unqualified = "INSERT INTO b.w (k) VALUES (?)", "INSERT INTO w (k) VALUES (?)"
    for text, keyspace in ((with_markers, "b"), (unqualified, own_keyspace or "a")):
        node._statements[text] = Prepared(
            text, [("k", "int")], pk_indexes=[0], keyspace=keyspace, table="w"
        )
    requests: list[tuple[int, Any]] = []

    def record_request(request: Any) -> bool:
        if request.opcode == Opcode.BATCH or request.query == unqualified:
            requests.append((request.opcode, request.keyspace or request.connection.keyspace))
        return False  # let the node respond as usual

    node.prime(record_request, void())
    async with connected(node) as (_, session):
        await session.set_keyspace("a")
        batch = BatchStatement()
        batch.keyspace = own_keyspace
        batch.add(with_markers, (1,)).add("INSERT INTO w (k) VALUES (2)").add(unqualified, (3,))
        for _ in range(2):
            await session.execute(batch)
        expected = own_keyspace or "a"
        assert requests == [(opcode, expected) for opcode in (Opcode.PREPARE, *[Opcode.BATCH] * 2)]
        assert batch.keyspace == own_keyspace
        assert batch.routing_key is None
        assert batch.table is None


class Customer:
    """A row object that also refers to its session, and to objects that refer back to it."""

    def __init__(self, session: Any) -> None:
        self.session = session
        self.k = 5
        self.v = "a"
        self.orders = [Order(self, number) for number in range(30)]


class Order:
    """A row object that refers back to its customer."""

    def __init__(self, customer: Customer, number: int) -> None:
        self.customer = customer
        self.orders = customer.__dict__
        self.k = number
        self.v = str(number)


async def test_values_of_row_objects_are_read_by_the_call(node: FakeNode) -> None:
    """The values of an object are read when `execute` or `add_many` is called.

    This holds even if the query string must be prepared first. Objects that the object refers to
    are not copied.
    """
    async with connected(node) as (_, session):
        customer = Customer(session)
        execution = session.execute(INSERTS[0], customer)
        # The values were read by `execute`, so this change must have no effect.
        customer.v = "changed"
        await execution
        (request,) = [request for request in node.requests if request.opcode == Opcode.EXECUTE]
        assert list(request.values) == [bytes([0, 0, 0, 5]), b"a"]
        batch = BatchStatement().add_many(INSERTS[1], customer.orders)
        for order in customer.orders:
            order.v = "changed"
        await session.execute(batch)
        assert [bound for _, bound in statements_sent(node)] == [
            [bytes([0, 0, 0, number]), str(number).encode()] for number in range(30)
        ]
