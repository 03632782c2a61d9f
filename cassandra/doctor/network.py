"""The doctor's checks that need no session: installation, host names, ports and TLS.

These checks connect without the driver, so that they can find out why a connection fails.
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
_SECONDS_PER_DAY = 24 * 60 * 60  # to print how many days a certificate is still valid
# An OPTIONS request in protocol version 4. A server that does not support this version responds
# with an error, which is enough for the check.
_OPTIONS = bytes([4, 0, 0, 0, 5, 0, 0, 0, 0])
_ANSWER_SIZE = 64  # bytes of a response that are enough to recognise its protocol
_PLAIN_TIMEOUT = 1.0  # seconds for connecting without TLS after a TLS handshake that failed
# The values that the first byte of a CQL response can have: the protocol version, with the highest
# bit set.
_CQL_ANSWERS = range(0x81, 0x90)
# How the responses of servers of other protocols begin, and which servers these are.
_OTHER_SERVERS = (
    (b"HTTP/", "a web server"),
    (b"<", "a web server"),
    (b"SSH-", "an SSH server"),
    (b"-ERR", "Redis"),
    (b"220", "a mail or FTP server"),
)
# How a TLS alert begins. A server that expects TLS responds to other bytes with an alert.
_TLS_ALERT = b"\x15\x03"
_END_OF_LINE = b"\r\n\r\n"
# Ports that Cassandra and ScyllaDB use for other things than CQL.
_OTHER_PORTS = {
    7000: "the port of the nodes among themselves",
    7001: "the port of the nodes among themselves, with TLS",
    7199: "the port of JMX, for nodetool",
    9160: "the port of Thrift, which older releases had",
    9180: "the port of ScyllaDB's metrics",
    10000: "the port of ScyllaDB's REST API",
}
# OpenSSL's error codes for a certificate that has expired, and for a certificate that is not valid
# yet.
_EXPIRED, _NOT_YET_VALID = 10, 9
# OpenSSL's error codes for a certificate that was issued for another host name or IP address.
_OTHER_NAME = (62, 64)
# OpenSSL's reasons for an error if the server's response to the TLS handshake is not TLS.
_NOT_TLS = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG", "UNKNOWN_PROTOCOL")
# TLS alerts of servers that want a client certificate. HANDSHAKE_FAILURE may have other reasons
# too.
_WANTS_CERTIFICATE = (
    "CERTIFICATE_REQUIRED",
    "BAD_CERTIFICATE",
    "CERTIFICATE_UNKNOWN",
    "CERTIFICATE_EXPIRED",
    "UNKNOWN_CA",
    "HANDSHAKE_FAILURE",
)
GIVE_CERTIFICATE = (
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
    # If there is no `fallback_reason`, somebody has chosen the pure Python modules.
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
    """In a source checkout, check that the compiled modules were built from the current sources."""
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


Examined = dict[tuple[str, int, str | None], bool]
"""Maps each examined address to whether it has a problem.

