"""Warns of objects that were dropped unused, for example after a test for truth.

Futures and filters are always true, so a test of them is a mistake that is easily overlooked:
``if session.execute(query):`` without ``await``, or ``filter(A.x == 1 and A.y == 2)``, in which
Python drops the first condition. Applications may also test whether they have such an object before
they use it, so the warning comes only when the object is deleted unused.

`IterationCheck` warns of a further mistake: a generator that executes statements while it is
iterated over, but is dropped before anyone iterates over it, executes nothing.
"""

from __future__ import annotations

import sys
import warnings
from functools import lru_cache
from types import CodeType, FrameType
from typing import Any

from cassandra._habits import frame_of_user_code
from cassandra._imports import import_module


class UseCheck:
    """Warns when an object, such as a filter, is deleted without having been used.

    The object that must be used holds the only reference to its check, so both are deleted
    together. The warning points to the line of user code that has created the check.

    :param message: the text of the warning, with what to write.
    """

    __slots__ = ("_frame_globals", "_line", "_message", "_path", "is_used")

    def __init__(self, message: str) -> None:
        frame = frame_of_user_code()
        self._message = message
        # The line of user code that the warning points to. The frame itself is not stored, because
        # it would keep the variables of the user's function alive.
        self._path = frame.f_code.co_filename
        self._line = frame.f_lineno
        self._frame_globals = frame.f_globals
        self.is_used = False
        """True if the object was used: then there is no warning."""

    def __reduce__(self) -> tuple[Any, ...]:
        # A deep or pickled copy of the object gets None instead of a check: the copy was not tested
        # for truth itself, and the globals of a module cannot be copied.
        return type(None), ()

    def __del__(self) -> None:
        # Do not warn while the interpreter ends: it then deletes all objects, and modules that the
        # warning needs may already be gone.
        if self.is_used or sys.is_finalizing():
            return
        warnings.warn_explicit(
            self._message,
            RuntimeWarning,
            self._path,
            self._line,
            module=self._frame_globals.get("__name__", "unknown"),
            registry=self._frame_globals.setdefault("__warningregistry__", {}),
        )


def is_left_of_or() -> bool:
    """Return True if user code is testing a comparison for truth, on the left side of `or`.

    An example is ``A.x == 1 or A.x == 2``, whose value is always the first comparison. Return False
    for ``condition or default``, which may replace None, and for an `or` in an `if`: these are not
    mistakes.
    """
    frame = frame_of_user_code()
    # Find the instruction that tests for truth, and the instructions before and after it.
    names = [
        (instruction.offset, instruction.opname)
        for instruction in import_module("dis").get_instructions(frame.f_code)
    ]
    following = [name for offset, name in names if offset > frame.f_lasti]
    *earlier, current = [name for offset, name in names if offset <= frame.f_lasti]
    if current == "TO_BOOL" and following:  # since Python 3.13
        current = following[0]
    # Since Python 3.12, the comparison is copied before the test.
    if current == "POP_JUMP_IF_TRUE" and earlier[-1:] == ["COPY"]:
        earlier.pop()
    elif current != "JUMP_IF_TRUE_OR_POP":
        return False
    return earlier[-1:] == ["COMPARE_OP"]


def identity_of(frame: FrameType) -> tuple[int, int]:
    """Return a value that identifies a frame, and holds no reference to the frame."""
    return id(frame), id(frame.f_code)


def is_with_without_name(frame: FrameType) -> bool:
    """Return True if a frame is entering a statement like ``with call():``, without ``as name``.

    :param frame: the caller of ``__enter__``.
    """
    return _is_with_without_name(frame.f_code, frame.f_lasti)


@lru_cache(maxsize=256)
def _is_with_without_name(code: CodeType, position: int) -> bool:
    """Return True if the instruction calls ``__enter__`` for ``with f():``, without ``as``."""
    # Find the instruction at `position`, which calls `__enter__`, and its neighbours.
    names = [
        (instruction.offset, instruction.opname)
        for instruction in import_module("dis").get_instructions(code)
    ]
    following = [name for offset, name in names if offset > position]
    *earlier, current = [name for offset, name in names if offset <= position]
    # Without `as`, the result of `__enter__` is dropped; with `as`, it is stored.
    if following[:1] != ["POP_TOP"]:
        return False
    # Before Python 3.14, one instruction calls `__enter__`. Since then, it is loaded and called by
    # separate instructions: skip the loads.
    if current == "CALL" and earlier[-1:] == ["LOAD_SPECIAL"]:  # since Python 3.14
        while earlier and earlier[-1] in ("LOAD_SPECIAL", "SWAP", "COPY"):
            earlier.pop()
    elif current not in ("BEFORE_WITH", "SETUP_WITH"):
        return False
    # The expression of the `with` statement must be a call: the instruction before is that call.
    return bool(earlier) and earlier[-1].startswith("CALL")


class TruthTest(UseCheck):
    """Warns when an object is deleted that was tested for truth, but never used."""

    __slots__ = ()


class IterationCheck(UseCheck):
    """Warns if a generator is dropped before anyone iterates over it, but not if it is closed.

    The generator's frame holds the only reference to this check, so both are deleted together.
    """

    __slots__ = ()

    def __del__(self) -> None:
        # If user code closes the generator before its first step, the generator drops this check.
        # The frame that runs now then belongs to the code that calls `aclose`: do not warn. There
        # is no frame if Python drops the generator while the interpreter ends.
        frame = sys._getframe().f_back
        if frame is not None and "aclose" not in frame.f_code.co_names:
            super().__del__()
