"""A table that is dropped and created again during a bulk operation does not go unnoticed."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cassandra import aio
from cassandra._steps import drive
from cassandra.bulk import LoadError, chunks
from cassandra.bulk.copy import acopy, copy
from cassandra.bulk.same_table import TableWatch
from cassandra.cluster import Cluster
from cassandra.errors import DriverException, InvalidRequest
from cassandra.testing.fake import ErrorCode, FakeNode, Opcode, Request, error, paged, void
from cassandra.testing.fake.answers import Answer
from tests.unit.metadata.schema.rows import schema

INSERT = "INSERT INTO a.t0 (id, c0) VALUES (?, ?)"
SCAN = 'SELECT "id", "c0" FROM "a"."t1" WHERE token("id") > ? AND token("id") <= ?'
COUNT = 'SELECT count(*) FROM "a"."t1" WHERE token("id") > ? AND token("id") <= ?'
COLUMNS = [("id", "int"), ("c0", "int")]
LOST = r"a\.t0 was dropped and created again meanwhile, so rows .* are lost"
MIXED = r"a\.t1 was dropped and created again during the scan"


@pytest.fixture
def node() -> Iterator[FakeNode]:
    """Yield a node with the tables a.t0, which loads write, and a.t1, which scans read."""
    with FakeNode() as running_node:
        running_node.schema = schema("a")
        insert = running_node.prime_prepare(INSERT, COLUMNS, pk_indexes=[0])
        insert.keyspace, insert.table = "a", "t0"
        for query, columns in ((SCAN, COLUMNS), (COUNT, [("count", "bigint")])):
            select = running_node.prime_prepare(query, [("x", "bigint"), ("y", "bigint")], columns)
            select.keyspace, select.table = "a", "t1"
        yield running_node


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limit chunks to ten rows."""
    for name in ("CHUNK_ROWS", "TEXT_ROWS", "OBJECT_ROWS"):
        monkeypatch.setattr(chunks, name, 10)


def create_again(node: FakeNode, name: str) -> None:
    """Give a table another id, as if it was dropped and created again; send no event of it."""
    node.schema["system_schema.tables"] = [
        {**row, "id": uuid.uuid4()} if row["table_name"] == name else row
        for row in node.schema["system_schema.tables"]
    ]


def create_again_at(node: FakeNode, name: str, number: int) -> Callable[[Request], Answer]:
    """Return an answer to writes of rows, or to requests of a scan's pages.

    :param name: the table that is dropped and created again.
    :param number: the number of the request, from 1, at which this happens; 0 for never.
    """
    count = 0

    def answer(request: Request) -> Answer:
        nonlocal count
        count += 1
        if count == number:
            create_again(node, name)
        if name == "t0":
            return void()
        return paged(COLUMNS, [(count, count)], keyspace="a", table="t1")

    return answer


def on_session(node: FakeNode, call: Callable[[Any], Any]) -> Any:
    """Call a function with a blocking session."""
    with Cluster([node.address], port=node.port) as cluster, cluster.connect() as session:
        return call(session)


def on_asyncio_session(node: FakeNode, call: Callable[[Any], Any]) -> Any:
    """Call a function with an asyncio session, and await its result."""

    async def main() -> Any:
        async with aio.Cluster([node.address], port=node.port) as cluster:
            result = call(await cluster.connect())
            if hasattr(result, "__aiter__"):
                return [item async for item in result]
            return await result

    return asyncio.run(main())


BOTH = pytest.mark.parametrize("run", [on_session, on_asyncio_session], ids=["blocking", "asyncio"])
Run = Callable[[FakeNode, Callable[[Any], Any]], Any]


@BOTH
@pytest.mark.parametrize("number", [1, 5])
def test_a_load_whose_table_is_created_again_fails(node: FakeNode, run: Run, number: int) -> None:
    """A load fails at the latest at its end, although the driver knows nothing of the new table."""
    node.prime(Opcode.BATCH, create_again_at(node, "t0", number))
    node.prime(Opcode.EXECUTE, create_again_at(node, "t0", number))
    lines = [(n, n) for n in range(60)]
    with pytest.raises(LoadError, match=f"{LOST}: load all rows again$") as caught:
        run(node, lambda session: session.load("a.t0", lines))
    assert caught.value.report.read == 60


@BOTH
def test_a_prepared_load_whose_table_is_created_again_fails(node: FakeNode, run: Run) -> None:
    """A load with a prepared statement notices it, too."""
    node.prime(Opcode.BATCH, create_again_at(node, "t0", 2))
    node.prime(Opcode.EXECUTE, create_again_at(node, "t0", 2))
    lines = [(n, n) for n in range(60)]

    def blocking(session: Any) -> Any:
        return session.load(session.prepare(INSERT), lines)

    async def by_asyncio(session: Any) -> Any:
        return await session.load(await session.prepare(INSERT), lines)

    with pytest.raises(LoadError, match=LOST):
        run(node, blocking if run is on_session else by_asyncio)


