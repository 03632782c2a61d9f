"""The checks of ``python -m cassandra.doctor`` that use a connected session.

Each check is a function of a session and a timeout (in seconds, for each query). It yields
findings.
"""

from __future__ import annotations

import statistics
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from cassandra.cluster.session import Session
from cassandra.doctor.findings import (
    NOTE,
    OK,
    PROBLEM,
    WARNING,
    Finding,
    all_named,
    counted,
    finding,
)
from cassandra.metadata.host import Host
from cassandra.metadata.placement.replication import NetworkTopologyStrategy, SimpleStrategy
from cassandra.query.statement import SimpleStatement
from cassandra.util import Version

# The advice for a login that was refused.
_LOGIN = (
    "give --user, and --password-env or --password-file; if you did, the server does not know this "
    "name with this password"
)
# Pairs of a part of a connection's error message, and the advice for an error with this part.
_ADVICE = (
    (
        "client certificate",
        "give --cert and --key, with a certificate of a CA that the server trusts",
    ),
    (
        "could not check the login",
        "the node cannot read its table of passwords: start the nodes that are down, and have a "
        "replica of the keyspace system_auth on several nodes of each data centre",
    ),
    ("its certificate expired", "renew the certificate in the node's keystore"),
    ("authentication", _LOGIN),
    ("login", _LOGIN),
    ("does it expect TLS", "give --ssl, and --cafile"),
    (
        "does this port not speak TLS",
        "the process hangs or is overloaded: look at its log, take a jstack, restart it; "
        "but if this port does not speak TLS, leave --ssl and --cafile out",
    ),
    (
        "completed the TLS handshake and then said nothing",
        "the process hangs: look at the node's log, take a jstack, restart it",
    ),
    (
        "said nothing",
        "the process hangs, or the port speaks TLS: look at the node's log, take a jstack; or give "
        "--ssl, and --cafile",
    ),
    ("did not answer", "the process hangs: look at the node's log, take a jstack, restart it"),
    ("did not complete the", "the process hangs: look at the node's log, restart it"),
)
_LATENCY_SAMPLES = 10  # how many queries measure the latency of a host
_SLOW_ROUND_TRIP = 0.1  # warn of a median round trip longer than this many seconds
_STALL = 0.5  # warn of a round trip longer than this many seconds and _STALL_RATIO medians
_STALL_RATIO = 20
_MAX_CLOCK_SKEW = 0.5  # warn of a clock that differs by more than this many seconds
_BROKEN_CLOCK_SKEW = 2.0  # a clock that differs by more than this many seconds is a problem
# Keyspaces that each node has for itself. They are not replicated, so do not check their
# replication.
_NODE_LOCAL_KEYSPACES = {"system", "system_schema", "system_views", "system_virtual_schema"}
# Keyspaces for which the server sets a fixed replication factor, whatever the size of the cluster.
# So do not compare the factor with the number of nodes.
_FIXED_REPLICATION_KEYSPACES = {
    "system_cluster_metadata",
    "system_distributed",
    "system_distributed_everywhere",
    "system_traces",
}


def advice(problem: str) -> str:
    """Return what to do about a connection's error; "" if there is no advice for it.

    :param problem: the message of the error.
    """
    return next((do for part, do in _ADVICE if part in problem), "")


def hosts(session: Session, timeout: float) -> Iterator[Finding]:
    """Check that all hosts are up, and that the session has connections to all of them."""
    pools = session.get_pool_state()
    all_hosts = session.cluster.metadata.all_hosts()
    for host in sorted(all_hosts, key=lambda host: str(host.endpoint)):
        description = f"{host.datacenter or '?'}/{host.rack or '?'}, {host.release_version or '?'}"
        if not host.is_up:
            reason = str(host.last_failure or "")
            yield finding(
                PROBLEM,
                str(host.endpoint),
                f"is down ({description})" + (f": {reason}" if reason else ""),
                advice(reason) or "start it, or remove it",
            )
        # The driver believes that the host is up, but this session has no connections to it.
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
    # A node of Cassandra 6.0-alpha2 calls itself that, and its peers 6.0.0-alpha2.
    names: dict[object, str] = {}
    counts = Counter(
        names.setdefault(_comparable_release(host.release_version), host.release_version)
        for host in all_hosts
        if host.release_version
    )
    if len(counts) > 1:
        text = ", ".join(f"{version} on {count}" for version, count in sorted(counts.items()))
        yield finding(WARNING, "versions", f"releases are mixed: {text}", "finish the upgrade")
    elif counts:
        (version,) = counts
        protocol = int(session.cluster.protocol_version)
        yield finding(OK, "versions", f"release {version} everywhere, protocol version {protocol}")


