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
import inspect
import sys
import warnings
from contextlib import suppress
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
        self.maker = identity_of(frame_of_user_code())
        """Identifies the frame that has made the batch."""
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


def warn_of_empty_block(batch: object, maker: tuple[int, int], is_async: bool = False) -> None:
    """Warn if a `with` block of a batch ends without a statement, and no code of the block could
    have added one: ``with BatchQuery(): Model.create(...)``, or a variable that is never read.

    A block that adds statements under a condition is no mistake.

    :param batch: the batch. The caller is its `__exit__` or `__aexit__`.
    :param maker: `ExecutionCheck.maker` of the batch.
    :param is_async: True if the caller is `__aexit__`.
    """
    frame = frame_of_user_code()
    # A function that has made the batch may have added statements under a condition, too. Neither
    # is it certain what an `ExitStack` is for.
    if maker != identity_of(frame):
        return
    # Nothing but the `with` statement refers to the batch, or only a variable of the function does.
    others = _references(batch) - _references_of_with(is_async)
    if others == 0:
        is_unused = True
    elif others == 1:
        names = [name for name, value in frame.f_locals.items() if value is batch]
        is_unused = len(names) == 1 and not _is_read(frame.f_code, names[0])
    else:
        is_unused = False
    if is_unused:
        warnings.warn(
            "the block of a BatchQuery has ended without a statement, and nothing in it uses the "
            "batch: write `with BatchQuery() as batch:`, then Model.batch(batch).create(...) or "
            "instance.batch(batch).save()",
            RuntimeWarning,
            stacklevel=stack_level(),
        )


def _references(batch: object) -> int:
    return sys.getrefcount(batch)


class _Probe:
    """Counts the references to an object that only a `with` statement refers to.

    Its methods have the same variables as those of `BatchQuery`.
    """

    def __enter__(self) -> _Probe:
        return self

    def __exit__(self, exc_type: type[BaseException] | None, *details: object) -> None:
        _count(self, is_async=False)

    async def __aenter__(self) -> _Probe:
        return self

    async def __aexit__(self, exc_type: type[BaseException] | None, *details: object) -> None:
        _count(self, is_async=True)


async def _probe_async_with() -> None:
    async with _Probe():
        pass


def _count(probe: object, is_async: bool) -> None:
    """Count the references as `warn_of_empty_block` does."""
    _counts[is_async].append(_references(probe))


# The numbers of references of a `with` and of an `async with` statement.
_counts: tuple[list[int], list[int]] = ([], [])
# More than any number of references: there is no warning.
_NO_WARNING = 1 << 30


def _references_of_with(is_async: bool) -> int:
    """Return how many references an object has to which only a `with` statement refers.

    The number depends on the version of Python. It is `_NO_WARNING` if Python does not count
    references, or not always in the same way.
    """
    counts = _counts[is_async]
    if not counts:
        if (
            sys.implementation.name != "cpython"
            or not getattr(sys, "_is_gil_enabled", lambda: True)()
        ):
            counts.append(_NO_WARNING)
        # Python changes the code of functions that are called often.
        for _ in range(30):
            with _Probe():
                pass
            # The coroutine never waits, so it needs no event loop.
            with suppress(StopIteration):
                _probe_async_with().send(None)
        if len({*counts}) != 1:
            counts[:] = [_NO_WARNING]
    return counts[0]


# Blocks that add statements under a condition are often empty, and long functions have thousands of
# instructions.
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
