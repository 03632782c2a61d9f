"""`LoopThread`, the thread in which the engine runs, and `Inbox`, through which other threads give
it work.
"""

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
from tests.waiting import WAIT


class Work:
    """An entry for an inbox. It adds its number to `seen` when the loop starts it.

    :param done: if given, set when the loop starts the entry.
    """

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
    """An entry that raises an exception which usually ends a program when the loop starts it."""

    def __init__(self, exception_class: type[BaseException]) -> None:
        super().__init__([], -1)
        self.exception_class = exception_class

    def start(self) -> None:
        raise self.exception_class("from a policy")


def block(thread: LoopThread) -> threading.Event:
    """Block the loop, so that entries can be put into the inbox before the loop starts any of them.

    :returns: an event; the loop goes on when it is set.
    """
    is_blocked, go_on = threading.Event(), threading.Event()

    def wait() -> None:
        is_blocked.set()
        go_on.wait(10)

    thread.loop.call_soon_threadsafe(wait)
    assert is_blocked.wait(10)
    return go_on


# The second loop is uvloop's, if uvloop is installed.
LOOPS = [asyncio.SelectorEventLoop, new_event_loop]


def start_thread(
    make_loop: Callable[[], asyncio.AbstractEventLoop] = new_event_loop,
) -> LoopThread:
    thread = LoopThread("test-loop", make_loop)
    thread.start()
    return thread


