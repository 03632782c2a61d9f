"""Test batches of the object mapper (`BatchQuery`), on a fake session."""

from __future__ import annotations

import datetime
import uuid
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from cassandra import ConsistencyLevel
from cassandra.cqlengine import CQLEngineException, columns, connection
from cassandra.cqlengine.models import Model
from cassandra.cqlengine.query import (
    BatchQuery,
    BatchType,
    LWTException,
    batch as batch_module,
    dml,
)
from cassandra.cqlengine.statements import InsertStatement
from cassandra.errors import InvalidRequest
from cassandra.query.batch import BatchType as CBatchType
from tests.unit.cqlengine.conftest import FakeSession
from tests.unit.cqlengine.query.test_dml import Shelf, fail, shelf_read
from tests.unit.cqlengine.query.test_queryset import Car
from tests.unit.cqlengine.test_models import Hits, Person

pytestmark = pytest.mark.usefixtures("session")


class Redirected(Model):
    """A model with a connection of its own."""

    __connection__ = "its own"
    id = columns.Integer(primary_key=True)


MOMENT = datetime.datetime(2020, 1, 1)
# The write time of MOMENT, a local time, in microseconds since 1970.
MICROSECONDS = int(MOMENT.timestamp()) * 1_000_000


@pytest.mark.parametrize("error", [None, InvalidRequest("no")])
def test_statements_that_are_added_during_an_execution_belong_to_the_next(
    error: Exception | None,
) -> None:
    """Other threads and tasks may add statements while the batch is under way."""
    batch = BatchQuery()
    batch.warn_multiple_exec = False
    first = Car.batch(batch).create(maker="a", line=1, year=2)
    execution = batch._operation()
    request: Any = next(execution)
    second = Car.batch(batch).create(maker="b", line=1, year=2)
    assert [values[0] for _, values in request.entries] == ["a"]
    if error is not None:
        with pytest.raises(InvalidRequest):
            execution.throw(error)
    else:
        with pytest.raises(StopIteration):
            execution.send(None)
    # After an error, the first statement is executed again, too.
    expected = ["b"] if error is None else ["a", "b"]
    assert [values[0] for _, values in batch._entries] == expected
    batch.execute()
    assert batch._entries == []
    assert [first.get_changed_columns(), second.get_changed_columns()] == [[], []]


def test_two_executions_at_the_same_time_send_each_statement_once(session: FakeSession) -> None:
    """Several threads or tasks may execute one batch, for example a timer and a full buffer."""
    calls: list[str] = []
    batch = BatchQuery()
    batch.warn_multiple_exec = False
    batch.add_callback(calls.append, "done")
    cars = [Car.batch(batch).create(maker="a", line=1, year=2)]
    first = batch._operation()
    assert [values[0] for _, values in next(first).entries] == ["a"]  # type: ignore[attr-defined]
    # Nothing was added since, so nothing is sent, and the callbacks are not called yet.
    batch.execute()
    assert calls == []
    cars.append(Car.batch(batch).create(maker="b", line=1, year=2))
    second = batch._operation()
    assert [values[0] for _, values in next(second).entries] == ["b"]  # type: ignore[attr-defined]
    cars.append(Car.batch(batch).create(maker="c", line=1, year=2))
    with pytest.raises(StopIteration):
        second.send(None)
    assert calls == ["done"]
    with pytest.raises(TimeoutError):
        first.throw(TimeoutError("gone"))
    assert [car.get_changed_columns() != [] for car in cars] == [True, False, True]
    batch.execute()
    assert [values[0] for _, values in entries_of(session)] == ["a", "c"]
    assert calls == ["done", "done"]
    assert [car.get_changed_columns() for car in cars] == [[], [], []]


