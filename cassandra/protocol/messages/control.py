"""The messages of the handshake, and REGISTER, which subscribes to events.

See native_protocol_v5.spec, sections 4.1.1 to 4.1.3, 4.1.8 and 4.2.2 to 4.2.4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cassandra._secrets import HiddenAttribute
from cassandra.auth import Token
from cassandra.errors import UnsupportedOperation
from cassandra.protocol import opcodes
from cassandra.protocol.features import ProtocolFeatures
from cassandra.protocol.messages.base import MessageType, public, register_class
from cassandra.protocol.primitives import Cursor, int32_pack, uint16_pack

DEFAULT_CQL_VERSION = "3.0.0"  # for STARTUP, if the server's SUPPORTED names no version


def _string(text: str) -> bytes:
    data = text.encode()
    if len(data) > 0xFFFF:
        raise ValueError(f"a string of {len(data)} bytes; the protocol has room for 65535")
    return uint16_pack(len(data)) + data


def string_map_body(options: Mapping[str, str]) -> bytes:
    """Encode `options` as a [string map]."""
    parts = [uint16_pack(len(options))]
    for key, value in options.items():
        parts.append(_string(key))
        parts.append(_string(value))
    return b"".join(parts)


@public
@register_class
class StartupMessage(MessageType):
    """STARTUP: the client chooses the options of the connection.

    :param cqlversion: the CQL version to use.
    :param options: further options by name, such as "COMPRESSION" and "DRIVER_NAME".
    """

    opcode = opcodes.STARTUP
    name = "STARTUP"
    answers = (opcodes.READY, opcodes.AUTHENTICATE)

    KNOWN_OPTION_KEYS = frozenset(
        {"CQL_VERSION", "COMPRESSION", "NO_COMPACT", "DRIVER_NAME", "DRIVER_VERSION"}
    )

    def __init__(
        self, cqlversion: str = DEFAULT_CQL_VERSION, options: Mapping[str, str] | None = None
    ) -> None:
        self.cqlversion = cqlversion
        self.options = dict(options or {})

    def body(
        self, protocol_version: int, protocol_features: ProtocolFeatures | None = None
    ) -> bytes:
        # CQL_VERSION comes last, so that it replaces an option with this name in `options`.
        return string_map_body({**self.options, "CQL_VERSION": self.cqlversion})


@public
@register_class
class ReadyMessage(MessageType):
    """READY: the response to REGISTER, and to STARTUP if the server requires no login."""

    opcode = opcodes.READY
    name = "READY"

    @classmethod
    def decode(cls, cursor: Cursor) -> ReadyMessage:
        """Decode the body of this message.

        :param cursor: a cursor at the beginning of the body.
        """
        return cls()


@public
@register_class
class AuthenticateMessage(MessageType):
    """AUTHENTICATE: the response to STARTUP if the server requires a login.

    :param authenticator: the server's authenticator, a Java class name.
    """

    opcode = opcodes.AUTHENTICATE
    name = "AUTHENTICATE"

    def __init__(self, authenticator: str) -> None:
        self.authenticator = authenticator

    @classmethod
    def decode(cls, cursor: Cursor) -> AuthenticateMessage:
        """Decode the body of this message.

        :param cursor: a cursor at the beginning of the body.
        """
        return cls(cursor.string())


@public
@register_class
class CredentialsMessage(MessageType):
    """CREDENTIALS: the login of protocol version 1. Later versions use AUTH_RESPONSE.

    :param creds: the credentials: a mapping with "username", "password" and so on.
    """

    opcode = opcodes.CREDENTIALS
    name = "CREDENTIALS"

    creds = HiddenAttribute[Mapping[str, str]]()

    def __init__(self, creds: Mapping[str, str]) -> None:
        self.creds = creds

    def body(
        self, protocol_version: int, protocol_features: ProtocolFeatures | None = None
    ) -> bytes:
        if protocol_version > 1:
            raise UnsupportedOperation(
                f"CREDENTIALS is of protocol version 1; version {protocol_version} logs in by "
                "AUTH_RESPONSE (an AuthProvider)"
            )
        return string_map_body(self.creds)


@public
@register_class
class AuthChallengeMessage(MessageType):
    """AUTH_CHALLENGE: a token from the server, to which the client must send an AUTH_RESPONSE.

    :param challenge: the token, or None if it is null.
    """

    opcode = opcodes.AUTH_CHALLENGE
    name = "AUTH_CHALLENGE"

    def __init__(self, challenge: bytes | None) -> None:
        self.challenge = challenge

    @classmethod
    def decode(cls, cursor: Cursor) -> AuthChallengeMessage:
        """Decode the body of this message.

        :param cursor: a cursor at the beginning of the body.
        """
        return cls(cursor.blob())


@public
@register_class
class AuthResponseMessage(MessageType):
    """AUTH_RESPONSE: a token from the client.

    :param response: the token. A string is sent as UTF-8, and None is sent as a null.
    """

    opcode = opcodes.AUTH_RESPONSE
    name = "AUTH_RESPONSE"
    answers = (opcodes.AUTH_CHALLENGE, opcodes.AUTH_SUCCESS)

    def __init__(self, response: bytes | str | None) -> None:
        self.response = response

    def body(
        self, protocol_version: int, protocol_features: ProtocolFeatures | None = None
    ) -> bytes:
        token = self.response
        if token is None:
            # Null is a [bytes] of length -1. It differs from an empty token, which has length 0.
            return b"\xff\xff\xff\xff"
        # The token may contain a password; the class `Token` hides it in tracebacks and logs.
        data = Token(token.encode() if isinstance(token, str) else token)
        return Token(int32_pack(len(data)) + data)

    def __repr__(self) -> str:
        return "<AuthResponseMessage(response=...)>"


@public
@register_class
class AuthSuccessMessage(MessageType):
    """AUTH_SUCCESS: the login succeeded.

    :param token: the server's last token, or None if it is null.
    """

    opcode = opcodes.AUTH_SUCCESS
    name = "AUTH_SUCCESS"

    def __init__(self, token: bytes | None) -> None:
        self.token = token

    @classmethod
    def decode(cls, cursor: Cursor) -> AuthSuccessMessage:
        """Decode the body of this message.

        :param cursor: a cursor at the beginning of the body.
        """
        return cls(cursor.blob())


@public
@register_class
class OptionsMessage(MessageType):
    """OPTIONS: asks the server which options it supports."""

    opcode = opcodes.OPTIONS
    name = "OPTIONS"
    answers = (opcodes.SUPPORTED,)

    def body(
        self, protocol_version: int, protocol_features: ProtocolFeatures | None = None
    ) -> bytes:
        return b""


@public
@register_class
class SupportedMessage(MessageType):
    """SUPPORTED: the options that the server supports; the response to OPTIONS.

    :param cql_versions: the CQL versions that the server supports.
    :param options: for each other option, by name, the list of its values.
    """

    opcode = opcodes.SUPPORTED
    name = "SUPPORTED"

    def __init__(self, cql_versions: Sequence[str], options: Mapping[str, Sequence[str]]) -> None:
        self.cql_versions = list(cql_versions)
        self.options = options

    @classmethod
    def decode(cls, cursor: Cursor) -> SupportedMessage:
        """Decode the body of this message.

        :param cursor: a cursor at the beginning of the body.
        """
        # If CQL_VERSION is missing, the handshake uses DEFAULT_CQL_VERSION.
        options = cursor.string_multimap()
        return cls(options.pop("CQL_VERSION", []), options)


@public
@register_class
class RegisterMessage(MessageType):
    """REGISTER: asks the server to send events over this connection.

    :param event_list: the types of events, from `known_event_types`.
    """

    opcode = opcodes.REGISTER
    name = "REGISTER"
    answers = (opcodes.READY,)

    def __init__(self, event_list: Sequence[str]) -> None:
        self.event_list = event_list

    def body(
        self, protocol_version: int, protocol_features: ProtocolFeatures | None = None
    ) -> bytes:
        return b"".join([uint16_pack(len(self.event_list)), *map(_string, self.event_list)])
