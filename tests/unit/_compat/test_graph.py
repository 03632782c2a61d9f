"""Test that objects for DataStax Enterprise's graphs and Insights can be created and compared."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

import cassandra.graph as older_graph
from cassandra.cluster import GraphExecutionProfile
from cassandra.datastax import graph
from cassandra.datastax.graph import fluent, graphson, query, types
from cassandra.datastax.graph.fluent import DseGraph, predicates, query as fluent_query
from cassandra.datastax.insights import reporter, util
from cassandra.datastax.insights.reporter import MonitorReporter
from cassandra.datastax.insights.util import version_supports_insights
from cassandra.query import SimpleStatement

# -- the public modules ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("module", "names"),
    [
        (types, {"Edge", "Element", "Path", "T", "Vertex", "VertexProperty"}),
        (
            query,
            {
                "GraphOptions", "GraphProtocol", "GraphStatement", "Result", "SimpleGraphStatement",
                "graph_graphson2_row_factory", "graph_graphson3_row_factory",
                "graph_object_row_factory", "graph_result_row_factory", "single_object_row_factory",
            },
        ),
        (
            graphson,
            {
                "GraphSON1Deserializer", "GraphSON1Serializer", "GraphSON2Deserializer",
                "GraphSON2Reader", "GraphSON2Serializer", "GraphSON3Deserializer",
                "GraphSON3Reader", "GraphSON3Serializer", "to_bigint", "to_double", "to_float",
                "to_int", "to_smallint",
            },
        ),
        (
            fluent,
            {
                "BaseGraphRowFactory", "DSESessionRemoteGraphConnection", "DseGraph",
                "graph_traversal_dse_object_row_factory", "graph_traversal_row_factory",
            },
        ),
        (predicates, {"CqlCollection", "Geo", "Search"}),
        (fluent_query, {"TraversalBatch"}),
        (reporter, {"MonitorReporter"}),
        (util, {"version_supports_insights"}),
    ],
    ids=lambda value: value.__name__ if inspect.ismodule(value) else "",
)  # fmt: skip
def test_each_module_has_the_names_of_cassandra_driver(module: Any, names: set[str]) -> None:
    """``import *`` from each module gives the module's own names, whose ``__module__`` it is."""
    assert module.__all__ == sorted(names)
    assert {getattr(module, name).__module__ for name in names} == {module.__name__}


@pytest.mark.parametrize("package", [graph, older_graph])
def test_the_packages_have_the_names_of_their_modules(package: Any) -> None:
    """``cassandra.graph`` and ``cassandra.datastax.graph`` export the names of three modules."""
    names = {name for module in (types, query, graphson) for name in module.__all__}
    assert package.__all__ == sorted(names)
    assert package.Vertex is types.Vertex


def test_an_unknown_name_is_an_attribute_error_of_the_module() -> None:
    with pytest.raises(AttributeError) as raised:
        types.Nothing  # noqa: B018
    assert str(raised.value) == "module 'cassandra.datastax.graph.types' has no attribute 'Nothing'"
    # A name of another module is unknown, too.
    assert not hasattr(types, "GraphOptions")


# -- elements of graphs ----------------------------------------------------------------------------


def test_elements_of_graphs_have_the_attributes_of_cassandra_driver() -> None:
    """Graph elements can be compared, and have the attributes of cassandra-driver's classes."""
    vertex = graph.Vertex({"id": 1}, "person", "vertex", {})
    assert vertex == graph.Vertex({"id": 1}, "person", "vertex", {})
    assert vertex != graph.Vertex({"id": 2}, "person", "vertex", {})
    assert vertex != graph.Edge(1, "knows", "edge", {}, 1, "person", 2, "person")
    assert vertex != "person"
    assert (vertex.id, vertex.label, vertex.type, vertex.properties) == (
        {"id": 1},
        "person",
        "vertex",
        {},
    )
    edge = graph.Edge(1, "knows", "edge", {}, inV=3, inVLabel="cat", outV=2, outVLabel="person")
    assert (edge.id, edge.inV, edge.outV) == (1, 3, 2)
    assert (vertex.element_type, edge.element_type) == ("vertex", "edge")
    element = graph.Element(1, "x", "y", {"a": 1})
    assert vars(element) == {"id": 1, "label": "x", "type": "y", "properties": {"a": 1}}
    assert element.element_type is None
    assert graph.Path([["a"]], [vertex]).objects == [vertex]
    assert (graph.T.id, graph.T.id_, graph.T.key, graph.T.label, graph.T.value) == (
        *("id", "id", "key", "label"),
        "value",
    )


