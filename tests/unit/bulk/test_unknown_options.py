"""Tests of the error for an unknown option, which says what to write instead."""

from __future__ import annotations

import pytest

from cassandra.bulk import options, scan_options
from cassandra.bulk.unknown_options import unknown_option

NAMES = ["concurrency", "limit"]


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("nrows", "write limit=n"),
        ("concurency", "did you mean 'concurrency'?"),
        ("xyz", "there are concurrency, limit"),
    ],
)
def test_the_error_has_advice(name: str, advice: str) -> None:
    """The advice is a replacement, a similar name, or the list of all options.

    The replacement is known for names that other libraries use.
    """
    error = unknown_option("a call has no option", name, NAMES, {"nrows": "write limit=n"})
    assert isinstance(error, TypeError)
    assert str(error) == f"a call has no option {name!r}; {advice}"


@pytest.mark.parametrize("name", ["workers", "threads", "parallelism", "max_workers"])
def test_calls_know_other_names_of_their_concurrency(name: str) -> None:
    """Loads and scans know names that other libraries use for the option `concurrency`."""
    for check in (options.load_options, scan_options.scan_options):
        with pytest.raises(TypeError, match=f"option '{name}'; write concurrency=n"):
            check({name: 5})
