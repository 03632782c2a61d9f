"""Binds the rows of Arrow tables and DataFrames: the compiled twin of
`cassandra.query.tables.column_binding`.

Columns of numbers, strings, timestamps, dates, times, UUIDs and vectors of floats are encoded
directly from the memory of Arrow or NumPy. Columns of other types first become lists of Python
objects, as in the Python twin. If a value cannot be encoded directly (a number out of range, a
string that is not UTF-8), all rows are bound again by the Python code, which raises the error. The
contents of Arrow's structs are not checked; the interface guarantees that they are valid.
"""

from cpython.buffer cimport PyBUF_STRIDES, PyBuffer_Release, PyObject_GetBuffer
from cpython.list cimport PyList_GET_ITEM
from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.math cimport isinf
from libc.stdint cimport (
    INT64_MAX,
    INT64_MIN,
    int8_t,
    int16_t,
    int32_t,
    int64_t,
    uint8_t,
    uint16_t,
    uint32_t,
    uint64_t,
)
from libc.string cimport memcpy, strcmp

from cassandra._accel.arrow_c cimport ArrowArray, ArrowSchema
from cassandra._accel.bind cimport BindPlan, RowsBlock
from cassandra._accel.codecs cimport (
    KIND_BLOB,
    KIND_BOOLEAN,
    KIND_FLOAT32,
    KIND_FLOAT64,
    KIND_INT8,
    KIND_INT16,
    KIND_INT32,
    KIND_INT64,
    KIND_TEXT,
    KIND_TIMESTAMP,
    KIND_UUID,
    Codec,
)
from cassandra._accel.wbuf cimport (
    put_be16,
    put_be32,
    put_be64,
    wbuf,
    wbuf_close,
    wbuf_extend,
    wbuf_open,
)

from cassandra.cqltypes.coerce import DATE_OFFSET as _DATE_OFFSET
from cassandra.query.tables.rows import TableRows as _TableRows
from cassandra.query.tables.rows import storage_of as _storage_of
from cassandra.query.tables.rows import without_views as _without_views
from cassandra.sentinels import UNSET_VALUE as _UNSET_VALUE

__all__ = ["bind_table"]

cdef extern from "utf8.h" nogil:
    bint turbocql_is_ascii(const uint8_t*, size_t) noexcept
    bint turbocql_is_utf8(const uint8_t*, size_t) noexcept

cdef extern from "byteswap.h" nogil:
    void turbocql_swap32(uint8_t*, const uint8_t*, size_t) noexcept

cdef int64_t DATE_OFFSET = _DATE_OFFSET
cdef int64_t A_DAY = 86_400_000_000_000  # nanoseconds
cdef object _unset = _UNSET_VALUE

# How a value is read from memory. For a number, this is its C type.
cdef enum How:
    OBJECTS        # from the list `objects`
    INT8
    INT16
    INT32
    INT64
    UINT8
    UINT16
    UINT32
    UINT64
    FLOAT32
    FLOAT64
    BITS           # booleans, a bit each
    BYTES          # booleans, a byte each
    TEXT32         # strings or blobs, with offsets of 32 or 64 bits
    TEXT64
    FIXED          # 16 bytes
    VECTOR         # lists of a fixed length
    VECTOR32       # lists with offsets of 32 or 64 bits
    VECTOR64

# How a value is encoded.
cdef enum To:
    TO_INT
    TO_FLOAT
    TO_DOUBLE
    TO_BOOLEAN
    TO_TEXT
    TO_BLOB
    TO_UUID
    TO_VECTOR


