"""The number of connections that a session opens to a host, depending on the host's distance.

You may change these numbers of a `Cluster` at any time.
"""

from __future__ import annotations

from collections.abc import Mapping

from cassandra.policies.balancing import HostDistance

# The default values of the methods below. The names are those of cassandra-driver.
DEFAULT_MIN_REQUESTS = 5
DEFAULT_MAX_REQUESTS = 100
DEFAULT_MIN_CONNECTIONS_PER_LOCAL_HOST = 1
DEFAULT_MAX_CONNECTIONS_PER_LOCAL_HOST = 8
DEFAULT_MIN_CONNECTIONS_PER_REMOTE_HOST = 1
DEFAULT_MAX_CONNECTIONS_PER_REMOTE_HOST = 2

_LOCAL_DISTANCES = (HostDistance.LOCAL_RACK, HostDistance.LOCAL)
_DISTANCES = (*_LOCAL_DISTANCES, HostDistance.REMOTE)


class PoolSizes:
    """The methods of a `Cluster` for the sizes of connection pools.

    A session opens `get_core_connections_per_host` connections to each host, depending on the
    host's distance. `set_max_connections_per_host` limits that number. Pools do not grow with the
    load, because one connection handles up to 32,768 concurrent requests.
    """

    # By distance, the number of connections to each host, and the maximum of that number.
    _core_connections: dict[int, int]
    _max_connections: dict[int, int]

    def _set_pool_sizes(self, connections: int | Mapping[int, int]) -> None:
        """Set the sizes of pools from the setting `connections_per_host`.

        :param connections: the number of connections to each host, or the number by distance.
        """
        counts_by_distance = (
            connections
            if isinstance(connections, Mapping)
            else dict.fromkeys(_DISTANCES, connections)
        )
        for distance, number in counts_by_distance.items():
            _check_count("connections_per_host", distance, number)
        local_count = counts_by_distance.get(
            HostDistance.LOCAL, DEFAULT_MIN_CONNECTIONS_PER_LOCAL_HOST
        )
        self._core_connections = {
            # The number for LOCAL also applies to the local rack, unless the local rack has its own
            # number.
            HostDistance.LOCAL_RACK: local_count,
            HostDistance.LOCAL: local_count,
            HostDistance.REMOTE: DEFAULT_MIN_CONNECTIONS_PER_REMOTE_HOST,
            **counts_by_distance,
        }
        # A setting above the default maximum also raises the maximum.
        default_maximums = dict.fromkeys(_LOCAL_DISTANCES, DEFAULT_MAX_CONNECTIONS_PER_LOCAL_HOST)
        default_maximums[HostDistance.REMOTE] = DEFAULT_MAX_CONNECTIONS_PER_REMOTE_HOST
        self._max_connections = {
            distance: max(default_maximums[distance], count)
            for distance, count in self._core_connections.items()
        }
        self._min_requests = dict.fromkeys(_DISTANCES, DEFAULT_MIN_REQUESTS)
        self._max_requests = dict.fromkeys(_DISTANCES, DEFAULT_MAX_REQUESTS)

    def _resize_pools(self) -> None:
        """Resize open pools, because the sizes have changed."""

    def get_core_connections_per_host(self, host_distance: int) -> int:
        """Return the number of connections to each host at a distance; 1 by default.

        :param host_distance: a value of `HostDistance`.
        """
        return self._core_connections[_checked_distance("host_distance", host_distance)]

    def set_core_connections_per_host(self, host_distance: int, core_connections: int) -> None:
        """Set the number of connections to each host at a distance, also for open pools.

        Open pools get more connections at once. Surplus connections are closed when they are idle.
        `HostDistance.LOCAL` includes the local rack.

        :param host_distance: a value of `HostDistance`.
        :param core_connections: the number of connections, at least 1.
        :raises ValueError: if the number is below 1.
        """
        _check_count("core_connections", host_distance, core_connections)
        for distance in _distances_of(host_distance):
            self._core_connections[distance] = core_connections
            self._max_connections[distance] = max(self._max_connections[distance], core_connections)
        self._resize_pools()

    def get_max_connections_per_host(self, host_distance: int) -> int:
        """Return the maximum number of connections to each host at a distance.

        It limits `get_core_connections_per_host`.

        :param host_distance: a value of `HostDistance`.
        """
        return self._max_connections[_checked_distance("host_distance", host_distance)]

    def set_max_connections_per_host(self, host_distance: int, max_connections: int) -> None:
        """Set the maximum number of connections to each host at a distance.

        If open pools have more connections, surplus connections are closed when they are idle.

        :param host_distance: a value of `HostDistance`.
        :param max_connections: the maximum number of connections, at least 1.
        """
        _check_count("max_connections", host_distance, max_connections)
        for distance in _distances_of(host_distance):
            self._max_connections[distance] = max_connections
            # Also reduce the number of `set_core_connections_per_host` to the new maximum.
            self._core_connections[distance] = min(
                self._core_connections[distance], max_connections
            )
        self._resize_pools()

    def get_min_requests_per_connection(self, host_distance: int) -> int:
        """Return the value of `set_min_requests_per_connection`, or 5.

        :param host_distance: a value of `HostDistance`.
        """
        return self._min_requests[_checked_distance("host_distance", host_distance)]

    def set_min_requests_per_connection(self, host_distance: int, min_requests: int) -> None:
        """Accepted for compatibility, but has no effect: pools do not shrink by themselves.

        :param host_distance: a value of `HostDistance`.
        :param min_requests: the number to store; it has no effect.
        """
        self._min_requests[_checked_distance("host_distance", host_distance)] = min_requests

    def get_max_requests_per_connection(self, host_distance: int) -> int:
        """Return the value of `set_max_requests_per_connection`, or 100.

        :param host_distance: a value of `HostDistance`.
        """
        return self._max_requests[_checked_distance("host_distance", host_distance)]

    def set_max_requests_per_connection(self, host_distance: int, max_requests: int) -> None:
        """Accepted for compatibility, but has no effect.

        A connection takes as many requests as it has streams, and pools do not grow with the load.

        :param host_distance: a value of `HostDistance`.
        :param max_requests: the number to store; it has no effect.
        """
        self._max_requests[_checked_distance("host_distance", host_distance)] = max_requests


def _distances_of(distance: int) -> tuple[int, ...]:
    # LOCAL also stands for LOCAL_RACK: applications that were written for cassandra-driver use
    # LOCAL for the whole local data centre.
    return _LOCAL_DISTANCES if distance == HostDistance.LOCAL else (distance,)


def _checked_distance(name: str, distance: int) -> int:
    if distance not in _DISTANCES:
        raise ValueError(
            f"{name} must be HostDistance.LOCAL_RACK, LOCAL or REMOTE, but is {distance!r}"
        )
    return distance


def _check_count(name: str, distance: int, number: object) -> None:
    """Raise TypeError or ValueError if a distance or its number of connections is invalid."""
    _checked_distance(f"the distance of {name}", distance)
    if isinstance(number, bool) or not isinstance(number, int):
        raise TypeError(f"{name} must be a number of connections, but is {number!r}")
    if number < 1:
        raise ValueError(
            f"{name} must be at least 1, but is {number!r}: "
            "HostDistance.IGNORED is for hosts without connections"
        )
