"""Authentication: providers make an authenticator for each connection.

An authenticator answers the server's SASL challenges.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable, Mapping
from typing import Any

from cassandra._imports import import_module
from cassandra._secrets import HiddenAttribute, Secret
from cassandra.errors import AuthenticationFailed

__all__ = [
    "AuthProvider",
    "Authenticator",
    "BaseDSEAuthenticator",
    "DSEGSSAPIAuthProvider",
    "DSEPlainTextAuthProvider",
    "GSSAPIAuthenticator",
    "PlainTextAuthProvider",
    "PlainTextAuthenticator",
    "SaslAuthProvider",
    "SaslAuthenticator",
    "TransitionalModePlainTextAuthProvider",
    "TransitionalModePlainTextAuthenticator",
]


# The classes of the servers that ask for the mechanism's name first.
_DSE_AUTHENTICATORS = frozenset({"com.datastax.bdp.cassandra.auth.DseAuthenticator"})


class Token(bytes):
    """Bytes of a login. Their repr hides them, since tracebacks may show local variables."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<{len(self)} bytes of a login>"

    @classmethod
    def of(cls, answer: object) -> Token | None:
        """Return an authenticator's answer as a token.

        :raises TypeError: if it is not bytes. The message does not show the answer.
        """
        if answer is None:
            return None
        if isinstance(answer, (bytes, bytearray, memoryview)):
            return cls(answer)
        if isinstance(answer, str):
            return cls(_utf8(answer, "an authenticator's token"))
        kind = type(answer).__name__
        # A traceback with local variables must not show it.
        del answer
        raise TypeError(f"an authenticator must give bytes or None, but gave {kind}")


def _utf8(text: str, what: str) -> bytes:
    """Return `text` in UTF-8.

    :raises ValueError: if it cannot be encoded. UnicodeEncodeError would show the text.
    """
    encoded = text.encode(errors="replace")
    if encoded.decode() == text:
        return Token(encoded)
    # As in Token.of: no local variable may hold the secret when the error is raised.
    del text, encoded
    raise ValueError(f"{what} has characters that UTF-8 cannot encode (lone surrogates)")


class AuthProvider:
    """Makes the authenticator of each connection. One provider serves a whole `Cluster`."""

    def new_authenticator(self, host: str) -> Authenticator:
        """Return a new `Authenticator` for a connection to the address `host`.

        :param host: the node's address, a text.
        """
        raise NotImplementedError


class Authenticator:
    """One connection's side of the exchange.

    All its methods may block: the engine calls them outside its loop.
    """

    server_authenticator_class: str | None = None
    """The class name of the server's authenticator, set before `initial_response`."""

    def initial_response(self) -> bytes | None:
        """Return the first token, which is sent when the server asks for authentication."""
        return None

    def evaluate_challenge(self, challenge: bytes | None) -> bytes | None:
        """Return the answer to a challenge of the server.

        :param challenge: the server's bytes, or None.
        """
        raise NotImplementedError

    def on_authentication_success(self, token: bytes | None) -> None:
        """Take the server's last token. Called when the server accepts the login.

        :param token: the server's bytes, or None.
        """


class BaseDSEAuthenticator(Authenticator):
    """An authenticator that also speaks with DataStax Enterprise.

    Its server asks for the mechanism first, by its name, and then for the mechanism's tokens; other
    servers ask for these at once. Subclasses say how the mechanism is called and how it begins.
    """

    def get_mechanism(self) -> bytes:
        """Return the name of the SASL mechanism."""
        raise NotImplementedError

    def get_initial_challenge(self) -> bytes:
        """Return the challenge by which the server asks for the first token."""
        raise NotImplementedError

    def initial_response(self) -> bytes | None:
        """Return the mechanism's name if the server wants it first, else the first token."""
        if self.server_authenticator_class in _DSE_AUTHENTICATORS:
            return self.get_mechanism()
        return self.evaluate_challenge(self.get_initial_challenge())


