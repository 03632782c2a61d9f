"""Checks contact points, and resolves their names to end points."""

from __future__ import annotations

import re
import socket
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cassandra._habits import stack_level
from cassandra._patterns import pattern
from cassandra.engine.endpoint import DefaultEndPoint, EndPoint, is_ip_address
from cassandra.errors import UnresolvableContactPoints
from cassandra.metadata.endpoint import usual_form, with_scope

if TYPE_CHECKING:
    from collections.abc import Iterable

    ContactPoint = str | tuple[str, int] | EndPoint
    """A host name, an IP address, an (address, port) pair or an end point."""

    ContactPoints = Iterable[ContactPoint]

# The parts of a URL as drivers of other databases accept it. We do not use Python's URL parser,
# because importing it takes some milliseconds.
_URL = pattern(r".*?://(?:.*@)?(?P<hosts>[^/?#]*)/?(?P<keyspace>\w*)")
# A host name, IPv4 address or IPv6 address in brackets, with an optional port.
_HOSTS = pattern(r"(\[[^\]]*\]|[^:,\s]+)(?::(\d+))?")

# Drivers of other databases accept a mapping with these keys instead of a list of addresses.
_SETTINGS_OF_OTHERS = ("address", "contact_points", "host", "hosts", "port")


class MalformedContactPoint(UnresolvableContactPoints, ValueError):
    """The string of a contact point is neither a host name nor an address.

    It is a subclass of `UnresolvableContactPoints`, because cassandra-driver tries to resolve such
    strings and raises that error, which applications catch.

    :param point: the contact point.
    :param message: the error message, which says what is wrong with the contact point.
    """

    def __init__(self, point: str, message: str) -> None:
        super().__init__([point], message)


def checked_contact_points(contact_points: ContactPoints) -> Sequence[ContactPoint]:
    """Return the contact points as a list.

    :raises TypeError: if `contact_points` is a single string, or a contact point has a wrong type.
    :raises ValueError: if a contact point is None.
    :raises MalformedContactPoint: if a string is empty, or contains a port or several addresses.
    """
    if isinstance(contact_points, (str, bytes)):
        single: Any = contact_points
        text = single if isinstance(single, str) else single.decode(errors="replace")
        raise TypeError(
            "contact_points must be a list of addresses, not a single "
            f"{_without_login(text)!r}: write {_as_points(text)}"
        )
    # Python can also iterate over objects that have only `__getitem__`.
    if not hasattr(type(contact_points), "__iter__") and not hasattr(
        type(contact_points), "__getitem__"
    ):
        what = f"an object of type {type(contact_points).__name__}"
        # The application may have passed a test cluster of `cassandra.testing` instead of the
        # addresses in its attribute `contact_points`.
        advice = ""
        if hasattr(type(contact_points), "contact_points"):
            advice = ": write Cluster(nodes.contact_points, port=nodes.port)"
        raise TypeError(f"contact_points must be a list of addresses, but is {what}{advice}")
    points = list(contact_points)
    # A mapping whose keys are addresses is accepted. Reject a mapping whose keys are settings, as
    # drivers of other databases accept it.
    if isinstance(contact_points, Mapping) and not {*points}.isdisjoint(_SETTINGS_OF_OTHERS):
        # Do not show the values of the mapping, because one may be a password.
        raise TypeError(
            f"contact_points must be a list of addresses, but is a mapping of {points!r}: write "
            "Cluster(['10.0.0.1'], port=9042)"
        )
    for point in points:
        _check_contact_point(point)
    if isinstance(contact_points, Mapping) and any(
        value is not None for value in contact_points.values()
    ):
        example = (points[0], contact_points[points[0]])
        is_port = isinstance(example[1], int) or str(example[1]).isdecimal()
        warnings.warn(
            "contact_points is a mapping, and only its keys are used: write "
            + (f"[{example!r}] for an address and its port" if is_port else f"{points!r}"),
            RuntimeWarning,
            stacklevel=stack_level(),
        )
    return points


