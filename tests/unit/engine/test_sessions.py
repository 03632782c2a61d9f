"""`Sessions`, which holds the open sessions of a cluster, with fake sessions."""

from __future__ import annotations

from typing import Any

import pytest

from cassandra.engine.sessions import MANY_SESSIONS, Sessions
from cassandra.metadata.host import Host
from cassandra.policies.balancing import HostDistance
from tests.unit.engine.partners import new_host, run_loop_turns

NEAR, FAR = new_host("10.0.0.1"), new_host("10.0.0.2")


class Session:
    """A fake session with pools to the hosts `pools`. Its policies want connections to the
    `wanted_hosts`.
    """

    def __init__(self, *pools: Host, wanted_hosts: tuple[Host, ...] = (NEAR, FAR)) -> None:
        self.pools = {pool_host: Pool(pool_host) for pool_host in pools}
        self.draining: list[Pool] = []
        self.wanted_hosts = wanted_hosts
        self.followed = 0
        self.closed = False
        self.owner: Sessions | None = None

    def distance(self, host: Host) -> int:
        return HostDistance.LOCAL if host in self.wanted_hosts else HostDistance.IGNORED

    def follow_distances(self) -> None:
        self.followed += 1

    def close(self) -> None:
        self.closed = True
        if self.owner is not None:
            self.owner.remove(self)  # type: ignore[arg-type]


class Pool:
    """A fake pool with one connection in use, and a retired one that is not closed yet."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.connections = [f"to {host}"]

    def open_connections(self) -> list[str]:
        return [*self.connections, "retired"]


def new_sessions(*members: Session) -> Sessions:
    all_sessions = Sessions()
    for member in members:
        member.owner = all_sessions
        session: Any = member
        all_sessions.add(session)
    return all_sessions


def test_a_host_is_served_if_every_session_that_needs_it_has_a_pool() -> None:
    all_sessions = new_sessions(Session(NEAR), Session(NEAR, FAR))
    assert all_sessions.have_pool(NEAR)
    assert all_sessions.have_pool(FAR)
    assert all_sessions.are_served(NEAR)
    # the first session should have a pool to this host, but has none
    assert not all_sessions.are_served(FAR)
    assert new_sessions(Session(NEAR, wanted_hosts=(NEAR,)), Session(NEAR, FAR)).are_served(FAR)


def test_a_host_is_ignored_if_no_session_needs_it() -> None:
    assert new_sessions(Session(wanted_hosts=(NEAR,))).ignore(FAR)
    assert not new_sessions(Session(wanted_hosts=(NEAR,)), Session()).ignore(FAR)
    assert not new_sessions().ignore(FAR)  # there is no session that could ignore the host


def test_connections_include_retired_ones() -> None:
    all_sessions = new_sessions(Session(NEAR), Session(NEAR, FAR))
    by_host = all_sessions.connections()
    assert list(by_host) == [NEAR, FAR]
    # Each pool has one connection in use and one retired connection. Retired ones need heartbeats,
    # too.
    assert [len(connections) for connections in by_host.values()] == [4, 2]


def test_close_closes_and_removes_all_sessions() -> None:
    members = [Session(), Session(), Session()]
    all_sessions = new_sessions(*members)
    all_sessions.close()
    assert [member.closed for member in members] == [True] * 3
    assert len(all_sessions) == 0
    all_sessions.remove(members[0])  # type: ignore[arg-type]  # a second removal does nothing


async def test_several_calls_soon_after_another_follow_distances_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("cassandra.engine.sessions.FOLLOW_DELAY", 0.0)
    member = Session()
    all_sessions = new_sessions(member)
    for _ in range(5):
        all_sessions.follow_distances_soon()
    while all_sessions._following is not None:
        await run_loop_turns(1)
    assert member.followed == 1


async def test_an_error_of_one_session_does_not_keep_others_from_following(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("cassandra.engine.sessions.FOLLOW_DELAY", 0.0)
    broken, healthy = Session(), Session()

    def fail() -> None:
        raise ValueError("of a policy")

    broken.follow_distances = fail  # type: ignore[method-assign]
    all_sessions = new_sessions(broken, healthy)
    all_sessions.follow_distances_soon()
    while all_sessions._following is not None:
        await run_loop_turns(1)
    assert healthy.followed == 1
    assert "of a policy" in caplog.text


async def test_distances_are_not_followed_after_close() -> None:
    all_sessions = new_sessions(Session())
    all_sessions.follow_distances_soon()
    all_sessions.stop_following()
    assert all_sessions._following is not None
    assert all_sessions._following.cancelled()
    # After `stop_following`, a later call does not start a task, either.
    all_sessions._following = None
    all_sessions.follow_distances_soon()
    assert all_sessions._following is None


def test_many_open_sessions_are_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    opened = new_sessions(*(Session() for _ in range(MANY_SESSIONS - 1)))
    assert not caplog.records
    for _ in range(3):
        session: Any = Session()
        opened.add(session)
        opened.remove(session)
    assert [record.getMessage() for record in caplog.records] == [
        f"{MANY_SESSIONS} sessions of a cluster are open, each with its own connections: one "
        "session serves all threads, tasks and requests; session.shutdown() closes one"
    ]
