"""Opening a connection: resolve, connect, negotiate version and compression, authenticate.

The steps are `cassandra.protocol.connection`'s; this drives them over a transport, within one
deadline. A version that the server refuses is remembered, so that only the first connection of a
cluster pays for finding out.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import os
import socket
from collections.abc import Callable, Sequence
from functools import partial
from types import MethodType
from typing import TYPE_CHECKING, Any

from cassandra._secrets import Secret
from cassandra.auth import Authenticator, PlainTextAuthenticator, PlainTextAuthProvider, Token
from cassandra.engine.connection import Connection, FutureResponder
from cassandra.engine.endpoint import EndPoint, is_ip_address
from cassandra.engine.environment import Environment, InsertionOrdered
from cassandra.engine.pools.shard_ports import ShardAwarePortGenerator
from cassandra.engine.settings import Settings
from cassandra.engine.waiting import within
from cassandra.errors import (
    AuthenticationFailed,
    ConnectionException,
    DriverException,
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
from cassandra.versions import ProtocolVersion

if TYPE_CHECKING:
    from cassandra.engine.pools.shards import ShardTarget

log = logging.getLogger("cassandra.connection")

GOODBYE_TIMEOUT = 0.5  # seconds

NO_LIMIT = 3600.0  # seconds, for a setting that is None or 0: the loop counts with a number

# Known to need no thread; a subclass may do anything.
_NEVER_BLOCKING = frozenset({PlainTextAuthProvider, PlainTextAuthenticator})

# Cassandra 5.0's. The second one wants a password of clients without a certificate.
_BY_CERTIFICATE = frozenset(
    f"org.apache.cassandra.auth.{name}"
    for name in ("MutualTlsAuthenticator", "MutualTlsWithPasswordFallbackAuthenticator")
)


class _Certificate(Authenticator):
    """Logs in by the client's certificate alone."""

    def evaluate_challenge(self, challenge: bytes | None) -> bytes | None:
        raise AuthenticationFailed(
            "the server asks for more than the client's certificate, and no auth_provider is "
            "configured"
        )


