"""The blocking and the asyncio API give the same results on real nodes.

The tests run with each protocol version that the nodes support.
"""

from __future__ import annotations

import asyncio
import datetime
import decimal
import threading
import uuid
from array import array
from typing import Any

import numpy
import pytest

from cassandra import ConsistencyLevel, InvalidRequest, aio
from cassandra.cluster import Cluster, ExecutionProfile, Session, UserTypeDoesNotExist
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.policies import RoundRobinPolicy
from cassandra.query import BatchStatement, BatchType, SimpleStatement, dict_factory, tuple_factory
from cassandra.testing import LocalCluster

from .conftest import connect, create_keyspace, new_keyspace_name

pytestmark = pytest.mark.integration

UUID = uuid.UUID("12345678-1234-4321-8765-0123456789ab")
WHEN = datetime.datetime(2026, 11, 20, 12, 30, 15, 123000)

# Column, CQL type, the value to write, and the value that must be read back.
COLUMNS: list[tuple[str, str, Any, Any]] = [
    ("a", "ascii", "plain", "plain"),
    ("b", "bigint", -(2**63), -(2**63)),
    ("c", "blob", b"\x00\xff", b"\x00\xff"),
    ("d", "boolean", True, True),
    ("e", "decimal", decimal.Decimal("-12.340"), decimal.Decimal("-12.340")),
    ("f", "double", 1.5e300, 1.5e300),
    ("g", "float", 0.25, 0.25),
    ("h", "inet", "2001:db8::1", "2001:db8::1"),
    ("i", "int", 2**31 - 1, 2**31 - 1),
    ("j", "smallint", -7, -7),
    ("k", "text", "grüße ☃", "grüße ☃"),
    ("l", "timestamp", WHEN, WHEN),
    ("m", "tinyint", -128, -128),
    ("n", "uuid", UUID, UUID),
    ("o", "varint", 10**30, 10**30),
    ("p", "list<int>", [3, 1, 2], [3, 1, 2]),
    ("q", "set<text>", {"x", "y"}, {"x", "y"}),
    ("r", "map<text, int>", {"x": 1}, {"x": 1}),
    ("s", "tuple<int, text>", (1, None), (1, None)),
]
VECTOR = ("t", "vector<float, 3>", [1.0, -2.5, 3.25], [1.0, -2.5, 3.25])


def columns_of(local: LocalCluster) -> list[tuple[str, str, Any, Any]]:
    """Return the columns that a node supports. Only Cassandra 5 supports the vector column."""
    return [*COLUMNS, VECTOR] if local.version.startswith("5.") else COLUMNS


def create_table(session: Session, local: LocalCluster) -> None:
    """Create the table `rows`, which has an id and a column of each type."""
    columns = ", ".join(f"{name} {cql_type}" for name, cql_type, _, _ in columns_of(local))
    session.execute(f"CREATE TABLE rows (id int PRIMARY KEY, {columns})")


def insert_query(local: LocalCluster) -> str:
    """Return the INSERT of a row with an id and a value in each column."""
    names = [name for name, _, _, _ in columns_of(local)]
    return f"INSERT INTO rows (id, {', '.join(names)}) VALUES (?{', ?' * len(names)})"


def check_row(row: Any, local: LocalCluster) -> None:
    """Check that a row has the expected value in each column."""
    for name, cql_type, _, expected in columns_of(local):
        assert getattr(row, name) == expected, (name, cql_type)


