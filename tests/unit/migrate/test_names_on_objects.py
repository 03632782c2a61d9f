"""The check never reports attributes as missing that the driver's objects have."""

from __future__ import annotations

from cassandra.cluster import Cluster, ExecutionProfile
from cassandra.migrate import names
from cassandra.testing.fake import FakeNode


def test_each_attribute_in_dir_is_found() -> None:
    """`has_attribute` is never False for an attribute that `dir` lists for an object."""
    with FakeNode() as node, Cluster([node.address], port=node.port) as cluster:
        session = cluster.connect()
        future = session.execute_async("SELECT 1")
        result = future.result()
        prepared = session.prepare("SELECT 1")
        objects = [cluster, session, future, result, prepared, prepared.bind(()), cluster.metadata,
                   cluster.metadata.all_hosts()[0], ExecutionProfile()]  # fmt: skip
        for instance in objects:
            owner = f"{type(instance).__module__}.{type(instance).__qualname__}"
            missing = [name for name in dir(instance) if names.has_attribute(owner, name) is False]
            # Cython adds its own special names, so leave special names out.
            assert [name for name in missing if not name.startswith("__")] == [], owner
            # An object without attributes would pass the test.
            assert len(dir(instance)) > 20, owner
