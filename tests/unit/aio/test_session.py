"""A session of the asyncio API: its methods, the options of a call, and the shutdown."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import pytest

from cassandra import ConsistencyLevel, aio
from cassandra.aio import PlacedResult
from cassandra.cluster import ExecutionProfile
from cassandra.errors import ConnectionShutdown, InvalidRequest, NoHostAvailable, OperationTimedOut
from cassandra.query import dict_factory
from cassandra.testing.fake import ErrorCode, FakeNode, Opcode, error, paged, set_keyspace, silence
from tests.unit.aio.conftest import READ

PREPARED = "SELECT v FROM t WHERE k = ?"
TABLE = "ks.t0"
NUMBERS = [("k", "int")]


class Row(NamedTuple):
    """A row of READ."""

    k: int
    v: str


async def test_row_type_returns_instances_of_a_class(session: aio.Session) -> None:
    """With `row_type`, each row is an instance of this class. Another object is refused."""
    result = await session.execute(READ, row_type=Row)
    assert result.all() == [Row(1, "a"), Row(2, "b")]
    with pytest.raises(TypeError):
        session.execute(READ, row_type=5)  # type: ignore[call-overload]


async def test_set_keyspace_sets_or_keeps_the_keyspace(
    node: FakeNode, session: aio.Session
) -> None:
    """`set_keyspace` changes the keyspace, but keeps it if the server returns an error."""
    node.prime('USE "Shop"', set_keyspace("Shop"))
    node.prime('USE "none"', error(ErrorCode.INVALID, "no such keyspace"))
    await session.set_keyspace("Shop")
    assert session.keyspace == "Shop"
    with pytest.raises(InvalidRequest, match="no such keyspace"):
        await session.set_keyspace("none")
    assert session.keyspace == "Shop"
    with pytest.raises(TypeError, match="a keyspace is a str"):
        await session.set_keyspace(5)  # type: ignore[arg-type]


async def test_prepare_and_prepare_all_prepare_each_query(
    node: FakeNode, session: aio.Session
) -> None:
    """`prepare_all` prepares each query of a list, and refuses a single string."""
    prepared = await session.prepare(PREPARED)
    others = await session.prepare_all([READ, PREPARED])
    expected = [PREPARED, READ, PREPARED]
    assert [statement.query_string for statement in (prepared, *others)] == expected
    prepares = [request for request in node.requests if request.opcode == Opcode.PREPARE]
    assert [request.query for request in prepares] == expected
    with pytest.raises(TypeError, match="not a single text"):
        await session.prepare_all(READ)


@pytest.mark.parametrize("in_order", [True, False])
async def test_execute_concurrent_returns_all_outcomes(
    session: aio.Session, in_order: bool
) -> None:
    """`execute_concurrent` returns an outcome for each statement, with rows of the given type."""
    outcomes = session.execute_concurrent(
        [(READ, None)] * 5, concurrency=2, row_type=Row, in_order=in_order
    )
    results: list[Any] = [outcome async for outcome in outcomes]
    assert [outcome.result_or_exc.one() for outcome in results] == [Row(1, "a")] * 5
    if not in_order:
        assert all(isinstance(outcome, PlacedResult) for outcome in results)
        assert sorted(outcome.position for outcome in results) == list(range(5))
    wrong: Any = 5
    with pytest.raises(TypeError):
        session.execute_concurrent([], row_type=wrong)


async def test_iterating_over_an_execution_says_to_await_it(session: aio.Session) -> None:
    """`async for row in session.execute(...)`, without `await`, raises an error that says so."""
    execution: Any = session.execute("SELECT 1")
    with pytest.raises(TypeError, match=r"`async for row in await session.execute\(...\)`"):
        async for _ in execution:
            pass
    await execution


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda future: future.one(), "no attribute 'one': the execution was not awaited; write "),
        (lambda future: future[0], "the execution was not awaited; write `result = await "),
        (len, "the execution was not awaited; write `result = await session.execute"),
        (list, "await wasn't used with future: the execution was not awaited; write "),
    ],
    ids=["attribute", "index", "len", "iteration"],
)
async def test_an_execution_that_is_not_awaited_has_one_message(
    node: FakeNode, cluster: aio.Cluster, use: Callable[[Any], object], message: str
) -> None:
    """Using an execution that was not awaited raises an error that says what to write.

    The event loop does not also report that the execution has failed.
    """
    reports: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: reports.append(context))
    node.prime("SELECT v", silence())
    with pytest.raises((AttributeError, TypeError, RuntimeError)) as refused:
        # The end of this block shuts down the cluster, which ends the execution with an error.
        async with cluster:
            use((await cluster.connect()).execute("SELECT v"))
    assert message in str(refused.value)
    del refused
    gc.collect()
    assert reports == []


async def test_an_execution_has_no_content_to_be_sent_as_json(session: aio.Session) -> None:
    """`vars()` of an execution raises TypeError.

    If a route of FastAPI returns an object of an unknown class, FastAPI sends its `vars()`. For an
    execution that was not awaited, this must be an error, not ``{}``.
    """
    execution: Any = session.execute(READ)
    execution.span = "a listener's own attribute"
    with pytest.raises(TypeError, match="__dict__"):
        vars(execution)
    assert execution.span == "a listener's own attribute"
    assert "done" in dir(execution)
    await execution


async def test_calls_that_are_not_awaited(session: aio.Session) -> None:
    """Using the object that `prepare` returns, without `await`, raises an error that says so."""
    call: Any = session.prepare(PREPARED)
    assert repr(call) == "<Call of Session.prepare>"
    with pytest.raises(AttributeError, match=r"write result = await prepare\(\.\.\.\)"):
        call.bind((1,))
    await call


async def test_after_shutdown_execute_raises(node: FakeNode, cluster: aio.Cluster) -> None:
    """After `Session.shutdown`, `execute` raises ConnectionShutdown."""
    async with await cluster.connect() as session:
        assert repr(session) == "<aio.Session: keyspace=None, 1 hosts>"
    # The end of the block has shut down the session. A second shutdown has no effect.
    await session.shutdown()
    assert session.is_shutdown
    assert repr(session) == "<aio.Session: keyspace=None, shut down>"
    with pytest.raises(ConnectionShutdown):
        await session.execute(READ)
    # The shutdown of one session does not affect the other sessions of the cluster.
    other_session = await cluster.connect()
    assert (await other_session.execute(READ)).one().k == 1


# -- options of a call -----------------------------------------------------------------------------


async def test_the_options_of_a_call_are_sent(node: FakeNode, session: aio.Session) -> None:
    """`execute` sends the options of its call, and the next call does not have them."""
    profile = ExecutionProfile(consistency_level=ConsistencyLevel.TWO, row_factory=dict_factory)
    result = await session.execute(
        READ, trace=True, custom_payload={"mark": b"1"}, execution_profile=profile
    )
    assert result.one() == {"k": 1, "v": "a"}
    (request,) = node.queries(READ)
    assert request.traced
    assert request.custom_payload == {"mark": b"1"}
    assert request.consistency == ConsistencyLevel.TWO
    await session.execute(READ)
    plain = node.queries(READ)[-1]
    assert not plain.traced
    assert not plain.custom_payload
    assert plain.consistency != ConsistencyLevel.TWO


async def test_each_option_alone_applies_to_a_prepared_statement(
    node: FakeNode, session: aio.Session
) -> None:
    """Each option of `execute` alone has its effect on a prepared statement.

    Without options, the driver sends a prepared statement by shorter code, which does not know
    options.
    """
    prepared = await session.prepare(PREPARED)

    async def sent(**options: Any) -> Any:
        await session.execute(prepared, (1,), **options)
        return [request for request in node.requests if request.opcode == Opcode.EXECUTE][-1]

    assert (await sent(trace=True)).traced
    assert not (await sent(trace=False)).traced
    assert (await sent(custom_payload={"mark": b"1"})).custom_payload == {"mark": b"1"}
    profile = ExecutionProfile(consistency_level=ConsistencyLevel.TWO)
    assert (await sent(execution_profile=profile)).consistency == ConsistencyLevel.TWO
    assert (await sent(paging_state=b"next")).paging_state == b"next"
    wrong: Any
    # Wrong targets, and a row type that is not a class, are refused.
    for wrong in ({"host": "here"}, {"token": "5"}, {"shard": 1}, {"row_type": 5}):
        with pytest.raises((TypeError, ValueError)):
            await sent(**wrong)
    with pytest.raises(OperationTimedOut):
        await sent(timeout=0)


async def test_options_of_many_executions_apply_to_prepared_statements(
    session: aio.Session,
) -> None:
    """Options of `execute_concurrent` apply to the rows of prepared statements."""
    prepared = await session.prepare(READ)
    for options, expected in (
        ({}, (1, "a")),
        ({"execution_profile": ExecutionProfile(row_factory=dict_factory)}, {"k": 1, "v": "a"}),
        ({"row_type": Row}, Row(1, "a")),
    ):
        outcomes = session.execute_concurrent([(prepared, ())] * 2, **options)
        rows = [outcome.result_or_exc.one() async for outcome in outcomes]
        assert rows == [expected] * 2
        assert all(type(row) is Row for row in rows) is ("row_type" in options)


async def test_paging_state_continues_an_earlier_read(node: FakeNode, session: aio.Session) -> None:
    """With the paging state of an earlier result, `execute` returns the next page."""
    node.prime(READ, paged(NUMBERS, [(1,), (2,), (3,)]))
    session.default_fetch_size = 2
    first_page = await session.execute(READ)
    assert first_page.has_more_pages
    second_page = await session.execute(READ, paging_state=first_page.paging_state)
    assert [row[0] for row in second_page.current_rows] == [3]
    assert node.queries(READ)[-1].paging_state == first_page.paging_state


async def test_the_timeout_of_a_call_limits_it(node: FakeNode, session: aio.Session) -> None:
    """If the node does not respond, `execute` raises OperationTimedOut after its `timeout`."""
    node.prime(READ, silence())
    with pytest.raises(OperationTimedOut):
        await session.execute(READ, timeout=0.01)


async def test_a_session_has_the_hosts_that_were_known(
    node: FakeNode, session: aio.Session
) -> None:
    """`Session.hosts` lists the known hosts, as in the blocking session."""
    assert [host.address for host in session.hosts] == [node.address]


async def test_a_host_or_a_token_choose_the_target(session: aio.Session) -> None:
    """The options `host` and `token` select the node of a request.

    The option `shard` raises an error here, since the node has no shards.
    """
    (host,) = session.cluster.metadata.all_hosts()
    assert (await session.execute(READ, host=host)).one() == (1, "a")
    assert (await session.execute(READ, token=0)).one() == (1, "a")
    with pytest.raises(ValueError, match="shard"):
        await session.execute(READ, host=host, shard=1)
    with pytest.raises((ValueError, NoHostAvailable)):
        await session.execute(READ, shard=1)


@pytest.mark.parametrize("call", ["execute", "prepare"])
async def test_misspelt_options_are_refused(
    node: FakeNode, session: aio.Session, call: str
) -> None:
    """An unknown option raises TypeError, and no request is sent."""
    method: Callable[..., Awaitable[Any]] = getattr(session, call)
    with pytest.raises(TypeError, match="time_out"):
        await method(READ, time_out=5)
    assert node.queries(READ) == []


async def test_listeners_see_each_request_before_it_is_sent(
    node: FakeNode, session: aio.Session
) -> None:
    """A listener sees each request before it is sent, until the listener is removed.

    Additional arguments of `add_request_init_listener` are passed to each call of the listener.
    """

    def add_payload(future: Any, mark: bytes) -> None:
        future.message.update_custom_payload({"mark": mark})

    session.add_request_init_listener(add_payload, b"1")
    await session.execute(READ)
    assert node.queries(READ)[-1].custom_payload == {"mark": b"1"}
    session.remove_request_init_listener(add_payload, b"1")
    await session.execute(READ)
    assert not node.queries(READ)[-1].custom_payload


async def test_values_that_do_not_fit_are_refused_at_once(session: aio.Session) -> None:
    """A str for an int raises TypeError when `execute` is called, before it is awaited."""
    prepared = await session.prepare(PREPARED)
    with pytest.raises(TypeError, match=r"'ann' \(str\) is not an integer"):
        session.execute(prepared, ["ann"])


async def test_prepare_passes_its_keyspace_and_payload(
    node: FakeNode, session: aio.Session
) -> None:
    """`prepare` sends its options `keyspace` and `custom_payload` to the node."""
    await session.prepare(PREPARED, custom_payload={"mark": b"1"}, keyspace="other")
    (request,) = [request for request in node.requests if request.opcode == Opcode.PREPARE]
    assert (request.keyspace, request.custom_payload) == ("other", {"mark": b"1"})


async def test_calls_from_another_loop_are_refused(session: aio.Session) -> None:
    """A session's calls on another event loop than its own raise RuntimeError."""

    def run_on_another_loop(call: Callable[[], Awaitable[Any]]) -> None:
        async def await_call() -> None:
            await call()

        asyncio.run(await_call())

    for call in (
        lambda: session.execute(READ),
        lambda: session.execute(READ, timeout=5),
        lambda: session.prepare(PREPARED),
        lambda: session.prepare_all([PREPARED]),
    ):
        with pytest.raises(RuntimeError, match="loop"):
            await asyncio.to_thread(run_on_another_loop, call)