def check_blocking_api(cluster: Cluster, local: LocalCluster) -> None:
    """Write and read rows in each way that the blocking API offers, in a new keyspace."""
    name = new_keyspace_name()
    with cluster.connect() as session:
        create_keyspace(session, name)
        session.set_keyspace(name)
        assert session.keyspace == name
        create_table(session, local)
        insert = session.prepare(insert_query(local))
        values = [value for _, _, value, _ in columns_of(local)]
        session.execute(insert, (0, *values))
        values_by_name = {name: value for name, _, value, _ in columns_of(local)}
        session.execute(insert, {"id": 1, **values_by_name})
        session.execute("INSERT INTO rows (id, k) VALUES (%s, %s)", (2, "it's"))
        session.execute("INSERT INTO rows (id, k) VALUES (%(id)s, %(k)s)", {"id": 3, "k": "named"})
        check_row(session.execute("SELECT * FROM rows WHERE id = 0").one(), local)
        check_row(session.execute("SELECT * FROM rows WHERE id = 1").one(), local)
        assert session.execute("SELECT k FROM rows WHERE id = 2").one().k == "it's"
        page_through(session, insert)
        check_batches(session)
        check_transactions(session)
        session.execute(f"DROP KEYSPACE {name}")


def page_through(session: Session, insert: Any) -> None:
    """Read 504 rows in pages of 60; resume after the first page with its paging state."""
    # The table has four rows already. The new rows have only an id; their other columns are unset.
    outcomes = execute_concurrent_with_args(session, insert, [(100 + i,) for i in range(500)])
    assert all(success for success, _ in outcomes)
    statement = SimpleStatement("SELECT id FROM rows", fetch_size=60)
    result = session.execute(statement)
    assert len(result.current_rows) == 60
    assert result.has_more_pages
    ids_after_first_page = [
        row.id for row in session.execute(statement, paging_state=result.paging_state)
    ]
    # The first result yields the rows of its own page, and then the rows of all further pages.
    all_ids = [row.id for row in result]
    assert len(all_ids) == 504
    assert len(set(all_ids)) == 504
    assert all_ids[60:] == ids_after_first_page


def check_batches(session: Session) -> None:
    """Write rows with logged and unlogged batches of prepared and unprepared statements."""
    insert = session.prepare("INSERT INTO rows (id, k) VALUES (?, ?)")
    for batch_type in (BatchType.LOGGED, BatchType.UNLOGGED):
        batch = BatchStatement(batch_type, consistency_level=ConsistencyLevel.ONE)
        for i in range(10):
            batch.add(insert, (10_000 + i, "prepared"))
        batch.add("INSERT INTO rows (id, k) VALUES (%s, %s)", (10_010, "text"))
        session.execute(batch)
    rows = session.execute("SELECT id, k FROM rows WHERE id IN (10000, 10009, 10010)").all()
    assert sorted(tuple(row) for row in rows) == [
        (10000, "prepared"),
        (10009, "prepared"),
        (10010, "text"),
    ]


def check_transactions(session: Session) -> None:
    """Insert a row twice with IF NOT EXISTS: only the first insert is applied."""
    result = session.execute("INSERT INTO rows (id, k) VALUES (20000, 'a') IF NOT EXISTS")
    assert result.was_applied
    result = session.execute("INSERT INTO rows (id, k) VALUES (20000, 'b') IF NOT EXISTS")
    assert not result.was_applied
    # `was_applied` must work with every row factory.
    for factory in (tuple_factory, dict_factory):
        session.row_factory = factory
        result = session.execute("INSERT INTO rows (id, k) VALUES (20000, 'b') IF NOT EXISTS")
        assert not result.was_applied


@pytest.mark.parametrize("version", [4, 5])
def test_blocking(node: LocalCluster, version: int) -> None:
    """The blocking API works with the versions of the protocol that Cassandra 5 supports."""
    with connect(node, protocol_version=version) as cluster:
        check_blocking_api(cluster, node)


@pytest.mark.parametrize("version", [3, 4, 5])
def test_blocking_on_older_lines(old_node: LocalCluster, version: int) -> None:
    """The blocking API works with older servers, in each version of the protocol."""
    with connect(old_node, protocol_version=version) as cluster:
        if version == 3:
            check_version_3(cluster)
        else:
            check_blocking_api(cluster, old_node)


