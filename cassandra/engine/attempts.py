"""One attempt of a request: it is sent to one host.

Part of the twin module `cassandra.engine.happy_path`, which exports the name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cassandra.engine.connection import Connection
    from cassandra.engine.happy_path import RequestBase
    from cassandra.metadata.host import Host

__all__ = ["Attempt"]


class Attempt:
    """One attempt of a request at one host: the responder while the answer is outstanding, an entry
    of the request's history afterwards.

    `started` is ``time.monotonic()`` in seconds. `latency` is the seconds until the answer or the
    error (None while in flight). `error` is the exception that failed the attempt. `decision` is
    the reaction: "retry", "retry next host", "rethrow", "ignore", "prepare", or None.
    """

    __slots__ = (
        "columns",
        "connection",
        "decision",
        "error",
        "host",
        "latency",
        "reprepared",
        "request",
        "started",
        "stream",
    )

    def __init__(
        self, request: RequestBase, host: Host, connection: Connection, started: float
    ) -> None:
        self.request: RequestBase | None = request
        self.host = host
        self.connection: Connection | None = connection
        self.stream = -1
        self.started = started
        self.latency: float | None = None
        self.error: Exception | None = None
        self.decision: str | None = None
        self.reprepared: tuple[Any, ...] = ()
        # The result metadata at the time of sending, for an answer that skips its metadata.
        self.columns: Any = None

    def on_response(self, connection: Connection, opcode: int, flags: int, body: bytes) -> None:
        """Called with the answer; its stream is free already."""
        request = self.request
        if request is not None:
            self.stream = -1
            request.on_answer(self, connection, opcode, flags, body)

    def on_connection_lost(self, connection: Connection, error: Exception) -> None:
        """Called when the connection is lost before the answer."""
        request = self.request
        if request is not None:
            self.stream = -1
            request.on_attempt_failed(self, error)

    def abandon(self) -> None:
        """Give up the answer; the stream stays taken until the answer comes."""
        if self.stream >= 0 and self.connection is not None:
            self.connection.abandon(self.stream, self)
            self.stream = -1

    def release(self) -> None:
        """Called when the request is over: keep the history, drop the references."""
        self.request = None
        self.connection = None

    def __repr__(self) -> str:
        latency = "in flight" if self.latency is None else f"{self.latency * 1000:.1f} ms"
        failed = (
            f", {type(self.error).__name__}: {self.error}, {self.decision}"
            if self.error is not None
            else ""
        )
        return f"<Attempt: {self.host}, {latency}{failed}>"
