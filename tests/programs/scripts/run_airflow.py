"""Airflow's Cassandra hook: connections with each load balancing policy, and polls of sensors."""

from __future__ import annotations

import json
import os
import sys
import tempfile

from common import HOST, KEYSPACE, PORT, make_cluster, new_keyspace

# Airflow writes its log to stdout. Redirect stdout to stderr, and keep the real stdout for the
# lines that the test compares.
_real_stdout = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
sys.stdout = sys.stderr

os.environ["AIRFLOW_HOME"] = tempfile.mkdtemp()
os.environ["AIRFLOW__CORE__LOAD_EXAMPLES"] = "False"
# The settings of Airflow's connections, by the name of the connection.
POLICIES = {
    "plain": {},
    "round_robin": {"load_balancing_policy": "RoundRobinPolicy", "protocol_version": 4},
    "dc_aware": {
        "load_balancing_policy": "DCAwareRoundRobinPolicy",
        "load_balancing_policy_args": {"local_dc": "dc1", "used_hosts_per_remote_dc": 1},
    },
    "white_list": {
        "load_balancing_policy": "WhiteListRoundRobinPolicy",
        "load_balancing_policy_args": {"hosts": [HOST]},
    },
    "token_aware": {
        "load_balancing_policy": "TokenAwarePolicy",
        "load_balancing_policy_args": {
            "child_load_balancing_policy": "DCAwareRoundRobinPolicy",
            "child_load_balancing_policy_args": {"local_dc": "dc1"},
        },
    },
}
for _name, _extra in POLICIES.items():
    os.environ[f"AIRFLOW_CONN_{_name.upper()}"] = json.dumps(
        {"conn_type": "cassandra", "host": HOST, "port": PORT, "schema": KEYSPACE, "extra": _extra}
    )

from airflow.providers.apache.cassandra.hooks.cassandra import CassandraHook  # noqa: E402


def print_to_stdout(*values: object) -> None:
    """Print a line that the test compares."""
    print(*values, file=_real_stdout)


def main() -> None:
    """For each policy, connect with Airflow's hook, and print what its checks of tables return."""
    with make_cluster() as cluster:
        new_keyspace(cluster.connect())
        session = cluster.connect(KEYSPACE)
        session.execute("CREATE TABLE t (id text, n text, PRIMARY KEY (id, n))")
        session.execute("INSERT INTO t (id, n) VALUES ('a', 'b')")
        for name in POLICIES:
            hook = CassandraHook(name)
            connected = hook.get_conn()
            print_to_stdout(
                name, type(connected).__name__, connected.keyspace, hook.get_conn() is connected
            )
            print_to_stdout(type(hook.get_cluster().load_balancing_policy).__name__)
            print_to_stdout(
                hook.table_exists("t"), hook.table_exists(f"{KEYSPACE}.t"), hook.table_exists("u")
            )
            print_to_stdout(hook.record_exists("t", {"id": "a", "n": "b"}),
                  hook.record_exists(f"{KEYSPACE}.t", {"id": "a", "n": "c"}),
                  hook.record_exists("u", {"id": "a"}))  # fmt: skip
            hook.shutdown_cluster()
            print_to_stdout(connected.is_shutdown, hook.get_cluster().is_shutdown)


main()
