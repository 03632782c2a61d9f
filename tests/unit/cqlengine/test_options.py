"""The options of an operation are copied when one is set, never changed in place."""

from __future__ import annotations

from typing import Any

import pytest

from cassandra.cqlengine.options import DEFAULTS, NOT_SET, Options


def values(options: Options) -> dict[str, Any]:
    return {name: getattr(options, name) for name in Options.__slots__}


def test_a_copy_keeps_all_options_that_are_not_changed() -> None:
    first = DEFAULTS.with_changes(ttl=5, keyspace="ks")
    second = first.with_changes(ttl=6)
    assert values(second) == {**values(DEFAULTS), "ttl": 6, "keyspace": "ks"}
    assert (first.ttl, DEFAULTS.ttl, DEFAULTS.timeout) == (5, None, NOT_SET)


def test_for_later_drops_the_options_of_a_single_write() -> None:
    batch: Any = object()
    once = {"batch": batch, "if_exists": True, "if_not_exists": True, "timestamp": 5}
    later = DEFAULTS.with_changes(**once, conditionals=(1,), ttl=7, consistency=4).for_later()
    # The batch is kept, because later writes must join it, or else they would be executed before
    # those that are in it.
    assert values(later) == {**values(DEFAULTS), "ttl": 7, "consistency": 4, "batch": batch}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, False),
        ({"ttl": 5}, False),
        ({"if_exists": True}, True),
        ({"if_not_exists": True}, True),
        ({"conditionals": (1,)}, True),
    ],
)
def test_lightweight_transactions(changes: dict[str, Any], expected: bool) -> None:
    """With an option that is a condition, an operation is a lightweight transaction."""
    assert DEFAULTS.with_changes(**changes).is_conditional is expected
