"""Names of DataStax Enterprise's graphs and Insights, which some applications import.

You can import them, and create objects of most classes. Calls that need a DataStax server raise
NotImplementedError. The modules below ``cassandra.datastax`` and `cassandra.graph` re-export them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from cassandra._compat.refusal import INSIGHTS, holder, refuse, refusing
from cassandra._imports import Deferred
from cassandra.consistency import ConsistencyLevel
from cassandra.query.statement import SimpleStatement

if TYPE_CHECKING:
    from cassandra._compat import profiles
else:
    profiles = Deferred("cassandra._compat.profiles")

__all__ = ["GraphOptions", "graph_object_row_factory", "hand_over"]

_Value = TypeVar("_Value")

# The classes of each module below `cassandra.datastax`: (name, base class, names of the parameters,
# names of the methods). Objects have their parameters as attributes; "=" after a parameter means
# that its default is None. The methods raise NotImplementedError.
_CLASSES: dict[str, tuple[tuple[str, str, str, str], ...]] = {
    "graph.types": (
        ("Vertex", "Element", "id label type properties", ""),
        ("Edge", "Element", "id label type properties inV inVLabel outV outVLabel", ""),
        ("Path", "", "labels objects", ""),
    ),
    "graph.graphson": (
        ("GraphSON1Serializer", "", "context=", "serialize"),
        ("GraphSON2Serializer", "", "context=", "serialize"),
        ("GraphSON3Serializer", "", "context=", "serialize"),
        (
            "GraphSON1Deserializer",
            "",
            "",
            "deserialize_bigint deserialize_blob deserialize_date deserialize_decimal "
            "deserialize_double deserialize_duration deserialize_float deserialize_inet "
            "deserialize_int deserialize_linestring deserialize_point deserialize_polygon "
            "deserialize_smallint deserialize_time deserialize_timestamp deserialize_uuid "
            "deserialize_varint",
        ),
        ("GraphSON2Deserializer", "", "", ""),
        ("GraphSON3Deserializer", "", "", ""),
        ("GraphSON2Reader", "", "context extra_deserializer_map=", "read"),
        ("GraphSON3Reader", "GraphSON2Reader", "context extra_deserializer_map=", "read"),
    ),
    "graph.fluent": (
        ("BaseGraphRowFactory", "", "cluster", "__call__"),
        ("graph_traversal_row_factory", "BaseGraphRowFactory", "cluster", "__call__"),
        ("graph_traversal_dse_object_row_factory", "BaseGraphRowFactory", "cluster", "__call__"),
        (
            "DSESessionRemoteGraphConnection",
            "",
            "session graph_name= execution_profile=",
            "submit",
        ),
    ),
    "graph.fluent.predicates": (
        (
            "Search",
            "",
            "",
            "token token_prefix prefix regex token_regex fuzzy token_fuzzy phrase",
        ),
        ("Geo", "", "", "inside unit"),
        ("CqlCollection", "", "", "contains contains_value contains_key entry_eq"),
    ),
    "graph.fluent.query": (
        (
            "TraversalBatch",
            "",
            "session= execution_profile= default_traversal_source=",
            "add add_all execute as_graph_statement",
        ),
    ),
}
# The modules whose names `cassandra.graph` and `cassandra.datastax.graph` re-export.
_GRAPH = ("graph.graphson", "graph.query", "graph.types")
_DATASTAX = "cassandra.datastax."  # the prefix of the modules' names


def hand_over(public: str) -> Callable[[str], Any]:
    """Add the names that belong to a public module to it, and return its ``__getattr__``.

    :param public: the ``__name__`` of the public module, which imports this function.
    """
    # These two public modules re-export the names of all modules in `_GRAPH`.
    has_all_names = public in ("cassandra.graph", "cassandra.datastax.graph")
    defining_modules = (
        [_DATASTAX + module_name for module_name in _GRAPH] if has_all_names else [public]
    )
    public_names = {
        name: value
        for name, value in globals().items()
        if name[0] != "_" and getattr(value, "__module__", None) in defining_modules
    }
    module = vars(sys.modules[public])
    module.update(public_names, __all__=sorted(public_names))

    def raise_attribute_error(name: str) -> NoReturn:
        raise AttributeError(f"module {public!r} has no attribute {name!r}")

    # The public module uses this function as `__getattr__`: Python calls it for each name that the
    # module does not have.
    return raise_attribute_error


class Element:
    """The common base of vertices and edges."""

    element_type: str | None = None

    def __init__(self, id: Any, label: str, type: str, properties: dict[str, Any]) -> None:
        self.id = id
        self.label = label
        self.type = type
        self.properties = properties

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Element) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]  # ids may be dicts

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in vars(self).items())})"


class VertexProperty:
    """A property of a vertex, which may have properties itself."""

    def __init__(self, label: str, value: Any, properties: dict[str, Any] | None = None) -> None:
        self.label = label
        self.value = value
        self.properties = properties or {}


class T:
    """The names of the attributes of an element that are not properties, as in Gremlin."""

    id = "id"
    id_ = id
    key = "key"
    label = "label"
    value = "value"


class GraphProtocol:
    """The formats of graph results."""

    GRAPHSON_1_0 = b"graphson-1.0"
    GRAPHSON_2_0 = b"graphson-2.0"
    GRAPHSON_3_0 = b"graphson-3.0"


class GraphOptions:
    """Settings of graph queries.

    :param kwargs: graph_name, graph_source, graph_language, graph_protocol,
        graph_read_consistency_level and graph_write_consistency_level.
    :raises TypeError: if there is another keyword.
    """

    DEFAULT_GRAPH_PROTOCOL = GraphProtocol.GRAPHSON_1_0
    DEFAULT_GRAPH_LANGUAGE = b"gremlin-groovy"

    graph_name: str | bytes | None = None
    graph_source: str | bytes | None = b"g"
    graph_language: str | bytes | None = DEFAULT_GRAPH_LANGUAGE
    graph_protocol: str | bytes | None = None
    graph_read_consistency_level: int | None = None
    graph_write_consistency_level: int | None = None

    def __init__(self, **kwargs: Any) -> None:
        for name, value in kwargs.items():
            if name not in GraphOptions.__annotations__:
                raise TypeError(f"GraphOptions has no setting {name!r}")
            setattr(self, name, value)

    def copy(self) -> GraphOptions:
        """Return options with the same settings."""
        return GraphOptions(**vars(self))

    def update(self, options: GraphOptions) -> None:
        """Copy the settings of `options`."""
        vars(self).update(vars(options))

    @property
    def is_default_source(self) -> bool:
        """True if the traversal source is "default"."""
        return self.graph_source in (b"default", "default")

    @property
    def is_analytics_source(self) -> bool:
        """True if the traversal source is "a", which is for analytics."""
        return self.graph_source in (b"a", "a")

    @property
    def is_graph_source(self) -> bool:
        """True if the traversal source is "g", which is for real-time queries."""
        return self.graph_source in (b"g", "g")

    def set_source_default(self) -> None:
        """Set the traversal source to "default"."""
        self.graph_source = b"default"

    def set_source_analytics(self) -> None:
        """Set the traversal source to "a", which is for analytics."""
        self.graph_source = b"a"

    def set_source_graph(self) -> None:
        """Set the traversal source to "g", which is for real-time queries."""
        self.graph_source = b"g"

    def __repr__(self) -> str:
        names = ConsistencyLevel.value_to_name
        options = (
            f"{name}={names.get(value, value) if name.endswith('level') else repr(value)}"
            for name, value in vars(self).items()
        )
        return f"GraphOptions({', '.join(options)})"


class Result:
    """An element of a graph result, as parsed from JSON.

    :param value: a number, a string, a list or a dict.
    """

    as_vertex = staticmethod(refusing("Result.as_vertex()"))
    as_edge = staticmethod(refusing("Result.as_edge()"))
    as_path = staticmethod(refusing("Result.as_path()"))

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Result) and self.value == other.value

    __hash__ = None  # type: ignore[assignment]  # a dict has no hash either

    def __repr__(self) -> str:
        return f"Result({self.value!r})"


class GraphStatement:
    """Base of graph statements."""


class SimpleGraphStatement(GraphStatement, SimpleStatement):
    """A graph query as a string. You can create it, but not execute it."""

    @property
    def query_string(self) -> NoReturn:
        """The query, which must not be sent as CQL.

        :raises NotImplementedError: always.
        """
        refuse("a graph statement")

    def __repr__(self) -> str:
        return f"<SimpleGraphStatement query={self._query_string!r}>"

    __str__ = __repr__


class DseGraph:
    """In cassandra-driver, creates graph traversals; here, methods raise NotImplementedError."""

    DSE_GRAPH_QUERY_LANGUAGE = "bytecode-json"

    @staticmethod
    def create_execution_profile(
        graph_name: str, graph_protocol: bytes = GraphProtocol.GRAPHSON_2_0, **kwargs: Any
    ) -> profiles.GraphExecutionProfile:
        """Return a profile with these graph options. It cannot be used to execute graph queries."""
        options = GraphOptions(
            graph_name=graph_name,
            graph_protocol=graph_protocol,
            graph_language=DseGraph.DSE_GRAPH_QUERY_LANGUAGE,
        )
        return profiles.GraphExecutionProfile(graph_options=options, **kwargs)

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
    def batch(*args: Any, **kwargs: Any) -> Any:
        """Return a `TraversalBatch`, whose methods raise NotImplementedError."""
        return globals()["TraversalBatch"](*args, **kwargs)


class MonitorReporter:
    """In cassandra-driver, reports a session to Insights; here, it cannot be started.

    :param interval_sec: seconds between reports; without effect.
    :param session: any session.
    """

    def __init__(self, interval_sec: float, session: object) -> None:
        self.interval_sec = interval_sec
        self.session = session

    def start(self) -> NoReturn:
        """Raise NotImplementedError: Insights are not supported."""
        refuse("MonitorReporter.start()", INSIGHTS)

    def stop(self) -> None:
        """Do nothing, because the reporter was never started."""


def version_supports_insights(dse_version: str | None) -> bool:
    """Return False for any version, because this driver does not report to Insights.

    :param dse_version: the server's version.
    """
    return False


def single_object_row_factory(column_names: Sequence[str], rows: Sequence[Any]) -> list[Any]:
    """Return the first value of each row."""
    return [row[0] for row in rows]


graph_result_row_factory = refusing("graph_result_row_factory")
graph_object_row_factory = refusing("graph_object_row_factory")
graph_graphson2_row_factory = refusing("graph_graphson2_row_factory")
graph_graphson3_row_factory = refusing("graph_graphson3_row_factory")


def to_bigint(value: _Value) -> _Value:
    """Return `value` unchanged: graph queries cannot be executed anyway."""
    return value


to_int = to_smallint = to_double = to_float = to_bigint


def _create_classes() -> None:
    """Create the classes of `_CLASSES`, and set each ``__module__`` to the public module."""
    module_globals = globals()
    for module, rows in _CLASSES.items():
        for name, base, parameters, refused_methods in rows:
            # The classes are global variables of this module, in which `hand_over` finds them.
            module_globals[name] = cls = holder(
                name, parameters, refused_methods, base=module_globals.get(base, object)
            )
            cls.__module__ = _DATASTAX + module
            if base == "Element":
                cls.element_type = name.lower()
    for module, classes in {
        "graph.types": (Element, VertexProperty, T),
        "graph.query": (
            GraphProtocol, GraphOptions, GraphStatement, SimpleGraphStatement, Result,
            single_object_row_factory, graph_result_row_factory, graph_object_row_factory,
            graph_graphson2_row_factory, graph_graphson3_row_factory,
        ),
        "graph.graphson": (to_bigint,),
        "graph.fluent": (DseGraph,),
        "insights.reporter": (MonitorReporter,),
        "insights.util": (version_supports_insights,),
    }.items():  # fmt: skip
        # The classes and functions in this dict are defined by code in this module, and not in
        # `_CLASSES`. Set their public module.
        for public_object in classes:
            public_object.__module__ = _DATASTAX + module


_create_classes()
