"""The schedules of reconnection policies."""

from __future__ import annotations

import datetime
import itertools
from typing import Any

import pytest

from cassandra.policies.reconnection import (
    ConstantReconnectionPolicy,
    ExponentialReconnectionPolicy,
    ReconnectionPolicy,
    delays_of,
)


def test_a_failing_schedule_is_followed_by_constant_delays(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """If an application's schedule fails, the error is logged, and each further delay is 60 s.

    A schedule that ends without an error has no further delays.
    """

    class Failing(ReconnectionPolicy):
        def new_schedule(self) -> Any:
            yield 1
            yield "soon"

    assert list(itertools.islice(delays_of(Failing()), 3)) == [1, 60, 60]
    assert "could not convert string to float" in caplog.text
    assert list(delays_of(ConstantReconnectionPolicy(2, 1))) == [2]


def test_constant_reconnection() -> None:
    """A constant schedule repeats the delay `max_attempts` times, or endlessly."""
    assert list(ConstantReconnectionPolicy(2, 3).new_schedule()) == [2, 2, 2]
    forever = ConstantReconnectionPolicy(2, None).new_schedule()
    assert list(itertools.islice(forever, 100)) == [2] * 100
    with pytest.raises(ValueError, match="-1"):
        ConstantReconnectionPolicy(-1)


def test_exponential_reconnection_grows_to_its_limit() -> None:
    """The delays grow from the base delay to the maximum, and vary by up to 15 %."""
    delays = list(ExponentialReconnectionPolicy(1, 60, max_attempts=100).new_schedule())
    assert len(delays) == 100
    assert all(1 <= delay <= 60 for delay in delays)
    # Each delay differs by up to 15 % from the exact delay, which is 1 s at first, doubles each
    # time, and is 60 s from the seventh delay on.
    assert delays[0] <= 1.15
    assert min(delays[10:]) >= 0.85 * 60
    with pytest.raises(ValueError, match="less than base_delay"):
        ExponentialReconnectionPolicy(10, 1)


@pytest.mark.parametrize(
    ("delay", "message"),
    [
        ("5", r"is '5' of type str: write float\('5'\)"),
        (datetime.timedelta(seconds=5), r"write delay\.total_seconds\(\)"),
        (None, "delay must be a number of seconds, but is None"),
    ],
)
def test_delays_are_numbers(delay: Any, message: str) -> None:
    """A delay that is no number raises TypeError, which often says what to write."""
    with pytest.raises(TypeError, match=message):
        ConstantReconnectionPolicy(delay)
    with pytest.raises(TypeError, match="base_delay must be a number of seconds"):
        ExponentialReconnectionPolicy(delay, 60)
    with pytest.raises(TypeError, match="max_delay must be a number of seconds"):
        ExponentialReconnectionPolicy(1, delay)
