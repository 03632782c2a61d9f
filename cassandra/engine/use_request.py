"""Requests that execute a USE."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cassandra.engine.request import Request

if TYPE_CHECKING:
    from cassandra.engine.happy_path import RequestBase

__all__ = ["UseRequest"]


class UseRequest(Request):
    """A USE: waits for its turn among the session's USE statements, then runs as usual."""

    __slots__ = ("_has_entered",)

    _has_entered: bool

    def start_directly(self) -> bool:
        return False

    def start(self) -> None:
        """Start the request on the loop, as soon as it is its turn."""
        if self.done:
            return
        if not getattr(self, "_has_entered", False):
            self._has_entered = True
            if self.session.closed:
                self.fail(self.session.closed_error())
                return
            self._leave_at_end()
            # A speculative USE would switch another connection before the first one's result is
            # known.
            self.speculative_policy = None
            if not self.session.use_turns.enter(self):
                if self.timeout is not None:
                    if self.timeout <= 0:
                        self.on_timeout()
                        return
                    self._timer_slot = self.session.timers.add(self.timeout, self)
                return
        super().start()

    def take_turn(self) -> None:
        """Called when it is this request's turn."""
        super().start()

    def _why_not_sent(self) -> str:
        if self._plan is None and self.session.use_turns.is_waiting(self):
            return "another USE of this session was not over within the client's time"
        return super()._why_not_sent()

    def _leave_at_end(self) -> None:
        on_done, turns = self.on_done, self.session.use_turns

        def leave(request: RequestBase) -> None:
            turns.leave(self)
            on_done(request)

        self.on_done = leave
