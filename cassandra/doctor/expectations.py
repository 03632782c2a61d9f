"""The doctor's checks of what an application expects, for ``--local-dc`` and ``--keyspace``.

The checks find out if the cluster has the data centre and the keyspace that an application is
configured for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from cassandra._misspelt import nearest
from cassandra.cluster.session import Session
from cassandra.doctor.checks import has_no_replicas, no_replicas
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
from cassandra.metadata.placement.replication import NetworkTopologyStrategy, SimpleStrategy

_ALL_KEYSPACES_SHOWN = 10  # a message names all keyspaces if there are at most this many


def local_datacenter(session: Session, name: str | None) -> Iterator[Finding]:
    """Check that the cluster has the data centre of ``--local-dc``.

    :param session: a connected session.
    :param name: the data centre; None if the option is not used.
    """
    hosts = session.cluster.metadata.all_hosts()
    counts = Counter(host.datacenter for host in hosts if host.datacenter)
    # If the option is not used and there are several data centres, only list their names.
    if name is None:
        if len(counts) > 1:
            yield finding(
                NOTE,
                "data centres",
                f"{all_named('data centre', counts)}; --local-dc checks the one of an application",
            )
        return
    subject = f"local data centre {name}"
    if name not in counts:
        yield finding(
            PROBLEM,
            subject,
            f"no node is in {name!r}: {all_named('data centre', counts)}",
            f"{_suggestion(name, counts)}names are case-sensitive; give the same name to "
            "DCAwareRoundRobinPolicy(local_dc=...)",
        )
        return
    up_count = sum(bool(host.is_up) for host in hosts if host.datacenter == name)
    yield finding(
        # If the hosts of this data centre are down, the check of hosts reports that as a problem.
        # So report only a note here.
        OK if up_count == counts[name] else NOTE,
        subject,
        f"nodes that are up: {up_count} of {counts[name]}",
    )


def keyspace(session: Session, name: str | None, local_dc: str | None) -> Iterator[Finding]:
    """Check that the cluster has the keyspace of ``--keyspace``, and that it can be used.

    The keyspace must have replicas in the data centre of ``--local-dc``, and enough replicas must
    be up for a quorum.

    :param session: a connected session.
    :param name: the keyspace, as spelt in system_schema; None if the option is not used.
    :param local_dc: the data centre of ``--local-dc``; None if the option is not used.
    """
    if name is None:
        return
    metadata = session.cluster.metadata
    subject = f"keyspace {name}"
    if name not in metadata.keyspaces:
        own_names = [
            keyspace for keyspace in metadata.keyspaces if not keyspace.startswith("system")
        ]
        yield finding(
            PROBLEM,
            subject,
            f"does not exist: {all_named('keyspace', own_names, _ALL_KEYSPACES_SHOWN)}",
            f"{_suggestion(name, metadata.keyspaces)}names are in lower case, unless they were "
            "quoted when they were created; or CREATE KEYSPACE",
        )
        return
    strategy = metadata.keyspaces[name].replication_strategy
    if has_no_replicas(strategy):
        yield no_replicas(subject, f"ALTER KEYSPACE {name}")
        return
    if isinstance(strategy, NetworkTopologyStrategy):
        factors = strategy.dc_replication_factors
        counts = ", ".join(f"{factor} in {dc}" for dc, factor in sorted(factors.items()))
        text = f"exists, with replicas: {counts}" if counts else "exists, without replicas"
        known_dcs = {host.datacenter for host in metadata.all_hosts() if host.datacenter}
        if known_dcs.isdisjoint(dc for dc, factor in factors.items() if factor):
            yield finding(
                PROBLEM,
                subject,
                f"has replicas only where no node is ({counts}), but "
                f"{all_named('data centre', known_dcs)}: each read and write of its rows fails",
                f"names of data centres are case-sensitive; ALTER KEYSPACE {name}",
            )
            return
        # If the cluster does not have this data centre at all, `local_datacenter` reports that.
        if local_dc is not None and local_dc in known_dcs and not factors.get(local_dc):
            yield finding(
                PROBLEM,
                subject,
                f"has no replicas in {local_dc!r}, but {counts or 'none'}: LOCAL_ONE and "
                "LOCAL_QUORUM fail there",
                f"ALTER KEYSPACE {name} with replicas in {local_dc}, then nodetool rebuild; or "
                "choose another local data centre",
            )
            return
    elif isinstance(strategy, SimpleStrategy):
        text = f"exists, with {counted(strategy.replication_factor, 'replica')} (SimpleStrategy)"
    else:
        text = "exists"
    yield finding(OK, subject, text)
    yield from _check_quorum(session, subject, name, local_dc)


def _check_quorum(
    session: Session, subject: str, keyspace: str, local_dc: str | None
) -> Iterator[Finding]:
    """Warn if some partitions do not have a quorum of replicas that are up.

    This is never a problem, because each host that is down is already reported as one.
    """
    token_map = session.cluster.metadata.token_map
    # The replicas of tablets do not follow the token ring, so they are not checked.
    if token_map is None or not token_map.ring:
        return
    # Count the token ranges that have replicas, but not enough live replicas for a quorum.
    lost_count = 0
    for token in token_map.ring:
        replicas = [
            host
            for host in token_map.get_replicas(keyspace, token)
            if local_dc is None or host.datacenter == local_dc
        ]
        up_count = sum(bool(host.is_up) for host in replicas)
        lost_count += bool(replicas) and up_count < len(replicas) // 2 + 1
    if lost_count:
        lost_percentage = 100 * lost_count / len(token_map.ring)
        level, where = ("QUORUM", "") if local_dc is None else ("LOCAL_QUORUM", f" in {local_dc}")
        yield finding(
            WARNING,
            subject,
            f"{level} fails for {lost_percentage:.0f} % of its ranges{where}",
            "start the nodes that are down: too many replicas are missing",
        )


def _suggestion(name: str, names: Iterable[str]) -> str:
    """Return the beginning of an advice that names a similar name; "" if no name is similar."""
    by_lower_case = {known_name.lower(): known_name for known_name in names}
    similar_name = nearest(name.lower(), by_lower_case)
    return f"did you mean {by_lower_case[similar_name]!r}? " if similar_name else ""
