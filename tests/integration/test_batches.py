"""Batches of all sizes and types on three real nodes.

Servers may forget the prepared statements of a batch, or may be killed during a batch.
"""

from __future__ import annotations

import asyncio
import dataclasses
import threading
from collections.abc import Iterator
from typing import Any

import numpy
import pandas
import pyarrow
import pytest

from cassandra import ConsistencyLevel, InvalidRequest, aio
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, Session
from cassandra.policies import ConstantReconnectionPolicy, RoundRobinPolicy
from cassandra.query import BatchStatement, BatchType, SimpleStatement
from cassandra.testing import LocalCluster

from .conftest import create_keyspace, new_keyspace_name
from .test_failures import PAUSE, States

pytestmark = pytest.mark.integration

INSERT = "INSERT INTO t (k, c, v, x) VALUES (?, ?, ?, ?)"
WRITERS = 4  # the number of threads that send batches
PER_BATCH = 20  # the number of rows in each batch of a thread


@dataclasses.dataclass
class Item:
    """A row of the table `t`."""

    k: int
    c: int
    v: str
    x: float | None = None


def connect(local: LocalCluster) -> Cluster:
    """Return a cluster that writes at QUORUM and notices a failed node within seconds."""
    profile = ExecutionProfile(
        load_balancing_policy=RoundRobinPolicy(),
        request_timeout=30,
        consistency_level=ConsistencyLevel.QUORUM,
    )
    return Cluster(
        local.contact_points,
        port=local.port,
        execution_profiles={EXEC_PROFILE_DEFAULT: profile},
        reconnection_policy=ConstantReconnectionPolicy(0.5, None),
        connect_timeout=5,
        # With short intervals of heartbeats, the driver soon notices that a node has failed.
        idle_heartbeat_interval=1,
        idle_heartbeat_timeout=2,
    )


@pytest.fixture(scope="module")
def shared_keyspace(three_nodes: LocalCluster) -> Iterator[str]:
    """Yield a keyspace with replicas on all nodes.

    The tests share it, because creating and dropping a keyspace takes seconds.
    """
    name = new_keyspace_name()
    with connect(three_nodes) as cluster, cluster.connect(wait_for_all_pools=True) as session:
        create_keyspace(session, name, replicas=3)
        yield name
        session.execute(f"DROP KEYSPACE {name}", timeout=60)


@pytest.fixture
def session(three_nodes: LocalCluster, shared_keyspace: str) -> Iterator[Session]:
    """Yield a session in a keyspace with an empty table `t`."""
    with connect(three_nodes) as cluster, cluster.connect(wait_for_all_pools=True) as session:
        session.set_keyspace(shared_keyspace)
        create_table(session)
        yield session
        session.execute("TRUNCATE t", timeout=60)


def create_table(session: Session) -> None:
    """Create the table `t`, if it does not exist."""
    session.execute(
        "CREATE TABLE IF NOT EXISTS t (k int, c int, v text, x double, PRIMARY KEY (k, c))",
        timeout=60,
    )


def rows_of_t(session: Session) -> list[tuple[Any, ...]]:
    """Return the rows of the table `t`, sorted."""
    return sorted(tuple(row) for row in session.execute("SELECT k, c, v, x FROM t", timeout=60))


@pytest.mark.parametrize("batch_type", [BatchType.LOGGED, BatchType.UNLOGGED], ids=str)
@pytest.mark.parametrize("count", [1, 2, 100, 10_000])
def test_batches_of_all_sizes(session: Session, count: int, batch_type: BatchType) -> None:
    """All rows of a batch are written, added with one `add_many` or with many `add`."""
    insert = session.prepare(INSERT)
    rows = [(i % 50, i, f"row {i}", i / 2) for i in range(count)]
    session.execute(BatchStatement(batch_type).add_many(insert, rows), timeout=60)
    assert rows_of_t(session) == sorted(rows)
    batch = BatchStatement(batch_type).reserve(count)
    for k, c, v, x in rows:
        batch.add(insert, (k, c, v + "!", x))
    session.execute(batch, timeout=60)
    assert rows_of_t(session) == sorted((k, c, v + "!", x) for k, c, v, x in rows)


