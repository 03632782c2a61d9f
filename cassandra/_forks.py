"""Replaces locks in forked children if a thread of the parent may have held them at the fork.

In the child, nobody would ever release them. All locks of the package that live longer than a call
are registered here: locks of modules and classes by a function (`renew_in_child`), locks of objects
by the object (`renewed`).
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from typing import Protocol, TypeVar

__all__ = ["renew_in_child", "renewed"]


class Renewable(Protocol):
    """An object that has locks."""

    def _renew_locks(self) -> None:
        """Replace the locks. Called in a forked child, which has a single thread."""


R = TypeVar("R", bound=Renewable)

_renewals: list[Callable[[], None]] = []
# Weak references, so that the registration does not keep a session or a cache alive.
_objects: weakref.WeakSet[Renewable] = weakref.WeakSet()


def renew_in_child(renew: Callable[[], None]) -> Callable[[], None]:
    """Call `renew` in each forked child, in the order of registration. You can use it as a
    decorator.
    """
    _renewals.append(renew)
    return renew


def renewed(holder: R) -> R:
    """Call ``holder._renew_locks()`` in each forked child while `holder` exists.

    :returns: `holder`.
    """
    _objects.add(holder)
    return holder


def _in_child() -> None:
    # Copy to strong references, because renewing may register more objects, and a set must not
    # change during iteration.
    for holder in list(_objects):
        holder._renew_locks()
    for renew in _renewals:
        renew()


# Windows has no fork.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
