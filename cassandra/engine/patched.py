"""Programs whose threads were replaced by greenlets: the engine's loop cannot run in one, so they
are refused instead of hanging.
"""

from __future__ import annotations

import sys
from typing import Any


def refuse_green_threads() -> None:
    """Raise RuntimeError if gevent or eventlet has replaced this process's threads.

    A green thread runs when others wait by its library's means. An event loop waits in the kernel,
    so that the first blocking call would never come back.
    """
    for library, is_patched, way_out in (
        ("gevent", _gevent_has_threads, "gevent.monkey.patch_all(thread=False)"),
        ("eventlet", _eventlet_has_threads, "eventlet.monkey_patch(thread=False)"),
    ):
        if is_patched():
            raise RuntimeError(
                f"{library} has replaced this process's threads (monkey patching), and the "
                f"driver's event loop needs a real one: patch with {way_out}, so that blocking "
                "calls of the driver block the process's thread, "
                "or use cassandra.aio in a process that is not patched"
            )


def _gevent_has_threads() -> bool:
    # Looked up, not imported: what the process has not imported cannot have patched it.
    monkey: Any = sys.modules.get("gevent.monkey")
    return monkey is not None and any(
        monkey.is_module_patched(name) for name in ("thread", "_thread", "threading")
    )


def _eventlet_has_threads() -> bool:
    patcher: Any = sys.modules.get("eventlet.patcher")
    return patcher is not None and bool(patcher.is_monkey_patched("thread"))
