"""Test the command ``python -m cassandra.doctor`` against a fake node."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

import pytest

from cassandra import fallback_reason
from cassandra.doctor.cli import main
from cassandra.testing.fake import FakeCluster, FakeNode, silence
from tests.unit.security.certificates import DAY, Authority
from tests.unit.security.conftest import authority as authority

# The doctor warns if the driver's compiled modules are missing.
NO_FURTHER_WARNING = "0 warnings" if fallback_reason is None else "1 warning"


def run(capsys: pytest.CaptureFixture[str], *arguments: Any) -> tuple[int, str]:
    """Run the command in this process; return its exit code and its output."""
    code = main([str(argument) for argument in arguments])
    return code, capsys.readouterr().out


def test_a_healthy_cluster_has_no_problem(
    node: FakeNode, capsys: pytest.CaptureFixture[str]
) -> None:
    """For a healthy cluster, the command prints its findings, and exits with 0."""
    code, out = run(capsys, node.address, "--port", node.port)
    assert code == 0, out
    lines = out.splitlines()
    endpoint = f"{node.address}:{node.port}"
    assert any(line.startswith(f"ok       {endpoint}: {node.address} accepts") for line in lines)
    assert any("connected to cluster" in line for line in lines)
    assert any(f"{endpoint}: is up and connected" in line for line in lines)
    assert any("all hosts agree on version" in line for line in lines)
    assert "PROBLEM" not in out


def test_a_host_may_be_named_by_an_option(
    node: FakeNode, capsys: pytest.CaptureFixture[str]
) -> None:
    """As for other commands, ``--host`` or ``--hosts`` may name the hosts."""
    for option in ("--host", "--hosts"):
        code, out = run(capsys, option, node.address, "--port", node.port)
        assert code == 0, out


def test_a_contact_point_of_another_cluster_is_a_problem(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A contact point of another cluster is a problem; the same node at a second address is not.

    A node has several addresses if it is behind a proxy, for example.
    """
    own_id, other_id = uuid.UUID(int=1), uuid.UUID(int=2)
    with FakeNode("127.0.0.1", host_id=own_id) as node:
        for host_id, is_other in ((own_id, False), (other_id, True)):
            with FakeNode("127.0.0.2", node.port, host_id=host_id) as second:
                code, out = run(capsys, node.address, second.address, "--port", node.port)
            # The driver may connect to either of the two contact points first.
            assert ("belongs to another cluster" in out) is is_other, out
            assert code == int(is_other)


def test_findings_as_json(node: FakeNode, capsys: pytest.CaptureFixture[str]) -> None:
    """With `--json`, the report is printed as JSON."""
    code, out = run(capsys, node.address, "--port", node.port, "--json")
    report = json.loads(out)
    assert code == 0
    assert report["problems"] == 0
    assert {"level", "subject", "text", "do"} == set(report["findings"][0])


def test_a_closed_port_is_one_problem_with_advice(capsys: pytest.CaptureFixture[str]) -> None:
    """A contact point with a closed port is one problem; the failed connect is only a note."""
    # When the block ends, the node stops, and its port is closed.
    with FakeNode() as node:
        address, port = node.address, node.port
    code, out = run(capsys, address, "--port", port, "--timeout", 2)
    assert code == 1
    assert f"PROBLEM  {address}:{port}: {address} cannot be connected to" in out
    assert "-> is the node running" in out
    # The cluster cannot be reached because the port is closed, so the doctor counts only one fault.
    assert "note     connect: Unable to connect" in out
    assert "because of the problem above" in out
    assert f"1 problem, {NO_FURTHER_WARNING}" in out


def test_a_name_that_cannot_be_looked_up(capsys: pytest.CaptureFixture[str]) -> None:
    code, out = run(capsys, "cassandra.invalid", "--timeout", 5)
    assert code == 1
    assert "PROBLEM  cassandra.invalid:9042: the name cannot be looked up" in out
    assert "note     settings: no contact point could be resolved" in out
    assert f"1 problem, {NO_FURTHER_WARNING}" in out


def test_a_node_that_is_silent_does_not_hang(capsys: pytest.CaptureFixture[str]) -> None:
    """With a node that responds to nothing, the command must end with one problem."""
    with FakeNode() as node:
        node.prime(lambda request: True, silence())
        code, out = run(capsys, node.address, "--port", node.port, "--timeout", 0.3)
    assert code == 1
    assert "note     connect: " in out
    assert f"1 problem, {NO_FURTHER_WARNING}" in out


def test_a_refused_login_is_a_problem_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    """A problem of one contact point does not hide that another contact point refuses the login."""
    with FakeNode() as stopped:
        port = stopped.port
    with FakeNode(username="ada", password="hidden", port=port) as node:
        code, out = run(capsys, "127.0.0.9", node.address, "--port", port)
    assert code == 1
    assert f"PROBLEM  127.0.0.9:{port}: 127.0.0.9 cannot be connected to" in out
    assert "PROBLEM  connect: Unable to connect" in out
    assert f"2 problems, {NO_FURTHER_WARNING}" in out


