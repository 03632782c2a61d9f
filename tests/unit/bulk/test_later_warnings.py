"""Warnings that one thread collects are shown later, by another one."""

from __future__ import annotations

import pytest

from cassandra.bulk.later_warnings import collecting, show, warn


def test_collected_warnings_are_shown_once(recwarn: pytest.WarningsRecorder) -> None:
    messages: list[str] = []
    with collecting(messages):
        warn("first")
        warn("second")
    assert not recwarn.list
    show(messages)
    show(messages)
    assert [str(each.message) for each in recwarn.list] == ["first", "second"]
    warn("at once")
    assert str(recwarn.list[-1].message) == "at once"
