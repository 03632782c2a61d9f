"""Test scans of a whole table on fake nodes, also while requests or nodes fail."""

from __future__ import annotations

import asyncio
import datetime
import gc
import json
import os
import uuid
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from cassandra import ConsistencyLevel, aio
from cassandra.bulk.ranges import FIRST, LAST, TokenRange
from cassandra.bulk.scan import _description, _without_ellipsis
from cassandra.bulk.tasks import scan_tasks
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile
from cassandra.errors import DriverException, InvalidRequest
from cassandra.policies.reconnection import ConstantReconnectionPolicy
from cassandra.policies.retry import Decision, RetryPolicy
from cassandra.testing.fake import (
    Answer,
    ErrorCode,
    FakeCluster,
    FakeNode,
    Request,
    close,
    error,
    hold,
    paged,
    reset,
    rows,
)
from cassandra.util import SortedSet
from tests.processes import run_python
from tests.unit.metadata.schema.rows import schema
from tests.waiting import cancelled_after, until_on_loop

QUERY = 'SELECT "id", "c0" FROM "a"."t0" WHERE token("id") > ? AND token("id") <= ?'
COLUMNS = [("id", "int"), ("c0", "int")]
ROWS = 1000
# the token of each row, by the row's number n; the tokens are spread evenly over the ring
TOKENS = {n: n * ((1 << 64) // ROWS) - LAST for n in range(ROWS)}


class Table:
    """A fake table that answers the request for a token range with the rows of this range.

    :param faults: called with the number of the request, counted from 1. Returns another answer to
        send instead of the rows, or None to send the rows.
    """

    def __init__(self, faults: Callable[[int], Answer | None]) -> None:
        self.request_count = 0
        self.ranges: Counter[tuple[int, int]] = Counter()
        self._faults = faults

    def __call__(self, request: Request) -> Answer:
        self.request_count += 1
        fault = self._faults(self.request_count)
        if fault is not None:
            return fault
        assert request.values is not None
        start, end = (int.from_bytes(value, "big", signed=True) for value in request.values)  # type: ignore[arg-type]
        # Count each range once, with the request for its first page.
        if request.paging_state is None:
            self.ranges[start, end] += 1
        matching_rows = [(n, n * 2) for n, token in TOKENS.items() if start < token <= end]
        return paged(COLUMNS, matching_rows, keyspace="a", table="t0")


@pytest.fixture
def nodes() -> Iterator[FakeCluster]:
    """Yield three nodes that have the table `a.t0`, and can prepare a scan of it."""
    with FakeCluster(3) as running_nodes:
        for node in running_nodes.nodes:
            node.schema = schema("a")
            prepared = node.prime_prepare(QUERY, [("a", "bigint"), ("b", "bigint")], COLUMNS)
            prepared.keyspace, prepared.table = "a", "t0"
        yield running_nodes


def settings(nodes: FakeCluster) -> dict[str, Any]:
    """Return the settings of a cluster that reconnects to lost nodes after 0.01 seconds."""
    return {
        "contact_points": nodes.contact_points,
        "port": nodes.port,
        "reconnection_policy": ConstantReconnectionPolicy(delay=0.01, max_attempts=None),
    }


def no_fault(request_number: int) -> None:
    """Return None, so that a `Table` with this argument answers every request with rows."""


def fail_each_fifth(request_number: int) -> Answer | None:
    """Return a fault for each fifth request, in turn one of four, and None for other requests."""
    if request_number % 5:
        return None
    faults = [
        close(),
        error(ErrorCode.OVERLOADED),
        reset(),
        error(ErrorCode.READ_TIMEOUT, consistency=1, received=0, blockfor=1, data_present=False),
    ]
    return faults[request_number // 5 % len(faults)]


EXPECTED = [(n, n * 2) for n in range(ROWS)]


@pytest.mark.parametrize("fault_of_request", [no_fault, fail_each_fifth])
@pytest.mark.parametrize("in_order", [False, True])
def test_each_row_comes_once(
    nodes: FakeCluster, fault_of_request: Callable[[int], Answer | None], in_order: bool
) -> None:
    """A scan returns each row once, even if requests fail; with `in_order`, sorted by token."""
    table = Table(fault_of_request)
    nodes.prime(QUERY, table)
    with Cluster(**settings(nodes)) as cluster, cluster.connect() as session:
        scan = session.scan("a.t0", page_size=20, splits=20, in_order=in_order)
        scanned = [tuple(row) for row in scan]
    if not in_order:
        scanned.sort()
    assert scanned == EXPECTED


# -- tables of which each node has its own rows ----------------------------------------------------

LOCAL_QUERY = 'SELECT "id", "c0" FROM "system"."t0"'


@pytest.fixture(params=["local", "virtual"])
def nodes_with_own_rows(request: pytest.FixtureRequest) -> Iterator[FakeCluster]:
    """Yield three nodes with a table `system.t0`, in whose rows `c0` is the number of the node."""
    with FakeCluster(3) as running_nodes:
        for number, node in enumerate(running_nodes.nodes):
            node.schema = schema("system")
            if request.param == "virtual":
                node.schema = {
                    name.replace("system_schema", "system_virtual_schema"): table_rows
                    for name, table_rows in node.schema.items()
                }
            else:
                node.schema["system_schema.keyspaces"][0]["replication"] = {
                    "class": "org.apache.cassandra.locator.LocalStrategy"
                }
            prepared = node.prime_prepare(LOCAL_QUERY, [], COLUMNS)
            prepared.keyspace, prepared.table = "system", "t0"
            own_rows = [(n, number) for n in range(30)]
            node.prime(LOCAL_QUERY, paged(COLUMNS, own_rows, keyspace="system", table="t0"))
        yield running_nodes


async def test_rows_of_several_nodes_are_not_mixed(nodes_with_own_rows: FakeCluster) -> None:
    """If each node has its own rows of a table, a scan reads them from one node.

    Otherwise, it would read some rows of each node.
    """
    nodes = nodes_with_own_rows
    async with aio.Cluster(**settings(nodes)) as async_cluster:
        async_session = await async_cluster.connect()
        async_rows = [tuple(row) async for row in async_session.scan("system.t0", page_size=4)]
    with Cluster(**settings(nodes)) as cluster, cluster.connect() as session:
        scanned = [tuple(row) for row in session.scan("system.t0", page_size=4)]
    for read_rows in (scanned, async_rows):
        assert [n for n, _ in read_rows] == list(range(30))
        assert len({number for _, number in read_rows}) == 1


def test_a_resumed_scan_reads_the_rows_of_the_same_node(
    nodes_with_own_rows: FakeCluster, tmp_path: Path
) -> None:
    """If each node has its own rows of a table, the checkpoint names the node that was read."""
    nodes = nodes_with_own_rows
    path = tmp_path / "point"
    for _ in range(3):  # another session may begin with another node
        with Cluster(**settings(nodes)) as cluster, cluster.connect() as session:
            iterator = iter(session.scan("system.t0", page_size=4, checkpoint=path))
            first = [tuple(next(iterator)) for _ in range(10)]
            session.execute("SELECT key FROM system.local")
            rest = [tuple(row) for row in session.scan("system.t0", page_size=4, checkpoint=path)]
        assert [n for n, _ in first] == list(range(10))
        assert [n for n, _ in rest] == list(range(8, 30))
        assert len({number for _, number in [*first, *rest]}) == 1
        path.unlink()


def test_a_scan_is_not_resumed_on_another_node(
    nodes_with_own_rows: FakeCluster, tmp_path: Path
) -> None:
    """If the checkpoint names a node that has left, or has token ranges, the scan fails."""
    path = tmp_path / "point"
    with Cluster(**settings(nodes_with_own_rows)) as cluster, cluster.connect() as session:
        iterator = iter(session.scan("system.t0", page_size=4, checkpoint=path))
        for _ in range(10):
            next(iterator)
        # The first line of the file is the state. The other lines are changes of it.
        content = json.loads(path.read_text().splitlines()[0])
        for ranges, message in (
            ([[FIRST, LAST, ["10.0.0.1:9042"]]], r"has begun to read, 10\.0\.0\.1:9042, is not in"),
            ([[FIRST, 0, []], [0, LAST, []]], "has token ranges, but system.t0 is not read by"),
        ):
            content["state"]["ranges"] = ranges
            path.write_text(json.dumps(content))
            with pytest.raises(ValueError, match=message):
                next(iter(session.scan("system.t0", checkpoint=path)))


class IgnoringPolicy(RetryPolicy):
    """A retry policy of an application that ignores each error of a server."""

    def on_read_timeout(self, *args: Any, **options: Any) -> Decision:
        return self.IGNORE, None

    on_unavailable = on_request_error = on_read_timeout


async def test_the_error_of_a_range_is_not_ignored(nodes: FakeCluster) -> None:
    """Even if the application's retry policy ignores errors, a scan requests a failed page again.

    With an ignored error, the page would be empty, and so count as the end of its range.
    """
    profiles = {EXEC_PROFILE_DEFAULT: ExecutionProfile(retry_policy=IgnoringPolicy())}
    options: dict[str, Any] = {"page_size": 20, "splits": 20}
    nodes.prime(QUERY, Table(fail_each_fifth))
    with (
        Cluster(**settings(nodes), execution_profiles=profiles) as cluster,
        cluster.connect() as session,
    ):
        assert sorted(tuple(row) for row in session.scan("a.t0", **options)) == EXPECTED
    nodes.prime(QUERY, Table(fail_each_fifth))
    async with aio.Cluster(**settings(nodes), execution_profiles=profiles) as async_cluster:
        async_session = await async_cluster.connect()
        scanned = [tuple(row) async for row in async_session.scan("a.t0", **options)]
        assert sorted(scanned) == EXPECTED


@pytest.mark.parametrize("in_order", [False, True])
async def test_a_scan_cancelled_at_any_step_leaves_no_task(
    nodes: FakeCluster, in_order: bool
) -> None:
    """A scan that is cancelled at any step leaves no task behind, and no request in flight.

    The test cancels the scan after 0, 1, 2 ... turns of the event loop, until the scan ends before
    its cancellation.
    """
    nodes.prime(QUERY, Table(no_fault))
    tasks_before = asyncio.all_tasks()
    async with aio.Cluster(**settings(nodes)) as cluster:
        session = await cluster.connect(wait_for_all_pools=True)
        tasks_without_scan = asyncio.all_tasks()

        async def scan() -> None:
            async for _ in session.scan("a.t0", page_size=20, splits=4, in_order=in_order):
                pass

        def no_request_is_in_flight() -> bool:
            pools = session._engine.pools.values()
            connections = [connection for pool in pools for connection in pool.connections]
            return all(connection.in_flight == 0 for connection in connections)

        turns = 0
        while turns < 1_000_000:
            is_finished = await cancelled_after(turns, scan)
            # Responses to requests of the cancelled scan may still arrive, so wait until the
            # responses have freed the streams.
            await until_on_loop(lambda: asyncio.all_tasks() <= tasks_without_scan)
            await until_on_loop(no_request_is_in_flight)
            if is_finished:
                break
            # Cancel after 0 to 10 turns of the event loop, and then at growing distances.
            turns += 1 + turns // 10
        else:
            raise AssertionError("the scan was never over")
    assert asyncio.all_tasks() == tasks_before


async def test_each_row_is_returned_once_on_asyncio(nodes: FakeCluster) -> None:
    """A scan on asyncio returns each row once, even if requests fail."""
    nodes.prime(QUERY, Table(fail_each_fifth))
    async with aio.Cluster(**settings(nodes)) as cluster, await cluster.connect() as session:
        scanned = [tuple(row) async for row in session.scan("a.t0", page_size=20, splits=20)]
    assert sorted(scanned) == EXPECTED


def test_a_checkpoint_is_refused_for_other_columns(nodes: FakeCluster, tmp_path: Path) -> None:
    """A checkpoint of a scan of all columns is refused for a scan of some columns.

    The checkpoint's file is not changed.
    """
    nodes.prime(QUERY, Table(no_fault))
    path = tmp_path / "point"
    with Cluster(**settings(nodes)) as cluster, cluster.connect() as session:
        assert len(list(session.scan("a.t0", checkpoint=path))) == ROWS
        content_before = path.read_bytes()
        subject = json.loads(content_before.splitlines()[0])["subject"]
        assert subject["work"] == "scan"
        assert subject["table"] == "a.t0"
        with pytest.raises(ValueError, match="its columns is None, and not"):
            list(session.scan("a.t0", ["id", "c0"], checkpoint=path))
        # The first scan has read all rows, so nothing is left to read.
        assert list(session.scan("a.t0", checkpoint=path)) == []
    assert path.read_bytes() == content_before


def test_a_count_takes_no_checkpoint(nodes: FakeCluster, tmp_path: Path) -> None:
    """A count does not have the option `checkpoint`."""
    with (
        Cluster(**settings(nodes)) as cluster,
        cluster.connect() as session,
        pytest.raises(TypeError, match="a count does not have the option 'checkpoint'"),
    ):
        session.count("a.t0", checkpoint=tmp_path / "point")


def test_a_scan_warns_that_its_checkpoint_is_complete(
    nodes: FakeCluster, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A scan logs a warning if it reads nothing because its checkpoint is already complete.

    The warning has the time at which the checkpoint was written.
    """
    nodes.prime(QUERY, Table(no_fault))
    path = tmp_path / "point"

    async def read_on_asyncio() -> None:
        async with aio.Cluster(**settings(nodes)) as cluster, await cluster.connect() as session:
            assert [row async for row in session.scan("a.t0", checkpoint=path)] == []

    with Cluster(**settings(nodes)) as cluster, cluster.connect() as session:
        rows_of_table = iter(session.scan("a.t0", splits=4, page_size=100, checkpoint=path))
        for _ in range(ROWS // 2):
            next(rows_of_table)
        del rows_of_table
        # A scan that still has rows to read does not warn. A scan of no ranges does not warn either
        # if its checkpoint does not exist yet.
        assert list(session.scan("a.t0", checkpoint=path))
        assert list(session.scan("a.t0", ranges=[], checkpoint=tmp_path / "other")) == []
        warning = f"The checkpoint {path} is complete: a scan of a.t0 has read all rows, and wrote"
        assert warning not in caplog.text
        os.utime(path, (0, 0))
        assert list(session.scan("a.t0", checkpoint=path)) == []
    assert caplog.text.count(warning) == 1
    written_at = datetime.datetime.fromtimestamp(0).astimezone().isoformat(" ", "seconds")
    assert f"it at {written_at}. Nothing is read now; delete the file" in caplog.text
    asyncio.run(read_on_asyncio())
    assert caplog.text.count(warning) == 2


def test_a_checkpoint_is_refused_for_another_cluster(nodes: FakeCluster, tmp_path: Path) -> None:
    """A checkpoint of a scan is refused in a cluster with another name."""
    nodes.prime(QUERY, Table(no_fault))
    path = tmp_path / "point"
    with Cluster(**settings(nodes)) as cluster, cluster.connect() as session:
        list(session.scan("a.t0", splits=4, checkpoint=path))
    for node in nodes.nodes:
        node.cluster_name = "production"
    with (
        Cluster(**settings(nodes)) as cluster,
        cluster.connect() as session,
        pytest.raises(ValueError, match="its cluster is 'Fake Cluster', and not 'production'"),
    ):
        list(session.scan("a.t0", checkpoint=path))


def test_a_checkpoint_is_refused_for_other_ranges(nodes: FakeCluster, tmp_path: Path) -> None:
    """A checkpoint of a scan with `ranges=` is refused for other ranges; replicas may differ."""
    nodes.prime(QUERY, Table(no_fault))
    path = tmp_path / "point"
    lower_range, upper_range = TokenRange(FIRST, -1), TokenRange(-1, LAST)
    lower_half = [n for n, token in TOKENS.items() if token <= -1]
    with Cluster(**settings(nodes)) as cluster, cluster.connect() as session:
        options: Any = {"page_size": 100, "checkpoint": path}
        lower_rows: Any = iter(session.scan("a.t0", ranges=[lower_range], in_order=True, **options))
        # Stop after 150 rows, in the middle of the second page.
        numbers = [next(lower_rows).id for _ in range(150)]
        lower_rows.close()
        content_before = path.read_bytes()
        for ranges in ([upper_range], [lower_range, upper_range], [], None):
            with pytest.raises(ValueError, match=r"it is of other token ranges \(ranges=\)"):
                list(session.scan("a.t0", ranges=ranges, **options))
        assert path.read_bytes() == content_before
        # A checkpoint identifies a range by its tokens, because the range's replicas may change.
        range_with_replica = TokenRange(*lower_range[:2], ("h",))
        numbers += [row.id for row in session.scan("a.t0", ranges=[range_with_replica], **options)]
        # The first scan stopped within a page. The second scan reads this page again, so some rows
        # come twice.
        assert sorted(set(numbers)) == lower_half
        # A checkpoint of a scan of the whole table is refused for a scan with `ranges=`.
        path.unlink()
        list(session.scan("a.t0", **options))
        with pytest.raises(ValueError, match="it is of other token ranges"):
            list(session.scan("a.t0", ranges=[lower_range], **options))


@pytest.mark.parametrize("make", ["numpy.array", "pandas.Series", "polars.Series", "pyarrow.array"])
def test_a_checkpoint_is_refused_for_another_array(
    nodes: FakeCluster, tmp_path: Path, make: str
) -> None:
    """If two long arrays differ only in the middle, a checkpoint distinguishes them.

    Their `repr` has an ellipsis there. So a description by `repr` would be the same, and a scan
    with another condition would be resumed and would lose rows.
    """
    module_name, _, name = make.partition(".")
    module = pytest.importorskip(module_name)
    make_array = getattr(module, name)
    if module_name == "pyarrow" and not hasattr(module.Int64Scalar, "__index__"):
        pytest.skip("the numbers of this pyarrow are not integers of Python, so they are refused")
    query = f"{QUERY} AND c0 IN ? ALLOW FILTERING"
    markers = [("a", "bigint"), ("b", "bigint"), ("in(c0)", "list<int>")]
    nodes.prime_prepare(query, markers, COLUMNS)
    nodes.prime(query, paged(COLUMNS, [], keyspace="a", table="t0"))
    numbers = list(range(2000))
    other_numbers = [*numbers[:1000], 5000, *numbers[1001:]]
    with Cluster(**settings(nodes)) as cluster, cluster.connect() as session:

        def read(values: list[int]) -> None:
            options: Any = {"where": "c0 IN ?", "parameters": [make_array(values)]}
            scan = session.scan("a.t0", ["id", "c0"], checkpoint=tmp_path / "point", **options)
            assert list(scan) == []

        read(numbers)
        read(numbers)
        with pytest.raises(ValueError, match="is the checkpoint of something else: its parameters"):
            read(other_numbers)


def test_a_checkpoint_is_refused_for_an_array_inside_a_list() -> None:
    """`_without_ellipsis` converts arrays inside lists, tuples and dicts, too."""
    numpy = pytest.importorskip("numpy")
    array = numpy.arange(2000)
    numbers = list(range(2000))
    assert _without_ellipsis([array, (array,)]) == [numbers, (numbers,)]
    assert _without_ellipsis({"a": [array]}) == {"a": [numbers]}
    assert _without_ellipsis("text") == "text"


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("{'aa', 'bb', 'cc'}", "{'aa', 'bb', 'cc'}"),
        ("frozenset(['bb', 'aa'])", "{'aa', 'bb'}"),
        ("SortedSet(['bb', 'aa'])", "SortedSet(['aa', 'bb'])"),
        ("set()", "set()"),
        ("[({'bb', 'aa'},), {'bb': {'y', 'x'}, 'aa': 1}]", "[({'aa', 'bb'},), {'aa': 1, 'bb': {'x', 'y'}}]"),  # noqa: E501
        ("Named({'bb', 'aa'})", "Named(a={'aa', 'bb'})"),
        ("Data({'bb', 'aa'})", "Data(a={'aa', 'bb'})"),
        ("Plain({'bb', 'aa'})", "Plain(a={'aa', 'bb'})"),
        ("Slotted({'bb', 'aa'})", "Slotted(a={'aa', 'bb'})"),
        ("UUID(int=1)", "UUID('00000000-0000-0000-0000-000000000001')"),
        ("[1, 'x', (2,), None]", "[1, 'x', (2,), None]"),
    ],
)  # fmt: skip
def test_descriptions_of_parameters_do_not_depend_on_the_process(code: str, expected: str) -> None:
    """A checkpoint describes parameters alike in each process.

    The `repr` of a set of strings differs between processes, so a scan could not be resumed with
    it.
    """
    names: dict[str, Any] = {"SortedSet": SortedSet, "UUID": uuid.UUID}
    for each in (Named, Data, Plain, Slotted):
        names[each.__name__] = each
    assert _description(eval(code, names)) == expected


class Named(NamedTuple):
    """A value of a user-defined type."""

    a: Any


@dataclass
class Data:
    """A value of a user-defined type."""

    a: Any


class Plain:
    """A value of a user-defined type, without a `repr` of its own."""

    __slots__: tuple[str, ...] = ("__dict__",)

    def __init__(self, a: Any) -> None:
        self.a = a


class Slotted(Plain):
    """A value of a user-defined type without a `repr` of its own and without a `__dict__`."""

    __slots__ = ("a",)


def test_a_scan_with_a_set_is_resumed_by_another_process() -> None:
    """The description of a set in a checkpoint does not depend on the hash seed of the process."""
    code = "from cassandra.bulk.scan import _description as d; print(d({'aa', 'bb', 'cc', 'dd'}))"
    processes = [run_python(code, {"PYTHONHASHSEED": str(seed)}) for seed in (1, 2)]
    assert [process.stderr for process in processes] == ["", ""]
    assert processes[0].stdout == processes[1].stdout != ""


def test_a_range_may_end_at_the_first_token(nodes: FakeCluster) -> None:
    """For servers, the first token as the end of a range means the end of the ring."""
    with Cluster(**settings(nodes)) as cluster, cluster.connect() as session:
        session.scan("a.t0", ranges=[TokenRange(5, FIRST), TokenRange(FIRST, FIRST)])


def test_ranges_are_refused_with_another_partitioner() -> None:
    """With RandomPartitioner, `ranges=` is refused, and a table can only be read as a whole.

    Its tokens are not the 64-bit integers that a scan can split.
    """
    columns = [("id", "int"), ("c0", "int")]
    with FakeNode() as node:
        node.partitioner = "org.apache.cassandra.dht.RandomPartitioner"
        node.schema = schema("a")
        query = 'SELECT "id", "c0" FROM "a"."t0"'
        prepared = node.prime_prepare(query, [], columns)
        prepared.keyspace, prepared.table = "a", "t0"
        node.prime(query, rows(columns, [(1, 2)], keyspace="a", table="t0"))
        with Cluster([node.address], port=node.port) as cluster, cluster.connect() as session:
            whole_ring = TokenRange(FIRST, LAST)
            for ranges in ([TokenRange(FIRST, 0), TokenRange(0, LAST)], [whole_ring, whole_ring]):
                with pytest.raises(ValueError, match=r"ranges= .* a\.t0 is not read by token"):
                    list(session.scan("a.t0", ranges=ranges))
            # There is only one task, whose range is the whole table.
            for task in scan_tasks(session, "a.t0"):
                assert [tuple(row) for row in task.rows(session)] == [(1, 2)]


# The methods of a scan that return all rows in one object.
COLLECTING = ["to_arrow", "to_pandas", "to_polars", "to_numpy"]


@pytest.mark.parametrize("method", COLLECTING)
async def test_methods_that_collect_rows_have_no_checkpoint(
    nodes: FakeCluster, tmp_path: Path, method: str
) -> None:
    """Methods that return all rows at the end refuse a checkpoint.

    If a later page failed, the checkpoint would already count the lost pages as finished.
    """
    scanned_table = Table(no_fault)
    nodes.prime(QUERY, scanned_table)
    path = tmp_path / "point"
    message = f"{method} does not have the option 'checkpoint': after an error the rows"
    async with aio.Cluster(**settings(nodes)) as aio_cluster:
        aio_session = await aio_cluster.connect()
        with pytest.raises(TypeError, match=message):
            await getattr(aio_session.scan("a.t0", checkpoint=path), method)()
    with (
        Cluster(**settings(nodes)) as cluster,
        cluster.connect() as session,
        pytest.raises(TypeError, match=message),
    ):
        getattr(session.scan("a.t0", checkpoint=path), method)()
    # The scan is refused before its first request.
    assert not scanned_table.request_count
    assert not path.exists()


def test_a_reader_of_batches_has_no_checkpoint(nodes: FakeCluster, tmp_path: Path) -> None:
    """`scan.reader()` refuses a checkpoint.

    A consumer such as DuckDB reads batches long before it uses them, so the checkpoint would count
    pages as finished whose rows may be lost.
    """
    nodes.prime(QUERY, Table(no_fault))
    with (
        Cluster(**settings(nodes)) as cluster,
        cluster.connect() as session,
        pytest.raises(TypeError, match="reader does not have the option 'checkpoint'"),
    ):
        session.scan("a.t0", checkpoint=tmp_path / "point").reader()


def test_a_resumed_iteration_repeats_its_last_page(nodes: FakeCluster, tmp_path: Path) -> None:
    """After an error, the next scan with the same checkpoint reads the last page again.

    The application may not have used all rows of this page.
    """
    pytest.importorskip("pyarrow")
    path = tmp_path / "point"
    is_damaged = True

    def fail_after_third_request(request_number: int) -> Answer | None:
        """Fail each request after the third while the table is damaged."""
        return error(ErrorCode.INVALID) if is_damaged and request_number > 3 else None

    options: Any = {"splits": 4, "page_size": 100, "concurrency": 1, "checkpoint": path}
    for method in ("__iter__", "arrow_batches"):
        path.unlink(missing_ok=True)
        is_damaged = True
        # The first attempt fails at its fourth request. The second attempt resumes from the
        # checkpoint.
        numbers: list[Any] = []
        with Cluster(**settings(nodes)) as cluster, cluster.connect() as session:
            nodes.prime(QUERY, Table(fail_after_third_request))
            for attempt in range(2):
                items = iter(getattr(session.scan("a.t0", **options), method)())
                try:
                    for item in items:
                        numbers += item["id"].to_pylist() if method != "__iter__" else [item.id]
                except InvalidRequest:
                    assert attempt == 0
                is_damaged = False
        # The rows of the page in which the scan failed may be returned twice, but no row is lost.
        assert sorted(set(numbers)) == [n for n, _ in EXPECTED]


@pytest.mark.parametrize("method", COLLECTING)
def test_collecting_a_scan_of_no_ranges_is_refused(nodes: FakeCluster, method: str) -> None:
    """A method that collects all rows refuses an empty list of ranges."""
    pytest.importorskip("pyarrow")
    # the package that each method needs; pandas is the default
    pytest.importorskip({"to_numpy": "numpy"}.get(method, "pandas"))
    if method == "to_polars":
        pytest.importorskip("polars")
    with (
        Cluster(**settings(nodes)) as cluster,
        cluster.connect() as session,
        pytest.raises(ValueError, match="ranges= is empty"),
    ):
        getattr(session.scan("a.t0", ranges=[]), method)()


def test_each_range_is_requested_from_a_replica(nodes: FakeCluster) -> None:
    """Each range is requested from the node that is its replica."""
    tables = [Table(no_fault) for _ in nodes.nodes]
    for node, table in zip(nodes.nodes, tables, strict=True):
        node.prime(QUERY, table)
    with Cluster(**settings(nodes)) as cluster, cluster.connect() as session:
        scan = session.scan("a.t0", splits=30)
        ranges = scan.token_ranges()
        assert len(list(scan)) == ROWS
        owners = {
            (token_range.start, token_range.end): token_range.replicas for token_range in ranges
        }
    for node, table in zip(nodes.nodes, tables, strict=True):
        assert table.ranges
        for token_range in table.ranges:
            assert [replica.rpartition(":")[0] for replica in owners[token_range]] == [node.address]


def test_a_virtual_table_is_one_range_without_tokens(nodes: FakeCluster) -> None:
    """A virtual table is read with one SELECT, because its rows are not spread over the ring."""
    query = QUERY.partition(" WHERE")[0]
    for node in nodes.nodes:
        node.prime_prepare(query, [], COLUMNS)
    nodes.prime(query, rows(COLUMNS, EXPECTED[:5]))
    with Cluster(**settings(nodes)) as cluster, cluster.connect() as session:
        cluster.metadata.keyspaces["a"].virtual = True
        assert [tuple(row) for row in session.scan("a.t0", splits=9)] == EXPECTED[:5]
        assert len(session.scan("a.t0").token_ranges()) == 1


def test_a_permanent_error_ends_the_scan(nodes: FakeCluster) -> None:
    """A permanent error, such as INVALID, ends the scan without a retry."""
    nodes.prime(QUERY, error(ErrorCode.INVALID, "no such thing"))
    with (
        Cluster(**settings(nodes)) as cluster,
        cluster.connect() as session,
        pytest.raises(InvalidRequest, match="no such thing"),
    ):
        list(session.scan("a.t0"))


async def test_a_scan_of_a_table_that_is_created_again_fails(nodes: FakeCluster) -> None:
    """After the table was dropped and created again, a scan fails at its next page.

    The server prepares the statement again for the new table, so that no request fails.
    """
    nodes.prime(QUERY, Table(no_fault))

    def create_again() -> None:
        for node in nodes.nodes:
            for row in node.schema["system_schema.tables"]:
                row["id"] = uuid.uuid4()

    create_again()
    expected_error = r"a\.t0 was dropped and created again during the scan"

    def scan_blocking() -> None:
        with Cluster(**settings(nodes)) as cluster, cluster.connect() as session:
            pages = session.scan("a.t0", splits=9, concurrency=1).pages()
            next(pages)
            cluster.refresh_table_metadata("a", "t0")  # the same table
            next(pages)
            create_again()
            cluster.refresh_table_metadata("a", "t0")
            with pytest.raises(DriverException, match=expected_error):
                list(pages)

    await asyncio.to_thread(scan_blocking)
    async with aio.Cluster(**settings(nodes)) as cluster, await cluster.connect() as session:
        pages = session.scan("a.t0", splits=9, concurrency=1).pages()
        await anext(pages)
        create_again()
        await cluster.refresh_table_metadata("a", "t0")
        with pytest.raises(DriverException, match=expected_error):
            async for _page in pages:
                pass


@pytest.mark.parametrize(
    "begin", [iter, lambda scan: scan.pages(), lambda scan: scan.arrow_batches()]
)
def test_a_scan_that_has_failed_does_not_report_its_end(nodes: FakeCluster, begin: Any) -> None:
    """After a scan has failed, each further `next` raises an error instead of StopIteration.

    Otherwise the application might take the rows so far for all rows of the table.
    """
    table = Table(lambda number: error(ErrorCode.INVALID, "no") if number > 6 else None)
    nodes.prime(QUERY, table)
    with Cluster(**settings(nodes)) as cluster, cluster.connect() as session:
        items = begin(session.scan("a.t0", page_size=10, concurrency=2))
        with pytest.raises(InvalidRequest):
            for _ in items:
                pass
        for _ in range(2):
            with pytest.raises(RuntimeError, match=r"has failed before \(InvalidRequest\)"):
                next(items)
        items.close()


@pytest.mark.parametrize(
    "begin", [aiter, lambda scan: scan.pages(), lambda scan: scan.arrow_batches()]
)
async def test_an_asyncio_scan_that_was_cancelled_does_not_report_its_end(
    nodes: FakeCluster, begin: Any
) -> None:
    """After an asyncio scan was cancelled, each further `anext` raises an error.

    For example, ``asyncio.wait_for(anext(rows), 5)`` cancels the scan after 5 seconds.
    """
    held = hold()
    nodes.prime(QUERY, Table(lambda number: held if number > 6 else None))
    async with aio.Cluster(**settings(nodes)) as cluster:
        session = await cluster.connect()
        items = begin(session.scan("a.t0", page_size=10, concurrency=2))

        async def read() -> None:
            async for _ in items:
                pass

        reading = asyncio.ensure_future(read())
        await until_on_loop(lambda: held.held)
        # The earlier pages have been read, and the scan waits for the page that is held.
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        for _ in range(2):
            with pytest.raises(RuntimeError, match=r"has failed before \(CancelledError\)"):
                await anext(items)
        await items.aclose()


def test_rows_that_cannot_be_read_are_not_skipped(nodes: FakeCluster) -> None:
    """If the application's row factory fails, the scan does not continue with the next page."""
    nodes.prime(QUERY, Table(no_fault))

    def make_rows(names: Any, values: Any) -> Iterator[Any]:
        yield values[0]
        raise ValueError("not this row")

    with Cluster(**settings(nodes)) as cluster, cluster.connect() as session:
        session.row_factory = make_rows
        items = iter(session.scan("a.t0", page_size=10))
        next(items)
        with pytest.raises(ValueError, match="not this row"):
            next(items)
        with pytest.raises(RuntimeError, match=r"has failed before \(ValueError\)"):
            next(items)


def test_pages_ahead_are_bounded_by_their_bytes(nodes: FakeCluster) -> None:
    """`max_buffered_bytes` limits the bytes of pages that are requested before they are used."""
    table = Table(no_fault)
    nodes.prime(QUERY, table)
    with Cluster(**settings(nodes)) as cluster, cluster.connect() as session:
        # Every page is larger than the limit of one byte, so only one page is requested ahead.
        pages = session.scan("a.t0", page_size=10, max_buffered_bytes=1, concurrency=4).pages()
        for _ in range(8):
            next(pages)
        # There was one request for each of the 8 pages. Before the first pages have arrived, the
        # driver does not know the size of a page, so it has sent four requests at once
        # (`concurrency`).
        assert table.request_count <= 8 + 4
        pages.close()  # type: ignore[attr-defined]


@pytest.mark.parametrize("is_complete", [True, False])
def test_a_scan_releases_its_last_page(nodes: FakeCluster, is_complete: bool) -> None:
    """A scan keeps its latest page for error messages, and releases it when the iteration ends."""
    nodes.prime(QUERY, Table(no_fault))
    with Cluster(**settings(nodes)) as cluster, cluster.connect() as session:
        scan = session.scan("a.t0", page_size=20)
        pages = scan.pages()
        latest_page = weakref.ref(next(pages))
        assert latest_page() is not None
        if is_complete:
            for page in pages:
                latest_page = weakref.ref(page)
            del page
        pages.close()  # type: ignore[attr-defined]
        del pages
        gc.collect()
        assert latest_page() is None
        # The scan object can be iterated again.
        assert len(list(scan)) == ROWS


def test_count_adds_the_ranges(nodes: FakeCluster) -> None:
    """`session.count` adds the counts of all token ranges."""
    query = QUERY.replace('"id", "c0"', "count(*)")
    for node in nodes.nodes:
        node.prime_prepare(query, [("a", "bigint"), ("b", "bigint")], [("count", "bigint")])
    nodes.prime(query, rows([("count", "bigint")], [(7,)]))
    with Cluster(**settings(nodes)) as cluster, cluster.connect() as session:
        ranges = session.scan("a.t0", splits=9).token_ranges()
        # The node responds to each range with a count of 7.
        assert session.count("a.t0", splits=9) == 7 * len(ranges)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"page_size": 0}, "page_size is a number from 1 on, not 0"),
        ({"splits": "x"}, "splits is a number from 1 on, not 'x'"),
        ({"concurrency": True}, "concurrency is a number from 1 on, not True"),
        ({"pagesize": 3}, "a scan does not have the option 'pagesize'"),
    ],
)
def test_wrong_options_are_refused_before_the_scan_starts(
    nodes: FakeCluster, options: dict[str, Any], message: str
) -> None:
    """Wrong options, and a table without a keyspace, are refused before any request is sent."""
    with Cluster(**settings(nodes)) as cluster, cluster.connect() as session:
        with pytest.raises((TypeError, ValueError), match=message):
            session.scan("a.t0", **options)
        with pytest.raises(ValueError, match=r"table 't0' has no keyspace"):
            list(session.scan("t0"))


