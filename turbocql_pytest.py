"""A pytest plugin with fixtures for tests on a real Cassandra node. A test has three lines::

    def test_insert(cassandra_session):
        cassandra_session.execute("CREATE TABLE t (k int PRIMARY KEY)")
        cassandra_session.execute("INSERT INTO t (k) VALUES (1)")

``cassandra_aio_session`` is a session of `cassandra.aio`; it needs pytest-asyncio (or anyio's
plugin).

``cassandra_replay`` replays the responses of a node from a recording, without Java or a network;
see its docstring.

The options are ``--cassandra-version`` and ``--cassandra-nodes``, or ``cassandra_version`` and
``cassandra_nodes`` in an ini file. ``--cassandra-hosts=HOST[:PORT],...`` (``cassandra_hosts``, or
the environment variable ``CASSANDRA_TEST_HOSTS``) uses a cluster that is already running. If your
project has options with the same names, your options are kept.

In every environment that has the driver installed, pytest imports this file at each start, even if
no test uses a node. Therefore this module is outside the package `cassandra`, imports the driver
only inside the fixtures, and looks for Java only when a test requests a fixture.
"""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Generator, Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from cassandra.testing.local import LocalCluster
    from cassandra.testing.replay import Recorder, ReplayNode

__all__ = ["cassandra_cluster", "cassandra_replay", "cassandra_session"]

# Seconds between two attempts of the fixtures' sessions to reconnect to a node. The driver's
# default doubles the delay each time, so that a session could still be waiting for its next attempt
# when `LocalCluster.restart` has returned.
_RECONNECTION_DELAY_S = 0.25
# The seconds for which a fixture tries to drop its keyspace while nodes cannot be reached.
_DROP_TIMEOUT_S = 30.0
_DROP_RETRY_DELAY_S = 0.1


@pytest.hookimpl(trylast=True)
def pytest_load_initial_conftests(parser: pytest.Parser) -> None:
    """Add the options to the command line and to the ini file; the command line takes precedence.

    We do not use `pytest_addoption`: pytest would call it before the `pytest_addoption` in the
    project's conftest.py, so an option of the same name there would be an error. This hook runs
    after conftest.py has been read.
    """
    group = parser.getgroup("cassandra", "real Cassandra nodes (turbocql)")
    for name, metavar, what in (
        ("version", "VERSION", "the version of Cassandra that the fixture cassandra_cluster runs"),
        ("nodes", "N", "how many nodes the fixture cassandra_cluster has (default: 1)"),
        ("hosts", "HOST[:PORT],...", "use this running cluster in place of nodes of Cassandra"),
        ("record", "HOST:PORT", "record the node there for cassandra_replay, and play nothing"),
    ):
        try:
            group.addoption(f"--cassandra-{name}", metavar=metavar, help=what)
            parser.addini(f"cassandra_{name}", what, default="")
        except ValueError:  # the project or another plugin has already added this name
            continue


def pytest_configure(config: pytest.Config) -> None:
    """Add the fixture `cassandra_aio_session`, for the plugin that runs the project's coroutines.

    Without pytest-asyncio and anyio, the fixture makes a test fail with a message.
    """
    plugins = config.pluginmanager
    # pytest-asyncio is registered under the name of its entry point or, with `-p`, of its module.
    has_asyncio = plugins.hasplugin("asyncio") or plugins.hasplugin("pytest_asyncio.plugin")
    # In its strict mode, pytest-asyncio runs only fixtures that use its own decorator. If it is
    # registered, its module has been imported.
    fixture = sys.modules["pytest_asyncio"].fixture if has_asyncio else pytest.fixture
    function: Any = _aio_session if has_asyncio or plugins.hasplugin("anyio") else _without_asyncio
    fixtures = ModuleType("turbocql_asyncio", _aio_session.__doc__)
    vars(fixtures)["cassandra_aio_session"] = fixture(name="cassandra_aio_session")(function)
    # This hook runs twice if the plugin is loaded under both of its names, turbocql_pytest and
    # cassandra.testing.pytest_plugin.
    if not plugins.hasplugin("turbocql-asyncio"):
        plugins.register(fixtures, "turbocql-asyncio")


def _without_asyncio() -> None:
    pytest.fail("cassandra_aio_session needs pytest-asyncio: pip install pytest-asyncio")


