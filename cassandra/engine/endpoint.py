"""End points: the places where nodes listen.

They keep names unresolved, so that each new connection resolves them anew.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import Any

from cassandra.policies.translation import IdentityTranslator

__all__ = [
    "DefaultEndPoint",
    "DefaultEndPointFactory",
    "EndPoint",
    "EndPointFactory",
    "SniEndPoint",
    "SniEndPointFactory",
    "UnixSocketEndPoint",
    "is_ip_address",
]

DEFAULT_PORT = 9042


def is_ip_address(text: str) -> bool:
    """Return True if `text` is an address, not a name."""
    # Not by the module ipaddress, which costs a millisecond at every import.
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            socket.inet_pton(family, text)
        except OSError:
            continue
        return True
    return False


class EndPoint:
    """The place that a connection is opened to.

    It is hashable and ordered by its key; subclasses say how it is reached.
    """

    __slots__ = ()

    @property
    def address(self) -> str:
        """The host name, IP address or path; it stands in messages and in `Host.address`."""
        raise NotImplementedError

    @property
    def port(self) -> int:
        """The TCP port; 0 if there is none."""
        raise NotImplementedError

    @property
    def ssl_options(self) -> Mapping[str, Any] | None:
        """Options of TLS for this end point alone, ``server_hostname`` say."""
        return None

    @property
    def socket_family(self) -> int:
        """The address family to resolve for."""
        return socket.AF_UNSPEC

    def resolve(self) -> tuple[str, int]:
        """The (address, port) to connect to. The engine resolves a name that stands there and tries
        each of its addresses.
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
    """A host name or IP address with a TCP port."""

    __slots__ = ("_address", "_hash", "_port")

    def __init__(self, address: str, port: int = DEFAULT_PORT) -> None:
        self._address = address
        self._port = port
        # Computed once: end points are looked up often and never change.
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
        # Not isinstance: a subclass may have a key of its own.
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
    """A node behind a TLS proxy, chosen by the server name that the client sends (SNI)."""

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

    def resolve(self) -> tuple[str, int]:
        return self._proxy_address, self._port

    def _key(self) -> tuple[Any, ...]:
        # All nodes have the proxy's address: only the server name tells them apart.
        return ("SniEndPoint", self._proxy_address, self._port, self._server_name)

    def __str__(self) -> str:
        return f"{self._proxy_address}:{self._port}:{self._server_name}"


class UnixSocketEndPoint(EndPoint):
    """A node that listens on a unix domain socket."""

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


class EndPointFactory:
    """Makes the end point of each node that the cluster tells of."""

    cluster: Any = None

    def configure(self, cluster: object) -> EndPointFactory:
        """Called once with the `Cluster`, before the first `create`."""
        self.cluster = cluster
        return self

    def create(self, row: Mapping[str, Any]) -> EndPoint:
        """The end point for a row of system.local, system.peers or system.peers_v2."""
        raise NotImplementedError


class DefaultEndPointFactory(EndPointFactory):
    """The advertised address of the row, translated by the cluster's address translator."""

    port: int | None = None

    def __init__(self, port: int | None = None) -> None:
        self.port = port

    @property
    def may_block(self) -> bool:
        """True if `create` may block: in a subclass, or a translator that asks a name server."""
        translator = getattr(self.cluster, "address_translator", None)
        # By exact types: a subclass may do anything.
        return type(self) is not DefaultEndPointFactory or type(translator) not in (
            type(None),
            IdentityTranslator,
        )

    def create(self, row: Mapping[str, Any]) -> EndPoint:
        # system.peers_v2 names it native_address, the older tables rpc_address.
        address = row.get("native_address") or row.get("rpc_address")
        if address in (None, "0.0.0.0", "::"):
            # A node that listens on every address says so here; its peers know it by the other one.
            address = row.get("broadcast_address") or row.get("peer") or row.get("listen_address")
        if address is None:
            raise ValueError(f"a row of the system tables names no address: {dict(row)!r}")
        # system.local has its port under the older name.
        port = (
            row.get("native_port")
            or row.get("rpc_port")
            or self.port
            or getattr(self.cluster, "port", None)
            or DEFAULT_PORT
        )
        translator = getattr(self.cluster, "address_translator", None)
        if translator is not None:
            advertised, address = address, translator.translate(str(address))
            if not address:
                raise ValueError(
                    f"{type(translator).__name__}.translate({advertised!r}) must give an address, "
                    f"but gave {address!r}"
                )
        return DefaultEndPoint(str(address), int(port))


class SniEndPointFactory(EndPointFactory):
    """All nodes behind one proxy, each by its host id as the server name."""

    may_block = False

    def __init__(self, proxy_address: str, port: int, node_domain: str | None = None) -> None:
        self._proxy_address = proxy_address
        self._port = port
        self._node_domain = node_domain

    def create(self, row: Mapping[str, Any]) -> EndPoint:
        host_id = row.get("host_id")
        if host_id is None:
            raise ValueError(f"a row of the system tables has no host_id: {dict(row)!r}")
        return self.create_from_sni(
            f"{host_id}.{self._node_domain}" if self._node_domain else str(host_id)
        )

    def create_from_sni(self, sni: str) -> SniEndPoint:
        """The end point of the node that answers to `sni`."""
        return SniEndPoint(self._proxy_address, sni, self._port)


for _class in (
    EndPoint,
    DefaultEndPoint,
    SniEndPoint,
    UnixSocketEndPoint,
    EndPointFactory,
    DefaultEndPointFactory,
    SniEndPointFactory,
):
    _class.__module__ = "cassandra.connection"
del _class
