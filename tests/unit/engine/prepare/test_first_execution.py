"""The first execution of a text with bind markers, which has to be prepared on the way."""

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
    drawn = count(1000)
    with Cluster(
        [node.address], port=node.port, timestamp_generator=lambda: next(drawn)
    ) as cluster:
        yield cluster.connect()


def sent(node: FakeNode) -> list[Any]:
    return [one for one in node.requests if one.opcode in (Opcode.EXECUTE, Opcode.BATCH)]


def batch() -> BatchStatement:
    made = BatchStatement()
    made.add(WRITE, (1,))
    return made


@pytest.mark.parametrize("kind", ["text", "statement", "batch"])
def test_its_timestamp_is_that_of_the_call(node: FakeNode, session: Session, kind: str) -> None:
    """One that is drawn after the PREPARE would be later than those of writes that came after it:
    the earlier write would win.
    """
    first: Any = {"text": WRITE, "statement": SimpleStatement(WRITE), "batch": batch()}[kind]
    values = None if kind == "batch" else (1,)
    session.execute(first, values)
    (write,) = sent(node)
    assert write.timestamp == 1000
    assert session.timestamp_generator is not None
    assert session.timestamp_generator() == 1001
