# cython: nonecheck=False
"""Encode bound values: the compiled twin of `cassandra.protocol.bind`.

Values go from Python objects into one C buffer, without a bytes object for each.

We need no checks for None (nonecheck). An object whose ``__init__`` never ran has no columns, so
nothing of it is read. What applications pass (a block's data, a codec's bytes) is checked by the
functions of checks.pxd. Encoding a value may run any code of the application. Therefore we copy
rows, store positions in the buffer as offsets, and never change a plan (see docs/twins.rst).
"""

cimport cython

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_GetItemWithError
from cpython.list cimport PyList_Append
from cpython.mem cimport PyMem_Free, PyMem_Malloc, PyMem_Realloc
from cpython.object cimport PyObject
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t
from libc.string cimport memcpy

from cassandra._accel.checks cimport exact_bytes, item_of, unpicklable
from cassandra._accel.codecs cimport Codec, is_made
from cassandra._accel.threads cimport IS_FREE_THREADED, load_size, store_size
from cassandra._accel.wbuf cimport (
    get_be32,
    put_be16,
    put_be32,
    wbuf,
    wbuf_bytes,
    wbuf_close,
    wbuf_extend,
    wbuf_open,
    wbuf_reserve,
    wbuf_write,
)

from collections.abc import Mapping as _Mapping
from operator import index as _index

from cassandra._impl import reduced as _reduced
from cassandra.cqltypes.base import codec_in_order as _codec_in_order
from cassandra.cqltypes.failures import locate as _locate
from cassandra.cqltypes.missing import is_missing as _is_missing
from cassandra.errors import UnsetUnsupported
from cassandra.protocol.marker_names import usual_names as _usual_names_of
from cassandra.protocol.records import is_lone_text as _is_lone_text
from cassandra.protocol.records import locate_row as _locate_row
from cassandra.protocol.records import names_for as _names_for
from cassandra.protocol.records import refuse_missing as _refuse_missing
from cassandra.protocol.records import refuse_unknown as _refuse_unknown
from cassandra.protocol.records import values_of as _values_of
from cassandra.protocol.records import warn_of_unknown_names as _warn_of_unknown_names
from cassandra.sentinels import UNSET_VALUE

cdef extern from "objects.h":
    bint turbocql_maybe_missing(object) noexcept

cdef enum:
    MOST_RESERVED = 1 << 24

cdef object _unset = UNSET_VALUE


