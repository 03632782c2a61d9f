"""The driver in processes where gevent or eventlet has replaced threads by greenlets.

The engine runs in a real thread, and a blocking call stops only the greenlet that makes the call.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path

import pytest

from cassandra.testing.fake import FakeNode, rows, silence
from tests.processes import run_python

PATCHES = {
    "gevent": "import gevent; from gevent import monkey; monkey.patch_all({what})",
    "eventlet": "import eventlet; eventlet.monkey_patch({what})",
}
# This code is the beginning of each test program. In the program, `green` is the library (gevent or
# eventlet).
BEGIN = """
import sys, warnings
warnings.simplefilter("ignore")
if {loop!r} == "asyncio":
    sys.modules["uvloop"] = None
{before}
{patch}
import {library} as green
import threading
from cassandra import OperationTimedOut
from cassandra.cluster import Cluster
from cassandra.concurrent import (
    execute_concurrent, execute_concurrent_async, execute_concurrent_with_args
)
cluster = Cluster(["localhost"], port={port}, connect_timeout=10)
"""
# This code is the end of each test program. The second call of `shutdown` must have no effect.
END = """
cluster.shutdown()
cluster.shutdown()
print("end")
"""

RunProgram = Callable[..., list[str]]


@pytest.fixture(
    params=[
        "gevent-uvloop",
        pytest.param("gevent-asyncio", marks=pytest.mark.long),
        pytest.param("eventlet-uvloop", marks=pytest.mark.long),
    ]
)
def run_program(request: pytest.FixtureRequest) -> RunProgram:
    """Return a function that runs a program in a patched process, and returns the lines it prints.

    The program starts with BEGIN. Its fake node responds to READ with 7, and never responds to
    SILENT.
    """
    library, loop = request.param.split("-")
    return lambda program, **options: printed_lines(library, loop, program, **options)


def printed_lines(
    library: str, loop: str, program: str, setup_code: str = "", patch_arguments: str = ""
) -> list[str]:
    """Run a program in a process that the library has patched, and return the lines it prints.

    :param library: "gevent" or "eventlet".
    :param loop: "uvloop" or "asyncio".
    :param program: the program. It can use `cluster`, and the library as `green`.
    :param setup_code: code that runs before the library patches the standard library.
    :param patch_arguments: arguments of the function that patches. By default, it patches
        everything.
    """
    for name in {library, loop} - {"asyncio"}:
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed")
    with FakeNode() as node:
        node.prime("READ", rows([("v", "int")], [(7,)]))
        node.prime("SILENT", silence())
        begin = BEGIN.format(
            loop=loop,
            before=setup_code,
            patch=PATCHES[library].format(what=patch_arguments),
            library=library,
            port=node.port,
        )
        process = run_python(begin + program + END, timeout=60)
    assert process.returncode == 0, process.stdout + process.stderr
    assert "Traceback" not in process.stderr, process.stderr
    lines = process.stdout.splitlines()
    assert lines[-1] == "end"
    # Leave out the last line, "end", which shows that the program ran to its end.
    return lines[:-1]


@pytest.mark.parametrize("setup_code", ["", "import cassandra.cluster, cassandra.concurrent"])
def test_blocking_calls_of_many_greenlets(run_program: RunProgram, setup_code: str) -> None:
    """While 50 greenlets make blocking calls, another greenlet still runs."""
    program = """
session = cluster.connect()
turns = 0
def tick():
    global turns
    while True:
        turns += 1
        green.sleep(0.001)
green.spawn(tick)
def work():
    for _ in range(20):
        assert session.execute("READ").one().v == 7
