"""Names of tables."""

from __future__ import annotations

import pytest

from cassandra.cqlengine.naming import snake_case


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Person", "person"),
        ("ExampleModel", "example_model"),
        ("HTTPLog", "httplog"),
        ("Level2Cache", "level2_cache"),
        ("a" * 60, "a" * 48),
        ("Long" + "X" * 60, "x" * 48),
    ],
)
def test_names(name: str, expected: str) -> None:
    assert snake_case(name) == expected