def test_each_row_is_returned_once_if_a_node_dies_during_the_scan(nodes: FakeCluster) -> None:
    """If a node dies during a scan, other nodes serve its ranges, and each row comes once."""
    nodes.prime(QUERY, Table(no_fault))
    scanned: list[Any] = []
    with Cluster(**settings(nodes)) as cluster, cluster.connect() as session:
        scan = session.scan("a.t0", page_size=20, splits=20, concurrency=4)
        for number, page in enumerate(scan.pages()):
            scanned += page.current_rows
            if number == 5:
                nodes.nodes[1].refuse_connections()
                nodes.nodes[1].drop_connections(reset=True)
            # The dead node is back, and another node stops.
            if number == 15:
                nodes.nodes[1].accept_connections()
                nodes.nodes[2].refuse_connections()
                nodes.nodes[2].drop_connections()
    assert sorted(tuple(row) for row in scanned) == EXPECTED


async def test_to_numpy_concatenates_all_pages(nodes: FakeCluster) -> None:
    """`to_numpy` returns one array for each column, with the values of all pages.

    This holds for the blocking scan and the asyncio scan.
    """
    numpy = pytest.importorskip("numpy")
    nodes.prime(QUERY, Table(no_fault))
    with Cluster(**settings(nodes)) as cluster, cluster.connect() as session:
        arrays = session.scan("a.t0", page_size=70, splits=4).to_numpy()
    async with aio.Cluster(**settings(nodes)) as aio_cluster:
        aio_session = await aio_cluster.connect()
        aio_arrays = await aio_session.scan("a.t0", page_size=70, splits=4).to_numpy()
    for columns in (arrays, aio_arrays):
        order = numpy.argsort(columns["id"])
        assert columns["id"][order].tolist() == list(range(ROWS))
        assert columns["c0"][order].tolist() == [n * 2 for n in range(ROWS)]


