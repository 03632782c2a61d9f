"""Rules that must hold in every simulation: each function checks a rule, and reports violations."""

from __future__ import annotations

import asyncio
import math
import pickle
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from cassandra.query import SimpleStatement
from tests.simulation.typed_table import INSERT

if TYPE_CHECKING:
    from cassandra.metadata.cluster_metadata import Metadata
    from tests.simulation.clients import Operation
    from tests.simulation.life import Simulation


def check_pools(simulation: Simulation) -> None:
    """Check that no connection pool has more connections than its settings allow.

    Also check that no worker (a further event loop of a cluster) accepts requests without a pool.
    """
    for user in simulation.clients.users:
        for worker in user.session._engine.followers:
            if worker.is_ready and not worker.pools:
                simulation.report_violation("a worker without a pool takes requests")
        for pool in user.session.get_pools():
            size = pool.size
            # A pool with shards opens the same number of connections to each shard. So it may have
            # more connections than its size, which is rounded up to a multiple of the number of
            # shards.
            if pool.shards is not None:
                shards = (
                    len(getattr(pool.shards, "connections", ()))
                    or simulation.plan.settings["scylla"]
                )
                size = math.ceil(size / shards) * shards
            if len(pool.connections) > size:
                simulation.report_violation(
                    f"{pool!r} has {len(pool.connections)} connections, its size is {size}"
                )


def check_retries(simulation: Simulation) -> None:
    """Check that no retry is scheduled for a request that has ended.

    The check reads the loops' timers: the timer of a retry calls a bound method of an object with
    an attribute `_request`.
    """
    for loop in [simulation.loop, *simulation.loop.children]:
        scheduled: list[Any] = getattr(loop, "_scheduled", [])
        for handle in scheduled:
            owner = getattr(handle._callback, "__self__", None)
            request = getattr(owner, "_request", None)
            if not handle.cancelled() and getattr(request, "done", False):
                simulation.report_violation(
                    f"a retry is due of a request that is over: {type(owner).__name__}"
                )


async def check_hosts(simulation: Simulation) -> None:
    """Check that, after the end of all faults, every host gets requests and every pool is full."""
    for user in list(simulation.clients.users):
        session, cluster = user.session, user.cluster
        addresses = {host.address for host in cluster.metadata.all_hosts()}
        node_addresses = {node.address for node in simulation.fake.nodes}
        if addresses != node_addresses:
            simulation.report_violation(
                f"the cluster has {sorted(node_addresses)}, the driver knows {sorted(addresses)}"
            )
        _check_identities(simulation, cluster.metadata)
        for host in sorted(cluster.metadata.all_hosts(), key=lambda host: str(host.endpoint)):
            # Send a request to this host only.
            operation = simulation.clients.begin_operation(
                user, "check", idempotent=True, write=False
            )
            query = f"SELECT k, op, v, ks FROM w WHERE k = 1 AND op = {operation.number}"
            statement = SimpleStatement(query, is_idempotent=True)
            try:
                result = await session.execute(statement, host=host, timeout=5.0)
                simulation.clients.check_row(operation, result.one(), key=1)
            except Exception as error:
                simulation.report_violation(
                    f"{host} is not used again: {type(error).__name__}: {error}"
                )
        # Check that nothing is left in the pools and in the throttler.
        for pool in session.get_pools():
            if len(pool.connections) != pool.size and pool.shards is None:
                simulation.report_violation(f"{pool!r} was not filled: its size is {pool.size}")
            if pool._closing:
                simulation.report_violation(
                    f"{pool!r} has retired connections that nobody closes: {pool._closing}"
                )
            if pool.waiting and any(not waiter.done for waiter in pool._waiters):
                simulation.report_violation(f"{pool!r} has requests that wait, and nothing to do")
        throttler = cluster.request_throttler
        if throttler is not None and (throttler.under_way or throttler.waiting):
            simulation.report_violation(
                f"the throttler counts {throttler.under_way} requests, {throttler.waiting} waiting"
            )


