"""Chooses the end points to which the control connection is opened."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from cassandra._logs import Log
from cassandra.engine.endpoint import DefaultEndPoint, is_ip_address
from cassandra.engine.randomness import generator_or_default

if TYPE_CHECKING:
    from cassandra.engine.endpoint import EndPoint
    from cassandra.engine.settings import Settings
    from cassandra.metadata.cluster_metadata import Metadata
    from cassandra.metadata.host import Host

log = Log("cassandra.cluster")


class Contacts:
    """Returns the end points to try: first the contact points, and later also discovered hosts.

    :param settings: the engine's settings, with the contact points or the function that finds them.
    :param metadata: the cluster's metadata, with the discovered hosts.
    :param in_thread: runs a function, which may block, in another thread.
    :param is_ignored: returns True if no policy wants connections to a host.
    :param random: shuffles the hosts; None uses the process-wide generator.
    """

    __slots__ = (
        "_find_endpoints", "_in_thread", "_is_ignored", "_metadata", "_random", "endpoints",
        "named_endpoints",
    )  # fmt: skip

    def __init__(
        self,
        settings: Settings,
        metadata: Metadata,
        in_thread: Callable[[Callable[[], Any]], Awaitable[Any]],
        is_ignored: Callable[[Host], bool],
        random: random.Random | None = None,
    ) -> None:
        self._random = generator_or_default(random)
        # The contact points. `endpoints` has their resolved addresses. `named_endpoints` has the
        # host names, which may later resolve to other addresses.
        self.endpoints = settings.endpoints
        self.named_endpoints = settings.named_endpoints
        self._find_endpoints = settings.find_endpoints
        self._metadata = metadata
        self._in_thread = in_thread
        self._is_ignored = is_ignored

    async def first(self) -> list[EndPoint]:
        """Return the contact points, in random order.

        If a discovery service has to find the contact points, its errors are raised.
        """
        if not self.endpoints and self._find_endpoints is not None:
            self.endpoints = await self._in_thread(self._find_endpoints)
        endpoints = list(self.endpoints)
        # Shuffle the contact points: many clients may have the same list, and should not all
        # connect to the first contact point in it.
        self._random.shuffle(endpoints)
        return endpoints

    async def find_again(self) -> None:
        """Ask the discovery service, if there is one, for the nodes again; only log errors."""
        if self._find_endpoints is None:
            return
        try:
            self.named_endpoints = await self._in_thread(self._find_endpoints)
        except Exception as error:
            log.warning("it could not be found out where the nodes are: %s", error)

    def leads_to_current_nodes(self, endpoint: EndPoint) -> bool:
        """Return True if an end point may lead to nodes that are not known yet.

        These are host names, which are resolved again, proxies, and what a discovery service has
        told. An IP address may belong to a node that has left the cluster.
        """
        if endpoint not in self.named_endpoints:
            return False
        return (
            self._find_endpoints is not None
            or type(endpoint) is not DefaultEndPoint
            or not is_ip_address(str(endpoint.address))
        )

    def candidates(self) -> list[EndPoint]:
        """Return the end points to try: hosts that are up, then other hosts, then contact points.

        Hosts that will stop soon are left out, unless there are no other end points.
        """
        hosts = [host for host in self._metadata.all_hosts() if not self._is_ignored(host)]
        self._random.shuffle(hosts)
        # The sort is stable, so hosts in the same state stay in random order.
        hosts.sort(key=lambda host: host.is_up is not True)
        endpoints = [host.endpoint for host in hosts]
        # Add the contact points at the end, because their names may now resolve to other addresses.
        for endpoint in (*self.endpoints, *self.named_endpoints):
            if endpoint not in endpoints:
                endpoints.append(endpoint)
        draining = {host.endpoint for host in hosts if host.state == "draining"}
        available = [endpoint for endpoint in endpoints if endpoint not in draining]
        return available or endpoints
