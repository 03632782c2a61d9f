"""Converts pages of rows to the objects of other libraries: Arrow, NumPy, pandas and polars.

A `ColumnPlan` decodes a page into column buffers (`cassandra.protocol.columnar.column_buffers`).
The library reads these buffers in place, without a copy, through Arrow's PyCapsule interface. In
NumPy arrays, values for which NumPy has no type are the same Python objects as in rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import cassandra._impl as implementations
from cassandra.errors import DecodeError, DependencyException
from cassandra.protocol.column_specs import ResultMetadata
from cassandra.protocol.columnar.arrow_cells import cells, is_ours, object_array
from cassandra.protocol.columnar.layouts import (
    DEFAULT_OPTIONS,
    ColumnArray,
    ColumnOptions,
    Layout,
    layout_of,
    object_layout,
)
from cassandra.protocol.columnar.named_arrays import NamedArrays

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from numpy.typing import NDArray

    from cassandra.protocol.columnar.layouts import PagePlan


class _Numeric(NamedTuple):
    """How NumPy reads the buffer of a layout.

    :param stored: the NumPy type of the items in the buffer.
    :param dtype: the NumPy type of the resulting array.
    """

    stored: str
    dtype: str


# Maps (kind, Arrow format) of a layout to how NumPy reads its buffer.
_NUMERIC: dict[tuple[str, str], _Numeric] = {
    ("number", "c"): _Numeric("i1", "i1"),
    ("number", "s"): _Numeric("i2", "i2"),
    ("number", "i"): _Numeric("i4", "i4"),
    ("number", "l"): _Numeric("i8", "i8"),
    ("number", "f"): _Numeric("f4", "f4"),
    ("number", "g"): _Numeric("f8", "f8"),
    ("number", "tsm:UTC"): _Numeric("i8", "M8[ms]"),
    ("time", "ttn"): _Numeric("i8", "m8[ns]"),
    ("date", "tdD"): _Numeric("i4", "M8[D]"),
    ("boolean", "b"): _Numeric("u1", "?"),
}


def _is_numeric(layout: Layout) -> bool:
    return (layout.kind, layout.format) in _NUMERIC


def _is_matrix(layout: Layout) -> bool:
    """Return True if the column becomes a two-dimensional array.

    This is so for vectors of numbers, booleans, dates or times.
    """
    return layout.kind == "vector" and _is_numeric(layout.children[0])


# -- column plans ----------------------------------------------------------------------------------


def column_plan(metadata: ResultMetadata, options: ColumnOptions = DEFAULT_OPTIONS) -> PagePlan:
    """Return the `ColumnPlan` for Arrow. The metadata caches a plan for each set of options."""
    return _cached_column_plan(
        metadata,
        options,
        lambda: [layout_of(column.type, options) for column in metadata.page_columns],
    )


def array_plan(metadata: ResultMetadata, matrices: bool = True, typed: bool = True) -> PagePlan:
    """Return the `ColumnPlan` for NumPy.

    Columns of numbers become buffers. All other columns become lists of Python objects.

    :param matrices: True also makes buffers of vectors of numbers, booleans, dates and times.
    :param typed: True also makes buffers of booleans, tinyints, dates, times and timestamps.
    """

    def make_layouts() -> list[Layout]:
        """Return the layout of each column: its own layout, or the layout of Python objects."""
        layouts = []
        for column in metadata.page_columns:
            layout = layout_of(column.type)
            is_buffer = _is_numeric(layout) and (typed or layout.format in _PLAIN_NUMBERS)
            # If the column cannot be a buffer, use a list of Python objects.
            if not is_buffer and not (matrices and _is_matrix(layout)):
                layout = object_layout(column.type)
            layouts.append(layout)
        return layouts

    return _cached_column_plan(metadata, ("arrays", matrices, typed), make_layouts)


# The Arrow formats (see `Layout.format`) of smallint, int, bigint, counter, float and double.
_PLAIN_NUMBERS = frozenset("silfg")


def _cached_column_plan(
    metadata: ResultMetadata, key: Hashable, make_layouts: Callable[[], Sequence[Layout]]
) -> PagePlan:
    """Return the plan that the metadata caches under `key`; create it at the first use."""
    plans = metadata.column_plans
    plan = plans.get(key)
    if plan is None:
        # Two threads may both create a plan. The plans are equal, so either may stay in the cache.
        codecs = [column.type.codec(vectors=metadata.vectors) for column in metadata.page_columns]
        plan = plans[key] = metadata.page_reader(
            implementations.column_buffers.ColumnPlan(metadata.names, codecs, make_layouts())
        )
    return plan


def check_same(first: Layout, now: Layout) -> None:
    """Raise `DecodeError` if a page's columns (`now`) differ from the first page's (`first`)."""
    if now != first:
        raise DecodeError(
            f"the columns changed between pages, from {_described(first)} to {_described(now)}: "
            "execute the statement again"
        )


def _described(layout: Layout) -> str:
    columns = zip(layout.names, layout.children, strict=True)
    return f"({', '.join(f'{name} {child.cql_name}' for name, child in columns)})"


# -- Arrow -----------------------------------------------------------------------------------------


class ArrowSchema:
    """A schema that libraries can read through the Arrow PyCapsule interface."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout

    def __arrow_c_schema__(self) -> object:
        """Return the schema, an ``arrow_schema`` capsule."""
        return implementations.arrow_capsules.schema_capsule(self.layout)


