"""Test the classes of end points: their equality, order, string form and addresses."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

import pytest

from cassandra.metadata.endpoint import (
    DefaultEndPoint,
    EndPoint,
    SniEndPoint,
    UnixSocketEndPoint,
    is_ip_address,
    with_scope,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10.0.0.1", True),
        ("::1", True),
        ("fe80::1", True),
        ("fe80::1%2", True),
        ("10.0.0.1%2", False),
        ("10.0.0", False),
        ("localhost", False),
        ("", False),
        ("a\0b", False),
    ],
)
def test_is_ip_address_is_false_for_names(text: str, expected: bool) -> None:
    """`is_ip_address` is True for IP addresses, and False for names and other strings."""
    assert is_ip_address(text) is expected


def test_an_end_point_is_compared_by_address_and_port() -> None:
    """A DefaultEndPoint is compared by its address and port, and can be shown and resolved."""
    end_point = DefaultEndPoint("10.0.0.1", 9142)
    assert (end_point.address, end_point.port) == ("10.0.0.1", 9142)
    assert end_point.resolve() == ("10.0.0.1", 9142)
    assert str(end_point) == "10.0.0.1:9142"
    assert repr(end_point) == "<DefaultEndPoint: 10.0.0.1:9142>"
    assert str(DefaultEndPoint("::1")) == "[::1]:9042"
    assert end_point.ssl_options is None
    assert end_point.socket_family == socket.AF_UNSPEC
    assert end_point == DefaultEndPoint("10.0.0.1", 9142)
    assert hash(end_point) == hash(DefaultEndPoint("10.0.0.1", 9142))
    assert end_point != DefaultEndPoint("10.0.0.1")
    assert end_point != DefaultEndPoint("10.0.0.2", 9142)
    assert end_point != "10.0.0.1:9142"


def test_nodes_behind_one_proxy_differ_by_name() -> None:
    """End points of nodes behind the same proxy differ by the names of the nodes."""
    first, second = SniEndPoint("proxy", "a", 9142), SniEndPoint("proxy", "b", 9142)
    assert first != second
    assert len({first, second, SniEndPoint("proxy", "a", 9142)}) == 2
    assert first.address == "proxy"
    assert first.resolve() == ("proxy", 9142)
    assert first.ssl_options == {"server_hostname": "a"}
    assert str(first) == "proxy:9142:a"
    assert first != DefaultEndPoint("proxy", 9142)


def test_only_the_addresses_of_a_proxy_lead_to_one_node() -> None:
    """`leads_to_one_node` is True for an end point behind a proxy, and False for a DefaultEndPoint.

    A host name may have the addresses of several nodes. A proxy gets the id of the node in the TLS
    server name.
    """
    assert SniEndPoint("proxy", "a").leads_to_one_node
    assert not DefaultEndPoint("proxy").leads_to_one_node


def test_a_socket_in_the_file_system() -> None:
    """The end point of a Unix socket has the socket's path as its address, and the port 0."""
    end_point = UnixSocketEndPoint("/run/cassandra.sock")
    assert end_point.address == "/run/cassandra.sock"
    assert end_point.port == 0
    assert end_point.resolve() == ("/run/cassandra.sock", 0)
    assert end_point.socket_family == socket.AF_UNIX
    assert str(end_point) == "/run/cassandra.sock"
    assert end_point == UnixSocketEndPoint("/run/cassandra.sock")


def test_end_points_have_an_order() -> None:
    """End points are sorted by address and port."""
    points = [
        DefaultEndPoint("10.0.0.2"),
        DefaultEndPoint("10.0.0.1", 1),
        DefaultEndPoint("10.0.0.1"),
    ]
    assert list(map(str, sorted(points))) == ["10.0.0.1:1", "10.0.0.1:9042", "10.0.0.2:9042"]


def test_end_points_of_an_application_s_class_compare_by_key() -> None:
    """End points of an application's class are compared by the class's `_key`."""

    class Zoned(DefaultEndPoint):
        def __init__(self, address: str, zone: str) -> None:
            super().__init__(address)
            self.zone = zone

        def _key(self) -> tuple[str, ...]:
            return self.address, self.zone

    assert Zoned("10.0.0.1", "a") == Zoned("10.0.0.1", "a")
    assert Zoned("10.0.0.1", "a") != Zoned("10.0.0.1", "b")


@pytest.mark.parametrize(
    "access",
    [
        lambda endpoint: endpoint.address,
        lambda endpoint: endpoint.port,
        lambda endpoint: endpoint.resolve(),
    ],
)
def test_the_base_class_is_abstract(access: Callable[[EndPoint], object]) -> None:
    """The address, port and `resolve` of the base class EndPoint raise NotImplementedError."""
    with pytest.raises(NotImplementedError):
        access(EndPoint())


@pytest.mark.parametrize(
    ("sockaddr", "expected"),
    [
        (("10.0.0.1", 9042), "10.0.0.1"),
        (("2001:db8::1", 9042, 0, 0), "2001:db8::1"),
        (("fe80::5", 9042, 0, 2), "fe80::5%2"),
        (("fe80::5%eth0", 9042, 0, 2), "fe80::5%eth0"),
    ],
)
def test_a_link_local_address_has_its_scope(sockaddr: Any, expected: str) -> None:
    assert with_scope(sockaddr) == expected
