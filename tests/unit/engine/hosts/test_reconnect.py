"""Attempts to reach a host: their schedule, their end, and their reports, without a host."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from typing import Any

import pytest

from cassandra.engine.hosts.reconnect import Reconnector
from cassandra.errors import AuthenticationFailed, ConnectionException
from cassandra.policies.reconnection import ReconnectionPolicy
from tests.unit.engine.partners import host, spawn, turns
from tests.waiting import until_on_loop

HOST = host("10.0.0.1", is_up=False)
DOWN = ConnectionException("still down")


class Delays(ReconnectionPolicy):
    def __init__(self, *delays: float) -> None:
        self.delays = delays

    def new_schedule(self) -> Iterator[float]:
        return iter(self.delays)


class Watch:
    """Records the reports of a `Reconnector`; `outcomes` are the outcomes of the attempts, in
    order.
    """

    def __init__(self, *outcomes: Any) -> None:
        self.outcomes = list(outcomes)
        self.told: list[Any] = []
        self.task: asyncio.Task[None] | None = None

    def spawn_tries(self, tries: Reconnector) -> asyncio.Task[None]:
        coroutine: Coroutine[Any, Any, None] = tries.run()
        self.task = spawn(coroutine)
        return self.task

    async def try_once(self, host: Any) -> bool:
        self.told.append("try")
        outcome = self.outcomes.pop(0)
        if isinstance(outcome, BaseException):
            raise outcome
        return bool(outcome)

    def on_try_failed(self, host: Any, error: Exception) -> None:
        self.told.append(error)

    def on_tries_ended(self, host: Any) -> None:
        self.told.append("ended")

    def forget_tries(self, tries: Reconnector) -> None:
        self.told.append("forgotten")


def tries(watch: Watch, *delays: float) -> Reconnector:
    return Reconnector(watch, HOST, Delays(*delays))


async def over(watch: Watch) -> list[Any]:
    assert watch.task is not None
    await asyncio.wait_for(watch.task, 5)
    return watch.told


async def test_tries_go_on_until_one_succeeds() -> None:
    watch = Watch(DOWN, OSError("no route"), True)
    tries(watch, 0, 0, 0, 0)
    outcomes = await over(watch)
    assert outcomes[:2] == ["try", DOWN]
    assert isinstance(outcomes[3], OSError)
    assert outcomes[4:] == ["try", "forgotten"]


async def test_a_try_that_is_not_the_last_goes_on() -> None:
    watch = Watch(False, True)
    tries(watch, 0, 0, 0)
    assert await over(watch) == ["try", "try", "forgotten"]


async def test_the_end_of_the_schedule_is_told(caplog: pytest.LogCaptureFixture) -> None:
    watch = Watch(DOWN, DOWN)
    tries(watch, 0, 0)
    assert await over(watch) == ["try", DOWN, "try", DOWN, "ended", "forgotten"]
    assert "10.0.0.1:9042 is given up" in caplog.text


async def test_refused_credentials_are_not_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    watch = Watch(AuthenticationFailed("wrong password"), True)
    tries(watch, 0, 0)
    assert await over(watch) == ["try", "ended", "forgotten"]
    assert "does not accept the credentials" in caplog.text


async def test_an_hour_is_cut_short_if_the_cluster_says_that_the_host_is_up() -> None:
    watch = Watch(DOWN, True)
    reconnector = tries(watch, 3600, 3600)
    for _ in range(2):
        await turns()
        reconnector.hurry()
    assert await over(watch) == ["try", DOWN, "try", "forgotten"]


async def test_one_hurry_is_one_try() -> None:
    watch = Watch(DOWN, True)
    reconnector = tries(watch, 3600, 3600)
    reconnector.hurry()
    await turns()
    assert watch.told == ["try", DOWN]
    reconnector.stop()
    with pytest.raises(asyncio.CancelledError):
        await over(watch)
    assert watch.told[-1] == "forgotten"


async def test_a_mistake_in_a_programs_schedule_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(ReconnectionPolicy):
        def new_schedule(self) -> Iterator[float]:
            raise ZeroDivisionError

    watch = Watch()
    Reconnector(watch, HOST, Broken())
    assert await over(watch) == ["forgotten"]
    assert "reconnecting to 10.0.0.1:9042 failed" in caplog.text


async def test_an_event_that_the_host_is_up_begins_the_schedule_anew() -> None:
    """An event that the host is up restarts the schedule, because its port may listen a moment
    later.
    """
    watch = Watch(DOWN, DOWN, True)
    reconnector = Reconnector(watch, HOST, Delays(0, 0, 3600, 3600))
    await turns(6)
    await until_on_loop(lambda: watch.told.count("try") == 2)
    reconnector.hurry()
    assert await over(watch) == ["try", DOWN, "try", DOWN, "try", "forgotten"]


async def test_a_try_that_comes_too_early_is_followed_by_those_of_a_new_schedule() -> None:
    watch = Watch(DOWN, DOWN, True)
    reconnector = Reconnector(watch, HOST, OnceSlow())
    await turns(6)
    reconnector.hurry()  # this attempt fails, too
    assert await over(watch) == ["try", DOWN, "try", DOWN, "try", "forgotten"]


async def test_an_event_that_the_host_is_down_begins_the_schedule_anew() -> None:
    watch = Watch(True)
    reconnector = Reconnector(watch, HOST, OnceSlow())
    await turns(6)
    assert watch.told == []
    reconnector.restart_schedule()
    assert await over(watch) == ["try", "forgotten"]


class OnceSlow(ReconnectionPolicy):
    """A policy whose first schedule waits for an hour; later schedules do not wait."""

    def __init__(self) -> None:
        self.schedules = 0

    def new_schedule(self) -> Iterator[float]:
        self.schedules += 1
        return iter([3600, 3600] if self.schedules == 1 else [0, 0, 0])
