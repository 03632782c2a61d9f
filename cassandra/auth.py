"""Authentication: providers make an authenticator for each connection.

An authenticator answers the server's SASL challenges.
"""

from __future__ import annotations

from typing import Any, NoReturn

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
        """Return a new `Authenticator` for a connection to the address `host`."""
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
        """Return the answer to a challenge of the server."""
        raise NotImplementedError

    def on_authentication_success(self, token: bytes | None) -> None:
        """Take the server's last token. Called when the server accepts the login."""


class PlainTextAuthProvider(AuthProvider):
    """User name and password, for Cassandra's PasswordAuthenticator."""

    def __init__(self, username: str, password: str) -> None:
        self.username = username
        self.password = password

    def new_authenticator(self, host: str) -> Authenticator:
        return PlainTextAuthenticator(self.username, self.password)

    def __repr__(self) -> str:
        return f"PlainTextAuthProvider(username={self.username!r}, password=...)"


class PlainTextAuthenticator(Authenticator):
    """SASL PLAIN (RFC 4616): the first token has both the user name and the password."""

    def __init__(self, username: str, password: str) -> None:
        self.username = username
        self.password = password

    def initial_response(self) -> bytes:
        # A NUL before each part; the first part, an identity to act as, is empty.
        return Token(
            b"\0"
            + _utf8(self.username, "the user name")
            + b"\0"
            + _utf8(self.password, "the password")
        )

    def evaluate_challenge(self, challenge: bytes | None) -> bytes:
        # Some servers open with a challenge that only asks for the mechanism's first token.
        return self.initial_response()


class SaslAuthProvider(AuthProvider):
    """Any mechanism of the optional package ``pure-sasl``.

    :param sasl_kwargs: keyword arguments for its ``SASLClient``, without ``host``.
    :raises ValueError: if ``host`` is among them.
    :raises ImportError: if the package is not installed.
    """

    def __init__(self, **sasl_kwargs: Any) -> None:
        # Each connection has another one.
        if "host" in sasl_kwargs:
            raise ValueError("host is set for each connection; do not pass it to SaslAuthProvider")
        # A missing package is an error here, not at the first connection.
        _sasl_client()
        self.sasl_kwargs = sasl_kwargs

    def new_authenticator(self, host: str) -> Authenticator:
        return SaslAuthenticator(host, **self.sasl_kwargs)


class SaslAuthenticator(Authenticator):
    """One connection's SASL exchange through ``pure-sasl``."""

    def __init__(
        self, host: str, service: str, mechanism: str = "GSSAPI", **sasl_kwargs: Any
    ) -> None:
        self.sasl = _sasl_client()(host, service, mechanism, **sasl_kwargs)

    def initial_response(self) -> bytes | None:
        response: bytes | None = self.sasl.process()
        return response

    def evaluate_challenge(self, challenge: bytes | None) -> bytes | None:
        response: bytes | None = self.sasl.process(challenge)
        return response


# -- DataStax Enterprise ---------------------------------------------------------------------------


def _refuse(what: str) -> NoReturn:
    raise NotImplementedError(
        f"{what} is not supported: it logs in to DataStax Enterprise, which this driver does not "
        "speak to; PlainTextAuthProvider serves for a user name and a password"
    )


class BaseDSEAuthenticator(Authenticator):
    """Base of the authenticators for DataStax Enterprise. They can be made, and not used."""

    def initial_response(self) -> NoReturn:
        _refuse(type(self).__name__)


class GSSAPIAuthenticator(BaseDSEAuthenticator):
    """Kerberos for DataStax Enterprise. It can be made, and not used."""

    def __init__(self, host: str, service: str, qops: object, properties: object) -> None:
        self.host = host
        self.service = service
        self.qops = qops
        self.properties = properties


class TransitionalModePlainTextAuthenticator(BaseDSEAuthenticator):
    """An anonymous login for DataStax Enterprise. It can be made, and not used."""


class DSEPlainTextAuthProvider(AuthProvider):
    """User name and password for DataStax Enterprise. It can be made, and not used."""

    def __init__(self, username: str, password: str) -> None:
        self.username = username
        self.password = password

    def new_authenticator(self, host: str) -> NoReturn:
        _refuse(type(self).__name__)

    def __repr__(self) -> str:
        return f"DSEPlainTextAuthProvider(username={self.username!r}, password=...)"


class DSEGSSAPIAuthProvider(AuthProvider):
    """Kerberos for DataStax Enterprise. It can be made, and not used."""

    def __init__(
        self,
        service: str | None = None,
        qops: object = None,
        resolve_host_name: bool = True,
        **properties: Any,
    ) -> None:
        self.service = service
        self.qops = qops
        self.resolve_host_name = resolve_host_name
        self.properties = properties

    def new_authenticator(self, host: str) -> NoReturn:
        _refuse(type(self).__name__)


class TransitionalModePlainTextAuthProvider(AuthProvider):
    """An anonymous login for DataStax Enterprise. It can be made, and not used."""

    def new_authenticator(self, host: str) -> NoReturn:
        _refuse(type(self).__name__)


def _sasl_client() -> Any:
    try:
        from puresasl.client import SASLClient  # optional: only these mechanisms need it
    except ImportError as error:
        raise ImportError(
            "SASL authentication needs the package 'pure-sasl': pip install pure-sasl; "
            "for a user name and a password use PlainTextAuthProvider"
        ) from error
    return SASLClient
