"""Tests of `StatementRegistry`, which finds prepared statements by their ID.

It does not keep the statements alive.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from itertools import count
from typing import Any

import pytest

from cassandra.engine.prepare.registry import StatementRegistry
from cassandra.query.prepared import PreparedStatement


def new_statement(query_id: bytes) -> PreparedStatement:
    """Return a prepared statement with this ID."""
    return PreparedStatement(
        column_metadata=[],
        query_id=query_id,
        routing_key_indexes=None,
        query="SELECT 1",
        keyspace="ks",
        protocol_version=5,
        result_metadata=None,
        result_metadata_id=None,
    )


@pytest.fixture(autouse=True)
def existing(monkeypatch: pytest.MonkeyPatch) -> list[PreparedStatement]:
    """The statements that exist but were not added to a registry; none at first."""
    statements: list[PreparedStatement] = []
    name = "cassandra.engine.prepare.registry.existing_statements"
    monkeypatch.setattr(name, lambda: statements)
    return statements


def test_statements_that_were_not_added_are_returned_for_changes_only(
    existing: list[PreparedStatement],
) -> None:
    """Copies, unpickled statements and those of other clusters may be executed with this one."""
    registry = StatementRegistry()
    added, copied, strange = new_statement(b"a"), new_statement(b"a"), new_statement(b"b")
    registry.add(added)
    existing += [added, copied, strange]
    assert list(registry.each()) == [added, copied, strange]
    assert registry.all_with(b"a") == [added, copied]
    # Only the statements that were added are prepared on hosts that come up, and are counted.
    assert list(registry.each_added_once()) == [added]
    assert len(registry) == 1


def test_statements_of_other_open_clusters_are_left_out(
    existing: list[PreparedStatement],
) -> None:
    """They may have other types there, and each costs a round trip if it is prepared again."""
    homes = [object(), object(), object()]
    statements = [new_statement(b"a") for _ in range(4)]
    for statement, home in zip(statements, homes, strict=False):
        statement.claim(home)
    registry = StatementRegistry(lambda: [homes[1]])
    registry.add(statements[0])
    existing += statements
    assert list(registry.each()) == [statements[0], *statements[2:]]
    assert registry.all_with(b"a") == [statements[0], *statements[2:]]


def test_one_of_several_statements_with_the_same_id_is_found() -> None:
    """A statement is found as long as the application refers to any statement with the ID."""
    registry = StatementRegistry()
    statements: list[Any] = [new_statement(b"a") for _ in range(3)]
    for statement in statements:
        registry.add(statement)
        registry.add(statement)  # a statement may be added twice
    # Delete the loop variable, which would keep the last statement alive.
    del statement
    while statements:
        assert any(registry.by_id(b"a") is statement for statement in statements)
        assert len(list(registry.each_added_once())) == 1
        del statements[0]
    assert registry.by_id(b"a") is None
    assert list(registry.each_added_once()) == []


def test_a_statement_whose_id_has_changed_is_found_by_its_new_id() -> None:
    """A statement whose id has changed is found by its new id, not by its old one.

    The id may change when the statement is prepared again. The old id may belong to another
    statement.
    """
    registry = StatementRegistry()
    first, second = new_statement(b"a"), new_statement(b"b")
    registry.add(first)
    registry.add(second)
    first.query_id = b"b"
    second.query_id = b"c"
    assert registry.by_id(b"a") is None
    # The first search moves the statements to their new ids, and the second search finds them
    # there.
    for _ in range(2):
        assert registry.by_id(b"b") is first
        assert registry.by_id(b"c") is second
    assert {prepared.query_id for prepared in registry.each_added_once()} == {b"b", b"c"}


def test_all_with_returns_the_statements_that_have_the_id_now() -> None:
    """`all_with` returns the statements that have the id now.

    A statement whose id has changed since it was added is found only by its new id.
    """
    registry = StatementRegistry()
    first, second, third, other = [new_statement(query_id) for query_id in (b"a", b"a", b"a", b"b")]
    # `add` returns the statement that was first added with this id.
    assert registry.add(first) is first
    assert registry.add(second) is first
    assert registry.add(third) is first
    assert registry.add(other) is other
    assert registry.all_with(b"a") == [first, second, third]
    first.query_id = b"c"
    assert registry.all_with(b"a") == [second, third]
    later = new_statement(b"a")
    assert registry.add(later) is later
    assert registry.all_with(b"c") == [first]
    assert len(registry) == 5


def test_statements_dropped_during_an_iteration_are_skipped() -> None:
    """`each_added_once` visits the statements that exist when the iteration begins.

    It skips statements that are freed before it reaches them.
    """
    registry = StatementRegistry()
    statements: list[Any] = [new_statement(b"%d" % number) for number in range(3)]
    for statement in statements:
        registry.add(statement)
    iterator = registry.each_added_once()
    assert next(iterator) is statements[0]
    # Drop the second statement. The loop variable referred to the third statement.
    del statement, statements[1]
    registry.add(new_statement(b"later"))
    # A statement that is added during the iteration is not visited.
    assert [prepared.query_id for prepared in iterator] == [b"2"]


def test_another_loop_may_look_for_statements_while_some_are_added() -> None:
    """One thread may call `all_with` while another thread adds statements.

    In the driver, workers search for statements while the first event loop adds others.
    """
    registry = StatementRegistry()
    is_finished = threading.Event()

    def add_statements() -> None:
        """Add new statements to the registry until `is_finished` is set."""
        # Only the last 50 statements stay alive.
        recent: deque[PreparedStatement] = deque(maxlen=50)
        for number in count():
            recent.append(new_statement(b"%d" % number))
            registry.add(recent[-1])
            if is_finished.is_set():
                return

    first = new_statement(b"a")
    registry.add(first)
    previous_interval = sys.getswitchinterval()
    # Let the interpreter switch between the threads very often.
    sys.setswitchinterval(1e-6)
    thread = threading.Thread(target=add_statements)
    thread.start()
    try:
        for _ in range(1000):
            assert registry.all_with(b"a") == [first]
    finally:
        is_finished.set()
        thread.join()
        sys.setswitchinterval(previous_interval)


def test_each_statement_is_returned_even_if_its_id_changes_meanwhile() -> None:
    """Unlike `each_added_once`, `each` also returns statements with equal ids."""
    registry = StatementRegistry()
    statements = [new_statement(query_id) for query_id in (b"a", b"a", b"b")]
    for statement in statements:
        registry.add(statement)
    visited = []
    for statement in registry.each():
        statement.query_id = b"z"
        visited.append(statement)
    assert {id(statement) for statement in visited} == set(map(id, statements))
    assert len(list(registry.each_added_once())) == 1