def _check_identities(simulation: Simulation, metadata: Metadata) -> None:
    """Check that the driver knows the host id and the tokens of each node."""
    token_map = metadata.token_map
    owners = {} if token_map is None else token_map.token_to_host_owner
    for node in simulation.fake.nodes:
        host = metadata.get_host(node.address)
        if host is None:  # reported by the caller
            continue
        if host.host_id != node.host_id:
            simulation.report_violation(
                f"{node.address} has the id {node.host_id}, the driver knows {host.host_id}"
            )
        tokens = {str(token.value) for token, owner in owners.items() if owner is host}
        if owners and tokens != set(node.tokens):
            simulation.report_violation(
                f"{node.address} has the tokens {sorted(node.tokens)}, "
                f"the driver knows {sorted(tokens)}"
            )


async def check_types(simulation: Simulation) -> None:
    """Check that values get the current type of their column after the end of all faults.

    The table may have been dropped and created again with other types since its statement was
    prepared. While a session does not know that yet, nodes may read other values than it has sent.
    """
    typed = simulation.store.typed
    if typed is None:
        return
    users = simulation.clients.users
    statements = [
        (user, statement)
        for user in users
        for statement in (user.prepared.get(INSERT, (None, ()))[0], user.copied)
        if statement is not None
    ]
    # A session may execute statements that another session, or another cluster, has prepared.
    statements += [(user, statement) for user in users[-1:] for _, statement in statements[:1]]
    # Unpickle the others only when they are executed: the nodes know the id again then.
    statements += [(user, user.pickled) for user in users if user.pickled]
    for key, (user, statement) in enumerate(statements, 1000):
        if isinstance(statement, bytes):
            statement = pickle.loads(statement)
        try:
            # The driver must not use what it knows of the one cluster for the other cluster.
            if simulation.elsewhere is not None:
                await simulation.elsewhere.write(statement, key, timeout=5.0)
            await user.session.execute(statement, (key, key), timeout=5.0)
            if simulation.elsewhere is not None:
                await simulation.elsewhere.write(statement, -key, timeout=5.0)
        except Exception as error:
            simulation.report_violation(f"a value cannot be written: {error!r}", error)
            continue
        if typed.rows.get(key) != key:
            simulation.report_violation(f"{key} was written, and {typed.rows.get(key)} is stored")


def check_schema(simulation: Simulation) -> None:
    """Check that each driver knows the current schema after the end of all faults."""
    changing = simulation.store.changing
    if changing is None:
        return
    for cluster in {id(user.cluster): user.cluster for user in simulation.clients.users}.values():
        for difference in changing.differences(cluster.metadata):
            simulation.report_violation(difference)


def check_workers(simulation: Simulation) -> None:
    """Check that, after the end of all faults, each further loop of a cluster executes requests."""
    for user in simulation.clients.users:
        leader = user.session._engine
        for worker in leader.followers:
            if set(worker.pools) != set(leader.pools):
                simulation.report_violation(
                    f"a worker has pools to {sorted(map(str, worker.pools))}, and the first loop "
                    f"to {sorted(map(str, leader.pools))}"
                )
            elif not worker.is_ready:
                simulation.report_violation("a worker with all pools takes no requests")


def check_operations(simulation: Simulation) -> None:
    """Check each operation against the requests that arrived at the nodes.

    An acknowledged write must have been executed, and each request must run in an allowed keyspace.
    A request that is not idempotent must not be executed twice. A retry must have the same write
    timestamp as the first attempt.
    """
    store = simulation.store
    for number, operation in simulation.clients.operations.items():
        arrivals = store.arrivals.get(number, [])
        label = f"op {number} ({operation.what})"
        if operation.is_write and operation.is_acknowledged and not store.applied.get(number):
            simulation.report_violation(f"{label} was acknowledged, and was lost")
        wrong_keyspaces = {
            arrival.keyspace or "no keyspace" for arrival in arrivals
        } - operation.keyspaces
        if wrong_keyspaces:
            simulation.report_violation(
                f"{label} ran in {sorted(wrong_keyspaces)}, not in {sorted(operation.keyspaces)}"
            )
        if not operation.is_idempotent:
            for earlier, later in pairwise(arrivals):
                if earlier.fate != "refused":
                    simulation.report_violation(
                        f"{label} was sent again at {later.time:.3f} after it was {earlier.fate}"
                    )
        timestamps = {arrival.timestamp for arrival in arrivals}
        # Loads are exempt: they write a failed row again in a new request, which has a new
        # timestamp.
        if len(timestamps) > 1 and operation.what != "load":
            simulation.report_violation(
                f"{label} came with the timestamps {sorted(map(str, timestamps))}"
            )


