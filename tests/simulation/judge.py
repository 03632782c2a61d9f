"""Rules that must hold in every life. Each function records violations in the `Life`."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from cassandra.query import SimpleStatement

if TYPE_CHECKING:
    from tests.simulation.clients import Operation
    from tests.simulation.life import Life

__all__ = [
    "check_deadlines",
    "check_drains",
    "check_hosts",
    "check_leftovers",
    "check_operations",
    "check_pools",
    "check_retries",
    "check_timers",
    "check_timestamps",
]


def check_pools(life: Life) -> None:
    """Check that no pool has more connections than it may have."""
    for user in life.clients.users:
        for pool in user.session.get_pools():
            size = pool.size
            # A pool with shards opens the same number of connections to each shard, so the size is
            # rounded up to a multiple of the number of shards.
            if pool.shards is not None:
                shards = (
                    len(getattr(pool.shards, "connections", ())) or life.plan.settings["scylla"]
                )
                size = -(-size // shards) * shards
            if len(pool.connections) > size:
                life.violate(
                    f"{pool!r} has {len(pool.connections)} connections, its size is {size}"
                )


def check_retries(life: Life) -> None:
    """Check that no retry is scheduled for a request that has ended."""
    for loop in [life.loop, *life.loop.children]:
        scheduled: list[Any] = getattr(loop, "_scheduled", [])
        for handle in scheduled:
            owner = getattr(handle._callback, "__self__", None)
            request = getattr(owner, "_request", None)
            if not handle.cancelled() and getattr(request, "done", False):
                life.violate(f"a retry is due of a request that is over: {type(owner).__name__}")


async def check_hosts(life: Life) -> None:
    """Check that, when all faults have ended, every host gets requests and every pool is full."""
    for user in list(life.clients.users):
        session, cluster = user.session, user.cluster
        addresses = {host.address for host in cluster.metadata.all_hosts()}
        there = {node.address for node in life.fake.nodes}
        if addresses != there:
            life.violate(f"the cluster has {sorted(there)}, the driver knows {sorted(addresses)}")
        for host in sorted(cluster.metadata.all_hosts(), key=lambda host: str(host.endpoint)):
            operation = life.clients.begin(user, "check", idempotent=True, write=False)
            text = f"SELECT k, op, v, ks FROM w WHERE k = 1 AND op = {operation.number}"
            statement = SimpleStatement(text, is_idempotent=True)
            try:
                result = await session.execute(statement, host=host, timeout=5.0)
                life.clients.check_row(operation, result.one(), 1)
            except Exception as error:
                life.violate(f"{host} is not used again: {type(error).__name__}: {error}")
        for pool in session.get_pools():
            if len(pool.connections) != pool.size and pool.shards is None:
                life.violate(f"{pool!r} was not filled: its size is {pool.size}")
            if pool._closing:
                life.violate(
                    f"{pool!r} has retired connections that nobody closes: {pool._closing}"
                )
            if pool.waiting and any(not waiter.done for waiter in pool._waiters):
                life.violate(f"{pool!r} has requests that wait, and nothing to do")
        throttler = cluster.request_throttler
        if throttler is not None and (throttler.under_way or throttler.waiting):
            life.violate(
                f"the throttler counts {throttler.under_way} requests, {throttler.waiting} waiting"
            )


def check_operations(life: Life) -> None:
    """Check each operation against the requests that arrived at the nodes.

    An acknowledged write must have been executed, each request must run in an allowed keyspace,
    a request that is not idempotent must not be repeated, and retries must keep the timestamp.
    """
    store = life.store
    for number, operation in life.clients.operations.items():
        arrivals = store.arrivals.get(number, [])
        label = f"op {number} ({operation.what})"
        if operation.is_write and operation.is_acknowledged and not store.applied.get(number):
            life.violate(f"{label} was acknowledged, and was lost")
        strays = {arrival.keyspace or "no keyspace" for arrival in arrivals} - operation.keyspaces
        if strays:
            life.violate(f"{label} ran in {sorted(strays)}, not in {sorted(operation.keyspaces)}")
        if not operation.is_idempotent:
            for earlier, later in pairwise(arrivals):
                if earlier.fate != "refused":
                    life.violate(
                        f"{label} was sent again at {later.time:.3f} after it was {earlier.fate}"
                    )
        stamps = {arrival.timestamp for arrival in arrivals}
        # If a row of a load fails, the load writes it again in a new request with a new timestamp.
        if len(stamps) > 1 and operation.what != "load":
            life.violate(f"{label} came with the timestamps {sorted(map(str, stamps))}")


def check_timestamps(life: Life) -> None:
    """Check that the timestamps of the driver's generator increase, whatever the clock does.

    Each cluster has its own generator. All timestamps of a cluster must differ, and a request
    that began after another had ended must have the later timestamp. No timestamp may be behind
    the machine's clock at the beginning of its request, unless the clock was set back later.
    """
    requests: dict[tuple[int, int], Operation] = {}
    latest: dict[int, int] = {}
    moments: list[tuple[int, bool, Operation, int]] = []
    for number, operation in life.clients.operations.items():
        for stamp in sorted(
            arrival.timestamp or 0 for arrival in life.store.arrivals.get(number, [])
        ):
            label = f"op {number} ({operation.what})"
            if operation.timestamp is not None:
                if stamp != operation.timestamp:
                    life.violate(f"{label} has the time {stamp}, not {operation.timestamp}")
                continue
            other = requests.setdefault((id(operation.cluster), stamp), operation)
            if other.request != operation.request:
                life.violate(f"{label} has the timestamp {stamp} of op {other.number}")
            steps = [now for moment, now in life.clock_steps if moment > operation.begun]
            if stamp < min([operation.earliest, *steps]):
                life.violate(f"{label} has the timestamp {stamp}, which is behind the clock")
            moments.append((operation.begun, False, operation, stamp))
            if operation.ended:
                moments.append((operation.ended, True, operation, stamp))
    for _, is_end, operation, stamp in sorted(moments, key=lambda moment: moment[:2]):
        cluster = id(operation.cluster)
        before = latest.get(cluster, 0)
        if is_end:
            latest[cluster] = max(before, stamp)
        elif stamp <= before:
            label = f"op {operation.number} ({operation.what})"
            life.violate(f"{label} has the timestamp {stamp}, which is not after {before}")


def check_drains(life: Life) -> None:
    """Check that a connection that has read GRACEFUL_DISCONNECT gets no new request."""
    for late in life.store.late:
        life.violate(late)


async def check_leftovers(life: Life) -> None:
    """Check that no task, thread or connection of the driver is left at the end.

    Also check that nodes got only valid messages, and that the loop's exception handler was not
    called.
    """
    this_task = asyncio.current_task()
    for task in sorted(asyncio.all_tasks(), key=hash):
        if task is not this_task and task not in life.faults.tasks:
            life.violate(f"a task is left: {task.get_coro()}"[:200])
    if life.threads is not None and life.threads.alive:
        life.violate(f"threads are left: {sorted(life.threads.alive)}")
    for link in life.network.links:
        if not link.ends[0].is_over:
            life.violate(f"a connection is left: {link}")
    for node in life.fake.nodes:
        for fault in node.malformed:
            life.violate(f"{node!r} got what is not the protocol: {fault}")
    for context in life.loop.faults:
        life.violate(
            f"the exception handler was called: {context.get('message')}", context.get("exception")
        )


def check_timers(life: Life) -> None:
    """Check that no timer of the driver is left after `shutdown`."""
    loop: Any = life.loop
    for handle in loop._scheduled:
        if not handle.cancelled():
            name = getattr(handle._callback, "__qualname__", repr(handle._callback))
            module = getattr(handle._callback, "__module__", "") or ""
            if not module.startswith(("cassandra.testing", "tests", "asyncio")):
                life.violate(f"a timer is left: {name}")


def check_deadlines(life: Life) -> None:
    """Check that the clusters have no request deadlines left while no request is in flight."""
    for cluster in life.clients.clusters:
        core = cluster._core
        if core is not None and not core.closed and len(core.timers):
            life.violate(f"{len(core.timers)} deadlines are left")
