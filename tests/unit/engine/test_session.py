"""`EngineSession`: its pools and background tasks, with fakes of the engine and the pools."""

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
    """A namespace that can be hashed, and compares by identity."""

    __hash__ = object.__hash__  # type: ignore[assignment]


class FakePool:
    """A fake pool with the attributes that a session uses.

    `closed_with` is the error with which the session has closed the pool.

    :param host: the host of the pool.
    :param fill_error: the error that `fill` raises; None if `fill` succeeds.
    :param may_fill: an event that `fill` waits for; None if `fill` does not wait.
    """

    def __init__(
        self, host: Host, fill_error: Exception | None, may_fill: asyncio.Event | None
    ) -> None:
        self.host = host
        # No policy of the tests returns this distance, so tests notice if a session sets another
        # distance.
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


class FakeCore:
    """A fake `Core` that records in `calls` what a session calls on it, as (name, *arguments).

    `connections` is the size of new pools. `agrees` is the result of waiting for schema agreement,
    or an error to raise. `refusals` maps an address to the error of a USE there.
    """

    def __init__(self, *hosts: Host) -> None:
        self.known_hosts = list(hosts)
        self.calls: list[Any] = []
        self.connections = 1
        self.loop = asyncio.get_running_loop()
        self.timers: Any = None
        self.throttler: Any = None
        self.wake_queue = None
        self.metadata = SimpleNamespace(all_hosts=lambda: list(self.known_hosts), tablets=None)
        self.control = SimpleNamespace(current_host=None)
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
        """Return a function that records its calls under the name `event`."""

        def record(*arguments: Any) -> None:
            self.calls.append((event, *arguments))

        return record

    def hooks_of(self, observers: object) -> None:
        return None

    def spawn(self, coroutine: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        return partners.spawn(coroutine)

    async def _agree(self, connection: Any) -> bool:
        """Return whether the schema versions agree, or raise the error that the test has set."""
        # Let other tasks run, as they would while versions are queried.
        await asyncio.sleep(0)
        if isinstance(self.agrees, Exception):
            raise self.agrees
        return self.agrees

    async def _after_ddl(self, event: Any, connection: Any) -> None:
        self.calls.append(("read again", event))

    async def _use(self, connection: Any, query: str) -> None:
        """Record the `USE`, and raise the error that the test has set for this address."""
        # Let other tasks run, as they would during a real query.
        await asyncio.sleep(0)
        self.calls.append((connection.endpoint.address, query))
        refusal = self.refusals.get(connection.endpoint.address)
        if refusal is not None:
            raise refusal


class SessionWithFakePools(EngineSession):
    """A session that opens fake pools and lists them in `opened_pools`.

    The dicts `fill_errors` and `may_fill` have the arguments for the pools, by host.

    :param engine: the fake engine.
    :param distance: returns the distance of a host. By default, every host is LOCAL.
    """

    def __init__(self, engine: FakeCore, distance: Callable[[Host], int] | None = None) -> None:
        super().__init__(engine, None, distance or (lambda host: HostDistance.LOCAL))  # type: ignore[arg-type]
        self.fill_errors: dict[Host, Exception] = {}
        self.may_fill: dict[Host, asyncio.Event] = {}
        self.opened_pools: list[Any] = []

    def _new_pool(self, host: Host, distance: int) -> Any:
        pool = FakePool(host, self.fill_errors.get(host), self.may_fill.get(host))
        self.opened_pools.append(pool)
        return pool


HOST_A, HOST_B, HOST_C = (new_host(f"10.0.0.{number}") for number in (1, 2, 3))


async def test_a_session_opens_pools_to_hosts_that_are_neither_down_nor_ignored() -> None:
    """`open` opens pools to hosts that are up or whose state is unknown.

    Ignored hosts get no pool.
    """
    down = new_host("10.0.0.8", is_up=False)
    ignored = new_host("10.0.0.9")
    unknown = new_host("10.0.0.7", is_up=None)
    engine = FakeCore(HOST_A, down, ignored, unknown)
    session = SessionWithFakePools(
        engine, lambda host: HostDistance.IGNORED if host is ignored else HostDistance.LOCAL
    )
    await session.open(wait_for_all=True)
    assert list(session.pools) == [HOST_A, unknown]
    assert session.pools_by_id == {id(pool.host): pool for pool in session.pools.values()}
    assert ("answer", HOST_A) in engine.calls


async def test_a_session_opens_with_the_first_pool_and_adds_others_later() -> None:
    """A pool can be used as soon as it is open.

    `open(wait_for_all=True)` waits for all pools.
    """
    engine = FakeCore(HOST_A, HOST_B)
    session = SessionWithFakePools(engine)
    session.may_fill[HOST_B] = asyncio.Event()
    opening = asyncio.ensure_future(session.open(wait_for_all=True))
    await run_loop_turns()
    assert list(session.pools) == [HOST_A]
    # The pool to A is open, but the call still waits for the pool to B.
    assert not opening.done()
    session.may_fill[HOST_B].set()
    await opening
    assert set(session.pools) == {HOST_A, HOST_B}


async def test_without_any_pool_the_error_has_the_reason_of_each_host() -> None:
    """If no pool can be opened, `open` raises NoHostAvailable with the error of each host.

    All pools are closed.
    """
    session = SessionWithFakePools(FakeCore(HOST_A, HOST_B))
    session.fill_errors = {HOST_A: ConnectionException("refused"), HOST_B: OperationTimedOut()}
    with pytest.raises(NoHostAvailable, match="Unable to connect to any servers") as caught:
        await session.open()
    assert list(caught.value.errors) == [str(HOST_A), str(HOST_B)]
    assert session.pool_error(HOST_A) is session.fill_errors[HOST_A]
    assert all(pool.closed for pool in session.opened_pools)


async def test_without_a_pool_the_control_connection_may_serve() -> None:
    """If requests may use the control connection, `open` succeeds even without any pool."""
    engine = FakeCore(HOST_A)
    session = SessionWithFakePools(engine)
    session.fill_errors[HOST_A] = ConnectionException("refused")
    engine.query_fallback.is_allowed = True
    await session.open()
    # The session would use the control connection, on which it must not send a USE. So it only
    # stores the name of the keyspace.
    assert session.adopt_without_use("ks")
    assert session.keyspace == "ks"


async def test_if_all_hosts_are_ignored_open_raises() -> None:
    session = SessionWithFakePools(FakeCore(HOST_A), lambda host: HostDistance.IGNORED)
    with pytest.raises(NoHostAvailable, match="no host is up and not ignored"):
        await session.open()


async def test_an_unknown_local_dc_is_named_in_the_error() -> None:
    """If no host is in a policy's `local_dc`, `open` raises an error that names this data centre.

    The policy ignores all hosts. The error also names the data centres of the nodes.
    """
    engine = FakeCore(HOST_A)
    HOST_A.set_location_info("east", "r1")
    child = SimpleNamespace(local_dc="est", _child_policy=None)
    engine.listeners.policies.append(SimpleNamespace(local_dc=None, _child_policy=child))
    session = SessionWithFakePools(engine, lambda host: HostDistance.IGNORED)
    with pytest.raises(NoHostAvailable, match=r"data centre 'est'.*the nodes are in 'east'"):
        await session.open()


async def test_close_during_open_closes_the_pool() -> None:
    """If the session is closed during `open`, the pool is closed as soon as it is open.

    `open` raises ConnectionShutdown.
    """
    session = SessionWithFakePools(FakeCore(HOST_A))
    session.may_fill[HOST_A] = asyncio.Event()
    opening = asyncio.ensure_future(session.open())
    await run_loop_turns()
    session.close()
    with pytest.raises(ConnectionShutdown):
        await opening
    assert session.opened_pools[0].closed
    assert session.pools == {}


async def test_two_callers_of_add_pool_open_one_pool() -> None:
    """Concurrent calls of `add_pool` share one attempt.

    The attempt continues if one call is cancelled.
    """
    session = SessionWithFakePools(FakeCore(HOST_A))
    session.may_fill[HOST_A] = asyncio.Event()
    cancelled_call = asyncio.ensure_future(session.add_pool(HOST_A))
    other_call = asyncio.ensure_future(session.add_pool(HOST_A))
    await run_loop_turns()
    cancelled_call.cancel()  # the other call must still open the pool
    session.may_fill[HOST_A].set()
    await other_call
    await session.add_pool(HOST_A)
    assert len(session.opened_pools) == 1
    assert session.opened_pools == list(session.pools.values())


async def test_a_pool_gets_the_size_that_is_set_when_it_is_open() -> None:
    """If the setting of the pool size changes while a pool opens or later, the pool is resized."""
    engine = FakeCore(HOST_A)
    session = SessionWithFakePools(engine)
    session.may_fill[HOST_A] = asyncio.Event()
    opening = asyncio.ensure_future(session.add_pool(HOST_A))
    await run_loop_turns()
    engine.connections = 4
    session.may_fill[HOST_A].set()
    await opening
    assert session.opened_pools[0].size == 4
    engine.connections = 2
    session.resize_pools()
    assert session.opened_pools[0].size == 2


async def test_if_a_host_leaves_while_its_pool_opens_the_pool_is_closed() -> None:
    """If a host leaves while its pool is being opened, the pool is closed and not added."""
    session = SessionWithFakePools(FakeCore(HOST_A))
    session.may_fill[HOST_A] = asyncio.Event()
    opening = asyncio.ensure_future(session.add_pool(HOST_A))
    await run_loop_turns()
    session.forget_host(HOST_A, ConnectionException("it has left"))
    await opening
    assert session.opened_pools[0].closed
    assert HOST_A not in session.pools
    # The session has forgotten the pool, so the host gets a new pool when it comes back.
    del session.may_fill[HOST_A]
    await session.add_pool(HOST_A)
    assert session.opened_pools[1:] == list(session.pools.values())


async def test_the_error_of_a_pool_is_forgotten_after_a_success() -> None:
    """`why_no_pool` returns the error of the last attempt to open a pool.

    After a successful attempt, the session forgets the error.
    """
    session = SessionWithFakePools(FakeCore(HOST_A))
    session.fill_errors[HOST_A] = ConnectionException("refused")
    await session.add_pool(HOST_A)
    assert session.why_no_pool(HOST_A) is session.fill_errors[HOST_A]
    del session.fill_errors[HOST_A]
    await session.add_pool(HOST_A)
    assert session.pool_error(HOST_A) is None
    assert "no connection to" in str(session.why_no_pool(HOST_A))


async def test_a_pool_that_fails_is_removed_and_reported() -> None:
    """If a pool reports a failure, the session closes it and notifies the host watch."""
    engine = FakeCore(HOST_A)
    session = SessionWithFakePools(engine)
    await session.add_pool(HOST_A)
    error = ConnectionException("reset")
    session._on_failure(session.pools[HOST_A], error)
    assert session.pools == session.pools_by_id == {}
    assert session.opened_pools[0].closed_with is error
    assert session.pool_error(HOST_A) is error
    assert ("failure", HOST_A, error) in engine.calls


async def test_the_newest_reason_of_a_host_wins() -> None:
    """`why_no_pool` returns the newest failure of a host, whichever session has noticed it.

    Failures while the host is up do not count, because they do not explain a missing pool.
    """
    session = SessionWithFakePools(FakeCore(HOST_A, HOST_B))
    session.fill_errors[HOST_A] = ConnectionException("refused")
    await session.add_pool(HOST_A)
    newer = ConnectionException("the certificate has expired")
    try:
        HOST_A._remember_failure(newer)
        assert session.why_no_pool(HOST_A) is newer
        HOST_B.set_down()
        HOST_B._remember_failure(newer)  # for example, this failure preceded the session
        assert session.why_no_pool(HOST_B) is newer
        HOST_B.set_up()
        # A failed connection of another session does not mean that the host is down.
        HOST_B._remember_failure(newer)
        assert session.pool_error(HOST_B) is None
        await session.add_pool(HOST_B)
        assert session.pool_error(HOST_B) is None
    finally:
        HOST_A.set_up()
        HOST_B.set_up()


async def test_pools_are_opened_and_closed_when_distances_change() -> None:
    """`follow_distances` opens and closes pools after the distances of hosts have changed.

    It opens pools to hosts that are now used, and closes idle pools to hosts that are now ignored.
    """
    engine = FakeCore(HOST_A, HOST_B)
    distances = {HOST_A: HostDistance.LOCAL, HOST_B: HostDistance.IGNORED}
    session = SessionWithFakePools(engine, lambda host: distances[host])
    await session.open(wait_for_all=True)
    distances.update({HOST_A: HostDistance.IGNORED, HOST_B: HostDistance.REMOTE})
    session.pools[HOST_A].in_flight = 1  # type: ignore[misc]
    session.follow_distances()
    await run_loop_turns()
    # Host A is ignored now, but its pool still has a request in flight.
    assert set(session.pools) == {HOST_A, HOST_B}
    assert ("distances soon",) in engine.calls
    # When the last request has ended, the next call closes the pool.
    session.pools[HOST_A].in_flight = 0  # type: ignore[misc]
    session.follow_distances()
    assert set(session.pools) == {HOST_B}
    assert "is ignored by the load balancing policies" in str(session.opened_pools[0].closed_with)
    # If host A is used again, it gets a new pool.
    distances[HOST_A] = HostDistance.LOCAL
    session.follow_distances()
    await run_loop_turns()
    assert set(session.pools) == {HOST_A, HOST_B}
    # A host that stays in use keeps its pool, which gets the new distance.
    distances[HOST_B] = HostDistance.LOCAL
    session.follow_distances()
    assert session.pools[HOST_B].distance == HostDistance.LOCAL


async def test_follow_distances_opens_no_pool_to_a_host_that_is_down() -> None:
    """`follow_distances` opens no pool to a host that is down, but reports that it wants the host.

    The host watch decides when to try the host.
    """
    down = new_host("10.0.0.8", is_up=False)
    engine = FakeCore(HOST_A, down)
    session = SessionWithFakePools(engine)
    session.follow_distances()
    await run_loop_turns()
    assert set(session.pools) == {HOST_A}
    assert ("wanted", down) in engine.calls


# -- closing ---------------------------------------------------------------------------------------


async def test_close_fails_all_requests_and_tasks() -> None:
    """`close` ends all requests, tasks and pools with the same SessionShutdown.

    Afterwards, the session opens nothing.
    """
    engine = FakeCore(HOST_A, HOST_B)
    session = SessionWithFakePools(engine)
    await session.open(wait_for_all=True)
    failed: list[Exception] = []
    session.delayed.add(IdentityNamespace(fail=failed.append))
    session.throttle = SimpleNamespace(  # type: ignore[assignment]
        fail_all_of=lambda whose, error: failed.append(error)
    )
    never = asyncio.Event()
    background = session.run_in_background(never.wait())  # type: ignore[arg-type]
    session.close()
    session.close()  # a second call does nothing
    await run_loop_turns()
    assert background.cancelled()
    # The request that waited for its retry has failed, and so has the throttler's queue.
    assert len(failed) == 2
    assert all(type(error) is SessionShutdown for error in failed)
    assert "the server may have executed the request" in str(failed[0])
    for pool in session.opened_pools:
        assert pool.closed
        assert pool.closed_with is failed[1]
    events = [event for event, *_arguments in engine.calls]
    # The session releases the control connection once, and then leaves the list of sessions once.
    assert [event for event in events if event in ("released", "removed")] == [
        "released",
        "removed",
    ]
    closed_error = session.closed_error()
    assert isinstance(closed_error, SessionShutdown)
    # The error names the hosts to which the session had pools.
    assert list(closed_error.errors) == [str(HOST_A), str(HOST_B)]
    # A closed session opens no pools.
    await session.add_pool(HOST_C)
    session.follow_distances()
    await run_loop_turns()
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


def request_with_ddl(engine: FakeCore, session: SessionWithFakePools) -> Any:
    """Return a fake request whose DDL statement the server has just executed.

    The request waits until the session has read the schema. Its `response` does not say yet that
    the nodes agree on the schema.
    """
    request, response = WaitingRequest(), SimpleNamespace()
    session.on_schema_change({"keyspace": "ks"}, partners.fake_connection(), request, response)  # type: ignore[arg-type]
    assert request.response is response
    assert response.is_schema_agreed is False
    return request


@pytest.mark.parametrize("agrees", [True, False, OperationTimedOut()])
async def test_after_ddl_the_schema_is_read_before_the_request_ends(agrees: Any) -> None:
    """After a DDL statement, the session reads the schema before the request ends.

    The request succeeds in any case. Its response says whether the nodes agree on the schema.
    """
    engine = FakeCore(HOST_A)
    engine.agrees = agrees
    request = request_with_ddl(engine, SessionWithFakePools(engine))
    await run_loop_turns()
    assert engine.calls == [("read again", {"keyspace": "ks"})]
    assert request.outcome is request.response
    assert request.response.is_schema_agreed is (agrees is True)


async def test_a_ddl_request_succeeds_even_if_the_session_closes() -> None:
    """If the session is closed after a DDL statement was executed, its request still succeeds."""
    engine = FakeCore(HOST_A)
    session = SessionWithFakePools(engine)
    request = request_with_ddl(engine, session)
    session.close()
    await run_loop_turns()
    assert request.outcome is request.response


async def test_an_error_in_run_for_fails_the_request() -> None:
    """`run_for` runs a coroutine that a request waits for.

    The coroutine's error becomes the request's error.
    """

    async def raise_timeout() -> None:
        raise OperationTimedOut("too late")

    request = WaitingRequest()
    session = SessionWithFakePools(FakeCore(HOST_A))
    session.run_for(request, raise_timeout())  # type: ignore[arg-type]
    await run_loop_turns()
    assert isinstance(request.outcome, OperationTimedOut)


async def test_close_before_the_first_step_of_run_for_fails_the_request() -> None:
    """If the session is closed before the task of `run_for` starts, the request fails.

    Otherwise, the request would wait for ever.
    """
    request = WaitingRequest()
    session = SessionWithFakePools(FakeCore(HOST_A))
    session.run_for(request, asyncio.sleep(0))  # type: ignore[arg-type]
    session.close()
    await run_loop_turns()
    assert isinstance(request.outcome, SessionShutdown)


async def test_a_connection_that_cannot_use_the_keyspace_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A USE switches all connections of the session, and a connection that cannot switch is closed.

    The USE itself succeeds.
    """
    switched_to = []

    async def switch(session: Any, connection: Any, keyspace: str) -> None:
        switched_to.append((connection, keyspace))
        if connection is refusing:
            raise OperationTimedOut("no answer")

    monkeypatch.setattr("cassandra.engine.session.switch", switch)
    session = SessionWithFakePools(FakeCore(HOST_A))
    await session.add_pool(HOST_A)
    plain, refusing, switched, gated, opening = (
        partners.fake_connection(f"10.0.0.{number}") for number in range(1, 6)
    )
    switched.keyspace = gated.keyspace = "KS"
    # Requests on this connection still wait for an earlier switch of its keyspace.
    gated.gate = object()
    session.opened_pools[0].connections = [plain, refusing, switched, gated]
    # This is the first connection of a pool that is still being opened.
    unfilled_pool: Any = IdentityNamespace(connections=[opening])
    session._opening_pools.add(unfilled_pool)
    request, response = WaitingRequest(), SimpleNamespace()
    session.adopt_keyspace("KS", switched, request, response)  # type: ignore[arg-type]
    assert session.keyspace == "KS"
    await run_loop_turns()
    # `switched` gets no USE, because it is already in the keyspace and has no pending switch.
    assert switched_to == [(connection, "KS") for connection in (plain, refusing, gated, opening)]
    assert refusing.closed
    for connection in (plain, switched, gated, opening):
        assert not connection.closed
    assert "could not use keyspace 'KS'" in str(refusing.close_error)
    assert request.outcome is response


# -- pools whose hosts change ----------------------------------------------------------------------
async def test_draining_a_host_takes_its_pool_and_stops_opening_one() -> None:
    """A host that drains gets no more requests, and its pool is kept until it has drained.

    A pool that is still being opened is closed.
    """
    engine = FakeCore(HOST_A, HOST_B)
    session = SessionWithFakePools(engine)
    # The pool of host A is open, while the pool of host B is still being opened.
    session.may_fill[HOST_B] = asyncio.Event()
    await session.add_pool(HOST_A)
    opening = asyncio.ensure_future(session.add_pool(HOST_B))
    await run_loop_turns()
    drained: list[Any] = []
    pool: Any = session.pools[HOST_A]
    # Replace `drain`, so that the test decides when the pool has drained.
    pool.drain = lambda error, on_drained: drained.append((error, on_drained))
    error = ConnectionException("will stop")
    for host in (HOST_A, HOST_B):
        session.drain_host(host, error)
    await opening
    await run_loop_turns()
    assert session.pools == session.pools_by_id == {}
    assert session.pool_error(HOST_A) is error
    assert session.why_no_pool(HOST_A) is error
    # The pool of host A is kept until its callback is called.
    assert list(session.draining) == [pool]
    ((reason, on_drained),) = drained
    assert reason is error
    on_drained(pool)
    assert not session.draining
    # The pool of host B was closed when it had been opened.
    assert session.opened_pools[1].closed


async def test_a_host_that_leaves_loses_its_pool_and_its_error() -> None:
    """When a host has left the cluster, `forget_host` closes its pool and forgets its error.

    Later errors say only that there is no connection.
    """
    session = SessionWithFakePools(FakeCore(HOST_A, HOST_B))
    session.fill_errors[HOST_B] = ConnectionException("refused")
    for host in (HOST_A, HOST_B):
        await session.add_pool(host)
    pool = session.opened_pools[0]
    removal = ConnectionException("removed")
    for host in (HOST_A, HOST_B):
        session.forget_host(host, removal)
    assert session.pools == session.pools_by_id == {}
    assert pool.closed_with is removal
    assert session.pool_error(HOST_B) is None
    unknown = session.why_no_pool(HOST_B)
    assert isinstance(unknown, ConnectionException)
    assert str(unknown) == f"no connection to {HOST_B} is open"
    session.remove_pool(HOST_B)  # does nothing, because there is no pool to this host


# -- requests in another keyspace ------------------------------------------------------------------


class HeldBody:
    """The body of a request that must run in the keyspace `expected`."""

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
    """If a request's connection is in a wrong keyspace, another connection of the pool may send it.

    This connection must be in the right keyspace.
    """
    session = SessionWithFakePools(FakeCore(HOST_A))
    await session.add_pool(HOST_A)
    loop = asyncio.get_running_loop()
    wrong = Connection(HOST_A.endpoint, 4, loop)
    wrong.keyspace = "other"
    right = Connection(HOST_A.endpoint, 4, loop)
    right.keyspace = "ks"
    session.opened_pools[0].connections = [wrong, right]
    monkeypatch.setattr("cassandra.engine.session.can_pass", lambda *args: False)
    held: list[Any] = []
    monkeypatch.setattr("cassandra.engine.session.hold", lambda *args: held.append(args))
    sent: list[Any] = []
    request: Any = SimpleNamespace(
        request_body=HeldBody("ks"), send=lambda *args: sent.append(args), _waits=0
    )
    attempt: Any = SimpleNamespace(host=HOST_A, connection=wrong)
    # False means that the caller must not send the request itself.
    assert session.pass_or_hold(request, attempt, wrong) is False
    assert sent == [(attempt, right)]
    assert attempt.connection is right
    assert held == []
    assert request._waits == 0
    # No other connection is usable now, so the request waits until its own connection has switched
    # its keyspace.
    gate: Any = object()
    right.gate = gate
    assert session.pass_or_hold(request, attempt, wrong) is False
    assert len(sent) == 1
    assert request._waits == 1
    ((_, connection, _),) = held
    assert connection is wrong
    # All sessions share the control connection, so it cannot switch its keyspace for one request.
    wrong.is_control_connection = True
    with pytest.raises(InvalidRequest, match="cannot serve a request in another one"):
        session.pass_or_hold(request, attempt, wrong)


# -- columns of results ----------------------------------------------------------------------------


class FakeColumns(tuple[Any, ...]):
    """Fake result metadata."""

    raw = False


@pytest.mark.parametrize(
    ("new_id", "is_same", "has_ids", "is_remembered"),
    [
        pytest.param(b"id", False, True, True, id="new columns with an id"),
        pytest.param(b"id", True, True, True, id="a new id"),
        pytest.param(None, False, True, False, id="columns of a conditional statement"),
        pytest.param(None, False, False, True, id="new columns without ids"),
        pytest.param(None, True, False, False, id="nothing new"),
    ],
)
async def test_new_columns_are_remembered_for_the_prepared_statement(
    new_id: Any, is_same: bool, has_ids: bool, is_remembered: bool
) -> None:
    """If the server sends the columns of a result, later executions must use them.

    :param new_id: the id of the columns in the response; None if it has no id.
    :param is_same: whether the statement already has these columns.
    :param has_ids: whether the connection uses ids of result metadata.
    :param is_remembered: whether the session must update the statement.
    """
    session = SessionWithFakePools(FakeCore(HOST_A))
    updates: list[Any] = []
    prepared = SimpleNamespace(update_result_metadata=lambda *args: updates.append(args))
    body = SimpleNamespace(prepared_statements=lambda: (prepared,))
    cached = FakeColumns((SimpleNamespace(),))
    columns = cached if is_same else FakeColumns((SimpleNamespace(),))
    columns.raw = True  # the columns have the server's types
    response: Any = SimpleNamespace(metadata=columns, result_metadata_id=new_id)
    request: Any = SimpleNamespace(request_body=body)
    connection = partners.fake_connection(wire_format=5 | METADATA_IDS if has_ids else 4)
    session._remember_columns(request, connection, response, cached)
    assert updates == ([(columns, new_id)] if is_remembered else [])
    # These columns were decoded by an application's message class, so their types may differ from
    # the server's types.
    updates.clear()
    columns.raw = False
    session._remember_columns(request, connection, response, cached)
    assert updates == []
