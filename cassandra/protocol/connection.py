"""The handshake of one connection, as a state machine without a socket, event loop or clock.

Theory of operation. The caller owns the socket. It calls `ProtocolConnection.start()` once, and
then `receive()` for each message from the server. Each call returns a list of actions, which the
caller must carry out in order: for example `Send` (write an envelope) or `SetCompression`. A table
maps the state and the opcode of a received message to a method. A message that is not in the table
is an error of the server.

The caller also does the authentication. The action `AuthenticationWanted` or `Challenge` carries
the server's request, and the caller passes the token for this request to `respond()`. The caller
may take its time and may compute the token in another thread, because authenticators may block.

    OPTIONS -> SUPPORTED -> STARTUP -> READY                                            done
                                    -> AUTHENTICATE -> AUTH_RESPONSE -> AUTH_CHALLENGE  ->
                                    AUTH_RESPONSE ...
                                                                     -> AUTH_SUCCESS    done

Two actions end the handshake early. `VersionRefused` means that the server does not speak the
protocol version; the caller can try a lower version on a new connection. `Failed` is any other
error.

With protocol version 5, both sides use segments after READY or AUTHENTICATE
(native_protocol_v5.spec, section 2.3.1). In earlier versions, the server may already compress its
response to STARTUP. So `SetCompression` comes before the `Send` of STARTUP.
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
    LoginNotChecked,
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
from cassandra.protocol.messages.errors import (
    BadCredentials,
    ErrorMessage,
    ProtocolException,
    RequestExecutionException,
    ServerError,
)
from cassandra.versions import ProtocolVersion


class Send(NamedTuple):
    """Write this envelope to the socket."""

    stream: int
    opcode: int
    flags: int
    body: bytes


class SetCompression(NamedTuple):
    """From the next envelope on, compress requests and expect compressed responses."""

    algorithm: str


class EnableSegments(NamedTuple):
    """From now on, send segments, and read the server's next bytes as segments."""


class AuthenticationWanted(NamedTuple):
    """The server requires a login; call `respond` with the authenticator's first token.

    :param authenticator: the server's authenticator, a Java class name.
    """

    authenticator: str


class Challenge(NamedTuple):
    """The server has sent this token during the login; call `respond` with the client's token."""

    token: bytes | None


class Authenticated(NamedTuple):
    """The login succeeded. `Ready` follows in the same list of actions.

    :param token: the server's last token.
    """

    token: bytes | None


class Ready(NamedTuple):
    """The handshake succeeded.

    :param features: the protocol extensions that both sides use.
    :param compression: the compression algorithm that both sides use, or None.
    :param supported: the options in the server's SUPPORTED message, CQL_VERSION included.
    """

    features: ProtocolFeatures
    compression: str | None
    supported: Mapping[str, Sequence[str]]


class VersionRefused(NamedTuple):
    """The server does not speak the client's protocol version.

    :param server_version: the protocol version of the server's response.
    :param message: the server's error message.
    :param offered: the versions in the error message, highest first, without beta versions.
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


# Matches the error messages of Cassandra and ScyllaDB for a version that they do not speak. We need
# the message, because the protocol has no error code for this error.
_VERSION_REFUSED = pattern(r"(unsupported|invalid|beta).{0,40}version|USE_BETA flag", re.IGNORECASE)
# Matches a version that a server offers, such as "4/v4" or "6/v6-beta".
_VERSION_OFFERED = pattern(r"(\d+)/v\d+(-beta)?")
# Matches "bad credentials" errors of servers that could not read their table of passwords: of
# Cassandra 4 and later, of Cassandra 3, and of ScyllaDB.
_LOGIN_UNCHECKED = pattern(
    r"^(Unable to perform authentication|Error performing internal authentication"
    r"|Could not verify password|Cannot achieve consistency level)"
)


def offered_versions(options: Mapping[str, Sequence[str]] | str) -> tuple[int, ...]:
    """Return the protocol versions that a server offers, highest first, without betas.

    :param options: the options of SUPPORTED, with PROTOCOL_VERSIONS, or an error message.
    """
    text = options if isinstance(options, str) else " ".join(options.get("PROTOCOL_VERSIONS", ()))
    # For example "4/v4"; the second group matches the "-beta" of a beta version.
    versions = {int(match[1]) for match in _VERSION_OFFERED.finditer(text) if not match[2]}
    return tuple(sorted(versions, reverse=True))


class ScyllaExtensions(NamedTuple):
    """The ScyllaDB extensions that the client accepts, if the server offers them."""

    startup_options: Callable[[], Mapping[str, str]] | None = None
    """Returns further options for STARTUP. Called only if SUPPORTED shows a ScyllaDB server."""

    tablets_routing_v2: bool = False
    """Accept TABLETS_ROUTING_V2. Every EXECUTE must then end with the extension's byte."""

    use_metadata_id: bool = False
    """Accept SCYLLA_USE_METADATA_ID. Every EXECUTE of version 4 must then have a metadata id."""


NO_EXTENSIONS = ScyllaExtensions()


