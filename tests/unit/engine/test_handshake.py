"""`Connector` and the steps of opening a connection, mostly without sockets.

The tests cover addresses, the time limit, the protocol version, logins, and the reasons in errors.
"""

from __future__ import annotations

import asyncio
import errno
import random
import socket
import ssl
import uuid
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from cassandra import aio
from cassandra.auth import Token
from cassandra.engine import handshake
from cassandra.engine.connection import GOODBYE_TIMEOUT
from cassandra.engine.control.client_routes import ClientRoutesEndPoint
from cassandra.engine.endpoint import DefaultEndPoint, EndPoint, SniEndPoint
from cassandra.engine.handshake import Connector
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

ENDPOINT = DefaultEndPoint("db.example")  # a name, which has to be resolved
TIMEOUT = 9.0  # seconds; the `connect_timeout` of these tests, for all addresses of a name together
FAR = 1000.0  # seconds; longer than any limit


class Network:
    """A fake `Environment` in which the outcome of connecting depends on the address.

    :param outcomes: maps each address to the error that connecting raises, or to None if connecting
        never ends. A name resolves to all these addresses.
    """

    def __init__(self, **outcomes: Exception | None) -> None:
        self.loop = asyncio.get_running_loop()
        self.random = random.Random(1)
        self.outcomes = outcomes
        self.resolved: list[tuple[str, int, int]] = []
        # Each entry is (address, seconds since the fake was created).
        self.tried: list[tuple[str, float]] = []
        # Each entry is (port of the server, local ports to choose from or None).
        self.ports: list[Any] = []
        self._started = self.loop.time()

    async def addresses(self, name: str, port: int, family: int) -> list[str]:
        self.resolved.append((name, port, family))
        return list(self.outcomes)

    async def connect(self, make_protocol: Any, address: str, port: int, **options: Any) -> None:
        """Record the attempt. Then raise the error of the address, or never return."""
        self.tried.append((address, round(self.loop.time() - self._started, 3)))
        self.ports.append((port, options["local_ports"]))
        outcome = self.outcomes.get(address)
        if outcome is not None:
            raise outcome
        await asyncio.sleep(FAR)

    async def in_thread(self, function: Callable[..., Any], *args: Any) -> Any:
        return function(*args)

    def close(self) -> None:
        pass


def connector(environment: Any, **settings: Any) -> Connector:
    """Return a connector that opens at most two connections at the same time.

    :param environment: a `Network`.
    :param settings: settings that differ from the defaults.
    """
    settings = {"connect_timeout": TIMEOUT, "max_simultaneous_opens": 2, **settings}
    return Connector(engine_settings(**settings), environment)


# -- addresses and the time limit ------------------------------------------------------------------


async def test_each_address_of_a_name_has_an_equal_share_of_the_time() -> None:
    """If no address of a name responds, each of three addresses gets a third of `connect_timeout`.

    The setting limits the time for the whole name.
    """
    network = Network(a=None, b=None, c=None)
    failure = await error_of(connector(network).open(ENDPOINT))
    assert isinstance(failure, OperationTimedOut)
    assert str(failure).startswith("db.example:9042 did not accept a connection (Cluster.connect")
    assert network.tried == [("a", 0.0), ("b", TIMEOUT / 3), ("c", 2 * TIMEOUT / 3)]
    assert network.resolved == [("db.example", 9042, ENDPOINT.socket_family)]


async def test_an_address_that_refuses_leaves_its_time_to_the_others() -> None:
    """If an address refuses at once, the remaining addresses share the remaining time.

    The error is the error of the last address.
    """
    refused = ConnectionRefusedError(errno.ECONNREFUSED, "connect call failed")
    network = Network(a=refused, b=None, c=refused)
    failure = await error_of(connector(network).open(ENDPOINT))
    assert isinstance(failure, ConnectionException)
    assert str(failure) == "db.example:9042 cannot be connected to: Connection refused"
    assert failure.__cause__ is refused
    assert network.tried == [("a", 0.0), ("b", 0.0), ("c", TIMEOUT / 2)]


