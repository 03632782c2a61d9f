"""Pages of rows as columns, for libraries: Arrow, NumPy, pandas and polars.

A page goes from its bytes to column buffers in one step
(`cassandra.protocol.columnar.column_buffers`). From there it goes to a library through Arrow's
PyCapsule interface without a copy: the library holds the buffers themselves. Values that NumPy has
no type for are the Python objects of rows.
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

if TYPE_CHECKING:
    import pyarrow as pa


class _Numeric(NamedTuple):
    """NumPy's view of a layout: the type in the buffer, and the type of the array."""

    stored: str
    dtype: str


# By the kind and the Arrow format of the layout.
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
    """Return True if `layout` is of vectors of plain numbers."""
    return (
        layout.kind == "vector"
        and layout.children[0].kind == "number"
        and layout.children[0].wire_size >= 0
    )


# -- column plans ----------------------------------------------------------------------------------


def column_plan(metadata: ResultMetadata, options: ColumnOptions = DEFAULT_OPTIONS) -> Any:
    """Return the `ColumnPlan` for Arrow; it is made once for each choice of options."""
    return _column_plan(
        metadata,
        options,
        lambda: [layout_of(column.type, options) for column in metadata.page_columns],
    )


def array_plan(metadata: ResultMetadata, matrices: bool = True, typed: bool = True) -> Any:
    """Return the `ColumnPlan` for NumPy.

    Numbers are in buffers, and so are vectors of numbers if `matrices` is True. All other values
    are Python objects.

    :param typed: booleans, tinyints, dates, times and timestamps are numbers too.
    """

    def layouts() -> list[Layout]:
        pairs = [(layout_of(column.type), column.type) for column in metadata.page_columns]
        return [
            layout
            if (_is_numeric(layout) and (typed or layout.format in _PLAIN_NUMBERS))
            or (matrices and _is_matrix(layout))
            else object_layout(kind)
            for layout, kind in pairs
        ]

    return _column_plan(metadata, ("arrays", matrices, typed), layouts)


# The formats of smallint, int, bigint, counter, float and double.
_PLAIN_NUMBERS = frozenset("silfg")


def _column_plan(
    metadata: ResultMetadata, key: Hashable, layouts: Callable[[], Sequence[Layout]]
) -> Any:
    plans = metadata.column_plans
    plan = plans.get(key)
    if plan is None:
        # Two threads may both make one; they are equal, and either may stay.
        codecs = [column.type.codec(vectors=metadata.vectors) for column in metadata.page_columns]
        plan = plans[key] = metadata.page_reader(
            implementations.column_buffers.ColumnPlan(metadata.names, codecs, layouts())
        )
    return plan


def check_same(first: Layout, now: Layout) -> None:
    """Raise `DecodeError` if the columns of a further page are not those of the first."""
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
    """A schema for consumers of the Arrow PyCapsule interface."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout

    def __arrow_c_schema__(self) -> object:
        """Return the schema, an ``arrow_schema`` capsule."""
        return implementations.arrow_capsules.schema_capsule(self.layout)


class ArrowPage(ArrowSchema):
    """One page for consumers of the Arrow PyCapsule interface: a record batch."""

    def __init__(self, column: ColumnArray) -> None:
        super().__init__(column.layout)
        self.column = column

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        """Return (schema, array) in capsules.

        `requested_schema` may ask for other types; the interface lets us leave them to the
        consumer.
        """
        return self.__arrow_c_schema__(), implementations.arrow_capsules.array_capsule(self.column)


class ArrowPages(ArrowSchema):
    """Pages for consumers of the Arrow PyCapsule interface: a stream of record batches."""

    def __init__(self, layout: Layout, pages: Iterable[ColumnArray]) -> None:
        super().__init__(layout)
        self._pages = pages

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return an ``arrow_array_stream`` capsule over the pages, from the first one."""
        capsules = implementations.arrow_capsules
        if not capsules.RELEASES_SAFELY:
            try:
                import pyarrow
            except ImportError:
                pass
            else:
                schema = pyarrow.schema(self)
                batches = (arrow_batch(pyarrow, schema, page) for page in self._pages)
                stream: object = pyarrow.RecordBatchReader.from_batches(
                    schema, batches
                ).__arrow_c_stream__()
                return stream
        pages = iter(self._pages)
        return capsules.stream_capsule(self.layout, lambda: next(pages, None))


def pyarrow_module(for_what: str) -> Any:
    """Import pyarrow; raises `DependencyException` if it is not installed."""
    try:
        import pyarrow
    except ImportError as error:
        raise DependencyException(
            f"{for_what} needs pyarrow: pip install turbocql[arrow]", [error]
        ) from None
    return pyarrow


