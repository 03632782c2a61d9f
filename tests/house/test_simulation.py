"""The lane ``simulation``: its plans, its shrinking, and that a life is decided by its seed."""

from __future__ import annotations

import pytest

from tests.simulation.life import Outcome, live
from tests.simulation.plan import FAULTS, STEPS, Line, Plan, drawn
from tests.simulation.shrink import IN_ANOTHER_KEYSPACE, kind_of, shrunk


@pytest.fixture(autouse=True)
def _short_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.simulation.life.LENGTH", 3.0)
    return


def calm(seed: int = 1, **settings: object) -> Plan:
    """A plan without faults, with each kind of step."""
    known = {**drawn(seed).settings, "throttler": None, "abrupt": False, "waiting": None}
    known |= {"retry": "default", "scylla": 0, "nodes": 3, "request_timeout": 5.0}
    steps = [
        Line(place / 20, what, place, number=place)
        for place, what in enumerate(STEPS)
        if what not in ("use", "prepare_all")
    ]
    return Plan(seed, {**known, **settings}, steps)


def test_a_life_without_faults_has_no_violations() -> None:
    cases: list[int] = [3, 4, 5]
    for protocol in cases:
        assert live(calm(protocol=protocol, server_version=5, sessions=1)).violations == []


def test_a_seed_decides_the_whole_life() -> None:
    plan = Plan(
        7,
        calm().settings,
        [Line(0.1 * place, what, place, number=place) for place, what in enumerate(STEPS)],
        [Line(0.07 * place, what, place, 0.3, place) for place, what in enumerate(FAULTS)],
    )
    first, second = live(plan), live(plan)
    assert first.lines == second.lines
    assert len(first.lines) > 50


def test_each_kind_of_line_can_be_done() -> None:
    from tests.simulation.clients import Clients
    from tests.simulation.faults import Faults

    assert [what for what in STEPS if not hasattr(Clients, f"do_{what}")] == []
    assert [what for what in FAULTS if not hasattr(Faults, f"do_{what}")] == []


def test_plans_are_made_smaller_as_long_as_they_fail() -> None:
    lines = [Line(float(place), "write", place) for place in range(40)]
    plan = Plan(1, {}, lines[:30], lines[30:])

    def fails_by_two_lines(candidate: Plan) -> Outcome:
        left = {line.who for line in (*candidate.steps, *candidate.faults)}
        return Outcome(1, ["op 5 was lost"] if {3, 35} <= left else [])

    small, outcome = shrunk(plan, ["op 7 was lost"], fails_by_two_lines)
    assert [line.who for line in (*small.steps, *small.faults)] == [3, 35]
    assert outcome is not None
    compile(small.as_test(outcome.violations), "shown", "exec")


def test_kinds_of_violations_have_no_numbers() -> None:
    assert kind_of("op 12 (write) was lost at 1.5") == kind_of("op 7 (write) was lost at 22.25")
    assert kind_of("op 1 (read) ran in ['ka'], not in ['kb']") == IN_ANOTHER_KEYSPACE


def test_a_mistake_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    from cassandra.policies.retry import RetryPolicy

    monkeypatch.setattr(
        RetryPolicy,
        "on_request_error",
        lambda self, *details, **named: (self.RETRY_NEXT_HOST, None),
    )
    steps = [Line(0.1, "write_once", 0, number=place) for place in range(3)]
    faults = [Line(0.0, "errors", node, 2.0, 0) for node in range(2)]
    settings = calm().settings
    plan = Plan(3, {**settings, "server_version": 5, "protocol": 5}, steps, faults)
    violations = live(plan).violations
    assert violations
    assert all("was sent again" in one for one in violations)


def test_a_life_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    from cassandra.engine.request import Request

    monkeypatch.setattr(Request, "resend", lambda self, attempt: None)
    settings = calm(protocol=4, server_version=4, sessions=1, request_timeout=None).settings
    # The USE of the connect is never sent, and no time-out ends it.
    violations = live(Plan(1, settings)).violations
    assert violations[0] == "the first connect never ends"
