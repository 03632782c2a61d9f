"""Names of tables are derived from names of models."""

from __future__ import annotations

import pytest

from cassandra.cqlengine.naming import snake_case


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Person", "person"),
        ("ExampleModel", "example_model"),
        ("HTTPLog", "httplog"),
        # As in cassandra-driver, a digit counts neither as a lower case nor as an upper case
        # letter.
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
    """Names become lower case with underscores; of long names, the last 48 characters are kept."""
    assert snake_case(name) == expected
