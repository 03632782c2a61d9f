"""Column plans: the compiled twin of `cassandra.protocol.columnar.column_buffers`.

A cell has 8 bytes: the offset of a value in the page, and its size (-1 for a null). Columns are
built from arrays of cells, as `Block` objects, which own their memory. A block does not change
after it is returned, so other code may read it as long as it holds a reference to the block. Column
plans and cells are in this file; scalars and nested types are in the files that are included below.

Layouts and codecs are Python objects and may run an application's code. Therefore, the sizes that
loops use are copied when the plan is created, and the functions hold references to the cells and
blocks over which they iterate (see docs/twins.rst).
"""

from cpython.buffer cimport PyBuffer_FillInfo
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree, PyMem_RawMalloc, PyMem_RawRealloc
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from cassandra._accel.checks cimport exact_bytes, unpicklable
from cassandra._accel.codecs cimport Codec, Page, get_uvint, is_made
from cassandra._accel.rows cimport check_rows
from cassandra._accel.wbuf cimport get_be32

from cassandra._accel.rows import RowPlan as _RowPlan
from cassandra.cqltypes.coerce import inet_text as _inet_text
from cassandra.errors import DecodeError
from cassandra.limits import TooManyNulls, limits, too_many_nulls
from cassandra.protocol.columnar.column_buffers import show_decimal as _show_decimal
from cassandra.protocol.columnar.column_buffers import show_varint as _show_varint
from cassandra.protocol.columnar.layouts import COLUMN_LIMIT as _COLUMN_LIMIT
from cassandra.protocol.columnar.layouts import ColumnArray as _ColumnArray
from cassandra.protocol.columnar.layouts import fixed_decimal as _fixed_decimal
from cassandra.protocol.columnar.layouts import fixed_varint as _fixed_varint
from cassandra.protocol.columnar.layouts import row_layout as _row_layout
from cassandra.protocol.columnar.layouts import too_large as _too_large

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

# Counts, for limits.null_cells, the cells of the page that exist only because of nulls. The struct
# is on the stack of the function that reads the page.
cdef struct Spent:
    int64_t cells
    Page page           # the codecs' counter, for columns of Python objects


# Counts `count` cells; DecodeError above the limit.
cdef int charge(Node node, Spent* spent, int64_t count) except -1:
    spent.cells += count
    if spent.cells > limits.null_cells:
        raise too_many_nulls(node.layout.cql_name)
    return 0


cdef void begin(Spent* spent) noexcept:
    spent.cells = 0
    spent.page.lacking = 0


cdef enum NodeKind:
    NODE_NUMBER, NODE_BYTES, NODE_DATE, NODE_TIME, NODE_BOOLEAN, NODE_BLOB, NODE_TEXT, NODE_ASCII,
    NODE_INET, NODE_VARINT, NODE_DECIMAL, NODE_VARINT64, NODE_DECIMAL_FIXED, NODE_DURATION,
    NODE_DURATION_PARTS, NODE_NOTHING, NODE_LIST, NODE_MAP, NODE_STRUCT, NODE_VECTOR, NODE_OBJECT,
    NODE_ENTRIES, NODE_PART

cdef dict KINDS = {
    "number": NODE_NUMBER, "bytes": NODE_BYTES, "date": NODE_DATE, "time": NODE_TIME,
    "boolean": NODE_BOOLEAN, "blob": NODE_BLOB, "text": NODE_TEXT, "ascii": NODE_ASCII,
    "inet": NODE_INET, "varint": NODE_VARINT, "decimal": NODE_DECIMAL, "varint64": NODE_VARINT64,
    "decimal_fixed": NODE_DECIMAL_FIXED, "duration": NODE_DURATION,
    "duration_parts": NODE_DURATION_PARTS, "nothing": NODE_NOTHING, "list": NODE_LIST,
    "map": NODE_MAP, "struct": NODE_STRUCT, "vector": NODE_VECTOR, "object": NODE_OBJECT,
    "entries": NODE_ENTRIES, "part": NODE_PART,
}

cdef struct Cell:
    uint32_t start
    int32_t size


cdef class Block:
    """The memory of a column, which other code reads through the buffer protocol.

    The memory is writable. It is not shared with other results, so the application may change it.
    """

    cdef uint8_t* data
    cdef Py_ssize_t size
    cdef Py_ssize_t capacity

    def __dealloc__(self):
        PyMem_RawFree(self.data)

    def __len__(self):
        return self.size

    def __getbuffer__(self, Py_buffer* view, int flags):
        if self.data == NULL:
            raise BufferError("a block without memory")
        PyBuffer_FillInfo(view, self, self.data, self.size, 0, flags)

    # Appends `extra` bytes; returns their address.
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
    cdef Block block = Block.__new__(Block)
    # Allocate some memory even for an empty column, because consumers of Arrow require an address.
    cdef size_t room = size if size > 8 else 8
    block.data = <uint8_t*> (PyMem_RawCalloc(room, 1) if zeros else PyMem_RawMalloc(room))
    if block.data == NULL:
        raise MemoryError()
    block.size = size
    block.capacity = room
    return block


