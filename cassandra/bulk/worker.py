"""A daemon thread that reads the source of a load. Python can exit while the thread is running."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

# (future of the result, function to call, its arguments)
_Task = tuple["Future[Any]", Callable[..., Any], tuple[Any, ...]]


class Worker:
    """A daemon thread that makes calls one after another.

    We do not use a `ThreadPoolExecutor`: at exit, Python would wait for its threads, even if the
    source of a load hangs.

    :param name: the name of the thread.
    """

    def __init__(self, name: str) -> None:
        # Look up the class now: gevent or eventlet may have replaced it after this module was
        # imported. None in the queue ends the thread.
        self._tasks: queue.SimpleQueue[_Task | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=_run, args=(self._tasks,), name=name, daemon=True)
        self._thread.start()

    def submit(self, call: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Queue a call for the thread, and return the future of its result.

        :param call: the function.
        :param arguments: the arguments of the function.
        """
        future: Future[Any] = Future()
        self._tasks.put((future, call, arguments))
        return future

    def shutdown(self) -> None:
        """Let the thread end after its queued calls. This does not wait for the thread."""
        self._tasks.put(None)


def _run(tasks: queue.SimpleQueue[_Task | None]) -> None:
    """Make the calls in the queue, until the queue yields None. Runs in the thread."""
    while (task := tasks.get()) is not None:
        future, call, arguments = task
        if future.set_running_or_notify_cancel():
            try:
                future.set_result(call(*arguments))
            except BaseException as error:
                future.set_exception(error)
        # These variables refer to the result, which may be a large chunk. Delete them, so that the
        # result does not stay in memory until the next call.
        del task, future, call, arguments
