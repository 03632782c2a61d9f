"""The first execution of a query string with bind markers prepares the statement before it executes
it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any, ClassVar

import pytest

from cassandra import ConsistencyLevel, aio
from cassandra.cluster import Cluster, Session
from cassandra.protocol.handler import ProtocolHandler
from cassandra.query import BatchStatement, SimpleStatement
from cassandra.testing.fake import FakeNode, Opcode

WRITE = "INSERT INTO t (a) VALUES (?)"


@pytest.fixture
def node() -> Iterator[FakeNode]:
    with FakeNode() as node:
        node.prime_prepare(WRITE, [("a", "int")])
        yield node


@pytest.fixture
def session(node: FakeNode) -> Iterator[Session]:
    timestamps = count(1000)
    with Cluster(
        [node.address], port=node.port, timestamp_generator=lambda: next(timestamps)
    ) as cluster:
        yield cluster.connect()


def executions(node: FakeNode) -> list[Any]:
    return [
        request for request in node.requests if request.opcode in (Opcode.EXECUTE, Opcode.BATCH)
    ]


def new_batch() -> BatchStatement:
    batch = BatchStatement()
    batch.add(WRITE, (1,))
    return batch


@pytest.mark.parametrize("kind", ["text", "statement", "batch"])
def test_the_timestamp_is_taken_when_execute_is_called(
    node: FakeNode, session: Session, kind: str
) -> None:
    """The client's timestamp is taken when `execute` is called, not when the PREPARE has been
    answered.

    Otherwise an earlier write could overwrite a later one.
    """
    statement: Any = {"text": WRITE, "statement": SimpleStatement(WRITE), "batch": new_batch()}[
        kind
    ]
    values = None if kind == "batch" else (1,)
    session.execute(statement, values)
    (write,) = executions(node)
    assert write.timestamp == 1000
    assert session.timestamp_generator is not None
    # The generator was called only once for the request, so its next value is 1001.
    assert session.timestamp_generator() == 1001


@pytest.mark.parametrize("row", [[0, [0]], {"k": 0, "v": [0]}], ids=["list", "dict"])
def test_later_changes_of_the_values_have_no_effect(
    node: FakeNode, session: Session, row: Any
) -> None:
    text = "INSERT INTO t (k, v) VALUES (?, ?)"
    node.prime_prepare(text, [("k", "int"), ("v", "list<int>")])
    key_index, list_index = ("k", "v") if isinstance(row, dict) else (0, 1)
    futures = []
    batch_of_rows = BatchStatement()
    for number in range(3):
        row[key_index] = row[list_index][0] = number
        futures.append(session.execute_async(text, row))
        batch_of_rows.add(text, row)
    row[key_index] = row[list_index][0] = 9
    for future in futures:
        future.result()
    session.execute(batch_of_rows)
    *sent_executions, sent_batch = executions(node)
    expected = [[0, 0], [1, 1], [2, 2]]
    for rows in (
        [request.values for request in sent_executions],
        [bound.values for bound in sent_batch.statements],
    ):
        # Compare only the last byte of each value: that of the key, and that of the only element of
        # the list.
        assert [[value[-1] for value in values] for values in rows] == expected


# The fields that `change_settings` changes in an EXECUTE or BATCH, and their new values.
CHANGED_SETTINGS = {
    "consistency": ConsistencyLevel.ALL,
    "serial_consistency": ConsistencyLevel.LOCAL_SERIAL,
    "timestamp": 5,
    "custom_payload": {"a": b"x"},
    "traced": True,
}
CHANGED_PAGE_SETTINGS = {"page_size": 7, "paging_state": b"page"}


def change_settings(future: Any) -> None:
    """A request-init listener of an application, which changes the settings of the message."""
    message = future.message
    message.consistency_level = ConsistencyLevel.ALL
    message.serial_consistency_level = ConsistencyLevel.LOCAL_SERIAL
    message.timestamp = 5
    message.update_custom_payload({"a": b"x"})
    message.tracing = True
    if hasattr(message, "fetch_size"):
        message.fetch_size, message.paging_state = 7, b"page"


class OwnHandler(ProtocolHandler):
    """An application's handler, which records the messages that it encodes."""

    encoded: ClassVar[list[Any]] = []

    @classmethod
    def encode_message(cls, msg: Any, *args: Any, **kwargs: Any) -> bytes:
        cls.encoded.append(msg)
        return super().encode_message(msg, *args, **kwargs)


