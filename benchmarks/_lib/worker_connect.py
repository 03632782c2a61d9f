"""Times `Cluster.connect` in a new process, with the driver of its environment.

    worker_connect.py ADDRESS PORT

The script prints one JSON object: the milliseconds of wall time and of CPU (user + system, all
threads) of `connect` of a first and of a second cluster. The time of imports is not included. If
the driver is scylladb-rs-driver, which has no clusters, the script times two sessions of
`SessionBuilder`.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import sys
import time
from typing import Any


def connect_once(address: str, port: int) -> tuple[dict[str, float], Any]:
    """Connect a new cluster; return the milliseconds that `connect` took, and the cluster."""
    from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile
    from cassandra.policies import RoundRobinPolicy

    cluster = Cluster(
        [address], port=port, protocol_version=4,
        schema_metadata_enabled=False, token_metadata_enabled=False,
        execution_profiles={EXEC_PROFILE_DEFAULT: ExecutionProfile(RoundRobinPolicy())},
    )  # fmt: skip
    wall_start, cpu_start = time.perf_counter(), time.process_time()
    session = cluster.connect()
    cpu_seconds, wall_seconds = time.process_time() - cpu_start, time.perf_counter() - wall_start
    session.execute("SELECT one FROM five WHERE a = 1")
    return {"wall": wall_seconds * 1000, "cpu": cpu_seconds * 1000}, cluster


def connect_rust_once(address: str, port: int) -> dict[str, float]:
    """Connect a session of scylladb-rs-driver; return the milliseconds that this took."""
    from scylla.session_builder import SessionBuilder

    builder = SessionBuilder().contact_points([(address, port)]).fetch_schema_metadata(False)
    wall_start, cpu_start = time.perf_counter(), time.process_time()
    session = builder.connect().result()
    cpu_seconds, wall_seconds = time.process_time() - cpu_start, time.perf_counter() - wall_start
    session.execute("SELECT one FROM five WHERE a = 1").result()
    return {"wall": wall_seconds * 1000, "cpu": cpu_seconds * 1000}


def main() -> None:
    """Connect twice, and print the figures of both as JSON."""
    address, port = sys.argv[1], int(sys.argv[2])
    if importlib.util.find_spec("scylla") is not None:
        import scylla.session_builder  # noqa: F401

        first, second = connect_rust_once(address, port), connect_rust_once(address, port)
        print(json.dumps({"first": first, "second": second}))
        return
    import cassandra.cluster

    # The driver imports uvloop when it connects, if uvloop is installed. Import it here, so that
    # the time of this import is not measured.
    with contextlib.suppress(ImportError):
        import uvloop  # noqa: F401
    first, cluster = connect_once(address, port)
    cluster.shutdown()
    second, cluster = connect_once(address, port)
    cluster.shutdown()
    figures = {
        "first": first,
        "second": second,
        "modules": len([name for name in sys.modules if name.startswith("cassandra")]),
        "version": cassandra.__version__,
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
