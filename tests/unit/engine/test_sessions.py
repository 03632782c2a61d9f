"""`Sessions`, which has the open sessions of a cluster, tested with fake sessions."""

from __future__ import annotations

from typing import Any

import pytest

from cassandra.engine.sessions import MANY_SESSIONS, Sessions
from cassandra.metadata.host import Host
from cassandra.policies.balancing import HostDistance
from tests.unit.engine.partners import new_host, run_loop_turns

HOST_A, HOST_B = new_host("10.0.0.1"), new_host("10.0.0.2")


class FakeSession:
    """A fake session that counts the calls of `follow_distances` in `follow_count`.

    :param pools: the hosts to which the session has pools.
    :param wanted_hosts: the hosts to which the session's policies want connections.
    """

    def __init__(self, *pools: Host, wanted_hosts: tuple[Host, ...] = (HOST_A, HOST_B)) -> None:
        self.pools = {host: FakePool(host) for host in pools}
        self.draining: list[FakePool] = []
        self.wanted_hosts = wanted_hosts
        self.follow_count = 0
        self.closed = False
        self.owner: Sessions | None = None

    def distance(self, host: Host) -> int:
        return HostDistance.LOCAL if host in self.wanted_hosts else HostDistance.IGNORED

    def follow_distances(self) -> None:
        self.follow_count += 1

    def close(self) -> None:
        self.closed = True
        if self.owner is not None:
            self.owner.remove(self)  # type: ignore[arg-type]


class FakePool:
    """A fake pool with one connection in use and one retired connection.

    The retired connection is not closed yet.
    """

    def __init__(self, host: Host) -> None:
        self.host = host
        self.connections = [f"to {host}"]

    def open_connections(self) -> list[str]:
        return [*self.connections, "retired"]


def new_sessions(*members: FakeSession) -> Sessions:
    """Return a `Sessions` object with these sessions. A session leaves it when it is closed."""
    all_sessions = Sessions()
    for member in members:
        member.owner = all_sessions
        session: Any = member
        all_sessions.add(session)
    return all_sessions


def test_a_host_is_served_if_every_session_that_needs_it_has_a_pool() -> None:
    """`are_served` is True if each session that needs the host has a pool to it.

    A session whose policies ignore the host needs no pool.
    """
    all_sessions = new_sessions(FakeSession(HOST_A), FakeSession(HOST_A, HOST_B))
    assert all_sessions.have_pool(HOST_A)
    assert all_sessions.have_pool(HOST_B)
    assert all_sessions.are_served(HOST_A)
    # The first session needs a pool to host B, but has no pool.
    assert not all_sessions.are_served(HOST_B)
    # Here, the first session ignores host B.
    all_sessions = new_sessions(
        FakeSession(HOST_A, wanted_hosts=(HOST_A,)), FakeSession(HOST_A, HOST_B)
    )
    assert all_sessions.are_served(HOST_B)


def test_a_host_is_ignored_if_no_session_needs_it() -> None:
    assert new_sessions(FakeSession(wanted_hosts=(HOST_A,))).ignore(HOST_B)
    assert not new_sessions(FakeSession(wanted_hosts=(HOST_A,)), FakeSession()).ignore(HOST_B)
    # Without any session, `ignore` must be False.
    assert not new_sessions().ignore(HOST_B)


def test_connections_include_retired_ones() -> None:
    """`Sessions.connections` includes retired connections until they are closed.

    The caller sends heartbeats, which retired connections need, too.
    """
    all_sessions = new_sessions(FakeSession(HOST_A), FakeSession(HOST_A, HOST_B))
    connections_by_host = all_sessions.connections()
    assert list(connections_by_host) == [HOST_A, HOST_B]
    # There are two pools to host A, and one to host B. Each has one retired connection.
    assert len(connections_by_host[HOST_A]) == 4
    assert len(connections_by_host[HOST_B]) == 2


def test_close_closes_and_removes_all_sessions() -> None:
    """`Sessions.close` closes and removes all sessions. Removing a session again is no error.

    The shutdown of a session removes the session, too, perhaps after `Sessions.close`.
    """
    members = [FakeSession(), FakeSession(), FakeSession()]
    all_sessions = new_sessions(*members)
    all_sessions.close()
    assert [member.closed for member in members] == [True] * 3
    assert len(all_sessions) == 0
    # The second removal does nothing.
    all_sessions.remove(members[0])  # type: ignore[arg-type]


async def test_several_calls_soon_after_another_follow_distances_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Several calls of `follow_distances_soon` in quick succession follow the distances once."""
    monkeypatch.setattr("cassandra.engine.sessions.FOLLOW_DELAY", 0.0)
    member = FakeSession()
    all_sessions = new_sessions(member)
    for _ in range(5):
        all_sessions.follow_distances_soon()
    while all_sessions._following is not None:
        await run_loop_turns(1)
    assert member.follow_count == 1


async def test_an_error_of_one_session_does_not_keep_others_from_following(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """If one session fails to follow distances, the next session still follows them.

    The error of the first session is logged.
    """
    monkeypatch.setattr("cassandra.engine.sessions.FOLLOW_DELAY", 0.0)
    broken, healthy = FakeSession(), FakeSession()

    def raise_error() -> None:
        raise ValueError("mistake in a policy")

    broken.follow_distances = raise_error  # type: ignore[method-assign]
    all_sessions = new_sessions(broken, healthy)
    all_sessions.follow_distances_soon()
    while all_sessions._following is not None:
        await run_loop_turns(1)
    assert healthy.follow_count == 1
    assert "mistake in a policy" in caplog.text


async def test_distances_are_not_followed_after_stop_following() -> None:
    """`stop_following` cancels the pending task, and later calls start no task."""
    all_sessions = new_sessions(FakeSession())
    all_sessions.follow_distances_soon()
    all_sessions.stop_following()
    assert all_sessions._following is not None
    assert all_sessions._following.cancelled()
    # A later call must not start a task, either.
    all_sessions._following = None
    all_sessions.follow_distances_soon()
    assert all_sessions._following is None


def test_many_open_sessions_are_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    """If an application opens many sessions, one warning is logged.

    Such an application probably does not reuse its session.
    """
    all_sessions = new_sessions(*(FakeSession() for _ in range(MANY_SESSIONS - 1)))
    assert not caplog.records
    for _ in range(3):
        session: Any = FakeSession()
        all_sessions.add(session)
        all_sessions.remove(session)
    assert [record.getMessage() for record in caplog.records] == [
        f"{MANY_SESSIONS} sessions of a cluster are open, each with its own connections: one "
        "session serves all threads, tasks and requests; session.shutdown() closes one"
    ]
