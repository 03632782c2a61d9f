"""Names of DataStax Enterprise's graph traversals: they can be imported, and refuse use."""

from cassandra.datastax.graph.fluent.traversals import (
    BaseGraphRowFactory,
    DseGraph,
    DSESessionRemoteGraphConnection,
    graph_traversal_dse_object_row_factory,
    graph_traversal_row_factory,
)

__all__ = [
    "BaseGraphRowFactory",
    "DSESessionRemoteGraphConnection",
    "DseGraph",
    "graph_traversal_dse_object_row_factory",
    "graph_traversal_row_factory",
]
