"""Tries to reach a host that is down, by the schedule of the reconnection policy."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Protocol

from cassandra.errors import AuthenticationFailed, DriverException

if TYPE_CHECKING:
    from cassandra.metadata.host import Host
    from cassandra.policies.reconnection import ReconnectionPolicy

__all__ = ["Reconnector"]

log = logging.getLogger("cassandra.pool")


class Watch(Protocol):
    """The part that has hosts tried: `cassandra.engine.hosts.watch.HostWatch`."""

    def spawn_tries(self, reconnector: Reconnector) -> asyncio.Task[None]:
        """Run the tries in the background."""

    async def try_once(self, host: Host) -> bool:
        """Try to bring a host up; return True if no further try is wanted."""

    def on_try_failed(self, host: Host, error: Exception) -> None:
        """A try has failed."""

    def on_tries_ended(self, host: Host) -> None:
        """The schedule is at its end."""

    def forget_tries(self, reconnector: Reconnector) -> None:
        """The tries are over."""


class Reconnector:
    """Tries one host until it answers, has left, or the schedule is at its end."""

    __slots__ = ("_hurry", "_policy", "_task", "_watch", "host")

    def __init__(self, watch: Watch, host: Host, policy: ReconnectionPolicy) -> None:
        self._watch = watch
        self._policy = policy
        self.host = host
        self._hurry = asyncio.Event()
        self._task = watch.spawn_tries(self)

    def hurry(self) -> None:
        """Make the next try now: the cluster says that the host is up."""
        self._hurry.set()

    def stop(self) -> None:
        """Make no further try."""
        self._task.cancel()

    async def run(self) -> None:
        """Make the tries."""
        try:
            for delay in self._policy.new_schedule():
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
            self._watch.on_tries_ended(self.host)
        except asyncio.CancelledError:
            raise
        except Exception:
            log.exception("reconnecting to %s failed", self.host)
        finally:
            self._watch.forget_tries(self)

    async def _try(self) -> bool:
        """Return True if this was the last try."""
        try:
            return await self._watch.try_once(self.host)
        except AuthenticationFailed as error:
            log.error(
                "host %s does not accept the credentials, it is not tried again: %s",
                self.host,
                error,
            )
            self._watch.on_tries_ended(self.host)
            return True
        except (DriverException, OSError, asyncio.TimeoutError) as error:
            log.debug("host %s is still down: %s", self.host, error)
            self._watch.on_try_failed(self.host, error)
            return False