def test_a_batch_collects_statements_of_one_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch collects the statements of its operations, which must all use the same connection."""
    batch = BatchQuery(batch_type=BatchType.Unlogged, timestamp=MOMENT)
    car = Car.batch(batch).create(maker="a", line=1, year=2)
    Car.objects(maker="a", line=1, year=2).batch(batch).delete()
    car.price = 5
    car.batch(batch).save()
    assert batch._entries == [
        (
            'INSERT INTO ks.car ("maker", "line", "year") VALUES (?, ?, ?) USING TIMESTAMP ?',
            ["a", 1, 2, MICROSECONDS],
        ),
        (
            'DELETE FROM ks.car  USING TIMESTAMP ?  WHERE "maker" = ? AND "line" = ? AND "year" '
            "= ?",
            [MICROSECONDS, "a", 1, 2],
        ),
        (
            'UPDATE ks.car USING TIMESTAMP ? SET "price" = ? WHERE "maker" = ? AND "line" = ? '
            'AND "year" = ?',
            [MICROSECONDS, 5, "a", 1, 2],
        ),
    ]
    # The batch uses the connection of its first statement, so a statement for another connection is
    # refused.
    with pytest.raises(CQLEngineException, match="one connection"):
        batch.add_bound("x", values=[], connection="other")
    assert len(batch.queries) == 3
    batch = BatchQuery()
    batch.add_bound("x", values=[], connection="other")
    with pytest.raises(CQLEngineException, match="DEFAULT_CONNECTION, the batch for other"):
        Car.batch(batch).create(maker="a", line=1, year=2)
    assert len(batch.queries) == 1
    # All statements use the connection of the batch, if it was created with one.
    batch = BatchQuery(connection="other")
    Car.batch(batch).create(maker="a", line=1, year=2)
    Redirected.batch(batch).create(id=1)
    Redirected(id=2).batch(batch).save()
    Redirected.objects(id=3).batch(batch).delete()
    assert len(batch.queries) == 4


def test_a_batch_that_is_not_executed_leaves_instances_changed() -> None:
    """If the `with` block of a batch raises, the instances' values still count as not written."""
    car = Car(maker="a", line=1, year=2)
    batch = BatchQuery()
    with pytest.raises(ZeroDivisionError):
        run_block(batch, car.batch(batch).save, divide_by_zero)
    assert car.get_changed_columns() == ["maker", "line", "year"]


INSERT = 'INSERT INTO ks.car ("maker", "line", "year") VALUES (?, ?, ?)'


def statement_of(session: FakeSession) -> RecordedBatch:
    """Return the last batch statement that the session executed."""
    statement: Any = session.executions[-1].statement
    assert isinstance(statement, RecordedBatch)
    return statement


def entries_of(session: FakeSession) -> list[tuple[str, list[Any]]]:
    """Return the statements and values of the last batch that the session executed."""
    return [(bound.text, bound.values) for bound in statement_of(session).statements]


def saved_car() -> Car:
    """Return a car that was written to the database."""
    return Car.create(maker="a", line=1, year=2)


class RecordedBatch:
    """A fake `BatchStatement`, which also accepts the statements of the fake session."""

    def __init__(self, batch_type: CBatchType, consistency_level: int | None) -> None:
        self.batch_type = batch_type
        self.consistency_level = consistency_level
        self.statements: list[Any] = []

    def add(self, statement: Any, values: Any) -> None:
        self.statements.append(statement.bind(values))


@pytest.fixture(autouse=True)
def _record_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the mapper create `RecordedBatch` objects for its batches."""
    monkeypatch.setattr(batch_module, "BatchStatement", RecordedBatch)


# -- settings --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        (None, CBatchType.LOGGED),
        ("", CBatchType.LOGGED),
        ("logged", CBatchType.LOGGED),
        (BatchType.Unlogged, CBatchType.UNLOGGED),
        ("unlogged", CBatchType.UNLOGGED),
        (BatchType.Counter, CBatchType.COUNTER),
        (CBatchType.COUNTER, CBatchType.COUNTER),
    ],
)
def test_the_batch_has_its_type(session: FakeSession, argument: Any, expected: Any) -> None:
    """`batch_type` of a BatchQuery becomes the type of the batch statement."""
    with BatchQuery(batch_type=argument) as batch:
        Car.batch(batch).create(maker="a", line=1, year=2)
    assert statement_of(session).batch_type is expected


@pytest.mark.parametrize("argument", ["fast", 1, CBatchType])
def test_other_types_are_refused(argument: Any) -> None:
    """Other values of `batch_type` are refused."""
    with pytest.raises(ValueError, match="batch_type must be None or of BatchType"):
        BatchQuery(batch_type=argument)


@pytest.mark.parametrize("argument", ["now", 1.5, datetime.date(2020, 1, 1)])
def test_a_timestamp_of_another_class_is_refused(argument: Any) -> None:
    """A batch timestamp must be a datetime, a timedelta or a number of microseconds."""
    with pytest.raises(CQLEngineException, match="timestamp must be a datetime or a timedelta"):
        BatchQuery(timestamp=argument)


def test_a_statements_own_timestamp_takes_precedence(session: FakeSession) -> None:
    """If a statement of the batch has a timestamp, it is used instead of the batch's timestamp."""
    batch = BatchQuery(timestamp=MOMENT)
    Car.batch(batch).timestamp(MICROSECONDS + 1).create(maker="a", line=1, year=2)
    Car.batch(batch).create(maker="b", line=1, year=2)
    batch.execute()
    assert [values[-1] for _, values in entries_of(session)] == [MICROSECONDS + 1, MICROSECONDS]