cdef class _Column:
    """Where the values of a column are in memory, and how they are encoded."""

    cdef How how
    cdef To to
    cdef list objects
    cdef object owner            # keeps the memory alive
    cdef Py_buffer view
    cdef bint has_view
    cdef const uint8_t* valid    # Arrow's bitmap, or NULL if no value is null
    cdef const uint8_t* data
    cdef const uint8_t* offsets
    cdef Py_ssize_t first        # index of the array's first value in its memory
    cdef Py_ssize_t stride       # bytes from one number to the next
    cdef Py_ssize_t count
    cdef bint has_nat            # True if the smallest number means null (NumPy's NaT)
    # An integer is multiplied by `factor` or divided by `divisor` (rounded down). Then, if the
    # result is within `low` and `high`, `more` is added, and the sum is encoded with `width` bytes.
    cdef int64_t factor
    cdef int64_t divisor
    cdef int64_t more
    cdef int64_t low
    cdef int64_t high
    cdef int width
    cdef Py_ssize_t dimension    # the number of elements of a vector
    cdef const uint8_t* inner    # the numbers of all vectors

    def __dealloc__(self):
        if self.has_view:
            PyBuffer_Release(&self.view)

    cdef bint is_null(self, Py_ssize_t row) noexcept:
        cdef Py_ssize_t index = self.first + row
        return self.valid != NULL and not (self.valid[index >> 3] >> (index & 7)) & 1

    # -- integers ----------------------------------------------------------------------------------

    cdef int64_t number(self, Py_ssize_t row, bint* is_out) noexcept:
        """Read an integer; sets `is_out` if it does not fit 64 bits with a sign."""
        cdef const uint8_t* p = self.data + (self.first + row) * self.stride
        cdef int8_t i8
        cdef int16_t i16
        cdef int32_t i32
        cdef int64_t i64
        cdef uint16_t u16
        cdef uint32_t u32
        cdef uint64_t u64
        if self.how == INT64:
            memcpy(&i64, p, 8)
            return i64
        if self.how == INT32:
            memcpy(&i32, p, 4)
            return i32
        if self.how == INT16:
            memcpy(&i16, p, 2)
            return i16
        if self.how == INT8:
            memcpy(&i8, p, 1)
            return i8
        if self.how == UINT8:
            return p[0]
        if self.how == UINT16:
            memcpy(&u16, p, 2)
            return u16
        if self.how == UINT32:
            memcpy(&u32, p, 4)
            return u32
        memcpy(&u64, p, 8)
        if u64 > <uint64_t> INT64_MAX:
            is_out[0] = True
        return <int64_t> u64

    cdef bint write_int(self, wbuf* out, Py_ssize_t row) except -1:
        """Encode an integer; returns False if it is out of range."""
        cdef bint is_out = False
        cdef int64_t value = self.number(row, &is_out)
        cdef int64_t rest
        cdef uint8_t* p
        if self.has_nat and value == INT64_MIN:
            put_be32(wbuf_extend(out, 4), 0xFFFFFFFF)
            return True
        if self.factor != 1:
            if value > INT64_MAX // self.factor or value < -(INT64_MAX // self.factor):
                return False
            value *= self.factor
        elif self.divisor != 1:
            rest = value % self.divisor
            value = value // self.divisor - (1 if rest < 0 else 0)
        # Within these limits the sum below cannot overflow.
        if is_out or value < self.low or value > self.high:
            return False
        value += self.more
        p = wbuf_extend(out, 4 + self.width)
        put_be32(p, <uint32_t> self.width)
        p += 4
        if self.width == 8:
            put_be64(p, <uint64_t> value)
        elif self.width == 4:
            put_be32(p, <uint32_t> value)
        elif self.width == 2:
            put_be16(p, <uint16_t> value)
        else:
            p[0] = <uint8_t> value
        return True

    cdef int hold_int(self, int width) except -1:
        """Set up the encoding of integers with `width` bytes."""
        self.to = TO_INT
        self.width = width
        self.factor = self.divisor = 1
        self.high = INT64_MAX >> (64 - 8 * width)
        self.low = -self.high - 1
        return 0

    # -- other types -------------------------------------------------------------------------------

    cdef bint write_real(self, wbuf* out, Py_ssize_t row) except -1:
        cdef const uint8_t* p = self.data + (self.first + row) * self.stride
        cdef double value
        cdef float small
        cdef uint64_t bits
        cdef uint32_t few
        cdef uint8_t* to
        if self.how == FLOAT32:
            memcpy(&small, p, 4)
            value = small
        else:
            memcpy(&value, p, 8)
        if self.to == TO_DOUBLE:
            memcpy(&bits, &value, 8)
            to = wbuf_extend(out, 12)
            put_be32(to, 8)
            put_be64(to + 4, bits)
            return True
        small = <float> value
        if isinf(small) and not isinf(value):
            return False
        memcpy(&few, &small, 4)
        to = wbuf_extend(out, 8)
        put_be32(to, 4)
        put_be32(to + 4, few)
        return True

    cdef int span(self, Py_ssize_t row, int64_t* begin, int64_t* end) except -1:
        """Read the offsets of a string's bytes or a list's items."""
        cdef Py_ssize_t index = self.first + row
        cdef int32_t bounds32[2]
        if self.how == TEXT32 or self.how == VECTOR32:
            memcpy(bounds32, self.offsets + 4 * index, 8)
            begin[0] = bounds32[0]
            end[0] = bounds32[1]
        else:
            memcpy(begin, self.offsets + 8 * index, 8)
            memcpy(end, self.offsets + 8 * (index + 1), 8)
        return 0

    cdef bint write_text(self, wbuf* out, Py_ssize_t row) except -1:
        cdef int64_t begin = 0
        cdef int64_t end = 0
        cdef Py_ssize_t size
        cdef const uint8_t* p
        cdef uint8_t* to
        self.span(row, &begin, &end)
        size = end - begin
        if begin < 0 or size < 0:
            return False
        p = self.data + begin if size else NULL
        if (
            self.to == TO_TEXT
            and size
            and not turbocql_is_ascii(p, size)
            and not turbocql_is_utf8(p, size)
        ):
            return False
        to = wbuf_extend(out, 4 + size)
        put_be32(to, <uint32_t> size)
        if size:
            memcpy(to + 4, p, size)
        return True

    cdef bint write_vector(self, wbuf* out, Py_ssize_t row) except -1:
        cdef int64_t begin = (self.first + row) * self.dimension
        cdef int64_t end = begin + self.dimension
        cdef uint8_t* to
        if self.how != VECTOR:
            self.span(row, &begin, &end)
            if begin < 0 or end - begin != self.dimension:
                return False
        to = wbuf_extend(out, 4 + 4 * self.dimension)
        put_be32(to, <uint32_t> (4 * self.dimension))
        turbocql_swap32(to + 4, self.inner + 4 * begin, self.dimension)
        return True

    cdef bint write(self, wbuf* out, Py_ssize_t row) except -1:
        """Append a value with its length; returns False if it cannot be encoded here."""
        cdef Py_ssize_t index = self.first + row
        cdef uint8_t* to
        if self.is_null(row):
            put_be32(wbuf_extend(out, 4), 0xFFFFFFFF)
            return True
        if self.to == TO_INT:
            return self.write_int(out, row)
        if self.to == TO_TEXT or self.to == TO_BLOB:
            return self.write_text(out, row)
        if self.to == TO_FLOAT or self.to == TO_DOUBLE:
            return self.write_real(out, row)
        if self.to == TO_VECTOR:
            return self.write_vector(out, row)
        if self.to == TO_UUID:
            to = wbuf_extend(out, 20)
            put_be32(to, 16)
            memcpy(to + 4, self.data + 16 * index, 16)
            return True
        to = wbuf_extend(out, 5)
        put_be32(to, 1)
        if self.how == BITS:
            to[4] = (self.data[index >> 3] >> (index & 7)) & 1
        else:
            to[4] = self.data[index * self.stride] != 0
        return True


