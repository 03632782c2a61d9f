"""Tests of `cassandra._clocks`: it reads the system's clocks, or a simulation's virtual clocks."""

from __future__ import annotations

import asyncio
import datetime
import time
from typing import Any

import pytest

from cassandra import _clocks, aio
from cassandra.cluster import Cluster
from cassandra.cqlengine.statements import microseconds_of
from cassandra.testing import FakeCluster
from cassandra.testing.simulation import Network, SimulatedLoop, SimulatedThread, SimulatedThreads
from cassandra.timestamps import MonotonicTimestampGenerator

SECOND = 10**9
IN_TEN_SECONDS = datetime.timedelta(seconds=10)


def test_without_a_simulation_the_clocks_are_the_systems() -> None:
    """Both clocks must return the system's time, on an event loop, too."""
    earlier = time.time_ns(), time.monotonic()
    measured = _clocks.wall_time_ns(), _clocks.monotonic()
    later = time.time_ns(), time.monotonic()
    assert earlier[0] <= measured[0] <= later[0]
    assert earlier[1] <= measured[1] <= later[1]

    async def wall_time_on_a_loop() -> int:
        return _clocks.wall_time_ns()

    assert asyncio.run(wall_time_on_a_loop()) >= later[0]


def test_on_a_simulated_loop_the_clocks_are_virtual() -> None:
    loop = SimulatedLoop(1)

    async def main() -> None:
        wall_time_before, monotonic = _clocks.wall_time_ns(), _clocks.monotonic()
        assert (wall_time_before, monotonic) == (loop.wall_time_ns(), loop.time())
        loop.step_wall_clock(-7200)
        assert _clocks.wall_time_ns() == wall_time_before - 7200 * SECOND
        # Changing the wall clock must not affect this clock.
        assert _clocks.monotonic() == monotonic

    loop.run(main())
    # After the simulation, the clock of the system must be in use again.
    assert _clocks.wall_time_ns() >= time.time_ns() - 60 * SECOND


def test_in_a_simulated_thread_the_clocks_are_virtual() -> None:
    loop = SimulatedLoop(1)
    # The network attaches itself to the loop.
    Network(loop)
    times: list[tuple[Any, ...]] = []

    def program() -> None:
        times.append((_clocks.wall_time_ns(), _clocks.monotonic()))
        times.append((loop.wall_time_ns(), loop.time()))

    SimulatedThreads(loop).run(program)
    assert times[0] == times[1]


def test_the_mappers_relative_timestamps_use_the_virtual_clock() -> None:
    loop = SimulatedLoop(1)

    async def main() -> None:
        loop.step_wall_clock(86_400)
        assert microseconds_of(IN_TEN_SECONDS) == loop.wall_time_ns() // 1000 + 10_000_000

    loop.run(main())


def timestamp_in_simulation(
    generator: MonotonicTimestampGenerator | None, seed: int
) -> tuple[int, int]:
    """Execute a statement in a simulation, and return its client timestamp and the virtual time.

    Both are in microseconds.
    """
    loop = SimulatedLoop(seed)
    # The network attaches itself to the loop.
    Network(loop)

    async def main() -> tuple[int, int]:
        with FakeCluster(1, thread=SimulatedThread(loop)) as fake:
            cluster = aio.Cluster(
                fake.contact_points, port=fake.port, timestamp_generator=generator
            )
            session = await cluster.connect()
            # The clock of each run is ahead of that of the previous run.
            loop.step_wall_clock(seed * 3600)
            await session.execute("SELECT 1 FROM t")
            await cluster.shutdown()
            (request,) = [
                observed for observed in fake.requests if observed.query == "SELECT 1 FROM t"
            ]
            assert request.timestamp is not None
            return request.timestamp, loop.wall_time_ns() // 1000

    return loop.run(main())


@pytest.mark.parametrize("is_shared", [True, False])
def test_a_generator_reads_the_clock_of_each_simulation(is_shared: bool) -> None:
    """In each simulation, a timestamp must be at most 10 s before the virtual time.

    With `is_shared`, one generator is used in all simulations.
    """
    generator = MonotonicTimestampGenerator() if is_shared else None
    for seed in (1, 2, 3):
        clock = generator or MonotonicTimestampGenerator()
        stamp, now = timestamp_in_simulation(clock, seed)
        assert now - 10_000_000 < stamp <= now


def test_a_generator_used_in_a_simulation_reads_the_systems_clock_outside() -> None:
    generator = MonotonicTimestampGenerator()
    timestamp_in_simulation(generator, 1)
    time_before = time.time_ns() // 1000
    assert time_before <= generator() <= time.time_ns() // 1000 + 1


def test_a_blocking_cluster_takes_timestamps_from_the_virtual_clock() -> None:
    loop = SimulatedLoop(1)
    # The network attaches itself to the loop.
    Network(loop)

    def program() -> None:
        with Cluster(fake.contact_points, port=fake.port) as cluster:
            session = cluster.connect()
            loop.step_wall_clock(-3600)
            time_before = loop.wall_time_ns() // 1000
            session.execute("SELECT 1 FROM t")
            (request,) = [
                observed for observed in fake.requests if observed.query == "SELECT 1 FROM t"
            ]
            assert request.timestamp is not None
            assert time_before <= request.timestamp <= loop.wall_time_ns() // 1000

    with FakeCluster(1, thread=SimulatedThread(loop)) as fake:
        SimulatedThreads(loop).run(program, timeout=600)
