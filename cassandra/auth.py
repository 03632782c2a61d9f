"""Authentication providers, which you pass as ``Cluster(auth_provider=...)``.

A provider creates an authenticator for each connection. The authenticator answers the server's SASL
challenges.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable, Mapping
from typing import Any

from cassandra._imports import import_module
from cassandra._lazy import lazy_names
from cassandra._secrets import HiddenAttribute, Secret
from cassandra._unknown_options import advise_options
from cassandra.errors import AuthenticationFailed

__all__ = [
    "AuthProvider", "Authenticator", "BaseDSEAuthenticator", "DSEGSSAPIAuthProvider",
    "DSEPlainTextAuthProvider", "GSSAPIAuthenticator", "PlainTextAuthProvider",
    "PlainTextAuthenticator", "SaslAuthProvider", "SaslAuthenticator",
    "TransitionalModePlainTextAuthProvider", "TransitionalModePlainTextAuthenticator",
]  # fmt: skip


# Class names of server-side authenticators that first ask for the name of the SASL mechanism.
_DSE_AUTHENTICATORS = frozenset({"com.datastax.bdp.cassandra.auth.DseAuthenticator"})


class Token(bytes):
    """Bytes that may contain a password; their repr hides them, because tracebacks may show it."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<{len(self)} bytes of a login>"

    @classmethod
    def of(cls, answer: object) -> Token | None:
        """Return an authenticator's response as a token; None for None.

        :raises TypeError: if the response is neither bytes nor a string. The message does not show
            the value.
        """
        if answer is None:
            return None
        if isinstance(answer, (bytes, bytearray, memoryview)):
            return cls(answer)
        if isinstance(answer, str):
            return cls(_utf8(answer, "an authenticator's token"))
        class_name = type(answer).__name__
        # Delete the value before raising: a traceback with local variables must not show it.
        del answer
        raise TypeError(f"an authenticator must give bytes or None, but gave {class_name}")


def _utf8(text: str, description: str) -> bytes:
    """Return `text` in UTF-8.

    :raises ValueError: if the string cannot be encoded. (A UnicodeEncodeError would show the
        string.)
    """
    encoded = text.encode(errors="replace")
    if encoded.decode() == text:
        return Token(encoded)
    # Delete these variables before raising: a traceback with local variables must not show them.
    del text, encoded
    raise ValueError(f"{description} has characters that UTF-8 cannot encode (lone surrogates)")


def _restore(login: object, state: dict[str, Any]) -> None:
    """Set the attributes of an unpickled object through the descriptors of its class.

    The descriptors hide passwords, which pickles of cassandra-driver have as plain attributes.

    :param login: a provider or an authenticator.
    :param state: the attributes of the object.
    """
    for name, value in state.items():
        setattr(login, name, value)


class AuthProvider:
    """Creates the authenticator of each connection. One provider serves a whole `Cluster`."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        _restore(self, state)

    def new_authenticator(self, host: str) -> Authenticator:
        """Return a new `Authenticator` for a connection to the address `host`.

        :param host: the node's address, a string.
        """
        raise NotImplementedError


class Authenticator:
    """The client side of one connection's SASL exchange.

    All methods may block: the engine calls them outside its event loop.
    """

    def __setstate__(self, state: dict[str, Any]) -> None:
        _restore(self, state)

    server_authenticator_class: str | None = None
    """The class name of the server's authenticator, set before `initial_response`."""

    def initial_response(self) -> bytes | None:
        """Return the first token, which is sent when the server asks for authentication.

        None sends an empty token. Mechanisms in which the server speaks first begin so.
        """
        return None

    def evaluate_challenge(self, challenge: bytes | None) -> bytes | None:
        """Return the response to a challenge of the server; None sends an empty one.

        :param challenge: the server's bytes, or None.
        """
        raise NotImplementedError

    def on_authentication_success(self, token: bytes | None) -> None:
        """Process the server's last token. Called when the server accepts the login.

        :param token: the server's bytes, or None.
        """


