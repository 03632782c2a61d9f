"""Warns about a `BatchQuery` that was dropped without being executed.

The check warns only if a function has created the batch, has added statements, and has returned. If
an exception has ended the function before it could execute the batch, the function is correct. To
find out whether the function has returned, the check looks at the function's frame afterwards.

There is no warning if the function's code calls any method named `execute` or `aexecute`: the
function may have caught an error and dropped the batch for that reason.
"""

from __future__ import annotations

import atexit
import dis
from types import FrameType
from weakref import WeakSet

from cassandra._habits import frame_of_user_code
from cassandra._truth_tests import UseCheck, identity_of

# The methods that execute a batch.
_METHODS = frozenset({"execute", "aexecute"})


class ExecutionCheck(UseCheck):
    """Issues its warning when it is deleted after `note_statement`, unless `finish` was called.

    The batch holds the only reference to its check, so both are deleted at the same time.
    """

    __slots__ = ("__weakref__", "_frame", "_is_finished", "_maker")

    # The frame that has created the batch; None until this frame adds a statement. We do not store
    # the frame earlier: the frame and the batch would refer to each other, so the frame's local
    # variables would live until the garbage collector runs.
    _frame: FrameType | None

    def __init__(self) -> None:
        super().__init__(
            "the statements of a BatchQuery were never executed: write batch.execute() after the "
            "last one, or `with BatchQuery() as batch:`"
        )
        self._frame = None
        self._is_finished = False  # see `finish`
        self._maker = identity_of(frame_of_user_code())  # identifies the frame that made the batch
        # While the batch has no statement, nothing has to be executed.
        self.is_used = True

    def note_statement(self) -> None:
        """Remember that the batch has a statement to execute."""
        if self._is_finished:
            return
        frame = frame_of_user_code()
        # If another function adds statements, that function may also execute them, so do not check.
        if identity_of(frame) != self._maker:
            return
        if not _METHODS.isdisjoint(frame.f_code.co_names):
            self.finish()
            return
        self.is_used = False
        self._frame = frame
        if frame.f_code.co_name == "<module>":
            _of_modules.add(self)

    def finish(self) -> None:
        """Stop checking: the batch was executed, or its block has begun."""
        self.is_used = self._is_finished = True
        # Release the frame, so that the local variables of its function do not live longer than
        # usual.
        self._frame = None

    def __del__(self) -> None:
        if not self.is_used and has_returned(self._frame):
            super().__del__()


def has_returned(frame: FrameType | None) -> bool:
    """Return True if the code of a frame has ended with a return, and not with an exception."""
    if frame is None or frame.f_lasti < 0:
        return False
    return dis.opname[frame.f_code.co_code[frame.f_lasti]].startswith("RETURN_")


# The checks of batches that were created by the code of a module, such as a script. An atexit
# function runs them, because when Python deletes a module's variables, it shows no more warnings.
_of_modules: WeakSet[ExecutionCheck] = WeakSet()


@atexit.register
def _check_modules() -> None:
    """Warn about batches that were created by the code of a module and never executed."""
    for check in list(_of_modules):
        check.__del__()
        check.finish()
