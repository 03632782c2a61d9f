"""Matches the fields of a source to columns.

`positions_of`, `check_names` and `unknown_field` check everything that has names: the header of a
file, the columns of a data frame, a mapping, a named tuple. So the same rules apply to every source
and to each of its files:

- a column gets its value from the field that has its name;
- a field name that appears twice, or that no column has, is an error, unless ``columns=`` selects
  what is written, or ``ignore=`` has the name;
- the notes that `failed_rows` adds to a row (its location and error) are ignored;
- it is an error if a required column has no field.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from cassandra._later_warnings import warn
from cassandra._misspelt import nearest
from cassandra.bulk.changed_numbers import CHECKED_TYPES, ChangedNumbers
from cassandra.bulk.chunks import Reading
from cassandra.bulk.leaves import are_dates, has_leaf, leaf_columns
from cassandra.bulk.lost_times import LostTimes, data_type_of, is_date
from cassandra.bulk.opened import no_column
from cassandra.protocol.encrypted import is_encrypted
from cassandra.protocol.records import declared_fields
from cassandra.query.row_factories import PseudoNamedTupleRow
from cassandra.query.tables.rows import is_array, is_frame
from cassandra.query.tables.types import bare, dtype_kind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cassandra.metadata.schema.tables import TableMetadata

# The names of notes in a file of failed rows. A note has more than one leading underscore if a
# field of the row has the same name.
_NOTE = re.compile(r"_+(?:source|row|line|error|load)")
_STRING = frozenset({str})  # to check that all names of a row are strings
# In a file of failed rows, a row that could not be split into fields is stored under one of these
# names. A load of the file refuses such a row until somebody corrects it.
UNSPLIT_FIELDS = ("_text", "_fields")


def is_note(name: str) -> bool:
    """Return True for a field that `failed_rows` has added to a row.

    These are the row's location, its error, and the name of the load.

    :param name: the name of the field.
    """
    return _NOTE.fullmatch(name) is not None


def check_names(
    names: Sequence[str],
    source: str,
    ignored: Collection[str],
    written: Collection[str] | None,
    table: TableMetadata | None = None,
) -> None:
    """Raise ValueError for a field name that appears twice, or that no column has.

    :param names: the names of the fields.
    :param source: the name of the source, for errors.
    :param ignored: names to ignore.
    :param written: the fields that are written; only these are checked. None checks all names, and
        each name must be a column of `table`.
    :param table: the table; None if any name is allowed.
    :raises ValueError: for the first such name.
    """
    seen: set[str] = set()
    for name in names:
        # Do not check a field that is not written: it may have any name, and appear twice.
        if name in ignored or (written is not None and name not in written):
            continue
        if name in seen:
            raise ValueError(
                f"{source} has two columns with the name {name!r}: {', '.join(names)}. Which one "
                "is written cannot be known"
            )
        seen.add(name)
        if (
            written is None
            and table is not None
            and name not in table.columns
            and not is_note(name)
        ):
            raise ValueError(
                f"the source has a column {name!r}, and table {table.keyspace_name}."
                f"{table.name} has none of this name, but {', '.join(table.columns)}"
                f"{_hint_for(name, names, table.columns)}: columns= says which are written, and "
                f"how they are called in the source ({source}); ignore= leaves columns out"
            )


def check_index(
    source: object, written: Collection[str], ignored: Collection[str], table: TableMetadata
) -> None:
    """Raise ValueError if an index of a pandas frame is named like a column that is not written.

    An index is not a column of the frame, so its values would be lost.

    :param source: the source of a load; anything but a frame is accepted.
    :param written: the columns that are written.
    :param ignored: names to ignore.
    :param table: the table.
    :raises ValueError: for the first such name.
    """
    names: Any = getattr(getattr(source, "index", None), "names", ()) if is_frame(source) else ()
    for name in names:
        if isinstance(name, str) and name in table.columns and name not in (*written, *ignored):
            raise ValueError(
                f"the index of the frame has the name {name!r} of a column, and an index is not "
                f"written: write frame.reset_index(), or ignore=[{name!r}] to leave it out"
            )


# The name of a folder that Hive and Spark write, such as "day=2026-11-23": it has a column's value,
# and the files in the folder lack this column.
_VALUE_OF_FOLDER = re.compile(r"([^=]+)=.*")


def check_folders(
    source: str, names: Collection[str] | None, ignored: Collection[str], table: TableMetadata
) -> None:
    """Raise ValueError if the folder's name has the value of a column that the file lacks.

    Hive and Spark write such files: ``day=2026-11-23/part-0.parquet``. The value would be lost.

    :param source: the name of the source: a path if the source is a file.
    :param names: the names of the fields; None if they are unknown before the rows are read. Then
        this function only warns.
    :param ignored: names to ignore.
    :param table: the table.
    :raises ValueError: for the first such column that the file lacks.
    """
    for folder in PurePath(source).parts[:-1]:
        match = _VALUE_OF_FOLDER.fullmatch(folder)
        if match is None or match[1] not in table.columns or match[1] in (*ignored, *(names or ())):
            continue
        message = (
            f"the folder {folder!r} of {source} has a value for the column {match[1]!r}, which a "
            "load does not read: pass what pyarrow.dataset.dataset(folder, partitioning='hive') or "
            f"DuckDB reads, or write ignore=[{match[1]!r}]"
        )
        if names is not None:
            raise ValueError(message)
        warn(message)


def _hint_for(name: str, names: Sequence[str], columns: Iterable[str]) -> str:
    """Return what the user probably meant by a name that no column has; "" if we have no idea.

    :param name: the name of a field.
    :param names: the names of all fields. The mapping that the hint proposes has all of them,
        because a field that ``columns=`` does not name is not written.
    :param columns: the names of the table's columns.
    """
    if not name.strip():
        return f" (if each line ends with a delimiter, write ignore=[{name!r}])"
    if name.startswith("('"):
        # This may be the str() of a tuple: a pandas frame whose column names have several levels
        # has tuples as names.
        return (
            " (if the columns of the frame have several levels, write frame.columns = "
            "['_'.join(names) for names in frame.columns])"
        )
    if names[0].startswith("sep="):
        return " (the first line, sep=, is for Excel alone: delete it)"
    if names[0].lstrip().startswith("#"):
        return " (a load does not skip comments: delete the lines before the names)"
    if re.fullmatch(r"Unnamed: \d+(_level_\d+)?|level_\d+|__index_level_\d+__", name):
        return f" (pandas has written the index of a frame: write ignore=[{name!r}])"
    # A comma suggests a wrong delimiter only if there is a single name: a quoted name may have
    # commas.
    for delimiter in (";", "\t", "|", *([","] if len(names) == 1 else [])):
        # A name with this character is probably a whole line that was not split.
        if name.count(delimiter):
            return f" (is the file written with delimiter={delimiter!r}?)"
    columns_by_name = {column.strip().lower(): column for column in columns}
    # A column with exactly the name of the field takes precedence.
    columns_by_name.update({column: column for column in columns})
    mapping = {
        field: columns_by_name.get(field) or columns_by_name.get(field.strip().lower())
        for field in names
    }
    if mapping[name] is not None:
        mapping = {field: column for field, column in mapping.items() if column is not None}
        return f" (write columns={mapping!r} if it is {mapping[name]!r})"
    similar_name = nearest(name, columns, alike=0.7)
    if similar_name:
        return f" (did you mean {similar_name!r}?)"
    if _VALUE.fullmatch(name) is not None:
        return " (if these are the values of a row, write header=False)"
    return ""


_VALUE = re.compile(r"[-+0-9.:/ ]+")  # a number, a date or a time, which is not a usual name


def positions_of(names: Sequence[str], source: str, reading: Reading) -> list[int | None]:
    """Return for each column the position of its field; None for a column without a field.

    :param names: the names of the fields.
    :param source: the name of the source, for errors.
    :param reading: the options for reading.
    :raises ValueError: if a required column has no field, if two fields have the same name, or if a
        field has no column and `reading.is_closed` is True.
    """
    # Find the field of each column.
    positions: list[int | None] = []
    for column in reading.columns:
        field = reading.field(column)
        count = names.count(field)
        if count > 1:
            raise ValueError(
                f"{source} has two columns with the name {field!r}: {', '.join(names)}. Which one "
                "is written cannot be known"
            )
        if not count and column.is_needed:
            raise ValueError(no_column(source, field, names))
        positions.append(names.index(field) if count else None)
    # Refuse fields without a column, unless the load may ignore them.
    if reading.is_closed:
        fields = {reading.field(column) for column in reading.columns}
        if (error := unknown_field(names, fields, reading.ignored)) is not None:
            raise ValueError(f"{source}: {error}")
    return positions


def unknown_field(
    row: Iterable[Any], fields: Set[str], ignored: Collection[str] = (), what: str = "it"
) -> ValueError | None:
    """Return an error that names the first field without a column; None if each field has a column.

    :param row: the names of the row's fields.
    :param fields: the fields that have columns.
    :param ignored: the fields to ignore.
    :param what: the row, for the message.
    """
    for name in row:
        if name not in fields and name not in ignored and not is_note(str(name)):
            return ValueError(
                f"{what} has a field {name!r}, which is not a column that is written: "
                f"{', '.join(sorted(fields))} (columns= maps fields to columns, ignore= leaves "
                f"fields out){_hint_for_field(str(name), fields)}"
            )
    return None


def _hint_for_field(name: str, fields: Set[str]) -> str:
    """Return what the user probably meant by a field without a column; "" if we have no idea."""
    if name == "Index":  # the first field of the rows of `itertuples`
        return (
            "; if this is the index of a frame, write session.load(table, frame), or "
            "frame.itertuples(index=False)"
        )
    meant = nearest(name.strip().lower(), fields, alike=0.7)
    return f"; did you mean {meant!r}?" if meant else ""


def unmapped_fields(
    names: Iterable[Any],
    mapping: Mapping[str, str],
    ignored: Collection[str],
    table: TableMetadata,
) -> list[str]:
    """Return the fields that probably should be written, but are not in the mapping ``columns=``.

    Such a field has the name of a column to which no other field is mapped.

    :param names: the names of the fields.
    :param mapping: column names by field name.
    :param ignored: the fields to ignore, and the fields with the TTL or the write time of rows.
    :param table: the metadata of the table that is written.
    """
    taken = {*mapping, *mapping.values(), *ignored}
    return [name for name in names if name in table.columns and name not in taken]


def values_by_name(row: Any) -> Mapping[str, Any] | None:
    """Return the values of one of the application's rows by field name; None for other rows.

    A row has field names if it is a mapping, a named tuple, a row of the driver or a record of
    NumPy. Objects with a method ``keys()`` and access by name, like ``sqlite3.Row``, also have
    field names. None is returned for plain sequences, and for objects whose values are attributes.

    :param row: an object that the application has passed as a row.
    :raises ValueError: if two fields have the same name.
    """
    if isinstance(row, Mapping):
        # Usually all names are strings, so the mapping can be used as it is.
        return row if {*map(type, row)} <= _STRING else _named_values(list(row), row.values())
    names = getattr(row, "_fields", None)
    if isinstance(names, (tuple, list)) and isinstance(row, (tuple, Sequence)):
        # A row of the driver is a named tuple. It renames columns whose names are not valid Python
        # identifiers; `_column_names` has the original names.
        return _named_values(getattr(row, "_column_names", names), row)
    if isinstance(row, PseudoNamedTupleRow):
        return row._dict
    names = getattr(getattr(row, "dtype", None), "names", None)
    if names is not None:
        return _named_values(names, [row[name] for name in names])
    if callable(getattr(row, "keys", None)) and hasattr(row, "__getitem__"):
        # The values of an object are its attributes if its class declares fields, as a data class
        # does.
        names = list(row.keys()) if declared_fields(row.__class__) is None else []
        # The keys of a pandas Series, for example, may be numbers: then they are not names.
        if any(isinstance(name, str) for name in names):
            return _named_values(names, [row[name] for name in names])
    return None


def _named_values(names: Sequence[Any], values: Iterable[Any]) -> dict[str, Any]:
    """Return the values by name. Convert names to strings: a table may have a column named 1."""
    value_by_name = dict(zip(names, values, strict=True))
    if not {*map(type, names)} <= _STRING:
        value_by_name = dict(zip(map(str, names), value_by_name.values(), strict=False))
    # If the dict has fewer items than there are names, two names were equal, or became equal when
    # they were converted to strings.
    if len(value_by_name) < len(names):
        duplicate = next(
            name for name in value_by_name if sum(name == str(other) for other in names) > 1
        )
        raise ValueError(
            f"it has two fields with the name {duplicate!r}. Which one is written cannot be known"
        )
    return value_by_name


def values_by_position(row: Any) -> object:
    """Return a row without names as a tuple or list; other objects are returned unchanged.

    :param row: an object that the application has passed as a row.
    :raises TypeError: for a set, whose values have no order.
    """
    if isinstance(row, (tuple, list, str, bytes, bytearray)) or not isinstance(row, Iterable):
        return row
    if isinstance(row, Set) and len(row) > 1:
        raise TypeError(
            f"a row is the {type(row).__name__} {row!r}, which has no order: write a tuple, or a "
            "mapping of values by column name"
        )
    return tuple(row)


# -- tables ----------------------------------------------------------------------------------------


def select_columns(table: Any, reading: Reading, source: str = "the source") -> Any:
    """Return a table with only the columns to write, named like the bind markers.

    :param table: a data frame, an array, or Arrow data.
    :param reading: the options for reading.
    :param source: the name of the source, for errors.
    :raises ValueError: if a column is missing, appears twice, or has values of a wrong type.
    """
    names = _names_of_table(table)
    if names is None:
        # The columns of an array have no names. They are matched by position, so a mapping of names
        # is an error.
        if reading.mapping:
            raise ValueError("columns= is for tables with named columns: an array goes by position")
        return table
    # (column, index in the table) of each column that the table has.
    columns = [
        (column, index)
        for column, index in zip(reading.columns, positions_of(names, source, reading), strict=True)
        if index is not None
    ]
    # `LostTimes` warns once per date column, so all tables of a load share one object.
    lost_times = reading.lost_times or LostTimes()
    changed_numbers = reading.changed_numbers or ChangedNumbers()
    for column, index in columns:
        values = _column_of(table, index)
        check_dates(values, column.name, column.type, lost_times)
        # The warnings show a value.
        if not is_encrypted(column.type):
            for type_name in CHECKED_TYPES:
                if has_leaf(column.type, type_name):
                    changed_numbers.look_at_column(column.name, column.type, type_name, values)
    names_written = [column.name for column, _ in columns]
    is_pandas = hasattr(table, "iloc")
    if names_written == (list(table.columns) if is_pandas else names):
        # Usually the table already has exactly these columns, in this order.
        return table
    indexes = [index for _, index in columns]
    if is_pandas:
        return table.iloc[:, indexes].set_axis(names_written, axis=1)
    if is_array(table):
        return _select_fields(table, [names[index] for index in indexes], names_written)
    import pyarrow

    table_class = pyarrow.RecordBatch if isinstance(table, pyarrow.RecordBatch) else pyarrow.Table
    return table_class.from_arrays([table.column(index) for index in indexes], names=names_written)


def _names_of_table(table: Any) -> list[str] | None:
    """Return the column names of a table; None for an array without named fields."""
    if hasattr(table, "iloc"):
        return [str(name) for name in table.columns]
    if is_array(table):
        names = table.dtype.names
        return None if names is None else list(names)
    return [str(name) for name in table.schema.names]


def _select_fields(array: Any, fields: Sequence[str], names: Sequence[str]) -> NDArray[Any]:
    """Return a structured array with only these fields, renamed."""
    import numpy

    field_types = [(name, array.dtype[field]) for name, field in zip(names, fields, strict=True)]
    # If the array is masked, make a masked result. Masked items mean null, but hold arbitrary
    # values: without the mask, these would be written.
    empty = numpy.ma.empty if isinstance(array, numpy.ma.MaskedArray) else numpy.empty
    result = empty(array.shape, dtype=field_types)
    for name, field in zip(names, fields, strict=True):
        result[name] = array[field]
    return result


def _column_of(table: Any, index: int) -> Any:
    """Return a column of a data frame, a structured array, or Arrow data, by its position."""
    if hasattr(table, "iloc"):
        return table.iloc[:, index]
    if is_array(table):
        return table[table.dtype.names[index]]
    return table.column(index)


def check_dates(column: Any, name: str, cql_type: Any, lost_times: LostTimes | None) -> None:
    """Raise ValueError if a table has integers or booleans for dates.

    Integers would be sent as they are, and a server would read them as its own day numbers. Warn if
    the table has timestamps whose time of day would be lost.

    :param column: a column of a table: see `leaf_columns`.
    :param name: the name of the column that is written.
    :param cql_type: the CQL type of that column. If it contains no date, nothing is checked.
    :param lost_times: warns of times of day that dates would lose; None does not warn.
    :raises ValueError: if the column has integers for dates.
    """
    if not has_leaf(cql_type, "date"):
        return
    # Read the objects only once.
    leaves = [
        list(values) if isinstance(values, Iterator) else values
        for values in leaf_columns(cql_type, column, "date")
    ]
    data_type = data_type_of(column)
    if lost_times is not None:
        lost_times.look_at_column(name, cql_type, data_type, leaves)
    if any(map(_has_integers, leaves)):
        what = "is a date" if is_date(bare(cql_type)) else "has dates"
        raise ValueError(
            f"column {name!r} {what}, and the source has integers ({data_type}): make "
            "dates of them, as integers may count days from different years"
        )


def _has_integers(leaves: Any) -> bool:
    """Return True if the leaves of a column are or have integers or booleans.

    :param leaves: see `leaf_columns`.
    """
    if hasattr(leaves, "to_pylist"):
        from pyarrow import types

        return bool(types.is_integer(leaves.type) or types.is_boolean(leaves.type))
    kind = dtype_kind(leaves)
    if kind:
        return kind in _INTEGERS
    return not are_dates(leaves) and any(map(_is_integer, leaves))


def _is_integer(value: Any) -> bool:
    """Return True for an integer or a boolean of Python or NumPy."""
    return isinstance(value, int) or dtype_kind(value) in _INTEGERS


# The kinds of NumPy's and pandas' types: signed integers, unsigned integers, and booleans.
_INTEGERS = ("i", "u", "b")
