"""Tries to reconnect to a host that is down, with the delays of the reconnection policy."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol

from cassandra._logs import Log
from cassandra.engine.failures import refuses_login
from cassandra.engine.waiting import within
from cassandra.errors import DriverException
from cassandra.policies.reconnection import delays_of

if TYPE_CHECKING:
    from cassandra.metadata.host import Host
    from cassandra.policies.reconnection import ReconnectionPolicy

log = Log("cassandra.pool")


class Watch(Protocol):
    """The owner of the reconnectors; see `cassandra.engine.hosts.watch.HostWatch`."""

    def spawn_tries(self, reconnector: Reconnector) -> asyncio.Task[None]:
        """Run ``reconnector.run()`` as a background task."""

    async def try_once(self, host: Host) -> bool:
        """Try to connect to a host, and to open all pools to it.

        :returns: True if no further attempt is needed.
        """

    def on_try_failed(self, host: Host, error: Exception) -> None:
        """Called when an attempt has failed."""

    def on_tries_ended(self, host: Host, error: Exception | None = None) -> None:
        """Called at the end of the schedule, or when the host rejects our credentials.

        :param error: the host's error; None at the end of the schedule.
        """

    def forget_tries(self, reconnector: Reconnector) -> None:
        """Called when the reconnector ends, for any reason."""


class Reconnector:
    """A background task that tries to reach one host.

    It ends when the host responds or leaves the cluster, or when the schedule of the reconnection
    policy ends.
    """

    __slots__ = ("_hurries", "_policy", "_restarts", "_task", "_watch", "_woken", "host")

    def __init__(self, watch: Watch, host: Host, policy: ReconnectionPolicy) -> None:
        self._watch = watch
        self._policy = policy
        self.host = host
        self._woken = asyncio.Event()  # ends the wait for the next attempt
        self._restarts = False  # True if `run` should begin a new schedule
        self._hurries = False  # True if `run` should make the next attempt without any delay
        self._task = watch.spawn_tries(self)

    def hurry(self) -> None:
        """Try at once, and then with the delays of a new schedule.

        Called when the cluster reports that the host is up.

        The new schedule begins with short delays, because a node may be reported up some time
        before it accepts clients.
        """
        self._hurries = True
        self.restart_schedule()

    def restart_schedule(self) -> None:
        """Begin a new schedule, with short delays. Called when the host may be back soon."""
        self._restarts = True
        self._woken.set()

    def stop(self) -> None:
        """Stop trying."""
        self._task.cancel()

    async def run(self) -> None:
        """Try after each delay of the schedule, until an attempt succeeds or the schedule ends."""
        try:
            schedule = delays_of(self._policy)
            # During the last attempt of a schedule, a new schedule may have been asked for.
            while (delay := next(schedule, None)) is not None or self._restarts:
                if await self._wait(delay or 0.0):
                    schedule = delays_of(self._policy)
                    # Unless `hurry` was called, wait for the first delay of the new schedule.
                    if not self._hurries:
                        continue
                self._hurries = False
                if await self._try():
                    return
            log.warning(
                "host %s is given up: the reconnection policy's schedule is at its end; the last "
                "error was: %s", self.host, self.host.last_failure,
            )  # fmt: skip
            self._watch.on_tries_ended(self.host)
        except asyncio.CancelledError:
            raise
        except Exception:
            log.exception("reconnecting to %s failed", self.host)
        finally:
            self._watch.forget_tries(self)

    async def _wait(self, delay: float) -> bool:
        """Wait `delay` seconds, or until a new schedule should begin.

        :returns: True if a new schedule should begin.
        """
        try:
            await within(delay, self._woken.wait())
        except asyncio.TimeoutError:
            pass
        self._woken.clear()
        begins_anew, self._restarts = self._restarts, False
        return begins_anew

    async def _try(self) -> bool:
        """Try to reach the host once.

        :returns: True if no further attempt should follow, because all sessions that should have a
            pool to the host have one, or because the host rejects the credentials.
        """
        try:
            return await self._watch.try_once(self.host)
        except (DriverException, OSError, asyncio.TimeoutError) as error:
            if refuses_login(error):
                if self._hurries:
                    # During the attempt, the cluster has reported the host up, or the application
                    # has set other credentials. So the attempt may have used the old ones.
                    log.debug("host %s did not accept the credentials: %s", self.host, error)
                    return False
                log.error(
                    "host %s does not accept the credentials, it is not tried again until the "
                    "cluster reports it up, or cluster.auth_provider is set: %s",
                    self.host,
                    error,
                )
                self._watch.on_tries_ended(self.host, error)
                return True
            log.debug("host %s is still down: %s", self.host, error)
            self._watch.on_try_failed(self.host, error)
            return False
        except Exception:
            # For example, an error of a user's load balancing policy. Continue with the next
            # attempt, which may succeed, because nobody else tries to reach the host.
            log.exception("the attempt to reach %s failed", self.host)
            return False
