"""`Attempt`: the sending of a request to one host.

`cassandra.engine.happy_path` exports this class, and has a twin in Cython.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from cassandra.engine.connection import Connection
    from cassandra.metadata.host import Host


class AttemptedRequest(Protocol):
    """The request of an attempt, which continues it: `cassandra.engine.happy_path.RequestBase`."""

    def on_answer(
        self, attempt: Attempt, connection: Connection, opcode: int, flags: int, body: bytes
    ) -> None:
        """Called with the answer of the attempt."""

    def on_attempt_failed(self, attempt: Attempt, error: Exception) -> None:
        """Called when the connection of the attempt broke."""


class Attempt:
    """One attempt to execute a request on one host. While the attempt is in flight, the connection
    passes the answer to it. Afterwards it is only a record in the request's list of attempts.

    `started` is the time of sending in seconds, by ``time.monotonic()``. `latency` has the seconds
    until the answer or the error came; None while the attempt is in flight. `error` is the
    exception with which the attempt failed, or None. `decision` says what was done after the error:
    "retry", "retry next host", "rethrow", "ignore", "prepare", or None.
    """

    __slots__ = (
        "columns", "connection", "decision", "error", "host", "latency", "reprepared", "request",
        "started", "stream",
    )  # fmt: skip

    def __init__(
        self, request: AttemptedRequest, host: Host, connection: Connection, started: float
    ) -> None:
        self.request: AttemptedRequest | None = request
        self.host = host
        self.connection: Connection | None = connection
        # The stream on which the answer will come, or -1 if the attempt waits for no answer.
        self.stream = -1
        self.started = started
        self.latency: float | None = None
        self.error: Exception | None = None
        self.decision: str | None = None
        # The statements that were prepared again for this attempt.
        self.reprepared: tuple[Any, ...] = ()
        # The result metadata of the statement that was cached when the attempt was sent. If the
        # server omits the metadata from its answer, the answer is decoded with these.
        self.columns: Any = None

    def on_response(self, connection: Connection, opcode: int, flags: int, body: bytes) -> None:
        """Called with the answer. Its stream has been freed already."""
        request = self.request
        if request is not None:  # None if the request is over
            self.stream = -1
            request.on_answer(self, connection, opcode, flags, body)

    def on_connection_lost(self, connection: Connection, error: Exception) -> None:
        """Called when the connection is lost before the answer."""
        request = self.request
        if request is not None:  # None if the request is over
            self.stream = -1
            request.on_attempt_failed(self, error)

    def abandon(self) -> None:
        """Stop waiting for the answer. The stream stays taken until the answer comes."""
        if self.stream >= 0 and self.connection is not None:
            self.connection.abandon(self.stream, self)
            self.stream = -1

    def release(self) -> None:
        """Called when the request is over: drop the references to the request and the connection.
        The record of what happened is kept.
        """
        self.request = None
        self.connection = None

    def __repr__(self) -> str:
        latency = "in flight" if self.latency is None else f"{self.latency * 1000:.1f} ms"
        failure = (
            f", {type(self.error).__name__}: {self.error}, {self.decision}"
            if self.error is not None
            else ""
        )
        return f"<Attempt: {self.host}, {latency}{failure}>"