def check_version_3(cluster: Cluster) -> None:
    """Check the types of version 3, and that a bound statement needs a value for each marker.

    We cannot use `check_blocking_api`, because it leaves bind markers unset, which version 3 does
    not support.
    """
    with cluster.connect() as session:
        name = new_keyspace_name()
        create_keyspace(session, name)
        session.execute(
            f"CREATE TABLE {name}.t (k int PRIMARY KEY, v list<text>, n smallint, d date)"
        )
        # Write the keyspace into each statement. After USE, Cassandra 4.0 would add a warning to
        # its responses. Version 3 of the protocol has no warnings, so each request would fail.
        insert = session.prepare(f"INSERT INTO {name}.t (k, v, n, d) VALUES (?, ?, ?, ?)")
        session.execute(insert, (1, ["a", "b"], 7, datetime.date(2026, 11, 20)))
        row = session.execute(f"SELECT * FROM {name}.t").one()
        assert (row.k, row.v, row.n) == (1, ["a", "b"], 7)
        assert row.d.date() == datetime.date(2026, 11, 20)
        with pytest.raises(ValueError, match="n"):
            session.execute(insert, (1, ["a"]))
        session.execute(f"DROP KEYSPACE {name}")


@pytest.mark.parametrize("compression", [False, "lz4", "snappy"])
@pytest.mark.parametrize("version", [4, 5])
def test_compression(node: LocalCluster, keyspace: str, version: int, compression: Any) -> None:
    """Strings of all sizes are read back as they were written, with each compression."""
    if (version, compression) == (5, "snappy"):
        pytest.skip("protocol version 5 has no Snappy")
    with (
        connect(node, protocol_version=version, compression=compression) as cluster,
        cluster.connect(keyspace) as session,
    ):
        session.execute("CREATE TABLE t (k int PRIMARY KEY, v text)")
        insert = session.prepare("INSERT INTO t (k, v) VALUES (?, ?)")
        # The strings are: too short to compress, longer than one segment, and incompressible.
        texts = ["", "x" * 300_000, "".join(map(chr, range(1000, 0xD800, 3)))]
        for i, text in enumerate(texts):
            session.execute(insert, (i, text))
        for i, text in enumerate(texts):
            assert session.execute("SELECT v FROM t WHERE k = %s", (i,)).one().v == text


def test_futures_and_callbacks(node: LocalCluster, keyspace: str) -> None:
    """A callback gets the rows and its own arguments; an errback gets the error.

    Each call of `result` on a failed future raises the error.
    """
    with connect(node) as cluster, cluster.connect(keyspace) as session:
        session.execute("CREATE TABLE t (k int PRIMARY KEY)")
        insert = session.prepare("INSERT INTO t (k) VALUES (?)")
        futures = [session.execute_async(insert, (i,)) for i in range(300)]
        for future in futures:
            assert future.result().all() == []
        is_called = threading.Event()
        calls: list[Any] = []

        def record_call(rows: Any, label: str, key: str) -> None:
            calls.append((sorted(row.k for row in rows), label, key))
            is_called.set()

        session.execute_async("SELECT k FROM t").add_callback(record_call, "label", key="key")
        assert is_called.wait(10)
        assert calls == [(list(range(300)), "label", "key")]
        has_failed = threading.Event()
        errors: list[Exception] = []

        def record_error(error: Exception) -> None:
            errors.append(error)
            has_failed.set()

        future = session.execute_async("SELECT nothing FROM t")
        future.add_errback(record_error)
        assert has_failed.wait(10)
        assert isinstance(errors[0], InvalidRequest)
        for _ in range(2):  # `result` must raise the error at each call
            with pytest.raises(InvalidRequest):
                future.result()