@pytest.mark.parametrize(
    ("option", "advice"),
    [
        ("nrows", "limit=n"),
        ("chunksize", "page_size=n"),
        ("filter", "where="),
        ("workers", "concurrency=n"),
        ("vector_type", "session.default_vector_type = 'numpy', or scan.to_numpy"),
        ("delimiter", "session.unload"),
        ("pagesize", "did you mean 'page_size'"),
        ("colour", "there are checkpoint, "),
    ],
)
def test_the_error_for_an_unknown_option_has_advice(
    nodes: FakeCluster, option: str, advice: str
) -> None:
    """The error for an unknown option of a scan says what to write instead."""
    options: Any = {option: 1}
    with (
        Cluster(**settings(nodes)) as cluster,
        cluster.connect() as session,
        pytest.raises(TypeError, match=f"does not have the option '{option}'; .*{advice}"),
    ):
        session.scan("a.t0", **options)


@pytest.mark.parametrize("where", ["WHERE c0 = 1", " where c0 = 1"])
def test_a_condition_with_where_is_refused(nodes: FakeCluster, where: str) -> None:
    """`where=` is refused if it begins with the keyword WHERE."""
    with (
        Cluster(**settings(nodes)) as cluster,
        cluster.connect() as session,
        pytest.raises(ValueError, match=f"the condition alone, without WHERE, but is '{where}'"),
    ):
        list(session.scan("a.t0", where=where))