async def test_connections_of_a_pool_begin_at_the_node_that_was_reached() -> None:
    """If a name leads to more nodes than before, a pool begins at the same address as before.

    That address gets half of the time. The control connection may use any of the addresses.
    """
    network = Network(a=None, b=None, c=None)
    opener = connector(network)
    opener._answered[ENDPOINT] = "b"
    await error_of(opener.open(ENDPOINT))
    assert network.tried == [("b", 0.0), ("a", TIMEOUT / 2), ("c", TIMEOUT * 3 / 4)]
    await error_of(opener.open(ENDPOINT, is_control=True))
    assert [address for address, _ in network.tried[3:]] == ["a", "b", "c"]
    # The node has had another address since then, so the name does not lead to the earlier one.
    opener._answered[ENDPOINT] = "d"
    await error_of(opener.open(ENDPOINT))
    assert [address for address, _ in network.tried[6:]] == ["a", "b", "c"]


async def test_the_error_is_that_of_the_address_that_was_reached_before() -> None:
    """If a node hangs, the error must say so, although another address of its name refuses."""
    opener = connector(Network(a=refused(), b=None))
    opener._answered[ENDPOINT] = "b"
    assert isinstance(await error_of(opener.open(ENDPOINT)), OperationTimedOut)
    opener = connector(Network(a=None, b=None, c=refused()))
    assert "Connection refused" in str(await error_of(opener.open(ENDPOINT)))


async def test_an_address_that_has_led_to_another_node_is_tried_after_the_others() -> None:
    network = Network(a=None, b=refused(), c=refused())
    opener = connector(network)
    opener._answered[ENDPOINT] = "b"
    connection: Any = SimpleNamespace(endpoint=ENDPOINT, ip_address="a")
    opener.note_wrong_node(connection, None)
    await error_of(opener.open(ENDPOINT))
    assert [address for address, _ in network.tried] == ["b", "c", "a"]


class Routes:
    """Routes of a private network: a proxy, which has a name, leads to each node."""

    uses_shard_ports = False

    def location_of(self, host_id: uuid.UUID) -> tuple[str, int]:
        return "proxy.example", 9000


# End points of which all addresses lead to the same node.
END_POINTS_OF_PROXIES: list[EndPoint] = [
    SniEndPoint("proxy.example", "node-1", 9000),
    ClientRoutesEndPoint(uuid.UUID(int=1), Routes(), "10.0.0.1"),
]


def refused() -> ConnectionRefusedError:
    """Return the error for an address that refuses connections."""
    return ConnectionRefusedError(errno.ECONNREFUSED, "connect call failed")


@pytest.mark.parametrize("endpoint", END_POINTS_OF_PROXIES, ids=lambda point: type(point).__name__)
async def test_a_node_behind_a_proxy_is_reached_at_each_address(endpoint: EndPoint) -> None:
    """All addresses of a proxy are tried, although the node was reached at one of them before."""
    network = Network(a=refused(), b=None, c=refused())
    opener = connector(network)
    opener._answered[endpoint] = "a"
    await error_of(opener.open(endpoint))
    assert network.tried == [("a", 0.0), ("b", 0.0), ("c", TIMEOUT / 2)]


async def test_connections_through_a_proxy_begin_at_each_address_in_turn() -> None:
    """Each connection begins at the next address, so the connections spread over all of them.

    The first connections to different nodes begin at different addresses, too.
    """
    first, second = (SniEndPoint("proxy.example", name) for name in ("node-1", "node-2"))
    opener = connector(Network())
    starts = [
        opener._in_turn(endpoint, addresses, 9042)[0]
        for endpoint, addresses in [
            (first, ["a", "b", "c"]),
            (second, ["a", "b", "c"]),
            # Name servers shuffle their answers.
            (first, ["c", "a", "b"]),
            (first, ["b", "c", "a"]),
            (second, ["c", "b", "a"]),
            (first, ["a", "b", "c"]),
        ]
    ]
    assert starts == ["a", "b", "b", "c", "c", "a"]
    assert opener._in_turn(first, ["a", "b", "c"], 9042) == ["b", "c", "a"]


