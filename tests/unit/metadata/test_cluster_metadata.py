"""Test `Metadata`: how it finds hosts and replicas.

A host is found by its end point, its connected address, or the address that the node advertises.
Replicas are computed again when the placement changes.
"""

from __future__ import annotations

import uuid
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra.engine.endpoint import DefaultEndPoint, SniEndPoint
from cassandra.metadata.cluster_metadata import Metadata
from cassandra.metadata.host import Host
from cassandra.metadata.placement.replication import ReplicationStrategy
from cassandra.metadata.placement.tokens import Murmur3Token

MURMUR3 = "org.apache.cassandra.dht.Murmur3Partitioner"


def metadata_of(*hosts: Host) -> Metadata:
    """Return metadata with these hosts."""
    metadata = Metadata()
    metadata._replace_hosts(list(hosts))
    return metadata


def with_broadcast_address(host: Host, address: str, port: int | None) -> Host:
    """Set the address and port that a host advertises, and return the host."""
    host.broadcast_rpc_address, host.broadcast_rpc_port = address, port
    return host


def test_hosts_are_found_by_end_point_and_by_address() -> None:
    """`get_host` finds a host by its end point, or by its address and port."""
    host = Host(DefaultEndPoint("10.0.0.1", 9042), host_id=uuid.UUID(int=1))
    metadata = metadata_of(host)
    assert metadata.get_host(DefaultEndPoint("10.0.0.1", 9042)) is host
    assert metadata.get_host("10.0.0.1") is host
    assert metadata.get_host("10.0.0.1", 9042) is host
    assert metadata.get_host("10.0.0.1", 9043) is None
    assert metadata.get_host("10.0.0.2") is None
    assert metadata.get_host_by_host_id(uuid.UUID(int=1)) is host


def test_hosts_are_found_by_any_form_of_an_ipv6_address() -> None:
    host = Host(DefaultEndPoint("2001:db8::1", 9042), host_id=uuid.UUID(int=1))
    assert metadata_of(host).get_host("2001:DB8:0:0:0:0:0:1") is host
    host.broadcast_rpc_address = "fd00::2"
    assert metadata_of(host).get_host("fd00:0::2", 9042) is host


def test_nodes_behind_one_translated_address_are_found_by_advertised_port() -> None:
    """Nodes with the same translated address are found by the ports that they advertise."""
    first = with_broadcast_address(Host(DefaultEndPoint("gateway", 19001)), "10.0.0.1", 9042)
    second = with_broadcast_address(Host(DefaultEndPoint("gateway", 19002)), "10.0.0.1", 9043)
    metadata = metadata_of(first, second)
    assert metadata.get_host("10.0.0.1", 9042) is first
    assert metadata.get_host("10.0.0.1", 9043) is second
    # A host is also found by the address and port to which the driver connects.
    assert metadata.get_host("gateway", 19002) is second
    assert metadata.get_host("10.0.0.1", 9044) is None


def test_nodes_behind_a_proxy_are_found_by_their_advertised_address() -> None:
    """Nodes behind a proxy are found by the addresses that they advertise."""
    hosts = [
        with_broadcast_address(Host(SniEndPoint("proxy", str(n), 29042)), f"10.0.0.{n}", 9042)
        for n in (1, 2)
    ]
    assert metadata_of(*hosts).get_host("10.0.0.2", 9042) is hosts[1]


def test_a_node_that_advertises_no_port_is_found_by_its_end_point_s_port() -> None:
    """A node that advertises no port is found by its advertised address and end point's port."""
    host = with_broadcast_address(Host(DefaultEndPoint("10.1.0.1", 9042)), "10.0.0.1", None)
    assert metadata_of(host).get_host("10.0.0.1", 9042) is host


# -- hosts -----------------------------------------------------------------------------------------


def owner(number: int, *tokens: int) -> Host:
    """Return a host that owns these tokens."""
    host = Host(DefaultEndPoint(f"10.0.0.{number}"), host_id=uuid.UUID(int=number))
    host.set_location_info("dc", "rack")
    host.tokens = tuple(map(str, tokens))
    return host


def test_a_host_is_added_once() -> None:
    """`add_or_return_host` returns the existing host if an equal host was added before."""
    first = Host(DefaultEndPoint("10.0.0.1"))
    metadata = Metadata()
    assert metadata.add_or_return_host(first) == (first, True)
    same_host = Host(DefaultEndPoint("10.0.0.1"))
    existing, is_new = metadata.add_or_return_host(same_host)
    assert existing is first
    assert not is_new
    other = Host(DefaultEndPoint("10.0.0.2"))
    metadata.add_or_return_host(other)
    assert metadata.all_hosts() == [first, other]
    assert metadata.get_host_by_host_id(uuid.UUID(int=9)) is None
    assert metadata.get_host(DefaultEndPoint("10.0.0.9")) is None


