"""Traversals of graphs: names only, since graphs are not supported."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from cassandra._compat.refusal import refuse
from cassandra.datastax.graph.fluent.query import TraversalBatch
from cassandra.datastax.graph.query import GraphOptions, GraphProtocol
from cassandra.datastax.profiles import GraphExecutionProfile

__all__ = [
    "BaseGraphRowFactory",
    "DSESessionRemoteGraphConnection",
    "DseGraph",
    "graph_traversal_dse_object_row_factory",
    "graph_traversal_row_factory",
]


class BaseGraphRowFactory:
    """Makes graph objects of rows. It can be made, and not used."""

    def __init__(self, cluster: object) -> None:
        self.cluster = cluster

    def __call__(self, column_names: Sequence[str], rows: Sequence[Any]) -> NoReturn:
        refuse(type(self).__name__)


class graph_traversal_row_factory(BaseGraphRowFactory):
    """Rows to the objects of the traversal library."""


class graph_traversal_dse_object_row_factory(BaseGraphRowFactory):
    """Rows to the objects of `cassandra.datastax.graph`."""


class DSESessionRemoteGraphConnection:
    """A session for the traversal library. It can be made, and not used."""

    def __init__(
        self, session: object, graph_name: str | None = None, execution_profile: object = None
    ) -> None:
        self.session = session
        self.graph_name = graph_name
        self.execution_profile = execution_profile

    def submit(self, bytecode: object) -> NoReturn:
        """Raise NotImplementedError: graphs are not supported."""
        refuse("DSESessionRemoteGraphConnection.submit()")


class DseGraph:
    """Makes traversals."""

    DSE_GRAPH_QUERY_LANGUAGE = "bytecode-json"

    @staticmethod
    def create_execution_profile(
        graph_name: str, graph_protocol: bytes = GraphProtocol.GRAPHSON_2_0, **kwargs: Any
    ) -> GraphExecutionProfile:
        """Return a profile with these options; no graph can be asked with it."""
        options = GraphOptions(
            graph_name=graph_name,
            graph_protocol=graph_protocol,
            graph_language=DseGraph.DSE_GRAPH_QUERY_LANGUAGE,
        )
        return GraphExecutionProfile(graph_options=options, **kwargs)

    @staticmethod
    def traversal_source(
        session: object = None,
        graph_name: str | None = None,
        execution_profile: object = None,
        traversal_class: object = None,
    ) -> NoReturn:
        """Raise NotImplementedError: graphs are not supported."""
        refuse("DseGraph.traversal_source()")

    @staticmethod
    def query_from_traversal(
        traversal: object,
        graph_protocol: bytes = GraphProtocol.GRAPHSON_1_0,
        context: object = None,
    ) -> NoReturn:
        """Raise NotImplementedError: graphs are not supported."""
        refuse("DseGraph.query_from_traversal()")

    @staticmethod
    def batch(*args: Any, **kwargs: Any) -> TraversalBatch:
        """Return a `TraversalBatch`, which refuses its use."""
        return TraversalBatch(*args, **kwargs)
