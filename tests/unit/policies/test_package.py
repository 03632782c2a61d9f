"""`cassandra.policies` as a whole: each policy is there, also those that are imported late."""

from __future__ import annotations

import pytest

from cassandra import policies


@pytest.mark.parametrize("name", policies.__all__)
def test_each_name_is_there_and_says_so(name: str) -> None:
    found = getattr(policies, name)
    assert name in dir(policies)
    if isinstance(found, type) and name not in ("ColDesc", "WriteType"):
        assert found.__module__ == "cassandra.policies"


def test_an_unknown_name() -> None:
    with pytest.raises(AttributeError, match="no attribute 'NoPolicy'"):
        _ = policies.NoPolicy  # type: ignore[attr-defined, unused-ignore]
