"""Test code that seems to use a cluster or session in a forked process, but is harmless."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.migrate.programs import checked

# The function `work` uses the session of its module.
WORK = ".import multiprocessing as mp\ndef work(number=0):\n    session.execute('a')\n"

# Programs without a finding, by a description.
QUIET = {
    "a process that connects": (
        ".from multiprocessing import Process\ndef f():\n    global session\n"
        "    session = cluster_of().connect()\nProcess(target=f)"
    ),
    "a process with a session of its own": (
        ".from multiprocessing import Process\ndef f(session):\n    session.execute('a')\n"
        "Process(target=f)"
    ),
    "a pool whose processes connect": (
        "import multiprocessing as mp\nfrom cassandra.cluster import Cluster\nsession = None\n"
        "def begin():\n    global session\n    session = Cluster().connect()\n"
        "def work(number):\n    session.execute('a')\n"
        "with mp.Pool(initializer=begin) as pool:\n    pool.map(work, [1])"
    ),
    "a process that closes what it has": (
        WORK + "def f():\n    cluster.shutdown()\n    session.is_shutdown\nmp.Process(target=f)"
    ),
    "threads": (
        WORK + "from concurrent.futures import ThreadPoolExecutor\nfrom threading import Thread\n"
        "from multiprocessing.pool import ThreadPool\n"
        "ThreadPoolExecutor().submit(work)\nThreadPool().map(work, [1])\nThread(target=work)"
    ),
    "new interpreters": (
        WORK + "from concurrent.futures import ProcessPoolExecutor as P\n"
        "mp.get_context('spawn').Process(target=work)\n"
        "P(mp_context=mp.get_context('spawn')).submit(work)\n"
        "P(max_tasks_per_child=1).submit(work)"
    ),
    "new interpreters everywhere": (
        WORK + "mp.set_start_method('spawn')\nmp.Process(target=work)\nmp.Pool().map(work, [1])"
    ),
    "other functions": WORK + "mp.Pool().map(print, [1])\nmp.Process(None, len)",
    "a method of other objects": WORK + "pool.map(work, [1])\nPool().map(work, [1])",
    "a class of processes that connect": (
        ".from multiprocessing import Process\nclass Worker(Process):\n    def run(self):\n"
        "        self.session = cluster_of().connect()\n        self.session.execute('a')"
    ),
    "a class of processes that call others": (
        ".from multiprocessing import Process\nclass Worker(Process):\n    def run(self):\n"
        "        self.begin()\n        self.session.execute('a')\n    def begin(self):\n"
        "        from cassandra.cluster import Cluster\n"
        "        self.session = Cluster().connect()"
    ),
    "a class that is no process": (
        ".class Worker(Process):\n    def run(self):\n        session.execute('a')"
    ),
    "the parent": (
        ".import os\nif os.fork() == 0:\n    os._exit(0)\nelse:\n    session.execute('a')\n"
        "pid = os.fork()\nif pid:\n    session.execute('a')"
    ),
    "a child that connects": (
        ".import os\nif os.fork() == 0:\n    session = cluster_of().connect()\n"
        "    session.execute('a')"
    ),
    "no fork": ".pid = 0\nif pid == 0:\n    session.execute('a')",
}


@pytest.mark.parametrize("text", QUIET.values(), ids=QUIET)
def test_no_finding_for(text: str, tmp_path: Path) -> None:
    """`check` has no finding for a program in `QUIET`."""
    report = checked(tmp_path, text)
    assert [finding.code for finding in report.findings] == []
    assert not report.unread
