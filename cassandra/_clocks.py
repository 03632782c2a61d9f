"""The driver's two clocks, which a simulation may replace: monotonic time and wall-clock time.

Code with access to an engine reads the clocks of the engine's environment; see
`cassandra.engine.environment`. All other code (cqlengine, bulk operations, logs) calls the
functions of this module. If a simulation runs the caller's event loop or thread, the functions
return the simulation's virtual time; otherwise they return the system's time.

No other code in the package may read a system clock, because the seed of a simulation must
determine the whole simulated run. ``tests/house/test_clocks.py`` lists the exceptions with reasons.
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
    # Do not import asyncio here, because that takes long. If no code has imported it, no event loop
    # is running.
    events: Any = sys.modules.get("asyncio.events")
    return None if events is None else events._get_running_loop()


def monotonic() -> float:
    """Return the seconds of a clock that never goes back; in a simulation, the virtual time."""
    loop = running_loop()
    # Only a simulated event loop has this method. Its own clock is the virtual time.
    if loop is not None and hasattr(loop, "cassandra_environment"):
        return float(loop.time())
    simulated = simulation()
    return time.monotonic() if simulated is None else simulated.time()


def wall_time_ns() -> int:
    """Return the wall-clock time in nanoseconds since the Unix epoch.

    The system may adjust this clock at any time. In a simulation, return the virtual time.
    """
    # Only a simulated event loop has this method.
    loop_time_ns: Callable[[], int] | None = getattr(running_loop(), "wall_time_ns", None)
    if loop_time_ns is not None:
        return loop_time_ns()
    simulated = simulation()
    return time.time_ns() if simulated is None else simulated.wall_time_ns()
