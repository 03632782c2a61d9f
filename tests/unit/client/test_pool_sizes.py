"""The number of connections to each host, by its distance, before and after `connect`."""

from __future__ import annotations

import pytest

from cassandra.cluster import Cluster
from cassandra.policies import HostDistance
from cassandra.testing.fake import FakeNode

pytestmark = pytest.mark.simulated


def test_the_default_is_one_connection_and_sizes_have_limits() -> None:
    """By default, a pool has one connection, and its size never exceeds its maximum.

    The methods of cassandra-driver for pool sizes set and return these values.
    """
    cluster = Cluster()
    for distance in (HostDistance.LOCAL_RACK, HostDistance.LOCAL, HostDistance.REMOTE):
        assert cluster.get_core_connections_per_host(distance) == 1
    # These defaults are the same as in cassandra-driver.
    assert cluster.get_max_connections_per_host(HostDistance.LOCAL) == 8
    assert cluster.get_max_connections_per_host(HostDistance.REMOTE) == 2
    cluster.set_core_connections_per_host(HostDistance.LOCAL, 10)
    # The local rack has the sizes of the distance LOCAL. If the core size exceeds the maximum, the
    # maximum is raised.
    assert cluster.get_core_connections_per_host(HostDistance.LOCAL_RACK) == 10
    assert cluster.get_max_connections_per_host(HostDistance.LOCAL) == 10
    assert cluster.get_core_connections_per_host(HostDistance.REMOTE) == 1
    cluster.set_max_connections_per_host(HostDistance.LOCAL, 3)
    # If the new maximum is below the core size, the core size becomes the maximum.
    assert cluster.get_core_connections_per_host(HostDistance.LOCAL) == 3
    cluster.set_min_requests_per_connection(HostDistance.LOCAL, 7)
    cluster.set_max_requests_per_connection(HostDistance.LOCAL, 70)
    assert cluster.get_min_requests_per_connection(HostDistance.LOCAL) == 7
    assert cluster.get_max_requests_per_connection(HostDistance.LOCAL) == 70
    assert cluster.get_min_requests_per_connection(HostDistance.REMOTE) == 5
    assert cluster.get_max_requests_per_connection(HostDistance.REMOTE) == 100


def test_connections_per_host_may_be_a_number_or_a_mapping() -> None:
    assert Cluster(connections_per_host=3).get_core_connections_per_host(HostDistance.REMOTE) == 3
    cluster = Cluster(connections_per_host={HostDistance.LOCAL: 4})
    assert cluster.get_core_connections_per_host(HostDistance.LOCAL) == 4
    assert cluster.get_core_connections_per_host(HostDistance.REMOTE) == 1


@pytest.mark.parametrize(
    ("size", "error_class"),
    [(0, ValueError), (-1, ValueError), ("2", TypeError), (True, TypeError)],
)
def test_invalid_sizes_are_refused(size: object, error_class: type[Exception]) -> None:
    with pytest.raises(error_class, match="connections_per_host"):
        Cluster(connections_per_host=size)  # type: ignore[arg-type]
    with pytest.raises(error_class, match="core_connections"):
        Cluster().set_core_connections_per_host(HostDistance.LOCAL, size)  # type: ignore[arg-type]


def test_invalid_distances_are_refused() -> None:
    """The distance IGNORED is refused, because ignored hosts have no pools."""
    with pytest.raises(ValueError, match="-1"):
        Cluster().set_core_connections_per_host(HostDistance.IGNORED, 2)
    with pytest.raises(ValueError, match="-1"):
        Cluster().get_max_requests_per_connection(HostDistance.IGNORED)


def test_open_pools_grow_and_shrink() -> None:
    """A new size is applied to pools that are already open."""
    with (
        FakeNode() as node,
        Cluster([node.address], port=node.port, connections_per_host=2) as cluster,
    ):
        session = cluster.connect(wait_for_all_pools=True)
        # There are two connections of the pool, and the control connection.
        node.wait_for(lambda node: len(node.connections) == 3)
        cluster.set_core_connections_per_host(HostDistance.LOCAL, 5)
        node.wait_for(lambda node: len(node.connections) == 6)
        cluster.set_core_connections_per_host(HostDistance.LOCAL, 1)
        node.wait_for(lambda node: len(node.connections) == 2)
        assert session.execute("SELECT 1").all() == []
        (state,) = session.get_pool_state().values()
        assert state["open_count"] == 1
