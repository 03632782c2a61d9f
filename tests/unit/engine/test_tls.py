"""TLS in the blocking and asyncio APIs, on loops of asyncio and uvloop.

With valid certificates, the driver connects. Otherwise, the error names the cause.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from cassandra import aio
from cassandra.cluster import Cluster
from cassandra.connection import (
    DefaultEndPoint,
    DefaultEndPointFactory,
    EndPoint,
    SniEndPoint,
    SniEndPointFactory,
    UnixSocketEndPoint,
)
from cassandra.engine.connection import Connection
from cassandra.engine.tls import TlsClient
from cassandra.errors import ConnectionException, DriverException, NoHostAvailable
from cassandra.ssl_session_cache import SSLSessionCache
from cassandra.testing.fake import (
    Answer,
    ErrorCode,
    FakeCluster,
    FakeNode,
    Opcode,
    Request,
    close,
    error,
    reset,
)
from cassandra.tls import ReloadingContext
from tests.unit.security.certificates import DAY, Authority
from tests.unit.security.conftest import READ, Use as ConnectAndRead, fake
from tests.waiting import until, until_on_loop

HOST = "127.0.0.1"
VALUE = 7  # the value that `connect_and_read` reads from a node of `fake`


def connect_error(connect_and_read: ConnectAndRead, node: FakeNode | Peer, **settings: Any) -> str:
    """Connect, which must fail, and return the message of the node's error.

    The message must name the node.
    """
    with pytest.raises(NoHostAvailable) as caught:
        connect_and_read([node.address], port=node.port, connect_timeout=5, **settings)
    (error,) = caught.value.errors.values()
    assert isinstance(error, ConnectionException)
    assert f"{node.address}:{node.port}" in str(error)
    return str(error)


# -- successful connects ---------------------------------------------------------------------------


def test_a_certificate_with_the_address_is_accepted(
    connect_and_read: ConnectAndRead, authority: Authority
) -> None:
    with fake(authority.server(HOST)) as node:
        assert connect_and_read([HOST], port=node.port, ssl_context=authority.client()) == VALUE


@pytest.mark.parametrize("name", ["db.example.com", "*.example.com"])
def test_a_certificate_with_the_server_hostname_is_accepted(
    connect_and_read: ConnectAndRead, authority: Authority, name: str
) -> None:
    """With `server_hostname` in `ssl_options`, the certificate must have this name.

    It need not have the address.
    """
    with fake(authority.server(name)) as node:
        options = {"server_hostname": "db.example.com"}
        settings = {"ssl_context": authority.client(), "ssl_options": options}
        assert connect_and_read([HOST], port=node.port, **settings) == VALUE


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_each_tls_version_connects(
    connect_and_read: ConnectAndRead, authority: Authority, version: ssl.TLSVersion
) -> None:
    """The driver connects to a server that speaks only this version of TLS."""
    server, client = authority.server(HOST), authority.client()
    server.maximum_version = server.minimum_version = version
    with fake(server) as node:
        assert connect_and_read([HOST], port=node.port, ssl_context=client) == VALUE


def test_a_client_certificate_is_sent(
    connect_and_read: ConnectAndRead, authority: Authority
) -> None:
    """If the server requires a client certificate, the certificate of the `ssl_context` is sent."""
    client = authority.client()
    client.load_cert_chain(*authority.issue("client"))
    with fake(authority.server(HOST, clients=authority.path)) as node:
        assert connect_and_read([HOST], port=node.port, ssl_context=client) == VALUE


def test_ssl_options_without_a_context_connect(
    connect_and_read: ConnectAndRead, authority: Authority
) -> None:
    """`ssl_options` without an `ssl_context` are enough for TLS, as in cassandra-driver."""
    certificate, key = authority.issue("client")
    options = {
        "ca_certs": authority.path,
        "certfile": certificate,
        "keyfile": key,
        "cert_reqs": ssl.CERT_REQUIRED,
        "ssl_version": ssl.PROTOCOL_TLSv1_2,
        "check_hostname": True,
        "server_hostname": "db",
        "ciphers": "ECDHE+AESGCM",
    }
    with fake(authority.server("db", clients=authority.path)) as node:
        assert connect_and_read([HOST], port=node.port, ssl_options=options) == VALUE


def test_an_end_point_may_have_its_own_server_hostname(
    connect_and_read: ConnectAndRead, authority: Authority
) -> None:
    """An end point may have `ssl_options`, with the name that its node's certificate must have."""

    class NamedEndPoint(DefaultEndPoint):
        @property
        def ssl_options(self) -> dict[str, str]:
            return {"server_hostname": "node.example.com"}

    with fake(authority.server("node.example.com")) as node:
        endpoint = NamedEndPoint(HOST, node.port)
        assert connect_and_read([endpoint], port=node.port, ssl_context=authority.client()) == VALUE


