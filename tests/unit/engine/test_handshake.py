"""The steps of opening a connection, without a socket: addresses, the time limit, the protocol
version, logins, and the reasons in errors.
"""

from __future__ import annotations

import asyncio
import errno
import random
import socket
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra import aio
from cassandra.auth import Token
from cassandra.engine import handshake
from cassandra.engine.endpoint import DefaultEndPoint
from cassandra.engine.handshake import GOODBYE_TIMEOUT, Connector
from cassandra.errors import (
    AuthenticationFailed,
    ConnectionException,
    InvalidRequest,
    OperationTimedOut,
    ProtocolError,
    ProtocolVersionUnsupported,
)
from cassandra.protocol.connection import Send, SetCompression
from cassandra.testing.fake import FakeCluster, FakeNode, Opcode, Request, Scylla
from tests.unit.engine.faults import connected, exception_of
from tests.unit.engine.partners import engine_settings

pytestmark = pytest.mark.simulated

NAMED = DefaultEndPoint("db.example")
TIMEOUT = 9.0  # seconds, for all addresses together
FAR = 1000.0  # seconds: longer than any limit


class Network:
    """A fake `Environment` in which the outcome of connecting depends on the address.

    :param outcomes: for each address, the error that connecting raises; None to hang.
    """

    def __init__(self, **outcomes: Exception | None) -> None:
        self.loop = asyncio.get_running_loop()
        self.random = random.Random(1)
        self.outcomes = outcomes
        self.resolved: list[tuple[str, int, int]] = []
        # Each entry is (address, seconds since the beginning).
        self.tried: list[tuple[str, float]] = []
        self.ports: list[Any] = []
        self._began = self.loop.time()

    async def addresses(self, name: str, port: int, family: int) -> list[str]:
        self.resolved.append((name, port, family))
        return list(self.outcomes)

    async def connect(self, make_protocol: Any, address: str, port: int, **options: Any) -> None:
        self.tried.append((address, round(self.loop.time() - self._began, 3)))
        self.ports.append((port, options["local_ports"]))
        outcome = self.outcomes.get(address)
        if outcome is not None:
            raise outcome
        await asyncio.sleep(FAR)

    async def in_thread(self, function: Callable[..., Any], *args: Any) -> Any:
        return function(*args)

    def close(self) -> None:
        pass


def connector(environment: Any, **changed: Any) -> Connector:
    changed = {"connect_timeout": TIMEOUT, "max_simultaneous_opens": 2, **changed}
    return Connector(engine_settings(**changed), environment)


# -- addresses and the time limit ------------------------------------------------------------------


async def test_each_address_of_a_name_has_an_equal_share_of_the_time() -> None:
    network = Network(a=None, b=None, c=None)
    failure = await fails_late(connector(network).open(NAMED))
    assert isinstance(failure, OperationTimedOut)
    assert str(failure).startswith("db.example:9042 did not accept a connection (Cluster.connect")
    assert network.tried == [("a", 0.0), ("b", TIMEOUT / 3), ("c", 2 * TIMEOUT / 3)]
    assert network.resolved == [("db.example", 9042, NAMED.socket_family)]


async def test_an_address_that_refuses_leaves_its_time_to_the_others() -> None:
    refused = ConnectionRefusedError(errno.ECONNREFUSED, "connect call failed")
    network = Network(a=refused, b=None, c=refused)
    failure = await fails_late(connector(network).open(NAMED))
    assert isinstance(failure, ConnectionException)
    assert str(failure) == "db.example:9042 cannot be connected to: Connection refused"
    assert failure.__cause__ is refused
    assert network.tried == [("a", 0.0), ("b", 0.0), ("c", TIMEOUT / 2)]


async def test_an_ip_address_is_not_resolved() -> None:
    network = Network(**{"10.0.0.1": OSError(errno.EHOSTUNREACH, "no")})
    failure = await fails_late(connector(network).open(DefaultEndPoint("10.0.0.1", 9999)))
    assert str(failure) == "10.0.0.1:9999 cannot be connected to: No route to host"
    assert network.resolved == []
    assert network.ports == [(9999, None)]


