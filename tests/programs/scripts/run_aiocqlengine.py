"""Use these features of aiocqlengine: models, queries, conditions and batches with asyncio."""

from __future__ import annotations

import asyncio
import datetime
import os
from collections.abc import Callable
from typing import Any

from aiocqlengine.models import AioModel
from aiocqlengine.query import AioBatchQuery
from aiocqlengine.session import aiosession_for_cqlengine
from common import KEYSPACE, make_cluster, new_keyspace

from cassandra.cqlengine import ValidationError, columns, connection
from cassandra.cqlengine.management import sync_table
from cassandra.cqlengine.query import LWTException

os.environ["CQLENG_ALLOW_SCHEMA_MANAGEMENT"] = "1"


class Reading(AioModel):
    __keyspace__ = KEYSPACE
    sensor = columns.Integer(primary_key=True, db_field="s")
    day = columns.Text(primary_key=True, partition_key=True)
    number = columns.Integer(primary_key=True, clustering_order="desc")
    place = columns.Text(static=True)
    value = columns.Text(db_field="v", index=True)
    unit = columns.Integer(default=3)
    tags = columns.Set(columns.Text)
    counts = columns.Map(columns.Text, columns.Integer)
    steps = columns.List(columns.Integer)
    span = columns.Tuple(columns.Integer, columns.Text)


class Shape(AioModel):
    __keyspace__ = KEYSPACE
    key = columns.Integer(primary_key=True)
    kind = columns.Text(discriminator_column=True, index=True)


class Circle(Shape):
    __discriminator_value__ = "circle"
    radius = columns.Integer()


class Count(AioModel):
    __keyspace__ = KEYSPACE
    key = columns.Text(primary_key=True)
    number = columns.Counter()


def shown(row: Any) -> list[Any]:
    """Return the values of a row, with sets as sorted lists."""
    return [
        sorted(value) if isinstance(value, set) else value for value in (row[name] for name in row)
    ]


async def get(day: str = "d", number: int = 1) -> Any:
    return await Reading.async_get(sensor=1, day=day, number=number)


async def refused(call: Callable[[], Any], kind: type[Exception]) -> tuple[str, Any]:
    """Call a function that must raise an error; return its class and the row of a condition."""
    try:
        await call()
    except kind as error:
        return type(error).__name__, getattr(error, "existing", None)
    return "accepted", None


async def write() -> None:
    row = await Reading.async_create(
        sensor=1, day="d", number=1, place="here", value="a", tags={"x"}, counts={"k": 1, "z": 2},
        steps=[1], span=(1, "a"),
    )  # fmt: skip
    print("created", shown(row), shown(await get()))
    row.value = None
    del row.counts["z"]
    row.tags = set()
    row.steps.insert(0, 9)
    await row.async_save()
    print("saved", shown(await get()), row._is_persisted, row.get_changed_columns())
    row = await get()
    await row.async_update(value="b", counts={"k": 5, "n": 7}, unit=None)
    print("updated", shown(await get()))
    row.number = 2
    await row.async_save()
    rows = await Reading.objects(sensor=1, day="d").async_all()
    print("another key", sorted(row.number for row in rows))
    query = Reading.objects(sensor=1, day="d", number=2)
    await query.async_update(tags__add={"q", "r"}, counts__update={"u": 1}, steps__append=[7])
    await query.async_update(tags__remove={"q"}, unit=None)
    print("by query", shown(await query.async_get()))
    await (await get(number=2)).async_delete()
    print("deleted", await refused(lambda: get(number=2), Reading.DoesNotExist))
    print("refused", await refused(lambda: row.async_update(number=5), ValidationError))


async def conditions() -> None:
    await Reading(sensor=1, day="lwt", number=1, value="one").if_not_exists().async_save()
    again = Reading(sensor=1, day="lwt", number=1, value="two").if_not_exists()
    print("exists", (await refused(again.async_save, LWTException))[0])
    row = (await get("lwt")).iff(value="no")
    print("not met", await refused(lambda: row.async_update(value="x"), LWTException))
    await (await get("lwt")).iff(value="one").async_update(value="x")
    print("met", (await get("lwt")).value)
    await Reading(sensor=1, day="ttl", number=1).ttl(100).async_save()
    print("expires", (await get("ttl"))._ttl)


async def batches() -> None:
    done: list[str] = []
    batch = AioBatchQuery(timestamp=datetime.timedelta(seconds=5))
    batch.add_callback(done.append, "done")
    row = (await get("lwt")).batch(batch)
    row.value = "in the batch"
    await row.async_save()
    await Reading.objects.batch(batch).async_create(sensor=1, day="batch", number=1, value="new")
    await Reading.objects(sensor=1, day="ttl", number=1).batch(batch).async_update(value="late")
    print("queries", len(batch.queries))
    await batch.async_execute()
    print("executed", done, len(batch.queries))
    print([(await get(day)).value for day in ("lwt", "batch", "ttl")])


async def read() -> None:
    for number in range(5):
        await Reading.async_create(sensor=1, day="r", number=number, value=f"v{number}")
    query = Reading.objects(sensor=1, day="r")
    rows = await query.async_all()
    print("rows", len(rows), [row.number for row in rows], rows[0].day, [r.unit for r in rows[1:3]])
    print("flat", list(await query.values_list("number", flat=True).async_all()))
    print("only", [(row.number, row.value) for row in await query.only(["value"]).async_all()])
    print("ordered", (await query.order_by("number").async_first()).number)
    print("none", await Reading.objects(sensor=1, day="none").async_first())
    print("filtered", [row.number for row in await query.filter(number__gte=3).async_all()])
    print("by index", [row.number for row in await Reading.objects(value="v2").async_all()])
    pages = [len(page) async for page in Reading.async_iterate(fetch_size=3, limit=5)]
    print("pages", pages)


async def others() -> None:
    await Circle.async_create(key=1, radius=2)
    shape = await Shape.async_get(key=1)
    print("shape", type(shape).__name__, (await Circle.async_get(key=1)).radius)
    count = await Count.async_create(key="a")
    count.number += 5
    await count.async_update()
    count.number -= 2
    await count.async_save()
    print("count", (await Count.async_get(key="a")).number)


async def main() -> None:
    """Write, read and delete rows through the models of aiocqlengine."""
    with make_cluster() as cluster:
        session = cluster.connect()
        new_keyspace(session)
        aiosession_for_cqlengine(session)
        connection.set_session(session)
        for model in (Reading, Shape, Circle, Count):
            sync_table(model)
        for part in (write, conditions, batches, read, others):
            await part()


asyncio.run(main())
