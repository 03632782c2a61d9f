"""Shares between threads every object that threads may share, such as statements and sessions.

Each value, byte string and row is compared with the result of a single thread. Each call must end.

    python -m tests.stress.threads --threads 8 --minutes 10

This program is mainly for interpreters without the GIL. Its output says whether the GIL was
enabled.
"""

from __future__ import annotations

import argparse
import asyncio
import datetime
import random
import sys
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from cassandra import ConsistencyLevel, _impl, aio, cqltypes
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.protocol.column_specs import ColumnMetadata, ResultMetadata
from cassandra.query import BatchStatement, PreparedStatement
from cassandra.util import Duration, OrderedMapSerializedKey, SortedSet
from tests.stress.mixing import FAIR, LONG, Mix, WrongAnswer
from tests.stress.serving import ALTER, ARRIVED, INSERT, PATIENCE, SELECT, node, rows_of

VERSION = 5
ROWS = 50
# `Work.append` appends this many rows to the shared block.
APPENDED_ROWS = 20
# The rows of a page follow their count, which is an [int].
_ROWS_OFFSET = 4
# Each column of the rows has a name, a CQL type, and a function that returns a random value.
KINDS: list[tuple[str, str, Callable[[random.Random], Any]]] = [
    ("k", "int", lambda r: r.randrange(-(1 << 31), 1 << 31)),
    ("b", "bigint", lambda r: r.randrange(-(1 << 63), 1 << 63)),
    ("t", "text", lambda r: "é" * r.randrange(9) + str(r.random())),
    ("u", "uuid", lambda r: uuid.UUID(int=r.getrandbits(128))),
    ("d", "double", lambda r: r.random()),
    ("w", "timestamp", lambda r: datetime.datetime(2026, 1, 1 + r.randrange(28), r.randrange(24))),
    ("l", "list<int>", lambda r: [r.randrange(99) for _ in range(r.randrange(5))]),
    ("s", "set<text>", lambda r: {str(r.randrange(99)) for _ in range(r.randrange(5))}),
    ("m", "map<text, int>", lambda r: {str(r.randrange(9)): r.randrange(9) for _ in range(3)}),
    ("p", "duration", lambda r: Duration(r.randrange(9), r.randrange(9), r.randrange(1 << 40))),
    ("n", "blob", lambda r: None),
]


class StatementA(PreparedStatement):
    """A subclass of a prepared statement, as an application may define it."""


class StatementB(PreparedStatement):
    """Another subclass, which defines a property."""

    @property
    def own(self) -> int:
        """Return an arbitrary value."""
        return 1


# The driver's classes of scalar types and of collections, by their names in CQL.
TYPES = {
    "text": "UTF8Type", "int": "Int32Type", "bigint": "LongType", "uuid": "UUIDType",
    "double": "DoubleType", "timestamp": "DateType", "blob": "BytesType", "duration": "DurationType",  # noqa: E501
}  # fmt: skip
CONTAINERS: dict[str, Any] = {
    "list": cqltypes.ListType, "set": cqltypes.SetType, "map": cqltypes.MapType,
}  # fmt: skip


def type_of(kind: str) -> Any:
    """Return the driver's class for a CQL type."""
    if "<" not in kind:
        return cqltypes.lookup_casstype(TYPES[kind])
    outer, inner = kind.rstrip(">").split("<")
    return CONTAINERS[outer].apply_parameters(
        [type_of(subtype.strip()) for subtype in inner.split(",")]
    )


def columns() -> list[ColumnMetadata]:
    """Return columns of all types in `KINDS`."""
    return [ColumnMetadata("ks", "t", name, type_of(kind)) for name, kind, _ in KINDS]


def prepared(statement_class: type[PreparedStatement], columns: list[ColumnMetadata]) -> Any:
    """Return a prepared statement of the given class, whose bind markers are `columns`."""
    statement = statement_class(columns, b"id", [0], "INSERT ...", "ks", VERSION, None, b"", False)
    statement.table_keyspace, statement.table = "ks", "t"
    return statement


def plain(value: Any) -> Any:
    """Convert the driver's collections to built-in collections, which equal the bound values."""
    if isinstance(value, SortedSet):
        return set(value)
    if isinstance(value, OrderedMapSerializedKey):
        return dict(value.items())
    return value


