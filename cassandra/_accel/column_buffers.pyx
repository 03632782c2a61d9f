# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, binding=True
"""Column plans: the compiled twin of `cassandra.protocol.column_buffers`, which says how they work.

A cell is 8 bytes: where it begins in the page, and its size (-1 for a null). Columns are built from arrays of cells into `Block`s, which
own their memory and are not touched any more once they are handed out: others may look at it for as long as they hold the block.
"""

from cpython.buffer cimport PyBuffer_FillInfo
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree, PyMem_RawMalloc, PyMem_RawRealloc
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from cassandra._accel.checks cimport exact_bytes
from cassandra._accel.codecs cimport Codec, get_uvint
from cassandra._accel.rows cimport check_rows
from cassandra._accel.wbuf cimport get_be32, get_be64

from cassandra._accel.rows import RowPlan as _RowPlan
from cassandra.cqltypes.coerce import inet_text as _inet_text
from cassandra.errors import DecodeError
from cassandra.protocol.column_buffers import show_decimal as _show_decimal
from cassandra.protocol.column_buffers import show_varint as _show_varint
from cassandra.protocol.layouts import COLUMN_LIMIT as _COLUMN_LIMIT
from cassandra.protocol.layouts import ColumnArray as _ColumnArray
from cassandra.protocol.layouts import fixed_decimal as _fixed_decimal
from cassandra.protocol.layouts import fixed_varint as _fixed_varint
from cassandra.protocol.layouts import row_layout as _row_layout
from cassandra.protocol.layouts import too_large as _too_large

__all__ = ["ColumnPlan"]

cdef extern from "byteswap.h" nogil:
    const int TURBOCQL_LITTLE
    void turbocql_copy(uint8_t*, const uint8_t*, size_t, size_t, int) noexcept
    uint16_t turbocql_bswap16(uint16_t) noexcept
    uint32_t turbocql_bswap32(uint32_t) noexcept
    uint64_t turbocql_bswap64(uint64_t) noexcept

cdef extern from "utf8.h" nogil:
    bint turbocql_is_ascii(const uint8_t*, size_t) noexcept
    bint turbocql_is_utf8(const uint8_t*, size_t) noexcept

cdef int64_t LIMIT = _COLUMN_LIMIT
cdef int64_t DAY_NANOS = 86_400_000_000_000

cdef enum NodeKind:
    NODE_NUMBER, NODE_BYTES, NODE_DATE, NODE_TIME, NODE_BOOLEAN, NODE_BLOB, NODE_TEXT, NODE_ASCII, NODE_INET, NODE_VARINT, NODE_DECIMAL,
    NODE_VARINT64, NODE_DECIMAL_FIXED, NODE_DURATION, NODE_DURATION_PARTS, NODE_NOTHING, NODE_LIST, NODE_MAP, NODE_STRUCT, NODE_VECTOR,
    NODE_OBJECT, NODE_ENTRIES, NODE_PART

cdef dict KINDS = {
    "number": NODE_NUMBER, "bytes": NODE_BYTES, "date": NODE_DATE, "time": NODE_TIME, "boolean": NODE_BOOLEAN, "blob": NODE_BLOB,
    "text": NODE_TEXT, "ascii": NODE_ASCII, "inet": NODE_INET, "varint": NODE_VARINT, "decimal": NODE_DECIMAL, "varint64": NODE_VARINT64,
    "decimal_fixed": NODE_DECIMAL_FIXED, "duration": NODE_DURATION, "duration_parts": NODE_DURATION_PARTS, "nothing": NODE_NOTHING,
    "list": NODE_LIST, "map": NODE_MAP, "struct": NODE_STRUCT, "vector": NODE_VECTOR, "object": NODE_OBJECT, "entries": NODE_ENTRIES,
    "part": NODE_PART,
}

cdef struct Cell:
    uint32_t start
    int32_t size


