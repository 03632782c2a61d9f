"""Errors for common mistakes, most of them with asyncio, suggest the right code."""

from __future__ import annotations

import asyncio
import gc
import sys
import traceback
import warnings
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from cassandra import aio
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, NoHostAvailable
from cassandra.engine import mistakes
from cassandra.policies import DCAwareRoundRobinPolicy, TokenAwarePolicy
from cassandra.query import SimpleStatement
from cassandra.testing.fake import ErrorCode, FakeNode, error, rows as answer

READ = "SELECT k FROM t"
INSERT = "INSERT INTO t (k) VALUES (?)"


@pytest.fixture
def node() -> Iterator[FakeNode]:
    with FakeNode() as node:
        node.prime(READ, answer([("k", "int")], [(1,)]))
        node.prime_prepare(INSERT, [("k", "int")], pk_indexes=[0])
        yield node


@pytest.fixture
async def session(node: FakeNode) -> AsyncIterator[Any]:
    async with aio.Cluster([node.address], port=node.port) as cluster:
        yield await cluster.connect()


@pytest.mark.parametrize("name", ["one", "all", "was_applied", "current_rows", "nothing"])
async def test_using_an_execution_like_a_result_suggests_await(session: Any, name: str) -> None:
    prepared = await session.prepare(INSERT)
    for execution in (session.execute(READ), session.execute(prepared, (1,))):
        with pytest.raises(AttributeError, match=f"{name}.*write `result = await session.execute"):
            getattr(execution, name)
        assert not hasattr(execution, name)
        await execution


async def test_for_suggests_async_for(session: Any) -> None:
    result = await session.execute(READ)
    with pytest.raises(TypeError, match=r"write `async for row in result`.*result\.all\(\)"):
        for _ in result:
            pass
    assert [row.k async for row in result] == [1]


async def test_with_suggests_async_with(session: Any) -> None:
    thing: Any
    for thing in (aio.Cluster(), session):
        with pytest.raises(TypeError, match="write `async with`"), thing:
            pass


def test_using_a_session_on_another_loop_raises(node: FakeNode) -> None:
    async def create_session() -> tuple[Any, Any, Any]:
        cluster = aio.Cluster([node.address], port=node.port)
        session = await cluster.connect()
        return cluster, session, await session.prepare(INSERT)

    first, second = asyncio.new_event_loop(), asyncio.new_event_loop()
    try:
        cluster, session, prepared = first.run_until_complete(create_session())

        async def call_on_second_loop() -> None:
            calls: list[Any] = [
                lambda: session.execute(READ),
                lambda: session.execute(prepared, (1,)),
                lambda: session.execute(READ, timeout=5),
                lambda: session.prepare(READ),
                lambda: session.prepare_all([READ]),
            ]
            for call in calls:
                with pytest.raises(RuntimeError, match=r"make a cassandra\.aio\.Cluster in each"):
                    await call()

        second.run_until_complete(call_on_second_loop())
        with pytest.raises(RuntimeError, match="outside of its event loop"):
            session.execute(READ)
        assert not node.queries(READ)
        first.run_until_complete(cluster.shutdown())
    finally:
        first.close()
        second.close()
    # The loop on which the session was created is closed by now.
    with pytest.raises(RuntimeError, match="is closed"):
        asyncio.run(execute_read(session))


async def execute_read(session: Any) -> None:
    await session.execute(READ)


