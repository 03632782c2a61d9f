"""Times query plans, replica look-ups and building the token ring, with the public API only.

    worker_plans.py HOSTS VNODES [ring]

`benchmarks.plans` runs this file in the environment of each driver. It prints one JSON object: the
nanoseconds of one query plan and of one look-up, or with a third argument the seconds to build a
token ring.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
import uuid
from collections import namedtuple
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import cassandra
import cassandra.metadata
import cassandra.policies
from cassandra.connection import DefaultEndPoint
from cassandra.cqltypes import Int32Type, UTF8Type
from cassandra.metadata import Metadata
from cassandra.policies import (
    DCAwareRoundRobinPolicy,
    RoundRobinPolicy,
    SimpleConvictionPolicy,
    TokenAwarePolicy,
)
from cassandra.pool import Host
from cassandra.query import PreparedStatement

Column = namedtuple("Column", "keyspace_name table_name name type")
PARTITIONER = "org.apache.cassandra.dht.Murmur3Partitioner"
STATEMENTS = 2000  # the number of statements whose plans a repeat computes
QUICK = bool(os.environ.get("TURBOCQL_BENCH_QUICK"))
REPEATS = 3 if QUICK else 15


def make_hosts(count: int, datacenters: int, racks: int) -> list[Host]:
    """Return hosts that are up, spread over data centres and racks."""
    hosts = []
    for number in range(count):
        host = Host(
            DefaultEndPoint(f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"),
            SimpleConvictionPolicy,
            host_id=uuid.UUID(int=number + 1),
        )
        host.set_location_info(f"dc{number % datacenters}", f"rack{number // datacenters % racks}")
        host.set_up()
        hosts.append(host)
    return hosts


def make_metadata(
    hosts: list[Host], vnodes: int, options: dict[str, str]
) -> tuple[Any, dict[Any, list[str]]]:
    """Return cluster metadata with one keyspace, and random tokens for each host.

    The token ring is not built yet.

    :param vnodes: the number of tokens of each host.
    :param options: the replication options of the keyspace.
    """
    rng = random.Random(1)
    metadata: Any = Metadata()
    for host in hosts:
        metadata.add_or_return_host(host)
    tokens = {
        host: [str(rng.randrange(-(1 << 63), 1 << 63)) for _ in range(vnodes)] for host in hosts
    }
    public: Any = cassandra.metadata
    if hasattr(metadata, "_replace_replication"):  # only turbocql has this method
        metadata._replace_replication(
            {"ks": public.ReplicationStrategy.create("NetworkTopologyStrategy", options)}
        )
    else:
        metadata.keyspaces["ks"] = public.KeyspaceMetadata(
            "ks", True, "NetworkTopologyStrategy", options
        )
    return metadata, tokens


def fastest_round(
    make_items: Callable[[], list[Any]], use_items: Callable[[list[Any]], None]
) -> float:
    """Return the nanoseconds that `use_items` takes for one item, in the fastest round.

    :param make_items: returns new items for a round. The time for this is not measured.
    :param use_items: called with these items. The time for this is measured.
    """
    best = float("inf")
    for _ in range(REPEATS):
        items = make_items()
        start = time.perf_counter()
        use_items(items)
        best = min(best, (time.perf_counter() - start) / len(items))
    return best * 1e9


def plans() -> dict[str, float]:
    """Return the nanoseconds of a query plan for each policy, and of `get_replicas`."""
    # A cluster of two data centres with three racks, which exists only in memory.
    hosts = make_hosts(count=24, datacenters=2, racks=3)
    metadata, tokens = make_metadata(hosts, vnodes=16, options={"dc0": "3", "dc1": "3"})
    metadata.rebuild_token_map(PARTITIONER, tokens)
    cluster = SimpleNamespace(
        metadata=metadata, endpoints_resolved=[], get_control_connection_host=lambda: hosts[0]
    )
    columns: Any = [Column("ks", "t", "id", Int32Type), Column("ks", "t", "v", UTF8Type)]
    prepared = PreparedStatement(
        columns, b"id", [0], "INSERT INTO ks.t (id, v) VALUES (?, ?)", "ks", 4, None, None
    )

    def statements() -> list[Any]:
        """Return new bound statements, whose routing keys are not computed yet."""
        return [prepared.bind((number, "value")) for number in range(STATEMENTS)]

    policies: dict[str, Any] = {
        "first host, RoundRobin": RoundRobinPolicy(),
        "first host, DCAware": DCAwareRoundRobinPolicy("dc0"),
        "first host and token, TokenAware(RoundRobin)": TokenAwarePolicy(RoundRobinPolicy()),
        "first host and token, TokenAware(DCAware)": TokenAwarePolicy(
            DCAwareRoundRobinPolicy("dc0")
        ),
    }
    adaptive = getattr(cassandra.policies, "AdaptivePolicy", None)
    if adaptive is not None:
        policies["first host and token, Adaptive(DCAware)"] = adaptive(
            DCAwareRoundRobinPolicy("dc0")
        )
    # Take only the first host of a plan, because most requests need no further host.
    figures = {}
    for name, policy in policies.items():
        policy.populate(cluster, hosts)

        def take_first_hosts(bound: list[Any], plan: Any = policy.make_query_plan) -> None:
            """Begin a query plan for each statement, and take its first host."""
            for statement in bound:
                next(iter(plan("ks", statement)))

        figures[name] = fastest_round(statements, take_first_hosts)

    make_query_plan = policies["first host and token, TokenAware(DCAware)"].make_query_plan

    def take_all_hosts(bound: list[Any]) -> None:
        for statement in bound:
            list(make_query_plan("ks", statement))

    def get_replicas(keys: list[Any]) -> None:
        for key in keys:
            metadata.get_replicas("ks", key)

    def new_keys() -> list[bytes]:
        return [number.to_bytes(16, "big") for number in range(STATEMENTS)]

    figures["whole plan, TokenAware(DCAware)"] = fastest_round(statements, take_all_hosts)
    figures["get_replicas(keyspace, key)"] = fastest_round(new_keys, get_replicas)
    return figures


def build(hosts: int, vnodes: int) -> float:
    """Build a token ring from strings, look up one key, and return the seconds for both."""
    replicas_of_datacenters = {"dc0": "3", "dc1": "3", "dc2": "3"}
    metadata, tokens = make_metadata(
        make_hosts(hosts, datacenters=3, racks=3), vnodes, replicas_of_datacenters
    )
    start = time.perf_counter()
    metadata.rebuild_token_map(PARTITIONER, tokens)
    # The keyspace has three replicas in each of three data centres. So there are nine replicas or,
    # in a smaller cluster, all hosts.
    assert len(metadata.get_replicas("ks", b"key")) == min(hosts, 9)
    return time.perf_counter() - start


if __name__ == "__main__":
    ring_hosts, ring_vnodes = map(int, sys.argv[1:3])
    result: dict[str, Any] = {"version": cassandra.__version__}
    if len(sys.argv) > 3:
        result["ring"] = build(ring_hosts, ring_vnodes)
    else:
        result["plans"] = plans()
    print(json.dumps(result))
