"""Modules that are imported when they are first used, and forks meanwhile.

Python gives each module a lock while it is imported. A thread that imports one when another thread
forks leaves that lock held in the child, where the next import of the module waits forever. So
imports of this package that happen at run time go through `import_module`, and a fork waits until
none is under way.
"""

from __future__ import annotations

import importlib
import os
import time
from types import ModuleType
from typing import Any

from cassandra._threads import Lock, get_ident

__all__ = ["Deferred", "import_module"]

PATIENCE = 5.0  # seconds that a fork waits at most

# Held for an instant only, never during an import: two threads may each wait for a module that the
# other one imports, and Python sees to that.
_lock = Lock()
_is_held = False  # by the thread that forks
_importers: list[int] = []  # the threads that import, once for each import


def import_module(name: str) -> ModuleType:
    """Import the module of this name, or return the one that is there.

    :raises ImportError: if there is none.
    """
    thread = get_ident()
    # Before the import takes the module's lock: a fork that begins in between waits already.
    with _lock:
        _importers.append(thread)
    try:
        return importlib.import_module(name)
    finally:
        with _lock:
            _importers.remove(thread)


class Deferred:
    """A module that is imported when the first of its names is asked for.

    Type checkers must see the module itself, so that they know its names and their types::

        if TYPE_CHECKING:
            from cassandra.bulk import scan
        else:
            scan = Deferred("cassandra.bulk.scan")

    :param name: the module's full name.
    """

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._name), name)


def _before_fork() -> None:
    global _is_held
    thread = get_ident()
    deadline = time.monotonic() + PATIENCE
    while True:
        _is_held = _lock.acquire(timeout=PATIENCE)
        # A module may fork while it is imported: its own thread goes on in the child.
        is_quiet = all(importer == thread for importer in _importers)
        if not _is_held or is_quiet or time.monotonic() > deadline:
            return  # with the lock: no import begins before the fork
        _lock.release()
        # Asked again and again: to be woken, each import would have to look for forks at its end.
        time.sleep(0.001)


def _in_parent() -> None:
    if _is_held:
        _lock.release()


def _in_child() -> None:
    # The parent's lock is held in the child, by a thread that is not there.
    global _lock
    thread = get_ident()
    _importers[:] = [importer for importer in _importers if importer == thread]
    _lock = Lock()


# Windows has no fork.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_in_parent, after_in_child=_in_child)
