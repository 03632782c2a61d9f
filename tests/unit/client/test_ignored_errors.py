"""`ignored_error`, which tells whether a retry policy has replaced an error by an empty result."""

from __future__ import annotations

from typing import Any

from cassandra import Unavailable, aio
from cassandra.client.ignored_errors import ignored_error
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile
from cassandra.policies.retry import Decision, RetryPolicy
from cassandra.policies.speculation import ConstantSpeculativeExecutionPolicy
from cassandra.query.statement import SimpleStatement
from cassandra.testing.fake import ErrorCode, FakeCluster, FakeNode, error, hold, rows, void


class IgnoringPolicy(RetryPolicy):
    """A retry policy that ignores each `Unavailable`."""

    def on_unavailable(self, *args: Any, **options: Any) -> Decision:
        return self.IGNORE, None


PROFILES = {EXEC_PROFILE_DEFAULT: ExecutionProfile(retry_policy=IgnoringPolicy())}


def prime(node: FakeNode) -> None:
    """Prime an empty result, a void result and an error, as the names of the queries say."""
    node.prime("rows", rows([("k", "int")]))
    node.prime("void", void())
    node.prime("unavailable", error(ErrorCode.UNAVAILABLE))


def test_only_results_without_an_answer_have_an_ignored_error() -> None:
    """If the retry policy ignores an error, the result is empty, and `ignored_error` returns it.

    For other results, `ignored_error` returns None.
    """
    with FakeNode() as node:
        prime(node)
        with (
            Cluster([node.address], port=node.port, execution_profiles=PROFILES) as cluster,
            cluster.connect() as session,
        ):
            assert ignored_error(session.execute("rows")) is None
            assert ignored_error(session.execute("void")) is None
            result = session.execute("unavailable")
            assert result.all() == []
            assert isinstance(ignored_error(result), Unavailable)


async def test_the_same_on_asyncio() -> None:
    """In asyncio, too, only a result whose error was ignored has this error."""
    with FakeNode() as node:
        prime(node)
        async with aio.Cluster(
            [node.address], port=node.port, execution_profiles=PROFILES
        ) as cluster:
            session = await cluster.connect()
            assert ignored_error(await session.execute("rows")) is None
            assert ignored_error(await session.execute("void")) is None
            assert isinstance(ignored_error(await session.execute("unavailable")), Unavailable)


def test_an_error_is_ignored_while_a_speculative_attempt_is_in_flight() -> None:
    """An ignored error is returned even if a speculative attempt is still in flight.

    Otherwise, the empty result would count as the server's response: a load would count its rows as
    written, and a scan would take it for the last page of a range.
    """
    speculative = ExecutionProfile(
        retry_policy=IgnoringPolicy(),
        speculative_execution_policy=ConstantSpeculativeExecutionPolicy(0.001, 1),
    )
    waiting = hold(rows([("k", "int")]))
    with FakeCluster(2) as nodes:
        nodes.prime("q", waiting)
        with (
            Cluster(
                nodes.contact_points,
                port=nodes.port,
                execution_profiles={EXEC_PROFILE_DEFAULT: speculative},
            ) as cluster,
            cluster.connect() as session,
        ):
            future = session.execute_async(SimpleStatement("q", is_idempotent=True))
            first, second = waiting.take(2)
            first.release(error(ErrorCode.UNAVAILABLE))
            result = future.result()
            second.release()
            assert [attempt.decision for attempt in future.attempts] == ["ignore", None]
            assert isinstance(ignored_error(result), Unavailable)


def test_results_of_other_classes_have_none() -> None:
    """`ignored_error` returns None for an object that is not a result of the driver.

    An application's tests may use their own classes for results.
    """
    assert ignored_error([]) is None
