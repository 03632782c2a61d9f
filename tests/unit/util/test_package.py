"""Test the public path of each name of `cassandra.util`."""

from __future__ import annotations

from cassandra import util


def test_public_paths() -> None:
    """Each class of `cassandra.util` names `cassandra.util` as its module."""
    for name in util.__all__:
        value = getattr(util, name)
        if isinstance(value, type) and name != "WeakSet":
            assert value.__module__ == "cassandra.util", name
