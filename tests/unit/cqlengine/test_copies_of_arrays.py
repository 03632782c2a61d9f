"""Test values that may change in place: NumPy arrays, user-defined types and byte arrays.

The tests create, change and compare instances.
"""

from __future__ import annotations

import array as array_module
from collections.abc import Callable
from typing import Any

import pytest

from cassandra.cqlengine import ValidationError, columns
from cassandra.cqlengine.models import Model
from cassandra.cqlengine.query import BatchQuery
from cassandra.cqlengine.statements import ValueQuoter
from cassandra.cqlengine.usertype import UserType

from .conftest import FakeSession

numpy = pytest.importorskip("numpy")


# A model with vectors, also inside collections.
class Document(Model):
    __keyspace__ = "ks"
    id = columns.Integer(primary_key=True)
    vector = columns.Vector(columns.Float, 3)
    chunks = columns.List(columns.Vector(columns.Float, 3))
    by_name = columns.Map(columns.Text, columns.Vector(columns.Float, 3))
    pair = columns.Tuple(columns.Integer, columns.Vector(columns.Float, 3))


def array(*numbers: float) -> Any:
    """Return an array of these numbers.

    Without numbers, return the array [1, 2, 3].
    """
    return numpy.array(numbers or (1, 2, 3), dtype="f4")


def values() -> dict[str, Any]:
    """Return values for all columns except the key.

    Each vector in them is [1, 2, 3].
    """
    return {
        "vector": array(),
        "chunks": [array()],
        "by_name": {"a": array()},
        "pair": (1, array()),
    }


def test_an_instance_is_created_and_not_written_again(session: FakeSession) -> None:
    """`create` binds an array, after which the instance does not count the column as changed."""
    document = Document.create(id=1, **{**values(), "vector": array(1, 2, 4)})
    query, bound_values = session.last_statement
    assert query is not None
    assert query.startswith("INSERT INTO ks.document")
    _, vector, *_ = bound_values
    assert vector.tolist() == [1, 2, 4]
    assert document.get_changed_columns() == []
    document.save()
    # No further statement was sent after the INSERT.
    assert len(session.executions) == 1


# Functions that change a document, with the name of the changed column, by a description.
CHANGES: dict[str, tuple[str, Callable[[Document], object]]] = {
    "another array": ("vector", lambda document: setattr(document, "vector", array(1, 2, 4))),
    "null": ("vector", lambda document: setattr(document, "vector", None)),
    "a list": ("vector", lambda document: setattr(document, "vector", [1, 2, 4])),
    "in place": ("vector", lambda document: document.vector.__setitem__(0, 9)),
    "in a list": ("chunks", lambda document: document.chunks[0].__setitem__(0, 9)),
    "behind a list": ("chunks", lambda document: document.chunks.append(array(4, 5, 6))),
    "in a map": ("by_name", lambda document: document.by_name["a"].__setitem__(0, 9)),
    "a key of a map": ("by_name", lambda document: document.by_name.update(b=array())),
    "in a tuple": ("pair", lambda document: document.pair[1].__setitem__(0, 9)),
}


@pytest.mark.parametrize("change_name", CHANGES)
def test_a_change_is_written_once(session: FakeSession, change_name: str) -> None:
    """A change of an array, also in place, is written once."""
    document = Document.create(id=1, **values())
    column, change_value = CHANGES[change_name]
    change_value(document)
    assert document.get_changed_columns() == [column]
    document.save()
    document.save()
    # Only the INSERT and one UPDATE were sent, because the second `save` had nothing to write.
    assert len(session.executions) == 2
    query, _ = session.last_statement
    assert query is not None
    assert query.startswith(f'UPDATE ks.document SET "{column}"')


def test_instances_are_compared_element_by_element(session: FakeSession) -> None:
    """Instances with arrays are compared element by element."""
    document = Document(id=1, **values())
    assert document == Document(id=1, **values())
    assert document != Document(id=1, **(values() | {"vector": array(1, 2, 4)}))
    assert document != Document(id=1, **(values() | {"vector": None}))
    assert document != Document(id=1, **(values() | {"chunks": [array(), array()]}))


def test_a_batch_has_the_array_as_it_was_when_it_was_saved(session: FakeSession) -> None:
    """A batch sends an array as it was when the instance was saved."""
    document = Document(id=1, **values())
    batch = BatchQuery()
    document.batch(batch).save()
    # Change each array in place after the instance was added to the batch.
    document.vector[0] = 9
    document.chunks[0][0] = 9
    document.by_name["a"][0] = 9
    document.pair[1][0] = 9
    (query,) = batch.queries
    _, vector, chunks, by_name, pair = query.get_context().values()
    for array in (vector, chunks[0], by_name["a"], pair[1]):
        assert array.tolist() == [1, 2, 3]


