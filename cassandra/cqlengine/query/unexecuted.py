"""Warns about a `BatchQuery` that was dropped without being executed.

The check warns only if a function has created the batch, has added statements, and has returned. If
an exception has ended the function before it could execute the batch, the function is correct.

The check must not store the function's frame, because the frame would keep all variables of the
function, and of its callers, alive as long as the batch. So it compares the caller: when a function
returns, Python drops its variables while the caller is still at the call. After an exception, the
traceback keeps the variables until the caller is somewhere else. A batch that lives longer, for
example in a queue, causes no warning.

There is no warning if the function's code calls any method named `execute` or `aexecute`: the
function may have caught an error and dropped the batch for that reason.
"""

from __future__ import annotations

import atexit
import dis
import inspect
import sys
from types import FrameType
from typing import Any
from weakref import WeakSet, ref

from cassandra._habits import frame_of_user_code
from cassandra._truth_tests import UseCheck, identity_of

# The methods that execute a batch.
_METHODS = frozenset({"execute", "aexecute"})


class ExecutionCheck(UseCheck):
    """Issues its warning when it is deleted after `note_statement`, unless `finish` was called.

    The batch holds the only reference to its check, so both are deleted at the same time.
    """

    __slots__ = ("__weakref__", "_call", "_frame", "_is_finished", "_maker")

    # The call of the function that has created the batch; None until the function adds a statement.
    _call: _Call | None
    # The frame of the main program, if the program itself has created the batch: this frame keeps
    # nothing alive, because its variables are those of the module.
    _frame: FrameType | None

    def __init__(self) -> None:
        super().__init__(
            "the statements of a BatchQuery were never executed: write batch.execute() after the "
            "last one, or `with BatchQuery() as batch:`"
        )
        self._call = None
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
        if frame.f_code.co_name != "<module>":
            self._call = _call_of(frame)
        elif _is_main_program(frame):
            self._frame = frame
            _of_programs.add(self)

    def finish(self) -> None:
        """Stop checking: the batch was executed, or its block has begun."""
        self.is_used = self._is_finished = True
        self._call = self._frame = None

    def warn_if_returned(self) -> None:
        """Warn if the main program has created the batch, and has ended without an exception."""
        if not self.is_used and has_returned(self._frame):
            super().__del__()
        self.finish()

    def __del__(self) -> None:
        if self.is_used or self._call is None:
            return
        caller = sys._getframe().f_back
        if caller is not None and self._call.returns_to(caller):
            super().__del__()


class _Call:
    """The call of a function: the caller's frame, and its instruction.

    It has no reference to a frame.

    :param caller: the frame that has called the function.
    :param task: the task of asyncio that runs the function, if the function is a coroutine.
    """

    __slots__ = ("_caller", "_position", "_task")

    def __init__(self, caller: FrameType, task: Any) -> None:
        self._caller = identity_of(caller)
        self._position = caller.f_lasti
        self._task = None if task is None else ref(task)

    def returns_to(self, frame: FrameType) -> bool:
        """Return True if the function has just returned to a frame, or the frame drops its result.

        :param frame: the frame that is running.
        """
        if self._task is None:
            is_caller = identity_of(frame) == self._caller
        else:
            # A loop continues a task from another frame, which is at the same instruction.
            task = self._task()
            is_caller = (
                task is not None and task is _current_task() and id(frame.f_code) == self._caller[1]
            )
        if not is_caller:
            return False
        # If the frame drops the function's result, it is at the instruction after the call.
        return frame.f_lasti == self._position or next(
            (
                instruction.offset == frame.f_lasti and instruction.opname == "POP_TOP"
                for instruction in dis.get_instructions(frame.f_code)
                if instruction.offset > self._position
            ),
            False,
        )


def _call_of(frame: FrameType) -> _Call | None:
    """Return the call of the function that a frame belongs to.

    It is None for a generator, which may end without an exception before its last line.
    """
    flags = frame.f_code.co_flags
    if frame.f_back is None or flags & (inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR):
        return None
    return _Call(frame.f_back, _current_task() if flags & inspect.CO_COROUTINE else None)


def _current_task() -> Any:
    """Return the task of asyncio that is running; None if there is none."""
    asyncio = sys.modules.get("asyncio")
    try:
        return None if asyncio is None else asyncio.current_task()
    except RuntimeError:  # no loop is running
        return None


def _is_main_program(frame: FrameType) -> bool:
    """Return True if a frame runs the main program, and not a module that a function imports."""
    caller = frame.f_back
    # ``python -m`` runs a module as the main program from functions of `runpy`.
    while caller is not None and caller.f_globals.get("__name__") == "runpy":
        caller = caller.f_back
    return caller is None


def has_returned(frame: FrameType | None) -> bool:
    """Return True if the code of a frame has ended with a return, and not with an exception."""
    if frame is None or frame.f_lasti < 0:
        return False
    return dis.opname[frame.f_code.co_code[frame.f_lasti]].startswith("RETURN_")


# The checks of batches that were created by the main program, such as a script. An atexit function
# runs them, because when Python deletes a module's variables, it shows no more warnings.
_of_programs: WeakSet[ExecutionCheck] = WeakSet()


@atexit.register
def _check_programs() -> None:
    """Warn about batches that were created by the main program and never executed."""
    for check in list(_of_programs):
        check.warn_if_returned()
