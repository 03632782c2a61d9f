"""Requests that execute a USE statement, which changes the keyspace of a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cassandra.engine.request import Request

if TYPE_CHECKING:
    from cassandra.engine.happy_path import RequestBase


class UseRequest(Request):
    """The request for a USE.

    It waits until earlier USE statements of the session are done, and then runs like any other
    request.
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