@pytest.mark.parametrize("limit", [1, 7, 70, 500, ROWS - 1, ROWS, ROWS + 1])
@pytest.mark.parametrize("in_order", [False, True])
async def test_a_limit_is_exact(nodes: FakeCluster, limit: int, in_order: bool) -> None:
    """With `limit`, a scan returns exactly so many rows, or all rows if the table has fewer.

    With `in_order`, these are the first rows of the table.
    """
    nodes.prime(QUERY, Table(no_fault))
    options: Any = {"page_size": 70, "splits": 10, "limit": limit, "in_order": in_order}
    with Cluster(**settings(nodes)) as cluster, cluster.connect() as session:
        blocking_rows = [tuple(row) for row in session.scan("a.t0", **options)]
    async with aio.Cluster(**settings(nodes)) as aio_cluster:
        aio_session = await aio_cluster.connect()
        aio_rows = [tuple(row) async for row in aio_session.scan("a.t0", **options)]
    for scanned in (blocking_rows, aio_rows):
        assert len(scanned) == min(limit, ROWS)
        # No row may come twice.
        assert len(set(scanned)) == len(scanned)
        assert set(scanned) <= set(EXPECTED)
        if in_order:
            assert scanned == EXPECTED[:limit]


async def test_a_limit_holds_for_pages_and_tables(nodes: FakeCluster) -> None:
    """With `limit=33`, each method of reading a scan returns 33 rows.

    The rows come from one page of 20 rows and a part of another page.
    """
    pytest.importorskip("pyarrow")
    pytest.importorskip("pandas")
    pytest.importorskip("numpy")
    nodes.prime(QUERY, Table(no_fault))
    with Cluster(**settings(nodes)) as cluster, cluster.connect() as session:
        # The limit holds for each of these methods, which all read the scan from its beginning.
        scan = session.scan("a.t0", page_size=20, splits=4, limit=33)
        assert sum(len(page.current_rows) for page in scan.pages()) == 33
        assert sum(batch.num_rows for batch in scan.arrow_batches()) == 33
        assert scan.reader().read_all().num_rows == 33
        assert scan.to_arrow().num_rows == 33
        assert len(scan.to_pandas()) == 33
        assert len(scan.to_numpy()["id"]) == 33
    async with aio.Cluster(**settings(nodes)) as aio_cluster:
        aio_session = await aio_cluster.connect()
        aio_scan = aio_session.scan("a.t0", page_size=20, splits=4, limit=33)
        assert sum([batch.num_rows async for batch in aio_scan.arrow_batches()]) == 33
        assert (await aio_scan.to_arrow()).num_rows == 33
        assert len(await aio_scan.to_pandas()) == 33
        assert len((await aio_scan.to_numpy())["id"]) == 33


