"""Use openframe: a repository on asyncio: create, get, list, update, delete, health, errors."""

from __future__ import annotations

import asyncio

from common import HOST, KEYSPACE, PORT, make_cluster, new_keyspace
from openframe.adapters.db.cassandra import CassandraRepository, CassandraSettings
from openframe.adapters.db.cassandra.connection import get_cassandra_session

from cassandra.cluster import Cluster

# openframe calls this method before each connect. turbocql accepts the call, but cassandra-driver
# 3.30.1 raises an error, and nothing else could be compared. So replace the method for both
# drivers.
Cluster.set_core_connections_per_host = lambda *_: None  # type: ignore[method-assign]


async def try_repository(settings: CassandraSettings) -> None:
    """Create, read, list, change and delete items, and print what each method returns."""
    repository = CassandraRepository(settings, table="items", id_column="id")
    for number in range(7):
        item = {"id": f"i{number}", "name": f"item {number}", "price": number / 4}
        print(await repository.create(item))
    print(await repository.get("i3"), await repository.get("missing"))
    items, total = await repository.list(100, 0)
    print(total, sorted(item["id"] for item in items))
    items, total = await repository.list(3, 5)
    print(total, len(items))
    print(await repository.update({"id": "i3", "name": "changed", "price": 0.5}))
    print(await repository.update({"id": "missing", "name": "changed"}))
    print(await repository.delete("i3"), await repository.delete("i3"))
    print(await asyncio.gather(*(repository.get(f"i{number}") for number in range(7))))
    health = await repository.health()
    print(health.status)
    session = await get_cassandra_session(settings)
    print(session is await get_cassandra_session(settings), session.keyspace)
    await repository.close()
    print(session.is_shutdown, session.cluster.is_shutdown)


async def try_errors(settings: CassandraSettings) -> None:
    """Print the errors for wrong tables, an unreachable node and a missing keyspace."""
    for table in ("nowhere", "not a name"):
        repository = CassandraRepository(settings, table=table, id_column="id")
        try:
            print(await repository.get("x"))
        except Exception as error:
            print(type(error).__name__, type(error.__cause__).__name__, error.retryable)
    await repository.close()
    unreachable = CassandraSettings(cassandra_contact_points=[HOST], cassandra_port=1)
    try:
        await get_cassandra_session(unreachable)
    except Exception as error:
        print(type(error).__name__, type(error.__cause__).__name__, error.retryable)
    nowhere = CassandraSettings(
        cassandra_contact_points=[HOST], cassandra_port=PORT, cassandra_keyspace="programs_missing"
    )
    try:
        await get_cassandra_session(nowhere)
    except Exception as error:
        print(type(error).__name__)


def main() -> None:
    """Try the repository and its errors with the default protocol version and with version 4."""
    with make_cluster() as cluster:
        session = cluster.connect()
        new_keyspace(session)
        session.execute(
            f"CREATE TABLE {KEYSPACE}.items (id text PRIMARY KEY, name text, price double)"
        )
    for version in (None, 4):
        settings = CassandraSettings(
            cassandra_contact_points=[HOST],
            cassandra_port=PORT,
            cassandra_keyspace=KEYSPACE,
            cassandra_protocol_version=version,
        )
        asyncio.run(try_repository(settings))
        asyncio.run(try_errors(settings))


main()