The keys are (address, port, TLS server name). The name is None, except for nodes behind a proxy.
"""


def reach(
    host: str,
    port: int,
    timeout: float,
    context: ssl.SSLContext | None,
    *,
    server_name: str | None = None,
    examined: Examined | None = None,
) -> Iterator[Finding]:
    """Check a contact point or a node: resolve its name, and connect to its port.

    The connection uses TLS if there is a context.

    :param host: a name or an address.
    :param port: the port of the native protocol.
    :param timeout: the maximum time of each step, in seconds.
    :param context: the TLS context, or None for no TLS.
    :param server_name: the TLS server name of a node behind a proxy; None to use `host`.
    :param examined: a dict to which an entry is added for each address of the host: True if the
        address has a problem.
    """
    subject = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    if server_name is not None:
        subject += f":{server_name}"
    try:
        addresses = _resolve(host, port, timeout)
    except (OSError, Late) as error:
        reason = "no answer in time" if isinstance(error, Late) else str(error)
        yield finding(
            PROBLEM, subject, f"the name cannot be looked up: {reason}", "check the name, and DNS"
        )
        if examined is not None:
            examined[host, port, server_name] = True
        return
    if addresses != [host]:  # otherwise `host` is an address itself
        yield finding(OK, subject, f"is {', '.join(addresses)}")
    # Connect to all addresses, because only some of them may work.
    for address in addresses:
        has_problem = False
        for result in _check_address(subject, address, server_name or host, port, timeout, context):
            has_problem |= result.level == PROBLEM
            yield result
        if examined is not None:
            examined[address, port, server_name] = has_problem


def _resolve(host: str, port: int, timeout: float) -> list[str]:
    """Return the IP addresses of a host.

    Raise `Late` if the look-up takes longer than `timeout`.
    """
    lookup: Future[Any] = Future()

    def call_getaddrinfo() -> None:
        try:
            lookup.set_result(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except BaseException as error:
            lookup.set_exception(error)

    # getaddrinfo has no timeout, so call it in a thread. The thread is a daemon, so that the
    # process can exit while the call still blocks.
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
    """Check that an address accepts connections, and check its TLS if there is a context."""
    started = time.monotonic()
    try:
        connection = socket.create_connection((address, port), timeout)
    except OSError as error:
        advice = "is the node running, and does it listen on this address (rpc_address)?"
        if port in _OTHER_PORTS:
            advice = _cql_port_advice(port)
        if isinstance(error, TimeoutError):
            advice = "a firewall between here and there, or a wrong address"
        yield finding(PROBLEM, subject, f"{address} cannot be connected to: {error}", advice)
        return
    # The port is open. Check whether the server speaks CQL there, with or without TLS.
    milliseconds = (time.monotonic() - started) * 1000
    with connection:
        yield finding(OK, subject, f"{address} accepts connections, in {milliseconds:.1f} ms")
        if context is not None:
            yield from _check_tls(subject, connection, host, (address, port), context)
        else:
            yield from _check_answer(subject, connection, port)


def _check_answer(subject: str, connection: socket.socket, port: int) -> Iterator[Finding]:
    """Send an OPTIONS request, and yield a finding unless the server responds in CQL's protocol."""
    is_tls = isinstance(connection, ssl.SSLSocket)
    try:
        connection.sendall(_OPTIONS)
        answer = _first_bytes(connection)
        if answer:
            yield from _check_first_bytes(subject, port, answer, is_tls)
            return
        # Some servers close the connection without an alert if the client sends no certificate.
        if answer is not None and is_tls:
            yield _wants_certificate(subject, "it closed the connection after the handshake")
            return
        problem, do = "closes the connection without an answer", _cql_port_advice(port)
        if answer is None:
            seconds = connection.gettimeout()
            problem = f"accepts connections, but does not answer within {seconds:g} s"
            do = _cql_port_advice(port) if port in _OTHER_PORTS else _HANGS
    except OSError as error:
        # In TLS 1.3, the server checks the client's certificate after the client has finished the
        # handshake. So the error about the certificate is raised here.
        if _is_about_client_certificate(error):
            yield _wants_certificate(subject, error)
            return
        problem = f"breaks the connection: {error}"
        do = GIVE_CERTIFICATE if is_tls else _cql_port_advice(port)
    if not is_tls:
        do += "; if it speaks TLS on this port, give --ssl and --cafile"
    yield finding(PROBLEM, subject, problem, do)


def _first_bytes(connection: socket.socket) -> bytes | None:
    """Return the first bytes of the response to the request that was sent.

    Return b"" if the server closes the connection, and None if it stays silent.
    """
    try:
        return connection.recv(_ANSWER_SIZE)
    except TimeoutError:
        pass
    # The server may be a web server, which waits for the end of the line: send it. A CQL node that
    # hangs stays silent all the same.
    timeout = connection.gettimeout()
    try:
        connection.settimeout(min(timeout or 1.0, 1.0))
        connection.sendall(_END_OF_LINE)
        return connection.recv(_ANSWER_SIZE)
    except OSError:
        return None
    finally:
        connection.settimeout(timeout)


def _check_first_bytes(subject: str, port: int, answer: bytes, is_tls: bool) -> Iterator[Finding]:
    """Yield a problem if the response to an OPTIONS request is not in the CQL protocol.

    :param answer: the first bytes of the response; b"" if there was no response.
    """
    if not answer or answer[0] in _CQL_ANSWERS:
        return
    if answer.startswith(_TLS_ALERT) and not is_tls:
        yield finding(PROBLEM, subject, "speaks TLS on this port", "give --ssl, and --cafile")
        return
    server = next(
        (server for start, server in _OTHER_SERVERS if answer.startswith(start)),
        f"a server of another protocol ({answer[:20]!r})",
    )
    yield finding(
        PROBLEM, subject, f"{server} answers on this port, not Cassandra", _cql_port_advice(port)
    )