def test_a_load_fails_as_soon_as_the_metadata_know_it(node: FakeNode) -> None:
    """A load does not write the rest of its rows after the driver knows of the new table."""

    def main(session: Any) -> Any:
        def source() -> Iterator[tuple[int, int]]:
            for number in range(1000):
                if number == 100:
                    create_again(node, "t0")
                    session.cluster.refresh_table_metadata("a", "t0")
                yield number, number

        return session.load("a.t0", source(), columns=["id", "c0"])

    with pytest.raises(LoadError, match=LOST) as caught:
        on_session(node, main)
    assert caught.value.report.read < 200


@BOTH
def test_the_checkpoint_of_a_table_that_was_created_again_is_kept(
    node: FakeNode, run: Run, tmp_path: Path
) -> None:
    """After such a load, its checkpoint stays, and another run of the load refuses it."""
    path, point = tmp_path / "a.csv", tmp_path / "point"
    path.write_text("id,c0\n" + "".join(f"{n},{n}\n" for n in range(60)))
    for opcode in (Opcode.BATCH, Opcode.EXECUTE):
        node.prime(opcode, create_again_at(node, "t0", 3))

    def load(session: Any, **options: Any) -> Any:
        return session.load("a.t0", path, checkpoint=point, **options)

    with pytest.raises(LoadError, match=f"{LOST}: load all rows again with restart=True"):
        run(node, load)
    assert point.exists()
    with pytest.raises(ValueError, match="table"):
        run(node, load)
    assert run(node, lambda session: load(session, restart=True)).written == 60
    assert not point.exists()


def test_a_run_after_such_a_load_does_not_resume_in_the_same_session(
    node: FakeNode, tmp_path: Path
) -> None:
    """The same session refuses the checkpoint at once, although no event has come."""
    path, point = tmp_path / "a.csv", tmp_path / "point"
    path.write_text("id,c0\n" + "".join(f"{n},{n}\n" for n in range(60)))
    for opcode in (Opcode.BATCH, Opcode.EXECUTE):
        node.prime(opcode, create_again_at(node, "t0", 3))

    def load_twice(session: Any) -> None:
        with pytest.raises(LoadError, match=LOST):
            session.load("a.t0", path, checkpoint=point)
        with pytest.raises(ValueError, match="table"):
            session.load("a.t0", path, checkpoint=point)

    on_session(node, load_twice)


@BOTH
def test_a_table_that_was_created_again_before_the_load_is_the_same(
    node: FakeNode, run: Run
) -> None:
    """A load and a scan work if only the driver's metadata are out of date at their beginning."""
    node.prime(SCAN, create_again_at(node, "t1", 0))

    def load(session: Any) -> Any:
        create_again(node, "t0")
        return session.load("a.t0", [(1, 1)])

    assert run(node, load).written == 1

    def scan(session: Any) -> Any:
        create_again(node, "t1")
        return (
            session.scan("a.t1", splits=4)
            if run is on_asyncio_session
            else list(session.scan("a.t1", splits=4))
        )

    assert run(node, scan)


@BOTH
def test_nothing_is_noticed_if_servers_do_not_tell_the_id(node: FakeNode, run: Run) -> None:
    """If the id cannot be read, the load relies on the metadata, and works."""
    node.prime(
        "SELECT id FROM system_schema.tables WHERE keyspace_name = 'a' AND table_name = 't0'",
        error(ErrorCode.UNAUTHORIZED, "no"),
    )
    assert run(node, lambda session: session.load("a.t0", [(1, 1)])).written == 1


@BOTH
def test_a_dry_run_does_not_ask(node: FakeNode, run: Run) -> None:
    """A dry run writes nothing, so it does not matter if the table is another one at its end."""

    def source() -> Iterator[tuple[int, int]]:
        yield 1, 1
        create_again(node, "t0")

    def load(session: Any) -> Any:
        return session.load("a.t0", source(), columns=["id", "c0"], dry_run=True)

    assert run(node, load).read == 1


@BOTH
def test_a_scan_whose_table_is_created_again_fails_at_its_end(node: FakeNode, run: Run) -> None:
    """A scan, a count and an unload fail, although the driver knows nothing of the new table."""
    node.prime(SCAN, create_again_at(node, "t1", 3))
    is_blocking = run is on_session

    def scan(session: Any) -> Any:
        found = session.scan("a.t1", splits=4)
        return list(found) if is_blocking else found

    with pytest.raises(DriverException, match=MIXED):
        run(node, scan)


@BOTH
def test_a_count_of_a_table_that_is_created_again_fails(node: FakeNode, run: Run) -> None:
    """A count fails, too."""
    count = 0

    def answer(request: Request) -> Answer:
        nonlocal count
        count += 1
        if count == 3:
            create_again(node, "t1")
        return paged([("count", "bigint")], [(1,)], keyspace="a", table="t1")

    node.prime(COUNT, answer)
    with pytest.raises(DriverException, match=MIXED):
        run(node, lambda session: session.count("a.t1", splits=4))


