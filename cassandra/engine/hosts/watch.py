"""Keeps the states of hosts: gathers facts, asks the table of states, and acts on its answer."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from cassandra.engine.hosts.reconnect import Reconnector
from cassandra.engine.hosts.states import Action, Event, Facts, State, Up, transition
from cassandra.errors import ConnectionException

if TYPE_CHECKING:
    from cassandra.engine.background import Background
    from cassandra.engine.hosts.topology import NodeList
    from cassandra.engine.listeners import Listeners
    from cassandra.engine.sessions import Sessions
    from cassandra.engine.settings import Settings
    from cassandra.metadata.cluster_metadata import Metadata
    from cassandra.metadata.host import Host

__all__ = ["HostWatch"]

log = logging.getLogger("cassandra.cluster")

Probe = Callable[["Host"], Awaitable[None]]

_UPS = {None: Up.UNKNOWN, True: Up.UP, False: Up.DOWN}


class HostWatch:
    """Keeps the hosts' states. Nothing else sets them.

    :param sessions: the open sessions of the moment; shared, never replaced.
    :param probe: opens a connection to a host and closes it again; raises if it cannot.
    """

    def __init__(
        self,
        metadata: Metadata,
        settings: Settings,
        sessions: Sessions,
        listeners: Listeners,
        background: Background,
        probe: Probe,
    ) -> None:
        self._metadata = metadata
        self._settings = settings
        self._sessions = sessions
        self._listeners = listeners
        self._background = background
        self._probe = probe
        self._tries: dict[Host, Reconnector] = {}
        # How often each host that was down was tried; hosts that are gone leave it by themselves.
        self.reconnections: WeakKeyDictionary[Host, int] = WeakKeyDictionary()
        self._closed = False
        # Told when a host is up again, before the listeners are.
        self.on_host_up: Callable[[], None] = _nothing
        # Prepares what is known on a host that is up again, before it is used.
        self.prepare_on: Probe = _nothing_to_prepare

    def close(self) -> None:
        """Stop all tries; nothing that happens from now on counts."""
        self._closed = True
        for reconnector in list(self._tries.values()):
            reconnector.stop()

    # -- what happens ------------------------------------------------------------------------------

    def on_answer(self, host: Host) -> None:
        """A session has a pool to `host`, or needs none: it is up."""
        self._happened(Event.ANSWERS, host)

    def on_connection_failure(self, host: Host, error: Exception) -> None:
        """A connection to `host` broke or could not be opened."""
        # The last connection may end after its host has left the cluster.
        if not self._closed and host in self._metadata.all_hosts():
            convicted = host.signal_connection_failure(error)
            self._happened(Event.CONNECTION_FAILED, host, error, convicted)

    def on_try_failed(self, host: Host, error: Exception) -> None:
        """A try to reach `host` again has failed; the next one is to come."""
        # Failures of a host that is down already are not counted: they say nothing new.
        convicted = host.is_up is not False and host.signal_connection_failure(error)
        self._happened(Event.TRY_FAILED, host, error, convicted)

    def on_tries_ended(self, host: Host) -> None:
        """No further try is made to reach `host`, until the cluster says that it is up."""
        self._happened(Event.TRIES_ENDED, host, "it is not tried any more")

    def on_said_up(self, host: Host) -> None:
        """The cluster says that `host` is up."""
        self._happened(Event.SAID_UP, host)

    def on_said_down(self, host: Host) -> None:
        """The cluster says that `host` is down."""
        error = ConnectionException(f"the cluster says that {host} is down", host.endpoint)
        # Connections are trusted before status events: this counts only if there are none.
        convicted = (
            not self._sessions.have_pool(host)
            and not self._sessions.ignore(host)
            and host.signal_connection_failure(error)
        )
        self._happened(Event.SAID_DOWN, host, error, convicted)

    def recheck(self) -> None:
        """The control connection has moved: events about hosts may be missed."""
        for host in self._metadata.all_hosts():
            self._happened(Event.LOOK_AGAIN, host)

    def take_node_list(self, node_list: NodeList, rebuild: bool = False) -> None:
        """Swap the snapshot of the hosts, and act on the changes.

        :param rebuild: compute the placement of partitions again, even if no token has changed.
        """
        if rebuild:
            self._metadata._forget_placement()
        # Before the swap: listeners that hear of a host that has left can still look it up.
        for host in node_list.removed:
            self._happened(Event.LEFT, host)
        self._metadata._replace_hosts(node_list.hosts)
        # Before the first session the hosts are not news: policies get them by `populate`.
        first_time = not self._sessions and not self._listeners.policies
        for host in node_list.relocated:
            self._happened(Event.RELOCATED, host)
        for host in node_list.added:
            if not first_time:
                self._listeners.tell("on_add", host)
                self._background.spawn(self.bring_up(host))

    # -- facts -------------------------------------------------------------------------------------

    def knows(self, host: Host) -> bool:
        """Return True unless `host` has left the cluster, or was replaced."""
        return self._metadata.get_host(host.endpoint) is host

    def _state(self, host: Host) -> State:
        up = Up.GIVEN_UP if host.state == "forced down" else _UPS[host.is_up]
        return State(up, host in self._tries)

    # -- what is done about it ---------------------------------------------------------------------

    def _happened(
        self, event: Event, host: Host, reason: object = None, convicted: bool = False
    ) -> None:
        has_pool = self._sessions.have_pool(host)
        # Policies are asked only if it matters: they may be the program's own.
        facts = Facts(
            convicted,
            has_pool,
            has_pool and self._sessions.are_served(host),
            event in _ASKS_IF_IGNORED and self._sessions.ignore(host),
        )
        _, actions = transition(self._state(host), event, facts)
        for action in actions:
            self._act(action, host, reason)

    def _act(self, action: Action, host: Host, reason: object) -> None:
        if action is Action.MARK_DOWN:
            log.warning("host %s is down: %s", host, reason)
            host.set_down()
            self._listeners.tell("on_down", host)
        else:
            _ACTIONS[action](self, host)

    def _mark_up(self, host: Host) -> None:
        if host.is_up is False:
            log.info("host %s is up", host)
        host.set_up()
        self.on_host_up()
        self._listeners.tell("on_up", host)

    def _start_tries(self, host: Host) -> None:
        self._tries[host] = Reconnector(self, host, self._settings.reconnection_policy)

    def _stop_tries(self, host: Host) -> None:
        self._tries.pop(host).stop()

    def _bring_up_soon(self, host: Host) -> None:
        self._background.spawn(self.bring_up(host))

    def _place_anew(self, host: Host) -> None:
        # Policies sort it in again, as they do with a host that comes back.
        if self._listeners.policies:
            log.info("host %s is in data centre %s, rack %s now", host, host.datacenter, host.rack)
            self._listeners.tell_policies("on_down", host)
            self._listeners.tell_policies("on_up", host)

    def _forget(self, host: Host) -> None:
        host.set_down()
        gone = ConnectionException(f"{host} has left the cluster", host.endpoint)
        # Before the listeners hear of it: what they execute must not go there any more.
        for session in self._sessions:
            session.forget_host(host, gone)
        self._listeners.tell("on_remove", host)

    # -- coming back -------------------------------------------------------------------------------

    async def bring_up(self, host: Host) -> bool:
        """Open the pools to a host that answers again, or is new.

        :returns: False if one that is wanted could not be opened.
        """
        if not self.knows(host):
            return True
        if not self._sessions:
            self.on_answer(host)
            return True
        await self._add_pools(host)
        if host.is_up is False and self.knows(host) and self._sessions.ignore(host):
            # Policies leave out hosts that are down: whether this one is wanted shows when they
            # know that it is up.
            self.on_answer(host)
            await self._add_pools(host)
        if host.is_up and self._settings.reprepare_on_up:
            await self.prepare_on(host)
        return self._sessions.are_served(host) or not self.knows(host)

    async def _add_pools(self, host: Host) -> None:
        await asyncio.gather(*(session.add_pool(host) for session in list(self._sessions)))

    async def try_once(self, host: Host) -> bool:
        """Try to reach `host` and to open its pools; return False if a pool is missing.

        Raises the errors of opening a connection.
        """
        self.reconnections[host] = self.reconnections.get(host, 0) + 1
        await self._probe(host)
        return await self.bring_up(host)

    def spawn_tries(self, reconnector: Reconnector) -> asyncio.Task[None]:
        """Run the tries of a host in the background."""
        return self._background.spawn(reconnector.run())

    def forget_tries(self, reconnector: Reconnector) -> None:
        """The tries have come to their end."""
        if self._tries.get(reconnector.host) is reconnector:
            del self._tries[reconnector.host]


def _nothing() -> None:
    pass


async def _nothing_to_prepare(host: Host) -> None:
    pass


_ASKS_IF_IGNORED = frozenset({Event.SAID_DOWN, Event.RELOCATED})

_ACTIONS: dict[Action, Callable[[HostWatch, Host], None]] = {
    Action.RESET: lambda watch, host: host.set_up(),
    Action.MARK_UP: HostWatch._mark_up,
    Action.GIVE_UP: lambda watch, host: host.force_down(),
    Action.START_TRIES: HostWatch._start_tries,
    Action.HURRY: lambda watch, host: watch._tries[host].hurry(),
    Action.BEGIN_ANEW: lambda watch, host: watch._tries[host].begin_anew(),
    Action.STOP_TRIES: HostWatch._stop_tries,
    Action.BRING_UP: HostWatch._bring_up_soon,
    Action.PLACE_ANEW: HostWatch._place_anew,
    Action.FORGET: HostWatch._forget,
}
