"""Options of an operation: copied, never changed."""

from __future__ import annotations

from typing import Any

import pytest

from cassandra.cqlengine.options import DEFAULTS, NOT_SET, Options


def values(options: Options) -> dict[str, Any]:
    return {name: getattr(options, name) for name in Options.__slots__}


def test_a_copy_has_all_that_is_not_changed() -> None:
    first = DEFAULTS.but(ttl=5, keyspace="ks")
    second = first.but(ttl=6)
    assert values(second) == {**values(DEFAULTS), "ttl": 6, "keyspace": "ks"}
    assert (first.ttl, DEFAULTS.ttl, DEFAULTS.timeout) == (5, None, NOT_SET)


def test_what_is_for_one_write_does_not_stay() -> None:
    batch: Any = object()
    once = {"batch": batch, "if_exists": True, "if_not_exists": True, "timestamp": 5}
    later = DEFAULTS.but(**once, conditionals=(1,), ttl=7, consistency=4).for_later()
    # A batch lets its instances go by itself: later writes must not overtake those in it.
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
    assert DEFAULTS.but(**changes).is_conditional is expected