def _cql_port_advice(port: int) -> str:
    """Return advice on which port to use instead of a port that does not speak CQL."""
    advice = (
        "give --port with the port of CQL: native_transport_port of cassandra.yaml, usually 9042"
    )
    return f"{port} is {_OTHER_PORTS[port]}: {advice}" if port in _OTHER_PORTS else advice


def _is_about_client_certificate(error: OSError) -> bool:
    """Return True if a server has reported a missing or rejected client certificate."""
    if not isinstance(error, ssl.SSLError):
        return False
    # `reason` is None if the error does not come from a TLS alert.
    reason = getattr(error, "reason", None) or ""
    return reason.endswith(_WANTS_CERTIFICATE)


def _wants_certificate(subject: str, reason: OSError | str) -> Finding:
    """Return the finding for a server that wants a client certificate, or has rejected it."""
    return finding(
        PROBLEM,
        subject,
        f"asks for a client certificate, it seems, and got none that it accepts ({reason})",
        GIVE_CERTIFICATE,
    )


def _not_trusted(subject: str, error: ssl.SSLCertVerificationError) -> Finding:
    """Return the finding for a server certificate that this client does not accept."""
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
    # In all other cases, the CA is unknown, or the certificate is for another name or address.
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
    subject: str,
    connection: socket.socket,
    host: str,
    peer: tuple[str, int],
    context: ssl.SSLContext,
) -> Iterator[Finding]:
    """Check the TLS handshake on a connection, the server's certificate, and the server's response.

    :param subject: the subject of the findings.
    :param host: the name to expect in the certificate.
    :param peer: the address and the port of the connection.
    """
    # Make the handshake. For each kind of failure, yield a finding that explains it.
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
            yield _not_tls(subject, peer, error)
            return
        yield finding(
            PROBLEM,
            subject,
            f"TLS fails: {error}; the server may ask for a client certificate",
            f"if this port speaks TLS (client_encryption_options), {GIVE_CERTIFICATE}; if it does "
            "not, leave --ssl out",
        )
        return
    # The handshake succeeded, so check the server's response.
    with secure:
        yield from _check_secured(subject, secure, peer[1])


def _not_tls(subject: str, peer: tuple[str, int], error: Exception) -> Finding:
    """Return the finding for a server that does not speak TLS on this port.

    Connect again without TLS, to find out what the server speaks.
    """
    try:
        with socket.create_connection(peer, _PLAIN_TIMEOUT) as connection:
            connection.sendall(_OPTIONS)
            answer = _first_bytes(connection) or b""
            # If the server speaks another protocol, the finding names the protocol.
            for result in _check_first_bytes(subject, peer[1], answer, is_tls=True):
                return result
    except OSError:
        pass
    return finding(
        PROBLEM,
        subject,
        f"TLS fails: the answer is not TLS ({error})",
        "this port does not speak TLS (client_encryption_options): leave --ssl and --cafile out",
    )


def _check_secured(subject: str, secure: ssl.SSLSocket, port: int) -> Iterator[Finding]:
    """Check a connection after the TLS handshake.

    Report the TLS version and cipher, when the server's certificate expires, and if the server
    responds.
    """
    cipher, version = secure.cipher(), secure.version()
    certificate = secure.getpeercert() or {}
    yield finding(OK, subject, f"speaks {version}, {cipher[0] if cipher else 'no cipher'}")
    expiry_text = certificate.get("notAfter")
    if isinstance(expiry_text, str):
        yield _end_of(subject, ssl.cert_time_to_seconds(expiry_text))
    yield from _check_answer(subject, secure, port)


def client_certificate(path: str) -> Iterator[Finding]:
    """Check when the client's own certificate expires.

    :param path: the PEM file. Its first certificate is the client's certificate.
    """
    # `ssl` has no public function that reads a certificate file. If the private function is
    # missing, skip this check.
    decode = getattr(getattr(ssl, "_ssl", None), "_test_decode_cert", None)
    if decode is None:
        return
    try:
        expiry_text = decode(str(path)).get("notAfter")
    except ssl.SSLError:  # cannot happen: the context was made from this file
        return
    if isinstance(expiry_text, str):
        yield _end_of(f"client certificate {path}", ssl.cert_time_to_seconds(expiry_text))


def _end_of(subject: str, expiry: float) -> Finding:
    """Return a finding that reports when a certificate expires.

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
