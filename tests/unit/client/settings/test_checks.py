"""Checks of single settings: what is taken, and the errors that name the setting and the value."""

from __future__ import annotations

import datetime
import math
from typing import Any

import pytest

from cassandra.auth import PlainTextAuthProvider
from cassandra.client.settings import checks as checks
from cassandra.policies import ColumnEncryptionPolicy


@pytest.mark.parametrize("value", [None, 0, 1, 0.5, 1e9])
def test_seconds_that_are_taken(value: Any) -> None:
    checks.check_seconds("timeout", value, 0.0)


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (True, TypeError, "timeout must be a number of seconds or None, but is True"),
        ("1", TypeError, "but is '1'"),
        (math.nan, ValueError, "but is nan"),
        (math.inf, ValueError, "None is for no limit"),
        (-1, ValueError, "timeout must not be negative, but is -1"),
    ],
)
def test_seconds_that_are_refused(value: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        checks.check_seconds("timeout", value, 0.0)


def test_a_least_value_below_zero() -> None:
    checks.check_seconds("window", -1, -math.inf)
    assert checks.TIMES["connect_timeout"] == 0.0
    assert checks.TIMES["max_schema_agreement_wait"] == -math.inf


def test_times() -> None:
    second = datetime.timedelta(seconds=1)
    assert checks.as_timedelta("t", None) is None
    assert checks.as_timedelta("t", second) is second
    assert checks.as_timedelta("t", 1) == checks.as_timedelta("t", 1.0) == second
    with pytest.raises(ValueError, match="t must not be negative"):
        checks.as_timedelta("t", -1)


def test_ports() -> None:
    assert [checks.checked_port(port) for port in (1, "9042", 65535)] == [1, 9042, 65535]
    for wrong in (0, 65536, "0", True, None, 1.5):
        with pytest.raises(ValueError, match=f"from 1 to 65535, but is {wrong!r}"):
            checks.checked_port(wrong)


def test_objects_by_what_they_can_do() -> None:
    checks.check_auth_provider(None)
    checks.check_auth_provider(PlainTextAuthProvider("u", "p"))
    with pytest.raises(TypeError, match="is of type dict; PlainTextAuthProvider"):
        checks.check_auth_provider({"username": "u", "password": "secret"})
    checks.check_encryption(None)
    checks.check_encryption(ColumnEncryptionPolicy())
    with pytest.raises(TypeError, match="column_encryption_policy must be"):
        checks.check_encryption("aes")


def test_page_sizes() -> None:
    checks.check_page_size(1)
    for wrong in (0, -1, True, 1.0, None):
        with pytest.raises(ValueError, match="schema_metadata_page_size"):
            checks.check_page_size(wrong)


def test_keyspaces_are_copied() -> None:
    names = ["a", "b"]
    found = checks.checked_keyspaces(names)
    names.clear()
    assert found == ("a", "b")
    assert checks.checked_keyspaces(None) is None
    assert checks.checked_keyspaces([]) == ()
    wrong: Any
    for wrong in ("ab", [1]):
        with pytest.raises(TypeError, match="schema_metadata_keyspaces must be a list of names"):
            checks.checked_keyspaces(wrong)


def test_compression(monkeypatch: pytest.MonkeyPatch) -> None:
    for taken in (None, True, False, "lz4", "snappy"):
        checks.check_compression(taken)
    with pytest.raises(TypeError, match="but is 5"):
        checks.check_compression(5)
    with pytest.raises(ValueError, match="'lz4' or 'snappy', but is 'zstd'"):
        checks.check_compression("zstd")
    monkeypatch.setattr(checks, "available_compressions", lambda: ("lz4",))
    checks.check_compression("lz4")
    with pytest.raises(ValueError, match=r"needs the package 'python-snappy'.*turbocql\[snappy\]"):
        checks.check_compression("snappy")


@pytest.mark.parametrize("count", [-1, 1.5, True, "many"])
def test_requests_that_may_wait_are_a_number_or_none(count: Any) -> None:
    with pytest.raises(ValueError, match="max_waiting_requests must be a number of requests"):
        checks.check_waiting(count)
    checks.check_waiting(None)
