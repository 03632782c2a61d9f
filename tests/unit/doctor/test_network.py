"""Test the checks of ``python -m cassandra.doctor`` before it connects a session."""

from __future__ import annotations

import datetime
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from cassandra import _build_stamp, _impl
from cassandra.doctor import network
from cassandra.doctor.findings import NOTE, OK, PROBLEM, WARNING
from cassandra.testing import tls
from cassandra.testing.fake import FakeNode
from tests.processes import run_python
from tests.unit.security.certificates import DAY, Authority
from tests.unit.security.conftest import authority as authority


def test_the_implementation_in_use_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """`installation` reports OK for compiled modules, and a note or a warning for pure Python.

    It is a warning if compiled modules exist, but cannot be imported.
    """
    monkeypatch.setattr(_build_stamp, "has_sources", lambda: False)
    monkeypatch.setattr(_impl, "implementation", "c")
    assert [finding.level for finding in network.installation()] == [OK]
    monkeypatch.setattr(_impl, "implementation", "python")
    monkeypatch.setattr(_impl, "fallback_reason", None)
    monkeypatch.setenv("CASS_DRIVER_IMPL", "python")
    (finding,) = network.installation()
    assert finding.level == NOTE
    assert "CASS_DRIVER_IMPL wants" in finding.text
    monkeypatch.delenv("CASS_DRIVER_IMPL")
    (finding,) = network.installation()
    assert finding.level == NOTE
    assert "as on every" in finding.text
    # Pretend that the compiled modules exist, but cannot be imported.
    monkeypatch.setattr(_impl, "fallback_reason", "no module named x")
    (finding,) = network.installation()
    assert finding.level == WARNING
    assert "no module named x" in finding.text


@pytest.mark.parametrize(
    ("changed_files", "level", "message"),
    [
        (["codecs.pyx"], PROBLEM, "cassandra._accel was built from other sources (codecs.pyx"),
        (None, NOTE, "nothing says which sources"),
    ],
)
def test_a_build_from_other_sources_is_the_first_finding(
    monkeypatch: pytest.MonkeyPatch, changed_files: list[str] | None, level: str, message: str
) -> None:
    """If the compiled modules may not match the sources, the first finding says how to rebuild."""
    monkeypatch.setattr(_impl, "implementation", "c")
    monkeypatch.setattr(_build_stamp, "has_sources", lambda: True)
    monkeypatch.setattr(_build_stamp, "changed_files", lambda *, thorough: changed_files)
    build_finding, driver_finding = network.installation()
    assert (build_finding.level, build_finding.subject) == (level, "build")
    assert driver_finding.subject == "driver"
    assert message in build_finding.text
    assert "python setup.py build_ext --inplace" in build_finding.do
    # If the build matches the current sources, there is no finding about the build.
    monkeypatch.setattr(_build_stamp, "changed_files", lambda *, thorough: [])
    assert [finding.subject for finding in network.installation()] == ["driver"]


def test_a_name_lookup_that_hangs_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    release = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **kwargs: release.wait(5))
    (finding,) = network.reach("slow.example", 9042, 0.05, None)
    release.set()
    assert finding.level == PROBLEM
    assert "no answer in time" in finding.text


def test_a_name_lookup_that_hangs_does_not_keep_the_process_running() -> None:
    """The process ends although one of its threads still waits for the name lookup."""
    program = (
        "import socket, time; from cassandra.doctor import network;"
        "socket.getaddrinfo = lambda *args, **kwargs: time.sleep(600);"
        "print(next(network.reach('slow.example', 9042, 0.05, None)).text)"
    )
    # `run_python` raises an error if the program does not end in time.
    process = run_python(program)
    assert process.returncode == 0, process.stderr
    assert "no answer in time" in process.stdout


def test_a_port_without_tls() -> None:
    """If the node does not use TLS, the failed handshake is a problem."""
    with FakeNode() as node:
        context = ssl.create_default_context()
        findings = list(network.reach(node.address, node.port, 0.2, context))
    assert [finding.level for finding in findings] == [OK, PROBLEM]
    assert "TLS fails" in findings[1].text


def test_a_certificate_that_expires_soon_is_a_warning() -> None:
    day = 24 * 60 * 60
    assert network._end_of("host", time.time() + 5 * day).level == WARNING
    assert network._end_of("host", time.time() + 50 * day).level == OK


