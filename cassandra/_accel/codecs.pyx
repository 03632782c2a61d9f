# cython: nonecheck=False
"""Codecs of all CQL types, compiled; `cassandra.cqltypes.codecs` is the reference.

A codec is immutable. The codec of a container holds the codecs of its elements, so each value needs
only one virtual call. `write` appends a value to the caller's buffer. The buffer is on the caller's
stack (see wbuf.pxd): if user code of a value encodes something itself, that goes to another buffer.
`read` decodes a region of memory and keeps no pointer to it. Lists, sets and vectors of numbers
have separate loops, without a call or an object per element. Arrays of numbers are copied by
byteswap.h.

While a value is encoded, user code may run (``__index__``, ``__float__``, a class's to_binary, the
finalizer of an object) and may change the container. Therefore we check a list's size before each
element and before each run of simple elements. We hold a reference to an element while we convert
it, and keep an array's buffer open while we read it (see docs/twins.rst).

All that is not on the fast path (strings for dates, floats for decimals, every error) is done by
the functions of `cassandra.cqltypes.coerce`, which the Python codecs call too. So both accept the
same values and raise the same errors.

We need no checks for None (nonecheck): codecs are complete when `codec_of` returns them, and every
cast follows a check of the type.

The base class and the codecs of numbers are in this file. Those of the other scalars, of arrays and
of containers are in the files that are included below.
"""

cimport cython
from cpython.buffer cimport (
    PyBUF_FULL_RO,
    PyBUF_SIMPLE,
    PyBUF_WRITABLE,
    PyBUF_FORMAT,
    PyBUF_ND,
    PyBuffer_Release,
    PyObject_CheckBuffer,
    PyObject_GetBuffer,
)
from cpython.bytes cimport (
    PyBytes_AS_STRING,
    PyBytes_Check,
    PyBytes_CheckExact,
    PyBytes_FromStringAndSize,
    PyBytes_GET_SIZE,
)
from cpython.dict cimport PyDict_CheckExact
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_Check, PyFloat_FromDouble
from cpython.list cimport (
    PyList_CheckExact,
    PyList_GET_ITEM,
    PyList_GET_SIZE,
    PyList_New,
    PyList_SET_ITEM,
)
from cpython.long cimport PyLong_Check, PyLong_FromLong, PyLong_FromLongLong, PyLong_FromString
from cpython.number cimport PyIndex_Check, PyNumber_Index
from cpython.object cimport Py_LT, PyObject, PyObject_RichCompareBool
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport (
    PyTuple_CheckExact,
    PyTuple_GET_ITEM,
    PyTuple_GET_SIZE,
    PyTuple_New,
    PyTuple_SET_ITEM,
)
from cpython.unicode cimport (
    PyUnicode_AsUTF8String,
    PyUnicode_Check,
    PyUnicode_DecodeASCII,
    PyUnicode_DecodeUTF8,
)
from libc.math cimport isinf
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport qsort
from libc.string cimport memcmp, memcpy, memmove, strlen
from cpython cimport array as arrays
from cpython cimport datetime as cdatetime

from cassandra._accel.fields cimport (
    DayBase, DurationBase, KeyedMapBase, SetBase, TimeBase, field_or_none, reads_plainly,
    turbocql_put, with_fields,
)
from cassandra._accel.wbuf cimport (
    get_be16,
    get_be32,
    get_be64,
    put_be16,
    put_be32,
    put_be64,
    wbuf,
    wbuf_bytes,
    wbuf_close,
    wbuf_extend,
    wbuf_int32,
    wbuf_open,
    wbuf_write,
)

import array as array_module
import datetime as datetime_module
import decimal as decimal_module
import uuid as uuid_module
from functools import partial
from types import MemberDescriptorType

