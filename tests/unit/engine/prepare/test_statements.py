"""`Preparer`: callers that prepare the same statement at the same time share one PREPARE.

Most tests use no socket. The tests of several clusters use fake nodes.
"""

from __future__ import annotations

import asyncio
import copy
import pickle
import struct
import weakref
from types import SimpleNamespace
from typing import Any

import pytest

import cassandra.query.prepared as prepared_module
from cassandra.cqltypes import Int32Type, UserType, UUIDType
from cassandra.engine.prepare.changes import LATEST_CHANGES
from cassandra.engine.prepare.statements import LEFT_OUT_AT_ONCE, PARALLEL_PREPARES, Preparer
from cassandra.errors import (
    ConnectionException,
    ConnectionShutdown,
    DriverException,
    OperationTimedOut,
)
from cassandra.marshal import int32_pack
from cassandra.metadata.cluster_metadata import Metadata
from cassandra.metadata.host import Host
from cassandra.policies.balancing import HostDistance
from cassandra.protocol.column_specs import ColumnMetadata
from cassandra.query import BatchStatement
from cassandra.query.prepared import PreparedStatement, remember
from cassandra.query.recently_used import RecentlyUsed
from cassandra.query.statement import query_head
from cassandra.testing.fake import FakeNode, Opcode, Udt
from tests.unit.engine.faults import connected
from tests.unit.engine.partners import (
    engine_settings,
    fake_connection,
    new_host,
    run_loop_turns,
    spawn,
)

pytestmark = pytest.mark.simulated

HOST_A, HOST_B = new_host("10.0.0.1"), new_host("10.0.0.2")
READ = "SELECT * FROM t WHERE k = ?"
NO_POLICIES: tuple[Any, Any] = (None, None)


def markers(*names: str, table: str = "t") -> list[ColumnMetadata]:
    """Return bind markers for these columns of a table in the keyspace "ks"."""
    return [ColumnMetadata("ks", table, name, Int32Type) for name in names]


class FakePool:
    """A fake pool that has one connection."""

    def __init__(self, host: Host) -> None:
        self.connection = fake_connection(host.address)

    def pick(self) -> Any:
        return self.connection


class PreparerHarness:
    """A `Preparer` with fakes of everything that it uses: one session with pools to two hosts.

    `planned_bodies` lists the requests that follow a query plan. They are answered when `gate` is
    set. `direct_addresses` lists the hosts to which the preparer sends a PREPARE directly.

    :param marks_transactions: whether a server marks lightweight transactions in its responses.
    :param changed: settings of the engine that differ from the defaults.
    """

    protocol_version = 5
    user_types: Any = {}

    def __init__(self, *, marks_transactions: bool = False, **changed: Any) -> None:
        self.marks_transactions = marks_transactions
        self.planned_bodies: list[Any] = []
        self.direct_addresses: list[Any] = []
        self.send_error: Exception | None = None
        self.direct_error: Exception | None = None
        self.gate = asyncio.Event()
        self.gate.set()
        self.query_id = b"id"
        self.markers = [ColumnMetadata("ks", "t", "k", Int32Type)]
        self.key: list[int] | None = [0]  # the positions of the partition key
        # The markers that a host which is asked directly describes, if they differ.
        self.direct_markers: list[ColumnMetadata] | None = None
        pools = {HOST_A: FakePool(HOST_A), HOST_B: FakePool(HOST_B)}
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
        """Answer a request that follows a query plan: return the response and the host."""
        self.planned_bodies.append(request_body)
        await self.gate.wait()
        if self.send_error is not None:
            raise self.send_error
        return self.answer(), HOST_A

    def answer(self) -> Any:
        """Return the response to a PREPARE."""
        return SimpleNamespace(
            bind_metadata=self.markers,
            query_id=self.query_id,
            pk_indexes=self.key,
            result_metadata=None,
            result_metadata_id=None,
            is_lwt=False,
            custom_payload=None,
        )

    async def send_directly(self, connection: Any, *arguments: Any) -> Any:
        """Record and answer a request that is sent to a given host, or raise `direct_error`."""
        self.direct_addresses.append(connection.endpoint.address)
        if self.direct_error is not None:
            raise self.direct_error
        answer = self.answer()
        answer.bind_metadata = self.direct_markers or self.markers
        return answer

    async def prepare(self, query: str = READ, payload: Any = None) -> Any:
        """Prepare a query, without passing a keyspace, policies or a timeout."""
        return await self.preparer.prepare(
            self.session, query, None, payload, *NO_POLICIES, timeout=None
        )


