"""Refreshes of the schema, with a fake reader.

The tests cover rounds of refreshes, bursts of events, and retries.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from cassandra.engine.schema.refreshing import MOST_TRIES, SchemaRefresher
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
from tests.waiting import until_on_loop

TABLE = {"target_type": "TABLE", "change_type": "UPDATED", "keyspace": "a", "table": "t"}


class Reader:
    """A fake reader. It records the targets and connections of its calls, and raises `error` if
    that is set. If it has a `gate`, `read` waits until that is set.
    """

    def __init__(self) -> None:
        self.readings: list[tuple[Target, Any]] = []
        self.full_readings: list[bool] = []
        self.error: Exception | None = None
        self.gate: asyncio.Event | None = None

    async def read(self, target: Target, connection: Any) -> None:
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


class RefresherParts:
    """A `SchemaRefresher` with fakes of everything that it uses."""

    def __init__(self, **settings: Any) -> None:
        self.reader = Reader()
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
    for enabled, expected in ((True, [True]), (False, [False])):
        parts = RefresherParts(schema_metadata_enabled=enabled)
        await parts.refresher.on_connected(parts.control, new_host("10.0.0.1"))
        assert parts.reader.full_readings == expected
    parts = RefresherParts(schema_metadata_enabled=False, token_metadata_enabled=False)
    await parts.refresher.on_connected(parts.control, new_host("10.0.0.1"))
    assert parts.reader.full_readings == []


async def test_a_move_reads_the_schema_only_if_its_version_differs() -> None:
    parts = RefresherParts()
    local = new_host("10.0.0.1")
    parts.metadata._replace_schema(
        Schema(sources={}, version=(local.schema_version, local.release_version))
    )
    parts.refresher.on_moved(local)
    await run_loop_turns()
    assert parts.reader.targets == []
    # Pretend that it is unknown which schema version was read.
    parts.metadata._replace_schema(parts.metadata.schema.at(None))
    parts.refresher.on_moved(local)
    await run_loop_turns()
    assert parts.reader.targets == [Target()]


async def test_a_burst_of_events_causes_one_reading() -> None:
    parts = RefresherParts()
    for _ in range(10):
        parts.refresher.on_event(TABLE)
    await until_on_loop(lambda: parts.reader.readings)
    await run_loop_turns()
    assert parts.reader.targets == [Target("TABLE", "a", "t")]


async def test_events_are_ignored_if_their_target_is_not_read() -> None:
    for changed in (
        {"schema_event_refresh_window": -1.0},
        {"schema_metadata_keyspaces": ["b"]},
        {"schema_metadata_enabled": False},
    ):
        parts = RefresherParts(**changed)
        parts.refresher.on_event(TABLE)
        assert parts.refresher._timer is None


async def test_after_ddl_the_connection_of_the_statement_is_used() -> None:
    parts = RefresherParts()
    ddl_connection = fake_connection("10.0.0.2")
    await parts.refresher.after_ddl(TABLE, ddl_connection)
    assert parts.reader.readings == [(Target("TABLE", "a", "t"), ddl_connection)]
    # If the connection of the DDL is closed, the control connection is used.
    ddl_connection.closed = True
    await parts.refresher.after_ddl(TABLE, ddl_connection)
    assert parts.reader.readings[1][1] is parts.control


async def test_the_event_of_the_own_ddl_causes_no_second_reading() -> None:
    parts = RefresherParts(schema_event_refresh_window=0.01)
    parts.refresher.on_event(TABLE)
    await parts.refresher.after_ddl(TABLE, fake_connection())
    await until_on_loop(lambda: parts.refresher._timer is None)
    await run_loop_turns()
    assert parts.reader.targets == [Target("TABLE", "a", "t")]


async def test_refreshes_during_a_round_form_the_next_round() -> None:
    parts = RefresherParts()
    parts.reader.gate = asyncio.Event()
    first = asyncio.ensure_future(parts.refresher.refresh(Target("KEYSPACE", "a"), 0))
    await until_on_loop(lambda: parts.reader.readings)
    others = [
        asyncio.ensure_future(parts.refresher.refresh(Target("KEYSPACE", "a"), 0)) for _ in range(3)
    ]
    await run_loop_turns()
    assert len(parts.reader.readings) == 1
    parts.reader.gate.set()
    await asyncio.gather(first, *others)
    # The first refresh caused one reading, and the three others, which waited meanwhile, shared
    # another one.
    assert len(parts.reader.readings) == 2


async def test_a_failed_refresh_raises_and_the_next_one_succeeds() -> None:
    parts = RefresherParts()
    parts.reader.error = ConnectionException("lost")
    with pytest.raises(ConnectionException, match="lost"):
        await parts.refresher.refresh(Target("KEYSPACE", "a"), 0)
    parts.reader.error = None
    await parts.refresher.refresh(Target("KEYSPACE", "a"), 0)


async def test_if_nodes_do_not_agree_refresh_raises() -> None:
    parts = RefresherParts()
    parts.agreed = False
    with pytest.raises(DriverException, match="did not agree"):
        await parts.refresher.refresh(Target(), 1)
    assert parts.reader.readings == []
    await parts.refresher.refresh(Target(), 0)  # with 0 seconds, it does not wait
    assert parts.reader.targets == [Target(forced=True)]


async def test_a_refresh_after_an_event_is_retried_a_few_times(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("cassandra.engine.schema.refreshing.FIRST_DELAY", 0.0)
    parts = RefresherParts()
    parts.metadata._replace_schema(Schema(sources={}, version=("one", "4.0")))
    parts.reader.error = ConnectionException("lost")
    parts.refresher.on_event(TABLE)
    # Expected are the first attempt and MOST_TRIES retries.
    await until_on_loop(lambda: len(parts.reader.readings) == MOST_TRIES + 1)
    await run_loop_turns(50)  # no further attempt may follow
    assert len(parts.reader.readings) == MOST_TRIES + 1
    # the version stays unknown, so the next move of the control connection reads the schema again
    assert parts.metadata.schema.version is None


async def test_close_fails_all_waiting_refreshes() -> None:
    parts = RefresherParts()
    parts.reader.gate = asyncio.Event()
    waiting = [
        asyncio.ensure_future(parts.refresher.refresh(Target("KEYSPACE", name), 0))
        for name in ("a", "b")
    ]
    await until_on_loop(lambda: parts.reader.readings)
    parts.refresher.close()
    for waiter in waiting:
        with pytest.raises(ConnectionShutdown):
            await waiter
    with pytest.raises(ConnectionShutdown):
        await parts.refresher.refresh(Target(), 0)
    parts.refresher.on_event(TABLE)
    assert parts.refresher._timer is None
