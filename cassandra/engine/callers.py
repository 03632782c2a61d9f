"""The caller of a request: the task of asyncio, or the thread."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any
from weakref import WeakKeyDictionary

from cassandra._threads import get_ident

__all__ = ["current_caller"]

# Not by address: a task that is made where another one has just ended would be taken for that one,
# whose requests may still be in a queue. Negative, so that none is a thread's number.
_numbers: WeakKeyDictionary[asyncio.Task[Any], int] = WeakKeyDictionary()
_next_number = itertools.count(-1, -1).__next__


def current_caller() -> object:
    """Return what tells the caller from others: a number."""
    try:
        task = asyncio.current_task()
    except RuntimeError:  # no loop runs in this thread
        return get_ident()
    if task is None:
        return get_ident()
    number = _numbers.get(task)
    return number if number is not None else _numbers.setdefault(task, _next_number())
