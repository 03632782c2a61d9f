"""One sending of a request to one host.

A part of the twin module `cassandra.engine.happy_path`, which hands the name on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cassandra.engine.connection import Connection
    from cassandra.engine.happy_path import RequestBase
    from cassandra.metadata.host import Host

__all__ = ["Attempt"]


class Attempt:
    """One sending of a request to one host: what waits for the answer, and afterwards the request's
    history.

    `started` is ``time.monotonic()`` in seconds, `latency` seconds until the answer or the error
    (None while in flight), `error` what failed it, `decision` what was done then: "retry", "retry
    next host", "rethrow", "ignore", "prepare", or None.
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
        # The result metadata of the moment of sending, for an answer without metadata.
        self.columns: Any = None

    def on_response(self, connection: Connection, opcode: int, flags: int, body: bytes) -> None:
        """The answer has come; the stream is free already."""
        request = self.request
        if request is not None:
            self.stream = -1
            request.on_answer(self, connection, opcode, flags, body)

    def on_connection_lost(self, connection: Connection, error: Exception) -> None:
        """No answer will come."""
        request = self.request
        if request is not None:
            self.stream = -1
            request.on_attempt_failed(self, error)

    def abandon(self) -> None:
        """Nobody waits for the answer any more."""
        if self.stream >= 0 and self.connection is not None:
            self.connection.abandon(self.stream, self)
            self.stream = -1

    def release(self) -> None:
        """The request is over: keep the history, let go of the rest."""
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
