"""`create_many`, `to_arrow` and `to_pandas`, and their awaitable forms, on a real node."""

from __future__ import annotations

from typing import Any

import pytest

from cassandra.cqlengine import ValidationError, columns
from cassandra.cqlengine.models import Model
from cassandra.cqlengine.query import BatchQuery, LWTException

from .conftest import synced

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("mapper")]


class Sale(Model):
    """The model of these tests."""

    shop = columns.Text(partition_key=True)
    id = columns.Integer(primary_key=True)
    price = columns.Double(db_field="p")
    tags = columns.Set(columns.Text)


@pytest.fixture(autouse=True)
def _table(mapper: str) -> None:
    """Create the table if it does not exist, and empty it."""
    synced(Sale)
    Sale.objects(shop="a").delete()


def sale(number: int, **values: Any) -> dict[str, Any]:
    """Return the values of a sale in the shop "a".

    :param number: the id of the sale, whose price is half of this number.
    :param values: values of further columns, or values that replace the usual values.
    """
    return {"shop": "a", "id": number, "price": number / 2, **values}


def test_create_many_returns_instances_in_order() -> None:
    """`create_many` accepts dicts and instances, and returns one instance per row, in order."""
    rows: list[Any] = [sale(n) for n in range(250)]
    rows[7] = Sale(**rows[7], tags={"x"})
    del rows[8]["price"]
    created = Sale.objects.create_many(iter(rows), concurrency=20)
    assert created == list(Sale.objects(shop="a"))
    assert all(instance.get_changed_columns() == [] for instance in created)
    assert created[7].tags == {"x"}
    assert not created[8].price
    # Created instances can be changed and saved.
    created[7].price = 99.0
    created[7].save()
    assert Sale.objects(shop="a", id=7).get().price == 99.0
    assert Sale.objects.create_many([]) == []


async def test_acreate_many(awaited: str) -> None:
    """`acreate_many` returns the instances; if a condition fails, the error names the row."""
    sales = Sale.objects.using(connection=awaited)
    created = await sales.acreate_many([sale(n) for n in range(50)])
    assert created == await sales.filter(shop="a").aall()
    await created[3].aupdate(price=1.5)
    assert (await sales.aget(shop="a", id=3)).price == 1.5
    with pytest.raises(LWTException, match=r"row|exist|LWT") as raised:
        await sales.if_not_exists().acreate_many([sale(60), sale(3)])
    # The second of the two rows exists already. Rows are counted from 0.
    assert raised.value.row_number == 1  # type: ignore[attr-defined]


def test_nothing_is_sent_if_a_row_is_wrong() -> None:
    """`create_many` checks all rows before it sends any row; the error names the wrong row."""
    value_of_wrong_type, unknown_column, missing_key = (
        sale(2, price="x"),
        sale(2, colour="red"),
        {"shop": "a"},
    )
    for wrong_row in (value_of_wrong_type, unknown_column, missing_key):
        with pytest.raises(ValidationError, match="row 1: ") as raised:
            Sale.objects.create_many([sale(1), wrong_row])
        assert raised.value.row_number == 1  # type: ignore[attr-defined]
    assert Sale.objects(shop="a").count() == 0


def test_create_many_with_timestamp_condition_and_batch() -> None:
    """A queryset's TTL, timestamp, condition and batch apply to each row of its `create_many`."""
    # The first write has an old timestamp, so the second write must win.
    Sale.objects.ttl(1000).timestamp(5).create_many([sale(1)])
    Sale.objects.create_many([sale(1, price=9.0)])
    assert Sale.objects(shop="a").get().price == 9.0
    with pytest.raises(LWTException) as raised:
        Sale.objects.if_not_exists().create_many([sale(2), sale(1), sale(3)])
    # Sale 1, the second row, existed already; the other two sales were written.
    assert [number for number, _ in raised.value.failed_rows] == [1]  # type: ignore[attr-defined]
    assert sorted(instance.id for instance in Sale.objects(shop="a")) == [1, 2, 3]
    with BatchQuery() as batch:
        Sale.objects.batch(batch).create_many([sale(4), sale(5)])
        assert Sale.objects(shop="a").count() == 3  # the batch is not sent yet
    assert Sale.objects(shop="a").count() == 5


def test_create_many_of_a_thousand_rows() -> None:
    """`create_many` writes each of a thousand rows once."""
    Sale.objects.create_many([sale(n) for n in range(1000)])
    assert sorted(row.id for row in Sale.objects(shop="a").limit(None)) == list(range(1000))


def test_querysets_as_arrow_tables_and_data_frames() -> None:
    """`to_arrow` and `to_pandas` read the rows and columns that the queryset selects."""
    pytest.importorskip("pyarrow")
    Sale.objects.create_many([sale(n, tags={"t"}) for n in range(20)])
    table = Sale.objects(shop="a", id__gte=15).to_arrow()
    assert table.column_names == ["shop", "id", "price", "tags"]
    # The price of a sale is half of its id.
    assert table.to_pylist()[0] == {"shop": "a", "id": 15, "price": 7.5, "tags": ["t"]}
    assert Sale.objects(shop="a").only(["price"]).limit(3).to_arrow().to_pydict() == {
        "price": [0.0, 0.5, 1.0]
    }
    # The table contains all pages.
    assert Sale.objects(shop="a").fetch_size(3).to_arrow().num_rows == 20
    assert Sale.objects.distinct(["shop"]).to_arrow().to_pydict() == {"shop": ["a"]}
    pytest.importorskip("pandas")
    frame = Sale.objects(shop="a").defer(["tags"]).to_pandas()
    assert list(frame.columns) == ["shop", "id", "price"]
    assert frame["price"].sum() == sum(range(20)) / 2


async def test_awaited_arrow_tables_and_data_frames(awaited: str) -> None:
    """`ato_arrow` and `ato_pandas` read the rows that the queryset selects."""
    pytest.importorskip("pyarrow")
    sales = Sale.objects.using(connection=awaited)
    await sales.acreate_many([sale(n) for n in range(20)])
    table = await sales.filter(shop="a").only(["id", "price"]).ato_arrow()
    assert table.to_pydict()["price"] == [n / 2 for n in range(20)]
    pytest.importorskip("pandas")
    frame = await sales.filter(shop="a").ato_pandas()
    assert len(frame) == 20
