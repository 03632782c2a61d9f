"""Consistency levels that are passed in place of a timeout."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import pytest

import cassandra
from cassandra import ConsistencyLevel
from cassandra.client import checks, misplaced_levels

pytestmark = pytest.mark.skipif(
    sys.version_info < (3, 11), reason="code does not have the positions of calls"
)


# A session that only checks its arguments. Because of the name of its module, its frames count as
# code of the driver and are skipped.
_OF_DRIVER: dict[str, Any] = {"__name__": "cassandra.session", "checks": checks}
exec(
    """
class Session:
    def execute(self, query, parameters=None, timeout=None):
        checks.check_timeout(timeout)

    def execute_async(self, query, parameters=None, trace=False, payload=None, timeout=None):
        checks.check_timeout(timeout)
""",
    _OF_DRIVER,
)
SESSION = _OF_DRIVER["Session"]()


@pytest.fixture(autouse=True)
def no_calls_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reset the record of calls that were inspected before the test."""
    monkeypatch.setattr(misplaced_levels, "_looks_left", 1000)
    monkeypatch.setattr(misplaced_levels, "_seen_calls", set())


def by_position() -> None:
    SESSION.execute("SELECT", None, ConsistencyLevel.QUORUM)


def by_name() -> None:
    # Columns in code objects count bytes, and "é" has two bytes.
    "é" + str(SESSION.execute("é", timeout=cassandra.ConsistencyLevel.QUORUM))


def over_lines() -> None:
    SESSION.execute(
        "SELECT",
        None,
        ConsistencyLevel.
        QUORUM,
    )  # fmt: skip


def of_future() -> None:
    SESSION.execute_async("SELECT", None, False, None, ConsistencyLevel.QUORUM)


@pytest.mark.parametrize("call", [by_position, by_name, over_lines, of_future])
def test_a_level_is_warned_of(call: Any) -> None:
    """A consistency level that is passed for a timeout causes one warning, in the caller's file."""
    advice = "ConsistencyLevel.QUORUM was passed for the timeout, which is now 4 seconds: set cons"
    with pytest.warns(RuntimeWarning, match=advice) as seen:
        call()
    assert seen[0].filename == __file__
    # A second call from the same line causes no warning, because each line is inspected only once.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        call()


def seconds_beside_a_level() -> None:
    SESSION.execute(f"SELECT {ConsistencyLevel.QUORUM}", (ConsistencyLevel.QUORUM,), 4)
    SESSION.execute(f"SELECT {ConsistencyLevel.QUORUM}", timeout=4)


def seconds_in_a_variable() -> None:
    level = timeout = ConsistencyLevel.QUORUM
    SESSION.execute("SELECT", level, timeout)


def another_attribute() -> None:
    class Times:
        ConsistencyLevel = 4

    SESSION.execute("SELECT", None, Times.ConsistencyLevel)


def trace_of_a_future() -> None:
    SESSION.execute_async("SELECT", None, ConsistencyLevel.ONE, None, 4)


@pytest.mark.parametrize(
    "call", [seconds_beside_a_level, seconds_in_a_variable, another_attribute, trace_of_a_future]
)
def test_other_timeouts_are_not(call: Any) -> None:
    """A number of seconds causes no warning, even if a consistency level occurs in the call.

    A level in a variable or in another parameter causes no warning either.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        call()


def test_code_without_its_source() -> None:
    """If the source of the calling code is not available, a level causes no warning."""
    code = compile("session.execute('', None, ConsistencyLevel.ONE)", "<nowhere>", "exec")
    names = {"session": SESSION, "ConsistencyLevel": ConsistencyLevel, "__name__": "application"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        exec(code, names)


def test_the_number_of_looks_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a limited number of calls is inspected. After these, a level causes no warning."""
    monkeypatch.setattr(misplaced_levels, "_looks_left", 1)
    SESSION.execute("SELECT", None, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        by_position()


def test_a_level_in_the_place_of_trace() -> None:
    with pytest.warns(RuntimeWarning, match=r"consistency_level=ConsistencyLevel\.QUORUM\) for a"):
        checks.check_trace(ConsistencyLevel.QUORUM)
