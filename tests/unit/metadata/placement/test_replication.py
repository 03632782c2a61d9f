"""Test replication settings: how they are parsed and written, and which hosts they select."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from cassandra.engine.endpoint import DefaultEndPoint
from cassandra.metadata import (
    BytesToken,
    EverywhereStrategy,
    LocalStrategy,
    MD5Token,
    Metadata,
    Murmur3Token,
    NetworkTopologyStrategy,
    ReplicationFactor,
    ReplicationStrategy,
    SimpleStrategy,
    TokenMap,
)
from cassandra.metadata.host import Host
from tests.unit.metadata.placement.test_tablets import IDS, MIN, payload

MURMUR3 = "org.apache.cassandra.dht.Murmur3Partitioner"


def host(number: int, datacenter: str = "dc1", rack: str = "r1") -> Host:
    """Return the host with the address 10.0.0.`number`."""
    return Host(DefaultEndPoint(f"10.0.0.{number}"), datacenter=datacenter, rack=rack)


def create(name: str, **options: Any) -> ReplicationStrategy:
    """Return a replication strategy of one of Cassandra's classes."""
    strategy = ReplicationStrategy.create(f"org.apache.cassandra.locator.{name}", options)
    assert strategy is not None
    return strategy


def metadata_of(
    tokens: dict[Host, list[str]], partitioner: str = MURMUR3, **replication: ReplicationStrategy
) -> Metadata:
    """Return the metadata of a cluster.

    :param tokens: the tokens of each host.
    :param partitioner: the class of the cluster's partitioner.
    :param replication: the replication strategy of each keyspace.
    """
    metadata = Metadata()
    metadata.rebuild_token_map(partitioner, tokens)
    metadata._replace_replication(replication)
    return metadata


@pytest.mark.parametrize(
    ("argument", "all_replicas", "full_replicas", "transient_replicas"),
    [("3", 3, 3, None), (3, 3, 3, None), ("3/1", 3, 2, 1), ("0", 0, 0, None)],
)
def test_replication_factors_are_read_from_numbers_and_strings(
    argument: Any, all_replicas: int, full_replicas: int, transient_replicas: int | None
) -> None:
    """A replication factor may be a number or a string.

    The string "3/1" means 3 replicas, of which 1 is transient.
    """
    factor = ReplicationFactor.create(argument)
    assert factor.all_replicas == all_replicas
    assert factor.full_replicas == full_replicas
    assert factor.transient_replicas == transient_replicas
    assert str(factor) == str(argument)
    assert factor == ReplicationFactor(all_replicas, transient_replicas)
    assert factor != ReplicationFactor(all_replicas + 1, transient_replicas)
    assert ReplicationFactor.create(factor) is factor


@pytest.mark.parametrize("bad", ["", "x", "3/", "3/x", None])
def test_invalid_replication_factors(bad: Any) -> None:
    """`ReplicationFactor.create` refuses values that are not replication factors."""
    with pytest.raises(ValueError, match="a replication factor is a number"):
        ReplicationFactor.create(bad)


def test_strategies_are_created_by_class_name() -> None:
    """`ReplicationStrategy.create` returns a strategy of the named class, with its factors."""
    simple = create("SimpleStrategy", **{"class": "x", "replication_factor": "3/1"})
    assert isinstance(simple, SimpleStrategy)
    # "3/1" means three replicas, of which one is transient. A transient replica does not count.
    assert simple.name == "SimpleStrategy"
    assert simple.replication_factor == 2
    network = ReplicationStrategy.create("NetworkTopologyStrategy", {"dc1": "3", "dc2": "2/1"})
    assert isinstance(network, NetworkTopologyStrategy)
    assert network.dc_replication_factors == {"dc1": 3, "dc2": 1}
    assert network.dc_replication_factors_info["dc2"] == ReplicationFactor(2, 1)
    assert type(create("LocalStrategy")) is LocalStrategy
    assert type(create("EverywhereStrategy")) is EverywhereStrategy
    assert ReplicationStrategy.create("", {}) is None
    strategy = ReplicationStrategy.create("com.example.Own", {"some": "thing"})
    assert strategy is not None
    assert type(strategy) is ReplicationStrategy
    assert strategy.name == "com.example.Own"


