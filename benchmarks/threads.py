"""How many rows two threads bind and decode, compared with one thread.

    python benchmarks/threads.py [--seconds 2] [--check]

Each thread repeatedly binds rows of six columns and decodes pages of 100 rows. A bind plan and a
row plan, which are built for a list of columns, do this work. In the first two cases each thread
has its own plans. In the third case both threads share them, like threads that use the same
prepared statement.

With the global interpreter lock (GIL), two threads share one core. On a build of CPython that can
run without the GIL (3.13t, 3.14t), everything is measured with and without the GIL, in turns. On
such a build, ``--check`` requires that two threads without the GIL do at least 1.8 times as much as
one thread, and that one thread takes at most 1.15 times as long without the GIL as with it.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path

from benchmarks._lib import peers
from benchmarks._lib.report import Benchmark

WORKER = Path(__file__).with_name("_lib") / "worker_threads.py"
TWO_THREADS = 1.8  # without the GIL, two threads must do at least this many times the rows of one
ALONE = 1.15  # one thread may take at most this many times as long without the GIL as with it
CASES = {
    "one thread": (1, "own"),
    "two threads": (2, "own"),
    "two, shared plans": (2, "shared"),
}


def rate(threads: int, plans: str, seconds: float, gil: str) -> float:
    """Run threads in a new process; return the rows that all of them bind and decode per second.

    :param threads: the number of threads.
    :param plans: "own" if each thread has its own plans; "shared" if all threads share the plans.
    :param seconds: how long the threads run.
    :param gil: the value of ``PYTHON_GIL``: "1" with the GIL, "0" without it.
    """
    # Set the variable only for a free-threaded build: any other build of CPython refuses it.
    variables = {"PYTHON_GIL": gil} if sysconfig.get_config_var("Py_GIL_DISABLED") else {}
    arguments = [str(threads), str(seconds), plans]
    settings = {**peers.own_settings(), **variables}
    rows: float = peers.run(sys.executable, WORKER, arguments, settings)
    return rows


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
    # The columns of the table: by heading, the value of PYTHON_GIL.
    gil_settings = {"with the lock": "1"}
    if is_free_threaded:
        gil_settings = {"without the lock": "0", **gil_settings}
    # The highest rate of all rounds, for each setting of the lock and each case.
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
    # Check that two threads without the lock are faster than one, and that one thread is not much
    # slower without the lock than with it.
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
