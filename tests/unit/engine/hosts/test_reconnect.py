"""`Reconnector`, which tries to reach a host again: its schedule, its end, and its reports.

No real host is needed: a fake of the host watch makes the attempts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest

from cassandra.engine.hosts.reconnect import Reconnector
from cassandra.errors import AuthenticationFailed, ConnectionException, LoginNotChecked
from cassandra.policies.reconnection import ReconnectionPolicy
from tests.unit.engine.partners import new_host, run_loop_turns, spawn
from tests.waiting import until_on_loop

HOST = new_host("10.0.0.1", is_up=False)
DOWN = ConnectionException("still down")


ONE_HOUR = 3600.0  # seconds; longer than any of the tests


class FixedDelays(ReconnectionPolicy):
    """A policy whose schedules have these delays (in seconds)."""

    def __init__(self, *delays: float) -> None:
        self.delays = delays

    def new_schedule(self) -> Iterator[float]:
        return iter(self.delays)


class FakeWatch:
    """A fake of the host watch that records the calls of a `Reconnector` in `calls`.

    :param outcomes: what each attempt returns, in order; an attempt raises an outcome that is an
        error.
    """

    def __init__(self, *outcomes: Any) -> None:
        self.outcomes = list(outcomes)
        self.calls: list[Any] = []
        self.task: asyncio.Task[None] | None = None
        # Called once, during the next attempt.
        self.during_try: Callable[[], None] | None = None

    def spawn_tries(self, reconnector: Reconnector) -> asyncio.Task[None]:
        coroutine: Coroutine[Any, Any, None] = reconnector.run()
        self.task = spawn(coroutine)
        return self.task

    async def try_once(self, host: Any) -> bool:
        """Make the next attempt: take the next outcome, and raise it if it is an error."""
        self.calls.append("try")
        if self.during_try is not None:
            call, self.during_try = self.during_try, None
            call()
        outcome = self.outcomes.pop(0)
        if isinstance(outcome, BaseException):
            raise outcome
        return bool(outcome)

    def on_try_failed(self, host: Any, error: Exception) -> None:
        self.calls.append(error)

    def on_tries_ended(self, host: Any, error: Exception | None = None) -> None:
        self.calls.append("ended" if error is None else error)

    def forget_tries(self, reconnector: Reconnector) -> None:
        self.calls.append("forgotten")


def reconnector_for(watch: FakeWatch, delays: list[float]) -> Reconnector:
    """Return a `Reconnector` that has started its attempts to reach HOST."""
    return Reconnector(watch, HOST, FixedDelays(*delays))


async def calls_at_end(watch: FakeWatch) -> list[Any]:
    """Wait until there are no more attempts, and return the calls of the watch."""
    assert watch.task is not None
    await asyncio.wait_for(watch.task, timeout=5)
    return watch.calls


async def test_attempts_continue_until_one_succeeds() -> None:
    """Attempts are repeated until an attempt succeeds.

    Each failed attempt is reported to the watch. The success ends the attempts, although the
    schedule has a fourth delay.
    """
    watch = FakeWatch(DOWN, OSError("no route"), True)
    reconnector_for(watch, delays=[0, 0, 0, 0])
    calls = await calls_at_end(watch)
    # The error of each failed attempt is reported.
    assert calls[:3] == ["try", DOWN, "try"]
    assert isinstance(calls[3], OSError)
    assert calls[4:] == ["try", "forgotten"]


async def test_an_attempt_that_returns_false_is_repeated() -> None:
    """If `try_once` returns False, the attempt is repeated.

    False means that the host responds, but does not serve requests yet.
    """
    watch = FakeWatch(False, True)
    reconnector_for(watch, delays=[0, 0, 0])
    assert await calls_at_end(watch) == ["try", "try", "forgotten"]


async def test_the_end_of_the_schedule_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    """When the policy has no further delay, `on_tries_ended` is called and logged."""
    watch = FakeWatch(DOWN, DOWN)
    reconnector_for(watch, delays=[0, 0])
    assert await calls_at_end(watch) == ["try", DOWN, "try", DOWN, "ended", "forgotten"]
    assert "10.0.0.1:9042 is given up" in caplog.text


async def test_refused_credentials_are_not_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    """After AuthenticationFailed, there are no further attempts.

    Some servers count failed logins and lock the role.
    """
    refusal = AuthenticationFailed("wrong password")
    watch = FakeWatch(refusal, True)
    reconnector_for(watch, delays=[0, 0])
    assert await calls_at_end(watch) == ["try", refusal, "forgotten"]
    assert "does not accept the credentials" in caplog.text


async def test_credentials_that_are_set_during_an_attempt_are_tried() -> None:
    """An attempt that began with the old credentials says nothing about the new ones."""
    watch = FakeWatch(AuthenticationFailed("wrong password"), True)
    reconnector = reconnector_for(watch, delays=[0, ONE_HOUR])
    watch.during_try = reconnector.hurry
    assert await calls_at_end(watch) == ["try", "try", "forgotten"]


@pytest.mark.parametrize("report", ["hurry", "restart_schedule"])
async def test_a_report_during_the_last_attempt_begins_a_new_schedule(report: str) -> None:
    """A host that is reported up while the schedule's last attempt is under way is tried again."""
    watch = FakeWatch(DOWN, True)
    reconnector = reconnector_for(watch, delays=[0])
    watch.during_try = getattr(reconnector, report)
    assert await calls_at_end(watch) == ["try", DOWN, "try", "forgotten"]


