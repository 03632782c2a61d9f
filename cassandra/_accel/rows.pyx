"""Row plans: the compiled twin of `cassandra.protocol.rows`.

Rows are built straight from the page, each value by its codec.
"""

cimport cython

from collections import OrderedDict as _OrderedDict
from sys import intern as _intern

from cpython.bytes cimport (
    PyBytes_AS_STRING, PyBytes_CheckExact, PyBytes_FromStringAndSize, PyBytes_GET_SIZE,
)
from cpython.dict cimport PyDict_Copy, PyDict_New, PyDict_SetItem
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.object cimport PyTypeObject
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport (
    PyTuple_CheckExact, PyTuple_GET_ITEM, PyTuple_GET_SIZE, PyTuple_New, PyTuple_SET_ITEM,
)
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcmp

from cassandra._accel.checks cimport exact_bytes, unpicklable
from cassandra._accel.codecs cimport Codec, Page, is_made
from cassandra._accel.wbuf cimport get_be16, get_be32

from cassandra._impl import reduced as _reduced
from cassandra.errors import DecodeError
from cassandra.protocol.rowclass import known_row_class as _known_row_class
from cassandra.protocol.rowclass import row_class as _row_class

cdef extern from *:
    """
    /* Returns a new instance of a class of named tuples, with empty items. No other code has seen
       it yet: such a class has no slots or __new__ of its own to run. */
    static PyObject *turbo_new_row(PyTypeObject *type, Py_ssize_t size) {
        return type->tp_alloc(type, size);
    }
    """
    object turbo_new_row(PyTypeObject* kind, Py_ssize_t size)

cdef extern from "row_base.h":
    object turbocql_row_base()

# The base class of named tuples (see the pure Python version). It is written in C, so that `row[0]`
# is as fast as for a tuple.
RowBase = turbocql_row_base()


cdef enum:
    ROOM_OF_A_NEW_DICT = 5


