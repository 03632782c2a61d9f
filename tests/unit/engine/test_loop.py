"""The engine's thread, and the inbox through which other threads reach it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from cassandra.engine.loop import Inbox, LoopThread, new_event_loop
from cassandra.errors import ConnectionShutdown, SessionShutdown
from tests.processes import run_python


class Work:
    def __init__(self, seen: list[int], number: int, done: threading.Event | None = None) -> None:
        self.seen = seen
        self.number = number
        self.done = done
        self.errors: list[BaseException] = []

    def start(self) -> None:
        self.seen.append(self.number)
        if self.done is not None:
            self.done.set()

    def fail(self, error: BaseException) -> None:
        self.errors.append(error)


class RaisingWork(Work):
    """Work that raises an exception that ends programs."""

    def __init__(self, kind: type[BaseException]) -> None:
        super().__init__([], -1)
        self.kind = kind

    def start(self) -> None:
        raise self.kind("from a policy")


LOOPS = [asyncio.SelectorEventLoop, new_event_loop]  # the second is uvloop's if that is installed


def started(make_loop: Callable[[], asyncio.AbstractEventLoop] = new_event_loop) -> LoopThread:
    thread = LoopThread("test-loop", make_loop)
    thread.start()
    return thread


class Interrupted:
    """A loop whose first call from another thread is interrupted, before or after it
    takes effect.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, counts: bool) -> None:
        self.loop = loop
        self.counts = counts
        self.calls = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loop, name)

    def call_soon_threadsafe(self, callback: Callable[..., object]) -> None:
        self.calls += 1
        if self.calls > 1 or self.counts:
            self.loop.call_soon_threadsafe(callback)
        if self.calls == 1:
            raise KeyboardInterrupt


@pytest.mark.parametrize("counts", [True, False])
def test_an_interrupted_call_does_not_keep_later_work_from_the_loop(counts: bool) -> None:
    thread = started()
    try:
        inbox = Inbox(Interrupted(thread.loop, counts))  # type: ignore[arg-type]
        seen: list[int] = []
        done = threading.Event()
        with pytest.raises(KeyboardInterrupt):
            inbox.put(Work(seen, 0))
        inbox.put(Work(seen, 1, done))
        assert done.wait(5)
        assert seen == [0, 1]
    finally:
        thread.stop()


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


