"""The cost of ScyllaDB's shards and tablets for a request, and the memory of many tablets.

    python benchmarks/shards.py [--tablets N]

The driver connects to a fake ScyllaDB cluster. The script times the choice of a host and of a
connection for a request, without sending it. Figures are microseconds in the best of several
passes.
"""

from __future__ import annotations

import sys

from benchmarks._lib import peers
from benchmarks._lib.report import Benchmark

CHOICE_TARGET, LOOK_UP_TARGET, PAYLOAD_TARGET = 0.5, 0.5, 1.0  # at most, in microseconds
MEMORY_TARGET = 100.0  # the most megabytes for a million tablets


def main() -> int:
    bench = Benchmark(
        __doc__,
        "Choice of shards and tablets, us a request, and memory of tablets",
        duration_text="1 minute",
        quick_duration_text="5 s",
    )
    bench.add_option("--tablets", type=int, default=1_000_000)
    # In pure Python, adding a tablet takes longer the more tablets there are. So use only a few
    # there.
    options = bench.start(quick={"tablets": 100_000 if "c" in peers.lanes() else 5_000})
    peers.own_lanes(bench)
    from benchmarks._lib import shards  # not at the top, because it imports the driver

    with bench.progress(2) as bar:
        bar.step("choice of a host and a connection")
        figures, plain, with_payload = shards.measure_cluster()
        bar.step(f"{options.tablets:,} tablets")
        size, look_up, learn_time = shards.fill_tablet_map(options.tablets)
    rows = {
        f"choice, {name}": {
            how: figures[f"{keyspace}, {how}"] for how in ("without", "with shards")
        }
        for name, keyspace in (("vnodes", "vn"), ("tablets", "tb"))
    }
    ratios = {"with / without": {n: row["with shards"] / row["without"] for n, row in rows.items()}}
    bench.show_table("us a request", rows, ratios)
    us = {
        "an answer": plain,
        "an answer that tells a tablet": with_payload,
        "taking a tablet": learn_time,
        "look-up of a tablet": look_up,
        "MB of all tablets": size,
    }
    bench.show_table(f"us, {options.tablets:,} tablets", {name: {"": us[name]} for name in us})
    base = figures["vn, without"]
    for text, value, limit in (
        ("shards over none", figures["vn, with shards"] - base, CHOICE_TARGET),
        ("shards and tablets over none", figures["tb, with shards"] - base, CHOICE_TARGET),
        ("an answer with a payload over one without", with_payload - plain, PAYLOAD_TARGET),
        (f"look-up among {options.tablets:,} tablets", look_up, LOOK_UP_TARGET),
        (f"megabytes of {options.tablets:,} tablets", size, MEMORY_TARGET),
    ):
        bench.add_target(f"{text}: {value:.3f}, at most {limit:g}", value <= limit)
    return bench.end()


if __name__ == "__main__":
    sys.exit(main())
