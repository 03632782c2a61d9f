"""The field names of a load's source are matched with the columns of a table."""

from __future__ import annotations

import collections
import datetime
import warnings
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra.bulk.chunks import Column
from cassandra.bulk.fields import (
    check_index,
    check_names,
    is_note,
    positions_of,
    select_columns,
    unknown_field,
    unmapped_fields,
    values_by_name,
    values_by_position,
)
from cassandra.bulk.lost_times import LostTimes
from cassandra.cqltypes import Int32Type, SimpleDateType, UserType, UTF8Type, lookup_casstype
from tests.unit.bulk.readings import COLUMNS, reading

TABLE: Any = SimpleNamespace(keyspace_name="ks", name="t", columns={"id": 1, "name": 2, "_row": 3})


def test_names_of_notes_on_failed_rows() -> None:
    """`is_note` is True only for names of notes, the fields that a load adds to failed rows."""
    assert all(map(is_note, ("_source", "_row", "_line", "_error", "___error")))
    assert not any(map(is_note, ("_id", "row", "_rows", "_text", "_fields", "_")))


def test_unknown_and_duplicate_names_are_refused() -> None:
    """`check_names` refuses unknown and duplicate names of fields that are to be written."""
    # The fields that a load has added to failed rows need not be columns of the table.
    check_names(["name", "id", "_row", "_error"], "a.csv", ignored=(), written=None, table=TABLE)
    # Only selected columns are checked, and ignored columns may occur twice.
    check_names(["name", "name", "other"], "a.csv", ignored=(), written=["id"], table=TABLE)
    check_names(["id", "extra", "extra"], "a.csv", ["extra"], written=None, table=TABLE)
    with pytest.raises(ValueError, match=r"the source has a column 'extra', and table ks.t has.*a\.csv.*ignore="):  # noqa: E501  # fmt: skip
        check_names(["id", "extra"], "a.csv", ignored=(), written=None, table=TABLE)
    with pytest.raises(ValueError, match=r"a\.csv has two columns with the name 'id'"):
        check_names(["id", "name", "id"], "a.csv", ignored=(), written=None, table=TABLE)


def test_positions_of_columns() -> None:
    """`positions_of` returns the position of each column's field in the source.

    Columns are found by name or by `mapping`. Missing columns are refused. With `is_closed`,
    unknown fields are refused, too.
    """
    assert positions_of(["name", "x", "id"], "a.csv", reading()) == [2, 0]
    assert positions_of(["n", "name"], "a.csv", reading(mapping={"id": "n"})) == [0, 1]
    with pytest.raises(ValueError, match=r"a\.csv has no column 'name', but id"):
        positions_of(["id"], "a.csv", reading())
    optional_name = (COLUMNS[0], COLUMNS[1]._replace(is_needed=False))
    assert positions_of(["id"], "a.csv", reading(columns=optional_name)) == [0, None]
    with pytest.raises(ValueError, match=r"a\.csv has two columns with the name 'id'"):
        positions_of(["id", "name", "id"], "a.csv", reading())
    with pytest.raises(ValueError, match=r"a\.csv: it has a field 'x', which is not a column"):
        positions_of(["id", "name", "x"], "a.csv", reading(is_closed=True))
    ignoring_x = reading(is_closed=True, ignored={"x"})
    assert positions_of(["id", "name", "x", "_line"], "a.csv", ignoring_x) == [0, 1]


def test_names_of_rows() -> None:
    """Mappings and named tuples have names for their values; other sequences have no names."""
    Point = collections.namedtuple("Point", "y x")
    assert values_by_name({"id": 1, 2: 3}) == {"id": 1, "2": 3}
    assert values_by_name(Point(1, 2)) == {"y": 1, "x": 2}
    for row_without_names in ((1, 2), [1, 2], "ab"):
        assert values_by_name(row_without_names) is None
    # "_error" is a note of a load on a failed row, but "_id" is not.
    assert unknown_field(["id", "_error"], {"id"}) is None
    assert "it has a field '_id'" in str(unknown_field(["id", "_id"], {"id"}))
    for name, hint in (
        ("ID", "; did you mean 'id'?"),
        (" name ", "; did you mean 'name'?"),
        ("nmae", "; did you mean 'name'?"),
        ("Index", "; if this is the index of a frame, write session.load(table, frame), or fr"),
        ("other", "ignore= leaves fields out)"),
    ):
        assert hint in str(unknown_field([name], {"id", "name"}))


