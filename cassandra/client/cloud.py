"""Reads the secure connect bundle of DataStax Astra, and asks Astra's metadata service for nodes.

The bundle is a zip file that contains the address of the metadata service, and certificates. The
service returns the address of a TLS proxy, and the ids of the nodes behind the proxy. To connect to
a node, the driver connects to the proxy and sends the node's id as the TLS server name.

This module is imported only if an application uses a bundle, because ``http.client`` is large.
"""

from __future__ import annotations

import errno
import io
import json
import os
import re
import socket
import ssl
import struct
import tempfile
import threading
import time
import zipfile
import zlib
from collections.abc import Mapping
from http.client import HTTPException, HTTPResponse, HTTPSConnection
from typing import IO, Any, NamedTuple

from cassandra._secrets import Secret
from cassandra.engine.endpoint import EndPoint, EndPointFactory, SniEndPointFactory
from cassandra.errors import DriverException

DEFAULT_TIMEOUT = 5.0  # seconds for the response of the metadata service
MOST_BYTES = 1 << 20  # the maximum size of a file in the bundle, and of the service's response
MOST_NODES = 1000  # the maximum number of nodes in the service's response
# The keys of the setting `cloud`.
_KEYS = ("secure_connect_bundle", "use_default_tempdir", "connect_timeout")

# Exceptions that Python's zip and JSON modules raise if the content is damaged.
_DAMAGE = (
    KeyError, ValueError, RuntimeError, EOFError, OverflowError, struct.error, zlib.error,
)  # fmt: skip

# A valid host name or address. Names are checked before use, because other characters make
# http.client and the IDNA codec fail in many different ways.
_HOST = re.compile(r"[A-Za-z0-9._:-]{1,253}", re.ASCII)
# A valid id of a node. The id becomes the TLS server name of a connection.
_NODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,252}", re.ASCII)

Bundle = str | os.PathLike[str] | IO[bytes]  # a secure connect bundle: a path, or an open file


class _Service(NamedTuple):
    """The content of config.json in the bundle.

    It has the address of the metadata service, and the credentials of the database.
    """

    host: str
    port: int
    username: str | None
    password: Secret[str] | None

    def __repr__(self) -> str:
        return f"<metadata service {self.host}:{self.port}>"


class Cloud:
    """An Astra cluster, which is reached through a TLS proxy.

    :param service: the address of the metadata service.
    :param context: the TLS context for connections to the service and to the proxy.
    :param timeout: seconds for the response of the service.
    :param created_context: True if the driver has created the context from the bundle.
    """

    def __init__(
        self,
        service: _Service,
        context: ssl.SSLContext,
        timeout: float,
        created_context: bool = False,
    ) -> None:
        self._service = service
        self.context = context
        self.created_context = created_context
        self._timeout = timeout
        self.factory = CloudEndPointFactory()

    @property
    def credentials(self) -> tuple[str, Secret[str]] | None:
        """The user name and password in the bundle; None if there are none."""
        service = self._service
        if service.username and service.password is not None:
            return service.username, service.password
        return None

    def ask(self) -> list[EndPoint]:
        """Ask the metadata service for the nodes, and return their end points. This call blocks.

        :raises DriverException: if the service does not answer, or its response is invalid.
        """
        service_address = f"{self._service.host}:{self._service.port}"
        try:
            node_ids, proxy_host, proxy_port = _parse_nodes(self._get_metadata())
        except (OSError, ValueError, OverflowError, RecursionError, HTTPException) as error:
            raise DriverException(
                f"the metadata service at {service_address} could not be asked: {error}"
            ) from error
        except (KeyError, TypeError, AttributeError) as error:
            raise DriverException(
                f"the metadata service at {service_address} does not say where the nodes are: "
                f"{error!r:.200}"
            ) from error
        # Limit the number of nodes, because the service may be wrong or hostile.
        if len(node_ids) > MOST_NODES:
            raise DriverException(
                f"the metadata service at {service_address} names {len(node_ids)} nodes, more "
                f"than {MOST_NODES}"
            )
        if not node_ids:
            raise DriverException(f"the metadata service at {service_address} names no nodes")
        # Update the proxy's address first, because it may have changed since the last call.
        self.factory.use_proxy(proxy_host, proxy_port)
        return [self.factory.create_from_sni(node_id) for node_id in node_ids]

    def _get_metadata(self) -> object:
        """Return the metadata service's response, parsed from JSON."""
        deadline = time.monotonic() + self._timeout
        connection = _TimedConnection(self._service, self.context, deadline)
        try:
            connection.request("GET", "/metadata")
            # Use `with` to close the response: otherwise a response that is not read completely
            # would keep the socket open.
            with connection.getresponse() as answer:
                if answer.status != 200:
                    raise ValueError(f"it answers {answer.status} {answer.reason:.100}")
                return json.loads(_read_body(answer))
        except HTTPException as error:
            raise ValueError(f"its answer cannot be read: {error!r:.200}") from error
        finally:
            connection.close()

    def __repr__(self) -> str:
        return f"<Cloud: metadata service {self._service.host}:{self._service.port}>"


