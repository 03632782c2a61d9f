"""The public path of each name of the testing package."""

from __future__ import annotations

import pytest

import cassandra.testing


def test_public_names_name_the_public_module() -> None:
    """All public names have the module `cassandra.testing` as their `__module__`."""
    for name in cassandra.testing.__all__:
        assert getattr(cassandra.testing, name).__module__ == "cassandra.testing"
    assert set(cassandra.testing.__all__) <= set(dir(cassandra.testing))
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = cassandra.testing.Nothing  # type: ignore[attr-defined, unused-ignore]