def test_two_fields_of_a_row_with_the_same_name_are_refused() -> None:
    """Two fields of a row with the same name are refused.

    Keys are compared as strings, so 1 and "1" are the same name.
    """
    with pytest.raises(ValueError, match="two fields with the name '1'"):
        values_by_name({"id": 0, 1: 2, "1": 3})


def test_rows_without_names_are_sequences() -> None:
    """Sequences stay as they are, other iterables become tuples, and a set of two is refused."""
    for row in ((1, 2), [1, 2], "ab", b"ab", 5):
        assert values_by_position(row) is row
    assert values_by_position(iter([1, 2])) == (1, 2)
    assert values_by_position({1}) == (1,)
    with pytest.raises(TypeError, match=r"a row is the set \{1, 2\}, which has no order"):
        values_by_position({1, 2})


def test_the_columns_of_an_array_go_by_position() -> None:
    """An array without names is read by position, so it cannot be used with a mapping of names."""
    numpy = pytest.importorskip("numpy")
    table = numpy.zeros((2, 2))
    assert select_columns(table, reading()) is table
    with pytest.raises(ValueError, match="an array goes by position"):
        select_columns(table, reading(mapping={"name": "title"}))


def tables(columns: dict[str, list[Any]]) -> dict[str, Any]:
    """Return the columns as a pandas frame, Arrow table, Arrow batch and NumPy array, by type."""
    pandas = pytest.importorskip("pandas")
    pyarrow = pytest.importorskip("pyarrow")
    numpy = pytest.importorskip("numpy")
    frame = pandas.DataFrame(columns)
    dtypes = [(name, numpy.asarray(values).dtype) for name, values in columns.items()]
    array = numpy.array(list(zip(*columns.values(), strict=True)), dtype=dtypes)
    table = pyarrow.table(columns)
    return {"frame": frame, "table": table, "batch": table.to_batches()[0], "array": array}


def test_select_columns_keeps_the_columns_that_are_read() -> None:
    """`select_columns` renames and reorders columns as in the table, and drops other columns."""
    for table_type, table in tables(
        {"other": [5, 6], "name": ["a", "b"], "number": [1, 2]}
    ).items():
        chosen_columns = select_columns(table, reading(mapping={"id": "number"}))
        if table_type == "frame":
            assert chosen_columns.to_dict("list") == {"id": [1, 2], "name": ["a", "b"]}
        elif table_type == "array":
            assert chosen_columns.dtype.names == ("id", "name")
            assert chosen_columns.tolist() == [(1, "a"), (2, "b")]
        else:
            assert chosen_columns.to_pydict() == {"id": [1, 2], "name": ["a", "b"]}
        with pytest.raises(ValueError, match="the source has no column 'id', but other"):
            select_columns(table, reading())
        with pytest.raises(ValueError, match="it has a field 'other', which is not a column"):
            select_columns(table, reading(mapping={"id": "number"}, is_closed=True))


def test_columns_of_masked_arrays_keep_their_mask() -> None:
    """Values that a numpy mask hides are null after `select_columns`."""
    numpy = pytest.importorskip("numpy")
    array = numpy.ma.zeros(2, dtype=[("name", "U4"), ("x", "i4"), ("id", "i4")])
    array["name"], array["id"] = ["old", "b"], [1, 2]
    array["name"][0] = numpy.ma.masked
    assert select_columns(array, reading()).tolist() == [(1, None), (2, "b")]


def test_column_names_of_frames_may_be_integers() -> None:
    """A frame's column with an integer as its name is matched to the column with this string."""
    pandas = pytest.importorskip("pandas")
    columns = (COLUMNS[0], Column("1", UTF8Type))
    frame = select_columns(pandas.DataFrame({"id": [1], 1: ["a"]}), reading(columns=columns))
    assert frame.to_dict("list") == {"id": [1], "1": ["a"]}


def test_a_duplicate_column_is_refused_if_it_is_read() -> None:
    """A column name that occurs twice is refused only if this column is read."""
    pandas = pytest.importorskip("pandas")
    pyarrow = pytest.importorskip("pyarrow")
    frame = pandas.DataFrame([[1, "a", 2]], columns=["id", "name", "id"])
    table = pyarrow.Table.from_arrays([[1], ["a"], [2]], names=["id", "name", "id"])
    for source in (frame, table):
        with pytest.raises(ValueError, match="two columns with the name 'id'"):
            select_columns(source, reading())
        # Only "name" is read, and this name occurs once.
        assert len(select_columns(source, reading(columns=COLUMNS[1:]))) == 1


