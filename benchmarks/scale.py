"""How cost grows with the number of nodes, connections, tables, sessions, statements and threads.

    python benchmarks/scale.py [--only nodes] [--most 1000] [--idle 35]

Each size is measured in a new process against `_lib.null_server`, which listens on one address of
127.0.0.0/8 for each node. The figures are:

- the wall time of `connect`, the wall time until every pool is open, and the client CPU of both
- the CPU of a blocking insert, one at a time and with 100 in flight
- the memory that is used in addition to the memory after the import
- the CPU of the idle process as a share of one processor
- the wall time of `shutdown`

After that, the script measures the time until a client notices that a node is gone, with fake nodes
(`cassandra.testing.fake`).

The driver writes all waiting frames of a connection in one system call. With more nodes, fewer of
the requests in flight share a connection: with 1,000 nodes and 100 in flight, each request needs
separate system calls.

``--check`` exits with 1 if a target is missed. With the largest number of nodes, a request may cost
at most 10 % more than with three, and an idle client may use at most 0.5 % of a processor. The CPU
time of connecting may grow at most in proportion to the nodes.
"""

from __future__ import annotations

import itertools
import json
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks._lib import null_server, peers
from benchmarks._lib.null_server import (
    INET,
    QUERY,
    RESULT,
    SET_OF_TEXT,
    TEXT,
    UUID,
    Rule,
    rows,
    string,
    type_option,
)  # fmt: skip
from benchmarks._lib.report import Benchmark

WORKER = Path(__file__).with_name("_lib") / "worker_scale.py"
# The usual settings (see worker_scale.py). Each measurement changes one of them.
USUAL = {"nodes": 3, "connections": 1, "sessions": 1, "prepared": 1, "threads": 1,
         "requests": 20_000, "idle": 0.0, "tables": 0}  # fmt: skip
SIZES = {
    "nodes": [1, 3, 10, 100, 1000],
    "connections": [1, 8, 64],
    "tables": [10, 1000, 10_000],
    "sessions": [1, 20, 200],
    "prepared": [1000, 100_000, 1_000_000],
    "threads": [1, 8, 64],
}
QUICK_SIZES = {
    "nodes": [1, 3, 10],
    "connections": [1, 8],
    "tables": [10],
    "sessions": [1, 20],
    "prepared": [1000],
    "threads": [1, 8],
}
SHOWN = [
    "connect ms", "all open ms", "CPU ms", "alone us", "request us", "prepare us", "MiB", "idle %",
    "shutdown ms",
]  # fmt: skip
TOKENS = 16  # the number of tokens of each node
PATIENCE = 60.0  # the seconds within which the client must notice that a node is gone
PROPORTION = 1.5  # connecting to ten times as many nodes may take at most 15 times the CPU


def address_of(node: int) -> bytes:
    """Return the encoded address of a node: 127.0.0.1 for node 0, 127.0.0.2 for node 1, ..."""
    return bytes([127, 0, (node + 1) >> 8, (node + 1) & 0xFF])


def tokens_of(node: int, nodes: int) -> bytes:
    """Return a node's tokens, as an encoded set<text>.

    The tokens of all nodes together divide the ring into equal ranges.
    """
    step = (1 << 64) // (nodes * TOKENS)
    texts = [str(-(1 << 63) + (node + nodes * turn) * step) for turn in range(TOKENS)]
    body = len(texts).to_bytes(4, "big")
    return body + b"".join(len(text).to_bytes(4, "big") + text.encode() for text in texts)


def peers_rule(nodes: int) -> Rule:
    """Return the rule that answers a query of system.peers with all nodes except the first."""
    columns = [
        ("peer", type_option(INET)), ("rpc_address", type_option(INET)),
        ("host_id", type_option(UUID)), ("data_center", type_option(TEXT)),
        ("rack", type_option(TEXT)), ("release_version", type_option(TEXT)),
        ("schema_version", type_option(UUID)), ("tokens", SET_OF_TEXT),
    ]  # fmt: skip
    values = [
        [address_of(node), address_of(node), uuid.UUID(int=node + 100).bytes, b"dc1", b"r1",
         b"4.0.0", uuid.UUID(int=2).bytes, tokens_of(node, nodes)]
        for node in range(1, nodes)
    ]  # fmt: skip
    return (QUERY, b"system.peers", RESULT, rows(columns, values, "system"))


def rules(settings: dict[str, Any]) -> list[Rule]:
    """Return the server's rules for the nodes and tables of `settings`."""
    # Cassandra before 4.0 has no table peers_v2. Answer queries of this table with the error
    # INVALID (0x2200), as such a node does.
    peers_v2: Rule = (QUERY, b"system.peers_v2", 0, (0x2200).to_bytes(4, "big") + string("none"))
    schema = []
    if settings["tables"]:
        # Import this module only here: it imports the driver, and `start` first reports if the
        # driver is missing.
        from benchmarks._lib import schema_tables

        schema = schema_tables.rules(settings["tables"])
    return [peers_v2, peers_rule(settings["nodes"]), *schema]


def measure_size(settings: dict[str, Any]) -> dict[str, float]:
    """Measure one size in a new process, and return its figures."""
    address = "0.0.0.0" if settings["nodes"] > 1 else "127.0.0.1"
    with null_server.running(address, rules(settings)) as (_, port):
        figures: dict[str, float] = peers.run_ours(
            peers.lanes()[0], WORKER, ["127.0.0.1", str(port), json.dumps(settings)]
        )
    return figures


