"""Logins with every API, all kinds of auth providers, and failed logins.

The tests check the tokens that each mechanism exchanges.
"""

from __future__ import annotations

import asyncio
import ssl
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from cassandra.auth import (
    Authenticator,
    AuthProvider,
    BaseDSEAuthenticator,
    DSEGSSAPIAuthProvider,
    DSEPlainTextAuthProvider,
    GSSAPIAuthenticator,
    PlainTextAuthenticator,
    PlainTextAuthProvider,
    SaslAuthProvider,
    TransitionalModePlainTextAuthProvider,
)
from cassandra.cluster import Cluster
from cassandra.errors import AuthenticationFailed, NoHostAvailable
from cassandra.testing.fake import FakeCluster, FakeNode, Opcode, message, rows
from cassandra.testing.fake.primitives import long_bytes
from tests.leftovers import PATIENCE
from tests.unit.simulated import APIS, Simulated

from .certificates import Authority
from .conftest import READ, Use

PASSWORD = "org.apache.cassandra.auth.PasswordAuthenticator"
CERTIFICATES = [
    f"org.apache.cassandra.auth.{name}"
    for name in ("MutualTlsAuthenticator", "MutualTlsWithPasswordFallbackAuthenticator")
]
DSE = "com.datastax.bdp.cassandra.auth.DseAuthenticator"

# A server's step of a login: it takes the client's token, and returns the next challenge, or None
# if the login has succeeded.
Exchange = Callable[[bytes | None], bytes | None]


@contextmanager
def server(
    authenticator: str, exchange: Callable[[], Exchange], context: ssl.SSLContext | None = None
) -> Iterator[FakeNode]:
    """Yield a fake node that handles logins.

    :param authenticator: the name of the authenticator that the node sends.
    :param exchange: called for each connection; returns the function that responds to the client's
        tokens.
    :param context: the TLS context of the node; None for no TLS.
    """
    exchanges: dict[Any, Exchange] = {}

    def answer_token(request: Any) -> Any:
        step = exchanges.setdefault(request.connection, exchange())
        challenge = step(request.token)
        if challenge is not None:
            return message(Opcode.AUTH_CHALLENGE, long_bytes(challenge))
        request.connection.ready = True
        return message(Opcode.AUTH_SUCCESS, long_bytes(b"welcome"))

    with FakeNode(username="", password="", ssl_context=context) as node:
        node.authenticator = authenticator
        node.prime(Opcode.AUTH_RESPONSE, answer_token)
        node.prime(READ, rows([("v", "int")], [(7,)]))
        yield node


def script(*steps: tuple[bytes | None, bytes | None]) -> Callable[[], Exchange]:
    """Return a function that begins a scripted login, for `server`.

    :param steps: for each step, the token that the client must send and the challenge that the
        server returns.
    """

    def begin() -> Exchange:
        remaining_steps = list(steps)

        def step(token: bytes | None) -> bytes | None:
            expected, challenge = remaining_steps.pop(0)
            assert token == expected
            return challenge

        return step

    return begin


# -- mechanisms ------------------------------------------------------------------------------------


@pytest.mark.parametrize("provider_class", [PlainTextAuthProvider, DSEPlainTextAuthProvider])
@pytest.mark.parametrize(
    ("authenticator", "steps"),
    [
        (PASSWORD, [(b"\0ada\0secret", None)]),
        (DSE, [(b"PLAIN", b"PLAIN-START"), (b"\0ada\0secret", None)]),
    ],
    ids=["Cassandra", "DataStax Enterprise"],
)
def test_user_name_and_password_with_each_authenticator(
    connect_and_read: Use, provider_class: Any, authenticator: str, steps: Any
) -> None:
    """Both password providers log in to Cassandra and to DataStax Enterprise (DSE).

    DSE first asks for the name of the mechanism.
    """
    provider = provider_class("ada", "secret")
    with server(authenticator, script(*steps)) as node:
        assert connect_and_read([node.address], port=node.port, auth_provider=provider) == 7


def test_the_transitional_mode_sends_empty_credentials(connect_and_read: Use) -> None:
    """TransitionalModePlainTextAuthProvider sends an empty user name and an empty password."""
    steps = [(b"PLAIN", b"PLAIN-START"), (b"\0\0", None)]
    with server(DSE, script(*steps)) as node:
        provider = TransitionalModePlainTextAuthProvider()
        assert connect_and_read([node.address], port=node.port, auth_provider=provider) == 7