@pytest.fixture
def tls_node(tmp_path: Path) -> Iterator[tuple[FakeNode, tls.TlsMaterial]]:
    """Yield a node that uses TLS, and its certificates."""
    pytest.importorskip("cryptography")
    material = tls.TlsMaterial.make(str(tmp_path / "tls"), "required")
    # This call creates the certificate for the address. The files are loaded below.
    material.server_options("127.0.0.1")
    ssl_context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    folder = tmp_path / "tls"
    ssl_context.load_cert_chain(folder / "127.0.0.1.pem", folder / "127.0.0.1.key")
    with FakeNode(ssl_context=ssl_context) as node:
        yield node, material


def test_findings_name_the_tls_version_and_the_certificate(
    tls_node: tuple[FakeNode, tls.TlsMaterial],
) -> None:
    """If the CA is known, the findings name the TLS version and the certificate.

    No finding is a problem.
    """
    node, material = tls_node
    context = ssl.create_default_context(cafile=material.ca_certificate)
    findings = list(network.reach(node.address, node.port, 5, context))
    assert PROBLEM not in [finding.level for finding in findings]
    assert "speaks TLSv1." in findings[1].text
    assert "certificate" in findings[2].text


def test_a_certificate_of_an_unknown_authority_is_a_problem(
    tls_node: tuple[FakeNode, tls.TlsMaterial],
) -> None:
    """If the CA is unknown, the finding is a problem whose advice names `--cafile`."""
    node, _ = tls_node
    findings = list(network.reach(node.address, node.port, 5, ssl.create_default_context()))
    assert [finding.level for finding in findings] == [OK, PROBLEM]
    assert "the certificate is not accepted" in findings[1].text
    assert "--cafile" in findings[1].do
    assert "--no-hostname-check" not in findings[1].do


def test_a_certificate_of_another_name_is_to_be_renewed(authority: Authority) -> None:
    with FakeNode(ssl_context=authority.server("10.9.9.9")) as node:
        findings = list(network.reach(node.address, node.port, 5, authority.client()))
    assert "the certificate is not accepted" in findings[1].text
    assert "subject alternative name" in findings[1].do
    assert "--cafile" not in findings[1].do


def test_an_answer_that_is_not_tls_is_not_put_down_to_a_client_certificate() -> None:
    """If the server does not speak TLS, the advice says so, and names no client certificate."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            # The client makes its second connection without TLS.
            for _ in range(2):
                connection, _ = server.accept()
                with connection:
                    connection.recv(10_000)
                    # This is the error of a node that does not support the protocol version.
                    connection.sendall(bytes([0x85, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 10]))

        thread = threading.Thread(target=answer)
        thread.start()
        port = server.getsockname()[1]
        findings = list(network.reach("127.0.0.1", port, 5, ssl.create_default_context()))
        thread.join()
    assert [finding.level for finding in findings] == [OK, PROBLEM]
    assert "the answer is not TLS" in findings[1].text
    assert "leave --ssl and --cafile out" in findings[1].do


# -- servers of other protocols --------------------------------------------------------------------


@contextmanager
def server_that_answers(*answers: bytes, after_line: bool = False) -> Iterator[int]:
    """Yield the port of a server that sends one of the responses on each of its connections.

    :param answers: the responses.
    :param after_line: True to respond only after the end of a line, as web servers do.
    """
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            for answer in answers:
                connection, _ = server.accept()
                with connection:
                    received = connection.recv(10_000)
                    # The client sends at most one more message.
                    if after_line and b"\n" not in received:
                        connection.recv(10_000)
                    connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        yield server.getsockname()[1]
        thread.join()


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "a web server answers on this port"),
        (b"<!DOCTYPE HTML>", "a web server answers on this port"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "an SSH server answers on this port"),
        (b"what?", "a server of another protocol (b'what?') answers on this port"),
    ],
)
def test_a_server_of_another_protocol_is_named(answer: bytes, text: str) -> None:
    with server_that_answers(answer) as port:
        findings = list(network.reach("127.0.0.1", port, 5, None))
    assert [finding.level for finding in findings] == [OK, PROBLEM]
    assert findings[1].text == f"{text}, not Cassandra"
    assert "--port" in findings[1].do
    assert "usually 9042" in findings[1].do


def test_a_web_server_that_waits_for_the_end_of_a_line_is_named() -> None:
    with server_that_answers(b"HTTP/1.1 400 Bad Request\r\n\r\n", after_line=True) as port:
        findings = list(network.reach("127.0.0.1", port, 0.2, None))
    assert "a web server answers" in findings[1].text


def test_a_web_server_is_named_if_tls_is_expected() -> None:
    """If TLS fails, the doctor connects again without TLS, to find out what the server is."""
    page = b"HTTP/1.1 400 Bad Request\r\n\r\n"
    with server_that_answers(page, page) as port:
        findings = list(network.reach("127.0.0.1", port, 5, ssl.create_default_context()))
    assert [finding.level for finding in findings] == [OK, PROBLEM]
    assert "a web server answers" in findings[1].text
    assert "usually 9042" in findings[1].do


def test_a_server_that_expects_tls_is_named(authority: Authority) -> None:
    # This is a TLS alert: "unexpected message".
    alert = bytes([0x15, 3, 3, 0, 2, 2, 10])
    with server_that_answers(alert) as port:
        findings = list(network.reach("127.0.0.1", port, 5, None))
    assert [finding.text for finding in findings[1:]] == ["speaks TLS on this port"]
    assert "--ssl" in findings[1].do


def test_the_other_ports_of_nodes_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A port of the nodes that is not for CQL is named in the advice if it cannot be used."""
    assert network._cql_port_advice(7000).startswith("7000 is the port of the nodes among")
    assert network._cql_port_advice(7199).startswith("7199 is the port of JMX")
    with FakeNode() as node:
        address, port = node.address, node.port
    monkeypatch.setitem(network._OTHER_PORTS, port, "the port of tests")
    # The node has stopped.
    (finding,) = network.reach(address, port, 5, None)
    assert finding.level == PROBLEM
    assert finding.do.startswith(f"{port} is the port of tests: give --port")


