"""The command line of a fuzz program that runs both implementations."""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable

MOST_RESIDENT = 1500  # MB


def run(doc: str | None, fuzz: Callable[[int, int, bool], object], seed: int, what: str) -> int:
    """Run `fuzz` with the count, seed and implementations from the command line.

    :param seed: the seed if none is given. :param what: names the inputs that are counted.
    :returns: 1 if the process took too much memory, 0 otherwise.
    """
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=seed)
    parser.add_argument(
        "--no-parity", action="store_true", help="the compiled implementation alone"
    )
    arguments = parser.parse_args()
    start = time.monotonic()
    seen = fuzz(arguments.count, arguments.seed, not arguments.no_parity)
    resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(
        f"{arguments.count} {what}, {seen}, {time.monotonic() - start:.0f} s, at most {resident} "
        f"MB resident"
    )
    return 0 if resident < MOST_RESIDENT else 1
