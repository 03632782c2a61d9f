"""Batches of the mapper, without a server."""

from __future__ import annotations

import datetime

import pytest

from cassandra.cqlengine import CQLEngineException
from cassandra.cqlengine.query import BatchQuery, BatchType
from tests.unit.cqlengine.query.test_queryset import Car

pytestmark = pytest.mark.usefixtures("session")


def test_a_batch_collects_statements_of_one_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch collects the statements of its operations; all must use the same connection."""
    batch = BatchQuery(batch_type=BatchType.Unlogged, timestamp=datetime.datetime(2020, 1, 1))
    car = Car.batch(batch).create(maker="a", line=1, year=2)
    Car.objects(maker="a", line=1, year=2).batch(batch).delete()
    car.price = 5
    car.batch(batch).save()
    assert batch._entries == [
        (
            'INSERT INTO ks.car ("maker", "line", "year") VALUES (?, ?, ?) USING TIMESTAMP ?',
            ["a", 1, 2, 1577836800000000],
        ),
        (
            'DELETE FROM ks.car  USING TIMESTAMP ?  WHERE "maker" = ? AND "line" = ? AND "year" '
            "= ?",
            [1577836800000000, "a", 1, 2],
        ),
        (
            'UPDATE ks.car USING TIMESTAMP ? SET "price" = ? WHERE "maker" = ? AND "line" = ? '
            'AND "year" = ?',
            [1577836800000000, 5, "a", 1, 2],
        ),
    ]
    # The batch has the connection of its first statement already.
    with pytest.raises(CQLEngineException, match="one connection"):
        batch.add_bound("x", [], connection="other")
    batch = BatchQuery()
    batch.add_bound("x", [], connection="other")
    with pytest.raises(CQLEngineException, match="DEFAULT_CONNECTION, the batch for other"):
        Car.batch(batch).create(maker="a", line=1, year=2)
    # A model without its own connection uses that of the batch.
    batch = BatchQuery(connection="other")
    Car.batch(batch).create(maker="a", line=1, year=2)


def test_a_batch_that_is_not_executed_leaves_instances_changed() -> None:
    car = Car(maker="a", line=1, year=2)
    with pytest.raises(ZeroDivisionError), BatchQuery() as batch:
        car.price = 1 // (car.batch(batch).save() is None)
    assert car.get_changed_columns() == ["maker", "line", "year"]
