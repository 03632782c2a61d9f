"""Counts the instructions of small functions, and of the least code for the same work (the floor).

    python benchmarks/small_things.py [--pure] [CASE ...]

As in `benchmarks.instructions`, callgrind counts the instructions of a process that makes few calls
and of a process that makes more calls. A figure is the difference divided by the number of
additional calls, so it does not depend on how busy the machine is. The script needs valgrind. The
functions and their floors:

* ``send_body`` and ``decode_message`` of messages: the engine's internal functions.
* Decoding a page of short strings: ``bytes.decode`` of each string.
* Decoding a page to dicts: ``dict(zip(names, row))`` of decoded rows, and decoding to tuples.
* The first named tuple class for a list of columns: ``collections.namedtuple``.
* The columns of a row as attributes: the attributes of a ``collections.namedtuple``.
"""

from __future__ import annotations

import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from benchmarks._lib import peers
from benchmarks._lib.callgrind import count, counted_environment, run_worker
from benchmarks._lib.report import Benchmark

WORKER = Path(__file__).with_name("_lib") / "worker_small_things.py"
FEW = 100  # number of calls in the shorter run
SIDES = ("ours", "floor")  # the columns of the table


class Case(NamedTuple):
    """One row of the table.

    - `what`: a description of the function.
    - `beside`: a description of its floor.
    - `max_ratio`: the function may need at most this many times the instructions of the floor.
    - `calls`: how many more calls the longer run makes than the shorter run.
    """

    name: str
    what: str
    beside: str
    max_ratio: float
    calls: int = 500


CASES = (
    Case("execute", "send_body, EXECUTE of 12 values", "execute_body", 2.0),
    Case("query", "send_body, QUERY", "query_body", 2.0),
    Case("batch", "send_body, BATCH of 10 x 12 values", "batch_body", 2.0),
    Case("prepare", "send_body, PREPARE", "prepare_body", 2.0),
    Case("void", "decode_message, VOID", "decode_response", 2.0),
    Case("known-rows", "decode_message, ROWS with known columns", "decode_response", 2.0),
    Case("unknown-rows", "decode_message, ROWS with new columns", "decode_response", 2.0),
    Case("set-keyspace", "decode_message, SET_KEYSPACE", "decode_response", 2.0),
    Case("error", "decode_message, ERROR", "decode_response", 2.0),
    Case("texts", "100 rows of 5 texts, tuples", "bytes.decode of each", 1.0, 50),
    Case("few-texts", "1 row of 3 texts, tuple", "bytes.decode of each", 1.0),
    Case("dicts", "100 rows of 5 texts, dicts", "decode, dict(zip())", 0.5, 50),
    Case("wide-dicts", "100 rows of 20 texts, dicts", "decode, dict(zip())", 0.6, 20),
    Case("dicts-tuples", "100 rows of 5 texts, dicts", "tuples", 2.0, 50),
    Case("dict-factory", "dict_factory of 100 rows of 5", "dict(zip()) of each", 0.5, 50),
    Case("first-named-tuple", "first named tuple of a shape", "namedtuple", 1.2, 300),
    Case("again-named-tuple", "named tuple of a known shape, new plan", "tuple, new plan", 2.0),
    Case("row-attributes", "20 x 5 columns of a row", "namedtuple", 1.25),
)


def per_call(case: Case, side: str, environment: dict[str, str], folder: Path) -> float:
    """Return the instructions of one call of the function ("ours") or of its floor ("floor").

    :param side: "ours" or "floor".
    :param environment: the environment variables of the worker.
    :param folder: the folder for callgrind's files.
    """

    def arguments(calls: int) -> list[str]:
        return [case.name, side, str(calls)]

    # Run the worker once without counting, because the first process may have to write bytecode
    # files.
    run_worker(WORKER, arguments(1), environment, folder)

    def count_instructions(calls: int) -> int:
        return count(WORKER, arguments(calls), environment, folder / f"{side}-{calls}")

    # Count both runs at the same time: a busy machine does not change the counts.
    with ThreadPoolExecutor(2) as pool:
        few, many = pool.map(count_instructions, (FEW, FEW + case.calls))
    return (many - few) / case.calls


def measure(bench: Benchmark, cases: list[Case], lane: str) -> dict[str, dict[str, float]]:
    """Count all cases, and return the rows of the table.

    :param lane: "c" or "python".
    """
    rows: dict[str, dict[str, float]] = {}
    environment = counted_environment(lane)
    steps = bench.progress(len(cases) * len(SIDES))
    with tempfile.TemporaryDirectory() as folder, steps as bar:
        for case in cases:
            row = rows[f"{case.what} (beside: {case.beside})"] = {}
            for side in SIDES:
                bar.step(f"{case.name}, {side}")
                row[side] = per_call(case, side, environment, Path(folder))
            if lane == "c":
                ratio = row["ours"] / row["floor"]
                text = f"{case.what}: {ratio:.2f} times {case.beside}, at most {case.max_ratio:g}"
                bench.add_target(text, ratio <= case.max_ratio)
    return rows


def main(arguments: list[str] | None = None) -> int:
    bench = Benchmark(
        __doc__,
        "Instructions of small calls, beside the least that they can take",
        duration_text="3 minutes",
        quick_duration_text="15 s",
    )
    bench.add_option("--pure", action="store_true", help="without the compiled modules")
    bench.add_option("cases", nargs="*", metavar="CASE", help="words that the names hold")
    options = bench.start(arguments)
    bench.need_program("valgrind")
    lane = "python" if options.pure else peers.lanes()[0]
    words = options.cases or ([case.name for case in CASES[:1]] if options.quick else [""])
    cases = [case for case in CASES if any(word in case.name for word in words)]
    rows = measure(bench, cases, lane)
    ratios: dict[str, dict[str, float | None]] = {
        "ours / floor": {case: row["ours"] / row["floor"] for case, row in rows.items()}
    }
    bench.show_table("instructions a call", rows, ratios)
    return bench.end()


if __name__ == "__main__":
    sys.exit(main())
