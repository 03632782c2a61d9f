"""Warns of objects that were dropped unused, for example after a test for truth.

Futures and filters are always true, so a test of them is a mistake that is easily overlooked:
``if session.execute(query):`` without ``await``, or ``filter(A.x == 1 and A.y == 2)``, in which
Python drops the first condition. Applications may also test whether they have such an object before
they use it, so the warning comes only when the object is deleted unused.

An iterator that executes statements only when it is iterated over executes nothing if it is dropped
before.
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
    """Remembers the line of user code that has called the driver, and warns when it is deleted
    itself, unless `is_used` was set.

    The object that must be used holds the only reference to it.

    :param message: the text of the warning, with what to write.
    """

    __slots__ = ("_frame_globals", "_line", "_message", "_path", "is_used")

    def __init__(self, message: str) -> None:
        frame = frame_of_user_code()
        self._message = message
        self._path = frame.f_code.co_filename
        self._line = frame.f_lineno
        self._frame_globals = frame.f_globals
        self.is_used = False
        """True if the object was used: then there is no warning."""

    def __reduce__(self) -> tuple[Any, ...]:
        # A deep or pickled copy of the object has None: the copy was not tested itself, and the
        # globals of a module cannot be copied.
        return type(None), ()

    def __del__(self) -> None:
        # When the interpreter ends, it deletes all objects, and modules may be gone.
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
    """Return True if the test for truth that runs now is that of a comparison in front of `or`,
    such as ``A.x == 1 or A.x == 2``. The value of this expression is the first comparison.

    An `or` behind a name is no mistake: it may replace None. Neither is one in an `if`.
    """
    frame = frame_of_user_code()
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
    """Return what identifies a frame, without a reference to it."""
    return id(frame), id(frame.f_code)


def is_with_without_name(frame: FrameType) -> bool:
    """Return True if a frame is entering a `with` statement that has no `as`, and whose object is
    the result of a call in that statement.

    :param frame: the caller of ``__enter__``.
    """
    return _is_with_without_name(frame.f_code, frame.f_lasti)


@lru_cache(maxsize=256)
def _is_with_without_name(code: CodeType, position: int) -> bool:
    names = [
        (instruction.offset, instruction.opname)
        for instruction in import_module("dis").get_instructions(code)
    ]
    following = [name for offset, name in names if offset > position]
    *earlier, current = [name for offset, name in names if offset <= position]
    if following[:1] != ["POP_TOP"]:
        return False
    if current == "CALL" and earlier[-1:] == ["LOAD_SPECIAL"]:  # since Python 3.14
        while earlier and earlier[-1] in ("LOAD_SPECIAL", "SWAP", "COPY"):
            earlier.pop()
    elif current not in ("BEFORE_WITH", "SETUP_WITH"):
        return False
    return bool(earlier) and earlier[-1].startswith("CALL")


class TruthTest(UseCheck):
    """Remembers the line that has tested an object for truth."""

    __slots__ = ()


class IterationCheck(UseCheck):
    """Warns if a generator is dropped before anyone iterates over it, but not if it is closed.

    The generator's frame holds the only reference to it.
    """

    __slots__ = ()

    def __del__(self) -> None:
        # A generator that is closed before its first step drops its arguments without running. The
        # frame that runs now is then that of the code that calls `aclose`. There is none if Python
        # drops the generator at its own end.
        frame = sys._getframe().f_back
        if frame is not None and "aclose" not in frame.f_code.co_names:
            super().__del__()
