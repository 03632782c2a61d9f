"""The end points that the control connection is tried at."""

from __future__ import annotations

import logging
import random
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from cassandra.engine.randomness import own_or_process

if TYPE_CHECKING:
    from cassandra.engine.endpoint import EndPoint
    from cassandra.engine.settings import Settings
    from cassandra.metadata.cluster_metadata import Metadata
    from cassandra.metadata.host import Host

__all__ = ["Contacts"]

log = logging.getLogger("cassandra.cluster")


class Contacts:
    """The contact points at first, the known hosts later.

    :param settings: those of the engine. Where the nodes are may change later, and stands here.
    :param metadata: has the known hosts.
    :param in_thread: calls a function that may block.
    :param is_ignored: tells if no policy wants connections to a host.
    :param random: draws the order of hosts; None for numbers of the process.
    """

    __slots__ = (
        "_find_endpoints",
        "_in_thread",
        "_is_ignored",
        "_metadata",
        "_random",
        "endpoints",
        "named_endpoints",
    )

    def __init__(
        self,
        settings: Settings,
        metadata: Metadata,
        in_thread: Callable[[Callable[[], Any]], Awaitable[Any]],
        is_ignored: Callable[[Host], bool],
        random: random.Random | None = None,
    ) -> None:
        self._random = own_or_process(random)
        self.endpoints = settings.endpoints
        self.named_endpoints = settings.named_endpoints
        self._find_endpoints = settings.find_endpoints
        self._metadata = metadata
        self._in_thread = in_thread
        self._is_ignored = is_ignored

    async def first(self) -> list[EndPoint]:
        """Return the contact points, in random order.

        Raises the errors of the service that tells of them, if there is one.
        """
        if not self.endpoints and self._find_endpoints is not None:
            self.endpoints = await self._in_thread(self._find_endpoints)
        endpoints = list(self.endpoints)
        # Many clients have the same list: they must not all come to its first node.
        self._random.shuffle(endpoints)
        return endpoints

    async def find_again(self) -> None:
        """Ask again where the nodes are, if there is a service to ask."""
        if self._find_endpoints is None:
            return
        try:
            self.named_endpoints = await self._in_thread(self._find_endpoints)
        except Exception as error:
            log.warning("it could not be found out where the nodes are: %s", error)

    def candidates(self) -> list[EndPoint]:
        """Return where to try next: hosts known to be up, the other hosts, the contact points."""
        hosts = [host for host in self._metadata.all_hosts() if not self._is_ignored(host)]
        self._random.shuffle(hosts)
        # The sort is stable: hosts in the same state stay in random order.
        hosts.sort(key=lambda host: host.is_up is not True)
        endpoints = [host.endpoint for host in hosts]
        # Names last: by now they may stand for other addresses.
        for endpoint in (*self.endpoints, *self.named_endpoints):
            if endpoint not in endpoints:
                endpoints.append(endpoint)
        return endpoints
