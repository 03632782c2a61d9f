"""Loads and unloads of whole tables, compared with cqlsh's COPY and with dsbulk.

    python benchmarks/bulk.py [--rows 1000000] [--check]

First, the driver loads CSV and Arrow data into `_lib.null_server`, which answers each request at
once. Then the script starts a real Cassandra node. Each tool loads the same CSV file into an empty
table, the rows are counted, and the tool unloads the table again. The figures are the CPU time of
the tool per row (all of its processes together) and the elapsed time. Client and node share the
machine's processors.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks._lib import bulk_table, null_server, peers
from benchmarks._lib.bulk_tools import Tool, cqlsh, dsbulk, turbocql
from benchmarks._lib.report import Benchmark
from benchmarks._lib.requirements import has

WORKER = Path(__file__).with_name("_lib") / "worker_bulk.py"
# cqlsh's COPY and dsbulk must need at least this many times the CPU of turbocql.
COPY_TARGET = 8.0
DSBULK_TARGET = 20.0
ROWS_A_SECOND = 1_000_000  # a load must write this many rows of Arrow data per second of CPU
# The shapes of the measured table: a time series, and small partitions. The value is the number of
# rows in a partition.
SHAPES = {"a series: 1,000 rows for each key": 1000, "10 rows for each key": 10}

Figures = dict[str, dict[str, float | None]]


def measure_null_server(bench: Benchmark, folder: Path) -> None:
    """Measure and show loads into the null server, which answers at once."""
    count = min(bench.options.rows, 1_000_000)
    rows: Figures = {}
    peers.own_lanes(bench)  # adds a note to the report if there are no compiled modules
    lanes = peers.lanes() if bench.options.pure else peers.lanes()[:1]
    with null_server.running(extra_rules=bulk_table.rules()) as (address, port):
        for shape, members in SHAPES.items():
            path = folder / "rows.csv"
            bulk_table.file_of_rows(path, count, max(count // members, 1))
            for name in ("CSV", "Arrow") if has("pyarrow") else ("CSV",):
                arguments = [address, str(port), bulk_table.NAME, str(path), name.lower()]
                for lane in lanes:
                    figures = peers.run_ours(lane, WORKER, arguments)
                    row = rows.setdefault(f"{name}, {shape}", {})
                    row[f"turbocql {lane}"] = figures["us"]
                    row[f"rows a request, {lane}"] = figures["rows"] / figures["requests"]
    bench.show_table("loads into a server that answers at once, us of CPU a row", rows)
    best = rows.get("Arrow, a series: 1,000 rows for each key", {}).get("turbocql c")
    if best is not None:
        text = f"{1e6 / best:,.0f} rows a second of CPU from Arrow, at least {ROWS_A_SECOND:,}"
        bench.add_target(text, 1e6 / best >= ROWS_A_SECOND)


def timed(command: list[str]) -> tuple[float, float]:
    """Run a command; return the CPU seconds of all of its processes, and the elapsed seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    # Only turbocql's tool runs in this interpreter. Make its process import the same driver as this
    # process.
    settings = peers.own_settings() if command[0] == sys.executable else {}
    result = subprocess.run(
        command,
        env={**peers.inherited(), **settings},
        cwd=peers.cache(),
        capture_output=True,
        text=True,
    )
    wall_seconds = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if result.returncode:
        raise peers.WorkerFailed(
            f"{command} failed:\n{result.stdout[-1500:]}{result.stderr[-1500:]}"
        )
    cpu_seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu_seconds, wall_seconds


