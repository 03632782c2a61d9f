"""Binds the rows of tables: NumPy arrays, pandas and Arrow tables, and other Arrow data.

The names of the bind markers select the columns of a table. Each column becomes a list of Python
values. Missing values (nulls of Arrow, and NaT, NA and None of pandas) become None, which is bound
as null. NaN is a value if the CQL type is float or double, and a missing value for every other CQL
type.
"""

from __future__ import annotations

import re
import reprlib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

from cassandra.cqltypes.failures import EncodeValueError, locate
from cassandra.errors import DependencyException
from cassandra.query.snapshots import copy_arrow, snapshot

if TYPE_CHECKING:
    import pyarrow as pa

    from cassandra.query.tables.shapes import Array, Column, Frame

Columns: TypeAlias = "Sequence[Column]"


def is_array(rows: object) -> TypeGuard[Array]:
    """Return True if `rows` is a NumPy array."""
    return hasattr(rows, "dtype") and hasattr(rows, "ndim") and hasattr(rows, "tolist")


def is_frame(rows: object) -> TypeGuard[Frame]:
    """Return True if `rows` is a pandas DataFrame."""
    return hasattr(rows, "iloc") and hasattr(rows, "columns")


def is_arrow(rows: object) -> bool:
    """Return True if `rows` exports its data through Arrow's C interface."""
    return hasattr(rows, "__arrow_c_stream__") or hasattr(rows, "__arrow_c_array__")


def snapshot_and_count(rows: object) -> tuple[object, int]:
    """Return a copy of `rows`, and the number of rows.

    The copy is needed because the application may change `rows` afterwards. Arrow data is constant
    itself, but it may be a view of NumPy arrays.

    :raises TypeError: if `rows` is neither a table nor an iterable.
    """
    if isinstance(rows, (str, bytes, bytearray, Mapping)):
        raise _no_rows(rows)
    # A DataFrame also exports Arrow data, but reading that data needs pyarrow. So copy a DataFrame
    # as pandas data below.
    if not is_array(rows) and not is_frame(rows) and is_arrow(rows):
        table = copy_arrow(arrow_table(rows))
        return table, table.num_rows
    # Copy the elements, too: in a view, the application's later changes would be visible.
    if is_array(rows):
        return snapshot(rows), len(rows)
    if is_frame(rows):
        return _copy_of_frame(rows), len(rows)
    if not isinstance(rows, Iterable):
        raise _no_rows(rows)
    copies = list(map(snapshot, rows))
    return copies, len(copies)


def _no_rows(rows: object) -> TypeError:
    """Return the error for an object that is neither a table nor an iterable of rows."""
    # Shorten the repr, because a mapping of columns may contain thousands of values.
    message = (
        f"rows are a table or an iterable of rows, not {type(rows).__name__}: {reprlib.repr(rows)}"
    )
    if isinstance(rows, Mapping):
        message += "; write [row] for one row, and pandas.DataFrame(columns) for a dict of columns"
    return TypeError(message)


def _copy_of_frame(frame: Any) -> Frame:
    """Return a copy of a pandas DataFrame and of the Python objects in its columns."""
    duplicate: Any = frame.copy()
    for position, dtype in enumerate(getattr(frame, "dtypes", ())):
        # Only types of NumPy have `hasobject`, and only types of Arrow have `pyarrow_dtype`. The
        # copy of the frame has copies of all other columns.
        if getattr(dtype, "hasobject", False) or hasattr(dtype, "pyarrow_dtype"):
            duplicate.isetitem(position, snapshot(frame.iloc[:, position]))
    copied: Frame = duplicate
    return copied


