"""Test `LostTimes`, which warns that a date column loses the time of day of a datetime."""

from __future__ import annotations

import datetime
import warnings
from typing import Any

import pytest

from cassandra.bulk.fields import check_dates
from cassandra.bulk.leaves import leaves_of
from cassandra.bulk.lost_times import LostTimes, is_date, is_with_time
from cassandra.cqltypes import DateType, SimpleDateType
from cassandra.cqltypes.parse import lookup_casstype

MIDNIGHT = datetime.datetime(2026, 11, 23)
NOON = datetime.datetime(2026, 11, 23, 12)


def test_values_with_a_time_of_day() -> None:
    """`is_with_time` is True for datetimes that are not midnight, and False for other values."""
    utc = datetime.timezone.utc
    for value in (NOON, NOON.replace(tzinfo=utc), MIDNIGHT.replace(microsecond=1)):
        assert is_with_time(value)
    for other in (MIDNIGHT, MIDNIGHT.replace(tzinfo=utc), MIDNIGHT.date(), None, "12:30", 5):
        assert not is_with_time(other)


def test_timestamps_of_pandas() -> None:
    """`is_with_time` considers the nanoseconds of a pandas Timestamp; NaT has no time of day."""
    pandas = pytest.importorskip("pandas")
    assert is_with_time(pandas.Timestamp("2026-11-23 00:00:00.000000001"))
    assert not is_with_time(pandas.Timestamp("2026-11-23"))
    assert not is_with_time(pandas.NaT)


def test_only_the_type_date_loses_times() -> None:
    """`is_date` is True only for the CQL type date, which cannot store times of day."""
    assert is_date(SimpleDateType)
    # cassandra-driver calls the class of timestamps DateType, and so does this driver.
    assert not is_date(DateType)
    assert not is_date(None)


def test_rows_that_cannot_be_read_are_left_to_binding() -> None:
    """`look_at_rows` skips rows whose value cannot be read; binding reports these rows later."""

    class FailingRow:
        @property
        def d(self) -> object:
            raise RuntimeError("no value")

    rows: list[Any] = [(), FailingRow(), {}, object()]
    lost_times = LostTimes()
    leaves = leaves_of(SimpleDateType, "date")
    assert leaves is not None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lost_times.look_at_rows("d", rows, 0, SimpleDateType, leaves)
    with pytest.warns(RuntimeWarning, match="column 'd' is a date, .* time of day"):
        lost_times.look_at_rows("d", [*rows, (NOON,)], 0, SimpleDateType, leaves)


def test_times_of_numpy() -> None:
    """`is_with_time` considers datetimes of NumPy in any unit, and NaT has no time of day."""
    numpy = pytest.importorskip("numpy")
    for unit in ("s", "ns"):
        assert is_with_time(numpy.datetime64(NOON, unit))
        assert not is_with_time(numpy.datetime64(MIDNIGHT, unit))
        assert not is_with_time(numpy.datetime64("NaT", unit))
    assert not is_with_time(numpy.timedelta64(5, "s"))


def test_times_inside_collections() -> None:
    """The times of day of dates inside collections are lost, too, in rows and in columns."""
    cql_type = lookup_casstype("ListType(SimpleDateType)")
    leaves = leaves_of(cql_type, "date")
    assert leaves is not None
    message = "column 'd' has values of type date, and the source has .* with a time of day"
    with pytest.warns(RuntimeWarning, match=message):
        LostTimes().look_at_rows("d", [([MIDNIGHT, NOON],)], 0, cql_type, leaves)
    pyarrow = pytest.importorskip("pyarrow")
    with pytest.warns(RuntimeWarning, match=message):
        check_dates(pyarrow.array([[MIDNIGHT, NOON]]), "d", cql_type, LostTimes())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LostTimes().look_at_rows("d", [([MIDNIGHT],)], 0, cql_type, leaves)
        check_dates(pyarrow.array([[MIDNIGHT]]), "d", cql_type, LostTimes())
