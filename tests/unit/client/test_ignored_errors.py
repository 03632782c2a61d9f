"""`ignored_error`, which tells whether a retry policy has replaced an error by an empty result."""

from __future__ import annotations

from typing import Any

from cassandra import Unavailable, aio
from cassandra.client.ignored_errors import ignored_error
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile
from cassandra.policies.retry import Decision, RetryPolicy
from cassandra.testing.fake import ErrorCode, FakeNode, error, rows, void


class IgnoringPolicy(RetryPolicy):
    """A retry policy that ignores each `Unavailable`."""

    def on_unavailable(self, *args: Any, **options: Any) -> Decision:
        return self.IGNORE, None


PROFILES = {EXEC_PROFILE_DEFAULT: ExecutionProfile(retry_policy=IgnoringPolicy())}


def prime(node: FakeNode) -> None:
    """Prime the responses to the queries "rows", "void" and "unavailable".

    They are an empty result, a void result, and an error.
    """
    node.prime("rows", rows([("k", "int")]))
    node.prime("void", void())
    node.prime("unavailable", error(ErrorCode.UNAVAILABLE))


def test_only_results_without_an_answer_have_an_ignored_error() -> None:
    """If the retry policy ignores an error, the result is empty and has this error.

    Other results have no ignored error.
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


def test_results_of_other_classes_have_none() -> None:
    """For a result of another class, `ignored_error` returns None.

    An application's tests may return their own results.
    """
    assert ignored_error([]) is None
