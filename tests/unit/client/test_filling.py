"""`fill`, which starts requests as long as the collector has free slots."""

from __future__ import annotations

from typing import Any

import pytest

from cassandra.client.filling import fill


class Collector:
    """A fake collector for which integers are simple requests, and strings are other statements.

    Other statements are executed one by one. The string "damaged" raises an error.

    :param free_slots: how many statements may be taken.
    """

    def __init__(self, free_slots: int) -> None:
        self.free_slots, self.sent = free_slots, 0
        self.off_path: Any = None

    def requests(self, statements: Any, burst: list[Any], limit: int) -> None:
        """Add requests to `burst`, until it has `limit` requests or all slots are taken.

        A string ends the burst. It is stored in `off_path` with its parameters (None), because the
        caller has to execute this statement alone.
        """
        self.off_path = None
        while self.sent < self.free_slots and len(burst) < limit:
            statement = next(statements, None)
            if statement is None:
                return
            if statement == "damaged":
                raise ValueError("damaged")
            self.sent += 1
            if isinstance(statement, str):
                self.off_path = (statement, None)
                return
            burst.append(statement)


@pytest.mark.parametrize(
    ("statements", "free_slots", "limit", "expected"),
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
    statements: list[Any], free_slots: int, limit: int, expected: list[Any]
) -> None:
    """`fill` starts up to `limit` requests together.

    A statement for which the collector cannot create a request (here: a string) is started alone.
    """
    collector: Any = Collector(free_slots)
    started: list[Any] = []
    fill(collector, iter(statements), limit, started.append, lambda *other: started.append(other))
    # A list contains requests that were started together. A tuple is a statement that was started
    # alone, with its parameters (None) and its position.
    assert started == expected


def test_requests_before_an_error_are_started() -> None:
    """If the iterable of statements fails, the requests before the error are still started.

    Here, the third statement is damaged. `fill` starts two requests, and then raises the error.
    """
    collector: Any = Collector(10)
    started: list[Any] = []
    statements: Any = iter([1, 2, "damaged"])
    with pytest.raises(ValueError, match="damaged"):
        fill(collector, statements, 10, started.append, print)
    assert started == [[1, 2]]
