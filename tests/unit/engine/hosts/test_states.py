"""The state machine of hosts: how each event changes each state, and which actions it causes."""

from __future__ import annotations

import itertools

import pytest

from cassandra.engine.hosts.states import TABLE, Action, Event, Facts, State, Up, transition

STATES = [State(up, tried) for up, tried in itertools.product(Up, (False, True))]
FACTS = [Facts(*bits) for bits in itertools.product((False, True), repeat=len(Facts._fields))]

# States of a host. If the name ends in "_TRIED", a task is trying to reach the host again.
UNKNOWN = State()
UP = State(Up.UP)
UP_TRIED = State(Up.UP, tried=True)
DOWN = State(Up.DOWN)
DOWN_TRIED = State(Up.DOWN, tried=True)
GIVEN_UP = State(Up.GIVEN_UP)
GIVEN_UP_TRIED = State(Up.GIVEN_UP, tried=True)

# Combinations of facts about a host. "Convicted" means that the conviction policy considers the
# host down. `is_served` means that each session that wants a pool to the host has one.
DISCONNECTED = Facts()  # no session has a pool, but the host is not convicted
LOST = Facts(convicted=True)  # no session has a pool, and the host is convicted
CONNECTED = Facts(has_pool=True, is_served=True)  # each session that wants a pool has one
HALF_SERVED = Facts(convicted=True, has_pool=True, is_served=False)  # only some sessions have one
IGNORED = Facts(is_ignored=True)  # no policy wants connections to the host


@pytest.mark.parametrize(
    ("state", "event", "facts", "expected_state", "expected_actions"),
    [
        # A pool to the host is ready.
        (UNKNOWN, Event.ANSWERS, CONNECTED, UP, [Action.MARK_UP]),
        (UP, Event.ANSWERS, CONNECTED, UP, [Action.RESET]),
        (DOWN_TRIED, Event.ANSWERS, CONNECTED, UP_TRIED, [Action.MARK_UP]),
        (GIVEN_UP, Event.ANSWERS, CONNECTED, UP, [Action.MARK_UP]),
        # A connection to the host broke.
        (UP, Event.CONNECTION_FAILED, LOST, DOWN_TRIED, [Action.MARK_DOWN, Action.START_TRIES]),
        (DOWN_TRIED, Event.CONNECTION_FAILED, LOST, DOWN_TRIED, []),
        (UP, Event.CONNECTION_FAILED, DISCONNECTED, UP_TRIED, [Action.START_TRIES]),
        (UP, Event.CONNECTION_FAILED, CONNECTED, UP, []),
        (UP, Event.CONNECTION_FAILED, HALF_SERVED, UP_TRIED, [Action.START_TRIES]),
        # An attempt to reach the host has ended.
        (UP_TRIED, Event.TRY_FAILED, LOST, DOWN_TRIED, [Action.MARK_DOWN]),
        (UP_TRIED, Event.TRY_FAILED, HALF_SERVED, UP_TRIED, []),
        (UP_TRIED, Event.TRIES_ENDED, DISCONNECTED, GIVEN_UP_TRIED, [Action.MARK_DOWN, Action.GIVE_UP]),  # noqa: E501
        (DOWN_TRIED, Event.TRIES_ENDED, DISCONNECTED, GIVEN_UP_TRIED, [Action.GIVE_UP]),
        (UP_TRIED, Event.TRIES_ENDED, CONNECTED, UP_TRIED, []),
        # The cluster reports that the host is up or down.
        (DOWN_TRIED, Event.REPORTED_UP, DISCONNECTED, DOWN_TRIED, [Action.HURRY]),
        (DOWN, Event.REPORTED_UP, DISCONNECTED, DOWN, [Action.BRING_UP]),
        (GIVEN_UP, Event.REPORTED_UP, DISCONNECTED, GIVEN_UP, [Action.BRING_UP]),
        (UP, Event.REPORTED_UP, CONNECTED, UP, []),
        (UP, Event.REPORTED_DOWN, CONNECTED, UP, []),
        (UP, Event.REPORTED_DOWN, IGNORED, DOWN, [Action.MARK_DOWN]),
        (UP, Event.REPORTED_DOWN, LOST, DOWN_TRIED, [Action.MARK_DOWN, Action.START_TRIES]),
        (UP, Event.REPORTED_DOWN, DISCONNECTED, UP_TRIED, [Action.START_TRIES]),
        # The control connection was opened again, perhaps to another host. While there was no
        # control connection, reports that hosts are up may have been missed, so each host that is
        # not up is tried.
        (GIVEN_UP, Event.LOOK_AGAIN, DISCONNECTED, GIVEN_UP_TRIED, [Action.START_TRIES, Action.HURRY]),  # noqa: E501
        (DOWN_TRIED, Event.LOOK_AGAIN, DISCONNECTED, DOWN_TRIED, [Action.HURRY]),
        (DOWN, Event.LOOK_AGAIN, DISCONNECTED, DOWN, [Action.BRING_UP]),
        (DOWN, Event.LOOK_AGAIN, IGNORED, DOWN, [Action.PROBE]),
        (GIVEN_UP, Event.LOOK_AGAIN, IGNORED, GIVEN_UP, [Action.PROBE]),
        (UP, Event.LOOK_AGAIN, CONNECTED, UP, []),
        # The node list has changed: the host is in another data centre or rack.
        (UP, Event.RELOCATED, CONNECTED, UP, [Action.RELOCATE]),
        (DOWN, Event.RELOCATED, IGNORED, DOWN, []),
        (DOWN, Event.RELOCATED, DISCONNECTED, DOWN, [Action.BRING_UP]),
        (DOWN_TRIED, Event.RELOCATED, DISCONNECTED, DOWN_TRIED, [Action.HURRY]),
        # A policy that used to ignore the host wants connections to it now.
        (DOWN, Event.WANTED, DISCONNECTED, DOWN, [Action.BRING_UP]),
        (DOWN_TRIED, Event.WANTED, DISCONNECTED, DOWN_TRIED, []),
        (GIVEN_UP, Event.WANTED, DISCONNECTED, GIVEN_UP, []),
        # The host is no longer part of the cluster.
        (UP, Event.LEFT, CONNECTED, DOWN, [Action.FORGET]),
        (DOWN_TRIED, Event.LEFT, DISCONNECTED, DOWN, [Action.STOP_TRIES, Action.FORGET]),
    ],
    ids=str,
)  # fmt: skip
def test_an_event_changes_the_state_and_causes_actions(
    state: State, event: Event, facts: Facts, expected_state: State, expected_actions: list[Action]
) -> None:
    """In each row, an event changes the state as expected, and causes the expected actions.

    The rows are the most frequent cases.
    """
    assert transition(state, event, facts) == (expected_state, expected_actions)


