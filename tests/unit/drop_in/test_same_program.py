"""Programs of today's drivers: the same statements must be sent, and the same errors caught.

Each test is a program that runs alike on cassandra-driver.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from cassandra.cluster import Cluster, Session
from cassandra.concurrent import execute_concurrent
from cassandra.query import BatchStatement, SimpleStatement
from cassandra.testing.fake import FakeNode, Opcode
from cassandra.testing.fake import rows as answer

INSERT = "INSERT INTO t (k, v) VALUES (?, ?)"
EMPTY: list[Any] = [(), [], {}, None]


@pytest.fixture
def node() -> Iterator[FakeNode]:
    with FakeNode() as node:
        node.prime_prepare(INSERT, [("k", "int"), ("v", "text")], pk_indexes=[0])
        yield node


@pytest.fixture
def session(node: FakeNode) -> Iterator[Session]:
    with Cluster([node.address], port=node.port) as cluster:
        yield cluster.connect()


class TestParameters:
    @pytest.mark.parametrize("parameters", [(2, "b"), [2, "b"], {"k": 2}, (), [], {}, None, 5])
    def test_a_bound_statement_keeps_its_values(
        self, node: FakeNode, session: Session, parameters: Any
    ) -> None:
        bound = session.prepare(INSERT).bind((1, "a"))
        session.execute(bound, parameters)
        execute_concurrent(session, [(bound, parameters)])
        sent = [
            list(request.values) for request in node.requests if request.opcode == Opcode.EXECUTE
        ]
        assert sent == [[b"\0\0\0\1", b"a"]] * 2

    @pytest.mark.parametrize("parameters", [(5,), {"k": 2}, (), None])
    def test_a_batch_keeps_its_statements(
        self, node: FakeNode, session: Session, parameters: Any
    ) -> None:
        batch = BatchStatement().add(session.prepare(INSERT), (1, "a"))
        session.execute(batch, parameters)
        (sent,) = [request for request in node.requests if request.opcode == Opcode.BATCH]
        assert [list(one.values) for one in sent.statements] == [[b"\0\0\0\1", b"a"]]

    @pytest.mark.parametrize("parameters", EMPTY)
    @pytest.mark.parametrize("text", ["SELECT 'a%%b 100%'", "SELECT '?' + ?"])
    def test_a_text_with_empty_parameters_goes_as_it_is(
        self, node: FakeNode, session: Session, text: str, parameters: Any
    ) -> None:
        node.prime(text, answer([("k", "int")], [(1,)]))
        for query in (text, SimpleStatement(text)):
            session.execute(query, parameters)
            session.execute_async(query, parameters).result()
        assert [request.query for request in node.queries(text)] == [text] * 4
