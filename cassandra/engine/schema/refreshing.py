"""The moments at which the schema is read: at connect all of it, later a `Target` at a time.

A target is what a DDL statement of a session has changed, before its result is handed on, or what
an event of the server names, after a while, so that a burst of events is one reading. Readings go
one after another in rounds, and those that come while a round runs are joined into the next: what
is read later is never overwritten by what was read earlier.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from cassandra.engine.randomness import own_or_process
from cassandra.engine.schema.targets import PendingTargets, Target, grouped
from cassandra.errors import ConnectionShutdown, DriverException

if TYPE_CHECKING:
    from cassandra.engine.background import Spawn
    from cassandra.engine.connection import Connection
    from cassandra.engine.schema.reading import Version
    from cassandra.engine.settings import Settings
    from cassandra.metadata.cluster_metadata import Metadata
    from cassandra.metadata.host import Host

__all__ = ["SchemaRefresher"]

log = logging.getLogger("cassandra.cluster")

# What could not be read is tried again, after so many seconds, then twice as many, and so on; so
# many times in a row.
FIRST_DELAY = 1.0
MOST_TRIES = 8
READERS = 8  # targets that are read at a time, on the one connection

# Waits until the nodes agree on the schema: the connection to ask on, and seconds.
Agree = Callable[["Connection", float], Awaitable[bool]]


class Reader(Protocol):
    """A reader of the schema: `cassandra.engine.schema.reading.SchemaReader`."""

    async def read(self, target: Target, connection: Connection) -> None:
        """Read `target` again, through `connection`."""

    async def read_all(self, connection: Connection, version: Version | None, whole: bool) -> None:
        """Read the replication of all keyspaces; with `whole`, all else of them too."""


class SchemaRefresher:
    """Decides when the schema of a cluster is read.

    :param reader: reads it.
    :param agree: waits until the nodes agree on the schema.
    :param control: returns the control connection, or raises if there is none.
    :param spawn: runs a coroutine in the background.
    :param random: draws the moments of readings; None for numbers of the process.
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
        self._random = own_or_process(random)
        self._metadata = metadata
        self._reader = reader
        self._agree = agree
        self._control = control
        self._spawn = spawn
        self.enabled = True  # `set_meta_refresh_enabled`
        self.reads = 0  # how often a part of the schema was read again, or was to be
        self.failed_reads = 0
        self._pending = PendingTargets()
        self._timer: asyncio.TimerHandle | None = None
        self._failures = 0  # in a row
        self._wanted: dict[Target, tuple[Connection | None, list[asyncio.Future[None]]]] = {}
        self._worker: asyncio.Task[None] | None = None
        self._closed = False

    @property
    def _reads_schema(self) -> bool:
        # Asked for each time: programs may switch it while they are connected.
        return bool(self._settings.schema_metadata_enabled)

    @property
    def _reads_anything(self) -> bool:
        return self.enabled and (self._reads_schema or self._settings.token_metadata_enabled)

    # -- when --------------------------------------------------------------------------------------

    async def on_connected(self, connection: Connection, local: Host) -> None:
        """The first control connection is open: read the wanted part, before `connect` returns."""
        if self._reads_anything:
            await self._reader.read_all(connection, _version_of(local), self._reads_schema)

    def on_moved(self, local: Host) -> None:
        """Read everything again if it may have changed while the control connection moved."""
        if self._reads_anything and self._metadata.schema.version != _version_of(local):
            self._spawn(self._refresh_quietly([Target()]))

    def on_event(self, event: Mapping[str, Any]) -> None:
        """The server says that something has changed."""
        window = self._settings.schema_event_refresh_window
        target = Target.of_event(event)
        self._forget_tablets(target)
        if window < 0 or self._closed or not self._concerns(target):
            return
        self._pending.add(target)
        # At a random time: all clients of the cluster hear of the change in the same moment.
        self._read_pending_in(self._random.uniform(0.0, window))

    def _read_pending_in(self, delay: float) -> None:
        """Read pending targets after `delay` seconds, or sooner if an earlier time was set."""
        loop = asyncio.get_running_loop()
        due = loop.time() + delay
        if self._timer is not None:
            if self._timer.when() <= due:
                return
            self._timer.cancel()
        self._timer = loop.call_at(due, self._start_pending)

    def _start_pending(self) -> None:
        self._timer = None
        targets = self._pending.take()
        if targets and not self._closed:
            self._spawn(self._refresh_quietly(targets))

    async def after_ddl(self, event: Mapping[str, Any], connection: Connection) -> None:
        """A session has changed the schema, through `connection`: read the changed part."""
        target = Target.of_event(event)
        self._forget_tablets(target)
        if not self._concerns(target):
            return
        self._pending.discard(target)  # the event of the same change came first
        await self._refresh_quietly([target], connection)

    def _forget_tablets(self, target: Target) -> None:
        """Forget the tablets of a changed table: it may be a new one of the same name."""
        tablets = self._metadata.tablets
        if target.kind == "TABLE":
            tablets.drop(target.keyspace, target.name)
        elif target.kind in ("KEYSPACE", "REPLICATION"):
            tablets.drop(target.keyspace)

    def _concerns(self, target: Target) -> bool:
        """Return True if the change concerns metadata that is read.

        Changes of replication always do if any metadata is read.
        """
        if not self._reads_anything:
            return False
        if target.kind in ("KEYSPACE", "REPLICATION"):
            return True
        wanted = self._settings.schema_metadata_keyspaces
        return self._reads_schema and (wanted is None or target.keyspace in wanted)

    async def _refresh_quietly(
        self, targets: Iterable[Target], connection: Connection | None = None
    ) -> None:
        targets = list(targets)
        try:
            await self._refresh(targets, connection)
            self._failures = 0
        except (DriverException, OSError, asyncio.TimeoutError) as error:
            if not self._closed:
                log.warning("the schema could not be read again: %s", error)
            self._doubt()
            self._try_again(targets)
        except Exception:
            log.exception("the schema could not be read again")
            self._doubt()

    def _try_again(self, targets: Iterable[Target]) -> None:
        """Read targets that failed once more, after a while: no other event may ever name them."""
        self._failures += 1
        if self._closed or self._failures > MOST_TRIES:
            return
        # What came meanwhile stays: a set of targets joins both.
        for target in targets:
            self._pending.add(target)
        longest = FIRST_DELAY * 2 ** (self._failures - 1)
        self._read_pending_in(self._random.uniform(longest / 2, longest))

    def _doubt(self) -> None:
        """The snapshot may lack a change: after the next move of the control connection all is read
        again.
        """
        self._metadata._replace_schema(self._metadata.schema.at(None))

    async def refresh(self, target: Target, max_wait: float | None = None) -> None:
        """Wait until the nodes agree on the schema, then read `target` again.

        It is read even if reading is switched off.

        :param max_wait: seconds; None for the setting of the cluster, 0 or less for no wait.
        :raises DriverException: if they do not agree in time; also the errors of the reading.
        """
        wait = self._settings.max_schema_agreement_wait if max_wait is None else max_wait
        connection = self._control()
        if wait > 0 and not await self._agree(connection, wait):
            raise DriverException(
                f"the nodes did not agree on the schema within {wait} seconds: "
                "it was not read again"
            )
        await self._refresh([target._replace(forced=True)])

    # -- rounds ------------------------------------------------------------------------------------

    async def _refresh(
        self, targets: Iterable[Target], connection: Connection | None = None
    ) -> None:
        """Have `targets` read in the next round, through `connection` or the control connection."""
        if self._closed:
            raise ConnectionShutdown("the cluster is shut down")
        loop = asyncio.get_running_loop()
        futures = []
        for target in targets:
            future: asyncio.Future[None] = loop.create_future()
            through, waiting = self._wanted.get(target, (None, []))
            waiting.append(future)
            self._wanted[target] = (connection or through, waiting)
            futures.append(future)
        if self._worker is None or self._worker.done():
            self._worker = self._spawn(self._work())
        # All of them are waited for, so that no error is left that nobody has read.
        results = await asyncio.gather(*futures, return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException):
                raise result

    async def _work(self) -> None:
        while self._wanted:
            # A new dict for the next round: what is asked for from now on may have changed after
            # this round has read it.
            wanted, self._wanted = self._wanted, {}
            try:
                await self._round(wanted)
            finally:
                # Also if the worker is cancelled: its callers must not wait forever.
                ended = ConnectionShutdown("the cluster is shut down")
                for _, waiting in wanted.values():
                    _complete(waiting, ended)

    async def _round(
        self, wanted: Mapping[Target, tuple[Connection | None, list[asyncio.Future[None]]]]
    ) -> None:
        # One iterator for all readers: each takes the next group as soon as it is free.
        groups = iter(grouped(wanted).items())

        async def read_groups() -> None:
            for target, covered in groups:
                waiting = [future for one in covered for future in wanted[one][1]]
                through = [
                    connection
                    for one in covered
                    if (connection := wanted[one][0]) is not None and not connection.closed
                ]
                self.reads += 1
                try:
                    await self._reader.read(target, through[-1] if through else self._control())
                except Exception as error:  # of whatever kind: it is for the callers that wait
                    self.failed_reads += 1
                    _complete(waiting, error)
                else:
                    _complete(waiting, None)

        # A few at a time: each reads several tables, and a connection has a bounded number of
        # streams.
        await asyncio.gather(*(read_groups() for _ in range(READERS)))

    # -- end ---------------------------------------------------------------------------------------

    def close(self) -> None:
        """Forget the targets that were still to be read."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        if self._worker is not None:
            self._worker.cancel()
        ended = ConnectionShutdown("the cluster is shut down")
        for _, waiting in self._wanted.values():
            _complete(waiting, ended)
        self._wanted.clear()


def _complete(waiting: Iterable[asyncio.Future[None]], error: Exception | None) -> None:
    for future in waiting:
        # Its caller was cancelled, or has been told within the round.
        if future.done():
            continue
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(error)


def _version_of(local: Host) -> Version:
    return local.schema_version, local.release_version
