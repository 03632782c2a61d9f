"""Makes a failing plan small: removes lines as long as the plan fails in the same way."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from tests.simulation.life import Outcome
from tests.simulation.plan import Line, Plan

__all__ = ["IN_ANOTHER_KEYSPACE", "kind_of", "shrunk"]

IN_ANOTHER_KEYSPACE = "a request in another keyspace"

_VARIES = re.compile(r"\d+(\.\d+)*|'k[abc]'|\bk[abc]\b|0x[0-9a-f]+")
_MOST_LIVES = 400


def kind_of(violation: str) -> str:
    """Return a violation with ``#`` for its numbers, so that violations can be compared.

    All violations about a wrong keyspace are of one kind.
    """
    if " ran in [" in violation or " read from k" in violation or "No keyspace" in violation:
        return IN_ANOTHER_KEYSPACE
    return _VARIES.sub("#", violation)[:60]


def shrunk(
    plan: Plan, violations: Sequence[str], live: Callable[[Plan], Outcome]
) -> tuple[Plan, Outcome | None]:
    """Return the smallest plan found that still fails, and its outcome.

    It tries to leave out half of the lines, then smaller groups, and single lines at the end.

    :param violations: the violations of `plan`. A smaller plan must have one of the same kind.
    :param live: runs a plan.
    :returns: the outcome is None if no line could be left out.
    """
    kinds = {kind_of(violation) for violation in violations}
    lives = 0
    best: Outcome | None = None

    def fails(candidate: Plan) -> bool:
        nonlocal lives, best
        lives += 1
        outcome = live(candidate)
        if kinds & {kind_of(violation) for violation in outcome.violations}:
            best = outcome
            return True
        return False

    size = max(len(plan.steps) + len(plan.faults), 1)
    while size >= 1 and lives < _MOST_LIVES:
        lines: list[Line] = [*plan.faults, *plan.steps]
        smaller = False
        for start in range(0, len(lines), size):
            if lives >= _MOST_LIVES:
                break
            candidate = plan.without(lines[start : start + size])
            if len(candidate.steps) + len(candidate.faults) < len(plan.steps) + len(
                plan.faults
            ) and fails(candidate):
                plan = candidate
                smaller = True
        if not smaller or size > 1:
            size = size // 2
    return plan, best
