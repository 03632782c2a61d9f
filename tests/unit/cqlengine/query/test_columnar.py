"""Test which columns a queryset of the mapper selects for data frames and Arrow tables."""

from __future__ import annotations

import pytest

from cassandra.cqlengine import columns
from cassandra.cqlengine.models import Model

pytestmark = pytest.mark.usefixtures("session")


class Item(Model):
    __keyspace__ = "ks"
    id = columns.Integer(primary_key=True)
    name = columns.Text(db_field="n")
    size = columns.Integer()


@pytest.mark.parametrize(
    ("queryset", "selected", "names"),
    [
        (Item.objects.filter(id=1), '"id", "n", "size"', ["id", "name", "size"]),
        (Item.objects.only(["name"]), '"n"', ["name"]),
        (Item.objects.defer(["name"]), '"id", "size"', ["id", "size"]),
        (Item.objects.values_list("size", "id"), '"size", "id"', ["size", "id"]),
        (Item.objects.distinct(["id"]), 'DISTINCT "id"', ["id"]),
    ],
)
def test_columns_of_tables(queryset: object, selected: str, names: list[str]) -> None:
    """`_listing` returns a queryset whose SELECT names each column, and the attributes' names.

    In the database, the column of the attribute `name` is called "n".
    """
    narrowed, columns = queryset._listing()  # type: ignore[attr-defined]
    assert columns == names
    assert str(narrowed).startswith(f"SELECT {selected} FROM ks.item")
