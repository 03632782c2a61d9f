"""Errors for values that cannot be encoded or decoded, with the position inside nested values.

The codec of a simple type raises the error, with the value and the type in the message. Each
container around the value catches the error, puts the position before the message, and raises the
error again. So a message may be
``field "tags" of t.item: element 17 of list<int>: 'abc' (str) is not an integer``.
"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any, NoReturn, TypeVar

from cassandra.errors import DecodeError

_SHOWN_LENGTH = 60  # maximum length of a value in a message
_SHOWN_ELEMENTS = 8  # maximum number of array elements in a message
# For narrow floats: maps the number of bits of the integers that they represent exactly to the
# width of the float in bits.
_WIDTHS = {24: 32, 11: 16}
ErrorT = TypeVar("ErrorT", bound=BaseException)


class EncodeTypeError(TypeError, ValueError):
    """The class of a bound value does not fit the CQL type.

    This is a TypeError, and also a ValueError, because cassandra-driver raises ValueError for some
    of these values, and applications catch it.
    """


class EncodeValueError(ValueError, OverflowError, TypeError):
    """A value has a suitable class, but is out of range or badly formed.

    This is a ValueError, and also an OverflowError and a TypeError, because applications may catch
    any of them. For example, cassandra-driver raises TypeError for an integer that is out of range.
    """


# The errors of values that do not fit the types of a statement.
ENCODE_ERRORS = (EncodeTypeError, EncodeValueError)

EncodeTypeError.__module__ = "cassandra.cqltypes"
EncodeValueError.__module__ = "cassandra.cqltypes"


def shown(value: object) -> str:
    """Return `value` and its class for an error message, shortened if it is long."""
    shortened: Any = value
    try:
        # Shorten the value before repr(), since it may have millions of elements.
        if type(value) in (list, tuple, str, bytes, bytearray) and len(shortened) > _SHOWN_LENGTH:
            shortened = shortened[:_SHOWN_LENGTH]
        elif type(value).__module__ == "numpy" and getattr(value, "size", 0) > _SHOWN_ELEMENTS:
            # Show only a few elements: NumPy takes milliseconds for the repr of a long array, and a
            # bulk load may reject very many such arrays.
            text = repr(shortened.ravel()[:_SHOWN_ELEMENTS]).replace("\n", "")
            shape = "x".join(map(str, shortened.shape))
            return f"{text[: _SHOWN_LENGTH - 3]}... of shape {shape} ({type(value).__name__})"
        text = repr(shortened)
    except Exception:  # a user's own __repr__, or an int of more digits than str() allows
        text = "a value"  # __repr__ failed, or an int is too long for str()
    if len(text) > _SHOWN_LENGTH:
        text = text[: _SHOWN_LENGTH - 3] + "..."
    return f"{text} ({type(value).__name__})"


def refuse_type(value: object, what: str) -> NoReturn:
    """Raise `EncodeTypeError` with a message of the form ``<value> is not <what>``."""
    message = f"{shown(value)} is not {what}"
    if what == "an integer" and isinstance(value, float):
        # Floats represent all integers below this power of two exactly. Floats in a table may be
        # narrower than Python's floats: see `Float32`.
        bits = getattr(value, "exact_bits", 53)
        if abs(value) >= 1 << bits:
            message += (
                f", and {'floats' if bits == 53 else f'floats of {_WIDTHS[bits]} bits'} from "
                f"2**{bits} on may have lost digits: read the column as integers, as with "
                "dtype='Int64' of pandas"
            )
    raise EncodeTypeError(message)


def refuse_value(value: object, why: str) -> NoReturn:
    """Raise `EncodeValueError` with a message of the form ``<value> <why>``."""
    raise EncodeValueError(f"{shown(value)} {why}")


def locate(error: BaseException, where: str) -> None:
    """Add the position `where` to `error`. The caller then raises `error` again.

    For errors of the driver, `where` is put before the message. Errors of an application's code,
    for example of an ``__index__``, keep their message, and `where` is added as a note.
    """
    if isinstance(error, (EncodeTypeError, EncodeValueError, DecodeError)):
        # Change the error in place, so that it keeps its class and traceback.
        error.args = (f"{where}: {error.args[0] if error.args else ''}",)
    else:
        add_note(error, f"in {where}")


def fails_again(error: Exception, convert: Callable[[], object]) -> bool:
    """Return True if a conversion that has failed with `error` fails again in the same way.

    If it does not fail again, the value was not the cause: a signal handler (for example of a job
    queue with time limits), or another thread, has raised the error while our code was running.
    Then the caller must raise the error unchanged. For MemoryError and RecursionError, this also
    returns False.

    :param error: the error of the first conversion.
    :param convert: converts the same value again.
    """
    if isinstance(error, (MemoryError, RecursionError)):
        return False
    try:
        convert()
    except Exception as repeated:
        return type(repeated) is type(error)
    return False


def add_note(error: BaseException, note: str) -> None:
    """Add a note to `error`, as the method ``add_note`` of exceptions does since Python 3.11.

    Since Python 3.11, tracebacks show notes. The driver's own commands and reports show notes with
    any version.
    """
    vars(error).setdefault("__notes__", []).append(note)


def without_compiled_frames(error: ErrorT) -> ErrorT:
    """Remove the frames of compiled code from the traceback of `error`; return `error`.

    The source of these frames is not available, so interactive shells would print a useless line
    for each of them.
    """
    kept_entries: list[TracebackType] = []
    current = error.__traceback__
    while current is not None:
        if not current.tb_frame.f_code.co_filename.endswith((".pyx", ".pxi")):
            kept_entries.append(current)
        current = current.tb_next
    # Each entry of a traceback refers to the next inner entry, so begin with the innermost.
    rebuilt: TracebackType | None = None
    for entry in reversed(kept_entries):
        rebuilt = TracebackType(rebuilt, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return error.with_traceback(rebuilt)


def malformed(name: str, why: str) -> NoReturn:
    """Raise `DecodeError` with a message of the form ``<name>: <why>``.

    :param name: the CQL type.
    """
    raise DecodeError(f"{name}: {why}")


def wrong_width(name: str, width: int, size: int) -> NoReturn:
    """Raise `DecodeError`, because a value has `size` bytes but the type requires `width`."""
    raise DecodeError(f"{name}: takes {width} bytes, got {size}")


def empty_or_refuse(value: object, empty: object, what: str) -> bytes:
    """Return b"" if `value` is the sentinel EMPTY, or bytes of length 0.

    :param empty: EMPTY, which this module does not import.
    :param what: what the type requires, for the error's message.
    :raises EncodeTypeError: if `value` is neither of them.
    """
    if value is empty:
        return b""
    # cassandra-driver writes any bytes, so applications may bind b"".
    if isinstance(value, (bytes, bytearray, memoryview)) and not memoryview(value).nbytes:
        return b""
    refuse_type(value, what)
