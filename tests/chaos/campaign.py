"""Sends requests through the blocking and the asyncio API while nodes and the network fail."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from cassandra import ConsistencyLevel, aio
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, Session
from cassandra.policies import ConstantReconnectionPolicy, RoundRobinPolicy
from cassandra.testing import LocalCluster

from .accountant import LISTS, Accountant, Verdict
from .network import Network

# This is the timeout of each request in seconds.
TIMEOUT = 5.0
# A request that takes more seconds than this counts as hanging.
PATIENCE = 30.0
# This is the number of threads that make blocking calls.
THREADS = 3
# This is the number of tasks that use the asyncio API.
TASKS = 20
# This is the number of requests with callbacks that are in flight at the same time.
IN_FLIGHT = 30
NODES = 3

INSERT = "INSERT INTO t (k, v) VALUES (?, ?)"
APPEND = "UPDATE lists SET l = l + ? WHERE k = ?"
READ = "SELECT k, v FROM t WHERE k = ?"

# A fault has a name, a function that begins it, and a function that ends it.
Fault = tuple[str, Callable[[], None], Callable[[], None]]


def settings(network: Network) -> dict[str, Any]:
    """Return the arguments of a cluster that connects through the proxies."""
    profile = ExecutionProfile(
        RoundRobinPolicy(), request_timeout=TIMEOUT, consistency_level=ConsistencyLevel.QUORUM
    )
    return {
        "contact_points": network.contact_points,
        "endpoint_factory": network.endpoint_factory,
        "execution_profiles": {EXEC_PROFILE_DEFAULT: profile},
        "reconnection_policy": ConstantReconnectionPolicy(0.5, None),
        "connect_timeout": 3,
        "idle_heartbeat_interval": 2,
        "idle_heartbeat_timeout": 2,
    }


def next_request(accountant: Accountant, rng: random.Random) -> tuple[str, int, Any]:
    """Return the query of a random request, its number, and its values.

    A write with an even number inserts a row with this key. A write with an odd number appends the
    number to a list. If this write is applied twice, the list contains the number twice. A read
    selects an even number.
    """
    if accountant.acknowledged and rng.random() < 0.3:
        # Choose an even number, because only even numbers are keys that a read can find.
        number = 2 * rng.randrange(1, 1 + len(accountant.acknowledged))
        return READ, number, (number,)
    number = accountant.number()
    if number % 2:
        return APPEND, number, ([number], number % LISTS)
    return INSERT, number, (number, str(number))


class Load:
    """Sends requests through the blocking and the asyncio API until `stop` is called."""

    def __init__(self, network: Network, accountant: Accountant, seed: int) -> None:
        self._network = network
        self._accountant = accountant
        self._seed = seed
        self._over = threading.Event()
        self.cluster = Cluster(**settings(network))
        self.session = self.cluster.connect("chaos")
        self._prepared = self._prepare(self.session)
        targets = [self._send_blocking] * THREADS + [self._send_callbacks, self._run_tasks]
        self._threads = [
            threading.Thread(target=target, args=(number,), daemon=True)
            for number, target in enumerate(targets)
        ]
        for thread in self._threads:
            thread.start()

    def _prepare(self, session: Session) -> dict[str, Any]:
        """Return the prepared statements by their queries.

        All of them are idempotent, except the one that appends.
        """
        prepared = {query: session.prepare(query) for query in (INSERT, APPEND, READ)}
        prepared[INSERT].is_idempotent = prepared[READ].is_idempotent = True
        return prepared

    def _note(self, query: str, number: int, rows: Any) -> None:
        """Report the success of a request to the accountant."""
        if query is READ:
            self._accountant.note_read(number, [tuple(row) for row in rows])
        else:
            self._accountant.note_written(number)

    def _send_blocking(self, number: int) -> None:
        """Make blocking calls, one after the other, until the load is stopped.

        :param number: the number of the thread, which determines its random choices.
        """
        rng = random.Random(self._seed + number)
        while not self._over.is_set():
            query, request_number, values = next_request(self._accountant, rng)
            began = time.monotonic()
            try:
                rows = self.session.execute(self._prepared[query], values)
                self._note(query, request_number, rows)
            except Exception as error:
                self._accountant.note_failed(error)
            if time.monotonic() - began > PATIENCE:
                self._accountant.note_hung(f"blocking {query}")

    def _send_callbacks(self, number: int) -> None:
        """Keep up to `IN_FLIGHT` requests with callbacks in flight until the load is stopped."""
        rng = random.Random(self._seed + number)
        free_slots = threading.Semaphore(IN_FLIGHT)

        def on_rows(rows: Any, query: str, request_number: int) -> None:
            self._note(query, request_number, rows or ())
            free_slots.release()

        def on_error(error: Exception, query: str, request_number: int) -> None:
            self._accountant.note_failed(error)
            free_slots.release()

        while not self._over.is_set():
            if not free_slots.acquire(timeout=PATIENCE):
                self._accountant.note_hung("futures")
                return
            query, request_number, values = next_request(self._accountant, rng)
            future = self.session.execute_async(self._prepared[query], values)
            arguments = (query, request_number)
            future.add_callbacks(on_rows, on_error, callback_args=arguments, errback_args=arguments)
        # Wait for the responses to the requests in flight: each response frees a slot.
        for _ in range(IN_FLIGHT):
            if not free_slots.acquire(timeout=PATIENCE):
                self._accountant.note_hung("futures at the end")

    def _run_tasks(self, number: int) -> None:
        """Run the tasks of the asyncio API in an event loop of this thread."""
        asyncio.run(self._tasks(number))

    async def _tasks(self, number: int) -> None:
        """Send requests in several tasks with the asyncio API until the load is stopped."""
        async with aio.Cluster(**settings(self._network)) as cluster:
            session = await cluster.connect("chaos")
            prepared = {query: await session.prepare(query) for query in (INSERT, APPEND, READ)}
            prepared[INSERT].is_idempotent = prepared[READ].is_idempotent = True

            async def send_requests(rng: random.Random) -> None:
                """Send one request after the other until the load is stopped."""
                while not self._over.is_set():
                    query, request_number, values = next_request(self._accountant, rng)
                    try:
                        execution = session.execute(prepared[query], values)
                        rows = await asyncio.wait_for(execution, PATIENCE)
                        self._note(query, request_number, rows.all() if query is READ else ())
                    except asyncio.TimeoutError:
                        self._accountant.note_hung(f"aio {query}")
                    except Exception as error:
                        self._accountant.note_failed(error)

            # Add 100, so that the seeds differ from the seeds of the threads.
            first_seed = self._seed + number + 100
            rngs = [random.Random(first_seed + task_number) for task_number in range(TASKS)]
            await asyncio.gather(*map(send_requests, rngs))

    def stop(self) -> None:
        """Tell all threads to end, and record the threads that hang."""
        self._over.set()
        for thread in self._threads:
            thread.join(2 * PATIENCE)
            if thread.is_alive():
                self._accountant.note_hung(f"thread {thread.name}")


def faults(local: LocalCluster, network: Network, rng: random.Random) -> list[Fault]:
    """Return the faults to choose from.

    All are at the same random node, or at its proxy.
    """
    index = rng.randrange(NODES)
    node = index + 1
    # Each lambda keeps the fault of its iteration as the default value of a parameter.
    network_faults: list[Fault] = [
        (
            f"{fault} at node {node}",
            lambda fault=fault: network.set_fault(index, fault),  # type: ignore[misc]
            lambda: network.set_fault(index, None),
        )
        for fault in ("drop", "deaf", "mute", "slow", "refuse")
    ]
    return [
        *network_faults,
        (f"reset of node {node}", lambda: network.call(network.proxies[index].reset), lambda: None),
        (f"pause of node {node}", lambda: local.pause(node), lambda: local.resume(node)),
        (f"kill -9 of node {node}", lambda: local.kill(node), lambda: local.restart(node)),
    ]


def slow_faults(local: LocalCluster) -> list[Fault]:
    """Return the faults that take about a minute."""

    def restart_all() -> None:
        """Restart one node after the other."""
        for node in range(1, 1 + NODES):
            local.restart(node)

    joined_nodes: list[int] = []
    return [
        ("rolling restart", restart_all, lambda: None),
        (
            "a node that joins, and leaves again",
            lambda: joined_nodes.append(local.add_node().number),
            lambda: local.decommission(joined_nodes[-1]),
        ),
    ]


def fault_sequence(local: LocalCluster, network: Network, rng: random.Random) -> Iterator[Fault]:
    """Yield faults without end.

    At first, each slow fault comes after three quick faults. Later, one fault of twelve is slow.
    """
    slow = slow_faults(local)
    for slow_fault in slow:
        yield from (rng.choice(faults(local, network, rng)) for _ in range(3))
        yield slow_fault
    while True:
        quick = faults(local, network, rng)
        yield rng.choice(slow if rng.random() < 1 / 12 else quick)


def run(
    seconds: float,
    seed: int,
    say: Callable[[str], None] = print,
    local: LocalCluster | None = None,
) -> Verdict:
    """Run a campaign on three nodes.

    :param seconds: no fault begins after this time. The last fault is still ended.
    :param seed: determines the order of the faults and requests.
    :param say: is called with a line of text about each fault, for example to print it.
    :param local: three running nodes. By default new nodes are started.
    :returns: the writes that were lost or doubled, and other results.
    """
    if local is None:
        with LocalCluster(NODES, "5.0.9") as local:
            return run(seconds, seed, say, local)
    rng = random.Random(seed)
    accountant = Accountant()
    with Network(local.contact_points, local.port) as network:
        with Cluster(local.contact_points, port=local.port) as cluster:
            session = cluster.connect()
            session.execute(
                "CREATE KEYSPACE chaos WITH replication = "
                "{'class': 'SimpleStrategy', 'replication_factor': 3}"
            )
            session.execute("CREATE TABLE chaos.t (k int PRIMARY KEY, v text)")
            session.execute("CREATE TABLE chaos.lists (k int PRIMARY KEY, l list<int>)")
        load = Load(network, accountant, seed)
        end_time = time.monotonic() + seconds
        # This event is never set, and is used only to wait.
        pause = threading.Event()
        for name, begin, end in fault_sequence(local, network, rng):
            if time.monotonic() > end_time:
                break
            acknowledged_before = len(accountant.acknowledged)
            say(f"{name} ({acknowledged_before} acknowledged)")
            begin()
            # The fault lasts for this time.
            pause.wait(rng.uniform(1, 6))
            end()
            # The driver recovers in this time.
            pause.wait(rng.uniform(0, 4))
        load.stop()
        say(f"failures: {dict(accountant.failed)}")
        local.wait_until_ready()
        with Cluster(local.contact_points, port=local.port) as cluster:
            verdict = accountant.close(cluster.connect("chaos", wait_for_all_pools=True))
        load.cluster.shutdown()
    return verdict
