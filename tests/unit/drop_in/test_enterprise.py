"""Names for DataStax Enterprise can be imported, but using them raises NotImplementedError."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import cassandra.datastax.graph as graph
from cassandra import auth, cluster, metadata
from cassandra.cluster import Cluster, Session
from cassandra.connection import ContinuousPagingSession, ContinuousPagingState
from cassandra.datastax.graph.fluent import DseGraph
from cassandra.metadata import SchemaParserDSE68, SchemaParserV3, TableMetadataDSE68
from cassandra.testing.fake import FakeNode

# Calls that only a server of DataStax Enterprise could answer.
REFUSED: list[Callable[[], Any]] = [
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
    # The message is a complete sentence with a reason.
    assert len(message) > 40


def test_settings_of_insights_have_no_effect() -> None:
    assert Cluster(monitor_reporting_enabled=False, monitor_reporting_interval=5)
    assert "secret" not in repr(auth.DSEPlainTextAuthProvider("u", "secret"))
    assert TableMetadataDSE68("ks", "t").vertex is None


def test_profiles_of_graphs_are_accepted_and_graph_queries_refused() -> None:
    profiles: dict[Any, Any] = {
        cluster.EXEC_PROFILE_GRAPH_DEFAULT: cluster.GraphExecutionProfile(request_timeout=9.0),
        cluster.EXEC_PROFILE_GRAPH_ANALYTICS_DEFAULT: cluster.GraphAnalyticsExecutionProfile(),
        cluster.EXEC_PROFILE_GRAPH_SYSTEM_DEFAULT: DseGraph.create_execution_profile("g"),
    }
    assert repr(cluster.EXEC_PROFILE_GRAPH_DEFAULT) == "EXEC_PROFILE_GRAPH_DEFAULT"
    with (
        FakeNode() as node,
        Cluster([node.address], port=node.port, execution_profiles=profiles) as cluster_of_graphs,
    ):
        session = cluster_of_graphs.connect()
        profile: Any = session.get_execution_profile(cluster.EXEC_PROFILE_GRAPH_DEFAULT)
        assert profile.request_timeout == 9.0
        assert profile.graph_options.is_graph_source is True
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
    for profile_class in (cluster.ExecutionProfile, cluster.GraphExecutionProfile):
        with pytest.raises(ValueError, match="continuous paging"):
            profile_class(continuous_paging_options=options)
