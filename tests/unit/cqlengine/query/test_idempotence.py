"""Test which statements of the mapper are marked as idempotent.

The driver may send an idempotent statement again after an error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from cassandra import ConsistencyLevel
from cassandra.cqlengine import columns
from cassandra.cqlengine.models import Model
from cassandra.cqlengine.named import NamedTable
from cassandra.cqlengine.query import BatchQuery, DMLQuery
from tests.unit.cqlengine.conftest import FakeSession


# A model with collections. Some changes of a collection cannot be repeated without harm.
class Note(Model):
    id = columns.Integer(primary_key=True)
    text = columns.Text()
    tags = columns.Set(columns.Text)
    lines = columns.List(columns.Text)
    pages = columns.List(columns.Text, frozen=True)
    marks = columns.Map(columns.Text, columns.Integer)


# A model of the same table, whose statements the application declares idempotent.
class Repeated(Note):
    __table_name__ = "note"
    __idempotent__ = True


# A model with a counter, whose updates are never idempotent.
class Count(Model):
    __idempotent__ = True
    id = columns.Integer(primary_key=True)
    number = columns.Counter()


# a function that executes a statement with a queryset
Action = Callable[[Any], Any]


def unmarked_queryset() -> Any:
    """Return a queryset that is not marked as idempotent."""
    return Note.objects(id=1)


def queryset_marked_by_method() -> Any:
    """Return a queryset that its method `idempotent` has marked."""
    return Note.objects(id=1).idempotent()


def queryset_marked_by_model() -> Any:
    """Return a queryset of a model with `__idempotent__ = True`."""
    return Repeated.objects(id=1)


# statements that servers may apply twice without a difference
REPEATABLE: list[Action] = [
    lambda notes: list(notes),
    lambda notes: notes.first(),
    lambda notes: notes.count(),
    lambda notes: notes.update(text="x", tags={"a"}, lines=[], marks={"a": 1}),
    lambda notes: notes.update(tags__add={"a"}, marks__remove={"a"}),
    lambda notes: notes.delete(),
    lambda notes: notes.create(id=1, tags={"a"}, pages=["a"]),
    lambda notes: notes.create_many([{"id": 1, "tags": {"a"}, "pages": ["a"]}]),
    lambda notes: notes.update(pages=["a"]),
]
# statements whose repetition would change the row, or be refused
NOT_REPEATABLE: list[Action] = [
    lambda notes: notes.update(lines__append=["a"]),
    lambda notes: notes.update(lines=["a"]),
    lambda notes: notes.create(id=1, lines=["a"]),
    lambda notes: notes.create_many([{"id": 1, "lines": ["a"]}]),
    lambda notes: notes.update(lines__prepend=["a"]),
    lambda notes: notes.update(lines__remove=["a"]),
    lambda notes: notes.update(text="x", lines__append=["a"]),
    lambda notes: notes.iff(text="y").update(text="x"),
    lambda notes: notes.if_exists().delete(),
    lambda notes: notes.if_not_exists().create(id=1),
]


@pytest.fixture(autouse=True)
def answer(session: FakeSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the fake session return a result for each statement of these tests."""
    session.return_row(**{"[applied]": True, "id": 1})
    # `create_many` executes its statements with `execute_concurrent` of the driver.
    monkeypatch.setattr("cassandra.cqlengine.running.execute_concurrent", execute_all)


def execute_all(session: FakeSession, pairs: Any, *_: Any) -> list[tuple[bool, Any]]:
    """Replace the driver's `execute_concurrent`."""
    return [(True, session.execute(statement, values)) for statement, values in pairs]


@pytest.mark.parametrize("action", [*REPEATABLE, *NOT_REPEATABLE])
def test_no_statement_is_idempotent_by_default(session: FakeSession, action: Action) -> None:
    """Without a request of the application, no statement is marked as idempotent."""
    action(unmarked_queryset())
    action(queryset_marked_by_model().idempotent(False))
    assert [execution.idempotent for execution in session.executions] == [False, False]


@pytest.mark.parametrize("queryset_of", [queryset_marked_by_method, queryset_marked_by_model])
@pytest.mark.parametrize("action", REPEATABLE)
def test_statements_that_may_be_repeated_are_marked_on_request(
    session: FakeSession, action: Action, queryset_of: Callable[[], Any]
) -> None:
    """Statements that may be repeated are marked if the queryset or model requests it."""
    action(queryset_of())
    assert session.executions[-1].idempotent is True


