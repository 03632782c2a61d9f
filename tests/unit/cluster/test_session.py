"""The blocking session: its calls, and its shutdown."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from cassandra.cluster import Cluster, Session
from cassandra.errors import ConnectionShutdown, InvalidRequest
from cassandra.testing.fake import ErrorCode, FakeNode, Opcode, error, set_keyspace
from tests.unit.cluster.conftest import READ

PREPARED = "SELECT v FROM t WHERE k = ?"


class Row(NamedTuple):
    k: int
    v: str


def test_rows_as_instances_of_a_class(blocking_session: Session) -> None:
    """With `row_type`, rows are instances of the class; other objects are refused."""
    assert blocking_session.execute(READ, row_type=Row).all() == [Row(1, "a"), Row(2, "b")]
    future = blocking_session.execute_async(READ, row_type=Row)
    assert future.result().all() == [Row(1, "a"), Row(2, "b")]
    wrong: Any = 5
    with pytest.raises(TypeError):
        blocking_session.execute(READ, row_type=wrong)


def test_set_keyspace_changes_the_keyspace_unless_the_server_refuses(
    shop: FakeNode, blocking_session: Session
) -> None:
    shop.prime('USE "Shop"', set_keyspace("Shop"))
    shop.prime('USE "none"', error(ErrorCode.INVALID, "no such keyspace"))
    blocking_session.set_keyspace("Shop")
    assert blocking_session.keyspace == "Shop"
    with pytest.raises(InvalidRequest, match="no such keyspace"):
        blocking_session.set_keyspace("none")
    assert blocking_session.keyspace == "Shop"


def test_preparing_one_and_many(shop: FakeNode, blocking_session: Session) -> None:
    """`prepare_all` returns one statement for each text, and refuses a single text."""
    prepared = blocking_session.prepare(PREPARED)
    others = blocking_session.prepare_all([READ, PREPARED])
    assert [statement.query_string for statement in (prepared, *others)] == [
        PREPARED,
        READ,
        PREPARED,
    ]
    assert sum(request.opcode == Opcode.PREPARE for request in shop.requests) == 3
    with pytest.raises(TypeError, match="not a single text"):
        blocking_session.prepare_all(READ)


def test_a_blocking_call_in_a_callback_is_refused(
    shop: FakeNode, blocking_session: Session
) -> None:
    outcomes: list[Any] = []

    def call(rows: Any) -> None:
        for blocking in (
            lambda: blocking_session.execute(READ),
            lambda: blocking_session.prepare(PREPARED),
            lambda: blocking_session.execute_async(READ).result(),
        ):
            try:
                outcomes.append(blocking())
            except RuntimeError as refused:
                outcomes.append(str(refused))

    # The response must arrive after the callback was added. Otherwise, this thread and not the
    # event loop would run the callback.
    shop.pause()
    future = blocking_session.execute_async(READ)
    future.add_callback(call)
    shop.resume()
    future.result()
    # The callback may still be running; it has ended when the next execution ends.
    blocking_session.execute(READ)
    assert len(outcomes) == 3
    assert all("in the driver's own event loop thread" in outcome for outcome in outcomes)


def test_listeners_see_each_request_before_it_is_sent(
    shop: FakeNode, blocking_session: Session
) -> None:
    def mark(future: Any, mark: bytes) -> None:
        future.message.update_custom_payload({"mark": mark})

    blocking_session.add_request_init_listener(mark, b"1")
    blocking_session.execute(READ)
    (request,) = shop.queries(READ)
    assert request.custom_payload == {"mark": b"1"}
    blocking_session.remove_request_init_listener(mark, b"1")
    blocking_session.execute(READ)
    assert not shop.queries(READ)[-1].custom_payload


def test_after_shutdown_a_session_refuses_requests(blocking_cluster: Cluster) -> None:
    with blocking_cluster.connect() as session:
        assert repr(session).startswith("<Session: keyspace=None")
    session.shutdown()
    assert session.is_shutdown
    with pytest.raises(ConnectionShutdown):
        session.execute(READ)
    # Other sessions of the cluster still work.
    assert blocking_cluster.connect().execute(READ).one() == (1, "a")
