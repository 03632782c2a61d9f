"""Converters: two functions that convert between application values and CQL values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from cassandra.cqltypes.failures import EncodeTypeError, EncodeValueError, fails_again, shown
from cassandra.errors import DecodeError
from cassandra.sentinels import UNSET_VALUE

# P is the class of the application's values, and C the class of the CQL values.
P = TypeVar("P")
C = TypeVar("C")


class Converter(Generic[P, C]):
    """A pair of functions that convert between an application's values and CQL values.

    Register a converter for a CQL type, a column or a class by `CodecRegistry`. A converter is
    immutable, and threads may share it. The functions must have no side effects and must not block.
    They are never called for a null: None is written as null, and a null is read as None.

    :param to_cql: called with a bound value; returns the value that the driver writes. None writes
        bound values unchanged.
    :param from_cql: called with the CQL value in a row; returns the application's value. None
        leaves values in rows unchanged.
    :raises TypeError: if a function is not callable.
    :raises ValueError: if both are None.

    .. versionadded:: 4.0
    """

    __slots__ = ("_from_cql", "_to_cql")

    def __init__(
        self,
        to_cql: Callable[[P], C] | None = None,
        from_cql: Callable[[C], P] | None = None,
    ) -> None:
        for name, function in (("to_cql", to_cql), ("from_cql", from_cql)):
            if function is not None and not callable(function):
                raise TypeError(
                    f"{name} must be a function or None, but is {function!r} "
                    f"({type(function).__name__})"
                )
        if to_cql is None and from_cql is None:
            raise ValueError("a Converter needs to_cql, from_cql, or both: it has neither")
        self._to_cql = to_cql
        self._from_cql = from_cql

    @property
    def to_cql(self) -> Callable[[P], C] | None:
        """The function that converts bound values; None if they are written unchanged."""
        return self._to_cql

    @property
    def from_cql(self) -> Callable[[C], P] | None:
        """The function that converts values in rows; None if they stay unchanged."""
        return self._from_cql

    def __repr__(self) -> str:
        parts = [
            f"{name}={name_of(function)}"
            for name, function in (("to_cql", self._to_cql), ("from_cql", self._from_cql))
            if function is not None
        ]
        return f"Converter({', '.join(parts)})"


def name_of(function: Any) -> str:
    """Return the name of a function for an error message."""
    name = getattr(function, "__qualname__", None)
    return name if isinstance(name, str) else repr(function)


def to_native(to_cql: Callable[[Any], Any], value: object, cql_name: str) -> object:
    """Convert a bound value to a CQL value.

    :param to_cql: the function of the converter.
    :param value: the bound value, which must not be None.
    :param cql_name: the CQL type of the result, such as ``text``, for the error message.
    :raises EncodeTypeError: if the function raises a TypeError.
    :raises EncodeValueError: if the function raises another error, or returns None or
        `UNSET_VALUE`.
    """
    try:
        converted = to_cql(value)
    except Exception as error:
        if not fails_again(error, lambda: to_cql(value)):
            raise
        error_class = EncodeTypeError if isinstance(error, TypeError) else EncodeValueError
        failure: Exception = error_class(
            f"{name_of(to_cql)} cannot convert {shown(value)} to {cql_name}: "
            f"{type(error).__name__}: {error}"
        )
        note_reason(failure, f"{name_of(to_cql)} has raised {type(error).__name__}")
        raise failure from error
    if converted is None or converted is UNSET_VALUE:
        raise EncodeValueError(
            f"{name_of(to_cql)} made {converted!r} of {shown(value)}: a converter has to return a "
            f"value of {cql_name}; bind {converted!r} itself instead"
        )
    return converted


def from_native(from_cql: Callable[[Any], Any], value: object, cql_name: str) -> object:
    """Convert a CQL value to an application value.

    :param from_cql: the function of the converter.
    :param value: the CQL value, which must not be None.
    :param cql_name: the CQL type of the value, for the error message.
    :raises DecodeError: if the function raises an error.
    """
    try:
        return from_cql(value)
    except Exception as error:
        if not fails_again(error, lambda: from_cql(value)):
            raise
        failure = DecodeError(
            f"{name_of(from_cql)} cannot convert {shown(value)} from {cql_name}: "
            f"{type(error).__name__}: {error}"
        )
        note_reason(failure, f"{name_of(from_cql)} has raised {type(error).__name__}")
        raise failure from error


def note_reason(error: Exception, reason: str) -> None:
    """Give an error a short reason, which does not show the value, for encrypted columns.

    :param error: an error about a value.
    :param reason: what has failed.
    """
    error.__dict__["_reason"] = reason


def reason_of(error: Exception) -> str | None:
    """Return what has failed, without the value; None if that is not known.

    :param error: an error about a value.
    """
    reason: str | None = getattr(error, "_reason", None)
    return reason


Converter.__module__ = "cassandra.codecs"
