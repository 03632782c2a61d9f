"""Schema metadata of 2,000 tables beside the peer drivers.

    python -m benchmarks.metadata [--json FILE] [--no-peers] [--tables N]

A server that answers at once has keyspaces of 100 tables each, of ten columns and an index. Each
driver connects to it in processes of its own, one after the other, in rounds. The figures are the
client's CPU time of connect and of looking at every column, option and index (the least of the
rounds counts), the memory of Python objects afterwards, and a connect without schema metadata.
"""

from __future__ import annotations

import argparse
import json
import struct
import sys
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # run as a script, from anywhere

from benchmarks._lib import peers
from benchmarks._lib.null_server import OPTIONS as OPTIONS_OPCODE
from benchmarks._lib.null_server import QUERY, RESULT, SUPPORTED, Rule, running, string
from benchmarks._lib.requirements import need
from cassandra.testing.fake.system_tables import SCHEMA_TABLES, SCHEMA_TABLES_OF_5_0
from cassandra.testing.fake.values import encode_row, parse_type

WORKER = Path(__file__).with_name("_lib") / "worker_metadata.py"
TARGETS = {"both": 4.0, "touched": 3.0}  # a peer's figure over ours

Row = dict[str, Any]

TYPES = [
    "int",
    "text",
    "bigint",
    "uuid",
    "timestamp",
    "double",
    "map<text, text>",
    "frozen<list<int>>",
    "set<text>",
    "boolean",
]
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


def schema_rows(tables: int, in_a_keyspace: int = 100) -> dict[str, list[Row]]:
    """Return the rows of the schema tables, by the table's name."""
    found: dict[str, list[Row]] = {name: [] for name in SCHEMA_TABLES}
    for number in range(tables):
        keyspace, table = f"keyspace_{number // in_a_keyspace:03}", f"table_{number:05}"
        if number % in_a_keyspace == 0:
            replication = {
                "class": "org.apache.cassandra.locator.SimpleStrategy",
                "replication_factor": "1",
            }
            found["system_schema.keyspaces"].append(
                {"keyspace_name": keyspace, "durable_writes": True, "replication": replication}
            )
        where = {"keyspace_name": keyspace, "table_name": table}
        found["system_schema.tables"].append({**where, **OPTIONS, "id": uuid.UUID(int=number)})
        found["system_schema.columns"].extend({**where, **column} for column in columns())
        found["system_schema.indexes"].append(
            {
                **where,
                "index_name": f"{table}_b_idx",
                "kind": "COMPOSITES",
                "options": {"target": "column_03"},
            }
        )
    return found


def columns() -> Iterator[Row]:
    """Yield ten columns, two of them of the key."""
    kinds = [
        ("partition_key", 0, "none"),
        ("clustering", 0, "desc"),
        *[("regular", -1, "none")] * 8,
    ]
    for at, ((kind, position, order), cql_type) in enumerate(zip(kinds, TYPES, strict=True)):
        name = f"column_{at:02}"
        yield {
            "column_name": name, "column_name_bytes": name.encode(), "kind": kind,
            "position": position, "clustering_order": order, "type": cql_type,
        }  # fmt: skip


def body(
    table: str, wanted: Sequence[tuple[str, str]], content: Sequence[Mapping[str, Any]]
) -> bytes:
    """Return a ROWS result of protocol version 4."""
    kinds = [parse_type(kind) for _, kind in wanted]
    names = [name for name, _ in wanted]
    specs = b"".join(string(name) + kind.option(4) for name, kind in zip(names, kinds, strict=True))
    head = (
        struct.pack(">iii", 2, 0x01, len(names)) + b"".join(map(string, table.split("."))) + specs
    )
    return (
        head
        + struct.pack(">i", len(content))
        + b"".join(encode_row(kinds, names, row) for row in content)
    )


def rules(tables: int) -> list[Rule]:
    """Return the server's answers: each schema table, whole or with the columns that we ask for."""
    content = schema_rows(tables)
    # Some drivers insist on these two.
    supported = (
        string("CQL_VERSION") + b"\0\x01" + string("3.4.6") + string("COMPRESSION") + b"\0\0"
    )
    found: list[Rule] = [(OPTIONS_OPCODE, b"", SUPPORTED, b"\0\x02" + supported)]
    for name, described in {**SCHEMA_TABLES, **SCHEMA_TABLES_OF_5_0}.items():
        rows = content.get(name, [])
        if name.endswith(".columns"):
            ours = [column for column in described if column[0] != "column_name_bytes"]
            found.append((QUERY, f"type FROM {name}".encode(), RESULT, body(name, ours, rows)))
        found.append((QUERY, f" {name}".encode(), RESULT, body(name, described, rows)))
    return found


def measure(tables: int, rounds: int, with_peers: bool) -> dict[str, dict[str, float]]:
    """Return each driver's figures by its name: the least of all rounds."""
    found: dict[str, dict[str, float]] = {}
    with running(first=rules(tables)) as (address, port):
        for _ in range(rounds):
            for mode in ("time", "memory", "off"):
                arguments = (address, str(port), mode)
                results = {
                    f"turbocql {lane}": peers.run_ours(lane, WORKER, arguments)
                    for lane in ("c", "python")
                }
                for peer in peers.PEERS if with_peers else ():
                    results[peer] = peers.run_peer(peer, WORKER, arguments)
                for name, result in results.items():
                    figures = {
                        f"off_{key}" if mode == "off" else key: value
                        for key, value in result.items()
                    }
                    known = found.setdefault(name, {})
                    known.update(
                        {key: min(value, known.get(key, value)) for key, value in figures.items()}
                    )
    for name, figures in found.items():
        if figures["tables"] != tables:
            raise RuntimeError(f"{name} saw {figures['tables']} tables of {tables}")
    return found


LINES = (
    ("both", "connect and touch everything, s of CPU", 1.0),
    ("connect", "  connect", 1.0),
    ("touch", "  touch", 1.0),
    ("export", "export everything as CQL, s of CPU", 1.0),
    ("connected", "held after connect, MB", 1e6),
    ("touched", "held after touching everything, MB", 1e6),
    ("peak", "most held meanwhile, MB", 1e6),
    ("off_connect", "connect without schema metadata, s of CPU", 1.0),
)


def table_of(found: dict[str, dict[str, float]]) -> str:
    """Return a line for each figure, with the peers' least over ours."""
    lines = [
        f"{'':<44}" + "".join(f"{name:>18}" for name in found) + f"{'peer / ours':>14}{'target':>8}"
    ]
    ours = found["turbocql c"]
    for key, title, unit in LINES:
        others = [figures[key] for name, figures in found.items() if name in peers.PEERS]
        ratio = f"{min(others) / ours[key]:>14.1f}" if others else f"{'-':>14}"
        target = f"{TARGETS[key]:>8.1f}" if key in TARGETS else ""
        lines.append(
            f"{title:<44}"
            + "".join(f"{one[key] / unit:>18.4f}" for one in found.values())
            + ratio
            + target
        )
    return "\n".join(lines)


def main() -> None:
    """Measure, print the table, write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path, help="where the JSON goes")
    parser.add_argument("--no-peers", action="store_true", help="leave the other drivers out")
    arguments = parser.parse_args()
    need("geomet")
    found = measure(arguments.tables, arguments.rounds, not arguments.no_peers)
    print(f"{arguments.tables} tables, least of {arguments.rounds} rounds")
    print(table_of(found))
    if arguments.json:
        arguments.json.write_text(
            json.dumps({"tables": arguments.tables, "drivers": found}, indent=1) + "\n"
        )


if __name__ == "__main__":
    main()