cdef class Block:
    """Memory of a column, through the buffer protocol. Writable: an array over it belongs to whoever asked for it."""

    cdef uint8_t* data
    cdef Py_ssize_t size
    cdef Py_ssize_t capacity

    def __dealloc__(self):
        PyMem_RawFree(self.data)

    def __len__(self):
        return self.size

    def __getbuffer__(self, Py_buffer* view, int flags):
        PyBuffer_FillInfo(view, self, self.data, self.size, 0, flags)

    # Room for `extra` more bytes; gives where they begin.
    cdef uint8_t* extend(self, Py_ssize_t extra) except NULL:
        cdef Py_ssize_t capacity
        cdef uint8_t* grown
        cdef uint8_t* start
        if extra > self.capacity - self.size:
            if extra > LIMIT - self.size:
                raise DecodeError("the page takes more than 2 GiB as a column")
            capacity = max(self.size + extra, 2 * self.capacity)
            grown = <uint8_t*> PyMem_RawRealloc(self.data, capacity)
            if grown == NULL:
                raise MemoryError()
            self.data = grown
            self.capacity = capacity
        start = self.data + self.size
        self.size += extra
        return start


cdef Block new_block(Py_ssize_t size, bint zeros):
    cdef Block made = Block.__new__(Block)
    # Never no memory at all: readers of Arrow want an address, of empty columns too.
    cdef size_t room = size if size > 8 else 8
    made.data = <uint8_t*> (PyMem_RawCalloc(room, 1) if zeros else PyMem_RawMalloc(room))
    if made.data == NULL:
        raise MemoryError()
    made.size = size
    made.capacity = room
    return made


cdef class Cells:
    """A growing array of cells."""

    cdef Cell* items
    cdef Py_ssize_t count
    cdef Py_ssize_t capacity

    def __dealloc__(self):
        PyMem_RawFree(self.items)

    cdef int grow(self, Py_ssize_t wanted) except -1:
        cdef Py_ssize_t capacity = max(2 * self.capacity, self.count + wanted)
        cdef Cell* grown = <Cell*> PyMem_RawRealloc(self.items, capacity * sizeof(Cell))
        if grown == NULL:
            raise MemoryError()
        self.items = grown
        self.capacity = capacity
        return 0

    cdef inline int add(self, uint32_t start, int32_t size) except -1:
        if self.count == self.capacity:
            self.grow(1)
        self.items[self.count].start = start
        self.items[self.count].size = size
        self.count += 1
        return 0

    cdef int add_nulls(self, Py_ssize_t count) except -1:
        if count > self.capacity - self.count:
            self.grow(count)
        # A cell of ones is a null.
        memset(self.items + self.count, 0xFF, count * sizeof(Cell))
        self.count += count
        return 0


cdef Cells new_cells(Py_ssize_t capacity):
    cdef Cells made = Cells.__new__(Cells)
    made.grow(capacity if capacity > 8 else 8)
    return made


cdef class Node:
    """A layout, ready to be walked."""

    cdef object layout
    cdef NodeKind kind
    cdef Py_ssize_t width
    cdef Py_ssize_t wire_size
    cdef Py_ssize_t dimension
    cdef bint empty_is_value
    cdef int32_t scale
    cdef int64_t bound          # values of a fixed decimal are below it; 0 where that takes more than 64 bits
    cdef tuple children
    cdef object codec           # of an object column


cdef Node node_of(object layout, object codec):
    cdef Node made = Node.__new__(Node)
    made.layout = layout
    made.kind = KINDS[layout.kind]
    made.width = layout.width
    made.wire_size = layout.wire_size
    made.dimension = layout.dimension
    made.empty_is_value = layout.empty_is_value
    precision, made.scale = layout.decimal
    made.bound = 10**precision if precision < 19 else 0
    made.children = tuple([node_of(child, None) for child in layout.children])
    made.codec = codec
    return made


