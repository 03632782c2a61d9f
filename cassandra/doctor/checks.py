"""The checks of ``python -m cassandra.doctor`` that use a connected session.

Each check is a function of a session and a timeout (seconds for each query), and yields findings.
"""

from __future__ import annotations

import statistics
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from cassandra.cluster.session import Session
from cassandra.doctor.findings import NOTE, OK, PROBLEM, WARNING, Finding, finding
from cassandra.metadata.host import Host
from cassandra.metadata.placement.replication import NetworkTopologyStrategy, SimpleStrategy
from cassandra.query.statement import SimpleStatement

__all__ = ["CHECKS"]

_ROUNDS = 10  # queries to measure the latency of a host
_SLOW = 0.1  # warn of a median round trip longer than this many seconds
_SKEW = 0.5  # warn of a clock that differs by more than this many seconds
# Keyspaces whose replication is not checked, because each node has its own data in them.
_LOCAL = {"system", "system_schema", "system_views", "system_virtual_schema"}
# Keyspaces that the server creates with a fixed replication factor, whatever the cluster's size is.
_AS_THEY_COME = {"system_distributed", "system_distributed_everywhere", "system_traces"}


def hosts(session: Session, timeout: float) -> Iterator[Finding]:
    """Check that all hosts are up, and that the session has connections to them."""
    pools = session.get_pool_state()
    all_hosts = session.cluster.metadata.all_hosts()
    for host in sorted(all_hosts, key=lambda host: str(host.endpoint)):
        description = f"{host.datacenter or '?'}/{host.rack or '?'}, {host.release_version or '?'}"
        if not host.is_up:
            yield finding(
                PROBLEM, str(host.endpoint), f"is down ({description})", "start it, or remove it"
            )
        elif host not in pools:
            yield finding(
                PROBLEM,
                str(host.endpoint),
                f"is up, but cannot be connected to from here ({description})",
                "its broadcast_rpc_address has to be reachable from here",
            )
        else:
            yield finding(OK, str(host.endpoint), f"is up and connected ({description})")


def versions(session: Session, timeout: float) -> Iterator[Finding]:
    """Check that all hosts run the same release."""
    all_hosts = session.cluster.metadata.all_hosts()
    counts = Counter(host.release_version for host in all_hosts if host.release_version)
    if len(counts) > 1:
        text = ", ".join(f"{version} on {count}" for version, count in sorted(counts.items()))
        yield finding(WARNING, "versions", f"releases are mixed: {text}", "finish the upgrade")
    elif counts:
        (version,) = counts
        protocol = int(session.cluster.protocol_version)
        yield finding(OK, "versions", f"release {version} everywhere, protocol version {protocol}")


def schema(session: Session, timeout: float) -> Iterator[Finding]:
    """Check that all hosts have the same schema version."""
    by_version: dict[Any, list[str]] = defaultdict(list)
    for host, row in _each(session, "SELECT schema_version FROM system.local", timeout):
        by_version[row.schema_version].append(str(host.endpoint))
    if len(by_version) > 1:
        text = "; ".join(
            f"{version}: {', '.join(addresses)}" for version, addresses in by_version.items()
        )
        yield finding(
            PROBLEM,
            "schema",
            f"the hosts have different schemas: {text}",
            "wait a minute and look again; then: nodetool describecluster",
        )
    elif by_version:
        (version, addresses), asked = *by_version.items(), len(_connected(session))
        whole = "all hosts" if len(addresses) == asked else f"{len(addresses)} of {asked} hosts"
        yield finding(OK, "schema", f"{whole} agree on version {version}")


def clocks(session: Session, timeout: float) -> Iterator[Finding]:
    """Compare the clock of each host with the clock of this machine."""
    # toTimestamp exists since Cassandra 2.2.
    query = "SELECT toTimestamp(now()) AS now FROM system.local"
    for host in _connected(session):
        began = time.time()
        row = _ask(session, query, host, timeout)
        ended = time.time()
        if row is None:
            continue
        # The server has read its clock at some time between `began` and `ended`, and has rounded it
        # to milliseconds.
        unsure = (ended - began) / 2 + 0.001
        server_time = row.now.timestamp() if row.now.tzinfo else _utc(row.now)
        skew = server_time - (began + ended) / 2
        text = f"its clock is {abs(skew) * 1000:.0f} ms {'ahead' if skew > 0 else 'behind'}"
        text += f" (known to {unsure * 1000:.0f} ms)"
        if abs(skew) - unsure > _SKEW:
            yield finding(
                WARNING,
                str(host.endpoint),
                text,
                "run NTP here and there: the later timestamp of two writes wins",
            )
        else:
            yield finding(OK, str(host.endpoint), text)


def latency(session: Session, timeout: float) -> Iterator[Finding]:
    """Measure the round trip time of a query to each host."""
    for host in _connected(session):
        durations = []
        try:
            for _ in range(_ROUNDS):
                began = time.monotonic()
                _answer(session, "SELECT key FROM system.local", host, timeout)
                durations.append(time.monotonic() - began)
        except Exception as error:
            yield finding(
                PROBLEM,
                str(host.endpoint),
                f"is connected, but does not answer: {type(error).__name__}: {error}",
                "is it overloaded, or may this user not read system.local?",
            )
            continue
        median = statistics.median(durations)
        text = (
            f"answers in {median * 1000:.1f} ms (median of {len(durations)}; "
            f"{min(durations) * 1000:.1f} to {max(durations) * 1000:.1f})"
        )
        # Judge by the median, because a single query may be slow by chance.
        if median > _SLOW:
            yield finding(WARNING, str(host.endpoint), text, "is it in another region, or busy?")
        else:
            yield finding(OK, str(host.endpoint), text)


