"""Test the code of ``tests/simulation``: plans, their reduction to few events, and the checks.

A seed gives a `Plan`: settings, client steps and faults. `run_plan` runs a plan in simulated time,
and returns which rules for the driver were violated.
"""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests.simulation.life import Outcome, Simulation, run_plan
from tests.simulation.mutants import MUTANTS
from tests.simulation.plan import FAULTS, STEPS, Plan, PlannedEvent, random_plan
from tests.simulation.shrink import IN_ANOTHER_KEYSPACE, kind_of, shrink_plan


@pytest.fixture(autouse=True)
def _short_simulations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each simulation take only 3 seconds of simulated time."""
    monkeypatch.setattr("tests.simulation.life.LENGTH", 3.0)


def calm_plan(seed: int = 1, **settings: object) -> Plan:
    """Return a plan without faults and with each kind of step but "use" and "prepare_all".

    The settings come from a random plan for `seed`. Settings that could make requests fail or wait
    have fixed values instead.

    :param settings: further settings, which replace these settings.
    """
    fixed = {**random_plan(seed).settings, "throttler": None, "abrupt": False, "waiting": None}
    fixed |= {"retry": "default", "scylla": 0, "nodes": 3, "request_timeout": 5.0, "schema": False}
    steps = [
        PlannedEvent(number / 20, kind, number, parameter=number)
        for number, kind in enumerate(STEPS)
        if kind not in ("use", "prepare_all")
    ]
    return Plan(seed, {**fixed, **settings}, steps)


def test_a_simulation_without_faults_has_no_violations() -> None:
    cases: list[int] = [3, 4, 5]
    for protocol in cases:
        assert run_plan(calm_plan(protocol=protocol, server_version=5, sessions=1)).violations == []


def test_two_simulations_of_the_same_plan_have_the_same_log() -> None:
    """Two simulations of the same plan must have the same log.

    The plan has each kind of step and fault, so none of them may depend on real time.
    """
    steps = [
        PlannedEvent(0.1 * number, kind, number, parameter=number)
        for number, kind in enumerate(STEPS)
    ]
    faults = [
        PlannedEvent(0.07 * number, kind, number, seconds=0.3, parameter=number)
        for number, kind in enumerate(FAULTS)
    ]
    plan = Plan(7, calm_plan().settings, steps, faults)
    first, second = run_plan(plan), run_plan(plan)
    assert first.lines == second.lines
    # The log must not be nearly empty, or the comparison would mean nothing.
    assert len(first.lines) > 50


def test_each_kind_of_step_and_fault_has_a_method() -> None:
    from tests.simulation.clients import Clients
    from tests.simulation.faults import Faults
    from tests.simulation.mapped import Mapped

    for kind in STEPS:
        cls = Mapped if kind.startswith("mapped") else Clients
        assert hasattr(cls, f"do_{kind}")
    assert [kind for kind in FAULTS if not hasattr(Faults, f"do_{kind}")] == []


def test_a_failing_plan_shrinks_to_the_events_that_make_it_fail() -> None:
    events = [PlannedEvent(float(number), "write", number) for number in range(40)]
    plan = Plan(1, {}, steps=events[:30], faults=events[30:])

    def run_failing_with_events_3_and_35(candidate: Plan) -> Outcome:
        """Stand in for `run_plan`: report a violation only if the plan still has both events."""
        remaining = {event.target_index for event in (*candidate.steps, *candidate.faults)}
        violations = ["op 5 was lost"] if {3, 35} <= remaining else []
        return Outcome(1, violations)

    small, outcome = shrink_plan(plan, ["op 7 was lost"], run_failing_with_events_3_and_35)
    assert [event.target_index for event in (*small.steps, *small.faults)] == [3, 35]
    assert outcome is not None
    # `as_test` must return valid Python: the source of a test that runs the plan.
    compile(small.as_test(outcome.violations), "shown", "exec")


def test_violations_that_differ_in_numbers_have_the_same_kind() -> None:
    """Violations that differ only in numbers must have the same kind.

    While a plan is made smaller, it counts as the same failure if a violation has the same kind.
    """
    assert kind_of("op 12 (write) was lost at 1.5") == kind_of("op 7 (write) was lost at 22.25")
    assert kind_of("op 1 (read) ran in ['ka'], not in ['kb']") == IN_ANOTHER_KEYSPACE


def test_a_retry_of_a_non_idempotent_write_is_a_violation(monkeypatch: pytest.MonkeyPatch) -> None:
    """A retry of a write that is not idempotent must be a violation.

    The patched policy sends each failed request to the next host, even if the first host may have
    executed it.
    """
    from cassandra.policies.retry import RetryPolicy

    monkeypatch.setattr(
        RetryPolicy,
        "on_request_error",
        lambda self, *details, **named: (self.RETRY_NEXT_HOST, None),
    )
    steps = [PlannedEvent(0.1, "write_once", 0, parameter=number) for number in range(3)]
    # From the start on, two of the three nodes respond with the error "overloaded" for two seconds.
    faults = [PlannedEvent(0.0, "errors", node, seconds=2.0, parameter=0) for node in range(2)]
    settings = calm_plan().settings
    plan = Plan(3, {**settings, "server_version": 5, "protocol": 5}, steps, faults)
    violations = run_plan(plan).violations
    assert violations
    assert all("was sent again" in violation for violation in violations)


def plan_with_clock_faults(*steps: str) -> Plan:
    """Return a plan in which the clock is set back by 200 seconds before each of the first steps.

    :param steps: kinds of client steps, in order.
    """
    events = [
        PlannedEvent(0.5 * (index + 1), kind, parameter=1 + index)
        for index, kind in enumerate(steps)
    ]
    # The fault "clock" multiplies its seconds by a factor, which is -100 for the parameter 3.
    faults = [
        PlannedEvent(0.4 * (index + 1), "clock", seconds=2.0, parameter=3) for index in range(5)
    ]
    return Plan(5, calm_plan(sessions=1).settings, events, faults)


def test_a_clock_that_is_set_back_causes_no_violation() -> None:
    outcome = run_plan(
        plan_with_clock_faults("write", "mapped", "mapped_batch", "batch", "mapped_later")
    )
    assert outcome.violations == []
    clock_changes = [line for line in outcome.lines if "the clock says" in line]
    # There is one change for each fault.
    assert len(clock_changes) == 5


def test_timestamps_that_go_back_are_a_violation() -> None:
    """Timestamps that go back must be a violation.

    With this mutant, the driver's timestamps follow the clock. When the clock is set back, a later
    write gets a lower timestamp.
    """
    with MUTANTS["timestamps_go_back"].installed():
        violations = run_plan(plan_with_clock_faults("write", "mapped", "write")).violations
    assert any("which is not after" in violation for violation in violations)


def test_a_mapper_time_from_the_system_clock_is_a_violation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Relative timestamps of the mapper must be computed from the simulated clock."""
    monkeypatch.setattr("cassandra.cqlengine.statements.wall_time_ns", time.time_ns)
    violations = run_plan(plan_with_clock_faults("mapped_later")).violations
    assert any("has the time" in violation for violation in violations)


