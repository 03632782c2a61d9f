"""Encrypts the engine's connections with TLS, resumes TLS sessions, and explains TLS errors.

asyncio and uvloop call ``wrap_bio`` of an SSL context to create a connection's TLS object. We pass
a `Handshake` instead of the context. The `Handshake` can resume a TLS session, which asyncio and
uvloop do not support. It also keeps the TLS object, because error messages show the server's
certificate.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from cassandra.metadata.endpoint import EndPoint
from cassandra.ssl_session_cache import SSLSessionCache

ContextSource = ssl.SSLContext | Callable[[], ssl.SSLContext]

InThread = Callable[..., Any]

# OpenSSL's error numbers for a certificate that fails verification (x509_vfy.h).
_NOT_YET_VALID = 9
_EXPIRED = 10
_SELF_SIGNED = (18, 19)
_UNKNOWN_ISSUER = (2, 20, 21)
_WRONG_NAME = (62, 64)

# The reasons in OpenSSL's errors if the bytes from the server are not TLS.
_NOT_TLS = {
    "WRONG_VERSION_NUMBER",
    "HTTP_REQUEST",
    "PACKET_LENGTH_TOO_LONG",
    "RECORD_LAYER_FAILURE",
    "UNEXPECTED_MESSAGE",
    "UNKNOWN_PROTOCOL",
}
# The reasons in OpenSSL's errors if client and server have no TLS version in common.
_NO_COMMON_VERSION = {
    "NO_PROTOCOLS_AVAILABLE",
    "TLSV1_ALERT_PROTOCOL_VERSION",
    "UNSUPPORTED_PROTOCOL",
    "WRONG_SSL_VERSION",
}
# The alerts of servers that reject the client's certificate, or require a certificate but get none.
_CERTIFICATE_ALERTS = {
    "SSLV3_ALERT_BAD_CERTIFICATE",
    "SSLV3_ALERT_CERTIFICATE_EXPIRED",
    "SSLV3_ALERT_CERTIFICATE_UNKNOWN",
    "TLSV13_ALERT_CERTIFICATE_REQUIRED",
    "TLSV1_ALERT_UNKNOWN_CA",
}


class TlsClient:
    """The TLS settings for all connections of a cluster.

    :param source: a context, or a function that returns the context for each connection, for
        example a new context after certificate files have changed.
    :param server_hostname: the server name to send and to expect in certificates; None to use the
        name or address of each end point.
    :param sessions: a cache of TLS sessions to resume; None if sessions must not be resumed.
    """

    def __init__(
        self,
        source: ContextSource,
        server_hostname: str | None = None,
        sessions: SSLSessionCache | None = None,
    ) -> None:
        self.source = source
        self._server_hostname = server_hostname
        self._sessions = sessions

    @property
    def compares_addresses(self) -> bool:
        """True if certificates must match the address that we connect to.

        False if `source` is a function, because we do not know the contexts that it will return.
        """
        source = self.source
        return (
            isinstance(source, ssl.SSLContext)
            and source.check_hostname
            and self._server_hostname is None
        )

    @property
    def may_compare_addresses(self) -> bool:
        """False if certificates need not match the address that we connect to.

        True if `source` is a function: a context that it returns may check names.
        """
        return self.compares_addresses or (
            self._server_hostname is None and not isinstance(self.source, ssl.SSLContext)
        )

    async def begin(self, endpoint: EndPoint, in_thread: InThread) -> Handshake:
        """Return the handshake for a connection to `endpoint`.

        :param in_thread: runs the user's function in another thread, because it may read files.
        :raises TypeError: if the user's function does not return a context.
        """
        source = self.source
        context = source if isinstance(source, ssl.SSLContext) else await in_thread(source)
        if not isinstance(context, ssl.SSLContext):
            raise TypeError(
                f"ssl_context must give an ssl.SSLContext, but gave {type(context).__name__}"
            )
        # The end point of a node behind a proxy may have its own server name. That name takes
        # precedence over the server name for the whole cluster.
        node_name = (endpoint.ssl_options or {}).get("server_hostname")
        address = endpoint.resolve()[0]
        # If there is no name, pass the address, because asyncio requires a server name for TLS over
        # a socket that is already connected.
        return Handshake(
            context, endpoint, node_name or self._server_hostname or address, self._sessions
        )


class Handshake:
    """The TLS handshake of one connection. asyncio uses this object like a context."""

    def __init__(
        self,
        context: ssl.SSLContext,
        endpoint: EndPoint,
        server_hostname: str,
        sessions: SSLSessionCache | None,
    ) -> None:
        self.context = context
        self.server_hostname = server_hostname
        self._endpoint = endpoint
        self._sessions = sessions
        # The key of the TLS session in the cache. The server name is part of the key, because a
        # session may be resumed only for the name against which the certificate was checked.
        self._key = (*endpoint.resolve(), server_hostname)
        self._object: ssl.SSLObject | None = None  # the connection's TLS object, once it exists

    def wrap_bio(
        self,
        incoming: ssl.MemoryBIO,
        outgoing: ssl.MemoryBIO,
        server_side: bool = False,
        server_hostname: str | None = None,
    ) -> ssl.SSLObject:
        """Create the connection's TLS object, with a session to resume if the cache has one.

        asyncio calls this, as it would call the method of an SSL context.
        """
        session = None
        if self._sessions is not None:
            session = self._sessions.get(self._key, self.context)
        self._object = self.context.wrap_bio(
            incoming, outgoing, server_side, server_hostname, session
        )
        return self._object

    def keep_session(self) -> None:
        """Store the TLS session, so that later connections can resume it.

        This must be called after the server has sent some data, because with TLS 1.3 the server
        sends the session after the handshake.
        """
        tls_object = self._object
        if self._sessions is None or tls_object is None:
            return
        # If this connection has resumed a session that is still fresh, keep that session in the
        # cache. Reading the new session would take as long as half a handshake.
        if tls_object.session_reused and self._sessions.is_fresh(self._key):
            return
        session = tls_object.session
        if session is not None and (session.has_ticket or session.id):
            self._sessions.put(self._key, self.context, session)

    # -- errors ------------------------------------------------------------------------------------

    def reason(self, error: BaseException) -> str | None:
        """Return an explanation of `error` for messages; None if TLS is not the cause."""
        if isinstance(error, ssl.SSLCertVerificationError):
            return self._explain_untrusted_certificate(error)
        if isinstance(error, ssl.SSLError):
            return self._explain_failed_handshake(error)
        if isinstance(error, (ConnectionResetError, BrokenPipeError, asyncio.IncompleteReadError)):
            return "the server closed the connection during the handshake: " + (
                "does it expect a client certificate (ssl_context.load_cert_chain)?"
                if self._has_cipher()
                else "does it speak TLS?"
            )
        return None

    def _has_cipher(self) -> bool:
        """Return True if the server has chosen a cipher, so it speaks TLS."""
        return self._object is not None and self._object.cipher() is not None

    def _explain_untrusted_certificate(self, error: ssl.SSLCertVerificationError) -> str:
        """Return why the server's certificate was rejected."""
        # The code is OpenSSL's number for the reason why the certificate failed verification.
        code = error.verify_code
        if code in _WRONG_NAME:
            return (
                f"the name {self.server_hostname!r} was expected, but its certificate is for "
                f"{self._certificate_field('subjectAltName') or 'another one'}"
            )
        if code == _EXPIRED:
            return f"its certificate expired{self._date_note('notAfter')}"
        if code == _NOT_YET_VALID:
            return f"its certificate is not valid yet{self._date_note('notBefore')}"
        if code in _SELF_SIGNED:
            return "its certificate, or that of its CA, is self-signed and not among the trusted"
        if code in _UNKNOWN_ISSUER:
            return "its certificate was issued by a CA that is not among the trusted"
        return f"its certificate was not accepted: {error.verify_message}"

    def _explain_failed_handshake(self, error: ssl.SSLError) -> str:
        """Return why the handshake has failed."""
        # OpenSSL's name of the error; None if the error does not come from OpenSSL.
        reason = error.reason or ""
        if reason in _NOT_TLS:
            return "the server does not speak TLS on this port"
        if reason in _NO_COMMON_VERSION:
            return f"no version of TLS is common to both sides ({reason})"
        # Up to TLS 1.2, servers send HANDSHAKE_FAILURE if a client certificate is missing, but also
        # if no cipher is common to both sides.
        is_refusal = reason == "SSLV3_ALERT_HANDSHAKE_FAILURE" and self._has_cipher()
        if reason in _CERTIFICATE_ALERTS or is_refusal:
            return (
                "the server wants a client certificate, or did not accept the one that was shown "
                f"({reason}): load one with ssl_context.load_cert_chain()"
            )
        return str(error)

    def _date_note(self, field: str) -> str:
        """Return a note with a date of the certificate, for example " (on ...)"; "" if unknown."""
        date = self._certificate_field(field)
        return f" (on {date})" if date else ""

    def _certificate_field(self, field: str) -> str:
        """Return a field of the server's certificate; "" if it is unknown."""
        # Use private attributes, because Python has no public API for a certificate that was
        # rejected.
        with suppress(AttributeError, IndexError, TypeError, ValueError, ssl.SSLError):
            tls_object: Any = self._object
            certificate = tls_object._sslobj.get_unverified_chain()[0].get_info()
            value = certificate.get(field, ())
            # A date is a string; alternative names are pairs of type and name.
            return value if isinstance(value, str) else ", ".join(name for _, name in value)
        return ""