def rows_of(rows: object, columns: Columns) -> Iterable[Any]:
    """Return `rows` as an iterable of rows for the bind markers `columns`.

    Tables are read column by column; any other iterable is returned unchanged.

    :raises ValueError: if a marker has no column in the table, or a column has no marker.
    :raises TypeError: if `rows` is neither a table nor an iterable.
    """
    cls = type(rows)
    if cls is list or cls is tuple:
        return rows  # type: ignore[return-value]  # most callers pass lists: no further check
    if isinstance(rows, (str, bytes, bytearray, Mapping)):
        raise _no_rows(rows)
    if is_array(rows):
        return _array_rows(rows, columns)
    if is_frame(rows):
        reader = values_module().series_values
        return _match_columns(columns, list(rows.columns), rows.__getitem__, reader)
    if is_arrow(rows):
        table = arrow_table(rows)
        reader = values_module().arrow_values

        def column_of_name(name: str) -> Any:
            return without_views(table.column(name))

        return _match_columns(columns, table.schema.names, column_of_name, reader)
    if not isinstance(rows, Iterable):
        raise _no_rows(rows)
    return rows


def values_module() -> ModuleType:
    """Return the module `cassandra.query.tables.values`.

    The module is imported at the first call, because few applications bind tables.
    """
    from cassandra.query.tables import values as table_values

    return table_values


class TableRows:
    """The rows of a table, for the bind markers of a statement.

    :param columns: the bind markers.
    :param sources: the table's column for each bind marker: an array, or a pandas Series.
    :param values: a function that returns the values of a column for a CQL type, as a list.
    """

    __slots__ = ("_values", "columns", "sources")

    def __init__(
        self, columns: Columns, sources: Sequence[Any], values: Callable[[Any, Any], Iterable[Any]]
    ) -> None:
        self.columns = columns
        self.sources = sources
        self._values = values

    def __len__(self) -> int:
        return len(self.sources[0]) if self.sources else 0

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return zip(*map(self.values, range(len(self.sources))), strict=True)

    def values(self, index: int) -> Iterable[Any]:
        """Return the values of one column of the table.

        :param index: the position of the bind marker that the column belongs to.
        """
        column, source = self.columns[index], self.sources[index]
        try:
            values = self._values(source, column.type)
            marked: Iterable[Any] = values_module().mark_unfit(values, column.type, source)
            return marked
        except EncodeValueError as error:
            locate(error, f'column "{column.name}" ({column.type.codec().cql_name})')
            raise


def _match_columns(
    columns: Columns,
    names: Sequence[Any],
    column_of_name: Callable[[str], Any],
    read_values: Callable[[Any, Any], Iterable[Any]],
) -> TableRows:
    """Match a table's columns with the bind markers by name.

    :param columns: the bind markers.
    :param names: the names of the table's columns.
    :param column_of_name: returns the column that has a given name.
    :param read_values: returns the values of a column for a CQL type.
    :raises ValueError: if columns and markers have different names, or two columns the same name.
    """
    marker_names = [column.name for column in columns]
    missing = [name for name in marker_names if name not in names]
    if missing:
        raise ValueError(
            f"the table has no column {', '.join(map(repr, missing))}; "
            f"it has {', '.join(map(str, names))}"
        )
    extra = [name for name in names if name not in marker_names]
    if extra:
        raise ValueError(
            f"the table has the column{'s' * (len(extra) > 1)} {', '.join(map(repr, extra))}, "
            f"but the bind markers are {', '.join(marker_names) or 'none'}"
        )
    # Refuse repeated names, for which `column_of_name` would return the first column or both
    # columns.
    if len(set(names)) < len(names):
        raise ValueError(
            f"two columns of the table have the same name: {', '.join(map(str, names))}"
        )
    return TableRows(columns, list(map(column_of_name, marker_names)), read_values)


# -- NumPy -----------------------------------------------------------------------------------------


def _array_rows(array: Array, columns: Columns) -> Iterable[Any]:
    """Return the rows of a NumPy array, which is structured or two-dimensional."""
    array_values = values_module().array_values
    names = array.dtype.names
    # A structured array has named columns. In any other array, the position of a column determines
    # its marker.
    if names is not None:
        if array.ndim != 1:
            raise ValueError(f"a structured array of rows has one dimension, not {array.ndim}")
        return _match_columns(columns, names, array.__getitem__, array_values)
    if array.ndim != 2:
        raise ValueError(
            "an array of rows is structured, with one dimension, or has two; "
            f"this one has {array.ndim} and the type {array.dtype}"
            + ("; write array.reshape(-1, 1) for rows of one value" if array.ndim == 1 else "")
        )
    if array.shape[1] != len(columns):
        raise ValueError(
            f"an array of {array.shape[1]} columns for {len(columns)} bind markers"
            f"{advice_on_matrix(array, columns)}"
        )
    if array.shape[0] == 0:
        return ()
    return TableRows(columns, [array[:, index] for index in range(len(columns))], array_values)


