"""Requests to a given host and shard, or to a token, in the blocking and asyncio APIs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, Session
from cassandra.engine.targets import Target, make_target, named_host
from cassandra.marshal import int32_pack
from cassandra.metadata import BytesToken, MD5Token, Metadata, Murmur3Token, ReplicaShard
from cassandra.policies import DCAwareRoundRobinPolicy, RoundRobinPolicy, TokenAwarePolicy
from cassandra.query import SimpleStatement
from cassandra.testing.fake import FakeCluster, Scylla, rows, sequence
from cassandra.testing.fake.tokens import token_of
from tests.unit.engine.faults import connected
from tests.unit.engine.pools.test_shards_on_nodes import TABLETS, VNODES
from tests.waiting import until, until_on_loop

SHARDS = [7, 5, 8]  # the numbers of shards of the three nodes
READ = f"SELECT v FROM {VNODES}.t"
READ_KEY = "SELECT v FROM {}.t WHERE k = ?"
TOKENS = [-(2**63), -(2**61), -1, 0, 12345, 2**62, 2**63 - 1]


@pytest.fixture
def nodes() -> Iterator[FakeCluster]:
    """Yield three ScyllaDB nodes with SHARDS, and with two keyspaces: without and with tablets."""
    with FakeCluster(3, scylla=Scylla(SHARDS)) as running:
        scylla = running.scylla
        scylla.keyspace(VNODES, replication_factor=2)
        scylla.table(VNODES, "t")
        scylla.keyspace(TABLETS, replication_factor=2, tablets=True)
        scylla.table(TABLETS, "t", tablets=8)
        yield running


@pytest.fixture
def session(nodes: FakeCluster) -> Iterator[Session]:
    """Yield a session that has a connection to each shard."""
    with Cluster(nodes.contact_points, port=nodes.port) as cluster:
        session = cluster.connect(VNODES, wait_for_all_pools=True)
        until(lambda: connected_shards(cluster) == sum(SHARDS))
        yield session


def connected_shards(cluster: Any) -> int:
    """Return the number of shards to which the cluster has connections."""
    return sum(stats["connected"] for stats in cluster.shard_aware_stats().values())


def hosts_of(nodes: FakeCluster, cluster: Any) -> list[Any]:
    """Return the host objects of the driver in the order of the nodes."""
    hosts = {host.host_id: host for host in cluster.metadata.all_hosts()}
    return [hosts[node.host_id] for node in nodes.nodes]


def take_arrivals(nodes: FakeCluster, *queries: str) -> list[tuple[int, Any]]:
    """Return (node index, shard) for each request, and forget all requests.

    :param queries: count only requests with one of these queries. Without queries, count READ.
    """
    arrivals = [
        (index, request.connection.shard)
        for index, node in enumerate(nodes.nodes)
        for query in queries or (READ,)
        for request in node.queries(query)
    ]
    for node in nodes.nodes:
        node.forget_requests()
    return arrivals


# -- a host and its shard --------------------------------------------------------------------------


def test_a_request_reaches_the_given_host_and_shard(nodes: FakeCluster, session: Session) -> None:
    """With `host` and `shard`, simple and prepared statements go to this shard.

    The load-balancing policy has no influence.
    """
    prepared = session.prepare(READ_KEY.format(VNODES))
    for index, host in enumerate(hosts_of(nodes, session.cluster)):
        for shard in range(SHARDS[index]):
            session.execute(READ, host=host, shard=shard)
            session.execute_async(READ, host=host, shard=shard).result()
            session.execute(prepared, (1,), host=host, shard=shard)
            # All three requests arrived at this shard.
            assert take_arrivals(nodes, READ, READ_KEY.format(VNODES)) == [(index, shard)] * 3


async def test_an_asyncio_request_reaches_the_given_host_and_shard(nodes: FakeCluster) -> None:
    """In asyncio, requests with `host` and `shard` go to this shard.

    The choice of the policy does not matter.
    """
    async with connected(nodes) as (cluster, session):
        await until_on_loop(lambda: connected_shards(cluster) == sum(SHARDS))
        prepared = await session.prepare(READ_KEY.format(VNODES))
        for index, host in enumerate(hosts_of(nodes, cluster)):
            for shard in range(SHARDS[index]):
                await session.execute(READ, host=host, shard=shard)
                await session.execute(prepared, (1,), host=host, shard=shard)
                assert take_arrivals(nodes, READ, READ_KEY.format(VNODES)) == [(index, shard)] * 2


def test_all_pages_come_from_the_given_shard(nodes: FakeCluster, session: Session) -> None:
    """With `host` and `shard`, all pages of a result come from this shard."""
    first_page = rows([("v", "int")], [(1,)], paging_state=b"more")
    last_page = rows([("v", "int")], [(2,)])
    nodes.nodes[1].prime(READ, sequence(first_page, last_page))
    host = hosts_of(nodes, session.cluster)[1]
    shard = 3
    result = session.execute(SimpleStatement(READ, fetch_size=1), host=host, shard=shard)
    assert [row.v for row in result] == [1, 2]
    # Two pages were fetched, both from this shard of node 1.
    assert take_arrivals(nodes) == [(1, shard), (1, shard)]


def test_without_a_connection_to_the_shard_another_shard_is_used(
    nodes: FakeCluster, session: Session
) -> None:
    """If the given shard has no connection, the request still goes to the given host."""
    host = hosts_of(nodes, session.cluster)[0]
    pool = session._engine.pools[host]
    table: Any = pool.shards
    shard = 2
    table.remove(table.pick(shard))  # as if the connection to this shard were closed
    session.execute(READ, host=host, shard=shard)
    ((index, _),) = take_arrivals(nodes)
    assert index == 0


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"shard": 7}, ValueError, r"shard=7: .* has no such shard, but 7 shards, 0 to 6"),
        ({"shard": -1}, ValueError, "shard=-1: .* has no such shard"),
        ({"shard": True}, TypeError, "shard must be an int, but is bool: True"),
        ({"shard": "1"}, TypeError, "shard must be an int, but is str: '1'"),
        ({"shard": 1, "host": None}, ValueError, "shard=1 needs a host: write host="),
        ({"shard": 1, "host": "10.0.0.1"}, TypeError, "host must be a Host"),
        ({"shard": 1, "token": 5}, ValueError, "shard=1 and token=5: name one of the two"),
        ({"token": 1.5}, TypeError, "token must be an int or a Murmur3Token, but is float: 1.5"),
        ({"token": False}, TypeError, "token must be an int or a Murmur3Token, but is bool"),
        ({"token": 2**63}, ValueError, "token=9223372036854775808 is not on the ring"),
        ({"token": MD5Token(5)}, TypeError, "token must be a Murmur3Token, .* <MD5Token: 5>"),
    ],
)
async def test_wrong_targets_are_refused(
    nodes: FakeCluster, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    """Wrong combinations of `host`, `shard` and `token` raise an error that names the argument.

    No request is sent.
    """
    async with connected(nodes) as (cluster, session):
        options = {"host": hosts_of(nodes, cluster)[0], **options}
        with pytest.raises(error, match=message):
            session.execute(READ, **options)
    # No request may have been sent.
    assert take_arrivals(nodes) == []


def test_execute_and_execute_async_raise_for_wrong_targets(
    nodes: FakeCluster, session: Session
) -> None:
    """If the host has no such shard, both calls raise ValueError and send nothing.

    The calls are `execute` and `execute_async`.
    """
    host = hosts_of(nodes, session.cluster)[0]
    for execute in (session.execute, session.execute_async):
        with pytest.raises(ValueError, match="has no such shard"):
            execute(READ, host=host, shard=50)
    assert take_arrivals(nodes) == []


def test_a_shard_of_a_host_without_shards_is_refused() -> None:
    """A Cassandra node has no shards, so `shard=0` raises ValueError."""
    with (
        FakeCluster(1) as nodes,
        Cluster(nodes.contact_points, port=nodes.port) as cluster,
    ):
        session = cluster.connect()
        (host,) = cluster.metadata.all_hosts()
        with pytest.raises(ValueError, match=r"shard=0: .* has no shards that the driver knows of"):
            session.execute(READ, host=host, shard=0)


# -- tokens ----------------------------------------------------------------------------------------


def replicas_of(cluster: Any, token: int, keyspace: str = VNODES, table: str | None = None) -> Any:
    """Return the replicas of a token, as a dict from hosts to shards.

    :param cluster: the cluster.
    :param token: the token.
    :param keyspace: the keyspace, whose replication decides.
    :param table: needed only if the table has tablets.
    """
    return dict(cluster.metadata.get_replica_shards(keyspace, token, table))


@pytest.mark.parametrize("token", TOKENS)
def test_a_request_with_a_token_reaches_its_replicas_and_shards(
    nodes: FakeCluster, session: Session, token: int
) -> None:
    """Requests with `token` go to the replicas and the shard of the token."""
    hosts = hosts_of(nodes, session.cluster)
    replicas = replicas_of(session.cluster, token)
    assert len(replicas) == 2
    for _ in range(6):
        session.execute(READ, token=token)
        session.execute(READ, token=Murmur3Token(token))
    arrivals = take_arrivals(nodes)
    # Each of the six rounds has sent two requests.
    assert len(arrivals) == 2 * 6
    for index, shard in arrivals:
        assert replicas.get(hosts[index]) == shard
    # The requests were shared by both replicas.
    assert {hosts[index] for index, _shard in arrivals} == set(replicas)


async def test_an_asyncio_request_with_a_token_reaches_its_shard(nodes: FakeCluster) -> None:
    """In asyncio, a request with `token` goes to a replica of the token, and there to its shard."""
    async with connected(nodes) as (cluster, session):
        await until_on_loop(lambda: connected_shards(cluster) == sum(SHARDS))
        await session.set_keyspace(VNODES)
        hosts = hosts_of(nodes, cluster)
        for token in TOKENS:
            await session.execute(READ, token=token)
            ((index, shard),) = take_arrivals(nodes)
            assert replicas_of(cluster, token)[hosts[index]] == shard


def test_a_given_token_overrides_the_statements_partition(
    nodes: FakeCluster, session: Session
) -> None:
    """The argument `token` takes precedence over the values of the partition key."""
    prepared = session.prepare(READ_KEY.format(VNODES))
    hosts = hosts_of(nodes, session.cluster)
    for key in range(20):
        token = token_of(int32_pack(key))
        session.execute(prepared, (1,), token=token)
        ((index, shard),) = take_arrivals(nodes, READ_KEY.format(VNODES))
        assert replicas_of(session.cluster, token)[hosts[index]] == shard


def test_a_token_of_a_table_with_tablets_leads_to_the_tablet(
    nodes: FakeCluster, session: Session
) -> None:
    """In a table with tablets, a token has the replicas of its tablet.

    The driver must already know the tablet.
    """
    prepared = session.prepare(READ_KEY.format(TABLETS))
    keys = range(40)

    def replicas_of_key(key: int) -> Any:
        return replicas_of(session.cluster, token_of(int32_pack(key)), TABLETS, "t")

    assert replicas_of_key(keys[0]) == {}
    # The driver learns a tablet when a request for it reaches a wrong node or shard.
    for _ in range(100):
        unknown_keys = [key for key in keys if len(replicas_of_key(key)) < 2]
        for key in unknown_keys:
            session.execute(prepared, (key,))
        if not unknown_keys:
            break
    hosts = hosts_of(nodes, session.cluster)
    # Forget these requests, from which the driver has learned the tablets.
    take_arrivals(nodes)
    for key in keys:
        replicas = replicas_of_key(key)
        assert len(replicas) == 2
        # The metadata also finds the replicas of an encoded partition key.
        by_key = session.cluster.metadata.get_replica_shards(TABLETS, int32_pack(key), "t")
        assert dict(by_key) == replicas
        session.execute(prepared, (1,), token=token_of(int32_pack(key)))
        ((index, shard),) = take_arrivals(nodes, READ_KEY.format(TABLETS))
        assert replicas[hosts[index]] == shard


def test_a_token_with_a_host_needs_a_replica_there(nodes: FakeCluster, session: Session) -> None:
    """With `host` and `token`, the request goes to the token's shard of this host.

    If the host is not a replica of the token, ValueError is raised.
    """
    hosts = hosts_of(nodes, session.cluster)
    for token in TOKENS:
        replicas = replicas_of(session.cluster, token)
        for index, host in enumerate(hosts):
            if host in replicas:
                session.execute(READ, host=host, token=token)
                assert take_arrivals(nodes) == [(index, replicas[host])]
            else:
                message = f"token={token} contradict each other: the replicas of this token in"
                with pytest.raises(ValueError, match=message):
                    session.execute_async(READ, host=host, token=token)
    assert take_arrivals(nodes) == []


async def test_asyncio_refuses_a_token_with_a_host_that_is_no_replica(nodes: FakeCluster) -> None:
    """In asyncio, `host` and `token` raise ValueError if the host is not a replica of the token."""
    async with connected(nodes) as (cluster, session):
        await session.set_keyspace(VNODES)
        replicas = replicas_of(cluster, 0)
        (other_host,) = (host for host in hosts_of(nodes, cluster) if host not in replicas)
        with pytest.raises(ValueError, match="token=0 contradict each other"):
            session.execute(READ, host=other_host, token=0)


@pytest.mark.parametrize(
    "make_policy",
    [RoundRobinPolicy, lambda: TokenAwarePolicy(RoundRobinPolicy())],
    ids=["round robin", "token aware"],
)
def test_a_token_on_cassandra_leads_to_the_owner(make_policy: Any) -> None:
    """On Cassandra, a request with `token` goes to the token's owner.

    Its nodes have no shards.
    """
    with FakeCluster(3) as nodes:
        profiles = {EXEC_PROFILE_DEFAULT: ExecutionProfile(make_policy())}
        with Cluster(nodes.contact_points, port=nodes.port, execution_profiles=profiles) as cluster:
            session = cluster.connect(wait_for_all_pools=True)
            hosts = hosts_of(nodes, cluster)
            ring = cluster.metadata.token_map
            assert ring is not None
            for token, owner in ring.token_to_host_owner.items():
                for _ in range(4):
                    session.execute(READ, token=token)
                    session.execute_async(READ, token=token.value).result()
                # Without a keyspace, the owner of the token comes first in each query plan.
                # Four rounds have sent two requests each. The only shard number of these nodes is
                # 0.
                assert take_arrivals(nodes) == [(hosts.index(owner), 0)] * 8


def test_if_replicas_are_down_the_next_host_is_used(nodes: FakeCluster, session: Session) -> None:
    """If a replica of the token is down, requests go to the other replica.

    If all replicas are down, requests go to another host.
    """
    hosts = hosts_of(nodes, session.cluster)
    first, second = (host for host, _ in session.cluster.metadata.get_replica_shards(VNODES, 0))
    # Lightweight transactions go to the first replica, so this statement shows which replica is
    # first.
    statement = SimpleStatement(f"UPDATE {VNODES}.t SET v = 'a' WHERE k = 1 IF v = 'b'")
    (third,) = set(hosts) - {first, second}
    for _ in range(6):
        session.execute(statement, token=0)
    first_arrival = (hosts.index(first), replicas_of(session.cluster, 0)[first])
    assert take_arrivals(nodes, statement.query_string or "") == [first_arrival] * 6
    nodes.nodes[hosts.index(first)].stop()
    until(lambda: not first.is_up)
    for _ in range(4):
        session.execute(READ, token=0)
    # While the first replica is down, all requests go to the second replica.
    assert Counter(index for index, _ in take_arrivals(nodes)) == {hosts.index(second): 4}
    nodes.nodes[hosts.index(second)].stop()
    until(lambda: not second.is_up)
    session.execute(READ, token=0)
    assert [index for index, _ in take_arrivals(nodes)] == [hosts.index(third)]


def test_local_hosts_are_preferred_to_a_remote_owner() -> None:
    """Without a keyspace, a request with `token` goes to the owner only if the owner is local.

    It is not known whether an owner in another data centre is a replica, so the request goes to a
    local host instead.
    """
    with FakeCluster({"here": 2, "there": 2}) as nodes:
        policy = DCAwareRoundRobinPolicy("here", used_hosts_per_remote_dc=2)
        profiles = {EXEC_PROFILE_DEFAULT: ExecutionProfile(policy)}
        with Cluster(nodes.contact_points, port=nodes.port, execution_profiles=profiles) as cluster:
            session = cluster.connect(wait_for_all_pools=True)
            ring = cluster.metadata.token_map
            assert ring is not None
            for token, owner in ring.token_to_host_owner.items():
                future = session.execute_async(READ, token=token)
                future.result()
                coordinator = future.coordinator_host
                assert coordinator is not None
                assert coordinator.datacenter == "here"
                assert (coordinator is owner) is (owner.datacenter == "here")


# -- rings -----------------------------------------------------------------------------------------


def test_without_token_metadata_a_token_is_refused() -> None:
    """Without token metadata, `token` raises ValueError.

    The driver does not know the ring.
    """
    with (
        FakeCluster(1) as nodes,
        Cluster(nodes.contact_points, port=nodes.port, token_metadata_enabled=False) as cluster,
    ):
        session = cluster.connect()
        with pytest.raises(ValueError, match=r"token=5: the token ring is not known, .* not read"):
            session.execute(READ, token=5)
        assert cluster.metadata.get_replica_shards("ks", 5) == []


@pytest.mark.parametrize(
    ("partitioner", "reason"),
    [
        ("Murmur3Partitioner", "no host has reported its tokens"),
        ("x.Own", "the partitioner of the cluster is 'x.Own'"),
    ],
)
def test_the_error_says_why_the_token_ring_is_unknown(partitioner: str, reason: str) -> None:
    metadata = Metadata()
    metadata.partitioner = partitioner
    with pytest.raises(ValueError, match=reason):
        make_target(metadata, host=None, shard=None, token=5)


def test_named_host_and_attributes_of_a_target() -> None:
    """`named_host` accepts a host or a Target.

    `Target.murmur3` is None for tokens of other kinds.
    """
    host: Any = object()
    assert ReplicaShard(host, shard=None).shard is None
    assert named_host(None) is None
    assert named_host(host) is host
    assert named_host(Target(host, shard=1, token=None)) is host
    target = Target(host=None, shard=None, token=Murmur3Token(5))
    assert named_host(target) is None
    assert target.murmur3 == 5
    assert repr(target) == "<Target: host=None, shard=None, token=<Murmur3Token: 5>>"
    assert Target(host=None, shard=None, token=BytesToken(b"a")).murmur3 is None
