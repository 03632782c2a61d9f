"""Keeps the state of each host (up, down, or about to stop), and reacts to events about hosts.

How the parts cooperate:

* Only `HostWatch` changes the states of hosts. The rules are in `cassandra.engine.hosts.states`.
  The state of a host consists of `Host.state` and of whether a `Reconnector` exists for it.
* Sessions report opened pools (`on_answer`) and failed connections (`on_connection_failure`). The
  control connection passes new node lists (`take_node_list`), failures of its own connection, and
  its moves (`recheck`, since events may have been missed). `StatusEvents` passes status events
  after a delay (`on_reported_up`, `on_reported_down`). Any connection may announce that its node
  will stop soon (`on_draining`).
* For each event, `_handle` collects what the rules depend on in a `Facts` object. The function
  `transition` returns the actions, and `_act` carries them out in order. The actions change
  the host, notify listeners, open or close pools, or start or stop a reconnector.

How a lost host is reached again:

* A pool reopens lost connections itself. When it has no connection left and cannot open any, its
  session reports the failure here. The action START_TRIES then creates a `Reconnector`, which is a
  background task, unless the host has one already.
* The reconnector waits for the next delay of the reconnection policy and calls `try_once`. This
  method opens one connection to see whether the host responds, and then calls `bring_up`, in which
  every session opens its pool. The first session with a pool calls `on_answer`, and the host is up.
  If other sessions have no pool yet, the reconnector continues.
* The actions HURRY and RESTART_SCHEDULE wake the existing reconnector. BRING_UP opens pools without
  a reconnector; if that fails, the failure starts one.
* The reconnector ends when every session that wants connections has some, when the host has left
  the cluster, when the server rejects our credentials, or at the end of the schedule. In the last
  two cases a host without pools is "forced down". Nobody then tries to reach it until one of
  these events: the cluster reports the host up or down, or moves it to another data centre or rack;
  the control connection moves; or the application sets other credentials or TLS settings
  (`on_access_changed`).
* If all policies ignore a host that is down, nobody opens a pool that would show that the host is
  back. The cluster's report is then enough to mark it up. Without a report, the action PROBE opens
  one connection first.
* When the pools are open, `prepare_on` prepares the cached statements on the host, if
  `reprepare_on_up` is set.
* After `close`, no reconnector runs, and failures are ignored.

The meanings of None: `Host.is_up` is None until somebody has tried to connect. A rule's `up` or
`tried` is None if the rule does not change that part of the state. A reason is None if there is
nothing to log.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from cassandra._logs import Log
from cassandra.engine.failures import reraise_on_loop
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

log = Log("cassandra.cluster")

# While a host is down, at most this many different errors are logged for it.
MOST_REASONS = 10

Probe = Callable[["Host"], Awaitable[None]]

# The state of the rules (`Up`) for each value of `Host.state`.
_UP_OF_STATE = {
    "unknown": Up.UNKNOWN,
    "up": Up.UP,
    "down": Up.DOWN,
    "draining": Up.DRAINING,
    "forced down": Up.GIVEN_UP,
}


class HostWatch:
    """Keeps the states of the hosts. No other code sets these states.

    :param sessions: the cluster's collection of open sessions, which changes as sessions are opened
        and closed.
    :param probe: opens a connection to a host and closes it again; raises an error if that fails.
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
        # The running reconnectors, by host. A host without an entry is not being tried.
        self._tries: dict[Host, Reconnector] = {}
        self._counts = metadata.engine_counts
        # The errors that were logged for each host since it went down. Each error is logged only
        # once.
        self._reported: WeakKeyDictionary[Host, set[str]] = WeakKeyDictionary()
        self._closed = False
        # Called when a host comes up, before the listeners are notified.
        self.on_host_up: Callable[[], None] = _nothing
        # Called with a host that may have stopped responding, although connections to it are open.
        self.on_doubt: Callable[[Host], None] = _ignore
        # Called when the cluster reports a host up, so that pools which lack connections open them.
        self.on_up_report: Callable[[Host], None] = _ignore
        # Prepares cached statements on a host that is up again.
        self.prepare_on: Probe = _nothing_to_prepare

    def close(self) -> None:
        """Stop all reconnectors, and ignore failures from now on."""
        self._closed = True
        for reconnector in list(self._tries.values()):
            reconnector.stop()

    # -- events ------------------------------------------------------------------------------------

    def on_answer(self, host: Host) -> None:
        """Mark `host` as up, because a session has opened its pool to it, or needs no pool."""
        self._handle(Event.ANSWERS, host)

    def on_connection_failure(self, host: Host, error: Exception) -> None:
        """Called when a connection to `host` broke or could not be opened."""
        # Ignore a connection that ends after its host has left the cluster.
        if not self._closed and self.knows(host):
            host._remember_failure(error)
            convicted = _convicts(host, error)
            self._handle(Event.CONNECTION_FAILED, host, error, convicted)
            self.on_doubt(host)

    def on_try_failed(self, host: Host, error: Exception) -> None:
        """Called when an attempt to reach `host` has failed, and another attempt will follow."""
        host._remember_failure(error)
        if host.is_up is False:
            self._report_reason(host, error)
        # The conviction policy decides whether failures make a host count as down. If the host is
        # down already, do not ask the policy.
        convicted = host.is_up is not False and _convicts(host, error)
        self._handle(Event.TRY_FAILED, host, error, convicted)

    def on_tries_ended(self, host: Host, error: Exception | None = None) -> None:
        """Called when the reconnector of `host` has given up.

        :param error: the host's error that ended the attempts; None at the end of the schedule.
        """
        if error is not None:
            host._remember_failure(error)
        self._handle(Event.TRIES_ENDED, host, "it is not tried any more")

    def on_draining(self, host: Host, error: Exception) -> None:
        """Called when `host` announces that it will stop soon (GRACEFUL_DISCONNECT).

        :param error: an error with that reason; requests that find no other host raise it.
        """
        if not self._closed and self.knows(host):
            host._remember_failure(error)
            self._handle(Event.DRAINS, host)

    def on_reported_up(self, host: Host) -> None:
        """Called when the cluster reports `host` up."""
        self.on_up_report(host)
        self._handle(Event.REPORTED_UP, host)

    def on_reported_down(self, host: Host) -> None:
        """Called when the cluster reports `host` down."""
        error = ConnectionException(f"the cluster says that {host} is down", host.endpoint)
        # If a session has a pool to the host, the report is ignored, because an open connection is
        # better evidence than a status event. But the host may hang, so check whether it still
        # responds.
        self.on_doubt(host)
        # The conviction policy may count failures. So report this failure to the policy only if the
        # report has an effect.
        convicted = (
            not self._sessions.have_pool(host)
            and not self._sessions.ignore(host)
            and _convicts(host, error)
        )
        # If we already know that the host is down, keep our own error, because it says more than
        # the report.
        if host.is_up is not False and not self._sessions.have_pool(host):
            host._remember_failure(error)
        self._handle(Event.REPORTED_DOWN, host, error, convicted)

    def on_access_changed(self) -> None:
        """Try to reach hosts again after credentials or TLS settings have changed.

        These are the hosts that are down or were given up, and hosts to which a session could not
        open its pool.
        """
        for host in self._metadata.all_hosts():
            if self._sessions.ignore(host):
                continue
            if host.is_up and not self._sessions.are_served(host):
                self._bring_up_soon(host)
            self._handle(Event.LOOK_AGAIN, host)

    def recheck(self) -> None:
        """Check all hosts that are down, because status events may have been missed.

        Called when the control connection has moved to another host.
        """
        for host in self._metadata.all_hosts():
            self._handle(Event.LOOK_AGAIN, host)

    def on_wanted(self, host: Host) -> None:
        """Try to reach a host that is down, because a session now wants a pool to it.

        While the policies ignored the host, nobody tried to reach it.
        """
        self._handle(Event.WANTED, host)

    def take_node_list(self, node_list: NodeList, rebuild: bool = False) -> None:
        """Replace the snapshot of the hosts, and handle hosts that were added, removed or moved.

        :param rebuild: True to compute the replicas again even if no token has changed.
        """
        if rebuild:
            self._metadata._forget_placement()
        # Handle removed hosts before the snapshot is replaced, so that listeners can still look up
        # a removed host in the snapshot.
        for host in node_list.removed:
            self._handle(Event.LEFT, host)
        self._metadata._replace_hosts(node_list.hosts)
        # Before the first session is opened, do not report hosts as added: `populate` will pass all
        # hosts to the load balancing policies.
        is_first_list = not self._sessions and not self._listeners.policies
        for host in node_list.relocated:
            self._handle(Event.RELOCATED, host)
        for host in node_list.added:
            if not is_first_list:
                self._listeners.notify("on_add", host)
                self._bring_up_soon(host)

    # -- facts -------------------------------------------------------------------------------------

    def knows(self, host: Host) -> bool:
        """Return True if `host` is in the current node list.

        False if it has left the cluster, or if another `Host` object has replaced it.
        """
        return self._metadata.get_host(host.endpoint) is host

    def _state(self, host: Host) -> State:
        return State(_UP_OF_STATE[host.state], host in self._tries)

    # -- actions -----------------------------------------------------------------------------------

    def _handle(
        self, event: Event, host: Host, reason: object = None, convicted: bool = False
    ) -> None:
        """Look up the actions for `event` in the state table, and carry them out.

        Do nothing if `host` has left the cluster. A newer `Host` object with the same address,
        which is equal, must not get a reconnector for the old `host`.

        :param reason: why the host is considered down, for the log.
        :param convicted: True if the conviction policy considers the host down.
        """
        if event is not Event.LEFT and not self.knows(host):
            return
        has_pool = self._sessions.have_pool(host)
        # Only some rules need to know whether the policies ignore the host. Ask the policies only
        # for these rules, because policies may be slow user code.
        facts = Facts(
            convicted=convicted,
            has_pool=has_pool,
            is_served=has_pool and self._sessions.are_served(host),
            is_ignored=event in _EVENTS_THAT_NEED_IGNORED and self._sessions.ignore(host),
            is_draining=host.state == "draining" and self._sessions.are_draining(host),
        )
        _, actions = transition(self._state(host), event, facts)
        for action in actions:
            self._act(action, host, reason)

    def _act(self, action: Action, host: Host, reason: object) -> None:
        """Carry out one action of the state table.

        :param reason: why the host is considered down, for the log.
        """
        if action is Action.MARK_DOWN:
            log.warning("host %s is down: %s", host, reason)
            self._reported[host] = {str(reason)}
            host.set_down()
            self._listeners.notify("on_down", host)
        else:
            _ACTIONS[action](self, host)

    def _report_reason(self, host: Host, error: Exception) -> None:
        """Log why a host is still down, unless the same reason was logged already."""
        reported = self._reported.setdefault(host, set())
        text = str(error)
        if text not in reported and len(reported) < MOST_REASONS:
            reported.add(text)
            log.warning("host %s is still down, since %s: %s", host, _down_since(host), text)

    def _mark_up(self, host: Host) -> None:
        if host.is_up is False:
            # Log at the level of the messages about the outage, so that a log at WARNING shows its
            # end as well as its beginning. `_reported` has no entry if the outage was not logged.
            level = logging.WARNING if self._reported.pop(host, None) else logging.INFO
            log.log(level, "host %s is up, which was down since %s", host, _down_since(host))
        _set_up(host)
        self.on_host_up()
        self._listeners.notify("on_up", host)

    def _mark_draining(self, host: Host) -> None:
        log.info("host %s will stop soon: it gets no new requests", host)
        drains = self._counts.drains
        drains[host] = drains.get(host, 0) + 1
        host.set_draining()
        self._listeners.notify("on_down", host)

    def _start_tries(self, host: Host) -> None:
        self._tries[host] = Reconnector(self, host, self._settings.reconnection_policy)

    def _stop_tries(self, host: Host) -> None:
        self._tries.pop(host).stop()

    def _bring_up_soon(self, host: Host) -> None:
        self._background.spawn(self._bring_up_or_try(host))

    async def _bring_up_or_try(self, host: Host) -> None:
        """Let all sessions open their pools to `host`.

        If user code, such as a load balancing policy, raises an error, try again after the delays
        of the reconnection policy.
        """
        try:
            await self.bring_up(host)
        except Exception:
            log.exception("the pools to %s cannot be opened", host)
            if self.knows(host) and host not in self._tries and not self._closed:
                self._start_tries(host)

    def _probe_soon(self, host: Host) -> None:
        self._background.spawn(self._bring_up_if_it_answers(host))

    async def _bring_up_if_it_answers(self, host: Host) -> None:
        """Open one connection to an ignored host, and mark the host up if that succeeds."""
        try:
            await self._probe(host)
        except Exception as error:
            # The host stays down until the cluster reports it up, or until `recheck` probes it
            # again.
            log.debug("host %s, which is ignored, is still down: %s", host, error)
        else:
            await self.bring_up(host)

    def _relocate(self, host: Host) -> None:
        # Load balancing policies group hosts by data centre and rack. Report to them that the host
        # went down and came up, so that they put it into its new group.
        if self._listeners.policies:
            log.info("host %s is in data centre %s, rack %s now", host, host.datacenter, host.rack)
            self._listeners.notify_policies("on_down", host)
            self._listeners.notify_policies("on_up", host)

    def _forget(self, host: Host) -> None:
        """Close the pools to a host that has left the cluster, and notify listeners."""
        host.set_down()
        error = ConnectionException(f"{host} has left the cluster", host.endpoint)
        # Close the pools before the listeners are notified, because a listener may send requests,
        # and these must not go to this host. Copy the sessions: requests to the host fail now, and
        # their callbacks may close sessions.
        for session in list(self._sessions):
            session.forget_host(host, error)
        self._listeners.notify("on_remove", host)

    # -- coming back -------------------------------------------------------------------------------

    async def bring_up(self, host: Host) -> bool:
        """Let all sessions open their pools to a host that responds again or is new.

        :returns: False if a session that should have a pool to the host has none.
        """
        if not self.knows(host):
            return True
        # Without a session, no pool can show whether the host is up: assume that it is up.
        if not self._sessions:
            self.on_answer(host)
            return True
        await self._add_pools(host)
        if host.is_up is False and self.knows(host) and self._sessions.ignore(host):
            # Policies may ignore a host because it is down. The host has responded, or was reported
            # up. So mark it as up, and let the sessions open pools if they want them now.
            self.on_answer(host)
            await self._add_pools(host)
        if host.is_up and self._settings.reprepare_on_up:
            await self.prepare_on(host)
        return self._sessions.are_served(host) or not self.knows(host)

    async def bring_up_if_wanted(self, host: Host) -> bool:
        """Do the same as `bring_up`, unless the host is down and no session wants it.

        :returns: see `bring_up`.
        """
        if host.is_up is False and (not self._sessions or self._sessions.ignore(host)):
            return True
        return await self.bring_up(host)

    async def _add_pools(self, host: Host) -> None:
        await asyncio.gather(*(session.add_pool(host) for session in list(self._sessions)))

    async def try_once(self, host: Host) -> bool:
        """Open one connection to `host` to see whether it responds, and then all sessions' pools.

        If the first connection cannot be opened, the error is raised.

        :returns: False if a session that should have a pool to the host has none.
        """
        reconnections = self._counts.reconnections
        reconnections[host] = reconnections.get(host, 0) + 1
        await self._probe(host)
        return await self.bring_up(host)

    def spawn_tries(self, reconnector: Reconnector) -> asyncio.Task[None]:
        """Run a reconnector in the background."""
        return self._background.spawn(reconnector.run())

    def forget_tries(self, reconnector: Reconnector) -> None:
        """Called when a reconnector has ended."""
        if self._tries.get(reconnector.host) is reconnector:
            del self._tries[reconnector.host]


