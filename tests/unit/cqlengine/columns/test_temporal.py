"""Columns of times."""

from __future__ import annotations

import datetime

import pytest

from cassandra.cqlengine import columns as c


def test_truncated_microseconds(monkeypatch: pytest.MonkeyPatch) -> None:
    moment = datetime.datetime(2020, 1, 1, microsecond=123456)
    assert c.DateTime().to_python(moment) == moment
    monkeypatch.setattr(c.DateTime, "truncate_microseconds", True)
    assert c.DateTime().to_python(moment) == datetime.datetime(2020, 1, 1, microsecond=123000)