def arrow_schema(pyarrow: ModuleType, layout: Layout) -> Any:
    """Return the `pyarrow.Schema` of rows."""
    return pyarrow.schema(ArrowSchema(layout))


def arrow_batch(pyarrow: ModuleType, schema: pa.Schema, page: ColumnArray) -> Any:
    """Return the page as a `pyarrow.RecordBatch` over the same memory."""
    if implementations.arrow_capsules.RELEASES_SAFELY:
        return pyarrow.record_batch(ArrowPage(page))
    arrays = [
        arrow_array(pyarrow, kind, column)
        for kind, column in zip(schema.types, page.children, strict=True)
    ]
    return pyarrow.RecordBatch.from_arrays(arrays, schema=schema)


def arrow_array(pyarrow: ModuleType, kind: pa.DataType, column: ColumnArray) -> Any:
    """Return `column` as an array of pyarrow, which then owns the buffers."""
    if column.layout.format == "n":
        return pyarrow.nulls(column.length)
    if isinstance(kind, pyarrow.BaseExtensionType):
        return pyarrow.ExtensionArray.from_storage(
            kind, arrow_array(pyarrow, kind.storage_type, column)
        )
    if column.layout.kind == "map":
        kinds = [pyarrow.struct([kind.key_field, kind.item_field])]
    elif column.layout.format == "+s":
        kinds = [kind.field(index).type for index in range(len(column.children))]
    else:
        kinds = [kind.value_type for _ in column.children]
    return pyarrow.Array.from_buffers(
        kind,
        column.length,
        [None if buffer is None else pyarrow.py_buffer(buffer) for buffer in column.buffers],
        column.null_count,
        children=[
            arrow_array(pyarrow, inner, child)
            for inner, child in zip(kinds, column.children, strict=True)
        ],
    )


def arrow_table(pyarrow: ModuleType, layout: Layout, pages: Iterable[ColumnArray]) -> Any:
    """Return the pages as a `pyarrow.Table` over the same memory, with a chunk for each."""
    schema = arrow_schema(pyarrow, layout)
    return pyarrow.Table.from_batches(
        [arrow_batch(pyarrow, schema, page) for page in pages], schema
    )


# -- polars and pandas -----------------------------------------------------------------------------


def polars_module() -> Any:
    """Import polars; raises `DependencyException` if it is not installed."""
    try:
        import polars
    except ImportError as error:
        raise DependencyException(
            "to_polars needs polars: pip install turbocql[polars]", [error]
        ) from None
    return polars


def polars_frame(polars: ModuleType, layout: Layout, pages: Sequence[ColumnArray]) -> Any:
    """Return the pages as a `polars.DataFrame`."""
    return polars.DataFrame(ArrowPages(layout, pages))


def pandas_module() -> tuple[Any, Any]:
    """Import (pandas, pyarrow or None); raises `DependencyException` if pandas is not installed."""
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
    """Raise `DependencyException` if there are options, which only pyarrow understands."""
    if options:
        raise DependencyException(
            f"to_pandas needs pyarrow for {', '.join(options)}: pip install turbocql[arrow]"
        )


def pandas_of_arrow(
    pyarrow: ModuleType, layout: Layout, pages: Iterable[ColumnArray], options: dict[str, Any]
) -> Any:
    """Return the pages as a `pandas.DataFrame`, through pyarrow.

    Dates become datetime64 and times timedelta64, which hold all CQL values. pyarrow's own choice
    for times, `datetime.time`, has no nanoseconds. For UUIDs, times and moments inside other values
    see `cassandra.protocol.columnar.arrow_cells`.
    """
    table = arrow_table(pyarrow, layout, pages)
    object_columns: dict[int, list[Any]] = {}
    if "types_mapper" not in options:
        for index, child in enumerate(layout.children):
            column = table.column(index)
            if child.kind == "time":
                column = column.cast(pyarrow.int64()).cast(pyarrow.duration("ns"))
            elif child.kind == "bytes" or is_ours(child):
                # Older releases of pyarrow give the bytes of UUIDs.
                object_columns[index] = [
                    cell for chunk in column.chunks for cell in cells(chunk, child)
                ]
                column = pyarrow.nulls(table.num_rows)
            else:
                continue
            table = table.set_column(index, layout.names[index], column)
        options = {"integer_object_nulls": True, **options}
    frame = table.to_pandas(**{"date_as_object": False, **options})
    for index, objects in object_columns.items():
        frame.isetitem(index, object_array(objects))
    if "types_mapper" not in options:
        for index, column in enumerate(table.columns):
            if column.null_count and pyarrow.types.is_integer(column.type):
                # As floats, which is what pandas makes of them, large numbers would be rounded.
                frame.isetitem(index, column.to_pandas(types_mapper=_nullable_integer))
    return frame