async def test_a_login_that_was_not_checked_is_tried_again() -> None:
    """After LoginNotChecked, attempts continue, because the credentials may be right."""
    failure = LoginNotChecked("the server could not check the login")
    watch = FakeWatch(failure, True)
    reconnector_for(watch, delays=[0, 0])
    assert await calls_at_end(watch) == ["try", failure, "try", "forgotten"]


async def test_an_error_of_other_code_does_not_end_the_attempts(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """An error that is not the driver's is logged, and attempts continue.

    For example, a load-balancing policy of the application may raise such an error.
    """
    watch = FakeWatch(LookupError("no such rack"), True)
    reconnector_for(watch, delays=[0, 0])
    assert await calls_at_end(watch) == ["try", "try", "forgotten"]
    assert "LookupError: no such rack" in caplog.text


async def test_hurry_ends_the_wait_for_the_next_attempt() -> None:
    """`hurry` makes an attempt at once, although the next attempt is due in an hour."""
    watch = FakeWatch(DOWN, True)
    reconnector = reconnector_for(watch, delays=[ONE_HOUR, ONE_HOUR])
    # Each round waits until the `Reconnector` waits for the hour, and then ends this wait.
    for _ in range(2):
        await run_loop_turns()
        reconnector.hurry()
    assert await calls_at_end(watch) == ["try", DOWN, "try", "forgotten"]


async def test_each_hurry_causes_one_attempt() -> None:
    """If `hurry` is called before the first wait begins, it causes one attempt, not two."""
    watch = FakeWatch(DOWN, True)
    reconnector = reconnector_for(watch, delays=[ONE_HOUR, ONE_HOUR])
    reconnector.hurry()
    await run_loop_turns()
    assert watch.calls == ["try", DOWN]
    reconnector.stop()
    # The next delay is an hour, so there was no further attempt.
    with pytest.raises(asyncio.CancelledError):
        await calls_at_end(watch)
    assert watch.calls[-1] == "forgotten"


@pytest.mark.simulated
async def test_an_exception_of_the_policy_does_not_end_the_attempts(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """If the policy's `new_schedule` raises an error, it is logged, and attempts continue."""

    class BrokenPolicy(ReconnectionPolicy):
        def new_schedule(self) -> Iterator[float]:
            raise ZeroDivisionError

    watch = FakeWatch(DOWN, True)
    Reconnector(watch, HOST, BrokenPolicy())
    assert watch.task is not None
    await watch.task
    assert watch.calls == ["try", DOWN, "try", "forgotten"]
    assert "attempts to reach hosts follow every 60 s" in caplog.text


async def test_hurry_begins_a_new_schedule() -> None:
    """`hurry` makes an attempt at once and begins a new schedule.

    `hurry` is called after an "up" event. The node may open its port only a moment after the event,
    so the next attempts should follow soon.
    """
    watch = FakeWatch(DOWN, DOWN, True)
    reconnector = reconnector_for(watch, delays=[0, 0, ONE_HOUR, ONE_HOUR])
    # The first two attempts have no delay. After them, the `Reconnector` waits for an hour.
    await run_loop_turns(6)
    await until_on_loop(lambda: watch.calls.count("try") == 2)
    reconnector.hurry()
    assert await calls_at_end(watch) == ["try", DOWN, "try", DOWN, "try", "forgotten"]


async def test_after_a_failed_attempt_of_hurry_the_new_schedule_goes_on() -> None:
    """If the attempt that `hurry` makes at once fails, the next attempts follow a new schedule.

    The first schedule of `OnceSlowPolicy` waits for an hour, the second does not wait.
    """
    watch = FakeWatch(DOWN, DOWN, True)
    reconnector = Reconnector(watch, HOST, OnceSlowPolicy())
    await run_loop_turns(6)
    reconnector.hurry()
    assert await calls_at_end(watch) == ["try", DOWN, "try", DOWN, "try", "forgotten"]


async def test_restart_schedule_begins_a_new_schedule() -> None:
    """`restart_schedule` makes no attempt itself, but the next attempt follows the new schedule."""
    watch = FakeWatch(True)
    reconnector = Reconnector(watch, HOST, OnceSlowPolicy())
    # The first schedule of `OnceSlowPolicy` waits for an hour, so there is no attempt yet.
    await run_loop_turns(6)
    assert watch.calls == []
    reconnector.restart_schedule()
    assert await calls_at_end(watch) == ["try", "forgotten"]


class OnceSlowPolicy(ReconnectionPolicy):
    """A policy whose first schedule waits for an hour. Later schedules do not wait."""

    def __init__(self) -> None:
        self.schedules = 0

    def new_schedule(self) -> Iterator[float]:
        self.schedules += 1
        return iter([3600, 3600] if self.schedules == 1 else [0, 0, 0])
