"""Tests of the generator of client timestamps, and of its warning."""

from __future__ import annotations

import logging
import time

import pytest

from cassandra.timestamps import MonotonicTimestampGenerator


def test_the_generator_warns_once_in_an_interval(caplog: pytest.LogCaptureFixture) -> None:
    generator = MonotonicTimestampGenerator(warning_threshold=1, warning_interval=3600)
    # This is a minute ahead of the clock.
    generator.last = time.time_ns() // 1000 + 60_000_000
    with caplog.at_level(logging.WARNING, "cassandra.timestamps"):
        first, second = generator(), generator()
    assert second == first + 1
    assert len(caplog.records) == 1
    assert "microseconds ahead of the clock" in caplog.text


def test_warn_on_drift_false_disables_the_warning(caplog: pytest.LogCaptureFixture) -> None:
    generator = MonotonicTimestampGenerator(warn_on_drift=False)
    generator.last = time.time_ns() // 1000 + 60_000_000
    with caplog.at_level(logging.WARNING, "cassandra.timestamps"):
        generator()
    assert not caplog.records


def test_settings_of_the_generator_may_be_changed() -> None:
    generator = MonotonicTimestampGenerator()
    assert generator.warn_on_drift is True
    assert generator.warning_threshold == 1.0
    assert generator.warning_interval == 1.0
    generator.warning_threshold = 2.5
    assert generator.warning_threshold == 2.5
    # The arguments are the clock and the last timestamp.
    assert generator._next_timestamp(10, 5) == 10
    assert generator._next_timestamp(10, 10) == 11
    assert generator.last == 11


@pytest.mark.parametrize("threshold", [float("inf"), 1e30])
def test_an_infinite_threshold_never_warns(
    threshold: float, caplog: pytest.LogCaptureFixture
) -> None:
    generator = MonotonicTimestampGenerator(warning_threshold=threshold)
    generator.last = 2**62
    with caplog.at_level(logging.WARNING, "cassandra.timestamps"):
        assert generator() == 2**62 + 1
    assert not caplog.records
    assert generator.warning_threshold == float("inf")
    generator.warning_threshold = 1.0
    assert generator.warning_threshold == 1.0
    generator.warning_threshold = threshold
    assert generator.warning_threshold == float("inf")


def test_a_threshold_that_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="NaN"):
        MonotonicTimestampGenerator(warning_threshold=float("nan"))
