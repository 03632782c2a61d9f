"""Common mistakes, most of them with asyncio, raise errors that suggest the right code."""

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
from cassandra.policies import DCAwareRoundRobinPolicy, RoundRobinPolicy, TokenAwarePolicy
from cassandra.query import SimpleStatement
from cassandra.testing.fake import ErrorCode, FakeNode, error, rows

READ = "SELECT k FROM t"
INSERT = "INSERT INTO t (k) VALUES (?)"


@pytest.fixture
def node() -> Iterator[FakeNode]:
    """Yield a node that responds to READ with one row, and can prepare INSERT."""
    with FakeNode() as node:
        node.prime(READ, rows([("k", "int")], [(1,)]))
        node.prime_prepare(INSERT, [("k", "int")], pk_indexes=[0])
        yield node


@pytest.fixture
async def session(node: FakeNode) -> AsyncIterator[Any]:
    async with aio.Cluster([node.address], port=node.port) as cluster:
        yield await cluster.connect()


@pytest.mark.parametrize("attribute", ["one", "all", "was_applied", "current_rows", "nothing"])
async def test_using_an_execution_like_a_result_suggests_await(
    session: Any, attribute: str
) -> None:
    """If `execute` is used like a result, the error says to write `await`.

    In asyncio, `execute` returns a future.
    """
    prepared = await session.prepare(INSERT)
    for execution in (session.execute(READ), session.execute(prepared, (1,))):
        with pytest.raises(
            AttributeError, match=f"{attribute}.*write `result = await session.execute"
        ):
            getattr(execution, attribute)
        assert not hasattr(execution, attribute)
        await execution


async def test_for_suggests_async_for(session: Any) -> None:
    """`for` over an asyncio result raises TypeError, which says to write `async for`.

    The result may need to fetch further pages, and `for` cannot wait for them.
    """
    result = await session.execute(READ)
    with pytest.raises(TypeError, match=r"write `async for row in result`.*result\.all\(\)"):
        for _ in result:
            pass
    assert [row.k async for row in result] == [1]


async def test_with_suggests_async_with(session: Any) -> None:
    """`with` for an asyncio cluster or session raises TypeError.

    The error says to write `async with`.
    """
    cluster_or_session: Any
    for cluster_or_session in (aio.Cluster(), session):
        with pytest.raises(TypeError, match="write `async with`"), cluster_or_session:
            pass


def test_using_a_session_on_another_loop_raises(node: FakeNode) -> None:
    """If an asyncio session is used on another loop, the call raises RuntimeError.

    A session belongs to the loop on which it was created. Calls without a running loop raise as
    well.
    """

    async def create_session() -> tuple[Any, Any, Any]:
        cluster = aio.Cluster([node.address], port=node.port)
        session = await cluster.connect()
        return cluster, session, await session.prepare(INSERT)

    first_loop, second_loop = asyncio.new_event_loop(), asyncio.new_event_loop()
    try:
        cluster, session, prepared = first_loop.run_until_complete(create_session())

        async def call_on_second_loop() -> None:
            """Call each method, which must raise an error that suggests what to do."""
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

        second_loop.run_until_complete(call_on_second_loop())
        with pytest.raises(RuntimeError, match="outside of its event loop"):
            session.execute(READ)
        assert not node.queries(READ)
        first_loop.run_until_complete(cluster.shutdown())
    finally:
        first_loop.close()
        second_loop.close()
    # The loop on which the session was created is closed now.
    with pytest.raises(RuntimeError, match="is closed"):
        asyncio.run(execute_read(session))


async def execute_read(session: Any) -> None:
    """Execute READ in a coroutine, because `asyncio.run` needs one."""
    await session.execute(READ)


