"""Opens connections: resolves, connects, negotiates version and compression, authenticates.

`cassandra.protocol.connection` decides which messages to send; this module sends them over a
transport, within one time limit for all steps. If a server rejects a protocol version, the
connector uses the next lower version for all later connections of the cluster.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from types import MethodType
from typing import TYPE_CHECKING, Any, TypeVar

from cassandra._logs import Log
from cassandra._secrets import Secret
from cassandra.auth import Authenticator, PlainTextAuthenticator, PlainTextAuthProvider, Token
from cassandra.engine.connection import GOODBYE_TIMEOUT, Connection, FutureResponder, read_answer
from cassandra.engine.endpoint import EndPoint, is_ip_address
from cassandra.engine.environment import Environment, InsertionOrdered
from cassandra.engine.failures import as_exception
from cassandra.engine.pools.shard_ports import ShardAwarePortGenerator
from cassandra.engine.settings import Settings
from cassandra.engine.waiting import within
from cassandra.errors import (
    AuthenticationFailed,
    ConnectionException,
    DriverException,
    LoginNotChecked,
    OperationTimedOut,
    ProtocolError,
    ProtocolVersionUnsupported,
)
from cassandra.protocol.connection import (
    Action,
    Authenticated,
    AuthenticationWanted,
    Challenge,
    EnableSegments,
    Failed,
    ProtocolConnection,
    Ready,
    ScyllaExtensions,
    Send,
    SetCompression,
    VersionRefused,
)
from cassandra.protocol.messages.control import RegisterMessage
from cassandra.protocol.messages.errors import ErrorMessage
from cassandra.protocol.messages.events import GRACEFUL_DISCONNECT
from cassandra.versions import ProtocolVersion

if TYPE_CHECKING:
    from cassandra.engine.pools.shards import ShardTarget
    from cassandra.protocol.features import ProtocolFeatures

_Result = TypeVar("_Result")

log = Log("cassandra.connection")

# If a connection times out with a limit below this, the error message blames the limit, not the
# host.
_SHORT_TIMEOUT = 0.01  # seconds

# The connect timeout that is used if the setting is None or 0 (no limit), because the computations
# need a number.
NO_LIMIT = 3600.0  # seconds

# The maximum number of entries in `Connector._answered` and in `Connector._turns`. The oldest entry
# is dropped first.
_MOST_ANSWERED = 10_000

# For this many seconds after an address of a proxy has failed, or has led to another node than a
# host name stands for, the other addresses of the name are tried before it.
_LAST_AFTER_FAILURE = 30.0

# The methods of these two classes never block, so they are called on the loop. Methods of a user's
# subclass may block, so they are called in another thread.
_NEVER_BLOCKING = frozenset({PlainTextAuthProvider, PlainTextAuthenticator})

# The server-side authenticators of Cassandra 5.0 that accept the client's TLS certificate as its
# login. MutualTlsWithPasswordFallbackAuthenticator asks clients without a certificate for a
# password.
_BY_CERTIFICATE = frozenset(
    f"org.apache.cassandra.auth.{name}"
    for name in ("MutualTlsAuthenticator", "MutualTlsWithPasswordFallbackAuthenticator")
)


class _Certificate(Authenticator):
    """The client-side authenticator for a server that accepts the client's TLS certificate.

    The certificate is the whole login. So if the server sends a challenge, raise an error.
    """

    def evaluate_challenge(self, challenge: bytes | None) -> bytes | None:
        raise AuthenticationFailed(
            "the server asks for more than the client's certificate, and no auth_provider is "
            "configured"
        )


class Connector:
    """Opens the connections of a cluster, at most `Settings.max_simultaneous_opens` at a time."""

    def __init__(self, settings: Settings, environment: Environment) -> None:
        self._settings = settings
        self._environment = environment
        self._loop = environment.loop
        # Limits how many connections are opened at the same time.
        self._open_slots = asyncio.Semaphore(settings.max_simultaneous_opens)
        # The TLS connections whose transports are not closed yet.
        self._tls_connections: InsertionOrdered[Connection] = InsertionOrdered()
        self._all_closed = asyncio.Event()  # set when `_tls_connections` has become empty
        # Generates local ports with which a connection reaches a given shard of a ScyllaDB node.
        self._local_ports = ShardAwarePortGenerator(
            *settings.local_ports, random=environment.random
        )
        # The end points to which a connection was opened before. If a connection to any other end
        # point fails, the error suggests that the host may expect TLS.
        # Each value is the IP address of the latest connection to the end point's node, or None for
        # a Unix socket.
        self._answered: dict[EndPoint, str | None] = {}
        # For each end point whose addresses all lead to one node: how many connections have begun
        # at one of its addresses. The number determines the first address for the next connection.
        self._turns: dict[EndPoint, int] = {}
        # For addresses of such end points that could not be connected to, and for addresses that
        # have led to another node: the loop's time of the last failure, by (IP address, port).
        self._failed_addresses: dict[tuple[str, int], float] = {}
        self._has_warned_of_login = False
        self._has_warned_of_compression = False
        # The protocol version for the next connection. It is lowered if a server rejects it.
        self.version = settings.protocol_version
        # Called with the new version after it was lowered.
        self.on_version: Callable[[int], None] = _ignore_version
        # Called with (end point, kind, error) for each connection that could not be opened.
        # `RequestObserver.on_connection_failure` lists the kinds.
        self.on_failure: Callable[[EndPoint, str, Exception], None] = _ignore_failure

    def on_login_not_asked(self, endpoint: EndPoint) -> None:
        """Log a warning once if a server accepts a connection without the configured login."""
        if not self._has_warned_of_login:
            self._has_warned_of_login = True
            log.warning(
                "%s does not ask for a login, so auth_provider is not used: anyone may connect, "
                "unless the server identifies clients in another way (authenticator of "
                "cassandra.yaml)",
                endpoint,
            )

    def on_compression_not_used(self, connection: Connection) -> None:
        """Log a warning once if the version that we have chosen does not allow the compression."""
        if not self._has_warned_of_compression:
            self._has_warned_of_compression = True
            log.warning(
                "compression=%r is not used, because protocol version %d does not allow it: set "
                "compression='lz4', or protocol_version=4",
                self._settings.compression, connection.version,
            )  # fmt: skip

    async def settle(self) -> None:
        """Wait until the transports of closed connections have closed.

        Wait at most GOODBYE_TIMEOUT seconds: each transport sends a closing message of TLS to its
        peer. If the loop were closed earlier, asyncio would log warnings.
        """
        if self._tls_connections:
            self._all_closed.clear()
            try:
                with suppress(asyncio.TimeoutError):
                    await within(GOODBYE_TIMEOUT, self._all_closed.wait())
            finally:  # also if this call is cancelled because the loop ends
                for connection in list(self._tls_connections):
                    connection.abort()
        # asyncio closes transports in the next two iterations of the loop.
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    def _on_tls_connection_lost(self, connection: Connection) -> None:
        """Called when a TLS connection's transport is closed; after the last, wake `settle`."""
        self._tls_connections.discard(connection)
        if not self._tls_connections:
            self._all_closed.set()

    async def open(
        self,
        endpoint: EndPoint,
        target: ShardTarget | None = None,
        is_control: bool = False,
    ) -> Connection:
        """Open a connection that is ready for requests.

        Each error message names the end point.

        :param target: the shard of a ScyllaDB node to connect to, and the port for that shard; None
            for any shard.
        :param is_control: True for the control connection, which sends more startup options.
        :raises OperationTimedOut: after the connect timeout.
        :raises AuthenticationFailed: if the server rejects the login.
        :raises ProtocolVersionUnsupported: if the server supports no protocol version that may be
            used.
        :raises ConnectionException: for any other failure of the network or the server.
        """
        # Without a limit, all TLS handshakes would be done at once when a cluster comes back.
        async with self._open_slots:
            while True:
                # Read the version again before each try, because another connection may have
                # lowered it while this connection was being opened.
                version = self.version
                try:
                    return await self._open_in_time(endpoint, version, target, is_control)
                except ProtocolVersionUnsupported as error:
                    self._downgrade(version, error)

    def _port_hint(self, endpoint: EndPoint) -> str:
        """Return a hint if nodes have answered, but never on the port of `endpoint`; else "".

        A node may have one port with TLS and one without it. The cluster names only one of them to
        its clients, and the contact points may have the other one.
        """
        # An end point of a Unix socket has no port, and an application's end point may have none.
        port = getattr(endpoint, "port", None)
        ports = {
            str(known_port)
            for known in self._answered
            if (known_port := getattr(known, "port", None))
        }
        if not port or not ports or str(port) in ports:
            return ""
        return (
            f" (Other nodes have answered on port {', '.join(sorted(ports))}. If the cluster names "
            f"port {port}, as native_port in system.peers_v2, an endpoint_factory can replace it.)"
        )

    def _downgrade(self, version: int, error: ProtocolVersionUnsupported) -> None:
        """Use the next lower protocol version, because the server has rejected `version`.

        If there is no lower version, raise `error`.
        """
        lower = ProtocolVersion.get_lower_supported(version)
        # If the application has chosen a version, do not try another version.
        if self._settings.only_version is not None or not lower:
            self.on_failure(error.endpoint, "protocol", error)
            raise error
        if self.version == version:  # otherwise another connection has lowered it already
            log.info(
                "%s does not speak protocol version %d: %d is tried", error.endpoint, version, lower
            )
            self.version = lower
            self.on_version(lower)

    async def _open_in_time(
        self, endpoint: EndPoint, version: int, target: ShardTarget | None, is_control: bool
    ) -> Connection:
        """Open a connection with one protocol version, within the connect timeout.

        Errors of the operating system and of TLS are converted to the driver's errors.
        """
        timeout = self._settings.connect_timeout or NO_LIMIT
        connection = Connection(endpoint, version, self._loop, self._settings.sockopts or ())
        connection.is_control_connection = is_control
        connection.answered_before = endpoint in self._answered
        connection.port_hint = partial(self._port_hint, endpoint)
        try:
            opening = self._open(endpoint, connection, target)
            await within(timeout, opening, skips_pauses=True)
        except asyncio.TimeoutError:
            # The peer may say nothing if its port expects TLS and we do not use TLS, or the other
            # way round. So add the hint about ports.
            hint = (
                connection.port_hint()
                if connection.is_reached and not connection.received_anything
                else ""
            )
            error: Exception = OperationTimedOut(
                f"{_describe_timeout(endpoint, connection, timeout)}{hint} "
                "(Cluster.connect_timeout)",
                endpoint,
                timeout,
            )
            connection.close(error)
            self.on_failure(endpoint, "timeout", error)
            raise error from None
        except OSError as cause:  # including errors of TLS
            tls_reason = _tls_failure_reason(connection, cause)
            hint = ""
            if connection.tls is not None and connection.tls.is_missing(cause):
                hint = connection.port_hint()
            error = ConnectionException(
                f"TLS with {endpoint} failed: {tls_reason}{hint}"
                if tls_reason
                else f"{endpoint} cannot be connected to: {_system_reason(cause)}",
                endpoint,
            )
            connection.close(error)
            self.on_failure(endpoint, "tls" if tls_reason else "network", error)
            raise error from cause
        except BaseException as cause:
            # If the server does not support the version, `_downgrade` decides whether that is a
            # failure.
            if isinstance(cause, Exception) and not isinstance(cause, ProtocolVersionUnsupported):
                self.on_failure(endpoint, _kind_of_failure(connection, cause), cause)
            # The transport may be open already, even after a cancellation: close it.
            connection.close(cause if isinstance(cause, Exception) else None)
            raise
        if not connection.is_at_other_address:
            self.note_address(connection)
        return connection

    def note_address(self, connection: Connection) -> None:
        """Record the address at which the node of an end point was reached.

        The next connections of a pool try this address first.
        """
        endpoint = connection.endpoint
        self._answered.pop(endpoint, None)  # so that the new entry is at the end
        self._answered[endpoint] = connection.ip_address
        if len(self._answered) > _MOST_ANSWERED:
            del self._answered[next(iter(self._answered))]

    def note_wrong_node(self, connection: Connection, target: ShardTarget | None) -> None:
        """Try the other addresses of a host name first, because this one led to another node."""
        if connection.ip_address is not None:
            port = connection.endpoint.resolve()[1] if target is None else target.port
            self._note_failure(connection.ip_address, port)

    async def _open(
        self, endpoint: EndPoint, connection: Connection, target: ShardTarget | None
    ) -> None:
        try:
            await self._connect(endpoint, connection, target)
            await _Handshake(self, self._settings, endpoint, connection).run()
        except BaseException:  # `_open_in_time` cancels this coroutine after the connect timeout
            # With TLS 1.3, a server rejects a session only after the client's side of the TLS
            # handshake: it closes the connection, refuses the login, or says nothing. So a failure
            # of any kind may be due to the session.
            if connection.tls is not None:
                connection.tls.forget_session()
            raise

    async def _connect(
        self, endpoint: EndPoint, connection: Connection, target: ShardTarget | None
    ) -> None:
        """Connect the transport.

        If the end point is a host name with several addresses, try the addresses in order. Each
        address gets an equal share of the remaining time. The connections of a pool begin at the
        address at which the node was reached before, which gets half of the time.
        """
        # `_open_in_time` limits the time from here on, so the steps before the first address count.
        deadline = self._loop.time() + (self._settings.connect_timeout or NO_LIMIT)
        address, port = endpoint.resolve()
        if target is not None:
            port = target.port
        tls_client = self._settings.tls
        tls: dict[str, Any] = {}
        if tls_client is not None:
            handshake = connection.tls = await tls_client.begin(endpoint, self.in_thread)
            connection.on_lost = self._on_tls_connection_lost
            connection.on_made = self._tls_connections.add
            tls = {"ssl": handshake, "server_hostname": handshake.server_hostname}
        if endpoint.socket_family == getattr(socket, "AF_UNIX", None):
            await self._environment.connect_unix(lambda: connection, address, tls=tls)
            return
        addresses = await self._addresses(endpoint, address, port)
        # The address at which the node of this end point was reached before. The host name may lead
        # to several nodes by now, so `ConnectionOpener.open_to` checks a connection of a pool to
        # any other address of the name.
        known_address: str | None = None
        begins_at_known = False
        first_shares = len(addresses)  # 1 / `first_shares` is the first address's part of the time
        if endpoint.leads_to_one_node and len(addresses) > 1:
            addresses = self._in_turn(endpoint, addresses, port)
        elif (latest_address := self._answered.get(endpoint)) in addresses:
            known_address = latest_address
            if not connection.is_control_connection:
                begins_at_known = True
                addresses.remove(latest_address)
                addresses = [latest_address, *self._without_failure_first(addresses, port)]
                first_shares = min(first_shares, 2)
        failure: OSError | asyncio.TimeoutError | None = None
        for index, ip_address in enumerate(addresses):
            addresses_left = len(addresses) - index
            shares = addresses_left if index else first_shares
            connecting = self._connect_to_address(connection, ip_address, port, tls, target)
            try:
                # An address that does not respond must not use up the time of the other addresses.
                # The last address needs no limit here, because `_open_in_time` limits the whole
                # time.
                await within(
                    (deadline - self._loop.time()) / shares if shares > 1 else None,
                    connecting,
                    skips_pauses=True,
                )
                connection.ip_address = ip_address
                connection.is_at_other_address = known_address not in (None, ip_address)
                self._failed_addresses.pop((ip_address, port), None)
                return
            except (OSError, asyncio.TimeoutError) as error:
                # If the transport was already connected when the time limit ended, do not try the
                # next address: when that transport closes, it also closes `connection`.
                if connection.is_connected:
                    raise
                if endpoint.leads_to_one_node:
                    self._note_failure(ip_address, port)
                # If the addresses failed in different ways, raise a TLS error rather than the error
                # of an address that cannot be reached: the TLS error says more about the cause.
                # Otherwise raise the error of the address at which the node is known to be, or the
                # last error.
                if (
                    failure is None
                    or _is_tls_failure(connection, error)
                    or not (begins_at_known or _is_tls_failure(connection, failure))
                ):
                    failure = error
                log.debug("%s of %s cannot be connected to: %r", ip_address, endpoint, error)
        assert failure is not None  # because a name has at least one address
        try:
            raise failure
        finally:
            del failure  # otherwise the error's traceback would refer to the error

    def _in_turn(self, endpoint: EndPoint, addresses: list[str], port: int) -> list[str]:
        """Return the addresses of one node in the order in which to try them.

        Each connection begins at the next address, so the connections spread over all addresses.
        Addresses that have failed a short time ago come last.

        :param addresses: the addresses in the resolver's order.
        """
        # Let different end points begin at different addresses. Each end point may have a single
        # connection, and these connections would otherwise all use the same address.
        turn = self._turns.pop(endpoint, len(self._turns))
        self._turns[endpoint] = turn + 1
        if len(self._turns) > _MOST_ANSWERED:
            del self._turns[next(iter(self._turns))]
        # Name servers shuffle their answers, so sort the addresses: the turns need a fixed order.
        # Keep the address family (IPv4 or IPv6) that the resolver returned first at the beginning,
        # because this machine may not be able to use the other family.
        is_first_ipv6 = _is_ipv6(addresses[0])
        in_order: list[str] = []
        for is_ipv6 in (is_first_ipv6, not is_first_ipv6):
            family = sorted(address for address in addresses if _is_ipv6(address) == is_ipv6)
            start = turn % len(family) if family else 0
            in_order += family[start:] + family[:start]
        return self._without_failure_first(in_order, port)

    def _without_failure_first(self, addresses: list[str], port: int) -> list[str]:
        """Return `addresses` in their order, but those that have failed a short time ago last."""
        now = self._loop.time()
        return sorted(addresses, key=lambda address: self._has_just_failed(address, port, now))

    def _has_just_failed(self, address: str, port: int, now: float) -> bool:
        """Return True if the latest attempt to connect to an address has failed, and recently."""
        failed_at = self._failed_addresses.get((address, port))
        return failed_at is not None and now - failed_at < _LAST_AFTER_FAILURE

    def _note_failure(self, address: str, port: int) -> None:
        """Record that an address has failed, and forget failures that are not recent."""
        now = self._loop.time()
        # The dict is in the order of the failures' times. Remove the address before adding it, so
        # that it becomes the last entry, and delete old failures from the beginning.
        self._failed_addresses.pop((address, port), None)
        self._failed_addresses[address, port] = now
        for address_and_port in list(self._failed_addresses):
            if self._has_just_failed(*address_and_port, now):
                break
            del self._failed_addresses[address_and_port]

    async def _connect_to_address(
        self,
        connection: Connection,
        address: str,
        port: int,
        tls: dict[str, Any],
        target: ShardTarget | None,
    ) -> None:
        """Connect the transport to one IP address.

        :param tls: the arguments `ssl` and `server_hostname` of ``loop.create_connection``; empty
            without TLS.
        :param target: the shard to connect to; None for any shard.
        """

        def on_reached() -> None:
            connection.is_reached = True

        # A ScyllaDB node chooses the shard by the client's local port: try only local ports that
        # lead to the requested shard.
        local_ports = (
            None if target is None else self._local_ports.generate(target.shard, target.shards)
        )
        await self._environment.connect(
            lambda: connection,
            address,
            port,
            tls=tls,
            local_ports=local_ports,
            on_reached=on_reached,
        )

    @property
    def may_check_names(self) -> bool:
        """True if certificates may be checked against the name or address of the end point.

        False if we know that certificates need not match it.
        """
        tls_client = self._settings.tls
        return tls_client is not None and tls_client.may_compare_addresses

    async def _addresses(self, endpoint: EndPoint, address: str, port: int) -> list[str]:
        """Return the IP addresses of `address`, which may be a host name."""
        if is_ip_address(address):
            return [address]
        return await self._environment.addresses(address, port, endpoint.socket_family)

    async def in_thread(self, function: Callable[..., _Result], *args: Any) -> _Result:
        """Run a function, which may block, in another thread than the loop's.

        Examples are reverse DNS lookups and functions of the application.
        """
        return await self._environment.in_thread(function, *args)