def times_until_noticed(nodes: int) -> Iterator[tuple[str, float]]:
    """Measure how long the client takes to notice that a node is gone, in two situations.

    The client has noticed when it has closed its connections to the node. First a node stops, which
    closes its connections; then another node only stops answering.

    :returns: an iterator of ("closes", milliseconds) and ("is silent", milliseconds).
    """
    from cassandra.cluster import Cluster
    from cassandra.testing.fake import FakeCluster

    with FakeCluster(nodes) as fake:
        cluster = Cluster(fake.contact_points, port=fake.port, idle_heartbeat_interval=1,
                          idle_heartbeat_timeout=1)  # fmt: skip
        with cluster:
            session = cluster.connect(wait_for_all_pools=True)
            for ending, node in (("closes", fake.nodes[-1]), ("is silent", fake.nodes[-2])):
                began = time.perf_counter()
                node.stop() if ending == "closes" else node.pause()
                while any(
                    pool.in_flight or pool.connections
                    for pool in session.get_pools()
                    if pool.host.address == node.address
                ):
                    if time.perf_counter() - began > PATIENCE:
                        raise TimeoutError(f"a node that {ending} was not noticed")
                    time.sleep(0.001)
                yield ending, (time.perf_counter() - began) * 1000


def judge(bench: Benchmark, figures: dict[int, dict[str, float]]) -> None:
    """Check the figures against the targets in the module's docstring.

    With ``--check``, the benchmark fails if a target is missed.

    :param figures: the figures by number of nodes.
    """
    largest = max(figures)
    if 3 not in figures or largest <= 3:
        return
    ratio = figures[largest]["alone us"] / figures[3]["alone us"]
    bench.add_target(
        f"a request with {largest} nodes costs {ratio:.2f} times one with 3", ratio <= 1.1
    )
    idle = figures[largest].get("idle %", 0.0)
    bench.add_target(
        f"an idle client of {largest} nodes takes {idle:.2f} % of a processor", idle <= 0.5
    )
    # Compare each number of nodes with the next larger one. Leave out the two smallest numbers.
    for fewer, more in itertools.pairwise(sorted(figures)[2:]):
        growth = figures[more]["CPU ms"] / figures[fewer]["CPU ms"]
        text = f"connecting to {more} nodes costs {growth:.1f} times as much as to {fewer}"
        bench.add_target(text, growth <= PROPORTION * more / fewer)


def sizes_of(bench: Benchmark) -> dict[str, list[int]]:
    """Return the sizes to measure, by the name of the setting that grows ("nodes", for example)."""
    options = bench.options
    return {
        name: [size for size in sizes if size <= options.most]
        for name, sizes in (QUICK_SIZES if options.quick else SIZES).items()
        if options.only in (None, name)
    }


def measure_sizes(bench: Benchmark) -> None:
    """For each setting that grows, measure all of its sizes and show a table."""
    sizes_by_name = sizes_of(bench)
    requests = {"requests": 2_000} if bench.options.quick else {}
    with bench.progress(sum(map(len, sizes_by_name.values()))) as bar:
        # Only the setting `name` grows; all other settings have their usual values.
        for name, sizes in sizes_by_name.items():
            by_size = {}
            for size in sizes:
                bar.step(f"{size:,} {name}")
                idle = bench.options.idle if name == "nodes" else 0.0
                by_size[size] = measure_size({**USUAL, **requests, "idle": idle, name: size})
            bar.clear()
            rows = {
                f"{size:,}": {figure: figures[figure] for figure in SHOWN if figure in figures}
                for size, figures in by_size.items()
            }
            bench.show_table(name, rows)
            if name == "nodes":
                judge(bench, by_size)


def measure_noticing(bench: Benchmark) -> None:
    """Measure and show the time until the client notices that a node is gone."""
    rows: dict[str, dict[str, float]] = {}
    counts = (3,) if bench.options.quick else (3, 100)
    with bench.progress(len(counts)) as bar:
        for nodes in counts:
            bar.step(f"noticing that one of {nodes} nodes is gone")
            for ending, milliseconds in times_until_noticed(nodes):
                rows.setdefault(f"a node {ending}", {})[f"{nodes} nodes"] = milliseconds
    bench.show_table("ms until it is noticed (heartbeats each second, awaited for one)", rows)


def main() -> int:
    bench = Benchmark(
        __doc__,
        "Costs that grow with nodes, connections, tables, sessions, statements, threads",
        duration_text="12 minutes",
        quick_duration_text="15 s",
    )
    bench.add_option("--only", choices=[*SIZES, "noticing"])
    bench.add_option("--most", type=int, default=1_000_000, help="leave larger sizes out")
    bench.add_option(
        "--idle",
        type=float,
        default=65.0,
        help="seconds to watch idle clients, of which each 60 have a heartbeat",
    )
    options = bench.start(quick={"idle": 0.0})
    bench.need_program("cc")  # to compile the null server
    measure_sizes(bench)
    if options.only in (None, "noticing"):
        measure_noticing(bench)
    return bench.end()


if __name__ == "__main__":
    sys.exit(main())