cdef class RowPlan:
    """Decodes the rows of one list of columns; immutable, and shared by threads (see the twin)."""

    cdef readonly tuple names
    cdef tuple _codecs
    cdef Py_ssize_t _count
    cdef bint _native
    cdef object _named
    cdef dict _blank

    def __cinit__(self, *arguments, **named):
        # An object whose __init__ never ran has no columns. Otherwise the columns never change.
        self.names = ()

    def __init__(self, names, codecs):
        cdef tuple called = tuple(names)
        cdef tuple kinds = tuple(codecs)
        if self._codecs is not None:
            raise TypeError("a row plan is made once")
        if len(called) != len(kinds):
            raise ValueError(f"{len(called)} names and {len(kinds)} codecs")
        self.names = called
        self._codecs = kinds
        self._count = len(kinds)
        self._native = all([is_made(codec) for codec in kinds])
        self._named = None

    def __reduce__(self):
        raise unpicklable(self)

    def tuples(self, body, offset, row_count):
        """Return the rows as tuples; `DecodeError` names row and column."""
        return self._tuples(exact_bytes(body, "a page"), offset, row_count, <PyTypeObject*> tuple)

    def named_tuples(self, body, offset, row_count):
        """Return the rows as named tuples of one class for these columns, which is created once."""
        return self._named_tuples(exact_bytes(body, "a page"), offset, row_count)

    cdef list _named_tuples(self, bytes body, Py_ssize_t offset, Py_ssize_t row_count):
        cdef object kind
        with cython.critical_section(self):
            kind = self._named
            if kind is None:
                # Keep a reference here, because another thread may replace the class by its own.
                kind = self._named = _row_class(self.names)
        return self._tuples(body, offset, row_count, <PyTypeObject*> kind)

    cdef list _tuples(
        self, bytes body, Py_ssize_t offset, Py_ssize_t row_count, PyTypeObject* kind
    ):
        cdef Py_ssize_t count = check_rows(body, offset, row_count, self._count)
        cdef const uint8_t* start = <const uint8_t*> PyBytes_AS_STRING(body)
        cdef const uint8_t* end = start + PyBytes_GET_SIZE(body)
        cdef const uint8_t* p = start + offset
        cdef bint plain = kind == <PyTypeObject*> tuple
        cdef Py_ssize_t row = 0
        cdef Py_ssize_t column = 0
        cdef Py_ssize_t width = self._count
        cdef object row_tuple, value
        cdef Page page
        cdef list rows = []
        page.lacking = 0
        try:
            for row in range(count):  # no-cython-lint: counts only
                row_tuple = PyTuple_New(width) if plain else turbo_new_row(kind, width)
                for column in range(width):
                    value = self._value(&p, end, column, &page)
                    # PyTuple_SET_ITEM takes over this reference. No other thread has the tuple yet.
                    # If an error leaves items NULL, the deallocation of the tuple skips them.
                    Py_INCREF(value)
                    PyTuple_SET_ITEM(row_tuple, column, value)
                rows.append(row_tuple)
        except Exception as error:
            located = self._error(body, offset, row, column, error)
            if located is None:
                raise
            raise located from error
        return rows

    cdef inline object _value(
        self, const uint8_t** p, const uint8_t* end, Py_ssize_t column, Page* page
    ):
        """Return the value of the [bytes] at `p`, and move `p` past it."""
        cdef Py_ssize_t size
        cdef const uint8_t* data
        if end - p[0] < 4:
            raise DecodeError("its length goes past the end of the page")
        size = <int32_t> get_be32(p[0])
        data = p[0] + 4
        if size > end - data:
            raise DecodeError(f"its {size} bytes go past the end of the page")
        p[0] = data + size if size > 0 else data
        if not self._native:
            return self._foreign(data, size, column)
        # `_native`: `is_made` returned True for each codec, so each is a Codec. Callers keep
        # `column` below `_count`, the number of codecs.
        if size > 0:
            return (<Codec> <object> PyTuple_GET_ITEM(self._codecs, column)).read(data, size, page)
        return (<Codec> <object> PyTuple_GET_ITEM(self._codecs, column)).read_nullable(
            data, size, page
        )

    cdef object _foreign(self, const uint8_t* data, Py_ssize_t size, Py_ssize_t column):
        """Return the value of the `size` bytes at `data`, by a codec that is not compiled."""
        codec = self._codecs[column]
        if size < 0:
            return None
        if size == 0 and not codec.empty_is_value:
            return codec.legacy_empty
        return codec.decode(PyBytes_FromStringAndSize(<const char*> data, size))

    def dicts(self, body, offset, row_count):
        """Return the rows as dicts by column name, in column order."""
        return self._mappings(exact_bytes(body, "a page"), offset, row_count)

    def ordered_dicts(self, body, offset, row_count):
        """Return the rows as `OrderedDict` objects by column name."""
        names = self.names
        return [_OrderedDict(zip(names, row)) for row in self.tuples(body, offset, row_count)]

    cdef list _mappings(self, bytes body, Py_ssize_t offset, Py_ssize_t row_count):
        cdef Py_ssize_t count = check_rows(body, offset, row_count, self._count)
        cdef const uint8_t* start = <const uint8_t*> PyBytes_AS_STRING(body)
        cdef const uint8_t* end = start + PyBytes_GET_SIZE(body)
        cdef const uint8_t* p = start + offset
        cdef Py_ssize_t row = 0
        cdef Py_ssize_t column = 0
        cdef Py_ssize_t width = self._count
        cdef dict blank
        cdef tuple names
        cdef object mapping, value
        cdef Page page
        cdef list rows = []
        page.lacking = 0
        with cython.critical_section(self):
            blank = self._blank
            if blank is None:
                blank = self._blank = blank_row(self.names)
        names = keys_of(blank, self.names)
        try:
            for row in range(count):  # no-cython-lint: counts only
                mapping = new_row(blank, width)
                for column in range(width):
                    value = self._value(&p, end, column, &page)
                    PyDict_SetItem(mapping, <object> PyTuple_GET_ITEM(names, column), value)
                rows.append(mapping)
        except Exception as error:
            located = self._error(body, offset, row, column, error)
            if located is None:
                raise
            raise located from error
        return rows

    def columns(self, body, offset, row_count):
        """Return the page as a list of columns; each column is a list of values."""
        return self._lists(exact_bytes(body, "a page"), offset, row_count)

    cdef list _lists(self, bytes body, Py_ssize_t offset, Py_ssize_t row_count):
        cdef Py_ssize_t count = check_rows(body, offset, row_count, self._count)
        cdef const uint8_t* start = <const uint8_t*> PyBytes_AS_STRING(body)
        cdef const uint8_t* end = start + PyBytes_GET_SIZE(body)
        cdef const uint8_t* p = start + offset
        cdef Py_ssize_t row = 0
        cdef Py_ssize_t column = 0
        cdef Page page
        cdef list columns = [[] for _ in range(self._count)]
        page.lacking = 0
        try:
            for row in range(count):  # no-cython-lint: counts only
                for column in range(self._count):
                    (<list> columns[column]).append(self._value(&p, end, column, &page))
        except Exception as error:
            located = self._error(body, offset, row, column, error)
            if located is None:
                raise
            raise located from error
        return columns

    def iterate(self, body, offset, row_count):
        """Return the rows as tuples; each row is decoded when it is requested."""
        cdef _Rows rows = _Rows.__new__(_Rows)
        rows._row_plan = self
        rows._body = exact_bytes(body, "a page")
        rows._pos = offset
        rows._left = check_rows(rows._body, rows._pos, row_count, self._count)
        rows._row = 0
        return rows

    cdef object _error(
        self,
        bytes body,
        Py_ssize_t offset,
        Py_ssize_t row,
        Py_ssize_t column,
        object error,
        Py_ssize_t earlier_rows=0,
    ):
        """Return the error that names the row and the column at which `error` was raised.

        Return None if the value is not the cause: then `error` must be raised unchanged.

        :param offset: the offset of the first row.
        :param row: the number of the row, counted from the row at `offset`.
        :param earlier_rows: the number of rows before the row at `offset`.
        """
        if isinstance(error, (MemoryError, RecursionError)):
            return None
        # As `cassandra.cqltypes.failures.fails_again` does.
        if not isinstance(error, DecodeError):
            try:
                self._value_at(body, offset, row * self._count + column, column)
            except Exception as repeated:
                if type(repeated) is not type(error):
                    return None
            else:
                return None
        cql_name = self._codecs[column].cql_name
        return DecodeError(
            f'row {earlier_rows + row}, column "{self.names[column]}" ({cql_name}): {error}'
        )

    cdef object _value_at(
        self, bytes body, Py_ssize_t offset, Py_ssize_t fields, Py_ssize_t column
    ):
        """Return the value that follows `fields` others, all of which were decoded before."""
        cdef const uint8_t* end = (
            <const uint8_t*> PyBytes_AS_STRING(body) + PyBytes_GET_SIZE(body)
        )
        cdef const uint8_t* p = <const uint8_t*> PyBytes_AS_STRING(body) + offset
        cdef Py_ssize_t size
        cdef Page page
        page.lacking = 0
        for _ in range(fields):
            # The lengths were checked when the values were decoded.
            size = <int32_t> get_be32(p)
            p += 4 + size if size > 0 else 4
        return self._value(&p, end, column, &page)


