"""`SchemaChanges`: which changes came after a given one, and whether they affect a statement."""

from __future__ import annotations

from typing import Any

import pytest

from cassandra.engine.prepare.changes import LATEST_CHANGES, SchemaChanges

STATEMENT: Any = "a statement"


def is_affected(statement: Any) -> bool:
    return statement is STATEMENT


def is_not_affected(statement: Any) -> bool:
    return False


def test_only_later_changes_matter() -> None:
    changes = SchemaChanges()
    assert not changes.have_affected(STATEMENT, since=0)
    changes = changes.with_change(is_affected).with_change(is_not_affected)
    assert [changes.have_affected(STATEMENT, since=total) for total in (0, 1, 2)] == [
        True,
        False,
        False,
    ]


@pytest.mark.parametrize("count", [LATEST_CHANGES, LATEST_CHANGES + 1])
def test_changes_that_are_not_known_any_more_may_have_affected_every_statement(count: int) -> None:
    changes = SchemaChanges()
    for _ in range(count):
        changes = changes.with_change(is_not_affected)
    assert changes.total == count
    assert len(changes.latest) == LATEST_CHANGES
    assert changes.have_affected(STATEMENT, since=0) == (count > LATEST_CHANGES)
    assert not changes.have_affected(STATEMENT, since=1)