class InterruptedLoop:
    """A loop whose first `call_soon_threadsafe` raises KeyboardInterrupt.

    :param takes_effect: True if this call schedules the callback all the same, as when the
        interrupt comes at its end.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, takes_effect: bool) -> None:
        self.loop = loop
        self.takes_effect = takes_effect
        self.calls = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loop, name)

    def call_soon_threadsafe(self, callback: Callable[..., object]) -> None:
        self.calls += 1
        if self.calls > 1 or self.takes_effect:
            self.loop.call_soon_threadsafe(callback)
        if self.calls == 1:
            raise KeyboardInterrupt


@pytest.mark.parametrize("takes_effect", [True, False])
def test_work_after_an_interrupted_put_is_started(takes_effect: bool) -> None:
    thread = start_thread()
    try:
        inbox = Inbox(InterruptedLoop(thread.loop, takes_effect))  # type: ignore[arg-type]
        seen: list[int] = []
        done = threading.Event()
        with pytest.raises(KeyboardInterrupt):
            inbox.put(Work(seen, 0))
        inbox.put(Work(seen, 1, done))
        assert done.wait(5)
        # The first `put` could not wake the loop. The second one woke it for both entries.
        assert seen == [0, 1]
    finally:
        thread.stop()


def test_work_of_one_thread_starts_in_order() -> None:
    thread = start_thread()
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


def test_work_of_many_threads_is_started() -> None:
    thread = start_thread()
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


def test_the_loop_is_woken_once_for_many_work_items() -> None:
    class CountingLoop:
        wake_ups = 0

        def call_soon_threadsafe(self, callback: object) -> None:
            self.wake_ups += 1

    loop = CountingLoop()
    inbox = Inbox(loop)  # type: ignore[arg-type]
    for i in range(500):
        inbox.put(Work(seen=[], number=i))
    # The fake loop never handles its first wake-up, so the inbox must not wake it again.
    assert loop.wake_ups == 1


def test_run_returns_the_result_or_raises_the_error() -> None:
    thread = start_thread()
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


def test_run_cancels_the_coroutine_after_its_timeout() -> None:
    thread = start_thread()
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
    thread = start_thread()

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
    thread = start_thread()
    ended = threading.Event()

    async def forever() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async def spawn() -> asyncio.Task[None]:
        return asyncio.ensure_future(forever())

    thread.run(spawn())
    count_before = threading.active_count()
    # The second call does nothing.
    thread.stop()
    thread.stop()
    assert ended.is_set()
    assert threading.active_count() == count_before - 1
    assert thread.loop.is_closed()


@pytest.mark.parametrize("fails", [False, True])
def test_stop_after_runs_a_coroutine_and_then_stops(fails: bool) -> None:
    thread = start_thread()
    thread.loop.set_exception_handler(lambda *_: None)  # nobody awaits the coroutine's error
    ran = threading.Event()

    async def finish() -> None:
        ran.set()
        if fails:
            raise ValueError("it failed")

    thread.stop_after(finish())
    # The call has returned at once. A later `stop` waits for the thread.
    thread.stop(WAIT)
    assert ran.is_set()
    assert not thread._thread.is_alive()
    assert thread.loop.is_closed()
    # After the end, a coroutine is closed without being run: Python would warn otherwise.
    ran.clear()
    thread.stop_after(finish())
    assert not ran.is_set()


@pytest.mark.parametrize("make_loop", [asyncio.SelectorEventLoop, new_event_loop])
@pytest.mark.parametrize("exception_class", [SystemExit, KeyboardInterrupt])
def test_system_exit_and_keyboard_interrupt_do_not_end_the_loop(
    make_loop: Callable[[], asyncio.AbstractEventLoop],
    exception_class: type[BaseException],
    caplog: pytest.LogCaptureFixture,
) -> None:
    thread = LoopThread("test-loop", make_loop)
    thread.start()

    def raise_it() -> None:
        raise exception_class("from a listener")

    async def return_seven() -> int:
        return 7

    try:
        for _ in range(2):
            thread.loop.call_soon_threadsafe(raise_it)
            # The loop still works: it runs a coroutine.
            assert thread.run(return_seven(), 10) == 7
        assert sum("it goes on" in record.getMessage() for record in caplog.records) == 2
    finally:
        thread.stop()
    assert not thread._thread.is_alive()


def test_stop_without_start() -> None:
    thread = LoopThread("never")
    thread.stop()
    assert thread.loop.is_closed()


def test_after_abandon_every_use_raises_the_reason() -> None:
    thread = start_thread()

    async def nothing() -> None:
        pass

    try:
        inbox = Inbox(thread.loop)
        inbox.abandon("forked")
        work = Work(seen=[], number=1)
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
    "exception_class",
    [SystemExit, KeyboardInterrupt, GeneratorExit, asyncio.CancelledError, KeyError],
)
@pytest.mark.parametrize("make_loop", LOOPS)
def test_an_error_of_one_work_item_does_not_affect_others(
    make_loop: Callable[[], asyncio.AbstractEventLoop],
    exception_class: type[BaseException],
    caplog: pytest.LogCaptureFixture,
) -> None:
    thread = start_thread(make_loop)
    try:
        seen: list[int] = []
        done = threading.Event()
        go_on = block(thread)
        raising = RaisingWork(exception_class)
        for work in (
            raising,
            Work(seen, 1),
            RaisingWork(exception_class),
            Work(seen, 2, done),
        ):  # All entries are started in one turn of the loop.
            thread.inbox.put(work)
        go_on.set()
        assert done.wait(10)
        assert seen == [1, 2]
        (error,) = raising.errors
        assert isinstance(error, Exception)
        assert "from a policy" in str(error)
        messages = [record.getMessage() for record in caplog.records]
        assert sum(message.endswith("could not be started") for message in messages) == 2
    finally:
        thread.stop()


class ClosedLoop:
    """A closed loop that calls `meanwhile` before it refuses a callback.

    So a test can put another entry into the inbox at that moment, as another thread might.
    """

    def __init__(self) -> None:
        self.meanwhile: Callable[[], None] | None = None

    def call_soon_threadsafe(self, callback: object) -> None:
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            meanwhile()
        raise RuntimeError("Event loop is closed")


def test_if_the_loop_is_closed_all_queued_work_is_refused() -> None:
    loop = ClosedLoop()
    inbox = Inbox(loop)  # type: ignore[arg-type]
    first, second = Work(seen=[], number=1), Work(seen=[], number=2)
    # A wake-up was already requested, so this call returns without an error.
    loop.meanwhile = lambda: inbox.put(second)
    inbox.put(first)
    for work in (first, second):
        assert [type(error) for error in work.errors] == [SessionShutdown]


@pytest.mark.parametrize("make_loop", LOOPS)
def test_work_between_the_loops_last_turn_and_its_close_is_refused(
    make_loop: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    thread = start_thread(make_loop)
    seen: list[int] = []
    work = Work(seen, 1)

    def put_and_close() -> None:
        thread.inbox.put(work)  # the loop never runs again
        close_loop()

    close_loop = thread.loop.close
    # The `close` method of a uvloop loop cannot be replaced: let the thread end instead, and put
    # the entry then.
    if make_loop is asyncio.SelectorEventLoop:
        thread.loop.close = put_and_close  # type: ignore[method-assign]
    else:
        thread.loop.call_soon_threadsafe(thread.loop.stop)
        thread._thread.join(10)
        thread.inbox.put(work)
    thread.stop()
    assert seen == []
    assert [type(error) for error in work.errors] == [SessionShutdown]


@pytest.mark.parametrize("make_loop", LOOPS)
def test_work_put_while_the_loop_closes_is_started_or_refused(
    make_loop: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    for _ in range(20):
        thread = start_thread(make_loop)
        begun = threading.Barrier(5)
        sent: list[Work] = []

        def send(thread: LoopThread, begun: threading.Barrier, sent: list[Work]) -> None:
            begun.wait()
            for number in range(500):
                work = Work(seen=[], number=number)
                thread.inbox.put(work)
                sent.append(work)

        senders = [threading.Thread(target=send, args=(thread, begun, sent)) for _ in range(4)]
        for sender in senders:
            sender.start()
        begun.wait()
        thread.stop()
        for sender in senders:
            sender.join()
        # There are 4 threads with 500 entries each.
        assert len(sent) == 2000
        # Each entry was either started or refused, and only once.
        assert all(len(work.errors) + len(work.seen) == 1 for work in sent)


@pytest.mark.parametrize("make_loop", LOOPS)
def test_a_waiting_caller_gets_an_error_if_the_loop_ends(
    make_loop: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    thread = start_thread(make_loop)
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


def test_if_the_loop_does_not_stop_in_time_its_work_is_refused() -> None:
    thread = start_thread()
    go_on = block(thread)
    queued, late = Work(seen=[], number=1), Work(seen=[], number=2)
    thread.inbox.put(queued)
    thread.stop(0.01)
    thread.inbox.put(late)
    assert [type(work.errors[0]) for work in (queued, late)] == [SessionShutdown] * 2
    go_on.set()
    thread._thread.join(10)
    assert queued.seen == late.seen == []


@pytest.mark.slow
@pytest.mark.parametrize("uvloop", ["uvloop", "asyncio"])
def test_without_descriptors_no_host_is_available(uvloop: str) -> None:
    pytest.importorskip("resource")
    free_descriptors = (0, 1, 3, 5, 7)
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
        for free_descriptors in {free_descriptors}:
            held = []
            try:
                while True:
                    held.append(os.open(os.devnull, os.O_RDONLY))
            except OSError:
                for _ in range(free_descriptors):
                    os.close(held.pop())
            message = None
            try:
                with Cluster(["127.0.0.1"], port=1) as cluster:
                    cluster.connect()
            except NoHostAvailable as error:
                message = str(error)
            gc.collect()
            for descriptor in held:
                os.close(descriptor)
            print(repr(message))
    """
    done = run_python(code)
    assert done.stderr == ""
    messages = done.stdout.splitlines()
    for count, message in zip(free_descriptors, messages, strict=True):
        assert message.strip("\"'").startswith("Unable to connect to any servers: ")
        # With 6 descriptors or more the loop can be created, and only the connection fails.
        if count < 6:
            assert "the driver's event loop cannot be made: [Errno 24] Too many open" in message
