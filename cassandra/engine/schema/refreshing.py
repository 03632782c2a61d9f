"""Decides when the schema is read: everything at connect, and later the parts that have changed.

A `Target` says what to read: the whole schema, a keyspace, the replication of a keyspace, a table,
a type, or all functions or aggregates with the same name.

The following methods start a reading:

* `on_connected`: the first control connection is open. Everything is read at once, and `connect`
  raises the errors.
* `on_moved`: the control connection has moved. If the new node reports another schema version,
  everything is read again, and then `on_caught_up` is called. It is also called if nothing is read.
* `on_event`: the server reports a change. The target waits in `_pending` for a random time within
  `schema_event_refresh_window`. Thus a burst of events causes only one reading, and the clients of
  a cluster do not all read at the same moment.
* `after_ddl`: a session has executed a DDL statement. The session waits for the reading before it
  completes the request, but a failed reading does not fail the request.
* `refresh`: the application wants a reading. The method first waits for schema agreement. Errors
  are raised. This works even if the application has disabled reading the schema.

All of these methods except `on_connected` call `_refresh`, which works in rounds. `_refresh` adds a
future for each target to `_requested`, and starts the worker task unless it is running. In each
round, the worker takes all targets out of `_requested`, reads them with a few concurrent readers,
and completes their futures. Targets that are added during a round wait for the next round, so an
older reading never overwrites a newer reading. If one target covers another (a keyspace covers its
tables), only the larger target is read. The worker ends when `_requested` is empty. For the next
target, a new worker is started.

If a reading fails with an error of a server or the network, `_refresh_quietly` logs the error and
puts the targets back into `_pending`, to read them again later. The delay doubles with each failure
in a row, and reading is retried at most MOST_TRIES times. The snapshot also loses its version, so
that the next move of the control connection reads everything. Other exceptions are programming
errors; they are logged, and the reading is not repeated. A failed `refresh` is not repeated,
either.

`close` stops the timer and the worker. Callers that still wait get ConnectionShutdown.

The meanings of None:

* The connection of a target is None to read it through the control connection.
* `max_wait` is None for the cluster's setting.
* The version of a schema is None if it is unknown; it then differs from every reported version.
* `schema_metadata_keyspaces` is None if the schema of all keyspaces is read.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from cassandra._error_copies import copy_of
from cassandra._logs import Log
from cassandra.engine.randomness import generator_or_default
from cassandra.engine.schema.targets import PendingTargets, Target, grouped, is_known
from cassandra.errors import ConnectionShutdown, DriverException
from cassandra.util.intervals import OncePerKey

if TYPE_CHECKING:
    from cassandra.engine.background import Spawn
    from cassandra.engine.connection import Connection
    from cassandra.engine.schema.reading import Version
    from cassandra.engine.settings import Settings
    from cassandra.metadata.cluster_metadata import Metadata
    from cassandra.metadata.host import Host

log = Log("cassandra.cluster")

# A failed reading is repeated after FIRST_DELAY, then after twice that delay, and so on, at most
# MOST_TRIES times in a row.
FIRST_DELAY = 1.0  # seconds
MOST_TRIES = 8
COMPLAINT_INTERVAL = 60.0  # seconds between warnings about changes that the driver does not know
READERS = 8  # the number of targets that are read concurrently

# Waits for schema agreement. Called with the connection for the queries and the longest wait in
# seconds; returns False if the nodes do not agree in that time.
Agree = Callable[["Connection", float], Awaitable[bool]]


class Reader(Protocol):
    """Reads the schema; see `cassandra.engine.schema.reading.SchemaReader`."""

    async def read(self, target: Target, connection: Connection) -> None:
        """Read `target` again, through `connection`."""

    async def read_all(
        self, connection: Connection, version: Version | None, include_schema: bool
    ) -> None:
        """Read the replication of all keyspaces, and optionally their schema."""


class SchemaRefresher:
    """Decides when the schema of a cluster is read.

    :param reader: reads the schema.
    :param agree: waits until the nodes agree on the schema.
    :param control: returns the control connection, or raises an error if there is none.
    :param spawn: runs a coroutine in the background.
    :param random: chooses the delays before readings; None uses the process-wide generator.
    """

    def __init__(
        self,
        settings: Settings,
        metadata: Metadata,
        reader: Reader,
        agree: Agree,
        control: Callable[[], Connection],
        spawn: Spawn,
        random: random.Random | None = None,
    ) -> None:
        self._settings = settings
        self._random = generator_or_default(random)
        self._metadata = metadata
        self._reader = reader
        self._agree = agree
        self._get_connection = control
        self._spawn = spawn
        self.enabled = True  # False disables reading; see `set_meta_refresh_enabled`
        # Called with the event of each DDL statement that a session has executed, after the schema
        # was read. The session waits for this callback before it completes the request.
        self.on_ddl: Callable[[Mapping[str, Any]], Awaitable[object]] | None = None
        # Called after the whole schema was read, because events may have been missed, and after a
        # reading that had failed before.
        self.on_caught_up: Callable[[], Awaitable[object]] | None = None
        # The targets that wait for `_timer`. The timer is None if no target waits.
        self._pending = PendingTargets()
        self._complaints = OncePerKey(COMPLAINT_INTERVAL, size=64, most_bytes=4096)
        self._timer: asyncio.TimerHandle | None = None
        # The loop's time at which `_timer` ends. uvloop's handles do not always know it.
        self._due = 0.0
        self._failures = 0  # the number of failed readings in a row
        # The version that the host of the control connection had when it was connected.
        self._seen_version: Version | None = None
        self._is_late = False  # True while targets wait whose reading has failed
        # For each target of the next round: the connection to read through (None for the control
        # connection), and the futures of the callers that wait for the reading.
        self._requested: dict[Target, tuple[Connection | None, list[asyncio.Future[None]]]] = {}
        # The task that reads the requested targets, round by round; None before the first such
        # task. The task may have ended.
        self._worker: asyncio.Task[None] | None = None
        self._closed = False

    @property
    def _reads_schema(self) -> bool:
        # Read the setting each time, because applications may change it while connected.
        return bool(self._settings.schema_metadata_enabled)

    @property
    def _reads_anything(self) -> bool:
        return self.enabled and (self._reads_schema or self._settings.token_metadata_enabled)

    # -- triggers ----------------------------------------------------------------------------------

    async def on_connected(self, connection: Connection, local: Host) -> None:
        """Read the schema when the first control connection is open. `connect` awaits this."""
        self._seen_version = _version_of(local)
        if self._reads_anything:
            await self._reader.read_all(connection, _version_of(local), self._reads_schema)

    def on_moved(self, local: Host) -> None:
        """Read everything if the control connection's new host reports another schema version.

        The reported version is compared with the version of the snapshot in `Metadata`.
        """
        version = _version_of(local)
        seen_version, self._seen_version = self._seen_version, version
        if self._reads_anything:
            if self._metadata.schema.version != version:
                self._spawn(self._catch_up())
        elif seen_version != version:
            self._spawn(self._report_missed_events())

    async def _report_missed_events(self) -> None:
        if self.on_caught_up is not None:
            await self.on_caught_up()

    async def _catch_up(self) -> None:
        await self._refresh_quietly([Target()])
        await self._report_missed_events()

    def on_event(self, event: Mapping[str, Any]) -> None:
        """Read the changed part of the schema later, because the server has reported a change."""
        window = self._settings.schema_event_refresh_window
        target = self._target_of(event)
        self._forget_tablets(target)
        # A negative window disables reading after events.
        if window < 0 or self._closed or not self._must_read(target):
            return
        self._pending.add(target)
        # Wait for a random time, because all clients of the cluster get the event at the same
        # moment, and should not all read the schema at once.
        self._read_pending_in(self._random.uniform(0.0, window))

    def _read_pending_in(self, delay: float) -> None:
        """Read the pending targets after `delay` seconds, or earlier if a timer ends earlier."""
        loop = asyncio.get_running_loop()
        due = loop.time() + delay
        if self._timer is not None:
            if self._due <= due:
                return
            self._timer.cancel()
        self._timer, self._due = loop.call_at(due, self._start_pending), due

    def _start_pending(self) -> None:
        """Read the pending targets in the background. The timer calls this."""
        self._timer = None
        targets = self._pending.take()
        is_late, self._is_late = self._is_late, False
        if targets and not self._closed:
            self._spawn(self._refresh_quietly(targets, is_late=is_late))

    async def after_ddl(self, event: Mapping[str, Any], connection: Connection | None) -> None:
        """Read the changed part of the schema now, after a session has executed a DDL statement.

        :param connection: the connection to read through; None for the control connection.
        """
        target = self._target_of(event)
        self._forget_tablets(target)
        if self._must_read(target):
            # If the server's event about this change has come already, its target is pending.
            # Remove it, so that the change is not read twice.
            self._pending.discard(target)
            await self._refresh_quietly([target], connection)
        if self.on_ddl is not None:
            await self.on_ddl(event)

    def _target_of(self, event: Mapping[str, Any]) -> Target:
        """Return the target of a schema change; log a warning if the change is of unknown kind."""
        target = Target.of_event(event)
        if not is_known(event):
            change = f"{event['target_type']} {event['change_type']}"
            if self._complaints.missed(change) is not None:
                part = f"keyspace {target.keyspace!r}" if target.keyspace else "schema"
                log.warning(
                    "the server reports a schema change that this driver does not know (%s): "
                    "the driver reads the %s again",
                    change,
                    part,
                )
        return target

    def _forget_tablets(self, target: Target) -> None:
        """Forget the tablets of a changed table or keyspace (ScyllaDB).

        A table may have been dropped and created again with the same name, and then has other
        tablets.
        """
        tablets = self._metadata.tablets
        if target.kind == "TABLE":
            tablets.drop(target.keyspace, target.name)
        elif target.kind in ("KEYSPACE", "REPLICATION"):
            tablets.drop(target.keyspace)

    def _must_read(self, target: Target) -> bool:
        """Return True if a change of `target` must be read.

        Changes of keyspaces are read even if the schema is not wanted, because routing needs the
        replication of keyspaces. They are not read if the application has disabled all metadata.
        """
        if not self._reads_anything:
            return False
        if target.kind in ("KEYSPACE", "REPLICATION"):
            return True
        keyspaces = self._settings.schema_metadata_keyspaces
        # The target ALL has no keyspace: it stands for a change in any keyspace.
        return self._reads_schema and (
            target.kind == "ALL" or keyspaces is None or target.keyspace in keyspaces
        )

    async def _refresh_quietly(
        self,
        targets: Iterable[Target],
        connection: Connection | None = None,
        is_late: bool = False,
    ) -> None:
        """Read `targets`. Log errors instead of raising them, and try again later.

        :param is_late: True if an earlier reading has failed. What was compared with the schema in
            the meantime is then compared again.
        """
        targets = list(targets)
        try:
            await self._refresh(targets, connection)
            self._failures = 0
        except (DriverException, OSError, asyncio.TimeoutError) as error:
            if not self._closed:
                log.warning("the schema could not be read again: %s", error)
            self._mark_outdated()
            self._try_again(targets)
        except Exception:
            # A programming error would occur again, so do not repeat the reading.
            log.exception("the schema could not be read again")
            self._mark_outdated()
        else:
            if is_late and self.on_caught_up is not None:
                await self.on_caught_up()

    def _try_again(self, targets: Iterable[Target]) -> None:
        """Schedule another reading of `targets`, whose reading has failed.

        The server does not repeat its events, so otherwise the targets might never be read.
        """
        self._failures += 1
        self._is_late = True
        if self._closed or self._failures > MOST_TRIES:
            return
        # Add to the pending targets, because other targets may have been added during the reading.
        for target in targets:
            self._pending.add(target)
        max_delay = FIRST_DELAY * 2 ** (self._failures - 1)
        self._read_pending_in(self._random.uniform(max_delay / 2, max_delay))

    def _mark_outdated(self) -> None:
        """Remove the version from the snapshot, because the snapshot may be outdated.

        The next move of the control connection then reads everything again.
        """
        self._metadata._replace_schema(self._metadata.schema.at(None))

    async def refresh(self, target: Target, max_wait: float | None = None) -> None:
        """Wait for schema agreement, then read `target`, even if reading is disabled.

        :param max_wait: seconds to wait for agreement; None for the cluster's setting; 0 or less
            not to wait.
        :raises DriverException: if the nodes do not agree in time, or the reading fails.
        """
        agreement_wait = self._settings.max_schema_agreement_wait if max_wait is None else max_wait
        connection = self._get_connection()
        if agreement_wait > 0 and not await self._agree(connection, agreement_wait):
            raise DriverException(
                f"the nodes did not agree on the schema within {agreement_wait} seconds: "
                "it was not read again"
            )
        await self._refresh([target._replace(forced=True)])

    # -- rounds ------------------------------------------------------------------------------------

    async def _refresh(
        self, targets: Iterable[Target], connection: Connection | None = None
    ) -> None:
        """Let the worker read `targets` in its next round, and wait for the end of the reading."""
        if self._closed:
            raise ConnectionShutdown("the cluster is shut down")
        loop = asyncio.get_running_loop()
        futures = []
        for target in targets:
            future: asyncio.Future[None] = loop.create_future()
            existing_connection, futures_of_target = self._requested.get(target, (None, []))
            futures_of_target.append(future)
            self._requested[target] = (connection or existing_connection, futures_of_target)
            futures.append(future)
        if self._worker is None or self._worker.done():
            self._worker = self._spawn(self._run_rounds())
        # Wait for all futures and then raise the first error. If we stopped waiting at that error,
        # asyncio would log the errors of the other futures as never retrieved.
        results = await asyncio.gather(*futures, return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException):
                raise result

    async def _run_rounds(self) -> None:
        """Read the requested targets, round by round, until no targets are left."""
        while self._requested:
            # Targets that are added from now on belong to the next round, because the change that
            # they report may be newer than what this round reads.
            requested, self._requested = self._requested, {}
            try:
                await self._read_round(requested)
            finally:
                # If the worker was cancelled, complete the remaining futures, so that callers do
                # not wait for ever.
                error = ConnectionShutdown("the cluster is shut down")
                for _, waiting_futures in requested.values():
                    _complete(waiting_futures, error)

    async def _read_round(
        self, requested: Mapping[Target, tuple[Connection | None, list[asyncio.Future[None]]]]
    ) -> None:
        """Read the requested targets, and complete the futures of the callers that wait for them.

        :param requested: for each target, the connection to read through (None for the control
            connection), and the futures.
        """
        # The readers share one iterator. Each reader takes the next group when it has read its
        # previous group. A group is a target to read, with the requested targets that it covers.
        groups = iter(grouped(requested).items())

        async def read_groups() -> None:
            """Read groups, one after the other, until no group is left."""
            for target, covered_targets in groups:
                # Collect the futures of all callers whose targets are covered, and the connections
                # that these callers have passed and that are still open.
                waiting_futures = [
                    future
                    for covered_target in covered_targets
                    for future in requested[covered_target][1]
                ]
                connections = [
                    connection
                    for covered_target in covered_targets
                    if (connection := requested[covered_target][0]) is not None
                    and not connection.closed
                ]
                counts = self._metadata.engine_counts
                counts.schema_reads += 1
                try:
                    # Prefer the connection that was passed last. It leads to the coordinator of a
                    # schema change, which certainly knows the change.
                    await self._reader.read(
                        target, connections[-1] if connections else self._get_connection()
                    )
                except Exception as error:  # pass the error to the callers that wait
                    counts.failed_schema_reads += 1
                    _complete(waiting_futures, error)
                else:
                    _complete(waiting_futures, None)

        # Limit the number of readers, because each reader sends several queries at the same time,
        # and a connection has only a limited number of streams.
        await asyncio.gather(*(read_groups() for _ in range(READERS)))

    # -- end ---------------------------------------------------------------------------------------

    def close(self) -> None:
        """Drop the pending targets. Callers that still wait get ConnectionShutdown."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        if self._worker is not None:
            self._worker.cancel()
        error = ConnectionShutdown("the cluster is shut down")
        for _, waiting_futures in self._requested.values():
            _complete(waiting_futures, error)
        self._requested.clear()


def _complete(futures: Iterable[asyncio.Future[None]], error: Exception | None) -> None:
    """Complete the futures of waiting callers.

    :param error: the error that the futures raise; None completes them with the result None.
    """
    for future in futures:
        # Skip a future if its caller was cancelled, or if the round has completed it already.
        if future.done():
            continue
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(copy_of(error))


def _version_of(local: Host) -> Version:
    return local.schema_version, local.release_version
