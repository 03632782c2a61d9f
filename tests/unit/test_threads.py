"""Tests of waiting in greenlets. In these tests, threads take the place of greenlets.


``engine/test_green.py`` uses real greenlets, if gevent or eventlet is installed.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from contextvars import Context, ContextVar
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from cassandra import _threads
from cassandra._threads import (
    GreenEvent,
    RealThread,
    daemon_thread,
    green_library,
    in_own_greenlet,
    new_lock,
    new_reentrant_lock,
    new_thread,
    new_user_thread,
    new_waiter,
)
from tests.interrupted_locks import Interrupt, InterruptedLock, is_free
from tests.waiting import WAIT, until


class WaitPoint:
    """A point at which one thread waits until it is woken.

    `parked` is set when the thread begins to wait.
    """

    instances: list[WaitPoint]

    def __init__(self) -> None:
        self.parked, self.woken, self.closed = threading.Event(), threading.Event(), False
        self.on_wait: Callable[[], None] = lambda: None
        WaitPoint.instances.append(self)

    def wait(self, seconds: float | None) -> bool:
        self.parked.set()
        self.on_wait()
        return self.woken.wait(WAIT if seconds is None else seconds)

    def wake(self) -> None:
        self.woken.set()

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def waiter() -> Any:
    """Return a new waiter with the wait points of this test."""
    WaitPoint.instances = []
    return _threads._GreenWaiter(WaitPoint)


def started(target: Callable[[], object]) -> threading.Thread:
    """Call a function in a new thread, and return the thread."""
    thread = threading.Thread(target=target)
    thread.start()
    return thread


def wait_until_parked(count: int) -> None:
    """Wait until `count` wait points exist and a thread is waiting at each of them."""
    until(lambda: len(WaitPoint.instances) == count)
    assert all(waiter.parked.wait(WAIT) for waiter in WaitPoint.instances[:count])


def test_a_release_before_any_acquire_is_kept_once(waiter: Any) -> None:
    """Two early releases must serve only one `acquire`, and nobody has to wait."""
    waiter.release()
    waiter.release()
    assert waiter.acquire(timeout=0) is True
    assert waiter.acquire(timeout=0) is False
    assert waiter.acquire(blocking=False) is False
    assert WaitPoint.instances == []


def test_releases_wake_waiters_in_order(waiter: Any) -> None:
    woken_numbers: list[int] = []
    threads = []

    def wait(number: int) -> None:
        waiter.acquire()
        woken_numbers.append(number)

    for number in range(2):
        threads.append(started(partial(wait, number)))
        # Wait until this many threads are waiting.
        wait_until_parked(number + 1)
    for number in range(2):
        waiter.release()
        threads[number].join(WAIT)
        assert woken_numbers == list(range(number + 1))
    assert all(wait_point.closed for wait_point in WaitPoint.instances)


def test_a_waiter_that_times_out_leaves_the_queue(waiter: Any) -> None:
    assert waiter.acquire(timeout=0.001) is False
    waiter.release()
    assert waiter.acquire(timeout=0) is True
    assert WaitPoint.instances[0].closed


def test_a_release_during_a_timeout_is_not_lost(waiter: Any) -> None:
    class WaitPointWithLateRelease(WaitPoint):
        def wait(self, seconds: float | None) -> bool:
            # The timeout expires, but another thread has just called `release`.
            if seconds is not None:
                waiter.release()
                return False
            return self.woken.wait(WAIT)

    waiter._new_wait_point = WaitPointWithLateRelease
    assert waiter.acquire(timeout=0.001) is True


def test_a_release_for_a_killed_waiter_wakes_the_next(waiter: Any) -> None:
    class KilledWaitPoint(WaitPoint):
        kills = True

        def wait(self, seconds: float | None) -> bool:
            if self.kills:
                self.kills = False
                waiter.release()
                raise SystemExit
            return self.woken.wait(WAIT)

    waiter._new_wait_point = KilledWaitPoint
    with pytest.raises(SystemExit):
        waiter.acquire()
    # The killed waiter did not use the release that was meant for it, so it must still be there.
    assert waiter.acquire(timeout=0) is True


def test_a_killed_waiter_does_not_wait_for_its_wake_up(waiter: Any) -> None:
    """It could be killed again during that wait, and then the release would be lost."""

    class TwiceKilledWaitPoint(WaitPoint):
        def wait(self, seconds: float | None) -> bool:
            if not self.parked.is_set():
                self.parked.set()
                waiter.release()
            raise SystemExit

    waiter._new_wait_point = TwiceKilledWaitPoint
    with pytest.raises(SystemExit):
        waiter.acquire()
    assert waiter.acquire(timeout=0) is True


def test_a_green_lock_has_one_holder(waiter: Any) -> None:
    """The holder passes the lock on to a waiting caller, or leaves it free."""
    lock = _threads._GreenLock(waiter._new_wait_point)
    holders: list[str] = []

    def hold() -> None:
        with lock:
            holders.append("thread")

    with lock:
        assert lock.acquire(blocking=False) is False
        thread = started(hold)
        wait_until_parked(1)
        holders.append("main")
    thread.join(WAIT)
    assert holders == ["main", "thread"]
    assert lock.acquire(timeout=0) is True


def test_only_its_owner_releases_a_reentrant_green_lock(
    waiter: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The owner may acquire the lock again. Another greenlet, here a thread, cannot release it."""
    greenlets = SimpleNamespace(getcurrent=threading.current_thread)
    monkeypatch.setitem(sys.modules, "greenlet", greenlets)
    lock = _threads._GreenRLock(waiter._new_wait_point)
    with pytest.raises(RuntimeError):
        lock.release()
    errors: list[type] = []

    def release() -> None:
        try:
            lock.release()
        except RuntimeError as error:
            errors.append(type(error))

    with lock:
        with lock:
            assert not is_free(lock)
        started(release).join(WAIT)
        assert errors == [RuntimeError]
        assert not is_free(lock)
    assert is_free(lock)
    with pytest.raises(RuntimeError):
        lock.release()