def test_the_request_has_the_batchs_consistency_and_timeout(session: FakeSession) -> None:
    """The batch request has the consistency level and timeout of the BatchQuery."""
    batch = BatchQuery(consistency=ConsistencyLevel.ONE, timeout=7)
    Car.batch(batch).create(maker="a", line=1, year=2)
    assert batch.consistency(ConsistencyLevel.QUORUM) is batch
    batch.execute()
    assert statement_of(session).consistency_level == ConsistencyLevel.QUORUM
    assert session.executions[-1].timeout == 7


def test_the_batch_goes_to_the_named_connection() -> None:
    """A batch is executed on the connection that it names."""
    other = FakeSession()
    connection.register_connection("other", session=other)  # type: ignore[arg-type]
    try:
        with BatchQuery(connection="other") as batch:
            Car.batch(batch).create(maker="a", line=1, year=2)
        assert len(other.executions) == 1
    finally:
        connection.unregister_connection("other")


# -- statements ------------------------------------------------------------------------------------


def test_the_statements_of_a_batch_can_be_listed() -> None:
    """`queries` lists the batch's statements with their values."""
    batch = BatchQuery()
    batch.add_bound('UPDATE t SET "a?" = ? WHERE "b""?" = ?', [1, "x"])
    (statement,) = batch.queries
    assert str(statement) == 'UPDATE t SET "a?" = %(0)s WHERE "b""?" = %(1)s'
    assert statement.get_context() == {"0": 1, "1": "x"}


def test_only_statements_of_the_mapper_are_added() -> None:
    """`add_query` refuses a string, because only statements of the mapper can be added."""
    query: Any = "INSERT INTO t (k) VALUES (1)"
    with pytest.raises(CQLEngineException, match="only BaseCQLStatements can be added"):
        BatchQuery().add_query(query)


@pytest.mark.parametrize(
    ("own_timestamp", "expected"), [(None, MICROSECONDS), (MICROSECONDS + 1, MICROSECONDS + 1)]
)
def test_an_added_statement_gets_the_batchs_timestamp_if_it_has_none(
    own_timestamp: int | None, expected: int
) -> None:
    """A statement without a timestamp gets the batch's timestamp when it is added."""
    statement = InsertStatement("ks.t", timestamp=own_timestamp)
    statement.add_assignment(Car.__mapping__.columns["maker"], "a")
    batch = BatchQuery(timestamp=MOMENT)
    batch.add_query(statement)
    assert len(batch.queries) == 1
    ((text, values),) = batch._entries
    assert "USING TIMESTAMP ?" in text
    assert expected in values


def test_later_changes_of_a_collection_do_not_change_the_batch() -> None:
    """Changing a collection after it was added to a batch does not change the batch."""
    tags, scores, data = {"a"}, {"a": [1]}, bytearray(b"ab")
    batch = BatchQuery()
    batch.add_bound("x", [tags, scores, data, memoryview(data), "text", b"bytes", 5])
    tags.add("b")
    scores["a"].append(2)
    data[0] = 0
    expected = [{"a"}, {"a": [1]}, bytearray(b"ab"), b"ab", "text", b"bytes", 5]
    (query,) = batch.queries
    assert list(query.get_context().values()) == expected


