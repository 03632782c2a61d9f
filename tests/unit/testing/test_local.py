"""The arguments and settings of a local cluster that is not started."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra.testing import LocalCluster, LocalClusterError

pytestmark = pytest.mark.usefixtures("own_cache")


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"nodes": 0}, ValueError, "0 nodes"),
        ({"version": "3.11"}, ValueError, "cannot be run"),
        ({"tls": "maybe"}, ValueError, "tls='maybe'"),
        ({"port": 99_999}, ValueError, "port must be from 1 to 65535, but is 99999"),
        ({"config": {"native_transport_port": -1}}, ValueError, "port must be from 1 to 65535"),
        ({"heap": "5"}, ValueError, "heap must be a number with a unit, as '512M'"),
        ({"heap": 512}, ValueError, "heap must be a number with a unit, as '512M'"),
        ({"heap": "5M"}, ValueError, "heap must be at least '48M', but is '5M'"),
        ({"config": {"num_tokens": object()}}, TypeError, "num_tokens"),
        ({"config": "num_tokens: 16"}, TypeError, r"write config=\{'num_tokens': 16\}"),
        ({"nodes": {"dc1": "2"}}, ValueError, r"has '2' nodes: write a number, LocalCluster\(3\)"),
        ({"auth": True}, TypeError, "has no option 'auth'; write authentication=True"),
        ({"ssl": True}, TypeError, "write tls=True"),
        ({"replication_factor": 3}, TypeError, "create keyspaces by a session"),
        ({"n": 3}, TypeError, "write nodes="),
        ({"image": "cassandra:5"}, TypeError, "write version='5.0'"),
        ({"dcs": ["a", "b"]}, TypeError, r"write LocalCluster\(\{'dc1': 2, 'dc2': 1\}\)"),
        ({"memory": "1G"}, TypeError, "write heap='1G'"),
        ({"java_home": "/j"}, TypeError, "write java=, the path of the command"),
        ({"colour": "red"}, TypeError, "it has nodes, version, datacenters"),
    ],
)
def test_wrong_arguments_are_refused(
    arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    """Each wrong argument raises an error that names it, and often says what to write."""
    with pytest.raises(error, match=message):
        LocalCluster(**arguments)


def test_cluster_that_is_not_started() -> None:
    """Before `start`, you can read the settings of a cluster; any other use raises an error.

    The error says how to start the cluster.
    """
    cluster = LocalCluster(nodes=2, authentication=True, port=9999)
    assert cluster.port == 9999
    assert cluster.username == "cassandra"
    assert not cluster.running
    with pytest.raises(RuntimeError, match=r"^not started: write `with LocalCluster\(\.\.\.\)"):
        print(cluster.contact_points)
    assert "not started" in repr(cluster)
    cluster.stop()  # has no effect
    for method in (cluster.kill, cluster.restart, cluster.logs, cluster.decommission):
        with pytest.raises(LocalClusterError, match="not started"):
            method(1)


def test_a_directory_with_other_files_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A directory with the user's files is refused, because a cluster removes its directory."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").touch()
    cluster = LocalCluster(1, directory=tmp_path / "mine")
    with pytest.raises(LocalClusterError, match=r"thesis\.txt"):
        cluster._open_directory()
    assert (tmp_path / "mine" / "thesis.txt").exists()


@pytest.mark.parametrize("version", ["5.0", 5.0])
def test_a_version_in_place_of_the_number_of_nodes(version: Any) -> None:
    """If a version is passed as the number of nodes, the error shows how to pass both."""
    with pytest.raises(TypeError, match=r"number of nodes: write LocalCluster\(1, '5\.0'\), not "):
        LocalCluster(version)


def test_a_number_of_nodes_as_text() -> None:
    """A number of nodes in quotes raises TypeError, which shows the call without quotes."""
    with pytest.raises(TypeError, match=r"write LocalCluster\(3\), not LocalCluster\('3'\)"):
        LocalCluster("3")  # type: ignore[arg-type]


def test_names_of_other_tools_get_advice() -> None:
    """An attribute that other classes have raises AttributeError, which says what to write.

    For `hasattr` and `dir`, the attribute does not exist.
    """
    cluster: Any = LocalCluster(1)
    for name, advice in (
        ("session", r"write Cluster\(local\.contact_points, port=local\.port\)\.connect\(\)"),
        ("hosts", r"write local\.contact_points"),
        ("close", r"write local\.stop\(\)"),
        ("remove_node", r"write local\.decommission\(number\)"),
    ):
        assert not hasattr(cluster, name)
        with pytest.raises(AttributeError, match=f"'LocalCluster' object has no .*: {advice}"):
            getattr(cluster, name)
    with pytest.raises(TypeError, match=r"write local\.nodes\[0\]"):
        cluster[0]
    assert "session" not in dir(cluster)


@pytest.mark.parametrize("node", [[1], "127.0.0.1", SimpleNamespace(number=2)])
def test_a_node_is_named_by_its_number(node: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """`kill` takes the number of a node. For another object, the error shows the right call.

    The cluster is not started. Two attributes are replaced, so that it seems to run with two nodes.
    """
    cluster = LocalCluster(1)
    monkeypatch.setattr(cluster, "_supervisor_and_subnet", lambda: None)
    monkeypatch.setattr(cluster, "_nodes", {1: None, 2: None})
    number = getattr(node, "number", 1)
    with pytest.raises(LocalClusterError, match=rf"by its number, as in kill\({number}\)$"):
        cluster.kill(node)
