"""Measures one combination of sizes for `benchmarks.scale`, which runs it in a new process.

    worker_scale.py ADDRESS PORT SETTINGS

SETTINGS is a JSON object with these numbers: "nodes", "connections" (to each node), "sessions",
"prepared" (statements to prepare), "threads", "requests", and "idle" (for how many seconds the CPU
of the idle client is measured). The script prints one JSON object.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.policies import DCAwareRoundRobinPolicy, HostDistance, TokenAwarePolicy

INSERT = "INSERT INTO five (a, b, c, d, e) VALUES (?, ?, ?, ?, ?)"
QUICK = bool(os.environ.get("TURBOCQL_BENCH_QUICK"))
PASSES = 1 if QUICK else 3  # the passes of each figure, of which the fastest counts
ALONE = 1_000 if QUICK else 3_000  # the number of inserts in a pass of one insert at a time
PATIENCE = 120.0  # the most seconds to wait for all pools to open


def memory() -> float:
    """Return the resident memory of this process in MiB."""
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / (1 << 20)


def wait_for_pools(are_open: Callable[[], bool]) -> None:
    """Wait until `are_open` returns True; raise TimeoutError after `PATIENCE` seconds."""
    deadline = time.monotonic() + PATIENCE
    while not are_open():
        if time.monotonic() > deadline:
            raise TimeoutError("not all pools are open")
        time.sleep(0.005)


def cost_of_requests(session: Any, insert: Any, requests: int, threads: int) -> float:
    """Return the CPU microseconds of one insert while each thread has 100 inserts in flight.

    :param requests: the number of inserts of all threads together.
    """
    values = [(number, "hello world", 7, 1.5, True) for number in range(requests // threads)]

    def work() -> None:
        execute_concurrent_with_args(session, insert, values, concurrency=100)

    work()  # to warm up
    best = float("inf")
    for _ in range(PASSES):
        callers = [threading.Thread(target=work) for _ in range(threads)]
        start = time.process_time()
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join()
        best = min(best, (time.process_time() - start) / len(values) / threads)
    return best * 1e6


def cost_alone(session: Any, insert: Any) -> float:
    """Return the CPU microseconds of one blocking insert while no other request is in flight."""
    best = float("inf")
    for _ in range(PASSES):
        start = time.process_time()
        for number in range(ALONE):
            session.execute(insert, (number, "hello world", 7, 1.5, True))
        best = min(best, (time.process_time() - start) / ALONE)
    return best * 1e6


def connect(address: str, port: int, settings: dict[str, Any]) -> Cluster:
    """Return a cluster for the settings; it is not connected yet."""
    policy = TokenAwarePolicy(DCAwareRoundRobinPolicy("dc1"), shuffle_replicas=False)
    cluster = Cluster(
        [address], port=port, protocol_version=4,
        execution_profiles={EXEC_PROFILE_DEFAULT: ExecutionProfile(policy)},
    )  # fmt: skip
    cluster.set_core_connections_per_host(HostDistance.LOCAL, settings["connections"])
    return cluster


def measure(address: str, port: int, settings: dict[str, Any]) -> dict[str, float]:
    """Connect, send requests, stay idle, shut down, and return the figures of each step."""
    figures: dict[str, float] = {}
    memory_before = memory()
    step_start, cpu_start = time.perf_counter(), time.process_time()
    cluster = connect(address, port, settings)
    sessions = [cluster.connect() for _ in range(settings["sessions"])]
    figures["connect ms"] = (time.perf_counter() - step_start) * 1000
    expected = settings["nodes"] * settings["connections"]

    def all_open() -> bool:
        """Return True if each session has all its connections."""
        return all(
            sum(len(pool.connections) for pool in session.get_pools()) >= expected
            for session in sessions
        )

    wait_for_pools(all_open)
    figures["all open ms"] = (time.perf_counter() - step_start) * 1000
    figures["CPU ms"] = (time.process_time() - cpu_start) * 1000
    # Prepare statements, and send requests in one of the sessions.
    session = sessions[0]
    insert = session.prepare(INSERT)
    if settings["prepared"] > 1:
        step_start = time.perf_counter()
        statements = [session.prepare(f"{INSERT} /* {n} */") for n in range(settings["prepared"])]
        figures["prepare us"] = (time.perf_counter() - step_start) / len(statements) * 1e6
    figures["request us"] = cost_of_requests(
        session, insert, settings["requests"], settings["threads"]
    )
    figures["alone us"] = cost_alone(session, insert)
    figures["MiB"] = memory() - memory_before
    if settings["idle"]:
        time.sleep(1)  # wait until the work that the requests have caused is done
        cpu_start = time.process_time()
        time.sleep(settings["idle"])
        figures["idle %"] = (time.process_time() - cpu_start) / settings["idle"] * 100
    step_start = time.perf_counter()
    cluster.shutdown()
    figures["shutdown ms"] = (time.perf_counter() - step_start) * 1000
    return figures


def main() -> None:
    # Many nodes need many sockets, so raise the limit of open files as far as the system allows.
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    print(json.dumps(measure(sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3]))))


if __name__ == "__main__":
    main()