async def test_the_resolver_s_first_family_of_addresses_stays_first() -> None:
    """The connections take turns within IPv4 and within IPv6, in the order of the resolver."""
    endpoint = SniEndPoint("proxy.example", "node-1")
    opener = connector(Network())
    addresses = ["10.0.0.2", "::2", "10.0.0.1", "::1"]
    orders = [opener._in_turn(endpoint, addresses, 9042) for _ in range(2)]
    assert orders == [
        ["10.0.0.1", "10.0.0.2", "::1", "::2"],
        ["10.0.0.2", "10.0.0.1", "::2", "::1"],
    ]
    assert opener._in_turn(endpoint, addresses[::-1], 9042)[0] == "::1"


async def test_an_address_of_a_proxy_that_has_failed_comes_last_for_a_while() -> None:
    """If an address of a proxy has failed, connections to all nodes try it last for 30 seconds."""
    first, second = (SniEndPoint("proxy.example", name) for name in ("node-1", "node-2"))
    network = Network(a=None, b=refused())
    opener = connector(network)
    await error_of(opener.open(first))
    assert [address for address, _ in network.tried] == ["a", "b"]
    # As if another end point had failed at "a" since then, and had succeeded at "b".
    del opener._failed_addresses["b", 9042]
    assert [opener._in_turn(second, ["a", "b"], 9042) for _ in range(2)] == [["b", "a"]] * 2
    # Another port is another proxy.
    assert opener._in_turn(second, ["a", "b"], 9043) == ["b", "a"]
    assert opener._in_turn(second, ["a", "b"], 9043) == ["a", "b"]
    await asyncio.sleep(handshake._LAST_AFTER_FAILURE)
    orders = {tuple(opener._in_turn(second, ["a", "b"], 9042)) for _ in range(2)}
    assert orders == {("a", "b"), ("b", "a")}
    # The failures of long ago are forgotten when the next failure is noted.
    opener._note_failure("c", 9042)
    assert list(opener._failed_addresses) == [("c", 9042)]


