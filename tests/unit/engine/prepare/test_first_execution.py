"""The first execution of a query string with bind markers.

The session prepares the statement first, and then executes it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any, ClassVar

import pytest

from cassandra import ConsistencyLevel, aio
from cassandra.cluster import Cluster, Session
from cassandra.cqltypes import EncodeTypeError, EncodeValueError
from cassandra.protocol.handler import ProtocolHandler
from cassandra.query import BatchStatement, HostTargetingStatement, SimpleStatement
from cassandra.testing.fake import FakeNode, Opcode
from tests.unit.metadata.schema.rows import schema

WRITE = "INSERT INTO t (a) VALUES (?)"


@pytest.fixture
def node() -> Iterator[FakeNode]:
    with FakeNode() as node:
        node.prime_prepare(WRITE, [("a", "int")])
        yield node


@pytest.fixture
def session(node: FakeNode) -> Iterator[Session]:
    """Yield a session whose timestamp generator returns 1000, 1001 and so on."""
    timestamps = count(1000)
    with Cluster(
        [node.address], port=node.port, timestamp_generator=lambda: next(timestamps)
    ) as cluster:
        yield cluster.connect()


def executions(node: FakeNode) -> list[Any]:
    """Return the EXECUTE and BATCH requests that the node has received."""
    return [
        request for request in node.requests if request.opcode in (Opcode.EXECUTE, Opcode.BATCH)
    ]


def new_batch() -> BatchStatement:
    """Return a batch with one write of the value 1."""
    batch = BatchStatement()
    batch.add(WRITE, (1,))
    return batch


@pytest.mark.parametrize("statement_form", ["query string", "statement", "batch"])
def test_the_timestamp_is_taken_when_execute_is_called(
    node: FakeNode, session: Session, statement_form: str
) -> None:
    """The client's timestamp is taken when `execute` is called, not when the PREPARE is answered.

    Otherwise, an earlier write could overwrite a later write.
    """
    session.execute(*statement_and_parameters(statement_form))
    (write,) = executions(node)
    assert write.timestamp == 1000
    assert session.timestamp_generator is not None
    # The generator was called only once for the request, so its next value is 1001.
    assert session.timestamp_generator() == 1001


@pytest.mark.parametrize("row", [[0, [0]], {"k": 0, "v": [0]}], ids=["list", "dict"])
def test_later_changes_of_the_values_have_no_effect(
    node: FakeNode, session: Session, row: Any
) -> None:
    """If an application changes a row after the call, the request still sends the row at the call.

    An application may reuse a list or dict of values.
    """
    query = "INSERT INTO t (k, v) VALUES (?, ?)"
    node.prime_prepare(query, [("k", "int"), ("v", "list<int>")])
    key_index, list_index = ("k", "v") if isinstance(row, dict) else (0, 1)
    futures = []
    batch_of_rows = BatchStatement()
    for number in range(3):
        row[key_index] = row[list_index][0] = number
        futures.append(session.execute_async(query, row))
        batch_of_rows.add(query, row)
    row[key_index] = row[list_index][0] = 9
    for future in futures:
        future.result()
    session.execute(batch_of_rows)
    *sent_executions, sent_batch = executions(node)
    rows_of_executions = [request.values for request in sent_executions]
    rows_of_batch = [bound.values for bound in sent_batch.statements]
    for rows in (rows_of_executions, rows_of_batch):
        for number, (key, numbers) in enumerate(rows):
            # Only the last byte of each encoded value matters: it is the number itself.
            assert key[-1] == number
            assert numbers[-1] == number


# The fields of an EXECUTE or BATCH that `change_settings` changes, and their new values.
CHANGED_SETTINGS = {
    "consistency": ConsistencyLevel.ALL,
    "serial_consistency": ConsistencyLevel.LOCAL_SERIAL,
    "timestamp": 5,
    "custom_payload": {"a": b"x"},
    "traced": True,
}
CHANGED_PAGE_SETTINGS = {"page_size": 7, "paging_state": b"page"}


def change_settings(future: Any) -> None:
    """Change the settings of a message, like a request-init listener of an application."""
    message = future.message
    message.consistency_level = ConsistencyLevel.ALL
    message.serial_consistency_level = ConsistencyLevel.LOCAL_SERIAL
    message.timestamp = 5
    message.update_custom_payload({"a": b"x"})
    message.tracing = True
    if hasattr(message, "fetch_size"):
        message.fetch_size = 7
        message.paging_state = b"page"


class ApplicationHandler(ProtocolHandler):
    """An application's protocol handler, which records the messages that it encodes."""

    encoded: ClassVar[list[Any]] = []

    @classmethod
    def encode_message(cls, msg: Any, *args: Any, **kwargs: Any) -> bytes:
        cls.encoded.append(msg)
        return super().encode_message(msg, *args, **kwargs)


