"""Base classes that add cassandra-driver's further methods to `Cluster` and `Session`.

The methods are defined in `cassandra._compat.cluster`. This module is only imported when an
application first uses one of the methods.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cassandra._lazy import lazy_base

if TYPE_CHECKING:
    from cassandra._compat.cluster import CompatCluster, CompatSession
else:
    CompatCluster = lazy_base(
        "CompatCluster",
        "cassandra._compat.cluster",
        "executor on_up on_down on_add on_remove _notify control_connection get_connection_holders "
        "connection_factory",
    )
    # These values apply until the application uses `executor` or `control_connection`.
    CompatCluster._executor = CompatCluster._control_connection = None
    CompatSession = lazy_base(
        "CompatSession",
        "cassandra._compat.cluster",
        "submit user_type_registered execute_concurrent execute_concurrent_with_args "
        "execute_concurrent_async execute_graph execute_graph_async",
    )

__all__ = ["CompatCluster", "CompatSession"]
