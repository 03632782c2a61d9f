"""The example in docs/scylladb.rst with one worker per shard works."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import Any

from cassandra.cluster import Cluster
from cassandra.testing.fake import FakeCluster, Scylla
from tests.unit.engine.pools.test_shards_on_nodes import all_connected, check_arrivals
from tests.waiting import until

GUIDE = Path(__file__).parents[3] / "docs" / "scylladb.rst"


def example() -> str:
    """Return the code of the documentation's example that looks up replicas."""
    blocks = re.findall(r"code-block:: python\n\n((?:   .*\n|\n)+)", GUIDE.read_text("utf-8"))
    (block,) = [block for block in blocks if "get_replica_shards(" in block]
    return textwrap.dedent(block)


def test_each_row_of_the_example_goes_to_its_shard() -> None:
    """Each row of the example is sent to the host and the shard that own the row's key."""
    with FakeCluster(3, scylla=Scylla([7, 5, 8])) as nodes:
        nodes.scylla.keyspace("ks", replication_factor=2)
        nodes.scylla.table("ks", "t", {"k": "int", "v": "text"})
        with Cluster(nodes.contact_points, port=nodes.port) as cluster:
            session = cluster.connect(wait_for_all_pools=True)
            until(lambda: all_connected(cluster))
            namespace: dict[str, Any] = {"cluster": cluster, "session": session}
            exec(example(), namespace)
            # The example writes 100 rows.
            check_arrivals(nodes, 100)
            node_by_host_id = {node.host_id: node for node in nodes.scylla.nodes}
            for (host, shard), rows in namespace["work"].items():
                assert node_by_host_id[host.host_id].arrivals.by_shard[shard] == len(rows)
