"""Test errors of mapper queries, such as LWTException for a conditional write without effect."""

from __future__ import annotations

import pickle
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra import WriteTimeout
from cassandra.cqlengine import CQLEngineException
from cassandra.cqlengine.query import DoesNotExist, LWTException, QueryException
from cassandra.cqlengine.query.errors import check_applied


def result(names: list[str] | None, applied: bool, row: Any = None) -> Any:
    """Return a fake result with these columns.

    :param applied: the value of `was_applied`.
    :param row: the first row.
    """
    return SimpleNamespace(column_names=names, was_applied=applied, one=lambda: row)


def test_only_a_write_that_was_not_applied_is_an_error() -> None:
    """`check_applied` raises LWTException only if "[applied]" is False."""
    # None of these results has a column "[applied]" with the value False, so none of them is a
    # failure.
    check_applied(object())
    check_applied(result(names=None, applied=False))
    check_applied(result(["a"], applied=False))
    check_applied(result(["[applied]"], applied=True))
    with pytest.raises(LWTException, match="LWT Query was not applied") as refused:
        check_applied(result(["[applied]", "a"], applied=False, row={"[applied]": False, "a": 5}))
    assert refused.value.existing == {"[applied]": False, "a": 5}
    with pytest.raises(LWTException) as refused:
        check_applied(result(["[applied]"], applied=False))
    assert refused.value.existing == {"[applied]": False}


def test_the_ignored_error_of_a_conditional_write_is_raised() -> None:
    """If a retry policy has ignored a conditional write's error, `check_applied` raises the error.

    In this case, it is unknown whether the write was applied.
    """
    ignored = SimpleNamespace(
        column_names=None,
        _message=None,
        attempts=[SimpleNamespace(error=WriteTimeout("late"), decision="ignore")],
    )
    with pytest.raises(WriteTimeout, match="late"):
        check_applied(ignored)


def test_an_error_can_be_pickled() -> None:
    """LWTException can be pickled with its existing row."""
    error = pickle.loads(pickle.dumps(LWTException({"a": 5})))
    assert type(error) is LWTException
    assert error.existing == {"a": 5}


def test_modules_of_the_errors() -> None:
    """LWTException and DoesNotExist name `cassandra.cqlengine.query` as their module.

    Applications import them from there. Both have the documented base classes.
    """
    assert LWTException.__module__ == "cassandra.cqlengine.query"
    assert DoesNotExist.__module__ == "cassandra.cqlengine.query"
    assert issubclass(DoesNotExist, QueryException)
    assert issubclass(LWTException, CQLEngineException)
