"""The driver's two clocks: one that never goes back, and the wall clock. A simulation may replace
both.

Code with access to an engine reads the clocks of the engine's environment; see
`cassandra.engine.environment`. All other code (cqlengine, bulk operations, logs) calls the
functions of this module. If a simulation runs the caller's event loop or thread, they return its
virtual time; otherwise the system's.

No other code in the package may read a system clock, because the seed of a simulation must
determine the whole run. ``tests/house/test_clocks.py`` lists the exceptions with reasons.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from cassandra._threads import simulation

if TYPE_CHECKING:
    import asyncio


def running_loop() -> asyncio.AbstractEventLoop | None:
    """Return the event loop that runs in the calling thread, or None."""
    # Do not import asyncio, which takes long. If nobody has imported it, no loop is running.
    events: Any = sys.modules.get("asyncio.events")
    return None if events is None else events._get_running_loop()


def monotonic() -> float:
    """Return the seconds of a clock that never goes back; in a simulation, the virtual time."""
    loop = running_loop()
    if loop is not None and hasattr(loop, "cassandra_environment"):
        return float(loop.time())
    simulated = simulation()
    return time.monotonic() if simulated is None else simulated.time()


def wall_time_ns() -> int:
    """Return the nanoseconds since the Unix epoch, from a clock that may be adjusted at any time.
    In a simulation, return the virtual time.
    """
    # Only a simulated event loop has this method.
    loop_time_ns: Callable[[], int] | None = getattr(running_loop(), "wall_time_ns", None)
    if loop_time_ns is not None:
        return loop_time_ns()
    simulated = simulation()
    return time.time_ns() if simulated is None else simulated.wall_time_ns()