def test_strategies_are_exported_as_cql() -> None:
    """A strategy is exported as a CQL map of its class and options."""
    assert create("SimpleStrategy", replication_factor="3/1").export_for_schema() == (
        "{'class': 'SimpleStrategy', 'replication_factor': '3/1'}"
    )
    assert create("NetworkTopologyStrategy", dc1="3", **{"it's": "1"}).export_for_schema() == (
        "{'class': 'NetworkTopologyStrategy', 'dc1': '3', 'it''s': '1'}"
    )
    assert create("LocalStrategy").export_for_schema() == "{'class': 'LocalStrategy'}"


def test_strategies_with_the_same_settings_are_equal() -> None:
    """Strategies with the same class and factors are equal, whatever the order of the factors."""
    simple = create("SimpleStrategy", replication_factor="3")
    assert simple == create("SimpleStrategy", replication_factor=3)
    assert simple != create("SimpleStrategy", replication_factor="2")
    network = create("NetworkTopologyStrategy", a="1", b="2")
    network_in_other_order = create("NetworkTopologyStrategy", b="2", a="1")
    assert network == network_in_other_order
    assert hash(network) == hash(network_in_other_order)
    assert create("LocalStrategy") != create("EverywhereStrategy")
    assert create("LocalStrategy") != "LocalStrategy"


def test_a_strategy_with_wrong_settings_has_no_replicas(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A strategy with a wrong or missing factor is logged as a warning, and has no replicas."""
    with caplog.at_level(logging.WARNING, "cassandra.metadata"):
        not_a_number = create("SimpleStrategy", replication_factor="many")
        without_factor = create("SimpleStrategy")
    assert "'many'" in caplog.text
    assert "needs a replication_factor" in caplog.text
    token, only_host = Murmur3Token(1), host(1)
    assert not_a_number.make_token_replica_map({token: only_host}, [token]) == {}
    assert without_factor.export_for_schema() == "{'class': 'SimpleStrategy'}"


def test_strategies_map_tokens_to_replicas() -> None:
    """For each strategy, `make_token_replica_map` returns the expected replicas of each token."""
    a, b, c = host(1), host(2), host(3, "dc2")
    tokens = [Murmur3Token(number) for number in (1, 2, 3)]
    owners = dict(zip(tokens, (a, b, c), strict=True))
    # With SimpleStrategy, a token's second replica is the next host on the ring.
    simple = create("SimpleStrategy", replication_factor="2")
    assert simple.make_token_replica_map(owners, tokens) == {
        tokens[0]: (a, b),
        tokens[1]: (b, c),
        tokens[2]: (c, a),
    }
    # With NetworkTopologyStrategy, each token has a replica in each data centre.
    network = create("NetworkTopologyStrategy", dc1="1", dc2="1")
    assert network.make_token_replica_map(owners, tokens) == {
        tokens[0]: (a, c),
        tokens[1]: (b, c),
        tokens[2]: (c, a),
    }
    # EverywhereStrategy makes all hosts replicas, and LocalStrategy makes no host a replica.
    everywhere = create("EverywhereStrategy").make_token_replica_map(owners, tokens)
    assert {frozenset(hosts) for hosts in everywhere.values()} == {frozenset((a, b, c))}
    assert create("LocalStrategy").make_token_replica_map(owners, tokens) == {}
    assert simple.make_token_replica_map({}, []) == {}


# -- tokens ----------------------------------------------------------------------------------------


def test_tokens_are_those_of_the_server_s_partitioners() -> None:
    """Each token class computes the tokens that the server's partitioner computes."""
    assert Murmur3Token.from_string("-12") == Murmur3Token("-12")
    assert Murmur3Token(-12) == Murmur3Token("-12")
    assert Murmur3Token.from_key(b"\x00\x00\x00\x01").value == -4069959284402364209
    # org.apache.cassandra.dht.RandomPartitioner reads the MD5 digest as a signed number, and uses
    # its absolute value as the token.
    assert MD5Token.from_key(b"key").value == 0x3C6E0B8A9C15224A8228B9A98CA1531D
    assert MD5Token.from_key(b"").value == -(0xD41D8CD98F00B204E9800998ECF8427E - (1 << 128))
    assert BytesToken.from_string("0a0b") == BytesToken(b"\n\x0b")
    assert BytesToken.from_string("0x0a0b") == BytesToken(b"\n\x0b")
    assert BytesToken.from_key(b"k").value == b"k"
    assert Murmur3Token(-1) < Murmur3Token(3)
    assert Murmur3Token(1) != MD5Token(1)
    assert len({Murmur3Token(1), Murmur3Token(1)}) == 1
    assert repr(Murmur3Token(5)) == "<Murmur3Token: 5>"
    with pytest.raises(TypeError):
        _ = Murmur3Token(1) < MD5Token(0)
    with pytest.raises(TypeError, match="token must be bytes, but is str: 'a'"):
        BytesToken("a")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="hexadecimal, but one is 'zz'"):
        BytesToken.from_string("zz")


