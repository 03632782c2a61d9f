"""The command lines of nodes and of nodetool."""

from __future__ import annotations

from pathlib import Path

import pytest

from cassandra.testing.errors import LocalClusterError
from cassandra.testing.jvm import daemon_command, nodetool_command
from tests.unit.testing.pretended import RUNTIME


@pytest.fixture
def jars(tmp_path: Path) -> Path:
    """Return a directory with two jars and another file."""
    for name in ("jamm-0.4.0.jar", "apache-cassandra-5.0.9.jar", "notes.txt"):
        (tmp_path / name).touch()
    return tmp_path


def command(jars: Path, bootstrap: bool = False, java: int = 17) -> list[str]:
    """Return the command line that starts a node.

    :param bootstrap: whether the node joins a running cluster.
    :param java: the major version of Java.
    """
    runtime = RUNTIME._replace(executable="/java", major=java)
    return daemon_command(
        runtime, str(jars), directory="/node", heap="512M", jmx_port=7199, auth_replicas=3,
        bootstrap=bootstrap, archive=["-Xshare:auto"],
    )  # fmt: skip


def test_a_node(jars: Path) -> None:
    """The command line that starts a node has its class path, memory limit and properties."""
    arguments = command(jars)
    assert arguments[0] == "/java"
    assert arguments[1] == f"-javaagent:{jars}/jamm-0.4.0.jar"
    assert arguments[-1] == "org.apache.cassandra.service.CassandraDaemon"
    assert arguments[arguments.index("-cp") + 1] == (
        f"{jars}/apache-cassandra-5.0.9.jar:{jars}/jamm-0.4.0.jar"
    )
    assert {
        "-Xmx512M",
        "-Xshare:auto",
        "-Dcassandra.jmx.local.port=7199",
        "-Dcassandra.system_auth.default_rf=3",
        "-Dcassandra.config=file:///node/cassandra.yaml",
        "-Dcassandra.storagedir=/node/data",
        "-Duser.home=/node",
    } <= set(arguments)


def test_a_directory_with_special_characters(jars: Path) -> None:
    """Files that Cassandra reads by a URL have their characters escaped; other paths do not."""
    arguments = daemon_command(
        RUNTIME, str(jars), directory="/a%20b #?é", heap="512M", jmx_port=7199, auth_replicas=3,
        bootstrap=False, archive=[],
    )  # fmt: skip
    assert {
        "-Dcassandra.config=file:///a%2520b%20%23%3F%C3%A9/cassandra.yaml",
        "-Dcassandra-rackdc.properties=file:///a%2520b%20%23%3F%C3%A9/cassandra-rackdc.properties",
        "-Dcassandra.storagedir=/a%20b #?é/data",
    } <= set(arguments)


def test_a_node_that_joins_waits_longer_for_the_ring(jars: Path) -> None:
    """A node that joins waits longer, since it must learn the ring before it chooses tokens."""

    def ring_delay(arguments: list[str]) -> int:
        """Return how many milliseconds a node waits before it joins the ring."""
        prefix = "-Dcassandra.ring_delay_ms="
        (option,) = (argument for argument in arguments if argument.startswith(prefix))
        return int(option.removeprefix(prefix))

    assert ring_delay(command(jars, bootstrap=True)) > ring_delay(command(jars))


def test_java_from_18_on_is_told_to_allow_a_security_manager(jars: Path) -> None:
    """Java 18 and later get an option that allows a security manager, which Cassandra installs.

    Java before 18 allows a security manager by default.
    """
    option = "-Djava.security.manager=allow"
    for java in (11, 17):
        assert option not in command(jars, java=java)
    for java in (18, 21):
        assert option in command(jars, java=java)


def test_jars_without_the_agent(tmp_path: Path) -> None:
    """If a jar is missing, the error names the jar."""
    with pytest.raises(LocalClusterError, match=r"holds no jamm-\*\.jar"):
        command(tmp_path)


def test_nodetool(jars: Path) -> None:
    """`nodetool` gets the node's address and JMX port, and then the caller's arguments."""
    command_line = nodetool_command(
        "/java", str(jars), directory="/node", jmx_port=7199, arguments=["status", "-r"]
    )
    index = command_line.index("org.apache.cassandra.tools.NodeTool")
    assert command_line[index + 1 :] == ["-h", "127.0.0.1", "-p", "7199", "status", "-r"]
    assert command_line[command_line.index("-cp") + 1].endswith(":/node/tools")