class _TimedConnection(HTTPSConnection):
    """An HTTPS connection with one deadline for all steps together.

    The timeout of a socket applies to each call of a socket method. So without a deadline, a server
    that sends a single byte from time to time could block us for ever.
    """

    def __init__(self, service: _Service, context: ssl.SSLContext, deadline: float) -> None:
        super().__init__(service.host, service.port, context=context)
        self._deadline = deadline
        self._tls = context

    def connect(self) -> None:
        """Open the TLS connection; `http.client` calls this before it sends a request.

        If the host name has several addresses, try them in order. Each address gets an equal share
        of the remaining time, for TCP and the TLS handshake together. So the others are asked if
        one does not respond.
        """
        address_infos = socket.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM)
        # `getaddrinfo` returns at least one address, so `failure` is set if the loop ends.
        failure: OSError | None = None
        for index, address_info in enumerate(address_infos):
            share = _time_left(self._deadline) / (len(address_infos) - index)
            try:
                sock = self._open_socket(address_info, time.monotonic() + share)
                self.sock = _TimedSocket(sock, self._deadline)
                return
            except OSError as error:
                # A failure of TLS tells more than an address that cannot be reached.
                if not isinstance(failure, ssl.SSLError) or isinstance(error, ssl.SSLError):
                    failure = error
        assert failure is not None
        raise failure

    def _open_socket(self, address_info: tuple[Any, ...], deadline: float) -> ssl.SSLSocket:
        """Connect to one address, and complete the TLS handshake there, until `deadline`.

        :param address_info: an element of the list that `socket.getaddrinfo` returns.
        """
        family, socket_type, protocol, _, address = address_info
        sock = socket.socket(family, socket_type, protocol)
        try:
            sock.settimeout(_time_left(deadline))
            sock.connect(address)
            sock.settimeout(_time_left(deadline))  # limits the whole handshake
            return self._tls.wrap_socket(sock, server_hostname=self.host)
        except BaseException:
            sock.close()
            raise


class _TimedSocket:
    """The methods of a socket that ``http.client`` uses, with a deadline."""

    def __init__(self, sock: ssl.SSLSocket, deadline: float) -> None:
        self._sock = sock
        self._deadline = deadline

    def sendall(self, data: bytes) -> None:
        # This timeout limits the whole call of `sendall`.
        self._sock.settimeout(_time_left(self._deadline))
        self._sock.sendall(data)

    def makefile(self, mode: str) -> IO[bytes]:
        return io.BufferedReader(_TimedReader(self._sock, self._deadline))

    def close(self) -> None:
        self._sock.close()