def every_transition() -> list[tuple[State, Event, Facts, State, list[Action]]]:
    """Return the transitions of all combinations of state, event and facts.

    :returns: (state, event, facts, new state, actions) for each combination.
    """
    transitions = []
    for state, event, facts in itertools.product(STATES, Event, FACTS):
        new_state, actions = transition(state, event, facts)
        transitions.append((state, event, facts, new_state, actions))
    return transitions


def test_every_event_is_in_the_table() -> None:
    assert set(TABLE) == set(Event)


def test_actions_are_possible_and_not_repeated_in_every_state() -> None:
    """No transition causes an action that makes no sense in its state, or the same action twice."""
    for state, event, facts, new_state, actions in every_transition():
        details = (state, event, facts, actions)
        assert len(set(actions)) == len(actions), details
        # A host that is up must not be marked as up, and a host that is down must not be marked as
        # down.
        if Action.MARK_UP in actions:
            assert state.up is not Up.UP, details
            assert Action.MARK_DOWN not in actions, details
        if Action.MARK_DOWN in actions:
            assert not state.up.is_down, details
        # At most one task tries a host, and only a running task can be hurried or stopped.
        if Action.START_TRIES in actions:
            assert not state.tried, details
        if Action.HURRY in actions:
            assert state.tried or Action.START_TRIES in actions, details
        if Action.STOP_TRIES in actions:
            assert state.tried, details
        # A host with an open connection goes down only if it leaves the cluster or announces its
        # stop.
        if facts.has_pool and event not in (Event.LEFT, Event.DRAINS) and state.up != Up.DRAINING:
            assert new_state.up is state.up or new_state.up is Up.UP, details


def test_a_draining_host_is_tried_only_by_the_schedule() -> None:
    """A draining host is tried only according to its schedule.

    A draining host would soon close new connections, so no event causes an attempt at once.
    """
    for state, event, facts, new_state, actions in every_transition():
        if event is Event.DRAINS and not state.up.is_down:
            assert new_state.up is Up.DRAINING
            assert actions[0] is Action.MARK_DRAINING
            assert new_state.tried or facts.is_ignored
        if event is Event.LOOK_AGAIN and state.up is Up.DRAINING:
            assert actions == []
        if event is Event.TRY_FAILED and state.up is Up.DRAINING:
            assert new_state.up is (Up.DRAINING if facts.is_draining else Up.DOWN)


def test_a_host_that_is_lost_comes_back_or_waits_for_the_cluster() -> None:
    """A lost host is either tried again, or waits for a report that it is up."""
    for state, event, facts, new_state, actions in every_transition():
        if event is Event.CONNECTION_FAILED and not (facts.has_pool and facts.is_served):
            assert new_state.tried, (state, facts, actions)
        if event is Event.REPORTED_UP and state.up is not Up.UP:
            assert actions in ([Action.HURRY], [Action.BRING_UP]), (state, facts)
