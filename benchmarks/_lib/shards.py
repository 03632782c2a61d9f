"""Times how a host and a connection are chosen with ScyllaDB's shards, and measures tablet maps."""

from __future__ import annotations

import random
import time
import tracemalloc
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from benchmarks._lib.requirements import is_quick
from cassandra import _impl
from cassandra.cluster import Cluster
from cassandra.engine.request import Request
from cassandra.protocol.opcodes import RESULT
from cassandra.testing.fake import FakeCluster, Scylla
from cassandra.testing.fake.placement import Replica, Tablet, routing_payload

PASSES = 6 if is_quick() else 60  # the passes of a measurement, of which the fastest counts

_CUSTOM_PAYLOAD = 0x04  # flag of an envelope


def fastest_call(function: Callable[[], object], count: int = 4_000) -> float:
    """Return the CPU microseconds of one call, in the fastest pass."""
    fastest = float("inf")
    for _ in range(PASSES):
        started = time.thread_time()
        for _ in range(count):
            function()
        fastest = min(fastest, time.thread_time() - started)
    return fastest / count * 1e6


def choice(cluster: Any, session: Any) -> dict[str, float]:
    """Return the CPU microseconds to choose the host and the connection for one request, by case.

    The keyspace "vn" has virtual nodes, "tb" has tablets. Each keyspace is timed twice: with the
    shards of the nodes, and after the pools were changed as if the nodes had no shards.
    """
    engine = session._engine
    policy = cluster.profile_manager.default.load_balancing_policy
    figures = {}
    for keyspace in ("vn", "tb"):
        prepared = session.prepare(f"SELECT v FROM {keyspace}.t WHERE k = ?")
        # The responses to these requests inform the session about the tablets.
        for key in range(1000):
            session.execute(prepared, (key,))
        statement = prepared.bind((7,))
        pools = list(engine.pools.values())

        def choose_connection(statement: Any = statement) -> None:
            # This request is never sent, so it needs no body, and its callback is never called.
            request: Any = Request(engine, statement, cast(Any, None), print)
            host = next(iter(policy.make_query_plan(None, statement)))
            request.choose(host, engine.pools_by_id[id(host)])

        figures[f"{keyspace}, with shards"] = fastest_call(choose_connection)
        shard_tables = [pool.shards for pool in pools]
        connections = [pool.connections for pool in pools]
        for pool in pools:
            # The pool of a node without shards has one connection. Change this pool so that it
            # looks like one.
            pool.shards, pool.connections = None, pool.connections[:1]
        figures[f"{keyspace}, without"] = fastest_call(choose_connection)
        for pool, shard_table, pool_connections in zip(
            pools, shard_tables, connections, strict=True
        ):
            pool.shards, pool.connections = shard_table, pool_connections
    return figures


def response_processing(session: Any) -> tuple[float, float]:
    """Return the CPU microseconds to process a response.

    :returns: the time without a custom payload, and the time with the payload of a tablet.
    """
    engine = session._engine
    prepared = session.prepare("INSERT INTO tb.t (k, v) VALUES (?, 'x')")
    statement = prepared.bind((7,))
    void = b"\0\0\0\1"  # a RESULT of kind Void
    tablet = Tablet(
        first=-(1 << 62),
        last=1 << 62,
        replicas=(Replica(uuid.UUID(int=1), 3),) * 3,
        version=5,
    )
    ((name, value),) = routing_payload(tablet, 1).items()
    assert value is not None
    # The payload of a tablet, as a custom payload (a [bytes map] with one entry). The message
    # follows.
    payload = b"\0\1" + len(name).to_bytes(2, "big") + name.encode()
    payload += len(value).to_bytes(4, "big") + value + void
    connection = next(iter(engine.pools.values())).connections[0]
    # Stands in for the request's body. `decodes` is False, because no protocol handler of an
    # application decodes the response.
    body = type("Body", (), {"decodes": False})()

    def responder(flags: int, data: bytes) -> Callable[[], None]:
        """Return a function that creates a request and passes a response to it.

        :param flags: the flags of the response.
        :param data: the body of the response.
        """

        def answer_request() -> None:
            request: Any = Request(engine, statement, body, lambda finished_request: None)
            attempt = _impl.happy_path.Attempt(request, None, connection, 0.0)
            request.on_answer(attempt, connection, RESULT, flags, data)

        return answer_request

    without_payload = fastest_call(responder(0, void))
    with_payload = fastest_call(responder(_CUSTOM_PAYLOAD, payload))
    return without_payload, with_payload


def fill_tablet_map(count: int) -> tuple[float, float, float]:
    """Fill a tablet map with `count` tablets.

    :returns: the megabytes of the map, and the microseconds to look up and to add a tablet.
    """
    replicas = [Replica(uuid.UUID(int=number + 1), number) for number in range(3)]
    tablets = _impl.tablets.TabletMap(limit=2 * count)
    step = (1 << 64) // count
    first_token = -(1 << 63)
    # Divide the token range into `count` tablets, and encode each as servers send it.
    payloads = []
    for number in range(count):
        tablet = Tablet(
            first=first_token + number * step,
            last=first_token + (number + 1) * step,
            replicas=tuple(replicas),
            version=number,
        )
        payloads.append(routing_payload(tablet, 2)["tablets-routing-v2"])
    # Measure adding the tablets, and the memory that they take.
    memory_before = resident()
    started = time.thread_time()
    for payload in payloads:
        tablets.learn("ks", "t", payload)
    learn_time = (time.thread_time() - started) / count * 1e6
    size = resident() - memory_before
    # Measure looking up tablets by random tokens.
    tokens = [random.randrange(-(1 << 62), 1 << 62) for _ in range(20_000)]
    look_up_seconds = min(
        _timed(lambda: [tablets.version_of("ks", "t", token) for token in tokens])
        for _ in range(PASSES)
    )
    return size, look_up_seconds / len(tokens) * 1e6, learn_time


def _timed(function: Callable[[], object]) -> float:
    """Return the CPU seconds of one call."""
    started = time.thread_time()
    function()
    return time.thread_time() - started


def resident() -> float:
    """Return the resident memory of this process in megabytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return tracemalloc.get_traced_memory()[0] / 1e6


def measure_cluster() -> tuple[dict[str, float], float, float]:
    """Run `choice` and `response_processing` on three fake nodes of seven shards each.

    :returns: the figures of `choice`, then both figures of `response_processing`.
    """
    with FakeCluster(3, scylla=Scylla(7)) as nodes:
        for keyspace, tablets in (("vn", None), ("tb", 64)):
            nodes.scylla.keyspace(keyspace, replication_factor=3, tablets=tablets is not None)
            nodes.scylla.table(keyspace, "t", tablets=tablets)
        with Cluster(nodes.contact_points, port=nodes.port) as cluster:
            session = cluster.connect(wait_for_all_pools=True)
            # Wait until each shard has a connection.
            while any(
                stats["connected"] < stats["shards_count"]
                for stats in cluster.shard_aware_stats().values()
            ):
                time.sleep(0.01)
            return choice(cluster, session), *response_processing(session)
