"""The checks of ``python -m cassandra.doctor`` that need no session: installation, names, ports,
TLS.
"""

from __future__ import annotations

import os
import platform
import socket
import ssl
import time
from collections.abc import Iterator
from concurrent.futures import Future, TimeoutError as Late
from datetime import datetime, timezone
from threading import Thread
from typing import Any

from cassandra import _build_stamp, _impl
from cassandra._version import DRIVER_NAME, __version__
from cassandra.doctor.findings import NOTE, OK, PROBLEM, WARNING, Finding, finding

# Warn about certificates that expire within this number of days.
_EXPIRY_WARNING_DAYS = 30
_SECONDS_PER_DAY = 24 * 60 * 60
# An OPTIONS request in protocol version 4. Servers that do not support this version answer it, too,
# with an error.
_OPTIONS = bytes([4, 0, 0, 0, 5, 0, 0, 0, 0])
# OpenSSL's error codes for a certificate that has expired, and for one that is not valid yet.
_EXPIRED, _NOT_YET_VALID = 10, 9
# OpenSSL's error codes for a certificate of another name or of another IP address.
_OTHER_NAME = (62, 64)
# OpenSSL's reasons if the answer to the TLS handshake is not TLS at all.
_NOT_TLS = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG", "UNKNOWN_PROTOCOL")
# TLS alerts of servers that want a client certificate. The last one may also have other reasons.
_WANTS_CERTIFICATE = (
    "CERTIFICATE_REQUIRED",
    "BAD_CERTIFICATE",
    "CERTIFICATE_UNKNOWN",
    "CERTIFICATE_EXPIRED",
    "UNKNOWN_CA",
    "HANDSHAKE_FAILURE",
)
_GIVE_CERTIFICATE = (
    "give --cert and --key, with a certificate of a CA that the server trusts (require_client_auth "
    "in client_encryption_options)"
)
_HANGS = (
    "the process hangs or is overloaded: look at its log for long pauses of the garbage collector, "
    "take a jstack, restart it"
)


def installation() -> Iterator[Finding]:
    """Report the version of the driver, and check that its compiled modules are used."""
    if _impl.implementation == "c":
        yield from _check_build()
    text = f"{DRIVER_NAME} {__version__}"
    if _impl.implementation == "c":
        yield finding(OK, "driver", f"{text}, compiled")
    elif _impl.fallback_reason is None:
        reason = f"as on every {platform.python_implementation()}"
        if os.environ.get("CASS_DRIVER_IMPL") == "python":
            reason = "as CASS_DRIVER_IMPL wants it"
        yield finding(NOTE, "driver", f"{text}, pure Python, {reason}")
    else:
        yield finding(
            WARNING,
            "driver",
            f"{text}, pure Python, at about a quarter of its speed: {_impl.fallback_reason}",
            f"install a wheel for this platform; if there is none, {_impl.HOW_TO_COMPILE}",
        )


def _check_build() -> Iterator[Finding]:
    """In a source checkout, check that the compiled modules were built from the present sources."""
    if not _build_stamp.has_sources():
        return
    changed = _build_stamp.changed_files(thorough=True)
    if changed is None:
        yield finding(
            NOTE,
            "build",
            "nothing says which sources cassandra._accel was built from",
            f"if attributes are missing at odd places, {_build_stamp.REBUILD}",
        )
    elif changed:
        yield finding(PROBLEM, "build", _impl.other_sources(changed), _build_stamp.REBUILD)


def reach(
    host: str, port: int, timeout: float, context: ssl.SSLContext | None
) -> Iterator[Finding]:
    """Check a contact point: resolve its name, and connect to its port (by TLS if configured).

    :param host: a name or an address.
    :param port: the port of the native protocol.
    :param timeout: seconds for each step.
    :param context: the TLS context, or None for no TLS.
    """
    subject = f"{host}:{port}"
    try:
        addresses = _resolve(host, port, timeout)
    except (OSError, Late) as error:
        reason = "no answer in time" if isinstance(error, Late) else str(error)
        yield finding(
            PROBLEM, subject, f"the name cannot be looked up: {reason}", "check the name, and DNS"
        )
        return
    if addresses != [host]:  # otherwise `host` is an address itself
        yield finding(OK, subject, f"is {', '.join(addresses)}")
    for address in addresses:
        yield from _check_address(subject, address, host, port, timeout, context)


