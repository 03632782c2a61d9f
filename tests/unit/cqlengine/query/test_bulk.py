"""Test `create_many` of the object mapper: the requests that it sends, and rows that it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from cassandra.cqlengine import CQLEngineException, ValidationError, columns
from cassandra.cqlengine.models import Model
from cassandra.cqlengine.options import DEFAULTS
from cassandra.cqlengine.query import BatchQuery, LWTException
from cassandra.cqlengine.query.bulk import creations
from cassandra.cqlengine.running import ManyRequests
from cassandra.cqlengine.values import values_of
from cassandra.errors import InvalidRequest, WriteTimeout
from tests.unit.cqlengine.conftest import FakeSession


# A model with a required column.
class Item(Model):
    __keyspace__ = "ks"
    id = columns.Integer(primary_key=True)
    name = columns.Text(required=True)
    steps = columns.List(columns.Integer)


# A model with a counter, whose rows cannot be inserted.
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
def test_all_rows_are_validated_before_any_is_sent(
    session: FakeSession, row: Any, error: type[Exception], message: str
) -> None:
    """`create_many` validates all rows before it sends any; the error has the row's number."""
    with pytest.raises(error, match=message) as raised:
        Item.objects.create_many([{"id": 1, "name": "a"}, row])
    assert raised.value.row_number == 1  # type: ignore[attr-defined]
    assert session.executions == []


@pytest.mark.usefixtures("session")
def test_create_many_refuses_wrong_options() -> None:
    """`create_many` refuses a wrong `concurrency`, models with counters, and a query timeout."""
    for concurrency in (0, True, "5"):
        with pytest.raises(ValueError, match="concurrency is a number from 1 on"):
            Item.objects.create_many([], concurrency=concurrency)  # type: ignore[arg-type]
    with pytest.raises(CQLEngineException, match="Hits has counters"):
        Hits.objects.create_many([])
    with pytest.raises(CQLEngineException, match="timeout"):
        Item.objects.timeout(5).create_many([])


@pytest.mark.usefixtures("session")
def test_rows_are_added_to_a_batch() -> None:
    """With a batch, `create_many` adds its rows to the batch and sends nothing.

    Rows may be mappings or instances.
    """
    batch = BatchQuery()
    queryset = Item.objects.using(keyspace="other").batch(batch)
    items = queryset.create_many([{"id": 1, "name": "a"}, Item(id=2, name="b")])
    assert [str(query) for query in batch.queries] == [
        'INSERT INTO other.item ("id", "name") VALUES (%(0)s, %(1)s)'
    ] * 2
    assert [item.id for item in items] == [1, 2]


class Animal(Model):
    __keyspace__ = "ks"
    __discriminator_value__ = "animal"
    id = columns.Integer(primary_key=True)
    kind = columns.Text(discriminator_column=True)


class Cat(Animal):
    __discriminator_value__ = "cat"
    lives = columns.Integer()


class Refused:
    """The result of a conditional write that was not applied."""

    column_names = ("[applied]", "id")
    was_applied = False

    def one(self) -> dict[str, Any]:
        return {"[applied]": False, "id": 1}


def sent_requests(model: Any, rows: list[Any], outcome: Any = None) -> list[ManyRequests]:
    """Return the requests that `create_many` sends; the result of each write is `outcome`."""
    operation = creations(model, DEFAULTS, rows, concurrency=10)
    requests = []
    try:
        request: Any = next(operation)
        while True:
            requests.append(request)
            request = operation.send([(True, outcome)] * len(request.writes))
    except StopIteration:
        return requests


def test_the_condition_of_an_instance_applies_to_its_row() -> None:
    """The condition of an instance applies to its row in `create_many`.

    If the row is not applied, the error has the row's number, and the condition stays on the
    instance.
    """
    item = Item(id=1, name="a").if_not_exists()
    with pytest.raises(LWTException) as raised:
        sent_requests(Item, [{"id": 2, "name": "b"}, item], Refused())
    assert raised.value.row_number == 1  # type: ignore[attr-defined]
    assert item._row.options.if_not_exists


