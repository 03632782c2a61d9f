"""Locks and forks: locks that a thread of the parent held at the fork are replaced in the child.

Nobody would ever release them there. All locks of the package that live longer than a call are
registered here: those of modules and classes by a function (`renew_in_child`), those of objects by
the object (`renewed`).
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from typing import Protocol, TypeVar

__all__ = ["renew_in_child", "renewed"]


class Renewable(Protocol):
    """An object with locks of its own."""

    def _renew_locks(self) -> None:
        """Called in a forked child, which has one thread: replace the locks."""


R = TypeVar("R", bound=Renewable)

_renewals: list[Callable[[], None]] = []
# Weak: being registered must not keep a session or a cache alive.
_objects: weakref.WeakSet[Renewable] = weakref.WeakSet()


def renew_in_child(renew: Callable[[], None]) -> Callable[[], None]:
    """Call `renew` in each forked child, in the order of registration. Also a decorator."""
    _renewals.append(renew)
    return renew


def renewed(holder: R) -> R:
    """Call ``holder._renew_locks()`` in each forked child for as long as `holder` lives.

    :returns: `holder`.
    """
    _objects.add(holder)
    return holder


def _in_child() -> None:
    # A copy with strong references: renewing may register more, and a set must not grow under
    # its loop.
    for holder in list(_objects):
        holder._renew_locks()
    for renew in _renewals:
        renew()


# Windows has no fork.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