def _nothing() -> None:
    pass


def _convicts(host: Host, failure: Exception) -> bool:
    """Return True if the conviction policy considers a host down after `failure`.

    If the policy raises an error, this returns True, so that the driver tries to reach the host
    again.
    """
    try:
        return host.signal_connection_failure(failure)
    except BaseException as error:
        _log_fault(host, error)
        return True


def _set_up(host: Host) -> None:
    """Mark a host as up, even if its conviction policy raises an error."""
    try:
        host.set_up()
    except BaseException as error:
        _log_fault(host, error)


def _log_fault(host: Host, error: BaseException) -> None:
    log.exception("the conviction policy of %s has failed", host)
    reraise_on_loop(error)


def _down_since(host: Host) -> str:
    since = host.down_since
    return since.isoformat(timespec="seconds") if since is not None else "an unknown time"


def _ignore(host: Host) -> None:
    pass


async def _nothing_to_prepare(host: Host) -> None:
    pass


# The events whose rules read `Facts.is_ignored`. For other events, `_handle` does not ask the
# policies.
_EVENTS_THAT_NEED_IGNORED = frozenset(
    {Event.REPORTED_DOWN, Event.LOOK_AGAIN, Event.RELOCATED, Event.DRAINS}
)

# The functions that carry out the actions of the state table.
_ACTIONS: dict[Action, Callable[[HostWatch, Host], None]] = {
    Action.RESET: lambda watch, host: _set_up(host),
    Action.MARK_UP: HostWatch._mark_up,
    Action.MARK_DRAINING: HostWatch._mark_draining,
    Action.MARK_DRAINED: lambda watch, host: host.set_down(),
    Action.GIVE_UP: lambda watch, host: host.force_down(),
    Action.START_TRIES: HostWatch._start_tries,
    Action.HURRY: lambda watch, host: watch._tries[host].hurry(),
    Action.RESTART_SCHEDULE: lambda watch, host: watch._tries[host].restart_schedule(),
    Action.STOP_TRIES: HostWatch._stop_tries,
    Action.BRING_UP: HostWatch._bring_up_soon,
    Action.PROBE: HostWatch._probe_soon,
    Action.RELOCATE: HostWatch._relocate,
    Action.FORGET: HostWatch._forget,
}
