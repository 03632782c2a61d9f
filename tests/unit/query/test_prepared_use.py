"""Test that a prepared USE statement changes the session's keyspace."""

from __future__ import annotations

from tests.unit.engine.test_keyspace_gate import Servers, connected, nodes, ran_in


async def test_a_prepared_use_changes_the_keyspace() -> None:
    """A prepared or bound USE changes the keyspace of the session and of its connections."""
    servers = Servers(seed=8)
    with nodes(servers) as fake_nodes:
        async with connected(fake_nodes, version=4) as cluster:
            session = await cluster.connect("a")
            statement = await session.prepare("USE b")
            await session.execute(statement)
            assert session.keyspace == "b"
            await session.set_keyspace("a")
            await session.execute(statement.bind(()))
            # Six requests are enough to use every connection of the session.
            keyspaces = {ran_in(await session.execute("SELECT ks()")) for _ in range(6)}
            assert keyspaces == {"b"}