async def test_closed_connections_do_not_wait_for_the_peer(authority: Authority) -> None:
    """A connection that we close frees its socket, although the node does not end its stream."""
    with fake(authority.server(HOST)) as node:
        async with aio.Cluster([HOST], port=node.port, ssl_context=authority.client()) as cluster:
            session = await cluster.connect()
            assert (await session.execute(READ)).one().v == VALUE
            (pool,) = session._engine.pools.values()
            connection = pool.connections[0]
            assert connection._transport is not None
            sock = connection._transport.get_extra_info("socket")
            node.pause()
            connection.close()
            # The loop itself would wait for 30 seconds.
            await until_on_loop(lambda: sock.fileno() == -1, seconds=15)
            node.resume()


@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="the system has no Unix sockets")
async def test_the_path_of_a_unix_socket_is_no_server_name() -> None:
    """Without a name of the server, none is sent, and its certificate cannot be checked."""
    endpoint = UnixSocketEndPoint("/run/" + "l" * 70)
    context = ssl.create_default_context()
    in_thread: Any = None  # is not called
    with pytest.raises(ConnectionException, match="set server_hostname in ssl_options"):
        await TlsClient(context).begin(endpoint, in_thread)
    assert (await TlsClient(context, "db").begin(endpoint, in_thread)).server_hostname == "db"
    context.check_hostname = False
    assert (await TlsClient(context).begin(endpoint, in_thread)).server_hostname == ""


def test_an_sni_proxy_gets_the_name_of_the_node(
    connect_and_read: ConnectAndRead, authority: Authority
) -> None:
    """In the TLS handshake, an SNI proxy gets the name of the node to which it must connect.

    The node keeps the name of the contact point.
    """
    server = authority.server("*.nodes.example.com")
    names: list[str | None] = []
    server.sni_callback = lambda sock, name, context: names.append(name)
    with fake(server) as node:
        factory = SniEndPointFactory(HOST, node.port, "nodes.example.com")
        settings = {"endpoint_factory": factory, "ssl_context": authority.client()}
        contact_point = SniEndPoint(HOST, "first.nodes.example.com", node.port)
        assert connect_and_read([contact_point], **settings) == VALUE
        # The control connection and the pool each have one connection.
        assert names == ["first.nodes.example.com"] * 2


# -- failed connects -------------------------------------------------------------------------------


def test_a_certificate_of_an_unknown_ca_is_named_as_the_cause(
    connect_and_read: ConnectAndRead, authority: Authority, tmp_path: Path
) -> None:
    """If an unknown CA has issued the server's certificate, the error says so."""
    with fake(Authority(tmp_path, "other").server(HOST)) as node:
        message = connect_error(connect_and_read, node, ssl_context=authority.client())
        assert "was issued by a CA that is not among the trusted" in message


@pytest.mark.parametrize(
    ("validity", "expected_text"),
    [
        ({"begins": -9 * DAY, "ends": -1 * DAY}, "its certificate expired (on "),
        ({"begins": DAY}, "its certificate is not valid yet (on "),
    ],
)
def test_a_certificate_outside_its_validity_is_named_as_the_cause(
    connect_and_read: ConnectAndRead,
    authority: Authority,
    validity: dict[str, Any],
    expected_text: str,
) -> None:
    """If the server's certificate has expired or is not valid yet, the error says which."""
    with fake(authority.server(HOST, **validity)) as node:
        assert expected_text in connect_error(
            connect_and_read, node, ssl_context=authority.client()
        )


