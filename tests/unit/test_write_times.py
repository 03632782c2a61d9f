"""Tests of the warning for write timestamps in seconds or milliseconds, which names the factor.

The right unit is microseconds.
"""

from __future__ import annotations

import warnings

import pytest

from cassandra._write_times import warn_of_write_time
from cassandra.bulk import LoadOptions
from cassandra.cluster import Cluster
from cassandra.testing.fake import FakeNode


@pytest.mark.parametrize(
    ("timestamp", "advice"),
    [
        (1_795_683_336, "if these are seconds, multiply by 1_000_000"),
        (1_795_683_336_000, "if these are milliseconds, multiply by 1_000"),
        (1_795_683_336_000_000_000, r"if these are nanoseconds, divide by 1_000 \(//\)"),
    ],
)
def test_timestamps_in_other_units_warn_with_the_factor(timestamp: int, advice: str) -> None:
    with pytest.warns(RuntimeWarning, match=f"timestamp={timestamp} .*{advice}"):
        warn_of_write_time(timestamp)
    with pytest.warns(RuntimeWarning, match=advice) as warned:
        LoadOptions(timestamp=timestamp)
    assert warned[0].filename == __file__


@pytest.mark.parametrize(
    "timestamp", [None, 0, 1, 5_000, 1_795_683_336_000_000, 2**63 - 1, -1, True, "1"]
)
def test_timestamps_in_microseconds_do_not_warn(timestamp: object) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_write_time(timestamp)


@pytest.mark.parametrize("prepares", [True, False])
def test_a_timestamp_generator_in_seconds_warns(prepares: bool) -> None:
    """A timestamp generator in seconds must cause a warning.

    Otherwise older values would win over each write, without any error.
    """
    insert = "INSERT INTO t (k) VALUES (1)"
    with FakeNode() as node:
        node.prime_prepare(insert, [])
        with Cluster(
            [node.address], port=node.port, timestamp_generator=lambda: 1_795_683_336
        ) as cluster:
            session = cluster.connect()
            statement = session.prepare(insert) if prepares else insert
            with pytest.warns(
                RuntimeWarning,
                match="1795683336 of timestamp_generator .* each write: .* multiply by 1_000_000",
            ) as warned:
                session.execute(statement)
            assert warned[0].filename == __file__
            session.timestamp_generator = lambda: 1_795_683_336_000_000
            session.execute(statement)