def settings_sent(node: FakeNode) -> list[dict[str, Any]]:
    """Return, for each EXECUTE or BATCH that the node received, the settings under test.

    These are the settings that `change_settings` changes.
    """
    settings = []
    for request in executions(node):
        names = expected_settings("batch" if request.opcode == Opcode.BATCH else "statement")
        settings.append({name: getattr(request, name) for name in names})
    return settings


def statement_and_parameters(statement_form: str) -> tuple[Any, Any]:
    """Return a statement of this form, and its parameters.

    :param statement_form: "query string", "statement" or "batch".
    """
    if statement_form == "batch":
        return new_batch(), None
    return (WRITE if statement_form == "query string" else SimpleStatement(WRITE)), (1,)


def expected_settings(statement_form: str) -> dict[str, Any]:
    """Return the settings that a node receives after `change_settings`. A batch has no pages."""
    return (
        CHANGED_SETTINGS if statement_form == "batch" else CHANGED_SETTINGS | CHANGED_PAGE_SETTINGS
    )


STATEMENT_FORMS = pytest.mark.parametrize("statement_form", ["query string", "statement", "batch"])


@pytest.fixture(params=[4, 5], ids=["v4", "v5"])
def versioned_node(request: pytest.FixtureRequest) -> Iterator[FakeNode]:
    with FakeNode(max_version=request.param) as node:
        node.prime_prepare(WRITE, [("a", "int")])
        yield node
        assert node.malformed == []


@STATEMENT_FORMS
@pytest.mark.parametrize("has_handler", [False, True], ids=["listener", "listener and handler"])
def test_what_a_listener_changes_is_sent(
    versioned_node: FakeNode, statement_form: str, has_handler: bool
) -> None:
    """The settings that a listener changes are sent in every execution.

    The second execution uses the cached statement. Before the third execution,
    the session drops the statement from its cache.
    """
    node = versioned_node
    with Cluster([node.address], port=node.port) as cluster:
        session = cluster.connect()
        if has_handler:
            session.client_protocol_handler = ApplicationHandler
        session.add_request_init_listener(change_settings)
        for is_dropped in (False, False, True):
            if is_dropped:
                # The key of the cache is (keyspace, query string).
                session._prepared_texts.drop((None, WRITE))
            session.execute_async(*statement_and_parameters(statement_form)).result()
    assert settings_sent(node) == [expected_settings(statement_form)] * 3


@STATEMENT_FORMS
async def test_what_a_listener_changes_is_sent_in_asyncio(
    versioned_node: FakeNode, statement_form: str
) -> None:
    """The settings that a listener changes are sent in every execution of an asyncio session.

    The second execution uses the cached statement. Before the third execution,
    the session drops the statement from its cache.
    """
    node = versioned_node
    async with aio.Cluster([node.address], port=node.port) as cluster:
        session = await cluster.connect()
        session.add_request_init_listener(change_settings)
        for is_dropped in (False, False, True):
            if is_dropped:
                session._prepared_texts.drop((None, WRITE))
            await session.execute(*statement_and_parameters(statement_form))
    assert settings_sent(node) == [expected_settings(statement_form)] * 3


