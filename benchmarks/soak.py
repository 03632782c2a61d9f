"""Runs a mixed load with both APIs for minutes, while nodes break, hang, restart and send events.

    python benchmarks/soak.py --minutes 10

The nodes are fake nodes in another process, so that only the client's memory is measured. The load
checks that each response belongs to its request. The tables show resident memory, file descriptors,
threads, tasks and objects over time, and the outcomes of the requests. The script exits with 1 if:

- a response was wrong, or a request had no outcome
- a request failed with an error that the nodes' faults do not cause
- memory grew, or file descriptors or threads were left at the end
"""

from __future__ import annotations

import argparse
import asyncio
import sys

from benchmarks._lib.report import Benchmark


def main() -> int:
    bench = Benchmark(
        __doc__,
        "Mixed load while nodes break: memory, descriptors, threads, tasks, objects",
        duration_text="10 minutes (--minutes)",
        quick_duration_text="10 s",
    )
    bench.add_option("--minutes", type=float, default=10.0)
    bench.add_option(
        "--interval", type=float, default=10.0, help="seconds between two rows of figures"
    )
    bench.add_option("--seed", type=int, default=1)
    if "--serve" in sys.argv:  # this is the process of the fake nodes (see soak.broken_nodes)
        from benchmarks._lib import soak

        soak.serve(seed=int(sys.argv[-1]))
        return 0
    options = bench.start(quick={"minutes": 0.1, "interval": 1.5})
    return measure(bench, options)


def measure(bench: Benchmark, options: argparse.Namespace) -> int:
    """Run the load, show the tables, and return the exit status.

    :param options: the command line's options.
    """
    from benchmarks._lib import soak
    from cassandra.engine.loop import new_event_loop

    rows: dict[str, dict[str, float]] = {}
    seconds = options.minutes * 60
    with (
        soak.broken_nodes(options.seed) as (port, addresses),
        bench.progress(round(seconds / options.interval)) as bar,
    ):
        # libuv opens a pipe with its first loop, and never closes the pipe. Create a loop before
        # file descriptors are counted, so that the pipe does not seem to be a leak.
        new_event_loop().close()
        before = soak.figures([])
        bar.step("load")

        def report_sample(after: float, sample: dict[str, float]) -> None:
            rows[f"{after:.1f} s"] = {**sample, "requests": sum(load.outcomes.values())}
            bar.step(f"{sum(load.outcomes.values()):,} requests, {sample['MiB']} MiB")

        load = soak.Soak(port, addresses, options.seed, seconds)
        samples = asyncio.run(soak.run(load, options.interval, report_sample))
        after = soak.figures([])
    bench.show_table("after", {"the start": before, **rows, "the end": after})
    outcomes = {name: {"count": float(count)} for name, count in load.outcomes.most_common()}
    bench.show_table("outcomes", outcomes)
    failures = load.faults[:5] + soak.verdict(samples, after, before)
    for failure in failures:
        bench.note(f"FAILED: {failure}")
    return bench.end() or int(bool(failures))


if __name__ == "__main__":
    sys.exit(main())
