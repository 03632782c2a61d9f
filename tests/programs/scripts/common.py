"""What all scripts share: the address of the node, a cluster, and an empty keyspace."""

from __future__ import annotations

import sys

from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, Session
from cassandra.policies import RoundRobinPolicy

HOST, PORT, KEYSPACE = sys.argv[1], int(sys.argv[2]), sys.argv[3]


def make_cluster() -> Cluster:
    """Return a cluster object for the test's node."""
    profile = ExecutionProfile(load_balancing_policy=RoundRobinPolicy(), request_timeout=30)
    return Cluster(
        [HOST],
        port=PORT,
        execution_profiles={EXEC_PROFILE_DEFAULT: profile},
    )


def new_keyspace(session: Session) -> None:
    """Create an empty keyspace for this script; drop an existing keyspace first."""
    session.execute(f"DROP KEYSPACE IF EXISTS {KEYSPACE}")
    session.execute(
        f"CREATE KEYSPACE {KEYSPACE} "
        "WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}"
    )
