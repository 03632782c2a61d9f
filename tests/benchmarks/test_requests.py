"""Test what `benchmarks.requests` compares, and what its null server answers to each driver.

The null server sends prepared answers, so that a benchmark measures only the driver.
"""

from __future__ import annotations

import struct

from benchmarks import batches, requests
from benchmarks._lib import apis, bars, null_server
from benchmarks._lib.report import Benchmark

CASE = "insert, 100 in flight"


def answer(request: int, body: bytes) -> null_server.Rule:
    """Return the rule that the null server uses for a request."""
    return next(
        rule for rule in null_server.canned_rules() if rule[0] == request and rule[1] in body
    )


def test_a_peer_is_compared_with_the_api_of_its_kind() -> None:
    us: dict[str, dict[str, float | None]] = {
        CASE: {
            "aio": 2.0,
            "blocking": 3.0,
            "acsylla": 6.0,
            "cassandra-driver": 60.0,
            "scylladb-rs-driver": 5.0,
            "scylladb-rs-driver, blocking": 4.5,
        }
    }
    # The best blocking peer needs 4.5 (and our API 3), and the best asyncio peer 5 (and ours 2).
    assert requests.ratios_of(us, ["aio", "blocking"]) == {
        "peer / blocking": {CASE: 1.5},
        "peer / aio": {CASE: 2.5},
    }


def test_each_case_in_which_a_peer_comes_close_misses_the_target() -> None:
    bench = Benchmark("", "", duration_text="", quick_duration_text="")
    requests.judge_lead(bench, {"peer / aio": {CASE: 1.29, "page": 1.3, "batch": None}})
    assert bench.targets == [
        (f"peer / aio: {CASE}: 1.29, at least 1.3", False),
        ("peer / aio: page: 1.30, at least 1.3", True),
    ]


def test_the_picture_knows_every_peer() -> None:
    assert requests.PEERS.keys() <= bars.DRIVERS.keys()


def test_each_api_has_a_worker_that_knows_it() -> None:
    names = [api for _, api in requests.PEERS.values()]
    names += [api for labels in batches.APIS.values() for api in labels]
    for api in names:
        assert f'"{api}"' in apis.worker_of(api).read_text()


def test_a_driver_that_prepares_queries_of_system_tables_gets_their_columns() -> None:
    queries = [
        "SELECT host_id, rpc_address, data_center, rack, tokens FROM system.peers",
        "SELECT host_id, rpc_address, data_center, rack, tokens, cluster_name FROM system.local "
        "WHERE key='local'",
        "SELECT keyspace_name, replication, durable_writes FROM system_schema.keyspaces",
    ]
    for query in queries:
        _, _, opcode, body = answer(null_server.PREPARE, query.encode())
        kind, id_size = struct.unpack_from(">iH", body)
        assert (opcode, kind) == (null_server.RESULT, null_server.PREPARED_KIND)
        # The id follows the kind, an [int], and its own size, a [short].
        _, _, opcode, page = answer(null_server.EXECUTE, body[6 : 6 + id_size])
        kind, _, column_count = struct.unpack_from(">iii", page)
        assert (opcode, kind) == (null_server.RESULT, null_server.ROWS_KIND)
        names = query.removeprefix("SELECT ").partition(" FROM ")[0].split(", ")
        assert column_count == len(names)
        # Each name must follow the one before it, in the order of the query.
        positions = [page.index(null_server.string(name)) for name in names]
        assert positions == sorted(positions)


def test_a_server_without_tablets_has_no_table_of_them() -> None:
    query = b"SELECT keyspace_name, initial_tablets FROM system_schema.scylla_keyspaces"
    _, _, opcode, body = answer(null_server.PREPARE, query)
    assert opcode == null_server.ERROR
    assert struct.unpack_from(">i", body) == (null_server.INVALID,)
