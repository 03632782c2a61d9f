"""Requests of the object mapper that fail: the model instances must keep their changes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from cassandra import InvalidRequest, OperationTimedOut, Unavailable, aio
from cassandra.cluster import Cluster
from cassandra.cqlengine import CQLEngineException, columns, connection
from cassandra.cqlengine.management import drop_keyspace
from cassandra.cqlengine.models import Model
from cassandra.cqlengine.query import BatchQuery
from cassandra.errors import ConnectionException, NoHostAvailable
from cassandra.protocol import OverloadedErrorMessage
from cassandra.testing.fake import (
    ErrorCode,
    FakeCluster,
    FakeNode,
    Message,
    Opcode,
    Request,
    close,
    error,
    paged,
    reset,
    rows,
    silence,
)
from tests.waiting import WAIT

INSERT = 'INSERT INTO ks.row ("id", "name") VALUES (?, ?)'
UPDATE = 'UPDATE ks.row SET "name" = ? WHERE "id" = ?'
ADD = 'UPDATE ks.row SET "tags" = "tags" + ? WHERE "id" = ?'
SELECT = 'SELECT "name", "tags" FROM ks.row WHERE "id" = ? LIMIT ?'
ALL = "SELECT * FROM ks.row LIMIT ?"
COLUMNS = [("id", "int"), ("name", "text"), ("tags", "set<text>")]


class Row(Model):
    __keyspace__ = "ks"
    id = columns.Integer(primary_key=True)
    name = columns.Text()
    tags = columns.Set(columns.Text)


class Odd(columns.Text):
    """An application's column class, which converts "5" to a value that cannot be bound."""

    def to_database(self, value: Any) -> Any:
        return object() if value == "5" else value


class OddRow(Model):
    __keyspace__ = "ks"
    __table_name__ = "row"
    id = columns.Integer(primary_key=True)
    name = Odd()


@pytest.fixture
def node() -> Iterator[FakeNode]:
    """Yield a node that can prepare the statements of the model `Row`."""
    with FakeNode() as fake_node:
        fake_node.prime_prepare(INSERT, COLUMNS[:2])
        fake_node.prime_prepare(UPDATE, [COLUMNS[1], COLUMNS[0]])
        fake_node.prime_prepare(ADD, [COLUMNS[2], COLUMNS[0]])
        fake_node.prime_prepare(SELECT, [COLUMNS[0], ("[limit]", "int")], COLUMNS[1:])
        fake_node.prime_prepare(ALL, [("[limit]", "int")], COLUMNS)
        yield fake_node


@pytest.fixture
def connected(node: FakeNode) -> Iterator[FakeNode]:
    """Connect the mapper's default connection to the node, and yield the node."""
    with Cluster([node.address], port=node.port) as cluster:
        connection.set_session(cluster.connect())
        yield node
        connection.unregister_connection(connection.DEFAULT_CONNECTION)


@pytest.mark.parametrize("has_level", [False, True])
def test_a_row_that_cannot_be_bound_fails_alone(connected: FakeNode, has_level: bool) -> None:
    """If a row of `create_many` cannot be bound, all other rows are written.

    This holds with a consistency level (`has_level`) and without.
    """
    rows_of_model = OddRow.objects.consistency(1) if has_level else OddRow.objects
    with pytest.raises(TypeError, match="row 5: ") as caught:
        rows_of_model.create_many([{"id": number, "name": str(number)} for number in range(9)])
    failed: Any = caught.value
    assert [number for number, _ in failed.failed_rows] == [5]
    # The eight other rows of the nine were written.
    assert len([r for r in connected.requests if r.opcode == Opcode.EXECUTE]) == 8


async def test_a_row_that_cannot_be_bound_fails_alone_in_asyncio(node: FakeNode) -> None:
    """If one row of `acreate_many` cannot be encoded, the other rows are still written.

    The error has the position of the row.
    """
    async with aio.Cluster([node.address], port=node.port) as cluster:
        connection.set_session(await cluster.connect())
        try:
            with pytest.raises(TypeError, match="row 5: "):
                await OddRow.objects.consistency(1).acreate_many(
                    [{"id": number, "name": str(number)} for number in range(9)]
                )
        finally:
            connection.unregister_connection(connection.DEFAULT_CONNECTION)
    # The eight other rows of the nine were written.
    assert len([r for r in node.requests if r.opcode == Opcode.EXECUTE]) == 8


