"""feast's Cassandra online store: apply, write and read features, by one and by many entities."""

from __future__ import annotations

import os
import tempfile
import warnings
from datetime import datetime, timedelta, timezone
from pathlib import Path

warnings.simplefilter("ignore")
os.environ["FEAST_USAGE"] = "False"

import pandas  # noqa: E402
from common import HOST, KEYSPACE, PORT, make_cluster, new_keyspace  # noqa: E402
from feast import Entity, FeatureStore, FeatureView, Field, FileSource, RepoConfig  # noqa: E402
from feast.types import Float32, Int64, String  # noqa: E402

NOW = datetime(2024, 2, 29, 12, tzinfo=timezone.utc)


def make_store(folder: str, **more: object) -> FeatureStore:
    """Return a feature store whose online store is Cassandra.

    :param more: further settings of the online store.
    """
    return FeatureStore(
        config=RepoConfig(
            project="tried",
            registry=f"{folder}/registry.db",
            provider="local",
            entity_key_serialization_version=3,
            online_store={
                "type": "cassandra", "hosts": [HOST], "port": PORT, "keyspace": KEYSPACE,
                "protocol_version": 5, **more,
            },
        )
    )  # fmt: skip


def features(folder: str, rows: int) -> tuple[Entity, FeatureView, pandas.DataFrame]:
    """Write a Parquet file with features of drivers; return the entity, view and data frame."""
    frame = pandas.DataFrame(
        {
            "driver": range(rows),
            "event_timestamp": [NOW] * rows,
            "created": [NOW] * rows,
            "rate": [number / 4 for number in range(rows)],
            "trips": [number * 10 for number in range(rows)],
            "name": [f"n{number}" for number in range(rows)],
        }
    )
    frame.to_parquet(Path(folder, "drivers.parquet"))
    source = FileSource(
        path=f"{folder}/drivers.parquet",
        timestamp_field="event_timestamp",
        created_timestamp_column="created",
    )
    driver = Entity(name="driver", join_keys=["driver"])
    view = FeatureView(
        name="drivers", entities=[driver], ttl=timedelta(days=100000), source=source,
        schema=[Field(name="driver", dtype=Int64), Field(name="rate", dtype=Float32),
                Field(name="trips", dtype=Int64), Field(name="name", dtype=String)],
    )  # fmt: skip
    return driver, view, frame


def print_features(store: FeatureStore, *drivers: int) -> None:
    """Print the features that the online store returns for the given drivers."""
    features = store.get_online_features(
        features=["drivers:rate", "drivers:trips", "drivers:name"],
        entity_rows=[{"driver": driver} for driver in drivers],
    ).to_dict()
    print({name: features[name] for name in sorted(features)})


def main() -> None:
    """Write and read features with the default policy and with a token-aware policy."""
    with make_cluster() as cluster:
        new_keyspace(cluster.connect())
        policies = (
            {},
            {"load_balancing": {
                "load_balancing_policy": "TokenAwarePolicy(DCAwareRoundRobinPolicy)",
                "local_dc": "dc1"}, "read_concurrency": 7, "write_concurrency": 3},
        )  # fmt: skip
        for more in policies:
            with tempfile.TemporaryDirectory() as folder:
                store = make_store(folder, **more)
                driver, view, frame = features(folder, 250)
                store.apply([driver, view])
                store.write_to_online_store("drivers", frame)
                print_features(store, 1)
                print_features(store, *range(240, 260))
                store.materialize(NOW - timedelta(days=1), NOW + timedelta(days=1))
                print_features(store, 3, 5)
                names = cluster.connect(KEYSPACE).execute(
                    "SELECT table_name FROM system_schema.tables WHERE keyspace_name = %s",
                    (KEYSPACE,),
                )
                print(sorted(row.table_name for row in names))
                store.teardown()


main()