def test_an_index_with_the_name_of_a_column_is_refused() -> None:
    """`check_index` refuses a frame whose index, but none of its columns, has a column's name.

    The load would lose the columns that pandas has moved into the index.
    """
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"id": [1], "name": ["a"], "x": [2]})
    for index in ("name", ["x", "name"]):
        with pytest.raises(
            ValueError, match=r"the index of the frame has the name 'name' .*reset_in"
        ):
            check_index(frame.set_index(index), ["id"], [], TABLE)
    # These sources are accepted: the index is ignored or also a column, or it has another name.
    for source, written, ignored in (
        (frame.set_index("name"), ["id"], ["name"]),
        (frame.set_index("name", drop=False), ["id", "name"], []),
        (frame.set_index("x"), ["id"], []),
        (frame, ["id"], []),
        ([(1,)], ["id"], []),
    ):
        check_index(source, written, ignored, TABLE)


def test_integers_and_booleans_are_refused_as_dates() -> None:
    """A date column refuses integers, which might be days, seconds or numbers such as 20261123.

    The check also finds integers and booleans in categories, in dictionaries and among objects.
    """
    pandas, pyarrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    reading_dates = reading(columns=(Column("d", SimpleDateType),))
    for table in [
        *tables({"d": [0, 1]}).values(),
        *tables({"d": [False, True]}).values(),
        pyarrow.table({"d": pyarrow.array([19000, None], "int32").dictionary_encode()}),
        pandas.DataFrame({"d": pandas.Categorical([19000, 19001])}),
        pandas.DataFrame({"d": pandas.array([True, None], "boolean")}),
        pandas.DataFrame({"d": pandas.Series([None, True], dtype=object)}),
        pandas.DataFrame({"d": pandas.Series([19000, None], dtype=object)}),
    ]:
        with pytest.raises(ValueError, match="column 'd' is a date, and the source has integers"):
            select_columns(table, reading_dates)
    # An Arrow dictionary of dates is accepted.
    dates = pyarrow.array([19000], "int32").cast("date32").dictionary_encode()
    assert select_columns(pyarrow.table({"d": dates}), reading_dates).num_rows == 1


def test_integers_are_refused_as_dates_inside_collections() -> None:
    """Integers are refused if they are at the place of a date inside a collection, tuple or UDT."""
    pandas, pyarrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    integer, text, date = pyarrow.int32(), pyarrow.string(), pyarrow.date32()
    pairs = pyarrow.struct([("key", integer), ("value", text)])
    numbers = pyarrow.struct([("x", integer), ("y", integer)])
    date_last = pyarrow.struct([("x", integer), ("y", date)])
    date_first = pyarrow.struct([("y", date), ("x", integer)])
    udt = UserType.make_udt_class("ks", "u", ["x", "y"], [Int32Type, SimpleDateType])
    list_of_dates = lookup_casstype("ListType(SimpleDateType)")
    for cql_type, arrow_type in [
        (list_of_dates, pyarrow.list_(integer)),
        (list_of_dates, pyarrow.list_(pyarrow.dictionary(integer, integer))),
        (lookup_casstype("FrozenType(SetType(SimpleDateType))"), pyarrow.large_list(integer)),
        (lookup_casstype("MapType(UTF8Type,SimpleDateType)"), pyarrow.map_(text, integer)),
        (lookup_casstype("MapType(SimpleDateType,UTF8Type)"), pyarrow.list_(pairs)),
        (lookup_casstype("TupleType(Int32Type,SimpleDateType)"), numbers),
        (lookup_casstype("ListType(TupleType(Int32Type,SimpleDateType))"), pyarrow.list_(numbers)),
        (udt, numbers),
    ]:
        table = pyarrow.table({"d": pyarrow.nulls(1, arrow_type)})
        sources: list[Any] = [table]
        # The first versions of pandas 2 have no type for structs of Arrow.
        if arrow_type != numbers or hasattr(pandas.Series, "struct"):
            sources.append(table.to_pandas(types_mapper=pandas.ArrowDtype))
        for source in sources:
            with pytest.raises(ValueError, match="column 'd' has dates, and the source has integ"):
                select_columns(source, reading(columns=(Column("d", cql_type),)))
    # Dates are accepted, and integers whose target is an integer or is checked only when bound.
    for cql_type, arrow_type in [
        (list_of_dates, pyarrow.list_(date)),
        (list_of_dates, pyarrow.list_(pyarrow.timestamp("ms"))),
        (list_of_dates, text),
        (list_of_dates, integer),  # Binding refuses this value later.
        (lookup_casstype("ListType(Int32Type)"), pyarrow.list_(integer)),
        (lookup_casstype("MapType(Int32Type,SimpleDateType)"), pyarrow.map_(integer, date)),
        (lookup_casstype("TupleType(Int32Type,SimpleDateType)"), date_last),
        (udt, date_first),
        (udt, pyarrow.struct([("x", integer)])),
    ]:
        table = pyarrow.table({"d": pyarrow.nulls(1, arrow_type)})
        assert len(select_columns(table, reading(columns=(Column("d", cql_type),)))) == 1


