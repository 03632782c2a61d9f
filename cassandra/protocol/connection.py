"""The handshake of one connection, without a socket, loop or clock.

Theory of operation. A `ProtocolConnection` is told to `start()`, and then each message that was
received. It answers with actions: send this, switch that, ask the caller. The handshake is a table:
state and opcode lead to a method, and anything else is an error of the peer. Authentication is the
caller's part: an action carries the server's request, and `respond` takes the token. An
authenticator may block, so it may run in any thread.

    OPTIONS -> SUPPORTED -> STARTUP -> READY                                            done
                                    -> AUTHENTICATE -> AUTH_RESPONSE -> AUTH_CHALLENGE  ->
                                    AUTH_RESPONSE ...
                                                                     -> AUTH_SUCCESS    done

Two errors end it early. If the server does not speak the version (`VersionRefused`), try a lower
one over a new connection. Or the server refuses us (`Failed`). With protocol 5, segments begin
after READY or AUTHENTICATE, in both directions (native_protocol_v5.spec, 2.3.1). In earlier
versions the answer to STARTUP may already be compressed, so compression is set as STARTUP is sent.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from cassandra._patterns import pattern
from cassandra.errors import (
    AuthenticationFailed,
    ConnectionException,
    DriverException,
    ProtocolError,
)
from cassandra.protocol import opcodes
from cassandra.protocol.compression import compression, first_available
from cassandra.protocol.extras import standing_flags
from cassandra.protocol.features import ProtocolFeatures
from cassandra.protocol.messages.control import (
    DEFAULT_CQL_VERSION,
    AuthChallengeMessage,
    AuthenticateMessage,
    AuthResponseMessage,
    AuthSuccessMessage,
    ReadyMessage,
    StartupMessage,
    SupportedMessage,
)
from cassandra.protocol.messages.decode import decode_response
from cassandra.protocol.messages.errors import BadCredentials, ErrorMessage, ProtocolException
from cassandra.versions import ProtocolVersion


class Send(NamedTuple):
    """Write this envelope."""

    stream: int
    opcode: int
    flags: int
    body: bytes


class SetCompression(NamedTuple):
    """From the next envelope on, compress requests and expect compressed responses."""

    algorithm: str


class EnableSegments(NamedTuple):
    """From the next byte on, use segments in both directions."""


class AuthenticationWanted(NamedTuple):
    """The server wants a login by this authenticator (a Java class name).

    `respond` with the first token.
    """

    authenticator: str


class Challenge(NamedTuple):
    """The server's token: `respond` with the answer to it."""

    token: bytes | None


class Authenticated(NamedTuple):
    """The login succeeded; this is the server's last token. `Ready` follows at once."""

    token: bytes | None


class Ready(NamedTuple):
    """The handshake is done.

    `compression` is the algorithm that both sides agreed on. `supported` holds the options of
    SUPPORTED, with CQL_VERSION.
    """

    features: ProtocolFeatures
    compression: str | None
    supported: Mapping[str, Sequence[str]]


class VersionRefused(NamedTuple):
    """The server does not speak the version.

    `server_version` is the version of its answer. `offered` are the versions that it names, highest
    first, without betas.
    """

    server_version: int
    message: str
    offered: tuple[int, ...]


class Failed(NamedTuple):
    """The handshake ended with this error."""

    error: Exception


Action = (
    Send
    | SetCompression
    | EnableSegments
    | AuthenticationWanted
    | Challenge
    | Authenticated
    | Ready
    | VersionRefused
    | Failed
)


class State(enum.Enum):
    """The state of the handshake."""

    NEW = "new"
    OPTIONS_SENT = "waits for SUPPORTED"
    STARTUP_SENT = "waits for READY or AUTHENTICATE"
    AUTH_WANTED = "waits for the caller's token"
    AUTH_SENT = "waits for AUTH_CHALLENGE or AUTH_SUCCESS"
    READY = "ready"
    CLOSED = "closed"


# Cassandra's words for a version that it does not speak; ScyllaDB's are alike. There is no code of
# its own for it.
_VERSION_REFUSED = pattern(r"(unsupported|invalid|beta).{0,40}version|USE_BETA flag", re.IGNORECASE)
_VERSION_OFFERED = pattern(r"(\d+)/v\d+(-beta)?")


def offered_versions(options: Mapping[str, Sequence[str]] | str) -> tuple[int, ...]:
    """Return the versions named in PROTOCOL_VERSIONS or in an error's text, highest first.

    Betas are left out.
    """
    text = options if isinstance(options, str) else " ".join(options.get("PROTOCOL_VERSIONS", ()))
    return tuple(
        sorted({int(m[1]) for m in _VERSION_OFFERED.finditer(text) if not m[2]}, reverse=True)
    )