def test_queries_and_clauses_are_compared_element_by_element() -> None:
    """Querysets, filters and conditions with arrays are compared element by element."""
    query = Document.objects.filter(vector=array())
    assert query == Document.objects.filter(vector=array())
    assert query != Document.objects.filter(vector=array(1, 2, 4))
    condition = Document.vector == array()
    assert condition == (Document.vector == array())
    assert condition != (Document.vector == array(1, 2, 4))
    # NumPy leaves the comparison to the column.
    reflected: Any = array() == Document.vector
    assert reflected == condition
    nearest = Document.objects.order_by(Document.vector.ann_of(array()))
    assert nearest == Document.objects.order_by(Document.vector.ann_of(array()))
    assert nearest != Document.objects.order_by(Document.vector.ann_of(array(1, 2, 4)))
    assert ValueQuoter(array()) == ValueQuoter(array())
    assert ValueQuoter(array()) != ValueQuoter(array(1, 2, 4))


class Embedding(UserType):
    name = columns.Text()
    vector = columns.Vector(columns.Float, 3)


def test_changed_fields_with_arrays() -> None:
    """`has_changed_fields` compares arrays element by element."""
    embedding = Embedding(name="a", vector=array())
    embedding.reset_changed_fields()
    embedding.vector = array()
    assert not embedding.has_changed_fields()
    embedding.vector[0] = 9
    assert embedding.has_changed_fields()
    embedding.vector = None
    assert embedding.has_changed_fields()


class Neighbour(Model):
    """A model whose key contains vectors."""

    __keyspace__ = "ks"
    pair = columns.Tuple(columns.Integer, columns.Vector(columns.Float, 3), primary_key=True)
    vector = columns.Vector(columns.Float, 3, primary_key=True)
    number = columns.Integer()


def test_arrays_are_values_of_keys(session: FakeSession) -> None:
    """An instance whose key contains arrays is updated; another array makes it another row."""
    neighbour = Neighbour.create(pair=(1, array()), vector=array(), number=1)
    neighbour.number = 2
    neighbour.save()
    assert str(session.last_statement[0]).startswith("UPDATE ks.neighbour")
    neighbour.update(pair=(1, array()), vector=array(), number=3)
    assert str(session.last_statement[0]).startswith("UPDATE ks.neighbour")
    with pytest.raises(ValidationError, match="update to primary key 'vector'"):
        neighbour.update(vector=array(1, 2, 4))
    neighbour.vector = array(1, 2, 4)
    neighbour.save()
    assert str(session.last_statement[0]).startswith("INSERT INTO ks.neighbour")


class City(UserType):
    name = columns.Text()


class Place(Model):
    """A model whose values may all change in place, except those of the key and the label."""

    __keyspace__ = "ks"
    id = columns.Integer(primary_key=True)
    label = columns.Text()
    city = columns.UserDefinedType(City)
    cities = columns.List(columns.UserDefinedType(City))
    pair = columns.Tuple(columns.Integer, columns.UserDefinedType(City))
    vector = columns.Vector(columns.Float, 2)
    photo = columns.Blob()


@pytest.mark.parametrize("vector", [numpy.zeros(2, "f4"), array_module.array("f", [0, 0]), [0, 0]])
@pytest.mark.parametrize("make", [Place, Place.create])
def test_objects_that_are_passed_to_instances_may_be_used_again(
    make: Any, vector: Any, session: FakeSession
) -> None:
    """Programs fill buffers again for each row, and pass values of a row to another row."""
    city, photo = City(name="old"), bytearray(b"old")
    places = []
    for number in range(2):
        city.name, photo[0], vector[0] = f"city {number}", number, float(number)
        places.append(
            make(
                id=number,
                city=city,
                cities=[city],
                pair=(1, city),
                vector=vector,
                photo=photo,
            )
        )
    first = places[0]
    assert (first.city.name, first.cities[0].name, first.pair[1].name) == ("city 0",) * 3
    assert (list(first.vector), first.photo[0]) == ([0, 0], 0)
    # A change of the instance does not change the object that the application has passed.
    first.city.name = "new"
    assert city.name == "city 1"


def test_a_copy_of_a_row_does_not_change_the_row(session: FakeSession) -> None:
    old = Place.create(id=1, city=City(name="old"), cities=[City(name="old")])
    new = Place(**{**dict(old), "id": 2})
    new.city.name = new.cities[0].name = "new"
    new.save()
    assert old.get_changed_columns() == []
    old.label = "x"
    old.save()
    assert session.last_statement[1] == ["x", 1]


def test_an_array_is_a_default(session: FakeSession) -> None:
    """An array may be the default of a column; each instance has a copy of it."""
    zeros = array(0, 0, 0)

    class Page(Model):
        __keyspace__ = "ks"
        id = columns.Integer(primary_key=True)
        vector = columns.Vector(columns.Float, 3, default=zeros)
        numbers = columns.List(columns.Float, default=zeros)

    page = Page.create(id=1)
    _, vector, numbers = session.last_statement[1]
    assert vector.tolist() == numbers == [0, 0, 0]
    page.vector[0] = 9
    assert list(Page(id=2).vector) == list(zeros) == [0, 0, 0]