@pytest.mark.parametrize(
    ("partitioner", "tokens", "key"),
    [
        ("org.apache.cassandra.dht.RandomPartitioner", ("0", str(1 << 126), str(3 << 125)), b"key"),
        ("org.apache.cassandra.dht.ByteOrderedPartitioner", ("61", "6c", "ff"), b"k"),
    ],
)
def test_other_partitioners_have_token_maps(
    partitioner: str, tokens: tuple[str, ...], key: bytes
) -> None:
    """RandomPartitioner and ByteOrderedPartitioner have token maps with the right replicas."""
    a, b, c = host(1), host(2), host(3)
    metadata = metadata_of(
        {a: [tokens[0]], b: [tokens[1]], c: [tokens[2]]},
        partitioner,
        ks=create("SimpleStrategy", replication_factor="2"),
    )
    assert metadata.can_support_partitioner()
    # The key's token lies between the tokens of a and b, so b is the first replica.
    assert metadata.get_replicas("ks", key) == [b, c]
    token_map = metadata.token_map
    assert token_map is not None
    assert token_map.get_replicas("ks", token_map.token_class.from_key(key)) == [b, c]


# -- metadata --------------------------------------------------------------------------------------


def test_replicas_begin_with_the_owner_of_the_token() -> None:
    """A key's replicas begin with the owner of the key's token."""
    a, b, c = host(1), host(2), host(3)
    metadata = metadata_of(
        {a: ["0"], b: ["100"], c: ["200"]}, ks=create("SimpleStrategy", replication_factor="2")
    )
    # The key's token is far below 0, so the owner of the lowest token owns the key.
    assert metadata.get_replicas("ks", b"\x00\x00\x00\x01") == [a, b]
    assert metadata.get_replicas("nowhere", b"\x00\x00\x00\x01") == []
    token_map = metadata.token_map
    assert token_map is not None
    assert token_map is metadata.token_map
    assert token_map.ring == [Murmur3Token(0), Murmur3Token(100), Murmur3Token(200)]
    assert token_map.token_class is Murmur3Token
    assert token_map.token_to_host_owner[Murmur3Token(100)] is b
    # The replicas of a keyspace are computed when they are requested for the first time.
    assert token_map.tokens_to_hosts_by_ks == {}
    assert token_map.get_replicas("ks", Murmur3Token(100)) == [b, c]
    assert token_map.get_replicas("ks", Murmur3Token(101)) == [c, a]
    assert token_map.get_replicas("nowhere", Murmur3Token(101)) == []
    assert token_map.tokens_to_hosts_by_ks["ks"][Murmur3Token(200)] == (c, a)


def test_replicas_in_a_keyspace_with_tablets_do_not_follow_the_ring() -> None:
    """In a keyspace with tablets, the replicas of a key are the replicas of its tablet."""
    a, b, c = (host(number) for number in range(1, 4))
    for peer, host_id in zip((a, b, c), IDS, strict=False):
        peer.host_id = host_id
    strategy = create("SimpleStrategy", replication_factor="2")
    metadata = metadata_of({a: ["0"], b: ["100"], c: ["200"]}, ks=strategy, vnodes=strategy)
    token_map = metadata.token_map
    assert token_map is not None
    assert token_map.get_replicas("ks", Murmur3Token(100)) == [b, c]
    metadata._replace_tablet_keyspaces(["ks"], [])
    key = b"\x00\x00\x00\x01"
    # As long as no tablet is known, the key has no replicas.
    assert metadata.get_replicas("ks", key, table="t") == []
    # Add a tablet for the tokens up to 0. Its replicas are host 2 (c) with shard 0, and host 0 (a)
    # with shard 1.
    assert metadata.tablets.learn("ks", "t", payload(MIN, 0, (2, 0), (0, 1)))
    assert metadata.get_replicas("ks", key) == []
    assert metadata.get_replicas("ks", key, table="other") == []
    assert metadata.get_replicas("ks", key, table="t") == [c, a]
    # A routing key may be any bytes-like object.
    view: Any = memoryview(key)
    assert metadata.get_replicas("ks", view, table="t") == [c, a]
    assert metadata.get_replicas("vnodes", key, table="t") == [a, b]
    assert token_map.get_replicas("ks", Murmur3Token(100)) == []
    assert token_map.get_replicas("vnodes", Murmur3Token(100)) == [b, c]
    assert "ks" not in token_map.tokens_to_hosts_by_ks


