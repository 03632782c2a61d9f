"""`Attempt`: one try to execute a request on one host.

Use the class that `cassandra.engine.happy_path` exports: the compiled Cython version of `Attempt`
if it is in use, else the Python version in this module.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from cassandra.engine.connection import Connection
    from cassandra.metadata.host import Host


class AttemptedRequest(Protocol):
    """The methods of a request that its attempts call (see `happy_path.RequestBase`)."""

    def on_answer(
        self, attempt: Attempt, connection: Connection, opcode: int, flags: int, body: bytes
    ) -> None:
        """Called when the server has responded to `attempt`."""

    def on_attempt_failed(self, attempt: Attempt, error: Exception) -> None:
        """Called when the connection of `attempt` breaks before the response comes."""


class Attempt:
    """One attempt to execute a request on one host.

    While the attempt is in flight, the connection passes the response to it. Afterwards the attempt
    is only a record in the request's list of attempts.

    `started` is the time of sending in seconds, by ``time.monotonic()``. `latency` is the number of
    seconds until the response or the error came; None while the attempt is in flight. `error` is
    the exception with which the attempt failed, or None. `decision` says what the request did after
    the error: "retry", "retry next host", "rethrow", "ignore", "prepare", or None.
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
        # The stream id on which the response will come; -1 if the attempt does not wait for a
        # response.
        self.stream = -1
        self.started = started
        self.latency: float | None = None
        self.error: Exception | None = None
        self.decision: str | None = None
        # The prepared statements that the host did not know, so that the driver prepared them
        # again on this host, each with the number of schema changes until then.
        self.reprepared: tuple[Any, ...] = ()
        # The result metadata that was cached for the statement when the attempt was sent. If the
        # server omits the metadata from its response, this metadata decodes the response.
        self.columns: Any = None

    def on_response(self, connection: Connection, opcode: int, flags: int, body: bytes) -> None:
        """Called with the response. The connection has already freed the stream."""
        request = self.request
        if request is not None:  # None if the request is over
            self.stream = -1
            request.on_answer(self, connection, opcode, flags, body)

    def on_connection_lost(self, connection: Connection, error: Exception) -> None:
        """Called when the connection is lost before the response."""
        request = self.request
        if request is not None:  # None if the request is over
            self.stream = -1
            request.on_attempt_failed(self, error)

    def abandon(self) -> None:
        """Stop waiting for the response. The stream cannot be reused until the response comes."""
        if self.stream >= 0 and self.connection is not None:
            self.connection.abandon(self.stream, self)
            self.stream = -1

    def release(self) -> None:
        """Drop the references to the request and the connection, because the request is over.

        The other attributes stay readable, for example `error` and `latency`.
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