class Work:
    """The objects that the threads share, and the operations of the threads."""

    def __init__(self, mix: Mix, cluster: Cluster, profile: ExecutionProfile) -> None:
        rng = random.Random(1)
        self.mix, self.cluster, self.profile = mix, cluster, profile
        self.columns = columns()
        self.statements = [
            prepared(statement_class, self.columns)
            for statement_class in (PreparedStatement, StatementA, StatementB, PreparedStatement)
        ]
        self.rows = [tuple(make(rng) for _, _, make in KINDS) for _ in range(ROWS)]
        # These are the results of a single thread: the bound bytes of each row, a page of all rows,
        # which begins with the row count, and the decoded page.
        self.row_data: list[bytes] = [self.statements[0].bind(row).block.data for row in self.rows]
        self.page = len(self.rows).to_bytes(4, "big") + b"".join(self.row_data)
        self.metadata = ResultMetadata(self.columns)
        self.decoded = self.metadata.row_plan.tuples(self.page, _ROWS_OFFSET, ROWS)
        if [tuple(map(plain, row)) for row in self.decoded] != self.rows:
            # No other thread has begun, so the test itself is wrong.
            raise WrongAnswer("one thread alone")
        # All threads append rows to this block. `appended` counts these rows.
        self.shared = _impl.bind.RowsBlock(len(KINDS))
        self.appended = 0
        # This lock protects only the counters.
        self.lock = threading.Lock()
        self.tablets = _impl.tablets.TabletMap()
        self.tablets.use_keyspaces(["ks"], [])
        self.host = SimpleNamespace(host_id=uuid.UUID(int=7))
        self.tablets.take_hosts([self.host])
        self.outcomes: Counter[str] = Counter()
        self.select = mix.session.prepare(SELECT)
        self.insert = mix.session.prepare(INSERT)
        # These are the number of rows and the sum of their keys, for the rows that were sent and
        # for those that were acknowledged.
        self.sent, self.acknowledged = [0, 0], [0, 0]

    def bind(self, rng: random.Random) -> None:
        """Bind rows with statements whose settings other threads change, and compare the bytes.

        The settings do not affect the bytes, so these must be the same as with one thread.
        """
        for _ in range(50):
            index = rng.randrange(ROWS)
            statement = rng.choice(self.statements)
            values: Any = self.rows[index]
            if rng.random() < 0.3:
                values = dict(zip([name for name, _, _ in KINDS], values, strict=True))
            bound: Any = statement.bind(values)
            if bound.block.data != self.row_data[index]:
                raise WrongAnswer("bound bytes")

    def change(self, rng: random.Random) -> None:
        """Change settings of objects that other threads read at the same time."""
        statement = rng.choice(self.statements)
        statement.consistency_level = rng.choice(
            [
                None,
                ConsistencyLevel.ONE,
                ConsistencyLevel.QUORUM,
                ConsistencyLevel.LOCAL_QUORUM,
            ]
        )
        statement.custom_payload = {str(rng.random()): b"x"}
        statement.result_metadata_and_id = (
            ResultMetadata(self.columns),
            b"%d" % rng.getrandbits(60),
        )
        self.profile.request_timeout = rng.uniform(10, 20)

    def decode(self, rng: random.Random) -> None:
        """Decode a page with a row plan, which is the decoder for a list of columns.

        In some calls the plan is new, so that several threads may use it for the first time
        together.
        """
        if rng.random() < 0.3:
            self.metadata = ResultMetadata(self.columns)
        plan = self.metadata.row_plan
        decode_rows = rng.choice([plan.tuples, plan.named_tuples, plan.dicts])
        decoded = decode_rows(self.page, _ROWS_OFFSET, ROWS)
        rows = [tuple(row.values()) if isinstance(row, dict) else tuple(row) for row in decoded]
        if rows != [tuple(row) for row in self.decoded]:
            raise WrongAnswer("decoded rows")

    def encode(self, rng: random.Random) -> None:
        """Serialize and deserialize single values with shared types."""
        for _ in range(50):
            # Leave out the last column, because its value is null, which types do not serialize.
            index = rng.randrange(len(KINDS) - 1)
            column, value = self.columns[index], self.rows[rng.randrange(ROWS)][index]
            data = column.type.serialize(value, VERSION)
            if plain(column.type.deserialize(data, VERSION)) != value:
                raise WrongAnswer("a value's way there and back")

    def append(self, rng: random.Random) -> None:
        """Append rows to a block to which other threads append, and read one of its rows."""
        plan = self.statements[0].bind_plan
        # With more rows, the block is large enough.
        if self.shared.count > 20_000:
            return
        # Do not take the lock here, because all threads must be able to append at the same time.
        for _ in range(APPENDED_ROWS):
            plan.bind_into(self.shared, self.rows[rng.randrange(ROWS)], VERSION)
        with self.lock:
            self.appended += APPENDED_ROWS
        index = rng.randrange(self.shared.count)
        if self.shared.row(index).data not in self.row_data:
            raise WrongAnswer("a row of a block")

    def place(self, rng: random.Random) -> None:
        """Add tablets to the map, look one of them up, and in some calls remove all of them."""
        first_token = rng.randrange(-100, 100) * 1000

        def int32(number: int) -> bytes:
            """Return the number encoded as an [int] of the protocol."""
            return number.to_bytes(4, "big")

        def sized(data: bytes) -> bytes:
            """Return `data` encoded as [bytes] of the protocol, which begin with the length."""
            return int32(len(data)) + data

        # ScyllaDB sends a tuple for a tablet: its first and last token (bigint), and a list of its
        # replicas. Each replica is a tuple of host ID (uuid) and shard (int).
        replica = sized(self.host.host_id.bytes) + sized(int32(rng.randrange(9)))
        replicas = int32(1) + sized(sized(replica))
        payload = b"".join(
            sized(field)
            for field in (
                first_token.to_bytes(8, "big", signed=True),
                (first_token + 1000).to_bytes(8, "big", signed=True),
                replicas,
            )
        )
        self.tablets.learn("ks", rng.choice("tu"), payload)
        tablet = self.tablets.find("ks", "t", first_token + 1)
        if tablet is not None:
            _first_token, _last_token, tablet_replicas, _version = tablet
            host_id, _shard = tablet_replicas[0]
            if host_id != self.host.host_id:
                raise WrongAnswer("a tablet's host")
        if rng.random() < 0.01:
            self.tablets.clear()
        if rng.random() < 0.01:
            self.tablets.take_hosts([self.host])

    def refresh(self, rng: random.Random) -> None:
        """In a few of the calls, refresh the schema, which other threads use for query plans."""
        if rng.random() < 0.02:
            self.cluster.refresh_schema_metadata(max_schema_agreement_wait=0)

    def alter(self, rng: random.Random) -> None:
        """Alter a keyspace, which makes the server send an event, or check its replication."""
        if rng.random() < 0.2:
            self.mix.session.execute(ALTER, timeout=LONG)
        else:
            strategy = self.cluster.metadata.keyspaces["ks0"].replication_strategy
            if strategy.replication_factor < 1:
                raise WrongAnswer("a keyspace's replication")

    def pages(self, rng: random.Random) -> None:
        """Read a result in small pages, and check that it has all rows in the correct order."""
        key = rng.randrange(1000)
        bound = self.select.bind((key,))
        bound.fetch_size = rng.randrange(1, 5)
        result = self.mix.session.execute(bound, timeout=LONG)
        if [tuple(row) for row in result] != rows_of(key):
            raise WrongAnswer("pages")

    def many(self, rng: random.Random) -> None:
        """Execute one statement with many keys, and check that each response belongs to its key."""
        keys = [rng.randrange(1000) for _ in range(20)]
        outcomes = execute_concurrent_with_args(
            self.mix.session, self.select, [(key,) for key in keys], raise_on_first_error=False
        )
        for key, (success, outcome) in zip(keys, outcomes, strict=True):
            if not success:
                raise outcome
            if [tuple(row) for row in outcome] != rows_of(key):
                raise WrongAnswer("an answer to other values")

    def batch(self, rng: random.Random) -> None:
        """Write rows in a batch, which the node counts."""
        keys = [rng.randrange(1000) for _ in range(rng.randrange(1, 10))]
        batch = BatchStatement()
        for key in keys:
            batch.add(self.insert, (key, str(key)))
        self._count(self.sent, keys)
        self.mix.session.execute(batch, timeout=LONG)
        self._count(self.acknowledged, keys)

    def _count(self, counted: list[int], keys: list[int]) -> None:
        """Add the number and the sum of the keys to `self.sent` or `self.acknowledged`."""
        with self.lock:
            counted[0] += len(keys)
            counted[1] += sum(keys)

    def written(self) -> bool:
        """Return True if the node has all acknowledged rows, and no rows that were not sent."""
        arrived = self.mix.session.execute(ARRIVED, timeout=LONG).one()
        return all(
            least <= count <= upper
            for least, count, upper in zip(self.acknowledged, arrived, self.sent, strict=True)
        )

    def execute(self, rng: random.Random) -> None:
        """Make a random call of `Mix`, such as a blocking call or a chain of callbacks."""
        mix = self.mix
        calls = [mix.blocking, mix.future, mix.callback, mix.many, mix.hurried, mix.breaking]
        (call,) = rng.choices(calls, weights=[8, 5, 3, 1, 1, 1])
        call(rng)

    def cancelled(self, rng: random.Random) -> None:
        """In a few of the calls, run an asyncio session in this thread.

        The method cancels half of the session's requests.
        """
        if rng.random() > 0.05:
            return
        asyncio.run(self._tasks(rng))

    async def _tasks(self, rng: random.Random) -> None:
        """Send 50 requests at once, cancel every second request, and check all other answers."""
        contact_points = [
            (host.address, self.cluster.port) for host in self.cluster.metadata.all_hosts()
        ]
        async with aio.Cluster(contact_points) as cluster:
            session = await cluster.connect()
            names = "SELECT keyspace_name FROM system_schema.keyspaces"
            tasks = [asyncio.ensure_future(session.execute(names)) for _ in range(50)]
            await asyncio.sleep(rng.uniform(0, 0.01))
            for task in tasks[::2]:
                task.cancel()
            for outcome in await asyncio.gather(*tasks, return_exceptions=True):
                if isinstance(outcome, asyncio.CancelledError):
                    continue
                if isinstance(outcome, BaseException):
                    raise outcome
                self.mix.check(outcome.all(), expects_names=True)

    def run(self, seed: int, end: float) -> None:
        """Call random methods until `end`, and count their outcomes.

        :param end: a time of `time.monotonic`.
        """
        rng = random.Random(seed)
        # `execute` makes many kinds of calls, so it appears twice in this list.
        actions: list[Callable[[random.Random], None]] = [
            self.bind, self.change, self.decode, self.encode, self.append, self.place, self.execute,
            self.execute, self.refresh, self.cancelled, self.alter, self.pages, self.many,
            self.batch,
        ]  # fmt: skip
        while time.monotonic() < end:
            action = rng.choice(actions)
            try:
                action(rng)
                outcome = action.__name__
            except BaseException as error:
                outcome = type(error).__name__
                # The driver raises NoHostAvailable, as expected, while it reconnects to the only
                # host.
                if outcome not in FAIR and "NoHostAvailable" not in outcome:
                    outcome = f"WRONG {action.__name__}: {error!r}"
            with self.lock:
                self.outcomes[outcome] += 1