def mixed_batch(insert: Any) -> BatchStatement:
    """Return a batch with one statement of each kind, for the partitions 0 to 7.

    :param insert: the prepared statement of INSERT.
    """
    batch = BatchStatement()
    batch.add(insert, (0, 0, "prepared", 0.5)).add(insert.bind((1, 0, "bound", None)))
    batch.add("INSERT INTO t (k, c, v) VALUES (%s, 0, %s)", (2, "it's formatted"))
    batch.add("INSERT INTO t (k, c, v) VALUES (3, 0, 'a % and a ?')")
    batch.add("INSERT INTO t (k, c, v) VALUES (?, 0, ?)", (4, "prepared 100% on the way"))
    batch.add(SimpleStatement("INSERT INTO t (k, c, v) VALUES (:k, 0, :v)"), {"k": 5, "v": "named"})
    batch.add_many(
        "INSERT INTO t (k, c, v) VALUES (?, 0, ?)", [(6, "many"), {"k": 7, "v": "by name"}]
    )
    return batch


# The rows that `mixed_batch` writes.
MIXED = [
    (0, 0, "prepared", 0.5),
    (1, 0, "bound", None),
    (2, 0, "it's formatted", None),
    (3, 0, "a % and a ?", None),
    (4, 0, "prepared 100% on the way", None),
    (5, 0, "named", None),
    (6, 0, "many", None),
    (7, 0, "by name", None),
]


def test_statements_of_all_kinds_in_one_batch(session: Session) -> None:
    """A batch may mix prepared, bound, formatted and named statements, and may run twice."""
    batch = mixed_batch(session.prepare(INSERT))
    session.execute(batch)
    assert rows_of_t(session) == MIXED
    session.execute("TRUNCATE t", timeout=60)
    # the first execution prepared the strings with "?", so this execution needs no preparation
    session.execute_async(batch).result()
    assert rows_of_t(session) == MIXED


def test_a_mixed_batch_on_asyncio(session: Session, three_nodes: LocalCluster) -> None:
    """A batch with statements of all kinds can be executed twice with the asyncio API."""

    async def execute_twice() -> None:
        """Execute the batch twice; the second execution has nothing left to prepare."""
        async with aio.Cluster(three_nodes.contact_points, port=three_nodes.port) as cluster:
            aio_session = await cluster.connect(session.keyspace)
            batch = mixed_batch(await aio_session.prepare(INSERT))
            await aio_session.execute(batch, timeout=30)
            await aio_session.execute(batch, timeout=30)

    asyncio.run(execute_twice())
    assert rows_of_t(session) == MIXED


def rows_in_each_form() -> list[tuple[str, Any]]:
    """Return two rows in each form that `add_many` accepts, as (name of the form, rows)."""
    nan = float("nan")
    structured_array = numpy.array(
        [(1, 0, "a", 0.5), (2, 0, "b", nan)],
        dtype=[("k", "i4"), ("c", "i4"), ("v", "U5"), ("x", "f8")],
    )
    data_frame = pandas.DataFrame({"v": ["a", None], "k": [1, 2], "x": [0.5, nan], "c": [0, 0]})
    arrow_table = pyarrow.table({"k": [1, 2], "c": [0, 0], "v": ["a", "b"], "x": [0.5, None]})
    return [
        ("structured array", structured_array),
        ("frame", data_frame),
        ("arrow", arrow_table),
        ("record batch", arrow_table.to_batches()[0]),
        ("dataclasses", [Item(1, 0, "a", 0.5), Item(2, 0, "b")]),
        ("dicts", [{"k": 1, "c": 0, "v": "a", "x": 0.5}, {"k": 2, "c": 0, "v": "b"}]),
    ]


@pytest.mark.parametrize(
    ("form", "rows"), rows_in_each_form(), ids=[form for form, _ in rows_in_each_form()]
)
def test_add_many_accepts_arrays_frames_dataclasses_and_dicts(
    session: Session, form: str, rows: Any
) -> None:
    """`add_many` writes the same two rows from each form; the second row has no `x`."""
    session.execute(BatchStatement().add_many(session.prepare(INSERT), rows))
    first_row, (k, c, v, x) = rows_of_t(session)
    assert first_row == (1, 0, "a", 0.5)
    assert (k, c) == (2, 0)
    assert v == (None if form == "frame" else "b")
    # NumPy arrays and data frames have no None for floats: they have NaN instead.
    if form in ("structured array", "frame"):
        assert numpy.isnan(x)
    else:
        assert x is None


