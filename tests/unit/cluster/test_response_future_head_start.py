"""A blocking read waits for a moment if its thread has just sent an asynchronous write.

`Session.write_head_start` (seconds) is the longest time that the read waits.
"""

from __future__ import annotations

import threading
import weakref
from typing import Any

import pytest

from cassandra.cluster import Session
from cassandra.query import BatchStatement, SimpleStatement
from cassandra.testing.fake import FakeNode, Opcode, hold, rows
from tests.waiting import WAIT, until

WRITE = "INSERT INTO t (k, v) VALUES (1, 2)"
READ = "SELECT v FROM t"
ANSWER = rows([("v", "int")], [(2,)])


def write_statements() -> list[Any]:
    """Return a write in each form that the driver recognises as a write."""
    return [
        WRITE,
        f"  {WRITE.lower()}",
        SimpleStatement(WRITE),
        BatchStatement().add(WRITE),
        "BEGIN BATCH " + WRITE + " APPLY BATCH",
    ]


@pytest.mark.parametrize("index", range(5))
def test_a_read_is_sent_after_the_earlier_write_of_its_thread(
    node: FakeNode, session: Session, index: int
) -> None:
    """With `write_head_start`, a read waits for the response to its thread's earlier write."""
    session.write_head_start = 60  # seconds
    statement = write_statements()[index]
    held_answer = hold()
    if isinstance(statement, BatchStatement):
        node.prime(Opcode.BATCH, held_answer)
    elif isinstance(statement, SimpleStatement):
        node.prime(WRITE, held_answer)
    else:
        node.prime(statement, held_answer)
    writes_held_at_read: list[int] = []

    def answer_read(request: Any) -> Any:
        writes_held_at_read.append(len(held_answer.held))
        return ANSWER

    node.prime(READ, answer_read)
    session.execute_async(statement)
    held_answer.wait()
    # A read that does not wait would reach the node within this time.
    threading.Timer(0.05, held_answer.release).start()
    assert session.execute(READ).one().v == 2
    # When the read reached the node, the node had already responded to the write.
    assert writes_held_at_read == [0]


def test_a_read_is_sent_if_the_write_takes_longer(node: FakeNode, session: Session) -> None:
    """With the default of `write_head_start`, a read does not wait for a slow write.

    The read is sent although the write has no response yet.
    """
    held_answer = hold()
    node.prime(WRITE, held_answer)
    node.prime(READ, ANSWER)
    write = session.execute_async(WRITE)
    assert session.execute(READ).one().v == 2
    assert not write.is_over
    held_answer.release()
    assert write.result().all() == []


@pytest.mark.parametrize("reason", ["a read", "another thread", "switched off"])
def test_a_read_does_not_wait_for_reads_or_other_threads_or_if_disabled(
    node: FakeNode, session: Session, reason: str
) -> None:
    """A read does not wait for an earlier read or for another thread's write.

    With a head start of 0, it does not wait at all.
    """
    session.write_head_start = 0 if reason == "switched off" else 60  # seconds
    earlier_query = "select v FROM u" if reason == "a read" else WRITE
    held_answer = hold(ANSWER)
    node.prime(earlier_query, held_answer)
    node.prime(READ, ANSWER)
    if reason == "another thread":
        thread = threading.Thread(target=session.execute_async, args=(earlier_query,))
        thread.start()
        thread.join()
    else:
        session.execute_async(earlier_query)
    assert session.execute(READ, timeout=10).one().v == 2
    # The earlier request still has no response, so the read has not waited for it.
    assert len(held_answer.wait()) == 1
    held_answer.release()


def test_results_are_not_kept(session: Session) -> None:
    """The session does not keep the future of a result that the application drops.

    It refers only weakly to the latest future of each thread.
    """
    future = session.execute_async(READ)
    future.result()
    del future
    assert session._latest.future() is None


def test_nothing_is_kept_of_a_thread_that_has_ended(session: Session) -> None:
    """When a thread has ended, the session no longer refers to the thread's future.

    The test itself keeps the futures, so it counts only the session's weak references.
    """
    futures: list[Any] = []
    may_end = threading.Event()

    def execute() -> None:
        futures.append(session.execute_async(READ))
        assert may_end.wait(WAIT)

    threads = [threading.Thread(target=execute) for _ in range(5)]
    for thread in threads:
        thread.start()
    # While the threads run, the session has one weak reference to each thread's future.
    until(lambda: len(futures) == len(threads))
    assert [weakref.getweakrefcount(future) for future in futures] == [1] * len(threads)
    may_end.set()
    for thread in threads:
        thread.join(WAIT)
    until(lambda: not any(weakref.getweakrefcount(future) for future in futures))
