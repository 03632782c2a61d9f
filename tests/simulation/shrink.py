"""Makes a failing plan small: removes events as long as the plan fails in the same way."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from tests.simulation.life import Outcome
from tests.simulation.plan import Plan, PlannedEvent

IN_ANOTHER_KEYSPACE = "a request in another keyspace"

_VARIES = re.compile(r"\d+(\.\d+)*|'k[abc]'|\bk[abc]\b|0x[0-9a-f]+")
_MOST_RUNS = 400


def kind_of(violation: str) -> str:
    """Return the kind of a violation: its text with ``#`` in place of numbers.

    Two violations of one kind differ only in numbers. All violations about a wrong keyspace are of
    one kind, too.
    """
    if " ran in [" in violation or " read from k" in violation or "No keyspace" in violation:
        return IN_ANOTHER_KEYSPACE
    return _VARIES.sub("#", violation)[:60]


def shrink_plan(
    plan: Plan, violations: Sequence[str], run_plan: Callable[[Plan], Outcome]
) -> tuple[Plan, Outcome | None]:
    """Return the smallest plan found that still fails, and its outcome.

    First try to leave out half of the events, then smaller groups, and single events at the end.

    :param violations: the violations of `plan`. A smaller plan must have one of the same kind.
    :param run_plan: runs a plan, and returns its outcome.
    :returns: the outcome is None if no event could be left out.
    """
    kinds = {kind_of(violation) for violation in violations}
    runs = 0
    best: Outcome | None = None

    def fails(candidate: Plan) -> bool:
        """Run a plan; return True if it fails in the same way, and then keep its outcome."""
        nonlocal runs, best
        runs += 1
        outcome = run_plan(candidate)
        if kinds & {kind_of(violation) for violation in outcome.violations}:
            best = outcome
            return True
        return False

    group_size = max(len(plan.steps) + len(plan.faults), 1)
    while group_size >= 1 and runs < _MOST_RUNS:
        events: list[PlannedEvent] = [*plan.faults, *plan.steps]
        has_shrunk = False
        for start in range(0, len(events), group_size):
            if runs >= _MOST_RUNS:
                break
            candidate = plan.without(events[start : start + group_size])
            if len(candidate.steps) + len(candidate.faults) < len(plan.steps) + len(
                plan.faults
            ) and fails(candidate):
                plan = candidate
                has_shrunk = True
        # Try smaller groups of events. When the groups are single events, go on as long as a round
        # removes any, because other events may have become unnecessary without these.
        if not has_shrunk or group_size > 1:
            group_size = group_size // 2
    return plan, best