# -- which columns are read from memory. The functions return False for a column that is not -------


cdef int _width_of(Codec codec) noexcept:
    """Return the width of an integer type in bytes; 0 for other types."""
    if codec.kind == KIND_INT64:
        return 8
    if codec.kind == KIND_INT32:
        return 4
    if codec.kind == KIND_INT16:
        return 2
    return 1 if codec.kind == KIND_INT8 else 0


cdef bint _take_number(_Column column, Codec codec, How how, Py_ssize_t stride) except -1:
    """Set up a column of numbers; returns False if the CQL type is not a suitable number."""
    cdef int width = _width_of(codec)
    column.how = how
    column.stride = stride
    if how == FLOAT32 or how == FLOAT64:
        column.to = TO_FLOAT if codec.kind == KIND_FLOAT32 else TO_DOUBLE
        return codec.kind == KIND_FLOAT32 or codec.kind == KIND_FLOAT64
    if width:
        column.hold_int(width)
    return width != 0


cdef bint _take_moment(_Column column, Codec codec, int64_t nanos) except -1:
    """Set up a column of timestamps or dates: counts since 1970 of `nanos` nanoseconds each."""
    cdef int64_t unit
    if codec.kind == KIND_TIMESTAMP:
        column.hold_int(8)
        unit = 1_000_000
    elif type(codec).__name__ == "DateCodec":
        column.hold_int(4)
        unit = A_DAY
        column.more = DATE_OFFSET
        column.low = -DATE_OFFSET
        column.high = DATE_OFFSET - 1
    else:
        return False
    if nanos >= unit:
        column.factor = nanos // unit
    else:
        column.divisor = unit // nanos
    return True