# -- executing -------------------------------------------------------------------------------------


def test_a_batch_is_one_request_and_prepares_each_text_once(session: FakeSession) -> None:
    """A batch is sent as one request, and each different statement is prepared once."""
    batch = BatchQuery()
    for line in range(3):
        Car.batch(batch).create(maker="a", line=line, year=2)
    batch.execute()
    assert session.prepared == [INSERT]
    assert entries_of(session) == [(INSERT, ["a", line, 2]) for line in range(3)]
    assert len(session.executions) == 1
    assert batch.queries == []


def test_an_empty_batch_sends_nothing_and_calls_its_callbacks(session: FakeSession) -> None:
    """An empty batch sends nothing, but calls its callbacks."""
    calls: list[Any] = []
    with BatchQuery() as batch:
        batch.add_callback(calls.append, 1)
    assert session.executions == []
    assert calls == [1]


def test_callbacks_are_called_in_order_after_the_batch(session: FakeSession) -> None:
    """Callbacks are called in order, after the batch was executed."""
    calls: list[Any] = []

    def callback(*args: Any, **kwargs: Any) -> None:
        assert len(session.executions) == 1
        calls.append((args, kwargs))

    batch = BatchQuery()
    batch.add_callback(callback, 1, by="a")
    batch.add_callback(callback)
    Car.batch(batch).create(maker="a", line=1, year=2)
    batch.execute()
    assert calls == [((1,), {"by": "a"}), ((), {})]
    not_callable: Any = 5
    with pytest.raises(ValueError, match="is not a callable object"):
        batch.add_callback(not_callable)


def test_after_a_failure_callbacks_are_not_called_and_the_batch_may_be_executed_again(
    session: FakeSession,
) -> None:
    """A failed batch keeps its statements, and may be executed again.

    After each failure, the instances count as changed, and callbacks are not called. The successful
    execution calls the callbacks.
    """
    calls: list[Any] = []
    batch = BatchQuery()
    batch.warn_multiple_exec = False
    batch.add_callback(calls.append, 1)
    car = Car(maker="a", line=1, year=2).batch(batch)
    car.save()
    assert car.get_changed_columns() == []
    session.error = TimeoutError("gone")
    for _ in range(2):
        with pytest.raises(TimeoutError):
            batch.execute()
        assert car.get_changed_columns() == ["maker", "line", "year"]
    assert calls == []
    # The third execution succeeds.
    session.error = None
    batch.execute()
    assert car.get_changed_columns() == []
    assert entries_of(session) == [(INSERT, ["a", 1, 2])]
    assert calls == [1]


def test_collections_of_a_failed_batch_are_written_even_if_they_are_as_before(
    session: FakeSession,
) -> None:
    """Servers may have executed a failed batch, so the next save writes what differs from it.

    The same holds for a write that has failed before an instance was added to the batch.
    """
    session.return_row(nm="x", age=4, tags={"a"}, scores={"a": 1})
    person: Person = Person.get(id=1)
    person.scores["b"] = 2
    session.error = TimeoutError("gone")
    with pytest.raises(TimeoutError):
        person.save()
    del person.scores["b"]
    person.tags.add("b")
    batch = BatchQuery()
    person.batch(batch).save()
    with pytest.raises(TimeoutError):
        batch.execute()
    person.tags.remove("b")
    session.error = None
    person.save()
    assert session.last_statement == (
        'UPDATE ks.person SET "tags" = "tags" - ?, "scores"[?] = ? WHERE "id" = ?',
        [{"b"}, "b", None, 1],
    )
    assert person.get_changed_columns() == []


def shelf_in_batch(session: FakeSession, batch: BatchQuery) -> Shelf:
    """Return a shelf that was read, and whose steps 2 and then 3 were added in a batch."""
    shelf = shelf_read(session)
    for step in (2, 3):
        shelf.steps.append(step)
        shelf.batch(batch).save()
    return shelf