def measure_real_node(bench: Benchmark, folder: Path) -> None:
    """Measure all tools with a real node, one after the other, and show the table."""
    from cassandra.cluster import Cluster
    from cassandra.testing import LocalCluster

    count = bench.options.rows
    path = folder / "rows.csv"
    bulk_table.file_of_rows(path, count, max(count // 10, 1))
    rows: Figures = {}
    with LocalCluster() as nodes:
        address, port = nodes.contact_points[0], nodes.port
        tools = [
            turbocql(address, port, has("pyarrow")),
            cqlsh(bench, address, port),
            dsbulk(bench, address, port),
        ]
        with Cluster([address], port=port) as cluster, cluster.connect() as session:
            session.execute(bulk_table.KEYSPACE)
            for tool in filter(None, tools):
                # Create the table again for each tool. The tool loads the file into it, and then
                # unloads it.
                session.execute(f"DROP TABLE IF EXISTS {bulk_table.NAME}", timeout=60)
                session.execute(bulk_table.CREATE, timeout=60)
                add_figures(rows, "load of CSV", tool.name, count, *timed(tool.load(path)))
                loaded = session.count(bulk_table.NAME)
                if loaded != count:
                    raise RuntimeError(f"{tool.name} loaded {loaded} rows of {count}")
                measure_unloads(tool, folder, count, rows)
    bench.show_table("a real node", rows)
    judge(bench, rows)


def measure_unloads(tool: Tool, folder: Path, count: int, rows: Figures) -> None:
    """Measure a tool's unloads, in each format that it can write.

    :param folder: the folder for the unloaded files.
    :param count: the number of rows in the table.
    :param rows: the rows of the report, to which the figures are added.
    """
    for form in tool.formats:
        target = folder / f"{tool.name}-{form}"
        figures = timed(tool.unload(target, form))
        add_figures(rows, f"unload to {form.upper()}", tool.name, count, *figures)
        if target.is_dir():
            shutil.rmtree(target)
        else:
            target.unlink()


def add_figures(
    rows: Figures, case: str, name: str, count: int, cpu_seconds: float, wall_seconds: float
) -> None:
    """Add the figures of one run to the table.

    :param rows: the rows of the report.
    :param case: what was measured, for the heading of the row.
    :param name: the name of the tool, which is the heading of its column.
    :param count: the number of rows.
    """
    rows.setdefault(f"{case}, us of CPU a row", {})[name] = cpu_seconds / count * 1e6
    rows.setdefault(f"{case}, s", {})[name] = wall_seconds


def judge(bench: Benchmark, rows: Figures) -> None:
    """Check the figures against this benchmark's targets, and record each result.

    The targets say how many times the CPU of turbocql the other tools must need. With ``--check``,
    the benchmark fails if a target is missed.
    """
    load_cpu: Any = rows["load of CSV, us of CPU a row"]
    load_seconds: Any = rows["load of CSV, s"]
    unload_cpu: Any = rows["unload to CSV, us of CPU a row"]
    for name, factor in (("cqlsh", COPY_TARGET), ("dsbulk", DSBULK_TARGET)):
        if name in load_cpu:
            ratio = load_cpu[name] / load_cpu["turbocql"]
            text = f"load: 1/{ratio:.1f} of the CPU of {name}, at most 1/{factor:g}"
            bench.add_target(text, ratio >= factor)
            bench.add_target(
                f"load: less time than {name}", load_seconds["turbocql"] < load_seconds[name]
            )
    # Compare unloads with COPY TO, and the formats of our unloads with each other.
    if "cqlsh" in unload_cpu:
        ratio = unload_cpu["cqlsh"] / unload_cpu["turbocql"]
        text = f"unload: 1/{ratio:.1f} of the CPU of COPY TO, at most 1/{COPY_TARGET:g}"
        bench.add_target(text, ratio >= COPY_TARGET)
    parquet_cpu: Any = rows.get("unload to PARQUET, us of CPU a row")
    if parquet_cpu is not None:
        bench.add_target(
            "unload: less CPU to Parquet than to CSV",
            parquet_cpu["turbocql"] < unload_cpu["turbocql"],
        )


def main() -> int:
    bench = Benchmark(
        __doc__,
        "Loads and unloads of whole tables",
        duration_text="10 minutes",
        quick_duration_text="15 s",
        with_peers=True,
    )
    bench.add_option("--rows", type=int, default=1_000_000, help="rows of the table")
    bench.add_option(
        "--pure", action="store_true", help="measure pure Python, too, at the null server"
    )
    bench.start(quick={"rows": 20_000})
    bench.need_program("cc")  # to compile the null server
    if not has("pyarrow"):
        bench.note("loads of Arrow data are left out: pip install pyarrow for them")
    with tempfile.TemporaryDirectory() as folder:
        measure_null_server(bench, Path(folder))
        if bench.options.quick:
            bench.note("the real node is left out by --quick")
        elif shutil.which("java") is None and "JAVA_HOME" not in os.environ:
            bench.note("the real node is left out: it needs Java")
        else:
            measure_real_node(bench, Path(folder))
    return bench.end()


if __name__ == "__main__":
    sys.exit(main())
