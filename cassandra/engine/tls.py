"""Encrypts the engine's connections with TLS, resumes TLS sessions, and explains TLS errors.

asyncio and uvloop call ``wrap_bio`` of an SSL context to create a connection's TLS object. We pass
a `Handshake` instead of the context. The `Handshake` can resume a TLS session, which asyncio and
uvloop do not support. It also keeps the TLS object, because error messages show the server's
certificate.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable, Hashable
from contextlib import suppress
from typing import Any

from cassandra._clocks import wall_time_ns
from cassandra.engine.tls_flights import FlightReader
from cassandra.errors import ConnectionException
from cassandra.metadata.endpoint import EndPoint
from cassandra.ssl_session_cache import SSLSessionCache
from cassandra.tls import ReloadingContext

ContextSource = ssl.SSLContext | Callable[[], ssl.SSLContext]

InThread = Callable[..., Any]

# OpenSSL's error numbers for a certificate that fails verification (x509_vfy.h), by the reason.
_NOT_YET_VALID = 9
_EXPIRED = 10
_SELF_SIGNED = (18, 19)
_UNKNOWN_ISSUER = (2, 20, 21)
_WRONG_NAME = (62, 64)
_MOST_NAMES = 10  # so many names of a certificate are listed in an error

# The errors if the server closes the connection in the middle of the handshake.
_BROKEN = (ConnectionResetError, BrokenPipeError, asyncio.IncompleteReadError)
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
    :param model: if `source` is a function, a context with the same settings as those that it
        returns; None if the settings are unknown.
    :param is_unchanging: True if nobody loads another certificate into a context that is in use,
        because the driver has created the contexts.
    """

    def __init__(
        self,
        source: ContextSource,
        server_hostname: str | None = None,
        sessions: SSLSessionCache | None = None,
        model: ssl.SSLContext | None = None,
        is_unchanging: bool = False,
    ) -> None:
        self.source = source
        self._model = source if isinstance(source, ssl.SSLContext) else model
        self._is_unchanging = is_unchanging
        self._server_hostname = server_hostname
        self._sessions = sessions

    @property
    def compares_addresses(self) -> bool:
        """True if certificates must match the address that we connect to.

        False if `source` is a function whose contexts we do not know.
        """
        model = self._model
        return model is not None and model.check_hostname and self._server_hostname is None

    @property
    def may_compare_addresses(self) -> bool:
        """False if certificates need not match the address that we connect to.

        True if `source` is a function whose contexts we do not know: they may check names.
        """
        return self.compares_addresses or (self._server_hostname is None and self._model is None)

    def end_sessions(self) -> None:
        """Drop the TLS sessions in the cache, because other TLS settings take effect."""
        if self._sessions is not None:
            # Drop the sessions of all contexts. A cache that several clusters share may have
            # sessions of other contexts, but then only one full handshake per node is lost.
            self._sessions.clear()

    def _may_resume_any(self) -> bool:
        """Return True if sessions may be resumed in which the client showed a certificate.

        Return False if the application may load another certificate into a context that is in use.
        A resumed session would still have the old certificate. We would not notice, because Python
        cannot read the certificate of a context.
        """
        source = self.source
        return (
            self._is_unchanging
            or (self._sessions is not None and self._sessions.with_client_certificates)
            or (isinstance(source, ReloadingContext) and source._creates_new_contexts)
        )

    async def begin(self, endpoint: EndPoint, in_thread: InThread) -> Handshake:
        """Return the handshake for a connection to `endpoint`.

        :param in_thread: runs the user's function in another thread, because it may read files.
        :raises TypeError: if the user's function does not return a context.
        :raises ConnectionException: if the server's certificate has to be checked against the path
            of a Unix socket.
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
        # If there is no name, pass the address, because asyncio requires a server name for TLS over
        # a socket that is already connected.
        name = node_name or self._server_hostname or endpoint.resolve()[0]
        # The path of a Unix socket is no name, so send none.
        is_unix_socket = endpoint.socket_family == getattr(socket, "AF_UNIX", None)
        if is_unix_socket and name == endpoint.resolve()[0]:
            if context.check_hostname:
                raise ConnectionException(
                    f"no certificate can be for {endpoint}, a Unix socket: set server_hostname in "
                    "ssl_options, or check_hostname=False in the ssl_context",
                    endpoint,
                )
            name = ""
        return Handshake(
            context,
            endpoint,
            name,
            self._sessions,
            may_resume_any=self._may_resume_any(),
        )


class Handshake:
    """The TLS handshake of one connection. asyncio uses this object like a context.

    :param may_resume_any: False to keep a session only if the server did not ask for a certificate
        of the client.
    """

    def __init__(
        self,
        context: ssl.SSLContext,
        endpoint: EndPoint,
        server_hostname: str,
        sessions: SSLSessionCache | None,
        may_resume_any: bool,
    ) -> None:
        self.context = context
        self.server_hostname = server_hostname
        self._endpoint = endpoint
        self._sessions = sessions
        self._may_resume_any = may_resume_any
        # What `SSLSessionCache.state_of` returned when the handshake began; None before that. If
        # the state differs when the session is stored, the cache refuses the session.
        self._state: Hashable = None
        self._flights: FlightReader | None = None  # None if we need not read the flights
        self._offered_session: ssl.SSLSession | None = None
        # The key of the TLS session in the cache. The server name is part of the key, because a
        # session may be resumed only for the name against which the certificate was checked.
        # `may_resume_any` is part of the key, because a session that was stored while it was True
        # may contain a client certificate, and must not be resumed while it is False.
        self._key = (*endpoint.resolve(), server_hostname, may_resume_any)
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
            # Read the state before OpenSSL reads the context. If the context is changed meanwhile,
            # the session is not kept.
            self._state = self._sessions.state_of(self.context)
            session = self._sessions.get(self._key, self.context)
            self._offered_session = session
        tls_object = self.context.wrap_bio(
            incoming, outgoing, server_side, server_hostname, session
        )
        self._object = tls_object
        if self._sessions is not None and not self._may_resume_any:
            self._flights = FlightReader(tls_object, outgoing)
        return tls_object

    def keep_session(self) -> None:
        """Store the TLS session, so that later connections can resume it.

        This must be called after the server has sent some data, because with TLS 1.3 the server
        sends the session after the handshake.
        """
        tls_object = self._object
        if self._sessions is None or tls_object is None:
            return
        if self._offered_session is not None:
            self._sessions.note_success(self._key)
        # If this connection has resumed a session that is still fresh, keep that session in the
        # cache. Reading the new session would take as long as half a handshake.
        if tls_object.session_reused:
            if self._sessions.is_fresh(self._key):
                return
        # Check only sessions of a full handshake. A resumed session has the same client
        # certificate, or none, as the session in the cache, which was checked when it was stored.
        elif not self._may_keep_session():
            return
        session = tls_object.session
        if session is not None and (session.has_ticket or session.id):
            self._sessions.put(self._key, self.context, session, self._state)

    def _may_keep_session(self) -> bool:
        """Return True if the session may be stored.

        It must remain valid even if the application loads another client certificate into the
        context. So the session must not contain a client certificate, unless `may_resume_any` is
        True.
        """
        # With `post_handshake_auth`, the server may ask for the client's certificate after the
        # handshake.
        return self._flights is None or (
            not self.context.post_handshake_auth and self._flights.was_not_asked()
        )

    def forget_session(self) -> None:
        """Drop the session that this connection has offered, because the connection has failed.

        The session may be the cause: for example, servers reject a session of TLS 1.2 if the
        context no longer has its cipher, and an authenticator may miss the client's certificate.
        The next connection makes a full handshake.
        """
        if self._sessions is not None and self._offered_session is not None:
            self._sessions.note_failure(self._key, self._offered_session)

    # -- errors ------------------------------------------------------------------------------------

    def reason(self, error: BaseException) -> str | None:
        """Return an explanation of `error` for messages; None if TLS is not the cause."""
        if isinstance(error, ssl.SSLCertVerificationError):
            return self._explain_untrusted_certificate(error)
        if isinstance(error, ssl.SSLError):
            return self._explain_failed_handshake(error)
        if isinstance(error, _BROKEN):
            return "the server closed the connection during the handshake: " + (
                "does it expect a client certificate (ssl_context.load_cert_chain)?"
                if self._has_cipher()
                else "does it speak TLS?"
            )
        return None

    def is_missing(self, error: BaseException) -> bool:
        """Return True if `error` suggests that the server does not speak TLS on this port."""
        if isinstance(error, ssl.SSLError):
            return (error.reason or "") in _NOT_TLS
        return isinstance(error, _BROKEN) and not self._has_cipher()

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
            return self._explain_dates("notAfter", "expired")
        if code == _NOT_YET_VALID:
            return self._explain_dates("notBefore", "is not valid yet")
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

    def _explain_dates(self, field: str, problem: str) -> str:
        """Return which certificate was rejected because of its dates, and the date.

        The server's certificate may be valid, but not the certificate of its CA.

        :param field: "notAfter" or "notBefore".
        :param problem: "expired" or "is not valid yet".
        """
        chain = self._certificates()
        for number, certificate in enumerate(chain):
            with suppress(KeyError, TypeError, ValueError):
                date = certificate[field]
                is_past = ssl.cert_time_to_seconds(date) * 1e9 < wall_time_ns()
                if is_past == (field == "notAfter"):
                    whose = "its certificate"
                    if number:
                        names = ", ".join(
                            name for names in certificate["subject"] for _, name in names
                        )
                        whose = f"the certificate of its CA {names!r}"
                    return f"{whose} {problem} (on {date})"
        # The server sends its own certificate, but usually not that of the CA that the client
        # trusts.
        whose = "the certificate of its CA" if chain else "its certificate, or that of its CA,"
        return f"{whose} {problem}"

    def _certificate_field(self, field: str) -> str:
        """Return the names in a field of the server's certificate, with commas; "" if unknown.

        A certificate may have hundreds of names, so only the first are returned, and a number.
        """
        # The field, for example "subjectAltName", has pairs of a type and a name.
        with suppress(IndexError, TypeError, ValueError):
            names = [name for _, name in self._certificates()[0].get(field, ())]
            rest = len(names) - _MOST_NAMES
            return ", ".join(names[:_MOST_NAMES]) + (f" and {rest} more" if rest > 0 else "")
        return ""

    def _certificates(self) -> list[dict[str, Any]]:
        """Return the certificates that the server has sent, its own first; [] if unknown."""
        # Use private attributes, because Python has no public API for a certificate that was
        # rejected.
        with suppress(AttributeError, TypeError, ValueError, ssl.SSLError):
            tls_object: Any = self._object
            chain = tls_object._sslobj.get_unverified_chain()
            return [certificate.get_info() for certificate in chain]
        return []
