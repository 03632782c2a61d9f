"""`HostWatch`, which marks hosts as up or down, tested with fakes and without connections."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra.engine.background import Background
from cassandra.engine.hosts.topology import NodeList
from cassandra.engine.hosts.watch import MOST_REASONS, HostWatch
from cassandra.engine.listeners import Listeners
from cassandra.engine.sessions import Sessions
from cassandra.errors import AuthenticationFailed, ConnectionException
from cassandra.metadata.cluster_metadata import Metadata
from cassandra.metadata.host import Host
from cassandra.policies.balancing import HostDistance
from cassandra.policies.conviction import ConvictionPolicy
from cassandra.policies.reconnection import ConstantReconnectionPolicy
from tests.unit.engine.partners import engine_settings, new_host, run_loop_turns
from tests.waiting import until_on_loop

LOST = ConnectionException("lost")


class WatchedHosts:
    """A `HostWatch` of two hosts, for which this object is the only session and the only listener.

    A test sets `pools` (the session's pools) and `probe_error` (the error of an attempt to reach a
    host). `probed` lists the addresses of the hosts that were tried, and `events` lists the
    listener's calls. By default, the reconnection policy allows three attempts without delay.

    :param changed: settings of the engine that differ from these defaults.
    """

    def __init__(self, **changed: Any) -> None:
        self.first, self.second = new_host("10.0.0.1"), new_host("10.0.0.2")
        self.metadata = Metadata()
        self.metadata._replace_hosts([self.first, self.second])
        self.events: list[tuple[str, str]] = []
        self.listeners = Listeners(lambda: None, time.monotonic)
        self.listeners.user_listeners = [self]
        self.probed: list[str] = []
        self.probe_error: Exception | None = None
        self.add_errors: list[Exception] = []  # errors that the next calls of `add_pool` raise
        self.pools: dict[Host, object] = {}
        self.distances: dict[Host, int] = {}
        self.distance_error: BaseException | None = None  # the error that `distance` raises, if any
        self.sessions = Sessions()
        session: Any = self
        self.sessions.add(session)
        self.background = Background()
        policy = ConstantReconnectionPolicy(delay=0.0, max_attempts=3)
        defaults = {"reconnection_policy": policy}
        self.watch = HostWatch(
            self.metadata,
            engine_settings(**defaults | changed),
            self.sessions,
            self.listeners,
            self.background,
            self.probe,
        )

    # `HostWatch` calls the next methods as if this object were a session.

    def distance(self, host: Host) -> int:
        if self.distance_error is not None:
            raise self.distance_error
        return self.distances.get(host, HostDistance.LOCAL)

    async def add_pool(self, host: Host) -> None:
        if self.add_errors:
            raise self.add_errors.pop()
        if self.probe_error is None and self.distance(host) != HostDistance.IGNORED:
            self.pools[host] = object()
            self.watch.on_answer(host)

    def forget_host(self, host: Host, error: Exception) -> None:
        self.pools.pop(host, None)

    async def probe(self, host: Host) -> None:
        self.probed.append(str(host.address))
        if self.probe_error is not None:
            raise self.probe_error

    # `HostWatch` calls the next methods as if this object were a listener.

    def on_up(self, host: Host) -> None:
        self.events.append(("up", host.address))

    def on_down(self, host: Host) -> None:
        self.events.append(("down", host.address))

    def on_add(self, host: Host) -> None:
        self.events.append(("add", host.address))

    def on_remove(self, host: Host) -> None:
        self.events.append(("remove", host.address))

    async def settle(self) -> None:
        """Wait until no host is being tried any more and all callbacks have run."""
        while self.watch._tries:
            await run_loop_turns()
        await run_loop_turns()


async def test_a_host_that_is_lost_is_tried_until_it_answers() -> None:
    """A host whose connections are lost goes down and is tried until an attempt succeeds.

    Afterwards, the host is up and has a pool.
    """
    watched = WatchedHosts()
    watched.probe_error = LOST
    watched.watch.on_connection_failure(watched.first, LOST)
    assert watched.events == [("down", "10.0.0.1")]
    while not watched.probed:
        await run_loop_turns(1)
    watched.probe_error = None
    await watched.settle()
    assert watched.events == [("down", "10.0.0.1"), ("up", "10.0.0.1")]
    assert watched.first in watched.pools


async def test_a_host_with_a_pool_is_not_down() -> None:
    """While a session has a pool to a host, the host stays up.

    Neither a failed connection nor a report from the cluster marks the host as down.
    """
    watched = WatchedHosts()
    watched.pools[watched.first] = object()
    watched.watch.on_connection_failure(watched.first, LOST)
    watched.watch.on_reported_down(watched.first)
    assert watched.events == []


async def test_at_the_end_of_the_schedule_the_host_is_forced_down() -> None:
    """When the reconnection policy allows no further attempt, the host is forced down.

    Afterwards, the host is tried only when the cluster reports that it is up.
    """
    watched = WatchedHosts()
    watched.probe_error = LOST
    watched.watch.on_connection_failure(watched.first, LOST)
    await watched.settle()
    # The policy of `WatchedHosts` allows three attempts.
    assert watched.probed == ["10.0.0.1"] * 3
    assert watched.first.state == "forced down"
    watched.probe_error = None
    watched.watch.on_reported_up(watched.first)
    await watched.settle()
    assert watched.first.is_up


async def test_refused_credentials_end_the_attempts() -> None:
    """A host that refuses the credentials is not tried again.

    Some servers lock the role after several refused logins.
    """
    watched = WatchedHosts()
    watched.probe_error = AuthenticationFailed("wrong password")
    watched.watch.on_connection_failure(watched.first, LOST)
    await watched.settle()
    assert watched.probed == ["10.0.0.1"]
    assert watched.first.state == "forced down"


async def test_other_credentials_are_tried_on_hosts_that_refused_the_old_ones() -> None:
    """When credentials change, `on_access_changed` tries hosts that refused the old credentials.

    The application calls it indirectly by setting `auth_provider`.
    """
    watched = WatchedHosts()
    watched.probe_error = AuthenticationFailed("wrong password")
    watched.watch.on_connection_failure(watched.first, LOST)
    await watched.settle()
    assert watched.first.state == "forced down"
    watched.watch.on_access_changed()  # the host refuses these credentials, too
    await watched.settle()
    assert watched.probed == ["10.0.0.1"] * 2
    assert watched.first.state == "forced down"
    watched.probe_error = None
    watched.watch.on_access_changed()
    await watched.settle()
    assert watched.first.is_up
    assert watched.first in watched.pools


async def test_other_credentials_are_tried_for_sessions_without_a_pool() -> None:
    """When credentials change, each session without a pool to a host tries to open the pool.

    The host may be up because another session logged in before the password changed.
    """
    watched = WatchedHosts()
    watched.watch.on_access_changed()
    await watched.settle()
    assert watched.first.is_up
    assert set(watched.pools) == {watched.first, watched.second}


async def test_other_credentials_mean_nothing_to_ignored_hosts() -> None:
    """When credentials change, hosts with the distance IGNORED are not tried.

    Such hosts get no connections, so they keep their state.
    """
    watched = WatchedHosts()
    watched.distances[watched.second] = HostDistance.IGNORED
    watched.second.force_down()
    watched.watch.on_access_changed()
    await watched.settle()
    assert watched.second.state == "forced down"


async def test_a_recheck_does_not_bring_up_an_ignored_host_that_does_not_answer() -> None:
    """`recheck` tries a host that is down once, even if all policies ignore the host.

    If the host responds, it is marked as up, but gets no pool.
    """
    watched = WatchedHosts()
    watched.distances[watched.first] = HostDistance.IGNORED
    watched.watch.on_reported_down(watched.first)
    watched.probe_error = LOST
    watched.watch.recheck()
    await watched.settle()
    assert watched.first.is_up is False
    assert watched.events == [("down", "10.0.0.1")]
    # No session wants connections to the host, so the driver makes one attempt only.
    assert watched.probed == ["10.0.0.1"]
    watched.probe_error = None
    watched.watch.recheck()
    await watched.settle()
    assert watched.events == [("down", "10.0.0.1"), ("up", "10.0.0.1")]
    assert watched.first not in watched.pools


async def test_a_host_that_was_ignored_is_tried_when_a_policy_wants_it() -> None:
    """An ignored host that was reported as down is tried when a policy starts to use the host."""
    watched = WatchedHosts(
        reconnection_policy=ConstantReconnectionPolicy(delay=0.0, max_attempts=5)
    )
    watched.distances[watched.first] = HostDistance.IGNORED
    watched.watch.on_reported_down(watched.first)
    await watched.watch.bring_up_if_wanted(watched.first)
    assert watched.events == [("down", "10.0.0.1")]
    assert watched.first not in watched.pools
    del watched.distances[watched.first]
    watched.watch.on_wanted(watched.first)
    await watched.settle()
    assert watched.events == [("down", "10.0.0.1"), ("up", "10.0.0.1")]
    assert watched.first in watched.pools


async def test_the_newest_reason_of_a_host_wins(caplog: pytest.LogCaptureFixture) -> None:
    """`Host.last_failure` is the error of the last attempt.

    Each different error is logged once.
    """
    watched = WatchedHosts(
        reconnection_policy=ConstantReconnectionPolicy(delay=0.0, max_attempts=5)
    )
    refused, denied = ConnectionException("refused"), AuthenticationFailed("wrong password")
    watched.probe_error = refused
    watched.watch.on_connection_failure(watched.first, LOST)
    assert watched.first.last_failure is LOST
    assert watched.first.last_failure_at is not None
    while len(watched.probed) < 3:
        await run_loop_turns(1)
    watched.probe_error = denied
    # A report must not replace the driver's own error, which says more.
    watched.watch.on_reported_down(watched.first)
    assert watched.first.last_failure is refused
    await watched.settle()
    failure: Any = watched.first.last_failure
    assert failure is denied
    warnings = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    since = watched.first.down_since
    assert since is not None
    assert warnings == [
        "host 10.0.0.1:9042 is down: lost",
        f"host 10.0.0.1:9042 is still down, since {since.isoformat(timespec='seconds')}: refused",
    ]
    watched.first.set_up()
    assert watched.first.last_failure_at is None


async def test_different_reasons_do_not_flood_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """At most MOST_REASONS different errors of one outage are logged."""
    watched = WatchedHosts()
    watched.watch.on_connection_failure(watched.first, LOST)
    for number in range(50):
        watched.watch.on_try_failed(watched.first, ConnectionException(f"refused {number}"))
    assert len(caplog.records) == MOST_REASONS


async def test_the_end_of_an_outage_is_logged_like_its_beginning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The message that a host is up again is a warning, like the message that it is down.

    Operators who see only warnings must see both messages.
    """
    watched = WatchedHosts()
    watched.watch.on_connection_failure(watched.first, LOST)
    since = watched.first.down_since
    assert since is not None
    watched.watch.on_answer(watched.first)
    record = caplog.records[-1]
    assert record.levelname == "WARNING"
    assert record.getMessage() == (
        f"host 10.0.0.1:9042 is up, which was down since {since.isoformat(timespec='seconds')}"
    )