def test_the_repr_counts_hosts_and_keyspaces() -> None:
    """The repr has the name of the cluster, and the numbers of hosts and keyspaces."""
    metadata = Metadata()
    assert metadata.dbaas is False
    assert repr(metadata) == "<Metadata: cluster None, 0 hosts, 0 keyspaces>"
    metadata.add_or_return_host(owner(1))
    metadata.cluster_name = "shop"
    assert repr(metadata) == "<Metadata: cluster 'shop', 1 host, 0 keyspaces>"


# -- replicas --------------------------------------------------------------------------------------


def two_host_metadata(replication_factor: int = 1) -> Metadata:
    """Return metadata of two hosts and a keyspace "ks" with SimpleStrategy.

    Host 1 has the token -100, and host 2 has the token 100.
    """
    metadata = Metadata()
    metadata.partitioner = MURMUR3
    metadata._replace_hosts([owner(1, -100), owner(2, 100)])
    metadata._replace_replication({"ks": simple(replication_factor)})
    return metadata


def simple(factor: int) -> ReplicationStrategy:
    """Return SimpleStrategy with this replication factor."""
    strategy = ReplicationStrategy.create("SimpleStrategy", {"replication_factor": str(factor)})
    assert strategy is not None
    return strategy


def numbers(hosts: Any) -> list[int]:
    """Return the number of each host, which is the number in the host's id."""
    return [host.host_id.int for host in hosts]


def test_replicas_follow_the_ring_and_the_replication() -> None:
    """A key's replicas begin with the owner of its token, as many as the replication says."""
    metadata = two_host_metadata(2)
    key = b"some key"
    token = Murmur3Token.from_key(key)
    replicas = numbers(metadata.get_replicas("ks", key))
    assert sorted(replicas) == [1, 2]
    owner_of_token = 2 if -100 < token.value <= 100 else 1
    assert replicas[0] == owner_of_token
    # A key may also be given by its token, or by the number of its token. Without tablets, the
    # shard of a replica is unknown.
    for key_or_token in (key, token, token.value):
        shards = metadata.get_replica_shards("ks", key_or_token)
        assert numbers(shard.host for shard in shards) == replicas
        assert [shard.shard for shard in shards] == [None, None]
    in_buffer: Any = bytearray(key)
    assert metadata.get_replicas("ks", in_buffer) == metadata.get_replicas("ks", key)
    assert metadata.get_replicas("unknown", key) == []
    assert metadata.get_replica_shards("unknown", key) == []


@pytest.mark.parametrize(("token", "number"), [(-100, 1), (-99, 2), (100, 2), (101, 1)])
def test_a_token_belongs_to_the_next_owner(token: int, number: int) -> None:
    """A token belongs to the owner of the next token on the ring."""
    (replica,) = two_host_metadata().get_replica_shards("ks", token)
    assert numbers([replica.host]) == [number]


