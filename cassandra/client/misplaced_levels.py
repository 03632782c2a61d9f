"""Detects calls that pass a consistency level at the position of the timeout.

``session.execute(query, parameters, ConsistencyLevel.QUORUM)`` sets a timeout of 4 seconds, because
the levels are plain integers. Only the source code of the call shows whether a level or a time is
meant.
"""

from __future__ import annotations

import ast
import linecache
import warnings
from types import CodeType, FrameType

from cassandra._habits import frame_of_user_code, stack_level
from cassandra.consistency import ConsistencyLevel

_CLASS_NAME = ConsistencyLevel.__name__  # the name that source code uses for the class
# The position of `timeout` among the arguments of each method.
_POSITIONS = {"execute": 2, "execute_async": 4}
# How many more calls we inspect. Each inspection takes about a microsecond. After 1000 calls, we
# assume that the application means seconds.
_looks_left = 1000
# The calls whose source we have read already, as (code object, instruction offset).
_seen_calls: set[tuple[CodeType, int]] = set()


def warn_of_level(timeout: int) -> None:
    """Warn if the source code of the call passes a consistency level for the timeout.

    :param timeout: a timeout that is also the number of a consistency level.
    """
    global _looks_left
    # Inspect a limited number of calls, and each call in the source code only once.
    if _looks_left <= 0:
        return
    _looks_left -= 1
    frame = frame_of_user_code()
    call = (frame.f_code, frame.f_lasti)
    # Read the source only if the calling function uses the name ConsistencyLevel at all.
    if _CLASS_NAME not in frame.f_code.co_names or call in _seen_calls:
        return
    _seen_calls.add(call)
    level = _level_of_call(frame)
    if level is not None:
        warnings.warn(
            f"{level} was passed for the timeout, which is now {timeout} seconds: set "
            f"consistency_level={level} of a SimpleStatement, or prepared.consistency_level",
            RuntimeWarning,
            stacklevel=stack_level(),
        )


def _level_of_call(frame: FrameType) -> str | None:
    """Return the source code of the consistency level that a call passes for the timeout.

    :param frame: the frame of the call, which is still running.
    :returns: None if the call passes something else, or if the source cannot be read.
    """
    # Before Python 3.11, code objects do not contain the positions of calls.
    positions = list(getattr(frame.f_code, "co_positions", tuple)())
    if not positions:
        return None
    # The list has a position for each unit of two bytes, and `f_lasti` counts bytes.
    first_line, last_line, start, end = positions[frame.f_lasti // 2]
    if first_line is None or last_line is None or start is None or end is None:
        return None
    # Cut the source code of the call out of its file.
    numbers = range(first_line, last_line + 1)
    lines = [
        linecache.getline(frame.f_code.co_filename, number, frame.f_globals).encode()
        for number in numbers
    ]
    # Cut the end first, because first and last line may be the same. `start` and `end` count bytes.
    lines[-1] = lines[-1][:end]
    lines[0] = lines[0][start:]
    try:
        tree = ast.parse(b"(" + b"".join(lines) + b")", mode="eval")
    except (SyntaxError, ValueError):
        return None  # the file has changed since it was imported
    # Find the call, and then the argument for the timeout: by keyword or by position.
    call = tree.body
    if isinstance(call, ast.Await):
        call = call.value
    if not isinstance(call, ast.Call):
        return None
    values = [keyword.value for keyword in call.keywords if keyword.arg == "timeout"]
    position = _POSITIONS.get(getattr(call.func, "attr", ""))
    if position is not None:
        values += call.args[position : position + 1]
    for value in values:
        # For example `ConsistencyLevel.ONE` or `cassandra.ConsistencyLevel.ONE`.
        text = ast.unparse(value)
        if isinstance(value, ast.Attribute) and f".{text}".endswith(f".{_CLASS_NAME}.{value.attr}"):
            return f"{_CLASS_NAME}.{value.attr}"
    return None
