"""Use evoid-scylla: its storage on asyncio: write, read, delete, health, two namespaces."""

from __future__ import annotations

import asyncio

import evoid_scylla
from common import HOST, KEYSPACE, PORT, make_cluster, new_keyspace
from evoid_scylla import ScyllaStorage


async def try_storage(storage: ScyllaStorage) -> None:
    """Write, read and delete values, close the storage, and then use the closed storage."""
    print(await storage.health())
    values = [{"n": number, "text": "it's %s {}" * number} for number in range(5)]
    written = [storage.write(f"k{number}", value) for number, value in enumerate(values)]
    print(await asyncio.gather(*written))
    print(await storage.write("k0", {"other": True}, namespace="second"))
    print(await asyncio.gather(*(storage.read(f"k{number}") for number in range(6))))
    print(
        await storage.read("k0", namespace="second"), await storage.read("k1", namespace="second")
    )
    print(await storage.delete("k2"), await storage.read("k2"))
    cluster = storage._session.cluster
    await storage.close()
    print(storage._session, await storage.read("k1"))
    await storage.close()
    cluster.shutdown()


def main() -> None:
    """Try the storage with two protocol versions, and without its keyspace."""
    with make_cluster() as cluster:
        session = cluster.connect()
        new_keyspace(session)
        for version in (4, 5):
            storage = ScyllaStorage([HOST], PORT, KEYSPACE, protocol_version=version)
            asyncio.run(try_storage(storage))
            session.execute(f"TRUNCATE {KEYSPACE}.kv_store")
    print(evoid_scylla.create_storage([HOST], PORT, KEYSPACE).keyspace)
    print(asyncio.run(ScyllaStorage([HOST], PORT, "programs_missing").health()))


main()
