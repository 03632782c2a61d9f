"""Reconnecting to a host that is down, by the schedule of the reconnection policy."""

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
    """Owns the reconnectors; see `cassandra.engine.hosts.watch.HostWatch`."""

    def spawn_tries(self, reconnector: Reconnector) -> asyncio.Task[None]:
        """Run the attempts in the background."""

    async def try_once(self, host: Host) -> bool:
        """Try to bring a host up; return True if no further attempt is needed."""

    def on_try_failed(self, host: Host, error: Exception) -> None:
        """Called when an attempt has failed."""

    def on_tries_ended(self, host: Host) -> None:
        """Called at the end of the schedule, or when the host refuses our credentials."""

    def forget_tries(self, reconnector: Reconnector) -> None:
        """Called when the reconnector has ended, for any reason."""


class Reconnector:
    """Tries to reach one host until it answers, leaves the cluster, or the schedule ends."""

    __slots__ = ("_hurries", "_policy", "_restarts", "_task", "_watch", "_woken", "host")

    def __init__(self, watch: Watch, host: Host, policy: ReconnectionPolicy) -> None:
        self._watch = watch
        self._policy = policy
        self.host = host
        self._woken = asyncio.Event()
        self._restarts = False
        self._hurries = False
        self._task = watch.spawn_tries(self)

    def hurry(self) -> None:
        """Try now, and then by a new schedule: the cluster reports that the host is up.

        Nodes announce each other before they accept clients, so the new schedule begins with short
        delays.
        """
        self._hurries = True
        self.restart_schedule()

    def restart_schedule(self) -> None:
        """Begin a new schedule: the host may be back soon."""
        self._restarts = True
        self._woken.set()

    def stop(self) -> None:
        """Stop trying."""
        self._task.cancel()

    async def run(self) -> None:
        """Try by the schedule until an attempt succeeds or the schedule ends."""
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
        """Wait `delay` seconds; return True, perhaps earlier, if a new schedule should begin."""
        try:
            await within(delay, self._woken.wait())
        except asyncio.TimeoutError:
            pass
        self._woken.clear()
        begins_anew, self._restarts = self._restarts, False
        return begins_anew

    async def _try(self) -> bool:
        """Try once; return True if no further attempt should follow."""
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
