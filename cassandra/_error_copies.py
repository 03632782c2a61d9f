"""Copies errors that several callers get, such as the requests on a connection that breaks."""

from __future__ import annotations

import copy
from typing import TypeVar

from cassandra.errors import DriverException

E = TypeVar("E", bound=BaseException)


def copy_of(error: E) -> E:
    """Return a copy of `error` for one of several callers that get the same error.

    An exception has room for the traceback, the context and the notes of one caller only. With one
    object, a caller's error would show what another caller was doing.

    Errors that are not of the driver or of sockets are returned as they are.
    """
    if not isinstance(error, (DriverException, OSError)):
        return error
    try:
        duplicate = copy.copy(error)
    except Exception:  # a subclass of the application that cannot be copied
        return error
    duplicate.__cause__ = error.__cause__
    duplicate.__suppress_context__ = error.__suppress_context__
    # Strings that `add_note` has added, since Python 3.11. The copy must not share the list.
    notes = getattr(error, "__notes__", None)
    if notes is not None:
        vars(duplicate)["__notes__"] = list(notes)
    return duplicate