threads = [threading.Thread(target=work) for _ in range(50)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(turns > 3)  # the greenlet of `tick` has run meanwhile
"""
    assert run_program(program, setup_code=setup_code) == ["True"]


def test_a_call_may_wait_while_no_other_greenlet_runs(run_program: RunProgram) -> None:
    """If all greenlets wait for the driver, gevent or eventlet must not report a deadlock."""
    program = """
session = cluster.connect()
try:
    session.execute("SILENT", timeout=0.3)
except OperationTimedOut:
    print("timed out")
print(session.execute("READ").one().v)
"""
    assert run_program(program) == ["timed out", "7"]


def test_several_greenlets_wait_for_one_future(run_program: RunProgram) -> None:
    """If several greenlets wait for the same future, each gets the result."""
    program = """
session = cluster.connect()
future = session.execute_async("READ")
results = []
threads = [threading.Thread(target=lambda: results.append(future.result().one().v)) for _ in "abc"]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(results)
"""
    assert run_program(program) == ["[7, 7, 7]"]


def test_callbacks_run_in_a_greenlet_of_the_applications_thread(run_program: RunProgram) -> None:
    """Callbacks run in a greenlet of the application's thread, where they may use the library.

    They must not run in the engine's thread.
    """
    program = """
session = cluster.connect()
home = threading.get_native_id()
done, failed = threading.Event(), threading.Event()
def on_rows(rows, name):
    green.sleep(0.001)  # in a thread of another kind this would not come back
    print(rows[0].v, name, threading.get_native_id() == home)
    done.set()
def on_error(error):
    print(type(error).__name__)
    failed.set()
session.execute_async("READ").add_callbacks(on_rows, on_error, callback_args=("ada",))
print(done.wait(20))
session.execute_async("SILENT", timeout=0.1).add_callbacks(on_rows, on_error)
print(failed.wait(20))
"""
    assert run_program(program) == ["7 ada True", "True", "OperationTimedOut", "True"]


def test_concurrent_executions(run_program: RunProgram) -> None:
    """All variants of `execute_concurrent` work in greenlets, with many statements in flight."""
    program = """
session = cluster.connect()
results = execute_concurrent(session, [("READ", None)] * 500, concurrency=50)
print(len(results), all(result.one().v == 7 for success, result in results))
print(sum(1 for _ in execute_concurrent(session, [("READ", None)] * 500, results_generator=True)))
print(len(execute_concurrent_async(session, [("READ", None)] * 500).result(20)))
"""
    assert run_program(program) == ["500 True", "500", "500"]


def test_a_greenlet_that_waits_can_be_killed_or_timed_out(run_program: RunProgram) -> None:
    """If a greenlet that waits for a future is killed or timed out, the future still completes."""
    program = """
session = cluster.connect()
future = session.execute_async("SILENT", timeout=0.5)
waits = green.spawn(future.result)
green.sleep(0.05)
waits.kill()
class Late(Exception):
    pass
try:
    with green.Timeout(0.1, Late):
        future.result()
except Late:
    print("late")
try:
    future.result()
except OperationTimedOut:
    print("timed out")
print(session.execute("READ").one().v)
"""
    assert run_program(program) == ["late", "timed out", "7"]


@pytest.fixture
def run_eventlet_program() -> RunProgram:
    """Return a function like that of `run_program`, for eventlet."""
    return lambda program, **options: printed_lines("eventlet", "uvloop", program, **options)


def test_a_greenlet_that_adds_a_callback_is_not_suspended(run_eventlet_program: RunProgram) -> None:
    """A greenlet of eventlet that were killed there would block all others of its thread."""
    program = """
session = cluster.connect()
future = session.execute_async("READ")
future.result()
called = green.Event()
adds = green.spawn(future.add_callback, lambda rows: called.send(rows[0].v))
green.sleep(0)
print(adds.dead)
adds.kill()
with green.Timeout(10):
    print(session.execute("READ").one().v, called.wait())
"""
    assert run_eventlet_program(program) == ["True", "7 7"]


def test_the_engine_does_not_run_greenlets(run_eventlet_program: RunProgram) -> None:
    """A hub that runs in the engine's thread would leak a file descriptor for each cluster."""
    program = """
from eventlet import hubs
main = threading.get_native_id()
trampoline = hubs.trampoline
def record(*arguments, **options):
    if threading.get_native_id() != main:
        print("suspended in the engine's thread")
    return trampoline(*arguments, **options)
hubs.trampoline = record
print(cluster.connect().execute("READ").one().v)
"""
    assert run_eventlet_program(program) == ["7"]


def test_a_forked_child_does_not_take_the_wake_ups_of_its_parent(
    run_eventlet_program: RunProgram,
) -> None:
    """A child of a fork runs the greenlets of its parent, and shares the parent's epoll object."""
    program = """
import os
session = cluster.connect()
print(session.execute("READ").one().v)
child_reads, parent_writes = os.pipe()
parent_reads, child_writes = os.pipe()
pid = os.fork()
if pid == 0:
    # The child runs its hub until the parent has closed the pipe.
    os.write(child_writes, b"0")
    os.close(parent_writes)
    os.read(child_reads, 1)
    try:
        from cassandra._threads import new_waiter
        waiter = new_waiter()
        threads = [green.spawn(waiter.acquire), green.spawn_after(0, waiter.release)]
        os._exit(0 if threads[0].wait() else 1)
    finally:
        os._exit(2)
os.read(parent_reads, 1)
with green.Timeout(10):
    print({session.execute("READ").one().v for _ in range(200)})
os.close(parent_writes)
print(os.waitpid(pid, 0) == (pid, 0))
"""
    assert run_eventlet_program(program) == ["7", "{7}", "True"]


@pytest.mark.parametrize("setup_code", ["", "import cassandra.bulk.load"])
def test_the_worker_of_a_load_does_not_block_other_greenlets(
    run_program: RunProgram, setup_code: str
) -> None:
    """The worker, which reads the source of a load, is a greenlet, even if it was imported early.

    In a queue of the standard library, it would block its thread.
    """
    program = """
from cassandra.bulk.worker import Worker
worker = Worker("reader")
green.sleep(0)  # the worker begins to wait for a call
print(worker.submit(int, "7").result())
worker.shutdown()
"""
    assert run_program(program, setup_code=setup_code) == ["7"]


def test_a_greenlet_that_is_killed_twice_leaves_its_wake_up_to_the_next(
    run_program: RunProgram,
) -> None:
    """A greenlet may be killed, and killed again, after it was chosen to be woken."""
    program = """
from cassandra._threads import GreenEvent
event = GreenEvent()
threads = [green.spawn(event.wait) for _ in range(2)]
green.sleep(0)  # both begin to wait
if green.__name__ == "gevent":
    call_soon = green.get_hub().loop.run_callback
else:
    from functools import partial
    call_soon = partial(green.hubs.get_hub().schedule_call_global, 0)
# The first greenlet is killed after it was chosen, and before its hub can wake it.
for call in (event.set, threads[0].throw, threads[0].throw):
    call_soon(call)
with green.Timeout(10):
    print(threads[1].get() if green.__name__ == "gevent" else threads[1].wait())
"""
    assert run_program(program) == ["True"]


def test_a_blocking_address_translator_runs_in_a_real_thread(run_program: RunProgram) -> None:
    """A blocking address translator runs in a real thread, not in the thread of the loop."""
    program = """
import time
from cassandra.policies import AddressTranslator
class Slow(AddressTranslator):
    def translate(self, address):
        time.sleep(0.01)
        return address
with Cluster(["localhost"], port=cluster.port, address_translator=Slow()) as other:
    print(other.connect().execute("READ").one().v)
"""
    assert run_program(program) == ["7"]


def test_connecting_without_a_server(run_program: RunProgram) -> None:
    """In a patched process, `connect` raises NoHostAvailable if no server listens."""
    program = """
from cassandra.cluster import NoHostAvailable
try:
    Cluster(["127.0.0.1"], port=1).connect()
except NoHostAvailable as error:
    print("refused")
"""
    assert run_program(program) == ["refused"]


def test_the_driver_works_if_threads_are_not_patched(run_program: RunProgram) -> None:
    """The driver works if the application excludes threads from patching (`thread=False`)."""
    program = "print(cluster.connect().execute('READ').one().v)"
    assert run_program(program, patch_arguments="thread=False") == ["7"]


def test_eventlet_without_uvloop_is_refused() -> None:
    """In a process that eventlet has patched, `connect` raises RuntimeError without uvloop.

    asyncio's own loop does not work in such a process.
    """
    program = """
try:
    cluster.connect()
except RuntimeError as error:
    print("install uvloop" in str(error))
"""
    assert printed_lines("eventlet", "asyncio", program) == ["True"]


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="the system does not list them")
def test_shutdown_closes_all_connections(run_program: RunProgram) -> None:
    """Three clusters that are opened and shut down leave no socket open."""
    program = """
import os
def sockets():
    names = []
    for number in os.listdir("/proc/self/fd"):
        try:
            names.append(os.readlink(f"/proc/self/fd/{number}"))
        except OSError:
            pass
    return sum(name.startswith("socket:") for name in names)
green.sleep(0.01)
before = sockets()
for _ in range(3):
    other = Cluster(["localhost"], port=cluster.port)
    session = other.connect()
    session.execute("READ")
    during = sockets()
    other.shutdown()
print(during > before, sockets() - before)
"""
    assert run_program(program) == ["True 0"]


