"""The requests that a session sends for a statement, its parameters and the options of a call."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cassandra import ConsistencyLevel, OperationTimedOut
from cassandra.cluster import Cluster, ExecutionProfile, Session
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.query import BatchStatement, BatchType, SimpleStatement
from cassandra.testing.fake import FakeNode, Opcode, Request

INSERT = "INSERT INTO t (k) VALUES (?)"


@pytest.fixture(params=[4, 5], ids=["v4", "v5"])
def node(request: pytest.FixtureRequest) -> Iterator[FakeNode]:
    """Yield a fake node for each protocol version, which can prepare INSERT."""
    with FakeNode(max_version=request.param) as running:
        running.prime_prepare(INSERT, [("k", "int")], pk_indexes=[0])
        yield running


@pytest.fixture
def session(node: FakeNode) -> Iterator[Session]:
    """Yield a session that also has the profile `other` with the consistency level SERIAL."""
    profiles = {"other": ExecutionProfile(consistency_level=ConsistencyLevel.SERIAL)}
    with Cluster([node.address], port=node.port, execution_profiles=profiles) as cluster:
        yield cluster.connect()


def last_request(node: FakeNode) -> Request:
    """Return the last request that the node received."""
    return node.requests[-1]


# -- the options of a call -------------------------------------------------------------------------


def test_a_number_as_trace_is_probably_a_timeout(node: FakeNode, session: Session) -> None:
    """A number as `trace` enables tracing, but causes a warning.

    It was probably meant as a timeout.
    """
    with pytest.warns(RuntimeWarning, match="write timeout=30 for a timeout"):
        session.execute("SELECT 1", trace=30)  # type: ignore[call-overload]
    assert last_request(node).traced
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        session.execute("SELECT 1", trace=True)
        assert last_request(node).traced
        session.execute("SELECT 1", trace=False)
        assert not last_request(node).traced


@pytest.mark.parametrize("timeout", [0, -1])
def test_a_request_without_time_is_not_sent(
    node: FakeNode, session: Session, timeout: float
) -> None:
    """If the timeout is 0 or negative, the request fails and is not sent."""
    future = session.execute_async("SELECT 1", timeout=timeout)
    with pytest.raises(OperationTimedOut, match="before the request was sent"):
        future.result()
    session.execute("SELECT 2")
    assert not node.queries("SELECT 1")
    assert node.queries("SELECT 2")


@pytest.mark.parametrize("options", [{"timeout": "5"}, {"host": "127.0.0.1"}, {"shard": "1"}])
def test_options_of_another_type_are_refused(
    node: FakeNode, session: Session, options: dict[str, Any]
) -> None:
    """Options of a wrong type raise TypeError before anything is sent."""
    count_before = len(node.requests)
    with pytest.raises(TypeError):
        session.execute("SELECT 1", **options)
    assert len(node.requests) == count_before


def test_the_options_of_a_call_are_sent(node: FakeNode, session: Session) -> None:
    """`execute` sends the payload, the paging state and the settings of the named profile."""
    session.execute(
        "SELECT 1", custom_payload={"a": b"b"}, execution_profile="other", paging_state=b"page"
    )
    request = last_request(node)
    assert request.custom_payload == {"a": b"b"}
    assert request.consistency == ConsistencyLevel.SERIAL
    assert request.paging_state == b"page"
    with pytest.raises(ValueError, match="there is no execution profile 'nothing'"):
        session.execute("SELECT 1", execution_profile="nothing")


# -- statements and parameters ---------------------------------------------------------------------


@pytest.mark.parametrize("query", [b"SELECT 1", 5, None, ["SELECT 1"]])
def test_other_objects_are_no_queries(session: Session, query: Any) -> None:
    with pytest.raises(TypeError, match="a query is a str or a statement, not"):
        session.execute(query)


def test_files_and_classes_are_no_queries(session: Session) -> None:
    """The errors for a path or a class in place of a query must say what to write."""
    path: Any = Path("schema.cql")
    with pytest.raises(TypeError, match=r"; write path\.read_text\(\), and execute its statements"):
        session.execute(path)
    cls: Any = SimpleStatement
    with pytest.raises(TypeError, match=r"; write an instance, SimpleStatement\(\.\.\.\)$"):
        session.execute(cls)


def test_a_method_of_a_prepared_statement_is_no_query(session: Session) -> None:
    prepared: Any = session.prepare("SELECT k FROM t WHERE k = ?")
    with pytest.raises(TypeError, match=r"not method: .*; call the method: prepared\.bind\(values"):
        session.execute(prepared.bind)


def test_a_bound_statement_is_no_list_of_values(session: Session) -> None:
    prepared = session.prepare("SELECT k FROM t WHERE k = ?")
    bound: Any = prepared.bind((1,))
    with pytest.raises(TypeError, match=r"has its values already, write session\.execute\(bound\)"):
        session.execute(prepared, bound)


class TupleSubclass(tuple[Any, ...]):
    """An application's own sequence type for parameters."""


@pytest.mark.parametrize("parameters", [(5, "x"), [5, "x"], TupleSubclass((5, "x"))])
def test_parameters_are_written_into_the_text(
    node: FakeNode, session: Session, parameters: Any
) -> None:
    """The driver writes parameters in place of the markers %s and %(name)s of a query string."""
    session.execute("INSERT INTO t (k, v) VALUES (%s, %s)", parameters)
    assert last_request(node).query == "INSERT INTO t (k, v) VALUES (5, 'x')"
    session.execute("INSERT INTO t (k, v) VALUES (%(k)s, %(v)s)", {"k": 5, "v": "x"})
    assert last_request(node).query == "INSERT INTO t (k, v) VALUES (5, 'x')"


