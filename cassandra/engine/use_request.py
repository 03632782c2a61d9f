"""Requests that execute a USE statement, which changes the keyspace of a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cassandra.engine.request import Request
from cassandra.errors import RequestValidationException

if TYPE_CHECKING:
    from cassandra.engine.connection import Connection
    from cassandra.engine.happy_path import Attempt, RequestBase
    from cassandra.protocol.messages.errors import ErrorMessage


# A USE is tried on at most this many hosts. If so many do not know the keyspace, it does not exist.
MOST_HOSTS = 5


class UseRequest(Request):
    """The request for a USE.

    It waits until earlier USE statements of the session are done, and then runs like any other
    request. If a host cannot execute it, other hosts are tried: a node that has just started may
    not know the keyspace yet. Executing a USE twice has no effect on data.
    """

    __slots__ = ("_has_entered",)

    _has_entered: bool

    def start_directly(self, is_awaited: bool = False) -> bool:
        """Return False: the request must be started on the loop, where USE statements wait."""
        return False

    def start(self) -> None:
        """Start the request, or wait for earlier USE statements. Must be called on the loop."""
        if self.done:
            return
        # The throttler may call `start` again, but the request must enter the queue of USE
        # statements only once. Before the first call, the slot `_has_entered` has no value.
        if not getattr(self, "_has_entered", False):
            self._has_entered = True
            if self.session.closed:
                self.fail(self.session.closed_error())
                return
            self._end_turn_with_request()
            # Never send a USE speculatively: the second attempt would switch another connection
            # before the result of the first attempt is known.
            self.speculative_policy = None
            if not self.session.use_turns.enter(self):
                # Wait until `take_turn` is called, but at most until the timeout.
                if self.timeout is not None:
                    if self.timeout <= 0:
                        self.on_timeout()
                        return
                    self._timer_slot = self.session.timers.add(self.timeout, self)
                return
        super().start()

    def take_turn(self) -> None:
        """Called when the earlier USE statements are done: start the request."""
        super().start()

    def _act_on_error(
        self, attempt: Attempt, connection: Connection, message: ErrorMessage, error: Exception
    ) -> None:
        if not self._try_other_host(attempt, error):
            super()._act_on_error(attempt, connection, message, error)

    def on_attempt_failed(self, attempt: Attempt, error: Exception) -> None:
        if not self._try_other_host(attempt, error):
            super().on_attempt_failed(attempt, error)

    def _try_other_host(self, attempt: Attempt, error: Exception) -> bool:
        """Send the USE to the next host after `error`; return False if there is none."""
        if self.is_answered or self.session.closed or self.target is not None:
            return False
        tried = {*self.errors, attempt.host}
        if len(tried) >= MOST_HOSTS or tried.issuperset(self.session.pools):
            return False
        self._use_next_host(attempt, error)
        return True

    def _plan_exhausted_error(self) -> Exception:
        # The answer of a server says more than that another host was not reached.
        for error in self.errors.values():
            if isinstance(error, RequestValidationException):
                return error
        return super()._plan_exhausted_error()

    def _why_not_sent(self) -> dict[str, str]:
        if self._plan is None and self.session.use_turns.is_waiting(self):
            return {
                "(no host)": "another USE of this session was not over within the client's time"
            }
        return super()._why_not_sent()

    def _end_turn_with_request(self) -> None:
        """Ensure that the next USE can start when this request is over."""
        on_done, turns = self.on_done, self.session.use_turns

        def end_turn(request: RequestBase) -> None:
            turns.leave(self)
            on_done(request)

        self.on_done = end_turn
