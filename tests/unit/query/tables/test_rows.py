"""Test `snapshot_and_count`, which copies tables of rows that are bound later."""

from __future__ import annotations

from typing import Any

import numpy
import pandas
import pytest

from cassandra.query.tables.rows import snapshot_and_count

# Each of these functions returns a table with the rows (1, tags) and (2, None), where `tags` is a
# list.


def array_of(tags: list[str]) -> Any:
    """Return an array of objects with the rows (1, tags) and (2, None)."""
    rows = numpy.empty((2, 2), object)
    rows[:, 0] = [1, 2]
    rows[0, 1] = tags
    return rows


def structured(tags: list[str]) -> Any:
    """Return a structured array with the rows (1, tags) and (2, None)."""
    return numpy.array([(1, tags), (2, None)], [("k", "i4"), ("v", object)])


def frame(tags: list[str]) -> Any:
    """Return a frame with the rows (1, tags) and (2, None), whose index has the number 5 twice."""
    return pandas.DataFrame({"k": [1, 2], "v": [tags, None]}, index=[5, 5])


def frame_of_repeated_names(tags: list[str]) -> Any:
    """Return a frame with the rows (1, tags) and (2, None), whose columns have the same name."""
    table = frame(tags)
    table.columns = ["v", "v"]
    return table


@pytest.mark.parametrize("make_table", [array_of, structured, frame, frame_of_repeated_names])
def test_objects_in_a_table_are_copied(make_table: Any) -> None:
    """A snapshot also copies the mutable objects in a table, here a list."""
    tags = ["a"]
    table = make_table(tags)
    copied: Any
    copied, count = snapshot_and_count(table)
    # This change of the list must not change the copy.
    tags.append("b")
    assert count == 2
    assert type(copied) is type(table)
    rows = copied.to_numpy() if isinstance(copied, pandas.DataFrame) else copied
    assert [list(row) for row in rows] == [[1, ["a"]], [2, None]]


def test_a_table_of_numbers_is_copied() -> None:
    """Changes of a table of numbers after its snapshot do not change the snapshot."""
    table = pandas.DataFrame({"k": [1, 2], "t": ["a", None]})
    numbers = numpy.array([[1, 2]])
    table_copy: Any = snapshot_and_count(table)[0]
    numbers_copy: Any = snapshot_and_count(numbers)[0]
    table.loc[0, "k"] = numbers[0, 0] = 5
    assert table_copy["k"].tolist() == [1, 2]
    assert table_copy.dtypes.equals(table.dtypes)
    assert numbers_copy.tolist() == [[1, 2]]
