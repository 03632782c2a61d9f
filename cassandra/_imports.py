"""Imports at run time that are safe when another thread forks.

Python locks each module while it is imported. If another thread forks during an import, the lock
stays held in the child, where the next import of that module waits forever. Imports at run time
therefore use `import_module`, and a fork waits until no such import is running.
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

PATIENCE = 5.0  # maximum seconds that a fork waits

# Held only briefly, and never during an import: two threads may wait for modules that the other
# thread imports, and Python resolves that deadlock itself.
_lock = Lock()
_is_held = False  # by the forking thread
_importers: list[int] = []  # the importing threads, one entry per import
_waiting: list[Callable[[], object]] = []  # functions that import what the first cluster needs
_imported = 0  # the number of these functions that were called


def import_module(name: str) -> ModuleType:
    """Import a module by name, or return it if it is already imported.

    :raises ImportError: if there is no such module.
    """
    thread = get_ident()
    # Register before the import locks the module, so that a fork which begins in between waits.
    with _lock:
        _importers.append(thread)
    try:
        return importlib.import_module(name)
    finally:
        with _lock:
            _importers.remove(thread)


class Deferred:
    """A module that is imported when one of its names is first accessed.

    Type checkers need the module itself, to know its names and types::

        if TYPE_CHECKING:
            from cassandra.bulk import scan
        else:
            scan = Deferred("cassandra.bulk.scan")

    :param name: the full name of the module.
    """

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._name), name)


class _Name:
    """A placeholder in a module for a name from another module that is not imported yet.

    On first use it imports the other module, and replaces itself by the real object.
    """

    __slots__ = ("_home", "_module", "_name")

    def __init__(self, module: str, name: str, home: str) -> None:
        self._module = module
        self._name = name
        self._home = home

    def __repr__(self) -> str:
        return f"<{self._home}.{self._name}, imported at the first use>"

    def _load(self) -> Any:
        module = import_module(self._home)
        is_module = self._home.rpartition(".")[2] == self._name
        value = module if is_module else getattr(module, self._name)
        names = vars(sys.modules[self._module])
        # User code may have patched the name in the meantime.
        if names.get(self._name) is self:
            names[self._name] = value
        return value

    def __getattr__(self, name: str) -> Any:
        return getattr(self._load(), name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._load()(*args, **kwargs)

    # For ``isinstance``, even if it is one of several classes there.
    def __instancecheck__(self, instance: object) -> bool:
        return isinstance(instance, self._load())


def at_first_cluster(module: str, **homes: str) -> None:
    """Add names to `module` that are imported when the first `Cluster` object is created.

    Use this for names that only connecting and executing need, so that applications which import
    the driver without connecting need not wait for them. After a cluster is created, the module's
    names are the same as after an ordinary import, so that no request has to import or look up
    anything. Functions that are called earlier may use the names as well: to call them, to access
    their attributes, and for ``isinstance``.

    Type checkers need the names themselves::

        if TYPE_CHECKING:
            from cassandra.engine.request import Request
        else:
            at_first_cluster(__name__, Request="cassandra.engine.request")

    :param module: the module's ``__name__``.
    :param homes: for each name, the module that defines it, or the module that is the object.
    """
    names = vars(sys.modules[module])
    # Set them here: global names in functions do not call the module's `__getattr__`.
    for name, home in homes.items():
        names[name] = _Name(module, name, home)
        _waiting.append(names[name]._load)


def call_at_first_cluster(load: Callable[[], object]) -> None:
    """Call a function when the first `Cluster` object is created.

    :param load: imports something. It may be called again.
    """
    _waiting.append(load)


def import_all() -> None:
    """Import everything that the first cluster needs. Called in the thread that creates a
    cluster.
    """
    global _imported
    # An import may register more functions. If a second thread creates a cluster at the same time,
    # it does the same work, so that both threads find everything imported. Later clusters only load
    # names of modules that were imported since.
    index = _imported
    while index < len(_waiting):
        _waiting[index]()
        index += 1
    _imported = max(_imported, index)


def _before_fork() -> None:
    global _is_held
    thread = get_ident()
    deadline = time.monotonic() + PATIENCE
    while True:
        _is_held = _lock.acquire(timeout=PATIENCE)
        # A module may fork while it is imported. Its own thread continues in the child.
        is_quiet = all(importer == thread for importer in _importers)
        if not _is_held or is_quiet or time.monotonic() > deadline:
            return  # while holding the lock, so that no import begins before the fork
        _lock.release()
        # Poll: to notify us, each import would have to check for forks at its end.
        time.sleep(0.001)


def _in_parent() -> None:
    if _is_held:
        _lock.release()


def _in_child() -> None:
    # The parent's lock is held in the child, by a thread that does not exist there.
    global _lock
    thread = get_ident()
    _importers[:] = [importer for importer in _importers if importer == thread]
    _lock = Lock()


# Windows has no fork.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_in_parent, after_in_child=_in_child)
