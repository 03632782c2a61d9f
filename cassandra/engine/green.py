"""Replacements for selectors if gevent or eventlet has patched the process."""

from __future__ import annotations

import selectors
import sys
from typing import Any

from cassandra._threads import green_library


def new_selector() -> selectors.BaseSelector | None:
    """Return an unpatched selector, which waits in the kernel, or None if `selectors` is unpatched.

    None lets asyncio create its default selector.

    :raises RuntimeError: under eventlet, where the original selectors are not available.
    """
    # gevent keeps the original selectors. eventlet does not.
    monkey: Any = sys.modules.get("gevent.monkey")
    if monkey is not None and monkey.is_module_patched("selectors"):
        selector: selectors.BaseSelector = monkey.get_original("selectors", "DefaultSelector")()
        return selector
    if green_library() == "eventlet":
        raise RuntimeError(
            "eventlet has replaced this process's threads and selectors (monkey patching), and the "
            "driver's event loop needs real ones: install uvloop, which has its own"
        )
    return None