@pytest.mark.parametrize("is_sent", [True, False])
def test_an_expired_ca_is_named_as_the_cause(
    connect_and_read: ConnectAndRead,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    is_sent: bool,
) -> None:
    """If the certificate of the CA has expired, the error does not blame that of the server.

    The server may send the certificate of the CA, too. Then the error has its name and date.
    """
    monkeypatch.setattr("cassandra.testing.tls._LIFE", -DAY / 2)
    old_authority = Authority(tmp_path, "old CA")
    certificate, key = map(Path, old_authority.issue(HOST, ends=9 * DAY))
    if is_sent:
        certificate.write_text(certificate.read_text() + Path(old_authority.path).read_text())
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(certificate, key)
    with fake(server) as node:
        message = connect_error(connect_and_read, node, ssl_context=old_authority.client())
    named = "the certificate of its CA 'old CA' expired (on "
    assert (named if is_sent else "the certificate of its CA expired") in message


def test_only_some_of_a_certificates_names_are_listed(
    connect_and_read: ConnectAndRead, authority: Authority
) -> None:
    """One certificate may be for all nodes of a cluster."""
    names = [f"10.0.0.{number}" for number in range(1, 101)]
    with fake(authority.server(*names)) as node:
        message = connect_error(connect_and_read, node, ssl_context=authority.client())
        assert f"is for {', '.join(names[:10])} and 90 more" in message


@pytest.mark.parametrize("names", [("other.example.com",), ("10.0.0.1", "db")])
def test_a_certificate_for_another_name_is_named_as_the_cause(
    connect_and_read: ConnectAndRead, authority: Authority, names: tuple[str, ...]
) -> None:
    """If the server's certificate is for other names, the error has these and the expected name."""
    with fake(authority.server(*names)) as node:
        message = connect_error(connect_and_read, node, ssl_context=authority.client())
        assert f"the name '{HOST}' was expected" in message
        assert f"its certificate is for {', '.join(names)}" in message


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_missing_client_certificate_is_named_as_the_cause(
    connect_and_read: ConnectAndRead, authority: Authority, version: ssl.TLSVersion
) -> None:
    """If the server requires a client certificate and gets none, `connect` fails with the reason.

    Some servers send an alert about the certificate, others only close the connection.
    """
    server = authority.server(HOST, clients=authority.path)
    server.maximum_version = server.minimum_version = version
    with fake(server) as node:
        message = connect_error(connect_and_read, node, ssl_context=authority.client())
        assert "client certificate" in message
    with Peer(message=None, ending="closes", context=server) as peer:
        message = connect_error(connect_and_read, peer, ssl_context=authority.client())
        assert "client certificate" in message


def test_without_a_common_tls_version_the_error_says_so(
    connect_and_read: ConnectAndRead, authority: Authority
) -> None:
    """If no version of TLS is common to server and client, the error says so.

    Here, the server speaks TLS 1.2 at most, and the client TLS 1.3 at least.
    """
    server = authority.server(HOST)
    client = authority.client()
    server.maximum_version = ssl.TLSVersion.TLSv1_2
    client.minimum_version = ssl.TLSVersion.TLSv1_3
    with Peer(message=None, ending="closes", context=server) as peer:
        message = connect_error(connect_and_read, peer, ssl_context=client)
        assert "no version of TLS is common" in message


def test_without_tls_on_a_tls_port_the_error_says_so(
    connect_and_read: ConnectAndRead, authority: Authority
) -> None:
    with fake(authority.server(HOST)) as node:
        assert "does it expect TLS" in connect_error(connect_and_read, node)