def test_callbacks_are_called_although_a_greenlet_waits_for_the_result(
    run_program: RunProgram,
) -> None:
    """While a greenlet waits in `result`, the driver's own greenlets still call the callbacks."""
    program = """
session = cluster.connect()
called = threading.Event()
failed = threading.Event()
future = session.execute_async("READ")
future.add_callback(lambda rows: called.set())
print(future.result().one().v)
called.wait()
slow = session.execute_async("SILENT", timeout=0.3)
slow.add_errback(lambda error: failed.set())
try:
    slow.result()
except OperationTimedOut:
    print("timed out")
failed.wait()
"""
    assert run_program(program) == ["7", "timed out"]


def test_real_threads_may_execute_one_after_the_other(run_program: RunProgram) -> None:
    """Real threads that run one after another can all execute requests.

    Each real thread has its own hub, even if it has the identity of a thread that has ended.
    """
    program = """
from cassandra._threads import _start
session = cluster.connect()
results = []
def work():
    results.append(session.execute("READ", timeout=5).one().v)
for count in range(1, 6):
    _start(work, ())
    for _ in range(500):
        if len(results) < count:
            green.sleep(0.01)
print(results)
"""
    assert run_program(program) == ["[7, 7, 7, 7, 7]"]


def test_the_engine_and_greenlets_may_log_at_the_same_time(run_program: RunProgram) -> None:
    """The engine's thread may log while greenlets log.

    The greenlets' locks are not thread-safe, so the engine's log records are handled in the
    application's thread.
    """
    # The program prints, for each logger, whether its records were handled in the application's
    # thread.
    program = """
import logging, time
from cassandra._threads import Lock, new_thread
home = threading.get_native_id()
seen = set()
class Handler(logging.Handler):
    def emit(self, record):
        seen.add((record.name, threading.get_native_id() == home))
logging.getLogger().addHandler(Handler())
log = logging.getLogger("cassandra.connection")
is_over = False
pause = Lock()
pause.acquire()
def work():
    while not is_over:
        log.warning("the engine's thread")
        pause.acquire(timeout=0.001)
thread = new_thread(work, "a thread")
thread.start()
end = time.monotonic() + 1
while time.monotonic() < end:
    for _ in range(100):
        logging.warning("a greenlet")
    green.sleep(0)
is_over = True
thread.join()
green.sleep(0.01)
print(sorted(seen))
"""
    expected = "[('cassandra.connection', True), ('root', True)]"
    assert run_program(program) == [expected]