cdef class ValuesBlock:
    """Bound values, encoded as in a request; immutable (see the Python twin)."""

    def __cinit__(self, *arguments, **named):
        self.data = b""

    def __init__(self, count, data, has_unset=False):
        self.count = count
        self.data = exact_bytes(data, "the data of a block")
        self.has_unset = has_unset

    def __len__(self):
        return self.count

    def __eq__(self, other):
        cdef ValuesBlock block
        if not isinstance(other, ValuesBlock):
            return False
        block = <ValuesBlock> other
        return block.count == self.count and block.data == self.data

    def __hash__(self):
        return hash((self.count, self.data))

    def __repr__(self):
        return f"<ValuesBlock of {self.count} values, {PyBytes_GET_SIZE(self.data)} bytes>"

    def __reduce__(self):
        return _reduced(self, ValuesBlock, "bind", self.count, self.data, self.has_unset)

    cdef Py_ssize_t _next(self, Py_ssize_t pos, Py_ssize_t* size) except -1:
        """Read the length of the value at `pos`; returns the offset of its bytes, and sets `size`.

        The size is -1 for null, and -2 for a value that is not set.
        """
        cdef Py_ssize_t end = PyBytes_GET_SIZE(self.data)
        if end - pos < 4:
            raise ValueError(f"a block of {self.count} values ends in the middle of one")
        size[0] = <int32_t> get_be32(<const uint8_t*> PyBytes_AS_STRING(self.data) + pos)
        pos += 4
        if size[0] > end - pos:
            raise ValueError(f"a block of {self.count} values ends in the middle of one")
        return pos

    def values(self, target=None):
        """Append each value to a list: its bytes, None if it is null, or UNSET_VALUE if not set.

        :param target: the list, which is also returned; None for a new one.
        """
        bodies = [] if target is None else target
        cdef Py_ssize_t pos = 0
        cdef Py_ssize_t size = 0
        cdef Py_ssize_t index
        for index in range(self.count):  # no-cython-lint: counts only
            pos = self._next(pos, &size)
            if size >= 0:
                body = PyBytes_FromStringAndSize(PyBytes_AS_STRING(self.data) + pos, size)
                PyList_Append(bodies, body)
                pos += size
            else:
                PyList_Append(bodies, None if size == -1 else _unset)
        return bodies

    cdef Py_ssize_t _find(self, Py_ssize_t index, Py_ssize_t* size) except -1:
        cdef Py_ssize_t pos = 0
        cdef Py_ssize_t passed
        if index < 0 or index >= self.count:
            raise ValueError(f"routing key index {index}, but a block has {self.count} values")
        for passed in range(index + 1):
            pos = self._next(pos, size)
            if passed < index and size[0] > 0:
                pos += size[0]
        return pos

    def routing_key(self, indexes):
        """Return the partition key's bytes from the values at `indexes`, in key order.

        Returns None if a value of the key is null or not set.
        """
        cdef Py_ssize_t pos
        cdef Py_ssize_t size = 0
        cdef Py_ssize_t parts = len(indexes)
        cdef uint8_t* p
        cdef wbuf out
        if parts == 0:
            return None
        if parts == 1:
            pos = self._find(indexes[0], &size)
            if size < 0:
                return None
            return PyBytes_FromStringAndSize(PyBytes_AS_STRING(self.data) + pos, size)
        wbuf_open(&out)
        try:
            for index in indexes:
                pos = self._find(index, &size)
                if size < 0:
                    return None
                if size > 0xFFFF:
                    raise ValueError(
                        f"a partition key column of {size} bytes; one of several has 65535 at most"
                    )
                p = wbuf_extend(&out, size + 3)
                put_be16(p, <uint16_t> size)
                memcpy(p + 2, PyBytes_AS_STRING(self.data) + pos, size)
                p[size + 2] = 0
            return wbuf_bytes(&out)
        finally:
            wbuf_close(&out)


