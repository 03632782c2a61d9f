"""`SchemaRefresher` with a fake reader: rounds of refreshes, many events at once, and retries."""

from __future__ import annotations

import asyncio
import itertools
import uuid
from typing import Any

import pytest

from cassandra.engine.schema.refreshing import FIRST_DELAY, MOST_TRIES, SchemaRefresher
from cassandra.engine.schema.targets import Target
from cassandra.errors import ConnectionException, ConnectionShutdown, DriverException
from cassandra.metadata.cluster_metadata import Metadata
from cassandra.metadata.schema.snapshot import Schema
from tests.unit.engine.partners import (
    engine_settings,
    fake_connection,
    new_host,
    run_loop_turns,
    spawn,
)
from tests.unit.metadata.placement.test_tablets import HOSTS, payload
from tests.waiting import until_on_loop

NO_WAIT = 0  # seconds to wait for schema agreement: the nodes need not agree
TABLE = {"target_type": "TABLE", "change_type": "UPDATED", "keyspace": "a", "table": "t"}


class FakeReader:
    """A fake reader that records the targets and connections of its calls.

    If `error` is set, `read` raises it. If `gate` is set, `read` first waits for this event.
    """

    def __init__(self) -> None:
        self.readings: list[tuple[Target, Any]] = []
        self.full_readings: list[bool] = []
        self.error: Exception | None = None
        self.gate: asyncio.Event | None = None

    async def read(self, target: Target, connection: Any) -> None:
        """Record the reading, wait for the gate (if any), and raise the error (if any)."""
        self.readings.append((target, connection))
        if self.gate is not None:
            await self.gate.wait()
        if self.error is not None:
            raise self.error

    async def read_all(self, connection: Any, version: Any, all_keyspaces: bool) -> None:
        self.full_readings.append(all_keyspaces)

    @property
    def targets(self) -> list[Target]:
        return [target for target, _ in self.readings]


class RefresherHarness:
    """A `SchemaRefresher` with fakes of everything that it uses.

    By default, it handles events at once. `agreed` is the result of waiting for schema agreement.

    :param settings: settings of the engine.
    """

    def __init__(self, **settings: Any) -> None:
        self.reader = FakeReader()
        self.metadata = Metadata()
        self.control = fake_connection()
        self.agreed = True
        defaults = {"schema_event_refresh_window": 0.0}
        self.refresher = SchemaRefresher(
            engine_settings(**defaults | settings),
            self.metadata,
            self.reader,
            self.agree,
            lambda: self.control,
            spawn,
        )

    async def agree(self, connection: Any, max_wait: float) -> bool:
        return self.agreed


async def test_connect_reads_what_the_settings_enable() -> None:
    """`on_connected` reads the whole schema, or only the replication, or nothing.

    Without schema metadata, it reads only the replication. Without token metadata as well, it reads
    nothing.
    """
    for enabled in (True, False):
        harness = RefresherHarness(schema_metadata_enabled=enabled)
        await harness.refresher.on_connected(harness.control, new_host("10.0.0.1"))
        # Routing needs the replication of all keyspaces, even without schema metadata.
        assert harness.reader.full_readings == [enabled]
    harness = RefresherHarness(schema_metadata_enabled=False, token_metadata_enabled=False)
    await harness.refresher.on_connected(harness.control, new_host("10.0.0.1"))
    assert harness.reader.full_readings == []


async def test_a_move_reads_the_schema_only_if_its_version_differs() -> None:
    """When the control connection moves, the schema is read only if its version differs.

    The version is in the new node's row.
    """
    harness = RefresherHarness()
    local = new_host("10.0.0.1")
    harness.metadata._replace_schema(
        Schema(sources={}, version=(local.schema_version, local.release_version))
    )
    harness.refresher.on_moved(local)
    await run_loop_turns()
    assert harness.reader.targets == []
    # Pretend that the version of the schema metadata is unknown.
    harness.metadata._replace_schema(harness.metadata.schema.at(None))
    harness.refresher.on_moved(local)
    await run_loop_turns()
    assert harness.reader.targets == [Target()]


