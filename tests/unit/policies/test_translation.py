"""Address translators replace a node's address by the address to connect to."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from cassandra.policies.translation import EC2MultiRegionTranslator, IdentityTranslator

# Maps each public address to its host name.
NAMES = {"54.1.2.3": "ec2-54-1-2-3.compute.example", "2001:db8::1": "six.example"}


# Maps each host name to its private address.
ADDRESSES = {"ec2-54-1-2-3.compute.example": "10.0.0.3", "six.example": "fd00::3"}


@pytest.fixture
def name_server(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Replace name lookups by NAMES and ADDRESSES.

    :returns: the list of the address families that were requested.
    """
    families: list[Any] = []

    def getaddrinfo(name: str, port: Any, family: Any, socket_type: Any) -> list[Any]:
        families.append(family)
        if name == "54.9.9.9":
            raise socket.gaierror("no such name")
        # 6 is the protocol number of TCP.
        return [(family, socket_type, 6, "", (ADDRESSES.get(name, name), 0))]

    monkeypatch.setattr(socket, "getfqdn", lambda address: NAMES.get(address, address))
    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return families


@pytest.mark.parametrize(
    ("public", "private"),
    [
        ("54.1.2.3", "10.0.0.3"),
        ("2001:db8::1", "fd00::3"),
        # This node is in another region, so its name resolves to its public address.
        ("198.51.100.7", "198.51.100.7"),
        ("54.9.9.9", "54.9.9.9"),  # the name server fails, so the address stays the same
    ],
)
def test_ec2_nodes_of_the_same_region_are_reached_by_private_address(
    name_server: list[Any], public: str, private: str
) -> None:
    """A public address is translated to its name, and the name to the private address."""
    assert EC2MultiRegionTranslator().translate(public) == private
    assert name_server == [socket.AF_INET6 if ":" in public else socket.AF_INET]


def test_identity() -> None:
    """`IdentityTranslator` does not change addresses."""
    assert IdentityTranslator().translate("10.0.0.1") == "10.0.0.1"
