"""Test NumPy arrays as values of vector columns, also inside collections.

The tests create, change and compare instances.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from cassandra.cqlengine import columns
from cassandra.cqlengine.models import Model
from cassandra.cqlengine.query import BatchQuery

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