class ScyllaExtensions(NamedTuple):
    """The extensions that a client agrees on with servers of ScyllaDB, if they have them."""

    startup_options: Callable[[], Mapping[str, str]] | None = None
    """Gives further options for STARTUP; called once SUPPORTED shows such a server."""

    tablets_routing_v2: bool = False
    """Every EXECUTE must then end with the byte of that extension."""

    use_metadata_id: bool = False
    """Every EXECUTE of version 4 must then have a result metadata id, as in version 5."""


NO_EXTENSIONS = ScyllaExtensions()


class ProtocolConnection:
    """The client's side of a handshake.

    :param version: protocol version to speak.
    :param compression: True for the first algorithm that both sides have. A name insists on that
        one. None or False turns compression off.
    :param startup_options: further options for STARTUP, such as DRIVER_NAME.
    :param cql_version: CQL version to insist on.
    :param allow_beta: opt in to a version that the server calls a beta.
    :param extensions: options to agree on with servers of ScyllaDB.
    """

    def __init__(
        self,
        version: int,
        *,
        compression: bool | str | None = None,
        startup_options: Mapping[str, str] | None = None,
        cql_version: str | None = None,
        allow_beta: bool = False,
        extensions: ScyllaExtensions = NO_EXTENSIONS,
    ) -> None:
        self.version = version
        self.state = State.NEW
        self.features = ProtocolFeatures()
        self.supported: Mapping[str, Sequence[str]] = {}
        self.compression: str | None = None
        self._requested_compression = compression
        self._extensions = extensions
        self._startup_options = dict(startup_options or {})
        self._cql_version = cql_version
        # The engine's FrameWriter adds the flag too; here it serves programs that write by
        # themselves.
        self._flags = standing_flags(version) if allow_beta else 0
        # One stream is enough: no request follows before the answer to the last one is there.
        self._stream = 0

    def start(self) -> list[Action]:
        """Begin the handshake; call this once."""
        if self.state is not State.NEW:
            raise RuntimeError(f"the handshake has begun already: it {self.state.value}")
        self.state = State.OPTIONS_SENT
        return [self._send(opcodes.OPTIONS, b"")]

    def respond(self, token: bytes | None) -> list[Action]:
        """Take the caller's token for `AuthenticationWanted` or `Challenge`."""
        if self.state is not State.AUTH_WANTED:
            raise RuntimeError(f"no token was asked for: the handshake {self.state.value}")
        self.state = State.AUTH_SENT
        return [self._send(opcodes.AUTH_RESPONSE, AuthResponseMessage(token).body(self.version))]

    def receive(
        self, stream: int, opcode: int, flags: int, body: bytes, version: int | None = None
    ) -> list[Action]:
        """Take one envelope during the handshake.

        The connection cannot be used after `VersionRefused` or `Failed`.
        """
        if self.state in (State.NEW, State.READY, State.CLOSED):
            raise RuntimeError(
                f"the handshake does not wait for a message: it is {self.state.value}"
            )
        try:
            # A handshake has one request at a time, so there is only one stream to answer on.
            if stream != self._stream:
                raise ProtocolError(
                    f"an answer on stream {stream}, but only stream {self._stream} has a request"
                )
            message = decode_response(opcode, flags, body, version or self.version)
            if isinstance(message, ErrorMessage):
                return self._error(message, version or self.version)
            step = _TABLE.get((self.state, opcode))
            if step is None:
                name = opcodes.OPCODE_NAMES.get(opcode, opcode)
                raise ProtocolError(f"a {name} message came while the handshake {self.state.value}")
            return step(self, message)
        except DriverException as error:
            return self._fail(error)

    def _send(self, opcode: int, body: bytes) -> Send:
        return Send(self._stream, opcode, self._flags, body)

    def _fail(self, error: Exception) -> list[Action]:
        self.state = State.CLOSED
        return [Failed(error)]

    # -- one method for each entry of the table ----------------------------------------------------

    def _on_supported(self, message: SupportedMessage) -> list[Action]:
        self.supported = {**message.options, "CQL_VERSION": message.cql_versions}
        self.features = ProtocolFeatures.parse_from_supported(self.supported)
        # These two change the form of EXECUTE: agreed on with a server, and not written, they make
        # every one of them malformed.
        extensions = self._extensions
        self.features.tablets_routing_v2 &= extensions.tablets_routing_v2
        # Only the newest version that is read: the second includes the first.
        self.features.tablets_routing_v1 &= not self.features.tablets_routing_v2
        self.features.use_metadata_id &= extensions.use_metadata_id
        options = dict(self._startup_options)
        self.features.add_startup_options(options)
        if extensions.startup_options is not None and self.features.is_scylla:
            # What the program has named by itself counts.
            options = {**extensions.startup_options(), **options}
        self.compression = self._choose_compression(self.supported.get("COMPRESSION", ()))
        if self.compression is not None:
            options["COMPRESSION"] = self.compression
        self.state = State.STARTUP_SENT
        cql_version = self._choose_cql_version(message.cql_versions)
        startup: Action = self._send(
            opcodes.STARTUP, StartupMessage(cql_version, options).body(self.version)
        )
        # Already the answer to STARTUP may be compressed (section 2.3.2); STARTUP itself never is,
        # which `FrameWriter` sees to.
        return (
            [SetCompression(self.compression), startup]
            if self.compression is not None
            else [startup]
        )

    def _choose_cql_version(self, offered: Sequence[str]) -> str:
        requested = self._cql_version
        if requested is not None and offered and requested not in offered:
            raise ConnectionException(
                f"CQL version {requested} is not among the server's: {', '.join(offered)}"
            )
        # A server refuses a STARTUP without CQL_VERSION (section 4.1.1), so there is always one.
        return requested or (offered[0] if offered else DEFAULT_CQL_VERSION)

    def _choose_compression(self, offered: Sequence[str]) -> str | None:
        requested = self._requested_compression
        if not requested:
            return None
        usable = [
            name
            for name in offered
            # Segments can be compressed with LZ4 only.
            if name != "snappy" or not ProtocolVersion.uses_segments(self.version)
        ]
        if requested is True:
            return first_available(usable)
        compression(requested)  # DependencyException where the package is absent
        if requested not in usable:
            raise ConnectionException(
                f"compression {requested!r} was asked for; the server offers "
                f"{', '.join(usable) or 'none'} "
                f"for protocol version {self.version}"
            )
        return requested

    def _switch(self) -> list[Action]:
        """Return the actions that the answer to STARTUP causes."""
        # AUTHENTICATE ends the unframed part as READY does: tokens already travel in segments
        # (2.3.1).
        return [EnableSegments()] if ProtocolVersion.uses_segments(self.version) else []

    def _on_ready(self, message: ReadyMessage) -> list[Action]:
        return [*self._switch(), self._ready()]

    def _ready(self) -> Ready:
        self.state = State.READY
        return Ready(self.features, self.compression, self.supported)

    def _on_authenticate(self, message: AuthenticateMessage) -> list[Action]:
        self.state = State.AUTH_WANTED
        return [*self._switch(), AuthenticationWanted(message.authenticator)]

    def _on_challenge(self, message: AuthChallengeMessage) -> list[Action]:
        self.state = State.AUTH_WANTED
        return [Challenge(message.challenge)]

    def _on_auth_success(self, message: AuthSuccessMessage) -> list[Action]:
        return [Authenticated(message.token), self._ready()]

    def _error(self, message: ErrorMessage, version: int) -> list[Action]:
        # Past AUTHENTICATE the version is settled: an error is about the login then.
        waited_for_auth = self.state in (State.AUTH_SENT, State.AUTH_WANTED)
        if not waited_for_auth and _refuses_version(message, version, self.version):
            self.state = State.CLOSED
            return [VersionRefused(version, message.message, offered_versions(message.message))]
        if isinstance(message, BadCredentials) or waited_for_auth:
            return self._fail(
                AuthenticationFailed(f"the server refused the login: {message.summary_msg()}")
            )
        return self._fail(
            ConnectionException(f"the server refused the connection: {message.summary_msg()}")
        )


def _refuses_version(message: ErrorMessage, version: int, requested: int) -> bool:
    """Return True if an ERROR says that the server does not speak the version that was used.

    It comes in one of the server's own versions, as a protocol error (Cassandra 4: code 0x000A) or
    as a server error (some others).
    """
    if version != requested:
        return True
    return (
        isinstance(message, ProtocolException)
        and _VERSION_REFUSED.search(message.message) is not None
    )


_TABLE: dict[tuple[State, int], Callable[[ProtocolConnection, Any], list[Action]]] = {
    (State.OPTIONS_SENT, opcodes.SUPPORTED): ProtocolConnection._on_supported,
    (State.STARTUP_SENT, opcodes.READY): ProtocolConnection._on_ready,
    (State.STARTUP_SENT, opcodes.AUTHENTICATE): ProtocolConnection._on_authenticate,
    (State.AUTH_SENT, opcodes.AUTH_CHALLENGE): ProtocolConnection._on_challenge,
    (State.AUTH_SENT, opcodes.AUTH_SUCCESS): ProtocolConnection._on_auth_success,
}
