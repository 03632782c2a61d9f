"""The instructions that a request takes in the client, counted by callgrind.

    python benchmarks/instructions.py [--pure] [--without PAIR] [--annotate 40] [CASE ...]
    python benchmarks/instructions.py --check
    python benchmarks/instructions.py --record "requests carry a deadline"

Unlike times, counts do not depend on how busy the machine is. The script counts the instructions of
a process that makes some requests, and of a process that makes three times as many. In the
difference, imports, connecting and preparing cancel out. The server is `_lib.null_server`, another
process, which is not counted. It sends the responses to all requests in flight in one write, so
that the client reads the same number of responses at once in every run. The script needs valgrind.
`cassandra.aio` runs on uvloop if that is installed.

``history/instructions.csv`` has the figures of the main branch. With ``--check`` the script exits
with 1 if a case needs over 2 % more instructions than its last record. Such a case is counted up to
three times, and its least count is compared, because the threads of a blocking case wait for each
other more often in some runs. If there is a good reason for the increase, append the new figures
and the reason with ``--record`` in the same commit.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from benchmarks._lib import history, null_server, peers
from benchmarks._lib.callgrind import count, counted_environment, run_worker
from benchmarks._lib.report import Benchmark
from benchmarks._lib.requirements import has, is_quick

WORKER = Path(__file__).with_name("_lib") / "worker_instructions.py"
FEW, MANY = 1, 3  # the worker's number of passes in a short run and in a long run
SIZES = (2_000, 200)  # the requests of one pass: usually, and with --quick
MOST_COUNTS = 3  # a case whose count has grown is counted so many times


class Case(NamedTuple):
    """One row of the table that this script prints.

    - `target`: the most instructions that a request may need with the compiled modules.
    - `requests_in_flight`: the number of requests in flight, which the server answers in one write.

    A case with one request in flight is not compared with its last record in the history: its count
    depends on how often the calling thread and the event loop's thread wait for each other, which
    differs between machines.
    """

    name: str
    what: str
    target: int | None
    requests_in_flight: int = 100


CASES = (
    Case("aio-insert", "aio: insert of five columns, 100 tasks awaiting", 25_000),
    Case("aio-select", "aio: select of one row as a named tuple, 100 tasks awaiting", 29_000),
    Case("aio-together", "aio: insert, 100 begun together", None),
    Case("aio-concurrent", "aio: insert, execute_concurrent", 22_000),
    Case("blocking-concurrent", "blocking: insert, execute_concurrent_with_args", 25_000),
    Case("blocking-select", "blocking: select of one row, execute_concurrent_with_args", 40_000),
    Case("blocking-insert", "blocking: insert, one at a time", None, requests_in_flight=1),
)


def per_request(few: int, many: int) -> float:
    """Return the instructions of one request, from the counts of a short run and a long run."""
    return (many - few) / ((MANY - FEW) * SIZES[is_quick()])


def least_count(count_once: Callable[[], float], recorded: int | None) -> float:
    """Count once, or up to MOST_COUNTS times while the count is much greater than its record.

    :param count_once: returns the instructions of one request.
    :param recorded: the last recorded count; None if there is nothing to compare with.
    :returns: the least count. More instructions of the code itself are in each count.
    """
    least = count_once()
    for _ in range(MOST_COUNTS - 1):
        if recorded is None or not history.grown(least, recorded):
            break
        least = min(least, count_once())
    return least


def instructions_by_function(report: str) -> dict[str, int]:
    """Parse the output of ``callgrind_annotate``; return the instructions by function."""
    counts: dict[str, int] = {}
    for line in report.splitlines():
        # For example: "1,234 (12.3%)  file.c:function'2 [library.so]".
        row = re.match(r"\s*([\d,]+)(?:\s+\([^)]*\))?\s+\S*?:(\S.*?)(?:\s+\[(.*)\])?$", line)
        if row is not None:
            name = row[2].partition("'")[0]  # leave out the depth of recursion, such as "'2"
            counts[name] = counts.get(name, 0) + int(row[1].replace(",", ""))
    return counts


def most_expensive_functions(few: Path, many: Path, limit: int) -> dict[str, dict[str, float]]:
    """Return the functions with the most instructions of a request, as rows of a table.

    :param few: callgrind's output file of the short run.
    :param many: callgrind's output file of the long run.
    :param limit: the number of functions.
    """
    counts = []
    for path in (few, many):
        command = ["callgrind_annotate", "--threshold=100", "--show=Ir", str(path)]
        counts.append(
            instructions_by_function(subprocess.run(command, capture_output=True, text=True).stdout)
        )
    rows = {name: per_request(counts[0].get(name, 0), total) for name, total in counts[1].items()}
    names = sorted(rows, key=rows.__getitem__, reverse=True)[:limit]
    return {name: {"instructions": rows[name]} for name in names}


def measure(
    bench: Benchmark, cases: list[Case], implementation: str
) -> dict[str, dict[str, float | None]]:
    """Count the instructions of a request in each case, and return them as rows of the table."""
    rows: dict[str, dict[str, float | None]] = {}
    column = "turbocql c" if implementation == "c" else "turbocql python"
    environment = counted_environment(implementation)
    recorded = (
        history.last(history.environment()) if bench.options.check and implementation == "c" else {}
    )
    progress = bench.progress(2 * len(cases))  # each case has an uncounted run, and counted runs
    with contextlib.ExitStack() as running:
        folder = running.enter_context(tempfile.TemporaryDirectory())
        bar = running.enter_context(progress)
        few, many = Path(folder, "few"), Path(folder, "many")
        for case in cases:
            server = running.enter_context(
                null_server.running(answers_per_write=case.requests_in_flight)
            )
            address = [server[0], str(server[1])]
            bar.step(f"{case.name}, not counted")
            # Run the worker once without counting, because the first process may have to write
            # bytecode files.
            run_worker(WORKER, [case.name, *address, str(FEW)], environment, Path(folder))

            def count_once(arguments: tuple[str, ...] = (case.name, *address)) -> float:
                counts = [
                    count(WORKER, [*arguments, str(passes)], environment, output_file)
                    for passes, output_file in ((FEW, few), (MANY, many))
                ]
                return per_request(*counts)

            bar.step(f"{case.name}, counted")
            is_compared = case.requests_in_flight > 1
            instructions = least_count(count_once, recorded.get(case.name) if is_compared else None)
            rows[case.what] = {column: instructions}
            if case.target is not None and implementation == "c":
                text = f"{case.what}: {instructions:,.0f}, at most {case.target:,}"
                bench.add_target(text, instructions <= case.target)
            if bench.options.annotate:
                bar.clear()
                bench.show_table(
                    case.what, most_expensive_functions(few, many, bench.options.annotate)
                )
    return rows


def compare(bench: Benchmark, rows: dict[str, dict[str, float | None]]) -> None:
    """Check that no count is much greater than its last record in the history file.

    With ``--check``, the benchmark fails if a count is much greater. With ``--record``, the counts
    are appended to the history file.
    """
    environment = history.environment()
    names = {case.what: case.name for case in CASES if case.requests_in_flight > 1}
    counts = {names[what]: row["turbocql c"] or 0.0 for what, row in rows.items() if what in names}
    recorded = history.last(environment)
    if not recorded:
        bench.note(f"no record of {environment}: nothing to compare with")
    for name in sorted(counts.keys() & recorded.keys()):
        change = counts[name] / recorded[name] - 1
        text = f"{name}: {counts[name]:,.0f}, {change:+.1%} of the record of {recorded[name]:,}"
        bench.add_target(text, not history.grown(counts[name], recorded[name]))
    if bench.options.record is not None:
        history.add(environment, counts, bench.options.record)
        bench.note(f"{len(counts)} figures appended to {history.FILE.name}")


def chosen_cases(bench: Benchmark) -> list[Case]:
    """Return the cases that the options name.

    If the options name no case, return all cases; with ``--check``, only the cases that are
    compared with a record; with ``--quick``, only the first case.
    """
    words = bench.options.cases
    if not words:
        cases = [case for case in CASES if case.requests_in_flight > 1 or not bench.options.check]
        return cases[: 1 if is_quick() else None]
    return [case for case in CASES if any(word in f"{case.name} {case.what}" for word in words)]


def main() -> int:
    bench = Benchmark(
        __doc__,
        "Instructions that a request takes in the client",
        duration_text="2 minutes",
        quick_duration_text="15 s",
    )
    bench.add_option("--pure", action="store_true", help="without the compiled modules")
    bench.add_option(
        "--without",
        default="",
        metavar="PAIR[,PAIR]",
        help="with the Python module of a pair of twins in place of the compiled one",
    )
    bench.add_option(
        "--annotate", type=int, default=0, metavar="N", help="the N functions that take most, too"
    )
    bench.add_option(
        "--record", metavar="WHY", help="append the figures to the history, with the reason"
    )
    bench.add_option("cases", nargs="*", metavar="CASE", help="words that the names hold")
    options = bench.start()
    if options.record is not None and (options.quick or options.pure or options.without):
        bench.parser.error("--record takes the figures of the whole compiled driver")
    bench.need_program("valgrind")
    bench.need_program("cc")  # to compile the null server
    if options.without:
        # Import `_impl` only here, so that the options can be checked without compiled modules.
        from cassandra._impl import TWINS

        if unknown_names := set(options.without.split(",")) - TWINS.keys():
            bench.parser.error(f"no pairs of twins: {', '.join(sorted(unknown_names))}")
        os.environ["TURBOCQL_BENCH_WITHOUT"] = options.without
        bench.note(f"pure Python serves for {options.without}")
    if not has("uvloop"):
        bench.note("on asyncio's own loop: uvloop is not installed (pip install uvloop)")
    lane = "python" if options.pure else peers.lanes()[0]
    rows = measure(bench, chosen_cases(bench), lane)
    bench.show_table("instructions a request", rows)
    if lane == "c" and not (options.without or is_quick()):
        compare(bench, rows)
    return bench.end()


if __name__ == "__main__":
    sys.exit(main())
