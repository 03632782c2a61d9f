"""Fake nodes on a simulated loop, with the driver as their client."""

from __future__ import annotations

from typing import Any

import pytest

from cassandra import aio
from cassandra.testing import FakeCluster
from cassandra.testing.simulation import Network, SimulatedLoop, SimulatedThread


def run_with_seed(seed: int, **settings: Any) -> tuple[Any, ...]:
    """Run some requests in a simulation with a seed, and return a summary of the run.

    The summary has the end time, the number of iterations, and the number and opcode of each
    request.

    :param settings: arguments of `FakeCluster`.
    """
    loop = SimulatedLoop(seed)
    network = Network(loop)

    async def main() -> None:
        async with FakeCluster(3, thread=SimulatedThread(loop), **settings) as fake:  # noqa: SIM117
            async with aio.Cluster(fake.contact_points, port=fake.port) as cluster:
                session = await cluster.connect("ks")
                statement = await session.prepare("SELECT v FROM t WHERE k = ?")
                statement.is_idempotent = True
                for key in range(20):
                    await session.execute(statement, (key,))
                # After a node has stopped, all requests go to the other two nodes.
                fake[1].stop()
                for key in range(20):
                    await session.execute(statement, (key,))
                requests.extend((request.number, request.opcode) for request in fake.requests)

    requests: list[Any] = []
    loop.run(main(), timeout=600)
    assert not network.links
    assert not loop.faults
    return loop.time(), loop.turns, requests


@pytest.mark.parametrize("settings", [{}, {"max_version": 4}, {"scylla": 3}], ids=str)
def test_the_same_seed_gives_the_same_run(settings: dict[str, Any]) -> None:
    """A seed always gives the same run, and another seed gives another run."""
    assert run_with_seed(5, **settings) == run_with_seed(5, **settings)
    assert run_with_seed(5, **settings) != run_with_seed(6, **settings)


def test_timestamps_and_ids_depend_only_on_the_seed() -> None:
    """A seed decides the ids of sessions and the timestamps of statements.

    Timestamps follow the simulated clock, but never go back.
    """

    async def id_and_timestamps(loop: SimulatedLoop) -> tuple[Any, list[int]]:
        """Return the session's id, and three timestamps.

        The first timestamp is made before the clock changes, the second after it went ahead by one
        hour, and the third after it went back by two hours.
        """
        with FakeCluster(1, thread=SimulatedThread(loop)) as fake:
            cluster = aio.Cluster(fake.contact_points, port=fake.port)
            session = await cluster.connect()
            generator = session.timestamp_generator
            assert generator is not None
            timestamps = [generator()]
            loop.step_wall_clock(3600)
            timestamps.append(generator())
            loop.step_wall_clock(-7200)
            timestamps.append(generator())
            await cluster.shutdown()
            return cluster.session_id, timestamps

    def simulate(seed: int) -> tuple[Any, list[int]]:
        loop = SimulatedLoop(seed)
        # The network attaches itself to the loop when it is created.
        Network(loop)
        return loop.run(id_and_timestamps(loop))

    seed_1, seed_1_again, seed_2 = simulate(1), simulate(1), simulate(2)
    assert seed_1 == seed_1_again
    assert seed_1[0] != seed_2[0]
    start, after_step_ahead, after_step_back = seed_1[1]
    assert after_step_ahead - start == 3600 * 10**6  # microseconds
    assert after_step_back == after_step_ahead + 1
