"""Loads a table by one session of this driver, and prints its cost as JSON.

`benchmarks.bulk` runs it: ADDRESS PORT TABLE FILE KIND, where KIND is "csv", or "arrow" for the
rows of the file as a table of Arrow. The figures are the least of several loads: us of CPU of the
process for a row, rows, requests.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

from cassandra.cluster import Cluster

PASSES = 2 if os.environ.get("TURBOCQL_BENCH_QUICK") else 5


def arrow(path: str) -> Any:
    """Return the rows of a file as a table of Arrow."""
    import pyarrow
    from pyarrow import compute, csv

    types = csv.ConvertOptions(column_types={"placed": pyarrow.string(), "n": pyarrow.int32()})
    table = csv.read_csv(path, convert_options=types)
    texts = compute.utf8_slice_codeunits(table["placed"], 0, 19)
    moments = compute.strptime(texts, format="%Y-%m-%d %H:%M:%S", unit="ms")
    index = table.schema.get_field_index("placed")
    return table.set_column(index, "placed", moments).combine_chunks()


def main() -> None:
    """Connect, load, measure."""
    address, port, table, path, kind = sys.argv[1:]
    source: Any = arrow(path) if kind == "arrow" else path
    cluster = Cluster([address], port=int(port), protocol_version=4, compression=False)
    session = cluster.connect()
    best: dict[str, float] = {}
    for _ in range(PASSES):
        began = time.process_time()
        report = session.load(table, source, progress=False)
        cost = (time.process_time() - began) / report.written * 1e6
        if not best or cost < best["us"]:
            best = {"us": cost, "rows": report.written, "requests": report.requests}
    cluster.shutdown()
    print(json.dumps(best))


if __name__ == "__main__":
    main()