async def test_a_report_is_the_reason_of_a_host_without_connections() -> None:
    """If the cluster reports a host as down, `last_failure` says that the report is the reason.

    This holds for hosts without connections of the driver.
    """
    watched = WatchedHosts()
    watched.watch.on_reported_down(watched.first)
    assert "the cluster says" in str(watched.first.last_failure)


async def test_statements_are_prepared_on_a_host_that_comes_up() -> None:
    """`bring_up` prepares the statements on the host if `reprepare_on_up` is True."""
    addresses: list[str] = []

    async def record_preparing(host: Host) -> None:
        addresses.append(host.address)

    for reprepare_on_up in (True, False):
        watched = WatchedHosts(reprepare_on_up=reprepare_on_up)
        watched.watch.prepare_on = record_preparing
        assert await watched.watch.bring_up(watched.first)
    assert addresses == ["10.0.0.1"]


def node_list_of(*hosts: Host, existing: list[Host]) -> NodeList:
    """Return a node list with these hosts.

    :param existing: the hosts that the metadata already has.
    """
    rows: list[Any] = []
    hosts_by_endpoint: dict[Any, Host] = {}
    for host in hosts:
        row = {"host_id": host.host_id or uuid.uuid4(), "tokens": host.tokens}
        rows.append((host.endpoint, row))
        hosts_by_endpoint[host.endpoint] = host
    return NodeList(rows, existing, hosts_by_endpoint.__getitem__)


