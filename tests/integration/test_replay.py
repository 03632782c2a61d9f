"""A program is recorded with a real node, and then runs with the recording instead of the node."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cassandra.cluster import Cluster
from cassandra.query import SimpleStatement, tuple_factory
from cassandra.testing import LocalCluster, Recorder, ReplayNode

pytestmark = pytest.mark.integration


def run_program(server: Any) -> list[Any]:
    """Write and read a table in several ways, and return what was read.

    :param server: a node, a recorder before a node, or a replaying node.
    :returns: the rows of each key, all keys, and the names of the tables.
    """
    with Cluster(server.contact_points, port=server.port) as cluster:
        session = cluster.connect()
        session.row_factory = tuple_factory
        session.execute("DROP KEYSPACE IF EXISTS replayed")
        session.execute(
            "CREATE KEYSPACE replayed WITH replication = "
            "{'class': 'SimpleStrategy', 'replication_factor': 1}"
        )
        session.set_keyspace("replayed")
        session.execute("CREATE TABLE t (k int PRIMARY KEY, v text)")
        insert = session.prepare("INSERT INTO t (k, v) VALUES (?, ?)")
        for key in range(5):
            session.execute(insert, (key, f"value {key}"))
        select = session.prepare("SELECT k, v FROM t WHERE k = ?")
        pages = session.execute(SimpleStatement("SELECT k FROM t", fetch_size=2))
        return [
            [session.execute(select, (key,)).all() for key in range(6)],
            sorted(pages),
            sorted(cluster.metadata.keyspaces["replayed"].tables),
        ]


def test_a_replayed_recording_gives_the_same_results(node: LocalCluster, tmp_path: Path) -> None:
    """A recording can be replayed several times, with the same results as from the real node."""
    path = tmp_path / "run.jsonl"
    (host,) = node.contact_points
    with Recorder(path, host, node.port) as recorder:
        results = run_program(recorder)
    _, keys, _ = results
    assert keys == [(key,) for key in range(5)]
    for _ in range(2):
        with ReplayNode(path) as replay_node:
            assert run_program(replay_node) == results
            # `check` raises an exception if the program has sent a request that was not recorded.
            replay_node.check()