def test_the_shard_of_a_replica_is_that_of_the_token() -> None:
    """The shard of a replica is computed from the token by the host's sharding information."""
    metadata = two_host_metadata()
    (replica,) = metadata.get_replica_shards("ks", 100)
    sharding: Any = SimpleNamespace(shard_id_from_token=lambda token: token.value // 50)
    replica.host.sharding_info = sharding
    (replica,) = metadata.get_replica_shards("ks", 100)
    assert replica.shard == 2


@pytest.mark.parametrize("key", ["text", 5, None])
def test_a_key_that_is_not_serialized_is_refused(key: Any) -> None:
    """A key that is not serialized raises a TypeError that says how to serialize a key."""
    with pytest.raises(TypeError, match=r"write prepared\.bind\(values\)\.routing_key"):
        two_host_metadata().get_replicas("ks", key)


def test_without_tokens_replicas_are_unknown() -> None:
    """With `token_metadata_enabled = False`, keys have no replicas."""
    metadata = Metadata()
    metadata.token_metadata_enabled = False
    metadata.partitioner = MURMUR3
    metadata._replace_hosts([owner(1, 0)])
    metadata._replace_replication({"ks": simple(1)})
    assert metadata.routing() is None
    assert metadata.get_replicas("ks", b"key") == []
    assert metadata.get_replica_shards("ks", b"key") == []
    assert metadata.token_map is not None
    assert not metadata.token_map.ring


@pytest.mark.parametrize("partitioner", [None, "org.example.OwnPartitioner"])
def test_an_unknown_partitioner_has_no_tokens(partitioner: str | None) -> None:
    """With an unknown partitioner, there is no token map."""
    metadata = Metadata()
    metadata.partitioner = partitioner
    metadata._replace_hosts([owner(1, 0)])
    assert not metadata.can_support_partitioner()
    assert metadata.token_map is None
    assert metadata.routing() is None
    assert two_host_metadata().can_support_partitioner()


def test_tablets_have_their_own_replicas(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a keyspace with tablets, the tablet determines the replicas and shards of a key.

    A replica on a host that was removed is left out.
    """
    metadata = two_host_metadata()
    first, second = metadata.all_hosts()
    id_of_removed_host = uuid.UUID(int=9)
    tablet = (-100, 100, [(second.host_id, 3), (id_of_removed_host, 0), (first.host_id, 1)])
    calls: list[Any] = []

    def find(keyspace: str, table: str, token: int) -> Any:
        calls.append((keyspace, table, token))
        return tablet if table == "t" else None

    # Only the table "t" has a known tablet.
    fake_tablets: Any = SimpleNamespace(
        has_keyspace=lambda name: name == "ks",
        find=find,
        replicas=lambda keyspace, table, key: [second] if table == "t" else None,
    )
    metadata.tablets = fake_tablets
    assert metadata.get_replica_shards("ks", 7, "t") == [(second, 3), (first, 1)]
    assert metadata.get_replica_shards("ks", 7) == []
    assert calls == [("ks", "t", 7), ("ks", "", 7)]
    assert metadata.get_replicas("ks", b"key", table="t") == [second]
    assert metadata.get_replicas("ks", b"key") == []


# -- changes of the placement ----------------------------------------------------------------------


def test_the_placement_is_computed_again_only_after_a_change() -> None:
    """The placement is computed again only if hosts, tokens or replication change."""
    metadata = two_host_metadata()
    routing, version = metadata.routing(), metadata.placement_version
    token_map = metadata.token_map
    # The same hosts and the same replication are read again.
    metadata._replace_hosts(metadata.all_hosts())
    metadata._replace_replication({"ks": simple(1)})
    assert metadata.placement_version == version
    assert metadata.routing() is routing
    assert metadata.token_map is token_map
    metadata._replace_hosts([owner(1, -100), owner(2, 200)])
    assert metadata.placement_version == version + 1
    assert metadata.routing() is not routing
    assert metadata.token_map is not token_map
    (replica,) = metadata.get_replica_shards("ks", 150)
    assert numbers([replica.host]) == [2]


def test_another_replication_changes_the_replicas() -> None:
    """If the replication of a keyspace changes, its replicas change."""
    metadata = two_host_metadata()
    placement_version = metadata.placement_version
    replication_version = metadata.replication_version
    metadata._replace_replication({"ks": simple(2)})
    assert metadata.placement_version == placement_version + 1
    assert metadata.replication_version == replication_version + 1
    assert len(metadata.get_replica_shards("ks", 0)) == 2
    assert metadata.replication_of("ks") == simple(2)
    assert dict(metadata.replication) == {"ks": simple(2)}
    assert metadata.replication_of("unknown") is None


def test_a_forgotten_placement_is_computed_for_the_same_nodes() -> None:
    """After `_forget_placement`, the placement is computed even if the hosts are the same."""
    metadata = two_host_metadata()
    version = metadata.placement_version
    metadata._forget_placement()
    metadata._replace_hosts(metadata.all_hosts())
    assert metadata.placement_version == version + 1


def test_a_function_for_replicas_changes_the_placement() -> None:
    """An assignment to `table_replicas` counts as a change of the placement."""
    metadata = two_host_metadata()
    version = metadata.placement_version
    metadata.table_replicas = lambda keyspace, table, key: None
    assert metadata.placement_version == version + 1
    assert metadata.table_replicas is not None


def test_keyspaces_with_tablets_change_the_placement_once() -> None:
    """The placement changes only once if the same keyspaces with tablets are read twice."""
    metadata = two_host_metadata()
    version = metadata.placement_version
    for _ in range(2):
        metadata._replace_tablet_keyspaces(["ks"], [])
    assert metadata.placement_version == version + 1


def test_tokens_can_be_replaced() -> None:
    """`rebuild_token_map` replaces the tokens of the hosts, and adds new hosts."""
    metadata = Metadata()
    existing, new = owner(1), owner(2)
    metadata.add_or_return_host(existing)
    metadata.rebuild_token_map(MURMUR3, {existing: ["5"], new: ["10", "20"]})
    assert metadata.partitioner == MURMUR3
    assert metadata.all_hosts() == [existing, new]
    assert existing.tokens == ("5",)
    assert new.tokens == ("10", "20")
    token_map = metadata.token_map
    assert token_map is not None
    assert [token.value for token in token_map.ring] == [5, 10, 20]