def _comparable_release(text: str) -> Version | str:
    """Return an object that is equal for texts of the same release."""
    try:
        return Version(text)
    except ValueError:
        return text


def schema(session: Session, timeout: float) -> Iterator[Finding]:
    """Check that all hosts have the same schema version."""
    # Group the hosts by their schema version.
    by_version: dict[Any, list[str]] = defaultdict(list)
    query = "SELECT schema_version FROM system.local"
    for host, row in _first_row_of_each_host(session, query, timeout):
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
        ((version, addresses),) = by_version.items()
        host_count = len(_connected_hosts(session))
        # Hosts that have not responded are not in `addresses`, so say how many hosts agree.
        hosts_text = (
            "all hosts"
            if len(addresses) == host_count
            else f"{len(addresses)} of {host_count} hosts"
        )
        yield finding(OK, "schema", f"{hosts_text} agree on version {version}")


def clocks(session: Session, timeout: float) -> Iterator[Finding]:
    """Compare the clock of each host with the clock of this machine."""
    skews = {
        str(host.endpoint): skew
        for host in _connected_hosts(session)
        if (skew := _clock_skew(session, host, timeout)) is not None
    }
    bad_skews = [skew for skew in skews.values() if skew.exceeds(_MAX_CLOCK_SKEW)]
    seconds = [skew.seconds for skew in bad_skews]
    # If all hosts differ from this machine, but agree with each other, the clock of this machine is
    # wrong. Report that once.
    if 1 < len(skews) == len(bad_skews) and max(seconds) - min(seconds) < _MAX_CLOCK_SKEW:
        skew = max(bad_skews, key=lambda skew: abs(skew.seconds))
        way = "behind" if skew.seconds > 0 else "ahead of"
        yield finding(
            PROBLEM if skew.exceeds(_BROKEN_CLOCK_SKEW) else WARNING,
            "clock",
            f"the clock of this machine is {abs(skew.seconds):.3f} s {way} those of all hosts",
            f"run NTP here: {_CLOCK_HARM}",
        )
        return
    # Otherwise, report the clock of each host.
    for subject, skew in skews.items():
        text = (
            f"its clock is {abs(skew.seconds):.3f} s {'ahead' if skew.seconds > 0 else 'behind'} "
            f"(known to {skew.uncertainty:.3f} s)"
        )
        if skew not in bad_skews:
            yield finding(OK, subject, text)
        else:
            level = PROBLEM if skew.exceeds(_BROKEN_CLOCK_SKEW) else WARNING
            yield finding(level, subject, text, f"run NTP here and there: {_CLOCK_HARM}")


# What wrong clocks cause, for the advice of findings.
_CLOCK_HARM = (
    "writes with a timestamp that is too old are lost, and those with one that is too new cannot "
    "be overwritten"
)


class _Skew(NamedTuple):
    """How far a host's clock is ahead of the clock of this machine, and how uncertain that is.

    Both numbers are in seconds.
    """

    seconds: float
    uncertainty: float

    def exceeds(self, limit: float) -> bool:
        """Return True if the clocks certainly differ by more than `limit` seconds."""
        return abs(self.seconds) - self.uncertainty > limit