cdef class EncodedRows:
    """The rows of one page, decoded when they are first accessed (see the Python twin)."""

    def __init__(self, body, Py_ssize_t offset, Py_ssize_t count):
        self.body = body
        self.offset = offset
        self.count = count

    def decode(self, row_plan, str method not None):
        """Return the rows that a row plan's method decodes (see the Python twin)."""
        cdef object decoded_by, rows
        with cython.critical_section(self):
            decoded_by, rows = self._decoded_by, self._rows
        if rows is not None:
            if decoded_by == method:
                return rows
            self.check()
        try:
            if type(row_plan) is RowPlan and method == "tuples":
                rows = (<RowPlan> row_plan)._tuples(
                    exact_bytes(self.body, "a page"), self.offset, self.count, <PyTypeObject*> tuple
                )
            else:
                rows = getattr(row_plan, method)(self.body, self.offset, self.count)
        except DecodeError as error:
            with cython.critical_section(self):
                self._decoded_by, self._rows = None, error
            raise
        with cython.critical_section(self):
            if self._rows is None or self._decoded_by != method:
                self._decoded_by, self._rows = method, rows
            rows = self._rows
        return rows

    def check(self):
        """Raise the error of an earlier `decode` again, if there was one."""
        cdef object decoded_by, rows
        with cython.critical_section(self):
            decoded_by, rows = self._decoded_by, self._rows
        if rows is not None and decoded_by is None:
            raise rows.with_traceback(None)

    def __reduce__(self):
        return _reduced(self, EncodedRows, "rows", self.body, self.offset, self.count)


cdef list named_rows(object row_plan, bytes body, Py_ssize_t offset, Py_ssize_t count):
    if type(row_plan) is RowPlan:
        return (<RowPlan> row_plan)._named_tuples(body, offset, count)
    return row_plan.named_tuples(body, offset, count)


cdef EncodedRows encoded_rows(bytes body, Py_ssize_t offset, Py_ssize_t count):
    cdef EncodedRows rows = EncodedRows.__new__(EncodedRows)
    rows.body = body
    rows.offset = offset
    rows.count = count
    return rows