class _Handshake:
    """The handshake on a connected transport, until the connection is ready for requests."""

    def __init__(
        self, connector: Connector, settings: Settings, endpoint: EndPoint, connection: Connection
    ) -> None:
        self._connector = connector
        self._settings = settings
        self._endpoint = endpoint
        self._connection = connection
        # The client's side of the login; None until the server asks for a login.
        self._authenticator: Any = None
        # Decides which messages to send, and parses the responses. It does no I/O.
        self._protocol = ProtocolConnection(
            connection.version,
            compression=settings.compression or False,
            startup_options=settings.startup_options,
            cql_version=settings.cql_version,
            allow_beta=settings.allow_beta_protocol_version,
            extensions=ScyllaExtensions(
                partial(settings.scylla_options, connection.is_control_connection)
                if settings.scylla_options is not None
                else None,
                tablets_routing_v2=True,
                use_metadata_id=True,
            ),
            is_version_chosen=settings.only_version is not None,
        )

    async def run(self) -> None:
        """Exchange messages with the server until the connection is ready.

        `self._protocol` returns the actions to perform after each response. At most one action
        sends the next message.
        """
        actions: Sequence[Action] = self._protocol.start()
        while True:
            next_message: Send | None = None
            # Perform all actions; one of them may yield the next message to send.
            for action in actions:
                if isinstance(action, Send):
                    next_message = action
                elif isinstance(action, Ready):
                    await self._on_ready(action)
                    return
                else:
                    reply = await self._perform(action)
                    next_message = reply or next_message
            # If nothing is sent, no response will come: fail now instead of at the timeout.
            if next_message is None:
                raise ProtocolError(
                    f"the handshake with {self._endpoint} came to no end: {actions!r}"
                )
            # Send the message, and let the protocol object decide what follows from the response.
            opcode, flags, body = await self._exchange(next_message)
            actions = self._protocol.receive(
                next_message.stream, opcode, flags, body, self._connection.peer_version
            )

    async def _on_ready(self, ready: Ready) -> None:
        """Finish the handshake: use the agreed features, and register for GRACEFUL_DISCONNECT."""
        features = ready.features
        if isinstance(self._settings.compression, str) and ready.compression is None:
            self._connector.on_compression_not_used(self._connection)
        # Use GRACEFUL_DISCONNECT only if the server offers it and the setting allows it.
        features.graceful_disconnect &= self._settings.graceful_disconnect_enabled
        self._connection.use_features(features)
        if self._authenticator is None and self._settings.auth_provider is not None:
            self._connector.on_login_not_asked(self._endpoint)
        if self._connection.tls is not None:
            self._connection.tls.keep_session()
        if features.graceful_disconnect:
            await self._register(features)

    async def _register(self, features: ProtocolFeatures) -> None:
        """Register for the event GRACEFUL_DISCONNECT (Cassandra's CEP-59).

        With this event, the server announces that it will close the connection.

        Some servers offer the event but reject the registration, for example in an older protocol
        version. The connection then works without the event.
        """
        connection = self._connection
        message = RegisterMessage([GRACEFUL_DISCONNECT])
        envelope = Send(
            stream=0,
            opcode=message.opcode,
            flags=0,
            body=message.body(connection.version),
        )
        response = read_answer(connection, message.opcode, None, *await self._exchange(envelope))
        if isinstance(response, ErrorMessage):
            features.graceful_disconnect = False
            log.debug(
                "%s does not announce that it closes connections: %s",
                self._endpoint, response.summary_msg(),
            )  # fmt: skip

    async def _exchange(self, message: Send) -> tuple[int, int, bytes]:
        """Send `message`, and return the (opcode, flags, body) of its response."""
        # Wait without a timeout, because `_open_in_time` limits the time of all steps together.
        responder = FutureResponder(asyncio.get_running_loop().create_future())
        self._connection.send(responder, message.opcode, message.flags, message.body)
        return await responder.future

    async def _perform(self, action: Action) -> Send | None:
        """Perform an action of the protocol object; return the message to send next, if any."""
        if isinstance(action, SetCompression):
            self._connection.use_compression(action.algorithm)
        elif isinstance(action, EnableSegments):
            self._connection.use_segments()
        # The server asks for a login, then may send challenges, and finally accepts the login.
        elif isinstance(action, AuthenticationWanted):
            return await self._first_login_message(action)
        elif isinstance(action, Challenge):
            token = await self._call_token_method(
                self._authenticator.evaluate_challenge, action.token
            )
            return _single_message(self._protocol.respond(token))
        elif isinstance(action, Authenticated):
            await self._call_auth_method(
                self._authenticator.on_authentication_success, action.token
            )
        elif isinstance(action, VersionRefused):
            raise ProtocolVersionUnsupported(self._endpoint, self._connection.version)
        elif isinstance(action, Failed):
            raise self._with_endpoint(action.error)
        return None

    async def _first_login_message(self, action: AuthenticationWanted) -> Send:
        """Return the first message of the login, which contains the authenticator's token."""
        provider = self._settings.auth_provider
        # Some servers identify the client by its TLS certificate, and ignore the token. Send an
        # empty token to them.
        if provider is None and self._is_known_by_certificate(action):
            self._authenticator = _Certificate()
            return _single_message(self._protocol.respond(b""))
        if provider is None:
            raise AuthenticationFailed(
                f"{self._endpoint} asks for authentication ({action.authenticator}), "
                "and no auth_provider is configured"
            )
        # Ask the application's auth provider for the first token.
        self._authenticator = await self._call_auth_method(
            provider.new_authenticator, self._endpoint.address
        )
        self._authenticator.server_authenticator_class = action.authenticator
        token = await self._call_token_method(self._authenticator.initial_response)
        return _single_message(self._protocol.respond(token))

    def _is_known_by_certificate(self, action: AuthenticationWanted) -> bool:
        """Return True if the server authenticates this client by its TLS certificate.

        Such a server nevertheless asks for a token, but ignores it.
        """
        return self._connection.tls is not None and action.authenticator in _BY_CERTIFICATE

    async def _call_token_method(self, function: Callable[..., Any], *args: Any) -> Token | None:
        """Call `_call_auth_method`, and wrap the returned token in a `Token`, which hides it.

        The token is wrapped where it is returned. So a traceback that shows the futures and frames
        that handle the token later cannot show a password.
        """
        token: Token | None = await self._call_auth_method(function, *args, convert=Token.of)
        return token

    async def _call_auth_method(
        self,
        function: Callable[..., Any],
        *args: Any,
        convert: Callable[[Any], Any] = lambda answer: answer,
    ) -> Any:
        """Call a method of the auth provider or authenticator, and return ``convert(result)``.

        The method may be a coroutine function, and it may block.

        :param convert: applied to the result where the method is called. By default, it returns the
            result unchanged.
        """
        # Methods of the driver's own classes never block, so call them on the loop.
        if isinstance(function, MethodType) and type(function.__self__) in _NEVER_BLOCKING:
            return convert(function(*args))
        if inspect.iscoroutinefunction(function):
            result = function(*args)
        else:
            result = await self._connector.in_thread(_call_and_convert, convert, function, *args)
            # A plain function may return an awaitable, which only the loop can await.
            if not inspect.isawaitable(result):
                return result
        try:
            return convert(await result)
        except (SystemExit, KeyboardInterrupt) as error:
            # The error would end the task, and nobody would try to connect again.
            raise as_exception(error) from error

    def _with_endpoint(self, error: Exception) -> Exception:
        """Return `error`, or a copy of it with the end point in its message."""
        # Return the error unchanged if its message names the end point already, or if it is not an
        # error of the driver.
        if str(self._endpoint) in str(error) or not isinstance(error, DriverException):
            return error
        message = f"{self._endpoint}: {error}"
        error_with_endpoint: Exception = (
            ConnectionException(message, self._endpoint)
            if isinstance(error, ConnectionException)
            else type(error)(message)
        )
        error_with_endpoint.__cause__ = error.__cause__
        return error_with_endpoint