def test_after_a_timeout_of_a_batch_the_changes_are_still_to_be_saved(connected: FakeNode) -> None:
    """If a batch times out, its rows still have their changes, and it can be executed again."""
    row = Row.create(id=1, name="a")
    connected.prime(Opcode.BATCH, silence())
    callback_calls: list[int] = []
    batch = BatchQuery(timeout=0.05)
    batch.add_callback(callback_calls.append, 1)
    row.name = "b"
    row.batch(batch).save()
    row.tags.add("t")
    row.batch(batch).save()
    # The batch has taken over the changes of the row, so the row itself has no unsaved changes.
    assert row.get_changed_columns() == []
    with pytest.raises(OperationTimedOut):
        batch.execute()
    assert callback_calls == []
    # The write may have failed, so the changes must be saved again.
    assert row.get_changed_columns() == ["name", "tags"]
    connected.clear_primes()
    # Execute the batch a second time, with a longer timeout.
    batch.warn_multiple_exec = False
    batch.timeout = WAIT
    batch.execute()
    assert callback_calls == [1]
    assert row.get_changed_columns() == []


def test_after_an_error_of_the_server_the_changes_are_still_to_be_saved(
    connected: FakeNode,
) -> None:
    """If the server refuses `save` or `update`, the row's change must still be saved."""
    row = Row.create(id=1, name="a")
    connected.prime(UPDATE, error(ErrorCode.UNAVAILABLE))
    row.name = "b"
    with pytest.raises(Unavailable):
        row.save()
    assert row.name == "b"
    assert row.get_changed_columns() == ["name"]
    with pytest.raises(Unavailable):
        row.update(name="c")
    # The row keeps the value of the failed `update`, as in cassandra-driver.
    assert row.name == "c"
    assert row.get_changed_columns() == ["name"]


def test_after_a_lost_connection_the_next_save_writes_the_values(connected: FakeNode) -> None:
    """If the connection breaks during `update`, the next `save` writes the new values."""
    row = Row.create(id=1, name="a")
    connected.prime(UPDATE, close(), times=1)
    with pytest.raises(ConnectionException, match="was closed by the server"):
        row.update(name="b")
    assert row.get_changed_columns() == ["name"]
    row.save()
    # The node gets the same UPDATE twice: from `update`, and from `save`.
    updates = [
        request.values
        for request in connected.requests
        if request.opcode == Opcode.EXECUTE and request.query == UPDATE
    ]
    assert updates == [[b"b", b"\0\0\0\1"]] * 2
    assert row.get_changed_columns() == []


def test_pages_are_fetched_as_they_are_needed(connected: FakeNode) -> None:
    """A query of the mapper requests its pages only as its rows are read."""
    connected.prime(ALL, paged(COLUMNS, [(number, "x", None) for number in range(25)]))
    rows = iter(Row.objects.fetch_size(10))
    assert next(rows).id == 0
    # 25 rows in pages of 10. One page has been read, and the next page may have been requested
    # ahead.
    assert len(connected.queries(ALL)) in (1, 2)
    assert [row.id for row in rows] == list(range(1, 25))
    # All three pages were requested, each of them once.
    assert len(connected.queries(ALL)) == 3
    assert connected.count(Opcode.PREPARE) == 1


def test_after_a_failed_page_the_query_can_be_iterated_again(
    connected: FakeNode,
) -> None:
    """If a page fails, a second iteration over the mapper's query gets all rows."""
    connected.prime(ALL, paged(COLUMNS, [(number, "x", None) for number in range(25)]))
    rows = Row.objects.fetch_size(10)
    assert len(rows[:10]) == 10
    connected.prime(ALL, error(ErrorCode.OVERLOADED), times=10)
    with pytest.raises(OverloadedErrorMessage):
        list(rows)
    connected.clear_primes()
    connected.prime(ALL, paged(COLUMNS, [(number, "x", None) for number in range(25)]))
    assert len(list(rows)) == 25


