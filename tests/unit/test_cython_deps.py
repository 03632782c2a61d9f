"""Tests of constants that say which compiled or optional parts are installed."""

from __future__ import annotations

from cassandra import cython_deps
from cassandra._impl import implementation


def test_what_is_there() -> None:
    """The constants must say whether NumPy is installed and the compiled modules are in use."""
    assert cython_deps.HAVE_NUMPY is True
    assert (implementation == "c") == cython_deps.HAVE_CYTHON