async def test_the_turns_of_few_end_points_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connector forgets the turns of the end points that were not used for the longest time."""
    monkeypatch.setattr(handshake, "_MOST_ANSWERED", 2)
    opener = connector(Network())
    endpoints = [SniEndPoint("proxy.example", name) for name in "abc"]
    for endpoint in [*endpoints[:2], endpoints[0], endpoints[2]]:
        opener._in_turn(endpoint, ["a", "b"], 9042)
    assert list(opener._turns) == [endpoints[0], endpoints[2]]


async def test_the_time_of_the_tls_context_counts() -> None:
    """A context that takes time to create leaves less time to each of the addresses."""

    class SlowTls:
        """TLS settings whose context takes a third of the connect timeout."""

        async def begin(self, *_: Any) -> Any:
            await asyncio.sleep(TIMEOUT / 3)
            return Mock(server_hostname="db.example")

    network = Network(a=None, b=None)
    failure = await error_of(connector(network, tls=SlowTls()).open(ENDPOINT))
    assert isinstance(failure, OperationTimedOut)
    assert network.tried == [("a", TIMEOUT / 3), ("b", TIMEOUT * 2 / 3)]


async def test_a_failure_of_tls_tells_more_than_an_unreachable_address() -> None:
    """If TLS fails at one address, and the next one is unreachable, the TLS error is raised."""

    class TlsOfReachedNodes:
        """TLS settings with which each error of TLS has a reason."""

        async def begin(self, *_: Any) -> Any:
            return Mock(
                server_hostname="db.example",
                reason=lambda error: str(error) if isinstance(error, ssl.SSLError) else None,
                is_missing=lambda error: False,
            )

    class ReachedNetwork(Network):
        """A network where each address accepts the connection, before the outcome comes."""

        async def connect(
            self, make_protocol: Any, address: str, port: int, **options: Any
        ) -> None:
            options["on_reached"]()
            await super().connect(make_protocol, address, port, **options)

    network = ReachedNetwork(a=refused(), b=ssl.SSLError("not trusted"), c=refused())
    failure = await error_of(connector(network, tls=TlsOfReachedNodes()).open(ENDPOINT))
    assert [address for address, _ in network.tried] == ["a", "b", "c"]
    assert str(failure) == "TLS with db.example:9042 failed: ('not trusted',)"


@pytest.mark.parametrize("outcome", [None, refused(), ssl.SSLError("refused")])
async def test_the_tls_session_of_a_failed_connection_is_forgotten(outcome: Any) -> None:
    """The next connection makes a full TLS handshake, also if the server has said nothing."""
    tls_handshake = Mock(
        server_hostname="db.example", reason=Mock(return_value=None), is_missing=bool
    )

    class Tls:
        async def begin(self, *_: Any) -> Any:
            return tls_handshake

    await error_of(connector(Network(a=outcome), tls=Tls()).open(ENDPOINT))
    tls_handshake.forget_session.assert_called_once_with()


async def test_no_other_address_is_tried_once_a_transport_was_made() -> None:
    """If connecting to an address times out just when its transport is made, no other is tried.

    The end of the transport closes the connection object, so it cannot be used for another address.
    """

    class LateNetwork(Network):
        """A network where a transport is made too late to be used."""

        async def connect(
            self, make_protocol: Any, address: str, port: int, **options: Any
        ) -> None:
            try:
                await super().connect(make_protocol, address, port, **options)
            finally:
                make_protocol()._transport = Mock()

    network = LateNetwork(a=None, b=None)
    assert isinstance(await error_of(connector(network).open(ENDPOINT)), OperationTimedOut)
    assert network.tried == [("a", 0.0)]


async def test_an_ip_address_is_not_resolved() -> None:
    """An IP address is connected to without a query to the name service."""
    network = Network(**{"10.0.0.1": OSError(errno.EHOSTUNREACH, "unreachable")})
    failure = await error_of(connector(network).open(DefaultEndPoint("10.0.0.1", 9999)))
    assert str(failure) == "10.0.0.1:9999 cannot be connected to: No route to host"
    assert network.resolved == []
    assert network.ports == [(9999, None)]


@pytest.mark.parametrize("timeout", [None, 0])
async def test_without_a_timeout_an_address_has_an_hour(timeout: Any) -> None:
    """If `connect_timeout` is None or 0, an attempt goes on for a long time, but not for ever."""
    opening = asyncio.ensure_future(
        connector(Network(a=None), connect_timeout=timeout).open(ENDPOINT)
    )
    await asyncio.sleep(FAR / 2)
    assert not opening.done()
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening


async def test_only_so_many_connections_are_opened_at_a_time() -> None:
    """Only two connections are opened at the same time. The third one waits until one has failed.

    The limit is `max_simultaneous_opens`.
    """
    network = Network(a=None)
    opener = connector(network)
    openings = [asyncio.ensure_future(opener.open(ENDPOINT)) for _ in range(3)]
    await asyncio.sleep(TIMEOUT / 2)
    assert len(network.tried) == 2
    await asyncio.sleep(TIMEOUT)
    assert len(network.tried) == 3
    for opening in openings:
        assert isinstance(await error_of(opening), OperationTimedOut)


async def test_a_shards_connection_uses_the_targets_port() -> None:
    """A connection to a shard goes to the shard-aware port, from a local port of the shard.

    The local port modulo the number of shards is the shard.
    """
    refused = ConnectionRefusedError(errno.ECONNREFUSED, "refused")
    network = Network(**{"10.0.0.1": refused})
    target: Any = SimpleNamespace(port=19042, shard=1, shards=3)
    await error_of(connector(network).open(DefaultEndPoint("10.0.0.1"), target))
    ((port, local_ports),) = network.ports
    assert port == 19042
    assert {local_port % 3 for local_port in list(local_ports)[:10]} == {1}


async def error_of(awaitable: Any) -> BaseException:
    """Return the error that `awaitable` raises, however much virtual time it takes."""
    outcomes = await asyncio.gather(awaitable, return_exceptions=True)
    error: Any = outcomes[0]
    assert isinstance(error, BaseException)
    return error


# -- versions --------------------------------------------------------------------------------------


def refusal(version: int) -> ProtocolVersionUnsupported:
    """Return the error for a server that does not support this protocol version."""
    return ProtocolVersionUnsupported(ENDPOINT, version)


async def test_a_lowered_version_is_reported_once() -> None:
    """If several connections meet a server of an earlier version, `on_version` is called once."""
    opener = connector(Network(), protocol_version=5)
    versions: list[int] = []
    opener.on_version = versions.append
    for _ in range(2):
        opener._downgrade(5, refusal(5))
    assert versions == [4]


async def test_a_refused_version_is_lowered_once_for_all_connections() -> None:
    """If a server refuses a protocol version, the connector tries the next lower version.

    The lowest version is 3.
    """
    opener = connector(Network(), protocol_version=5)
    assert opener.version == 5
    opener._downgrade(5, refusal(5))
    # A second connection that was opened at the same time is refused for the same version. This
    # must not lower the version again.
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
    """Return the STARTUP requests that a node has received."""
    return [request for request in node.requests if request.opcode == Opcode.STARTUP]


@pytest.mark.parametrize("compression", [True, False])
async def test_compression_is_negotiated_only_if_it_is_set(compression: bool) -> None:
    """STARTUP names lz4 only if the cluster has `compression=True`.

    This holds even if the server supports lz4.
    """
    with FakeNode(max_version=4) as node:
        node.supported["COMPRESSION"] = ["lz4"]
        async with connected(node, compression=compression):
            negotiated = [request.options.get("COMPRESSION") for request in startups(node)]
    assert set(negotiated) == {"lz4" if compression else None}


@pytest.mark.parametrize("is_scylla", [True, False])
async def test_scylladb_gets_further_options(is_scylla: bool) -> None:
    """STARTUP has the options that enable ScyllaDB's extensions only if the node offers them."""
    scylla = Scylla(shards=1) if is_scylla else None
    with FakeCluster(1, scylla=scylla) as nodes:
        async with connected(nodes):
            names = {name for request in startups(nodes[0]) for name in request.options}
    usual_names = {"CQL_VERSION", "DRIVER_NAME", "DRIVER_VERSION", "COMPRESSION"}
    assert bool(names - usual_names) is is_scylla