class Connector:
    """Opens the connections of one cluster, at most `Settings.max_simultaneous_opens` at a time."""

    def __init__(self, settings: Settings, environment: Environment) -> None:
        self._settings = settings
        self._environment = environment
        self._loop = environment.loop
        self._free = asyncio.Semaphore(settings.max_simultaneous_opens)
        # Those with TLS whose transports are not closed yet.
        self._encrypted: InsertionOrdered[Connection] = InsertionOrdered()
        self._all_gone = asyncio.Event()
        self._local_ports = ShardAwarePortGenerator(
            *settings.local_ports, random=environment.random
        )
        self.version = settings.protocol_version

    def close(self) -> None:
        """Let go of the threads for calls that may block."""
        self._environment.close()

    async def settle(self) -> None:
        """Wait until the connections with TLS that were closed are, for a moment at most.

        Each says good-bye to its peer first; a loop that is closed meanwhile would complain.
        """
        if not self._encrypted:
            return
        self._all_gone.clear()
        try:
            await within(GOODBYE_TIMEOUT, self._all_gone.wait())
        except asyncio.TimeoutError:
            for connection in list(self._encrypted):
                connection.abort()

    def _forget(self, connection: Connection) -> None:
        self._encrypted.discard(connection)
        if not self._encrypted:
            self._all_gone.set()

    async def open(
        self,
        endpoint: EndPoint,
        target: ShardTarget | None = None,
        is_control: bool = False,
    ) -> Connection:
        """A connection that is ready for requests.

        :param target: the shard of a ScyllaDB node that it is to have, and the port that gives it.
        :param is_control: True for the control connection, which tells the server more.

        Raises, within the connect timeout: OperationTimedOut, AuthenticationFailed,
        ProtocolVersionUnsupported, ConnectionException for whatever else the network or the server
        does. Each names the end point.
        """
        # A cluster that comes back would otherwise get all TLS handshakes and logins at once.
        async with self._free:
            while True:
                # Read once for each try: another connection may lower it while this one waits.
                version = self.version
                try:
                    return await self._open_in_time(endpoint, version, target, is_control)
                except ProtocolVersionUnsupported as error:
                    self._downgrade(version, error)

    def _downgrade(self, version: int, error: ProtocolVersionUnsupported) -> None:
        # A version that the program has named is meant: no other one is tried.
        if self._settings.only_version is not None:
            raise error
        lower = ProtocolVersion.get_lower_supported(version)
        if not lower:
            raise error
        if self.version == version:  # else another connection has found out already
            log.info(
                "%s does not speak protocol version %d: %d is tried", error.endpoint, version, lower
            )
            self.version = lower

    async def _open_in_time(
        self, endpoint: EndPoint, version: int, target: ShardTarget | None, is_control: bool
    ) -> Connection:
        timeout = self._settings.connect_timeout or NO_LIMIT
        connection = Connection(endpoint, version, self._loop, self._settings.sockopts or ())
        connection.is_control_connection = is_control
        try:
            await within(timeout, self._open(endpoint, connection, target))
        except asyncio.TimeoutError:
            error: Exception = OperationTimedOut(
                f"{_why_late(endpoint, connection)} (Cluster.connect_timeout)", endpoint, timeout
            )
            connection.close(error)
            raise error from None
        except OSError as cause:  # of TLS, too
            why = _why_tls_failed(connection, cause)
            error = ConnectionException(
                f"TLS with {endpoint} failed: {why}"
                if why
                else f"{endpoint} cannot be connected to: {_reason(cause)}",
                endpoint,
            )
            connection.close(error)
            raise error from cause
        except BaseException as cause:
            # Also after a cancellation: the transport may be open already.
            connection.close(cause if isinstance(cause, Exception) else None)
            raise
        return connection

    async def _open(
        self, endpoint: EndPoint, connection: Connection, target: ShardTarget | None
    ) -> None:
        await self._connect(endpoint, connection, target)
        await _Handshake(self, self._settings, endpoint, connection).run()

    async def _connect(
        self, endpoint: EndPoint, connection: Connection, target: ShardTarget | None
    ) -> None:
        """Connect the transport; a name's addresses are tried one after the other, each for its
        share of the time that is left.
        """
        address, port = endpoint.resolve()
        if target is not None:
            port = target.port
        client = self._settings.tls
        tls: dict[str, Any] = {}
        if client is not None:
            shake = connection.tls = await client.begin(endpoint, self.in_thread)
            connection.on_lost = self._forget
            connection.on_made = self._encrypted.add
            tls = {"ssl": shake, "server_hostname": shake.server_hostname}
        if endpoint.socket_family == getattr(socket, "AF_UNIX", None):
            await self._environment.connect_unix(lambda: connection, address, tls=tls)
            return
        deadline = self._loop.time() + (self._settings.connect_timeout or NO_LIMIT)
        addresses = await self._addresses(endpoint, address, port)
        for later in range(len(addresses) - 1, -1, -1):
            connecting = self._connect_to_address(connection, addresses[~later], port, tls, target)
            try:
                # One that does not answer at all must not take the time of the others.
                await within(
                    (deadline - self._loop.time()) / (later + 1) if later else None, connecting
                )
                return
            except (OSError, asyncio.TimeoutError) as error:
                if not later:
                    raise
                log.debug("%s of %s cannot be connected to: %r", addresses[~later], endpoint, error)

    async def _connect_to_address(
        self,
        connection: Connection,
        address: str,
        port: int,
        tls: dict[str, Any],
        target: ShardTarget | None,
    ) -> None:
        def on_reached() -> None:
            connection.is_reached = True

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

    async def _addresses(self, endpoint: EndPoint, address: str, port: int) -> list[str]:
        """The IP addresses that `address` stands for."""
        if is_ip_address(address):
            return [address]
        return await self._environment.addresses(address, port, endpoint.socket_family)

    async def in_thread(self, function: Callable[..., Any], *args: Any) -> Any:
        """Run code of the program that may block, outside the loop: reverse DNS, say."""
        return await self._environment.in_thread(function, *args)


