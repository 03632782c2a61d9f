"""Many rows at once, as far as nothing is sent."""

from __future__ import annotations

from typing import Any

import pytest

from cassandra.cqlengine import CQLEngineException, ValidationError, columns
from cassandra.cqlengine.models import Model
from cassandra.cqlengine.query import BatchQuery
from tests.unit.cqlengine.conftest import FakeSession


class Item(Model):
    __keyspace__ = "ks"
    id = columns.Integer(primary_key=True)
    name = columns.Text(required=True)


class Hits(Model):
    __keyspace__ = "ks"
    id = columns.Integer(primary_key=True)
    count = columns.Counter()


@pytest.mark.parametrize(
    ("row", "error", "message"),
    [
        ({"id": "x", "name": "a"}, ValidationError, "row 1: Item.id"),
        ({"id": 2, "naem": "a"}, ValidationError, "row 1: Item has no column named: naem"),
        ({"id": 2}, ValidationError, "row 1: Item.name"),
        ({"name": "a"}, ValidationError, "row 1: Item.id"),
        ((1, "a"), TypeError, "row 1: .* is neither a mapping of values nor an instance of Item"),
        (Hits(id=1), TypeError, "row 1: "),
    ],
)
def test_all_rows_are_looked_at_first(
    session: FakeSession, row: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message) as raised:
        Item.objects.create_many([{"id": 1, "name": "a"}, row])
    assert raised.value.row_number == 1  # type: ignore[attr-defined]
    assert session.done == []


@pytest.mark.usefixtures("session")
def test_mistakes() -> None:
    for concurrency in (0, True, "5"):
        with pytest.raises(ValueError, match="concurrency is a number from 1 on"):
            Item.objects.create_many([], concurrency=concurrency)  # type: ignore[arg-type]
    with pytest.raises(CQLEngineException, match="Hits has counters"):
        Hits.objects.create_many([])
    with pytest.raises(CQLEngineException, match="timeout"):
        Item.objects.timeout(5).create_many([])


@pytest.mark.usefixtures("session")
def test_rows_go_into_a_batch() -> None:
    batch = BatchQuery()
    made = (
        Item.objects.using(keyspace="other")
        .batch(batch)
        .create_many([{"id": 1, "name": "a"}, Item(id=2, name="b")])
    )
    assert [str(one) for one in batch.queries] == [
        'INSERT INTO other.item ("id", "name") VALUES (%(0)s, %(1)s)'
    ] * 2
    assert [one.id for one in made] == [1, 2]