async def test_a_single_node_agrees_on_the_schema(session: aio.Session) -> None:
    """With one node, the wait for schema agreement succeeds. An unknown scope raises ValueError."""
    assert await session.wait_for_schema_agreement() is True
    assert await session.wait_for_schema_agreement(wait_time=1, scope="rack") is True
    with pytest.raises(ValueError, match="planet"):
        await session.wait_for_schema_agreement(scope="planet")


@pytest.mark.parametrize("raises", [True, False])
async def test_an_error_of_many_executions_is_raised_or_returned(
    node: FakeNode, session: aio.Session, raises: bool
) -> None:
    """`raise_on_first_error` decides whether an error is raised or returned as an outcome."""
    node.prime("bad", error(ErrorCode.INVALID, "no"))
    profile = ExecutionProfile(row_factory=dict_factory)
    outcomes = session.execute_concurrent(
        [(READ, None), ("bad", None)], raise_on_first_error=raises, execution_profile=profile
    )
    first = await anext(outcomes)
    assert first.success
    assert first.result_or_exc.one() == {"k": 1, "v": "a"}
    # The node refuses the second statement.
    if raises:
        with pytest.raises(InvalidRequest):
            await anext(outcomes)
    else:
        second = await anext(outcomes)
        assert not second.success
        assert isinstance(second.result_or_exc, InvalidRequest)
    await outcomes.aclose()


