"""The rules for the states of hosts: (state, event) -> (new state, actions). They do no I/O.

A host is up when a session has a pool to it. It is down if its last connection broke, or if no
connection could be opened, and the conviction policy agrees. Status events of the server only make
these changes happen earlier: if a connection is open, a report that the host is down is ignored. In
addition, a host may be "tried": a reconnector (a background task) tries to open a connection to it
with the delays of the reconnection policy.

A host that announces that it will stop soon is "draining". It counts as down at once, but its
requests in flight are still answered. New connections to it are tried with the delays of the
reconnection policy, and not earlier, because a node that is stopping would soon close a new
connection. The host becomes "down" when no request is in flight on it, and an attempt to reach it
has failed or the cluster has reported it down.

This module does not store states. `HostWatch` reads the state from the host and its reconnector
before each event, and carries out the actions. `TABLE` has a list of rules for each event. A rule
applies if its condition is true for the state and for the `Facts`, which `HostWatch` collects. The
rules of an event are checked in order, and each rule sees the state after the earlier rules.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import NamedTuple


class Up(enum.Enum):
    """The states of a host."""

    UNKNOWN = "unknown"  # nobody has tried to connect to the host yet
    UP = "up"
    DOWN = "down"
    DRAINING = "draining"  # will stop soon: takes no new requests, but completes those in flight
    GIVEN_UP = "given up"  # down; nobody tries to reach it until an event starts a new attempt

    @property
    def is_down(self) -> bool:
        """True if the host counts as down."""
        return self in (Up.DOWN, Up.DRAINING, Up.GIVEN_UP)


class State(NamedTuple):
    """A host's state, and whether a reconnector is trying it."""

    up: Up = Up.UNKNOWN
    tried: bool = False


class Event(enum.Enum):
    """The events of a host."""

    ANSWERS = "a session has a pool to it, or nobody needs one"
    CONNECTION_FAILED = "a connection to it broke, or could not be opened"
    TRY_FAILED = "a try to reach it again has failed"
    TRIES_ENDED = "no further try is made"
    REPORTED_UP = "the cluster says that it is up"
    REPORTED_DOWN = "the cluster says that it is down"
    LOOK_AGAIN = "a report of the cluster that it is up may have been missed"
    DRAINS = "it will stop soon, and ends what is in flight"
    RELOCATED = "it is in another data centre or rack"
    WANTED = "a policy that ignored it wants connections to it now"
    LEFT = "it has left the cluster"


class Action(enum.Enum):
    """The actions that follow an event."""

    RESET = "forget the failures that the conviction policy has counted"
    MARK_UP = "mark it up, and notify the listeners"
    MARK_DOWN = "mark it down, and notify the listeners"
    MARK_DRAINING = "mark it as draining, and report it down to the listeners"
    MARK_DRAINED = "mark it down; the listeners know already"
    GIVE_UP = "remember that it is not tried any more"
    START_TRIES = "begin to try it, by the schedule of the reconnection policy"
    HURRY = "make the next try now, and the following ones by a new schedule"
    RESTART_SCHEDULE = "make the next tries by a new schedule"
    STOP_TRIES = "stop trying it"
    BRING_UP = "open the pools that sessions want"
    PROBE = "see by one connection whether it answers, and only then mark it up"
    RELOCATE = "report to load balancing policies that it went and came back"
    FORGET = "close the pools to it, and report to the listeners that it is gone"


class Facts(NamedTuple):
    """The facts about a host that the rules need, in addition to its state and the event.

    :param convicted: True if the conviction policy considers the host down.
    :param has_pool: True if a session has a pool to the host.
    :param is_served: True if each session that wants connections to the host has connections.
    :param is_ignored: True if no policy wants connections to the host.
    :param is_draining: True if requests are in flight on connections that the host will close soon,
        as it has announced.
    """

    convicted: bool = False
    has_pool: bool = False
    is_served: bool = True
    is_ignored: bool = False
    is_draining: bool = False


Condition = Callable[[State, Facts], bool]


class Rule(NamedTuple):
    """One rule of the table: if `condition` is true, `action` must be carried out.

    `up` and `tried` are the parts of the new state; None leaves a part unchanged.
    """

    condition: Condition
    action: Action
    up: Up | None = None
    tried: bool | None = None


def _always(state: State, facts: Facts) -> bool:
    return True


def _is_lost(state: State, facts: Facts) -> bool:
    # If one session could not open a connection but another session has a pool, the host is not
    # down.
    return facts.convicted and not facts.has_pool and not state.up.is_down


def _lacks_connections(state: State, facts: Facts) -> bool:
    # A reconnector is needed if any session lacks the connections that it wants. It is needed even
    # if another session has connections, or if the conviction policy does not consider the host
    # down.
    return not state.tried and not (facts.has_pool and facts.is_served)


def _is_drained(state: State, facts: Facts) -> bool:
    return state.up is Up.DRAINING and not facts.is_draining


