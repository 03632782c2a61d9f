"""A page of rows as NumPy arrays, one for each column.

Columns of fixed-width numbers (and boolean, timestamp and time as theirs) are gathered straight from the bytes and swapped as one block; the rest
are object arrays of what the row plan decodes. A numeric column with nulls is a masked array.
"""

from __future__ import annotations

from typing import Any

from cassandra.errors import DependencyException
from cassandra.protocol.columns import ResultMetadata

# The wire form of what NumPy has a type for, by the name of the CQL type.
_WIRE_DTYPES = {
    "bigint": ">i8",
    "counter": ">i8",
    "double": ">f8",
    "float": ">f4",
    "int": ">i4",
    "smallint": ">i2",
    "tinyint": ">i1",
    "boolean": "u1",
    "timestamp": ">M8[ms]",
    "date": ">u4",
    "time": ">m8[ns]",
}


def page_arrays(metadata: ResultMetadata, body: bytes, offset: int, row_count: int) -> dict[str, Any]:
    """The page at `offset` of `body` as arrays by column name.

    bigint, counter, int, smallint, tinyint, float, double and boolean become arrays of that width, timestamp datetime64[ms], date datetime64[D],
    time timedelta64[ns]; other types object arrays. `DecodeError` names row and column; `DependencyException` where NumPy is absent.
    """
    try:
        import numpy
    except ImportError as error:
        raise DependencyException("NumpyProtocolHandler needs NumPy: pip install turbocql[numpy]", [error]) from None
    names = [column.type.codec().cql_name for column in metadata.columns]
    dtypes = [numpy.dtype(_WIRE_DTYPES[name]) if name in _WIRE_DTYPES else None for name in names]
    columns = metadata.row_plan.raw_columns(
        body, offset, row_count, [dtype.itemsize if dtype is not None else -1 for dtype in dtypes]
    )
    arrays = {}
    for column, name, dtype, data in zip(metadata.columns, names, dtypes, columns, strict=True):
        if dtype is None:
            array = numpy.empty(row_count, dtype=object)
            array[:] = data
        else:
            array = _native(numpy, numpy.frombuffer(data[0], dtype=dtype), name, data[1])
        arrays[column.name] = array
    return arrays


def _native(numpy: Any, wire: Any, name: str, nulls: bytes) -> Any:
    if name == "date":
        # Section 5.5: days, with the epoch at 2^31.
        values = (wire.astype("i8") - (1 << 31)).astype("M8[D]")
    elif name == "boolean":
        # Section 5.3: anything but 0 is true; a bool of NumPy's has to be 0 or 1 in memory.
        values = wire != 0
    else:
        values = wire.astype(wire.dtype.newbyteorder("="))
    if any(nulls):
        return numpy.ma.array(values, mask=numpy.frombuffer(nulls, dtype=bool))
    return values
