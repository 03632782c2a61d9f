"""The pools of a session and its background tasks, with fakes in place of the engine and its
pools.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra.engine.connection import METADATA_IDS, Connection
from cassandra.engine.session import EngineSession
from cassandra.errors import (
    ConnectionException,
    ConnectionShutdown,
    InvalidRequest,
    NoHostAvailable,
    OperationTimedOut,
    SessionShutdown,
)
from cassandra.metadata.host import Host
from cassandra.policies import HostDistance
from tests.unit.engine import partners
from tests.unit.engine.partners import engine_settings, new_host, run_loop_turns


class IdentityNamespace(SimpleNamespace):
    """A namespace that can be hashed: it compares by identity."""

    __hash__ = object.__hash__  # type: ignore[assignment]


class FakePool:
    """A fake pool with the attributes that a session uses.

    `closed_with` is the error with which the session has closed the pool.

    :param fill_error: the error that `fill` raises; None if it succeeds.
    :param may_fill: an event for which `fill` waits first; None for no wait.
    """

    def __init__(
        self, host: Host, fill_error: Exception | None, may_fill: asyncio.Event | None
    ) -> None:
        self.host = host
        # No policy of the tests returns this distance, so that they see if a session sets another.
        self.distance: int = HostDistance.LOCAL_RACK
        self.size = 1
        self.in_flight = 0
        self.closed = False
        self.closed_with: Exception | None = None
        self.connections: list[Any] = []
        self._fill_error = fill_error
        self._may_fill = may_fill

    async def fill(self) -> None:
        if self._may_fill is not None:
            await self._may_fill.wait()
        if self._fill_error is not None:
            raise self._fill_error

    def resize(self, size: int) -> None:
        self.size = size

    def close(self, error: Exception | None = None) -> None:
        self.closed, self.closed_with = True, error

    def open_connections(self) -> list[Any]:
        return self.connections


class Engine:
    """A fake `Core`. It records in `calls` what a session calls on it."""

    def __init__(self, *hosts: Host) -> None:
        self.known_hosts = list(hosts)
        self.calls: list[Any] = []
        self.connections = 1
        self.loop = asyncio.get_running_loop()
        self.timers: Any = None
        self.throttler: Any = None
        self.wake_queue = None
        self.metadata = SimpleNamespace(all_hosts=lambda: list(self.known_hosts), tablets=None)
        self.listeners = SimpleNamespace(policies=[])
        self.query_fallback = SimpleNamespace(
            opens_pools=True, is_allowed=False, release=self.recorder("released")
        )
        self.hosts = SimpleNamespace(
            on_connection_failure=self.recorder("failure"),
            on_answer=self.recorder("answer"),
            on_wanted=self.recorder("wanted"),
        )
        self.sessions = SimpleNamespace(
            remove=self.recorder("removed"), follow_distances_soon=self.recorder("distances soon")
        )
        self.settings = engine_settings(connections_to=lambda distance: self.connections)
        self.agreement: Any = SimpleNamespace(wait=self._agree)
        self.schema: Any = SimpleNamespace(after_ddl=self._after_ddl)
        self.internal_queries: Any = SimpleNamespace(query=self._use)
        self.agrees: bool | Exception = True
        self.refusals: dict[Any, BaseException] = {}

    def recorder(self, event: str) -> Callable[..., None]:
        def record(*arguments: Any) -> None:
            self.calls.append((event, *arguments))

        return record

    def hooks_of(self, observers: object) -> None:
        return None

    def spawn(self, coroutine: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        return partners.spawn(coroutine)

    async def _agree(self, connection: Any) -> bool:
        # Let other tasks run, as they do while versions are queried.
        await asyncio.sleep(0)
        if isinstance(self.agrees, Exception):
            raise self.agrees
        return self.agrees

    async def _after_ddl(self, event: Any, connection: Any) -> None:
        self.calls.append(("read again", event))

    async def _use(self, connection: Any, query: str) -> None:
        # Let other tasks run, as they do during a real query.
        await asyncio.sleep(0)
        self.calls.append((connection.endpoint.address, query))
        refusal = self.refusals.get(connection.endpoint.address)
        if refusal is not None:
            raise refusal


class Session(EngineSession):
    """A session that opens `FakePool` objects.

    The attributes `fill_errors` and `may_fill` have the arguments of the fake pools, by host.
    """

    def __init__(self, engine: Engine, distance: Callable[[Host], int] | None = None) -> None:
        super().__init__(engine, None, distance or (lambda host: HostDistance.LOCAL))  # type: ignore[arg-type]
        self.fill_errors: dict[Host, Exception] = {}
        self.may_fill: dict[Host, asyncio.Event] = {}
        self.opened_pools: list[Any] = []

    def _new_pool(self, host: Host, distance: int) -> Any:
        pool = FakePool(host, self.fill_errors.get(host), self.may_fill.get(host))
        self.opened_pools.append(pool)
        return pool


A, B, C = (new_host(f"10.0.0.{number}") for number in (1, 2, 3))


async def test_a_session_opens_pools_to_hosts_that_are_neither_down_nor_ignored() -> None:
    down, ignored = new_host("10.0.0.8", is_up=False), new_host("10.0.0.9")
    engine = Engine(A, down, ignored, new_host("10.0.0.7", is_up=None))
    session = Session(
        engine, lambda host: HostDistance.IGNORED if host is ignored else HostDistance.LOCAL
    )
    await session.open(wait_for_all=True)
    assert [str(host.address) for host in session.pools] == ["10.0.0.1", "10.0.0.7"]
    assert session.pools_by_id == {id(pool.host): pool for pool in session.pools.values()}
    assert ("answer", A) in engine.calls


async def test_a_session_opens_with_the_first_pool_and_adds_others_later() -> None:
    engine = Engine(A, B)
    session = Session(engine)
    session.may_fill[B] = asyncio.Event()
    opening = asyncio.ensure_future(session.open(wait_for_all=True))
    await run_loop_turns()
    assert list(session.pools) == [A]
    # The pool of A is open, but with `wait_for_all` the call still waits for that of B.
    assert not opening.done()
    session.may_fill[B].set()
    await opening
    assert set(session.pools) == {A, B}


async def test_without_any_pool_the_error_has_the_reason_of_each_host() -> None:
    session = Session(Engine(A, B))
    session.fill_errors = {A: ConnectionException("refused"), B: OperationTimedOut()}
    with pytest.raises(NoHostAvailable, match="Unable to connect to any servers") as caught:
        await session.open()
    assert list(caught.value.errors) == [str(A), str(B)]
    assert session.pool_error(A) is session.fill_errors[A]
    assert all(pool.closed for pool in session.opened_pools)


async def test_without_a_pool_the_control_connection_may_serve() -> None:
    engine = Engine(A)
    session = Session(engine)
    session.fill_errors[A] = ConnectionException("refused")
    engine.query_fallback.is_allowed = True
    await session.open()
    # Without a pool the session would have to use the control connection, on which no USE may be
    # sent, so only the name is stored.
    assert session.adopt_without_use("ks")
    assert session.keyspace == "ks"


async def test_if_all_hosts_are_ignored_open_raises() -> None:
    session = Session(Engine(A), lambda host: HostDistance.IGNORED)
    with pytest.raises(NoHostAvailable, match="no host is up and not ignored"):
        await session.open()


async def test_an_unknown_local_dc_is_named_in_the_error() -> None:
    engine = Engine(A)
    A.set_location_info("east", "r1")
    child = SimpleNamespace(local_dc="est", _child_policy=None)
    engine.listeners.policies.append(SimpleNamespace(local_dc=None, _child_policy=child))
    session = Session(engine, lambda host: HostDistance.IGNORED)
    with pytest.raises(NoHostAvailable, match=r"data centre 'est'.*the nodes are in 'east'"):
        await session.open()


async def test_close_during_open_closes_the_pool() -> None:
    session = Session(Engine(A))
    session.may_fill[A] = asyncio.Event()
    opening = asyncio.ensure_future(session.open())
    await run_loop_turns()
    session.close()
    with pytest.raises(ConnectionShutdown):
        await opening
    assert session.opened_pools[0].closed
    assert session.pools == {}


async def test_two_callers_of_add_pool_open_one_pool() -> None:
    session = Session(Engine(A))
    session.may_fill[A] = asyncio.Event()
    first = asyncio.ensure_future(session.add_pool(A))
    second = asyncio.ensure_future(session.add_pool(A))
    await run_loop_turns()
    first.cancel()  # the other caller still gets the pool
    session.may_fill[A].set()
    await second
    await session.add_pool(A)
    assert len(session.opened_pools) == 1
    assert session.opened_pools == list(session.pools.values())


async def test_a_pool_gets_the_size_that_is_set_when_it_is_open() -> None:
    engine = Engine(A)
    session = Session(engine)
    session.may_fill[A] = asyncio.Event()
    opening = asyncio.ensure_future(session.add_pool(A))
    await run_loop_turns()
    engine.connections = 4
    session.may_fill[A].set()
    await opening
    assert session.opened_pools[0].size == 4
    engine.connections = 2
    session.resize_pools()
    assert session.opened_pools[0].size == 2


async def test_if_a_host_leaves_while_its_pool_opens_the_pool_is_closed() -> None:
    session = Session(Engine(A))
    session.may_fill[A] = asyncio.Event()
    opening = asyncio.ensure_future(session.add_pool(A))
    await run_loop_turns()
    session.forget_host(A, ConnectionException("it has left"))
    await opening
    assert session.opened_pools[0].closed
    assert A not in session.pools
    # The session has forgotten this pool, so the host can get a new one when it comes back.
    del session.may_fill[A]
    await session.add_pool(A)
    assert session.opened_pools[1:] == list(session.pools.values())


async def test_the_error_of_a_pool_is_forgotten_after_a_success() -> None:
    session = Session(Engine(A))
    session.fill_errors[A] = ConnectionException("refused")
    await session.add_pool(A)
    assert session.why_no_pool(A) is session.fill_errors[A]
    del session.fill_errors[A]
    await session.add_pool(A)
    assert session.pool_error(A) is None
    assert "no connection to" in str(session.why_no_pool(A))


async def test_a_pool_that_fails_is_removed_and_reported() -> None:
    engine = Engine(A)
    session = Session(engine)
    await session.add_pool(A)
    error = ConnectionException("reset")
    session._on_failure(session.pools[A], error)
    assert session.pools == session.pools_by_id == {}
    assert session.opened_pools[0].closed_with is error
    assert session.pool_error(A) is error
    assert ("failure", A, error) in engine.calls


async def test_the_newest_reason_of_a_host_wins() -> None:
    session = Session(Engine(A, B))
    session.fill_errors[A] = ConnectionException("refused")
    await session.add_pool(A)
    newer = ConnectionException("the certificate has expired")
    try:
        A._remember_failure(newer)
        assert session.why_no_pool(A) is newer
        B.set_down()
        B._remember_failure(newer)  # for example, a failure before this session was opened
        assert session.why_no_pool(B) is newer
        B.set_up()
        # a single connection of another session failed, so this host is still up
        B._remember_failure(newer)
        assert session.pool_error(B) is None
        await session.add_pool(B)
        assert session.pool_error(B) is None
    finally:
        A.set_up()
        B.set_up()


async def test_pools_are_opened_and_closed_when_distances_change() -> None:
    engine = Engine(A, B)
    distances = {A: HostDistance.LOCAL, B: HostDistance.IGNORED}
    session = Session(engine, lambda host: distances[host])
    await session.open(wait_for_all=True)
    distances.update({A: HostDistance.IGNORED, B: HostDistance.REMOTE})
    session.pools[A].in_flight = 1  # type: ignore[misc]
    session.follow_distances()
    await run_loop_turns()
    assert set(session.pools) == {A, B}  # the request in flight goes on
    assert ("distances soon",) in engine.calls
    # When the last request has ended, following the distances again closes the pool.
    session.pools[A].in_flight = 0  # type: ignore[misc]
    session.follow_distances()
    assert set(session.pools) == {B}
    assert "is ignored by the load balancing policies" in str(session.opened_pools[0].closed_with)
    # A host that is still used keeps its pool, with the new distance.
    distances[B] = HostDistance.LOCAL
    session.follow_distances()
    assert session.pools[B].distance == HostDistance.LOCAL


async def test_follow_distances_opens_no_pool_to_a_host_that_is_down() -> None:
    """The watch decides whether somebody has to try the host."""
    down = new_host("10.0.0.8", is_up=False)
    engine = Engine(A, down)
    session = Session(engine)
    session.follow_distances()
    await run_loop_turns()
    assert set(session.pools) == {A}
    assert ("wanted", down) in engine.calls


# -- closing ---------------------------------------------------------------------------------------


async def test_close_fails_all_requests_and_tasks() -> None:
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
    await run_loop_turns()
    assert background.cancelled()
    # A request that waits for its retry, and the queue of the throttler.
    assert len(failed) == 2
    assert all(type(error) is SessionShutdown for error in failed)
    assert all(pool.closed and pool.closed_with is failed[0] for pool in session.opened_pools)
    assert [event[0] for event in engine.calls if event[0] in ("released", "removed")] == [
        "released", "removed",
    ]  # fmt: skip
    later = session.closed_error()
    assert isinstance(later, SessionShutdown)
    assert list(later.errors) == [str(A), str(B)]
    # A closed session opens no further pool.
    await session.add_pool(C)
    session.follow_distances()
    assert len(session.opened_pools) == 2


# -- waiting requests ------------------------------------------------------------------------------


class WaitingRequest:
    """A fake request that waits until a task of the session has ended."""

    def __init__(self) -> None:
        self.response: Any = None
        self.outcome: Any = None
        self.done = False

    def finish(self, response: Any) -> None:
        self.done, self.outcome = True, response

    def fail(self, error: Any) -> None:
        self.done, self.outcome = True, error


def request_with_ddl(engine: Engine, session: Session) -> Any:
    """Return a fake request whose DDL statement the server has just executed."""
    waiting, response = WaitingRequest(), SimpleNamespace()
    session.on_schema_change({"keyspace": "ks"}, partners.fake_connection(), waiting, response)  # type: ignore[arg-type]
    assert waiting.response is response
    assert response.is_schema_agreed is False
    return waiting


@pytest.mark.parametrize("agrees", [True, False, OperationTimedOut()])
async def test_after_ddl_the_schema_is_read_before_the_request_ends(agrees: Any) -> None:
    engine = Engine(A)
    engine.agrees = agrees
    waiting = request_with_ddl(engine, Session(engine))
    await run_loop_turns()
    assert engine.calls == [("read again", {"keyspace": "ks"})]
    assert waiting.outcome is waiting.response
    assert waiting.response.is_schema_agreed is (agrees is True)


async def test_a_ddl_request_succeeds_even_if_the_session_closes() -> None:
    engine = Engine(A)
    session = Session(engine)
    waiting = request_with_ddl(engine, session)
    session.close()
    await run_loop_turns()
    assert waiting.outcome is waiting.response


async def test_an_error_in_run_for_fails_the_request() -> None:
    async def raise_timeout() -> None:
        raise OperationTimedOut("too late")

    waiting = WaitingRequest()
    session = Session(Engine(A))
    session.run_for(waiting, raise_timeout())  # type: ignore[arg-type]
    await run_loop_turns()
    assert isinstance(waiting.outcome, OperationTimedOut)


async def test_close_before_the_first_step_of_run_for_fails_the_request() -> None:
    waiting = WaitingRequest()
    session = Session(Engine(A))
    session.run_for(waiting, asyncio.sleep(0))  # type: ignore[arg-type]
    session.close()
    await run_loop_turns()
    assert isinstance(waiting.outcome, SessionShutdown)


async def test_a_connection_that_cannot_use_the_keyspace_is_closed(
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
        partners.fake_connection(f"10.0.0.{number}") for number in range(1, 6)
    )
    switched.keyspace = gated.keyspace = "KS"
    gated.gate = object()  # requests of this connection wait for an earlier switch of the keyspace
    session.opened_pools[0].connections = [plain, refusing, switched, gated]
    # This connection is the first one of a pool that is still being opened.
    unfilled_pool: Any = IdentityNamespace(connections=[opening])
    session._opening_pools.add(unfilled_pool)
    waiting, response = WaitingRequest(), SimpleNamespace()
    session.adopt_keyspace("KS", switched, waiting, response)  # type: ignore[arg-type]
    assert session.keyspace == "KS"
    await run_loop_turns()
    # `switched` got no USE: it already has the keyspace, and no earlier switch is pending on it.
    assert used == [(connection, "KS") for connection in (plain, refusing, gated, opening)]
    assert [
        connection for connection in (plain, refusing, switched, gated) if connection.closed
    ] == [refusing]
    assert "could not use keyspace 'KS'" in str(refusing.close_error)
    assert waiting.outcome is response


# -- pools whose hosts change ----------------------------------------------------------------------


async def test_a_pool_is_resized_if_the_settings_change_while_it_opens() -> None:
    engine = Engine(A)
    session = Session(engine)
    session.may_fill[A] = asyncio.Event()
    opening = asyncio.ensure_future(session.add_pool(A))
    await run_loop_turns()
    engine.connections = 3
    session.may_fill[A].set()
    await opening
    assert session.pools[A].size == 3


async def test_draining_a_host_takes_its_pool_and_stops_opening_one() -> None:
    engine = Engine(A, B)
    session = Session(engine)
    session.may_fill[B] = asyncio.Event()
    await session.add_pool(A)
    opening = asyncio.ensure_future(session.add_pool(B))
    await run_loop_turns()
    drained: list[Any] = []
    pool: Any = session.pools[A]
    pool.drain = lambda error, on_drained: drained.append((error, on_drained))
    error = ConnectionException("will stop")
    for host_ in (A, B):
        session.drain_host(host_, error)
    await opening
    await run_loop_turns()
    assert session.pools == session.pools_by_id == {}
    assert session.pool_error(A) is error
    assert session.why_no_pool(A) is error
    assert list(session.draining) == [pool]
    ((reason, on_drained),) = drained
    assert reason is error
    on_drained(pool)
    assert not session.draining
    assert session.opened_pools[1].closed


async def test_a_host_that_leaves_loses_its_pool_and_its_error() -> None:
    session = Session(Engine(A, B))
    session.fill_errors[B] = ConnectionException("refused")
    for host_ in (A, B):
        await session.add_pool(host_)
    (pool, _) = session.opened_pools
    gone = ConnectionException("removed")
    for host_ in (A, B):
        session.forget_host(host_, gone)
    assert session.pools == session.pools_by_id == {}
    assert pool.closed_with is gone
    assert session.pool_error(B) is None
    unknown = session.why_no_pool(B)
    assert isinstance(unknown, ConnectionException)
    assert str(unknown) == f"no connection to {B} is open"
    session.remove_pool(B)  # there is no pool of this host


async def test_an_ignored_host_keeps_its_pool_while_requests_are_in_flight() -> None:
    engine = Engine(A)
    distances = {A: HostDistance.LOCAL}
    session = Session(engine, distances.__getitem__)
    await session.add_pool(A)
    pool: Any = session.pools[A]
    distances[A] = HostDistance.IGNORED
    pool.in_flight = 1
    session.follow_distances()
    assert A in session.pools
    assert engine.calls[-1] == ("distances soon",)
    pool.in_flight = 0
    session.follow_distances()
    assert session.pools == {}
    assert "is ignored by the load balancing policies now" in str(pool.closed_with)
    distances[A] = HostDistance.LOCAL
    session.follow_distances()
    await run_loop_turns()
    assert A in session.pools


# -- requests in another keyspace ------------------------------------------------------------------


class HeldBody:
    """The body of a request that has to run in a given keyspace."""

    is_use = False
    depends = True
    names_keyspace = False

    def __init__(self, expected: str) -> None:
        self.expected = expected

    def texts(self) -> list[str]:
        return ["SELECT k FROM t"]

    def carry_keyspace(self) -> bool:
        return False


async def test_a_request_is_sent_on_a_connection_that_is_in_its_keyspace(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    session = Session(Engine(A))
    await session.add_pool(A)
    loop = asyncio.get_running_loop()
    wrong, right = (Connection(A.endpoint, 4, loop) for _ in range(2))
    wrong.keyspace, right.keyspace = "other", "ks"
    session.opened_pools[0].connections = [wrong, right]
    monkeypatch.setattr("cassandra.engine.session.can_pass", lambda *args: False)
    held: list[Any] = []
    monkeypatch.setattr("cassandra.engine.session.hold", lambda *args: held.append(args))
    sent: list[Any] = []
    request: Any = SimpleNamespace(
        request_body=HeldBody("ks"), send=lambda *args: sent.append(args), _waits=0
    )
    attempt: Any = SimpleNamespace(host=A, connection=wrong)
    assert session.pass_or_hold(request, attempt, wrong) is False
    assert sent == [(attempt, right)]
    assert attempt.connection is right
    assert (held, request._waits) == ([], 0)
    # If no connection is in the request's keyspace, the request waits until its own connection has
    # switched to it.
    gate: Any = object()
    right.gate = gate
    assert session.pass_or_hold(request, attempt, wrong) is False
    assert len(sent) == 1
    assert request._waits == 1
    ((_, connection, _),) = held
    assert connection is wrong
    # The control connection serves all sessions, so it cannot switch its keyspace for one of them.
    wrong.is_control_connection = True
    with pytest.raises(InvalidRequest, match="cannot serve a request in another one"):
        session.pass_or_hold(request, attempt, wrong)


# -- columns of results ----------------------------------------------------------------------------


class Columns(tuple[Any, ...]):
    """Fake result metadata."""

    raw = False


@pytest.mark.parametrize(
    ("new_id", "is_same", "has_ids", "is_remembered"),
    [
        (b"id", False, True, True),
        (b"id", True, True, True),
        (None, False, True, False),  # the columns of a conditional statement
        (None, False, False, True),
        (None, True, False, False),
    ],
)
async def test_new_columns_are_remembered_for_the_prepared_statement(
    new_id: Any, is_same: bool, has_ids: bool, is_remembered: bool
) -> None:
    session = Session(Engine(A))
    updates: list[Any] = []
    prepared = SimpleNamespace(update_result_metadata=lambda *args: updates.append(args))
    body = SimpleNamespace(prepared_statements=lambda: (prepared,))
    cached = Columns((SimpleNamespace(),))
    columns = cached if is_same else Columns((SimpleNamespace(),))
    columns.raw = True
    response: Any = SimpleNamespace(metadata=columns, result_metadata_id=new_id)
    request: Any = SimpleNamespace(request_body=body)
    connection = partners.fake_connection(wire_format=5 | METADATA_IDS if has_ids else 4)
    session._remember_columns(request, connection, response, cached)
    assert updates == ([(columns, new_id)] if is_remembered else [])
    # An application's message class has decoded these columns, so their types may differ from the
    # server's.
    updates.clear()
    columns.raw = False
    session._remember_columns(request, connection, response, cached)
    assert updates == []


# -- the end ---------------------------------------------------------------------------------------


async def test_a_closed_session_opens_nothing_and_names_the_hosts_it_had() -> None:
    engine = Engine(A, B)
    session = Session(engine)
    await session.add_pool(A)
    session.close()
    session.close()
    assert engine.calls.count(("removed", session)) == 1
    error = session.closed_error()
    assert isinstance(error, SessionShutdown)
    assert list(error.errors) == [str(A)]
    await session.add_pool(B)
    session.follow_distances()
    await run_loop_turns()
    assert len(session.opened_pools) == 1
