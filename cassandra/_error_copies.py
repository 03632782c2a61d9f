"""Copies errors that several callers get, such as the requests on a connection that breaks."""

from __future__ import annotations

import copy
from typing import TypeVar

from cassandra.errors import DriverException

E = TypeVar("E", bound=BaseException)


def copy_of(error: E) -> E:
    """Return a copy of `error` for one of several callers that get the same error.

    An exception has room for the traceback, the context and the notes of one caller only. With one
    object, a caller's error would show what another caller was doing. An error that the driver
    keeps must not be raised either: its traceback would refer to the caller's frames, which may
    refer to the object that keeps the error.

    Errors of classes that are not of the driver or of Python are returned as they are, because
    their constructors may do anything.
    """
    if not isinstance(error, (DriverException, OSError)) or not _is_known(type(error)):
        return error
    duplicate = copy.copy(error)
    duplicate.__context__ = error.__context__
    duplicate.__cause__ = error.__cause__
    duplicate.__suppress_context__ = error.__suppress_context__
    # Strings that `add_note` has added, since Python 3.11. The copy must not share the list.
    notes = getattr(error, "__notes__", None)
    if notes is not None:
        vars(duplicate)["__notes__"] = list(notes)
    return duplicate


def _is_known(error_class: type[BaseException]) -> bool:
    """Return True for the error classes of the driver and of Python."""
    package = error_class.__module__.partition(".")[0]
    return package in ("builtins", "cassandra", "ssl", "socket")
