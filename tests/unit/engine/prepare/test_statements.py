"""Callers that prepare the same statement at the same time share one PREPARE.

The tests use no socket.
"""

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
from tests.unit.engine.partners import (
    engine_settings,
    fake_connection,
    new_host,
    run_loop_turns,
    spawn,
)

pytestmark = pytest.mark.simulated

FIRST, SECOND = new_host("10.0.0.1"), new_host("10.0.0.2")
READ = "SELECT * FROM t WHERE k = ?"
NO_POLICIES: tuple[Any, Any] = (None, None)


class Pool:
    """A fake pool that has one connection."""

    def __init__(self, host: Host) -> None:
        self.connection = fake_connection(host.address)

    def pick(self) -> Any:
        return self.connection


class PreparerParts:
    """A `Preparer` with fakes of everything that it uses: one session with pools to two hosts.

    `planned_bodies` lists the bodies of requests that follow a query plan; they are answered when
    `gate` is set. `direct_addresses` lists the addresses of the hosts to which the preparer sends
    directly.
    """

    protocol_version = 5

    def __init__(self, *, marks_transactions: bool = False, **changed: Any) -> None:
        self.marks_transactions = marks_transactions
        self.planned_bodies: list[Any] = []
        self.direct_addresses: list[Any] = []
        self.send_error: Exception | None = None
        self.direct_error: Exception | None = None
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
            engine_settings(**changed),
            Metadata(),
            [session],
            self.send_directly,
            spawn,
            self,
            self.send,
        )

    async def send(self, session: Any, request_body: Any, *policies: Any) -> Any:
        self.planned_bodies.append(request_body)
        await self.gate.wait()
        if self.send_error is not None:
            raise self.send_error
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

    async def send_directly(self, connection: Any, *arguments: Any) -> Any:
        self.direct_addresses.append(connection.endpoint.address)
        if self.direct_error is not None:
            raise self.direct_error

    async def prepare(self, query: str = READ, payload: Any = None) -> Any:
        policies: Any = (None, None, None)
        return await self.preparer.prepare(self.session, query, None, payload, *policies)


async def test_one_host_is_chosen_by_the_plan_and_the_others_are_asked_directly() -> None:
    parts = PreparerParts()
    prepared = await parts.prepare()
    assert [body.query for body in parts.planned_bodies] == [READ]
    assert parts.direct_addresses == ["10.0.0.2"]
    assert (prepared.query_id, prepared.keyspace, prepared.routing_key_indexes) == (
        b"id",
        "ks",
        [0],
    )


async def test_without_prepare_on_all_hosts_only_one_host_is_asked() -> None:
    parts = PreparerParts(prepare_on_all_hosts=False)
    await parts.prepare()
    assert parts.direct_addresses == []


async def test_a_failure_on_another_host_is_ignored() -> None:
    parts = PreparerParts()
    parts.direct_error = ConnectionException("lost")
    assert (await parts.prepare()).query_id == b"id"


async def test_callers_with_the_same_query_share_a_prepare() -> None:
    parts = PreparerParts()
    parts.gate.clear()
    callers = [asyncio.ensure_future(parts.prepare()) for _ in range(5)]
    other = asyncio.ensure_future(parts.prepare("SELECT 1"))
    with_payload = asyncio.ensure_future(parts.prepare(payload={"k": b"v"}))
    await run_loop_turns()
    # The five callers share one PREPARE. The other query, and the other payload, need one each.
    assert sorted(body.query for body in parts.planned_bodies) == sorted([READ, "SELECT 1", READ])
    parts.gate.set()
    prepared = await asyncio.gather(*callers, other, with_payload)
    assert (
        len({id(statement) for statement in prepared}) == 7
    )  # each of the 5 + 2 callers gets its own statement object


async def test_a_cancelled_caller_does_not_affect_the_others() -> None:
    parts = PreparerParts()
    parts.gate.clear()
    leaving, staying = (asyncio.ensure_future(parts.prepare()) for _ in range(2))
    await run_loop_turns()
    leaving.cancel()
    parts.gate.set()
    assert (await staying).query_id == b"id"


