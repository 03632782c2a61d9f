"""Test a `Cluster` in programs with several processes.

The programs fork, spawn, and exit while the cluster is open.
"""

from __future__ import annotations

import os
import sys

import pytest

from tests.processes import run_python

# The beginning of the programs below. Each program prints what its test expects.
PROLOGUE = """
import os, sys, warnings
warnings.simplefilter("ignore", DeprecationWarning)
import threading
from cassandra.cluster import Cluster
from cassandra.testing import FakeNode
from cassandra.testing.fake import hold, silence

def wait_for_ever(session):
    try:
        session.execute("SELECT 2", timeout=None)
    except Exception:
        pass

def block_in_callback(session, node):
    begun = threading.Event()
    # Held back, or the callback might be called at once, in this thread.
    held = hold()
    node.prime("SELECT 1", held)
    future = session.execute_async("SELECT 1")
    future.add_callback(lambda rows: (begun.set(), threading.Event().wait(60)))
    held.release()
    begun.wait(10)

def connect(node):
    return Cluster([node.address], port=node.port).connect()
"""

# The child uses its parent's session, which must fail, and then its own cluster.
FORK = (
    PROLOGUE
    + """
with FakeNode() as node:
    session = connect(node)
    session.execute("SELECT 1")
    child = os.fork()
    if child == 0:
        for call in (lambda: session.execute("SELECT 2"), lambda: session.prepare("SELECT 3"), lambda: session.cluster.connect()):
            try:
                call()
                print("no error")
            except Exception as error:
                print(type(error).__name__, "after the fork" in str(error))
        own = connect(node)
        print("own", own.execute("SELECT 4").all())
        own.cluster.shutdown()
        sys.stdout.flush()
        os._exit(0)
    os.waitpid(child, 0)
    print("parent", session.execute("SELECT 5").all())
    session.cluster.shutdown()
"""  # noqa: E501
)

# A spawned process executes a request with its own cluster. Its parent's cluster stays usable.
SPAWN = (
    PROLOGUE
    + """
import multiprocessing

def work(address, port):
    with Cluster([address], port=port) as cluster:
        print("spawned", cluster.connect().execute("SELECT 1").all(), flush=True)

if __name__ == "__main__":
    with FakeNode() as node:
        session = connect(node)
        process = multiprocessing.get_context("spawn").Process(target=work, args=(node.address, node.port))
        process.start()
        process.join(30)
        print("parent", process.exitcode, session.execute("SELECT 1").all())
        session.cluster.shutdown()
"""  # noqa: E501
)


# The process forks while a request and two executions of many statements are running.
FORK_WITH_REQUESTS = (
    PROLOGUE
    + """
import itertools
from cassandra.concurrent import execute_concurrent
from cassandra.testing.fake import hold

def numbers():
    for number in itertools.count():
        taken.append(number)
        yield "SELECT 1", None

with FakeNode() as node:
    session = connect(node)
    held = hold()
    node.prime("SELECT 1", held)
    taken = []
    future = session.execute_async("SELECT 1")
    outcomes = execute_concurrent(session, numbers(), concurrency=4, results_generator=True)
    dropped = execute_concurrent(session, numbers(), concurrency=4, results_generator=True)
    child = os.fork()
    if child == 0:
        taken.clear()
        dropped.close()
        print("taken", taken, threading.active_count())
        for call in (future.result, lambda: next(outcomes)):
            try:
                call()
                print("no error")
            except Exception as error:
                print(type(error).__name__, "after the fork" in str(error))
        sys.stdout.flush()
        os._exit(0)
    os.waitpid(child, 0)
    held.open()
    print("parent", future.result().all(), next(outcomes).success)
    session.cluster.shutdown()
"""
)


# Each process of a forked pool executes a request with its own cluster.
FORKED_POOL = (
    PROLOGUE
    + """
import multiprocessing

def work(place):
    with Cluster([place[0]], port=place[1]) as cluster:
        return cluster.connect().execute("SELECT 1").all(), os.getpid() != place[2]

if __name__ == "__main__":
    with FakeNode() as node:
        session = connect(node)
        with multiprocessing.get_context("fork").Pool(2) as pool:
            print(pool.map(work, [(node.address, node.port, os.getpid())] * 4))
        print("parent", session.execute("SELECT 1").all())
        session.cluster.shutdown()
"""
)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_forked_pool_processes_may_create_their_own_clusters() -> None:
    process = run_python(FORKED_POOL, as_file=True)
    assert process.stdout.splitlines() == [str([([], True)] * 4), "parent []"], process.stderr


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_gets_errors_and_may_create_its_own_cluster() -> None:
    """In a forked child, the parent's session raises errors, and a cluster of the child works."""
    process = run_python(FORK)
    assert process.stdout.splitlines() == [
        "SessionShutdown True",
        "SessionShutdown True",
        "ConnectionShutdown True",
        "own []",
        "parent []",
    ], process.stderr
    assert process.returncode == 0


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_does_not_wait_for_requests_of_its_parent() -> None:
    """In a forked child, waiting for the parent's requests raises errors instead of hanging."""
    process = run_python(FORK_WITH_REQUESTS, timeout=30)
    assert process.stdout.splitlines() == [
        "taken [] 1",
        "ConnectionShutdown True",
        "ConnectionShutdown True",
        "parent [] True",
    ], process.stderr
    assert process.returncode == 0


