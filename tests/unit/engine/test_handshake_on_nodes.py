"""Tests of failures while connecting or calling, which must name the cause.

Afterwards, no thread and no socket is left. Each test runs with the blocking and the asyncio API,
on a fake node or a simple socket server.
"""

from __future__ import annotations

import asyncio
import os
import re
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cassandra import aio
from cassandra.auth import AuthProvider, PlainTextAuthenticator, PlainTextAuthProvider
from cassandra.cluster import Cluster
from cassandra.errors import (
    AuthenticationFailed,
    ConnectionException,
    DriverException,
    InvalidRequest,
    NoHostAvailable,
    OperationTimedOut,
    ProtocolError,
    ProtocolVersionUnsupported,
    UnresolvableContactPoints,
)
from cassandra.policies import ConstantReconnectionPolicy
from cassandra.protocol import SyntaxException
from cassandra.testing.fake import (
    ErrorCode,
    FakeCluster,
    FakeNode,
    Opcode,
    close,
    error,
    garbage,
    half_frame,
    message,
    on_stream,
    reset,
)
from tests.unit.engine.faults import connected
from tests.unit.security.certificates import Authority
from tests.unit.security.conftest import Use as ConnectAndRead, fake
from tests.waiting import until

TIMEOUT = 10.0  # seconds; the `connect_timeout` of these tests


def open_sockets() -> set[str]:
    """Return the names of all sockets that this process has open."""
    sockets = set()
    for name in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{name}")
        # This descriptor was opened by `listdir` itself and is closed by now.
        except FileNotFoundError:
            continue
        if target.startswith("socket:"):
            sockets.add(target)
    return sockets


@pytest.fixture(autouse=True)
def check_leftovers() -> Iterator[None]:
    """Check that the test has left no thread running and no socket open."""
    threads_before, sockets_before = set(threading.enumerate()), open_sockets()
    yield
    assert [thread.name for thread in threading.enumerate() if thread not in threads_before] == []
    assert open_sockets() - sockets_before == set()


Connect = Callable[..., Any]


def connect_blocking(
    contact_points: Any, port: int, work: Any = None, keyspace: str | None = None, **settings: Any
) -> Any:
    """Connect with the blocking API, call `work`, and shut down.

    :param work: called with the session; its result is returned. None does nothing.
    :param keyspace: the keyspace of the session; None for no keyspace.
    :param settings: settings of the cluster.
    """
    settings = {"connect_timeout": TIMEOUT, **settings}
    with Cluster(contact_points, port=port, **settings) as cluster:
        session = cluster.connect(keyspace)
        return None if work is None else work(session)


def connect_aio(
    contact_points: Any, port: int, work: Any = None, keyspace: str | None = None, **settings: Any
) -> Any:
    """Connect with the asyncio API, call `work`, and shut down, like `connect_blocking`.

    `work` must return an awaitable.
    """
    settings = {"connect_timeout": TIMEOUT, **settings}

    async def connect_and_work() -> Any:
        async with aio.Cluster(contact_points, port=port, **settings) as cluster:
            session = await cluster.connect(keyspace)
            return None if work is None else await work(session)

    return asyncio.run(connect_and_work())


@pytest.fixture(params=[connect_blocking, connect_aio], ids=["blocking", "aio"])
def connect(request: pytest.FixtureRequest) -> Connect:
    """Return the function that connects, for the blocking or the asyncio API."""
    connect_function: Connect = request.param
    return connect_function


def only_error(caught: pytest.ExceptionInfo[NoHostAvailable]) -> Exception:
    """Return the error of the only host of a NoHostAvailable."""
    (error,) = caught.value.errors.values()
    assert isinstance(error, Exception)
    return error


