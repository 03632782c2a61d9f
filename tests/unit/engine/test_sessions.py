"""The open sessions of a cluster, with sessions that only have pools and distances."""

from __future__ import annotations

from typing import Any

import pytest

from cassandra.engine.sessions import Sessions
from cassandra.metadata.host import Host
from cassandra.policies.balancing import HostDistance
from tests.unit.engine.partners import host, turns

NEAR, FAR = host("10.0.0.1"), host("10.0.0.2")


class Session:
    """A session with pools to some hosts, which wants connections to others."""

    def __init__(self, *pools: Host, wants: tuple[Host, ...] = (NEAR, FAR)) -> None:
        self.pools = {each: Pool(each) for each in pools}
        self.wants = wants
        self.followed = 0
        self.closed = False
        self.owner: Sessions | None = None

    def distance(self, host: Host) -> int:
        return HostDistance.LOCAL if host in self.wants else HostDistance.IGNORED

    def follow_distances(self) -> None:
        self.followed += 1

    def close(self) -> None:
        self.closed = True
        if self.owner is not None:
            self.owner.remove(self)  # type: ignore[arg-type]


class Pool:
    """One connection that serves, and one that is closed as soon as it is idle."""

    def __init__(self, host: Host) -> None:
        self.connections = [f"to {host}"]

    def open_connections(self) -> list[str]:
        return [*self.connections, "retired"]


def sessions(*made: Session) -> Sessions:
    found = Sessions()
    for one in made:
        one.owner = found
        session: Any = one
        found.add(session)
    return found


def test_which_hosts_are_served() -> None:
    found = sessions(Session(NEAR), Session(NEAR, FAR))
    assert found.have_pool(NEAR)
    assert found.have_pool(FAR)
    assert found.are_served(NEAR)
    assert not found.are_served(FAR)  # the first one wants it, and has no pool
    assert sessions(Session(NEAR, wants=(NEAR,)), Session(NEAR, FAR)).are_served(FAR)


def test_a_host_is_ignored_if_no_session_wants_it() -> None:
    assert sessions(Session(wants=(NEAR,))).ignore(FAR)
    assert not sessions(Session(wants=(NEAR,)), Session()).ignore(FAR)
    assert not sessions().ignore(FAR)  # nobody has said anything


def test_connections_of_all_pools() -> None:
    found = sessions(Session(NEAR), Session(NEAR, FAR))
    assert len(found.connections()) == 6  # those that are retired, too: they need heartbeats


def test_closing_takes_all_of_them_out() -> None:
    made = [Session(), Session(), Session()]
    found = sessions(*made)
    found.close()
    assert [one.closed for one in made] == [True] * 3
    assert len(found) == 0
    found.remove(made[0])  # type: ignore[arg-type]  # once more does nothing


async def test_distances_are_followed_once_for_a_burst(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cassandra.engine.sessions.FOLLOW_DELAY", 0.0)
    one = Session()
    found = sessions(one)
    for _ in range(5):
        found.follow_distances_soon()
    while found._following is not None:
        await turns(1)
    assert one.followed == 1


async def test_an_error_of_one_session_does_not_keep_others_from_following(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("cassandra.engine.sessions.FOLLOW_DELAY", 0.0)
    broken, one = Session(), Session()

    def fail() -> None:
        raise ValueError("of a policy")

    broken.follow_distances = fail  # type: ignore[method-assign]
    found = sessions(broken, one)
    found.follow_distances_soon()
    while found._following is not None:
        await turns(1)
    assert one.followed == 1
    assert "of a policy" in caplog.text


async def test_nothing_is_followed_after_the_end() -> None:
    found = sessions(Session())
    found.follow_distances_soon()
    found.stop_following()
    assert found._following is not None
    assert found._following.cancelled()
    found._following = None
    found.follow_distances_soon()
    assert found._following is None
