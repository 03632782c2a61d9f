"""The parts of benchmarks/soak.py: fake nodes that break, hang and restart, and their clients.

The nodes run in a separate process (`serve`). The load is a mix of asyncio tasks (`work`) and a
thread (`work_blocking`).
"""

from __future__ import annotations

import asyncio
import gc
import os
import random
import struct
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from benchmarks._lib import peers
from cassandra import aio
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.errors import (
    ConnectionException,
    DriverException,
    NoHostAvailable,
    OperationTimedOut,
)
from cassandra.policies import ConstantReconnectionPolicy, RoundRobinPolicy
from cassandra.query import BatchStatement
from cassandra.testing.fake import (
    Answer,
    ErrorCode,
    FakeCluster,
    FakeNode,
    Request,
    error,
    rows,
    silence,
    void,
)

SELECT = "SELECT k, v FROM t WHERE k = ?"
INSERT = "INSERT INTO t (k, v) VALUES (?, ?)"
COLUMNS = [("k", "int"), ("v", "text")]
EXECUTE, BATCH = 0x0A, 0x0D  # opcodes
ROWS = 20  # the number of rows that answer a SELECT
WORKERS = 24  # the number of asyncio tasks that send requests
# How many seconds a worker sleeps between two requests, on average. Without a pause, the load would
# saturate the machine.
PAUSE = 0.01
LONGEST = 30.0  # seconds within which each call must return or raise
# The highest resident memory of the fourth quarter of the run may exceed the highest of the second
# quarter by this factor, and by SLACK MiB in addition.
GROWTH = 1.10
SLACK = 4.0  # MiB


# -- the nodes, in a separate process --------------------------------------------------------------


def executes(text: str) -> Callable[[Request], bool]:
    """Return a matcher of requests that execute the statement `text`, alone or in a batch."""
    return lambda request: request.opcode in (EXECUTE, BATCH) and text in request.queries


