"""Fake nodes on a simulated loop, with the driver as their client."""

from __future__ import annotations

from typing import Any

import pytest

from cassandra import aio
from cassandra.testing import FakeCluster
from cassandra.testing.simulation import Network, SimulatedLoop, SimulatedThread


def lived(seed: int, **settings: Any) -> tuple[Any, ...]:
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
                fake[1].stop()
                for key in range(20):
                    await session.execute(statement, (key,))
                seen.extend((request.number, request.opcode) for request in fake.requests)

    seen: list[Any] = []
    loop.run(main(), timeout=600)
    assert not network.links
    assert not loop.faults
    return loop.time(), loop.turns, seen


@pytest.mark.parametrize("settings", [{}, {"max_version": 4}, {"scylla": 3}], ids=str)
def test_the_same_seed_gives_the_same_run(settings: dict[str, Any]) -> None:
    assert lived(5, **settings) == lived(5, **settings)
    assert lived(5, **settings) != lived(6, **settings)
