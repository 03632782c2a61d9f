"""Use cassio: its tables with keys, clustering, metadata and vectors; its history store."""

from __future__ import annotations

import warnings

import cassio
from cassio.history import StoredBlobHistory
from cassio.table import (
    ClusteredCassandraTable,
    ClusteredMetadataVectorCassandraTable,
    ElasticCassandraTable,
    MetadataVectorCassandraTable,
    PlainCassandraTable,
)
from common import KEYSPACE, make_cluster, new_keyspace

from cassandra.cluster import Session

warnings.simplefilter("ignore", DeprecationWarning)


def plain_and_clustered(session: Session) -> None:
    """Write, read and delete rows in plain, clustered and elastic tables."""
    plain = PlainCassandraTable(session=session, keyspace=KEYSPACE, table="plain")
    plain.put(row_id="a", body_blob="first")
    plain.put_async(row_id="b", body_blob="second").result()
    print(plain.get(row_id="a"), plain.get(row_id="z"))
    plain.delete(row_id="a")
    print(plain.get(row_id="a"))
    clustered = ClusteredCassandraTable(
        session=session, keyspace=KEYSPACE, table="clustered",
        primary_key_type=["TEXT", "INT"], ordering_in_partition="DESC", partition_id="p",
    )  # fmt: skip
    for number in range(6):
        clustered.put(row_id=number, body_blob=f"blob {number}", ttl_seconds=500)
    print(list(clustered.get_partition(n=3)))
    clustered.delete_partition()
    print(list(clustered.get_partition()))
    elastic = ElasticCassandraTable(
        session=session, keyspace=KEYSPACE, table="elastic", keys=["k1", "k2"]
    )
    elastic.put(k1="one", k2="two", body_blob="elastic")
    print(elastic.get(k1="one", k2="two"))


def vectors(session: Session) -> None:
    """Write rows with vectors and metadata, search by them, and print the matches."""
    table = MetadataVectorCassandraTable(
        session=session, keyspace=KEYSPACE, table="vectors", vector_dimension=3,
        primary_key_type="TEXT",
    )  # fmt: skip
    rows = [("a", [1, 0, 0]), ("b", [0, 1, 0]), ("c", [0.5, 0.5, 0.1])]
    futures = [
        table.put_async(
            row_id=name, body_blob=f"text {name}", vector=[float(part) for part in vector],
            metadata={"name": name, "even": str(number % 2 == 0), "n": number},
        )
        for number, (name, vector) in enumerate(rows)
    ]  # fmt: skip
    for future in futures:
        future.result()
    print(table.get(row_id="a"))
    for row in table.ann_search([1.0, 0.1, 0.0], n=2):
        print(row)
    for row in table.metric_ann_search([1.0, 0.1, 0.0], n=3, metric="cos", metric_threshold=0.1):
        print(row["row_id"], round(row["distance"], 5))
    for row in table.find_entries(n=3, metadata={"even": "True"}):
        print(row["row_id"])
    print(table.find_and_delete_entries(metadata={"name": "b"}))
    print(sorted(row["row_id"] for row in table.find_entries(n=9, metadata={})))
    clustered = ClusteredMetadataVectorCassandraTable(
        session=session, keyspace=KEYSPACE, table="clustered_vectors", vector_dimension=2,
        primary_key_type=["TEXT", "TEXT"], partition_id="p",
    )  # fmt: skip
    clustered.put(row_id="r", body_blob="b", vector=[0.25, 0.5], metadata={"k": "v"})
    print(list(clustered.ann_search([0.25, 0.5], n=1)))


def stores(session: Session) -> None:
    """Store, read and clear the history of a session."""
    history = StoredBlobHistory(session, KEYSPACE, "history")
    for text in ("one", "two", "three"):
        history.store("s", text, 100)
    print(list(history.retrieve("s")), list(history.retrieve("s", 2)))
    history.clear_session_id("s")
    print(list(history.retrieve("s")))


def main() -> None:
    """Use the tables and the history of cassio in a new keyspace."""
    with make_cluster() as cluster:
        session = cluster.connect()
        new_keyspace(session)
        cassio.init(session=session, keyspace=KEYSPACE)
        print(cassio.config.resolve_session() is session, cassio.config.resolve_keyspace())
        plain_and_clustered(session)
        vectors(session)
        stores(session)


main()