async def test_a_new_node_list_adds_and_removes_hosts() -> None:
    """Hosts that the new node list lacks are removed, and new hosts get a pool and come up."""
    watched = WatchedHosts()
    added_host = new_host("10.0.0.3", is_up=None)
    watched.watch.take_node_list(
        node_list_of(watched.first, added_host, existing=watched.metadata.all_hosts())
    )
    assert watched.events == [("remove", "10.0.0.2"), ("add", "10.0.0.3")]
    await watched.settle()
    assert added_host in watched.pools
    assert watched.events[-1] == ("up", "10.0.0.3")
    assert not watched.watch.knows(watched.second)


async def test_all_sessions_forget_a_host_although_one_of_them_is_closed_by_that() -> None:
    """An errback of a request to the host that leaves may close its session."""
    watched = WatchedHosts()
    forgotten: list[str] = []

    def session_named(name: str) -> Any:
        session: Any = SimpleNamespace(pools={})

        def forget_host(host: Host, error: Exception) -> None:
            forgotten.append(name)
            watched.sessions.remove(session)

        session.forget_host = forget_host
        return session

    for name in ("a", "b", "c"):
        watched.sessions.add(session_named(name))
    watched.watch.take_node_list(node_list_of(watched.first, existing=watched.metadata.all_hosts()))
    assert forgotten == ["a", "b", "c"]


