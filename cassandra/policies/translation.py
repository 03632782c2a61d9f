"""Address translators map addresses that nodes advertise to addresses that clients can reach."""

from __future__ import annotations

import socket


class AddressTranslator:
    """Translates the addresses that nodes advertise to addresses that the client can reach.

    `translate` may block: the engine calls it in a separate thread.
    """

    def translate(self, addr: str) -> str:
        """Return the address to connect to if a node advertises `addr`.

        :param addr: the address that the node advertises, as a string.
        """
        raise NotImplementedError


class IdentityTranslator(AddressTranslator):
    """Returns every address unchanged."""

    def translate(self, addr: str) -> str:
        return addr


class EC2MultiRegionTranslator(AddressTranslator):
    """Translates public addresses to private addresses, for nodes of the client's EC2 region.

    Within a region, the DNS name of a public address resolves to the private address.
    """

    def translate(self, addr: str) -> str:
        family = socket.AF_INET6 if ":" in addr else socket.AF_INET
        try:
            # Resolve the public address to its DNS name, and the name to the private address.
            name = socket.getfqdn(addr)
            return str(socket.getaddrinfo(name, None, family, socket.SOCK_STREAM)[0][4][0])
        except OSError:  # the name does not resolve: use the public address
            return addr