cdef class RowsBlock:
    """The bound values of many rows of one statement (see the Python twin).

    In the buffer, each row is preceded by the four bytes of its size. Several threads may append,
    which may move the buffer, so all access is in a critical section.
    """

    def __cinit__(self, *arguments, **named):
        self.start = NULL
        self.row_starts = NULL

    def __init__(self, width, rows=(), has_unset=False):
        self.width = width
        self.has_unset = has_unset
        for data in rows:
            exact_bytes(data, "a row of a block")
            self._append(<const uint8_t*> PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data))

    def __dealloc__(self):
        PyMem_Free(self.start)
        PyMem_Free(self.row_starts)

    @property
    def count(self):
        """The number of rows."""
        return load_size(&self._count)

    @property
    def size(self):
        """The size of all values in bytes."""
        with cython.critical_section(self):
            return self.used - 4 * self._count

    def __len__(self):
        return load_size(&self._count)

    def __repr__(self):
        return f"<RowsBlock of {self.count} rows x {self.width} values, {self.size} bytes>"

    def __reduce__(self):
        rows = [row.data for row in self.rows()]
        return _reduced(self, RowsBlock, "bind", self.width, rows, self.has_unset)

    def reserve(self, rows):
        """Set how many rows are expected in total; the first row reserves memory for all of them.
        """
        self.expected = min(rows, MOST_RESERVED)

    cdef ValuesBlock _values(self, Py_ssize_t pos, Py_ssize_t size):
        cdef ValuesBlock block = ValuesBlock.__new__(ValuesBlock)
        block.count = self.width
        block.data = PyBytes_FromStringAndSize(<char*> self.start + pos, size)
        block.has_unset = self.has_unset
        return block

    def row(self, index):
        """Return the values of one row. Raises IndexError if there is no such row."""
        cdef Py_ssize_t number = index
        cdef Py_ssize_t pos = 0
        cdef Py_ssize_t passed
        cdef Py_ssize_t count = load_size(&self._count)
        if number < 0 or number >= count:
            raise IndexError(f"row {number} of {count}")
        with cython.critical_section(self):
            for passed in range(number):  # no-cython-lint: counts only
                pos += 4 + <Py_ssize_t> get_be32(self.start + pos)
            return self._values(pos + 4, get_be32(self.start + pos))

    def rows(self):
        """Return a `ValuesBlock` for each row."""
        cdef list decoded = []
        cdef Py_ssize_t pos = 0
        cdef Py_ssize_t size
        with cython.critical_section(self):
            while pos < self.used:
                size = get_be32(self.start + pos)
                decoded.append(self._values(pos + 4, size))
                pos += 4 + size
        return decoded

    def take(self, rows):
        """Return a block of some of the rows (see the Python twin)."""
        cdef RowsBlock block = RowsBlock.__new__(RowsBlock)
        cdef Py_ssize_t number, pos, count
        block.width = self.width
        block.has_unset = self.has_unset
        for index in rows:
            number = index
            count = load_size(&self._count)
            if number < 0 or number >= count:
                raise IndexError(f"row {number} of {count}")
            # Repeat this after each row, because the application's iterator may have appended rows.
            with cython.critical_section(self):
                self._find_row_starts()
                pos = self.row_starts[number]
                block._append(self.start + pos + 4, get_be32(self.start + pos))
        return block

    cdef int _find_row_starts(self) except -1:
        """Update `row_starts`; called in a critical section."""
        cdef Py_ssize_t pos = 0
        cdef Py_ssize_t row
        cdef Py_ssize_t* grown
        if self.start_count == self._count:
            return 0
        grown = <Py_ssize_t*> PyMem_Realloc(self.row_starts, self._count * sizeof(Py_ssize_t))
        if grown == NULL:
            raise MemoryError()
        self.row_starts = grown
        for row in range(self._count):
            self.row_starts[row] = pos
            pos += 4 + <Py_ssize_t> get_be32(self.start + pos)
        self.start_count = self._count
        return 0

    def append(self, values):
        """Append a row. Raises ValueError if its number of values differs."""
        if values.count != self.width:
            raise ValueError(f"a row of {values.count} values, but the others have {self.width}")
        data = exact_bytes(values.data, "the data of a block")
        self._append(<const uint8_t*> PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data))
        if values.has_unset:
            self.has_unset = True

    cdef int _append(self, const uint8_t* data, Py_ssize_t size) except -1:
        cdef Py_ssize_t needed
        cdef Py_ssize_t room
        cdef uint8_t* grown
        with cython.critical_section(self):
            needed = self.used + size + 4
            if needed > self.room:
                room = self.room * 2
                if self.used == 0 and self.expected > 1:
                    room = min((size + 4) * self.expected, <Py_ssize_t> MOST_RESERVED)
                grown = <uint8_t*> PyMem_Realloc(self.start, max(room, needed, 256))
                if grown == NULL:
                    raise MemoryError()
                self.start = grown
                self.room = max(room, needed, 256)
            put_be32(self.start + self.used, <uint32_t> size)
            memcpy(self.start + self.used + 4, data, size)
            self.used = needed
            store_size(&self._count, self._count + 1)
        return 0

    cdef int _take(self, wbuf* out) except -1:
        """Set the rows to those in `out`; take over its memory instead of a copy if possible."""
        if out.data == out.inline_data:
            self.start = <uint8_t*> PyMem_Malloc(max(out.size, 1))
            if self.start == NULL:
                raise MemoryError()
            memcpy(self.start, out.data, out.size)
            self.room = out.size
        else:
            self.start = out.data
            self.room = out.capacity
            out.data = out.inline_data
        self.used = out.size
        return 0


