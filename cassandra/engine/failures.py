"""Handles exceptions that user code raises on the engine's loop.

User code means policies, listeners, factories and callbacks.

The request (or other work) that called the user code fails with the error; all other work
continues. SystemExit and KeyboardInterrupt are also raised from the loop itself. This happens in
the next loop iteration, so that the other work of the current iteration is done first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextvars import Context
from typing import TYPE_CHECKING, Any, TypeVar

from cassandra._imports import at_first_cluster
from cassandra.errors import AuthenticationFailed, DriverException, LoginNotChecked

if TYPE_CHECKING:
    import asyncio
else:
    at_first_cluster(__name__, asyncio="asyncio")

E = TypeVar("E", bound=BaseException)

# Errors of servers and networks, which are not programming errors. `asyncio.TimeoutError` is not
# listed, although it is not an OSError before Python 3.11: the engine converts it to
# OperationTimedOut.
_EXPECTED = (DriverException, OSError)


def refuses_login(error: BaseException) -> bool:
    """Return True if a server has checked the credentials and rejected them.

    Another try with the same credentials would fail, too.
    """
    return isinstance(error, AuthenticationFailed) and not isinstance(error, LoginNotChecked)


def as_exception(error: BaseException) -> Exception:
    """Convert an error that user code raised on the event loop to the error of the failed request.

    "Request" includes any other work that called the user code. See `failure_of`.

    SystemExit and KeyboardInterrupt should end the process. So this function also schedules a
    callback that raises them from the event loop, after the current callback.
    """
    reraise_on_loop(error)
    return failure_of(error)


def failure_of(error: BaseException) -> Exception:
    """Return the error of a request, or of other work, whose user code has raised `error`.

    :returns: `error`, if it can be raised to the caller that waits for the work. Otherwise a
        RuntimeError: for SystemExit, CancelledError and the like, which would end the caller's
        thread or task, and for StopIteration.
    """
    # StopIteration and StopAsyncIteration must not reach the caller. A future rejects
    # StopIteration, and a generator into which either error is raised seems to end normally.
    if isinstance(error, Exception) and not isinstance(error, (StopIteration, StopAsyncIteration)):
        return error
    failure = RuntimeError(f"code that the driver called raised {type(error).__name__}: {error}")
    failure.__cause__ = error
    return failure


def for_caller(error: E) -> E:
    """Return `error` in the form in which it is raised to a caller.

    The traceback of a DriverException is removed, because it would only fill the screen with frames
    of the engine. Other errors keep their traceback, which shows where the fault is.
    """
    return error.with_traceback(None) if isinstance(error, DriverException) else error


def fault_among(errors: Iterable[Any]) -> BaseException | None:
    """Return the last error that is a programming error of user code or of the driver, or None.

    Errors of servers and networks, and timeouts, do not count.

    :param errors: the errors of hosts; some may be strings.
    """
    fault = None
    for error in errors:
        if isinstance(error, BaseException) and not isinstance(error, _EXPECTED):
            fault = error
    return fault


def reraise_on_loop(error: BaseException) -> None:
    """Raise SystemExit or KeyboardInterrupt from the running loop, in a later loop iteration.

    Other errors are ignored.
    """
    if isinstance(error, (SystemExit, KeyboardInterrupt)):
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # no loop runs here: raise at once
            raise error from None
        loop.call_soon(_raise, error)


def call_on_loop(call_soon: Callable[..., object], arguments: tuple[Any, ...]) -> bool:
    """Let the loop call a function; for use from another thread.

    A signal handler may raise an error in this thread during the call, and then we do not know
    whether the loop got the function. So we pass the function to the loop once more before we raise
    the error; the loop may call the function twice.

    The function runs in an empty context (see `contextvars`), not in a copy of this thread's: it
    may make timers and readers that serve other requests, too.

    :param call_soon: the loop's ``call_soon_threadsafe``.
    :param arguments: the function and its arguments.
    :returns: False if the loop is closed.
    """
    try:
        Context().run(call_soon, *arguments)
    except BaseException as error:
        try:
            Context().run(call_soon, *arguments)
        except RuntimeError:  # the loop is closed
            if isinstance(error, RuntimeError):
                return False
        raise
    return True


def _raise(error: BaseException) -> None:
    raise error