def test_a_blocking_call_in_a_callback_is_refused(node: LocalCluster) -> None:
    """A blocking call in a callback raises RuntimeError.

    Callbacks run on the event loop's thread, which a blocking call would block forever.
    """
    with connect(node) as cluster, cluster.connect() as session:
        refusals: list[BaseException] = []
        is_called = threading.Event()

        def call_back(rows: Any) -> None:
            """Make two blocking calls on the event loop's thread, and record their errors."""
            for blocking_call in (
                lambda: session.execute("SELECT key FROM system.local"),
                cluster.shutdown,
            ):
                try:
                    blocking_call()
                except RuntimeError as error:
                    refusals.append(error)
            is_called.set()

        # The listener adds the callback before the request is sent. `add_callback` of a finished
        # request would call the callback in the test's thread, where blocking calls are allowed.
        session.add_request_init_listener(lambda future: future.add_callback(call_back))
        session.execute_async("SELECT key FROM system.local")
        assert is_called.wait(timeout=10)
        assert len(refusals) == 2
        assert "event loop thread" in str(refusals[0])


def test_tracing_and_warnings(node: LocalCluster, keyspace: str) -> None:
    """A traced request has a trace with events, and `warnings` holds the server's warnings."""
    with connect(node) as cluster, cluster.connect(keyspace) as session:
        session.execute("CREATE TABLE t (k int PRIMARY KEY, v int)")
        result = session.execute("SELECT * FROM t", trace=True)
        trace = result.get_query_trace()
        assert trace is not None
        assert trace.coordinator == node.contact_points[0]
        assert trace.events
        batch = BatchStatement(BatchType.UNLOGGED)
        # The server warns of an unlogged batch with so many partitions.
        for i in range(200):
            batch.add("INSERT INTO t (k, v) VALUES (%s, 0)", (i,))
        future = session.execute_async(batch)
        future.result()
        assert future.warnings
        assert any("Batch" in warning for warning in future.warnings)


@pytest.mark.parametrize("version", [4, 5])
def test_the_asyncio_api(node: LocalCluster, version: int) -> None:
    """The asyncio API works with the versions of the protocol that Cassandra 5 supports."""

    async def check_asyncio_api() -> None:
        """Write and read rows in each way that the asyncio API offers, in a new keyspace."""
        name = new_keyspace_name()
        async with aio.Cluster(
            node.contact_points, port=node.port, protocol_version=version
        ) as cluster:
            session = await cluster.connect()
            await session.execute(
                f"CREATE KEYSPACE {name} WITH replication = "
                f"{{'class': 'SimpleStrategy', 'replication_factor': 1}}"
            )
            await session.set_keyspace(name)
            columns = ", ".join(
                f"{column} {cql_type}" for column, cql_type, _, _ in columns_of(node)
            )
            await session.execute(f"CREATE TABLE rows (id int PRIMARY KEY, {columns})")
            insert = await session.prepare(insert_query(node))
            values = [value for _, _, value, _ in columns_of(node)]
            await asyncio.gather(*(session.execute(insert, (i, *values)) for i in range(300)))
            check_row((await session.execute("SELECT * FROM rows WHERE id = 7")).one(), node)
            await check_paging(session)
            await check_concurrent(session, insert)
            await check_cancellation(session)
            await session.execute(f"DROP KEYSPACE {name}")

    asyncio.run(check_asyncio_api())


async def check_paging(session: aio.Session) -> None:
    """Read all rows in pages of 70, with ``async for`` and with `fetch_all`."""
    statement = SimpleStatement("SELECT id FROM rows", fetch_size=70)
    result = await session.execute(statement)
    assert len(result.current_rows) == 70
    # `all` is not awaited, so it cannot fetch further pages, and raises an error.
    with pytest.raises(RuntimeError, match="async for"):
        result.all()
    assert sorted([row.id async for row in result]) == list(range(300))
    result = await session.execute(statement)
    assert len(await result.fetch_all()) == 300
    # An application may leave the loop before the last page.
    result = await session.execute(statement)
    async for row in result:
        assert row.id >= 0
        break


