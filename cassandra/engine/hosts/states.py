"""States of hosts as a table: (state, event) -> (state, actions), without connections or a clock.

Theory of operation. A host is up when a pool to it is ready. It is down when its last connection
broke, or none could be opened, and the conviction policy agrees. Events of the server only hurry
that along: connections are trusted before status events. Beside that a host may be tried: then one
task opens connections to it by the schedule of the reconnection policy.

The state is not kept here: `HostWatch` reads it off the host and its tries before each event.

`TABLE` has a row of rules for each event. A rule applies if its condition holds for the facts of
the moment, which the caller gathers (`Facts`). All rules of a row are looked at in order, each with
the state that the ones before it have left. `HostWatch` carries the actions out.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import NamedTuple

__all__ = ["TABLE", "Action", "Event", "Facts", "State", "Up", "transition"]


class Up(enum.Enum):
    """The states of a host."""

    UNKNOWN = "unknown"  # nobody has tried to connect to it yet
    UP = "up"
    DOWN = "down"
    GIVEN_UP = "given up"  # down, and not tried until the cluster says that it is up

    @property
    def is_down(self) -> bool:
        """Return True if the host counts as down."""
        return self in (Up.DOWN, Up.GIVEN_UP)


class State(NamedTuple):
    """A host's state, and if it is being tried."""

    up: Up = Up.UNKNOWN
    tried: bool = False


class Event(enum.Enum):
    """The events of a host."""

    ANSWERS = "a session has a pool to it, or nobody needs one"
    CONNECTION_FAILED = "a connection to it broke, or could not be opened"
    TRY_FAILED = "a try to reach it again has failed"
    TRIES_ENDED = "no further try is made"
    SAID_UP = "the cluster says that it is up"
    SAID_DOWN = "the cluster says that it is down"
    LOOK_AGAIN = "the cluster may have said, unheard, that it is up"
    RELOCATED = "it is in another data centre or rack"
    LEFT = "it has left the cluster"


class Action(enum.Enum):
    """The actions that follow an event."""

    RESET = "forget the failures that the conviction policy has counted"
    MARK_UP = "mark it up, and tell the listeners"
    MARK_DOWN = "mark it down, and tell the listeners"
    GIVE_UP = "remember that it is not tried any more"
    START_TRIES = "begin to try it, by the schedule of the reconnection policy"
    HURRY = "make the next try now, and the following ones by a new schedule"
    BEGIN_ANEW = "make the next tries by a new schedule"
    STOP_TRIES = "stop trying it"
    BRING_UP = "open the pools that sessions want"
    PLACE_ANEW = "tell load balancing policies that it went and came back"
    FORGET = "close the pools to it, and tell the listeners that it is gone"


class Facts(NamedTuple):
    """The facts that decide beside the event, at its moment.

    :param convicted: the conviction policy says that the host is down.
    :param has_pool: a session has open connections to it.
    :param is_served: each session that wants connections to it has some.
    :param is_ignored: no policy wants connections to it.
    """

    convicted: bool = False
    has_pool: bool = False
    is_served: bool = True
    is_ignored: bool = False


Condition = Callable[[State, Facts], bool]


class Rule(NamedTuple):
    """If `condition` holds, `action` is due.

    `up` and `tried` are the state from then on; None leaves it as it is.
    """

    condition: Condition
    action: Action
    up: Up | None = None
    tried: bool | None = None


def _always(state: State, facts: Facts) -> bool:
    return True


def _is_lost(state: State, facts: Facts) -> bool:
    # A session that still has a connection knows better than one that could not get any.
    return facts.convicted and not facts.has_pool and not state.up.is_down


def _is_missing(state: State, facts: Facts) -> bool:
    # A session may be without connections although the host is not convicted, or another session
    # has some.
    return not state.tried and not (facts.has_pool and facts.is_served)


_LOSE = Rule(_is_lost, Action.MARK_DOWN, Up.DOWN)
_HURRY = Rule(lambda state, facts: state.tried, Action.HURRY)

TABLE: dict[Event, Sequence[Rule]] = {
    Event.ANSWERS: (
        Rule(lambda state, facts: state.up is Up.UP, Action.RESET),
        Rule(lambda state, facts: state.up is not Up.UP, Action.MARK_UP, Up.UP),
    ),
    Event.CONNECTION_FAILED: (_LOSE, Rule(_is_missing, Action.START_TRIES, tried=True)),
    Event.TRY_FAILED: (_LOSE,),
    Event.TRIES_ENDED: (
        Rule(
            lambda state, facts: not facts.has_pool and not state.up.is_down,
            Action.MARK_DOWN,
            Up.DOWN,
        ),
        Rule(lambda state, facts: not facts.has_pool, Action.GIVE_UP, Up.GIVEN_UP),
    ),
    Event.SAID_UP: (
        _HURRY,
        Rule(lambda state, facts: not state.tried and state.up is not Up.UP, Action.BRING_UP),
    ),
    # Believed only if no connection to it is open. One that nobody wants is not tried either: the
    # cluster will say when it is up.
    Event.SAID_DOWN: (
        Rule(
            lambda state, facts: (
                not facts.has_pool
                and not state.up.is_down
                and (facts.is_ignored or facts.convicted)
            ),
            Action.MARK_DOWN,
            Up.DOWN,
        ),
        # It has been up meanwhile: what it does is news, and it may be back soon.
        Rule(
            lambda state, facts: not facts.has_pool and not facts.is_ignored and state.tried,
            Action.BEGIN_ANEW,
        ),
        Rule(
            lambda state, facts: not facts.has_pool and not facts.is_ignored and not state.tried,
            Action.START_TRIES,
            tried=True,
        ),
    ),
    Event.LOOK_AGAIN: (
        Rule(
            lambda state, facts: state.up is Up.GIVEN_UP and not state.tried,
            Action.START_TRIES,
            tried=True,
        ),
        Rule(lambda state, facts: state.up.is_down and state.tried, Action.HURRY),
        Rule(lambda state, facts: state.up.is_down and not state.tried, Action.BRING_UP),
    ),
    # One that is down may be wanted only now, and nobody has tried it before.
    Event.RELOCATED: (
        Rule(
            lambda state, facts: state.up.is_down and not facts.is_ignored and state.tried,
            Action.HURRY,
        ),
        Rule(
            lambda state, facts: state.up.is_down and not facts.is_ignored and not state.tried,
            Action.BRING_UP,
        ),
        Rule(lambda state, facts: not state.up.is_down, Action.PLACE_ANEW),
    ),
    Event.LEFT: (
        Rule(lambda state, facts: state.tried, Action.STOP_TRIES, tried=False),
        Rule(_always, Action.FORGET, Up.DOWN),
    ),
}


def transition(state: State, event: Event, facts: Facts) -> tuple[State, list[Action]]:
    """Return the state after `event`, and the actions that are due, in their order."""
    actions = []
    for condition, action, up, tried in TABLE[event]:
        if condition(state, facts):
            actions.append(action)
            state = State(state.up if up is None else up, state.tried if tried is None else tried)
    return state, actions