cdef class Cells:
    """A growing array of cells."""

    cdef Cell* items
    cdef Py_ssize_t count
    cdef Py_ssize_t capacity

    def __dealloc__(self):
        PyMem_RawFree(self.items)

    cdef int grow(self, Py_ssize_t extra) except -1:
        cdef Py_ssize_t capacity = max(2 * self.capacity, self.count + extra)
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
        # A cell with all bits set is a null.
        memset(self.items + self.count, 0xFF, count * sizeof(Cell))
        self.count += count
        return 0


cdef Cells new_cells(Py_ssize_t capacity):
    cdef Cells cells = Cells.__new__(Cells)
    cells.grow(capacity if capacity > 8 else 8)
    return cells


cdef class Node:
    """A layout, copied into C fields."""

    cdef object layout
    cdef NodeKind kind
    cdef Py_ssize_t width
    cdef Py_ssize_t wire_size
    cdef Py_ssize_t dimension
    cdef bint empty_is_value
    cdef int32_t scale
    cdef int64_t bound          # 10**precision of an Arrow decimal; 0 if it does not fit 64 bits
    cdef tuple children         # Nodes; `build` casts them without a check
    cdef object codec           # the codec, if the column has Python objects


cdef Node node_of(object layout, object codec):
    cdef Node node = Node.__new__(Node)
    node.layout = layout
    node.kind = KINDS[layout.kind]
    node.width = layout.width
    node.wire_size = layout.wire_size
    node.dimension = layout.dimension
    node.empty_is_value = layout.empty_is_value
    precision, node.scale = layout.decimal
    node.bound = 10**precision if precision < 19 else 0
    node.children = tuple([node_of(child, None) for child in layout.children])
    node.codec = codec
    check_node(node)
    return node


# Checks the sizes in a node, because they come from a Python object, and loops rely on them.
cdef int check_node(Node node) except -1:
    cdef Py_ssize_t width = node.width
    cdef NodeKind kind = node.kind
    cdef bint fits = True
    if kind == NODE_NUMBER or kind == NODE_PART:
        fits = width == 1 or width == 2 or width == 4 or width == 8
    elif kind == NODE_DATE:
        fits = width == 4
    elif kind == NODE_TIME or kind == NODE_VARINT64:
        fits = width == 8
    elif kind == NODE_DECIMAL_FIXED:
        fits = width >= 8
    if node.wire_size >= 0 and kind == NODE_NUMBER:
        fits = fits and node.wire_size == width
    if not fits or node.dimension < 0:
        raise ValueError(
            f"a layout of the kind {node.layout.kind} has the width {width}, the size "
            f"{node.wire_size} and the dimension {node.dimension}"
        )
    return 0


