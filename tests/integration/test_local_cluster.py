"""`cassandra.testing.LocalCluster` starts, stops, breaks and cleans up real nodes.

The tests query the nodes with `cassandra.testing.probe`, a small client that is independent of the
rest of the driver.
"""

from __future__ import annotations

import asyncio
import glob
import json
import os
import select
import signal
import socket
import ssl
import subprocess
import sys
from pathlib import Path

import pytest

from cassandra.testing import CommandFailed, LocalCluster, LocalClusterError, NodeFailed, naming
from cassandra.testing.java import find_java
from cassandra.testing.paths import cache_directory
from cassandra.testing.probe import ALL, Probe, ProbeError
from cassandra.testing.versions import parse_version
from tests.processes import HOME

pytestmark = pytest.mark.integration

SUPERUSER = ("cassandra", "cassandra")


def query_node(
    cluster: LocalCluster, node_number: int, statement: str, consistency: int = 1
) -> list[dict[str, bytes | None]]:
    """Run a statement on one node; return the rows by column name, with undecoded values.

    :param consistency: the code of the consistency level; 1 is ONE.
    """
    login = None
    if cluster.username is not None and cluster.password is not None:
        login = (cluster.username, cluster.password)
    tls = cluster.tls.client_context() if cluster.tls is not None else None
    address = next(node.address for node in cluster.nodes if node.number == node_number)
    with Probe(address, cluster.port, timeout=10, credentials=login, tls=tls) as probe:
        return probe.query(statement, consistency)


def create_table(cluster: LocalCluster, replicas: int) -> None:
    """Create the table k.t in a keyspace with this replication factor."""
    replication = f"{{'class': 'SimpleStrategy', 'replication_factor': {replicas}}}"
    query_node(cluster, 1, f"CREATE KEYSPACE k WITH replication = {replication}")
    query_node(cluster, 1, "CREATE TABLE k.t (k int PRIMARY KEY, v text)")
    cluster.wait_until_ready()


