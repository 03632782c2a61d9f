"""Warns of a `BatchQuery` that was dropped without being executed.

An exception may leave the function before it executes its batch. Then nothing is wrong with the
function, so there is a warning only if the function that has made the batch, and has added
statements to it, has returned. The check looks at the frame of that function after its end.

There is no warning if the function calls a method `execute` at all: it may have caught an error and
dropped the batch for that reason.
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
    """Warns when it is deleted after `note_statement`, unless `finish` was called.

    The batch holds the only reference to it.
    """

    __slots__ = ("__weakref__", "_frame", "_is_finished", "_maker")

    # The frame that has made the batch, once it has added a statement. Before that we must not
    # refer to it: the frame refers to the batch, and in such a cycle its local variables would live
    # until the garbage collector runs.
    _frame: FrameType | None

    def __init__(self) -> None:
        super().__init__(
            "the statements of a BatchQuery were never executed: write batch.execute() after the "
            "last one, or `with BatchQuery() as batch:`"
        )
        self._frame = None
        self._is_finished = False
        self._maker = identity_of(frame_of_user_code())  # identifies the frame that made the batch
        # Nothing has to be executed before there is a statement.
        self.is_used = True

    def note_statement(self) -> None:
        """Note that a statement was added to the batch."""
        if self._is_finished:
            return
        frame = frame_of_user_code()
        # If other code adds statements, it may also execute them.
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
        # The frame has the local variables of its function, which must not live longer than usual.
        self._frame = None

    def __del__(self) -> None:
        if not self.is_used and has_returned(self._frame):
            super().__del__()


def has_returned(frame: FrameType | None) -> bool:
    """Return True if the code of a frame has returned, and was not left by an exception."""
    if frame is None or frame.f_lasti < 0:
        return False
    return dis.opname[frame.f_code.co_code[frame.f_lasti]].startswith("RETURN_")


# The checks of batches that are made by the code of modules, such as scripts. Python deletes their
# variables so late that it shows no more warnings.
_of_modules: WeakSet[ExecutionCheck] = WeakSet()


@atexit.register
def _check_modules() -> None:
    """Warn of the batches of modules that were not executed."""
    for check in list(_of_modules):
        check.__del__()
        check.finish()