async def check_concurrent(session: aio.Session, insert: Any) -> None:
    """Check that `execute_concurrent` yields every outcome, and yields or raises errors."""
    success_count = 0
    async for success, _ in session.execute_concurrent(
        ((insert, (1000 + i,)) for i in range(500)), concurrency=50
    ):
        success_count += success
    assert success_count == 500
    outcomes = [
        outcome.success
        async for outcome in session.execute_concurrent(
            [("SELECT id FROM rows LIMIT 1", None), ("SELECT nothing FROM rows", None)],
            raise_on_first_error=False,
        )
    ]
    assert outcomes == [True, False]
    with pytest.raises(InvalidRequest):
        async for _ in session.execute_concurrent([("SELECT nothing FROM rows", None)]):
            pass


async def check_cancellation(session: aio.Session) -> None:
    """Cancel 50 requests, and check that the next request gets its own response."""
    for _ in range(50):
        execution = asyncio.ensure_future(session.execute("SELECT * FROM rows"))
        execution.cancel()
        with pytest.raises(asyncio.CancelledError):
            await execution
    assert (await session.execute("SELECT id FROM rows WHERE id = 3")).one().id == 3


def test_asyncio_on_older_lines(old_node: LocalCluster) -> None:
    """The asyncio API connects to a server of an older version."""

    async def check_version() -> None:
        """Read the version of the node."""
        async with aio.Cluster(old_node.contact_points, port=old_node.port) as cluster:
            session = await cluster.connect()
            row = (await session.execute("SELECT release_version FROM system.local")).one()
            assert row.release_version == old_node.version

    asyncio.run(check_version())


def test_uvloop(node: LocalCluster) -> None:
    """The asyncio API works on an event loop of uvloop, with 200 concurrent requests."""
    uvloop = pytest.importorskip("uvloop")

    async def count_right_answers() -> int:
        """Send 200 requests; return how many have the right response."""
        async with aio.Cluster(node.contact_points, port=node.port) as cluster:
            session = await cluster.connect()
            select = await session.prepare("SELECT key FROM system.local WHERE key = ?")
            results = await asyncio.gather(
                *(session.execute(select, ("local",)) for _ in range(200))
            )
            return sum(result.one().key == "local" for result in results)

    loop = uvloop.new_event_loop()
    try:
        assert loop.run_until_complete(count_right_answers()) == 200
    finally:
        loop.close()


def test_several_loops_in_one_process(node: LocalCluster) -> None:
    """Four threads can each run an event loop with its own cluster."""

    async def read_key() -> str:
        """Connect, and return the key of the only row of system.local (the string "local")."""
        async with aio.Cluster(node.contact_points, port=node.port) as cluster:
            session = await cluster.connect()
            row = (await session.execute("SELECT key FROM system.local")).one()
            return str(row.key)

    keys: list[str] = []
    threads = [
        threading.Thread(target=lambda: keys.append(asyncio.run(read_key()))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert keys == ["local"] * 4


def test_three_nodes(three_nodes: LocalCluster) -> None:
    """The driver uses all nodes as coordinators, or only the host passed as ``host=``."""
    with connect(three_nodes) as cluster, cluster.connect(wait_for_all_pools=True) as session:
        assert {host.address for host in cluster.metadata.all_hosts()} == set(
            three_nodes.contact_points
        )
        assert len(session.get_pools()) == 3
        name = new_keyspace_name()
        create_keyspace(session, name, replicas=3)
        session.set_keyspace(name)
        session.execute("CREATE TABLE t (k int PRIMARY KEY, v text)")
        insert = session.prepare("INSERT INTO t (k, v) VALUES (?, ?)")
        insert.consistency_level = ConsistencyLevel.QUORUM
        futures = [session.execute_async(insert, (i, str(i))) for i in range(300)]
        for future in futures:
            future.result()
        # Each node has coordinated some of the requests.
        assert len({future.coordinator_host for future in futures}) == 3
        statement = SimpleStatement("SELECT * FROM t", consistency_level=ConsistencyLevel.ALL)
        assert sorted(row.k for row in session.execute(statement)) == list(range(300))
        for host in cluster.metadata.all_hosts():
            result = session.execute("SELECT key FROM system.local", host=host)
            assert result.response_future.coordinator_host == host
        session.execute(f"DROP KEYSPACE {name}")


class Address:
    """An application's class for values of the user-defined type `address`."""

    def __init__(self, street: str | None, number: int | None) -> None:
        self.street = street
        self.number = number

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Address) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]


