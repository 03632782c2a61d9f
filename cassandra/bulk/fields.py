"""The fields of a source, and the columns that they are for.

Whatever has names (the header of a file, the columns of a frame, a mapping, a named tuple) goes
through `positions_of`, `check_names` or `unknown_field`. So the same rules hold for every source,
and for each file of it:

- columns are found by name;
- a name that stands twice, or that no column has, is refused, unless ``columns=`` says which are
  written, or ``ignore=`` names it;
- what `failed_rows` notes beside a row is no field of it;
- a column that has to be there and is not is refused.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any

from cassandra._misspelt import nearest
from cassandra.bulk.chunks import Column, Reading
from cassandra.bulk.opened import no_column
from cassandra.query.tables.rows import is_array

if TYPE_CHECKING:
    from cassandra.metadata.schema.tables import TableMetadata

__all__ = [
    "LEFT_AS_TEXT",
    "check_names",
    "chosen",
    "is_note",
    "names_of_row",
    "positions_of",
    "unknown_field",
]

# What the file of failed rows has beside a row. More underscores stand before a name that clashes.
_NOTE = re.compile(r"_+(?:source|row|line|error)")
# The row itself, if it could not be parted into fields: it fails until somebody mends it.
LEFT_AS_TEXT = ("_text", "_fields")


def is_note(name: str) -> bool:
    """Return True for a field by which `failed_rows` says where a row was, and why it failed.

    :param name: of the field.
    """
    return _NOTE.fullmatch(name) is not None


def check_names(
    names: Sequence[str],
    source: str,
    ignored: Collection[str],
    wanted: Collection[str] | None,
    table: TableMetadata | None = None,
) -> None:
    """Refuse names that stand twice, or that no column has.

    :param names: of the fields.
    :param source: what has them, for errors.
    :param ignored: names that do not matter.
    :param wanted: the fields that are written; None for those that are columns of `table`, and
        then nothing else may be there.
    :param table: the table.
    :raises ValueError: if a name is refused.
    """
    seen: set[str] = set()
    for name in names:
        if name in ignored or (wanted is not None and name not in wanted):
            continue
        if name in seen:
            raise ValueError(
                f"{source} has two columns with the name {name!r}: {', '.join(names)}. Which one "
                "is written cannot be known"
            )
        seen.add(name)
        if wanted is None and table is not None and name not in table.columns and not is_note(name):
            raise ValueError(
                f"the source has a column {name!r}, and table {table.keyspace_name}."
                f"{table.name} has none of this name, but {', '.join(table.columns)}"
                f"{_meant(name, table.columns)}: columns= says which are written, and how they are "
                f"called in the source ({source}); ignore= leaves columns out"
            )


def _meant(name: str, columns: Iterable[str]) -> str:
    """Return what a name of a source may mean, for the message that refuses it."""
    for delimiter in (";", "\t", "|"):
        if name.count(delimiter):
            return f" (is the file written with delimiter={delimiter!r}?)"
    for column in columns:
        if column.lower() == name.strip().lower():
            return f" (write columns={{{column!r}: {name!r}}} if it is {column!r})"
    near = nearest(name, columns, 0.7)
    return f" (did you mean {near!r}?)" if near else ""


def positions_of(names: Sequence[str], source: str, reading: Reading) -> list[int | None]:
    """Return the position of each column among the fields; None for one that is not there.

    :param names: of the fields.
    :param source: what has them, for errors.
    :param reading: how the source is read.
    :raises ValueError: if a column is missing that has to be there, or stands twice.
    """
    found: list[int | None] = []
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
        found.append(names.index(field) if count else None)
    if reading.is_closed:
        known = {reading.field(column) for column in reading.columns}
        if (error := unknown_field(names, known, reading.ignored)) is not None:
            raise ValueError(f"{source}: {error}")
    return found


def unknown_field(
    row: Iterable[Any], known: Set[str], ignored: Collection[str] = ()
) -> ValueError | None:
    """Return the error of a row with a field that has no column, or None.

    :param row: the row's names.
    :param known: the fields that are columns.
    :param ignored: the fields that are left out.
    """
    for name in row:
        if name not in known and name not in ignored and not is_note(str(name)):
            return ValueError(
                f"it has a field {name!r}, which is not a column that is written: "
                f"{', '.join(sorted(known))}"
            )
    return None


def names_of_row(row: Any) -> Sequence[str] | None:
    """Return the names of a row of the program; None if it has none.

    :param row: a mapping, a named tuple, or any other row.
    """
    if isinstance(row, Mapping):
        return [str(name) for name in row]
    names = getattr(row, "_fields", None) if isinstance(row, tuple) else None
    return tuple(names) if isinstance(names, (tuple, list)) else None


# -- tables ----------------------------------------------------------------------------------------


def chosen(table: Any, reading: Reading, source: str = "the source") -> Any:
    """Return a table that has the columns that are written, under the names of the bind markers.

    :param table: a frame, an array, or Arrow data.
    :param reading: how it is read.
    :param source: what it is, for errors.
    :raises ValueError: if a column is missing, stands twice, or has values of another kind.
    """
    names = _names_of_table(table)
    if names is None:
        if reading.mapping:
            raise ValueError("columns= is for tables with named columns: an array goes by position")
        return table
    columns = [
        (column, at)
        for column, at in zip(reading.columns, positions_of(names, source, reading), strict=True)
        if at is not None
    ]
    for column, at in columns:
        _check_kind(table, column, at)
    wanted = [column.name for column, _ in columns]
    if wanted == names:
        # The usual case: all of them, as they are.
        return table
    places = [at for _, at in columns]
    if hasattr(table, "iloc"):
        return table.iloc[:, places].set_axis(wanted, axis=1)
    if is_array(table):
        return _chosen_fields(table, [names[at] for at in places], wanted)
    import pyarrow

    kind = pyarrow.RecordBatch if isinstance(table, pyarrow.RecordBatch) else pyarrow.Table
    return kind.from_arrays([table.column(at) for at in places], names=wanted)


def _names_of_table(table: Any) -> list[str] | None:
    if hasattr(table, "iloc"):
        return [str(name) for name in table.columns]
    if is_array(table):
        names = table.dtype.names
        return None if names is None else list(names)
    return [str(name) for name in table.schema.names]


def _chosen_fields(array: Any, fields: Sequence[str], names: Sequence[str]) -> Any:
    import numpy

    kinds = [(name, array.dtype[field]) for name, field in zip(names, fields, strict=True)]
    made = numpy.empty(array.shape, dtype=kinds)
    for name, field in zip(names, fields, strict=True):
        made[name] = array[field]
    return made


def _check_kind(table: Any, column: Column, at: int) -> None:
    """Refuse integers for a date: they would be taken for what goes over the wire."""
    if getattr(column.type, "typename", None) != "date":
        return
    if hasattr(table, "iloc"):
        series = table.iloc[:, at]
        kind = series.dtype
        is_wrong = getattr(kind, "kind", "") in ("i", "u") or (
            getattr(kind, "kind", "") == "O"
            and any(isinstance(value, int) and not isinstance(value, bool) for value in series)
        )
    elif is_array(table):
        kind = table.dtype[table.dtype.names[at]]
        is_wrong = kind.kind in ("i", "u")
    else:
        from pyarrow import types

        kind = table.schema.types[at]
        is_wrong = types.is_integer(kind)
    if is_wrong:
        raise ValueError(
            f"column {column.name!r} is a date, and the source has integers ({kind}): make dates "
            "of them, as integers may count days from different years"
        )