@STATEMENT_FORMS
def test_changes_are_sent_if_the_listener_is_removed_before_the_answer(
    node: FakeNode, session: Session, statement_form: str
) -> None:
    """A listener's changes are sent even if the listener is removed during the PREPARE."""
    session.add_request_init_listener(change_settings)
    future = session.execute_async(*statement_and_parameters(statement_form))
    session.remove_request_init_listener(change_settings)
    future.result()
    assert settings_sent(node) == [expected_settings(statement_form)]


@STATEMENT_FORMS
def test_attributes_that_a_listener_sets_reach_the_handler(
    node: FakeNode, session: Session, statement_form: str
) -> None:
    """Attributes that a listener sets on the message reach the protocol handler.

    Applications may use such attributes to pass data to their handlers.
    """
    session.client_protocol_handler = ApplicationHandler
    session.add_request_init_listener(lambda future: setattr(future.message, "label", "mine"))
    # The list belongs to the class, so earlier tests may have filled it.
    ApplicationHandler.encoded.clear()
    for _ in range(2):
        session.execute(*statement_and_parameters(statement_form))
    assert [message.label for message in ApplicationHandler.encoded] == ["mine"] * 2


def test_statements_that_a_listener_adds_are_executed(node: FakeNode, session: Session) -> None:
    """Statements that a listener appends to the message of a batch are executed.

    Here, the listener appends a statement without parameters.
    """
    added_query = "INSERT INTO t (a) VALUES (2)"

    def add_statement(future: Any) -> None:
        is_prepared = False
        future.message.queries.append((is_prepared, added_query, ()))

    session.add_request_init_listener(add_statement)
    for _ in range(2):
        session.execute(new_batch())
    for request in executions(node):
        assert [statement.query for statement in request.statements] == [WRITE, added_query]


# -- statements that are outdated ------------------------------------------------------------------

OTHER_WRITE = "INSERT INTO t (b) VALUES (?)"


def call_with(form: str, value: Any) -> tuple[Any, Any]:
    """Return what to execute to write `value`, and the parameters."""
    if form == "query string":
        return WRITE, (value,)
    if form == "statement":
        return SimpleStatement(WRITE, keyspace="ks"), {"a": value}
    if form == "with a host":
        statement = SimpleStatement(WRITE)
        return HostTargetingStatement(statement, "127.0.0.1"), (value,)
    batch = BatchStatement()
    batch.add(WRITE, (value,))
    if form == "batch with another string":
        batch.add(OTHER_WRITE, (1,))
    return batch, None


FORMS = ["query string", "statement", "with a host", "batch", "batch with another string"]


def prepares(node: FakeNode) -> list[str | None]:
    """Return the CQL of the PREPARE requests that the node has received."""
    return [request.query for request in node.requests if request.opcode == Opcode.PREPARE]


def last_value(node: FakeNode) -> bytes:
    """Return the first value of the latest EXECUTE or BATCH that the node has received."""
    request = executions(node)[-1]
    statements = getattr(request, "statements", None)
    value: bytes = (statements[0] if statements else request).values[0]
    return value


@pytest.mark.parametrize("is_watched", [False, True])
@pytest.mark.parametrize("form", FORMS)
def test_values_that_do_not_fit_are_bound_to_the_string_as_prepared_now(
    node: FakeNode, session: Session, form: str, is_watched: bool
) -> None:
    """If values do not fit the types of the prepared string, the string is prepared again.

    Another client may have created the table again with other types. So values that fit the new
    types are accepted, although they do not fit the old types.
    """
    session.execute(*call_with(form.replace(" with another string", ""), 1))
    if is_watched:
        session.add_request_init_listener(lambda future: None)
    node.prime_prepare(WRITE, [("a", "text")])
    node.prime_prepare(OTHER_WRITE, [("b", "int")])
    for value in ("x", "y"):
        session.execute(*call_with(form, value))
        assert last_value(node) == value.encode()
    # The string was prepared again once.
    assert prepares(node).count(WRITE) == 2