def composite_key(parts):
    """Return the routing key of the partition key columns `parts`; None if there are no columns.

    :raises ValueError: if there are several columns and one takes 64 KiB or more.
    """
    if len(parts) <= 1:
        return parts[0] if parts else None
    joined = []
    for part in parts:
        if len(part) > 0xFFFF:
            raise ValueError(
                f"a partition key column of {len(part)} bytes; one of several has 65535 at most"
            )
        joined.append(len(part).to_bytes(2, "big") + part + b"\x00")
    return b"".join(joined)


cdef class BindPlan:
    """Encoders for the markers of one prepared statement (see the Python twin).

    Immutable, and shared by threads.
    """

    def __cinit__(self, *arguments, **named):
        # An object whose __init__ never ran has no columns.
        self.columns = self._names = ()

    def __init__(self, columns, routing_key_indexes=None, strict=False):
        cdef tuple codecs
        if self._codecs is not None:
            raise TypeError("a bind plan is made once")  # other threads may be using it now
        self.columns = tuple(columns)
        self.routing_key_indexes = (
            tuple(map(_index, routing_key_indexes)) if routing_key_indexes else None
        )
        for index in self.routing_key_indexes or ():
            if not 0 <= index < len(self.columns):
                raise ValueError(
                    f"routing key index {index}, but there are {len(self.columns)} bind markers"
                )
        made_codecs = [column.type.codec() for column in self.columns]
        for index in self.routing_key_indexes or ():
            made_codecs[index] = _codec_in_order(made_codecs[index], self.columns[index].type)
        codecs = tuple(made_codecs)
        self._names = tuple([column.name for column in self.columns])
        self._usual_names = _usual_names_of(self._names)
        self.strict = strict
        self._repeats = len(set(self._names)) < len(self._names)
        self._needed = max(self.routing_key_indexes) + 1 if self.routing_key_indexes else 0
        self._native = all([is_made(codec) for codec in codecs])
        if self._codecs is not None:  # the columns' code may have called __init__
            raise TypeError("a bind plan is made once")
        self._count = len(codecs)
        self._codecs = codecs

    def __reduce__(self):
        raise unpicklable(self)

    def bind(self, values, version):
        """Encode `values`, in the order of the markers (see the Python twin for the rules)."""
        # Copy the values, because encoding a value may run user code that changes the list.
        cdef tuple held = (
            <tuple> values if type(values) is tuple else as_values(values, self._count)
        )
        return self._bind(held, version)

    cdef ValuesBlock _bind(self, tuple values, int version):
        cdef ValuesBlock block
        cdef bint has_unset
        cdef wbuf out
        wbuf_open(&out)
        try:
            has_unset = self._add_all(&out, values, version)
            block = ValuesBlock.__new__(ValuesBlock)
            block.count = self._count
            block.data = wbuf_bytes(&out)
            block.has_unset = has_unset
            return block
        finally:
            wbuf_close(&out)

    cdef int _add_all(self, wbuf* out, tuple values, int version) except -1:
        """Append the values of one row; return 1 if a value is not set."""
        cdef Py_ssize_t count = PyTuple_GET_SIZE(values)
        cdef Py_ssize_t missing = self._count - count
        cdef Py_ssize_t index = 0
        cdef bint has_unset = missing > 0
        if missing < 0 or (missing and version < 4):
            raise self._miscount(count)
        # The caller keeps the tuple alive while user code of the values runs.
        for index in range(count):
            if self._add(out, index, <object> PyTuple_GET_ITEM(values, index)):
                has_unset = True
        if has_unset and version < 4:
            raise _unset_unsupported(version)
        for index in range(missing):  # no-cython-lint: counts only
            put_be32(wbuf_extend(out, 4), 0xFFFFFFFE)
        return has_unset

    cdef int _add_dict(self, wbuf* out, dict values, int version) except -1:
        """Append the values of one row by name; return 1 if a value is not set."""
        cdef Py_ssize_t index
        cdef Py_ssize_t found_count = 0
        cdef bint has_unset = False
        cdef PyObject* item
        cdef object value
        for index in range(PyTuple_GET_SIZE(self._names)):
            item = PyDict_GetItemWithError(values, <object> PyTuple_GET_ITEM(self._names, index))
            if item == NULL:
                self._check_absent(values, index, version)
                put_be32(wbuf_extend(out, 4), 0xFFFFFFFE)
                has_unset = True
            else:
                found_count += 1
                value = <object> item  # a reference: user code may remove the value from the dict
                if value is _unset:
                    self._check_absent(values, index, version)
                if self._add(out, index, value):
                    has_unset = True
        # If several markers have the same name, the name is counted several times.
        if found_count != len(values) or self._repeats:
            check_names(self, values)
        if has_unset and version < 4:
            raise _unset_unsupported(version)
        return has_unset

    cdef int _check_absent(self, dict values, Py_ssize_t index, int version) except -1:
        """Raise an error if the value of marker `index` must not be missing. A misspelt key of
        `values` is a likely cause, so such a key is warned of or refused first.
        """
        try:
            _refuse_missing(self._names, index, self.routing_key_indexes, version, values)
        except BaseException:
            check_names(self, values)
            raise
        return 0

    cdef int _add_row(self, wbuf* out, object row, int version) except -1:
        """Append a row of any kind; return 1 if a value is not set."""
        cdef tuple values
        cdef bint has_unset
        if type(row) is tuple:
            values = <tuple> row
        elif type(row) is dict and self._usual_names is None:
            # In a free-threaded build, other threads may change the dict at any time.
            if IS_FREE_THREADED:
                return self._add_dict(out, (<dict> row).copy(), version)
            return self._add_dict(out, <dict> row, version)
        elif type(row) is list:
            values = tuple(<list> row)
        else:
            names = self._names
            if self._usual_names is not None:
                names = _names_for(row, names, self._usual_names)
            values = _values_of(row, names, version, self.routing_key_indexes, self.strict)
        if PyTuple_GET_SIZE(values) < self._needed:
            for index in self.routing_key_indexes:
                if index >= PyTuple_GET_SIZE(values):
                    _refuse_missing(self._names, index, self.routing_key_indexes, version)
        has_unset = self._add_all(out, values, version)
        if has_unset and self._needed:
            for index in self.routing_key_indexes:
                if values[index] is _unset:
                    _refuse_missing(self._names, index, self.routing_key_indexes, version)
        return has_unset

    def bind_row(self, row, version):
        """Encode one row: a sequence, a mapping or an object (see the Python twin)."""
        cdef ValuesBlock block
        cdef bint has_unset
        cdef wbuf out
        wbuf_open(&out)
        try:
            has_unset = self._add_row(&out, row, version)
            block = ValuesBlock.__new__(ValuesBlock)
            block.count = self._count
            block.data = wbuf_bytes(&out)
            block.has_unset = has_unset
            return block
        finally:
            wbuf_close(&out)

    def bind_into(self, block, row, version):
        """Bind `row` and append it to `block`. If binding fails, `block` is unchanged."""
        cdef RowsBlock rows = <RowsBlock?> block
        cdef wbuf out
        if rows.width != self._count:
            raise ValueError(f"a row of {self._count} values, but the others have {rows.width}")
        wbuf_open(&out)
        try:
            # Encode into a separate buffer first: the code of a value may run another thread, which
            # adds to the same block.
            if self._add_row(&out, row, version):
                rows.has_unset = True
            rows._append(out.data, out.size)
        finally:
            wbuf_close(&out)

    def bind_many(self, rows, version):
        """Bind each of `rows`. An error's message begins with its row's number, counted from 0."""
        cdef RowsBlock block = RowsBlock.__new__(RowsBlock)
        cdef int protocol = version
        cdef Py_ssize_t index = 0
        cdef Py_ssize_t row_start
        cdef Py_ssize_t expected = min(len(rows), MOST_RESERVED) if hasattr(rows, "__len__") else 0
        cdef wbuf out
        block.width = self._count
        wbuf_open(&out)
        try:
            for row in rows:
                row_start = out.size
                wbuf_extend(&out, 4)
                try:
                    if self._add_row(&out, row, protocol):
                        block.has_unset = True
                except Exception as error:
                    _locate_row(error, index)
                    raise
                put_be32(out.data + row_start, <uint32_t> (out.size - row_start - 4))
                index += 1
                if index == 1 and expected > 1:
                    wbuf_reserve(&out, min(out.size * expected, <Py_ssize_t> MOST_RESERVED))
            block._take(&out)
            block._count = index
            return block
        finally:
            wbuf_close(&out)

    cdef int _add(self, wbuf* out, Py_ssize_t index, object value) except -1:
        """Append one [value]; return 1 if it is not set."""
        cdef Py_ssize_t start = out.size
        cdef object codec
        cdef bytes data
        if value is None:
            put_be32(wbuf_extend(out, 4), 0xFFFFFFFF)
            return 0
        if value is _unset:
            put_be32(wbuf_extend(out, 4), 0xFFFFFFFE)
            return 1
        wbuf_extend(out, 4)
        try:
            # Callers keep `index` below `_count`, the number of codecs. If `_native` is set, each
            # is a Codec. The plan owns the codecs, so we need no reference here: counting
            # references of an object that threads share would be the largest cost.
            if self._native:
                (<Codec> item_of(<PyObject*> self._codecs, index)).write(out, value)
            else:
                codec = <object> item_of(<PyObject*> self._codecs, index)
                data = exact_bytes(codec.encode(value), "what a codec made")
                wbuf_write(out, PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data))
        except Exception as error:
            # Null values of other libraries have no encoding, so every codec refuses them. We check
            # for them only here, because a check before would slow down each value.
            codec = <object> PyTuple_GET_ITEM(self._codecs, index)
            if turbocql_maybe_missing(value) and _is_missing(value, codec.cql_name):
                out.size = start
                put_be32(wbuf_extend(out, 4), 0xFFFFFFFF)
                return 0
            _locate(error, column_label(self.columns[index]))
            raise
        put_be32(out.data + start, <uint32_t> (out.size - start - 4))
        return 0

    cdef object _miscount(self, Py_ssize_t value_count):
        marker_count = self._count
        few_or_many = "Too many" if value_count > marker_count else "Too few"
        return ValueError(
            f"{few_or_many} values for the statement's bind markers: "
            f"{value_count} given, {marker_count} wanted ({', '.join(self._names)})"
        )


cdef int check_names(BindPlan plan, dict values) except -1:
    """Warn of keys of `values` that have no marker; a plan with `strict` refuses them."""
    if not plan.strict:
        _warn_of_unknown_names(values, plan._names)
    else:
        unknown = [name for name in values if name not in plan._names]
        if unknown:
            _refuse_unknown(unknown, plan._names)
    return 0


cdef object _unset_unsupported(int version):
    return UnsetUnsupported(
        f"UNSET_VALUE needs protocol version 4 or higher; the connection speaks version {version}"
    )


def as_values(values, marker_count=-1):
    """Return the items of `values` as a tuple; TypeError for a string, bytes or a mapping (see the
    Python twin).
    """
    if isinstance(values, (str, bytes, bytearray, _Mapping)) and not _is_lone_text(
        values, marker_count
    ):
        raise TypeError(
            f"values are {values!r} ({type(values).__name__}); "
            "they have to be a sequence, one for each bind marker"
        )
    return tuple(values)


def column_label(column):
    """Return the start of an error message: the column's name, its CQL type and the type's class.
    """
    class_name = getattr(column.type, "__name__", type(column.type).__name__)
    return f'column "{column.name}" ({column.type.codec().cql_name}, {class_name})'