def test_without_a_library_a_reentrant_lock_is_that_of_python() -> None:
    assert type(new_reentrant_lock()) is type(threading.RLock())


def test_a_signal_handler_takes_no_green_event_from_others() -> None:
    """If a handler raises in `wait` just after the event was set, later waits return True."""
    event = GreenEvent()
    event.set()
    event._waiter = InterruptedLock(event._waiter)
    with pytest.raises(Interrupt):
        event.wait(WAIT)
    assert event.wait(0)


def test_a_signal_handler_takes_no_end_of_a_real_thread_from_others() -> None:
    """If a handler raises in `join` just after the thread has ended, later calls return."""
    thread = RealThread(lambda: None)
    thread.start()
    thread.join(WAIT)
    thread._over = InterruptedLock(thread._over)
    with pytest.raises(Interrupt):
        thread.join(WAIT)
    assert thread._over.acquire(timeout=0)


def test_a_green_event_wakes_all_waiters_and_stays_set() -> None:
    """A wait must time out before the event is set, and return True from then on."""
    event = GreenEvent()
    assert event.wait(0.001) is False
    results: list[bool] = []
    threads = [started(lambda: results.append(event.wait(WAIT))) for _ in range(3)]
    event.set()
    event.set_soon()
    for thread in threads:
        thread.join(WAIT)
    assert results == [True] * 3
    assert event.wait(0) is True


def test_without_a_library_waiters_are_locks_and_threads_are_threads() -> None:
    assert green_library() is None
    lock = new_waiter()
    # A new waiter is a lock that is already held.
    assert lock.acquire(blocking=False) is False
    lock.release()
    assert lock.acquire(timeout=1) is True
    assert type(new_lock()) is type(threading.Lock())
    assert isinstance(new_thread(print, "name"), threading.Thread)
    assert in_own_greenlet(print) is print