@pytest.mark.parametrize("queryset_of", [queryset_marked_by_method, queryset_marked_by_model])
@pytest.mark.parametrize("action", NOT_REPEATABLE)
def test_statements_that_must_not_be_repeated_are_never_marked(
    session: FakeSession, action: Action, queryset_of: Callable[[], Any]
) -> None:
    """Statements that must not be repeated are not marked, even on request."""
    action(queryset_of())
    assert session.executions[-1].idempotent is False


def test_the_level_and_the_idempotence_are_both_set(session: FakeSession) -> None:
    """A queryset may set both a consistency level and idempotence."""
    unmarked_queryset().consistency(ConsistencyLevel.QUORUM).idempotent().first()
    unmarked_queryset().consistency(ConsistencyLevel.QUORUM).idempotent().create_many([{"id": 1}])
    for execution in session.executions:
        assert (execution.consistency, execution.idempotent) == (ConsistencyLevel.QUORUM, True)


def test_writes_of_an_instance_are_marked_if_they_may_be_repeated(session: FakeSession) -> None:
    """Each write of an instance is marked only if this write may be repeated."""
    note = Note.objects.idempotent().create(id=1, text="x")
    assert session.executions[-1].idempotent
    # A repetition would add the elements of the list again.
    note.lines = ["a"]
    note.save()
    assert not session.executions[-1].idempotent
    note.text = "y"
    note.save()
    assert session.executions[-1].idempotent
    # This save appends to the list, so a repetition would append twice.
    note.lines = ["a", "b"]
    note.save()
    assert not session.executions[-1].idempotent
    # This save assigns an empty list, which adds no elements.
    note.lines = []
    note.save()
    assert session.executions[-1].idempotent
    note.update(text="z")
    assert session.executions[-1].idempotent
    note.delete()
    assert session.executions[-1].idempotent
    Repeated(id=1).save()
    assert session.executions[-1].idempotent is True


def test_counters_are_never_marked(session: FakeSession) -> None:
    """Updates of counters are never marked as idempotent."""
    count = Count(id=1)
    count.number += 1
    count.save()
    Count.objects(id=1).update(number=5)
    assert [execution.idempotent for execution in session.executions] == [False, False]


class FakeBatch:
    """Replaces the driver's `BatchStatement`, which would refuse the fake statements."""

    is_idempotent = False

    def __init__(self, *_: Any, **settings: Any) -> None:
        self.consistency_level = settings.get("consistency_level")

    def add(self, *_: Any) -> None:
        pass


def test_a_batch_is_idempotent_if_all_its_statements_are(
    session: FakeSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch is marked as idempotent only if all its statements may be repeated."""
    monkeypatch.setattr("cassandra.cqlengine.query.batch.BatchStatement", FakeBatch)
    batch = BatchQuery()
    batch.warn_multiple_exec = False

    def mark_of(*querysets: Any) -> object:
        """Return whether a batch with an update of each queryset is marked as idempotent."""
        for queryset in querysets:
            queryset.batch(batch).update(tags={"a"}, text="x")
        batch.execute()
        return session.executions[-1].idempotent

    assert mark_of(queryset_marked_by_model(), queryset_marked_by_method()) is True
    # Statements of an earlier execution do not count.
    assert (
        mark_of(queryset_marked_by_model(), unmarked_queryset(), queryset_marked_by_model())
        is False
    )
    assert mark_of(queryset_marked_by_model()) is True
    queryset_marked_by_model().batch(batch).update(lines__append=["a"])
    assert mark_of(queryset_marked_by_model()) is False


def test_a_custom_dmlquery_keeps_the_idempotence(session: FakeSession) -> None:
    """A model with its own DMLQuery class also marks idempotent statements."""

    class Custom(DMLQuery):
        pass

    class Customized(Model):
        __dmlquery__ = Custom
        id = columns.Integer(primary_key=True)

    Customized.objects.idempotent().create(id=1)
    assert session.executions[-1].idempotent is True


def test_named_tables_take_the_option(session: FakeSession) -> None:
    """Querysets of named tables have the method `idempotent`, too."""
    table = NamedTable("ks", "t")
    list(table.objects.idempotent())
    list(table.objects.all())
    assert [execution.idempotent for execution in session.executions] == [True, False]