@pytest.mark.parametrize("setup_code", ["", "import cassandra.cluster"])
def test_a_greenlet_does_not_wait_for_the_request_of_another(
    run_program: RunProgram, setup_code: str
) -> None:
    """`Session.write_head_start` delays a request only after writes of the same greenlet."""
    program = """
session = cluster.connect()
session.write_head_start = 30
written = []
thread = threading.Thread(
    target=lambda: written.append(session.execute_async("SILENT", timeout=20))
)
thread.start()
thread.join()
print(session.execute("READ").one().v, written[0].is_over)
"""
    assert run_program(program, setup_code=setup_code) == ["7 False"]


def test_listeners_of_hosts_run_in_a_greenlet_and_may_wait(run_program: RunProgram) -> None:
    """Listeners are called in a greenlet of the thread that connects, and may execute statements.

    Events that come while a listener waits are reported after it, in order.
    """
    program = """
from cassandra import _threads
from cassandra.policies import HostStateListener
class Listener(HostStateListener):
    session = None
    def on_add(self, host):
        print("add", _threads.get_ident() == main)
    def on_down(self, host):
        green.sleep(0.01)
        print("down", self.session.execute("READ").one().v)
    def on_up(self, host):
        print("up", _threads.get_ident() == main)
main = _threads.get_ident()
listener = Listener()
cluster.register_listener(listener)
listener.session = cluster.connect(wait_for_all_pools=True)
core = cluster._core
(host,) = cluster.metadata.all_hosts()
for event in ("on_down", "on_up"):
    core.loop.call_soon_threadsafe(core.listeners.notify, event, host)
print("called")
green.sleep(0.2)
"""
    assert run_program(program) == ["add True", "called", "down 7", "up True"]


