"""Functions that build rows of the schema tables for fake nodes."""

from __future__ import annotations

import uuid
from typing import Any

Row = dict[str, Any]
Tables = dict[str, list[Row]]

STRATEGY = "org.apache.cassandra.locator.SimpleStrategy"
# The options in a row of system_schema.tables.
OPTIONS: Row = {
    "additional_write_policy": "99p",
    "comment": "it's a table",
    "caching": {"keys": "ALL", "rows_per_partition": "NONE"},
    "compaction": {"class": "Some.Strategy", "max_threshold": "32"},
    "dclocal_read_repair_chance": 0.0,
    "default_time_to_live": 0,
    "extensions": {},
    "flags": ["compound"],
    "gc_grace_seconds": 864000,
}


def keyspace(name: str, replicas: int = 1) -> Row:
    """Return a row of system_schema.keyspaces for a keyspace with SimpleStrategy."""
    replication = {"class": STRATEGY, "replication_factor": str(replicas)}
    return {"keyspace_name": name, "durable_writes": True, "replication": replication}


def column(
    keyspace: str,
    table: str,
    name: str,
    kind: str = "regular",
    position: int = -1,
    **other_cells: Any,
) -> Row:
    """Return a row of system_schema.columns."""
    table_key = {"keyspace_name": keyspace, "table_name": table}
    return {
        **table_key,
        "column_name": name,
        "kind": kind,
        "position": position,
        "clustering_order": "none",
        "type": "int",
        **other_cells,
    }


def add_table(tables: Tables, ks: str, name: str, column_count: int = 1, **options: Any) -> None:
    """Add the rows of a table to the schema tables `tables`.

    The new table has the key column ``id`` and `column_count` other columns ``c0``, ``c1`` and so
    on.
    """
    table_key = {"keyspace_name": ks, "table_name": name}
    column_rows = [column(ks, name, f"c{number}") for number in range(column_count)] + [
        column(ks, name, "id", "partition_key", 0)
    ]
    tables["system_schema.columns"] = [*tables.get("system_schema.columns", []), *column_rows]
    row = {**table_key, **OPTIONS, "id": uuid.uuid5(uuid.NAMESPACE_DNS, name), **options}
    tables["system_schema.tables"] = [*tables.get("system_schema.tables", []), row]


def remove_table(tables: Tables, ks: str, name: str) -> None:
    """Remove the rows of a table from the schema tables `tables`."""
    for table in ("system_schema.tables", "system_schema.columns"):
        tables[table] = [
            row for row in tables[table] if (row["keyspace_name"], row["table_name"]) != (ks, name)
        ]


def schema(*names: str, tables: int = 2) -> Tables:
    """Return the schema rows of keyspaces with these names.

    Each keyspace has `tables` tables: ``t0``, ``t1`` and so on.
    """
    schema_tables: Tables = {"system_schema.keyspaces": [keyspace(name) for name in names]}
    for name in names:
        for number in range(tables):
            add_table(schema_tables, name, f"t{number}")
    return schema_tables
