"""Times of decoding a page of 5,000 rows and a page of one row, compared with other drivers.

    python benchmarks/rows.py

"engine" columns time the internal functions that this driver's engine calls. "api" columns time the
message classes that all measured drivers have. "pure" columns are of drivers without their compiled
modules.
"""

from __future__ import annotations

import sys

from benchmarks._lib.peers_messages import compare
from benchmarks._lib.report import Benchmark

# The most nanoseconds that the compiled modules may take, by case. TARGETS is for the functions of
# the engine, and API_TARGETS for the public classes.
TARGETS = {
    "page 5000 x 5, tuples": 2_200_000.0,
    "1 x 3, named tuple": 1_500.0,
    "1 x 3, named tuple, metadata skipped": 1_500.0,
}
API_TARGETS = {
    "1 x 3, named tuple": 2_500.0,
    "1 x 3, named tuple, metadata skipped": 1_500.0,
}


def main() -> int:
    bench = Benchmark(
        __doc__,
        "Decoding of a page of rows and of one row, ns a page",
        duration_text="30 s",
        quick_duration_text="3 s",
        with_peers=True,
    )
    compare("rows", TARGETS, API_TARGETS, bench)
    return bench.end()


if __name__ == "__main__":
    sys.exit(main())