def test_both_saves_of_a_failed_batch_are_in_doubt(session: FakeSession) -> None:
    """If a batch with two saves of an instance fails, the next save writes what both have sent.

    Servers may have executed both. The set kept "b", which the first save had added.
    """
    shelf = shelf_read(session)
    batch = BatchQuery()
    shelf.tags.add("b")
    shelf.batch(batch).save()
    shelf.fixed.add("c")
    shelf.save()
    fail(session, batch.execute)
    shelf.tags.remove("b")
    shelf.fixed.remove("c")
    shelf.save()
    assert session.last_statement == (
        'UPDATE ks.shelf SET "tags" = "tags" - ?, "fixed" = ? WHERE "id" = ?',
        [{"b"}, {"a"}, 1],
    )


def test_a_batch_in_doubt_assigns_lists_when_it_is_executed_again(session: FakeSession) -> None:
    """Servers may have executed a failed batch, whose second execution would add elements twice.

    The first write of the list in the batch assigns the list, and the next one adds to it.
    """
    add = 'UPDATE ks.shelf SET "steps" = "steps" + ? WHERE "id" = ?'
    assign = 'UPDATE ks.shelf SET "steps" = ? WHERE "id" = ?'
    batch = BatchQuery()
    batch.warn_multiple_exec = False
    shelf = shelf_in_batch(session, batch)
    new = Shelf(id=2, steps=[1])
    new.batch(batch).save()
    # A later change of the instance is no part of the batch.
    shelf.steps.append(4)
    added = list(batch._entries)
    assert added[:2] == [(add, [[2], 1]), (add, [[3], 1])]
    # After a refusal, servers have not executed the batch.
    session.error = InvalidRequest("no")
    with pytest.raises(InvalidRequest):
        batch.execute()
    assert list(batch._entries) == added
    for _ in range(2):
        fail(session, batch.execute)
    # The refusal of a later execution does not tell what the earlier ones have done.
    session.error = InvalidRequest("no")
    with pytest.raises(InvalidRequest):
        batch.execute()
    session.error = None
    batch.execute()
    assert entries_of(session) == [(assign, [[1, 2], 1]), (add, [[3], 1]), added[2]]
    assert shelf.get_changed_columns() == ["steps"]
    shelf.save()
    assert session.last_statement == (add, [[4], 1])


def test_a_batch_in_doubt_assigns_lists_of_instances_that_are_gone(session: FakeSession) -> None:
    """The batch keeps what it needs of instances that the application has dropped."""
    batch = BatchQuery(timestamp=5)
    batch.warn_multiple_exec = False
    shelf = shelf_in_batch(session, batch)
    reference = weakref.ref(shelf)
    del shelf
    assert reference() is None
    fail(session, batch.execute)
    batch.execute()
    assign = 'UPDATE ks.shelf USING TIMESTAMP ? SET "steps" = ? WHERE "id" = ?'
    add = 'UPDATE ks.shelf USING TIMESTAMP ? SET "steps" = "steps" + ? WHERE "id" = ?'
    assert entries_of(session) == [(assign, [5, [1, 2], 1]), (add, [5, [3], 1])]


def test_lists_in_doubt_replace_their_own_statements(session: FakeSession) -> None:
    """A batch that has executed some statements before finds the others when it is in doubt."""
    batch = BatchQuery()
    batch.warn_multiple_exec = False
    Person.batch(batch).create(id=7)
    execution = batch._operation()
    next(execution)
    # These writes are added while the batch is under way.
    shelf = shelf_in_batch(session, batch)
    for number in (8, 9):
        Person.batch(batch).create(id=number)
    with pytest.raises(StopIteration):
        execution.send(None)
    # The application may also drop or reorder statements.
    batch.queries = batch.queries[::-1]
    fail(session, batch.execute)
    batch.execute()
    (_, ninth), (_, eighth), (_, third_step), assignment = entries_of(session)
    assert [ninth[0], eighth[0], third_step] == [9, 8, [[3], 1]]
    assert assignment == ('UPDATE ks.shelf SET "steps" = ? WHERE "id" = ?', [[1, 2], 1])
    assert shelf.get_changed_columns() == []


