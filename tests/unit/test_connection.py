"""Tests of `cassandra.connection`, which has the names that applications import from it."""

from __future__ import annotations

import importlib

import pytest

from cassandra import connection
from cassandra.engine import endpoint


def test_names_are_the_objects_of_the_modules_that_define_them() -> None:
    """Each name must be the same object as in the module that defines it."""
    assert connection.DefaultEndPoint is endpoint.DefaultEndPoint
    for name, home in connection._HOME.items():
        assert getattr(connection, name) is getattr(importlib.import_module(home), name), name
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = connection.nothing


def test_locally_supported_compressions_are_the_installed_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # If another test has read the name, the module has stored it, so remove it.
    monkeypatch.delitem(vars(connection), "locally_supported_compressions", raising=False)
    compressions = connection.locally_supported_compressions
    assert set(compressions) <= {"lz4", "snappy"}
    # Reading the name again must return the same dict.
    assert connection.locally_supported_compressions is compressions
    for compress, decompress in compressions.values():
        assert decompress(compress(b"x" * 100)) == b"x" * 100
