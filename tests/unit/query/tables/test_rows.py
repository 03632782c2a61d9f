"""Test `snapshot_and_count`, which copies tables of rows that are bound later."""

from __future__ import annotations

from typing import Any

import numpy
import pandas
import polars
import pyarrow
import pytest

from cassandra.errors import DependencyException
from cassandra.query.tables.rows import arrow_batches, snapshot_and_count
from tests.unit.query.tables.binding import type_or_skip

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


def pandas_on_arrow(columns: Any) -> Any:
    """Return a frame of pandas whose columns are in Arrow memory."""
    return pandas.DataFrame(
        {
            name: pandas.arrays.ArrowExtensionArray(pyarrow.array(column))
            for name, column in columns.items()
        }
    )


@pytest.mark.parametrize(
    "make_table",
    [
        pyarrow.table,
        pyarrow.RecordBatch.from_pydict,
        lambda columns: pyarrow.table(columns).slice(0, 2),
        polars.DataFrame,
        pandas_on_arrow,
    ],
)
def test_tables_that_are_views_of_arrays_are_copied(make_table: Any) -> None:
    """Arrow tables take NumPy arrays without a copy, but a snapshot does not change with them."""
    columns = {"k": numpy.array([1, 2]), "v": numpy.array([1.5, 2.5])}
    copied: Any
    copied, count = snapshot_and_count(make_table(columns))
    for column in columns.values():
        column[:] = 9
    assert count == 2
    assert [list(map(float, copied[name].to_numpy())) for name in "kv"] == [[1, 2], [1.5, 2.5]]


def test_arrow_data_of_all_kinds_is_copied_unchanged() -> None:
    """The copy of an Arrow table has the same types and values, in the same chunks or fewer."""
    first = pyarrow.table(
        {
            "text": ["a", None, "c"],
            "tags": [[1], None, [2, None]],
            "word": pyarrow.array(["x", "y", "x"]).dictionary_encode(),
            "point": [{"x": 1}, None, {"x": 2}],
            "id": pyarrow.array([bytes(16)] * 3, pyarrow.binary(16)),
            "nothing": pyarrow.nulls(3),
        }
    )
    if hasattr(pyarrow, "string_view"):
        first = first.append_column("view", first["text"].cast(pyarrow.string_view()))
    second = first.set_column(2, "word", pyarrow.array(["z", "z", "y"]).dictionary_encode())
    table = pyarrow.concat_tables([first, second]).slice(1, 4)
    copied: Any
    copied, count = snapshot_and_count(table)
    assert count == 4
    assert copied.schema == table.schema
    assert copied.to_pylist() == table.to_pylist()


def test_frames_of_polars_have_no_views_for_an_old_pyarrow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A frame of polars comes without "view" types if pyarrow does not have these types.

    Otherwise the strings of polars are views.
    """
    monkeypatch.delattr(pyarrow, "string_view", raising=False)
    columns: dict[str, list[Any]] = {
        "text": ["a", None],
        "tags": [["x"], []],
        "blob": [b"y", b""],
    }
    words = polars.Series(["w", None], dtype=polars.Categorical)
    frame = polars.DataFrame({**columns, "word": words})
    table = arrow_batches(polars.concat([frame, frame], rechunk=False)).read_all()
    assert "view" not in str(table.schema)
    assert table.select(list(columns)).to_pydict() == {
        name: values * 2 for name, values in columns.items()
    }
    assert table["word"].to_pylist() == ["w", None] * 2


@pytest.mark.parametrize("shape", [list, dict])
def test_views_that_an_old_pyarrow_cannot_read_are_refused(
    monkeypatch: pytest.MonkeyPatch, shape: type
) -> None:
    """A column with "view" types raises an error that says which pyarrow to install."""
    view = type_or_skip("string_view")
    view_type = pyarrow.list_(view) if shape is list else pyarrow.struct([("a", view)])
    schema = pyarrow.schema([("string_view", pyarrow.int32()), ("v", view_type)])
    table = schema.empty_table()
    # A column may have any name.
    assert arrow_batches(table.select(["string_view"])).read_all().num_rows == 0
    monkeypatch.delattr(pyarrow, "string_view")
    assert arrow_batches(table.select(["string_view"])).read_all().num_rows == 0
    with pytest.raises(DependencyException, match=r"column 'v' has .*_view.* 'pyarrow>=16'"):
        arrow_batches(table)
