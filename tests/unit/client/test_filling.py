"""Starting as many executions as there is room for."""

from __future__ import annotations

from typing import Any

import pytest

from cassandra.client.filling import fill


class Collector:
    """Makes requests of some statements; a string is one that is not on the happy path."""

    def __init__(self, room: int) -> None:
        self.room, self.sent = room, 0
        self.unusual: Any = None

    def requests(self, statements: Any, burst: list[Any], most: int) -> None:
        self.unusual = None
        while self.sent < self.room and len(burst) < most:
            statement = next(statements, None)
            if statement is None:
                return
            if statement == "damaged":
                raise ValueError("damaged")
            self.sent += 1
            if isinstance(statement, str):
                self.unusual = (statement, None)
                return
            burst.append(statement)


@pytest.mark.parametrize(
    ("statements", "room", "most", "expected"),
    [
        ([1, 2, 3], 10, 10, [[1, 2, 3]]),
        ([1, 2, 3], 2, 10, [[1, 2]]),
        ([1, 2, 3], 10, 2, [[1, 2], [3]]),
        ([1, "a", 2], 10, 10, [[1], ("a", None, 1), [2]]),
        (["a", "b"], 10, 10, [("a", None, 0), ("b", None, 1)]),
        ([], 10, 10, []),
    ],
)
def test_requests_are_started_together(
    statements: list[Any], room: int, most: int, expected: list[Any]
) -> None:
    collector: Any = Collector(room)
    started: list[Any] = []
    fill(collector, iter(statements), most, started.append, lambda *other: started.append(other))
    assert started == expected


def test_what_was_made_before_an_error_is_started() -> None:
    collector: Any = Collector(10)
    started: list[Any] = []
    statements: Any = iter([1, 2, "damaged"])
    with pytest.raises(ValueError, match="damaged"):
        fill(collector, statements, 10, started.append, print)
    assert started == [[1, 2]]
