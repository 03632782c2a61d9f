"""The client's cost of LZ4 compression, compared with other drivers on PyPI.

    python benchmarks/compression.py [--no-peers]

Two `_lib.null_server` processes return the same rows; one process compresses its responses with
LZ4, as in protocol version 4. A figure is the CPU microseconds of the client's process for one
request, or for one row of a page, in the best pass of all rounds. The values of the page vary
(strings of a few words, random UUIDs, numbers and times), so that compression is realistic.
"""

from __future__ import annotations

import random
import struct
import sys
import uuid

from benchmarks._lib import null_server, peers
from benchmarks._lib.apis import Lane, measure, our_lanes, peer_lane
from benchmarks._lib.report import Benchmark
from benchmarks._lib.requirements import has
from benchmarks._lib.worker_requests import PAGE_ROWS

PAGE = "page of 5,000 rows"  # the name of a case in the worker
# In these cases, requests are so small that drivers do not compress them. The server compresses all
# responses.
CASES = [PAGE, "select of one row, 100 in flight", "insert, 100 in flight"]
# The API of each peer that is measured, by its name in the worker.
PEERS = {
    "scylla-driver": "blocking",
    "cassandra-driver": "blocking",
    "scylladb-rs-driver": "scylladb-rs",
}
EXTRA = ("numpy", "uvloop", "lz4")  # further packages in a peer's environment
MOST_FOR_A_PAGE = 1.3  # a compressed page may need at most this many times a plain page's CPU
_WORDS = ["a", "blue", "car", "drives", "early", "from", "green", "hills", "into", "our", "river"]


def varied_page() -> null_server.Rule:
    """Return the null server's rule for a page in which all rows have different values.

    Such a page compresses like a real page.
    """
    rng = random.Random(5)
    values = [
        [
            uuid.UUID(int=rng.getrandbits(128), version=4).bytes,
            " ".join(rng.choices(_WORDS, k=rng.randint(1, 6))).encode(),
            struct.pack(">i", rng.randrange(10_000)),
            struct.pack(">d", round(rng.uniform(0, 1000), 2)),
            struct.pack(">q", 1_700_000_000_000 + rng.randrange(10**9)),
        ]
        for _ in range(PAGE_ROWS)
    ]
    body = null_server.rows(null_server.PAGE, values)
    return null_server.EXECUTE, b"select-page", null_server.RESULT, body


def lanes_of(bench: Benchmark) -> list[Lane]:
    """Return the lanes: this driver's asyncio and blocking API, and one API of each peer.

    A lane is a driver and one of its APIs (see `_lib.apis`).
    """
    lanes = our_lanes()
    lanes = [lanes[0], *(lane for lane in lanes if lane.name == "blocking")]
    return lanes + [
        peer_lane(peer, peer, PEERS[peer], EXTRA)
        for peer in peers.prepare(bench, tuple(PEERS), EXTRA)
    ]


def main() -> int:
    bench = Benchmark(
        __doc__,
        "Requests with LZ4, us of client CPU",
        duration_text="7 minutes",
        quick_duration_text="10 s",
        with_peers=True,
    )
    bench.add_option("--rounds", type=int, default=2)
    bench.start(quick={"rounds": 1})
    bench.need_program("cc")  # to compile the null server
    if not has("lz4"):
        bench.stop("this benchmark needs lz4: pip install lz4")
    lanes = lanes_of(bench)
    extra_rules = [varied_page()]
    with (
        null_server.running(extra_rules=extra_rules) as (address, plain_port),
        null_server.running(extra_rules=extra_rules, lz4=True) as (_, lz4_port),
    ):
        all_lanes = []
        for lane in lanes:
            settings = {**lane.settings, "TURBOCQL_BENCH_COMPRESSION": "lz4"}
            all_lanes += [
                lane,
                lane._replace(name=f"{lane.name}, LZ4", settings=settings, port=lz4_port),
            ]
        best = measure(bench, all_lanes, address, plain_port, CASES)
    rows: dict[str, dict[str, float]] = {}
    for lane in lanes:
        compressed = best[f"{lane.name}, LZ4"]
        for case, measured in best[lane.name].items():
            row = rows[f"{case} ({lane.name})"] = {"plain": measured["us"]}
            if case in compressed:
                row["LZ4"] = compressed[case]["us"]
    ratios = {case: row["LZ4"] / row["plain"] for case, row in rows.items() if "LZ4" in row}
    bench.show_table("us of client CPU", rows, {"LZ4 / plain": ratios})
    for lane in lanes[:2]:  # the lanes of this driver
        for case, ratio in ratios.items():
            if case.startswith(PAGE) and case.endswith(f"({lane.name})"):
                bench.add_target(
                    f"{case}: LZ4 / plain {ratio:.2f} (most {MOST_FOR_A_PAGE})",
                    ratio <= MOST_FOR_A_PAGE,
                )
    return bench.end()


if __name__ == "__main__":
    sys.exit(main())
