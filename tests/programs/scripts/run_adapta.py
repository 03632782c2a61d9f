"""adapta: entities by models of the mapper, filters to data frames, concurrent writes, metadata."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import asdict, field, make_dataclass
from datetime import datetime

import polars
from adapta.storage.distributed_object_store.v3.cassandra_client import CassandraClientConfiguration
from adapta.storage.distributed_object_store.v3.vanilla_cassandra import VanillaCassandraClient
from adapta.storage.models.expression_dsl.filter_expression import FilterField
from common import HOST, KEYSPACE, PORT, make_cluster, new_keyspace

logging.disable(logging.CRITICAL)


# adapta reads the types of the fields, which must be classes. In a class definition, the types
# would be strings, because this file imports `annotations` from `__future__`.
Reading = make_dataclass(
    "Reading",
    [
        ("sensor", str, field(metadata={"is_primary_key": True, "is_partition_key": True})),
        ("number", int, field(metadata={"is_primary_key": True})),
        ("value", float, field(default=None)),
        ("at", datetime, field(default=None)),
        ("tags", list[str], field(default=None)),
    ],
)


def reading(number: int) -> Reading:  # type: ignore[valid-type]
    """Return the reading with this number, from one of three sensors."""
    return Reading(f"s{number % 3}", number, number / 4, datetime(2024, 2, 29, 12), ["a", "b"])


def make_client(
    configuration: CassandraClientConfiguration | None = None,
) -> VanillaCassandraClient:
    """Return adapta's client for the script's keyspace.

    :param configuration: None uses adapta's default configuration.
    """
    return VanillaCassandraClient(
        "tried", KEYSPACE, "nobody", "none", [HOST], PORT, client_config=configuration
    )


def print_table(client: VanillaCassandraClient) -> None:
    """Print the metadata of a table, or the error, in one line.

    adapta asks for a schema parser of the version "4-a", which cassandra-driver refuses.
    """
    try:
        table = client.get_table_metadata("reading")
    except ValueError as error:
        print("metadata:", error)
        return
    types = {name: column.cql_type for name, column in table.columns.items()}
    print("metadata:", table.name, types, [column.name for column in table.primary_key])


def write(client: VanillaCassandraClient) -> None:
    """Write rows in each way that adapta offers, and print one row."""
    client.create_table(Reading, "reading", KEYSPACE)
    for number in range(5):
        client.upsert_entity(reading(number), keyspace=KEYSPACE, table_name="reading")
    rows = [asdict(reading(number)) for number in range(5, 40)]
    client.upsert_batch(rows[:10], Reading, keyspace=KEYSPACE, table_name="reading", batch_size=4)
    client.upsert_concurrent(rows[10:20], "reading", Reading, concurrency=3)
    client.upsert_concurrent(polars.LazyFrame(rows[20:]), "reading", Reading)
    print(client.get_entity("reading").keys())


def print_entities(client: VanillaCassandraClient) -> None:
    """Read entities with filters and with queries, and print them."""
    sensor, number = FilterField("sensor"), FilterField("number")
    filters = (
        [{"sensor": "s0"}, {"sensor": "s1"}],
        [{"sensor": "s2", "number__gte": 20}],
        (sensor == "s1") & (number > 30),
        sensor.isin(["s0", "s2"]) & (number <= 6),
    )
    for one_filter in filters:
        entities = client.filter_entities(
            Reading, one_filter, table_name="reading", keyspace=KEYSPACE, num_threads=2,
            select_columns=["sensor", "number", "value", "at"],
        )  # fmt: skip
        frame = entities.to_polars().sort("sensor", "number")
        print(frame.shape, frame.dtypes, frame.rows()[:4])
    entities = client.filter_entities(
        Reading, [{"sensor": "s1"}], table_name="reading", keyspace=KEYSPACE,
        select_columns=["sensor", "value"], deduplicate=True,
    )  # fmt: skip
    frame = entities.to_pandas()
    print(frame.shape, frame.dtypes.to_dict())
    query = f"SELECT sensor, number, tags FROM {KEYSPACE}.reading WHERE sensor = 's1'"
    print(client.get_entities_raw(query).to_polars().rows()[:3])
    print(client.get_entities_raw(query, force_eager=True).to_pandas().shape)
    mapped = client.get_entities_from_query(query, lambda row: {"n": row["number"]})
    print(mapped.to_polars().rows()[:3])


def delete(client: VanillaCassandraClient) -> None:
    """Delete rows by entity and by key, change a table option, and print the remaining rows."""
    client.delete_entity(reading(1), table_name="reading", keyspace=KEYSPACE)
    key = {"sensor": "s1", "number": 4}
    client.delete_entity_by_key(Reading, key, table_name="reading", keyspace=KEYSPACE)
    client.set_table_option("reading", "comment", "'changed'")
    left = client.get_entities_raw(f"SELECT number FROM {KEYSPACE}.reading WHERE sensor = 's1'")
    print(left.to_polars().rows()[:2])
    query = "SELECT comment FROM system_schema.tables WHERE keyspace_name = 'programs_adapta'"
    print(client.get_entities_raw(query).to_polars().rows())


async def on_asyncio() -> None:
    async with make_client() as client:
        print(client.get_entities_raw("SELECT key FROM system.local").to_polars().rows())


def main() -> None:
    """Run all steps with the default configuration and with protocol version 4."""
    with make_cluster() as cluster:
        for configuration in (None, CassandraClientConfiguration.v4()):
            new_keyspace(cluster.connect())
            with make_client(configuration) as client:
                write(client)
                print_entities(client)
                delete(client)
        with make_client() as client:
            print_table(client)
    asyncio.run(on_asyncio())


main()
