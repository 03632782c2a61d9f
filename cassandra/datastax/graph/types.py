"""Elements of graphs: plain holders of what a program gives them."""

from __future__ import annotations

from typing import Any

__all__ = ["Edge", "Element", "Path", "T", "Vertex", "VertexProperty"]


class Element:
    """The common part of vertices and edges."""

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


class Vertex(Element):
    """A vertex."""

    element_type = "vertex"


class VertexProperty:
    """A property of a vertex, which may have properties of its own."""

    def __init__(self, label: str, value: Any, properties: dict[str, Any] | None = None) -> None:
        self.label = label
        self.value = value
        self.properties = properties or {}


class Edge(Element):
    """An edge, with the ids and labels of both of its vertices."""

    element_type = "edge"

    def __init__(
        self,
        id: Any,
        label: str,
        type: str,
        properties: dict[str, Any],
        inV: Any,
        inVLabel: str,
        outV: Any,
        outVLabel: str,
    ) -> None:
        super().__init__(id, label, type, properties)
        self.inV = inV
        self.inVLabel = inVLabel
        self.outV = outV
        self.outVLabel = outVLabel


class Path:
    """The labels and the objects of a traversal's way."""

    def __init__(self, labels: list[Any], objects: list[Any]) -> None:
        self.labels = labels
        self.objects = objects


class T:
    """The attributes of an element that are not properties."""

    id = "id"
    id_ = id
    key = "key"
    label = "label"
    value = "value"