def advice_on_matrix(array: Array, columns: Columns) -> str:
    """Return the end of the error message for an array with the wrong number of columns.

    It gives advice if the rows of the array are probably vectors of one column; otherwise it is "".

    :param array: a two-dimensional array.
    :param columns: the columns that are written.
    """
    for column in columns:
        if getattr(column.type, "vector_size", None) == array.shape[1]:
            return (
                f": if its rows are the vectors of {column.name!r}, write a mapping of columns, "
                f"{{'id': ids, {column.name!r}: array}}"
            )
    return ""


# -- Arrow -----------------------------------------------------------------------------------------


def arrow_table(rows: object) -> pa.Table | pa.RecordBatch:
    """Return `rows` as a pyarrow Table or RecordBatch.

    :param rows: an object that exports Arrow data.
    :raises DependencyException: if pyarrow is not installed.
    """
    try:
        import pyarrow
    except ImportError as error:
        raise DependencyException(
            f"rows as {type(rows).__name__} need the package 'pyarrow': pip install turbocql[arrow]"
        ) from error
    if isinstance(rows, (pyarrow.Table, pyarrow.RecordBatch)):
        return rows
    if hasattr(rows, "__arrow_c_stream__"):
        return arrow_batches(rows).read_all()
    return pyarrow.record_batch(rows)


def arrow_batches(table: Any) -> pa.RecordBatchReader:
    """Return a reader of the record batches that an object with `__arrow_c_stream__` exports.

    :raises TypeError: for a polars or DuckDB column whose values Arrow cannot represent.
    :raises DependencyException: if pyarrow is too old for the types of the columns.
    """
    import pyarrow

    # pyarrow before version 16 can import arrays of "view" types, but cannot read them.
    knows_views = hasattr(pyarrow, "string_view")

    # Look in `sys.modules` and do not import polars: if polars is not imported, `table` is not a
    # frame of polars.
    polars = sys.modules.get("polars")
    if polars is not None and isinstance(table, (polars.DataFrame, polars.Series)):
        schema = table.schema if isinstance(table, polars.DataFrame) else {table.name: table.dtype}
        for name, dtype in schema.items():
            _check_polars_type(name, dtype)
        if not knows_views:
            return _polars_batches(polars, table)
    relation_class = getattr(sys.modules.get("duckdb"), "DuckDBPyRelation", None)
    if relation_class is not None and isinstance(table, relation_class):
        for name, dtype in zip(table.columns, table.types, strict=True):
            _check_duckdb_type(name, dtype)
    reader = pyarrow.RecordBatchReader.from_stream(table)
    if not knows_views:
        for field in reader.schema:
            # A colon follows the name of a struct's field.
            if re.search(r"\b(string|binary|list|large_list)_view\b(?!:)", str(field.type)):
                raise DependencyException(
                    f"the column {field.name!r} has the type {field.type}, for which pyarrow "
                    f"{pyarrow.__version__} is too old: pip install 'pyarrow>=16'"
                )
    return reader


def _polars_batches(polars: Any, table: Any) -> pa.RecordBatchReader:
    """Return a reader of the record batches of polars data, without "view" types.

    :param polars: the module `polars`.
    :param table: a data frame, or a series of structs.
    """
    frame = table if isinstance(table, polars.DataFrame) else table.struct.unnest()
    return frame.to_arrow(compat_level=polars.CompatLevel.oldest()).to_reader()


