"""Test descriptors of models: column values, partition keys and options."""

from __future__ import annotations

import datetime
import pickle
from typing import Any

import pytest

from cassandra import ConsistencyLevel
from cassandra.cqlengine import CQLEngineException, columns
from cassandra.cqlengine.descriptors import (
    AbstractModelException,
    PartitionKeyDescriptor,
    TTLDescriptor,
    hybrid_classmethod,
)
from cassandra.cqlengine.models import Model
from cassandra.cqlengine.query import BatchQuery
from cassandra.cqlengine.query.errors import IfExistsWithCounterColumn, IfNotExistsWithCounterColumn


# A model with a collection, which an application may change in place.
class Row(Model):
    __keyspace__ = "ks"
    id = columns.Integer(primary_key=True)
    name = columns.Text()
    tags = columns.Set(columns.Text)


# A model whose partition key has two columns.
class Wide(Model):
    __keyspace__ = "ks"
    a = columns.Integer(partition_key=True)
    b = columns.Integer(partition_key=True)


# A model with a counter.
class Visits(Model):
    __keyspace__ = "ks"
    page = columns.Integer(primary_key=True)
    count = columns.Counter()


# An abstract model, which has no table.
class Base(Model):
    __abstract__ = True
    id = columns.Integer(primary_key=True)


# Two models that share a table. The column `kind` says to which of them a row belongs.
class Pet(Model):
    __keyspace__ = "ks"
    id = columns.Integer(primary_key=True)
    kind = columns.Text(discriminator_column=True, index=True)


class Cat(Pet):
    __discriminator_value__ = "cat"


class Owned(Model):
    __keyspace__ = "ks"
    kind = columns.Text(partition_key=True, discriminator_column=True)
    owner = columns.Integer(primary_key=True)


class Hound(Owned):
    __discriminator_value__ = "hound"


def instance_of_row(model: Any, *row: Any) -> Any:
    """Return an instance as a query creates it, which refers to the tuple of its row."""
    instance = model.__new__(model)
    instance._row = row
    return instance


def test_an_instance_holds_the_row_s_tuple_until_a_value_is_assigned() -> None:
    """An instance that was read keeps the row's tuple until a value is assigned."""
    row: Any = instance_of_row(Row, 1, "x", None)
    assert (row.id, row.name) == (1, "x")
    # Use a separate variable: after this assertion, type checkers would take `row._row` for a tuple
    # below, too, where it is a `Values`.
    row_as_read: object = row._row
    assert type(row_as_read) is tuple
    row.name = None
    assert row.name is None
    # `explicit` has a bit for each assigned column, by the column's position. `name` has the
    # position 1.
    assert row._row.explicit == 1 << 1
    assert row.get_changed_columns() == ["name"]


def test_collections_may_change_in_place() -> None:
    """Changing a collection in place marks the column as changed."""
    row: Any = instance_of_row(Row, 1, "x", None)
    row.tags.add("a")
    assert row.tags == {"a"}
    assert row.get_changed_columns() == ["tags"]
    tags: Any = ["b"]
    row.tags = tags
    assert row.tags is tags


def test_a_counter_that_is_null_is_0() -> None:
    """A counter that is null is read as 0."""
    assert instance_of_row(Visits, 1, None).count == 0
    assert instance_of_row(Visits, 1, 5).count == 5


def test_deleting_a_counter_makes_it_0() -> None:
    """`del` sets a counter to 0, and not to null, which would delete it in the database."""
    row = instance_of_row(Visits, 1, 5)
    del row.count
    assert row._row[1] == 0
    row = instance_of_row(Visits, 1, None)
    del row.count
    assert type(row._row) is tuple


def test_columns_of_a_class_build_filters() -> None:
    """A column of a model class is an expression that builds filters."""
    for expression in (Row.name == "x", Row.tags.contains_("x"), Visits.count == 5):
        assert expression.field in ("name", "tags", "count")


def test_deleting_a_column_makes_it_null() -> None:
    """Deleting an attribute makes its column null; a key column cannot be deleted."""
    row = instance_of_row(Row, 1, "x", None)
    del row.tags
    # The column is already null, so nothing has changed.
    assert type(row._row) is tuple
    del row.name
    assert row.name is None
    assert row.get_changed_columns() == ["name"]
    with pytest.raises(AttributeError, match=r"cannot delete .*id: it is part of the key"):
        del row.id