cdef class ColumnPlan:
    """Decodes pages of rows into columns (see the Python twin)."""

    cdef readonly object layout
    cdef tuple _codecs
    cdef tuple _nodes           # a Node for each column
    cdef object _rows

    def __cinit__(self, *arguments, **named):
        # An object whose __init__ never ran has no columns.
        self._codecs = self._nodes = ()

    def __init__(self, names, codecs, layouts):
        names, codecs, layouts = tuple(names), tuple(codecs), tuple(layouts)
        if self._rows is not None:
            raise TypeError("a column plan is made once")
        if not len(names) == len(codecs) == len(layouts):
            raise ValueError(f"{len(names)} names, {len(codecs)} codecs and {len(layouts)} layouts")
        self._rows = _RowPlan(names, codecs)
        self._codecs = codecs
        self._nodes = tuple([node_of(layout, codec) for layout, codec in zip(layouts, codecs)])
        self.layout = _row_layout(names, layouts)

    def __reduce__(self):
        raise unpicklable(self)

    def read(self, body, offset, row_count):
        """Decode the rows at `offset` into a struct of columns (see the Python twin)."""
        cdef bytes page = exact_bytes(body, "a page")
        cdef Py_ssize_t width = len(self._nodes)
        # Convert the offset only once: the __index__ of a class may return different numbers.
        cdef Py_ssize_t start = offset
        cdef Py_ssize_t count = check_rows(page, start, row_count, width)
        cdef const uint8_t* base = <const uint8_t*> PyBytes_AS_STRING(page)
        cdef Cells cells
        cdef Spent spent
        cdef Py_ssize_t column = 0
        cdef list arrays = []
        if PyBytes_GET_SIZE(page) > LIMIT:
            raise DecodeError(
                f"a page of {PyBytes_GET_SIZE(page)} bytes is longer than the protocol's limit "
                "of 2 GiB"
            )
        begin(&spent)
        # Allocate memory for all cells, which `cut` writes. `check_rows` has made sure that the
        # cells fit the page, in which each cell has at least four bytes.
        cells = new_cells(count * width)
        try:
            cut(base, start, PyBytes_GET_SIZE(page), cells.items, count, width)
            cells.count = count * width
            for column in range(width):
                arrays.append(
                    build(
                        <Node> self._nodes[column],
                        base,
                        cells.items + column * count,
                        count,
                        &spent,
                    )
                )
        except MemoryError:
            raise
        except Exception as error:
            located = self._refusal(page, start, count, cells, column, error)
            # The error of a signal handler is raised unchanged.
            if located is None:
                raise
            raise located from error
        return _ColumnArray(self.layout, count, 0, (None,), tuple(arrays))

    cdef object _refusal(
        self,
        bytes page,
        Py_ssize_t offset,
        Py_ssize_t count,
        Cells cells,
        Py_ssize_t column,
        object error,
    ):
        """Return the error to raise because `build` failed with `error` for this column.

        Return None if the values are not the cause: then `error` must be raised unchanged. If the
        row plan cannot decode the page either, this raises the row plan's error instead.
        """
        cdef const uint8_t* base = <const uint8_t*> PyBytes_AS_STRING(page)
        cdef Py_ssize_t row
        cdef Spent spent
        self._rows.tuples(page, offset, count)
        where = f'column "{self.layout.names[column]}" ({self._codecs[column].cql_name})'
        # Build each cell separately, to find the row. Skip TooManyNulls, which all rows cause
        # together.
        if cells.count and not isinstance(error, TooManyNulls):
            for row in range(count):
                begin(&spent)
                try:
                    build(
                        <Node> self._nodes[column],
                        base,
                        cells.items + column * count + row,
                        1,
                        &spent,
                    )
                except DecodeError:
                    return DecodeError(f"row {row}, {where}: {error}")
        if not isinstance(error, DecodeError):
            if cells.count == 0 or isinstance(error, RecursionError):
                return None
            begin(&spent)
            try:
                build(
                    <Node> self._nodes[column], base, cells.items + column * count, count, &spent
                )
            except Exception as repeated:
                if type(repeated) is not type(error):
                    return None
            else:
                return None
        return DecodeError(f"{where}: {error}")


# Slices the rows of a page into cells. `cells` gets the cells of the first column, then the cells
# of the second column, and so on.
cdef int cut(
    const uint8_t* base,
    Py_ssize_t pos,
    Py_ssize_t end,
    Cell* cells,
    Py_ssize_t rows,
    Py_ssize_t width,
) except -1:
    cdef Py_ssize_t row, column
    cdef int32_t size
    cdef Cell* cell
    for row in range(rows):
        cell = cells + row
        for column in range(width):  # no-cython-lint: counts only
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


# Decodes `count` cells into a column. Cells of zero bytes become nulls unless they are a valid
# value.
cdef object build(
    Node node, const uint8_t* base, Cell* cells, Py_ssize_t count, Spent* spent
):
    cdef Py_ssize_t i
    cdef Py_ssize_t nulls = 0
    cdef bint empty_is_value = node.empty_is_value
    cdef NodeKind kind = node.kind
    cdef object validity = None
    cdef Block bits
    if kind == NODE_OBJECT:
        return array_of(node, count, 0, (objects(node, base, cells, count, spent),))
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
        return array_of(node, count, nulls, (validity, *shown_values(node, base, cells, count)))
    if kind == NODE_VARINT64 or kind == NODE_DECIMAL_FIXED:
        return array_of(node, count, nulls, (validity, wide_numbers(node, base, cells, count)))
    if kind == NODE_DURATION:
        return array_of(node, count, nulls, (validity, durations(node, base, cells, count)))
    if kind == NODE_DURATION_PARTS:
        return duration_parts(node, base, cells, count, nulls, validity)
    if kind == NODE_LIST or kind == NODE_MAP:
        return collection(node, base, cells, count, nulls, validity, spent)
    if kind == NODE_STRUCT:
        return structure(node, base, cells, count, nulls, validity, spent)
    if kind == NODE_VECTOR:
        return vector(node, base, cells, count, nulls, validity, spent)
    for i in range(count):
        if cells[i].size > 0:
            raise DecodeError("takes 0 bytes")
    return array_of(node, count, nulls, (validity,))


cdef object array_of(Node node, Py_ssize_t count, Py_ssize_t nulls, tuple buffers):
    return _ColumnArray(node.layout, count, nulls, buffers, ())


include "column_buffers_scalars.pxi"
include "column_buffers_nested.pxi"