@pytest.mark.parametrize("integer", [20000, True])
def test_integers_are_refused_as_dates_whatever_they_are_in(integer: int) -> None:
    """Integers for dates are refused in cells, in arrays of rows, and in runs of Arrow."""
    numpy, pandas = pytest.importorskip("numpy"), pytest.importorskip("pandas")
    pyarrow = pytest.importorskip("pyarrow")
    pair = [integer, integer]
    vector = lookup_casstype("VectorType(SimpleDateType, 2)")
    map_type = lookup_casstype("MapType(UTF8Type, SimpleDateType)")
    sub_arrays = numpy.zeros(1, [("d", type(integer), (2,))])
    sources: list[tuple[Any, Any]] = [
        (vector, pandas.DataFrame({"d": [pair]})),
        (vector, pandas.DataFrame({"d": [numpy.array(pair)]})),
        (vector, sub_arrays),
        (map_type, pandas.DataFrame({"d": [{"a": integer}]})),
        (SimpleDateType, pandas.DataFrame({"d": pandas.arrays.SparseArray(pair)})),
        (SimpleDateType, numpy.array([(integer,)], [("d", object)])),
    ]
    if hasattr(pyarrow, "RunEndEncodedArray"):
        runs = pyarrow.RunEndEncodedArray.from_arrays([1, 2], pyarrow.array(pair))
        sources.append((SimpleDateType, pyarrow.table({"d": runs})))
    for cql_type, source in sources:
        with pytest.raises(ValueError, match=r"column 'd' .*date.*, and the source has integers"):
            select_columns(source, reading(columns=(Column("d", cql_type),)))


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [
        ("id;name", r"delimiter=';'"),
        ("id\tname", r"delimiter='\\t'"),
        ("id|name", r"delimiter='\|'"),
        ("id,name", r"delimiter=','"),
        ("Unnamed: 0", r"written the index of a frame: write ignore=\['Unnamed: 0'\]"),
        ("__index_level_0__", "written the index of a frame"),
        ("ID", r"write columns=\{'ID': 'id'\} if it is 'id'"),
        (" id", r"columns=\{' id': 'id'\}"),
        ("nmae", "did you mean 'name'"),
        ("", r"if each line ends with a delimiter, write ignore=\[''\]"),
        ("sep=;", "the first line, sep=, is for Excel alone: delete it"),
        ("# people", "a load does not skip comments: delete the lines"),
        ("('id', 'x')", "several levels, write frame.columns = "),
        ("17", r"if these are the values of a row, write header=False"),
        ("2026-11-23 12:30", "write header=False"),
    ],
)
def test_suggestions_for_names_that_the_table_lacks(name: str, suggestion: str) -> None:
    """If the table lacks a field's name, the error suggests an option or a similar name."""
    with pytest.raises(ValueError, match=suggestion):
        check_names([name], "a.csv", ignored=(), written=None, table=TABLE)


def test_the_suggested_mapping_has_all_fields() -> None:
    """The error suggests a mapping with every field to write, not only the misspelled field.

    A load with a mapping writes only the fields in the mapping.
    """
    with pytest.raises(ValueError, match=r"write columns={'ID': 'id', 'name': 'name'} if it is"):
        check_names(["ID", "name", "other"], "a.csv", ignored=(), written=None, table=TABLE)