def test_a_password_is_used_and_never_shown(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The doctor asks for a missing login, and prints no password, whether right or wrong."""
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


def test_a_login_that_no_node_asks_for_is_a_warning(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a login is passed, but no node requires a login, there is a warning."""
    monkeypatch.setenv("DOCTOR_SECRET", "hidden")
    login = ("--user", "ada", "--password-env", "DOCTOR_SECRET")
    with FakeNode() as node:
        code, out = run(capsys, node.address, "--port", str(node.port), *login)
        assert "WARNING  login: no node asks for a login" in out
        assert code == 0
        node.require_password("ada", "hidden")
        assert (
            "WARNING  login" not in run(capsys, node.address, "--port", str(node.port), *login)[1]
        )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name a host of the cluster"),
        (["h", "--dc", "dc1"], "unrecognized arguments: --dc dc1; write --local-dc NAME"),
        (["h", "-p", "9042"], "; write --port 9042"),
        (["--contact-points", "h"], "write the hosts alone: python -m cassandra.doctor 10.0.0.1"),
        (["h", "--xyz"], "unrecognized arguments: --xyz\n"),
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
    """Without a terminal, the doctor cannot prompt for a password; the error names the options."""
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)
    with pytest.raises(SystemExit):
        main(["127.0.0.1", "--user", "ada"])
    assert "give --password-env or --password-file" in capsys.readouterr().err


def test_warnings_change_the_exit_code_with_strict(capsys: pytest.CaptureFixture[str]) -> None:
    """Warnings lead to the exit code 1 only with `--strict`."""
    with FakeCluster(2) as nodes:
        nodes[1].release_version = "9.9"  # mixed releases are a warning
        node_arguments = [nodes[0].address, "--port", nodes.port]
        code, out = run(capsys, *node_arguments)
        assert code == 0, out
        assert "WARNING" in out
        code, _ = run(capsys, *node_arguments, "--strict")
        assert code == 1


def test_the_keyspace_and_the_local_data_centre_are_checked(
    node: FakeNode, capsys: pytest.CaptureFixture[str]
) -> None:
    """A local data centre and a keyspace that do not exist are two problems."""
    code, out = run(
        capsys, node.address, "--port", node.port, "--local-dc", "dc1", "--keyspace", "shop"
    )
    assert code == 1
    assert "PROBLEM  local data centre dc1: no node is in 'dc1': the only data centre is" in out
    assert "PROBLEM  keyspace shop: does not exist: there are no keyspaces" in out
    assert "2 problems" in out


def test_the_certificate_of_each_node_is_examined(
    authority: Authority, capsys: pytest.CaptureFixture[str]
) -> None:
    """An expired certificate of a node that is not a contact point is one problem."""

    def make_node(address: str, port: int, **settings: Any) -> FakeNode:
        """Return a node with TLS. If its address ends with .2, its certificate has expired."""
        validity: dict[str, Any] = (
            {"begins": -9 * DAY, "ends": -2 * DAY} if address.endswith(".2") else {}
        )
        context = authority.server(address, **validity)
        return FakeNode(address, port, ssl_context=context, **settings)

    with FakeCluster(3, node_class=make_node) as nodes:
        code, out = run(capsys, nodes[0].address, "--port", nodes.port, "--cafile", authority.path)
    assert code == 1
    first, second, third = (f"{node.address}:{nodes.port}" for node in nodes.nodes)
    for subject in (first, third):
        assert f"ok       {subject}: its certificate is good until" in out
    assert f"PROBLEM  {second}: its certificate has expired" in out
    # The driver cannot connect to this node for the same reason.
    assert f"note     {second}: is down" in out
    assert f"1 problem, {NO_FURTHER_WARNING}" in out


def test_an_expired_client_certificate_is_one_problem(
    authority: Authority, capsys: pytest.CaptureFixture[str]
) -> None:
    """An expired client certificate is one problem, although the node also refuses it."""
    certificate, key = authority.issue("client", begins=-9 * DAY, ends=-2 * DAY)
    server = authority.server("127.0.0.1", clients=authority.path)
    with FakeNode(ssl_context=server) as node:
        code, out = run(
            capsys, node.address, "--port", node.port, "--cafile", authority.path,
            "--cert", certificate, "--key", key, "--timeout", 2,
        )  # fmt: skip
    assert code == 1
    assert f"PROBLEM  client certificate {certificate}: its certificate has expired" in out
    assert "asks for a client certificate" in out
    assert f"1 problem, {NO_FURTHER_WARNING}" in out


def test_a_port_among_the_hosts(capsys: pytest.CaptureFixture[str]) -> None:
    """A port among the hosts is an error that says how to pass a port."""
    with pytest.raises(SystemExit):
        main(["127.0.0.1", "9042"])
    assert "9042 is not a host: for a port, write --port 9042" in capsys.readouterr().err
