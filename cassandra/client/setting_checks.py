"""Checks of single settings of a cluster."""

from __future__ import annotations

import datetime
import math

__all__ = ["TIMES", "as_timedelta", "check_seconds"]

# Settings in seconds, and the least value that each may have.
TIMES = {
    "connect_timeout": 0.0,
    "control_connection_timeout": 0.0,
    "idle_heartbeat_interval": 0.0,
    "idle_heartbeat_timeout": 0.0,
    "max_schema_agreement_wait": -math.inf,
    "schema_read_timeout": 0.0,
    "schema_event_refresh_window": -math.inf,
    "status_event_refresh_window": -math.inf,
    "topology_event_refresh_window": -math.inf,
}


def check_seconds(name: str, value: object, least: float) -> None:
    """Raise TypeError or ValueError unless `value` is a number of seconds or None."""
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{name} must be a number of seconds or None, but is {value!r}")
    # NaN would pass the comparison below.
    if math.isnan(value) or value == math.inf:
        raise ValueError(
            f"{name} must be a number of seconds, but is {value!r}; None is for no limit"
        )
    if value < least:
        raise ValueError(f"{name} must not be negative, but is {value}")


def as_timedelta(name: str, value: object) -> datetime.timedelta | None:
    """Return a time that may be given in seconds, too.

    :raises TypeError: if it is something else.
    :raises ValueError: if it is negative or no number.
    """
    if value is None or isinstance(value, datetime.timedelta):
        return value
    check_seconds(name, value, 0.0)
    assert isinstance(value, (int, float))
    return datetime.timedelta(seconds=value)