def test_a_limit_holds_for_polars(nodes: FakeCluster) -> None:
    """`to_polars` of a scan with a limit returns as many rows as the limit allows."""
    pytest.importorskip("pyarrow")
    pytest.importorskip("polars")
    nodes.prime(QUERY, Table(no_fault))
    with Cluster(**settings(nodes)) as cluster, cluster.connect() as session:
        assert session.scan("a.t0", limit=33).to_polars().height == 33


def test_no_page_is_requested_after_the_limit(nodes: FakeCluster) -> None:
    """After a limit of 40 rows is reached with two pages of 20 rows, no page is requested."""
    table = Table(no_fault)
    nodes.prime(QUERY, table)
    with Cluster(**settings(nodes)) as cluster, cluster.connect() as session:
        scan = session.scan("a.t0", page_size=20, splits=20, concurrency=1, limit=40)
        assert len(list(scan)) == 40
    assert table.request_count == 2


def test_calls_that_refuse_a_limit(nodes: FakeCluster, tmp_path: Path) -> None:
    """Counts, tasks and scans with a checkpoint refuse `limit`, and a limit must be at least 1."""
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
    """A scan shows its progress on stderr only with `progress=True`."""
    nodes.prime(QUERY, Table(no_fault))
    with Cluster(**settings(nodes)) as cluster, cluster.connect() as session:
        assert len(list(session.scan("a.t0"))) == ROWS
        assert capsys.readouterr().err == ""
        assert len(list(session.scan("a.t0", progress=True))) == ROWS
    assert "a.t0: 1" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "error_type", "message"),
    [
        ({"where": {"id": 1}}, TypeError, "where is a condition in CQL, such as 'column > [?]'"),
        ({"where": "name"}, ValueError, "such as .column > 5., but is .name.: several columns are"),
        ({"where": "id = ?", "parameters": 1}, TypeError, r"but is 1: write parameters=\[1\]"),
        ({"where": "id = ?", "parameters": "ab"}, TypeError, r"write parameters=\['ab'\]"),
        ({"ranges": [(1, 2)]}, TypeError, r"as scan\.token_ranges\(\) returns them, and not"),
        ({"ranges": [TokenRange(5, -5)]}, ValueError, r"write .* as two, TokenRange\(5, 9223"),
        ({"ranges": [TokenRange(5, 5)]}, ValueError, "TokenRange.*: such a range has no rows$"),
        ({"consistency_level": "many"}, ValueError, "there is no consistency level 'many'"),
        ({"sep": ";"}, TypeError, r"session\.unload and session\.load have delimiter="),
    ],
)
def test_wrong_values_of_options_are_refused_at_the_call(
    nodes: FakeCluster, options: dict[str, Any], error_type: type[Exception], message: str
) -> None:
    """A wrong value of an option is refused when `session.scan` is called."""
    with (
        Cluster(**settings(nodes)) as cluster,
        cluster.connect() as session,
        pytest.raises(error_type, match=message),
    ):
        session.scan("a.t0", **options)


