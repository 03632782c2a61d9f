"""If some contact points cannot be used, `connect` tries the other contact points.

The error has the cause for each contact point.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import pytest

from cassandra import aio
from cassandra.client.contact_points import checked_contact_points, endpoint_of, resolved
from cassandra.cluster import Cluster
from cassandra.engine.hosts.topology import LOCAL_QUERY
from cassandra.errors import NoHostAvailable, UnresolvableContactPoints
from cassandra.metadata.endpoint import DefaultEndPoint
from cassandra.testing.fake import FakeCluster, FakeNode, garbage, rows
from tests.unit.engine.faults import call_in_thread, exception_of

# Host names that cannot be resolved.
BAD_NAMES = [
    "db..example.com",
    "a" * 64 + ".example.com",
    "\x00",
    "x\x00y",
    "\udcff",
    "-",
    ".",
    "%",
]
# Responses to the query of system.local from which no node can be read.
BAD_TABLES: dict[str, Any] = {
    "no columns": rows([], [()]),
    "no rows": rows([("host_id", "uuid")], []),
    "a number as address": rows(
        [("rpc_address", "int"), ("host_id", "int"), ("tokens", "int")], [(1, 2, 3)]
    ),
    "garbage": garbage(),
}


@pytest.fixture
def good() -> Iterator[FakeNode]:
    """Yield a fake node that can be connected to."""
    with FakeNode() as node:
        yield node


@pytest.fixture(autouse=True)
def do_not_shuffle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the driver try the contact points in the given order."""
    monkeypatch.setattr("random.shuffle", lambda items: None)


@pytest.mark.parametrize("name", BAD_NAMES)
async def test_an_invalid_host_name_is_skipped(name: str, good: FakeNode) -> None:
    """If the name of a contact point cannot be resolved, `connect` uses another contact point.

    If there is no other contact point, the error contains the name.
    """
    async with aio.Cluster([name, good.address], port=good.port, connect_timeout=2) as cluster:
        await cluster.connect()
    async with aio.Cluster([name], port=good.port, connect_timeout=2) as cluster:
        failure = await exception_of(cluster.connect())
        assert isinstance(failure, NoHostAvailable)
        assert list(failure.errors) == [f"{name}:{good.port}"]
    with Cluster([name, good.address], port=good.port, connect_timeout=2) as blocking_cluster:
        await call_in_thread(blocking_cluster.connect)


@pytest.mark.parametrize("damage", BAD_TABLES)
async def test_a_node_with_a_damaged_system_table_is_skipped(damage: str) -> None:
    """If `system.local` of a contact point cannot be read, `connect` uses another contact point.

    If there is no other contact point, the error contains the node's address.
    """
    with FakeCluster(2) as nodes:
        good, bad = nodes.nodes
        bad.prime(LOCAL_QUERY, BAD_TABLES[damage])
        async with aio.Cluster(
            [bad.address, good.address], port=nodes.port, connect_timeout=2
        ) as cluster:
            await cluster.connect()
            assert cluster.get_control_connection_host().address == good.address
        async with aio.Cluster([bad.address], port=nodes.port, connect_timeout=2) as cluster:
            failure = await exception_of(cluster.connect())
            assert isinstance(failure, NoHostAvailable), failure
            assert list(failure.errors) == [f"{bad.address}:{bad.port}"]


@pytest.mark.parametrize("cluster_class", [Cluster, aio.Cluster])
@pytest.mark.parametrize(
    ("point", "message"),
    [
        ("", "must not be empty"),
        (" ", "must not be empty"),
        ("10.0.0.1:9042", "without its port"),
        ("[::1]", "without its port"),
        ("10.0.0.1,10.0.0.2", "one address"),
        ("http://ada:secret@10.0.0.1", r"not a URL, but one is 'http://\*\*\*@10\.0\.0\.1'"),
    ],
)
def test_a_malformed_string_is_both_errors(cluster_class: Any, point: str, message: str) -> None:
    """The error for a malformed contact point is a ValueError and an UnresolvableContactPoints.

    In cassandra-driver, such a string raises UnresolvableContactPoints, because that driver tries
    to resolve it.
    """
    with pytest.raises(UnresolvableContactPoints, match=message) as caught:
        cluster_class([point])
    error = caught.value
    assert isinstance(error, ValueError)
    assert "secret" not in f"{error} {error.contact_points}"
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy)) == (type(error), str(error))
    assert copy.contact_points == error.contact_points


@pytest.mark.parametrize("cluster_class", [Cluster, aio.Cluster])
def test_nodes_of_tests_in_the_place_of_their_addresses(cluster_class: Any) -> None:
    """If a fake node or a number is passed as contact points, the error says what to pass."""
    with pytest.raises(TypeError, match=r"type FakeNode: write Cluster\(nodes\.contact_points"):
        cluster_class(FakeNode())
    with pytest.raises(TypeError, match=r"a list of addresses, but is an object of type int$"):
        cluster_class(5)


class Points:
    """A sequence without `__iter__`, which Python can still iterate over."""

    def __getitem__(self, index: int) -> str:
        return ["127.0.0.1"][index]


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("0:0:0:0:0:0:0:1", "::1"),
        ("FE80::0001%eth0", "fe80::1%eth0"),
        ("::1", "::1"),
        ("127.0.0.1", "127.0.0.1"),
        ("a name\0", "a name\0"),
    ],
)
def test_an_ipv6_address_has_its_usual_form(text: str, address: str) -> None:
    """Programs compare `Host.address` with the addresses that servers send."""
    for point in (text, (text, 9042)):
        assert endpoint_of(point, 9042) == DefaultEndPoint(address, 9042)


def test_a_sequence_without_iter_may_have_the_addresses() -> None:
    points: Any = Points()
    assert checked_contact_points(points) == ["127.0.0.1"]


@pytest.mark.parametrize(
    ("points", "advice"),
    [
        ({"10.0.0.1": 9043}, r"write \[\('10\.0\.0\.1', 9043\)\] for an address and its port$"),
        ({"10.0.0.1": {"dc": "dc1"}}, r"write \['10\.0\.0\.1'\]$"),
    ],
)
def test_a_mapping_of_addresses_warns_that_its_values_are_not_used(
    points: Any, advice: str
) -> None:
    """If contact points are a mapping, only its keys are used, and its values cause a warning.

    A port as the value has no effect: the driver uses the setting `port`.
    """
    with pytest.warns(RuntimeWarning, match=f"only its keys are used: {advice}"):
        assert checked_contact_points(points) == ["10.0.0.1"]
    # If all values are None, as in a dict that serves as an ordered set, there is no warning.
    assert checked_contact_points(dict.fromkeys(points)) == ["10.0.0.1"]


def test_a_link_local_address_of_a_name_keeps_its_scope(monkeypatch: pytest.MonkeyPatch) -> None:
    addresses = [(0, 0, 0, "", ("fe80::5", 9042, 0, 2))]
    monkeypatch.setattr("socket.getaddrinfo", lambda *args: addresses)
    assert resolved([DefaultEndPoint("node.example")]) == [DefaultEndPoint("fe80::5%2")]