def test_fields_that_a_mapping_leaves_out() -> None:
    """`unmapped_fields` returns the fields that have the name of a column, but are not written.

    Ignored fields do not count, nor do fields whose column is filled from another field.
    """

    def unmapped(fields: list[str], mapping: dict[str, str], ignored: Any = ()) -> list[str]:
        """Return the unmapped fields of a source; `mapping` is from fields to columns."""
        return unmapped_fields(fields, mapping, ignored, TABLE)

    # The table has no column "x".
    assert unmapped(["id", "name", "x"], {"id": "id"}) == ["name"]
    assert unmapped(["id", "name"], {"id": "id"}, ignored=["name"]) == []
    # The column "name" is filled from the field "n".
    assert unmapped(["id", "name", "n"], {"id": "id", "n": "name"}) == []
    assert unmapped(["id", "name"], {"name": "_row", "x": "name"}) == ["id"]


def runs_of(pyarrow: Any, values: list[Any]) -> list[Any]:
    """Return [a table whose column "d" has the values in runs]; [] if pyarrow is too old."""
    if not hasattr(pyarrow, "RunEndEncodedArray"):
        return []
    # pyarrow 15 accepts only a list of ends, not an array.
    ends = list(range(1, len(values) + 1))
    runs = pyarrow.RunEndEncodedArray.from_arrays(ends, pyarrow.array(values))
    return [pyarrow.table({"d": runs})]


def test_a_time_of_day_that_a_date_column_loses_is_warned_of() -> None:
    """`select_columns` warns of noon in a date column, but not of midnight, nulls or masked values.

    The date column would lose the time of day.
    """
    pandas, pyarrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    numpy = pytest.importorskip("numpy")
    reading_dates = reading(columns=(Column("d", SimpleDateType),))
    noon = datetime.datetime(2026, 11, 23, 12)
    midnight = datetime.datetime(2026, 11, 23)
    for table in (
        pandas.DataFrame({"d": [midnight, None, noon]}),
        pyarrow.table({"d": pyarrow.array([midnight, None, noon], pyarrow.timestamp("ms"))}),
        pandas.DataFrame({"d": [noon]}).convert_dtypes(dtype_backend="pyarrow"),
        pandas.DataFrame({"d": [midnight, None, noon]}, dtype=object),
        pandas.DataFrame({"d": [noon]}).astype("category"),
        # This day began at one o'clock.
        pandas.DataFrame(
            {"d": pandas.to_datetime(["2018-11-04 01:00"]).tz_localize("America/Sao_Paulo")}
        ),
        pyarrow.table({"d": pyarrow.array([midnight, noon]).dictionary_encode()}),
        numpy.array([(midnight,), ("NaT",), (noon,)], dtype=[("d", "M8[s]")]),
        numpy.array([(None,), (noon,)], dtype=[("d", object)]),
        *runs_of(pyarrow, [midnight, noon]),
    ):
        with pytest.warns(RuntimeWarning, match="column 'd' is a date, .* with a time of day"):
            assert len(select_columns(table, reading_dates)) == len(table)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for table in (
            pandas.DataFrame({"d": [midnight, None]}),
            # Midnight in a time zone is a date of that zone.
            pandas.DataFrame({"d": pandas.to_datetime([midnight]).tz_localize("Asia/Kolkata")}),
            pyarrow.table({"d": [midnight, None]}),
            pyarrow.table({"d": [midnight.date(), None]}),
            pandas.DataFrame({"d": [midnight.date(), midnight, pandas.NaT]}, dtype=object),
            numpy.array([(midnight,), ("NaT",)], dtype=[("d", "M8[s]")]),
            numpy.array([(midnight,), (midnight.date(),), (None,)], dtype=[("d", object)]),
            numpy.ma.array([(noon,)], mask=[(True,)], dtype=[("d", "M8[s]")]),
        ):
            assert len(select_columns(table, reading_dates)) == len(table)


def test_a_lost_time_of_day_is_warned_of_once_for_each_column_of_a_load() -> None:
    """The warning that a date column loses the time of day appears once per column of a load."""
    pandas = pytest.importorskip("pandas")
    columns = (Column("d", SimpleDateType), Column("e", SimpleDateType))
    reading_dates = reading(columns=columns, lost_times=LostTimes())
    noon = datetime.datetime(2026, 11, 23, hour=12)
    frame = pandas.DataFrame({"d": [noon], "e": [noon]})
    with warnings.catch_warnings(record=True) as records:
        warnings.simplefilter("always")
        for _ in range(2):
            assert len(select_columns(frame, reading_dates)) == 1
    assert [str(record.message).split(" is a date")[0] for record in records] == [
        "column 'd'",
        "column 'e'",
    ]