@pytest.mark.parametrize("timeout", [None, 0])
async def test_without_a_timeout_an_address_has_an_hour(timeout: Any) -> None:
    opening = asyncio.ensure_future(connector(Network(a=None), connect_timeout=timeout).open(NAMED))
    await asyncio.sleep(FAR / 2)
    assert not opening.done()
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening


async def test_only_so_many_connections_are_opened_at_a_time() -> None:
    network = Network(a=None)
    opener = connector(network)
    openings = [asyncio.ensure_future(opener.open(NAMED)) for _ in range(3)]
    await asyncio.sleep(TIMEOUT / 2)
    assert len(network.tried) == 2
    await asyncio.sleep(TIMEOUT)
    assert len(network.tried) == 3
    for opening in openings:
        assert isinstance(await fails_late(opening), OperationTimedOut)


async def test_a_shards_connection_uses_the_targets_port() -> None:
    refused = ConnectionRefusedError(errno.ECONNREFUSED, "no")
    network = Network(**{"10.0.0.1": refused})
    target: Any = SimpleNamespace(port=19042, shard=1, shards=3)
    await fails_late(connector(network).open(DefaultEndPoint("10.0.0.1"), target))
    ((port, local_ports),) = network.ports
    assert port == 19042
    assert {local_port % 3 for local_port in list(local_ports)[:10]} == {1}


async def fails_late(awaitable: Any) -> BaseException:
    """Return the error that `awaitable` raises, however much virtual time that takes."""
    error: Any = (await asyncio.gather(awaitable, return_exceptions=True))[0]
    assert isinstance(error, BaseException)
    return error


# -- versions --------------------------------------------------------------------------------------


def refusal(version: int) -> ProtocolVersionUnsupported:
    return ProtocolVersionUnsupported(NAMED, version)


async def test_a_refused_version_is_lowered_once_for_all_connections() -> None:
    opener = connector(Network(), protocol_version=5)
    assert opener.version == 5
    opener._downgrade(5, refusal(5))
    # A connection that began earlier is refused for the same version, which must not lower it
    # twice.
    opener._downgrade(5, refusal(5))
    assert opener.version == 4
    opener._downgrade(4, refusal(4))
    assert opener.version == 3
    with pytest.raises(ProtocolVersionUnsupported):
        opener._downgrade(3, refusal(3))


async def test_a_version_that_the_application_has_chosen_is_not_lowered() -> None:
    opener = connector(Network(), protocol_version=5, only_version=5)
    with pytest.raises(ProtocolVersionUnsupported):
        opener._downgrade(5, refusal(5))
    assert opener.version == 5


# -- options of STARTUP ----------------------------------------------------------------------------


def startups(node: FakeNode) -> list[Request]:
    return [request for request in node.requests if request.opcode == Opcode.STARTUP]


@pytest.mark.parametrize("compression", [True, False])
async def test_compression_is_negotiated_only_if_it_is_set(compression: bool) -> None:
    with FakeNode(max_version=4) as node:
        node.supported["COMPRESSION"] = ["lz4"]
        async with connected(node, compression=compression):
            negotiated = [request.options.get("COMPRESSION") for request in startups(node)]
    assert set(negotiated) == {"lz4" if compression else None}


@pytest.mark.parametrize("is_scylla", [True, False])
async def test_scylladb_gets_further_options(is_scylla: bool) -> None:
    with FakeCluster(1, scylla=Scylla(1) if is_scylla else None) as nodes:
        async with connected(nodes):
            options = [set(request.options) for request in startups(nodes[0])]
    usual = {"CQL_VERSION", "DRIVER_NAME", "DRIVER_VERSION", "COMPRESSION"}
    assert any(names - usual for names in options) is is_scylla


# -- reasons in errors -----------------------------------------------------------------------------

ACCEPTED = "db.example:9042 accepted the connection"