from cassandra.cqltypes import coerce
from cassandra.cqltypes.codecs.bulk import (
    check_dimension,
    elements_of,
    is_single_moment,
    members_of,
)
from cassandra.cqltypes.failures import (
    EncodeTypeError,
    empty_or_refuse,
    locate,
    malformed,
    refuse_value,
    wrong_width,
)
from cassandra.cqltypes.missing import is_missing, masked_array
from cassandra.cqltypes.server_order import of_signed
from cassandra.limits import limits, too_many_nulls
from cassandra.sentinels import EMPTY as _EMPTY
from cassandra.util.orderedmap import OrderedMapSerializedKey
from cassandra.util.sortedset import SortedSet
from cassandra.util.temporal import Date, Duration, MillisTimestamp, Time

cdef extern from "Python.h":
    long long PyLong_AsLongLongAndOverflow(object, int*) except? -1
    bint PyUnicode_CheckExact(object)
    bint PyUnicode_IS_ASCII(object)
    bint PyUnicode_IS_COMPACT_ASCII(object)
    void* PyUnicode_DATA(object)
    Py_ssize_t PyUnicode_GET_LENGTH(object)
    int PyUnicode_READY(object) except -1
    object PyDict_Copy(object)
    Py_ssize_t PyDict_Size(object) except -1
    bint PyDict_Next(object, Py_ssize_t*, PyObject**, PyObject**)
    void PyObject_GC_UnTrack(void*)
    int PyList_Sort(object) except -1
    object PyList_GetSlice(object, Py_ssize_t, Py_ssize_t)
    void Py_LeaveRecursiveCall()

cdef extern from "byteswap.h" nogil:
    const int TURBOCQL_LITTLE
    void turbocql_copy(uint8_t*, const uint8_t*, size_t, size_t, int) noexcept
    int turbocql_narrow_floats(uint8_t*, const uint8_t*, size_t) noexcept
    int turbocql_narrow_integers(uint8_t*, Py_ssize_t, const uint8_t*, size_t) noexcept
    void turbocql_copy_one(uint8_t*, const uint8_t*, size_t, int) noexcept
    void turbocql_copy_strided(
        uint8_t*, Py_ssize_t, const uint8_t*, Py_ssize_t, size_t, size_t, int
    ) noexcept

cdef extern from "utf8.h":
    bint turbocql_is_ascii(const uint8_t*, size_t) noexcept

cdef extern from "objects.h":
    object turbocql_ascii_text(const uint8_t*, Py_ssize_t)
    object turbocql_new(object)
    object turbocql_member(object, object)
    int turbocql_set_member(object, object, object) except -1
    int turbocql_uuid_bytes(object, uint8_t*) except -1
    Py_ssize_t turbocql_pack_floats(
        object, Py_ssize_t, Py_ssize_t, uint8_t*, Py_ssize_t, int
    ) noexcept
    Py_ssize_t turbocql_pack_ints(
        object, Py_ssize_t, Py_ssize_t, uint8_t*, Py_ssize_t, int
    ) noexcept
    Py_ssize_t turbocql_pack_nulls(object, Py_ssize_t, Py_ssize_t, uint8_t*) noexcept
    Py_ssize_t turbocql_unpack_floats(
        object, Py_ssize_t, const uint8_t*, Py_ssize_t, int
    ) except -1
    int turbocql_release_arenas(bint)
    object turbocql_int_of(const uint8_t*, size_t, int)
    Py_ssize_t turbocql_int_room(object) except -1
    int turbocql_int_to_signed(object, uint8_t*, Py_ssize_t) except -1
    object turbocql_readable(object)
    int turbocql_enter(const char*) except -1
    bint turbocql_maybe_missing(object) noexcept
    bint turbocql_maybe_masked(object) noexcept

cdatetime.import_datetime()

cdef object EMPTY = _EMPTY


# Counts missing fields for `limits.null_cells`; DecodeError above the limit.
cdef int lack(Codec codec, Page* page, Py_ssize_t count) except -1:
    page.lacking += count
    if page.lacking > limits.null_cells:
        raise too_many_nulls(codec.cql_name)
    return 0


