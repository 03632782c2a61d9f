"""End point factories, which create the end points of nodes from rows of the system tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cassandra.metadata.endpoint import (
    DEFAULT_PORT,
    DefaultEndPoint,
    EndPoint,
    SniEndPoint,
    UnixSocketEndPoint,
    is_ip_address,
)
from cassandra.policies.translation import IdentityTranslator

__all__ = [
    "DefaultEndPoint", "DefaultEndPointFactory", "EndPoint", "EndPointFactory", "SniEndPoint",
    "SniEndPointFactory", "UnixSocketEndPoint", "advertised_address", "is_ip_address",
]  # fmt: skip


def advertised_address(row: Mapping[str, Any]) -> str:
    """Return the address at which clients can reach the node of this row of the system tables.

    :raises ValueError: if the row has no address.
    """
    # The column is native_address in system.peers_v2, and rpc_address in older tables.
    address = row.get("native_address") or row.get("rpc_address")
    if address in (None, "0.0.0.0", "::"):
        # The node listens on all addresses and advertises a wildcard, to which clients cannot
        # connect. Use another address of the row.
        address = row.get("broadcast_address") or row.get("peer") or row.get("listen_address")
    if address is None:
        raise ValueError(f"a row of the system tables names no address: {dict(row)!r}")
    return str(address)


class EndPointFactory:
    """Creates the end point of each node that the cluster reports."""

    cluster: Any = None

    def configure(self, cluster: object) -> EndPointFactory:
        """Remember the `Cluster`. The driver calls this once, before the first `create`.

        :param cluster: the `Cluster`.
        """
        self.cluster = cluster
        return self

    def create(self, row: Mapping[str, Any]) -> EndPoint:
        """Return the end point for a row of system.local, system.peers or system.peers_v2.

        :param row: the row, a mapping of column names to values.
        """
        raise NotImplementedError


class DefaultEndPointFactory(EndPointFactory):
    """Creates end points from the address that a node advertises.

    The cluster's address translator translates the address.

    :param port: the port of nodes that advertise no port; None for the cluster's port.
    """

    port: int | None = None

    def __init__(self, port: int | None = None) -> None:
        self.port = port

    @property
    def may_block(self) -> bool:
        """True if `create` may block, so that it must be called in another thread.

        A translator may query a name server, and a subclass may do anything.
        """
        translator = getattr(self.cluster, "address_translator", None)
        # Compare the exact types: a user's subclass of one of these classes may block.
        return type(self) is not DefaultEndPointFactory or type(translator) not in (
            type(None),
            IdentityTranslator,
        )

    def create(self, row: Mapping[str, Any]) -> EndPoint:
        """Return the end point for a row, with the translated address."""
        address = advertised_address(row)
        # system.peers_v2 has the port in the column native_port; system.local calls it rpc_port.
        port = (
            row.get("native_port")
            or row.get("rpc_port")
            or self.port
            or getattr(self.cluster, "port", None)
            or DEFAULT_PORT
        )
        translator = getattr(self.cluster, "address_translator", None)
        if translator is not None:
            advertised, address = address, translator.translate(address)
            if not address:
                raise ValueError(
                    f"{type(translator).__name__}.translate({advertised!r}) must give an address, "
                    f"but gave {address!r}"
                )
        return DefaultEndPoint(str(address), int(port))


class SniEndPointFactory(EndPointFactory):
    """Creates end points of nodes that are all reached through one TLS proxy.

    Each connection sends the node's host id as the TLS server name (SNI), by which the proxy finds
    the node.

    :param proxy_address: the proxy's name or address.
    :param port: the proxy's port.
    :param node_domain: appended to the host id after a dot; None uses the host id alone.
    """

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
        """Return the end point of the node that the proxy knows by the name `sni`.

        :param sni: the server name to send in the TLS handshake.
        """
        return SniEndPoint(self._proxy_address, sni, self._port)


for _class in (EndPointFactory, DefaultEndPointFactory, SniEndPointFactory):
    _class.__module__ = "cassandra.connection"
del _class