def test_statements_keep_the_batchs_timestamp_if_the_application_sets_them() -> None:
    """`queries` shows the statements without the batch's timestamp, and gets them back with it."""
    batch = BatchQuery(timestamp=5)
    Person.batch(batch).create(id=7)
    statements = batch.queries
    assert "TIMESTAMP" not in str(statements[0])
    batch.queries = statements
    ((text, values),) = batch._entries
    assert "USING TIMESTAMP ?" in text
    assert (values[0], values[-1]) == (7, 5)


def failed_batch_with_further_writes(
    session: FakeSession, later: Hits, *, in_block: bool
) -> tuple[BatchQuery, Hits]:
    """Return a batch that has failed, and to which a write was added later, and its first instance.

    :param later: the instance that is written later.
    :param in_block: True if the batch was not executed, because its block has failed.
    """
    session.return_row(views=4)
    first: Hits = Hits.get(page=uuid.UUID(int=1))
    batch = BatchQuery(batch_type=BatchType.Counter)
    batch.warn_multiple_exec = False
    first.views += 1
    if in_block:
        batch.__enter__()
        first.batch(batch).save()
        batch.__exit__(LookupError, None, None)
    else:
        first.batch(batch).save()
        session.error = InvalidRequest("no")
        with pytest.raises(InvalidRequest):
            batch.execute()
        session.error = None
    assert first.get_changed_columns() == ["views"]
    later.views += 1
    later.batch(batch).save()
    return batch, first


@pytest.mark.parametrize("in_block", [True, False])
def test_writes_that_are_added_to_a_failed_batch_are_stored_with_it(
    session: FakeSession, in_block: bool
) -> None:
    """A batch that is executed again after a failure may have further writes."""
    session.return_row(views=7)
    later: Hits = Hits.get(page=uuid.UUID(int=2))
    batch, first = failed_batch_with_further_writes(session, later, in_block=in_block)
    fail(session, batch.execute)
    assert first.get_changed_columns() == later.get_changed_columns() == ["views"]
    batch.execute()
    assert [values for _, values in entries_of(session)] == [
        [1, uuid.UUID(int=1)], [1, uuid.UUID(int=2)],
    ]  # fmt: skip
    assert first.get_changed_columns() == later.get_changed_columns() == []


@pytest.mark.parametrize("in_block", [True, False])
def test_a_second_write_of_an_instance_in_a_failed_batch_adds_only_its_own_change(
    session: FakeSession, in_block: bool
) -> None:
    """The batch sends both writes: the second one must not add the first one's difference, too."""
    session.return_row(views=4)
    first: Hits = Hits.get(page=uuid.UUID(int=1))
    batch, first = failed_batch_with_further_writes(session, first, in_block=in_block)
    first.views += 5
    first.batch(batch).save()
    batch.execute()
    by_page = [values[0] for _, values in entries_of(session) if values[1] == first.page]
    assert sum(by_page) == 1 + 1 + 5
    assert first.get_changed_columns() == []


def test_counters_of_a_batch_in_doubt_are_added_again(session: FakeSession) -> None:
    """Counters cannot be assigned: a batch that is executed again adds their differences again."""
    session.return_row(views=4)
    hits: Hits = Hits.get(page=uuid.UUID(int=1))
    batch = BatchQuery(batch_type=BatchType.Counter)
    batch.warn_multiple_exec = False
    hits.views += 2
    hits.batch(batch).save()
    fail(session, batch.execute)
    batch.execute()
    query = 'UPDATE other."AllHits" SET "views" = "views" + ? WHERE "page" = ?'
    assert entries_of(session) == [(query, [2, uuid.UUID(int=1)])]


class Votes(Model):
    __keyspace__ = "ks"
    topic = columns.Text(primary_key=True)
    yes = columns.Counter()
    no = columns.Counter()