# -- the base class --------------------------------------------------------------------------------

cdef class Codec:
    """Encodes and decodes one CQL type; see `cassandra.cqltypes.codecs.base.Codec`."""

    def __init__(self, *args, **kwargs):
        raise TypeError("codecs are made by the functions of this module")

    cdef int write(self, wbuf* out, object value) except -1:
        raise NotImplementedError

    cdef object read(self, const uint8_t* data, Py_ssize_t size, Page* page):
        raise NotImplementedError

    cdef object read_nullable(self, const uint8_t* data, Py_ssize_t size, Page* page):
        if size < 0:
            return None
        if size == 0 and not self.empty_is_value:
            return self.legacy_empty
        return self.read(data, size, page)

    def encode(self, value):
        """Return the bytes of `value`, which must not be None or UNSET_VALUE.

        :raises EncodeTypeError: if the type does not accept the value's class. It is a TypeError.
        :raises EncodeValueError: if the value is out of range or badly formed. It is both a
            ValueError and an OverflowError.
        """
        cdef wbuf out
        if self.cql_name is None:
            codec_of(self)
        wbuf_open(&out)
        try:
            self.write(&out, value)
            return wbuf_bytes(&out)
        finally:
            wbuf_close(&out)

    def decode(self, data):
        """Return the value that the bytes `data` encode; they must not be null.

        :raises cassandra.errors.DecodeError: if they are not valid for the type.
        """
        cdef Py_buffer view
        cdef Page page
        if self.cql_name is None:
            codec_of(self)
        page.lacking = 0
        if PyBytes_CheckExact(data):
            return self.read(
                <const uint8_t*> PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data), &page
            )
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            return self.read(<const uint8_t*> view.buf, view.len, &page)
        finally:
            PyBuffer_Release(&view)

    def decode_nullable(self, data):
        """Decode a [bytes]; returns None for null.

        Zero bytes are decoded as `legacy_empty`, unless `empty_is_value` is True.
        """
        if data is None:
            return None
        if len(data) == 0 and not self.empty_is_value:
            return self.legacy_empty
        return self.decode(data)

    def deserialize_into(self, data, out):
        """Decode a list, set or vector of numbers into a buffer.

        :param out: a writable, C-contiguous buffer of numbers of the same kind and size.
        :returns: the number of elements written.
        :raises TypeError: if the type is not one of these, or the buffer's items do not fit it.
        :raises ValueError: if the buffer is too small.
        :raises DecodeError: if the data are malformed or contain nulls.
        """
        raise TypeError(
            f"{self.cql_name} is not a list, set or vector of numbers; "
            "it cannot be decoded into a buffer"
        )

    def __reduce__(self):
        raise TypeError(f"cannot pickle or copy {type(self).__name__!r} object: pickle the type")

    def __repr__(self):
        return f"<codec of {self.cql_name}>"


# Returns `codec` if a function of this module has created it; TypeError for anything else.
cdef Codec codec_of(object codec):
    if not isinstance(codec, Codec) or (<Codec> codec).cql_name is None:
        raise TypeError(f"{codec!r} is not a codec of this module")
    return <Codec> codec


cdef Codec describe(
    Codec codec,
    Kind kind,
    str name,
    Py_ssize_t fixed_size,
    Py_ssize_t width,
    bint empty_is_value,
    object empty,
):
    codec.kind = kind
    codec.cql_name = name
    codec.fixed_size = fixed_size
    codec.width = width
    codec.empty_is_value = empty_is_value
    codec.legacy_empty = empty
    codec.struct_code = ""
    return codec


# Returns True for None and for missing values of other libraries, such as NaT.
cdef inline bint is_null(Codec codec, object value) except -1:
    return value is None or (turbocql_maybe_missing(value) and is_missing(value, codec.cql_name))


