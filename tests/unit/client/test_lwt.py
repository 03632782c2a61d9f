"""`applied`, which tells whether a conditional statement was applied."""

from __future__ import annotations

from typing import Any

import pytest

from cassandra.client.lwt import applied


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([], False),
        ([(1, True)], True),
        ([(1, False)], False),
        ([(1, True), (2, True)], True),
        ([(1, True), (2, False)], False),
    ],
)
def test_all_rows_must_be_applied(rows: list[Any], expected: bool) -> None:
    """A conditional batch counts as applied only if all rows of its result say so.

    The result has a row for each statement of the batch.
    """
    applied_index = 1
    assert applied(rows, applied_index) is expected
