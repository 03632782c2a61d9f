"""Reconnection policies: their schedules."""

from __future__ import annotations

import itertools

import pytest

from cassandra.policies.reconnection import (
    ConstantReconnectionPolicy,
    ExponentialReconnectionPolicy,
)


def test_constant_reconnection() -> None:
    assert list(ConstantReconnectionPolicy(2, 3).new_schedule()) == [2, 2, 2]
    forever = ConstantReconnectionPolicy(2, None).new_schedule()
    assert list(itertools.islice(forever, 100)) == [2] * 100
    with pytest.raises(ValueError, match="-1"):
        ConstantReconnectionPolicy(-1)


def test_exponential_reconnection_grows_to_its_limit() -> None:
    delays = list(ExponentialReconnectionPolicy(1, 60, 100).new_schedule())
    assert len(delays) == 100
    assert all(1 <= delay <= 60 for delay in delays)
    assert delays[0] <= 1.15
    assert min(delays[10:]) >= 51
    with pytest.raises(ValueError, match="less than base_delay"):
        ExponentialReconnectionPolicy(10, 1)
