"""Test `Worker`, the thread of a load, which makes calls one after another."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator

import pytest

from cassandra.bulk.worker import Worker
from tests.processes import run_python
from tests.waiting import WAIT


@pytest.fixture
def worker() -> Iterator[Worker]:
    """Yield a worker whose thread has the name "a-worker"; at the end, wait for the thread."""
    new_worker = Worker("a-worker")
    yield new_worker
    new_worker.shutdown()
    for thread in threading.enumerate():
        if thread.name == "a-worker":
            thread.join(WAIT)


def test_calls_are_made_in_order_and_their_outcomes_returned(worker: Worker) -> None:
    """Each future gets the result or error of its call; an error does not end the thread."""
    thread_names: list[str] = []

    def divide(number: int) -> int:
        thread_names.append(threading.current_thread().name)
        return 10 // number

    futures = [worker.submit(divide, number) for number in (5, 0, 2)]
    assert futures[0].result(WAIT) == 2
    with pytest.raises(ZeroDivisionError):
        futures[1].result(WAIT)
    assert futures[2].result(WAIT) == 5
    assert thread_names == ["a-worker"] * 3


def test_a_call_that_was_cancelled_is_not_made(worker: Worker) -> None:
    """A call can be cancelled while it waits for an earlier call to end, and is then not made."""
    may_go_on = threading.Event()
    first_call = worker.submit(may_go_on.wait, WAIT)
    second_call = worker.submit(pytest.fail)
    assert second_call.cancel()
    may_go_on.set()
    assert first_call.result(WAIT)
    # The worker still makes later calls; `int()` returns 0.
    assert worker.submit(int).result(WAIT) == 0


def test_the_class_of_the_queue_is_looked_up_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """A green library may replace the class after the driver was imported."""

    class GreenQueue(queue.Queue):  # type: ignore[type-arg]
        """A queue in which greenlets wait."""

    monkeypatch.setattr(queue, "SimpleQueue", GreenQueue)
    late_worker = Worker("late")
    late_worker.shutdown()
    assert isinstance(late_worker._tasks, GreenQueue)


def test_a_process_ends_although_a_call_does_not() -> None:
    """At exit, Python does not wait for a call that hangs: the worker is a daemon thread."""
    program = (
        "import threading\n"
        "from cassandra.bulk.worker import Worker\n"
        "begun = threading.Event()\n"
        "def call():\n"
        "    begun.set()\n"
        "    threading.Event().wait()\n"
        "Worker('x').submit(call)\n"
        "begun.wait()\n"
    )
    process = run_python(program, timeout=300)
    assert process.returncode == 0, process.stderr
