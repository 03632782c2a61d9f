"""Statements, options and row factories of graphs: they hold what a program gives them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from cassandra._compat.refusal import refuse
from cassandra.consistency import ConsistencyLevel
from cassandra.query.statement import SimpleStatement

__all__ = [
    "GraphOptions",
    "GraphProtocol",
    "GraphStatement",
    "Result",
    "SimpleGraphStatement",
    "graph_graphson2_row_factory",
    "graph_graphson3_row_factory",
    "graph_object_row_factory",
    "graph_result_row_factory",
    "single_object_row_factory",
]

_SETTINGS = (
    "graph_name",
    "graph_source",
    "graph_language",
    "graph_protocol",
    "graph_read_consistency_level",
    "graph_write_consistency_level",
)


class GraphProtocol:
    """The forms in which graph results travel."""

    GRAPHSON_1_0 = b"graphson-1.0"
    GRAPHSON_2_0 = b"graphson-2.0"
    GRAPHSON_3_0 = b"graphson-3.0"


class GraphOptions:
    """Settings of graph queries.

    :param kwargs: graph_name, graph_source, graph_language, graph_protocol,
        graph_read_consistency_level and graph_write_consistency_level.
    :raises TypeError: if there is another one.
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
            if name not in _SETTINGS:
                raise TypeError(f"GraphOptions has no setting {name!r}")
            setattr(self, name, value)

    def copy(self) -> GraphOptions:
        """Return options with the same settings."""
        return GraphOptions(**vars(self))

    def update(self, options: GraphOptions) -> None:
        """Take over what `options` were given."""
        vars(self).update(vars(options))

    @property
    def is_default_source(self) -> bool:
        """True if the traversal source is the default one."""
        return self.graph_source in (b"default", "default")

    @property
    def is_analytics_source(self) -> bool:
        """True if the traversal source is the one for analytics."""
        return self.graph_source in (b"a", "a")

    @property
    def is_graph_source(self) -> bool:
        """True if the traversal source is the one for real-time queries."""
        return self.graph_source in (b"g", "g")

    def set_source_default(self) -> None:
        """Set the traversal source to the default one."""
        self.graph_source = b"default"

    def set_source_analytics(self) -> None:
        """Set the traversal source to the one for analytics."""
        self.graph_source = b"a"

    def set_source_graph(self) -> None:
        """Set the traversal source to the one for real-time queries."""
        self.graph_source = b"g"

    def __repr__(self) -> str:
        names = ConsistencyLevel.value_to_name
        shown = (
            f"{name}={names.get(value, value) if name.endswith('level') else repr(value)}"
            for name, value in vars(self).items()
        )
        return f"GraphOptions({', '.join(shown)})"


class GraphStatement:
    """Base of graph statements."""


class SimpleGraphStatement(GraphStatement, SimpleStatement):
    """A graph query as text. It can be made, and not executed."""

    @property
    def query_string(self) -> NoReturn:
        """The text, which nothing may send as CQL.

        :raises NotImplementedError: always.
        """
        refuse("a graph statement")

    def __repr__(self) -> str:
        return f"<SimpleGraphStatement query={self._query_string!r}>"

    __str__ = __repr__


class Result:
    """One element of a graph result, as it came from JSON.

    :param value: a number, a text, a list or a dict.
    """

    def __init__(self, value: Any) -> None:
        self.value = value

    def as_vertex(self) -> NoReturn:
        """Raise NotImplementedError: graphs are not supported."""
        refuse("Result.as_vertex()")

    def as_edge(self) -> NoReturn:
        """Raise NotImplementedError: graphs are not supported."""
        refuse("Result.as_edge()")

    def as_path(self) -> NoReturn:
        """Raise NotImplementedError: graphs are not supported."""
        refuse("Result.as_path()")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Result) and self.value == other.value

    __hash__ = None  # type: ignore[assignment]  # a dict has no hash either

    def __repr__(self) -> str:
        return f"Result({self.value!r})"


def single_object_row_factory(column_names: Sequence[str], rows: Sequence[Any]) -> list[Any]:
    """Return the first value of each row."""
    return [row[0] for row in rows]


def graph_result_row_factory(column_names: Sequence[str], rows: Sequence[Any]) -> NoReturn:
    """Raise NotImplementedError: graphs are not supported."""
    refuse("graph_result_row_factory")


def graph_object_row_factory(column_names: Sequence[str], rows: Sequence[Any]) -> NoReturn:
    """Raise NotImplementedError: graphs are not supported."""
    refuse("graph_object_row_factory")


def graph_graphson2_row_factory(column_names: Sequence[str], rows: Sequence[Any]) -> NoReturn:
    """Raise NotImplementedError: graphs are not supported."""
    refuse("graph_graphson2_row_factory")


def graph_graphson3_row_factory(column_names: Sequence[str], rows: Sequence[Any]) -> NoReturn:
    """Raise NotImplementedError: graphs are not supported."""
    refuse("graph_graphson3_row_factory")