class FaultyAnswer(Answer):
    """Answers 99 % of the requests like a node, 0.8 % with an error, and 0.2 % not at all."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._refusals = (
            error(ErrorCode.OVERLOADED, "drawn"),
            error(ErrorCode.UNAVAILABLE, "drawn"),
            error(ErrorCode.SERVER_ERROR, "drawn"),
        )
        self._silence = silence()
        self._void = void()

    def perform(self, request: Request) -> None:
        """Answer the request like a node, refuse it, or leave it without a response, at random."""
        draw = self._rng.random()
        if draw < 0.002:  # leave one of 500 requests without a response
            self._silence.perform(request)
        elif draw < 0.01:  # refuse eight of 1000 requests
            self._rng.choice(self._refusals).perform(request)
        elif request.query == SELECT:
            (key,) = struct.unpack(">i", request.values[0])  # type: ignore[arg-type]
            rows(COLUMNS, [(key, f"{key}-{number}") for number in range(ROWS)]).perform(request)
        else:
            self._void.perform(request)


def disturb(nodes: FakeCluster, rng: random.Random) -> None:
    """Cause one random fault on a random node, and wait until the fault is over."""
    node: FakeNode = rng.choice(nodes.nodes)
    fault = rng.choice(("reset", "close", "pause", "restart", "forget", "storm", "refuse"))
    if fault in ("reset", "close"):
        node.drop_connections(reset=fault == "reset")
    elif fault == "pause":
        node.pause()
        time.sleep(rng.uniform(0.1, 3.0))
        node.resume()
    elif fault == "restart":
        nodes.stop_node(node)
        time.sleep(rng.uniform(0.1, 1.5))
        node.forget_prepared()
        nodes.start_node(node)
    elif fault == "forget":
        node.forget_prepared()
    elif fault == "storm":  # many status and topology events
        for _ in range(200):
            event_type, change = rng.choice(
                (
                    ("STATUS_CHANGE", "UP"),
                    ("STATUS_CHANGE", "DOWN"),
                    ("TOPOLOGY_CHANGE", "NEW_NODE"),
                )
            )
            nodes.tell(event_type, change, rng.choice(nodes.nodes))
    else:
        node.refuse_connections()
        node.drop_connections()
        time.sleep(rng.uniform(0.1, 1.0))
        node.accept_connections()
    # Fake nodes record all requests for tests. Nobody reads these records here, so drop them: they
    # would fill the memory.
    for fake in nodes.nodes:
        fake.forget_requests()


def wait_for_end(is_over: threading.Event) -> None:
    """Wait until the parent process closes our standard input, and then set the event."""
    sys.stdin.read()
    is_over.set()


def serve(seed: int) -> None:
    """Run three fake nodes, and cause faults on them until standard input is closed."""
    rng = random.Random(seed)
    is_over = threading.Event()
    with FakeCluster(3) as nodes:
        for node in nodes.nodes:
            node.prime_prepare(SELECT, [("k", "int")], COLUMNS)
            node.prime_prepare(INSERT, COLUMNS)
            answer = FaultyAnswer(random.Random(rng.random()))
            for match in (SELECT, INSERT):
                node.prime(executes(match), answer)
        print(nodes.nodes[0].port, *nodes.contact_points, flush=True)
        threading.Thread(target=wait_for_end, args=(is_over,), daemon=True).start()
        while not is_over.wait(rng.uniform(0.2, 2.0)):
            disturb(nodes, rng)


@contextmanager
def broken_nodes(seed: int) -> Iterator[tuple[int, list[str]]]:
    """Start `serve` in another process, and yield (port, addresses) of its nodes.

    The process runs the calling script (sys.argv[0]) with the option ``--serve``, so the script
    must implement this option by a call of `serve`.
    """
    process = subprocess.Popen(
        [sys.executable, sys.argv[0], "--serve", "--seed", str(seed)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **peers.own_settings()},
    )
    try:
        assert process.stdout is not None
        port, *addresses = process.stdout.readline().split()
        yield int(port), addresses
    finally:
        # `communicate` closes the process's standard input, which makes it end.
        process.communicate(timeout=60)


# -- the load --------------------------------------------------------------------------------------


class Soak:
    """The state that all workers share: settings, counted outcomes, mistakes and the end time.

    `faults` has the driver's mistakes that were found. The first of them ends the run.
    """

    def __init__(self, port: int, addresses: list[str], seed: int, seconds: float) -> None:
        self.port = port
        self.addresses = addresses
        self.rng = random.Random(seed)
        self.ends = time.monotonic() + seconds
        self.outcomes: Counter[str] = Counter()
        self.faults: list[str] = []

    @property
    def over(self) -> bool:
        """True if the time is over, or a mistake was found."""
        return time.monotonic() >= self.ends or bool(self.faults)

    def settings(self) -> dict[str, Any]:
        """Return arguments with which a `Cluster` notices the nodes' faults within seconds."""
        profile = ExecutionProfile(RoundRobinPolicy(), request_timeout=2.0)
        return {
            "port": self.port,
            "execution_profiles": {EXEC_PROFILE_DEFAULT: profile},
            "reconnection_policy": ConstantReconnectionPolicy(0.2, None),
            "connect_timeout": 2.0,
            "idle_heartbeat_interval": 1.0,
            "idle_heartbeat_timeout": 1.0,
            "topology_event_refresh_window": 1.0,
            "status_event_refresh_window": 0.5,
        }

    def note(self, failure: BaseException) -> None:
        """Count an error that the nodes' faults can cause. Any other error ends the run."""
        expected = isinstance(
            failure, (ConnectionException, DriverException, NoHostAvailable, OperationTimedOut)
        )
        # Each error that the nodes cause belongs to a subclass of DriverException. An error of that
        # class itself is a mistake of the driver.
        if expected and type(failure) is not DriverException:
            self.outcomes[type(failure).__name__] += 1
        else:
            self.faults.append(repr(failure))

    def check(self, key: int, rows_read: list[Any]) -> None:
        """Check that the rows belong to `key`, and not to another request."""
        expected_rows = [(key, f"{key}-{number}") for number in range(ROWS)]
        if [tuple(row) for row in rows_read] == expected_rows:
            self.outcomes["ok"] += 1
        else:
            self.faults.append(f"asked for {key}, got {rows_read[:2]!r}")


async def work(soak: Soak, session: aio.Session, select: Any, insert: Any) -> None:
    """Run one asyncio worker, which reads, writes, sends batches, and cancels some requests.

    :param soak: counts the outcomes, and says when the run is over.
    :param select: the prepared statement that reads the rows of a key.
    :param insert: the prepared statement that writes a row.
    """
    rng = soak.rng
    while not soak.over:
        key, draw = rng.randrange(1 << 30), rng.random()
        # Half of the requests read and 5 % are reads that are cancelled. 35 % write a row, and 10 %
        # write a batch.
        try:
            if draw < 0.5:
                result = await asyncio.wait_for(session.execute(select, (key,)), LONGEST)
                soak.check(key, result.all())
                continue
            if draw < 0.55:
                request = asyncio.ensure_future(session.execute(select, (key,)))
                await asyncio.sleep(0)  # let the task send the request before it is cancelled
                request.cancel()
                soak.outcomes["cancelled"] += 1
                continue
            statement: Any = insert.bind((key, "x" * rng.randrange(2000)))
            if draw > 0.9:
                statement = BatchStatement()
                for number in range(20):
                    statement.add(insert, (key + number, "y" * 50))
            await asyncio.wait_for(session.execute(statement), LONGEST)
            soak.outcomes["ok"] += 1
        except asyncio.TimeoutError:
            soak.faults.append(f"no outcome within {LONGEST} s")
        except Exception as failure:
            soak.note(failure)
        await asyncio.sleep(rng.expovariate(1 / PAUSE))