class BaseDSEAuthenticator(Authenticator):
    """An authenticator that also supports DataStax Enterprise.

    A DataStax server first asks for the name of the mechanism, and then for the mechanism's tokens.
    Other servers ask for the tokens directly. Subclasses define the mechanism and its first token.
    """

    def get_mechanism(self) -> bytes:
        """Return the name of the SASL mechanism."""
        raise NotImplementedError

    def get_initial_challenge(self) -> bytes:
        """Return the challenge by which the server asks for the first token."""
        raise NotImplementedError

    def initial_response(self) -> bytes | None:
        """Return the mechanism's name if the server asks for it first, or else the first token."""
        if self.server_authenticator_class in _DSE_AUTHENTICATORS:
            return self.get_mechanism()
        return self.evaluate_challenge(self.get_initial_challenge())


class PlainTextAuthProvider(AuthProvider):
    """User name and password, for Cassandra's PasswordAuthenticator.

    :param username: the user's name.
    :param password: the password, which is never shown.
    """

    password = HiddenAttribute[str]()

    def __init__(self, username: str, password: str) -> None:
        self.username = username
        self.password = password

    def new_authenticator(self, host: str) -> Authenticator:
        return PlainTextAuthenticator(self.username, self.password)

    def __repr__(self) -> str:
        # Use getattr, because error reports also call this for an object whose constructor has
        # failed.
        username = getattr(self, "username", None)
        return f"{type(self).__name__}(username={username!r}, password=...)"


advise_options(PlainTextAuthProvider)


class DSEPlainTextAuthProvider(PlainTextAuthProvider):
    """`PlainTextAuthProvider`, under the name that applications of DataStax Enterprise use."""


class PlainTextAuthenticator(BaseDSEAuthenticator):
    """SASL PLAIN (RFC 4616), which sends user name and password in one token.

    :param username: the user's name.
    :param password: the password.
    """

    password = HiddenAttribute[str]()
    _answered = False  # True if the password was already sent on the current connection

    def __init__(self, username: str, password: str) -> None:
        self.username = username
        self.password = password

    def initial_response(self) -> bytes | None:
        # Reset the flag for each connection, because a user's provider may return the same
        # authenticator for all connections.
        self._answered = False
        return super().initial_response()

    def get_mechanism(self) -> bytes:
        return b"PLAIN"

    def get_initial_challenge(self) -> bytes:
        return b"PLAIN-START"

    def evaluate_challenge(self, challenge: bytes | None) -> bytes:
        """Return the token for the challenge of PLAIN, but only once per connection.

        :param challenge: the server's bytes.
        :raises AuthenticationFailed: if the server asks again, or asks for another mechanism.
        :raises ValueError: if the user name or the password has a NUL character (RFC 4616).
        :raises TypeError: if the user name or the password is not a string.
        """
        if self._answered or challenge != self.get_initial_challenge():
            raise AuthenticationFailed(
                "the server asks for the password again, or by another mechanism than PLAIN"
            )
        _check_part(Secret(self.username), "user name")
        _check_part(Secret(self.password), "password")
        self._answered = True
        # The format of RFC 4616: the identity to act as (empty for the user's own), NUL, the user
        # name, NUL, the password.
        return Token(
            b"\0"
            + _utf8(str(self.username), "the user name")
            + b"\0"
            + _utf8(str(self.password), "the password")
        )


def _check_part(part: Secret[object], description: str) -> None:
    """Raise TypeError or ValueError if SASL PLAIN cannot send a user name or password."""
    # Accept a number, too: if a password consists of digits, a configuration file may contain it as
    # a number. We send it as a string.
    if not isinstance(part.reveal(), (str, int)):
        problem = f"the {description} must be a text, but is of type {part.kind}"
        if part.reveal() is None:
            # The value None usually comes from `os.environ.get`, or from a file that was not found.
            problem += ": is the environment variable set, or the file read, that has it?"
        raise TypeError(problem)
    if "\0" in str(part.reveal()):
        raise ValueError(f"the {description} has a NUL, which PLAIN cannot send (RFC 4616)")


class TransitionalModePlainTextAuthProvider(AuthProvider):
    """An anonymous login, for servers in the transitional mode of DataStax Enterprise."""

    def new_authenticator(self, host: str) -> Authenticator:
        return TransitionalModePlainTextAuthenticator()


class TransitionalModePlainTextAuthenticator(PlainTextAuthenticator):
    """SASL PLAIN with an empty user name and password."""

    def __init__(self) -> None:
        super().__init__("", "")


