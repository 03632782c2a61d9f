"""Reconnection to a host that is down, by the back-off schedule, until it is up again or gone."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from cassandra.errors import AuthenticationFailed, DriverException

if TYPE_CHECKING:
    from cassandra.engine.core import Core

log = logging.getLogger("cassandra.pool")


class Reconnector:
    """Tries one host until it answers. `hurry` makes the next try come at once (the cluster says
    that it is up).
    """

    __slots__ = ("_core", "_hurry", "_task", "host")

    def __init__(self, core: Core, host: Any) -> None:
        self._core = core
        self.host = host
        self._hurry = asyncio.Event()
        self._task = core.spawn(self._run())

    def hurry(self) -> None:
        """Do not wait for the delay's end."""
        self._hurry.set()

    def stop(self) -> None:
        """Give up."""
        self._task.cancel()

    async def _run(self) -> None:
        try:
            for delay in self._core.settings.reconnection_policy.new_schedule():
                try:
                    await asyncio.wait_for(self._hurry.wait(), delay)
                except asyncio.TimeoutError:
                    pass
                self._hurry.clear()
                if await self._try():
                    return
            log.warning(
                "host %s is given up: the reconnection policy's schedule is at its end", self.host
            )
            self._core.give_up(self.host)
        except asyncio.CancelledError:
            raise
        except Exception:
            log.exception("reconnecting to %s failed", self.host)
        finally:
            self._core.forget_reconnector(self)

    async def _try(self) -> bool:
        """Whether this was the last try."""
        try:
            connection = await self._core.open_connection(self.host.endpoint)
        except AuthenticationFailed as error:
            log.error(
                "host %s does not accept the credentials, it is not tried again: %s",
                self.host,
                error,
            )
            self._core.give_up(self.host)
            return True
        except (DriverException, OSError, asyncio.TimeoutError) as error:
            log.debug("host %s is still down: %s", self.host, error)
            self._core.on_reconnection_failure(self.host, error)
            return False
        connection.close()
        return await self._core.bring_up(self.host)