def test_user_defined_types(node: LocalCluster, keyspace: str) -> None:
    """User-defined types are read as named tuples, or as instances of a registered class."""
    with connect(node) as cluster, cluster.connect(keyspace) as session:
        session.execute("CREATE TYPE address (street text, number int)")
        session.execute(
            "CREATE TABLE people (k int PRIMARY KEY, home frozen<address>, others "
            "list<frozen<address>>)"
        )
        insert = session.prepare("INSERT INTO people (k, home, others) VALUES (?, ?, ?)")
        session.execute(insert, (1, ("High Street", 7), []))
        row = session.execute("SELECT home FROM people WHERE k = 1").one()
        assert (row.home.street, row.home.number) == ("High Street", 7)
        with pytest.raises(UserTypeDoesNotExist, match="nothing"):
            cluster.register_user_type(keyspace, "nothing", Address)
        cluster.register_user_type(keyspace, "address", Address)
        home, other = Address("Low Road", None), Address(None, 3)
        session.execute(insert, (2, home, [other, home]))
        session.execute(
            "INSERT INTO people (k, home, others) VALUES (%s, %s, %s)", (3, home, [other])
        )
        for k, others in ((2, [other, home]), (3, [other])):
            row = session.execute("SELECT home, others FROM people WHERE k = %s", (k,)).one()
            assert (row.home, row.others) == (home, others)


def test_execution_profiles_can_be_added_to_a_connected_cluster(node: LocalCluster) -> None:
    """A connected cluster accepts a new profile, which can be used by name, but only once."""
    with connect(node) as cluster, cluster.connect() as session:
        profile = ExecutionProfile(
            load_balancing_policy=RoundRobinPolicy(), row_factory=dict_factory
        )
        cluster.add_execution_profile("dicts", profile)
        result = session.execute("SELECT key FROM system.local", execution_profile="dicts")
        assert result.one() == {"key": "local"}
        with pytest.raises(ValueError, match="already"):
            cluster.add_execution_profile("dicts", profile)
        with pytest.raises(ValueError, match="no execution profile 'x'"):
            session.execute("SELECT key FROM system.local", execution_profile="x")
        with pytest.raises(ValueError, match="cannot be set if execution profiles are used"):
            session.row_factory = tuple_factory


def test_unprepared_statements_with_question_marks_are_prepared(
    node: LocalCluster, keyspace: str
) -> None:
    """`execute` prepares a string that has ``?`` or ``:name``, and binds the values."""
    with connect(node) as cluster, cluster.connect(keyspace) as session:
        session.execute("CREATE TABLE t (k int PRIMARY KEY, v text)")
        for k in range(3):
            result = session.execute("INSERT INTO t (k, v) VALUES (?, ?)", (k, "100 % sure?"))
            assert "BoundStatement" in repr(result.response_future._request.statement)
        session.execute("INSERT INTO t (k, v) VALUES (:k, :v)", {"k": 3, "v": "named"})
        statement = SimpleStatement(
            "SELECT v FROM t WHERE k = ?", consistency_level=ConsistencyLevel.QUORUM
        )
        assert session.execute(statement, (1,)).one().v == "100 % sure?"
        assert session.execute(statement, (3,)).one().v == "named"
        with pytest.raises(TypeError, match='"k" \\(int, Int32Type\\)'):
            session.execute("SELECT v FROM t WHERE k = ?", ("x",))
        with pytest.raises(InvalidRequest):
            session.execute("SELECT v FROM nothing WHERE k = ?", (1,))
        # A statement cannot mix `?` and `%s`.
        with pytest.raises(ValueError, match="at once"):
            session.execute("SELECT v FROM t WHERE k = ? AND v = %s", (1, "x"))