async def test_many_executions_call_an_execute_that_was_replaced(session: aio.Session) -> None:
    """If an application replaces `execute` of a session, the replacement is called.

    `execute_concurrent` calls it for each statement.
    """
    calls: list[Any] = []
    original_execute = session.execute

    def traced_execute(*args: Any, **options: Any) -> Any:
        calls.append(args)
        return original_execute(*args, **options)

    session.execute = traced_execute  # type: ignore[method-assign]
    async for _ in session.execute_concurrent([(READ, None)] * 3):
        pass
    assert len(calls) == 3


class Calls:
    """A replacement for a function that records the arguments of its calls.

    The result of a call can be awaited.
    """

    def __init__(self) -> None:
        self.calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

    def __call__(self, *args: Any, **options: Any) -> Awaitable[str]:
        self.calls.append((args, options))
        return self.result()

    async def result(self) -> str:
        return "done"


@pytest.mark.parametrize(
    ("method", "target", "arguments", "options"),
    [
        ("scan", "cassandra.bulk.scan.AsyncScan", (TABLE, "k", "k > 1"), {"concurrency": 3}),
        ("count", "cassandra.bulk.scan.acount", (TABLE, "k > 1"), {"concurrency": 3}),
        (
            "unload",
            "cassandra.bulk.unload.aunload",
            (TABLE, "out"),
            {"format": "csv", "columns": "k", "where": "k > 1", "compression": None, "null": ""},
        ),
    ],
)
async def test_calls_for_whole_tables_pass_their_arguments(
    session: aio.Session,
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    target: str,
    arguments: tuple[str, ...],
    options: dict[str, Any],
) -> None:
    """`scan`, `count` and `unload` pass their arguments to the functions of `cassandra.bulk`.

    `AsyncScan` gets the options as one mapping. The other two functions get keyword arguments.
    """
    calls = Calls()
    monkeypatch.setattr(target, calls)
    assert await getattr(session, method)(*arguments, **options) == "done"
    if method == "scan":
        assert calls.calls == [((session, *arguments, options), {})]
    else:
        assert calls.calls == [((session, *arguments), options)]


async def test_shutdown_closes_the_sessions_connections_only(
    node: FakeNode, cluster: aio.Cluster, session: aio.Session
) -> None:
    """`Session.shutdown` closes the connections of this session, but not of another session."""
    count_before = len(node.connections)
    other = await cluster.connect()
    # The second call has no effect.
    await other.shutdown()
    await other.shutdown()
    await node.wait_until(lambda node: len(node.connections) == count_before)
    assert not session.is_shutdown


def test_a_plain_with_says_to_write_async_with() -> None:
    """`with session` raises an error that says to write `async with`."""
    enter: Any = aio.Session.__enter__  # type: ignore[attr-defined]
    session = None  # `__enter__` does not use the session
    with pytest.raises(TypeError, match="write `async with`"):
        enter(session)