def _call_and_convert(
    convert: Callable[[Any], Any], function: Callable[..., Any], *args: Any
) -> object:
    """Call `function` in a thread other than the loop's; return ``convert(result)``.

    An awaitable result is returned unchanged, because only the loop can await it.
    """
    # The result may be a password. Wrap it in a `Secret`, so that a traceback that shows the local
    # variables of this frame does not show it.
    secret = Secret(function(*args))
    return secret.reveal() if inspect.isawaitable(secret.reveal()) else convert(secret.reveal())


def _single_message(actions: Sequence[Action]) -> Send:
    """Return the message in `actions`, which must have one element.

    :raises ProtocolError: if the element is not a message.
    """
    (action,) = actions
    if not isinstance(action, Send):
        raise ProtocolError(f"a token is to be sent, but the handshake wants {action!r}")
    return action


def _ignore_failure(endpoint: EndPoint, kind: str, error: Exception) -> None:
    """Do nothing. This is the default of `Connector.on_failure`."""


def _ignore_version(version: int) -> None:
    """Do nothing. This is the default of `Connector.on_version`."""


def _kind_of_failure(connection: Connection, error: Exception) -> str:
    """Return the kind of an error of the handshake, for `RequestObserver.on_connection_failure`."""
    if isinstance(error, AuthenticationFailed):
        return "other" if isinstance(error, LoginNotChecked) else "authentication"
    if isinstance(error, ProtocolError):
        return "protocol"
    # If the connection is still open, the node has responded with an error, such as "overloaded".
    if not isinstance(error, ConnectionException) or not connection.closed:
        return "other"
    # With TLS 1.3, a server rejects the client's certificate only after the TLS handshake, and some
    # servers then just close the connection.
    is_rejected = (
        connection.tls is not None
        and connection.is_connected
        and not connection.received_anything
        and not connection.answered_before
    )
    return "tls" if is_rejected else "network"


