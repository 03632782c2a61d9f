"""The fixture `cassandra_replay` records, replays, and reports missing recordings."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cassandra.testing.fake import FakeNode, rows
from tests.processes import run_python

# A test file. If the constant MORE is true, its test also executes a statement that was not
# recorded.
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
    """Run pytest with the plugin in a child process, and return its output."""
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
    """A test that passes with a node is recorded, and later passes without the node."""
    test = tmp_path / "test_it.py"
    test.write_text(f"MORE = False\n{TEST}")
    assert "was not recorded yet: run this test with --cassandra-record" in run_pytest(tmp_path)
    assert "expected HOST:PORT" in run_pytest(tmp_path, "--cassandra-record=9042")
    recording = tmp_path / "recordings" / "test_it" / "test_read.jsonl"
    with FakeNode() as node:
        record_option = f"--cassandra-record={node.address}:{node.port}"
        node.prime("SELECT k FROM ks.t", rows([("k", "int")], [(8,)]))
        # The test expects the row 7, so it fails, and the recording of a failed run is not kept.
        assert "1 failed" in run_pytest(tmp_path, record_option)
        assert not recording.exists()
        node.prime("SELECT k FROM ks.t", rows([("k", "int")], [(7,)]))
        assert "1 passed" in run_pytest(tmp_path, record_option)
    assert recording.exists()
    assert "1 passed" in run_pytest(tmp_path)
    # A statement that was not recorded is an error, even if the test catches the exception.
    test.write_text(f"MORE = True\n{TEST}")
    output = run_pytest(tmp_path)
    assert "1 passed, 1 error" in output
    assert "SELECT other FROM ks.t" in output


# A test that fails as expected, at its end.
XFAIL = """\
import pytest
from cassandra.cluster import Cluster


@pytest.mark.xfail(raises=AssertionError, strict=True)
def test_read(cassandra_replay):
    with Cluster(cassandra_replay.contact_points, port=cassandra_replay.port) as cluster:
        assert cluster.connect().execute("SELECT k FROM ks.t").one().k == 8
"""


def test_a_test_that_fails_as_marked_is_recorded(tmp_path: Path) -> None:
    """A test with the mark xfail is replayed, and fails again."""
    (tmp_path / "test_it.py").write_text(XFAIL)
    with FakeNode() as node:
        node.prime("SELECT k FROM ks.t", rows([("k", "int")], [(7,)]))
        record_option = f"--cassandra-record={node.address}:{node.port}"
        assert "1 xfailed" in run_pytest(tmp_path, record_option)
    assert "1 xfailed" in run_pytest(tmp_path)


# A test that ends in the way that the variable ENDING says, before its second statement.
ENDING = """\
import os

import pytest
from cassandra.cluster import Cluster


def test_read(cassandra_replay, request):
    with Cluster(cassandra_replay.contact_points, port=cassandra_replay.port) as cluster:
        session = cluster.connect()
        session.execute("SELECT k FROM ks.t")
        ending = os.environ.get("ENDING")
        if ending == "skip":
            pytest.skip("half-way")
        if ending == "xfail":
            pytest.xfail("half-way")
        if ending == "interrupt":
            raise KeyboardInterrupt
        session.execute("SELECT v FROM ks.t")
"""


def test_only_a_test_that_passes_replaces_its_recording(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A test that is skipped, expected to fail, or interrupted keeps the earlier recording."""
    (tmp_path / "test_it.py").write_text(ENDING)
    with FakeNode() as node:
        for name in "kv":
            node.prime(f"SELECT {name} FROM ks.t", rows([(name, "int")], [(7,)]))
        record_option = f"--cassandra-record={node.address}:{node.port}"
        assert "1 passed" in run_pytest(tmp_path, record_option)
        for ending in ("skip", "xfail", "interrupt"):
            monkeypatch.setenv("ENDING", ending)
            assert "passed" not in run_pytest(tmp_path, record_option)
            monkeypatch.delenv("ENDING")
            assert "1 passed" in run_pytest(tmp_path)


# Tests whose names are similar. Each test executes a statement with its own number.
NAMES = """\
import pytest
from cassandra.cluster import Cluster


def ask(server, key):
    with Cluster(server.contact_points, port=server.port) as cluster:
        assert cluster.connect().execute(f"SELECT {key} FROM ks.t").one()[0] == key


def test_it(cassandra_replay):
    ask(cassandra_replay, 1)


def test_IT(cassandra_replay):
    ask(cassandra_replay, 2)


class TestA:
    def test_it(self, cassandra_replay):
        ask(cassandra_replay, 3)

    class TestB:
        def test_it(self, cassandra_replay):
            ask(cassandra_replay, 4)


class TestB:
    def test_it(self, cassandra_replay):
        ask(cassandra_replay, 5)


IDS = ["a/b", "a b", "a:b", "a_b", "A_b", "..", "x" * 300]


@pytest.mark.parametrize("key", range(6, 6 + len(IDS)), ids=IDS)
def test_p(cassandra_replay, key):
    ask(cassandra_replay, key)
"""
TESTS = 12  # five tests without parameters, and one test for each of the seven IDS


def test_each_test_has_its_own_recording(tmp_path: Path) -> None:
    """Each test has its own recording, even if the file system ignores the case of names.

    A recording has the name of its test. If this name is not unique, "~" and a hash follow.
    """
    (tmp_path / "test_names.py").write_text(NAMES)
    with FakeNode() as node:
        for key in range(1, TESTS + 1):
            node.prime(f"SELECT {key} FROM ks.t", rows([("k", "int")], [(key,)]))
        record_option = f"--cassandra-record={node.address}:{node.port}"
        assert f"{TESTS} passed" in run_pytest(tmp_path, record_option)
    names = {path.name for path in (tmp_path / "recordings" / "test_names").iterdir()}
    assert len({name.lower() for name in names}) == TESTS
    assert {"test_it.jsonl", "test_p[a_b].jsonl", "test_p[..].jsonl"} <= names
    prefixes = {name.partition("~")[0] for name in names if "~" in name}
    assert {"test_IT", "TestA.test_it", "TestA.TestB.test_it", "TestB.test_it"} <= prefixes
    assert {"test_p[a_b]", "test_p[A_b]"} <= prefixes
    assert f"{TESTS} passed" in run_pytest(tmp_path)


def test_a_recording_with_the_unchanged_name_of_a_function(tmp_path: Path) -> None:
    """A recording whose name has no hash belongs to the function of this name, not to a method."""
    (tmp_path / "test_names.py").write_text(NAMES)
    folder = tmp_path / "recordings" / "test_names"
    selection = ("-k", "test_IT")  # pytest ignores the case here
    with FakeNode() as node:
        for key in range(1, 6):
            node.prime(f"SELECT {key} FROM ks.t", rows([("k", "int")], [(key,)]))
        run_pytest(tmp_path, f"--cassandra-record={node.address}:{node.port}", *selection)
    (recording,) = folder.glob("test_IT~*")
    recording.rename(folder / "test_IT.jsonl")
    # The selection matches the five tests without parameters; the seven others are deselected.
    assert "5 passed" in run_pytest(tmp_path, *selection)
    (recording,) = folder.glob("TestB.test_it~*")
    recording.rename(folder / "TestB.test_it.jsonl")
    output = run_pytest(tmp_path, *selection)
    assert "4 passed, 7 deselected, 1 error" in output
    assert f"{recording} was not recorded yet" in output
