"""Test `group_keys_by_replica`, which groups partition keys by a replica that is up."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from cassandra.cqltypes import Int32Type, SetType, TupleType, UTF8Type
from cassandra.metadata import NO_VALID_REPLICA, group_keys_by_replica
from cassandra.metadata.schema.elements import UserType
from cassandra.policies import HostDistance
from tests.unit.metadata.placement.test_replication import create, host, metadata_of
from tests.unit.metadata.placement.test_tablets import IDS, MIN, payload


def session_of(key_types: list[str]) -> tuple[Any, list[Any]]:
    """Return a fake session and its three hosts.

    :param key_types: the CQL types of the columns in the partition key of the table `ks.t`.
    """
    hosts = [host(1), host(2), host(3, "far")]
    # Each host owns one token, which is the end of its range.
    tokens = {
        hosts[0]: ["-3000000000000000000"],
        hosts[1]: ["3000000000000000000"],
        hosts[2]: ["9000000000000000000"],
    }
    metadata: Any = metadata_of(tokens, ks=create("SimpleStrategy", replication_factor="1"))
    table = SimpleNamespace(
        partition_key=[SimpleNamespace(cql_type=key_type) for key_type in key_types]
    )
    # The schema has one keyspace with one table.
    user_types = {
        "inner": UserType("ks", "inner", ["n"], ["int"]),
        "Outer": UserType("ks", "Outer", ["a", "b"], ["frozen<inner>", "text"]),
    }
    source = SimpleNamespace(
        object=lambda: SimpleNamespace(tables={"t": table}, user_types=user_types)
    )
    metadata._replace_schema(cast(Any, SimpleNamespace(sources={"ks": source})))
    for peer in hosts:
        peer.set_up()
    # The host in the data centre "far" is remote, and the other hosts are local.
    manager = SimpleNamespace(
        distance=lambda peer: (
            HostDistance.REMOTE if peer.datacenter == "far" else HostDistance.LOCAL
        )
    )
    return SimpleNamespace(
        cluster=SimpleNamespace(metadata=metadata, protocol_version=4, profile_manager=manager)
    ), hosts


def test_keys_are_grouped_by_the_replica_that_holds_them() -> None:
    """Each key is grouped under the host that holds the key, if the host may be used."""
    session, hosts = session_of(["int"])
    keys = [(number,) for number in range(100)]
    grouped = group_keys_by_replica(session, "ks", "t", keys)
    # A key whose only replica is the host in the data centre "far" has no replica that may be used.
    # All such keys are in the group NO_VALID_REPLICA.
    assert set(grouped) == {hosts[0], hosts[1], NO_VALID_REPLICA}
    all_keys = [tuple(key) for group in grouped.values() for key in group]
    assert sorted(all_keys) == keys
    # The token of the key 1 is -4069959284402364209, so the first host owns the key.
    assert (1,) in grouped[hosts[0]]
    hosts[0].set_down()
    assert (1,) in group_keys_by_replica(session, "ks", "t", keys)[NO_VALID_REPLICA]


def test_keys_are_grouped_by_the_replica_of_their_tablet() -> None:
    """In a keyspace with tablets, keys are grouped by the replicas of their tablets."""
    session, hosts = session_of(["int"])
    metadata = session.cluster.metadata
    for peer, host_id in zip(hosts, IDS, strict=False):
        peer.host_id = host_id
    metadata._replace_hosts(hosts)
    metadata._replace_tablet_keyspaces(["ks"], [])
    host_index, shard = 1, 0
    metadata.tablets.learn("ks", "t", payload(MIN, 0, (host_index, shard)))
    grouped = group_keys_by_replica(session, "ks", "t", [(1,), (6,)])
    # The token of the key 1 is -4069959284402364209. The key 6 has the token 2705480034054113608,
    # and the driver does not know the tablet of this token.
    assert grouped == {hosts[1]: [(1,)], NO_VALID_REPLICA: [(6,)]}


def test_keys_of_several_columns_are_grouped() -> None:
    """Keys of several columns are grouped, too.

    A key with a wrong number of values raises ValueError, and an unknown keyspace KeyError.
    """
    session, _ = session_of(["int", "text"])
    keys = [(number, "x") for number in range(20)]
    grouped = group_keys_by_replica(session, "ks", "t", keys)
    assert sum(map(len, grouped.values())) == 20
    with pytest.raises(ValueError, match=r"has 2 columns, but a key is \(1,\)"):
        group_keys_by_replica(session, "ks", "t", [(1,)])
    with pytest.raises(KeyError):
        group_keys_by_replica(session, "nowhere", "t", keys)


@pytest.mark.parametrize(
    ("cql_type", "value", "expected"),
    [
        ("frozen<tuple<int, text>>", (1, "a"), TupleType.apply_parameters((Int32Type, UTF8Type))),
        ("frozen<set<int>>", [1, 3], SetType.apply_parameters((Int32Type,))),
        # The bytes of a user-defined type are those of a tuple.
        (
            'frozen<"Outer">',
            ((1,), "a"),
            TupleType.apply_parameters((TupleType.apply_parameters((Int32Type,)), UTF8Type)),
        ),
    ],
)
def test_keys_of_types_with_parameters_are_grouped(
    monkeypatch: pytest.MonkeyPatch, cql_type: str, value: Any, expected: Any
) -> None:
    """A column of the partition key may be a frozen collection, a tuple or a user-defined type."""
    session, hosts = session_of([cql_type])
    serialized = []

    def get_replicas(keyspace: str, key: bytes, table: str) -> list[Any]:
        serialized.append(key)
        return hosts[:1]

    monkeypatch.setattr(session.cluster.metadata, "get_replicas", get_replicas)
    # The server computes the token of a set from its sorted elements.
    key = [value[::-1]] if isinstance(value, list) else [value]
    assert group_keys_by_replica(session, "ks", "t", [key]) == {hosts[0]: [key]}
    assert serialized == [expected.to_binary(value, 4)]
    with pytest.raises(KeyError, match="unknown"):
        group_keys_by_replica(session_of(["frozen<unknown>"])[0], "ks", "t", [key])
