"""`LoopThread`, the thread of the engine, and `Inbox`, where other threads put work for it."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import cassandra.engine.loop as loop_module
from cassandra.engine.loop import Inbox, LoopThread, new_event_loop
from cassandra.errors import ConnectionShutdown, SessionShutdown
from tests.interrupted_locks import Interrupt
from tests.processes import run_python
from tests.waiting import WAIT


class Work:
    """A work item for an inbox. When the loop starts it, it adds its number to `started_numbers`.

    :param started_numbers: the list to append to.
    :param number: the number of this item.
    :param is_started: an event that is set when the loop starts the item. None sets nothing.
    """

    def __init__(
        self, started_numbers: list[int], number: int, is_started: threading.Event | None = None
    ) -> None:
        self.started_numbers = started_numbers
        self.number = number
        self.is_started = is_started
        self.errors: list[BaseException] = []

    def start(self) -> None:
        self.started_numbers.append(self.number)
        if self.is_started is not None:
            self.is_started.set()

    def fail(self, error: BaseException) -> None:
        self.errors.append(error)


class RaisingWork(Work):
    """A work item that raises an exception when the loop starts it."""

    def __init__(self, exception_class: type[BaseException]) -> None:
        super().__init__([], -1)
        self.exception_class = exception_class

    def start(self) -> None:
        raise self.exception_class("from a policy")


def block_loop(thread: LoopThread) -> threading.Event:
    """Block the loop, so that it starts no work while a test fills the inbox.

    :returns: an event that lets the loop continue when it is set.
    """
    is_blocked, may_continue = threading.Event(), threading.Event()

    def wait() -> None:
        is_blocked.set()
        may_continue.wait(WAIT)

    thread.loop.call_soon_threadsafe(wait)
    assert is_blocked.wait(WAIT)
    return may_continue


# `new_event_loop` makes a loop of uvloop if uvloop is installed.
LOOP_FACTORIES = [asyncio.SelectorEventLoop, new_event_loop]


def start_thread(
    make_loop: Callable[[], asyncio.AbstractEventLoop] = new_event_loop,
) -> LoopThread:
    """Return a running `LoopThread`, which the test must stop."""
    thread = LoopThread("test-loop", make_loop)
    thread.start()
    return thread


class InterruptedLoop:
    """A loop whose first `call_soon_threadsafe` raises an error, like a signal handler.

    :param loop: the real loop.
    :param takes_effect: True if this call still schedules the callback, as if the signal came at
        its end.
    :param error_class: the class of the error.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        takes_effect: bool,
        error_class: type[BaseException],
    ) -> None:
        self.loop = loop
        self.takes_effect = takes_effect
        self.error_class = error_class
        self.calls = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loop, name)

    def call_soon_threadsafe(self, callback: Callable[..., object]) -> None:
        """Schedule the callback. The first call raises an error before or after this."""
        self.calls += 1
        if self.calls > 1 or self.takes_effect:
            self.loop.call_soon_threadsafe(callback)
        if self.calls == 1:
            raise self.error_class("from a handler")


@pytest.mark.parametrize("error_class", [KeyboardInterrupt, RuntimeError])
@pytest.mark.parametrize("takes_effect", [True, False])
def test_work_after_an_interrupted_put_is_started(
    takes_effect: bool, error_class: type[BaseException]
) -> None:
    """If a signal handler raises inside `put`, the next `put` wakes the loop for both items."""
    thread = start_thread()
    try:
        loop: Any = InterruptedLoop(thread.loop, takes_effect, error_class)
        inbox = Inbox(loop)
        started_numbers: list[int] = []
        is_started = threading.Event()
        with pytest.raises(error_class, match="from a handler"):
            inbox.put(Work(started_numbers, 0))
        inbox.put(Work(started_numbers, 1, is_started))
        assert is_started.wait(WAIT)
        # The first `put` may not have woken the loop. The second woke it for both items.
        assert started_numbers == [0, 1]
    finally:
        thread.stop()


