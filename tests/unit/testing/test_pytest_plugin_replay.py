"""The fixture `cassandra_replay` records, replays, and reports missing recordings."""

from __future__ import annotations

import os
from pathlib import Path

from cassandra.testing.fake import FakeNode, rows
from tests.processes import run_python

TEST = """\
from cassandra.cluster import Cluster


def test_read(cassandra_replay):
    with Cluster(cassandra_replay.contact_points, port=cassandra_replay.port) as cluster:
        session = cluster.connect()
        assert session.execute("SELECT k FROM ks.t").one().k == 7
        if cassandra_replay.is_replay and MORE:
            try:
                session.execute("SELECT other FROM ks.t")
            except Exception as error:
                assert "not in" in str(error)
"""


def run_pytest(folder: Path, *arguments: str) -> str:
    """Run pytest with the plugin in a child process; return its output."""
    options = [
        "-q", "-p", "turbocql_pytest", "-p", "no:cacheprovider", "-c", os.devnull,
        f"--rootdir={folder}", *arguments, str(folder),
    ]  # fmt: skip
    process = run_python(
        f"import pytest\npytest.main({options!r})\n",
        env={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    )
    return process.stdout


def test_a_test_is_recorded_and_replayed(tmp_path: Path) -> None:
    test = tmp_path / "test_it.py"
    test.write_text(f"MORE = False\n{TEST}")
    assert "was not recorded yet: run this test with --cassandra-record" in run_pytest(tmp_path)
    assert "expected HOST:PORT" in run_pytest(tmp_path, "--cassandra-record=9042")
    recording = tmp_path / "recordings" / "test_it" / "test_read.jsonl"
    with FakeNode() as node:
        record_option = f"--cassandra-record={node.address}:{node.port}"
        node.prime("SELECT k FROM ks.t", rows([("k", "int")], [(8,)]))
        # The test expects 7, so the recording of a failed run is not kept.
        assert "1 failed" in run_pytest(tmp_path, record_option)
        assert not recording.exists()
        node.prime("SELECT k FROM ks.t", rows([("k", "int")], [(7,)]))
        assert "1 passed" in run_pytest(tmp_path, record_option)
    assert recording.exists()
    assert "1 passed" in run_pytest(tmp_path)
    # Now the test executes a statement that was not recorded.
    test.write_text(f"MORE = True\n{TEST}")
    output = run_pytest(tmp_path)
    assert "1 passed, 1 error" in output
    assert "SELECT other FROM ks.t" in output