class ArrowPage(ArrowSchema):
    """A page that libraries can read through the Arrow PyCapsule interface, as a record batch."""

    def __init__(self, column: ColumnArray) -> None:
        super().__init__(column.layout)
        self.column = column

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        """Return (schema, array), a capsule for each.

        We ignore `requested_schema`, with which a consumer can ask for other types. The interface
        allows that: the consumer then converts the data.
        """
        return self.__arrow_c_schema__(), implementations.arrow_capsules.array_capsule(self.column)


class ArrowPages(ArrowSchema):
    """Pages that libraries can read through the Arrow PyCapsule interface, as a stream."""

    def __init__(self, layout: Layout, pages: Iterable[ColumnArray]) -> None:
        super().__init__(layout)
        self._pages = pages

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return an ``arrow_array_stream`` capsule with all pages, as record batches."""
        capsules = implementations.arrow_capsules
        # Without the compiled module, our release callbacks may fail if they run while an exception
        # is being raised. So let pyarrow own the data if it is installed.
        if not capsules.RELEASES_SAFELY:
            try:
                import pyarrow
            except ImportError:
                pass
            else:
                schema = pyarrow.schema(self)
                batches = (arrow_batch(pyarrow, schema, page) for page in self._pages)
                return pyarrow.RecordBatchReader.from_batches(schema, batches).__arrow_c_stream__()
        pages = iter(self._pages)
        return capsules.stream_capsule(self.layout, lambda: next(pages, None))


def pyarrow_module(for_what: str) -> ModuleType:
    """Import pyarrow; raise `DependencyException` if it is not installed."""
    try:
        import pyarrow
    except ImportError as error:
        raise DependencyException(
            f"{for_what} needs pyarrow: pip install turbocql[arrow]", [error]
        ) from None
    module: ModuleType = pyarrow
    return module


def arrow_schema(pyarrow: ModuleType, layout: Layout) -> pa.Schema:
    """Return the `pyarrow.Schema` of rows."""
    return pyarrow.schema(ArrowSchema(layout))


def arrow_batch(pyarrow: ModuleType, schema: pa.Schema, page: ColumnArray) -> pa.RecordBatch:
    """Return the page as a `pyarrow.RecordBatch`, without copying the buffers."""
    # If our capsules do not release memory safely, make the arrays by `arrow_array` instead: see
    # `cassandra.protocol.columnar.arrow_capsules`.
    if implementations.arrow_capsules.RELEASES_SAFELY:
        return pyarrow.record_batch(ArrowPage(page))
    arrays = [
        arrow_array(pyarrow, arrow_type, column)
        for arrow_type, column in zip(schema.types, page.children, strict=True)
    ]
    return pyarrow.RecordBatch.from_arrays(arrays, schema=schema)


def arrow_array(pyarrow: ModuleType, arrow_type: pa.DataType, column: ColumnArray) -> pa.Array:
    """Return `column` as a pyarrow array, which keeps the buffers alive.

    :param arrow_type: the pyarrow type of the array.
    """
    if column.layout.format == "n":
        return pyarrow.nulls(column.length)
    if isinstance(arrow_type, pyarrow.BaseExtensionType):
        return pyarrow.ExtensionArray.from_storage(
            arrow_type, arrow_array(pyarrow, arrow_type.storage_type, column)
        )
    # Find the pyarrow type of each child array. The only child of a map is a struct of its key and
    # its value.
    if pyarrow.types.is_map(arrow_type):
        child_types = [pyarrow.struct([arrow_type.key_field, arrow_type.item_field])]
    elif column.layout.format == "+s":
        child_types = [arrow_type.field(index).type for index in range(len(column.children))]
    else:
        child_types = [arrow_type.value_type for _ in column.children]
    return pyarrow.Array.from_buffers(
        arrow_type,
        column.length,
        [None if buffer is None else pyarrow.py_buffer(buffer) for buffer in column.buffers],
        column.null_count,
        children=[
            arrow_array(pyarrow, child_type, child)
            for child_type, child in zip(child_types, column.children, strict=True)
        ],
    )


def arrow_table(pyarrow: ModuleType, layout: Layout, pages: Iterable[ColumnArray]) -> pa.Table:
    """Return the pages as a `pyarrow.Table` with a chunk for each page, without copying."""
    schema = arrow_schema(pyarrow, layout)
    return pyarrow.Table.from_batches(
        [arrow_batch(pyarrow, schema, page) for page in pages], schema
    )


# -- polars and pandas -----------------------------------------------------------------------------


def polars_module() -> ModuleType:
    """Import polars; raise `DependencyException` if it is not installed."""
    try:
        import polars
    except ImportError as error:
        raise DependencyException(
            "to_polars needs polars: pip install turbocql[polars]", [error]
        ) from None
    return polars


def polars_frame(polars: ModuleType, layout: Layout, pages: Sequence[ColumnArray]) -> pl.DataFrame:
    """Return the pages as a `polars.DataFrame`.

    :raises DependencyException: if polars is too old to read more than one page.
    """
    frame: pl.DataFrame = polars.DataFrame(ArrowPages(_for_polars(polars, layout), pages))
    # Without an error, polars before version 1.10 reads only the first page.
    if layout.children and frame.height < sum(page.length for page in pages):
        raise DependencyException(
            f"polars {polars.__version__} reads only the first page of a result: "
            "pip install 'polars>=1.17.1'"
        )
    return frame


def _for_polars(polars: ModuleType, layout: Layout) -> Layout:
    """Return `layout` without extension types, and with lists of structs if polars has no maps.

    The buffers are the same. Many versions of polars fail for extension types, and for maps before
    polars has a type for them.

    :param polars: the module `polars`.
    """
    is_list = layout.format == "+m" and not hasattr(polars, "Map")
    return layout._replace(
        format="+l" if is_list else layout.format,
        extension="",
        children=tuple(_for_polars(polars, child) for child in layout.children),
    )


def pandas_module() -> tuple[Any, Any]:
    """Import (pandas, pyarrow or None); raise `DependencyException` if pandas is not installed."""
    try:
        import pandas
    except ImportError as error:
        raise DependencyException(
            "to_pandas needs pandas: pip install turbocql[pandas]", [error]
        ) from None
    try:
        import pyarrow
    except ImportError:
        return pandas, None
    return pandas, pyarrow


def check_no_options(options: dict[str, Any]) -> None:
    """Raise `DependencyException` if there are options: without pyarrow, none are supported."""
    if options:
        raise DependencyException(
            f"to_pandas needs pyarrow for {', '.join(options)}: pip install turbocql[arrow]"
        )


def pandas_of_arrow(
    pyarrow: ModuleType, layout: Layout, pages: Iterable[ColumnArray], options: dict[str, Any]
) -> pd.DataFrame:
    """Return the pages as a `pandas.DataFrame`, converted by pyarrow.

    Dates become datetime64, and times become timedelta64. These types hold all CQL values. (pyarrow
    would convert times to `datetime.time`, which has no nanoseconds.)
    `cassandra.protocol.columnar.arrow_cells` converts UUIDs, decimals and varints, and times, dates
    and timestamps inside other values.

    :param options: arguments for `pyarrow.Table.to_pandas`. If `types_mapper` is among them, the
        application chooses the types, and pyarrow converts all columns.
    :raises ValueError: if `types_mapper` chooses a type for durations.
    """
    import pandas

    check_types_mapper(pyarrow, layout, options)
    table = arrow_table(pyarrow, layout, pages)
    names = list(layout.names)
    # pyarrow finds columns by their names. If several columns have the same name and one of them
    # has strings, pyarrow converts all of them to strings. So use numbers as names, and set the
    # real names afterwards.
    is_numbered = len(set(names)) < len(names)
    if is_numbered:
        table = table.rename_columns([str(index) for index in range(len(names))])
        if options.get("categories"):
            categories = [str(i) for i, name in enumerate(names) if name in options["categories"]]
            options = {**options, "categories": categories}
    object_columns: dict[int, list[Any]] = {}
    if "types_mapper" not in options:
        for index, child in enumerate(layout.children):
            column = table.column(index)
            if child.kind == "time":
                column = column.cast(pyarrow.int64()).cast(pyarrow.duration("ns"))
            elif child.kind == "bytes" or is_ours(child):
                # pyarrow does not convert these values as we want (older releases return UUIDs as
                # bytes). So convert them here, and leave a column of nulls in the table for now.
                object_columns[index] = [
                    cell for chunk in column.chunks for cell in cells(chunk, child)
                ]
                column = pyarrow.nulls(table.num_rows)
            else:
                continue
            table = table.set_column(index, table.column_names[index], column)
        options = {"integer_object_nulls": True, **options}
    integer_columns: dict[int, pd.Series[Any]] = {}
    if "types_mapper" not in options:
        # By default, pandas converts integers with nulls to floats, which rounds large numbers. So
        # use pandas' nullable integers. Convert these columns first, because the option
        # `self_destruct` frees the table.
        for index, column in enumerate(table.columns):
            if column.null_count and pyarrow.types.is_integer(column.type):
                integer_columns[index] = column.to_pandas(types_mapper=_nullable_integer)
    frame = table.to_pandas(**{"date_as_object": False, **options})
    for index, objects in object_columns.items():
        # Set a Series, because older pandas look for numbers in arrays, and fail for very large
        # numbers.
        frame.isetitem(index, pandas.Series(object_array(objects), dtype=object))
    for index, integers in integer_columns.items():
        frame.isetitem(index, integers)
    if is_numbered:
        frame.columns = pandas.Index(names)
    return frame


def check_types_mapper(pyarrow: ModuleType, layout: Layout, options: dict[str, Any]) -> None:
    """Raise ValueError if ``types_mapper`` chooses a type for a column of durations.

    No pandas type can show Arrow's intervals of months, days and nanoseconds. ``ArrowDtype``
    accepts them, but printing the frame then raises an error that names no column.
    """
    types_mapper = options.get("types_mapper")
    if types_mapper is None:
        return
    for name, child in zip(layout.names, layout.children, strict=True):
        if child.kind == "duration" and types_mapper(pyarrow.month_day_nano_interval()) is not None:
            raise ValueError(
                f'column "{name}" (duration): pandas has no type for month_day_nano_interval: pass '
                'durations="struct", or let types_mapper return None for this type'
            )


def _nullable_integer(arrow_type: pa.DataType) -> pd.api.extensions.ExtensionDtype:
    """Return the nullable pandas type for a pyarrow integer, for example Int32 for int32."""
    import pandas

    return pandas.api.types.pandas_dtype(f"Int{arrow_type.bit_width}")


def pandas_of_arrays(pandas: ModuleType, arrays: dict[str, Any]) -> pd.DataFrame:
    """Return a `pandas.DataFrame` from NumPy arrays; used if pyarrow is not installed.

    Nulls become NA in columns of integers and booleans, and NaN, NaT or None in other columns.

    :param arrays: the array of each column by name.
    """
    numpy = numpy_module("to_pandas")
    columns = {}
    for name, array in arrays.items():
        mask = getattr(array, "mask", None)  # only arrays with nulls (masked arrays) have a mask
        dtype_kind = array.dtype.kind
        if array.ndim > 1:
            # Vectors: pandas only accepts one-dimensional columns, so each cell is an array.
            if mask is None:
                vectors = [*array]
            else:
                # If a vector is null, all its elements are masked.
                vectors = [
                    None if vector_mask.any() else vector
                    for vector, vector_mask in zip(array.data, mask, strict=True)
                ]
            columns[name] = object_array(vectors)
        elif mask is None:
            columns[name] = array
        elif dtype_kind == "b":
            columns[name] = pandas.arrays.BooleanArray(array.data, mask)
        elif dtype_kind == "i":
            columns[name] = pandas.arrays.IntegerArray(array.data, mask)
        else:
            # Datetimes (M) and timedeltas (m) have NaT for nulls.
            missing = (
                numpy.array("NaT", dtype=array.dtype)[()] if dtype_kind in "mM" else float("nan")
            )
            columns[name] = array.filled(missing)
    return pandas.DataFrame(columns)


# -- NumPy -----------------------------------------------------------------------------------------


def numpy_module(for_what: str) -> ModuleType:
    """Import NumPy; raise `DependencyException` if it is not installed."""
    try:
        import numpy
    except ImportError as error:
        raise DependencyException(
            f"{for_what} needs NumPy: pip install turbocql[numpy]", [error]
        ) from None
    return numpy


def check_names(names: Sequence[str]) -> None:
    """Raise ValueError if two columns have the same name, which a dict cannot hold."""
    duplicates = sorted(name for name, count in Counter(names).items() if count > 1)
    if duplicates:
        raise ValueError(
            f"more than one column has the name {', '.join(duplicates)}: "
            "give each a name of its own with AS"
        )


def page_arrays(
    metadata: ResultMetadata, body: bytes, offset: int, row_count: int, typed: bool = False
) -> dict[str, Any]:
    """Return a dict with the NumPy array of each column of a page, by column name.

    If several columns have the same name, the dict has the last column. The types bigint, counter,
    int, smallint, float and double become masked arrays of the same width. All other types,
    including vectors, become arrays of Python objects.

    :param metadata: the columns of the page.
    :param body: the body of the RESULT.
    :param offset: where the rows begin in `body`.
    :param row_count: the number of rows.
    :param typed: if True, tinyint and boolean become arrays of their width, timestamp becomes
        datetime64[ms], date becomes datetime64[D] and time becomes timedelta64[ns]. In this case,
        only arrays with nulls are masked arrays.
    :raises DecodeError: if a value cannot be decoded. The message names the row and column.
    :raises DependencyException: if NumPy is not installed.
    """
    numpy = numpy_module("NumpyProtocolHandler")
    column_plan = array_plan(metadata, matrices=False, typed=typed)
    arrays = arrays_of_page(numpy, column_plan.read(body, offset, row_count))
    if typed:
        return arrays
    # With `typed` False, return numbers as masked arrays even if there are no nulls.
    return {
        name: array
        if array.dtype == object or isinstance(array, numpy.ma.MaskedArray)
        else numpy.ma.array(array, mask=numpy.zeros(len(array), "?"))
        for name, array in arrays.items()
    }


def arrays_of_page(numpy: ModuleType, page: ColumnArray) -> dict[str, Any]:
    """Return a dict with the NumPy array of each column of `page`, by column name."""
    return {
        name: _array(numpy, column)
        for name, column in zip(page.layout.names, page.children, strict=True)
    }


def joined_arrays(
    numpy: ModuleType, layout: Layout, pages: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """Concatenate the arrays of all pages, column by column."""
    if len(pages) == 1:
        return NamedArrays(pages[0])
    joined = NamedArrays()
    for name in layout.names:
        parts = [page[name] for page in pages]
        is_masked = any(isinstance(part, numpy.ma.MaskedArray) for part in parts)
        joined[name] = numpy.ma.concatenate(parts) if is_masked else numpy.concatenate(parts)
    return joined


def _array(numpy: ModuleType, column: ColumnArray) -> NDArray[Any]:
    """Return `column` as a NumPy array; a masked array if it has nulls."""
    layout = column.layout
    if layout.kind == "object":
        return object_array(column.buffers[0])
    if layout.kind == "vector":
        values = _array(numpy, column.children[0]).reshape(column.length, layout.dimension)
    elif layout.kind == "boolean":
        values = _flags(numpy, column.buffers[1], column.length)
    else:
        numeric = _NUMERIC[layout.kind, layout.format]
        values = numpy.frombuffer(column.buffers[1], dtype=numeric.stored, count=column.length)
        # datetime64[D] has 64 bits, but the buffer has 32-bit days, so copy them. All other types
        # have the same size in the buffer and in the array, so the array is a view of the buffer.
        values = (
            values.astype("i8").view(numeric.dtype)
            if layout.kind == "date"
            else values.view(numeric.dtype)
        )
    if not column.null_count:
        return values
    # In the first buffer, a bit is set for each value that is not null.
    nulls = ~_flags(numpy, column.buffers[0], column.length)
    if layout.kind == "vector":
        # If a vector is null, mask all its elements.
        nulls = numpy.repeat(nulls[:, None], layout.dimension, axis=1)
    array: NDArray[Any] = numpy.ma.array(values, mask=nulls)
    return array


def _flags(numpy: ModuleType, bits: object, count: int) -> NDArray[Any]:
    """Return the first `count` bits of a bitmap as an array of booleans."""
    packed = numpy.frombuffer(bits, dtype="u1", count=(count + 7) // 8)
    array: NDArray[Any] = numpy.unpackbits(packed, count=count, bitorder="little").view("?")
    return array


__all__ = [
    "DEFAULT_OPTIONS", "ArrowPage", "ArrowPages", "ArrowSchema", "ColumnOptions", "page_arrays",
]  # fmt: skip
