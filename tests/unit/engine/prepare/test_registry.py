"""`StatementRegistry`, which finds prepared statements by their id without keeping them alive."""

from __future__ import annotations

import sys
import threading
from collections import deque
from itertools import count
from typing import Any

from cassandra.engine.prepare.registry import StatementRegistry
from cassandra.query.prepared import PreparedStatement


def statement(query_id: bytes) -> PreparedStatement:
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


def test_one_of_several_statements_with_the_same_id_is_found() -> None:
    registry = StatementRegistry()
    statements: list[Any] = [statement(b"a") for _ in range(3)]
    for prepared in statements:
        registry.add(prepared)
        registry.add(prepared)
    # Delete the loop variable, which would keep the last statement alive.
    del prepared
    while statements:
        assert any(registry.by_id(b"a") is prepared for prepared in statements)
        assert len(list(registry.each_once())) == 1
        del statements[0]
    assert registry.by_id(b"a") is None
    assert list(registry.each_once()) == []


def test_a_statement_whose_id_has_changed_is_found_by_its_new_id() -> None:
    registry = StatementRegistry()
    first, second = statement(b"a"), statement(b"b")
    registry.add(first)
    registry.add(second)
    first.query_id = b"b"
    second.query_id = b"c"
    assert registry.by_id(b"a") is None
    for _ in range(2):
        assert registry.by_id(b"b") is first
        assert registry.by_id(b"c") is second
    assert {prepared.query_id for prepared in registry.each_once()} == {b"b", b"c"}


def test_all_statements_with_an_id() -> None:
    registry = StatementRegistry()
    first, second, third, other = [statement(query_id) for query_id in (b"a", b"a", b"a", b"b")]
    added = [registry.add(prepared) for prepared in (first, second, third, other)]
    # `add` returns the statement that was first added with this id.
    assert added == [first, first, first, other]
    assert registry.all_with(b"a") == [first, second, third]
    first.query_id = b"c"
    assert registry.all_with(b"a") == [second, third]
    later = statement(b"a")
    assert registry.add(later) is later
    assert registry.all_with(b"c") == [first]
    assert len(registry) == 5


def test_statements_dropped_during_an_iteration_are_skipped() -> None:
    registry = StatementRegistry()
    statements: list[Any] = [statement(b"%d" % number) for number in range(3)]
    for added in statements:
        registry.add(added)
    iterator = registry.each_once()
    assert next(iterator) is statements[0]
    # Drop the second statement. (The loop variable refers to the third one.)
    del added, statements[1]
    registry.add(statement(b"later"))
    # A statement that is added during the iteration is not visited.
    assert [prepared.query_id for prepared in iterator] == [b"2"]


def test_another_loop_may_look_for_statements_while_some_are_added() -> None:
    """Workers look for all statements with an id, while the first loop adds others."""
    registry = StatementRegistry()
    is_over = threading.Event()

    def add_statements() -> None:
        recent: deque[PreparedStatement] = deque(maxlen=50)  # the earlier ones are freed
        for number in count():
            recent.append(statement(b"%d" % number))
            registry.add(recent[-1])
            if is_over.is_set():
                return

    first = statement(b"a")
    registry.add(first)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    thread = threading.Thread(target=add_statements)
    thread.start()
    try:
        for _ in range(1000):
            assert registry.all_with(b"a") == [first]
    finally:
        is_over.set()
        thread.join()
        sys.setswitchinterval(interval)
