"""The errors of the whole mapper; those of one room stand in that room."""

from __future__ import annotations

__all__ = ["CQLEngineException", "UnicodeMixin", "ValidationError"]


class CQLEngineException(Exception):
    """Base of the mapper's errors."""


class ValidationError(CQLEngineException):
    """A value that its column cannot hold, or a column that the model does not have."""


class UnicodeMixin:
    """Base of objects with a text; kept for programs that name it."""

    __slots__ = ()


for _class in (CQLEngineException, ValidationError, UnicodeMixin):
    _class.__module__ = "cassandra.cqlengine"
del _class
