"""Tests of `Converter`, which consists of two functions.

If a function fails, the error names the value.
"""

from __future__ import annotations

from typing import Any

import pytest

from cassandra.codecs import Converter
from cassandra.codecs.converter import from_native, to_native
from cassandra.cqltypes import EncodeTypeError, EncodeValueError
from cassandra.errors import DecodeError
from cassandra.sentinels import UNSET_VALUE


def test_a_converter_has_its_functions() -> None:
    converter: Converter[int, str] = Converter(to_cql=str, from_cql=int)
    assert converter.to_cql is str
    assert converter.from_cql is int
    assert repr(converter) == "Converter(to_cql=str, from_cql=int)"
    assert repr(Converter(from_cql=int)) == "Converter(from_cql=int)"
    # A converter cannot be changed.
    with pytest.raises(AttributeError):
        converter.to_cql = repr  # type: ignore[misc]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({}, ValueError, "needs to_cql, from_cql, or both"),
        ({"to_cql": 5}, TypeError, r"to_cql must be a function or None, but is 5 \(int\)"),
        ({"from_cql": "x"}, TypeError, r"from_cql must be a function or None, but is 'x' \(str\)"),
    ],
)
def test_invalid_converters_are_refused(
    arguments: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        Converter(**arguments)


@pytest.mark.parametrize(
    ("value", "error"), [("x", EncodeValueError), (None, EncodeTypeError), ([], EncodeTypeError)]
)
def test_a_function_that_fails_for_a_bound_value(value: Any, error: type[Exception]) -> None:
    """If a function fails for a bound value, the error names the converter and the type.

    The function's own error is the `__cause__` of this error.
    """
    with pytest.raises(error, match=r"int cannot convert .* to text: ") as caught:
        to_native(int, value, "text")
    assert caught.value.__cause__ is not None


@pytest.mark.parametrize("result", [None, UNSET_VALUE])
def test_a_function_that_returns_null_or_unset_is_refused(result: Any) -> None:
    with pytest.raises(EncodeValueError, match=r"made .* of 5 \(int\): .* bind .* itself instead"):
        to_native(lambda value: result, 5, "text")


def test_a_function_that_fails_for_a_value_of_a_row() -> None:
    """If a function fails for a value of a row, the error names the converter, value and type."""
    assert from_native(int, "5", "text") == 5
    with pytest.raises(DecodeError, match=r"int cannot convert 'x' \(str\) from text: ValueError"):
        from_native(int, "x", "text")


@pytest.mark.parametrize("convert", [to_native, from_native])
@pytest.mark.parametrize("error", [RuntimeError("limit"), MemoryError(), RecursionError()])
def test_an_error_of_a_signal_handler_is_raised_unchanged(convert: Any, error: Exception) -> None:
    """An error that a signal handler raises during a conversion is raised unchanged.

    If the function succeeds at a second attempt, its value was not the cause of the error.
    """
    errors = [error]

    def interrupted(value: object) -> object:
        if errors:
            raise errors.pop()
        return value

    with pytest.raises(type(error)) as caught:
        convert(interrupted, 5, "int")
    assert caught.value is error
    assert convert(interrupted, 5, "int") == 5