def check_timestamps(simulation: Simulation) -> None:
    """Check that the timestamps of the driver's generator increase, whatever the clock does.

    Each cluster has its own generator. All timestamps of a cluster must differ, and a request
    that began after another had ended must have the later timestamp. No timestamp may be earlier
    than the machine's clock was when its request began, unless the clock was set back later.
    """
    # For each cluster and timestamp: the operation that used the timestamp first.
    requests: dict[tuple[int, int], Operation] = {}
    latest: dict[int, int] = {}  # the latest timestamp of the requests that have ended, by cluster
    # Beginnings and ends of operations: (logical time, True for an end, operation, timestamp).
    moments: list[tuple[int, bool, Operation, int]] = []
    for number, operation in simulation.clients.operations.items():
        for stamp in sorted(
            arrival.timestamp or 0 for arrival in simulation.store.arrivals.get(number, [])
        ):
            label = f"op {number} ({operation.what})"
            if operation.timestamp is not None:  # set by the application
                if stamp != operation.timestamp:
                    simulation.report_violation(
                        f"{label} has the time {stamp}, not {operation.timestamp}"
                    )
                continue
            other = requests.setdefault((id(operation.cluster), stamp), operation)
            if other.request != operation.request:
                simulation.report_violation(
                    f"{label} has the timestamp {stamp} of op {other.number}"
                )
            later_clock_times = [
                now for moment, now in simulation.clock_steps if moment > operation.begun
            ]
            if stamp < min([operation.earliest, *later_clock_times]):
                simulation.report_violation(
                    f"{label} has the timestamp {stamp}, which is behind the clock"
                )
            moments.append((operation.begun, False, operation, stamp))
            if operation.ended:
                moments.append((operation.ended, True, operation, stamp))
    for _, is_end, operation, stamp in sorted(moments, key=lambda moment: moment[:2]):
        cluster = id(operation.cluster)
        latest_timestamp = latest.get(cluster, 0)
        if is_end:
            latest[cluster] = max(latest_timestamp, stamp)
        elif stamp <= latest_timestamp:
            label = f"op {operation.number} ({operation.what})"
            simulation.report_violation(
                f"{label} has the timestamp {stamp}, which is not after {latest_timestamp}"
            )


def check_drains(simulation: Simulation) -> None:
    """Check that no client sent a new request after it had read GRACEFUL_DISCONNECT.

    The nodes have recorded such requests in `store.late`.
    """
    for late in simulation.store.late:
        simulation.report_violation(late)


async def check_leftovers(simulation: Simulation) -> None:
    """Check that no task, thread or connection of the driver is left at the end.

    Also check that nodes received only valid messages, and that the loop's exception handler was
    not called.
    """
    this_task = asyncio.current_task()
    for task in sorted(asyncio.all_tasks(), key=hash):
        if task is not this_task and task not in simulation.faults.tasks:
            simulation.report_violation(f"a task is left: {task.get_coro()}"[:200])
    if simulation.threads is not None and simulation.threads.alive:
        simulation.report_violation(f"threads are left: {sorted(simulation.threads.alive)}")
    for link in simulation.network.links:
        if not link.ends[0].is_over:
            simulation.report_violation(f"a connection is left: {link}")
    for node in simulation.fake.nodes:
        for fault in node.malformed:
            simulation.report_violation(f"{node!r} got what is not the protocol: {fault}")
    for context in simulation.loop.faults:
        simulation.report_violation(
            f"the exception handler was called: {context.get('message')}", context.get("exception")
        )


def check_timers(simulation: Simulation) -> None:
    """Check that no timer of the driver is left after `shutdown`."""
    loop: Any = simulation.loop
    for handle in loop._scheduled:
        if not handle.cancelled():
            name = getattr(handle._callback, "__qualname__", repr(handle._callback))
            module = getattr(handle._callback, "__module__", "") or ""
            if not module.startswith(("cassandra.testing", "tests", "asyncio")):
                simulation.report_violation(f"a timer is left: {name}")


def check_deadlines(simulation: Simulation) -> None:
    """Check that the clusters have no request deadlines while no request is in flight."""
    for cluster in simulation.clients.clusters:
        core = cluster._core
        if core is None or core.closed:
            continue
        count = sum(len(engine.timers) for engine in (core, *core.workers))
        if count:
            simulation.report_violation(f"{count} deadlines are left")