def _as_points(text: str) -> str:
    """Return what to write instead of a single string: a list, and a port if there is one."""
    if "://" in text:
        return _as_arguments(text)
    points = [point.strip() for point in text.split(",") if point.strip()]
    ports = {point.partition(":")[2] for point in points if _has_port(point)}
    if len(ports) == 1:
        addresses = [point.partition(":")[0] for point in points]
        return f"{addresses!r}, port={ports.pop()}"
    return repr(points or ["10.0.0.1"])  # for an empty string, show an example


def _has_port(point: str) -> bool:
    """Return True for ``host:port``. An IPv6 address has several colons."""
    address, _, port = point.partition(":")
    return bool(address) and port.isdecimal()


def _as_arguments(url: str) -> str:
    """Return the arguments of `Cluster` for the host and the port of a URL.

    The rest of the URL is left out, because it may contain a password.
    """
    parts = _URL.match(url)
    assert parts is not None  # callers pass strings with "://"
    hosts = [host.strip("[]") for host, _ in _HOSTS.findall(parts["hosts"])]
    ports = [port for _, port in _HOSTS.findall(parts["hosts"]) if port]
    connect = f".connect({parts['keyspace']!r})" if parts["keyspace"] else ""
    return f"Cluster({hosts or ['10.0.0.1']!r}, port={(ports or [9042])[0]}){connect}"


def _without_login(text: str) -> str:
    """Return the string with each URL's login replaced by "***", because it may have a password."""
    return re.sub(r"(?<=://).*@", "***@", text)


def _check_contact_point(point: object) -> None:
    """Raise TypeError or ValueError if `point` is not a valid contact point."""
    if isinstance(point, EndPoint):
        return
    address, port = point if isinstance(point, tuple) and len(point) == 2 else (point, None)
    if address is None:
        # None may come from an environment variable that is not set. Reject None, because name
        # resolution would return this machine's own address for it.
        raise ValueError(f"a contact point must not be None, but one is {point!r}")
    if not isinstance(address, str):
        raise TypeError(
            "a contact point is a name, an address, (address, port) or an EndPoint, "
            f"but one is {point!r}"
        )
    if not address.strip():
        raise MalformedContactPoint(
            address, f"a contact point must not be empty, but one is {point!r}"
        )
    if "://" in address:
        raise MalformedContactPoint(
            _without_login(address),
            f"a contact point is an address, not a URL, but one is "
            f"{_without_login(address)!r}: write {_as_arguments(address)}",
        )
    # An address with one colon includes a port. An address with several colons is an IPv6 address.
    if "," in address or address.count(":") == 1 or address.startswith("["):
        raise MalformedContactPoint(
            address,
            f"a contact point is one address without its port, but one is {point!r}: "
            "write each as an item of the list, and its port as port=9042 or as a pair "
            "(address, 9042)",
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
    else:
        address = point
    return DefaultEndPoint(usual_form(str(address)), int(port))


def resolved(endpoints: Sequence[EndPoint]) -> list[EndPoint]:
    """Resolve the host names of `endpoints`, and return an end point for each of their addresses.

    This call blocks. Host names that cannot be resolved are skipped.

    :raises UnresolvableContactPoints: if there are end points, but no name could be resolved.
    """
    resolved_endpoints: dict[EndPoint, None] = {}
    reasons: dict[str, None] = {}
    for endpoint in endpoints:
        # Resolve only default end points with a host name: addresses need no resolving, and end
        # points of other classes resolve their host names themselves.
        if type(endpoint) is not DefaultEndPoint or is_ip_address(endpoint.address):
            resolved_endpoints[endpoint] = None
            continue
        try:
            addresses = socket.getaddrinfo(
                endpoint.address, endpoint.port, socket.AF_UNSPEC, socket.SOCK_STREAM
            )
        except (OSError, ValueError) as error:  # unknown or invalid name
            reasons[getattr(error, "strerror", None) or str(error)] = None
            continue
        for _, _, _, _, address in addresses:
            resolved_endpoints[DefaultEndPoint(with_scope(address), endpoint.port)] = None
    if endpoints and not resolved_endpoints:
        names = [str(endpoint.address) for endpoint in endpoints]
        raise UnresolvableContactPoints(
            names,
            f"no contact point could be resolved: {', '.join(names)}: {', '.join(reasons)} (this "
            "machine must know the name; that of a container is known in its own network only)",
        )
    return list(resolved_endpoints)
