"""Compares blocking calls from 100 greenlets with blocking calls from 100 threads.

    python benchmarks/greenlets.py

The server is `_lib.null_server`. Threads, gevent and eventlet are measured in separate processes,
in which gevent or eventlet patches the standard library. The figures are the executions per second
in the best round, and the ratio to threads. gevent and eventlet are left out if they are not
installed.
"""

from __future__ import annotations

import json
import subprocess
import sys

from benchmarks._lib import null_server, peers
from benchmarks._lib.report import Benchmark
from benchmarks._lib.requirements import has

PATCHES = {
    "threads": "",
    "gevent": "from gevent import monkey; monkey.patch_all()",
    "eventlet": "import eventlet; eventlet.monkey_patch()",
}
WORK = """
import json, sys, threading, time, warnings
warnings.simplefilter("ignore")
from cassandra.cluster import Cluster
host, port, each, callers = sys.argv[1], *map(int, sys.argv[2:])
with Cluster([host], port=port, protocol_version=4) as cluster:
    session = cluster.connect()
    insert = session.prepare("INSERT INTO five (a, b, c, d, e) VALUES (?, ?, ?, ?, ?)")
    values = (7, "hello world", 7, 1.5, True)
    def work():
        for _ in range(each):
            session.execute(insert, values)
    work()
    threads = [threading.Thread(target=work) for _ in range(callers)]
    began, used = time.perf_counter(), time.process_time()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wall, cpu = time.perf_counter() - began, time.process_time() - used
print(json.dumps([each * callers / wall, cpu / each / callers * 1e6]))
"""


def measure(bench: Benchmark, patches: dict[str, str]) -> dict[str, tuple[float, float]]:
    """Measure threads, gevent and eventlet in turns; return the figures of the best round of each.

    The figures are the executions per second, and the CPU microseconds of one execution.
    """
    options = bench.options
    best: dict[str, tuple[float, float]] = {}
    environment = {**peers.inherited(), **peers.own_settings()}
    steps = options.rounds * len(patches)
    with null_server.running() as (host, port), bench.progress(steps) as bar:
        for _ in range(options.rounds):
            for name, patch in patches.items():
                bar.step(name)
                program = f"import warnings; warnings.simplefilter('ignore')\n{patch}\n{WORK}"
                arguments = (host, port, options.each, options.callers)
                result = subprocess.run(
                    [sys.executable, "-c", program, *map(str, arguments)],
                    cwd=peers.cache(), env=environment, check=True, stdout=subprocess.PIPE,
                    text=True, timeout=600,
                )  # fmt: skip
                rate, cpu = json.loads(result.stdout)
                best[name] = max(best.get(name, (0.0, 0.0)), (rate, cpu))
    return best


def main() -> int:
    bench = Benchmark(
        __doc__,
        "Blocking calls of 100 threads and of 100 greenlets, executions a second",
        duration_text="30 s",
        quick_duration_text="5 s",
    )
    bench.add_option("--rounds", type=int, default=3)
    bench.add_option("--each", type=int, default=200, help="executions of each caller")
    bench.add_option("--callers", type=int, default=100)
    bench.start(quick={"rounds": 1, "each": 50})
    bench.need_program("cc")  # to compile the null server
    # Do not measure gevent or eventlet if it is not installed.
    patches = {name: patch for name, patch in PATCHES.items() if not patch or has(name)}
    for name in PATCHES.keys() - patches.keys():
        bench.note(f"{name} is left out: it is not installed (pip install {name})")
    best = measure(bench, patches)
    rows = {
        "executions a second": {name: rate for name, (rate, _) in best.items()},
        "CPU of one, us": {name: cpu for name, (_, cpu) in best.items()},
    }
    ratios = {
        f"{name} / threads": {case: row[name] / row["threads"] for case, row in rows.items()}
        for name in best
        if name != "threads"
    }
    bench.show_table(f"{bench.options.callers} callers", rows, ratios)
    return bench.end()


if __name__ == "__main__":
    sys.exit(main())
