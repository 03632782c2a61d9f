"""Observers of requests, on which tracers, loggers and metrics can be built.

A `RequestObserver` is notified when a request starts, is sent, is retried, and ends. You can
register it for a whole cluster (``Cluster(request_observers=[...])`` or
`Cluster.add_request_observer`), for one session (`Session.add_request_observer`) or for the
executions with a profile (``ExecutionProfile(request_observers=[...])``). It works for blocking
calls, futures and asyncio.

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

from cassandra._attempts import deciding_attempt
from cassandra._misspelt import nearest
from cassandra._observer import ObserverBase

if TYPE_CHECKING:
    from cassandra import observed
    from cassandra.engine.attempts import Attempt
    from cassandra.engine.observers import Hooks
    from cassandra.metadata.endpoint import EndPoint
    from cassandra.metadata.host import Host
    from cassandra.observed import ObservableRequest
else:
    from cassandra._impl import observed

__all__ = ["ObservedRequest", "RequestObserver", "checked_observers"]

# The methods for events that belong to no request. Only the observers of a cluster get these
# events.
BRIEF_EVENTS = ("on_latency", "on_refusal", "on_failure", "on_connection_failure")

# The size of a frame's header in bytes (native_protocol_v5.spec, section 2).
_HEADER_SIZE = 9


class RequestObserver(ObserverBase):
    """Base class of observers. Override the methods that you need; the others are never called.

    Methods with a request run in a copy of the caller's context, so context variables have the
    caller's values. `on_start` and `on_page` are called in the caller's thread or on the event
    loop, the other methods on the event loop. They must not block.

    If a method raises an error, the error is logged and the request is not affected. An observer is
    slow if three of 1000 calls take longer than 0.1 s each, or if two such calls take 1 s together.
    The driver logs a message about a slow observer, and then calls the observer in a separate
    thread. Up to 10,000 events may wait for that thread; further events are dropped, which is
    logged, too.
    """

    def on_start(self, request: ObservedRequest) -> None:
        """Called when a request starts.

        :param request: the request. All its events get the same object.
        """

    def on_page(self, request: ObservedRequest) -> None:
        """Called when the request for a further page of a result starts.

        `on_end` is also called for such a request. By default, this method calls `on_start`.

        :param request: the request, with a `page_number` of 2 or higher.
        """
        self.on_start(request)

    def on_attempt(self, request: ObservedRequest, attempt: Attempt) -> None:
        """Called when a request is sent to a host.

        A blocking call may write to an idle connection in its own thread. In this case, the method
        is called only when the response arrives; `attempt.started` has the time when the request
        was sent.

        :param request: the request.
        :param attempt: has `host` and `started`, by ``time.monotonic()``. After the response it has
            `latency` (seconds), and if it failed, `error` and `decision`.
        """

    def on_retry(
        self, request: ObservedRequest, attempt: Attempt, error: BaseException, decision: str
    ) -> None:
        """Called when an attempt has failed, and the request is retried.

        :param request: the request.
        :param attempt: the attempt that failed.
        :param error: the error of the attempt.
        :param decision: "retry" for the same host and "retry next host", as the retry policy
            decided; "prepare" if the server had forgotten the prepared statement.
        """

    def on_speculation(self, request: ObservedRequest, attempt: Attempt) -> None:
        """Called when a speculative execution starts. `on_attempt` follows for the same attempt.

        :param request: the request.
        :param attempt: the new attempt.
        """

    def on_end(self, request: ObservedRequest) -> None:
        """Called once for each request that started, when the request is finished or cancelled.

        The method is called before the caller gets the result.

        :param request: the request, with its `error` (or None) and its `latency`.
        """

    def on_shutdown(self) -> None:
        """Called once when the cluster is shut down, after the last `on_end`.

        Log or send here what you have collected. The observers of sessions and profiles are called,
        too, if they are still in use. If an observer is so slow that it is called in a separate
        thread, the shutdown waits at most 5 seconds until the observer has handled all events.
        """

    # The following methods are for events without an `ObservedRequest`, so they cost little time.
    # Only the observers of a cluster get these events.

    def on_latency(self, host: Host, seconds: float) -> None:
        """Called when a host has responded with a result, or with an error that took work.

        Such an error comes after the host has, for example, waited for replicas. The method is also
        called if a speculative execution got a response before the host: `seconds` is the time
        until then, and the host's own response would have taken longer.

        :param host: the `Host`.
        :param seconds: from sending the request to receiving the response.
        """

    def on_refusal(self, host: Host, seconds: float) -> None:
        """Called when a host has responded with an error that it may have sent at once.

        :param host: the `Host`.
        :param seconds: from sending the request to receiving the response.
        """

    def on_failure(self, host: Host | None, error: BaseException, decision: int | None) -> None:
        """Called when an attempt has failed.

        :param host: the `Host`; None if the request timed out before it was sent.
        :param error: the error of the attempt.
        :param decision: the decision of the retry policy, a constant of `RetryPolicy`; None if the
            policy was not called.
        """

    def on_connection_failure(self, endpoint: EndPoint, kind: str, error: Exception) -> None:
        """Called when a connection could not be opened, even during the first connect.

        .. versionadded:: 4.0

        :param endpoint: the end point of the connection.
        :param kind: "authentication" if the server has refused the login, "tls" if TLS failed (for
            example an expired certificate), "timeout" if there was no answer within
            `Cluster.connect_timeout`, "network" if the node could not be reached or closed the
            connection, "protocol" if there is no common protocol version, "other" for all other
            errors, such as that of a node that is overloaded or not ready.
        :param error: the error.
        """


def overrides(observer: RequestObserver, name: str) -> bool:
    """Return True if `observer` overrides the method `name`."""
    method = getattr(type(observer), name, None)
    return method is not getattr(RequestObserver, name) or name in getattr(observer, "__dict__", ())


# The flags that mark the code of coroutine functions and asynchronous generators. The module
# `inspect` has functions that test these flags, but takes too long to import.
_CO_COROUTINE, _CO_ASYNC_GENERATOR = 0x80, 0x200

# For method names that users of other libraries may write: the event that they mean.
_COMPAT_METHODS = {
    **dict.fromkeys(
        ("on_finish", "on_finished", "on_complete", "on_completed", "on_done", "on_success",
         "on_response", "on_result", "on_error", "on_stop", "on_close"),
        "on_end",
    ),
    **dict.fromkeys(("on_begin", "on_request", "on_query", "on_execute", "on_send"), "on_start"),
}  # fmt: skip


def _check_method_names(observer: RequestObserver) -> None:
    """Check that the methods of an observer named ``on_...`` can be called.

    :raises TypeError: if there is no event of that name, or if the method is a coroutine function.
    """
    cls = type(observer)
    # Ignore methods of other base classes, because an observer may also be a host state listener.
    own_classes = [base for base in cls.__mro__ if issubclass(base, RequestObserver)]
    other_names = {name for base in cls.__mro__ if base not in own_classes for name in vars(base)}
    own_names = {name: value for base in own_classes for name, value in vars(base).items()}
    own_names.update(getattr(observer, "__dict__", {}))
    for name in own_names:
        if not name.startswith("on_"):
            continue
        method = getattr(observer, name, None)
        if hasattr(RequestObserver, name):
            flags = getattr(getattr(method, "__code__", None), "co_flags", 0)
            if flags & (_CO_COROUTINE | _CO_ASYNC_GENERATOR):
                raise TypeError(
                    f"{cls.__name__}.{name} is `async def`, but observers are called and not "
                    f"awaited: write `def {name}`, and put what has to be awaited into a queue"
                )
        elif name not in other_names and name not in _LISTENER_METHODS and callable(method):
            events = [event for event in vars(RequestObserver) if event.startswith("on_")]
            event = _COMPAT_METHODS.get(name) or nearest(name, events)
            # If the name does not resemble the name of an event, accept the method: the observer
            # may call it itself.
            if event is not None:
                raise TypeError(
                    f"{cls.__name__}.{name} is never called: did you mean {event!r}? Methods of "
                    "your own need a name that does not begin with on_"
                )


# Methods of `HostStateListener`: any object with them can be registered as a listener.
_LISTENER_METHODS = ("on_add", "on_down", "on_remove", "on_up")


class ProfileObservers(tuple["RequestObserver", ...]):
    """The observers of a profile, as a tuple.

    In `hooks` the engine caches, for each session, the hooks of these observers together with the
    hooks of the session's observers.
    """

    hooks: WeakKeyDictionary[Any, Any]

    def __new__(cls, observers: Iterable[RequestObserver]) -> ProfileObservers:
        profile_observers = super().__new__(cls, observers)
        profile_observers.hooks = WeakKeyDictionary()
        return profile_observers

    def __reduce__(self) -> tuple[Any, ...]:
        # Leave out the cache, which belongs to this process.
        return ProfileObservers, (tuple(self),)


def checked_observers(observers: object, owner: str) -> tuple[RequestObserver, ...]:
    """Return `observers` as a tuple.

    :param observers: the setting that user code passes.
    :param owner: "cluster", "session" or "profile", for the message.
    :raises TypeError: if an item is not a `RequestObserver`, or has a method ``on_...`` that is
        `async def` or has the misspelt name of an event, or if `observers` is not an iterable.
    :raises ValueError: if an observer expects events that only the observers of a cluster get.
    """
    if isinstance(observers, RequestObserver) or not isinstance(observers, Iterable):
        raise TypeError(
            f"request_observers is an iterable of RequestObserver, not {observers!r}: "
            "write [observer]"
        )
    checked = tuple(observers)
    for observer in checked:
        if not isinstance(observer, RequestObserver):
            hint = " (a class: write an instance of it)" if isinstance(observer, type) else ""
            if hasattr(observer, "collect"):
                hint = ": for Prometheus, write prometheus_client.REGISTRY.register(collector)"
            raise TypeError(
                f"an observer must be a cassandra.observers.RequestObserver, not {observer!r}{hint}"
            )
        _check_method_names(observer)
        cluster_only_events = [name for name in BRIEF_EVENTS if overrides(observer, name)]
        if cluster_only_events and owner != "cluster":
            raise ValueError(
                f"{type(observer).__name__}.{cluster_only_events[0]} is called for observers of a "
                f"cluster only: register it there, not for a {owner}"
            )
    # The engine stores a cache on the tuple of a profile's observers; see `ProfileObservers`.
    return ProfileObservers(checked) if checked and owner == "profile" else checked


class ObservedRequest(observed.ObservedBase):
    """A request, as observers see it. The engine creates it.

    In each event the attributes have their current values; in `on_end` they are final. An execution
    is one request, and each further page of its result is another request. If you keep this object,
    it keeps the response in memory.

    :param request: the engine's request.
    :param hooks: the observers to notify.
    :param page_number: 2 or higher for further pages.
    :ivar started: when the caller started the request, by ``time.monotonic()``, in seconds.
    :ivar latency: seconds from `started` to the end; None before the end.
    :ivar page_number: 1 for an execution, 2 and higher for further pages of its result.
    :ivar response_size: bytes of the last response's frame, after decompression; 0 without a
        response.
    :ivar speculations: the number of attempts that are speculative executions.
    :ivar shard: the ScyllaDB shard that the last attempt was sent to, and in `on_end` the shard of
        the attempt that ended the request; None for other servers.
    """

    __slots__ = ("_storage",)

    def __init__(self, request: ObservableRequest, hooks: Hooks, page_number: int = 1) -> None:
        super().__init__(request, hooks, page_number)
        self._storage: dict[Any, Any] | None = None  # None until an observer uses `storage`

    # -- the request -------------------------------------------------------------------------------

    @property
    def statement(self) -> Any:
        """The executed statement: bound, simple, or a batch."""
        return self._request.statement

    @property
    def query_string(self) -> str | None:
        """The CQL of the statement, with markers instead of bound values; None for a batch."""
        return self._request.request_body.statement_text()

    @property
    def texts(self) -> tuple[tuple[str, bool], ...]:
        """The CQL of the statement, or of each statement in a batch, and whether it is prepared.

        CQL that is not prepared may contain values.
        """
        body = self._body
        if hasattr(body, "statements"):
            return tuple(
                # If a statement is not prepared, the second item of its pair is its CQL.
                (values_or_cql, False) if prepared is None else (prepared.query_string, True)
                for prepared, values_or_cql in body.statements
            )
        text = self.query_string
        return () if text is None else ((text, hasattr(body, "prepared")),)

    @property
    def description(self) -> str:
        """The beginning of the statement, on one line of about 100 characters.

        It does not contain values that the driver interpolated.
        """
        return self._request.request_body.describe()

    @property
    def batch_size(self) -> int | None:
        """The number of statements in a batch; None if the statement is not a batch."""
        body = self._body
        return body.count if hasattr(body, "count") else None

    @property
    def keyspace(self) -> str | None:
        """The keyspace of the statement or session."""
        request = self._request
        statement_keyspace: str | None = getattr(request.statement, "keyspace", None)
        return statement_keyspace or request.session.working_keyspace

    @property
    def table(self) -> str | None:
        """The table of a bound statement; None if the table is not known."""
        return getattr(self._request.statement, "table", None)

    @property
    def consistency_level(self) -> int:
        """The consistency level of the last attempt."""
        return self._request.request_body.consistency

    @property
    def serial_consistency_level(self) -> int | None:
        """The serial consistency level of conditional statements; None for the server's default."""
        return getattr(self._body, "serial_consistency", None)

    @property
    def is_idempotent(self) -> bool:
        """True if the statement may be executed twice."""
        return bool(self._request.is_idempotent)

    @property
    def page_size(self) -> int | None:
        """The maximum number of rows per page; None without paging, and for a batch."""
        body = self._body
        return None if hasattr(body, "count") else getattr(body, "page_size", None)

    @property
    def timeout(self) -> float | None:
        """The time-out for all attempts together, in seconds; None for no limit."""
        return self._request.timeout

    @property
    def traits(self) -> tuple[str | None, bool, str | None, int, bool, int | None, int | None, int]:
        """A tuple of the settings that similar requests share; tracers can use it as a cache key.

        The tuple has `query_string`, whether the statement is prepared, `keyspace`,
        `consistency_level`, `is_idempotent`, `batch_size`, `page_size` and `page_number`.
        """
        request = self._request
        statement = request.statement
        body: Any = request.request_body
        level = body.consistency
        text = body.statement_text()
        # A `MessageBody` wraps another body, which has the values.
        body = getattr(body, "inner", body)
        count = body.count if hasattr(body, "count") else None
        return (
            text,
            hasattr(statement, "prepared_statement"),
            getattr(statement, "keyspace", None) or request.session.working_keyspace,
            level,
            bool(request.is_idempotent),
            count,
            getattr(body, "page_size", None) if count is None else None,
            self.page_number,
        )

    @property
    def _body(self) -> Any:
        body = self._request.request_body
        return getattr(body, "inner", body)

    # -- progress ----------------------------------------------------------------------------------

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        """All attempts so far."""
        return tuple(self._request.attempts)

    @property
    def host(self) -> Host | None:
        """The coordinator; None if nothing was sent.

        In `on_end` this is the host whose response or error ended the request. With speculative
        executions this is not always the host of the last attempt. In earlier events, and if the
        caller has cancelled the request, it is the host of the last attempt.
        """
        attempts = self._request.attempts
        if not attempts:
            return None
        # Most requests have one attempt.
        if self.latency is None or len(attempts) == 1:
            return attempts[-1].host
        attempt = deciding_attempt(attempts, self._request.error)
        return attempt.host if attempt is not None else None

    @property
    def retries(self) -> int:
        """The number of retries by a retry policy."""
        return self._request.retries

    @property
    def error(self) -> BaseException | None:
        """The error that the request failed with; None if it has not failed."""
        return self._request.error

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings that the server sent with the response."""
        return tuple(getattr(self._request.response, "warnings", None) or ())

    @property
    def request_size(self) -> int:
        """The size in bytes of the last frame sent, before compression; 0 if there is no frame."""
        size: int = self._request.request_body.size
        return _HEADER_SIZE + size if size else 0

    @property
    def storage(self) -> dict[Any, Any]:
        """A dict in which observers can store data between events.

        Use a unique key, for example the observer itself.
        """
        if self._storage is None:
            self._storage = {}
        return self._storage

    def __repr__(self) -> str:
        state = "under way"
        if self.latency is not None:
            state = f"{self.latency * 1000:.1f} ms"
            if self.error is not None:
                # Show only the class of the error: this string may be logged, and servers repeat
                # parts of statements, which may have secret values, in their messages.
                state += f", {type(self.error).__name__}"
        return f"<ObservedRequest: {self.description}, {state}>"