def test_a_blocking_call_on_a_running_loop_is_logged_once(
    node: FakeNode, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    # The warning is logged once in a process, and an earlier test may have caused it.
    monkeypatch.setattr(mistakes, "_is_warned", False)

    def warnings() -> list[str]:
        return [
            record.getMessage()
            for record in caplog.records
            if "running event loop" in record.message
        ]

    with Cluster([node.address], port=node.port) as cluster:
        session = cluster.connect()
        session.execute(READ)
        assert warnings() == []

        async def call_twice() -> None:
            session.execute(READ)
            session.prepare(INSERT)

        asyncio.run(call_twice())
        (warning,) = warnings()
        assert warning.startswith("Session.execute() was called on a running event loop")
        assert "cassandra.aio" in warning


async def test_the_report_of_an_unretrieved_error_has_the_statement(
    node: FakeNode, session: Any
) -> None:
    node.prime(READ, error(ErrorCode.INVALID, "no such table"))
    node.prime(INSERT, error(ErrorCode.INVALID, "no such table"))
    prepared = await session.prepare(INSERT)
    reports: list[str] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(
        lambda loop, context: reports.append(f"{context['message']}: {context['future']!r}")
    )
    for execution in (session.execute(READ), session.execute(prepared, (1,))):
        await asyncio.wait([execution])
    # The futures report their errors when they are freed.
    del execution
    gc.collect()
    assert sorted(report.partition(" of ")[2] for report in reports) == [
        f"{INSERT!r}>",
        f"{READ!r}>",
    ]
    assert all("exception was never retrieved" in report for report in reports)


def test_an_unknown_local_dc_is_named_with_the_existing_ones(node: FakeNode) -> None:
    policy = TokenAwarePolicy(DCAwareRoundRobinPolicy("us-east"))
    profile = ExecutionProfile(load_balancing_policy=policy)
    with (
        Cluster(
            [node.address], port=node.port, execution_profiles={EXEC_PROFILE_DEFAULT: profile}
        ) as cluster,
        pytest.raises(
            NoHostAvailable, match=r"'us-east', the local_dc.*nodes are in 'datacenter1'"
        ),
    ):
        cluster.connect()


def test_misspelt_settings_get_a_suggestion() -> None:
    wrong: dict[str, Any]
    for wrong, message in (
        ({"contact_pointss": []}, "did you mean 'contact_points'"),
        ({"conect_timeout": 3}, "did you mean 'connect_timeout'"),
        ({"request_timeout": 3}, r"ExecutionProfile\(request_timeout=\.\.\.\)"),
    ):
        with pytest.raises(TypeError, match=message):
            Cluster(**wrong)


def test_wrong_values_are_refused_where_they_are_set(node: FakeNode) -> None:
    with Cluster([node.address], port=node.port) as cluster:
        session = cluster.connect()
        with pytest.raises(ValueError, match=r"default_vector_type.*not as 'torch'"):
            session.default_vector_type = "torch"
        session.execute(READ)
        with pytest.raises(TypeError, match=r"write ConsistencyLevel\.QUORUM"):
            session.execute(SimpleStatement(READ, consistency_level="QUORUM"))  # type: ignore[arg-type]


def compiled_frames(error: BaseException) -> int:
    """Return how many frames of compiled code the error's traceback has."""
    filenames = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    return len([name for name in filenames if name.endswith((".pyx", ".pxi"))])


@pytest.mark.parametrize("values", [("x",), {"k": "x"}, ["x"]])
async def test_the_traceback_of_a_wrong_value_has_few_compiled_frames(
    node: FakeNode, session: Any, values: Any
) -> None:
    text = "SELECT v FROM t WHERE k = ?"
    prepared = await session.prepare(text)
    with pytest.raises(TypeError, match='column "k"') as awaited:
        await session.execute(prepared, values)
    assert compiled_frames(awaited.value) <= 1
    with pytest.raises(TypeError, match='column "k"') as bound:
        prepared.bind(values)
    # Allow one more frame here, since `bind` itself may be compiled.
    assert compiled_frames(bound.value) <= 2
    with Cluster([node.address], port=node.port) as cluster, cluster.connect() as blocking:
        prepared = blocking.prepare(text)
        with pytest.raises(TypeError, match='column "k"') as caught:
            blocking.execute(prepared, values)
    assert compiled_frames(caught.value) <= 1


def test_a_session_of_another_loop_suggests_the_scope_of_fixtures(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loop = asyncio.new_event_loop()
    try:
        monkeypatch.setitem(sys.modules, "pytest_asyncio", mistakes)
        with pytest.raises(RuntimeError, match="the fixture and the test the same loop_scope"):
            mistakes.refuse_loop(loop)
        monkeypatch.delitem(sys.modules, "pytest_asyncio")
        with pytest.raises(RuntimeError, match=r"which any thread may use$"):
            mistakes.refuse_loop(loop)
    finally:
        loop.close()


async def test_an_execution_that_is_tested_for_truth_and_never_awaited_warns(session: Any) -> None:
    """``if session.execute(query):`` without ``await`` tests a future, which is always true."""
    prepared = await session.prepare(INSERT)
    for arguments in ((READ,), (prepared, (1,))):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            if not session.execute(*arguments):
                pytest.fail("a future is true")
            await session.execute(READ)  # in the meantime, the execution above ends, too
            gc.collect()
        [warning] = caught
        assert warning.category is RuntimeWarning
        assert "tested for truth, and never awaited" in str(warning.message)
        assert warning.filename == __file__


async def test_an_execution_that_is_used_after_a_test_for_truth_does_not_warn(
    session: Any,
) -> None:
    async def wait(future: Any) -> None:
        await asyncio.wait([future])

    async def ask_for_the_error(future: Any) -> None:
        await session.execute(READ)
        assert future.exception() is None

    async def ask_for_the_result(future: Any) -> None:
        await session.execute(READ)
        assert future.result()

    async def await_it(future: Any) -> None:
        await future

    async def await_it_late(future: Any) -> None:
        await session.execute(READ)
        await future

    async def cancel(future: Any) -> None:
        future.cancel()

    for use in (wait, ask_for_the_error, ask_for_the_result, await_it, await_it_late, cancel):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            future = session.execute(READ)
            assert future
            await use(future)
            del future
            await session.execute(READ)
            gc.collect()
