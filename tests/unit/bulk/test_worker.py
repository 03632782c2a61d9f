"""The thread of a load."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from cassandra.bulk.worker import Worker
from tests.processes import wait_for_end
from tests.waiting import WAIT


@pytest.fixture
def worker() -> Iterator[Worker]:
    made = Worker("a-worker")
    yield made
    made.shutdown()
    for thread in threading.enumerate():
        if thread.name == "a-worker":
            thread.join(WAIT)


def test_calls_are_made_in_order_and_give_what_they_give(worker: Worker) -> None:
    names: list[str] = []

    def call(number: int) -> int:
        names.append(threading.current_thread().name)
        return 10 // number

    futures = [worker.submit(call, number) for number in (5, 0, 2)]
    assert futures[0].result(WAIT) == 2
    with pytest.raises(ZeroDivisionError):
        futures[1].result(WAIT)
    assert futures[2].result(WAIT) == 5
    assert names == ["a-worker"] * 3


def test_a_call_that_was_cancelled_is_not_made(worker: Worker) -> None:
    may_go_on = threading.Event()
    first = worker.submit(may_go_on.wait, WAIT)
    second = worker.submit(pytest.fail)
    assert second.cancel()
    may_go_on.set()
    assert first.result(WAIT)
    assert worker.submit(int).result(WAIT) == 0


# Both programs import the same; the second one leaves a call behind that never ends.
PROGRAM = """
import threading
from cassandra.bulk.worker import Worker
begun = threading.Event()
def call():
    begun.set()
    {rest}
Worker("x").submit(call)
begun.wait()
"""


def test_a_process_ends_although_a_call_does_not() -> None:
    def seconds_of(rest: str, longest: float) -> float:
        began = time.monotonic()
        process = subprocess.Popen([sys.executable, "-c", PROGRAM.format(rest=rest)])
        assert wait_for_end(process, longest) == 0
        return time.monotonic() - began

    usual = seconds_of("pass", 300)
    # The machine may be busy now and not have been so before.
    seconds_of("threading.Event().wait()", max(60, 20 * usual))
