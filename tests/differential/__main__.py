"""Runs the programs with all drivers, and prints the differences that `defended` does not list."""

from __future__ import annotations

import argparse
import contextlib
import difflib
import fnmatch
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from cassandra.testing import LocalCluster

# `python tests/differential` does not put the checkout on the path, where the package `tests` is.
# Append the checkout at the end of the path. Then `cassandra` is still imported from the installed
# driver, which may be compiled.
if not __package__:
    sys.path.append(str(Path(__file__).resolve().parents[2]))

from tests.differential.compare import Difference, Verdict, differences, judge
from tests.differential.defended import DEFENDED
from tests.differential.lane import OURS, Lane, Module, environments, is_in_short_form
from tests.programs.environments import ROOT

SHARE = 9  # with --short, about one program in nine runs
LONGEST = 400  # characters; longer values are cut when they are printed
# Settings of the node that the programs need.
NODE = {
    "materialized_views_enabled": True,
    "user_defined_functions_enabled": True,
    "sasi_indexes_enabled": True,
    "auto_snapshot": False,
}


@contextlib.contextmanager
def node(running: str | None) -> Iterator[tuple[str, int]]:
    """Yield the address and port of a Cassandra node.

    :param running: ADDRESS:PORT of a running node. None starts a node for the block.
    """
    if running:
        address, _, port = running.rpartition(":")
        yield address, int(port)
        return
    with LocalCluster(1, "5.0.9", heap="1G", config=NODE) as cluster:
        yield cluster.contact_points[0], cluster.port


def selected_programs(module: Module, options: argparse.Namespace) -> list[str]:
    """Return the names of the programs of a module that the command line selects."""
    names = module.programs
    if options.short:
        names = [name for name in names if is_in_short_form(f"{module.name}.{name}", SHARE)]
    if options.only:
        names = [
            name
            for name in names
            if any(fnmatch.fnmatchcase(f"{module.name}.{name}", glob) for glob in options.only)
            or f"{module.name}.{name}" in options.only
        ]
    return names


def run(lane: Lane, options: argparse.Namespace) -> tuple[int, list[Difference], dict[str, object]]:
    """Run the programs that the command line selects.

    :returns: the number of programs, all differences, and the outcomes by program.
    """
    all_differences: list[Difference] = []
    outcomes_by_program: dict[str, object] = {}
    count = 0
    for module in lane.modules():
        names = selected_programs(module, options)
        if not names:
            continue
        start_time = time.monotonic()
        count_before = len(all_differences)
        for program, outcomes in lane.run(module, names).items():
            name = f"{module.name}.{program}"
            theirs = {key: value for key, value in outcomes.items() if key != OURS}
            all_differences += differences(name, theirs, outcomes[OURS])
            outcomes_by_program[name] = outcomes
        count += len(names)
        print(
            f"{module.name}: {len(names)} programs in {time.monotonic() - start_time:.0f} s, "
            f"{len(all_differences) - count_before} differences",
            flush=True,
        )
    return count, all_differences, outcomes_by_program


def format_difference(difference: Difference) -> str:
    """Return a difference as a string, with at most the first 20 lines if requests differ."""
    theirs, ours = shortened(difference.theirs), shortened(difference.ours)
    if difference.place == "statements":
        lines = difflib.unified_diff(
            difference.theirs.split("\n"),
            difference.ours.split("\n"),
            difference.against,
            OURS,
            lineterm="",
            n=0,
        )
        return "\n  ".join(shortened(line) for line in list(lines)[:20])
    return f"{difference.against}: {theirs}\n  {OURS}: {ours}"


def shortened(text: str) -> str:
    """Return `text`, cut if it is too long to read."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} ... ({len(text)} characters)"


def report(verdict: Verdict, limit: int) -> None:
    """Print the differences without an entry in `defended`, and entries without a difference.

    :param limit: print at most this many differences.
    """
    for difference in verdict.undefended[:limit]:
        print(f"\n{difference.program} {difference.place}\n  {format_difference(difference)}")
    if len(verdict.undefended) > limit:
        print(f"\n... and {len(verdict.undefended) - limit} more")
    for seen in verdict.stale:
        print(f"\nno difference matches this entry any more: {seen}")


def main() -> int:
    """Run the programs, and return the exit status.

    The status is 1 if a difference has no entry in `defended`, or if an entry matches no
    difference.
    """
    parser = argparse.ArgumentParser(prog="python tests/differential", description=__doc__)
    parser.add_argument("--short", action="store_true", help=f"one program of {SHARE}")
    parser.add_argument("--only", action="append", help="programs by name, as a shell pattern")
    parser.add_argument("--node", help="address:port of a node that runs already")
    parser.add_argument("--limit", type=int, default=50, help="how many differences are printed")
    parser.add_argument("--keep", type=Path, help="write all outcomes to this file")
    options = parser.parse_args()
    start_time = time.monotonic()
    cache = os.environ.get("TURBOCQL_DIFFERENTIAL") or ROOT / ".tox" / "differential-environments"
    folder = Path(cache)
    folder.mkdir(parents=True, exist_ok=True)
    for log in folder.glob("*.log"):
        log.unlink()
    commands = environments(folder)
    with (
        node(options.node) as (address, port),
        Lane(address, port, commands, folder) as lane,
    ):
        count, all_differences, outcomes = run(lane, options)
    if options.keep:
        options.keep.write_text(json.dumps(outcomes, indent=1))
    is_whole = not (options.short or options.only)
    verdict = judge(all_differences, DEFENDED, is_whole=is_whole)
    report(verdict, options.limit)
    print(
        f"\n{count} programs, {len(all_differences)} differences, "
        f"{len(all_differences) - len(verdict.undefended)} of "
        f"them defended, in {time.monotonic() - start_time:.0f} s"
    )
    return min(len(verdict.undefended) + len(verdict.stale), 1)


if __name__ == "__main__":
    sys.exit(main())