def test_a_mechanism_with_a_challenge(connect_and_read: Use) -> None:
    """Log in with the challenge and the response of the CRAM-MD5 example in RFC 2195."""
    challenge = b"<1896.697170952@postoffice.reston.mci.net>"
    answer = b"tim b913a602c7eda7a495b4e6e7334d3890"
    provider = SaslAuthProvider(
        service="imap", mechanism="CRAM-MD5", username="tim", password="tanstaaftanstaaf"
    )
    with server(PASSWORD, script((b"", challenge), (answer, None))) as node:
        assert connect_and_read([node.address], port=node.port, auth_provider=provider) == 7


class ScriptedAuthenticator(Authenticator):
    """Gives prepared tokens: the first one, and the ones for the challenges."""

    def __init__(self, tokens: list[Any]) -> None:
        self.tokens = list(tokens)

    def initial_response(self) -> Any:
        return self.tokens.pop(0)

    def evaluate_challenge(self, challenge: bytes | None) -> Any:
        return self.tokens.pop(0)


class ScriptedProvider(AuthProvider):
    """Creates a `ScriptedAuthenticator` for each connection."""

    def __init__(self, *tokens: Any) -> None:
        self.tokens = tokens

    def new_authenticator(self, host: str) -> Authenticator:
        return ScriptedAuthenticator(list(self.tokens))


def test_an_authenticator_without_a_token_sends_an_empty_one(connect_and_read: Use) -> None:
    """For None, the client sends an empty token: a null makes Cassandra's login fail."""
    provider = ScriptedProvider(None, "text", None)
    steps = [(b"", b"speak"), (b"text", b"go on"), (b"", None)]
    with server(PASSWORD, script(*steps)) as node:
        assert connect_and_read([node.address], port=node.port, auth_provider=provider) == 7


# -- by the client's certificate -------------------------------------------------------------------


@pytest.fixture
def client_context(authority: Authority) -> ssl.SSLContext:
    """Return a client's TLS context that presents a certificate."""
    context = authority.client()
    context.load_cert_chain(*authority.issue("shop"))
    return context


@pytest.mark.parametrize("authenticator", CERTIFICATES)
def test_a_client_certificate_is_enough_for_a_login(
    connect_and_read: Use, authority: Authority, client_context: ssl.SSLContext, authenticator: str
) -> None:
    """Without `auth_provider`, the client sends an empty token, and logs in by its certificate."""
    server_context = authority.server("127.0.0.1", clients=authority.path)
    with server(authenticator, script((b"", None)), server_context) as node:
        assert connect_and_read([node.address], port=node.port, ssl_context=client_context) == 7


def test_a_provider_is_used_before_the_certificate(
    connect_and_read: Use, authority: Authority, client_context: ssl.SSLContext
) -> None:
    """With `auth_provider`, the password is sent, although the client has a certificate."""
    provider = PlainTextAuthProvider("ada", "secret")
    server_context = authority.server("127.0.0.1", clients=authority.path)
    with server(CERTIFICATES[1], script((b"\0ada\0secret", None)), server_context) as node:
        settings: Any = {"ssl_context": client_context, "auth_provider": provider}
        assert connect_and_read([node.address], port=node.port, **settings) == 7


def test_an_authenticator_that_also_wants_a_password_is_an_error(
    connect_and_read: Use, authority: Authority, client_context: ssl.SSLContext
) -> None:
    """If the server also sends a challenge, the error says that the certificate is not enough."""
    server_context = authority.server("127.0.0.1", clients=authority.path)
    with (
        server(CERTIFICATES[0], script((b"", b"and the password?")), server_context) as node,
        pytest.raises(AuthenticationFailed, match="asks for more than the client's certificate"),
    ):
        connect_and_read([node.address], port=node.port, ssl_context=client_context)


@pytest.mark.parametrize("authenticator", CERTIFICATES)
def test_a_certificate_authenticator_without_tls_is_an_error(
    connect_and_read: Use, authenticator: str
) -> None:
    """Without TLS, there is no certificate, so the login needs an `auth_provider`."""
    with (
        server(authenticator, script()) as node,
        pytest.raises(AuthenticationFailed, match="no auth_provider is configured"),
    ):
        connect_and_read([node.address], port=node.port)


# -- Kerberos --------------------------------------------------------------------------------------


class FakeKerberosClient:
    """A fake SASL client, because a real client needs a Kerberos realm."""

    def __init__(self, host: str, service: str, mechanism: str, **properties: Any) -> None:
        self.arguments = (host, service, mechanism, properties)

    def process(self, challenge: bytes | None = None) -> bytes:
        return f"{self.arguments[0]} {self.arguments[1]}: ".encode() + (challenge or b"ticket")


