"""Runs all fuzzers, one after the other.

python tests/fuzz [--seconds N] [--seed S] [--grow] [--impl c|both]

The program first replays the corpus, and then gives each of six fuzzers the same share of the time.
It prints the seed, with which you can repeat the run; without ``--seed``, each run has a new one.
``--grow`` adds inputs with a new outcome to the corpus. ``--impl both``, the default, compares the
compiled and the Python implementation; ``--impl c`` runs only the compiled one. The exit status is
not 0 if a fuzzer finds something.
"""

from __future__ import annotations

import argparse
import random
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

# `python tests/fuzz` does not put the clone on the path, from which `tests` is imported. Append it
# at the end, so that `cassandra` is still imported from the installed driver, which is compiled.
if not __package__:
    sys.path.append(str(Path(__file__).resolve().parents[2]))

from cassandra._impl import twin
from tests.fuzz import fuzz_bundles, fuzz_codecs, fuzz_columns, fuzz_frames

# If the process uses more memory, a fuzzer has found an input that wastes memory.
MAX_RESIDENT_MB = 1500


def replay(impls: list[str]) -> int:
    """Check each input of the corpus with the fuzzer that it belongs to; return how many there are.

    :param impls: the implementations to run: "c", or "python" and "c".
    """
    # This is True if the two implementations are compared.
    parity = len(impls) > 1
    return (
        fuzz_codecs.replay(parity)
        + fuzz_columns.replay(parity)
        + fuzz_frames.replay(impls)
        + fuzz_bundles.replay()
    )


def main() -> None:
    """Run the fuzzers, and print their counts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60.0, help="for all parts together")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--grow", action="store_true")
    parser.add_argument("--impl", choices=("c", "both"), default="both")
    options = parser.parse_args()
    impls = ["c"] if options.impl == "c" else ["python", "c"]
    seed = time.time_ns() if options.seed is None else options.seed
    # The code below runs six fuzzers.
    seconds_per_part = options.seconds / 6
    rng = random.Random(seed)
    frames = [twin("frame", impl) for impl in impls]
    # This is True if the two implementations are compared.
    parity = len(impls) > 1
    grow = options.grow
    print(f"seed {seed}; {replay(impls)} inputs of the corpus replayed", flush=True)
    # The first argument, a count of inputs, is 0. It has no effect if the seconds are given.
    parts: list[tuple[str, Callable[[], object]]] = [
        ("codecs", lambda: fuzz_codecs.fuzz(0, seed, parity, seconds_per_part, grow)),
        ("columns", lambda: fuzz_columns.fuzz(0, seed, parity, seconds_per_part)),
        ("frames", lambda: fuzz_frames.run_frames(frames, 0, rng, seconds_per_part)),
        ("messages", lambda: fuzz_frames.run_messages(0, rng, seconds_per_part, grow)),
        ("bundles", lambda: fuzz_bundles.fuzz(0, seed, parity, seconds_per_part, grow)),
        ("rows", lambda: fuzz_frames.run_rows(impls, 0, rng, seconds_per_part)),
    ]
    for name, run in parts:
        inputs = run()
        resident_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        print(
            f"{name}: {inputs} inputs in {seconds_per_part:.0f} s, "
            f"at most {resident_mb} MB resident",
            flush=True,
        )
        if resident_mb > MAX_RESIDENT_MB:
            sys.exit(f"{resident_mb} MB resident")


if __name__ == "__main__":
    main()
