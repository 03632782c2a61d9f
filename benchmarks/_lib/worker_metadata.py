"""Connects to a server with many tables, reads ("touches") all metadata, and prints the cost.

    worker_metadata.py ADDRESS PORT MODE

The script works with turbocql, cassandra-driver and scylla-driver, and prints one JSON object. MODE
chooses the figures: "time" (CPU seconds), "memory" (bytes of Python objects) or "off" (CPU seconds
of a connect without schema metadata).
"""

from __future__ import annotations

import gc
import json
import sys
import time
import tracemalloc
from typing import Any

from cassandra.cluster import Cluster


def touch(metadata: Any) -> int:
    """Read each column, option and index of each table; return the number of user tables.

    A driver may parse metadata only when it is read, so reading makes all drivers parse it.
    """
    count = 0
    for keyspace in metadata.keyspaces.values():
        for table in keyspace.tables.values():
            count += table.name.startswith("table_")  # these names are from `schema_tables`
            table.options.get("comment")
            for column in table.columns.values():
                column.cql_type  # noqa: B018
            len(table.indexes), len(table.primary_key)
    return count


def connect(address: str, port: int, **settings: Any) -> tuple[Any, Any]:
    """Return a cluster and a session."""
    cluster = Cluster(
        [address],
        port=port,
        protocol_version=4,
        compression=False,
        control_connection_timeout=60,
        **settings,
    )
    return cluster, cluster.connect()


def timed(address: str, port: int) -> dict[str, float]:
    """Return the CPU seconds of connecting, of `touch`, and of exporting the schema as CQL."""
    # The first connect of a process loads modules and starts threads, so do not measure it.
    warm_up_cluster, _ = connect(
        address, port, schema_metadata_enabled=False, token_metadata_enabled=False
    )
    gc.collect()
    start = time.process_time()
    cluster, _ = connect(address, port)
    connected = time.process_time()
    tables = touch(cluster.metadata)
    touched = time.process_time()
    cql = cluster.metadata.export_schema_as_string()
    exported = time.process_time()
    cluster.shutdown()
    warm_up_cluster.shutdown()
    # The export has the definitions of all tables. Each of them has more than 100 characters.
    assert len(cql) > tables * 100
    return {
        "tables": tables,
        "connect": connected - start,
        "touch": touched - connected,
        "both": touched - start,
        "export": exported - touched,
    }


def measured(address: str, port: int) -> dict[str, float]:
    """Return the bytes of Python objects held after connecting, and after `touch`."""
    warm_up_cluster, _ = connect(
        address, port, schema_metadata_enabled=False, token_metadata_enabled=False
    )
    gc.collect()
    tracemalloc.start()
    cluster, _ = connect(address, port)
    gc.collect()
    connected = tracemalloc.get_traced_memory()[0]
    tables = touch(cluster.metadata)
    gc.collect()
    touched, peak = tracemalloc.get_traced_memory()
    cluster.shutdown()
    warm_up_cluster.shutdown()
    return {"tables": tables, "connected": connected, "touched": touched, "peak": peak}


def switched_off(address: str, port: int) -> dict[str, float]:
    """Return the CPU seconds of connecting without reading the schema."""
    warm_up_cluster, _ = connect(
        address, port, schema_metadata_enabled=False, token_metadata_enabled=False
    )
    start = time.process_time()
    cluster, _ = connect(address, port, schema_metadata_enabled=False, token_metadata_enabled=False)
    spent = time.process_time() - start
    cluster.shutdown()
    warm_up_cluster.shutdown()
    return {"connect": spent}


if __name__ == "__main__":
    mode = {"time": timed, "memory": measured, "off": switched_off}[sys.argv[3]]
    print(json.dumps(mode(sys.argv[1], int(sys.argv[2]))))