class ProtocolConnection:
    """The client's side of a handshake. The module's docstring shows the order of calls.

    :param version: the protocol version to speak.
    :param compression: True chooses the first algorithm that both sides have; if there is none,
        nothing is compressed. A name requires that algorithm: without it, the handshake fails. None
        or False means no compression.
    :param startup_options: further options for STARTUP, such as DRIVER_NAME.
    :param cql_version: the CQL version that the server must offer. None uses the server's version.
    :param allow_beta: True allows a protocol version that the server calls a beta version.
    :param extensions: the ScyllaDB extensions to accept.
    :param is_version_chosen: True if the application has chosen the version. If it is False,
        nothing is compressed if the server offers the requested Snappy, but `version` does not
        allow it. cassandra-driver does so, too.
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
        is_version_chosen: bool = True,
    ) -> None:
        self.version = version
        self.state = State.NEW
        self.features = ProtocolFeatures()
        self.supported: Mapping[str, Sequence[str]] = {}
        self.compression: str | None = None
        self._requested_compression = compression
        self._extensions = extensions
        self._is_version_chosen = is_version_chosen
        self._startup_options = dict(startup_options or {})
        self._cql_version = cql_version
        # USE_BETA if `version` is a beta version. The engine's FrameWriter sets this flag in each
        # envelope, but applications that write the envelopes of `Send` themselves need it here.
        self._flags = standing_flags(version) if allow_beta else 0
        # Stream 0 is enough, because the handshake only sends a request after the previous
        # response.
        self._stream = 0

    def start(self) -> list[Action]:
        """Begin the handshake; call this once."""
        if self.state is not State.NEW:
            raise RuntimeError(f"the handshake has begun already: it {self.state.value}")
        self.state = State.OPTIONS_SENT
        return [self._send(opcodes.OPTIONS, b"")]

    def respond(self, token: bytes | None) -> list[Action]:
        """Continue the login with the token for `AuthenticationWanted` or `Challenge`.

        :param token: the token; None sends an empty one.
        """
        if self.state is not State.AUTH_WANTED:
            raise RuntimeError(f"no token was asked for: the handshake {self.state.value}")
        self.state = State.AUTH_SENT
        # A null would make Cassandra fail: it reads the token without a check.
        message = AuthResponseMessage(b"" if token is None else token)
        return [self._send(opcodes.AUTH_RESPONSE, message.body(self.version))]

    def receive(
        self, stream: int, opcode: int, flags: int, body: bytes, version: int | None = None
    ) -> list[Action]:
        """Process one envelope from the server; return the actions to carry out.

        After the action `VersionRefused` or `Failed`, the connection cannot be used any more.
        """
        # In these states no response is expected, so the caller must not pass a message.
        if self.state in (State.NEW, State.READY, State.CLOSED):
            raise RuntimeError(
                f"the handshake does not wait for a message: it is {self.state.value}"
            )
        try:
            # All requests are on one stream, so a response on another stream is an error.
            if stream != self._stream:
                raise ProtocolError(
                    f"an answer on stream {stream}, but only stream {self._stream} has a request"
                )
            message = decode_response(opcode, flags, body, version or self.version)
            if isinstance(message, ErrorMessage):
                return self._handle_error(message, version or self.version)
            step = _STEPS.get((self.state, opcode))
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
        """Process the server's options; choose the options of the connection and send STARTUP."""
        self.supported = {**message.options, "CQL_VERSION": message.cql_versions}
        self.features = ProtocolFeatures.parse_from_supported(self.supported)
        # Accept TABLETS_ROUTING_V2 and SCYLLA_USE_METADATA_ID only if the caller supports them:
        # they change the format of EXECUTE, and the server would then reject the old format.
        extensions = self._extensions
        self.features.tablets_routing_v2 &= extensions.tablets_routing_v2
        # TABLETS_ROUTING_V2 includes TABLETS_ROUTING_V1, so do not ask for both.
        self.features.tablets_routing_v1 &= not self.features.tablets_routing_v2
        self.features.use_metadata_id &= extensions.use_metadata_id
        options = dict(self._startup_options)
        self.features.add_startup_options(options)
        if extensions.startup_options is not None and self.features.is_scylla:
            # The application's options take precedence over the options of the extensions.
            options = {**extensions.startup_options(), **options}
        self.compression = self._choose_compression(self.supported.get("COMPRESSION", ()))
        if self.compression is not None:
            options["COMPRESSION"] = self.compression
        self.state = State.STARTUP_SENT
        cql_version = self._choose_cql_version(message.cql_versions)
        startup: Action = self._send(
            opcodes.STARTUP, StartupMessage(cql_version, options).body(self.version)
        )
        # SetCompression comes first, because the response to STARTUP may already be compressed
        # (native_protocol_v5.spec, section 2.3.2). `FrameWriter` never compresses STARTUP.
        return (
            [SetCompression(self.compression), startup]
            if self.compression is not None
            else [startup]
        )

    def _choose_cql_version(self, offered: Sequence[str]) -> str:
        """Return the CQL version for STARTUP: the requested one, or the first that is offered."""
        requested = self._cql_version
        if requested is not None and offered and requested not in offered:
            raise ConnectionException(
                f"CQL version {requested} is not among the server's: {', '.join(offered)}"
            )
        # CQL_VERSION is required in STARTUP (native_protocol_v5.spec, section 4.1.1).
        return requested or (offered[0] if offered else DEFAULT_CQL_VERSION)

    def _choose_compression(self, offered: Sequence[str]) -> str | None:
        """Return the compression algorithm for the connection, or None.

        :param offered: the algorithms that the server offers.
        """
        requested = self._requested_compression
        if not requested:
            return None
        usable = [
            name
            for name in offered
            # Segments can only be compressed with LZ4.
            if name != "snappy" or not ProtocolVersion.uses_segments(self.version)
        ]
        if requested is True:  # any algorithm whose package is installed
            return first_available(usable)
        compression(requested)  # raises DependencyException if the package is not installed
        if requested not in usable:
            if requested in offered and not self._is_version_chosen:
                return None
            raise ConnectionException(
                f"compression {requested!r} was asked for; the server offers "
                f"{', '.join(usable) or 'none'} "
                f"for protocol version {self.version}"
            )
        return requested

    def _segments(self) -> list[Action]:
        """Return the action that enables segments, if the protocol version uses them."""
        # Segments begin after the response to STARTUP, which is READY or AUTHENTICATE. So the
        # tokens of a login are already sent in segments (native_protocol_v5.spec, section 2.3.1).
        return [EnableSegments()] if ProtocolVersion.uses_segments(self.version) else []

    def _on_ready(self, message: ReadyMessage) -> list[Action]:
        return [*self._segments(), self._ready()]

    def _ready(self) -> Ready:
        self.state = State.READY
        return Ready(self.features, self.compression, self.supported)

    def _on_authenticate(self, message: AuthenticateMessage) -> list[Action]:
        self.state = State.AUTH_WANTED
        return [*self._segments(), AuthenticationWanted(message.authenticator)]

    def _on_challenge(self, message: AuthChallengeMessage) -> list[Action]:
        self.state = State.AUTH_WANTED
        return [Challenge(message.challenge)]

    def _on_auth_success(self, message: AuthSuccessMessage) -> list[Action]:
        return [Authenticated(message.token), self._ready()]

    def _handle_error(self, message: ErrorMessage, version: int) -> list[Action]:
        """Process an ERROR of the server; `version` is the protocol version of its envelope."""
        # Once the server has sent AUTHENTICATE, it has accepted the protocol version. So any later
        # error is about the login.
        waited_for_auth = self.state in (State.AUTH_SENT, State.AUTH_WANTED)
        if not waited_for_auth and _refuses_version(message, version, self.version):
            self.state = State.CLOSED
            return [VersionRefused(version, message.message, offered_versions(message.message))]
        if waited_for_auth and _is_login_unchecked(message):
            return self._fail(
                LoginNotChecked(f"the server could not check the login: {message.summary_msg()}")
            )
        if isinstance(message, BadCredentials) or waited_for_auth:
            return self._fail(
                AuthenticationFailed(f"the server refused the login: {message.summary_msg()}")
            )
        return self._fail(
            ConnectionException(f"the server refused the connection: {message.summary_msg()}")
        )


