"""The engine's thread and the inbox that other threads reach it through."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest

from cassandra.engine.loop import Inbox, LoopThread, new_event_loop


class Work:
    def __init__(self, seen: list[int], number: int, done: threading.Event | None = None) -> None:
        self.seen = seen
        self.number = number
        self.done = done

    def start(self) -> None:
        self.seen.append(self.number)
        if self.done is not None:
            self.done.set()


def started() -> LoopThread:
    thread = LoopThread("test-loop")
    thread.start()
    return thread


def test_work_of_one_thread_starts_in_order() -> None:
    thread = started()
    try:
        inbox = Inbox(thread.loop)
        seen: list[int] = []
        done = threading.Event()
        for i in range(1000):
            inbox.put(Work(seen, i))
        inbox.put(Work(seen, 1000, done))
        assert done.wait(10)
        assert seen == list(range(1001))
    finally:
        thread.stop()


def test_nothing_is_lost_between_many_threads() -> None:
    thread = started()
    try:
        inbox = Inbox(thread.loop)
        seen: list[int] = []

        def send(start: int) -> None:
            for i in range(start, start + 2000):
                inbox.put(Work(seen, i))

        senders = [threading.Thread(target=send, args=(start,)) for start in range(0, 16000, 2000)]
        for sender in senders:
            sender.start()
        for sender in senders:
            sender.join()
        done = threading.Event()
        inbox.put(Work(seen, 16000, done))
        assert done.wait(10)
        assert sorted(seen) == list(range(16001))
    finally:
        thread.stop()


def test_one_wake_up_serves_what_is_queued_meanwhile() -> None:
    class CountingLoop:
        wake_ups = 0

        def call_soon_threadsafe(self, callback: object) -> None:
            self.wake_ups += 1

    loop = CountingLoop()
    inbox = Inbox(loop)  # type: ignore[arg-type]
    for i in range(500):
        inbox.put(Work([], i))
    assert loop.wake_ups == 1


def test_run_gives_the_result_and_raises_the_error() -> None:
    thread = started()
    try:

        async def add(a: int, b: int) -> int:
            return a + b

        async def fail() -> None:
            raise KeyError("x")

        assert thread.run(add(1, 2)) == 3
        with pytest.raises(KeyError):
            thread.run(fail())
    finally:
        thread.stop()


def test_run_is_bounded_and_cancels() -> None:
    thread = started()
    cancelled = threading.Event()

    async def forever() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    try:
        with pytest.raises(TimeoutError, match=r"0\.01 seconds"):
            thread.run(forever(), 0.01)
        assert cancelled.wait(10)
    finally:
        thread.stop()


def test_a_blocking_call_from_the_loop_is_refused() -> None:
    thread = started()

    async def nothing() -> None:
        pass

    async def call() -> None:
        with pytest.raises(RuntimeError, match="own event loop"):
            thread.run(nothing())

    try:
        thread.run(call())
    finally:
        thread.stop()


def test_stop_ends_thread_and_tasks() -> None:
    thread = started()
    ended = threading.Event()

    async def forever() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async def spawn() -> asyncio.Task[None]:
        return asyncio.ensure_future(forever())

    thread.run(spawn())
    before = threading.active_count()
    thread.stop()
    thread.stop()
    assert ended.is_set()
    assert threading.active_count() == before - 1
    assert thread.loop.is_closed()


@pytest.mark.parametrize("make_loop", [asyncio.SelectorEventLoop, new_event_loop])
@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt])
def test_what_ends_other_loops_does_not_end_this_one(
    make_loop: Callable[[], asyncio.AbstractEventLoop], kind: type[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    thread = LoopThread("test-loop", make_loop)
    thread.start()

    def leave() -> None:
        raise kind("from a listener")

    async def seven() -> int:
        return 7

    try:
        for _ in range(2):
            thread.loop.call_soon_threadsafe(leave)
            assert thread.run(seven(), 10) == 7
        assert sum("it goes on" in record.getMessage() for record in caplog.records) == 2
    finally:
        thread.stop()
    assert not thread._thread.is_alive()


def test_stop_without_start() -> None:
    thread = LoopThread("never")
    thread.stop()
    assert thread.loop.is_closed()


def test_after_a_fork_every_use_says_why_it_fails() -> None:
    thread = started()

    async def nothing() -> None:
        pass

    try:
        inbox = Inbox(thread.loop)
        inbox.abandon("forked")
        with pytest.raises(RuntimeError, match="forked"):
            inbox.put(Work([], 1))
    finally:
        thread.stop()
    other = LoopThread("forked")
    other.abandon("forked")
    with pytest.raises(RuntimeError, match="forked"):
        other.run(nothing())
    other.loop.close()