cdef class _Rows:
    """The rows of a page, decoded during iteration."""

    cdef RowPlan _row_plan
    cdef bytes _body
    cdef Py_ssize_t _pos
    cdef Py_ssize_t _row
    cdef Py_ssize_t _left

    def __iter__(self):
        return self

    def __next__(self):
        cdef const uint8_t* start
        cdef const uint8_t* end
        cdef const uint8_t* p
        cdef RowPlan row_plan = self._row_plan
        cdef Py_ssize_t column = 0
        cdef Page page
        cdef list values
        if self._left <= 0:
            raise StopIteration
        start = <const uint8_t*> PyBytes_AS_STRING(self._body)
        end = start + PyBytes_GET_SIZE(self._body)
        p = start + self._pos
        values = []
        page.lacking = 0
        try:
            for column in range(row_plan._count):
                values.append(row_plan._value(&p, end, column, &page))
        except Exception as error:
            self._left = 0
            located = row_plan._error(self._body, self._pos, 0, column, error, self._row)
            if located is None:
                raise
            raise located from error
        self._left -= 1
        self._row += 1
        self._pos = p - start
        return tuple(values)


cdef dict blank_row(object names):
    """Return a dict of these names whose copies need not grow while they are filled.

    The keys are the same (interned) objects as the application's string literals, so look-ups only
    compare addresses.
    """
    # A dict that is copied from a dict has exactly the necessary capacity.
    return dict(dict.fromkeys([_intern(name) if type(name) is str else name for name in names]))


cdef tuple keys_of(dict blank, tuple names):
    """Return the names as keys: the objects in `blank`, unless a name is repeated."""
    return tuple(blank) if len(blank) == len(names) else names


cdef inline object new_row(dict blank, Py_ssize_t width):
    # If a new dict has enough capacity, a copy would be slower.
    return PyDict_Copy(blank) if width > ROOM_OF_A_NEW_DICT else PyDict_New()


def dicts_of(names, rows):
    """Return rows, given as sequences of values, as dicts by these names (see the Python twin)."""
    cdef dict blank = None
    cdef tuple keys
    cdef Py_ssize_t width = 0
    cdef Py_ssize_t column
    cdef object mapping
    cdef list out = []
    for row in rows:
        if blank is None:
            keys = tuple(names)
            width = len(keys)
            blank = blank_row(keys)
            keys = keys_of(blank, keys)
        if PyTuple_CheckExact(row) and PyTuple_GET_SIZE(row) == width:
            mapping = new_row(blank, width)
            for column in range(width):
                PyDict_SetItem(
                    mapping,
                    <object> PyTuple_GET_ITEM(keys, column),
                    <object> PyTuple_GET_ITEM(row, column),
                )
        else:
            mapping = dict(zip(keys, row, strict=True))
        out.append(mapping)
    return out


def named_tuples_of(names, rows):
    """Return rows, given as sequences of values, as named tuples (see the Python twin)."""
    cdef tuple columns = tuple(names)
    cdef object row_class = _known_row_class(columns) or _row_class(columns)
    cdef Py_ssize_t width = len(columns)
    cdef Py_ssize_t column
    cdef object named, value
    cdef list out = []
    for row in rows:
        if PyTuple_CheckExact(row) and PyTuple_GET_SIZE(row) == width:
            named = turbo_new_row(<PyTypeObject*> row_class, width)
            for column in range(width):
                value = <object> PyTuple_GET_ITEM(row, column)
                Py_INCREF(value)  # PyTuple_SET_ITEM takes over this reference
                PyTuple_SET_ITEM(named, column, value)
        else:
            named = row_class._make(row)
        out.append(named)
    return out


cdef struct Value:
    const uint8_t* data
    Py_ssize_t size  # -1 for null