cdef bint _take_time(_Column column, Codec codec, int64_t nanos) except -1:
    """Set up a column of times since midnight, in units of `nanos` nanoseconds."""
    if type(codec).__name__ != "TimeCodec":
        return False
    column.hold_int(8)
    column.factor = nanos
    column.low = 0
    column.high = A_DAY - 1
    return True


cdef int64_t _nanos_of(char unit) noexcept:
    """Return the nanoseconds in a unit: s, m (milliseconds), u (microseconds) or n."""
    if unit == b"s":
        return 1_000_000_000
    if unit == b"m":
        return 1_000_000
    return 1_000 if unit == b"u" else 1


# How numbers are read, and their size in bytes, by Arrow's format.
cdef dict _NUMBERS = {
    "c": (INT8, 1), "s": (INT16, 2), "i": (INT32, 4), "l": (INT64, 8),
    "C": (UINT8, 1), "S": (UINT16, 2), "I": (UINT32, 4), "L": (UINT64, 8),
    "f": (FLOAT32, 4), "g": (FLOAT64, 8),
}


cdef bint _take_arrow(_Column column, Codec codec, object array) except -1:
    """Set up a column from a pyarrow array; returns False if it cannot be read from memory."""
    cdef ArrowSchema* schema
    cdef ArrowArray* arrow
    cdef const char* form
    cdef bint taken = False
    column.owner = array.__arrow_c_array__()
    schema = <ArrowSchema*> PyCapsule_GetPointer(column.owner[0], "arrow_schema")
    arrow = <ArrowArray*> PyCapsule_GetPointer(column.owner[1], "arrow_array")
    if schema.dictionary != NULL or arrow.n_buffers < 2 - (schema.format[0] == b"+"):
        return False
    form = schema.format
    column.count = arrow.length
    column.first = arrow.offset
    column.valid = <const uint8_t*> arrow.buffers[0] if arrow.null_count else NULL
    if form[0] == b"+":
        return _take_vector(column, codec, schema, arrow)
    column.data = <const uint8_t*> arrow.buffers[1]
    number = _NUMBERS.get(form.decode())
    if number is not None:
        taken = _take_number(column, codec, number[0], number[1])
    elif form[0] == b"t" and form[1] == b"s":
        column.how = INT64
        column.stride = 8
        taken = _take_moment(column, codec, _nanos_of(form[2]))
        # A timestamp with a time zone that is bound as a date means the date in that zone. So leave
        # such a column to the Python code.
        taken = taken and (codec.kind == KIND_TIMESTAMP or form[4] == 0)
    elif not strcmp(form, b"tdD") or not strcmp(form, b"tdm"):
        column.how = INT32 if form[2] == b"D" else INT64
        column.stride = 4 if form[2] == b"D" else 8
        taken = _take_moment(column, codec, A_DAY if form[2] == b"D" else 1_000_000)
    elif form[0] == b"t" and (form[1] == b"t" or form[1] == b"D"):
        column.how = INT32 if form[1] == b"t" and form[2] in b"sm" else INT64
        column.stride = 4 if column.how == INT32 else 8
        taken = _take_time(column, codec, _nanos_of(form[2]))
    elif not strcmp(form, b"b"):
        column.how = BITS
        column.to = TO_BOOLEAN
        taken = codec.kind == KIND_BOOLEAN
    elif not strcmp(form, b"w:16"):
        column.how = FIXED
        column.to = TO_UUID
        taken = codec.kind == KIND_UUID and codec.cql_name == "uuid"
    elif form[0] in b"uUzZ" and form[1] == 0 and arrow.n_buffers == 3:
        column.how = TEXT32 if form[0] in b"uz" else TEXT64
        column.offsets = column.data
        column.data = <const uint8_t*> arrow.buffers[2]
        column.to = TO_TEXT if form[0] in b"uU" else TO_BLOB
        taken = codec.kind == (KIND_TEXT if column.to == TO_TEXT else KIND_BLOB)
        taken = taken and column.offsets != NULL
    return taken