class SaslAuthProvider(AuthProvider):
    """Any mechanism that the optional package ``pure-sasl`` supports.

    :param sasl_kwargs: keyword arguments for ``puresasl.client.SASLClient``, without ``host``.
    :raises ValueError: if ``host`` is among these arguments.
    :raises ImportError: if the package is not installed.
    """

    sasl_kwargs = HiddenAttribute[dict[str, Any]]()

    def __init__(self, **sasl_kwargs: Any) -> None:
        self.sasl_kwargs = sasl_kwargs
        has_host = "host" in sasl_kwargs
        del sasl_kwargs  # a traceback must not show the dict: it may contain a password
        # Refuse `host`, because it is different for each connection.
        if has_host:
            raise ValueError("host is set for each connection; do not pass it to SaslAuthProvider")
        # Import the package now, so that the error for a missing package is raised here and not at
        # the first connection.
        _sasl_client()

    def new_authenticator(self, host: str) -> Authenticator:
        return SaslAuthenticator(host, **self.sasl_kwargs)


class SaslAuthenticator(Authenticator):
    """One connection's SASL exchange through ``pure-sasl``.

    :param host: the host name for which the server's key is valid.
    :param service: the name of the service.
    :param mechanism: the SASL mechanism.
    :param sasl_kwargs: further keyword arguments for ``puresasl.client.SASLClient``.
    :raises ImportError: if the package is not installed.
    """

    # The `SASLClient` is hidden in reports, because its attributes include the password.
    sasl = HiddenAttribute[Any]()

    def __init__(
        self, host: str, service: str, mechanism: str = "GSSAPI", **sasl_kwargs: Any
    ) -> None:
        kwargs = Secret(sasl_kwargs)
        del sasl_kwargs  # a traceback must not show it: it may contain a password
        self.sasl = _sasl_client()(host, service, mechanism, **kwargs.reveal())

    def initial_response(self) -> bytes | None:
        return Token.of(self.sasl.process())

    def evaluate_challenge(self, challenge: bytes | None) -> bytes | None:
        return Token.of(self.sasl.process(challenge))


class DSEGSSAPIAuthProvider(AuthProvider):
    """Kerberos, through the optional packages ``pure-sasl`` and ``kerberos``.

    :param service: the name of the service; None means "dse".
    :param qops: the accepted qualities of protection, as in ``puresasl.QOP``; None means
        authentication only.
    :param resolve_host_name: True to look up the host name of the node's address in DNS, because
        the node's key is valid for that name.
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
        del properties  # a traceback must not show it: it may contain a password
        # Import the package now, so that the error for a missing package is raised here and not at
        # the first connection.
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

    :param host: the host name for which the server's key is valid.
    :param service: the name of the service.
    :param qops: the accepted qualities of protection, as strings or bytes; None or empty means
        authentication only.
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
        del properties  # a traceback must not show it: it may contain a password
        # The package expects the qualities as bytes.
        encoded_qops = [qop.encode() if isinstance(qop, str) else qop for qop in qops or ("auth",)]
        self.sasl = _sasl_client()(host, service, "GSSAPI", qops=encoded_qops, **hidden.reveal())

    def get_mechanism(self) -> bytes:
        return b"GSSAPI"

    def get_initial_challenge(self) -> bytes:
        return b"GSSAPI-START"

    def evaluate_challenge(self, challenge: bytes | None) -> bytes | None:
        # The challenge "GSSAPI-START" only starts the exchange, so it is not passed to the library.
        begins = challenge == self.get_initial_challenge()
        return Token.of(self.sasl.process() if begins else self.sasl.process(challenge))


def _sasl_client() -> type[Any]:
    """Return the class `SASLClient` of the package pure-sasl."""
    try:
        # Import the package only here, because it is optional: only SASL authentication needs it.
        client_class: type[Any] = import_module("puresasl.client").SASLClient
        return client_class
    except ImportError as error:
        raise ImportError(
            "SASL authentication needs the package 'pure-sasl': pip install turbocql[sasl]; "
            "for a user name and a password use PlainTextAuthProvider"
        ) from error


# Set `__getattr__` through globals(), so that type checkers still report unknown names.
globals()["__getattr__"] = lazy_names(__name__)
