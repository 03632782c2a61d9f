"""Errors for values, which say where in a value they come from.

An encode error starts at a leaf, which knows the value and the type. Every container that it passes
on its way out puts its own step before it: ``field "tags" of t.item: element 17 of list<int>: 'abc'
(str) is not an integer``.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any, NoReturn, TypeVar

from cassandra.errors import DecodeError

_SHOWN_LENGTH = 60
ErrorT = TypeVar("ErrorT", bound=BaseException)


class EncodeTypeError(TypeError, ValueError):
    """The CQL type does not take values of this class.

    It is a TypeError and a ValueError, since programs catch either: other drivers raise ValueError
    for some of these values.
    """


class EncodeValueError(ValueError, OverflowError, TypeError):
    """A value is of a suitable class, but out of range or badly formed.

    It is a ValueError, an OverflowError and a TypeError, since programs catch any of them: other
    drivers raise TypeError for an integer out of range.
    """


EncodeTypeError.__module__ = "cassandra.cqltypes"
EncodeValueError.__module__ = "cassandra.cqltypes"


def shown(value: object) -> str:
    """Return `value` and its class for an error message, cut to a readable length."""
    cut: Any = value
    try:
        # A refused value may have millions of elements; the message has room for few.
        if type(value) in (list, tuple, str, bytes, bytearray) and len(cut) > _SHOWN_LENGTH:
            cut = cut[:_SHOWN_LENGTH]
        text = repr(cut)
    except Exception:  # a user's own __repr__, or an int of more digits than str() allows
        text = "a value"
    if len(text) > _SHOWN_LENGTH:
        text = text[: _SHOWN_LENGTH - 3] + "..."
    return f"{text} ({type(value).__name__})"


def refuse_type(value: object, what: str) -> NoReturn:
    """Raise `EncodeTypeError`: ``<value> is not <what>``."""
    raise EncodeTypeError(f"{shown(value)} is not {what}")


def refuse_value(value: object, why: str) -> NoReturn:
    """Raise `EncodeValueError`: ``<value> <why>``."""
    raise EncodeValueError(f"{shown(value)} {why}")


def locate(error: BaseException, where: str) -> None:
    """Put `where` before the message of `error`, which the caller then raises again.

    Errors of this module get it in their message. Those of a program's code (an ``__index__`` that
    raises) keep their message, and get it as a note if Python has notes (3.11).
    """
    if isinstance(error, (EncodeTypeError, EncodeValueError, DecodeError)):
        # The same error goes on: its class and traceback stay those of the leaf.
        error.args = (f"{where}: {error.args[0] if error.args else ''}",)
    elif hasattr(error, "add_note"):
        error.add_note(f"in {where}")


def without_compiled_frames(error: ErrorT) -> ErrorT:
    """Return `error`, whose traceback leaves out compiled frames.

    They have no source to show: interactive shells print a line of apology for each of some ten.
    """
    entries: list[TracebackType] = []
    current = error.__traceback__
    while current is not None:
        if not current.tb_frame.f_code.co_filename.endswith((".pyx", ".pxi")):
            entries.append(current)
        current = current.tb_next
    rebuilt: TracebackType | None = None
    for entry in reversed(entries):
        rebuilt = TracebackType(rebuilt, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return error.with_traceback(rebuilt)


def malformed(name: str, why: str) -> NoReturn:
    """Raise `DecodeError` for bytes that are not a valid `name`."""
    raise DecodeError(f"{name}: {why}")


def wrong_width(name: str, width: int, size: int) -> NoReturn:
    """Raise `DecodeError`: a value has `size` bytes, but its type always has `width`."""
    raise DecodeError(f"{name}: takes {width} bytes, got {size}")


def empty_or_refuse(value: object, empty: object, what: str) -> bytes:
    """Return the encoding of a value that no ordinary rule takes: zero bytes for `empty` (EMPTY).

    :raises EncodeTypeError: if it is anything else.
    """
    if value is empty:
        return b""
    refuse_type(value, what)