@BOTH
def test_an_unload_of_a_table_that_is_created_again_is_not_complete(
    node: FakeNode, run: Run, tmp_path: Path
) -> None:
    """An unload fails, and writes no manifest."""
    node.prime(SCAN, create_again_at(node, "t1", 3))
    folder = tmp_path / "rows"
    with pytest.raises(DriverException, match=MIXED):
        run(node, lambda session: session.unload("a.t1", folder, format="csv", splits=4))
    assert not folder.exists()


@BOTH
def test_a_copy_into_a_table_that_is_created_again_fails(node: FakeNode, run: Run) -> None:
    """A copy fails, with the counts of its rows so far."""
    select = SCAN.replace('"id", "c0" FROM', "id, c0 FROM")
    prepared = node.prime_prepare(select, [("x", "bigint"), ("y", "bigint")], COLUMNS)
    prepared.keyspace, prepared.table = "a", "t1"
    node.prime(select, create_again_at(node, "t1", 0))
    node.prime(INSERT, create_again_at(node, "t0", 2))
    copier: Any = copy if run is on_session else acopy
    with pytest.raises(LoadError, match=rf"copy to a\.t0: table a\.t1: {LOST}: copy all rows"):
        run(node, lambda session: copier(session, "a.t1", session, "a.t0", splits=4))


def rename_key(node: FakeNode) -> None:
    """Rename the key column of a.t1, and give its old name to another column; send no event."""
    for row in node.schema["system_schema.columns"]:
        if row["table_name"] == "t1" and row["column_name"] in ("id", "c0"):
            row["column_name"] = {"id": "zz", "c0": "id"}[row["column_name"]]


@BOTH
@pytest.mark.parametrize("is_known", [True, False])
def test_a_scan_of_a_key_that_was_renamed_fails(node: FakeNode, run: Run, is_known: bool) -> None:
    """Otherwise a scan would take the values of the new column with the name for those of the key.

    :param is_known: whether the driver knows of the change before the end of the scan.
    """
    count = 0

    def answer(request: Request) -> Answer:
        nonlocal count
        count += 1
        if count == 3:
            rename_key(node)
        return paged(COLUMNS, [(count, count)], keyspace="a", table="t1")

    node.prime(SCAN, answer)
    options: Any = {"splits": 4, "concurrency": 1}

    def blocking(session: Any) -> None:
        for number, _page in enumerate(session.scan("a.t1", **options).pages()):
            if number == 2 and is_known:
                session.cluster.refresh_table_metadata("a", "t1")

    async def by_asyncio(session: Any) -> None:
        number = 0
        async for _page in session.scan("a.t1", **options).pages():
            number += 1
            if number == 3 and is_known:
                await session.cluster.refresh_table_metadata("a", "t1")

    message = r"a\.t1 was altered during the scan, and 'id' is no longer in its primary key"
    with pytest.raises(DriverException, match=message):
        run(node, blocking if run is on_session else by_asyncio)
    # The page that arrives after the driver knows of the change ends the scan.
    assert count < 5 or not is_known


def test_hidden_columns_of_compact_storage_are_not_missed(node: FakeNode) -> None:
    """The schema of a table with compact storage has other columns than CQL, so it is not asked."""

    def main(session: Any) -> None:
        metadata = session.cluster.metadata
        metadata.keyspaces["a"].tables["t1"].is_compact_storage = True
        watch = TableWatch(metadata, "a", "t1")
        drive(watch.begin_steps(), lambda step: step(session))
        rename_key(node)
        assert drive(watch.renamed_keys_steps(), lambda step: step(session)) == []

    on_session(node, main)


def test_the_id_of_a_view_is_read_from_the_views() -> None:
    """A view has its id in another table than a table."""

    class Table:
        id = uuid.uuid4()
        primary_key: list[Any] = []

    class Keyspace:
        virtual = False
        tables: dict[str, Any] = {}
        views = {"v": Table()}

    class Metadata:
        keyspaces = {"A b": Keyspace()}

    metadata: Any = Metadata()
    steps = TableWatch(metadata, "A b", "v").begin_steps()
    asked: list[str] = []

    class Session:
        def execute(self, statement: Any, **options: Any) -> Any:
            asked.append(statement.query_string)
            raise InvalidRequest("no")

    session: Any = Session()
    step = next(steps)
    with pytest.raises(InvalidRequest) as caught:
        step(session)
    with pytest.raises(StopIteration):  # the generator ends, without the id
        steps.throw(caught.value)
    assert asked == [
        "SELECT id FROM system_schema.views WHERE keyspace_name = 'A b' AND view_name = 'v'"
    ]
