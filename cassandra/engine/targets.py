"""A target is where a call's request must be sent: a host, a host's shard, or a token's replicas.

If a call passes a shard or token, `Session.execute` creates a `Target`. If a call passes only a
host, the host itself is the target. A target applies to all pages of an execution.
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import index
from typing import TYPE_CHECKING, Any

from cassandra.consistency import SERIAL_LEVELS
from cassandra.engine.serial_reads import in_order
from cassandra.metadata.placement.tokens import Murmur3Token, Token, checked_token
from cassandra.policies.plan_limit import limited

if TYPE_CHECKING:
    from cassandra.engine.happy_path import RequestBase
    from cassandra.metadata.cluster_metadata import Metadata
    from cassandra.metadata.host import Host

_REMOTE = 2  # the value of HostDistance.REMOTE: a host in another data centre


class Target:
    """The host, shard or token that a call has passed, if the call has a shard or token.

    :param host: the only host to send to; None for the replicas of `token`, then other hosts.
    :param shard: the shard of `host` to send to; None for the token's shard.
    :param token: the token whose replicas to send to; None if `shard` is given.
    """

    __slots__ = ("host", "murmur3", "shard", "token")

    def __init__(self, host: Host | None, shard: int | None, token: Token | None) -> None:
        self.host = host
        self.shard = shard
        self.token = token
        # The token's value, from which the shard is computed; None if the partitioner is not
        # Murmur3, because only nodes with Murmur3 tokens have shards.
        self.murmur3: int | None = token.value if isinstance(token, Murmur3Token) else None

    def __repr__(self) -> str:
        return f"<Target: host={self.host}, shard={self.shard}, token={self.token}>"


def named_host(target: Host | Target | None) -> Host | None:
    """Return the only host that a request may go to, or None if it may go to several hosts."""
    return target.host if isinstance(target, Target) else target


# -- creating a target -----------------------------------------------------------------------------


def make_target(metadata: Metadata, host: Host | None, shard: object, token: object) -> Target:
    """Create the target of a call that has passed a shard or token.

    :param host: the host of the call, already checked; None for no host.
    :param shard: the shard of the call; None for no shard.
    :param token: the token of the call; None for no token.
    :raises TypeError: if `shard` is not an int, or `token` is neither an int nor a `Token` of the
        ring's partitioner.
    :raises ValueError: if the shard or token does not exist, the token ring is unknown, or both
        `shard` and `token` are given.
    """
    if shard is None:
        return Target(host, None, _token_on_ring(metadata, token))
    if token is not None:
        raise ValueError(
            f"shard={shard!r} and token={token!r}: name one of the two, for a token has its shard"
        )
    return Target(host, _checked_shard(host, shard), None)


def _checked_shard(host: Host | None, shard: Any) -> int:
    """Return `shard` as a checked shard number of `host`.

    :raises TypeError: if `shard` is not an int.
    :raises ValueError: if `host` is None or has no such shard.
    """
    # Reject True and False, which Python would accept as 1 and 0, because they are surely a
    # mistake.
    if isinstance(shard, bool) or not hasattr(shard, "__index__"):
        raise TypeError(f"shard must be an int, but is {type(shard).__name__}: {shard!r}")
    number = index(shard)
    if host is None:
        raise ValueError(
            f"shard={number} needs a host: write host=..., one of Cluster.metadata.all_hosts()"
        )
    sharding = getattr(host, "sharding_info", None)
    if sharding is None:
        raise ValueError(
            f"shard={number}: {host} has no shards that the driver knows of. It is not a node of "
            "ScyllaDB, does not tell of its shards, or the driver has no connections to it"
        )
    if not 0 <= number < sharding.shards_count:
        raise ValueError(
            f"shard={number}: {host} has no such shard, but {sharding.shards_count} shards, "
            f"0 to {sharding.shards_count - 1}"
        )
    return number


def _token_on_ring(metadata: Metadata, token: Any) -> Token:
    """Return `token` as a `Token` of the ring's partitioner.

    :raises ValueError: if the token ring is not known.
    """
    members = metadata.members
    # If the ring is not known, find the reason for the error message.
    if members is None or not members.hosts:
        if not metadata.token_metadata_enabled:
            reason = "tokens are not read (Cluster.token_metadata_enabled)"
        elif not metadata.can_support_partitioner():
            reason = f"the partitioner of the cluster is {metadata.partitioner!r}"
        else:
            reason = "no host has reported its tokens"
        raise ValueError(f"token={token!r}: the token ring is not known, because {reason}")
    return checked_token(members.token_class, token)


# -- routing ---------------------------------------------------------------------------------------


def check_replica(request: RequestBase) -> None:
    """Raise ValueError if a call has passed a token and a host that is not a replica of the token.

    Do nothing if the replicas are not known.
    """
    target = request.target
    # There is nothing to check unless the call has passed both.
    if not isinstance(target, Target) or target.host is None or target.token is None:
        return
    keyspace = _keyspace_of(request)
    replicas = _replicas_of(request, keyspace, target.token)
    if replicas and target.host not in replicas:
        raise ValueError(
            f"host={target.host} and token={target.token.value} contradict each other: the "
            f"replicas of this token in the keyspace {keyspace!r} are "
            f"{', '.join(map(str, replicas))}"
        )


def failing_plan(error: BaseException) -> Iterator[Host]:
    """Return a query plan that raises `error`, so that its request ends with the error."""

    def next_host() -> Host:
        raise error

    return iter(next_host, None)


def plan_to(target: Host | Target, request: RequestBase) -> Iterator[Host]:
    """Return the query plan of a request with a target.

    If the target has a host, the plan consists of that host. Otherwise the plan has the hosts of
    the policy's plan, beginning with the replicas of the target's token.
    """
    host = named_host(target)
    if host is not None:
        return iter((host,))
    assert isinstance(target, Target)
    assert target.token is not None
    session, policy = request.session, request.policy
    consistency = getattr(request.request_body, "consistency", None)
    statement = in_order(request.statement, consistency)
    plan = policy.make_query_plan(session.keyspace, statement)
    hosts: list[Host] = list(limited(plan))
    keyspace = _keyspace_of(request)
    replicas = _replicas_of(request, keyspace, target.token)
    if not replicas and keyspace is None:
        # Without a keyspace we do not know the replicas. The node that owns the token's range is
        # probably a replica, so try it first, unless it is in another data centre.
        owners = _owner_hosts(session.core.metadata, target.token)
        replicas = [host for host in owners if policy.distance(host) != _REMOTE]
    # Use only replicas that are in the policy's plan, because the policy may leave out hosts on
    # purpose.
    preferred = [host for host in hosts if host in replicas]
    if _needs_same_order(request, keyspace, consistency):
        # Sort in the order of the replicas, which is the same for all clients. Remote replicas go
        # last.
        preferred.sort(key=lambda host: (policy.distance(host) == _REMOTE, replicas.index(host)))
    return iter([*preferred, *(host for host in hosts if host not in preferred)])


def _needs_same_order(request: RequestBase, keyspace: str | None, consistency: int | None) -> bool:
    """Return True if all clients should try the replicas in the same order.

    This applies to lightweight transactions, serial reads, and tables whose tablets have a leader,
    because the first replica has a special role in them.
    """
    is_lwt = getattr(request.statement, "is_lwt", None)
    return (
        consistency in SERIAL_LEVELS
        or (is_lwt is not None and bool(is_lwt()))
        or bool(request.session.core.metadata.tablets.has_leaders(keyspace))
    )


def _keyspace_of(request: RequestBase) -> str | None:
    return getattr(request.statement, "keyspace", None) or request.session.keyspace


def _replicas_of(request: RequestBase, keyspace: str | None, token: Token) -> list[Host]:
    """Return the replicas of a token, beginning with the primary; an empty list if unknown."""
    if keyspace is None:
        return []
    metadata: Metadata = request.session.core.metadata
    table = getattr(request.statement, "table", None)
    return [replica.host for replica in metadata.get_replica_shards(keyspace, token, table)]


def _owner_hosts(metadata: Metadata, token: Token) -> list[Host]:
    """Return a list with the host that owns the range of `token`; empty if the ring is unknown."""
    members = metadata.members
    if members is None or not members.hosts:
        return []
    ring = members.ring
    # `owners` has, for each position on the ring, the index of a host in `members.hosts`.
    owner_index = ring.owners()[ring.position(token.value)]
    return [members.hosts[owner_index]]
