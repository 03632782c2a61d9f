"""The command line of the programs fuzz_codecs and fuzz_columns."""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable

# If the process uses more memory, the fuzzer has found an input that wastes memory.
MAX_RESIDENT_MB = 1500


def run(doc: str | None, fuzz: Callable[[int, int, bool], object], seed: int, what: str) -> int:
    """Run `fuzz` with the options of the command line, and print its counts.

    :param doc: the description in the help.
    :param fuzz: is called with the count, the seed, and True to compare both implementations.
    :param seed: the seed if the command line has none.
    :param what: the name of the inputs in the printed line, in the plural, such as "pages".
    :returns: the exit status: 1 if the process used too much memory, 0 otherwise.
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
    counts = fuzz(arguments.count, arguments.seed, not arguments.no_parity)
    resident_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(
        f"{arguments.count} {what}, {counts}, {time.monotonic() - start:.0f} s, "
        f"at most {resident_mb} MB resident"
    )
    return 0 if resident_mb < MAX_RESIDENT_MB else 1
