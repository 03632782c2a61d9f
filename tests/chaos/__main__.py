"""Runs a campaign: ``python -m tests.chaos --minutes 10``.

The exit status is 1 if a write was lost or applied twice, if a response belonged to another
request, or if a request never ended.
"""

from __future__ import annotations

import argparse
import sys
import time

from .campaign import run


def main() -> int:
    """Run a campaign, print its result, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10, help="for how long faults come")
    parser.add_argument("--seed", type=int, help="repeats the order of an earlier campaign")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else int(time.time())
    print(f"seed {seed}")
    verdict = run(options.minutes * 60, seed, lambda line: print(line, flush=True))
    print(verdict)
    for fault in ("lost", "doubled", "crossed", "hung"):
        if cases := getattr(verdict, fault):
            print(f"{fault}: {cases[:20]}")
    return not verdict.is_clean


if __name__ == "__main__":
    sys.exit(main())