def storage_of(array: Any) -> Any:
    """Return the storage of an Arrow array of an extension type; other arrays unchanged.

    :param array: a pyarrow array.
    :raises TypeError: if the array has tensors with permuted dimensions, because their storage has
        the elements in an order that differs from the order in the tensor.
    """
    if not hasattr(array, "storage"):
        return array
    permutation = getattr(array.type, "permutation", None)
    if permutation is not None and list(permutation) != sorted(permutation):
        raise TypeError(
            f"the tensors of the type {array.type} are stored with permuted dimensions: store "
            "them in their own order, or pass array.to_numpy_ndarray()"
        )
    return array.storage


def without_views(column: Any) -> Any:
    """Return an Arrow column whose dictionary values are not of a "view" type.

    Columns without such values are returned unchanged.

    polars exports Categorical and Enum columns with dictionaries of such types. pyarrow cannot
    repeat their values, neither in `dictionary_decode` nor in `take`.

    :param column: a pyarrow array or chunked array.
    """
    replacement = REPLACEMENTS_OF_VIEWS.get(str(getattr(column.type, "value_type", "")))
    # A list type also has a `value_type`, but only a dictionary type has an `index_type`.
    if replacement is None or not hasattr(column.type, "index_type"):
        return column
    chunks = getattr(column, "chunks", None)
    if chunks is None:
        return type(column).from_arrays(column.indices, column.dictionary.cast(replacement))
    import pyarrow

    return pyarrow.chunked_array(
        [without_views(chunk) for chunk in chunks],
        pyarrow.dictionary(column.type.index_type, replacement),
    )


# Maps each "view" type of Arrow to a type that has the same values and that pyarrow can repeat.
REPLACEMENTS_OF_VIEWS = {"string_view": "large_string", "binary_view": "large_binary"}


def _check_polars_type(column: str, dtype: Any) -> None:
    """Raise TypeError if a polars column does not export its values correctly to Arrow.

    :param column: the name of the column.
    :param dtype: the polars type of the column or, in the recursion, of the values inside it.
    """
    kind = type(dtype).__name__
    if kind == "Object":
        # polars would export the addresses of the objects, and we would write these addresses as
        # blobs.
        raise TypeError(
            f"the polars column {column!r} has the type Object: Arrow does not get its values. "
            "Give the column a type of polars (bytes become Binary), or pass the rows: "
            "frame.iter_rows(named=True)"
        )
    if kind in ("Int128", "UInt128"):
        raise TypeError(
            f"the polars column {column!r} has the type {kind}, which Arrow does not have: pass "
            "the rows, frame.iter_rows(named=True), or cast the column"
        )
    inner = getattr(dtype, "inner", None)  # the type of the elements of a List or Array
    if inner is not None:
        _check_polars_type(column, inner)
    for field in getattr(dtype, "fields", ()):  # only Struct has fields
        _check_polars_type(column, field.dtype)


# DuckDB exports wrong values to Arrow if a column has one of these types; `_check_duckdb_type` says
# how they differ. Each type is mapped to a type to which the query can cast the column instead.
_CASTS_FOR_ARROW = {"uhugeint": "VARCHAR", "bit": "BLOB", "time with time zone": "TIME"}


def _check_duckdb_type(column: str, dtype: Any) -> None:
    """Raise TypeError if a DuckDB column exports other values to Arrow than it contains.

    DuckDB exports UHUGEINT as a decimal, in which numbers from 2**127 on become negative. It
    exports the bits of a BIT with an extra byte before them, and TIME WITH TIME ZONE without the
    zone.

    :param column: the name of the column.
    :param dtype: the DuckDB type of the column or, in the recursion, of the values inside it.
    """
    if dtype.id in _CASTS_FOR_ARROW:
        raise TypeError(
            f"the DuckDB column {column!r} has the type {dtype}, of which Arrow gets other values: "
            f"cast it in the query, {dtype} to {_CASTS_FOR_ARROW[dtype.id]}"
        )
    if dtype.id in ("list", "array", "struct", "map", "union"):
        for _, child in dtype.children:
            if hasattr(child, "id"):  # skip the length of an array, which is not a type
                _check_duckdb_type(column, child)
