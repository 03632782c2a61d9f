"""`RouteWatch`, which reads the client routes after events until a reading succeeds."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra.engine.background import Background
from cassandra.engine.control.route_watch import RouteWatch
from cassandra.errors import OperationTimedOut
from tests.unit.engine.partners import engine_settings, fake_connection
from tests.waiting import until_on_loop

pytestmark = pytest.mark.simulated


class Watched:
    """A `RouteWatch` on fakes. `readings` counts how often the routes were read.

    :param failures: so many readings fail with a timeout before the first reading succeeds.
    """

    def __init__(self, failures: int = 0) -> None:
        self.failures = failures
        self.readings = 0
        self.connection: Any = fake_connection()
        self.on_reading: Any = lambda: None
        routes: Any = SimpleNamespace(
            query="SELECT", take=lambda rows, is_tls: False, concerns=lambda ids: True
        )
        self.watch = RouteWatch(
            routes,
            engine_settings(),
            self._rows,
            lambda: self.connection,
            lambda: None,
            Background().spawn,
        )

    async def _rows(self, connection: Any, query: str) -> list[Any]:
        self.readings += 1
        self.on_reading()
        if self.readings <= self.failures:
            raise OperationTimedOut("no answer")
        return []


def event(watched: Watched) -> None:
    """Notify the `RouteWatch` of a change of the routes."""
    watched.watch.on_event({"connection_ids": ["c1"]})


@pytest.mark.parametrize("failures", [0, 3])
async def test_routes_are_read_until_a_reading_succeeds(failures: int) -> None:
    """After an event, the routes are read until a reading succeeds, and then no more."""
    watched = Watched(failures)
    event(watched)
    await until_on_loop(lambda: watched.readings == failures + 1)
    await asyncio.sleep(100)
    assert watched.readings == failures + 1


async def test_a_reading_that_fails_outside_the_task_is_repeated_by_it() -> None:
    """If a call of `read_again` fails, the `RouteWatch` itself reads the routes once more."""
    watched = Watched(failures=1)
    assert not await watched.watch.read_again(watched.connection)
    await until_on_loop(lambda: watched.readings == 2)


async def test_an_event_during_a_reading_causes_another_one() -> None:
    """An event that arrives while the routes are being read causes one more reading."""
    watched = Watched()
    watched.on_reading = lambda: event(watched) if watched.readings == 1 else None
    event(watched)
    await until_on_loop(lambda: watched.readings == 2)
    await asyncio.sleep(100)
    assert watched.readings == 2


async def test_a_reading_makes_up_for_an_event_without_a_control_connection() -> None:
    """If the routes were read after an event, `catch_up` does not read them once more.

    `catch_up` reads them only if an event arrived after the last reading.
    """
    watched = Watched()
    # Without a control connection, the event alone causes no reading.
    watched.connection = None
    event(watched)
    watched.connection = fake_connection()
    assert await watched.watch.read_again(watched.connection)
    watched.watch.catch_up()
    await asyncio.sleep(100)
    assert watched.readings == 1
