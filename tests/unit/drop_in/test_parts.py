"""Test less common names that applications import from cassandra-driver."""

from __future__ import annotations

from typing import Any

from cassandra import NullHandler, policies
from cassandra.cluster import ControlConnectionQueryFallback, ProfileManager, run_in_executor
from cassandra.cmurmur3 import murmur3
from cassandra.connection import NONBLOCKING
from cassandra.errors import WriteType
from cassandra.metadata import ReplicationStrategy, trim_if_startswith


def test_various_names_can_be_imported_and_used() -> None:
    """Less common names of cassandra-driver can be imported, and behave as expected."""
    assert NullHandler.__module__ == "logging"
    assert policies.WT is WriteType
    assert murmur3(b"123") == -7468325962851647638
    assert [mode.name for mode in ControlConnectionQueryFallback] == [
        "Disabled", "Fallback", "SkipPoolCreation",
    ]  # fmt: skip
    assert ProfileManager(pools_allowed=True).pools_allowed is True
    assert ReplicationStrategy().name == ""
    assert trim_if_startswith("org.x", "org.") == "x"
    assert len(NONBLOCKING) == 2


def test_run_in_executor_submits_the_method() -> None:
    """A method with `run_in_executor` is submitted to the object's attribute `executor`."""

    class Executor:
        def submit(self, function: Any, *args: Any) -> Any:
            return "submitted", function(*args)

    class Worker:
        executor = Executor()

        @run_in_executor  # type: ignore[untyped-decorator]
        def work(self, number: int) -> int:
            return number + 1

    assert Worker().work(4) == ("submitted", 5)