# -- socket options --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("option", "reason"),
    [
        ((socket.IPPROTO_TCP, 9999, 1), "Protocol not available"),
        ((socket.IPPROTO_TCP, "keepalive", 1), "an integer is required|cannot be interpreted as"),
    ],
    ids=["unknown", "no number"],
)
@pytest.mark.parametrize("has_tls", [False, True], ids=["plain", "TLS"])
def test_a_socket_option_that_is_refused_is_reported_at_once(
    connect_and_read: ConnectAndRead,
    authority: Authority,
    has_tls: bool,
    option: Any,
    reason: str,
) -> None:
    """If an option of `sockopts` cannot be set, the error names it, on each kind of event loop."""
    settings: Any = {"ssl_context": authority.client()} if has_tls else {}
    settings["sockopts"] = [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1), option]
    with fake(authority.server("127.0.0.1") if has_tls else None) as node:
        with pytest.raises(NoHostAvailable) as caught:
            connect_and_read([node.address], port=node.port, connect_timeout=600, **settings)
        (error,) = caught.value.errors.values()
        assert isinstance(error, ConnectionException)
        assert re.search(reason, str(error))
        assert str(option) in str(error)


# -- addresses -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("contact_points", "expected_text"),
    [
        ([None], "None"),
        ([b"127.0.0.1"], "127"),
        ([17], "17"),
        ([""], "contact"),
    ],
)
def test_invalid_contact_points(connect: Connect, contact_points: Any, expected_text: str) -> None:
    """A contact point that is not a string or is empty is refused, and the error names it."""
    with pytest.raises((TypeError, ValueError), match=expected_text):
        connect(contact_points, port=9042)


def test_a_contact_point_that_cannot_be_resolved_is_named(connect: Connect) -> None:
    """If the name of a contact point cannot be resolved, the error has the name.

    The blocking API resolves names when the cluster is created. The asyncio API resolves them in
    `connect`, because it must not block the loop.
    """
    with pytest.raises(DriverException, match=r"no-such-host\.invalid") as caught:
        connect(["no-such-host.invalid"], port=9042)
    failure = caught.value
    if isinstance(failure, NoHostAvailable):
        (error,) = failure.errors.values()
        assert isinstance(error, ConnectionException)
    else:
        assert isinstance(failure, UnresolvableContactPoints)


def test_a_refused_connection_is_reported(connect: Connect, node: FakeNode) -> None:
    node.refuse_connections()
    with pytest.raises(NoHostAvailable, match=rf"{node.endpoint}.*refused") as caught:
        connect([node.address], node.port)
    assert isinstance(only_error(caught), ConnectionException)


def test_each_contact_point_has_its_own_error(connect: Connect, node: FakeNode) -> None:
    """NoHostAvailable must have one error for each contact point, and name them all."""
    node.refuse_connections()
    with FakeNode("127.0.0.2", node.port) as other_node:
        # The first node refuses connections, and the second node sends bytes that are not a
        # message.
        other_node.prime(Opcode.OPTIONS, garbage())
        with pytest.raises(NoHostAvailable) as caught:
            connect([node.address, other_node.address], node.port)
    assert set(caught.value.errors) == {node.endpoint, other_node.endpoint}
    assert node.endpoint in str(caught.value)
    assert other_node.endpoint in str(caught.value)


# -- other servers ---------------------------------------------------------------------------------


def test_a_web_server_is_recognised(connect: Connect, node: FakeNode) -> None:
    """If a server responds with HTTP, `connect` fails at once, and the error says so."""
    # By default, `garbage` is the response of a web server.
    node.prime(Opcode.OPTIONS, garbage())
    with pytest.raises(NoHostAvailable, match=node.endpoint) as caught:
        connect([node.address], node.port)
    assert isinstance(only_error(caught), ConnectionException)
    assert not isinstance(only_error(caught), OperationTimedOut)
    assert "HTTP" in str(only_error(caught))