@pytest.hookimpl(trylast=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Have nodes that the test leaves killed, stopped or paused restarted when the test ends.

    This hook runs after the fixtures of the test have been set up. Nodes that are down already stay
    down, because a fixture of a wider scope may have killed them for several tests.
    """
    cluster = getattr(item, "funcargs", {}).get("cassandra_cluster")
    # Only a `LocalCluster` has nodes with a state; a project may define the fixture differently.
    nodes = [node for node in getattr(cluster, "nodes", ()) if hasattr(node, "state")]
    if nodes:
        nodes_down = {node.number for node in nodes if node.state in _STATES_DOWN}
        # Finalizers run in reverse order. So the nodes run again before the fixtures' sessions drop
        # their keyspaces.
        item.addfinalizer(lambda: _bring_back(cluster, nodes_down))


# Whether the test itself has passed: False if it has failed, was skipped, or was interrupted.
_HAS_PASSED = pytest.StashKey[bool]()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, Any, None]:
    """Store in the test's stash whether it has passed, for `cassandra_replay`.

    :param item: the test.
    :param call: the set-up, the call or the teardown of the test.
    """
    outcome = yield
    if call.when == "call":
        report = outcome.get_result()
        # A test that is marked as xfail has run as far as it always does. But `pytest.xfail()` may
        # have ended the test earlier than the last time.
        has_failed_as_marked = hasattr(report, "wasxfail") and not (
            call.excinfo is not None and isinstance(call.excinfo.value, pytest.xfail.Exception)
        )
        item.stash[_HAS_PASSED] = report.outcome == "passed" or has_failed_as_marked


_STATES_DOWN = ("killed", "stopped", "paused")


def _bring_back(cluster: Any, nodes_down: set[int]) -> None:
    """Restart or resume nodes that are down.

    :param cluster: a `LocalCluster`.
    :param nodes_down: the numbers of nodes that may stay down.
    """
    nodes = [node for node in cluster.nodes if node.number not in nodes_down]
    # Resume paused nodes first, because `restart` waits until every running node sees all others.
    for node in nodes:
        if node.state == "paused":
            cluster.resume(node.number)
            cluster.wait_until_ready()
    for node in nodes:
        if node.state in _STATES_DOWN:
            cluster.restart(node.number)


def _cluster_options(cluster: LocalCluster | RunningCluster) -> dict[str, Any]:
    """Return the arguments with which the fixtures connect to a cluster.

    :param cluster: the cluster.
    """
    # We import the driver here because pytest imports this file at every start.
    from cassandra.policies import ConstantReconnectionPolicy

    return {
        "contact_points": cluster.contact_points,
        "port": cluster.port,
        "reconnection_policy": ConstantReconnectionPolicy(_RECONNECTION_DELAY_S, None),
        # A node that has just started is slow, above all on a busy machine. The default time-out of
        # 2 seconds may be too short for its first responses.
        "control_connection_timeout": 10.0,
    }


def _retry_delays(session: Any) -> Iterator[float]:
    """Yield the seconds to wait before each further attempt to drop the keyspace of a session.

    A node that has just been restarted accepts connections, but the session may not have connected
    to it again yet.
    """
    import time

    deadline = time.monotonic() + _DROP_TIMEOUT_S
    while not session.is_shutdown and time.monotonic() < deadline:
        yield _DROP_RETRY_DELAY_S


def _errors_of_nodes() -> tuple[type[Exception], ...]:
    """Return the classes of errors for nodes that cannot be reached."""
    from cassandra import OperationTimedOut
    from cassandra.cluster import NoHostAvailable
    from cassandra.connection import ConnectionException

    return NoHostAvailable, ConnectionException, OperationTimedOut


async def _aio_session(cassandra_cluster: LocalCluster | RunningCluster) -> AsyncIterator[Any]:
    """A session of `cassandra.aio` in a new keyspace, which is dropped afterwards."""
    import asyncio

    from cassandra import aio

    async with aio.Cluster(**_cluster_options(cassandra_cluster)) as cluster:
        session = await cluster.connect()
        keyspace, statement = _new_keyspace(cassandra_cluster)
        await session.execute(statement)
        try:
            await session.set_keyspace(keyspace)
            yield session
        finally:
            # Drop the keyspace, and retry while nodes do not respond.
            delays = _retry_delays(session)
            while True:
                try:
                    await session.execute(f"DROP KEYSPACE IF EXISTS {keyspace}")
                    break
                except _errors_of_nodes():
                    delay = next(delays, None)
                    if delay is None:
                        raise
                    await asyncio.sleep(delay)


def _new_keyspace(cluster: LocalCluster | RunningCluster) -> tuple[str, str]:
    """Return the name of a new keyspace, and the statement that creates it."""
    import uuid

    keyspace = f"test_{uuid.uuid4().hex[:12]}"
    replicas = min(3, len(cluster.contact_points))
    return keyspace, (
        f"CREATE KEYSPACE {keyspace} WITH replication = "
        f"{{'class': 'SimpleStrategy', 'replication_factor': {replicas}}}"
    )


def _setting(config: pytest.Config, name: str, default: str) -> str:
    try:
        return str(config.getoption(name, None) or config.getini(name) or default)
    except ValueError:
        # The ini option does not exist, because the plugin was named in a conftest.py, which pytest
        # reads after `pytest_load_initial_conftests`.
        return default


class RunningCluster:
    """A cluster that this run did not start: tests can connect to it, but not stop its nodes.

    :param contact_points: the addresses of the cluster's nodes.
    :param port: the port of the native protocol, the same on all nodes.
    """

    def __init__(self, contact_points: list[str], port: int) -> None:
        self.contact_points = contact_points
        self.port = port

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"cassandra_cluster is a running cluster (--cassandra-hosts), which has no {name!r}: "
            "only contact_points and port. A test that starts or stops nodes needs a run without it"
        )


def _running_cluster(hosts: str) -> RunningCluster:
    """Parse the value of ``--cassandra-hosts``.

    :param hosts: ``HOST[:PORT],...``; IPv6 addresses with a port are in brackets.
    :raises pytest.UsageError: if the value cannot be parsed, or if the ports of the hosts differ.
    """
    addresses, ports = [], set()
    for item in hosts.split(","):
        host, colon, port = item.strip().rpartition(":")
        if not colon or (":" in host and not host.startswith("[")):
            host, port = item.strip(), "9042"
        if not host or not port.isdigit():
            raise pytest.UsageError(f"cassandra_hosts={hosts!r}: expected HOST[:PORT],...")
        addresses.append(host.strip("[]"))
        ports.add(int(port))
    if len(ports) > 1:
        raise pytest.UsageError(f"cassandra_hosts={hosts!r}: all hosts must have the same port")
    return RunningCluster(addresses, ports.pop())


@pytest.fixture(scope="session")
def cassandra_cluster(pytestconfig: pytest.Config) -> Iterator[LocalCluster | RunningCluster]:
    """A started :class:`cassandra.testing.LocalCluster` for the whole run, stopped at its end.

    With ``--cassandra-hosts`` the fixture is an object for that cluster, which only has
    `contact_points` and `port`.
    """
    hosts = _setting(pytestconfig, "cassandra_hosts", os.environ.get("CASSANDRA_TEST_HOSTS", ""))
    if hosts:
        yield _running_cluster(hosts)
        return
    # We import the driver here because pytest imports this file at every start.
    from cassandra.testing.local import LocalCluster
    from cassandra.testing.versions import DEFAULT_VERSION

    nodes = _setting(pytestconfig, "cassandra_nodes", "1")
    if not nodes.isdigit() or int(nodes) < 1:
        raise pytest.UsageError(f"cassandra_nodes={nodes!r}: expected a number from 1 up")
    with LocalCluster(
        int(nodes), _setting(pytestconfig, "cassandra_version", DEFAULT_VERSION)
    ) as cluster:
        yield cluster


@pytest.fixture
def cassandra_session(cassandra_cluster: LocalCluster | RunningCluster) -> Iterator[Any]:
    """A session of the driver in a new keyspace, which is dropped afterwards."""
    import time

    # We import the driver here because pytest imports this file at every start.
    from cassandra.cluster import Cluster

    cluster = Cluster(**_cluster_options(cassandra_cluster))
    try:
        session = cluster.connect()
        keyspace, statement = _new_keyspace(cassandra_cluster)
        session.execute(statement)
        try:
            session.set_keyspace(keyspace)
            yield session
        finally:
            # Drop the keyspace, and retry while nodes do not respond.
            delays = _retry_delays(session)
            while True:
                try:
                    session.execute(f"DROP KEYSPACE IF EXISTS {keyspace}")
                    break
                except _errors_of_nodes():
                    delay = next(delays, None)
                    if delay is None:
                        raise
                    time.sleep(delay)
    finally:
        cluster.shutdown()


@pytest.fixture
def cassandra_replay(request: pytest.FixtureRequest) -> Iterator[Recorder | ReplayNode]:
    """A node that replays the recording of this test; connect to its `contact_points` and `port`.

    The recording is ``recordings/MODULE/TEST.jsonl`` in the folder of the test's file. TEST is the
    name of the test, with its classes and a digest if the name alone would not be unique. To record
    it, run the test with ``--cassandra-record=HOST:PORT``: requests then go to that node, and the
    recording is kept if the test passes. Record without ``compression="lz4"``: a recorder reads
    only frames that are not compressed.
    """
    from pathlib import Path

    from cassandra.testing.replay import Recorder, ReplayNode
    from cassandra.testing.replay.file_names import file_name

    module = Path(request.path)
    test = request.node.name
    classes = [node.name for node in request.node.listchain() if isinstance(node, pytest.Class)]
    folder = module.parent / "recordings" / module.stem
    path = folder / file_name(classes, test)
    upstream = _setting(request.config, "cassandra_record", "")
    if upstream:
        host, _, port = upstream.rpartition(":")
        if not host or not port.isdigit():
            raise pytest.UsageError(f"cassandra_record={upstream!r}: expected HOST:PORT")
        recorder = Recorder(path, host.strip("[]"), int(port)).start()
        yield recorder
        # Discard the recording of a test that has failed, was skipped or was interrupted: it would
        # replay the failure, or lack requests.
        recorder.stop() if request.node.stash.get(_HAS_PASSED, False) else recorder.discard()
        return
    if not path.exists():
        # The recording of a test function (not of a method) may have the unchanged name of the
        # function. List the folder, because `exists` ignores the case on some file systems.
        unchanged_name = f"{test}.jsonl"
        if classes or not folder.exists() or unchanged_name not in os.listdir(folder):
            pytest.fail(
                f"{path} was not recorded yet: run this test with --cassandra-record=HOST:PORT"
            )
        path = folder / unchanged_name
    with ReplayNode(path) as node:
        yield node
        node.check()
