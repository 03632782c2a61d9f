"""All policies are available in `cassandra.policies`, including those that are imported lazily."""

from __future__ import annotations

import pytest

from cassandra import policies


@pytest.mark.parametrize("name", policies.__all__)
def test_each_policy_names_the_public_module(name: str) -> None:
    """Each public name is in `dir`, and each policy names `cassandra.policies` as its module."""
    policy = getattr(policies, name)
    assert name in dir(policies)
    if isinstance(policy, type) and name not in ("ColDesc", "WriteType"):
        assert policy.__module__ == "cassandra.policies"


def test_an_unknown_name() -> None:
    """The package imports names lazily, but an unknown name raises the usual AttributeError."""
    with pytest.raises(AttributeError, match="no attribute 'NoPolicy'"):
        _ = policies.NoPolicy  # type: ignore[attr-defined, unused-ignore]
