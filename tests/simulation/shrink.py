"""Makes a failing plan small: removes events as long as the plan fails in the same way."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from tests.simulation.life import Outcome
from tests.simulation.plan import Plan, PlannedEvent

IN_ANOTHER_KEYSPACE = "a request in another keyspace"  # the kind of all such violations

# Parts of a violation that do not count for its kind: numbers, keyspaces and addresses.
_VARIES = re.compile(r"\d+(\.\d+)*|'k[abc]'|\bk[abc]\b|0x[0-9a-f]+")
_MOST_RUNS = 400  # the most simulations that run to shrink a plan


def kind_of(violation: str) -> str:
    """Return the kind of a violation: the beginning of its message without the parts that vary.

    ``#`` takes the place of each number, keyspace and address. All violations about a wrong
    keyspace are of the same kind.
    """
    if " ran in [" in violation or " read from k" in violation or "No keyspace" in violation:
        return IN_ANOTHER_KEYSPACE
    return _VARIES.sub("#", violation)[:60]


def shrink_plan(
    plan: Plan, violations: Sequence[str], run_plan: Callable[[Plan], Outcome]
) -> tuple[Plan, Outcome | None]:
    """Return the smallest plan found that still fails, and its outcome.

    The function first tries to remove half of the events, then smaller groups, and finally single
    events.

    :param violations: the violations of `plan`. A smaller plan must have a violation of one of the
        same kinds.
    :param run_plan: runs a plan, and returns its outcome.
    :returns: the outcome is None if no event could be removed.
    """
    kinds = {kind_of(violation) for violation in violations}
    runs = 0
    best: Outcome | None = None

    def fails(candidate: Plan) -> bool:
        """Run a plan; return True and record its outcome if it fails in the same way."""
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
        # Try smaller groups of events. With single events, repeat the round as long as it removes
        # any, because the removed events may have made others unnecessary.
        if not has_shrunk or group_size > 1:
            group_size = group_size // 2
    return plan, best
