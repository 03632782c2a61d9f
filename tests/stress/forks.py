"""Forks a process while its threads use sessions, and checks that the children work.

The threads execute requests, connect, register callbacks and read the schema. Each child must be
able to create a cluster, must get an error when it uses the parent's cluster, and must exit without
hanging.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable
from typing import Any

from cassandra.cluster import Cluster
from cassandra.errors import ConnectionShutdown
from tests.stress.serving import KEYSPACES, PATIENCE, main, node

# This is the number of threads that execute requests.
EXECUTING = 3


class Load:
    """Threads that use one session, and a thread that creates clusters, until `stop` is called."""

    def __init__(self, address: str, port: int) -> None:
        self._endpoint = address, port
        self._cluster = Cluster([address], port=port)
        self.session = self._cluster.connect()
        self._ended = threading.Event()
        actions = [self._execute] * EXECUTING + [self._register, self._read_schema, self._connect]
        self._threads = [
            threading.Thread(target=self._repeat, args=(work,), daemon=True) for work in actions
        ]
        for thread in self._threads:
            thread.start()

    def _repeat(self, work: Callable[[], object]) -> None:
        """Call `work` repeatedly until the load is stopped.

        Each thread runs this method.
        """
        while not self._ended.is_set():
            work()

    def _execute(self) -> None:
        """Execute a blocking request."""
        self.session.execute("SELECT 1")

    def _register(self) -> None:
        """Execute a request with 20 pairs of callbacks."""
        future = self.session.execute_async("SELECT 1")
        for _ in range(20):
            future.add_callbacks(_ignore, _ignore)
        future.result()

    def _read_schema(self) -> None:
        """Refresh the schema metadata, and export all keyspaces."""
        self._cluster.refresh_schema_metadata(max_schema_agreement_wait=0)
        for keyspace in self._cluster.metadata.keyspaces.values():
            keyspace.export_as_string()

    def _connect(self) -> None:
        """Create a cluster, and execute one request."""
        address, port = self._endpoint
        with Cluster([address], port=port) as cluster:
            cluster.connect().execute("SELECT 1")

    def stop(self) -> None:
        """End the threads, and shut the cluster down."""
        self._ended.set()
        for thread in self._threads:
            thread.join(PATIENCE)
        self._cluster.shutdown()


def _ignore(outcome: Any) -> None:
    """Ignore the outcome of a request."""


def check_in_child(load: Load, address: str, port: int) -> None:
    """Check in a forked child that a new cluster works, and that the parent's session does not.

    :param load: the load of the parent process, whose threads do not run in the child.
    """
    try:
        load.session.execute("SELECT 1")
    except ConnectionShutdown:
        pass
    else:
        raise AssertionError("the parent's session answered")
    load.session.shutdown()
    load.session.cluster.shutdown()
    with Cluster([address], port=port) as cluster:
        session = cluster.connect()
        is_called = threading.Event()
        session.execute_async("SELECT 1").add_callback(lambda rows: is_called.set())
        assert is_called.wait(PATIENCE)
        assert len(cluster.metadata.keyspaces) == KEYSPACES
        for keyspace in cluster.metadata.keyspaces.values():
            keyspace.export_as_string()


def child_succeeded(pid: int, patience: float) -> bool:
    """Return True if the child exits with 0 within `patience` seconds.

    Kill it if it hangs.
    """
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        ended_pid, status = os.waitpid(pid, os.WNOHANG)
        if ended_pid:
            code = os.waitstatus_to_exitcode(status)
            if code:
                print(f"a child ended with {code}", file=sys.stderr)
            return code == 0
        time.sleep(0.002)
    # The child hangs. Before it is killed, SIGUSR1 makes its faulthandler print the stacks of its
    # threads, which show where it hangs.
    os.kill(pid, signal.SIGUSR1)
    time.sleep(1)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return False


def run(count: int) -> int:
    """Fork `count` children under load, and return how many of them hung or failed."""
    # Since version 3.12, Python warns if a process with threads forks.
    warnings.simplefilter("ignore", DeprecationWarning)
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    failures = 0
    with node() as (address, port):
        load = Load(address, port)
        try:
            for _ in range(count):
                pid = os.fork()
                if pid == 0:
                    check_in_child(load, address, port)
                    sys.exit(0)  # unlike os._exit, this runs the exit handlers, which might hang
                failures += not child_succeeded(pid, PATIENCE)
        finally:
            # A child that exits leaves this block too, but only the parent may stop the load.
            if os.getpid() == parent_pid:
                load.stop()
    return failures


parent_pid = os.getpid()

if __name__ == "__main__":
    main("forks under load", run)