@pytest.mark.parametrize(
    ("reached", "made", "received", "answered", "expected"),
    [
        (False, False, False, False, "db.example:9042 did not accept a connection"),
        (
            True,
            False,
            False,
            False,
            f"{ACCEPTED}, but did not complete the TLS handshake: does the process hang, or does "
            "this port not speak TLS?",
        ),
        (True, False, False, True, f"{ACCEPTED}, but did not complete the TLS handshake"),
        (
            False,
            True,
            False,
            False,
            f"{ACCEPTED} and then said nothing: is that the port of Cassandra's native transport, "
            "without TLS where none is configured?",
        ),
        (True, True, True, False, f"{ACCEPTED}, but did not complete the handshake"),
    ],
)
def test_a_timeout_names_the_step_that_was_in_progress(
    reached: bool, made: bool, received: bool, answered: bool, expected: str
) -> None:
    connection: Any = SimpleNamespace(
        is_reached=reached,
        is_connected=made,
        received_anything=received,
        answered_before=answered,
        tls=None,
    )
    assert handshake._describe_timeout(NAMED, connection, 5.0) == expected


def test_silence_after_the_tls_handshake_is_not_put_down_to_missing_tls() -> None:
    connection: Any = SimpleNamespace(
        is_reached=True, is_connected=True, received_anything=False, tls=object()
    )
    assert handshake._describe_timeout(NAMED, connection, 5.0) == (
        "db.example:9042 completed the TLS handshake and then said nothing: does the process hang, "
        "or is that another port than that of Cassandra's native transport?"
    )


@pytest.mark.parametrize(
    ("encrypted", "reached", "made", "expected"),
    [
        (True, True, False, "bad certificate"),
        (True, False, True, "bad certificate"),
        (True, False, False, None),
        (False, True, True, None),
    ],
)
def test_tls_is_the_reason_only_if_the_network_worked(
    encrypted: bool, reached: bool, made: bool, expected: str | None
) -> None:
    tls = SimpleNamespace(reason=lambda error: "bad certificate") if encrypted else None
    connection: Any = SimpleNamespace(tls=tls, is_reached=reached, is_connected=made)
    assert handshake._tls_failure_reason(connection, OSError()) == expected


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (OSError(errno.ECONNREFUSED, "call failed"), "Connection refused"),
        (socket.gaierror(socket.EAI_NONAME, "unknown name"), "unknown name"),
        (OSError("plain"), "plain"),
        (OSError(), "OSError"),
    ],
)
def test_the_systems_reason(error: OSError, expected: str) -> None:
    assert handshake._system_reason(error) == expected


def test_only_a_send_may_carry_a_token() -> None:
    send = Send(0, Opcode.AUTH_RESPONSE, 0, b"")
    assert handshake._single_message([send]) is send
    with pytest.raises(ProtocolError, match="a token is to be sent, but the handshake wants"):
        handshake._single_message([SetCompression("lz4")])


async def test_errors_of_the_handshake_name_the_end_point_once() -> None:
    connection: Any = SimpleNamespace(version=4, is_control_connection=False)
    steps = handshake._Handshake(connector(Network()), engine_settings(), NAMED, connection)
    cause = ValueError()
    unnamed = InvalidRequest("no such option")
    unnamed.__cause__ = cause
    named = steps._with_endpoint(unnamed)
    assert type(named) is InvalidRequest
    assert str(named) == "db.example:9042: no such option"
    assert named.__cause__ is cause
    assert steps._with_endpoint(named) is named
    broken = steps._with_endpoint(ConnectionException("broken"))
    assert isinstance(broken, ConnectionException)
    assert broken.endpoint is NAMED
    assert steps._with_endpoint(cause) is cause


# -- logins ----------------------------------------------------------------------------------------