def test_rows_are_grouped_by_connection_and_consistency_level() -> None:
    """Rows are grouped into requests by connection and consistency level."""
    rows = [
        {"id": 1, "name": "a"},
        Item(id=2, name="b").using(connection="y"),
        Item(id=3, name="c"),
        Item(id=4, name="d").consistency(1),
    ]
    groups = []
    for request in sent_requests(Item, rows):
        ids = [values[0] for _, values in request.writes]
        groups.append((request.connection, request.consistency, ids))
    assert groups == [(None, None, [1, 3]), ("y", None, [2]), (None, 1, [4])]


def test_an_instance_is_inserted_into_its_keyspace(session: FakeSession) -> None:
    """`create_many` inserts an instance into the keyspace that the instance was read from."""
    session.return_row(id=1, name="a")
    item = Item.objects.using(keyspace="other").get(id=1)
    (request,) = sent_requests(Item, [item])
    ((query, _),) = request.writes
    assert query.startswith("INSERT INTO other.item ")


def test_the_timestamp_of_an_instance_is_for_one_write() -> None:
    """The timestamp of an instance is used for one write, and its TTL for all."""
    item = Item(id=1, name="a").timestamp(5).ttl(9)
    (request,) = sent_requests(Item, [item])
    ((_, values),) = request.writes
    assert values == [1, "a", 9, 5]
    # The timestamp was removed, but the TTL stays for later writes of the instance.
    assert item._row.options.timestamp is None
    assert item._row.options.ttl == 9


@pytest.mark.usefixtures("session")
def test_an_instance_is_added_to_its_batch() -> None:
    """`create_many` adds an instance that belongs to a batch to this batch."""
    batch = BatchQuery()
    Item.objects.create_many([Item(id=1, name="a").batch(batch)])
    assert len(batch.queries) == 1


@pytest.mark.usefixtures("session")
def test_a_batch_removes_itself_from_its_instances() -> None:
    """When a batch is executed, its instances no longer refer to the batch."""
    batch = BatchQuery()
    (item,) = Item.objects.batch(batch).create_many([{"id": 1, "name": "a"}])
    assert item._row.options.batch is batch
    next(batch._operation())
    assert item._row.options.batch is None


def test_an_instance_is_inserted_as_a_row_of_its_class() -> None:
    """`create_many` inserts an instance of a subclass with the discriminator of its own class."""
    cat = Cat(id=1, lives=9)
    (request,) = sent_requests(Animal, [cat])
    assert request.writes == [
        ('INSERT INTO ks.animal ("id", "kind", "lives") VALUES (?, ?, ?)', [1, "cat", 9])
    ]
    assert cat.kind == "cat"


def test_the_timeout_of_an_instance_is_refused() -> None:
    """`create_many` refuses instances with a timeout."""
    with pytest.raises(CQLEngineException, match="row 0: create_many takes the timeout"):
        sent_requests(Item, [Item(id=1, name="a").timeout(5)])


def test_changes_during_the_requests_remain_changes() -> None:
    """Changes that are made before the responses arrive remain unsaved changes.

    Another task may change an instance in the meantime.
    """
    item = Item(id=1, name="a")
    operation = creations(Item, DEFAULTS, [item], concurrency=1)
    next(operation)
    item.name = "b"
    with pytest.raises(StopIteration):
        operation.send([(True, None)])
    assert item.get_changed_columns() == ["name"]


@pytest.mark.parametrize(
    ("error", "is_in_doubt"), [(InvalidRequest("no"), False), (WriteTimeout("late"), True)]
)
def test_only_rows_that_may_be_written_are_in_doubt(error: Exception, is_in_doubt: bool) -> None:
    """After an error, an instance remembers its values only if the row may have them."""
    item = Item(id=1, name="a", steps=[1])
    operation = creations(Item, DEFAULTS, [item], concurrency=1)
    next(operation)
    with pytest.raises(type(error)):
        operation.send([(False, error)])
    assert bool(values_of(item).failed) == is_in_doubt
