"""End points: the addresses to which the driver opens connections.

An end point keeps a host name unresolved: each new connection resolves the name again.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import Any

DEFAULT_PORT = 9042


def is_ip_address(text: str) -> bool:
    """Return True if `text` is an IP address, also with a scope (see `with_scope`).

    :param text: an IP address, or a host name.
    """
    # Do not use the module ipaddress: importing it takes a millisecond.
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            socket.inet_pton(family, text.partition("%")[0] if family is socket.AF_INET6 else text)
        except (OSError, ValueError):  # ValueError: the string has characters that no address has
            continue
        return True
    return False


def usual_form(address: str) -> str:
    """Return an IPv6 address in its usual form, which node lists have; other names unchanged."""
    digits, percent, scope = address.partition("%")
    try:
        digits = socket.inet_ntop(socket.AF_INET6, socket.inet_pton(socket.AF_INET6, digits))
    except (OSError, ValueError):  # ValueError: the string has characters that no address has
        return address
    return digits + percent + scope


def with_scope(sockaddr: tuple[Any, ...]) -> str:
    """Return the IP address of a result of `socket.getaddrinfo`, with its scope, if it has one.

    A link-local address of IPv6 can only be connected to with the scope, a network interface.

    :param sockaddr: the last item of the result.
    """
    address = str(sockaddr[0])
    scope_id = sockaddr[3] if len(sockaddr) == 4 else 0
    return f"{address}%{scope_id}" if scope_id and "%" not in address else address


class EndPoint:
    """The address to which a connection is opened; the base class of all end points.

    End points are compared, hashed and ordered by their key (`_key`). Subclasses define how the
    node is reached.
    """

    __slots__ = ()

    @property
    def address(self) -> str:
        """The host name, IP address or path, as shown in messages and in `Host.address`."""
        raise NotImplementedError

    @property
    def port(self) -> int:
        """The TCP port; 0 if there is none."""
        raise NotImplementedError

    @property
    def ssl_options(self) -> Mapping[str, Any] | None:
        """TLS options for connections to this end point only, such as ``server_hostname``.

        None if there are no such options.
        """
        return None

    @property
    def socket_family(self) -> int:
        """The family of the addresses to connect to, for `socket.getaddrinfo`."""
        return socket.AF_UNSPEC

    @property
    def leads_to_one_node(self) -> bool:
        """True if all IP addresses of the host name lead to the same node, as those of a proxy do.

        Connections then spread over all addresses, and use the others if one of them fails. If it
        is False, connections to a node stay with the address at which it was reached, because the
        host name may lead to other nodes, too. If that address fails, another one is used if the
        same node answers there.
        """
        return False

    def resolve(self) -> tuple[str, int]:
        """Return the (address, port) to connect to.

        If the address is a host name, the engine resolves it and tries its IP addresses; see
        `leads_to_one_node`.
        """
        raise NotImplementedError

    def _key(self) -> tuple[Any, ...]:
        return (type(self).__name__, self.address, self.port)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, EndPoint):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __lt__(self, other: EndPoint) -> bool:
        return self._key() < other._key()

    def __str__(self) -> str:
        return f"{self.address}:{self.port}"

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self}>"


class DefaultEndPoint(EndPoint):
    """A host name or IP address with a TCP port.

    :param address: the name or address, a string.
    :param port: the port; 9042 by default.
    """

    __slots__ = ("_address", "_hash", "_port")

    def __init__(self, address: str, port: int = DEFAULT_PORT) -> None:
        self._address = address
        self._port = port
        # Cache the hash, because end points are looked up often and never change.
        self._hash = hash((address, port))

    @property
    def address(self) -> str:
        return self._address

    @property
    def port(self) -> int:
        return self._port

    def resolve(self) -> tuple[str, int]:
        return self._address, self._port

    def __eq__(self, other: object) -> bool:
        # A fast path for exactly this class: a subclass may have another key.
        if type(other) is DefaultEndPoint:
            return self._address == other._address and self._port == other._port
        return super().__eq__(other)

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        return (
            f"[{self._address}]:{self._port}"
            if ":" in self._address
            else f"{self._address}:{self._port}"
        )


class SniEndPoint(EndPoint):
    """A node behind a TLS proxy, chosen by the server name that the client sends (SNI).

    :param proxy_address: the proxy's name or address, a string.
    :param server_name: the server name to send in the TLS handshake, a string.
    :param port: the proxy's port; 9042 by default.
    """

    __slots__ = ("_port", "_proxy_address", "_server_name")

    def __init__(self, proxy_address: str, server_name: str, port: int = DEFAULT_PORT) -> None:
        self._proxy_address = proxy_address
        self._server_name = server_name
        self._port = port

    @property
    def address(self) -> str:
        return self._proxy_address

    @property
    def port(self) -> int:
        return self._port

    @property
    def ssl_options(self) -> Mapping[str, Any]:
        return {"server_hostname": self._server_name}

    @property
    def leads_to_one_node(self) -> bool:
        # The proxy chooses the node by the server name, at each of its addresses.
        return True

    def resolve(self) -> tuple[str, int]:
        return self._proxy_address, self._port

    def _key(self) -> tuple[Any, ...]:
        # All nodes have the address of the proxy. Only the server name differs.
        return ("SniEndPoint", self._proxy_address, self._port, self._server_name)

    def __str__(self) -> str:
        return f"{self._proxy_address}:{self._port}:{self._server_name}"


class UnixSocketEndPoint(EndPoint):
    """A node that listens on a unix domain socket.

    :param unix_socket_path: the path of the socket file.
    """

    __slots__ = ("_path",)

    def __init__(self, unix_socket_path: str) -> None:
        self._path = unix_socket_path

    @property
    def address(self) -> str:
        return self._path

    @property
    def port(self) -> int:
        return 0

    @property
    def socket_family(self) -> int:
        return socket.AF_UNIX

    def resolve(self) -> tuple[str, int]:
        return self._path, 0

    def __str__(self) -> str:
        return self._path


for _class in (EndPoint, DefaultEndPoint, SniEndPoint, UnixSocketEndPoint):
    _class.__module__ = "cassandra.connection"
del _class
