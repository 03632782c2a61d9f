"""`ContextQuery`: a ``with`` block in which models use another keyspace or connection."""

from __future__ import annotations

import warnings
from typing import Any

from cassandra._habits import frame_of_user_code, stack_level
from cassandra._truth_tests import identity_of, is_with_without_name
from cassandra.cqlengine.connection import registered
from cassandra.cqlengine.mapping import context_class


def _advice_on(argument: object) -> str:
    """Return what to write instead of `argument`, which is not a model, for an error message."""
    if isinstance(argument, str):
        return f" Write ContextQuery(Model, keyspace={argument!r})."
    if isinstance(argument, (list, tuple)):
        return " Write ContextQuery(*models, keyspace=...)."
    return ""


class ContextQuery:
    """A block in which models are read from and written to another keyspace or connection.

    The block gets a class like the model, which uses the other keyspace or connection:
    ``with ContextQuery(Automobile, keyspace="test2") as A: A.objects.create(...)``. If you pass
    several models, the block gets a tuple of classes.

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
                raise ValueError(f"Models must be derived from base Model.{_advice_on(model)}")
        if connection is not None:
            registered(connection)  # raises an error here if the name is unknown
        self._maker = identity_of(frame_of_user_code())  # the code that creates this object
        # Create new classes instead of changing the models, because other threads use the models
        # too.
        self.models = [
            context_class(model, keyspace, connection, is_private=True) for model in args
        ]

    def __enter__(self) -> Any:
        frame = frame_of_user_code()
        # In `with ContextQuery(...):` without `as`, the block cannot use the class for the other
        # keyspace or connection, so warn.
        if self._maker == identity_of(frame) and is_with_without_name(frame):
            warnings.warn(
                "a ContextQuery does not change the models themselves, so this block has no "
                "effect: write `with ContextQuery(Model, ...) as Other:`, and use Other in it",
                RuntimeWarning,
                stacklevel=stack_level(),
            )
        return self.models[0] if len(self.models) == 1 else tuple(self.models)

    # There is nothing to undo, because the models themselves were not changed.
    def __exit__(self, *details: object) -> None:
        return None

    async def __aenter__(self) -> Any:
        return self.models[0] if len(self.models) == 1 else tuple(self.models)

    async def __aexit__(self, *details: object) -> None:
        return None


ContextQuery.__module__ = "cassandra.cqlengine.query"