class Peer:
    """A server that sends one message to each client, and then closes the connection or waits.

    :param message: the message; None to send nothing.
    :param ending: what follows the message: "closes", "reset" or "waits".
    :param context: if given, the server makes a TLS handshake instead, which must fail.
    """

    def __init__(
        self, message: bytes | None, ending: str, context: ssl.SSLContext | None = None
    ) -> None:
        self.context = context
        self.message = message
        self.ending = ending
        self.listener = socket.create_server((HOST, 0))
        self.address, self.port = self.listener.getsockname()[:2]
        self.clients: list[socket.socket] = []
        self.thread = threading.Thread(target=self.serve, daemon=True)

    def __enter__(self) -> Peer:
        self.thread.start()
        return self

    def serve(self) -> None:
        """Accept clients until the listening socket is closed."""
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            self.clients.append(client)
            if self.context is not None:
                with pytest.raises(ssl.SSLError):
                    self.context.wrap_socket(client, server_side=True)
                continue
            client.recv(1 << 16)
            if self.message:
                client.sendall(self.message)
            if self.ending == "reset":
                # With SO_LINGER and a time of 0 seconds, `close` resets the connection.
                linger = struct.pack("ii", 1, 0)
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            if self.ending != "waits":
                client.close()

    def __exit__(self, *args: object) -> None:
        """Close all sockets, and wait until the server's thread has ended."""
        # This ends the call of `accept` in the server's thread.
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join()
        for client in self.clients:
            client.close()


@pytest.mark.parametrize(
    ("server_message", "ending", "expected_text"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "closes", "does not speak TLS on this port"),
        (b"\x16\x03\x03\x00", "closes", "does it speak TLS"),
        (None, "closes", "does it speak TLS"),
        (None, "reset", "does it speak TLS"),
    ],
    ids=["garbage", "a part of a record", "nothing", "a reset"],
)
def test_servers_that_do_not_speak_tls_are_named_as_the_cause(
    connect_and_read: ConnectAndRead,
    authority: Authority,
    server_message: bytes | None,
    ending: str,
    expected_text: str,
) -> None:
    """If the server sends other bytes than TLS or closes the connection, the error mentions TLS."""
    with Peer(server_message, ending) as peer:
        message = connect_error(connect_and_read, peer, ssl_context=authority.client())
        assert expected_text in message
        assert "Other nodes" not in message  # no node has answered on another port


def test_a_handshake_that_hangs_times_out(
    connect_and_read: ConnectAndRead, authority: Authority
) -> None:
    """If the server sends nothing during the TLS handshake, `connect` fails.

    It fails after `connect_timeout`.
    """
    # On a busy machine, even the TCP connection may not open in time. So check only the part of the
    # message that both errors have. test_handshake_in_silence.py checks the whole message, in
    # virtual time.
    with (
        Peer(message=None, ending="waits") as peer,
        pytest.raises(NoHostAvailable, match="connect_timeout"),
    ):
        connect_and_read(
            [HOST], port=peer.port, connect_timeout=0.3, ssl_context=authority.client()
        )


# -- certificates that change ----------------------------------------------------------------------