def test_a_server_that_sends_a_greeting_is_refused(connect: Connect) -> None:
    """If a server sends a greeting before any request, `connect` fails at once.

    It must not wait for a timeout. For example, servers for SMTP, SSH and MySQL send greetings.
    """
    with (
        GreetingServer(b"SSH-2.0-OpenSSH_9.9\r\n") as (address, port),
        pytest.raises(NoHostAvailable, match=f"{address}:{port}") as caught,
    ):
        connect([address], port)
    assert isinstance(only_error(caught), ConnectionException)
    assert not isinstance(only_error(caught), OperationTimedOut)


class GreetingServer:
    """A server that sends `data` to each client, and then waits until the client closes.

    Its context manager returns the address and the port.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._serve)

    def _serve(self) -> None:
        """Send the data to each client, then ignore what the client sends until it disconnects."""
        while True:
            connection, _ = self._listener.accept()
            with connection:
                connection.sendall(self._data)
                try:
                    while connection.recv(4096):
                        pass
                except ConnectionResetError:
                    pass
                if self._closing.is_set():
                    return

    def __enter__(self) -> tuple[str, int]:
        self._closing = threading.Event()
        self._thread.start()
        address, port = self._listener.getsockname()
        return address, port

    def __exit__(self, *args: object) -> None:
        """Close the listening socket, and wait until the server's thread has ended."""
        self._closing.set()
        # Wake the server's thread, which waits in `accept` for a client.
        socket.create_connection(self._listener.getsockname()).close()
        self._thread.join()
        self._listener.close()


@pytest.mark.parametrize("opcode", [Opcode.OPTIONS, Opcode.STARTUP, Opcode.REGISTER, Opcode.QUERY])
@pytest.mark.parametrize("ending", [close, reset])
def test_a_server_that_closes_during_connect_is_reported(
    connect: Connect, node: FakeNode, opcode: Opcode, ending: Any
) -> None:
    """If the server closes the connection at any message of `connect`, the error names the host."""
    node.prime(opcode, ending())
    with pytest.raises(NoHostAvailable, match=node.endpoint) as caught:
        connect([node.address], node.port)
    assert isinstance(only_error(caught), ConnectionException)


@pytest.mark.parametrize("opcode", [Opcode.OPTIONS, Opcode.STARTUP])
def test_half_an_answer_is_a_connection_error(
    connect: Connect, node: FakeNode, opcode: Opcode
) -> None:
    """If the connection ends after five bytes of a response, the error is a ConnectionException."""
    answer = message(Opcode.SUPPORTED if opcode == Opcode.OPTIONS else Opcode.READY, b"\0\0")
    node.prime(opcode, half_frame(answer, 5))
    with pytest.raises(NoHostAvailable, match=node.endpoint) as caught:
        connect([node.address], node.port)
    assert isinstance(only_error(caught), ConnectionException)


@pytest.mark.parametrize("opcode", [Opcode.OPTIONS, Opcode.STARTUP])
def test_an_answer_on_an_unknown_stream_is_reported(
    connect: Connect, node: FakeNode, opcode: Opcode
) -> None:
    """If a handshake response has a wrong stream, `connect` fails and names the stream."""
    unused_stream = 77
    node.prime(opcode, on_stream(message(Opcode.READY, b""), unused_stream))
    with pytest.raises(NoHostAvailable, match=f"{node.endpoint}.*{unused_stream}") as caught:
        connect([node.address], node.port)
    assert isinstance(only_error(caught), ConnectionException)