def _nullable_integer(kind: pa.DataType) -> Any:
    """Return pandas' type of the same width that has nulls."""
    import pandas

    return pandas.api.types.pandas_dtype(f"Int{kind.bit_width}")


def pandas_of_arrays(pandas: ModuleType, arrays: dict[str, Any]) -> Any:
    """Return arrays by column name as a `pandas.DataFrame`.

    Nulls are NA in columns of integers and booleans, and NaN, NaT or None elsewhere.
    """
    numpy = numpy_module("to_pandas")
    columns = {}
    for name, array in arrays.items():
        mask = getattr(array, "mask", None)
        kind = array.dtype.kind
        if array.ndim > 1:
            rows = [*array.data] if mask is not None else [*array]
            columns[name] = object_array(
                rows
                if mask is None
                else [None if m.any() else r for r, m in zip(rows, mask, strict=True)]
            )
        elif mask is None:
            columns[name] = array
        elif kind == "b":
            columns[name] = pandas.arrays.BooleanArray(array.data, mask)
        elif kind == "i":
            columns[name] = pandas.arrays.IntegerArray(array.data, mask)
        else:
            missing = numpy.array("NaT", dtype=array.dtype)[()] if kind in "mM" else float("nan")
            columns[name] = array.filled(missing)
    return pandas.DataFrame(columns)


# -- NumPy -----------------------------------------------------------------------------------------


def numpy_module(for_what: str) -> Any:
    """Import NumPy; raises `DependencyException` if it is not installed."""
    try:
        import numpy
    except ImportError as error:
        raise DependencyException(
            f"{for_what} needs NumPy: pip install turbocql[numpy]", [error]
        ) from None
    return numpy


def check_names(names: Sequence[str]) -> None:
    """Raise ValueError if two columns have the same name, which a dict cannot hold."""
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        raise ValueError(
            f"more than one column has the name {', '.join(twice)}: "
            "give each a name of its own with AS"
        )


def page_arrays(
    metadata: ResultMetadata, body: bytes, offset: int, row_count: int, typed: bool = False
) -> dict[str, Any]:
    """Return the page at `offset` of `body` as arrays by column name.

    If several columns have one name, the last one counts. bigint, counter, int, smallint, float and
    double become masked arrays of that width. Other types, vectors too, become object arrays.

    :param typed: tinyint and boolean become arrays of their width too, timestamp datetime64[ms],
        date datetime64[D] and time timedelta64[ns]. Only arrays with nulls are masked then.
    :raises DecodeError: if a value cannot be decoded. The message names row and column.
    :raises DependencyException: if NumPy is not installed.
    """
    numpy = numpy_module("NumpyProtocolHandler")
    column_plan = array_plan(metadata, matrices=False, typed=typed)
    arrays = arrays_of_page(numpy, column_plan.read(body, offset, row_count))
    if typed:
        return arrays
    return {
        name: array
        if array.dtype == object or isinstance(array, numpy.ma.MaskedArray)
        else numpy.ma.array(array, mask=numpy.zeros(len(array), "?"))
        for name, array in arrays.items()
    }


def arrays_of_page(numpy: ModuleType, page: ColumnArray) -> dict[str, Any]:
    """Return the columns of one page as arrays by column name."""
    return {
        name: _array(numpy, column)
        for name, column in zip(page.layout.names, page.children, strict=True)
    }


def joined_arrays(
    numpy: ModuleType, layout: Layout, pages: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """Return the arrays of all pages, one behind the other."""
    if len(pages) == 1:
        return pages[0]
    joined = {}
    for name in layout.names:
        parts = [page[name] for page in pages]
        masked = any(isinstance(part, numpy.ma.MaskedArray) for part in parts)
        joined[name] = numpy.ma.concatenate(parts) if masked else numpy.concatenate(parts)
    return joined


def _array(numpy: ModuleType, column: ColumnArray) -> Any:
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
        # datetime64 of days has 64 bits; all others are the buffer under another name.
        values = (
            values.astype("i8").view(numeric.dtype)
            if layout.kind == "date"
            else values.view(numeric.dtype)
        )
    if not column.null_count:
        return values
    nulls = ~_flags(numpy, column.buffers[0], column.length)
    if layout.kind == "vector":
        nulls = numpy.repeat(nulls[:, None], layout.dimension, axis=1)
    return numpy.ma.array(values, mask=nulls)


def _flags(numpy: ModuleType, bits: object, count: int) -> Any:
    packed = numpy.frombuffer(bits, dtype="u1", count=(count + 7) // 8)
    return numpy.unpackbits(packed, count=count, bitorder="little").view("?")


__all__ = [
    "DEFAULT_OPTIONS",
    "ArrowPage",
    "ArrowPages",
    "ArrowSchema",
    "ColumnOptions",
    "page_arrays",
]