# -- reasons in errors -----------------------------------------------------------------------------

ACCEPTED = "db.example:9042 accepted the connection"


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ({}, "db.example:9042 did not accept a connection"),
        (
            {"is_reached": True},
            f"{ACCEPTED}, but did not complete the TLS handshake: does the process hang, or does "
            "this port not speak TLS?",
        ),
        (
            {"is_reached": True, "answered_before": True},
            f"{ACCEPTED}, but did not complete the TLS handshake",
        ),
        (
            {"is_connected": True},
            f"{ACCEPTED} and then said nothing: is that the port of Cassandra's native transport, "
            "without TLS where none is configured?",
        ),
        (
            {"is_connected": True, "answered_before": True},
            f"{ACCEPTED} and did not answer: the process hangs",
        ),
        (
            {"is_reached": True, "is_connected": True, "received_anything": True},
            f"{ACCEPTED}, but did not complete the handshake",
        ),
    ],
)
def test_a_timeout_names_the_step_that_was_in_progress(
    state: dict[str, bool], expected: str
) -> None:
    """When `connect_timeout` ends, the message says how far the connection has come.

    :param state: the attributes of the connection that are True.
    :param expected: the message.
    """
    connection: Any = SimpleNamespace(
        **{
            "is_reached": False,
            "is_connected": False,
            "received_anything": False,
            "answered_before": False,
            "tls": None,
            **state,
        }
    )
    assert handshake._describe_timeout(ENDPOINT, connection, 5.0) == expected


def test_silence_after_the_tls_handshake_is_not_put_down_to_missing_tls() -> None:
    """If a server is silent after the TLS handshake, the message must not suggest missing TLS.

    The TLS handshake has succeeded, so the port does speak TLS.
    """
    connection: Any = SimpleNamespace(
        is_reached=True,
        is_connected=True,
        received_anything=False,
        answered_before=False,
        tls=object(),
    )
    assert handshake._describe_timeout(ENDPOINT, connection, 5.0) == (
        "db.example:9042 completed the TLS handshake and then said nothing: does the process hang, "
        "or is that another port than that of Cassandra's native transport?"
    )