cdef int write_bytes(Codec codec, wbuf* out, object value) except -1:
    cdef Py_ssize_t offset
    cdef Py_ssize_t size
    cdef uint8_t* p
    if value is None:
        return wbuf_int32(out, -1)
    if (
        codec.kind == KIND_TEXT
        and PyUnicode_CheckExact(value)
        and PyUnicode_IS_COMPACT_ASCII(value)
    ):
        # A fast path for the most common elements: reserve space for length and bytes at once.
        size = PyUnicode_GET_LENGTH(value)
        p = wbuf_extend(out, size + 4)
        put_be32(p, <uint32_t> size)
        memcpy(p + 4, PyUnicode_DATA(value), size)
        return 0
    if turbocql_maybe_missing(value) and is_missing(value, codec.cql_name):
        return wbuf_int32(out, -1)
    offset = out.size
    wbuf_extend(out, 4)
    codec.write(out, value)
    # `write` may have moved the buffer, so address the length by its offset.
    put_be32(out.data + offset, <uint32_t> (out.size - offset - 4))
    return 0


# -- plain numbers ---------------------------------------------------------------------------------

cdef extern from *:
    """
    static const long long turbocql_low[] = {
        0, -128, -32768, -2147483647LL - 1, -9223372036854775807LL - 1
    };
    static const long long turbocql_high[] = {
        0, 127, 32767, 2147483647LL, 9223372036854775807LL
    };
    """
    const long long turbocql_low[5]
    const long long turbocql_high[5]

cdef enum Answer:
    FITS = 0
    OUT_OF_RANGE = 1
    NO_INTEGER = 2


# Converts an int, or an object with __index__ (whose code runs here), to 64 bits.
cdef inline Answer int64_of(object item, int64_t* number) except <Answer> -1:
    cdef int overflow = 0
    if PyLong_Check(item):
        number[0] = PyLong_AsLongLongAndOverflow(item, &overflow)
    else:
        return int64_by_index(item, number)
    return OUT_OF_RANGE if overflow != 0 else FITS


cdef Answer int64_by_index(object item, int64_t* number) except <Answer> -1:
    cdef int overflow = 0
    if not PyIndex_Check(item):
        return NO_INTEGER
    if turbocql_maybe_missing(item):
        # A masked array without dimensions would return the number that its mask hides.
        coerce.refuse_missing(item, "an integer")
    try:
        index = PyNumber_Index(item)
    except TypeError as error:
        coerce.index_failed(item, error)
    number[0] = PyLong_AsLongLongAndOverflow(index, &overflow)
    return OUT_OF_RANGE if overflow != 0 else FITS


@cython.final
cdef class Number(Codec):
    """tinyint, smallint, int, bigint, counter, float and double."""

    cdef int write(self, wbuf* out, object value) except -1:
        cdef uint8_t number[8]
        cdef Py_ssize_t size = put_number(self, number, value)
        return wbuf_write(out, number, size)

    cdef object read(self, const uint8_t* data, Py_ssize_t size, Page* page):
        if size != self.width:
            return wrong_width(self.cql_name, self.width, size)
        return get_number(self.kind, data)


# Packs numbers of a list or tuple, up to the first number that needs more than a simple conversion
# (see objects.h). Returns the index of this number, or `count` if there is none.
cdef inline Py_ssize_t put_plain(
    Number codec, object sequence, Py_ssize_t index, Py_ssize_t count, uint8_t* to, Py_ssize_t gap
) noexcept:
    if codec.kind <= KIND_INT64:
        return turbocql_pack_ints(sequence, index, count, to, gap, <int> codec.width)
    return turbocql_pack_floats(sequence, index, count, to, gap, codec.kind == KIND_FLOAT32)


