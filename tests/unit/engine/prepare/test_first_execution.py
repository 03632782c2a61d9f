"""The first execution of a statement with bind markers prepares the statement."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from cassandra.cluster import Cluster, Session
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


def batch() -> BatchStatement:
    new_batch = BatchStatement()
    new_batch.add(WRITE, (1,))
    return new_batch


@pytest.mark.parametrize("kind", ["text", "statement", "batch"])
def test_the_timestamp_is_taken_when_execute_is_called(
    node: FakeNode, session: Session, kind: str
) -> None:
    """The timestamp is taken when `execute` is called, not after the PREPARE.

    Otherwise an earlier write could win over a later write.
    """
    first: Any = {"text": WRITE, "statement": SimpleStatement(WRITE), "batch": batch()}[kind]
    values = None if kind == "batch" else (1,)
    session.execute(first, values)
    (write,) = executions(node)
    assert write.timestamp == 1000
    assert session.timestamp_generator is not None
    assert session.timestamp_generator() == 1001


@pytest.mark.parametrize("row", [[0, [0]], {"k": 0, "v": [0]}], ids=["list", "dict"])
def test_later_changes_of_the_values_have_no_effect(
    node: FakeNode, session: Session, row: Any
) -> None:
    text = "INSERT INTO t (k, v) VALUES (?, ?)"
    node.prime_prepare(text, [("k", "int"), ("v", "list<int>")])
    key, items = ("k", "v") if isinstance(row, dict) else (0, 1)
    futures = []
    together = BatchStatement()
    for number in range(3):
        row[key] = row[items][0] = number
        futures.append(session.execute_async(text, row))
        together.add(text, row)
    row[key] = row[items][0] = 9
    for future in futures:
        future.result()
    session.execute(together)
    *single, batched = executions(node)
    expected = [[0, 0], [1, 1], [2, 2]]
    for rows in ([request.values for request in single], [e.values for e in batched.statements]):
        assert [[value[-1] for value in values] for values in rows] == expected
