"""Collects the warnings of a load's reader thread, so that they point to the line of the load.

`Session.load` may read its source in a separate thread. If that thread showed a warning itself, the
warning would point to a line of `threading`. So the thread collects its warnings, and the load
shows them in the thread of its caller.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from cassandra._habits import stack_level


class LaterWarnings:
    """Warnings that the reader thread of a load collects, and that the load's caller shows.

    The attribute `messages` has the warnings that were not shown yet. `topics` has the topics of
    all warnings so far.
    """

    def __init__(self) -> None:
        self.messages: list[str] = []
        self.topics: set[str] = set()

    def show(self) -> None:
        """Show the warnings, each of them once."""
        while self.messages:
            warn(self.messages.pop(0))


class _Collected(threading.local):
    """For each thread, the object that collects its warnings; None to show warnings at once."""

    warnings: LaterWarnings | None = None


_collected = _Collected()


@contextmanager
def collecting(later: LaterWarnings) -> Iterator[None]:
    """Collect the warnings of this thread while the body of the ``with`` statement runs.

    :param later: the object that keeps the warnings.
    """
    earlier, _collected.warnings = _collected.warnings, later
    try:
        yield
    finally:
        _collected.warnings = earlier


def warn(message: str, topic: str | None = None) -> None:
    """Warn of a probable mistake, at the line of user code that called the driver.

    In the reader thread of a load, the warning is only collected, and the load shows it later.

    :param topic: what the warning is about. In the same load, `warn_of_topic` does not warn of this
        topic again.
    """
    later = _collected.warnings
    if later is None:
        warnings.warn(message, RuntimeWarning, stacklevel=stack_level())
        return
    later.messages.append(message)
    if topic is not None:
        later.topics.add(topic)


def warn_of_topic(message: str, topic: str) -> None:
    """Warn like `warn`, but in a load only if the load has not yet warned of the topic.

    Code that encodes a value does not know the value's column and row. A load knows both, so the
    load's own warning is better.

    :param topic: what the warning is about.
    """
    later = _collected.warnings
    if later is None or topic not in later.topics:
        warn(message, topic)
