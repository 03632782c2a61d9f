"""Functions that check the arguments of an application's calls."""

from __future__ import annotations

import importlib.util
import math
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from cassandra.client import checks
from cassandra.errors import DependencyException
from tests.unit.engine.partners import new_host


class Point:
    """An object whose attribute can be bound to a marker by name."""

    def __init__(self) -> None:
        self.x = 1


def test_parameters_must_be_a_sequence_or_a_mapping() -> None:
    """`check_parameters` refuses single values, and the error says how to write a single value."""
    for valid in ((), [1], {"a": 1}, "a", Point()):
        checks.check_parameters(valid)
    for refused in ("ab", b"ab", 5):
        with pytest.raises(TypeError, match=r"must be a sequence or a mapping.*written \(value,\)"):
            checks.check_parameters(refused)
    # These values need bind markers with names. With `named=False`, the markers have no names.
    for by_name in ("a", Point()):
        with pytest.raises(TypeError, match="must be a sequence or a mapping"):
            checks.check_parameters(by_name, named=False)


@pytest.mark.parametrize(
    ("timeout", "error"),
    [
        (True, TypeError),
        ("1", TypeError),
        (math.nan, ValueError),
        (math.inf, ValueError),
    ],
)
def test_timeouts_must_be_finite_numbers_or_none(timeout: Any, error: type[Exception]) -> None:
    for valid in (None, 0.1, 5, 0, -1.5):
        checks.check_timeout(valid)
    with pytest.raises(error, match=f"{timeout}"):
        checks.check_timeout(timeout)


def test_a_timeout_in_milliseconds_is_warned_of() -> None:
    """A number that is a usual amount of milliseconds, but not of seconds, causes a warning."""
    with pytest.warns(RuntimeWarning, match=r"timeout=5000 is in.*write timeout=5 for 5000 milli"):
        checks.check_timeout(5000)
    for seconds in (4999, 7200, 86_400, 10**9):
        checks.check_timeout(seconds)


def test_a_timeout_in_the_place_of_trace_is_warned_of() -> None:
    """A number of seconds as `trace` causes a warning.

    It was probably meant as the timeout. The third argument of `execute` is the timeout, but the
    third argument of `execute_async` is `trace`.
    """
    with pytest.warns(RuntimeWarning, match=r"trace=5\.0 asks .* write timeout=5\.0 for a timeout"):
        checks.check_trace(5.0)
    for trace in (True, False, None, 1, 0):
        checks.check_trace(trace)


def test_typed_factory_returns_objects_of_the_row_type() -> None:
    """`typed_factory` returns a row factory that makes each row an object of the class."""

    class Row(NamedTuple):
        a: int

    assert checks.typed_factory(Row)(["a"], [(1,)]) == [Row(1)]
    with pytest.raises(TypeError):
        checks.typed_factory(5)  # type: ignore[arg-type]


def test_keyspaces_are_strings_and_hosts_are_host_objects() -> None:
    """`check_keyspace` refuses all but non-empty strings; `check_host` refuses addresses."""
    checks.check_keyspace("ks")
    with pytest.raises(TypeError, match="a keyspace is a str, not int: 5"):
        checks.check_keyspace(5)
    with pytest.raises(ValueError, match="must not be empty"):
        checks.check_keyspace("")
    checks.check_host(new_host("10.0.0.1"))
    with pytest.raises(TypeError, match=r"host must be a Host.*but is '10\.0\.0\.1'"):
        checks.check_host("10.0.0.1")


def test_vectors_need_a_known_type_and_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """`vectors` must be one of `VECTOR_TYPES`, and "numpy" needs the package NumPy."""

    def request_with_vectors(vectors: str) -> Any:
        return SimpleNamespace(vectors=vectors)

    for valid in checks.VECTOR_TYPES:
        checks.check_vectors(request_with_vectors(valid))
    with pytest.raises(ValueError, match="not as 'tensor'"):
        checks.check_vectors(request_with_vectors("tensor"))
    # Pretend that no optional package is installed.
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    checks.check_vectors(request_with_vectors("array"))
    with pytest.raises(DependencyException, match=r"turbocql\[numpy\]"):
        checks.check_vectors(request_with_vectors("numpy"))


def test_a_list_of_queries_must_have_strings() -> None:
    """`list_of_queries` accepts a sequence of strings, and no single string or other items."""
    queries = ("a", "b")
    assert checks.list_of_queries(queries) == ["a", "b"]
    with pytest.raises(TypeError, match="not a single text"):
        checks.list_of_queries("ab")
    with pytest.raises(TypeError, match="a query to prepare is a str, not int: 5"):
        checks.list_of_queries(["a", 5])  # type: ignore[list-item]


def test_one_statement_with_its_rows_is_no_list_of_pairs() -> None:
    """`check_pairs` refuses an object that is not iterable; the error says how to write pairs."""
    with pytest.raises(TypeError, match=r"but got an object .*row in rows\)"):
        checks.check_pairs(object())


class Items:
    """A sequence without `__iter__`, which Python can still iterate over."""

    def __getitem__(self, index: int) -> Any:
        return [("SELECT 1", None)][index]


def test_a_sequence_without_iter_may_have_the_pairs() -> None:
    checks.check_pairs(Items())
