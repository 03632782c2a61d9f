"""Test that callers that fail for the same reason get an exception object each."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from cassandra import aio
from cassandra._error_copies import copy_of
from cassandra.cluster import NoHostAvailable, Session
from cassandra.cqltypes.failures import add_note
from cassandra.errors import (
    ConnectionShutdown,
    DriverException,
    InvalidRequest,
    OperationTimedOut,
    SessionShutdown,
)
from cassandra.testing.fake import ErrorCode, FakeNode, error as error_answer, silence
from tests.waiting import until, until_on_loop

QUERY = "INSERT INTO t (k) VALUES (1)"
CALLERS = 3


@pytest.mark.parametrize(
    "error",
    [
        ConnectionShutdown("gone", "10.0.0.1"),
        NoHostAvailable("none", {"a": 1}),
        SessionShutdown("closed", {"a": 1}),
        OperationTimedOut({"a": 1}, "a", timeout=2.0),
        InvalidRequest("wrong"),
        ConnectionRefusedError(111, "refused"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_copy_is_like_the_original(error: Any) -> None:
    error.__cause__, error.__context__ = KeyError("k"), ValueError("v")
    add_note(error, "a note")
    duplicate = copy_of(error)
    assert duplicate is not error
    assert type(duplicate) is type(error)
    assert str(duplicate) == str(error)
    assert vars(duplicate) == vars(error)
    assert duplicate.__cause__ is error.__cause__
    assert duplicate.__context__ is error.__context__
    add_note(duplicate, "another note")
    assert vars(duplicate) != vars(error)


class Unreachable(OSError):
    """An error of an application's connection factory."""

    def __init__(self, host: str) -> None:
        super().__init__(f"cannot reach {host}")


def test_errors_of_applications_are_returned() -> None:
    for error in (Unreachable("h"), KeyError("k")):
        assert copy_of(error) is error


def test_callers_of_one_future_have_an_error_each(node: FakeNode, session: Session) -> None:
    node.prime(QUERY, error_answer(ErrorCode.INVALID, "no"))
    future = session.execute_async(QUERY)
    errors: list[BaseException] = []
    for _ in range(CALLERS):
        with pytest.raises(InvalidRequest) as caught:
            future.result()
        errors.append(caught.value)
    assert distinct(errors) == CALLERS


def distinct(errors: list[Any]) -> int:
    return len({id(error) for error in errors})


@pytest.mark.parametrize("end", ["the connection breaks", "the session is closed"])
def test_requests_that_fail_together_have_an_error_each(
    end: str, node: FakeNode, session: Session
) -> None:
    node.prime(QUERY, silence())
    futures = [session.execute_async(QUERY) for _ in range(CALLERS)]
    until(lambda: sum(request.query == QUERY for request in node.requests) == CALLERS)
    if end == "the connection breaks":
        node.drop_connections()
    else:
        session.shutdown()
    errors: list[BaseException] = []
    for future in futures:
        with pytest.raises(DriverException) as caught:
            future.result()
        errors.append(caught.value)
    assert distinct(errors) == CALLERS


async def test_tasks_that_fail_together_have_an_error_each() -> None:
    with FakeNode() as node:
        async with aio.Cluster([node.address], port=node.port) as cluster:
            session = await cluster.connect()
            node.prime(QUERY, silence())
            futures = [session.execute(QUERY) for _ in range(CALLERS)]
            await until_on_loop(
                lambda: sum(request.query == QUERY for request in node.requests) == CALLERS
            )
            node.drop_connections()
            errors = await asyncio.gather(*futures, return_exceptions=True)
            assert distinct(errors) == CALLERS


async def test_tasks_that_wait_for_the_same_connect_have_an_error_each() -> None:
    with FakeNode() as node:
        node.refuse_connections()
        cluster = aio.Cluster([node.address], port=node.port)
        errors = await asyncio.gather(
            *(cluster.connect() for _ in range(CALLERS)), return_exceptions=True
        )
        assert {type(error) for error in errors} == {NoHostAvailable}
        assert distinct(errors) == CALLERS
        await cluster.shutdown()