def _clock_skew(session: Session, host: Host, timeout: float) -> _Skew | None:
    """Return the skew of a host's clock; None if the host does not respond."""
    # The CQL function toTimestamp exists since Cassandra 2.2.
    query = "SELECT toTimestamp(now()) AS now FROM system.local"
    started = time.time()
    row = _first_row_or_none(session, query, host, timeout)
    ended = time.time()
    if row is None:
        return None
    # A datetime without a time zone is in UTC here, but its method `timestamp` would treat it as
    # local time.
    server_time = row.now.timestamp() if row.now.tzinfo else _seconds_since_epoch(row.now)
    # The server has read its clock at an unknown time between `started` and `ended`, and has
    # rounded the result to milliseconds. The best estimate of that time is the middle of the
    # interval, which is uncertain by half of the interval.
    return _Skew(server_time - (started + ended) / 2, (ended - started) / 2 + 0.001)


def latency(session: Session, timeout: float) -> Iterator[Finding]:
    """Measure the round-trip time of queries to each host."""
    # Measure several queries to each host, one after the other.
    for host in _connected_hosts(session):
        durations = []
        try:
            for _ in range(_LATENCY_SAMPLES):
                started = time.monotonic()
                _first_row(session, "SELECT key FROM system.local", host, timeout)
                durations.append(time.monotonic() - started)
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
        # Compare the median with the limit, because a single query may be slow by chance.
        if median > _SLOW_ROUND_TRIP:
            yield finding(WARNING, str(host.endpoint), text, "is it in another region, or busy?")
        elif max(durations) > max(_STALL, _STALL_RATIO * median):
            yield finding(
                WARNING,
                str(host.endpoint),
                f"{text}: it stalls",
                "look for pauses of the garbage collector in its log, and for a slow disk",
            )
        else:
            yield finding(OK, str(host.endpoint), text)


def ring(session: Session, timeout: float) -> Iterator[Finding]:
    """Report how many tokens the hosts have, and which hosts have none."""
    token_map = session.cluster.metadata.token_map
    if token_map is None or not token_map.token_to_host_owner:
        yield finding(WARNING, "ring", "no tokens are known", "is token_metadata_enabled off?")
        return
    counts = Counter(token_map.token_to_host_owner.values())
    hosts_without_tokens = [
        str(host.endpoint) for host in session.cluster.metadata.all_hosts() if host not in counts
    ]
    if hosts_without_tokens:
        yield finding(
            NOTE, "ring", f"without tokens, so without data: {', '.join(hosts_without_tokens)}"
        )
    fewest, most = min(counts.values()), max(counts.values())
    per_host = f"{fewest}" if fewest == most else f"{fewest} to {most}"
    total = sum(counts.values())
    yield finding(OK, "ring", f"{counted(total, 'token')}, {per_host} for each host")


def replication(session: Session, timeout: float) -> Iterator[Finding]:
    """Check that each keyspace has several replicas, and that there are enough nodes for them."""
    metadata = session.cluster.metadata
    nodes_by_dc = Counter(host.datacenter for host in metadata.all_hosts() if host.datacenter)
    faultless_count = 0  # the number of keyspaces without a fault
    for name, keyspace in sorted(metadata.keyspaces.items()):
        if name in _NODE_LOCAL_KEYSPACES:
            continue
        faults = list(_replication_faults(name, keyspace.replication_strategy, nodes_by_dc))
        yield from faults
        faultless_count += not faults
    if faultless_count:
        yield finding(OK, "replication", f"{counted(faultless_count, 'keyspace')} in order")