def settings_sent(node: FakeNode) -> list[dict[str, Any]]:
    """Return, for each execution that the node received, the settings that `change_settings` may
    change.
    """
    return [
        {
            name: getattr(request, name)
            for name in (
                CHANGED_SETTINGS
                if request.opcode == Opcode.BATCH
                else CHANGED_SETTINGS | CHANGED_PAGE_SETTINGS
            )
        }
        for request in executions(node)
    ]


def statement_and_parameters(kind: str) -> tuple[Any, Any]:
    """Return a statement of this kind, whose CQL was never prepared, and its parameters."""
    return {"text": (WRITE, (1,)), "statement": (SimpleStatement(WRITE), (1,))}.get(
        kind, (new_batch(), None)
    )


def expected_settings(kind: str) -> dict[str, Any]:
    return CHANGED_SETTINGS if kind == "batch" else CHANGED_SETTINGS | CHANGED_PAGE_SETTINGS


KINDS = pytest.mark.parametrize("kind", ["text", "statement", "batch"])


@pytest.fixture(params=[4, 5], ids=["v4", "v5"])
def versioned_node(request: pytest.FixtureRequest) -> Iterator[FakeNode]:
    with FakeNode(max_version=request.param) as node:
        node.prime_prepare(WRITE, [("a", "int")])
        yield node
        assert node.malformed == []


@KINDS
@pytest.mark.parametrize("own_handler", [False, True], ids=["listener", "listener and handler"])
def test_what_a_listener_changes_is_sent(
    versioned_node: FakeNode, kind: str, own_handler: bool
) -> None:
    """What a listener changes is sent in every execution.

    There are three: the first one, one of the prepared statement, and one after the session has
    dropped that.
    """
    node = versioned_node
    with Cluster([node.address], port=node.port) as cluster:
        session = cluster.connect()
        if own_handler:
            session.client_protocol_handler = OwnHandler
        session.add_request_init_listener(change_settings)
        for is_dropped in (False, False, True):
            if is_dropped:
                session._prepared_texts.drop((None, WRITE))
            session.execute_async(*statement_and_parameters(kind)).result()
    assert settings_sent(node) == [expected_settings(kind)] * 3


@KINDS
async def test_what_a_listener_changes_is_sent_on_asyncio(
    versioned_node: FakeNode, kind: str
) -> None:
    node = versioned_node
    async with aio.Cluster([node.address], port=node.port) as cluster:
        session = await cluster.connect()
        session.add_request_init_listener(change_settings)
        for is_dropped in (False, False, True):
            if is_dropped:
                session._prepared_texts.drop((None, WRITE))
            await session.execute(*statement_and_parameters(kind))
    assert settings_sent(node) == [expected_settings(kind)] * 3


@KINDS
def test_changes_are_sent_if_the_listener_is_removed_before_the_answer(
    node: FakeNode, session: Session, kind: str
) -> None:
    session.add_request_init_listener(change_settings)
    future = session.execute_async(*statement_and_parameters(kind))
    session.remove_request_init_listener(change_settings)
    future.result()
    assert settings_sent(node) == [expected_settings(kind)]


@KINDS
def test_attributes_of_the_application_reach_its_handler(
    node: FakeNode, session: Session, kind: str
) -> None:
    """An attribute that a listener sets on the message reaches the application's protocol
    handler.
    """
    session.client_protocol_handler = OwnHandler
    session.add_request_init_listener(lambda future: setattr(future.message, "label", "mine"))
    OwnHandler.encoded.clear()
    for _ in range(2):
        session.execute(*statement_and_parameters(kind))
    assert [message.label for message in OwnHandler.encoded] == ["mine"] * 2


def test_statements_that_a_listener_adds_are_executed(node: FakeNode, session: Session) -> None:
    added = "INSERT INTO t (a) VALUES (2)"
    session.add_request_init_listener(
        lambda future: future.message.queries.append((False, added, ()))
    )
    for _ in range(2):
        session.execute(new_batch())
    assert [[part.query for part in request.statements] for request in executions(node)] == [
        [WRITE, added]
    ] * 2