def main() -> None:
    """Run the threads and print their outcomes.

    The exit status is 1 if a result was wrong or a call hung.
    """
    parser = argparse.ArgumentParser(description="threads that share what threads may share")
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--loops", type=int, default=2, help="event loops of the cluster")
    options = parser.parse_args()
    profile = ExecutionProfile()
    with (
        node() as server,
        Cluster(
            [server[0]],
            port=server[1],
            execution_profiles={EXEC_PROFILE_DEFAULT: profile},
            schema_event_refresh_window=0,
            loops=options.loops,
        ) as cluster,
    ):
        work = Work(Mix(cluster.connect()), cluster, profile)
        end = time.monotonic() + 60 * options.minutes
        threads = [
            threading.Thread(target=work.run, args=(seed, end), daemon=True)
            for seed in range(options.threads)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            # The threads end at `end`, except threads that hang.
            thread.join(max(0.0, end - time.monotonic()) + PATIENCE)
        hung = sum(thread.is_alive() for thread in threads)
        rows = work.shared.rows()
        # The shared objects must contain everything that the threads have added, and no deadline of
        # a call may be left.
        if len(rows) != work.appended or {row.data for row in rows} - set(work.row_data):
            work.outcomes["WRONG rows of the block"] += 1
        if not hung and not work.written():
            work.outcomes["WRONG rows of batches"] += 1
        engine = work.mix.session._engine
        wheels = [engine.timers, *(follower.timers for follower in engine.followers)]
        give_up_at = time.monotonic() + PATIENCE
        while (timers_left := sum(map(len, wheels))) and time.monotonic() < give_up_at:
            time.sleep(0.01)
    wrong_outcomes = {
        outcome: count for outcome, count in work.outcomes.items() if outcome.startswith("WRONG")
    }
    # Python versions before 3.13 do not have this function, and always have the GIL.
    gil = getattr(sys, "_is_gil_enabled", lambda: True)()
    print(dict(work.outcomes))
    print(
        f"{options.threads} threads, {options.minutes} minutes, {_impl.implementation}, "
        f"{'with' if gil else 'without'} the GIL: {sum(work.outcomes.values()):,} steps, "
        f"{sum(wrong_outcomes.values())} wrong, {hung} hung, {timers_left} time limits left",
        flush=True,
    )
    sys.exit(1 if wrong_outcomes or hung or timers_left else 0)


if __name__ == "__main__":
    main()