def test_pk_is_the_value_or_tuple_of_the_partition_key() -> None:
    """`pk` is the value of the partition key, or a tuple of its values.

    Only a key of one column can be assigned through `pk`.
    """
    row, wide = instance_of_row(Row, 1, "x", None), instance_of_row(Wide, 1, 2)
    assert row.pk == 1
    assert wide.pk == (1, 2)
    row.pk = 5
    assert row.id == 5
    assert Row.pk is Row.id
    # The key of `Wide` has two columns, so `Wide.pk` cannot be compared to build a filter.
    assert isinstance(Wide.pk, PartitionKeyDescriptor)
    with pytest.raises(AttributeError, match=r"of Wide has 2 columns \(a, b\): set each of them"):
        wide.pk = 5


def test_objects_returns_a_new_queryset_but_not_for_abstract_models() -> None:
    """`objects` returns a new queryset each time, and raises an error for an abstract model."""
    assert Row.objects is not Row.objects
    # The queryset of a model with a discriminator value selects only rows with this value.
    assert str(Cat.objects).count('WHERE "kind"') == 1
    assert str(Cat.objects(kind="cat")).count('"kind" =') == 1
    assert "WHERE" not in str(Pet.objects)
    # The discriminator may be a column of the partition key, which is no index.
    assert str(Hound.objects(owner=1)).count('WHERE "kind" = %(0)s AND "owner" = %(1)s') == 1
    assert str(Hound.objects(owner=1, kind="hound")).count('"kind" =') == 1
    assert str(Hound.objects(kind="dog")).count('"kind" =') == 2  # no rows, or an error
    with pytest.raises(AbstractModelException, match="against abstract models"):
        _ = Base.objects
    # The error is an AttributeError, so that `hasattr(Base, "objects")` is False.
    assert issubclass(AbstractModelException, AttributeError)
    with pytest.raises(CQLEngineException):
        Base.ttl(5)


def test_setting_options_returns_the_instance() -> None:
    """The methods that set options of an instance return the instance."""
    row = instance_of_row(Row, 1, "x", None)
    timestamp = datetime.datetime(2020, 1, 1)
    result = (
        row.ttl(5)
        .timestamp(timestamp)
        .consistency(ConsistencyLevel.QUORUM)
        .if_exists()
        .iff(name="y")
    )
    assert result is row
    options = row._row.options
    assert options.ttl == 5
    assert options.timestamp == timestamp
    assert options.consistency == ConsistencyLevel.QUORUM
    assert options.if_exists
    assert len(options.conditionals) == 1
    # Options can also be set with False, and several times.
    assert row.if_not_exists(False)._row.options.if_not_exists is False
    assert row.using(keyspace="k").using(connection="c") is row
    assert row._row.options.keyspace == "k"
    assert row._row.options.connection == "c"
    assert row.ttl.__name__ == "ttl"
    assert "how long" in str(row.ttl.__doc__)


def test_options_of_classes_are_those_of_querysets() -> None:
    """The methods that set options of a model class return a queryset with these options."""
    assert Row.ttl(5)._options.ttl == 5
    assert Row.using(keyspace="k")._options.keyspace == "k"


def test_counters_have_no_conditions() -> None:
    """A model with counters refuses conditions."""
    visits = instance_of_row(Visits, 1, 5)
    with pytest.raises(IfNotExistsWithCounterColumn, match="if_not_exists cannot be used"):
        visits.if_not_exists()
    with pytest.raises(IfExistsWithCounterColumn, match="if_exists cannot be used"):
        visits.if_exists()


def test_an_instance_in_a_batch_cannot_change_its_connection() -> None:
    """An instance in a batch may change its keyspace, but not its connection."""
    row = instance_of_row(Row, 1, "x", None).batch(BatchQuery())
    row.using(keyspace="k")
    with pytest.raises(CQLEngineException, match="Cannot specify a connection on model in batch"):
        row.using(connection="c")


def test_methods_of_classes_and_instances() -> None:
    """A hybrid method calls one function on the class, and another function on an instance."""

    class Example:
        method = hybrid_classmethod(lambda cls: cls, lambda self: self)

    instance: Any = Example()
    assert Example.method() is Example
    assert instance.method() is instance
    # The descriptor itself cannot be called.
    with pytest.raises(NotImplementedError):
        vars(Example)["method"]()


def test_errors_can_be_imported_from_their_module() -> None:
    """Errors and descriptors can be imported and unpickled from `cassandra.cqlengine.models`."""
    assert type(pickle.loads(pickle.dumps(AbstractModelException("x")))) is AbstractModelException
    assert TTLDescriptor.__module__ == "cassandra.cqlengine.models"