def test_a_scan_gives_advice_for_habits(nodes: FakeCluster) -> None:
    """A scan raises errors with advice for names of methods that other libraries have.

    A consistency level may be a name, such as "quorum".
    """
    with Cluster(**settings(nodes)) as cluster, cluster.connect() as session:
        scan: Any = session.scan("a.t0", consistency_level="quorum")
        assert scan.level == ConsistencyLevel.QUORUM
        for name, message in (
            ("count", r"write session\.count\(table, where\)"),
            ("collect", r"write list\(scan\), or scan\.to_arrow\(\)"),
            ("filter", r"write session\.scan\(table, where='column > [?]'"),
            ("to_parquet", r"write session\.unload\(table, folder\)"),
            ("limit", r"write session\.scan\(table, limit=n\)"),
            ("where", r"write session\.scan\(table, where='column > [?]'"),
        ):
            with pytest.raises(AttributeError, match=message):
                getattr(scan, name)
        with pytest.raises(TypeError, match=r"has no len\(\): write session\.count"):
            len(scan)


def test_the_values_of_a_list_for_in_are_one_parameter(nodes: FakeCluster) -> None:
    """The list of values for ``IN ?`` is a single parameter.

    If the values of the list are passed as separate parameters, the error shows the list inside a
    list.
    """
    with Cluster(**settings(nodes)) as cluster, cluster.connect() as session:
        query = f"{QUERY} AND c0 IN ? ALLOW FILTERING"
        columns = [("a", "bigint"), ("b", "bigint"), ("in(c0)", "list<int>")]
        nodes.prime_prepare(query, columns, COLUMNS)
        scan = session.scan("a.t0", ["id", "c0"], where="c0 IN ?", parameters=[1, 2])
        with pytest.raises(ValueError, match=r"1 bind marker, .* parameters=\[\[1, 2\]\]"):
            list(scan)


async def test_awaiting_a_scan_names_the_loop_to_write(nodes: FakeCluster) -> None:
    """The error for awaiting a scan, or for not awaiting its `to_pandas`, says what to write."""
    async with aio.Cluster(**settings(nodes)) as cluster:
        scan: Any = (await cluster.connect()).scan("a.t0")
        with pytest.raises(TypeError, match="`async for row in session"):
            await scan
        reading = scan.to_pandas()
        with pytest.raises(AttributeError, match=r"to_pandas\(\) has not been awaited"):
            reading.shape  # noqa: B018
        reading.close()


def test_a_number_is_no_list_of_ranges(nodes: FakeCluster) -> None:
    """A number is refused for `ranges` and `checkpoint`; the error says what to write."""
    with Cluster(**settings(nodes)) as cluster, cluster.connect() as session:
        options: Any = {"ranges": 5}
        with pytest.raises(TypeError, match=r"and not 5: write splits=n"):
            session.scan("a.t0", **options)
        options = {"checkpoint": 5}
        with pytest.raises(TypeError, match="checkpoint is the path of a file, but is 5"):
            list(session.scan("a.t0", **options))