def shared_columns(readers, body, offset, row_count):
    """Return a page as a list of columns, for pages in which most values equal the value above.

    :param readers: for each column, a function that returns the value of some bytes. It is not
        called for null, which becomes None. Nor is it called for the same bytes as in the row
        before: both rows get the same object.
    :raises DecodeError: if a value goes past the end of the page. Errors of readers are raised as
        they are.
    """
    cdef bytes page = exact_bytes(body, "a page")
    cdef tuple read = tuple(readers)
    cdef Py_ssize_t width = len(read)
    cdef Py_ssize_t start = offset  # convert once: __index__ may return another value later
    cdef Py_ssize_t count = check_rows(page, start, row_count, width)
    cdef const uint8_t* p = <const uint8_t*> PyBytes_AS_STRING(page) + start
    cdef const uint8_t* end = <const uint8_t*> PyBytes_AS_STRING(page) + PyBytes_GET_SIZE(page)
    cdef Value* before = <Value*> PyMem_Malloc(max(width, 1) * sizeof(Value))
    cdef list columns = [[] for _ in range(width)]
    cdef list values = [None] * width
    cdef Py_ssize_t row, column, size
    if before == NULL:
        raise MemoryError
    try:
        for column in range(width):
            before[column].size = -1  # the first row is compared to a row of nulls
        for row in range(count):
            for column in range(width):
                if end - p < 4:
                    raise DecodeError(
                        f"row {row}, column {column}: its length goes past the end of the page"
                    )
                size = <int32_t> get_be32(p)
                p += 4
                if size > end - p:
                    raise DecodeError(
                        f"row {row}, column {column}: its {size} bytes go past the end of the page"
                    )
                if size < 0:
                    size = -1
                if size != before[column].size or (
                    size > 0 and memcmp(p, before[column].data, size) != 0
                ):
                    values[column] = (
                        read[column](PyBytes_FromStringAndSize(<const char*> p, size))
                        if size >= 0
                        else None
                    )
                    before[column].size = size
                    before[column].data = p
                if size > 0:
                    p += size
                (<list> columns[column]).append(values[column])
    finally:
        PyMem_Free(before)
    return columns


# Ids of types, as in the pure Python version.
cdef enum:
    CUSTOM = 0
    LAST_SIMPLE = 0x15
    LIST = 0x20
    MAP = 0x21
    SET = 0x22
    TUPLE = 0x31


def columns_end(body, pos):
    """Return the offset after the column specs of the RESULT at `pos`, or 0 (see the twin)."""
    cdef Py_ssize_t offset = pos
    cdef Py_ssize_t size
    cdef const uint8_t* start
    cdef const uint8_t* p
    if not PyBytes_CheckExact(body) or offset < 0:
        return 0
    size = PyBytes_GET_SIZE(body)
    start = <const uint8_t*> PyBytes_AS_STRING(body)
    if offset > size:
        return 0
    p = behind_columns(start + offset, start + size)
    return 0 if p == NULL else p - start


# Returns the address after the column specs of the RESULT at `p`; NULL if `columns_end` returns 0.
cdef const uint8_t* behind_columns(const uint8_t* p, const uint8_t* end) noexcept:
    cdef bint is_global
    cdef int32_t count
    cdef int64_t types
    cdef int code
    # Kind, flags and count.
    if end - p < 12 or get_be32(p) != 2 or get_be32(p + 4) > 1:
        return NULL
    is_global = get_be32(p + 4) == 1
    count = <int32_t> get_be32(p + 8)
    p += 12
    if is_global and not (skip_string(&p, end) and skip_string(&p, end)):
        return NULL
    while count > 0:
        count -= 1
        if not is_global and not (skip_string(&p, end) and skip_string(&p, end)):
            return NULL
        if not skip_string(&p, end):
            return NULL
        types = 1
        while types > 0:
            if end - p < 2:
                return NULL
            code = get_be16(p)
            p += 2
            types -= 1
            if code == CUSTOM:
                if not skip_string(&p, end):
                    return NULL
            elif code == LIST or code == SET:
                types += 1
            elif code == MAP:
                types += 2
            elif code == TUPLE:
                if end - p < 2:
                    return NULL
                types += get_be16(p)
                p += 2
            elif code > LAST_SIMPLE:
                return NULL
    return p


cdef inline bint skip_string(const uint8_t** p, const uint8_t* end) noexcept:
    cdef Py_ssize_t size
    if end - p[0] < 2:
        return False
    size = get_be16(p[0])
    if size > end - p[0] - 2:
        return False
    p[0] += 2 + size
    return True


cdef Py_ssize_t check_rows(
    bytes body, Py_ssize_t start, Py_ssize_t count, Py_ssize_t column_count
) except -1:
    cdef Py_ssize_t size = PyBytes_GET_SIZE(body)
    if (
        start < 0
        or start > size
        or count < 0
        or (count > 0 and (column_count == 0 or count > (size - start) / 4 / column_count))
    ):
        check_row_count(size, start, count, column_count)
    return count


def check_row_count(size, offset, row_count, column_count):
    """Raise DecodeError if the body cannot hold so many rows, before memory is allocated for them.

    Each value takes at least four bytes.
    """
    if (
        offset < 0
        or row_count < 0
        or row_count * column_count * 4 > size - offset
        or (row_count and not column_count)
    ):
        raise DecodeError(
            f"{row_count} rows of {column_count} columns are to follow at offset {offset} "
            f"of a body of {size} bytes"
        )
