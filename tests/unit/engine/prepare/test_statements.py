"""Callers that prepare the same statement share a PREPARE and its answer, without a socket."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra.cqltypes import Int32Type
from cassandra.engine.prepare.statements import LEFT_OUT_AT_ONCE, PARALLEL_PREPARES, Preparer
from cassandra.errors import (
    ConnectionException,
    ConnectionShutdown,
    DriverException,
    OperationTimedOut,
)
from cassandra.metadata.cluster_metadata import Metadata
from cassandra.metadata.host import Host
from cassandra.policies.balancing import HostDistance
from cassandra.protocol.column_specs import ColumnMetadata
from cassandra.query.recently_used import RecentlyUsed
from tests.unit.engine.partners import connection, host, settings, spawn, turns

pytestmark = pytest.mark.simulated

FIRST, SECOND = host("10.0.0.1"), host("10.0.0.2")
READ = "SELECT * FROM t WHERE k = ?"
NO_POLICIES: tuple[Any, Any] = (None, None)


class Pool:
    """Fake pool of one connection."""

    def __init__(self, host: Host) -> None:
        self.connection = connection(host.address)

    def pick(self) -> Any:
        return self.connection


class PreparerParts:
    """Fakes of everything that a preparer uses: one session with pools to two hosts."""

    protocol_version = 5

    def __init__(self, *, marks_transactions: bool = False, **changed: Any) -> None:
        self.marks_transactions = marks_transactions
        self.sent: list[Any] = []  # request bodies
        self.asked: list[Any] = []  # connections
        self.error: Exception | None = None
        self.ask_error: Exception | None = None
        self.gate = asyncio.Event()
        self.gate.set()
        self.query_id = b"id"
        pools = {FIRST: Pool(FIRST), SECOND: Pool(SECOND)}
        session: Any = SimpleNamespace(
            keyspace="ks",
            closed=False,
            closed_error=lambda: ConnectionShutdown("the session is shut down"),
            pools=pools,
            codecs=None,
            distance=lambda host: HostDistance.LOCAL,
        )
        self.session = session
        self.preparer = Preparer(
            settings(**changed), Metadata(), [session], self.ask, spawn, self, self.send
        )

    async def send(self, session: Any, request_body: Any, *policies: Any) -> Any:
        self.sent.append(request_body)
        await self.gate.wait()
        if self.error is not None:
            raise self.error
        markers = [ColumnMetadata("ks", "t", "k", Int32Type)]
        answer = SimpleNamespace(
            bind_metadata=markers,
            query_id=self.query_id,
            pk_indexes=[0],
            result_metadata=None,
            result_metadata_id=None,
            is_lwt=False,
            custom_payload=None,
        )
        return answer, FIRST

    async def ask(self, connection: Any, *what: Any) -> Any:
        self.asked.append(connection.endpoint.address)
        if self.ask_error is not None:
            raise self.ask_error

    async def prepare(self, query: str = READ, payload: Any = None) -> Any:
        policies: Any = (None, None, None)
        return await self.preparer.prepare(self.session, query, None, payload, *policies)


async def test_one_host_by_the_plan_and_the_others_directly() -> None:
    world = PreparerParts()
    prepared = await world.prepare()
    assert [body.query for body in world.sent] == [READ]
    assert world.asked == ["10.0.0.2"]
    assert (prepared.query_id, prepared.keyspace, prepared.routing_key_indexes) == (
        b"id",
        "ks",
        [0],
    )


async def test_the_others_are_left_alone_if_that_is_wanted() -> None:
    world = PreparerParts(prepare_on_all_hosts=False)
    await world.prepare()
    assert world.asked == []


async def test_a_failure_of_another_host_is_no_failure() -> None:
    world = PreparerParts()
    world.ask_error = ConnectionException("lost")
    assert (await world.prepare()).query_id == b"id"


async def test_callers_with_one_text_share_a_request() -> None:
    world = PreparerParts()
    world.gate.clear()
    callers = [asyncio.ensure_future(world.prepare()) for _ in range(5)]
    other = asyncio.ensure_future(world.prepare("SELECT 1"))
    marked = asyncio.ensure_future(world.prepare(payload={"k": b"v"}))
    await turns()
    assert sorted(body.query for body in world.sent) == sorted([READ, "SELECT 1", READ])
    world.gate.set()
    prepared = await asyncio.gather(*callers, other, marked)
    assert len({id(statement) for statement in prepared}) == 7  # each caller has its own statement


async def test_a_caller_that_gives_up_leaves_the_others_alone() -> None:
    world = PreparerParts()
    world.gate.clear()
    leaving, staying = (asyncio.ensure_future(world.prepare()) for _ in range(2))
    await turns()
    leaving.cancel()
    world.gate.set()
    assert (await staying).query_id == b"id"


async def test_an_error_is_told_to_all_and_not_remembered() -> None:
    world = PreparerParts()
    world.error = DriverException("refused")
    callers = [world.prepare() for _ in range(3)]
    outcomes = await asyncio.gather(*callers, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [DriverException] * 3
    world.error = None
    assert (await world.prepare()).query_id == b"id"


async def test_each_caller_has_its_own_deadline() -> None:
    world = PreparerParts()
    recent: Any = SimpleNamespace(get=lambda key: None, put=lambda *added: None, drop=print)
    limits: list[float | None] = []

    async def send(
        session: Any, request_body: Any, policy: Any, retry_policy: Any, limit: Any
    ) -> Any:
        limits.append(limit)
        if limit is not None and limit < 0.5:
            await asyncio.sleep(limit)
            raise OperationTimedOut("the server is slow")
        await asyncio.sleep(0.5)
        return await world.send(session, request_body)

    def prepare(of_text: bool, limit: float | None) -> Any:
        if of_text:
            return world.preparer.prepare_text(
                world.session, READ, None, recent, *NO_POLICIES, limit
            )
        return world.preparer.prepare(world.session, READ, None, None, *NO_POLICIES, limit)

    world.preparer._send = send
    hurried: Any
    patient: Any
    endless: Any
    for of_text in (True, False):
        outcomes: list[Any] = await asyncio.gather(
            *(prepare(of_text, limit) for limit in (0.1, 10.0, None, 0.05)), return_exceptions=True
        )
        hurried, patient, endless, late = outcomes
        assert [type(error) for error in (hurried, late)] == [OperationTimedOut] * 2
        assert (patient.query_id, endless.query_id) == (b"id", b"id")
        assert len(limits) == 2  # those with more time share one PREPARE again
        assert limits[1] is None or 9 < limits[1] < 10
        limits.clear()
    calls = [prepare(False, 10.0), prepare(True, 0.2)]
    outcomes = await asyncio.gather(*calls, return_exceptions=True)
    patient, hurried = outcomes
    assert (patient.query_id, type(hurried)) == (b"id", OperationTimedOut)
    assert hurried.timeout == 0.2


async def test_a_closed_session_prepares_nothing() -> None:
    world = PreparerParts()
    world.session.closed = True
    with pytest.raises(ConnectionShutdown):
        await world.prepare()
    assert world.sent == []


async def test_texts_are_remembered() -> None:
    world = PreparerParts()
    recent: Any = RecentlyUsed(8)
    policies: Any = (None, None, None)

    async def prepare_text() -> Any:
        return await world.preparer.prepare_text(world.session, READ, None, recent, *policies)

    prepared = await asyncio.gather(*(prepare_text() for _ in range(3)), prepare_text())
    prepared.append(await prepare_text())
    assert len({id(statement) for statement in prepared}) == 1
    assert len(world.sent) == 1


@pytest.mark.parametrize("marks", [False, True])
async def test_a_text_tells_of_transactions_only_if_no_server_does(marks: bool) -> None:
    world = PreparerParts(marks_transactions=marks)
    prepared = await world.prepare("UPDATE t SET v = 1 WHERE k = ? IF EXISTS")
    assert prepared.is_lwt() is not marks


async def test_a_host_that_comes_back_gets_what_is_in_use() -> None:
    world = PreparerParts(prepare_on_all_hosts=False)
    first, again = await world.prepare(), await world.prepare()
    world.query_id = b"other"
    other = await world.prepare("SELECT 1")
    await world.preparer.prepare_all_on(SECOND)
    assert world.asked == ["10.0.0.2"] * 2  # each statement once
    assert world.preparer.prepared_by_id(b"id") in (first, again)
    assert world.preparer.prepared_by_id(b"other") is other
    del first, again, other
    assert world.preparer.prepared_by_id(b"other") is None
    await world.preparer.prepare_all_on(SECOND)
    assert len(world.asked) == 2


async def test_a_host_that_comes_back_is_asked_by_a_few_tasks_for_all_statements() -> None:
    world = PreparerParts(prepare_on_all_hosts=False)
    statements = []
    for number in range(500):
        world.query_id = b"id %d" % number
        statements.append(await world.prepare(f"SELECT {number}"))
    gate, peak, under_way = asyncio.Event(), 0, 0
    completed = 0

    async def ask(*what: Any) -> None:
        nonlocal peak, under_way, completed
        under_way += 1
        peak = max(peak, under_way)
        await gate.wait()
        await asyncio.sleep(0)
        under_way -= 1
        completed += 1

    world.preparer._internal_send = ask
    before = len(asyncio.all_tasks())
    preparing = asyncio.ensure_future(world.preparer.prepare_all_on(SECOND))
    await turns()
    assert len(asyncio.all_tasks()) - before == PARALLEL_PREPARES + 1
    gate.set()
    await preparing
    assert (peak, completed) == (PARALLEL_PREPARES, len(statements))


async def test_statements_of_another_keyspace_are_left_out() -> None:
    world = PreparerParts(prepare_on_all_hosts=False)
    statements = []
    for number in range(3 * LEFT_OUT_AT_ONCE):
        world.query_id = b"id %d" % number
        statements.append(await world.prepare(f"SELECT {number}"))
    world.session.pools[SECOND].connection.version = 4
    world.session.pools[SECOND].connection.keyspace = "another"
    await world.preparer.prepare_all_on(SECOND)
    assert world.asked == []
    world.session.pools[SECOND].connection.keyspace = "ks"
    await world.preparer.prepare_all_on(SECOND)
    assert len(world.asked) == len(statements)


async def test_a_host_that_leaves_again_is_not_asked_further() -> None:
    world = PreparerParts(prepare_on_all_hosts=False)
    statement = await world.prepare()
    del world.session.pools[SECOND]
    await world.preparer.prepare_all_on(SECOND)
    world.session.pools[SECOND] = pool = Pool(SECOND)
    pool.connection = None
    await world.preparer.prepare_all_on(SECOND)
    assert (world.asked, statement.query_id) == ([], b"id")
