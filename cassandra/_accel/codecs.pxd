# The interface of codecs for the other compiled modules (bind, rows). All other code uses the
# Python methods `encode` and `decode`, the same as in the pure Python version
# (cassandra/cqltypes/codecs/).

from libc.stdint cimport int64_t, uint8_t, uint64_t

from cassandra._accel.wbuf cimport wbuf

# Kinds of codecs whose values a loop may encode or decode itself. For KIND_OTHER, it must call
# `write` or `read` for each value.
cdef enum Kind:
    KIND_OTHER = 0
    KIND_INT8 = 1
    KIND_INT16 = 2
    KIND_INT32 = 3
    KIND_INT64 = 4
    KIND_FLOAT32 = 5
    KIND_FLOAT64 = 6
    KIND_TEXT = 7
    KIND_BLOB = 8
    KIND_BOOLEAN = 9
    KIND_UUID = 10
    KIND_TIMESTAMP = 11


# Counters of one page, or of one value that is decoded by itself. The struct is on the stack of the
# function that decodes the page, and is passed to the decoding of each value. So each thread has a
# separate struct, and if the code of a value decodes another value, it has a separate struct, too.
cdef struct Page:
    int64_t lacking     # missing fields at the end of tuples and user-defined types


cdef class Codec:
    cdef readonly str cql_name              # "list<int>": used in error messages
    cdef readonly Py_ssize_t fixed_size     # bytes of a value in a vector; -1 if it has a length
    cdef readonly bint empty_is_value       # zero bytes are an ordinary value, as for text, blob
    cdef readonly object legacy_empty       # otherwise, the value of zero bytes: None or EMPTY
    cdef readonly Py_ssize_t width          # bytes of every value that is not empty, or -1
    cdef readonly str struct_code           # the `struct` letter if values are numbers, or ""
    cdef Kind kind

    # Appends the bytes of `value` without a length. `value` must not be None or UNSET_VALUE.
    cdef int write(self, wbuf* out, object value) except -1

    # Decodes a value of `size` >= 0 bytes. Reads only these bytes, and keeps no pointer to them.
    cdef object read(self, const uint8_t* data, Py_ssize_t size, Page* page)

    # Decodes a [bytes] with the length field `size`. Returns None if `size` is negative. Zero bytes
    # are decoded as `legacy_empty`, unless `empty_is_value` is set.
    cdef object read_nullable(self, const uint8_t* data, Py_ssize_t size, Page* page)


# Returns True if `codec` was created by a function of codecs.pyx. A Codec that was created
# otherwise, for example by Codec.__new__, is not initialized.
cdef inline bint is_made(object codec):
    return isinstance(codec, Codec) and (<Codec> codec).cql_name is not None


# Appends a [bytes]: the [int] length and the bytes of `value`. The length is -1 for None.
cdef int write_bytes(Codec codec, wbuf* out, object value) except -1

# Reads the [unsigned vint] at `p`. Returns its size in bytes, or 0 if it is truncated.
cdef Py_ssize_t get_uvint(const uint8_t* p, Py_ssize_t size, uint64_t* number) noexcept
