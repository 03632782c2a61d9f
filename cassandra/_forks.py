"""Replaces the package's locks in forked child processes.

A thread of the parent may hold a lock when another thread forks. The thread that holds the lock
does not exist in the child, so nobody would release the lock in the child. Therefore all locks of
the package that live longer than a call are registered here. For a lock of a module or class, a
function is registered with `renew_in_child`. For a lock of an object, the object is registered with
`renewed`.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from typing import Protocol, TypeVar


class Renewable(Protocol):
    """An object that has locks."""

    def _renew_locks(self) -> None:
        """Replace the locks. Called in a forked child, which has a single thread."""


R = TypeVar("R", bound=Renewable)

forks = 0
"""The number of forks between the process that imported this module and the current process."""

_process = os.getpid()  # the id of the process that has counted its forks in `forks`
_renewals: list[Callable[[], None]] = []  # the functions that `renew_in_child` has registered
# The references are weak, so that the registration does not keep an object alive.
_objects: weakref.WeakSet[Renewable] = weakref.WeakSet()


def renew_in_child(renew: Callable[[], None]) -> Callable[[], None]:
    """Register a function to be called in each forked child; can be used as a decorator.

    :returns: `renew`.
    """
    _renewals.append(renew)
    return renew


def renewed(holder: R) -> R:
    """Have ``holder._renew_locks()`` called in each forked child, as long as `holder` exists.

    :returns: `holder`.
    """
    _objects.add(holder)
    return holder


def _in_child() -> None:
    """Renew the locks of all registered objects in a forked child."""
    global forks, _process
    # Set this first, so that no other thread of the child renews the locks, too.
    _process = os.getpid()
    forks += 1
    # Iterate over a copy, because `_renew_locks` may register further objects.
    for holder in list(_objects):
        holder._renew_locks()
    for renew in _renewals:
        renew()


def renew_after_any_fork() -> None:
    """Renew the locks in a forked child, unless Python has done that after the fork.

    Python does it only if Python code has forked. uWSGI, for example, forks in C, and does not tell
    Python unless its option ``py-call-osafterfork`` is set. Call this function where the time of a
    system call does not matter: before a cluster connects or shuts down, and after a long wait.
    """
    if os.getpid() != _process:
        _in_child()


# Windows has no fork.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