class PlainTextAuthProvider(AuthProvider):
    """User name and password, for Cassandra's PasswordAuthenticator.

    :param username: the user's name.
    :param password: its password, which is never shown.
    """

    password = HiddenAttribute[str]()

    def __init__(self, username: str, password: str) -> None:
        self.username = username
        self.password = password

    def new_authenticator(self, host: str) -> Authenticator:
        return PlainTextAuthenticator(self.username, self.password)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(username={self.username!r}, password=...)"


class DSEPlainTextAuthProvider(PlainTextAuthProvider):
    """User name and password, under the name that programs for DataStax Enterprise use."""


class PlainTextAuthenticator(BaseDSEAuthenticator):
    """SASL PLAIN (RFC 4616): one token has both the user name and the password.

    :param username: the user's name.
    :param password: its password.
    """

    password = HiddenAttribute[str]()
    _answered = False

    def __init__(self, username: str, password: str) -> None:
        self.username = username
        self.password = password

    def initial_response(self) -> bytes | None:
        self._answered = False  # a program may use one authenticator for all its connections
        return super().initial_response()

    def get_mechanism(self) -> bytes:
        return b"PLAIN"

    def get_initial_challenge(self) -> bytes:
        return b"PLAIN-START"

    def evaluate_challenge(self, challenge: bytes | None) -> bytes:
        """Return the token, once, to the challenge of this mechanism.

        :param challenge: the server's bytes.
        :raises AuthenticationFailed: if the server asks again, or for another mechanism.
        :raises ValueError: if the user name or the password has a NUL (RFC 4616).
        :raises TypeError: if one of them is not a text.
        """
        if self._answered or challenge != self.get_initial_challenge():
            raise AuthenticationFailed(
                "the server asks for the password again, or by another mechanism than PLAIN"
            )
        _check_part(Secret(self.username), "user name")
        _check_part(Secret(self.password), "password")
        self._answered = True
        # A NUL before each part; the first part, an identity to act as, is empty.
        return Token(
            b"\0"
            + _utf8(str(self.username), "the user name")
            + b"\0"
            + _utf8(str(self.password), "the password")
        )


def _check_part(part: Secret[object], what: str) -> None:
    # Files of settings give a password of digits as a number: it is written as its text.
    if not isinstance(part.reveal(), (str, int)):
        raise TypeError(f"the {what} must be a text, but is of type {part.kind}")
    if "\0" in str(part.reveal()):
        raise ValueError(f"the {what} has a NUL, which PLAIN cannot send (RFC 4616)")


class TransitionalModePlainTextAuthProvider(AuthProvider):
    """An anonymous login, for servers in the transitional mode of DataStax Enterprise."""

    def new_authenticator(self, host: str) -> Authenticator:
        return TransitionalModePlainTextAuthenticator()


class TransitionalModePlainTextAuthenticator(PlainTextAuthenticator):
    """SASL PLAIN with an empty user name and password."""

    def __init__(self) -> None:
        super().__init__("", "")


class SaslAuthProvider(AuthProvider):
    """Any mechanism of the optional package ``pure-sasl``.

    :param sasl_kwargs: keyword arguments for its ``SASLClient``, without ``host``.
    :raises ValueError: if ``host`` is among them.
    :raises ImportError: if the package is not installed.
    """

    sasl_kwargs = HiddenAttribute[dict[str, Any]]()

    def __init__(self, **sasl_kwargs: Any) -> None:
        self.sasl_kwargs = sasl_kwargs
        has_host = "host" in sasl_kwargs
        del sasl_kwargs  # as in Token.of: there may be a password among them
        # Each connection has another one.
        if has_host:
            raise ValueError("host is set for each connection; do not pass it to SaslAuthProvider")
        # A missing package is an error here, not at the first connection.
        _sasl_client()

    def new_authenticator(self, host: str) -> Authenticator:
        return SaslAuthenticator(host, **self.sasl_kwargs)