def test_execute_binds_the_attributes_of_a_dataclass(session: Session) -> None:
    insert = session.prepare(INSERT)
    session.execute(insert, Item(1, 0, "a", 0.5))
    session.execute(INSERT, Item(2, 0, "b"))
    assert rows_of_t(session) == [(1, 0, "a", 0.5), (2, 0, "b", None)]


def test_a_batch_works_after_its_table_was_dropped_and_recreated(session: Session) -> None:
    """A batch is executed again after its table was dropped and created with the same columns.

    Servers forget the prepared statements of a dropped table, so the driver prepares them again.
    """
    insert, delete = session.prepare_all([INSERT, "DELETE FROM t WHERE k = ? AND c = ?"])
    batch = (
        BatchStatement()
        .add_many(insert, [(i, 0, str(i), None) for i in range(10)])
        .add(delete, (100, 0))
    )
    batch.add("INSERT INTO t (k, c, v) VALUES (?, ?, ?)", (10, 0, "10"))
    session.execute(batch)
    for _ in range(2):
        session.execute("DROP TABLE t", timeout=60)
        create_table(session)
        session.execute(batch)
        # The ten prepared inserts and the insert that was added as a string have written their
        # rows.
        assert rows_of_t(session) == [(i, 0, str(i), None) for i in range(11)]


def test_a_batch_for_a_table_recreated_with_other_types_is_refused(session: Session) -> None:
    """The batch raises, because a double must not be written into a text column."""
    insert = session.prepare(INSERT)
    batch = BatchStatement().add_many(insert, [(1, 0, "a", 0.5)])
    session.execute("DROP TABLE t", timeout=60)
    session.execute("CREATE TABLE t (k int, c int, v text, x text, PRIMARY KEY (k, c))", timeout=60)
    try:
        with pytest.raises(InvalidRequest, match=r"(?s)x double -> x varchar.*prepare it again"):
            session.execute(batch)
    # Restore the table, because other tests share the keyspace.
    finally:
        session.execute("DROP TABLE t", timeout=60)
        create_table(session)


def test_the_error_of_a_refused_batch_describes_it(session: Session) -> None:
    """The error has the number of statements in the batch, and the text of the first statement."""
    insert = session.prepare(INSERT)
    # The batch has 3.5 MB. The limit of these nodes is 3 MiB.
    rows = [(i, 0, "x" * 100_000, None) for i in range(35)]
    with pytest.raises(
        InvalidRequest, match=r"(?s)Batch too large.*a batch of 35 that begins with 'INSERT INTO t"
    ):
        session.execute(BatchStatement().add_many(insert, rows), timeout=60)
    assert rows_of_t(session) == []


def test_counters(session: Session) -> None:
    """Batches of counter updates add up; the server refuses counters mixed with other writes."""
    session.execute("CREATE TABLE n (k int PRIMARY KEY, hits counter)", timeout=60)
    add_hits = session.prepare("UPDATE n SET hits = hits + ? WHERE k = ?")
    for batch_type in (BatchType.COUNTER, BatchType.UNLOGGED):
        session.execute(
            BatchStatement(batch_type).add_many(add_hits, [(1, 7), (2, 7), (5, 8)]), timeout=30
        )
    # Each of the two batches has added 1 and 2 to key 7, and 5 to key 8.
    assert sorted(tuple(row) for row in session.execute("SELECT k, hits FROM n")) == [
        (7, 6),
        (8, 10),
    ]
    # Batches that mix counters with other statements are sent, and the server refuses them.
    with pytest.raises(
        InvalidRequest, match=r"(?is)counter.*a batch of 1 that begins with 'UPDATE"
    ):
        session.execute(BatchStatement().add(add_hits, (1, 7)))
    with pytest.raises(InvalidRequest, match=r"(?i)counter"):
        session.execute(BatchStatement(BatchType.COUNTER).add(session.prepare(INSERT), (1, 1)))
    with pytest.raises(
        InvalidRequest, match=r"(?is)counter.*a batch of 1 that begins with 'DELETE FROM t"
    ):
        session.execute(BatchStatement(BatchType.COUNTER).add("DELETE FROM t WHERE k = 1"))