def _replication_faults(name: str, strategy: Any, nodes_by_dc: Counter[str]) -> Iterator[Finding]:
    """Yield a finding for each fault in the replication of a keyspace.

    :param nodes_by_dc: the number of nodes in each data centre.
    """
    subject = f"keyspace {name}"
    node_count = sum(nodes_by_dc.values())
    if name in _FIXED_REPLICATION_KEYSPACES:
        return
    if has_no_replicas(strategy):
        yield no_replicas(subject, "ALTER KEYSPACE")
    if isinstance(strategy, SimpleStrategy):
        factor = strategy.replication_factor
        if len(nodes_by_dc) > 1:
            yield finding(
                WARNING,
                subject,
                f"SimpleStrategy puts replicas anywhere in {', '.join(sorted(nodes_by_dc))}",
                "use NetworkTopologyStrategy",
            )
        yield from _warn_of_too_few_nodes(subject, factor, node_count, "the cluster")
        if factor == 1 and node_count > 1:
            yield _single_replica_finding(subject)
    elif isinstance(strategy, NetworkTopologyStrategy):
        for datacenter, factor in strategy.dc_replication_factors.items():
            if datacenter not in nodes_by_dc and factor:
                yield finding(
                    PROBLEM,
                    subject,
                    f"has {counted(factor, 'replica')} in {datacenter!r}, but no node is there: "
                    f"{all_named('data centre', nodes_by_dc)}",
                    "names of data centres are case-sensitive; ALTER KEYSPACE",
                )
            elif factor:
                yield from _warn_of_too_few_nodes(
                    subject, factor, nodes_by_dc[datacenter], datacenter
                )
        factors = [factor for factor in strategy.dc_replication_factors.values() if factor]
        # A login reads roles only in the local data centre. So the keyspace system_auth needs
        # several replicas in each data centre.
        is_login_at_risk = name == "system_auth" and 1 in factors
        if (sum(factors) == 1 or is_login_at_risk) and node_count > 1:
            yield _single_replica_finding(subject)


def has_no_replicas(strategy: Any) -> bool:
    """Return True if a replication strategy puts the rows of a keyspace on no node at all.

    :param strategy: the strategy of the keyspace.
    """
    if isinstance(strategy, NetworkTopologyStrategy):
        return not any(strategy.dc_replication_factors.values())
    return isinstance(strategy, SimpleStrategy) and not strategy.replication_factor


def no_replicas(subject: str, statement: str) -> Finding:
    """Return the finding of a keyspace for which `has_no_replicas` is True.

    :param subject: the keyspace, as the subject of the finding.
    :param statement: the beginning of the statement that mends it.
    """
    return finding(
        PROBLEM,
        subject,
        "has no replicas: each read and write of its rows fails",
        f"{statement} with replicas in a data centre, then nodetool rebuild",
    )


def _warn_of_too_few_nodes(
    subject: str, factor: int, node_count: int, where: str
) -> Iterator[Finding]:
    """Yield a warning if there are fewer nodes than the replication factor requires.

    :param factor: the number of replicas.
    :param where: the data centre, or "the cluster", for the message.
    """
    if factor > node_count:
        yield finding(
            WARNING,
            subject,
            f"has {counted(factor, 'replica')}, but {where} has {counted(node_count, 'node')}: "
            f"QUORUM needs {factor // 2 + 1}, ALL can never be met",
            "add nodes, or lower the replication factor",
        )


def _single_replica_finding(subject: str) -> Finding:
    """Return a warning about a keyspace with a single replica."""
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
        shard_count, connected_count = state["shards_count"], state["connected"]
        if connected_count < shard_count:
            yield finding(
                WARNING,
                str(address),
                f"{connected_count} of {shard_count} shards have a connection",
                "open the shard-aware port (19042), or wait: connections are opened one by one",
            )
        else:
            yield finding(OK, str(address), f"each of its {shard_count} shards has a connection")


def _connected_hosts(session: Session) -> list[Host]:
    return sorted(session.get_pool_state(), key=lambda host: str(host.endpoint))


def _first_row_or_none(session: Session, query: str, host: Host, timeout: float) -> Any:
    """Return the first row of a query to `host`; None if the query fails or returns no row."""
    try:
        return _first_row(session, query, host, timeout)
    except Exception:  # ignored here, because the check `latency` reports the error
        return None


def _first_row(session: Session, query: str, host: Host, timeout: float) -> Any:
    return session.execute(SimpleStatement(query), host=host, timeout=timeout).one()


def _first_row_of_each_host(
    session: Session, query: str, timeout: float
) -> Iterator[tuple[Host, Any]]:
    """Send a query to each connected host; yield (host, first row) for each host that responds."""
    for host in _connected_hosts(session):
        row = _first_row_or_none(session, query, host, timeout)
        if row is not None:
            yield host, row


def _seconds_since_epoch(utc_time: Any) -> float:
    """Return the seconds since 1970 for a datetime that is in UTC and has no time zone."""
    epoch: float = (utc_time - type(utc_time)(1970, 1, 1)).total_seconds()
    return epoch


# The checks in the order in which the command runs them.
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
