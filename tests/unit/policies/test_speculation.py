"""Speculative executions after fixed delays."""

from __future__ import annotations

from cassandra.policies.speculation import (
    ConstantSpeculativeExecutionPolicy,
    NoSpeculativeExecutionPolicy,
)
from cassandra.query.statement import SimpleStatement


def test_speculation() -> None:
    plan = ConstantSpeculativeExecutionPolicy(0.5, 2).new_plan("ks", SimpleStatement(""))
    assert [plan.next_execution(None) for _ in range(3)] == [0.5, 0.5, -1]
    assert (
        NoSpeculativeExecutionPolicy().new_plan("ks", SimpleStatement("")).next_execution(None) < 0
    )