def test_a_connect_that_never_ends_is_a_violation(monkeypatch: pytest.MonkeyPatch) -> None:
    from cassandra.engine.request import Request

    settings = calm_plan(protocol=4, server_version=4, sessions=1, request_timeout=None).settings
    # With the patched method, the USE of the first connect is never sent. There is no request
    # timeout, so the connect waits forever.
    monkeypatch.setattr(Request, "resend", lambda self, attempt: None)
    violations = run_plan(Plan(1, settings)).violations
    assert violations[0] == "the first connect never ends"


def test_no_request_is_lost_if_nodes_announce_their_shutdown() -> None:
    """While nodes restart one after another, each write must be acknowledged without a retry.

    Before a node stops, it announces its shutdown to the clients.
    """
    kinds = ("write", "write_once", "count", "read", "simple_write", "batch_once")
    steps = [
        PlannedEvent(number / 50, kinds[number % 6], number, parameter=number)
        for number in range(1, 150)
    ]
    settings = {**calm_plan().settings, "graceful": True, "retry": "fallthrough", "streams": None}
    settings |= {"speculation": None, "protocol": 4, "latency": 0.0002, "blocking": False}
    drains = [PlannedEvent(0.3, "rolling_drain", seconds=2.4, parameter=1)]
    simulation = Simulation(Plan(3, settings, steps, drains))
    assert simulation.run().violations == []
    # Each node must have announced its shutdown to a client.
    nodes: list[Any] = simulation.fake.nodes
    assert all(node.after_drain for node in nodes)
    operations = simulation.clients.operations.values()
    lost_writes = [
        operation.number
        for operation in operations
        if operation.is_write and not operation.is_acknowledged
    ]
    assert lost_writes == []


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_replaces_an_existing_function(name: str) -> None:
    with MUTANTS[name].installed():
        # `installed` raises an error if the driver has no function of the mutant's name.
        pass


def test_late_rows_and_events_are_found_by_reading_again() -> None:
    """A node that joins is used, although its row comes late and its events may be lost."""
    settings = {**calm_plan(blocking=False, server_version=5).settings, "gossip": True}
    # The node 10.0.0.4 joins; two nodes swap their addresses; a node gets another identity.
    kinds = ("join", "swap", "replace")
    faults = [
        PlannedEvent(0.5 * number, kind, number, seconds=0.3, parameter=number)
        for number, kind in enumerate(kinds)
    ]
    for seed in range(3):
        outcome = run_plan(Plan(seed, settings, faults=faults))
        assert outcome.violations == []
    with MUTANTS["node_lists_are_believed"].installed():
        outcomes = [run_plan(Plan(seed, settings, faults=faults)) for seed in range(3)]
    assert any("the driver knows" in line for outcome in outcomes for line in outcome.violations)


def test_the_schema_is_known_in_the_end_although_events_and_readings_are_late() -> None:
    """Other clients change the schema, which nodes learn of late, and readings fail for a while."""
    settings = {**calm_plan(blocking=False, server_version=5).settings, "schema": True}
    faults = [
        *(PlannedEvent(0.5 * number, "schema_change", number) for number in range(10)),
        PlannedEvent(1.0, "schema_trouble", seconds=3.0, parameter=999),
        PlannedEvent(4.5, "schema_trouble", seconds=2.0, parameter=998),
    ]
    for seed in range(3):
        outcome = run_plan(Plan(seed, settings, faults=faults))
        assert outcome.violations == []
    for name in ("schema_events_are_ignored", "failed_readings_are_not_repeated"):
        with MUTANTS[name].installed():
            outcomes = [run_plan(Plan(seed, settings, faults=faults)) for seed in range(3)]
        assert any(
            "the driver knows" in line for outcome in outcomes for line in outcome.violations
        )


def test_two_clusters_store_the_values_that_clients_have_bound_for_one_of_them() -> None:
    """The statement has the same id in both clusters, and its table has other types."""
    settings = {**calm_plan(blocking=False, server_version=5).settings, "elsewhere": True}
    steps = [PlannedEvent(0.1 * number, "typed", parameter=number) for number in range(10)]
    plan = Plan(1, settings, steps, faults=[PlannedEvent(0.5, "create_again", 2)])
    assert run_plan(plan).violations == []
    with MUTANTS["ids_are_valid_everywhere"].installed():
        violations = run_plan(plan).violations
    assert any("elsewhere" in line for line in violations)
