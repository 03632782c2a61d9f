"""Identifies the caller of a request, which is an asyncio task or a thread, by a number."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any
from weakref import WeakKeyDictionary

from cassandra._threads import get_ident

# The number of each task. We do not use id(): a new task may get the id of a task that has ended
# but still has requests in a queue. The numbers are negative, so that they differ from the
# identifiers of threads.
_numbers: WeakKeyDictionary[asyncio.Task[Any], int] = WeakKeyDictionary()
_next_number = itertools.count(-1, -1).__next__


def current_caller() -> object:
    """Return a number that identifies the running task or thread."""
    try:
        task = asyncio.current_task()
    except RuntimeError:  # no loop runs in this thread
        return get_ident()
    if task is None:
        return get_ident()
    number = _numbers.get(task)
    return number if number is not None else _numbers.setdefault(task, _next_number())