cdef class ColumnPlan:
    """Decodes pages of one list of columns to columns (see the Python twin)."""

    cdef readonly object layout
    cdef tuple _codecs
    cdef tuple _nodes
    cdef object _rows

    def __cinit__(self, *arguments, **named):
        # An object whose __init__ never ran has no columns.
        self._codecs = self._nodes = ()

    def __init__(self, names, codecs, layouts):
        if not len(names) == len(codecs) == len(layouts):
            raise ValueError(f"{len(names)} names, {len(codecs)} codecs and {len(layouts)} layouts")
        self._rows = _RowPlan(names, codecs)
        self._codecs = tuple(codecs)
        self._nodes = tuple([node_of(layout, codec) for layout, codec in zip(layouts, codecs)])
        self.layout = _row_layout(names, layouts)

    def read(self, body, offset, row_count):
        """The rows at `offset` as a struct of columns; `DecodeError` names row and column."""
        cdef bytes page = exact_bytes(body, "a page")
        cdef Py_ssize_t width = len(self._nodes)
        cdef Py_ssize_t count = check_rows(page, offset, row_count, width)
        cdef const uint8_t* base = <const uint8_t*> PyBytes_AS_STRING(page)
        cdef Cells cells
        cdef Py_ssize_t at = 0
        cdef list made = []
        if PyBytes_GET_SIZE(page) > LIMIT:
            raise DecodeError(f"a page of {PyBytes_GET_SIZE(page)} bytes is longer than the protocol's limit of 2 GiB")
        cells = new_cells(count * width)
        try:
            cut(base, offset, PyBytes_GET_SIZE(page), cells.items, count, width)
            cells.count = count * width
            for at in range(width):
                made.append(build(<Node> self._nodes[at], base, cells.items + at * count, count))
        except MemoryError:
            raise
        except Exception as error:
            raise self._refusal(page, offset, row_count, cells, at, error) from error
        return _ColumnArray(self.layout, count, 0, (None,), tuple(made))

    cdef object _refusal(self, bytes page, object offset, object row_count, Cells cells, Py_ssize_t column, object error):
        cdef const uint8_t* base = <const uint8_t*> PyBytes_AS_STRING(page)
        cdef Py_ssize_t row
        cdef Py_ssize_t count = row_count
        self._rows.tuples(page, offset, row_count)  # raises what rows cannot be made of either
        where = f'column "{self.layout.names[column]}" ({self._codecs[column].cql_name})'
        if cells.count:
            for row in range(count):
                try:
                    build(<Node> self._nodes[column], base, cells.items + column * count + row, 1)
                except DecodeError:
                    return DecodeError(f"row {row}, {where}: {error}")
        return DecodeError(f"{where}: {error}")


# The cells of each column, one column after the other.
cdef int cut(const uint8_t* base, Py_ssize_t pos, Py_ssize_t end, Cell* cells, Py_ssize_t rows, Py_ssize_t width) except -1:
    cdef Py_ssize_t row, column
    cdef int32_t size
    cdef Cell* cell
    for row in range(rows):
        cell = cells + row
        for column in range(width):
            if end - pos < 4:
                raise DecodeError("a length goes past the end of the page")
            size = <int32_t> get_be32(base + pos)
            pos += 4
            if size > end - pos:
                raise DecodeError("a value goes past the end of the page")
            cell.start = <uint32_t> pos
            cell.size = size
            if size > 0:
                pos += size
            cell += rows
    return 0


cdef object wrong_size(Node node):
    return DecodeError(f"takes {node.width} bytes")


# The column of `count` cells. Cells of zero bytes that are no value are made nulls.
cdef object build(Node node, const uint8_t* base, Cell* cells, Py_ssize_t count):
    cdef Py_ssize_t i
    cdef Py_ssize_t nulls = 0
    cdef bint empty_is_value = node.empty_is_value
    cdef NodeKind kind = node.kind
    cdef object validity = None
    cdef Block bits
    if kind == NODE_OBJECT:
        return array_of(node, count, 0, (objects(node, base, cells, count),))
    for i in range(count):
        if cells[i].size <= 0:
            if cells[i].size < 0 or not empty_is_value:
                cells[i].size = -1
                nulls += 1
    if nulls:
        validity = bits = new_block((count + 7) >> 3, True)
        for i in range(count):
            bits.data[i >> 3] |= (<uint8_t> (cells[i].size >= 0)) << (i & 7)
    if kind == NODE_NUMBER:
        return array_of(node, count, nulls, (validity, numbers(node, base, cells, count)))
    if kind == NODE_TEXT or kind == NODE_BLOB or kind == NODE_ASCII:
        return array_of(node, count, nulls, (validity, *variable(node, base, cells, count)))
    if kind == NODE_BYTES or kind == NODE_BOOLEAN or kind == NODE_DATE or kind == NODE_TIME:
        return array_of(node, count, nulls, (validity, FIXED[<int> kind](node, base, cells, count)))
    if kind == NODE_INET or kind == NODE_VARINT or kind == NODE_DECIMAL:
        return array_of(node, count, nulls, (validity, *shown(node, base, cells, count)))
    if kind == NODE_VARINT64 or kind == NODE_DECIMAL_FIXED:
        return array_of(node, count, nulls, (validity, wide_numbers(node, base, cells, count)))
    if kind == NODE_DURATION:
        return array_of(node, count, nulls, (validity, durations(node, base, cells, count)))
    if kind == NODE_DURATION_PARTS:
        return duration_parts(node, base, cells, count, nulls, validity)
    if kind == NODE_LIST or kind == NODE_MAP:
        return collection(node, base, cells, count, nulls, validity)
    if kind == NODE_STRUCT:
        return structure(node, base, cells, count, nulls, validity)
    if kind == NODE_VECTOR:
        return vector(node, base, cells, count, nulls, validity)
    for i in range(count):
        if cells[i].size > 0:
            raise DecodeError("takes 0 bytes")
    return array_of(node, count, nulls, (validity,))