async def test_one_host_is_chosen_by_the_plan_and_the_others_are_asked_directly() -> None:
    """The first PREPARE follows the query plan; afterwards, all other hosts get a PREPARE."""
    harness = PreparerHarness()
    prepared = await harness.prepare()
    assert [body.query for body in harness.planned_bodies] == [READ]
    assert harness.direct_addresses == ["10.0.0.2"]
    assert prepared.query_id == b"id"
    assert prepared.keyspace == "ks"
    assert prepared.routing_key_indexes == [0]


async def test_without_prepare_on_all_hosts_only_one_host_is_asked() -> None:
    """With `prepare_on_all_hosts=False`, only the PREPARE that follows the query plan is sent."""
    harness = PreparerHarness(prepare_on_all_hosts=False)
    await harness.prepare()
    assert harness.direct_addresses == []


async def test_a_failure_on_another_host_is_ignored() -> None:
    """If the PREPARE fails on another host, `prepare` still succeeds.

    This host later returns the error UNPREPARED for an execution, so the statement is prepared
    again.
    """
    harness = PreparerHarness()
    # The first PREPARE succeeds on host A. `send_directly` then raises this error for the PREPARE
    # that is sent to host B.
    harness.direct_error = ConnectionException("lost")
    assert (await harness.prepare()).query_id == b"id"


async def test_callers_with_the_same_query_share_a_prepare() -> None:
    """Concurrent calls with the same query and payload send one PREPARE."""
    harness = PreparerHarness()
    harness.gate.clear()
    callers = [asyncio.ensure_future(harness.prepare()) for _ in range(5)]
    other = asyncio.ensure_future(harness.prepare("SELECT 1"))
    with_payload = asyncio.ensure_future(harness.prepare(payload={"k": b"v"}))
    await run_loop_turns()
    # The five callers share one PREPARE. The other query and the other payload need a PREPARE each.
    assert sorted(body.query for body in harness.planned_bodies) == sorted([READ, "SELECT 1", READ])
    harness.gate.set()
    prepared = await asyncio.gather(*callers, other, with_payload)
    # Each caller gets its own statement object.
    assert len({id(statement) for statement in prepared}) == len(prepared)


async def test_a_cancelled_caller_does_not_affect_the_others() -> None:
    """If one caller of a shared PREPARE is cancelled, the other caller gets the statement."""
    harness = PreparerHarness()
    harness.gate.clear()
    cancelled_call, other_call = (asyncio.ensure_future(harness.prepare()) for _ in range(2))
    await run_loop_turns()
    cancelled_call.cancel()
    harness.gate.set()
    assert (await other_call).query_id == b"id"