@pytest.mark.parametrize("form", FORMS)
async def test_outdated_strings_are_prepared_again_in_asyncio(node: FakeNode, form: str) -> None:
    """In `cassandra.aio`, too, strings are prepared again if values do not fit the old types."""
    async with aio.Cluster([node.address], port=node.port) as cluster:
        session = await cluster.connect()
        await session.execute(*call_with(form.replace(" with another string", ""), 1))
        node.prime_prepare(WRITE, [("a", "text")])
        node.prime_prepare(OTHER_WRITE, [("b", "int")])
        for value in ("x", "y"):
            await session.execute(*call_with(form, value))
            assert last_value(node) == value.encode()
    assert prepares(node).count(WRITE) == 2


@pytest.mark.parametrize("value", ["x", 1 << 40], ids=["type", "range"])
@pytest.mark.parametrize("form", FORMS)
def test_values_that_do_not_fit_the_new_types_either_are_refused(
    node: FakeNode, session: Session, form: str, value: Any
) -> None:
    """If values do not fit the new types either, the error says why.

    Later values that fit are written, and the string is not prepared again for them.
    """
    node.prime_prepare(OTHER_WRITE, [("b", "int")])
    session.execute(*call_with(form.replace(" with another string", ""), 1))
    with pytest.raises((EncodeTypeError, EncodeValueError), match='column "a"') as caught:
        session.execute(*call_with(form, value))
    # The exception has no other one of these errors as its context, as that would say the same.
    assert not isinstance(caught.value.__context__, (EncodeTypeError, EncodeValueError))
    assert prepares(node).count(WRITE) == 2
    session.execute(*call_with(form, 2))
    assert prepares(node).count(WRITE) == 2
    assert last_value(node)[-1] == 2


def test_values_that_do_not_fit_at_the_first_execution_are_refused_at_once(
    node: FakeNode, session: Session
) -> None:
    """If values do not fit a string that was prepared just now, it is not prepared again.

    Its types are the current ones, so a second PREPARE would not help.
    """
    for form in ("query string", "batch"):
        session._prepared_texts.drop((None, WRITE))
        with pytest.raises(EncodeTypeError):
            session.execute(*call_with(form, "x"))
    assert prepares(node) == [WRITE, WRITE]


@pytest.mark.parametrize("form", ["query string", "batch"])
def test_values_are_refused_at_once_if_the_schema_has_the_types(form: str) -> None:
    """A string is not prepared again if the schema shows that its types have not changed.

    Otherwise, each wrong value would cost the servers a PREPARE.
    """
    insert = "INSERT INTO ks.t0 (id, c0) VALUES (?, ?)"

    def call(*values: Any) -> tuple[Any, Any]:
        if form == "query string":
            return insert, values
        batch = BatchStatement()
        batch.add(insert, values)
        return batch, None

    with FakeNode() as node:
        node.schema = schema("ks")
        prepared = node.prime_prepare(insert, [("id", "int"), ("c0", "int")])
        prepared.keyspace, prepared.table = "ks", "t0"
        with Cluster([node.address], port=node.port) as cluster, cluster.connect() as session:
            session.execute(*call(1, 2))
            for _ in range(3):
                with pytest.raises(EncodeTypeError, match='column "c0"'):
                    session.execute_async(*call(1, "x"))
            assert prepares(node) == [insert]
            # The table has other types now. The driver learns this from the schema, too.
            prepared = node.prime_prepare(insert, [("id", "int"), ("c0", "text")])
            prepared.keyspace, prepared.table = "ks", "t0"
            assert node.schema is not None
            node.schema["system_schema.columns"] = [
                {**row, "type": "text"} if row["column_name"] == "c0" else row
                for row in node.schema["system_schema.columns"]
            ]
            cluster.refresh_schema_metadata()
            session.execute(*call(1, "x"))
            assert prepares(node) == [insert, insert]
