"""The environment of a cluster gives the engine its time, random numbers and connections."""

from __future__ import annotations

import ast
import asyncio
import random
from pathlib import Path
from typing import Any

import pytest

import cassandra.engine
from cassandra import aio
from cassandra.engine.environment import Environment, InsertionOrdered, environment_of
from cassandra.testing import FakeNode
from tests.waiting import until

ENGINE = Path(cassandra.engine.__file__).parent


async def test_a_loop_may_bring_its_own() -> None:
    loop = asyncio.get_running_loop()
    assert type(environment_of(loop)) is Environment
    environment = Environment(loop)
    loop.cassandra_environment = lambda: environment  # type: ignore[attr-defined]
    assert environment_of(loop) is environment


class Recorded(Environment):
    """Records how connections are opened, and has its own clock."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self.random = random.Random(1)
        self.clock = lambda: 1e6
        self.connected: list[int] = []

    async def connect(self, make_protocol: Any, address: str, port: int, **details: Any) -> None:
        self.connected.append(port)
        await super().connect(make_protocol, address, port, **details)


async def test_all_connections_and_moments_are_the_environments() -> None:
    loop = asyncio.get_running_loop()
    environment = Recorded(loop)
    loop.cassandra_environment = lambda: environment  # type: ignore[attr-defined]
    started: list[float] = []
    with FakeNode() as node:
        async with aio.Cluster([node.address], port=node.port) as cluster:
            session = await cluster.connect()
            result = await session.execute("SELECT v FROM t")
            started += [attempt.started for attempt in result.attempts]
            assert cluster._core is not None
            assert cluster._core.random is environment.random
            assert cluster._core.timers.clock is environment.clock
        assert environment.connected == [node.port] * node.opened
    assert started == [1e6]


def test_timers_of_one_slot_end_in_the_order_of_their_arrival(twins: Any) -> None:
    loop = asyncio.new_event_loop()
    try:
        wheel = twins.happy_path.TimerWheel(loop)
        ended: list[int] = []

        class Item:
            def __init__(self, number: int) -> None:
                self.number = number

            def on_timeout(self) -> None:
                ended.append(self.number)

        items = [Item(number) for number in range(200)]
        for item in items:
            wheel.add(0.0, item)

        def all_ended() -> bool:
            wheel._expire()  # on a busy machine the last deadlines are in later slots
            return len(ended) == len(items)

        until(all_ended)
        assert ended == list(range(200))
    finally:
        loop.close()


def test_insertion_ordered_is_a_set_with_an_order() -> None:
    items: InsertionOrdered[Any] = InsertionOrdered()
    for item in (3, 1, 2, 1):
        items.add(item)
    items.discard(1)
    items.discard(7)
    for item in items:
        items.discard(item)
        items.add(item + 10)
    assert list(items) == [13, 12]


# Blocking callers wait in threads of the system, whose time no loop decides.
IN_THREADS = {"environment.py", "loop.py"}


@pytest.mark.parametrize(
    "path", sorted(ENGINE.rglob("*.py")), ids=lambda path: str(path.relative_to(ENGINE))
)
def test_the_engine_takes_time_and_chance_from_nowhere_else(path: Path) -> None:
    if path.name in IN_THREADS:
        return
    calls = {
        ast.unparse(node.func)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
    }
    others = ("time.", "random.", "os.urandom", "uuid.uuid", "monotonic", "urandom", "uuid4")
    assert not [call for call in calls if call.startswith(others)]
