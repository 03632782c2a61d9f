"""Conviction policies decide after how many failed connections a host counts as down."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cassandra.metadata.host import Host


class ConvictionPolicy:
    """Decides from connection failures if a host is down. Each host has its own policy object.

    :param host: the host.
    """

    def __init__(self, host: Host) -> None:
        self.host = host

    def add_failure(self, connection_exc: BaseException) -> bool:
        """Record a failed connection. Return True if the host now counts as down.

        :param connection_exc: the error of the connection.
        """
        raise NotImplementedError

    def reset(self) -> None:
        """Forget the failures, because the host responds again."""
        raise NotImplementedError


class SimpleConvictionPolicy(ConvictionPolicy):
    """Counts a host as down after one failure."""

    def add_failure(self, connection_exc: BaseException) -> bool:
        # A wrong decision does little harm, because the driver soon tries to connect to the host
        # again (see `ReconnectionPolicy`).
        return True

    def reset(self) -> None:
        pass
