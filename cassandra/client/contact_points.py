"""Checks contact points, and resolves their names to end points."""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from cassandra.engine.endpoint import DefaultEndPoint, EndPoint, is_ip_address
from cassandra.errors import UnresolvableContactPoints

if TYPE_CHECKING:
    from collections.abc import Iterable

    ContactPoint = str | tuple[str, int] | EndPoint
    """A name, an address, an (address, port) pair or an end point."""

    ContactPoints = Iterable[ContactPoint]

_SETTINGS_OF_OTHERS = ("address", "contact_points", "host", "hosts", "port")


def checked_contact_points(contact_points: ContactPoints) -> Sequence[ContactPoint]:
    """Return the contact points as a list.

    :raises TypeError: if `contact_points` is a single string, or a contact point has a wrong type.
    :raises ValueError: if a contact point is None or empty, or its string contains a port.
    """
    if isinstance(contact_points, (str, bytes)):
        raise TypeError(
            f"contact_points must be a list of addresses, not a single {contact_points!r}: "
            f"write {_as_list(contact_points)}"
        )
    points = list(contact_points)
    # A mapping whose keys are addresses is accepted. Refuse one with settings as its keys, which
    # drivers of other databases take.
    if isinstance(contact_points, Mapping) and not {*points}.isdisjoint(_SETTINGS_OF_OTHERS):
        raise TypeError(
            f"contact_points must be a list of addresses, but is {contact_points!r}: write "
            "Cluster(['10.0.0.1'], port=9042)"
        )
    for point in points:
        _check_contact_point(point)
    return points


def _as_list(contact_points: str | bytes) -> str:
    """Return a single string of contact points as the list that was probably meant."""
    text = (
        contact_points.decode(errors="replace")
        if isinstance(contact_points, bytes)
        else contact_points
    )
    points = [point.strip() for point in text.split(",") if point.strip()]
    return repr(points or ["10.0.0.1"])  # for an empty string, show an example


def _check_contact_point(point: object) -> None:
    """Raise TypeError or ValueError if `point` is not a valid contact point."""
    if isinstance(point, EndPoint):
        return
    address, port = point if isinstance(point, tuple) and len(point) == 2 else (point, None)
    if address is None:
        # None may come from an environment variable that is not set. Refuse it, because name
        # resolution would take it for this machine.
        raise ValueError(f"a contact point must not be None, but one is {point!r}")
    if not isinstance(address, str):
        raise TypeError(
            "a contact point is a name, an address, (address, port) or an EndPoint, "
            f"but one is {point!r}"
        )
    if not address.strip():
        raise ValueError(f"a contact point must not be empty, but one is {point!r}")
    if "://" in address:
        raise ValueError(
            f"a contact point is an address, not a URL, but one is {point!r}: "
            "write Cluster(['10.0.0.1'], port=9042)"
        )
    # An address with one colon includes a port; one with several colons is an IPv6 address.
    if "," in address or address.count(":") == 1 or address.startswith("["):
        raise ValueError(
            f"a contact point is one address without its port, but one is {point!r}: "
            "write each as an item of the list, and its port as port=9042 or as a pair "
            "(address, 9042)"
        )
    if port is not None and (
        isinstance(port, bool) or not isinstance(port, int) or not 1 <= port <= 65535
    ):
        raise ValueError(
            f"a contact point's port must be a number from 1 to 65535, but it is {point!r}"
        )


def endpoint_of(point: ContactPoint, port: int) -> EndPoint:
    """Return the end point of a contact point, without resolving its host name.

    :param port: the port to use if `point` has none.
    """
    if isinstance(point, EndPoint):
        return point
    if isinstance(point, tuple):
        address, port = point
        return DefaultEndPoint(str(address), int(port))
    return DefaultEndPoint(str(point), port)


def resolved(endpoints: Sequence[EndPoint]) -> list[EndPoint]:
    """Resolve the host names of `endpoints`, and return an end point for each of their addresses.

    This call blocks. Host names that cannot be resolved are left out.

    :raises UnresolvableContactPoints: if there are end points, but none could be resolved.
    """
    resolved_endpoints: dict[EndPoint, None] = {}
    for endpoint in endpoints:
        # Leave other end points as they are: addresses need no resolving, and end points of other
        # classes resolve their host names themselves.
        if type(endpoint) is not DefaultEndPoint or is_ip_address(endpoint.address):
            resolved_endpoints[endpoint] = None
            continue
        try:
            addresses = socket.getaddrinfo(
                endpoint.address, endpoint.port, socket.AF_UNSPEC, socket.SOCK_STREAM
            )
        except (OSError, ValueError):  # unknown or invalid name
            continue
        for _, _, _, _, address in addresses:
            resolved_endpoints[DefaultEndPoint(str(address[0]), endpoint.port)] = None
    if endpoints and not resolved_endpoints:
        raise UnresolvableContactPoints([endpoint.address for endpoint in endpoints])
    return list(resolved_endpoints)