@pytest.mark.parametrize(
    ("has_tls", "is_reached", "is_connected", "expected"),
    [
        pytest.param(True, True, False, "bad certificate", id="in the TLS handshake"),
        pytest.param(True, False, True, "bad certificate", id="after the TLS handshake"),
        pytest.param(True, False, False, None, id="without a TCP connection"),
        pytest.param(False, True, True, None, id="without TLS"),
    ],
)
def test_tls_is_the_reason_only_if_the_network_worked(
    has_tls: bool, is_reached: bool, is_connected: bool, expected: str | None
) -> None:
    """The TLS layer's reason is used only if the connection has TLS and TCP has connected."""
    tls = SimpleNamespace(reason=lambda error: "bad certificate") if has_tls else None
    connection: Any = SimpleNamespace(tls=tls, is_reached=is_reached, is_connected=is_connected)
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
    """The reason is the system's message for the error number.

    Without such a message, it is the exception's own message, or else the name of its class.
    """
    assert handshake._system_reason(error) == expected


def test_only_a_send_may_carry_a_token() -> None:
    """`_single_message` returns a Send action, and raises ProtocolError for any other action.

    While a token is sent, any other action would be a bug of the driver.
    """
    send = Send(stream=0, opcode=Opcode.AUTH_RESPONSE, flags=0, body=b"")
    assert handshake._single_message([send]) is send
    with pytest.raises(ProtocolError, match="a token is to be sent, but the handshake wants"):
        handshake._single_message([SetCompression("lz4")])


async def test_errors_of_the_handshake_name_the_end_point_once() -> None:
    """A server's error gets the end point in front of its message, unless it already names it."""
    connection: Any = SimpleNamespace(version=4, is_control_connection=False)
    steps = handshake._Handshake(connector(Network()), engine_settings(), ENDPOINT, connection)
    cause = ValueError()
    server_error = InvalidRequest("no such option")
    server_error.__cause__ = cause
    named_error = steps._with_endpoint(server_error)
    assert type(named_error) is InvalidRequest
    assert str(named_error) == "db.example:9042: no such option"
    assert named_error.__cause__ is cause
    assert steps._with_endpoint(named_error) is named_error
    connection_error = steps._with_endpoint(ConnectionException("broken"))
    assert isinstance(connection_error, ConnectionException)
    assert connection_error.endpoint is ENDPOINT
    assert steps._with_endpoint(cause) is cause


# -- logins ----------------------------------------------------------------------------------------


class Login:
    """An auth provider and authenticator for the user "ann" with the password "secret".

    :param call: how `initial_response` returns the token. "plain" means at once, and "coroutine
        function" means from a coroutine. "awaitable" means from a function that returns an
        awaitable.
    """

    def __init__(self, call: str) -> None:
        self.hosts: list[str] = []
        self.successes: list[Any] = []
        self.server_authenticator_class: str | None = None
        if call == "coroutine function":
            self.initial_response: Any = self._return_later
        elif call == "awaitable":
            self.initial_response = lambda: self._return_later()
        else:
            self.initial_response = lambda: b"\0ann\0secret"

    async def _return_later(self) -> bytes:
        return b"\0ann\0secret"

    def new_authenticator(self, host: str) -> Login:
        self.hosts.append(host)
        return self

    def on_authentication_success(self, token: Any) -> None:
        self.successes.append(token)


@pytest.mark.parametrize("call", ["plain", "coroutine function", "awaitable"])
async def test_an_authenticator_may_return_its_token_or_be_awaited(call: str) -> None:
    """An authenticator may return its token at once, or from a coroutine or an awaitable.

    For example, a coroutine may fetch a password.
    """
    login = Login(call)
    with FakeNode(username="ann", password="secret") as node:
        async with connected(node, auth_provider=login):
            pass
        # Each connection gets a new authenticator.
        assert login.hosts == [node.address] * node.count(Opcode.STARTUP)
    assert login.server_authenticator_class == node.authenticator
    assert len(login.successes) == len(login.hosts)


