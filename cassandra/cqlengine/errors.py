"""The errors of the whole mapper; each subpackage defines its more special errors."""

from __future__ import annotations

__all__ = ["CQLEngineException", "UnicodeMixin", "ValidationError"]


class CQLEngineException(Exception):
    """Base class of the mapper's errors."""


class ValidationError(CQLEngineException):
    """A column cannot hold its value, or the model does not have the column."""


class UnicodeMixin:
    """Base class of objects with a string form; kept for applications that use its name."""

    __slots__ = ()


for _class in (CQLEngineException, ValidationError, UnicodeMixin):
    _class.__module__ = "cassandra.cqlengine"
del _class
