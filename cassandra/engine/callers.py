"""The caller of a request: the task of asyncio, or the thread."""

from __future__ import annotations

import asyncio

from cassandra._threads import get_ident

__all__ = ["current_caller"]


def current_caller() -> object:
    """Return what tells the caller from others: a number."""
    try:
        task = asyncio.current_task()
    except RuntimeError:  # no loop runs in this thread
        return get_ident()
    return get_ident() if task is None else id(task)