@pytest.mark.parametrize("parameters", [5, "ab", b"ab", {1, 2}])
def test_parameters_that_are_no_sequence_are_refused(session: Session, parameters: Any) -> None:
    """Strings and sets are refused as parameters.

    A string would be a sequence of its characters, and a set has no order.
    """
    with pytest.raises(TypeError, match=r"^parameters (must be|are the set)"):
        session.execute("INSERT INTO t (k, v) VALUES (%s, %s)", parameters)


@dataclass
class Record:
    k: int


@pytest.mark.parametrize("parameters", ["a", Record(5)])
def test_only_bind_markers_take_records_and_single_characters(
    node: FakeNode, session: Session, parameters: Any
) -> None:
    """An object with attributes can be the parameters only if there are bind markers.

    Bind markers have names of columns, which are the names of the object's attributes. A query
    string with %s has no names.
    """
    with pytest.raises(TypeError, match=r"^parameters must be a sequence or a mapping"):
        session.execute("INSERT INTO t (k) VALUES (%s)", parameters)
    if isinstance(parameters, Record):
        session.execute(INSERT, parameters)
        assert last_request(node).values == [b"\0\0\0\5"]


@pytest.mark.parametrize("make", [iter, lambda values: map(int, values), lambda v: (x for x in v)])
def test_parameters_may_be_an_iterator(node: FakeNode, session: Session, make: Any) -> None:
    """An iterator of parameters is read once, even if the query string must be prepared first."""
    for query in (INSERT, session.prepare(INSERT)):
        session.execute(query, make([5]))
        assert last_request(node).values == [b"\0\0\0\5"]
    session.execute("INSERT INTO t (k, v) VALUES (%s, %s)", make([1, 2]))
    assert last_request(node).query == "INSERT INTO t (k, v) VALUES (1, 2)"
    execute_concurrent_with_args(session, INSERT, [make([6])])
    assert last_request(node).values == [b"\0\0\0\6"]
    with pytest.raises(TypeError, match="do not fit the 0 parameters given"):
        session.execute("SELECT * FROM t WHERE k = %s", make([]))


def test_text_with_markers_is_prepared_once(node: FakeNode, session: Session) -> None:
    """All requests with the same query string share one prepared statement.

    The settings of a `SimpleStatement` apply only to its own request.
    """
    session.execute(SimpleStatement(INSERT, consistency_level=ConsistencyLevel.QUORUM), (1,))
    assert (last_request(node).opcode, last_request(node).values) == (Opcode.EXECUTE, [b"\0\0\0\1"])
    assert last_request(node).consistency == ConsistencyLevel.QUORUM
    session.execute(INSERT, (2,))
    # This request has the default consistency level, not that of the first statement.
    assert last_request(node).values == [b"\0\0\0\2"]
    assert last_request(node).consistency == ConsistencyLevel.LOCAL_ONE
    assert node.prepared == [INSERT]


def test_a_keyspace_is_sent_where_the_protocol_has_it(node: FakeNode, session: Session) -> None:
    """The `keyspace` of a statement is sent in version 5. Version 4 has no field for it."""
    session.execute(SimpleStatement("SELECT 1", keyspace="other"))
    assert last_request(node).keyspace == ("other" if node.max_version >= 5 else None)


def test_use_changes_the_keyspace_of_the_session(node: FakeNode, session: Session) -> None:
    session.execute("USE ks")
    assert session.keyspace == "ks"
    session.execute('  use "Ks2"')
    assert session.keyspace == "Ks2"


# -- batches ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("keys", "threshold", "expected"),
    [
        (range(10), 100, "it is for 10 partitions"),
        (range(10), 100_000, None),
        (range(10), None, None),
        # Servers do not limit the size of a batch for a single partition.
        ([1] * 10, 100, None),
    ],
)
def test_a_large_batch_of_several_partitions_is_logged(
    session: Session,
    caplog: pytest.LogCaptureFixture,
    keys: Iterable[int],
    threshold: int | None,
    expected: str | None,
) -> None:
    """A batch that is above the threshold is logged once if it has several partitions."""
    prepared = session.prepare(INSERT)
    session.batch_size_warn_threshold = threshold
    batch = BatchStatement(BatchType.UNLOGGED)
    for key in keys:
        batch.add(prepared, (key,))
    for _ in range(2):
        session.execute(batch)
    messages = [record.getMessage() for record in caplog.records]
    if expected is None:
        assert messages == []
    else:
        # The batch was executed twice, but is logged once.
        (message,) = messages
        assert "which is more than the 100 of Session.batch_size_warn_threshold" in message
        assert expected in message


def test_a_batch_is_large_above_the_threshold(
    session: Session, caplog: pytest.LogCaptureFixture
) -> None:
    """A batch is logged only if its size exceeds the threshold."""
    prepared = session.prepare(INSERT)
    batch = BatchStatement(BatchType.UNLOGGED)
    for key in range(10):
        batch.add(prepared, (key,))
    session.batch_size_warn_threshold = 0
    session.execute(batch)
    (size,) = re.findall(r"has (\d+) bytes", caplog.text)
    # A session does not repeat its warning, so use a new session for each threshold.
    for threshold, expected_count in ((int(size), 0), (int(size) - 1, 1)):
        caplog.clear()
        other = session.cluster.connect()
        other.batch_size_warn_threshold = threshold
        other.execute(batch)
        assert len(caplog.records) == expected_count
