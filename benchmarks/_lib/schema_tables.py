"""The null server's responses to queries of the schema.

The schema has many tables, each with ten columns and an index.
"""

from __future__ import annotations

import struct
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmarks._lib.null_server import (
    GLOBAL_TABLE,
    OPTIONS as OPTIONS_OPCODE,
    QUERY,
    RESULT,
    ROWS_KIND,
    SUPPORTED,
    Rule,
    string,
)
from cassandra.testing.fake.system_tables import SCHEMA_TABLES, SCHEMA_TABLES_OF_5_0
from cassandra.testing.fake.values import encode_row, parse_type

Row = dict[str, Any]

TYPES = [
    "int", "text", "bigint", "uuid", "timestamp", "double", "map<text, text>", "frozen<list<int>>",
    "set<text>", "boolean",
]  # fmt: skip
# The options of a table. They are columns of its row in system_schema.tables.
OPTIONS: Row = {
    "additional_write_policy": "99p", "bloom_filter_fp_chance": 0.01,
    "caching": {"keys": "ALL", "rows_per_partition": "NONE"}, "comment": "",
    "compaction": {
        "class": "org.apache.cassandra.db.compaction.SizeTieredCompactionStrategy",
        "max_threshold": "32", "min_threshold": "4",
    },
    "compression": {
        "chunk_length_in_kb": "16", "class": "org.apache.cassandra.io.compress.LZ4Compressor",
    },
    "crc_check_chance": 1.0, "dclocal_read_repair_chance": 0.0, "default_time_to_live": 0,
    "extensions": {}, "flags": ["compound"], "gc_grace_seconds": 864000,
    "max_index_interval": 2048, "memtable_flush_period_in_ms": 0, "min_index_interval": 128,
    "read_repair": "BLOCKING", "read_repair_chance": 0.0, "speculative_retry": "99p",
}  # fmt: skip


def schema_rows(tables: int, tables_per_keyspace: int = 100) -> dict[str, list[Row]]:
    """Return the rows of the tables in system_schema, by the name of the table.

    :param tables: the number of user tables that the rows describe.
    :param tables_per_keyspace: the number of tables in each keyspace.
    """
    rows: dict[str, list[Row]] = {name: [] for name in SCHEMA_TABLES}
    for number in range(tables):
        keyspace, table = f"keyspace_{number // tables_per_keyspace:03}", f"table_{number:05}"
        # For the first table of a keyspace, also add the row of the keyspace.
        if number % tables_per_keyspace == 0:
            replication = {
                "class": "org.apache.cassandra.locator.SimpleStrategy",
                "replication_factor": "1",
            }
            rows["system_schema.keyspaces"].append(
                {"keyspace_name": keyspace, "durable_writes": True, "replication": replication}
            )
        table_key = {"keyspace_name": keyspace, "table_name": table}
        rows["system_schema.tables"].append({**table_key, **OPTIONS, "id": uuid.UUID(int=number)})
        rows["system_schema.columns"].extend({**table_key, **column} for column in columns())
        rows["system_schema.indexes"].append(
            {
                **table_key,
                "index_name": f"{table}_b_idx",
                "kind": "COMPOSITES",
                "options": {"target": "column_03"},
            }
        )
    return rows


def columns() -> Iterator[Row]:
    """Yield the rows that describe a table's ten columns; two of them are the primary key."""
    roles = [
        ("partition_key", 0, "none"),
        ("clustering", 0, "desc"),
        *[("regular", -1, "none")] * 8,
    ]
    for number, ((kind, position, order), cql_type) in enumerate(zip(roles, TYPES, strict=True)):
        name = f"column_{number:02}"
        yield {
            "column_name": name, "column_name_bytes": name.encode(), "kind": kind,
            "position": position, "clustering_order": order, "type": cql_type,
        }  # fmt: skip


def body(
    table: str, columns: Sequence[tuple[str, str]], content: Sequence[Mapping[str, Any]]
) -> bytes:
    """Return the body of a RESULT of kind Rows, in protocol version 4.

    :param table: KEYSPACE.TABLE.
    :param columns: name and CQL type of each column.
    :param content: the values of each row, by column.
    """
    types = [parse_type(kind) for _, kind in columns]
    names = [name for name, _ in columns]
    column_specs = b"".join(
        string(name) + kind.option(4) for name, kind in zip(names, types, strict=True)
    )
    # The kind of the result and its metadata: flags, the keyspace and table of all columns, and the
    # columns.
    head = (
        struct.pack(">iii", ROWS_KIND, GLOBAL_TABLE, len(names))
        + b"".join(map(string, table.split(".")))
        + column_specs
    )
    return (
        head
        + struct.pack(">i", len(content))
        + b"".join(encode_row(types, columns, row) for row in content)
    )


def rules(tables: int) -> list[Rule]:
    """Return the null server's rules that describe a schema.

    :param tables: the number of tables in the schema.
    """
    return rules_of(schema_rows(tables))


def rules_of(content: Mapping[str, Sequence[Row]]) -> list[Rule]:
    """Return the null server's rules that answer queries of the schema tables with given rows.

    :param content: the rows, by the name of the schema table; other schema tables are empty.
    """
    # Some drivers do not connect if the response to OPTIONS lacks one of these two options.
    supported = (
        string("CQL_VERSION") + b"\0\x01" + string("3.4.6") + string("COMPRESSION") + b"\0\0"
    )
    rules: list[Rule] = [(OPTIONS_OPCODE, b"", SUPPORTED, b"\0\x02" + supported)]
    for name, described in {**SCHEMA_TABLES, **SCHEMA_TABLES_OF_5_0}.items():
        rows = content.get(name, [])
        if name.endswith(".columns"):
            # This driver selects only the columns that it needs, so its query needs another rule.
            # "type" is the last of these columns. Other drivers select "*".
            needed = [column for column in described if column[0] != "column_name_bytes"]
            needed_rows = [
                {key: value for key, value in row.items() if key != "column_name_bytes"}
                for row in rows
            ]
            answer = body(name, needed, needed_rows)
            rules.append((QUERY, f"type FROM {name}".encode(), RESULT, answer))
        rules.append((QUERY, f" {name}".encode(), RESULT, body(name, described, rows)))
    return rules
