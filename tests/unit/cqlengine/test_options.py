"""Test `Options`, the options of a mapper operation, which are copied when one is changed."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from cassandra.cqlengine import columns
from cassandra.cqlengine.models import Model
from cassandra.cqlengine.options import DEFAULTS, NOT_SET, Options, checked_ttl, seconds_advice


def values(options: Options) -> dict[str, Any]:
    """Return all options by name."""
    return {name: getattr(options, name) for name in Options.__slots__}


def test_a_copy_keeps_all_options_that_are_not_changed() -> None:
    """`with_changes` returns a copy with the other options, and leaves the original unchanged."""
    first = DEFAULTS.with_changes(ttl=5, keyspace="ks")
    second = first.with_changes(ttl=6)
    assert values(second) == {**values(DEFAULTS), "ttl": 6, "keyspace": "ks"}
    # The original options are unchanged.
    assert first.ttl == 5
    assert DEFAULTS.ttl is None
    assert DEFAULTS.timeout is NOT_SET


def test_for_later_drops_the_timestamp() -> None:
    """`for_later` returns the options for later writes of an instance, without the timestamp.

    The other options stay, such as conditions and the batch. A later write outside of the batch
    would be executed before earlier writes that are in the batch.
    """
    batch: Any = object()
    for_all_writes = {
        "if_exists": True, "if_not_exists": True, "conditionals": (1,), "ttl": 7,
        "consistency": 4, "batch": batch,
    }  # fmt: skip
    options = DEFAULTS.with_changes(timestamp=5, **for_all_writes)
    later = options.for_later(options.timestamp)
    reused = {"if_exists", "if_not_exists", "conditionals"}
    assert values(later) == {**values(DEFAULTS), **for_all_writes, "reused": reused}
    assert later.for_later(None) is later
    assert DEFAULTS.for_later(None) is DEFAULTS
    # The argument is the timestamp that the write has used. Here, another timestamp was set during
    # the write, so it is kept.
    assert options.for_later(None).timestamp == 5


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, (False, False)),
        ({"ttl": 5}, (False, False)),
        ({"if_exists": True}, (False, True)),
        ({"if_not_exists": True}, (True, False)),
        ({"conditionals": (1,)}, (False, True)),
    ],
)
def test_lightweight_transactions(changes: dict[str, Any], expected: tuple[bool, bool]) -> None:
    """`is_conditional` says if a write is a lightweight transaction.

    INSERT is a lightweight transaction with other options than UPDATE and DELETE; the argument is
    True for INSERT.
    """
    options = DEFAULTS.with_changes(**changes)
    assert (options.is_conditional(True), options.is_conditional(False)) == expected


def test_advice_on_seconds() -> None:
    """`seconds_advice` says how to convert a wrong TTL to seconds, if this is known."""
    assert seconds_advice(timedelta(hours=1)) == ": write int(value.total_seconds())"
    assert seconds_advice("60") == ": write 60"
    assert seconds_advice("long") == seconds_advice(None) == ""


class Row(Model):
    id = columns.Integer(primary_key=True)


@pytest.mark.parametrize(
    ("ttl", "message"),
    [
        (2**31, "a ttl is at most 2147483647 seconds, not 2147483648"),
        (-1, "a ttl is a number of seconds, not -1"),
        (True, "a ttl is a number of seconds, not True"),
        (5.5, r"a ttl is a number of seconds, not 5\.5"),
        ("5", "a ttl is a number of seconds, not '5': write 5"),
    ],
)
def test_wrong_ttls_are_refused(ttl: Any, message: str) -> None:
    """`ttl` of classes, querysets and instances refuses what is no number of seconds."""
    for function in (Row.ttl, Row.objects.ttl, Row(id=1).ttl):
        with pytest.raises(ValueError, match=message):
            function(ttl)


def test_ttls_are_seconds() -> None:
    """A TTL is None or a number of seconds of at most 31 bits, of any class of integers."""
    for ttl in (None, 0, 5, 2**31 - 1):
        assert checked_ttl(ttl) == ttl
    numpy = pytest.importorskip("numpy")
    assert type(checked_ttl(numpy.int64(5))) is int
