"""What must never be so, whatever happens."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from cassandra.query import SimpleStatement

if TYPE_CHECKING:
    from tests.simulation.life import Life

__all__ = [
    "check_deadlines",
    "check_hosts",
    "check_leftovers",
    "check_operations",
    "check_pools",
    "check_retries",
    "check_timers",
]


def check_pools(life: Life) -> None:
    """A pool never has more connections than its size."""
    for user in life.clients.users:
        for pool in user.session.get_pools():
            size = pool.size
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
    """A request that is over has no retry that is still due."""
    for loop in [life.loop, *life.loop.children]:
        scheduled: list[Any] = getattr(loop, "_scheduled", [])
        for handle in scheduled:
            owner = getattr(handle._callback, "__self__", None)
            request = getattr(owner, "_request", None)
            if not handle.cancelled() and getattr(request, "done", False):
                life.violate(f"a retry is due of a request that is over: {type(owner).__name__}")


async def check_hosts(life: Life) -> None:
    """Once all is well, each host is used again, and each pool is full."""
    for user in list(life.clients.users):
        session, cluster = user.session, user.cluster
        known = {host.address for host in cluster.metadata.all_hosts()}
        there = {node.address for node in life.fake.nodes}
        if known != there:
            life.violate(f"the cluster has {sorted(there)}, the driver knows {sorted(known)}")
        for host in sorted(cluster.metadata.all_hosts(), key=lambda one: str(one.endpoint)):
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
    """Look at all that arrived."""
    store = life.store
    for number, operation in life.clients.operations.items():
        arrivals = store.arrivals.get(number, [])
        label = f"op {number} ({operation.what})"
        if operation.is_write and operation.is_acknowledged and not store.applied.get(number):
            life.violate(f"{label} was acknowledged, and was lost")
        strays = {one.keyspace or "no keyspace" for one in arrivals} - operation.keyspaces
        if strays:
            life.violate(f"{label} ran in {sorted(strays)}, not in {sorted(operation.keyspaces)}")
        if not operation.is_idempotent:
            for one, later in pairwise(arrivals):
                if one.fate != "refused":
                    life.violate(
                        f"{label} was sent again at {later.time:.3f} after it was {one.fate}"
                    )
        stamps = {one.timestamp for one in arrivals}
        # A load writes a row that failed again, as a request of its own.
        if len(stamps) > 1 and operation.what != "load":
            life.violate(f"{label} came with the timestamps {sorted(map(str, stamps))}")


async def check_leftovers(life: Life) -> None:
    """After the end nothing is left of the driver."""
    own = asyncio.current_task()
    for task in sorted(asyncio.all_tasks(), key=hash):
        if task is not own and task not in life.faults.tasks:
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
    """As soon as `shutdown` has returned, no timer of the driver is left."""
    loop: Any = life.loop
    for handle in loop._scheduled:
        if not handle.cancelled():
            name = getattr(handle._callback, "__qualname__", repr(handle._callback))
            module = getattr(handle._callback, "__module__", "") or ""
            if not module.startswith(("cassandra.testing", "tests", "asyncio")):
                life.violate(f"a timer is left: {name}")


def check_deadlines(life: Life) -> None:
    """While nothing is under way, no request has a deadline."""
    for cluster in life.clients.clusters:
        core = cluster._core
        if core is not None and not core.closed and len(core.timers):
            life.violate(f"{len(core.timers)} deadlines are left")