def test_conditional_batches(session: Session) -> None:
    """`was_applied` of a batch's result is False if one of the batch's conditions is not met."""
    insert = session.prepare("INSERT INTO t (k, c, v) VALUES (?, ?, ?) IF NOT EXISTS")
    batch = BatchStatement().add_many(insert, [(1, 0, "a"), (1, 1, "b")])
    assert session.execute(batch, timeout=60).was_applied
    assert not session.execute(batch, timeout=60).was_applied
    assert not session.execute(insert, (1, 0, "c"), timeout=60).was_applied
    assert session.execute(insert, (2, 0, "c"), timeout=60).was_applied
    assert rows_of_t(session) == [(1, 0, "a", None), (1, 1, "b", None), (2, 0, "c", None)]


class BatchLoad:
    """Threads that each send batches, one after the other, until `stop` is called.

    Batch number k writes the partition k. Only batches with even numbers are marked idempotent.
    """

    def __init__(self, session: Session) -> None:
        self._insert = session.prepare(INSERT)
        self._insert.is_idempotent = True
        self._session = session
        self._stop = threading.Event()
        self._lock = threading.Condition()
        self.acknowledged: set[int] = set()
        self.failed: dict[int, Exception] = {}
        self._threads = [threading.Thread(target=self._write, args=(i,)) for i in range(WRITERS)]
        for thread in self._threads:
            thread.start()

    def _write(self, first_key: int) -> None:
        """Send batches until the load is stopped. Each thread runs this method.

        :param first_key: the thread's first partition; each further partition is WRITERS higher.
        """
        key = first_key
        while not self._stop.wait(PAUSE):
            batch = BatchStatement(BatchType.UNLOGGED).add_many(
                self._insert,
                [(key, row_number, f"{key}/{row_number}", None) for row_number in range(PER_BATCH)],
            )
            # The driver may retry the batches of even keys, but not the batches of odd keys.
            batch.is_idempotent = key % 2 == 0
            try:
                self._session.execute(batch)
            except Exception as error:
                self.failed[key] = error
            else:
                with self._lock:
                    self.acknowledged.add(key)
                    self._lock.notify_all()
            key += WRITERS

    def go_on(self, batches: int = 200, timeout: float = 90) -> None:
        """Wait until the nodes have acknowledged `batches` more batches than now.

        :param timeout: how many seconds to wait before the test fails.
        """
        with self._lock:
            target = len(self.acknowledged) + batches
            is_reached = self._lock.wait_for(lambda: len(self.acknowledged) >= target, timeout)
        assert is_reached, list(self.failed.items())[-3:]

    def stop(self) -> None:
        """Stop the threads, and check that none hangs."""
        self._stop.set()
        for thread in self._threads:
            thread.join(timeout=60)
        assert not any(thread.is_alive() for thread in self._threads)


@pytest.mark.longest
def test_a_node_is_killed_under_a_load_of_batches(fragile: LocalCluster, session: Session) -> None:
    """After a kill, each acknowledged batch is complete, and no idempotent batch has failed."""
    states = States()
    session.cluster.register_listener(states)
    load = BatchLoad(session)
    try:
        load.go_on()
        node = fragile.nodes[1]
        fragile.kill(node.number)
        states.wait_for("down", node.address)
        load.go_on()
        fragile.restart(node.number)
        states.wait_for("up", node.address)
        load.go_on()
    finally:
        load.stop()
    statement = SimpleStatement("SELECT k, c, v FROM t", consistency_level=ConsistencyLevel.ALL)
    stored: dict[int, set[int]] = {}
    for row in session.execute(statement, timeout=60):
        assert row.v == f"{row.k}/{row.c}"
        stored.setdefault(row.k, set()).add(row.c)
    for k in load.acknowledged:
        assert stored.get(k) == set(range(PER_BATCH)), k
    # Idempotent batches were retried on the next host. Other batches may have failed with an error.
    assert [k for k in load.failed if k % 2 == 0] == []
    assert all(str(error) for error in load.failed.values())  # no message is empty
    assert not load.acknowledged & load.failed.keys()
