"""`in_order`, which gives policies a copy of a read that names its serial consistency level.

If a policy sees this level, it orders the replicas in the same way for all clients.
"""

from __future__ import annotations

import copy
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from cassandra import ConsistencyLevel
from cassandra.engine.serial_reads import in_order
from cassandra.query import SimpleStatement

SERIAL, LOCAL_SERIAL = ConsistencyLevel.SERIAL, ConsistencyLevel.LOCAL_SERIAL


@pytest.mark.parametrize("level", [SERIAL, LOCAL_SERIAL])
def test_a_serial_read_without_a_level_gets_the_requests_level(level: int) -> None:
    """If a read gets a serial level from its profile, the policy gets a copy that has this level.

    The application's own statement does not change.
    """
    statement = SimpleStatement("SELECT 1", routing_key=b"k", keyspace="ks")
    passed = in_order(statement, level)
    assert passed.consistency_level == level
    assert passed.routing_key == b"k"
    assert passed.keyspace == "ks"
    assert isinstance(passed, SimpleStatement)
    assert statement.consistency_level is None


@pytest.mark.parametrize(
    ("statement", "level"),
    [
        (SimpleStatement("SELECT 1", routing_key=b"k"), ConsistencyLevel.QUORUM),
        (SimpleStatement("SELECT 1", routing_key=b"k"), None),
        (SimpleStatement("SELECT 1"), SERIAL),
        (SimpleStatement("SELECT 1", routing_key=b"k", consistency_level=SERIAL), SERIAL),
        ("SELECT 1", SERIAL),
    ],
)
def test_other_statements_are_passed_unchanged(statement: object, level: int | None) -> None:
    """A statement is passed unchanged if the policy needs no copy of it.

    The policy needs no copy for a query string, for a level that is not serial, without a routing
    key, or if the statement itself has the serial level.
    """
    assert in_order(statement, level) is statement


@pytest.mark.parametrize("copy_of", [copy.copy, copy.deepcopy])
def test_a_policy_may_copy_the_statement(copy_of: Callable[[Any], Any]) -> None:
    read = SimpleStatement("SELECT 1", fetch_size=7, routing_key=b"k", keyspace="ks")
    copied = copy_of(in_order(read, SERIAL))
    assert copied.fetch_size == 7
    assert copied.consistency_level == SERIAL


def test_a_policy_may_note_something_on_the_statement() -> None:
    """What a policy sets is set on the statement of the application, as without a serial level."""

    class OwnStatement(SimpleStatement):
        pass

    statement: Any = OwnStatement("SELECT 1", routing_key=b"k", keyspace="ks")
    passed: Any = in_order(statement, SERIAL)
    passed.planned_by = "me"
    passed.custom_payload = {"a": b"1"}
    assert statement.planned_by == "me"
    assert statement.custom_payload == {"a": b"1"}
    del passed.planned_by
    assert not hasattr(statement, "planned_by")
    passed.consistency_level = LOCAL_SERIAL
    assert passed.consistency_level == statement.consistency_level == LOCAL_SERIAL
    with pytest.raises(AttributeError):
        del passed.planned_by
    assert copy.copy(passed).consistency_level == LOCAL_SERIAL


def test_a_policy_may_use_the_statement_as_a_key() -> None:
    """The copy for the policy equals the statement, and may be referred to weakly."""
    statement = SimpleStatement("SELECT 1", routing_key=b"k")
    other = SimpleStatement("SELECT 1", routing_key=b"k")
    passed: Any = in_order(statement, SERIAL)
    assert {statement: 1}[passed] == 1
    assert {passed: 1}[in_order(statement, SERIAL)] == 1
    assert statement == passed
    assert passed != other
    assert passed != in_order(other, SERIAL)
    assert weakref.WeakKeyDictionary({passed: 1})[statement] == 1
    assert repr(passed) == repr(statement)