class SaslAuthenticator(Authenticator):
    """One connection's SASL exchange through ``pure-sasl``.

    :param host: the server's host name, which its key is for.
    :param service: the name of the service.
    :param mechanism: the SASL mechanism.
    :param sasl_kwargs: further keyword arguments for ``puresasl.client.SASLClient``.
    :raises ImportError: if the package is not installed.
    """

    # A `SASLClient`, which has the password among its attributes.
    sasl = HiddenAttribute[Any]()

    def __init__(
        self, host: str, service: str, mechanism: str = "GSSAPI", **sasl_kwargs: Any
    ) -> None:
        kwargs = Secret(sasl_kwargs)
        del sasl_kwargs
        self.sasl = _sasl_client()(host, service, mechanism, **kwargs.reveal())

    def initial_response(self) -> bytes | None:
        return Token.of(self.sasl.process())

    def evaluate_challenge(self, challenge: bytes | None) -> bytes | None:
        return Token.of(self.sasl.process(challenge))


class DSEGSSAPIAuthProvider(AuthProvider):
    """Kerberos, through the optional packages ``pure-sasl`` and ``kerberos``.

    :param service: the service's name; None for "dse".
    :param qops: the qualities of protection to choose from, as in ``puresasl.QOP``; None for
        authentication alone.
    :param resolve_host_name: take the name that the node's address stands for, as its key is for
        that. It asks the name service.
    :param properties: further keyword arguments for ``puresasl.client.SASLClient``.
    :raises ImportError: if ``pure-sasl`` is not installed.
    """

    properties = HiddenAttribute[dict[str, Any]]()

    def __init__(
        self,
        service: str | None = None,
        qops: Iterable[str | bytes] | None = None,
        resolve_host_name: bool = True,
        **properties: Any,
    ) -> None:
        self.properties = properties
        del properties
        # A missing package is an error here, not at the first connection.
        _sasl_client()
        self.service = service or "dse"
        self.qops = list(qops) if qops is not None else ["auth"]
        self.resolve_host_name = resolve_host_name

    def new_authenticator(self, host: str) -> Authenticator:
        if self.resolve_host_name:
            host = socket.getnameinfo((host, 0), 0)[0]
        return GSSAPIAuthenticator(host, self.service, self.qops, self.properties)


class GSSAPIAuthenticator(BaseDSEAuthenticator):
    """One connection's Kerberos exchange through ``pure-sasl``.

    :param host: the server's host name, which its key is for.
    :param service: the name of the service.
    :param qops: the qualities of protection to choose from, as texts or bytes; None or none for
        authentication alone.
    :param properties: further keyword arguments for ``puresasl.client.SASLClient``.
    :raises ImportError: if the package is not installed.
    """

    sasl = HiddenAttribute[Any]()

    def __init__(
        self,
        host: str,
        service: str,
        qops: Iterable[str | bytes] | None,
        properties: Mapping[str, Any],
    ) -> None:
        hidden = Secret(properties)
        del properties
        # The package knows the qualities as bytes.
        wanted = [one.encode() if isinstance(one, str) else one for one in qops or ("auth",)]
        self.sasl = _sasl_client()(host, service, "GSSAPI", qops=wanted, **hidden.reveal())

    def get_mechanism(self) -> bytes:
        return b"GSSAPI"

    def get_initial_challenge(self) -> bytes:
        return b"GSSAPI-START"

    def evaluate_challenge(self, challenge: bytes | None) -> bytes | None:
        begins = challenge == self.get_initial_challenge()
        return Token.of(self.sasl.process() if begins else self.sasl.process(challenge))


def _sasl_client() -> Any:
    try:
        # Optional: only these mechanisms need it.
        return import_module("puresasl.client").SASLClient
    except ImportError as error:
        raise ImportError(
            "SASL authentication needs the package 'pure-sasl': pip install turbocql[sasl]; "
            "for a user name and a password use PlainTextAuthProvider"
        ) from error