@pytest.mark.parametrize(
    ("opcode", "answer"),
    [
        (Opcode.OPTIONS, message(Opcode.RESULT, b"\0\0\0\1")),
        (Opcode.OPTIONS, message(Opcode.SUPPORTED, b"\xff")),
        (Opcode.STARTUP, message(Opcode.SUPPORTED, b"\0\0")),
        (Opcode.STARTUP, message(Opcode.AUTHENTICATE, b"\0\x09x")),
        (Opcode.STARTUP, message(0x7F, b"")),
        (Opcode.REGISTER, message(Opcode.AUTH_SUCCESS, b"")),
        (Opcode.QUERY, message(Opcode.RESULT, b"\0\0\0\x63")),
        (Opcode.QUERY, message(Opcode.RESULT, b"\0\0\0\x02\0\0\0\x01\xff\xff\xff\xff")),
    ],
    ids=[
        "RESULT for OPTIONS",
        "SUPPORTED that is cut off",
        "SUPPORTED for STARTUP",
        "AUTHENTICATE that is cut off",
        "unknown opcode",
        "AUTH_SUCCESS for REGISTER",
        "unknown kind of RESULT",
        "negative number of columns",
    ],
)
def test_unexpected_or_damaged_messages_are_reported(
    connect: Connect, node: FakeNode, opcode: Opcode, answer: Any
) -> None:
    """If a response does not fit the request or is damaged, `connect` fails and names the host."""
    node.prime(opcode, answer)
    with pytest.raises(NoHostAvailable, match=node.endpoint) as caught:
        connect([node.address], node.port)
    assert isinstance(only_error(caught), (ConnectionException, ProtocolError))


def test_an_error_of_startup_has_the_servers_message(connect: Connect, node: FakeNode) -> None:
    node.prime(Opcode.STARTUP, error(ErrorCode.SERVER_ERROR, "out of tea"))
    with pytest.raises(NoHostAvailable, match=f"{node.endpoint}.*out of tea"):
        connect([node.address], node.port)


# -- credentials and versions ----------------------------------------------------------------------


@pytest.mark.parametrize("version", [3, 4, 5])
def test_a_wrong_password_is_authentication_failed(connect: Connect, version: int) -> None:
    """A wrong password makes `connect` fail with AuthenticationFailed, in each protocol version.

    The error has the server's message. With the right password, `connect` succeeds.
    """
    with FakeNode(max_version=version, username="al", password="right") as node:
        with pytest.raises(NoHostAvailable, match=rf"{node.endpoint}.*incorrect") as caught:
            connect([node.address], node.port, auth_provider=PlainTextAuthProvider("al", "wrong"))
        assert isinstance(only_error(caught), AuthenticationFailed)
        connect([node.address], node.port, auth_provider=PlainTextAuthProvider("al", "right"))


class ExitingLogin(PlainTextAuthenticator):
    """An authenticator that calls `sys.exit` while `exits` is True, and counts these calls."""

    exits = False
    exit_count = 0

    def initial_response(self) -> Any:
        if self.exits:
            type(self).exit_count += 1
            sys.exit("no token")
        return super().initial_response()


class ExitingCoroutine(ExitingLogin):
    async def initial_response(self) -> Any:  # type: ignore[override]
        return super().initial_response()


@pytest.mark.parametrize("base", [ExitingLogin, ExitingCoroutine])
def test_a_host_is_tried_again_after_an_authenticator_has_called_exit(
    base: type[ExitingLogin],
) -> None:
    """If a method of an authenticator calls `sys.exit`, the host is down until it succeeds again.

    The method may run on the driver's loop or in another thread.
    """

    class Login(base):  # type: ignore[misc, valid-type]
        pass

    class Provider(AuthProvider):
        def new_authenticator(self, host: str) -> Login:
            return Login("ann", "secret")

    policy = ConstantReconnectionPolicy(delay=0.01, max_attempts=None)
    settings: Any = {"auth_provider": Provider(), "reconnection_policy": policy}
    with (
        FakeNode(username="ann", password="secret") as node,
        Cluster([node.address], port=node.port, **settings) as cluster,
    ):
        session = cluster.connect()
        Login.exits = True
        node.drop_connections()
        until(lambda: Login.exit_count > 4)
        (host,) = cluster.metadata.all_hosts()
        until(lambda: not host.is_up)
        Login.exits = False
        until(lambda: host.is_up and session.get_pool_state()[host]["open_count"])
        session.execute("SELECT v FROM t")


