"""The name of a table is derived from the name of its model."""

from __future__ import annotations

import pytest

from cassandra.cqlengine.naming import snake_case


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Person", "person"),
        ("ExampleModel", "example_model"),
        ("HTTPLog", "httplog"),
        # As in cassandra-driver, a digit counts as neither a lower-case nor an upper-case letter.
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
    """A name is changed to lower case with underscores. Of a long name, the last 48 characters are
    kept.
    """
    assert snake_case(name) == expected
