"""Test the settings that all kinds of statements have, and the markers for unset values.

A copy of a statement has the same settings. The markers stay single objects, also after pickling.
"""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from cassandra.query.settings import FETCH_SIZE_UNSET, NOT_SET, SETTINGS, StatementSettings


class Statement(StatementSettings):
    __slots__ = ()


def test_defaults_of_all_settings() -> None:
    """`reset_settings` must set every setting to its default."""
    statement = Statement()
    statement.reset_settings()
    assert {name: getattr(statement, name) for name in SETTINGS} == {
        "consistency_level": None,
        "custom_payload": None,
        "fetch_size": FETCH_SIZE_UNSET,
        "is_idempotent": False,
        "retry_policy": None,
        "vector_type": None,
    }


def test_take_settings_copies_each_setting() -> None:
    """`take_settings` copies each setting of another statement."""
    source, target = Statement(), Statement()
    for number, name in enumerate(SETTINGS):
        setattr(source, name, number)
    target.take_settings(source)
    assert [getattr(target, name) for name in SETTINGS] == list(range(len(SETTINGS)))


@pytest.mark.parametrize("mark", [FETCH_SIZE_UNSET, NOT_SET])
def test_unpickled_marks_are_the_same_objects(mark: Any) -> None:
    """An unpickled FETCH_SIZE_UNSET or NOT_SET is the same object as the original."""
    assert pickle.loads(pickle.dumps(mark)) is mark
    assert repr(mark) in ("FETCH_SIZE_UNSET", "NOT_SET")