def work_blocking(soak: Soak, cluster: Cluster) -> None:
    """Run the load of a thread until the run is over.

    Each turn makes 200 requests, then opens and closes another session and another cluster.
    """
    session = cluster.connect()
    select = session.prepare(SELECT)
    while not soak.over:
        keys = [soak.rng.randrange(1 << 30) for _ in range(200)]
        outcomes = execute_concurrent_with_args(
            session, select, [(key,) for key in keys], concurrency=50, raise_on_first_error=False
        )
        for key, (success, result) in zip(keys, outcomes, strict=True):
            if success:
                soak.check(key, result.all())
            else:
                soak.note(result)
        # Open another session of the same cluster, and then another cluster.
        try:
            with cluster.connect() as second:
                second.execute("SELECT now()")
            with Cluster(soak.addresses, **soak.settings()) as another:
                another.connect().execute("SELECT now()")
            soak.outcomes["clusters"] += 1
        except Exception as failure:
            soak.note(failure)
        time.sleep(0.3)


# -- the figures -----------------------------------------------------------------------------------


def figures(loops: list[asyncio.AbstractEventLoop]) -> dict[str, float]:
    """Return the current MiB, file descriptors, threads, tasks and objects of this process.

    :param loops: the event loops whose tasks are counted.
    """
    gc.collect()
    with open("/proc/self/statm", encoding="ascii") as file:
        resident = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
    return {
        "MiB": round(resident, 1),
        "fds": len(os.listdir("/proc/self/fd")),
        "threads": threading.active_count(),
        "tasks": sum(len(asyncio.all_tasks(loop)) for loop in loops),
        "objects": len(gc.get_objects()),
    }


def verdict(
    samples: list[dict[str, float]], after: dict[str, float], before: dict[str, float]
) -> list[str]:
    """Return a description of each leak: memory that has grown, or descriptors and threads left.

    Caches and pools fill at the beginning. So the highest memory of the second quarter of the run
    is compared with the highest memory of the fourth quarter.

    :param samples: the figures during the run, in order.
    :param after: the figures after the end.
    :param before: the figures before the beginning.
    :returns: one line for each leak.
    """
    half = len(samples) // 2
    second_quarter, fourth_quarter = samples[half // 2 : half], samples[half + half // 2 :]
    leaks = []
    if second_quarter and fourth_quarter:
        early_peak, late_peak = (
            max(sample["MiB"] for sample in quarter) for quarter in (second_quarter, fourth_quarter)
        )
        if late_peak > early_peak * GROWTH + SLACK:
            leaks.append(f"memory grew from {early_peak} to {late_peak} MiB")
    # After the end, no file descriptor and no thread of the run may be left.
    leaks += [
        f"{name}: {after[name]} left, {before[name]} at the beginning"
        for name in ("fds", "threads")
        if after[name] > before[name]
    ]
    return leaks


async def run(
    soak: Soak, interval: float, report_sample: Callable[[float, dict[str, float]], None]
) -> list[dict[str, float]]:
    """Run the load until its time is over or a fault is found, and return the samples of figures.

    :param interval: seconds between two samples.
    :param report_sample: is called with the seconds since the start and each sample.
    """
    samples: list[dict[str, float]] = []
    loop = asyncio.get_running_loop()
    with Cluster(soak.addresses, **soak.settings()) as blocking:
        async with aio.Cluster(soak.addresses, **soak.settings()) as cluster:
            session = await cluster.connect()
            select, insert = await session.prepare(SELECT), await session.prepare(INSERT)
            # Run the tasks of the asyncio API in this loop, and the blocking API in a thread.
            workers = [
                asyncio.ensure_future(work(soak, session, select, insert)) for _ in range(WORKERS)
            ]
            thread = asyncio.ensure_future(asyncio.to_thread(work_blocking, soak, blocking))
            began = time.monotonic()
            # Take a sample after each interval, or at once if a worker fails.
            while not soak.over:
                await asyncio.wait(
                    [*workers, thread], timeout=interval, return_when=asyncio.FIRST_EXCEPTION
                )
                sample = figures([loop, blocking._required_loop_thread.loop])
                samples.append(sample)
                report_sample(time.monotonic() - began, sample)
            await asyncio.wait_for(asyncio.gather(*workers, thread), 2 * LONGEST)
    return samples