def test_work_of_a_signal_handler_wakes_the_loop_itself() -> None:
    """If a signal handler puts work into the inbox, it wakes the loop itself.

    The handler may interrupt a thread that is just about to wake the loop, and then wait for its
    own work.
    """

    class LoopOfHandlers:
        """A loop that runs a signal handler at the start of each of the first three wake-ups."""

        def __init__(self) -> None:
            self.wake_count = 0

        def call_soon_threadsafe(self, function: Any) -> None:
            depth = len(interrupted)
            if depth < 3:
                interrupted.append(depth)
                wakes_before = self.wake_count
                inbox.put(Work([], 0))
                assert self.wake_count > wakes_before
            self.wake_count += 1

    interrupted: list[int] = []
    loop = LoopOfHandlers()
    inbox = Inbox(loop)  # type: ignore[arg-type]
    inbox.put(Work([], 0))
    assert interrupted == [0, 1, 2]
    wake_count = loop.wake_count
    inbox.put(Work([], 0))  # not from a handler, and the loop has not run yet
    assert loop.wake_count == wake_count


def test_work_of_one_thread_starts_in_order() -> None:
    """Work that one thread puts into the inbox is started in the order of the calls."""
    thread = start_thread()
    try:
        inbox = Inbox(thread.loop)
        started_numbers: list[int] = []
        is_started = threading.Event()
        for number in range(1000):
            inbox.put(Work(started_numbers, number))
        inbox.put(Work(started_numbers, 1000, is_started))
        assert is_started.wait(WAIT)
        assert started_numbers == list(range(1001))
    finally:
        thread.stop()


def test_work_of_many_threads_is_started() -> None:
    """Work that several threads put into the inbox concurrently is started exactly once."""
    thread = start_thread()
    try:
        inbox = Inbox(thread.loop)
        started_numbers: list[int] = []

        thread_count, entries_per_thread = 8, 2000
        total = thread_count * entries_per_thread

        def send(first_number: int) -> None:
            for number in range(first_number, first_number + entries_per_thread):
                inbox.put(Work(started_numbers, number))

        senders = [
            threading.Thread(target=send, args=(first_number,))
            for first_number in range(0, total, entries_per_thread)
        ]
        for sender in senders:
            sender.start()
        for sender in senders:
            sender.join()
        # Put one more item after all other items, and wait until it is started.
        is_started = threading.Event()
        inbox.put(Work(started_numbers, total, is_started))
        assert is_started.wait(WAIT)
        assert sorted(started_numbers) == list(range(total + 1))
    finally:
        thread.stop()


def test_the_loop_is_woken_once_for_many_work_items() -> None:
    """For 500 work items, the loop is woken once, because it never handles this wake-up."""

    class CountingLoop:
        wake_ups = 0

        def call_soon_threadsafe(self, callback: object) -> None:
            self.wake_ups += 1

    loop = CountingLoop()
    inbox = Inbox(loop)  # type: ignore[arg-type]
    for number in range(500):
        inbox.put(Work(started_numbers=[], number=number))
    assert loop.wake_ups == 1


