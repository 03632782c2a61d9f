"""Modules that are imported when they are first used, and forks meanwhile.

Python gives each module a lock while it is imported. A thread that imports one when another thread
forks leaves that lock held in the child, where the next import of the module waits forever. So
imports of this package that happen at run time go through `import_module`, and a fork waits until
none is under way.
"""

from __future__ import annotations

import importlib
import os
import sys
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

from cassandra._threads import Lock, get_ident

__all__ = ["Deferred", "at_first_cluster", "call_at_first_cluster", "import_all", "import_module"]

PATIENCE = 5.0  # seconds that a fork waits at most

# Held for an instant only, never during an import: two threads may each wait for a module that the
# other one imports, and Python sees to that.
_lock = Lock()
_is_held = False  # by the thread that forks
_importers: list[int] = []  # the threads that import, once for each import
_waiting: list[Callable[[], object]] = []  # they import what comes with the first cluster
_imported = 0  # so many of them have been called


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


class _Name:
    """Stands in a module for a name of another one, until that is imported.

    Its first use imports it, and puts what it stands for in its place.
    """

    __slots__ = ("_home", "_module", "_name")

    def __init__(self, module: str, name: str, home: str) -> None:
        self._module = module
        self._name = name
        self._home = home

    def __repr__(self) -> str:
        return f"<{self._home}.{self._name}, imported at the first use>"

    def _load(self) -> Any:
        found = import_module(self._home)
        is_module = self._home.rpartition(".")[2] == self._name
        value = found if is_module else getattr(found, self._name)
        names = vars(sys.modules[self._module])
        # A program may have patched it meanwhile.
        if names.get(self._name) is self:
            names[self._name] = value
        return value

    def __getattr__(self, name: str) -> Any:
        return getattr(self._load(), name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._load()(*args, **kwargs)

    # For ``isinstance``, also if it is one of several classes there.
    def __instancecheck__(self, instance: object) -> bool:
        return isinstance(instance, self._load())


def at_first_cluster(module: str, **homes: str) -> None:
    """Give `module` names that are imported when the first `Cluster` object is made.

    For what only connecting and executing need: programs that import the driver and do not connect
    do not wait for it. When a cluster is made, the module's names are what they would be after an
    ordinary import, so that nothing is imported or looked up on the way of a request. Functions
    that are called before may use the names as well: to call them, to look at their attributes,
    for ``isinstance``.

    Type checkers must see the names themselves::

        if TYPE_CHECKING:
            from cassandra.engine.request import Request
        else:
            at_first_cluster(__name__, Request="cassandra.engine.request")

    :param module: the module's ``__name__``.
    :param homes: the module that has each name, or that is what the name stands for.
    """
    names = vars(sys.modules[module])
    # Put there from here: a function's global names are not asked of the module's `__getattr__`.
    for name, home in homes.items():
        names[name] = _Name(module, name, home)
        _waiting.append(names[name]._load)


def call_at_first_cluster(load: Callable[[], object]) -> None:
    """Call a function when the first `Cluster` object is made.

    :param load: imports something, and may be called again.
    """
    _waiting.append(load)


def import_all() -> None:
    """Import all that waits for the first cluster; called in the thread that makes one."""
    global _imported
    # What is imported may bring more of them. A second thread that makes a cluster meanwhile does
    # the same, so that each of them finds everything there when it goes on. Later clusters find
    # nothing left but the names of modules that were imported since.
    at = _imported
    while at < len(_waiting):
        _waiting[at]()
        at += 1
    _imported = max(_imported, at)


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
