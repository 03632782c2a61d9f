"""The simulation of ``tests/simulation``: its plans, its shrinking and its judge.

A seed gives a `Plan`: settings, client steps and faults. `live` runs a plan on simulated time,
which is called a life, and returns the violations of the driver's promises.
"""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests.simulation.life import Life, Outcome, live
from tests.simulation.mutants import MUTANTS
from tests.simulation.plan import FAULTS, STEPS, Line, Plan, drawn
from tests.simulation.shrink import IN_ANOTHER_KEYSPACE, kind_of, shrunk


@pytest.fixture(autouse=True)
def _short_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.simulation.life.LENGTH", 3.0)
    return


def calm_plan(seed: int = 1, **settings: object) -> Plan:
    """Return a plan without faults and with each kind of step but "use" and "prepare_all".

    Its settings are fixed where random ones would make requests fail or wait.
    """
    fixed = {**drawn(seed).settings, "throttler": None, "abrupt": False, "waiting": None}
    fixed |= {"retry": "default", "scylla": 0, "nodes": 3, "request_timeout": 5.0}
    steps = [
        Line(number / 20, what, number, number=number)
        for number, what in enumerate(STEPS)
        if what not in ("use", "prepare_all")
    ]
    return Plan(seed, {**fixed, **settings}, steps)


def test_a_life_without_faults_has_no_violations() -> None:
    cases: list[int] = [3, 4, 5]
    for protocol in cases:
        assert live(calm_plan(protocol=protocol, server_version=5, sessions=1)).violations == []


def test_two_lives_of_the_same_plan_log_the_same_lines() -> None:
    plan = Plan(
        7,
        calm_plan().settings,
        [Line(0.1 * number, what, number, number=number) for number, what in enumerate(STEPS)],
        [Line(0.07 * number, what, number, 0.3, number) for number, what in enumerate(FAULTS)],
    )
    first, second = live(plan), live(plan)
    assert first.lines == second.lines
    assert len(first.lines) > 50


def test_each_kind_of_step_and_fault_has_a_method() -> None:
    from tests.simulation.clients import Clients
    from tests.simulation.faults import Faults
    from tests.simulation.mapped import Mapped

    assert [
        what
        for what in STEPS
        if not hasattr(Mapped if what.startswith("mapped") else Clients, f"do_{what}")
    ] == []
    assert [what for what in FAULTS if not hasattr(Faults, f"do_{what}")] == []


def test_a_failing_plan_shrinks_to_the_lines_that_make_it_fail() -> None:
    lines = [Line(float(number), "write", number) for number in range(40)]
    plan = Plan(1, {}, lines[:30], lines[30:])

    def live_failing_with_lines_3_and_35(candidate: Plan) -> Outcome:
        remaining = {line.who for line in (*candidate.steps, *candidate.faults)}
        return Outcome(1, ["op 5 was lost"] if {3, 35} <= remaining else [])

    small, outcome = shrunk(plan, ["op 7 was lost"], live_failing_with_lines_3_and_35)
    assert [line.who for line in (*small.steps, *small.faults)] == [3, 35]
    assert outcome is not None
    compile(small.as_test(outcome.violations), "shown", "exec")


def test_violations_that_differ_in_numbers_have_the_same_kind() -> None:
    assert kind_of("op 12 (write) was lost at 1.5") == kind_of("op 7 (write) was lost at 22.25")
    assert kind_of("op 1 (read) ran in ['ka'], not in ['kb']") == IN_ANOTHER_KEYSPACE


def test_a_retry_of_a_non_idempotent_write_is_a_violation(monkeypatch: pytest.MonkeyPatch) -> None:
    from cassandra.policies.retry import RetryPolicy

    monkeypatch.setattr(
        RetryPolicy,
        "on_request_error",
        lambda self, *details, **named: (self.RETRY_NEXT_HOST, None),
    )
    steps = [Line(0.1, "write_once", 0, number=number) for number in range(3)]
    faults = [Line(0.0, "errors", node, 2.0, 0) for node in range(2)]
    settings = calm_plan().settings
    plan = Plan(3, {**settings, "server_version": 5, "protocol": 5}, steps, faults)
    violations = live(plan).violations
    assert violations
    assert all("was sent again" in violation for violation in violations)


def plan_with_clock_faults(*steps: str) -> Plan:
    """Return a plan whose clock is set back by minutes before and between the steps.

    :param steps: kinds of client steps, in order.
    """
    lines = [Line(0.5 * (index + 1), what, number=1 + index) for index, what in enumerate(steps)]
    faults = [Line(0.4 * (index + 1), "clock", 0, 2.0, 3) for index in range(5)]
    return Plan(5, calm_plan(sessions=1).settings, lines, faults)


def test_a_clock_that_is_set_back_causes_no_violation() -> None:
    outcome = live(
        plan_with_clock_faults("write", "mapped", "mapped_batch", "batch", "mapped_later")
    )
    assert outcome.violations == []
    assert sum("the clock says" in line for line in outcome.lines) == 5


def test_timestamps_that_go_back_are_a_violation() -> None:
    with MUTANTS["timestamps_go_back"].planted():
        violations = live(plan_with_clock_faults("write", "mapped", "write")).violations
    assert any("which is not after" in violation for violation in violations)


def test_a_mapper_time_from_the_system_clock_is_a_violation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("cassandra.cqlengine.statements.wall_time_ns", time.time_ns)
    violations = live(plan_with_clock_faults("mapped_later")).violations
    assert any("has the time" in violation for violation in violations)


def test_a_connect_that_never_ends_is_a_violation(monkeypatch: pytest.MonkeyPatch) -> None:
    from cassandra.engine.request import Request

    monkeypatch.setattr(Request, "resend", lambda self, attempt: None)
    settings = calm_plan(protocol=4, server_version=4, sessions=1, request_timeout=None).settings
    # The USE of the connect is never sent, and no timeout ends it.
    violations = live(Plan(1, settings)).violations
    assert violations[0] == "the first connect never ends"


def test_no_request_is_lost_if_nodes_announce_their_shutdown() -> None:
    kinds = ("write", "write_once", "count", "read", "simple_write", "batch_once")
    steps = [
        Line(number / 50, kinds[number % 6], number, number=number) for number in range(1, 150)
    ]
    settings = {**calm_plan().settings, "graceful": True, "retry": "fallthrough", "streams": None}
    settings |= {"speculation": None, "protocol": 4, "latency": 0.0002, "blocking": False}
    drains = [Line(0.3, "rolling_drain", 0, 2.4, 1)]
    life = Life(Plan(3, settings, steps, drains))
    assert life.live().violations == []
    nodes: list[Any] = life.fake.nodes
    assert all(node.after_drain for node in nodes)
    operations = life.clients.operations.values()
    assert [
        operation.number
        for operation in operations
        if operation.is_write and not operation.is_acknowledged
    ] == []