# In a program, `native` calls a function in a native thread of the application, and waits for it.
# Such a thread runs greenlets only while it waits.
NATIVE = """
def native(function):
    if green.__name__ == "gevent":
        return green.get_hub().threadpool.apply(function)
    from eventlet import tpool
    return tpool.execute(function)
def wait_for(values, count):
    for _ in range(500):
        if len(values) < count:
            green.sleep(0.01)
    return values
"""


@pytest.mark.parametrize("setup_code", ["", "import cassandra.cluster, cassandra.concurrent"])
def test_callbacks_that_native_threads_add_are_called_in_the_main_thread(
    run_program: RunProgram, setup_code: str
) -> None:
    """If a native thread adds callbacks, they are called even if that thread never waits again."""
    program = (
        NATIVE
        + """
session = cluster.connect()
main = threading.get_native_id()
called = []
def on_rows(rows):
    green.sleep(0.001)
    called.append((rows[0].v, threading.get_native_id() == main))
def on_error(error):
    called.append((type(error).__name__, threading.get_native_id() == main))
def add():
    session.execute_async("READ").add_callbacks(on_rows, on_error)
    session.execute_async("SILENT", timeout=0.1).add_callbacks(on_rows, on_error)
native(add)
# The timeout may come first on a busy machine.
print(sorted(wait_for(called, 2), key=str))
futures = []
native(lambda: futures.append(execute_concurrent_async(session, [("READ", None)] * 3)))
for _ in range(500):
    if not futures[0].done():
        green.sleep(0.01)
print(futures[0].done())
"""
    )
    assert run_program(program, setup_code=setup_code) == [
        "[('OperationTimedOut', True), (7, True)]",
        "True",
    ]


def test_callbacks_that_greenlets_of_native_threads_add_are_called_there(
    run_program: RunProgram,
) -> None:
    """If a greenlet of a native thread adds callbacks, they are called in that thread.

    If the thread has ended, they are called in the main thread.
    """
    program = (
        NATIVE
        + """
from cassandra._threads import _start
session = cluster.connect()
main = threading.get_native_id()
called = []
def add(query, end):
    mine = threading.get_native_id()
    def done(outcome):
        called.append((threading.get_native_id() == mine, threading.get_native_id() == main))
    def work():
        session.execute_async(query, timeout=1).add_callbacks(done, done)
    green.spawn(work)
    while not end():
        green.sleep(0.001)
_start(add, ("READ", lambda: called))
wait_for(called, 1)
ends = iter([False, False, True])
_start(add, ("SILENT", lambda: next(ends)))
print(wait_for(called, 2))
"""
    )
    assert run_program(program) == ["[(True, False), (False, True)]"]


