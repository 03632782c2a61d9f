"""The options of an operation are copied when one is set, never changed in place."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from cassandra.cqlengine.options import DEFAULTS, NOT_SET, Options, seconds_advice


def values(options: Options) -> dict[str, Any]:
    """Return all options by name."""
    return {name: getattr(options, name) for name in Options.__slots__}


def test_a_copy_keeps_all_options_that_are_not_changed() -> None:
    first = DEFAULTS.with_changes(ttl=5, keyspace="ks")
    second = first.with_changes(ttl=6)
    assert values(second) == {**values(DEFAULTS), "ttl": 6, "keyspace": "ks"}
    # The originals are unchanged.
    assert first.ttl == 5
    assert DEFAULTS.ttl is None
    assert DEFAULTS.timeout is NOT_SET


def test_for_later_drops_the_options_of_a_single_write() -> None:
    """Conditions and the timestamp are for one write; the other options stay on the instance.

    The batch stays, too. A later write outside of the batch would be executed before the earlier
    writes that are in it.
    """
    batch: Any = object()
    for_one_write = {
        "if_exists": True,
        "if_not_exists": True,
        "timestamp": 5,
        "conditionals": (1,),
    }
    for_all_writes = {"ttl": 7, "consistency": 4, "batch": batch}
    options = DEFAULTS.with_changes(**for_one_write, **for_all_writes)
    assert values(options.for_later()) == {**values(DEFAULTS), **for_all_writes}


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


def test_advice_on_seconds() -> None:
    assert seconds_advice(timedelta(hours=1)) == ": write int(value.total_seconds())"
    assert seconds_advice("60") == ": write 60"
    assert seconds_advice("long") == seconds_advice(None) == ""
