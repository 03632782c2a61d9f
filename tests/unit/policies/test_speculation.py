"""Speculative executions after fixed delays."""

from __future__ import annotations

from typing import Any

import pytest

from cassandra.policies.speculation import (
    ConstantSpeculativeExecutionPolicy,
    NoSpeculativeExecutionPolicy,
)
from cassandra.query.statement import SimpleStatement


def test_a_constant_plan_has_its_delay_and_number_of_attempts() -> None:
    """The plan has the same delay for two executions. Then -1 ends the plan."""
    plan = ConstantSpeculativeExecutionPolicy(0.5, 2).new_plan("ks", SimpleStatement(""))
    assert [plan.next_execution(None) for _ in range(3)] == [0.5, 0.5, -1]


def test_without_speculation_the_first_delay_is_negative() -> None:
    """A negative delay means that there is no speculative execution."""
    plan = NoSpeculativeExecutionPolicy().new_plan("ks", SimpleStatement(""))
    assert plan.next_execution(None) < 0


@pytest.mark.parametrize("arguments", [("0.1", 2), (0.1, "2"), (None, 2)])
def test_delays_and_attempts_are_numbers(arguments: tuple[Any, Any]) -> None:
    """A delay or a number of attempts that is no number raises TypeError."""
    with pytest.raises(TypeError, match=r"(delay|max_attempts) must be a number of"):
        ConstantSpeculativeExecutionPolicy(*arguments)


def test_a_delay_in_milliseconds_is_warned_of() -> None:
    """A delay of 100 seconds warns, because 100 ms were probably meant."""
    with pytest.warns(RuntimeWarning, match=r"delay=100 is in seconds.*write 0\.1 for 100 milli"):
        policy = ConstantSpeculativeExecutionPolicy(100, 3)
    assert policy.delay == 100
