"""Test `snake_case`, which derives the name of a table from the name of its model."""

from __future__ import annotations

import pytest

from cassandra.cqlengine.naming import snake_case


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Person", "person"),
        ("ExampleModel", "example_model"),
        ("HTTPLog", "httplog"),
        # A digit counts as neither a lowercase nor an uppercase letter, as in cassandra-driver.
        ("Level2Cache", "level2cache"),
        ("OAuth2Token", "oauth2token"),
        ("S3Object", "s3object"),
        ("_Private", "private"),
        ("__VeryPrivate", "very_private"),
        ("a" * 60, "a" * 48),
        ("Long" + "X" * 60, "x" * 48),
    ],
)
def test_names(name: str, expected: str) -> None:
    """A model's name is changed to lower case with underscores.

    Only the last 48 characters of a long name are kept.
    """
    assert snake_case(name) == expected
