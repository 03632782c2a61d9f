"""`ContextQuery`: a ``with`` block in which models use another keyspace or connection."""

from __future__ import annotations

from typing import Any

from cassandra.cqlengine.connection import registered
from cassandra.cqlengine.mapping import context_class


class ContextQuery:
    """Creates classes like the models, for another keyspace or connection.

    ``with ContextQuery(Automobile, keyspace="test2") as A: A.objects.create(...)``. With several
    models, the value after ``as`` is a tuple of classes.

    :param args: the models.
    :param kwargs: `keyspace` and `connection`, the names to use.
    :raises ValueError: if there is no model, or an argument is not a model.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        keyspace = kwargs.pop("keyspace", None)
        connection = kwargs.pop("connection", None)
        if kwargs:
            raise ValueError(f"Unknown keyword arguments: {', '.join(kwargs)}")
        if not args:
            raise ValueError("No model provided.")
        for model in args:
            if not isinstance(model, type) or not hasattr(model, "__mapping__"):
                raise ValueError("Models must be derived from base Model.")
        if connection is not None:
            registered(connection)  # raises an error here if the name is unknown
        # Create new classes, because other threads continue to use the models themselves.
        self.models = [
            context_class(model, keyspace, connection, is_private=True) for model in args
        ]

    def __enter__(self) -> Any:
        return self.models[0] if len(self.models) == 1 else tuple(self.models)

    # Nothing to undo, because the models themselves were not changed.
    def __exit__(self, *details: object) -> None:
        return None

    async def __aenter__(self) -> Any:
        return self.__enter__()

    async def __aexit__(self, *details: object) -> None:
        return None


ContextQuery.__module__ = "cassandra.cqlengine.query"