# -- nodes that hang, and certificates -------------------------------------------------------------


def test_a_node_that_hangs_is_a_problem() -> None:
    """A node that accepts connections but never responds is a problem."""
    with FakeNode() as node:
        node.pause()
        findings = list(network.reach(node.address, node.port, 0.2, None))
        node.resume()
    assert [finding.level for finding in findings] == [OK, PROBLEM]
    assert "does not answer within 0.2 s" in findings[1].text
    assert "hangs" in findings[1].do


def test_a_node_that_hangs_in_tls_is_a_problem(authority: Authority) -> None:
    with FakeNode() as node:
        node.pause()
        findings = list(network.reach(node.address, node.port, 0.2, authority.client()))
        node.resume()
    assert [finding.level for finding in findings] == [OK, PROBLEM]
    assert "TLS fails: no answer" in findings[1].text
    assert findings[1].do.startswith("the process hangs")


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_missing_client_certificate_is_named(
    authority: Authority, version: ssl.TLSVersion
) -> None:
    """If the node requires a client certificate, the problem says so and names the options."""
    server = authority.server("127.0.0.1", clients=authority.path)
    server.minimum_version = server.maximum_version = version
    with FakeNode(ssl_context=server) as node:
        findings = list(network.reach(node.address, node.port, 5, authority.client()))
    problem = findings[-1]
    assert problem.level == PROBLEM
    assert "client certificate" in problem.text
    assert "--cert and --key" in problem.do


def test_a_client_certificate_that_is_accepted_is_no_problem(authority: Authority) -> None:
    client = authority.client()
    client.load_cert_chain(*authority.issue("client"))
    with FakeNode(ssl_context=authority.server("127.0.0.1", clients=authority.path)) as node:
        findings = list(network.reach(node.address, node.port, 5, client))
    assert PROBLEM not in [finding.level for finding in findings]


@pytest.mark.parametrize(
    ("validity", "text", "do"),
    [
        ({"begins": -20 * DAY, "ends": -2 * DAY}, "its certificate has expired", "renew"),
        ({"begins": 2 * DAY, "ends": 20 * DAY}, "is not valid yet", "clocks"),
    ],
)
def test_a_certificate_at_the_wrong_time(
    authority: Authority, validity: dict[str, Any], text: str, do: str
) -> None:
    with FakeNode(ssl_context=authority.server("127.0.0.1", **validity)) as node:
        findings = list(network.reach(node.address, node.port, 5, authority.client()))
    assert [finding.level for finding in findings] == [OK, PROBLEM]
    assert text in findings[1].text
    assert do in findings[1].do


@pytest.mark.parametrize(
    ("ends", "level", "text"),
    [(2 * DAY, WARNING, "in 2 days"), (90 * DAY, OK, "is good"), (-2 * DAY, PROBLEM, "expired")],
)
def test_the_end_of_the_clients_own_certificate(
    authority: Authority, ends: datetime.timedelta, level: str, text: str
) -> None:
    certificate, _ = authority.issue("client", begins=-20 * DAY, ends=ends + DAY / 24)
    (result,) = network.client_certificate(certificate)
    assert result.level == level
    assert result.subject == f"client certificate {certificate}"
    assert text in result.text