async def test_missed_events_are_reported_although_the_schema_is_not_read() -> None:
    """Statements may have other types now, even if the application reads no metadata at all."""
    harness = RefresherHarness(schema_metadata_enabled=False, token_metadata_enabled=False)
    reports: list[str] = []

    async def report() -> None:
        reports.append("missed")

    harness.refresher.on_caught_up = report
    local, other = new_host("10.0.0.1"), new_host("10.0.0.2")
    other.schema_version = uuid.UUID(int=2)
    await harness.refresher.on_connected(fake_connection(), local)
    for host, count in ((local, 0), (other, 1), (other, 1), (local, 2)):
        harness.refresher.on_moved(host)
        await run_loop_turns()
        assert reports == ["missed"] * count
    assert harness.reader.targets == []


@pytest.mark.parametrize("begin", ["move", "event"])
async def test_what_was_compared_with_an_old_schema_is_compared_again(
    begin: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a reading fails, statements are compared with the schema that is read at last."""
    monkeypatch.setattr("cassandra.engine.schema.refreshing.FIRST_DELAY", 0.0)
    harness = RefresherHarness()
    readings_at_comparisons: list[int] = []

    async def compare() -> None:
        readings_at_comparisons.append(len(harness.reader.readings))

    harness.refresher.on_caught_up = compare
    errors = [DriverException("no answer"), DriverException("no answer")]
    read = harness.reader.read

    async def fail_twice(target: Target, connection: Any) -> None:
        await read(target, connection)
        if errors:
            raise errors.pop()

    monkeypatch.setattr(harness.reader, "read", fail_twice)
    if begin == "move":
        harness.refresher.on_moved(new_host("10.0.0.1"))
    else:
        harness.refresher.on_event(TABLE)
    await until_on_loop(lambda: max(readings_at_comparisons, default=0) >= 3)
    # A reading that was not late causes no comparison.
    comparison_count, reading_count = len(readings_at_comparisons), len(harness.reader.readings)
    harness.refresher.on_event(TABLE)
    await until_on_loop(lambda: len(harness.reader.readings) > reading_count)
    await run_loop_turns()
    assert len(readings_at_comparisons) == comparison_count


async def test_many_events_in_one_window_cause_one_reading() -> None:
    """Ten schema events for the same table in quick succession cause one reading of this table."""
    harness = RefresherHarness()
    for _ in range(10):
        harness.refresher.on_event(TABLE)
    await until_on_loop(lambda: harness.reader.readings)
    await run_loop_turns()
    assert harness.reader.targets == [Target("TABLE", "a", "t")]


def test_events_in_one_turn_of_uvloop_cause_one_reading() -> None:
    """On uvloop, too, several events in one iteration of the loop cause one reading.

    For a delay of less than half a millisecond, uvloop returns a handle that cannot say when it is
    due, so the second event must not ask for that.
    """
    uvloop = pytest.importorskip("uvloop")

    async def report_events() -> list[Target]:
        harness = RefresherHarness()
        for _ in range(3):
            harness.refresher.on_event(TABLE)
        await until_on_loop(lambda: harness.reader.readings)
        return harness.reader.targets

    loop = uvloop.new_event_loop()
    try:
        assert loop.run_until_complete(report_events()) == [Target("TABLE", "a", "t")]
    finally:
        loop.close()


async def test_events_are_ignored_if_their_target_is_not_read() -> None:
    """Schema events are ignored if their target is not read.

    This is so with a negative window, for keyspaces that are left out, and without schema metadata.
    """
    for settings in (
        {"schema_event_refresh_window": -1.0},
        {"schema_metadata_keyspaces": ["b"]},
        {"schema_metadata_enabled": False},
    ):
        harness = RefresherHarness(**settings)
        harness.refresher.on_event(TABLE)
        assert harness.refresher._timer is None


@pytest.mark.parametrize(
    ("keyspace", "part", "target"),
    [("b", "the keyspace 'b'", Target("KEYSPACE", "b")), ("", "the schema", Target())],
)
async def test_an_unknown_change_reads_its_keyspace_or_the_whole_schema(
    keyspace: str, part: str, target: Target, caplog: pytest.LogCaptureFixture
) -> None:
    """After a change of a kind that the driver does not know, more than the change is read.

    This is so after events and after DDL statements. Each kind of change is logged only once.
    """
    harness = RefresherHarness(schema_metadata_keyspaces=["b"])
    event = {"target_type": "WIDGET", "change_type": "CREATED", "keyspace": keyspace}
    harness.refresher.on_event(event)
    await until_on_loop(lambda: len(harness.reader.targets) == 1)
    await harness.refresher.after_ddl(event, None)
    assert harness.reader.targets == [target, target]
    assert [record.getMessage() for record in caplog.records] == [
        "the server reports a schema change that this driver does not know (WIDGET CREATED): "
        f"the driver reads {part} again"
    ]


async def test_after_ddl_the_connection_of_the_statement_is_used() -> None:
    """After a DDL statement, the schema is read on the connection of the statement.

    Other nodes may not have the change yet.
    """
    harness = RefresherHarness()
    ddl_connection = fake_connection("10.0.0.2")
    await harness.refresher.after_ddl(TABLE, ddl_connection)
    assert harness.reader.readings == [(Target("TABLE", "a", "t"), ddl_connection)]
    # If the DDL statement's connection is closed, the control connection is used.
    ddl_connection.closed = True
    await harness.refresher.after_ddl(TABLE, ddl_connection)
    assert harness.reader.readings[1][1] is harness.control


async def test_the_event_of_the_own_ddl_causes_no_second_reading() -> None:
    """If an event and a DDL statement's end report the same change, the change is read once."""
    harness = RefresherHarness(schema_event_refresh_window=0.01)
    harness.refresher.on_event(TABLE)
    await harness.refresher.after_ddl(TABLE, fake_connection())
    await until_on_loop(lambda: harness.refresher._timer is None)
    await run_loop_turns()
    assert harness.reader.targets == [Target("TABLE", "a", "t")]


async def test_refreshes_during_a_round_form_the_next_round() -> None:
    """Refreshes that are requested during a reading share the next reading.

    The running reading may have started before their changes.
    """
    harness = RefresherHarness()
    harness.reader.gate = asyncio.Event()

    def refresh() -> asyncio.Future[None]:
        return asyncio.ensure_future(harness.refresher.refresh(Target("KEYSPACE", "a"), NO_WAIT))

    first = refresh()
    await until_on_loop(lambda: harness.reader.readings)
    others = [refresh() for _ in range(3)]
    await run_loop_turns()
    assert len(harness.reader.readings) == 1
    harness.reader.gate.set()
    await asyncio.gather(first, *others)
    # The first refresh caused one reading. The three later refreshes, which waited for the end of
    # this reading, shared a second reading.
    assert len(harness.reader.readings) == 2


async def test_a_failed_refresh_raises_and_the_next_one_succeeds() -> None:
    """The error of a reading is raised for its caller only, and later refreshes succeed."""
    harness = RefresherHarness()
    harness.reader.error = ConnectionException("lost")
    with pytest.raises(ConnectionException, match="lost"):
        await harness.refresher.refresh(Target("KEYSPACE", "a"), NO_WAIT)
    harness.reader.error = None
    await harness.refresher.refresh(Target("KEYSPACE", "a"), NO_WAIT)


async def test_if_nodes_do_not_agree_refresh_raises() -> None:
    """If the nodes do not agree on the schema in time (1 s), `refresh` raises an error.

    It reads nothing then.
    """
    harness = RefresherHarness()
    harness.agreed = False
    with pytest.raises(DriverException, match="did not agree"):
        await harness.refresher.refresh(Target(), max_wait=1)
    assert harness.reader.readings == []
    # With a wait of 0 seconds, `refresh` does not check the agreement of the nodes.
    await harness.refresher.refresh(Target(), NO_WAIT)
    assert harness.reader.targets == [Target(forced=True)]


async def test_a_refresh_after_an_event_is_retried_a_few_times(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """If the refresh after an event fails, it is retried up to MOST_TRIES times.

    No caller waits for such a refresh, so nobody else could retry it.
    """
    monkeypatch.setattr("cassandra.engine.schema.refreshing.FIRST_DELAY", 0.0)
    harness = RefresherHarness()
    harness.metadata._replace_schema(Schema(sources={}, version=("one", "4.0")))
    harness.reader.error = ConnectionException("lost")
    harness.refresher.on_event(TABLE)
    await until_on_loop(lambda: len(harness.reader.readings) == MOST_TRIES + 1)
    await run_loop_turns(50)
    assert len(harness.reader.readings) == MOST_TRIES + 1
    # The version is unknown, so the next move of the control connection reads the schema again.
    assert harness.metadata.schema.version is None


async def test_close_fails_all_waiting_refreshes() -> None:
    """`close` ends running, waiting and later refreshes with ConnectionShutdown.

    After `close`, events are ignored.
    """
    harness = RefresherHarness()
    harness.reader.gate = asyncio.Event()
    refreshes = [
        asyncio.ensure_future(harness.refresher.refresh(Target("KEYSPACE", name), NO_WAIT))
        for name in ("a", "b")
    ]
    await until_on_loop(lambda: harness.reader.readings)
    # The reading of "a" is running, and the refresh of "b" waits for its end.
    harness.refresher.close()
    for refresh in refreshes:
        with pytest.raises(ConnectionShutdown):
            await refresh
    with pytest.raises(ConnectionShutdown):
        await harness.refresher.refresh(Target(), NO_WAIT)
    harness.refresher.on_event(TABLE)
    assert harness.refresher._timer is None


@pytest.mark.simulated
async def test_the_pause_before_each_retry_is_twice_as_long() -> None:
    """The longest pause before a retry doubles each time.

    Each pause is random, and at least half of the longest pause. So many clients do not retry at
    the same time.
    """
    harness = RefresherHarness()
    harness.reader.error = ConnectionException("lost")
    loop = asyncio.get_running_loop()
    times: list[float] = []
    read = harness.reader.read

    async def read_at(target: Target, connection: Any) -> None:
        times.append(loop.time())
        await read(target, connection)

    harness.reader.read = read_at  # type: ignore[method-assign]
    # The reading fails MOST_TRIES + 1 times. `times` has the time of each attempt.
    await harness.refresher.after_ddl(TABLE, None)
    await asyncio.sleep(FIRST_DELAY * 2**MOST_TRIES)
    assert len(times) == MOST_TRIES + 1
    for number, (before, after) in enumerate(itertools.pairwise(times)):
        longest = FIRST_DELAY * 2**number
        assert longest / 2 <= after - before <= longest + 0.01


async def test_after_an_unexpected_error_the_next_move_reads_the_schema() -> None:
    """If the reader raises an unexpected error, there is no retry.

    The version of the schema metadata is unknown then, so the next move of the control connection
    reads the schema.
    """
    harness = RefresherHarness()
    harness.metadata._replace_schema(Schema(sources={}, version=("one", "4.0")))
    harness.reader.error = ZeroDivisionError()
    await harness.refresher.after_ddl(TABLE, None)
    assert harness.metadata.schema.version is None
    assert harness.refresher._timer is None


@pytest.mark.parametrize(
    ("event", "tables_left"),
    [
        (TABLE, [("a", "u"), ("b", "t")]),
        ({**TABLE, "keyspace": "b"}, [("a", "t"), ("a", "u")]),
        ({"target_type": "KEYSPACE", "change_type": "DROPPED", "keyspace": "a"}, [("b", "t")]),
        (
            {"target_type": "TYPE", "change_type": "UPDATED", "keyspace": "a", "type": "t"},
            [("a", "t"), ("a", "u"), ("b", "t")],
        ),
    ],
)
async def test_tablets_of_changed_tables_are_forgotten(
    event: Any, tables_left: list[tuple[str, str]]
) -> None:
    """The tablets of a changed table are forgotten.

    A table that was dropped and created again has other tablets.
    """
    harness = RefresherHarness()
    tablets = harness.metadata.tablets
    tablets.take_hosts(HOSTS)
    for keyspace, table in (("a", "t"), ("a", "u"), ("b", "t")):
        assert tablets.learn(keyspace, table, payload(0, 10, (1, 0)))
    await harness.refresher.after_ddl(event, None)
    assert sorted(table[:2] for table in tablets.tables()) == tables_left