def test_native_threads_may_wait_for_one_lock(run_program: RunProgram) -> None:
    """Native threads that use one session also wait for each other, for example in `connect`."""
    program = (
        NATIVE
        + """
from cassandra._threads import new_lock
lock = new_lock()
held = []
def hold(number):
    with lock:
        held.append(number)
with lock:
    threads = [green.spawn(native, lambda number=number: hold(number)) for number in range(3)]
    wait_for(lock._parked, 3)
    held.append("main")
with green.Timeout(10):
    for thread in threads:
        thread.get() if green.__name__ == "gevent" else thread.wait()
print(held[0], sorted(held[1:]))
"""
    )
    assert run_program(program) == ["main [0, 1, 2]"]


@pytest.mark.parametrize("connects", ["main", "native"])
def test_clusters_that_native_threads_connect_log_and_call_listeners(
    run_program: RunProgram, connects: str
) -> None:
    """If a native thread connects a cluster, log records and events for listeners are not lost.

    It does not matter whether the main thread uses the driver.
    """
    program = (
        NATIVE
        + """
import logging
from cassandra.policies import HostStateListener
records = []
class Handler(logging.Handler):
    def emit(self, record):
        records.append(record.getMessage())
logging.getLogger("cassandra").addHandler(Handler())
events = []
class Listener(HostStateListener):
    def on_add(self, host):
        events.append("add")
    def on_down(self, host):
        green.sleep(0.001)
        events.append("down")
def connect():
    other = Cluster(["localhost"], port=cluster.port)
    other.register_listener(Listener())
    other.connect(wait_for_all_pools=True)
    core = other._core
    (host,) = other.metadata.all_hosts()
    core.loop.call_soon_threadsafe(core.listeners.notify, "on_down", host)
    core.loop.call_soon_threadsafe(logging.getLogger("cassandra").warning, "a record")
    return other
if CONNECTS == "main":
    cluster.connect()
other = native(connect)
print(wait_for(events, 2), wait_for(records, 1))
native(other.shutdown)
""".replace("CONNECTS", repr(connects))
    )
    assert run_program(program) == ["['add', 'down'] ['a record']"]


def test_callbacks_after_the_hub_was_destroyed() -> None:
    """If the application has destroyed the hub of its main thread, callbacks use the new hub."""
    program = (
        NATIVE
        + """
session = cluster.connect()
called = []
for _ in range(2):
    future = session.execute_async("READ")
    future.add_callbacks(called.append, called.append)
    future.result()
    print(len(wait_for(called, 1)))
    called.clear()
    green.get_hub().destroy(destroy_loop=True)
"""
    )
    # The sockets of asyncio's own loops would belong to the old hub.
    assert printed_lines("gevent", "uvloop", program) == ["1", "1"]


def test_lazy_objects_of_the_application_are_not_evaluated() -> None:
    """The driver searches all objects for the main thread's hub, but evaluates no lazy ones."""
    program = """
import cassandra._threads as threads
evaluated = []
class Lazy:
    @property
    def __class__(self):
        evaluated.append(1)
        raise RuntimeError("working outside of request context")
lazy = Lazy()
green.sleep(0)  # make the hub
threads._spawn_in_main = None
called = []
def call():
    called.append(threading.get_native_id())
main = threading.get_native_id()
threads._spawn_at_home(call)
for _ in range(500):
    if not called:
        green.sleep(0.01)
print(called == [main], evaluated)
"""
    assert printed_lines("gevent", "uvloop", program) == ["True []"]
