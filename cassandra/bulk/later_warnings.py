"""Warnings of the reader thread of a load, which are shown at the line that called the load.

A warning that the thread itself shows would point to a line of `threading`. So the thread collects
its warnings, and the load shows them in the thread of its caller.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from cassandra._habits import stack_level


class _Collected(threading.local):
    """The list of the messages that this thread collects; None if it shows them at once."""

    messages: list[str] | None = None


_collected = _Collected()


@contextmanager
def collecting(messages: list[str]) -> Iterator[None]:
    """Add the messages of `warn` to a list, in this thread and in the body of the ``with``.

    :param messages: the list.
    """
    earlier, _collected.messages = _collected.messages, messages
    try:
        yield
    finally:
        _collected.messages = earlier


def warn(message: str) -> None:
    """Warn of a probable mistake, at the line of user code that called the driver.

    :param message: the message.
    """
    if _collected.messages is not None:
        _collected.messages.append(message)
    else:
        warnings.warn(message, RuntimeWarning, stacklevel=stack_level())


def show(messages: list[str]) -> None:
    """Show the warnings of a list, and empty it.

    :param messages: the list.
    """
    while messages:
        warn(messages.pop(0))
