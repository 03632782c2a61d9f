"""Times of encoding and decoding values, compared with other drivers and with bare C.

    python benchmarks/codecs.py [--no-peers]

Each driver runs the same cases in a separate process (worker_codecs.py), one driver after the
other, twice; the least time of each case counts. The floor, which no driver can beat, is a loop in
C that swaps the bytes of 768 floats. It is compiled once without options and once for AVX2. The
same cases run under pytest-benchmark: ``pytest benchmarks/codecs.py``.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks._lib import peers
from benchmarks._lib.report import Benchmark
from benchmarks._lib.tables import least_over

SCRIPT = Path(__file__).resolve().parent / "_lib" / "worker_codecs.py"
WAYS = ("write", "read")

FLOOR = r"""
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
static uint32_t from[768], to[768];
__attribute__((noinline)) static void swap(uint32_t *t, const uint32_t *f) {
    for (int i = 0; i < 768; i++) t[i] = __builtin_bswap32(f[i]);
    __asm__ volatile("" ::: "memory");
}
int main(void) {
    double best = 1e9;
    for (int r = 0; r < 200; r++) {
        struct timespec a, b;
        clock_gettime(CLOCK_MONOTONIC, &a);
        for (int i = 0; i < 1000; i++) swap(to, from);
        clock_gettime(CLOCK_MONOTONIC, &b);
        double ns = ((b.tv_sec - a.tv_sec) * 1e9 + (b.tv_nsec - a.tv_nsec)) / 1000;
        if (ns < best) best = ns;
    }
    printf("%.1f\n", best);
    return 0;
}
"""


def floor(*flags: str) -> float | None:
    """Return the nanoseconds that C takes to swap the bytes of 768 floats.

    Return None if there is no compiler, or if the processor does not support `flags`.
    """
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return None
    with tempfile.TemporaryDirectory() as directory:
        source, program = Path(directory) / "floor.c", Path(directory) / "floor"
        source.write_text(FLOOR)
        try:
            subprocess.run(
                [compiler, "-O3", *flags, str(source), "-o", str(program)],
                check=True,
                capture_output=True,
            )
            return float(
                subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout
            )
        except (subprocess.CalledProcessError, OSError):
            return None


def least(results: list[dict[str, Any]]) -> dict[str, Any]:
    """Merge the results of several passes of one driver: keep the least time of each case."""
    merged = results[0]
    for other in results[1:]:
        for name, times in other["cases"].items():
            # None means that the driver cannot encode or decode the values of this case.
            merged["cases"][name] = [
                min((time for time in passes if time is not None), default=None)
                for passes in zip(merged["cases"][name], times, strict=True)
            ]
    return merged


def measure(bench: Benchmark, drivers: list[str]) -> dict[str, dict[str, Any]]:
    """Return the least times of all passes, by driver and case, as [writing, reading]."""
    runs: dict[str, list[dict[str, Any]]] = {driver: [] for driver in drivers}
    passes = bench.options.passes
    with bench.progress(passes * len(drivers)) as bar:
        for _ in range(passes):
            for driver in drivers:
                bar.step(driver)
                runs[driver].append(peers.run_any(driver, SCRIPT))
    return {name: least(results)["cases"] for name, results in runs.items()}


def targets(floor_ns: float) -> dict[str, tuple[float | None, float | None]]:
    """Return each case's targets (writing, reading) in nanoseconds.

    Where `worker_codecs.cases` has -1, the target is three times the floor plus 150 ns. None means
    that there is no target.

    :param floor_ns: the nanoseconds that C takes (see `floor`).
    """
    from benchmarks._lib import worker_codecs  # not at the top, because it imports the driver

    limits: dict[str, tuple[float | None, float | None]] = {
        name: (3 * floor_ns + 150 if writing == -1 else writing, reading)
        for name, _, _, writing, reading in worker_codecs.cases()
    }
    for form in ("array.array", "NumPy"):
        limits[f"vector<float,768> read as {form}"] = (None, 3 * floor_ns + 250)
    return limits


def by_case(measured: dict[str, dict[str, Any]]) -> dict[str, dict[str, float | None]]:
    """Convert times by driver and case into the rows of a table.

    Each case has two rows, "CASE, write" and "CASE, read". Each row has a figure for each driver.
    """
    our_cases = next(iter(measured.values()))  # our driver is the first
    return {
        f"{name}, {way}": {
            driver: cases.get(name, [None, None])[index] for driver, cases in measured.items()
        }
        for name, our_times in our_cases.items()
        for index, way in enumerate(WAYS)
        if our_times[index] is not None
    }


def judge(bench: Benchmark, rows: dict[str, dict[str, float | None]], floor_ns: float) -> None:
    """Check the times of the compiled modules against the targets, and record each result.

    With ``--check``, the benchmark fails if a target is missed.

    :param rows: the nanoseconds, by case and driver.
    :param floor_ns: the nanoseconds that C takes (see `floor`).
    """
    for name, limits in targets(floor_ns).items():
        for way, target in zip(WAYS, limits, strict=True):
            took = rows.get(f"{name}, {way}", {}).get("turbocql c")
            if took is not None and target is not None:
                bench.add_target(
                    f"{name}, {way}: {took:,.0f} ns, at most {target:,.0f}", took <= target
                )


def main() -> int:
    bench = Benchmark(
        __doc__,
        "Values of each type to bytes and back, ns a value",
        duration_text="1 minute",
        quick_duration_text="5 s",
        with_peers=True,
    )
    bench.add_option("--passes", type=int, default=2, help="the least of so many counts")
    bench.start(quick={"passes": 1})
    drivers = [*peers.own_lanes(bench), *peers.prepare(bench)]
    rows = by_case(measure(bench, drivers))
    bench.show_table("ns a value", rows, {"peer / ours": least_over(rows, drivers[0], peers.PEERS)})
    # The targets of vectors are multiples of the time of a loop in C, so measure this time first.
    plain_ns, avx2_ns = floor(), floor("-mavx2")
    if plain_ns is not None:
        avx2_text = "" if avx2_ns is None else f", with AVX2 {avx2_ns} ns"
        bench.note(f"768 floats swapped by bare C: {plain_ns} ns{avx2_text}")
        judge(bench, rows, avx2_ns or plain_ns)
    return bench.end()


def pytest_generate_tests(metafunc: Any) -> None:
    """Create a test for each case. pytest calls this function when it runs this file."""
    from benchmarks._lib import worker_codecs

    metafunc.parametrize("name", [case[0] for case in worker_codecs.cases()])
    metafunc.parametrize("what", WAYS)


def test_codec(benchmark: Any, name: str, what: str) -> None:
    """Run one case under pytest-benchmark, with the implementation that is in use."""
    from benchmarks._lib import worker_codecs

    case_by_name = {case[0]: case for case in worker_codecs.cases()}
    _, cqltype, value, _, _ = case_by_name[name]
    write, read = worker_codecs.coding(cqltype)
    if what == "write":
        benchmark(write, value)
    else:
        benchmark(read, write(value))


if __name__ == "__main__":
    sys.exit(main())
