"""The table of `benchmarks.bulk`: its rows as CSV files, and its schema for the null server."""

from __future__ import annotations

import csv
import datetime
import random
import uuid
from collections.abc import Iterator
from pathlib import Path

from benchmarks._lib import null_server
from benchmarks._lib.null_server import (
    BIGINT,
    DOUBLE,
    INT,
    PREPARE,
    RESULT,
    TEXT,
    TIMESTAMP,
    type_option,
)

KEYSPACE = (
    "CREATE KEYSPACE bench WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}"
)
NAME = "bench.orders"  # the table that the tools load and unload
CREATE = (
    f"CREATE TABLE {NAME} (customer text, placed timestamp, id bigint, total double, note text, "
    "n int, PRIMARY KEY (customer, placed, id))"
)
# For each column: name, CQL type, the type's code in the protocol, kind, and position in the key.
COLUMNS = [
    ("customer", "text", TEXT, "partition_key", 0),
    ("placed", "timestamp", TIMESTAMP, "clustering", 0),
    ("id", "bigint", BIGINT, "clustering", 1),
    ("total", "double", DOUBLE, "regular", -1),
    ("note", "text", TEXT, "regular", -1),
    ("n", "int", INT, "regular", -1),
]
START = datetime.datetime(2026, 1, 1)

Row = tuple[str, datetime.datetime, int, float, str, int]


def rows_of(count: int, partitions: int) -> Iterator[Row]:
    """Yield random rows. They are the same in each run.

    :param count: the number of rows.
    :param partitions: the number of different partition keys that the rows have.
    """
    generator = random.Random(1)
    for number in range(count):
        yield (
            f"customer {generator.randrange(partitions)}",
            START + datetime.timedelta(seconds=number),
            number,
            generator.random() * 100,
            f"some note {generator.random()}",
            generator.randrange(1000),
        )


def file_of_rows(path: Path, count: int, partitions: int) -> None:
    """Write rows as CSV, with timestamps in a format that all loaders can read.

    :param count: the number of rows.
    :param partitions: the number of different partition keys that the rows have.
    """
    with path.open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow([column[0] for column in COLUMNS])
        for customer, placed, *rest in rows_of(count, partitions):
            lines.writerow([customer, f"{placed:%Y-%m-%d %H:%M:%S}+0000", *rest])


def rules() -> list[null_server.Rule]:
    """Return the null server's rules for this table. A rule is a request with its fixed response.

    The rules answer queries of the table's schema, and the PREPARE and EXECUTE of an insert.
    """
    from benchmarks._lib import schema_tables  # not at the top, because it imports the driver

    # The rows in the server's system tables that describe this table.
    keyspace, table = NAME.split(".")
    table_key = {"keyspace_name": keyspace, "table_name": table}
    content: dict[str, list[schema_tables.Row]] = {
        "system_schema.keyspaces": [
            {
                "keyspace_name": keyspace,
                "durable_writes": True,
                "replication": {
                    "class": "org.apache.cassandra.locator.SimpleStrategy",
                    "replication_factor": "1",
                },
            }
        ],
        "system_schema.tables": [{**table_key, **schema_tables.OPTIONS, "id": uuid.UUID(int=7)}],
        "system_schema.columns": [
            {
                **table_key,
                "column_name": name,
                "column_name_bytes": name.encode(),
                "kind": role,
                "position": position,
                "clustering_order": "asc" if role == "clustering" else "none",
                "type": cql_type,
            }
            for name, cql_type, _, role, position in COLUMNS
        ],
    }
    bind_columns = [(name, type_option(number)) for name, _, number, _, _ in COLUMNS]
    prepared_body = null_server.prepared(b"load", bind_columns, [], table, keyspace)
    return [
        *schema_tables.rules_of(content),
        (PREPARE, f"INSERT INTO {NAME}".encode(), RESULT, prepared_body),
        (null_server.EXECUTE, b"load", RESULT, null_server.VOID),
    ]