class _Handshake:
    """One connection's way from connected to ready."""

    def __init__(
        self, connector: Connector, settings: Settings, endpoint: EndPoint, connection: Connection
    ) -> None:
        self._connector = connector
        self._settings = settings
        self._endpoint = endpoint
        self._connection = connection
        self._authenticator: Any = None
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
        )

    async def run(self) -> None:
        """Exchange messages until the connection is ready, or an exception says why it is not."""
        actions: Sequence[Action] = self._protocol.start()
        while True:
            send: Send | None = None
            for action in actions:
                if isinstance(action, Send):
                    send = action
                elif isinstance(action, Ready):
                    self._connection.use_features(action.features)
                    if self._connection.tls is not None:
                        self._connection.tls.keep_session()
                    return
                else:
                    answer = await self._perform(action)
                    send = answer or send
            # Without a message no answer would come: the wait could only end by the timeout.
            if send is None:
                raise ProtocolError(
                    f"the handshake with {self._endpoint} came to no end: {actions!r}"
                )
            opcode, flags, body = await self._exchange(send)
            actions = self._protocol.receive(
                send.stream, opcode, flags, body, self._connection.peer_version
            )

    async def _exchange(self, send: Send) -> tuple[int, int, bytes]:
        # Without a time limit of its own: `_open_in_time` has one for all steps together.
        responder = FutureResponder(asyncio.get_running_loop().create_future())
        self._connection.send(responder, send.opcode, send.flags, send.body)
        return await responder.future

    async def _perform(self, action: Action) -> Send | None:
        if isinstance(action, SetCompression):
            self._connection.use_compression(action.algorithm)
        elif isinstance(action, EnableSegments):
            self._connection.use_segments()
        elif isinstance(action, AuthenticationWanted):
            return await self._first_token(action)
        elif isinstance(action, Challenge):
            token = await self._ask_token(self._authenticator.evaluate_challenge, action.token)
            return _only_send(self._protocol.respond(token))
        elif isinstance(action, Authenticated):
            await self._ask(self._authenticator.on_authentication_success, action.token)
        elif isinstance(action, VersionRefused):
            raise ProtocolVersionUnsupported(self._endpoint, self._connection.version)
        elif isinstance(action, Failed):
            raise self._named(action.error)
        return None

    async def _first_token(self, action: AuthenticationWanted) -> Send:
        provider = self._settings.auth_provider
        if provider is None and self._is_known_by_certificate(action):
            self._authenticator = _Certificate()
            return _only_send(self._protocol.respond(b""))
        if provider is None:
            raise AuthenticationFailed(
                f"{self._endpoint} asks for authentication ({action.authenticator}), "
                "and no auth_provider is configured"
            )
        self._authenticator = await self._ask(provider.new_authenticator, self._endpoint.address)
        self._authenticator.server_authenticator_class = action.authenticator
        token = await self._ask_token(self._authenticator.initial_response)
        return _only_send(self._protocol.respond(token))

    def _is_known_by_certificate(self, action: AuthenticationWanted) -> bool:
        """True if the certificate that TLS has shown is all that the server wants to know.

        It ignores the token, but asks for one all the same.
        """
        return self._connection.tls is not None and action.authenticator in _BY_CERTIFICATE

    async def _ask_token(self, function: Callable[..., Any], *args: Any) -> Token | None:
        """`_ask`, but the answer is a token from the first moment: the futures and frames that hand
        it on would show a password.
        """
        token: Token | None = await self._ask(function, *args, convert=Token.of)
        return token

    async def _ask(
        self,
        function: Callable[..., Any],
        *args: Any,
        convert: Callable[[Any], Any] = lambda answer: answer,
    ) -> Any:
        if isinstance(function, MethodType) and type(function.__self__) in _NEVER_BLOCKING:
            return convert(function(*args))
        if inspect.iscoroutinefunction(function):
            return convert(await function(*args))
        outcome = await self._connector.in_thread(_converted, convert, function, *args)
        return convert(await outcome) if inspect.isawaitable(outcome) else outcome

    def _named(self, error: Exception) -> Exception:
        """`error` with the end point in its message."""
        if str(self._endpoint) in str(error) or not isinstance(error, DriverException):
            return error
        message = f"{self._endpoint}: {error}"
        named: Exception = (
            ConnectionException(message, self._endpoint)
            if isinstance(error, ConnectionException)
            else type(error)(message)
        )
        named.__cause__ = error.__cause__
        return named


def _converted(convert: Callable[[Any], Any], function: Callable[..., Any], *args: Any) -> Any:
    answer = Secret(function(*args))
    return answer.reveal() if inspect.isawaitable(answer.reveal()) else convert(answer.reveal())


def _only_send(actions: Sequence[Action]) -> Send:
    (action,) = actions
    if not isinstance(action, Send):
        raise ProtocolError(f"a token is to be sent, but the handshake wants {action!r}")
    return action


def _why_tls_failed(connection: Connection, error: BaseException) -> str | None:
    """Return the meaning of an error if TLS is spoken; None if it is of the network alone."""
    if connection.tls is None or not (connection.is_reached or connection.is_connected):
        return None
    return connection.tls.reason(error)


def _why_late(endpoint: EndPoint, connection: Connection) -> str:
    """Say which step was waited for when the connect timeout passed."""
    if connection.is_reached and not connection.is_connected:
        return (
            f"{endpoint} accepted the connection, but did not complete the TLS handshake: "
            "does it expect TLS on this port?"
        )
    if not connection.is_connected:
        return f"{endpoint} did not accept a connection"
    if not connection.received_anything:
        return (
            f"{endpoint} accepted the connection and then said nothing: "
            "is that the port of Cassandra's native transport, "
            "without TLS where none is configured?"
        )
    return f"{endpoint} accepted the connection, but did not complete the handshake"


def _reason(error: OSError) -> str:
    """Return the system's name of the error; asyncio's own text says which call failed instead."""
    # The numbers of gaierror are getaddrinfo's own, which strerror does not know.
    if error.errno is not None and not isinstance(error, socket.gaierror):
        return os.strerror(error.errno)
    return error.strerror or str(error) or type(error).__name__