async def test_all_callers_get_the_error_and_the_next_caller_tries_again() -> None:
    """If a shared PREPARE fails, all its callers get the error.

    The next call sends a new PREPARE.
    """
    harness = PreparerHarness()
    harness.send_error = DriverException("refused")
    callers = [harness.prepare() for _ in range(3)]
    outcomes = await asyncio.gather(*callers, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [DriverException] * 3
    harness.send_error = None
    assert (await harness.prepare()).query_id == b"id"


async def test_each_caller_has_its_own_deadline() -> None:
    """If a shared PREPARE times out, callers with more time share a second PREPARE.

    The caller that starts a PREPARE sets its timeout. Each caller has its own deadline.
    """
    harness = PreparerHarness()
    # A cache of statements that keeps nothing.
    recently_used: Any = SimpleNamespace(get=lambda key: None, put=lambda *added: None, drop=print)
    timeouts: list[float | None] = []

    async def send(
        session: Any, request_body: Any, policy: Any, retry_policy: Any, timeout: Any
    ) -> Any:
        """Record the timeout. The PREPARE takes half a second, so a shorter timeout expires."""
        timeouts.append(timeout)
        if timeout is not None and timeout < 0.5:
            await asyncio.sleep(timeout)
            raise OperationTimedOut("the server is slow")
        await asyncio.sleep(0.5)
        return await harness.send(session, request_body)

    def prepare(is_query_string: bool, timeout: float | None) -> Any:
        """Prepare READ within `timeout` seconds (None: without a limit).

        :param is_query_string: whether to use `prepare_text`, which caches its statements.
        """
        if is_query_string:
            return harness.preparer.prepare_text(
                harness.session, READ, None, recently_used, *NO_POLICIES, timeout
            )
        return harness.preparer.prepare(harness.session, READ, None, None, *NO_POLICIES, timeout)

    harness.preparer._send = send
    short: Any
    long: Any
    unlimited: Any
    # Test `prepare_text`, which caches its statements, and `prepare`, which does not.
    for is_query_string in (True, False):
        outcomes: list[Any] = await asyncio.gather(
            *(prepare(is_query_string, timeout) for timeout in (0.1, 10.0, None, 0.05)),
            return_exceptions=True,
        )
        short, long, unlimited, shortest = outcomes
        assert isinstance(short, OperationTimedOut)
        assert isinstance(shortest, OperationTimedOut)
        assert long.query_id == b"id"
        assert unlimited.query_id == b"id"
        assert len(timeouts) == 2  # the two callers with more time share a second PREPARE
        # The second PREPARE has the timeout of the caller that starts it: None, or what is left of
        # 10 seconds.
        assert timeouts[1] is None or 9 < timeouts[1] < 10
        timeouts.clear()
    # The second caller has less time (0.2 s) than the PREPARE takes (0.5 s).
    concurrent_calls = [
        prepare(is_query_string=False, timeout=10.0),
        prepare(is_query_string=True, timeout=0.2),
    ]
    outcomes = await asyncio.gather(*concurrent_calls, return_exceptions=True)
    long, short = outcomes
    assert long.query_id == b"id"
    assert isinstance(short, OperationTimedOut)
    assert short.timeout == 0.2


async def test_a_closed_session_prepares_nothing() -> None:
    """On a closed session, `prepare` raises ConnectionShutdown and sends nothing."""
    harness = PreparerHarness()
    harness.session.closed = True
    with pytest.raises(ConnectionShutdown):
        await harness.prepare()
    assert harness.planned_bodies == []


async def test_the_statements_of_query_strings_are_cached() -> None:
    """A query string that is executed with values is prepared only once.

    Later calls reuse its statement.
    """
    harness = PreparerHarness()
    recent: Any = RecentlyUsed(8)
    policies: Any = (None, None, None)  # no load-balancing policy, retry policy and timeout

    async def prepare_text() -> Any:
        return await harness.preparer.prepare_text(harness.session, READ, None, recent, *policies)

    prepared = await asyncio.gather(*(prepare_text() for _ in range(3)), prepare_text())
    prepared.append(await prepare_text())
    assert len({id(statement) for statement in prepared}) == 1
    assert len(harness.planned_bodies) == 1


@pytest.mark.parametrize("marks_transactions", [False, True])
async def test_is_lwt_looks_at_the_query_only_if_no_server_marks_transactions(
    marks_transactions: bool,
) -> None:
    """`PreparedStatement.is_lwt` searches the query for IF only if no server marks transactions.

    A server that marks lightweight transactions knows better than the driver.
    """
    harness = PreparerHarness(marks_transactions=marks_transactions)
    prepared = await harness.prepare("UPDATE t SET v = 1 WHERE k = ? IF EXISTS")
    # The fake server says that the statement is no transaction. If servers mark transactions, the
    # driver believes this. Otherwise, the driver searches the query for IF.
    assert prepared.is_lwt() is not marks_transactions


async def test_a_host_that_comes_back_gets_the_statements_in_use() -> None:
    """`prepare_all_on` prepares each statement that the application still refers to.

    Statements with the same id are prepared only once.
    """
    harness = PreparerHarness(prepare_on_all_hosts=False)
    first, second = await harness.prepare(), await harness.prepare()
    harness.query_id = b"other"
    other = await harness.prepare("SELECT 1")
    await harness.preparer.prepare_all_on(HOST_B)
    assert harness.direct_addresses == ["10.0.0.2"] * 2  # one PREPARE is sent for each id
    assert harness.preparer.prepared_by_id(b"id") in (first, second)
    assert harness.preparer.prepared_by_id(b"other") is other
    # When the application has dropped its statements, the preparer no longer finds them.
    del first, second, other
    assert harness.preparer.prepared_by_id(b"other") is None
    await harness.preparer.prepare_all_on(HOST_B)
    assert len(harness.direct_addresses) == 2


async def test_a_host_that_comes_back_is_prepared_by_few_tasks() -> None:
    """`prepare_all_on` prepares at most PARALLEL_PREPARES statements at the same time."""
    harness = PreparerHarness(prepare_on_all_hosts=False)
    statements = []
    for number in range(500):
        harness.query_id = b"id %d" % number
        statements.append(await harness.prepare(f"SELECT {number}"))
    gate = asyncio.Event()
    in_flight = most_in_flight = completed = 0

    async def count_and_wait(*what: Any) -> Any:
        """Replace a PREPARE on the host: count it, and wait until the gate opens."""
        nonlocal most_in_flight, in_flight, completed
        in_flight += 1
        most_in_flight = max(most_in_flight, in_flight)
        await gate.wait()
        # Let the other running calls be counted before this call continues.
        await asyncio.sleep(0)
        in_flight -= 1
        completed += 1
        return harness.answer()

    harness.preparer._internal_send = count_and_wait
    tasks_before = len(asyncio.all_tasks())
    preparing = asyncio.ensure_future(harness.preparer.prepare_all_on(HOST_B))
    await run_loop_turns()
    # The new tasks are the PARALLEL_PREPARES tasks that send a PREPARE, and `preparing` itself.
    assert len(asyncio.all_tasks()) - tasks_before == PARALLEL_PREPARES + 1
    gate.set()
    await preparing
    assert most_in_flight == PARALLEL_PREPARES
    assert completed == len(statements)


async def test_statements_of_another_keyspace_are_left_out() -> None:
    """`prepare_all_on` leaves out statements whose keyspace is not that of the pool's connection.

    This holds only before protocol version 5, where a PREPARE cannot name a keyspace.
    """
    harness = PreparerHarness(prepare_on_all_hosts=False)
    statements = []
    for number in range(3 * LEFT_OUT_AT_ONCE):
        harness.query_id = b"id %d" % number
        statements.append(await harness.prepare(f"SELECT {number}"))
    # In version 4, a PREPARE runs in the connection's keyspace.
    harness.session.pools[HOST_B].connection.version = 4
    harness.session.pools[HOST_B].connection.keyspace = "another"
    await harness.preparer.prepare_all_on(HOST_B)
    assert harness.direct_addresses == []
    harness.session.pools[HOST_B].connection.keyspace = "ks"
    await harness.preparer.prepare_all_on(HOST_B)
    assert len(harness.direct_addresses) == len(statements)


async def test_a_host_that_has_left_is_not_asked() -> None:
    """Without a pool or an open connection to the host, `prepare_all_on` sends nothing."""
    harness = PreparerHarness(prepare_on_all_hosts=False)
    statement = await harness.prepare()
    del harness.session.pools[HOST_B]
    await harness.preparer.prepare_all_on(HOST_B)
    pool = FakePool(HOST_B)
    pool.connection = None
    harness.session.pools[HOST_B] = pool
    await harness.preparer.prepare_all_on(HOST_B)
    assert harness.direct_addresses == []
    # This line keeps the statement in use until here.
    assert statement.query_id == b"id"


async def test_the_answer_of_a_host_that_comes_back_is_read() -> None:
    """When a host comes back, the driver reads its response to PREPARE.

    If the table was created again meanwhile, the statements get the new positions of the key.
    Otherwise, they would keep the old ones: the host knows the id now, and does not report the
    statements as unprepared.
    """
    harness = PreparerHarness(prepare_on_all_hosts=False)
    harness.markers = markers("k", "v")
    statements = [await harness.prepare(), await harness.prepare()]
    harness.key = [1]
    await harness.preparer.prepare_all_on(HOST_B)
    assert [statement.routing_key_indexes for statement in statements] == [[1], [1]]
    assert [statement.query_id for statement in statements] == [b"id"] * 2
    # If the host has prepared the CQL in another keyspace, its response is ignored.
    harness.query_id, harness.key = b"other", [0]
    await harness.preparer.prepare_all_on(HOST_B)
    assert [statement.routing_key_indexes for statement in statements] == [[1], [1]]
    # If the types of columns have changed, the id is dropped, as the host would misread values.
    harness.query_id, harness.markers = (
        b"id",
        [*markers("k"), markers("v")[0]._replace(type=UUIDType)],
    )
    await harness.preparer.prepare_all_on(HOST_B)
    assert all(statement.query_id != b"id" for statement in statements)


async def test_a_statement_is_prepared_again_if_its_table_changes_meanwhile() -> None:
    """The response to a PREPARE may be older than a change that was reported while it came.

    The server gives the statement the same id for other types, so this id must not be executed.
    """
    harness = PreparerHarness()
    harness.gate.clear()
    preparing = asyncio.ensure_future(harness.prepare())
    shared = asyncio.ensure_future(harness.prepare())
    unrelated = asyncio.ensure_future(harness.prepare("SELECT * FROM other WHERE k = ?"))
    await run_loop_turns()
    harness.preparer.note_change(lambda prepared: prepared.query_string == READ)
    harness.gate.set()
    statements = [await preparing, await shared]
    assert all(statement.query_id != b"id" for statement in statements)
    assert (await unrelated).query_id == b"id"
    # Changes that came before do not matter, even if there were many.
    for _ in range(2 * LATEST_CHANGES):
        harness.preparer.note_change(lambda prepared: True)
    assert (await harness.prepare()).query_id == b"id"
    # If more changes come than are kept, each may have been about the statement.
    harness.gate.clear()
    preparing = asyncio.ensure_future(harness.prepare())
    await run_loop_turns()
    for _ in range(LATEST_CHANGES + 1):
        harness.preparer.note_change(lambda prepared: False)
    harness.gate.set()
    assert (await preparing).query_id != b"id"


async def test_a_statement_is_prepared_again_if_another_host_has_other_types() -> None:
    """The first host has answered before the table was created again, the second host after it."""
    harness = PreparerHarness()
    harness.direct_markers = [ColumnMetadata("ks", "t", "k", UUIDType)]
    assert (await harness.prepare()).query_id != b"id"
    harness.direct_markers = None
    assert (await harness.prepare()).query_id == b"id"


def add_table(harness: PreparerHarness, cql_type: str) -> None:
    """Add a table to the schema that the harness's cluster knows.

    :param cql_type: the type of its column.
    """
    table: Any = SimpleNamespace(columns={"k": SimpleNamespace(cql_type=cql_type)})
    keyspace: Any = SimpleNamespace(tables={"t": table}, views={}, user_types={})
    metadata: Any = SimpleNamespace(keyspaces={"ks": keyspace})
    harness.preparer._metadata = metadata


@pytest.fixture
def schema_readers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the clusters and statements of other tests that were not freed yet."""
    monkeypatch.setattr(prepared_module, "_schema_readers", weakref.WeakValueDictionary())
    monkeypatch.setattr(prepared_module, "_references", {})
    monkeypatch.setattr(prepared_module, "_unpickled_lately", {})


@pytest.mark.usefixtures("schema_readers")
async def test_copies_and_unpickled_statements_follow_changes() -> None:
    """Nobody adds a copy to the registry, but it has the id that the server knows, too."""
    harness = PreparerHarness(prepare_on_all_hosts=False)
    add_table(harness, "int")
    statement = await harness.prepare()
    copies = [
        copy.copy(statement),
        copy.deepcopy(statement),
        pickle.loads(pickle.dumps(statement)),
        copy.copy(copy.copy(statement)),
    ]
    assert {prepared.query_id for prepared in (statement, *copies)} == {b"id"}
    await harness.preparer.revoke_ids(lambda prepared: prepared.query_string == READ)
    assert b"id" not in [prepared.query_id for prepared in (statement, *copies)]
    # The host describes other types.
    statement = await harness.prepare()
    copies = [copy.copy(statement), pickle.loads(pickle.dumps(statement))]
    harness.markers = [ColumnMetadata("ks", "t", "k", UUIDType)]
    await harness.preparer.prepare_all_on(HOST_B)
    assert b"id" not in [prepared.query_id for prepared in (statement, *copies)]


@pytest.mark.usefixtures("schema_readers")
async def test_unpickled_statements_keep_their_id_only_if_the_schema_has_their_types() -> None:
    """Otherwise the table may have been created again with other types since they were pickled."""
    harness = PreparerHarness(prepare_on_all_hosts=False)
    statement = await harness.prepare()
    pickled = pickle.dumps(statement)
    # The schema does not have the table, but another statement has the same id and types.
    assert pickle.loads(pickled).query_id == b"id"
    statement.query_id = b"other"
    assert pickle.loads(pickled).query_id != b"id"
    add_table(harness, "float")
    assert pickle.loads(pickled).query_id != b"id"
    add_table(harness, "int")
    assert pickle.loads(pickled).query_id == b"id"
    # With several clusters, the statement may be executed with any of them.
    other = PreparerHarness()
    assert pickle.loads(pickled).query_id != b"id"
    other.preparer._sessions.clear()  # type: ignore[attr-defined]
    assert pickle.loads(pickled).query_id == b"id"
    # Servers without ids of result columns do not notice that a statement expects other columns.
    statement.query_id = b"id"
    statement.update_result_metadata([ColumnMetadata("ks", "t", "v", Int32Type)], None)
    pickled_with_columns = pickle.dumps(statement)
    statement.update_result_metadata([ColumnMetadata("ks", "t", "v", Int32Type)], b"columns")
    pickled_with_id = pickle.dumps(statement)
    statement.query_id = b"other"
    assert pickle.loads(pickled_with_columns).query_id != b"id"
    assert pickle.loads(pickled_with_id).query_id == b"id"
    harness.preparer._sessions.clear()  # type: ignore[attr-defined]
    assert pickle.loads(pickled).query_id != b"id"


@pytest.mark.usefixtures("schema_readers")
async def test_a_statement_that_is_unpickled_again_is_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A worker unpickles the same statement for each job: only the first one is prepared again."""
    monkeypatch.setattr(prepared_module, "MOST_UNPICKLED", 2)
    harness = PreparerHarness(prepare_on_all_hosts=False)
    statement = await harness.prepare()
    pickled = pickle.dumps(statement)
    statement.query_id = b"other"
    first = pickle.loads(pickled)
    assert first.query_id != b"id"
    # Its execution has prepared it again.
    first.query_id = b"id"
    del first
    assert pickle.loads(pickled).query_id == b"id"
    for number in range(3):
        statement.query_id = b"%d" % number
        pickle.loads(pickle.dumps(statement))
    statement.query_id = b"other"
    assert len(prepared_module._unpickled_lately) <= 2
    assert pickle.loads(pickled).query_id != b"id"


async def test_a_copy_with_other_types_is_found_when_its_cql_is_prepared() -> None:
    """The other statements with its id are as the server describes them."""
    harness = PreparerHarness(prepare_on_all_hosts=False)
    duplicate = copy.copy(await harness.prepare())
    # The copy misses the change of its table.
    harness.markers = [ColumnMetadata("ks", "t", "k", UUIDType)]
    statement = await harness.prepare()
    assert duplicate.query_id != b"id"
    duplicate.query_id = b"id"
    second_statement = await harness.prepare()
    assert [statement.query_id, second_statement.query_id] == [b"id", b"id"]
    assert duplicate.query_id != b"id"
    duplicate.query_id = b"id"
    await harness.preparer.renew([statement])
    assert duplicate.query_id != b"id"


async def test_each_statement_with_an_id_is_compared() -> None:
    """Statements with the same id may have different types; only one of them is returned."""
    harness = PreparerHarness(prepare_on_all_hosts=False)
    statement = await harness.prepare()
    duplicate, second_duplicate = copy.copy(statement), copy.copy(statement)
    found = await harness.preparer.statements_where(
        lambda prepared: prepared is duplicate or prepared is second_duplicate
    )
    assert found == [duplicate]


async def test_statements_of_another_cluster_do_not_get_the_fields_of_this_one() -> None:
    """The same type may have other fields there. The next execution prepares such a statement."""
    harness = PreparerHarness(prepare_on_all_hosts=False)
    shorter, longer = (
        UserType.make_udt_class("ks", "place", names, [Int32Type] * len(names))
        for names in ("a", "ab")
    )
    harness.markers = [ColumnMetadata("ks", "t", "k", shorter)]
    own = await harness.prepare()
    own_copy = copy.copy(own)
    strange = PreparedStatement(harness.markers, b"id", [0], READ, "ks", 5, None, None)
    strange.claim(object())
    remember(strange)
    harness.markers = [ColumnMetadata("ks", "t", "k", longer)]
    await harness.preparer.renew([own])
    assert [own.query_id, own_copy.query_id] == [b"id", b"id"]
    assert [statement.column_metadata[0].type for statement in (own, own_copy)] == [longer] * 2
    assert strange.query_id != b"id"
    assert strange.column_metadata[0].type is shorter
    # Nor is it routed by the partition key that the table has here.
    strange.query_id, harness.key = b"id", []
    await harness.prepare()
    assert [list(item.routing_key_indexes or ()) for item in (own, strange)] == [[], [0]]


async def test_a_host_that_does_not_know_new_fields_yet_changes_nothing() -> None:
    """If a host describes an earlier version of a user-defined type, statements stay valid."""
    harness = PreparerHarness(prepare_on_all_hosts=False)
    longer, shorter = (
        UserType.make_udt_class("ks", "place", names, [Int32Type] * len(names))
        for names in ("ab", "a")
    )
    harness.markers = [ColumnMetadata("ks", "t", "k", longer)]
    statement = await harness.prepare()
    harness.markers = [ColumnMetadata("ks", "t", "k", shorter)]
    await harness.preparer.prepare_all_on(HOST_B)
    assert statement.query_id == b"id"
    assert statement.column_metadata[0].type is longer


async def test_a_key_that_is_not_known_changes_nothing() -> None:
    """If the positions of the partition key are not known, statements keep their positions.

    Protocol version 3 sends no positions, and the schema may not have the table yet. Later
    versions send no positions if a column of the key has no marker.
    """
    harness = PreparerHarness(prepare_on_all_hosts=False)
    statement = await harness.prepare()
    harness.key = None
    await harness.preparer.prepare_all_on(HOST_B)
    assert statement.routing_key_indexes == [0]
    harness.key = []
    await harness.preparer.prepare_all_on(HOST_B)
    assert statement.routing_key_indexes is None


async def test_positions_without_a_column_are_ignored(caplog: pytest.LogCaptureFixture) -> None:
    """If a server sends positions of markers that do not exist, a warning is logged."""
    harness = PreparerHarness(prepare_on_all_hosts=False)
    statement = await harness.prepare()
    harness.key = [1]
    await harness.preparer.prepare_all_on(HOST_B)
    assert statement.routing_key_indexes == [0]
    assert f"{query_head(statement.query_string)} cannot be routed" in caplog.text


@pytest.mark.parametrize("is_unpickled", [False, True])
@pytest.mark.parametrize("is_batch", [False, True])
async def test_a_statement_is_executed_in_two_clusters_with_other_types(
    is_batch: bool, is_unpickled: bool
) -> None:
    """Each cluster gets the values in the types that its table has.

    Both servers give the CQL the same id, and know it: other clients have prepared it. So neither
    would report the statement as unprepared, and each would misread values of the other's type.
    """
    insert = "INSERT INTO ks.t (k, v) VALUES (?, ?)"
    with FakeNode() as first, FakeNode() as second:
        first.prime_prepare(insert, [("k", "int"), ("v", "int")], pk_indexes=[0])
        second.prime_prepare(insert, [("k", "int"), ("v", "float")], pk_indexes=[0])
        async with connected(first) as (_, session), connected(second) as (_, other_session):
            prepared = await session.prepare(insert)
            other = await other_session.prepare(insert)
            assert other.query_id == prepared.query_id
            statement = pickle.loads(pickle.dumps(prepared)) if is_unpickled else prepared
            for _ in range(2):
                for each in (session, other_session):
                    if is_batch:
                        await each.execute(BatchStatement().add(statement, (1, 7)))
                    else:
                        await each.execute(statement, (1, 7))
            # Nor does the other cluster change what its own statements have.
            await session.execute(prepared, (1, 7))
            await other_session.execute(other, (1, 7))
        for node, value in ((first, int32_pack(7)), (second, struct.pack(">f", 7))):
            executed = [
                item
                for request in node.requests
                for item in ([request] if request.opcode == Opcode.EXECUTE else request.statements)
                if item.query is not None
            ]
            assert [item.values[1] for item in executed] == [value] * 3


@pytest.mark.parametrize("second_fields", ["a", "ab"])
async def test_a_statement_of_another_cluster_is_compared_once(second_fields: str) -> None:
    """Only its first execution prepares it, also if a user-defined type has more fields there."""
    with FakeNode() as first, FakeNode() as second:
        for node, names in ((first, "a"), (second, second_fields)):
            place = Udt("ks", "place", tuple((name, "int") for name in names))
            node.prime_prepare(READ, [("k", place)], pk_indexes=[0])
        async with connected(first) as (_, session), connected(second) as (_, other_session):
            prepared = await session.prepare(READ)
            for number in range(3):
                await session.execute(prepared, ((number,),))
                await other_session.execute(prepared, ((number,),))
        assert first.count(Opcode.PREPARE) == second.count(Opcode.PREPARE) == 1
        assert first.count(Opcode.EXECUTE) == 3
        assert second.count(Opcode.EXECUTE) == 4  # the first had an id that no server knows


async def test_a_statement_of_an_applications_class_is_executed_in_another_cluster() -> None:
    """The copy for the other cluster does not call the constructor of the class."""

    class Named(PreparedStatement):
        __slots__ = ()

        def __init__(self, original: PreparedStatement) -> None:
            super().__init__(
                original.column_metadata, original.query_id, [0], READ, None, 5, None, None
            )

    with FakeNode() as first, FakeNode() as second:
        for node in (first, second):
            node.prime_prepare(READ, [("k", "int")], pk_indexes=[0])
        async with connected(first) as (_, session), connected(second) as (_, other_session):
            statement = Named(await session.prepare(READ))
            await session.execute(statement, (1,))
            await other_session.execute(statement, (1,))
        assert second.queries()[-1].values == [int32_pack(1)]