def is_alive(pid: int) -> bool:
    """Return True if there is a process with this id."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def process_ids_of(cluster: LocalCluster) -> list[int]:
    """Return the process ids of the nodes and of their supervisor."""
    node_pids = [node.pid for node in cluster.nodes if node.pid is not None]
    assert cluster.supervisor_pid is not None
    return [*node_pids, cluster.supervisor_pid]


def test_one_node_runs_beside_another_and_leaves_nothing_behind(node: LocalCluster) -> None:
    """A second cluster has a different address; after it stops, no process or file is left."""
    with LocalCluster(1, progress=False) as cluster:
        directory, process_ids = cluster.directory, process_ids_of(cluster)
        assert query_node(cluster, 1, "SELECT release_version FROM system.local") == [
            {"release_version": b"5.0.9"}
        ]
        assert cluster.contact_points == [cluster.nodes[0].address]
        assert cluster.contact_points != node.contact_points
        create_table(cluster, 1)
        tables_of_k = "SELECT * FROM system_schema.tables WHERE keyspace_name = 'k'"
        assert len(query_node(cluster, 1, tables_of_k)) == 1
        # The nodes belong to different clusters, so the shared node does not know the table.
        assert query_node(node, 1, tables_of_k) == []
        assert "UN" in cluster.nodetool(1, "status")
        assert "Startup complete" in cluster.logs(1)
        with pytest.raises(CommandFailed, match="nosuchcommand"):
            cluster.nodetool(1, "nosuchcommand")
        assert all(map(is_alive, process_ids))
    assert not os.path.exists(directory)
    assert not any(map(is_alive, process_ids))
    assert not cluster.running
    with pytest.raises(LocalClusterError, match="not started"):
        cluster.kill(1)
    assert len(query_node(node, 1, "SELECT key FROM system.local")) == 1


@pytest.mark.long
async def test_async_context_does_not_block_the_loop_and_uses_a_kept_directory_again(
    tmp_path: Path,
) -> None:
    """With keep=True, the directory stays, and a later cluster of its version has the data."""
    directory = tmp_path / "kept"
    with LocalCluster(1, directory=directory, keep=True, progress=False) as cluster:
        create_table(cluster, 1)
        query_node(cluster, 1, "INSERT INTO k.t (k, v) VALUES (1, 'one')")
    with pytest.raises(LocalClusterError, match="another version"):
        LocalCluster(1, "4.1", directory=directory, progress=False).start()
    assert (directory / "node1").exists()
    # While the cluster starts, a task counts its steps, which shows whether the loop is blocked.
    turns = 0

    async def count_turns() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0.01)
            turns += 1

    counting_task = asyncio.create_task(count_turns())
    cluster = LocalCluster(1, directory=directory, progress=False)
    async with cluster:
        turns_during_start = turns
        supervisor = cluster.supervisor_pid
        assert supervisor is not None
        assert query_node(cluster, 1, "SELECT v FROM k.t WHERE k = 1") == [{"v": b"one"}]
    counting_task.cancel()
    # If the start of the cluster blocked the loop, the task would have run at most once.
    assert turns_during_start > 10
    assert not is_alive(supervisor)
    assert not (directory / "node1").exists()


async def test_cancelled_start_cleans_up() -> None:
    """If the task that starts a cluster is cancelled, the processes end before the task ends."""
    cluster = LocalCluster(1, progress=False)

    async def start_cluster() -> None:
        async with cluster:
            raise AssertionError("it was not to get that far")

    task = asyncio.create_task(start_cluster())
    while cluster.supervisor_pid is None:  # noqa: ASYNC110 (it is set in another thread, and there is no event to wait for)
        await asyncio.sleep(0.005)
    supervisor = cluster.supervisor_pid
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not cluster.running
    assert not is_alive(supervisor)


@pytest.fixture(scope="class")
def cluster(dismantled: LocalCluster) -> LocalCluster:
    """Return three nodes with the table k.t, which has a replica on each node."""
    create_table(dismantled, 3)
    return dismantled


@pytest.mark.long
class TestThreeNodes:
    """Tests of three nodes in a fixed order: each test needs the state after the previous test."""

    def test_racks_and_replicas(self, cluster: LocalCluster) -> None:
        """Racks are assigned to the nodes in turn, and a write at ALL reaches each node."""
        assert [node.rack for node in cluster.nodes] == ["rack1", "rack2", "rack1"]
        racks = {row["rack"] for row in query_node(cluster, 1, "SELECT rack FROM system.peers")}
        assert racks == {b"rack1", b"rack2"}
        query_node(cluster, 2, "INSERT INTO k.t (k, v) VALUES (1, 'one')", ALL)
        assert query_node(cluster, 3, "SELECT v FROM k.t WHERE k = 1", ALL) == [{"v": b"one"}]

    def test_paused_node_accepts_connections_but_does_not_answer(
        self, cluster: LocalCluster
    ) -> None:
        """A paused node does not respond to a new connection; after `resume`, it responds again."""
        cluster.pause(2)
        assert cluster.nodes[1].state == "paused"
        with pytest.raises(TimeoutError):
            Probe(cluster.nodes[1].address, cluster.port, timeout=0.5)
        with pytest.raises(LocalClusterError, match="cannot pause node 2: it is paused"):
            cluster.pause(2)
        cluster.resume(2)
        assert len(query_node(cluster, 2, "SELECT * FROM system.local")) == 1

    def test_killed_node_refuses_and_comes_back_with_its_data(self, cluster: LocalCluster) -> None:
        """A killed node refuses connections; after a restart, it has the same data as before."""
        pid = cluster.nodes[2].pid
        assert pid is not None
        cluster.kill(3)
        assert not is_alive(pid)
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((cluster.nodes[2].address, cluster.port), timeout=1)
        cluster.restart(3)
        assert cluster.nodes[2].pid != pid
        assert query_node(cluster, 3, "SELECT v FROM k.t WHERE k = 1", ALL) == [{"v": b"one"}]

    @pytest.mark.longest
    def test_stopped_node_and_restart_of_a_running_one(self, cluster: LocalCluster) -> None:
        """`restart` starts a stopped node, and replaces the process of a running node."""
        cluster.stop(2)
        assert cluster.nodes[1].state == "stopped"
        cluster.restart(2)
        pid = cluster.nodes[1].pid
        cluster.restart(2)
        assert cluster.nodes[1].pid != pid
        assert query_node(cluster, 2, "SELECT v FROM k.t WHERE k = 1", ALL) == [{"v": b"one"}]

    @pytest.mark.longest
    def test_add_and_decommission(self, cluster: LocalCluster) -> None:
        """An added node gets the data; a decommissioned node is removed and cannot be restarted."""
        number = len(cluster.nodes) + 1
        node = cluster.add_node(rack="rack2")
        assert (node.number, node.rack, node.state) == (number, "rack2", "running")
        # The cluster now has four nodes, so each has three peers.
        assert len(query_node(cluster, 1, "SELECT * FROM system.peers")) == 3
        assert query_node(cluster, number, "SELECT v FROM k.t WHERE k = 1", ALL) == [{"v": b"one"}]
        cluster.decommission(2)
        assert cluster.nodes[1].state == "decommissioned"
        assert len(cluster.contact_points) == 3
        assert cluster.nodes[1].address not in cluster.contact_points
        for node_number in (1, 3, number):
            assert len(query_node(cluster, node_number, "SELECT * FROM system.peers")) == 2
        with pytest.raises(LocalClusterError, match="decommissioned"):
            cluster.restart(2)


@pytest.mark.long
def test_two_datacenters_with_authentication(spread: LocalCluster) -> None:
    """Nodes of two data centres require the right password, and replicate writes."""
    rows = query_node(spread, 1, "SELECT data_center FROM system.peers")
    assert {row["data_center"] for row in rows} == {b"east", b"west"}
    assert len(rows) == 2
    for node in spread.nodes:
        with pytest.raises(ProbeError, match="PasswordAuthenticator"):
            Probe(node.address, spread.port)
        # 0x0100 is the protocol's error code for bad credentials.
        with pytest.raises(ProbeError, match="0x0100"):
            Probe(node.address, spread.port, credentials=("cassandra", "wrong"))
        assert len(query_node(spread, node.number, "LIST ROLES")) == 1
    replication = "{'class': 'NetworkTopologyStrategy', 'east': 2, 'west': 1}"
    query_node(spread, 3, f"CREATE KEYSPACE k WITH replication = {replication}")
    query_node(spread, 3, "CREATE TABLE k.t (k int PRIMARY KEY)")
    spread.wait_until_ready()
    query_node(spread, 1, "INSERT INTO k.t (k) VALUES (1)", ALL)


def test_mutual_tls(secured: LocalCluster) -> None:
    """A node with tls="mutual" accepts only TLS connections with a client certificate."""
    assert secured.tls is not None
    assert len(query_node(secured, 1, "SELECT * FROM system.local")) == 1
    address = secured.contact_points[0]
    context_without_certificate = ssl.create_default_context(cafile=secured.tls.ca_certificate)
    # The password is right, but the client has no certificate. The server closes the connection
    # during the handshake, or right after it with TLS 1.3.
    with pytest.raises((OSError, ProbeError)):
        Probe(address, secured.port, tls=context_without_certificate, credentials=SUPERUSER)
    with pytest.raises((OSError, ProbeError)):
        Probe(address, secured.port, credentials=SUPERUSER)


def test_nodes_that_need_each_other_for_a_login_are_restarted_together() -> None:
    """`restart` with two numbers starts both nodes before it waits until they accept logins.

    One node alone could refuse logins, because the roles are replicated on both nodes.
    """
    with LocalCluster(2, authentication=True, progress=False) as cluster:
        for number in (1, 2):
            cluster.kill(number)
        cluster.restart(1, 2)
        for number in (1, 2):
            assert len(query_node(cluster, number, "LIST ROLES")) == 1


def check_without_client_certificate(cluster: LocalCluster, login: tuple[str, str] | None) -> None:
    """Check that a client can connect with TLS, but without a client certificate.

    :param login: user name and password; None for a node without authentication.
    """
    assert cluster.tls is not None
    context = ssl.create_default_context(cafile=cluster.tls.ca_certificate)
    with Probe(cluster.contact_points[0], cluster.port, tls=context, credentials=login) as probe:
        assert len(probe.query("SELECT * FROM system.local")) == 1


def test_tls_is_required() -> None:
    """A node with tls="required" accepts TLS, and refuses connections without TLS."""
    with LocalCluster(1, "4.1", tls="required", progress=False) as cluster:
        check_without_client_certificate(cluster, login=None)
        with pytest.raises((OSError, ProbeError)):
            Probe(cluster.contact_points[0], cluster.port)


def test_tls_is_optional(guarded: LocalCluster) -> None:
    """A node with tls="optional" accepts connections with and without TLS."""
    check_without_client_certificate(guarded, login=SUPERUSER)
    with Probe(guarded.contact_points[0], guarded.port, credentials=SUPERUSER) as probe:
        assert len(probe.query("SELECT * FROM system.local")) == 1


@pytest.mark.long
@pytest.mark.parametrize("version", ["4.0", "4.1"])
def test_older_versions(version: str) -> None:
    """Two nodes of an older version start as a cluster, and replicate writes."""
    with LocalCluster(2, version, progress=False) as cluster:
        create_table(cluster, 2)
        query_node(cluster, 1, "INSERT INTO k.t (k, v) VALUES (1, 'one')", ALL)
        assert query_node(cluster, 2, "SELECT v FROM k.t WHERE k = 1", ALL) == [{"v": b"one"}]
        assert "UN" in cluster.nodetool(2, "status")


def test_node_that_fails_to_start_shows_its_log_and_is_cleaned_up(tmp_path: Path) -> None:
    """An invalid setting raises NodeFailed with the node's log, and the directory is removed."""
    cluster = LocalCluster(
        1, config={"no_such_key": 1}, directory=tmp_path / "here", progress=False
    )
    with pytest.raises(NodeFailed, match=r"(?s)node 1 .*no_such_key") as caught:
        cluster.start()
    assert "no_such_key" in caught.value.log
    assert not (tmp_path / "here").exists()
    assert not cluster.running


