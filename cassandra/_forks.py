"""Replaces the package's locks in forked child processes.

A thread of the parent may hold a lock when another thread forks. The thread that holds the lock
does not exist in the child, so the lock would never be released there. Therefore all locks of the
package that live longer than a call are registered here. For a lock of a module or class, register
a function with `renew_in_child`. For a lock of an object, register the object with `renewed`.
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
"""How often this process, and its ancestors since the import of this module, were forked."""

_renewals: list[Callable[[], None]] = []
# The references are weak, so that the registration does not keep an object alive.
_objects: weakref.WeakSet[Renewable] = weakref.WeakSet()


def renew_in_child(renew: Callable[[], None]) -> Callable[[], None]:
    """Register a function to be called in each forked child. Returns the function, so that this can
    be used as a decorator.
    """
    _renewals.append(renew)
    return renew


def renewed(holder: R) -> R:
    """Register an object: ``holder._renew_locks()`` is called in each forked child while it exists.

    :returns: `holder`.
    """
    _objects.add(holder)
    return holder


def _in_child() -> None:
    global forks
    forks += 1
    # Iterate over a copy, because `_renew_locks` may register further objects.
    for holder in list(_objects):
        holder._renew_locks()
    for renew in _renewals:
        renew()


# Windows has no fork.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