def test_unprepared_statements_with_question_marks_on_asyncio(
    node: LocalCluster, keyspace: str
) -> None:
    """The asyncio `execute` prepares strings that have bind markers, too."""

    async def insert_and_select() -> None:
        """Insert 100 rows with ``?`` markers, and read one row with the marker ``:k``."""
        async with aio.Cluster(node.contact_points, port=node.port) as cluster:
            session = await cluster.connect(keyspace)
            await session.execute("CREATE TABLE t (k int PRIMARY KEY, v text)")
            inserts = (
                session.execute("INSERT INTO t (k, v) VALUES (?, ?)", (k, str(k)))
                for k in range(100)
            )
            await asyncio.gather(*inserts)
            result = await session.execute("SELECT v FROM t WHERE k = :k", {"k": 77})
            assert result.one().v == "77"

    asyncio.run(insert_and_select())


def test_prepare_all_returns_statements_in_order(node: LocalCluster, keyspace: str) -> None:
    """`prepare_all` prepares concurrently, and returns statements in the order of the queries."""
    queries = [f"SELECT key FROM system.local WHERE key = ? LIMIT {i}" for i in range(1, 21)]
    with connect(node) as cluster, cluster.connect(keyspace) as session:
        statements = session.prepare_all(queries)
        assert [statement.query_string for statement in statements] == queries
        assert session.execute(statements[7], ("local",)).one().key == "local"
        with pytest.raises(InvalidRequest, match="nothing"):
            session.prepare_all([queries[0], "SELECT * FROM nothing"])
        with pytest.raises(TypeError, match="list of texts"):
            session.prepare_all(queries[0])

    async def prepare_with_asyncio() -> None:
        async with aio.Cluster(node.contact_points, port=node.port) as aio_cluster:
            aio_session = await aio_cluster.connect()
            assert len(await aio_session.prepare_all(queries)) == 20

    asyncio.run(prepare_with_asyncio())


def test_vectors_as_arrays(node: LocalCluster, keyspace: str) -> None:
    """Vectors are lists, arrays or NumPy arrays, as the statement or the session requests."""
    with connect(node) as cluster, cluster.connect(keyspace) as session:
        session.execute("CREATE TABLE t (k int PRIMARY KEY, v vector<float, 3>)")
        insert = session.prepare("INSERT INTO t (k, v) VALUES (?, ?)")
        session.execute(insert, (1, array("f", [1, 2, 3])))
        session.execute(insert, (2, numpy.array([4, 5, 6], dtype="f4")))
        select = session.prepare("SELECT v FROM t WHERE k = ?")
        assert session.execute(select, (1,)).one().v == [1.0, 2.0, 3.0]
        # The statement's `vector_type` has priority over the session's `default_vector_type`.
        select.vector_type = "array"
        assert session.execute(select, (2,)).one().v == array("f", [4, 5, 6])
        session.default_vector_type = "numpy"
        for result in (
            session.execute("SELECT v FROM t WHERE k = 2"),
            session.execute("SELECT v FROM t WHERE k = ?", (2,)),
        ):
            (vector,) = result.one()
            assert isinstance(vector, numpy.ndarray)
            assert vector.tolist() == [4.0, 5.0, 6.0]
        statement_with_lists = SimpleStatement("SELECT v FROM t")
        statement_with_lists.vector_type = "list"
        assert sorted(row.v for row in session.execute(statement_with_lists)) == [
            [1.0, 2.0, 3.0],
            [4.0, 5.0, 6.0],
        ]
        with pytest.raises(ValueError, match="'list', 'array', 'numpy', not as 'tuple'"):
            session.default_vector_type = "tuple"