def test_the_same_iterator_goes_on_after_a_failed_page(connected: FakeNode) -> None:
    """After a failed page, calling `next` again continues with this page.

    It must not report the end of the rows, even if there are several iterators.
    """
    pages = paged(COLUMNS, [(number, "x", None) for number in range(25)])
    failures = [error(ErrorCode.INVALID)] * 2
    # The driver may ask for the second page before the application has read the first one.
    connected.prime(
        ALL, lambda request: failures.pop() if request.paging_state and failures else pages
    )
    queryset = Row.objects.fetch_size(10)
    rows, other_rows = iter(queryset), iter(queryset)
    assert [next(rows).id for _ in range(10)] == list(range(10))
    for _ in range(2):
        with pytest.raises(InvalidRequest):
            next(rows)
    assert [row.id for row in rows] == list(range(10, 25))
    assert [row.id for row in other_rows] == list(range(25))


async def test_the_same_awaited_iterator_goes_on_after_errors(node: FakeNode) -> None:
    """After a failed request or page, calling `anext` again continues with this request or page."""
    async with aio.Cluster([node.address], port=node.port) as cluster:
        connection.register_connection("aio", session=await cluster.connect())
        try:
            pages = paged(COLUMNS, [(number, "x", None) for number in range(25)])
            request_count = 0

            def answer(request: Request) -> Message:
                """Let the first and the third request fail, and return pages otherwise."""
                nonlocal request_count
                request_count += 1
                return error(ErrorCode.INVALID) if request_count in (1, 3) else pages

            node.prime(ALL, answer)
            rows = aiter(Row.objects.using(connection="aio").fetch_size(10))
            # The first request fails, and the next `anext` repeats it.
            with pytest.raises(InvalidRequest):
                await anext(rows)
            assert [(await anext(rows)).id for _ in range(10)] == list(range(10))
            # The request for the second page fails, and the next iteration repeats it.
            with pytest.raises(InvalidRequest):
                await anext(rows)
            assert [row.id async for row in rows] == list(range(10, 25))
        finally:
            connection.unregister_connection("aio")


def test_forgotten_statements_are_prepared_again(connected: FakeNode) -> None:
    """If the node has forgotten a statement, the mapper's next request still succeeds."""
    Row.create(id=1, name="a")
    connected.forget_prepared()
    Row.create(id=2, name="b")
    assert count_prepares(connected) == 2
    first, second = connected.queries(INSERT)
    assert (first.values[1], second.values[1]) == (b"a", b"b")


def count_prepares(node: FakeNode) -> int:
    """Return how often the node has received a PREPARE of INSERT."""
    return sum(
        request.opcode == Opcode.PREPARE and request.query == INSERT for request in node.requests
    )


def test_after_a_change_of_types_values_are_bound_again(connected: FakeNode) -> None:
    """If a column's type has changed when a statement is prepared, values are encoded again."""
    Row.create(id=1, name="a")
    connected.prime_prepare(INSERT, [("id", "bigint"), COLUMNS[1]])
    connected.forget_prepared()
    for number in (2, 3, 4):
        Row.create(id=number, name="b")
        request = connected.queries(INSERT)[-1]
        assert request.values[0] == number.to_bytes(8, "big")
    # Insert 1 prepared the statement. The node had forgotten it at insert 2, so the driver prepared
    # it again and bound the values again. Because its types had changed, the mapper dropped the
    # statement, so insert 3 prepared it again. Insert 4 used the statement of insert 3.
    assert count_prepares(connected) == 3