cdef bint _take_vector(
    _Column column, Codec codec, ArrowSchema* schema, ArrowArray* arrow
) except -1:
    """Set up a column of vectors from lists of 32-bit floats."""
    cdef const char* form = schema.format
    cdef ArrowArray* child
    if type(codec).__name__ != "VectorCodec" or codec.fixed_size <= 0:
        return False
    column.dimension = codec.fixed_size // 4
    if codec.cql_name != f"vector<float, {column.dimension}>" or arrow.n_children != 1:
        return False
    child = arrow.children[0]
    if strcmp(schema.children[0].format, b"f") or child.null_count or child.n_buffers != 2:
        return False
    if form.decode() == f"+w:{column.dimension}":
        column.how = VECTOR
    elif not strcmp(form, b"+l") or not strcmp(form, b"+L"):
        if arrow.n_buffers != 2:
            return False
        column.how = VECTOR32 if form[1] == b"l" else VECTOR64
        column.offsets = <const uint8_t*> arrow.buffers[1]
    else:
        return False
    column.to = TO_VECTOR
    column.inner = <const uint8_t*> child.buffers[1]
    if column.inner == NULL or (column.how != VECTOR and column.offsets == NULL):
        return False
    column.inner += 4 * child.offset
    return True


cdef bint _take_numpy(_Column column, Codec codec, object array) except -1:
    """Set up a column from a NumPy array; returns False if it cannot be read from memory."""
    cdef str letter = array.dtype.kind
    cdef Py_ssize_t size = array.dtype.itemsize
    cdef bint taken = False
    if array.ndim != 1 or letter not in "iufbMm" or not array.dtype.isnative:
        return False
    if type(array).__name__ != "ndarray":  # a masked array has a mask for nulls
        return False
    unit = None
    if letter in "Mm":
        unit = array.dtype.str.partition("[")[2].rstrip("]")
        array = array.view("int64")
    PyObject_GetBuffer(array, &column.view, PyBUF_STRIDES)
    column.has_view = True
    column.count = len(array)
    column.data = <const uint8_t*> column.view.buf
    column.stride = column.view.strides[0] if column.view.strides != NULL else size
    if unit is not None:
        if unit not in ("s", "ms", "us", "ns", "D"):
            return False
        column.how = INT64
        column.has_nat = True
        nanos = A_DAY if unit == "D" else _nanos_of(ord(unit[0]))
        if letter == "M":
            return _take_moment(column, codec, nanos)
        return _take_time(column, codec, nanos)
    if letter == "b":
        column.how = BYTES
        column.to = TO_BOOLEAN
        return codec.kind == KIND_BOOLEAN
    for name, (how, width) in _NUMBERS.items():
        if width == size and letter == ("f" if name in "fg" else "i" if name in "csil" else "u"):
            taken = _take_number(column, codec, how, column.stride)
    return taken


