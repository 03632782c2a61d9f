"""`RoomWait`: a request that waits for a free stream at several pools."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from cassandra.errors import NoConnectionsAvailable

if TYPE_CHECKING:
    from cassandra.engine.connection import Connection
    from cassandra.engine.interfaces import RequestPool
    from cassandra.engine.request import Request
    from cassandra.metadata.host import Host

# A request waits at no more than this number of pools, so that the queues of a large cluster stay
# short. The usual number of replicas is enough, because the request needs a stream of only one
# pool.
MOST_AWAITED = 3


class RoomWait:
    """The entry of a request in the queues of several pools.

    When one of the pools continues the request, the entry leaves all queues.
    """

    __slots__ = ("_pools", "_request")

    def __init__(self, request: Request) -> None:
        self._request = request
        self._pools: list[RequestPool] = []  # the pools whose queues contain this object

    @property
    def done(self) -> bool:
        """True if the request is over and needs no stream any more."""
        return self._request.done

    def begin(self, pools: Iterable[RequestPool]) -> bool:
        """Join the queues of `pools`.

        If the queue of a pool is full, the pool is skipped, and its error is recorded in the
        request.

        :returns: False if all queues are full.
        """
        for pool in pools:
            try:
                pool.wait_for_room(self)
            except NoConnectionsAvailable as error:
                self._request.errors[pool.host] = error
            else:
                self._pools.append(pool)
        return bool(self._pools)

    def _leave_all(self) -> None:
        pools, self._pools = self._pools, []
        for pool in pools:
            pool.stop_waiting(self)

    def on_room(self, host: Host, connection: Connection) -> None:
        """Continue the request on `connection`, because it has a free stream."""
        self._leave_all()
        self._request.on_room(host, connection)

    def on_pool_closed(self, host: Host, error: Exception) -> None:
        """Continue to wait at the other pools, if there are any, because one pool was closed."""
        self._request.errors[host] = error
        self._pools = [pool for pool in self._pools if pool.host != host]
        if not self._pools:
            self._request.on_pool_closed(host, error)

    def on_pool_draining(self, host: Host, error: Exception) -> None:
        """Let the request try other hosts, because the host of one pool will stop soon."""
        self._leave_all()
        self._request.on_pool_draining(host, error)

    def fail(self, error: BaseException) -> None:
        """End the request with an error."""
        self._leave_all()
        self._request.fail(error)