def ring(session: Session, timeout: float) -> Iterator[Finding]:
    """Report how many tokens the hosts have, and which hosts have none."""
    token_map = session.cluster.metadata.token_map
    if token_map is None or not token_map.token_to_host_owner:
        yield finding(WARNING, "ring", "no tokens are known", "is token_metadata_enabled off?")
        return
    counts = Counter(token_map.token_to_host_owner.values())
    without = [
        str(host.endpoint) for host in session.cluster.metadata.all_hosts() if host not in counts
    ]
    if without:
        yield finding(NOTE, "ring", f"without tokens, so without data: {', '.join(without)}")
    fewest, most_tokens = min(counts.values()), max(counts.values())
    per_host = f"{fewest}" if fewest == most_tokens else f"{fewest} to {most_tokens}"
    yield finding(OK, "ring", f"{sum(counts.values())} tokens, {per_host} a host")


def replication(session: Session, timeout: float) -> Iterator[Finding]:
    """Check that each keyspace has more than one replica, and enough nodes for its replicas."""
    metadata = session.cluster.metadata
    nodes = Counter(host.datacenter for host in metadata.all_hosts() if host.datacenter)
    flawless = 0  # keyspaces without a fault
    for name, keyspace in sorted(metadata.keyspaces.items()):
        if name in _LOCAL:
            continue
        faults = list(_faults_of(name, keyspace.replication_strategy, nodes))
        yield from faults
        flawless += not faults
    if flawless:
        yield finding(OK, "replication", f"{flawless} keyspace{'s' * (flawless != 1)} in order")


def _faults_of(name: str, strategy: Any, nodes: Counter[str]) -> Iterator[Finding]:
    """Yield what is wrong with the replication of a keyspace.

    :param nodes: the number of nodes by data centre.
    """
    subject = f"keyspace {name}"
    total = sum(nodes.values())
    if name in _AS_THEY_COME:
        return
    if isinstance(strategy, SimpleStrategy):
        factor = strategy.replication_factor
        if len(nodes) > 1:
            yield finding(
                WARNING,
                subject,
                f"SimpleStrategy puts replicas anywhere in {', '.join(sorted(nodes))}",
                "use NetworkTopologyStrategy",
            )
        yield from _too_many(subject, factor, total, "the cluster")
        if factor == 1 and total > 1:
            yield _single(subject)
    elif isinstance(strategy, NetworkTopologyStrategy):
        for datacenter, factor in strategy.dc_replication_factors.items():
            if datacenter not in nodes and factor:
                yield finding(
                    PROBLEM,
                    subject,
                    f"has {factor} replicas in {datacenter!r}, but no node is there: the data "
                    f"centres are {', '.join(map(repr, sorted(nodes)))}",
                    "names of data centres are case-sensitive; ALTER KEYSPACE",
                )
            elif factor:
                yield from _too_many(subject, factor, nodes[datacenter], datacenter)
        factors = [factor for factor in strategy.dc_replication_factors.values() if factor]
        # A login only reads from the local data centre. So for the keyspace of roles, a single
        # replica in any data centre is too few.
        of_login = name == "system_auth" and 1 in factors
        if (sum(factors) == 1 or of_login) and total > 1:
            yield _single(subject)


def _too_many(subject: str, factor: int, nodes: int, where: str) -> Iterator[Finding]:
    if factor > nodes:
        yield finding(
            WARNING,
            subject,
            f"has {factor} replicas, but {where} has {nodes} node{'s' * (nodes != 1)}: QUORUM "
            f"wants {factor // 2 + 1}, ALL can never be met",
            "add nodes, or lower the replication factor",
        )


def _single(subject: str) -> Finding:
    if subject == "keyspace system_auth":
        return finding(
            WARNING,
            subject,
            "has one replica: nobody can log in while that node is down",
            "ALTER KEYSPACE system_auth, then nodetool repair system_auth",
        )
    return finding(
        WARNING, subject, "has one replica: its data is lost with a node", "raise the factor"
    )


def shards(session: Session, timeout: float) -> Iterator[Finding]:
    """Check that each shard of each ScyllaDB node has a connection."""
    for address, state in sorted(session.cluster.shard_aware_stats().items()):
        shard_count, open_ = state["shards_count"], state["connected"]
        if open_ < shard_count:
            yield finding(
                WARNING,
                str(address),
                f"{open_} of {shard_count} shards have a connection",
                "open the shard-aware port (19042), or wait: connections are opened one by one",
            )
        else:
            yield finding(OK, str(address), f"each of its {shard_count} shards has a connection")


def _connected(session: Session) -> list[Host]:
    return sorted(session.get_pool_state(), key=lambda host: str(host.endpoint))


def _ask(session: Session, query: str, host: Host, timeout: float) -> Any:
    """Return the first row of a query to `host`; None if the query fails."""
    try:
        return _answer(session, query, host, timeout)
    except Exception:  # the check `latency` reports the error
        return None


def _answer(session: Session, query: str, host: Host, timeout: float) -> Any:
    return session.execute(SimpleStatement(query), host=host, timeout=timeout).one()


def _each(session: Session, query: str, timeout: float) -> Iterator[tuple[Host, Any]]:
    """Send a query to each connected host; yield (host, first row) of each that responds."""
    for host in _connected(session):
        row = _ask(session, query, host, timeout)
        if row is not None:
            yield host, row


def _utc(moment: Any) -> float:
    epoch: float = (moment - type(moment)(1970, 1, 1)).total_seconds()
    return epoch


CHECKS: tuple[Callable[[Session, float], Iterator[Finding]], ...] = (
    hosts,
    versions,
    schema,
    ring,
    replication,
    clocks,
    latency,
    shards,
)