def _plain(source):
    """Return (array, True if it is a pyarrow array) of a table's column; None for other columns."""
    if hasattr(source, "iloc"):
        if hasattr(source.dtype, "pyarrow_dtype"):
            source = source.array.__arrow_array__()
        elif type(source.dtype).__module__.startswith("numpy"):
            return source.to_numpy(), False
        else:
            return None
    elif hasattr(source, "dtype"):
        return source, False
    if hasattr(source, "chunks"):
        # pyarrow cannot combine no chunks if the type has an extension type inside another type.
        if source.num_chunks == 0:
            return None
        source = _without_views(source)
        source = source.chunk(0) if source.num_chunks == 1 else source.combine_chunks()
    if hasattr(source, "dictionary_decode"):
        source = _without_views(source).dictionary_decode()
    source = _storage_of(source)
    return (source, True) if hasattr(source, "__arrow_c_array__") else None


cdef _Column _column(BindPlan plan, object rows, Py_ssize_t index):
    cdef _Column column = _Column.__new__(_Column)
    cdef Codec codec
    cdef bint taken = False
    source = _plain(rows.sources[index])
    if source is not None and plan._native:
        codec = <Codec?> plan._codecs[index]
        if source[1]:
            taken = _take_arrow(column, codec, source[0])
        else:
            taken = _take_numpy(column, codec, source[0])
    if not taken:
        column = _Column.__new__(_Column)
        column.how = OBJECTS
        column.objects = list(rows.values(index))
        column.count = len(column.objects)
    return column


# -- rows ------------------------------------------------------------------------------------------


cdef bint _add_rows(RowsBlock block, BindPlan plan, list columns, wbuf* out) except -1:
    """Append all rows; returns False if a value cannot be encoded here."""
    cdef Py_ssize_t count = (<_Column> columns[0]).count
    cdef Py_ssize_t width = len(columns)
    cdef Py_ssize_t row, i, row_start
    cdef _Column column
    cdef object value
    for column in columns:
        if column.count != count:
            return False
    for row in range(count):
        row_start = out.size
        wbuf_extend(out, 4)
        for i in range(width):
            column = <_Column> PyList_GET_ITEM(columns, i)  # the list contains only _Columns
            if column.how != OBJECTS:
                if not column.write(out, row):
                    return False
                continue
            # The code of a value cannot change the list, because it has no reference to the list.
            value = <object> PyList_GET_ITEM(column.objects, row)
            if value is _unset:
                return False
            plan._add(out, i, value)
        put_be32(out.data + row_start, <uint32_t> (out.size - row_start - 4))
        block._count += 1
    return True


def bind_table(plan, rows, version):
    """Bind the rows of a table (see the Python twin).

    :param plan: the `BindPlan` of the statement.
    :param rows: the table.
    :param version: the protocol version.
    """
    cdef BindPlan bind_plan = <BindPlan?> plan
    cdef RowsBlock block = RowsBlock.__new__(RowsBlock)
    cdef bint done = False
    cdef wbuf out
    if (
        type(rows) is not _TableRows
        or not bind_plan._count
        or len(rows.sources) != bind_plan._count
    ):
        return bind_plan.bind_many(rows, version)
    block.width = bind_plan._count
    wbuf_open(&out)
    try:
        try:
            columns = [_column(bind_plan, rows, index) for index in range(bind_plan._count)]
            done = _add_rows(block, bind_plan, columns, &out)
        except (ValueError, TypeError, ArithmeticError, LookupError, AttributeError):
            done = False  # `bind_many` below raises the error again, with the row's number
        if done:
            block._take(&out)
    finally:
        wbuf_close(&out)
    return block if done else bind_plan.bind_many(rows, version)