def test_missing_credentials_are_authentication_failed(connect: Connect) -> None:
    """If the server requires a login and no `auth_provider` is set, `connect` fails.

    The error names the server's authenticator.
    """
    with FakeNode(username="al", password="right") as node:
        with pytest.raises(
            NoHostAvailable, match=rf"{node.endpoint}.*PasswordAuthenticator"
        ) as caught:
            connect([node.address], node.port)
        assert isinstance(only_error(caught), AuthenticationFailed)


def test_wrong_credentials_are_sent_once(connect: Connect, node: FakeNode) -> None:
    """If one node has refused the credentials, the driver does not send them to another node.

    Some servers count failed logins and lock the role.
    """
    with FakeNode("127.0.0.2", node.port, username="al", password="right") as other_node:
        node.require_password("al", "right")
        with pytest.raises(NoHostAvailable):
            connect(
                [node.address, other_node.address],
                node.port,
                auth_provider=PlainTextAuthProvider("al", "wrong"),
            )
        assert node.count(Opcode.AUTH_RESPONSE) + other_node.count(Opcode.AUTH_RESPONSE) == 1


@pytest.mark.parametrize("version", [3, 4])
def test_an_old_server_gets_messages_of_its_version(connect: Connect, version: int) -> None:
    """The driver starts with its newest protocol version.

    It lowers the version until the server accepts it.
    """
    with FakeNode(max_version=version) as node:
        connect([node.address], node.port)
        registers = [request for request in node.requests if request.opcode == Opcode.REGISTER]
        assert {request.version for request in registers} == {version}
        assert node.malformed == []


def test_the_version_follows_servers_of_an_earlier_version() -> None:
    """`Cluster.protocol_version` is the version of the connections, also after a downgrade.

    A server is replaced by one of an earlier version after the cluster has connected.
    """
    policy = ConstantReconnectionPolicy(0.05)
    with (
        FakeNode() as node,
        Cluster([node.address], port=node.port, reconnection_policy=policy) as cluster,
    ):
        cluster.connect()
        assert cluster.protocol_version == 5
        node.stop()
        node.max_version = 4
        node.start()
        until(lambda: cluster.protocol_version == 4)


def test_a_fixed_version_that_the_server_lacks_is_an_error(connect: Connect) -> None:
    """A `protocol_version` that the application has set is never lowered.

    So there is only one attempt.
    """
    with FakeNode(max_version=3) as node:
        with pytest.raises(NoHostAvailable, match=rf"{node.endpoint}.*5") as caught:
            connect([node.address], node.port, protocol_version=5)
        assert isinstance(only_error(caught), ProtocolVersionUnsupported)
        assert node.opened == 1


# -- keyspaces and statements ----------------------------------------------------------------------


def test_a_missing_keyspace_is_invalid_request(connect: Connect, node: FakeNode) -> None:
    node.keyspaces = {"somewhere"}
    with pytest.raises(InvalidRequest, match="nowhere"):
        connect([node.address], node.port, keyspace="nowhere")
    connect([node.address], node.port, keyspace="somewhere")


def test_a_syntax_error_has_the_servers_message(connect: Connect, node: FakeNode) -> None:
    """For a syntax error, `execute` and `prepare` raise SyntaxException.

    It has the server's message.
    """
    refusal = error(ErrorCode.SYNTAX_ERROR, "line 1:0 no viable alternative at input 'SELEC'")
    node.prime("SELEC 1", refusal)
    node.prime(lambda request: request.opcode == Opcode.PREPARE, refusal)
    with pytest.raises(SyntaxException, match="SELEC"):
        connect([node.address], node.port, lambda session: session.execute("SELEC 1"))
    with pytest.raises(SyntaxException, match="SELEC"):
        connect([node.address], node.port, lambda session: session.prepare("SELEC ?"))


INSERT = "INSERT INTO t (k, v) VALUES (?, ?)"


