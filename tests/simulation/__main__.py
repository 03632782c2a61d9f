"""Run many simulations: ``python -m tests.simulation --seeds 200``.

* ``--seeds N``: the number of simulations.
* ``--seed S``: the first seed. By default the first seed is random, and is printed.
* ``--fixed N``: first run the plans that failed in the past, and the seeds 0 to N - 1.
* ``--fixed-decide``: exit with 0 if the fixed seeds pass. A random seed that fails is only printed,
  because such a failure is seldom the fault of the change that is tested.
* ``--impl python`` or ``c``: the implementation of the driver; by default the driver's choice.
* ``--replay S``: run one seed, and print the log of its simulation.
* ``--shrink S``: remove events from the plan of a failing seed, and print the rest as a test.
* ``--mutants``: put each bug of `tests.simulation.mutants` (a mutant) into the driver, and report
  the first seed that finds it. The default here is the Python implementation. With the compiled
  one, bugs are tried only in classes that are used in both implementations.
* ``--only NAME,NAME``: the names of the mutants to try.
* ``--loops N``: let each simulation run a blocking cluster on this many event loops. Otherwise, one
  simulation in twenty has several loops. Mutants that need several loops always run on three loops.

Each seed that is divisible by ten runs twice, and the logs of both simulations must be the same.
For a seed that fails, the command that replays it is printed, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.simulation.plan import Plan

# `python tests/simulation` does not put the checkout on the path, where the package `tests` is.
# Append the checkout at the end of the path. Then `cassandra` is still imported from the installed
# driver, which may be compiled.
if not __package__:
    sys.path.append(str(Path(__file__).resolve().parents[2]))

REPORT_EVERY = 500  # the number of simulations between two lines about the progress
MOST_SHOWN = 20  # the most failing seeds whose violations are printed


def _arguments(argv: Sequence[str]) -> argparse.Namespace:
    """Parse the command line. The docstring of this module describes the options."""
    parser = argparse.ArgumentParser("tests.simulation", description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--fixed", type=int, default=0)
    parser.add_argument("--fixed-decide", action="store_true")
    parser.add_argument("--impl", choices=("python", "c", "both"))
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--replay", type=int)
    parser.add_argument("--shrink", type=int)
    parser.add_argument("--mutants", action="store_true")
    parser.add_argument("--only", help="names of mutants, with commas between")
    parser.add_argument("--loops", type=int, default=0)
    return parser.parse_args(argv)


def _plan_of(seed: int, loops: int) -> Plan:
    """Return the plan of a seed.

    :param seed: decides the whole plan.
    :param loops: the number of event loops of a blocking cluster; 0 to let the seed decide.
    """
    from tests.simulation.plan import random_plan

    plan = random_plan(seed)
    if loops:
        plan.settings.update(blocking=True, loops=loops, throttler=None)
    return plan


def run_seed(seed: int, loops: int = 0, mutant: str | None = None) -> tuple[int, list[str], float]:
    """Run the simulation of one seed.

    :param seed: the seed to run.
    :param loops: see `_plan_of`.
    :param mutant: the name of a bug to put into the driver. None tests the driver without a bug.
    :returns: the seed, the rules that were violated, and the CPU seconds that the run took.
    """
    from tests.simulation.life import run_plan

    began = time.process_time()
    if mutant is not None:
        from tests.simulation.mutants import MUTANTS

        with MUTANTS[mutant].installed():
            outcome = run_plan(_plan_of(seed, loops))
    else:
        outcome = run_plan(_plan_of(seed, loops))
    violations = outcome.violations
    # Run every tenth seed twice, to check that a seed can be reproduced.
    if mutant is None and seed % 10 == 0:
        other_outcome = run_plan(_plan_of(seed, loops))
        if other_outcome.digest != outcome.digest:
            pairs = zip(outcome.lines, other_outcome.lines, strict=False)
            line, other_line = next((pair for pair in pairs if pair[0] != pair[1]), ("", ""))
            difference = f"two simulations of one seed differ: {line!r}, {other_line!r}"
            violations = [*violations, difference]
    return seed, violations, time.process_time() - began


def _run_known_plans() -> int:
    """Run the plans that failed in the past; return how many of them fail now."""
    from tests.simulation.known import KNOWN
    from tests.simulation.life import run_plan

    failures = 0
    for name, plan in KNOWN.items():
        violations = run_plan(plan).violations
        if violations:
            failures += 1
            print(f"known plan, {name}: {len(violations)} violations")
            for violation in violations[:3]:
                print(f"    {violation}")
    return failures


def _run(
    fixed_seeds: Iterable[int],
    random_seeds: Iterable[int],
    jobs: int,
    loops: int,
    *,
    fixed_decide: bool,
) -> int:
    """Run the simulations of all seeds, print the failures, and return the exit code.

    :param fixed_seeds: if there are any, the plans that failed in the past run, too.
    :param random_seeds: further seeds to run.
    :param jobs: the number of processes.
    :param loops: see `_plan_of`.
    :param fixed_decide: True to decide the exit code only by the fixed seeds and the plans that
        failed in the past.
    """
    from cassandra._impl import implementation

    began = time.monotonic()
    count, cpu_seconds = 0, 0.0
    command = f"python -m tests.simulation --impl {implementation}"
    if loops:
        command += f" --loops {loops}"
    deciding_seeds = set(fixed_seeds)
    failures = _run_known_plans() if deciding_seeds else 0
    deciding_failures = failures
    # Run the fixed seeds first, in several processes; print the failing seeds with their commands.
    with ProcessPoolExecutor(jobs) as pool:
        for seed, violations, seconds in pool.map(
            partial(run_seed, loops=loops),
            (*sorted(deciding_seeds), *random_seeds),
            chunksize=4,
        ):
            count += 1
            cpu_seconds += seconds
            if count % REPORT_EVERY == 0:
                print(f"{count} simulations so far, {failures} failed", flush=True)
            if not violations:
                continue
            failures += 1
            deciding_failures += seed in deciding_seeds or not fixed_decide
            if failures <= MOST_SHOWN:
                print(f"seed {seed}: {len(violations)} violations")
                for violation in violations[:5]:
                    print(f"    {violation}")
                print(f"    {command} --replay {seed}")
                print(f"    {command} --shrink {seed}")
    elapsed = time.monotonic() - began
    print(
        f"{count} simulations on {implementation}: {failures} failed; {elapsed:.0f} s, "
        f"{cpu_seconds / max(count, 1):.3f} s of CPU each"
    )
    return 1 if deciding_failures else 0


def _replay(seed: int, loops: int) -> int:
    """Run a seed, and print its log and its violations.

    :param loops: see `_plan_of`.
    """
    from tests.simulation.life import run_plan

    plan = _plan_of(seed, loops)
    outcome = run_plan(plan)
    print(plan.settings)
    print("\n".join(outcome.lines))
    print(f"{len(outcome.violations)} violations, digest {outcome.digest}")
    for violation in outcome.violations:
        print(f"    {violation}")
    return 1 if outcome.violations else 0


def _shrink(seed: int, loops: int) -> int:
    """Make the plan of a failing seed as small as possible, and print it as a test.

    :param loops: see `_plan_of`.
    """
    from tests.simulation.life import run_plan
    from tests.simulation.shrink import shrink_plan

    plan = _plan_of(seed, loops)
    violations = run_plan(plan).violations
    if not violations:
        print(f"seed {seed} does not fail")
        return 0
    small, outcome = shrink_plan(plan, violations, run_plan)
    print(small.as_test(outcome.violations if outcome is not None else violations))
    return 1


def _find_seed(name: str, jobs: int, loops: int, limit: int) -> int | None:
    """Return the first seed that fails only with the mutant; None if no seed below `limit` does.

    A violation that the seed also has without the mutant does not count. A request that ran in the
    wrong keyspace counts only if the mutant is a bug about keyspaces.

    :param name: the name of the mutant.
    :param jobs: the number of processes.
    :param loops: see `_plan_of`.
    :param limit: the number of seeds to try.
    """
    from tests.simulation.mutants import MUTANTS
    from tests.simulation.shrink import IN_ANOTHER_KEYSPACE, kind_of

    loops = loops or MUTANTS[name].loops
    ignored = set() if MUTANTS[name].is_about_keyspaces else {IN_ANOTHER_KEYSPACE}
    with ProcessPoolExecutor(jobs) as pool:
        # Run twenty seeds at a time, so that few seeds run in vain after a seed has found the bug.
        for first_seed in range(0, limit, 20):
            seeds = range(first_seed, first_seed + 20)
            for seed, violations, _ in pool.map(partial(run_seed, loops=loops, mutant=name), seeds):
                kinds = {kind_of(violation) for violation in violations} - ignored
                if not kinds:
                    continue
                # Run the seed without the bug, too. Violations that occur in both runs do not
                # count.
                _, other_violations, _ = run_seed(seed, loops)
                if kinds - {kind_of(violation) for violation in other_violations}:
                    return seed
    return None


def _mutants(jobs: int, loops: int, limit: int, only: str | None) -> int:
    """Look for a seed that finds each mutant, and print the results.

    :param jobs: the number of processes.
    :param loops: see `_plan_of`.
    :param limit: the number of seeds to try for each mutant.
    :param only: the names of the mutants to try, with commas between; None for all.
    """
    from tests.simulation.mutants import MUTANTS

    survivors = 0
    for name, mutant in MUTANTS.items():
        if only is not None and name not in only.split(","):
            continue
        if mutant.is_compiled:
            print(f"{name:32} {'left out: it is compiled':28} {mutant.what}", flush=True)
            continue
        seed = _find_seed(name, jobs, loops, limit)
        survivors += seed is None
        result = f"found by seed {seed}" if seed is not None else f"NOT FOUND in {limit} seeds"
        print(f"{name:32} {result:28} {mutant.what}", flush=True)
    print(f"{len(MUTANTS)} mutants, {survivors} not found")
    return 1 if survivors else 0


def main(argv: Sequence[str]) -> int:
    """Run the command, and return its exit code."""
    arguments = _arguments(argv)
    if arguments.seeds is None:
        arguments.seeds = 1_000 if arguments.mutants else 100
    if arguments.impl == "both":
        # Run this command once for each implementation, with the same seeds.
        other_arguments = [argument for argument in argv if argument not in ("--impl", "both")]
        if arguments.seed is None and arguments.seeds:
            other_arguments += ["--seed", str(random.SystemRandom().randrange(1_000, 10**9))]
        program = ["-m", "tests.simulation"] if __package__ else [str(Path(__file__).parent)]
        command = [sys.executable, *program, *other_arguments, "--impl"]
        return max(subprocess.call([*command, impl]) for impl in ("c", "python"))
    if arguments.mutants:
        arguments.impl = arguments.impl or "python"
    if arguments.impl is not None:
        # The driver reads this variable when it is imported, so this module must not import the
        # driver before this line.
        os.environ["CASS_DRIVER_IMPL"] = arguments.impl
    if arguments.replay is not None:
        return _replay(arguments.replay, arguments.loops)
    if arguments.shrink is not None:
        return _shrink(arguments.shrink, arguments.loops)
    if arguments.mutants:
        return _mutants(arguments.jobs, arguments.loops, arguments.seeds, arguments.only)
    first_seed = arguments.seed
    if first_seed is None:
        first_seed = random.SystemRandom().randrange(1_000, 10**9)
        if arguments.seeds:
            print(f"seeds {first_seed} to {first_seed + arguments.seeds - 1}")
    return _run(
        fixed_seeds=range(arguments.fixed),
        random_seeds=range(first_seed, first_seed + arguments.seeds),
        jobs=arguments.jobs,
        loops=arguments.loops,
        fixed_decide=arguments.fixed_decide,
    )


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