def test_an_application_can_build_a_token_map() -> None:
    """An application can build a TokenMap of its own, which finds the replicas of tokens."""
    a, b = host(1), host(2)
    tokens = [Murmur3Token(1), Murmur3Token(2)]
    metadata = metadata_of({a: ["1"]}, ks=create("SimpleStrategy", replication_factor="1"))
    token_map = TokenMap(Murmur3Token, {tokens[0]: a, tokens[1]: b}, tokens, metadata)
    assert token_map.ring == tokens
    assert token_map.get_replicas("ks", Murmur3Token(2)) == [b]


def test_an_unknown_partitioner_has_no_token_map() -> None:
    """With an unknown partitioner, there is no token map, and keys have no replicas."""
    metadata = metadata_of(
        {host(1): ["1"]}, "com.example.Own", ks=create("SimpleStrategy", replication_factor="1")
    )
    assert metadata.token_map is None
    assert not metadata.can_support_partitioner()
    assert metadata.get_replicas("ks", b"key") == []


def test_token_metadata_enabled_false_leaves_the_ring_empty() -> None:
    """With `token_metadata_enabled = False`, the token map's ring stays empty."""
    metadata = Metadata()
    metadata.token_metadata_enabled = False
    metadata.rebuild_token_map(MURMUR3, {host(1): ["1"]})
    assert metadata.token_map is not None
    assert metadata.token_map.ring == []
    assert metadata.token_map.get_replicas("ks", metadata.token_map.token_class(1)) == []
    assert metadata.get_replicas("ks", b"key") == []


def test_the_routing_snapshot_is_rebuilt_only_if_tokens_change() -> None:
    """`routing` returns the same snapshot until a host is added or removed, or tokens change."""
    a, b = host(1), host(2)
    metadata = metadata_of(
        {a: ["0"], b: ["100"]}, ks=create("SimpleStrategy", replication_factor="1")
    )
    first_routing = metadata.routing()
    assert metadata.get_replicas("ks", b"\x00\x00\x00\x01") == [a]
    metadata._replace_hosts([a, b])
    assert metadata.routing() is first_routing
    b.tokens = ("-9000000000000000000", "100")
    a.tokens = ("50",)
    metadata._replace_hosts([a, b])
    assert metadata.routing() is not first_routing
    # The key's token, -4069959284402364209, lies after b's lowest token and before a's token.
    assert metadata.get_replicas("ks", b"\x00\x00\x00\x01") == [a]
    metadata._replace_hosts([b])
    assert metadata.get_replicas("ks", b"\x00\x00\x00\x01") == [b]


def test_replicas_are_the_current_host_objects() -> None:
    """If a host is replaced by an equal object, the replicas are the new object."""
    first, second = host(1), host(1)
    metadata = metadata_of({first: ["0"]}, ks=create("SimpleStrategy", replication_factor="1"))
    assert metadata.get_replicas("ks", b"k")[0] is first
    second.tokens = ("0",)
    metadata._replace_hosts([second])
    assert metadata.get_replicas("ks", b"k")[0] is second


def test_moving_to_another_rack_moves_replicas() -> None:
    """If a host moves to another rack, the replicas of NetworkTopologyStrategy change."""
    a, b, c = host(1, rack="r1"), host(2, rack="r1"), host(3, rack="r2")
    metadata = metadata_of(
        {a: ["0"], b: ["1"], c: ["2"]}, ks=create("NetworkTopologyStrategy", dc1="2")
    )
    # The second replica must be in another rack than the first replica, so b is skipped.
    assert metadata.get_replicas("ks", b"\x00\x00\x00\x01") == [a, c]
    b.set_location_info("dc1", "r2")
    metadata._replace_hosts([a, b, c])
    assert metadata.get_replicas("ks", b"\x00\x00\x00\x01") == [a, b]


