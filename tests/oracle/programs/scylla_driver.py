"""Reads `count` rows of each keyspace twice with scylla-driver.

After the first time, the driver knows the tablets, and the program prints ``go`` and the keyspace.
After the second time, it prints ``done``. After each of these lines, it waits for a line from the
parent process.
"""

import sys
import time

from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile
from cassandra.policies import RoundRobinPolicy, TokenAwarePolicy

hosts, port, count = sys.argv[1].split(","), int(sys.argv[2]), int(sys.argv[3])
profile = ExecutionProfile(load_balancing_policy=TokenAwarePolicy(RoundRobinPolicy()))
cluster = Cluster(hosts, port=port, execution_profiles={EXEC_PROFILE_DEFAULT: profile})
session = cluster.connect()
deadline = time.monotonic() + 20
while time.monotonic() < deadline:
    stats = cluster.shard_aware_stats()
    if stats and all(host["shards_count"] == host["connected"] for host in stats.values()):
        break
    time.sleep(0.05)
assert cluster.is_shard_aware()
assert session.prepare("INSERT INTO vn.t (k, v) VALUES (?, ?) IF NOT EXISTS").is_lwt()
for keyspace in ("vn", "tb"):
    prepared = session.prepare(f"SELECT v FROM {keyspace}.t WHERE k = ?")
    for step in ("go", "done"):
        for key in range(count):
            session.execute(prepared, (key,))
        print(step, keyspace, flush=True)
        sys.stdin.readline()
cluster.shutdown()