def test_elements_are_shown_with_their_attributes_and_have_no_hash() -> None:
    """The repr of an element has all attributes, and the element has no hash.

    Its id may be a dict, which cannot be hashed.
    """
    vertex = graph.Vertex(1, "person", "vertex", {})
    assert repr(vertex) == "Vertex(id=1, label='person', type='vertex', properties={})"
    for unhashable in (vertex, graph.Result(5)):
        with pytest.raises(TypeError, match="unhashable"):
            hash(unhashable)


@pytest.mark.parametrize("properties", [{"since": 2020}, None])
def test_properties_of_vertices_may_have_properties(properties: Any) -> None:
    """A `VertexProperty` may itself have properties; by default, they are an empty dict."""
    age = graph.VertexProperty("age", 5, properties)
    assert (age.label, age.value, age.properties) == ("age", 5, properties or {})
    assert isinstance(age.properties, dict)


def test_results_can_be_compared_and_shown() -> None:
    result = graph.Result({"a": 1})
    assert result.value == {"a": 1}
    assert result == graph.Result({"a": 1})
    assert result != graph.Result({"a": 2})
    assert result != {"a": 1}
    assert repr(result) == "Result({'a': 1})"


def test_functions_that_need_no_server_work() -> None:
    assert graph.single_object_row_factory(["x", "y"], [(1, 8), (2, 9)]) == [1, 2]
    assert graph.to_bigint(5) == graph.to_int(5) == graph.to_float(5) == 5


# Calls that only a server of DataStax Enterprise could answer.
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
    lambda: fluent.graph_traversal_row_factory(None)(["x"], []),
    lambda: fluent.DSESessionRemoteGraphConnection(None).submit(None),
    lambda: DseGraph.traversal_source(),
    lambda: DseGraph.query_from_traversal(None),
    lambda: DseGraph.batch().add(None),
    lambda: DseGraph.batch().add_all([]),
    lambda: DseGraph.batch().execute(),
    lambda: DseGraph.batch().as_graph_statement(),
    lambda: predicates.Search.token("x"),
    lambda: predicates.Geo.inside("x"),
    lambda: predicates.CqlCollection.contains("x"),
    lambda: MonitorReporter(30, None).start(),
]


@pytest.mark.parametrize("use", REFUSED, ids=range(len(REFUSED)))
def test_use_is_refused_with_a_reason(use: Callable[[], Any]) -> None:
    """Anything that needs a DataStax server raises NotImplementedError with the reason."""
    message = r"is not supported: .* DataStax Enterprise's own"
    with pytest.raises(NotImplementedError, match=message):
        use()


# -- options and statements ------------------------------------------------------------------------


def test_options_of_graphs_are_set_copied_and_shown() -> None:
    """Options of graphs can be set, copied and shown.

    Unknown options are refused.
    """
    options = graph.GraphOptions(graph_name="g1", graph_read_consistency_level=1)
    assert (options.graph_name, options.graph_source) == ("g1", b"g")
    copied = options.copy()
    assert (copied.graph_name, copied.is_graph_source) == ("g1", True)
    copied.update(graph.GraphOptions(graph_name="g2"))
    assert (copied.graph_name, copied.graph_read_consistency_level) == ("g2", 1)
    assert options.graph_name == "g1"
    with pytest.raises(TypeError, match="nothing"):
        graph.GraphOptions(nothing=1)


