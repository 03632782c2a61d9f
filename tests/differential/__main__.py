"""Run the programs, hold the differences against the list, and say what is not in it."""

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

if not __package__:  # run as a folder: behind what is installed, whose modules are compiled
    sys.path.append(str(Path(__file__).resolve().parents[2]))

from tests.differential.compare import Difference, Verdict, differences, judge
from tests.differential.defended import DEFENDED
from tests.differential.lane import OURS, Lane, Module, environments, is_in_short_form
from tests.programs.environments import ROOT

SHARE = 9  # one program of so many is run in the short form
LONGEST = 400  # characters of a text that are shown
NODE = {
    "materialized_views_enabled": True,
    "user_defined_functions_enabled": True,
    "sasi_indexes_enabled": True,
    "auto_snapshot": False,
}


@contextlib.contextmanager
def node(given: str | None) -> Iterator[tuple[str, int]]:
    """A node of Cassandra: one that runs, or one that is started now."""
    if given:
        address, _, port = given.rpartition(":")
        yield address, int(port)
        return
    with LocalCluster(1, "5.0.9", heap="1G", config=NODE) as cluster:
        yield cluster.contact_points[0], cluster.port


def chosen(module: Module, options: argparse.Namespace) -> list[str]:
    """The programs of a module that are run."""
    names = module.programs
    if options.short:
        names = [one for one in names if is_in_short_form(f"{module.name}.{one}", SHARE)]
    if options.only:
        names = [
            one
            for one in names
            if any(fnmatch.fnmatchcase(f"{module.name}.{one}", glob) for glob in options.only)
            or f"{module.name}.{one}" in options.only
        ]
    return names


def run(lane: Lane, options: argparse.Namespace) -> tuple[int, list[Difference], dict[str, object]]:
    """Run all programs that are wanted: how many there were, the differences, all outcomes."""
    found: list[Difference] = []
    kept: dict[str, object] = {}
    count = 0
    for module in lane.modules():
        names = chosen(module, options)
        if not names:
            continue
        began = time.monotonic()
        at_first = len(found)
        for program, outcomes in lane.run(module, names).items():
            name = f"{module.name}.{program}"
            theirs = {key: value for key, value in outcomes.items() if key != OURS}
            found += differences(name, theirs, outcomes[OURS])
            kept[name] = outcomes
        count += len(names)
        print(
            f"{module.name}: {len(names)} programs in {time.monotonic() - began:.0f} s, "
            f"{len(found) - at_first} differences",
            flush=True,
        )
    return count, found, kept


def told(one: Difference) -> str:
    """A difference, as it is printed. Of statements only those that differ are."""
    theirs, ours = shortened(one.theirs), shortened(one.ours)
    if one.place == "statements":
        lines = difflib.unified_diff(
            one.theirs.split("\n"), one.ours.split("\n"), one.against, OURS, lineterm="", n=0
        )
        return "\n  ".join(shortened(line) for line in list(lines)[:20])
    return f"{one.against}: {theirs}\n  {OURS}: {ours}"


def shortened(text: str) -> str:
    """`text`, if it is not too long to be looked at."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} ... ({len(text)} characters)"


def report(verdict: Verdict, limit: int) -> None:
    """Print what is wrong."""
    for one in verdict.undefended[:limit]:
        print(f"\n{one.program} {one.place}\n  {told(one)}")
    if len(verdict.undefended) > limit:
        print(f"\n... and {len(verdict.undefended) - limit} more")
    for seen in verdict.stale:
        print(f"\nnothing differs any more where the list says so: {seen}")


def main() -> int:
    """Return how many differences are not in the list, and entries are there without one."""
    parser = argparse.ArgumentParser(prog="python tests/differential", description=__doc__)
    parser.add_argument("--short", action="store_true", help=f"one program of {SHARE}")
    parser.add_argument("--only", action="append", help="programs by name, as a shell pattern")
    parser.add_argument("--node", help="address:port of a node that runs already")
    parser.add_argument("--limit", type=int, default=50, help="how many differences are printed")
    parser.add_argument("--keep", type=Path, help="write all outcomes to this file")
    options = parser.parse_args()
    began = time.monotonic()
    cache = os.environ.get("TURBOCQL_DIFFERENTIAL") or ROOT / ".tox" / "differential-environments"
    folder = Path(cache)
    folder.mkdir(parents=True, exist_ok=True)
    for log in folder.glob("*.log"):
        log.unlink()
    commands = environments(folder)
    with node(options.node) as place, Lane(*place, commands, folder) as lane:
        count, found, kept = run(lane, options)
    if options.keep:
        options.keep.write_text(json.dumps(kept, indent=1))
    is_whole = not (options.short or options.only)
    verdict = judge(found, DEFENDED, is_whole=is_whole)
    report(verdict, options.limit)
    print(
        f"\n{count} programs, {len(found)} differences, {len(found) - len(verdict.undefended)} of "
        f"them defended, in {time.monotonic() - began:.0f} s"
    )
    return min(len(verdict.undefended) + len(verdict.stale), 1)


if __name__ == "__main__":
    sys.exit(main())