def test_blocking_calls_on_a_running_loop_are_reported(
    node: FakeNode, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Blocking calls in a coroutine are logged, with the advice to use `cassandra.aio`.

    Such a call stops the loop. After many such calls, there is a warning.
    """
    # The message is logged once in a process, and an earlier test may have caused it.
    monkeypatch.setattr(mistakes, "_blocking_calls", 0)
    monkeypatch.setattr(mistakes, "MANY_BLOCKING_CALLS", 4)

    def warnings_of_loop() -> list[str]:
        """Return the messages that were logged about the running event loop."""
        return [
            record.getMessage()
            for record in caplog.records
            if "running event loop" in record.message
        ]

    with Cluster([node.address], port=node.port) as cluster:
        session = cluster.connect()
        session.execute(READ)
        assert warnings_of_loop() == []

        async def call_twice() -> None:
            session.execute(READ)
            session.prepare(INSERT)

        asyncio.run(call_twice())
        (warning,) = warnings_of_loop()
        assert warning.startswith("Session.execute() was called on a running event loop")
        assert "cassandra.aio" in warning
        with pytest.warns(RuntimeWarning, match=r"use cassandra\.aio.*\(4 such calls") as caught:
            asyncio.run(call_twice())
        assert [shown.filename for shown in caught] == [__file__]
        asyncio.run(call_twice())
        assert len(warnings_of_loop()) == 1


async def test_the_report_of_an_unretrieved_error_has_the_statement(
    node: FakeNode, session: Any
) -> None:
    """If a failed request was never awaited, the loop's report names its statement."""
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
    insert_report, read_report = sorted(reports, key=lambda report: READ in report)
    assert insert_report.endswith(f" of {INSERT!r}>")
    assert read_report.endswith(f" of {READ!r}>")
    assert all("exception was never retrieved" in report for report in reports)


def test_an_unknown_local_dc_is_named_with_the_existing_ones(node: FakeNode) -> None:
    """If no node is in the policy's `local_dc`, the error names the existing data centres."""
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


def test_a_policy_without_a_query_plan_is_named(node: FakeNode) -> None:
    """A policy of the application may have forgotten to return its plan."""

    class Forgetful(RoundRobinPolicy):
        def make_query_plan(self, working_keyspace: Any = None, query: Any = None) -> Any:
            return None

    profiles = {EXEC_PROFILE_DEFAULT: ExecutionProfile(Forgetful())}
    with Cluster([node.address], port=node.port, execution_profiles=profiles) as cluster:
        session = cluster.connect()
        with pytest.raises(TypeError, match=r"Forgetful\.make_query_plan\(\) has returned None"):
            session.execute("SELECT 1")


def test_misspelt_settings_get_a_suggestion() -> None:
    """The error for an unknown setting suggests a similar setting.

    If another class has the setting, the error names this class.
    """
    settings: dict[str, Any]
    for settings, message in (
        ({"contact_pointss": []}, "did you mean 'contact_points'"),
        ({"conect_timeout": 3}, "did you mean 'connect_timeout'"),
        ({"request_timeout": 3}, r"ExecutionProfile\(request_timeout=\.\.\.\)"),
    ):
        with pytest.raises(TypeError, match=message):
            Cluster(**settings)


def test_wrong_values_are_refused_where_they_are_set(node: FakeNode) -> None:
    """Wrong values raise an error where the application sets or passes them.

    The error says what to write instead.
    """
    with Cluster([node.address], port=node.port) as cluster:
        session = cluster.connect()
        with pytest.raises(ValueError, match=r"default_vector_type.*not as 'torch'"):
            session.default_vector_type = "torch"
        session.execute(READ)
        with pytest.raises(TypeError, match=r"write ConsistencyLevel\.QUORUM"):
            session.execute(SimpleStatement(READ, consistency_level="QUORUM"))  # type: ignore[arg-type]


def compiled_frames(error: BaseException) -> int:
    """Return the number of frames of compiled code in an error's traceback."""
    filenames = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    return len([name for name in filenames if name.endswith((".pyx", ".pxi"))])


@pytest.mark.skipif(
    sys.version_info < (3, 11), reason="`raise` restores the traceback that the error had at first"
)
@pytest.mark.parametrize("values", [("x",), {"k": "x"}, ["x"]])
async def test_the_traceback_of_a_wrong_value_has_few_compiled_frames(
    node: FakeNode, session: Any, values: Any
) -> None:
    """The traceback of a wrong value has at most one frame of compiled code.

    Such frames do not help the application.
    """
    query = "SELECT v FROM t WHERE k = ?"
    prepared = await session.prepare(query)
    with pytest.raises(TypeError, match='column "k"') as caught:
        await session.execute(prepared, values)
    assert compiled_frames(caught.value) <= 1
    with pytest.raises(TypeError, match='column "k"') as caught:
        prepared.bind(values)
    # `bind` itself may be compiled, so allow one more frame.
    assert compiled_frames(caught.value) <= 2
    with Cluster([node.address], port=node.port) as cluster, cluster.connect() as blocking_session:
        prepared = blocking_session.prepare(query)
        with pytest.raises(TypeError, match='column "k"') as caught:
            blocking_session.execute(prepared, values)
    assert compiled_frames(caught.value) <= 1


def test_a_session_of_another_loop_suggests_the_scope_of_fixtures(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With pytest-asyncio, the error for a session of another loop advises on fixture scopes.

    A fixture and a test with different loops are the usual reason.
    """
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


@pytest.mark.skipif(
    getattr(sys.flags, "context_aware_warnings", False),
    reason="the loop warns, whose context does not have the filters of the test",
)
async def test_an_execution_that_is_tested_for_truth_and_never_awaited_warns(session: Any) -> None:
    """If a future is tested for truth and never awaited, a RuntimeWarning says so.

    ``if session.execute(query):`` without ``await`` tests a future, which is always true.
    """
    prepared = await session.prepare(INSERT)
    for arguments in ((READ,), (prepared, (1,))):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            if not session.execute(*arguments):
                pytest.fail("a future is true")
            await session.execute(READ)  # during this time, the request above ends, too
            gc.collect()
        [warning] = caught
        assert warning.category is RuntimeWarning
        assert "tested for truth, and never awaited" in str(warning.message)
        assert warning.filename == __file__


async def test_an_execution_that_is_used_after_a_test_for_truth_does_not_warn(
    session: Any,
) -> None:
    """If a future is used after it was tested for truth, there is no warning.

    The warning is for code that has forgotten `await`. Any later use of the future shows that
    `await` was not forgotten.
    """

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

    # Test each future for truth, and then use it. A warning would be raised as an error.
    for use in (wait, ask_for_the_error, ask_for_the_result, await_it, await_it_late, cancel):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            future = session.execute(READ)
            assert future
            await use(future)
            del future
            await session.execute(READ)
            gc.collect()
