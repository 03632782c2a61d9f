"""Hosts are found by end point, by the connected address, and by the address that
nodes advertise.
"""

from __future__ import annotations

import uuid

from cassandra.engine.endpoint import DefaultEndPoint, SniEndPoint
from cassandra.metadata.cluster_metadata import Metadata
from cassandra.metadata.host import Host


def metadata_of(*hosts: Host) -> Metadata:
    metadata = Metadata()
    metadata._replace_hosts(list(hosts))
    return metadata


def with_broadcast_address(host: Host, address: str, port: int | None) -> Host:
    """Return the host with the address and port that its node advertises."""
    host.broadcast_rpc_address, host.broadcast_rpc_port = address, port
    return host


def test_hosts_are_found_by_end_point_and_by_address() -> None:
    host = Host(DefaultEndPoint("10.0.0.1", 9042), host_id=uuid.UUID(int=1))
    metadata = metadata_of(host)
    assert metadata.get_host(DefaultEndPoint("10.0.0.1", 9042)) is host
    assert metadata.get_host("10.0.0.1") is host
    assert metadata.get_host("10.0.0.1", 9042) is host
    assert metadata.get_host("10.0.0.1", 9043) is None
    assert metadata.get_host("10.0.0.2") is None
    assert metadata.get_host_by_host_id(uuid.UUID(int=1)) is host


def test_nodes_behind_one_translated_address_are_found_by_advertised_port() -> None:
    first = with_broadcast_address(Host(DefaultEndPoint("gateway", 19001)), "10.0.0.1", 9042)
    second = with_broadcast_address(Host(DefaultEndPoint("gateway", 19002)), "10.0.0.1", 9043)
    metadata = metadata_of(first, second)
    assert metadata.get_host("10.0.0.1", 9042) is first
    assert metadata.get_host("10.0.0.1", 9043) is second
    # The address and port to connect to find the host too.
    assert metadata.get_host("gateway", 19002) is second
    assert metadata.get_host("10.0.0.1", 9044) is None


def test_nodes_behind_a_proxy_are_found_by_their_advertised_address() -> None:
    hosts = [
        with_broadcast_address(Host(SniEndPoint("proxy", str(n), 29042)), f"10.0.0.{n}", 9042)
        for n in (1, 2)
    ]
    assert metadata_of(*hosts).get_host("10.0.0.2", 9042) is hosts[1]


def test_a_node_that_advertises_no_port_is_found_by_its_end_point_s_port() -> None:
    host = with_broadcast_address(Host(DefaultEndPoint("10.1.0.1", 9042)), "10.0.0.1", None)
    assert metadata_of(host).get_host("10.0.0.1", 9042) is host