# Writes the bytes of the number `item` at `p`, where there is space for 8 bytes. Returns the number
# of bytes: the codec's width, or 0 for EMPTY.
cdef inline Py_ssize_t put_number(Number codec, uint8_t* p, object item) except -1:
    cdef Kind kind = codec.kind
    cdef int64_t number
    cdef Answer answer
    cdef double real
    if kind <= KIND_INT64:
        answer = int64_of(item, &number)
        if answer == FITS and turbocql_low[<int> kind] <= number <= turbocql_high[<int> kind]:
            if kind == KIND_INT32:
                put_be32(p, <uint32_t> number)
            elif kind == KIND_INT64:
                put_be64(p, <uint64_t> number)
            elif kind == KIND_INT16:
                put_be16(p, <uint16_t> number)
            else:
                p[0] = <uint8_t> number
            return codec.width
        return other_integer(codec, p, item)
    if PyFloat_Check(item):
        real = PyFloat_AS_DOUBLE(item)
    else:
        real = double_of(codec, item)
        if real == -1.0 and item is EMPTY:
            return 0
    return put_real(codec, p, real, item)


cdef inline Py_ssize_t put_real(Number codec, uint8_t* p, double real, object item) except -1:
    cdef float single
    cdef uint32_t bits32
    cdef uint64_t bits64
    if codec.kind == KIND_FLOAT32:
        single = <float> real
        if isinf(single) and not isinf(real):
            refuse_value(item, f"is out of the range of {codec.cql_name}")
        memcpy(&bits32, &single, 4)
        put_be32(p, bits32)
        return 4
    memcpy(&bits64, &real, 8)
    put_be64(p, bits64)
    return 8


# Writes EMPTY or a member of an enum; raises the error for any other value that is not an int64.
cdef Py_ssize_t other_integer(Number codec, uint8_t* p, object item) except -1:
    if item is EMPTY:
        return 0
    if coerce.is_member(item):
        data = coerce.member_or_refuse(codec.encode, item, "an integer")
        if not PyBytes_CheckExact(data) or PyBytes_GET_SIZE(data) > 8:
            raise TypeError(f"{codec.cql_name}: {data!r} is not a number's bytes")
        memcpy(p, PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data))
        return PyBytes_GET_SIZE(data)
    coerce.integer_out_of_place(
        item, codec.cql_name, turbocql_low[<int> codec.kind], turbocql_high[<int> codec.kind]
    )


# Converts a number that is not a float, by its __float__ or __index__ (user code). Returns -1.0 for
# EMPTY; the caller must check whether `item` is EMPTY.
cdef double double_of(Number codec, object item) except? -1.0:
    if item is EMPTY:
        return -1.0
    return coerce.real_number(item, codec.cql_name)


cdef inline object get_number(Kind kind, const uint8_t* p):
    cdef uint32_t bits32
    cdef uint64_t bits64
    cdef float single
    cdef double real
    if kind == KIND_INT32:
        return PyLong_FromLong(<int32_t> get_be32(p))
    if kind == KIND_FLOAT32:
        bits32 = get_be32(p)
        memcpy(&single, &bits32, 4)
        return PyFloat_FromDouble(single)
    if kind == KIND_INT64:
        return PyLong_FromLongLong(<int64_t> get_be64(p))
    if kind == KIND_FLOAT64:
        bits64 = get_be64(p)
        memcpy(&real, &bits64, 8)
        return PyFloat_FromDouble(real)
    if kind == KIND_INT16:
        return PyLong_FromLong(<int16_t> get_be16(p))
    return PyLong_FromLong(<int8_t> p[0])


cdef Codec number(Kind kind, str code, Py_ssize_t width, bint packed, str name, object empty):
    cdef Codec codec = Number.__new__(Number)
    describe(codec, kind, name, width if packed else -1, width, False, empty)
    codec.struct_code = code
    return codec


include "codecs_scalars.pxi"
include "codecs_arrays.pxi"
include "codecs_containers.pxi"


# -- the fast methods of type classes --------------------------------------------------------------