def test_a_reloading_context_follows_the_file(
    connect_and_read: ConnectAndRead,
    authority: Authority,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """`ReloadingContext` makes a new TLS context when its file has changed.

    If the file is damaged, the old context stays in use.
    """
    other_authority = Authority(tmp_path, "other")
    trusted = tmp_path / "trusted.pem"
    trusted.write_bytes(Path(other_authority.path).read_bytes())
    context = ReloadingContext(lambda: ssl.create_default_context(cafile=trusted), trusted)
    with fake(authority.server(HOST)) as node:
        # The file has the certificate of another CA, which did not issue the server's certificate.
        connect_error(connect_and_read, node, ssl_context=context)
        context_before = context()
        trusted.write_bytes(b"not a certificate")
        assert context() is context_before
        assert "the earlier TLS context stays in use" in caplog.text
        trusted.write_bytes(Path(authority.path).read_bytes())
        assert connect_and_read([HOST], port=node.port, ssl_context=context) == VALUE
        assert context() is not context_before
        # While the file does not change, the context must stay the same.
        assert context() is context()


def test_open_connections_survive_a_new_certificate(
    connect_and_read: ConnectAndRead, authority: Authority
) -> None:
    """If a server changes its certificate, open connections continue to work.

    New connections get the new certificate.
    """
    server = authority.server(HOST)
    with (
        fake(server) as node,
        Cluster([HOST], port=node.port, ssl_context=authority.client()) as cluster,
    ):
        session = cluster.connect()
        server.load_cert_chain(*authority.issue(HOST))
        assert session.execute("SELECT v FROM t").one().v == VALUE
        assert connect_and_read([HOST], port=node.port, ssl_context=authority.client()) == VALUE


def test_a_function_that_returns_no_context_is_an_error(
    connect_and_read: ConnectAndRead, authority: Authority
) -> None:
    """If the function `ssl_context` returns no context, the error names the result's type."""
    with fake(authority.server(HOST)) as node, pytest.raises(NoHostAvailable) as caught:
        connect_and_read([HOST], port=node.port, ssl_context=lambda: "context")
    assert "ssl_context must give an ssl.SSLContext, but gave str" in str(caught.value)


def test_ssl_options_follow_their_files(
    authority: Authority, tmp_path: Path, uses_uvloop: None
) -> None:
    """If the files that `ssl_options` name are renewed, new connections use the new files."""
    certificate, key = tmp_path / "client.pem", tmp_path / "client.key"
    options = {"ca_certs": authority.path, "certfile": certificate, "keyfile": key}

    def renew(subject: str) -> None:
        for path, source in zip(
            (certificate, key), authority.issue("client", subject=subject), strict=True
        ):
            path.write_bytes(Path(source).read_bytes())

    renew("old role")
    with (
        fake(authority.server(HOST, clients=authority.path)) as node,
        connected(node, ssl_options=options) as cluster,
    ):
        assert clients_of(node) == {"old role"}
        # The driver has created the context, so sessions with the client's certificate are resumed.
        assert reopened(cluster).session_reused
        renew("new role")
        assert not reopened(cluster).session_reused
        assert "new role" in clients_of(node)
        assert reopened(cluster).session_reused


# -- sessions --------------------------------------------------------------------------------------


@contextmanager
def connected(node: FakeNode, **settings: Any) -> Iterator[Cluster]:
    """Yield a cluster that is connected to a node."""
    with Cluster([node.address], port=node.port, **settings) as cluster:
        cluster.connect()
        yield cluster


def reopened(cluster: Cluster) -> ssl.SSLObject:
    """Open another connection to the node, and return the connection's TLS object."""
    core = cluster._core
    assert core is not None

    async def open_connection() -> ssl.SSLObject:
        connection = await core.open_connection(cluster.endpoints_resolved[0])
        assert connection.tls is not None
        tls_object = connection.tls._object
        assert tls_object is not None
        return tls_object

    return asyncio.run_coroutine_threadsafe(open_connection(), core.loop).result(10)


def clients_of(node: FakeNode) -> set[str]:
    """Return the common names in the certificates that clients have shown to a node."""
    names = set()
    for connection in node.connections:
        assert connection._transport is not None
        certificate = connection._transport.get_extra_info("ssl_object").getpeercert()
        names |= {value for pairs in certificate["subject"] for _, value in pairs}
    return names


@pytest.fixture(params=["asyncio", "uvloop"])
def uses_uvloop(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a test on both kinds of event loop."""
    if request.param == "asyncio":
        monkeypatch.setitem(sys.modules, "uvloop", None)
    else:
        pytest.importorskip("uvloop")


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
@pytest.mark.parametrize("verify_mode", [ssl.CERT_OPTIONAL, ssl.CERT_REQUIRED])
def test_a_certificate_that_is_loaded_into_the_context_is_shown(
    authority: Authority, version: ssl.TLSVersion, verify_mode: ssl.VerifyMode, uses_uvloop: None
) -> None:
    """If the server asks for a certificate of the client, it gets the current one.

    A resumed session would keep the old certificate.
    """
    server, client = authority.server(HOST, clients=authority.path), authority.client()
    server.maximum_version = server.minimum_version = version
    server.verify_mode = verify_mode
    client.load_cert_chain(*authority.issue("client", subject="old role"))
    with fake(server) as node, connected(node, ssl_context=client) as cluster:
        assert clients_of(node) == {"old role"}
        client.load_cert_chain(*authority.issue("client", subject="new role"))
        assert not reopened(cluster).session_reused
        assert "new role" in clients_of(node)
        assert not reopened(cluster).session_reused


def test_the_first_certificate_of_a_context_is_shown(authority: Authority) -> None:
    """If a certificate is loaded after the server got none, a new connection shows it.

    The server has asked for a certificate, so the session is not resumed.
    """
    server, client = authority.server(HOST, clients=authority.path), authority.client()
    server.verify_mode = ssl.CERT_OPTIONAL
    with fake(server) as node, connected(node, ssl_context=client) as cluster:
        client.load_cert_chain(*authority.issue("client", subject="new role"))
        assert not reopened(cluster).session_reused


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_server_that_asks_for_no_certificate_does_not_prevent_resumption(
    authority: Authority, version: ssl.TLSVersion, uses_uvloop: None
) -> None:
    """If the server does not ask for a certificate of the client, sessions are resumed.

    This is so even if the context has a certificate. It is also so for the sessions that a resumed
    connection gets.
    """
    server, client = authority.server(HOST), authority.client()
    server.maximum_version = server.minimum_version = version
    client.load_cert_chain(*authority.issue("client"))
    with fake(server) as node, connected(node, ssl_context=client) as cluster:
        for _ in range(3):
            assert reopened(cluster).session_reused
        # While the session is fresh, a resumed connection does not replace it.
        cache = cluster.ssl_session_cache
        assert cache is not None
        (held,) = cache._sessions.values()
        cache.is_fresh = lambda key: False  # type: ignore[method-assign]
        assert reopened(cluster).session_reused
        (held_later,) = cache._sessions.values()
        assert held_later[1] is not held[1]
        assert reopened(cluster).session_reused


def test_the_application_may_allow_sessions_with_its_certificate(authority: Authority) -> None:
    """If the application allows it, sessions are resumed although the client has a certificate.

    The cache `SSLSessionCache(with_client_certificates=True)` allows it, and so does a
    `ReloadingContext`. If a certificate is loaded into the same context later, it is shown once
    `ssl_context` is set.
    """
    certificate_files = authority.issue("client", subject="old role")
    client = authority.client()
    client.load_cert_chain(*certificate_files)
    loose_cache = SSLSessionCache(with_client_certificates=True)

    def make() -> ssl.SSLContext:
        context = authority.client()
        context.load_cert_chain(*certificate_files)
        return context

    reloading = ReloadingContext(make, *certificate_files)
    with fake(authority.server(HOST, clients=authority.path)) as node:
        with connected(node, ssl_context=reloading) as cluster:
            assert reopened(cluster).session_reused
            # If `make` once returns the context of before, sessions of this context are in doubt.
            reloading._creates_new_contexts = False
            assert not reopened(cluster).session_reused
            assert not reopened(cluster).session_reused
        settings: Any = {"ssl_context": client, "ssl_session_cache": loose_cache}
        with connected(node, **settings) as cluster:
            assert reopened(cluster).session_reused
            client.load_cert_chain(*authority.issue("client", subject="new role"))
            assert "new role" not in clients_of(node)
            cluster.ssl_context = client
            assert not reopened(cluster).session_reused
            assert "new role" in clients_of(node)
            assert reopened(cluster).session_reused


def test_a_stricter_context_ends_its_sessions(authority: Authority) -> None:
    """If a context is made stricter in place, new connections make the stricter checks."""
    client = authority.client()
    client.check_hostname = False
    with (
        fake(authority.server("db.example.com")) as node,
        connected(node, ssl_context=client) as cluster,
    ):
        assert reopened(cluster).session_reused
        client.check_hostname = True
        with pytest.raises(ConnectionException, match=r"its certificate is for db\.example\.com"):
            reopened(cluster)


@pytest.mark.parametrize("setting", ["ssl_context", "ssl_options"])
def test_setting_the_tls_settings_ends_the_sessions(authority: Authority, setting: str) -> None:
    """If a setting is set again, even to the same object, no earlier session is resumed."""
    settings: dict[str, Any] = {
        "ssl_context": authority.client(),
        "ssl_options": {"server_hostname": HOST},
    }
    with fake(authority.server(HOST)) as node, connected(node, **settings) as cluster:
        assert reopened(cluster).session_reused
        setattr(cluster, setting, settings[setting])
        assert not reopened(cluster).session_reused
        assert reopened(cluster).session_reused


def test_a_session_that_the_server_rejects_is_dropped(authority: Authority) -> None:
    """Servers reject a session of TLS 1.2 if the context no longer has its cipher.

    The next connection makes a full handshake.
    """
    client = authority.client()
    client.maximum_version = ssl.TLSVersion.TLSv1_2
    with fake(authority.server(HOST)) as node, connected(node, ssl_context=client) as cluster:
        assert reopened(cluster).session_reused
        client.set_ciphers("ECDHE+CHACHA20")
        with pytest.raises(ConnectionException):
            reopened(cluster)
        assert not reopened(cluster).session_reused
        assert reopened(cluster).session_reused


@pytest.mark.parametrize(
    ("opcode", "answer"),
    [
        (Opcode.OPTIONS, close()),
        (Opcode.OPTIONS, reset()),
        (Opcode.STARTUP, error(ErrorCode.BAD_CREDENTIALS)),
        (Opcode.STARTUP, close()),
    ],
    ids=["closed", "reset", "login refused", "closed after OPTIONS"],
)
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_session_is_dropped_if_the_connection_fails_after_the_tls_handshake(
    authority: Authority, version: ssl.TLSVersion, opcode: Opcode, answer: Answer, uses_uvloop: None
) -> None:
    """If a connection with a resumed session does not become ready, its session is dropped.

    With TLS 1.3, a server that can no longer use a session rejects it after the client's handshake.
    """
    client = authority.client()
    client.maximum_version = client.minimum_version = version
    with fake(authority.server(HOST)) as node, connected(node, ssl_context=client) as cluster:
        assert reopened(cluster).session_reused
        node.prime(opcode, answer, times=1)
        with pytest.raises(DriverException):
            reopened(cluster)
        assert not reopened(cluster).session_reused
        assert reopened(cluster).session_reused


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_server_that_refuses_all_resumed_sessions_gets_full_handshakes(
    authority: Authority, version: ssl.TLSVersion
) -> None:
    """If two sessions in a row fail, no further sessions of the server are resumed.

    A server may create sessions that it cannot use. For example, a resumed session may lack the
    certificate that its authenticator needs.
    """

    def is_resumed(request: Request) -> bool:
        assert request.connection._transport is not None
        tls_object = request.connection._transport.get_extra_info("ssl_object")
        return request.opcode == Opcode.OPTIONS and bool(tls_object.session_reused)

    client = authority.client()
    client.maximum_version = client.minimum_version = version
    with fake(authority.server(HOST)) as node, connected(node, ssl_context=client) as cluster:
        node.prime(is_resumed, close())
        for _ in range(2):
            with pytest.raises(ConnectionException):
                reopened(cluster)
            assert not reopened(cluster).session_reused
        for _ in range(3):
            assert not reopened(cluster).session_reused


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_tls_sessions_are_resumed(
    connect_and_read: ConnectAndRead, authority: Authority, version: ssl.TLSVersion
) -> None:
    """With `ssl_session_cache`, all connections after the first resume its TLS session."""
    server, client = authority.server(HOST), authority.client()
    server.maximum_version = server.minimum_version = version
    sessions = SSLSessionCache()
    with fake(server) as node:
        for _ in range(2):
            settings = {"ssl_context": client, "ssl_session_cache": sessions}
            assert connect_and_read([HOST], port=node.port, **settings) == VALUE
        assert len(sessions) == 1
        # Each call opens two connections: the control connection and a connection of the pool. All
        # connections except the very first must resume a session.
        assert server.session_stats()["hits"] >= 3
    # Another server does not know these sessions, so full handshakes are made with it.
    with fake(authority.server(HOST), port=node.port) as other_node:
        settings = {"ssl_context": client, "ssl_session_cache": sessions}
        assert connect_and_read([HOST], port=other_node.port, **settings) == VALUE


def test_sessions_are_not_resumed_without_a_cache(
    connect_and_read: ConnectAndRead, authority: Authority
) -> None:
    """With `ssl_session_cache=None`, each connection must make a full TLS handshake."""
    server = authority.server(HOST)
    with fake(server) as node:
        settings = {"ssl_context": authority.client(), "ssl_session_cache": None}
        assert connect_and_read([HOST], port=node.port, **settings) == VALUE
    assert server.session_stats()["hits"] == 0


def test_a_factory_may_set_the_server_hostname(
    connect_and_read: ConnectAndRead, authority: Authority
) -> None:
    """An end point factory may set `server_hostname` for each node, as docs/security.rst shows."""

    class NamedEndPoint(DefaultEndPoint):
        @property
        def ssl_options(self) -> dict[str, Any]:
            return {"server_hostname": "a.db.example.com"}

    class NamedEndPointFactory(DefaultEndPointFactory):
        def create(self, row: Any) -> EndPoint:
            endpoint = super().create(row)
            return NamedEndPoint(endpoint.address, endpoint.port)

    with fake(authority.server("a.db.example.com")) as node:
        settings = {"port": node.port, "ssl_context": authority.client()}
        settings["endpoint_factory"] = NamedEndPointFactory()
        assert connect_and_read([NamedEndPoint(HOST, node.port)], **settings) == VALUE


@pytest.mark.parametrize("has_answered_before", [False, True])
async def test_a_host_that_has_answered_before_does_not_expect_tls(
    has_answered_before: bool,
) -> None:
    """If the server closes a connection at once, the error suggests TLS.

    It does not suggest TLS if the server has responded before.
    """
    endpoint = DefaultEndPoint(HOST)
    connection = Connection(endpoint, 4, asyncio.get_running_loop())
    connection.answered_before = has_answered_before
    connection.connection_lost(None)
    message = str(connection.close_error)
    assert "was closed by the server before it said anything" in message
    assert ("does it expect TLS" in message) is not has_answered_before


def test_the_connector_remembers_hosts_that_have_answered() -> None:
    """The connector remembers hosts that have responded without TLS.

    Later errors of these hosts must not suggest TLS.
    """
    with FakeNode() as node, Cluster([HOST], port=node.port) as cluster:
        cluster.connect()
        (host,) = cluster.metadata.all_hosts()
        assert cluster._core is not None
        assert host.endpoint in cluster._core.connector._answered


class OtherPortFactory(DefaultEndPointFactory):
    """Creates end points with another port for one node.

    :param address: the address of the node.
    :param other_port: its port.
    """

    def __init__(self, address: str, other_port: int) -> None:
        super().__init__()
        self.address = address
        self.other_port = other_port

    def create(self, row: Any) -> EndPoint:
        endpoint = super().create(row)
        is_other = endpoint.address == self.address
        return DefaultEndPoint(HOST, self.other_port) if is_other else endpoint


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("garbage", "the server does not speak TLS on this port"),
        ("silence", "does this port not speak TLS?"),
        ("TLS", "does it expect TLS on this port?"),
    ],
)
def test_a_port_of_the_other_kind_in_the_node_list_is_explained(
    authority: Authority, caplog: pytest.LogCaptureFixture, kind: str, reason: str
) -> None:
    """If the cluster names a port with TLS where none is in use, or vice versa, the log says so.

    Nodes may have one port of each kind, and system.peers_v2 has only one of them.
    """
    server, client = authority.server(HOST), authority.client()
    client.check_hostname = False
    other: FakeNode | Peer
    settings: dict[str, Any]
    if kind == "TLS":
        nodes, other, settings = FakeCluster(2), FakeNode(ssl_context=server), {}
    else:
        nodes, settings = FakeCluster(2, ssl_context=server), {"ssl_context": client}
        garbage = b"HTTP/1.1 400 Bad Request\r\n\r\n"
        other = Peer(garbage, "closes") if kind == "garbage" else Peer(None, "waits")
    with nodes, other:
        factory = OtherPortFactory(nodes[1].address, other.port)
        with Cluster(
            [nodes[0].address],
            port=nodes.port,
            connect_timeout=1,
            endpoint_factory=factory,
            **settings,
        ) as cluster:
            cluster.connect()
            until(lambda: "is down" in caplog.text)
    assert (
        f"{reason} (Other nodes have answered on port {nodes.port}. If the cluster names port "
        f"{other.port}, as native_port in system.peers_v2, an endpoint_factory can replace it.)"
    ) in caplog.text
