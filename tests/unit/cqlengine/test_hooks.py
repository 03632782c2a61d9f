"""Applications can observe the mapper's statements, and replace the classes that send them."""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra.cqlengine import ValidationError, columns, connection
from cassandra.cqlengine.hooks import log_statement, set_row_factory, text_of
from cassandra.cqlengine.models import Model
from cassandra.cqlengine.operators import EqualsOperator, GreaterThanOperator
from cassandra.cqlengine.query import BatchQuery, DMLQuery, ModelQuerySet
from cassandra.cqlengine.query.batch import QueuedStatement
from cassandra.cqlengine.statements import (
    SelectStatement,
    StatementException,
    UpdateStatement,
    WhereClause,
)

from .conftest import FakeSession


class RecordingQuerySet(ModelQuerySet[Any]):
    """An application's queryset class, which records the calls of `create`."""

    creations: list[dict[str, Any]] = []

    def create(self, **kwargs: Any) -> Any:
        self.creations.append(kwargs)
        return super().create(**kwargs)


class Seen(Model):
    __keyspace__ = "ks"
    __queryset__ = RecordingQuerySet
    p = columns.Integer(primary_key=True)
    a = columns.Integer()


def test_statements_are_logged(session: FakeSession, caplog: pytest.LogCaptureFixture) -> None:
    """Each statement of the mapper is logged with its values."""
    caplog.set_level(logging.DEBUG, logger="cassandra.cqlengine.connection")
    Seen.create(p=1, a=2)
    Seen.objects(p=3).delete()
    connection.execute("SELECT %s", ("five",))
    insert, delete, select = [record.getMessage() for record in caplog.records][-3:]
    assert "INSERT INTO ks.seen" in insert
    assert "[1, 2]" in insert
    assert "DELETE FROM ks.seen" in delete
    assert "SELECT %s with ('five',)" in select


def test_values_of_clusters_that_encrypt_are_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    """If the cluster encrypts columns, statements are logged without their values."""
    log = logging.getLogger("cassandra.cqlengine.connection")
    caplog.set_level(logging.DEBUG, logger=log.name)
    cluster = SimpleNamespace(column_encryption_policy=object())
    log_statement(log, SimpleNamespace(cluster=cluster, label="x"), "SELECT ?", ["secret"])
    assert "SELECT ?" in caplog.text
    assert "secret" not in caplog.text


def test_set_row_factory_ignores_results_of_other_classes() -> None:
    """`set_row_factory` ignores results without a row factory.

    An application's session may return lists.
    """
    result: list[Any] = []
    set_row_factory(result, tuple)
    assert result == []


def test_create_uses_the_model_s_queryset_class(session: FakeSession) -> None:
    """`create` calls the method of the model's queryset class."""
    Seen.create(p=1)
    assert RecordingQuerySet.creations[-1] == {"p": 1}


class RecordingDML(DMLQuery):
    """An application's DMLQuery class, which records the calls of its methods."""

    calls: list[str] = []

    def save(self) -> None:
        self.calls.append("save")
        super().save()

    def update(self) -> None:
        self.calls.append("update")
        super().update()

    def delete(self) -> None:
        self.calls.append("delete")
        super().delete()


class Hooked(Model):
    __keyspace__ = "ks"
    __dmlquery__ = RecordingDML
    p = columns.Integer(primary_key=True)
    a = columns.Integer()


def test_writes_use_the_model_s_dml_query_class(session: FakeSession) -> None:
    """Writes of a model call the methods of its DMLQuery class."""
    RecordingDML.calls.clear()
    hooked = Hooked.create(p=1, a=1)
    hooked.a = 2
    hooked.save()
    hooked.update(a=3)
    hooked.delete()
    # `create` also calls `save`.
    assert RecordingDML.calls == ["save", "save", "update", "delete"]
    with pytest.raises(ValidationError, match="no column named: b"):
        hooked.update(b=1)
    # A model that does not set the class uses the mapper's DMLQuery.
    assert Seen.__dmlquery__ is DMLQuery


def test_a_batch_lists_its_statements(session: FakeSession) -> None:
    """`queries` of a batch shows the statements with their values."""
    batch = BatchQuery()
    DMLQuery(Seen, Seen(p=5, a=6)).batch(batch).save()
    (queued,) = batch.queries
    assert str(queued) == 'INSERT INTO ks.seen ("p", "a") VALUES (%(0)s, %(1)s)'
    assert queued.get_context() == {"0": 5, "1": 6}


def test_a_question_mark_in_a_name_is_not_a_marker() -> None:
    """A question mark in a quoted name is not taken for a bind marker."""
    assert str(QueuedStatement('SELECT "a?""?" = ?', [1])) == 'SELECT "a?""?" = %(0)s'


def test_statements_convert_values_with_their_columns() -> None:
    """Statements convert their values with the columns, and refuse wrong arguments."""
    column = columns.Integer()
    column.set_column_name("a")
    select = SelectStatement("ks.t")
    select.add_where(column, GreaterThanOperator(), "1")
    assert str(select) == 'SELECT * FROM ks.t WHERE "a" > %(0)s'
    assert select.get_context() == {"0": 1}
    update = UpdateStatement("ks.t")
    update.add_assignment(column, 5)
    update.add_where(column, EqualsOperator(), 6)
    assert str(update) == 'UPDATE ks.t SET "a" = %(0)s WHERE "a" = %(1)s'
    assert update.get_context() == {"0": 5, "1": 6}
    with pytest.raises(StatementException, match="operator must be"):
        select.add_where(column, "=", 1)  # type: ignore[arg-type]
    with pytest.raises(StatementException, match="only instances of WhereClause"):
        select.add_where(column)
    with pytest.raises(StatementException, match="only instances of AssignmentClause"):
        update.add_assignment(column)


def test_the_connection_of_a_queryset_may_be_set() -> None:
    """A queryset's private attribute `_connection` can be set.

    Applications written for cassandra-driver do this.
    """
    rows: Any = Seen.objects
    assert rows._connection is None
    rows._connection = "other"
    assert rows.filter(p=1)._connection == "other"


def test_a_percent_sign_in_a_name_is_not_a_marker() -> None:
    """A percent sign in a quoted name is not taken for a placeholder."""
    select = SelectStatement("ks.t", ["a%sb"], where=[WhereClause('%(0)s"', EqualsOperator(), 5)])
    query = text_of(select, select.get_context())
    assert query % {"0": 5} == 'SELECT "a%sb" FROM ks.t WHERE "%(0)s""" = 5'
    # Without values, the CQL is not formatted, so its percent signs stay.
    assert text_of(SelectStatement("ks.t", ["a%sb"]), {}) == 'SELECT "a%sb" FROM ks.t'