def test_a_batch_deletes_counters(session: FakeSession) -> None:
    """A batch adds to counters and deletes those set to None; after a failure, once more."""
    update = ('UPDATE ks.votes SET "no" = "no" + ? WHERE "topic" = ?', [4, "a"])
    delete = ('DELETE "yes" FROM ks.votes WHERE "topic" = ?', ["a"])
    with BatchQuery(batch_type=BatchType.Counter) as batch:
        Votes.objects(topic="a").batch(batch).update(yes=None, no=4)
    assert entries_of(session) == [update, delete]

    session.return_row(topic="a", yes=5, no=2)
    votes: Votes = Votes.get(topic="a")
    batch = BatchQuery(batch_type=BatchType.Counter)
    batch.warn_multiple_exec = False
    votes.batch(batch).update(yes=None, no=6)
    assert votes.get_changed_columns() == []
    fail(session, batch.execute)
    assert sorted(votes.get_changed_columns()) == ["no", "yes"]
    batch.execute()
    assert entries_of(session) == [update, delete]
    assert votes.get_changed_columns() == []
    votes.yes = 3
    votes.save()
    assert session.last_statement == (
        'UPDATE ks.votes SET "yes" = "yes" + ? WHERE "topic" = ?',
        [3, "a"],
    )


def test_a_number_replaces_the_null_of_a_failed_batch(session: FakeSession) -> None:
    """If a batch that deletes a counter fails, a number set instead is added to the old one."""
    session.return_row(topic="a", yes=5, no=2)
    votes: Votes = Votes.get(topic="a")
    batch = BatchQuery(batch_type=BatchType.Counter)
    votes.batch(batch).update(yes=None, no=6)
    fail(session, batch.execute)
    votes.yes = 6
    votes.save()
    assert session.last_statement == (
        'UPDATE ks.votes SET "yes" = "yes" + ?, "no" = "no" + ? WHERE "topic" = ?',
        [1, 4, "a"],
    )


def test_disputed_values_stay_disputed_if_a_batch_fails(session: FakeSession) -> None:
    """If a batch fails, values that concurrent writes have disputed are written as a whole."""
    session.return_row(nm="x", age=4, tags={"a"}, scores={"a": 1, "b": 2})
    person: Person = Person.get(id=1)
    person.scores["a"] = 2
    first = dml.save(person)
    next(first)
    person.scores["a"] = 3
    person.save()
    with pytest.raises(StopIteration):
        first.send(None)
    batch = BatchQuery()
    person.batch(batch).save()
    session.error = TimeoutError("gone")
    with pytest.raises(TimeoutError):
        batch.execute()
    session.error = None
    del person.scores["b"]
    person.save()
    assert session.last_statement == (
        'UPDATE ks.person SET "scores" = ? WHERE "id" = ?',
        [{"a": 3}, 1],
    )


