"""The name of a cache of TLS sessions, which the event loop cannot use."""

from __future__ import annotations

__all__ = ["SSLSessionCache"]


class SSLSessionCache:
    """A cache of TLS sessions. It can be made; `Cluster` refuses it.

    asyncio has no way to offer a session of an earlier connection.

    :param max_size: the greatest number of sessions.
    """

    def __init__(self, max_size: int = 1024) -> None:
        if max_size < 1:
            raise ValueError(f"max_size must be 1 or more, but is {max_size}")
        self.max_size = max_size