def _is_login_unchecked(message: ErrorMessage) -> bool:
    """Return True if the server could not check a login, so that the same login may succeed later.

    The code of the error is not enough: servers also respond "bad credentials" if they cannot read
    their table of passwords.
    """
    if isinstance(message, BadCredentials):
        return _LOGIN_UNCHECKED.search(message.message) is not None
    return isinstance(message, (ServerError, RequestExecutionException))


def _refuses_version(message: ErrorMessage, message_version: int, requested: int) -> bool:
    """Return True if `message` means that the server does not speak the version `requested`.

    Servers respond with another protocol version, or with a protocol error (code 0x000A) whose
    message names the version.

    :param message: the server's error.
    :param message_version: the protocol version of the server's message.
    :param requested: the protocol version of our requests.
    """
    if message_version != requested:
        return True
    return (
        isinstance(message, ProtocolException)
        and _VERSION_REFUSED.search(message.message) is not None
    )


# The table of the handshake: maps (state, opcode of the received message) to the method that
# processes the message.
_STEPS: dict[tuple[State, int], Callable[[ProtocolConnection, Any], list[Action]]] = {
    (State.OPTIONS_SENT, opcodes.SUPPORTED): ProtocolConnection._on_supported,
    (State.STARTUP_SENT, opcodes.READY): ProtocolConnection._on_ready,
    (State.STARTUP_SENT, opcodes.AUTHENTICATE): ProtocolConnection._on_authenticate,
    (State.AUTH_SENT, opcodes.AUTH_CHALLENGE): ProtocolConnection._on_challenge,
    (State.AUTH_SENT, opcodes.AUTH_SUCCESS): ProtocolConnection._on_auth_success,
}
