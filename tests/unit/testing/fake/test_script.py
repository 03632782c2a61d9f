"""Primed responses as the driver sees them: the documentation's example, and strict nodes."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import pytest

from cassandra.cluster import Cluster
from cassandra.errors import InvalidRequest
from cassandra.query import BatchStatement
from cassandra.testing.fake import FakeCluster, FakeNode, hold, rows


def test_the_example_of_the_documentation(capsys: pytest.CaptureFixture[str]) -> None:
    """The example in docs/testing.rst prints the expected output."""
    page = (Path(__file__).parents[4] / "docs" / "testing.rst").read_text()
    blocks = re.findall(r"\.\. code-block:: python\n\n((?:(?:    .*)?\n)+)", page)
    (example,) = [textwrap.dedent(block) for block in blocks if "prime_prepare" in block]
    exec(compile(example, "testing.rst", "exec"), {})
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "[Row(k=1, v=['a']), Row(k=2, v=None)]"
    assert lines[1] == "3"


def test_a_strict_node_refuses_what_is_not_primed() -> None:
    """A strict node refuses unprimed statements; the error names a similar primed statement.

    It still responds to the driver's own requests for system tables.
    """
    with FakeNode(strict=True) as node, Cluster([node.address], port=node.port) as cluster:
        node.prime("SELECT v FROM t WHERE k = 1", rows([("v", "int")], [(1,)]))
        session = cluster.connect("ks")  # reads the system tables
        assert session.execute("SELECT v FROM t WHERE k = 1").one().v == 1
        assert session.execute("SELECT key FROM system.local WHERE key='local'").one().key
        with pytest.raises(InvalidRequest) as raised:
            session.execute("SELECT v FROM tt WHERE k = 1")
        assert (
            "nothing is primed for 'SELECT v FROM tt WHERE k = 1'; "
            "the nearest is 'SELECT v FROM t WHERE k = 1'"
        ) in str(raised.value)
        with pytest.raises(InvalidRequest, match="nothing is primed for 'DROP TABLE other'\""):
            session.execute("DROP TABLE other")
        prepared = session.prepare("UPDATE t SET v = ?")
        with pytest.raises(InvalidRequest, match=r"nothing is primed for 'UPDATE t SET v = \?'"):
            session.execute(prepared, (1,))
        batch = BatchStatement()
        batch.add("DELETE FROM t WHERE k = 1")
        batch.add(prepared, (1,))
        message = "nothing is primed for the batch of 'DELETE FROM t WHERE k = 1', 'UPDATE t SET v"
        with pytest.raises(InvalidRequest, match=message):
            session.execute(batch)
    # A node that is not strict responds with no rows.
    with FakeNode() as node, Cluster([node.address], port=node.port) as cluster:
        assert cluster.connect().execute("DROP TABLE other").all() == []


def test_a_strict_node_of_scylladb() -> None:
    """A strict ScyllaDB node prepares any statement of its tables, but only answers if primed."""
    with FakeCluster(1, scylla=1, strict=True) as nodes:
        nodes.scylla.keyspace("ks")
        nodes.scylla.table("ks", "t", {"k": "int", "v": "int"}, ["k"])
        with Cluster(nodes.contact_points, port=nodes.port) as cluster:
            session = cluster.connect()
            prepared = session.prepare("SELECT v FROM ks.t WHERE k = ?")
            with pytest.raises(InvalidRequest, match="nothing is primed for 'SELECT v FROM ks"):
                session.execute(prepared, (1,))


def test_requests_that_were_released_one_by_one_are_not_held() -> None:
    """`Held.release` removes a request from its `Hold`; `Hold.release` then releases the next."""
    with FakeNode() as node, Cluster([node.address], port=node.port) as cluster:
        held = hold()
        node.prime("SELECT 1", held)
        session = cluster.connect()
        futures = [session.execute_async("SELECT 1") for _ in range(2)]
        first, second = held.wait(2)
        first.release()
        assert held.held == [second]
        held.release()
        assert held.held == []
        for future in futures:
            future.result()


def test_primes_of_several_threads_are_kept() -> None:
    """Primes that a thread adds are kept while the node removes others that are used up."""
    with FakeNode() as node, Cluster([node.address], port=node.port) as cluster:
        session = cluster.connect()
        for number in range(200):
            node.prime("SELECT 1", rows([("v", "int")], [(1,)]), times=1)
            # The node removes the prime after it has responded; this thread adds another one.
            future = session.execute_async("SELECT 1")
            node.prime("SELECT 2", rows([("v", "int")], [(number,)]), times=1)
            assert future.result().one().v == 1
            assert session.execute("SELECT 2").one().v == number
