"""Observers of requests, on which tracers, loggers and metrics of programs and libraries are built.

A `RequestObserver` is told when a request begins, is sent, is tried again, and ends. It is
registered for a whole cluster (``Cluster(request_observers=[...])`` or
`Cluster.add_request_observer`), for one session (`Session.add_request_observer`) or for the
executions of a profile (``ExecutionProfile(request_observers=[...])``), and sees blocking calls,
futures and asyncio alike.

.. code-block:: python

   from cassandra.observers import RequestObserver

   class Slow(RequestObserver):
       def on_end(self, request):
           if request.latency > 0.1:
               print(request.host, request.query_string, request.latency)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from cassandra._observer import ObserverBase

if TYPE_CHECKING:
    from cassandra import observed
    from cassandra.engine.happy_path import Attempt, RequestBase
    from cassandra.engine.observers import Hooks
    from cassandra.metadata.host import Host
else:
    from cassandra._impl import observed

__all__ = ["ObservedRequest", "RequestObserver", "checked_observers"]

# These events go without a request, and only to the observers of a cluster.
BRIEF_EVENTS = ("on_latency", "on_refusal", "on_failure")

_HEADER_SIZE = 9  # of a frame: native_protocol_v5.spec, section 2


class RequestObserver(ObserverBase):
    """Is told of requests. Override the methods that you need: the others cost nothing.

    The methods that have a request run in a copy of the context of the code that asked for it, so
    context variables have the caller's values. `on_start` and `on_page` are called in the caller's
    thread or on the event loop, the others on the event loop: they must not wait. One that raises
    is logged, and changes nothing for the request; one that takes longer than 0.1 s is logged too,
    and is told of further events in a thread of its own, up to 10,000 events late. Events beyond
    that are dropped, which is logged.
    """

    def on_start(self, request: ObservedRequest) -> None:
        """A request begins.

        :param request: the same object in all events of a request.
        """

    def on_page(self, request: ObservedRequest) -> None:
        """A request for a further page of a result begins; it ends with an `on_end` of its own.

        By default it is a request like any other: `on_start` is called.

        :param request: has a `page_number` of 2 or more.
        """
        self.on_start(request)

    def on_attempt(self, request: ObservedRequest, attempt: Attempt) -> None:
        """A request is sent to a host.

        A blocking call may write to an idle connection by itself. Its attempt is told when the
        answer comes; `attempt.started` says when it was sent.

        :param request: the request.
        :param attempt: has `host` and `started`, by ``time.monotonic()``; `latency` (seconds) once
            it is answered, then `error` and `decision` if it failed.
        """

    def on_retry(
        self, request: ObservedRequest, attempt: Attempt, error: BaseException, decision: str
    ) -> None:
        """An attempt has failed, and the request is tried again.

        :param request: the request.
        :param attempt: the attempt that failed.
        :param error: its error.
        :param decision: "retry" for the same host and "retry next host", as the retry policy
            decided; "prepare" if the server had forgotten the prepared statement.
        """

    def on_speculation(self, request: ObservedRequest, attempt: Attempt) -> None:
        """A speculative execution begins; `on_attempt` follows, for the same attempt.

        :param request: the request.
        :param attempt: the new attempt.
        """

    def on_end(self, request: ObservedRequest) -> None:
        """A request is over: once for each that has begun, also if it was cancelled.

        It is called before the caller gets the result.

        :param request: has its `error`, or None, and its `latency` now.
        """

    # Without a request: these cost nearly nothing. Of a cluster's observers only.

    def on_latency(self, host: Host, seconds: float) -> None:
        """A host has answered a request with a result, or an error that it had to work for.

        :param host: the `Host`.
        :param seconds: from the sending to the answer.
        """

    def on_refusal(self, host: Host, seconds: float) -> None:
        """A host has answered with another error: at once, perhaps for want of time.

        :param host: the `Host`.
        :param seconds: from the sending to the answer.
        """

    def on_failure(self, host: Host | None, error: BaseException, decision: int | None) -> None:
        """An attempt has failed.

        :param host: the `Host`; None if the request's time was over before it was sent.
        :param error: its error.
        :param decision: the retry policy's, a constant of `RetryPolicy`; None if it was not asked.
        """


def overrides(observer: RequestObserver, name: str) -> bool:
    """Return True if `observer` has a method `name` of its own."""
    own = getattr(type(observer), name, None)
    return own is not getattr(RequestObserver, name) or name in getattr(observer, "__dict__", ())


class ProfileObservers(tuple["RequestObserver", ...]):
    """The observers of a profile. The engine keeps here what it makes of them for each session."""

    hooks: WeakKeyDictionary[Any, Any]

    def __new__(cls, observers: Iterable[RequestObserver]) -> ProfileObservers:
        made = super().__new__(cls, observers)
        made.hooks = WeakKeyDictionary()
        return made

    def __reduce__(self) -> Any:
        # What the engine keeps is of this process.
        return ProfileObservers, (tuple(self),)


def checked_observers(observers: object, whose: str) -> tuple[RequestObserver, ...]:
    """Return `observers` as a tuple.

    :param observers: a program's setting.
    :param whose: "cluster", "session" or "profile", for the message.
    :raises TypeError: if one is not a `RequestObserver`, or `observers` is not an iterable of them.
    :raises ValueError: if one wants events that only the observers of a cluster are told.
    """
    if isinstance(observers, RequestObserver) or not isinstance(observers, Iterable):
        raise TypeError(
            f"request_observers is an iterable of RequestObserver, not {observers!r}: "
            "write [observer]"
        )
    found = tuple(observers)
    for one in found:
        if not isinstance(one, RequestObserver):
            kind = " (a class: write an instance of it)" if isinstance(one, type) else ""
            raise TypeError(
                f"an observer must be a cassandra.observers.RequestObserver, not {one!r}{kind}"
            )
        brief = [name for name in BRIEF_EVENTS if overrides(one, name)]
        if brief and whose != "cluster":
            raise ValueError(
                f"{type(one).__name__}.{brief[0]} is called for observers of a cluster only: "
                f"register it there, not for a {whose}"
            )
    return ProfileObservers(found) if found and whose == "profile" else found


class ObservedRequest(observed.ObservedBase):
    """A request, as its observers see it. It is current in each event, and final in `on_end`.

    An execution is one request, and so is each further page of its result. The object holds the
    answer for as long as it is kept. The engine makes it.

    :param request: the engine's request.
    :param hooks: whom it tells.
    :param page_number: 2 or more for further pages.
    :ivar started: when the caller asked for it, by ``time.monotonic()``, in seconds.
    :ivar latency: seconds from `started` to the end; None before it.
    :ivar page_number: 1 for an execution, 2 and more for further pages of its result.
    :ivar response_size: bytes of the last answer's frame, after decompression; 0 without an answer.
    :ivar speculations: how many of the attempts are speculative executions.
    :ivar shard: the shard of ScyllaDB that the last attempt went to; None with other servers.
    """

    __slots__ = ("_storage",)

    def __init__(self, request: RequestBase, hooks: Hooks, page_number: int = 1) -> None:
        super().__init__(request, hooks, page_number)
        self._storage: dict[Any, Any] | None = None

    # -- what it is --------------------------------------------------------------------------------

    @property
    def statement(self) -> Any:
        """The statement that is executed: bound, simple, or a batch."""
        return self._request.statement

    @property
    def query_string(self) -> str | None:
        """The statement's text, with markers instead of values if it has any; None for a batch."""
        text: str | None = self._request.request_body.statement_text()
        return text

    @property
    def texts(self) -> tuple[tuple[str, bool], ...]:
        """The text of the statement, or of each of a batch, and whether it is prepared.

        A text that is not prepared may have values in it.
        """
        body = self._body
        if hasattr(body, "statements"):
            return tuple(
                (values, False) if prepared is None else (prepared.query_string, True)
                for prepared, values in body.statements
            )
        text = self.query_string
        return () if text is None else ((text, hasattr(body, "prepared")),)

    @property
    def description(self) -> str:
        """The statement in one line of about 100 characters.

        Values that the driver wrote into the text are left out.
        """
        text: str = self._request.request_body.describe()
        return text

    @property
    def batch_size(self) -> int | None:
        """The number of statements of a batch; None if it is not a batch."""
        body = self._body
        count: int | None = body.count if hasattr(body, "count") else None
        return count

    @property
    def keyspace(self) -> str | None:
        """The statement's keyspace, or the session's."""
        request = self._request
        own: str | None = getattr(request.statement, "keyspace", None)
        return own or request.session.keyspace

    @property
    def table(self) -> str | None:
        """The table that a bound statement names; None if it is not known."""
        table: str | None = getattr(self._request.statement, "table", None)
        return table

    @property
    def consistency_level(self) -> int:
        """The consistency level, as the last attempt has it."""
        level: int = self._request.request_body.consistency
        return level

    @property
    def serial_consistency_level(self) -> int | None:
        """The level of a conditional statement's first phase; None for the server's default."""
        level: int | None = getattr(self._body, "serial_consistency", None)
        return level

    @property
    def is_idempotent(self) -> bool:
        """True if the statement may be executed twice."""
        return bool(self._request.statement.is_idempotent)

    @property
    def page_size(self) -> int | None:
        """The most rows that a page has; None without paging, and for a batch."""
        body = self._body
        size: int | None = None if hasattr(body, "count") else getattr(body, "page_size", None)
        return size

    @property
    def timeout(self) -> float | None:
        """Seconds for all attempts together; None for no limit."""
        return self._request.timeout

    @property
    def traits(self) -> tuple[str | None, bool, str | None, int, bool, int | None, int | None, int]:
        """The settings that requests of one kind share, in one tuple: a key for caches of tracers.

        They are `query_string`, whether it is prepared, `keyspace`, `consistency_level`,
        `is_idempotent`, `batch_size`, `page_size` and `page_number`.
        """
        request = self._request
        statement = request.statement
        body: Any = request.request_body
        level = body.consistency
        text = body.statement_text()
        body = getattr(body, "inner", body)
        count = body.count if hasattr(body, "count") else None
        return (
            text,
            hasattr(statement, "prepared_statement"),
            getattr(statement, "keyspace", None) or request.session.keyspace,
            level,
            bool(statement.is_idempotent),
            count,
            getattr(body, "page_size", None) if count is None else None,
            self.page_number,
        )

    @property
    def _body(self) -> Any:
        body = self._request.request_body
        return getattr(body, "inner", body)

    # -- how it goes -------------------------------------------------------------------------------

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        """Each sending so far."""
        return tuple(self._request.attempts)

    @property
    def host(self) -> Host | None:
        """The host of the last attempt, its coordinator; None if nothing was sent."""
        attempts = self._request.attempts
        return attempts[-1].host if attempts else None

    @property
    def retries(self) -> int:
        """The number of times that a retry policy had it sent again."""
        return self._request.retries

    @property
    def error(self) -> BaseException | None:
        """The error that it failed with; None if it has not."""
        return self._request.error

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings of the server with the answer."""
        return tuple(getattr(self._request.response, "warnings", None) or ())

    @property
    def request_size(self) -> int:
        """Bytes of the frame that was sent last, before compression; 0 before it is made."""
        size: int = self._request.request_body.size
        return _HEADER_SIZE + size if size else 0

    @property
    def storage(self) -> dict[Any, Any]:
        """A dict for data that observers keep from one event to the next, by the observer say."""
        if self._storage is None:
            self._storage = {}
        return self._storage

    def __repr__(self) -> str:
        state = "under way"
        if self.latency is not None:
            state = f"{self.latency * 1000:.1f} ms"
            if self.error is not None:
                # Without its text: this may be logged, and servers repeat parts of statements.
                state += f", {type(self.error).__name__}"
        return f"<ObservedRequest: {self.description}, {state}>"
