"""Tries to reach a host that is down, by the schedule of the reconnection policy."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Protocol

from cassandra.engine.waiting import within
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

    __slots__ = ("_begins_anew", "_hurries", "_policy", "_task", "_watch", "_woken", "host")

    def __init__(self, watch: Watch, host: Host, policy: ReconnectionPolicy) -> None:
        self._watch = watch
        self._policy = policy
        self.host = host
        self._woken = asyncio.Event()
        self._begins_anew = False
        self._hurries = False
        self._task = watch.spawn_tries(self)

    def hurry(self) -> None:
        """Make the next try now, and the following ones by a new schedule: the cluster says that
        the host is up.

        Nodes announce each other before their ports for clients listen, which are then tried again
        soon.
        """
        self._hurries = True
        self.begin_anew()

    def begin_anew(self) -> None:
        """Make the next tries by a new schedule: the host may be back soon."""
        self._begins_anew = True
        self._woken.set()

    def stop(self) -> None:
        """Make no further try."""
        self._task.cancel()

    async def run(self) -> None:
        """Make the tries."""
        try:
            schedule = iter(self._policy.new_schedule())
            while (delay := next(schedule, None)) is not None:
                if await self._wait(delay):
                    schedule = iter(self._policy.new_schedule())
                    if not self._hurries:
                        continue
                self._hurries = False
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

    async def _wait(self, delay: float) -> bool:
        """Wait so many seconds; return True, perhaps earlier, if a new schedule begins."""
        try:
            await within(delay, self._woken.wait())
        except asyncio.TimeoutError:
            pass
        self._woken.clear()
        begins_anew, self._begins_anew = self._begins_anew, False
        return begins_anew

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
