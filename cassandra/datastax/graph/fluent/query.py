"""Batches of graph traversals: the name only, since graphs are not supported."""

from __future__ import annotations

from typing import Any, NoReturn

from cassandra._compat.refusal import refuse

__all__ = ["TraversalBatch"]


class TraversalBatch:
    """Traversals to execute together. It can be made, and not used."""

    def __init__(
        self,
        session: Any = None,
        execution_profile: object = None,
        default_traversal_source: object = None,
    ) -> None:
        self._session = session
        self._execution_profile = execution_profile

    def add(self, traversal: object) -> NoReturn:
        """Raise NotImplementedError: graphs are not supported."""
        refuse("TraversalBatch.add()")

    def add_all(self, traversals: object) -> NoReturn:
        """Raise NotImplementedError: graphs are not supported."""
        refuse("TraversalBatch.add_all()")

    def execute(self) -> NoReturn:
        """Raise NotImplementedError: graphs are not supported."""
        refuse("TraversalBatch.execute()")

    def as_graph_statement(self, graph_protocol: object = None) -> NoReturn:
        """Raise NotImplementedError: graphs are not supported."""
        refuse("TraversalBatch.as_graph_statement()")