def test_options_are_shown_with_the_names_of_consistency_levels() -> None:
    """The repr lists the options that were set; unknown consistency levels remain numbers."""
    options = graph.GraphOptions(
        graph_name="g1", graph_read_consistency_level=1, graph_write_consistency_level=99
    )
    assert repr(options) == (
        "GraphOptions(graph_name='g1', graph_read_consistency_level=ONE, "
        "graph_write_consistency_level=99)"
    )


def test_the_traversal_source_is_one_of_three() -> None:
    """Exactly one of the three source properties is True, for bytes and for strings."""
    options = graph.GraphOptions()

    def sources() -> tuple[bool, bool, bool]:
        return options.is_graph_source, options.is_analytics_source, options.is_default_source

    assert sources() == (True, False, False)
    options.set_source_analytics()
    assert (options.graph_source, sources()) == (b"a", (False, True, False))
    options.set_source_default()
    assert (options.graph_source, sources()) == (b"default", (False, False, True))
    options.set_source_graph()
    assert (options.graph_source, sources()) == (b"g", (True, False, False))
    for source, expected in (
        ("g", (True, False, False)),
        ("a", (False, True, False)),
        ("default", (False, False, True)),
        ("other", (False, False, False)),
    ):
        options.graph_source = source
        assert sources() == expected


def test_profiles_of_traversals_have_the_options_of_the_graph() -> None:
    """The profile has the graph's name, the language of traversals, and the passed settings."""
    profile = DseGraph.create_execution_profile("g1", request_timeout=9.0)
    assert isinstance(profile, GraphExecutionProfile)
    options: Any = profile.graph_options
    assert (options.graph_name, options.graph_protocol, options.graph_language) == (
        "g1",
        graph.GraphProtocol.GRAPHSON_2_0,
        "bytecode-json",
    )
    assert profile.request_timeout == 9.0
    newer: Any = DseGraph.create_execution_profile("g1", graph.GraphProtocol.GRAPHSON_3_0)
    assert newer.graph_options.graph_protocol == b"graphson-3.0"


def test_a_graph_statement_is_a_statement() -> None:
    """A graph statement has the settings of a statement, but its query cannot be sent as CQL."""
    statement = graph.SimpleGraphStatement("g.V()", consistency_level=1)
    assert isinstance(statement, graph.GraphStatement)
    assert isinstance(statement, SimpleStatement)
    assert statement.consistency_level == 1
    assert repr(statement) == str(statement) == "<SimpleGraphStatement query='g.V()'>"
    with pytest.raises(NotImplementedError, match=r"^a graph statement is not supported: graphs"):
        statement.query_string  # noqa: B018


def test_batches_of_traversals_can_be_created() -> None:
    """`DseGraph.batch` creates a `TraversalBatch` with the passed parameters."""
    batch = DseGraph.batch("session", default_traversal_source="g")
    assert isinstance(batch, fluent_query.TraversalBatch)
    assert (batch.session, batch.execution_profile, batch.default_traversal_source) == (
        "session",
        None,
        "g",
    )


def test_readers_of_graphson_are_related_as_in_cassandra_driver() -> None:
    reader_of_version_3 = graph.GraphSON3Reader({"cluster": None})
    assert isinstance(reader_of_version_3, graph.GraphSON2Reader)
    assert reader_of_version_3.context == {"cluster": None}
    assert issubclass(fluent.graph_traversal_row_factory, fluent.BaseGraphRowFactory)


# -- Insights --------------------------------------------------------------------------------------


def test_insights_are_never_reported() -> None:
    """A reporter can be created and stopped, but never supports a server version."""
    assert version_supports_insights("6.8.0") is False
    monitor = MonitorReporter(30, "session")
    assert (monitor.interval_sec, monitor.session) == (30, "session")
    monitor.stop()
    with pytest.raises(NotImplementedError, match="Insights"):
        monitor.start()
