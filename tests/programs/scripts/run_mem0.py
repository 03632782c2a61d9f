"""Use mem0: its vector store: collections, insert, search with filters, update, list, reset."""

from __future__ import annotations

import os

os.environ["MEM0_TELEMETRY"] = "False"

from common import HOST, KEYSPACE, PORT, make_cluster, new_keyspace
from mem0.vector_stores.cassandra import CassandraDB

from cassandra.policies import RoundRobinPolicy

# The vectors of the rows, by the id.
VECTORS = {"a": [1.0, 0.0, 0.25], "b": [0.5, 0.5, 0.0], "c": [0.0, 1.0, 0.125]}


def print_rows(rows: list) -> None:
    """Print each row that the store has returned."""
    for row in rows:
        score = None if row.score is None else round(row.score, 5)
        print(row.id, score, sorted(row.payload.items()))


def try_store(store: CassandraDB) -> None:
    """Insert, search, change and delete rows and tables, and print what each method returns."""
    payloads = [{"user_id": "u" if name < "c" else "v", "data": f"of {name}"} for name in VECTORS]
    store.insert(list(VECTORS.values()), payloads, list(VECTORS))
    print_rows(store.search("", [1.0, 0.25, 0.0], top_k=2))
    print_rows(store.search("", [1.0, 0.25, 0.0], top_k=5, filters={"user_id": "v"}))
    print_rows([store.get("b")])
    print(store.get("missing"))
    store.update("b", vector=[0.0, 0.0, 1.0])
    store.update("b", payload={"user_id": "w", "data": "changed"})
    print_rows(store.search("", [0.0, 0.0, 1.0], top_k=1))
    print_rows(sorted(store.list()[0], key=lambda row: row.id))
    print_rows(store.list(filters={"user_id": "u"}, top_k=1)[0])
    store.delete("a")
    print(store.col_info())
    store.create_col("others", 3)
    print(sorted(store.list_cols()))
    store.reset()
    print(store.col_info()["count"], store.list())
    store.delete_col()
    print(sorted(store.list_cols()))
    try:
        store.insert([[1.0]], ids=["x"])
    except Exception as error:
        print(type(error).__name__)


def main() -> None:
    """Try the store with default settings, with protocol version 5, and with a login."""
    with make_cluster() as cluster:
        new_keyspace(cluster.connect())
    server = {
        "contact_points": [HOST],
        "port": PORT,
        "keyspace": KEYSPACE,
        "embedding_model_dims": 3,
    }
    settings: tuple[dict, ...] = (
        {},
        {"protocol_version": 5, "load_balancing_policy": RoundRobinPolicy()},
        {"username": "nobody", "password": "none"},
    )
    for more in settings:
        store = CassandraDB(**server, **more)
        try_store(store)
        store.cluster.shutdown()


main()
