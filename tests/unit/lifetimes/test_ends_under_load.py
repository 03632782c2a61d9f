"""Test short runs of the stress programs in ``tests/stress``.

Another test checks that the package's locks are free after a fork.
"""

from __future__ import annotations

import os

import pytest

from tests.processes import WITH_TESTS, run_python
from tests.unit.loops import LOOPS

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize(
    ("program", "count"),
    [
        ("shutdowns", 2),
        ("mixing", 1),
        pytest.param("forks", 2, marks=needs_fork),
        pytest.param("shutdowns", 6, marks=pytest.mark.long),
        pytest.param("mixing", 6, marks=pytest.mark.long),
        pytest.param("forks", 6, marks=[needs_fork, pytest.mark.long]),
    ],
)
@pytest.mark.slow
def test_a_short_run_of_a_stress_program_hangs_nowhere(program: str, loop: str, count: int) -> None:
    """The stress program ends by itself, and counts no call that hung or failed."""
    code = f"import runpy, sys; sys.argv = ['x', '--count', '{count}', '--loop', {loop!r}]\n"
    code += f"runpy.run_module('tests.stress.{program}', run_name='__main__')\n"
    process = run_python(code, WITH_TESTS)
    assert process.stdout.endswith(": 0 hung or failed\n"), process.stderr
    assert "never awaited" not in process.stderr
    assert "Traceback" not in process.stderr, process.stderr


# One thread holds all locks of the package while the process forks. The child prints the locks that
# it cannot acquire.
LOCKS_PROGRAM = """
import gc, importlib, os, pkgutil, sys, threading
import cassandra
from cassandra.clock import MicrosecondClock

from cassandra.query.recently_used import RecentlyUsed

for module_info in pkgutil.walk_packages(cassandra.__path__, "cassandra."):
    if not module_info.name.startswith(("cassandra.testing", "cassandra._accel")):
        importlib.import_module(module_info.name)
KINDS = (type(threading.Lock()), type(threading.RLock()))
objects = [MicrosecondClock(1, print), RecentlyUsed(1)]

def locks():
    return {id(lock): (name, lock) for name, lock in found_locks()}.values()  # one lock may stand in several places

def found_locks():
    for name, module in sorted(sys.modules.items()):
        if name.startswith("cassandra."):
            for holder in [module, *(v for v in vars(module).values() if isinstance(v, type) and v.__module__.startswith("cassandra"))]:
                for attribute, value in list(vars(holder).items()):
                    if isinstance(value, KINDS):
                        yield f"{holder.__name__}.{attribute}", value
    for number, locking_object in enumerate(objects):
        yield f"object {number}", locking_object._lock

held, go_on = threading.Event(), threading.Event()

def hold():
    for _, lock in locks():
        lock.acquire(timeout=0)
    held.set()
    go_on.wait()

thread = threading.Thread(target=hold, daemon=True)
thread.start()
held.wait()
print(len(locks()) >= 5, flush=True)  # the program has found locks
child = os.fork()
if child == 0:
    print([name for name, lock in locks() if not lock.acquire(timeout=0)], flush=True)
    os._exit(0)
os.waitpid(child, 0)
go_on.set()
"""  # noqa: E501


@needs_fork
@pytest.mark.slow
def test_every_lock_is_free_in_a_forked_child() -> None:
    process = run_python(LOCKS_PROGRAM, {"PYTHONWARNINGS": "ignore"})
    # The child has found locks, and could acquire all of them.
    assert process.stdout.splitlines() == ["True", "[]"], process.stderr


# The process forks while another thread connects. The child shuts everything down and exits, and
# the parent continues.
CONNECTING_PROGRAM = """
import os, sys, threading, warnings
warnings.simplefilter("ignore", DeprecationWarning)
if {asyncio}:
    sys.modules["uvloop"] = None
from cassandra.cluster import Cluster
from cassandra.testing.fake import FakeNode, Opcode, hold

node = FakeNode().start()
used = Cluster([node.address], port=node.port)
session = used.connect()
held = hold()
node.prime(Opcode.STARTUP, held)
cluster = Cluster([node.address], port=node.port)
thread = threading.Thread(target=cluster.connect, daemon=True)
thread.start()
held.wait()
child = os.fork()
if child == 0:
    session.shutdown()
    session.shutdown()
    used.shutdown()
    cluster.shutdown()
    print("child", flush=True)
    sys.exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
held.open()
thread.join(10)
cluster.shutdown()
print(session.execute("SELECT 1").all())
used.shutdown()
node.stop()
"""


@pytest.mark.slow
@needs_fork
@pytest.mark.parametrize("loop", LOOPS)
def test_a_child_forked_during_a_connect_can_exit(loop: str) -> None:
    process = run_python(CONNECTING_PROGRAM.format(asyncio=loop == "asyncio"), timeout=60)
    assert process.stdout.splitlines() == ["child", "0", "[]"], process.stderr
    assert process.returncode == 0
