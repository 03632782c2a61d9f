"""Names for DataStax Enterprise can be imported and constructed, but using them raises
NotImplementedError.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

import cassandra.datastax.graph as graph
import cassandra.graph as older_graph
from cassandra import auth, cluster, metadata
from cassandra.cluster import Cluster, Session
from cassandra.connection import ContinuousPagingSession, ContinuousPagingState
from cassandra.datastax.graph.fluent import (
    DseGraph,
    DSESessionRemoteGraphConnection,
    graph_traversal_row_factory,
)
from cassandra.datastax.graph.fluent.predicates import CqlCollection, Geo, Search
from cassandra.datastax.insights.reporter import MonitorReporter
from cassandra.datastax.insights.util import version_supports_insights
from cassandra.metadata import SchemaParserDSE68, SchemaParserV3, TableMetadataDSE68
from cassandra.query import SimpleStatement
from cassandra.testing.fake import FakeNode

REFUSED: list[Callable[[], Any]] = [
    lambda: graph.Result(5).as_vertex(),
    lambda: graph.Result(5).as_edge(),
    lambda: graph.Result(5).as_path(),
    lambda: graph.graph_object_row_factory(["x"], []),
    lambda: graph.graph_result_row_factory(["x"], []),
    lambda: graph.graph_graphson2_row_factory(["x"], []),
    lambda: graph.graph_graphson3_row_factory(["x"], []),
    lambda: graph.GraphSON1Serializer.serialize(5),
    lambda: graph.GraphSON1Deserializer.deserialize_int(5),
    lambda: graph.GraphSON2Reader({}).read("{}"),
    lambda: graph_traversal_row_factory(None)(["x"], []),
    lambda: DSESessionRemoteGraphConnection(None).submit(None),
    lambda: DseGraph.traversal_source(),
    lambda: DseGraph.query_from_traversal(None),
    lambda: DseGraph.batch().add(None),
    lambda: DseGraph.batch().add_all([]),
    lambda: DseGraph.batch().execute(),
    lambda: DseGraph.batch().as_graph_statement(),
    lambda: Search.token("x"),
    lambda: Geo.inside("x"),
    lambda: CqlCollection.contains("x"),
    lambda: MonitorReporter(30, None).start(),
    lambda: ContinuousPagingSession(1, None, None, None, ContinuousPagingState(4)).results(),
    lambda: SchemaParserV3(None, 1.0, 100, None).get_all_keyspaces(),
    lambda: SchemaParserDSE68(None, 1.0, 100, None).get_all_keyspaces(),
    lambda: metadata.get_schema_parser(None, "4.0", None, 1.0, None),
    lambda: metadata.get_column_from_system_local(None, "x", 1.0, None),
    lambda: Cluster(monitor_reporting_enabled=True),
    lambda: cluster.refresh_schema_and_set_result(None, None, None),
    lambda: Session.execute_graph(None, "g.V()"),  # type: ignore[arg-type]
    lambda: Session.execute_graph_async(None, "g.V()"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize("use", REFUSED, ids=range(len(REFUSED)))
def test_use_is_refused_with_a_reason(use: Callable[[], Any]) -> None:
    with pytest.raises(NotImplementedError, match="supported") as refused:
        use()
    message = str(refused.value)
    assert len(message) > 40
    assert "secret" not in message


def test_insights_are_never_reported() -> None:
    assert version_supports_insights("6.8.0") is False
    MonitorReporter(30, None).stop()
    assert Cluster(monitor_reporting_enabled=False, monitor_reporting_interval=5)
    assert "secret" not in repr(auth.DSEPlainTextAuthProvider("u", "secret"))
    assert TableMetadataDSE68("ks", "t").vertex is None


def test_options_of_graphs_are_set_copied_and_shown() -> None:
    """Options of graphs can be set, copied and shown. Unknown options are refused."""
    options = graph.GraphOptions(graph_name="g1", graph_read_consistency_level=1)
    assert options.is_graph_source
    options.set_source_analytics()
    assert (options.is_analytics_source, options.is_default_source) == (True, False)
    options.set_source_default()
    assert options.is_default_source
    options.set_source_graph()
    copied = options.copy()
    assert (copied.graph_name, copied.is_graph_source) == ("g1", True)
    copied.update(graph.GraphOptions(graph_name="g2"))
    assert (copied.graph_name, copied.graph_read_consistency_level) == ("g2", 1)
    assert repr(options).startswith(
        "GraphOptions(graph_name='g1', graph_read_consistency_level=ONE"
    )
    with pytest.raises(TypeError, match="nothing"):
        graph.GraphOptions(nothing=1)


def test_elements_of_graphs_have_the_attributes_of_cassandra_driver() -> None:
    """Elements of graphs can be compared, and have the attributes that cassandra-driver gives
    them.
    """
    vertex = graph.Vertex({"id": 1}, "person", "vertex", {})
    assert vertex == graph.Vertex({"id": 1}, "person", "vertex", {})
    assert vertex != graph.Edge(1, "knows", "edge", {}, 1, "person", 2, "person")
    assert graph.VertexProperty("age", 5).value == 5
    assert graph.Path([["a"]], [vertex]).objects == [vertex]
    assert graph.Result({"a": 1}).value == {"a": 1}
    assert graph.single_object_row_factory(["x"], [(1,), (2,)]) == [1, 2]
    assert (graph.T.id, graph.T.value, graph.to_bigint(5)) == ("id", "value", 5)
    # Apart from these modules, every public name also exists in cassandra-driver.
    public = {name for name in dir(graph) if not name.startswith("_")} - {
        "graphson", "query", "types", "fluent",
    }  # fmt: skip
    assert {name for name in public if not inspect.ismodule(getattr(graph, name))} <= set(
        dir(older_graph)
    )


def test_profiles_of_graphs_are_accepted_and_graph_queries_refused() -> None:
    profiles: dict[Any, Any] = {
        cluster.EXEC_PROFILE_GRAPH_DEFAULT: cluster.GraphExecutionProfile(request_timeout=9.0),
        cluster.EXEC_PROFILE_GRAPH_ANALYTICS_DEFAULT: cluster.GraphAnalyticsExecutionProfile(),
        cluster.EXEC_PROFILE_GRAPH_SYSTEM_DEFAULT: DseGraph.create_execution_profile("g"),
    }
    assert repr(cluster.EXEC_PROFILE_GRAPH_DEFAULT) == "EXEC_PROFILE_GRAPH_DEFAULT"
    with (
        FakeNode() as node,
        Cluster([node.address], port=node.port, execution_profiles=profiles) as connected,
    ):
        session = connected.connect()
        profile: Any = session.get_execution_profile(cluster.EXEC_PROFILE_GRAPH_DEFAULT)
        assert (profile.request_timeout, profile.graph_options.is_graph_source) == (9.0, True)
        request_count = len(node.requests)
        with pytest.raises(NotImplementedError, match="graph"):
            session.execute_graph("g.V()")
        with pytest.raises(NotImplementedError, match="graph"):
            session.execute_graph_async("g.V()")
        with pytest.raises(NotImplementedError, match="graph statement"):
            session.execute(graph.SimpleGraphStatement("g.V()"))
        # No request was sent.
        assert len(node.requests) == request_count


def test_continuous_paging_options_are_refused_by_profiles() -> None:
    options = cluster.ContinuousPagingOptions(max_pages=2)
    assert options.max_pages == 2
    for kind in (cluster.ExecutionProfile, cluster.GraphExecutionProfile):
        with pytest.raises(ValueError, match="continuous paging"):
            kind(continuous_paging_options=options)


def test_a_graph_statement_is_a_statement() -> None:
    statement = graph.SimpleGraphStatement("g.V()", consistency_level=1)
    assert isinstance(statement, (graph.GraphStatement, SimpleStatement))
    assert "g.V()" in repr(statement)