cdef object array_of(Node node, Py_ssize_t count, Py_ssize_t nulls, tuple buffers):
    return _ColumnArray(node.layout, count, nulls, buffers, ())


# -- values of one width --------------------------------------------------------------------------------------------------

cdef Block numbers(Node node, const uint8_t* base, const Cell* cells, Py_ssize_t count):
    cdef Py_ssize_t width = node.width
    cdef Block made = new_block(count * width, False)
    cdef uint64_t v64
    cdef uint32_t v32
    cdef uint16_t v16
    cdef Py_ssize_t i
    if width == 8:
        for i in range(count):
            v64 = 0
            if cells[i].size == 8:
                memcpy(&v64, base + cells[i].start, 8)
                if TURBOCQL_LITTLE:
                    v64 = turbocql_bswap64(v64)
            elif cells[i].size >= 0:
                raise wrong_size(node)
            memcpy(made.data + 8 * i, &v64, 8)
    elif width == 4:
        for i in range(count):
            v32 = 0
            if cells[i].size == 4:
                memcpy(&v32, base + cells[i].start, 4)
                if TURBOCQL_LITTLE:
                    v32 = turbocql_bswap32(v32)
            elif cells[i].size >= 0:
                raise wrong_size(node)
            memcpy(made.data + 4 * i, &v32, 4)
    elif width == 2:
        for i in range(count):
            v16 = 0
            if cells[i].size == 2:
                memcpy(&v16, base + cells[i].start, 2)
                if TURBOCQL_LITTLE:
                    v16 = turbocql_bswap16(v16)
            elif cells[i].size >= 0:
                raise wrong_size(node)
            memcpy(made.data + 2 * i, &v16, 2)
    else:
        for i in range(count):
            made.data[i] = 0
            if cells[i].size == 1:
                made.data[i] = base[cells[i].start]
            elif cells[i].size >= 0:
                raise wrong_size(node)
    return made


cdef Block uuids(Node node, const uint8_t* base, const Cell* cells, Py_ssize_t count):
    cdef Block made = new_block(count * 16, False)
    cdef Py_ssize_t i
    for i in range(count):
        if cells[i].size == 16:
            memcpy(made.data + 16 * i, base + cells[i].start, 16)
        elif cells[i].size >= 0:
            raise wrong_size(node)
        else:
            memset(made.data + 16 * i, 0, 16)
    return made


cdef Block booleans(Node node, const uint8_t* base, const Cell* cells, Py_ssize_t count):
    cdef Block made = new_block((count + 7) >> 3, True)
    cdef Py_ssize_t i
    for i in range(count):
        if cells[i].size == 1:
            made.data[i >> 3] |= (<uint8_t> (base[cells[i].start] != 0)) << (i & 7)
        elif cells[i].size >= 0:
            raise wrong_size(node)
    return made


# Section 5.5: unsigned days with the epoch at 2^31, which the highest bit alone makes of signed ones.
cdef Block dates(Node node, const uint8_t* base, const Cell* cells, Py_ssize_t count):
    cdef Block made = numbers(node, base, cells, count)
    cdef uint32_t* days = <uint32_t*> made.data
    cdef Py_ssize_t i
    for i in range(count):
        days[i] ^= 0x80000000u
    return made


cdef Block times(Node node, const uint8_t* base, const Cell* cells, Py_ssize_t count):
    cdef Block made = numbers(node, base, cells, count)
    cdef int64_t* nanos = <int64_t*> made.data
    cdef Py_ssize_t i
    for i in range(count):
        if not 0 <= nanos[i] < DAY_NANOS:
            raise DecodeError("not within one day")
    return made


