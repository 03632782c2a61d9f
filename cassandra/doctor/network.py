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

__all__ = ["installation", "reach"]

# Warn about certificates that expire within this number of days.
_EXPIRY_WARNING_DAYS = 30
_SECONDS_PER_DAY = 24 * 60 * 60


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
            "install a wheel for this platform, or where there is a C compiler",
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
    if addresses != [host]:
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

    # getaddrinfo has no timeout, so call it in a thread. As a daemon, the thread does not keep the
    # process from ending.
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


def _check_tls(
    subject: str, connection: socket.socket, host: str, context: ssl.SSLContext
) -> Iterator[Finding]:
    """Check the TLS handshake on a connection, and when the server's certificate expires."""
    try:
        with context.wrap_socket(connection, server_hostname=host) as secure:
            cipher = secure.cipher()
            version = secure.version()
            certificate = secure.getpeercert() or {}
    except ssl.SSLCertVerificationError as error:
        yield finding(
            PROBLEM,
            subject,
            f"the certificate is not accepted: {error.verify_message}",
            "name the CA by --cafile; a name or an address that the certificate does not have "
            "needs --no-hostname-check",
        )
        return
    except (OSError, ValueError) as error:
        yield finding(
            PROBLEM,
            subject,
            f"TLS fails: {error}",
            "does this port speak TLS (client_encryption_options), and want a client certificate?",
        )
        return
    yield finding(OK, subject, f"speaks {version}, {cipher[0] if cipher else 'no cipher'}")
    expiry_text = certificate.get("notAfter")
    if isinstance(expiry_text, str):
        yield _end_of(subject, ssl.cert_time_to_seconds(expiry_text))


def _end_of(subject: str, expiry: float) -> Finding:
    """Return a finding about the end of the server's certificate.

    :param expiry: when the certificate expires, in seconds since the epoch.
    """
    day = datetime.fromtimestamp(expiry, timezone.utc).date()
    days_left = (expiry - time.time()) / _SECONDS_PER_DAY
    if days_left < _EXPIRY_WARNING_DAYS:
        return finding(
            WARNING, subject, f"its certificate ends on {day}, in {days_left:.0f} days", "renew it"
        )
    return finding(OK, subject, f"its certificate is good until {day}")