class _TimedReader(io.RawIOBase):
    """Reads from a socket until a deadline."""

    def __init__(self, sock: ssl.SSLSocket, deadline: float) -> None:
        self._sock = sock
        self._deadline = deadline
        # http.client closes the socket before it reads the body. This file object keeps the
        # connection open until the body was read.
        self._file = sock.makefile("rb", buffering=0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._sock.settimeout(_time_left(self._deadline))
        return self._file.readinto(buffer) or 0

    def close(self) -> None:
        self._file.close()
        super().close()


def _time_left(deadline: float) -> float:
    """Return the seconds until `deadline`; raise TimeoutError if it has passed."""
    remaining = deadline - time.monotonic()
    if remaining <= 0:
        raise TimeoutError("its answer did not come in time")
    return remaining


def _read_body(answer: HTTPResponse) -> bytes:
    """Read the body of a response; raise ValueError if it has more than `MOST_BYTES` bytes."""
    body = bytearray()
    while part := answer.read1(MOST_BYTES + 1 - len(body)):
        body += part
        if len(body) > MOST_BYTES:
            raise ValueError(f"its answer has more than {MOST_BYTES} bytes")
    return bytes(body)


def _parse_nodes(answer: Any) -> tuple[list[str], str, int]:
    """Return (ids of the nodes, the proxy's host, the proxy's port) from the service's response.

    :raises ValueError: for an invalid id, host or port. A response with another structure raises
        KeyError, TypeError or AttributeError.
    """
    contact_info = answer["contact_info"]
    ids = contact_info["contact_points"]
    host, _, port = contact_info["sni_proxy_address"].rpartition(":")
    host = host[1:-1] if host[:1] == "[" else host  # an IPv6 address is in brackets
    if not isinstance(ids, list):
        raise TypeError(f"contact_points is a {type(ids).__name__}")
    if not _HOST.fullmatch(host) or not _is_port(port):
        raise ValueError(f"the proxy's address is {contact_info['sni_proxy_address']!r:.100}")
    for node_id in ids[: MOST_NODES + 1]:
        if not isinstance(node_id, str) or not _NODE.fullmatch(node_id):
            raise ValueError(f"a node's id is {node_id!r:.100}")
    return ids, host, int(port)


def _is_port(text: str) -> bool:
    """Return True if `text` is a TCP port in at most five decimal digits."""
    # Check the length first, because converting a very long string of digits is slow.
    return len(text) <= 5 and text.isdecimal() and 0 < int(text) < 65536


class CloudEndPointFactory(EndPointFactory):
    """Creates the end points of the nodes behind the proxy, by host id."""

    may_block = False

    def __init__(self) -> None:
        self._factory: SniEndPointFactory | None = None  # None until the proxy is known

    def use_proxy(self, host: str, port: int) -> None:
        """Create end points behind this proxy from now on."""
        self._factory = SniEndPointFactory(host, port)

    def create(self, row: Mapping[str, Any]) -> EndPoint:
        return self._proxy_factory().create(row)

    def create_from_sni(self, sni: str) -> EndPoint:
        """Return the end point of the node whose server name is `sni`."""
        return self._proxy_factory().create_from_sni(sni)

    def _proxy_factory(self) -> SniEndPointFactory:
        if self._factory is None:
            raise DriverException("the metadata service has not been asked yet")
        return self._factory


def cloud_of(settings: object, context: ssl.SSLContext | None = None) -> Cloud:
    """Read the bundle of the setting `cloud`.

    :param settings: a mapping with ``secure_connect_bundle``, a path or a binary file; optionally
        ``connect_timeout``, the seconds for the response of the metadata service; and
        ``use_default_tempdir``, which is accepted for compatibility and has no effect: the key
        files are always written to the system's temporary directory, and deleted at once.
    :param context: a TLS context that replaces the bundle's certificates; None to use the
        certificates.
    :raises TypeError: if `settings` is not a mapping.
    :raises ValueError: if a setting is unknown or missing, or the bundle is invalid.
    :raises OSError: if the bundle cannot be read.
    """
    if not isinstance(settings, Mapping):
        raise TypeError(
            f"cloud must be a mapping, but is of type {type(settings).__name__}: "
            "write cloud={'secure_connect_bundle': path}"
        )
    for name in settings:
        if name not in _KEYS:
            raise ValueError(f"cloud has no setting {name!r}; there are {', '.join(_KEYS)}")
    bundle = settings.get("secure_connect_bundle")
    if bundle is None:
        raise ValueError("cloud needs 'secure_connect_bundle', the path of the bundle's zip file")
    is_path = isinstance(bundle, (str, os.PathLike))
    # Reject a number: zipfile would use it as an open file descriptor, and close that descriptor.
    if not is_path and not (hasattr(bundle, "read") and hasattr(bundle, "seek")):
        raise TypeError(
            "cloud's secure_connect_bundle must be a path or a binary file, but is of type "
            f"{type(bundle).__name__}"
        )
    if is_path and os.path.isdir(bundle):
        raise IsADirectoryError(
            errno.EISDIR,
            "the secure connect bundle is a folder: pass the zip file itself",
            os.fspath(bundle),
        )
    timeout = settings.get("connect_timeout", DEFAULT_TIMEOUT)
    is_number = isinstance(timeout, (int, float)) and not isinstance(timeout, bool)
    if not is_number or not 0 < timeout <= threading.TIMEOUT_MAX:
        raise ValueError(f"cloud's connect_timeout must be seconds above 0, but is {timeout!r}")
    return _read_bundle(bundle, context, timeout)


def _read_bundle(bundle: Bundle, context: ssl.SSLContext | None, timeout: float) -> Cloud:
    """Read the files of a secure connect bundle; raise ValueError if the bundle is invalid."""
    try:
        with zipfile.ZipFile(bundle) as files:
            # The file may contain a password. Wrap its content in a `Secret`, because tracebacks
            # may show local variables.
            service = _service_of(Secret(_read_member(files, "config.json")))
            if context is not None:
                return Cloud(service, context, timeout)
            return Cloud(service, _make_context(files), timeout, created_context=True)
    except zipfile.BadZipFile as error:
        problem = f"is not a zip file: {error}"
    except _DAMAGE as error:
        problem = f"cannot be used: {error or type(error).__name__}"
    except OSError as error:
        # If the directory of the zip file is damaged, zipfile seeks to a negative offset, which
        # causes EINVAL. All other errors mean that the bundle cannot be read.
        if error.errno != errno.EINVAL:
            raise
        problem = "is damaged: it tells of a place before its beginning"
    # Raise the error outside the `except` blocks, so that the caught error does not become its
    # context: the frames of the caught error refer to the content of the bundle.
    raise ValueError(f"the secure connect bundle {getattr(bundle, 'name', bundle)} {problem}")


def _read_member(files: zipfile.ZipFile, name: str) -> bytes:
    """Return a file of the bundle.

    :raises ValueError: if the file does not exist, is implausibly large, encrypted or oddly
        compressed.
    """
    try:
        info = files.getinfo(name)
    except KeyError:
        problem = f"it has no file {name}"
        inner_name = next((path for path in files.namelist() if path.endswith(f"/{name}")), None)
        if inner_name is not None:
            problem += f", but {inner_name}: zip the files of the bundle without their folder"
        raise ValueError(problem) from None
    if info.file_size > MOST_BYTES:
        raise ValueError(f"its file {name} has {info.file_size} bytes")
    if info.flag_bits & 1:  # bit 0 of the zip format: the file is encrypted
        raise ValueError(f"its file {name} is encrypted")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError(f"its file {name} is compressed in an unusual way")
    # Limit the number of bytes, because the size in the zip directory may be a lie (a zip bomb).
    with files.open(info) as file:
        body = Secret(file.read(MOST_BYTES + 1))
    if len(body.reveal()) > MOST_BYTES:
        raise ValueError(f"its file {name} has more than {MOST_BYTES} bytes")
    return body.reveal()


def _service_of(config: Secret[bytes]) -> _Service:
    # `_parse_config` returns the problem instead of raising it, because a JSON error would refer to
    # the content of the file, which may contain a password.
    service, problem = _parse_config(config)
    if service is None:
        raise ValueError(f"its config.json is not as expected: {problem}")
    return service


def _parse_config(config: Secret[bytes]) -> tuple[_Service | None, str]:
    """Parse config.json. Return (the service, ""), or (None, a description of what is wrong)."""
    try:
        content = Secret(json.loads(config.reveal()))
    except (ValueError, RecursionError) as error:
        return None, f"it is not JSON ({type(error).__name__})"
    if not isinstance(content.reveal(), dict):
        return None, f"a {content.kind} in place of an object"
    missing = [name for name in ("host", "port") if name not in content.reveal()]
    if missing:
        return None, f"it does not have {' and '.join(missing)}"
    host, port = content.reveal()["host"], content.reveal()["port"]
    if not isinstance(host, str) or not _HOST.fullmatch(host):
        return None, f"the host is {host!r:.60}"
    if not _is_port(str(port)):
        return None, f"the port is {port!r:.60}"
    for name in ("username", "password"):
        if not isinstance(content.reveal().get(name), (str, type(None))):
            return None, f"the {name} is not a text"
    password = content.reveal().get("password")
    secret_password = None if not password else Secret(password)
    del password  # tracebacks may show local variables
    return _Service(host, int(port), content.reveal().get("username"), secret_password), ""


def _check_validity(path: str) -> None:
    """Raise ValueError if the certificate in the file `path` has expired.

    Without this check, the metadata service would close the connection without giving a reason.
    """
    # Use a private function, because Python has no public function that decodes a certificate file.
    # If the private function does not exist, skip the check.
    decode = getattr(getattr(ssl, "_ssl", None), "_test_decode_cert", None)
    if decode is None:
        return
    expiry = decode(path)["notAfter"]
    if ssl.cert_time_to_seconds(expiry) < time.time():
        raise ValueError(f"its certificate expired on {expiry}: download the bundle again")


def _no_password() -> str:
    raise ValueError("its key wants a password, which a bundle's key cannot have")


def _make_context(files: zipfile.ZipFile) -> ssl.SSLContext:
    """Create a TLS context from the certificates and the key in the bundle."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    # The servers' certificates must be issued by the bundle's CA. Host names are not checked,
    # because the driver sends node ids as server names, and no certificate contains these.
    context.check_hostname = False
    try:
        # Python takes ASCII only. A PEM file may have comments, which we may lose, in any encoding.
        certificates = _read_member(files, "ca.crt").decode("ascii", "ignore")
        context.load_verify_locations(cadata=certificates)
        # Python can load keys only from files. So write them to files that other users cannot read,
        # and delete the files at once.
        with tempfile.TemporaryDirectory(prefix="cassandra-") as directory:
            paths = []
            for name in ("cert", "key"):
                path = os.path.join(directory, name)
                paths.append(path)
                with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
                    out.write(_read_member(files, name))
            # Pass a callback that raises an error. Without a callback, OpenSSL would ask for a pass
            # phrase on the terminal.
            context.load_cert_chain(paths[0], paths[1], password=_no_password)
            _check_validity(paths[0])
    except ssl.SSLError as error:
        raise ValueError(f"its certificates cannot be loaded: {error}") from error
    return context