def test_a_second_execution_warns_and_sends_only_what_was_added_since(
    session: FakeSession,
) -> None:
    """A second execution of a batch warns, and sends only statements that were added since."""
    batch = BatchQuery()
    Car.batch(batch).create(maker="a", line=1, year=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        batch.execute()
    Car.batch(batch).create(maker="b", line=1, year=2)
    with pytest.warns(UserWarning, match="Batch executed multiple times") as caught:
        batch.execute()
    assert caught[0].filename == __file__
    assert entries_of(session) == [(INSERT, ["b", 1, 2])]


def test_the_warning_names_the_line_of_the_application(session: FakeSession) -> None:
    """The warning about a second execution names the line of the application's `with` block.

    The end of the block executes the batch for the second time.
    """
    with (
        pytest.warns(UserWarning, match="Batch executed multiple times") as caught,
        BatchQuery() as batch,
    ):
        batch.execute()
    assert caught[0].filename == __file__


def test_the_warning_can_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """`warn_multiple_exec = False` turns off the warning about a second execution."""
    monkeypatch.setattr(BatchQuery, "warn_multiple_exec", False)
    batch = BatchQuery()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        batch.execute()
        batch.execute()


@pytest.mark.parametrize("applied", [True, False])
def test_a_condition_that_does_not_hold_is_an_error(session: FakeSession, applied: bool) -> None:
    """If a condition of the batch's statements is not met, LWTException is raised."""
    session.return_row(**{"[applied]": applied})
    batch = BatchQuery()
    Car.batch(batch).if_not_exists().create(maker="a", line=1, year=2)
    Car.batch(batch).create(maker="a", line=2, year=2)
    if applied:
        batch.execute()
        return
    with pytest.raises(LWTException):
        batch.execute()


def test_without_a_condition_the_result_is_not_read(session: FakeSession) -> None:
    """`[applied]` in the result is read only if a statement of the batch has a condition."""
    session.return_row(**{"[applied]": False})
    with BatchQuery() as batch:
        Car.batch(batch).create(maker="a", line=1, year=2)


# -- blocks ----------------------------------------------------------------------------------------


def divide_by_zero() -> None:
    raise ZeroDivisionError


def run_block(batch: BatchQuery, *actions: Callable[[], Any]) -> None:
    """Call the functions inside a `with` block of the batch."""
    with batch:
        for action in actions:
            action()


@pytest.mark.parametrize("execute_on_exception", [False, True])
def test_a_block_that_fails_executes_the_batch_only_if_asked_to(
    session: FakeSession, execute_on_exception: bool
) -> None:
    """If the `with` block raises, the batch is executed only with `execute_on_exception`."""
    batch = BatchQuery(execute_on_exception=execute_on_exception)
    Car.batch(batch).create(maker="a", line=1, year=2)
    with pytest.raises(ZeroDivisionError):
        run_block(batch, divide_by_zero)
    assert len(session.executions) == (1 if execute_on_exception else 0)


@pytest.mark.parametrize("end", ["success", "failure", "exception"])
def test_after_the_batch_its_instances_write_directly_again(session: FakeSession, end: str) -> None:
    """After a batch has ended, its instances no longer belong to it, and write directly.

    The batch ends with success, with a failed execution, or with an exception in its block.
    """
    car = saved_car()
    car.price = 5
    batch = BatchQuery()
    car.batch(batch).save()
    if end == "success":
        run_block(batch)
    elif end == "failure":
        session.error = TimeoutError("gone")
        with pytest.raises(TimeoutError):
            run_block(batch)
        session.error = None
    else:
        with pytest.raises(ZeroDivisionError):
            run_block(batch, divide_by_zero)
    assert car.get_changed_columns() == ([] if end == "success" else ["price"])
    # After the batch, a save is executed at once.
    session.executions.clear()
    car.price = 6
    car.save()
    assert session.last_statement == (
        'UPDATE ks.car SET "price" = ? WHERE "maker" = ? AND "line" = ? AND "year" = ?',
        [6, "a", 1, 2],
    )


def test_a_failed_execution_inside_the_block_restores_instances_once(
    session: FakeSession,
) -> None:
    """If `execute` fails inside the `with` block, instances are restored only once."""
    car = saved_car()
    session.error = TimeoutError("gone")
    batch = BatchQuery()
    car.price = 5
    car.batch(batch).save()
    with pytest.raises(TimeoutError):
        run_block(batch, batch.execute)
    assert car.get_changed_columns() == ["price"]


def test_an_instance_that_is_saved_twice_gets_its_first_state_back(session: FakeSession) -> None:
    """If a batch fails, an instance that was saved twice gets its state before the first save."""
    car = saved_car()
    session.error = TimeoutError("gone")
    batch = BatchQuery()
    for price in (5, 6):
        car.price = price
        car.batch(batch).save()
    with pytest.raises(TimeoutError):
        batch.execute()
    assert car.get_changed_columns() == ["price"]
    assert car.price == 6


def test_an_instance_that_moved_to_another_batch_stays_there() -> None:
    """Executing a batch does not detach an instance that was moved to another batch."""
    car = saved_car()
    first_batch, second_batch = BatchQuery(), BatchQuery()
    car.price = 5
    car.batch(first_batch).save()
    car.price = 6
    car.batch(second_batch)
    first_batch.execute()
    car.save()
    assert len(second_batch.queries) == 1


def test_a_timestamp_in_seconds_warns() -> None:
    """A batch timestamp in seconds causes a warning, because write times are microseconds.

    A number of seconds would be older than all other writes, so the batch would have no effect.
    """
    with pytest.warns(RuntimeWarning, match="microseconds"):
        BatchQuery(timestamp=1_577_836_800)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        BatchQuery(timestamp=MICROSECONDS)