async def test_tokens_are_wrapped_so_that_they_do_not_show() -> None:
    """The handshake wraps each token in an object whose `repr` hides the token.

    Otherwise, a traceback could show a password.
    """
    connection: Any = SimpleNamespace(version=4, is_control_connection=False)
    steps = handshake._Handshake(connector(Network()), engine_settings(), ENDPOINT, connection)
    for call in ("plain", "coroutine function", "awaitable"):
        token = await steps._call_token_method(Login(call).initial_response)
        assert isinstance(token, Token)
        assert "secret" not in repr(token)
    assert await steps._call_token_method(lambda: None) is None


def test_a_certificate_is_no_answer_to_a_further_challenge() -> None:
    """If a server wants more than a certificate and has no `auth_provider`, the login must fail."""
    with pytest.raises(AuthenticationFailed, match="more than the client's certificate"):
        handshake._Certificate().evaluate_challenge(b"")


@pytest.mark.parametrize(
    ("has_tls", "authenticator", "expected"),
    [
        (True, "org.apache.cassandra.auth.MutualTlsAuthenticator", True),
        (False, "org.apache.cassandra.auth.MutualTlsAuthenticator", False),
        (True, "org.apache.cassandra.auth.PasswordAuthenticator", False),
    ],
)
async def test_a_certificate_is_enough_for_some_authenticators(
    has_tls: bool, authenticator: str, expected: bool
) -> None:
    """With TLS and the server's MutualTlsAuthenticator, a login needs no `auth_provider`."""
    tls = object() if has_tls else None
    connection: Any = SimpleNamespace(version=4, is_control_connection=False, tls=tls)
    steps = handshake._Handshake(connector(Network()), engine_settings(), ENDPOINT, connection)
    action: Any = SimpleNamespace(authenticator=authenticator)
    assert steps._is_known_by_certificate(action) is expected


async def test_without_a_provider_a_login_is_refused() -> None:
    with FakeNode(username="ann", password="secret") as node:
        async with aio.Cluster([node.address], port=node.port) as cluster:
            failure = await exception_of(cluster.connect())
    assert "no auth_provider is configured" in str(failure)


# -- the end of encrypted connections --------------------------------------------------------------


async def test_closed_tls_connections_have_a_moment_to_shut_down() -> None:
    """`settle` waits until closed TLS connections have ended, for at most GOODBYE_TIMEOUT seconds.

    Then it aborts the remaining connections.
    """
    opener = connector(Network())
    loop = asyncio.get_running_loop()
    aborted: list[str] = []

    class FakeTlsConnection:
        def __init__(self, name: str) -> None:
            self.name = name

        def abort(self) -> None:
            aborted.append(self.name)

    await opener.settle()  # without TLS connections, `settle` returns at once
    # If the only connection ends in time, `settle` returns then, and aborts nothing.
    polite: Any = FakeTlsConnection("polite")
    stuck: Any = FakeTlsConnection("stuck")
    opener._tls_connections.add(polite)
    loop.call_later(GOODBYE_TIMEOUT / 2, opener._on_tls_connection_lost, polite)
    started = loop.time()
    await opener.settle()
    assert loop.time() - started == pytest.approx(GOODBYE_TIMEOUT / 2, abs=0.01)
    assert aborted == []
    # One of two connections never ends, so `settle` waits for the whole time and aborts it.
    opener._tls_connections.add(polite)
    opener._tls_connections.add(stuck)
    loop.call_later(GOODBYE_TIMEOUT / 2, opener._on_tls_connection_lost, polite)
    started = loop.time()
    await opener.settle()
    assert loop.time() - started == pytest.approx(GOODBYE_TIMEOUT, abs=0.01)
    assert aborted == ["stuck"]


async def test_tls_connections_are_aborted_if_settle_is_cancelled() -> None:
    """If `settle` is cancelled, it aborts the TLS connections, because no connection may stay open.

    The loop may end while `settle` waits.
    """
    opener = connector(Network())
    stuck = Mock()
    opener._tls_connections.add(stuck)
    settling = asyncio.ensure_future(opener.settle())
    await asyncio.sleep(GOODBYE_TIMEOUT / 2)
    settling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await settling
    stuck.abort.assert_called_once_with()
