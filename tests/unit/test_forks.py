"""Tests that every lock that lives longer than one call is replaced in a forked child."""

from __future__ import annotations

import os
import re
import sys
import textwrap
import weakref
from pathlib import Path

import pytest

import cassandra
from cassandra import _forks
from cassandra.testing.fake import FakeNode, rows
from tests.conftest import LANE
from tests.processes import run_python

ROOT = Path(cassandra.__file__).parent

# A forked child never needs the locks of these files, because they live for one call only, or
# belong to objects that only the parent uses. A comment at each file says which.
NOT_NEEDED_IN_CHILDREN = {
    # This is a lock for one call of execute_concurrent.
    "concurrent.py",
    # This is a lock for one execution.
    "engine/events.py",
    # These are two locks of each connection. A child does not write to connections of its parent,
    # and a thread that waits for one of these locks gives up after some time.
    "engine/stream_table.py",
    # A forked child does not use the fake or local servers of its parent.
    "testing/fake/faults.py",
    "testing/fake/node.py",
    "testing/fake/script.py",
    "testing/local.py",
    "testing/processes.py",
    # This is a lock for one simulated run.
    "testing/simulation/threads.py",
}
LOCK = re.compile(r"= (?:threading\.)?(?:R?Lock|Condition)\(")


def test_nobody_uses_cached_property() -> None:
    """No code may use cached_property.

    Before Python 3.12 it contains a lock, which a forked child cannot replace.
    """
    assert [
        path for path in ROOT.rglob("*.py") if "import cached_property" in path.read_text()
    ] == []


def test_each_file_with_a_lock_replaces_it_in_a_forked_child() -> None:
    text_by_name = {
        path.relative_to(ROOT).as_posix(): path.read_text() for path in ROOT.rglob("*.py")
    }
    with_locks = {name for name, text in text_by_name.items() if LOCK.search(text)}
    with_renewal = {
        name
        for name, text in text_by_name.items()
        if any(call in text for call in ("renew_in_child", "renewed(", "register_at_fork"))
    }
    assert with_locks - with_renewal - NOT_NEEDED_IN_CHILDREN == set()
    # A file without a lock needs no exception.
    assert NOT_NEEDED_IN_CHILDREN - with_locks == set()


# `fork` of C, which calls no functions of `os.register_at_fork`. The child of the program below
# gets the names of the module, and ends with the exit hooks of Python.
FORK_IN_C = """
import ctypes, os, sys, threading
from cassandra.cluster import Cluster, cluster as cluster_module
from cassandra.errors import ConnectionShutdown

address, port = {address!r}, {port}
cluster_module.SHUTDOWN_TIMEOUT = 1e9  # a wait for a thread of the parent would never end
cluster = Cluster([address], port=port)
session = cluster.connect()
pid = ctypes.PyDLL(None).fork()
if pid == 0:
{child}
    sys.exit(3)
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
print("parent", status, session.execute("SELECT k FROM t").one().k)
cluster.shutdown()
"""
CHILDREN = {
    "a session of its own": """
with Cluster([address], port=port) as own, own.connect() as own_session:
    print("own", own_session.execute("SELECT k FROM t").one().k, flush=True)
""",
    "the exit": "print('own', 7, flush=True)",
    "shutdown": "cluster.shutdown()\nprint('own', 7, flush=True)",
    "the session of the parent": """
session.default_timeout = 0.1
try:
    session.execute_async("SELECT k FROM t").result()
except ConnectionShutdown as error:
    assert "before the process was forked" in str(error)
    print("own", 7, flush=True)
""",
    "a thread with the identity of the loop's thread": """
cluster._loop_thread._running_ident = threading.get_ident()
session._loops.idents = frozenset({threading.get_ident()})
session.default_timeout = 0.1
try:
    session.execute_async("SELECT k FROM t").result()
except ConnectionShutdown as error:
    print("own", 7, flush=True)
""",
}


@pytest.mark.skipif(sys.platform == "win32", reason="this system has no fork")
@pytest.mark.parametrize("child", CHILDREN.values(), ids=CHILDREN)
def test_a_child_that_c_code_has_forked(child: str) -> None:
    """In a worker of uWSGI, a cluster of the parent is unusable, and the worker ends at once."""
    with FakeNode() as node:
        node.prime("SELECT k FROM t", rows([("k", "int")], [(7,)]))
        child = textwrap.indent(child, "    ")
        program = FORK_IN_C.format(address=node.address, port=node.port, child=child)
        process = run_python(program, timeout=60)
    assert process.stdout.split("\n") == ["own 7", "parent 3 7", ""], process.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="this system has no fork")
@pytest.mark.skipif(LANE != "c", reason="the pure Python version learns of the fork later")
def test_a_child_that_c_code_has_forked_sends_nothing_for_its_parent() -> None:
    """The child must not use the socket of the parent: it could read responses for the parent."""
    child = """
session.default_timeout = 0.1
for _ in range(3):
    try:
        session.execute("SELECT k FROM t")
    except ConnectionShutdown:
        print("own", 7, flush=True)
"""
    with FakeNode() as node:
        node.prime("SELECT k FROM t", rows([("k", "int")], [(7,)]))
        program = FORK_IN_C.format(
            address=node.address, port=node.port, child=textwrap.indent(child, "    ")
        ).replace("pid =", 'session.execute("SELECT k FROM t")\npid =', 1)
        process = run_python(program, timeout=60)
        assert process.stdout.split("\n") == ["own 7"] * 3 + ["parent 3 7", ""], process.stderr
        assert len(node.queries("SELECT k FROM t")) == 2


def test_locks_are_renewed_once_after_a_fork(monkeypatch: pytest.MonkeyPatch) -> None:
    """`renew_after_any_fork` calls the renewals only if Python has not called them."""
    calls: list[int] = []
    monkeypatch.setattr(_forks, "_renewals", [lambda: calls.append(1)])
    monkeypatch.setattr(_forks, "_objects", weakref.WeakSet())
    monkeypatch.setattr(_forks, "forks", _forks.forks)
    monkeypatch.setattr(_forks, "_process", _forks._process)
    _forks.renew_after_any_fork()
    assert calls == []
    monkeypatch.setattr(os, "getpid", lambda: -7)
    _forks.renew_after_any_fork()
    _forks.renew_after_any_fork()
    assert calls == [1]