def test_nodes_end_when_the_parent_is_killed() -> None:
    """If the process that started a cluster is killed, its nodes end, and its files are removed."""
    program = (
        "import json, sys, threading\n"
        "from cassandra.testing import LocalCluster\n"
        # Start the cluster in a thread that ends at once. Linux sends a "parent death signal" when
        # the starting thread ends, so the nodes must not rely on this signal.
        "cluster = LocalCluster(1, progress=False)\n"
        "thread = threading.Thread(target=cluster.start); thread.start(); thread.join()\n"
        "print(json.dumps([cluster.directory, cluster.supervisor_pid, cluster.nodes[0].pid]), "
        "flush=True)\n"
        "sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as parent:
        assert parent.stdout is not None
        directory, supervisor, node = json.loads(parent.stdout.readline())
        assert is_alive(node)
        supervisor_pidfd = os.pidfd_open(supervisor)
        os.kill(parent.pid, signal.SIGKILL)
        # A pidfd is readable as soon as its process has ended, even if that is not our child.
        ended_pidfds, _, _ = select.select([supervisor_pidfd], [], [], 30)  # at most 30 seconds
        os.close(supervisor_pidfd)
    assert ended_pidfds
    assert not is_alive(node)
    assert not os.path.exists(directory)


def test_shipped_java_class_equals_its_compiled_source(node: LocalCluster, tmp_path: Path) -> None:
    """The Java class in the package has the same bytes as the result of compiling its source."""
    (compiler,) = glob.glob(
        os.path.join(cache_directory("cassandra", node.version), "jars", "ecj-*.jar")
    )
    source = tmp_path / f"{naming.CLASS_NAME}.java"
    source.write_text(naming.SOURCE)
    subprocess.run(
        [
            find_java(parse_version(node.version)).executable,
            *("-cp", compiler, "org.eclipse.jdt.internal.compiler.batch.Main"),
            *("--release", "11", "-g:none", "-d", str(tmp_path / "out"), str(source)),
        ],
        check=True,
    )
    compiled = tmp_path / "out" / naming.PACKAGE / "rmi" / f"{naming.CLASS_NAME}.class"
    assert compiled.read_bytes() == naming.CLASS_FILE


def test_plugin_gives_a_session_in_a_fresh_keyspace(tmp_path: Path) -> None:
    """`cassandra_session` creates a keyspace for each test, and drops it after the test."""
    (tmp_path / "test_it.py").write_text(
        "def test_insert(cassandra_session):\n"
        "    cassandra_session.execute('CREATE TABLE t (k int PRIMARY KEY)')\n"
        "    cassandra_session.execute('INSERT INTO t (k) VALUES (1)')\n"
        "    assert [row.k for row in cassandra_session.execute('SELECT k FROM t')] == [1]\n"
        "def test_keyspace_is_dropped(cassandra_session):\n"
        "    query = 'SELECT keyspace_name FROM system_schema.keyspaces'\n"
        "    names = [row.keyspace_name for row in cassandra_session.execute(query)]\n"
        "    assert sum(name.startswith('test_') for name in names) == 1\n"
    )
    # Run pytest with this plugin only, and with no other configuration.
    environment = {**os.environ, "PYTHONPATH": HOME, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "cassandra.testing.pytest_plugin",
        "-p",
        "no:cacheprovider",
    ]
    command += [
        "-c",
        os.devnull,
        "--rootdir",
        str(tmp_path),
        "--cassandra-version",
        "5.0",
        str(tmp_path),
    ]
    process = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
        cwd=tmp_path,
        timeout=110,
        check=False,
    )
    assert "2 passed" in process.stdout, process.stdout


