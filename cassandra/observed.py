"""Reports the progress of a request to its observers; see `cassandra.observers`.

This is the pure Python version; ``cassandra._accel.observed`` is the compiled version.
"""

from __future__ import annotations

from contextvars import Context, copy_context
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cassandra.engine.attempts import Attempt
    from cassandra.engine.observers import Hook, Hooks

__all__ = ["ObservedBase"]

# The size of a frame's header in bytes (native_protocol_v5.spec, section 2).
_HEADER_SIZE = 9


class ObservableSession(Protocol):
    """The session of an observed request: `cassandra.engine.session.EngineSession`."""

    @property
    def working_keyspace(self) -> str | None:
        """The keyspace of the application's session; None before it has one."""


class ObservableBody(Protocol):
    """The body of an observed request: one of the classes in `cassandra.engine.request_bodies`."""

    @property
    def consistency(self) -> int:
        """The consistency level of the last attempt."""

    @property
    def size(self) -> int:
        """The size in bytes of the body that was encoded last; 0 if no body was encoded."""

    def statement_text(self) -> str | None:
        """Return the CQL of the statement; None for a batch."""

    def describe(self) -> str:
        """Return the beginning of the statement, without values, on one line."""


class ObservableRequest(Protocol):
    """The attributes of an engine's request (`cassandra.engine.happy_path.RequestBase`) used here.

    `caller` and `observed` are set before the request starts.
    """

    caller: object
    observed: ObservedBase | None

    @property
    def session(self) -> ObservableSession:
        """The engine's part of the session that executes the request."""

    @property
    def statement(self) -> Any:
        """The executed statement, which may be of a class of the application."""

    @property
    def request_body(self) -> ObservableBody:
        """The body, which has the CQL and the settings that are sent."""

    @property
    def attempts(self) -> Sequence[Attempt]:
        """All attempts so far."""

    @property
    def retries(self) -> int:
        """The number of retries by a retry policy."""

    @property
    def is_idempotent(self) -> bool | None:
        """True if the statement may be executed twice; None if it does not have this setting."""

    @property
    def timeout(self) -> float | None:
        """The time for all attempts together, in seconds; None for no limit."""

    @property
    def response(self) -> Any:
        """The response, of the class that the protocol handler returns; None before the end."""

    @property
    def error(self) -> BaseException | None:
        """The error that the request failed with; None if it has not failed."""


class ObservedBase:
    """The base of `cassandra.observers.ObservedRequest`, with the methods that the engine calls.

    :param request: the engine's request.
    :param hooks: the observers to notify.
    :param page_number: 2 or higher for further pages.
    """

    __slots__ = (
        "__weakref__", "_context", "_hooks", "_is_direct", "_is_started", "_reported", "_request",
        "_speculates", "latency", "page_number", "response_size", "shard", "speculations",
        "started",
    )  # fmt: skip

    def __init__(self, request: ObservableRequest, hooks: Hooks, page_number: int = 1) -> None:
        self._request = request
        self._hooks = hooks
        # Observers run in a copy of the context (see `contextvars`) of the request's caller.
        self._context: Context = copy_context()
        # `_is_started` is True once the observers were notified of the request. `_is_direct` is
        # True if the request may have been sent in the caller's thread. `_speculates` is True if
        # the next attempt is a speculative execution.
        self._is_started = self._is_direct = self._speculates = False
        self._reported = 0  # the number of attempts that were reported to the observers
        self.started: float = hooks.clock()
        self.latency: float | None = None
        self.page_number: int = page_number
        self.response_size: int = 0
        self.speculations: int = 0
        self.shard: int | None = None

    def __reduce__(self) -> str | tuple[Any, ...]:
        raise TypeError(f"cannot pickle or copy {type(self).__name__!r} object")

    def _tell(self, previous_time: float, hooks: tuple[Hook, ...], *arguments: Any) -> None:
        """Call hooks (methods of observers) in turn, in the context of the request's caller.

        Measure the time of each call, and report hooks that are slow.

        :param previous_time: the current time, which most callers know already.
        """
        run_in_context = self._context.run
        for hook in hooks:
            try:
                run_in_context(hook.call, self, *arguments)
            except BaseException as error:  # an observer's error must not affect the request
                hook.on_error(error)
            now = self._hooks.clock()
            if now - previous_time > hook.slow_after:
                hook.on_slow(now - previous_time)
            previous_time = now

    def _start(self) -> None:
        """Called when the request starts, in the caller's thread or on the event loop."""
        if not self._is_started:
            self._is_started = True
            hooks = self._hooks.start if self.page_number == 1 else self._hooks.page
            if hooks:
                self._tell(self._hooks.clock(), hooks)

    def _start_directly(self) -> None:
        """Called when the request starts in the caller's thread, which will try to send it itself.

        The attempt is only reported later, on the event loop, because it is not certain that the
        caller's thread can send the request.
        """
        self._start()
        self._is_direct = True

    def _attempt(self, attempt: Attempt) -> None:
        """Called when an attempt is about to be sent."""
        if self._is_direct:
            self._catch_up()
        else:
            self._report_attempt(attempt)

    def _report_attempt(self, attempt: Attempt) -> None:
        """Report to the observers that an attempt was sent."""
        self._reported += 1
        connection = attempt.connection
        features = connection.features if connection is not None else None
        if features is not None and features.sharding_info is not None:
            self.shard = features.shard_id
        hooks = self._hooks
        # `_speculates` was set when the speculative execution began. This attempt is the first
        # attempt since then, so it is the speculative execution.
        if self._speculates:
            self._speculates = False
            self.speculations += 1
            self._tell(self._hooks.clock(), hooks.speculation, attempt)
        if hooks.attempt:
            self._tell(self._hooks.clock(), hooks.attempt, attempt)

    def _catch_up(self) -> None:
        """Report the attempts that have not been reported yet."""
        attempts = self._request.attempts
        while self._reported < len(attempts):
            self._report_attempt(attempts[self._reported])

    def _answer(self, size: int) -> None:
        """Called when a response of `size` bytes (without its header) has arrived."""
        self.response_size = _HEADER_SIZE + size

    def _speculation(self) -> None:
        """Called before an attempt that is a speculative execution."""
        self._speculates = True

    def _retry(self, attempt: Attempt, error: BaseException, decision: str) -> None:
        """Called when an attempt has failed and the request is sent again."""
        if self._is_direct:
            self._catch_up()
        self._tell(self._hooks.clock(), self._hooks.retry, attempt, error, decision)

    def _end(self) -> None:
        """Called when the request is finished."""
        if not self._is_started:  # cancelled before it started
            return
        if self._is_direct:
            self._catch_up()
        now = self._hooks.clock()
        self.latency = now - self.started
        hooks = self._hooks.end
        if hooks:
            self._tell(now, hooks)

    def _for_page(self, request: ObservableRequest) -> ObservedBase:
        """Create the object that observes the request for the next page."""
        return type(self)(request, self._hooks, self.page_number + 1)