ctypedef Block (*Builder)(Node, const uint8_t*, const Cell*, Py_ssize_t)
cdef Builder[5] FIXED
FIXED[<int> NODE_NUMBER] = numbers
FIXED[<int> NODE_BYTES] = uuids
FIXED[<int> NODE_DATE] = dates
FIXED[<int> NODE_TIME] = times
FIXED[<int> NODE_BOOLEAN] = booleans


# -- text and bytes -------------------------------------------------------------------------------------------------------

# (offsets, data)
cdef tuple variable(Node node, const uint8_t* base, const Cell* cells, Py_ssize_t count):
    cdef Block offsets = new_block((count + 1) * 4, False)
    cdef int32_t* places = <int32_t*> offsets.data
    cdef int64_t total = 0
    cdef Py_ssize_t i
    cdef Block data
    cdef uint8_t* to
    cdef int32_t size
    for i in range(count):
        places[i] = <int32_t> total
        if cells[i].size > 0:
            total += cells[i].size
    # Cells lie in the page side by side, so that their sum is within its limit.
    places[count] = <int32_t> total
    data = new_block(total, False)
    to = data.data
    for i in range(count):
        size = cells[i].size
        if size > 0:
            if size <= 16:
                copy_short(to, base + cells[i].start, size)
            else:
                memcpy(to, base + cells[i].start, size)
            to += size
    if node.kind != NODE_BLOB and not turbocql_is_ascii(data.data, total):
        check_text(node, base, cells, count)
    return offsets, data


# At most 16 bytes as two copies of a fixed width, which reach neither before the value nor behind it.
cdef inline void copy_short(uint8_t* to, const uint8_t* source, int32_t size) noexcept nogil:
    cdef uint64_t head, tail
    cdef uint32_t head32, tail32
    if size >= 8:
        memcpy(&head, source, 8)
        memcpy(&tail, source + size - 8, 8)
        memcpy(to, &head, 8)
        memcpy(to + size - 8, &tail, 8)
    elif size >= 4:
        memcpy(&head32, source, 4)
        memcpy(&tail32, source + size - 4, 4)
        memcpy(to, &head32, 4)
        memcpy(to + size - 4, &tail32, 4)
    else:
        to[0] = source[0]
        to[size >> 1] = source[size >> 1]
        to[size - 1] = source[size - 1]


cdef int check_text(Node node, const uint8_t* base, const Cell* cells, Py_ssize_t count) except -1:
    cdef Py_ssize_t i
    if node.kind == NODE_ASCII:
        raise DecodeError("not ASCII")
    for i in range(count):
        if cells[i].size > 0 and not turbocql_is_utf8(base + cells[i].start, cells[i].size):
            raise DecodeError("not UTF-8")
    return 0


# -- what is shown as text ------------------------------------------------------------------------------------------------

cdef tuple shown(Node node, const uint8_t* base, const Cell* cells, Py_ssize_t count):
    cdef Block offsets = new_block((count + 1) * 4, False)
    cdef Block data = new_block(0, False)
    cdef int32_t* places = <int32_t*> offsets.data
    cdef const uint8_t* p
    cdef int32_t size
    cdef Py_ssize_t i
    cdef NodeKind kind = node.kind
    places[0] = 0
    for i in range(count):
        size = cells[i].size
        if size >= 0:
            p = base + cells[i].start
            if kind == NODE_INET and size == 4:
                show_ipv4(data, p)
            elif kind == NODE_VARINT and size <= 8:
                show_decimal(data, signed_of(p, size), 0)
            elif kind == NODE_DECIMAL and 5 <= size <= 12 and -100_000 < <int32_t> get_be32(p) < 100_000:
                show_decimal(data, signed_of(p + 4, size - 4), <int32_t> get_be32(p))
            else:
                show_object(node, data, p, size)
        places[i + 1] = <int32_t> data.size
    return offsets, data


cdef int show_object(Node node, Block data, const uint8_t* p, Py_ssize_t size) except -1:
    cdef object cell = PyBytes_FromStringAndSize(<const char*> p, size)
    cdef bytes text
    if node.kind == NODE_INET:
        text = _inet_text(cell).encode()
    elif node.kind == NODE_VARINT:
        text = _show_varint(cell)
    else:
        text = _show_decimal(cell)
    memcpy(data.extend(PyBytes_GET_SIZE(text)), PyBytes_AS_STRING(text), PyBytes_GET_SIZE(text))
    return 0


