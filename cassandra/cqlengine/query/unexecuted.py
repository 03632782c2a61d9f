"""Warns of a `BatchQuery` that was dropped without being executed, and of a block of one whose
writes were not added to it.

An exception may leave the function before it executes its batch. Then nothing is wrong with the
function, so there is a warning only if the function that has made the batch, and has added
statements to it, has returned. The check looks at the frame of that function after its end.

There is no warning if the function calls a method `execute` at all: it may have caught an error and
dropped the batch for that reason.
"""

from __future__ import annotations

import atexit
import dis
import inspect
import warnings
from contextvars import ContextVar
from functools import lru_cache
from types import CodeType, FrameType
from weakref import WeakSet

from cassandra._habits import frame_of_user_code, stack_level
from cassandra._truth_tests import UseCheck, identity_of

# The methods that execute a batch.
_METHODS = frozenset({"execute", "aexecute"})


class ExecutionCheck(UseCheck):
    """Warns when it is deleted after `note_statement`, unless `finish` was called.

    The batch holds the only reference to it.
    """

    __slots__ = ("__weakref__", "_frame", "_is_finished", "maker")

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
        self.maker = identity_of(frame_of_user_code())  # identifies the frame that made the batch
        # Nothing has to be executed before there is a statement.
        self.is_used = True

    def note_statement(self) -> None:
        """Note that a statement was added to the batch."""
        if self._is_finished:
            return
        frame = frame_of_user_code()
        # If other code adds statements, it may also execute them.
        if identity_of(frame) != self.maker:
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


def begin_block() -> int:
    """Call this when the `with` block of a batch begins; returns the argument for
    `warn_if_bypassed`.
    """
    count = _direct_writes.get()
    if count is None:
        _direct_writes.set(0)
    return count or 0


def warn_if_bypassed(batch: object, maker: tuple[int, int], previous_writes: int) -> None:
    """Warn if writes were executed in the block of a batch, and nothing in it uses the batch.

    Call this if the block has ended without an error and without a statement. A block that adds
    statements under a condition may have other writes beside them, and is no mistake.

    :param batch: the batch. The caller is its `__exit__` or `__aexit__`.
    :param maker: `ExecutionCheck.maker` of the batch.
    :param previous_writes: the result of `begin_block`.
    """
    # The block may end in another context than it has begun in.
    count = (_direct_writes.get() or 0) - previous_writes
    if count <= 0:
        return
    frame = frame_of_user_code()
    # A function that has made the batch may have added statements under a condition, too. Neither
    # is it certain what an `ExitStack` is for.
    if maker != identity_of(frame):
        return
    names = [name for name, value in frame.f_locals.items() if value is batch]
    if any(_is_read(frame.f_code, name) for name in names):
        return
    warnings.warn(
        "the block of a BatchQuery has ended without a statement, and "
        f"writes in it ({count}) were executed at once: write "
        "`with BatchQuery() as batch:`, then Model.batch(batch).create(...) or "
        "instance.batch(batch).save()",
        RuntimeWarning,
        stacklevel=stack_level(),
    )


# The number of writes of the current task or thread that were in no batch. None if no block has
# begun in it. It is a number, because a task must not count the writes of another one.
_direct_writes: ContextVar[int | None] = ContextVar("direct_writes", default=None)


def note_direct_write() -> None:
    """Call this for each write that is executed at once, in no batch."""
    count = _direct_writes.get()
    if count is not None:
        _direct_writes.set(count + 1)


# A block that adds statements under a condition may often be empty, and long functions have
# thousands of instructions.
@lru_cache(maxsize=256)
def _is_read(code: CodeType, name: str) -> bool:
    """Return True if the code of a function may read its variable `name`, False if it certainly
    does not.
    """
    if not code.co_flags & inspect.CO_OPTIMIZED or name not in code.co_varnames:
        return True  # a variable of a module or of several functions
    if name in code.co_cellvars or {"locals", "vars", "eval", "exec"} & {*code.co_names}:
        return True
    for instruction in dis.get_instructions(code):
        names = instruction.argval
        # Some instructions are about two variables. The first one of those may be written.
        if instruction.opname == "STORE_FAST" or (
            name not in (names if isinstance(names, tuple) else (names,))
        ):
            continue
        return True
    return False