def _is_gone(state: State, facts: Facts) -> bool:
    # DRAINING is not included, because such a host may still respond, and its reconnector is
    # running.
    return state.up in (Up.DOWN, Up.GIVEN_UP)


_DRAINED = Rule(_is_drained, Action.MARK_DRAINED, Up.DOWN)
_LOST = Rule(_is_lost, Action.MARK_DOWN, Up.DOWN)
_HURRY = Rule(lambda state, facts: state.tried, Action.HURRY)

TABLE: dict[Event, Sequence[Rule]] = {
    Event.ANSWERS: (
        Rule(lambda state, facts: state.up is Up.UP, Action.RESET),
        Rule(lambda state, facts: state.up is not Up.UP, Action.MARK_UP, Up.UP),
    ),
    Event.CONNECTION_FAILED: (_LOST, Rule(_lacks_connections, Action.START_TRIES, tried=True)),
    Event.TRY_FAILED: (_DRAINED, _LOST),
    Event.TRIES_ENDED: (
        Rule(
            lambda state, facts: not facts.has_pool and not state.up.is_down,
            Action.MARK_DOWN,
            Up.DOWN,
        ),
        Rule(lambda state, facts: not facts.has_pool, Action.GIVE_UP, Up.GIVEN_UP),
    ),
    Event.REPORTED_UP: (
        _HURRY,
        Rule(lambda state, facts: not state.tried and state.up is not Up.UP, Action.BRING_UP),
    ),
    # This report has an effect only if no session has a pool to the host. If all policies ignore
    # the host, it is marked as down, but nobody tries to reach it; the cluster will report it up
    # later.
    Event.REPORTED_DOWN: (
        _DRAINED,
        Rule(
            lambda state, facts: (
                not facts.has_pool
                and not state.up.is_down
                and (facts.is_ignored or facts.convicted)
            ),
            Action.MARK_DOWN,
            Up.DOWN,
        ),
        # The cluster reports a change, so the host was up since our last attempt, and may be back
        # soon. So begin again with short delays.
        Rule(
            lambda state, facts: not facts.has_pool and not facts.is_ignored and state.tried,
            Action.RESTART_SCHEDULE,
        ),
        Rule(
            lambda state, facts: not facts.has_pool and not facts.is_ignored and not state.tried,
            Action.START_TRIES,
            tried=True,
        ),
    ),
    # A host that was given up gets a new reconnector (first rule), which the second rule then lets
    # try at once.
    Event.LOOK_AGAIN: (
        Rule(
            lambda state, facts: (
                state.up is Up.GIVEN_UP and not state.tried and not facts.is_ignored
            ),
            Action.START_TRIES,
            tried=True,
        ),
        Rule(
            lambda state, facts: _is_gone(state, facts) and state.tried,
            Action.HURRY,
        ),
        Rule(
            lambda state, facts: (
                _is_gone(state, facts) and not state.tried and not facts.is_ignored
            ),
            Action.BRING_UP,
        ),
        # If the host is ignored, no session will open a pool that shows whether the host responds,
        # and the cluster has not reported it up. So probe it with one connection.
        Rule(
            lambda state, facts: _is_gone(state, facts) and not state.tried and facts.is_ignored,
            Action.PROBE,
        ),
    ),
    # The host itself announces that it will stop, so the conviction policy is not asked.
    Event.DRAINS: (
        Rule(lambda state, facts: not state.up.is_down, Action.MARK_DRAINING, Up.DRAINING),
        Rule(
            lambda state, facts: (
                state.up is Up.DRAINING and not facts.is_ignored and not state.tried
            ),
            Action.START_TRIES,
            tried=True,
        ),
    ),
    # The policies may have ignored the host at its old location, so that nobody tries to reach it.
    # They may want it at its new location.
    Event.RELOCATED: (
        Rule(
            lambda state, facts: state.up.is_down and not facts.is_ignored and state.tried,
            Action.HURRY,
        ),
        Rule(
            lambda state, facts: state.up.is_down and not facts.is_ignored and not state.tried,
            Action.BRING_UP,
        ),
        Rule(lambda state, facts: not state.up.is_down, Action.RELOCATE),
    ),
    # A session wants connections to the host again. While all policies ignored the host, nobody
    # tried to reach it, so open the pools now.
    Event.WANTED: (
        Rule(lambda state, facts: state.up is Up.DOWN and not state.tried, Action.BRING_UP),
    ),
    Event.LEFT: (
        Rule(lambda state, facts: state.tried, Action.STOP_TRIES, tried=False),
        Rule(_always, Action.FORGET, Up.DOWN),
    ),
}


def transition(state: State, event: Event, facts: Facts) -> tuple[State, list[Action]]:
    """Return the state after `event`, and the actions to carry out, in order."""
    actions = []
    for condition, action, up, tried in TABLE[event]:
        if condition(state, facts):
            actions.append(action)
            state = State(state.up if up is None else up, state.tried if tried is None else tried)
    return state, actions
