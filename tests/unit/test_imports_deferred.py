"""`Deferred` imports its module at the first use."""

from __future__ import annotations

import pytest

from cassandra._imports import Deferred


def test_a_deferred_module_is_imported_at_the_first_attribute_access() -> None:
    missing = Deferred("cassandra.no_such_module")
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        _ = missing.anything
    assert Deferred("cassandra.limits").__name__ == "cassandra.limits"
