"""Functions that check single settings; their errors name the setting and the wrong value."""

from __future__ import annotations

import datetime
import math
from typing import Any

import pytest

from cassandra import aio
from cassandra.auth import PlainTextAuthProvider
from cassandra.client.settings import checks
from cassandra.cluster import Cluster
from cassandra.policies import ColumnEncryptionPolicy
from cassandra.throttling import ConcurrencyLimitingThrottler


@pytest.mark.parametrize("value", [None, 0, 1, 0.5, 1e9])
def test_seconds_accepts_numbers_and_none(value: Any) -> None:
    assert checks.seconds("timeout", value) == value


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
def test_seconds_refuses_other_values(value: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        checks.seconds("timeout", value)


def test_seconds_or_negative_accepts_negative_numbers() -> None:
    """`seconds_or_negative` accepts negative numbers, but refuses NaN.

    For a refresh window, a negative number means that schema events cause no refresh.
    """
    assert checks.seconds_or_negative("window", -1) == -1
    with pytest.raises(ValueError, match="but is nan"):
        checks.seconds_or_negative("window", math.nan)


def test_timedelta_accepts_seconds_and_timedeltas() -> None:
    for valid in (None, 1, 1.5, datetime.timedelta(seconds=1)):
        assert checks.timedelta("t", valid) is valid
    with pytest.raises(ValueError, match="t must not be negative"):
        checks.timedelta("t", -1)


def test_tcp_port_accepts_numbers_from_1_to_65535() -> None:
    assert [checks.tcp_port("port", port) for port in (1, "9042", 65535)] == [1, 9042, 65535]
    for wrong in (0, 65536, "0", True, None, 1.5):
        with pytest.raises(ValueError, match=f"from 1 to 65535, but is {wrong!r}"):
            checks.tcp_port("port", wrong)


def test_auth_provider_and_encryption_check_the_type() -> None:
    """Both checks accept None and an object of the right class, and refuse other types."""
    provider = PlainTextAuthProvider("u", "p")
    assert checks.auth_provider("auth_provider", None) is None
    assert checks.auth_provider("auth_provider", provider) is provider
    with pytest.raises(TypeError, match="is of type dict; write PlainTextAuthProvider"):
        checks.auth_provider("auth_provider", {"username": "u", "password": "secret"})
    checks.encryption("policy", None)
    checks.encryption("policy", ColumnEncryptionPolicy())
    with pytest.raises(TypeError, match="policy must be a ColumnEncryptionPolicy"):
        checks.encryption("policy", "aes")


def test_rows_accepts_positive_integers() -> None:
    assert checks.rows("page", 1) == 1
    for wrong in (0, -1, True, 1.0, None):
        with pytest.raises(ValueError, match="page must be a number of rows"):
            checks.rows("page", wrong)


def test_names_or_all_copies_the_list() -> None:
    """`names_or_all` returns a tuple of names, or None for all names.

    The tuple is a copy, so later changes of the passed list have no effect.
    """
    names = ["a", "b"]
    keyspaces = checks.names_or_all("keyspaces", names)
    names.clear()
    assert keyspaces == ("a", "b")
    assert checks.names_or_all("keyspaces", None) is None
    assert checks.names_or_all("keyspaces", []) == ()
    wrong: Any
    for wrong in ("ab", [1]):
        with pytest.raises(TypeError, match="keyspaces must be a list of names"):
            checks.names_or_all("keyspaces", wrong)


def test_compression_needs_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """`compression` refuses the name of an algorithm whose package is not installed."""
    for valid in (None, True, False, "lz4", "snappy"):
        checks.compression("compression", valid)
    with pytest.raises(TypeError, match="but is 5"):
        checks.compression("compression", 5)
    with pytest.raises(ValueError, match="'lz4' or 'snappy', but is 'zstd'"):
        checks.compression("compression", "zstd")
    monkeypatch.setattr(checks, "available_compressions", lambda: ("lz4",))
    checks.compression("compression", "lz4")
    with pytest.raises(ValueError, match=r"needs the package 'python-snappy'.*turbocql\[snappy\]"):
        checks.compression("compression", "snappy")


@pytest.mark.parametrize("count", [-1, 1.5, True, "many"])
def test_count_or_unlimited_accepts_counts_and_none(count: Any) -> None:
    with pytest.raises(ValueError, match="limit must be a number of requests"):
        checks.count_or_unlimited("limit", count)
    assert checks.count_or_unlimited("limit", None) is None


def test_function_accepts_callables_and_none() -> None:
    assert checks.function("factory", None) is None
    assert checks.function("factory", int) is int
    with pytest.raises(ValueError, match="factory must be callable, but is 5"):
        checks.function("factory", 5)


def test_instance_refuses_classes_and_other_types() -> None:
    """The checks accept an instance, and refuse a class or an instance of another class."""
    policy = ColumnEncryptionPolicy()
    assert checks.instance("policy", policy) is policy
    with pytest.raises(TypeError, match=r"but is the class ColumnEncryptionPolicy: write "):
        checks.instance("policy", ColumnEncryptionPolicy)
    with pytest.raises(TypeError, match=r"throttler must be an instance"):
        checks.throttler("throttler", ColumnEncryptionPolicy)
    with pytest.raises(TypeError, match=r"must be a cassandra\.throttling\.RequestThrottler"):
        checks.throttler("throttler", policy)


def test_throttler_accepts_objects_that_admit_requests() -> None:
    throttler = ConcurrencyLimitingThrottler(1)
    assert checks.throttler("throttler", throttler) is throttler
    assert checks.throttler("throttler", None) is None


def test_loop_count_accepts_integers_from_one() -> None:
    """`loop_count` raises TypeError for other types, and ValueError for numbers below 1."""
    assert [checks.loop_count("event_loops", count) for count in (1, 2)] == [1, 2]
    for wrong in (True, False, 1.0, "2", None):
        with pytest.raises(TypeError, match="event_loops must be a number of event loops, but is"):
            checks.loop_count("event_loops", wrong)
    for wrong in (0, -1):
        with pytest.raises(ValueError, match=f"event_loops must be 1 or more, but is {wrong}"):
            checks.loop_count("event_loops", wrong)


def test_must_be_none_and_must_be_false_refuse_other_values() -> None:
    """`must_be_none` makes a check that accepts only None, and `must_be_false` only false values.

    These checks are for settings of features that the driver does not have. Their argument, here
    "pass another", is the advice at the end of the error.
    """
    assert checks.must_be_none("pass another")("cloud", None) is None
    with pytest.raises(NotImplementedError, match="cloud is not supported: pass another"):
        checks.must_be_none("pass another")("cloud", {})
    assert checks.must_be_false("use another")("reports", 0) == 0
    with pytest.raises(NotImplementedError, match="reports=True is not supported: use another"):
        checks.must_be_false("use another")("reports", True)


def test_positive_accepts_numbers_from_one() -> None:
    assert checks.positive("threads", 1) == 1
    with pytest.raises(ValueError, match="threads must be 1 or more, but is 0"):
        checks.positive("threads", 0)


class Endpoints:
    """An endpoint factory without the method `create`."""

    def configure(self, cluster: object) -> None: ...


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("address_translator", 5, "must have a method 'translate', but is 5 of type int"),
        ("connection_class", 5, "must be a class, but is 5 of type int"),
        ("cql_version", 3.4, "must be a text, but is 3.4 of type float"),
        ("endpoint_factory", 5, "must have a method 'configure', but is 5 of type int"),
        ("endpoint_factory", Endpoints(), "must have a method 'create', but is "),
        ("executor_threads", "x", "must be a number, but is 'x' of type str"),
        ("reconnection_policy", 5, "must have a method 'new_schedule', but is 5 of type int"),
        ("sockopts", 5, "must be a list of tuples, but is 5 of type int"),
        ("sockopts", "ab", "must be a list of tuples, but is 'ab' of type str"),
        ("sockopts", [5], r"must have tuples of .* \(level, option, value\), but has 5"),
        ("sockopts", [(1, 2)], r"must have tuples of .*, but has \(1, 2\)"),
    ],
)
@pytest.mark.parametrize("cluster_class", [Cluster, aio.Cluster])
def test_impossible_values_are_refused_by_name(
    cluster_class: Any, name: str, value: Any, message: str
) -> None:
    """A wrong value raises TypeError with the setting's name.

    This holds for the constructor and for an assignment. The cluster keeps its previous value.
    """
    with pytest.raises(TypeError, match=f"^{name} {message}"):
        cluster_class(**{name: value})
    cluster = cluster_class()
    value_before = getattr(cluster, name)
    with pytest.raises(TypeError, match=f"^{name} {message}"):
        setattr(cluster, name, value)
    assert getattr(cluster, name) is value_before


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("connection_class", None),
        ("cql_version", ""),
        ("executor_threads", 2.5),
        ("sockopts", ()),
        ("sockopts", [[6, 1, 1], (6, 1, None, 4)]),
    ],
)
def test_values_that_cassandra_driver_accepts_are_accepted(name: str, value: Any) -> None:
    """Unusual values that cassandra-driver accepts are stored unchanged."""
    cluster: Any = Cluster(**{name: value})
    assert getattr(cluster, name) == value


def test_a_number_that_looks_like_milliseconds_warns() -> None:
    """A timeout of 5000 seconds causes a warning: it is probably meant in milliseconds."""
    with pytest.warns(RuntimeWarning, match="write connect_timeout=5 for 5000 milli"):
        assert checks.seconds("connect_timeout", 5000) == 5000
    # Whole hours are plausible timeouts in seconds, so there is no warning.
    for seconds in (7200, 86_400):
        assert checks.seconds("schema_read_timeout", seconds) == seconds


@pytest.mark.parametrize("text", ["false", "No", " off ", "0"])
def test_a_string_that_means_false_warns(text: str) -> None:
    """A string such as "false" for a boolean setting causes a warning.

    Python takes any non-empty string for true, so the setting would do the opposite of what the
    string says.
    """
    with pytest.warns(RuntimeWarning, match="means True.*write metrics_enabled=False"):
        assert checks.switch("metrics_enabled", text) is True
    any_cluster: Any = Cluster
    with pytest.warns(RuntimeWarning, match="means True.*write metrics_enabled=False"):
        assert any_cluster(metrics_enabled=text).metrics_enabled == text
    assert checks.switch("metrics_enabled", "yes") is True
    assert checks.switch("metrics_enabled", "") is False
