"""The mapper's general errors.

Errors that only one part of the mapper raises are defined in the module of that part.
"""

from __future__ import annotations


class CQLEngineException(Exception):
    """Base class of the mapper's errors."""


class ValidationError(CQLEngineException):
    """A column cannot hold its value, or the model does not have the column."""


class UnicodeMixin:
    """An empty base class, which exists because applications of cassandra-driver import it."""

    __slots__ = ()


for _class in (CQLEngineException, ValidationError, UnicodeMixin):
    _class.__module__ = "cassandra.cqlengine"
del _class