class RecordedThread(threading.Thread):
    """A thread that takes the argument `context`, as the threads of Python 3.14 do."""

    def __init__(self, *, context: Context | None = None, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.context = context


@pytest.mark.parametrize("make_thread", [new_thread, daemon_thread])
def test_threads_begin_in_an_empty_context(
    monkeypatch: pytest.MonkeyPatch, make_thread: Callable[..., Any]
) -> None:
    """From Python 3.14 on, each thread gets an empty context of its own.

    Otherwise the thread may keep the context of the thread that has started it.
    """
    monkeypatch.setattr(_threads, "_THREADS_TAKE_CONTEXTS", True)
    monkeypatch.setattr(threading, "Thread", RecordedThread)
    variable: ContextVar[str] = ContextVar("variable")
    variable.set("of the request that connects")
    threads = [make_thread(print, "name") for _ in range(2)]
    assert all(thread.daemon and thread.name == "name" for thread in threads)
    assert [dict(thread.context) for thread in threads] == [{}, {}]
    # A context cannot be entered by two threads at the same time.
    assert threads[0].context is not threads[1].context


def test_earlier_threads_get_no_context(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before Python 3.14, threads do not take a context."""
    monkeypatch.setattr(_threads, "_THREADS_TAKE_CONTEXTS", False)
    monkeypatch.setattr(threading, "Thread", RecordedThread)
    assert new_thread(print, "name").context is None  # type: ignore[union-attr]


class NoDaemonThread(threading.Thread):
    """A thread as in an isolated sub-interpreter, which allows no daemon threads."""

    def __init__(self, *, daemon: bool | None = None, **arguments: Any) -> None:
        if daemon:
            raise RuntimeError("daemon threads are disabled in this (sub)interpreter")
        super().__init__(daemon=daemon, **arguments)


@pytest.mark.parametrize("make_thread", [partial(new_thread, is_brief=True), new_user_thread])
def test_without_daemon_threads_brief_threads_are_others(
    monkeypatch: pytest.MonkeyPatch, make_thread: Callable[..., threading.Thread]
) -> None:
    """If the interpreter allows no daemon threads, it waits for threads that end soon anyway."""
    ended = threading.Event()
    monkeypatch.setattr(threading, "Thread", NoDaemonThread)
    thread = make_thread(ended.set, "name")
    assert not thread.daemon
    thread.start()
    assert ended.wait(WAIT)
    thread.join(WAIT)
    # A thread that does not end by itself would keep the interpreter from exiting.
    with pytest.raises(RuntimeError, match="daemon threads are disabled"):
        new_thread(ended.set, "name")


INHERITING = """
import gc, threading, weakref
from contextvars import ContextVar, copy_context

from cassandra.cluster import Cluster
from cassandra.testing.fake import FakeNode

variable = ContextVar("variable")


class Request:
    pass


def connect():
    request = Request()
    variable.set(request)
    cluster = Cluster([node.address], port=node.port)
    cluster.connect().execute("SELECT * FROM system.local")
    cluster.executor.submit(print).result()
    return cluster, weakref.ref(request)


node = FakeNode().start()
cluster, request = copy_context().run(connect)
gc.collect()
assert request() is None, [
    thread.name for thread in threading.enumerate() if variable in (thread._context or ())
]
cluster.shutdown()
node.stop()
"""


@pytest.mark.skipif(sys.version_info < (3, 14), reason="threads inherit no context")
def test_threads_do_not_keep_the_context_of_connect() -> None:
    """If threads inherit contexts, the values of the caller of `connect` can be freed."""
    command = [sys.executable, "-X", "thread_inherit_context=1", "-c", INHERITING]
    subprocess.run(command, check=True, timeout=WAIT)


@pytest.mark.parametrize(
    ("module", "patched", "expected"),
    [
        (
            "gevent.monkey",
            SimpleNamespace(is_module_patched=lambda name: name == "_thread"),
            "gevent",
        ),
        ("gevent.monkey", SimpleNamespace(is_module_patched=lambda name: False), None),
        ("eventlet.patcher", SimpleNamespace(is_monkey_patched=lambda name: True), "eventlet"),
        ("eventlet.patcher", SimpleNamespace(is_monkey_patched=lambda name: False), None),
    ],
)
def test_green_library_names_the_library_that_patched_threads(
    module: str, patched: Any, expected: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, patched)
    assert green_library() == expected


def test_real_threads_are_registered_while_they_run() -> None:
    running, may_end = threading.Event(), threading.Event()
    is_registered: list[Any] = []

    def target() -> None:
        running.set()
        is_registered.append(thread.ident in _threads._real_threads)
        may_end.wait(WAIT)

    thread = RealThread(target)
    alive_states = [thread.is_alive()]
    thread.start()
    assert running.wait(WAIT)
    alive_states.append(thread.is_alive())
    # This `join` ends with its timeout.
    thread.join(0.001)
    may_end.set()
    thread.join(WAIT)
    # `join` may be called any number of times.
    thread.join()
    alive_states.append(thread.is_alive())
    assert alive_states == [False, True, False]
    assert is_registered == [True]
    assert thread.ident not in _threads._real_threads


@pytest.mark.skipif(sys.platform == "win32", reason="a child of a fork renews the pipe")
def test_a_mailbox_renews_only_its_own_pipe(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A program that becomes a daemon closes the pipe, and other files get its descriptors.

    The child makes no calls that wait in the mailbox, because its parent makes them.
    """
    hub = Mock()
    monkeypatch.setitem(sys.modules, "eventlet", Mock())
    monkeypatch.setitem(sys.modules, "eventlet.hubs", Mock(get_hub=lambda: hub))
    mailbox = _threads._Mailbox()
    event, call = Mock(), _threads._MailedCall(Mock())
    mailbox._events.extend([event, call])
    assert mailbox.renew_pipe()
    assert list(mailbox._events) == [event]
    mailbox.put(event)
    assert os.read(mailbox._out, 9) == b"\0"
    # Two files get the descriptors.
    paths = [tmp_path / name for name in "ab"]
    for path, descriptor in zip(paths, (mailbox._out, mailbox._in), strict=True):
        other = os.open(path, os.O_CREAT | os.O_RDWR)
        os.dup2(other, descriptor)
        os.close(other)
    assert not mailbox.renew_pipe()
    mailbox.close()
    for path, descriptor in zip(paths, (mailbox._out, mailbox._in), strict=True):
        os.write(descriptor, b"kept")
        os.close(descriptor)
        assert path.read_bytes() == b"kept"


def test_a_forked_child_forgets_the_real_threads_of_its_parent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A new thread of the child may get the identity of a real thread of the parent.

    If the thread that forks is a real thread, it goes on in the child.
    """
    own_ident = _threads.get_ident()
    real_threads = {own_ident: _threads._call, own_ident + 1: _threads._call}
    monkeypatch.setattr(_threads, "_real_threads", real_threads)
    for name in ("_spawn_in_main", "_spawn_in_helper", "_starting_helper", "_main_ident"):
        monkeypatch.setattr(_threads, name, getattr(_threads, name))
    _threads._forget_threads()
    assert list(real_threads) == [own_ident]


def test_a_real_thread_that_raises_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """After its function has raised an error, `join` must return, and the thread not be alive.

    Python reports the error.
    """
    reported: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", reported.append)

    def target() -> None:
        raise ZeroDivisionError

    thread = RealThread(target)
    thread.start()
    thread.join(WAIT)
    assert not thread.is_alive()
    assert thread.ident not in _threads._real_threads
    # Python reports the error after the thread has released the callers of `join`.
    until(lambda: len(reported) == 1)
    assert reported[0].exc_type is ZeroDivisionError


def test_log_records_of_real_threads_are_written_by_a_greenlet() -> None:
    written: list[str] = []
    calls: list[Any] = []
    log_filter = _threads._LogInGreenlet(lambda record: written.append(record.getMessage()))
    record = logging.LogRecord("cassandra", logging.INFO, "", 1, "hello", None, None)
    assert log_filter.filter(record) is True
    ident = _threads.get_ident()
    # Pretend that this is a real thread, which passes calls on to the thread of the greenlets.
    _threads._real_threads[ident] = lambda function, *args: calls.append((function, args))
    try:
        # The filter must refuse the record here, because it passes it on to the other thread.
        assert log_filter.filter(record) is False
    finally:
        del _threads._real_threads[ident]
    ((write, arguments),) = calls
    assert written == []
    write(*arguments)
    assert written == ["hello"]
