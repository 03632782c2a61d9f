"""How far a request is, for its observers.

The compiled twin is ``cassandra._accel.observed``.
"""

from __future__ import annotations

from contextvars import Context, copy_context
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cassandra.engine.happy_path import Attempt, RequestBase
    from cassandra.engine.observers import Hook, Hooks

__all__ = ["ObservedBase"]

_HEADER_SIZE = 9  # of a frame: native_protocol_v5.spec, section 2


class ObservedBase:
    """The part of a `cassandra.observers.ObservedRequest` that the engine keeps.

    :param request: the engine's request.
    :param hooks: whom it tells.
    :param page_number: 2 or more for further pages.
    """

    __slots__ = (
        "__weakref__",
        "_context",
        "_hooks",
        "_is_direct",
        "_is_started",
        "_request",
        "_speculates",
        "_told",
        "latency",
        "page_number",
        "response_size",
        "shard",
        "speculations",
        "started",
    )

    def __init__(self, request: RequestBase, hooks: Hooks, page_number: int = 1) -> None:
        self._request = request
        self._hooks = hooks
        self._context: Context = copy_context()
        self._is_started = self._is_direct = self._speculates = False
        self._told = 0  # how many attempts the observers know
        self.started: float = hooks.clock()
        self.latency: float | None = None
        self.page_number: int = page_number
        self.response_size: int = 0
        self.speculations: int = 0
        self.shard: int | None = None

    def __reduce__(self) -> str | tuple[Any, ...]:
        raise TypeError(f"cannot pickle or copy {type(self).__name__!r} object")

    def _tell(self, before: float, hooks: tuple[Hook, ...], *arguments: Any) -> None:
        # `before`: the time of now, which most callers know.
        run = self._context.run
        for hook in hooks:
            try:
                run(hook.call, self, *arguments)
            except BaseException as error:  # the request must go on, and come to its end
                hook.on_error(error)
            now = self._hooks.clock()
            if now - before > hook.slow_after:
                hook.on_slow(now - before)
            before = now

    def _start(self) -> None:
        """It begins: in the caller's thread, or on the loop."""
        if not self._is_started:
            self._is_started = True
            hooks = self._hooks.start if self.page_number == 1 else self._hooks.page
            if hooks:
                self._tell(self._hooks.clock(), hooks)

    def _start_directly(self) -> None:
        """It begins in the caller's thread, which is about to send it by itself.

        Its attempt is told on the loop: here it may turn out that nothing could be sent.
        """
        self._start()
        self._is_direct = True

    def _attempt(self, attempt: Attempt) -> None:
        """It is about to be sent."""
        if self._is_direct:
            self._catch_up()
        else:
            self._tell_attempt(attempt)

    def _tell_attempt(self, attempt: Attempt) -> None:
        self._told += 1
        connection = attempt.connection
        features = connection.features if connection is not None else None
        if features is not None and features.sharding_info is not None:
            self.shard = features.shard_id
        hooks = self._hooks
        if self._speculates:
            self._speculates = False
            self.speculations += 1
            self._tell(self._hooks.clock(), hooks.speculation, attempt)
        if hooks.attempt:
            self._tell(self._hooks.clock(), hooks.attempt, attempt)

    def _catch_up(self) -> None:
        """Tell of the attempts that have not been told."""
        attempts = self._request.attempts
        while self._told < len(attempts):
            self._tell_attempt(attempts[self._told])

    def _answer(self, size: int) -> None:
        """An answer has come, of `size` bytes without its header."""
        self.response_size = _HEADER_SIZE + size

    def _speculation(self) -> None:
        """The next attempt is a speculative one."""
        self._speculates = True

    def _retry(self, attempt: Attempt, error: BaseException, decision: str) -> None:
        """It is sent again."""
        if self._is_direct:
            self._catch_up()
        self._tell(self._hooks.clock(), self._hooks.retry, attempt, error, decision)

    def _end(self) -> None:
        """It is over."""
        if not self._is_started:  # given up before it began
            return
        if self._is_direct:
            self._catch_up()
        now = self._hooks.clock()
        self.latency = now - self.started
        hooks = self._hooks.end
        if hooks:
            self._tell(now, hooks)

    def _for_page(self, request: RequestBase) -> ObservedBase:
        """Return the observation of the request for the next page."""
        return type(self)(request, self._hooks, self.page_number + 1)
