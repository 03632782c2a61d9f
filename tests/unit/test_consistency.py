"""Tests of consistency levels, against native_protocol_v5.spec, section 3, [consistency]."""

from __future__ import annotations

import pytest

from cassandra import ConsistencyLevel
from cassandra.consistency import consistency_value_to_name, constant_of

NAMES = [
    "ANY", "ONE", "TWO", "THREE", "QUORUM", "ALL", "LOCAL_QUORUM", "EACH_QUORUM", "SERIAL",
    "LOCAL_SERIAL", "LOCAL_ONE",
]  # fmt: skip


def test_numbers_and_names() -> None:
    """Each level must have its number in the specification."""
    assert ConsistencyLevel.name_to_value == {name: number for number, name in enumerate(NAMES)}
    assert ConsistencyLevel.value_to_name == dict(enumerate(NAMES))
    assert [getattr(ConsistencyLevel, name) for name in NAMES] == list(range(len(NAMES)))


def test_serial_levels() -> None:
    """Only SERIAL and LOCAL_SERIAL must be serial levels."""
    serial = [
        name for name in NAMES if ConsistencyLevel.is_serial(ConsistencyLevel.name_to_value[name])
    ]
    assert serial == ["SERIAL", "LOCAL_SERIAL"]
    assert not ConsistencyLevel.is_serial(None)


def test_names_for_messages() -> None:
    """Levels that are unknown or not set must have a name for messages, too."""
    assert consistency_value_to_name(4) == "QUORUM"
    assert consistency_value_to_name(None) == "Not Set"
    assert consistency_value_to_name(99) == "unknown (99)"


@pytest.mark.parametrize(
    ("level", "advice"),
    [
        ("quorum", ": write ConsistencyLevel.QUORUM"),
        ("local-quorum", ": write ConsistencyLevel.LOCAL_QUORUM"),
        (3, ""),
    ],
)
def test_advice_for_levels_that_are_strings(level: object, advice: str) -> None:
    assert constant_of(level) == advice


def test_the_levels_are_named_for_a_string_that_is_like_none() -> None:
    assert "ConsistencyLevel.ONE, ConsistencyLevel.TWO" in constant_of("STRONG")