@pytest.mark.long
class TestCommandLine:
    """Tests of ``python -m cassandra.testing``, in which each command is a separate process."""

    NAME = f"test-{os.getpid()}"

    def run(self, command: str, *arguments: str, code: int = 0) -> str:
        """Run a command, and check its exit code.

        :param code: the exit code to expect.
        :returns: the command's standard output, or its standard error if `code` is not 0.
        """
        process = subprocess.run(
            [sys.executable, "-m", "cassandra.testing", command, "--name", self.NAME, *arguments],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert process.returncode == code, process.stderr
        return process.stdout if code == 0 else process.stderr

    def test_start_pause_kill_restart_and_stop(self) -> None:
        """``status`` reports the state after each command; impossible commands exit with 1."""
        state = json.loads(self.run("start", "-n", "2", "-q", "--json"))
        try:
            assert [node["state"] for node in state["nodes"]] == ["running", "running"]
            with Probe(state["contact_points"][0], state["port"]) as probe:
                assert len(probe.query("SELECT * FROM system.peers")) == 1
            assert "already" in self.run("start", code=1)
            assert self.run("nodetool", "1", "status").count("UN ") == 2
            assert "Startup complete" in self.run("logs", "2")
            self.run("kill", "2")
            assert "cannot pause node 2: it is killed" in self.run("pause", "2", code=1)
            self.run("pause", "1")
            (state,) = json.loads(self.run("status", "--json"))
            assert [node["state"] for node in state["nodes"]] == ["paused", "killed"]
            self.run("resume", "1")
            self.run("restart", "2")
            assert "no node 7" in self.run("kill", "7", code=1)
            service_pidfd = os.pidfd_open(state["pid"])
        finally:
            self.run("stop")
        ended_pidfds, _, _ = select.select([service_pidfd], [], [], 10)  # at most 10 seconds
        os.close(service_pidfd)
        assert ended_pidfds
        assert not os.path.exists(state["directory"])
        assert "no cluster named" in self.run("stop", code=1)