cdef int show_ipv4(Block data, const uint8_t* address) except -1:
    cdef uint8_t[16] text
    cdef Py_ssize_t length = 0
    cdef int part, number
    for part in range(4):
        number = address[part]
        if number >= 100:
            text[length] = <uint8_t> (c"0" + number // 100)
            length += 1
        if number >= 10:
            text[length] = <uint8_t> (c"0" + number // 10 % 10)
            length += 1
        text[length] = <uint8_t> (c"0" + number % 10)
        text[length + 1] = c"."
        length += 2
    memcpy(data.extend(length - 1), text, length - 1)
    return 0


# Two's complement of 1 to 8 bytes.
cdef inline int64_t signed_of(const uint8_t* p, Py_ssize_t size) noexcept:
    cdef uint64_t value = <uint64_t> <int64_t> <int8_t> p[0]
    cdef Py_ssize_t i
    for i in range(1, size):
        value = (value << 8) | p[i]
    return <int64_t> value


# unscaled * 10 ** -scale in the form of decimal.Decimal: scientific below 0.000001, and for a negative scale.
cdef int show_decimal(Block data, int64_t unscaled, int64_t scale) except -1:
    cdef uint8_t[20] digits
    cdef Py_ssize_t count = 0
    cdef uint64_t left = <uint64_t> unscaled if unscaled >= 0 else ~(<uint64_t> unscaled) + 1
    cdef int64_t point, i
    cdef bint scientific
    while left or not count:
        digits[19 - count] = <uint8_t> (c"0" + left % 10)
        left //= 10
        count += 1
    point = count - scale  # where it stands among the digits
    scientific = scale < 0 or point <= -6
    if unscaled < 0:
        data.extend(1)[0] = c"-"
    if scientific:
        put_digits(data, digits + 20 - count, 1, count)
        data.extend(1)[0] = c"E"
        data.extend(1)[0] = c"+" if point > 0 else c"-"
        show_decimal(data, point - 1 if point > 0 else 1 - point, 0)
    elif point <= 0:
        memcpy(data.extend(2), <const uint8_t*> b"0.", 2)
        for i in range(-point):
            data.extend(1)[0] = c"0"
        memcpy(data.extend(count), digits + 20 - count, count)
    else:
        put_digits(data, digits + 20 - count, point, count)
    return 0


# `count` digits with a point before the one at `point`, where there is one.
cdef int put_digits(Block data, const uint8_t* digits, Py_ssize_t point, Py_ssize_t count) except -1:
    memcpy(data.extend(point), digits, point)
    if count > point:
        data.extend(1)[0] = c"."
        memcpy(data.extend(count - point), digits + point, count - point)
    return 0


cdef Block wide_numbers(Node node, const uint8_t* base, const Cell* cells, Py_ssize_t count):
    cdef Py_ssize_t width = node.width
    cdef Block made = new_block(count * width, True)
    cdef const uint8_t* p
    cdef int32_t size
    cdef int64_t value
    cdef Py_ssize_t i
    for i in range(count):
        size = cells[i].size
        if size < 0:
            continue
        p = base + cells[i].start
        if node.kind == NODE_VARINT64:
            value = signed_of(p, size) if size <= 8 else _fixed_varint(PyBytes_FromStringAndSize(<const char*> p, size))
            memcpy(made.data + 8 * i, &value, 8)
            continue
        if size < 5:
            raise DecodeError("takes at least 5 bytes")
        if size <= 12 and <int32_t> get_be32(p) == node.scale and TURBOCQL_LITTLE:
            value = signed_of(p + 4, size - 4)
            if node.bound == 0 or -node.bound < value < node.bound:
                memset(made.data + width * i, 0xFF if value < 0 else 0, width)
                memcpy(made.data + width * i, &value, 8)
                continue
        fixed = _fixed_decimal(PyBytes_FromStringAndSize(<const char*> p, size), node.layout)
        memcpy(made.data + width * i, PyBytes_AS_STRING(fixed), width)
    return made


# -- duration -------------------------------------------------------------------------------------------------------------

# 16 bytes each: months and days of 32 bits, nanoseconds of 64.
cdef Block durations(Node node, const uint8_t* base, const Cell* cells, Py_ssize_t count):
    cdef Block made = new_block(count * 16, True)
    cdef int64_t[3] parts
    cdef uint64_t number = 0
    cdef const uint8_t* p
    cdef Py_ssize_t left, taken, part, i
    for i in range(count):
        if cells[i].size < 0:
            continue
        p = base + cells[i].start
        left = cells[i].size
        for part in range(3):
            taken = get_uvint(p, left, &number)
            if taken == 0:
                raise DecodeError("truncated")
            parts[part] = <int64_t> ((number >> 1) ^ (~(number & 1) + 1))
            p += taken
            left -= taken
        if left or not (-2147483648 <= parts[0] <= 2147483647 and -2147483648 <= parts[1] <= 2147483647):
            raise DecodeError("not three numbers in their ranges")
        (<int32_t*> made.data)[4 * i] = <int32_t> parts[0]
        (<int32_t*> made.data)[4 * i + 1] = <int32_t> parts[1]
        (<int64_t*> made.data)[2 * i + 1] = parts[2]
    return made


cdef object duration_parts(Node node, const uint8_t* base, Cell* cells, Py_ssize_t count, Py_ssize_t nulls, object validity):
    cdef Block whole = durations(node, base, cells, count)
    cdef Block months = new_block(4 * count, False)
    cdef Block days = new_block(4 * count, False)
    cdef Block nanos = new_block(8 * count, False)
    cdef Py_ssize_t i
    for i in range(count):
        (<int32_t*> months.data)[i] = (<int32_t*> whole.data)[4 * i]
        (<int32_t*> days.data)[i] = (<int32_t*> whole.data)[4 * i + 1]
        (<int64_t*> nanos.data)[i] = (<int64_t*> whole.data)[2 * i + 1]
    parts = [array_of(<Node> child, count, 0, (None, part)) for child, part in zip(node.children, (months, days, nanos))]
    return _ColumnArray(node.layout, count, nulls, (validity,), tuple(parts))


# -- what holds others ----------------------------------------------------------------------------------------------------

# The size at `p` of a [bytes], `left` bytes before the end of what holds it. Negative lengths other than -1 are damage (see codec_base.take).
cdef inline int32_t item_size(const uint8_t* p, Py_ssize_t left) except -2:
    cdef int32_t size
    if left < 4:
        raise DecodeError("truncated")
    size = <int32_t> get_be32(p)
    if size < -1 or size > left - 4:
        raise DecodeError("a length beyond the end, or negative")
    return size


cdef object collection(Node node, const uint8_t* base, Cell* cells, Py_ssize_t count, Py_ssize_t nulls, object validity):
    cdef bint is_map = node.kind == NODE_MAP
    cdef Cells items = new_cells(count)
    cdef Cells values = new_cells(count) if is_map else items
    cdef Block offsets = new_block((count + 1) * 4, False)
    cdef int32_t* places = <int32_t*> offsets.data
    cdef uint32_t pos, end
    cdef int64_t number, at
    cdef int32_t size
    cdef Py_ssize_t i
    cdef int side
    cdef Node child, key_node
    for i in range(count):
        places[i] = <int32_t> items.count
        if cells[i].size < 0:
            continue
        pos = cells[i].start
        end = pos + <uint32_t> cells[i].size
        if cells[i].size < 4:
            raise DecodeError("truncated")
        number = <int32_t> get_be32(base + pos)
        pos += 4
        if number < 0 or number * (8 if is_map else 4) > end - pos:
            raise DecodeError("a count that the bytes cannot hold")
        for at in range(number):
            for side in range(2 if is_map else 1):
                size = item_size(base + pos, end - pos)
                pos += 4
                (values if side else items).add(pos, size)
                if size > 0:
                    pos += <uint32_t> size
        if pos != end:
            raise DecodeError("bytes left over")
    places[count] = <int32_t> items.count
    child = <Node> node.children[0]
    if not is_map:
        inner = build(child, base, items.items, items.count)
        return _ColumnArray(node.layout, count, nulls, (validity, offsets), (inner,))
    key_node = <Node> child.children[0]
    keys = build(key_node, base, items.items, items.count)
    if keys.null_count:
        raise DecodeError("a key is null, which a column of maps cannot hold")
    inner = build(<Node> child.children[1], base, values.items, values.count)
    entries = _ColumnArray(child.layout, items.count, 0, (None,), (keys, inner))
    return _ColumnArray(node.layout, count, nulls, (validity, offsets), (entries,))


cdef object structure(Node node, const uint8_t* base, Cell* cells, Py_ssize_t count, Py_ssize_t nulls, object validity):
    cdef Py_ssize_t width = len(node.children)
    cdef Cells fields = new_cells(count * width)
    cdef uint32_t pos, end
    cdef int32_t size
    cdef Py_ssize_t i, field
    for i in range(count):
        pos = end = 0
        if cells[i].size >= 0:
            pos = cells[i].start
            end = pos + <uint32_t> cells[i].size
        for field in range(width):
            size = -1
            if pos < end:  # a missing tail is null: the value is older than the type's last fields
                size = item_size(base + pos, end - pos)
                pos += 4
            fields.items[field * count + i].start = pos
            fields.items[field * count + i].size = size
            if size > 0:
                pos += <uint32_t> size
        if pos != end:
            raise DecodeError("bytes left over")
    children = [
        build(<Node> node.children[field], base, fields.items + field * count, count) for field in range(width)
    ]
    return _ColumnArray(node.layout, count, nulls, (validity,), tuple(children))


cdef object vector(Node node, const uint8_t* base, Cell* cells, Py_ssize_t count, Py_ssize_t nulls, object validity):
    cdef Node child = <Node> node.children[0]
    cdef int64_t dimension = node.dimension
    cdef int64_t size = child.wire_size
    cdef int64_t whole = size * dimension
    cdef Cells items
    cdef Py_ssize_t i
    cdef int64_t at
    if dimension and count > LIMIT // dimension // (child.width if child.width else 8):
        raise _too_large(node.layout)
    if size >= 0:
        for i in range(count):
            if cells[i].size >= 0 and cells[i].size != whole:
                raise DecodeError(f"takes {whole} bytes")
    if size >= 0 and child.kind == NODE_NUMBER:
        inner = array_of(child, count * dimension, 0, (None, matrix(base, cells, count, dimension, size)))
    else:
        items = new_cells(count * dimension)
        for i in range(count):
            if cells[i].size < 0:
                items.add_nulls(dimension)
            elif size >= 0:
                for at in range(dimension):
                    items.add(<uint32_t> (cells[i].start + at * size), <int32_t> size)
            else:
                vector_items(base, cells[i], dimension, items)
        inner = build(child, base, items.items, items.count)
    return _ColumnArray(node.layout, count, nulls, (validity,), (inner,))


cdef Block matrix(const uint8_t* base, const Cell* cells, Py_ssize_t count, Py_ssize_t dimension, Py_ssize_t width):
    cdef Py_ssize_t step = dimension * width
    cdef Block made = new_block(count * step, False)
    cdef Py_ssize_t i
    for i in range(count):
        if cells[i].size < 0:
            memset(made.data + i * step, 0, step)
        else:
            turbocql_copy(made.data + i * step, base + cells[i].start, dimension, width, TURBOCQL_LITTLE)
    return made


cdef int vector_items(const uint8_t* base, Cell cell, int64_t dimension, Cells items) except -1:
    cdef uint32_t pos = cell.start
    cdef uint32_t end = pos + <uint32_t> cell.size
    cdef uint64_t size = 0
    cdef Py_ssize_t taken
    cdef int64_t at
    if dimension > cell.size:
        raise DecodeError("truncated")
    for at in range(dimension):
        taken = get_uvint(base + pos, end - pos, &size)
        if taken == 0 or size > end - pos - <uint32_t> taken:
            raise DecodeError("truncated")
        pos += <uint32_t> taken
        items.add(pos, <int32_t> size)
        pos += <uint32_t> size
    if pos != end:
        raise DecodeError("bytes left over")
    return 0


# -- Python objects, as rows have them ------------------------------------------------------------------------------------

cdef list objects(Node node, const uint8_t* base, const Cell* cells, Py_ssize_t count):
    cdef list made = []
    cdef Py_ssize_t i
    cdef object codec = node.codec
    cdef bint native = isinstance(codec, Codec)
    for i in range(count):
        if native:
            made.append((<Codec> codec).read_nullable(base + cells[i].start, cells[i].size))
        elif cells[i].size < 0:
            made.append(None)
        else:
            made.append(codec.decode_nullable(PyBytes_FromStringAndSize(<const char*> base + cells[i].start, cells[i].size)))
    return made
