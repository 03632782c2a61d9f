"""Loads a table with one session of this driver, and prints the cost as JSON.

    worker_bulk.py ADDRESS PORT TABLE FILE KIND

KIND is "csv" to load the CSV file itself, or "arrow" to read the file into an Arrow table first and
load the Arrow table. The script loads several times, and prints the figures of the cheapest load:
the CPU microseconds of the process for a row, the number of rows, and the number of requests.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

from cassandra.cluster import Cluster

# How often each case is run. The fastest pass counts.
PASSES = 2 if os.environ.get("TURBOCQL_BENCH_QUICK") else 5


def arrow_table(path: str) -> Any:
    """Read a CSV file into an Arrow table, with timestamps in the column `placed`."""
    import pyarrow
    from pyarrow import compute, csv

    types = csv.ConvertOptions(column_types={"placed": pyarrow.string(), "n": pyarrow.int32()})
    table = csv.read_csv(path, convert_options=types)
    texts = compute.utf8_slice_codeunits(table["placed"], 0, 19)
    timestamps = compute.strptime(texts, format="%Y-%m-%d %H:%M:%S", unit="ms")
    index = table.schema.get_field_index("placed")
    return table.set_column(index, "placed", timestamps).combine_chunks()


def main() -> None:
    """Load the table in several passes, and print the figures of the best pass as JSON."""
    address, port, table, path, format_name = sys.argv[1:]
    source: Any = arrow_table(path) if format_name == "arrow" else path
    cluster = Cluster([address], port=int(port), protocol_version=4, compression=False)
    session = cluster.connect()
    best: dict[str, float] = {}
    for _ in range(PASSES):
        began = time.process_time()
        report = session.load(table, source, progress=False)
        microseconds = (time.process_time() - began) / report.written * 1e6
        if not best or microseconds < best["us"]:
            best = {"us": microseconds, "rows": report.written, "requests": report.requests}
    cluster.shutdown()
    print(json.dumps(best))


if __name__ == "__main__":
    main()