def test_without_daemon_threads_the_error_names_another_api(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An isolated sub-interpreter allows no daemon threads, so only asyncio works there."""

    class NoDaemonThread:
        def __init__(self, **arguments: Any) -> None:
            raise RuntimeError("daemon threads are disabled in this (sub)interpreter")

    loops: list[asyncio.AbstractEventLoop] = []

    def make_loop() -> asyncio.AbstractEventLoop:
        loops.append(new_event_loop())
        return loops[0]

    monkeypatch.setattr(threading, "Thread", NoDaemonThread)
    with pytest.raises(RuntimeError, match=r"daemon threads are disabled.*: use cassandra\.aio"):
        LoopThread("test-loop", make_loop)
    gc.collect()
    assert loops[0].is_closed()


def test_run_returns_the_result_or_raises_the_error() -> None:
    """`LoopThread.run` runs a coroutine in the loop's thread.

    It returns the coroutine's result or raises its error.
    """
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
    """After its timeout, `LoopThread.run` raises TimeoutError and cancels the coroutine."""
    thread = start_thread()
    cancelled = threading.Event()

    async def forever() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    try:
        with pytest.raises(TimeoutError, match=r"0\.01 seconds"):
            thread.run(forever(), timeout=0.01)
        assert cancelled.wait(WAIT)
    finally:
        thread.stop()


def test_a_blocking_call_from_the_loop_is_refused() -> None:
    """If `LoopThread.run` is called in the loop's own thread, it raises RuntimeError.

    It would wait for itself.
    """
    thread = start_thread()

    async def do_nothing() -> None:
        pass

    async def call_run() -> None:
        with pytest.raises(RuntimeError, match="own event loop"):
            thread.run(do_nothing())

    try:
        thread.run(call_run())
    finally:
        thread.stop()


def test_stop_ends_thread_and_tasks() -> None:
    """`LoopThread.stop` cancels the loop's tasks, ends the thread and closes the loop."""
    thread = start_thread()
    is_cancelled = threading.Event()

    async def forever() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            is_cancelled.set()

    async def spawn() -> asyncio.Task[None]:
        return asyncio.ensure_future(forever())

    thread.run(spawn())
    count_before = threading.active_count()
    # A second call does nothing.
    thread.stop()
    thread.stop()
    assert is_cancelled.is_set()
    assert threading.active_count() == count_before - 1
    assert thread.loop.is_closed()


@pytest.mark.parametrize("fails", [False, True])
def test_stop_after_runs_a_coroutine_and_then_stops(fails: bool) -> None:
    """`stop_after` returns at once, and the loop stops after the coroutine, even if this raises."""
    thread = start_thread()
    # No code awaits the coroutine, so the loop would report its error.
    thread.loop.set_exception_handler(lambda *_: None)
    has_run = threading.Event()

    async def finish() -> None:
        has_run.set()
        if fails:
            raise ValueError("it failed")

    thread.stop_after(finish())
    # `stop` waits for the end of the thread.
    thread.stop(WAIT)
    assert has_run.is_set()
    assert not thread._thread.is_alive()
    assert thread.loop.is_closed()
    # After the end of the loop, a coroutine is closed without being run. Otherwise, Python would
    # warn that it was never awaited.
    has_run.clear()
    thread.stop_after(finish())
    assert not has_run.is_set()


@pytest.mark.parametrize("make_loop", [asyncio.SelectorEventLoop, new_event_loop])
@pytest.mark.parametrize("exception_class", [SystemExit, KeyboardInterrupt])
def test_system_exit_and_keyboard_interrupt_do_not_end_the_loop(
    make_loop: Callable[[], asyncio.AbstractEventLoop],
    exception_class: type[BaseException],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """If a callback raises SystemExit or KeyboardInterrupt, it is logged, and the loop continues.

    These exceptions would end asyncio's own `run_forever`.
    """
    thread = LoopThread("test-loop", make_loop)
    thread.start()

    def raise_exception() -> None:
        raise exception_class("from a listener")

    async def return_seven() -> int:
        return 7

    try:
        for _ in range(2):
            thread.loop.call_soon_threadsafe(raise_exception)
            # The loop still works, because it runs a coroutine.
            assert thread.run(return_seven(), timeout=WAIT) == 7
        assert sum("it goes on" in record.getMessage() for record in caplog.records) == 2
    finally:
        thread.stop()
    assert not thread._thread.is_alive()


def test_stop_without_start() -> None:
    thread = LoopThread("never")
    thread.stop()
    assert thread.loop.is_closed()


def test_after_abandon_every_use_raises_the_reason() -> None:
    """In a forked child, `abandon` makes every use of inboxes and loops raise ConnectionShutdown.

    The error has the reason that was passed to `abandon`.
    """
    thread = start_thread()

    async def do_nothing() -> None:
        pass

    try:
        # An item that is put into an abandoned inbox gets the error.
        inbox = Inbox(thread.loop)
        inbox.abandon("forked")
        work = Work(started_numbers=[], number=1)
        inbox.put(work)
        (error,) = work.errors
        assert isinstance(error, ConnectionShutdown)
        assert str(error) == "forked"
    finally:
        thread.stop()
    # `run` of an abandoned loop thread raises the error.
    abandoned_thread = LoopThread("forked")
    abandoned_thread.abandon("forked")
    with pytest.raises(ConnectionShutdown, match="forked"):
        abandoned_thread.run(do_nothing())
    abandoned_thread.loop.close()


@pytest.mark.parametrize(
    "exception_class",
    [SystemExit, KeyboardInterrupt, GeneratorExit, asyncio.CancelledError, KeyError],
)
@pytest.mark.parametrize("make_loop", LOOP_FACTORIES)
def test_an_error_of_one_work_item_does_not_affect_others(
    make_loop: Callable[[], asyncio.AbstractEventLoop],
    exception_class: type[BaseException],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """If a work item raises any exception when it starts, the next item is still started.

    The first item fails.
    """
    thread = start_thread(make_loop)
    try:
        started_numbers: list[int] = []
        is_started = threading.Event()
        may_continue = block_loop(thread)
        raising = RaisingWork(exception_class)
        for work in (
            raising,
            Work(started_numbers, 1),
            RaisingWork(exception_class),
            Work(started_numbers, 2, is_started),
        ):  # all items are started in the same iteration of the loop
            thread.inbox.put(work)
        may_continue.set()
        assert is_started.wait(WAIT)
        assert started_numbers == [1, 2]
        (error,) = raising.errors
        assert isinstance(error, Exception)
        assert "from a policy" in str(error)
        messages = [record.getMessage() for record in caplog.records]
        assert sum(message.endswith("could not be started") for message in messages) == 2
    finally:
        thread.stop()


class ClosedLoop:
    """A closed loop that calls `meanwhile` before it refuses a callback.

    A test can thus put another work item into the inbox at this moment, as another thread might.
    """

    def __init__(self) -> None:
        self.meanwhile: Callable[[], None] | None = None

    def is_closed(self) -> bool:
        return True

    def call_soon_threadsafe(self, callback: object) -> None:
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            meanwhile()
        raise RuntimeError("Event loop is closed")


def test_if_the_loop_is_closed_all_queued_work_is_refused() -> None:
    """If the loop is closed, all work in the inbox fails.

    This includes work that arrives during a wake-up.
    """
    loop = ClosedLoop()
    inbox = Inbox(loop)  # type: ignore[arg-type]
    first = Work(started_numbers=[], number=1)
    second = Work(started_numbers=[], number=2)
    # While the first `put` tries to wake the loop, the second `put` only queues its work.
    loop.meanwhile = lambda: inbox.put(second)
    inbox.put(first)
    for work in (first, second):
        assert [type(error) for error in work.errors] == [SessionShutdown]


@pytest.mark.parametrize("make_loop", LOOP_FACTORIES)
def test_work_between_the_loops_last_turn_and_its_close_is_refused(
    make_loop: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    """If work arrives after the loop's last iteration, it fails with SessionShutdown.

    Otherwise, it would wait for ever.
    """
    thread = start_thread(make_loop)
    started_numbers: list[int] = []
    work = Work(started_numbers, 1)

    def put_and_close() -> None:
        # The loop never runs again.
        thread.inbox.put(work)
        close_loop()

    close_loop = thread.loop.close
    # The `close` method of uvloop's loops cannot be replaced, so end the thread first, and then put
    # the work.
    if make_loop is asyncio.SelectorEventLoop:
        thread.loop.close = put_and_close  # type: ignore[method-assign]
    else:
        thread.loop.call_soon_threadsafe(thread.loop.stop)
        thread._thread.join(WAIT)
        thread.inbox.put(work)
    thread.stop()
    assert started_numbers == []
    assert [type(error) for error in work.errors] == [SessionShutdown]


@pytest.mark.parametrize("make_loop", LOOP_FACTORIES)
def test_work_put_while_the_loop_closes_is_started_or_refused(
    make_loop: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    """If threads put work into the inbox during `stop`, each item is started or refused."""
    sender_count, work_per_sender = 4, 500
    for _ in range(20):
        thread = start_thread(make_loop)
        start = threading.Barrier(sender_count + 1)
        sent_work: list[Work] = []

        def send(thread: LoopThread, start: threading.Barrier, sent_work: list[Work]) -> None:
            start.wait()
            for number in range(work_per_sender):
                work = Work(started_numbers=[], number=number)
                thread.inbox.put(work)
                sent_work.append(work)

        senders = [
            threading.Thread(target=send, args=(thread, start, sent_work))
            for _ in range(sender_count)
        ]
        for sender in senders:
            sender.start()
        start.wait()
        thread.stop()
        for sender in senders:
            sender.join()
        assert len(sent_work) == sender_count * work_per_sender
        # Each work item was started or refused, exactly once.
        for work in sent_work:
            assert len(work.started_numbers) + len(work.errors) == 1


@pytest.mark.parametrize("make_loop", LOOP_FACTORIES)
def test_a_waiting_caller_gets_an_error_if_the_loop_ends(
    make_loop: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    """`LoopThread.run` raises ConnectionShutdown if the loop stops before the coroutine ends.

    After the loop has stopped, `run` raises this error, too.
    """
    thread = start_thread(make_loop)
    has_begun = threading.Event()

    async def forever() -> None:
        has_begun.set()
        await asyncio.Event().wait()

    async def do_nothing() -> None:
        pass

    with ThreadPoolExecutor(1) as threads:
        waiting_call = threads.submit(thread.run, forever())
        assert has_begun.wait(WAIT)
        # Stop the loop while the call waits for a coroutine that never ends.
        thread.stop()
        assert isinstance(waiting_call.exception(timeout=WAIT), ConnectionShutdown)
    with pytest.raises(ConnectionShutdown, match="shut down"):
        thread.run(do_nothing())


def test_if_the_loop_does_not_stop_in_time_its_work_is_refused() -> None:
    """If a callback blocks the loop, `stop` returns after its timeout, and all work fails."""
    thread = start_thread()
    may_continue = block_loop(thread)
    queued = Work(started_numbers=[], number=1)
    late = Work(started_numbers=[], number=2)
    thread.inbox.put(queued)
    thread.stop(timeout=0.01)
    thread.inbox.put(late)
    for work in (queued, late):
        assert [type(error) for error in work.errors] == [SessionShutdown]
    may_continue.set()
    thread._thread.join(WAIT)
    assert queued.started_numbers == []
    assert late.started_numbers == []


@pytest.mark.slow
@pytest.mark.parametrize("loop_name", ["uvloop", "asyncio"])
def test_without_descriptors_no_host_is_available(loop_name: str) -> None:
    """Without free file descriptors, `connect` raises NoHostAvailable with the reason.

    Nothing is leaked.

    :param loop_name: the kind of the loop.
    """
    pytest.importorskip("resource")
    free_descriptors = (0, 1, 3, 5, 7)
    code = f"""if True:
        import gc, os, resource, sys, warnings
        if {loop_name!r} == "asyncio":
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
    process = run_python(code)
    assert process.stderr == ""
    messages = process.stdout.splitlines()
    for count, message in zip(free_descriptors, messages, strict=True):
        assert message.strip("\"'").startswith("Unable to connect to any servers: ")
        # With 6 or more descriptors, the loop can be created, and only the connection fails.
        if count < 6:
            assert "the driver's event loop cannot be made: [Errno 24] Too many open" in message


def test_a_time_limit_of_the_application_keeps_its_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """A signal handler's TimeoutError, which is an OSError, must not become NoHostAvailable."""

    def interrupted() -> None:
        raise TimeoutError("alarm")

    monkeypatch.setattr(loop_module, "_check_descriptors", interrupted)
    with pytest.raises(TimeoutError, match="alarm"):
        new_event_loop()


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="the system does not list them")
def test_signal_handlers_leave_no_descriptors_open() -> None:
    """A signal handler may raise after each call that `new_event_loop` makes."""

    def interrupt(at: int) -> bool:
        calls = 0

        def profile(frame: FrameType, event: str, argument: object) -> None:
            nonlocal calls
            if event == "c_return" and frame.f_code.co_filename == loop_module.__file__:
                calls += 1
                if calls == at:
                    raise Interrupt

        previous = sys.getprofile()
        sys.setprofile(profile)
        try:
            loop = new_event_loop()
        except Interrupt:
            return True
        finally:
            sys.setprofile(previous)
        loop.close()
        return False

    interrupt(-1)  # the first loop of a process opens descriptors that stay
    gc.collect()
    descriptors = os.listdir("/proc/self/fd")
    at = 1
    while interrupt(at):
        assert os.listdir("/proc/self/fd") == descriptors, at
        at += 1
    assert 3 < at < 100


@pytest.mark.skipif(sys.platform == "win32", reason="tests the descriptors of POSIX")
def test_the_descriptors_of_closed_standard_streams_are_not_used() -> None:
    """A process whose standard streams are closed can use a cluster, and ends as usual.

    uvloop aborts a process in which a socket has the descriptor 0, 1 or 2.
    """
    pytest.importorskip("uvloop")
    code = """if True:
        import os, sys
        from cassandra.cluster import Cluster
        from cassandra.testing.fake import FakeCluster
        with FakeCluster(1) as nodes:
            # Duplicate the standard output, through which the test reads the result.
            output = os.dup(1)
            for descriptor in (0, 1, 2):
                os.close(descriptor)
            with Cluster(nodes.contact_points, port=nodes.port) as cluster:
                cluster.connect().execute("SELECT cluster_name FROM system.local").one()
        null = os.stat(os.devnull)
        assert all(os.path.samestat(os.fstat(descriptor), null) for descriptor in (0, 1, 2))
        os.write(output, b"done")
        sys.stdout = sys.stderr = None
    """
    process = run_python(code)
    assert (process.returncode, process.stdout) == (0, "done")


def test_a_loop_can_be_made_without_the_null_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the null device is missing or cannot be opened, a loop can be created nevertheless.

    That is so in some jails and sandboxes.
    """
    monkeypatch.setattr(os, "devnull", "/no/such/device")
    new_event_loop().close()
