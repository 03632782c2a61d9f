"""The fate of exceptions that a program's code (policies, listeners, factories, callbacks)
raises on the engine's loop.

The work that such code was called for fails with the error; everything else goes on. SystemExit and
KeyboardInterrupt are meant for the program as well: they leave the loop in a turn of their own,
when nothing else can be lost by it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from cassandra._imports import at_first_cluster
from cassandra.errors import DriverException

if TYPE_CHECKING:
    import asyncio
else:
    at_first_cluster(__name__, asyncio="asyncio")

__all__ = ["as_exception", "failure_of", "fault_among", "for_caller", "reraise_on_loop"]

E = TypeVar("E", bound=BaseException)

# Errors of servers and networks. `asyncio.TimeoutError` is another class before Python 3.11, and
# the engine makes OperationTimedOut of it.
_EXPECTED = (DriverException, OSError)


def as_exception(error: BaseException) -> Exception:
    """`failure_of` for an error that was caught on the loop itself.

    SystemExit and KeyboardInterrupt still leave the loop, a little later.
    """
    reraise_on_loop(error)
    return failure_of(error)


def failure_of(error: BaseException) -> Exception:
    """Return the error that a piece of work fails with after its code raised `error`.

    :returns: `error`, or a RuntimeError in its place if it would end the waiting thread or task, or
        cannot be raised there.
    """
    # Futures refuse StopIteration, and generators take both for an end.
    if isinstance(error, Exception) and not isinstance(error, (StopIteration, StopAsyncIteration)):
        return error
    failure = RuntimeError(
        f"code that was called on the driver's event loop raised {type(error).__name__}: {error}"
    )
    failure.__cause__ = error
    return failure


def for_caller(error: E) -> E:
    """Return an error that a caller is to raise, without the frames of the engine.

    They say nothing that the message does not: a node that is not there would fill the screen. An
    error that is not the driver's own keeps its frames, which show where the fault is.
    """
    return error.with_traceback(None) if isinstance(error, DriverException) else error


def fault_among(errors: Iterable[Any]) -> BaseException | None:
    """Return the last error that is no server's, no network's and no time-out, but a fault of code.

    :param errors: those of hosts, of which some may be texts.
    """
    fault = None
    for error in errors:
        if isinstance(error, BaseException) and not isinstance(error, _EXPECTED):
            fault = error
    return fault


def reraise_on_loop(error: BaseException) -> None:
    """Have the running loop raise `error` in a turn of its own if it is SystemExit or
    KeyboardInterrupt.
    """
    if isinstance(error, (SystemExit, KeyboardInterrupt)):
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # called from a plain function, which may as well have it at once
            raise error from None
        loop.call_soon(_raise, error)


def _raise(error: BaseException) -> None:
    raise error
