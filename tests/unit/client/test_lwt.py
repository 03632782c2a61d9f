"""The result of a conditional statement."""

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
def test_all_rows_have_to_say_so(rows: list[Any], expected: bool) -> None:
    assert applied(rows, 1) is expected
