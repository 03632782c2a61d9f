"""Scans of fake nodes that fail in the middle."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cassandra import aio
from cassandra.bulk.ranges import LAST
from cassandra.bulk.tasks import scan_tasks
from cassandra.cluster import Cluster
from cassandra.errors import InvalidRequest
from cassandra.policies.reconnection import ConstantReconnectionPolicy
from cassandra.testing.fake import (
    Answer,
    ErrorCode,
    FakeCluster,
    Request,
    close,
    error,
    paged,
    reset,
    rows,
)
from tests.unit.metadata.schema.rows import schema
from tests.waiting import cancelled_after, until_on_loop

QUERY = 'SELECT "id", "c0" FROM "a"."t0" WHERE token("id") > ? AND token("id") <= ?'
COLUMNS = [("id", "int"), ("c0", "int")]
ROWS = 1000
# Row n has a token of its own; tokens are spread over the ring.
TOKENS = {n: n * ((1 << 64) // ROWS) - LAST for n in range(ROWS)}


class Table:
    """Answers a scan by the range that is asked for; `faults` decides what fails instead."""

    def __init__(self, faults: Callable[[int], Answer | None]) -> None:
        self.asked = 0
        self.ranges: Counter[tuple[int, int]] = Counter()
        self._faults = faults

    def __call__(self, request: Request) -> Answer:
        self.asked += 1
        fault = self._faults(self.asked)
        if fault is not None:
            return fault
        assert request.values is not None
        start, end = (int.from_bytes(value, "big", signed=True) for value in request.values)  # type: ignore[arg-type]
        if request.paging_state is None:
            self.ranges[start, end] += 1
        found = [(n, n * 2) for n, token in TOKENS.items() if start < token <= end]
        return paged(COLUMNS, found, keyspace="a", table="t0")


@pytest.fixture
def nodes() -> Iterator[FakeCluster]:
    with FakeCluster(3) as running:
        for node in running.nodes:
            node.schema = schema("a")
            prepared = node.prime_prepare(QUERY, [("a", "bigint"), ("b", "bigint")], COLUMNS)
            prepared.keyspace, prepared.table = "a", "t0"
        yield running


def settings(nodes: FakeCluster) -> dict[str, Any]:
    return {
        "contact_points": nodes.contact_points,
        "port": nodes.port,
        "reconnection_policy": ConstantReconnectionPolicy(0.01, None),
    }


def no_fault(_: int) -> None:
    return None


def each_fifth(asked: int) -> Answer | None:
    if asked % 5:
        return None
    kinds = [
        close(),
        error(ErrorCode.OVERLOADED),
        reset(),
        error(ErrorCode.READ_TIMEOUT, consistency=1, received=0, block_for=1, data_present=False),
    ]
    return kinds[asked // 5 % len(kinds)]


EXPECTED = [(n, n * 2) for n in range(ROWS)]


@pytest.mark.parametrize("faults", [no_fault, each_fifth])
@pytest.mark.parametrize("in_order", [False, True])
def test_each_row_comes_once(
    nodes: FakeCluster, faults: Callable[[int], Answer | None], in_order: bool
) -> None:
    table = Table(faults)
    nodes.prime(QUERY, table)
    with Cluster(**settings(nodes)) as cluster, cluster.connect() as session:
        scan = session.scan("a.t0", page_size=20, splits=20, in_order=in_order)
        got = [tuple(row) for row in scan]
    if not in_order:
        got.sort()
    assert got == EXPECTED


@pytest.mark.parametrize("in_order", [False, True])
async def test_a_scan_cancelled_at_any_turn_leaves_nothing(
    nodes: FakeCluster, in_order: bool
) -> None:
    nodes.prime(QUERY, Table(no_fault))
    others = asyncio.all_tasks()
    async with aio.Cluster(**settings(nodes)) as cluster:
        session = await cluster.connect(wait_for_all_pools=True)
        idle = asyncio.all_tasks()

        async def scan() -> None:
            async for _ in session.scan("a.t0", page_size=20, splits=4, in_order=in_order):
                pass

        turns = 0
        while turns < 1_000_000:
            was_over = await cancelled_after(turns, scan)
            # Its requests may be answered yet, for connections to be free of them.
            await until_on_loop(lambda: asyncio.all_tasks() <= idle)
            await until_on_loop(
                lambda: all(
                    connection.in_flight == 0
                    for pool in session._engine.pools.values()
                    for connection in pool.connections
                )
            )
            if was_over:
                break
            turns += 1 + turns // 10
        else:
            raise AssertionError("the scan was never over")
    assert asyncio.all_tasks() == others


async def test_each_row_comes_once_on_asyncio(nodes: FakeCluster) -> None:
    nodes.prime(QUERY, Table(each_fifth))
    async with aio.Cluster(**settings(nodes)) as cluster, await cluster.connect() as session:
        got = [tuple(row) async for row in session.scan("a.t0", page_size=20, splits=20)]
    assert sorted(got) == EXPECTED


def test_a_checkpoint_is_that_of_the_whole_table(nodes: FakeCluster, tmp_path: Path) -> None:
    nodes.prime(QUERY, Table(no_fault))
    path = tmp_path / "point"
    with Cluster(**settings(nodes)) as cluster, cluster.connect() as session:
        assert len(list(session.scan("a.t0", splits=4, checkpoint=path))) == ROWS
        before = path.read_bytes()
        subject = json.loads(before)["subject"]
        assert (subject["work"], subject["table"]) == ("scan", "a.t0")
        with pytest.raises(ValueError, match="its columns is None, and not"):
            list(session.scan("a.t0", ["id", "c0"], checkpoint=path))
        with pytest.raises(TypeError, match="a count does not have the option 'checkpoint'"):
            session.count("a.t0", checkpoint=path)
        assert list(session.scan("a.t0", splits=4, checkpoint=path)) == []
    assert path.read_bytes() == before


def test_a_range_is_asked_of_a_replica(nodes: FakeCluster) -> None:
    tables = [Table(no_fault) for _ in nodes.nodes]
    for node, table in zip(nodes.nodes, tables, strict=True):
        node.prime(QUERY, table)
    with Cluster(**settings(nodes)) as cluster, cluster.connect() as session:
        scan = session.scan("a.t0", splits=30)
        ranges = scan.token_ranges()
        assert len(list(scan)) == ROWS
        owners = {(one.start, one.end): one.replicas for one in ranges}
    for node, table in zip(nodes.nodes, tables, strict=True):
        assert table.ranges
        for asked in table.ranges:
            assert [at.rpartition(":")[0] for at in owners[asked]] == [node.address]


def test_a_virtual_table_is_one_range_without_tokens(nodes: FakeCluster) -> None:
    query = QUERY.partition(" WHERE")[0]
    for node in nodes.nodes:
        node.prime_prepare(query, [], COLUMNS)
    nodes.prime(query, rows(COLUMNS, EXPECTED[:5]))
    with Cluster(**settings(nodes)) as cluster, cluster.connect() as session:
        cluster.metadata.keyspaces["a"].virtual = True
        assert [tuple(row) for row in session.scan("a.t0", splits=9)] == EXPECTED[:5]
        assert len(session.scan("a.t0").token_ranges()) == 1


def test_an_error_that_will_stay_ends_the_scan(nodes: FakeCluster) -> None:
    nodes.prime(QUERY, error(ErrorCode.INVALID, "no such thing"))
    with (
        Cluster(**settings(nodes)) as cluster,
        cluster.connect() as session,
        pytest.raises(InvalidRequest, match="no such thing"),
    ):
        list(session.scan("a.t0"))


def test_pages_ahead_are_bounded_by_their_bytes(nodes: FakeCluster) -> None:
    table = Table(no_fault)
    nodes.prime(QUERY, table)
    with Cluster(**settings(nodes)) as cluster, cluster.connect() as session:
        pages = session.scan("a.t0", page_size=10, max_buffered_bytes=1, concurrency=4).pages()
        for _ in range(8):
            next(pages)
        # The first ones were asked for before anything was known of their size.
        assert table.asked <= 8 + 4
        pages.close()  # type: ignore[attr-defined]


def test_count_adds_the_ranges(nodes: FakeCluster) -> None:
    query = QUERY.replace('"id", "c0"', "count(*)")
    for node in nodes.nodes:
        node.prime_prepare(query, [("a", "bigint"), ("b", "bigint")], [("count", "bigint")])
    nodes.prime(query, rows([("count", "bigint")], [(7,)]))
    with Cluster(**settings(nodes)) as cluster, cluster.connect() as session:
        ranges = session.scan("a.t0", splits=9).token_ranges()
        assert session.count("a.t0", splits=9) == 7 * len(ranges)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"page_size": 0}, "page_size is a number from 1 on, not 0"),
        ({"splits": "x"}, "splits is a number from 1 on, not 'x'"),
        ({"concurrency": True}, "concurrency is a number from 1 on, not True"),
        ({"pagesize": 3}, "a scan does not have the option 'pagesize'"),
    ],
)
def test_options_are_checked_at_once(
    nodes: FakeCluster, options: dict[str, Any], text: str
) -> None:
    with Cluster(**settings(nodes)) as cluster, cluster.connect() as session:
        with pytest.raises((TypeError, ValueError), match=text):
            session.scan("a.t0", **options)
        with pytest.raises(ValueError, match=r"table 't0' is of no keyspace"):
            list(session.scan("t0"))


def test_each_row_comes_once_if_a_node_dies_in_the_middle(nodes: FakeCluster) -> None:
    nodes.prime(QUERY, Table(no_fault))
    got: list[Any] = []
    with Cluster(**settings(nodes)) as cluster, cluster.connect() as session:
        scan = session.scan("a.t0", page_size=20, splits=20, concurrency=4)
        for number, page in enumerate(scan.pages()):
            got += page.current_rows
            if number == 5:
                nodes.nodes[1].refuse_connections()
                nodes.nodes[1].drop_connections(reset=True)
            if number == 15:
                nodes.nodes[1].accept_connections()
                nodes.nodes[2].refuse_connections()
                nodes.nodes[2].drop_connections()
    assert sorted(tuple(row) for row in got) == EXPECTED


async def test_arrays_of_all_pages(nodes: FakeCluster) -> None:
    numpy = pytest.importorskip("numpy")
    nodes.prime(QUERY, Table(no_fault))
    with Cluster(**settings(nodes)) as cluster, cluster.connect() as session:
        arrays = session.scan("a.t0", page_size=70, splits=4).to_numpy()
    async with aio.Cluster(**settings(nodes)) as other:
        others = await (await other.connect()).scan("a.t0", page_size=70, splits=4).to_numpy()
    for found in (arrays, others):
        order = numpy.argsort(found["id"])
        assert found["id"][order].tolist() == list(range(ROWS))
        assert found["c0"][order].tolist() == [n * 2 for n in range(ROWS)]


@pytest.mark.parametrize(
    ("option", "advice"),
    [
        ("nrows", "limit=n"),
        ("chunksize", "page_size=n"),
        ("filter", "where="),
        ("workers", "concurrency=n"),
        ("delimiter", "session.unload"),
        ("pagesize", "did you mean 'page_size'"),
        ("colour", "there are checkpoint, "),
    ],
)
def test_an_unknown_option_says_what_to_write(nodes: FakeCluster, option: str, advice: str) -> None:
    given: Any = {option: 1}
    with (
        Cluster(**settings(nodes)) as cluster,
        cluster.connect() as session,
        pytest.raises(TypeError, match=f"does not have the option '{option}'; .*{advice}"),
    ):
        session.scan("a.t0", **given)


@pytest.mark.parametrize("limit", [1, 7, 70, 500, ROWS - 1, ROWS, ROWS + 1])
@pytest.mark.parametrize("in_order", [False, True])
async def test_a_limit_is_exact(nodes: FakeCluster, limit: int, in_order: bool) -> None:
    nodes.prime(QUERY, Table(no_fault))
    options: Any = {"page_size": 70, "splits": 10, "limit": limit, "in_order": in_order}
    with Cluster(**settings(nodes)) as cluster, cluster.connect() as session:
        found = [tuple(row) for row in session.scan("a.t0", **options)]
    async with aio.Cluster(**settings(nodes)) as other:
        session_there = await other.connect()
        others = [tuple(row) async for row in session_there.scan("a.t0", **options)]
    for got in (found, others):
        assert len(set(got)) == len(got) == min(limit, ROWS)
        assert set(got) <= set(EXPECTED)
        if in_order:
            assert got == EXPECTED[:limit]


async def test_a_limit_holds_for_all_forms(nodes: FakeCluster) -> None:
    pytest.importorskip("pyarrow")
    pytest.importorskip("pandas")
    pytest.importorskip("numpy")
    nodes.prime(QUERY, Table(no_fault))
    with Cluster(**settings(nodes)) as cluster, cluster.connect() as session:
        scan = session.scan("a.t0", page_size=20, splits=4, limit=33)
        assert sum(len(page.current_rows) for page in scan.pages()) == 33
        assert sum(batch.num_rows for batch in scan.arrow_batches()) == 33
        assert scan.reader().read_all().num_rows == scan.to_arrow().num_rows == 33
        assert len(scan.to_pandas()) == len(scan.to_numpy()["id"]) == 33
    async with aio.Cluster(**settings(nodes)) as other:
        there = (await other.connect()).scan("a.t0", page_size=20, splits=4, limit=33)
        assert sum([batch.num_rows async for batch in there.arrow_batches()]) == 33
        assert (await there.to_arrow()).num_rows == len(await there.to_pandas()) == 33
        assert len((await there.to_numpy())["id"]) == 33


def test_polars_have_the_limit(nodes: FakeCluster) -> None:
    pytest.importorskip("pyarrow")
    pytest.importorskip("polars")
    nodes.prime(QUERY, Table(no_fault))
    with Cluster(**settings(nodes)) as cluster, cluster.connect() as session:
        assert session.scan("a.t0", limit=33).to_polars().height == 33


def test_nothing_is_asked_for_after_the_limit(nodes: FakeCluster) -> None:
    table = Table(no_fault)
    nodes.prime(QUERY, table)
    with Cluster(**settings(nodes)) as cluster, cluster.connect() as session:
        scan = session.scan("a.t0", page_size=20, splits=20, concurrency=1, limit=40)
        assert len(list(scan)) == 40
    assert table.asked == 2


def test_where_a_limit_is_refused(nodes: FakeCluster, tmp_path: Path) -> None:
    with Cluster(**settings(nodes)) as cluster, cluster.connect() as session:
        with pytest.raises(ValueError, match="with a checkpoint does not have the option 'limit'"):
            session.scan("a.t0", limit=5, checkpoint=tmp_path / "point")
        with pytest.raises(TypeError, match="a count does not have the option 'limit'"):
            session.count("a.t0", limit=5)
        with pytest.raises(TypeError, match="tasks do not have the option 'limit'"):
            scan_tasks(session, "a.t0", limit=5)
        with pytest.raises(ValueError, match="limit is a number from 1 on, not 0"):
            session.scan("a.t0", limit=0)


def test_a_scan_shows_its_progress(nodes: FakeCluster, capsys: pytest.CaptureFixture[str]) -> None:
    nodes.prime(QUERY, Table(no_fault))
    with Cluster(**settings(nodes)) as cluster, cluster.connect() as session:
        assert len(list(session.scan("a.t0"))) == ROWS
        assert capsys.readouterr().err == ""
        assert len(list(session.scan("a.t0", progress=True))) == ROWS
    assert "a.t0: 1" in capsys.readouterr().err