def test_drop_keyspace_forgets_the_statements_of_all_connections(
    connected: FakeNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`drop_keyspace` clears the prepared statements of all connections of the mapper.

    It also clears those of connections that are not in its argument `connections`.
    """
    monkeypatch.setenv("CQLENG_ALLOW_SCHEMA_MANAGEMENT", "1")
    Row.create(id=1, name="a")
    connection.register_connection("other", session=connection.get_session())
    try:
        Row.objects.using(connection="other").create(id=1, name="a")
        drop_keyspace("gone", connections=["other"])
        assert connection.get_connection().prepared == {}
        assert connection.get_connection("other").prepared == {}
    finally:
        connection.unregister_connection("other")


async def failing_batch(query: str) -> None:
    """Execute an UPDATE in a batch on the mapper's connection "aio"."""
    async with BatchQuery(connection="aio") as batch:
        batch.add_bound(query, ["x", 1])


async def test_after_errors_of_awaited_calls_the_changes_are_still_to_be_saved(
    node: FakeNode,
) -> None:
    """After errors of awaited calls, changes must still be saved, as in the blocking API.

    Blocking methods are refused on an asyncio connection.
    """
    async with aio.Cluster([node.address], port=node.port) as cluster:
        connection.register_connection("aio", session=await cluster.connect())
        try:
            row = await Row.objects.using(connection="aio").acreate(id=1, name="a")
            # After a timeout, the write may have failed, so the change must be saved again.
            node.prime(UPDATE, silence())
            with pytest.raises(OperationTimedOut):
                await row.timeout(0.2).aupdate(name="b")
            assert row.get_changed_columns() == ["name"]
            row.name = "c"
            # After an error of a batch, the row's changes must be saved again.
            node.prime(Opcode.BATCH, error(ErrorCode.INVALID))
            with pytest.raises(InvalidRequest):
                await failing_batch(UPDATE)
            with pytest.raises(CQLEngineException, match="asave"):
                row.save()
            assert row.get_changed_columns() == ["name"]
        finally:
            connection.unregister_connection("aio")


def test_a_failed_setup_raises_unless_it_is_lazy_or_retried(node: FakeNode) -> None:
    """`setup` connects at once, and raises an error if this fails.

    With `lazy_connect` or `retry_connect`, each later use tries to connect again.
    """
    node.refuse_connections()
    with pytest.raises(NoHostAvailable):
        connection.setup([node.address], "ks", port=node.port)
    connection.setup([node.address], "ks", lazy_connect=True, port=node.port)
    try:
        with pytest.raises(NoHostAvailable):
            Row.create(id=1, name="a")
        node.accept_connections()
        Row.create(id=1, name="a")  # with `lazy_connect`, each use tries to connect
        assert connection.get_session() is connection.session is not None
        assert connection.cql_cluster is connection.get_cluster()
        assert connection.cluster is connection.get_cluster()
    finally:
        connection.unregister_connection(connection.DEFAULT_CONNECTION)
        connection.set_default_keyspace(None)
    assert connection.session is None
    node.refuse_connections()
    connection.setup([node.address], "ks", retry_connect=True, port=node.port)
    try:
        node.accept_connections()
        Row.create(id=2, name="b")
    finally:
        connection.unregister_connection(connection.DEFAULT_CONNECTION)
        connection.set_default_keyspace(None)


def test_connections_are_registered_by_name(connected: FakeNode) -> None:
    """A registered connection can be used by a query, by a batch, or as the default connection.

    For an unknown name, the error lists the known names.
    """
    session = connection.get_session()
    connection.register_connection("other", session=session)
    # A second registration with the same name replaces the first registration.
    connection.register_connection("other", session=session)
    with pytest.raises(CQLEngineException, match="mutually exclusive"):
        connection.register_connection("both", hosts=["h"], session=session)
    with pytest.raises(CQLEngineException, match="'nobody'"):
        connection.set_default_connection("nobody")
    with pytest.raises(CQLEngineException, match=r"'nobody'.*'other'"):
        Row.objects.using(connection="nobody").create(id=1, name="a")
    Row.objects.using(connection="other").create(id=1, name="a")
    with BatchQuery(connection="other") as batch:
        Row.batch(batch).create(id=1, name="a")
    connection.set_default_connection("other")
    Row.create(id=1, name="a")
    connection.unregister_connection("other")
    connection.unregister_connection("other")
    with pytest.raises(CQLEngineException, match="no default connection"):
        Row.create(id=1, name="a")
    assert connection.format_log_context("m", "c", "k") == "[Connection: c, Keyspace: k] m"
    assert connection.format_log_context("m") == "[Connection: DEFAULT_CONNECTION] m"


def test_an_idempotent_read_is_sent_to_the_next_node_if_a_connection_breaks() -> None:
    """If a node resets the connection, an idempotent read of the mapper goes to the next node."""
    with FakeCluster(2) as nodes:
        nodes.prime_prepare(SELECT, [COLUMNS[0], ("[limit]", "int")], COLUMNS[1:])
        nodes.prime(SELECT, rows(COLUMNS[1:], [("a", None)]))
        with Cluster(nodes.contact_points, port=nodes.port) as cluster:
            connection.set_session(cluster.connect())
            try:
                assert Row.get(id=1).name == "a"
                # Two reads start at different nodes, so one of them reaches the node that resets
                # its connection.
                nodes[0].prime(SELECT, reset(), times=1)
                for _ in range(2):
                    assert Row.objects.idempotent().get(id=1).name == "a"
            finally:
                connection.unregister_connection(connection.DEFAULT_CONNECTION)