def _resolve(host: str, port: int, timeout: float) -> list[str]:
    """Return the IP addresses of a host; raise `Late` if that takes longer than `timeout`."""
    lookup: Future[Any] = Future()

    def call_getaddrinfo() -> None:
        try:
            lookup.set_result(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except BaseException as error:
            lookup.set_exception(error)

    # getaddrinfo has no timeout, so call it in a thread. The thread is a daemon, so that the
    # process can end while the call still blocks.
    Thread(target=call_getaddrinfo, name="cassandra-doctor", daemon=True).start()
    return list(dict.fromkeys(str(result[4][0]) for result in lookup.result(timeout)))


def _check_address(
    subject: str,
    address: str,
    host: str,
    port: int,
    timeout: float,
    context: ssl.SSLContext | None,
) -> Iterator[Finding]:
    """Check that an address accepts connections, and its TLS if there is a context."""
    started = time.monotonic()
    try:
        connection = socket.create_connection((address, port), timeout)
    except OSError as error:
        advice = "is the node running, and does it listen on this address (rpc_address)?"
        if isinstance(error, TimeoutError):
            advice = "a firewall between here and there, or a wrong address"
        yield finding(PROBLEM, subject, f"{address} cannot be connected to: {error}", advice)
        return
    milliseconds = (time.monotonic() - started) * 1000
    with connection:
        yield finding(OK, subject, f"{address} accepts connections, in {milliseconds:.1f} ms")
        if context is not None:
            yield from _check_tls(subject, connection, host, context)
        else:
            yield from _check_answer(subject, connection)


def _check_answer(subject: str, connection: socket.socket) -> Iterator[Finding]:
    """Send an OPTIONS request, and yield a finding if it is not answered."""
    is_tls = isinstance(connection, ssl.SSLSocket)
    try:
        connection.sendall(_OPTIONS)
        if connection.recv(1):
            return
        # Some servers close the connection without an alert if they miss a client certificate.
        if is_tls:
            yield _wants_certificate(subject, "it closed the connection after the handshake")
            return
        problem, do = "closes the connection without an answer", "is it the port of clients?"
    except TimeoutError:
        problem = f"accepts connections, but does not answer within {connection.gettimeout():g} s"
        do = _HANGS
    except OSError as error:
        # With TLS 1.3, a server rejects the client's certificate only after the handshake, so the
        # error comes here.
        if _is_about_client_certificate(error):
            yield _wants_certificate(subject, error)
            return
        problem = f"breaks the connection: {error}"
        do = _GIVE_CERTIFICATE if is_tls else "is it the port of clients?"
    if not is_tls:
        do += "; if it speaks TLS on this port, give --ssl and --cafile"
    yield finding(PROBLEM, subject, problem, do)


def _is_about_client_certificate(error: OSError) -> bool:
    reason = (getattr(error, "reason", None) or "") if isinstance(error, ssl.SSLError) else ""
    return reason.endswith(_WANTS_CERTIFICATE)


def _wants_certificate(subject: str, reason: OSError | str) -> Finding:
    return finding(
        PROBLEM,
        subject,
        f"asks for a client certificate, it seems, and got none that it accepts ({reason})",
        _GIVE_CERTIFICATE,
    )


def _not_trusted(subject: str, error: ssl.SSLCertVerificationError) -> Finding:
    """Return the finding for a server's certificate that is not accepted."""
    if error.verify_code == _EXPIRED:
        return finding(
            PROBLEM,
            subject,
            "its certificate has expired",
            "renew the certificate in the node's keystore (client_encryption_options); Cassandra "
            "reads a changed keystore by itself, or after nodetool reloadssl",
        )
    if error.verify_code == _NOT_YET_VALID:
        return finding(
            PROBLEM,
            subject,
            "its certificate is not valid yet",
            "compare the clocks, here and where the certificate was issued",
        )
    do = (
        "the certificate's CA is not in the file of --cafile (without --cafile: not one that this "
        "system trusts): name the CA that has signed it"
    )
    if error.verify_code in _OTHER_NAME:
        do = (
            "give the name that the certificate has, or renew it with this name or address as "
            "subject alternative name (SAN); --no-hostname-check leaves this check out"
        )
    text = f"the certificate is not accepted: {error.verify_message}"
    return finding(PROBLEM, subject, text, do)


def _check_tls(
    subject: str, connection: socket.socket, host: str, context: ssl.SSLContext
) -> Iterator[Finding]:
    """Check the TLS handshake on a connection, when the server's certificate expires, and that the
    server answers.
    """
    try:
        secure = context.wrap_socket(connection, server_hostname=host)
    except ssl.SSLCertVerificationError as error:
        yield _not_trusted(subject, error)
        return
    except TimeoutError:
        yield finding(
            PROBLEM,
            subject,
            f"TLS fails: no answer within {connection.gettimeout():g} s",
            f"{_HANGS}; but if this port does not speak TLS (client_encryption_options), leave "
            "--ssl and --cafile out",
        )
        return
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and _is_about_client_certificate(error):
            yield _wants_certificate(subject, error)
            return
        if getattr(error, "reason", None) in _NOT_TLS:
            yield finding(
                PROBLEM,
                subject,
                f"TLS fails: the answer is not TLS ({error})",
                "this port does not speak TLS (client_encryption_options): leave --ssl and "
                "--cafile out",
            )
            return
        yield finding(
            PROBLEM,
            subject,
            f"TLS fails: {error}; the server may ask for a client certificate",
            f"if this port speaks TLS (client_encryption_options), {_GIVE_CERTIFICATE}; if it does "
            "not, leave --ssl out",
        )
        return
    with secure:
        yield from _check_secured(subject, secure)


def _check_secured(subject: str, secure: ssl.SSLSocket) -> Iterator[Finding]:
    """Check a connection after the TLS handshake: report its TLS version and cipher, when the
    server's certificate expires, and whether the server answers.
    """
    cipher, version = secure.cipher(), secure.version()
    certificate = secure.getpeercert() or {}
    yield finding(OK, subject, f"speaks {version}, {cipher[0] if cipher else 'no cipher'}")
    expiry_text = certificate.get("notAfter")
    if isinstance(expiry_text, str):
        yield _end_of(subject, ssl.cert_time_to_seconds(expiry_text))
    yield from _check_answer(subject, secure)


def client_certificate(path: str) -> Iterator[Finding]:
    """Check when the client's own certificate expires.

    :param path: the PEM file; its first certificate is the client's.
    """
    # Use a private function, because `ssl` has no public one for this. If it is missing, skip the
    # check.
    decode = getattr(getattr(ssl, "_ssl", None), "_test_decode_cert", None)
    if decode is None:
        return
    try:
        expiry_text = decode(str(path)).get("notAfter")
    except ssl.SSLError:  # the context was made of this file, so it has a certificate
        return
    if isinstance(expiry_text, str):
        yield _end_of(f"client certificate {path}", ssl.cert_time_to_seconds(expiry_text))


def _end_of(subject: str, expiry: float) -> Finding:
    """Return a finding that says when a certificate expires.

    :param expiry: when the certificate expires, in seconds since the epoch.
    """
    day = datetime.fromtimestamp(expiry, timezone.utc).date()
    days_left = (expiry - time.time()) / _SECONDS_PER_DAY
    if days_left < 0:
        return finding(PROBLEM, subject, f"its certificate has expired on {day}", "renew it")
    if days_left < _EXPIRY_WARNING_DAYS:
        return finding(
            WARNING, subject, f"its certificate ends on {day}, in {days_left:.0f} days", "renew it"
        )
    return finding(OK, subject, f"its certificate is good until {day}")