@pytest.mark.parametrize("authenticator", [DSE, PASSWORD])
def test_kerberos_answers_the_challenges_of_the_server(
    connect_and_read: Use, authenticator: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The Kerberos provider sends a ticket, and responds to the server's challenge."""
    monkeypatch.setattr("puresasl.client.SASLClient", FakeKerberosClient)
    provider = DSEGSSAPIAuthProvider(service="db", resolve_host_name=False, principal="ada")
    steps: list[Any] = [
        (b"127.0.0.1 db: ticket", b"prove it"),
        (b"127.0.0.1 db: prove it", None),
    ]
    # The authenticator of DataStax Enterprise first asks for the name of the mechanism.
    if authenticator == DSE:
        steps.insert(0, (b"GSSAPI", b"GSSAPI-START"))
    with server(authenticator, script(*steps)) as node:
        assert connect_and_read([node.address], port=node.port, auth_provider=provider) == 7


def test_kerberos_uses_the_resolved_name_and_the_properties(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By default, the Kerberos provider resolves the host's address to a name."""
    monkeypatch.setattr("puresasl.client.SASLClient", FakeKerberosClient)
    monkeypatch.setattr("socket.getnameinfo", lambda address, flags: (f"name of {address[0]}", "0"))
    authenticator: Any = DSEGSSAPIAuthProvider(qops=["auth-int"], principal="p").new_authenticator(
        "1.2.3.4"
    )
    assert isinstance(authenticator, GSSAPIAuthenticator)
    expected = {"qops": [b"auth-int"], "principal": "p"}
    assert authenticator.sasl.arguments == ("name of 1.2.3.4", "dse", "GSSAPI", expected)
    assert isinstance(PlainTextAuthenticator("a", "b"), BaseDSEAuthenticator)


# -- providers -------------------------------------------------------------------------------------


class RotatingProvider(AuthProvider):
    """A provider that returns a new password for each connection.

    Its `new_authenticator` is an ordinary method, which may block. The subclasses return an
    awaitable.
    """

    def __init__(self) -> None:
        self.number = 0
        self.threads: set[str] = set()

    def new_password_authenticator(self) -> PlainTextAuthenticator:
        """Return an authenticator with the next password, and record the current thread."""
        self.number += 1
        self.threads.add(threading.current_thread().name)
        return PlainTextAuthenticator("ada", f"token {self.number}")

    def new_authenticator(self, host: str) -> Authenticator:
        return self.new_password_authenticator()


class AwaitedProvider(RotatingProvider):
    """A provider whose `new_authenticator` is a coroutine function."""

    async def new_authenticator(self, host: str) -> Authenticator:  # type: ignore[override]
        await asyncio.sleep(0)
        return self.new_password_authenticator()


class ReturnsAwaitable(RotatingProvider):
    """A provider whose `new_authenticator` is an ordinary function that returns an awaitable."""

    def new_authenticator(self, host: str) -> Any:
        async def create_authenticator() -> Authenticator:
            return self.new_password_authenticator()

        return create_authenticator()


@pytest.mark.parametrize("provider_class", [RotatingProvider, AwaitedProvider, ReturnsAwaitable])
def test_each_connection_asks_the_provider_anew(
    connect_and_read: Use, provider_class: type[RotatingProvider]
) -> None:
    """Each connection calls `new_authenticator`.

    So a provider may return another password each time.
    """
    tokens: list[bytes | None] = []

    def exchange() -> Exchange:
        def step(token: bytes | None) -> bytes | None:
            tokens.append(token)
            return None

        return step

    provider = provider_class()
    with server(PASSWORD, exchange) as node:
        assert connect_and_read([node.address], port=node.port, auth_provider=provider) == 7
    assert tokens == [f"\0ada\0token {n}".encode() for n in range(1, len(tokens) + 1)]
    # One login is for the control connection, and the others are for the pool's connections.
    assert len(tokens) >= 2
    if provider_class is RotatingProvider:  # an ordinary method may block, so it runs in a thread
        assert all(name.startswith("cassandra-blocking") for name in provider.threads)


def test_methods_of_an_authenticator_may_be_coroutines(connect_and_read: Use) -> None:
    """The three methods of an authenticator may be coroutine functions."""

    class Steps(Authenticator):
        async def initial_response(self) -> bytes:  # type: ignore[override]
            return b"first"

        async def evaluate_challenge(self, challenge: bytes | None) -> bytes:  # type: ignore[override]
            return b"answer to " + (challenge or b"")

        async def on_authentication_success(self, token: bytes | None) -> None:  # type: ignore[override]
            welcomes.append(token)

    class Provider(AuthProvider):
        def new_authenticator(self, host: str) -> Authenticator:
            return Steps()

    welcomes: list[bytes | None] = []
    steps = script((b"first", b"why"), (b"answer to why", None))
    with server(PASSWORD, steps) as node:
        assert connect_and_read([node.address], port=node.port, auth_provider=Provider()) == 7
    assert set(welcomes) == {b"welcome"}


# -- failed logins ---------------------------------------------------------------------------------


def test_after_a_refused_login_connect_tries_no_other_host(connect_and_read: Use) -> None:
    """After a refused login, `connect` does not try the other two hosts with the same password."""
    with FakeCluster(3, username="ada", password="right") as nodes:
        with pytest.raises(NoHostAvailable) as caught:
            connect_and_read(
                nodes.contact_points,
                port=nodes.port,
                auth_provider=PlainTextAuthProvider("ada", "wrong"),
            )
        assert isinstance(caught.value, AuthenticationFailed)
        assert sum(node.count(Opcode.AUTH_RESPONSE) for node in nodes.nodes) == 1
        assert "wrong" not in str(caught.value)


def slow_provider(step: str, wait: Callable[[], Any]) -> AuthProvider:
    """Return a provider that waits in one step of a login.

    :param step: where it waits: "provider" (creating the authenticator), "first" (its first token)
        or "challenge" (its response to a challenge).
    :param wait: called in this step; it blocks, or returns an awaitable.
    """

    class Slow(Authenticator):
        def initial_response(self) -> Any:
            return wait() if step == "first" else b"x"

        def evaluate_challenge(self, challenge: bytes | None) -> Any:
            return wait()

    class Provider(AuthProvider):
        def new_authenticator(self, host: str) -> Any:
            return wait() if step == "provider" else Slow()

    return Provider()


STEPS = ("provider", "first", "challenge")
TOO_LATE = r"did not complete the handshake \(Cluster.connect_timeout"


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("step", STEPS)
def test_an_awaited_step_ends_at_the_connect_timeout(
    simulated: Simulated, api: str, step: str
) -> None:
    """A provider that awaits for 600 s in one step of the login is limited by `connect_timeout`."""
    provider = slow_provider(step, lambda: asyncio.sleep(600))
    with server(PASSWORD, script((b"x", b"why"))) as node:
        settings: dict[str, Any] = {"contact_points": [node.address], "port": node.port}
        start_time = simulated.now
        with pytest.raises(NoHostAvailable, match=TOO_LATE):
            simulated.connect(api, auth_provider=provider, connect_timeout=30, **settings)
        # The driver may try again with an older protocol version, so connecting may take up to
        # twice the timeout.
        assert 30 <= simulated.now - start_time < 60


@pytest.mark.parametrize("step", STEPS)
def test_connect_does_not_wait_for_a_blocked_step(connect_and_read: Use, step: str) -> None:
    """A provider that blocks in one step of the login is limited by `connect_timeout`, too."""
    # Steps that block run in real threads, so the test cannot use the simulated clock.
    release = threading.Event()
    timed_out: list[bool] = []

    def wait() -> None:
        timed_out.append(not release.wait(PATIENCE))

    with server(PASSWORD, script((b"x", b"why"))) as node:
        settings: dict[str, Any] = {"port": node.port, "auth_provider": slow_provider(step, wait)}
        try:
            # Match only this part of the message: on a busy machine, an earlier step of the
            # handshake may be the late step.
            with pytest.raises(NoHostAvailable, match="connect_timeout"):
                connect_and_read([node.address], connect_timeout=0.3, **settings)
        finally:
            release.set()
    # The driver gave up before `release` was set, so no thread waited for the full PATIENCE.
    assert True not in timed_out


def test_missing_packages_are_named_in_the_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the package puresasl, the providers that need it say how to install it."""
    # Importing a module that is None in `sys.modules` raises ImportError.
    monkeypatch.setitem(sys.modules, "puresasl.client", None)
    for create_provider in (lambda: SaslAuthProvider(service="x"), DSEGSSAPIAuthProvider):
        with pytest.raises(ImportError, match=r"pip install turbocql\[sasl\]"):
            create_provider()


def test_a_changed_password_is_needed_for_later_connections() -> None:
    """After a change of the password, open connections still work.

    New connections need a provider with the new password.
    """
    with FakeNode(username="ada", password="old") as node:
        node.prime(READ, rows([("v", "int")], [(7,)]))
        provider = PlainTextAuthProvider("ada", "old")
        with Cluster([node.address], port=node.port, auth_provider=provider) as cluster:
            session = cluster.connect()
            node.require_password("ada", "new")
            assert session.execute(READ).one().v == 7
            # Connections that are opened from now on use the new provider.
            cluster.auth_provider = PlainTextAuthProvider("ada", "new")
            assert cluster.connect().execute(READ).one().v == 7
