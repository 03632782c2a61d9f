"""The client's cost of the object mapper, compared with other drivers on PyPI.

    python benchmarks/mapper.py

Each driver runs in a separate process, one after the other, against `_lib.null_server`. A figure is
the CPU microseconds of the client's process for one call in the best pass of all rounds, or the
bytes of memory of one instance that was read.
"""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks._lib import null_server, peers
from benchmarks._lib.report import Benchmark
from benchmarks._lib.tables import least_over

WORKER = Path(__file__).with_name("_lib") / "worker_mapper.py"

# `TARGET_PEER` must need at least this many times the CPU or memory of this driver.
TARGETS = {
    "Model.create": 4.0,
    "Model.objects.get": 4.0,
    "iteration over 5,000 rows, a row": 4.0,
    "bytes an instance": 2.0,
}
TARGET_PEER = "cassandra-driver"
# The other drivers' mappers have only blocking calls. So compare each of our awaited calls (the
# key) with a blocking call (the value). The blocking call costs more, because it has to switch to
# the event loop's thread and back.
AWAITED = {"acreate": "Model.create", "aget": "Model.objects.get"}

Rows = dict[str, dict[str, float]]


def rules() -> list[null_server.Rule]:
    """Return the null server's rules, which have the responses to the mappers' statements.

    The mappers of some drivers prepare statements; others send a query string with its values.
    """
    five, page = null_server.FIVE, null_server.PAGE
    one_row = null_server.rows(five[1:], [null_server.FIVE_VALUES[1:]])
    whole_row = null_server.rows(five, [null_server.FIVE_VALUES])
    many_rows = null_server.rows(page, [null_server.PAGE_VALUES] * 5000)
    limit = ("[limit]", null_server.type_option(null_server.INT))
    types = dict(five)
    # The statements that mappers prepare. The key is a part of the query string. The value is the
    # statement's id, the columns of its markers, the columns of its result, and the body of the
    # response to EXECUTE.
    prepared = {
        b"INSERT INTO bench.five": (b"mapper-insert", five, [], null_server.VOID),
        b"UPDATE bench.five": (
            b"mapper-update", [("c", types["c"]), ("a", types["a"])], [], null_server.VOID,
        ),
        b'SELECT "b", "c", "d", "e" FROM bench.five': (
            b"mapper-select", [five[0], limit], five[1:], one_row,
        ),
        b"SELECT * FROM bench.page": (b"mapper-page", [limit], page, many_rows),
    }  # fmt: skip
    # The responses to query strings that contain their values, from mappers that do not prepare.
    all_rules: list[null_server.Rule] = [
        (
            null_server.QUERY,
            b'SELECT "b", "c", "d", "e" FROM bench.five',
            null_server.RESULT,
            one_row,
        ),
        (null_server.QUERY, b"SELECT * FROM bench.five", null_server.RESULT, whole_row),
        (null_server.QUERY, b"SELECT * FROM bench.page", null_server.RESULT, many_rows),
    ]
    for text, (query_id, binds, results, answer) in prepared.items():
        prepared_body = null_server.prepared(query_id, binds, results)
        all_rules.append((null_server.PREPARE, text, null_server.RESULT, prepared_body))
        all_rules.append((null_server.EXECUTE, query_id, null_server.RESULT, answer))
    return all_rules


def measure(bench: Benchmark, drivers: list[str]) -> Rows:
    """Measure all drivers in several rounds; return the least figures, by case and driver."""
    rows: Rows = {}
    rounds = bench.options.rounds
    steps = bench.progress(rounds * len(drivers))
    with null_server.running(extra_rules=rules()) as (address, port), steps as bar:
        for _ in range(rounds):
            for driver in drivers:
                bar.step(driver)
                aio = [] if driver in peers.PEERS else ["aio"]
                measured = peers.run_any(driver, WORKER, [address, str(port), *aio])
                for case, figure in measured.items():
                    row = rows.setdefault(case, {})
                    row[driver] = min(row.get(driver, figure), figure)
    return rows


def main() -> int:
    bench = Benchmark(
        __doc__,
        "The object mapper, us of client CPU a call and bytes an instance",
        duration_text="90 s",
        quick_duration_text="6 s",
        with_peers=True,
    )
    bench.add_option("--rounds", type=int, default=3)
    bench.start(quick={"rounds": 1})
    bench.need_program("cc")  # to compile the null server
    drivers = [*peers.own_lanes(bench), *peers.prepare(bench)]
    rows = measure(bench, drivers)
    ours = drivers[0]
    ratios = least_over(rows, ours, peers.PEERS, AWAITED)
    bench.show_table("us of client CPU", rows, {"peer / ours": ratios})
    for case, target in TARGETS.items():
        theirs = rows.get(case, {}).get(TARGET_PEER)
        if theirs is not None:
            ratio = theirs / rows[case][ours]
            text = f"{case}: {ratio:.2f} times less than {TARGET_PEER}, at least {target:g}"
            bench.add_target(text, ratio >= target)
    return bench.end()


if __name__ == "__main__":
    sys.exit(main())
