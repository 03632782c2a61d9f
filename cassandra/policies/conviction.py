"""Conviction policies: after how many failed connections a host counts as down."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cassandra.metadata.host import Host

__all__ = ["ConvictionPolicy", "SimpleConvictionPolicy"]


class ConvictionPolicy:
    """Decides from connection failures if a host is down. Each host has its own.

    :param host: the host to decide about.
    """

    def __init__(self, host: Host) -> None:
        self.host = host

    def add_failure(self, connection_exc: BaseException) -> bool:
        """Take note of a failed connection; return True if the host is down now.

        :param connection_exc: the error of the connection.
        """
        raise NotImplementedError

    def reset(self) -> None:
        """Forget the failures: the host answers again."""
        raise NotImplementedError


class SimpleConvictionPolicy(ConvictionPolicy):
    """Counts a host as down after one failure."""

    def add_failure(self, connection_exc: BaseException) -> bool:
        # The host is tried again by the reconnection policy, so a wrong guess is cheap.
        return True

    def reset(self) -> None:
        pass