async def test_all_callers_get_the_error_and_the_next_caller_tries_again() -> None:
    parts = PreparerParts()
    parts.send_error = DriverException("refused")
    callers = [parts.prepare() for _ in range(3)]
    outcomes = await asyncio.gather(*callers, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [DriverException] * 3
    parts.send_error = None
    assert (await parts.prepare()).query_id == b"id"


async def test_each_caller_has_its_own_deadline() -> None:
    parts = PreparerParts()
    recently_used: Any = SimpleNamespace(get=lambda key: None, put=lambda *added: None, drop=print)
    timeouts: list[float | None] = []

    async def send(
        session: Any, request_body: Any, policy: Any, retry_policy: Any, timeout: Any
    ) -> Any:
        timeouts.append(timeout)
        if timeout is not None and timeout < 0.5:
            await asyncio.sleep(timeout)
            raise OperationTimedOut("the server is slow")
        await asyncio.sleep(0.5)
        return await parts.send(session, request_body)

    def prepare(is_query_string: bool, timeout: float | None) -> Any:
        if is_query_string:
            return parts.preparer.prepare_text(
                parts.session, READ, None, recently_used, *NO_POLICIES, timeout
            )
        return parts.preparer.prepare(parts.session, READ, None, None, *NO_POLICIES, timeout)

    parts.preparer._send = send
    hurried: Any
    patient: Any
    endless: Any
    # Test `prepare_text`, which caches its statements, and `prepare`, which does not.
    for is_query_string in (True, False):
        outcomes: list[Any] = await asyncio.gather(
            *(prepare(is_query_string, timeout) for timeout in (0.1, 10.0, None, 0.05)),
            return_exceptions=True,
        )
        hurried, patient, endless, late = outcomes
        assert [type(error) for error in (hurried, late)] == [OperationTimedOut] * 2
        assert (patient.query_id, endless.query_id) == (b"id", b"id")
        assert len(timeouts) == 2  # the two callers with more time share a second PREPARE
        # The second PREPARE has no timeout (that of `endless`), or what is left of 10 seconds.
        assert timeouts[1] is None or 9 < timeouts[1] < 10
        timeouts.clear()
    concurrent_calls = [prepare(False, 10.0), prepare(True, 0.2)]
    outcomes = await asyncio.gather(*concurrent_calls, return_exceptions=True)
    patient, hurried = outcomes
    assert (patient.query_id, type(hurried)) == (b"id", OperationTimedOut)
    assert hurried.timeout == 0.2


async def test_a_closed_session_prepares_nothing() -> None:
    parts = PreparerParts()
    parts.session.closed = True
    with pytest.raises(ConnectionShutdown):
        await parts.prepare()
    assert parts.planned_bodies == []


async def test_the_statements_of_query_strings_are_cached() -> None:
    parts = PreparerParts()
    recent: Any = RecentlyUsed(8)
    policies: Any = (None, None, None)

    async def prepare_text() -> Any:
        return await parts.preparer.prepare_text(parts.session, READ, None, recent, *policies)

    prepared = await asyncio.gather(*(prepare_text() for _ in range(3)), prepare_text())
    prepared.append(await prepare_text())
    assert len({id(statement) for statement in prepared}) == 1
    assert len(parts.planned_bodies) == 1


@pytest.mark.parametrize("marks", [False, True])
async def test_is_lwt_looks_at_the_query_only_if_no_server_marks_transactions(marks: bool) -> None:
    parts = PreparerParts(marks_transactions=marks)
    prepared = await parts.prepare("UPDATE t SET v = 1 WHERE k = ? IF EXISTS")
    assert prepared.is_lwt() is not marks


async def test_a_host_that_comes_back_gets_the_statements_in_use() -> None:
    parts = PreparerParts(prepare_on_all_hosts=False)
    first, second = await parts.prepare(), await parts.prepare()
    parts.query_id = b"other"
    other = await parts.prepare("SELECT 1")
    await parts.preparer.prepare_all_on(SECOND)
    assert parts.direct_addresses == ["10.0.0.2"] * 2  # one PREPARE is sent for each id
    assert parts.preparer.prepared_by_id(b"id") in (first, second)
    assert parts.preparer.prepared_by_id(b"other") is other
    # When the program has dropped its statements, the preparer forgets them.
    del first, second, other
    assert parts.preparer.prepared_by_id(b"other") is None
    await parts.preparer.prepare_all_on(SECOND)
    assert len(parts.direct_addresses) == 2


async def test_a_host_that_comes_back_is_prepared_by_few_tasks() -> None:
    parts = PreparerParts(prepare_on_all_hosts=False)
    statements = []
    for number in range(500):
        parts.query_id = b"id %d" % number
        statements.append(await parts.prepare(f"SELECT {number}"))
    gate, peak, under_way = asyncio.Event(), 0, 0
    completed = 0

    async def count_and_wait(*what: Any) -> None:
        nonlocal peak, under_way, completed
        under_way += 1
        peak = max(peak, under_way)
        await gate.wait()
        # Let the other calls that are under way be counted, too.
        await asyncio.sleep(0)
        under_way -= 1
        completed += 1

    parts.preparer._internal_send = count_and_wait
    tasks_before = len(asyncio.all_tasks())
    preparing = asyncio.ensure_future(parts.preparer.prepare_all_on(SECOND))
    await run_loop_turns()
    # The new tasks are those that send PREPAREs, and `preparing` itself.
    assert len(asyncio.all_tasks()) - tasks_before == PARALLEL_PREPARES + 1
    gate.set()
    await preparing
    assert (peak, completed) == (PARALLEL_PREPARES, len(statements))


async def test_statements_of_another_keyspace_are_left_out() -> None:
    parts = PreparerParts(prepare_on_all_hosts=False)
    statements = []
    for number in range(3 * LEFT_OUT_AT_ONCE):
        parts.query_id = b"id %d" % number
        statements.append(await parts.prepare(f"SELECT {number}"))
    # Before version 5, a PREPARE cannot name a keyspace, so it runs in the connection's keyspace.
    parts.session.pools[SECOND].connection.version = 4
    parts.session.pools[SECOND].connection.keyspace = "another"
    await parts.preparer.prepare_all_on(SECOND)
    assert parts.direct_addresses == []
    parts.session.pools[SECOND].connection.keyspace = "ks"
    await parts.preparer.prepare_all_on(SECOND)
    assert len(parts.direct_addresses) == len(statements)


async def test_a_host_that_has_left_is_not_asked() -> None:
    parts = PreparerParts(prepare_on_all_hosts=False)
    statement = await parts.prepare()
    del parts.session.pools[SECOND]
    await parts.preparer.prepare_all_on(SECOND)
    parts.session.pools[SECOND] = pool = Pool(SECOND)
    pool.connection = None
    await parts.preparer.prepare_all_on(SECOND)
    assert (parts.direct_addresses, statement.query_id) == ([], b"id")