@pytest.mark.parametrize(
    "report",
    [
        lambda watch, host: watch.on_connection_failure(host, LOST),
        lambda watch, host: watch.on_try_failed(host, LOST),
        lambda watch, host: watch.on_draining(host, LOST),
        lambda watch, host: watch.on_reported_down(host),
        lambda watch, host: watch.on_wanted(host),
    ],
    ids=["failure", "failed try", "draining", "reported down", "wanted"],
)
async def test_late_events_of_a_replaced_host_do_not_concern_the_new_one(report: Any) -> None:
    """Late events of a host that was replaced do not concern the new host at its address.

    The hosts are equal, because they have the same address. If the old host got a `Reconnector`,
    the new host would get none, and would never be reached again.
    """
    watched = WatchedHosts()
    watched.probe_error = LOST
    # Remove the first host. Then add another host with the same address.
    replaced, new = watched.first, new_host("10.0.0.1", is_up=None)
    watched.watch.take_node_list(node_list_of(watched.second, existing=[replaced, watched.second]))
    watched.watch.take_node_list(node_list_of(watched.second, new, existing=[watched.second]))
    assert watched.watch.knows(new)
    report(watched.watch, replaced)
    assert watched.watch._tries == {}
    watched.watch.on_connection_failure(new, LOST)
    assert watched.watch._tries[new].host is new
    watched.probe_error = None
    await watched.settle()
    assert new.is_up
    assert new in watched.pools


