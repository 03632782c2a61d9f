"""Imports at run time that are safe when another thread forks.

Python locks each module while it is imported. If another thread forks during an import, the lock
stays held in the child process, and the next import of that module in the child waits forever.
Imports at run time therefore use `import_module`, and a fork waits until no such import is running.
"""

from __future__ import annotations

import importlib
import os
import sys
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

from cassandra._forks import renew_in_child
from cassandra._threads import RLock, get_ident

PATIENCE = 5.0  # a fork waits at most this many seconds for imports

# Protects `_importers`. No thread holds this lock while it imports a module: two threads may each
# wait for a module that the other thread imports, and Python resolves such a deadlock only for its
# own locks. Only the owner of an RLock can release it, so `_in_parent` need not know whether
# `_before_fork` has acquired it: the exception of a signal handler may have interrupted that.
_lock = RLock()
_importers: list[int] = []  # the identity of the importing thread for each running import
_waiting: list[Callable[[], object]] = []  # functions that import what the first cluster needs
_imported = 0  # the number of functions in `_waiting` that were called

# The package itself, and its modules that `_put_back` puts back into `sys.modules`. `_known` is
# filled when the first cluster is created, and by each later import.
_package = sys.modules[__package__ or ""]
_known: dict[str, ModuleType] = {}


def import_module(name: str) -> ModuleType:
    """Import a module by name, or return it if it is already imported.

    :raises ImportError: if there is no such module.
    """
    is_new = name not in sys.modules
    if is_new:
        _put_back()
    thread = get_ident()
    # Register the import before Python locks the module, so that a fork waits for it.
    with _lock:
        _importers.append(thread)
    try:
        module = importlib.import_module(name)
    finally:
        with _lock:
            # Remove only one entry, because the imports of a thread may be nested.
            _importers.remove(thread)
    # Before the first cluster is created, `_known` is empty: do not add to it here, because
    # `import_all` later adds all modules together.
    if is_new and _known:
        _remember()
    return module


def _remember() -> None:
    """Remember the modules of the package that are imported now."""
    for name, module in list(sys.modules.items()):
        if name.startswith("cassandra."):
            _known.setdefault(name, module)


def _put_back() -> None:
    """Put modules of the package back into `sys.modules` that somebody has removed there.

    ``mock.patch.dict(sys.modules, ...)`` removes all modules that were imported within its block,
    for example by the first cluster. Modules that were imported earlier still refer to the removed
    modules. If a removed module were imported again, there would be two copies of it, and the
    classes of one copy would not be the classes of the other.
    """
    # If the package itself was removed, too, the application wants to import the whole package
    # again: put nothing back.
    if sys.modules.get(_package.__name__) is _package:
        for name, module in _known.items():
            sys.modules.setdefault(name, module)


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


class NotInstalled:
    """Replaces, in type hints, a class of an optional package that is not installed."""

    def __class_getitem__(cls, item: object) -> type[NotInstalled]:
        return cls


class OptionalPackage(Deferred):
    """An optional package, such as pandas, whose classes are only named in annotations.

    If the package is not installed, each of its names is `NotInstalled`. So `typing.get_type_hints`
    works with and without the package. Use this class like `Deferred`.
    """

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        # Do not import the package for names such as __wrapped__, which tools that inspect modules
        # look up.
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            return super().__getattr__(name)
        except ImportError:
            return NotInstalled


class _Name:
    """A placeholder in a module for a name from another module that is not imported yet.

    On first use, the placeholder imports the other module, and replaces itself by the real object.
    """

    __slots__ = ("_home", "_module", "_name")

    def __init__(self, module: str, name: str, home: str) -> None:
        self._module = module
        self._name = name
        self._home = home

    def __repr__(self) -> str:
        return f"<{self._home}.{self._name}, imported at the first use>"

    def _load(self) -> Any:
        """Import the object, and put it in the place of this placeholder."""
        module = import_module(self._home)
        # The name may stand for the module itself, or for an object in it.
        is_module = self._home.rpartition(".")[2] == self._name
        value = module if is_module else getattr(module, self._name)
        module_globals = vars(sys.modules[self._module])
        # Do not overwrite the name if user code has patched it in the meantime.
        if module_globals.get(self._name) is self:
            module_globals[self._name] = value
        return value

    def __getattr__(self, name: str) -> Any:
        return getattr(self._load(), name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._load()(*args, **kwargs)

    # Python calls this method for ``isinstance(value, (placeholder, OtherClass))``.
    def __instancecheck__(self, instance: object) -> bool:
        return isinstance(instance, self._load())


def at_first_cluster(module: str, **homes: str) -> None:
    """Add names to `module` that are imported when the first `Cluster` object is created.

    Use this for names that are only needed to connect and to execute, so that applications which
    import the driver without connecting import less. When a cluster is created, the placeholders
    are replaced by the objects themselves, so that requests are not slower than with an ordinary
    import. Code that runs earlier may call the placeholders, access their attributes, and use them
    in ``isinstance``.

    Type checkers need the names themselves::

        if TYPE_CHECKING:
            from cassandra.engine.request import Request
        else:
            at_first_cluster(__name__, Request="cassandra.engine.request")

    :param module: the module's ``__name__``.
    :param homes: for each name, the module that defines it. If the name is the last part of the
        module's name, the object is the module itself.
    """
    module_globals = vars(sys.modules[module])
    # The placeholders must be globals, because a function that uses a global name does not call the
    # module's `__getattr__`.
    for name, home in homes.items():
        module_globals[name] = _Name(module, name, home)
        _waiting.append(module_globals[name]._load)


def call_at_first_cluster(load: Callable[[], object]) -> None:
    """Call a function when the first `Cluster` object is created.

    :param load: imports modules. It may be called more than once.
    """
    _waiting.append(load)


def import_all() -> None:
    """Import everything that the first cluster needs; called in the thread that creates it."""
    global _imported
    # An import may register more functions, so the list may grow during the loop. If two threads
    # create clusters at the same time, both call all functions, so that everything is imported when
    # either call returns. Later clusters only call functions that were registered since.
    index = _imported
    if _known:
        _put_back()
    if index < len(_waiting):
        while index < len(_waiting):
            _waiting[index]()
            index += 1
        _remember()
    _imported = max(_imported, index)


def _before_fork() -> None:
    """Wait until no other thread is importing, and hold the lock during the fork."""
    thread = get_ident()
    deadline = time.monotonic() + PATIENCE
    while True:
        is_held = _lock.acquire(timeout=PATIENCE)
        # Do not wait for imports of the forking thread itself: that thread continues them in the
        # child.
        is_quiet = all(importer == thread for importer in _importers)
        # If the lock is not free in time, fork all the same: waiting forever would be worse.
        if not is_held or is_quiet or time.monotonic() > deadline:
            return  # keep the lock, so that no import begins before the fork
        _lock.release()
        # Sleep for a short time, and check again. We do not use a notification, because then each
        # import would have to check whether a fork is waiting.
        time.sleep(0.001)


def _in_parent() -> None:
    try:
        _lock.release()
    except RuntimeError:  # `_before_fork` has not acquired it
        pass


@renew_in_child
def _in_child() -> None:
    """Renew the lock of this module in a forked child."""
    # In the child, the lock is still held from before the fork: replace it. Only the forking thread
    # exists in the child, so keep only the imports of this thread.
    global _lock
    thread = get_ident()
    _importers[:] = [importer for importer in _importers if importer == thread]
    _lock = RLock()


# Windows has no fork.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_in_parent)
