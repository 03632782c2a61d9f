"""Keeps the routes through the proxies of a private network up to date."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from cassandra._logs import Log
from cassandra.errors import ConnectionException, DriverException, InvalidRequest

if TYPE_CHECKING:
    from cassandra.engine.background import Spawn
    from cassandra.engine.connection import Connection
    from cassandra.engine.control.client_routes import ClientRoutes
    from cassandra.engine.control.internal_queries import Rows
    from cassandra.engine.settings import Settings

log = Log("cassandra.cluster")

# If the routes could not be read, they are read again after FIRST_DELAY, then after twice that
# delay, and so on up to LONGEST_DELAY. This is needed because the server does not repeat its
# events.
FIRST_DELAY = 1.0  # seconds
LONGEST_DELAY = 60.0  # seconds


class RouteWatch:
    """Reads the routes when the control connection is opened, and again when they have changed.

    :param routes: the route table to update.
    :param rows: returns the rows of a query on a connection, as dicts.
    :param control: returns the control connection, or None if there is none.
    :param on_change: called after routes have changed.
    :param spawn: runs a coroutine in the background.
    """

    event_type = "CLIENT_ROUTES_CHANGE"

    def __init__(
        self,
        routes: ClientRoutes,
        settings: Settings,
        rows: Rows,
        control: Callable[[], Connection | None],
        on_change: Callable[[], None],
        spawn: Spawn,
    ) -> None:
        self._routes = routes
        self._settings = settings
        self._read_rows = rows
        self._get_connection = control
        self._on_change = on_change
        self._spawn = spawn
        # True if the server has reported a change since the last reading began, or if the last
        # reading has failed.
        self._is_outdated = False
        # The task that reads the routes after events; None before the first such task. The task may
        # have ended.
        self._reading: asyncio.Task[None] | None = None

    async def read(self, connection: Connection) -> bool:
        """Read the routes; return True if any route has changed.

        :raises ConnectionException: if the server does not support routes, or has no usable route.
        """
        try:
            rows = await self._read_rows(connection, self._routes.query)
        except InvalidRequest as error:
            raise ConnectionException(
                f"the cluster is to follow routes of clients, but {connection.endpoint} has none; "
                f"they come with ScyllaDB 2026.1: {error}",
                connection.endpoint,
            ) from error
        return self._routes.take(rows, self._settings.tls is not None)

    async def read_again(self, connection: Connection) -> bool:
        """Read the routes again, and call `on_change` if any route has changed.

        If reading fails, the error is logged, and the previous routes remain in use until another
        attempt succeeds.

        :returns: False if the routes could not be read, so that they may be outdated.
        """
        # Set `_is_outdated` to False before reading, because an event that comes during the reading
        # may report a later change.
        self._is_outdated = False
        try:
            has_changed = await self.read(connection)
        except (DriverException, OSError, asyncio.TimeoutError) as error:
            # Keep the old routes, because they may still work. Without routes, no node could be
            # reached.
            log.warning("the routes of clients could not be read again: %s", error)
            self._is_outdated = True
            self.catch_up()
            return False
        if has_changed:
            log.info("the routes of clients have changed")
            self._on_change()
        return True

    def on_event(self, args: Mapping[str, Any]) -> None:
        """Read the routes again if a reported change concerns our connections."""
        if self._routes.concerns(args["connection_ids"]):
            self._is_outdated = True
            self.catch_up()

    def catch_up(self) -> None:
        """Read the routes if they are outdated and there is a control connection."""
        is_reading = self._reading is not None and not self._reading.done()
        if self._is_outdated and not is_reading and self._get_connection() is not None:
            self._reading = self._spawn(self._read_until_current())

    async def _read_until_current(self) -> None:
        delay = FIRST_DELAY
        # If there is no control connection, stop here: the next control connection calls
        # `catch_up`.
        while self._is_outdated and (connection := self._get_connection()) is not None:
            if not await self.read_again(connection):
                await asyncio.sleep(delay)
                delay = min(2 * delay, LONGEST_DELAY)