async def test_a_new_host_is_tried_again_after_an_error_of_a_policy(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """If a policy raises an error for a new host, the driver tries again until the host has a pool.

    An application's policy may fail for hosts that it does not know.
    """
    watched = WatchedHosts()
    watched.add_errors = [LookupError("no such rack"), LookupError("no such rack")]
    added_host = new_host("10.0.0.3", is_up=None)
    watched.watch.take_node_list(
        node_list_of(watched.first, added_host, existing=watched.metadata.all_hosts())
    )
    await until_on_loop(lambda: added_host in watched.pools)
    assert "LookupError: no such rack" in caplog.text


@pytest.mark.parametrize(
    "event",
    [
        lambda watched: watched.watch.on_reported_down(watched.first),
        lambda watched: watched.watch.on_connection_failure(watched.first, LOST),
    ],
    ids=["reported down", "connection failed"],
)
async def test_an_event_is_handled_although_a_policy_raises_an_error(
    event: Callable[[WatchedHosts], None],
) -> None:
    """A host for which a policy's `distance` raises an error is treated as a host in use.

    The event is not lost: the host goes down, and is tried until it responds.
    """
    watched = WatchedHosts()
    watched.distance_error = LookupError("no such rack")
    event(watched)
    assert ("down", "10.0.0.1") in watched.events
    assert watched.first in watched.watch._tries
    watched.distance_error = None
    await watched.settle()
    assert watched.first.is_up


async def test_every_host_is_checked_again_although_a_policy_raises_an_error() -> None:
    """If a policy raises an error for one host, `recheck` still checks the hosts after it."""
    watched = WatchedHosts()
    watched.second.set_down()
    watched.distance_error = LookupError("no such rack")
    watched.watch.recheck()
    watched.distance_error = None
    await watched.settle()
    assert watched.second in watched.pools


class FailingConvictions(ConvictionPolicy):
    """A conviction policy of an application, whose methods raise errors."""

    def __init__(self, host: Host) -> None:
        pass

    def add_failure(self, connection_exc: BaseException) -> bool:
        raise LookupError("no failures")

    def reset(self) -> None:
        raise LookupError("no reset")


async def test_an_event_is_handled_although_the_conviction_policy_raises_an_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """If a conviction policy raises an error, the failed host still goes down.

    Later, the host comes up again.
    """
    watched = WatchedHosts()
    watched.first.conviction_policy = FailingConvictions(watched.first)
    watched.watch.on_connection_failure(watched.first, LOST)
    assert watched.events == [("down", "10.0.0.1")]
    await watched.settle()
    assert watched.events == [("down", "10.0.0.1"), ("up", "10.0.0.1")]
    assert watched.first.is_up
    assert "LookupError: no failures" in caplog.text
    assert "LookupError: no reset" in caplog.text


async def test_the_placement_is_computed_again_only_on_changes_or_with_rebuild() -> None:
    """The token placement is computed again only if the node list changes or `rebuild` is True.

    The computation takes long.
    """
    watched = WatchedHosts()
    watched.metadata.partitioner = "org.apache.cassandra.dht.Murmur3Partitioner"
    watched.first.tokens = ("0",)
    watched.second.tokens = ("100",)

    def version_after_node_list(rebuild: bool) -> int:
        """Pass an unchanged node list to the watch, and return the placement's version."""
        hosts = watched.metadata.all_hosts()
        watched.watch.take_node_list(node_list_of(*hosts, existing=hosts), rebuild)
        return watched.metadata.placement_version

    # Store the version after a first node list, because this list may itself change the placement.
    version = version_after_node_list(rebuild=False)
    assert version_after_node_list(rebuild=False) == version
    assert version_after_node_list(rebuild=True) == version + 1


async def test_after_close_failures_are_ignored() -> None:
    """After `close`, attempts to reach hosts end, and later failures have no effect."""
    watched = WatchedHosts()
    watched.probe_error = LOST
    watched.watch.on_connection_failure(watched.first, LOST)
    watched.watch.close()
    await run_loop_turns()
    watched.watch.on_connection_failure(watched.second, LOST)
    assert watched.events == [("down", "10.0.0.1")]
    assert watched.probed == []
