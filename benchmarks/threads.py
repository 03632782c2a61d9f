"""How many rows two threads bind and decode, compared with one thread.

    python benchmarks/threads.py [--seconds 2] [--check]

Each thread repeatedly binds rows of six columns and decodes pages of 100 rows. The objects that do
this for a list of columns (a bind plan and a row plan) belong to one thread in the first two cases.
In the third case both threads share them, as threads that use the same prepared statement do.

With the global interpreter lock (GIL), two threads share one core. On a build of CPython that can
run without it (3.13t, 3.14t), everything is measured with and without the GIL, in turns. There,
``--check`` requires that two threads do at least 1.8 times as much as one without the GIL, and that
one thread takes at most 1.15 times as long without the GIL as with it.
"""

from __future__ import annotations

import os
import sys
import sysconfig

from benchmarks._lib import peers
from benchmarks._lib.report import Benchmark

TWO_THREADS = 1.8  # without the GIL, two threads must do at least this many times the rows of one
ALONE = 1.15  # one thread may take at most this many times as long without the GIL as with it
CODE = """
import sys, threading, time
from cassandra import _impl, cqltypes
from cassandra.protocol.column_specs import ColumnMetadata, ResultMetadata

KINDS = ("Int32Type", "UTF8Type", "LongType", "DoubleType", "BooleanType", "UTF8Type")
ROW = (7, "a text", 1 << 40, 2.5, True, "another text")
PAGE = 100

def plans():
    columns = [ColumnMetadata("ks", "t", f"c{{n}}", cqltypes.lookup_casstype(kind))
               for n, kind in enumerate(KINDS)]
    return _impl.bind.BindPlan(columns, [0]), ResultMetadata(columns).row_plan

def work(end, counts, place):
    plan, rows = shared or plans()
    data = plan.bind(ROW, 5).data
    page = PAGE.to_bytes(4, "big") + data * PAGE
    count = 0
    while time.perf_counter() < end:
        for _ in range(20):
            for _ in range(PAGE):
                plan.bind(ROW, 5)
            rows.tuples(page, 4, PAGE)
        count += 20 * PAGE
    counts[place] = count

count, seconds = int(sys.argv[1]), float(sys.argv[2])
shared = plans() if sys.argv[3] == "shared" else None
counts = [0] * count
began = time.perf_counter()
threads = [threading.Thread(target=work, args=(began + seconds, counts, n)) for n in range(count)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(sum(counts) / (time.perf_counter() - began))
""".replace("{{", "{").replace("}}", "}")


CASES = {
    "one thread": (1, "own"),
    "two threads": (2, "own"),
    "two, shared plans": (2, "shared"),
}


def rate(threads: int, plans: str, seconds: float, gil: str) -> float:
    """Run threads in a new process; return the rows that all of them bind and decode per second.

    :param threads: the number of threads.
    :param plans: "own" if each thread has its own plans; "shared" if all threads use the same.
    :param seconds: how long the threads run.
    :param gil: the value of ``PYTHON_GIL``: "1" with the GIL, "0" without it.
    """
    # A build with the GIL refuses the variable.
    variables = {"PYTHON_GIL": gil} if sysconfig.get_config_var("Py_GIL_DISABLED") else {}
    return float(peers.output_of(CODE, [str(threads), str(seconds), plans], **variables))


def main() -> int:
    bench = Benchmark(
        __doc__,
        "Rows bound and decoded by threads, thousands a second",
        duration_text="40 s",
        quick_duration_text="5 s",
    )
    bench.add_option("--seconds", type=float, default=2.0)
    bench.add_option("--rounds", type=int, default=5)
    options = bench.start(quick={"seconds": 0.2, "rounds": 2})
    is_free_threaded = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
    # The values of PYTHON_GIL, by the heading of the table's column.
    gil_settings = {"with the lock": "1"}
    if is_free_threaded:
        gil_settings = {"without the lock": "0", **gil_settings}
    best = {lock: dict.fromkeys(CASES, 0.0) for lock in gil_settings}
    with bench.progress(options.rounds * len(gil_settings) * len(CASES)) as bar:
        for _ in range(options.rounds):
            for lock, gil in gil_settings.items():
                for name, (threads, plans) in CASES.items():
                    bar.step(f"{name}, {lock}")
                    measured = rate(threads, plans, options.seconds, gil) / 1000
                    best[lock][name] = max(best[lock][name], measured)
    for figures in best.values():
        figures["two / one"] = figures["two threads"] / figures["one thread"]
    bench.show_table(f"the best of {options.rounds} rounds, {os.cpu_count()} processors", best)
    if is_free_threaded:
        without_lock, with_lock = best["without the lock"], best["with the lock"]
        speed_up, slow_down = (
            without_lock["two / one"],
            with_lock["one thread"] / without_lock["one thread"],
        )
        text = f"two threads: {speed_up:.2f} times one, at least {TWO_THREADS}"
        bench.add_target(text, speed_up >= TWO_THREADS)
        text = f"one thread without: {slow_down:.2f} times the time, at most {ALONE}"
        bench.add_target(text, slow_down <= ALONE)
    return bench.end()


if __name__ == "__main__":
    sys.exit(main())