cdef object encoded(Codec codec, object value):
    """Encode `value`. Common values of simple types are encoded without a growing buffer."""
    cdef uint8_t[8] number
    cdef wbuf out
    cdef Kind kind = codec.kind
    if KIND_INT8 <= kind <= KIND_FLOAT64:
        return PyBytes_FromStringAndSize(<char*> number, put_number(<Number> codec, number, value))
    if kind == KIND_TEXT:
        if PyUnicode_CheckExact(value) and PyUnicode_IS_COMPACT_ASCII(value):
            return PyBytes_FromStringAndSize(
                <char*> PyUnicode_DATA(value), PyUnicode_GET_LENGTH(value)
            )
    elif kind == KIND_BLOB:
        if PyBytes_CheckExact(value):
            return value
    elif kind == KIND_BOOLEAN:
        if value is True:
            return b"\x01"
        if value is False:
            return b"\x00"
    wbuf_open(&out)
    try:
        codec.write(&out, value)
        return wbuf_bytes(&out)
    finally:
        wbuf_close(&out)


cdef object decoded(Codec codec, object data):
    """Decode the bytes of a value."""
    cdef Page page
    if PyBytes_CheckExact(data):
        if codec.kind == KIND_BLOB:
            return data
        page.lacking = 0
        return codec.read(
            <const uint8_t*> PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data), &page
        )
    return codec.decode(data)


@cython.final
cdef class TypeCalls:
    """Fast methods for one type class, which use its codec (see the Python twin).

    They are built-in functions, which are faster than any class method.
    """

    cdef readonly object owner
    cdef Codec _codec
    cdef bint _empty_is_value
    cdef object _empty

    def __cinit__(self, *arguments, **named):
        self._codec = _NOTHING

    def __init__(self, owner, codec, empty_is_value, empty):
        if self._codec is not _NOTHING:
            raise TypeError("the calls of a type are made once")  # they may be in use
        self.owner = owner
        self._empty_is_value = empty_is_value
        self._empty = empty
        self._codec = codec_of(codec)

    @cython.binding(False)
    @cython.embedsignature(True)
    @cython.embedsignature.format("clinic")
    def serialize(self, val, protocol_version):
        """Encode `val`, which must not be None."""
        return encoded(self._codec, val)

    @cython.binding(False)
    @cython.embedsignature(True)
    @cython.embedsignature.format("clinic")
    def deserialize(self, byts, protocol_version):
        """Decode bytes that are neither null nor empty."""
        return decoded(self._codec, byts)

    @cython.binding(False)
    @cython.embedsignature(True)
    @cython.embedsignature.format("clinic")
    def to_binary(self, val, protocol_version):
        """Encode `val`; returns b"" for None."""
        return b"" if val is None else encoded(self._codec, val)

    @cython.binding(False)
    @cython.embedsignature(True)
    @cython.embedsignature.format("clinic")
    def from_binary(self, byts, protocol_version):
        """Decode a [bytes], which may be null or empty."""
        if byts is None:
            return None
        if not self._empty_is_value and (
            PyBytes_GET_SIZE(byts) if PyBytes_CheckExact(byts) else len(byts)
        ) == 0:
            return self._empty
        return decoded(self._codec, byts)


# The codec of `TypeCalls` objects whose __init__ did not run.
cdef Codec _NOTHING = nothing()


def release_vector_memory(even_if_used=False):
    """Give back the memory that is kept for large vectors; see `kept_arenas.h`.

    :param even_if_used: False keeps the memory if vectors were decoded since the last call.
    :returns: about how many MiB are still kept.
    """
    return turbocql_release_arenas(even_if_used)


__all__ = sorted([
    "Codec",
    "TypeCalls",
    *SCALARS,
    "from_class",
    "from_functions",
    "list_of",
    "map_of",
    "ordered",
    "release_vector_memory",
    "set_of",
    "tuple_of",
    "udt",
    "vector_of",
])
