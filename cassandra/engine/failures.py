"""The fate of exceptions that a program's code (policies, listeners, factories, callbacks)
raises on the engine's loop.

The work that such code was called for fails with the error; everything else goes on. SystemExit and
KeyboardInterrupt are meant for the program as well: they leave the loop in a turn of their own,
when nothing else can be lost by it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cassandra._imports import at_first_cluster

if TYPE_CHECKING:
    import asyncio
else:
    at_first_cluster(__name__, asyncio="asyncio")

__all__ = ["as_exception", "failure_of", "reraise_on_loop"]


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