def test_equal_replications_share_a_map_and_changes_replace_it() -> None:
    """Keyspaces with equal replication share a replica map until one of them changes."""
    a, b = host(1), host(2)
    one_replica, two_replicas = (
        create("SimpleStrategy", replication_factor=number) for number in (1, 2)
    )
    metadata = metadata_of(
        {a: ["0"], b: ["1"]}, x=one_replica, y=create("SimpleStrategy", replication_factor=1)
    )
    routing = metadata.routing()
    assert routing is not None
    assert routing.map_of("x") is routing.map_of("y")
    version = metadata.replication_version
    metadata._replace_replication(
        {"x": one_replica, "y": create("SimpleStrategy", replication_factor=1)}
    )
    assert metadata.replication_version == version
    metadata._replace_replication({"x": one_replica, "y": two_replicas})
    assert metadata.replication_version == version + 1
    routing_after_change = metadata.routing()
    assert routing_after_change is not None
    # The replica map of the keyspace that did not change is kept.
    assert routing_after_change.map_of("x") is routing.map_of("x")
    assert len(metadata.get_replicas("y", b"k")) == 2
    metadata._replace_replication({})
    assert metadata.get_replicas("x", b"k") == []


def test_hosts_without_tokens_are_not_replicas() -> None:
    """A host without tokens, such as a host that is joining, is not a replica."""
    a, joining = host(1), host(2)
    metadata = metadata_of(
        {a: ["0"], joining: []}, ks=create("SimpleStrategy", replication_factor="2")
    )
    assert metadata.get_replicas("ks", b"k") == [a]
    assert metadata.all_hosts() == [a, joining]


def test_states_of_a_host() -> None:
    """The state of a host is unknown, up, down or forced down."""
    node: Any = host(1)
    assert node.state == "unknown"
    node.set_up()
    assert node.state == "up"
    node.set_down()
    assert node.state == "down"
    node.force_down()
    assert node.state == "forced down"
    assert not node.is_up
    node.set_up()
    assert node.state == "up"


def test_scylladb_s_lists_of_racks_are_read_and_exported() -> None:
    """A list of racks, which ScyllaDB allows in place of a number, is read and exported.

    ScyllaDB expands the list to one option for each rack (to_flattened_map): "dc2:0", "dc2:1" and
    so on, or "dc3:-1" for an empty list.
    """
    strategy = ReplicationStrategy.create(
        "org.apache.cassandra.locator.NetworkTopologyStrategy",
        {"dc1": "3", "dc2:1": "it's", "dc2:0": "r1", "dc3:-1": ""},
    )
    assert isinstance(strategy, NetworkTopologyStrategy)
    assert strategy.dc_replication_factors == {"dc1": 3, "dc2": 2, "dc3": 0}
    assert strategy.export_for_schema() == (
        "{'class': 'NetworkTopologyStrategy', 'dc1': '3', 'dc2': ['r1', 'it''s'], 'dc3': []}"
    )
    in_other_racks = ReplicationStrategy.create(
        "NetworkTopologyStrategy", {"dc1": "3", "dc2:0": "r1", "dc2:1": "r2", "dc3:-1": ""}
    )
    assert strategy != in_other_racks
    # Racks may have numbers as names.
    for racks, factor in ({"dc:0": "1", "dc:1": "2"}, 2), ({"dc:-1": ""}, 0), ({"dc:3": "r"}, 1):
        strategy = ReplicationStrategy.create("NetworkTopologyStrategy", racks)
        assert isinstance(strategy, NetworkTopologyStrategy)
        assert strategy.dc_replication_factors == {"dc": factor}


@pytest.mark.parametrize(
    "factors", [{"eu:1": "3"}, {"eu:0": "3", "eu:1": "3"}, {"eu:2": "3/1", "us": "2"}]
)
def test_names_of_data_centres_that_end_with_a_number(factors: dict[str, Any]) -> None:
    """A data centre of Cassandra whose name ends with a colon and a number is not a list of racks.

    ScyllaDB would count the racks from 0, and name each rack once.
    """
    strategy = ReplicationStrategy.create("NetworkTopologyStrategy", factors)
    assert isinstance(strategy, NetworkTopologyStrategy)
    assert strategy.dc_replication_factors.keys() == factors.keys()
    exported = "".join(f", '{name}': '{factor}'" for name, factor in factors.items())
    assert strategy.export_for_schema() == f"{{'class': 'NetworkTopologyStrategy'{exported}}}"
