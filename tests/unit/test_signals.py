"""`is_from_signal_handler`, and calls in which it decides."""

from __future__ import annotations

import functools
import signal
from collections.abc import Callable
from typing import Any, NoReturn

import pytest

from cassandra import aio
from cassandra._signals import is_from_signal_handler
from cassandra.cluster import Cluster, Session
from cassandra.concurrent import (
    execute_concurrent,
    execute_concurrent_async,
    execute_concurrent_with_args,
)
from cassandra.testing.fake import FakeNode
from tests.unit.job_limits import JobTimeout, LateRow, job_limit
from tests.unit.metadata.schema.rows import schema

INSERT = "INSERT INTO ks.t (k, v) VALUES (?, ?)"


def end_job(number: int, frame: object) -> NoReturn:
    raise JobTimeout


class Job:
    """A job whose method or the job itself is the signal handler."""

    def end(self, number: int, frame: object) -> NoReturn:
        raise JobTimeout

    def __call__(self, number: int, frame: object) -> NoReturn:
        raise JobTimeout


class SpecialJob(Job):
    """A job that inherits the method."""


@pytest.mark.parametrize(
    "handler",
    [
        end_job, Job().end, Job(), SpecialJob(),
        functools.partial(end_job), functools.partial(Job()),
    ],
)  # fmt: skip
def test_errors_of_handlers_are_recognized(handler: Any) -> None:
    previous = signal.signal(signal.SIGTERM, handler)
    try:
        with pytest.raises(JobTimeout) as caught:
            signal.raise_signal(signal.SIGTERM)
        assert is_from_signal_handler(caught.value)
    finally:
        signal.signal(signal.SIGTERM, previous)


@pytest.mark.parametrize("handler", [signal.SIG_IGN, signal.SIG_DFL, print])
def test_other_errors_are_not_from_handlers(handler: Any) -> None:
    previous = signal.signal(signal.SIGTERM, handler)
    try:
        assert not is_from_signal_handler(ValueError("never raised"))
        with pytest.raises(JobTimeout) as caught:
            end_job(0, None)  # the handler of no signal
        assert not is_from_signal_handler(caught.value)
    finally:
        signal.signal(signal.SIGTERM, previous)


@pytest.fixture(name="node")
def _node() -> Any:
    with FakeNode() as node:
        node.schema = schema("ks")
        node.prime_prepare(INSERT, [("k", "int"), ("v", "int")], pk_indexes=[0])
        yield node


@pytest.fixture(name="session")
def _session(node: FakeNode) -> Any:
    with Cluster([node.address], port=node.port) as cluster:
        yield cluster.connect()


@pytest.mark.parametrize("options", [{}, {"results_generator": True}])
@pytest.mark.parametrize("fails_first", [False, True])
def test_the_end_of_a_job_is_no_outcome_of_a_statement(
    session: Session, options: dict[str, Any], fails_first: bool
) -> None:
    """With `raise_on_first_error=False`, the exception of a handler is raised all the same."""
    insert = session.prepare(INSERT)
    rows: list[Any] = [(number, 0) for number in range(10)]
    if fails_first:
        rows.insert(0, ("no int", 0))
    with job_limit() as expire, pytest.raises(JobTimeout):
        list(
            execute_concurrent_with_args(
                session, insert, [*rows, LateRow((10, 0), expire)], raise_on_first_error=False,
                **options,
            )
        )  # fmt: skip
    # The session is still usable.
    assert len(execute_concurrent_with_args(session, insert, rows[1:])) == len(rows) - 1


@pytest.mark.parametrize("execute", [execute_concurrent, execute_concurrent_async])
def test_the_end_of_a_job_leaves_every_way_to_execute_many(
    session: Session, execute: Callable[..., Any]
) -> None:
    insert = session.prepare(INSERT)
    with job_limit() as expire:
        statements = [(insert, (1, 0)), (insert, LateRow((2, 0), expire))]
        with pytest.raises(JobTimeout):
            execute(session, statements, raise_on_first_error=False)


async def test_the_end_of_a_job_leaves_execute_concurrent_on_asyncio(node: FakeNode) -> None:
    async with aio.Cluster([node.address], port=node.port) as cluster:
        session = await cluster.connect()
        insert = await session.prepare(INSERT)
        with job_limit() as expire:
            statements = [(insert, (1, 0)), (insert, LateRow((2, 0), expire))]
            with pytest.raises(JobTimeout):
                async for _ in session.execute_concurrent(statements, raise_on_first_error=False):
                    pass