@pytest.mark.slow
def test_an_unfinished_results_generator_does_not_delay_the_exit() -> None:
    """A process ends although it has read only the first of endless outcomes."""
    process = run_python(
        PROLOGUE
        + """
import itertools
from cassandra.concurrent import execute_concurrent

with FakeNode() as node, Cluster([node.address], port=node.port) as cluster:
    statements = itertools.repeat(("SELECT 1", None))
    outcomes = execute_concurrent(cluster.connect(), statements, results_generator=True)
    print(next(outcomes).success)
""",
        timeout=30,
    )
    assert process.returncode == 0
    assert process.stdout == "True\n"
    assert process.stderr == ""


@pytest.mark.slow
def test_a_spawned_process_may_create_its_own_cluster() -> None:
    process = run_python(SPAWN, as_file=True)
    assert process.stdout.splitlines() == ["spawned []", "parent 0 []"], process.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    "ending",
    [
        "",
        "session.cluster.shutdown()",
        "session.execute_async('SELECT 1')",
        "del session",
        "sys.exit(3)",
        "node.prime('SELECT 2', silence()); session.execute_async('SELECT 2', timeout=None)",
        "node.prime('SELECT 2', silence()); threading.Thread(target=wait_for_ever, "
        "args=(session,), daemon=True).start()",
    ],
)
def test_the_interpreter_exits_with_open_clusters_and_requests(ending: str) -> None:
    """A process with an open cluster ends without an error, whatever its last statement is."""
    code = (
        PROLOGUE
        + f"node = FakeNode()\nnode.start()\nsession = connect(node)\n{ending}\nprint('end')\n"
    )
    process = run_python(code, timeout=30)
    assert process.returncode == (3 if "exit" in ending else 0), process.stderr
    assert process.stderr == ""


@pytest.mark.slow
def test_a_callback_that_blocks_delays_the_exit_only_for_seconds() -> None:
    code = (
        PROLOGUE
        + "import cassandra.cluster.cluster\ncassandra.cluster.cluster.SHUTDOWN_TIMEOUT = 0.5\n"
        + "node = FakeNode()\nnode.start()\nsession = connect(node)\nblock_in_callback(session, node)\nprint('end')\n"  # noqa: E501
    )
    process = run_python(code, timeout=30)
    assert process.stdout == "end\n", process.stderr


# Five clusters are garbage-collected without a shutdown.
DROPPED = (
    PROLOGUE
    + """
import gc, threading
with FakeNode() as node:
    before = threading.active_count()
    for _ in range(5):
        session = connect(node)
        session.execute("SELECT 1")
        del session
        gc.collect()
    node.wait_for(lambda node: len(node.connections) == 0, timeout=20)
    for thread in threading.enumerate():
        if thread.name.startswith("cassandra-loop"):
            thread.join(20)
    print(threading.active_count() - before, len(node.connections))
"""
)


@pytest.mark.slow
def test_a_dropped_cluster_ends_its_thread_and_connections() -> None:
    process = run_python(DROPPED)
    assert process.stdout == "0 0\n", process.stderr
    with_warnings = run_python(DROPPED, {"PYTHONWARNINGS": "always::ResourceWarning"})
    assert "was dropped without shutdown()" in with_warnings.stderr


# Four daemon threads execute requests when the main thread ends.
DAEMONS = (
    PROLOGUE
    + """
node = FakeNode()
node.start()
session = connect(node)
begun = threading.Barrier(5)

def use_for_ever():
    session.execute("SELECT 1")
    begun.wait(20)
    while True:
        session.execute("SELECT 1")

for _ in range(4):
    threading.Thread(target=use_for_ever, daemon=True).start()
begun.wait(20)
print("main returns")
"""
)


def test_daemon_threads_that_use_a_session_print_nothing_at_exit() -> None:
    process = run_python(DAEMONS)
    assert (process.stdout, process.stderr) == ("main returns\n", "")


# A thread connects after the main thread has ended.
OUTLIVES = (
    PROLOGUE
    + """
node = FakeNode()
node.start()

def live_longer():
    threading.main_thread().join(20)
    session = connect(node)
    session.execute("SELECT 1")
    session.cluster.shutdown()
    print("executed")

threading.Thread(target=live_longer).start()
"""
)


@pytest.mark.skipif(
    (3, 12) <= sys.version_info < (3, 12, 2),
    reason="Python starts no thread there once the main thread has ended",
)
def test_a_thread_may_create_a_cluster_after_the_main_thread_has_ended() -> None:
    process = run_python(OUTLIVES)
    assert (process.stdout, process.stderr) == ("executed\n", "")
