"""The two clocks of the driver, which a simulation may replace.

Code with access to an engine reads the clocks of its environment; see
`cassandra.engine.environment`. All other code (cqlengine, bulk operations, logs) calls the
functions of this module. They ask the simulation that runs the caller's event loop or thread.
Without a simulation they ask the system.

No other code in the package may read a system clock, except for the places that
``tests/house/test_clocks.py`` lists with reasons. Otherwise the seed of a simulation would not
determine the whole run.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from cassandra._threads import simulation

__all__ = ["monotonic", "wall_time_ns"]


def _running_loop() -> Any:
    """Return the event loop that runs in the calling thread, or None."""
    # Look asyncio up instead of importing it, which is slow. If it is not imported, there is no
    # loop.
    events: Any = sys.modules.get("asyncio.events")
    return None if events is None else events._get_running_loop()


def monotonic() -> float:
    """Return seconds of a clock that never goes back. In a simulation it is virtual."""
    loop = _running_loop()
    if loop is not None and hasattr(loop, "cassandra_environment"):
        return float(loop.time())
    simulated = simulation()
    return time.monotonic() if simulated is None else simulated.time()


def wall_time_ns() -> int:
    """Return nanoseconds since the Unix epoch, from a clock that may be set at any time.

    In a simulation the clock is virtual.
    """
    read: Callable[[], int] | None = getattr(_running_loop(), "wall_time_ns", None)
    if read is not None:
        return read()
    simulated = simulation()
    return time.time_ns() if simulated is None else simulated.wall_time_ns()