def _tls_failure_reason(connection: Connection, error: BaseException) -> str | None:
    """Return why TLS failed; None if TLS is not in use or the network itself failed."""
    if connection.tls is None or not (connection.is_reached or connection.is_connected):
        return None
    return connection.tls.reason(error)


def _is_tls_failure(connection: Connection, error: BaseException) -> bool:
    """Return True if a server accepted the connection, and TLS failed then."""
    return _tls_failure_reason(connection, error) is not None


def _is_ipv6(address: str) -> bool:
    """Return True if an IP address is of version 6."""
    return ":" in address


def _describe_timeout(endpoint: EndPoint, connection: Connection, timeout: float) -> str:
    """Describe the step that was in progress when the connect timeout passed.

    :param timeout: the connect timeout in seconds.
    """
    # Each condition checks how far the connection came, except for the first condition, which
    # checks the length of the timeout.
    if timeout < _SHORT_TIMEOUT:
        return f"{endpoint} did not answer within {timeout:g} s, in which few nodes can"
    if connection.is_reached and not connection.is_connected:
        return f"{endpoint} accepted the connection, but did not complete the TLS handshake" + (
            ""
            if connection.answered_before
            else ": does the process hang, or does this port not speak TLS?"
        )
    if not connection.is_connected:
        return f"{endpoint} did not accept a connection"
    if not connection.received_anything and connection.answered_before:
        # Earlier connections to this end point worked, so a wrong port or TLS is not the cause.
        return f"{endpoint} accepted the connection and did not answer: the process hangs"
    if not connection.received_anything and connection.tls is not None:
        return (
            f"{endpoint} completed the TLS handshake and then said nothing: does the process hang, "
            "or is that another port than that of Cassandra's native transport?"
        )
    if not connection.received_anything:
        return (
            f"{endpoint} accepted the connection and then said nothing: "
            "is that the port of Cassandra's native transport, "
            "without TLS where none is configured?"
        )
    return f"{endpoint} accepted the connection, but did not complete the handshake"


def _system_reason(error: OSError) -> str:
    """Return the system's description of `error`, for example "Connection refused".

    We do not use the message of asyncio's errors: it says which call failed, but not why.
    """
    # The error numbers of gaierror differ from the numbers of other errors, so strerror would
    # return a wrong description for them.
    if error.errno is not None and not isinstance(error, socket.gaierror):
        return os.strerror(error.errno)
    return error.strerror or str(error) or type(error).__name__
