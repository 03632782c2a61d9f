"""Detects calls that pass a consistency level in the place of a timeout.

``session.execute(query, parameters, ConsistencyLevel.QUORUM)`` sets a timeout of 4 seconds, because
the levels are plain integers. Only the source of the call tells both apart.
"""

from __future__ import annotations

import ast
import linecache
import warnings
from types import CodeType, FrameType

from cassandra._habits import frame_of_user_code, stack_level
from cassandra.consistency import ConsistencyLevel

_CLASS_NAME = ConsistencyLevel.__name__
# The positions of the timeout among the arguments.
_POSITIONS = {"execute": 2, "execute_async": 4}
# Each look takes about a microsecond. After so many, we assume that the application passes seconds.
_looks_left = 1000
# The calls whose source we have read, by code and instruction.
_seen_calls: set[tuple[CodeType, int]] = set()


def warn_of_level(timeout: int) -> None:
    """Warn if the source of the call passes a consistency level for the timeout.

    :param timeout: a number that is the number of a level.
    """
    global _looks_left
    if _looks_left <= 0:
        return
    _looks_left -= 1
    frame = frame_of_user_code()
    call = (frame.f_code, frame.f_lasti)
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
    """Return the level that the running call of a frame passes for the timeout, as it is written;
    None if it passes another value, or if the source cannot be read.
    """
    # Before Python 3.11, code does not have the positions of calls.
    positions = list(getattr(frame.f_code, "co_positions", tuple)())
    if not positions:
        return None
    first_line, last_line, start, end = positions[frame.f_lasti // 2]
    if first_line is None or last_line is None or start is None or end is None:
        return None
    numbers = range(first_line, last_line + 1)
    lines = [
        linecache.getline(frame.f_code.co_filename, number, frame.f_globals).encode()
        for number in numbers
    ]
    # Cut the end first: both may be in one line. The columns count bytes.
    lines[-1] = lines[-1][:end]
    lines[0] = lines[0][start:]
    try:
        tree = ast.parse(b"(" + b"".join(lines) + b")", mode="eval")
    except (SyntaxError, ValueError):
        return None  # the file has changed since it was imported
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
