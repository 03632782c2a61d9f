"""The mapper's awaitable methods, with a session of cassandra.aio."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import pytest

from cassandra.cqlengine import CQLEngineException, columns, connection, management
from cassandra.cqlengine.models import Model
from cassandra.cqlengine.named import NamedTable
from cassandra.cqlengine.query import BatchQuery, ContextQuery, LWTException
from cassandra.cqlengine.usertype import UserType
from cassandra.testing import LocalCluster

from .conftest import synced

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("mapper")]


class Size(UserType):
    """A user-defined type of the model `Thing`."""

    __type_name__ = "aio_size"
    width = columns.Integer()


class Thing(Model):
    """The model of most tests, on the asyncio connection "awaited"."""

    __table_name__ = "aio_thing"
    __connection__ = "awaited"
    owner = columns.Integer(primary_key=True)
    number = columns.Integer(primary_key=True)
    name = columns.Text()
    tags = columns.Set(columns.Text)
    size = columns.UserDefinedType(Size)


@pytest.fixture
async def thing(awaited: str) -> Any:
    """Create the table of `Thing`, and return the model."""
    statements = await management.async_sync_table(Thing)
    assert all(statement.startswith(("CREATE", "ALTER")) for statement in statements)
    return Thing


async def test_rows_are_created_read_updated_and_deleted(thing: Any) -> None:
    """Each awaited method of models and querysets has the effect of its blocking counterpart."""
    created = await Thing.acreate(owner=1, number=1, name="a", tags={"x"}, size=Size(width=3))
    thing_read = await Thing.aget(owner=1, number=1)
    assert thing_read == created
    assert thing_read.size == Size(width=3)
    thing_read.tags.add("y")
    assert await thing_read.asave() is thing_read
    await thing_read.aupdate(name="b")
    updated: Any = await Thing.objects(owner=1).aget()
    assert (updated.name, updated.tags) == ("b", {"x", "y"})
    await Thing.objects(owner=1, number=1).aupdate(name="c", tags__remove={"x"})
    row = await Thing.objects(owner=1).afirst()
    assert row is not None
    assert (row.name, row.tags) == ("c", {"y"})
    assert await Thing.objects(owner=1).acount() == 1
    with pytest.raises(LWTException):
        await Thing.if_not_exists().acreate(owner=1, number=1)
    with pytest.raises(LWTException):
        await row.iff(name="z").aupdate(name="d")
    # The refused change stays on the instance, and the condition of `iff` still applies. `iff()`
    # without arguments removes the condition.
    assert row.get_changed_columns() == ["name"]
    await row.iff().adelete()
    with pytest.raises(Thing.DoesNotExist):
        await Thing.aget(owner=1, number=1)
    assert await Thing.objects(owner=1).afirst() is None


async def test_async_iteration_reads_all_pages(thing: Any) -> None:
    """`async for`, `aall` and `values_list` return all 50 rows, which are read in pages of 7."""
    await asyncio.gather(*(Thing.acreate(owner=2, number=number) for number in range(50)))
    rows = Thing.objects(owner=2).fetch_size(7)
    assert [row.number async for row in rows] == list(range(50))
    assert [row.number for row in await rows.limit(9).aall()] == list(range(9))
    assert [number async for number in rows.values_list("number", flat=True)] == list(range(50))
    await Thing.objects(owner=2).adelete()
    assert await rows.acount() == 0


async def test_batches(thing: Any) -> None:
    """A batch writes all its rows at the end of its block, unless the block raises an error."""
    callback_arguments: list[str] = []
    async with BatchQuery(connection="awaited") as batch:
        for number in range(3):
            await Thing.batch(batch).acreate(owner=3, number=number)
        batch.add_callback(callback_arguments.append, "done")
    assert callback_arguments == ["done"]
    assert await Thing.objects(owner=3).acount() == 3
    # A batch is not executed if its block raises.
    with contextlib.suppress(ZeroDivisionError):
        async with BatchQuery(connection="awaited") as batch:
            await Thing.batch(batch).acreate(owner=3, number=9)
            _ = 1 / 0
    assert await Thing.objects(owner=3).acount() == 3
    async with ContextQuery(Thing, connection="awaited") as model_in_context:
        assert await model_in_context.objects(owner=3).acount() == 3


async def test_a_method_of_the_wrong_api_names_the_right_one(thing: Any, mapper: str) -> None:
    """A blocking call on an asyncio connection, or the reverse, raises an error with the remedy."""
    for call_blocking in (
        lambda: Thing.get(owner=1, number=1),
        lambda: list(Thing.objects(owner=1)),
        lambda: Thing.create(owner=1, number=1),
    ):
        with pytest.raises(CQLEngineException, match="aget"):
            call_blocking()
    # The default connection has the blocking API, so the mapper refuses awaited calls on it.
    with pytest.raises(CQLEngineException, match="asetup"):
        await Thing.objects.using(connection=connection.DEFAULT_CONNECTION).filter(owner=1).acount()
    with pytest.raises(CQLEngineException, match="aexecute"):
        connection.execute("SELECT * FROM system.local", connection="awaited")
    with pytest.raises(CQLEngineException, match="execute"):
        await connection.aexecute("SELECT * FROM system.local")
    result = await connection.aexecute(
        "SELECT key FROM system.local WHERE key = %s", ["local"], connection="awaited"
    )
    assert result.one() == {"key": "local"}


async def test_management(awaited: str, mapper: str) -> None:
    """Keyspaces and tables are created and dropped with the awaited functions of `management`."""
    name = f"{mapper}_aio"
    await management.acreate_keyspace_simple(name, 1, connections=[awaited])
    await management.acreate_keyspace_network_topology(
        name, {"datacenter1": 1}, connections=[awaited]
    )
    await management.async_sync_table(Thing, keyspaces=[name])
    # The second call changes nothing, because the table is up to date.
    assert await management.async_sync_table(Thing, keyspaces=[name]) == []
    table = NamedTable(name, "aio_thing").using(awaited)
    assert [row async for row in table.all()] == []  # the table exists, and is empty
    await management.adrop_table(Thing, keyspaces=[name])
    await management.adrop_keyspace(name, connections=[awaited])


async def test_a_connection_registered_by_its_contact_points(
    node: LocalCluster, mapper: str
) -> None:
    """A connection from `aregister_connection` works until `aunregister_connection` removes it."""
    registered = await connection.aregister_connection(
        "own", node.contact_points, cluster_options={"port": node.port}
    )
    assert connection.get_connection("own") is registered
    table = NamedTable("system", "local").using("own")
    assert (await table.aget(key="local")).key == "local"
    await connection.aunregister_connection("own")
    # The mapper no longer knows the connection, and the mapper's error names the connection.
    with pytest.raises(CQLEngineException, match="own"):
        await table.aget(key="local")


async def test_a_cancelled_update_leaves_the_change_on_the_instance(thing: Any) -> None:
    """After a cancelled `aupdate`, the next `asave` writes the change again.

    The client cannot know whether the server executed the update.
    """
    instance = await Thing.acreate(owner=7, number=1, name="a")
    task = asyncio.ensure_future(instance.aupdate(name="b"))
    # Let the update begin before it is cancelled.
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert instance.get_changed_columns() == ["name"]
    await instance.asave()
    assert (await Thing.aget(owner=7, number=1)).name == "b"


def test_blocking_methods_work_beside_awaited_ones(mapper: str) -> None:
    """The mapper's blocking methods work although another connection has the asyncio API."""

    class BlockingModel(Model):
        __table_name__ = "aio_plain"
        id = columns.Integer(primary_key=True)
        name = columns.Text()

    synced(BlockingModel)
    BlockingModel.create(id=1, name="x")
    assert BlockingModel.get(id=1).name == "x"
