"""What the object mapper costs the client, beside the drivers on PyPI (``python -m
benchmarks.mapper``).

All of them talk to `_lib.null_server`, in processes of their own and in turns. Figures are
microseconds of CPU of the client's process a call, the best pass of all rounds; for memory they are
bytes an instance that was read.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # started by its path

from benchmarks._lib import null_server, peers

WORKER = Path(__file__).with_name("_lib") / "worker_mapper.py"

# How many times cheaper than cassandra-driver each is to be.
TARGETS = {
    "Model.create": 4.0,
    "Model.objects.get": 4.0,
    "iteration over 5,000 rows, a row": 4.0,
    "bytes an instance": 2.0,
}
PEER = "cassandra-driver"
# What a blocking call costs beside the mapper is mostly the way to the loop's thread and back,
# which awaited ones do not go.
AWAITED = {"acreate": "Model.create", "aget": "Model.objects.get"}

Figures = dict[str, float]


def rules() -> list[null_server.Rule]:
    """Answers for the statements of mappers: prepared ones, and texts with their values in them."""
    five, page = null_server.FIVE, null_server.PAGE
    one_row = null_server.rows(five[1:], [null_server.FIVE_VALUES[1:]])
    whole_row = null_server.rows(five, [null_server.FIVE_VALUES])
    many_rows = null_server.rows(page, [null_server.PAGE_VALUES] * 5000)
    limit = ("[limit]", null_server.kind(null_server.INT))
    names = dict(five)
    prepared = {
        b"INSERT INTO bench.five": (b"mapper-insert", five, [], null_server.VOID),
        b"UPDATE bench.five": (
            b"mapper-update", [("c", names["c"]), ("a", names["a"])], [], null_server.VOID,
        ),
        b'SELECT "b", "c", "d", "e" FROM bench.five': (
            b"mapper-select", [five[0], limit], five[1:], one_row,
        ),
        b"SELECT * FROM bench.page": (b"mapper-page", [limit], page, many_rows),
    }  # fmt: skip
    found: list[null_server.Rule] = [
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
        made = null_server.prepared(query_id, binds, results)
        found.append((null_server.PREPARE, text, null_server.RESULT, made))
        found.append((null_server.EXECUTE, query_id, null_server.RESULT, answer))
    return found


def measured(lane: str, address: str, port: int) -> Figures:
    """The figures of one run of a lane: "c" and "python" are this tree's."""
    arguments = [address, str(port)]
    if lane in peers.PEERS:
        figures: Figures = peers.run_peer(lane, WORKER, arguments)
    else:
        figures = peers.run_ours(lane, WORKER, [*arguments, "aio"])
    return figures


def show(best: dict[str, Figures]) -> None:
    lanes = list(best)
    print("".ljust(44) + "".join(lane.rjust(18) for lane in lanes))
    for case in dict.fromkeys(case for figures in best.values() for case in figures):
        cells = (best[lane].get(case) for lane in lanes)
        print(case.ljust(44) + "".join(("-" if c is None else f"{c:.2f}").rjust(18) for c in cells))


def judge(best: dict[str, Figures]) -> None:
    print()
    for case, target in TARGETS.items():
        ours, theirs = best["c"].get(case), best.get(PEER, {}).get(case)
        if ours is None or theirs is None:
            continue
        ratio = theirs / ours
        verdict = "met" if ratio >= target else "MISSED"
        print(f"{case}: {ratio:.2f} times less than {PEER}, target {target:g}: {verdict}")
    for case, blocking in AWAITED.items():
        ours, theirs = best["c"].get(case), best.get(PEER, {}).get(blocking)
        if ours is not None and theirs is not None:
            print(f"{case}: {theirs / ours:.2f} times less than {blocking} of {PEER}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--no-peers", action="store_true", help="this tree alone")
    options = parser.parse_args()
    lanes = ["c", "python", *(() if options.no_peers else peers.PEERS)]
    best: dict[str, Figures] = {lane: {} for lane in lanes}
    with null_server.running(first=rules()) as (address, port):
        for _ in range(options.rounds):
            for lane in lanes:
                try:
                    figures = measured(lane, address, port)
                except subprocess.CalledProcessError as error:
                    print(f"{lane} failed: {error}", file=sys.stderr)
                    continue
                for case, figure in figures.items():
                    best[lane][case] = min(best[lane].get(case, figure), figure)
    show(best)
    judge(best)


if __name__ == "__main__":
    main()