def test_no_work_is_lost_between_many_threads() -> None:
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
def test_exceptions_that_end_other_loops_do_not_end_this_one(
    make_loop: Callable[[], asyncio.AbstractEventLoop],
    kind: type[BaseException],
    caplog: pytest.LogCaptureFixture,
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
        work = Work([], 1)
        inbox.put(work)
        (error,) = work.errors
        assert isinstance(error, ConnectionShutdown)
        assert str(error) == "forked"
    finally:
        thread.stop()
    other = LoopThread("forked")
    other.abandon("forked")
    with pytest.raises(ConnectionShutdown, match="forked"):
        other.run(nothing())
    other.loop.close()


@pytest.mark.parametrize(
    "kind", [SystemExit, KeyboardInterrupt, GeneratorExit, asyncio.CancelledError, KeyError]
)
@pytest.mark.parametrize("make_loop", LOOPS)
def test_an_error_of_one_work_item_does_not_affect_others(
    make_loop: Callable[[], asyncio.AbstractEventLoop], kind: type[BaseException]
) -> None:
    thread = started(make_loop)
    try:
        seen: list[int] = []
        done = threading.Event()
        blocked, go_on = threading.Event(), threading.Event()
        thread.loop.call_soon_threadsafe(
            lambda: [event() for event in (blocked.set, lambda: go_on.wait(10))]
        )
        assert blocked.wait(10)
        leaving = RaisingWork(kind)
        for work in (
            leaving,
            Work(seen, 1),
            RaisingWork(kind),
            Work(seen, 2, done),
        ):  # all in one turn of the loop
            thread.inbox.put(work)
        go_on.set()
        assert done.wait(10)
        assert seen == [1, 2]
        (error,) = leaving.errors
        assert isinstance(error, Exception)
        assert "from a policy" in str(error)
    finally:
        thread.stop()


class ClosedLoop:
    """A closed loop that runs a callback during its refusal: another thread puts its work at that
    moment.
    """

    def __init__(self) -> None:
        self.meanwhile: Callable[[], None] | None = None

    def call_soon_threadsafe(self, callback: object) -> None:
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            meanwhile()
        raise RuntimeError("Event loop is closed")


def test_work_of_a_thread_that_has_returned_from_put_is_refused_as_well() -> None:
    loop = ClosedLoop()
    inbox = Inbox(loop)  # type: ignore[arg-type]
    first, second = Work([], 1), Work([], 2)
    loop.meanwhile = lambda: inbox.put(second)  # finds the inbox armed, and returns
    inbox.put(first)
    for work in (first, second):
        assert [type(error) for error in work.errors] == [SessionShutdown]


@pytest.mark.parametrize("make_loop", LOOPS)
def test_work_between_the_last_turn_and_the_close_is_refused(
    make_loop: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    thread = started(make_loop)
    seen: list[int] = []
    work = Work(seen, 1)

    def close() -> None:
        thread.inbox.put(work)  # the loop will not turn again
        close_loop()

    close_loop = thread.loop.close
    if make_loop is asyncio.SelectorEventLoop:
        thread.loop.close = close  # type: ignore[method-assign]
    else:
        thread.loop.call_soon_threadsafe(thread.loop.stop)
        thread._thread.join(10)
        thread.inbox.put(work)
    thread.stop()
    assert seen == []
    assert [type(error) for error in work.errors] == [SessionShutdown]


@pytest.mark.parametrize("make_loop", LOOPS)
def test_threads_that_put_while_the_loop_is_closed_are_all_told(
    make_loop: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    for _ in range(20):
        thread = started(make_loop)
        begun = threading.Barrier(5)
        put: list[Work] = []

        def send(thread: LoopThread, begun: threading.Barrier, put: list[Work]) -> None:
            begun.wait()
            for number in range(500):
                work = Work([], number)
                thread.inbox.put(work)
                put.append(work)

        senders = [threading.Thread(target=send, args=(thread, begun, put)) for _ in range(4)]
        for sender in senders:
            sender.start()
        begun.wait()
        thread.stop()
        for sender in senders:
            sender.join()
        assert len(put) == 2000
        assert all(len(work.errors) + len(work.seen) == 1 for work in put)


@pytest.mark.parametrize("make_loop", LOOPS)
def test_a_waiting_caller_gets_an_error_if_the_loop_ends(
    make_loop: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    thread = started(make_loop)
    begun = threading.Event()

    async def forever() -> None:
        begun.set()
        await asyncio.Event().wait()

    async def nothing() -> None:
        pass

    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(thread.run, forever())
        assert begun.wait(10)
        thread.stop()
        assert isinstance(waiting.exception(timeout=10), ConnectionShutdown)
    with pytest.raises(ConnectionShutdown, match="shut down"):
        thread.run(nothing())


def test_a_blocked_loop_that_does_not_stop_in_time_refuses_what_is_put() -> None:
    thread = started()
    blocked, go_on = threading.Event(), threading.Event()
    thread.loop.call_soon_threadsafe(
        lambda: [event() for event in (blocked.set, lambda: go_on.wait(10))]
    )
    assert blocked.wait(10)
    queued, late = Work([], 1), Work([], 2)
    thread.inbox.put(queued)
    thread.stop(0.01)
    thread.inbox.put(late)
    assert [type(work.errors[0]) for work in (queued, late)] == [SessionShutdown] * 2
    go_on.set()
    thread._thread.join(10)
    assert queued.seen == late.seen == []


@pytest.mark.slow
@pytest.mark.parametrize("uvloop", ["uvloop", "asyncio"])
@pytest.mark.parametrize("left", [0, 1, 3, 5, 7])
def test_without_descriptors_no_host_is_available(uvloop: str, left: int) -> None:
    pytest.importorskip("resource")
    code = f"""if True:
        import gc, os, resource, sys, warnings
        if {uvloop!r} == "asyncio":
            sys.modules["uvloop"] = None
        import cassandra.engine.core
        from cassandra.cluster import Cluster, NoHostAvailable
        Cluster(["127.0.0.1"]).shutdown()
        warnings.simplefilter("error")
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (100, limit))
        held = []
        try:
            while True:
                held.append(os.open(os.devnull, os.O_RDONLY))
        except OSError:
            for _ in range({left}):
                os.close(held.pop())
        try:
            with Cluster(["127.0.0.1"], port=1) as cluster:
                cluster.connect()
        except NoHostAvailable as error:
            said = str(error)
        gc.collect()
        for one in held:
            os.close(one)
        print(said)
    """
    done = run_python(code)
    assert done.stderr == ""
    assert done.stdout.startswith("Unable to connect to any servers: ")
    if left < 6:
        assert "the driver's event loop cannot be made: [Errno 24] Too many open" in done.stdout
