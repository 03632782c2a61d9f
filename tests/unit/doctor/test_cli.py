"""The command ``python -m cassandra.doctor`` against a fake node."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cassandra.doctor.cli import main
from cassandra.testing.fake import FakeCluster, FakeNode, rows, silence


@pytest.fixture
def node() -> Iterator[FakeNode]:
    with FakeNode() as running:
        yield running


def run(capsys: pytest.CaptureFixture[str], *arguments: Any) -> tuple[int, str]:
    code = main([str(argument) for argument in arguments])
    return code, capsys.readouterr().out


def test_a_healthy_cluster_has_no_problem(
    node: FakeNode, capsys: pytest.CaptureFixture[str]
) -> None:
    """For a healthy cluster, the command prints its findings and exits with 0."""
    code, out = run(capsys, node.address, "--port", node.port)
    assert code == 0, out
    lines = out.splitlines()
    endpoint = f"{node.address}:{node.port}"
    assert any(line.startswith(f"ok       {endpoint}: {node.address} accepts") for line in lines)
    assert any("connected to cluster" in line for line in lines)
    assert any(f"{endpoint}: is up and connected" in line for line in lines)
    assert any("all hosts agree on version" in line for line in lines)
    assert "PROBLEM" not in out


def test_findings_as_json(node: FakeNode, capsys: pytest.CaptureFixture[str]) -> None:
    """With `--json`, the report is printed as JSON."""
    code, out = run(capsys, node.address, "--port", node.port, "--json")
    report = json.loads(out)
    assert code == 0
    assert report["problems"] == 0
    assert {"level", "subject", "text", "do"} == set(report["findings"][0])


def test_a_closed_port_is_two_problems_with_advice(capsys: pytest.CaptureFixture[str]) -> None:
    # When the block ends, the node is stopped and its port closed.
    with FakeNode() as node:
        address, port = node.address, node.port
    code, out = run(capsys, address, "--port", port, "--timeout", 2)
    assert code == 1
    assert f"PROBLEM  {address}:{port}: {address} cannot be connected to" in out
    assert "-> is the node running" in out
    assert "PROBLEM  connect: Unable to connect" in out
    # The two problems are the port, and connecting the cluster.
    assert "2 problems" in out


def test_a_name_that_cannot_be_looked_up(capsys: pytest.CaptureFixture[str]) -> None:
    code, out = run(capsys, "cassandra.invalid", "--timeout", 5)
    assert code == 1
    assert "PROBLEM  cassandra.invalid:9042: the name cannot be looked up" in out
    assert "PROBLEM  settings: no contact point could be resolved" in out


def test_a_node_that_is_silent_does_not_hang(capsys: pytest.CaptureFixture[str]) -> None:
    with FakeNode() as node:
        node.prime(lambda request: True, silence())
        code, out = run(capsys, node.address, "--port", node.port, "--timeout", 0.3)
    assert code == 1
    assert "PROBLEM  connect: " in out


def test_a_password_is_used_and_never_shown(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DOCTOR_SECRET", "hidden")
    with FakeNode(username="ada", password="hidden") as node:
        node_arguments = [node.address, "--port", str(node.port)]
        code, out = run(capsys, *node_arguments)
        assert code == 1
        assert "-> give --user" in out
        code, out = run(capsys, *node_arguments, "--user", "ada", "--password-env", "DOCTOR_SECRET")
        assert code == 0, out
        assert "hidden" not in out
        file = tmp_path / "password"
        file.write_text("wrong\n")
        code, out = run(capsys, *node_arguments, "--user", "ada", "--password-file", file)
        assert code == 1
        assert "wrong" not in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name a host of the cluster"),
        (["127.0.0.1", "--timeout", "0"], "--timeout must be positive, but is 0.0"),
        (["127.0.0.1", "--cloud-bundle", "b.zip"], "a bundle stands for HOST"),
        (["127.0.0.1", "--cafile", "/no/such"], "--cafile /no/such cannot be read: No such file"),
        (["127.0.0.1", "--cafile", __file__], "test_cli.py has no certificate in PEM format"),
        (
            ["127.0.0.1", "--cert", "/no/such", "--key", "/no/key"],
            "--cert /no/such or --key /no/key cannot be read: No such file",
        ),
        (
            ["127.0.0.1", "--user", "ada", "--password-env", "NO_SUCH_NAME"],
            "the environment has no variable 'NO_SUCH_NAME'",
        ),
    ],
)
def test_wrong_arguments_are_explained(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert message in capsys.readouterr().err


def test_without_a_terminal_a_password_cannot_be_asked_for(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a terminal, a password cannot be asked for; the error says how to give it."""
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)
    with pytest.raises(SystemExit):
        main(["127.0.0.1", "--user", "ada"])
    assert "give --password-env or --password-file" in capsys.readouterr().err


def test_warnings_change_the_exit_code_with_strict(capsys: pytest.CaptureFixture[str]) -> None:
    with FakeCluster(2) as nodes:
        # The clock of this node shows the year 1970.
        nodes[1].prime(
            "SELECT toTimestamp(now()) AS now FROM system.local",
            rows([("now", "timestamp")], [(3_600_000,)]),
        )
        node_arguments = [nodes[0].address, "--port", nodes.port]
        code, out = run(capsys, *node_arguments)
        assert code == 0, out
        assert "WARNING" in out
        code, _ = run(capsys, *node_arguments, "--strict")
        assert code == 1


def test_a_port_among_the_hosts(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["127.0.0.1", "9042"])
    assert "9042 is not a host: for a port, write --port 9042" in capsys.readouterr().err
