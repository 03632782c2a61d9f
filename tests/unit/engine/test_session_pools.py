"""The pools of a session, and tasks that end with it, with fakes of the engine."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra.engine.session import EngineSession
from cassandra.errors import (
    ConnectionException,
    ConnectionShutdown,
    NoHostAvailable,
    OperationTimedOut,
    SessionShutdown,
)
from cassandra.metadata.host import Host
from cassandra.policies import HostDistance
from tests.unit.engine import partners
from tests.unit.engine.partners import host, settings, turns


class IdentityNamespace(SimpleNamespace):
    """Attributes in an object that compares by identity."""

    __hash__ = object.__hash__  # type: ignore[assignment]


class FakePool:
    """Fake pool with the attributes that a session uses."""

    def __init__(self, host: Host, error: Exception | None, gate: asyncio.Event | None) -> None:
        self.host = host
        self.distance = 0
        self.size = 1
        self.in_flight = 0
        self.closed = False
        self.closed_with: Exception | None = None
        self.connections: list[Any] = []
        self._error = error
        self._gate = gate

    async def fill(self) -> None:
        if self._gate is not None:
            await self._gate.wait()
        if self._error is not None:
            raise self._error

    def resize(self, size: int) -> None:
        self.size = size

    def close(self, error: Exception | None = None) -> None:
        self.closed, self.closed_with = True, error

    def open_connections(self) -> list[Any]:
        return self.connections


class Engine:
    """Fake `Core`; `told` records the session's reports."""

    def __init__(self, *hosts: Host) -> None:
        self.known = list(hosts)
        self.told: list[Any] = []
        self.connections = 1
        self.loop = asyncio.get_running_loop()
        self.timers: Any = None
        self.throttler: Any = None
        self.wake_queue = None
        self.metadata = SimpleNamespace(all_hosts=lambda: list(self.known), tablets=None)
        self.listeners = SimpleNamespace(policies=[])
        self.query_fallback = SimpleNamespace(
            opens_pools=True, is_allowed=False, release=self.tell("released")
        )
        self.hosts = SimpleNamespace(
            on_connection_failure=self.tell("failure"), on_answer=self.tell("answer")
        )
        self.sessions = SimpleNamespace(
            remove=self.tell("removed"), follow_distances_soon=self.tell("distances soon")
        )
        self.settings = settings(connections_to=lambda distance: self.connections)
        self.agreement: Any = SimpleNamespace(wait=self._agree)
        self.schema: Any = SimpleNamespace(after_ddl=self._after_ddl)
        self.internal_queries: Any = SimpleNamespace(query=self._use)
        self.agrees: bool | Exception = True
        self.refusals: dict[Any, BaseException] = {}

    def tell(self, event: str) -> Callable[..., None]:
        def note(*arguments: Any) -> None:
            self.told.append((event, *arguments))

        return note

    def hooks_of(self, observers: object) -> None:
        return None

    def spawn(self, coroutine: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        return partners.spawn(coroutine)

    async def _agree(self, connection: Any) -> bool:
        await asyncio.sleep(0)
        if isinstance(self.agrees, Exception):
            raise self.agrees
        return self.agrees

    async def _after_ddl(self, event: Any, connection: Any) -> None:
        self.told.append(("read again", event))

    async def _use(self, connection: Any, query: str) -> None:
        await asyncio.sleep(0)
        self.told.append((connection.endpoint.address, query))
        refusal = self.refusals.get(connection.endpoint.address)
        if refusal is not None:
            raise refusal


class Session(EngineSession):
    """A session whose pools are `FakePool`; `errors` and `gates` apply to pools that it opens."""

    def __init__(self, engine: Engine, distance: Callable[[Host], int] | None = None) -> None:
        super().__init__(engine, None, distance or (lambda host: HostDistance.LOCAL))  # type: ignore[arg-type]
        self.errors: dict[Host, Exception] = {}
        self.gates: dict[Host, asyncio.Event] = {}
        self.made: list[Any] = []

    def _new_pool(self, host: Host, distance: int) -> Any:
        pool = FakePool(host, self.errors.get(host), self.gates.get(host))
        self.made.append(pool)
        return pool


A, B, C = (host(f"10.0.0.{number}") for number in (1, 2, 3))


async def test_a_pool_for_each_host_that_is_wanted_and_not_down() -> None:
    down, ignored = host("10.0.0.8", is_up=False), host("10.0.0.9")
    engine = Engine(A, down, ignored, host("10.0.0.7", is_up=None))
    session = Session(
        engine, lambda host: HostDistance.IGNORED if host is ignored else HostDistance.LOCAL
    )
    await session.open(wait_for_all=True)
    assert [str(host.address) for host in session.pools] == ["10.0.0.1", "10.0.0.7"]
    assert session.pools_by_id == {id(pool.host): pool for pool in session.pools.values()}
    assert ("answer", A) in engine.told


async def test_a_session_opens_with_the_first_pool_and_adds_others_later() -> None:
    engine = Engine(A, B)
    session = Session(engine)
    session.gates[B] = asyncio.Event()
    opening = asyncio.ensure_future(session.open(wait_for_all=True))
    await turns()
    assert list(session.pools) == [A]
    assert not opening.done()
    session.gates[B].set()
    await opening
    assert set(session.pools) == {A, B}


async def test_no_pool_at_all_is_an_error_with_the_reason_of_each_host() -> None:
    session = Session(Engine(A, B))
    session.errors = {A: ConnectionException("refused"), B: OperationTimedOut()}
    with pytest.raises(NoHostAvailable, match="Unable to connect to any servers") as caught:
        await session.open()
    assert list(caught.value.errors) == [str(A), str(B)]
    assert session.pool_error(A) is session.errors[A]
    assert all(pool.closed for pool in session.made)


async def test_without_a_pool_the_control_connection_may_serve() -> None:
    engine = Engine(A)
    session = Session(engine)
    session.errors[A] = ConnectionException("refused")
    engine.query_fallback.is_allowed = True
    await session.open()
    assert session.adopt_without_use("ks")
    assert session.keyspace == "ks"


async def test_no_host_that_is_wanted() -> None:
    session = Session(Engine(A), lambda host: HostDistance.IGNORED)
    with pytest.raises(NoHostAvailable, match="no host is up and not ignored"):
        await session.open()


async def test_a_data_centre_that_does_not_exist_is_named() -> None:
    engine = Engine(A)
    A.set_location_info("east", "r1")
    child = SimpleNamespace(local_dc="est", _child_policy=None)
    engine.listeners.policies.append(SimpleNamespace(local_dc=None, _child_policy=child))
    session = Session(engine, lambda host: HostDistance.IGNORED)
    with pytest.raises(NoHostAvailable, match=r"data centre 'est'.*the nodes are in 'east'"):
        await session.open()


async def test_a_session_that_is_closed_while_it_opens() -> None:
    session = Session(Engine(A))
    session.gates[A] = asyncio.Event()
    opening = asyncio.ensure_future(session.open())
    await turns()
    session.close()
    with pytest.raises(ConnectionShutdown):
        await opening
    assert session.made[0].closed
    assert session.pools == {}


async def test_two_who_want_a_pool_open_one() -> None:
    session = Session(Engine(A))
    session.gates[A] = asyncio.Event()
    first = asyncio.ensure_future(session.add_pool(A))
    second = asyncio.ensure_future(session.add_pool(A))
    await turns()
    first.cancel()  # the other caller still gets it
    session.gates[A].set()
    await second
    await session.add_pool(A)
    assert len(session.made) == 1
    assert session.made == list(session.pools.values())


async def test_a_pool_follows_the_settings_of_the_time_when_it_is_there() -> None:
    engine = Engine(A)
    session = Session(engine)
    session.gates[A] = asyncio.Event()
    opening = asyncio.ensure_future(session.add_pool(A))
    await turns()
    engine.connections = 4
    session.gates[A].set()
    await opening
    assert session.made[0].size == 4
    engine.connections = 2
    session.resize_pools()
    assert session.made[0].size == 2


async def test_a_host_that_leaves_while_its_pool_opens() -> None:
    session = Session(Engine(A))
    session.gates[A] = asyncio.Event()
    opening = asyncio.ensure_future(session.add_pool(A))
    await turns()
    session.forget_host(A, ConnectionException("it has left"))
    await opening
    assert session.made[0].closed
    assert A not in session.pools
    # Nothing of the pool is left, so the host may come back.
    del session.gates[A]
    await session.add_pool(A)
    assert session.made[1:] == list(session.pools.values())


async def test_an_error_is_forgotten_with_the_next_success() -> None:
    session = Session(Engine(A))
    session.errors[A] = ConnectionException("refused")
    await session.add_pool(A)
    assert session.why_no_pool(A) is session.errors[A]
    del session.errors[A]
    await session.add_pool(A)
    assert session.pool_error(A) is None
    assert "no connection to" in str(session.why_no_pool(A))


async def test_a_pool_that_has_lost_all_connections() -> None:
    engine = Engine(A)
    session = Session(engine)
    await session.add_pool(A)
    error = ConnectionException("reset")
    session._on_failure(session.pools[A], error)
    assert session.pools == session.pools_by_id == {}
    assert session.made[0].closed_with is error
    assert session.pool_error(A) is error
    assert ("failure", A, error) in engine.told


async def test_pools_follow_the_distances() -> None:
    engine = Engine(A, B)
    distances = {A: HostDistance.LOCAL, B: HostDistance.IGNORED}
    session = Session(engine, lambda host: distances[host])
    await session.open(wait_for_all=True)
    distances.update({A: HostDistance.IGNORED, B: HostDistance.REMOTE})
    session.pools[A].in_flight = 1  # type: ignore[misc]
    session.follow_distances()
    await turns()
    assert set(session.pools) == {A, B}  # requests in flight may end
    assert ("distances soon",) in engine.told
    session.pools[A].in_flight = 0  # type: ignore[misc]
    session.follow_distances()
    assert set(session.pools) == {B}
    assert "is ignored by the load balancing policies" in str(session.made[0].closed_with)
    distances[B] = HostDistance.LOCAL
    session.follow_distances()
    assert session.pools[B].distance == HostDistance.LOCAL


async def test_a_host_that_is_down_gets_no_pool_by_its_distance() -> None:
    down = host("10.0.0.8", is_up=False)
    session = Session(Engine(A, down))
    session.follow_distances()
    await turns()
    assert set(session.pools) == {A}


# -- closing ---------------------------------------------------------------------------------------


async def test_all_work_ends_with_the_session() -> None:
    engine = Engine(A, B)
    session = Session(engine)
    await session.open(wait_for_all=True)
    failed: list[Exception] = []
    session.delayed.add(IdentityNamespace(fail=failed.append))
    session.throttle = SimpleNamespace(  # type: ignore[assignment]
        fail_all_of=lambda whose, error: failed.append(error)
    )
    background = session.run_in_background(asyncio.Event().wait())  # type: ignore[arg-type]
    session.close()
    session.close()  # the second call does nothing
    await turns()
    assert background.cancelled()
    assert len(failed) == 2
    assert all(type(error) is SessionShutdown for error in failed)
    assert all(pool.closed and pool.closed_with is failed[0] for pool in session.made)
    assert [event[0] for event in engine.told if event[0] in ("released", "removed")] == [
        "released", "removed",
    ]  # fmt: skip
    later = session.closed_error()
    assert isinstance(later, SessionShutdown)
    assert list(later.errors) == [str(A), str(B)]
    await session.add_pool(C)
    session.follow_distances()
    assert len(session.made) == 2


# -- waiting requests ------------------------------------------------------------------------------


class Waiting:
    """Fake request that waits for the session."""

    def __init__(self) -> None:
        self.response: Any = None
        self.outcome: Any = None
        self.done = False

    def finish(self, response: Any) -> None:
        self.done, self.outcome = True, response

    def fail(self, error: Any) -> None:
        self.done, self.outcome = True, error


def request_with_ddl(engine: Engine, session: Session) -> Any:
    """Return a fake request whose DDL statement was just executed."""
    waiting, response = Waiting(), SimpleNamespace()
    session.on_schema_change({"keyspace": "ks"}, partners.connection(), waiting, response)  # type: ignore[arg-type]
    assert waiting.response is response
    assert response.is_schema_agreed is False
    return waiting


@pytest.mark.parametrize("agrees", [True, False, OperationTimedOut()])
async def test_a_change_of_the_schema_is_read_before_its_request_ends(agrees: Any) -> None:
    engine = Engine(A)
    engine.agrees = agrees
    waiting = request_with_ddl(engine, Session(engine))
    await turns()
    assert engine.told == [("read again", {"keyspace": "ks"})]
    assert waiting.outcome is waiting.response
    assert waiting.response.is_schema_agreed is (agrees is True)


async def test_a_change_of_the_schema_is_made_also_if_the_session_ends() -> None:
    engine = Engine(A)
    session = Session(engine)
    waiting = request_with_ddl(engine, session)
    session.close()
    await turns()
    assert waiting.outcome is waiting.response


async def test_work_that_fails_fails_its_request() -> None:
    async def fails() -> None:
        raise OperationTimedOut("too late")

    waiting = Waiting()
    session = Session(Engine(A))
    session.run_for(waiting, fails())  # type: ignore[arg-type]
    await turns()
    assert isinstance(waiting.outcome, OperationTimedOut)


async def test_work_that_is_cancelled_before_its_first_step_fails_its_request() -> None:
    waiting = Waiting()
    session = Session(Engine(A))
    session.run_for(waiting, asyncio.sleep(0))  # type: ignore[arg-type]
    session.close()
    await turns()
    assert isinstance(waiting.outcome, SessionShutdown)


async def test_a_keyspace_is_used_everywhere_or_the_connection_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    used = []

    async def switch(session: Any, connection: Any, keyspace: str) -> None:
        used.append((connection, keyspace))
        if connection is refusing:
            raise OperationTimedOut("no answer")

    monkeypatch.setattr("cassandra.engine.session.switch", switch)
    session = Session(Engine(A))
    await session.add_pool(A)
    plain, refusing, switched, gated, opening = (
        partners.connection(f"10.0.0.{number}") for number in range(1, 6)
    )
    switched.keyspace = gated.keyspace = "KS"
    gated.gate = object()  # an earlier switch waits there
    session.made[0].connections = [plain, refusing, switched, gated]
    half_open: Any = IdentityNamespace(connections=[opening])
    session._opening_pools.add(half_open)
    waiting, response = Waiting(), SimpleNamespace()
    session.adopt_keyspace("KS", switched, waiting, response)  # type: ignore[arg-type]
    assert session.keyspace == "KS"
    await turns()
    assert used == [(connection, "KS") for connection in (plain, refusing, gated, opening)]
    assert [
        connection for connection in (plain, refusing, switched, gated) if connection.closed
    ] == [refusing]
    assert "could not use keyspace 'KS'" in str(refusing.close_error)
    assert waiting.outcome is response
