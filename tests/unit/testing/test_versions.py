"""Versions of Cassandra that local nodes may have."""

from __future__ import annotations

import pytest

from cassandra.testing.versions import parse_version


@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        ("5.0.9", "5.0.9"),
        ("6.0", "6.0-alpha2"),
        ("5.0", "5.0.9"),
        ("4.1", "4.1.10"),
        ("4.0", "4.0.19"),
        ("4.1.3", "4.1.3"),
        ("5.0-beta1", "5.0-beta1"),
    ],
)
def test_version(argument: str, expected: str) -> None:
    """A version of two numbers stands for the newest known release of its series."""
    assert str(parse_version(argument)) == expected


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("five", "not a version"),
        ("5", "not a version"),
        ("3.11.4", "it knows 6.0.x, 5.0.x, 4.1.x, 4.0.x"),
        ("7.0", "cannot be run"),
    ],
)
def test_version_that_cannot_be_run(argument: str, message: str) -> None:
    """A text that is no version, and a version of an unknown series, raise ValueError."""
    with pytest.raises(ValueError, match=message):
        parse_version(argument)
