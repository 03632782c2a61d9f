"""What the doctor sees before there is a session."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cassandra import _impl
from cassandra.doctor import network
from cassandra.doctor.findings import NOTE, OK, PROBLEM, WARNING
from cassandra.testing import tls
from cassandra.testing.fake import FakeNode
from tests.processes import run_python


def test_the_installation_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_impl, "implementation", "c")
    assert [one.level for one in network.installation()] == [OK]
    monkeypatch.setattr(_impl, "implementation", "python")
    monkeypatch.setattr(_impl, "fallback_reason", None)
    monkeypatch.setenv("CASS_DRIVER_IMPL", "python")
    (found,) = network.installation()
    assert (found.level, "CASS_DRIVER_IMPL wants" in found.text) == (NOTE, True)
    monkeypatch.delenv("CASS_DRIVER_IMPL")
    (found,) = network.installation()
    assert (found.level, "as on every" in found.text) == (NOTE, True)
    monkeypatch.setattr(_impl, "fallback_reason", "no module named x")
    (found,) = network.installation()
    assert found.level == WARNING
    assert "no module named x" in found.text


def test_a_resolver_that_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    release = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *a, **k: release.wait(5))
    (found,) = network.reach("slow.example", 9042, 0.05, None)
    release.set()
    assert found.level == PROBLEM
    assert "no answer in time" in found.text


def test_a_resolver_that_is_silent_does_not_hold_the_process() -> None:
    program = (
        "import socket, time; from cassandra.doctor import network;"
        "socket.getaddrinfo = lambda *a, **k: time.sleep(600);"
        "print(next(network.reach('slow.example', 9042, 0.05, None)).text)"
    )
    done = run_python(program)  # has a deadline of its own
    assert done.returncode == 0, done.stderr
    assert "no answer in time" in done.stdout


def test_a_port_without_tls() -> None:
    with FakeNode() as node:
        context = ssl.create_default_context()
        found = list(network.reach(node.address, node.port, 0.2, context))
    assert [one.level for one in found] == [OK, PROBLEM]
    assert "TLS fails" in found[1].text


def test_the_end_of_a_certificate() -> None:
    assert network._end_of("host", time.time() + 86400 * 5).level == WARNING
    assert network._end_of("host", time.time() + 86400 * 50).level == OK


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[FakeNode, tls.TlsMaterial]]:
    """A node that speaks TLS, and its certificates."""
    pytest.importorskip("cryptography")
    material = tls.TlsMaterial.make(str(tmp_path / "tls"), "required")
    material.server_options("127.0.0.1")
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    folder = tmp_path / "tls"
    server.load_cert_chain(folder / "127.0.0.1.pem", folder / "127.0.0.1.key")
    with FakeNode(ssl_context=server) as node:
        yield node, material


def test_a_port_with_tls(served: tuple[FakeNode, tls.TlsMaterial]) -> None:
    node, material = served
    context = ssl.create_default_context(cafile=material.ca_certificate)
    found = list(network.reach(node.address, node.port, 5, context))
    assert PROBLEM not in [one.level for one in found]
    assert "speaks TLSv1." in found[1].text
    assert "certificate" in found[2].text


def test_a_certificate_of_an_unknown_authority(
    served: tuple[FakeNode, tls.TlsMaterial],
) -> None:
    node, _ = served
    found = list(network.reach(node.address, node.port, 5, ssl.create_default_context()))
    assert [one.level for one in found] == [OK, PROBLEM]
    assert "the certificate is not accepted" in found[1].text
    assert "--cafile" in found[1].do
