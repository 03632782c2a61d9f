"""Bases of `Cluster` and `Session`, with methods that programs of other drivers call.

They are defined in `cassandra._compat.cluster`, which is imported when one of them is looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cassandra._lazy import lazy_base

if TYPE_CHECKING:
    from cassandra._compat.cluster import KnownCluster, KnownSession
else:
    KnownCluster = lazy_base(
        "KnownCluster",
        "cassandra._compat.cluster",
        "executor on_up on_down on_add on_remove _say control_connection get_connection_holders "
        "connection_factory",
    )
    # Of a cluster that nobody asked for them.
    KnownCluster._executor = KnownCluster._control_connection = None
    KnownSession = lazy_base(
        "KnownSession",
        "cassandra._compat.cluster",
        "submit user_type_registered execute_concurrent execute_concurrent_with_args "
        "execute_concurrent_async execute_graph execute_graph_async",
    )

__all__ = ["KnownCluster", "KnownSession"]
