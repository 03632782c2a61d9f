"""Codecs beside other drivers and beside bare C.

    python benchmarks/codecs.py [--json FILE] [--no-peers]

Each driver runs the same cases in a process of its own (worker_codecs.py), one after the other,
twice; the least time of each counts. The floor is a loop in C that swaps the bytes of 768 floats,
compiled plainly and for AVX2. The same cases run under pytest-benchmark: ``pytest
benchmarks/codecs.py``.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # by its path, from anywhere

from benchmarks._lib import peers
from benchmarks._lib.requirements import need
from benchmarks._lib.tables import show_table

need("geomet", "numpy", "pytest")

import pytest  # noqa: E402

from benchmarks._lib import worker_codecs  # noqa: E402

SCRIPT = Path(worker_codecs.__file__).resolve()
PASSES = 2

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
    """Return the ns that bare C takes to swap the bytes of 768 floats.

    None without a compiler, or on another processor.
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
    """Return one result of several passes."""
    merged = results[0]
    for other in results[1:]:
        for name, times in other["cases"].items():
            merged["cases"][name] = [
                min((time for time in pair if time is not None), default=None)
                for pair in zip(merged["cases"][name], times, strict=True)
            ]
    return merged


def measure(with_peers: bool) -> dict[str, Any]:
    """Return every driver's result by its name, and the floors."""
    runs: dict[str, list[dict[str, Any]]] = {}
    for _ in range(PASSES):
        for lane in ("python", "c"):
            runs.setdefault(f"turbocql {lane}", []).append(peers.run_ours(lane, SCRIPT))
        for peer in peers.PEERS if with_peers else ():
            runs.setdefault(peer, []).append(peers.run_peer(peer, SCRIPT))
    plain, wide = floor(), floor("-mavx2")
    return {
        "drivers": {name: least(results) for name, results in runs.items()},
        "floor": plain,
        "floor_avx2": wide,
    }


def targets(floor_ns: float) -> dict[str, tuple[float | None, float | None]]:
    """Return each case's targets in ns. -1 in the cases stands for three floors and 150 ns."""
    found: dict[str, tuple[float | None, float | None]] = {
        name: (3 * floor_ns + 150 if writing == -1 else writing, reading)
        for name, _, _, writing, reading in worker_codecs.cases()
    }
    for form in ("array.array", "NumPy"):
        found[f"vector<float,768> read as {form}"] = (None, 3 * floor_ns + 250)
    return found


def rows(result: dict[str, Any]) -> list[list[str]]:
    """Return the table: case, each driver's time, the ratio, the target and if it is met.

    The ratio is the fastest peer's time over ours, compiled.
    """
    drivers = list(result["drivers"])
    wanted = targets(result["floor_avx2"] or result["floor"] or 0)
    table = [["case", "", *drivers, "peer / ours", "target", ""]]
    for name, ours in result["drivers"]["turbocql c"]["cases"].items():
        for at, what in enumerate(("write", "read")):
            if ours[at] is None:
                continue
            times = [
                result["drivers"][driver]["cases"].get(name, [None, None])[at] for driver in drivers
            ]
            others = [
                time
                for driver, time in zip(drivers, times, strict=True)
                if driver in peers.PEERS and time
            ]
            target = wanted.get(name, (None, None))[at]
            table.append(
                [
                    name,
                    what,
                    *["-" if time is None else f"{time:,.0f}" for time in times],
                    f"{min(others) / ours[at]:.1f}" if others else "-",
                    "-" if target is None else f"{target:,.0f}",
                    "" if target is None else "met" if ours[at] <= target else "MISSED",
                ]
            )
    return table


def main() -> None:
    """Measure, print the table, write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--json", type=Path, default=peers.cache() / "codecs.json", help="where the JSON goes"
    )
    parser.add_argument("--no-peers", action="store_true", help="leave the other drivers out")
    arguments = parser.parse_args()
    result = measure(not arguments.no_peers)
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    arguments.json.write_text(json.dumps(result, indent=1))
    show_table(rows(result), names=2)
    print(
        f"\nns per call, least of {PASSES} runs of {worker_codecs.REPEATS} repeats. "
        f"768 floats swapped by bare C: {result['floor']} ns, "
        f"with AVX2 {result['floor_avx2']} ns."
    )
    print({name: driver["version"] for name, driver in result["drivers"].items()})
    print(f"written to {arguments.json}", file=sys.stderr)


@pytest.mark.parametrize("name", [case[0] for case in worker_codecs.cases()])
@pytest.mark.parametrize("what", ["write", "read"])
def test_codec(benchmark: Any, name: str, what: str) -> None:
    """Run one case under pytest-benchmark, in the lane in use."""
    cqltype, value = next((case[1], case[2]) for case in worker_codecs.cases() if case[0] == name)
    write, read = worker_codecs.coding(cqltype)
    if what == "write":
        benchmark(write, value)
    else:
        benchmark(read, write(value))


if __name__ == "__main__":
    main()
