"""Handles exceptions that user code (policies, listeners, factories, callbacks) raises on the
engine's loop.

The work for which the code was called fails with the error; everything else goes on. SystemExit and
KeyboardInterrupt also leave the loop, in a turn of their own, so that no other work is lost.
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

# Errors of servers and networks. Before Python 3.11, `asyncio.TimeoutError` is not an OSError; the
# engine turns it into OperationTimedOut.
_EXPECTED = (DriverException, OSError)


def as_exception(error: BaseException) -> Exception:
    """Return `failure_of` an error that was caught on the loop.

    SystemExit and KeyboardInterrupt also leave the loop, in a later turn.
    """
    reraise_on_loop(error)
    return failure_of(error)


def failure_of(error: BaseException) -> Exception:
    """Return the error with which work fails after its code raised `error`.

    :returns: `error`; or a RuntimeError if `error` would end the waiting thread or task, or cannot
        be raised there.
    """
    # Futures refuse StopIteration, and generators take both classes for their end.
    if isinstance(error, Exception) and not isinstance(error, (StopIteration, StopAsyncIteration)):
        return error
    failure = RuntimeError(
        f"code that was called on the driver's event loop raised {type(error).__name__}: {error}"
    )
    failure.__cause__ = error
    return failure


def for_caller(error: E) -> E:
    """Return `error`, to be raised to a caller, without the frames of the engine.

    Frames of the engine add nothing to the message of a DriverException and would fill the screen.
    Other errors keep their frames, which show where the fault is.
    """
    return error.with_traceback(None) if isinstance(error, DriverException) else error


def fault_among(errors: Iterable[Any]) -> BaseException | None:
    """Return the last error that is a fault of code: not a server's, a network's or a timeout.

    :param errors: the errors of hosts; some may be strings.
    """
    fault = None
    for error in errors:
        if isinstance(error, BaseException) and not isinstance(error, _EXPECTED):
            fault = error
    return fault


def reraise_on_loop(error: BaseException) -> None:
    """Raise SystemExit or KeyboardInterrupt from the running loop, in a turn of its own; ignore
    other errors.
    """
    if isinstance(error, (SystemExit, KeyboardInterrupt)):
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # no loop runs here: raise at once
            raise error from None
        loop.call_soon(_raise, error)


def _raise(error: BaseException) -> None:
    raise error
