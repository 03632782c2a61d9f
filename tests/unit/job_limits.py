"""The time limit of a job, as job queues set it: a signal handler raises an exception."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NoReturn


class JobTimeout(Exception):
    """Raised by the handler when the time of the job is over."""


@contextmanager
def job_limit() -> Iterator[Callable[[], None]]:
    """Install the handler, and yield a function that lets the time of the job end now.

    Only the first call of the function has an effect.
    """
    is_over = False

    def end_job(number: int, frame: object) -> NoReturn:
        raise JobTimeout

    def expire() -> None:
        nonlocal is_over
        if not is_over:
            is_over = True
            signal.raise_signal(signal.SIGTERM)

    previous = signal.signal(signal.SIGTERM, end_job)
    try:
        yield expire
    finally:
        signal.signal(signal.SIGTERM, previous)


class LateRow(tuple[int, ...]):
    """A row; the time of the job ends while the driver reads the values of the row.

    :param values: the values.
    :param expire: lets the time of the job end.
    """

    expire: Callable[[], None]

    def __new__(cls, values: tuple[int, ...], expire: Callable[[], None]) -> LateRow:
        row = super().__new__(cls, values)
        row.expire = expire
        return row

    def __iter__(self) -> Iterator[int]:
        self.expire()
        return super().__iter__()

    def __len__(self) -> int:
        self.expire()
        return super().__len__()