class Login:
    """An auth provider that is its own authenticator; `call` decides what kind of result its
    methods return.

    :param call: "plain" returns results directly, "coroutine function" from coroutines, "awaitable"
        as other awaitables.
    """

    def __init__(self, call: str) -> None:
        self.hosts: list[str] = []
        self.successes: list[Any] = []
        self.server_authenticator_class: str | None = None
        if call == "coroutine function":
            self.initial_response: Any = self._later
        elif call == "awaitable":
            self.initial_response = lambda: self._later()
        else:
            self.initial_response = lambda: b"\0ann\0secret"

    async def _later(self) -> bytes:
        return b"\0ann\0secret"

    def new_authenticator(self, host: str) -> Login:
        self.hosts.append(host)
        return self

    def on_authentication_success(self, token: Any) -> None:
        self.successes.append(token)


@pytest.mark.parametrize("call", ["plain", "coroutine function", "awaitable"])
async def test_an_authenticator_may_return_its_token_or_be_awaited(call: str) -> None:
    login = Login(call)
    with FakeNode(username="ann", password="secret") as node:
        async with connected(node, auth_provider=login):
            pass
        assert login.hosts == [node.address] * node.count(Opcode.STARTUP)
    assert login.server_authenticator_class == node.authenticator
    assert len(login.successes) == len(login.hosts)


async def test_tokens_are_wrapped_so_that_they_do_not_show() -> None:
    connection: Any = SimpleNamespace(version=4, is_control_connection=False)
    steps = handshake._Handshake(connector(Network()), engine_settings(), NAMED, connection)
    for call in ("plain", "coroutine function", "awaitable"):
        token = await steps._call_token_method(Login(call).initial_response)
        assert isinstance(token, Token)
        assert "secret" not in repr(token)
    assert await steps._call_token_method(lambda: None) is None


def test_a_certificate_is_no_answer_to_a_further_challenge() -> None:
    with pytest.raises(AuthenticationFailed, match="more than the client's certificate"):
        handshake._Certificate().evaluate_challenge(b"")


@pytest.mark.parametrize(
    ("encrypted", "authenticator", "expected"),
    [
        (True, "org.apache.cassandra.auth.MutualTlsAuthenticator", True),
        (False, "org.apache.cassandra.auth.MutualTlsAuthenticator", False),
        (True, "org.apache.cassandra.auth.PasswordAuthenticator", False),
    ],
)
async def test_a_certificate_is_enough_for_some_authenticators(
    encrypted: bool, authenticator: str, expected: bool
) -> None:
    tls = object() if encrypted else None
    connection: Any = SimpleNamespace(version=4, is_control_connection=False, tls=tls)
    steps = handshake._Handshake(connector(Network()), engine_settings(), NAMED, connection)
    action: Any = SimpleNamespace(authenticator=authenticator)
    assert steps._is_known_by_certificate(action) is expected


async def test_without_a_provider_a_login_is_refused() -> None:
    with FakeNode(username="ann", password="secret") as node:
        async with aio.Cluster([node.address], port=node.port) as cluster:
            failure = await exception_of(cluster.connect())
    assert "no auth_provider is configured" in str(failure)


# -- the end of encrypted connections --------------------------------------------------------------


async def test_closed_tls_connections_have_a_moment_to_shut_down() -> None:
    opener = connector(Network())
    loop = asyncio.get_running_loop()
    aborted: list[str] = []

    class Encrypted:
        def __init__(self, name: str) -> None:
            self.name = name

        def abort(self) -> None:
            aborted.append(self.name)

    await opener.settle()  # there are no TLS connections to wait for
    polite: Any = Encrypted("polite")
    stuck: Any = Encrypted("stuck")
    opener._tls_connections.add(polite)
    loop.call_later(GOODBYE_TIMEOUT / 2, opener._on_tls_connection_lost, polite)
    began = loop.time()
    await opener.settle()
    assert loop.time() - began == pytest.approx(GOODBYE_TIMEOUT / 2, abs=0.01)
    assert aborted == []
    opener._tls_connections.add(polite)
    opener._tls_connections.add(stuck)
    loop.call_later(GOODBYE_TIMEOUT / 2, opener._on_tls_connection_lost, polite)
    began = loop.time()
    await opener.settle()
    assert loop.time() - began == pytest.approx(GOODBYE_TIMEOUT, abs=0.01)
    assert aborted == ["stuck"]