def execute_with_values(connect: Connect, node: FakeNode, values: Any) -> None:
    """Prepare `INSERT`, and execute it with `values`, which the driver must refuse."""
    node.prime_prepare(INSERT, [("k", "int"), ("v", "list<int>")])

    def execute(session: Any) -> Any:
        return session.execute(session.prepare(INSERT), values)

    async def execute_aio(session: Any) -> Any:
        return await session.execute(await session.prepare(INSERT), values)

    work = execute if connect is connect_blocking else execute_aio
    connect([node.address], node.port, work)


@pytest.mark.parametrize(
    ("values", "error_class", "pattern"),
    [
        ((1, [2], 3), ValueError, r"(?s)3.*2.*INSERT INTO t"),
        (("one", []), TypeError, r"(?s)\"k\" \(int, Int32Type\).*'one'.*INSERT INTO t"),
        ((1 << 40, []), (ValueError, OverflowError), r"(?s)\"k\".*INSERT INTO t"),
        (
            (1, [1, "x"]),
            TypeError,
            r"(?s)\"v\" \(list<int>, ListType\(Int32Type\)\).*'x'.*INSERT INTO t",
        ),
        ((1, 5), TypeError, r"(?s)\"v\" \(list<int>, ListType\(Int32Type\)\).*5.*INSERT INTO t"),
    ],
    ids=["too many", "text", "too large", "element", "no list"],
)
def test_values_of_the_wrong_type_or_number_are_refused(
    connect: Connect, node: FakeNode, values: Any, error_class: Any, pattern: str
) -> None:
    """Values of a wrong type or number are refused, and nothing is sent.

    The error names the column with its type, the value, and the statement.
    """
    with pytest.raises(error_class, match=pattern):
        execute_with_values(connect, node, values)
    assert node.count(Opcode.EXECUTE) == 0


def test_a_wrong_number_of_parameters_for_a_query_string(connect: Connect, node: FakeNode) -> None:
    """Too few values for the placeholders of a query string raise TypeError, and nothing is sent.

    The error has the query.
    """
    with pytest.raises(TypeError, match="INSERT INTO t"):
        connect(
            [node.address],
            node.port,
            lambda session: session.execute("INSERT INTO t (k, v) VALUES (%s, %s)", (1,)),
        )
    assert node.queries() == []


async def test_a_server_that_asks_for_no_login_is_reported_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """If no server asks for a login although `auth_provider` is set, one warning is logged.

    Applications that configure a login expect the server to check it.
    """
    provider = PlainTextAuthProvider("user", "secret")
    with FakeCluster(2) as nodes:
        async with connected(nodes, auth_provider=provider):
            assert caplog.text.count("does not ask for a login, so auth_provider is not used") == 1
        assert "secret" not in caplog.text
        caplog.clear()
        for node in nodes.nodes:
            node.require_password("user", "secret")
        async with connected(nodes, auth_provider=provider):
            assert "does not ask for a login" not in caplog.text


def test_snappy_is_not_used_in_a_version_that_the_driver_has_chosen(
    connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    """`compression="snappy"` connects to new servers without compression, and warns once.

    If the application has chosen the version, connecting fails.
    """
    with FakeNode(max_version=5) as node:
        node.supported["COMPRESSION"] = ["snappy", "lz4"]
        connect([node.address], node.port, compression="snappy")
        startups = [request for request in node.requests if request.opcode == Opcode.STARTUP]
        assert startups
        assert not any(b"COMPRESSION" in request.body for request in startups)
        warnings = [record.getMessage() for record in caplog.records]
        assert [text for text in warnings if "compression='snappy' is not used" in text] == [
            "compression='snappy' is not used, because protocol version 5 does not allow it: set "
            "compression='lz4', or protocol_version=4"
        ]
        with pytest.raises(NoHostAvailable, match="'snappy' was asked for"):
            connect([node.address], node.port, compression="snappy", protocol_version=5)
