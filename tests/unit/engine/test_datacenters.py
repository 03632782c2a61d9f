"""The driver warns of data centres that a load-balancing policy names but that have no node."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest

from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile
from cassandra.engine.datacenters import local_datacenters, warn_of_unknown_datacenters
from cassandra.policies import (
    DCAwareRoundRobinPolicy,
    LoadBalancingPolicy,
    RackAwareRoundRobinPolicy,
    RoundRobinPolicy,
    TokenAwarePolicy,
)
from cassandra.testing.fake import FakeCluster
from tests.unit.engine.partners import new_host


def host_in(datacenter: str | None) -> Any:
    """Return a host in a data centre. None means that the data centre is not known."""
    host = new_host("10.0.0.1")
    host.set_location_info(datacenter, "r1")
    return host


def warnings_of(policy: LoadBalancingPolicy, caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return the warnings about a policy, for a cluster with nodes in "west" and "east"."""
    warn_of_unknown_datacenters(policy, [host_in("west"), host_in("east"), host_in(None)])
    return [record.getMessage() for record in caplog.records]


def test_an_unknown_preferred_datacenter_is_logged_with_the_existing_ones(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A warning names each data centre in `preferred_remote_dcs` that has no node.

    Here, this is "nosuchdc", but not "west". The name is probably misspelt.
    """
    policy = TokenAwarePolicy(
        DCAwareRoundRobinPolicy(
            "east", used_hosts_per_remote_dc=1, preferred_remote_dcs=["west", "nosuchdc"]
        )
    )
    assert warnings_of(policy, caplog) == [
        "no node is in the data centre 'nosuchdc', which preferred_remote_dcs of "
        "DCAwareRoundRobinPolicy names: the nodes are in 'east', 'west'"
    ]


def test_an_unknown_local_datacenter_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """A warning names `local_dc` if this data centre has no node.

    If hosts of other data centres are used, requests succeed, so no error would show the mistake.
    """
    policy = RackAwareRoundRobinPolicy("est", "r1", used_hosts_per_remote_dc=1)
    assert warnings_of(policy, caplog) == [
        "no node is in the data centre 'est', which local_dc of RackAwareRoundRobinPolicy names: "
        "the nodes are in 'east', 'west'"
    ]


@pytest.mark.parametrize(
    "policy",
    [
        DCAwareRoundRobinPolicy("east", used_hosts_per_remote_dc=1, preferred_remote_dcs=["west"]),
        DCAwareRoundRobinPolicy(),
        TokenAwarePolicy(RoundRobinPolicy()),
    ],
    ids=["existing data centres", "no name", "a policy without data centres"],
)
def test_existing_datacenters_are_not_logged(
    policy: LoadBalancingPolicy, caplog: pytest.LogCaptureFixture
) -> None:
    assert warnings_of(policy, caplog) == []


def test_nothing_is_logged_while_no_datacenter_is_known(caplog: pytest.LogCaptureFixture) -> None:
    warn_of_unknown_datacenters(DCAwareRoundRobinPolicy("east"), [host_in(None)])
    assert not caplog.records


@pytest.mark.parametrize(
    "policy",
    [mock.Mock(), SimpleNamespace(local_dc=3, preferred_remote_dcs=7), object()],
    ids=["mock", "numbers", "no attributes"],
)
def test_other_objects_in_place_of_policies_name_no_datacenter(
    policy: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """Mocks and objects with attributes of wrong types cause neither an error nor a warning."""
    assert warnings_of(policy, caplog) == []


def test_local_datacenters_are_those_of_inner_policies_too() -> None:
    assert local_datacenters(TokenAwarePolicy(DCAwareRoundRobinPolicy("east"))) == {"east"}
    assert local_datacenters(DCAwareRoundRobinPolicy()) == set()


def test_connect_logs_an_unknown_datacenter_once(caplog: pytest.LogCaptureFixture) -> None:
    """The warning is logged by a cluster's first `connect`, and not repeated by the second."""
    policy = TokenAwarePolicy(
        DCAwareRoundRobinPolicy(
            "east", used_hosts_per_remote_dc=1, preferred_remote_dcs=["nosuchdc"]
        )
    )
    profiles = {EXEC_PROFILE_DEFAULT: ExecutionProfile(policy)}
    with (
        FakeCluster({"east": 1, "west": 1}) as nodes,
        Cluster(nodes.contact_points, port=nodes.port, execution_profiles=profiles) as cluster,
    ):
        cluster.connect()
        cluster.connect()
    # Exactly one log record names the unknown data centre.
    (record,) = (record for record in caplog.records if "'nosuchdc'" in record.getMessage())
    assert record.name == "cassandra.cluster"
    assert record.levelname == "WARNING"
    assert record.getMessage().endswith("the nodes are in 'east', 'west'")
