"""Test what ``python -m cassandra.doctor`` checks for ``--local-dc`` and ``--keyspace``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, Session
from cassandra.doctor import expectations
from cassandra.doctor.findings import NOTE, OK, PROBLEM, WARNING
from cassandra.policies import RoundRobinPolicy
from cassandra.testing.fake import FakeCluster
from tests.unit.metadata.schema.rows import keyspace as keyspace_row

_NETWORK_TOPOLOGY = "org.apache.cassandra.locator.NetworkTopologyStrategy"


def _keyspaces(nodes: FakeCluster, **factors: dict[str, int]) -> None:
    """Create keyspaces with the given number of replicas in each data centre."""
    for node in nodes.nodes:
        node.schema["system_schema.keyspaces"] = [
            keyspace_row(name)
            | {
                "replication": {
                    "class": _NETWORK_TOPOLOGY,
                    **{dc: str(factor) for dc, factor in factor_by_dc.items()},
                }
            }
            for name, factor_by_dc in factors.items()
        ]


@pytest.fixture
def nodes() -> Iterator[FakeCluster]:
    """Yield three fake nodes in two data centres, with the keyspaces shop and orders."""
    with FakeCluster({"east": 2, "west": 1}) as running:
        _keyspaces(running, shop={"east": 2}, orders={"east": 2, "west": 1})
        yield running


@pytest.fixture
def session(nodes: FakeCluster) -> Iterator[Session]:
    """Yield a session that is connected to all nodes."""
    profile = ExecutionProfile(RoundRobinPolicy())
    with Cluster(
        nodes.contact_points, port=nodes.port, execution_profiles={EXEC_PROFILE_DEFAULT: profile}
    ) as cluster:
        yield cluster.connect(wait_for_all_pools=True)


def test_a_data_centre_that_exists(session: Session) -> None:
    """For a data centre that exists, the finding says how many of its nodes are up."""
    (finding,) = expectations.local_datacenter(session, "east")
    assert (finding.level, finding.text) == (OK, "nodes that are up: 2 of 2")


def test_a_data_centre_that_does_not_exist_is_a_problem(session: Session) -> None:
    (finding,) = expectations.local_datacenter(session, "East")
    assert finding.level == PROBLEM
    assert finding.text == "no node is in 'East': the data centres are 'east', 'west'"
    assert finding.do.startswith("did you mean 'east'? names are case-sensitive")


def test_several_data_centres_without_the_option_are_a_note(session: Session) -> None:
    (finding,) = expectations.local_datacenter(session, None)
    assert finding.level == NOTE
    assert "'east', 'west'" in finding.text
    assert "--local-dc" in finding.text


def test_a_keyspace_that_exists(session: Session) -> None:
    """For a keyspace that exists, the finding lists its replicas by data centre.

    Without the name of a keyspace, there is no finding.
    """
    (finding,) = expectations.keyspace(session, "orders", "west")
    assert (finding.level, finding.text) == (OK, "exists, with replicas: 2 in east, 1 in west")
    assert not list(expectations.keyspace(session, None, "west"))


@pytest.mark.parametrize("name", ["shpo", "Shop"])
def test_a_keyspace_that_does_not_exist_is_a_problem(session: Session, name: str) -> None:
    (finding,) = expectations.keyspace(session, name, None)
    assert finding.level == PROBLEM
    assert finding.text == "does not exist: the keyspaces are 'orders', 'shop'"
    assert finding.do.startswith("did you mean 'shop'? ")


def test_a_keyspace_without_replicas_in_the_local_data_centre_is_a_problem(
    session: Session,
) -> None:
    """A keyspace without replicas in the local data centre is a problem with advice."""
    (finding,) = expectations.keyspace(session, "shop", "west")
    assert finding.level == PROBLEM
    assert "has no replicas in 'west', but 2 in east" in finding.text
    assert "ALTER KEYSPACE shop" in finding.do
    # A data centre that does not exist has its own finding, so it is not reported here.
    (finding,) = expectations.keyspace(session, "shop", "south")
    assert finding.level == OK


@pytest.mark.parametrize(
    ("factors", "text"),
    [
        ({"east": 0}, "has no replicas: each read and write of its rows fails"),
        ({}, "has no replicas: each read and write of its rows fails"),
        ({"East": 2, "east": 0}, "but the data centres are 'east', 'west'"),
    ],
)
@pytest.mark.parametrize("local_dc", [None, "east"])
def test_a_keyspace_without_any_replica_is_a_problem(
    nodes: FakeCluster, session: Session, factors: dict[str, int], text: str, local_dc: str | None
) -> None:
    _keyspaces(nodes, empty=factors)
    session.cluster.refresh_schema_metadata()
    (finding,) = expectations.keyspace(session, "empty", local_dc)
    assert finding.level == PROBLEM
    assert text in finding.text
    assert "ALTER KEYSPACE" in finding.do


def test_a_quorum_that_is_down_is_a_warning(nodes: FakeCluster, session: Session) -> None:
    """If a node is down that LOCAL_QUORUM needs in the data centre, there is a warning."""
    host = session.cluster.metadata.get_host(nodes[0].address)
    assert host is not None
    host.set_down()
    (existing, lost) = expectations.keyspace(session, "orders", "east")
    assert (existing.level, lost.level) == (OK, WARNING)
    # Two of two replicas are a quorum, so LOCAL_QUORUM fails for all ranges of the data centre.
    assert lost.text.startswith("LOCAL_QUORUM fails for 100 % of its ranges in east")
    (finding,) = expectations.keyspace(session, "orders", "west")
    assert finding.level == OK
    # Two of three replicas are a quorum in the whole cluster.
    (finding,) = expectations.keyspace(session, "orders", None)
    assert finding.level == OK


def test_a_data_centre_with_a_node_that_is_down_is_a_note(
    nodes: FakeCluster, session: Session
) -> None:
    host: Any = session.cluster.metadata.get_host(nodes[2].address)
    host.set_down()
    (finding,) = expectations.local_datacenter(session, "west")
    assert (finding.level, finding.text) == (NOTE, "nodes that are up: 0 of 1")
